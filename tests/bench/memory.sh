#!/bin/sh
# Memory: the daemon while 16 readers stream 16 different files from an upstream. Its resident memory at
# its peak must not grow with the files. BENCH_STREAM_MIB is the size of one (1024), BENCH_READERS how
# many there are (16). The upstream's files are holes with a line here and there; the store writes them
# all, so there must be room for them.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need gcc readelf cmp dd nginx
mib=${BENCH_STREAM_MIB:-1024} readers=${BENCH_READERS:-16}
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
  paths="$paths $path" i=$((i + 1))
done

nginx_start up "$TMP/root"
# Eight connections to one host are the default, and readers beyond would wait for the first to end.
cat >"$TMP/conf" <<END
[source "up"]
url = $URL_up
layout = gdb
connections = $readers
END
symfs_mount m --config "$TMP/conf"
rss() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$PID_m/status"; }
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
wait_for 600 is_stored || fail "not all is stored"

say "$readers readers, $mib MiB each: $((mib * readers * 1000 / (ms + 1))) MiB/s"
say "threads: $(awk '$1 == "Threads:" { print $2 }' "/proc/$PID_m/status")"
say "idle: $idle KiB"
at_most "peak" "$(rss VmHWM)" KiB $MOST_KIB
bounds_kept # and the end of a daemon on a disk this busy is not what is looked at
