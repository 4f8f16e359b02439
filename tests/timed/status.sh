#!/bin/sh
# symfs status asks a daemon for two seconds, and symfs umount waits ten seconds for its end.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ "$(id -u)" = 0 ] && [ -z "${SYMFS_INSIDE:-}" ]; then
  apart=${top_srcdir:-$(dirname "$0")/../..}/scripts/apart
  "$apart" true 2>/dev/null && { SYMFS_INSIDE=1 exec "$apart" sh "$0"; }
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/timed/lib.sh"
need_mount

mkdir "$TMP/src"
through_pipe() { "$SYMFS" status "$1" 2>/dev/null | cat >"$TMP/out"; }

# ---- a stopped daemon ----------------------------------------------------------------------------
symfs_mount one --source "$TMP/src"
kill -STOP "$PID_one"
within 3000 "$SYMFS" status "$MNT_one" 2>"$TMP/err"
[ "$status" = 4 ] || fail "status: exit $status: $(cat "$TMP/err")"
say "status of a stopped daemon: $took ms"
within 3000 through_pipe "$MNT_one"
say "its reader: $took ms"
within 10000 "$SYMFS" umount "$MNT_one" 2>"$TMP/err"
[ "$status" = 0 ] || fail "umount: exit $status: $(cat "$TMP/err")"
say "umount of a stopped daemon: $took ms"
kill -CONT "$PID_one"
wait_gone "$PID_one" || fail "the daemon stays"

# ---- a daemon that has read the question and hangs -----------------------------------------------
mkdir "$TMP/deaf"
touch "$TMP/flag"
MOUNTS="$MOUNTS $TMP/deaf"
"$top_builddir/tests/helpers/hang" "$TMP/deaf" "$TMP/flag" symfs >"$TMP/hang.log" 2>&1 &
PIDS="$PIDS $!"
wait_for is_mounted "$TMP/deaf" || fail "no mount that hangs: $(cat "$TMP/hang.log")"
within 3000 through_pipe "$TMP/deaf"
say "status of a daemon that hangs: $took ms"
within 10000 "$SYMFS" umount "$TMP/deaf" 2>"$TMP/err"
[ "$status" = 0 ] || fail "umount: exit $status: $(cat "$TMP/err")"
say "its umount: $took ms"
rm "$TMP/flag"

# ---- a copy of the mount keeps the daemon --------------------------------------------------------
[ -n "${SYMFS_INSIDE:-}" ] || { say "a copy of a mount: only as root"; exit 0; }
symfs_mount held --source "$TMP/src"
unshare -m --propagation private sleep 3600 &
holder=$!
PIDS="$PIDS $holder"
copied() { [ "$(readlink "/proc/$holder/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; }
wait_for copied || fail "unshare"
within 11000 "$SYMFS" umount "$MNT_held" 2>"$TMP/err"
[ "$status" = 4 ] && [ "$took" -ge 8000 ] || fail "umount: exit $status after $took ms: $(cat "$TMP/err")"
say "umount gave up after $took ms"
kill $holder
wait_gone "$PID_held" || fail "the daemon outlives the last copy"
