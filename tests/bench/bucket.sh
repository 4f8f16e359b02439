#!/bin/sh
# Times `symfs serve` with a bucket of a real Ceph gateway: what the bucket adds to a cold file of 1 MiB, a file that
# another server has put there, requests of stored files, and `cache gc --bucket` of BENCH_KEYS keys (100,000), as
# far as BENCH_FILL_SECONDS (300) allow to make them. BENCH_FILES (200) is the number of files.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need curl awk shuf
files=${BENCH_FILES:-200} keys=${BENCH_KEYS:-100000} fill=${BENCH_FILL_SECONDS:-300}
unset http_proxy all_proxy ALL_PROXY
umask 077
ceph_start

# ---- files of 1 MiB, and four servers: no bucket, one that is only read, one that is written, and a reader of that
# ---
awk 'BEGIN {
  for (a = 64; made < 1048576; a += 16) {
    s = sprintf("PUBLIC %x 0 name_%d\n", a, a); printf "%s", s; made += length(s)
  }
}' >"$TMP/text"
i=0
while [ $i -lt "$files" ]; do
  id=$(echo "bench $i" | md5sum | cut -c1-32 | tr a-f A-F)0
  mkdir -p "$TMP/up/m$i.so/$id"
  { echo "MODULE Linux x86_64 $id m$i.so"; cat "$TMP/text"; } >"$TMP/up/m$i.so/$id/m$i.so.sym"
  echo "m$i.so/$id/m$i.so.sym" >>"$TMP/syms"
  i=$((i + 1))
done
upstream_start up --root "$TMP/up"
conf() { # NAME PREFIX READ-ONLY
  printf \
    '[bucket]\nendpoint = %s\nbucket = symbols\nprefix = %s\naccess-key = %s\nsecret-key = %s\nread-only = %s\n' \
    "$S3" "$2" "$ACCESS" "$SECRET" "$3" >"$TMP/$1.conf"
}
conf read empty yes
conf team team no
symfs_serve plain --source "breakpad@$URL_up"
symfs_serve read --source "breakpad@$URL_up" --config "$TMP/read.conf"
symfs_serve team --source "breakpad@$URL_up" --config "$TMP/team.conf"

timed() { # NAME PATH: appends milliseconds to $TMP/NAME.ms
  eval "td_url=\$URL_$1"
  # shellcheck disable=SC2154 # set by eval
  fetch_url --fail -o "$TMP/got" -w '%{time_total}\n' "$td_url/$2" >"$TMP/seconds" || fail "$1: $2"
  awk '{ printf "%.2f\n", $1 * 1000 }' "$TMP/seconds" >>"$TMP/$1.ms"
  same_file "$TMP/got" "$TMP/up/$2"
}
drained() { fetch_url "$URL_team/metrics" | grep -q '^symfs_bucket_queued_files 0$'; }
# shellcheck disable=SC2046 # a number a word
median_of() { median $(cat "$TMP/$1.ms"); }
less() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a - b }'; }
differences() { paste "$TMP/$1.ms" "$TMP/plain.ms" | awk '{ printf "%.2f\n", $1 - $2 }' >"$TMP/$2.ms"; }

n=0
while read -r sym; do
  n=$((n + 1))
  case $((n % 3)) in
  0) order='plain read team' ;;
  1) order='read team plain' ;;
  2) order='team plain read' ;;
  esac
  for name in $order; do
    timed "$name" "$sym"
    # The next request does not share the processor with the upload of this file.
    [ $name != team ] || wait_for drained || fail "the queue does not drain"
  done
done <"$TMP/syms"
for name in read team; do differences $name more-$name; done
tell "a cold file of 1 MiB without a bucket: median of $files" "$(median_of plain)" ms
tell "a cold file, a bucket that is only read: median of $files" "$(median_of read)" ms
tell "a cold file, a bucket that is written: median of $files" "$(median_of team)" ms
tell "what asking the bucket adds: difference of the medians" "$(less "$(median_of read)" "$(median_of plain)")" ms 10
tell "what a bucket that is written adds: difference of the medians" \
  "$(less "$(median_of team)" "$(median_of plain)")" ms 10
tell "what asking the bucket adds: median of the differences" "$(median_of more-read)" ms 10
tell "what a bucket that is written adds: median of the differences" "$(median_of more-team)" ms 10

# ---- stored files --------------------------------------------------------------------------------------------------
asked=$(ceph_requests)
sed "s|.*|url = \"$URL_team/&\"\noutput = /dev/null|" "$TMP/syms" >"$TMP/urls"
fetch_url --fail -K "$TMP/urls" || fail "a stored file"
tell "requests of the bucket for $files stored files" $(($(ceph_requests) - asked)) requests
[ "$(ceph_requests)" = "$asked" ] || fail "stored files cost requests of the bucket"

# ---- an empty server -----------------------------------------------------------------------------------------------
gets=$(upstream_count "$URL_up" get) asked=$(ceph_requests)
symfs_serve next --source "breakpad@$URL_up" --config "$TMP/team.conf"
while read -r sym; do timed next "$sym"; done <"$TMP/syms"
tell "a file of 1 MiB from the bucket: median of $files" "$(median_of next)" ms
tell "upstream requests of an empty server" $(($(upstream_count "$URL_up" get) - gets)) requests
[ "$(upstream_count "$URL_up" get)" = "$gets" ] || fail "an empty server asked upstream"
tell "requests of the bucket for $files files of an empty server" $(($(ceph_requests) - asked)) requests
for name in plain read team next; do symfs_unserve $name; done

# ---- garbage -------------------------------------------------------------------------------------------------------
# Every 100th file has no reference.
made=0 began=$(now_ms) batch=2000
: >"$TMP/none"
while [ $made -lt "$keys" ] && [ $(($(now_ms) - began)) -lt $((fill * 1000)) ]; do
  awk -v from=$made -v to=$((made + batch)) -v url="$S3/symbols/many" -v none="$TMP/none" '
    function put(name) { print "upload-file = \"" none "\"\nurl = \"" url "/" name "\"\noutput = /dev/null" }
    BEGIN { for (i = from; i < to; i++) {
      sha = sprintf("%08x%08x%048x", i * 2654435761 % 4294967296, i, i)
      put("b/" sha)
      if (i % 100) put("r/" sha "/" sprintf("%064x", i))
    } }' >"$TMP/puts"
  signed --fail --parallel --parallel-max 24 -K "$TMP/puts" >"$TMP/out" 2>"$TMP/err" ||
    fail "PUT: $(tail -n 1 "$TMP/err")"
  made=$((made + batch))
done
say "$made keys were made in $(($(now_ms) - began)) ms"
conf many many no
gc() { # ARGS...: sets took
  took=$(now_ms)
  # Without `timeout`: the memory of this process is measured.
  SYMFS_TEST_GRACE=0 "$SYMFS" cache gc --bucket "$@" --no-default-sources --config "$TMP/many.conf" \
    --cache "$TMP/store-gc" \
    >"$TMP/gc.out" 2>"$TMP/gc.err" &
  gc_pid=$!
  PIDS="$PIDS $gc_pid"
  until gone $gc_pid; do
    [ $(($(now_ms) - took)) -lt 600000 ] || fail "gc takes longer than ten minutes"
    awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$gc_pid/status" >"$TMP/now" 2>/dev/null && [ -s "$TMP/now" ] &&
      mv "$TMP/now" "$TMP/peak"
    nap
  done
  wait $gc_pid || fail "gc: $(cat "$TMP/gc.err")"
  took=$(($(now_ms) - took))
}
asked=$(ceph_requests)
gc --dry-run
asked=$(($(ceph_requests) - asked))
grep -q "^would remove $((made / 100)) of $made files" "$TMP/gc.out" || fail "gc: $(tail -n 1 "$TMP/gc.out")"
tell "gc of $made keys, nothing removed" $took ms
tell "its requests" $asked requests
tell "its most memory" "$(cat "$TMP/peak")" MiB 200
tell "projected for 1000000 keys" $((took * 1000 / made)) s
tell "projected requests for 1000000 keys" $((asked * 1000000 / made)) requests
asked=$(ceph_requests)
gc
grep -q "^removed $((made / 100)) " "$TMP/gc.out" || fail "gc: $(tail -n 1 "$TMP/gc.out")"
tell "gc that removes $((made / 100)) of $made files" $took ms
tell "its requests" $(($(ceph_requests) - asked)) requests
bounds_kept
