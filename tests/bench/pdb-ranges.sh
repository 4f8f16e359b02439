#!/bin/sh
# Stacks in a large PDB on a symbol server, with nothing stored: 50 frames in 10 modules, 20 ms away, at 50 MB/s.
# Prints the bytes against those of the directory, the index and the modules, the requests, the time and memory
# of symfs, and the time of curl for the whole file. Then other stacks, whose answers must equal those of the whole
# PDB: BENCH_STACKS (100) of 100 frames. BENCH_PDB and BENCH_FIXTURES are as for the benchmark `pdb`.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need awk curl python3
PEAK=$top_builddir/tests/bench/peak
[ -x "$PEAK" ] || fail "$PEAK is not built: make bench"
[ -n "${BENCH_PDB:-}" ] || [ -d "$top_srcdir/../shared/tools/pdb" ] || skip "no ../shared"
rounds=${BENCH_ROUNDS:-5}
large_pdb
ID=$("$SYMFS" id "$PDB" | awk '/breakpad id/ { print $3; exit }')
file=big.pdb/$ID/big.pdb
mkdir -p "$TMP/symbols/big.pdb/$ID"
ln -s "$(realpath "$PDB")" "$TMP/symbols/$file"
"$SYMFS" add --cache "$TMP/store-whole" --no-default-sources "$PDB" >/dev/null || fail "add"
"$SYMFS" gsym create -o "$TMP/whole.gsym" "$PDB" || fail "create"
"$SYMFS" gsym dump "$TMP/whole.gsym" | awk '/^  [0-9]+ 0x[0-9a-f]+ 0x[0-9a-f]+$/ { print $2 }' >"$TMP/starts"

# The bound of the bytes, from the container itself.
python3 - "$PDB" >"$TMP/bound" <<'P' || fail "bound"
import struct, sys
f = open(sys.argv[1], 'rb').read()
size, fpm, blocks, n, _, where = struct.unpack_from('<6I', f, 32)
count = (n + size - 1) // size
directory = b''.join(f[b * size:(b + 1) * size] for b in struct.unpack_from('<%dI' % count, f, where * size))
streams = struct.unpack_from('<%dI' % struct.unpack_from('<I', directory)[0], directory, 4)
modules = [s for s in streams[5:] if 100000 < s < 0xffffffff]
print(int(1.3 * (n + streams[3] + 10 * sum(modules) / len(modules)) + 1e6))
P

# Five functions each at ten places.
awk 'NR == FNR { n++; next }
  { for (k = 0; k < 10; k++) if (FNR >= int(n / 10) * k + 100 && FNR < int(n / 10) * k + 105) print }' \
  "$TMP/starts" "$TMP/starts" >"$TMP/picked"
asked() { # ADDRESSES OFFSET
  printf '{"memoryMap": [["big.pdb", "%s"]], "stacks": [[' "$ID"
  asked_sep=
  while read -r asked_at; do
    printf '%s[0, %d]' "$asked_sep" $((asked_at + $2))
    asked_sep=', '
  done <"$1"
  printf ']]}'
}
asked "$TMP/picked" 9 >"$TMP/request"
whole() { "$SYMFS" symbolicate --offline --no-default-sources --cache "$TMP/store-whole" "$1" 2>"$TMP/run.log" ||
  fail "the whole PDB"; }
# So many addresses convert the PDB; the answers that follow are from GSYM.
awk 'NR > 100 && NR <= 700' "$TMP/starts" >"$TMP/many"
asked "$TMP/many" 9 >"$TMP/request-many"
whole "$TMP/request-many" >"$TMP/out"
whole "$TMP/request" >"$TMP/want"
[ "$(grep -o '"function_offset"' "$TMP/want" | wc -l)" = 50 ] || fail "not 50 functions"

upstream_start far --root "$TMP/symbols" --delay 20 --rate 50000000
# shellcheck disable=SC2154 # set by upstream_start
once() { # MEASURE URL
  rm -rf "$TMP/store"
  "$PEAK" "$1" "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store" --source "symstore@$2" "$TMP/request" \
    3>"$TMP/peak" >"$TMP/got" 2>"$TMP/run.log" || fail "symbolicate"
  cmp -s "$TMP/got" "$TMP/want" || fail "another answer than from the whole PDB"
}
# shellcheck disable=SC2154
for _ in $(seq "$rounds"); do
  upstream_reset "$URL_far"
  once time "$URL_far"
  cut -d' ' -f1 "$TMP/peak" >>"$TMP/wall"
  upstream_count "$URL_far" bytes '*/big.pdb' >>"$TMP/bytes"
  upstream_count "$URL_far" get '*/big.pdb' >>"$TMP/requests"
  once memory "$URL_far"
  cat "$TMP/peak" >>"$TMP/memory"
  curl -gs --noproxy '*' -o /dev/null -w '%{time_total}\n' "$URL_far/$file" |
    awk '{ print int($1 * 1000) }' >>"$TMP/curl"
done
middle() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
tell "50 frames in 10 modules: bytes" "$(middle "$TMP/bytes")" bytes "$(cat "$TMP/bound")"
say "of the file: $(divided "$(middle "$TMP/bytes")" "$(stat -L -c %s "$PDB")")"
# Some are sent at the same time: there are fewer round trips than requests.
tell "requests" "$(middle "$TMP/requests")" "" 16
tell "elapsed" "$(middle "$TMP/wall")" ms 1500
say "curl of the whole file: $(middle "$TMP/curl") ms"
say "memory of symfs and its worker: $(middle "$TMP/memory") kB"

# Other stacks from the same daemon: it downloads what it lacks, as long as that is not much of the file.
upstream_start near --root "$TMP/symbols"
# shellcheck disable=SC2154
symfs_serve ranges --source "symstore@$URL_near"
symfs_serve stored --cache "$TMP/store-whole" --offline
frames=0
# shellcheck disable=SC2154
for i in $(seq "${BENCH_STACKS:-100}"); do
  awk -v seed="$i" 'BEGIN { srand(seed) } { print rand() "\t" $1 }' "$TMP/starts" | sort -n | head -n 100 |
    cut -f2 >"$TMP/picked"
  asked "$TMP/picked" $((i % 50)) >"$TMP/request"
  for from in "$URL_ranges" "$URL_stored"; do
    curl -gsS --noproxy '*' --max-time 100 -d @"$TMP/request" -o "$TMP/answer.${from##*:}" "$from/symbolicate/v5" ||
      fail "v5"
  done
  cmp -s "$TMP/answer.${URL_ranges##*:}" "$TMP/answer.${URL_stored##*:}" ||
    fail "stack $i: another answer than from the whole PDB"
  frames=$((frames + 100))
done
say "$frames frames as from the whole PDB; $(grep -c 'was made of' "$TMP/ranges.log") conversions"
bounds_kept
