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
# ends NAME: a read of the last bytes; sets bytes and requests.
ends() {
  tail -c 5000 "$1/$name" >"$TMP/got" || fail "$1: a read"
  tail -c 5000 "$file" | cmp -s - "$TMP/got" || fail "$1: wrong bytes"
  bytes=$(upstream_count "$2" bytes "/$name") requests=$(upstream_count "$2" requests "/$name")
  say "$1: $bytes of $size bytes in $requests requests"
}
mkdir "$TMP/far"
upstream_start distant --root "$TMP/far" --delay 150
upstream_start slow --root "$TMP/far" --link 4000000

new_file 3
symfs_mount m --source "gdb@$URL_distant"
ends "$MNT_m/gdb" "$URL_distant"
[ "$requests $bytes" = "1 $size" ] || fail "a small file of a distant server did not come whole"

# A look, and no more: neither the whole, nor a connection that is kept.
new_file 30
[ -f "$MNT_m/gdb/$name" ] || fail "stat"
idle() { [ "$(upstream_count "$URL_distant" inflight "/$name")" = 0 ]; }
wait_for idle || fail "the transfer of what was looked at is held"
[ "$(upstream_count "$URL_distant" bytes "/$name")" -lt 20000000 ] || fail "a look cost all bytes"
same_file "$MNT_m/gdb/$name" "$file"
symfs_umount m

new_file 12
symfs_mount s --source "gdb@$URL_slow"
ends "$MNT_s/gdb" "$URL_slow"
{ [ "$requests" -gt 1 ] && [ "$bytes" -lt $((size / 2)) ]; } || fail "a large file of a slow server came whole"
symfs_umount s

new_file 3
upstream_reset "$URL_distant"
symfs_mount a --byte-ranges always --source "gdb@$URL_distant"
ends "$MNT_a/gdb" "$URL_distant"
[ "$bytes" -lt $((size / 2)) ] || fail "byte-ranges = always, and it came whole"
symfs_umount a
upstream_reset "$URL_slow"
symfs_mount v --byte-ranges never --source "gdb@$URL_slow"
ends "$MNT_v/gdb" "$URL_slow"
[ "$requests $bytes" = "1 $size" ] || fail "byte-ranges = never, and it came in parts"
[ "$(upstream_count "$URL_slow" ranges "/$name")" = 0 ] || fail "byte-ranges = never, and a range was asked for"
symfs_umount v
