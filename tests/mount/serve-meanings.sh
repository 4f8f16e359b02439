#!/bin/sh
# GSYM over HTTP for a path that can mean several files: the server converts the file that exists.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl

# The age of this id is 1a, so its digits are also those of a build id of 17 bytes.
EVEN=60/3dc0f9b83078b14c4c44205044422e1a
UP=$TMP/up/$EVEN
mkdir -p "$UP"
printf '%s\n' 'MODULE windows x86_64 603DC0F9B83078B14C4C44205044422E1A x.pdb' 'FILE 0 x.c' 'FUNC 1000 10 0 f' \
  '1000 10 1 0' >"$UP/breakpad"
upstream_start u --root "$TMP/up"

# status PATH [CURL-ARGS...]: what the server replies; the body is in $TMP/body.
status() {
  st_path=$1
  shift
  fetch_url -o "$TMP/body" -w '%{http_code}' "$@" "$URL$st_path" || fail "curl $st_path: $?"
}
is_gsym_of_x() {
  "$SYMFS" gsym lookup 0x1000 "$TMP/body" >"$TMP/looked" 2>&1
  grep -q 'f@.*x.c:1' "$TMP/looked" || fail "$*: $(cat "$TMP/looked")"
}

for source in "unified@$URL_u" "unified@$TMP/up"; do
  case $source in *http*) kind=http ;; *) kind=dir ;; esac
  for where in unified/ ''; do
    for form in gsym gsym.o; do
      name=$kind${where%/}${form#gsym}
      name=$(echo "$name" | tr -d .)
      symfs_serve "$name" --source "$source"
      eval "URL=\$URL_$name"
      path=/gsym/$where$EVEN/breakpad.$form
      [ "$(status "$path" -I)" = 200 ] || fail "$name: HEAD before it is made: $(status "$path" -I)"
      [ "$(status "$path")" = 200 ] || fail "$name: GET: $(cat "$TMP/body")"
      [ "$form" = gsym.o ] || is_gsym_of_x "$name"
      cp "$TMP/body" "$TMP/made"
      # Made now, so the same bytes answer a client without a new conversion.
      [ "$(status "$path")" = 200 ] || fail "$name: GET of what is stored: $(cat "$TMP/body")"
      same_file "$TMP/made" "$TMP/body"
      # No meaning of this path exists.
      [ "$(status "/gsym/${where}61/${EVEN#*/}/breakpad.$form")" = 404 ] ||
        fail "$name: a file that is not there: $(cat "$TMP/body")"
      symfs_unserve "$name"
    done
  done
done
