#!/bin/sh
# Compares reads of single addresses through symfs, which fetches only the needed bytes, with curl.
# The upstream takes 20 ms and sends 50 MB/s. The reads are: one address of a PDB and its program by
# llvm-symbolizer; one of an ELF file with .gdb_index by eu-addr2line, gdb and llvm-symbolizer; one
# of the same file without an index by gdb, and its first bytes alone. Each is asked BENCH_ROUNDS
# (3) times of a new store. It takes turns with curl for the whole file and the same question to the
# local file. The output is medians. Each answer must equal that of the local file.
#
# The address is in the middle of the file: a reader that walks over all units first walks over half
# of them. BENCH_PDB_UNITS is the number of PDB units, each with 500 functions (70: a PDB of 31 MB,
# a program of 4.6 MB). BENCH_ELF_UNITS is the number of ELF units, each with 120 functions and the
# contents of headers (520: 120 MB, 185 KB of .debug_info in each unit). They take minutes to make;
# BENCH_FIXTURES is a directory that keeps them for the next run.
#
# At the end a table: eu-addr2line in indexed ELF files of 64 KiB to 1 GiB, from servers of 5, 20 and 100
# ms and 5, 50 and 500 MB/s, which all connections share. No cell may take more than 1.1 times as long
# as `symfs get`, and then eu-addr2line. BENCH_SECONDS bounds the transfer of a whole file (30): larger
# files at slower rates are left out, and so are rates that loopback does not reach. BENCH_TABLE=only
# prints nothing but the table, BENCH_TABLE=no all but it.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need curl awk gcc gdb gdb-add-index eu-addr2line readelf
table=${BENCH_TABLE:-yes}
SYMBOLIZER=$(first_of llvm-symbolizer) || skip "llvm-symbolizer is not installed"
CLANG=$(first_of clang) || skip "clang is not installed"
LINK=$(first_of lld-link) || skip "lld-link is not installed"
FX=${BENCH_FIXTURES:-$TMP/fx} FAR=$TMP/far
pdb_units=${BENCH_PDB_UNITS:-70} elf_units=${BENCH_ELF_UNITS:-520}
mkdir -p "$FX" "$FAR" "$TMP/curled"

# What a unit of a real program is: most of it are the types of its headers, the same in each unit, and
# then come its own functions.
header() { # TYPES
  awk -v n="$1" 'BEGIN {
    print "int sink(int n);"
    for (j = 0; j < n; j++) {
      printf "enum kind_of_header_%d { KIND_FIRST_%d, KIND_SECOND_%d, KIND_THIRD_%d };\n", j, j, j, j
      printf "struct type_of_header_%d { struct type_of_header_%d *next; struct type_of_header_%d *other; " \
        "enum kind_of_header_%d kind; unsigned flags : 5, mode : 3; long long total; double weight; char name[%d]; " \
        "int (*compare)(const struct type_of_header_%d *a, const struct type_of_header_%d *b); " \
        "void *data; int counters[4]; unsigned short width, height; };\n",
        j, j, j ? j - 1 : 0, j, j % 40 + 8, j, j
    }
  }'
}
units() { # DIR UNITS FUNCTIONS MAIN TYPES
  mkdir -p "$1"
  header "$5" >"$1/header.h"
  awk -v dir="$1" -v units="$2" -v n="$3" -v entry="$4" 'BEGIN {
    for (i = 0; i < units; i++) {
      file = dir "/u" i ".c"
      print "#include \"header.h\"" >file
      for (j = i * n; j < (i + 1) * n; j++) {
        printf "struct record_of_number_%d { int first_field_%d; long long second_field_%d; " \
          "struct record_of_number_%d *next; };\n", j, j, j, j >file
        printf "int function_of_number_%d(int first_argument, struct record_of_number_%d *record)\n{\n" \
          "\tint local_value_%d = sink(first_argument);\n\tfor (int i = 0; i < first_argument; i++) {\n" \
          "\t\tint inner_value_%d = i * 7;\n\t\tlocal_value_%d += inner_value_%d + record->first_field_%d;\n" \
          "\t}\n\treturn local_value_%d;\n}\n", j, j, j, j, j, j, j, j >file
      }
      close(file)
    }
    print "int sink(int n) { return n ^ 5; }\nint function_of_number_7(int, void *);\n" \
      "int " entry "(void) { return function_of_number_7(1, 0); }" >dir "/main.c"
  }'
}

make_pe() {
  units "$FX/pe" "$pdb_units" 500 mainCRTStartup 0
  (cd "$FX/pe" && printf '%s\n' ./*.c | xargs -P2 -n8 "$CLANG" --target=x86_64-pc-windows-msvc -O0 -g -gcodeview -c &&
    "$LINK" /nologo /debug /out:big.exe /pdb:big.pdb /entry:mainCRTStartup /subsystem:console /nodefaultlib ./*.o &&
    rm ./*.o) || fail "PE"
}
make_elf() {
  units "$FX/elf" "$elf_units" 120 main 600
  (cd "$FX/elf" && printf '%s\n' ./*.c | xargs -P2 -n8 gcc -O0 -g -fno-eliminate-unused-debug-types -c &&
    gcc -o plain -Wl,--build-id=0x"$(printf '%040x' 11)" ./*.o &&
    gcc -o indexed -Wl,--build-id=0x"$(printf '%040x' 12)" ./*.o && gdb-add-index indexed && rm ./*.o) || fail "ELF"
}
offered() { mkdir -p "$FAR/${2%/*}" && { ln "$1" "$FAR/$2" 2>/dev/null || cp "$1" "$FAR/$2"; } || fail "$1"; }
# timed COMMAND...: $took in ms, its output in $TMP/said.
timed() {
  tm_from=$(now_ms)
  "$@" >"$TMP/said" 2>&1 || fail "$*: $(cat "$TMP/said")"
  took=$(($(now_ms) - tm_from))
}

# ---- sizes and servers -------------------------------------------------------------------------
# make_table: indexed files of these names, units, types of a header and functions of a unit. A unit is
# compiled once; its copies have other symbols, and the same contents.
SIZES='64K:1:95:14 256K:1:430:85 1M:4:600:120 4M:17:600:120 16M:70:600:120 64M:280:600:120 256M:1120:600:120
  1G:4480:600:120'
make_table() {
  for one in $SIZES; do
    IFS=: read -r mt_name mt_units mt_types mt_functions <<EOF
$one
EOF
    mt_dir=$FX/table/$mt_name
    units "$mt_dir" 1 "$mt_functions" main "$mt_types"
    echo 'int main(void) { return 0; }' >"$mt_dir/main.c"
    (cd "$mt_dir" && gcc -O0 -g -gdwarf-4 -ggnu-pubnames -fno-eliminate-unused-debug-types -c u0.c main.c &&
      seq "$mt_units" | xargs -P2 -I N objcopy --prefix-symbols=uN_ u0.o copy-N.o && rm u0.o &&
      printf '%s\n' ./*.o >objects &&
      gcc -fuse-ld=lld -Wl,--gdb-index -Wl,--unresolved-symbols=ignore-all \
        -Wl,--build-id=0x"$(printf '%040x' "$((mt_units * 1000 + mt_types))")" -o indexed @objects &&
      find . -name '*.o' -delete) || fail "the file of $mt_name"
  done
}
# cell NAME ROUND_MS MB: one file of one server, BENCH_ROUNDS times if that takes less than a second.
cell() {
  ce_file=$FX/table/$1/indexed ce_path=$(gdb_path "$(build_id "$FX/table/$1/indexed")" .debug)
  ce_size=$(stat -c %s "$ce_file")
  if [ $((ce_size / $3 / 1000000)) -ge "${BENCH_SECONDS:-30}" ]; then
    say "$1, $2 ms, $3 MB/s: left out, its transfer takes $((ce_size / $3 / 1000000)) s (BENCH_SECONDS)"
    return
  fi
  ce_address=0x$(readelf -sW "$ce_file" | awk '$8 ~ /_function_of_number_/ { print $2 }' | sort |
    awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }')
  ce_want=$(eu-addr2line -e "$ce_file" "$ce_address")
  by_get() {
    bg_file=$("$SYMFS" get --no-default-sources --cache "$TMP/store-get" --source "gdb@$URL_cell" "gdb/$ce_path") &&
      eu-addr2line -e "$bg_file" "$ce_address"
  }
  by_mount() { timeout 300 eu-addr2line -e "$MNT_m/gdb/$ce_path" "$ce_address"; }
  gets='' mounts='' n=${BENCH_ROUNDS:-3}
  while [ "$n" -gt 0 ]; do
    timed by_get
    gets="$gets $took"
    [ "$took" -lt 1000 ] || n=1
    [ "$(cat "$TMP/said")" = "$ce_want" ] || fail "$1: another answer by get"
    rm -rf "$TMP/store-get"
    upstream_reset "$URL_cell"
    symfs_mount m --cache "$TMP/store-cell" --source "gdb@$URL_cell"
    timed by_mount
    mounts="$mounts $took"
    [ "$(cat "$TMP/said")" = "$ce_want" ] || fail "$1: another answer: $(cat "$TMP/said")"
    symfs_umount m
    rm -rf "$TMP/store-cell"
    n=$((n - 1))
  done
  # shellcheck disable=SC2086 # lists
  ce_requests=$(upstream_count "$URL_cell" requests "/$ce_path")
  at_most "$1, $2 ms, $3 MB/s: $(median $mounts) ms by $(median $gets) ms of get, $ce_requests requests" \
    "$(divided "$(median $mounts)" "$(median $gets)")" "" 1.1
}
if [ "$table" != no ]; then
  need ld.lld objcopy
  [ "$(cat "$FX/table/made" 2>/dev/null)" = "$SIZES" ] || { rm -rf "$FX/table" && make_table &&
    echo "$SIZES" >"$FX/table/made"; }
  for one in $SIZES; do
    file=$FX/table/${one%%:*}/indexed
    offered "$file" "$(gdb_path "$(build_id "$file")" .debug)"
  done
  upstream_start cell --root "$FAR"
  loopback=$(fetch_url -o /dev/null -w '%{speed_download}' "$URL_cell/$(gdb_path "$(build_id "$file")" .debug)")
  kill "$PID_cell" && wait_gone "$PID_cell"
  say "loopback: $((${loopback%%.*} / 1000000)) MB/s"
  for delay in 5 20 100; do
    for rate in 5 50 500; do
      if [ "${loopback%%.*}" -lt $((rate * 1100000)) ]; then
        say "$rate MB/s: left out, loopback is slower"
        continue
      fi
      upstream_start cell --root "$FAR" --delay $delay --link $((rate * 1000000))
      for one in $SIZES; do
        cell "${one%%:*}" $delay $rate
      done
      kill "$PID_cell" && wait_gone "$PID_cell"
    done
  done
  [ "$table" != only ] || { bounds_kept && exit 0; }
fi

[ "$(cat "$FX/made" 2>/dev/null)" = "$pdb_units $elf_units" ] ||
  { rm -rf "$FX/pe" "$FX/elf" && make_pe && make_elf && echo "$pdb_units $elf_units" >"$FX/made"; }
readelf -SW "$FX/elf/indexed" | grep -q '\.gdb_index' || fail "no index"

# There is one upstream of all; it may lie on another file system than the fixtures.
PE=$(path_in symstore "$FX/pe/big.exe") PDB=$(path_in symstore "$FX/pe/big.pdb")
offered "$FX/pe/big.exe" "$PE"
offered "$FX/pe/big.pdb" "$PDB"
PLAIN=$(gdb_path "$(build_id "$FX/elf/plain")" .debug) INDEXED=$(gdb_path "$(build_id "$FX/elf/indexed")" .debug)
offered "$FX/elf/plain" "$PLAIN"
offered "$FX/elf/indexed" "$INDEXED"
upstream_start up --root "$FAR" --link 50000000 --delay 20

size_of() { stat -c %s "$FAR/$1"; }
fetched() { fetch_url --max-time 100 -o "$TMP/curled/${1##*/}" "$URL_up/$2"; }
# count NAME PATH PERCENT REQUESTS: what one file cost in the last round.
count() {
  ct_size=$(size_of "$2")
  at_most "$1, bytes on the wire" "$(awk -v a="$(upstream_count "$URL_up" bytes "*$2")" -v b="$ct_size" \
    'BEGIN { printf "%.1f", 100 * a / b }')" "% of $ct_size" "$3"
  at_most "$1, requests" "$(upstream_count "$URL_up" requests "*$2")" "" "$4"
}
# against NAME SOURCE TIME: `ask DIR` asks what the functions `near` (the mount's files) and `far` (what
# curl fetched) put there, and the directory $beside has already.
stores=0
against() {
  times='' whole='' ratios=''
  mkdir -p "$TMP/near"
  timed ask "$beside"
  want=$(cat "$TMP/said") own=$took
  for _ in $(seq "${BENCH_ROUNDS:-3}"); do
    by_curl() { far && ask "$TMP/curled"; }
    timed by_curl
    [ "$(cat "$TMP/said")" = "$want" ] || fail "another answer by curl: $(cat "$TMP/said")"
    curl_ms=$took
    upstream_reset "$URL_up"
    symfs_mount m --cache "$TMP/store-$stores" --source "$2"
    stores=$((stores + 1))
    near
    timed ask "$TMP/near"
    [ "$(cat "$TMP/said")" = "$want" ] || fail "another answer: $(cat "$TMP/said")"
    symfs_umount m
    times="$times $took" whole="$whole $curl_ms" ratios="$ratios $(divided "$took" "$curl_ms")"
  done
  # shellcheck disable=SC2086 # a list
  say "$1: $(median $times) ms; local $own ms; curl, and then: $(median $whole) ms"
  # shellcheck disable=SC2086
  at_most "$1, time by curl's" "$(median $ratios)" "" "$3"
}

# ---- a PDB and its program --------------------------------------------------------------------
ask() { timeout 300 "$SYMBOLIZER" --obj="$1/big.exe" 0x140100000; }
far() { fetched big.exe "$PE" && fetched big.pdb "$PDB"; }
near() { ln -sf "$MNT_m/symstore/$PE" "$TMP/near/big.exe" && ln -sf "$MNT_m/symstore/$PDB" "$TMP/near/big.pdb"; }
beside=$FX/pe
against "llvm-symbolizer, PE and PDB" "symstore@$URL_up" 0.5
count "llvm-symbolizer, PDB" "$PDB" 12 25
count "llvm-symbolizer, PE" "$PE"

# ---- ELF with an index -------------------------------------------------------------------------
middle=function_of_number_$((elf_units * 60 + 7))
address=$(readelf -sW "$FX/elf/indexed" | awk -v f="$middle" '$8 == f { print "0x" $2 }' | head -n 1)
far() { fetched elf "$INDEXED"; }
near() { ln -sf "$MNT_m/$INDEXED" "$TMP/near/elf"; }
beside=$TMP/beside
mkdir "$beside" && ln -s "$FX/elf/indexed" "$beside/elf"
ask() { timeout 300 eu-addr2line -e "$1/elf" "$address"; }
against "eu-addr2line, .gdb_index" "gdb@$URL_up" 0.5
count "eu-addr2line, .gdb_index" "$INDEXED" 25 60
ask() { timeout 300 gdb -nx -batch -ex 'set debuginfod enabled off' -ex "info line $middle" "$1/elf"; }
against "gdb, .gdb_index" "gdb@$URL_up" 0.5
count "gdb, .gdb_index" "$INDEXED" 45 60
ask() { timeout 300 "$SYMBOLIZER" --obj="$1/elf" "$address"; }
against "llvm-symbolizer, .gdb_index" "gdb@$URL_up"
count "llvm-symbolizer, .gdb_index" "$INDEXED"

# ---- ELF without -------------------------------------------------------------------------------
far() { fetched elf "$PLAIN"; }
near() { ln -sf "$MNT_m/$PLAIN" "$TMP/near/elf"; }
ln -sf "$FX/elf/plain" "$beside/elf"
ask() { timeout 300 gdb -nx -batch -ex 'set debuginfod enabled off' -ex "info line $middle" "$1/elf"; }
against "gdb, no index" "gdb@$URL_up" 1.1
count "gdb, no index" "$PLAIN"
symfs_mount m --cache "$TMP/store-$stores" --source "gdb@$URL_up"
timed head -c 64 "$MNT_m/$PLAIN"
at_most "the head alone, round trips (of 20 ms)" "$(divided "$took" 20)" "" 5
symfs_umount m
bounds_kept
