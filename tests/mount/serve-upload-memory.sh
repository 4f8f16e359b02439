#!/bin/sh
# The bounds of uploads in numbers: the memory of `symfs serve` while it receives a file of 1 GB, while 64 clients
# send slowly, and with 1,000 connections that sent the head of an upload and no more.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc readelf objcopy
RUDE=$top_builddir/tests/helpers/rude-client
MIB=${UPLOAD_MIB:-954} # 10^9 bytes
[ "$(df -Pm "$TMP" | awk 'NR == 2 { print $4 }')" -gt $((3 * MIB + 500)) ] ||
  skip "less than $((3 * MIB + 500)) MiB free in $TMP"

memory() { sed -n "s/^$1:[^0-9]*\([0-9]*\).*/\1/p" "/proc/$PID_one/status"; }
reset_peak() { echo 5 >"/proc/$PID_one/clear_refs"; }
drafts() { find "$TMP/store-one/partial" -type f | wc -l; }

make_program "$TMP/a" prog
ID=$(build_id "$TMP/a/full/prog")
head -c "${MIB}M" /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$TMP/a/full/prog" "$TMP/large" || fail objcopy
rm "$TMP/noise"

symfs_serve one --upload --idle-seconds 100
U=$URL_one PORT=${URL_one##*:}
grep -q -e libasan -e libtsan "/proc/$PID_one/maps" && skip "a sanitizer needs memory of its own"
# Once, so that each thread has begun and each library is loaded.
fetch_url -o /dev/null -T "$TMP/a/bin/prog" "$U/buildid/$ID/executable" || fail "PUT"
fetch_url -o /dev/null -X DELETE "$U/buildid/$ID/executable" || fail "DELETE"
reset_peak 2>/dev/null || skip "the peak of memory cannot be reset"
idle=$(memory VmRSS)

# ---- one large file ---------------------------------------------------------------------------
said=$(curl -gsS --noproxy '*' -T "$TMP/large" "$U/buildid/$ID/executable") || fail "PUT of the large file"
peak=$(memory VmHWM)
say "an upload of" \
  "$(wc -c <"$TMP/large") bytes: memory $idle kB idle, $peak kB at its peak: $((peak - idle)) kB above idle"
[ "${said%% *}" = added ] || fail "$said"
[ $((peak - idle)) -le 32768 ] || fail "$((peak - idle)) kB above idle; at most 32768"
fetch_url -o "$TMP/back" "$U/buildid/$ID/executable" || fail GET
same_file "$TMP/back" "$TMP/large"
rm "$TMP/back"
fetch_url -o /dev/null -X DELETE "$U/buildid/$ID/executable" || fail DELETE

# ---- as many uploads as the server receives at the same time ----------------------------------
reset_peak
for _ in $(seq 64); do
  curl -gsS --noproxy '*' -H Expect: --limit-rate 500000 -T "$TMP/large" "$U/buildid/$ID/executable" >/dev/null 2>&1 &
  PIDS="$PIDS $!" SLOW="${SLOW:-} $!"
done
wait_for eval '[ "$(drafts)" = 64 ]' || fail "$(drafts) drafts of 64 uploads"
got=$(curl -gsS --noproxy '*' -o "$TMP/said" -w '%{http_code}' -T "$TMP/large" "$U/buildid/$ID/executable") ||
  fail "the 65th upload"
[ "$got" = 503 ] && grep -q 'too many uploads' "$TMP/said" || fail "the 65th upload: $got $(cat "$TMP/said")"
many=$(memory VmRSS)
say "64 uploads at the same time: $((many - idle)) kB above idle; the 65th got $got"
[ $((many - idle)) -le 49152 ] || fail "$((many - idle)) kB above idle; at most 49152"
# shellcheck disable=SC2086
kill -9 $SLOW
wait_for eval '[ "$(drafts)" = 0 ]' || fail "$(drafts) drafts after 64 clients were killed"

# ---- 1,000 connections that send a head, and no body -------------------------------------------
before=$(memory VmRSS)
mkfifo "$TMP/hold"
"$RUDE" "$PORT" idle 1000 "PUT /buildid/$ID/executable" <"$TMP/hold" >"$TMP/idle.out" &
PIDS="$PIDS $!"
exec 3>"$TMP/hold"
wait_for grep -q open "$TMP/idle.out" || fail "1,000 connections: $(cat "$TMP/idle.out")"
now=$(memory VmRSS)
say "1,000 idle upload connections: $((now - before)) kB more; $(((now - before) / 1000)) kB each"
[ $((now - before)) -le 98304 ] || fail "$((now - before)) kB for 1,000 connections; at most 98304"
[ "$(drafts)" = 0 ] || fail "$(drafts) drafts of clients that sent no byte"
# They do not keep an upload out, and the server closes them in time.
fetch_url -o /dev/null -T "$TMP/a/bin/prog" "$U/buildid/$ID/executable" || fail "PUT beside 1,000 idle connections"
wait_for eval '[ "$(ls "/proc/$PID_one/fd" | wc -l)" -lt 200 ]' || fail "idle uploads are not closed"
exec 3>&-
symfs_unserve one
