#!/bin/sh
# Tokens, namespaces and retention of symfs serve: who may read, upload and remove what; at least fifty tries to
# get past that, each of which is refused; classes that expire, tombstones, the logs.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc readelf python3 sha256sum

tries=0
# An attack, which must get this status, and must not show the secret of the other namespace.
try() {
  tries=$((tries + 1))
  ask "$@"
  ! grep -q "$SECRET" "$TMP/body" "$TMP/head" ||
    fail "$2 shows a file of another namespace: $(head -c 300 "$TMP/body")"
}
token() { "$SYMFS" token --file "$TMP/tokens" "$@"; }
auth() { echo "Authorization: Bearer $1"; }
rows() { "$SYMFS" cache ls --no-default-sources --cache "$1" | grep -vc ' gsym '; }

make_program "$TMP/a" prog
make_program "$TMP/b" secretprog
ID=$(build_id "$TMP/a/bin/prog") HIDDEN=$(build_id "$TMP/b/bin/secretprog")
DEBUG=$TMP/a/debug/prog.debug SECRETFILE=$TMP/b/debug/secretprog.debug
SECRET=$HIDDEN

# ---- symfs token ----------------------------------------------------------------------------
CI=$(token add ci --rights read,upload,purge) || fail "token add"
# The directory that root's file of tokens is in has symfs.conf, too: all users enter it. Only root reads the file.
(umask 077 && "$SYMFS" token add --file "$TMP/etc/symfs/tokens" one >/dev/null) || fail "token add in a new directory"
modes=$(stat -c %a "$TMP/etc/symfs" "$TMP/etc/symfs/tokens" | tr '\n' ' ')
[ "$(id -u)" != 0 ] || [ "$modes" = "755 600 " ] || fail "the directory of tokens and the file have the modes $modes"
READER=$(token add reader)
TRY=$(token add pull-requests --rights read,try --expires 90d)
UPLOADER=$(token add uploader --rights upload)
PURGER=$(token add purger --rights purge)
RED=$(token add red --rights read,upload,try,purge --namespace red)
BLUE=$(token add blue --rights read,upload,try,purge --namespace blue)
GONE=$(token add gone --rights read,upload --expires 1s)
[ "$(echo "$CI" | wc -c)" = 65 ] || fail "the token: $CI"
[ "$(stat -c %a "$TMP/tokens")" = 600 ] || fail "the file of tokens has the mode $(stat -c %a "$TMP/tokens")"
! grep -q "$CI" "$TMP/tokens" || fail "the file has the token"
token ls | cut -f1,2,4 >"$TMP/ls"
printf '%s\t%s\t%s\n' ci read,upload,purge public reader read public pull-requests read,try public uploader upload \
  public \
  purger purge public red read,upload,try,purge red blue read,upload,try,purge blue gone read,upload public |
  cmp - "$TMP/ls" || fail "token ls: $(cat "$TMP/ls")"
token ls --json |
  python3 -c 'import json, sys; rows = json.load(sys.stdin)
assert len(rows) == 8 and rows[0]["expires"] is None and rows[2]["expires"]' || fail "token ls --json"
refused() {
  token "$@" >"$TMP/out" 2>"$TMP/err"
  rc=$?
  [ $rc = "$want" ] && grep -q '^symfs token: ' "$TMP/err" || fail "token $*: $rc $(cat "$TMP/err")"
}
token create brief >"$TMP/out" && token ls | grep -q '^brief' && token revoke brief || fail "token create and revoke"
want=2
refused add ci
refused add 'a b'
refused add x --rights fly
refused add x --namespace ../public
refused add x --namespace RED
refused add x --expires 0
refused add x --expires 90
grep -q 'a number with a unit, as in 90d' "$TMP/err" || fail "a number without a unit: $(cat "$TMP/err")"
refused rotate ci --rights read
refused rotate
refused add
refused ls x
refused rm
refused rm ci --rights read
want=1
refused rm nobody
refused rotate nobody
cp "$TMP/tokens" "$TMP/good"

cat >"$TMP/conf" <<'END'
[class "short"]
age = 1s
[class "nightly"]
age = 7d
END
"$SYMFS" serve --no-default-sources --config /dev/fd/3 --cache "$TMP/x" --listen 127.0.0.1:0 3<<'END' >"$TMP/out" \
  2>"$TMP/err"
[class "x"]
age = soon
END
[ $? = 2 ] && grep -q 'class "x"' "$TMP/err" || fail "an age that is no time: $(cat "$TMP/err")"
STORE=$TMP/store-one
symfs_serve one --upload --config "$TMP/conf" --token-file "$TMP/tokens" --access-log "$TMP/access" \
  --audit-log "$TMP/audit"
U=$URL_one
[ -d "$STORE/namespaces/red" ] && [ -d "$STORE/namespaces/blue" ] ||
  fail "the stores of the namespaces: $(ls "$STORE")"

# ---- what each right allows -------------------------------------------------------------------
PATH_PUB=/buildid/$ID/debuginfo PATH_SECRET=/buildid/$HIDDEN/debuginfo
ask 201 "$PATH_PUB" -H "$(auth "$CI")" -T "$DEBUG"
ask 201 "$PATH_SECRET?label=team=red&class=keep" -H "$(auth "$RED")" -T "$SECRETFILE"
ask 200 "$PATH_SECRET" -H "$(auth "$RED")"
same_file "$TMP/body" "$SECRETFILE"
for how in "Authorization: Bearer $READER" "Auth-Token: $READER" "Auth-Token: $READER-ci-of-tuesday" \
  "authorization: bearer $READER"; do
  ask 200 "$PATH_PUB" -H "$how"
  same_file "$TMP/body" "$DEBUG"
done
ask 200 "$PATH_PUB" -u "any:$READER"
ask 200 /healthz
ask 200 /ready

# ---- no token, no right: bypass ----------------------------------------------------------------
try 401 "$PATH_PUB"
try 401 "$PATH_PUB" -I
try 401 "$PATH_PUB" -H 'Authorization: Bearer'
try 401 "$PATH_PUB" -H 'Authorization: Bearer '
try 401 "$PATH_PUB" -H "Authorization: $READER"
try 401 "$PATH_PUB" -H "Authorization: Digest $READER"
try 401 "$PATH_PUB" -H "$(auth "${READER%?}")"
try 401 "$PATH_PUB" -H "$(auth "${READER}0")"
try 401 "$PATH_PUB" -H "$(auth "$(echo "$READER" | tr a-f A-F)")"
try 401 "$PATH_PUB" -H "$(auth "$(grep ' reader ' "$TMP/tokens" | cut -d' ' -f1)")"
try 401 "$PATH_PUB" -H "$(auth reader)"
says "the token is not valid here"
try 401 /health
says "a token is required; .*the health check is at /healthz"
try 401 "$PATH_PUB" -H "Auth-Token: -$READER"
try 401 "$PATH_PUB" -H "Auth-Token: x-$READER"
try 401 "$PATH_PUB" -H "Cookie: token=$READER"
try 401 "$PATH_PUB" -H "X-Auth-Token: $READER"
try 401 "$PATH_PUB?key=$READER"
try 401 "$PATH_PUB?token=$READER&key=$READER"
try 401 "$PATH_PUB" -H "Auth-Token: wrong" -H "$(auth "$READER")"
try 400 "$PATH_PUB" -H "$(auth wrong)" -H "$(auth "$READER")"
try 400 "$PATH_PUB" -H "Auth-Token: $READER" -H "Auth-Token: wrong"
try 401 "$PATH_PUB" -u "$READER:"
try 401 /healthz/../status
try 401 "/healthz%2f..%2fstatus"
try 401 "//status"
try 401 "/healthz?x=/status" -X POST
for page in status uploads metrics missing.csv missingsymbols.csv symbolicate/v5 symbolicate/v4 upload/ \
  v1/uploads:create "upload/symbol_file" \
  "v1/symbols/a/b:checkStatus"; do
  try 401 "/$page"
done
wait_for sh -c "! '$SYMFS' token ls --file '$TMP/tokens' | grep -q 'gone.*[^d]\$'" ||
  fail "the token gone does not expire"
try 401 "$PATH_PUB" -H "$(auth "$GONE")"
try 401 "$PATH_PUB" -H "$(auth "$(head -c 600 /dev/zero | tr '\0' a)")"
# The token must not help against the wrong target of a proxy request.
try 401 "$PATH_PUB" --request-target "http://other/$PATH_PUB"

# A token without the right.
try 403 "$PATH_PUB" -H "$(auth "$UPLOADER")"
try 403 "$PATH_PUB" -H "$(auth "$PURGER")"
try 403 /status -H "$(auth "$UPLOADER")"
try 403 /metrics -H "$(auth "$PURGER")"
try 403 /symbolicate/v5 -H "$(auth "$UPLOADER")" -d '{"memoryMap": [], "stacks": []}'
try 403 "$PATH_PUB" -H "$(auth "$READER")" -T "$DEBUG"
# The refusal names the right that the token lacks: for a regular class, `try` is not enough. So does the early
# refusal of a long body.
for row in "upload $TRY $PATH_PUB?class=default" "upload $READER $PATH_PUB"; do
  set -- $row
  curl -s -H "$(auth "$2")" -T "$DEBUG" "$URL_one/$3" | grep -q "does not have the right $1;" ||
    fail "$3: the refusal does not name $1"
done
# A path without a meaning has the answer that it has for others: it is the same with and without files.
try 404 /nonsense -H "$(auth "$UPLOADER")"
try 404 /nonsense -H "$(auth "$UPLOADER")" -T "$DEBUG"
says "PUT takes the path of a file in a layout"
try 405 /metrics -H "$(auth "$UPLOADER")" -T "$DEBUG"
try 404 /nonsense -H "$(auth "$UPLOADER")" -H 'Accept: text/html'
head -c 3000000 /dev/zero >"$TMP/zeros"
try 403 "$PATH_PUB" -H "$(auth "$READER")" -H Expect: -T "$TMP/zeros"
says "does not have the right upload;"
try 403 "$PATH_PUB" -H "$(auth "$READER")" -X DELETE
try 403 "$PATH_PUB" -H "$(auth "$TRY")" -X DELETE
try 403 "$PATH_PUB" -H "$(auth "$UPLOADER")" -X DELETE
try 403 "$PATH_PUB" -H "$(auth "$PURGER")" -T "$DEBUG"
try 403 "/upload/" -H "Auth-Token: $READER" -F "x.zip=@$DEBUG"
try 403 "/v1/uploads:create?key=$READER" -X POST -d ''
try 403 "$PATH_PUB?class=keep" -H "$(auth "$TRY")" -T "$DEBUG"
try 403 "$PATH_PUB?class=default" -H "$(auth "$TRY")" -T "$DEBUG"
# Words of a query that are wrong.
try 400 "$PATH_PUB?class=none-such" -H "$(auth "$CI")" -T "$DEBUG"
try 400 "$PATH_PUB?class=%0atry" -H "$(auth "$CI")" -T "$DEBUG"
try 400 "$PATH_PUB?expires=-5" -H "$(auth "$CI")" -T "$DEBUG"
try 400 "$PATH_PUB?label=a%09b=c" -H "$(auth "$CI")" -T "$DEBUG"
try 400 "$PATH_PUB?label=ab" -H "$(auth "$CI")" -T "$DEBUG"

# ---- one namespace sees nothing of another ------------------------------------------------------
for other in "$CI" "$BLUE" "$READER"; do
  try 404 "$PATH_SECRET" -H "$(auth "$other")"
  try 404 "/gdb/$(gdb_path "$HIDDEN").debug" -H "$(auth "$other")"
done
try 404 "$PATH_SECRET" -H "$(auth "$BLUE")" -I
try 404 "$PATH_SECRET" -H "$(auth "$BLUE")" -X DELETE
try 404 "$PATH_SECRET" -H "$(auth "$CI")" -X DELETE
try 404 "/namespaces/red$PATH_SECRET" -H "$(auth "$CI")"
try 404 "/red$PATH_SECRET" -H "$(auth "$CI")"
try 404 "/public/../namespaces/red$PATH_SECRET" -H "$(auth "$CI")" --path-as-is
try 404 "/gdb/../namespaces/red$PATH_SECRET" -H "$(auth "$CI")" --path-as-is
try 404 "/gdb/%2e%2e/namespaces/red/index.sqlite" -H "$(auth "$CI")"
try 404 "$PATH_SECRET?namespace=red" -H "$(auth "$CI")"
try 404 "$PATH_SECRET" -H "$(auth "$CI")" -H 'X-Namespace: red'
try 404 "$PATH_SECRET" -H "$(auth "$CI")" -H "If-None-Match: \"$(sha256sum "$SECRETFILE" | cut -d' ' -f1)\""
try 404 "/gsym/gdb/$(gdb_path "$HIDDEN").debug.gsym" -H "$(auth "$BLUE")"
ask 404 "/zzz.pdb/3249D99D0C4049318610F4E4FB0B69361/zzz.sym?code_file=zzz.exe&code_id=5AB380779000" \
  -H "$(auth "$RED")"
# missing.csv has the ids that clients of the namespace asked for, and nothing of the file.
for other in "$BLUE" "$CI"; do
  ask 200 /missing.csv -H "$(auth "$other")"
  ! grep -qE "zzz|secretprog|red" "$TMP/body" || fail "missing.csv shows another namespace: $(cat "$TMP/body")"
done
for page in status missingsymbols.csv metrics "status?path=buildid/$(echo "$HIDDEN" | cut -c1-8)"; do
  try 200 "/$page" -H "$(auth "$BLUE")"
  ! grep -q 'zzz' "$TMP/body" || fail "/$page shows a miss of another namespace: $(grep zzz "$TMP/body")"
  try 200 "/$page" -H "$(auth "$CI")"
done
# Stacks: the symbols of one namespace give no names to another.
cat >"$TMP/hush.sym" <<'END'
MODULE windows x86_64 1249D99D0C4049318610F4E4FB0B69361 hush.pdb
INFO CODE_ID 5AB380779001 hush.dll
FUNC 1000 10 0 hush_hush
END
stack='{"memoryMap": [["hush.pdb", "1249D99D0C4049318610F4E4FB0B69361"]], "stacks": [[[0, 4097]]]}'
ask 201 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$RED")" -T "$TMP/hush.sym"
ask 200 /symbolicate/v5 -H "$(auth "$RED")" -d "$stack"
says hush_hush
for other in "$BLUE" "$CI"; do
  try 200 /symbolicate/v5 -H "$(auth "$other")" -d "$stack"
  ! grep -q hush_hush "$TMP/body" || fail "a name of another namespace: $(cat "$TMP/body")"
  try 404 /hush.dll/5AB380779001/hush.sym -H "$(auth "$other")"
done
ask 302 /hush.dll/5AB380779001/hush.sym -H "$(auth "$RED")"
# Events: a key that arrives is reported to its own namespace.
for who in red blue ci; do
  eval "name=\$$(echo $who | tr a-z A-Z)"
  curl -gsS --noproxy '*' -N --max-time "$WAIT_MOST" -H "$(auth "$name")" "$U/events" >"$TMP/events-$who" &
  PIDS="$PIDS $!"
  eval "PID_events_$who=$!"
  wait_for grep -q . "$TMP/events-$who" || fail "no events for $who"
done
ask 204 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$RED")" -X DELETE
ask 201 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$RED")" -T "$TMP/hush.sym"
wait_for grep -qi 1249d99d "$TMP/events-red" || fail "red gets no event: $(cat "$TMP/events-red")"
ask 201 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$BLUE")" -T "$TMP/hush.sym"
wait_for grep -qi 1249d99d "$TMP/events-blue" || fail "blue gets no event of its own"
[ "$(grep -ci 'data:.*1249d99d' "$TMP/events-blue")" = "$(grep -ci 'data:.*1249d99d' "$TMP/events-red")" ] ||
  fail "events of two namespaces mix: $(cat "$TMP/events-blue") $(cat "$TMP/events-red")"
! grep -qi 1249d99d "$TMP/events-ci" || fail "public gets events of another namespace"
tries=$((tries + 2))
kill "$PID_events_red" "$PID_events_blue" "$PID_events_ci"
ask 204 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$BLUE")" -X DELETE
ask 204 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$RED")" -X DELETE
# What was made of a removed file goes with it, also from memory, within a second.
[ -z "$("$SYMFS" cache ls --no-default-sources --cache "$STORE/namespaces/red" | grep ' gsym ')" ] ||
  fail "GSYM of a removed file stays"
no_names() {
  ask 200 /symbolicate/v5 -H "$(auth "$RED")" -d "$stack"
  ! grep -q hush_hush "$TMP/body"
}
wait_for no_names || fail "a removed file still gives names: $(cat "$TMP/body")"

# An upload goes to the own namespace only, and its purge ends no file of another.
ask 201 "$PATH_SECRET" -H "$(auth "$BLUE")" -T "$SECRETFILE"
ask 204 "$PATH_SECRET" -H "$(auth "$BLUE")" -X DELETE
ask 404 "$PATH_SECRET" -H "$(auth "$BLUE")"
says 'purged by blue'
ask 200 "$PATH_SECRET" -H "$(auth "$RED")"
try 404 "$PATH_SECRET" -H "$(auth "$CI")"
! grep -q purged "$TMP/body" || fail "a tombstone of another namespace"
[ "$(rows "$STORE")" = 1 ] && [ "$(rows "$STORE/namespaces/red")" = 1 ] &&
  [ "$(rows "$STORE/namespaces/blue")" = 0 ] ||
  fail "the stores: $(rows "$STORE") $(rows "$STORE/namespaces/red") $(rows "$STORE/namespaces/blue")"

# sym_upload: the key of the query is the token, and an upload URL belongs to one client.
ask 200 "/v1/uploads:create?key=$RED" -X POST -d ''
where=$(sed -n 's/.*"uploadUrl": "\([^"]*\)".*/\1/p' "$TMP/body") \
  key=$(sed -n 's/.*"uploadKey": "\([^"]*\)".*/\1/p' "$TMP/body")
[ -n "$where" ] && [ -n "$key" ] || fail "uploads:create: $(cat "$TMP/body")"
for other in "$BLUE" "$CI"; do
  try 404 "/v1/uploads/$key:complete?key=$other" -d \
    '{ symbol_id: {debug_file: "a", debug_id: "3249D99D0C4049318610F4E4FB0B69361" }, symbol_upload_type: "BREAKPAD" }'
done
try 401 "/v1/uploads/$key:complete" -d '{}'
try 404 "/v1/%75ploads/$key/" -T "$DEBUG" -H "$(auth "$BLUE")"
try 400 "/v1/uploads/$key%zz" -T "$DEBUG" -H "$(auth "$BLUE")"
UPLOAD_KEY=$key
rest=${where#http://*/}
try 404 "/$(echo "$rest" | sed "s|$key|$(echo "$key" | tr 0-9a-f 1-9a-f0)|")" -T "$DEBUG"
# One token cannot begin so many uploads that other clients can begin none.
python3 - "$U/v1/uploads:create?key=$TRY" <<'END' || fail "uploads that one token begins"
import sys, urllib.error, urllib.request
status = []
for _ in range(140):
    try:
        status.append(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], b"").status)
    except urllib.error.HTTPError as e:
        status.append(e.code)
assert status == [200] * 128 + [503] * 12, status
END
tries=$((tries + 1))
ask 200 "/v1/uploads:create?key=$BLUE" -X POST -d ''

# One token cannot take so many slots for bodies that other clients can send none.
python3 - "${U#http://}" "$TRY" "$BLUE" <<'END' || fail "uploads that one token sends at the same time"
import socket, sys, time
host, port = sys.argv[1].split(":")
def begin(token, name):
    s = socket.create_connection((host, int(port)))
    s.settimeout(300)
    s.sendall(("PUT /x.pdb/%032X1/x.sym HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: Bearer %s\r\n"
        "Content-Length: 99\r\n\r\nhalf" % (name, host, port, token)).encode())
    return s
def put(token):
    s = begin(token, 99)
    s.sendall(b"x" * 95)
    return s.recv(4096).decode()
held = [begin(sys.argv[2], n) for n in range(32)]
until = time.monotonic() + 300
said = put(sys.argv[2])
while said.split()[1] != "503" and time.monotonic() < until:
    held.append(begin(sys.argv[2], 99)) # put() can have had the slot of an earlier one, which was refused
    said = put(sys.argv[2])
assert said.split()[1] == "503" and "\r\nRetry-After: " in said, said
assert "the token pull-requests sends as many uploads" in said, said
said = put(sys.argv[3])
assert said.split()[1] == "422", said
END
tries=$((tries + 1))

# ---- what `symfs add` has pinned stays, unless the token may purge it, too
# ------------------------------------------
"$SYMFS" add --cache "$STORE" "$SECRETFILE" >/dev/null || fail "add"
try 403 "$PATH_SECRET" -H "$(auth "$CI")" -X DELETE
BOSS=$(token add boss --rights purge,added)
ask 204 "$PATH_SECRET" -H "$(auth "$BOSS")" -X DELETE

# ---- web pages cannot upload to a server without tokens ---------------------------------------------
symfs_serve free --upload --cache "$TMP/store-free"
U=$URL_free
try 403 "$PATH_PUB" -H 'Origin: https://evil.example' -T "$DEBUG"
try 403 "$PATH_PUB" -H "Origin: $URL_free" -T "$DEBUG"
try 403 "/upload/" -H 'Origin: null' -F "x.zip=@$DEBUG"
try 403 "$PATH_PUB" -H 'Origin: https://evil.example' -X DELETE
try 421 "$PATH_PUB" -H 'Host: evil.example' -T "$DEBUG"
[ "$(rows "$TMP/store-free")" = 0 ] || fail "a web page has stored a file"
symfs_unserve free
"$SYMFS" serve --no-default-sources --cache "$TMP/x" --upload --anyone --listen 0.0.0.0:0 >"$TMP/out" 2>"$TMP/err"
[ $? = 2 ] && grep -q 'uploads need --token-file' "$TMP/err" || fail "uploads by anyone: $(cat "$TMP/err")"
U=$URL_one

# ---- changes of the file ---------------------------------------------------------------------------
# An upload that has begun ends with its token, and so does the URL that a token got from sym_upload.
LEAVER=$(token add leaver --rights upload)
ask 200 "/v1/uploads:create?key=$LEAVER" -X POST -d ''
leaver_key=$(sed -n 's/.*"uploadKey": "\([^"]*\)".*/\1/p' "$TMP/body")
ask 200 "/v1/uploads/$leaver_key" -T "$DEBUG"
python3 - "${U#http://}" "$PATH_PUB" "$LEAVER" "$DEBUG" "$SYMFS" "$TMP/tokens" \
  <<'END' || fail "an upload by a removed token"
import socket, subprocess, sys
where, path, token, file, symfs, tokens = sys.argv[1:]
s = socket.create_connection(where.split(":"))
s.settimeout(300)
body = open(file, "rb").read()
s.sendall(("PUT %s HTTP/1.1\r\nHost: %s\r\nAuth-Token: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"
    % (path, where, token, len(body))).encode())
said = s.recv(4096)
assert said.startswith(b"HTTP/1.1 100"), said
subprocess.run([symfs, "token", "rm", "leaver", "--file", tokens], check=True)
s.sendall(body)
said = s.recv(4096)
assert said.startswith(b"HTTP/1.1 401 "), said
END
try 401 "/v1/uploads/$leaver_key" -T "$DEBUG"
token rm reader || fail "token rm"
try 401 "$PATH_PUB" -H "$(auth "$READER")"
NEW=$(token add reader)
ask 200 "$PATH_PUB" -H "$(auth "$NEW")"
try 401 "$PATH_PUB" -H "$(auth "$READER")"
OLD=$NEW
NEW=$(token rotate reader) || fail "token rotate"
token ls | grep -q '^reader	read	-	public$' || fail "the rights after token rotate: $(token ls)"
ask 200 "$PATH_PUB" -H "$(auth "$NEW")"
try 401 "$PATH_PUB" -H "$(auth "$OLD")"
# A token that has ended gets no successor that has ended.
token add ended --expires 1s >"$TMP/out"
wait_for sh -c "'$SYMFS' token ls --file '$TMP/tokens' | grep '^ended.*expired'" || fail "the token does not end"
want=2
refused rotate ended
grep -q 'ended has ended: --expires gives' "$TMP/err" || fail "rotate: $(cat "$TMP/err")"
token rotate ended --expires 1h >"$TMP/out" && token rm ended || fail "rotate with a new end"
# `--source URL` has the token of the configured source at this URL, and a layout of its own.
printf '[source "team"]\nurl = %s\nlayout = debuginfod\nenabled = no\nheader = Auth-Token: %s\n' "$U/" "$NEW" |
  cat "$DEADLINES" - >"$TMP/client.conf" && chmod 600 "$TMP/client.conf"
"$SYMFS" sources check --no-default-sources --config "$TMP/client.conf" --source "$U" --source "symstore@$U/" \
  >"$TMP/out" || fail "a source of the configuration: $(cat "$TMP/out")"
[ "$(grep -cE ' (native|symstore)@http.* reachable ' "$TMP/out")" = 2 ] || fail "sources check: $(cat "$TMP/out")"
printf '[source "old"]\nurl = %s\nlayout = native\nheader = Auth-Token: %s\n' "$U/" "$OLD" |
  cat "$DEADLINES" - >"$TMP/old.conf" &&
  chmod 600 "$TMP/old.conf"
"$SYMFS" sources check --no-default-sources --config "$TMP/old.conf" >"$TMP/out"
grep -q ' old  *refused .* HTTP 401: the token is not valid here: it is unknown or has ended; .*NAME$' "$TMP/out" ||
  fail "sources check does not print the server's reason: $(cat "$TMP/out")"
printf '# symfs tokens 1\nrubbish\n' >"$TMP/tokens"
ask 200 "$PATH_PUB" -H "$(auth "$NEW")"
grep -q "tokens:2: .*the earlier tokens stay" "$TMP/one.log" || fail "a broken file is not logged"
rm "$TMP/tokens"
ask 200 "$PATH_PUB" -H "$(auth "$NEW")"
ask 200 "$PATH_PUB" -H "$(auth "$NEW")"
[ "$(grep -c "tokens: No such file or directory; the earlier tokens stay\$" "$TMP/one.log")" = 1 ] ||
  fail "a removed file is not logged once: $(cat "$TMP/one.log")"
cp "$TMP/good" "$TMP/tokens.new" && chmod 644 "$TMP/tokens.new" && mv "$TMP/tokens.new" "$TMP/tokens"
ask 200 "$PATH_PUB" -H "$(auth "$NEW")"
grep -q "tokens: its group may write it, or all users .*the earlier tokens stay\$" "$TMP/one.log" ||
  fail "a file that comes back with a wrong mode is not logged: $(cat "$TMP/one.log")"
chmod 600 "$TMP/tokens"
try 401 "$PATH_PUB" -H "$(auth "$NEW")"
# A namespace whose store cannot be opened holds up no other one.
BROKEN=$(token add broken --rights read --namespace broken)
: >"$STORE/namespaces/broken"
ask 503 "$PATH_PUB" -H "$(auth "$BROKEN")"
GREEN=$(token add green --rights read,upload --namespace green)
ask 404 "$PATH_PUB" -H "$(auth "$GREEN")"
[ -d "$STORE/namespaces/green" ] || fail "a new namespace has no store"
token rm broken && rm "$STORE/namespaces/broken" || fail "token rm"

# ---- retention ---------------------------------------------------------------------------------------
class_of() { "$SYMFS" cache ls --json --no-default-sources --cache "$STORE" | python3 -c '
import json, sys, datetime
for row in json.load(sys.stdin):
    if row["key"].split(" ")[1] == sys.argv[1]:
        end = row["expires"]
        then = datetime.datetime.fromisoformat(end.replace("Z", "+00:00")) if end else None
        days = round((then - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 86400) if then else 0
        print(row["class"], days, row["labels"] or "-")
        break' "$1"; }
is_class() { [ "$(class_of "$ID")" = "$*" ] || fail "the class of $ID: $(class_of "$ID"), wanted $*"; }
is_class default 730 -
ask 200 "/gsym/gdb/$(gdb_path "$ID").debug.gsym" -H "$(auth "$CI")"
"$SYMFS" cache ls --no-default-sources --cache "$STORE" | grep -q ' gsym ' || fail "no GSYM is stored"
ask 204 "$PATH_PUB" -H "$(auth "$CI")" -X DELETE
! "$SYMFS" cache ls --no-default-sources --cache "$STORE" | grep -q ' gsym ' ||
  fail "GSYM of a removed ELF file stays"
ask 201 "$PATH_PUB" -H "$(auth "$TRY")" -T "$DEBUG"
is_class try 30 -
ask 200 "$PATH_PUB?expires=5000d" -H "$(auth "$TRY")" -T "$DEBUG"
is_class try 30 -
ask 200 "$PATH_PUB?class=nightly" -H "$(auth "$CI")" -T "$DEBUG"
is_class nightly 30 -
ask 200 "$PATH_PUB?expires=40d&label=version=1.2&label=os=linux" -H "$(auth "$CI")" -T "$DEBUG"
is_class default 40 version=1.2 os=linux
ask 204 "$PATH_PUB" -H "$(auth "$CI")" -X DELETE
ask 404 "$PATH_PUB" -H "$(auth "$CI")"
says '^Not Found'
says 'purged by ci'
# The same by Sentry's protocol: a token for "try" stores nothing for longer, and a later client may.
sum=$(sha1sum "$DEBUG" | cut -d' ' -f1)
sentry() { # TOKEN QUERY
  ask 200 "/api/0/organizations/o/chunk-upload/" -H "$(auth "$1")" -F "file=@$DEBUG;filename=$sum"
  sentry_ok() {
    ask 200 "/api/0/projects/o/p/files/difs/assemble/$2" -H "$(auth "$1")" \
      -d "{\"$sum\": {\"name\": \"prog.debug\", \"chunks\": [\"$sum\"]}}"
    grep -q '"state":"ok"' "$TMP/body"
  }
  wait_for sentry_ok "$@" || fail "assemble: $(cat "$TMP/body")"
}
sentry "$TRY" ''
is_class try 30 -
sentry "$TRY" '?expires=5000d'
is_class try 30 -
try 403 '/api/0/projects/o/p/files/difs/assemble/?class=keep' -H "$(auth "$TRY")" -d '{}'
sentry "$CI" '?expires=40d&label=os=linux'
is_class default 40 os=linux
ask 204 "$PATH_PUB" -H "$(auth "$CI")" -X DELETE
ask 201 "$PATH_PUB?class=short" -H "$(auth "$CI")" -T "$DEBUG"
expired() { "$SYMFS" cache expire --dry-run --no-default-sources --cache "$STORE" | grep -q "short  elf_debug $ID"; }
wait_for expired || fail "the class short does not expire"
ask 200 "$PATH_PUB" -H "$(auth "$CI")"
"$SYMFS" cache expire --no-default-sources --cache "$STORE" >"$TMP/out" || fail "cache expire: $?"
tail -n 1 "$TMP/out" | grep -q '^removed 1 artifact,' || fail "cache expire: $(cat "$TMP/out")"
[ "$("$SYMFS" cache expire --dry-run --no-default-sources --cache "$STORE")" = "nothing to expire in $STORE" ] ||
  fail "cache expire --dry-run of a store without such files"
ask 404 "$PATH_PUB" -H "$(auth "$CI")"
says 'expired: class short, 1 s without a use'
"$SYMFS" why --no-default-sources --cache "$STORE" "$ID" --type elf_debug >"$TMP/out"
grep -q '^ended .*expired: class short' "$TMP/out" || fail "why: $(cat "$TMP/out")"
ask 201 "$PATH_PUB" -H "$(auth "$CI")" -T "$DEBUG"
"$SYMFS" why --no-default-sources --cache "$STORE" "$ID" --type elf_debug >"$TMP/out"
! grep -q '^ended' "$TMP/out" || fail "why, after the file came again: $(cat "$TMP/out")"
"$SYMFS" cache verify --no-default-sources --cache "$STORE" >"$TMP/out" || fail "cache verify: $(cat "$TMP/out")"

# ---- the logs ------------------------------------------------------------------------------------------
grep -q '^127.0.0.1 - ci \[.*"PUT ' "$TMP/access" || fail "the access log has no name"
grep -q '"POST /v1/uploads/-:complete?key=\.\.\. HTTP' "$TMP/access" ||
  fail "the access log: $(grep uploads "$TMP/access")"
for secret in "$CI" "$RED" "$BLUE" "$TRY" "$UPLOAD_KEY"; do
  ! grep -q "$secret" "$TMP/access" "$TMP/audit" "$TMP/one.log" ||
    fail "a log has a token: $(grep -h "$secret" "$TMP/access" "$TMP/audit" | head -n 1)"
done
grep -q '"POST /v1/uploads:create?key=\.\.\. HTTP' "$TMP/access" ||
  fail "the access log: $(grep uploads:create "$TMP/access")"
python3 - "$TMP/audit" "$ID" <<'END' || fail "the audit log"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
def some(**want):
    found = [r for r in rows if all(r.get(k) == v for k, v in want.items())]
    assert found, want
    return found
key = "elf_debug " + sys.argv[2]
some(event="upload", user="ci", namespace="public", key=key, method="PUT")
some(event="present", user="pull-requests", key=key)
some(event="purge", user="ci", key=key, method="DELETE")
later = some(user="pull-requests", file="prog.debug")
assert later[0]["peer"] == "127.0.0.1", later
assert [r["event"] for r in later] == ["upload"] and later[0]["key"].startswith(key), later
some(event="upload", user="red", namespace="red")
some(event="refused", user="reader", status=403)
some(event="refused", user="-", status=401, why="no valid token")
assert all(r["time"].endswith("Z") and r.get("peer", "127.0.0.1") == "127.0.0.1" for r in rows)
assert all(r["target"].startswith("/") for r in some(event="purge")), rows
print(len(rows), "lines in the audit log")
END
is_gone() { [ "$(rows "$STORE")" = 0 ]; }
ask 204 "$PATH_PUB" -H "$(auth "$CI")" -X DELETE
ask 201 "$PATH_PUB?class=short" -H "$(auth "$CI")" -T "$DEBUG"
wait_for expired || fail "the class short does not expire"
mv "$TMP/audit" "$TMP/audit.1"
kill -HUP "$PID_one"
wait_for [ -e "$TMP/audit" ] || fail "SIGHUP does not open the audit log again"
ask 404 "$PATH_SECRET" -H "$(auth "$BLUE")"
# After SIGHUP the server removes what has expired, before the next file is uploaded.
wait_for is_gone || fail "a server does not remove what has expired after SIGHUP"
# A server that starts removes what has expired.
ask 201 "$PATH_PUB?class=short" -H "$(auth "$CI")" -T "$DEBUG"
wait_for expired || fail "the class short does not expire"
symfs_unserve one
symfs_serve two --config "$TMP/conf" --cache "$STORE" --token-file "$TMP/tokens"
U=$URL_two
wait_for is_gone ||
  fail "a server does not remove what has expired: $("$SYMFS" cache ls --no-default-sources --cache "$STORE")"
ask 404 "$PATH_PUB" -H "$(auth "$CI")"
says 'expired: class short'
# Without --upload there is no route to upload by.
try 405 "$PATH_PUB" -H "$(auth "$CI")" -T "$DEBUG"
try 405 "$PATH_PUB" -H "$(auth "$CI")" -X DELETE
symfs_unserve two
grep -q "version .* at $U; store: $STORE; sources: 0; tokens: $TMP/tokens\$" "$TMP/two.log" ||
  fail "the log has no start: $(cat "$TMP/two.log")"
grep -q 'ended by the signal Terminated; requests: [1-9]' "$TMP/two.log" ||
  fail "the log has no end: $(cat "$TMP/two.log")"
# ---- a team's bucket: each namespace has a prefix of its own ---------------------------------------------
put() { # PREFIX ID FILE: what a server of the namespace writes
  put_sha=$(sha256sum <"$3" | cut -d' ' -f1) put_key=$(printf 'elf_debug %s' "$2" | sha256sum | cut -d' ' -f1)
  mkdir -p "$TMP/root/$1/b" "$TMP/root/$1/k"
  cp "$3" "$TMP/root/$1/b/$put_sha"
  printf 'v1\telf_debug %s\ttest\thttp://test/x\t1\t%s\t1700000000\nb1\t%s\n' "$2" "$(stat -c %s "$3")" "$put_sha" \
    >"$TMP/root/$1/k/$put_key"
}
put team "$ID" "$DEBUG"
put team/namespaces/red "$HIDDEN" "$SECRETFILE"
"$top_builddir/tests/helpers/s3" --root "$TMP/root" --bucket symbols --access-key AKIDEXAMPLE --secret-key s3cr3t \
  --log "$TMP/s3.requests" >"$TMP/s3.out" 2>"$TMP/s3.log" &
s3_pid=$!
PIDS="$PIDS $s3_pid"
wait_for grep -q 'listening on' "$TMP/s3.out" || fail "s3 did not start"
cat >"$TMP/bucket.conf" <<END
[bucket]
endpoint = $(sed -n 's/^listening on //p' "$TMP/s3.out")
bucket = symbols
prefix = team
access-key = AKIDEXAMPLE
secret-key = s3cr3t
read-only = yes
timeout = 600s
stall-timeout = 100s
END
chmod 600 "$TMP/bucket.conf"
symfs_serve three --config "$TMP/bucket.conf" --token-file "$TMP/tokens"
U=$URL_three
ask 200 "$PATH_PUB" -H "$(auth "$CI")"
same_file "$TMP/body" "$DEBUG"
ask 200 "$PATH_SECRET" -H "$(auth "$RED")"
same_file "$TMP/body" "$SECRETFILE"
for other in "$CI" "$BLUE" "$TRY"; do
  try 404 "$PATH_SECRET" -H "$(auth "$other")"
done
try 404 "$PATH_PUB" -H "$(auth "$RED")"
grep -q 'GET /symbols/team/namespaces/red/k/' "$TMP/s3.requests" ||
  fail "the prefix of a namespace: $(cat "$TMP/s3.requests")"
symfs_unserve three
# What a client uploads is below the prefix of its namespace, when the upload is answered.
sed -i '/^read-only/d' "$TMP/bucket.conf"
symfs_serve four --upload --config "$TMP/bucket.conf" --token-file "$TMP/tokens"
U=$URL_four
ask 201 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$GREEN")" -T "$TMP/hush.sym"
grep -rlq hush_hush "$TMP/root/team/namespaces/green" ||
  fail "the bucket does not have the upload: $(find "$TMP/root")"
! grep -rlq hush_hush "$TMP/root/team/b" "$TMP/root/team/namespaces/red" ||
  fail "the upload is in the part of another namespace"
try 404 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$CI")"
try 404 /hush.pdb/1249D99D0C4049318610F4E4FB0B69361/hush.sym -H "$(auth "$RED")"
# What `symfs add` has put into the bucket on one server, no other server purges without the right: neither before nor
# after it has a copy. Before that it was an upload.
BOSS=$(token add chief --rights purge,added)
symfs_serve five --upload --config "$TMP/bucket.conf" --token-file "$TMP/tokens"
U=$URL_five
ask 201 "$PATH_SECRET?class=keep" -H "$(auth "$CI")" -T "$SECRETFILE"
U=$URL_four
"$SYMFS" add --no-default-sources --cache "$TMP/store-five" "$SECRETFILE" >/dev/null || fail "add"
end=$TMP/root/team/e/$(sha256sum <"$SECRETFILE" | cut -d' ' -f1)
wait_for grep -qx added "$end" || fail "the end of an added file: $(cat "$end")"
try 403 "$PATH_SECRET" -H "$(auth "$CI")" -X DELETE
ask 200 "$PATH_SECRET" -H "$(auth "$CI")"
try 403 "$PATH_SECRET" -H "$(auth "$CI")" -X DELETE
grep -rq "$(basename "$end")" "$TMP/root/team/k" || fail "a refused purge was done: $(find "$TMP/root/team")"
U=$URL_five
ask 204 "$PATH_SECRET" -H "$(auth "$BOSS")" -X DELETE
symfs_unserve five
symfs_unserve four

[ $tries -ge 50 ] || fail "only $tries tries"
say "$tries tries, all refused"
