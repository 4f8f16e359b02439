#!/bin/sh
# What is here already: symfs against a bare FUSE server of one file (tests/bench/bare.c) in the same
# mode, and against the file system that both lie on, with the same file, round by round in turns.
# BENCH_MIB is the size of the file (512), BENCH_ROUNDS the number of rounds (21; of those that begin
# without pages, a third).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc readelf findmnt
BARE=$top_builddir/tests/bench/bare READS=$top_builddir/tests/bench/reads
[ -x "$BARE" ] && [ -x "$READS" ] || fail "$BARE and $READS are not built: make bench"
mib=${BENCH_MIB:-512} rounds=${BENCH_ROUNDS:-21}

# One file with a build id, in the store, and by another name (one inode) beside it.
echo 'int f(int n) { return n + 1; }' >"$TMP/f.c"
gcc -g -shared -fPIC -Wl,--build-id=sha1 -o "$TMP/big.debug" "$TMP/f.c" || fail gcc
"$READS" make "$TMP/big.debug" "$mib" || fail "make"
id=$(build_id "$TMP/big.debug")
rest=${id#??}
fan=gdb/.build-id/${id%"$rest"}
"$SYMFS" add --cache "$TMP/store-warm" "$TMP/big.debug" >"$TMP/add.log" 2>&1 || fail "add"
blob=$(find "$TMP/store-warm" -type f -size +$((mib - 1))M | head -n 1)
[ -n "$blob" ] || fail "no blob"
mkdir -p "$TMP/plain/$fan" "$TMP/bare" "$TMP/noopen"
rm "$TMP/big.debug"
ln "$blob" "$TMP/plain/$fan/$rest.debug" || fail "ln"

symfs_mount warm --cache "$TMP/store-warm" --offline
bare_start() { # NAME [noopen]
  "$BARE" "$blob" "$TMP/$1" "$fan/$rest.debug" ${2:-} >"$TMP/$1.log" 2>&1 &
  PIDS="$PIDS $!" MOUNTS="$MOUNTS $TMP/$1"
  wait_for 10 test -f "$TMP/$1/$fan/$rest.debug" || fail "$1 does not answer"
}
bare_start bare
bare_start noopen noopen
local=$(findmnt -n -o FSTYPE -T "$TMP/plain")
ours=symfs=$MNT_warm/$fan/$rest.debug plain=$local=$TMP/plain/$fan/$rest.debug
theirs=bare=$TMP/bare/$fan/$rest.debug noopen=noopen=$TMP/noopen/$fan/$rest.debug
"$READS" check "${ours#*=}" "${theirs#*=}" "${noopen#*=}" "${plain#*=}" || fail "wrong bytes"

# measured MEASURE UNIT PLACE...: runs it and prints what the places had.
missed=0
measured() {
  m_name=$1 m_unit=$2
  shift 2
  "$READS" "$m_name" "$rounds" "$@" >"$TMP/reads.out" || fail "$m_name: wrong bytes, no number"
  awk -v name="$m_name" -v unit="$m_unit" '$1 == "value" { print name ", " $2 ": " $3 " " unit }' "$TMP/reads.out"
}
# ratio A B [BOUND]: of what was measured last.
ratio() {
  awk -v name="$m_name" -v a="$1" -v b="$2" -v bound="${3:-0}" '
    $1 == "ratio" && $2 == a && $3 == b {
      printf "%s, %s by %s: %s", name, a, b, $4
      if (bound) printf " (at least %s)", bound
      print ""
      exit bound && $4 < bound }' "$TMP/reads.out" || missed=$((missed + 1))
}

say "a file of $mib MiB; $rounds rounds; the local file system is $local"
measured seq MB/s "$plain" "$theirs" "$ours"
ratio symfs bare 0.95
ratio symfs "$local" 0.8
measured random pages/s "$plain" "$theirs" "$ours"
ratio symfs bare 0.95
ratio symfs "$local"
measured stat times/s "$plain" "$theirs" "$ours"
ratio symfs bare 0.95
ratio symfs "$local" 0.8
measured orc times/s "$plain" "$theirs" "$noopen" "$ours"
ratio symfs bare
ratio noopen bare
ratio symfs "$local"
# A build id that nobody has: the kernel asks again every two seconds.
measured absent times/s "$local=$TMP/plain/$fan" "symfs=$MNT_warm/$fan"
ratio symfs "$local" 0.5
rounds=$(((rounds + 2) / 3))
measured seq-first MB/s "$plain" "$theirs" "$ours"
ratio symfs bare
ratio symfs "$local"
measured random-first pages/s "$plain" "$theirs" "$ours"
ratio symfs bare
ratio symfs "$local"
if [ -w /proc/sys/vm/drop_caches ]; then
  measured seq-cold MB/s "$plain" "$theirs" "$ours"
  ratio symfs bare
  ratio symfs "$local" 0.7
  measured random-cold pages/s "$plain" "$theirs" "$ours"
  ratio symfs bare
  ratio symfs "$local" 0.6
else
  say "seq-cold, random-cold: not measured, only root may drop the kernel's pages"
fi
[ "$missed" = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds were missed"
