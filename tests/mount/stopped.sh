#!/bin/sh
# A process that downloads is stopped (Ctrl-Z). After some seconds, other processes that share its
# store and wait for the same file download it, too. When the stopped process continues, it also has
# the file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount
unset SYMFS_TEST_SILENCE_MS

mkdir -p "$TMP/up"
head -c 3000000 /dev/urandom >"$TMP/noise"
make_program "$TMP/far" prog
objcopy --add-section .noise="$TMP/noise" "$TMP/far/full/prog" "$TMP/far/full/large" || fail objcopy
put_gdb "$TMP/up" "$TMP/far/full/large"
name=$(gdb_path "$(build_id "$TMP/far/full/large")")
upstream_start up --root "$TMP/up"
upstream_fault "$URL_up" "/$name" silent-after 300000 1

# When the process continues, its own download breaks off and the source is gone: it uses the file of the others.
get() { exec "$SYMFS" get --stall-timeout 3600s --no-default-sources --cache "$TMP/store" --source "gdb@$URL_up" \
  "gdb/$name"; }
(get >"$TMP/one.out" 2>"$TMP/one.log") &
PIDS="$PIDS $!"
one=$!
asked() { [ "$(upstream_count "$URL_up" inflight "/$name")" = 1 ]; }
wait_for asked || fail "no server is asked"
leader=$(pgrep -P $one -x symfs || echo $one)
came() { [ "$(upstream_count "$URL_up" bytes "/$name")" -ge 300000 ]; }
wait_for came || fail "nothing comes"
kill -STOP "$leader"

symfs_mount m --cache "$TMP/store" --source "gdb@$URL_up"
cmp "$MNT_m/gdb/$name" "$TMP/far/full/large" || fail "the mount waits for the stopped process"
grep -q 'has stalled' "$TMP/m.log" || fail "it did not go its own way: $(cat "$TMP/m.log")"
[ "$(upstream_count "$URL_up" requests "/$name")" -ge 2 ] || fail "the mount did not download it"

stored() { "$SYMFS" get --offline --no-default-sources --cache "$TMP/store" "gdb/$name" >/dev/null 2>&1; }
wait_for stored || fail "what was read is not stored"
kill "$PID_up"
wait_gone "$PID_up"
kill -CONT "$leader"
kill -CONT "$one"
wait_gone "$one" || fail "the stopped process does not end"
wait "$one" || fail "symfs get: $? $(cat "$TMP/one.log")"
same_file "$(cat "$TMP/one.out")" "$TMP/far/full/large"
"$SYMFS" cache verify --cache "$TMP/store" >"$TMP/verify.log" 2>&1 || fail "the store: $(cat "$TMP/verify.log")"
symfs_umount m
exit 0
