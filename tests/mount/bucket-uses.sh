#!/bin/sh
# Classes of uploads in a team's bucket: a use on another server renews an upload, the last of several holds decides
# when a key ends, also where two servers change the bucket in the same moment, and a bucket that does not answer
# refuses uploads.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need sqlite3
. "$top_srcdir/tests/mount/bucket-lib.sh"
ROOT=$TMP/root
s3_start s3 "$ROOT"
bucket_conf 'timeout = 600s' >"$TMP/conf"
export SYMFS_TEST_BUCKET_WAIT=3600000 # longer than the test may take
small_programs ce 7
symfs_serve a --config "$TMP/conf" --upload
symfs_serve b --config "$TMP/conf" --upload
until_of() { head -n 1 "$ROOT/e/$(sha "$1")" 2>/dev/null | cut -f2; } # NUMBER
is_in_bucket() { grep -qs "$(sha "$1")" "$ROOT"/k/*; }
put() { # SERVER NUMBER CLASS
  eval "put_url=\$URL_$1"
  # shellcheck disable=SC2154 # set by eval
  put_code=$(code -T "$TMP/prog$2" "$put_url/$(path "$2")?class=$3")
  case $put_code in 20?) ;; *) fail "the upload of file $2 to $1: $put_code $(cat "$TMP/got")" ;; esac
}

# Another server writes this end (UNTIL AGE) of file NUMBER, once, in the moment of the first request that matches.
hook() { # NUMBER METHOD PATTERN UNTIL AGE
  cat >"$TMP/hook.new" <<END
#!/bin/sh
case "\$1 \$2" in "$2 "$3) ;; *) exit 0 ;; esac
mv "$TMP/hook" "$TMP/hook.ran" 2>/dev/null || exit 0
printf 'e1\t$4\t$5\n' >"$TMP/end" && mv "$TMP/end" "$ROOT/e/$(sha "$1")"
END
  rm -f "$TMP/hook.ran"
  chmod +x "$TMP/hook.new" && mv "$TMP/hook.new" "$TMP/hook"
}
hook_ran() { [ -e "$TMP/hook.ran" ] || fail "no request ran the hook: $(cat "$TMP/s3.requests")"; }

# ---- what a server writes --------------------------------------------------------------------------------
now=$(date +%s)
for n in 1 2 3 6 7; do put a $n try; done
later=$(date +%s)
for n in 1 2 3 6 7; do
  [ "$(until_of $n)" -ge $((now + 2592000)) ] && [ "$(until_of $n)" -le $((later + 2592001)) ] ||
    fail "the end of file $n: $(cat "$ROOT/e/$(sha $n)")"
done
put b 3 keep
[ "$(until_of 3)" = 9223372036854775807 ] || fail "the end of a file that b keeps: $(cat "$ROOT/e/$(sha 3)")"
put a 3 try
[ "$(until_of 3)" = 9223372036854775807 ] || fail "a shorter hold shortens the end: $(cat "$ROOT/e/$(sha 3)")"

# Another server changes the end between b's GET and b's PUT.
hook 7 GET "e/*" 9223372036854775807 0
put b 7 default
hook_ran
[ "$(until_of 7)" = 9223372036854775807 ] || fail "b replaces a later end: $(cat "$ROOT/e/$(sha 7)")"

# ---- a use on b renews what a holds ----------------------------------------------------------------------
for n in 1 2; do printf 'e1\t1000\t2592000\n' >"$ROOT/e/$(sha $n)"; done
[ "$(code "$URL_b/$(path 1)")" = 200 ] || fail "b does not find the file"
renewed() { [ "$(until_of 1)" -gt "$now" ]; }
wait_for renewed || fail "a use on b does not renew the file"
[ "$(until_of 2)" = 1000 ] || fail "a file without a use is renewed"
# A use a day later is told again; another one on the same day is not.
printf 'e1\t1000\t2592000\n' >"$ROOT/e/$(sha 1)"
sql b "UPDATE objects SET used = used + 1 WHERE sha256 = '$(sha 1)'"
sql b "UPDATE bucket_uses SET told = told - 86401"
sql b "UPDATE objects SET used = used + 1 WHERE sha256 = '$(sha 1)'"
wait_for renewed || fail "a use a day later does not renew the file"

# ---- the uploads expire on a -----------------------------------------------------------------------------
# The end of file 2 is malformed. File 6 is held by another server in the moment in which its key is removed.
echo 'e1 and so on' >"$ROOT/e/$(sha 2)"
printf 'e1\t1000\t2592000\n' >"$ROOT/e/$(sha 6)"
hook 6 DELETE "k/*" 9223372036854775807 0
sql a "UPDATE objects SET ends = 1000 WHERE ends > 0"
"$SYMFS" cache expire --no-default-sources --cache "$TMP/store-a" >"$TMP/out" 2>&1 ||
  fail "expire: $(cat "$TMP/out")"
grep -q '5' "$TMP/out" || fail "expire: $(cat "$TMP/out")"
not_in_bucket() { ! is_in_bucket "$1"; }
logged() { grep -q "e/$(sha 2) is malformed.*tried again" "$TMP/a.log"; }
wait_for logged || fail "no word of the malformed end: $(cat "$TMP/a.log")"
is_in_bucket 2 || fail "a file whose end is malformed left the bucket"
printf 'e1\t1000\t2592000\n' >"$ROOT/e/$(sha 2)"
wait_for not_in_bucket 2 || fail "an expired file stays in the bucket: $(grep -v PUT "$TMP/s3.requests" |
  tail -60)"
referred() { [ -n "$(ls "$ROOT/r/$(sha "$1")" 2>/dev/null)" ]; } # NUMBER
unreferred() { ! referred "$1"; }
wait_for unreferred 2 || fail "the reference of an expired file stays: $(find "$ROOT")"
settled() { [ -z "$(sql a 'SELECT canon FROM outgone WHERE due = 0')" ]; }
wait_for settled || fail "a's removals stay"
is_in_bucket 1 || fail "a file that is used on b ended"
is_in_bucket 3 || fail "a file that b keeps ended"
hook_ran
is_in_bucket 6 && referred 6 || fail "a file that was held while its key was removed ended: $(find "$ROOT")"
[ "$(code "$URL_a/$(path 1)")" = 200 ] || fail "a does not find the file in the bucket"
same_file "$TMP/got" "$TMP/prog1"
# The later end passes, too, although a has the file from the bucket again.
told() { [ "$(sql a 'SELECT count(*) FROM bucket_uses WHERE due = 1')" = 0 ]; }
wait_for told || fail "a does not tell its use"
printf 'e1\t1000\t2592000\n' >"$ROOT/e/$(sha 1)"
sql a "UPDATE outgone SET due = 1 WHERE due > 0"
wait_for not_in_bucket 1 || fail "the file does not end at its later end: $(sql a 'SELECT * FROM outgone')"
# A purge does not ask.
[ "$(code -X DELETE "$URL_b/$(path 3)")" = 204 ] || fail "DELETE: $(cat "$TMP/got")"
wait_for not_in_bucket 3 || fail "a purged file stays"

# ---- the bucket does not answer --------------------------------------------------------------------------
kill -9 $s3_pid
status=$(code -D "$TMP/head" -T "$TMP/prog4" "$URL_a/$(path 4)")
[ "$status" = 503 ] || fail "an upload without a bucket: $status $(cat "$TMP/got")"
grep -qi '^retry-after: [0-9]' "$TMP/head" || fail "no Retry-After: $(cat "$TMP/head")"
status=$(code -T "$TMP/prog5" "$URL_a/$(path 5)")
[ "$status" = 503 ] || fail "the next upload without a bucket: $status"
for name in a b; do symfs_unserve $name; done
exit 0
