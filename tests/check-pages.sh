#!/bin/sh
# Checks the links in the pages (*.md): a file that a link names is there, and so is the heading of its anchor. Each
# path of this source that a page names in `...` is there, too. Also shows that the checks can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
cd "$top" || exit 1

# The anchors of a page's headings, as web pages of repositories make them.
anchors_of() # PAGE
{
	awk '/^ *```/ { fence = !fence } !fence && /^#+ / {
		sub(/^#+ /, ""); $0 = tolower($0); gsub(/[^a-z0-9 _-]/, ""); gsub(/ /, "-"); print }' "$1"
}
# A row for each link outside of fences: line, target.
links_of() # PAGE
{
	awk '/^ *```/ { fence = !fence }
		!fence { text = $0
			while (match(text, /\]\([^) ]+\)/)) {
				print NR, substr(text, RSTART + 2, RLENGTH - 3)
				text = substr(text, RSTART + RLENGTH) } }' "$1"
}
faults_of() # PAGE
{
	links_of "$1" | while read -r line target; do
		file=${target%%#*} anchor=
		case $target in
		http://* | https://*) continue ;;
		*'#'*) anchor=${target#*#} ;;
		esac
		path=$1
		[ -z "$file" ] || path=$(dirname "$1")/$file
		if [ ! -e "$path" ]; then
			echo "$1:$line: there is no file $file"
		elif [ -n "$anchor" ] && ! anchors_of "$path" | grep -qxF -- "$anchor"; then
			echo "$1:$line: $path has no heading #$anchor"
		fi
	done
	grep -oE '`(\.ci|debian|doc|etc|man|scripts|src|tests)/[a-zA-Z0-9_./@-]+`' "$1" | tr -d '`' |
		while read -r path; do
			case $path in
			*NAME* | *PAGE* | *-X* | */X*) continue ;; # stands for any name
			tests/times | tests/unit/unit) continue ;; # in the build directory
			esac
			[ -e "$path" ] || [ -e "$path.in" ] || [ -e "$path.c" ] || echo "$1: there is no $path"
		done
}

tree_files | grep '\.md$' >"$tmp/pages"
links=0
while read -r page; do
	links=$((links + $(links_of "$page" | wc -l)))
	faults_of "$page" >"$tmp/faults"
	while read -r fault; do complain "$fault"; done <"$tmp/faults"
done <"$tmp/pages"
echo "$(wc -l <"$tmp/pages") pages, $links links"
[ "$links" -gt 80 ] || complain "too few links"

printf '%s\n' '# A page: b' '[a](#a-page-b) [b](#gone) [c](gone.md)' '```' '[d](none)' '```' \
	'`tests/gone.sh` `tests/tests.am`' >"$tmp/x.md"
faults_of "$tmp/x.md" | sed 's/.*: //' | paste -sd '|' >"$tmp/found"
[ "$(cat "$tmp/found")" = "$tmp/x.md has no heading #gone|there is no file gone.md|there is no tests/gone.sh" ] ||
	complain "faults are not found: $(cat "$tmp/found")"
exit 0
