#!/bin/sh
# Checks the spelling of texts, comments and messages with codespell, which knows common misspellings. Also shows that
# a misspelling is found.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
command -v codespell >/dev/null || { echo "no codespell: apt-get install codespell"; exit 77; }
cd "$top" || exit 1

# Names of the source, words behind a \t, and deliberate misspellings; some are in one version's list only.
names='alog aranges crate fo gud hasnt inflight moutn nd staus tread ttests'
misspelt() { codespell -L "$(echo $names | tr ' ' ,)" "$@" 2>"$tmp/err"; } # FILE...: a line for each

tree_files | grep -vE '^tests/(data/|check-spelling\.sh$)' >"$tmp/files"
for name in $names; do
	xargs grep -qi "$name" <"$tmp/files" || complain "no file has $name: take it out of the list"
done
# shellcheck disable=SC2046 # no file has a blank in its name
misspelt $(cat "$tmp/files") >"$tmp/found" || [ -s "$tmp/found" ] || complain "codespell fails: $(cat "$tmp/err")"
while read -r line; do complain "$line"; done <"$tmp/found"
echo "$(wc -l <"$tmp/files") files"
[ "$(wc -l <"$tmp/files")" -gt 800 ] || complain "too few files"
echo 'The client recieves it.' >"$tmp/wrong"
misspelt "$tmp/wrong" | grep -q 'recieves ==> receives' || complain "a misspelling passed"
exit 0
