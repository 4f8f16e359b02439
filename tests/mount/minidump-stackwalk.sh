#!/bin/sh
# Breakpad's minidump_stackwalk names functions and lines with breakpad/ of the mount: from added
# files, and from servers.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl nginx
tool minidump_stackwalk
WALK=$TOOL

walk() { timeout 600 "$WALK" "$@" 2>/dev/null; }
asked() { upstream_count "$URL_up" requests; }

# ---- a dump and symbols of our own ---------------------------------------------------------------
ONE=00112233445566778899AABBCCDDEEFF TWO=F0E1D2C3B4A5968778695A4B3C2D1E0F
sym() { # DIR FILE GUIDAGE FUNCTION CALLER
  mkdir -p "$1/$2.pdb/$3"
  cat >"$1/$2.pdb/$3/$2.sym" <<EOF
MODULE windows x86_64 $3 $2.pdb
FILE 0 c:\\src\\$2.cc
FUNC 1000 20 0 $4
1000 10 3 0
1010 10 4 0
FUNC 1200 20 0 $5
1200 10 7 0
1210 10 8 0
STACK CFI INIT 1000 1000 .cfa: \$rsp 8 + .ra: .cfa 8 - ^
EOF
}
sym "$TMP/far" one ${ONE}1 'one::deeper(int)' one_entry
sym "$TMP/far" Two ${TWO}2a 'Two::work()' main
"$top_builddir/tests/helpers/make-minidump" "$TMP/own.dmp" "one.dll:one.pdb:$ONE:1:180000000" \
  "Two.exe:Two.pdb:$TWO:2a:140000000" -- 180001005 180001205 140001015 140001209 || fail "make-minidump"

all='^ 0  one\.dll!one::deeper\(int\) \[one\.cc : 3 \+ 0x5\]|^ 1  one\.dll!one_entry \[one\.cc : 7 \+ 0x'
all=$all'|^ 2  Two\.exe!Two::work\(\) \[Two\.cc : 4 \+ 0x|^ 3  Two\.exe!main \[Two\.cc : 7 \+ 0x'
named() { # WHAT DIR
  out=$(walk "$TMP/own.dmp" "$2")
  [ "$(printf '%s\n' "$out" | grep -cE "$all")" = 4 ] || fail "$1: $(printf '%s\n' "$out" | grep '^ [0-9]')"
}
refuse "without symbols" "$(walk "$TMP/own.dmp" "$TMP/nothing")" "$all"
named "its own directory" "$TMP/far" # else nothing below is proven

"$SYMFS" add -r --cache "$TMP/store" "$TMP/far" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
symfs_mount stored --cache "$TMP/store" --offline
named "stored" "$MNT_stored/breakpad"
named "stored, through native" "$MNT_stored/native"
named "stored, through the root" "$MNT_stored"
symfs_umount stored

# Far away: one request a module, and none again. A missing module costs a request and has no symbols.
upstream_start up --root "$TMP/far"
symfs_mount cold --source "breakpad@$URL_up"
named "far away" "$MNT_cold/breakpad"
[ "$(upstream_count "$URL_up" get "*.sym")" = 2 ] || fail "not one GET for each of two files"
before=$(asked)
named "again" "$MNT_cold/breakpad"
[ "$(asked)" = "$before" ] || fail "asked again"
symfs_umount cold
nginx_start http "$TMP/far"
symfs_mount nginx --source "breakpad@$URL_http"
named "behind nginx" "$MNT_nginx/breakpad"
symfs_umount nginx
symfs_mount empty --offline
refuse "without the mount's files" "$(walk "$TMP/own.dmp" "$MNT_empty/breakpad")" "$all"
symfs_umount empty

# ---- dumps of Breakpad itself --------------------------------------------------------------------
DUMPS=$top_srcdir/../shared/fixtures/built/minidump
if [ ! -d "$DUMPS" ]; then
  say "our own dump: 4 frames named, stored, cold and behind nginx"
  part_skipped "no ../shared/fixtures/built/minidump: dumps of Breakpad itself"
  exit 0
fi
"$SYMFS" add -r --cache "$TMP/store-dumps" "$DUMPS/symbols" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"
upstream_start dumps --root "$DUMPS/symbols"
symfs_mount stored --cache "$TMP/store-dumps" --offline
symfs_mount cold --source "breakpad@$URL_dumps"
n=0
for dump in "$DUMPS"/*.dmp; do
  walk "$dump" "$DUMPS/symbols" >"$TMP/want" || fail "$dump"
  walk "$dump" >"$TMP/none"
  for how in stored cold; do
    walk "$dump" "$TMP/$how/breakpad" >"$TMP/got" || fail "$dump, $how"
    same_file "$TMP/want" "$TMP/got"
    n=$((n + 1))
  done
  case $dump in
  */minidump2.dmp)
    cmp -s "$TMP/want" "$TMP/none" && fail "symbols make no difference"
    walk "$dump" "$TMP/cold/breakpad" | cmp -s - "$DUMPS/minidump2.stackwalk.out" ||
      fail "not what Breakpad expects: $(walk "$dump" "$TMP/cold/breakpad" |
      diff - "$DUMPS/minidump2.stackwalk.out" | head -n 20)"
    say "minidump2.dmp: $(grep -c '^ *[0-9][0-9]*  .*!' "$TMP/got") frames named, as in Breakpad's expected output"
    ;;
  esac
done
say "$n walks of $(ls "$DUMPS"/*.dmp | wc -l) dumps equal those with a directory"
symfs_umount stored
symfs_umount cold
