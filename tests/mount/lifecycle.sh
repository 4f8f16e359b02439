#!/bin/sh
# The life of a daemon: signals, reload, notifications to systemd, and an unmount while a file is
# still open.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl flock script
need_mount

for p in one two three; do make_program "$TMP/made" $p; done
head -c 6000000 /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$TMP/made/debug/one.debug" || fail objcopy
mkdir "$TMP/first" "$TMP/second"
put_gdb "$TMP/first" "$TMP/made/debug/one.debug" .debug
put_gdb "$TMP/second" "$TMP/made/debug/two.debug" .debug
put_gdb "$TMP/second" "$TMP/made/debug/three.debug" .debug
one=$(gdb_path "$(build_id "$TMP/made/full/one")" .debug)
two=$(gdb_path "$(build_id "$TMP/made/full/two")" .debug)
three=$(gdb_path "$(build_id "$TMP/made/full/three")" .debug)
upstream_start first --root "$TMP/first"
upstream_start second --root "$TMP/second"
upstream_start silent --root "$TMP/first"
upstream_fault "$URL_silent" '/*' silent

ended() { # WHAT: the daemon of the mount m is gone, with 0, and so is the mount
  wait_gone "$PID_m" || fail "$1: the daemon goes on"
  wait "$PID_m" || fail "$1: the daemon ended with $?"
  mountpoint -q "$MNT_m" 2>/dev/null && fail "$1: still mounted"
  grep -q " $MNT_m " /proc/self/mountinfo && fail "$1: in the mount table"
}

# ---- signals that end it -----------------------------------------------------------------------
for signal in TERM INT; do
  symfs_mount m --source "gdb@$URL_first"
  cat "$MNT_m/$one" >"$TMP/copy" || fail "$signal: read"
  same_file "$TMP/copy" "$TMP/first/$one"
  kill -$signal "$PID_m"
  ended "SIG$signal"
done

# Also while a reader waits for a silent server: it gets an error.
symfs_mount m --source "gdb@$URL_silent" --lookup-deadline 600s --stall-timeout 600s
stat "$MNT_m/$two" >"$TMP/waits.out" 2>"$TMP/waits.err" &
waits=$!
wait_for grep -q '^fs_waiting 1' "$MNT_m/.symfs/stats" || fail "no request waits"
kill -TERM "$PID_m"
ended "SIGTERM while a reader waits"
wait_gone $waits || fail "SIGTERM: the reader waits on"
wait $waits && fail "SIGTERM: the reader got no error"
grep -q 'No such file' "$TMP/waits.err" && fail "SIGTERM: an end is no answer: $(cat "$TMP/waits.err")"

# And while a file is open.
symfs_mount m --source "gdb@$URL_first"
exec 8<"$MNT_m/$one"
kill -TERM "$PID_m"
wait_gone "$PID_m" || fail "SIGTERM with an open file: the daemon goes on"
wait "$PID_m" || fail "SIGTERM with an open file: $?"
exec 8<&-
mountpoint -q "$MNT_m" 2>/dev/null && fail "SIGTERM with an open file: still mounted"

# A terminal that closes ends a daemon in the foreground. Where the caller ignores SIGHUP, as nohup does, SIGHUP
# reloads.
for row in default ignore; do
  mkdir -p "$TMP/tty"
  MOUNTS="$MOUNTS $TMP/tty"
  script -qfec "env --$row-signal=HUP '$SYMFS' mount -f --no-default-sources --cache '$TMP/store-tty' \
    --source 'gdb@$URL_first' '$TMP/tty'" "$TMP/tty.out" </dev/null >"$TMP/script.out" 2>&1 &
  terminal=$!
  PIDS="$PIDS $terminal"
  wait_for symfs_answers "$TMP/tty" $terminal && pid=$(stat_of "$TMP/tty" pid) || fail "tty: $(cat "$TMP/tty.out")"
  kill -HUP "$pid"
  if [ $row = ignore ]; then
    wait_for grep -q 'configuration reloaded' "$TMP/tty.out" || fail "SIGHUP, ignored: $(cat "$TMP/tty.out")"
    kill "$pid"
  fi
  wait_gone $terminal || fail "SIGHUP, $row: the daemon goes on: $(cat "$TMP/tty.out")"
  mountpoint -q "$TMP/tty" 2>/dev/null && fail "SIGHUP, $row: still mounted"
done

# ---- reload ---------------------------------------------------------------------------------------
config() { # SOURCE...: a configuration with these
  printf '[symfs]\nmiss-lifetime = 1h\n'
  for c_url; do printf '[source "%s"]\nurl = %s\nlayout = gdb\n' "$c_url" "$c_url"; done
}
config "$URL_first" >"$TMP/conf"
reloads() { grep -c 'configuration reloaded\|the reload failed' "$TMP/m.log"; }
reload() {
  r_before=$(reloads)
  kill -HUP "$PID_m"
  wait_for reloaded || fail "$1: no word of a reload"
}
reloaded() { [ "$(reloads)" -gt "$r_before" ]; }

symfs_mount m --config "$TMP/conf"
stat "$MNT_m/$two" 2>/dev/null && fail "a file of a source that is not configured"
exec 8<"$MNT_m/$one"
config "$URL_first" "$URL_second" >"$TMP/conf"
reload "a new source"
grep -q "$URL_second" "$MNT_m/.symfs/sources" || fail "a new source is not in .symfs/sources"
grep -q "$URL_second" "$MNT_m/.symfs/config" || fail "a new source is not in .symfs/config"
wait_for cmp -s "$MNT_m/$two" "$TMP/second/$two" || fail "a new source is not asked for what was missing before"
cmp - "$TMP/first/$one" <&8 || fail "a file that was open over a reload"
exec 8<&-

printf '[symfs]\nmiss-lifetime = 1h\nlookup-daedline = 3s\n' >"$TMP/conf"
reload "a typo"
grep -q "$TMP/conf:3: .*lookup-daedline" "$TMP/m.log" || fail "a typo is not reported with its file and line"
gone "$PID_m" && fail "a typo ended the daemon"
grep -q "$URL_second" "$MNT_m/.symfs/sources" || fail "a typo took the sources away"
cmp "$MNT_m/$three" "$TMP/second/$three" || fail "after a typo nothing is fetched"
rm "$TMP/conf"
reload "a configuration that is gone"
grep -q "$URL_second" "$MNT_m/.symfs/sources" || fail "a lost file took the sources away"
config "$URL_second" >"$TMP/conf"
reload "a source less"
grep -q "$URL_first" "$MNT_m/.symfs/sources" && fail "a source that went is still there"
# Many at once, and reads beside them.
i=0
while [ $i -lt 20 ]; do
  kill -HUP "$PID_m"
  cmp -s "$MNT_m/$three" "$TMP/second/$three" || fail "reads during reloads"
  i=$((i + 1))
done
symfs_umount m

# ---- what systemd hears ------------------------------------------------------------------------
"$top_builddir/tests/helpers/notify-recv" "$TMP/notify" >"$TMP/heard" 2>&1 &
PIDS="$PIDS $!"
wait_for test -S "$TMP/notify" || fail "notify-recv"
config "$URL_first" >"$TMP/conf"
NOTIFY_SOCKET=$TMP/notify WATCHDOG_USEC=200000
export NOTIFY_SOCKET WATCHDOG_USEC
symfs_mount m --config "$TMP/conf"
unset NOTIFY_SOCKET WATCHDOG_USEC
heard() { grep -c "^$1" "$TMP/heard"; }
heard_more() { [ "$(heard "$1")" -gt "$2" ]; }
wait_for grep -qx 'READY=1' "$TMP/heard" || fail "no READY=1: $(cat "$TMP/heard")"
grep -qx "MAINPID=$PID_m" "$TMP/heard" || fail "another MAINPID than $PID_m: $(cat "$TMP/heard")"
wait_for heard_more WATCHDOG=1 2 || fail "no WATCHDOG=1"
ready=$(heard READY=1)
kill -HUP "$PID_m"
wait_for heard_more READY=1 "$ready" || fail "no READY=1 after a reload: $(cat "$TMP/heard")"
grep -qx 'RELOADING=1' "$TMP/heard" && grep -q '^MONOTONIC_USEC=[1-9]' "$TMP/heard" || fail "no RELOADING=1"
# A daemon that hangs is silent, and its watchdog bites.
kill -STOP "$PID_m"
dogs=$(heard WATCHDOG=1)
kill -CONT "$PID_m"
wait_for heard_more WATCHDOG=1 "$dogs" || fail "no WATCHDOG=1 any more"
kill -TERM "$PID_m"
ended "SIGTERM under systemd"
wait_for grep -qx 'STOPPING=1' "$TMP/heard" || fail "no STOPPING=1"
# Not ours: a watchdog of another process, a socket that is not there.
NOTIFY_SOCKET=$TMP/nobody WATCHDOG_USEC=x WATCHDOG_PID=1
export NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID
symfs_mount m
unset NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID
symfs_umount m

# ---- taken away while a file is read ---------------------------------------------------------
symfs_mount m --source "gdb@$URL_first"
exec 8<"$MNT_m/$one"
dd bs=4096 count=1 <&8 of="$TMP/part1" 2>/dev/null
umount -l "$MNT_m" 2>/dev/null || fusermount3 -uz "$MNT_m" || fail "umount -l"
mountpoint -q "$MNT_m" && fail "umount -l: still mounted"
# Not from the page cache: what is read ahead at once is less than this file.
cat <&8 >"$TMP/part2" || fail "a read after umount -l"
cat "$TMP/part1" "$TMP/part2" | cmp - "$TMP/first/$one" || fail "other bytes after umount -l"
gone "$PID_m" && fail "umount -l: the daemon ended before its last user"
exec 8<&-
ended "the last close after umount -l"

# The same, and then a signal: it ends although a file is still open.
symfs_mount m --source "gdb@$URL_first"
exec 8<"$MNT_m/$one"
umount -l "$MNT_m" 2>/dev/null || fusermount3 -uz "$MNT_m" || fail "umount -l"
kill -TERM "$PID_m"
ended "SIGTERM after umount -l"
exec 8<&-

# ---- another process has the store to itself ------------------------------------------------------
# The disk is as good as full, so a download waits for room, and room for the other's turn. That
# must hold up nothing else: a waiting reader can be ended, and so can the daemon.
symfs_mount full --source "gdb@$URL_first" --source "gdb@$URL_silent" --min-free 1000000G \
  --lookup-deadline 600s --stall-timeout 600s
mkfifo "$TMP/turn" "$TMP/turn.end"
flock "$TMP/store-full" sh -c 'echo has it >"$1"; read -r _ <"$1.end"' - "$TMP/turn" &
PIDS="$PIDS $!"
read -r _ <"$TMP/turn"
for path in "$one" "$two"; do stat "$MNT_full/$path" >/dev/null 2>&1 & done
wait_for grep -q '^fs_waiting 2' "$MNT_full/.symfs/stats" || fail "no request waits"
wait_for sh -c "[ \"\$(sed -n 's/^requests //p' '$MNT_full/.symfs/stats')\" -ge 4 ]" || fail "no server is asked"
"$top_builddir/tests/helpers/kill-time" "$MNT_full" 1 stat INT "$MNT_full/$three" >"$TMP/took" ||
  fail "another process's write lock: SIGINT: the reader $(cat "$TMP/took")"
kill -TERM "$PID_full"
wait_gone "$PID_full" || fail "another process's write lock: the daemon goes on after SIGTERM"
wait "$PID_full" || fail "another process's write lock: the daemon ended with $?"
# And it can be mounted while the other still has its turn.
symfs_mount full --source "gdb@$URL_first"
symfs_umount full
echo >"$TMP/turn.end"

# ---- df asks no server -----------------------------------------------------------------------------
symfs_mount m --source "gdb@$URL_silent" --lookup-deadline 600s --stall-timeout 600s
stat "$MNT_m/.build-id/ab/cdef00000000000000000000000000000000.debug" >/dev/null 2>&1 &
waits=$!
wait_for grep -q '^fs_waiting 1' "$MNT_m/.symfs/stats" || fail "no request waits"
df "$MNT_m" >"$TMP/df" || fail "df: $?"
grep -q '^fs_waiting 1' "$MNT_m/.symfs/stats" || fail "the request does not wait any more"
grep -q "$MNT_m" "$TMP/df" || fail "df: $(cat "$TMP/df")"
kill $waits
wait_gone $waits || fail "a process that waits in stat does not die of SIGTERM"
symfs_umount m
