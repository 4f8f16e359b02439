#!/bin/sh
# Eight readers read far more than the quota through one mount. Every byte is right, the disk never
# holds more than the quota, open files and running downloads, and no reader gets an error of a full
# disk. SYMFS_EVICT_MB is how much is read (600). For a long run set it to 10000, with
# SYMFS_EVICT_QUOTA_MB=200.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl

READ_MB=${SYMFS_EVICT_MB:-600} QUOTA_MB=${SYMFS_EVICT_QUOTA_MB:-30}
MEAN=2000000 READERS=8
READER=$top_builddir/tests/helpers/read-virtual
upstream_start up --virtual $MEAN
symfs_mount m --quota "${QUOTA_MB}M" --source "breakpad@$URL_up"
store=$TMP/store-m

# Each reader holds one file open, and may wait for one more that is still a draft; no file is
# larger than seven quarters of the mean.
most_kb=$((QUOTA_MB * 1024 + READERS * 2 * MEAN * 7 / 4 / 1024))
"$READER" --dir "$MNT_m/breakpad" --alive "$MNT_m/.symfs/version" --mean $MEAN --files 3000 \
  --threads $READERS --bytes $((READ_MB * 1000000)) --most-ms 600000 >"$TMP/reader.out" 2>&1 &
reader=$!
PIDS="$PIDS $reader"
high=0 looks=0
look() {
  kb=$(du -sk "$store/blobs" "$store/partial" 2>/dev/null | awk '{ n += $1 } END { print n }')
  [ "$kb" -le "$high" ] || high=$kb
  looks=$((looks + 1))
}
while ! gone $reader; do
  look
  nap
done
wait $reader
rc=$?
look
tail -n 1 "$TMP/reader.out"
say "the disk held at most $((high / 1024)) MB in $looks looks; the quota is $QUOTA_MB MB, allowed were" \
  "$((most_kb / 1024))"
[ $rc = 0 ] || fail "the reader: $(grep -v '^files' "$TMP/reader.out" | head -n 5)"
grep -q ' errors 0$' "$TMP/reader.out" || fail "a reader heard of errors"
[ "$high" -le "$most_kb" ] || fail "$high kB are more than $most_kb"
[ "$high" -ge $((QUOTA_MB * 1024 / 2)) ] || fail "the quota was never in sight: this proves nothing"
got=$(upstream_count "$URL_up" bytes)
[ "$got" -gt $((QUOTA_MB * 3000000)) ] || fail "only $got bytes were fetched: nothing had to go"
symfs_umount m
kb=$(du -sk "$store/blobs" | cut -f1)
[ "$kb" -le $((QUOTA_MB * 1024 + 4096)) ] || fail "$kb kB are left"
"$SYMFS" cache verify --cache "$store" >"$TMP/verify.out" 2>&1 || fail "verify: $(cat "$TMP/verify.out")"
