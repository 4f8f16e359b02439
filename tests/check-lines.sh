#!/bin/sh
# Checks that no line of the sources has more than 118 columns, with a tab every 8 columns. Also shows that the check
# can fail. The folders in `later` have such lines still.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
later="base bucket cmd convert dwarf fetch frames fs http id image layout obj pdb scan source symb"

long_in() # FILE...: counts characters, not bytes; an output means a long line
{
	for file; do
		expand "$file" | LC_ALL=C awk -v file="${file#"$top/"}" '
			{ text = $0; gsub(/[\200-\277]/, "", text) }
			length(text) > 118 { print file ":" NR ": " length(text) " columns" }'
	done
}

find "$top/src" -name '*.[ch]' | sort >"$tmp/all"
for folder in $later; do
	echo "$top/src/$folder/"
done >"$tmp/later"
grep -vFf "$tmp/later" "$tmp/all" >"$tmp/files"
seen=$(wc -l <"$tmp/files")
echo "$seen of $(wc -l <"$tmp/all") files seen"
[ "$seen" -gt 50 ] || exit 1
# shellcheck disable=SC2046 # no name of a source has a blank
long_in $(cat "$tmp/files") >"$tmp/long"
cat "$tmp/long"
[ -s "$tmp/long" ] && { echo "a line may have 118 columns"; exit 1; }

printf '\t%0110d\n' 0 >"$tmp/x.c"
[ -z "$(long_in "$tmp/x.c")" ] || { echo "a line of 118 columns is refused"; exit 1; }
printf '\t%0111d\n' 0 >"$tmp/x.c"
[ -n "$(long_in "$tmp/x.c")" ] || { echo "a line of 119 columns passed"; exit 1; }
exit 0
