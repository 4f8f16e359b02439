#!/bin/sh
# Several `symfs serve`, each with a store of its own, behind the samples for nginx and HAProxy. Many clients
# ask for one cold file by four layouts, and the source sends it once. 200 files in random order cost 200
# requests. When the server that downloads is killed, every client gets the whole file by a retry, and the
# source sends it at most twice. The sizes of the full test:
#	SYMFS_CLUSTER_MIB=300 SYMFS_CLUSTER_SERVERS=8 SYMFS_CLUSTER_CLIENTS=64 tests/mount/serve-cluster.sh
# With SYMFS_TEST_STORE=ceph the servers share a bucket of a real Ceph gateway, which is then stopped, too
# (cluster-ceph.sh). SYMFS_CLUSTER_FRONTS=nginx tries one front only.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl openssl gcc objcopy
[ -x "$SYMFS" ] || fail "$SYMFS is not built"
command -v nginx >/dev/null || command -v haproxy >/dev/null || skip "neither nginx nor haproxy is installed"

MIB=${SYMFS_CLUSTER_MIB:-12} SERVERS=${SYMFS_CLUSTER_SERVERS:-4} CLIENTS=${SYMFS_CLUSTER_CLIENTS:-16}
SECONDS_OF_ONE=${SYMFS_CLUSTER_SECONDS:-5} # a download at the rate of the source
FILES=${SYMFS_CLUSTER_FILES:-200}
LATER=$((SERVERS * 3)) # files that are asked for while the bucket does not answer
FRONTS=${SYMFS_CLUSTER_FRONTS:-nginx haproxy}
CONF= # of the servers
SIZE=$((MIB << 20)) RATE=$(((MIB << 20) / SECONDS_OF_ONE))
BOUND=$((SECONDS_OF_ONE * 20 + WAIT_MOST)) # seconds after which a client hangs

# ---- one large file, and many small ones ------------------------------------------------------
head -c $((SIZE - 100000)) /dev/urandom >"$TMP/noise"
for n in 1 2 3 4; do # each round needs a file that no server has
  make_program "$TMP/made$n" prog
  objcopy --add-section .noise="$TMP/noise" "$TMP/made$n/debug/prog.debug" "$TMP/large$n" || fail objcopy
  put_gdb "$TMP/up" "$TMP/large$n" .debug
  eval "id_$n=\$(build_id \"\$TMP/large$n\")"
done
rm -f "$TMP/noise"
upstream_start large --root "$TMP/up" --rate "$RATE"
# Their identifiers are digests, as real ones are: the front spreads them evenly.
i=0
while [ $i -lt $((FILES + LATER * 2)) ]; do
  sym=v$i.so/$(echo "$i" | md5sum | cut -c1-32 | tr a-f A-F)0/v$i.so.sym
  mkdir -p "$TMP/many/${sym%/*}"
  { echo "MODULE Linux x86_64 $(echo "${sym#*/}" | cut -c1-33) v$i.so"
  printf 'FUNC 1 2 0 g\n1 2 3 0\n'; } >"$TMP/many/$sym"
  if [ $i -lt "$FILES" ]; then echo "$sym" >>"$TMP/syms"; else echo "$sym" >>"$TMP/later"; fi
  i=$((i + 1))
done
upstream_start many --root "$TMP/many"

# ---- the servers -------------------------------------------------------------------------------
start_server() { # NUMBER [PORT]
  symfs_serve "s$1" --upload --access-log "$TMP/access-$1" --drain-grace 2 --listen "127.0.0.1:${2:-0}" \
    --source "gdb@$URL_large" --source "breakpad@$URL_many" ${CONF:+--config "$CONF"}
  eval "port_$1=\${URL_s$1##*:}"
}
start_all() { # with empty stores
  s=1
  while [ $s -le "$SERVERS" ]; do
    eval "sa_port=\${port_$s:-0} sa_pid=\${PID_s$s:-}"
    [ -z "$sa_pid" ] || gone "$sa_pid" || symfs_unserve "s$s"
    rm -rf "$TMP/store-s$s"
    start_server "$s" "$sa_port"
    s=$((s + 1))
  done
}
each_server() { # TEXT: once for each server, a line each, with its number for N@ and its port for P@
  s=1
  while [ $s -le "$SERVERS" ]; do
    eval "es_port=\$port_$s"
    echo "$1" | sed "s/N@/$s/g; s/P@/$es_port/g"
    s=$((s + 1))
  done
}

# ---- the fronts ---------------------------------------------------------------------------------
mkdir -p "$TMP/tls" "$TMP/nginx-ng"
(cd "$TMP/tls" && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=symbols.example.net \
  -addext subjectAltName=IP:127.0.0.1 -keyout server.key -out cert.pem && cp cert.pem server.pem &&
  cat cert.pem server.key >both.pem) >"$TMP/openssl.out" 2>&1 || fail "openssl: $(cat "$TMP/openssl.out")"

# A sample with the servers of the test in place of each group of lines that match a pattern.
with_servers() { # FILE PATTERN TEXT...: a text for each group, or the last for all that follow
  ws_file=$1 ws_pattern=$2 ws_n=0
  shift 2
  for ws_text; do
    ws_n=$((ws_n + 1))
    each_server "$ws_text" >"$TMP/servers$ws_n"
  done
  awk -v pattern="$ws_pattern" -v last="$ws_n" -v texts="$TMP/servers" '
    $0 !~ pattern { inside = 0; print; next }
    inside { next }
    { inside = 1; if (n < last) n++; file = texts n; while ((getline line <file) > 0) print line; close(file) }' \
      "$ws_file"
}

start_nginx() {
  for _ in 1 2 3 4 5; do
    front_port=$(free_port)
    {
      echo "daemon off; master_process off; pid $TMP/nginx-ng/pid; error_log stderr notice; events {" \
        "worker_connections 1024; }"
      echo "http { access_log $TMP/nginx-ng/access; client_body_temp_path $TMP/nginx-ng/t1;"
      echo "proxy_temp_path $TMP/nginx-ng/t2; fastcgi_temp_path $TMP/nginx-ng/t3; uwsgi_temp_path $TMP/nginx-ng/t4;" \
        "scgi_temp_path $TMP/nginx-ng/t5;"
      with_servers "$top_srcdir/etc/nginx/symfs-cluster.conf" '^\tserver 10[.]' \
        '	server 127.0.0.1:P@ fail_timeout=5s;' |
        sed -e "s|/etc/nginx/symfs/|$TMP/tls/|; s|listen 443 ssl|listen 127.0.0.1:$front_port ssl|"
      echo "}"
    } >"$TMP/nginx-ng/conf"
    nginx_run ng "$front_port" && break
  done
  gone "$ns_pid" && fail "nginx does not start"
  front_pid=$ns_pid
}

start_haproxy() {
  for _ in 1 2 3 4 5; do
    front_port=$(free_port)
    {
      printf 'global\n\tmaxconn 1000\n\ttune.bufsize 131072\n\tlog stderr local0\n\tstats socket %s/haproxy.sock\n' \
        "$TMP"
      with_servers "$top_srcdir/etc/haproxy/symfs.cfg" '^\tserver [a-z] 10[.]' '	server sN@ 127.0.0.1:P@' \
        '	server sN@ 127.0.0.1:P@ track symfs_by_key/sN@' |
        sed -e "s|/etc/haproxy/symfs/server.pem|$TMP/tls/both.pem|; s|bind :443|bind 127.0.0.1:$front_port|" \
          -e 's|^\toption httpchk.*|&\n\ttimeout check 100s|'
    } >"$TMP/haproxy.cfg"
    haproxy -db -f "$TMP/haproxy.cfg" >"$TMP/haproxy.log" 2>&1 &
    front_pid=$!
    PIDS="$PIDS $front_pid"
    wait_for listens_or_gone "$front_pid" "$front_port"
    gone "$front_pid" || break
  done
  gone "$front_pid" && fail "haproxy does not start"
}

front_get() { # PATH [CURL-ARGS...]
  fg_path=$1
  shift
  fetch_url --cacert "$TMP/tls/cert.pem" --max-time "$BOUND" "$@" "https://127.0.0.1:$front_port$fg_path"
}

# ---- clients --------------------------------------------------------------------------------------
# The paths of one file, a line each: of the gdb layout, debuginfod, symstore and unified.
paths_of() { # ID
  po_rest=${1#??}
  echo "/gdb/.build-id/${1%"$po_rest"}/$po_rest.debug"
  echo "/buildid/$1/debuginfo"
  echo "/_.debug/elf-buildid-sym-$1/_.debug"
  echo "/unified/$(echo "${1%"$po_rest"}/$po_rest" | tr a-f A-F)/debuginfo"
}

# One client: asks until it has the whole file, at most six times. Writes "TRIES MILLISECONDS".
client() { # PATH FILE
  c_began=$(now_ms) c_tries=0
  while [ $c_tries -lt 6 ]; do
    c_tries=$((c_tries + 1))
    front_get "$1" 2>>"$TMP/curl.out" | cmp -s - "$2" && { echo "$c_tries $(($(now_ms) - c_began))"; return; }
    nap
  done
  echo "failed $1"
}

# All clients at once on one file, by all paths in turn. Their lines in $TMP/clients.
start_clients() { # NUMBER-OF-THE-FILE
  eval "sc_id=\$id_$1"
  paths_of "$sc_id" >"$TMP/paths"
  : >"$TMP/clients"
  crowd=
  n=0
  while [ $n -lt "$CLIENTS" ]; do
    client "$(sed -n "$((n % 4 + 1))p" "$TMP/paths")" "$TMP/large$1" >>"$TMP/clients" 2>/dev/null &
    crowd="$crowd $!"
    n=$((n + 1))
  done
  PIDS="$PIDS $crowd"
}
end_clients() {
  # shellcheck disable=SC2086 # words
  wait $crowd
  [ "$(grep -c '^[0-9]' "$TMP/clients")" = "$CLIENTS" ] ||
    fail "$front: $(grep -vc '^[0-9]' "$TMP/clients") clients failed: $(sort "$TMP/clients" | uniq -c | tail -n 4)"
}
sent_of() { # NUMBER NAME: of the large file
  eval "so_id=\$id_$1"
  upstream_count "$URL_large" "$2" "/$(gdb_path "$so_id" .debug)"
}
downloads() { # NUMBER-OF-THE-SERVER
  eval "fetch_url \"\$URL_s$1/metrics\"" | sed -n 's/^symfs_flights //p'
}

# ---- a bucket --------------------------------------------------------------------------------------
bucket_conf() { # PREFIX
  CONF=$TMP/team.conf
  (umask 077 && printf '[bucket]\nendpoint = %s\nbucket = symbols\nprefix = %s\naccess-key = %s\nsecret-key = %s\n' \
    "$S3" "$1" "$ACCESS" "$SECRET" >"$CONF")
}
bucket_number() { # NUMBER-OF-THE-SERVER NAME
  eval "fetch_url \"\$URL_s$1/metrics\"" | sed -n "s/^symfs_bucket_$2 //p"
}
sum_of() { # NAME: over all servers
  su_s=1 su_sum=0
  while [ $su_s -le "$SERVERS" ]; do
    su_sum=$((su_sum + $(bucket_number $su_s "$1")))
    su_s=$((su_s + 1))
  done
  echo $su_sum
}
queues_empty() { [ "$(sum_of queued_files)" = 0 ]; }
empty_server() { # NUMBER: in the place of the one that was there
  symfs_unserve "s$1"
  rm -rf "$TMP/store-s$1"
  eval "start_server $1 \$port_$1"
}
# Each file of a list from one server, one after the other; its bytes are compared. Milliseconds in $TMP/times.
gets_all() { # NUMBER-OF-THE-SERVER LIST
  rm -rf "$TMP/got"
  mkdir "$TMP/got"
  eval "ga_url=\$URL_s$1"
  # shellcheck disable=SC2154 # set by eval
  awk -v url="$ga_url" -v dir="$TMP/got" '{ print "url = \"" url "/" $0 "\"\noutput = \"" dir "/" NR "\"" }' "$2" \
    >"$TMP/urls"
  fetch_url --fail -K "$TMP/urls" -w '%{time_total}\n' >"$TMP/seconds" 2>"$TMP/curl.out" ||
    fail "$front: server $1: $(tail -n 2 "$TMP/curl.out")"
  ga_n=0
  while read -r ga_sym; do
    ga_n=$((ga_n + 1))
    cmp -s "$TMP/got/$ga_n" "$TMP/many/$ga_sym" || fail "$front: server $1: wrong bytes of $ga_sym"
  done <"$2"
  awk '{ printf "%.1f\n", $1 * 1000 }' "$TMP/seconds" >"$TMP/times"
}
part_of_times() { sort -n "$TMP/times" |
  awk -v p="$1" '{ v[NR] = $1 } END { n = int((NR * p + 99) / 100); print v[n < 1 ? 1 : n] }'; } # PERCENT
all_gets() { echo $(($(upstream_count "$URL_large" get) + $(upstream_count "$URL_many" get))); }

# The time until a server answers 200, after the start of the round.
until_found() { # NUMBER-OF-THE-SERVER PATH START
  uf_get() { [ "$(eval "fetch_url -o /dev/null -w '%{http_code}' \"\$URL_s$1/$2\"")" = 200 ]; }
  wait_for uf_get "$1" "$2" || return
  echo $(($(now_ms) - $3))
}

# A server replaced by an empty one; files that are stored.
try_replaced() { # FILE
  tr_start=$(now_ms)
  wait_for queues_empty || fail "$front: the queues have $(sum_of queued_files) files"
  say "$front: the queues were empty $(($(now_ms) - tr_start)) ms later, $(sum_of files) files were uploaded," \
    "$(sum_of lost_files) lost"
  empty_server 1
  tr_gets=$(all_gets)
  gets_all 1 "$TMP/syms"
  say "$front: an empty server, $FILES files: median $(part_of_times 50) ms, 99 of 100 $(part_of_times 99) ms"
  eval "tr_id=\$id_$1"
  # shellcheck disable=SC2154 # set by eval
  tr_path=buildid/$tr_id/debuginfo tr_start=$(now_ms)
  # shellcheck disable=SC2154
  fetch_url --max-time "$BOUND" "$URL_s1/$tr_path" | cmp -s - "$TMP/large$1" ||
    fail "$front: the large file of an empty server"
  tr_took=$(($(now_ms) - tr_start)) tr_start=$(now_ms)
  signed --max-time "$BOUND" "$S3/symbols/$front/b/$(sha256sum <"$TMP/large$1" | cut -d' ' -f1)" -o "$TMP/direct" ||
    fail "$front: curl"
  # The digest is computed once more alone, to leave its time out.
  tr_direct=$(($(now_ms) - tr_start)) tr_start=$(now_ms)
  sha256sum <"$TMP/large$1" >/dev/null
  tr_direct=$((tr_direct - $(now_ms) + tr_start))
  same_file "$TMP/direct" "$TMP/large$1"
  rm "$TMP/direct"
  say "$front: an empty server, $MIB MiB: $tr_took ms from the bucket, curl of the object alone $tr_direct ms"
  say "$front: an empty server: $(($(all_gets) - tr_gets)) upstream GETs"
  [ "$(all_gets)" = "$tr_gets" ] || fail "$front: an empty server asked upstream"
  tr_asked=$(ceph_requests)
  gets_all 1 "$TMP/syms"
  say "$front: $FILES stored files: $(($(ceph_requests) - tr_asked)) requests of the bucket, median" \
    "$(part_of_times 50) ms"
  [ "$(ceph_requests)" = "$tr_asked" ] || fail "$front: stored files cost requests of the bucket"
}

# An upload to one server is found on all others, where a miss is remembered.
try_visible() {
  n=0
  while [ $n -lt 5 ]; do
    n=$((n + 1))
    v_id=$(echo "visible $front $n" | md5sum | cut -c1-32 | tr a-f A-F)0
    v_path=x$n.so/$v_id/x$n.so.sym
    printf 'MODULE Linux x86_64 %s x%s.so\nFUNC 1 2 0 g\n1 2 3 0\n' "$v_id" "$n" >"$TMP/x.sym"
    v_s=1
    while [ $v_s -le "$SERVERS" ]; do
      [ "$(eval "fetch_url -o /dev/null -w '%{http_code}' \"\$URL_s$v_s/$v_path\"")" = 404 ] ||
        fail "$front: server $v_s has the file before the upload"
      v_s=$((v_s + 1))
    done
    v_start=$(now_ms)
    eval "v_url=\$URL_s$n"
    # shellcheck disable=SC2154
    fetch_url --fail -o "$TMP/said" -T "$TMP/x.sym" "$v_url/breakpad/$v_path" ||
      fail "$front: PUT: $(cat "$TMP/said")"
    v_done=$(now_ms) v_s=1 v_pids=
    : >"$TMP/visible"
    while [ $v_s -le "$SERVERS" ]; do
      if [ $v_s != $n ]; then
        until_found $v_s "$v_path" "$v_done" >>"$TMP/visible" &
        v_pids="$v_pids $!"
      fi
      v_s=$((v_s + 1))
    done
    # shellcheck disable=SC2086 # words
    wait $v_pids
    [ "$(wc -l <"$TMP/visible")" = $((SERVERS - 1)) ] ||
      fail "$front: an upload is on $(wc -l <"$TMP/visible") other servers"
    v_slow=$(sort -n "$TMP/visible" | tail -n 1)
    say "$front: an upload was answered after $((v_done - v_start)) ms, and on all servers $v_slow ms later" \
      "($(sort -n "$TMP/visible" | tr '\n' ' '))"
    [ -z "${SYMFS_CLUSTER_ALONE:-}" ] || [ "$v_slow" -lt 2000 ] ||
      fail "$front: an upload is visible after $v_slow ms"
  done
}

# The gateway is stopped, and goes on.
try_stopped() {
  head -n $LATER "$TMP/later" >"$TMP/cold"
  [ "$front" = nginx ] || tail -n $LATER "$TMP/later" >"$TMP/cold"
  gets_all 1 "$TMP/syms"
  st_before="median $(part_of_times 50) ms, 99 of 100 $(part_of_times 99) ms"
  wait_for queues_empty || fail "$front: the queues have $(sum_of queued_files) files"
  kill -STOP "$S3_PID"
  gets_all 1 "$TMP/syms"
  say "$front: $FILES stored files: $st_before; with the gateway stopped: median $(part_of_times 50) ms, 99 of 100" \
    "$(part_of_times 99) ms"
  st_s=1
  : >"$TMP/first"
  : >"$TMP/next"
  while [ $st_s -le "$SERVERS" ]; do
    sed -n "$((st_s * 3 - 2)),$((st_s * 3))p" "$TMP/cold" >"$TMP/cold.part"
    gets_all $st_s "$TMP/cold.part"
    head -n 1 "$TMP/times" >>"$TMP/first"
    tail -n 2 "$TMP/times" >>"$TMP/next"
    st_s=$((st_s + 1))
  done
  say "$front: gateway stopped, the first cold file of each server: $(sort -n "$TMP/first" |
    tr '\n' ' ')ms; the next two: $(sort -n "$TMP/next" | tr '\n' ' ')ms"
  gets_all 1 "$TMP/syms"
  say "$front: gateway stopped, stored files once more: median $(part_of_times 50) ms, 99 of 100" \
    "$(part_of_times 99) ms"
  [ "$(sum_of queued_files)" = $LATER ] || fail "$front: $(sum_of queued_files) files are queued, not $LATER"
  kill -CONT "$S3_PID"
  st_start=$(now_ms)
  wait_for queues_empty || fail "$front: the queues have $(sum_of queued_files) files"
  say "$front: the gateway goes on: $LATER queued files were uploaded $(($(now_ms) - st_start)) ms later," \
    "$(sum_of lost_files) lost"
  [ "$(sum_of lost_files)" = 0 ] || fail "$front: files were lost"
  st_gets=$(all_gets)
  empty_server 2
  gets_all 2 "$TMP/cold"
  say "$front: they are all in the bucket: $(($(all_gets) - st_gets)) upstream GETs of an empty server"
  [ "$(all_gets)" = "$st_gets" ] || fail "$front: queued files are not in the bucket"
}

# Whether the front sends a server its files: after a restart it does so some seconds later.
takes_part() { # NUMBER-OF-THE-SERVER
  tp_saved() { eval "fetch_url \"\$URL_s$1/metrics\"" | sed -n 's/^symfs_http_bytes_saved //p'; }
  tp_before=$(tp_saved "$1")
  sed "s|.*|url = \"https://127.0.0.1:$front_port/&\"\noutput = /dev/null|" "$TMP/syms" >"$TMP/urls"
  curl -sS --noproxy '*' --cacert "$TMP/tls/cert.pem" --fail --max-time "$BOUND" -K "$TMP/urls" || return
  [ "$(tp_saved "$1")" -gt "$tp_before" ]
}

# The source was asked for more than $FILES files: says for which, and what the servers did.
asked_again() {
  while read -r aa_sym; do
    aa_n=$(upstream_count "$URL_many" get "/$aa_sym")
    [ "$aa_n" = 1 ] || say "$aa_sym: $aa_n GET; $(grep -h "$(echo "$aa_sym" |
      cut -d/ -f1)" "$TMP"/access-* 2>/dev/null | tr '\n' ';')"
  done <"$TMP/syms"
  fail "$front: $(many_gets) requests for $FILES files"
}
# A server that has no answer within 100 ms also asks for a file by its id in lower case, which is not there.
many_gets() { upstream_count "$URL_many" get '/*[A-F]*'; }

# ---- the test of one front --------------------------------------------------------------------------
try_front() { # NAME FILE FILE
  front=$1
  [ -z "${S3:-}" ] || bucket_conf "$front"
  start_all
  "start_$front"
  wait_for front_get /ready || fail "$front: no server is ready"

  start_clients "$2"
  end_clients
  slowest=$(sort -n -k 2 "$TMP/clients" | tail -n 1 | cut -d' ' -f2)
  say "$front: $CLIENTS clients on $SERVERS cold servers, $MIB MiB by 4 layouts:" \
    "$(sent_of "$2" get) GET, $(sort -k 1,1 -u "$TMP/clients" | cut -d' ' -f1 |
      tr '\n' ' ')try, slowest $slowest ms, one download $((SECONDS_OF_ONE * 1000)) ms"
  [ "$(sent_of "$2" get)" = 1 ] || fail "$front: the source sent the file $(sent_of "$2" get) times"
  # A bound of time counts only where no other test runs.
  [ -z "${SYMFS_CLUSTER_ALONE:-}" ] || [ "$slowest" -le $((SECONDS_OF_ONE * 1200)) ] ||
    fail "$front: more than 1.2 times one download"

  # Files by two layouts in random order: each is downloaded once.
  upstream_reset "$URL_many"
  { sed 's|^|/|' "$TMP/syms"; awk -F/ '{ print "/native/" $1 "/" tolower($2) "/" $3 }' "$TMP/syms"; } |
    shuf --random-source="$SYMFS" >"$TMP/order"
  sed "s|.*|url = \"https://127.0.0.1:$front_port&\"\noutput = /dev/null|" "$TMP/order" >"$TMP/urls"
  curl -sS --noproxy '*' --cacert "$TMP/tls/cert.pem" --parallel --parallel-max 16 --fail --max-time "$BOUND" \
    -K "$TMP/urls" \
    -w '%{http_code}\n' >"$TMP/codes" 2>"$TMP/curl.out" ||
    fail "$front: $(sort "$TMP/codes" | uniq -c) $(tail -n 3 "$TMP/curl.out")"
  say "$front: $FILES files, each asked for twice: $(many_gets) GET"
  [ "$(many_gets)" = "$FILES" ] || asked_again
  used=0 s=1
  while [ $s -le "$SERVERS" ]; do
    [ "$(downloads $s)" -gt $((FILES / SERVERS / 4)) ] && used=$((used + 1))
    s=$((s + 1))
  done
  [ $used = "$SERVERS" ] || fail "$front: only $used of $SERVERS servers have a fair part of the files"

  # A file that is uploaded by one path is found by the others: both go to the same server. The three requests of
  # sym_upload reach one server, too.
  up_id=$(build_id "$TMP/made$2/full/libprog.so")
  front_get "/buildid/$up_id/debuginfo" -X PUT -T "$TMP/made$2/debug/libprog.so.debug" >"$TMP/said" ||
    fail "$front: PUT"
  grep -q "^added elf_debug $up_id" "$TMP/said" || fail "$front: PUT: $(cat "$TMP/said")"
  paths_of "$up_id" >"$TMP/paths"
  while read -r path; do
    front_get "$path" | cmp -s - "$TMP/made$2/debug/libprog.so.debug" || fail "$front: $path after the upload"
  done <"$TMP/paths"
  n=0
  while [ $n -lt 4 ]; do
    n=$((n + 1))
    sym_id=$(echo "sym_upload $front $n" | md5sum | cut -c1-32 | tr a-f A-F)0
    printf 'MODULE Linux x86_64 %s w%s.so\nFUNC 1 2 0 g\n1 2 3 0\n' "$sym_id" "$n" >"$TMP/w.sym"
    front_get '/v1/uploads:create?key=x' -X POST -d '' >"$TMP/said" || fail "$front: uploads:create"
    sym_url=$(sed -n 's/.*"uploadUrl": "\([^"]*\)".*/\1/p' "$TMP/said") \
      sym_key=$(sed -n 's/.*"uploadKey": "\([^"]*\)".*/\1/p' "$TMP/said")
    case $sym_url in "https://127.0.0.1:$front_port/v1/"*) ;; *) fail \
      "$front: the URL for an upload: $(cat "$TMP/said")" ;; esac
    front_get "${sym_url#"https://127.0.0.1:$front_port"}" -T "$TMP/w.sym" >"$TMP/said" ||
      fail "$front: PUT of sym_upload: $(cat "$TMP/said")"
    front_get "/v1/uploads/$sym_key:complete?key=x" -H 'Content-Type: application/son' \
      -d "{ symbol_id: {debug_file: \"w$n.so\", debug_id: \"$sym_id\" }, symbol_upload_type: \"BREAKPAD\" }" \
      >"$TMP/said" || fail "$front: complete"
    grep -q '"result": "OK"' "$TMP/said" || fail "$front: complete: $(cat "$TMP/said")"
  done

  # Two servers are restarted, one after the other, and no client of small files sees it.
  (
    while [ ! -e "$TMP/stop" ]; do
      front_get "/$(shuf -n 1 "$TMP/syms")" -o /dev/null -w '%{http_code}\n' 2>>"$TMP/curl.out"
    done >"$TMP/rolling"
  ) &
  rolling=$!
  PIDS="$PIDS $rolling"
  for s in 1 2; do
    symfs_unserve "s$s"
    eval "start_server $s \$port_$s"
    wait_for eval "fetch_url \"\$URL_s$s/ready\""
  done
  : >"$TMP/stop"
  wait_gone $rolling || fail "$front: a client does not end"
  rm "$TMP/stop"
  say "$front: two servers restarted under" \
    "$(grep -c '^200$' "$TMP/rolling") requests, $(grep -vc '^200$' "$TMP/rolling") failed"
  [ "$(grep -c '^200$' "$TMP/rolling")" -ge 10 ] && ! grep -qv '^200$' "$TMP/rolling" ||
    fail "$front: $(sort "$TMP/rolling" | uniq -c | tail -n 3)"

  # The file of the server that is killed next would otherwise go to two other servers, and be downloaded by both.
  for s in 1 2; do wait_for takes_part $s || fail "$front sends nothing to server $s after its restart"; done

  if [ -n "${S3:-}" ]; then
    try_replaced "$2"
    try_visible
    try_stopped
    for s in 1 2; do wait_for takes_part $s || fail "$front sends nothing to server $s after its restart"; done
  fi

  # The server that downloads is killed at half of the file.
  before=
  s=1
  while [ $s -le "$SERVERS" ]; do
    before="$before $(downloads $s)"
    s=$((s + 1))
  done
  start_clients "$3"
  half_came() { [ "$(upstream_count "$URL_large" bytes "/$(gdb_path "$half_id" .debug)")" -ge $((SIZE / 2)) ]; }
  eval "half_id=\$id_$3"
  wait_for half_came || fail "$front: half of the file does not come"
  owner=
  s=1
  for had in $before; do
    [ "$(downloads $s)" = "$had" ] || owner="$owner $s"
    s=$((s + 1))
  done
  owner=${owner# }
  case $owner in '' | *' '*) fail "$front: servers \"$owner\" download" ;; esac
  eval "owner_pid=\$PID_s$owner"
  kill -KILL "$owner_pid"
  eval "PID_s$owner=" # another process may get the number
  end_clients
  say "$front: kill -9 of the server at half: $(sent_of "$3" get) GETs, tries: $(cut -d' ' -f1 "$TMP/clients" |
    sort | uniq -c | awk '{ printf "%s clients %s, ", $1, $2 }')slowest $(sort -n -k 2 "$TMP/clients" | tail -n 1 |
    cut -d' ' -f2) ms"
  [ "$(sent_of "$3" get)" -le 2 ] || fail "$front: the source sent the file $(sent_of "$3" get) times"
  kill "$front_pid"
  wait_gone "$front_pid" || fail "$front does not end"
}

case ${SYMFS_TEST_STORE:-} in ceph) ceph_start ;; esac
tried= number=1
for name in $FRONTS; do
  command -v "$name" >/dev/null || continue
  try_front "$name" $number $((number + 1))
  tried="$tried $name" number=$((number + 2))
done
say "fronts:$tried"
exit 0
