#!/bin/sh
# Times the reader of paths: paths of clients, the slowest path of each layout with long names, and paths that are
# meant to be slow. A path of up to 256 bytes takes at most 2 microseconds, a longer one 10. The first reader of paths
# (tests/unit/path-oracle.c) reads the same paths for comparison.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need awk
PATHS=$top_builddir/tests/bench/paths
[ -x "$PATHS" ] || fail "$PATHS is not built: make bench"

"$PATHS" >"$TMP/paths" || fail paths
awk '{ ns = $1; old = $2; bytes = $3; most = bytes > 256 ? 10000 : 2000
  sub(/^[0-9]+ [0-9]+ [0-9]+ /, "")
  printf "%.150s, %d bytes, %.0f times as fast as the first reader: %d ns (under %d: %.2f of it)\n", $0, bytes,
    old / ns, ns, most, ns / most
  missed += ns > most }
  END { print missed + 0 >"/dev/stderr" }' "$TMP/paths" 2>"$TMP/missed"
missed=$(cat "$TMP/missed")
bounds_kept
