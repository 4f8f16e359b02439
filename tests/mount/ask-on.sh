#!/bin/sh
# Asking on: a debug file without debug information, or a Breakpad file of public symbols alone, is not the answer
# while another source has a better one; the order of sources decides between equal files only. Asking again: a file
# that a server did not have is asked for once more later, without a client.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf cmp

make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
path=$(gdb_path "$id" .debug)
full=$TMP/p/debug/prog.debug
# The same with all symbols and without debug information: what `strip -g` leaves.
objcopy -g "$full" "$TMP/poor.debug" || fail objcopy
"$SYMFS" id "$TMP/poor.debug" | grep -q "$id" || fail "the poor file has another id"
put_gdb "$TMP/poor" "$TMP/poor.debug" .debug
put_gdb "$TMP/good" "$full" .debug
mkdir "$TMP/none"

# Each server answers ranges or sends the whole file only.
for how in ranges plain; do
  case $how in ranges) flags= ;; plain) flags=--no-range ;; esac
  for up in poor good none; do
    # shellcheck disable=SC2086
    upstream_start "${up}_$how" $flags --root "$TMP/$up"
  done
done

# got WHAT WANTED ARGS...: `symfs get` with a new store; the file is WANTED.
got() {
  g_what=$1 g_wanted=$2
  shift 2
  rm -rf "$TMP/store" "$TMP/out"
  # shellcheck disable=SC2086 # words
  "$SYMFS" get --no-default-sources --cache "$TMP/store" $PATIENT --lookup-deadline 600s "$@" -o "$TMP/out" \
    "gdb/$path" >"$TMP/said" 2>&1 ||
    fail "$g_what: $(cat "$TMP/said")"
  same_file "$TMP/out" "$g_wanted"
}

for how in ranges plain; do
  eval "poor=\$URL_poor_$how good=\$URL_good_$how none=\$URL_none_$how"
  got "$how: the poor one first" "$full" --source "gdb@$poor" --source "gdb@$good"
  got "$how: the good one first" "$full" --source "gdb@$good" --source "gdb@$poor"
  got "$how: in a later tier" "$full" --config /dev/stdin <<EOF
[source "a"]
url = $poor
layout = gdb
[source "b"]
url = $good
layout = gdb
tier = 2
EOF
  got "$how: the poor one alone" "$TMP/poor.debug" --source "gdb@$poor"
  got "$how: beside one that has nothing" "$TMP/poor.debug" --source "gdb@$poor" --source "gdb@$none"
  got "$how: twice the same" "$TMP/poor.debug" --source "gdb@$poor" --source "gdb@$poor/"
  got "$how: without asking on" "$TMP/poor.debug" --ask-on no --source "gdb@$poor" --source "gdb@$good"
done
got "a directory has the poor one" "$full" --source "gdb@$TMP/poor" --source "gdb@$URL_good_ranges"
got "a directory has the good one" "$full" --source "gdb@$URL_poor_ranges" --source "gdb@$TMP/good"
got "a directory alone" "$TMP/poor.debug" --source "gdb@$TMP/poor" --source "gdb@$URL_none_ranges"

# A Breakpad file of public symbols alone; compressed, its worth shows when all of it is here.
debug=0123456789ABCDEF0123456789ABCDEF0
for kind in public func; do
  mkdir -p "$TMP/sym_$kind/prog.pdb/$debug"
  {
    echo "MODULE windows x86_64 $debug prog.pdb"
    [ $kind = public ] || printf 'FILE 0 a.c\nFUNC 1000 10 0 main\n1000 10 7 0\n'
    echo "PUBLIC 1000 0 main"
  } >"$TMP/sym_$kind/prog.pdb/$debug/prog.sym"
  upstream_start "sym_$kind" --root "$TMP/sym_$kind"
  upstream_start "gz_$kind" --gzip --root "$TMP/sym_$kind"
done
for first in "$URL_sym_public" "$URL_gz_public"; do
  rm -rf "$TMP/store"
  "$SYMFS" get --no-default-sources --cache "$TMP/store" --lookup-deadline 600s --source "breakpad@$first" \
    --source "breakpad@$URL_gz_func" -o "$TMP/out" "breakpad/prog.pdb/$debug/prog.sym" >"$TMP/said" 2>&1 ||
    fail "Breakpad: $(cat "$TMP/said")"
  same_file "$TMP/out" "$TMP/sym_func/prog.pdb/$debug/prog.sym"
done

# That no source has a better file is remembered: the second request asks no server.
got "remembered" "$TMP/poor.debug" --source "gdb@$URL_poor_ranges" --source "gdb@$URL_none_ranges"
before=$(upstream_count "$URL_none_ranges" get) before2=$(upstream_count "$URL_poor_ranges" get)
"$SYMFS" get --no-default-sources --cache "$TMP/store" --source "gdb@$URL_poor_ranges" \
  --source "gdb@$URL_none_ranges" \
  "gdb/$path" >"$TMP/said" || fail "again: $(cat "$TMP/said")"
[ "$(upstream_count "$URL_none_ranges" get)" = "$before" ] || fail "asked again for a better file"
[ "$(upstream_count "$URL_poor_ranges" get)" = "$before2" ] || fail "fetched again"
"$SYMFS" why --no-default-sources --cache "$TMP/store" --source "gdb@$URL_poor_ranges" \
  --source "gdb@$URL_none_ranges" \
  "gdb/$path" | grep -q '^        no debug information; no source has a better file' ||
  fail "why does not say what is lacking"
# With another source there may be one.
"$SYMFS" why --no-default-sources --cache "$TMP/store" --source "gdb@$URL_good_ranges" "gdb/$path" |
  grep -q 'no debug information; the next request asks' || fail "why does not say that there may be a better one"
"$SYMFS" get --no-default-sources --cache "$TMP/store" --source "gdb@$URL_poor_ranges" \
  --source "gdb@$URL_none_ranges" \
  --source "gdb@$URL_good_ranges" -o "$TMP/out" "gdb/$path" >"$TMP/said" || fail "one more source: $(cat "$TMP/said")"
same_file "$TMP/out" "$full"

# A source that does not answer holds the poor file back until the lookup deadline, not for ever. On a slow machine
# the poor file, too, can come after the deadline.
upstream_fault "$URL_good_ranges" '*' silent
upstream_reset "$URL_good_ranges"
beside_silent() {
  (got "a silent source" "$TMP/poor.debug" --lookup-deadline 3s --stall-timeout 3600s \
    --source "gdb@$URL_poor_ranges" --source "gdb@$URL_good_ranges")
}
wait_for beside_silent || fail "a silent source: $(cat "$TMP/said")"
rm -f "$TMP/failed" # of a try that was too late
[ "$(upstream_count "$URL_good_ranges" requests)" -gt 0 ] || fail "the silent source was not asked"
upstream_clear "$URL_good_ranges"

# In a mount: the better one is what a debugger opens, unless the open comes so late after the look-up that the other
# one is stored.
symfs_mount m --lookup-deadline 600s --source "gdb@$URL_poor_ranges" --source "gdb@$URL_good_ranges"
wait_for cmp "$MNT_m/gdb/$path" "$full" || fail "not the better one: $(cat "$TMP/m.log")"
symfs_umount m
symfs_mount n --lookup-deadline 600s --source "gdb@$URL_poor_ranges" --source "gdb@$URL_none_ranges"
same_file "$MNT_n/gdb/$path" "$TMP/poor.debug"
same_file "$MNT_n/gdb/$path" "$TMP/poor.debug"
symfs_umount n

# ---- once more, later -------------------------------------------------------------------------------------------
upstream_start late --root "$TMP/good"
none=$(some_build_id ask-on none)
none=$(gdb_path "${none#0x}" .debug)
upstream_fault "$URL_late" "*/$path" status 404 1
cat >"$TMP/later" <<EOF
[source "late"]
url = $URL_late
layout = gdb
miss-lifetime = 1s
ask-again = 1s
EOF
symfs_serve again --config "$TMP/later"
for key in "$path" "$none"; do
  got=$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_again/gdb/$key")
  [ "$got" = 404 ] || fail "at first: $got for $key"
done
requests() { upstream_count "$URL_late" requests "*/$none"; }
asked_again() { [ "$(requests)" = 2 ]; }
is_stored() { "$SYMFS" cache ls --cache "$TMP/store-again" | grep -q "elf_debug $id"; }
wait_for is_stored || fail "the file was not asked for again: $(cat "$TMP/again.log")"
wait_for asked_again || fail "$(requests) requests, not 2"
