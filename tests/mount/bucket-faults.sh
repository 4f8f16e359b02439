#!/bin/sh
# Faults of a team's bucket, and of the queue for it: a bucket that vanishes loses no upload and no removal, and a
# file that the server cannot read holds up no other file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need sqlite3
. "$top_srcdir/tests/mount/bucket-lib.sh"
ROOT=$TMP/root
s3_start s3 "$ROOT"
bucket_conf 'timeout = 600s' >"$TMP/conf"
small_programs fa 6
export SYMFS_TEST_BUCKET_WAIT=3600000
symfs_serve a --config "$TMP/conf" --upload
symfs_serve b --config "$TMP/conf" --upload
is_in_bucket() { [ -e "$ROOT/b/$(sha "$1")" ] && grep -qs "$(sha "$1")" "$ROOT"/k/*; }
not_in_bucket() { ! grep -qs "$(sha "$1")" "$ROOT"/k/*; }
put() { # STATUS URL NUMBER
  got=$(code -T "$TMP/prog$3" "$2/$(path "$3")?class=${4:-try}")
  [ "$got" = "$1" ] || fail "the upload of file $3: $got, not $1: $(cat "$TMP/got")"
}

# ---- the bucket vanishes: NoSuchBucket for everything -----------------------------------------------------------
put 201 "$URL_a" 1
: >"$ROOT/.no-bucket"
put 503 "$URL_a" 2
[ "$(number "$URL_a" queued_files)" = 1 ] ||
  fail "an upload has left the queue: $(fetch_url "$URL_a/metrics" | grep bucket)"
wait_for grep -q 'the store does not have the bucket' "$TMP/a.log" ||
  fail "no word of the missing bucket: $(cat "$TMP/a.log")"
# A removal of a file, while there is no bucket: the 404 of its key is no miss.
code -X DELETE "$URL_a/$(path 1)" >/dev/null
listed() { grep -q '^GET /symbols/?list-type=2&max-keys=1.* 404 ' "$TMP/s3.requests"; }
wait_for listed || fail "the bucket is not looked for: $(tail -n 20 "$TMP/s3.requests")"
[ "$(sql a 'SELECT count(*) FROM outgone')" -ge 1 ] || fail "a removal is lost"
rm "$ROOT/.no-bucket"
wait_for drained "$URL_a" || fail "the queue does not drain when the bucket is back"
is_in_bucket 2 || fail "an upload is lost"
wait_for not_in_bucket 1 || fail "a removal is lost: $(find "$ROOT" -type f)"
settled() { [ "$(sql a 'SELECT count(*) FROM outgone')" = 0 ]; }
wait_for settled || fail "the removals stay queued: $(sql a 'SELECT * FROM outgone')"
[ "$(number "$URL_a" lost_files)" = 0 ] || fail "lost files"

# ---- files of the queue that cannot be read: missing, cut off; the others go on -----------------------------------
: >"$ROOT/.no-bucket"
for n in 3 4 5; do put 503 "$URL_a" $n; done
blob() { find "$TMP/store-a" -name "*$(sha "$1" | cut -c 5-)*" -type f ! -name '*.key' | head -n 1; }
for n in 3 4; do [ -n "$(blob $n)" ] || fail "where is file $n? $(find "$TMP/store-a" -type f)"; done
mv "$(blob 3)" "$TMP/away"
cut_off=$(blob 4)
chmod u+w "$cut_off"
truncate -s 100 "$cut_off" || fail truncate
rm "$ROOT/.no-bucket"
wait_for is_in_bucket 5 || fail "a broken file holds up the others: $(cat "$TMP/a.log")"
for n in 3 4; do
  wait_for grep -q "$(sha $n) cannot be put into the bucket.*stays queued" "$TMP/a.log" ||
    fail "no word of file $n: $(cat "$TMP/a.log")"
  [ ! -e "$ROOT/b/$(sha $n)" ] || fail "file $n is in the bucket"
done
counted() { [ "$(number "$URL_a" queued_files)" = 2 ] && [ "$(number "$URL_a" refused_files)" = 2 ]; }
wait_for counted ||
  fail "the broken files are not counted: $(fetch_url "$URL_a/metrics" | grep bucket)"
put 201 "$URL_a" 6

# ---- gc removes the objects by which servers that were killed at their start tested the bucket -------------------
mkdir -p "$ROOT/probe"
: >"$ROOT/probe/0123456789abcdef0123456789abcdef"
: >"$ROOT/probe/note"
gc() { env SYMFS_TEST_GRACE="$1" "$SYMFS" cache gc --bucket $2 --no-default-sources --config "$TMP/conf" \
  --cache "$TMP/store-gc" >"$TMP/out" 2>"$TMP/err"; }
gc 86400 || fail "gc: $(cat "$TMP/err")"
[ -e "$ROOT/probe/0123456789abcdef0123456789abcdef" ] || fail "gc removed a young probe"
gc 0 --dry-run || fail "gc: $(cat "$TMP/err")"
[ -e "$ROOT/probe/0123456789abcdef0123456789abcdef" ] || fail "gc --dry-run removed a probe"
gc 0 || fail "gc: $(cat "$TMP/err")"
[ ! -e "$ROOT/probe/0123456789abcdef0123456789abcdef" ] || fail "gc left a probe"
[ -e "$ROOT/probe/note" ] || fail "gc removed an object of another program"
: >"$ROOT/.no-bucket"
gc 0 && fail "gc without the bucket"
grep -q 'the store does not have the bucket' "$TMP/err" || fail "gc without the bucket: $(cat "$TMP/err")"
rm "$ROOT/.no-bucket"
for name in a b; do symfs_unserve $name; done
exit 0
