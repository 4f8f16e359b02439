#!/bin/sh
# binutils have no option for a debug directory. With the mount bound over /usr/lib/debug, in a
# mount namespace of its own, addr2line and objdump show the lines of a stripped program.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need addr2line objdump unshare gcc objcopy readelf nm debuginfod nginx curl
[ -d /usr/lib/debug ] || skip "there is no /usr/lib/debug to bind over"
why=$(unshare -m sh -c "mkdir -p '$TMP/bound' && mount --bind '$TMP/bound' /usr/lib/debug" 2>&1) ||
  skip "no mount namespace here: $why"

far_program
far_mounts debuginfod nginx

# over DIR COMMAND...
over() {
  timeout 300 unshare -m sh -c 'mount --bind "$1" /usr/lib/debug || exit; shift; exec "$@"' over "$@" 2>&1
}
for via in debuginfod nginx; do
  dir=$TMP/$via/gdb
  expect "addr2line, $via" "$(over "$dir" addr2line -e "$PROG" -f "$PROG_MAIN")" '^main$' '/prog\.c:4$'
  expect "addr2line, library, $via" "$(over "$dir" addr2line -e "$NEAR/bin/libprog.so" -f "$LIB_ENTRY")" \
    '^prog_entry$' '/prog-lib\.c:4$'
  expect "objdump, $via" "$(over "$dir" objdump --dwarf=follow-links -Wi "$PROG")" 'DW_TAG_subprogram' ': work$'
done
for dir in "$TMP/empty/gdb" "$TMP/bound"; do
  refuse "addr2line without the mount" "$(over "$dir" addr2line -e "$PROG" -f "$PROG_MAIN")" '^main$' 'prog\.c'
  refuse "objdump without the mount" "$(over "$dir" objdump --dwarf=follow-links -Wi "$PROG")" 'DW_TAG' ': work$'
done

symfs_umount debuginfod
symfs_umount nginx
symfs_umount empty
