#!/bin/sh
# The daemon is stopped (Ctrl-Z, a frozen container) while it waits for a server, for longer than
# any of its deadlines, and then continues. It uses answers that arrived meanwhile, and counts no
# server as silent.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount

make_two_large
upstream_start up --root "$TMP/up"
symfs_mount m --byte-ranges always --source "gdb@$URL_up" --lookup-deadline 8s --stall-timeout 8s

exec 5<"$MNT_m/gdb/$name1" || fail "it cannot be opened"
upstream_fault "$URL_up" '/*' slow 1500
upstream_reset "$URL_up"
("$top_builddir/tests/helpers/read-at" 1000000 5000 <&5 >"$TMP/got" 2>"$TMP/look.log") &
reader=$!
stat "$MNT_m/gdb/$name2" >/dev/null 2>"$TMP/stat.log" &
asker=$!
both() { [ "$(upstream_count "$URL_up" requests)" -ge 2 ]; }
wait_for both || fail "the server is not asked: $(cat "$TMP/look.log" "$TMP/stat.log")"
kill -STOP "$PID_m"
(WAIT_MOST=10; wait_for false) # longer than the deadlines
kill -CONT "$PID_m"
wait $reader || fail "the reader: $(cat "$TMP/look.log")"
tail -c +1000001 "$TMP/large1" | head -c 5000 | cmp - "$TMP/got" || fail "wrong bytes"
wait $asker || fail "the process that asked: $(cat "$TMP/stat.log")"
[ "$(upstream_count "$URL_up" get)" = "$(upstream_count "$URL_up" ranges)" ] ||
  fail "all of a file was asked for: $(fetch_url "$URL_up/_control/count")"
exec 5<&-
symfs_umount m
exit 0
