# Shared code of the walls, tests/check-*.sh, that go on after a fault. Such a wall begins with
#
#   . "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
#
# and then has $top, $symfs, $tmp (removed afterwards), complain and tree_files. It fails at its end if it has
# complained, also in a pipe or a subshell.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
symfs=$(cd "${top_builddir:-.}" && pwd)/symfs
tmp=$(mktemp -d) || exit 1

complain() { echo "$*"; : >"$tmp/complained"; }

# Prints the path of each file of the source below $top, without what autoreconf and make write.
tree_files() {
	if [ -e "$top/.git" ] && git -C "$top" ls-files >"$tmp/tracked" 2>/dev/null; then
		cat "$tmp/tracked"
	else
		(cd "$top" && find .ci debian doc etc man scripts src tests ./*.md COPYING Makefile.am configure.ac \
			-type f ! -name '*.[ao]' ! -path '*/.deps/*') | sed 's|^\./||'
	fi
}

walls_end() {
	status=$?
	[ "$status" != 0 ] || [ ! -e "$tmp/complained" ] || status=1
	rm -rf "$tmp"
	exit "$status"
}
trap walls_end EXIT
trap 'exit 130' INT TERM HUP
