#!/bin/sh
# Compares files of the store that the kernel reads by itself with files that it reads through the
# daemon, and with the file system below. All three have the same file and take turns in each round.
# Needs Linux 6.9 and root. BENCH_MIB is the size of the file (512), BENCH_ROUNDS the number of
# rounds (9).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
big_file "${BENCH_MIB:-512}"
rounds=${BENCH_ROUNDS:-9}
symfs_mount passed --cache "$TMP/store" --offline
symfs_mount asked -o no_passthrough --cache "$TMP/store" --offline
passed=passed=$MNT_passed/$BIG asked=asked=$MNT_asked/$BIG plain=$LOCAL=$TMP/plain/$BIG
"$READS" check "${passed#*=}" "${asked#*=}" || fail "wrong bytes"
[ "$(stat_of "$MNT_passed" fs_passthrough)" -gt 0 ] ||
  skip "this kernel, this user or this file system does not pass files through"
[ "$(stat_of "$MNT_asked" fs_passthrough)" = 0 ] || fail "passed through where it should not be"

measured seq-first MB/s "$plain" "$asked" "$passed"
ratio passed asked 2
ratio passed "$LOCAL"
measured random-first pages/s "$plain" "$asked" "$passed"
ratio passed asked 5
ratio passed "$LOCAL"
measured seq MB/s "$plain" "$asked" "$passed"
ratio passed asked
ratio passed "$LOCAL" 0.8
measured random pages/s "$plain" "$asked" "$passed"
ratio passed asked
ratio passed "$LOCAL"
measured orc times/s "$plain" "$asked" "$passed"
ratio passed asked
measured stat times/s "$plain" "$asked" "$passed"
ratio passed "$LOCAL" 0.8
if [ -w /proc/sys/vm/drop_caches ]; then
  measured seq-cold MB/s "$plain" "$asked" "$passed"
  ratio passed "$LOCAL" 0.7
  measured random-cold pages/s "$plain" "$asked" "$passed"
  ratio passed "$LOCAL" 0.6
fi
bounds_kept
