#!/bin/sh
# A path that can mean several files: OPEN tries the next meaning when the first one was wrong.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf curl cmp

# The age of this id is 1a, so its digits are also those of a build id of 17 bytes.
EVEN=60/3dc0f9b83078b14c4c44205044422e1a
UP=$TMP/up/$EVEN
mkdir -p "$UP"
printf '%s\n' 'MODULE windows x86_64 603DC0F9B83078B14C4C44205044422E1A x.pdb' 'FILE 0 x.c' 'FUNC 1000 10 0 f' \
  '1000 10 1 0' >"$UP/breakpad"
make_program "$TMP/p" prog
ID=$(build_id "$TMP/p/bin/prog")
REST=${ID#??}
PROG=${ID%"$REST"}/$REST
mkdir -p "$TMP/up/$PROG"
cp "$TMP/p/debug/prog.debug" "$TMP/up/$PROG/debuginfo"
# The id of this program can also be the UUID of a Mach-O file, and the file is longer than what comes before the
# election.
UUID=33/16150fb6565f4df5192fbe13db34e3
mkdir -p "$TMP/up/$UUID"
head -c 3000000 /dev/urandom >"$TMP/noise"
echo 'int main(void) { return 0; }' >"$TMP/long.c"
gcc -g -Wl,--build-id="0x$(echo "$UUID" | tr -d /)" -o "$TMP/long" "$TMP/long.c" || fail gcc
objcopy --add-section .noise="$TMP/noise" "$TMP/long" "$TMP/up/$UUID/debuginfo" || fail objcopy
upstream_start u --root "$TMP/up"

for source in "unified@$URL_u" "unified@$TMP/up"; do
  case $source in *http*) kind=http ;; *) kind=dir ;; esac
  # At the root NN/REST is the program, and a directory where there is no program.
  for where in unified/ ''; do
    name=$kind${where%/}
    symfs_mount "$name" --source "$source"
    mnt=$TMP/$name/$where
    same_file "$UP/breakpad" "$mnt$EVEN/breakpad"
    [ "$(stat -c %F "$mnt$EVEN/breakpad")" = 'regular file' ] || fail "$name: no regular file"
    same_file "$UP/breakpad" "$mnt$EVEN/breakpad"
    same_file "$TMP/up/$UUID/debuginfo" "$mnt$UUID/debuginfo"
    grep -q 'wrong file' "$TMP/$name.log" && fail "$name: a judgement of a file that another meaning of its path has"
    "$SYMFS" gsym lookup 0x1000 "$TMP/$name/gsym/$where$EVEN/breakpad.gsym" >"$TMP/looked" 2>&1
    grep -q 'f@.*x.c:1' "$TMP/looked" || fail "$name: gsym: $(cat "$TMP/looked")"
    same_file "$TMP/up/$PROG/debuginfo" "$mnt$PROG/debuginfo"
    cat "$mnt$PROG/breakpad" 2>"$TMP/cat" && fail "$name: a file that is not there"
    grep -q 'No such file' "$TMP/cat" || fail "$name: $(cat "$TMP/cat")"
    symfs_umount "$name"
  done
done

# The source sends such a file once.
for path in "$EVEN/breakpad" "$UUID/debuginfo" "$PROG/debuginfo"; do
  upstream_reset "$URL_u"
  rm -rf "$TMP/store-once"
  "$SYMFS" get --no-default-sources --cache "$TMP/store-once" --source "unified@$URL_u" -o "$TMP/got" \
    "unified/$path" \
    >"$TMP/get.log" 2>&1 || fail "get $path: $(cat "$TMP/get.log")"
  same_file "$TMP/up/$path" "$TMP/got"
  [ "$(upstream_count "$URL_u" get "/$path")" = 1 ] || fail "$path: $(upstream_count "$URL_u" get "/$path") GETs"
  grep -q 'wrong file' "$TMP/get.log" && fail "$path: $(cat "$TMP/get.log")"
done

# A path that means one file only, and its file is another: the error stays.
cp "$TMP/p/debug/libprog.so.debug" "$TMP/up/$PROG/debuginfo"
symfs_mount wrong --source "unified@$URL_u"
cat "$MNT_wrong/unified/$PROG/debuginfo" 2>"$TMP/cat" >"$TMP/got" && fail "the wrong file"
grep -q 'Bad message' "$TMP/cat" || fail "the wrong file: $(cat "$TMP/cat")"
symfs_umount wrong

# What is there as a file at the root stays one.
cp "$TMP/p/debug/prog.debug" "$TMP/up/$PROG/debuginfo"
symfs_mount late --source "unified@$URL_u"
same_file "$TMP/up/$PROG/debuginfo" "$MNT_late/$PROG/debuginfo"
"$SYMFS" add --cache "$TMP/store-late" "$TMP/p/bin/prog" >"$TMP/add.log" || fail "add"
wait_for test -f "$MNT_late/$PROG" || fail "the program does not replace the directory"
same_file "$TMP/p/bin/prog" "$MNT_late/$PROG"
symfs_umount late
