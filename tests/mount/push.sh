#!/bin/sh
# symfs push: sends only what a server lacks, on several connections; goes on after an interruption of either side;
# refused files, wrong servers and wrong tokens have their reason and exit status.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc objcopy readelf strip zip

# push WANTED-STATUS ARGS...: output in $TMP/out, messages in $TMP/err.
push() {
  push_want=$1
  shift
  timeout 600 "$SYMFS" push "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
  push_got=$?
  [ $push_got = "$push_want" ] || fail "push $*: $push_got, wanted $push_want: $(cat "$TMP/out" "$TMP/err")"
}
prints() { grep -q -- "$1" "$TMP/out" || fail "push does not print \"$1\": $(cat "$TMP/out" "$TMP/err")"; }
warns() { grep -q -- "$1" "$TMP/err" || fail "push does not report \"$1\": $(cat "$TMP/out" "$TMP/err")"; }
posts() { grep -c 'POST [^ ]*/chunk-upload/' "$TMP/access"; }
same_at() { # PATH FILE
  fetch_url -f -o "$TMP/got" "$U$1" || fail "$1: not found"
  same_file "$TMP/got" "$2"
}

F=$TMP/files
mkdir -p "$F/deep/er"
make_program "$TMP/p" prog
cp "$TMP/p/bin/prog" "$TMP/p/debug/prog.debug" "$F"
cp "$TMP/p/full/libprog.so" "$F/deep/er"
head -c 40000000 /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$TMP/p/full/libprog.so" "$F/deep/er/libprog.so" || fail objcopy
ID=$(build_id "$F/prog") LIB=$(build_id "$F/deep/er/libprog.so")
echo text >"$F/notes.txt"
: >"$F/empty"
printf '\177ELF' >"$F/broken.so"
ln -s deep "$F/link"

symfs_serve one --upload --access-log "$TMP/access"
U=$URL_one

# ---- a directory ----------------------------------------------------------------------------------------
push 1 "$U" "$F"
prints "broken.so: refused: is cut short"
prints "^added 3, present 0, refused 1, skipped 2; sent 4[0-9]\.[0-9] MB"
rm "$F/broken.so"
same_at "/buildid/$ID/executable" "$F/prog"
same_at "/buildid/$ID/debuginfo" "$F/prog.debug"
same_at "/buildid/$LIB/executable" "$F/deep/er/libprog.so"
[ "$(posts)" -ge 2 ] || fail "$(posts) requests for 41 MB"
had=$(posts)
push 0 -v "$U/" "$F"
prints "prog.debug: present elf x86_64"
prints "notes.txt: skipped: it has no debug information or symbols"
prints "^added 0, present 3, refused 0, skipped 2; sent 0.0 MB"
[ "$(posts)" = "$had" ] || fail "chunks were sent again"
# Only the changed part of a file is sent: here another build whose first chunks are the same.
objcopy --add-section .noise="$TMP/noise" "$TMP/p/full/prog" "$TMP/other" || fail objcopy
push 0 "$U" "$TMP/other"
prints "^added 1"
[ "$(posts)" -gt "$had" ] || fail "nothing was sent"

# ---- what the command line names ----------------------------------------------------------------------------
make_program "$TMP/q" more
(cd "$TMP/q/debug" && zip -q "$TMP/archive.zip" libmore.so.debug)
push 0 "$U" "$TMP/archive.zip"
same_at "/buildid/$(build_id "$TMP/q/bin/libmore.so")/debuginfo" "$TMP/q/debug/libmore.so.debug"
push 0 -v "$U" "$F/prog"
prints "prog: present elf .*: another file is stored under its id" # the better one above
# A program with debug information takes the id of its split debug file.
mkdir "$TMP/both"
cp "$TMP/q/full/more" "$TMP/q/debug/more.debug" "$TMP/both"
for n in added present; do
  push 0 "$U" "$TMP/both/more.debug"
  push 0 "$U" "$TMP/both"
done
prints "^added 0, present 2, refused 0"
mkdir "$TMP/none"
push 1 "$U" "$TMP/none"
warns "$TMP/none: no file in it has debug information or symbols"
push 1 "$U" "$F/notes.txt" "$F/empty" "$TMP/nowhere" "$F/deep/er/libprog.so"
prints "notes.txt: refused: of no format that symfs knows"
prints "empty: refused: is empty"
prints "nowhere: refused: No such file"
prints "^added 0, present 1, refused 3"

# ---- a server that ends in the middle ------------------------------------------------------------------------
# The chunks that it had are not sent again. The first server is stopped at the first chunk.
chunks() { find "$TMP/store-two/uploads/chunks" -type f 2>/dev/null | wc -l; }
has_chunks() { [ "$(chunks)" -ge "$1" ]; }
symfs_serve two --upload --access-log "$TMP/access2"
timeout 600 "$SYMFS" push "$URL_two" "$F" >"$TMP/out" 2>"$TMP/err" &
PUSH=$!
PIDS="$PIDS $PUSH"
wait_for has_chunks 1 || fail "no chunk arrives"
kill -KILL "$PID_two"
wait_gone "$PID_two"
kill -INT $PUSH
wait $PUSH
status=$?
[ $status = 130 ] || [ $status = 3 ] || [ $status = 0 ] ||
  fail "an interrupted push ends with $status: $(cat "$TMP/err")"
had=$(chunks)
[ "$had" -ge 1 ] || fail "no chunk is left"
port=${URL_two##*:}
symfs_serve two --upload --access-log "$TMP/access2" --listen "127.0.0.1:$port"
U=$URL_two
push 0 "$U" "$F"
same_at "/buildid/$LIB/executable" "$F/deep/er/libprog.so"
say "$had of $(chunks) chunks survived the first server"
[ -z "$(find "$TMP/store-two/partial" -type f)" ] || fail "a draft is left"

# A server that comes back while the push goes on: the push waits for it.
waits_for_server() {
  rm -rf "$TMP/store-three"
  symfs_serve three --upload
  port=${URL_three##*:}
  kill -STOP "$PID_three"
  timeout 600 "$SYMFS" push "$URL_three" "$F" >"$TMP/out" 2>"$TMP/err" &
  PUSH=$!
  PIDS="$PIDS $PUSH"
  kill -KILL "$PID_three"
  wait_gone "$PID_three"
  symfs_serve three --upload --listen "127.0.0.1:$port" --cache "$TMP/store-three"
  wait $PUSH
  push_got=$?
  [ $push_got = 0 ] || say "a push while the server comes back: $(cat "$TMP/out" "$TMP/err")"
  symfs_unserve three
  return $push_got
}
# The push waits for seconds, in which a busy machine may not start the server.
waits_for_server || waits_for_server || waits_for_server ||
  fail "the push did not wait for the server: $(cat "$TMP/out" "$TMP/err")"
prints "^added 3"

# ---- a full disk of the server --------------------------------------------------------------------------------
# Each request sends its chunks from the first byte on, so the server can tell a full disk from wrong bytes. The push
# goes on once the disk has room.
waits() { grep -q "; asking again for a while" "$TMP/err" || gone $PUSH; }
waits_for_room() {
  rm -rf "$TMP/disk/store"
  rm -f "$TMP/err" # of an earlier try
  mount -o remount,size=9m "$TMP/disk" || fail "the disk cannot be made small"
  symfs_serve full --upload --cache "$TMP/disk/store" --min-free 0
  timeout 600 "$SYMFS" push "$URL_full" "$F" >"$TMP/out" 2>"$TMP/err" &
  PUSH=$!
  PIDS="$PIDS $PUSH"
  wait_for waits || fail "push does not report the full disk"
  mount -o remount,size=200m "$TMP/disk" || fail "the disk gets no room"
  wait $PUSH
  push_got=$?
  [ $push_got = 0 ] || say "a push to a full disk: $(cat "$TMP/out" "$TMP/err")"
  symfs_unserve full
  return $push_got
}
if [ "$(id -u)" = 0 ] && mkdir "$TMP/disk" && mount -t tmpfs -o size=9m none "$TMP/disk" 2>/dev/null; then
  MOUNTS="$MOUNTS $TMP/disk"
  # The push waits for seconds, too.
  waits_for_room || waits_for_room || waits_for_room ||
    fail "the push did not go on with room on the disk: $(cat "$TMP/out" "$TMP/err")"
  prints "^added 3"
  warns "HTTP 507: the disk of the server is full: No space left on device; asking again for a while\$"
  # A store that has no room for the files: the server takes the chunks, and refuses each time it assembles.
  symfs_serve small --upload --cache "$TMP/disk/small" --min-free 512M
  push 3 "$URL_small" "$F/prog"
  warns "HTTP 507: .*prog.*: the server cannot store the file: "
  symfs_unserve small
else
  part_skipped "not root, or no tmpfs: no small disk"
fi

# ---- progress ----------------------------------------------------------------------------------------------------
# On a terminal each file of which a part was sent has a line. The server stops at the first chunk; a fast server may
# have them all before, and then the push is repeated.
shows_progress() {
  rm -rf "$TMP/store-slow"
  symfs_serve slow --upload
  SHELL=/bin/sh script -qefc "'$SYMFS' push '$URL_slow' '$F'" "$TMP/screen" </dev/null >/dev/null 2>&1 &
  PUSH=$!
  PIDS="$PIDS $PUSH"
  wait_for has_chunks_of slow || fail "no chunk arrives"
  kill -STOP "$PID_slow"
  wait_for is_seen || fail "no progress, and no end: $(cat -v "$TMP/screen")"
  kill -CONT "$PID_slow"
  wait $PUSH || fail "push on a terminal: $(cat -v "$TMP/screen")"
  symfs_unserve slow
  grep -qE "$line_of" "$TMP/screen"
}
has_chunks_of() { [ -n "$(find "$TMP/store-$1/uploads/chunks" -type f 2>/dev/null)" ]; }
line_of='libprog.so: [0-9]+ % of [0-9.]+ MB, '
is_seen() { grep -qE "$line_of|^added" "$TMP/screen"; }
if command -v script >/dev/null; then
  tries=1
  until shows_progress; do
    tries=$((tries + 1))
    [ $tries -le 20 ] || fail "no progress of push: $(cat -v "$TMP/screen")"
  done
fi

# ---- wrong servers, wrong tokens ----------------------------------------------------------------------------------
push 2 "ftp://127.0.0.1/" "$F/prog"
warns 'expected the URL of a server'
push 2 "$U"
push 2 --token-file "$TMP/nowhere" "$U" "$F/prog"
symfs_serve plain
push 3 "$URL_plain" "$F/prog"
warns "$URL_plain: HTTP 404: no server takes uploads at this URL"
symfs_unserve plain
push 3 http://127.0.0.1:1 "$F/prog"
warns '127.0.0.1:1: .*; asking again for a while$'
warns '127.0.0.1:1: .*[^e]$'
head -c 20 /dev/urandom | sha1sum | cut -c 1-40 >"$TMP/token"
cp "$TMP/token" "$TMP/tokens" && chmod 600 "$TMP/tokens"
symfs_serve guarded --upload --token-file "$TMP/tokens"
push 3 "$URL_guarded" "$F/prog"
warns 'HTTP 401.*a token is needed: --token-file FILE'
echo 0000000000000000 >"$TMP/wrong"
push 3 --token-file "$TMP/wrong" "$URL_guarded" "$F/prog"
warns 'HTTP 401.*the token is wrong or has expired'
warns_once() { [ "$(grep -o 'token' "$TMP/err" | wc -l)" = "$1" ] || fail "two messages: $(cat "$TMP/err")"; }
warns_once 1
push 3 "$URL_guarded" "$F/prog"
warns_once 2 # token is needed: --token-file
push 0 --token-file "$TMP/token" "$URL_guarded" "$F/prog"
# A configured source has the URL and the token; a URL at the same server has its token, too.
printf '[source "team"]\nurl = %s/\nheader = Authorization: Bearer %s\n' "$URL_guarded" "$(cat "$TMP/token")" \
  >"$TMP/team.conf"
chmod 600 "$TMP/team.conf"
push 0 --config "$TMP/team.conf" -v team "$F/prog"
prints "prog: present elf x86_64 $ID"
push 0 --config "$TMP/team.conf" "$URL_guarded" "$F/prog"
push 3 --config "$TMP/team.conf" --token-file "$TMP/wrong" team "$F/prog"
push 2 --config "$TMP/team.conf" tea "$F/prog"
warns 'the name of a source'
symfs_unserve guarded
"$SYMFS" token add --file "$TMP/rights" reader >"$TMP/reader" || fail "token add"
symfs_serve rights --upload --token-file "$TMP/rights"
push 3 --token-file "$TMP/reader" "$URL_rights" "$F/prog"
warns 'the token does not have the right upload; .*symfs token add NAME --rights upload'
symfs_unserve rights
symfs_serve small --upload --max-file-size 10000
push 1 "$URL_small" "$F/deep"
prints "libprog.so: refused: is larger than 10000 bytes, the limit of the server"
symfs_unserve small
symfs_serve socket --upload --listen "unix:$TMP/socket"
push 0 "unix:$TMP/socket" "$F/prog"
prints '^added 1'
symfs_unserve socket

# ---- what no client should send ------------------------------------------------------------------------------------
C=/api/0/organizations/o/chunk-upload/ A=/api/0/projects/o/p/files/difs/assemble/
had=$(chunks)
hello=$(printf hello | sha1sum | cut -d' ' -f1)
printf hello >"$TMP/hello"
ask 200 $C
says '"chunkSize":8388608,'
says "\"url\":\"$U$C\""
ask 400 $C -F "file=@$TMP/hello;filename=0000000000000000000000000000000000000000"
says 'error.*has another SHA-1'
ask 400 $C -F "file=@$TMP/hello;filename=../../$hello"
says 'not named by a SHA-1'
ask 400 $C -F "file_gzip=@$TMP/hello;filename=$hello"
says 'is broken'
ask 400 $C -F "other=@$TMP/hello;filename=$hello"
says 'neither file nor file_gzip'
head -c 9000000 /dev/zero >"$TMP/zeros"
zeros=$(sha1sum <"$TMP/zeros" | cut -d' ' -f1)
ask 400 $C -F "file=@$TMP/zeros;filename=$zeros"
says 'Chunk size too large'
gzip -c "$TMP/zeros" >"$TMP/zeros.gz"
ask 400 $C -F "file_gzip=@$TMP/zeros.gz;filename=$zeros"
says 'Chunk size too large'
# shellcheck disable=SC2046
ask 400 $C $(i=0 && while [ $i -lt 65 ]; do echo "-F file=@$TMP/hello;filename=$hello" && i=$((i + 1)); done)
says 'Too many chunks'
ask 413 $C --data-binary "@$TMP/noise" -H 'Content-Type: multipart/form-data; boundary=x'
ask 400 $A -d '{"x":1}'
says 'error.*the request file 1: expected a SHA-1'
ask 400 $A -d 'nothing'
says 'is not JSON'
ask 405 $A
ask 405 $C -X PUT -d x
ask 404 /api/0/organizations/o/p/chunk-upload/
ask 200 $A -d "{\"$zeros\":{\"name\":\"../../etc/passwd\",\"chunks\":[\"$zeros\"]}}"
says "\"state\":\"not_found\",\"missingChunks\":\[\"$zeros\"\]"
# The chunk of the right part stays, of all the refused requests.
[ "$(chunks)" -le $((had + 1)) ] || fail "$had chunks became $(chunks)"
[ -z "$(find "$TMP/store-two/uploads/new" -type f)" ] || fail "incomplete chunks are left"
symfs_unserve two
symfs_unserve one

# ---- classes and labels --------------------------------------------------------------------------------------------
symfs_serve held --upload
U=$URL_held
for age in 30 ''; do
  push 2 --expires "$age" "$U" "$F/prog"
  warns "^symfs push: --expires $age: expected a number with a unit, as in 90d or 12h\$"
done
push 0 --class try --expires 3d --label commit=1f2e "$U" "$F/prog"
prints '^added 1'
"$SYMFS" cache ls --cache "$TMP/store-held" >"$TMP/ls" || fail "cache ls"
grep -q 'try' "$TMP/ls" || fail "the file has no class: $(cat "$TMP/ls")"
push 0 --class keep "$U" "$F/prog"
prints '^added 0, present 1'
"$SYMFS" cache ls --cache "$TMP/store-held" >"$TMP/ls" || fail "cache ls"
grep -q 'keep' "$TMP/ls" || fail "a push of a stored file does not change its class: $(cat "$TMP/ls")"
push 3 --class nosuch "$U" "$F/prog"
warns 'the server has no class nosuch; it has try, default, keep$'
push 2 --label nothing "$U" "$F/prog"
symfs_unserve held
