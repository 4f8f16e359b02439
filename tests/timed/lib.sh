# Shared code of the tests that measure times, on top of tests/mount/lib.sh. Such a test runs alone, after all others
# (tests/helpers/bounded.c), and has only the cases whose point is a time. All of them together take at most a minute.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
unset SYMFS_TEST_ASK_MS SYMFS_TEST_SILENCE_MS # the program's own limits are what these tests measure

# scaled MS: a bound for an idle machine, as a bound for this machine.
scaled() { echo $(($1 * ${SYMFS_TEST_FACTOR:-100} / 100)); }

# within MS COMMAND...: runs the command; $status has its exit status, $took its milliseconds. Fails if it takes more
# than MS, scaled.
within() {
  wi_most=$(scaled "$1")
  shift
  wi_from=$(now_ms)
  status=0
  "$@" || status=$?
  took=$(($(now_ms) - wi_from))
  [ $took -le "$wi_most" ] || fail "$*: $took ms, more than $wi_most"
}
