#!/bin/sh
# sentry-cli walks the whole mount and finds stored files by their identifiers, in the layouts that
# list them; the walk asks no server.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl gcc objcopy readelf strip
tool sentry-cli
SENTRY=$TOOL

make_program "$TMP/p" prog
windows_library "$TMP/w" one
mkdir -p "$TMP/b/two/00112233445566778899AABBCCDDEEFF0"
printf 'MODULE Linux x86_64 00112233445566778899AABBCCDDEEFF0 two\nFUNC 1000 10 0 f\n' \
  >"$TMP/b/two/00112233445566778899AABBCCDDEEFF0/two.sym"
debug_id() { "$SYMFS" id --json "$1" | sed -n 's/^ *"debug_id": *"\([^"]*\)".*/\1/p' | head -n 1; }
ELF=$(debug_id "$TMP/p/full/prog") PDB=$(debug_id "$TMP/w/one.pdb") SYM=$(debug_id "$TMP"/b/two/*/two.sym)
"$SYMFS" add -r --cache "$TMP/store" "$TMP/p/debug" "$TMP/p/bin" "$TMP/w/one.dll" "$TMP/w/one.pdb" "$TMP/b" \
  >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"

mkdir "$TMP/far"
upstream_start up --root "$TMP/far"
symfs_mount m --cache "$TMP/store" --source "symstore@$URL_up" --source "gdb@$URL_up"

# find_id TYPE DIR ID: what it prints. It knows a type by the file's own bytes.
find_id() {
  (cd / && SENTRY_DISABLE_UPDATE_CHECK=1 SENTRY_LOAD_DOTENV=0 timeout 300 "$SENTRY" debug-files find -t "$1" "$3" \
    -p "$2" \
    --no-well-known --no-cwd 2>&1)
}
before=$(stat_of "$MNT_m" fs_listings)
found=0
for want in "elf $ELF" "pe $PDB" "pdb $PDB" "breakpad $SYM"; do
  type=${want% *} id=${want#* }
  # Of a Breakpad file it says where it is, and still that something better is missing.
  out=$(find_id "$type" "$MNT_m" "$id") || [ "$type" = breakpad ] || fail "sentry-cli finds no $type $id: $out"
  expect "sentry-cli, $type" "$out" "^$id $MNT_m/.* \[$type\]$"
  printf '%s\n' "$out" | grep "$MNT_m/"
  found=$((found + $(printf '%s\n' "$out" | grep -c "$MNT_m/")))
done
[ "$(stat_of "$MNT_m" fs_listings)" -gt "$before" ] || fail "nothing was listed"
[ "$(upstream_count "$URL_up" requests)" = 0 ] ||
  fail "the walk asked the server $(upstream_count "$URL_up" requests) times"
say "$found files found, $(($(stat_of "$MNT_m" fs_listings) - before)) directories read, no request"

# What is nowhere is missing.
out=$(find_id pdb "$MNT_m" 00112233-4455-6677-8899-aabbccddeeff-7)
refuse "an id that no source has" "$out" "$MNT_m/"
expect "an id that no source has" "$out" '^missing debug information'

# Each path that a layout lists is a file of that id for another tool, too.
n=0
for path in "gdb/$(gdb_path "$(build_id "$TMP/p/full/prog")" .debug)" \
  "symstore/$(path_in symstore "$TMP/w/one.pdb")" \
  "symstore/$(path_in symstore "$TMP/w/one.dll")" breakpad/two/00112233445566778899AABBCCDDEEFF0/two.sym; do
  out=$("$SENTRY" debug-files check "$MNT_m/$path" 2>&1)
  case $path in gdb*) id=$ELF ;; breakpad*) id=$SYM ;; *) id=$PDB ;; esac
  printf '%s\n' "$out" | grep -q "$id" || fail "check $path: $out"
  n=$((n + 1))
done
say "$n files checked"
symfs_umount m
