#!/bin/sh
# Compares symfs with the newest installed llvm-gsymutil: conversion of debug files with one thread
# and with two (time, memory, size), and look-ups. The inputs are the largest debug file of this
# machine, a program made here, and the files in BENCH_GSYM. Both programs take turns; the output is
# the median of three runs. A wrong result is not timed.
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

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# timed NAME COMMAND...: adds the wall time in ms to $TMP/NAME.wall, processor time to NAME.cpu, and
# the peak of memory in kB to NAME.memory.
timed() {
  into=$TMP/$1
  shift
  began=$(now_ms)
  /usr/bin/time -f '%U %S %M' -o "$TMP/time" "$@" >"$TMP/out" 2>"$TMP/run.log" || fail "$*"
  echo $(($(now_ms) - began)) >>"$into.wall"
  tail -n 1 "$TMP/time" | awk '{ print ($1 + $2) * 1000 }' >>"$into.cpu"
  tail -n 1 "$TMP/time" | awk '{ print $3 }' >>"$into.memory"
}

# What .debug_* sections have, unpacked, in MiB.
dwarf_size() {
  readelf -tW "$1" 2>/dev/null | awk '
    function value(s, n, i) {
      n = 0;
      for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1;
      return n
    }
    /^ *\[ *[0-9]+\] / {
      debug = $0 ~ /\] *[.]debug_/; getline; size = value($4); if (debug && $1 != "NOBITS") all += size; next
    }
    debug && /ZLIB|ZSTD/ { sub(/.*(ZLIB|ZSTD), /, ""); sub(/,.*/, ""); all += value($0) - size }
    END { printf "%.1f", all / 1048576 }'
}

# What is wrong is not timed: it must be whole, LLVM must read all of it, and at random addresses it
# must say what debuggers say.
check_made() { # NAME FILE OURS THEIRS
  "$SYMFS" gsym verify "$3" >"$TMP/out" 2>&1 || fail "$1: verify: $(cat "$TMP/out")"
  "$LLVM" "$3" >"$TMP/out" 2>&1 || fail "$1: $LLVM cannot read it: $(tail -n 1 "$TMP/out")"
  grep -m 1 '^error' "$TMP/out" && fail "$1: $LLVM complains"
  # Those that only symbols have may be more here, and none may be fewer.
  ours=$("$SYMFS" gsym stats "$3" | awk '$1 == "functions" { print $2 }')
  theirs=$("$SYMFS" gsym stats "$4" | awk '$1 == "functions" { print $2 }')
  [ $((ours * 100)) -ge $((theirs * 99)) ] || fail "$1: $ours functions, and LLVM finds $theirs"
  AGREE_GSYM=$3 AGREE_ADDRESSES=2000 AGREE_WANTED=99 sh "$top_srcdir/tests/bench/gsym-agree.sh" "$2" >"$TMP/out" \
    2>&1 ||
    fail "$1: $(cat "$TMP/out")"
  say "$1: $ours functions (LLVM $theirs); $(sed -n '1s/.*as one of/agrees with one of/p' "$TMP/out")"
}

convert() { # NAME FILE
  say "$1: $(($(stat -L -c %s "$2") / 1048576)) MiB, of DWARF $(dwarf_size "$2") MiB"
  for threads in 1 2; do
    rm -f "$TMP"/ours.* "$TMP"/theirs.*
    for _ in 1 2 3; do
      timed theirs "$LLVM" --num-threads=$threads --convert "$2" -o "$TMP/theirs.gsym"
      timed ours "$SYMFS" gsym create --threads $threads -o "$TMP/ours.gsym" "$2"
    done
    if [ $threads = 1 ]; then
      check_made "$1" "$2" "$TMP/ours.gsym" "$TMP/theirs.gsym"
      mv "$TMP/ours.gsym" "$TMP/one"
      tell "$1: size" "$(stat -c %s "$TMP/one")" bytes "$(stat -c %s "$TMP/theirs.gsym")"
    else
      cmp "$TMP/one" "$TMP/ours.gsym" || fail "$1: two threads make another file"
    fi
    tell "$1, $threads threads: wall" "$(median "$TMP/ours.wall")" ms "$(median "$TMP/theirs.wall")"
    tell "$1, $threads threads: processor" "$(median "$TMP/ours.cpu")" ms "$(median "$TMP/theirs.cpu")"
    tell "$1, $threads threads: memory" "$(median "$TMP/ours.memory")" kB "$(($(median "$TMP/theirs.memory") / 2))"
  done
}

largest=$(find /usr/lib/debug -name '*.debug' -type f -printf '%s %p\n' 2>/dev/null | sort -n | tail -n 1 |
  cut -d' ' -f2-)
[ -z "$largest" ] || convert "$(basename "$largest")" "$largest"
if command -v g++ >/dev/null; then
  units=${BENCH_UNITS:-40}
  cat >"$TMP/unit.cc" <<'C'
#include <map>
#include <string>
#include <vector>
#define GLUE(a, b) a##b
#define NAME(a, b) GLUE(a, b)
template <int K> static inline int step(int a, int b) {
  std::vector<int> v(a & 7); for (int i = 0; i < b; i++) v.push_back(i * K); return v.size() * K + a; }
template <int K> int work(std::map<std::string, std::vector<int>> &m, int a) {
  int r = step<K>(a, K) + step<K + 1>(a, 3); m[std::to_string(r)].push_back(a); return r + (int)m.size(); }
template <int K> struct all { static int run(std::map<std::string, std::vector<int>> &m, int a) {
  return work<K>(m, a) + all<K - 1>::run(m, a); } };
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
# LLVM's own reader in process, where its headers are.
PEER=
for config in llvm-config llvm-config-14 llvm-config-19 llvm-config-22; do
  [ -f "$($config --includedir 2>/dev/null)/llvm/DebugInfo/GSYM/GsymReader.h" ] || continue
  # shellcheck disable=SC2046
  g++ -O2 $($config --cxxflags) -o "$TMP/peer" "$top_srcdir/tests/bench/gsym-lookup-llvm.cc" \
    $($config --ldflags --libs debuginfogsym --system-libs) 2>"$TMP/run.log" && PEER=$config
done
look_up() { # NAME GSYM
  for _ in 1 2 3; do
    "$LOOKUP" "$2" 1000000 >>"$TMP/each.ours" || fail "$1: look-ups"
    # LLVM's has no answer where a function reaches over another: that is no failure.
    [ -z "$PEER" ] || "$TMP/peer" "$2" 1000000 >>"$TMP/each.theirs" || [ $? = 2 ] || fail "$1: look-ups of $PEER"
  done
  # 150 ns, or a tenth more than LLVM takes on the same machine at the same time.
  bound=${3:-}
  [ -z "$PEER" ] ||
    bound=$(awk -v own="${3:-0}" -v theirs="$(median "$TMP/each.theirs")" \
      'BEGIN { b = theirs * 1.1; print (b > own ? b : own) }')
  tell "$1, in process${PEER:+ (LLVM $($PEER --version): $(median "$TMP/each.theirs"))}" \
    "$(median "$TMP/each.ours")" "ns each" "$bound"
  rm -f "$TMP"/each.*
}
look_up "of 120000 functions" "$TMP/many.gsym" 150
for file in ${BENCH_GSYM:-}; do
  "$SYMFS" gsym create -o "$TMP/ours.gsym" "$file" 2>/dev/null && look_up "of $(basename "$file")" "$TMP/ours.gsym"
done
awk 'BEGIN {
  srand(7); for (i = 0; i < 100000; i++) printf "0x%x\n", 4096 + int(rand() * 120000) * 160 + int(rand() * 150)
}' >"$TMP/addresses"
sed "s|\$| $TMP/many.gsym|" "$TMP/addresses" >"$TMP/addresses.llvm"
rm -f "$TMP"/ours.* "$TMP"/theirs.*
for _ in 1 2 3 4 5; do
  timed theirs sh -c "'$LLVM' --addresses-from-stdin <'$TMP/addresses.llvm'"
  timed ours sh -c "'$SYMFS' gsym lookup --stdin '$TMP/many.gsym' <'$TMP/addresses'"
  [ "$(grep -c ' < ' "$TMP/out")" -gt 10000 ] && [ "$(grep -vc '@' "$TMP/out")" = 0 ] ||
    fail "look-ups without an answer"
done
tell "100000 look-ups of the command" "$(median "$TMP/ours.wall")" ms "$(($(median "$TMP/theirs.wall") * 7 / 10))"
[ $missed = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds were missed"
