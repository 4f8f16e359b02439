#!/bin/sh
# Three servers with one bucket behind nginx, for a minute or longer: uploads, downloads, expiry and eviction at the
# same time, while servers, the proxy and the bucket's store are killed and stopped. No client gets a wrong byte, no
# file is reported as missing that a source has, no acknowledged upload is lost, and a server that was not killed has
# as much memory and as many descriptors at the end as after a fifth of the time.
#	SYMFS_SOAK_SECONDS=1800 tests/mount/cluster-soak.sh
# With SYMFS_TEST_STORE=ceph the bucket is one of a real Ceph gateway, which is killed and stopped in the same way.
# SPDX-License-Identifier: LGPL-2.1-or-later
# As many bytes that ASan keeps from reuse would look like a leak.
ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:exitcode=99:quarantine_size_mb=4}
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl nginx openssl sha256sum
[ -x "$SYMFS" ] || fail "$SYMFS is not built"
unset http_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE \
  AWS_REGION \
  AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
SECONDS_LONG=${SYMFS_SOAK_SECONDS:-60} KILL_EVERY=${SYMFS_SOAK_KILL:-6} FILES=60
umask 077

# ---- files, sources, the bucket ---------------------------------------------------------------------
symbols() { # NAME ID LINES
  printf 'MODULE Linux x86_64 %s %s\n' "$2" "$1"
  awk -v n="$3" -v id="$2" 'BEGIN {
    print "FUNC 10 10 0 f" id; print "10 10 1 0"
    for (a = 0; a < n; a++) printf "PUBLIC %x 0 name_%d_%s\n", a * 16 + 64, a, id }'
}
some_id() { echo "$1" | md5sum | cut -c1-32 | tr a-f A-F | sed 's/$/0/'; }
i=0
while [ $i -lt $FILES ]; do
  id=$(some_id "down $i")
  mkdir -p "$TMP/up/d$i.so/$id"
  symbols "d$i.so" "$id" $((200 + i * 100)) >"$TMP/up/d$i.so/$id/d$i.so.sym"
  echo "d$i.so/$id/d$i.so.sym" >>"$TMP/syms"
  i=$((i + 1))
done
upstream_start up --root "$TMP/up"

store_port=
# The Ceph gateway puts itself into the background, and then writes its process id.
gateway_named() { grep -q . "$TMP"/c/run/client.rgw*.pid 2>/dev/null; }
gateway_start() {
  if [ -z "$store_port" ]; then
    ceph_start
    store_port=${S3##*:}
  else
    rm -f "$TMP"/c/run/client.rgw*.pid
    radosgw -c "$TMP/c/ceph.conf" -n client.rgw.a --no-mon-config >"$TMP/rgw.out" 2>&1 ||
      fail "radosgw: $(cat "$TMP/rgw.out")"
    wait_for gateway_named
    S3_PID=$(cat "$TMP"/c/run/client.rgw*.pid)
    PIDS="$PIDS $S3_PID"
    wait_for listens_or_gone "$S3_PID" "$store_port"
  fi
  store_pid=$S3_PID
}
store_start() {
  if [ "${SYMFS_TEST_STORE:-}" = ceph ]; then
    gateway_start
    return
  fi
  mkdir -p "$TMP/bucket"
  for _ in 1 2 3 4 5; do
    st_port=${store_port:-$(free_port)}
    "$top_builddir/tests/helpers/s3" --root "$TMP/bucket" --bucket symbols --access-key AKSYMFS \
      --secret-key SKSYMFSSECRET \
      --port "$st_port" >"$TMP/s3.out" 2>"$TMP/s3.log" &
    store_pid=$!
    PIDS="$PIDS $store_pid"
    wait_for listens_or_gone "$store_pid" "$st_port"
    gone "$store_pid" || break
  done
  gone "$store_pid" && fail "the bucket's store does not start: $(cat "$TMP/s3.log")"
  store_port=$st_port
}
store_start
cat >"$TMP/conf" <<END
[bucket]
endpoint = http://127.0.0.1:$store_port
bucket = symbols
prefix = team
access-key = AKSYMFS
secret-key = SKSYMFSSECRET
[source "up"]
url = $URL_up
layout = breakpad
[class "brief"]
age = 2s
END

# ---- servers and proxy ----------------------------------------------------------------------------------
server() { # NUMBER
  for _ in 1 2 3 4 5; do
    eval "se_port=\${port_$1:-}"
    symfs_serve "s$1" --listen "127.0.0.1:${se_port:-0}" --upload --config "$TMP/conf" --quota 24M \
      --miss-lifetime 2s --breaker-seconds 1s --stall-timeout 3s --lookup-deadline 5s && break
  done
  eval "port_$1=\${URL_s$1##*:}"
}
for s in 1 2 3; do server $s; done
mkdir -p "$TMP/nginx-ng" "$TMP/tls"
(cd "$TMP/tls" && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=symbols.example.net \
  -addext subjectAltName=IP:127.0.0.1 -keyout server.key -out server.pem) >"$TMP/openssl.out" 2>&1 ||
  fail "openssl: $(cat "$TMP/openssl.out")"
front_port=
front() {
  for _ in 1 2 3 4 5; do
    fr_port=${front_port:-$(free_port)}
    {
      echo "daemon off; master_process off; pid $TMP/nginx-ng/pid; error_log $TMP/nginx-ng/error; events {" \
        "worker_connections 512; }"
      echo "http { access_log off; client_body_temp_path $TMP/nginx-ng/t1; proxy_temp_path $TMP/nginx-ng/t2;"
      echo "fastcgi_temp_path $TMP/nginx-ng/t3; uwsgi_temp_path $TMP/nginx-ng/t4; scgi_temp_path $TMP/nginx-ng/t5;"
      # shellcheck disable=SC2154 # set by server()
      sed -e \
        "s|10.0.0.1:8737|127.0.0.1:$port_1|; s|10.0.0.2:8737|127.0.0.1:$port_2|; s|10.0.0.3:8737|127.0.0.1:$port_3|" \
        -e "s|/etc/nginx/symfs/|$TMP/tls/|; s|listen 443 ssl|listen 127.0.0.1:$fr_port ssl|" \
        "$top_srcdir/etc/nginx/symfs-cluster.conf"
      echo "}"
    } >"$TMP/nginx-ng/conf"
    nginx_run ng "$fr_port" && break
  done
  gone "$ns_pid" && fail "nginx does not start"
  front_port=$fr_port front_pid=$ns_pid
}
front
FRONT=https://127.0.0.1:$front_port
status() { curl -gsS --noproxy '*' --cacert "$TMP/tls/server.pem" --max-time "$WAIT_MOST" -w '%{http_code}\n' "$@" \
  2>>"$TMP/curl.out"; }

# ---- clients: they run until $TMP/stop is there ---------------------------------------------------------------
# A download is right, or fails visibly: with an error, or with fewer bytes than announced.
downloader() { # NUMBER
  while [ ! -e "$TMP/stop" ]; do
    do_sym=$(shuf -n 1 "$TMP/syms")
    do_code=$(status -o "$TMP/got$1" "$FRONT/$do_sym")
    do_rc=$?
    case $do_rc:$do_code in
    0:200) cmp -s "$TMP/got$1" "$TMP/up/$do_sym" && echo right ||
      { echo "WRONG $do_sym"; cp "$TMP/got$1" "$TMP/wrong$1"; } ;;
    0:404) echo "MISSING $do_sym" ;;
    *) echo "failed $do_rc:$do_code" ;;
    esac
    nap
  done >"$TMP/downloads$1"
}
# An upload counts as acknowledged with 200 or 201. Every fourth has a class that expires at once.
uploader() { # NUMBER
  ul_n=0
  while [ ! -e "$TMP/stop" ]; do
    ul_n=$((ul_n + 1)) ul_class=keep
    [ $((ul_n % 4)) != 0 ] || ul_class=brief
    ul_id=$(some_id "up $1 $ul_n")
    symbols "u$1-$ul_n.so" "$ul_id" $((ul_n % 50 * 40)) >"$TMP/sent$1"
    ul_path=u$1-$ul_n.so/$ul_id/u$1-$ul_n.so.sym
    ul_code=$(status -o "$TMP/said$1" -T "$TMP/sent$1" "$FRONT/breakpad/$ul_path?class=$ul_class")
    case $?:$ul_code in
    0:20[01]) echo "$ul_class $ul_path $(sha256sum <"$TMP/sent$1" | cut -d' ' -f1)" ;;
    0:4*) echo "REFUSED $ul_path $ul_code $(head -c 200 "$TMP/said$1")" ;;
    *) echo "failed $ul_code" ;;
    esac
    nap
  done >"$TMP/uploads$1"
}
# Removes what has expired, and evicts, on one server after another.
keeper() {
  ke_bucket=
  "$SYMFS" cache --help | grep -q -- --bucket && ke_bucket=yes
  while [ ! -e "$TMP/stop" ]; do
    for ke_s in 1 2 3; do
      "$SYMFS" cache expire --no-default-sources --config "$TMP/conf" --cache "$TMP/store-s$ke_s"
      "$SYMFS" cache gc --no-default-sources --config "$TMP/conf" --quota 16M --cache "$TMP/store-s$ke_s"
      [ -z "$ke_bucket" ] || "$SYMFS" cache gc --bucket --no-default-sources --config "$TMP/conf" \
        --cache "$TMP/store-s$ke_s"
      nap
    done
  done >"$TMP/keeper" 2>&1
}
clients=
for n in 1 2 3; do
  downloader $n &
  clients="$clients $!"
  uploader $n &
  clients="$clients $!"
done
keeper &
clients="$clients $!"
PIDS="$PIDS $clients"

# ---- faults: server 3 is never killed, so its memory can be compared -----------------------------------------------
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$PID_s3/status"; }
descriptors() { find "/proc/$PID_s3/fd" -mindepth 1 2>/dev/null | wc -l; }
kill_server() { # NUMBER
  eval "ks_pid=\$PID_s$1"
  kill -KILL "$ks_pid"
  wait_gone "$ks_pid" || fail "a server survives SIGKILL"
  wait "$ks_pid" 2>/dev/null
  server "$1"
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }
# A slow machine takes longer than SECONDS_LONG for what proves something.
rights() { cat "$TMP"/downloads? | grep -c '^right'; }
acknowledged() { cat "$TMP"/uploads? | grep -c "^$1 "; } # CLASS
too_little() {
  [ "$(now_ms)" -lt $((end + WAIT_MOST * 1000)) ] || return
  [ $faults -lt 4 ] || [ "$(rights)" -lt 20 ] || [ "$(acknowledged keep)" -lt 5 ] || [ "$(acknowledged brief)" = 0 ]
}
end=$(($(now_ms) + SECONDS_LONG * 1000)) next=$(($(now_ms) + KILL_EVERY * 1000)) \
  fifth=$(($(now_ms) + SECONDS_LONG * 200))
first_rss=0 first_fds=0 faults=0 stopped=0
while [ "$(now_ms)" -lt $end ] || too_little; do
  now=$(now_ms)
  for s in 1 2 3; do eval "gone \"\$PID_s$s\"" && fail "server $s ended"; done
  gone "$store_pid" && fail "the bucket's store ended"
  if [ $first_rss = 0 ] && [ "$now" -ge $fifth ]; then
    first_rss=$(rss) first_fds=$(descriptors)
  fi
  if [ $stopped != 0 ] && [ "$now" -ge $stopped ]; then
    kill -CONT "$store_pid"
    stopped=0
  fi
  if [ "$now" -ge "$next" ] && { [ $((end - now)) -gt 4000 ] || too_little; }; then
    case $((faults % 5)) in
    0 | 2) kill_server $((faults % 5 / 2 + 1)) ;;
    1) kill -STOP "$store_pid"; stopped=$((now + 3000)) ;;
    3)
      kill -CONT "$store_pid"
      kill -KILL "$store_pid"
      wait_gone "$store_pid"
      stopped=0
      store_start
      ;;
    4)
      kill -KILL "$front_pid"
      wait_gone "$front_pid"
      front
      ;;
    esac
    faults=$((faults + 1)) next=$((now + KILL_EVERY * 1000))
  fi
  nap
done
kill -CONT "$store_pid"
: >"$TMP/stop"
for c in $clients; do wait_gone "$c" || fail "a client does not end"; done

# ---- what the clients have seen -----------------------------------------------------------------------------------
cat "$TMP"/downloads? >"$TMP/all-downloads"
cat "$TMP"/uploads? >"$TMP/all-uploads"
say "downloads:" \
  "$(grep -c '^right' "$TMP/all-downloads") right, $(grep -c '^failed' "$TMP/all-downloads") failed visibly," \
  "$(grep -c '^WRONG' "$TMP/all-downloads") wrong, $(grep -c '^MISSING' "$TMP/all-downloads") called missing"
say "uploads:" \
  "$(grep -cE '^(keep|brief) ' "$TMP/all-uploads") acknowledged," \
  "$(grep -c '^failed' "$TMP/all-uploads") failed visibly," \
  "$(grep -c '^REFUSED' "$TMP/all-uploads") refused; $faults faults"
say "removed or evicted by the keeper: $(awk '/^removed/ { n += $2 } END { print n + 0 }' "$TMP/keeper") files"
grep -q '^WRONG' "$TMP/all-downloads" && fail "wrong bytes: $(grep -m 3 '^WRONG' "$TMP/all-downloads")"
grep -q '^MISSING' "$TMP/all-downloads" && fail "called missing: $(grep -m 3 '^MISSING' "$TMP/all-downloads")"
grep -q '^REFUSED' "$TMP/all-uploads" && fail "refused: $(grep -m 3 '^REFUSED' "$TMP/all-uploads")"

# ---- no acknowledged upload is lost: when the queues are empty, every server has each ------------------------------
queued() { fetch_url "$1/metrics" | sed -n 's/^symfs_bucket_queued_files //p'; }
drained() { for dr_s in 1 2 3; do eval "[ \"\$(queued \"\$URL_s$dr_s\")\" = 0 ]" || return 1; done; }
wait_for drained || fail "the queues do not drain: $(queued "$URL_s1") $(queued "$URL_s2") $(queued "$URL_s3")"
# The keeper and the servers remove what has expired, and either can be first. A listing counts as no use.
briefs_here() { # prints the acknowledged uploads of the class "brief" that a server still has
  for bh_s in 1 2 3; do
    "$SYMFS" cache ls --no-default-sources --cache "$TMP/store-s$bh_s" 2>"$TMP/ls.err" ||
      fail "cache ls: $(cat "$TMP/ls.err")"
  done >"$TMP/ls"
  while read -r _ bh_path _; do grep -qF " ${bh_path%%/*}" "$TMP/ls" && echo "$bh_path"; done <"$TMP/briefs"
}
expired() {
  for ex_s in 1 2 3; do
    "$SYMFS" cache expire --no-default-sources --config "$TMP/conf" --cache "$TMP/store-s$ex_s" >>"$TMP/keeper" 2>&1
  done
  briefs_here >"$TMP/briefs-left"
  [ ! -s "$TMP/briefs-left" ]
}
grep '^brief ' "$TMP/all-uploads" >"$TMP/briefs"
[ -s "$TMP/briefs" ] || fail "no upload of the class brief was acknowledged"
wait_for expired || fail "not expired: $(head -n 3 "$TMP/briefs-left") $(tail -n 3 "$TMP/keeper")"
say "$(wc -l <"$TMP/briefs") acknowledged uploads of the class brief have expired"
for s in 1 2 3; do
  "$SYMFS" cache rm --misses --no-default-sources --cache "$TMP/store-s$s" >"$TMP/rm.out" 2>&1
done
grep '^keep ' "$TMP/all-uploads" >"$TMP/kept"
# Asks server $1 for the uploads of the list $2, over few connections. Prints those that it does not have, or has
# wrong.
# $TMP/again gets those whose download failed visibly: a loaded machine can let it time out, so they are asked for
# again.
lost_of() {
  rm -rf "$TMP/final"
  mkdir "$TMP/final"
  eval "lo_url=\$URL_s$1"
  awk -v url="$lo_url" -v dir="$TMP/final" '{ print "url = \"" url "/" $2 "\"\noutput = \"" dir "/" NR "\"" }' "$2" \
    >"$TMP/final.conf"
  curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -Z --parallel-max 8 -K "$TMP/final.conf" \
    -w '%{exitcode} %{http_code} %{filename_effective}\n' >"$TMP/final.out" 2>"$TMP/final.err"
  sed -n "s|^0 200 $TMP/final/||p" "$TMP/final.out" | sort >"$TMP/final.whole"
  sed -n "s|^0 404 $TMP/final/||p" "$TMP/final.out" | sort >"$TMP/final.missing"
  : >"$TMP/again"
  lo_n=0
  while read -r lo_class lo_path lo_sum; do
    lo_n=$((lo_n + 1))
    if grep -qx $lo_n "$TMP/final.missing"; then
      echo "missing $lo_path"
    elif ! grep -qx $lo_n "$TMP/final.whole"; then
      echo "$lo_class $lo_path $lo_sum" >>"$TMP/again"
    elif [ "$(sha256sum <"$TMP/final/$lo_n" | cut -d' ' -f1)" != "$lo_sum" ]; then
      echo "wrong $lo_path"
    fi
  done <"$2"
}
none_failed() { # SERVER LIST
  cp "$2" "$TMP/asked"
  lost_of "$1" "$TMP/asked" >>"$TMP/lost"
  cp "$TMP/again" "$2"
  [ ! -s "$2" ]
}
rm -f "$TMP"/part-*
split -l 200 "$TMP/kept" "$TMP/part-"
lost=0
for part in "$TMP"/part-*; do
  for s in 1 2 3; do
    : >"$TMP/lost"
    cp "$part" "$TMP/rest"
    wait_for none_failed $s "$TMP/rest" ||
      fail "server $s: downloads fail: $(head -n 2 "$TMP/rest" "$TMP/final.err")"
    [ -s "$TMP/lost" ] || continue
    lost=$((lost + $(wc -l <"$TMP/lost")))
    say "server $s: $(wc -l <"$TMP/lost") of $(basename "$part") are missing or wrong: $(head -n 3 "$TMP/lost" |
      tr '\n' ' ')"
  done
done
[ $lost = 0 ] || fail "$lost of $(($(wc -l <"$TMP/kept") * 3)) acknowledged uploads are lost"
say "$(wc -l <"$TMP/kept") acknowledged uploads are on all three servers"

# ---- memory and descriptors of the server that was not killed ------------------------------------------------------
fds_few() { [ "$(descriptors)" -le $((first_fds + 40)) ]; }
wait_for fds_few || fail "descriptors: $first_fds after a fifth, $(descriptors) at the end"
last_rss=$(rss)
say "server 3: $first_rss kB and $first_fds descriptors after a fifth, $last_rss kB and $(descriptors) at the end"
[ "$last_rss" -le $((first_rss + first_rss / 4 + 32768)) ] || fail "memory grows from $first_rss to $last_rss kB"
for s in 1 2 3; do
  symfs_unserve s$s
  "$SYMFS" cache verify --cache "$TMP/store-s$s" >"$TMP/verify.out" 2>&1 || fail "verify: $(cat "$TMP/verify.out")"
done
exit 0
