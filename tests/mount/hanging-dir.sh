#!/bin/sh
# A directory source whose disk does not answer (a dead file server). Files elsewhere can be read,
# no reader waits longer than the lookup deadline, nothing is remembered as missing, and the daemon
# can end. When the directory answers again, it is used again.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl gcc objcopy readelf
[ "$(id -u)" = 0 ] || skip "a mount that others look into wants root"
HANG=$top_builddir/tests/helpers/hang
# What hangs cannot be stopped to be looked at, nor does the daemon free what it may still touch.
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
unset SYMFS_TEST_ASK_MS # symfs looks whether the directory is there

mkdir "$TMP/far" "$TMP/www" "$TMP/near"
"$HANG" "$TMP/far" "$TMP/flag" >"$TMP/hang.log" 2>&1 &
PID_hang=$!
PIDS="$PIDS $PID_hang"
MOUNTS="$MOUNTS $TMP/far"
wait_for is_mounted "$TMP/far" || fail "no mount that hangs"
for name in one two three four; do
  echo "int $name(void) { return 1; }" >"$TMP/$name.c"
  gcc -g -shared -fPIC -Wl,--build-id=sha1 -o "$TMP/$name" "$TMP/$name.c" || fail gcc
  objcopy --only-keep-debug "$TMP/$name" "$TMP/$name.debug"
  case $name in two) to=near ;; *) to=www ;; esac
  put_gdb "$TMP/$to" "$TMP/$name.debug" .debug || fail put_gdb
  eval "PATH_$name=\$(gdb_path \"\$(build_id \"\$TMP/\$name\")\" .debug)"
done
upstream_start up --root "$TMP/www"

# A machine that is busy with other things may take longer than the short wait for directories.
same() { # NAME
  eval "s_path=\$PATH_$1"
  wait_for cmp "$TMP/$1.debug" "$MNT_m/$s_path" || fail "$1 cannot be read"
}

symfs_mount m --lookup-deadline 6s --source "gdb@$TMP/far" --source "gdb@$TMP/near" --source "gdb@$URL_up"
same one
: >"$TMP/flag"
# Twenty at once, more than there are threads to lose; none of them is said not to exist.
for n in $(seq 20); do
  stat "$MNT_m/.build-id/ab/$(printf '%038d' "$n").debug" >"$TMP/stat.$n" 2>&1 &
  eval "PID_stat$n=$!"
done
for n in $(seq 20); do
  eval "wait \$PID_stat$n"
  grep -q 'No such file' "$TMP/stat.$n" && fail "silence is no answer: $(cat "$TMP/stat.$n")"
done
say "twenty absent files: $(sort "$TMP"/stat.* | sed 's/.*: //' | uniq -c)"
same three # of the server
same two   # of the other directory
same one   # of the store
grep -q 'has not answered for' "$MNT_m/.symfs/sources" || fail "sources: $(cat "$MNT_m/.symfs/sources")"

rm "$TMP/flag"
answers() { grep -F "$TMP/far" "$MNT_m/.symfs/sources" | grep -q 'there$'; }
wait_for answers || fail "answers again: $(cat "$MNT_m/.symfs/sources")"
missing() { stat "$MNT_m/.build-id/ab/$(printf '%038d' 1).debug" 2>&1 | grep -q 'No such file'; }
wait_for missing || fail "a miss that no source reported"

# The mount ends while a lookup hangs in a directory.
: >"$TMP/flag"
stat "$MNT_m/.build-id/ab/$(printf '%038d' 99).debug" >/dev/null 2>&1
symfs_umount m
grep -q 'exiting all the same' "$TMP/m.log" || fail "the end: $(cat "$TMP/m.log")"
symfs_mount alone --lookup-deadline 4s --source "gdb@$TMP/far"
stat "$MNT_alone/$PATH_four" >"$TMP/alone.out" 2>&1 && fail "found"
grep -q 'timed out' "$TMP/alone.out" || fail "alone: $(cat "$TMP/alone.out")"
symfs_umount alone
