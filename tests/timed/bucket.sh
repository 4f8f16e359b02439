#!/bin/sh
# Times of a team's bucket: other servers find an upload within two seconds, also where a miss was remembered.
# A bucket that does not answer costs a short wait. Without a bucket an upload is refused soon, the next one at once.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/timed/lib.sh"
. "$top_srcdir/tests/mount/bucket-lib.sh"
s3_start s3 "$TMP/root"
small_programs ce 4
mkdir -p "$TMP/up/buildid/$(id 2)"
cp "$TMP/prog2" "$TMP/up/buildid/$(id 2)/executable"
upstream_start up --root "$TMP/up"
bucket_conf '[source "up"]' "url = $URL_up" 'type = debuginfod' >"$TMP/conf"
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
