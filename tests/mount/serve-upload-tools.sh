#!/bin/sh
# symfs serve --upload by the protocols of other servers: archives as Tecken's documentation sends them with curl,
# and the requests of Breakpad's sym_upload and symupload as their sources have them. Tokens, and archives with
# wrong members.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc readelf objcopy strip gzip
ZIP=$top_builddir/tests/helpers/zip-write

# texts, no patterns
says() { grep -qF -- "$1" "$TMP/body" || fail "$ask_path: not '$1' but $(head -c 400 "$TMP/body")"; }
is() { [ "$(cat "$TMP/body")" = "$1" ] || fail "$ask_path: not '$1' but $(head -c 400 "$TMP/body")"; }
no_drafts() { [ -z "$(find "$TMP/store-one/partial" -type f)" ]; }

make_program "$TMP/a" prog
GUID=3249D99D0C4049318610F4E4FB0B6936
sym() { printf 'MODULE windows x86_64 %s %s\nINFO CODE_ID 5AB380779000 AbC.dll\nFUNC 1000 10 0 main\n' "$1" "$2"; }
sym ${GUID}1 AbC.pdb >"$TMP/abc.sym"
sym ${GUID}2 Other.pdb >"$TMP/other.sym"
PROG=$TMP/a/bin/prog ID=$(build_id "$TMP/a/bin/prog")

TOKEN=0123456789abcdef1 TRY=0123456789abcdef2 READ=0123456789abcdef3
{
  echo '# symfs tokens 1'
  for line in "$TOKEN ci upload,read" "$TRY try try,read" "$READ reader read"; do
    echo "$(printf %s "${line%% *}" | sha256sum | cut -d' ' -f1) ${line#* } - public"
  done
} >"$TMP/tokens"
chmod 600 "$TMP/tokens"
symfs_serve one --upload --token-file "$TMP/tokens"
U=$URL_one
get() { ask "$1" "$2" -H "Authorization: Bearer $TOKEN"; }

# ---- Tecken -----------------------------------------------------------------------------------
$ZIP "$TMP/symbols.zip" "AbC.pdb/${GUID}1/AbC.sym" "$TMP/abc.sym" "Other.pdb/${GUID}2/Other.sym" "$TMP/other.sym" \
  prog-symbols.txt "$0" || fail zip-write
tecken() { # WANTED-STATUS ARCHIVE [CURL-ARGS...]
  te_want=$1 te_file=$2
  shift 2
  ask "$te_want" /upload/ --form "${te_file##*/}=@$te_file" "$@"
}
get 404 "/AbC.pdb/${GUID}1/AbC.sym"
tecken 403 "$TMP/symbols.zip"
is '{"error": "This requires an Auth-Token to authenticate the request"}'
tecken 403 "$TMP/symbols.zip" -H "auth-token: wrong"
is '{"error": "API Token not matched"}'
tecken 403 "$TMP/symbols.zip" -H "auth-token: $READ"
tecken 201 "$TMP/symbols.zip" -X POST -H "auth-token: $TOKEN"
says '"filename": "symbols.zip"'
says '"try_symbols": false'
says '"user": "ci"'
says '"skipped_keys": []'
says '"refused_keys": []'
says "\"size\": $(wc -c <"$TMP/symbols.zip"),"
get 200 "/AbC.pdb/${GUID}1/AbC.sym"
same_file "$TMP/body" "$TMP/abc.sym"
get 200 "/symstore/Other.pdb/${GUID}2/Other.sym"
# Again: everything is there. A label behind the token, and the field "try" on either side of the file.
tecken 201 "$TMP/symbols.zip" -H "auth-token: $TOKEN-a-label" -F try=1
says '"try_symbols": true'
says "AbC.pdb/${GUID}1/AbC.sym"
ask 201 /upload/ -F try=1 -F "s.zip=@$TMP/symbols.zip" -H "auth-token: $TRY"
says '"try_symbols": true'
tecken 201 "$TMP/symbols.zip" -H "auth-token: $TRY"
says '"try_symbols": true'

A="auth-token: $TOKEN"
ask 400 /upload/ -X POST -H "$A"
is '{"error": "Must be multipart form data with at least one file"}'
ask 400 /upload/ -F try=1 -H "$A"
is '{"error": "Must be multipart form data with at least one file"}'
ask 400 /upload/ -d url=https://example.com/symbols.zip -H "$A"
says 'downloads none from a URL'
tecken 400 "$PROG" -H "$A"
is '{"error": "Unrecognized archive file extension \"\""}'
cp "$PROG" "$TMP/not.zip"
tecken 400 "$TMP/not.zip" -H "$A"
is '{"error": "File is not a zip file"}'
head -c 300 "$TMP/symbols.zip" >"$TMP/short.zip"
tecken 400 "$TMP/short.zip" -H "$A"
ask 400 /upload/ -H "$A" -F "a.zip=@$TMP/symbols.zip" -F "b.zip=@$TMP/symbols.zip"
for name in prog.sym ../0/x "AbC.pdb/nohex/AbC.sym" /0/x a/0/b/c; do
  $ZIP "$TMP/bad.zip" "New.pdb/${GUID}3/New.sym" "$TMP/abc.sym" "$name" "$TMP/abc.sym" || fail zip-write
  tecken 400 "$TMP/bad.zip" -H "$A"
  only='Should only be <module>/<hex>/<file> or <name>-symbols.txt and nothing else.'
  says "{\"error\": \"Unrecognized file pattern. $only (First unrecognized pattern was '$name')\"}"
done
$ZIP "$TMP/twice.zip" "AbC.pdb/${GUID}1/AbC.sym" "$TMP/abc.sym" "AbC.pdb/${GUID}1/AbC.sym" "$0" || fail zip-write
tecken 400 "$TMP/twice.zip" -H "$A"
says 'contains two files both called'
# A member that is not what its name says is refused, and names itself; the others stay.
sym ${GUID}4 Good.pdb >"$TMP/good.sym"
$ZIP "$TMP/mixed.zip" "Bad.pdb/${GUID}5/Bad.sym" "$TMP/abc.sym" "Good.pdb/${GUID}4/Good.sym" "$TMP/good.sym" ||
  fail zip-write
tecken 201 "$TMP/mixed.zip" -H "$A"
says "{\"key\": \"Bad.pdb/${GUID}5/Bad.sym\", \"error\": \"does not fit"
get 200 "/Good.pdb/${GUID}4/Good.sym"
get 404 "/Bad.pdb/${GUID}5/Bad.sym"
$ZIP "$TMP/wrong.zip" "Bad.pdb/${GUID}5/Bad.sym" "$TMP/abc.sym" || fail zip-write
tecken 400 "$TMP/wrong.zip" -H "$A"
says "Bad.pdb/${GUID}5/Bad.sym: does not fit"
# A bomb: 300 MB of zeros in a member, which is never unpacked to its end.
$ZIP "$TMP/bomb.zip" -z 300000000 "Bomb.pdb/${GUID}6/Bomb.sym" "$TMP/abc.sym" || fail zip-write
tecken 413 "$TMP/bomb.zip" -H "$A"
wait_for no_drafts || fail "a draft stays after Tecken's archives"

# ---- sym_upload, second protocol --------------------------------------------------------------
# As common/linux/symbol_collector_client.cc asks, with the expressions by which it reads the answers.
field() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" "$TMP/body"; }
sym_upload() { # FILE DEBUG-FILE DEBUG-ID TYPE [CONTENT-TYPE BODY]
  ask 200 "/v1/symbols/$2/$3:checkStatus?key=$TOKEN"
  [ "$(field status)" = MISSING ] || fail "checkStatus: $(cat "$TMP/body")"
  ask 200 "/v1/uploads:create?key=$TOKEN" -X POST -d '' -H Content-Type:
  su_url=$(field uploadUrl) su_key=$(field uploadKey)
  [ -n "$su_url" ] && [ -n "$su_key" ] || fail "create: $(cat "$TMP/body")"
  su_got=$(fetch_url -o /dev/null -w '%{http_code}' -T "$1" "$su_url") || fail "PUT $su_url"
  [ "$su_got" = 200 ] || fail "PUT $su_url: $su_got"
  ask 200 "/v1/uploads/$su_key:complete?key=$TOKEN" -H "Content-Type: ${5:-application/son}" \
    -d "${6:-{ symbol_id: {debug_file: \"$2\", debug_id: \"$3\" \}, symbol_upload_type: \"$4\" \}}"
}
sym ${GUID}7 Seven.pdb >"$TMP/seven.sym"
sym_upload "$TMP/seven.sym" Seven.pdb ${GUID}7 BREAKPAD
[ "$(field result)" = OK ] || fail "complete: $(cat "$TMP/body")"
ask 200 "/v1/symbols/Seven.pdb/${GUID}7:checkStatus?key=$TOKEN"
[ "$(field status)" = FOUND ] || fail "checkStatus: $(cat "$TMP/body")"
get 200 "/Seven.pdb/${GUID}7/Seven.sym"
same_file "$TMP/body" "$TMP/seven.sym"
# With -f the client does not ask first.
ask 200 "/v1/uploads:create?key=$TOKEN" -X POST -d ''
key=$(field uploadKey) url=$(field uploadUrl)
complete() { ask "$1" "/v1/uploads/$key:complete?key=$2" -d \
  "{ symbol_id: {debug_file: \"$3\", debug_id: \"$4\" }, symbol_upload_type: \"$5\" }"; }
complete 400 "$TOKEN" Seven.pdb ${GUID}7 BREAKPAD
says 'no file was sent'
fetch_url -o /dev/null -T "$PROG" "$url" || fail PUT
fetch_url -o /dev/null -T "$TMP/seven.sym" "$url" || fail "PUT again"
complete 401 nonsense Seven.pdb ${GUID}7 BREAKPAD
complete 404 "$TRY" Seven.pdb ${GUID}7 BREAKPAD # of another token
complete 200 "$TOKEN" Seven.pdb ${GUID}7 BREAKPAD
[ "$(field result)" = DUPLICATE_DATA ] || fail "complete: $(cat "$TMP/body")"
complete 404 "$TOKEN" Seven.pdb ${GUID}7 BREAKPAD
ask 404 "/v1/uploads/$key" -T "$TMP/seven.sym"
# The body of macOS is JSON; an ELF file goes by its debug id.
DEBUG_ID=$("$SYMFS" id --json "$PROG" | grep -o '"debug_id": *"[^"]*"' | head -n 1 | sed 's/.*"\([^"]*\)"$/\1/' |
  tr -d - | tr a-f A-F)0
sym_upload "$PROG" prog "$DEBUG_ID" ELF application/json "{
  \"symbol_id\" : { \"debug_file\" : \"prog\", \"debug_id\" : \"$DEBUG_ID\" },
  \"symbol_upload_type\" : \"ELF\", \"use_async_processing\" : \"true\" }"
[ "$(field result)" = OK ] || fail "complete: $(cat "$TMP/body")"
get 200 "/buildid/$ID/executable"
same_file "$TMP/body" "$PROG"
# Refused: the file is not what the client says, or the client says nothing.
for claim in "Seven.pdb ${GUID}8 BREAKPAD 422" "Seven.pdb ${GUID}7 ELF 422" "Seven.pdb nonsense BREAKPAD 400" \
  "Seven.pdb ${GUID}7 SOURCE_MAP 400"; do
  # shellcheck disable=SC2086
  set -- $claim
  ask 200 "/v1/uploads:create?key=$TOKEN" -X POST -d ''
  key=$(field uploadKey)
  fetch_url -o /dev/null -T "$TMP/seven.sym" "$(field uploadUrl)" || fail PUT
  complete "$4" "$TOKEN" "$1" "$2" "$3"
done
ask 400 "/v1/uploads/$key:complete?key=$TOKEN" -d '{}'
ask 401 "/v1/uploads:create" -X POST -d ''
ask 403 "/v1/uploads:create?key=$READ" -X POST -d ''
ask 404 "/v1/uploads/00000000000000000000000000000000" -T "$PROG"
# The token of the query is only for this protocol.
ask 401 "/AbC.pdb/${GUID}1/AbC.sym?key=$TOKEN"
ask 403 "/upload/?key=$TOKEN" -F "s.zip=@$TMP/symbols.zip"
wait_for no_drafts || fail "a draft stays after sym_upload"

# ---- sym_upload, first protocol ------------------------------------------------------------------
sym ${GUID}9 Nine.pdb >"$TMP/nine.sym"
form() { # WANTED-STATUS DEBUG-ID FILE
  ask "$1" "/upload/symbol_file?key=$TOKEN" -F version=1 -F os=windows -F cpu=x86_64 -F debug_file=Nine.pdb \
    -F code_file=Nine.dll \
    -F "debug_identifier=$2" -F "symbol_file=@$3"
}
form 200 ${GUID}9 "$TMP/nine.sym"
get 200 "/Nine.pdb/${GUID}9/Nine.sym"
form 200 ${GUID}9 "$TMP/nine.sym"
form 422 ${GUID}8 "$TMP/nine.sym"
form 422 ${GUID}9 "$PROG"
ask 400 "/upload/symbol_file?key=$TOKEN" -F debug_file=Nine.pdb
# Forms that are none.
ask 400 "/upload/symbol_file?key=$TOKEN" -H 'Content-Type: text/plain' -d x
ask 400 "/upload/symbol_file?key=$TOKEN" -H 'Content-Type: multipart/form-data; boundary=bound' \
  --data-binary 'no boundary'
printf -- '--bound\r\nContent-Disposition: form-data; name="symbol_file"; filename="x"\r\n\r\nbytes without an end' \
  >"$TMP/form"
ask 400 "/upload/symbol_file?key=$TOKEN" -H 'Content-Type: multipart/form-data; boundary=bound' \
  --data-binary "@$TMP/form"
says 'ends too early'
seq 300 | while read -r n; do printf -- '--bound\r\nContent-Disposition: form-data; name="f%s"\r\n\r\nx\r\n' \
  "$n"; done >"$TMP/form"
printf -- '--bound--\r\n' >>"$TMP/form"
ask 400 "/upload/symbol_file?key=$TOKEN" -H 'Content-Type: multipart/form-data; boundary=bound' \
  --data-binary "@$TMP/form"
says 'more than 256 parts'
ask 400 "/upload/symbol_file?key=$TOKEN" -F "version=$(printf '%02000d' 0)" -F "symbol_file=@$TMP/nine.sym"
wait_for no_drafts || fail "a draft stays after forms"
symfs_unserve one
