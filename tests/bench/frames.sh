#!/bin/sh
# Times the reader of unwind tables on a large library, text included, beside Breakpad's dump_syms. BENCH_FRAMES names
# the library; without it, the largest libLLVM of this system. The bound is for libLLVM 14, with 861,000 rows.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need awk
library=${BENCH_FRAMES:-$(ls -S /usr/lib/*/libLLVM*.so* 2>/dev/null | head -n 1)}
[ -n "$library" ] || skip "no libLLVM: BENCH_FRAMES names a library"
cd "$TMP" || exit 1

seconds() { # COMMAND...: of processor time, the least of five
  for _ in 1 2 3 4 5; do
    { sh -c '"$@" >/dev/null 2>&1; times' sh "$@"; } | awk 'NR == 2 { split($1, t, /[ms]/); split($2, u, /[ms]/)
      print t[1] * 60 + t[2] + u[1] * 60 + u[2] }'
  done | sort -n | head -n 1
}
read_tables() { "$top_builddir/libexec/frames" 600 4000000000 may 3<"$library" 4>text 5>word; }
cat >once <<S
#!/bin/sh
exec "$top_builddir/libexec/frames" 600 4000000000 may 3<"$library" 4>text 5>word
S
chmod +x once
read_tables || fail "frames ended with $?"
at_most "$(basename "$library"), $(grep -c . text) lines of text" "$(seconds ./once)" s 1.0
[ ! -x "$TOOLS/bin/dump_syms" ] || say "dump_syms, with the symbols: $(seconds "$TOOLS/bin/dump_syms" "$library") s"
exit $missed
