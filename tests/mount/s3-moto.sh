#!/bin/sh
# The same store as in s3.sh, on an independent server that verifies signatures: moto.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip curl
# Debian's python may stand behind another in PATH.
PYTHON=
for python in python3 /usr/bin/python3; do
  $python -c 'import boto3, moto.server' 2>/dev/null && PYTHON=$python && break
done
[ -n "$PYTHON" ] ||
  skip "no python3 here has moto: Debian has it since 13 (python3-moto, python3-flask-cors), npm does not"
unset http_proxy https_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN \
  AWS_PROFILE \
  AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
umask 077
make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
prog=symstore/prog/elf-buildid-$id/prog
none=symstore/prog/elf-buildid-1122334455667788990011223344556677889900/prog

# The first four requests make a user and his bucket; then every signature counts.
for _ in 1 2 3 4 5; do
  port=$(free_port)
  INITIAL_NO_AUTH_ACTION_COUNT=4 $PYTHON -m moto.server -H 127.0.0.1 -p $port >"$TMP/moto.log" 2>&1 &
  moto_pid=$!
  PIDS="$PIDS $moto_pid"
  wait_for listens_or_gone $moto_pid "$port"
  gone $moto_pid || break
done
gone $moto_pid && fail "moto did not start: $(cat "$TMP/moto.log")"
url=http://127.0.0.1:$port
cat >"$TMP/prepare.py" <<'END'
import boto3, json, sys
url, name, key = sys.argv[1:]
anybody = dict(endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y")
iam = boto3.client("iam", **anybody)
iam.create_user(UserName="u")
k = iam.create_access_key(UserName="u")["AccessKey"]
iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
boto3.client("s3", **anybody).create_bucket(Bucket="symbols")
boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=k["AccessKeyId"],
    aws_secret_access_key=k["SecretAccessKey"]).put_object(
    Bucket="symbols", Key=key, Body=open(name, "rb").read(), ContentType="application/octet-stream")
print(k["AccessKeyId"], k["SecretAccessKey"])
END
keys=$(timeout 600 "$PYTHON" "$TMP/prepare.py" "$url" "$TMP/p/full/prog" "${prog#*/}" 2>"$TMP/err") ||
  fail "prepare: $(cat "$TMP/err")"
access=${keys% *} secret=${keys#* }
[ "$(fetch_url -o /dev/null -w '%{http_code}' "$url/symbols/${prog#*/}")" = 403 ] || fail "moto serves anybody"
conf() { # NAME ACCESS SECRET
  printf '%s\n' '[source "store"]' 'type = s3' 'bucket = symbols' 'layout = symstore' "endpoint = $url" \
    "access-key = $2" "secret-key = $3" >"$TMP/$1.conf"
}
conf good "$access" "$secret"
conf wrong "$access" "${secret}x"
conf other AKIANOBODY0000000000 "$secret"
symfs_mount good --config "$TMP/good.conf"
same_file "$TMP/good/$prog" "$TMP/p/full/prog"
cat "$TMP/good/$none" 2>"$TMP/err" && fail "what is not there"
grep -q 'No such file' "$TMP/err" || fail "what is not there: $(cat "$TMP/err")"
symfs_umount good
for who in wrong other; do
  symfs_mount $who --config "$TMP/$who.conf"
  cat "$TMP/$who/$prog" 2>"$TMP/err" && fail "$who: it is served"
  grep -q 'Permission denied' "$TMP/err" || fail "$who: $(cat "$TMP/err")"
  grep -q 'source store refuses the request: HTTP 403' "$TMP/$who.log" || fail "$who: the log: $(cat "$TMP/$who.log")"
  [ "$(wc -l <"$TMP/$who/.symfs/missing")" = 1 ] || fail "$who: a miss: $(cat "$TMP/$who/.symfs/missing")"
  grep -qF "$secret" "$TMP/$who.log" "$TMP/$who/.symfs/config" && fail "$who: the secret is shown"
  symfs_umount $who
done
say "$(grep -c '" 200 ' "$TMP/moto.log") answers 200, $(grep -c '" 403 ' "$TMP/moto.log") answers 403"
exit 0
