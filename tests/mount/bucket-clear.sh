#!/bin/sh
# Uploads into a team's bucket, and their end: an upload is answered when the bucket has it, other servers find it
# then, a purged key ends in the bucket, and symfs cache gc --bucket removes bytes without references.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/bucket-lib.sh"
store() { # NAME CONF [ARGS...]: a store that serves $TMP/root
  store_name=$1 store_conf=$2
  shift 2
  s3_start "$store_name" "$TMP/root" "$@"
  bucket_conf 'prefix = team' 'timeout = 600s' >"$store_conf"
}
store empty "$TMP/conf-empty" --empty-page
store s3 "$TMP/conf"
small_programs cd 3
export SYMFS_TEST_BUCKET_WAIT=600000
symfs_serve a --config "$TMP/conf" --upload
symfs_serve b --config "$TMP/conf" --upload
path() { echo "buildid/$(id "$1")/executable"; }
gc() { env SYMFS_TEST_GRACE="$1" "$SYMFS" cache gc --bucket $2 \
  --no-default-sources --config "${3:-$TMP/conf}" --cache "$TMP/store-gc" >"$TMP/out" 2>"$TMP/err"; }
objects() { find "$TMP/root/team/$1" -type f 2>/dev/null | wc -l; }

# ---- an upload is in the bucket when it is answered, and other servers find it, also after a miss
# -------------------
[ "$(code "$URL_b/$(path 1)")" = 404 ] || fail "a missing file"
put() { code -T "$TMP/prog$1" "$URL_a/debuginfod/$(path "$1")"; } # NUMBER
got=$(put 1)
[ "$got" = 201 ] || fail "the upload: $got $(cat "$TMP/got")"
[ "$(objects b)" = 1 ] && [ "$(objects k)" -ge 1 ] || fail "the upload was answered before the bucket had it"
found() { [ "$(code "$URL_b/$(path 1)")" = 200 ]; }
wait_for found || fail "the other server does not find the upload"
same_file "$TMP/got" "$TMP/prog1"

# ---- without the bucket, an upload is not acknowledged, and nothing is lost ----------------------------------------
kill -STOP $s3_pid
put 2 >"$TMP/put2" &
put_pid=$!
waits() { fetch_url "$URL_a/metrics" | grep -q '^symfs_bucket_queued_files 1$'; }
wait_for waits || fail "the upload is not queued"
gone $put_pid && fail "an upload was acknowledged without the bucket: $(cat "$TMP/put2")"
kill -CONT $s3_pid
wait $put_pid
[ "$(cat "$TMP/put2")" = 201 ] || fail "the upload after the pause: $(cat "$TMP/put2")"

# ---- gc: nothing to do; a purged key; the grace; what an ended run left --------------------------------------------
gc 0 || fail "gc: $(cat "$TMP/err")"
[ "$(objects b)" = 2 ] || fail "gc removed a file in use: $(cat "$TMP/out")"
got=$(code -X DELETE "$URL_a/debuginfod/$(path 1)")
[ "$got" = 204 ] || fail "DELETE: $got"
sha=$(sha256sum <"$TMP/prog1" | cut -d' ' -f1)
ended() { [ ! -e "$TMP/root/team/r/$sha" ] || [ -z "$(ls "$TMP/root/team/r/$sha")" ]; }
wait_for ended || fail "the purged key is still in the bucket: $(find "$TMP/root/team")"
[ -e "$TMP/root/team/b/$sha" ] || fail "the bytes went before gc"
gc 86400 || fail "gc: $(cat "$TMP/err")"
[ -e "$TMP/root/team/b/$sha" ] || fail "gc removed a young file: $(cat "$TMP/out")"
gc 0 --dry-run || fail "gc --dry-run: $(cat "$TMP/err")"
grep -q "would remove $sha" "$TMP/out" && [ -e "$TMP/root/team/b/$sha" ] || fail "gc --dry-run: $(cat "$TMP/out")"
gc 0 || fail "gc: $(cat "$TMP/err")"
[ ! -e "$TMP/root/team/b/$sha" ] && [ "$(objects b)" = 1 ] || fail "gc did not remove it: $(cat "$TMP/out")"
[ "$(objects t)" = 0 ] || fail "gc left something aside"
# A reference appeared while an ended run had moved the file aside. Its listing can begin with an empty page, or with
# an object of another program.
keep=$(sha256sum <"$TMP/prog2" | cut -d' ' -f1)
mkdir -p "$TMP/root/team/t"
put_back() { # WHAT [CONF]
  mv "$TMP/root/team/b/$keep" "$TMP/root/team/t/$keep"
  gc 0 "" "$2" || fail "gc, $1: $(cat "$TMP/err")"
  [ -e "$TMP/root/team/b/$keep" ] && [ "$(objects t)" = 0 ] ||
    fail "a file in use was not put back, $1: $(cat "$TMP/out"; find "$TMP/root/team")"
  same_file "$TMP/root/team/b/$keep" "$TMP/prog2"
}
put_back plain
put_back 'an empty page' "$TMP/conf-empty"
: >"$TMP/root/team/r/$keep/!marker"
put_back 'a foreign object'

# ---- a listing without an end: the run fails instead of asking for ever --------------------------------------------
kept_pid=$s3_pid
for kind in empty same foreign; do
  store $kind-pages "$TMP/conf-endless" --$kind-pages
  gc 0 --dry-run "$TMP/conf-endless" && fail "a listing without an end is complete, $kind: $(cat "$TMP/out")"
  [ "$(wc -l <"$TMP/$kind-pages.requests")" -lt 200 ] ||
    fail "requests, $kind: $(wc -l <"$TMP/$kind-pages.requests")"
done
s3_pid=$kept_pid

# ---- many keys: constant memory, a listing of pages ----------------------------------------------------------------
n=0
while [ $n -lt 2500 ]; do
  n=$((n + 1))
  fake=$(printf '%064x' $n)
  : >"$TMP/root/team/b/$fake"
  [ $((n % 5)) = 0 ] || { mkdir -p "$TMP/root/team/r/$fake"; : >"$TMP/root/team/r/$fake/$fake"; }
done
gc 0 --dry-run || fail "gc of many: $(cat "$TMP/err")"
grep -q '^would remove 500 of 2501 files' "$TMP/out" || fail "gc of many: $(tail -n 1 "$TMP/out")"

"$SYMFS" cache gc --bucket --no-default-sources --cache "$TMP/store-gc" >"$TMP/out" 2>&1
[ $? = 2 ] || fail "gc without a bucket"
grep -q '\[bucket\]' "$TMP/out" || fail "gc without a bucket: $(cat "$TMP/out")"
symfs_unserve a
symfs_unserve b

# ---- sym_upload: after "try again later" the last request can be repeated ------------------------------------------
export SYMFS_TEST_BUCKET_WAIT=500
symfs_serve e --config "$TMP/conf" --upload
export SYMFS_TEST_BUCKET_WAIT=600000
sym_id=3249D99D0C4049318610F4E4FB0B69361
printf 'MODULE windows x86 %s a.pdb\nFUNC 1 2 0 g\n1 2 3 0\n' $sym_id >"$TMP/a.sym"
[ "$(code -X POST -d '' "$URL_e/v1/uploads:create")" = 200 ] || fail "uploads:create: $(cat "$TMP/got")"
sym_key=$(sed -n 's/.*"uploadKey": "\([^"]*\)".*/\1/p' "$TMP/got")
[ "$(code -T "$TMP/a.sym" "$URL_e/v1/uploads/$sym_key")" = 200 ] || fail "the bytes: $(cat "$TMP/got")"
completes() { # STATUS
  got=$(code -d "{ symbol_id: {debug_file: \"a.pdb\", debug_id: \"$sym_id\" }, symbol_upload_type: \"BREAKPAD\" }" \
    "$URL_e/v1/uploads/$sym_key:complete")
  [ "$got" = "$1" ]
}
complete() { completes "$1" || fail "complete: $got, not $1: $(cat "$TMP/got")"; }
kill -STOP $s3_pid
complete 503
complete 503
kill -CONT $s3_pid
drained_e() { fetch_url "$URL_e/metrics" | grep -q '^symfs_bucket_queued_files 0$'; }
wait_for drained_e || fail "the queue of the server e does not drain"
# The file is queued once more, so on a loaded machine the bucket may need longer than half a second again.
wait_for completes 200 || complete 200
complete 404

# Likewise the last part of a file by version 2 of Tecken's protocol.
printf 'MODULE windows x86 %s b.pdb\nFUNC 1 2 0 g\n1 2 3 0\n' $sym_id >"$TMP/b.sym"
size=$(wc -c <"$TMP/b.sym")
[ "$(code -d "{\"files\": [{\"key\": \"b.pdb/$sym_id/b.sym\", \"size\": $size, \"md5_hash\":
  \"$(md5sum <"$TMP/b.sym" | cut -d' ' -f1)\"}]}" "$URL_e/upload/v2/")" = 201 ] || fail "upload/v2: $(cat "$TMP/got")"
part_url=$(sed -n 's/.*"url": "\([^"]*\)".*/\1/p' "$TMP/got")
sends() { # STATUS
  got=$(code -X PUT -H "Content-Range: bytes 0-$((size - 1))/$size" --data-binary "@$TMP/b.sym" "$part_url")
  [ "$got" = "$1" ]
}
send() { sends "$1" || fail "a part: $got, not $1: $(cat "$TMP/got")"; }
kill -STOP $s3_pid
send 503
send 503
kill -CONT $s3_pid
wait_for drained_e || fail "the queue of the server e does not drain after a part"
wait_for sends 200 || send 200
send 404
symfs_unserve e

# ---- credentials that may write but not delete: uploads go on ------------------------------------------------------
store keeping "$TMP/conf-keeping" --no-delete
symfs_serve d --config "$TMP/conf-keeping" --upload
for n in 2 3; do
  got=$(code -T "$TMP/prog$n" "$URL_d/debuginfod/$(path $n)")
  case $got in 20?) ;; *) fail "an upload of file $n: $got $(cat "$TMP/got")" ;; esac
  got=$(code -X DELETE "$URL_d/debuginfod/$(path $n)")
  [ "$got" = 202 ] || fail "DELETE of file $n: $got"
done
refused() { [ "$(grep '^DELETE /symbols/team/k/.* 403 ' "$TMP/keeping.requests" | cut -d' ' -f2 | sort -u |
  wc -l)" -ge 2 ]; }
wait_for refused || fail "the first refused key blocks the second: $(grep DELETE "$TMP/keeping.requests")"
got=$(code -T "$TMP/prog1" "$URL_d/debuginfod/$(path 1)")
[ "$got" = 201 ] || fail "an upload after a refused DELETE: $got $(cat "$TMP/got")"
grep -q 'uploads are retried' "$TMP/d.log" && fail "a refused DELETE pauses uploads: $(cat "$TMP/d.log")"
wait_for grep -q 'their removal is tried again' "$TMP/d.log"
[ "$(grep -c 'their removal is tried again' "$TMP/d.log")" = 1 ] ||
  fail "the refusals are not logged once: $(cat "$TMP/d.log")"
symfs_unserve d
exit 0
