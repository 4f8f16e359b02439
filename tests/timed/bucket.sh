#!/bin/sh
# Times of a team's bucket: other servers find an upload within two seconds, also where a miss was remembered.
# A bucket that does not answer costs a short wait. Without a bucket an upload is refused soon, the next one at once.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/timed/lib.sh"
need gcc curl
unset http_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE \
  AWS_REGION \
  AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
umask 077
mkdir "$TMP/root"
"$top_builddir/tests/helpers/s3" --root "$TMP/root" --bucket symbols --access-key A --secret-key S3CR3T \
  >"$TMP/s3.out" 2>"$TMP/s3.log" &
s3_pid=$!
PIDS="$PIDS $s3_pid"
wait_for grep -q 'listening on' "$TMP/s3.out" || fail "s3 did not start"
echo 'int main(void) { return 0; }' >"$TMP/p.c"
id() { printf 'ce%02d%036d' "$1" 9; }
for n in 1 2 3 4; do
  ${CC_PLAIN:-gcc} -g -DN=$n -Wl,--build-id=0x"$(id $n)" -o "$TMP/prog$n" "$TMP/p.c" || fail gcc
done
mkdir -p "$TMP/up/buildid/$(id 2)"
cp "$TMP/prog2" "$TMP/up/buildid/$(id 2)/executable"
upstream_start up --root "$TMP/up"
cat >"$TMP/conf" <<END
[bucket]
endpoint = $(sed -n 's/^listening on //p' "$TMP/s3.out")
bucket = symbols
access-key = A
secret-key = S3CR3T
[source "up"]
url = $URL_up
type = debuginfod
END
symfs_serve a --config "$TMP/conf" --upload
symfs_serve b --config "$TMP/conf"
code() { fetch_url -D "$TMP/head" -o "$TMP/got" -w '%{http_code}' "$@"; }
# gives STATUS SERVER NUMBER [CURL-ARGS...]
gives() {
  gi_want=$1 gi_url=$2/debuginfod/buildid/$(id "$3")/executable
  shift 3
  [ "$(code "$@" "$gi_url")" = "$gi_want" ]
}

gives 404 "$URL_b" 1 || fail "a missing file: $(cat "$TMP/got")"
gives 201 "$URL_a" 1 -T "$TMP/prog1" || fail "the upload: $(cat "$TMP/got")"
within 2000 wait_for gives 200 "$URL_b" 1
say "an upload is found on another server after $took ms"

kill -STOP $s3_pid
within 500 gives 200 "$URL_b" 1
[ $status = 0 ] || fail "a stored file while the bucket is stopped"
within 3000 gives 200 "$URL_b" 2
[ $status = 0 ] || fail "a cold file while the bucket is stopped"
say "a cold file while the bucket is stopped: $took ms"

kill -9 $s3_pid
within 10000 gives 503 "$URL_a" 3 -T "$TMP/prog3"
[ $status = 0 ] || fail "an upload without a bucket: $(cat "$TMP/got")"
say "the first upload without a bucket is refused after $took ms"
within 1000 gives 503 "$URL_a" 4 -T "$TMP/prog4"
[ $status = 0 ] || fail "the next upload without a bucket: $(cat "$TMP/got")"
symfs_unserve a
symfs_unserve b
