#!/bin/sh
# llvm-symbolizer names functions and lines of a DLL whose PDB, beside it, is a link into symstore/
# or symstore2/: from a file that was added, and from a server.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl
SYMBOLIZER=$(first_of llvm-symbolizer) || skip "llvm-symbolizer is not installed"
OBJDUMP=$(first_of llvm-objdump) || skip "llvm-objdump is not installed"

windows_library "$TMP/w" one
address() { # NAME: where it is, preferred base and all
  "$OBJDUMP" -p "$TMP/w/one.dll" |
    awk -v name="$1" '$1 == "ImageBase" { base = $2 } $3 == name { print "0x" base " " $2 }'
}
set -- $(address one)
ENTRY=$(printf '0x%x' $(($1 + $2)))
PE=$(path_in symstore "$TMP/w/one.dll") PDB=$(path_in symstore "$TMP/w/one.pdb")
PDB2=$(path_in symstore_index2 "$TMP/w/one.pdb")
[ "$PDB2" = "on/$PDB" ] || fail "two tiers: $PDB2"
mkdir -p "$TMP/far/$(dirname "$PDB")" "$TMP/far/$(dirname "$PE")" "$TMP/near"
mv "$TMP/w/one.pdb" "$TMP/far/$PDB"
cp "$TMP/w/one.dll" "$TMP/near/"
mv "$TMP/w/one.dll" "$TMP/far/$PE"
rm -r "$TMP/w"

ask() { timeout 600 "$SYMBOLIZER" --obj="$TMP/near/one.dll" "$ENTRY" 2>&1; }
unnamed() { # What an export is called is known without; no file and line are.
  refuse "$1" "$(ask)" 'one\.c:'
}
unnamed "without a PDB"

through() { # WHAT LINK
  ln -sf "$2" "$TMP/near/one.pdb"
  expect "$1" "$(ask)" '^one$' '[\\/]one\.c:2:'
  rm "$TMP/near/one.pdb"
  tried=$((tried + 1))
}
tried=0
"$SYMFS" add -r --cache "$TMP/store" "$TMP/far" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
upstream_start up --root "$TMP/far"
for how in stored cold; do
  # symstore2 first: what is asked for first is what is cold.
  for path in "symstore2/$PDB2" "symstore/$PDB" "symstore/$(lower "$PDB")" "ssqp/$(lower "$PDB")" "$PDB"; do
    if [ $how = stored ]; then
      symfs_mount m --cache "$TMP/store" --offline
    else
      rm -rf "$TMP/store-m"
      symfs_mount m --source "symstore@$URL_up"
    fi
    through "$how, $path" "$MNT_m/$path"
    ln -s "$MNT_m/$(printf '%s' "$path" | tr 0123456789 1234567890)" "$TMP/near/one.pdb"
    unnamed "another id, $path"
    rm "$TMP/near/one.pdb"
    # The DLL, too, may be the mount's: its PDB then is where it says itself.
    same_file "$TMP/near/one.dll" "$MNT_m/symstore/$PE"
    symfs_umount m
  done
done
say "$tried links into the mount, each names line 2 of one.c"
