#!/bin/sh
# A team's bucket, written by servers: what one server has fetched, the others find there. The queue survives kill -9
# and a store that stops. On a store that honours conditions, on one that ignores them, and on one whose clock differs
# by an hour. With SYMFS_TEST_STORE=ceph (bucket-ceph.sh): on a real Ceph gateway, with moto (bucket-moto.sh) on moto.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need strip
. "$top_srcdir/tests/mount/bucket-lib.sh"

store_start() { # NAME [ARGS...]: sets S3 and S3_PID
  ss_name=$1
  shift
  s3_start "$ss_name" "$TMP/root-$ss_name" "$@"
  S3=$s3_url S3_PID=$s3_pid
}
moto_start() {
  PYTHON=
  for python in python3 /usr/bin/python3; do
    $python -c 'import boto3, moto.server' 2>/dev/null && PYTHON=$python && break
  done
  [ -n "$PYTHON" ] || skip "no python3 here has moto: Debian has it since 13 (python3-moto, python3-flask-cors)"
  ms_port=$(free_port)
  # moto decodes the query before it checks the signature, and so refuses a listing of names with a slash, also by
  # boto3.
  cat >"$TMP/serve.py" <<'END'
import sys
from urllib.parse import quote, unquote
import botocore.auth
from moto.server import main
def query_of(self, parts):
    pairs = (pair.partition("=") for pair in parts.query.split("&") if pair)
    return "&".join(sorted(name + "=" + quote(unquote(value), safe="-_.~") for name, _, value in pairs))
botocore.auth.SigV4Auth._canonical_query_string_url = query_of
main(sys.argv[1:])
END
  # The first four requests make a user and a bucket; then every signature counts.
  INITIAL_NO_AUTH_ACTION_COUNT=4 $PYTHON "$TMP/serve.py" -H 127.0.0.1 -p "$ms_port" >"$TMP/moto.log" 2>&1 &
  S3_PID=$!
  PIDS="$PIDS $S3_PID"
  wait_for listens_or_gone "$S3_PID" "$ms_port" || fail "moto did not start: $(cat "$TMP/moto.log")"
  S3=http://127.0.0.1:$ms_port
  cat >"$TMP/prepare.py" <<'END'
import boto3, json, sys
who = dict(endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y")
iam = boto3.client("iam", **who)
iam.create_user(UserName="u")
k = iam.create_access_key(UserName="u")["AccessKey"]
iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
boto3.client("s3", **who).create_bucket(Bucket="symbols")
print(k["AccessKeyId"], k["SecretAccessKey"])
END
  ms_keys=$("$PYTHON" "$TMP/prepare.py" "$S3" 2>"$TMP/err") || fail "prepare: $(cat "$TMP/err")"
  ACCESS=${ms_keys% *} SECRET=${ms_keys#* }
}
# Files that differ, so that each has bytes of its own.
mkdir -p "$TMP/up/buildid"
small_programs ab 9
for n in 1 2 3 4 5 6 7 8 9; do
  mkdir -p "$TMP/up/buildid/$(id $n)"
  cp "$TMP/prog$n" "$TMP/up/buildid/$(id $n)/executable"
done
upstream_start up --root "$TMP/up"

conf() { # NAME [LINES...]
  printf '[bucket]\nendpoint = %s\nbucket = symbols\nprefix = team/x\naccess-key = %s\nsecret-key = %s\n%s\n' \
    "$S3" "$ACCESS" "$SECRET" 'stall-timeout = 100s' >"$TMP/$1.conf"
  printf '[source "up"]\nurl = %s\ntype = debuginfod\n' "$URL_up" >>"$TMP/$1.conf"
}
server() { # NAME: with the store of that name. Only the server a does not wait long for the bucket.
  case $1 in a) wait=500ms ;; *) wait=600s ;; esac
  sed "s/^prefix/timeout = $wait\n&/" "$TMP/team.conf" >"$TMP/server-$1.conf"
  symfs_serve "$1" --config "$TMP/server-$1.conf"
}
gets() { # URL NUMBER WHAT
  fetch_url -o "$TMP/got" "$1/buildid/$(id "$2")/executable" || fail "$3: file $2"
  same_file "$TMP/got" "$TMP/prog$2"
}
upstream_gets() { upstream_count "$URL_up" get; }

scenario() { # NAME
  upstream_reset "$URL_up"
  conf team
  server a
  for n in 1 2 3 4 5; do gets "$URL_a" $n "$1: the first server"; done
  wait_for drained "$URL_a" || fail "$1: the queue has $(number "$URL_a" queued_files) files"
  [ "$(number "$URL_a" files)" = 5 ] || fail "$1: $(number "$URL_a" files) files were uploaded"
  [ "$(upstream_gets)" = 5 ] || fail "$1: $(upstream_gets) upstream requests"

  # An empty server asks no upstream server, and uploads nothing.
  server b
  for n in 1 2 3 4 5; do gets "$URL_b" $n "$1: an empty server"; done
  [ "$(upstream_gets)" = 5 ] || fail "$1: an empty server asked upstream"
  [ "$(number "$URL_b" queued_files)" = 0 ] && [ "$(number "$URL_b" files)" = 0 ] ||
    fail "$1: files of the bucket are queued"

  # The store stops. Stored files are served by a server that would wait for it for ten minutes, cold ones come from
  # upstream after the short wait of the other server.
  kill -STOP "$S3_PID"
  gets "$URL_b" 1 "$1: a stored file while the store is stopped"
  gets "$URL_a" 6 "$1: a cold file while the store is stopped"
  gets "$URL_a" 7 "$1: a second cold file"
  [ "$(number "$URL_a" queued_files)" = 2 ] || fail "$1: $(number "$URL_a" queued_files) files are queued"
  # kill -9 loses nothing of the queue.
  kill -KILL "$PID_a"
  wait_gone "$PID_a"
  server a
  gets "$URL_a" 8 "$1: after kill -9"
  [ "$(number "$URL_a" queued_files)" = 3 ] ||
    fail "$1: $(number "$URL_a" queued_files) files are queued after kill -9"
  kill -CONT "$S3_PID"
  wait_for drained "$URL_a" || fail "$1: the queue has $(number "$URL_a" queued_files) files"
  [ "$(number "$URL_a" lost_files)" = 0 ] || fail "$1: $(number "$URL_a" lost_files) files were lost"
  before=$(upstream_gets)
  server c
  for n in 6 7 8; do gets "$URL_c" $n "$1: what was queued"; done
  [ "$(upstream_gets)" = "$before" ] || fail "$1: what was queued is not in the bucket"

  # A better file takes the key, on whichever server it appears; a lesser one does not.
  strip -o "$TMP/lesser" "$TMP/prog9"
  "$SYMFS" add --cache "$TMP/store-a" "$TMP/lesser" >/dev/null 2>"$TMP/err" ||
    fail "$1: add: $(cat "$TMP/err")"
  wait_for drained "$URL_a" || fail "$1: a file of symfs add is not uploaded"
  "$SYMFS" add --cache "$TMP/store-b" "$TMP/prog9" >/dev/null 2>"$TMP/err" ||
    fail "$1: add: $(cat "$TMP/err")"
  wait_for drained "$URL_b" || fail "$1: a better file is not uploaded"
  before=$(upstream_gets)
  gets "$URL_c" 9 "$1: the better of two files"
  [ "$(upstream_gets)" = "$before" ] || fail "$1: the better file did not come from the bucket"
  for name in a b c; do
    symfs_unserve $name
    rm -rf "$TMP/store-$name"
  done
}

case ${SYMFS_TEST_STORE:-} in ceph | moto)
  "${SYMFS_TEST_STORE}_start"
  scenario "$SYMFS_TEST_STORE"
  exit 0
  ;;
esac
store_start plain
scenario plain
[ "$(grep -c 'PUT /symbols/team/x/k/.* 412' "$TMP/plain.requests")" -gt 0 ] || fail "no condition was used"
store_start ignoring --ignore-conditions
scenario ignoring
store_start skewed --clock 3600
scenario skewed
grep -q RequestTimeTooSkewed "$TMP/skewed.requests" || fail "the clocks do not differ"
exit 0
