#!/bin/sh
# The standard streams of a daemon: closed ones.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl timeout
need_mount

make_program "$TMP/made" prog
mkdir "$TMP/root" "$TMP/m"
put_gdb "$TMP/root" "$TMP/made/debug/prog.debug" .debug
prog=$(gdb_path "$(build_id "$TMP/made/full/prog")" .debug)
MOUNTS="$MOUNTS $TMP/m"

pid_of() { sed -n 's/^pid //p' "$TMP/m/.symfs/stats"; }
background() { # ARGS...: mounts in the background; the caller redirects its streams
  timeout 20 "$SYMFS" mount --no-default-sources --cache "$TMP/store" --source "$TMP/root" "$@" "$TMP/m"
}
up() { # WHAT STATUS: it returned 0, and the mount answers; sets pid
  [ "$2" = 0 ] || { umount -l "$TMP/m"; fail "$1: exit $2"; }
  pid=$(pid_of)
  [ -n "$pid" ] || fail "$1: the mount does not answer"
  PIDS="$PIDS $pid"
  cmp "$TMP/m/$prog" "$TMP/root/$prog" || fail "$1: other bytes"
}
down() { "$SYMFS" umount "$TMP/m" || fail "$1: umount"; }

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
  down "mount $closed"
done 2>"$TMP/closed.err"
# A worker inherits the streams of the command, and writes its result to a descriptor of its own.
"$SYMFS" gsym create -o "$TMP/closed.gsym" "$TMP/made/full/prog" <&- >&- 2>&- || fail "gsym create with closed streams: $?"
"$SYMFS" gsym verify "$TMP/closed.gsym" --against "$TMP/made/full/prog" >"$TMP/verify.log" 2>&1 ||
  fail "gsym create with closed streams wrote something else"
# What cannot be written is an error as before.
"$SYMFS" id "$TMP/made/full/prog" >&- 2>"$TMP/id.err"
[ $? = 4 ] || fail "results for a closed stream are no error: $(cat "$TMP/id.err")"

