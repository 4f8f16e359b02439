#!/bin/sh
# kill -9 of the daemon at random moments of a download: later reads are right, and `cache verify`
# finds no damage. Control: it does find real damage.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl gcc objcopy readelf cmp sqlite3

ROUNDS=${ROUNDS:-20}
make_program "$TMP/p" foo
# A debug file of some size: 24 MB of what nothing can compress away.
head -c 24000000 /dev/urandom >"$TMP/ballast"
objcopy --add-section .ballast="$TMP/ballast" "$TMP/p/debug/foo.debug" "$TMP/big.debug"
put_gdb "$TMP/www" "$TMP/big.debug" .debug
put_gdb "$TMP/www" "$TMP/p/debug/libfoo.so.debug" .debug
path=gdb/$(gdb_path "$(build_id "$TMP/big.debug")" .debug)
other=gdb/$(gdb_path "$(build_id "$TMP/p/debug/libfoo.so.debug")" .debug)
size=$(stat -c %s "$TMP/big.debug")
upstream_start up --root "$TMP/www" --rate 40000000
store=$TMP/store

mounted() { symfs_mount m --cache "$store" --source "gdb@$URL_up" --lookup-deadline 600s; }
received_more() { [ "$(upstream_count "$URL_up" bytes)" -ge "$1" ]; }

round=0 early=0
while [ $round -lt "$ROUNDS" ]; do
  round=$((round + 1))
  mounted
  "$SYMFS" cache rm --cache "$store" "$path" >/dev/null 2>&1
  upstream_reset "$URL_up"
  # Somewhere in the download, or in the sealing right behind it.
  at=$(($(od -An -N4 -tu4 /dev/urandom) % (size + size / 10)))
  [ $at -gt $size ] && at=$size
  # On a machine that is busy enough each kill comes too late, but not where the server falls silent.
  [ $round = 1 ] && at=1000000 && upstream_fault "$URL_up" "/${path#gdb/}" silent-after $at
  cat "$MNT_m/$path" >/dev/null 2>&1 &
  reader=$!
  wait_for received_more "$at" || fail "round $round: the download does not get to $at"
  kill -KILL "$PID_m"
  wait_gone "$PID_m"
  wait $reader 2>/dev/null && read_all=yes || read_all=no
  [ $read_all = no ] && early=$((early + 1))
  umount -l "$MNT_m"
  upstream_clear "$URL_up"

  "$SYMFS" cache verify --cache "$store" >"$TMP/verify.out" 2>&1 ||
    fail "round $round, killed at $at: $(cat "$TMP/verify.out")"
  mounted
  cmp "$TMP/big.debug" "$MNT_m/$path" || fail "round $round, killed at $at: wrong bytes"
  "$SYMFS" cache verify --cache "$store" >"$TMP/verify.out" 2>&1 || fail "round $round: $(cat "$TMP/verify.out")"
  symfs_umount m
done
say "$round rounds; in $early of them the reader had not got the file yet"
[ $early -ge 1 ] || fail "every kill came too late to prove anything"
left=$(find "$store/partial" -type f | wc -l)
[ "$left" -le 1 ] || fail "$left drafts are left behind"

# Control: damage is found, named, and told by the exit status.
mounted
cat "$MNT_m/$path" "$MNT_m/$other" >/dev/null || fail "reading"
symfs_umount m
blob=$("$SYMFS" get --no-default-sources --cache "$store" "$path")
keep() { cp -a "$store" "$TMP/keep"; }
again() { rm -rf "$store" && mv "$TMP/keep" "$store"; }
damaged() { # WHAT: verify must end with 1 and name the artifact
  "$SYMFS" cache verify --cache "$store" >"$TMP/verify.out" 2>&1
  rc=$?
  say "$1: $rc, $(head -n 3 "$TMP/verify.out" | tr '\n' ' ')"
  [ $rc = 1 ] || fail "$1: verify ended with $rc"
  grep -q "damaged files*, served until removed: .symfs cache rm --cache $store 'KEY'" "$TMP/verify.out" ||
    fail "$1: no next step: $(cat "$TMP/verify.out")"
  grep -q "$2" "$TMP/verify.out" || fail "$1: it does not name $2: $(cat "$TMP/verify.out")"
}
id=$(build_id "$TMP/big.debug")
chmod u+w "$blob"
keep
printf 'X' | dd of="$blob" bs=1 seek=9999999 conv=notrunc 2>/dev/null
damaged "a flipped byte" "$id"
"$SYMFS" cache rm --cache "$store" "elf_debug $id" && "$SYMFS" cache verify --cache "$store" >/dev/null ||
  fail "the damaged file cannot be removed"
again
keep
truncate -s -1 "$blob"
damaged "a cut file" "$id"
again
keep
rm "$blob"
damaged "a deleted file" "$id"
again
# False states in the index: a key that points at another artifact's bytes; a size; a claim that
# a file was verified; a key that the blob's own label does not have.
for lie in \
  "UPDATE keys SET object_id = (SELECT object_id FROM keys WHERE canon NOT LIKE '%$id') WHERE canon LIKE '%$id'" \
  "UPDATE objects SET size = size + 1 WHERE id = (SELECT object_id FROM keys WHERE canon LIKE '%$id')" \
  "UPDATE keys SET verified = 1 - verified WHERE canon LIKE '%$id'"; do
  keep
  sqlite3 "$store/index.sqlite" "$lie" || fail "sqlite3"
  damaged "a false state" "$id"
  again
done
"$SYMFS" cache verify --cache "$store" >"$TMP/verify.out" 2>&1 || fail "the undamaged store: $(cat "$TMP/verify.out")"
