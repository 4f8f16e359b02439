#!/bin/sh
# Purges of files in a team's bucket beside uploads by another server: which of both wins does not depend on clocks,
# an upload in the moment of a removal stays, a removal that was broken off ends completely or not at all, and DELETE
# also removes a file that only the bucket has.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need sqlite3
. "$top_srcdir/tests/mount/bucket-lib.sh"
small_programs fb 9
export SYMFS_TEST_BUCKET_WAIT=600000
keys_of() { grep -ls "$(sha "$1")" "$ROOT"/k/*; }
is_in_bucket() { [ -n "$(keys_of "$1")" ]; }
not_in_bucket() { ! is_in_bucket "$1"; }
referred() { [ -n "$(ls "$ROOT/r/$(sha "$1")" 2>/dev/null)" ]; }
is_whole() { # NUMBER: all key objects are there, each has its reference, and the bytes are there
  [ "$(keys_of "$1" | wc -l)" = "$KEYS" ] || return 1
  for k in $(keys_of "$1"); do [ -e "$ROOT/r/$(sha "$1")/${k##*/}" ] || return 1; done
  [ -e "$ROOT/b/$(sha "$1")" ]
}
no_trace() { not_in_bucket "$1" && ! referred "$1" && no_marks; }
no_marks() { [ -z "$(find "$ROOT/x" -type f 2>/dev/null)" ]; }
settled() { [ "$(sql "$1" 'SELECT count(*) FROM outgone WHERE due = 0')" = 0 ]; }
put() { # STATUS URL NUMBER [CLASS]
  got=$(code -T "$TMP/prog$3" "$2/$(path "$3")?class=${4:-try}")
  [ "$got" = "$1" ] || fail "$store: the upload of file $3: $got, not $1: $(cat "$TMP/got")"
}
delete() { # STATUS URL NUMBER
  got=$(code -X DELETE "$2/$(path "$3")")
  [ "$got" = "$1" ] || fail "$store: DELETE of file $3: $got, not $1: $(cat "$TMP/got")"
}
# Changes the time in the key objects of a file, as if the uploading server's clock differed.
shift_time() { # NUMBER SECONDS
  for k in $(keys_of "$1"); do
    awk -F '\t' -v OFS='\t' -v by="$2" '$1 == "v1" { $7 += by } { print }' "$k" >"$TMP/shifted" || fail awk
    touch -r "$k" "$TMP/shifted" && mv "$TMP/shifted" "$k"
  done
}

scenario() { # NAME [ARGUMENTS of the store...]
  store=$1 ROOT=$TMP/root-$1
  shift
  s3_start "$store" "$ROOT" "$@"
  bucket_conf 'timeout = 600s' >"$TMP/conf"
  symfs_serve a --config "$TMP/conf" --upload
  symfs_serve b --config "$TMP/conf" --upload

  # The clock of the uploading server is an hour ahead or behind.
  put 201 "$URL_a" 1
  KEYS=$(keys_of 1 | wc -l)
  [ "$KEYS" -ge 1 ] || fail "$store: no key object: $(find "$ROOT" -type f)"
  shift_time 1 3600
  delete 204 "$URL_a" 1
  no_trace 1 || fail "$store: an upload with a clock ahead outlives its purge: $(find "$ROOT" -type f)"
  put 201 "$URL_b" 2
  shift_time 2 -3600
  canon=$(sql b "SELECT canon FROM keys k JOIN objects o ON o.id = k.object_id WHERE sha256 = '$(sha 2)' LIMIT 1")
  sql a "INSERT INTO outgone VALUES('$canon', strftime('%s', 'now') - 100, 0, 0)"
  wait_for settled a || fail "$store: the purge stays queued"
  is_whole 2 && no_marks || fail "$store: an upload after the purge ended: $(find "$ROOT" -type f)"

  # DELETE of a file that this server never had: under all keys; the other server's copy stays, and so does its pin.
  delete 204 "$URL_a" 2
  no_trace 2 || fail "$store: DELETE of a file of the bucket: $(find "$ROOT" -type f)"
  [ "$(code "$URL_b/$(path 2)")" = 200 ] || fail "$store: the copy of the other server is gone"
  delete 404 "$URL_a" 2
  # The same file again: the answer says that the bucket has it, although the server has had it all the time.
  put 200 "$URL_b" 2
  is_whole 2 || fail "$store: an upload of a file that was stored is not in the bucket: $(find "$ROOT" -type f)"
  put 201 "$URL_b" 9 keep
  delete 204 "$URL_a" 9
  put 200 "$URL_b" 9 keep
  is_whole 9 || fail "$store: a kept file that is uploaded again is not in the bucket: $(find "$ROOT" -type f)"

  # An upload to b begins in the moment in which a has written its mark, or removes the key object.
  put 201 "$URL_a" 3
  for moment in 'PUT x/*' 'DELETE k/*' 'DELETE r/*'; do
    hook "${moment% *}" "${moment#* }" <<END
curl -sS --max-time 300 --noproxy '*' -o "$TMP/beside.text" -w '%{http_code}\n' -T "$TMP/prog3" \
  "$URL_b/$(path 3)?class=keep" >"$TMP/beside" 2>&1 </dev/null &
END
    : >"$TMP/beside"
    delete 204 "$URL_a" 3
    hook_ran
    wait_for grep -q . "$TMP/beside"
    grep -q '^20[01]$' "$TMP/beside" ||
      fail "$store, $moment: the upload beside a purge: $(cat "$TMP/beside" "$TMP/beside.text")"
    is_whole 3 && no_marks ||
      fail "$store, $moment: an acknowledged upload is not in the bucket: $(find "$ROOT" -type f)"
    [ "$(cut -f2 "$ROOT/e/$(sha 3)")" = 9223372036854775807 ] || fail "$store, $moment: the upload lost its end"
    # Both have it again.
    put 200 "$URL_b" 3 keep
    case $moment in DELETE\ r*) ;; *) code -T "$TMP/prog3" "$URL_a/$(path 3)" >/dev/null ;; esac
  done

  # The server is killed after it has removed the key object of a purged file.
  put 201 "$URL_a" 4
  hook DELETE 'k/*' <<END
kill -9 $PID_a
END
  code -X DELETE "$URL_a/$(path 4)" >/dev/null 2>&1
  wait_gone "$PID_a"
  hook_ran
  symfs_serve a --config "$TMP/conf" --upload
  wait_for no_trace 4 ||
    fail "$store: a removal that was broken off leaves: $(find "$ROOT/k" "$ROOT/r" "$ROOT/x" -type f)"
  # So of an expired file, which another server holds in this moment: it is written again.
  put 201 "$URL_a" 5
  printf 'e1\t1000\t2592000\n' >"$ROOT/e/$(sha 5)"
  hook DELETE 'k/*' <<END
kill -9 $PID_a
printf 'e1\t9223372036854775807\t0\n' >"$TMP/end" && mv "$TMP/end" "$ROOT/e/$(sha 5)"
END
  sql a "UPDATE objects SET ends = 1000 WHERE ends > 0"
  "$SYMFS" cache expire --no-default-sources --cache "$TMP/store-a" >"$TMP/out" 2>&1 ||
    fail "expire: $(cat "$TMP/out")"
  wait_gone "$PID_a"
  hook_ran
  ! is_whole 5 || fail "$store: the server was not killed in between"
  symfs_serve a --config "$TMP/conf" --upload
  restored() { is_whole 5 && no_marks; }
  wait_for restored || fail "$store: a held file is not written again: $(find "$ROOT" -type f)"

  # A server that was killed there and does not come back: an upload to another server, and gc, settle its removal.
  put 201 "$URL_b" 6
  put 201 "$URL_b" 7
  for n in 6 7 9; do
    for k in $(keys_of $n); do
      mkdir -p "$ROOT/x/${k##*/}"
      mv "$k" "$ROOT/x/${k##*/}/$(sha 1)"
      touch -d '2 days ago' "$ROOT/x/${k##*/}/$(sha 1)"
    done
  done
  printf 'e1\t1000\t2592000\n' >"$ROOT/e/$(sha 7)"
  echo malformed >"$ROOT/e/$(sha 9)" # can be a hold
  put 200 "$URL_b" 6
  is_whole 6 || fail "$store: an upload behind a mark of a dead server: $(find "$ROOT" -type f)"
  "$SYMFS" cache gc --bucket --no-default-sources --config "$TMP/conf" --cache "$TMP/store-gc" \
    >"$TMP/out" 2>&1 || fail "gc: $(cat "$TMP/out")"
  no_trace 7 || fail "$store: gc leaves a removal of a dead server: $(find "$ROOT" -type f)"
  is_whole 9 || fail "$store: gc removes a key whose file may be held: $(find "$ROOT" -type f)"

  # The bucket is away: a purge of a stored file is queued and done later; of a file that only the bucket has it is
  # refused.
  put 201 "$URL_a" 8
  : >"$ROOT/.no-bucket"
  delete 202 "$URL_a" 8
  delete 503 "$URL_a" 6
  rm "$ROOT/.no-bucket"
  wait_for no_trace 8 || fail "$store: a queued purge is lost: $(find "$ROOT" -type f)"
  is_whole 6 || fail "$store: a refused purge was done"
  for name in a b; do
    symfs_unserve $name
    rm -rf "$TMP/store-$name"
  done
  kill $s3_pid
  wait_gone $s3_pid
}

scenario plain
scenario ahead --clock 3600
scenario behind --clock -3600
scenario ignoring --ignore-conditions
exit 0
