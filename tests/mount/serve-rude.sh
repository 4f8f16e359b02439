#!/bin/sh
# Clients that misbehave: slow ones, silent ones, half-open ones, large heads, pipelines, and a
# thousand connections without a request. Other clients are served all the time, and no descriptor
# is left over.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl
RUDE=$top_builddir/tests/helpers/rude-client

mkdir -p "$TMP/up/a.so/111111111111111111111111111111110"
SYM=a.so/111111111111111111111111111111110/a.so.sym
{ echo 'MODULE Linux x86_64 111111111111111111111111111111110 a.so'; seq -f 'PUBLIC %g 0 f' 10 400; } >"$TMP/up/$SYM"
symfs_serve one --source "breakpad@$TMP/up"
symfs_serve strict --source "breakpad@$TMP/up" --idle-seconds 2 --connections 64
PORT=${URL_one##*:} STRICT=${URL_strict##*:}
healthy() { [ "$(fetch_url "$1/healthz")" = ok ]; }
fds() { ls "/proc/$1/fd" | wc -l; }
back_to() { [ "$(fds "$1")" -le "$2" ]; }
healthy "$URL_one" && healthy "$URL_strict" || fail "no answer"
fetch_url "$URL_one/$SYM" >"$TMP/body"
same_file "$TMP/body" "$TMP/up/$SYM"
before=$(fds "$PID_one")

# ---- a minute for a head, here two seconds ------------------------------------------------
for how in slow silent half; do
  said=$("$RUDE" "$STRICT" $how)
  [ "$said" = closed ] || fail "$how: $said"
done
# Nor a body: it has the time of a head, and more as it comes.
for line in 'POST /symbolicate/v5' 'GET /healthz'; do
  said=$("$RUDE" "$STRICT" drip "$line")
  [ "$said" = closed ] || fail "drip $line: $said"
done
said=$("$RUDE" "$STRICT" endless)
[ "$said" = closed ] || fail "endless: $said"
[ "$(fetch_url "$URL_strict/metrics" | sed -n 's/^symfs_http_closed //p')" -ge 1 ] || fail "http_closed"

# ---- bodies that others would find another end of ----------------------------------------
status() { fetch_url -o "$TMP/said" -w '%{http_code}' -d '{"stacks": [[]], "memoryMap": []}' "$@" \
  "$URL_one/symbolicate/v5"; }
[ "$(status)" = 200 ] || fail "a body: $(cat "$TMP/said")"
[ "$(status -H 'Transfer-Encoding: chunked')" = 200 ] || fail "a body in chunks: $(cat "$TMP/said")"
[ "$(status -H 'Transfer-Encoding: gzip')" = 400 ] || fail "another coding: $(cat "$TMP/said")"
[ "$(status -H 'Transfer-Encoding: chunked' -H 'Content-Length: 3')" = 400 ] ||
  fail "chunks and a length: $(cat "$TMP/said")"
[ "$(status -H 'Content-Length: 33' -H 'Content-Length: 3')" = 400 ] || fail "two lengths: $(cat "$TMP/said")"

# ---- memory of bodies: the server counts those that it holds, and forgets those that it answered ----
head -c 16000000 /dev/zero | tr '\0' ' ' >"$TMP/blank"
for n in $(seq 18); do
  [ "$(status -d "@$TMP/blank" -H Expect:)" = 400 ] || fail "body $n of 16 MB: $(cat "$TMP/said")"
done

# ---- a body on a slow line: it takes longer than a connection may be idle, and comes steadily ----
steady() { # IDLE-SECONDS
  {
    printf '{"stacks": [[]], "memoryMap": []}'
    head -c $((50000 * $1)) "$TMP/blank"
  } >"$TMP/steady"
  symfs_serve slow --source "breakpad@$TMP/up" --idle-seconds "$1"
  st_got=$(fetch_url -o "$TMP/said" -w '%{http_code}' --limit-rate 20000 --data-binary "@$TMP/steady" -H Expect: \
    "$URL_slow/symbolicate/v5")
  symfs_unserve slow
  [ "$st_got" = 200 ] || { say "a steady body, $1 s: $st_got $(cat "$TMP/said")"; false; }
}
# A busy machine may stop the client for longer than the shortest of these times.
steady 2 || steady 8 || steady 32 || fail "a slow and steady body: $st_got $(cat "$TMP/said")"

# ---- a body that is too large, from a client that sends all of it before it reads ----------
for n in 17000000 30000000; do
  said=$("$RUDE" "$PORT" upload $n)
  case $said in "HTTP/1.1 413 "*) ;; *) fail "a body of $n bytes: $said" ;; esac
done

# ---- heads and pipelines -----------------------------------------------------------------
case $("$RUDE" "$PORT" head 8000) in "HTTP/1.1 200"*) ;; *) fail "a head of 8 KB" ;; esac
for n in 40000 1000000; do
  said=$("$RUDE" "$PORT" head $n)
  case $said in "HTTP/1.1 431 "*) ;; *) fail "a head of $n bytes: $said" ;; esac
done
for n in 5000 30000 40000 120000; do
  long=$(printf '%0*d' "$n" 0)
  [ "$(fetch_url -o /dev/null -w '%{http_code}' "$URL_one/$long")" = 414 ] || fail "a target of $n bytes"
done
for path in /healthz "/$SYM"; do
  said=$("$RUDE" "$PORT" pipeline 100 "$path")
  [ "$said" = 100 ] || fail "of 100 requests for $path in one go $said were answered"
done
# A head is no more than that, also of what has no length yet.
for path in "/$SYM" "/gsym/breakpad/$SYM.gsym" /healthz; do
  said=$("$RUDE" "$PORT" bare "$path")
  [ "$said" = 0 ] || fail "HEAD of $path: $said bytes behind the head"
done

# ---- connections -------------------------------------------------------------------------
mkfifo "$TMP/hold" "$TMP/hold2"
"$RUDE" "$PORT" idle 1000 <"$TMP/hold" >"$TMP/idle.out" &
PIDS="$PIDS $!"
exec 8>"$TMP/hold"
wait_for grep -q open "$TMP/idle.out" || fail "1,000 connections"
for _ in 1 2 3; do healthy "$URL_one" || fail "1,000 idle connections keep others out"; done
fetch_url "$URL_one/$SYM" >"$TMP/body"
same_file "$TMP/body" "$TMP/up/$SYM"
"$RUDE" "$STRICT" idle 200 <"$TMP/hold2" >"$TMP/idle2.out" &
PIDS="$PIDS $!"
exec 9>"$TMP/hold2"
wait_for grep -q open "$TMP/idle2.out" || fail "200 connections"
wait_for healthy "$URL_strict" || fail "200 idle connections keep others out, where 64 are allowed"
# The same where idle connections may stay for a minute: the oldest of them is closed for a new one.
symfs_serve full --source "breakpad@$TMP/up" --connections 64
mkfifo "$TMP/hold3"
"$RUDE" "${URL_full##*:}" idle 200 <"$TMP/hold3" >"$TMP/idle3.out" &
PIDS="$PIDS $!"
exec 7>"$TMP/hold3"
wait_for grep -q open "$TMP/idle3.out" || fail "200 connections to a server with 64"
wait_for healthy "$URL_full" || fail "idle connections keep others out until they have been idle for a minute"
exec 7>&-
symfs_unserve full
exec 8>&- 9>&-
wait_for back_to "$PID_one" "$((before + 2))" || fail "descriptors: $before before, $(fds "$PID_one") after"
symfs_unserve one
symfs_unserve strict
exit 0
