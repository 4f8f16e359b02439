#!/bin/sh
# The mount as a debuginfod server, DEBUGINFOD_URLS=file://MNT/debuginfod. debuginfod-find gets the
# same bytes as from a stock server; gdb names the lines of a core without its program on disk and
# shows the source; valgrind prints the line of a bug.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need debuginfod-find gdb gcc objcopy readelf debuginfod nginx curl

far_program
far_core "$TMP/core"
cat >"$NEAR/src/wrong.c" <<'EOC'
#include <stdlib.h>
int main(void)
{
	int *four = malloc(4);
	int next = four[1];
	free(four);
	return next == 7;
}
EOC
(cd "$NEAR/src" && gcc -g -O0 -Wl,--build-id=sha1 -o ../bin/wrong wrong.c) || fail "gcc"
objcopy --only-keep-debug "$NEAR/bin/wrong" "$TMP/wrong.debug" && strip "$NEAR/bin/wrong" || fail "strip"
far_put "$NEAR/bin/wrong" "$TMP/wrong.debug"
rm "$TMP/wrong.debug"
far_mounts debuginfod nginx

# with MNT COMMAND...: a client that has never asked before.
with() {
  with_mnt=$1
  with_cache=$(mktemp -d "$TMP/client.XXXXXX")
  shift
  DEBUGINFOD_URLS="file://$TMP/$with_mnt/debuginfod" DEBUGINFOD_CACHE_PATH=$with_cache timeout 300 "$@" 2>&1
}

# find MNT WANTED ARGS...: what debuginfod-find says is a file like WANTED.
find_like() {
  fl_mnt=$1 fl_wanted=$2
  shift 2
  fl_got=$(with "$fl_mnt" debuginfod-find "$@") || fail "debuginfod-find $*, $fl_mnt: $fl_got"
  same_file "$fl_wanted" "$fl_got"
}
for via in debuginfod nginx; do
  find_like "$via" "$FAR/files/prog.debug" debuginfo "$PROG_ID"
  find_like "$via" "$FAR/files/prog" executable "$PROG_ID"
  find_like "$via" "$FAR/files/libprog.so.debug" debuginfo "$NEAR/bin/libprog.so"
done
find_like debuginfod "$NEAR/src/prog.c" source "$PROG_ID" "$NEAR/src/prog.c"
objcopy -O binary --only-section=.text "$FAR/files/prog" "$TMP/text"
[ -s "$TMP/text" ] || fail "no .text"
if debuginfod-find --help | grep -q 'section '; then
  find_like debuginfod "$TMP/text" section "$PROG_ID" .text
fi
for what in debuginfo executable; do
  with empty debuginfod-find $what "$PROG_ID" && fail "debuginfod-find $what without the mount"
done

# All of it is in the store by now, and the sources are nowhere else.
mv "$NEAR/src" "$TMP/elsewhere-src"
line_of() {
  with "$1" gdb -nx -batch -iex 'set debuginfod enabled on' -ex 'info line main' -ex 'list work' "$PROG"
}
expect "gdb, debuginfod" "$(line_of debuginfod)" '^Line 4 of ".*prog\.c" starts at .* <main>' \
  '^2[[:space:]]+static int work\(int argc\) \{ return prog_entry\(argc\) \+ 1; \}$'
expect "gdb, nginx" "$(line_of nginx)" '^Line 4 of ".*prog\.c" starts at .* <main>'
refuse "gdb without the mount" "$(line_of empty)" 'prog\.c' 'prog_entry'

if command -v valgrind >/dev/null && valgrind -q true >"$TMP/valgrind.out" 2>&1; then
  check_wrong() { with "$1" valgrind -q "$NEAR/bin/wrong"; }
  for via in debuginfod nginx; do
    expect "valgrind, $via" "$(check_wrong "$via")" 'Invalid read of size 4' ': main \(wrong\.c:5\)' \
      ': main \(wrong\.c:4\)'
  done
  none=$(check_wrong empty)
  expect "valgrind without the mount" "$none" 'Invalid read of size 4'
  refuse "valgrind without the mount" "$none" 'wrong\.c'
else
  say "valgrind does not run here: not tried"
fi

mv "$NEAR/bin" "$TMP/elsewhere-bin"
core() {
  with "$1" gdb -nx -batch -iex 'set debuginfod enabled on' -iex "set debug-file-directory $TMP/$1" \
    -ex "core-file $TMP/core" -ex bt
}
for via in debuginfod nginx; do
  expect "gdb, core, $via" "$(core "$via")" '^#[0-9]+ .* in deeper \(n=3\) at .*prog-lib\.c:3$' \
    '^#[0-9]+ .* in prog_entry \(n=3\) at .*prog-lib\.c:4$' '^#[0-9]+ .* in work \(argc=3\) at .*prog\.c:2$' \
    '^#[0-9]+ .* in main \(argc=3, argv=0x[0-9a-f]+\) at .*prog\.c:5$'
done
refuse "gdb, core without the mount" "$(core empty)" 'prog(-lib)?\.c'

symfs_umount debuginfod
symfs_umount nginx
symfs_umount empty
