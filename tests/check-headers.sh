#!/bin/sh
# Checks that each header compiles alone, and twice in a row.
# SPDX-License-Identifier: LGPL-2.1-or-later
cd "${top_srcdir:-$(dirname "$0")/..}/src" || exit 1
seen=0
for h in $(find . -name '*.h' | sort); do
  flags="-std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64"
  case $h in ./fs/*) flags="$flags $(pkg-config --cflags fuse3 2>/dev/null)" ;; esac
  # shellcheck disable=SC2086
  printf '#include "%s"\n#include "%s"\n' "$h" "$h" |
    ${CC:-cc} $flags -Wall -Wextra -Werror -fsyntax-only -I. -I/usr/include/libdwarf -x c - || exit 1
  seen=$((seen + 1))
done
echo "$seen headers seen"
[ "$seen" -gt 0 ]
