#!/bin/sh
# A file that is being read in parts leaves the store: `symfs cache rm` removes it, or the whole
# file arrives (by `symfs add`, or from a process that did not wait for a stopped one). A reader
# with an open file can read all of it, with the right bytes, and the store stays consistent.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount

head -c 3000000 /dev/urandom >"$TMP/noise"
make_program "$TMP/far" prog
objcopy --add-section .noise="$TMP/noise" "$TMP/far/full/prog" "$TMP/large" || fail objcopy
put_gdb "$TMP/up" "$TMP/large"
name=$(gdb_path "$(build_id "$TMP/large")")
upstream_start up --root "$TMP/up"

look() {
  timeout -s KILL 600 "$top_builddir/tests/helpers/read-at" "$1" 5000 <&5 >"$TMP/got" 2>"$TMP/look.log" ||
    fail "$row: at $1: $(cat "$TMP/look.log")"
  tail -c "+$(($1 + 1))" "$TMP/large" | head -c 5000 | cmp - "$TMP/got" || fail "$row: wrong bytes at $1"
}
symfs_in() { "$SYMFS" "$@" --cache "$TMP/store-$row" "$what" >"$TMP/taken.log" 2>&1 ||
  fail "$row: $* $(cat "$TMP/taken.log")"; }

for row in rm add rm_late add_late; do
  symfs_mount "$row" --byte-ranges always --source "gdb@$URL_up"
  eval "mnt=\$MNT_$row"
  exec 5<"$mnt/gdb/$name" || fail "$row: it cannot be opened"
  look 1000000
  # Late: the writer has already recorded its blocks, and notices the removal when it records more.
  case $row in
  *_late)
    more=1100000 looks=0
    committed() {
      looks=$((looks + 1)) # each is a request; too many, and all of the file is wanted
      [ $((looks % 20)) = 0 ] && more=$((more + 70000)) && look "$more"
      [ "$("$SYMFS" cache stats --json --cache "$TMP/store-$row" | tr -d ' \n' |
        sed -n 's/.*"sparse_bytes":\([0-9]*\).*/\1/p')" -gt 0 ]
    }
    wait_for committed || fail "$row: nothing is kept: $("$SYMFS" cache stats --json --cache "$TMP/store-$row")"
    ;;
  esac
  case $row in
  rm*) what=gdb/$name && symfs_in cache rm ;;
  add*) what=$TMP/large && symfs_in add ;;
  esac
  # Each is a request, and the first ones after a second are written down.
  for at in 300000 500000 700000 900000; do
    look "$at"
    nap
  done
  exec 6<"$mnt/gdb/$name" || fail "$row: it cannot be opened again"
  timeout 600 cmp "$TMP/large" - <&6 || fail "$row: the whole"
  exec 6<&-
  for at in 2000000 2950000; do look "$at"; done
  timeout 600 cmp "$TMP/large" - <&5 || fail "$row: the whole, for the reader that had it open"
  exec 5<&-
  symfs_umount "$row"
  "$SYMFS" cache verify --cache "$TMP/store-$row" >"$TMP/verify.log" 2>&1 ||
    fail "$row: the store: $(cat "$TMP/verify.log")"
  grep -q 'cannot be written' "$TMP/$row.log" && fail "$row: $(cat "$TMP/$row.log")"
done
exit 0
