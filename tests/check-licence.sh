#!/bin/sh
# Checks that every file has the licence in a line, where its format has comments, that debian/copyright names each
# file with another licence, that nothing generated is tracked, and that the top level has only what is listed here.
# Also shows that each check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
cd "$top" || exit 1

# The files whose formats have no comments.
plain='
COPYING
debian/changelog
debian/copyright
debian/source/format
tests/data/broken/[a-z0-9-]*/.*
tests/data/symbolicate/.*'
line='SPDX-License-Identifier: LGPL-2.1-or-later'
lacks() { while read -r file; do grep -qF -- "$line" "$file" || echo "$file"; done; } # names of files on stdin

tree_files >"$tmp/files"
echo "$plain" | sed '/^$/d' >"$tmp/plain"
while read -r pattern; do
	grep -qx "$pattern" "$tmp/files" || complain "no file is named $pattern: take it out of the list"
done <"$tmp/plain"
grep -vxf "$tmp/plain" "$tmp/files" >"$tmp/licensed"
lacks <"$tmp/licensed" >"$tmp/lacking"
while read -r file; do complain "$file has no line $line"; done <"$tmp/lacking"
echo "$(wc -l <"$tmp/licensed") files have their licence in a line," \
	"$(grep -cxf "$tmp/plain" "$tmp/files") files have no comments"
[ "$(wc -l <"$tmp/licensed")" -gt 900 ] || complain "too few files"
echo 'int x;' >"$tmp/x.c"
[ "$(echo "$tmp/x.c" | lacks)" = "$tmp/x.c" ] || complain "a file without its licence passed"

# Files that name a copyright of their own are in debian/copyright.
named() { grep -q '^Files: \*$' "$1" && grep -qx "Files: $2" "$1"; } # COPYRIGHT FILE
xargs grep -liE 'copyright \(c\)|copyright ©|copyright [0-9]{4}' <"$tmp/files" |
	grep -vxE 'debian/copyright|tests/check-licence\.sh' >"$tmp/owned"
while read -r file; do
	named debian/copyright "$file" || complain "debian/copyright does not name $file"
done <"$tmp/owned"
echo "$(wc -l <"$tmp/owned") files of others, all in debian/copyright"
[ -s "$tmp/owned" ] || complain "COPYING is not seen"
! named debian/copyright tests/nothing.c || complain "a file that debian/copyright does not name passed"

# What a newcomer finds at the top.
top_level='.ci .clang-format .editorconfig .gitignore .shellcheckrc ARCHITECTURE.md CONTRIBUTING.md COPYING HACKING.md
	Makefile.am NEWS.md README.md configure.ac debian doc etc man scripts src tests'
strange() { cut -d/ -f1 | sort -u | while read -r name; do
	case " $(echo $top_level) " in *" $name "*) ;; *) echo "$name" ;; esac
done; }
for name in $(strange <"$tmp/files"); do complain "$name at the top level is not listed in $0"; done
[ "$(echo notes.txt | strange)" = notes.txt ] || complain "a strange file at the top level passed"
echo "$(cut -d/ -f1 "$tmp/files" | sort -u | wc -l) names at the top level"

# A tracked file that .gitignore names was made by the build.
if [ -e .git ] && git ls-files >/dev/null 2>&1; then
	for file in $(git ls-files -ci --exclude-standard); do complain "$file is generated, and is tracked"; done
	[ "$(git check-ignore configure src/main.o page-files.h | wc -l)" = 3 ] ||
		complain ".gitignore lacks a file that the build makes"
fi
exit 0
