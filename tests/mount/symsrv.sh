#!/bin/sh
# The Rust crate symsrv, a client of Microsoft's symbol servers, gets PDBs and programs from `symfs serve` and from a
# mount: by each form of _NT_SYMBOL_PATH that it knows, plain files and cabinets, and a miss is a miss.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
GET=$TOOLS/bin/symsrv-get CAB=$top_builddir/tests/helpers/pack-cab
[ -x "$GET" ] || skip "no symsrv-get: scripts/symsrv-get builds it"
[ -x "$CAB" ] || skip "no pack-cab"
need curl
CLANG=$(first_of clang) && LINK=$(first_of lld-link) || skip "no clang, no lld-link"

for name in plain packed; do
  (cd "$TMP" && echo "int start(void) { return sizeof(\"$name\"); }" >$name.c &&
    "$CLANG" -target x86_64-windows-msvc -g -gcodeview -O1 -c $name.c -o $name.obj &&
    "$LINK" /nologo /dll /noentry /debug /pdb:$name.pdb /export:start /Brepro /nodefaultlib /out:$name.dll \
    $name.obj) >"$TMP/lld.out" 2>&1 ||
    fail "clang and lld-link: $(cat "$TMP/lld.out")"
  id=$("$SYMFS" id "$TMP/$name.pdb" | awk '/breakpad id/ { print $3; exit }')
  code=$("$SYMFS" id "$TMP/$name.dll" | awk '/code id/ { print $3; exit }')
  [ -n "$id" ] && [ -n "$code" ] || fail "$name has no ids"
  mkdir -p "$TMP/symbols/$name.pdb/$id" "$TMP/symbols/$name.dll/$code"
  eval "ID_$name=\$id CODE_$name=\$code"
done
# shellcheck disable=SC2154 # set by eval
cp "$TMP/plain.pdb" "$TMP/symbols/plain.pdb/$ID_plain"
# shellcheck disable=SC2154 # set by eval
cp "$TMP/plain.dll" "$TMP/symbols/plain.dll/$CODE_plain"
# shellcheck disable=SC2154 # set by eval
"$CAB" mszip "$TMP/packed.pdb" "$TMP/symbols/packed.pdb/$ID_packed/packed.pd_" || fail "pack-cab"

upstream_start store --root "$TMP/symbols"
# shellcheck disable=SC2154 # set by upstream_start
symfs_serve one --source "symstore@$URL_store"
symfs_mount two --source "symstore@$URL_store"
MISSING=00000000000000000000000000000000A

n=0
# gets PATH STORE: all three files, each in a cache of its own, and not the fourth
gets() {
  rm -rf "$TMP/cache"
  timeout 600 "$GET" "$1" "$2" plain.pdb "$ID_plain" packed.pdb "$ID_packed" plain.dll "$CODE_plain" plain.pdb \
    $MISSING >"$TMP/got" 2>&1 &&
    fail "$1: a PDB that does not exist was found: $(cat "$TMP/got")"
  say "$1:"
  sed 's/^/  /' "$TMP/got"
  g_row=0
  for want in plain.pdb packed.pdb plain.dll; do
    g_row=$((g_row + 1))
    same_file "$(sed -n "${g_row}p" "$TMP/got")" "$TMP/$want"
  done
  sed -n 4p "$TMP/got" | grep -q "^plain.pdb $MISSING: " || fail "$1: $(cat "$TMP/got")"
  n=$((n + 1))
}
# shellcheck disable=SC2154 # set by symfs_serve and symfs_mount
for place in "$URL_one/symstore" "$MNT_two/symstore"; do
  gets "srv*$TMP/cache*$place" ""
  gets "symsrv*symsrv.dll*$TMP/cache*$place" ""
  gets "cache*$TMP/cache;srv*$place" ""
  gets "srv**$place" "$TMP/cache"
done
gets "$MNT_two/symstore" "$TMP/cache"
gets "srv*$TMP/cache*$URL_one/nothing*$URL_one/symstore" ""
[ $n = 10 ] || fail "$n paths"
symfs_unserve one
symfs_umount two
