#!/bin/sh
# Running conversions, with a worker that obeys its input. 32 readers in two mounts of one store
# cause one conversion. When all readers leave, the conversion ends. Another process takes over,
# also from a stopped one. A worker that crashes or is killed makes its file fail for a day; the
# mount continues.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf curl cmp pgrep
REAL=$SYMFS
with_broken_worker

# told NAME WORDS: the debug file of a program NAME of its own, with words for the worker in it.
mkdir -p "$TMP/up"
told() {
  make_program "$TMP/$1" "$1"
  printf 'worker: %s\n' "$2" >"$TMP/words"
  objcopy --add-section .words="$TMP/words" "$TMP/$1/debug/$1.debug" || fail "objcopy"
  put_gdb "$TMP/up" "$TMP/$1/debug/$1.debug" .debug
  "$REAL" gsym create -o "$TMP/$1.gsym" "$TMP/$1/debug/$1.debug" || fail "create $1"
  eval "$1=gsym/$(gdb_path "$(build_id "$TMP/$1/debug/$1.debug")" .debug.gsym)"
}
told plain nothing
told many "wait $TMP/gate-many"
told left "wait $TMP/gate-left"
told taken "wait $TMP/gate-taken"
told held "wait $TMP/gate-held"
told slow "wait $TMP/gate-slow"
told bad crash
told fat full
told stuck hang

upstream_start up --root "$TMP/up"
symfs_mount one --cache "$TMP/store" --source "gdb@$URL_up"
symfs_mount two --cache "$TMP/store" --source "gdb@$URL_up"
made() { cat "$TMP/one.log" "$TMP/two.log" | grep -c 'was made of'; }
workers_of() { pgrep -P "$1" -x convert; }
idle() { ! workers_of "$1"; }
waits() { [ "$(stat_of "$MNT_one" fs_waiting)" = "$1" ] && [ "$(stat_of "$MNT_two" fs_waiting)" = "$2" ]; }
begin() { # COMMAND...: in the background; sets BEGUN
  "$@" >/dev/null 2>&1 &
  BEGUN=$!
  PIDS="$PIDS $BEGUN"
}

# ---- many at once, in two processes --------------------------------------------------------
readers=
i=0
while [ $i -lt 16 ]; do
  for m in "$MNT_one" "$MNT_two"; do
    begin cmp "$m/$many" "$TMP/many.gsym"
    readers="$readers $BEGUN"
  done
  i=$((i + 1))
done
wait_for waits 16 16 || fail "waiting: $(stat_of "$MNT_one" fs_waiting) and $(stat_of "$MNT_two" fs_waiting)"
wait_for sh -c "pgrep -P $PID_one -x convert || pgrep -P $PID_two -x convert" || fail "no worker runs"
[ "$( { workers_of "$PID_one"; workers_of "$PID_two"; } | wc -l)" = 1 ] || fail "more than one works"
# The worker has its streams and what it was given, and nothing of the environment.
worker=$({ workers_of "$PID_one"; workers_of "$PID_two"; })
[ "$(ls "/proc/$worker/fd" | sort -n | tr '\n' ' ')" = "0 1 2 3 4 5 " ] ||
  fail "descriptors of a worker: $(ls -l "/proc/$worker/fd")"
[ "$(tr '\0' '\n' <"/proc/$worker/environ" | wc -c)" = 0 ] ||
  fail "the environment of a worker: $(tr '\0' '\n' <"/proc/$worker/environ")"
: >"$TMP/gate-many"
for r in $readers; do
  wait "$r" || fail "a reader did not get what create makes"
done
[ "$(made)" = 1 ] || fail "$(made) conversions for 32 readers"
[ "$(upstream_count "$URL_up" get "/.build-id/*.debug")" = 1 ] || fail "the debug file was got more than once"

# ---- no reader waits any longer ---------------------------------------------------------------
begin cat "$MNT_one/$left"
first=$BEGUN
begin cat "$MNT_one/$left"
wait_for workers_of "$PID_one" || fail "no worker runs"
wait_for waits 2 0 || fail "$(stat_of "$MNT_one" fs_waiting) wait"
kill -KILL $first
wait_for waits 1 0 || fail "the killed reader still waits"
idle "$PID_one" >/dev/null && fail "the worker ended though one still waits"
kill -KILL "$BEGUN"
wait_for waits 0 0 || fail "the last still waits"
wait_for idle "$PID_one" || fail "the worker goes on though no reader waits"
: >"$TMP/gate-left"
same_file "$MNT_one/$left" "$TMP/left.gsym"

# ---- another process takes over ------------------------------------------------------------
begin cat "$MNT_one/$taken"
first=$BEGUN
wait_for workers_of "$PID_one" || fail "no worker runs"
begin cmp "$MNT_two/$taken" "$TMP/taken.gsym"
wait_for waits 1 1 || fail "no process follows"
kill -KILL $first
wait_for workers_of "$PID_two" || fail "no process takes over"
: >"$TMP/gate-taken"
wait "$BEGUN" || fail "the process that took over has other bytes"

# ---- the converting process is stopped (Ctrl-Z) ------------------------------------------------------
begin cmp "$MNT_one/$held" "$TMP/held.gsym"
first=$BEGUN
wait_for workers_of "$PID_one" || fail "no worker runs"
kill -STOP "$PID_one"
: >"$TMP/gate-held"
export SYMFS_TEST_SILENCE_MS=5000 # as without the variable
symfs_mount brief --cache "$TMP/store" --source "gdb@$URL_up"
cmp "$MNT_brief/$held" "$TMP/held.gsym" || fail "the mount brief waits for the stopped process"
grep -q 'the process converting it has stalled' "$TMP/brief.log" || fail "the mount brief does not see the stall"
symfs_umount brief
kill -CONT "$PID_one"
wait "$first" || fail "the stopped process has other bytes"
# A slow process that shows signs of life is followed for as long as it takes.
begin cmp "$MNT_one/$slow" "$TMP/slow.gsym"
first=$BEGUN
wait_for workers_of "$PID_one" || fail "no worker runs"
readers=$first
# follows SECONDS: a mount that leaves a leader which is silent for so long starts no worker in more than that time.
follows() {
  SYMFS_TEST_SILENCE_MS=$(($1 * 1000))
  symfs_mount "after$1" --cache "$TMP/store" --source "gdb@$URL_up"
  eval "fo_mnt=\$MNT_after$1 fo_pid=\$PID_after$1"
  begin cmp "$fo_mnt/$slow" "$TMP/slow.gsym"
  readers="$readers $BEGUN"
  reads() { [ "$(stat_of "$fo_mnt" fs_waiting)" = 1 ]; }
  wait_for reads || fail "cmp does not wait for the file in the mount after$1"
  ! (WAIT_MOST=$(($1 * 7 / 5)); wait_for workers_of "$fo_pid")
}
# On a busy machine a slow process may give no sign for the shortest of these times.
follows 5 || follows 20 || follows 80 || fail "a slow process is not followed"
: >"$TMP/gate-slow"
for r in $readers; do
  wait "$r" || fail "something else was made"
done

# ---- workers that end badly ----------------------------------------------------------------
refused() { # NAME WORDS: reading it fails with these
  eval "rf_path=\$MNT_one/\$$1"
  cat "$rf_path" >/dev/null 2>"$TMP/said" && fail "$1 was made"
  grep -q "$2" "$TMP/said" || fail "$1: $(cat "$TMP/said")"
}
refused bad 'Bad message'
grep -q 'the worker was ended by signal 11' "$TMP/one.log" || fail "the log does not say how the worker ended"
begin cat "$MNT_one/$stuck"
wait_for workers_of "$PID_one" || fail "no worker runs"
same_file "$MNT_one/$plain" "$TMP/plain.gsym" # while another is stuck
kill -KILL "$(workers_of "$PID_one")"
wait "$BEGUN" && fail "of a worker that was killed something was made"
grep -q 'the worker was ended by signal 9' "$TMP/one.log" || fail "the log does not say how the worker ended"
# Remembered as short of memory, also by the other process: no worker is started, or this would hang.
refused stuck 'Cannot allocate memory'
cat "$MNT_two/$stuck" >/dev/null 2>&1 && fail "the other process does not know"
[ "$(grep -c 'was ended by signal' "$TMP/two.log")" = 0 ] || fail "the other process tried it, too"
# A worker that reached its limit: the file is not remembered as damaged.
refused fat 'Cannot allocate memory'
grep -q 'more memory than the .* MiB that a worker may have' "$TMP/one.log" ||
  fail "the log does not say that memory was short"
: >"$TMP/one.log"
refused fat 'Cannot allocate memory'
grep -q 'more memory' "$TMP/one.log" && fail "what needs more memory than there is was tried again at once"
"$SYMFS" cache ls --cache "$TMP/store" --misses >"$TMP/misses" || fail "cache ls --misses"
grep -q 'gsym-memory' "$TMP/misses" || fail "not remembered as short of memory: $(cat "$TMP/misses")"
same_file "$MNT_two/$plain" "$TMP/plain.gsym"
same_file "$MNT_one/$many" "$TMP/many.gsym"

# ---- the end, while one works --------------------------------------------------------------
told last "wait $TMP/never"
begin cat "$MNT_one/$last"
wait_for workers_of "$PID_one" || fail "no worker runs"
kill -TERM "$PID_one"
wait_gone "$PID_one" || fail "the daemon does not end while a worker works"
wait "$PID_one" || fail "the daemon ended with $?"
symfs_umount two
