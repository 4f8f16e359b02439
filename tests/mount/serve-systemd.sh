#!/bin/sh
# The units of serve under a real systemd, as PID 1 of a container that has this machine's /usr and
# nothing else. The first request starts the service, which has its own user and cache; then a
# reload, a crash, and a stop.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/container.sh"
need curl
container_begin symfs-serve

mkdir -p "$UNITS/sockets.target.wants" "$TMP/srv/a.so/111111111111111111111111111111110"
SYM=a.so/111111111111111111111111111111110/a.so.sym
{ echo 'MODULE Linux x86_64 111111111111111111111111111111110 a.so'
seq -f 'PUBLIC %g 0 f' 10 4000; } >"$TMP/srv/$SYM"
cp "$top_srcdir/etc/systemd/system/symfs-serve.socket" "$UNITS/"
ln -s ../symfs-serve.socket "$UNITS/sockets.target.wants/"
echo 'Environment=SYMFS_SERVE_ARGS="--config=/symfs-test/etc/symfs.conf"' >>"$UNITS/symfs-serve.service.d/test.conf"
printf '[source "own"]\npath = /symfs-test/srv\nlayout = breakpad\n' >"$TMP/etc/symfs.conf"
cat >"$OUT/check.sh" <<'EOF'
exec >/symfs-test/out/said 2>&1
SYM=a.so/111111111111111111111111111111110/a.so.sym
unit=symfs-serve.service
ask() { echo "$1: $(curl -sS --max-time 300 -o /tmp/body -w '%{http_code}' "http://127.0.0.1:8737/$2")"; }
# The service answers a little before systemd has read that it is ready: a start that is under way is waited for.
active() {
  [ "$(systemctl is-active $unit)" != activating ] || systemctl start $unit
  echo "$1: $(systemctl is-active symfs-serve.socket) $(systemctl is-active $unit)"
}
is() { systemctl show -P "$1" $unit; }
active before
ask first $SYM
cmp /tmp/body /symfs-test/srv/$SYM && echo same
active after
pid=$(is MainPID)
[ "$(stat -c %u /proc/$pid)" != 0 ] && echo "not root"
# As the service sees it: newer systemd maps the owner.
[ "$(stat -c %u /proc/$pid/root/var/cache/private/symfs-serve)" = "$(stat -c %u /proc/$pid)" ] && echo "its own cache"
mkdir -p /symfs-test/etc &&
  printf '[source "other"]\npath = /symfs-test/nowhere\nlayout = breakpad\n' >>/symfs-test/etc/symfs.conf
systemctl reload $unit && echo reloaded
curl -sS --max-time 300 -o /tmp/page http://127.0.0.1:8737/status
grep -q 'data-name="where">/symfs-test/nowhere' /tmp/page && echo "new source"
[ "$(is MainPID)" = "$pid" ] && echo "the same process"
systemctl kill -s KILL $unit
until [ "$(is NRestarts)" = 1 ] && [ "$(is ActiveState)" = active ]; do sleep 0.1; done
echo "restarts: $(is NRestarts)"
ask again $SYM
systemctl stop $unit 2>/dev/null
echo "stopped: $(is Result) $(is ExecMainStatus)"
ask "started by a question" healthz
active "at last"
# A file of tokens that only root can read reaches the service as a credential.
echo 0123456789abcdef >/symfs-test/etc/tokens && chmod 600 /symfs-test/etc/tokens
mkdir -p /run/systemd/system/$unit.d
cat >/run/systemd/system/$unit.d/tokens.conf <<'UNIT'
[Service]
LoadCredential=tokens:/symfs-test/etc/tokens
Environment="SYMFS_SERVE_ARGS=--config=/symfs-test/etc/symfs.conf --upload --token-file %d/tokens \
--audit-log /var/log/symfs/audit.log"
UNIT
systemctl daemon-reload && systemctl restart $unit && echo restarted
ask "without a token" $SYM
echo "with a token: $(curl -sS --max-time 300 -o /tmp/body -w '%{http_code}' -H 'Auth-Token: 0123456789abcdef' \
  "http://127.0.0.1:8737/$SYM")"
grep -o '"status":401' /var/log/symfs/audit.log
echo "failed: $(systemctl list-units --failed --no-legend --plain 'symfs-*' | wc -l)"
journalctl -u $unit -u symfs-serve.socket --no-pager >/symfs-test/out/journal
echo end
EOF
container_run sockets.target
cat >"$TMP/want" <<'EOF'
before: active inactive
first: 200
same
after: active active
not root
its own cache
reloaded
new source
the same process
restarts: 1
again: 200
stopped: success 0
started by a question: 200
at last: active active
restarted
without a token: 401
with a token: 200
"status":401
failed: 0
end
EOF
container_said
