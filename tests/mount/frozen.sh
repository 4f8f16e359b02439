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
both_wait() { upstream_holds "$URL_up" 2 || gone $reader || gone $asker; }

# stopped_for SECONDS DEADLINE: a daemon with these deadlines is stopped for so long. 1: $why.
stopped_for() {
  upstream_clear "$URL_up"
  symfs_mount m --cache "$TMP/store-$1" --byte-ranges always --source "gdb@$URL_up" --lookup-deadline "$2" \
    --stall-timeout "$2"
  command exec 5<"$MNT_m/gdb/$name1" || { why="it cannot be opened"; return 1; }
  upstream_hold "$URL_up" '/*' 0
  upstream_reset "$URL_up"
  "$top_builddir/tests/helpers/read-at" 1000000 5000 <&5 >"$TMP/got" 2>"$TMP/look.log" &
  reader=$!
  stat "$MNT_m/gdb/$name2" >/dev/null 2>"$TMP/stat.log" &
  asker=$!
  wait_for both_wait || fail "the server is not asked: $(cat "$TMP/look.log" "$TMP/stat.log")"
  kill -STOP "$PID_m"
  upstream_go "$URL_up"
  (WAIT_MOST=$1; wait_for false)
  kill -CONT "$PID_m"
  wait $reader
  sf_reader=$?
  wait $asker
  sf_asker=$?
  exec 5<&-
  [ "$sf_reader $sf_asker" = '0 0' ] || { why="an error: $(cat "$TMP/look.log" "$TMP/stat.log")"; return 1; }
  tail -c +1000001 "$TMP/large1" | head -c 5000 | cmp - "$TMP/got" || fail "wrong bytes"
  [ "$(upstream_count "$URL_up" get)" = "$(upstream_count "$URL_up" ranges)" ] ||
    { why="all of a file was asked for: $(fetch_url "$URL_up/_control/count")"; return 1; }
}
# On a busy machine a deadline expires before the daemon is stopped: then it is tried again, with longer ones.
for row in '5 3s' '16 12s' '60 48s'; do
  # shellcheck disable=SC2086 # words
  stopped_for $row && { symfs_umount m; exit 0; }
  say "deadlines of ${row#* }: $why"
  symfs_umount m
done
fail "$why"
