#!/bin/sh
# Builds the Debian packages of the last commit in a bare Debian tree, and tries them in another: install, units,
# mount, gdb, an upgrade beside a living mount, purge. Then builds the RPMs, and compares their files and modes with
# those of the Debian packages.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
LC_ALL=C
export LC_ALL
git -C "$top" rev-parse -q HEAD >/dev/null 2>&1 ||
	{ echo "SKIP: no git checkout: the packages are built from a commit"; exit 77; }
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
case $suite in
bookworm | trixie) ;;
*) suite=bookworm ;;
esac
"$top/scripts/package" build "$suite" "$out" || exit
"$top/scripts/package" try "$suite" "$out" || exit
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error,warning "$out"/symfs_*.changes || exit 1
	echo "lintian: nothing"
fi

# ---- the RPMs ----------------------------------------------------------------------------------
fail() { echo "FAIL: $*"; exit 1; }
"$top/scripts/package" rpm "$out" || exit

# The differences with a reason; the rest must be equal. Of Debian 12, /lib is a link to /usr/lib. Each distribution
# packs manual pages in its own way. debhelper replaces a page that only includes another by a link.
same_place()
{
	sed -E 's| /lib/| /usr/lib/|
		s|( /usr/share/man/.*)\.gz$|\1|
		s|^lrwxrwxrwx( /usr/share/man/)|-rw-r--r--\1|' | sort
}
deb_files() # PACKAGE: `mode path` of each file
{
	dpkg-deb --fsys-tarfile "$out/$1"_*.deb | tar -tvf - | grep -v '^d' |
		sed -E 's/^([^ ]*).* \.(\/[^ ]*)( -> .*)?$/\1 \2/' |
		grep -vE " /usr/share/doc/$1/(changelog\.gz|copyright)$" | # Debian's policy wants these names
		same_place
}
rpm_files() # PACKAGE
{
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$out/$1"-[0-9]*.rpm | grep -v '^d' |
		grep -vE ' /usr/lib/\.build-id/' | # rpmbuild makes links to the programs
		grep -vE ' /usr/share/licenses/symfs[^/]*/COPYING$' | # %license: Debian's is `copyright`
		same_place
}
rm -f "$out"/*.src.rpm
for package in symfs symfs-serve; do
	deb_files $package >"$out/deb" && rpm_files $package >"$out/rpm"
	grep -q /symfs "$out/deb" || fail "the list of $package.deb is read wrongly: $(cat "$out/deb")"
	cmp -s "$out/deb" "$out/rpm" ||
		fail "$package: the files of the .deb (<) and of the .rpm (>) differ: $(diff "$out/deb" "$out/rpm")"
	sed 1d "$out/rpm" | cmp -s "$out/deb" - && fail "a missing file is not found"
	rpm -qp --scripts "$out/$package"-[0-9]*.rpm 2>&1 | grep '%' &&
		fail "$package.rpm: rpmbuild does not know a macro"
	echo "$package: the .deb and the .rpm have the same $(wc -l <"$out/deb") files with the same modes"
done
# The program of the RPM starts from where it was installed.
mkdir "$out/root"
rpm -i --nodeps --noscripts --root "$out/root" "$out"/symfs-[0-9]*.rpm >"$out/log" 2>&1 &&
	"$out/root/usr/bin/symfs" --version >>"$out/log" 2>&1 || fail "the RPM: $(cat "$out/log")"
tail -n 1 "$out/log"
