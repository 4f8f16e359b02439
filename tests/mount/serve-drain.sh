#!/bin/sh
# How symfs serve ends: /ready says no, new requests are still answered for a time, then new connections are
# refused, and running downloads reach their clients whole, up to a bound. A second signal ends the server at
# once. /ready also says no while the store cannot be used.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc objcopy python3
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

# Files that are sent while they come: their first bytes show what they are.
head -c 3000000 /dev/urandom >"$TMP/noise"
for i in 1 2 3 4 5 6; do
  make_program "$TMP/made$i" prog
  objcopy --add-section .noise="$TMP/noise" "$TMP/made$i/debug/prog.debug" "$TMP/large$i" || fail objcopy
  put_gdb "$TMP/up" "$TMP/large$i" .debug
  eval "sym_$i=\$(gdb_path \"\$(build_id \"\$TMP/large$i\")\" .debug)"
done
upstream_start slow --root "$TMP/up" # its answers stop in the middle until upstream_go
upstream_start quick --root "$TMP/up"
# The time that no case waits for, in seconds: WAIT_MOST would end first.
HOUR=3600

status() { fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" 2>"$TMP/curl.out"; }
is_ready() { [ "$(status "$1/ready")" = 200 ]; }
not_ready() { [ "$(status "$1/ready")" = 503 ]; }
# A client of a download; it is under way when the function returns.
download() { # URL SYM OUT
  rm -f "$3"
  fetch_url -o "$3" "$1/gdb/$2" 2>"$3.err" &
  client=$!
  PIDS="$PIDS $client"
  wait_for test -s "$3" || fail "nothing comes: $(cat "$3.err")"
}

# ---- the gentle end -----------------------------------------------------------------------------
upstream_hold "$URL_slow" "/$sym_1" 1500000
symfs_serve grace --source "gdb@$URL_quick" --drain-grace $HOUR
is_ready "$URL_grace" || fail "/ready: $(cat "$TMP/body")"
grep -qx ready "$TMP/body" || fail "/ready: $(cat "$TMP/body")"
[ "$(status -I "$URL_grace/ready")" = 200 ] || fail "HEAD /ready"
[ "$(status -d x "$URL_grace/ready")" = 405 ] || fail "POST /ready"
kill "$PID_grace"
wait_for not_ready "$URL_grace" || fail "/ready while the server ends: $(cat "$TMP/body")"
tr -d '\r' <"$TMP/head" | grep -qix 'Connection: close' || fail "a connection stays open: $(cat "$TMP/head")"
[ "$(status "$URL_grace/healthz")" = 200 ] || fail "/healthz while the server ends"
kill "$PID_grace"
wait_gone "$PID_grace" || fail "a second signal does not end the time of grace"
wait "$PID_grace" || fail "the server ended with $?"

symfs_serve one --source "gdb@$URL_slow" --drain-grace 1 --drain-seconds $HOUR
download "$URL_one" "$sym_1" "$TMP/out1"
kill "$PID_one"
refuses() { ! fetch_url -o "$TMP/body" "$1/healthz" 2>"$TMP/curl.out"; }
wait_for refuses "$URL_one" || fail "the server accepts connections to the end"
# A client that was still in the queue of the socket when it closed gets an empty reply.
grep -qE 'onnect|Empty reply' "$TMP/curl.out" || fail "a client is not refused: $(cat "$TMP/curl.out")"
gone "$PID_one" && fail "the server did not wait for its download"
upstream_go "$URL_slow"
wait $client || fail "the download was cut: $(cat "$TMP/out1.err")"
same_file "$TMP/out1" "$TMP/up/$sym_1"
wait_gone "$PID_one" || fail "the server does not end"
wait "$PID_one" || fail "the server ended with $?"

# ---- an end without requests, and with idle connections, waits for nothing -------------------------
symfs_serve two --source "gdb@$URL_quick" --drain-seconds $HOUR
port=${URL_two##*:}
command -v bash >/dev/null && { # a connection without a request
  bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; cat <&3" >"$TMP/idle.out" 2>&1 &
  PIDS="$PIDS $!"
  one_more() { [ "$(fetch_url "$URL_two/metrics" | sed -n 's/^symfs_http_open //p')" -ge 2 ]; }
  wait_for one_more || fail "no idle connection"
}
symfs_unserve two

# ---- the bound, and a second signal -----------------------------------------------------------------
upstream_fault "$URL_slow" "/$sym_2" silent-after 1000000
upstream_fault "$URL_slow" "/$sym_3" silent-after 1000000
for row in "2 1 once" "3 $HOUR twice"; do
  # shellcheck disable=SC2086 # words
  set -- $row
  symfs_serve three --source "gdb@$URL_slow" --stall-timeout ${HOUR}s --drain-seconds "$2"
  eval "sym=\$sym_$1"
  download "$URL_three" "$sym" "$TMP/out$1"
  kill "$PID_three"
  if [ "$3" = twice ]; then
    wait_for refuses "$URL_three" || fail "the server accepts connections"
    gone "$PID_three" && fail "the server did not wait for its download"
    kill "$PID_three"
  fi
  wait_gone "$PID_three" || fail "$3: the server does not end"
  wait "$PID_three" || fail "$3: the server ended with $?"
  wait $client && fail "$3: an incomplete file counts as whole"
done
"$SYMFS" serve --no-default-sources --cache "$TMP/c" --listen 127.0.0.1:0 --drain-seconds soon >"$TMP/out" 2>&1
[ $? = 2 ] || fail "--drain-seconds soon"

# ---- Unix sockets -------------------------------------------------------------------------------------
upstream_hold "$URL_slow" "/$sym_4" 1500000
symfs_serve four --listen "unix:$TMP/sock" --source "gdb@$URL_slow" --drain-seconds $HOUR
rm -f "$TMP/out4"
fetch_url --unix-socket "$TMP/sock" -o "$TMP/out4" "http://x/gdb/$sym_4" &
client=$!
PIDS="$PIDS $client"
wait_for test -s "$TMP/out4" || fail "nothing comes"
kill "$PID_four"
unix_refuses() { ! fetch_url --unix-socket "$TMP/sock" -o "$TMP/body" http://x/healthz; }
wait_for unix_refuses || fail "the Unix socket accepts connections to the end"
upstream_go "$URL_slow"
wait $client || fail "the download by the Unix socket was cut"
same_file "$TMP/out4" "$TMP/up/$sym_4"
wait_gone "$PID_four" || fail "the server of the Unix socket does not end"

# ---- a store that cannot be used ------------------------------------------------------------------------
symfs_serve five --source "gdb@$URL_quick"
[ "$(status "$URL_five/gdb/$sym_5")" = 200 ] || fail "a file: $(cat "$TMP/body")"
: >"$TMP/aside"
exchange "$TMP/aside" "$TMP/store-five"
wait_for not_ready "$URL_five" || fail "/ready without a store: $(cat "$TMP/body")"
grep -q '^the store cannot be used: ' "$TMP/body" || fail "/ready without a store: $(cat "$TMP/body")"
[ "$(status "$URL_five/healthz")" = 200 ] || fail "/healthz without a store"
exchange "$TMP/aside" "$TMP/store-five"
wait_for is_ready "$URL_five" || fail "/ready with the store again: $(cat "$TMP/body")"
[ "$(status "$URL_five/gdb/$sym_6")" = 200 ] || fail "a file after that: $(cat "$TMP/body")"
symfs_unserve five
exit 0
