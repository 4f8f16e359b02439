#!/bin/sh
# What one file shows about others. A program that was fetched by its code id is found by its debug
# id. A PDB requested without a name is requested by the name in the program. An ELF file is found
# by either id. Each file has one inode. A miss by a wrong name hides no file. Of a fat file each
# client gets the requested slice, byte for byte.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc strip objcopy clang lld-link readelf curl cmp nginx

word() { "$SYMFS" id --json "$2" | sed -n "s/^ *\"$1\": *\"\\(.*\\)\",\\{0,1\\}\$/\\1/p" | head -n 1; }
lower() { echo "$1" | tr A-F a-f; }
upper() { echo "$1" | tr a-f A-F; }
unified() { un_rest=${1#??}; echo "unified/${1%"$un_rest"}/$un_rest/$2"; }
ino() { stat -c %i "$1" || fail "no $1"; }
gets() { upstream_count "$URL_up" get; }
quiet() { [ "$(gets)" = "$1" ] || fail "$2: $(gets) GETs, not $1"; }
one_inode() { [ "$(ino "$1")" = "$(ino "$2")" ] || fail "two inodes: $1, $2"; }

# windows NAME: NAME.exe and NAME.pdb as a symstore has them; sets CODE_NAME and DEBUG_NAME.
mkdir -p "$TMP/near" "$TMP/far"
windows() {
  cat >"$TMP/near/$1.c" <<C
int $1(int x) { return 2 * x; }
int start(void) { return $1(21); }
C
  (cd "$TMP/near" && clang -target x86_64-pc-windows-msvc -g -gcodeview -c "$1.c" -o "$1.obj" &&
    lld-link /nologo /debug "/pdb:$1.pdb" /Brepro /nodefaultlib /entry:start /subsystem:console \
      "/out:$1.exe" "$1.obj") || fail "lld-link"
  wi_code=$(word code_id "$TMP/near/$1.exe") wi_debug=$(word breakpad_id "$TMP/near/$1.exe")
  wi_size=${wi_code#????????}
  wi_code=$(upper "${wi_code%"$wi_size"}")$wi_size
  mkdir -p "$TMP/far/$1.exe/$wi_code" "$TMP/far/$1.pdb/$wi_debug"
  cp "$TMP/near/$1.exe" "$TMP/far/$1.exe/$wi_code/"
  cp "$TMP/near/$1.pdb" "$TMP/far/$1.pdb/$wi_debug/"
  eval "CODE_$1=\$wi_code DEBUG_$1=\$wi_debug"
}
windows one
windows two

upstream_start up --root "$TMP/far"
symfs_mount m --cache "$TMP/store" --byte-ranges always --source "symstore@$URL_up"

# ---- a program and its PDB ---------------------------------------------------------------------
exe=$MNT_m/symstore/one.exe/$CODE_one/one.exe
by_id=$MNT_m/$(unified "$(lower "$DEBUG_one")" executable)
pdb=$MNT_m/$(unified "$(lower "$DEBUG_one")" debuginfo)
# A symstore is asked by names, so that no server can be asked yet.
[ -e "$pdb" ] && fail "a PDB without a name was found before its name was known"
quiet 0 "before the program came"
same_file "$TMP/near/one.exe" "$exe"
seen=$(gets)
same_file "$TMP/near/one.exe" "$by_id"
quiet "$seen" "the program by its debug id"
one_inode "$exe" "$by_id"
one_inode "$exe" "$MNT_m/$(unified "$DEBUG_one" EXECUTABLE)"
wait_for test -e "$pdb" || fail "the PDB without a name is not found"
same_file "$TMP/near/one.pdb" "$pdb"
[ "$(upstream_count "$URL_up" get "/one.pdb/$DEBUG_one/one.pdb")" = 1 ] || fail "the PDB without a name: more GETs"
seen=$(gets)
one_inode "$pdb" "$MNT_m/symstore/one.pdb/$DEBUG_one/one.pdb"
quiet "$seen" "the PDB with its name"
stored() { [ "$(stat_of "$MNT_m" published)" = 2 ]; }
wait_for stored || fail "$(stat_of "$MNT_m" published) files are stored, not 2"

# ---- a large program, read in part --------------------------------------------------------------
# No reader wants all of it, so that it is not stored; what it said is known all the same.
printf 'const char big[3000000] = {1};\nint start(void) { return big[7]; }\n' >"$TMP/near/big.c"
(cd "$TMP/near" && clang -target x86_64-pc-windows-msvc -g -gcodeview -c big.c -o big.obj &&
  lld-link /nologo /debug /pdb:big.pdb /Brepro /nodefaultlib /entry:start /subsystem:console /out:big.exe big.obj) ||
  fail "lld-link"
code=$(word code_id "$TMP/near/big.exe") debug=$(word breakpad_id "$TMP/near/big.exe")
code=$(upper "${code%"${code#????????}"}")${code#????????}
mkdir -p "$TMP/far/big.exe/$code" "$TMP/far/big.pdb/$debug"
cp "$TMP/near/big.exe" "$TMP/far/big.exe/$code/" && cp "$TMP/near/big.pdb" "$TMP/far/big.pdb/$debug/"
pdb=$MNT_m/$(unified "$(lower "$debug")" debuginfo)
[ "$(dd if="$MNT_m/symstore/big.exe/$code/big.exe" bs=2 count=1 2>/dev/null)" = MZ ] || fail "big.exe"
[ "$(stat_of "$MNT_m" published)" = 2 ] || fail "big.exe is stored: this tests nothing"
wait_for test -e "$pdb" || fail "a program that is read in part does not tell of its PDB"
same_file "$TMP/near/big.pdb" "$pdb"

# ---- a wrong name ------------------------------------------------------------------------------
wrong=$MNT_m/symstore/wrong.pdb/$DEBUG_two/wrong.pdb
right=$MNT_m/symstore/two.pdb/$DEBUG_two/two.pdb
[ -e "$wrong" ] && fail "a PDB is found by a wrong name"
seen=$(gets)
"$SYMFS" cache ls --misses --cache "$TMP/store" | grep -q "pdb $DEBUG_two wrong.pdb" || fail "the miss is not listed"
grep -q '"wrong.pdb"' "$MNT_m/.symfs/missing" || fail "the miss is not in .symfs/missing"
wait_for cmp -s "$TMP/near/two.pdb" "$right" || fail "a miss by a wrong name hides the right one"
[ "$(gets)" -gt "$seen" ] || fail "no server was asked for the right name"
seen=$(gets)
# It is here now, and its id says which it is.
wait_for test -e "$wrong" || fail "what is here is not found by a wrong name"
same_file "$TMP/near/two.pdb" "$wrong"
quiet "$seen" "the PDB that is here by a wrong name"

# ---- ELF ---------------------------------------------------------------------------------------
make_program "$TMP/p" foo
id=$(build_id "$TMP/p/full/foo")
debug=$(lower "$(word breakpad_id "$TMP/p/full/foo")")
mkdir -p "$TMP/far/foo/elf-buildid-$id"
cp "$TMP/p/full/foo" "$TMP/far/foo/elf-buildid-$id/foo"
elf=$MNT_m/symstore/foo/elf-buildid-$id/foo
same_file "$TMP/p/full/foo" "$elf"
elf_stored() {
  "$SYMFS" why --no-default-sources --cache "$TMP/store" "${elf#"$MNT_m/"}" | grep -q "^stored  $TMP"
}
wait_for elf_stored || fail "the ELF file is not stored"
seen=$(gets)
for path in "$(unified "$id" executable)" "$(unified "$debug" executable)" "$(gdb_path "$id")"; do
  same_file "$TMP/p/full/foo" "$MNT_m/$path"
  one_inode "$elf" "$MNT_m/$path"
done
# It has its debug information, so no server needs to be asked for that.
same_file "$TMP/p/full/foo" "$MNT_m/debuginfod/buildid/$id/debuginfo"
same_file "$TMP/p/full/foo" "$MNT_m/$(unified "$debug" debuginfo)"
quiet "$seen" "an ELF file by its other id"
"$SYMFS" why --no-default-sources --cache "$TMP/store" "$(unified "$debug" executable)" | grep -q "^stored  $TMP" ||
  fail "why does not know of it by its other id"
"$SYMFS" get --no-default-sources --cache "$TMP/store" "$(unified "$debug" executable)" >"$TMP/out" || fail get
same_file "$TMP/p/full/foo" "$(cat "$TMP/out")"

# One that has symbols and no more is not a debug file where a better one can be had.
lib=$(build_id "$TMP/p/full/libfoo.so")
mkdir -p "$TMP/far/libfoo.so/elf-buildid-$lib" "$TMP/far/_.debug/elf-buildid-sym-$lib"
strip --strip-debug -o "$TMP/far/libfoo.so/elf-buildid-$lib/libfoo.so" "$TMP/p/full/libfoo.so"
cp "$TMP/p/debug/libfoo.so.debug" "$TMP/far/_.debug/elf-buildid-sym-$lib/_.debug"
same_file "$TMP/far/libfoo.so/elf-buildid-$lib/libfoo.so" "$MNT_m/symstore/libfoo.so/elf-buildid-$lib/libfoo.so"
same_file "$TMP/p/debug/libfoo.so.debug" "$MNT_m/debuginfod/buildid/$lib/debuginfo"
seen=$(gets)

# What was learned outlives the index.
symfs_umount m
rm "$TMP/store/index.sqlite"*
symfs_mount m --cache "$TMP/store" --byte-ranges always --source "symstore@$URL_up"
for path in "$(unified "$(lower "$DEBUG_one")" executable)" "$(unified "$debug" executable)"; do
  [ -e "$MNT_m/$path" ] || fail "forgotten with the index: $path"
done
one_inode "$exe" "$by_id"
quiet "$seen" "after the index was made anew"
"$SYMFS" cache verify --cache "$TMP/store" || fail verify
symfs_umount m

# symfs add teaches the same.
symfs_mount a --cache "$TMP/added" --offline
"$SYMFS" add --cache "$TMP/added" "$TMP/near/two.exe" "$TMP/p/bin/foo" >/dev/null || fail add
for path in "$(unified "$(lower "$DEBUG_two")" executable)" "$(unified "$debug" executable)"; do
  wait_for test -e "$MNT_a/$path" || fail "added, and not found: $path"
done
same_file "$TMP/near/two.exe" "$MNT_a/$(unified "$(lower "$DEBUG_two")" executable)"
symfs_umount a

# ---- fat files ---------------------------------------------------------------------------------
for tool in ld64.lld-14 llvm-lipo-14; do
  command -v $tool >/dev/null || { say "without fat files: no $tool"; exit 0; }
done
(cd "$TMP/near" && echo 'int main(void) { return 0; }' >fat.c &&
  for a in x86_64 arm64; do
    clang -target $a-apple-macos11 -g -c fat.c -o $a.o &&
      ld64.lld-14 -arch $a -platform_version macos 11.0 11.0 -e _main -o $a $a.o || exit 1
  done && llvm-lipo-14 -create x86_64 arm64 -output fat) || fail "the linker of fat files"
intel=$(word code_id "$TMP/near/x86_64") arm=$(word code_id "$TMP/near/arm64")
[ "$intel" != "$arm" ] || fail "both slices have the UUID $intel"

# slices MOUNT: each UUID has its slice, and stat tells its size.
slices() {
  for a in x86_64 arm64; do
    sl_path=$1/$(unified "$(word code_id "$TMP/near/$a")" executable)
    same_file "$TMP/near/$a" "$sl_path"
    [ "$(stat -c %s "$sl_path")" = "$(stat -c %s "$TMP/near/$a")" ] || fail "the size of $sl_path"
  done
}
# An upstream that has the fat file by one of the two: the other slice comes along.
mkdir -p "$TMP/web/$(dirname "$(unified "$intel" x)")"
cp "$TMP/near/fat" "$TMP/web/$(unified "$intel" executable)"
nginx_start web "$TMP/web"
symfs_mount f --cache "$TMP/fat" --source "unified@$URL_web/unified"
# Until it is here its size is not known, and stat does not report that of the fat file.
[ "$(stat -c %s "$MNT_f/$(unified "$intel" executable)")" != "$(stat -c %s "$TMP/near/fat")" ] ||
  fail "the slice is said to be as long as the fat file"
same_file "$TMP/near/x86_64" "$MNT_f/$(unified "$intel" executable)"
asked=$(stat_of "$MNT_f" requests)
slices "$MNT_f"
[ "$(stat_of "$MNT_f" requests)" = "$asked" ] || fail "the other slice was asked for"
"$SYMFS" cache verify --cache "$TMP/fat" || fail "verify with slices"
symfs_umount f

# A directory that has it by both.
mkdir -p "$TMP/dir/$(dirname "$(unified "$arm" x)")" "$TMP/dir/$(dirname "$(unified "$intel" x)")"
cp "$TMP/near/fat" "$TMP/dir/$(unified "$intel" executable)"
ln -s "$TMP/dir/$(unified "$intel" executable)" "$TMP/dir/$(unified "$arm" executable)"
symfs_mount d --cache "$TMP/slices" --source "unified@$TMP/dir/unified"
slices "$MNT_d"
"$SYMFS" cache verify --cache "$TMP/slices" || fail "verify with slices of a directory"
symfs_umount d
