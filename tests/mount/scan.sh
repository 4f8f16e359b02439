#!/bin/sh
# A scanned tree of this machine as a source (layout = scan): its files are found by their contents,
# whatever their names are, and so are those that are added, changed or removed while it is mounted.
# Until the first scan ends, no reader gets "does not exist".
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf

make_program "$TMP/made" one
make_program "$TMP/made" two
tree=$TMP/tree
mkdir -p "$tree/build/x 1/deep" "$tree/.hidden"
# What it is must be read of each: a look-up that comes at once finds the walk under way.
i=0
while [ $i -lt 40 ]; do
  mkdir "$tree/build/noise$i"
  for j in 1 2 3 4 5 6 7 8 9 10; do echo "no symbols in $i $j" >"$tree/build/noise$i/$j.o"; done
  i=$((i + 1))
done
cp "$TMP/made/full/one" "$tree/build/x 1/deep/any name"
cp "$TMP/made/debug/two.debug" "$tree/.hidden/t"
ONE=$(build_id "$TMP/made/full/one") TWO=$(build_id "$TMP/made/bin/two") LIB=$(build_id "$TMP/made/bin/libone.so")
path_of() { printf '.build-id/%.2s/%s' "$1" "$(printf %s "$1" | cut -c3-)"; }

# At once, by a command that begins the walk itself.
"$SYMFS" get --no-default-sources --cache "$TMP/store-get" --source "scan@$tree" \
  "debuginfod/buildid/$ONE/executable" \
  >"$TMP/got" 2>"$TMP/get.err" || fail "get: $(cat "$TMP/get.err")"
cmp -s "$(cat "$TMP/got")" "$TMP/made/full/one" || fail "get: other bytes"
[ -n "$(ls "$TMP/store-get/scans")" ] || fail "nothing remembers the walk"

cat >"$TMP/conf" <<EOF
[source "tree"]
path = $tree
layout = scan
EOF
symfs_mount m --config "$TMP/conf"
cmp "$MNT_m/gdb/$(path_of "$ONE")" "$TMP/made/full/one" || fail "one"
cmp "$MNT_m/gdb/$(path_of "$TWO").debug" "$TMP/made/debug/two.debug" || fail "the debug file of two"
# What has code and debug information is found as either.
cmp "$MNT_m/debuginfod/buildid/$ONE/debuginfo" "$TMP/made/full/one" || fail "one's debug information"
stat "$MNT_m/gdb/$(path_of "$LIB")" >/dev/null 2>&1 && fail "a library that is nowhere"
grep -q '	tree	scan	scan	.*there, [0-9]* artifacts' "$MNT_m/.symfs/sources" ||
  fail "sources: $(cat "$MNT_m/.symfs/sources")"
ls "$MNT_m/gdb/.build-id" | grep -qx "$(printf %.2s "$ONE")" || fail "it is not listed"
"$SYMFS" why --config "$TMP/conf" --cache "$TMP/store-m" "debuginfod/buildid/$ONE/executable" >"$TMP/why" 2>&1
grep -q "anywhere below" "$TMP/why" || fail "why: $(cat "$TMP/why")"

# A build continues: new files in new directories are found.
mkdir "$tree/build/new"
cp "$TMP/made/full/libone.so" "$tree/build/new/libone.so.1"
arrived() { cmp -s "$MNT_m/gdb/$(path_of "$LIB")" "$TMP/made/full/libone.so"; }
wait_for arrived || fail "a new file is not found: $(cat "$MNT_m/.symfs/sources")"

# A packed file counts as what is inside.
mkdir "$tree/build/packed"
gzip -c "$TMP/made/debug/one.debug" >"$tree/build/packed/one.debug.gz"
echo words | gzip -c >"$tree/build/packed/words.gz"
unpacked() { cmp -s "$MNT_m/gdb/$(path_of "$ONE").debug" "$TMP/made/debug/one.debug"; }
rm "$tree/build/x 1/deep/any name"
wait_for unpacked || fail "what is in a .gz is not found: $(cat "$MNT_m/.symfs/sources")"

# What is overwritten by another build is not served as the old one, what is removed is gone.
rm -r "$tree/build/new"
cp "$TMP/made/full/two" "$tree/build/x 1/deep/any name"
left() { ! stat "$MNT_m/gdb/$(path_of "$LIB")" >/dev/null 2>&1; }
wait_for left || fail "a removed file is still there"
rewritten() { cmp -s "$MNT_m/gdb/$(path_of "$TWO")" "$TMP/made/full/two"; }
wait_for rewritten || fail "the new contents of a file are not found"
cat "$MNT_m/gdb/$(path_of "$ONE")" 2>/dev/null | cmp -s - "$TMP/made/full/two" && fail "another build's bytes"

# Without the source in the configuration, nothing is looked at any more.
: >"$TMP/conf"
kill -HUP "$PID_m"
reloaded() { ! grep -q tree "$MNT_m/.symfs/sources"; }
wait_for reloaded || fail "the source stays"
gone_now() { ! stat "$MNT_m/gdb/$(path_of "$TWO").debug" >/dev/null 2>&1; }
wait_for gone_now || fail "files of a source that is gone"
symfs_umount m

# A tree that is not there yet.
symfs_mount later -o "source=scan@$TMP/not-yet"
stat "$MNT_later/gdb/$(path_of "$TWO").debug" >/dev/null 2>&1 && fail "a file of a tree that is not there"
mkdir "$TMP/not-yet"
cp "$TMP/made/debug/two.debug" "$TMP/not-yet/x"
came() { cmp -s "$MNT_later/gdb/$(path_of "$TWO").debug" "$TMP/made/debug/two.debug"; }
wait_for came || fail "a tree that came later: $(cat "$MNT_later/.symfs/sources")"
# Nor is a symfs mount walked, be it this one.
symfs_mount self --source "scan@$MNT_later"
wait_for grep -q 'inside a symfs mount' "$MNT_self/.symfs/sources" || fail "a symfs is walked"
