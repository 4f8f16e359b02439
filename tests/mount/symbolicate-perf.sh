#!/bin/sh
# symfs symbolicate --text names the frames that perf script leaves unknown: of a stripped program and its library,
# whose debug files are only in a source, by the build ids that perf recorded, and by the files at the paths.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need perf gcc objcopy strip readelf
cd "$TMP" || exit 1
mkdir -p src bin
cat >src/burn.c <<'EOC'
static inline __attribute__((always_inline)) unsigned step(unsigned x) { return x * 1664525u + 1013904223u; }
static __attribute__((noinline)) void call(void) { __asm__ volatile("" ::: "memory"); }
static __attribute__((noinline)) unsigned burn(unsigned n) { unsigned x = 1; for (call(); n--;) x = step(x);
	return x; }
unsigned twice(unsigned n) { return burn(n) + burn(n + 1); }
EOC
cat >src/hot.c <<'EOC'
unsigned twice(unsigned n);
static __attribute__((noinline)) unsigned work(unsigned n) { return twice(n) + 1; }
int main(void) { return work(150000000u) == 7; }
EOC
# The library's segments have other offsets in the file than addresses.
FLAGS="-g -O1 -fno-omit-frame-pointer -Wl,--build-id=sha1"
# shellcheck disable=SC2086
(cd src && gcc $FLAGS -fPIC -shared -Wl,-soname,libburn.so -Wl,-Ttext-segment=0x200000 -o ../bin/libburn.so burn.c &&
  gcc $FLAGS -o ../bin/hot hot.c ../bin/libburn.so -Wl,-rpath,"$TMP/bin") || fail gcc
for f in hot libburn.so; do
  objcopy --only-keep-debug bin/$f $f.debug && strip bin/$f || fail strip
  put_gdb far bin/$f
  put_gdb far $f.debug .debug
  rm $f.debug
done
# -N: nothing of it into perf's own cache.
timeout 600 perf record -N -e cpu-clock:u -g -F 500 -o perf.data bin/hot >record.out 2>&1 ||
  skip "perf record does not run here: $(tail -n 1 record.out)"
timeout 600 perf script -i perf.data --show-mmap-events >perf.txt 2>/dev/null
[ "$(grep -c 'unknown.*libburn' perf.txt)" -gt 5 ] ||
  skip "perf took no samples of the library: $(head -n 5 perf.txt)"

text() {
  "$SYMFS" symbolicate --text --no-default-sources --source "gdb@$TMP/far" --cache store "$1" >"$2" 2>command.log ||
    fail "$1: exit status $?"
}
show() { [ "${SYMFS_SAMPLES:-}" != yes ] || { say "=== $1"; awk '!NF { if (n++ > 1) exit } { print }' "$2"; }; }
show 'perf, before' perf.txt
text perf.txt perf.out
show 'perf, after' perf.out
names() { # FILE MARK: every frame of the library has its name, and a mark or none
  for frame in "burn at $TMP/src/burn.c:3 ($TMP/bin/libburn.so)$2" \
    "twice at $TMP/src/burn.c:5 ($TMP/bin/libburn.so)$2" \
    "step (inlined) at $TMP/src/burn.c:1"; do
    grep -q "^	 *[0-9a-f]* $frame\$" "$1" || fail "$1: no $frame in $(head -n 60 "$1")"
  done
}
names perf.out ' \[unverified\]'
for frame in "work at $TMP/src/hot.c:2" "main at $TMP/src/hot.c:3"; do
  grep -q "^	 *[0-9a-f]* $frame ($TMP/bin/hot) \[unverified\]\$" perf.out ||
    fail "no $frame in $(head -n 60 perf.out)"
done
# The list of build ids, which has the files with samples of their own; and the files are gone.
{ timeout 600 perf buildid-list -i perf.data 2>/dev/null; cat perf.txt; } >ids.txt
grep -q "^$(build_id bin/libburn.so) " ids.txt || skip "perf recorded no build ids"
mv bin gone
text ids.txt ids.out
names ids.out ''
grep -v "$TMP/src/" perf.out >rest
diff perf.txt rest | grep -q '^>' && fail "other lines changed: $(diff perf.txt rest)"
say "$(grep -c "$TMP/src/" perf.out) names"
exit 0
