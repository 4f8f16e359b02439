#!/bin/sh
# A running mount soon serves added files, also when it has just answered "not there": the kernel caches a miss for
# two seconds.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/timed/lib.sh"
need_mount
need gcc objcopy readelf strip

make_program "$TMP/p" foo
symfs_mount m --cache "$TMP/store"
debug=$MNT_m/gdb/$(gdb_path "$(build_id "$TMP/p/full/foo")" .debug)
[ -e "$debug" ] && fail "it is there before it was added"
"$SYMFS" add --cache "$TMP/store" "$TMP/p/debug/foo.debug" >"$TMP/out" || fail "add: $(cat "$TMP/out")"
within 3000 wait_for test -e "$debug"
say "found $took ms after it was added"
symfs_umount m
