#!/bin/sh
# The order of changes to a team's bucket by several servers: an upload after a purge stays, although dates have whole
# seconds; the better of two files stays; a purge reaches all keys of a file; one mark that cannot be settled does not
# end symfs cache gc --bucket.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need strip sqlite3
. "$top_srcdir/tests/mount/bucket-lib.sh"
ROOT=$TMP/root
small_programs fc 9
export SYMFS_TEST_BUCKET_WAIT=600000
keys_of() { grep -ls "$(sha "$1")" "$ROOT"/k/*; }
count() { keys_of "$1" | wc -l; }
is_whole() { # NUMBER: all key objects are there, each has its reference, and the bytes are there
  [ "$(count "$1")" = "$KEYS" ] || return 1
  for k in $(keys_of "$1"); do [ -e "$ROOT/r/$(sha "$1")/${k##*/}" ] || return 1; done
  [ -e "$ROOT/b/$(sha "$1")" ]
}
no_marks() { [ -z "$(find "$ROOT/x" -type f 2>/dev/null)" ]; }
no_trace() { [ "$(count "$1")" = 0 ] && [ -z "$(ls "$ROOT/r/$(sha "$1")" 2>/dev/null)" ] && no_marks; }
put() { # STATUS URL NUMBER [FILE]
  got=$(code -T "${4:-$TMP/prog$3}" "$2/$(path "$3")?class=try")
  [ "$got" = "$1" ] || fail "the upload of file $3: $got, not $1: $(cat "$TMP/got")"
}
delete() { # STATUS URL NUMBER
  got=$(code -X DELETE "$2/$(path "$3")")
  [ "$got" = "$1" ] || fail "DELETE of file $3: $got, not $1: $(cat "$TMP/got")"
}
# Uploads a file in the moment of the hook. The test then looks at the status that the client got.
upload_beside() { # URL NUMBER [FILE]
  : >"$TMP/beside"
  printf 'curl -sS --max-time 300 --noproxy "*" -o "%s" -w "%%{http_code}\\n" -T "%s" "%s" >"%s" 2>&1 </dev/null\n' \
    "$TMP/beside.text" "${3:-$TMP/prog$2}" "$1/$(path "$2")?class=try" "$TMP/beside"
}
uploaded_beside() {
  hook_ran
  wait_for grep -q . "$TMP/beside"
  grep -q '^20[01]$' "$TMP/beside" || fail "the upload beside: $(cat "$TMP/beside" "$TMP/beside.text")"
}
store() { # NAME [PORT [OPTION]]: a store that serves $ROOT; sets s3_pid and s3_url
  s3_start "$1" "$ROOT" --port "${2:-0}" ${3:-}
  bucket_conf 'timeout = 600s' >"$TMP/$1.conf"
}
store main 0 --bare-etag
store other
symfs_serve a --config "$TMP/main.conf" --upload
symfs_serve b --config "$TMP/main.conf" --upload
symfs_serve c --config "$TMP/other.conf" --upload

# ---- an upload in the same second as a purge -----------------------------------------------------------------------
# To the same server, after the purge was queued, and before it has marked the keys.
put 201 "$URL_a" 1
KEYS=$(count 1)
[ "$KEYS" -ge 1 ] || fail "no key object: $(find "$ROOT" -type f)"
upload_beside "$URL_a" 1 | hook GET 'k/*'
delete 204 "$URL_a" 1
uploaded_beside
marks_ended() { [ "$(grep -c '^DELETE /symbols/x/' "$TMP/main.requests")" -ge "$KEYS" ]; }
wait_for marks_ended || fail "the purge has not marked the keys: $(cat "$TMP/main.requests")"
is_whole 1 && no_marks || fail "an upload to the purging server is lost: $(find "$ROOT" -type f)"
# To another server, when the purge was answered, while the bucket does not answer the purging server.
put 201 "$URL_c" 2
kill "$s3_pid"
wait_gone "$s3_pid"
put 503 "$URL_c" 3
delete 202 "$URL_c" 2
put 201 "$URL_b" 2
is_whole 2 || fail "an upload is not in the bucket: $(find "$ROOT" -type f)"
store other "${s3_url##*:}"
settled() { [ "$(sqlite3 -cmd '.timeout 300000' "$TMP/store-c/index.sqlite" 'SELECT count(*) FROM outgone')" = 0 ]; }
wait_for settled || fail "the purge stays queued: $(cat "$TMP/other.requests")"
wait_for no_marks
is_whole 2 || fail "an upload after the answer to a purge is lost: $(find "$ROOT" -type f)"

# ---- a better file takes a key, and a still better one comes in between --------------------------------------------
strip -o "$TMP/least" "$TMP/prog4"
strip -g -o "$TMP/middle" "$TMP/prog4"
put 201 "$URL_a" 4 "$TMP/least"
upload_beside "$URL_b" 4 | hook GET 'k/*'
put 201 "$URL_a" 4 "$TMP/middle"
uploaded_beside
is_whole 4 || fail "a better file lost its key: $(grep -l . "$ROOT"/k/*; cat "$ROOT"/k/*; cat "$TMP/main.requests")"

# ---- a file of the class "try", however good, and a poorer one of another class, by different servers --------------
for n in 8 9; do
  strip -o "$TMP/poor" "$TMP/prog$n"
  poor=$(sha256sum <"$TMP/poor" | cut -d' ' -f1)
  [ $n = 8 ] || put 201 "$URL_b" $n
  got=$(code -T "$TMP/poor" "$URL_a/$(path $n)?class=default")
  [ "$got" = 201 ] || fail "a poor file of the class default: $got"
  [ $n = 9 ] || put 201 "$URL_b" $n
  wait_for drained "$URL_a" && wait_for drained "$URL_b" || fail "file $n stays queued"
  key=$(grep -l "^v1	elf_code $(id $n)" "$ROOT"/k/*) && grep -q "$poor" "$key" ||
    fail "file $n: an upload of try has the key of the program: $(cat "$ROOT"/k/*)"
done

# ---- a file with more keys than a purge removes at once ------------------------------------------------------------
put 201 "$URL_a" 5
for k in $(keys_of 5); do
  what=$(sed -n "s/^v1	\([a-z_]* $(id 5)\).*/\1/p" "$k")
  [ "$(printf %s "$what" | sha256sum | cut -d' ' -f1)" = "${k##*/}" ] || fail "the key of $k: $(cat "$k")"
  n=0
  while [ $n -lt "${SYMFS_TEST_KEYS:-70}" ]; do
    n=$((n + 1))
    other=$(printf 'fd%06d%032d' $n 9)
    digest=$(printf %s "${what%% *} $other" | sha256sum | cut -d' ' -f1)
    sed "s/$(id 5)/$other/g" "$k" >"$ROOT/k/$digest"
    : >"$ROOT/r/$(sha 5)/$digest"
  done
done
[ "$(count 5)" -gt 70 ] || fail "$(count 5) keys"
code -X DELETE "$URL_b/$(path 5)" >"$TMP/delete-code" # a server that lacks the file; of very many keys, 202
purged() { no_trace 5; }
wait_for purged || fail "a purge leaves $(count 5) keys: $(find "$ROOT/r/$(sha 5)" "$ROOT/x" -type f | head)"
is_whole 1 && is_whole 2 || fail "the purge removed other files"

# ---- a removal of a dead server that cannot be settled -------------------------------------------------------------
gc() { "$SYMFS" cache gc --bucket $1 --no-default-sources --config "$TMP/main.conf" \
  --cache "$TMP/store-gc" >"$TMP/out" 2>"$TMP/err"; }
for n in 6 7; do
  put 201 "$URL_a" $n
  for k in $(keys_of $n); do
    mkdir -p "$ROOT/x/${k##*/}"
    mv "$k" "$ROOT/x/${k##*/}/$(sha 1)"
    touch -d '2 days ago' "$ROOT/x/${k##*/}/$(sha 1)"
  done
  rm -f "$ROOT/e/$(sha $n)"
done
first=$(cd "$ROOT/x" && find . -type f | LC_ALL=C sort | head -n 1)
first=x/${first#./}
printf %s "$first" >"$ROOT/.refuse"
gc
status=$?
[ $status = 3 ] || fail "gc with a mark that cannot be settled: $status $(cat "$TMP/out" "$TMP/err")"
grep -q "$first: the removal" "$TMP/err" && grep -q 'unfinished removals of keys: 1 left' "$TMP/err" &&
  grep -q '^removed 0 of' "$TMP/out" ||
  fail "gc with a mark that cannot be settled: $(cat "$TMP/out" "$TMP/err")"
[ "$(find "$ROOT/x" -type f)" = "$ROOT/$first" ] || fail "gc settled: $(find "$ROOT/x" -type f)"
gc --json
[ $? = 3 ] && grep -q '"removals_stuck": *1' "$TMP/out" || fail "gc --json: $(cat "$TMP/out" "$TMP/err")"
rm "$ROOT/.refuse"
gc || fail "gc: $(cat "$TMP/out" "$TMP/err")"
no_trace 6 && no_trace 7 || fail "gc left: $(find "$ROOT/x" -type f)"
for name in a b c; do symfs_unserve $name; done
exit 0
