#!/bin/sh
# Allowed and refused mount points: each refusal has an exit status and a helpful message. A mount
# in the background ends with 0 only when it answers. Also unmounting: twice, and while the mount is
# in use.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount

mount_at() { "$SYMFS" mount --no-default-sources --cache "$TMP/store" "$@" >"$TMP/out" 2>"$TMP/err"; }

# refused STATUS WORDS ARGS...: in the foreground and in the background.
refused() {
  rf_want=$1 rf_words=$2
  shift 2
  for rf_how in -f --; do
    timeout 600 "$SYMFS" mount --no-default-sources --cache "$TMP/store" ${rf_how#--} "$@" >"$TMP/out" 2>"$TMP/err"
    rf_got=$?
    [ $rf_got = "$rf_want" ] || fail "mount $rf_how $*: exit $rf_got, wanted $rf_want: $(cat "$TMP/err")"
    grep -q "^symfs mount: .*$rf_words" "$TMP/err" ||
      fail "mount $rf_how $*: no word of '$rf_words': $(cat "$TMP/err")"
    [ ! -s "$TMP/out" ] || fail "mount $rf_how $*: says on stdout: $(cat "$TMP/out")"
  done
}

# ---- not there, not a directory, not empty ----------------------------------------------------
refused 4 "$TMP/none: .*mkdir -p" "$TMP/none"
refused 4 "$TMP/none/deeper" "$TMP/none/deeper"
echo hello >"$TMP/file"
refused 4 'not a directory' "$TMP/file"
refused 4 'file/below' "$TMP/file/below"
mkdir "$TMP/full"
echo precious >"$TMP/full/precious"
refused 4 'not empty' "$TMP/full"
refused 2 'expected one directory' # none at all
refused 2 'expected one directory' "$TMP/a" "$TMP/b" "$TMP/c"
refused 2 'no such option' --frobnicate "$TMP/full"
refused 2 'no such option' -o frobnicate "$TMP/full"
refused 2 'no such option' -o frobnicate=7 "$TMP/full"
refused 2 'lookup-deadline' -o lookup-deadline=soon "$TMP/full"
[ "$(cat "$TMP/full/precious")" = precious ] || fail "the directory that is not empty changed"

MOUNTS="$MOUNTS $TMP/full $TMP/bg $TMP/dead $TMP/rel $TMP/link-to"
mount_at -o nonempty "$TMP/full" || fail "-o nonempty: $(cat "$TMP/err")"
[ -f "$TMP/full/.symfs/version" ] && [ ! -f "$TMP/full/precious" ] || fail "-o nonempty did not mount"
umounts "$TMP/full" "$(stat_of "$TMP/full" pid)"
[ "$(cat "$TMP/full/precious")" = precious ] || fail "what was under the mount is gone"

# ---- in the background, and what is there already -------------------------------------------
mkdir "$TMP/bg"
mount_at --source "$TMP" "$TMP/bg" || fail "in the background: $? $(cat "$TMP/err")"
[ -f "$TMP/bg/.symfs/version" ] || fail "it returned, and the mount does not answer"
[ ! -s "$TMP/out" ] && [ ! -s "$TMP/err" ] || fail "a mount that works says something: $(cat "$TMP/out" "$TMP/err")"
pid=$(stat_of "$TMP/bg" pid)
PIDS="$PIDS $pid"
[ "$(readlink "/proc/$pid/cwd")" = / ] || fail "the daemon keeps $(readlink "/proc/$pid/cwd") busy"
refused 4 'symfs mount already.*symfs umount' "$TMP/bg"
[ "$(stat_of "$TMP/bg" pid)" = "$pid" ] || fail "the mount that was there is another one now"

# ---- unmounting ---------------------------------------------------------------------------------
"$SYMFS" umount "$TMP/none" 2>"$TMP/err" && fail "umount of nothing: exit 0"
grep -q 'symfs umount: .*none' "$TMP/err" || fail "umount of nothing says $(cat "$TMP/err")"
"$SYMFS" umount "$TMP/full" 2>"$TMP/err"
[ $? = 1 ] && grep -q 'no symfs is mounted there' "$TMP/err" || fail "umount of a plain directory: $(cat "$TMP/err")"
"$SYMFS" umount /proc 2>"$TMP/err"
[ $? = 1 ] && [ -e /proc/self ] || fail "umount of what is not ours: $(cat "$TMP/err")"

exec 8<"$TMP/bg/.symfs"
"$SYMFS" umount "$TMP/bg" 2>"$TMP/err"
r=$?
[ $r = 1 ] || fail "umount of a busy mount: exit $r"
grep -q 'in use.*-l' "$TMP/err" || fail "umount of a busy mount says $(cat "$TMP/err")"
[ -f "$TMP/bg/.symfs/version" ] || fail "a refused umount broke the mount"
"$SYMFS" umount -l "$TMP/bg" || fail "umount -l of a busy mount: $?"
mountpoint -q "$TMP/bg" && fail "umount -l: it is still mounted"
gone "$pid" && fail "umount -l: the daemon ended before its last user"
# The place is free at once, while the old daemon still serves its last user.
mount_at "$TMP/bg" || fail "a new mount beside one that was detached: $(cat "$TMP/err")"
second=$(stat_of "$TMP/bg" pid)
PIDS="$PIDS $second"
[ "$second" != "$pid" ] || fail "the old daemon answers at the new mount"
exec 8<&-
wait_gone "$pid" || fail "umount -l: the daemon outlived its last user"
[ "$(stat_of "$TMP/bg" pid)" = "$second" ] || fail "the end of the old daemon took the new mount away"
# A process that uses the mount for a moment, as one that lists all mounts does, is waited for. On a busy machine the
# moment may last longer than that wait.
in_use() { [ -e "/proc/$!/fd/9" ] || gone $!; }
after_a_moment() {
  timeout 0.3 tail -f /dev/null 9<"$TMP/bg/.symfs" &
  wait_for in_use
  "$SYMFS" "$@"
}
umounts "$TMP/bg" "$second" after_a_moment
"$SYMFS" umount "$TMP/bg" 2>"$TMP/err"
[ $? = 1 ] && grep -q 'no symfs is mounted' "$TMP/err" || fail "umount twice: $(cat "$TMP/err")"
# Other people's umount is as good.
mount_at "$TMP/bg" || fail "again: $(cat "$TMP/err")"
pid=$(stat_of "$TMP/bg" pid)
PIDS="$PIDS $pid"
if [ "$(id -u)" = 0 ]; then umount "$TMP/bg"; else fusermount3 -u "$TMP/bg"; fi || fail "umount(8)"
wait_gone "$pid" || fail "umount(8): the daemon stays"

# ---- a dead mount is replaced ----------------------------------------------------------------
mkdir "$TMP/dead"
mount_at "$TMP/dead" || fail "dead: $(cat "$TMP/err")"
pid=$(stat_of "$TMP/dead" pid)
kill -KILL "$pid"
wait_gone "$pid" || fail "SIGKILL"
stat "$TMP/dead/." >/dev/null 2>&1 && fail "dead, and it answers"
mount_at "$TMP/dead" || fail "a dead mount is not replaced: $(cat "$TMP/err")"
grep -q 'gone; replacing' "$TMP/err" || fail "replaced without a word: $(cat "$TMP/err")"
[ -f "$TMP/dead/.symfs/version" ] || fail "the new mount does not answer"
[ "$(grep -c " $TMP/dead " /proc/self/mountinfo)" = 1 ] || fail "mounts are stacked on $TMP/dead"
pid=$(stat_of "$TMP/dead" pid)
kill -KILL "$pid"
wait_gone "$pid" || fail "SIGKILL"
timeout 600 "$SYMFS" umount "$TMP/dead" || fail "umount of a dead mount"
mountpoint -q "$TMP/dead" 2>/dev/null && fail "umount left a dead mount"

# A stopped daemon can be unmounted by force.
mount_at "$TMP/dead" || fail "stopped: $(cat "$TMP/err")"
pid=$(stat_of "$TMP/dead" pid)
PIDS="$PIDS $pid"
kill -STOP "$pid"
SYMFS_TEST_ASK_MS='' timeout 600 "$SYMFS" umount -l "$TMP/dead" >/dev/null 2>"$TMP/err"
[ $? -lt 100 ] || fail "umount -l of a stopped daemon hangs"
mountpoint -q "$TMP/dead" 2>/dev/null && fail "a stopped daemon's mount stays: $(cat "$TMP/err")"
kill -CONT "$pid"
wait_gone "$pid" || fail "a daemon that goes on after its mount went"

# ---- spellings ----------------------------------------------------------------------------------
mkdir "$TMP/rel" "$TMP/link-to"
(cd "$TMP" && mount_at rel) || fail "a relative path: $(cat "$TMP/err")"
[ -f "$TMP/rel/.symfs/version" ] || fail "a relative path went elsewhere"
(cd "$TMP/full" && umounts ../rel/ "$(stat_of ../rel pid)") || exit
ln -s link-to "$TMP/link"
mount_at "$TMP/link" || fail "through a link: $(cat "$TMP/err")"
[ -f "$TMP/link-to/.symfs/version" ] || fail "through a link: mounted elsewhere"
umounts "$TMP/link" "$(stat_of "$TMP/link" pid)"
mkdir "$TMP/with blank"
mount_at "$TMP/with blank" || fail "a name with a blank: $(cat "$TMP/err")"
umounts "$TMP/with blank" "$(stat_of "$TMP/with blank" pid)"

# ---- what keeps a mount from starting, behind the point of no return ---------------------------
echo x >"$TMP/not-a-store"
timeout 600 "$SYMFS" mount --no-default-sources --cache "$TMP/not-a-store" "$TMP/bg" 2>"$TMP/err"
r=$?
[ $r = 4 ] || fail "a store that is a file: exit $r: $(cat "$TMP/err")"
grep -q 'not-a-store' "$TMP/err" || fail "a store that is a file: $(cat "$TMP/err")"
mountpoint -q "$TMP/bg" && fail "mounted all the same"
exit 0
