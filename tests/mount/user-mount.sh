#!/bin/sh
# A user other than root mounts through fusermount3, reads, and unmounts. root does not see the
# mount unless it is allowed. Run by root, the test uses a mount namespace of its own, with a
# /dev/fuse that everyone may open.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ "$(id -u)" = 0 ] && [ -z "${SYMFS_INSIDE:-}" ]; then
  apart=${top_srcdir:-$(dirname "$0")/../..}/scripts/apart
  why=$("$apart" true 2>&1) || { echo "SKIP: no mount namespace here: $why"; exit 77; }
  SYMFS_INSIDE=1 exec "$apart" sh "$0"
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl fusermount3
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

# ---- a user, a program that the user may run, a device that the user may open -----------------
chmod 755 "$TMP"
mkdir "$TMP/user" "$TMP/root" "$TMP/user/mnt"
copy_symfs "$TMP/bin"
if [ "$(id -u)" = 0 ]; then
  need setpriv mknod
  mkdir "$TMP/user/symfs" && cp "$DEADLINES" "$TMP/user/symfs/" || fail "no configuration"
  chown -R 65534:65534 "$TMP/user"
  mknod "$TMP/fuse" c 10 229 && chmod 666 "$TMP/fuse" && mount --bind "$TMP/fuse" /dev/fuse ||
    skip "cannot make a /dev/fuse of its own"
  cat /etc/fuse.conf >"$TMP/fuse.conf" 2>/dev/null
  as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$TMP/user" \
    XDG_CACHE_HOME="$TMP/user/cache" XDG_CONFIG_HOME="$TMP/user" "$@"; }
else
  as_user() { "$@"; }
fi
as_user sh -c 'exec 3<>/dev/fuse' 2>/dev/null || skip "a user cannot open /dev/fuse"
as_user "$TMP/bin/symfs" --help >/dev/null || fail "a user cannot run symfs"

make_program "$TMP/made" prog
put_gdb "$TMP/root" "$TMP/made/debug/prog.debug" .debug
prog=$(gdb_path "$(build_id "$TMP/made/full/prog")" .debug)
chmod -R a+rX "$TMP/root"
upstream_start plain --root "$TMP/root"
mnt=$TMP/user/mnt
MOUNTS="$MOUNTS $mnt"

answers() { as_user test -f "$mnt/.symfs/version"; }
user_mount() { as_user "$TMP/bin/symfs" mount --no-default-sources --source "gdb@$URL_plain" "$@"; }
user_pid() { as_user sed -n 's/^pid //p' "$mnt/.symfs/stats"; }

# ---- in the foreground ---------------------------------------------------------------------------
user_mount -f "$mnt" >"$TMP/fg.log" 2>&1 &
shell=$!
PIDS="$PIDS $shell"
wait_for answers || fail "the mount does not answer"
pid=$(user_pid)
PIDS="$PIDS $pid"
[ "$(stat -c %u "/proc/$pid")" != 0 ] || fail "the daemon runs as root"
as_user cat "$mnt/$prog" >"$TMP/copy" || fail "read"
same_file "$TMP/copy" "$TMP/root/$prog"
[ "$(as_user stat -c %a "$mnt/$prog")" = 444 ] || fail "mode $(as_user stat -c %a "$mnt/$prog")"
[ "$(as_user stat -c %u "$mnt/$prog")" = "$(stat -c %u "/proc/$pid")" ] || fail "a file of another user"
grep -q " $mnt .*nosuid,nodev.* fuse.symfs " /proc/self/mountinfo || fail "$(grep " $mnt " /proc/self/mountinfo)"
if [ "$(id -u)" = 0 ]; then
  stat "$mnt/." >/dev/null 2>"$TMP/err" && fail "root sees a user's mount"
  grep -q 'Permission denied' "$TMP/err" || fail "root: $(cat "$TMP/err")"
  "$SYMFS" status "$mnt" >"$TMP/out" 2>"$TMP/err"
  [ $? = 3 ] && grep -q "$mnt: only its owner may read" "$TMP/err" ||
    fail "root's status of a user's mount: $(cat "$TMP/err")"
  # Nor does a user see root's, and without a directory status does not mention it.
  symfs_mount private --source "$TMP/root"
  as_user "$TMP/bin/symfs" status >"$TMP/out" 2>"$TMP/err" ||
    fail "a user's status beside root's mount: $(cat "$TMP/err")"
  grep -q "^$mnt: symfs " "$TMP/out" && [ ! -s "$TMP/err" ] ||
    fail "a user's status beside root's mount: $(cat "$TMP/out" "$TMP/err")"
  as_user "$TMP/bin/symfs" status "$MNT_private" >"$TMP/out" 2>"$TMP/err"
  [ $? = 3 ] && grep -q "only its owner may read" "$TMP/err" ||
    fail "a user's status of root's mount: $(cat "$TMP/err")"
  symfs_umount private
  # But root may unmount what it cannot see.
fi
umounts "$mnt" "$pid" as_user "$TMP/bin/symfs"
grep -q " $mnt " /proc/self/mountinfo && fail "umount left it in the mount table"
wait "$shell" || fail "the daemon ended with $?"

# ---- in the background, fusermount3 -u, a busy one, a dead one ----------------------------------
user_mount "$mnt" >"$TMP/bg.log" 2>&1 || fail "in the background: $?"
answers || fail "it returned, and the mount does not answer"
pid=$(user_pid)
PIDS="$PIDS $pid"
as_user fusermount3 -u "$mnt" || fail "fusermount3 -u"
wait_gone "$pid" || fail "fusermount3 -u: the daemon stays"

user_mount "$mnt" >"$TMP/bg.log" 2>&1 || fail "again: $?"
pid=$(user_pid)
PIDS="$PIDS $pid"
as_user sh -c "exec 9<'$mnt/$prog'; '$TMP/bin/symfs' umount '$mnt'" 2>"$TMP/err"
r=$?
[ $r = 1 ] || fail "umount of a busy mount: exit $r, $(cat "$TMP/err")"
answers || fail "a refused umount broke the mount"
kill -KILL "$pid"
wait_gone "$pid" || fail SIGKILL
user_mount "$mnt" >"$TMP/bg.log" 2>&1 || fail "a dead mount is not replaced"
as_user cat "$mnt/$prog" >"$TMP/copy" || fail "read after a crash"
same_file "$TMP/copy" "$TMP/root/$prog"
pid=$(user_pid)
PIDS="$PIDS $pid"
as_user kill -TERM "$pid"
wait_gone "$pid" || fail SIGTERM
grep -q " $mnt " /proc/self/mountinfo && fail "SIGTERM: still mounted"

# ---- a fusermount3 that never answers, and a daemon that hangs ------------------------------------
mkdir "$TMP/fake"
# late MS WORDS: fusermount3 with these words never answers; the start of the mount has MS milliseconds.
late() {
  printf '#!/bin/sh\necho $$ $PPID >"%s/user/fake-pid"\n%s\nexec sleep 1000\n' "$TMP" "$2" >"$TMP/fake/fusermount3"
  chmod 755 "$TMP/fake/fusermount3"
  rm -f "$TMP/user/fake-pid"
  as_user env PATH="$TMP/fake:$PATH" SYMFS_TEST_MOUNT_MS="$1" "$TMP/bin/symfs" mount --no-default-sources \
    --source "gdb@$URL_plain" "$mnt" >"$TMP/late.log" 2>&1
  el_status=$?
  [ $el_status = 4 ] || fail "a mount that hangs: exit $el_status, wanted 4: $(cat "$TMP/late.log")"
  [ -s "$TMP/user/fake-pid" ] && read -r el_program el_daemon <"$TMP/user/fake-pid" && PIDS="$PIDS $el_program"
}
# ends_late MS WORDS PROGRAM PART: PROGRAM is ended after this part of the time. On a busy machine fusermount3 has not
# begun by then, and needs more time.
ends_late() {
  el_ms=$1
  until late "$el_ms" "$2" &&
    grep -q "^symfs mount: $mnt: $3 did not mount within $((el_ms / 1000 / $4)) s and was ended" "$TMP/late.log"; do
    [ "$el_ms" -lt 300000 ] || fail "$3 hangs: $(cat "$TMP/late.log")"
    el_ms=$((el_ms * 4))
  done
}
ends_late 10000 '' fusermount3 10
wait_gone "$el_program" || fail "fusermount3 that hangs was not ended"
ends_late 2000 'kill -STOP $PPID' 'the daemon, process [0-9]*,' 1
grep -q "process $el_daemon," "$TMP/late.log" || fail "not of process $el_daemon: $(cat "$TMP/late.log")"
wait_gone "$el_daemon" || fail "a daemon that hangs was not ended"
kill "$el_program"
user_mount "$mnt" >"$TMP/bg.log" 2>&1 || fail "after daemons that hung: $?"
pid=$(user_pid)
PIDS="$PIDS $pid"
umounts "$mnt" "$pid" as_user "$TMP/bin/symfs"

# ---- allow_other is for those whom the system allows it --------------------------------------
[ "$(id -u)" = 0 ] || exit 0
: >"$TMP/fuse.conf"
[ -e /etc/fuse.conf ] && mount --bind "$TMP/fuse.conf" /etc/fuse.conf || exit 0
user_mount -o allow_other "$mnt" >"$TMP/bg.log" 2>&1
r=$?
[ $r = 4 ] || fail "allow_other that is not allowed: exit $r: $(cat "$TMP/bg.log")"
grep -q 'user_allow_other' "$TMP/bg.log" || fail "allow_other that is not allowed: $(cat "$TMP/bg.log")"
echo user_allow_other >"$TMP/fuse.conf"
user_mount -o allow_other "$mnt" >"$TMP/bg.log" 2>&1 || fail "allow_other: $?"
pid=$(user_pid)
PIDS="$PIDS $pid"
cmp "$mnt/$prog" "$TMP/root/$prog" || fail "allow_other, and root cannot read"
# Without a directory, root does not ask a mount that another user may have made to hang.
"$SYMFS" status >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] && [ ! -s "$TMP/out" ] || fail "root asks another user's mount: $(cat "$TMP/out" "$TMP/err")"
"$SYMFS" status "$mnt" >"$TMP/out" || fail "status of another user's mount"
as_user "$TMP/bin/symfs" status >"$TMP/out" || fail "a user's status"
grep -q "^$mnt: symfs " "$TMP/out" || fail "a user's status lacks $mnt: $(cat "$TMP/out")"

# What users look for, and paths of the machine, are for the owner and for root.
as_other() { setpriv --reuid=65533 --regid=65533 --clear-groups env HOME="$TMP/other" "$@"; }
as_other cmp "$mnt/$prog" "$TMP/root/$prog" || fail "allow_other, and another user cannot read"
for text in activity missing config; do
  [ "$(as_user stat -c '%a %u' "$mnt/.symfs/$text")" = "400 65534" ] ||
    fail "$text: $(stat -c '%a %u' "$mnt/.symfs/$text")"
  as_user cat "$mnt/.symfs/$text" >/dev/null || fail "the owner cannot read $text"
  cat "$mnt/.symfs/$text" >/dev/null || fail "root cannot read $text"
  for way in "$text" "../.symfs/$text" "why/.symfs/$text"; do
    as_other cat "$mnt/.symfs/$way" >"$TMP/out" 2>"$TMP/err" && fail "another user reads $way: $(cat "$TMP/out")"
  done
done
for text in version sources stats metrics; do
  as_other cat "$mnt/.symfs/$text" >/dev/null || fail "another user cannot read $text"
done
as_other "$TMP/bin/symfs" status "$mnt" >"$TMP/out" || fail "another user's status: $?"
grep -q "only the mount's owner sees downloads" "$TMP/out" || fail "another user's status: $(cat "$TMP/out")"
as_other "$TMP/bin/symfs" status --json "$mnt" | tr -d ' ' | grep -q '"activity":null' ||
  fail "another user's status --json"
as_other "$TMP/bin/symfs" why "$mnt/$prog" >"$TMP/out" 2>"$TMP/err"
[ $? != 2 ] && grep -q "another user's mount" "$TMP/err" || fail "why in another user's mount: $(cat "$TMP/err")"
umounts "$mnt" "$pid"
# Another user's store is not ours.
setpriv --reuid=65533 --regid=65533 --clear-groups "$TMP/bin/symfs" get --no-default-sources \
  --cache "$TMP/user/cache/symfs" gdb/"$prog" >/dev/null 2>"$TMP/err"
r=$?
[ $r = 4 ] && [ -s "$TMP/err" ] || fail "another user's store: exit $r"

# ---- auto_unmount: fusermount3 unmounts after a crash ---------------------------------------------
# It opens the mount as root to see that the daemon is gone, so this takes allow_other.
unmounted() { ! is_mounted "$mnt"; }
for end in KILL TERM; do
  user_mount -o allow_other,auto_unmount "$mnt" >"$TMP/bg.log" 2>&1 || fail "auto_unmount: $?"
  pid=$(user_pid)
  PIDS="$PIDS $pid"
  as_user kill -$end "$pid"
  wait_for unmounted || fail "auto_unmount, SIG$end: the mount outlives its daemon"
  wait_gone "$pid" || fail "auto_unmount, SIG$end: the daemon stays"
done
