#!/bin/sh
# symfs add: what is added is served by a mount that is already there, within two seconds also
# where it had just said "not there"; what has no place is named.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf strip

make_program "$TMP/p" foo
id=$(build_id "$TMP/p/full/foo")
symfs_mount m --cache "$TMP/store"
debug=$MNT_m/gdb/$(gdb_path "$id" .debug)
code=$MNT_m/debuginfod/buildid/$id/executable
[ -e "$debug" ] && fail "it is there before it was added"
[ -e "$code" ] && fail "it is there before it was added"

out=$("$SYMFS" add --cache "$TMP/store" "$TMP/p/bin/foo" "$TMP/p/debug/foo.debug") || fail "add: $out"
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 2, present 0, not placed 0" ] || fail "add: $out"
wait_for 3 test -e "$debug" || fail "the debug file does not show up"
wait_for 3 test -e "$code" || fail "the program does not show up"
same_file "$TMP/p/debug/foo.debug" "$debug"
same_file "$TMP/p/bin/foo" "$code"
# The name that it was added by is the one that symstore lists.
same_file "$TMP/p/bin/foo" "$MNT_m/symstore/foo/elf-buildid-$id/foo"
[ "$(ls "$MNT_m/symstore")" = "$(printf '%s\n' 000Admin _.debug foo pingme.txt | sort)" ] || fail "ls: $(ls "$MNT_m/symstore")"

out=$("$SYMFS" add --cache "$TMP/store" "$TMP/p/bin/foo")
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 0, present 1, not placed 0" ] || fail "again: $out"

# A tree: what is in it, a line for what has no place; only named files decide the exit status.
mkdir "$TMP/tree"
cp "$TMP/p/full/libfoo.so" "$TMP/p/src/foo.c" "$TMP/tree/"
ln -s . "$TMP/tree/loop"
out=$("$SYMFS" add -r --cache "$TMP/store" "$TMP/tree") || fail "tree: $out"
printf '%s\n' "$out" | grep -q "^$TMP/tree/foo.c: not placed: " || fail "tree: $out"
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 1, present 0, not placed 1" ] || fail "tree: $out"
# One file that is program and debug file in one answers as both.
lib=$(build_id "$TMP/p/full/libfoo.so")
same_file "$TMP/p/full/libfoo.so" "$MNT_m/gdb/$(gdb_path "$lib" .debug)"
same_file "$TMP/p/full/libfoo.so" "$MNT_m/gdb/$(gdb_path "$lib")"

# What is removed by one of its names is gone by all.
"$SYMFS" cache rm --cache "$TMP/store" "gdb/$(gdb_path "$lib" .debug)" || fail "cache rm"
"$SYMFS" get --offline --cache "$TMP/store" "gdb/$(gdb_path "$lib")" >/dev/null 2>&1 && fail "half of it was removed"
"$SYMFS" get --offline --cache "$TMP/store" "gdb/$(gdb_path "$id")" >/dev/null || fail "more than that was removed"

"$SYMFS" add --cache "$TMP/store" "$TMP/tree" >"$TMP/out" 2>&1
[ $? = 1 ] || fail "a directory without -r does not end with 1"
"$SYMFS" add --cache "$TMP/store" "$TMP/p/src/foo.c" "$TMP/nowhere" >"$TMP/out" 2>&1
[ $? = 1 ] || fail "a file without a place does not end with 1"
[ "$(grep -c 'not placed: ' "$TMP/out")" = 2 ] || fail "$(cat "$TMP/out")"
head -c 200 "$TMP/p/full/foo" >"$TMP/cut"
"$SYMFS" add --cache "$TMP/store" "$TMP/cut" | grep -q 'cut short' || fail "a cut file is not called that"
"$SYMFS" cache verify --cache "$TMP/store" || fail verify
symfs_umount m
