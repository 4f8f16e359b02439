#!/bin/sh
# What processes of symfs give up: the memory of those that hold tokens and keys cannot be read by other
# processes of the same user.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need setpriv
[ "$(id -u)" = 0 ] || skip "not root"

# ---- memory -------------------------------------------------------------------------------------
# Root could read any memory, so this is about another user's processes.
chmod 755 "$TMP"
cp "$SYMFS" "$TMP/symfs" && chmod 755 "$TMP/symfs"
mkdir -m 777 "$TMP/user"
as_user() { HOME=$TMP/user setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
printf 'hunter2hunter2\n' >"$TMP/user/token"
chmod 600 "$TMP/user/token" && chown 65534 "$TMP/user/token"
HOME=$TMP/user setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/symfs" serve --no-default-sources \
  --listen 127.0.0.1:0 --token-file "$TMP/user/token" --cache "$TMP/user/store" >"$TMP/serve.out" 2>"$TMP/serve.log" &
server=$!
PIDS="$PIDS $server"
wait_for 60 grep -q 'listening on' "$TMP/serve.out" || fail "the server does not start"
for what in environ maps mem exe fd; do
  as_user sh -c "ls -l /proc/$server/$what/. || exec 3</proc/$server/$what" >/dev/null 2>&1 &&
    fail "another process of the user can look at /proc/PID/$what of the server"
done
setpriv --reuid=65534 --regid=65534 --clear-groups sleep 60 &
other=$!
PIDS="$PIDS $other"
wait_for 10 as_user cat "/proc/$other/environ" || fail "the check itself: it sees nothing of any process"
kill "$other"
kill "$server"
wait_gone "$server" 20 || fail "the server does not end"
wait "$server" || fail "the server ended with $?"
