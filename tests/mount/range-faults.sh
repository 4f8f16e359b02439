#!/bin/sh
# A file that is read in parts, from a source that answers badly at the first range or later. A read
# gets the right bytes as long as some way leads to them: other ranges, the whole file, another
# source. Otherwise it ends with an error, and all bytes before it are right. Two versions
# are never mixed. SYMFS_FAULT_TABLE=1 prints the requests of each row.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf curl cmp
need_mount

ONE=$TMP/one TWO=$TMP/two
mkdir -p "$ONE" "$TWO" "$TMP/make"
head -c 3000000 /dev/urandom >"$TMP/make/noise"
echo 'int main(void) { return 0; }' >"$TMP/make/x.c"
gcc -s -Wl,--build-id=0xca00000000000000000000000000000000000000 -o "$TMP/make/x" "$TMP/make/x.c" || fail gcc
objcopy --add-section .noise="$TMP/make/noise" "$TMP/make/x" "$TMP/make/all" || fail objcopy
n=0
# new_file: the next build, at both sources; sets id, name, file, size.
new_file() {
  n=$((n + 1))
  id=$(printf 'ca%034x%02x%02x' 0 $((n / 256)) $((n % 256)))
  name=$(gdb_path "$id")
  file=$TMP/good-$n
  { # the note, as the linker writes it
    printf '\004\0\0\0\024\0\0\0\003\0\0\0GNU\0\312\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
    printf "\\$(printf %03o $((n / 256)))\\$(printf %03o $((n % 256)))"
  } >"$TMP/make/note"
  objcopy --update-section .note.gnu.build-id="$TMP/make/note" "$TMP/make/all" "$file" || fail objcopy
  size=$(stat -c %s "$file")
  for root in "$ONE" "$TWO"; do
    mkdir -p "$root/$(dirname "$name")"
    cp "$file" "$root/$name"
  done
}

upstream_start one --root "$ONE"
upstream_start two --root "$TWO"
# A slow machine only takes more time: a read fails at the lookup deadline, and the mount e1 alone has a short one. A
# request that stalls ends soon in the mount s1 alone.
OPTIONS='--byte-ranges always --lookup-deadline 600s --stall-timeout 600s --breaker-seconds 1s'
symfs_mount m1 --source "gdb@$URL_one" $OPTIONS
symfs_mount s1 --source "gdb@$URL_one" $OPTIONS --stall-timeout 2s
symfs_mount e1 --source "gdb@$URL_one" $OPTIONS --lookup-deadline 3s
symfs_mount m2 --source "gdb@$URL_one" --source "gdb@$URL_two" $OPTIONS

# look OFF COUNT: a read of what is open as 5, into $TMP/got. Its status.
look() {
  "$top_builddir/tests/helpers/read-at" "$1" "$2" <&5 >"$TMP/got" 2>"$TMP/look.log"
}
is_right() {
  tail -c "+$(($1 + 1))" "$file" | head -c "$(stat -c %s "$TMP/got")" | cmp -s - "$TMP/got" ||
    fail "$row: wrong bytes at $1"
}
# places: reads here and there, each in one range or less. 1: one failed.
places() {
  for at in 1800000 700000 $((size - 5000)) 2500000; do
    look "$at" 5000 || return 1
    is_right "$at"
    [ "$(stat -c %s "$TMP/got")" = 5000 ] || fail "$row: less than was asked for at $at"
  done
}
# whole: all of it, through the mount, is the file, and is stored so.
whole() {
  cmp "$1/gdb/$name" "$file" || fail "$row: the whole"
  "$SYMFS" get --no-default-sources --cache "$2" --source "gdb@$URL_two" "gdb/$name" >"$TMP/where" \
    2>>"$TMP/get.log" ||
    fail "$row: symfs get: $(cat "$TMP/get.log")"
  same_file "$(cat "$TMP/where")" "$file"
}

# After a row that was its source's fault that is left alone for a second.
opens() { head -c 1 "$TMP/$1/gdb/$name"; }

# fault_row NAME first|after MOUNT WANT KIND [ARG [TIMES [ONLY]]]
fault_row() {
  row="$1 ($2, $3)" when=$2 mount=$3 want=$4
  shift 4
  new_file
  [ "$when" = first ] && upstream_fault "$URL_one" "/$name" "$@"
  [ "$when" = after ] && { wait_for opens "$mount" || fail "$row: it cannot be opened"; }
  exec 5<"$TMP/$mount/gdb/$name" || fail "$row: it cannot be opened"
  if [ "$when" = after ]; then
    wait_for look 0 4096 && is_right 0 || fail "$row: the first bytes: $(cat "$TMP/look.log")"
    upstream_fault "$URL_one" "/$name" "$@"
  fi
  if places; then got=ok; else got=error; fi
  [ "$got" = "$want" ] || fail "$row: $got, wanted $want: $(cat "$TMP/look.log")"
  exec 5<&-
  [ "$(upstream_count "$URL_one" ranges "/$name")" -gt 0 ] || fail "$row: no range was asked for"
  upstream_clear "$URL_one"
  [ -n "${SYMFS_FAULT_TABLE:-}" ] &&
    say "$row: $got," \
      "$(upstream_count "$URL_one" requests "/$name") requests of one," \
      "$(upstream_count "$URL_two" requests "/$name") of two"
  [ "$want" = error ] || whole "$TMP/$mount" "$TMP/store-$mount"
}

# A server that ignores ranges is not asked for one again soon: so each of these has a mount of its own.
own_row() {
  symfs_mount own --source "gdb@$URL_one" $OPTIONS
  fault_row "$@"
  symfs_umount own
}
own_row 'ranges are ignored' first own ok no-range '' 0
own_row 'another range comes' first own ok bad-range '' 0 ranges
own_row 'less than announced' first own ok wrong-length 100 0 ranges
fault_row '416' first m1 ok status 416 0 ranges
for when in first after; do
  fault_row 'ranges are cut' $when m1 ok cut 1000 0 ranges
  fault_row 'ranges are cut within their third block' $when m1 ok cut 150000 0 ranges
  fault_row 'ranges break' $when m1 ok reset 3000 0 ranges
  fault_row 'a range breaks once' $when m1 ok reset 3000 1 ranges
done
fault_row 'ranges are ignored' after m1 ok no-range '' 0
fault_row 'another range comes' after m1 ok bad-range '' 0 ranges
fault_row 'no HTTP, once' after m1 ok garbage '' 1 ranges
fault_row 'a range is too slow' after s1 ok trickle 10 1 ranges
fault_row '416' after m1 ok status 416 0 ranges
fault_row '403 for ranges' after m1 ok status 403 0 ranges
fault_row '503 for ranges' after m1 ok status 503 0 ranges
fault_row 'a page instead' after m1 ok html '' 0 ranges
fault_row 'more than announced' after m1 ok wrong-length -100 0 ranges
fault_row 'less than announced' after m1 ok wrong-length 100 0 ranges
fault_row 'no answer to ranges' after s1 ok silent '' 0 ranges
fault_row 'the source is down' after m2 ok status 503
fault_row 'the source forgot it' after m2 ok status 404
fault_row 'the source has a page only' after m2 ok html
fault_row 'all that comes is cut' after m2 ok cut 1000
fault_row 'no server has the rest' after e1 error status 503
fault_row 'it is gone from the server' after e1 error status 404

# ---- another version ------------------------------------------------------------------------
# changed MOUNT WANT NEW-FILE: one has other bytes, or another date, from now on.
changed() {
  row="$1: another version, $3" mount=$1 want=$2
  new_file
  wait_for opens "$mount" || fail "$row: it cannot be opened"
  exec 5<"$TMP/$mount/gdb/$name"
  wait_for look 1800000 5000 && is_right 1800000 || fail "$row: the first bytes"
  cp "$file" "$TMP/new"
  [ "$3" = bytes ] && for at in 1000 700100 2500200; do
    printf changed | dd of="$TMP/new" bs=1 seek="$at" conv=notrunc 2>/dev/null
  done
  touch -d '2001-01-01' "$TMP/new"
  mv "$TMP/new" "$ONE/$name"
  if places; then got=ok; else got=error; fi
  [ "$got" = "$want" ] || fail "$row: $got, wanted $want: $(cat "$TMP/look.log")"
  look 1800000 5000 && is_right 1800000 || fail "$row: what was here is lost"
  exec 5<&-
}
changed m1 ok date
whole "$MNT_m1" "$TMP/store-m1"
changed m2 ok bytes
whole "$MNT_m2" "$TMP/store-m2"
changed e1 error bytes
# A reader that opens it anew gets the new one, all of it.
anew() { cmp -s "$MNT_e1/gdb/$name" "$ONE/$name"; }
wait_for anew || fail "the new version is not read"

# ---- wrong, which only the end tells -----------------------------------------------------------
row='a wrong file'
new_file
shoff=$(readelf -h "$file" | sed -n 's/.*Start of section headers: *\([0-9]*\).*/\1/p')
head -c "$((size - shoff))" /dev/urandom | dd of="$ONE/$name" bs=65536 seek="$shoff" oflag=seek_bytes conv=notrunc \
  2>/dev/null
cat "$MNT_m1/gdb/$name" >"$TMP/all" 2>/dev/null # by luck to its end, or with an error
stored() { "$SYMFS" get --offline --no-default-sources --cache "$TMP/store-m1" "gdb/$name" >/dev/null 2>&1; }
stored && fail "$row is in the store"
right() { cmp -s "$MNT_m2/gdb/$name" "$file"; }
wait_for right || fail "$row: the other source has the right one"
symfs_umount m1
symfs_umount s1
symfs_umount e1
symfs_umount m2
exit 0
