#!/bin/sh
# A store that speaks S3 and verifies every signature: read through the mount, with credentials from
# each possible place. A wrong key is a refusal, and never "not there".
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip curl
unset http_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE \
  AWS_REGION \
  AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
umask 077
make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
lib_id=$(build_id "$TMP/p/full/libprog.so")
[ -n "$id" ] || fail "no build id"
prog="symstore/prog/elf-buildid-$id/prog"
# A name that has to be encoded, which is where signatures go wrong.
odd='lib++ (x=1) & ü~!.so'
lib="symstore/$odd/elf-buildid-$lib_id/$odd"
put() { # ROOT
  mkdir -p "$1/prog/elf-buildid-$id" "$1/$odd/elf-buildid-$lib_id"
  cp "$TMP/p/full/prog" "$1/prog/elf-buildid-$id/prog"
  cp "$TMP/p/full/libprog.so" "$1/$odd/elf-buildid-$lib_id/$odd"
}
put "$TMP/root"
put "$TMP/root/deep er/down"
secret='s3cr3t/+key=='
s3_start() { # NAME ARGS...: sets URL_NAME
  ss_name=$1
  shift
  rm -f "$TMP/$ss_name.out" "$TMP/$ss_name.requests"
  "$top_builddir/tests/helpers/s3" --root "$TMP/root" --bucket symbols --access-key AKIDEXAMPLE \
    --secret-key "$secret" \
    --log "$TMP/$ss_name.requests" "$@" >"$TMP/$ss_name.out" 2>"$TMP/$ss_name.log" &
  PIDS="$PIDS $!"
  wait_for grep -q 'listening on' "$TMP/$ss_name.out" || fail "s3 did not start"
  eval "URL_$ss_name=$(sed -n 's/^listening on //p' "$TMP/$ss_name.out")"
}
s3_start s3
s3=$URL_s3
# The server itself: another signer is believed, and only with the right key.
sign() { # KEY -> status
  fetch_url -o /dev/null -w '%{http_code}' --aws-sigv4 aws:amz:us-east-1:s3 -u "AKIDEXAMPLE:$1" \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$s3/symbols/prog/elf-buildid-$id/prog"
}
[ "$(sign "$secret")" = 200 ] && [ "$(sign wrong)" = 403 ] || fail "the test server: $(sign "$secret") $(sign wrong)"
[ "$(fetch_url -o /dev/null -w '%{http_code}' "$s3/symbols/x")" = 403 ] || fail "the test server serves anybody"

base() { printf '[source "store"]\nkind = s3\nbucket = symbols\nlayout = symstore\n'; }
conf() { rm -f "$TMP/conf"; base >"$TMP/conf"; [ $# = 0 ] || printf '%s\n' "$@" >>"$TMP/conf"
cat "$DEADLINES" >>"$TMP/conf"
rm -rf "$TMP/store"; }
symfs() { timeout 600 "$SYMFS" "$@" --no-default-sources --config "$TMP/conf" --cache "$TMP/store" >"$TMP/out" \
  2>"$TMP/err"; }
gets() { # PATH FULL WHAT
  symfs get "$1" || fail "$3: $? $(cat "$TMP/err")"
  same_file "$(cat "$TMP/out")" "$2"
  grep -q "$secret" "$TMP/err" && fail "$3: the secret is shown"
}
fails() { # STATUS PATH WHAT
  SYMFS_DEBUG=all symfs get "$2"
  f_r=$?
  [ $f_r = "$1" ] || fail "$3: exit $f_r, wanted $1: $(cat "$TMP/err")"
  grep -qF "$secret" "$TMP/err" && fail "$3: the secret is shown"
}
keys="access-key = AKIDEXAMPLE
secret-key = $secret"

# ---- through the mount, every address -----------------------------------------------------------------
conf "endpoint = $s3" "$keys"
symfs_mount m --config "$TMP/conf"
same_file "$TMP/m/$prog" "$TMP/p/full/prog"
same_file "$TMP/m/$lib" "$TMP/p/full/libprog.so"
[ ! -e "$TMP/m/symstore/none/elf-buildid-1122334455667788990011223344556677889900/none" ] || fail "what is not there"
grep -q NoSuchKey "$TMP/s3.requests" || fail "not asked: $(cat "$TMP/s3.requests")"
grep -q ',"none","store",' "$TMP/m/.symfs/missing" || grep -q 'none.*store' "$TMP/m/.symfs/missing" ||
  fail "a miss is not remembered: $(cat "$TMP/m/.symfs/missing")"
for text in config sources activity missing stats; do
  grep -qF "$secret" "$TMP/m/.symfs/$text" && fail "the secret is in .symfs/$text"
done
grep -qF "$secret" "$TMP/m.log" && fail "the secret is in the log"
cp "$TMP/m/.symfs/config" "$TMP/told"
for line in 'type = s3' 'bucket = symbols' "endpoint = $s3" 'region = us-east-1'; do
  grep -qx "$line" "$TMP/told" || fail ".symfs/config lacks $line: $(cat "$TMP/told")"
done
"$SYMFS" why --ask "$TMP/m/$prog" >"$TMP/out" 2>&1
grep -qF "$secret" "$TMP/out" && fail "the secret is in why"
"$SYMFS" sources --no-default-sources --config "$TMP/told" >"$TMP/out" 2>&1 ||
  fail ".symfs/config does not read back: $(cat "$TMP/out")"
symfs_umount m

conf "endpoint = $s3" "$keys" 'prefix = /deep er//down/'
gets "$lib" "$TMP/p/full/libprog.so" "a prefix"
grep -q 'GET /symbols/deep%20er/down/lib%2B%2B%20%28x%3D1%29%20%26%20%C3%BC~%21.so/' "$TMP/s3.requests" ||
  fail "not encoded as it is signed: $(cat "$TMP/s3.requests")"
conf "endpoint = http://localhost:${s3##*:}" 'style = virtual' "$keys"
gets "$lib" "$TMP/p/full/libprog.so" "the bucket as a host"
s3_start far --region eu-central-1 --token T0/+ken==
conf "endpoint = $URL_far" "$keys" 'session-token = T0/+ken==' 'region = eu-central-1'
gets "$lib" "$TMP/p/full/libprog.so" "a session token and a region"
conf "endpoint = $URL_far" "$keys" 'session-token = T0/+ken=='
fails 3 "$prog" "another region"
grep -q 'source store refuses the request: HTTP 400: is the region us-east-1' "$TMP/err" ||
  fail "the region: $(cat "$TMP/err")"
conf "endpoint = $URL_far" "$keys" 'region = eu-central-1'
fails 3 "$prog" "no session token"

# ---- wrong keys ---------------------------------------------------------------------------------------
conf "endpoint = $s3" 'access-key = AKIDEXAMPLE' 'secret-key = wrong'
symfs_mount w --config "$TMP/conf"
for action in stat cat; do
  $action "$TMP/w/$prog" >/dev/null 2>"$TMP/err" && fail "$action with a wrong key"
  grep -q 'Permission denied' "$TMP/err" || fail "$action with a wrong key: $(cat "$TMP/err")"
done
grep -q 'source store refuses the request: HTTP 403' "$TMP/w.log" ||
  fail "the log names no source: $(cat "$TMP/w.log")"
grep -q 'SignatureDoesNotMatch' "$TMP/s3.requests" || fail "it was not the signature: $(cat "$TMP/s3.requests")"
[ "$(wc -l <"$TMP/w/.symfs/missing")" = 1 ] || fail "remembered as a miss: $(cat "$TMP/w/.symfs/missing")"
# Once the key is right, nothing of that counts.
conf "endpoint = $s3" "$keys"
kill -HUP "$PID_w"
wait_for cmp -s "$TMP/w/$prog" "$TMP/p/full/prog" || fail "the right key after a wrong one: $(cat "$TMP/w.log")"
symfs_umount w
conf "endpoint = $s3" 'access-key = NOBODY' "secret-key = $secret"
fails 3 "$prog" "a key that is not known"
s3_start shy --no-list
conf "endpoint = $URL_shy" "$keys" 'on-403 = miss'
gets "$prog" "$TMP/p/full/prog" "a store that may not be listed"
fails 1 symstore/none/elf-buildid-1122334455667788990011223344556677889900/none "a store that may not be listed"
conf "endpoint = $URL_shy" "$keys"
fails 3 symstore/none/elf-buildid-1122334455667788990011223344556677889900/none \
  "a store that may not be listed, refused"

# ---- where credentials are ------------------------------------------------------------------------------
conf "endpoint = $s3"
fails 3 "$prog" "no credentials"
grep -q 'source store: no credentials' "$TMP/err" || fail "no credentials: $(cat "$TMP/err")"
symfs why --ask "$prog"
grep -q 'no credentials' "$TMP/out" || fail "why: $(cat "$TMP/out")"
asked=$(wc -l <"$TMP/s3.requests")
fails 3 "$prog" "no credentials"
[ "$(wc -l <"$TMP/s3.requests")" = "$asked" ] || fail "asked without credentials"
AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=$secret gets "$prog" "$TMP/p/full/prog" "the environment"
conf
AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=$secret AWS_ENDPOINT_URL_S3=$s3 AWS_SESSION_TOKEN=x \
  AWS_REGION=us-east-1 gets "$prog" "$TMP/p/full/prog" "the environment's endpoint and region"
mkdir "$HOME/.aws"
cat >"$HOME/.aws/credentials" <<END
[default]
aws_access_key_id = AKIDOTHER
aws_secret_access_key = other
[team]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = $secret
[far]
aws_access_key_id=AKIDEXAMPLE
aws_secret_access_key=$secret
aws_session_token=T0/+ken==
END
cat >"$HOME/.aws/config" <<END
[default]
region = us-west-2
[profile team]
region = us-east-1
s3 =
    addressing_style = path
endpoint_url = $s3
[profile far]
region = eu-central-1
endpoint_url = $URL_far
END
conf "endpoint = $s3" 'region = us-east-1'
fails 3 "$prog" "the default profile, which is another's"
AWS_PROFILE=team gets "$prog" "$TMP/p/full/prog" "AWS_PROFILE"
conf 'profile = team'
gets "$prog" "$TMP/p/full/prog" "a profile, its region and its endpoint"
conf 'profile = far'
AWS_ACCESS_KEY_ID=AKIDOTHER AWS_SECRET_ACCESS_KEY=other AWS_REGION=us-east-1 \
  gets "$prog" "$TMP/p/full/prog" "a profile that the section names, although the environment says otherwise"
conf 'profile = team'
mv "$HOME/.aws/credentials" "$TMP/keys"
AWS_SHARED_CREDENTIALS_FILE=$TMP/keys gets "$prog" "$TMP/p/full/prog" "AWS_SHARED_CREDENTIALS_FILE"
chmod 644 "$TMP/keys"
AWS_SHARED_CREDENTIALS_FILE=$TMP/keys fails 2 "$prog" "credentials that others can read"
grep -q "chmod o-rwx $TMP/keys" "$TMP/err" || fail "how to mend it: $(cat "$TMP/err")"
chmod 600 "$TMP/keys"
conf "endpoint = $s3" "$keys"
chmod 644 "$TMP/conf"
fails 2 "$prog" "a secret in a file that others can read"

# ---- an anonymous bucket --------------------------------------------------------------------------------------
s3_start open --public
conf "endpoint = $URL_open" 'anonymous = yes'
AWS_ACCESS_KEY_ID=AKIDOTHER AWS_SECRET_ACCESS_KEY=other gets "$lib" "$TMP/p/full/libprog.so" "anonymous"
conf "endpoint = $s3" 'anonymous = yes'
fails 3 "$prog" "anonymous, where that is not enough"

# ---- a signature is for one server -------------------------------------------------------------------------
upstream_start away --root "$TMP/root" --heads "$TMP/away.heads"
upstream_start first --root "$TMP/root" --heads "$TMP/first.heads"
# shellcheck disable=SC2154
upstream_fault "$URL_first" "*" redirect "$URL_away/prog/elf-buildid-$id/prog"
conf "endpoint = $URL_first" "$keys" 'session-token = hunter2'
gets "$prog" "$TMP/p/full/prog" "a redirect"
grep -qi '^authorization: AWS4' "$TMP/first.heads" || fail "not signed: $(cat "$TMP/first.heads")"
[ -s "$TMP/away.heads" ] || fail "the redirect was not followed"
grep -qiE 'authorization|x-amz|hunter' "$TMP/away.heads" &&
  fail "a signature went elsewhere: $(cat "$TMP/away.heads")"

# ---- mistakes -----------------------------------------------------------------------------------------------
mistakes=0
while IFS='|' read -r words lines; do
  printf '[source "x"]\n%s\n' "$lines" | tr ';' '\n' >"$TMP/conf"
  symfs sources
  [ $? = 2 ] || fail "$lines is no mistake: $(cat "$TMP/out")"
  grep -qE "$words" "$TMP/err" || fail "$lines: $(cat "$TMP/err")"
  grep -q hunter "$TMP/err" && fail "$lines: a secret is shown: $(cat "$TMP/err")"
  mistakes=$((mistakes + 1))
done <<'END'
bucket = .*name of a bucket|type = s3
bucket = a/b.*name of a bucket|bucket = a/b
url.*endpoint and bucket|bucket = b;url = http://127.0.0.1:1/
endpoint.*http://HOST|bucket = b;endpoint = 127.0.0.1:1
endpoint.*http://HOST|bucket = b;endpoint = http://u:hunter2@127.0.0.1:1/
style = host: expected path or virtual|bucket = b;style = host
region = a/b|bucket = b;region = a/b
both of access-key and secret-key|bucket = b;secret-key = hunter2
no access-key beside it|bucket = b;secret-key = hunter2;access-key = a;anonymous = yes
END
[ $mistakes = 9 ] || fail "$mistakes mistakes"
exit 0
