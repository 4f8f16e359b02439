#!/bin/sh
# /metadata, debuginfod's search for programs and debug files by name, as debuginfod-find(1) of elfutils 0.193
# describes it (Debian 12 has no such server to compare with): scanned trees, and members of archives in them.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc objcopy strip readelf tar python3

make_program "$TMP/made" one
make_program "$TMP/made" two
ONE=$(build_id "$TMP/made/bin/one") TWO=$(build_id "$TMP/made/bin/two")
mkdir -p "$TMP/tree/pool" "$TMP/root/usr/bin" "$TMP/root/usr/lib/debug" "$TMP/tree/usr/bin"
cp "$TMP/made/bin/one" "$TMP/root/usr/bin"
cp "$TMP/made/debug/one.debug" "$TMP/root/usr/lib/debug"
tar -C "$TMP/root" -czf "$TMP/tree/pool/one.tar.gz" ./usr || fail tar
cp "$TMP/made/bin/two" "$TMP/tree/usr/bin/a \"two\""
cp "$TMP/made/full/two" "$TMP/tree/usr/both"
symfs_serve s --source "scan@$TMP/tree"

# has URL QUERY COMPLETE [TYPE,ID,FILE,ARCHIVE]...: the answer to a query.
has() {
  fetch_url -D "$TMP/head" -o "$TMP/json" "$1/metadata?$2" || fail "$2: $(cat "$TMP/head")"
  tr -d '\r' <"$TMP/head" | grep -qix 'content-type: application/json' || fail "$2: $(cat "$TMP/head")"
  python3 - "$TMP/json" "$@" <<'EOP' || fail "$2: $(cat "$TMP/json")"
import json, sys
got = json.load(open(sys.argv[1]))
want = [dict(zip(('type', 'buildid', 'file', 'archive'), w.split(','))) for w in sys.argv[5:]]
order = lambda entries: sorted(map(str, entries))
sys.exit(got['complete'] != (sys.argv[4] == 'true') or order(got.pop('results')) != order(want) or len(got) != 1)
EOP
}
is_complete() { fetch_url "$URL_s/metadata?key=file&value=/" | grep -q '"complete": true'; }
wait_for is_complete || fail "the tree is not walked"

bin="executable,$ONE,/usr/bin/one,one.tar.gz" debug="debuginfo,$ONE,/usr/lib/debug/one.debug,one.tar.gz"
two="executable,$TWO,/usr/bin/a \"two\""
has "$URL_s" 'key=file&value=/usr/bin/one' true "$bin"
has "$URL_s" 'key=file&value=usr/bin/one' true
has "$URL_s" 'key=file&value=/usr/bin/*' true
has "$URL_s" 'key=glob&value=/u?r/bin/*' true "$bin" "$two"
has "$URL_s" 'key=glob&value=%2Fusr%2Fbin%2F%5Bo%5Dne' true "$bin"
has "$URL_s" 'key=glob&value=/usr/*one*' true
has "$URL_s" 'key=glob&value=*' true
has "$URL_s" "key=buildid&value=$ONE" true "$bin" "$debug"
has "$URL_s" "key=buildid&value=$TWO" true "$two" "executable,$TWO,/usr/both" "debuginfo,$TWO,/usr/both"
has "$URL_s" 'key=buildid&value=aa' true
for query in '' key=glob value=x 'key=name&value=x' 'key=glob&value=%0a' "key=file&value=$(printf '%02000d' 0)"; do
  got=$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_s/metadata?$query")
  [ "$got" = 400 ] || fail "?$query: $got"
done

# A server may have more files, and a source in another layout too: then the answer is not complete.
symfs_serve far --source "scan@$TMP/tree" --source "debuginfod@$URL_s"
found() { fetch_url "$URL_far/metadata?key=file&value=/usr/bin/one" | grep -q "$ONE"; }
wait_for found || fail "the tree is not walked"
has "$URL_far" 'key=file&value=/usr/bin/one' false "$bin"
