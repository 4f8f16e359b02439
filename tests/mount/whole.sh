#!/bin/sh
# A small file from a distant server comes whole in one request; a large file from a slow server near by comes in
# parts. byte-ranges says always or never instead. A look at a file that is not opened costs its first bytes only.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount

# new_file MIB: a program of that size; sets name, file, size.
n=0
new_file() {
  n=$((n + 1))
  echo "int main(void) { return $n; }" >"$TMP/x.c"
  head -c $(($1 << 20)) /dev/urandom >"$TMP/noise"
  gcc -Wl,--build-id=0x$(printf 'cb%038x' $n) -o "$TMP/x" "$TMP/x.c" || fail gcc
  file=$TMP/good-$n
  objcopy --add-section .noise="$TMP/noise" "$TMP/x" "$file" || fail objcopy
  name=$(gdb_path "$(build_id "$file")") size=$(stat -c %s "$file")
  mkdir -p "$TMP/far/$(dirname "$name")"
  cp "$file" "$TMP/far/$name"
}
# ends MOUNT UPSTREAM: a read of the last bytes; sets bytes and requests.
ends() {
  tail -c 5000 "$1/$name" >"$TMP/got" || fail "$1: a read"
  tail -c 5000 "$file" | cmp -s - "$TMP/got" || fail "$1: wrong bytes"
  bytes=$(upstream_count "$2" bytes "/$name") requests=$(upstream_count "$2" requests "/$name")
  what="$bytes of $size bytes in $requests requests"
}
# comes_whole MOUNT UPSTREAM MIB: a new file comes in one request. On a slow machine a file may be opened so long
# after its look-up that the first transfer has ended, and the host seems slow; another file then comes whole.
comes_whole() {
  new_file "$3"
  ends "$1" "$2"
  [ "$requests $bytes" = "1 $size" ]
}
mkdir "$TMP/far"
upstream_start distant --root "$TMP/far" --delay 500
upstream_start slow --root "$TMP/far" --link 4000000

WAIT='--lookup-deadline 600s --stall-timeout 600s'
# shellcheck disable=SC2086
symfs_mount m $WAIT --source "gdb@$URL_distant"
wait_for comes_whole "$MNT_m/gdb" "$URL_distant" 3 ||
  fail "a small file of a distant server did not come whole: $what"

# A look, and no more: neither the whole, nor a connection that is kept.
new_file 30
[ -f "$MNT_m/gdb/$name" ] || fail "stat"
idle() { [ "$(upstream_count "$URL_distant" inflight "/$name")" = 0 ]; }
wait_for idle || fail "the transfer of what was looked at is held"
[ "$(upstream_count "$URL_distant" bytes "/$name")" -lt 20000000 ] || fail "a look cost all bytes"
same_file "$MNT_m/gdb/$name" "$file"
symfs_umount m

# On a slow machine the answers come late, and the host seems distant; another file then comes in parts.
comes_in_parts() {
  new_file 12
  ends "$MNT_s/gdb" "$URL_slow"
  [ "$requests" -gt 1 ] && [ "$bytes" -lt $((size / 2)) ]
}
# shellcheck disable=SC2086
symfs_mount s $WAIT --source "gdb@$URL_slow"
wait_for comes_in_parts || fail "a large file of a slow server came whole: $what"
symfs_umount s

new_file 3
upstream_reset "$URL_distant"
# shellcheck disable=SC2086
symfs_mount a $WAIT --byte-ranges always --source "gdb@$URL_distant"
ends "$MNT_a/gdb" "$URL_distant"
[ "$bytes" -lt $((size / 2)) ] || fail "byte-ranges = always, and it came whole"
symfs_umount a
upstream_reset "$URL_slow"
# shellcheck disable=SC2086
symfs_mount v $WAIT --byte-ranges never --source "gdb@$URL_slow"
wait_for comes_whole "$MNT_v/gdb" "$URL_slow" 3 || fail "byte-ranges = never, and it came in parts: $what"
[ "$(upstream_count "$URL_slow" ranges)" = 0 ] || fail "byte-ranges = never, and a range was asked for"
symfs_umount v
