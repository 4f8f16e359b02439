#!/bin/sh
# symfs serve --upload: PUT and DELETE with curl, files that are not what their path says, bodies that end early
# or never, a full disk, and the bounds. No refused or interrupted upload leaves a file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc readelf objcopy strip gzip python3
RUDE=$top_builddir/tests/helpers/rude-client

put() { # WANTED-STATUS PATH FILE [CURL-ARGS...]
  put_want=$1 put_path=$2 put_file=$3
  shift 3
  ask "$put_want" "$put_path" -T "$put_file" "$@"
}
drafts() { find "$STORE/partial" -type f | wc -l; }
no_drafts() { [ "$(drafts)" = 0 ]; }
stored() { "$SYMFS" cache ls --cache "$STORE" | wc -l; }

make_program "$TMP/a" prog
PROG=$TMP/a/bin/prog DEBUG=$TMP/a/debug/prog.debug
ID=$(build_id "$PROG")
LIB=$(build_id "$TMP/a/bin/libprog.so")

symfs_serve one --upload
U=$URL_one STORE=$TMP/store-one

# ---- a file, and each layout that finds it ------------------------------------------------
ask 404 "/buildid/$ID/debuginfo"
put 201 "/buildid/$ID/debuginfo" "$DEBUG"
says "^added elf_debug $ID"
for path in "buildid/$ID/debuginfo" "gdb/$(gdb_path "$ID").debug" "debuginfod/$ID/debuginfo" \
  "symstore/_.debug/elf-buildid-sym-$ID/_.debug" \
  "unified/$(echo "$ID" | sed 's/../&\//')/debuginfo"; do
  ask 200 "/$path"
  same_file "$TMP/body" "$DEBUG"
done
put 200 "/buildid/$ID/debuginfo" "$DEBUG"
says "^present elf_debug $ID"
# By the path of another layout, without a length, and packed.
gzip -c "$PROG" >"$TMP/prog.gz"
put 201 "/gdb/$(gdb_path "$ID")" - <"$PROG"
ask 200 "/buildid/$ID/executable"
same_file "$TMP/body" "$PROG"
ask 204 "/buildid/$ID/executable" -X DELETE
put 201 "/buildid/$ID/executable" "$TMP/prog.gz"
ask 200 "/buildid/$ID/executable"
same_file "$TMP/body" "$PROG"

# A better file improves the key; a worse one does not take it back.
LIBPATH=/buildid/$LIB/debuginfo
strip -g -o "$TMP/poor" "$TMP/a/debug/libprog.so.debug"
put 201 "$LIBPATH" "$TMP/poor"
put 201 "$LIBPATH" "$TMP/a/debug/libprog.so.debug"
says "^improved elf_debug $LIB"
ask 200 "$LIBPATH"
same_file "$TMP/body" "$TMP/a/debug/libprog.so.debug"
put 409 "$LIBPATH" "$TMP/poor"
says "another file is stored under this key.*a DELETE of this path removes that file"
ask 200 "$LIBPATH"
same_file "$TMP/body" "$TMP/a/debug/libprog.so.debug"

# A code id that was unknown is known at once.
cat >"$TMP/AbC.sym" <<EOF
MODULE windows x86_64 3249D99D0C4049318610F4E4FB0B69361 AbC.pdb
INFO CODE_ID 5AB380779000 AbC.dll
FUNC 1000 10 0 main
EOF
ask 404 /AbC.dll/5AB380779000/AbC.sym
put 201 /AbC.pdb/3249D99D0C4049318610F4E4FB0B69361/AbC.sym "$TMP/AbC.sym"
ask 302 /AbC.dll/5AB380779000/AbC.sym

# ---- refused ------------------------------------------------------------------------------
had=$(stored)
put 422 "/buildid/00${ID#??}/debuginfo" "$DEBUG"
says "is build id $ID, not 00${ID#??}"
put 422 "/buildid/$ID/debuginfo" "$0"
says "of no format that symfs knows"
put 422 "/buildid/$ID/debuginfo" /dev/null
says "is empty"
head -c 1000 "$DEBUG" >"$TMP/short"
put 422 "/buildid/$LIB/executable" "$TMP/short"
put 422 "/buildid/$ID/source/x.c" "$0"
for path in /healthz /metrics /upload.txt /gsym/buildid/$ID/debuginfo.gsym /../../etc/passwd \
  /buildid/..%2f..%2fetc/passwd /symstore/a/..%2f..%2fb/a; do
  got=$(fetch_url --path-as-is -o /dev/null -w '%{http_code}' -T "$PROG" "$U$path") || fail "curl $path"
  case $got in 400 | 404 | 405) ;; *) fail "PUT $path: $got" ;; esac
done
# A path of no layout, whatever the size of the body, with and without waiting for the server to ask for it.
head -c 200000 /dev/zero >"$TMP/zeros"
for file in "$PROG" "$TMP/zeros"; do
  put 404 /prog "$file"
  says 'PUT takes the path of a file in a layout, such as /buildid/ID/debuginfo'
  put 404 /prog "$file" -H Expect: -H 'Transfer-Encoding: chunked'
done
put 405 /healthz "$TMP/zeros"
ask 405 "/buildid/$ID/debuginfo" -X PATCH
tr -d '\r' <"$TMP/head" | grep -qi '^allow: GET, HEAD, PUT, DELETE, OPTIONS$' || fail "Allow: $(cat "$TMP/head")"
# A part of a file, and words of the query that mean nothing.
put 400 "/buildid/$ID/debuginfo" "$DEBUG" -H 'Content-Range: bytes 0-9/100'
put 400 "/buildid/$ID/debuginfo?class=Nonsense" "$DEBUG"
put 400 "/buildid/$ID/debuginfo?label=nothing" "$DEBUG"
# A page in a browser on this machine may not upload.
put 403 "/buildid/$ID/debuginfo" "$DEBUG" -H 'Origin: http://page.example'
put 421 "/buildid/$ID/debuginfo" "$DEBUG" -H 'Host: page.example'
[ "$(stored)" = "$had" ] || fail "a refused file was stored"
no_drafts || fail "$(drafts) drafts after refusals"

# ---- removed ------------------------------------------------------------------------------
ask 204 "/buildid/$LIB/debuginfo" -X DELETE
ask 404 "/buildid/$LIB/debuginfo"
ask 404 "/buildid/$LIB/debuginfo" -X DELETE
ask 403 "/buildid/$ID/debuginfo" -X DELETE -H 'Origin: http://page.example'
ask 200 "/buildid/$ID/debuginfo"

# ---- clients that stop, or are slow --------------------------------------------------------
head -c 20000000 /dev/urandom >"$TMP/noise"
objcopy --add-section .noise="$TMP/noise" "$TMP/a/full/libprog.so" "$TMP/large" || fail objcopy
for _ in 1 2 3; do
  curl -gsS --noproxy '*' --limit-rate 2000000 -H Expect: -T "$TMP/large" "$U/buildid/$LIB/executable" \
    >"$TMP/cut.log" 2>&1 &
  cut=$!
  PIDS="$PIDS $cut"
  wait_for eval '[ "$(drafts)" != 0 ]' || fail "no draft of an upload that arrives"
  kill -9 "$cut"
  wait_for no_drafts || fail "the draft of an interrupted upload stays"
done
ask 404 "/buildid/$LIB/executable"
# Half a body, and then silence; a byte now and then; a body without end.
symfs_serve brisk --upload --idle-seconds 2
U=$URL_brisk STORE=$TMP/store-brisk
[ "$("$RUDE" "${U##*:}" drip "PUT /buildid/$LIB/executable")" = closed ] || fail "a body that drips"
wait_for no_drafts || fail "the draft of a slow upload stays"
symfs_unserve brisk
# Slower than the idle time allows a silence, but steady.
steady() { # IDLE-SECONDS
  head -c $((75000 * $1)) "$TMP/noise" >"$TMP/noise2"
  objcopy --add-section .noise="$TMP/noise2" "$TMP/a/full/libprog.so" "$TMP/steady" || fail objcopy
  symfs_serve "slow$1" --upload --idle-seconds "$1"
  eval "U=\$URL_slow$1"
  st_got=$(fetch_url -o "$TMP/body" -w '%{http_code}' --limit-rate 40000 -H Expect: -T "$TMP/steady" \
    "$U/buildid/$LIB/executable")
  if [ "$st_got" = 201 ]; then
    ask 200 "/buildid/$LIB/executable"
    same_file "$TMP/body" "$TMP/steady"
  fi
  symfs_unserve "slow$1"
  [ "$st_got" = 201 ] || { say "a steady upload, $1 s: $st_got $(cat "$TMP/body")"; false; }
}
# A busy machine may stop the client for longer than the shortest of these times.
steady 2 || steady 8 || steady 32 || fail "a slow and steady upload: $st_got"
U=$URL_one STORE=$TMP/store-one

# 16 clients send one file at once: all of them succeed, and the bytes are right.
for n in $(seq 16); do
  fetch_url -o /dev/null -w '%{http_code}\n' -T "$TMP/large" "$U/buildid/$LIB/executable" >"$TMP/many.$n" 2>&1 &
  many="${many:-} $!"
done
# shellcheck disable=SC2086
wait $many
[ "$(cat "$TMP"/many.* | grep -c '^20[01]$')" = 16 ] || fail "16 at once: $(cat "$TMP"/many.*)"
ask 200 "/buildid/$LIB/executable"
same_file "$TMP/body" "$TMP/large"
wait_for no_drafts || fail "$(drafts) drafts after 16 uploads"

# ---- the bounds -----------------------------------------------------------------------------
symfs_serve small --upload --max-file-size 1M
U=$URL_small STORE=$TMP/store-small
put 413 "/buildid/$LIB/executable" "$TMP/large"
says "the limit of this server"
put 413 "/buildid/$LIB/executable" - <"$TMP/large"
put 413 "/buildid/$LIB/executable" "$TMP/large" -H Expect:
no_drafts || fail "a draft of a large upload stays"
put 201 "/buildid/$ID/debuginfo" "$DEBUG"

# A refused body without an end: curl sees the status, and a client that sends on is cut off.
endless() { # WANTED-STATUS [CURL-ARGS...]
  el_want=$1
  shift
  el_got=$(timeout 600 curl -gsS --noproxy '*' -o "$TMP/body" -w '%{http_code}' -H Expect: -T - "$@" \
    "$U/buildid/$LIB/executable" </dev/zero 2>"$TMP/endless")
  [ "$el_got" = "$el_want" ] || fail "an endless body: $el_got, not $el_want: $(cat "$TMP/endless")"
}
endless 413
says "the limit of this server"
endless 403 -H 'Origin: http://page.example'
python3 - "${U#http://}" "$LIB" <<'END' || fail "a client that sends on after the refusal"
import socket, sys
host, port = sys.argv[1].split(":")
for head in "Transfer-Encoding: chunked", "Content-Length: 99999999999":
    s = socket.create_connection((host, int(port)))
    s.settimeout(300)
    s.sendall(("PUT /buildid/%s/executable HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n"
        % (sys.argv[2], sys.argv[1], head)).encode())
    piece, sent = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n", 0
    said = s.recv(4096) if "Length" in head else b"" # this head alone is refused, before a byte of the body
    try:
        while sent < 300 << 20:
            s.sendall(piece)
            sent += len(piece)
            if not said and sent > 8 << 20:
                said = s.recv(4096)
    except OSError:
        pass
    assert said.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in said, said
    assert sent < 64 << 20, sent
END

# Without the option there is nothing of it, and it is not for other machines.
symfs_serve plain
U=$URL_plain
put 405 "/buildid/$ID/debuginfo" "$DEBUG"
tr -d '\r' <"$TMP/head" | grep -qi '^allow: GET, HEAD, OPTIONS$' || fail "Allow: $(cat "$TMP/head")"
ask 404 /upload/ -F a.zip=@"$PROG"
"$SYMFS" serve --no-default-sources --upload --anyone --listen 0.0.0.0:0 --cache "$TMP/open" >"$TMP/open.log" 2>&1
[ $? = 2 ] || fail "uploads for everybody without a token"
grep -q 'uploads need --token-file' "$TMP/open.log" || fail "$(cat "$TMP/open.log")"

# ---- a full disk ------------------------------------------------------------------------------
if [ "$(id -u)" = 0 ] && mkdir "$TMP/disk" && mount -t tmpfs -o size=9m none "$TMP/disk" 2>/dev/null; then
  MOUNTS="$MOUNTS $TMP/disk"
  symfs_serve full --upload --cache "$TMP/disk/store" --min-free 0
  U=$URL_full STORE=$TMP/disk/store
  put 201 "/buildid/$ID/debuginfo" "$DEBUG"
  put 507 "/buildid/$LIB/executable" "$TMP/large"
  says "the disk of the server is full"
  put 507 "/buildid/$LIB/executable" "$TMP/large" -H Expect:
  no_drafts || fail "a draft on a full disk stays"
  put 201 "/buildid/$ID/executable" "$PROG"
  ask 200 "/buildid/$ID/debuginfo"
  same_file "$TMP/body" "$DEBUG"
  symfs_unserve full
fi
symfs_unserve one
