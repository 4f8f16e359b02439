#!/bin/sh
# Only the needed bytes are fetched: one address of a PDB and its program by llvm-symbolizer, from a
# server that answers ranges, costs a small part of them and few requests. Reads through the mount
# equal the server's file. A changed file is never mixed with older blocks, and fetched blocks are
# not requested again after a restart.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl awk
SYMBOLIZER=$(first_of llvm-symbolizer) || skip "llvm-symbolizer is not installed"
CLANG=$(first_of clang) || skip "clang is not installed"
LINK=$(first_of lld-link) || skip "lld-link is not installed"

# A program of Windows with so many functions that its PDB has several megabytes.
mkdir -p "$TMP/w" "$TMP/far" "$TMP/near"
awk -v dir="$TMP/w" 'BEGIN {
  for (i = 0; i < 26; i++) {
    file = dir "/u" i ".c"
    print "int sink(int n);" >file
    for (j = i * 500; j < i * 500 + 500; j++) {
      printf "struct record_of_number_%d { int first_field_%d; long long second_field_%d; " \
        "struct record_of_number_%d *next; };\n", j, j, j, j >file
      printf "int function_of_number_%d(int first_argument, struct record_of_number_%d *record)\n{\n" \
        "\tint local_value = sink(first_argument);\n\treturn local_value + record->first_field_%d;\n}\n",
        j, j, j >file
    }
    close(file)
  }
  print "int sink(int n) { return n ^ 5; }\nint function_of_number_4000(int, void *);\n" \
    "int mainCRTStartup(void) { return function_of_number_4000(1, 0); }" >dir "/main.c"
}'
(cd "$TMP/w" && "$CLANG" --target=x86_64-pc-windows-msvc -O0 -g -gcodeview -c ./*.c &&
  "$LINK" /nologo /debug /out:big.exe /pdb:big.pdb /entry:mainCRTStartup /subsystem:console /nodefaultlib ./*.o) ||
  fail "the program"
PE=$(path_in symstore "$TMP/w/big.exe") PDB=$(path_in symstore "$TMP/w/big.pdb")
mkdir -p "$TMP/far/$(dirname "$PE")" "$TMP/far/$(dirname "$PDB")"
cp "$TMP/w/big.exe" "$TMP/far/$PE"
cp "$TMP/w/big.pdb" "$TMP/far/$PDB"
size=$(stat -c %s "$TMP/w/big.pdb")
[ "$size" -gt 6000000 ] || fail "the PDB has only $size bytes"

upstream_start up --root "$TMP/far"
symfs_mount m --byte-ranges always --source "symstore@$URL_up"
ln -s "$MNT_m/symstore/$PE" "$TMP/near/big.exe"
ask() { timeout 600 "$SYMBOLIZER" --obj="$1/big.exe" 0x140010000 2>&1; }
want=$(ask "$TMP/w")
expect "beside it" "$want" '^function_of_number_' 'u[0-9]*\.c:[1-9]'
ln -s "$MNT_m/symstore/$PDB" "$TMP/near/big.pdb"
[ "$(ask "$TMP/near")" = "$want" ] || fail "through the mount: $(ask "$TMP/near")"
bytes=$(upstream_count "$URL_up" bytes "*$PDB") requests=$(upstream_count "$URL_up" requests "*$PDB")
say "$bytes of $size bytes of the PDB in $requests requests"
[ "$bytes" -lt $((size * 2 / 5)) ] || fail "$bytes of $size bytes of the PDB"
[ "$requests" -le 25 ] || fail "$requests requests"

# A later read of the whole file: no stored block is requested again, and then the file is whole.
same_file "$TMP/w/big.pdb" "$MNT_m/symstore/$PDB"
bytes=$(upstream_count "$URL_up" bytes "*$PDB")
[ "$bytes" -le $((size + 600000)) ] || fail "$bytes bytes for $size"
whole() { "$SYMFS" get --offline --no-default-sources --cache "$TMP/store-m" "symstore/$PDB"; }
wait_for whole || fail "it did not become whole"
same_file "$TMP/w/big.pdb" "$(whole)"
upstream_reset "$URL_up"
same_file "$TMP/w/big.pdb" "$MNT_m/symstore/$PDB"
[ "$(upstream_count "$URL_up" requests "*$PDB")" = 0 ] || fail "a whole file was asked for again"
symfs_umount m

# What came before a restart is here after it.
symfs_mount r --byte-ranges always --source "symstore@$URL_up"
rm "$TMP/near/big.exe" "$TMP/near/big.pdb"
cp "$TMP/w/big.exe" "$TMP/near/big.exe"
ln -s "$MNT_r/symstore/$PDB" "$TMP/near/big.pdb"
[ "$(ask "$TMP/near")" = "$want" ] || fail "before the restart"
symfs_umount r
upstream_reset "$URL_up"
symfs_mount r --byte-ranges always --source "symstore@$URL_up"
[ "$(ask "$TMP/near")" = "$want" ] || fail "after the restart"
bytes=$(upstream_count "$URL_up" bytes "*$PDB")
say "$bytes bytes after a restart"
[ "$bytes" -le 300000 ] || fail "$bytes bytes after a restart"

# Another version under the same name, while it is open: the reader gets the old bytes or an error.
exec 5<"$MNT_r/symstore/$PDB"
dd bs=65536 count=1 <&5 >/dev/null 2>&1
cp "$TMP/w/big.pdb" "$TMP/w/other.pdb"
# In what was read of it, and in many a place that was not.
for at in $((size - 100)) $((size / 4)) $((size / 3)) $((size / 2)) $((size * 2 / 3)); do
  printf 'other' | dd of="$TMP/w/other.pdb" bs=1 seek=$at conv=notrunc 2>/dev/null
done
mv "$TMP/w/other.pdb" "$TMP/far/$PDB"
cat <&5 >"$TMP/read" 2>/dev/null
exec 5<&-
n=$(stat -c %s "$TMP/read")
dd if="$TMP/w/big.pdb" bs=65536 skip=1 2>/dev/null | head -c "$n" | cmp -s - "$TMP/read" ||
  fail "bytes of two versions were mixed"
# A reader that opens it anew gets the new one.
new() { cmp -s "$TMP/far/$PDB" "$MNT_r/symstore/$PDB"; }
wait_for new || fail "the new version is not read"
symfs_umount r

# A server that answers no ranges sends the whole.
upstream_start old --root "$TMP/far" --no-range
symfs_mount o --source "symstore@$URL_old"
same_file "$TMP/far/$PDB" "$MNT_o/symstore/$PDB"
[ "$(upstream_count "$URL_old" requests "*$PDB")" = 1 ] || fail "more than one request without ranges"
symfs_umount o

# A program whose last block has one byte, and whose first blocks identify it. A client that reads the whole
# file over HTTP, but does not announce that at the start, also gets the last byte.
printf 'char large[200000] = {1};\n__declspec(dllexport) int start(void) { return large[5]; }\n' >"$TMP/w/last.c"
(cd "$TMP/w" && "$CLANG" --target=x86_64-pc-windows-msvc -O0 -c last.c &&
  "$LINK" /nologo /dll /noentry /nodefaultlib /out:last.dll last.o) || fail "a library"
PE=$(path_in symstore "$TMP/w/last.dll")
head -c $((262145 - $(stat -c %s "$TMP/w/last.dll"))) /dev/zero >>"$TMP/w/last.dll"
mkdir -p "$TMP/far/$(dirname "$PE")"
cp "$TMP/w/last.dll" "$TMP/far/$PE"
symfs_serve s --byte-ranges always --source "symstore@$URL_up"
fetch_url -r 0-9 -o /dev/null "$URL_s/symstore/$PE" || fail "its beginning"
fetch_url -r 0-9 -H 'If-Range: "another"' -o "$TMP/got" "$URL_s/symstore/$PE" ||
  fail "all but its last byte: $(stat -c %s "$TMP/got")"
same_file "$TMP/got" "$TMP/w/last.dll"
symfs_unserve s
