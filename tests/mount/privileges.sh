#!/bin/sh
# Dropped privileges. The daemon of a mount that root makes has no capability and cannot get any;
# its helper has only CAP_SYS_ADMIN. The daemon has its own user, or cannot write root's other
# files. Other processes of the same user cannot read the memory of processes that hold tokens and
# keys.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need setpriv gcc objcopy strip readelf pgrep
[ "$(id -u)" = 0 ] || skip "not root"

# ---- memory -------------------------------------------------------------------------------------
# Root could read any memory, so this is about another user's processes.
chmod 755 "$TMP"
copy_symfs "$TMP"
mkdir -m 755 "$TMP/user" && chown 65534 "$TMP/user"
as_user() { HOME=$TMP/user setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
printf 'hunter2hunter2\n' >"$TMP/user/token"
chmod 600 "$TMP/user/token" && chown 65534 "$TMP/user/token"
HOME=$TMP/user setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/symfs" serve --no-default-sources \
  --listen 127.0.0.1:0 --token-file "$TMP/user/token" --cache "$TMP/user/store" >"$TMP/serve.out" 2>"$TMP/serve.log" &
server=$!
PIDS="$PIDS $server"
wait_for grep -q 'listening on' "$TMP/serve.out" || fail "the server does not start"
for what in environ maps mem exe fd; do
  as_user sh -c "ls -l /proc/$server/$what/. || exec 3</proc/$server/$what" >/dev/null 2>&1 &&
    fail "another process of the user can look at /proc/PID/$what of the server"
done
setpriv --reuid=65534 --regid=65534 --clear-groups sleep 60 &
other=$!
PIDS="$PIDS $other"
wait_for as_user cat "/proc/$other/environ" || fail "the check itself: it sees nothing of any process"
kill "$other"
kill "$server"
wait_gone "$server" || fail "the server does not end"
wait "$server" || fail "the server ended with $?"

# ---- root, by hand ------------------------------------------------------------------------------
told() { # PID: rights, as /proc/PID/status has them
  sed -n 's/^\(CapInh\|CapPrm\|CapEff\|CapBnd\|CapAmb\|NoNewPrivs\):[[:space:]]*\(0*\([0-9a-f]\)\)/\1=\3/p' \
    "/proc/$1/status" | tr '\n' ' '
}
uids() { sed -n 's/^Uid:[[:space:]]*//p' "/proc/$1/status" | tr '\t' '\n' | sort -u; }
NOTHING="CapInh=0 CapPrm=0 CapEff=0 CapBnd=0 CapAmb=0 NoNewPrivs=1 "
ADMIN="CapInh=0 CapPrm=200000 CapEff=200000 CapBnd=0 CapAmb=0 NoNewPrivs=1 "
helper_of() { pgrep -P "$1" -x symfs-helper; }
landlock() { # whether the kernel has it
  grep -qw landlock /sys/kernel/security/lsm 2>/dev/null || ! grep -q 'no Landlock' "$TMP/hand.log"
}
make_program "$TMP/made" one
with_broken_worker
mkdir -p "$TMP/own" "$TMP/other"
told_to() { # NAME WORDS: a program's debug file with words for the worker in it; sets NAME
  make_program "$TMP/$1" "$1"
  printf 'worker: %s\n' "$2" >"$TMP/words"
  objcopy --add-section .words="$TMP/words" "$TMP/$1/debug/$1.debug" || fail objcopy
  put_gdb "$TMP/own" "$TMP/$1/debug/$1.debug" .debug
  eval "$1=gsym/$(gdb_path "$(build_id "$TMP/$1/debug/$1.debug")" .debug.gsym)"
}
told_to inside "write $TMP/deep/store/inside"
told_to outside "write $TMP/other/outside"
mkdir "$TMP/deep" # a store that is removed can be made anew there
symfs_mount hand --source "gdb@$TMP/own" --cache "$TMP/deep/store"
helper=$(helper_of "$PID_hand") || fail "no helper"
[ "$(told "$PID_hand")" = "$NOTHING" ] || fail "the daemon has $(told "$PID_hand")"
[ "$(told "$helper")" = "$ADMIN" ] || fail "the helper has $(told "$helper")"
grep -q '^Seccomp:[[:space:]]*2' "/proc/$helper/status" || fail "the helper has no filter"
[ "$(ls "/proc/$helper/fd" | sort -n | tr '\n' ' ')" = "0 1 2 3 4 " ] ||
  fail "the helper has open: $(ls -l "/proc/$helper/fd")"
cat "$MNT_hand/$inside" "$MNT_hand/$outside" >/dev/null || fail "conversion"
[ -e "$TMP/deep/store/inside" ] || fail "the store cannot be written to"
if landlock; then
  [ ! -e "$TMP/other/outside" ] || fail "the daemon of root can write outside of its store"
fi
symfs_umount hand
gone "$helper" || fail "the helper lives on after the end"

# ---- a user of its own --------------------------------------------------------------------------
mkdir "$TMP/rootonly" && put_gdb "$TMP/rootonly" "$TMP/made/debug/one.debug" .debug
chmod 700 "$TMP/rootonly"
one=gdb/$(gdb_path "$(build_id "$TMP/made/full/one")" .debug)
lib=gdb/$(gdb_path "$(build_id "$TMP/made/full/libone.so")" .debug)
printf '[symfs]\nrun-as = nobody\n[source "one"]\npath = %s\nlayout = gdb\n' "$TMP/rootonly" >"$TMP/conf"
chmod 600 "$TMP/conf"
symfs_mount mine --config "$TMP/conf" -o allow_other
helper=$(helper_of "$PID_mine")
[ "$(uids "$PID_mine")" = 65534 ] && [ "$(uids "$helper")" = 65534 ] ||
  fail "users: $(uids "$PID_mine") $(uids "$helper")"
[ "$(told "$PID_mine") $(told "$helper")" = "$NOTHING $ADMIN" ] || fail "$(told "$PID_mine") $(told "$helper")"
[ "$(stat -c %u "$TMP/store-mine")" = 65534 ] || fail "whose store? $(stat -c %u "$TMP/store-mine")"
cmp "$MNT_mine/$one" "$TMP/made/debug/one.debug" 2>/dev/null && fail "a directory of root alone was read"
wait_for grep -q "source one: the daemon, user nobody, cannot read $TMP/rootonly" "$TMP/mine.log" ||
  fail "the log does not say that it cannot be read"
# What is in the store is passed to the kernel, by the helper.
setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/symfs" add --no-default-sources --cache "$TMP/store-mine" \
  "$TMP/made/debug/libone.so.debug" >/dev/null 2>"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
same_file "$MNT_mine/$lib" "$TMP/made/debug/libone.so.debug"
passed=$(stat_of "$MNT_mine" fs_passthrough)
# The configuration is read again with what is left.
reloads() { grep -c 'the reload failed' "$TMP/mine.log"; }
kill -HUP "$PID_mine"
wait_for reloads || fail "no word of a reload"
grep -q "the reload failed: $TMP/conf: .*Permission denied.*run-as" "$TMP/mine.log" ||
  fail "the log does not say why: $(cat "$TMP/mine.log")"
symfs_umount mine
chown 65534 "$TMP/conf"
chmod 000 "$TMP/store-mine/index.sqlite"
as_user "$TMP/symfs" add --no-default-sources --cache "$TMP/store-mine" "$TMP/made/debug/libone.so.debug" \
  >"$TMP/out" 2>"$TMP/err"
[ $? = 4 ] && grep -q 'index\.sqlite: Permission denied; chmod u+rw it' "$TMP/err" ||
  fail "an index that this user cannot read: $(cat "$TMP/err")"
chmod 600 "$TMP/store-mine/index.sqlite"
symfs_mount all --config "$TMP/conf" --read-all yes --cache "$TMP/store-mine"
same_file "$MNT_all/$one" "$TMP/made/debug/one.debug"
case $(told "$PID_all") in "CapInh=0 CapPrm=4 CapEff=4 CapBnd=0 CapAmb=0 NoNewPrivs=1 ") ;; *) fail "read-all:" \
  "$(told "$PID_all")" ;; esac
symfs_umount all

# What the kernel remembers of a dead mount still seems to be there.
replaced() { wait_for cmp -s "$MNT_lame/$lib" "$TMP/made/debug/libone.so.debug" ||
  fail "the dead mount was not replaced"; }

# ---- a helper that is killed --------------------------------------------------------------------
symfs_mount lame --source "gdb@$TMP/own" --cache "$TMP/store-lame"
helper=$(helper_of "$PID_lame")
kill -KILL "$helper"
wait_for grep -q 'the helper of this mount has ended' "$TMP/lame.log" ||
  fail "nothing is said of a helper that was killed"
"$TMP/symfs" add --no-default-sources --cache "$TMP/store-lame" "$TMP/made/debug/libone.so.debug" >/dev/null ||
  fail add
same_file "$MNT_lame/$lib" "$TMP/made/debug/libone.so.debug"
kill "$PID_lame"
wait_gone "$PID_lame" || fail "a daemon without a helper does not end"
grep -q 'cannot unmount' "$TMP/lame.log" || fail "the log does not say that the mount stays"
symfs_mount lame --source "gdb@$TMP/own" --cache "$TMP/store-lame"
replaced

# ---- a daemon that is killed --------------------------------------------------------------------
helper=$(helper_of "$PID_lame")
kill -STOP "$helper"
kill -KILL "$PID_lame"
wait_gone "$helper" || fail "the helper of a daemon that was killed lives on"
symfs_mount lame --source "gdb@$TMP/own" --cache "$TMP/store-lame"
replaced
symfs_umount lame

# ---- auto_unmount -------------------------------------------------------------------------------
# By the helper, also by one that was stopped.
not_mounted() { ! is_mounted "$1"; }
symfs_mount auto --source "gdb@$TMP/own" -o auto_unmount
helper=$(helper_of "$PID_auto")
kill -STOP "$helper"
kill -KILL "$PID_auto"
wait_for not_mounted "$MNT_auto" || fail "auto_unmount: the mount outlives its daemon"
wait_gone "$helper" || fail "auto_unmount: the helper lives on"

# ---- odd places ---------------------------------------------------------------------------------
# A home and a source that another user keeps closed: root without capabilities cannot get there.
mkdir -p "$TMP/closed/.config/symfs" "$TMP/closed/source"
chown -R 65534 "$TMP/closed" && chmod 700 "$TMP/closed"
HOME=$TMP/closed
symfs_mount far --source "gdb@$TMP/closed/source" --cache "$TMP/store-far"
HOME=$TMP/home
wait_for grep -q "cannot read $TMP/closed/source: .*read-all" "$TMP/far.log" ||
  fail "the log does not say that a source is closed"
symfs_umount far
# A store of which nothing is there yet, and a home without a configuration that run-as cannot enter.
rm -r "$XDG_CONFIG_HOME/symfs"
chmod 700 "$TMP/home"
symfs_mount buried --run-as nobody --source "gdb@$TMP/own" --cache "$TMP/new/deep/store"
[ "$(stat -c %u "$TMP/new/deep/store")" = 65534 ] || fail "whose store? $(stat -c %u "$TMP/new/deep/store")"
kill -HUP "$PID_buried"
wait_for grep -q 'configuration reloaded' "$TMP/buried.log" ||
  fail "run-as: nothing is reloaded: $(cat "$TMP/buried.log")"
symfs_umount buried
chmod 755 "$TMP/home"
# A configuration named from the working directory.
mkdir -m 700 "/root/symfs-test.$$"
printf '[symfs]\nquota = 1G\n' >"/root/symfs-test.$$/conf"
at=$PWD
cd "/root/symfs-test.$$" || fail cd
symfs_mount near --config conf --source "gdb@$TMP/own"
cd "$at" || fail cd
kill -HUP "$PID_near"
wait_for grep -q 'reloaded' "$TMP/near.log"
rm -rf "/root/symfs-test.$$"
grep -q 'configuration reloaded' "$TMP/near.log" || fail "relative --config: $(cat "$TMP/near.log")"
symfs_umount near
# What is there stays there, unless it is a socket.
echo precious >"$TMP/precious"
"$TMP/symfs" mount-helper --listen "$TMP/precious" "$TMP/other" 2>/dev/null && fail "mount-helper listens at a file"
[ "$(cat "$TMP/precious")" = precious ] || fail "mount-helper removed a file"
say "passed through by the helper: $passed"
