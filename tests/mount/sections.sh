#!/bin/sh
# section/NAME of an ELF file that a directory source, a scanned tree, a package in it, or the store has: bytes and
# status as those of debuginfod, over HTTP, in the mount and by symfs get. SYMFS_SECTIONS=DIR compares the files below
# DIR, too; SYMFS_PACKAGES=DIR those in the Debian packages in DIR, and their sources.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf python3 debuginfod tar

# one and two: the program is stripped, and the debug file is apart. both: one file has all. bare: no debug file.
tree=$TMP/tree
mkdir -p "$tree/bin" "$tree/debug" "$tree/packed"
make_program "$TMP/made" one
make_program "$TMP/made" two
gcc -g -gz=zlib -Wl,--build-id -o "$tree/both" -x c - <<"EOC" || fail gcc
int main(void) { return 3; }
EOC
cp -p "$TMP/made/bin/one" "$TMP/made/bin/libone.so" "$TMP/made/bin/libtwo.so" "$tree/bin"
cp -p "$TMP/made/debug/one.debug" "$TMP/made/debug/libone.so.debug" "$tree/debug"
objcopy --compress-debug-sections=zlib "$TMP/made/debug/two.debug" "$tree/debug/two.debug" || fail objcopy
cp -p "$TMP/made/bin/two" "$tree/bin"
ONE=$(build_id "$tree/bin/one")

fields='Last-Modified X-DEBUGINFOD-SIZE X-DEBUGINFOD-FILE'
same() { # WHAT URL
  # shellcheck disable=SC2086 # words
  python3 "$top_srcdir/tests/helpers/debuginfod-same.py" "$URL_stock" "$2" "$tree" $fields >"$TMP/same" ||
    fail "$1: $(cat "$TMP/same")"
  say "$1: $(tail -n 1 "$TMP/same")"
}
debuginfod_start stock "$tree"
symfs_serve scan --source "scan@$tree"
same "a scanned tree" "$URL_scan"
for url in "$URL_stock" "$URL_scan"; do
  for most in 0:200 100:406 100000000:200 x:200; do
    got=$(fetch_url -o "$TMP/body" -w '%{http_code}' -H "X-DEBUGINFOD-MAXSIZE: ${most%:*}" \
      "$url/buildid/$ONE/debuginfo")
    [ "$got" = "${most#*:}" ] || fail "X-DEBUGINFOD-MAXSIZE $most: $got from $url"
  done
done

# The same files in the store; nothing is read from a directory.
find "$tree" -type f >"$TMP/files"
xargs "$SYMFS" add --cache "$TMP/added" <"$TMP/files" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
symfs_serve store --cache "$TMP/added" --offline
same "the store" "$URL_store"

# In archives of a scanned tree.
mkdir "$TMP/archives"
tar -C "$tree" -czf "$TMP/archives/debug.tar.gz" debug && tar -C "$tree" -czf "$TMP/archives/bin.tar.gz" bin both ||
  fail tar
symfs_serve packed --source "scan@$TMP/archives"
same "archives of a scanned tree" "$URL_packed"
fetch_url -D "$TMP/head" -o "$TMP/body" "$URL_packed/buildid/$ONE/section/.text" || fail ".text of a member"
tr -d '\r' <"$TMP/head" | grep -qix 'x-debuginfod-archive: bin.tar.gz' || fail "no archive: $(cat "$TMP/head")"

# A directory in the layout of gdb, with programs and debug files, in the mount and by symfs get.
while read -r file; do
  id=$(build_id "$file")
  path=$TMP/gdb/.build-id/$(printf %.2s "$id")/$(printf %s "$id" | cut -c3-)
  mkdir -p "${path%/*}"
  case $file in
    *.debug) cp -p "$file" "$path.debug" ;;
    */both) cp -p "$file" "$path" && cp -p "$file" "$path.debug" ;;
    *) cp -p "$file" "$path" ;;
  esac || fail "cp $file"
done <"$TMP/files"
# There the names of the files are not those of the tree.
fields='Last-Modified X-DEBUGINFOD-SIZE'
symfs_serve gdb --source "gdb@$TMP/gdb"
same "a directory" "$URL_gdb"
symfs_mount m --source "gdb@$TMP/gdb"
found=0
readelf -SW "$tree/bin/one" "$tree/debug/one.debug" 2>"$TMP/readelf.log" |
  sed -n 's/^ *\[ *[0-9]*\] \(\.[^ ]*\) .*/\1/p' | sort -u >"$TMP/names"
for name in $(cat "$TMP/names") .absent; do
  status=$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_stock/buildid/$ONE/section/$name")
  if [ "$status" = 200 ]; then
    found=$((found + 1))
    same_file "$TMP/body" "$MNT_m/debuginfod/buildid/$ONE/section/$name"
    case $name in .text | .debug_info | .shstrtab) ;; *) continue ;; esac
    same_file "$TMP/body" "$("$SYMFS" get --no-default-sources --cache "$TMP/get" --source "gdb@$TMP/gdb" \
      "debuginfod/buildid/$ONE/section/$name")"
  else
    [ "$status" = 404 ] || fail "$name: debuginfod: $status"
    [ -e "$MNT_m/debuginfod/buildid/$ONE/section/$name" ] && fail "$name exists"
  fi
done
[ $found -gt 20 ] || fail "only $found sections"
say "the mount: $found sections"

# A stored section goes with its file.
"$SYMFS" cache rm --cache "$TMP/added" "$tree/bin/one" >"$TMP/rm" || fail "cache rm"
"$SYMFS" cache ls --cache "$TMP/added" >"$TMP/left" || fail "cache ls"
grep -q "section $ONE" "$TMP/left" && fail "a section outlived its file: $(cat "$TMP/left")"

if [ -n "${SYMFS_SECTIONS:-}" ]; then
  tree=$SYMFS_SECTIONS
  debuginfod_start stock "$tree"
  symfs_serve large --source "scan@$tree"
  same "$tree" "$URL_large"
fi
[ -n "${SYMFS_PACKAGES:-}" ] || exit 0
tree=$TMP/unpacked
mkdir "$tree"
for package in "$SYMFS_PACKAGES"/*.deb; do
  dpkg-deb -x "$package" "$tree/${package##*/}" || fail "$package"
done
# It unpacks a whole package for each answer, unless it may keep what it unpacked.
debuginfod_start stock "$SYMFS_PACKAGES" '-U --fdcache-fds 5000 --fdcache-mbs 8000 --fdcache-prefetch 2000
  --fdcache-prefetch-fds 4000 --fdcache-prefetch-mbs 8000 --fdcache-mintmp 1'
symfs_serve packages --source "scan@$SYMFS_PACKAGES"
fields='Last-Modified X-DEBUGINFOD-SIZE X-DEBUGINFOD-FILE X-DEBUGINFOD-ARCHIVE'
export DEBUGINFOD_DB="$TMP/stock.sqlite"
same "$SYMFS_PACKAGES" "$URL_packages"
