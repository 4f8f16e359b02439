#!/bin/sh
# Compares symfs with httpdirfs and its cache: the same reads of the same file on the same nginx (50
# MB/s for a connection). It prints bytes on the wire, as nginx's log has them, requests, and time.
# Each kind of read has a fresh mount and an empty store. BENCH_MIB is the size of the file (128),
# BENCH_ROUNDS the number of rounds (3).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need httpdirfs nginx curl
mib=${BENCH_MIB:-128} rounds=${BENCH_ROUNDS:-3}
big_file "$mib"
nginx_start far "$TMP/plain/gdb" 'autoindex on; limit_rate 50m;'
log=$TMP/nginx-far/access.log file=${BIG#gdb/} whole=$TMP/plain/$BIG

# httpdirfs overlooks Accept-Ranges in nginx's answer to HEAD, so --no-range-check turns the check off.
httpdirfs_mount() { # NAME
  mkdir -p "$TMP/$1" "$TMP/cache-$1"
  httpdirfs -f --no-range-check --cache --cache-location "$TMP/cache-$1" "$URL_far/.build-id/" "$TMP/$1" \
    >"$TMP/$1.log" 2>&1 &
  hm_pid=$!
  PIDS="$PIDS $hm_pid" MOUNTS="$MOUNTS $TMP/$1"
  wait_for is_mounted "$TMP/$1" || fail "httpdirfs did not mount"
}

# sent: bytes and requests since the log was emptied. nginx writes a line when a request is over.
sent() {
  settled=-1
  while [ "$settled" != "$(wc -c <"$log")" ]; do
    settled=$(wc -c <"$log")
    command sleep 0.3
  done
  awk -F '"' '{ split($3, n, " "); bytes += n[2]; if ($2 !~ /\/ HTTP/) requests++ }
    END { print bytes + 0, requests + 0 }' "$log"
}

# The bytes must be those of the file.
piece() { # PATH OFFSET COUNT: of 4 KiB each
  dd if="$1" bs=4096 skip="$2" count="$3" 2>/dev/null >"$TMP/a" &&
    dd if="$whole" bs=4096 skip="$2" count="$3" 2>/dev/null >"$TMP/b" &&
    cmp -s "$TMP/a" "$TMP/b" || fail "$1: wrong bytes at page $2"
}
read_head() { piece "$1" 0 16; }
# Twenty pages, the same each time, through one handle: httpdirfs may end when a file is opened again
# while it still fetches for the last one that closed it.
read_random() {
  pages=
  for rr in 3 29 7 23 11 19 13 17 2 31 5 27 1 30 9 21 14 4 26 10; do pages="$pages $((rr * mib * 8))"; done
  # shellcheck disable=SC2086
  "$READS" pages "$1" $pages || fail "$1: wrong bytes"
}
read_all() { "$READS" check "$1" || fail "$1: wrong bytes"; }


for what in head random all; do
  for who in symfs httpdirfs; do eval "t_$who='' b_$who='' n_$who=''"; done
  for round in $(seq "$rounds"); do
    for who in symfs httpdirfs; do
      name=$who$what$round
      if [ $who = symfs ]; then
        symfs_mount "$name" --cache "$TMP/cache-$name" --source "gdb@$URL_far"
      else
        httpdirfs_mount "$name"
      fi
      : >"$log"
      began=$(now_ms)
      # What nginx lists has no names that begin with a dot, so httpdirfs mounts what is below it.
      [ $who = symfs ] && at=$file || at=${file#.build-id/}
      read_$what "$TMP/$name/$at"
      took=$(($(now_ms) - began))
      umount "$TMP/$name"
      set -- $(sent)
      eval "t_$who=\"\$t_$who $took\" b_$who=$1 n_$who=$2"
      rm -rf "$TMP/cache-$name"
    done
  done
  for who in symfs httpdirfs; do
    eval "times=\$t_$who b=\$b_$who n=\$n_$who"
    # shellcheck disable=SC2154,SC2086
    say "$what, $who: $(median $times) ms, $b bytes in $n requests"
  done
  # shellcheck disable=SC2154,SC2086
  at_most "$what, time of symfs by httpdirfs" "$(divided "$(median $t_symfs)" "$(median $t_httpdirfs)")" ""
  # shellcheck disable=SC2154
  at_most "$what, bytes of symfs by httpdirfs" "$(divided "$b_symfs" "$b_httpdirfs")" ""
done
bounds_kept
