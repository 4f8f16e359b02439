#!/bin/sh
# lldb names lines of a stripped program and its library. The debug files are only on a stock
# debuginfod server, only behind nginx in gdb's layout, or only in the store.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gcc objcopy readelf debuginfod nginx curl
LLDB=$(first_of lldb) || skip "lldb is not installed"

far_program
far_mounts debuginfod nginx stored

# look DIR FILE FUNCTION FILE.c
look() {
  timeout 300 "$LLDB" -x -b -o 'settings set symbols.enable-external-lookup false' \
    -o "settings append target.debug-file-search-paths $1" -o "target create $2" \
    -o "image lookup -v -n $3" -o "breakpoint set -n $3" -o "breakpoint set -f $4 -l 2" 2>&1
}

for via in debuginfod nginx stored; do
  for dir in "$TMP/$via" "$TMP/$via/gdb"; do
    expect "lldb, $via" "$(look "$dir" "$PROG" main prog.c)" \
      'LineEntry: .*/prog\.c:4' 'Function: .*name = "main"' 'Breakpoint 1: where = prog`main.* at prog\.c:5' \
      'Breakpoint 2: where = prog`work.* at prog\.c:2'
  done
  expect "lldb, library, $via" "$(look "$TMP/$via" "$NEAR/bin/libprog.so" prog_entry prog-lib.c)" \
    'LineEntry: .*/prog-lib\.c:4' 'Function: .*name = "prog_entry"' 'Breakpoint 1: .* at prog-lib\.c:4'
done

for dir in "$TMP/empty" "$TMP/nothing"; do
  none=$(look "$dir" "$PROG" main prog.c)
  expect "lldb without the mount" "$none" 'Current executable set to .*/prog'
  refuse "lldb without the mount" "$none" 'LineEntry' 'at prog\.c' 'where = prog'
done

symfs_umount debuginfod
symfs_umount nginx
symfs_umount stored
symfs_umount empty
