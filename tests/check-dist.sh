#!/bin/sh
# Checks the command that packs a tarball: two copies of a directory that were made in another order, at another time,
# with other modes and owners, must give the same bytes. HACKING.md, Release, says how to compare two whole tarballs.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
build=$(cd "${top_builddir:-.}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

# The command as make runs it.
printf 'include Makefile\npack:\n\t@tardir=d && $(am__tar) | eval GZIP= gzip $(GZIP_ENV) -c >"$(TO)"\n' \
  >"$tmp/pack.mk"
copy() { # NAME MODE FILE...
  mkdir -p "$tmp/$1/d/sub" && chmod "$2" "$tmp/$1/d"
  dir=$1 mode=$2
  shift 2
  for file; do
    echo "$file" >"$tmp/$dir/d/$file" && chmod "$mode" "$tmp/$dir/d/$file" || fail "$file"
  done
}
pack() { # NAME [EPOCH]
  (cd "$build" && SOURCE_DATE_EPOCH=${2:-} TAR="tar -C $tmp/$1" make -s -f "$tmp/pack.mk" pack TO="$tmp/$1.tar.gz") \
    >"$tmp/log" 2>&1 || fail "pack: $(cat "$tmp/log")"
}
umask 022
copy one 755 a b sub/c
touch -d '2001-02-03' "$tmp/one/d/a"
umask 077
copy two 700 sub/c b a
! chown -R 12345:12345 "$tmp/two" 2>/dev/null || echo "with another owner"
pack one && pack two
cmp "$tmp/one.tar.gz" "$tmp/two.tar.gz" || fail "the same files give other bytes"
tar -tvzf "$tmp/one.tar.gz" >"$tmp/list" || fail "no tarball"
[ "$(wc -l <"$tmp/list")" = 5 ] || fail "files: $(cat "$tmp/list")"
! grep -v '^[-d]rw.r-.r-. 0/0 ' "$tmp/list" || fail "owners or modes"
pack two 86400
! cmp -s "$tmp/one.tar.gz" "$tmp/two.tar.gz" || fail "the time does not count"
[ "$(tar --utc -tvzf "$tmp/two.tar.gz" | grep -c ' 1970-01-02 00:00 ')" = 5 ] ||
  fail "SOURCE_DATE_EPOCH does not count"
echo "two copies of a directory give the same tarball"
