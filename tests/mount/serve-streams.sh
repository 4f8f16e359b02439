#!/bin/sh
# symfs serve sends a file during its download: the first bytes before the source has sent the last,
# and ranges without the rest. When the source fails, the client gets fewer bytes than announced,
# and never a short answer that looks complete. Clients that disconnect leave nothing behind. A
# second symfs that mounts the first reads ranges through both.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc objcopy readelf cmp
need_mount

# ---- programs of some megabytes ----------------------------------------------------------
mkdir -p "$TMP/up" "$TMP/make"
head -c 6000000 /dev/urandom >"$TMP/make/noise"
echo 'int main(void) { return 0; }' >"$TMP/make/x.c"
n=0
# new_file: the next build; sets id, name (below the upstream), url (of serve), file, size.
new_file() {
  n=$((n + 1))
  id=$(printf 'ba%038x' $((n + 0xabcd00)))
  name=$(gdb_path "$id")
  file=$TMP/up/$name url=/buildid/$id/executable
  gcc -s -Wl,--build-id=0x"$id" -o "$TMP/make/x" "$TMP/make/x.c" || fail gcc
  mkdir -p "$(dirname "$file")"
  objcopy --add-section .noise="$TMP/make/noise" "$TMP/make/x" "$file" || fail objcopy
  size=$(stat -c %s "$file")
}

upstream_start up --root "$TMP/up"
SOURCE=gdb@$URL_up
symfs_serve one --byte-ranges always --source "$SOURCE" --breaker-seconds 1s
U=$URL_one
metric() { fetch_url "$U/metrics" | sed -n "s/^symfs_$1 //p"; }
waits() { [ "$(metric http_waiting)" = "$1" ]; }
has_bytes() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ]; }
header() { tr -d '\r' <"$TMP/head" | sed -n "s/^$1: //Ip"; }
begins() { cmp -s -n "$(stat -c %s "$1")" "$1" "$file" || fail "$1 is no beginning of $file"; }
# get_slowly [CURL-ARGS...]: in the background; body in $TMP/body, head in $TMP/head, curl_pid.
get_slowly() {
  rm -f "$TMP/body" "$TMP/head"
  curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -N -o "$TMP/body" -D "$TMP/head" "$@" "$U$url" \
    >"$TMP/curl.log" 2>&1 &
  curl_pid=$!
  PIDS="$PIDS $curl_pid"
}
ended_with() {
  wait_gone "$curl_pid" || fail "curl does not end"
  wait "$curl_pid"
  status=$?
  [ "$status" = "$1" ] || fail "curl ended with $status, wanted $1: $(cat "$TMP/curl.log" "$TMP/head")"
}
get() { fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$U$url"; }

# ---- the source has sent a part, and sends no more ---------------------------------------
new_file
upstream_fault "$URL_up" "/$name" silent-after 1000000
get_slowly
wait_for has_bytes "$TMP/body" 900000 || fail "what came is not sent: $(stat -c %s "$TMP/body") bytes"
begins "$TMP/body"
[ "$(header content-length)" = "$size" ] || fail "the length: $(cat "$TMP/head")"
tag=$(header etag)
case $tag in '"part-'*'"') ;; *) fail "the tag: $(cat "$TMP/head")" ;; esac
touch -d "$(header last-modified)" "$TMP/time" || fail "no date: $(cat "$TMP/head")"
[ "$(stat -c %Y "$TMP/time")" = "$(stat -c %Y "$file")" ] || fail "not the upstream's time: $(cat "$TMP/head")"
[ "$(get -H 'Range: bytes=1000-1999' -H "If-Match: $tag")" = 206 ] || fail "a range of what is here, by its tag"
[ "$(get -H 'Range: bytes=1000-1999' -H 'If-Match: "x"')" = 412 ] || fail "a range of what is here, by another tag"
# A second client joins: no other request.
[ "$(get -H 'Range: bytes=1000-1999')" = 206 ] || fail "a range of what is here"
tail -c +1001 "$file" | head -c 1000 | cmp -s - "$TMP/body" || fail "the bytes of a range"
[ "$(header etag)" = "$tag" ] || fail "another tag of the same bytes: $(cat "$TMP/head")"
[ "$(upstream_count "$URL_up" requests "/$name")" = 1 ] || fail "a second request"

# Clients that go: no request waits, and the source is left alone.
before=$(metric http_gone)
kill -KILL "$curl_pid"
wait_for waits 0 || fail "a request without a client still waits"
[ "$(metric http_gone)" = $((before + 1)) ] || fail "http_gone: $(metric http_gone), before: $before"
upstream_clear "$URL_up"

# ---- it breaks off, again and again: the client does not notice --------------------------
new_file
upstream_fault "$URL_up" "/$name" cut 1500000
get_slowly
ended_with 0
same_file "$TMP/body" "$file"
[ "$(upstream_count "$URL_up" requests "/$name")" -ge 4 ] || fail "it never broke off"
upstream_clear "$URL_up"

# Now the file is stored: its ETag is the digest, except for a client that sends the earlier ETag.
stored() { [ "$(get)" = 200 ] && [ "$(header etag)" = "\"$(sha256sum "$file" | cut -d' ' -f1)\"" ]; }
wait_for stored || fail "the tag of the whole: $(cat "$TMP/head")"
sum=$(header etag)
[ -n "$(header last-modified)" ] || fail "no date"

# ---- it breaks off, and no server has the rest: cut short, never a short whole ---------------
# On a busy machine the deadline may expire before the first byte: then it is tried again, with a longer one.
for deadline in 3s 12s 48s; do
  new_file
  symfs_serve brief --byte-ranges always --source "$SOURCE" --lookup-deadline $deadline --breaker-seconds 1s
  U=$URL_brief
  upstream_fault "$URL_up" "/$name" cut 1500000 1
  upstream_fault "$URL_up" "/$name" status 503
  get_slowly
  wait_for gone "$curl_pid" || fail "curl does not end"
  head -n 1 "$TMP/head" | grep -q ' 200 ' && break
  symfs_unserve brief
  upstream_clear "$URL_up"
done
ended_with 18
head -n 1 "$TMP/head" | grep -q ' 200 ' || fail "the status: $(cat "$TMP/head")"
has_bytes "$TMP/body" 1000000 || fail "little was sent: $(stat -c %s "$TMP/body")"
begins "$TMP/body"
has_bytes "$TMP/body" "$size" && fail "all of it was sent"
upstream_clear "$URL_up"
again() { [ "$(get)" = 200 ] && cmp -s "$TMP/body" "$file"; }
wait_for again || fail "it does not come when the source is well again"
# A download ends when no client comes for it.
new_file
upstream_fault "$URL_up" "/$name" silent-after 1000000
begun() { has_bytes "$TMP/body" 900000 || { gone "$curl_pid" && get_slowly; false; }; }
get_slowly
wait_for begun || fail "what came is not sent: $(cat "$TMP/curl.log")"
kill -KILL "$curl_pid"
idle() { [ "$(upstream_count "$URL_up" inflight "/$name")" = 0 ]; }
wait_for idle || fail "a download without a client goes on"
upstream_clear "$URL_up"
symfs_unserve brief
U=$URL_one

# ---- it is a wrong one, which only its end tells: never a whole 200 -----------------------
new_file
cp "$file" "$TMP/good"
shoff=$(readelf -h "$file" | sed -n 's/.*Start of section headers: *\([0-9]*\).*/\1/p')
head -c "$((size - shoff))" /dev/urandom | dd of="$file" bs=65536 seek="$shoff" oflag=seek_bytes conv=notrunc \
  2>/dev/null
cmp -s "$file" "$TMP/good" && fail "it was not broken"
upstream_fault "$URL_up" "/$name" trickle 3000000
get_slowly
wait_for gone "$curl_pid" || fail "curl does not end"
if head -n 1 "$TMP/head" | grep -q ' 200 '; then
  ended_with 18
  begins "$TMP/body"
  has_bytes "$TMP/body" "$size" && fail "all of a wrong file was sent"
else # a machine so slow that all of it came before its beginning was looked at
  head -n 1 "$TMP/head" | grep -q ' 502 ' || fail "a wrong file: $(cat "$TMP/head")"
fi
upstream_clear "$URL_up"

# ---- ranges: what is asked for, and no more ------------------------------------------------
new_file
[ "$(get -H "Range: bytes=3000000-3000999")" = 206 ] || fail "a range: $(cat "$TMP/head")"
tail -c +3000001 "$file" | head -c 1000 | cmp -s - "$TMP/body" || fail "the bytes of a range"
[ "$(header content-range)" = "bytes 3000000-3000999/$size" ] || fail "the range: $(cat "$TMP/head")"
tag=$(header etag)
[ "$(get -H "Range: bytes=-100" -H "If-Range: $tag")" = 206 ] || fail "the end"
tail -c 100 "$file" | cmp -s - "$TMP/body" || fail "the bytes of the end"
[ "$(header etag)" = "$tag" ] || fail "the tag changed: $tag, $(header etag)"
[ "$(get -H "Range: bytes=$size-")" = 416 ] || fail "past the end: $(cat "$TMP/head")"
[ "$(get -H 'Range: bytes=0-1' -H "If-Match: $tag")" = 206 ] || fail "If-Match: $(cat "$TMP/head")"
[ "$(get -H 'Range: bytes=0-1' -H 'If-Match: "part-0000000000000001"')" = 412 ] || fail "If-Match with another tag"
[ "$(get -H "If-None-Match: $tag" -H 'Range: bytes=0-1')" = 304 ] || fail "unchanged: $(cat "$TMP/head")"
bytes=$(upstream_count "$URL_up" bytes "/$name")
[ "$bytes" -le 1500000 ] || fail "$bytes of $size bytes for 1100"
# The whole, and then a range by the tag that it had before: the same bytes.
[ "$(get)" = 200 ] && cmp -s "$TMP/body" "$file" || fail "the whole"
wait_for stored || fail "the whole is not stored: $(cat "$TMP/head")"
[ "$(get -H 'Range: bytes=10-19' -H "If-Range: $tag")" = 206 ] || fail "a range of the whole by the older tag"
[ "$(header etag)" = "$tag" ] || fail "it has another tag for a client that knows the older one: $(cat "$TMP/head")"
[ "$(get -H 'Range: bytes=10-19' -H "If-Match: $tag")" = 206 ] && [ "$(header etag)" = "$tag" ] ||
  fail "If-Match with the older tag: $(cat "$TMP/head")"
[ "$(get -H 'Range: bytes=10-19' -H 'If-Range: "part-0000000000000001"')" = 200 ] ||
  fail "a range by the tag of others"

# ---- a symfs that mounts this one ------------------------------------------------------------
new_file
symfs_mount two --byte-ranges always --source "gdb@$U"
tail -c 5000 "$file" >"$TMP/want"
tail -c 5000 "$MNT_two/gdb/$name" >"$TMP/got"
same_file "$TMP/got" "$TMP/want"
bytes=$(upstream_count "$URL_up" bytes "/$name")
[ "$bytes" -le 1500000 ] || fail "$bytes of $size bytes through two for the end of it"
same_file "$MNT_two/gdb/$name" "$file"
bytes=$(upstream_count "$URL_up" bytes "/$name")
[ "$bytes" -le $((size + 1000000)) ] || fail "$bytes of $size bytes for the whole through two"
symfs_umount two
wait_for waits 0 || fail "requests are left"
symfs_unserve one

# ---- the end of the server, while it sends ---------------------------------------------------
new_file
symfs_serve last --source "$SOURCE"
U=$URL_last
upstream_fault "$URL_up" "/$name" silent-after 1000000
get_slowly
wait_for has_bytes "$TMP/body" 900000 || fail "what came is not sent"
symfs_unserve last
wait_gone "$curl_pid" || fail "curl does not end"
wait "$curl_pid" && fail "the end of the server looks like a whole file"
exit 0
