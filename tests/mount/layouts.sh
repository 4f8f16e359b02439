#!/bin/sh
# One file has one inode and costs one GET, in whatever layout and letter case it is requested. A
# server or a directory in any layout can be its source.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gcc objcopy readelf curl cmp

make_program "$TMP/p" Prog
CODE=$TMP/p/bin/Prog DEBUG=$TMP/p/debug/Prog.debug
ID=$(build_id "$CODE")
REST=${ID#??}
NN=${ID%"$REST"}
upper() { printf '%s' "$1" | tr '[:lower:]' '[:upper:]'; }
BIG_ID=$(upper "$ID") BIG_REST=$(upper "$REST") BIG_NN=$(upper "$NN")

# A path a line under the mount, all of them the executable; then, all of them the debug file.
cat >"$TMP/code.paths" <<EOP
.build-id/$NN/$REST
gdb/.build-id/$NN/$REST
gdb/$NN/$REST
gdb/.build-id/$BIG_NN/$BIG_REST
gdb/.BUILD-ID/$BIG_NN/$REST
debuginfod/buildid/$ID/executable
debuginfod/$ID/executable
debuginfod/buildid/$BIG_ID/executable
symstore/Prog/elf-buildid-$ID/Prog
symstore/prog/ELF-BUILDID-$BIG_ID/PROG
symstore2/Pr/Prog/elf-buildid-$ID/Prog
symstore2/pr/prog/elf-buildid-$BIG_ID/prog
ssqp/prog/elf-buildid-$ID/prog
ssqp/Prog/elf-buildid-$ID/Prog
unified/$NN/$REST/executable
unified/$BIG_NN/$BIG_REST/executable
native/$NN/$REST
native/$BIG_NN/$BIG_REST
perf/.build-id/$NN/$REST/elf
perf/.build-id/$BIG_NN/$BIG_REST/elf
$NN/$REST
buildid/$ID/executable
Prog/elf-buildid-$ID/Prog
PROG/elf-buildid-$BIG_ID/prog
Pr/Prog/elf-buildid-$ID/Prog
symstore/buildid/$ID/executable
debuginfod/Prog/elf-buildid-$ID/Prog
EOP
cat >"$TMP/debug.paths" <<EOP
.build-id/$NN/$REST.debug
gdb/.build-id/$NN/$REST.debug
gdb/$NN/$REST.debug
gdb/.build-id/$BIG_NN/$BIG_REST.debug
gdb/.build-id/$NN/$REST.DEBUG
debuginfod/buildid/$ID/debuginfo
debuginfod/$ID/debuginfo
debuginfod/buildid/$BIG_ID/debuginfo
symstore/_.debug/elf-buildid-sym-$ID/_.debug
symstore/_.DEBUG/ELF-BUILDID-SYM-$BIG_ID/_.debug
symstore/Prog/elf-buildid-sym-$ID/Prog
symstore2/_./_.debug/elf-buildid-sym-$ID/_.debug
symstore2/_/_.debug/elf-buildid-sym-$ID/_.debug
ssqp/_.debug/elf-buildid-sym-$ID/_.debug
unified/$NN/$REST/debuginfo
unified/$BIG_NN/$BIG_REST/debuginfo
slashsymbols/Prog/$BIG_ID/symbols
slashsymbols/prog/$ID/symbols
native/$NN/$REST.debug
perf/.build-id/$NN/$REST/debug
perf/.build-id/$BIG_NN/$BIG_REST/debug
$NN/$REST.debug
$BIG_NN/$BIG_REST.debug
buildid/$ID/debuginfo
_.debug/elf-buildid-sym-$ID/_.debug
Prog/$ID/symbols
gdb/_.debug/elf-buildid-sym-$ID/_.debug
EOP

mkdir -p "$TMP/gdb"
put_gdb "$TMP/gdb" "$CODE"
put_gdb "$TMP/gdb" "$DEBUG" .debug
upstream_start up --root "$TMP/gdb"

# all_same NAME WANTED: every path of NAME.paths is WANTED, one inode, one GET.
all_same() {
  as_ino=
  while read -r path; do
    same_file "$2" "$MNT_all/$path"
    ino=$(stat -L -c %i "$MNT_all/$path")
    [ "$ino" = "${as_ino:=$ino}" ] || fail "$path has the inode $ino, others have $as_ino"
  done <"$TMP/$1.paths"
  [ "$(upstream_count "$URL_up" get "/.build-id/*")" = 1 ] ||
    fail "$1: $(upstream_count "$URL_up" get) GETs instead of one"
  upstream_reset "$URL_up"
  ino=$as_ino
}

# One that can be either file is the debug file, also when only the executable is stored.
symfs_mount all --source "gdb@$URL_up"
same_file "$CODE" "$MNT_all/debuginfod/buildid/$ID/executable"
same_file "$DEBUG" "$MNT_all/slashsymbols/Prog/$ID/symbols"
symfs_umount all
upstream_reset "$URL_up"

# Whichever of them is asked first: a store for each would be long, so some.
for first in 1 6 9 15; do
  symfs_mount all --cache "$TMP/cache-$first" --source "gdb@$URL_up"
  for name in code debug; do
    { tail -n +$first "$TMP/$name.paths"; head -n $((first - 1)) "$TMP/$name.paths"; } >"$TMP/turned"
    mv "$TMP/turned" "$TMP/$name.paths"
  done
  all_same code "$CODE"
  code_ino=$ino
  all_same debug "$DEBUG"
  [ "$ino" != "$code_ino" ] || fail "executable and debug file share an inode"
  # Over restarts, too.
  [ "${code_was:=$code_ino} ${debug_was:=$ino}" = "$code_ino $ino" ] || fail "inode numbers changed"
  # Another build's id is another file, and there is none.
  other=$(printf '%s' "$REST" | tr '0-9a-f' '1-9a-f0')
  [ -e "$MNT_all/gdb/.build-id/$NN/$other.debug" ] && fail "a file that no one has"
  [ -e "$MNT_all/debuginfod/buildid/$NN$other/debuginfo" ] && fail "a file that no one has"
  upstream_reset "$URL_up"
  symfs_umount all
done

# put LAYOUT PATH FILE: into $TMP/far/LAYOUT.
put() {
  mkdir -p "$(dirname "$FAR/$1/$2")"
  cp "$3" "$FAR/$1/$2"
}
put gdb ".build-id/$NN/$REST" "$CODE"
put gdb ".build-id/$NN/$REST.debug" "$DEBUG"
put native "$NN/$REST" "$CODE"
put native "$NN/$REST.debug" "$DEBUG"
put debuginfod "buildid/$ID/executable" "$CODE"
put debuginfod "buildid/$ID/debuginfo" "$DEBUG"
put symstore "Prog/elf-buildid-$ID/Prog" "$CODE"
put symstore "_.debug/elf-buildid-sym-$ID/_.debug" "$DEBUG"
put symstore_index2 "Pr/Prog/elf-buildid-$ID/Prog" "$CODE"
put symstore_index2 "_/_.debug/elf-buildid-sym-$ID/_.debug" "$DEBUG"
put ssqp "prog/elf-buildid-$ID/prog" "$CODE"
put ssqp "_.debug/elf-buildid-sym-$ID/_.debug" "$DEBUG"
put unified "$NN/$REST/executable" "$CODE"
put unified "$NN/$REST/debuginfo" "$DEBUG"
put slashsymbols "Prog/$BIG_ID/symbols" "$DEBUG"
put perf ".build-id/$NN/$REST/elf" "$CODE"
put perf ".build-id/$NN/$REST/debug" "$DEBUG"

# comes_from LAYOUT SOURCE: the mount's other layouts have both files of this source.
comes_from() {
  symfs_mount from --cache "$TMP/cache-from" --source "$1@$2"
  case $1 in
  slashsymbols)
    # Its paths need a name, and it has one file for both.
    same_file "$DEBUG" "$MNT_from/symstore/Prog/elf-buildid-sym-$ID/Prog"
    same_file "$DEBUG" "$MNT_from/slashsymbols/Prog/$ID/symbols"
    ;;
  s*)
    # So does the executable's path here; a debug file is always called _.debug.
    same_file "$CODE" "$MNT_from/symstore/Prog/elf-buildid-$ID/Prog"
    case $2 in
    http*) # it is in the store by now, where names do not matter
      same_file "$CODE" "$MNT_from/ssqp/prog/elf-buildid-$ID/prog"
      same_file "$CODE" "$MNT_from/debuginfod/buildid/$ID/executable"
      ;;
    esac
    same_file "$DEBUG" "$MNT_from/debuginfod/buildid/$ID/debuginfo"
    ;;
  *)
    same_file "$CODE" "$MNT_from/symstore/Prog/elf-buildid-$ID/Prog"
    same_file "$CODE" "$MNT_from/debuginfod/buildid/$ID/executable"
    same_file "$DEBUG" "$MNT_from/slashsymbols/Prog/$BIG_ID/symbols"
    ;;
  esac
  case $1@$2 in
  slashsymbols@/*) ;; # a directory is not copied into the store: no name, no path
  *)
    same_file "$DEBUG" "$MNT_from/gdb/.build-id/$NN/$REST.debug"
    same_file "$DEBUG" "$MNT_from/perf/.build-id/$NN/$REST/debug"
    ;;
  esac
  symfs_umount from
  rm -rf "$TMP/cache-from"
}
for layout in gdb native debuginfod symstore symstore_index2 symstore2 ssqp unified slashsymbols perf; do
  files=$FAR/$layout
  [ $layout != symstore2 ] || files=${files%2}_index2
  comes_from $layout "$files"
  upstream_start far --root "$files"
  comes_from $layout "$URL_far"
  # Read as another layout, it holds nothing of this name.
  upstream_reset "$URL_far"
  case $layout in gdb | native | perf) wrong=symstore ;; *) wrong=gdb ;; esac
  "$SYMFS" get --no-default-sources --cache "$TMP/cache-wrong" --source "$wrong@$URL_far" \
    "debuginfod/buildid/$ID/debuginfo" >"$TMP/wrong.out" 2>&1 && fail "$layout read as $wrong had the file"
  [ "$(upstream_count "$URL_far" get)" -ge 1 ] || fail "$layout read as $wrong was not asked"
  rm -rf "$TMP/cache-wrong"
  kill "$PID_far"
done

# A server of the layout with one name for all may have the executable alone.
put executables "Prog/$ID/symbols" "$CODE"
upstream_start far --root "$FAR/executables"
for where in "$FAR/executables" "$URL_far"; do
  symfs_mount from --cache "$TMP/cache-from" --source "slashsymbols@$where"
  same_file "$CODE" "$MNT_from/symstore/Prog/elf-buildid-$ID/Prog"
  [ -e "$MNT_from/gdb/.build-id/$NN/$REST.debug" ] && fail "an executable as a debug file"
  symfs_umount from
  rm -rf "$TMP/cache-from"
done

# Also when the file is so large that its first bytes do not show its type. A request for its debug file answers
# that there is none. The file is downloaded once for all requests.
awk 'BEGIN {
  for (i = 0; i < 6000; i++)
    print "const char *s" i " = \"" i " of a string that makes the file longer than one would think\";"
  print "int main(void) { return 0; }" }' >"$TMP/long.c"
gcc -Wl,--build-id=sha1 -s -o "$TMP/long" "$TMP/long.c" || fail gcc
[ "$(stat -c %s "$TMP/long")" -gt 400000 ] || fail "not long"
LONG_ID=$(build_id "$TMP/long")
put executables "long/$(printf '%s' "$LONG_ID" | tr '[:lower:]' '[:upper:]')/symbols" "$TMP/long"
for where in "$FAR/executables" "$URL_far"; do
  upstream_reset "$URL_far"
  symfs_mount from --cache "$TMP/cache-from" --source "slashsymbols@$where"
  same_file "$TMP/long" "$MNT_from/slashsymbols/long/$LONG_ID/symbols"
  sent=$(upstream_count "$URL_far" bytes)
  same_file "$TMP/long" "$MNT_from/symstore/long/elf-buildid-$LONG_ID/long"
  cat "$MNT_from/symstore/long/elf-buildid-sym-$LONG_ID/long" >"$TMP/cat.out" 2>&1
  grep -q 'No such file' "$TMP/cat.out" ||
    fail "a program alone, asked for its debug file: $(head -c 200 "$TMP/cat.out")"
  same_file "$TMP/long" "$MNT_from/slashsymbols/long/$LONG_ID/symbols"
  [ "$(upstream_count "$URL_far" bytes)" = "$sent" ] || fail "it was sent again"
  grep -q 'wrong file' "$TMP/from.log" && fail "$(cat "$TMP/from.log")"
  symfs_umount from
  rm -rf "$TMP/cache-from"
done
