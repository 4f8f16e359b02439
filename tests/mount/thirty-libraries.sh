#!/bin/sh
# A cold gdb start on a program with thirty libraries, where one server accepts no connection and
# one answers 503, in any order. They cost one deadline, and almost nothing afterwards.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gdb gcc objcopy strip readelf curl

LIBRARIES=30
mkdir "$TMP/www"
many_libraries $LIBRARIES 'int f%d(int n) { return n + %d; }' '' 'return n == 0;'
for f in "$TMP/bin"/*; do
  objcopy --only-keep-debug "$f" "$TMP/debug" && put_gdb "$TMP/www" "$TMP/debug" .debug && strip "$f" || fail objcopy
done

upstream_start dead --no-accept
upstream_start down --root "$TMP/www"
upstream_start good --root "$TMP/www"
upstream_fault "$URL_down" '/*' status 503

# ask MNT: 1 if a library's line is not told.
ask() {
  gdb -nx -batch -iex 'set debuginfod enabled off' -iex "set debug-file-directory $1" \
    -ex 'break main' -ex run -ex 'info line f1' -ex "info line f$LIBRARIES" "$TMP/bin/main" >"$TMP/gdb.out" 2>&1
  grep -q 'Line 1 of "l1.c"' "$TMP/gdb.out" && grep -q "Line 1 of \"l$LIBRARIES.c\"" "$TMP/gdb.out" ||
    grep -Eq "Line 1 of \".*/l$LIBRARIES.c\"" "$TMP/gdb.out"
}
# What the mount has waited for and asked so far: deadlines that passed, requests to the two bad servers.
deadlines() { stat_of "$c_mnt" timeouts; }
wasted() {
  echo $(($(stat_of "$c_mnt" requests) - $(upstream_count "$URL_good" requests)))
}

runs=0
cold() { # DEADLINE NAME SOURCES...: a new store, and a mount on it
  runs=$((runs + 1))
  c_deadline=$1 c_name=$2$runs
  shift 2
  c_args=
  for c_source; do c_args="$c_args --source gdb@$c_source"; done
  upstream_reset "$URL_good"
  # shellcheck disable=SC2086
  symfs_mount "$c_name" --lookup-deadline "$c_deadline" --connect-timeout 1h --stall-timeout 1h \
    --breaker-seconds 1h $c_args
  eval "c_mnt=\$MNT_$c_name"
}

# costs_one DEADLINE NAME SOURCES...: gdb finds all lines. At most one deadline passes, and the bad servers are asked
# for few of the files. After that gdb finds them without a deadline, and the bad servers are again asked for few.
costs_one() {
  cold "$@"
  ask "$c_mnt" || { co_why="gdb says $(cat "$TMP/gdb.out")"; symfs_umount "$c_name"; return 1; }
  co_why="$(deadlines) deadlines, $(wasted) requests to the bad servers"
  say "$c_name, $1: $co_why"
  [ "$(deadlines)" -le 1 ] && [ "$(wasted)" -le 10 ] || { symfs_umount "$c_name"; return 1; }
  symfs_umount "$c_name"

  cold "$@"
  stat "$c_mnt/.build-id/ab/$(printf '%038d' 1).debug" >/dev/null 2>&1
  co_deadlines=$(deadlines) co_wasted=$(wasted)
  ask "$c_mnt" || { co_why="gdb says $(cat "$TMP/gdb.out")"; symfs_umount "$c_name"; return 1; }
  co_why="after the first, $(deadlines) - $co_deadlines deadlines, $(wasted) - $co_wasted requests to the bad servers"
  say "$c_name, $1: $co_why"
  [ "$(deadlines)" = "$co_deadlines" ] && [ $(($(wasted) - co_wasted)) -le 10 ]
  co_good=$?
  symfs_umount "$c_name"
  return $co_good
}
# The deadline for the dead server is also that for the good one: a busy machine needs a longer one.
in_order() { # NAME SOURCES...
  for deadline in 3s 12s 48s; do costs_one $deadline "$@" && return; done
  fail "$1: $co_why"
}
in_order last "$URL_dead" "$URL_down" "$URL_good"
in_order first "$URL_good" "$URL_dead" "$URL_down"
in_order between "$URL_down" "$URL_good" "$URL_dead"
