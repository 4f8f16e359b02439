#!/bin/sh
# A dead server costs one bounded wait, once: the first look-up ends at its deadline, the next fifty
# ask no server, and symfs reports the reason. The server either does not accept
# connections or does not answer.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl
need_mount

mkdir "$TMP/root"
upstream_start deaf --no-accept
upstream_start silent --root "$TMP/root"
upstream_fault "$URL_silent" '/*' silent

# fifty MOUNT FIRST: distinct names, each looked up once, by one program that does not stop at errors.
fifty() {
  f_mount=$1 f_first=$2
  set --
  for n in $(seq "$f_first" $((f_first + 49))); do set -- "$@" \
    "$f_mount/.build-id/ab/$(printf '%038d' "$n").debug"; done
  stat "$@" >"$TMP/fifty.out" 2>"$TMP/fifty.err"
}

for which in deaf silent; do
  eval "url=\$URL_$which"
  # Nothing but the deadline ends the first look-up.
  symfs_mount "$which" --source "debuginfod@$url" --lookup-deadline 3s --connect-timeout 3600s \
    --stall-timeout 3600s --breaker-seconds 3600s
  eval "mnt=\$MNT_$which"
  stat "$mnt/.build-id/ab/$(printf '%038d' 1).debug" >/dev/null 2>"$TMP/first.err" && fail "$which: found"
  grep -q 'No such file' "$TMP/first.err" && fail "$which: silence is no answer"
  [ "$(stat_of "$mnt" timeouts)" = 1 ] || fail "$which: $(stat_of "$mnt" timeouts) deadlines passed, wanted 1"

  asked=$(stat_of "$mnt" requests)
  fifty "$mnt" 100
  [ "$(stat_of "$mnt" requests) $(stat_of "$mnt" timeouts)" = "$asked 1" ] ||
    fail "$which: the next fifty asked $(stat_of "$mnt" requests) times, $asked wanted"
  [ "$(grep -c 'No route to host' "$TMP/fifty.err")" = 50 ] || fail "$which: $(sort "$TMP/fifty.err" | head -n 3)"

  grep -q 'failing, retry in .* s: .' "$mnt/.symfs/sources" ||
    fail "$which: not to be seen in sources: $(cat "$mnt/.symfs/sources")"
  grep -q 'skipped (failing, retry in' "$mnt/.symfs/why/debuginfod/buildid/ab$(printf '%038d' 7)/debuginfo" ||
    fail "$which: not to be seen in why"
  since='since 20[0-9-]*T[0-9:]*Z)'
  for seen in sources "why/debuginfod/buildid/ab$(printf '%038d' 7)/debuginfo"; do
    grep -q "failing, .*$since" "$mnt/.symfs/$seen" || fail "$which: since when is not in $seen"
  done
  [ "$(grep -c "${url%/}: failing, retry in .*$since" "$TMP/$which.log")" = 1 ] ||
    fail "$which: not once in the log: $(cat "$TMP/$which.log")"
  [ "$(wc -l <"$mnt/.symfs/missing")" = 1 ] || fail "$which: remembered as missing: $(cat "$mnt/.symfs/missing")"
  # `why --ask` reports the failure, too, and ends.
  "$SYMFS" why --ask --no-default-sources --cache "$TMP/store-$which" --source "debuginfod@$url" \
    --connect-timeout 2s --stall-timeout 2s "debuginfod/buildid/ab$(printf '%038d' 7)/debuginfo" >"$TMP/why.out" ||
    fail "$which: why --ask"
  grep -q 'failed.*:' "$TMP/why.out" || fail "$which: why --ask says $(cat "$TMP/why.out")"
done

# A server that has never answered has less time: connect-timeout, and a tenth of it once it has failed. Otherwise the
# look-ups would wait for an hour.
upstream_clear "$URL_silent"
upstream_hold "$URL_silent" '/*' 0
symfs_mount first --source "debuginfod@$URL_silent" --lookup-deadline 3600s --connect-timeout 2s \
  --stall-timeout 3600s --breaker-seconds 1s
one() { stat "$MNT_first/.build-id/ab/$(printf '%038d' "$1").debug" >/dev/null 2>"$TMP/first.err"; }
one 300 && fail "silent: found"
grep -q 'timed out' "$TMP/first.err" || fail "a server that never answered: $(cat "$TMP/first.err")"
again() { n=$((n + 1)) && ! one $n && grep -q 'timed out' "$TMP/first.err"; }
n=300
wait_for again || fail "it was not tried again: $(cat "$TMP/first.err")"
# The answers come at last, and are not lost.
upstream_clear "$URL_silent"
upstream_go "$URL_silent"
arrives() { one 300 || grep -q 'No such file' "$TMP/first.err"; }
wait_for arrives || fail "no answer of a server that is there again: $(cat "$TMP/first.err")"
symfs_umount first

# Neither statfs nor a listing asks a server.
for mnt in "$MNT_deaf" "$MNT_silent"; do
  stat -f "$mnt" >/dev/null || fail "statfs of $mnt"
  ls -R "$mnt" >/dev/null || fail "ls -R $mnt"
done
symfs_umount deaf
symfs_umount silent
