#!/bin/sh
# perf names a static function of a stripped program that is gone, with MNT/perf as its build-id
# cache.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need perf gcc objcopy readelf debuginfod nginx curl

mkdir -p "$NEAR/src" "$NEAR/bin"
cat >"$NEAR/src/hot.c" <<'EOC'
static __attribute__((noinline)) unsigned burn_here(unsigned n)
{
	unsigned x = 1;
	while (n--)
		x = x * 1664525u + 1013904223u;
	return x;
}
int main(void)
{
	return burn_here(300000000u) == 0;
}
EOC
(cd "$NEAR/src" && gcc -g -O1 -Wl,--build-id=sha1 -o ../bin/hot hot.c) || fail "gcc"
objcopy --only-keep-debug "$NEAR/bin/hot" "$TMP/hot.debug" && strip "$NEAR/bin/hot" || fail "strip"
far_put "$NEAR/bin/hot" "$TMP/hot.debug"
rm "$TMP/hot.debug"

# -N: nothing of it into perf's own cache.
timeout 600 perf record -N -e cpu-clock:u -F 500 -o "$TMP/perf.data" "$NEAR/bin/hot" >"$TMP/record.log" 2>&1 ||
  skip "perf record does not run here: $(tail -n 1 "$TMP/record.log")"
timeout 600 perf buildid-list -i "$TMP/perf.data" 2>/dev/null | grep -q "$(build_id "$NEAR/bin/hot")" ||
  skip "perf took no samples of the program"
mv "$NEAR/bin" "$TMP/elsewhere"
far_mounts debuginfod nginx

report() {
  timeout 600 perf --buildid-dir "$1" report -i "$TMP/perf.data" --stdio --sort symbol 2>/dev/null
}
for via in debuginfod nginx; do
  expect "perf, $via" "$(report "$TMP/$via/perf")" '^ +[0-9.]+% +\[\.\] burn_here'
done

# perf annotate disassembles the program of the cache when the link to its directory can be read.
annotate() {
  timeout 600 perf --buildid-dir "$1" annotate -i "$TMP/perf.data" --stdio -s burn_here 2>"$TMP/annotate.err"
}
for via in debuginfod nginx; do
  annotate "$TMP/$via/perf" >"$TMP/annotated" || say "annotate: $(cat "$TMP/annotate.err")"
  expect "perf annotate, $via" "$(cat "$TMP/annotated")" 'imul|1664525|0x19660d'
done
refuse "perf annotate without the mount" "$(annotate "$TMP/nothing")" 'imul|1664525|0x19660d'

# The link and its directory are there for any id, and cause no traffic.
before=$(stat_of "$MNT_nginx" fetch_requests; stat_of "$MNT_nginx" requests)
none=0123456789abcdef0123456789abcdef01234567
link=$MNT_nginx/perf/.build-id/01/${none#01}
[ "$(readlink "$link")" = "../../01/${none#01}" ] || fail "readlink: $(readlink "$link")"
[ -d "$link/." ] || fail "the link leads nowhere"
[ "$before" = "$(stat_of "$MNT_nginx" fetch_requests; stat_of "$MNT_nginx" requests)" ] ||
  fail "a link causes traffic"
[ -e "$link/elf" ] && fail "a program that is nowhere"

for dir in "$TMP/empty/perf" "$TMP/nothing"; do
  none=$(report "$dir")
  expect "perf without the mount" "$none" '^ +[0-9.]+% +\[\.\] 0x'
  refuse "perf without the mount" "$none" 'burn_here'
done

symfs_umount debuginfod
symfs_umount nginx
symfs_umount empty
