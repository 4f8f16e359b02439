#!/bin/sh
# A file has the time of its origin, in the mount and in Last-Modified: of a file of a directory, of a scanned tree,
# of a member of a tar or zip archive there, of a file that was added, of the file of an upstream, during the
# download, too.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf tar nginx gdb curl

make_program "$TMP/made" one
ONE=$(build_id "$TMP/made/bin/one")
THEN='Sun, 06 Nov 1994 08:49:37 GMT' SECONDS_THEN=784111777
touch -d "$THEN" "$TMP/made/bin/one" "$TMP/made/debug/one.debug"

# has_time WHAT ROOT URL: the executable in the mount and over HTTP.
has_time() {
  if [ -n "$2" ]; then
    cat "$2/debuginfod/buildid/$ONE/executable" >/dev/null || fail "$1: no file in the mount"
    ht=$(stat -c %Y "$2/debuginfod/buildid/$ONE/executable")
    [ "$ht" = "$SECONDS_THEN" ] || fail "$1: the file in the mount is of $ht"
  fi
  [ -n "$3" ] || return 0
  for ht_way in '' -I; do
    # shellcheck disable=SC2086
    fetch_url $ht_way -D "$TMP/head" -o "$TMP/body" "$3/buildid/$ONE/executable" || fail "$1: over HTTP"
    grep -qi "^last-modified: $THEN" "$TMP/head" || fail "$1: $(cat "$TMP/head")"
  done
}

mkdir -p "$TMP/tree/deep" "$TMP/archives" "$TMP/zips" "$TMP/dir/buildid/$ONE"
cp -p "$TMP/made/bin/one" "$TMP/tree/deep/"
tar -C "$TMP/tree" -czf "$TMP/archives/a.tar.gz" deep || fail tar
"$top_builddir/tests/helpers/zip-write" "$TMP/zips/a.zip" -t $SECONDS_THEN one "$TMP/made/bin/one" || fail zip-write
cp -p "$TMP/made/bin/one" "$TMP/dir/buildid/$ONE/executable"
cp -p "$TMP/made/debug/one.debug" "$TMP/dir/buildid/$ONE/debuginfo"
for source in "scan@$TMP/tree" "scan@$TMP/archives" "scan@$TMP/zips" "debuginfod@$TMP/dir"; do
  symfs_mount m --source "$source"
  symfs_serve s --source "$source"
  has_time "$source" "$MNT_m" "$URL_s"
  symfs_umount m
  symfs_unserve s
  rm -rf "$TMP/store-m" "$TMP/store-s"
done

for file in "$TMP/made/bin/one" "$TMP/archives/a.tar.gz" "$TMP/zips/a.zip"; do
  "$SYMFS" add --cache "$TMP/added" "$file" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
  symfs_mount m --cache "$TMP/added" --offline
  symfs_serve s --cache "$TMP/added" --offline
  has_time "add $file" "$MNT_m" "$URL_s"
  symfs_umount m
  symfs_unserve s
  rm -rf "$TMP/added"
done

# From a server, and from a symfs before it; the answer is the same when the file is stored.
nginx_start up "$TMP/dir"
symfs_serve near --source "debuginfod@$URL_up"
symfs_serve far --source "debuginfod@$URL_near"
symfs_mount m --source "debuginfod@$URL_far"
fetch_url -D "$TMP/head" -o "$TMP/body" "$URL_far/buildid/$ONE/executable" || fail "during the download"
grep -qi "^last-modified: $THEN" "$TMP/head" || fail "during the download: $(cat "$TMP/head")"
has_time "an upstream" "$MNT_m" "$URL_far"
has_time "the first server" "" "$URL_near"

# The date is a validator: a client that has it gets 304, and the rest of a range; one with another date does not.
status() { fetch_url -o "$TMP/body" -w '%{http_code}' "$@" "$URL_far/buildid/$ONE/executable"; }
[ "$(status -H "If-Modified-Since: $THEN")" = 304 ] || fail "If-Modified-Since"
[ "$(status -H 'If-Modified-Since: Sun Nov  6 08:49:36 1994')" = 200 ] || fail "an earlier If-Modified-Since"
[ "$(status -r 5-9 -H "If-Range: $THEN")" = 206 ] || fail "If-Range"
[ "$(status -r 5-9 -H 'If-Range: Sun, 06 Nov 1994 08:49:38 GMT')" = 200 ] || fail "another If-Range"
symfs_umount m

# A better file of the same time takes the place of the debug file: no date of the first one counts for it any more.
objcopy -R .debug_info -R .debug_line "$TMP/made/debug/one.debug" "$TMP/poor.debug" || fail objcopy
touch -d "$THEN" "$TMP/poor.debug"
[ "$(build_id "$TMP/poor.debug")" = "$ONE" ] || fail "the id of the poor file"
"$SYMFS" add --cache "$TMP/better" "$TMP/poor.debug" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
symfs_serve better --cache "$TMP/better" --offline
debug() { fetch_url -o "$TMP/body" -w '%{http_code}' "$@" "$URL_better/buildid/$ONE/debuginfo"; }
[ "$(debug)" = 200 ] && same_file "$TMP/poor.debug" "$TMP/body"
[ "$(debug -H "If-Modified-Since: $THEN")" = 304 ] || fail "the first file"
"$SYMFS" add --cache "$TMP/better" "$TMP/made/debug/one.debug" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
[ "$(debug -H "If-Modified-Since: $THEN")" = 200 ] || fail "a better file of the same time is said to be unchanged"
same_file "$TMP/made/debug/one.debug" "$TMP/body"
[ "$(debug -r 5-9 -H "If-Range: $THEN")" = 200 ] || fail "a range of a better file of the same time"

# gdb: the source, the program and its debug file come from symfs alone.
mkdir -p "$TMP/dir/buildid/$ONE/source$TMP/made/src"
touch -d '1 Jan 1993' "$TMP/made/src/one.c"
cp -p "$TMP/made/src/one.c" "$TMP/dir/buildid/$ONE/source$TMP/made/src/one.c"
cp -p "$TMP/made/bin/one" "$TMP/one"
mv "$TMP/made/src" "$TMP/elsewhere"
symfs_serve files --source "debuginfod@$TMP/dir"
symfs_serve proxy --source "debuginfod@$URL_up"
symfs_mount m --source "debuginfod@$URL_up"
for url in "$URL_files" "$URL_proxy" "$URL_far" "file://$MNT_m/debuginfod"; do
  cache=$(mktemp -d "$TMP/client.XXXXXX")
  DEBUGINFOD_URLS=$url DEBUGINFOD_CACHE_PATH=$cache timeout 300 gdb -nx -batch -iex 'set debuginfod enabled on' \
    -ex 'list main' "$TMP/one" >"$TMP/gdb.log" 2>&1
  grep -q 'return work' "$TMP/gdb.log" || fail "$url: gdb: $(cat "$TMP/gdb.log")"
  grep -q 'more recent' "$TMP/gdb.log" && fail "$url: gdb: $(cat "$TMP/gdb.log")"
done
timeout 300 gdb -nx -batch -iex 'set debuginfod enabled off' -iex "set debug-file-directory $MNT_m/gdb" \
  -ex "set substitute-path $TMP/made $MNT_m/source/$ONE$TMP/made" -ex 'list main' "$TMP/one" >"$TMP/gdb.log" 2>&1
grep -q 'return work' "$TMP/gdb.log" || fail "the mount: gdb: $(cat "$TMP/gdb.log")"
grep -q 'more recent' "$TMP/gdb.log" && fail "the mount: gdb: $(cat "$TMP/gdb.log")"
symfs_umount m
