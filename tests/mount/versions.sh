#!/bin/sh
# A source breaks off in the middle of a file, and a second source has other bytes of the same build
# id. A reader that has bytes of the first gets one error, at once. A reader that opens the file
# then, or has read nothing yet, gets the second source's bytes, at once. Two versions are never
# mixed. The same holds for symfs serve.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy curl cmp
need_mount

ONE=$TMP/one TWO=$TMP/two
mkdir -p "$ONE" "$TWO"
echo 'int main(void) { return 0; }' >"$TMP/x.c"
n=0
# new_file: the next build id: at one and at two, with other bytes; sets id, name.
new_file() {
  n=$((n + 1))
  id=$(printf 'cb%038x' $n)
  name=$(gdb_path "$id" .debug)
  gcc -g -Wl,--build-id=0x"$id" -o "$TMP/x" "$TMP/x.c" || fail gcc
  for root in "$ONE" "$TWO"; do
    head -c 3000000 /dev/urandom >"$TMP/noise"
    mkdir -p "$root/$(dirname "$name")"
    objcopy --only-keep-debug --add-section .noise="$TMP/noise" "$TMP/x" "$root/$name" || fail objcopy
  done
}

# The deadlines are so long that a command that waits for one of them is killed before.
LIMITS='--lookup-deadline 1h --stall-timeout 1h --breaker-seconds 1s --byte-ranges always'
upstream_start ranges --root "$ONE" --rate 6000000
upstream_start plain --root "$ONE" --rate 6000000 --no-range
upstream_start two --root "$TWO"

# at_once WHAT COMMAND...: sets rc; it waits for no deadline.
at_once() {
  ao_what=$1
  shift
  timeout 300 "$@" 2>>"$TMP/err"
  rc=$?
  [ $rc != 124 ] || fail "$row: $ao_what waits for a deadline"
}
# is_whole WHAT FILE WANT: all of a version, and of which. `rest`: of the first, if its rest came in time.
is_whole() {
  case $3 in
  one) same_file "$2" "$ONE/$name" ;;
  two) same_file "$2" "$TWO/$name" ;;
  rest) cmp -s "$2" "$ONE/$name" || { same_file "$2" "$TWO/$name"; late=$((late + 1)); } ;;
  esac
}
# is_part WHAT FILE: what a reader got before its error is the beginning of one version.
is_part() {
  ip_n=$(stat -c %s "$2")
  cmp -s -n "$ip_n" "$2" "$ONE/$name" || cmp -s -n "$ip_n" "$2" "$TWO/$name" ||
    fail "$row: $1: two versions are mixed"
}

# twice WHAT WANT COMMAND...: the command, whose output is the file, may fail once; then it has all of WANT.
twice() {
  tw_what=$1 tw_want=$2
  shift 2
  at_once "$tw_what" "$@" >"$TMP/got"
  if [ $rc != 0 ]; then
    is_part "$tw_what" "$TMP/got"
    failed=$((failed + 1))
    at_once "$tw_what again" "$@" >"$TMP/got"
    [ $rc = 0 ] || fail "$row: $tw_what fails again: exit $rc"
  fi
  is_whole "$tw_what" "$TMP/got" "$tw_want"
}

# row NAME SOURCE KIND ARG MOUNT GET SERVE: whose bytes a reader in the mount gets, symfs get, and a client
row() {
  row=$1 want=$5 want_get=$6 want_serve=$7
  eval "first=\$URL_$2"
  new_file
  upstream_fault "$first" "/$name" "$3" "$4"
  # shellcheck disable=SC2086
  symfs_mount m $LIMITS --source "gdb@$first" --source "gdb@$URL_two"
  # shellcheck disable=SC2086
  symfs_serve s $LIMITS --source "gdb@$first" --source "gdb@$URL_two"
  twice "a reader" "$want" cat "$MNT_m/gdb/$name"
  # shellcheck disable=SC2086
  at_once "symfs get" "$SYMFS" get --no-default-sources --cache "$TMP/store-get" $LIMITS --source "gdb@$first" \
    --source "gdb@$URL_two" -o "$TMP/got" "gdb/$name" >/dev/null
  [ $rc = 0 ] || fail "$row: symfs get: $(cat "$TMP/err")"
  is_whole "symfs get" "$TMP/got" "$want_get"
  twice "a client of symfs serve" "$want_serve" curl -gsS --noproxy '*' "$URL_s/gdb/$name"
  symfs_umount m
  symfs_unserve s
  upstream_clear "$first"
  rm -rf "$TMP"/store-*
}
# A reader that a busy machine delays has no bytes of the first source.
failed=0 tries=0
until [ $failed -ge 3 ]; do
  tries=$((tries + 1))
  [ $tries -le 5 ] || fail "only $failed readers had bytes of the first: that is no test of them"
  row 'it breaks off at half, and sends no rest' plain reset 1500000 two two two
  row 'its Content-Length is 1,000 too large' plain wrong-length 1000 two two two
  row 'the same, of one that knows ranges' ranges wrong-length 1000 two two two
  # Without ranges it does not lie.
  row 'its Content-Range is 1,000 too large' ranges lying-range 1000 two one one
done
# The source has a second to send the rest, which is too short on a busy machine.
failed=1 late=0 tries=0
until [ $((failed + late)) = 0 ]; do
  tries=$((tries + 1))
  [ $tries -le 5 ] || fail "$row: $failed readers got an error, and $late the other version"
  failed=0 late=0
  row 'it breaks off at half, and sends the rest when asked' ranges reset 1500000 rest two rest
done

# ---- a client that has seen nothing yet ----------------------------------------------------------------
# One reader has bytes of the first, another waits for the whole of it in the same mount.
row='readers beside each other'
new_file
upstream_fault "$URL_plain" "/$name" reset 1500000
# shellcheck disable=SC2086
symfs_serve s $LIMITS --source "gdb@$URL_plain" --source "gdb@$URL_two"
for i in 1 2 3 4; do
  (timeout -s KILL 600 curl -gsS --noproxy '*' "$URL_s/gdb/$name" >"$TMP/beside-$i" 2>/dev/null
  echo $? >"$TMP/beside-$i.rc") &
  PIDS="$PIDS $!"
done
at_once "HEAD" curl -gsSI --noproxy '*' -o /dev/null "$URL_s/gdb/$name"
for i in 1 2 3 4; do
  wait_for test -s "$TMP/beside-$i.rc"
  read -r rc <"$TMP/beside-$i.rc"
  is_part "$i" "$TMP/beside-$i"
  [ "$rc" != 0 ] || is_whole "$i" "$TMP/beside-$i" two
done
twice "a client that comes then" two curl -gsS --noproxy '*' "$URL_s/gdb/$name"
symfs_unserve s
# A program with the file open that has read nothing of it continues with the other version, which is as long.
row='open, and nothing was read'
new_file
upstream_fault "$URL_ranges" "/$name" slow 1 1 # the first range, and no more
upstream_fault "$URL_ranges" "/$name" status 500
# shellcheck disable=SC2086
symfs_mount o $LIMITS --source "gdb@$URL_ranges" --source "gdb@$URL_two"
exec 5<"$MNT_o/gdb/$name" || fail "$row: it cannot be opened"
for at in 2500000 0; do
  at_once "a read at $at" "$top_builddir/tests/helpers/read-at" $at 5000 <&5 >"$TMP/got"
  [ $rc = 0 ] || fail "$row: at $at: $(tail -n 1 "$TMP/err")"
  tail -c "+$((at + 1))" "$TWO/$name" | head -c 5000 | cmp -s - "$TMP/got" || fail "$row: wrong bytes at $at"
done
exec 5<&-
symfs_umount o
say "$n files in two versions"
