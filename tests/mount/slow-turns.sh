#!/bin/sh
# A server so slow that a block takes longer than a request's turn, and more readers than
# connections. Each reader makes progress in turn, and received bytes of a block are not requested
# again.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount

make_two_large
upstream_start up --root "$TMP/up"
printf '[source "up"]\nurl = %s\nlayout = gdb\nconnections = 1\n' "$URL_up" >"$TMP/conf"
symfs_mount m --config "$TMP/conf"

exec 5<"$MNT_m/gdb/$name1" || fail "the first cannot be opened"
exec 6<"$MNT_m/gdb/$name2" || fail "the second cannot be opened"
upstream_fault "$URL_up" '/*' trickle 40000 0 ranges
upstream_reset "$URL_up"
read_some() { exec timeout -s KILL 600 "$top_builddir/tests/helpers/read-at" 1000000 70000; }
(read_some <&5 >"$TMP/got1" 2>"$TMP/look1.log") &
one=$!
(read_some <&6 >"$TMP/got2" 2>"$TMP/look2.log") &
two=$!
wait $one || fail "the first: $? after $(upstream_count "$URL_up" bytes) bytes"
wait $two || fail "the second: $? after $(upstream_count "$URL_up" bytes) bytes"
for n in 1 2; do
  tail -c +1000001 "$TMP/large$n" | head -c 70000 | cmp - "$TMP/got$n" || fail "wrong bytes of $n"
done
bytes=$(upstream_count "$URL_up" bytes) requests=$(upstream_count "$URL_up" requests)
say "$bytes bytes in $requests requests"
[ "$bytes" -le 600000 ] || fail "$bytes bytes for twice 70,000"
exec 5<&- 6<&-
symfs_umount m
exit 0
