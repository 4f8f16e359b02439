#!/bin/sh
# Checks that the packages of Debian and Fedora build with each library of scripts/setup, and install each unit, and
# that all places that name the version name that of configure.ac.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
cd "$top" || exit 1
seen=0

# The names of Fedora that differ from those of Debian.
fedora() # NAME of a -dev package
{
	case $1 in
	libfuse3-dev) echo fuse3-devel ;;
	libcurl4-openssl-dev) echo libcurl-devel ;;
	libsqlite3-dev) echo sqlite-devel ;;
	libssl-dev) echo openssl-devel ;;
	zlib1g-dev) echo zlib-devel ;;
	liblzma-dev) echo xz-devel ;;
	libelf-dev) echo elfutils-libelf-devel ;;
	libdw-dev) echo elfutils-devel ;;
	libiberty-dev) echo binutils-devel ;;
	*) echo "${1%-dev}-devel" ;;
	esac
}

lacks() # PACKAGE CONTROL SPEC: prints what does not name it
{
	grep -q "^ $1," "$2" || echo "$2 does not name $1"
	grep -qE "^BuildRequires:.* $(fedora "$1")( |\$)" "$3" || echo "$3 does not name $(fedora "$1")"
}

for name in $(sed -n 's/^build  *\([a-z0-9-]*-dev\) .*/\1/p' scripts/setup); do
	[ "$name" != libc6-dev ] || continue
	seen=$((seen + 1))
	said=$(lacks "$name" debian/control etc/rpm/symfs.spec)
	[ -z "$said" ] || complain "$said"
done
for unit in etc/systemd/system/*; do
	name=$(basename "$unit" .in)
	seen=$((seen + 1))
	case $name in
	symfs-serve*) ;; # the lists have symfs-serve*
	*)
		grep -q "/$name\$" debian/symfs.install || complain "debian/symfs.install does not name $name"
		grep -q "/$name\$" etc/rpm/symfs.spec || complain "etc/rpm/symfs.spec does not name $name"
		;;
	esac
done
[ -n "$(lacks libnothing-dev debian/control etc/rpm/symfs.spec)" ] || complain "a missing library is not found"

# The version of this source, and the date in the head of its news. The news and the changelog also name older ones.
version=$(sed -n 's/^AC_INIT(\[symfs\], \[\([^]]*\)\].*/\1/p' configure.ac)
others() # VERSION: names on stdin; prints the lines with another version of symfs
{
	grep -vE '^(NEWS\.md|debian/changelog|tests/data/.*)$' |
		xargs grep -nE '(symfs[ /-]|^Version: )[0-9]+\.[0-9]+\.[0-9]+' | grep -vE "(symfs[ /-]|Version: )$1"
}
tree_files >"$tmp/files"
others "$version" <"$tmp/files" >"$tmp/others"
while read -r line; do complain "not version $version: $line"; done <"$tmp/others"
others 0.0.0 <"$tmp/files" >"$tmp/places"
echo "$(wc -l <"$tmp/places") places name version $version"
[ "$(wc -l <"$tmp/places")" -ge 4 ] || complain "the version is found nowhere"
day=$(date -u -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%Y-%m-%d)
[ "$(sed -n 's/^symfs (\(.*\)) .*/\1/p' debian/changelog | head -n 1)" = "$version" ] ||
	complain "debian/changelog does not begin with version $version"
[ "$(grep -m 1 '^## ' NEWS.md)" = "## $version ($day)" ] || complain "NEWS.md does not begin with $version ($day)"
echo "$seen libraries and units seen"
[ $seen -gt 12 ] || complain "too few: the lists are read wrongly"
exit 0
