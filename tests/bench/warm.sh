#!/bin/sh
# Compares reads of a stored file through symfs with the file system below and with a FUSE server of
# one file (tests/bench/bare.c). `symfs` is what a user has: with passthrough where possible.
# `asked` is symfs without passthrough; it is compared with the bare server in the same mode. All
# have the same file and take turns in each round. BENCH_MIB is the size of the file (512),
# BENCH_ROUNDS the number of rounds (21; a third of that for measures without cached pages).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
BARE=$top_builddir/tests/bench/bare
[ -x "$BARE" ] || fail "$BARE is not built: make bench"
mib=${BENCH_MIB:-512} rounds=${BENCH_ROUNDS:-21}

big_file "$mib"
mkdir "$TMP/bare" "$TMP/noopen"

symfs_mount warm --cache "$TMP/store" --offline
symfs_mount asked -o no_passthrough --cache "$TMP/store" --offline
bare_start() { # NAME [noopen]
  "$BARE" "$BLOB" "$TMP/$1" "$BIG" ${2:-} >"$TMP/$1.log" 2>&1 &
  PIDS="$PIDS $!" MOUNTS="$MOUNTS $TMP/$1"
  wait_for test -f "$TMP/$1/$BIG" || fail "$1 does not answer"
}
bare_start bare
bare_start noopen noopen
ours=symfs=$MNT_warm/$BIG asked=asked=$MNT_asked/$BIG plain=$LOCAL=$TMP/plain/$BIG
theirs=bare=$TMP/bare/$BIG noopen=noopen=$TMP/noopen/$BIG
"$READS" check "${ours#*=}" "${asked#*=}" "${theirs#*=}" "${noopen#*=}" "${plain#*=}" || fail "wrong bytes"

# compared MEASURE UNIT [LEAST-BY-BARE [LEAST-BY-LOCAL]]
compared() {
  measured "$1" "$2" "$plain" "$theirs" "$asked" "$ours"
  ratio asked bare "${3:-0}"
  ratio asked "$LOCAL"
  ratio symfs "$LOCAL" "${4:-0}"
}

passes=no
[ "$(stat_of "$MNT_warm" fs_passthrough)" = 0 ] || passes=yes
say "a file of $mib MiB; $rounds rounds; the local file system is $LOCAL; passed through: $passes"
compared seq MB/s 0.95 0.8
compared random pages/s 0.95
compared stat times/s 0.95 0.8
measured orc times/s "$plain" "$theirs" "$noopen" "$asked" "$ours"
ratio asked bare
ratio noopen bare
ratio symfs asked
ratio symfs "$LOCAL"
# A build id that no source has: the kernel asks again every two seconds.
measured absent times/s "$LOCAL=$TMP/plain/${BIG%/*}" "symfs=$MNT_warm/${BIG%/*}"
ratio symfs "$LOCAL" 0.5
rounds=$(((rounds + 2) / 3))
compared seq-first MB/s
compared random-first pages/s
if [ -w /proc/sys/vm/drop_caches ]; then
  compared seq-cold MB/s 0 0.7
  compared random-cold pages/s 0 0.6
else
  say "seq-cold, random-cold: not measured, only root may drop the kernel's pages"
fi
bounds_kept
