#!/bin/sh
# gsym/ for every input: debug files of ELF, dSYM by UUID, Breakpad symbol files; in both forms.
# Other inputs need further files: the file to which dwz moved debug information, which is fetched
# by its build id, and packages of split debug information. Each GSYM file equals that of `symfs
# gsym create` for the same files.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gcc objcopy readelf curl cmp
checked=

# create FILE: what is wanted, in $TMP/want.gsym and $TMP/want.gsym.o
create() {
  "$SYMFS" gsym create -o "$TMP/want.gsym" "$1" 2>"$TMP/said" || fail "create $1: $(cat "$TMP/said")"
  "$SYMFS" gsym create --format object -o "$TMP/want.gsym.o" "$1" 2>"$TMP/said" ||
    fail "create $1: $(cat "$TMP/said")"
}
# both PATH: in the mount M
both() {
  same_file "$M/gsym/$1.gsym" "$TMP/want.gsym"
  same_file "$M/gsym/$1.gsym.o" "$TMP/want.gsym.o"
  [ "$(stat -c %s "$M/gsym/$1.gsym.o")" = "$(stat -c %s "$TMP/want.gsym.o")" ] || fail "$1: the size of the object"
  checked="$checked $2"
}
mkdir -p "$TMP/up/gdb" "$TMP/up/lldb" "$TMP/up/breakpad/Demo.so" "$TMP/w"
cd "$TMP/w" || exit 1

# ---- ELF, and what is only the program ------------------------------------------------------
make_program "$TMP/p" Prog
put_gdb "$TMP/up/gdb" "$TMP/p/debug/Prog.debug" .debug
put_gdb "$TMP/up/gdb" "$TMP/p/full/libProg.so"

# ---- Breakpad -------------------------------------------------------------------------------
SYM_ID=C0BCC3F19827FE653058404B2831D9E60
mkdir -p "$TMP/up/breakpad/Demo.so/$SYM_ID"
SYM=$TMP/up/breakpad/Demo.so/$SYM_ID/Demo.so.sym
printf 'MODULE Linux x86_64 %s Demo.so\nFILE 0 /src/a.c\nFUNC 1000 40 0 demo\n1000 40 7 0\n' $SYM_ID >"$SYM"

# ---- two programs that share what dwz moved -------------------------------------------------
dwz=
if command -v dwz >/dev/null; then
  for n in 1 2; do
    { i=0; while [ $i -lt 40 ]; do
      echo "struct shared$i { int a$i; long b$i; struct shared$i *next; }; static inline int twice$i(struct" \
        "shared$i *s) { return s->a$i * 2; }"
      i=$((i + 1))
    done; echo "int use$n(struct shared1 *s, struct shared2 *t) { return twice1(s) + twice2(t); } int main(void) {" \
      "return use$n(0, 0); }"; } >z$n.c
    gcc -g -O1 -Wl,--build-id=sha1 -o z$n z$n.c || fail "gcc"
  done
  dwz -m common.debug -M "$TMP/w/common.debug" z1 z2 2>dwz.log && [ -s common.debug ] &&
    [ -n "$(build_id common.debug)" ] && dwz=1
  [ -n "$dwz" ] || say "dwz shares nothing: $(cat dwz.log)"
fi
if [ -n "$dwz" ]; then
  for n in 1 2; do
    objcopy --only-keep-debug z$n z$n.debug || fail "objcopy"
    put_gdb "$TMP/up/gdb" z$n.debug .debug
  done
  put_gdb "$TMP/up/gdb" common.debug .debug
fi

# ---- PE -------------------------------------------------------------------------------------
dll=
if CLANG=$(first_of clang) && LLD=$(first_of ld.lld); then
  printf '%s\n' '__declspec(dllexport) int work(int n) { return n * 3; }' \
    'int DllMainCRTStartup(void *a, int b, void *c) { return work(b); }' >p.c
  "$CLANG" -target x86_64-w64-windows-gnu -gdwarf-4 -O1 -c p.c -o p.obj 2>pe.log &&
    "$LLD" -m i386pep --shared --entry=DllMainCRTStartup -o Demo.dll p.obj 2>pe.log &&
    dll=$("$SYMFS" paths --layout symstore Demo.dll 2>>pe.log | awk 'NR == 1 { print $NF }')
fi
if [ -n "$dll" ]; then
  mkdir -p "$TMP/up/symstore/$(dirname "$dll")"
  cp Demo.dll "$TMP/up/symstore/$dll"
fi

pdb=
if CLANG=$(first_of clang) && LINK=$(first_of lld-link); then
  "$CLANG" -target x86_64-windows-msvc -g -gcodeview -O1 -c p.c -o m.obj 2>pe.log &&
    "$LINK" /nologo /dll /debug /pdb:Msvc.pdb /Brepro /nodefaultlib /noentry /out:Msvc.dll m.obj >pe.log 2>&1 &&
    pdb=$("$SYMFS" paths --layout symstore Msvc.pdb 2>>pe.log | awk 'NR == 1 { print $NF }')
fi
if [ -n "$pdb" ]; then
  mkdir -p "$TMP/up/symstore/$(dirname "$pdb")"
  cp Msvc.pdb "$TMP/up/symstore/$pdb"
fi

# ---- a dSYM ---------------------------------------------------------------------------------
uuid=
if CLANG=$(first_of clang) && LINKER=$(first_of ld64.lld) && DSYMUTIL=$(first_of dsymutil) &&
  UUIDS=$(first_of llvm-dwarfdump) && NM=$(first_of llvm-nm); then
  printf '%s\n' 'static int deeper(int n) { return n * 3; }' 'int work(int n) { return deeper(n) + 1; }' \
    'int main(void) { return work(4); }' >m.c
  "$CLANG" -target x86_64-apple-macos11 -g -c m.c -o m.o &&
    "$LINKER" -arch x86_64 -platform_version macos 11.0 11.0 -e _main -undefined dynamic_lookup -o Mach m.o &&
    "$DSYMUTIL" Mach >dsymutil.log 2>&1 &&
    uuid=$("$UUIDS" --uuid Mach | sed -n 's/^UUID: \([0-9A-F-]*\) .*/\1/p')
fi
DSYM=$TMP/w/Mach.dSYM/Contents/Resources/DWARF/Mach
if [ -n "$uuid" ]; then
  place=$(printf '%s' "$uuid" | tr -d - | sed 's,^\(....\)\(....\)\(....\)\(....\)\(....\),\1/\2/\3/\4/\5/,')
  mkdir -p "$TMP/up/lldb/$(dirname "$place")"
  cp "$DSYM" "$TMP/up/lldb/$place"
fi

upstream_start up --root "$TMP/up"
symfs_mount m --source "gdb@$URL_up/gdb" --source "lldb@$URL_up/lldb" --source "breakpad@$URL_up/breakpad" \
  --source "symstore@$URL_up/symstore"
M=$MNT_m

create "$TMP/p/debug/Prog.debug"
both "$(gdb_path "$(build_id "$TMP/p/debug/Prog.debug")" .debug)" elf_debug
create "$TMP/p/full/libProg.so"
both "gdb/$(gdb_path "$(build_id "$TMP/p/full/libProg.so")" .debug)" elf_code
create "$SYM"
both "breakpad/Demo.so/$SYM_ID/Demo.so.sym" breakpad
[ -e "$M/gsym/breakpad/Demo.so/$SYM_ID/Other.gsym" ] && fail "a name that no layout has"
if [ -n "$dll" ]; then
  create "$TMP/w/Demo.dll"
  both "symstore/$dll" pe
fi
if [ -n "$pdb" ]; then
  create "$TMP/w/Msvc.pdb"
  both "symstore/$pdb" pdb
  # The program leads to its PDB, on a source or beside it, and without the PDB to its exports, at the same addresses.
  "$CLANG" -target x86_64-windows-msvc -g -gcodeview -c -o n.obj -x c - 2>pe.log <<'C' &&
int work(int n) { return n * 4; }
C
    "$LINK" /nologo /dll /debug /pdb:Plain.pdb /Brepro /nodefaultlib /noentry /include:work /out:Plain.dll n.obj \
      >pe.log 2>&1 || fail "a DLL without exports: $(cat pe.log)"
  names() { "$SYMFS" addr2line --no-default-sources --cache "$TMP/store-pe" "$@" 0x1000 >out 2>said; }
  mkdir alone
  mv Msvc.dll Plain.dll alone
  cp Msvc.pdb alone
  names alone/Msvc.dll && grep -q '	work(int)@.*p\.c:1$' out || fail "the PDB beside a DLL: $(cat out said)"
  mv Plain.pdb alone/Msvc.pdb
  names alone/Msvc.dll && grep -q '	work$' out && grep -q 'its debug file Msvc\.pdb ([0-9a-f]*) cannot' said ||
    fail "exports: $(cat out said)"
  names --source "symstore@$URL_up/symstore" alone/Msvc.dll && grep -q '	work(int)@.*p\.c:1$' out ||
    fail "the PDB of a source: $(cat out said)"
  names alone/Plain.dll && fail "without PDB and exports: $(cat out)"
  grep -q 'Plain\.pdb ([0-9a-f]*) cannot be had (.*): it has no symbols either; name' said ||
    fail "Plain: $(cat said)"
fi
if [ -n "$uuid" ]; then
  create "$DSYM"
  both "lldb/$place" macho
  both "dsym/$uuid/Mach.dSYM/Contents/Resources/DWARF/Mach" macho
  "$SYMFS" gsym lookup "0x$("$NM" "$DSYM" | awk '/ _work$/ { print $1 }')" "$M/gsym/lldb/$place.gsym" |
    grep -q 'work@.*m.c:2' ||
    fail "the dSYM's does not answer"
fi
if [ -n "$dwz" ]; then
  "$SYMFS" gsym create -o without.gsym z1.debug 2>/dev/null # finds the other file where it is said to be
  z1=$(gdb_path "$(build_id z1.debug)" .debug) z2=$(gdb_path "$(build_id z2.debug)" .debug)
  common=$(gdb_path "$(build_id common.debug)" .debug)
  create "$TMP/w/z1.debug"
  [ -s "$TMP/said" ] && fail "create does not find what dwz moved: $(cat "$TMP/said")"
  both "$z1" dwz
  [ "$(upstream_count "$URL_up" get "*$common")" = 1 ] ||
    fail "the alternate file was got $(upstream_count "$URL_up" get "*$common") times"
  # While it cannot be asked for, nothing is made that would stay without it.
  "$SYMFS" cache rm --cache "$TMP/store-m" "$common" >/dev/null || fail "cache rm"
  upstream_fault "$URL_up" "*$common" status 500
  cat "$M/gsym/$z2.gsym" >/dev/null 2>&1 && fail "it was made without what could not be asked for"
  grep -q "^symfs mount: gsym $(build_id z2.debug) .* was made of" "$TMP/m.log" && fail "it was made"
  upstream_clear "$URL_up"
  create "$TMP/w/z2.debug"
  both "$z2" dwz
fi
symfs_umount m

# ---- what dwz moved is nowhere ---------------------------------------------------------------
if [ -n "$dwz" ]; then
  rm "$TMP/up/gdb/$common"
  mv common.debug elsewhere
  "$SYMFS" gsym create -o "$TMP/want.gsym" z1.debug 2>"$TMP/said" || fail "create without: $(cat "$TMP/said")"
  grep -q 'dwz' "$TMP/said" || fail "the missing file is not reported"
  symfs_mount n --source "gdb@$URL_up/gdb"
  same_file "$MNT_n/gsym/$z1.gsym" "$TMP/want.gsym"
  symfs_umount n
fi

# ---- split debug information -----------------------------------------------------------------
printf '%s\n' 'static inline int inner(int x) { return x * 3; }' 'int outer(int x) { return inner(x) + 1; }' \
  'int main(void) { return outer(2); }' >s.c
if command -v llvm-dwp >/dev/null && clang -g -gdwarf-5 -gsplit-dwarf -O1 -c s.c 2>split.log &&
  gcc -Wl,--build-id=sha1 -o s s.o 2>>split.log && timeout 300 llvm-dwp s.dwo -o s.dwp 2>>split.log &&
  [ -s s.dwp ]; then
  mkdir -p away && mv ./*.dwo away/
  create "$TMP/w/s"
  grep -q 'not found' "$TMP/said" && fail "create does not find the package: $(cat "$TMP/said")"
  mkdir -p here
  id=$(build_id s)
  # Beside a program that a directory source has.
  put_gdb here s
  cp s.dwp "here/$(gdb_path "$id").dwp"
  symfs_mount d --source "gdb@$TMP/w/here"
  M=$MNT_d
  both "$(gdb_path "$id")" dwp-beside
  symfs_umount d
  # As the debug file of the program: servers of LLVM's have it so.
  OBJCOPY=$(first_of llvm-objcopy) || fail "llvm-dwp without llvm-objcopy"
  objcopy -O binary --only-section=.note.gnu.build-id s note &&
    "$OBJCOPY" --add-section=.note.gnu.build-id=note s.dwp served.dwp || fail "objcopy"
  [ "$(build_id served.dwp)" = "$id" ] || fail "the package has no build id"
  rm -rf "$TMP/up2" && put_gdb "$TMP/up2" s && put_gdb "$TMP/up2" served.dwp .debug
  upstream_start up2 --root "$TMP/up2"
  symfs_mount v --source "gdb@$URL_up2"
  M=$MNT_v
  both "$(gdb_path "$id" .debug)" dwp-served
  symfs_umount v
  # In a tree that is scanned, wherever and however it is called; and in the store, where it was added.
  rm -rf tree && mkdir -p tree/some/where && cp s.dwp tree/some/where/package
  mkdir -p here2 && put_gdb here2 s
  symfs_mount sc --source "gdb@$TMP/w/here2" --source "scan@$TMP/w/tree"
  M=$MNT_sc
  both "$(gdb_path "$id")" dwp-scanned
  symfs_umount sc
else
  say "no package was made: $(cat split.log)"
fi
# Units in files of their own, in DWARF 4 and 5, of which the program names places that are gone.
cat >t.c <<'C'
int outer(int);
static inline int second(int x) { return x * 7; }
int third(int x) { return second(x) + outer(x); }
C
for compiler in gcc clang; do
  for version in 4 5; do
    name=$compiler$version
    command -v $compiler >/dev/null && rm -rf build tree here3 && mkdir -p build tree/deep here3 && (cd build &&
      $compiler -g -gdwarf-$version -gsplit-dwarf -O1 -c ../s.c &&
      $compiler -g -gdwarf-$version -gsplit-dwarf -O1 -c ../t.c &&
      gcc -Wl,--build-id=sha1 -o prog s.o t.o) 2>split.log ||
      { say "no split units of $name: $(cat split.log)"; continue; }
    create "$TMP/w/build/prog"
    grep -q 'not found' "$TMP/said" && fail "$name: create does not find the units: $(cat "$TMP/said")"
    cp build/prog whole && id=$(build_id whole)
    mv build/s.dwo tree/deep/called-otherwise && mv build/t.dwo added.dwo && rm -r build
    "$SYMFS" gsym create -o without.gsym whole 2>/dev/null && cmp -s without.gsym "$TMP/want.gsym" &&
      fail "$name: the units are found without the mount"
    put_gdb here3 whole
    rm -rf "$TMP/store-$name"
    "$SYMFS" add --cache "$TMP/store-$name" added.dwo >"$TMP/said" || fail "$name: add: $(cat "$TMP/said")"
    symfs_mount $name --cache "$TMP/store-$name" --source "gdb@$TMP/w/here3" --source "scan@$TMP/w/tree"
    eval "M=\$MNT_$name"
    both "$(gdb_path "$id")" dwo-$name
    symfs_umount $name
  done
done
say "compared:$checked"
