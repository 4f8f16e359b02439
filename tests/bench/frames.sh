#!/bin/sh
# Times the reader of unwind tables on a large library, text included, and compares `symfs sym` with Breakpad's
# dump_syms, both with symbols. BENCH_FRAMES names the library; without it, the largest libLLVM of this system. The
# bound of processor time is for libLLVM 14, with 861,000 rows.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need awk
library=${BENCH_FRAMES:-$(ls -S /usr/lib/*/libLLVM*.so* 2>/dev/null | head -n 1)}
[ -n "$library" ] || skip "no libLLVM: BENCH_FRAMES names a library"
cd "$TMP" || exit 1

measured_run() { # COMMAND...: processor time, elapsed time in seconds, memory in kB of the largest process
  /usr/bin/time -o took -f '%U %S %e %M' "$@" >out.sym 2>run.log || fail "$*: $(cat run.log)"
  awk '{ print $1 + $2, $3, $4 }' took
}
least() { # FIELD FILE
  awk -v f="$1" 'NR == 1 || $f < v { v = $f } END { print v }' "$2"
}
cat >once <<S
#!/bin/sh
exec "$top_builddir/libexec/frames" 600 4000000000 may 3<"$library" 4>text 5>word
S
chmod +x once
[ -x /usr/bin/time ] || skip "/usr/bin/time is missing"
for _ in 1 2 3 4 5; do measured_run ./once || exit 1; done >tables
for _ in 1 2 3 4 5; do measured_run "$SYMFS" sym "$library" || exit 1; done >ours
bound=1.0
[ -z "${BENCH_FRAMES:-}" ] || bound=0
at_most "$(basename "$library"), $(grep -c . text) lines of text, processor time" "$(least 1 tables)" s "$bound"
say "its memory: $(least 3 tables) kB"
say "symfs sym: $(least 1 ours) s of processor time, $(least 2 ours) s elapsed, $(least 3 ours) kB"
[ -x "$TOOLS/bin/dump_syms" ] || { say "dump_syms is not installed"; exit $missed; }
for _ in 1 2 3; do measured_run "$TOOLS/bin/dump_syms" "$library" || exit 1; done >theirs
grep -q '^STACK CFI' out.sym || {
  say "dump_syms writes no unwind rules of this library: it is not compared"
  exit $missed
}
say "dump_syms: $(least 1 theirs) s of processor time, $(least 2 theirs) s elapsed, $(least 3 theirs) kB"
at_most "reading the tables by dump_syms, memory" "$(divided "$(least 3 tables)" "$(least 3 theirs)")" "" 0.3
for what in 1:processor-time 2:elapsed-time 3:memory; do
  bound=0.3
  [ "${what%%:*}" != 1 ] || bound=0
  part=$(divided "$(least "${what%%:*}" ours)" "$(least "${what%%:*}" theirs)")
  at_most "symfs sym by dump_syms, ${what#*:}" "$part" "" "$bound"
done
exit $missed
