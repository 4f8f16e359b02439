#!/bin/sh
# Faults of the store: a full disk, a damaged or deleted index, a file system that becomes
# read-only, foreign files. Stored files can still be read. A file that cannot be stored is an error
# with a name and never "does not exist". Foreign files are not touched.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl
need_mount

mkdir -p "$TMP/root" "$TMP/store"
for p in one two three four; do
  make_program "$TMP/made" $p
  put_gdb "$TMP/root" "$TMP/made/debug/$p.debug" .debug
  # shellcheck disable=SC2034 # for eval
  at=$(gdb_path "$(build_id "$TMP/made/full/$p")" .debug)
  eval "$p=\$at"
done
# And one that is larger than a small disk.
make_program "$TMP/made" big
head -c 6000000 /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$TMP/made/debug/big.debug" || fail objcopy
put_gdb "$TMP/root" "$TMP/made/debug/big.debug" .debug
# shellcheck disable=SC2154
big=$(gdb_path "$(build_id "$TMP/made/full/big")" .debug)
upstream_start plain --root "$TMP/root"

get() { timeout 600 "$SYMFS" get --no-default-sources --cache "$TMP/store" --min-free none "$@" >"$TMP/out" \
  2>"$TMP/err"; }
here() { cmp -s "$MNT_m/$1" "$TMP/root/$1"; }

# ---- foreign files: made now, looked at after everything ----------------------------------------
get --source "gdb@$URL_plain" "gdb/$one" || fail "get: $(cat "$TMP/err")"
blob=$(cat "$TMP/out")
mkdir -p "$TMP/store/photos" "$TMP/store/blobs/zz"
echo mine >"$TMP/mine"
for f in notes.txt photos/cat.jpg blobs/readme blobs/zz/x partial/thesis.tex index.sqlite.bak \
  "$(dirname "${blob#"$TMP/store/"}")/mine"; do
  cp "$TMP/mine" "$TMP/store/$f"
  foreign="${foreign:-} $f"
done
ln -s "$TMP/mine" "$TMP/store/link"
ln -s "$TMP/mine" "$TMP/store/blobs/link"
foreign="$foreign link blobs/link"
foreign_live() {
  for f in $foreign; do cmp -s "$TMP/store/$f" "$TMP/mine" || fail "$1: $f, which is not ours, was touched"; done
}

# ---- the index: garbage, cut, empty, gone ------------------------------------------------------
damage() { # KIND, done to the index while no process has it open
  d_db=$TMP/store/index.sqlite
  case $1 in
  garbage) head -c 20000 /dev/urandom >"$d_db" ;;
  head) printf 'not a database at all' | dd of="$d_db" conv=notrunc 2>/dev/null ;;
  middle) head -c 3000 /dev/urandom | dd of="$d_db" bs=1 seek=5000 conv=notrunc 2>/dev/null ;;
  cut) truncate -s 5000 "$d_db" ;;
  short) truncate -s 50 "$d_db" ;;
  empty) : >"$d_db" ;;
  gone) rm -f "$d_db" "$d_db-wal" "$d_db-shm" ;;
  directory) rm -f "$d_db" "$d_db-wal" "$d_db-shm" && mkdir "$d_db" && echo x >"$d_db/x" ;;
  wal) head -c 20000 /dev/urandom >"$d_db-wal" ;;
  esac
}
for kind in garbage head middle cut short empty gone wal; do
  damage $kind
  get --offline "gdb/$one" || fail "index $kind: what is stored is lost: exit $? $(cat "$TMP/err")"
  same_file "$(cat "$TMP/out")" "$TMP/root/$one"
  case $kind in garbage | head) grep -q 'index was damaged' "$TMP/err" ||
    fail "index $kind: repaired without a word" ;; esac
  # And new ones can be stored, and are found by the next.
  get --source "gdb@$URL_plain" "gdb/$two" || fail "index $kind: nothing can be stored: $(cat "$TMP/err")"
  get --offline "gdb/$two" || fail "index $kind: what was stored is not found"
  "$SYMFS" cache verify --cache "$TMP/store" >"$TMP/out" 2>&1 || fail "index $kind: cache verify: $(cat "$TMP/out")"
  foreign_live "index $kind"
done
damage directory
get --offline "gdb/$one"
r=$?
[ $r = 0 ] || [ $r = 4 ] || fail "a directory in the index's place: exit $r"
[ $r = 0 ] || [ -s "$TMP/err" ] || fail "a directory in the index's place: no word"
[ -d "$TMP/store/index.sqlite" ] && rm -r "$TMP/store/index.sqlite"

# The same under a running daemon.
for kind in gone garbage cut directory directory; do
  symfs_mount m --cache "$TMP/store" --min-free none --source "gdb@$URL_plain"
  here "$one" || fail "before"
  damage $kind
  wait_for here "$one" ||
    fail "index $kind under a mount: what was stored cannot be read: $(cat "$MNT_m/$one" 2>&1 >/dev/null)"
  wait_for here "$three" ||
    fail "index $kind under a mount: nothing new comes: $(cat "$MNT_m/$three" 2>&1 >/dev/null)"
  gone "$PID_m" && fail "index $kind under a mount: the daemon ended"
  symfs_umount m
  get --offline "gdb/$one" || fail "index $kind under a mount: afterwards: $(cat "$TMP/err")"
  foreign_live "index $kind under a mount"
  "$SYMFS" cache rm --cache "$TMP/store" "gdb/$three" >/dev/null 2>"$TMP/err" || fail "cache rm: $(cat "$TMP/err")"
done
"$SYMFS" cache gc --cache "$TMP/store" >/dev/null 2>"$TMP/err" || fail "cache gc: $(cat "$TMP/err")"
foreign_live "cache gc"
"$SYMFS" cache rm --cache "$TMP/store" "gdb/$one" "gdb/$two" >/dev/null 2>"$TMP/err" ||
  fail "cache rm: $(cat "$TMP/err")"
foreign_live "cache rm"

# ---- a store that cannot be -----------------------------------------------------------------------
echo x >"$TMP/file"
for bad in "$TMP/file" "$TMP/file/below" /proc/symfs-store; do
  timeout 600 "$SYMFS" get --no-default-sources --cache "$bad" "gdb/$one" >"$TMP/out" 2>"$TMP/err"
  r=$?
  [ $r = 4 ] && grep -q "$bad" "$TMP/err" || fail "a store at $bad: exit $r, $(cat "$TMP/err")"
done

# ---- disks that are full or read-only --------------------------------------------------------
[ "$(id -u)" = 0 ] || { say "not root: no small disk"; exit 0; }
mkdir "$TMP/disk"
mount -t tmpfs -o size=4m none "$TMP/disk" 2>/dev/null || { say "no tmpfs: no small disk"; exit 0; }
MOUNTS="$TMP/m $MOUNTS $TMP/disk"

small() { symfs_mount m --cache "$TMP/disk/store" --source "gdb@$URL_plain" "$@"; }
small --min-free none
# What `get` printed stays for an hour; others may go to make room.
timeout 600 "$SYMFS" get --no-default-sources --cache "$TMP/disk/store" --min-free none --source "gdb@$URL_plain" \
  "gdb/$one" >"$TMP/out" ||
  fail "get on a small disk"
here "$one" || fail "a small disk: $(cat "$MNT_m/$one" 2>&1 >/dev/null)"
cat "$MNT_m/$big" >/dev/null 2>"$TMP/err" && fail "6 MB on a disk of 4"
grep -q 'No space left on device' "$TMP/err" || fail "a full disk: $(cat "$TMP/err")"
here "$one" || fail "a full disk: what was there before cannot be read"
here "$two" || fail "a full disk: a small file still fits: $(cat "$MNT_m/$two" 2>&1 >/dev/null)"
grep -qi 'file system is full' "$TMP/m.log" || fail "a full disk: no word in the log"
grep -q . "$MNT_m/.symfs/missing" && [ "$(wc -l <"$MNT_m/.symfs/missing")" = 1 ] ||
  fail "a full disk: remembered as missing"
timeout 600 "$SYMFS" get --no-default-sources --cache "$TMP/disk/store" --min-free none --source "gdb@$URL_plain" \
  "gdb/$big" >"$TMP/out" 2>"$TMP/err"
r=$?
[ $r = 4 ] && grep -qi 'file system is full' "$TMP/err" || fail "get on a full disk: exit $r, $(cat "$TMP/err")"
[ "$(find "$TMP/disk/store/partial" -type f -size +1k | wc -l)" = 0 ] ||
  fail "a full disk: drafts are left: $(ls -l "$TMP/disk/store/partial")"
# Not a byte left, also for the index.
dd if=/dev/zero of="$TMP/disk/ballast" bs=4096 2>/dev/null
cat "$MNT_m/$three" >/dev/null 2>"$TMP/err" && fail "stored on a disk without a byte"
grep -q 'No such file' "$TMP/err" && fail "a disk without a byte: $(cat "$TMP/err")"
here "$one" ||
  fail "a disk without a byte: what was there before cannot be read: $(cat "$MNT_m/$one" 2>&1 >/dev/null)"
stat "$MNT_m/.build-id/ab/cdef0123456789abcdef0123456789abcdef01.debug" 2>"$TMP/err" >/dev/null &&
  fail "nonsense is there"
[ -f "$MNT_m/.symfs/version" ] || fail "a disk without a byte: the mount is gone"
gone "$PID_m" && fail "a full disk ended the daemon"
rm "$TMP/disk/ballast"
mount -o remount,size=64m "$TMP/disk" || fail remount
wait_for here "$big" || fail "there is space again, and the file does not come: $(cat "$MNT_m/$big" 2>&1 >/dev/null)"
wait_for here "$three" || fail "there is space again, and another does not come"

# What had to go to make room is fetched again.
wait_for here "$two" || fail "there is space again, and what was evicted does not come back"
symfs_umount m
"$SYMFS" cache verify --cache "$TMP/disk/store" >"$TMP/out" 2>&1 ||
  fail "cache verify after all that: $(cat "$TMP/out")"

# Read-only: said with its name, before anything is mounted.
mount -o remount,ro "$TMP/disk" || fail "remount,ro"
mkdir "$TMP/point"
for store in other store; do
  timeout 600 "$SYMFS" get --no-default-sources --cache "$TMP/disk/$store" --source "gdb@$URL_plain" "gdb/$four" \
    >"$TMP/out" 2>"$TMP/err"
  r=$?
  [ $r = 4 ] && grep -qi "$TMP/disk/$store.*read-only" "$TMP/err" ||
    fail "get, $store on a read-only disk: exit $r, $(cat "$TMP/err")"
  timeout 600 "$SYMFS" mount --no-default-sources --cache "$TMP/disk/$store" "$TMP/point" >"$TMP/out" 2>"$TMP/err"
  r=$?
  [ $r = 4 ] && grep -qi "$TMP/disk/$store.*read-only" "$TMP/err" ||
    fail "mount, $store on a read-only disk: exit $r, $(cat "$TMP/err")"
done
mount -o remount,rw "$TMP/disk" || fail "remount,rw"

# The space that others shall keep: files are refused before the disk is full, with the reason.
rm -rf "$TMP/disk/store"
small --min-free 512M
cat "$MNT_m/$one" >/dev/null 2>"$TMP/err" && fail "stored although less than min-free is left"
grep -q 'No space left on device' "$TMP/err" || fail "min-free: $(cat "$TMP/err")"
grep -q 'min-free' "$TMP/m.log" || fail "min-free: the log does not say what to do: $(cat "$TMP/m.log")"
symfs_umount m
foreign_live "at the end"
