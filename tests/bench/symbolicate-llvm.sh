#!/bin/sh
# Compares symb_answer() with llvm-symbolizer on the same addresses of a debug file, in rounds that
# take turns. The file is the first of /usr/lib/debug, or those in BENCH_GSYM. There are 1,000 and
# then 10,000 frames at random offsets of the code. The first time is that of a new process, with
# the file fetched and, for symfs, already converted to GSYM. The second time is that of one more
# pass when all is ready. The output also has the share of frames that both name alike;
# gsym-agree.sh finds out which one is right.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need awk readelf
ANSWER=$top_builddir/tests/bench/symbolicate
[ -x "$ANSWER" ] || fail "$ANSWER is not built: make bench"
LLVM=
for tool in llvm-symbolizer llvm-symbolizer-14 llvm-symbolizer-19 llvm-symbolizer-22; do
  command -v $tool >/dev/null && LLVM=$tool
done
[ -n "$LLVM" ] || skip "llvm-symbolizer is not installed"
set -- ${BENCH_GSYM:-$(find /usr/lib/debug/.build-id -name '*.debug' -size +2000k 2>/dev/null | sort | head -n 1)}
[ $# -gt 0 ] || skip "no debug file in /usr/lib/debug: BENCH_GSYM names one"
rounds=${BENCH_ROUNDS:-5} passes=5

# timed COMMAND...: wall and user milliseconds.
timed() {
  td_began=$(date +%s%N)
  td_user=$( { sh -c '"$@" >/dev/null 2>&1; times' sh "$@"; } |
    awk 'NR == 2 { split($1, t, /[ms]/); print t[1] * 60000 + t[2] * 1000 }')
  echo "$((($(date +%s%N) - td_began) / 1000)) $td_user" | awk '{ print $1 / 1000, $2 }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for file; do
  name=$(basename "$file") size=$(($(stat -Lc %s "$file") / 1048576))
  put_gdb "$TMP/tree" "$file" .debug
  base=$(readelf -lW "$file" 2>/dev/null | awk '$1 == "LOAD" { print $3; exit }')
  set -- $(readelf -SW "$file" | awk '{ sub(/^ *\[ *[0-9]+\] */, "") } $1 == ".text" { print "0x" $3, "0x" $5 }')
  for frames in 1000 10000; do
    awk -v n=$frames -v first=$(($1 - base)) -v size=$(($2)) \
      'BEGIN { srand(7); for (i = 0; i < n; i++) print first + int(rand() * size) }' >"$TMP/offsets"
    while read -r offset; do printf '0x%x\n' $((offset + base)); done <"$TMP/offsets" >"$TMP/addresses"
    # 10 jobs at most, 50 frames a stack.
    awk -v id="$(build_id "$file")" -v n=$frames '
      BEGIN { jobs = n > 1000 ? 10 : 1; each = n / jobs; printf "{\"jobs\":[" }
      {
        i = (NR - 1) % each
        if (i == 0)
          printf "%s{\"memoryMap\":[{\"type\":\"elf\",\"debug_file\":\"m\",\"code_id\":\"%s\"}],\"stacks\":[",
            (NR > 1 ? "," : ""), id
        if (i % 50 == 0) printf "%s[", (i ? "," : "")
        printf "%s[0,%s]", (i % 50 ? "," : ""), $1
        if (i % 50 == 49 || i == each - 1) printf "]"
        if (i == each - 1) printf "]}"
      }
      END { printf "]}" }' "$TMP/offsets" >"$TMP/request"
    for _ in $(seq $passes); do cat "$TMP/addresses"; done >"$TMP/more"
    cat "$TMP/addresses" >>"$TMP/more"
    ours() { "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store" --source "gdb@$TMP/tree" "$TMP/request"; }
    theirs() { "$LLVM" --obj="$file" --output-style=GNU --functions=linkage --inlines --no-demangle <"$1"; }
    ours >"$TMP/answer" 2>"$TMP/ours.log" || fail "symbolicate: $(cat "$TMP/answer")"
    # The outermost function of each frame, by both.
    sed 's/{"frame": /\n&/g' "$TMP/answer" | sed 1d | awk '
      { at = index($0, "\"function\": \""); n = index($0, ", \"inlines\"")
        if (!at || (n && at > n)) { print "??"; next }
        s = substr($0, at + 13); print substr(s, 1, index(s, "\"") - 1) }' >"$TMP/names"
    "$LLVM" --obj="$file" --output-style=GNU --functions=linkage --inlines --no-demangle --addresses \
      <"$TMP/addresses" |
      awk '/^0x[0-9a-f]+$/ { if (at) print name; at = 1; name = "??"; next } { name = $0; getline }
        END { print name }' >"$TMP/names.llvm"
    [ "$(wc -l <"$TMP/names")" = $frames ] && [ "$(wc -l <"$TMP/names.llvm")" = $frames ] ||
      fail "frames: $(wc -l "$TMP/names" "$TMP/names.llvm")"
    paste "$TMP/names" "$TMP/names.llvm" | awk -F '\t' -v what="$name ($size MiB), $frames frames" '
      $1 == $2 { same++ } $1 != "??" { named++ } $2 != "??" { theirs++ }
      END { printf "%s: named %d, by llvm-symbolizer %d, alike %.2f %%\n", what, named, theirs, 100 * same / NR }'
    : >"$TMP/all"
    for _ in $(seq "$rounds"); do
      echo "start" \
        "$(timed "$SYMFS" symbolicate --no-default-sources --offline --cache "$TMP/store" \
          --source "gdb@$TMP/tree" "$TMP/request")" >>"$TMP/all"
      echo "llvm-start" \
        "$(timed sh -c '"$0" --obj="$1" --output-style=GNU --functions=linkage --inlines --no-demangle <"$2"' \
          "$LLVM" "$file" "$TMP/addresses")" >>"$TMP/all"
      echo "ready $("$ANSWER" "$TMP/store" "$TMP/request" 20 1 | awk '{ print $1, 0 }')" >>"$TMP/all"
      echo "llvm-all" \
        "$(timed sh -c '"$0" --obj="$1" --output-style=GNU --functions=linkage --inlines --no-demangle <"$2"' \
          "$LLVM" "$file" "$TMP/more")" >>"$TMP/all"
    done
    of() { awk -v w="$1" -v f="$2" '$1 == w { print $f }' "$TMP/all" | median; }
    ready=$(of ready 2) \
      more=$(awk -v a="$(of llvm-all 2)" -v b="$(of llvm-start 2)" -v n=$passes 'BEGIN { print (a - b) / n }')
    awk -v what="$name, $frames frames" -v a="$(of start 2)" -v b="$(of llvm-start 2)" -v ua="$(of start 3)" \
      -v ub="$(of llvm-start 3)" -v r="$ready" -v m="$more" 'BEGIN {
      printf "%s, a new process: %.1f ms, llvm-symbolizer %.1f: %.2f of it; user %.0f and %.0f ms\n",
        what, a, b, a / b, ua, ub
      printf "%s, ready: %.2f ms, llvm-symbolizer %.2f: %.3f of it\n", what, r, m, (m > 0 ? r / m : 0) }'
  done
done
