#!/bin/sh
# Compares look-ups in Breakpad symbol files with symbolic's symcache, which Mozilla's service uses.
# It first compares stored answers to real and generated modules, through the library and through
# `symfs symbolicate`. Then it asks symbolic itself, for a table of good and bad records and for
# random modules. By hand, with more modules and another seed:
#	tests/helpers/symcache-agree random ../shared/tools/oracle/symcache 20000 7
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
AGREE=$top_builddir/tests/helpers/symcache-agree
[ -x "$AGREE" ] || skip "built without json-c"
SHARED=$top_srcdir/../shared
VECTORS=$SHARED/vectors/symcache ORACLE=$SHARED/tools/oracle/symcache
[ -d "$VECTORS" ] || skip "no ../shared/vectors/symcache: answers that symbolic gave"
cd "$TMP" || exit 1

told() { # WHAT COMMAND...: its last line is for people, the whole for a failure
  what=$1
  shift
  "$@" >"$TMP/told" 2>"$TMP/told.err" ||
    fail "$what: $(head -c 2000 "$TMP/told"; tail -n 1 "$TMP/told"; tail -n 3 "$TMP/told.err")"
  say "$(grep -v '^#' "$TMP/told" | tr '\n' ';')"
}
told "stored answers" "$AGREE" vectors "$VECTORS"

mkdir up
"$AGREE" tree "$VECTORS" up >request || fail "tree"
symbolicate() { "$SYMFS" symbolicate --no-default-sources --source "breakpad@$TMP/up" --cache "$TMP/store" \
  --lookup-deadline 5m "$@" request 2>run.log; }
symbolicate >answer || fail "symbolicate: $(tail -n 3 run.log)"
told "symbolicate" sh -c '"$0" answers "$1" <answer' "$AGREE" "$VECTORS"
# What else is found is what was refused.
symbolicate --lenient >answer || fail "symbolicate --lenient: $(tail -n 3 run.log)"
"$AGREE" answers "$VECTORS" <answer >told 2>&1
grep -q '^through symbolicate: .* modules differ, at 0 addresses$' told || fail "--lenient: $(cat told)"
say "--lenient: $(cat told)"

"$ORACLE" </dev/null >/dev/null 2>&1 || {
  say "the oracle does not run here: only stored answers"
  exit 0
}
told "records" "$AGREE" records "$ORACLE"
told "random modules" "$AGREE" random "$ORACLE" 300 "${SYMFS_TEST_SEED:-1}"
exit 0
