#!/bin/sh
# The cases of unit tests that measure a time: those whose names begin with timed_ (tests/unit/unit.h).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/timed/lib.sh"

files=$(cd "$top_srcdir/tests/unit" && grep -l '^START_TEST(timed_' test-*.c)
n=0
for file in $files; do
  name=${file%.c}
  [ -x "$top_builddir/tests/unit/$name" ] || fail "$name is not built"
  wanted=$(grep -c '^START_TEST(timed_' "$top_srcdir/tests/unit/$file")
  SYMFS_TEST_TIMED=yes "$top_builddir/tests/unit/$name" >"$TMP/$name.log" 2>&1 || fail "$name"
  passed=$(grep -c '^ok .*:timed_.*: Passed' "$TMP/$name.log")
  say "$name: $passed cases"
  [ "$passed" = "$wanted" ] || fail "$name ran $passed of $wanted cases"
  n=$((n + passed))
done
[ $n -gt 0 ] || fail "no case that measures a time"
