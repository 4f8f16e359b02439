#!/bin/sh
# The nginx samples, as installed except for their paths and ports: the tokens of symfs, client certificates, and
# the cache; with curl, and with another symfs that mounts through them.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl nginx openssl

mkdir -p "$TMP/tls" "$TMP/nginx-ng" "$TMP/cache"
chmod 711 "$TMP"
(
  cd "$TMP/tls" || exit 1
  for ca in ca other; do
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$ca" -keyout $ca.key -out $ca.pem || exit 1
  done
  printf 'subjectAltName=IP:127.0.0.1,DNS:symbols.example.net\n' >ext
  for who in server:ca client:ca stranger:other; do
    name=${who%:*} ca=${who#*:}
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -keyout $name.key -out $name.csr &&
      openssl x509 -req -in $name.csr -CA $ca.pem -CAkey $ca.key -CAcreateserial -days 2 -extfile ext \
      -out $name.pem || exit 1
  done
  cp ca.pem clients.pem
) >"$TMP/openssl.out" 2>&1 || fail "openssl: $(cat "$TMP/openssl.out")"

SYM=a.so/111111111111111111111111111111110
mkdir -p "$TMP/up/$SYM"
# With lines: caches keep only files that lack nothing.
{ printf 'MODULE Linux x86_64 111111111111111111111111111111110 a.so\nFUNC 1 2 0 g\n1 2 3 0\n'
seq -f 'PUBLIC %g 0 f' 10 4000; } >"$TMP/up/$SYM/a.so.sym"
FILE=$TMP/up/$SYM/a.so.sym SYM=$SYM/a.so.sym
symfs_serve one --listen "unix:$TMP/socket" --source "breakpad@$TMP/up"
token() { "$SYMFS" token --file "$TMP/tokens" "$@"; }
UPLOADER=$(token add uploader --rights upload) && READER=$(token add reader) &&
  PURGER=$(token add purger --rights purge) &&
  RED=$(token add red --namespace red) || fail "token add"
symfs_serve own --upload --token-file "$TMP/tokens" --source "breakpad@$TMP/up"
# nginx as root has workers that are not.
chmod 666 "$TMP/socket"

as_here() { # SAMPLE PORT-THERE PORT-HERE
  sed -e "s|/etc/nginx/symfs/|$TMP/tls/|; s|/var/cache/nginx/symfs|$TMP/cache|" \
    -e "s|unix:/run/symfs-serve/http.socket|unix:$TMP/socket|; s|127.0.0.1:8737|${URL_own#http://}|" \
    -e "s|upstream symfs |upstream ${1%.conf} |; s|http://symfs;|http://${1%.conf};|" \
    -e "s|listen $2 ssl|listen 127.0.0.1:$3 ssl|" "$top_srcdir/etc/nginx/$1"
}
for _ in 1 2 3 4 5; do
  mtls=$(free_port) token=$(free_port)
  [ "$mtls" != "$token" ] || continue
  {
    echo "daemon off; master_process off; pid $TMP/nginx-ng/pid; error_log stderr notice; events {" \
      "worker_connections 256; }"
    echo "http { access_log $TMP/nginx-ng/access; default_type application/octet-stream; client_body_temp_path" \
      "$TMP/nginx-ng/t1;"
    echo "proxy_temp_path $TMP/nginx-ng/t2; fastcgi_temp_path $TMP/nginx-ng/t3; uwsgi_temp_path $TMP/nginx-ng/t4;" \
      "scgi_temp_path $TMP/nginx-ng/t5;"
    as_here symfs-clients.conf 443 "$mtls"
    as_here symfs.conf 443 "$token"
    echo "}"
  } >"$TMP/nginx-ng/conf"
  nginx_run ng "$mtls" "$token" && break
done
nginx=$ns_pid
gone "$nginx" && fail "nginx does not start"
grep "127.0.0.1:$mtls ssl" "$TMP/nginx-ng/conf" >/dev/null &&
  grep "127.0.0.1:$token ssl" "$TMP/nginx-ng/conf" >/dev/null || fail "the samples listen elsewhere"

MTLS=https://127.0.0.1:$mtls TOKEN=https://127.0.0.1:$token
BEARER="Authorization: Bearer $READER"
get() { # WANTED-STATUS URL [CURL-ARGS...]
  get_want=$1 get_url=$2
  shift 2
  get_got=$(fetch_url --cacert "$TMP/tls/ca.pem" -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$get_url") ||
    fail "curl $get_url $*: $?"
  [ "$get_got" = "$get_want" ] || fail "$get_url $*: $get_got, wanted $get_want: $(head -c 300 "$TMP/body")"
}
has() { tr -d '\r' <"$TMP/head" | grep -qi -- "^$1\$" || fail "$get_url: no \"$1\" in $(cat "$TMP/head")"; }
mine="--cert $TMP/tls/client.pem --key $TMP/tls/client.key"
body='{"memoryMap": [["a.so", "111111111111111111111111111111110"]], "stacks": [[[0, 17]]]}'

# ---- certificates of clients ---------------------------------------------------------------
for path in /healthz "/$SYM" /status; do
  get 400 "$MTLS$path"
  grep -q 'No required SSL certificate' "$TMP/body" || fail "without a certificate: $(cat "$TMP/body")"
  get 400 "$MTLS$path" --cert "$TMP/tls/stranger.pem" --key "$TMP/tls/stranger.key"
done
[ "$(fetch_url --unix-socket "$TMP/socket" http://x/metrics | sed -n 's/^symfs_http_requests //p')" = 1 ] ||
  fail "a stranger came through"
# shellcheck disable=SC2086 # words
{
  get 200 "$MTLS/$SYM" $mine
  same_file "$TMP/body" "$FILE"
  has 'x-cache: MISS'
  get 200 "$MTLS/$SYM" $mine
  same_file "$TMP/body" "$FILE"
  has 'x-cache: HIT'
  get 200 "$MTLS/$SYM?code_file=x" $mine
  has 'x-cache: HIT'
  get 200 "$MTLS/$SYM" $mine -I
  has 'x-cache: MISS'
  get 206 "$MTLS/$SYM" $mine -r 100-199
  get 200 "$MTLS/$SYM" $mine --compressed
  has 'content-encoding: gzip'
  same_file "$TMP/body" "$FILE"
  for _ in 1 2; do
    get 404 "$MTLS/b$SYM" $mine
    tr -d '\r' <"$TMP/head" | grep -qi '^x-cache: HIT$' && fail "a miss was cached"
  done
  get 200 "$MTLS/symbolicate/v5" $mine -d "$body"
  grep -q '"function": "f"' "$TMP/body" || fail "symbolicate: $(cat "$TMP/body")"
  get 405 "$MTLS/symbolicate/v5" $mine
}

# ---- tokens ------------------------------------------------------------------------------
for header in 'X: y' 'Authorization: Bearer 0' 'Authorization: Bearer ' "$BEARER"0 \
  'Authorization: Basic MDEyMzQ1Njc4OWFiY2RlZg=='; do
  get 401 "$TOKEN/$SYM" -H "$header"
  has 'www-authenticate: Bearer realm="symfs".*'
  get 401 "$TOKEN/symbolicate/v5" -H "$header" -d "$body"
done
get 200 "$TOKEN/$SYM" -H "$BEARER"
same_file "$TMP/body" "$FILE"
get 200 "$TOKEN/symbolicate/v5" -H "$BEARER" -d "$body"
grep -q '"function": "f"' "$TMP/body" || fail "symbolicate: $(cat "$TMP/body")"
get 206 "$TOKEN/$SYM" -H "$BEARER" -r 100-199
get 403 "$TOKEN/$SYM" -H "$BEARER" -T "$FILE"
get 201 "$TOKEN/$SYM" -H "Auth-Token: $UPLOADER" -T "$FILE"
# The certificate of the front is that of a private authority.
echo "$UPLOADER" >"$TMP/uploader" && chmod 600 "$TMP/uploader"
"$SYMFS" push --token-file "$TMP/uploader" "$TOKEN" "$FILE" >"$TMP/out" 2>&1 && fail "push: $(cat "$TMP/out")"
"$SYMFS" push --ca "$TMP/tls/ca.pem" --token-file "$TMP/uploader" "$TOKEN" "$FILE" >"$TMP/out" 2>&1 &&
  grep -q '^added 0, present 1' "$TMP/out" || fail "push --ca: $(cat "$TMP/out")"

# ---- another symfs behind both -----------------------------------------------------------------
for how in mtls token; do
  {
    printf '[source "far"]\nlayout = breakpad\nca-file = %s\n' "$TMP/tls/ca.pem"
    case $how in
    mtls) printf 'url = %s\ncert = %s\nkey = %s\n' "$MTLS" "$TMP/tls/client.pem" "$TMP/tls/client.key" ;;
    token) printf 'url = %s\nheader = %s\n' "$TOKEN" "$BEARER" ;;
    esac
  } >"$TMP/$how.conf"
  chmod 600 "$TMP/$how.conf"
  symfs_mount $how --config "$TMP/$how.conf"
  same_file "$FILE" "$TMP/$how/breakpad/$SYM"
  [ -e "$TMP/$how/breakpad/b$SYM" ] && fail "$how: what no source has is there"
  symfs_umount $how
done
kill "$nginx"
wait_gone "$nginx" || fail "nginx does not end"
symfs_unserve one
symfs_unserve own

# ---- tokens of symfs behind nginx's cache: the bytes for one token go to no other client ---------------------------
symfs_serve two --upload --listen "unix:$TMP/socket2" --token-file "$TMP/tokens"
chmod 666 "$TMP/socket2"
fetch_url -f -o "$TMP/body" --unix-socket "$TMP/socket2" -H "Authorization: Bearer $UPLOADER" -T "$FILE" \
  "http://localhost/$SYM" || fail "PUT"
for _ in 1 2 3 4 5; do
  mtls=$(free_port)
  mkdir -p "$TMP/nginx-two" "$TMP/cache-two"
  {
    echo "daemon off; master_process off; pid $TMP/nginx-two/pid; error_log stderr notice; events {" \
      "worker_connections 256; }"
    echo "http { access_log $TMP/nginx-two/access; default_type application/octet-stream; client_body_temp_path" \
      "$TMP/nginx-two/t1;"
    echo "proxy_temp_path $TMP/nginx-two/t2; fastcgi_temp_path $TMP/nginx-two/t3; uwsgi_temp_path" \
      "$TMP/nginx-two/t4; scgi_temp_path $TMP/nginx-two/t5;"
    as_here symfs-clients.conf 443 "$mtls" | sed "s|$TMP/socket|$TMP/socket2|; s|$TMP/cache|$TMP/cache-two|"
    echo "}"
  } >"$TMP/nginx-two/conf"
  nginx_run two "$mtls" "$mtls" && break
done
nginx_two=$ns_pid
gone "$nginx_two" && fail "nginx does not start"
tries=0
# shellcheck disable=SC2086 # words
for _ in 1 2; do
  # A client with the right, before and after the others.
  for header in "Authorization: Bearer $READER" "Auth-Token: $READER"; do
    get 200 "https://127.0.0.1:$mtls/$SYM" $mine -H "$header"
    same_file "$TMP/body" "$FILE"
    tr -d '\r' <"$TMP/head" | grep -qi '^x-cache: HIT$' && fail "an answer to a token comes from nginx's cache"
  done
  [ $tries = 0 ] || continue
  for header in 'X: y' 'Authorization: Bearer 0' "Authorization: Bearer ${READER}0" \
    "Authorization: Bearer $UPLOADER" "Auth-Token: $PURGER" \
    "Authorization: Bearer $RED"; do
    for how in '-r 0-99' '-H If-None-Match:*' '--compressed' '-I' '-H Cache-Control:only-if-cached' '-H X-Plain:1' \
      '-H Range:bytes=5-'; do
      got=$(fetch_url --cacert "$TMP/tls/ca.pem" $mine -o "$TMP/body" -w '%{http_code}' -H "$header" $how \
        "https://127.0.0.1:$mtls/$SYM") ||
        fail "curl $header $how"
      case $got in 401 | 403 | 404) ;; *) fail "$header $how: $got" ;; esac
      ! grep -aq -e PUBLIC -e MODULE "$TMP/body" || fail "$header $how: bytes of the file"
      tries=$((tries + 1))
    done
  done
done
[ $tries = 42 ] || fail "$tries tries"
[ -z "$(find "$TMP/cache-two" -type f)" ] ||
  fail "nginx has cached an answer to a token: $(find "$TMP/cache-two" -type f)"
say "$tries requests without the right got no byte of a file that nginx passed on twice"
kill "$nginx_two"
wait_gone "$nginx_two" || fail "nginx does not end"
symfs_unserve two
exit 0
