#!/bin/sh
# Times symb_answer(), which `symfs symbolicate` and the HTTP server call, with modules that are
# ready: 1,000 frames of one module, and 10 jobs of 20 stacks of 50 frames over all modules, by one
# thread and by four. It also prints the time of the first answer, which fetches and converts. The
# benchmark makes BENCH_MODULES Breakpad files (20), each of BENCH_SYM_MIB MiB (2).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need awk
ANSWER=$top_builddir/tests/bench/symbolicate
[ -x "$ANSWER" ] || fail "$ANSWER is not built: make bench"
modules=${BENCH_MODULES:-20} mib=${BENCH_SYM_MIB:-2}
awk -v bytes=$((mib * 1048576)) 'BEGIN {
  for (i = 0; i < 2000; i++) printf "FILE %d /builds/worker/checkouts/gecko/dom/part%d/file%d.cpp\n", i, i % 40, i
  for (i = 0; i < 5000; i++)
    printf "INLINE_ORIGIN %d mozilla::detail::inlined_function_%d<int, char const*>(unsigned int)\n", i, i
  for (at = 4096; made < bytes; at += 128) {
    n++
    s = sprintf("FUNC %x 80 0 mozilla::dom::Class_%d::Method_%d(nsTSubstring<char16_t> const&, int)\n",
      at, n % 700, n)
    s = s sprintf("INLINE 0 %d %d %d %x 20 %x 10\n", n % 900 + 1, n % 2000, n % 5000, at + 16, at + 64)
    s = s sprintf("INLINE 1 %d %d %d %x 10\n", n % 800 + 1, (n + 7) % 2000, (n + 9) % 5000, at + 32)
    for (l = 0; l < 8; l++) s = s sprintf("%x 10 %d %d\n", at + l * 16, n % 3000 + l, (n + l % 3) % 2000)
    printf "%s", s
    made += length(s)
  } }' >"$TMP/body"
i=0
while [ $i -lt "$modules" ]; do
  mkdir -p "$TMP/up/m$i.so/$(id_of $i)"
  { echo "MODULE Linux x86_64 $(id_of $i) m$i.so"; cat "$TMP/body"; } >"$TMP/up/m$i.so/$(id_of $i)/m$i.so.sym"
  i=$((i + 1))
done
last=$(awk '$1 == "FUNC" { a = $2 } END { print a }' "$TMP/body")

request 1 1 1000 1 >"$TMP/one"
request 10 20 50 "$modules" >"$TMP/many"

began=$(now_ms)
"$SYMFS" symbolicate --no-default-sources --cache "$TMP/store" --source "breakpad@$TMP/up" "$TMP/many" \
  >"$TMP/answer" 2>"$TMP/run.log" || fail "cold"
tell "$modules modules of $mib MiB, cold" $(($(now_ms) - began)) ms
[ "$(grep -o '"function_offset"' "$TMP/answer" | wc -l)" = 10000 ] || fail "frames without a function"
# The command converts no large file as a whole, and a server does so when it is idle.
symfs_serve ready --source "breakpad@$TMP/up"
fetch_url --max-time 600 -H Expect: --data-binary "@$TMP/many" "$URL_ready/symbolicate/v5" >"$TMP/served"
echo >>"$TMP/served"
cmp "$TMP/served" "$TMP/answer" || fail "the server answers otherwise than the command"
all_made() { [ "$(grep -c 'was made of' "$TMP/ready.log")" = "$modules" ]; }
wait_for all_made || fail "not all files are ready"
symfs_unserve ready
for what in one many; do
  case $what in one) name="1000 frames of one module" bound=2 ;; *) name="10000 frames of $modules modules" bound= \
    ;; esac
  for threads in 1 4; do
    set -- $("$ANSWER" "$TMP/store-ready" "$TMP/$what" 40 $threads)
    [ "${5:-}" = 200 ] || fail "$what: $*"
    [ $threads = 1 ] || bound=
    tell "$name, $threads threads: median" "$1" ms $bound
    tell "$name, $threads threads: worst" "$2" ms
    tell "$name, $threads threads: answers" "$3" a-second
    tell "$name, $threads threads: most memory" "$4" MiB 256
  done
done
[ $missed = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds missed"
