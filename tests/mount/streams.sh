#!/bin/sh
# The standard streams of a daemon: closed ones, pipes, a log file, syslog; and the signals on which
# other daemons reopen their logs. Run by root, it uses a mount namespace with its own /dev/log.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ "$(id -u)" = 0 ] && [ -z "${SYMFS_INSIDE:-}" ]; then
  apart=${top_srcdir:-$(dirname "$0")/../..}/scripts/apart
  "$apart" true 2>/dev/null && { SYMFS_INSIDE=1 exec "$apart" sh "$0"; }
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl timeout
need_mount

make_program "$TMP/made" prog
mkdir "$TMP/root" "$TMP/m" "$TMP/dev"
put_gdb "$TMP/root" "$TMP/made/debug/prog.debug" .debug
prog=$(gdb_path "$(build_id "$TMP/made/full/prog")" .debug)
MOUNTS="$MOUNTS $TMP/m"

pid_of() { sed -n 's/^pid //p' "$TMP/m/.symfs/stats"; }
background() { # ARGS...: mounts in the background; the caller redirects its streams
  timeout 600 "$SYMFS" mount --no-default-sources --cache "$TMP/store" --source "$TMP/root" "$@" "$TMP/m"
}
up() { # WHAT STATUS: it returned 0, and the mount answers; sets pid
  [ "$2" = 0 ] || { umount -l "$TMP/m"; fail "$1: exit $2"; }
  pid=$(pid_of)
  [ -n "$pid" ] || fail "$1: the mount does not answer"
  PIDS="$PIDS $pid"
  cmp "$TMP/m/$prog" "$TMP/root/$prog" || fail "$1: other bytes"
}
down() { umounts "$TMP/m" "$pid"; }

# ---- closed streams ----------------------------------------------------------------------------
for closed in '<&-' '>&-' '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
  eval "background $closed"
  up "mount $closed" $?
  for fd in 0 1; do
    at=$(readlink "/proc/$pid/fd/$fd")
    [ "$at" = /dev/null ] || fail "mount $closed: descriptor $fd is $at"
  done
  case $(readlink "/proc/$pid/fd/2") in
  "$TMP/store"*) fail "mount $closed: descriptor 2 is a file of the store" ;;
  esac
  down
done 2>"$TMP/closed.err"
# A worker inherits the streams of the command, and writes its result to a descriptor of its own.
"$SYMFS" gsym create -o "$TMP/closed.gsym" "$TMP/made/full/prog" <&- >&- 2>&- ||
  fail "gsym create with closed streams: $?"
"$SYMFS" gsym verify "$TMP/closed.gsym" --against "$TMP/made/full/prog" >"$TMP/verify.log" 2>&1 ||
  fail "gsym create with closed streams wrote something else"
# What cannot be written is an error as before.
"$SYMFS" id "$TMP/made/full/prog" >&- 2>"$TMP/id.err"
[ $? = 4 ] || fail "results for a closed stream are no error: $(cat "$TMP/id.err")"

# ---- signals that end no daemon ----------------------------------------------------------------
symfs_mount n --source "$TMP/root"
symfs_serve s --source "$TMP/root"
for signal in USR1 USR2; do
  kill -$signal "$PID_n" "$PID_s"
  cmp "$MNT_n/$prog" "$TMP/root/$prog" || fail "the mount after SIG$signal"
  fetch_url "$URL_s/healthz" >"$TMP/health" || fail "the server after SIG$signal"
done
symfs_umount n
symfs_unserve s

# ---- control characters ------------------------------------------------------------------------
SYMFS_DEBUG=$(printf 'a\033\302\233b\302\240c\177') "$SYMFS" --version 2>"$TMP/said" >"$TMP/out"
LC_ALL=C grep -q "topic \"a???b$(printf '\302\240')c?\"" "$TMP/said" ||
  fail "control characters: $(cat -v "$TMP/said")"

# ---- few descriptors -----------------------------------------------------------------------------
# The start is refused, and the message has the number that is needed. LeakSanitizer itself needs descriptors at the
# end.
starts_or_gone() { gone $few || grep -q listening "$TMP/out"; }
for n in 4 12 255 256; do
  : >"$TMP/out"
  ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 sh -c 'ulimit -n "$0" && exec "$@"' $n "$SYMFS" serve \
    --no-default-sources --cache "$TMP/store-few" --source "$TMP/root" --listen 127.0.0.1:0 \
    >"$TMP/out" 2>"$TMP/said" &
  few=$!
  PIDS="$PIDS $few"
  wait_for starts_or_gone || fail "serve with $n descriptors hangs: $(cat "$TMP/said")"
  if [ $n -lt 256 ]; then wanted=4; else wanted=0; fi
  [ $wanted = 0 ] || grep -q "open files is $n, and symfs needs 256" "$TMP/said" || [ $n = 4 ] ||
    fail "serve with $n descriptors: $(cat "$TMP/said")"
  kill $few 2>/dev/null
  wait $few
  r=$?
  [ $r = $wanted ] || fail "serve with $n descriptors: exit $r, not $wanted: $(cat "$TMP/said")"
done

# ---- little address space ------------------------------------------------------------------------
if grep -aq __asan_init "$SYMFS"; then
  part_skipped "AddressSanitizer reserves terabytes: no limit of address space"
else
  prlimit --as=400000000 "$SYMFS" serve --no-default-sources --cache "$TMP/store-little" --source "unified@$TMP" \
    --listen 127.0.0.1:0 >"$TMP/out" 2>"$TMP/said" &
  few=$!
  PIDS="$PIDS $few"
  wait_for starts_or_gone || fail "serve with 400 MB of address space hangs: $(cat "$TMP/said")"
  U=$(sed -n 's/^listening on //p' "$TMP/out")
  # Each of these requests asks the directory, so the threads that look into directories start.
  for n in 1 2 3 4 5 6 7 8; do
    ask 404 "/unified/ab/cdef0123456789abcdef0123456789abcdef0$n/debuginfo"
  done
  kill $few
  wait $few || fail "serve with 400 MB of address space: $(cat "$TMP/said")"
  prlimit --as=150000000 "$SYMFS" serve --no-default-sources --cache "$TMP/store-little" --listen 127.0.0.1:0 \
    >"$TMP/out" 2>"$TMP/said"
  [ $? = 4 ] && grep -q "address space is 143 MiB, and symfs needs 200" "$TMP/said" ||
    fail "serve with 150 MB of address space: $(cat "$TMP/said")"
fi

# ---- a log file --------------------------------------------------------------------------------
logged() { grep -q "^20[0-9-]*T[0-9:]*Z symfs $1: .*reloaded" "$2"; }
(background --log-file "$TMP/log" 2>&1; echo "exit $?") | cat >"$TMP/said"
grep -qx 'exit 0' "$TMP/said" || fail "--log-file: $(cat "$TMP/said")"
up "--log-file" 0
grep -qx "symfs mount: $TMP/m: logs to $TMP/log" "$TMP/said" ||
  fail "it does not say where it logs: $(cat "$TMP/said")"
kill -HUP "$pid"
wait_for logged mount "$TMP/log" || fail "--log-file: no word of a reload: $(cat "$TMP/log")"
mv "$TMP/log" "$TMP/log.1"
kill -HUP "$pid"
wait_for logged mount "$TMP/log" || fail "SIGHUP does not open the log file anew"
[ "$(stat -c %a "$TMP/log")" = 640 ] || fail "a log file of mode $(stat -c %a "$TMP/log")"
down
(background -o "log_file=$TMP/log2" 2>&1) >"$TMP/said" || fail "-o log_file: $(cat "$TMP/said")"
grep -q "logs to $TMP/log2" "$TMP/said" || fail "-o log_file: $(cat "$TMP/said")"
up "-o log_file" 0
down
background --log-file "$TMP" 2>"$TMP/said"
[ $? = 4 ] && grep -q "log file $TMP: " "$TMP/said" || fail "a directory as log file: $(cat "$TMP/said")"

mkfifo "$TMP/pipe"
background --log-file "$TMP/pipe" 2>"$TMP/said"
[ $? = 2 ] && grep -q "log file $TMP/pipe: is not a regular file" "$TMP/said" ||
  fail "a pipe as log file: $(cat "$TMP/said")"

# The access log does not wait for the reader of a pipe: neither at the start, nor after SIGHUP, nor in a request.
timeout 300 "$SYMFS" serve --no-default-sources --cache "$TMP/store-a" --listen 127.0.0.1:0 \
  --access-log "$TMP/pipe" \
  >"$TMP/out" 2>"$TMP/said"
[ $? = 4 ] && grep -q "access log $TMP/pipe: no program reads this pipe" "$TMP/said" ||
  fail "a pipe without a reader: $(cat "$TMP/said")"
symfs_serve a --access-log "$TMP/alog"
mv "$TMP/alog" "$TMP/alog.1"
mkfifo "$TMP/alog"
kill -HUP "$PID_a"
wait_for grep -q "reloaded" "$TMP/a.log" || fail "SIGHUP with a pipe as access log: $(cat "$TMP/a.log")"
fetch_url "$URL_a/healthz" >"$TMP/health" || fail "requests wait for the reader of the access log"
wait_for grep -q /healthz "$TMP/alog.1" || fail "what cannot be opened replaced the access log"
exec 9<>"$TMP/alog" # a reader that reads nothing
kill -HUP "$PID_a"
reloads() { [ "$(grep -c reloaded "$TMP/a.log")" -ge "$1" ]; }
wait_for reloads 2 || fail "SIGHUP with a reader: $(cat "$TMP/a.log")"
long=$(head -c 3000 /dev/zero | tr '\0' a)
seq -f "url = \"$URL_a/%g/$long\"" 40 >"$TMP/urls" # of 3,000 bytes each; 64 KiB have room
curl -s --max-time "$WAIT_MOST" -o /dev/null -K "$TMP/urls" || fail "a full pipe as access log: curl ends with $?"
exec 9>&-
symfs_unserve a

symfs_serve s --source "$TMP/root" --log-file "$TMP/slog"
wait_for grep -q "logs to $TMP/slog" "$TMP/s.log" || fail "serve does not say where it logs"
kill -HUP "$PID_s"
wait_for logged serve "$TMP/slog" || fail "serve --log-file: $(cat "$TMP/slog")"
mv "$TMP/slog" "$TMP/slog.1"
kill -HUP "$PID_s"
wait_for logged serve "$TMP/slog" || fail "serve: SIGHUP does not open the log file anew"
symfs_unserve s

# ---- syslog ------------------------------------------------------------------------------------
[ -n "${SYMFS_INSIDE:-}" ] || { say "syslog: only as root, in a namespace"; exit 0; }
for node in null:1:3 zero:1:5 random:1:8 urandom:1:9 tty:5:0 fuse:10:229; do
  rest=${node#*:}
  mknod -m 666 "$TMP/dev/${node%%:*}" c "${rest%:*}" "${rest#*:}" || skip "cannot make device nodes"
done
ln -s /proc/self/fd "$TMP/dev/fd"
mkdir "$TMP/dev/shm"
mount --bind "$TMP/dev" /dev && (: >/dev/null) || fail "cannot bind a /dev"
(background 2>&1; echo "exit $?") | cat >"$TMP/said"
grep -qx 'exit 0' "$TMP/said" || fail "no syslog: $(cat "$TMP/said")"
up "no syslog" 0
grep -q "logs nothing: .*--log-file" "$TMP/said" || fail "no syslog, and it says: $(cat "$TMP/said")"
down
"$top_builddir/tests/helpers/notify-recv" /dev/log >"$TMP/syslog" 2>&1 &
PIDS="$PIDS $!"
wait_for test -S /dev/log || fail "notify-recv: $(cat "$TMP/syslog")"
(background 2>&1; echo "exit $?") | cat >"$TMP/said"
grep -qx 'exit 0' "$TMP/said" || fail "syslog: $(cat "$TMP/said")"
up "syslog" 0
grep -qx "symfs mount: $TMP/m: logs to syslog" "$TMP/said" || fail "syslog, and it says: $(cat "$TMP/said")"
kill -HUP "$pid"
wait_for grep -q 'symfs mount: .*reloaded' "$TMP/syslog" ||
  fail "syslog has no word of a reload: $(cat "$TMP/syslog")"
down
