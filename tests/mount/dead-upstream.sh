#!/bin/sh
# A dead server costs one bounded wait, once: the first look-up ends at its deadline, the next fifty
# together take less than a second, and symfs reports the reason. The server either does not accept
# connections or does not answer.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl
need_mount

mkdir "$TMP/root"
upstream_start deaf --no-accept
upstream_start silent --root "$TMP/root"
upstream_fault "$URL_silent" '/*' silent
DEADLINE=3000

# fifty MOUNT FIRST: distinct names, each looked up once, by one program that does not stop at errors.
fifty() {
  f_mount=$1 f_first=$2
  set --
  for n in $(seq "$f_first" $((f_first + 49))); do set -- "$@" "$f_mount/.build-id/ab/$(printf '%038d' "$n").debug"; done
  stat "$@" >"$TMP/fifty.out" 2>"$TMP/fifty.err"
}

for which in deaf silent; do
  eval "url=\$URL_$which"
  # The machine may be busy with other things: the best of three, each with a mount that knows nothing.
  for try in 1 2 3; do
    [ $try = 1 ] || symfs_umount "$which"
    rm -rf "$TMP/store-$which"
    symfs_mount "$which" --source "debuginfod@$url" --lookup-deadline 3s --connect-timeout 60s --stall-timeout 60s
    eval "mnt=\$MNT_$which"
    from=$(now_ms)
    stat "$mnt/.build-id/ab/$(printf '%038d' 1).debug" >/dev/null 2>"$TMP/first.err" && fail "$which: found"
    took=$(($(now_ms) - from))
    say "$which: the first took $took ms"
    [ $took -gt $((DEADLINE + 1000)) ] || break
  done
  [ $took -le $((DEADLINE + 1000)) ] || fail "$which: the first lookup took $took ms"
  grep -q 'No such file' "$TMP/first.err" && fail "$which: silence is no answer"
  [ "$(stat_of "$mnt" timeouts)" = 1 ] || fail "$which: $(stat_of "$mnt" timeouts) deadlines passed, wanted 1"

  # The machine may be busy with other things: one of ten fifties has to be that fast.
  took=9999
  for first in $(seq 100 100 1000); do
    [ $took -le 1000 ] && break
    from=$(now_ms)
    fifty "$mnt" $first
    took=$(($(now_ms) - from))
    say "$which: the next fifty took $took ms"
  done
  [ $took -le 1000 ] || fail "$which: the next fifty lookups took $took ms"
  [ "$(grep -c 'No route to host' "$TMP/fifty.err")" = 50 ] || fail "$which: $(sort "$TMP/fifty.err" | head -n 3)"

  grep -q 'failing, retry in .* s: .' "$mnt/.symfs/sources" ||
    fail "$which: not to be seen in sources: $(cat "$mnt/.symfs/sources")"
  grep -q 'skipped (failing, retry in' "$mnt/.symfs/why/debuginfod/buildid/ab$(printf '%038d' 7)/debuginfo" ||
    fail "$which: not to be seen in why"
  [ "$(wc -l <"$mnt/.symfs/missing")" = 1 ] || fail "$which: remembered as missing: $(cat "$mnt/.symfs/missing")"
  # `why --ask` reports the failure, too, and ends.
  from=$(now_ms)
  "$SYMFS" why --ask --no-default-sources --cache "$TMP/store-$which" --source "debuginfod@$url" \
    --connect-timeout 2s --stall-timeout 2s "debuginfod/buildid/ab$(printf '%038d' 7)/debuginfo" >"$TMP/why.out" ||
    fail "$which: why --ask"
  grep -q 'failed.*:' "$TMP/why.out" || fail "$which: why --ask says $(cat "$TMP/why.out")"
  [ $(($(now_ms) - from)) -le 15000 ] || fail "$which: why --ask took $(($(now_ms) - from)) ms"
done

# Neither statfs nor a listing asks a server.
for mnt in "$MNT_deaf" "$MNT_silent"; do
  timeout 10 stat -f "$mnt" >/dev/null || fail "statfs of $mnt"
  timeout 10 ls -R "$mnt" >/dev/null || fail "ls -R $mnt"
done
symfs_umount deaf
symfs_umount silent
