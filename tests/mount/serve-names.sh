#!/bin/sh
# The names of a server: names in Host, in the target and in server-names; heads that other servers
# read differently; pages of other origins; and the pages about the server itself. Run by root, it
# uses a network namespace of its own, where loopback has one more address, as another machine would
# have.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ "$(id -u)" = 0 ] && [ -z "${SYMFS_INSIDE:-}" ] && unshare -n ip addr add 192.0.2.1/32 dev lo 2>/dev/null; then
  SYMFS_INSIDE=1 exec unshare -n sh -c 'ip link set lo up && ip addr add 192.0.2.1/32 dev lo && exec sh "$0"' "$0"
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl
RUDE=$top_builddir/tests/helpers/rude-client
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

SYM=a.so/111111111111111111111111111111110/a.so.sym
mkdir -p "$TMP/up/${SYM%/*}"
{ echo 'MODULE Linux x86_64 111111111111111111111111111111110 a.so'; seq -f 'PUBLIC %g 0 f' 10 4000; } >"$TMP/up/$SYM"
printf 'sesame-sesame\n' >"$TMP/token"
chmod 600 "$TMP/token"
symfs_serve one --source "breakpad@$TMP/up"
symfs_serve named --source "breakpad@$TMP/up" --server-names 'symbols.example, Other.Example' \
  --server-names third.example \
  --allow-origins 'https://profiler.firefox.com http://localhost:4242/'
symfs_serve token --source "breakpad@$TMP/up" --token-file "$TMP/token"
symfs_serve any --source "breakpad@$TMP/up" --anyone --listen 0.0.0.0:0
symfs_serve unix --source "breakpad@$TMP/up" --listen "unix:$TMP/socket"
URL_any=http://127.0.0.1:${URL_any##*:}

tried=0
get() { # WANTED-STATUS URL [CURL-ARGS...]
  g_want=$1 g_url=$2
  shift 2
  g_got=$(fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$g_url") || fail "curl $g_url $*: $?"
  [ "$g_got" = "$g_want" ] || fail "$g_url $*: $g_got, wanted $g_want: $(head -c 300 "$TMP/body")"
  tried=$((tried + 1))
}
has() { tr -d '\r' <"$TMP/head" | grep -qi -- "^$1\$" || fail "$g_url: no \"$1\" in $(cat "$TMP/head")"; }
lacks() { tr -d '\r' <"$TMP/head" | grep -i -- "^$1" && fail "$g_url has a \"$1\""; :; }

# ---- names -------------------------------------------------------------------------------------
for path in /healthz "/$SYM" /status /metrics /missing.csv; do
  get 200 "$URL_one$path"
  for host in localhost LocalHost localhost. 127.0.0.1 127.0.0.1:9 localhost:9 '[::ffff:127.0.0.1]'; do
    get 200 "$URL_one$path" -H "Host: $host"
  done
  for host in evil.example evil.example:80 127.0.0.2 '[::1]' localhost.evil.example symbols.example 127.1; do
    get 421 "$URL_one$path" -H "Host: $host"
  done
  for host in 'a b' '[::1' 'localhost:x' 'user@localhost' 'localhost,evil.example'; do
    get 400 "$URL_one$path" -H "Host: $host"
  done
  for host in symbols.example OTHER.example:443 third.example localhost; do
    get 200 "$URL_named$path" -H "Host: $host"
  done
  get 421 "$URL_named$path" -H 'Host: evil.example'
  get 200 "$URL_token$path" -H 'Host: evil.example' -H 'Authorization: Bearer sesame-sesame'
  get 200 "$URL_any$path"
  get 200 http://any.name"$path" --unix-socket "$TMP/socket"
done
get 200 "$URL_any/$SYM" -H 'Host: evil.example'
get 421 "$URL_one/symbolicate/v5" -H 'Host: evil.example' -d '{}'
grep -q '"title"' "$TMP/body" || fail "a POST for another name: $(cat "$TMP/body")"

# What is wrong in the configuration is said at the start.
for words in 'server-names=a b:80' 'server-names=http://a' 'allow-origins=profiler.firefox.com' \
  'allow-origins=https://a/b'; do
  timeout 600 "$SYMFS" serve --no-default-sources --cache "$TMP/store-one" --listen 127.0.0.1:0 "--$words" \
    2>"$TMP/err" >"$TMP/out"
  [ $? = 2 ] && grep -q "${words%%=*} = " "$TMP/err" || fail "--$words: $(cat "$TMP/err" "$TMP/out")"
done

# ---- heads that others read differently ----------------------------------------------------------
good='GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
raw() { # URL WANTED HEAD [OR]: the statuses of the head (printf's words) and of a good request behind it
  # shellcheck disable=SC2059 # it is a format
  r_got=$(printf "$3$good" | "$RUDE" "${1##*:}" raw | tr '\n' ' ')
  case $r_got in $2 | "${4:-$2}") ;; *) fail "$3: $r_got, wanted $2" ;; esac
  tried=$((tried + 1))
}
H='GET /healthz HTTP/1.1\r\n' P='POST /symbolicate/v5 HTTP/1.1\r\nHost: localhost\r\n' \
  T='Transfer-Encoding: chunked\r\n'
for url in "$URL_one" "$URL_any"; do
  raw "$url" '200 200 ' "${H}Host: localhost\r\n\r\n"
  raw "$url" '400 ' "${H}\r\n"
  raw "$url" '400 ' "${H}Host: localhost\r\nHost: localhost\r\n\r\n"
  raw "$url" '400 ' "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\nHost: localhost\r\nHost: a\r\n\r\n"
  raw "$url" '200 200 ' 'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'
  raw "$url" '400 ' "${H}Host : localhost\r\n\r\n"
  raw "$url" '400 ' "${H}Host: localhost\r\nX-A\t: b\r\n\r\n"
  raw "$url" '400 ' "$P$T${T}\r\n0\r\n\r\n"
  raw "$url" '400 ' "${P}Transfer-Encoding: identity\r\n${T}\r\n0\r\n\r\n"
  raw "$url" '400 ' "POST /symbolicate/v5 HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n$T\r\n0\r\n\r\n"
  raw "$url" '400 ' "${P}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"
  # A body of 27 bytes, or none and a second request.
  raw "$url" '400 ' "${P}Content-Length : 27\r\n\r\nGET /status HTTP/1.1\r\nA: b\r\n"
done
# Continuation lines, and characters that do not belong into a head. The good request, and the one in the body.
# libmicrohttpd 1.0 unfolds the lines of a length itself: then the body is a body, and the next request is good.
B='GET /status HTTP/1.1\r\nA: b\r\n'
for url in "$URL_one" "$URL_any"; do
  raw "$url" '400 ' "${P}Content-Length:\r\n 27\r\n\r\n$B" '400 200 '
  raw "$url" '400 ' "${P}Content-Length: 0\r\n\t27\r\n\r\n$B"
  raw "$url" '400 ' "${H}Host: localhost\r\nContent-Length:\r\n 27\r\n\r\n$B" '200 200 '
  raw "$url" '400 ' "${P}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" '400 200 '
  raw "$url" '400 ' "${H}Host: localhost\r\nX-A: b\rContent-Length: 27\r\n\r\n$B"
  raw "$url" '400 ' "${H}Host: localhost\r\nX-A\013: b\r\n\r\n"
  raw "$url" '400 ' "${H}Host: localhost\r\nX-A(b): c\r\n\r\n"
  raw "$url" '200 200 ' "${H}Host: localhost\r\nX_a.b!#\$\047*+^\140|~9: c\r\n\r\n"
done
raw "$URL_one" '421 *' 'GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
raw "$URL_one" '200 200 ' 'GET http://localhost/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n'
raw "$URL_one" '400 *' 'GET http://localhost@evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'

# ---- pages of other origins ----------------------------------------------------------------------
for path in "/$SYM" /pingme.txt; do
  get 200 "$URL_one$path" -H 'Origin: https://profiler.firefox.com'
  lacks 'access-control-'
  get 200 "$URL_named$path" -H 'Origin: https://profiler.firefox.com'
  has 'access-control-allow-origin: https://profiler.firefox.com'
  get 200 "$URL_named$path" -H 'Origin: http://localhost:4242'
  has 'access-control-allow-origin: http://localhost:4242'
  for origin in https://evil.example http://profiler.firefox.com https://profiler.firefox.com.evil.example null; do
    get 200 "$URL_named$path" -H "Origin: $origin"
    lacks 'access-control-'
    has 'vary: .*Origin'
  done
  get 200 "$URL_any$path" -H 'Origin: https://evil.example'
  has 'access-control-allow-origin: \*'
done
get 200 "$URL_named/$SYM" -H 'Accept-Encoding: gzip'
has 'vary: Accept-Encoding, Origin'
[ "$(grep -ci '^vary:' "$TMP/head")" = 1 ] || fail "several lines of Vary: $(cat "$TMP/head")"
for path in /status /missing.csv /missingsymbols.csv /metrics /healthz; do
  get 200 "$URL_named$path" -H 'Origin: https://profiler.firefox.com'
  lacks 'access-control-'
done
# The page of a 404 names sources, so scripts of other pages get the short text.
for way in "$URL_named https://profiler.firefox.com" "$URL_any https://evil.example"; do
  for path in /a.so/333333333333333333333333333333330/a.so.sym /no/such/path; do
    get 404 "${way% *}$path" -H 'Accept: text/html'
    grep -q '<h1>Not found</h1>' "$TMP/body" || fail "no page for a browser: $(cat "$TMP/body")"
    lacks 'access-control-'
    get 404 "${way% *}$path" -H 'Accept: text/html' -H "Origin: ${way#* }"
    ! grep -qF -e '<' -e "$TMP/up" "$TMP/body" || fail "${way#* } reads $path: $(cat "$TMP/body")"
    has "access-control-allow-origin: .*"
  done
done
get 204 "$URL_named/symbolicate/v5" -X OPTIONS -H 'Origin: https://profiler.firefox.com' \
  -H 'Access-Control-Request-Method: POST'
has 'access-control-allow-origin: https://profiler.firefox.com'
has 'access-control-allow-methods: POST.*'
get 204 "$URL_one/symbolicate/v5" -X OPTIONS -H 'Origin: https://profiler.firefox.com' \
  -H 'Access-Control-Request-Method: POST'
lacks 'access-control-'

# ---- pages about the server ------------------------------------------------------------------------
for path in / /uploads /status /missing.csv /missingsymbols.csv; do
  get 200 "$URL_any$path"
  get 403 "$URL_any$path" -H 'Host: evil.example' # a page of that name in a browser on this machine
  get 401 "$URL_token$path"
  get 200 "$URL_token$path" -H 'Authorization: Bearer sesame-sesame'
done
say "$tried requests"
[ -n "${SYMFS_INSIDE:-}" ] || { say "from another address: only as root, with ip(8)"; exit 0; }
far=http://192.0.2.1:${URL_any##*:}
for path in / /uploads /status '/status?path=x' /missing.csv /missingsymbols.csv; do
  get 403 "$far$path"
  grep -q 'this machine' "$TMP/body" || fail "403: $(cat "$TMP/body")"
done
for path in /healthz /metrics "/$SYM"; do get 200 "$far$path"; done
symfs_serve far --source "breakpad@$TMP/up" --listen 192.0.2.1:0 --token-file "$TMP/token"
get 401 "$URL_far/status"
get 200 "$URL_far/status" -H 'Authorization: Bearer sesame-sesame'
say "$tried requests"
