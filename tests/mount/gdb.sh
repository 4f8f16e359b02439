#!/bin/sh
# gdb names lines of a stripped program and its library. The debug files are only on a stock
# debuginfod server, only behind nginx in gdb's layout, or only in the store. gdb looks at a file, a
# process, and a core whose executable is gone.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gdb gcc objcopy readelf debuginfod nginx curl

far_program
far_core "$TMP/core"
far_mounts debuginfod nginx stored

# ask DIR ARGS...
ask() {
  ask_dir=$1
  shift
  timeout 300 gdb -nx -batch -iex 'set debuginfod enabled off' -iex "set debug-file-directory $ask_dir" "$@" 2>&1
}

line_of() { ask "$1" -ex 'info line main' "$PROG"; }
line_in_library() { ask "$1" -ex 'info line prog_entry' "$NEAR/bin/libprog.so"; }
process() { ask "$1" -ex run -ex bt --args "$PROG" a b; }

for via in debuginfod nginx stored; do
  for dir in "$TMP/$via" "$TMP/$via/gdb"; do
    expect "gdb, $via" "$(line_of "$dir")" '^Line 4 of "prog\.c" starts at address 0x[0-9a-f]+ <main>'
  done
  expect "gdb, library, $via" "$(line_in_library "$TMP/$via")" '^Line 4 of "prog-lib\.c" starts at .*<prog_entry>'
  expect "gdb, process, $via" "$(process "$TMP/$via")" \
    '^#[0-9]+ .* in deeper \(n=3\) at prog-lib\.c:3$' \
    '^#[0-9]+ .* in prog_entry \(n=3\) at prog-lib\.c:4$' \
    '^#[0-9]+ .* in work \(argc=3\) at prog\.c:2$' \
    '^#[0-9]+ .* in main \(argc=3, argv=0x[0-9a-f]+\) at prog\.c:5$'
done

for dir in "$TMP/empty" "$TMP/nothing"; do
  refuse "gdb without the mount" "$(line_of "$dir")" 'prog\.c'
  refuse "gdb without the mount" "$(line_in_library "$dir")" 'prog-lib\.c'
  refuse "gdb without the mount" "$(process "$dir")" 'prog(-lib)?\.c:'
done

# The executable itself comes from the mount now. (gdb before 16 asks .build-id for no library.)
mv "$NEAR/bin" "$TMP/elsewhere"
for via in debuginfod nginx stored; do
  core=$(ask "$TMP/$via" -ex "core-file $TMP/core" -ex 'info files' -ex 'info line main')
  expect "gdb, core, $via" "$core" \
    '^Line 4 of "prog\.c" starts at address 0x[0-9a-f]+ <main>' \
    "$via/(gdb/)?$(gdb_path "$PROG_ID" | sed 's/\./\\./g')"
done
core=$(ask "$TMP/empty" -ex "core-file $TMP/core" -ex 'info line main')
expect "gdb, core without the mount" "$core" '^Program terminated with signal SIGABRT'
refuse "gdb, core without the mount" "$core" 'prog\.c' '<main>'

symfs_umount debuginfod
symfs_umount nginx
symfs_umount stored
symfs_umount empty
