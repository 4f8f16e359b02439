#!/bin/sh
# The code id of a PE file with a zero-padded size is the same id in every place.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need cmp curl
mkdir "$TMP/exe"
EXE=$TMP/exe/crash.exe
cp "$top_srcdir/tests/data/broken/pe/good" "$EXE" || fail cp
ID=5AB380779000 PADDED=5AB3807700009000

for kept in $ID $PADDED; do
  mkdir -p "$TMP/$kept/crash.exe/$kept"
  cp "$EXE" "$TMP/$kept/crash.exe/$kept/crash.exe"
done
upstream_start u --root "$TMP/$ID" --log "$TMP/requests"

# Each spelling finds a file that a directory keeps by the other, and a server's.
for source in "symstore@$TMP/$ID" "symstore@$TMP/$PADDED" "symstore@$URL_u"; do
  n=$((${n:-0} + 1))
  symfs_mount m$n --source "$source"
  cmp "$EXE" "$TMP/m$n/symstore/crash.exe/$PADDED/crash.exe" || fail "$source by $PADDED"
  cmp "$EXE" "$TMP/m$n/symstore/crash.exe/$ID/crash.exe" || fail "$source by $ID"
  [ "$(stat -c %i "$TMP/m$n/symstore/crash.exe/$PADDED/crash.exe")" = \
    "$(stat -c %i "$TMP/m$n/symstore2/cr/crash.exe/$ID/crash.exe")" ] ||
    fail "$source: two inodes"
  symfs_umount m$n
done
[ "$(grep -c '^GET .* 20[06] ' "$TMP/requests")" = 1 ] || fail "more than one request: $(cat "$TMP/requests")"

# A server that files by padded ids is asked for one when the request has it, and when all other paths are missing.
upstream_start p --root "$TMP/$PADDED" --log "$TMP/asked"
get() { # STORE ID
  "$SYMFS" get --no-default-sources --cache "$TMP/store-$1" --source "symstore@$URL_p" \
    "symstore/crash.exe/$2/crash.exe" >"$TMP/got" 2>"$TMP/get.err"
}
for id in $PADDED $ID; do
  get $id $id || fail "get $id: $(cat "$TMP/get.err")"
  cmp "$EXE" "$(cat "$TMP/got")" || fail "get $id: other bytes"
done
# A server that had no padded id gets one request for it, the last one.
rm -rf "${TMP:?}/$PADDED/crash.exe"
: >"$TMP/asked"
get miss $ID && fail "a file that is not there"
grep -v /index2.txt "$TMP/asked" | tail -n 1 | grep -q "/$PADDED/crash.exe" ||
  fail "the padded id is not the last: $(cat "$TMP/asked")"
[ "$(grep -c $PADDED "$TMP/asked")" = 1 ] || fail "requests by the padded id: $(cat "$TMP/asked")"
: >"$TMP/asked"
get miss $ID && fail "a file that is not there"
[ ! -s "$TMP/asked" ] || fail "the miss is not remembered: $(cat "$TMP/asked")"
# That miss says nothing about other paths that have the padded id.
mkdir -p "$TMP/$PADDED/crash.exe/$PADDED"
cp "$EXE" "$TMP/$PADDED/crash.exe/$PADDED/crash.ex_"
get miss $PADDED || fail "a miss of one path hides another: $(cat "$TMP/get.err")"

"$SYMFS" add --cache "$TMP/store-a" "$EXE" >"$TMP/add.out" 2>&1 || fail "add"
symfs_serve a --cache "$TMP/store-a"
fetch_url "$URL_a/crash.exe/$PADDED/crash.exe" | cmp - "$EXE" || fail "serve"
printf '{"memoryMap":[{"type":"pe","code_file":"crash.exe","code_id":"%s"}],"stacks":[[[0,4096]]]}' $PADDED |
  "$SYMFS" symbolicate --module-errors --offline --cache "$TMP/store-a" - >"$TMP/answer" 2>"$TMP/symbolicate.err"
grep -q '"message": "pe: has no functions' "$TMP/answer" ||
  fail "symbolicate: the file is not found: $(cat "$TMP/answer" "$TMP/symbolicate.err")"

# A short build id of ELF, and the same in 20 bytes.
[ "$("$SYMFS" paths --layout debuginfod --type elf_debug --object-type elf --code-id 11223344556677889900 |
  cut -f3 | tr '\n' ' ')" = \
  "11223344556677889900/debuginfo 1122334455667788990000000000000000000000/debuginfo " ] ||
  fail "paths of a short build id"
"$SYMFS" parse symstore "foo.exe/542D5742000f2000/foo.exe" | grep -q '"code_id": *"542d5742f2000"' || fail parse
[ "$("$SYMFS" paths --layout symstore --type pe --object-type pe --code-file foo.exe --code-id 542D5742000f2000 |
  cut -f3 | head -n 1)" = \
  foo.exe/542D5742f2000/foo.exe ] || fail paths
