#!/bin/sh
# Checks that the manual pages are formatted without a warning, and describe each command,
# subcommand, key, attribute, layout, file type, kind of source and preset of the program. Also
# shows that a missing word is found.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
command -v man >/dev/null || { echo "no man: apt-get install man-db"; exit 77; }
seen=0

for page in "$top"/man/*.in; do
	seen=$((seen + 1))
	said=$(man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null) || complain "$page is not formatted"
	[ -z "$said" ] || complain "$page: $said"
	# groff 1.23 warns about such a line; 1.22 breaks the margin silently.
	said=$(sed -n 's/^\.Dl //p' "$page" | grep -E '.{67}')
	[ -z "$said" ] || complain "$page: wider than a page; .Bd -literal has no margin: $said"
	command -v mandoc >/dev/null || continue
	said=$(mandoc -Tlint -Wwarning "$page" |
		grep -vE 'unusual Xr order|referenced manual not found|unexpected section: Sh ERRORS')
	[ -z "$said" ] || complain "$said"
done

text() { MANWIDTH=1000 man --nh -E UTF-8 -l "$top/man/$1.in" 2>/dev/null | tr -s ' \n' '  '; }
has() { case $2 in *"$3"*) ;; *) complain "$1 does not name $3" ;; esac; }

conf=$(text symfs.conf.5)
for key in $(sed -n 's/^#\([a-z][a-z-]*\) = .*/\1/p' "$top/etc/symfs.conf"); do
	has symfs.conf.5 "$conf" " $key"
done
for preset in "$top"/etc/sources.d/*.conf; do
	name=$(basename "$preset" .conf)
	grep -q "^\[source \"$name\"\]" "$preset" || complain "$preset does not define $name"
done

# What the program and its tables name has a place in a manual page. Each function reads words and prints a line
# for each one without a place.
man=$top/man
helps=$tmp/helps
"$symfs" help --dump >"$helps" || complain "symfs help --dump ends with $?"
. "$top/tests/tables.sh"
# The page of a command has its name in NAME.
page_of() { grep -lE "^\.Nm symfs-$1( ,)?\$" "$man"/*.1.in; }
lacks() { echo "$1 does not describe $2"; }

commands_without_place()
{
	while read -r command; do
		grep -qE "^\.(It )?Cm (.* )?$command( |\$)" "$man/symfs.1.in" || lacks symfs.1 "$command"
		[ -n "$(page_of "$command")" ] || lacks "no page" "$command"
	done
}
subcommands_without_place() # COMMAND
{
	sub_page=$(page_of "$1")
	while read -r sub; do
		grep -qE "^\.((It |Op )?Cm|Ss|Nm symfs $1) (.*[^a-z-])?$sub([^a-z-]|\$)" "$sub_page" ||
			lacks "$sub_page" "$1 $sub"
	done
}
options_without_place()
{
	while read -r key; do grep -qE "^\.(It )?Fl (.* )?-$key( |\$)" "$man/symfs.1.in" ||
		lacks symfs.1 "--$key"; done
}
items_without_place() # PAGE
{
	while read -r word; do grep -qE "^\.(It )?Cm (.*[^a-z0-9_-])?$word([^a-z0-9_-]|\$)" "$man/$1.in" ||
		lacks "$1" "$word"; done
}
layouts_without_place()
{
	while read -r word; do grep -qE "^\.(Ss|It|Cm|Pa) .*$word" "$man/symfs-layouts.7.in" ||
		lacks symfs-layouts.7 "$word"; done
}
types_without_place()
{
	while read -r word; do grep -qw "$word" "$man/symfs-layouts.7.in" || lacks symfs-layouts.7 "$word"; done
}
# The section that tests/mount/state.sh compares with what a mount has.
attributes_without_place()
{
	sed -n '/^\.Sh EXTENDED ATTRIBUTES/,/^\.Sh S/p' "$man/symfs-mount.1.in" >"$tmp/section"
	while read -r word; do grep -qx "\.It Cm user\.symfs\.$word" "$tmp/section" ||
		lacks symfs-mount.1 "user.symfs.$word"; done
}
asked() { seen=$((seen + $(wc -l <"$tmp/words"))); }

# ask LEAST LIST CHECK [ARG]: at least that many words, each with a place; a word that is invented has none.
ask()
{
	least=$1 list=$2
	shift 2
	$list >"$tmp/words"
	[ "$(wc -l <"$tmp/words")" -ge "$least" ] || complain "$list: only $(wc -l <"$tmp/words") words"
	asked
	without=$("$@" <"$tmp/words")
	[ -z "$without" ] || complain "$without"
	echo frobnicate | "$@" | grep -q frobnicate || complain "$1 misses nothing, not even what does not exist"
}
ask 15 commands_named commands_without_place
for command in $(commands_named); do
	subcommands() { subcommands_named "$command"; }
	[ -z "$(subcommands)" ] || ask 1 subcommands subcommands_without_place "$command"
done
ask 10 keys_named options_without_place
ask 10 layouts_named layouts_without_place
ask 15 filetypes_named types_without_place
ask 5 source_kinds_named items_without_place symfs.conf.5
ask 8 xattrs_named attributes_without_place
ask 15 presets_named items_without_place symfs.conf.5
for topic in $(grep -o '\[LOG_[A-Z]*\] *= "[a-z]*"' "$top/src/base/log.c" | sed 's/.*"\(.*\)"/\1/'); do
	grep -qE "^\.Cm conf ,.* $topic( |\$)|^\.Cm $topic ," "$top/man/symfs.1.in" ||
		complain "symfs.1 does not name the topic $topic of SYMFS_DEBUG"
	seen=$((seen + 1))
done
for page in "$top"/man/symfs-*.1.in; do
	name=$(basename "$page" .1.in)
	grep -qE "^\.It Xr $name 1" "$top/man/symfs.1.in" ||
		complain "symfs.1 does not refer to $name"
done
# man finds a page by the name of each command: the page itself, or one line that leads to it.
for command in $(commands_named); do
	page=${top_builddir:-.}/man/symfs-$command.1
	[ -s "$page" ] || { complain "there is no manual page symfs-$command"; continue; }
	led=$(sed -n 's|^\.so man1/||p' "$page")
	grep -qE "^\.Nm symfs-$command( ,)?\$" "${top_builddir:-.}/man/${led:-symfs-$command.1}" ||
		complain "$page leads to a page that does not name the command"
	seen=$((seen + 1))
done
echo "$seen pages, words and topics seen"
[ $seen -gt 80 ] || complain "only $seen seen"
exit 0
