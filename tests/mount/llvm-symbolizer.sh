#!/bin/sh
# llvm-symbolizer names function and line of a stripped program through the mount.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gcc objcopy readelf nm debuginfod nginx curl
SYMBOLIZER=$(first_of llvm-symbolizer) || skip "llvm-symbolizer is not installed"
"$SYMBOLIZER" --help | grep -q -e --debug-file-directory || skip "$SYMBOLIZER knows no --debug-file-directory"

far_program
far_mounts debuginfod nginx stored

line_of() { timeout 300 "$SYMBOLIZER" "--debug-file-directory=$1" "--obj=$2" "$3" 2>&1; }

for via in debuginfod nginx stored; do
  for dir in "$TMP/$via" "$TMP/$via/gdb"; do
    expect "llvm-symbolizer, $via" "$(line_of "$dir" "$PROG" "$PROG_MAIN")" '^main$' '/prog\.c:4:[0-9]+$'
    expect "llvm-symbolizer, library, $via" "$(line_of "$dir" "$NEAR/bin/libprog.so" "$LIB_ENTRY")" \
      '^prog_entry$' '/prog-lib\.c:4:[0-9]+$'
  done
done
for dir in "$TMP/empty" "$TMP/nothing"; do
  refuse "llvm-symbolizer without the mount" "$(line_of "$dir" "$PROG" "$PROG_MAIN")" '^main$' 'prog\.c'
done

symfs_umount debuginfod
symfs_umount nginx
symfs_umount stored
symfs_umount empty
