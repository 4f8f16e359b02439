#!/bin/sh
# Checks the lists of Makefile.am and of the files that it includes: one word a line, sorted, none twice, and each
# source, header and test is in one of them. Also shows that the check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
LC_ALL=C
export LC_ALL

# The faults of the lists that end in $(NULL) of the files, and each name in them, in $tmp/listed.
faults_of() # FILE...
{
	awk -v listed="$tmp/listed" '
		function fault(why) { print FILENAME ":" FNR ": " why }
		/^[a-zA-Z0-9_]+ \+?= \\$/ { list = $1; last = ""; next }
		list != "" && $1 == "$(NULL)" { list = ""; lists++; next }
		list != "" && (/^\t-/ || !/\\$/) { list = ""; next } # options of a program
		list != "" {
			if (NF != 2) fault("more than one word in a line of " list)
			if ($1 in seen) fault($1 " stands in " seen[$1] " and in " list)
			# Variables come after all names.
			key = ($1 ~ /^\$/ ? "~" : "") $1
			if (last != "" && key <= last) fault($1 " is not in its place in the sorted list " list)
			seen[$1] = list; last = key; print $1 >listed
		}
		END { if (lists < 20) print FILENAME ": only " lists + 0 " lists" }' "$@"
}

includes=$(sed -n 's/^include //p' Makefile.am)
# shellcheck disable=SC2086 # the names of the files
faults=$(faults_of Makefile.am $includes)
[ -z "$faults" ] || { echo "$faults"; exit 1; }
find src -name '*.[ch]' ! -path src/main.c >"$tmp/there"
ls tests/check-*.sh tests/mount/*.sh tests/timed/*.sh tests/unit/*.h tests/fuzz/*.h scripts/* doc/*.md \
	doc/internals/*.md >>"$tmp/there"
ls tests/unit/test-*.c tests/fuzz/fuzz-*.c | sed 's/\.c$//' >>"$tmp/there"
sort "$tmp/listed" >"$tmp/sorted"
missing=$(sort "$tmp/there" | comm -23 - "$tmp/sorted")
[ -z "$missing" ] || { echo "in no list of Makefile.am" $includes: $missing; exit 1; }
echo "$(wc -l <"$tmp/listed") names in lists, $(wc -l <"$tmp/there") files seen"

# shellcheck disable=SC2086 # the names of the files
{
	cat Makefile.am $includes
	printf 'mine = \\\n\tb.c \\\n\ta.c \\\n\tc.c c.h \\\n\tsrc/base/buf.c \\\n\t$(NULL)\n'
} >"$tmp/Makefile.am"
faults_of "$tmp/Makefile.am" >"$tmp/faults"
for said in 'a.c is not in its place' 'more than one word' \
	'src/base/buf.c stands in libsymfs_a_SOURCES and in mine'; do
	grep -qF "$said" "$tmp/faults" || { echo "a bad list passed: $said"; exit 1; }
done
