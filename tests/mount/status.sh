#!/bin/sh
# symfs status and symfs umount with mounts that do not answer: a stopped daemon, a dead one, a copy
# of the mount that keeps its daemon alive. Control characters from a mount never reach the
# terminal.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ "$(id -u)" = 0 ] && [ -z "${SYMFS_INSIDE:-}" ]; then
  apart=${top_srcdir:-$(dirname "$0")/../..}/scripts/apart
  "$apart" true 2>/dev/null && { SYMFS_INSIDE=1 exec "$apart" sh "$0"; }
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
unset SYMFS_TEST_ASK_MS # daemons here do not answer

mkdir "$TMP/src"
# status WANTED ARGS...: output in $TMP/out and $TMP/err. A busy machine may give a daemon that is well no processor
# for two seconds: then the command is run again.
status() {
  st_want=$1
  shift
  wait_for ends_with_it "$@" ||
    fail "status $*: exit $st_got, wanted $st_want: $(cat "$TMP/out" "$TMP/err")"
}
ends_with_it() {
  "$SYMFS" status "$@" >"$TMP/out" 2>"$TMP/err"
  st_got=$?
  [ $st_got = "$st_want" ]
}
# every WANTED COUNT [--json]: of all mounts, COUNT of which do not answer. Without a namespace of its own, the test
# judges no exit status, because the machine may have other mounts; it then looks only for lines of its own mounts.
every() {
  st_want=$1 ev_count=$2
  shift 2
  wait_for counts_silent "$@" || fail "status: exit $st_got, wanted $st_want: $(cat "$TMP/out" "$TMP/err")"
}
counts_silent() {
  ends_with_it "$@" || [ -z "${SYMFS_INSIDE:-}" ] || return
  [ "$(lines 'no answer in 2 s' "$TMP/err")" = "$ev_count" ]
}
lines() { grep -c "$TMP/.*$1" "$2"; } # PATTERN FILE: how many lines of mounts of this test

# ---- a stopped daemon ----------------------------------------------------------------------------
symfs_mount one --source "$TMP/src"
symfs_mount two --source "$TMP/src"
symfs_mount three --source "$TMP/src"
every 0 0
[ "$(lines ': symfs [0-9]' "$TMP/out")" = 3 ] || fail "status of three mounts: $(cat "$TMP/out")"
kill -STOP "$PID_one" "$PID_two"
for args in "$MNT_one" "--json $MNT_one"; do
  # shellcheck disable=SC2086 # words
  status 4 $args
  grep -q "^symfs status: $MNT_one: no answer in 2 s; its daemon is stopped" "$TMP/err" ||
    fail "no sentence: $(cat "$TMP/err")"
done
every 4 2
grep -q "^$MNT_three: symfs " "$TMP/out" || fail "the third is not shown: $(cat "$TMP/out")"
(cd / && status 4 "$MNT_one") || fail "from elsewhere"
# Its reader sees the end while the daemon is stopped, whatever became of the process that asked.
"$SYMFS" status "$MNT_one" 2>/dev/null | cat >"$TMP/out"
kill -CONT "$PID_one" "$PID_two"
every 0 0
status 2 http://127.0.0.1:1/
grep -q 'symfs sources check --source URL. asks .*curl URL/metrics' "$TMP/err" || fail "a server: $(cat "$TMP/err")"
# A link leads to it, as with umount; DIR is named where no mount is.
ln -s one "$TMP/link"
for dir in "$TMP/link" "$TMP/link/" "$TMP/link/../one"; do
  status 0 "$dir"
  grep -q "^$MNT_one: symfs " "$TMP/out" || fail "status $dir: $(cat "$TMP/out")"
done
kill -STOP "$PID_one"
status 4 "$TMP/link"
status 1 "$TMP/link/gdb"
kill -CONT "$PID_one"
status 1 "$TMP/src"
grep -qx "symfs status: $TMP/src: no symfs is mounted there" "$TMP/err" || fail "no mount: $(cat "$TMP/err")"
# What another mount hides is not asked, and is not dead.
if [ -n "${SYMFS_INSIDE:-}" ]; then
  mount -t tmpfs none "$MNT_two" || fail "mount -t tmpfs"
  status 1 "$MNT_two"
  status 0
  [ "$(grep -c ': symfs [0-9]' "$TMP/out")" = 2 ] && [ ! -s "$TMP/err" ] ||
    fail "a hidden mount: $(cat "$TMP/out" "$TMP/err")"
  umount "$MNT_two"
  # Too few descriptors to ask them all.
  (ulimit -n 5 && exec "$SYMFS" status) >"$TMP/out" 2>"$TMP/err"
  [ $? = 4 ] && grep -q 'Too many open files' "$TMP/err" || fail "few descriptors: $(cat "$TMP/out" "$TMP/err")"
fi
for m in one two three; do symfs_umount $m; done

# ---- who waits for what --------------------------------------------------------------------------
if command -v curl >/dev/null && command -v gcc >/dev/null && command -v objcopy >/dev/null; then
  make_two_large
  upstream_start up --root "$TMP/up"
  upstream_fault "$URL_up" '*' trickle 60000
  symfs_mount slow --source "gdb@$URL_up"
  cp "$(command -v cat)" "$TMP/a cat,1" # any name, also one with separators
  for n in 1 2; do
    eval "file=\$MNT_slow/gdb/\$name$n"
    "$TMP/a cat,1" "$file" >/dev/null 2>&1 &
    eval "READER$n=\$!"
    PIDS="$PIDS $!"
  done
  waiting="a_cat_1 \($READER1\)"
  both_are_seen() {
    "$SYMFS" status "$MNT_slow" >"$TMP/out" 2>"$TMP/err" &&
      grep -Eq "receiving from gdb@$URL_up, [0-9]+ % of 3\.[0-9] MB, [0-9.]+ MB/s, [0-9]+ s, for $waiting\$" \
        "$TMP/out" &&
      grep -Eq ", for a_cat_1 \($READER2\)\$" "$TMP/out"
  }
  wait_for both_are_seen && grep -qE ', 2 downloads$' "$TMP/out" ||
    fail "status does not say who waits: $(cat "$TMP/out" "$TMP/err" "$MNT_slow/.symfs/activity")"
  [ "$(grep -cE "^elf_code ?[0-9a-f]*(	[^	]+){7}" "$MNT_slow/.symfs/downloads")" = 2 ] ||
    fail "$(cat "$MNT_slow/.symfs/downloads")"
  "$SYMFS" status --json "$MNT_slow" >"$TMP/json" || fail "status --json"
  tr -d ' \n' <"$TMP/json" >"$TMP/out"
  number='[0-9][0-9]*'
  row="\"key\":\"elf_code[0-9a-f]*\",\"state\":\"receiving\",\"source\":\"gdb@$URL_up\",\"bytes\":$number"
  row="$row,\"size\":$number,\"percent\":$number,\"bytes_per_second\":$number,\"ms\":$number"
  grep -q "{$row,\"waiting\":\[{\"pid\":$READER1,\"program\":\"a_cat_1\"}\]}" "$TMP/out" ||
    fail "status --json has no fields of a download: $(cat "$TMP/json")"
  row="\"name\":\"gdb@$URL_up\",\"type\":\"http\",\"layout\":\"gdb\",\"where\":\"$URL_up/*\",\"state\":\"ok\""
  grep -q "\"sources\":\[{$row}\]" "$TMP/out" ||
    fail "status --json has no fields of a source: $(cat "$TMP/json")"
  # Renewed, until the mount ends.
  "$SYMFS" status --watch "$MNT_slow" >"$TMP/watched" 2>"$TMP/watch.log" &
  watcher=$!
  PIDS="$PIDS $watcher"
  twice() { [ "$(grep -c "^$MNT_slow: symfs " "$TMP/watched")" -ge 2 ]; }
  wait_for twice || fail "status --watch: $(cat "$TMP/watched")"
  kill "$READER1" "$READER2"
  symfs_umount slow
  wait_gone $watcher || fail "status --watch outlives the mount"
  wait $watcher
  [ $? = 1 ] || fail "status --watch after the end of the mount: exit $?"
  status 2 --watch --json
fi

# A daemon that has read the question and hangs: not even SIGKILL ends the process that asked.
mkdir "$TMP/deaf"
touch "$TMP/flag"
MOUNTS="$MOUNTS $TMP/deaf"
"$top_builddir/tests/helpers/hang" "$TMP/deaf" "$TMP/flag" symfs >"$TMP/hang.log" 2>&1 &
PIDS="$PIDS $!"
wait_for is_mounted "$TMP/deaf" || fail "no mount that hangs: $(cat "$TMP/hang.log")"
status 4 "$TMP/deaf"
grep -q "no answer in 2 s" "$TMP/err" || fail "a hanging daemon: $(cat "$TMP/err")"
"$SYMFS" status "$TMP/deaf" 2>&1 | cat >"$TMP/out"
"$SYMFS" umount "$TMP/deaf" 2>"$TMP/err" || fail "umount of a hanging mount: $(cat "$TMP/err")"
rm "$TMP/flag"

# A dead one is no hang. A line says all of a mount that is well.
symfs_mount dead --source "$TMP/src"
status 0 "$MNT_dead"
[ "$(wc -l <"$TMP/out")" = 1 ] &&
  grep -qE "^$MNT_dead: symfs [^ ]+, [0-9]+ hits?, 0 fetched, 0 misses, 0 downloads\$" "$TMP/out" ||
  fail "the line of a mount: $(cat "$TMP/out")"
status 0 -v "$MNT_dead"
# Fields are separated by tabs, as they are in .symfs/sources.
grep -Fqx "$(cat "$MNT_dead/.symfs/sources")" "$TMP/out" || fail "the line of a source: $(cat "$TMP/out")"
kill -KILL "$PID_dead"
wait_gone "$PID_dead" || fail "SIGKILL"
status 3 "$MNT_dead"
grep -q 'is its daemon gone' "$TMP/err" || fail "a dead mount: $(cat "$TMP/err")"
"$SYMFS" umount "$MNT_dead" || fail "umount of a dead mount"

# ---- names ---------------------------------------------------------------------------------------
esc=$(printf '\033]0;owned\007')
mkdir "$TMP/src$esc" "$TMP/mnt$esc"
MOUNTS="$MOUNTS $TMP/mnt$esc"
"$SYMFS" mount --no-default-sources --cache "$TMP/store" --source "$TMP/src$esc" "$TMP/mnt$esc" \
  2>"$TMP/err" ||
  fail "a mount point with an escape: $(cat "$TMP/err")"
pid=$(stat_of "$TMP/mnt$esc" pid)
PIDS="$PIDS $pid"
for args in "" --json; do
  # shellcheck disable=SC2086 # words
  every 0 0 $args
  grep -q owned "$TMP/out" || fail "status $args does not name it: $(cat -v "$TMP/out")"
  LC_ALL=C tr -d '\t\n' <"$TMP/out" | LC_ALL=C grep -q '[[:cntrl:]]' &&
    fail "status $args prints commands: $(cat -v "$TMP/out")"
done
kill -STOP "$pid"
every 4 1
LC_ALL=C tr -d '\n' <"$TMP/err" | LC_ALL=C grep -q '[[:cntrl:]]' &&
  fail "messages hold commands: $(cat -v "$TMP/err")"
# A stopped daemon does not keep its mount.
"$SYMFS" umount "$TMP/mnt$esc" 2>"$TMP/err" || fail "umount of a stopped mount: $(cat -v "$TMP/err")"
kill -CONT "$pid"
wait_gone "$pid" || fail "the daemon stays"
grep -q 'is detached; its daemon did not answer' "$TMP/err" || fail "umount of a stopped mount: $(cat -v "$TMP/err")"

# ---- umount does not wait for a copy of the mount ------------------------------------------------------------
[ -n "${SYMFS_INSIDE:-}" ] || { say "a copy of a mount: only as root"; exit 0; }
symfs_mount held --source "$TMP/src"
unshare -m --propagation private sleep 3600 &
holder=$!
PIDS="$PIDS $holder"
copied() { [ "$(readlink "/proc/$holder/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; }
wait_for copied || fail "unshare"
"$SYMFS" umount "$MNT_held" 2>"$TMP/err"
r=$?
[ $r = 4 ] && grep -q "is unmounted, but its daemon (pid $PID_held) has not ended" "$TMP/err" ||
  fail "a copy of the mount: exit $r: $(cat "$TMP/err")"
kill $holder
wait_gone "$PID_held" || fail "the daemon outlives the last copy"
