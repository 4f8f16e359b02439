#!/bin/sh
# Measures the peak resident memory of the daemon, which must not grow with the files. First 16
# readers read single places of 16 different programs, of which the daemon fetches only these parts.
# Then 16 readers stream 16 different files from front to back. BENCH_STREAM_MIB is the size of a
# file (1024), BENCH_READERS the number of readers (16), BENCH_PLACES the number of places that each
# of the first readers reads (100). The upstream's files are sparse, with single lines of text. The
# store writes all that is streamed, so there must be room on the disk.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need gcc readelf cmp dd nginx
mib=${BENCH_STREAM_MIB:-1024} readers=${BENCH_READERS:-16} places=${BENCH_PLACES:-100}
MOST_KIB=65536

# The store writes every byte of them, and its index some.
free_mib=$(df -Pm "$TMP" | awk 'NR == 2 { print $4 }')
[ "$free_mib" -gt $((mib * readers * 5 / 4 + 1024)) ] ||
  skip "$TMP has $free_mib MiB free, $readers files of $mib MiB need more"

# Each has its own build id, and every 32 MiB a line of its own: a hole that is read as zeros shows.
i=0 paths=''
while [ $i -lt "$readers" ]; do
  echo "int f$i(int n) { return n + $i; }" >"$TMP/f.c"
  gcc -g -shared -fPIC -Wl,--build-id=sha1 -o "$TMP/one" "$TMP/f.c" || fail gcc
  path=$(gdb_path "$(build_id "$TMP/one")" .debug)
  mkdir -p "$TMP/root/${path%/*}"
  truncate -s "${mib}M" "$TMP/one" || fail truncate
  at=1
  while [ $at -lt "$mib" ]; do
    echo "file $i at $at" | dd of="$TMP/one" bs=1M seek=$at conv=notrunc status=none || fail dd
    at=$((at + 32))
  done
  mv "$TMP/one" "$TMP/root/$path"
  ln "$TMP/root/$path" "$TMP/root/${path%.debug}" # it is its own program
  paths="$paths $path" i=$((i + 1))
done

nginx_start up "$TMP/root"
rss() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$PID_m/status"; }

# ---- here and there --------------------------------------------------------------------------
# hops PATH SEED: two pages at each place, every second time around one of the lines.
hops() {
  awk -v seed="$2" -v n="$places" -v mib="$mib" 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) {
      at = int(rand() * (mib - 1)) * 1048576
      if (i % 2) at = (1 + 32 * int(rand() * (mib - 1) / 32)) * 1048576
      printf "%d\n", at
    }
  }' | while read -r off; do
    cmp -n 8192 -i "$off" "$MNT_m/gdb/$1" "$TMP/root/$1" || return 1
  done
}
symfs_mount m --source "gdb@$URL_up"
begin=$(now_ms) pids='' i=0
for path in $paths; do
  i=$((i + 1))
  exec 5<"$MNT_m/gdb/${path%.debug}" # it stays open, as with a process that maps it
  hops "${path%.debug}" $i <&5 >"$TMP/cmp.${path##*/}" 2>&1 &
  pids="$pids $!"
  exec 5<&-
done
for pid in $pids; do
  wait "$pid" || fail "wrong bytes, no number: $(cat "$TMP"/cmp.*)"
done
say "$readers readers, $places places in each of $mib MiB: $(($(now_ms) - begin)) ms"
at_most "peak, here and there" "$(rss VmHWM)" KiB $MOST_KIB
at_most "bytes fetched" "$(($(stat_of "$MNT_m" bytes) >> 20))" MiB $((mib * readers / 4))
symfs_umount m
rm -rf "$TMP/store-m"

# ---- from front to back ------------------------------------------------------------------------
symfs_mount m --source "gdb@$URL_up"
idle=$(rss VmRSS)

begin=$(now_ms) pids=''
for path in $paths; do
  cmp "$MNT_m/gdb/$path" "$TMP/root/$path" >"$TMP/cmp.${path##*/}" 2>&1 &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid" || fail "wrong bytes, no number: $(cat "$TMP"/cmp.*)"
done
ms=$(($(now_ms) - begin))

# Readers have all bytes before they are synced, digested and published; that counts, too.
is_stored() { "$SYMFS" cache stats --cache "$TMP/store-m" | grep -q '^drafts 0$'; }
wait_for is_stored || fail "not all is stored"

say "$readers readers, $mib MiB each: $((mib * readers * 1000 / (ms + 1))) MiB/s"
say "threads: $(awk '$1 == "Threads:" { print $2 }' "/proc/$PID_m/status")"
say "idle: $idle KiB"
at_most "peak" "$(rss VmHWM)" KiB $MOST_KIB
bounds_kept # and the end of a daemon on a disk this busy is not what is looked at
