#!/bin/sh
# Only the bytes that are needed, against curl: an upstream with 20 ms and 50 MB/s. One address of a PDB
# and its program by llvm-symbolizer; one of an ELF file with .gdb_index by eu-addr2line and gdb; all of a
# file without one, and its head alone. What was answered must be what the local file answers. The
# sizes: BENCH_PDB_UNITS files of 500 functions (50: 20 MB), BENCH_ELF_UNITS of 2000 (120: 100 MB).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need curl awk gcc gdb gdb-add-index eu-addr2line readelf
SYMBOLIZER=$(first_of llvm-symbolizer) || skip "llvm-symbolizer is not installed"
CLANG=$(first_of clang) || skip "clang is not installed"
LINK=$(first_of lld-link) || skip "lld-link is not installed"
FX=$TMP/fx FAR=$TMP/far
mkdir -p "$FX" "$FAR"

units() { # DIR UNITS FUNCTIONS MAIN
  mkdir -p "$1"
  awk -v dir="$1" -v units="$2" -v n="$3" -v entry="$4" 'BEGIN {
    for (i = 0; i < units; i++) {
      file = dir "/u" i ".c"
      print "int sink(int n);" >file
      for (j = i * n; j < (i + 1) * n; j++) {
        printf "struct record_of_number_%d { int first_field_%d; long long second_field_%d; struct record_of_number_%d *next; };\n", j, j, j, j >file
        printf "int function_of_number_%d(int first_argument, struct record_of_number_%d *record)\n{\n\tint local_value_%d = sink(first_argument);\n\tfor (int i = 0; i < first_argument; i++) {\n\t\tint inner_value_%d = i * 7;\n\t\tlocal_value_%d += inner_value_%d + record->first_field_%d;\n\t}\n\treturn local_value_%d;\n}\n", j, j, j, j, j, j, j, j >file
      }
      close(file)
    }
    print "int sink(int n) { return n ^ 5; }\nint function_of_number_7(int, void *);\nint " entry "(void) { return function_of_number_7(1, 0); }" >dir "/main.c"
  }'
}

# timed COMMAND...: $took in ms, its output in $TMP/said.
timed() {
  tm_from=$(now_ms)
  timeout 300 "$@" >"$TMP/said" 2>&1 || fail "$*: $(cat "$TMP/said")"
  took=$(($(now_ms) - tm_from))
}
# wire NAME PATH SIZE PERCENT REQUESTS: what one file cost since the last reset.
wire() {
  wr_bytes=$(upstream_count "$URL_up" bytes "*$2")
  at_most "$1, bytes on the wire" "$(awk -v a="$wr_bytes" -v b="$3" 'BEGIN { printf "%.1f", 100 * a / b }')" "% of $3" "$4"
  at_most "$1, requests" "$(upstream_count "$URL_up" requests "*$2")" "" "$5"
}
fresh() { # SOURCE
  symfs_mount m --cache "$TMP/store-$fresh" --source "$1"
  fresh=$((fresh + 1))
}
fresh=0

units "$FX/pe" "${BENCH_PDB_UNITS:-50}" 500 mainCRTStartup
(cd "$FX/pe" && printf '%s\n' ./*.c | xargs -P2 -n8 "$CLANG" --target=x86_64-pc-windows-msvc -O0 -g -gcodeview -c &&
  "$LINK" /nologo /debug /out:big.exe /pdb:big.pdb /entry:mainCRTStartup /subsystem:console /nodefaultlib ./*.o) || fail "PE"
PE=$(path_in symstore "$FX/pe/big.exe") PDB=$(path_in symstore "$FX/pe/big.pdb")
mkdir -p "$FAR/$(dirname "$PE")" "$FAR/$(dirname "$PDB")"
ln "$FX/pe/big.exe" "$FAR/$PE" && ln "$FX/pe/big.pdb" "$FAR/$PDB" || fail ln

units "$FX/elf" "${BENCH_ELF_UNITS:-120}" 2000 main
(cd "$FX/elf" && printf '%s\n' ./*.c | xargs -P2 -n8 gcc -O0 -g -c && gcc -o plain -Wl,--build-id=0x"$(printf '%040x' 11)" ./*.o &&
  gcc -o indexed -Wl,--build-id=0x"$(printf '%040x' 12)" ./*.o && gdb-add-index indexed && rm ./*.o) || fail "ELF"
for f in plain indexed; do
  put_gdb "$FAR" "$FX/elf/$f" .debug
done
PLAIN=$(gdb_path "$(build_id "$FX/elf/plain")" .debug) INDEXED=$(gdb_path "$(build_id "$FX/elf/indexed")" .debug)
elf_size=$(stat -c %s "$FX/elf/indexed") plain_size=$(stat -c %s "$FX/elf/plain") pdb_size=$(stat -c %s "$FX/pe/big.pdb")
readelf -SW "$FX/elf/indexed" | grep -q '\.gdb_index' || fail "no index"
upstream_start up --root "$FAR" --rate 50000000 --delay 20

# ---- a PDB and its program --------------------------------------------------------------------
ask() { "$SYMBOLIZER" --obj="$1/big.exe" 0x140010000; }
timed ask "$FX/pe"
want=$(cat "$TMP/said") local_ms=$took
mkdir "$TMP/curled" "$TMP/near"
curled() {
  fetch_url -o "$TMP/curled/big.exe" "$URL_up/$PE" && fetch_url -o "$TMP/curled/big.pdb" "$URL_up/$PDB" && ask "$TMP/curled"
}
timed curled
curl_ms=$took
upstream_reset "$URL_up"
fresh "symstore@$URL_up"
ln -s "$MNT_m/symstore/$PE" "$TMP/near/big.exe"
ln -s "$MNT_m/symstore/$PDB" "$TMP/near/big.pdb"
timed ask "$TMP/near"
[ "$(cat "$TMP/said")" = "$want" ] || fail "another answer: $(cat "$TMP/said")"
wire "llvm-symbolizer, PDB" "$PDB" "$pdb_size" 12 25
wire "llvm-symbolizer, PE" "$PE" "$(stat -c %s "$FX/pe/big.exe")"
say "llvm-symbolizer: $took ms; local $local_ms ms; curl of both, and then: $curl_ms ms"
at_most "llvm-symbolizer, time by curl's" "$(divided "$took" "$curl_ms")" "" 0.5
symfs_umount m

# ---- ELF with an index -------------------------------------------------------------------------
address=$(readelf -sW "$FX/elf/indexed" | awk '$8 == "function_of_number_7" { print "0x" $2 }' | head -n 1)
addr2line() { eu-addr2line -e "$1" "$address"; }
line_of() { gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'info line function_of_number_7' "$1"; }
for tool in addr2line line_of; do
  timed "$tool" "$FX/elf/indexed"
  want=$(cat "$TMP/said") local_ms=$took
  curled() { fetch_url --max-time 100 -o "$TMP/curled/elf" "$URL_up/$INDEXED" && "$tool" "$TMP/curled/elf"; }
  timed curled
  curl_ms=$took
  upstream_reset "$URL_up"
  fresh "gdb@$URL_up"
  timed "$tool" "$MNT_m/$INDEXED"
  [ "$(cat "$TMP/said")" = "$want" ] || fail "another answer: $(cat "$TMP/said")"
  case $tool in
  addr2line) name=eu-addr2line percent=25 ;;
  *) name=gdb percent=45 ;;
  esac
  wire "$name, .gdb_index" "$INDEXED" "$elf_size" $percent 60
  say "$name: $took ms; local $local_ms ms; curl, and then: $curl_ms ms"
  at_most "$name, time by curl's" "$(divided "$took" "$curl_ms")" "" 0.5
  symfs_umount m
done

# ---- ELF without -------------------------------------------------------------------------------
timed line_of "$FX/elf/plain"
want=$(cat "$TMP/said")
curled() { fetch_url --max-time 100 -o "$TMP/curled/elf" "$URL_up/$PLAIN" && line_of "$TMP/curled/elf"; }
timed curled
curl_ms=$took
upstream_reset "$URL_up"
fresh "gdb@$URL_up"
timed line_of "$MNT_m/$PLAIN"
[ "$(cat "$TMP/said")" = "$want" ] || fail "another answer: $(cat "$TMP/said")"
wire "gdb, no index" "$PLAIN" "$plain_size"
say "gdb, no index: $took ms; curl, and then: $curl_ms ms"
at_most "gdb without an index, time by curl's" "$(divided "$took" "$curl_ms")" "" 1.1
symfs_umount m
upstream_reset "$URL_up"
fresh "gdb@$URL_up"
timed head -c 64 "$MNT_m/$PLAIN"
at_most "the head alone, round trips (of 20 ms)" "$(divided "$took" 20)" "" 5
symfs_umount m
bounds_kept
