#!/bin/sh
# A process that waits for a silent upstream ends within 100 ms of a signal.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/timed/lib.sh"
need_mount
need curl

KILL_TIME=$top_builddir/tests/helpers/kill-time
[ -x "$KILL_TIME" ] || fail "$KILL_TIME is not built"
mkdir "$TMP/www"
upstream_start up --root "$TMP/www"
upstream_fault "$URL_up" '*' silent
symfs_mount m --source "gdb@$URL_up" --lookup-deadline 60s

# ends COUNT OP SIGNALS. Each has a file name of its own: a name that is being looked up makes others wait for it.
n=0
ends() {
  n=$((n + 1))
  took=$("$KILL_TIME" "$MNT_m" "$1" "$2" "$3" "$MNT_m/gdb/.build-id/aa/$(printf '%038x' $n).debug") ||
    fail "$1 x $2, SIG$3: $took"
  say "$1 x $2, SIG$3: gone after $took ms"
  [ "$took" -le "$(scaled 100)" ] || fail "$1 x $2, SIG$3: $took ms, more than $(scaled 100)"
}

for signals in INT KILL TERM HUP QUIT; do ends 1 stat $signals; done
ends 1 open KILL
ends 1 stat WINCH,KILL
ends 1 stat WINCH,INT
ends 1 stat CHLD,KILL
ends 8 stat INT
ends 8 stat KILL
ends 8 stat WINCH,KILL
symfs_umount m
