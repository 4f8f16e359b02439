#!/bin/sh
# Allowed targets of redirects, with real addresses of each network. All addresses are on the
# loopback device of a network namespace of the test's own.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ -z "${SYMFS_INSIDE:-}" ]; then
  apart=${top_srcdir:-$(dirname "$0")/../..}/scripts/apart
  "$apart" unshare -n true 2>/dev/null || { echo "SKIP: no network namespaces here"; exit 77; }
  SYMFS_INSIDE=1 exec "$apart" unshare -n sh "$0"
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc strip objcopy readelf nginx ip openssl cmp
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY

ip link set lo up || skip "no loopback device"
# 198.51.100.0/24 is documentation's, and stands for the public Internet.
for a in 10.0.0.1 10.200.0.2 172.16.0.1 172.31.0.2 192.168.1.1 192.168.200.2 198.51.100.1 100.64.0.1 \
  169.254.169.254 169.254.1.1; do
  ip addr add "$a/32" dev lo || skip "cannot add addresses"
done
six=yes
for a in fd00::1 fdff::2 fe80::7; do ip addr add "$a/128" dev lo nodad 2>/dev/null || six=; done
printf '%s\n' '127.0.0.1 localhost' '10.0.0.1 source.test' '10.200.0.2 mirror.test' '169.254.169.254 meta.test' \
  '172.16.0.1 other.test' >"$TMP/hosts"
mount --bind "$TMP/hosts" /etc/hosts || skip "cannot mount a file"

make_program "$TMP/p" prog
put_gdb "$TMP/www" "$TMP/p/full/prog"
file=gdb/$(gdb_path "$(build_id "$TMP/p/full/prog")")
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -days 2 -keyout "$TMP/key.pem" -out "$TMP/cert.pem" \
  2>/dev/null ||
  fail openssl
mkdir "$TMP/nginx-n"
cat >"$TMP/nginx-n/conf" <<EOF
daemon off; master_process off; pid $TMP/nginx-n/pid; error_log stderr notice;
events { worker_connections 256; }
http { log_format where '\$server_addr'; access_log off; default_type application/octet-stream;
  client_body_temp_path $TMP/nginx-n/t1; proxy_temp_path $TMP/nginx-n/t2; fastcgi_temp_path $TMP/nginx-n/t3;
  uwsgi_temp_path $TMP/nginx-n/t4; scgi_temp_path $TMP/nginx-n/t5;
  server { listen 80; ${six:+listen [::]:80;} listen 443 ssl;
    ssl_certificate $TMP/cert.pem; ssl_certificate_key $TMP/key.pem;
    location ~ ^/to/(?<a>[^/]+)/(?<rest>.*)\$ { return 302 http://\$a:8080/\$rest; }
    location ~ ^/tls/(?<a>[^/]+)/(?<rest>.*)\$ { return 302 https://\$a/www/\$rest; }
    location ~ ^/via/(?<a>[^/]+)/(?<rest>.*)\$ { return 302 http://\$a/\$rest; }
    location /www/ { alias $TMP/www/; } }
  server { listen 8080; ${six:+listen [::]:8080;} access_log $TMP/served where; root $TMP/www; } }
EOF
nginx_run n 80 8080 443 || fail "nginx does not start"

# try URL [LINES...]: asks a source that is there; its status, and what it says in $TMP/err.
try() {
  printf '%s\n' '[source "s"]' "url = $1/" 'layout = gdb' >"$TMP/conf"
  shift
  [ $# = 0 ] || printf '%s\n' "$@" >>"$TMP/conf"
  cat "$DEADLINES" >>"$TMP/conf"
  rm -rf "$TMP/store" && : >"$TMP/served"
  timeout 600 "$SYMFS" get --no-default-sources --config "$TMP/conf" --cache "$TMP/store" "$file" >"$TMP/out" \
    2>"$TMP/err"
}
led() { # URL [LINES...]
  try "$@" || fail "refused: $*: $(cat "$TMP/err")"
  cmp -s "$(cat "$TMP/out")" "$TMP/p/full/prog" || fail "other bytes: $*"
  # nginx writes the line after the last byte.
  case $1 in */to/*) wait_for test -s "$TMP/served" || fail "nginx has no line of $1" ;; esac
}
refused() { # WORDS URL [LINES...]
  words=$1
  shift
  try "$@" && fail "followed: $*"
  status=$?
  [ $status = 3 ] || fail "exit status $status of: $*: $(cat "$TMP/err")"
  grep -q "$words" "$TMP/err" || fail "not said why: $*: $(cat "$TMP/err")"
  [ -s "$TMP/served" ] && fail "asked $(cat "$TMP/served"): $*"
}

# ---- from a private network ----------------------------------------------------------------------------
led http://10.0.0.1/to/10.0.0.1
led http://10.0.0.1/to/10.200.0.2
led http://172.16.0.1/to/172.31.0.2
led http://192.168.1.1/to/192.168.200.2
led http://10.0.0.1/to/198.51.100.1
led http://100.64.0.1/to/100.64.0.1
for to in 172.16.0.1 192.168.1.1 127.0.0.1 100.64.0.1 localhost; do
  refused 'a private address (allow-private)' "http://10.0.0.1/to/$to"
  led "http://10.0.0.1/to/$to" 'allow-private = yes'
done
led http://127.0.0.1/to/127.0.0.2
led http://localhost/to/127.0.0.1
for to in 10.0.0.1 192.168.1.1; do
  refused 'a private address (allow-private)' "http://127.0.0.1/to/$to"
  led "http://127.0.0.1/to/$to" 'allow-private = yes'
done
for to in 10.0.0.1 127.0.0.1 localhost; do
  refused 'a private address (allow-private)' "http://198.51.100.1/to/$to"
done
if [ -n "$six" ]; then
  led 'http://[fd00::1]/to/[fdff::2]'
  refused 'a private address' 'http://[fd00::1]/to/10.0.0.1'
  refused 'a private address' 'http://10.0.0.1/to/[fd00::1]'
  refused 'a private address' 'http://10.0.0.1/to/[::ffff:172.16.0.1]'
  refused 'a link-local address' 'http://[fd00::1]/to/[fe80::7]' 'allow-private = yes'
fi

# ---- link-local: never -----------------------------------------------------------------------------------
for from in 10.0.0.1 127.0.0.1 198.51.100.1 169.254.1.1; do
  for to in 169.254.169.254 '[::ffff:169.254.169.254]' meta.test 0.0.0.0; do
    refused 'a link-local address' "http://$from/to/$to" 'allow-private = yes'
  done
done
led http://169.254.1.1/to/169.254.1.1

# ---- names -------------------------------------------------------------------------------------------------
led http://source.test/to/mirror.test
led http://source.test/to/10.200.0.2
led http://source.test/to/source.test
refused 'a private address' http://source.test/to/other.test
refused 'a private address' http://198.51.100.1/to/mirror.test

# ---- more than one hop -------------------------------------------------------------------------------------
led http://10.0.0.1/via/10.200.0.2/to/10.0.0.1
refused 'a private address' http://10.0.0.1/via/198.51.100.1/to/10.200.0.2
refused 'a private address' http://10.0.0.1/via/10.200.0.2/to/127.0.0.1
led http://10.0.0.1/via/198.51.100.1/to/10.200.0.2 'allow-private = yes'

# ---- a proxy, at the port that the servers have, too -----------------------------------------------------
for proxy in 10.0.0.1 127.0.0.1 198.51.100.1; do
  led http://198.51.100.1/via/198.51.100.7/www "proxy = http://$proxy:80"
  led http://source.example/via/mirror.example/www "proxy = http://$proxy:80"
  refused 'a private address' http://198.51.100.1/via/10.200.0.2/www "proxy = http://$proxy:80"
  refused 'a private address' http://198.51.100.1/via/0x7f.1./www "proxy = http://$proxy:80"
done
# What is behind the public host is not the source's word, also when a private address is the proxy's.
refused 'a private address' http://10.0.0.1/via/198.51.100.7/via/10.200.0.2/www 'proxy = http://10.0.0.1:80'
refused 'a private address' http://10.0.0.1/via/mirror.example/via/10.200.0.2/www 'proxy = http://10.0.0.1:80'
led http://10.0.0.1/via/10.200.0.2/www 'proxy = http://10.0.0.1:80'

# ---- https -------------------------------------------------------------------------------------------------
led https://10.0.0.1/tls/10.0.0.1 'accept-invalid-certs = yes'
led http://10.0.0.1/tls/10.0.0.1 'accept-invalid-certs = yes'
refused 'from https to http (allow-http-redirects)' https://10.0.0.1/to/10.0.0.1 'accept-invalid-certs = yes'
refused 'from https to http (allow-http-redirects)' https://10.0.0.1/to/198.51.100.1 'accept-invalid-certs = yes' \
  'allow-private = yes'
led https://10.0.0.1/to/10.0.0.1 'accept-invalid-certs = yes' 'allow-http-redirects = yes'
refused 'a private address' https://10.0.0.1/to/127.0.0.1 'accept-invalid-certs = yes' 'allow-http-redirects = yes'
exit 0
