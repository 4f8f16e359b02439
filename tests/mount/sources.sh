#!/bin/sh
# The keys of [source "NAME"], against real servers: TLS with a CA of the test, client certificates,
# proxies, netrc, connections, tiers, names that are not sent, the meaning of 403.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip curl nginx openssl
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY
umask 077 # what holds secrets is ours alone
make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
lib_id=$(build_id "$TMP/p/full/libprog.so")
[ -n "$id" ] || fail "no build id"
file=gdb/$(gdb_path "$id")
lib=gdb/$(gdb_path "$lib_id")
put_gdb "$TMP/www" "$TMP/p/full/prog"
put_gdb "$TMP/www" "$TMP/p/full/libprog.so"

# conf WORDS...: $TMP/conf, a line each; get PATH with it and a fresh store: 0 and the right bytes.
conf() { rm -f "$TMP/conf"; { printf '%s\n' "$@" && cat "$DEADLINES"; } >"$TMP/conf"; rm -rf "$TMP/store"; }
symfs() { timeout 600 "$SYMFS" "$@" --no-default-sources --config "$TMP/conf" --cache "$TMP/store" >"$TMP/out" \
  2>"$TMP/err"; }
gets() { # PATH FULL WHAT
  symfs get "$1" || fail "$3: $? $(cat "$TMP/err")"
  same_file "$(cat "$TMP/out")" "$2"
}
fails() { # STATUS PATH WHAT
  symfs get "$2"
  f_r=$?
  [ $f_r = "$1" ] || fail "$3: exit $f_r, wanted $1: $(cat "$TMP/err")"
}

# ---- TLS -----------------------------------------------------------------------------------------
(
  cd "$TMP" || exit 1
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=test CA" -keyout ca.key -out ca.pem &&
    for who in server client; do
      openssl req -newkey rsa:2048 -nodes -subj "/CN=$who" -keyout "$who.key" -out "$who.csr" &&
        printf 'subjectAltName=IP:127.0.0.1\n' >ext &&
        openssl x509 -req -in "$who.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext \
        -out "$who.pem" ||
        exit 1
    done
) >"$TMP/openssl.out" 2>&1 || fail "openssl: $(cat "$TMP/openssl.out")"
chmod -R go+rX "$TMP/www"
printf 'user:%s\n' "$(openssl passwd -apr1 hunter2)" >"$TMP/htpasswd"
chmod 644 "$TMP/htpasswd" "$TMP/server.key"
chmod 711 "$TMP"
mkdir "$TMP/nginx-ng"
upstream_start other --root "$TMP/www" --heads "$TMP/other.heads"
# shellcheck disable=SC2154 # set by upstream_start
other=$URL_other
for _ in 1 2 3 4 5; do
  tls=$(free_port) mtls=$(free_port) auth=$(free_port) away=$(free_port)
  cat >"$TMP/nginx-ng/conf" <<END
daemon off; master_process off; pid $TMP/nginx-ng/pid; error_log stderr notice;
events { worker_connections 256; }
http { log_format who '\$server_port \$request_uri \$status [\$ssl_client_s_dn] \$remote_user';
  access_log $TMP/nginx-ng/access who; default_type application/octet-stream;
  client_body_temp_path $TMP/nginx-ng/t1; proxy_temp_path $TMP/nginx-ng/t2; fastcgi_temp_path $TMP/nginx-ng/t3;
  uwsgi_temp_path $TMP/nginx-ng/t4; scgi_temp_path $TMP/nginx-ng/t5; root $TMP/www;
  ssl_certificate $TMP/server.pem; ssl_certificate_key $TMP/server.key; ssl_client_certificate $TMP/ca.pem;
  server { listen 127.0.0.1:$tls ssl; ssl_verify_client optional; }
  server { listen 127.0.0.1:$mtls ssl; ssl_verify_client on;
    location /away/ { rewrite ^/away/(.*) https://127.0.0.1:$tls/\$1 redirect; } }
  server { listen 127.0.0.1:$auth; auth_basic x; auth_basic_user_file $TMP/htpasswd; }
  server { listen 127.0.0.1:$away; rewrite ^/(.*) $other/\$1 redirect; } }
END
  nginx_run ng "$tls" "$mtls" "$auth" "$away" && break
done
gone "$ns_pid" && fail "nginx did not start"
# The last answer that was the file; a second spelling may have been asked beside it.
last() { grep ' 200 ' "$TMP/nginx-ng/access" | tail -n 1; }

conf '[source "tls"]' "url = https://127.0.0.1:$tls/" 'layout = gdb'
fails 3 "$file" "a certificate that is not known"
grep -qi 'source\|tls' "$TMP/err" || fail "the source is not named: $(cat "$TMP/err")"
symfs why "$file"
grep -q missing "$TMP/out" && fail "a certificate's trouble is remembered as a miss: $(cat "$TMP/out")"
conf '[source "tls"]' "url = https://127.0.0.1:$tls/" 'layout = gdb' "ca-file = $TMP/ca.pem"
gets "$file" "$TMP/p/full/prog" "a CA of our own"
conf '[source "tls"]' "url = https://127.0.0.1:$tls/" 'layout = gdb' 'accept-invalid-certs = yes'
gets "$file" "$TMP/p/full/prog" "accept-invalid-certs"
conf '[source "tls"]' "url = https://127.0.0.1:$tls/" 'layout = gdb' "ca-file = $TMP/client.pem"
fails 3 "$file" "another CA"

conf '[source "m"]' "url = https://127.0.0.1:$mtls/" 'layout = gdb' "ca-file = $TMP/ca.pem"
fails 3 "$file" "no client certificate"
conf '[source "m"]' "url = https://127.0.0.1:$mtls/" 'layout = gdb' "ca-file = $TMP/ca.pem" "cert = $TMP/client.pem" \
  "key = $TMP/client.key"
gets "$file" "$TMP/p/full/prog" "a client certificate"
with_certificate() { case $(last) in "$mtls "*' 200 [CN=client]'*) ;; *) false ;; esac; }
wait_for with_certificate || fail "a client certificate: $(last)"
conf '[source "m"]' "url = https://127.0.0.1:$mtls/away/" 'layout = gdb' "ca-file = $TMP/ca.pem" \
  "cert = $TMP/client.pem" "key = $TMP/client.key"
gets "$file" "$TMP/p/full/prog" "a redirect to another server"
case $(last) in "$tls "*' 200 [] '*) ;; '') fail "no log" ;; "$tls "*CN=client*) fail \
  "our certificate went elsewhere: $(last)" ;; esac
chmod 644 "$TMP/client.key"
fails 2 "$file" "a key that others can read"
grep -q "chmod o-rwx $TMP/client.key" "$TMP/err" || fail "how to mend it: $(cat "$TMP/err")"
chmod 600 "$TMP/client.key"
conf '[source "m"]' "url = https://127.0.0.1:$mtls/" 'layout = gdb' "ca-file = $TMP/ca.pem" "cert = $TMP/none.pem"
fails 3 "$file" "a certificate that is not there"

# ---- netrc, and the processes that see it -------------------------------------------------------------------
printf 'machine 127.0.0.1 login user password hunter2\n' >"$TMP/netrc"
conf '[source "n"]' "url = http://127.0.0.1:$auth/" 'layout = gdb'
fails 3 "$file" "no password"
grep -q 'source n refuses the request: HTTP 401' "$TMP/err" ||
  fail "the source that refuses is not named: $(cat "$TMP/err")"
conf '[source "n"]' "url = http://127.0.0.1:$auth/" 'layout = gdb' "netrc = $TMP/netrc"
gets "$file" "$TMP/p/full/prog" "netrc"
chmod 640 "$TMP/netrc"
fails 2 "$file" "a netrc that others can read"
grep -q "chmod 600 $TMP/netrc" "$TMP/err" || fail "how to mend it: $(cat "$TMP/err")"
chmod 600 "$TMP/netrc"
conf '[source "n"]' "url = http://127.0.0.1:$away/" 'layout = gdb' "netrc = $TMP/netrc" 'header = X-Auth: hunter3'
gets "$file" "$TMP/p/full/prog" "a redirect"
[ -s "$TMP/other.heads" ] || fail "the redirect was not followed"
grep -qiE 'authorization|hunter' "$TMP/other.heads" && fail "a secret went elsewhere: $(cat "$TMP/other.heads")"
chmod 644 "$TMP/conf"
fails 2 "$file" "a configuration with a secret that others can read"
grep -q "$TMP/conf:5: header is a secret.*chmod o-rwx $TMP/conf" "$TMP/err" ||
  fail "how to mend it: $(cat "$TMP/err")"

# ---- proxies ---------------------------------------------------------------------------------------
upstream_start proxy --root "$TMP/www" --log "$TMP/proxy.requests"
# shellcheck disable=SC2154
proxy=$URL_proxy
conf '[source "p"]' "url = http://symbols.invalid/" 'layout = gdb' "proxy = ${proxy%%//*}//u:hunter2@${proxy#*//}"
gets "$file" "$TMP/p/full/prog" "a proxy"
grep -q "GET http://symbols.invalid/.build-id/" "$TMP/proxy.requests" ||
  fail "not asked as a proxy: $(cat "$TMP/proxy.requests")"
conf '[source "p"]' "url = $other/" 'layout = gdb'
http_proxy=$proxy all_proxy=$proxy gets "$file" "$TMP/p/full/prog" "the environment's proxy"
grep -q "GET $other/.build-id/" "$TMP/proxy.requests" ||
  fail "the environment's proxy was not asked: $(cat "$TMP/proxy.requests")"
conf '[source "p"]' "url = $other/" 'layout = gdb' 'proxy = none'
http_proxy=http://127.0.0.1:1/ all_proxy=http://127.0.0.1:1/ gets "$file" "$TMP/p/full/prog" "proxy = none"

# ---- redirects to where a server elsewhere has no business -------------------------------------------
# Behind a proxy a host need not be here: this one is nowhere, and so no private one.
upstream_start inner --root "$TMP/www" --log "$TMP/inner.requests"
# shellcheck disable=SC2154
inner=$URL_inner
near=http://localhost:${inner##*:}
far() { conf '[source "far"]' 'url = http://symbols.invalid/' 'layout = gdb' "proxy = $proxy" "$@"; }
for to in "$inner" "$near" "http://127.1:${inner##*:}" "http://2130706433:${inner##*:}" \
  "http://[::ffff:127.0.0.1]:${inner##*:}"; do
  for direct in '' 'localhost,127.0.0.1'; do
    upstream_clear "$proxy"
    upstream_fault "$proxy" "*" redirect "$to/$(gdb_path "$id")"
    far
    no_proxy=$direct fails 3 "$file" "a redirect to $to, direct to '$direct'"
    grep -q 'private address' "$TMP/err" || fail "$to: not said why: $(cat "$TMP/err")"
  done
done
[ "$(upstream_count "$inner" requests)" = 0 ] || fail "asked: $(cat "$TMP/inner.requests")"
upstream_clear "$proxy"
upstream_fault "$proxy" "*" redirect "$near/$(gdb_path "$id")"
far 'allow-private = yes'
no_proxy=localhost gets "$file" "$TMP/p/full/prog" "allow-private"
[ "$(upstream_count "$inner" get)" -ge 1 ] || fail "allow-private: the redirect was not followed"
conf '[source "here"]' "url = $proxy/" 'layout = gdb'
gets "$file" "$TMP/p/full/prog" "a redirect from a private address"
# The address counts, not the name; also of a connection that another source has opened.
cat >"$TMP/inside" <<'END'
mount --bind "$1" /etc/hosts || exit
exec timeout 600 "$2" get --no-default-sources --config "$3" --cache "$4" "$5" "$6"
END
printf '127.0.0.1 localhost inner.test\n' >"$TMP/hosts"
in_names() { # PATHS: with a name for 127.0.0.1
  rm -rf "$TMP/store"
  no_proxy=inner.test SYMFS_DEBUG=net "$top_srcdir/scripts/apart" sh "$TMP/inside" "$TMP/hosts" "$SYMFS" \
    "$TMP/conf" "$TMP/store" "$@" \
    >"$TMP/out" 2>"$TMP/err"
}
near=http://inner.test:${inner##*:}
redirect() { upstream_clear "$proxy"; upstream_reset "$inner"
upstream_fault "$proxy" "*" redirect "$near/$(gdb_path "$lib_id")"; }
if "$top_srcdir/scripts/apart" sh -c 'mount --bind "$1" /etc/hosts && grep -q inner.test /etc/hosts' sh \
  "$TMP/hosts" 2>/dev/null; then
redirect
  far
  in_names "$lib" && fail "a redirect to a name of a private address"
  grep -q 'private address' "$TMP/err" || fail "not said why: $(cat "$TMP/err")"
  [ "$(upstream_count "$inner" requests)" = 0 ] || fail "asked: $(cat "$TMP/inner.requests")"
  far 'filetypes = elf_debug' '[source "near"]' "url = $near/" 'layout = gdb' 'filetypes = elf_code'
  in_names "$file" "$lib.debug" && fail "a redirect over another's connection"
  [ "$(upstream_count "$inner" get "/$(gdb_path "$lib_id")")" = 0 ] || fail "asked: $(cat "$TMP/err")"
  grep -q 'private address' "$TMP/err" || fail "not said why: $(cat "$TMP/err")"
  far 'filetypes = elf_debug' 'allow-private = yes' '[source "near"]' "url = $near/" 'layout = gdb' \
    'filetypes = elf_code'
redirect
  in_names "$file" "$lib.debug" || fail "allow-private: $(cat "$TMP/err")"
  [ "$(upstream_count "$inner" get "/$(gdb_path "$lib_id")")" = 1 ] || fail "allow-private: $(cat "$TMP/err")"
else
  say "no mount namespaces here: names of private addresses are not tried"
fi
upstream_clear "$proxy"

# ---- tiers ----------------------------------------------------------------------------------------
upstream_start upper --root "$TMP/www"
upstream_start lower --root "$TMP/www"
# shellcheck disable=SC2154
upper=$URL_upper lower=$URL_lower
tiers() { conf '[source "lower"]' "url = $lower/" 'layout = gdb' 'tier = 2' '[source "upper"]' "url = $upper/" \
  'layout = gdb'; }
tiers
symfs sources
[ "$(sed -n 's/^ *[0-9]*\. \([a-z]*\).*/\1/p' "$TMP/out" | tr '\n' ' ')" = "upper lower " ] ||
  fail "order: $(cat "$TMP/out")"
gets "$file" "$TMP/p/full/prog" "the upper tier has it"
[ "$(upstream_count "$lower" requests)" = 0 ] || fail "the lower tier was asked for what the upper one has"
upstream_fault "$upper" "*" status 404
tiers
gets "$file" "$TMP/p/full/prog" "the lower tier has it"
[ "$(upstream_count "$lower" get "/$(gdb_path "$id")")" = 1 ] || fail "the lower tier was not asked once"
upstream_fault "$lower" "*" status 404
tiers
fails 1 "$file" "no tier has it"
# A tier that cannot be asked does not keep the next one from being asked, and is no miss.
upstream_clear "$upper"
upstream_clear "$lower"
upstream_fault "$upper" "*" status 503
tiers
gets "$file" "$TMP/p/full/prog" "the upper tier is down"
upstream_fault "$lower" "*" status 404
tiers
fails 3 "$file" "the upper tier is down, the lower one has nothing"
upstream_clear "$upper"
upstream_clear "$lower"

# ---- names that are not told ----------------------------------------------------------------------
upstream_reset "$upper"
store="elf-buildid-$id"
mkdir -p "$TMP/www/prog/$store" "$TMP/www/libprog.so/elf-buildid-$lib_id"
cp "$TMP/p/full/prog" "$TMP/www/prog/$store/prog"
cp "$TMP/p/full/libprog.so" "$TMP/www/libprog.so/elf-buildid-$lib_id/libprog.so"
conf '[source "s"]' "url = $upper/" 'layout = symstore' 'never = *secret*, PROG*'
fails 1 "symstore/prog/$store/prog" "a name that is not sent"
[ "$(upstream_count "$upper" requests)" = 0 ] || fail "the name was sent to a server"
gets "symstore/libprog.so/elf-buildid-$lib_id/libprog.so" "$TMP/p/full/libprog.so" "another name"
upstream_reset "$upper"
conf '[source "s"]' "url = $upper/" 'layout = symstore' 'path-patterns = lib*'
fails 1 "symstore/prog/$store/prog" "a name that no pattern means"
[ "$(upstream_count "$upper" requests)" = 0 ] || fail "asked for what no pattern means"
gets "symstore/libprog.so/elf-buildid-$lib_id/libprog.so" "$TMP/p/full/libprog.so" "a pattern"
upstream_reset "$upper"

# ---- NuGet's manners ---------------------------------------------------------------------------------
pdb=symstore/a.pdb/0C1033F78632492E91C6C314B72E1920ffffffff/a.pdb
upstream_start nuget --root "$TMP/www" --heads "$TMP/nuget.heads"
# shellcheck disable=SC2154
nuget=$URL_nuget
conf '[source "nuget"]' "url = $nuget/" 'layout = symstore' 'types = portablepdb' 'requires-checksum = yes'
fails 1 "$pdb" "no checksum is known"
grep -q 'a source needs the checksum of this file, which its program states' "$TMP/err" || fail "$(cat "$TMP/err")"
"$SYMFS" why --config "$TMP/conf" "$pdb" >"$TMP/why" 2>&1
symfs_serve nuget_page --config "$TMP/conf"
# shellcheck disable=SC2154
fetch_url "$URL_nuget_page/?path=$pdb" >"$TMP/page" || fail "the page"
printf 'a crash\na.pdb 0C1033F7-8632-492E-91C6-C314B72E1920-ffffffff\nand its end\n' >"$TMP/crash"
fetch_url --data-urlencode "path@$TMP/crash" "$URL_nuget_page/" >"$TMP/list" || fail "the page of a text"
symfs_unserve nuget_page
"$SYMFS" warm --config "$TMP/conf" "$pdb" >"$TMP/warm" 2>&1
for said in err why page list warm; do
  grep -q 'a source needs the checksum of this file' "$TMP/$said" || fail "$said: $(cat "$TMP/$said")"
  grep -q 'no source is in use\|add one with' "$TMP/$said" && fail "$said: $(cat "$TMP/$said")"
done
[ "$(upstream_count "$nuget" requests)" = 0 ] || fail "asked without a checksum"
sed -e "s|^url = .*|url = $nuget/|" -e 's/^enabled = no/enabled = yes/' "$top_srcdir/etc/sources.d/nuget.conf" \
  >"$TMP/conf"
cat "$DEADLINES" >>"$TMP/conf"
fails 1 "$pdb" "the preset"
grep -qE '^SymbolChecksum: SHA256:[0-9a-f]{64}.?$' "$TMP/nuget.heads" ||
  fail "no placeholder: $(cat "$TMP/nuget.heads")"

# ---- what a 403 means --------------------------------------------------------------------------------
upstream_fault "$upper" "*" status 403
conf '[source "pail"]' "url = $upper/" 'layout = gdb'
symfs_mount m --config "$TMP/conf"
cat "$TMP/m/$file" 2>&1 >/dev/null | grep -q 'Permission denied' ||
  fail "403 is not EACCES: $(cat "$TMP/m/$file" 2>&1 | head -c 200)"
grep -q 'source pail refuses the request: HTTP 403' "$TMP/m.log" ||
  fail "the log names no source: $(cat "$TMP/m.log")"
[ "$(grep -c pail "$TMP/m/.symfs/missing")" = 0 ] || fail "a 403 is remembered: $(cat "$TMP/m/.symfs/missing")"
upstream_clear "$upper"
same_file "$TMP/m/$file" "$TMP/p/full/prog"
symfs_umount m
upstream_fault "$upper" "*" status 403
conf '[source "pail"]' "url = $upper/" 'layout = gdb' 'on-403 = miss'
fails 1 "$file" "on-403 = miss"
upstream_reset "$upper"
fails 1 "$file" "on-403 = miss, again"
[ "$(upstream_count "$upper" requests)" = 0 ] || fail "a miss is not remembered"
upstream_clear "$upper"

# ---- connections -------------------------------------------------------------------------------------
mkdir -p "$TMP/many"
i=0
while [ $i -lt 12 ]; do
  printf 'const int n%d = %d; int main(void) { return n%d; }\n' $i $i $i >"$TMP/many.c"
  gcc -Wl,--build-id=sha1 -o "$TMP/many/x$i" "$TMP/many.c" || fail gcc
  put_gdb "$TMP/www" "$TMP/many/x$i"
  eval "path_x$i=\$(gdb_path \"\$(build_id \"\$TMP/many/x$i\")\")"
  i=$((i + 1))
done
for n in 1 3 12; do
  upstream_start slow --root "$TMP/www"
  # shellcheck disable=SC2154
  slow=$URL_slow
  upstream_hold "$slow" '*' 0
  conf '[source "slow"]' "url = $slow/" 'layout = gdb' "connections = $n"
  rm -rf "$TMP/store-c"
  symfs_mount c --config "$TMP/conf"
  readers=
  for x in "$TMP"/many/x*; do
    eval "cmp -s \"\$x\" \"\$TMP/c/gdb/\$path_${x##*/}\" &"
    readers="$readers $!"
  done
  wait_for upstream_holds "$slow" $n || fail "$n were allowed, and $(upstream_count "$slow" held) come at once"
  upstream_go "$slow"
  for r in $readers; do
    wait "$r" || fail "a reader with $n connections: $(cat "$TMP/c.log")"
  done
  most=$(upstream_count "$slow" inflight_max)
  say "connections = $n: at most $most at once"
  [ "$most" -le "$n" ] || fail "$most requests at once"
  symfs_umount c
  kill "$PID_slow"
done
# A parked transfer does not block others: large files, whose LOOKUP parks a transfer.
head -c 3000000 /dev/zero >"$TMP/pad"
for x in x0 x1; do
  objcopy --add-section .pad="$TMP/pad" "$TMP/many/$x" "$TMP/many/big-$x" || fail objcopy
  put_gdb "$TMP/www" "$TMP/many/big-$x"
done
upstream_start one --root "$TMP/www"
# shellcheck disable=SC2154
one=$URL_one
conf '[source "one"]' "url = $one/" 'layout = gdb' 'connections = 1'
# On a slow machine no transfer may be parked any more when the other file has come: then it is tried again.
comes_beside_parked() {
  rm -rf "$TMP/store-o"
  symfs_mount o --config "$TMP/conf"
  for x in x0 x1; do
    stat "$TMP/o/gdb/$(gdb_path "$(build_id "$TMP/many/$x")")" >/dev/null || fail "stat: $(cat "$TMP/o.log")"
  done
  same_file "$TMP/o/gdb/$(gdb_path "$(build_id "$TMP/many/x2")")" "$TMP/many/x2"
  grep -q 'waiting for open' "$TMP/o/.symfs/activity"
  cbp_parked=$?
  symfs_umount o
  return $cbp_parked
}
wait_for comes_beside_parked || fail "a parked transfer keeps the only connection"

# ---- what .symfs/config tells, and reads back ----------------------------------------------------------
conf '[source "all"]' "url = $upper/" 'layout = gdb' 'tier = 3' 'connections = 2' 'never = *x* y?' \
  'path-patterns = a*' \
  'requires-checksum = yes' 'allow-unverified = no' 'allow-private = yes' 'allow-http-redirects = yes' \
  'follow-links = yes' 'on-403 = miss' "ca-file = $TMP/ca.pem" "cert = $TMP/client.pem" \
  "key = $TMP/client.key" "netrc = $TMP/netrc" 'proxy = http://u:hunter2@127.0.0.1:1/' 'checksum-placeholder = yes' \
  'header = Authorization: hunter2'
symfs_mount t --config "$TMP/conf"
cp "$TMP/t/.symfs/config" "$TMP/told"
grep -q hunter2 "$TMP/told" "$TMP/t/.symfs/sources" "$TMP/t.log" && fail "a secret is shown"
for line in 'tier = 3' 'connections = 2' 'never = \*x\*' 'never = y?' 'path-patterns = a\*' \
  'requires-checksum = yes' \
  'allow-unverified = no' 'allow-private = yes' 'allow-http-redirects = yes' 'follow-links = yes' 'on-403 = miss' \
  "ca-file = $TMP/ca.pem" "cert = $TMP/client.pem" "key = $TMP/client.key" \
  "netrc = $TMP/netrc" 'proxy = http://127.0.0.1:1/\{0,1\}' 'checksum-placeholder = yes' \
  '# header = Authorization: (not shown)'; do
  grep -qx "$line" "$TMP/told" || fail "not shown: $line: $(cat "$TMP/told")"
done
symfs_umount t
symfs_mount u --config "$TMP/told"
grep -vE '^(# header|cache-dir|$)' "$TMP/told" >"$TMP/a"
grep -vE '^(# header|cache-dir|$)' "$TMP/u/.symfs/config" | diff "$TMP/a" - ||
  fail "the printed configuration does not read back as the same"
symfs_umount u
exit 0
