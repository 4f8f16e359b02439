#!/bin/sh
# Packed files of servers and directories are read unpacked. Each packing, under names that show it
# and names that do not, with and without a Content-Encoding, gives the same bytes in other layouts.
# A wrong file inside is a wrong file, and a bomb does not fill the disk.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf curl cmp nginx gzip pigz zstd zip gcab clang lld-link

# ---- the files: a PDB and its program, and the same of another build; a debug file of ELF

windows() # DIR: Prog.pdb and Prog.exe of code that says DIR's name
{
  mkdir -p "$1"
  echo "int start(void) { return sizeof(\"$1\"); }" >"$1/x.c"
  clang -target x86_64-windows-msvc -g -gcodeview -O1 -c "$1/x.c" -o "$1/x.obj" &&
    lld-link /nologo /debug "/pdb:$1/Prog.pdb" /Brepro /nodefaultlib /entry:start \
      /subsystem:console "/out:$1/Prog.exe" "$1/x.obj" >"$1/lld.log" 2>&1 || fail "lld-link"
}
field() { sed -n "s/^ *\"$1\": *\"\\(.*\\)\",\\{0,1\\}\$/\\1/p" | head -n 1; }
lower() { printf '%s' "$1" | tr '[:upper:]' '[:lower:]'; }

windows "$TMP/one"
windows "$TMP/other-one"
PDB=$TMP/one/Prog.pdb EXE=$TMP/one/Prog.exe
debug_id=$("$SYMFS" id --json "$PDB" | field debug_id)
DID=$(printf '%s' "$debug_id" | tr -d - | tr '[:lower:]' '[:upper:]')
CID=$("$SYMFS" id --json "$EXE" | field code_id)
CID=$(printf '%.8s' "$CID" | tr '[:lower:]' '[:upper:]')${CID#????????}
[ ${#DID} = 33 ] || fail "the id of the PDB is $debug_id"
LDID=$(lower "$DID")
make_program "$TMP/p" Packed
DEBUG=$TMP/p/debug/Packed.debug
ID=$(build_id "$DEBUG")

# ---- the packings

# pack PACKING FILE OUT
pack() {
  case $1 in
  none) cp "$2" "$3" ;;
  gzip) gzip -9c "$2" >"$3" ;;
  members) { head -c 5000 "$2" | gzip -c; tail -c +5001 "$2" | gzip -c; } >"$3" ;;
  zlib) pigz -zc "$2" >"$3" ;;
  zstd) zstd -q -19 -c "$2" >"$3" ;;
  frames) { head -c 5000 "$2" | zstd -q -c; tail -c +5001 "$2" | zstd -q -c; } >"$3" ;;
  zip) rm -f "$3.zip"; zip -q -j "$3.zip" "$2" && mv "$3.zip" "$3" ;;
  stored) rm -f "$3.zip"; zip -q -j -0 "$3.zip" "$2" && mv "$3.zip" "$3" ;;
  cab) gcab -c -n "$3" "$2" ;;
  mszip) gcab -c -z -n "$3" "$2" ;;
  esac || fail "$1 of $2"
}

packings='none gzip members zlib zstd frames zip stored cab mszip'
for p in $packings; do
  for name in same squeezed; do
    # The same name for all; or symstore's, where there is no other.
    root=$TMP/root/$p-$name
    [ $name = same ] && pdb=Prog.pdb exe=Prog.exe || pdb=Prog.pd_ exe=Prog.ex_
    mkdir -p "$root/sym/Prog.pdb/$DID" "$root/sym/Prog.exe/$CID" "$root/gdb"
    pack "$p" "$PDB" "$root/sym/Prog.pdb/$DID/$pdb"
    pack "$p" "$EXE" "$root/sym/Prog.exe/$CID/$exe"
    pack "$p" "$DEBUG" "$TMP/packed"
    mkdir -p "$root/gdb/$(dirname "$(gdb_path "$ID")")"
    mv "$TMP/packed" "$root/gdb/$(gdb_path "$ID" .debug)"
  done
done

# ---- what else a server sends

mkdir -p "$TMP/root/wrong/Prog.pdb/$DID" "$TMP/root/bomb/Prog.pdb/$DID" "$TMP/root/bomb-zstd/Prog.pdb/$DID" \
  "$TMP/root/bomb-coding/Prog.pdb/$DID" "$TMP/root/two/Prog.pdb/$DID" "$TMP/root/locked/Prog.pdb/$DID" \
  "$TMP/root/cut/Prog.pdb/$DID"
zstd -q -c "$TMP/other-one/Prog.pdb" >"$TMP/root/wrong/Prog.pdb/$DID/Prog.pdb"
# The right file, and then 10 GB of zeros.
head -c 10000000 /dev/zero >"$TMP/zeros"
gzip -9c "$TMP/zeros" >"$TMP/zeros.gz"
zstd -q -c "$TMP/zeros" >"$TMP/zeros.zst"
bomb() { # PACKED-PDB PACKED-ZEROS
  cat "$1"
  seq 1000 | while read -r _; do cat "$2"; done
}
bomb "$TMP/root/gzip-same/sym/Prog.pdb/$DID/Prog.pdb" "$TMP/zeros.gz" >"$TMP/root/bomb/Prog.pdb/$DID/Prog.pdb"
bomb "$TMP/root/zstd-same/sym/Prog.pdb/$DID/Prog.pdb" "$TMP/zeros.zst" >"$TMP/root/bomb-zstd/Prog.pdb/$DID/Prog.pdb"
# As a coding of one stream: curl reads one member.
{ cat "$PDB"; seq 20 | while read -r _; do cat "$TMP/zeros"; done; } | gzip -9c \
  >"$TMP/root/bomb-coding/Prog.pdb/$DID/Prog.pdb.gz"
(cd "$TMP/one" && zip -q "$TMP/two.zip" Prog.pdb Prog.exe && zip -q -P secret "$TMP/locked.zip" Prog.pdb) || fail zip
mv "$TMP/two.zip" "$TMP/root/two/Prog.pdb/$DID/Prog.pdb"
mv "$TMP/locked.zip" "$TMP/root/locked/Prog.pdb/$DID/Prog.pdb"
# One in another: only one is taken off.
for nested in nested-gzip nested-zip names cab-bomb; do mkdir -p "$TMP/root/$nested/Prog.pdb/$DID"; done
gzip -c "$TMP/root/gzip-same/sym/Prog.pdb/$DID/Prog.pdb" >"$TMP/root/nested-gzip/Prog.pdb/$DID/Prog.pdb"
pack stored "$TMP/root/mszip-same/sym/Prog.pdb/$DID/Prog.pdb" "$TMP/root/nested-zip/Prog.pdb/$DID/Prog.pdb"
# A name that leads elsewhere names nothing here.
"$top_builddir/tests/helpers/zip-write" "$TMP/names.zip" "../../../../../../../../$TMP/escaped" "$PDB" &&
  mv "$TMP/names.zip" "$TMP/root/names/Prog.pdb/$DID/Prog.pdb" || fail zip-write
# Cabinets cannot be as small as they would have to be for the ratio; they say how long their file is.
{ cat "$PDB" && head -c 300000000 /dev/zero; } >"$TMP/zeros300" &&
  gcab -c -z -n "$TMP/root/cab-bomb/Prog.pdb/$DID/Prog.pdb" "$TMP/zeros300" &&
  rm "$TMP/zeros300" || fail gcab
head -c 500 "$TMP/root/mszip-same/sym/Prog.pdb/$DID/Prog.pdb" >"$TMP/root/cut/Prog.pdb/$DID/Prog.pdb"

# ---- the server: plain, and with gzip on top; files with .gz beside them are sent as gzip

nginx_start plain "$TMP/root"
nginx_start coded "$TMP/root" 'gzip on; gzip_types *; gzip_min_length 0; gzip_static on;'
fetch_url -o "$TMP/head" -D - -H 'Accept-Encoding: gzip' "$URL_coded/mszip-same/sym/Prog.pdb/$DID/Prog.pdb" |
  grep -qi '^Content-Encoding: gzip' || fail "nginx sends no Content-Encoding"

# ---- the matrix: packing x name x (server, server with coding, directory) x file

cells=0
check_cells() { # WHAT SOURCES...
  what=$1
  shift
  symfs_mount cell --cache "$TMP/store-cell" "$@"
  m=$MNT_cell
  same_file "$PDB" "$m/ssqp/Prog.pdb/$LDID/Prog.pdb"
  same_file "$PDB" "$m/symstore2/Pr/Prog.pdb/$DID/Prog.pdb"
  [ "$(stat -c %s "$m/ssqp/Prog.pdb/$LDID/Prog.pdb")" = "$(stat -c %s "$PDB")" ] || fail "$what: the size"
  same_file "$EXE" "$m/ssqp/Prog.exe/$(lower "$CID")/Prog.exe"
  same_file "$EXE" "$m/symstore2/Pr/Prog.exe/$CID/Prog.exe"
  same_file "$DEBUG" "$m/debuginfod/buildid/$ID/debuginfo"
  same_file "$DEBUG" "$m/gdb/$(gdb_path "$ID" .debug)"
  symfs_umount cell
  cells=$((cells + 3))
  if [ "$what" != kept ]; then
    # Packed once, stored as it is: read again, it needs no source.
    symfs_mount cell --cache "$TMP/store-cell" --source "symstore@http://127.0.0.1:1"
    case $what in *none*dir) ;; *) same_file "$PDB" "$MNT_cell/ssqp/Prog.pdb/$LDID/Prog.pdb" ;; esac
    symfs_umount cell
  fi
  rm -rf "$TMP/store-cell"
}
expected=0
for p in $packings; do
  for name in same squeezed; do
    [ "$p-$name" != none-squeezed ] || continue # that is an odd server
    for how in plain coded dir; do
      [ $name-$how != squeezed-coded ] || continue # the name makes no difference there
      expected=$((expected + 3))
      case $how in
      dir) base=$TMP/root ;;
      *) eval "base=\$URL_$how" ;;
      esac
      check_cells "$p $name $how" --source "symstore@$base/$p-$name/sym" --source "gdb@$base/$p-$name/gdb"
    done
  done
done
say "$cells of $expected cells"
[ "$cells" = "$expected" ] || fail "$cells cells"

# ---- what is refused

# refused NAME ERROR LOG SOURCE [OPTION...]: the reader gets ERROR, the log has a line, nothing stays
# and nothing is remembered as missing; nor does the daemon take memory for what it throws away.
MEMORY=0
refused() {
  rf_name=$1 rf_error=$2 rf_log=$3 rf_source=$4
  shift 3
  symfs_mount bad --cache "$TMP/store-bad" --source "$@"
  if cat "$MNT_bad/ssqp/Prog.pdb/$LDID/Prog.pdb" >"$TMP/got" 2>"$TMP/said"; then fail "$rf_name was read"; fi
  grep -q "$rf_error" "$TMP/said" || fail "$rf_name: $(cat "$TMP/said"), not $rf_error"
  [ ! -s "$TMP/got" ] || fail "$rf_name: bytes were read"
  grep -q "$rf_log" "$TMP/bad.log" || fail "$rf_name: no line in the log"
  # Nor again; and what was fetched is not fetched twice within the minute.
  if cat "$MNT_bad/ssqp/Prog.pdb/$LDID/Prog.pdb" >/dev/null 2>&1; then fail "$rf_name was read the second time"; fi
  case $rf_source in
  *http*) [ "$(grep -c "$rf_log" "$TMP/bad.log")" = 1 ] || fail "$rf_name: the log says it more than once" ;;
  esac
  grep -q "$DID" "$MNT_bad/.symfs/missing" && fail "$rf_name: remembered as missing"
  rf_memory=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$PID_bad/status")
  [ "$rf_memory" -lt 800000 ] || fail "$rf_name: $rf_memory KiB of memory"
  [ "$rf_memory" -le $MEMORY ] || MEMORY=$rf_memory
  kept=$(find "$TMP/store-bad/blobs" "$TMP/store-bad/partial" -type f 2>/dev/null | wc -l)
  [ "$kept" = 0 ] || fail "$rf_name: $kept files stay in the store"
  symfs_umount bad
  rm -rf "$TMP/store-bad"
}
for how in plain dir; do
  [ $how = plain ] && base=$URL_plain || base=$TMP/root
  refused wrong 'Bad message' 'is debug id' "symstore@$base/wrong"
  refused bomb 'File too large' 'is a decompression bomb: gzip' "symstore@$base/bomb"
  refused bomb-zstd 'File too large' 'is a decompression bomb: zstd' "symstore@$base/bomb-zstd"
  refused two 'Bad message' 'several members' "symstore@$base/two"
  refused locked 'Bad message' 'encrypted' "symstore@$base/locked"
  refused nested-gzip 'Bad message' 'another kind of file' "symstore@$base/nested-gzip"
  refused nested-zip 'Bad message' 'another kind of file' "symstore@$base/nested-zip"
  refused cab-bomb 'File too large' 'is cab of more than' "symstore@$base/cab-bomb" --max-file-size 50M
  refused cut 'Bad message' 'cut short\|broken' "symstore@$base/cut"
done
refused bomb-coding 'File too large' 'a decompression bomb: its Content-Encoding' "symstore@$URL_coded/bomb-coding"

for how in plain dir; do
  [ $how = plain ] && base=$URL_plain || base=$TMP/root
  symfs_mount names --cache "$TMP/store-names" --source "symstore@$base/names"
  same_file "$PDB" "$MNT_names/ssqp/Prog.pdb/$LDID/Prog.pdb"
  symfs_umount names
  rm -rf "$TMP/store-names"
  [ ! -e "$TMP/escaped" ] || fail "a name in an archive was a path"
done
say "at most $MEMORY KiB of memory for bombs of 10 GB"

# One name for programs and their debug files: the first bytes tell nothing, and those of a cabinet
# packed by LZX not even of what kind the file is.
BIN=$TMP/p/bin/Packed
SLASH=Packed/$(build_id "$BIN" | tr '[:lower:]' '[:upper:]')/symbols
for p in none zstd mszip lzx; do
  [ $p != lzx ] || [ -x "$top_builddir/tests/helpers/pack-cab" ] || continue
  mkdir -p "$TMP/root/slash-$p/$(dirname "$SLASH")"
  if [ $p = lzx ]; then
    "$top_builddir/tests/helpers/pack-cab" lzx "$BIN" "$TMP/root/slash-$p/$SLASH" || fail pack-cab
  else
    pack $p "$BIN" "$TMP/root/slash-$p/$SLASH"
  fi
  for base in "$URL_plain" "$TMP/root"; do
    symfs_mount slash --cache "$TMP/store-slash" --source "slashsymbols@$base/slash-$p"
    [ -f "$MNT_slash/slashsymbols/$SLASH" ] || fail "the program is not there: $p"
    same_file "$BIN" "$MNT_slash/slashsymbols/$SLASH"
    symfs_umount slash
    rm -rf "$TMP/store-slash"
  done
done

# The next source has it.
symfs_mount next --source "symstore@$URL_plain/bomb" --source "symstore@$URL_plain/mszip-squeezed/sym"
same_file "$PDB" "$MNT_next/ssqp/Prog.pdb/$LDID/Prog.pdb"
symfs_umount next
"$SYMFS" why --ask --no-default-sources --cache "$TMP/store-why" --source "symstore@$URL_plain/zstd-same/sym" \
  "symstore/Prog.pdb/$DID/Prog.pdb" >"$TMP/why" 2>&1
grep -q 'found.*packed: zstd' "$TMP/why" || fail "why says: $(cat "$TMP/why")"
say "all is well"
