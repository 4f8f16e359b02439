#!/bin/sh
# A partly fetched file that is not open: its blocks are freed at once when another file needs room,
# and `symfs cache gc` of another process frees them. An open file stays.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount
[ "$(id -u)" = 0 ] || skip "not root: no small disk"
mkdir "$TMP/disk"
mount -t tmpfs -o size=7m none "$TMP/disk" 2>/dev/null || skip "no tmpfs"
MOUNTS="$TMP/disk"

# 1 and 2 are so large that a few megabytes of them are not most of them; 3 is read whole.
for n in 1 2 3; do
  make_program "$TMP/far" "p$n"
  head -c $((n < 3 ? 16000000 : 5000000)) /dev/urandom >"$TMP/noise"
  objcopy --add-section .noise="$TMP/noise" "$TMP/far/full/p$n" "$TMP/large$n" || fail objcopy
  put_gdb "$TMP/up" "$TMP/large$n"
  eval "name$n=gdb/\$(gdb_path \"\$(build_id \"\$TMP/large$n\")\")"
done
upstream_start up --root "$TMP/up"
store=$TMP/disk/store
MOUNTS="$TMP/m $MOUNTS"
symfs_mount m --cache "$store" --min-free none --byte-ranges always --source "gdb@$URL_up"
counted() { "$SYMFS" cache stats --cache "$store" | sed -n "s/^$1 //p"; }
used_kb() { df -k --output=used "$TMP/disk" | tail -n 1; }
# look N OFFSET COUNT: of the file that is open as 5.
look() {
  "$top_builddir/tests/helpers/read-at" "$2" "$3" <&5 >"$TMP/got" 2>"$TMP/look.log" ||
    fail "$1 at $2: $(cat "$TMP/look.log")"
  tail -c "+$(($2 + 1))" "$TMP/large$1" | head -c "$3" | cmp - "$TMP/got" || fail "$1: wrong bytes at $2"
}
# part_of N: opens it as 5, and reads some of it that takes three megabytes of the disk.
part_of() {
  exec 5<"$MNT_m/$(eval "echo \"\$name$1\"")"
  for at in 2 6 10 14; do look "$1" $((at * 1000000)) 300000; done
  wait_for takes_room || fail "$kb kB of $(counted sparse) files that are not whole"
}
# The rest of a range may still be on its way when the bytes that were read have come.
takes_room() {
  kb=$(du -sk "$store/sparse" | cut -f1)
  [ "$kb" -ge 2800 ] && [ "$(counted sparse)" = 1 ]
}
third() { cmp -s "$TMP/large3" "$MNT_m/$name3"; }
# The kernel reports a close to the daemon in its own time.
is_closed() { ! find "/proc/$PID_m/fd" -lname '*/sparse/*' 2>/dev/null | grep -q .; }

# ---- as soon as it was closed ---------------------------------------------------------------------------
part_of 1
exec 5<&-
wait_for is_closed || fail "the file is not closed: $(ls -l "/proc/$PID_m/fd")"
# shellcheck disable=SC2154 # by eval
third || fail "a file that no process has open keeps its blocks: $(cat "$MNT_m/$name3" 2>&1 >/dev/null)"
[ "$(counted sparse)" = 0 ] || fail "it has a row still"
"$SYMFS" cache rm --cache "$store" "$name3" || fail "cache rm"

# ---- found open before: it stays, and goes once it is closed ---------------------------------------------
part_of 2
cat "$MNT_m/$name3" >"$TMP/got" 2>"$TMP/err" && fail "8 MB on a disk of 7"
look 2 2000000 300000
look 2 14000000 300000
exec 5<&-
wait_for is_closed || fail "the file is not closed: $(ls -l "/proc/$PID_m/fd")"
third || fail "a file that was found open keeps its blocks after the close: $(cat "$MNT_m/$name3" 2>&1 >/dev/null)"
"$SYMFS" cache rm --cache "$store" "$name3" || fail "cache rm"

# ---- cache gc, of another process ------------------------------------------------------------------------
part_of 1
gc() { "$SYMFS" cache gc --cache "$store" --quota 1000000 >"$TMP/gc.out" 2>&1 ||
  fail "cache gc: $(cat "$TMP/gc.out")"; }
gc
look 1 10000000 300000
exec 5<&-
freed() { gc && [ "$(du -sk "$store/sparse" | cut -f1)" = 0 ]; }
wait_for freed || fail "cache gc frees nothing: $(cat "$TMP/gc.out")"
look_again() { exec 5<"$MNT_m/$name1" && look 1 10000000 300000 && exec 5<&-; }
look_again
symfs_umount m
"$SYMFS" cache verify --cache "$store" >"$TMP/out" 2>&1 || fail "cache verify: $(cat "$TMP/out")"

# ---- what does not fit --------------------------------------------------------------------------------------
"$SYMFS" add --cache "$store" --min-free none "$TMP/large1" >"$TMP/out" 2>"$TMP/err"
[ $? = 4 ] && grep -q "^symfs add: large1: cannot be stored in $store: No space left on device\$" "$TMP/err" ||
  fail "16 MB are added to a disk of 7: $(cat "$TMP/out" "$TMP/err")"
