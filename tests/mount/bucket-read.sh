#!/bin/sh
# A team's bucket, read by several servers: it is asked before all other sources, its bytes are judged like a
# stranger's, and its miss counts for a second.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need objcopy strip
. "$top_srcdir/tests/mount/bucket-lib.sh"
make_program "$TMP/p" prog
make_program "$TMP/q" other
id=$(build_id "$TMP/p/full/prog") other=$(build_id "$TMP/q/full/other")
[ -n "$id" ] || fail "no build id"

# put CLASS ID FILE [BYTES]: what a server writes into the bucket. BYTES: another file in the place of the bytes.
put() {
  put_sha=$(sha256sum <"$3" | cut -d' ' -f1)
  put_key=$(printf '%s %s' "$1" "$2" | sha256sum | cut -d' ' -f1)
  mkdir -p "$TMP/root/team/b" "$TMP/root/team/k"
  cp "${4:-$3}" "$TMP/root/team/b/$put_sha"
  printf 'v1\t%s %s\ttest\thttp://test/x\t1\t%s\t1700000000\nb1\t%s\n' "$1" "$2" "$(stat -c %s "$3")" "$put_sha" \
    >"$TMP/root/team/k/$put_key"
}
mkdir -p "$TMP/up/buildid/$id" "$TMP/up/buildid/$other"
s3_start s3 "$TMP/root"
cp "$TMP/p/full/prog" "$TMP/up/buildid/$id/executable"
cp "$TMP/q/full/other" "$TMP/up/buildid/$other/executable"
upstream_start up --root "$TMP/up"

bucket_conf 'prefix = team' 'read-only = yes' 'timeout = 600s' '[source "up"]' "url = $URL_up" 'type = debuginfod' |
  cat "$DEADLINES" - >"$TMP/conf"
symfs() { "$SYMFS" "$@" --no-default-sources --config "$TMP/conf" --cache "$TMP/store" >"$TMP/out" \
  2>"$TMP/err"; }
gets() { # WHAT FILE TYPE ID
  symfs get "debuginfod/buildid/$4/$3" || fail "$1: exit $? $(cat "$TMP/err")"
  same_file "$(cat "$TMP/out")" "$2"
}
upstream_gets() { upstream_count "$URL_up" get; }
asked() { grep -c "GET /symbols/team/$1" "$TMP/s3.requests"; }

# ---- a file of the bucket: no upstream request ----------------------------------------------------------
put elf_code "$id" "$TMP/p/full/prog"
gets "from the bucket" "$TMP/p/full/prog" executable "$id"
[ "$(upstream_gets)" = 0 ] || fail "upstream was asked $(upstream_gets) times"
[ "$(asked k/)" = 1 ] && [ "$(asked b/)" = 1 ] || fail "asked: $(cat "$TMP/s3.requests")"
# A warm hit touches the bucket not at all.
gets "warm" "$TMP/p/full/prog" executable "$id"
[ "$(wc -l <"$TMP/s3.requests")" = 2 ] || fail "a warm hit asked: $(cat "$TMP/s3.requests")"

# ---- not in the bucket: upstream ------------------------------------------------------------------------
gets "from upstream" "$TMP/q/full/other" executable "$other"
[ "$(upstream_gets)" = 1 ] || fail "upstream was asked $(upstream_gets) times"

# ---- wrong bytes, another build, a malformed key object: upstream, and never the wrong bytes ------------
bad() { # WHAT
  rm -rf "$TMP/store"
  upstream_reset "$URL_up"
  gets "$1" "$TMP/p/full/prog" executable "$id"
  [ "$(upstream_gets)" = 1 ] || fail "$1: upstream was asked $(upstream_gets) times"
}
cp "$TMP/p/full/prog" "$TMP/flipped"
printf '\377' | dd of="$TMP/flipped" bs=1 seek=$(($(stat -c %s "$TMP/flipped") - 900)) conv=notrunc 2>/dev/null
put elf_code "$id" "$TMP/p/full/prog" "$TMP/flipped"
bad "a flipped byte"
grep -q 'SHA-256' "$TMP/err" || fail "the log does not say it: $(cat "$TMP/err")"
put elf_code "$id" "$TMP/q/full/other"
bad "another build"
printf 'nonsense\n' >"$TMP/root/team/k/$put_key"
bad "a malformed key object"
put elf_code "$other" "$TMP/q/full/other"
other_key=$put_key
put elf_code "$id" "$TMP/p/full/prog"
cp "$TMP/root/team/k/$other_key" "$TMP/root/team/k/$put_key"
bad "the key object of another key"
put elf_code "$id" "$TMP/p/full/prog"
rm "$TMP/root/team/b/$put_sha"
bad "a key object without the bytes"
# An error of the bucket: that no other source has the file does not make it a miss.
rm -rf "$TMP/store" "$TMP/up/buildid/$id"
symfs get "debuginfod/buildid/$id/executable"
[ $? = 3 ] && grep -q 'bytes that are not there' "$TMP/err" || fail "neither bytes nor upstream: $(cat "$TMP/err")"

# ---- a remembered miss: a file that another server puts there is found -----------------------------------
rm -rf "$TMP/root/team" "$TMP/store"
symfs_serve one --config "$TMP/conf"
code() { fetch_url -o "$TMP/got" -w '%{http_code}' "$URL_one/buildid/$id/executable"; }
[ "$(code)" = 404 ] || fail "a missing file: $(code)"
put elf_code "$id" "$TMP/p/full/prog"
found() { [ "$(code)" = 200 ]; }
wait_for found || fail "not found"
same_file "$TMP/got" "$TMP/p/full/prog"

# ---- the bucket stops: what is stored is served, and other files come from upstream ------------------------
# A server that asked for a stored file would wait ten minutes; for a cold file, it waits half a second.
kill -STOP $s3_pid
[ "$(code)" = 200 ] || fail "a stored file while the bucket is stopped"
sed '/^timeout/d' "$TMP/conf" >"$TMP/conf-short"
symfs_serve short --config "$TMP/conf-short"
fetch_url -o "$TMP/got" "$URL_short/buildid/$other/executable" || fail "a cold file while the bucket is stopped"
same_file "$TMP/got" "$TMP/q/full/other"
kill -CONT $s3_pid

# ---- secrets, and mistakes of the configuration ---------------------------------------------------------------
symfs sources || fail "sources: $(cat "$TMP/err")"
cat "$TMP/out" "$TMP/err" "$TMP"/one.* "$TMP"/short.* | grep -q s3cr3t && fail "the secret is shown"
grep -q '^ *1\. bucket  *bucket ' "$TMP/out" || fail "the bucket is not the first source: $(cat "$TMP/out")"
sed '/^bucket = /d' "$TMP/conf" >"$TMP/conf2"
"$SYMFS" sources --config "$TMP/conf2" --cache "$TMP/store" >"$TMP/out" 2>&1 && fail "no bucket: accepted"
grep -q 'bucket = ' "$TMP/out" || fail "no bucket: $(cat "$TMP/out")"
exit 0
