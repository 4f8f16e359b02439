#!/bin/sh
# gsym/ in the mount: a file that is only upstream is converted to GSYM when it is first opened,
# once for all readers, and has the bytes that `symfs gsym create` makes. A look-up or a listing
# converts nothing. A file that cannot be converted is a remembered error, and the mount continues.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf curl cmp

make_program "$TMP/p" Prog
mkdir -p "$TMP/up"
for f in Prog libProg.so; do
  put_gdb "$TMP/up" "$TMP/p/debug/$f.debug" .debug
  put_gdb "$TMP/up" "$TMP/p/bin/$f"
  "$SYMFS" gsym create -o "$TMP/$f.gsym" "$TMP/p/debug/$f.debug" || fail "create $f"
done
ID=$(build_id "$TMP/p/bin/Prog") LIB=$(build_id "$TMP/p/bin/libProg.so")
# A library with debug information and without functions.
echo 'int x;' >"$TMP/none.c"
(cd "$TMP" && gcc -g -shared -nostdlib -Wl,--build-id=0x1111222233334444555566667777888899990000 -o none.so none.c) \
  || fail "gcc"
put_gdb "$TMP/up" "$TMP/none.so" .debug
NONE=1111222233334444555566667777888899990000

upstream_start up --root "$TMP/up"
symfs_mount m --source "gdb@$URL_up"
made() { grep -c 'was made of' "$TMP/m.log"; }

# ---- looking makes nothing ---------------------------------------------------------------
find "$MNT_m/gsym" -type f >"$TMP/found" || fail "find gsym"
ls -l "$MNT_m/gsym" >/dev/null || fail "ls gsym"
path=$MNT_m/gsym/$(gdb_path "$ID" .debug.gsym)
[ -f "$path" ] || fail "$path is not there"
stat "$path" >/dev/null || fail "stat"
[ -e "$MNT_m/gsym/$(gdb_path 00112233445566778899aabbccddeeff00112233 .debug.gsym)" ] &&
  fail "what no source has is there"
[ -e "$MNT_m/gsym/$(gdb_path "$ID" .debug)" ] && fail "gsym/ has what is not GSYM"
[ -e "$MNT_m/gsym/gsym" ] && fail "gsym/ is in itself"
[ "$(made)" = 0 ] || fail "looking made something: $(grep 'was made of' "$TMP/m.log")"

# ---- many at once ------------------------------------------------------------------------
readers=
i=0
while [ $i -lt 32 ]; do
  cmp -s "$path" "$TMP/Prog.gsym" &
  readers="$readers $!"
  PIDS="$PIDS $!"
  i=$((i + 1))
done
for r in $readers; do
  wait "$r" || fail "a reader did not get what create makes"
done
[ "$(made)" = 1 ] || fail "$(made) conversions for 32 readers"
[ "$(stat -c %s "$path")" = "$(stat -c %s "$TMP/Prog.gsym")" ] || fail "the size is another"
[ "$(upstream_count "$URL_up" get "*$(gdb_path "$ID" .debug)")" = 1 ] || fail "the debug file was got more than once"

# ---- by every layout, and at the root of the tree -----------------------------------------
for p in "gdb/$(gdb_path "$ID" .debug.gsym)" "gdb/$(gdb_path "$ID" .gsym)" \
  "debuginfod/buildid/$ID/debuginfo.gsym" "debuginfod/buildid/$ID/executable.gsym" \
  "unified/$(printf %.2s "$ID")/${ID#??}/debuginfo.gsym" ".build-id/$(printf %.2s "$ID")/${ID#??}.debug.gsym"; do
  same_file "$MNT_m/gsym/$p" "$TMP/Prog.gsym"
done
[ "$(made)" = 1 ] || fail "other paths made it anew"
same_file "$MNT_m/gsym/gdb/$(gdb_path "$LIB" .debug.gsym)" "$TMP/libProg.so.gsym"
"$SYMFS" gsym lookup "0x$(nm "$TMP/p/full/Prog" | awk '/ main$/ { print $1 }')" "$path" | grep -q 'main@.*Prog.c:4' ||
  fail "the file does not answer"

# ---- what cannot be made -------------------------------------------------------------------
none=$MNT_m/gsym/$(gdb_path "$NONE" .debug.gsym)
cat "$none" >/dev/null 2>"$TMP/said" && fail "a file was made of nothing"
grep -q 'No such file' "$TMP/said" || fail "of nothing: $(cat "$TMP/said")"
grep -q 'cannot be made of .*has no functions' "$TMP/m.log" || fail "the reason is not in the log"
[ -e "$none" ] && fail "it is there after it could not be made"
grep -q "$(printf %.30s "$NONE")\|gsym" "$MNT_m/.symfs/missing" ||
  fail "the miss is not remembered: $(ls "$MNT_m/.symfs")"
same_file "$path" "$TMP/Prog.gsym"

symfs_umount m

# ---- stored, and with exact sizes ----------------------------------------------------------
symfs_mount m --cache "$TMP/store-m" --offline
same_file "$MNT_m/gsym/$(gdb_path "$ID" .debug.gsym)" "$TMP/Prog.gsym"
[ "$(made)" = 0 ] || fail "what is stored was made anew"
symfs_umount m
symfs_mount e --source "gdb@$URL_up" -o exact_size
size=$(stat -c %s "$MNT_e/gsym/$(gdb_path "$ID" .debug.gsym)") || fail "stat with exact sizes"
[ "$size" = "$(stat -c %s "$TMP/Prog.gsym")" ] || fail "with exact sizes it has $size bytes"
symfs_umount e
