#!/bin/sh
# Checks that scripts/setup names the package of each program that a test needs. Also shows that the check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The programs of packages with another name. Each Debian has those of `-`.
cat >"$tmp/programs" <<'END'
- awk bash cmp dd dpkg-deb iconv ldd mkfifo mknod od script sed sha1sum sha256sum shuf sleep cat sh tar timeout
attr getfattr
binutils addr2line ar ld nm objcopy objdump readelf strip
bzip2 bzcat
chromium chromium-browser google-chrome
clang clang++
debuginfod debuginfod-find
elfutils eu-addr2line eu-readelf eu-stack eu-strip eu-unstrip
fuse3 fusermount3 mount.fuse mount.fuse3
gdb gdb-add-index
golang-go go
iproute2 ip ss
libarchive-tools bsdtar
linux-perf perf
lld ld.lld ld64.lld lld-link wasm-ld
llvm dsymutil llvm-dwarfdump llvm-dwp llvm-gsymutil llvm-lipo llvm-nm llvm-objcopy llvm-objdump llvm-readobj
llvm llvm-symbolizer llvm-strip
man-db man
mono-utils monodis
nodejs node
npm dump_syms
procps pgrep
radosgw radosgw-admin
rpm rpmbuild
samba smbd testparm
systemd systemd-analyze systemd-socket-activate
systemd-container systemd-nspawn
time /usr/bin/time
util-linux findmnt flock fusermount nsenter setpriv unshare
wine64-tools winegcc
xz-utils xz
END
sed -n '/^packages=/,/^.$/p' scripts/setup | awk '$1 ~ /^[a-z]+$/ && NF > 2 { print $2 }' >"$tmp/packages"

# PROGRAM FILE, a line for each that `need`, `first_of` or `command -v` names.
programs_of() # FILE...
{
	awk '
		function take(word) {
			if (word ~ /^[a-z\/][a-z0-9_+.\/-]*$/) { print word, FILENAME; return 1 }
			return 0
		}
		/^[ \t]*#/ { next }
		/^[ \t]*need / { for (i = 2; i <= NF && take($i); i++); }
		{
			line = $0
			while (match(line, /(first_of|command -v) [a-z][a-z0-9_+.-]*/)) {
				n = split(substr(line, RSTART, RLENGTH), words, " ")
				take(words[n])
				line = substr(line, RSTART + RLENGTH)
			}
		}' "$@" | sort -u
}

# The programs of the files whose package scripts/setup does not name.
unnamed() # FILE...
{
	programs_of "$@" | awk -v programs="$tmp/programs" -v packages="$tmp/packages" '
		BEGIN {
			while ((getline line <packages) > 0) named[line] = 1
			while ((getline line <programs) > 0) {
				n = split(line, words, " ")
				for (i = 2; i <= n; i++) package[words[i]] = words[1]
			}
		}
		{
			p = $1
			sub(/-[0-9]+$/, "", p)
			p = p in package ? package[p] : p
			if (p != "-" && !(p in named)) print $2 ": scripts/setup lacks " p ", which has " $1
		}'
}

set -- tests/*.sh tests/bench/*.sh tests/mount/*.sh tests/timed/*.sh
faults=$(unnamed "$@")
[ -z "$faults" ] || { echo "$faults"; exit 1; }
seen=$(programs_of "$@" | cut -d' ' -f1 | sort -u | wc -l)
[ "$seen" -ge 60 ] || { echo "only $seen programs in tests"; exit 1; }
echo "$seen programs of tests, each in a package of scripts/setup"

printf 'need gcc nosuch\nif %s nosuch-two; then :; fi\n' 'command -v' >"$tmp/bad.sh"
[ "$(unnamed "$tmp/bad.sh" | wc -l)" = 2 ] || { echo "a program without a package passed"; exit 1; }
