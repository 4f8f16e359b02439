#!/bin/sh
# Files of a directory source are found by their debug id alone, in each layout, as they are after
# `symfs add`.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf cmp

make_program "$TMP/p" prog
mkdir "$TMP/files"
cp "$TMP/p/full/prog" "$TMP/p/full/libprog.so" "$TMP/files"
shared=$top_srcdir/../shared/fixtures/symbolic/symbolic-testutils/fixtures
[ -d "$shared" ] || part_skipped "no ../shared/fixtures: programs of Windows and macOS"
for f in windows/crash.exe macos/crash; do
  [ -f "$shared/$f" ] && cp "$shared/$f" "$TMP/files/${f##*/}"
done
field() { "$SYMFS" id --json "$2" | sed -n "s/.*\"$1\": *\"\\([^\"]*\\)\".*/\\1/p" | head -n 1; }

# by_debug_id FILE: its path in unified by its debug id.
by_debug_id() {
  bd_id=$(field breakpad_id "$1" | tr '[:upper:]' '[:lower:]')
  [ "$(field format "$1")" != macho ] || bd_id=${bd_id%0} # a UUID has no age
  printf 'unified/%.2s/%s/executable' "$bd_id" "${bd_id#??}"
}

# In a tree, and in a directory of each layout that has the file.
for layout in scan gdb native debuginfod unified perf symstore symstore_index2 ssqp slashsymbols lldb; do
  mkdir "$TMP/$layout"
  : >"$TMP/$layout.names"
  for f in "$TMP/files"/*; do
    if [ $layout = scan ]; then
      cp "$f" "$TMP/scan/any-${f##*/}"
      echo "${f##*/}" >>"$TMP/scan.names"
      continue
    fi
    path=$("$SYMFS" paths --layout $layout "$f" 2>/dev/null | awk -F'\t' '$2 ~ /_code$|^pe$/ { print $3; exit }')
    [ -n "$path" ] || continue
    [ $layout != debuginfod ] || path=buildid/$path
    mkdir -p "$TMP/$layout/${path%/*}"
    cp "$f" "$TMP/$layout/$path"
    echo "${f##*/}" >>"$TMP/$layout.names"
  done
  [ $layout != symstore_index2 ] || echo two >"$TMP/$layout/index2.txt"
done
[ -f "$TMP/files/crash.exe" ] && for old in 5AB380779001 5AB38077a000; do # other builds of the same name
  mkdir -p "$TMP/symstore/crash.exe/$old" &&
    head -c 300 "$TMP/files/crash.exe" >"$TMP/symstore/crash.exe/$old/crash.exe"
done

found=0
for names in "$TMP"/*.names; do
  layout=${names##*/} layout=${layout%.names}
  [ -s "$names" ] || continue
  symfs_mount "m_$layout" --source "$layout@$TMP/$layout"
  while read -r name; do
    case $layout:$name in
    symstore*:prog | symstore*:lib* | ssqp:* | slashsymbols:*) continue ;; # no path by id tells the name
    symstore*:crash) continue ;;
    esac
    [ "$name" = crash.exe ] && [ "$layout" != scan ] && [ "$layout" != unified ] && continue # below
    path=$(by_debug_id "$TMP/files/$name")
    cmp "$TMP/files/$name" "$TMP/m_$layout/$path" || fail "$layout: $name by $path"
    found=$((found + 1))
  done <"$names"
  no=$(by_debug_id "$TMP/files/prog" | sed 's#/executable#1/executable#; s#unified/..#unified/00#')
  [ -e "$TMP/m_$layout/$no" ] && fail "$layout: $no"
  symfs_umount "m_$layout"
done
say "$found files found by their debug id alone"
[ $found -ge 12 ] || fail "few files"

# Name and debug id, as crash reports have them: the name leads to the program of a symbol store.
addr=$((0x$(readelf -Ws "$TMP/p/full/libprog.so" | awk '$8 == "prog_entry" { print $2; exit }') + 4))
for layout in scan gdb native symstore symstore_index2 slashsymbols debuginfod; do
  printf '{"jobs":[{"memoryMap":[["libprog.so","%s"]],"stacks":[[[0,%d]]]}]}' \
    "$(field breakpad_id "$TMP/files/libprog.so")" $addr >"$TMP/request"
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-s-$layout" --source "$layout@$TMP/$layout" \
    "$TMP/request" >"$TMP/answer" 2>"$TMP/symbolicate.err" || fail "symbolicate: $(cat "$TMP/symbolicate.err")"
  grep -q '"function": "prog_entry"' "$TMP/answer" || fail "$layout: $(cat "$TMP/answer")"
done

# The names in a symbol store lead from crash.pdb to crash.exe, whose bytes have the debug id.
if [ -f "$TMP/files/crash.exe" ]; then
  for layout in symstore symstore_index2 ssqp native slashsymbols; do
    printf '{"jobs":[{"memoryMap":[["crash.pdb","%s"]],"stacks":[[[0,4096]]]}]}' \
      "$(field breakpad_id "$TMP/files/crash.exe")" >"$TMP/request"
    "$SYMFS" symbolicate --module-errors --no-default-sources --cache "$TMP/store-p-$layout" \
      --source "$layout@$TMP/$layout" "$TMP/request" >"$TMP/answer" 2>"$TMP/pe.err"
    grep -q '"message": "pe: has no functions' "$TMP/answer" || fail "$layout: no crash.exe: $(cat "$TMP/answer")"
    ! grep 'no functions' "$TMP/pe.err" || fail "$layout: a message for a program without functions"
  done
fi
