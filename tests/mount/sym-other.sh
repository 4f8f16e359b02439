#!/bin/sh
# Breakpad files made of PDBs, of programs for Windows, and of dSYMs: the text that `symfs sym` prints of both files
# of a module. Without the program, a PDB for x86 has its rules itself. Once the program is there, the file is made
# again with its rules and its code id.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need cmp curl
unset http_proxy all_proxy ALL_PROXY
PDBS=$top_srcdir/../shared/fixtures/pdb/fixtures
MACS=$TMP/macs
macs_make "$MACS"
tried=0

# put ROOT FILE: into the layout where servers have it; for Windows a symbol store
put() {
  case $2 in "$MACS"*) put_layout=native ;; *) put_layout=symstore ;; esac
  put_path=$("$SYMFS" paths --layout $put_layout "$2" |
    awk -F '\t' '$2 ~ /^(pe|pdb|mach_code|mach_debug)$/ { print $3; exit }')
  [ -n "$put_path" ] || fail "$2 has no path: $("$SYMFS" id "$2")"
  mkdir -p "$1/$put_layout/${put_path%/*}" && cp "$2" "$1/$put_layout/$put_path" || fail "$2"
}
path_of() { # SYM NAME: its path in the mount
  po_id=$(head -n 1 "$1" | cut -d ' ' -f 4)
  echo "breakpad/$2/$po_id/${2%.pdb}.sym"
}

# module NAME DEBUG PROGRAM STACK [OPTIONS...]: STACK is the first word of the records that the debug file has itself,
# or none.
module() {
  name=$1 debug=$2 program=$3 own=$4 all=$TMP/$1.d
  shift 4
  "$SYMFS" sym "$@" --name "$name" -o "$TMP/want" "$debug" "$program" || fail "sym: $name"
  "$SYMFS" sym "$@" --name "$name" -o "$TMP/bare" "$debug" || fail "sym: $name, without the program"
  grep -q '^STACK' "$TMP/want" || fail "$name: no rules at all"
  grep -q '^INFO CODE_ID' "$TMP/want" || fail "$name: no code id"
  case $own in
  none) grep -q '^INFO UNWIND none$' "$TMP/bare" || fail "$name: $(head -n 4 "$TMP/bare")" ;;
  *) grep -q "^STACK $own " "$TMP/bare" || fail "$name: no STACK $own: $(head -n 4 "$TMP/bare")" ;;
  esac
  mkdir -p "$all/native" "$all/symstore"
  put "$all" "$debug"
  symfs_mount later --source "native@$all/native" --source "symstore@$all/symstore" --miss-lifetime 1s
  at=$MNT_later/$(path_of "$TMP/want" "$name")
  cmp "$at" "$TMP/bare" || fail "$name, without the program: $(diff "$TMP/bare" "$at" |
    head -n 5) $(cat "$TMP/later.log")"
  put "$all" "$program"
  wait_for cmp -s "$at" "$TMP/want" || fail "$name: $(diff "$TMP/want" "$at" | head -n 5) $(cat "$TMP/later.log")"
  symfs_umount later
  rm -rf "$TMP/store-later"
  tried=$((tried + 1))
  say "$name: $(grep -c '^FUNC' "$TMP/want") FUNC, $(grep -c '^STACK' "$TMP/want") STACK records"
}
# A program with unwind rules and its PDB: those of MSVC, or else our own.
WIN=dump_syms_regtest64
if [ ! -f "$PDBS/crash.pdb" ]; then
  part_skipped "no ../shared/fixtures/pdb: programs of MSVC, and a PDB with rules for x86"
  CLANG=$(first_of clang) && LINK=$(first_of lld-link) || skip "clang or lld-link is not installed"
  PDBS=$TMP/win WIN=ours
  mkdir "$PDBS"
  printf '%s\n' 'int one(int x) { volatile int a[30]; a[x] = x; return a[1]; }' \
    'int start(void) { volatile int b[20]; b[2] = one(1); return b[2] + one(2); }' >"$PDBS/ours.c"
  (cd "$PDBS" && "$CLANG" -target x86_64-windows-msvc -g -gcodeview -O0 -c ours.c -o ours.obj &&
    "$LINK" /nologo /debug /pdb:ours.pdb /Brepro /nodefaultlib /entry:start /subsystem:console /out:ours.exe \
      ours.obj) >"$TMP/lld.out" 2>&1 || fail "clang and lld-link: $(cat "$TMP/lld.out")"
else
  module crash.pdb "$PDBS/crash.pdb" "$PDBS/crash.exe" WIN
fi
module $WIN.pdb "$PDBS/$WIN.pdb" "$PDBS/$WIN.exe" none
module m.arm64 "$MACS/m.arm64.dSYM/Contents/Resources/DWARF/m.arm64" "$MACS/m.arm64" none
module m.x86_64 "$MACS/m.x86_64.dSYM/Contents/Resources/DWARF/m.x86_64" "$MACS/m.x86_64" none

# ---- a program without a PDB -----------------------------------------------------------------------
"$SYMFS" sym --name $WIN.pdb "$PDBS/$WIN.exe" >"$TMP/want" ||
  say "no functions in the program"
if [ -s "$TMP/want" ]; then
  put "$TMP/alone.d" "$PDBS/$WIN.exe"
  symfs_mount alone --source "symstore@$TMP/alone.d/symstore"
  at=$MNT_alone/$(path_of "$TMP/want" $WIN.pdb)
  cmp "$at" "$TMP/want" || fail "a program alone: $(diff "$TMP/want" "$at" | head -n 5) $(cat "$TMP/alone.log")"
  symfs_umount alone
fi

# ---- a program with DWARF, a fat file, scanned -------------------------------------------------------
mkdir "$TMP/tree.d"
cp -r "$MACS/m.fat" "$MACS/m.fat.dSYM" "$TMP/tree.d"
if CLANG=$(first_of clang) && LINK=$(first_of lld-link); then
  printf '%s\n' 'int one(int x) { volatile int a[30]; a[x] = x; return a[1]; }' \
    'int start(void) { volatile int b[20]; b[2] = one(1); return b[2] + one(2); }' >"$TMP/w.c"
  (cd "$TMP" && "$CLANG" -target x86_64-windows-msvc -g -gdwarf-4 -O0 -c w.c -o w.obj &&
    "$LINK" /nologo /dll /debug /pdb:gone.pdb /Brepro /nodefaultlib /entry:start /out:tree.d/dwarf.dll w.obj) \
    >"$TMP/lld.out" 2>&1 ||
    fail "clang and lld-link: $(cat "$TMP/lld.out")"
  "$SYMFS" id "$TMP/tree.d/dwarf.dll" | grep -q 'breakpad id' || fail "dwarf.dll has no debug id"
fi
symfs_mount tree --source "scan@$TMP/tree.d"
if [ -f "$TMP/tree.d/dwarf.dll" ]; then
  "$SYMFS" sym --name dwarf.dll "$TMP/tree.d/dwarf.dll" >"$TMP/want" || fail "sym dwarf.dll"
  grep -q '^FUNC [0-9a-f]* [0-9a-f]* 0 one' "$TMP/want" && grep -q '^STACK CFI INIT' "$TMP/want" ||
    fail "dwarf.dll: $(cat "$TMP/want")"
  at=$MNT_tree/$(path_of "$TMP/want" dwarf.dll)
  cmp "$at" "$TMP/want" || fail "dwarf.dll: $(diff "$TMP/want" "$at" | head -n 5) $(cat "$TMP/tree.log")"
  tried=$((tried + 1))
fi
for arch in x86_64 arm64; do
  "$SYMFS" sym --arch $arch --name m.fat "$TMP/tree.d/m.fat.dSYM" "$TMP/tree.d/m.fat" >"$TMP/want" || fail "sym m.fat"
  at=$MNT_tree/$(path_of "$TMP/want" m.fat)
  cmp "$at" "$TMP/want" || fail "$arch of m.fat: $(diff "$TMP/want" "$at" | head -n 5) $(cat "$TMP/tree.log")"
  tried=$((tried + 1))
done
symfs_umount tree

# ---- a server: the program is asked for once its name, time and size are known -----------------------
put "$TMP/far" "$PDBS/$WIN.pdb"
put "$TMP/far" "$PDBS/$WIN.exe"
"$SYMFS" sym -o "$TMP/want" "$PDBS/$WIN.pdb" "$PDBS/$WIN.exe" || fail "sym"
upstream_start far --root "$TMP/far/symstore"
symfs_serve one --source "symstore@$URL_far"
SYM=$(path_of "$TMP/want" $WIN.pdb)
fetch_url -o "$TMP/body" "$URL_one/$SYM"
grep -q '^INFO UNWIND none$' "$TMP/body" || fail "of a PDB alone: $(head -n 4 "$TMP/body")"
EXE=$("$SYMFS" paths --layout symstore "$PDBS/$WIN.exe" | awk -F '\t' '$2 == "pe" { print $3; exit }')
fetch_url -o "$TMP/exe" "$URL_one/symstore/$EXE"
fetch_url -o "$TMP/body" "$URL_one/$SYM"
cmp "$TMP/body" "$TMP/want" || fail "once the program was served: $(diff "$TMP/want" "$TMP/body" | head -n 5)"
[ $tried -ge 6 ] || fail "too few"
