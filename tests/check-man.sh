#!/bin/sh
# The manual pages are formatted without a warning, and name every command, key and preset.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
command -v man >/dev/null || { echo "no man: apt-get install man-db"; exit 77; }
failed=0 seen=0
bad() { echo "$1"; failed=1; }

for page in "$top"/man/*.in; do
	seen=$((seen + 1))
	said=$(man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null) || bad "$page is not formatted"
	[ -z "$said" ] || bad "$page: $said"
	# groff 1.23 warns about such a line; 1.22 breaks the margin silently.
	said=$(sed -n 's/^\.Dl //p' "$page" | grep -E '.{67}')
	[ -z "$said" ] || bad "$page: wider than a page; .Bd -literal has no margin: $said"
	command -v mandoc >/dev/null || continue
	said=$(mandoc -Tlint -Wwarning "$page" | grep -vE 'unusual Xr order|referenced manual not found|unexpected section: Sh ERRORS')
	[ -z "$said" ] || bad "$said"
done

text() { MANWIDTH=1000 man --nh -E UTF-8 -l "$top/man/$1.in" 2>/dev/null | tr -s ' \n' '  '; }
has() { case $2 in *"$3"*) ;; *) bad "$1 does not name $3" ;; esac; }

symfs=$(text symfs.1) conf=$(text symfs.conf.5) layouts=$(text symfs-layouts.7)
for word in mount umount get id paths parse why status sources 'cache ls' 'cache rm' 'gsym create' 'gsym lookup'; do
	has symfs.1 "$symfs" "$word"
done
for key in $(sed -n 's/^#\([a-z][a-z-]*\) = .*/\1/p' "$top/etc/symfs.conf"); do
	has symfs.conf.5 "$conf" " $key"
done
# The keys of [symfs] are options too.
for key in $(sed -n '/^\[symfs\]/,/^#\[source/s/^#\([a-z-]*\) = .*/\1/p' "$top/etc/symfs.conf"); do
	has symfs.1 "$symfs" "--$key"
done
for preset in "$top"/etc/sources.d/*.conf; do
	name=$(basename "$preset" .conf)
	grep -q "^\[source \"$name\"\]" "$preset" || bad "$preset does not define $name"
	has symfs.conf.5 "$conf" "$name"
done
for layout in $(sed -n 's/^	{"\([a-z_0-9]*\)", "[a-z_0-9]*", .*/\1/p' "$top/src/layout/layouts.c"); do
	has symfs-layouts.7 "$layouts" "$layout"
	seen=$((seen + 1))
done
for topic in $(grep -o '\[LOG_[A-Z]*\] *= "[a-z]*"' "$top/src/base/log.c" | sed 's/.*"\(.*\)"/\1/'); do
	grep -qE "^\.Cm conf ,.* $topic( |\$)|^\.Cm $topic ," "$top/man/symfs.1.in" || bad "symfs.1 does not name the topic $topic of SYMFS_DEBUG"
	seen=$((seen + 1))
done
for page in "$top"/man/symfs-*.1.in; do
	name=$(basename "$page" .1.in)
	sed -n '/^\.Sh SEE ALSO/,/^\.Sh C/p' "$top/man/symfs.1.in" | grep -q "^\.Xr $name 1" || bad "symfs.1 does not refer to $name"
done
echo "$seen pages, layouts and topics seen"
[ $seen -gt 3 ] || failed=1
exit $failed
