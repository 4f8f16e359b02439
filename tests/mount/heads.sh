#!/bin/sh
# A reader that hops over the heads of all units, as eu-addr2line does, gets them in a few requests,
# without the units themselves. The servers are one that sends several ranges in one answer (ours,
# and nginx), one that does not, and one whose answers break off.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl awk gcc gdb gdb-add-index eu-addr2line nginx

# 40 units, each with a hundred kilobytes of types.
units=40
mkdir "$TMP/w" "$TMP/far"
awk 'BEGIN {
  for (j = 0; j < 700; j++)
    printf "struct type_%d { struct type_%d *next; int kind, flags; long long total; char name[%d]; void *data; " \
      "int counters[4]; unsigned short width, height; };\n", j, j, j % 40 + 8 }' >"$TMP/w/types.h"
for i in $(seq $units); do
  printf '#include "types.h"\nint function_%d(int n)\n{\n\treturn n + %d;\n}\n' "$i" "$i" >"$TMP/w/u$i.c"
done
echo 'int main(void) { return 0; }' >"$TMP/w/main.c"
(cd "$TMP/w" && printf '%s\n' ./*.c | xargs -P2 -n4 gcc -g -fno-eliminate-unused-debug-types -c &&
  gcc -o prog -Wl,--build-id=sha1 ./*.o && gdb-add-index prog) >"$TMP/w.log" 2>&1 || fail "the program"
(cd "$TMP/w" && gcc -o plain -Wl,--build-id=0x1234567890123456789012345678901234567890 ./*.o && cp plain names &&
  gdb-add-index -dwarf-5 names) \
  >"$TMP/w.log" 2>&1 || fail "the same without an index"
put_gdb "$TMP/far" "$TMP/w/prog" .debug
put_gdb "$TMP/far" "$TMP/w/plain"
put_gdb "$TMP/far" "$TMP/w/names" .debug
FILE=$(gdb_path "$(build_id "$TMP/w/prog")" .debug)
size=$(stat -c %s "$TMP/w/prog")
[ "$size" -gt 2500000 ] || fail "the program has only $size bytes"
address=$(nm "$TMP/w/prog" | awk '$3 == "function_20" { print "0x" $1 }')
want=$(eu-addr2line -e "$TMP/w/prog" "$address")
expect "beside it" "$want" 'u20\.c:3'

PLAIN=$(gdb_path "$(build_id "$TMP/w/plain")")

# asked NAME URL: the answer through a new mount.
asked() {
  symfs_mount "$1" --byte-ranges always --source "gdb@$2"
  eval "as_mount=\$MNT_$1"
  as_said=$(timeout 300 eu-addr2line -e "$as_mount/$FILE" "$address" 2>&1)
  [ "$as_said" = "$want" ] || fail "$1: $as_said"
  same_file "$TMP/w/prog" "$as_mount/$FILE"
  symfs_umount "$1"
}
# cost NAME URL PERCENT REQUESTS: what the answer alone costs. The daemon counts the bytes: what the server has sent
# may lie in the buffers of a socket that the daemon has closed.
cost() {
  symfs_mount "$1" --byte-ranges always --source "gdb@$2" --cache "$TMP/store-$1-alone"
  eval "as_mount=\$MNT_$1"
  [ "$(timeout 300 eu-addr2line -e "$as_mount/$FILE" "$address" 2>&1)" = "$want" ] || fail "$1"
  co_bytes=$(stat_of "$as_mount" bytes) co_requests=$(stat_of "$as_mount" requests)
  say "$1: $co_bytes of $size bytes, $co_requests requests"
  [ "$co_bytes" -le $((size * $3 / 100)) ] || fail "$co_bytes of $size bytes"
  [ "$co_requests" -le "$4" ] || fail "$co_requests requests"
  symfs_umount "$1"
}

upstream_start several --root "$TMP/far" --delay 30 # a reader that hops is not faster than the answers
cost several "$URL_several" 50 28
asked several "$URL_several"
# It answers a request for several ranges with the whole file. What comes before that is refused counts, too: a slow
# server has sent little by then, also to a busy machine.
upstream_start single --root "$TMP/far" --one-range --rate 1000000
cost single "$URL_single" 60 60
asked single "$URL_single"

# By .debug_names, and in a program with no index by .debug_aranges.
indexed=$FILE
FILE=$(gdb_path "$(build_id "$TMP/w/names")" .debug)
cost names "$URL_several" 50 28
FILE=$PLAIN
cost plain "$URL_several" 50 28
FILE=$indexed

# The same over HTTP, and through a symfs whose source is another symfs.
at_section() { readelf -SW "$1" | awk '{ sub(/^ *\[ *[0-9]*\] */, "") } $1 == ".debug_info" { print $4 }'; }
heads_of() { readelf --debug-dump=info --dwarf-depth=1 "$1" 2>/dev/null |
  sed -n 's/.*Compilation Unit @ offset \(0x\)\{0,1\}\([0-9a-f]*\):.*/\2/p'; }
info=$(at_section "$TMP/w/prog")
symfs_serve hop --byte-ranges always --source "gdb@$URL_several"
for head in $(heads_of "$TMP/w/prog"); do
  at=$(((0x$info + 0x$head) / 4096 * 4096))
  fetch_url -r $at-$((at + 4095)) -o "$TMP/page" "$URL_hop/buildid/$(build_id "$TMP/w/prog")/debuginfo" ||
    fail "the page at $at"
  tail -c +$((at + 1)) "$TMP/w/prog" | head -c 4096 | cmp -s - "$TMP/page" || fail "the bytes at $at"
done
asked through "$URL_hop"
symfs_unserve hop

nginx_start http "$TMP/far"
asked nginx "$URL_http"
grep -q ' 206 ' "$TMP/nginx-http/access.log" || fail "nginx was asked for no range"

# Another version that differs only in the page of a head, and where nothing was read: a reader that has the old
# one open reads its bytes, or an error.
upstream_start changes --root "$TMP/far"
symfs_mount changes --byte-ranges always --source "gdb@$URL_changes"
exec 5<"$MNT_changes/$FILE"
[ "$(timeout 300 eu-addr2line -e "$MNT_changes/$FILE" "$address" 2>&1)" = "$want" ] || fail "before it changed"
head=$(heads_of "$TMP/w/prog" | sed -n 30p)
[ -n "$info" ] && [ -n "$head" ] || fail "no heads"
at=$((0x$info + 0x$head))
cp "$TMP/w/prog" "$TMP/w/other"
printf '\377' | dd of="$TMP/w/other" bs=1 seek=$((at + 11)) conv=notrunc 2>/dev/null
printf 'other' | dd of="$TMP/w/other" bs=1 seek=$((at + 40000)) conv=notrunc 2>/dev/null
mv "$TMP/w/other" "$TMP/far/$FILE"
cat <&5 >"$TMP/read" 2>/dev/null
exec 5<&-
head -c "$(stat -c %s "$TMP/read")" "$TMP/w/prog" | cmp -s - "$TMP/read" || fail "bytes of two versions were mixed"
symfs_umount changes
cp "$TMP/w/prog" "$TMP/far/$FILE"

# Each answer of some kilobytes breaks off, for a while.
upstream_start broken --root "$TMP/far"
upstream_fault "$URL_broken" "*$FILE" cut 270000 12
asked broken "$URL_broken"
