#!/bin/sh
# GSYM in a team's bucket: what one server has made, another one does not make again; wrong bytes in the bucket are
# thrown away, and the file is made.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy curl
unset http_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION \
  AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
umask 077
make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
mkdir -p "$TMP/root" "$TMP/up/buildid/$id"
cp "$TMP/p/debug/prog.debug" "$TMP/up/buildid/$id/debuginfo"
cp "$TMP/p/full/prog" "$TMP/up/buildid/$id/executable"
upstream_start up --root "$TMP/up"
"$top_builddir/tests/helpers/s3" --root "$TMP/root" --bucket symbols --access-key A --secret-key S3CR3T \
  --log "$TMP/s3.requests" >"$TMP/s3.out" 2>"$TMP/s3.log" &
PIDS="$PIDS $!"
wait_for 10 grep -q 'listening on' "$TMP/s3.out" || fail "s3 did not start"
printf '[symfs]\nallow-unsandboxed = yes\n[bucket]\nendpoint = %s\nbucket = symbols\naccess-key = A\nsecret-key = S3CR3T\n[source "up"]\nurl = %s\ntype = debuginfod\n' \
  "$(sed -n 's/^listening on //p' "$TMP/s3.out")" "$URL_up" >"$TMP/conf"
server() { SYMFS_DEBUG=fetch symfs_serve "$1" --config "$TMP/conf"; }
gsym() { fetch_url -o "$TMP/$2.gsym" "$1/gsym/gdb/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug.gsym"; } # URL NAME
drained() { fetch_url "$1/metrics" | grep -q '^symfs_bucket_queued_files 0$'; }

server a
gsym "$URL_a" a || fail "no GSYM"
grep -q ' was made of ' "$TMP/a.log" || fail "it was not made: $(cat "$TMP/a.log")"
wait_for 30 drained "$URL_a" || fail "the queue does not drain"
before=$(upstream_count "$URL_up" get)
server b
gsym "$URL_b" b || fail "no GSYM on the other server"
same_file "$TMP/a.gsym" "$TMP/b.gsym"
grep -q ' was made of ' "$TMP/b.log" && fail "the other server made it again"
grep -q 'from the bucket' "$TMP/b.log" || fail "it did not come from the bucket: $(cat "$TMP/b.log")"
[ "$(upstream_count "$URL_up" get)" = "$before" ] || fail "upstream was asked"

# The bytes in the bucket are wrong.
sha=$(sha256sum <"$TMP/a.gsym" | cut -d' ' -f1)
[ -f "$TMP/root/b/$sha" ] || fail "the bucket does not have it"
printf 'x' | dd of="$TMP/root/b/$sha" bs=1 seek=100 conv=notrunc 2>/dev/null
server c
gsym "$URL_c" c || fail "no GSYM with wrong bytes in the bucket"
same_file "$TMP/a.gsym" "$TMP/c.gsym"
grep -q ' was made of ' "$TMP/c.log" || fail "it was not made here: $(cat "$TMP/c.log")"
for name in a b c; do symfs_unserve $name; done
exit 0
