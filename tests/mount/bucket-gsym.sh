#!/bin/sh
# GSYM in a team's bucket: what one server has made, another one does not make again; wrong bytes in the bucket are
# thrown away, and the file is made.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need objcopy
. "$top_srcdir/tests/mount/bucket-lib.sh"
make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
mkdir -p "$TMP/up/buildid/$id"
cp "$TMP/p/debug/prog.debug" "$TMP/up/buildid/$id/debuginfo"
cp "$TMP/p/full/prog" "$TMP/up/buildid/$id/executable"
upstream_start up --root "$TMP/up"
s3_start s3 "$TMP/root"
bucket_conf 'timeout = 600s' '[symfs]' 'allow-unsandboxed = yes' '[source "up"]' "url = $URL_up" 'type = debuginfod' \
  >"$TMP/conf"
server() { SYMFS_DEBUG=fetch symfs_serve "$1" --config "$TMP/conf"; }
gsym() { fetch_url -o "$TMP/$2.gsym" "$1/gsym/gdb/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" |
  cut -c3-).debug.gsym"; } # URL NAME

server a
gsym "$URL_a" a || fail "no GSYM"
grep -q ' was made of ' "$TMP/a.log" || fail "it was not made: $(cat "$TMP/a.log")"
wait_for drained "$URL_a" || fail "the queue does not drain"
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

# A server that never had the GSYM purges the debug file: the GSYM ends in the bucket, too.
made() { grep -ls 'v1	gsym' "$TMP"/root/k/* "$TMP"/none; }
marks() { find "$TMP/root/m" -type f 2>/dev/null; }
rm -r "$TMP/root"
mkdir "$TMP/root"
SYMFS_TEST_BUCKET_WAIT=600000 SYMFS_DEBUG=fetch symfs_serve d --config "$TMP/conf" --upload
server e
gsym "$URL_e" e || fail "no GSYM in an empty bucket"
wait_for drained "$URL_e" || fail "the queue does not drain"
[ -n "$(made)" ] && [ -n "$(marks)" ] || fail "the bucket has no GSYM: $(find "$TMP/root")"
fetch_url -o "$TMP/got" "$URL_d/debuginfod/buildid/$id/debuginfo" || fail "the debug file"
purge() { fetch_url -o "$TMP/got" -w '%{http_code}' -X DELETE "$URL_d/debuginfod/buildid/$id/debuginfo"; }
got=$(purge)
[ "$got" = 204 ] || fail "DELETE: $got"
all_ended() { [ -z "$(made)$(marks)" ] && ! [ -e "$TMP/root/r/$sha" ] ||
  [ -z "$(made)$(marks)$(ls "$TMP/root/r/$sha")" ]; }
wait_for all_ended || fail "the GSYM of a purged file is still in the bucket: $(find "$TMP/root")"

# The tombstone of the GSYM on the server that purged both.
gsym "$URL_d" d || fail "no GSYM on the server that purged"
wait_for drained "$URL_d" || fail "the queue does not drain"
got=$(purge)
[ "$got" = 204 ] || fail "the second DELETE: $got"
wait_for all_ended || fail "the GSYM is still in the bucket: $(find "$TMP/root")"
"$SYMFS" why --no-default-sources --cache "$TMP/store-d" \
  "gsym/gdb/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug.gsym" >"$TMP/why" 2>&1
grep -q 'purged by' "$TMP/why" || fail "why does not tell of the purge: $(cat "$TMP/why")"

# A mark whose file left the bucket otherwise: gc ends what was made of it.
gsym "$URL_d" f || fail "no GSYM after the purge"
wait_for drained "$URL_d" || fail "the queue does not drain"
for mark in "$TMP"/root/m/*; do rm "$TMP/root/b/${mark##*/}"; done
gc() { env SYMFS_TEST_GRACE="$1" "$SYMFS" cache gc --bucket --no-default-sources --config "$TMP/conf" \
  --cache "$TMP/store-gc" >"$TMP/out" 2>&1; }
gc 86400 && [ -n "$(made)" ] || fail "gc removed a young mark: $(cat "$TMP/out")"
gc 0 && grep -q '1 GSYM files of removed files ended' "$TMP/out" || fail "gc: $(cat "$TMP/out")"
[ -z "$(made)$(marks)" ] || fail "gc left a GSYM: $(find "$TMP/root")"
for name in d e; do symfs_unserve $name; done
exit 0
