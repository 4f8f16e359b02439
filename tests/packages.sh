#!/bin/sh
# Builds the Debian packages of the last commit in a bare Debian tree, and tries them in another: install, units,
# mount, gdb, an upgrade beside a living mount, purge.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
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
