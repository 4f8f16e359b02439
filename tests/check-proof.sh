#!/bin/sh
# Checks that each promise of the program's tables and of the manual has a file of src and a test
# (tests/data/proof.tsv), that the test has it, and that doc/internals/proof.md is what
# scripts/proof prints. Also shows that each of these faults is found.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
map=$top/tests/data/proof.tsv

"$top/scripts/proof" >"$tmp/page" 2>"$tmp/err" || complain "$(cat "$tmp/err")"
cmp -s "$tmp/page" "$top/doc/internals/proof.md" ||
	complain "doc/internals/proof.md is old: scripts/proof >doc/internals/proof.md"
counts=$(sed -n 's/^\([0-9]* promises, [0-9]* tests\)\.$/\1/p' "$tmp/page")
# shellcheck disable=SC2086 # words
set -- $counts
{ [ "${1:-0}" -ge 800 ] && [ "${3:-0}" -ge 120 ]; } || complain "only ${counts:-nothing} in the page"
# What a person would count: the rows of some tables.
"$top/scripts/proof" --promises >"$tmp/promises"
for word in "$(sed -n '/^static const struct fixed {/,/^};/p' "$top/src/http/route.c" | grep -c '^	{'):route" \
	"$(grep -c '^	{&cmd_[a-z0-9_]*, [N"]' "$top/src/cmd/commands.c"):command" \
	"$(find "$top/etc/sources.d" -name '*.conf' | wc -l):service"; do
	awk -F'\t' -v kind="${word#*:}" -v least="${word%:*}" '$1 == kind { n++ } END { exit n < least || !least }' \
		"$tmp/promises" || complain "too few promises of ${word#*:}"
done

# A map in which each thing that the wall looks at is wrong once.
t=$(printf '\t')
{
	printf 'layout\t+an echo\t-\tmount/gdb.sh\n'
	sed -e '/^casing/d' -e "s|^client${t}gdb.*|client${t}gdb${t}src/none.c${t}mount/gdb.sh|" \
		-e "s|^client${t}lldb.*|client${t}lldb${t}src/main.c${t}mount/nothing.sh|" \
		-e "s|^client${t}perf.*|client${t}perf${t}src/main.c${t}mount/valgrind.sh|" \
		-e "s|^client${t}valgrind.*|client${t}valgrind${t}src/main.c${t}mount/perf.sh|" \
		-e "s|^packing.*|packing${t}.*${t}-${t}unit/test-id:tables/files.tsv${t}@|" \
		-e "s|^\(member.*\)src/http/misses.c|\1src/main.c|" "$map"
} >"$tmp/map"
"$top/scripts/proof" --map "$tmp/map" >"$tmp/out" 2>"$tmp/err" && complain "a map with faults passed"
for said in 'no page names the layout an echo' 'there is no layout an echo' \
	'no test is named for this casing: gdb default' 'gdb: there is no src/none.c' \
	'tests/tests.am has no test mount/nothing.sh' 'client valgrind: mount/perf.sh has no ' \
	'tests/unit/test-id.c does not read tests/data/tables/files.tsv' 'code_file: not in src/main.c'; do
	grep -qF "$said" "$tmp/err" || complain "a fault is not found: $said"
done
echo "$counts, 8 faults found"
exit 0
