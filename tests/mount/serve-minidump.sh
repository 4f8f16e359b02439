#!/bin/sh
# POST /symbolicate/minidump: the answer equals that of symfs symbolicate, for a form and for a plain body, as text
# and as JSON; the limits: size, number at the same time, rights, codings; nothing is stored.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl python3
cd "$TMP" || exit 1

# ---- a minidump and its symbols --------------------------------------------------------------------
ID=112233445566778899AABBCCDDEEFF00
mkdir -p "up/one.pdb/${ID}1"
cat >"up/one.pdb/${ID}1/one.sym" <<SYM
MODULE windows x86_64 ${ID}1 one.pdb
FILE 0 c:\\src\\one.cc
FUNC 1000 40 0 crash
1000 40 7 0
FUNC 1200 40 0 _Z4mainv
1200 40 20 0
SYM
"$top_builddir/tests/helpers/make-minidump" own.dmp "one.dll:one.pdb:$ID:1:180000000" -- 180001005 180001205 ||
  fail make-minidump
"$SYMFS" token add --file tokens --rights read reader >reader || fail "token add"
"$SYMFS" token add --file tokens --rights upload writer >writer || fail "token add"
READER=$(tail -n 1 reader) WRITER=$(tail -n 1 writer)
symfs_serve one --source "breakpad@$TMP/up"
symfs_serve two --source "breakpad@$TMP/up" --token-file "$TMP/tokens"
symbolicate() { "$SYMFS" symbolicate --no-default-sources --source "breakpad@$TMP/up" --cache "$TMP/own-store" "$@"; }
post() { fetch_url -o body -D head -w '%{http_code}' "$@" 2>curl.log; }
answers() { # STATUS CURL-ARGUMENTS...
  status=$1
  shift
  got=$(post "$@")
  [ "$got" = "$status" ] || fail "$*: $got, not $status: $(head -c 500 body)"
}
for command in id why get; do
  "$SYMFS" "$command" own.dmp >own.out 2>&1
  grep -q 'one.dll' own.out || fail "symfs $command own.dmp: $(cat own.out)"
done
AT=$URL_one/symbolicate/minidump

# ---- the answers -----------------------------------------------------------------------------------
symbolicate own.dmp >want.text 2>want.log || fail "symfs symbolicate"
symbolicate --json own.dmp >want.json 2>want.log || fail "symfs symbolicate --json"
grep -q 'one.dll  crash + 0x5 at c:\\src\\one.cc:7' want.text &&
  grep -q 'one.dll  main() + 0x5 .*\[scan\]$' want.text ||
  fail "the text: $(cat want.text)"
answers 200 -F upload_file_minidump=@own.dmp "$AT"
cmp -s body want.text || fail "a form: $(cat body)"
tr -d '\r' <head | grep -qi '^content-type: text/plain; charset=utf-8$' || fail "the type: $(cat head)"
answers 200 --data-binary @own.dmp -H 'Content-Type: application/octet-stream' "$AT"
cmp -s body want.text || fail "a plain body: $(cat body)"
answers 200 -F prod=Firefox -F "notes=$(head -c 5000 /dev/zero | tr '\0' x)" -F other=@want.log \
  -F upload_file_minidump=@own.dmp "$AT?json"
cmp -s body want.json || fail "JSON by the query: $(cat body)"
answers 200 -H 'Accept: application/json' -H 'Expect: 100-continue' -F upload_file_minidump=@own.dmp "$AT"
cmp -s body want.json || fail "JSON by Accept: $(cat body)"
tr -d '\r' <head | grep -qi '^content-type: application/json$' || fail "the type: $(cat head)"
answers 405 "$AT"

# ---- refusals --------------------------------------------------------------------------------------
answers 400 -F other=@own.dmp "$AT"
grep -q 'upload_file_minidump' body || fail "no minidump: $(cat body)"
answers 400 --data-binary @want.text "$AT" -H 'Content-Type: application/octet-stream'
grep -q '^not a minidump$' body || fail "no minidump: $(cat body)"
head -c 100 own.dmp >cut.dmp
answers 400 -F upload_file_minidump=@cut.dmp "$AT"
grep -q 'broken or cut short' body || fail "a cut minidump: $(cat body)"
gzip -c own.dmp >own.dmp.gz
answers 415 -H 'Content-Encoding: gzip' -H 'Content-Type: application/octet-stream' --data-binary @own.dmp.gz "$AT"
cp own.dmp large.dmp && truncate -s 67108864 large.dmp || fail truncate
answers 200 -F upload_file_minidump=@large.dmp "$AT"
cmp -s body want.text || fail "64 MiB: $(cat body)"
truncate -s 67108865 large.dmp
answers 413 -F upload_file_minidump=@large.dmp "$AT"
answers 413 --data-binary @large.dmp -H 'Content-Type: application/octet-stream' "$AT"
answers 401 -F upload_file_minidump=@own.dmp "$URL_two/symbolicate/minidump"
answers 403 -F upload_file_minidump=@own.dmp -H "Auth-Token: $WRITER" "$URL_two/symbolicate/minidump"
answers 200 -F upload_file_minidump=@own.dmp -H "Auth-Token: $READER" "$URL_two/symbolicate/minidump"
cmp -s body want.text || fail "with a token: $(cat body)"

# ---- four at the same time ---------------------------------------------------------------------------
cat >hold.py <<'PY'
# Holds N requests whose bodies do not come, until stdin ends.
import socket, sys
host, port = sys.argv[1].split('://')[1].split('/')[0].split(':')
held = []
for _ in range(int(sys.argv[2])):
    s = socket.create_connection((host, int(port)))
    s.sendall(b'POST /symbolicate/minidump HTTP/1.1\r\nHost: %s:%s\r\n'
              b'Content-Length: 5000\r\nExpect: 100-continue\r\n\r\n'
              % (host.encode(), port.encode()))
    answer = s.recv(100)
    if not answer.startswith(b'HTTP/1.1 100'):
        sys.exit('not to be continued: %r' % answer)
    held.append(s)
print('held', flush=True)
sys.stdin.read()
PY
mkfifo hold
python3 hold.py "$URL_one" 4 <hold >held 2>hold.log &
holder=$!
PIDS="$PIDS $holder"
exec 9>hold
wait_for grep -q held held || fail "four requests: $(cat hold.log)"
answers 503 -F upload_file_minidump=@own.dmp "$AT"
grep -q 'minidumps are being answered' body || fail "the fifth: $(cat body)"
exec 9>&-
wait $holder
free_again() { [ "$(post -F upload_file_minidump=@own.dmp "$AT")" = 200 ]; }
wait_for free_again || fail "a place is not free again: $(cat body)"
for i in 1 2 3 4 5 6 7 8; do
  answers 200 -F upload_file_minidump=@own.dmp "$AT"
done

# ---- nothing stays -----------------------------------------------------------------------------------
left=$(find "$TMP" -path '*store-one*' -type f -size +8k -newer reader -exec grep -l '^MDMP' {} + 2>/dev/null)
[ -z "$left" ] || fail "minidumps in the store: $left"
symfs_unserve one
symfs_unserve two
say "forms, plain bodies and limits"
