#!/bin/sh
# GSYM against llvm-gsymutil, the newest that is here: conversion of debug files with one thread and
# with two (time, memory, size), and look-ups. The inputs are the largest debug file of this machine,
# a program made here, and those that BENCH_GSYM names.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need awk
LOOKUP=$top_builddir/tests/bench/gsym-lookup
[ -x "$LOOKUP" ] || fail "$LOOKUP is not built: make bench"
[ -x /usr/bin/time ] || skip "no /usr/bin/time"
LLVM=
for tool in llvm-gsymutil llvm-gsymutil-14 llvm-gsymutil-19 llvm-gsymutil-22; do
  command -v $tool >/dev/null && LLVM=$tool
done
[ -n "$LLVM" ] || skip "no llvm-gsymutil"

missed=0
tell() { # NAME VALUE UNIT [BOUND]
  awk -v name="$1" -v value="$2" -v unit="$3" -v bound="${4:-0}" 'BEGIN {
    printf "%s: %s %s", name, value, unit
    if (bound) printf " (under %s: %.2f of it)", bound, value / bound
    print ""
    exit bound && value + 0 > bound + 0 }' || missed=$((missed + 1))
}

# timed COMMAND...: the best wall time of three, in ms, and the memory that it took, in kB.
timed() {
  wall=999999999 memory=0
  for _ in 1 2 3; do
    began=$(now_ms)
    /usr/bin/time -f %M -o "$TMP/time" "$@" >/dev/null 2>"$TMP/run.log" || fail "$*"
    took=$(($(now_ms) - began))
    [ $took -ge $wall ] || wall=$took
    memory=$(tail -n 1 "$TMP/time")
  done
}

convert() { # NAME FILE
  info=$(readelf -SW "$2" 2>/dev/null | awk '$0 ~ / \.debug_info / { sub(/^ *\[ *[0-9]+\]/, ""); print $5 }')
  say "$1: $(($(stat -c %s "$2") / 1048576)) MiB, .debug_info 0x$info"
  for threads in 1 2; do
    timed "$LLVM" --num-threads=$threads --convert "$2" -o "$TMP/theirs.gsym"
    their_wall=$wall their_memory=$memory
    timed "$SYMFS" gsym create --threads $threads -o "$TMP/ours.gsym" "$2"
    tell "$1, $threads threads: wall" "$wall" ms "$their_wall"
    tell "$1, $threads threads: memory" "$memory" kB "$((their_memory / 2))"
  done
  tell "$1: size" "$(stat -c %s "$TMP/ours.gsym")" bytes "$(stat -c %s "$TMP/theirs.gsym")"
}

largest=$(find /usr/lib/debug -name '*.debug' -type f -printf '%s %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d' ' -f2-)
[ -z "$largest" ] || convert "$(basename "$largest")" "$largest"
if command -v g++ >/dev/null; then
  units=${BENCH_UNITS:-40}
  cat >"$TMP/unit.cc" <<'C'
#include <map>
#include <string>
#include <vector>
#define GLUE(a, b) a##b
#define NAME(a, b) GLUE(a, b)
template <int K> static inline int step(int a, int b) { std::vector<int> v(a & 7); for (int i = 0; i < b; i++) v.push_back(i * K); return v.size() * K + a; }
template <int K> int work(std::map<std::string, std::vector<int>> &m, int a) { int r = step<K>(a, K) + step<K + 1>(a, 3); m[std::to_string(r)].push_back(a); return r + (int)m.size(); }
template <int K> struct all { static int run(std::map<std::string, std::vector<int>> &m, int a) { return work<K>(m, a) + all<K - 1>::run(m, a); } };
template <> struct all<UNIT * 60> { static int run(std::map<std::string, std::vector<int>> &, int a) { return a; } };
int NAME(unit, UNIT)(int a) { std::map<std::string, std::vector<int>> m; return all<UNIT * 60 + 60>::run(m, a); }
C
  objects=
  echo 'int main() { return 0; }' >"$TMP/main.cc"
  i=1
  while [ $i -le "$units" ]; do
    g++ -O2 -g -DUNIT=$i -c -o "$TMP/u$i.o" "$TMP/unit.cc" || fail "g++"
    objects="$objects $TMP/u$i.o"
    i=$((i + 1))
  done
  # shellcheck disable=SC2086
  g++ -o "$TMP/program" "$TMP/main.cc" $objects || fail "g++"
  convert "made here" "$TMP/program"
fi
for file in ${BENCH_GSYM:-}; do
  convert "$(basename "$file")" "$file"
done

# ---- look-ups ----------------------------------------------------------------------------
awk 'BEGIN {
  print "MODULE Linux x86_64 C0BCC3F19827FE653058404B2831D9E60 many.so"
  for (i = 0; i < 500; i++) print "FILE " i " /src/dir" i % 20 "/file" i ".cpp"
  for (i = 0; i < 1000; i++) print "INLINE_ORIGIN " i " ns::inlined_" i "(int)"
  for (f = 0; f < 120000; f++) {
    start = 4096 + f * 160
    printf "FUNC %x 98 0 ns::Class<%d>::function(int)\n", start, f
    printf "INLINE 0 %d %d %d %x 20\n", f % 900, f % 500, f % 1000, start + 16
    for (l = 0; l < 152; l += 8) printf "%x 8 %d %d\n", start + l, 10 + f % 100 + l * (l % 5), (f + int(l / 80)) % 500
  } }' >"$TMP/many.sym"
"$SYMFS" gsym create -o "$TMP/many.gsym" "$TMP/many.sym" || fail "create"
tell "in process, of 120000 functions" "$("$LOOKUP" "$TMP/many.gsym" 1000000)" "ns each" 150
awk 'BEGIN { srand(7); for (i = 0; i < 100000; i++) printf "0x%x\n", 4096 + int(rand() * 120000) * 160 + int(rand() * 150) }' >"$TMP/addresses"
sed "s|\$| $TMP/many.gsym|" "$TMP/addresses" >"$TMP/addresses.llvm"
timed sh -c "'$LLVM' --addresses-from-stdin <'$TMP/addresses.llvm'"
their_wall=$wall
timed sh -c "'$SYMFS' gsym lookup --stdin '$TMP/many.gsym' <'$TMP/addresses'"
tell "100000 look-ups of the command" "$wall" ms "$((their_wall * 7 / 10))"
[ $missed = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds were missed"
