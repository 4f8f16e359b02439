#!/bin/sh
# PDBs against pdb-addr2line and llvm-symbolizer: 100,000 random addresses, with the conversion, and one address
# without a conversion. All take turns; what is printed is the median. Memory is RssAnon and RssShmem, so pages of
# files do not count. BENCH_PDB names a PDB; without it the benchmark makes one with
# ../shared/tools/pdb/build/bigpdb.sh (of about 60 MB, in a few minutes). BENCH_PDB_LARGE=yes makes one of more than
# 250 MB; BENCH_FIXTURES=DIR keeps it.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need awk cmp
PEAK=$top_builddir/tests/bench/peak
[ -x "$PEAK" ] || fail "$PEAK is not built: make bench"
tools=$(realpath "$top_srcdir/../shared/tools") || skip "no ../shared"
THEIRS=$tools/oracle/pdb-addr2line
[ -x "$THEIRS" ] || skip "no ../shared/tools/oracle/pdb-addr2line"
rounds=${BENCH_ROUNDS:-5}

large_pdb
"$SYMFS" gsym create -o "$TMP/check.gsym" "$PDB" || fail "create"
say "$(basename "$PDB"): $(($(stat -L -c %s "$PDB") / 1048576)) MiB," \
  "GSYM $(($(stat -c %s "$TMP/check.gsym") / 1048576)) MiB, of $(nproc) processors"

# Random addresses of its functions, in hexadecimal.
"$SYMFS" gsym dump "$TMP/check.gsym" | awk '/^  [0-9]+ 0x[0-9a-f]+ 0x[0-9a-f]+$/ { print $2 }' >"$TMP/starts"
python3 - "$TMP/starts" >"$TMP/hex" <<'P' || fail "addresses"
import random, sys
starts = sorted(int(line, 16) for line in open(sys.argv[1]))
random.seed(15)
for _ in range(100000):
    i = random.randrange(len(starts))
    end = starts[i + 1] if i + 1 < len(starts) else starts[i] + 16
    print('%x' % random.randrange(starts[i], max(starts[i] + 1, min(end, starts[i] + 4096))))
P
sed 's/^/0x/' "$TMP/hex" >"$TMP/addresses"

# timed NAME COMMAND...: adds elapsed ms to NAME.wall, and processor ms to NAME.cpu. grown: kB to NAME.memory.
timed() {
  t_into=$TMP/$1
  shift
  "$PEAK" time "$@" 3>"$TMP/peak" 2>"$TMP/run.log" || fail "$*"
  cut -d' ' -f1 "$TMP/peak" >>"$t_into.wall"
  cut -d' ' -f2 "$TMP/peak" >>"$t_into.cpu"
}
grown() {
  t_into=$TMP/$1
  shift
  "$PEAK" memory "$@" 3>"$TMP/peak" 2>"$TMP/run.log" || fail "$*"
  cat "$TMP/peak" >>"$t_into.memory"
}
middle() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# compared WHAT OURS: against theirs, by their wall and memory.
compared() {
  tell "$1: elapsed" "$(middle "$TMP/$2.wall")" ms "$(middle "$TMP/theirs.wall")"
  say "$1: processor: $(middle "$TMP/$2.cpu") ms (pdb-addr2line $(middle "$TMP/theirs.cpu"))"
  tell "$1: memory" "$(middle "$TMP/$2.memory")" kB \
    "$(awk -v m="$(middle "$TMP/theirs.memory")" -v part="$3" 'BEGIN { print int(m * part) }')"
}

# ---- conversion and 100,000 look-ups -----------------------------------------------------------
cat >"$TMP/both" <<E2
"$SYMFS" gsym create -o "$TMP/big.gsym" "$PDB" && exec "$SYMFS" gsym lookup --stdin "$TMP/big.gsym" <"$TMP/addresses"
E2
for i in $(seq "$rounds"); do
  timed theirs "$THEIRS" addr "$PDB" <"$TMP/hex" >"$TMP/theirs.out"
  timed ours "$SYMFS" gsym lookup --stdin "$PDB" <"$TMP/addresses" >"$TMP/ours.out"
  timed both sh "$TMP/both" >"$TMP/both.out"
  [ "$i" -gt 3 ] && continue
  grown theirs "$THEIRS" addr "$PDB" <"$TMP/hex" >"$TMP/out"
  grown ours "$SYMFS" gsym lookup --stdin "$PDB" <"$TMP/addresses" >"$TMP/out"
  grown both sh "$TMP/both" >"$TMP/out"
done
cmp "$TMP/ours.out" "$TMP/both.out" || fail "look-ups of the PDB and of the GSYM file differ"
# The function itself, without parameters: each tool writes those its own way.
awk -F '\t' '{ sub(/\(.*/, "", $2); print $2 ":" $4 }' "$TMP/theirs.out" >"$TMP/theirs.names"
awk -F '\t' '{
  n = split($2, f, " < "); name = line = f[n]; sub(/[@(].*/, "", name); sub(/.*:/, "", line); print name ":" line }' \
  "$TMP/ours.out" >"$TMP/ours.names"
same=$(paste "$TMP/ours.names" "$TMP/theirs.names" | awk -F '\t' '$1 == $2 { n++ } END { print n + 0 }')
say "functions and lines as pdb-addr2line has them: $same of 100000"
[ "$same" -gt "${BENCH_SAME:-95000}" ] || fail "the answers are others"
compared "conversion and 100000 look-ups in one command" ours 0.5
compared "conversion to a file, then 100000 look-ups" both 0.5
SYMBOLIZER=$(newest llvm-symbolizer)
image=${PDB%.pdb}.exe
if [ -n "$SYMBOLIZER" ] && [ -f "$image" ]; then
  timed llvm "$SYMBOLIZER" --obj="$image" --relative-address <"$TMP/addresses" >"$TMP/out"
  grown llvm "$SYMBOLIZER" --obj="$image" --relative-address <"$TMP/addresses" >"$TMP/out"
  say "$(basename "$SYMBOLIZER"), 100000 look-ups: $(cat "$TMP/llvm.wall") ms, $(cat "$TMP/llvm.memory") kB;" \
    "ours by it: $(divided "$(middle "$TMP/ours.wall")" "$(cat "$TMP/llvm.wall")")"
fi

# ---- one address ---------------------------------------------------------------------------------
rm -f "$TMP"/theirs.* "$TMP"/ours.*
for address in $(head -n $((4 * rounds)) "$TMP/hex"); do
  echo "$address" >"$TMP/one"
  timed theirs "$THEIRS" addr "$PDB" <"$TMP/one" >"$TMP/out"
  timed ours "$SYMFS" gsym lookup "0x$address" "$PDB" >"$TMP/out"
  grep -q '@' "$TMP/out" || fail "0x$address: $(cat "$TMP/out")"
  grown theirs "$THEIRS" addr "$PDB" <"$TMP/one" >"$TMP/out"
  grown ours "$SYMFS" gsym lookup "0x$address" "$PDB" >"$TMP/out"
done
compared "one address without conversion" ours 1
bounds_kept
