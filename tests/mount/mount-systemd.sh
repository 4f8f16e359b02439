#!/bin/sh
# The units of the mount under a real systemd, as PID 1 of a container that has this machine's /usr
# and nothing else. The daemon has its own user and no capability, its helper one capability; files
# are passed to the kernel; then a reload, a crash, and a stop.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/container.sh"
need_mount
need gcc objcopy strip readelf
container_begin symfs symfs-mount

make_program "$TMP/made" one
put_gdb "$TMP/srv" "$TMP/made/debug/one.debug" .debug
cp "$TMP/made/debug/libone.so.debug" "$TMP/srv/added.debug"
cp "$top_srcdir/etc/systemd/system/symfs-mount.socket" "$UNITS/"
cp "$top_srcdir/etc/sysusers.d/symfs.conf" "$OUT/sysusers.conf"
echo 'Environment=SYMFS_ARGS="--config=/symfs-test/etc/symfs.conf"' >>"$UNITS/symfs.service.d/test.conf"
printf '[source "own"]\npath = /symfs-test/srv\nlayout = gdb\n' >"$TMP/etc/symfs.conf"
cat >"$OUT/check.sh" <<EOF
ONE=gdb/$(gdb_path "$(build_id "$TMP/made/full/one")" .debug)
ADDED=gdb/$(gdb_path "$(build_id "$TMP/made/full/libone.so")" .debug)
EOF
cat >>"$OUT/check.sh" <<'EOF'
exec >/symfs-test/out/said 2>&1
systemd-sysusers /symfs-test/out/sysusers.conf >/dev/null 2>&1
unit=symfs.service
is() { systemctl show -P "$1" $unit; }
told() { # PID: rights, by the words of /proc/PID/status
  sed -n 's/^\(CapPrm\|CapEff\|CapBnd\|CapAmb\|NoNewPrivs\):[[:space:]]*/\1 /p' "/proc/$1/status" | tr '\n' ' '
  echo
}
systemctl start $unit && echo started
pid=$(is MainPID)
helper=$(systemctl show -P MainPID symfs-mount.service)
[ "$(stat -c %u /var/cache/symfs)" = "$(id -u symfs)" ] && echo "its own cache"
sed -n 's/^Uid:[[:space:]]*//p' "/proc/$pid/status" | tr '\t' '\n' | grep -qvx "$(id -u symfs)" || echo "user symfs"
told "$pid"
told "$helper"
grep -q ' /run/symfs .* - fuse.symfs ' /proc/self/mountinfo && echo mounted
cmp /run/symfs/$ONE /symfs-test/srv/${ONE#gdb/} && echo same
setpriv --reuid=65534 --regid=65534 --clear-groups cmp /run/symfs/$ONE /symfs-test/srv/${ONE#gdb/} &&
  echo "same for all"
setpriv --reuid=symfs --regid=symfs --clear-groups env ASAN_OPTIONS=detect_leaks=0 \
  /symfs-test/bin/symfs add --no-default-sources --cache /var/cache/symfs /symfs-test/srv/added.debug | tail -n 1
until cmp /run/symfs/$ADDED /symfs-test/srv/added.debug 2>/dev/null; do sleep 0.1; done && echo "same that was added"
grep -q '^fs_passthrough [1-9]' /run/symfs/.symfs/stats && echo "passed through"
systemctl reload $unit && echo reloaded
systemctl kill -s KILL --kill-who=main $unit
until [ "$(is NRestarts)" = 1 ] && [ "$(is ActiveState)" = active ]; do sleep 0.1; done
echo "restarts: $(is NRestarts)"
cmp /run/symfs/$ONE /symfs-test/srv/${ONE#gdb/} && echo "same again"
[ "$(grep -c ' /run/symfs ' /proc/self/mountinfo)" = 1 ] && echo "one mount"
systemctl stop $unit
echo "stopped: $(is Result) $(is ExecMainStatus)"
while systemctl -q is-active symfs-mount.service; do sleep 0.1; done
echo "helper: $(systemctl is-active symfs-mount.service)"
grep -c ' /run/symfs ' /proc/self/mountinfo
echo "failed: $(systemctl list-units --failed --no-legend --plain 'symfs*' | wc -l)"
journalctl -u $unit -u symfs-mount.service --no-pager >/symfs-test/out/journal
echo end
EOF
CONTAINER_FUSE=yes
export CONTAINER_FUSE
container_run
cat >"$TMP/want" <<'EOF'
started
its own cache
user symfs
CapPrm 0000000000000000 CapEff 0000000000000000 CapBnd 0000000000000000 CapAmb 0000000000000000 NoNewPrivs 1 
CapPrm 0000000000200000 CapEff 0000000000200000 CapBnd 0000000000000000 CapAmb 0000000000000000 NoNewPrivs 1 
mounted
same
same for all
added 1, present 0, not placed 0
same that was added
passed through
reloaded
restarts: 1
same again
one mount
stopped: success 0
helper: inactive
0
failed: 0
end
EOF
# Before Linux 6.9 nothing is.
[ "$(printf '%s\n' 6.9 "$(uname -r)" | sort -V | head -n 1)" = 6.9 ] || sed -i '/^passed through$/d' "$TMP/want"
container_said
