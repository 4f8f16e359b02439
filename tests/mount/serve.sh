#!/bin/sh
# symfs serve: each layout over HTTP, ranges and validators, answers for missing files and for
# sources that could not be asked, clients that disconnect, tokens, and stacks. The files come from
# a server with faults.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc readelf objcopy gzip

# get NAME WANTED-STATUS PATH [CURL-ARGS...]: body in $TMP/body, head in $TMP/head.
get() {
  get_url=$1 get_want=$2 get_path=$3
  shift 3
  : >"$TMP/body"
  get_got=$(fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$get_url$get_path") ||
    fail "curl $get_path: $?"
  [ "$get_got" = "$get_want" ] || fail "$get_path $*: $get_got, wanted $get_want: $(head -c 300 "$TMP/body")"
}
has() { tr -d '\r' <"$TMP/head" | grep -qi -- "^$1\$" || fail "$get_path: no \"$1\" in $(cat "$TMP/head")"; }
hasnt() { tr -d '\r' <"$TMP/head" | grep -qi -- "^$1" && fail "$get_path: \"$1\" in $(cat "$TMP/head")"; }
body_is() { same_file "$TMP/body" "$1"; }
says() { grep -q -- "$1" "$TMP/body" || fail "$get_path: not \"$1\" but $(head -c 300 "$TMP/body")"; }
metric() { fetch_url "$1/metrics" | sed -n "s/^symfs_$2 //p"; }

make_program "$TMP/far" prog
ID=$(build_id "$TMP/far/bin/prog")
put_gdb "$TMP/up" "$TMP/far/bin/prog"
put_gdb "$TMP/up" "$TMP/far/debug/prog.debug" .debug
SYM=AbC.pdb/3249D99D0C4049318610F4E4FB0B69361
mkdir -p "$TMP/up/$SYM"
{
  echo 'MODULE windows x86_64 3249D99D0C4049318610F4E4FB0B69361 AbC.pdb'
  seq -f 'PUBLIC %g000 0 some_function' 1 2000
} >"$TMP/up/$SYM/AbC.sym"
SYM=$SYM/AbC.sym FILE=$TMP/up/$SYM SIZE=$(wc -c <"$TMP/up/$SYM")
GDB=$(gdb_path "$ID") DEBUG=$TMP/far/debug/prog.debug

upstream_start up --root "$TMP/up"
symfs_serve one --source "breakpad@$URL_up" --source "gdb@$URL_up" --access-log "$TMP/access" --breaker-seconds 1s
U=$URL_one

# ---- files -------------------------------------------------------------------------------
get "$U" 200 "/$SYM"
body_is "$FILE"
has 'content-type: text/plain; charset=utf-8'
has 'accept-ranges: bytes'
hasnt 'access-control-allow-origin'
has "content-length: $SIZE"
tag=$(tr -d '\r' <"$TMP/head" | sed -n 's/^etag: //Ip') date=$(tr -d '\r' <"$TMP/head" |
  sed -n 's/^last-modified: //Ip')
[ -n "$tag" ] && [ -n "$date" ] || fail "no validators: $(cat "$TMP/head")"
for path in "/breakpad/$SYM" "/native/$SYM" "/$(echo "$SYM" | tr A-Z a-z)" "/try/$SYM" "//$SYM?code_file=x"; do
  get "$U" 200 "$path"
  body_is "$FILE"
  has "etag: $tag"
done
for path in "/gdb/$GDB.debug" "/$GDB.debug" "/buildid/$ID/debuginfo" "/debuginfod/buildid/$ID/debuginfo" \
  "/debuginfod/$ID/debuginfo" \
  "/unified/$(echo "$ID" | sed 's/../&\//')/debuginfo" "/symstore/prog/elf-buildid-sym-$ID/_.debug" \
  "/ssqp/_.debug/elf-buildid-sym-$ID/_.debug"; do
  case $path in /symstore/prog*) continue ;; esac
  get "$U" 200 "$path"
  body_is "$DEBUG"
done
get "$U" 200 "/buildid/$ID/executable"
body_is "$TMP/far/bin/prog"
has "x-debuginfod-size: $(wc -c <"$TMP/far/bin/prog")"
has 'content-type: application/octet-stream'
fetch_url -I "$U/gsym/breakpad/$SYM.gsym" >"$TMP/head" || fail "HEAD of what is not made yet"
has 'content-type: application/octet-stream'
get "$U" 200 "/gsym/gdb/$GDB.debug.gsym"
"$SYMFS" gsym verify "$TMP/body" >/dev/null 2>&1 || fail "the file in gsym/ is not GSYM"
get "$U" 200 /symstore2/index2.txt

# HEAD says what GET says, without a body; also of what is not here, which it does not fetch whole.
get "$U" 200 "/$SYM" -I
has "content-length: $SIZE"
has "etag: $tag"

# ---- text is compressed on request -----------------------------------------------------------
packed="$(echo "$tag" | sed 's/"$/-gzip"/')"
get "$U" 200 "/$SYM" -H 'Accept-Encoding: br, gzip'
has 'content-encoding: gzip'
has 'vary: accept-encoding'
has "etag: $packed"
hasnt content-length
hasnt accept-ranges
[ "$(wc -c <"$TMP/body")" -lt $((SIZE / 2)) ] || fail "packed: $(wc -c <"$TMP/body") of $SIZE bytes"
gzip -dc "$TMP/body" | cmp -s - "$FILE" || fail "what is inside is something else"
get "$U" 304 "/$SYM" -H 'Accept-Encoding: gzip' -H "If-None-Match: $packed"
get "$U" 200 "/$SYM" -H 'Accept-Encoding: gzip' -H "If-None-Match: $tag"
has "etag: $packed"
get "$U" 304 "/$SYM" -H "If-None-Match: $tag"
has "content-length: $SIZE"
# Not for another symfs, which wants its size, and no packed body.
get "$U" 200 "/$SYM" -H 'Accept-Encoding: gzip' -A "$("$SYMFS" --version | head -n 1 | tr ' ' /)"
hasnt content-encoding
has "content-length: $SIZE"
get "$U" 200 "/$SYM" -H "If-None-Match: $packed"
has 'vary: accept-encoding'
for refusal in 'Accept-Encoding: gzip;q=0' 'Accept-Encoding: identity' 'Range: bytes=0-'; do
  get "$U" "$(case $refusal in Range*) echo 206 ;; *) echo 200 ;; esac)" "/$SYM" -H 'Accept-Encoding:' -H "$refusal"
  hasnt content-encoding
  body_is "$FILE"
done
get "$U" 206 "/$SYM" -H 'Accept-Encoding: gzip' -H 'Range: bytes=100-299'
hasnt content-encoding
tail -c +101 "$FILE" | head -c 200 | cmp -s - "$TMP/body" || fail "a range of what could be packed"
fetch_url -I -H 'Accept-Encoding: gzip' "$U/$SYM" >"$TMP/head" || fail "HEAD"
has 'content-encoding: gzip'
hasnt content-length
get "$U" 200 "/buildid/$ID/debuginfo" -H 'Accept-Encoding: gzip'
hasnt content-encoding
body_is "$DEBUG"

# ---- ranges and validators ---------------------------------------------------------------
range() { # RANGE WANTED-STATUS OFF COUNT
  get "$U" "$2" "/$SYM" -H "Range: $1"
  [ "$2" = 206 ] || return 0
  tail -c "+$(($3 + 1))" "$FILE" | head -c "$4" >"$TMP/part"
  body_is "$TMP/part"
  has "content-range: bytes $3-$(($3 + $4 - 1))/$SIZE"
}
range bytes=0-0 206 0 1
range bytes=100-4999 206 100 4900
range bytes=-7 206 $((SIZE - 7)) 7
range "bytes=$((SIZE - 3))-" 206 $((SIZE - 3)) 3
range "bytes=$SIZE-" 416
has "content-range: bytes \*/$SIZE"
range bytes=0-1,5-6 200
body_is "$FILE"
range lines=1-2 200
get "$U" 304 "/$SYM" -H "If-None-Match: \"x\", $tag"
has "etag: $tag"
[ -s "$TMP/body" ] && fail "304 with a body"
get "$U" 304 "/$SYM" -H "If-Modified-Since: $date"
get "$U" 200 "/$SYM" -H 'If-None-Match: "x"' -H "If-Modified-Since: $date"
get "$U" 206 "/$SYM" -H "If-Range: $tag" -H 'Range: bytes=1-2'
# A date is no validator in its own second.
by_date() { [ "$(fetch_url -o "$TMP/out" -w '%{http_code}' -H "If-Range: $date" -r 1-2 "$U/$SYM")" = 206 ]; }
wait_for by_date || fail "no part by a date"
get "$U" 206 "/$SYM" -H "If-Range: $date" -H 'Range: bytes=1-2'
get "$U" 200 "/$SYM" -H 'If-Range: "x"' -H 'Range: bytes=1-2'
body_is "$FILE"

# ---- what is not there, and what could not be asked --------------------------------------
NONE=AbC.pdb/3249D99D0C4049318610F4E4FB0B69362/AbC.sym
get "$U" 404 "/$NONE"
[ "$(cat "$TMP/body")" = 'Symbol Not Found' ] || fail "words of a miss: $(cat "$TMP/body")"
has 'cache-control: no-cache'
for path in "/AbC.pdb/3249D99D0C4049318610F4E4FB0B69361/file.ptr" \
  "/x.so/000000000000000000000000000000000/x.so.sym"; do
  get "$U" 404 "$path"
  [ "$(cat "$TMP/body")" = 'Symbol Not Found (and ignored)' ] || fail "words of what is ignored: $(cat "$TMP/body")"
done
for path in /desktop.ini /symstore /.symfs/config /buildid/xyz/debuginfo \
  "/buildid/$ID/source/../../etc/passwd" /%2e%2e/%2e%2e/etc/passwd; do
  get "$U" 404 "$path" --path-as-is
done
for lead in "health at /healthz" "symbolicate to /symbolicate/v5, .* to /symbolicate/text"; do
  get "$U" 404 "/${lead%% *}"
  grep -q "^Not Found; .*${lead#* }" "$TMP/body" || fail "${lead%% *}: $(cat "$TMP/body")"
done
get "$U" 400 /a%00b
get "$U" 405 "/$SYM" -X DELETE
has 'allow: GET, HEAD, OPTIONS'
get "$U" 405 /symbolicate/v5
has 'content-type: application/json'

broken() { # KIND ARG STATUS ID-DIGIT
  upstream_fault "$URL_up" '*' "$1" "$2"
  get "$U" "$3" "/AbC.pdb/3249D99D0C4049318610F4E4FB0B693$4/AbC.sym"
  has 'cache-control: no-store'
  hasnt 'etag'
  upstream_clear "$URL_up"
}
broken status 403 502 701
broken status 500 502 711
has 'retry-after: [0-9]*'
# The source is left alone for a second now.
back() { [ "$(fetch_url -o /dev/null -w '%{http_code}' "$U/AbC.pdb/3249D99D0C4049318610F4E4FB0B693$1/AbC.sym")" = \
  404 ]; }
wait_for back 721 || fail "the source does not come back"
broken file "$SYM" 502 731
wait_for back 741 || fail "the source does not come back"
broken reset 0 502 751
wait_for back 761 || fail "the source does not come back"

# ---- a client that goes ------------------------------------------------------------------
upstream_fault "$URL_up" '*693811*' silent
curl -gsS --noproxy "*" --max-time "$WAIT_MOST" \
  "$U/AbC.pdb/3249D99D0C4049318610F4E4FB0B693811/AbC.sym" >/dev/null 2>&1 &
gone_pid=$!
waits() { [ "$(metric "$U" http_waiting)" = "$1" ]; }
wait_for waits 1 || fail "no request waits"
kill -KILL "$gone_pid"
wait "$gone_pid" 2>/dev/null
wait_for waits 0 || fail "a request without a client still waits"
[ "$(metric "$U" http_gone)" = 1 ] || fail "http_gone: $(metric "$U" http_gone)"
upstream_clear "$URL_up"

# ---- what a debugger knows of a PDB is told to the sources -----------------------------------
upstream_start nuget --root "$TMP/up" --heads "$TMP/heads"
symfs_serve sums --source "ssqp@$URL_nuget"
sum=SHA256:00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff
get "$URL_sums" 404 /ssqp/foo.pdb/497b72f6390a44fc878e5a2d63b6cc4bffffffff/foo.pdb -H "SymbolChecksum: $sum;SHA512:00"
tr -d '\r' <"$TMP/heads" | grep -qi "^SymbolChecksum: $sum\$" ||
  fail "the source did not get the checksum: $(cat "$TMP/heads")"
symfs_unserve sums

# ---- pages -------------------------------------------------------------------------------
get "$U" 200 /healthz
get "$U" 200 /metrics
says '^# TYPE symfs_http_requests counter$'
says '^symfs_http_queued 0$'
says '^symfs_source_failed{source=".*"} [0-9]'
[ "$(metric "$U" http_bytes_saved)" -gt 0 ] || fail "http_bytes_saved: $(metric "$U" http_bytes_saved)"
# Each histogram rises to its count, and all together have no more answers than requests were sent.
awk -v most="$(metric "$U" requests)" '
  /^symfs_source_seconds_bucket/ { if (!/le="0\.005"/ && $NF + 0 < top) bad = 1; top = $NF + 0; seen++ }
  /^symfs_source_seconds_count/ { if ($NF + 0 != top) bad = 1; sum += $NF }
  END { exit bad || seen < 12 || sum < 1 || sum > most }' "$TMP/body" ||
    fail "the histograms: $(grep symfs_source "$TMP/body")"
get "$U" 200 /missing.csv
says '^breakpad,3249D99D0C4049318610F4E4FB0B69362,'
get "$U" 200 "/status?path=breakpad/AbC.pdb/3249D99D0C4049318610F4E4FB0B69362/AbC.sym&x=<script>"
says 'remembered until'
says '>missing</span>'
for path in '/?path=%22%3E%3Cscript%3E' '/status?path=%22%3E%3Cscript%3E'; do
  get "$U" 200 "$path"
  says '>&quot;&gt;&lt;script&gt;</textarea>'
  [ "$(grep -c '<script' "$TMP/body")" = 1 ] ||
    fail "the page has another script than its own: $(grep '<script' "$TMP/body")"
done
hasnt 'access-control-allow-origin'
[ "$(grep -c ' "GET /healthz HTTP/1.1" 200 3 ' "$TMP/access")" = 1 ] ||
  fail "the access log: $(tail -n 3 "$TMP/access")"
# Fields that become four times as long when they are written: a line ends all the same.
junk=$(head -c 13000 /dev/zero | tr '\0' '\377')
fetch_url -A "$junk" -e "$junk" -o /dev/null "$U/healthz?long" || fail "long fields"
fetch_url -o /dev/null "$U/healthz?next"
wait_for grep -q ' "GET /healthz?next HTTP/1.1" 200 3 "-" "curl/[^"]*" [0-9]*ms$' "$TMP/access" ||
  fail "the line after a long one"
[ "$(grep -v '^127\.0\.0\.1 - - [[][^]]*[]] "[^"]*" [0-9]* [0-9]* "[^"]*" "[^"]*" [0-9]*ms\( cut\)\{0,1\}$' \
  "$TMP/access" | wc -l)" = 0 ] ||
  fail "lines of the access log: $(grep -v 'ms$' "$TMP/access" | cut -c1-200)"

# ---- tokens ------------------------------------------------------------------------------
printf 'sesame-sesame\n' >"$TMP/token"
chmod 644 "$TMP/token"
"$SYMFS" serve --no-default-sources --cache "$TMP/store-x" --listen 127.0.0.1:0 --token-file "$TMP/token" \
  >/dev/null 2>"$TMP/err"
[ $? = 2 ] || fail "a token that everybody may read"
chmod 600 "$TMP/token"
"$SYMFS" serve --no-default-sources --cache "$TMP/store-x" --listen 0.0.0.0:0 >/dev/null 2>"$TMP/err"
[ $? = 2 ] && grep -q -- '--anyone' "$TMP/err" || fail "a public address without a token: $(cat "$TMP/err")"
for wrong in nonsense 127.0.0.1 127.0.0.1:70000 '[::1:80' unix: systemd; do
  "$SYMFS" serve --no-default-sources --cache "$TMP/store-x" --listen "$wrong" >/dev/null 2>"$TMP/err"
  [ $? = 2 ] || fail "--listen $wrong: $(cat "$TMP/err")"
done
"$SYMFS" serve --no-default-sources --cache "$TMP/store-x" --listen "unix:$TMP/socket" --access-log "$TMP/none/log" \
  >"$TMP/said" 2>&1 &&
  fail "a log where no directory is"
[ ! -e "$TMP/socket" ] || fail "a server that did not start leaves its socket"
symfs_serve two --source "breakpad@$URL_up" --token-file "$TMP/token" --listen "unix:$TMP/socket"
sock="--unix-socket $TMP/socket"
get http://x 401 "/$SYM" $sock
has 'www-authenticate: Bearer realm="symfs"'
get http://x 401 "/$SYM" $sock -H 'Authorization: Bearer sesame'
get http://x 200 "/$SYM" $sock -H 'Authorization: Bearer sesame-sesame'
get http://x 200 "/$SYM" $sock -u anybody:sesame-sesame
get http://x 401 /status $sock
get http://x 200 /healthz $sock
symfs_unserve two
[ -e "$TMP/socket" ] && fail "the socket is left behind"

# ---- stacks ------------------------------------------------------------------------------
get "$U" 200 /symbolicate/v5 -d \
  '{"memoryMap": [["AbC.pdb", "3249D99D0C4049318610F4E4FB0B69361"]], "stacks": [[[0, 4100]]]}'
says '"function": "some_function"'
get "$U" 400 /symbolicate/v5 -d nonsense
says '^{"title": "Payload is not valid JSON"}$'
head -c 20000000 /dev/zero >"$TMP/large"
get "$U" 413 /symbolicate/v5 --data-binary "@$TMP/large" -H 'Expect:'
get "$U" 413 /symbolicate/v5 --data-binary "@$TMP/large" -H 'Transfer-Encoding: chunked'
get "$U" 200 /healthz
symfs_unserve one
exit 0
