#!/bin/sh
# A process that waits for a silent upstream can be ended; SIGWINCH does not end the wait.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl gdb gcc strip objcopy readelf

KILL_TIME=$top_builddir/tests/helpers/kill-time
[ -x "$KILL_TIME" ] || fail "$KILL_TIME is not built"
make_program "$TMP/p" foo
put_gdb "$TMP/www" "$TMP/p/debug/foo.debug" .debug
put_gdb "$TMP/www" "$TMP/p/debug/libfoo.so.debug" .debug
upstream_start up --root "$TMP/www"
upstream_fault "$URL_up" '*/aa/*' silent
symfs_mount m --source "gdb@$URL_up" --lookup-deadline 600s --stall-timeout 600s --breaker-seconds 1s

# One file name each: a name that is being looked up makes others wait for it.
n=0
cold() { n=$((n + 1)); path=$(printf '%s/gdb/.build-id/aa/%038x.debug' "$MNT_m" "$n"); }

# Signals that end the process end the wait, long before the lookup deadline.
for how in '1 stat INT' '1 stat KILL' '1 stat TERM' '1 stat HUP' '1 stat QUIT' '1 open KILL' '1 stat WINCH,KILL' \
  '1 stat WINCH,INT' '1 stat CHLD,KILL' '8 stat INT' '8 stat KILL' '8 stat WINCH,KILL'; do
  cold
  # shellcheck disable=SC2086
  "$KILL_TIME" "$MNT_m" $how "$path" >"$TMP/took" || fail "$how: $(cat "$TMP/took")"
done

# Signals that do not end the process do not end the wait.
for signal in WINCH CHLD ALRM WINCH,CHLD,WINCH; do
  cold
  took=$("$KILL_TIME" -a 500 "$MNT_m" 1 stat $signal "$path") && fail "SIG$signal ended a stat after $took ms"
done
wait_for sh -c "[ \"\$(sed -n 's/^fs_waiting //p' '$MNT_m/.symfs/stats')\" = 0 ]" || fail "a request still waits"

# gdb is slow to get its symbols, its window is resized and its children end meanwhile.
upstream_hold "$URL_up" "*.debug" 0
gdb -nx -q -batch -ex 'set debuginfod enabled off' -ex "set debug-file-directory $MNT_m" \
  -ex "file $TMP/p/bin/foo" -ex 'info line main' >"$TMP/gdb.out" 2>&1 &
gdb=$!
PIDS="$PIDS $gdb"
wait_for sh -c "[ \"\$(sed -n 's/^fs_waiting //p' '$MNT_m/.symfs/stats')\" -ge 1 ] || ! kill -0 $gdb"
sent=0
while [ $sent -lt 40 ] && ! gone $gdb; do
  kill -WINCH $gdb 2>/dev/null && kill -CHLD $gdb 2>/dev/null && sent=$((sent + 2))
  nap
done
gone $gdb && fail "gdb ended after $sent signals: $(cat "$TMP/gdb.out")"
upstream_go "$URL_up"
wait $gdb || fail "gdb ended with $?"
say "gdb took $sent signals: $(cat "$TMP/gdb.out")"
grep -q 'Line 4 of "foo.c"' "$TMP/gdb.out" || fail "gdb has no line"
[ "$(stat_of "$MNT_m" fs_interrupted)" -ge 1 ] || fail "no request was ever interrupted"
upstream_clear "$URL_up"
symfs_umount m
