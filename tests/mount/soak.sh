#!/bin/sh
# A long run under faults: sixteen readers that check every byte, an upstream that fails at random
# in every way it has, and a daemon that is killed again and again. There is no wrong byte, no false
# "not there", and no descriptor left over. On a machine without other work, SYMFS_SOAK_MOST_MS=20000 bounds the time
# of each answer, too: the look-up, then a body that stalls, then the same from the second source.
#	SYMFS_SOAK_SECONDS=1800 SYMFS_SOAK_KILL=60 tests/mount/soak.sh
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl

SECONDS_LONG=${SYMFS_SOAK_SECONDS:-60} KILL_EVERY=${SYMFS_SOAK_KILL:-15}
MEAN=400000
now_ms() { echo $(($(date +%s%N) / 1000000)); }
READER=$top_builddir/tests/helpers/read-virtual
MOST_MS=${SYMFS_SOAK_MOST_MS:-600000}
limits='--lookup-deadline 3s --connect-timeout 2s --stall-timeout 2s --breaker-seconds 1s'
upstream_start bad --virtual $MEAN
upstream_start good --virtual $MEAN
echo '<html>Log in first</html>' >"$TMP/login"

start_mount() {
  # shellcheck disable=SC2086
  symfs_mount m --quota 40M $limits --source "breakpad@$URL_bad" --source "breakpad@$URL_good"
}

dice() { echo $(($(od -An -N2 -tu2 /dev/urandom) % $1)); }

# (A body without a length that ends early is not among them: in a Breakpad file that cannot be seen.)
# One fault for files whose number ends in a given digit, on one of the two servers. The other server always
# works, so that no file is ever missing.
new_fault() {
  upstream_clear "$URL_bad"
  upstream_clear "$URL_good"
  nf_url=$URL_bad
  [ "$(dice 2)" = 0 ] || nf_url=$URL_good
  nf_glob="/v*$(dice 10).so/*"
  case $(dice 12) in
  0) upstream_fault "$nf_url" "$nf_glob" status 503 ;;
  1) upstream_fault "$nf_url" "$nf_glob" status 403 ;;
  2) upstream_fault "$nf_url" "$nf_glob" html ;;
  3) upstream_fault "$nf_url" "$nf_glob" cut "$(dice 60000)" ;;
  4) upstream_fault "$nf_url" "$nf_glob" bad-range ;;
  5) upstream_fault "$nf_url" "$nf_glob" silent ;;
  6) upstream_fault "$nf_url" "$nf_glob" silent-after "$(dice 60000)" ;;
  7) upstream_fault "$nf_url" "$nf_glob" reset "$(dice 60000)" ;;
  8) upstream_fault "$nf_url" "$nf_glob" slow 1500 ;;
  9) upstream_fault "$nf_url" "$nf_glob" wrong-length 100 ;;
  10) upstream_fault "$nf_url" "$nf_glob" garbage ;;
  11) upstream_fault "$nf_url" "$nf_glob" redirect loop ;;
  esac
}

descriptors() { find "/proc/$PID_m/fd" -mindepth 1 2>/dev/null | wc -l; }
rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$PID_m/status" 2>/dev/null; }

start_mount
fds_before=$(descriptors)
"$READER" --dir "$MNT_m/breakpad" --alive "$MNT_m/.symfs/version" --mean $MEAN --files 400 --threads 16 \
  --seconds "$SECONDS_LONG" --most-ms $MOST_MS >"$TMP/reader.out" 2>&1 &
reader=$!
PIDS="$PIDS $reader"
end=$(($(now_ms) + SECONDS_LONG * 1000)) next_kill=$(($(now_ms) + KILL_EVERY * 1000)) next_fault=0
kills=0 faults=0 rss=''
while ! gone $reader; do
  now=$(now_ms)
  if [ "$now" -ge "$next_fault" ]; then
    new_fault
    faults=$((faults + 1)) next_fault=$((now + 1000))
  fi
  if [ "$now" -ge "$next_kill" ] && [ $((end - now)) -gt 5000 ]; then
    rss="$rss $(rss_kb)"
    kill -KILL "$PID_m"
    wait_gone "$PID_m" || fail "the daemon survives SIGKILL"
    wait "$PID_m" 2>/dev/null
    start_mount
    kills=$((kills + 1)) next_kill=$((now + KILL_EVERY * 1000))
  fi
  nap
done
wait $reader
rc=$?
tail -n 1 "$TMP/reader.out"
say "$kills kills, $faults faults; RSS before each kill, kB:$rss, at the end $(rss_kb)"
[ $rc = 0 ] || fail "the reader: $(grep -v '^files' "$TMP/reader.out" | head -n 5)"
[ $kills -ge 1 ] || fail "too few kills to prove anything"
upstream_clear "$URL_bad"
upstream_clear "$URL_good"

# Without readers, all files are closed. Few descriptors may stay open (idle connections, readers of the
# index); a leak in thousands of files would be more.
fds_few() { [ "$(descriptors)" -le $((fds_before + 64)) ]; }
wait_for fds_few || fail "$(descriptors) descriptors, $fds_before at the beginning:
$(ls -l "/proc/$PID_m/fd")"
say "descriptors: $fds_before at the beginning, $(descriptors) at the end"
symfs_umount m
"$SYMFS" cache verify --cache "$TMP/store-m" >"$TMP/verify.out" 2>&1 || fail "verify: $(cat "$TMP/verify.out")"
