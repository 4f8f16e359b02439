#!/bin/sh
# Directories list what the store knows, in every layout, each name once. Offsets stay valid while
# files come and go, and each listed path is that of a file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
SEEK=$top_builddir/tests/helpers/seek-dir
COUNT=150 SAME=40

# sym NUMBER: a symbol file of its own name and id.
sym() {
  printf 'MODULE Linux x86_64 %08X%024X0 module-%d\nFUNC 1000 10 0 main\n' $((($1 * 2654435761) % 4294967296)) "$1" \
    "$1"
}
mkdir "$TMP/syms" "$TMP/more"
i=0
while [ $i -lt $COUNT ]; do
  sym $i >"$TMP/syms/$i.sym"
  i=$((i + 1))
done
while [ $i -lt $((COUNT + 20)) ]; do
  sym $i >"$TMP/more/$i.sym"
  i=$((i + 1))
done
# One name, many ids.
for i in $(seq 1 $SAME); do
  printf 'MODULE Linux x86_64 %032X0 same.so\nFUNC 1000 10 0 main\n' "$i" >"$TMP/syms/same-$i.sym"
done
"$SYMFS" add -r --cache "$TMP/store" "$TMP/syms" >"$TMP/add.out" || fail "$(tail -n 3 "$TMP/add.out")"

symfs_mount m --cache "$TMP/store"
names() { seq 0 $((COUNT - 1)) | sed 's/^/module-/'; echo same.so; }
names | sort >"$TMP/want"
"$SEEK" "$MNT_m/breakpad" >"$TMP/have" || fail "seeking in breakpad"
sort "$TMP/have" | cmp -s - "$TMP/want" || fail "breakpad: $(sort "$TMP/have" | diff - "$TMP/want" | head -n 5)"
"$SEEK" "$MNT_m/breakpad/same.so" >"$TMP/have" || fail "seeking in a name"
[ "$(sort -u "$TMP/have" | wc -l)" = $SAME ] && [ "$(wc -l <"$TMP/have")" = $SAME ] ||
  fail "same.so: $(wc -l <"$TMP/have")"
for dir in breakpad/SAME.SO unified native symstore symstore2 unified/00; do
  "$SEEK" "$MNT_m/$dir" >"$TMP/have" || fail "seeking in $dir"
  [ "$(sort "$TMP/have" | uniq -di | wc -l)" = 0 ] || fail "$dir: $(sort "$TMP/have" | uniq -di | head -n 3)"
done
[ "$(ls "$MNT_m/breakpad/SAME.SO" | wc -l)" = $SAME ] || fail "in another case"

# Every listed path exists, and is one of the test's files. Module 0 has an id of zeros, which identifies nothing:
# a path without its name means no file.
find "$MNT_m/breakpad" "$MNT_m/unified" "$MNT_m/native" -type f ! -name '*.meta' >"$TMP/files"
[ "$(wc -l <"$TMP/files")" -ge $(((COUNT + SAME) * 2)) ] || fail "$(wc -l <"$TMP/files") files"
xargs grep -L '^MODULE' <"$TMP/files" >"$TMP/others" 2>&1 && [ ! -s "$TMP/others" ] ||
  fail "$(head -n 3 "$TMP/others")"
grep -q '/breakpad/module-0/' "$TMP/files" || fail "an id of zeros is not listed"
grep -Eq '/unified/00/0{30}/' "$TMP/files" && fail "an id of zeros is listed without its name"
find "$MNT_m" -type f -exec stat -c %i {} + >"$TMP/stat" 2>"$TMP/gone" || fail "$(head -n 3 "$TMP/gone")"
head -n 20 "$TMP/files" | while read -r file; do
  [ "$(stat -c %i "$file")" = "$(ls -i "${file%/*}" | sed -n "s|^ *\([0-9]*\) ${file##*/}\$|\1|p")" ] ||
    fail "$file: inode"
done || exit 1

# While it is read, names come and go: one that stays is listed once.
rm_some="\"$SYMFS\" cache rm --cache \"$TMP/store\" $(for i in $(seq 100 120); do
  printf 'breakpad/module-%d/%08X%024X0/module-%d.sym ' "$i" $(((i * 2654435761) % 4294967296)) "$i" "$i"
done) >\"$TMP/rm.out\" 2>&1"
moving='^module-(10.|11.|120|1[567].)$' # and what is in "more"
for after in 1 140; do
  "$SEEK" "$MNT_m/breakpad" $after \
    "$rm_some; \"$SYMFS\" add -r --cache \"$TMP/store\" \"$TMP/more\" >\"$TMP/add.out\"" \
    >"$TMP/have" || fail "changed after $after: $(cat "$TMP/rm.out")"
  grep -vE "$moving" "$TMP/have" | sort >"$TMP/stay"
  grep -vE "$moving" "$TMP/want" | cmp -s - "$TMP/stay" ||
    fail "after $after: $(grep -vE "$moving" "$TMP/want" | diff - "$TMP/stay" | head -n 5)"
  [ "$(sort "$TMP/have" | uniq -d | wc -l)" = 0 ] || fail "after $after: $(sort "$TMP/have" | uniq -d | head -n 3)"
  ls "$MNT_m/breakpad" | grep -q '^module-110$' && fail "what was removed is listed"
  "$SYMFS" add -r --cache "$TMP/store" "$TMP/syms" >"$TMP/add.out" || fail "again"
done
ls "$MNT_m/breakpad" | sort >"$TMP/have"
[ "$(wc -l <"$TMP/have")" = $((COUNT + 21)) ] || fail "in the end: $(wc -l <"$TMP/have")"

# A directory that is a source is listed behind what is stored, without what that has.
mkdir -p "$TMP/tree/other.so/00112233445566778899AABBCCDDEEFF0"
mkdir -p "$TMP/tree/Same.so/$(printf %032X0 1)"
sym 1 >"$TMP/tree/other.so/00112233445566778899AABBCCDDEEFF0/other.so.sym"
cp "$TMP/syms/same-1.sym" "$TMP/tree/Same.so/$(printf %032X0 1)/Same.so.sym"
symfs_mount both --cache "$TMP/store" --source "breakpad@$TMP/tree"
"$SEEK" "$MNT_both/breakpad" >"$TMP/have" || fail "seeking in both"
[ "$(grep -ci "^same.so$" "$TMP/have")" = 1 ] || fail "same.so twice"
tail -n 1 "$TMP/have" | grep -qx other.so || fail "both: $(tail -n 2 "$TMP/have")"
[ "$(wc -l <"$TMP/have")" = $((COUNT + 22)) ] || fail "both: $(wc -l <"$TMP/have")"
symfs_umount both

# A listing reads only the directories of a source that can have files for it, in whatever case their names are.
for i in 0 1 2 3 4 5 6 7 8 9; do
  mkdir -p "$TMP/tree-ids/.build-id/A$i"
  : >"$TMP/tree-ids/.build-id/A$i/1122334455667788990011223344556677889$i.debug"
done
symfs_mount ids --source "gdb@$TMP/tree-ids"
read_for() { # DIRECTORY: prints what it lists, and sets $read
  before=$(stat_of "$MNT_ids" listed_dirs)
  ls "$MNT_ids/$1" >"$TMP/have"
  read=$(($(stat_of "$MNT_ids" listed_dirs) - before))
}
for dir in gdb/.build-id/a3 debuginfod/buildid/a311223344556677889900112233445566778893 unified/a3; do
  read_for $dir
  [ $read = 1 ] && [ -s "$TMP/have" ] || fail "$dir: $(wc -l <"$TMP/have") names, $read directories"
done
read_for gdb/.build-id/b3
[ $read = 0 ] && [ ! -s "$TMP/have" ] || fail "no such directory: $(cat "$TMP/have"), $read directories"
read_for gdb/.build-id
[ $read = 12 ] && [ "$(wc -l <"$TMP/have")" = 10 ] || fail "all: $(cat "$TMP/have"), $read directories"
symfs_umount ids
symfs_umount m

# Each directory lists itself and the one above it, by their inode numbers.
symfs_mount dots
for dir in . .symfs gsym/breakpad breakpad gsym; do
  ls -aif "$MNT_dots/$dir" | awk '$2 == "." || $2 == ".." { print $2, $1 }' | sort >"$TMP/dots.txt"
  printf '. %s\n' "$(stat -c %i "$MNT_dots/$dir")" >"$TMP/want"
  [ $dir = . ] || # above the mount is another file system
    printf '.. %s\n' "$(stat -c %i "$MNT_dots/$dir/..")" >>"$TMP/want"
  [ $dir != . ] || sed -i '/^\.\. /d' "$TMP/dots.txt"
  cmp -s "$TMP/dots.txt" "$TMP/want" || fail "ls -a of $dir: $(cat "$TMP/dots.txt" "$TMP/want")"
done
symfs_umount dots

# Each listed path exists for files of every kind, also for ids that no path is accepted for.
mkdir "$TMP/odd"
echo 'int main(void) { return 0; }' >"$TMP/main.c"
gcc -o "$TMP/odd/one-byte" -Wl,--build-id=0xab "$TMP/main.c" || fail "gcc"
printf '\000asm\001\000\000\000\000\013\010build_id\001a' >"$TMP/odd/w.wasm"
printf '\000asm\001\000\000\000\000\032\010build_id\020abcdefghijklmnop' >"$TMP/odd/no-suffix"
printf 'MODULE windows x86 3F14DD8C0 zero.pdb\nPUBLIC 10 0 f\n' >"$TMP/odd/zero.sym"
"$SYMFS" add -r --cache "$TMP/store-every" "$TMP/odd" >"$TMP/add.out" 2>&1 || fail "$(cat "$TMP/add.out")"
grep -q 'added 4,' "$TMP/add.out" || fail "$(cat "$TMP/add.out")"
least=4
if [ -d "$top_srcdir/../shared/fixtures" ]; then
  "$SYMFS" add -r --cache "$TMP/store-every" "$top_srcdir/../shared/fixtures" >"$TMP/add.out" 2>&1
  least=900
else
  part_skipped "no ../shared/fixtures: listings of many kinds of files"
fi
symfs_mount every
find "$MNT_every" \( -type f -o -type l \) >"$TMP/files" 2>"$TMP/gone"
xargs -d '\n' stat -L -c %i <"$TMP/files" 2>>"$TMP/gone" >"$TMP/stat"
[ ! -s "$TMP/gone" ] || fail "listed and not there: $(head -n 3 "$TMP/gone")"
[ "$(wc -l <"$TMP/files")" -ge $least ] || fail "of every kind: $(wc -l <"$TMP/files")"
odd=$(grep -Em3 '/buildid/ab/|/zero\.sym$|/slashsymbols/no-suffix/' "$TMP/files") && fail "listed: $odd"
symfs_umount every
