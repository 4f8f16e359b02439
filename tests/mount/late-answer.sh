#!/bin/sh
# A source that answers ranges, but only after the lookup deadline. The reader gets a timeout. The
# late answer is downloaded to its end for the next request, and the sparse file does not stay open
# for ever.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount

make_two_large
upstream_start up --root "$TMP/up"
symfs_mount m --source "gdb@$URL_up" --lookup-deadline 1s --stall-timeout 600s --breaker-seconds 1s

# The upstream is stopped until the deadline has passed.
late() {
  stat "$MNT_m/gdb/$1" >/dev/null 2>"$TMP/late.log" && return 1
  grep -q 'timed out' "$TMP/late.log"
}
stored() { "$SYMFS" get --offline --no-default-sources --cache "$TMP/store-m" "gdb/$1" >"$TMP/where" \
  2>/dev/null; }
closed() { ! find "/proc/$PID_m/fd" -lname '*/sparse/*' 2>/dev/null | grep -q .; }

# No reader comes.
kill -STOP "$PID_up"
late "$name1" || fail "the first is not late: $(cat "$TMP/late.log")"
kill -CONT "$PID_up"
wait_for stored "$name1" || fail "what came late is not here: $(upstream_count "$URL_up" bytes) bytes came"
same_file "$(cat "$TMP/where")" "$TMP/large1"

# A reader comes, reads a little of it, and goes.
kill -STOP "$PID_up"
wait_for late "$name2" || fail "the second is not late: $(cat "$TMP/late.log")"
kill -CONT "$PID_up"
first() { head -c 1 "$MNT_m/gdb/$name2"; }
wait_for first || fail "it does not come"
wait_for stored "$name2" || fail "what was read a little of is not here: $(upstream_count "$URL_up" bytes) bytes came"
same_file "$(cat "$TMP/where")" "$TMP/large2"
wait_for closed || fail "files with holes are open: $(ls -l "/proc/$PID_m/fd")"
symfs_umount m
exit 0
