#!/bin/sh
# Checks that no line of code, scripts, tests, pages, manuals, samples and of the build has more than 118 columns,
# with a tab every 8 columns, and that .clang-format, .editorconfig and HACKING.md name this width. Also shows that
# the check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
cd "$top" || exit 1
width=118

long_in() # FILE...: counts characters, not bytes; an output means a long line
{
	LC_ALL=C awk -v width="$width" '
		{ text = $0; gsub(/[\200-\277]/, "", text) }
		length(text) * 8 <= width { next }
		{
			while ((i = index(text, "\t")))
				text = substr(text, 1, i - 1) substr("        ", 1 + (i - 1) % 8) substr(text, i + 1)
		}
		length(text) > width { print FILENAME ":" FNR ": " length(text) " columns" }' "$@"
}

# Files of data, tables and pictures have lines of their own length. HAProxy cannot continue a line.
tree_files | grep -vE '^tests/data/|\.tsv$|\.svg$|^etc/haproxy/' >"$tmp/files"
for kind in '^src/.*\.c$' '^src/.*\.h$' '^tests/.*\.sh$' '^scripts/' '^etc/' '^man/' '^doc/.*\.md$' '^debian/' \
	'^README\.md$' '^configure\.ac$' '^Makefile\.am$' '^tests/tests\.am$'; do
	grep -q "$kind" "$tmp/files" || complain "no file is like $kind"
done
# shellcheck disable=SC2046 # no name of a source has a blank
long_in $(cat "$tmp/files") >"$tmp/long"
cat "$tmp/long"
[ ! -s "$tmp/long" ] || complain "a line may have $width columns"
echo "$(wc -l <"$tmp/files") files seen, $(wc -l <"$tmp/long") long lines"
[ "$(wc -l <"$tmp/files")" -gt 900 ] || complain "too few files"

for place in '.clang-format:ColumnLimit: N' '.editorconfig:max_line_length = N' 'HACKING.md:at most N columns'; do
	file=${place%%:*} text=${place#*:}
	[ -e "$file" ] || continue # a tarball has no hidden files
	grep -q "${text%N*}$width${text#*N}" "$file" || complain "$file does not name the width $width"
done

printf '\t%0110d\n' 0 >"$tmp/x.c"
[ -z "$(long_in "$tmp/x.c")" ] || complain "a line of 118 columns is refused"
printf '\t%0111d\n' 0 >"$tmp/x.c"
[ -n "$(long_in "$tmp/x.c")" ] || complain "a line of 119 columns passed"
exit 0
