#!/bin/sh
# The rules of symfs serve that its configuration and its clients set: bounds of requests.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl

# get NAME WANTED-STATUS PATH [CURL-ARGS...]: body in $TMP/body, head in $TMP/head.
get() {
  get_url=$1 get_want=$2 get_path=$3
  shift 3
  : >"$TMP/body"
  get_got=$(fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$get_url$get_path") || fail "curl $get_path: $?"
  [ "$get_got" = "$get_want" ] || fail "$get_path $*: $get_got, wanted $get_want: $(head -c 300 "$TMP/body")"
}
says() { [ "$(cat "$TMP/body")" = "$1" ] || fail "$get_path: not \"$1\" but $(head -c 300 "$TMP/body")"; }

# ---- bounds of requests ------------------------------------------------------------------
cat >"$TMP/small.conf" <<'EOF'
[symbolicate]
bytes = 2K
jobs = 2
modules = 3
stacks = 4
frames = 5
EOF
mkdir "$TMP/up"
symfs_serve small --config "$TMP/small.conf" --source "breakpad@$TMP/up"
SYMBOLICATE="$SYMFS symbolicate --no-default-sources --config $TMP/small.conf --cache $TMP/store-cmd"
module='["a.so", "111111111111111111111111111111110"]'
# refused STATUS TITLE BODY: over HTTP and by the command.
refused() {
  printf %s "$3" >"$TMP/request"
  get "$URL_small" "$1" /symbolicate/v5 -H Expect: --data-binary "@$TMP/request"
  says "{\"title\": \"$2\"}"
  $SYMBOLICATE "$TMP/request" >"$TMP/body" 2>"$TMP/err"
  [ $? = 1 ] || fail "symfs symbolicate takes $3"
  says "{\"title\": \"$2\"}"
}
limit() { echo "please limit number of $1 in a single request to <= $2"; }
job="{\"memoryMap\": [$module], \"stacks\": [[[0, 1]]]}"
refused 400 "$(limit jobs 2)" "{\"jobs\": [$job, $job, $job]}"
refused 413 "$(limit modules 3)" "{\"memoryMap\": [$module, $module, $module, $module], \"stacks\": [[[0, 1]]]}"
refused 413 "$(limit stacks 4)" "{\"memoryMap\": [$module], \"stacks\": [[], [], [], [], []]}"
refused 413 "$(limit frames 5)" "{\"memoryMap\": [$module], \"stacks\": [[[0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]]}"
head -c 3000 /dev/zero | tr '\0' ' ' >"$TMP/long"
refused 413 "please limit the size of a request to <= 2048 bytes" "$(cat "$TMP/long")x"
get "$URL_small" 413 /symbolicate/v5 --data-binary "@$TMP/long" -H Expect: -H 'Transfer-Encoding: chunked'
says '{"title": "please limit the size of a request to <= 2048 bytes"}'
$SYMBOLICATE <"$TMP/long" >"$TMP/body" && fail "a long request on stdin is taken"
says '{"title": "please limit the size of a request to <= 2048 bytes"}'
get "$URL_small" 200 /symbolicate/v5 -d "{\"jobs\": [$job, $job]}"
printf '[symbolicate]\nframes = many\n' >"$TMP/bad.conf"
"$SYMFS" symbolicate --no-default-sources --config "$TMP/bad.conf" "$TMP/request" >"$TMP/body" 2>"$TMP/err"
[ $? = 2 ] && grep -q 'bad.conf:2: frames' "$TMP/err" || fail "a bound that is no number: $(cat "$TMP/err")"
symfs_unserve small
exit 0
