#!/bin/sh
# Checks the end of the output of scripts/check, with made-up results: each skipped test with its
# reason, each skipped part, each failed one with the end of its log, and the counts.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
summary=${top_srcdir:-$(dirname "$0")/..}/scripts/summary
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/b/tests/unit" "$tmp/b/tests/mount"

result() # TEST RESULT... <LOG
{
	name=$tmp/b/$1
	shift
	cat >"$name.log"
	for word; do echo ":test-result: $word"; done >"$name.trs"
}
result tests/mount/good PASS <<'L'
SKIP: this line is part of a test that passes
part skipped: no files of Windows
PASS tests/mount/good.sh (exit status: 0)
L
result tests/mount/browser SKIP <<'L'
made a page
SKIP: chromium is not installed

SKIP tests/mount/browser.sh (exit status: 77)
L
result tests/check-bare SKIP <<'L'
no man: apt-get install man-db
SKIP tests/check-bare.sh (exit status: 77)
L
result tests/check-silent SKIP <<'L'
SKIP tests/check-silent.sh (exit status: 77)
L
result tests/unit/test-shared SKIP <<'L'
1..0 # SKIP no shared vectors beside the source
L
result tests/unit/test-some PASS 'SKIP two # SKIP no disk' PASS <<'L'
1..3
ok 1 - one
ok 2 - two # SKIP no disk
ok 3 - three
# part skipped: no disk that is full
# part skipped: no disk that is full
L
cat >"$tmp/want" <<'L'
SKIP: tests/check-bare.sh: no man: apt-get install man-db
SKIP: tests/check-silent.sh: it gives no reason
SKIP: tests/mount/browser.sh: chromium is not installed
SKIP: tests/unit/test-shared: no shared vectors beside the source
SKIP: tests/unit/test-some: two: no disk
PART: tests/mount/good.sh: no files of Windows
PART: tests/unit/test-some: no disk that is full
3 passed, 0 failed, 5 skipped
L
failed=0
sh "$summary" "$tmp/b" >"$tmp/got" || { echo "nothing failed, but its exit status says so"; failed=1; }
diff "$tmp/want" "$tmp/got" || failed=1

result tests/mount/bad FAIL <<'L'
FAIL: one and one are three
FAIL tests/mount/bad.sh (exit status: 1)
L
sh "$summary" "$tmp/b" 1 >"$tmp/got" && { echo "a failure does not show in its exit status"; failed=1; }
grep -qx 'FAIL: one and one are three' "$tmp/got" || { echo "the log of a failure is not shown"; failed=1; }
[ "$(tail -n 1 "$tmp/got")" = '3 passed, 2 failed, 5 skipped' ] ||
	{ echo "the counts: $(tail -n 1 "$tmp/got")"; failed=1; }
mkdir "$tmp/empty"
sh "$summary" "$tmp/empty" >"$tmp/got" && { echo "no test at all is taken for success"; failed=1; }
exit $failed
