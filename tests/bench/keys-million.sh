#!/bin/sh
# Benchmarks a store of 1,000,000 keys: how long a mount, a whole listing and the look-up of a
# stored file take, and how much memory the daemon then has. One store has as many names as keys;
# the other has 1,000 names with 1,000 ids each. The same look-ups in a minimal FUSE server
# (tests/bench/bare.c) take turns with them.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
KEYS=$top_builddir/tests/bench/keys
BARE=$top_builddir/tests/bench/bare
COUNT=${BENCH_KEYS:-1000000}
[ -x "$KEYS" ] || fail "$KEYS is not built: make bench"

# tell NAME VALUE UNIT [BOUND]: a line; a bound that is missed is a failure.
missed=0
tell() {
  awk -v name="$1" -v value="$2" -v unit="$3" -v bound="${4:-0}" 'BEGIN {
    printf "%s: %s %s", name, value, unit
    if (bound) printf " (under %s: %.2f of it)", bound, value / bound
    print ""
    exit bound && value + 0 >= bound + 0 }' || missed=$((missed + 1))
}

# counted DIR WANTED: how long its listing takes, in milliseconds; the number of names must be right.
counted() {
  began=$(now_ms)
  have=$(ls -U "$1" | wc -l)
  took=$(($(now_ms) - began))
  [ "$have" = "$2" ] || fail "$1 has $have names, not $2"
}

mkdir "$TMP/bare"
printf 12345678 >"$TMP/eight"
"$BARE" "$TMP/eight" "$TMP/bare" symstore/name/id/name any >"$TMP/bare.log" 2>&1 &
PIDS="$PIDS $!" MOUNTS="$MOUNTS $TMP/bare"
wait_for test -f "$TMP/bare/symstore/name/id/name" || fail "bare does not answer"

memory() { sed -n "s/^$1:[[:space:]]*\([0-9]*\) kB/\1/p" "/proc/$pid/status"; }

for shape in names ids; do
  store=$TMP/store-$shape mnt=$TMP/mnt-$shape
  mkdir "$mnt"
  began=$(now_ms)
  "$KEYS" fill "$store" $shape "$COUNT" || fail "fill"
  tell "$shape: fill" $(($(now_ms) - began)) ms
  tell "$shape: index" $(($(stat -c %s "$store/index.sqlite") / 1024 / 1024)) MiB

  MOUNTS="$MOUNTS $mnt"
  began=$(now_ms)
  "$SYMFS" mount --cache "$store" --no-default-sources "$mnt" >"$TMP/mount.log" 2>&1 || fail "mount"
  tell "$shape: mount" $(($(now_ms) - began)) ms 1000
  pid=$(sed -n 's/^pid //p' "$mnt/.symfs/stats")
  PIDS="$PIDS $pid"

  # 000Admin and pingme.txt are there, too.
  names=$COUNT
  [ $shape = names ] || names=$(((COUNT + 999) / 1000))
  fixed=$(ls "$mnt/symstore2" | grep -cE "^(000Admin|pingme.txt)$")
  for time in first second third; do
    counted "$mnt/symstore" $((names + fixed))
    tell "$shape: $time ls -U symstore" $took ms 10000
  done
  counted "$mnt/symstore/module-000000.pdb" $([ $shape = names ] && echo 1 || echo $((COUNT < 1000 ? COUNT : 1000)))
  tell "$shape: ls -U of one name" $took ms
  counted "$mnt/unified" 256
  tell "$shape: ls -U unified" $took ms
  tell "$shape: VmRSS after listings" $(($(memory VmRSS) / 1024)) MB 100

  for round in 1 2 3; do
    sync
    echo 2 2>/dev/null >/proc/sys/vm/drop_caches || tell "$shape: the kernel's names" "are kept" ""
    "$KEYS" stat "$mnt" $shape "$COUNT" 5000 >"$TMP/stat.out" || fail "stat"
    read -r median p99 <"$TMP/stat.out"
    tell "$shape: hit look-up, median of 5000, round $round" "$median" us 100
    tell "$shape: hit look-up, 99th percentile" "$p99" us
    "$KEYS" stat "$TMP/bare" $shape "$COUNT" 5000 >"$TMP/stat.out" || fail "stat of bare"
    read -r bare p99 <"$TMP/stat.out"
    tell "$shape: the same in bare" "$bare" us
    tell "$shape: hit look-up by bare" "$(awk -v a="$median" -v b="$bare" 'BEGIN { printf "%.2f", a / b }')" ""
  done
  tell "$shape: VmRSS in the end" $(($(memory VmRSS) / 1024)) MB 100
  tell "$shape: VmHWM" $(($(memory VmHWM) / 1024)) MB 100
  "$SYMFS" umount "$mnt" || fail "umount"
  rm -rf "$store"
done
[ "$missed" = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds were missed"
