#!/bin/sh
# The kinds of archives that symfs add takes apart beside zip (archives.sh has zip), hostile ones, a full disk and
# kill -9 in the middle of an archive, and many additions of the same archive at once.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf strip xz bzip2 zstd

make_archive() { "$top_builddir/tests/helpers/archive-write" "$@" || fail "archive-write $*"; }
add() { "$SYMFS" add --no-default-sources --cache "$TMP/store" "$@" 2>"$TMP/add.log"; }
last_is() { [ "$(printf '%s\n' "$2" | tail -n 1)" = "$1" ] || fail "last line: $2; $(cat "$TMP/add.log")"; }
says() { printf '%s\n' "$2" | grep -qF -- "$1" || fail "not said: $1; but: $2"; }
no_drafts() {
  [ -z "$(find "${1:-$TMP/store}/partial" -type f 2>/dev/null)" ] ||
    fail "drafts stay behind: $(ls "${1:-$TMP/store}/partial")"
}
stored() { "$SYMFS" get --offline --no-default-sources --cache "$TMP/store" "gdb/$(gdb_path "$id" .debug)"; }
fresh() { rm -rf "$TMP/store"; }

make_program "$TMP/p" foo
debug=$TMP/p/debug/foo.debug lib=$TMP/p/full/libfoo.so
id=$(build_id "$debug")
printf 'no symbols\n' >"$TMP/words"

# ---- every kind ------------------------------------------------------------------------
n=0
for how in 'tar none' 'tar gz' 'tar xz' 'tar bz2' 'tar zst' 'pax xz' '7z none' 'deb none' 'deb xz' 'deb zst' \
  'rpm gz' 'rpm xz' 'rpm zst'; do
  # shellcheck disable=SC2086
  make_archive "$TMP/a" $how ./usr/lib/debug/foo.debug "$debug" usr/share/doc/README "$TMP/words" \
    usr/lib/libfoo.so "$lib" usr/lib/link @libfoo.so
  fresh
  out=$(add "$TMP/a") || fail "$how: ends with $?: $out"
  says "$TMP/a!usr/share/doc/README: not placed: of no format" "$out"
  last_is "added 2, present 0, not placed 1" "$out"
  same_file "$debug" "$(stored)"
  no_drafts
  n=$((n + 1))
done
say "$n kinds of archives"
# The first block of zstd is large when nothing in it can be compressed.
head -c 400000 /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$debug" "$TMP/noisy.debug" || fail objcopy
make_archive "$TMP/a" tar zst noise "$TMP/noise" noisy.debug "$TMP/noisy.debug"
fresh
out=$(add "$TMP/a") || fail "large blocks: $out"
last_is "added 1, present 0, not placed 1" "$out"
# A hard link has no bytes of its own.
make_archive "$TMP/a" tar none foo.debug "$debug" again.debug '>foo.debug'
fresh
out=$(add "$TMP/a") || fail "hard link: $out"
last_is "added 1, present 0, not placed 0" "$out"

# A file that is packed by itself; what is not a symbol file is no archive of nothing.
mkdir "$TMP/pk"
xz -c "$debug" >"$TMP/pk/foo.debug.xz"
bzip2 -c "$lib" >"$TMP/pk/libfoo.so.bz2"
xz -c "$TMP/words" >"$TMP/pk/words.xz"
fresh
out=$(add -r "$TMP/pk") || fail "packed: $out"
says "$TMP/pk/words.xz: not placed: of no format" "$out"
last_is "added 2, present 0, not placed 1" "$out"
"$SYMFS" cache ls --cache "$TMP/store" | grep -q 'libfoo.so$\|libfoo.so ' ||
  "$SYMFS" cache ls --json --cache "$TMP/store" | grep -q libfoo.so ||
  fail "the file of libfoo.so.bz2 is not called libfoo.so: $("$SYMFS" cache ls --cache "$TMP/store")"
out=$(add "$TMP/pk/words.xz") && fail "words.xz does not end with 1: $out"
[ "$(printf '%s\n' "$out" | grep -c 'not placed: ')" = 1 ] || fail "words.xz is refused twice: $out"

# Two deep, and no deeper.
make_archive "$TMP/in.tar" tar none foo.debug "$debug"
make_archive "$TMP/mid.tar.xz" tar xz in.tar "$TMP/in.tar" x.deb "$TMP/a"
make_archive "$TMP/out.7z" 7z none mid.tar.xz "$TMP/mid.tar.xz"
fresh
out=$(add "$TMP/mid.tar.xz") || fail "two deep: $out"
last_is "added 1, present 1, not placed 0" "$out"
out=$(add "$TMP/out.7z")
[ $? = 1 ] || fail "three deep: $out"
says "$TMP/out.7z!mid.tar.xz!in.tar: not placed: an archive in an archive in an archive" "$out"

# ---- hostile ones ----------------------------------------------------------------------
hostile() {
  rm -rf "$TMP/store" "$TMP/cwd"
  mkdir "$TMP/cwd"
  out=$(cd "$TMP/cwd" && "$SYMFS" add --no-default-sources --cache "$TMP/store" "$@" 2>"$TMP/add.log")
  rc=$?
  [ $rc = 0 ] || [ $rc = 1 ] || fail "$* ends with $rc: $out $(cat "$TMP/add.log")"
  [ -z "$(ls -A "$TMP/cwd")" ] || fail "$* made files where it stood: $(ls -A "$TMP/cwd")"
  no_drafts
}
make_archive "$TMP/h" tar gz ../foo "$debug" a/../../b "$debug" .. "$debug" /etc/passwd "$lib"
hostile "$TMP/h"
for name in ../foo a/../../b ..; do
  says "h!$name: not placed: has a name that leads out of the archive" "$out"
done
last_is "added 1, present 0, not placed 3" "$out"

# Members that are too large, by what the archive says; what is skipped counts, too.
make_archive "$TMP/h" tar xz big +300000000 foo.debug "$debug"
[ "$(stat -c %s "$TMP/h")" -lt 2000000 ] || fail "that is no bomb"
hostile "$TMP/h"
says "the archive expands to too many bytes" "$out"
last_is "added 0, present 0, not placed 2" "$out"
for filter in gz bz2 zst; do
  make_archive "$TMP/h" tar $filter foo.debug "$debug" a +100000000 b +100000000 c +100000000 d "$lib"
  hostile "$TMP/h"
  says "the archive expands to too many bytes" "$out"
  says "added 1, present 0" "$out"
done
head -c 400000000 /dev/zero | cat "$debug" - | xz -0 >"$TMP/h"
hostile "$TMP/h"
says "h: not placed: the archive expands to too many bytes" "$out"
last_is "added 0, present 0, not placed 1" "$out"

# A sparse file of a terabyte takes a few bytes of its archive.
if truncate -s 1T "$TMP/sparse" 2>/dev/null && tar -C "$TMP" -S -cf "$TMP/h" sparse words; then
  hostile "$TMP/h"
  says "h!sparse: not placed: the archive expands to too many bytes" "$out"
  says "h!words: not placed: of no format" "$out"
  xz -f "$TMP/h"
  hostile "$TMP/h.xz"
  says "h.xz!sparse: not placed: the archive expands to too many bytes" "$out"
fi
rm -f "$TMP/sparse"

# Cut anywhere: no member that is not whole, and a reason.
n=0
for how in 'tar none' 'tar xz' '7z none' 'deb xz'; do
  # shellcheck disable=SC2086
  make_archive "$TMP/whole" $how words "$TMP/words" foo.debug "$debug"
  size=$(stat -c %s "$TMP/whole")
  for at in 6 300 513 $((size / 4)) $((size / 2)) $((size - 1100)); do
    [ "$at" -gt 0 ] && [ "$at" -lt "$size" ] || continue
    head -c "$at" "$TMP/whole" >"$TMP/h"
    hostile "$TMP/h"
    # The end of a tar or ar archive may be missing.
    printf '%s\n' "$out" | tail -n 1 | grep -q '^added 0, .*not placed [1-9]' || [ "$at" = $((size - 1100)) ] ||
      fail "$how cut at $at of $size: $out"
    n=$((n + 1))
  done
done
say "cut at $n places"

# ---- a full disk in the middle of an archive ---------------------------------------------------
if [ "$(id -u)" = 0 ] && mkdir "$TMP/disk" && mount -t tmpfs -o size=12m none "$TMP/disk" 2>/dev/null; then
  MOUNTS="$MOUNTS $TMP/disk"
  head -c 9000000 /dev/urandom >"$TMP/noise"
  objcopy --add-section .noise="$TMP/noise" "$TMP/p/debug/libfoo.so.debug" "$TMP/large.debug" || fail objcopy

  make_program "$TMP/q" bar
  objcopy --add-section .noise="$TMP/noise" "$TMP/q/debug/bar.debug" "$TMP/larger.debug" || fail objcopy
  make_archive "$TMP/full.tar" tar none foo.debug "$debug" large.debug "$TMP/large.debug" larger.debug \
    "$TMP/larger.debug" \
    last "$lib"
  out=$("$SYMFS" add --no-default-sources --min-free none --cache "$TMP/disk/store" "$TMP/full.tar" 2>"$TMP/add.log")
  rc=$?
  [ $rc = 4 ] || fail "a full disk ends with $rc: $out $(cat "$TMP/add.log")"
  grep -qi 'space\|quota' "$TMP/add.log" || fail "no word about the disk: $(cat "$TMP/add.log")"
  [ "$(wc -l <"$TMP/add.log")" = 1 ] || fail "more than one word: $(cat "$TMP/add.log")"
  last_is "added 2, present 0, not placed 0" "$out"
  no_drafts "$TMP/disk/store"
  "$SYMFS" cache verify --cache "$TMP/disk/store" || fail "verify after a full disk"
  umount "$TMP/disk"
else
  say "no tmpfs: no small disk"
fi

# ---- killed in the middle ------------------------------------------------------------------------
fresh
head -c 120000000 /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$debug" "$TMP/huge.debug" || fail objcopy
make_archive "$TMP/huge.tar.gz" tar gz foo "$TMP/p/bin/foo" huge.debug "$TMP/huge.debug"
begins() { [ -n "$(find "$TMP/store/partial" -type f -size +1000 2>/dev/null)" ]; }
worker_of() { pgrep -P "$1" -x unarchive; }
# Begins to add the archive, and stops it in the middle; on a busy machine that may take several attempts.
begin_and_stop() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    fresh
    "$SYMFS" add --no-default-sources --cache "$TMP/store" "$TMP/huge.tar.gz" >"$TMP/out" 2>&1 &
    pid=$!
    PIDS="$PIDS $pid"
    until begins || gone $pid; do nap; done
    kill -STOP $pid 2>/dev/null
    worker=$(worker_of $pid) && return
    kill -CONT $pid 2>/dev/null
    wait $pid
  done
  return 1
}
for victim in worker symfs; do
  begin_and_stop || fail "it is always done before it can be stopped"
  if [ $victim = worker ]; then
    kill -KILL "$worker"
    kill -CONT $pid
    wait $pid
    [ $? = 1 ] || grep -q 'added 2' "$TMP/out" || fail "worker killed: $(cat "$TMP/out")"
    grep -q 'the worker was ended by signal 9' "$TMP/out" || say "the worker was done before it was killed"
    no_drafts
  else
    kill -KILL $pid
    wait $pid 2>/dev/null
    wait_gone "$worker" || fail "the worker outlives symfs add"
  fi
  "$SYMFS" cache verify --cache "$TMP/store" || fail "verify after $victim was killed"
  ! stored >"$TMP/where" 2>&1 || same_file "$TMP/huge.debug" "$(cat "$TMP/where")"
done
out=$(add "$TMP/huge.tar.gz") || fail "after kills: $out"
same_file "$TMP/huge.debug" "$(stored)"
no_drafts

# ---- the same archive, many times at once ---------------------------------------------------------
fresh
make_archive "$TMP/a" tar gz foo.debug "$debug" libfoo.so "$lib" foo "$TMP/p/bin/foo"
pids=
for i in 1 2 3 4 5 6 7 8; do
  "$SYMFS" add --no-default-sources --cache "$TMP/store" "$TMP/a" >"$TMP/out$i" 2>&1 &
  pids="$pids $!"
done
for pid in $pids; do wait "$pid" || fail "one of eight ends with $?: $(cat "$TMP"/out?)"; done
added=0
for i in 1 2 3 4 5 6 7 8; do
  tail -n 1 "$TMP/out$i" | grep -q 'not placed 0$' || fail "one of eight: $(cat "$TMP/out$i")"
  added=$((added + $(tail -n 1 "$TMP/out$i" | sed 's/^added \([0-9]*\),.*/\1/')))
done
say "eight at once: added $added"
[ "$("$SYMFS" cache stats --cache "$TMP/store" | sed -n 's/^artifacts //p')" = 3 ] ||
  fail "not three files: $("$SYMFS" cache stats --cache "$TMP/store")"
"$SYMFS" cache verify --cache "$TMP/store" || fail "verify after eight at once"
no_drafts
