#!/bin/sh
# symfs setup for all users, and for one, under a real systemd, in a container that has this machine's /usr and
# nothing else: the unit starts and is enabled, each client finds a debug file, and --undo leaves nothing.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/container.sh"
need_mount
need gcc objcopy strip readelf
container_begin symfs symfs-mount

make_program "$TMP/made" one
put_gdb "$TMP/srv" "$TMP/made/debug/one.debug" .debug
cp "$TMP/made/bin/one" "$TMP/srv/program"
cp "$top_srcdir/etc/systemd/system/symfs-mount.socket" "$UNITS/"
cp "$top_srcdir/etc/sysusers.d/symfs.conf" "$OUT/sysusers.conf"
echo 'Environment=SYMFS_ARGS="--config=/symfs-test/etc/symfs.conf"' >>"$UNITS/symfs.service.d/test.conf"
printf '[source "own"]\npath = /symfs-test/srv\nlayout = gdb\n' >"$TMP/etc/symfs.conf"
cat >"$OUT/check.sh" <<'EOF'
exec >/symfs-test/out/said 2>&1
export ASAN_OPTIONS=detect_leaks=0 HOME=/root
systemd-sysusers /symfs-test/out/sysusers.conf >/dev/null 2>&1
symfs=/symfs-test/bin/symfs
state() { find /etc /usr/local/etc /var/lib /root -xdev ! -path '/etc/systemd/system*' -printf '%p %m %y\n' | sort; }
systemctl start sysinit.target systemd-tmpfiles-setup.service # these write files, too
mkdir -p /root
state >/symfs-test/out/before
(umask 077 && $symfs setup >/symfs-test/out/setup 2>&1); echo "setup: $?"
stat -c '%a %n' /etc/gdb/gdbinit.d /etc/gdb/gdbinit.d/symfs.gdb /etc/profile.d/symfs.sh # all users read them
sed -n 's/^\(started\|failed\|wrote\) *//p' /symfs-test/out/setup | sed 's/ .*//' | sort
echo "enabled: $(systemctl is-enabled symfs.service), $(systemctl is-active symfs.service)"
(. /etc/profile.d/symfs.sh && echo "$DEBUGINFOD_URLS")
sed -n '/^[^#]/p' /etc/gdb/gdbinit.d/symfs.gdb
$symfs setup --user --mount /run/symfs >/symfs-test/out/user 2>&1; echo "a user: $?" # for lldb
$symfs setup --check --mount /run/symfs /symfs-test/srv/program >/symfs-test/out/checked; echo "check: $?"
$symfs setup | sed -n 's/^there *//p' | sed 's/.*\///'
$symfs setup --user --undo >/symfs-test/out/undone 2>&1; echo "undo: $?"
$symfs setup --undo >>/symfs-test/out/undone; echo "undo: $?"
echo "enabled: $(systemctl is-enabled symfs.service), $(systemctl is-active symfs.service)"
state | diff /symfs-test/out/before -
journalctl -u symfs.service -u symfs-mount.service --no-pager >/symfs-test/out/journal
echo end
EOF
CONTAINER_FUSE=yes
[ ! -d /usr/local/etc ] || CONTAINER_ARGS=--tmpfs=/usr/local/etc
export CONTAINER_FUSE CONTAINER_ARGS
container_run
cat >"$TMP/want" <<'EOF'
setup: 0
755 /etc/gdb/gdbinit.d
644 /etc/gdb/gdbinit.d/symfs.gdb
644 /etc/profile.d/symfs.sh
/etc/environment.d/60-symfs.conf
/etc/gdb/gdbinit.d/symfs.gdb
/etc/profile.d/symfs.sh
symfs.service
enabled: enabled, active
file:///run/symfs/debuginfod
set debug-file-directory /run/symfs:/usr/lib/debug
set debuginfod enabled on
a user: 0
check: 0
symfs.conf
60-symfs.conf (programs of the desktop and of systemd)
symfs.sh (login shells)
symfs.gdb (gdb)
symfs.service (systemctl): enabled and active
undo: 0
undo: 0
enabled: disabled, inactive
end
EOF
cat "$OUT/setup" "$OUT/checked" "$OUT/undone" 2>/dev/null
container_said
