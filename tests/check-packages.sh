#!/bin/sh
# Checks that the packages of Debian and Fedora build with each library of scripts/setup, and install each unit, and
# that scripts/setup names the package of each program that a test needs, or uses if it is installed.
# SPDX-License-Identifier: LGPL-2.1-or-later
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0 seen=0
bad() { echo "$1"; failed=1; }

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
	[ -z "$said" ] || bad "$said"
done
for unit in etc/systemd/system/*; do
	name=$(basename "$unit" .in)
	seen=$((seen + 1))
	case $name in
	symfs-serve*) ;; # the lists have symfs-serve*
	*)
		grep -q "/$name\$" debian/symfs.install || bad "debian/symfs.install does not name $name"
		grep -q "/$name\$" etc/rpm/symfs.spec || bad "etc/rpm/symfs.spec does not name $name"
		;;
	esac
done
[ -n "$(lacks libnothing-dev debian/control etc/rpm/symfs.spec)" ] || bad "a missing library is not found"
echo "$seen libraries and units seen"
[ $seen -gt 12 ] || bad "too few: the lists are read wrongly"

# The package of a program; `-`: each Debian has it, or a package of the table brings it along.
package() # PROGRAM
{
	case $1 in
	apt-get | awk | cat | cmp | dd | dpkg-deb | dpkg-query | grep | iconv | ldd | mkfifo | mknod | od | script | sed | \
		sha1sum | sha256sum | shuf | sleep | sort | tar | timeout | tr) echo - ;;
	addr2line | ar | nm | objcopy | objdump | readelf | strip) echo binutils ;;
	bsdtar) echo libarchive-tools ;;
	chromium*) echo chromium ;;
	clang++) echo clang ;;
	debuginfod-find | eu-*) echo elfutils ;;
	dsymutil | llvm-*) echo llvm ;;
	dump_syms | google-chrome | sudo) echo - ;; # another client of the same kind; or not a program of a test
	findmnt | flock | nsenter | setpriv | unshare) echo util-linux ;;
	fusermount3 | mount.fuse | mount.fuse3) echo fuse3 ;;
	gdb-add-index) echo gdb ;;
	getfattr) echo attr ;;
	go) echo golang-go ;;
	ip) echo iproute2 ;;
	ld.lld | ld64.lld* | lld-link) echo lld ;;
	man) echo man-db ;;
	monodis) echo mono-utils ;;
	node) echo npm ;;
	perf) echo linux-perf ;;
	pgrep) echo procps ;;
	radosgw-admin) echo radosgw ;;
	rpmbuild) echo rpm ;;
	smbd | testparm) echo samba ;;
	systemctl | systemd-analyze | systemd-socket-activate) echo systemd ;;
	systemd-nspawn) echo systemd-container ;;
	winegcc) echo wine64-tools ;;
	xz) echo xz-utils ;;
	*) echo "$1" ;;
	esac
}

programs() # the programs that shell text on stdin needs or looks for, one a line
{
	sed -nE 's/#.*//
		s/(^|.*[;&{( ])(need|first_of)( +[a-z][^;|&)]*).*/\3/p
		s/.*command -v +([a-z][a-z0-9_.+-]*).*/\1/p' | tr ' ' '\n' | grep -E '^[a-z][a-z0-9_.+-]*$'
}

unnamed() # prints the programs on stdin whose package scripts/setup does not name
{
	sort -u | while read -r program; do
		name=$(package "$program")
		[ "$name" = - ] || grep -qxF "$name" "$tmp/named" || echo "$program"
	done
}

sed -nE 's/^(build|run|demo|test|maybe|clients|wine|ceph|symsrv|extra) +([^ ]+) .*/\2/p' scripts/setup >"$tmp/named"
for file in tests/*.sh tests/mount/*.sh tests/timed/*.sh tests/bench/*.sh scripts/*; do
	programs <"$file"
done >"$tmp/programs"
count=$(sort -u "$tmp/programs" | wc -l)
lacking=$(unnamed <"$tmp/programs")
for program in $lacking; do
	bad "scripts/setup does not name the package of $program, which a test needs:"
	grep -lw -e "$program" tests/*.sh tests/*/*.sh
done
echo "$count programs of tests seen"
[ "$count" -gt 80 ] || bad "too few programs: the tests are read wrongly"
printf 'need curl nothing # x\n[ $a ] && need gcc lacking || skip\nx=$(first_of absent)\n' | programs >"$tmp/programs"
[ "$(echo $(unnamed <"$tmp/programs"))" = "absent lacking nothing" ] || bad "a program without a package is not found"
exit $failed
