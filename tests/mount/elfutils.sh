#!/bin/sh
# elfutils: lines of a stripped program, then names and lines of a core without its program on disk,
# and the list of modules that were found. The files come from debuginfod, from nginx, or from the
# store.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need eu-addr2line eu-stack eu-unstrip gdb gcc objcopy readelf nm debuginfod nginx curl

far_program
far_core "$TMP/core"
far_mounts debuginfod nginx stored

line_of() { timeout 300 eu-addr2line "--debuginfo-path=:$1" -e "$2" -f "$3" 2>&1; }
stack() { timeout 300 eu-stack "--debuginfo-path=:$1" "--core=$TMP/core" -s 2>&1; }
modules() { timeout 300 eu-unstrip "--debuginfo-path=:$1" -n "--core=$TMP/core" 2>&1; }

for via in debuginfod nginx stored; do
  for dir in "$TMP/$via" "$TMP/$via/gdb"; do
    expect "eu-addr2line, $via" "$(line_of "$dir" "$PROG" "$PROG_MAIN")" '^main$' '/prog\.c:4(:[0-9]+)?$'
    expect "eu-addr2line, library, $via" "$(line_of "$dir" "$NEAR/bin/libprog.so" "$LIB_ENTRY")" \
      '^prog_entry$' '/prog-lib\.c:4(:[0-9]+)?$'
  done
done
refuse "eu-addr2line without the mount" "$(line_of "$TMP/empty" "$PROG" "$PROG_MAIN")" '^main$' 'prog\.c'
refuse "eu-addr2line without the mount" "$(line_of "$TMP/nothing" "$PROG" "$PROG_MAIN")" '^main$' 'prog\.c'

mv "$NEAR/bin" "$TMP/elsewhere"
for via in debuginfod nginx stored; do
  got=$(stack "$TMP/$via")
  expect "eu-stack, $via" "$got" '^#[0-9]+ +0x[0-9a-f]+ deeper$' '/prog-lib\.c:3(:[0-9]+)?$' \
    ' prog_entry$' '/prog-lib\.c:4(:[0-9]+)?$' ' work$' '/prog\.c:2(:[0-9]+)?$' ' main$' '/prog\.c:5(:[0-9]+)?$'
  # NAME's line: START+SIZE ID@ADDR FILE DEBUGFILE NAME
  for id in "$PROG_ID" "$LIB_ID"; do
    at=$(gdb_path "$id" | sed 's/\./\\./g')
    expect "eu-unstrip, $via" "$(modules "$TMP/$via")" \
      " $id@0x[0-9a-f]+ [^ ]*/$via/[^ ]*$at [^ ]*/$via/[^ ]*$at\.debug "
  done
done
none=$(stack "$TMP/empty")
expect "eu-stack without the mount" "$none" '^#3 +0x[0-9a-f]+$'
refuse "eu-stack without the mount" "$none" 'prog(-lib)?\.c' ' (deeper|work|main)$'
expect "eu-unstrip without the mount" "$(modules "$TMP/empty")" " $PROG_ID@0x[0-9a-f]+ - - "

symfs_umount debuginfod
symfs_umount nginx
symfs_umount stored
symfs_umount empty
