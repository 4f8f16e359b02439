#!/bin/sh
# What is here already: symfs against a bare FUSE server of one file (tests/bench/bare.c) in the same
# mode, and against the file system that both lie on, with the same file, round by round in turns.
# BENCH_MIB is the size of the file (512), BENCH_ROUNDS the number of rounds (21; of those that begin
# without pages, a third).
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
bare_start() { # NAME [noopen]
  "$BARE" "$BLOB" "$TMP/$1" "$BIG" ${2:-} >"$TMP/$1.log" 2>&1 &
  PIDS="$PIDS $!" MOUNTS="$MOUNTS $TMP/$1"
  wait_for 10 test -f "$TMP/$1/$BIG" || fail "$1 does not answer"
}
bare_start bare
bare_start noopen noopen
ours=symfs=$MNT_warm/$BIG plain=$LOCAL=$TMP/plain/$BIG
theirs=bare=$TMP/bare/$BIG noopen=noopen=$TMP/noopen/$BIG
"$READS" check "${ours#*=}" "${theirs#*=}" "${noopen#*=}" "${plain#*=}" || fail "wrong bytes"

say "a file of $mib MiB; $rounds rounds; the local file system is $LOCAL"
measured seq MB/s "$plain" "$theirs" "$ours"
ratio symfs bare 0.95
ratio symfs "$LOCAL" 0.8
measured random pages/s "$plain" "$theirs" "$ours"
ratio symfs bare 0.95
ratio symfs "$LOCAL"
measured stat times/s "$plain" "$theirs" "$ours"
ratio symfs bare 0.95
ratio symfs "$LOCAL" 0.8
measured orc times/s "$plain" "$theirs" "$noopen" "$ours"
ratio symfs bare
ratio noopen bare
ratio symfs "$LOCAL"
# A build id that nobody has: the kernel asks again every two seconds.
measured absent times/s "$LOCAL=$TMP/plain/${BIG%/*}" "symfs=$MNT_warm/${BIG%/*}"
ratio symfs "$LOCAL" 0.5
rounds=$(((rounds + 2) / 3))
measured seq-first MB/s "$plain" "$theirs" "$ours"
ratio symfs bare
ratio symfs "$LOCAL"
measured random-first pages/s "$plain" "$theirs" "$ours"
ratio symfs bare
ratio symfs "$LOCAL"
if [ -w /proc/sys/vm/drop_caches ]; then
  measured seq-cold MB/s "$plain" "$theirs" "$ours"
  ratio symfs bare
  ratio symfs "$LOCAL" 0.7
  measured random-cold pages/s "$plain" "$theirs" "$ours"
  ratio symfs bare
  ratio symfs "$LOCAL" 0.6
else
  say "seq-cold, random-cold: not measured, only root may drop the kernel's pages"
fi
bounds_kept
