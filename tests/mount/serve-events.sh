#!/bin/sh
# The events of symfs serve: a client that listens hears at once of a key that gets a file, of no other key, and of a
# file that is there already. The number of listeners is bounded, those that leave are forgotten, tokens count, and
# listeners do not delay the end of the server.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl python3
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

for i in 1 2 3; do
  id=$(printf '%032X0' $i)
  mkdir -p "$TMP/up/a$i.so/$id"
  { echo "MODULE Linux x86_64 $id a$i.so"; printf 'FUNC 1 2 0 g\n1 2 3 0\n'; } >"$TMP/up/a$i.so/$id/a$i.so.sym"
  eval "sym_$i=a$i.so/$id/a$i.so.sym"
done
upstream_start up --root "$TMP/up"
# The end of a server that waited for its listeners would take longer than WAIT_MOST.
WAITS='--drain-seconds 3600'
# shellcheck disable=SC2086
symfs_serve one $WAITS --source "breakpad@$URL_up"
metric() { fetch_url "$1/metrics" | sed -n "s/^symfs_$2 //p"; }
status() { fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" \
  2>"$TMP/curl.out"; }
# listen NAME URL [CURL-ARGS...]: a client whose events are in $TMP/NAME; its number is in $listener.
listen() {
  li_name=$1
  shift
  : >"$TMP/$li_name"
  curl -gsSN --noproxy '*' -o "$TMP/$li_name" "$@" 2>"$TMP/$li_name.err" &
  listener=$!
  PIDS="$PIDS $listener"
  wait_for grep -q '^retry: ' "$TMP/$li_name" ||
    fail "$li_name does not listen: $(cat "$TMP/$li_name.err" "$TMP/$li_name")"
}

# ---- who hears what ---------------------------------------------------------------------------
listen first "$URL_one/events/$sym_1"
first=$listener
listen second "$URL_one/events/native/$sym_2"
listen all "$URL_one/events"
grep -q '^event' "$TMP/first" "$TMP/second" "$TMP/all" && fail "events of an empty store: $(cat "$TMP/first")"
fetch_url -o "$TMP/body" "$URL_one/breakpad/$sym_1"
wait_for grep -q '^event: arrived$' "$TMP/first" || fail "no event: $(cat "$TMP/first")"
wait_for grep -q '^event: arrived$' "$TMP/all" || fail "no event for all: $(cat "$TMP/all")"
sha=$(sha256sum <"$TMP/up/$sym_1" | cut -d' ' -f1) size=$(stat -c %s "$TMP/up/$sym_1")
data=$(sed -n 's/^data: //p' "$TMP/first")
case $data in
*'"key":"breakpad 000000000000000000000000000000010'*'"type":"breakpad","size":'"$size"',"sha256":"'"$sha"'"'*) ;;
*) fail "the data of the event: $data" ;;
esac
fetch_url -o "$TMP/body" "$URL_one/$sym_2"
wait_for grep -q '^event: arrived$' "$TMP/second" || fail "no event for the second"
[ "$(grep -c '^event: arrived$' "$TMP/first")" = 1 ] || fail "events of other keys: $(cat "$TMP/first")"
wait_for sh -c "[ \$(grep -c '^event: arrived\$' '$TMP/all') = 2 ]" || fail "all events: $(cat "$TMP/all")"
listen late "$URL_one/events/$sym_1"
wait_for grep -q '^event: stored$' "$TMP/late" || fail "a file that is there: $(cat "$TMP/late")"

# ---- requests that are not streams ----------------------------------------------------------------
[ "$(metric "$URL_one" http_listeners)" = 4 ] || fail "$(metric "$URL_one" http_listeners) listeners"
[ "$(metric "$URL_one" http_waiting)" = 0 ] || fail "listeners wait for a source"
[ "$(status -I "$URL_one/events")" = 200 ] && tr -d '\r' <"$TMP/head" |
  grep -cixE 'content-type: text/event-stream; charset=utf-8|x-accel-buffering: no' | grep -qx 2 ||
  fail "HEAD: $(cat "$TMP/head")"
[ "$(status -d x "$URL_one/events")" = 405 ] || fail "POST"
[ "$(status "$URL_one/events/nothing")" = 404 ] || fail "a path without a meaning"
[ "$(status "$URL_one/events/gdb")" = 404 ] || fail "a directory"
[ "$(status -H 'Host: evil.example' "$URL_one/events")" = 421 ] || fail "another host"

# ---- those who leave ------------------------------------------------------------------------------
kill $first
left() { [ "$(metric "$URL_one" http_listeners)" = "$1" ]; }
wait_for left 3 || fail "a listener that left: $(metric "$URL_one" http_listeners)"

# ---- silence: something comes all the same ----------------------------------------------------------
wait_for grep -qx ':' "$TMP/late" || fail "a silent stream: $(cat "$TMP/late")"

# ---- the bound ----------------------------------------------------------------------------------------
# shellcheck disable=SC2086
symfs_serve few $WAITS --connections 32 --source "breakpad@$URL_up"
for n in 1 2 3 4 5 6 7 8; do listen "few$n" "$URL_few/events/$sym_3"; done
[ "$(status "$URL_few/events/$sym_3")" = 503 ] || fail "the ninth listener of 32 connections"
kill "$listener"
few_left() { [ "$(metric "$URL_few" http_listeners)" = 7 ]; }
wait_for few_left || fail "the eighth listener does not leave"
listen few9 "$URL_few/events/$sym_3"
fetch_url -o "$TMP/body" "$URL_few/$sym_3"
for n in 1 2 3 4 5 6 7 9; do
  wait_for grep -q '^event: arrived$' "$TMP/few$n" || fail "listener $n hears nothing"
done

# ---- tokens ---------------------------------------------------------------------------------------------
echo 0123456789abcdef0123456789abcdef >"$TMP/token"
chmod 600 "$TMP/token"
# shellcheck disable=SC2086
symfs_serve guarded $WAITS --token-file "$TMP/token" --source "breakpad@$URL_up"
for path in events "events/$sym_1"; do [ "$(status "$URL_guarded/$path")" = 401 ] ||
  fail "$path without a token"; done
listen guarded-ear "$URL_guarded/events" -H "Authorization: Bearer $(cat "$TMP/token")"
fetch_url -o "$TMP/body" -H "Authorization: Bearer $(cat "$TMP/token")" "$URL_guarded/$sym_1"
wait_for grep -q '^event: arrived$' "$TMP/guarded-ear" || fail "no event with a token"

token() { "$SYMFS" token "$@" --file "$TMP/tokens" 2>"$TMP/token.err"; }
READER=$(token add reader) && UPREAD=$(token add upread) && UPLOADER=$(token add uploader --rights upload) &&
  OTHER=$(token add other --rights read,upload --namespace team) || fail "token add: $(cat "$TMP/token.err")"
# shellcheck disable=SC2086
symfs_serve spaces $WAITS --upload --token-file "$TMP/tokens"
for path in events "events/$sym_1"; do
  [ "$(status -H "Authorization: Bearer $UPLOADER" "$URL_spaces/$path")" = 403 ] ||
    fail "$path without the right to read"
done
listen public-ear "$URL_spaces/events" -H "Authorization: Bearer $READER"
listen other-ear "$URL_spaces/events" -H "Authorization: Bearer $OTHER"
[ "$(status -T "$TMP/up/$sym_1" -H "Authorization: Bearer $OTHER" "$URL_spaces/breakpad/$sym_1")" = 201 ] ||
  fail "an upload: $(cat "$TMP/body")"
wait_for grep -q '^event: arrived$' "$TMP/other-ear" || fail "no event in the namespace of the upload"
listen public-path "$URL_spaces/events/$sym_1" -H "Authorization: Bearer $READER"
[ "$(status -T "$TMP/up/$sym_2" -H "Authorization: Bearer $UPLOADER" "$URL_spaces/breakpad/$sym_2")" = 201 ] ||
  fail "an upload: $(cat "$TMP/body")"
wait_for grep -q '^event: arrived$' "$TMP/public-ear" || fail "no event of the public namespace"
grep -q 'key":"breakpad 000000000000000000000000000000010' "$TMP/public-ear" "$TMP/public-path" &&
  fail "an event of another namespace"
grep -q 'key":"breakpad 000000000000000000000000000000020' "$TMP/other-ear" &&
  fail "an event of the public namespace in another one"

# A stream ends when its token does.
listen public-still "$URL_spaces/events/$sym_3" -H "Authorization: Bearer $UPREAD"
still=$listener
listen reader-late "$URL_spaces/events" -H "Authorization: Bearer $READER"
token rm reader || fail "token rm: $(cat "$TMP/token.err")"
wait_gone "$listener" || fail "a stream outlives its token"
gone "$still" && fail "the stream of another token has ended, too"
[ "$(status -H "Authorization: Bearer $READER" "$URL_spaces/events")" = 401 ] ||
  fail "a removed token listens again"

# ---- many events of other keys push no event out of the queue of a listener ---------------------------------------
python3 - "$TMP/many.zip" <<'END' || fail "a zip of 600 files"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for n in range(600):
        name, id = "b%d.so" % n, "%032X0" % (n + 4096)
        z.writestr("%s/%s/%s.sym" % (name, id, name),
            "MODULE Linux x86_64 %s %s\nFUNC 1 2 0 g\n1 2 3 0\n" % (id, name))
END
[ "$(status -F "many.zip=@$TMP/many.zip" -H "Auth-Token: $UPLOADER" "$URL_spaces/upload/")" = 201 ] ||
  fail "600 uploads: $(cat "$TMP/body")"
[ "$(status -T "$TMP/up/$sym_3" -H "Authorization: Bearer $UPLOADER" "$URL_spaces/breakpad/$sym_3")" = 201 ] ||
  fail "an upload: $(cat "$TMP/body")"
wait_for grep -q '^event: ' "$TMP/public-still" || fail "no event after 600 of other keys"
grep -q '^event: arrived$' "$TMP/public-still" && ! grep -q '^event: lost$' "$TMP/public-still" ||
  fail "events of other keys push out an event: $(cat "$TMP/public-still")"

# ---- the end: listeners do not delay it, and their streams end well ------------------------------------------
symfs_unserve few
symfs_unserve guarded
symfs_unserve spaces
symfs_unserve one
wait "$still" || fail "the stream of a listener was cut: $(cat "$TMP/public-still.err")"
exit 0
