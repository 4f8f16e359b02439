#!/bin/sh
# Checks that calls between object files go only to lower floors, and form no circle that src/FLOORS
# does not name, and that symfs is not linked with libelf, libdw, libdwarf or libarchive. Also shows that the check
# can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
build=${top_builddir:-.}
command -v nm >/dev/null || { echo "SKIP: no nm"; exit 77; }
[ -e "$build/src/main.o" ] || { echo "$build is not built"; exit 1; }
sh "$top/scripts/check-arrows" "$top/src" "$build/src" || exit 1

# The libraries of unwind tables are those of libexec/frames and libexec/unwind alone. libdw and libdwarf have
# functions of the same names, so no program has both.
command -v readelf >/dev/null || { echo "SKIP: no readelf"; exit 77; }
foreign() { readelf -d "$1" | grep -E 'NEEDED.*\[lib(elf|dw|dwarf|archive)\.' | sed "s|^|$1: |"; }
for program in symfs libexec/convert; do
  [ -z "$(foreign "$build/$program")" ] || { foreign "$build/$program"; exit 1; }
done
# A worker is started for each file, and each library would cost it time.
daemons() { readelf -d "$1" | grep -E 'NEEDED.*\[lib(curl|fuse3|microhttpd|sqlite3)\.'; }
daemons "$build/symfs" >/dev/null || { echo "symfs is not linked with libcurl"; exit 1; }
for program in convert frames unarchive unwind; do
  ! daemons "$build/libexec/$program" || { echo "libexec/$program is linked with these"; exit 1; }
done
[ "$(foreign "$build/libexec/unarchive" | grep -c 'libarchive\.')" = 1 ] ||
  { echo "libexec/unarchive is not linked with libarchive"; exit 1; }
[ "$(foreign "$build/libexec/frames" | wc -l)" = 2 ] ||
  { echo "libexec/frames is not linked with libelf and libdwarf"; exit 1; }
[ "$(foreign "$build/libexec/unwind" | grep -c 'lib\(elf\|dw\)\.')" = 2 ] ||
  { echo "libexec/unwind is not linked with libelf and libdw"; exit 1; }
[ "$(foreign "$build/libexec/unwind" | wc -l)" = 2 ] || { echo "libexec/unwind is linked with libdwarf"; exit 1; }

bad=$(mktemp -d) || exit 1
trap 'rm -rf "$bad"' EXIT
mkdir "$bad/base" "$bad/fs"
printf 'floor base\nfloor fs\ncircle fs/gone fs/too (for a test)\n' >"$bad/FLOORS"
echo 'void fs_up(void); void base_call(void); void base_call(void) { fs_up(); }' >"$bad/base/up.c"
echo 'void fs_up(void); void fs_there(void); void fs_up(void) { fs_there(); }' >"$bad/fs/back.c"
echo 'void fs_up(void); void fs_there(void); void fs_there(void) { fs_up(); }' >"$bad/fs/forth.c"
echo '#include <stdio.h>' >"$bad/fs/lost.c"
for f in base/up fs/back fs/forth; do
  ${CC:-cc} -c -o "$bad/$f.o" "$bad/$f.c" || exit 1
done
out=$(sh "$top/scripts/check-arrows" "$bad" "$bad") && { echo "a broken tree passed"; exit 1; }
for said in 'base/up.c uses fs_up of fs/back.c, upstairs' 'a circle that FLOORS does not name: fs/back fs/forth' \
  'FLOORS names 2 files in the circle of fs/' 'lost.o'; do
  case $out in *"$said"*) ;; *) echo "not found: $said; only: $out"; exit 1 ;; esac
done
mkdir "$bad/none"
echo '#include <stdio.h>' >"$bad/none/main.c"
printf 'floor .\n' >"$bad/none/FLOORS"
sh "$top/scripts/check-arrows" "$bad/none" "$bad/none" >/dev/null &&
  { echo "a build without an object passed"; exit 1; }
exit 0
