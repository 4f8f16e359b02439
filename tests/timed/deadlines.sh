#!/bin/sh
# No look-up and no read takes longer than its deadline: servers that do not accept connections, do not answer or fall
# silent, a directory that hangs, and a source that might have a better file. Later look-ups do not wait.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/timed/lib.sh"
need_mount
need curl gcc objcopy strip readelf

make_program "$TMP/p" prog
head -c 300000 /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$TMP/p/debug/prog.debug" "$TMP/rich" || fail objcopy
objcopy -g "$TMP/rich" "$TMP/poor" || fail objcopy
path=$(gdb_path "$(build_id "$TMP/p/full/prog")" .debug)
put_gdb "$TMP/www" "$TMP/rich" .debug
put_gdb "$TMP/lesser" "$TMP/poor" .debug
upstream_start deaf --no-accept
upstream_start silent --root "$TMP/www"
upstream_fault "$URL_silent" '/*' silent
upstream_start stalls --root "$TMP/www"
upstream_fault "$URL_stalls" '/*' silent-after 100000
upstream_start poor --root "$TMP/lesser"

# lasts NAME MS COMMAND...: it takes at most MS; $status has its exit status.
lasts() {
  la_name=$1 la_most=$2
  shift 2
  within "$la_most" quietly "$@"
  say "$la_name: $took ms"
}
quietly() { "$@" >"$TMP/out" 2>"$TMP/err"; }
fifty() { # MOUNT: distinct names, each looked up once, by one program that does not stop at errors
  fi_mount=$1
  set --
  for n in $(seq 100 149); do set -- "$@" "$fi_mount/.build-id/ab/$(printf '%038d' "$n").debug"; done
  stat "$@"
}

for which in deaf silent; do
  eval "url=\$URL_$which"
  symfs_mount "$which" --source "gdb@$url" --lookup-deadline 1s --connect-timeout 60s --stall-timeout 60s
  eval "mnt=\$MNT_$which"
  lasts "$which" 2000 stat "$mnt/$path"
  lasts "$which, the next fifty" 1000 fifty "$mnt"
  symfs_umount "$which"
done

symfs_mount stalls --source "gdb@$URL_stalls" --lookup-deadline 1s --stall-timeout 1s
lasts "silence within a body" 4000 cat "$MNT_stalls/gdb/$path"
[ "$status" != 0 ] || fail "a read of a file whose body stalls succeeds"
symfs_umount stalls

# Two seconds is the least time for finding a better file.
lasts "a silent source that may have a better file" 4000 "$SYMFS" get --no-default-sources --cache "$TMP/store" \
  --lookup-deadline 1s --stall-timeout 60s --source "gdb@$URL_poor" --source "gdb@$URL_silent" "gdb/$path"
[ "$status" = 0 ] || fail "the lesser file is no answer: $(cat "$TMP/err")"

[ "$(id -u)" = 0 ] || exit 0 # a mount that others look into wants root
# What hangs cannot be stopped to be looked at, nor does the daemon free what it may still touch.
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
mkdir "$TMP/far"
: >"$TMP/flag"
"$top_builddir/tests/helpers/hang" "$TMP/far" "$TMP/flag" >"$TMP/hang.log" 2>&1 &
PIDS="$PIDS $!"
MOUNTS="$MOUNTS $TMP/far"
wait_for is_mounted "$TMP/far" || fail "no mount that hangs"
symfs_mount hung --lookup-deadline 1s --source "gdb@$TMP/far"
lasts "a directory that hangs" 2000 stat "$MNT_hung/$path"
[ "$status" != 0 ] || fail "found in a directory that hangs"
symfs_umount hung
