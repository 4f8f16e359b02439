#!/bin/sh
# What symfs serve --upload keeps in order: an audit line for each refusal, private answers to tokens, chunks that no
# client assembles, numbers of its queues, uploads without a limit, and the trouble of an assembly, which is no error.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl python3 sha1sum
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION \
  AWS_ENDPOINT_URL \
  AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
umask 077
SYM=two/00112233445566778899AABBCCDDEEFF0/two.sym
printf 'MODULE Linux x86_64 00112233445566778899AABBCCDDEEFF0 two\nFILE 0 two.c\nFUNC 1000 10 0 f\n1000 10 1 0\n' \
  >"$TMP/two.sym"
SHA=$(sha1sum <"$TMP/two.sym" | cut -d' ' -f1)
ask() { # STATUS URL [CURL-ARGS...]
  ask_want=$1 ask_url=$2
  shift 2
  ask_got=$(fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$ask_url") ||
    fail "curl $ask_url: $?"
  [ "$ask_got" = "$ask_want" ] || fail "$ask_url $*: $ask_got, not $ask_want: $(head -c 300 "$TMP/body")"
}
metric() { fetch_url -H "$1" "$2/metrics" | sed -n "s/^symfs_$3 //p"; }
chunk() { # URL: sends the file as a chunk
  ask 200 "$1/api/0/organizations/o/chunk-upload/" -F "file=@$TMP/two.sym;filename=$SHA" -H "$2"
}

# ---- refusals, private answers -------------------------------------------------------------------------------
token() { "$SYMFS" token --file "$TMP/tokens" "$@"; }
CI=$(token add ci --rights read,upload,purge) || fail "token add"
READER=$(token add reader) || fail "token add"
RED=$(token add red --rights read,upload --namespace red) || fail "token add"
symfs_serve one --upload --max-file-size 1000000 --token-file "$TMP/tokens" --audit-log "$TMP/audit"
U=$URL_one
A="Authorization: Bearer $CI"
ask 201 "$U/$SYM" -H "$A" -T "$TMP/two.sym"
head -c 1040000 /dev/zero >"$TMP/large"
ask 413 "$U/$SYM" -H "$A" -T "$TMP/large"
ask 413 "$U/$SYM" -H "$A" -T "$TMP/large" -H 'Transfer-Encoding: chunked'
ask 400 "$U/$SYM" -H "$A" -T "$TMP/two.sym" -H 'Content-Range: bytes 0-9/20'
ask 400 "$U/$SYM?class=nonsense" -H "$A" -T "$TMP/two.sym"
ask 422 "$U/two/FF112233445566778899AABBCCDDEEFF0/two.sym" -H "$A" -T "$TMP/two.sym"
ask 400 "$U/upload/" -H "Auth-Token: $CI" -F "x=@$TMP/two.sym"
ask 400 "$U/api/0/organizations/o/chunk-upload/" -H "$A" -F \
  "file=@$TMP/two.sym;filename=0000000000000000000000000000000000000000"
ask 400 "$U/api/0/projects/o/p/files/difs/assemble/" -H "$A" -d '[]'
ask 403 "$U/$SYM" -H "Authorization: Bearer $READER" -T "$TMP/two.sym"
ask 403 "$U/$SYM" -H "Authorization: Bearer $READER" -X DELETE
ask 401 "$U/$SYM" -H 'Authorization: Bearer 00' -X DELETE
ask 401 "$U/$SYM"
ask 404 "$U/four/EE112233445566778899AABBCCDDEEFF0/four.sym" -H "$A" -X DELETE
refusals() { grep -c '"event":"refused"' "$TMP/audit"; }
all_refusals() { [ "$(refusals)" = 13 ]; }
wait_for all_refusals || fail "$(refusals) lines about 13 refusals: $(cat "$TMP/audit")"
python3 - "$TMP/audit" <<'END' || fail "the audit log: $(cat "$TMP/audit")"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
refused = [r for r in rows if r["event"] == "refused"]
statuses = [r.get("status") for r in refused] # a refused file has none
assert all(statuses.count(s) == n for s, n in ((413, 2), (403, 2), (401, 2), (404, 1))), refused
assert statuses.count(400) >= 3, refused
assert all(r["why"] and r["user"] in ("ci", "reader", "-") for r in refused), refused
END

for header in "$A" "Auth-Token: $READER"; do
  ask 200 "$U/$SYM" -H "$header"
  tr -d '\r' <"$TMP/head" | grep -qi '^cache-control: .*private' ||
    fail "an answer to a token is not private: $(cat "$TMP/head")"
  ask 206 "$U/$SYM" -H "$header" -r 0-9
  tr -d '\r' <"$TMP/head" | grep -qi '^cache-control: .*private' ||
    fail "a part for a token is not private: $(cat "$TMP/head")"
done
[ "$(tr -d '\r' <"$TMP/head" | grep -ci '^cache-control:')" = 1 ] || fail "two Cache-Control: $(cat "$TMP/head")"

# ---- the numbers of the queues ---------------------------------------------------------------------------------
for name in uploads_receiving uploads_unwritten uploads_queued uploads_assembling; do
  [ "$(metric "$A" "$U" $name)" = 0 ] || fail "$name is $(metric "$A" "$U" $name)"
done
head -c 900000 /dev/zero >"$TMP/slow"
curl -gsS --noproxy '*' -H Expect: -H "$A" --limit-rate 1000 -T "$TMP/slow" "$U/$SYM" >/dev/null 2>&1 &
slow=$!
PIDS="$PIDS $slow"
receives() { [ "$(metric "$A" "$U" uploads_receiving)" = 1 ]; }
wait_for receives || fail "an upload under way is not counted: $(fetch_url -H "$A" "$U/metrics" | grep uploads)"
kill $slow

# ---- chunks that no client assembles end, in each namespace, also while the server is idle ------------------------
chunk "$U" "$A"
chunk "$U" "Authorization: Bearer $RED"
symfs_unserve one
chunks() { find "$TMP/store-one" -path "*/chunks/*" -name "$(echo "$SHA" | cut -c3-)"; }
[ "$(chunks | wc -l)" = 2 ] || fail "the chunks: $(find "$TMP/store-one" -type f)"
export SYMFS_TEST_SWEEP=100
symfs_serve two --upload --cache "$TMP/store-one" --token-file "$TMP/tokens"
unset SYMFS_TEST_SWEEP
[ "$(chunks | wc -l)" = 2 ] || fail "young chunks went"
chunks | while read -r path; do touch -d '2 days ago' "$path"; done
swept() { [ "$(chunks | wc -l)" = 0 ]; }
wait_for swept || fail "chunks that no client assembles stay: $(chunks)"
symfs_unserve two

# ---- no limit --------------------------------------------------------------------------------------------------
symfs_serve free --upload --max-file-size none
ask 201 "$URL_free/$SYM" -T "$TMP/two.sym"
ask 200 "$URL_free/$SYM"
same_file "$TMP/body" "$TMP/two.sym"
ask 200 "$URL_free/api/0/organizations/o/chunk-upload/"
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["maxFileSize"] > 1 << 40' "$TMP/body" ||
  fail "the limits: $(cat "$TMP/body")"
symfs_unserve free

# ---- the bucket is away: an assembly waits, and does not end in an error -------------------------------------------
port=$(free_port)
mkdir "$TMP/root"
printf '[bucket]\nendpoint = http://127.0.0.1:%s\nbucket = symbols\naccess-key = A\nsecret-key = S3CR3T\n' "$port" \
  >"$TMP/conf"
symfs_serve b --upload --config "$TMP/conf"
chunk "$URL_b" "X: y"
assemble() { # prints the status
  fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' \
    -d "{\"$SHA\": {\"name\": \"two.sym\", \"chunks\": [\"$SHA\"]}}" \
    "$URL_b/api/0/projects/o/p/files/difs/assemble/" || fail "assemble"
  ! grep -q '"error"[,}]' "$TMP/body" || fail "trouble is an error of the file: $(cat "$TMP/body")"
}
in_trouble() { [ "$(assemble)" = 503 ]; }
wait_for in_trouble || fail "assemble without the bucket: $(cat "$TMP/body")"
grep -qi '^retry-after: [0-9]' "$TMP/head" || fail "no Retry-After: $(cat "$TMP/head")"
"$top_builddir/tests/helpers/s3" --root "$TMP/root" --bucket symbols --access-key A --secret-key S3CR3T \
  --port "$port" \
  >"$TMP/s3.out" 2>"$TMP/s3.log" &
PIDS="$PIDS $!"
stored() { [ "$(assemble)" = 200 ] && grep -q '"state":"ok"' "$TMP/body"; }
wait_for stored || fail "assemble when the bucket is back: $(cat "$TMP/body")"
[ -n "$(ls "$TMP/root/k")" ] || fail "the bucket does not have the file"
# Another server has purged the file since: a later request queues it once more.
rm -r "$TMP/root/k" "$TMP/root/r"
find "$TMP/store-b/uploads/files" -type f -exec sed -i 's/^stored .*/stored 1/' {} +
wait_for stored || fail "assemble after a purge by another server: $(cat "$TMP/body")"
[ -n "$(ls "$TMP/root/k")" ] || fail "the bucket does not have the file that was purged and uploaded again"
symfs_unserve b
exit 0
