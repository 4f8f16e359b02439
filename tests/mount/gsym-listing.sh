#!/bin/sh
# gsym/ lists the directories that it mirrors, and a .gsym for each listed file from which GSYM can
# be made. A listing makes no GSYM. README at the root names each directory.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf

make_program "$TMP/p" prog
make_program "$TMP/p" other
mkdir "$TMP/files" "$TMP/tree"
cp "$TMP/p/bin/prog" "$TMP/p/debug/prog.debug" "$TMP/p/full/libprog.so" "$TMP/files"
cp "$TMP/p/full/other" "$TMP/tree"
printf 'MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 mod\nFUNC 1000 10 0 f\n' >"$TMP/files/mod.sym"
shared=$top_srcdir/../shared/fixtures/symbolic/symbolic-testutils/fixtures
[ -d "$shared" ] || part_skipped "no ../shared/fixtures: programs of Windows and macOS"
for f in windows/crash.exe windows/crash.pdb macos/crash.dSYM/Contents/Resources/DWARF/crash; do
  [ -f "$shared/$f" ] && cp "$shared/$f" "$TMP/files/${f##*/}"
done
"$SYMFS" add -r --cache "$TMP/store-m" "$TMP/files" >"$TMP/add.out" 2>&1 || fail "add: $(cat "$TMP/add.out")"
symfs_mount m --source "scan@$TMP/tree"
m=$MNT_m
walked() { ls "$m/gdb/.build-id/$(printf %.2s "$(build_id "$TMP/tree/other")")"; }
wait_for walked || fail "the tree is not listed"

# At its top the layouts, and the link that is at the root.
ls -A "$m" | grep -vxE 'gsym|\.symfs|README|pingme.txt|000Admin' | sort >"$TMP/want"
ls -A "$m/gsym" | sort >"$TMP/have"
cmp -s "$TMP/want" "$TMP/have" || fail "ls gsym: $(diff "$TMP/want" "$TMP/have")"
[ "$(wc -l <"$TMP/have")" -ge 12 ] || fail "ls gsym: $(cat "$TMP/have")"

# Each file that has a .gsym by look-up is listed with it, and nothing else is.
(cd "$m" && find . -path ./gsym -prune -o -path ./.symfs -prune -o \( -type f -o -path './lldb/*' -type l \) -print) |
  while read -r file; do [ -e "$m/gsym/$file.gsym" ] && printf '%s.gsym\n' "$file"; done | sort >"$TMP/want"
(cd "$m/gsym" && find . -type f) | sort >"$TMP/have"
cmp -s "$TMP/want" "$TMP/have" || fail "files of gsym: $(diff "$TMP/want" "$TMP/have" | head)"
[ "$(wc -l <"$TMP/have")" -ge 40 ] || fail "few files: $(cat "$TMP/have")"
for name in prog.debug libprog.so other; do
  f=$TMP/p/full/$name
  case $name in *.debug) f=$TMP/p/debug/$name ;; esac
  grep -q "^./gdb/.build-id/.*/$(build_id "$f" | cut -c3-)" "$TMP/have" || fail "$name is not listed"
done
say "$(wc -l <"$TMP/have") files below gsym/"

# With the inodes that they have, and each directory the same way twice.
while read -r file; do
  set -- "$(stat -c %i "$m/gsym/$file")" "$(ls -i "$m/gsym/${file%/*}" | sed -n "s|^ *\([0-9]*\) ${file##*/}\$|\1|p")"
  [ "$1" = "$2" ] || fail "$file: inode $1, listed as $2"
done <"$TMP/have"
"$SYMFS" cache ls --cache "$TMP/store-m" | grep gsym && fail "a listing makes GSYM"

# What was made is listed; what cannot be made is not, once that is known.
id=$(build_id "$TMP/p/debug/prog.debug")
file=gsym/gdb/.build-id/$(printf %.2s "$id")/${id#??}.debug.gsym
"$SYMFS" gsym verify "$m/$file" >"$TMP/verify" 2>&1 || fail "verify: $(cat "$TMP/verify")"
[ "$(ls "$m/${file%/*}" | grep -cxF "${file##*/}")" = 1 ] || fail "what was made is not listed"
printf 'MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDE00 bare\n' >"$TMP/bare.sym"
"$SYMFS" add --cache "$TMP/store-m" "$TMP/bare.sym" >"$TMP/add.out" 2>&1 || fail "add"
bare=$m/gsym/breakpad/bare/0123456789ABCDEF0123456789ABCDE00
wait_for test -e "$bare/bare.sym.gsym" || fail "a file that was added"
[ "$(ls "$bare")" = bare.sym.gsym ] || fail "ls: $(ls "$bare")"
cat "$bare/bare.sym.gsym" >/dev/null 2>&1 && fail "GSYM of nothing"
[ -z "$(ls "$bare")" ] || fail "what cannot be made is listed: $(ls "$bare")"

# ---- README ------------------------------------------------------------------------------
[ "$(wc -l <"$m/README")" -le 24 ] && [ "$(wc -L <"$m/README")" -le 80 ] || fail "README is more than a screen"
for entry in $(ls -A "$m"); do
  [ "$entry" = README ] || grep -qF " $entry" "$m/README" || fail "README does not name $entry"
done
sed -n 's/^  \([^ ]*\) .*/\1/p' "$m/README" | while read -r entry; do
  [ -e "$m/$entry" ] || [ -L "$m/$entry" ] || fail "README names $entry, which is not there"
done || exit 1
[ -e "$m/gsym/README" ] && fail "gsym/README"
symfs_umount m
