#!/bin/sh
# What symbol stores need beside paths: names in lower case, and file.ptr, which says where a file is.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl clang lld-link gzip

windows() # DIR: Prog.pdb and Prog.exe of code that says DIR's name
{
  mkdir -p "$1"
  echo "int start(void) { return sizeof(\"$1\"); }" >"$1/x.c"
  clang -target x86_64-windows-msvc -g -gcodeview -O1 -c "$1/x.c" -o "$1/x.obj" &&
    lld-link /nologo /debug "/pdb:$1/Prog.pdb" /Brepro /nodefaultlib /entry:start \
      /subsystem:console "/out:$1/Prog.exe" "$1/x.obj" >"$1/lld.log" 2>&1 || fail "lld-link"
}
windows "$TMP/one"
windows "$TMP/other-one"
PDB=$TMP/one/Prog.pdb
DID=$("$SYMFS" id --json "$PDB" | sed -n 's/^ *"debug_id": *"\(.*\)",\{0,1\}$/\1/p' | head -n 1 | tr -d - | tr '[:lower:]' '[:upper:]')
[ ${#DID} = 33 ] || fail "the id of the PDB is $DID"
file=symstore/Prog.pdb/$DID/Prog.pdb

# conf WORDS...: of a store in $TMP/www, asked anew
conf() { printf '[source "s"]\nlayout = symstore\n' >"$TMP/conf"; printf '%s\n' "$@" >>"$TMP/conf"; rm -rf "$TMP/store"; }
symfs() { timeout 60 "$SYMFS" "$@" --no-default-sources --config "$TMP/conf" --cache "$TMP/store" >"$TMP/out" 2>"$TMP/err"; }
gets() { # WHAT
  symfs get "$file" || fail "$1: $? $(cat "$TMP/err")"
  same_file "$(cat "$TMP/out")" "$PDB"
}
fails() { # STATUS WHAT
  symfs get "$file"
  f_r=$?
  [ $f_r = "$1" ] || fail "$2: exit $f_r, wanted $1: $(cat "$TMP/err")"
}
clean() { rm -rf "$TMP/www/"*; mkdir -p "$TMP/www/Prog.pdb/$DID"; upstream_clear "$up"; upstream_reset "$up"; }
mkdir "$TMP/www"
upstream_start up --root "$TMP/www" --log "$TMP/requests"
# shellcheck disable=SC2154 # set by upstream_start
up=$URL_up

# ---- names in lower case -----------------------------------------------------------------------------
clean
mkdir -p "$TMP/www/prog.pdb/$DID"
cp "$PDB" "$TMP/www/prog.pdb/$DID/prog.pdb"
for where in "url = $up/" "path = $TMP/www"; do
  conf "$where"
  gets "a disk in lower case, $where"
done
conf "url = $up/" 'casing = uppercase'
fails 1 "a disk in lower case, asked in upper case"

# ---- file.ptr ----------------------------------------------------------------------------------------
mkdir -p "$TMP/drop/Sub" "$TMP/secret"
cp "$PDB" "$TMP/drop/Sub/PROG.PDB"
cp "$PDB" "$TMP/secret/Prog.pdb"
gzip -c "$PDB" >"$TMP/drop/Sub/packed"
cp "$TMP/other-one/Prog.pdb" "$TMP/drop/Sub/other"
ln -s "$TMP/secret" "$TMP/drop/away"
ln -s "$TMP/secret/Prog.pdb" "$TMP/drop/link"
map='ptr-map = \\build\drop='$TMP/drop
rows=0
while IFS='|' read -r status says text; do
  for where in "url = $up/" "path = $TMP/www"; do
    clean
    printf "$text" >"$TMP/www/Prog.pdb/$DID/file.ptr"
    conf "$where" "$map"
    if [ "$status" = 0 ]; then
      gets "$text, $where"
    else
      fails "$status" "$text, $where"
      grep -q "$says" "$TMP/err" || fail "$text, $where: $(cat "$TMP/err")"
    fi
    # Who does not say that it may lead somewhere is not asked for it.
    conf "$where"
    upstream_reset "$up"
    fails 1 "$text without ptr-map, $where"
    rows=$((rows + 1))
  done
done <<'END'
0||PATH:\\\\build\\drop\\sub\\prog.pdb\r\n
0||\\\\BUILD\\Drop\\Sub\\PROG.PDB
0||PATH://build/drop/sub/packed\n
1||MSG: it is gone
1||PATH:\\\\build\\drop\\sub\\none.pdb
3|not allowed|PATH:\\\\build\\other\\Prog.pdb
3|not allowed|PATH:\\\\build\\drop\\..\\secret\\Prog.pdb
3|not allowed|PATH:\\\\build\\drop\\link
1||PATH:\\\\build\\drop\\away\\Prog.pdb
3|not allowed|/etc/passwd
3|Prog|PATH:\\\\build\\drop\\sub\\other
3|no path|PATH:\n
3||<html>\n<body>login</body>
END
[ $rows = 26 ] || fail "$rows rows"
say "$rows rows of file.ptr"
grep -q 'file\.ptr' "$TMP/requests" || fail "file.ptr was never asked for: $(cat "$TMP/requests")"


# What it led to is stored, and nobody is asked again.
clean
printf 'PATH:\\\\build\\drop\\Sub\\PROG.PDB' >"$TMP/www/Prog.pdb/$DID/file.ptr"
conf "url = $up/" "$map"
symfs_mount m --config "$TMP/conf" --cache "$TMP/store"
same_file "$TMP/m/$file" "$PDB"
asked=$(upstream_count "$up" requests)
same_file "$TMP/m/symstore2/Pr/Prog.pdb/$DID/Prog.pdb" "$PDB"
[ "$(upstream_count "$up" requests)" = "$asked" ] || fail "asked again: $(cat "$TMP/requests")"
grep -qxF "$map" "$TMP/m/.symfs/config" || fail "not told: $(cat "$TMP/m/.symfs/config")"
symfs_umount m
exit 0
