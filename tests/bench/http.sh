#!/bin/sh
# Compares symfs with nginx on the same files: a stored file of 16 KB, a remembered miss and a path that no layout
# has, for 1, 8, 32 and 128 clients, and a stored file of BENCH_MIB MiB (100) for 4 clients. Each of BENCH_ROUNDS
# rounds (5) asks both for BENCH_SECONDS (2), by wrk. A ratio is the median of the ratios of the rounds. The processor
# time is that of one request. Last, the memory of symfs with 1,000 idle clients. debuginfod is measured beside them,
# where it is installed, with the stored files. BENCH_CLIENTS="1 8 32 128" and BENCH_WHAT="stored missing impossible
# large" choose.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need wrk nginx curl awk gcc objcopy readelf
rounds=${BENCH_ROUNDS:-5} seconds=${BENCH_SECONDS:-2} mib=${BENCH_MIB:-100}

# sized NAME BYTES: a debug file of about this size; sets the id.
sized() {
  make_program "$TMP/$1" prog
  head -c $(($2 - $(stat -c %s "$TMP/$1/debug/prog.debug"))) /dev/zero >"$TMP/zeros"
  objcopy --add-section .zeros="$TMP/zeros" "$TMP/$1/debug/prog.debug" "$TMP/$1.debug" || fail objcopy
  rm "$TMP/zeros"
  eval "id_$1=\$(build_id \"\$TMP/$1.debug\")"
}
sized small 16384
sized large $((mib << 20))
absent=$(some_build_id absent | cut -c 3-)

mkdir -p "$TMP/up"
upstream_start up --root "$TMP/up"
"$SYMFS" add --cache "$TMP/store-symfs" "$TMP/small.debug" "$TMP/large.debug" >"$TMP/add.log" 2>&1 || fail add
symfs_serve symfs --source "debuginfod@$URL_up"
# shellcheck disable=SC2154 # sized sets the ids
for name in small:$id_small large:$id_large; do
  mkdir -p "$TMP/plain/buildid/${name#*:}"
  ln "$TMP/${name%:*}.debug" "$TMP/plain/buildid/${name#*:}/debuginfo" || fail ln
done

mkdir -p "$TMP/nginx-nginx"
for _ in 1 2 3 4 5; do
  port=$(free_port)
  cat >"$TMP/nginx-nginx/conf" <<CONF
user root; worker_processes auto; daemon off; pid $TMP/nginx-nginx/pid; error_log stderr;
events { worker_connections 1024; }
http { access_log off; log_not_found off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
  default_type application/octet-stream;
  client_body_temp_path $TMP/nginx-nginx/t1; proxy_temp_path $TMP/nginx-nginx/t2;
  fastcgi_temp_path $TMP/nginx-nginx/t3; uwsgi_temp_path $TMP/nginx-nginx/t4; scgi_temp_path $TMP/nginx-nginx/t5;
  server { listen 127.0.0.1:$port; root $TMP/plain; } }
CONF
  nginx_run nginx "$port" && break
done
gone "$ns_pid" && fail "nginx did not start"
URL_nginx=http://127.0.0.1:$port PID_nginx=$ns_pid
servers="symfs nginx"
if command -v debuginfod >/dev/null; then
  debuginfod_start debuginfod "$TMP/plain"
  servers="$servers debuginfod"
fi

path_stored=/buildid/$id_small/debuginfo path_large=/buildid/$id_large/debuginfo
path_missing=/buildid/$absent/debuginfo path_impossible=/no/layout/has/this/path
for name in $servers; do
  eval "U=\$URL_$name"
  for what in stored large; do
    eval "p=\$path_$what"
    ask 200 "$p"
    same_file "$TMP/body" "$TMP/plain$p"
  done
done
for U in "$URL_symfs" "$URL_nginx"; do
  ask 404 "$path_missing"
  ask 404 "$path_impossible"
done

# The processor time of a server and its children so far, in clock ticks.
ticks() {
  for t_pid in "$1" $(cat "/proc/$1/task/$1/children"); do
    sed 's/.*) //' "/proc/$t_pid/stat"
  done | awk '{ t += $12 + $13 } END { print t + 0 }'
}

# run NAME PATH CLIENTS STATUS: adds to $TMP/rates a line NAME REQUESTS/S BYTES/S MICROSECONDS-OF-PROCESSOR
run() {
  eval "U=\$URL_$1 pid=\$PID_$1"
  before=$(ticks "$pid")
  wrk -t $(($3 > 1 ? 2 : 1)) -c "$3" -d "${seconds}s" --timeout 60s "$U$2" >"$TMP/wrk.out" 2>&1 || fail "wrk"
  grep -q 'Socket errors' "$TMP/wrk.out" && fail "$1, $2: $(cat "$TMP/wrk.out")"
  grep -q 'Non-2xx' "$TMP/wrk.out" && [ "$4" = 200 ] && fail "$1, $2: $(cat "$TMP/wrk.out")"
  awk -v name="$1" -v ticks=$(($(ticks "$pid") - before)) -v hz="$(getconf CLK_TCK)" '
    function plain(v) { return v * (v ~ /G/ ? 2 ^ 30 : v ~ /M/ ? 2 ^ 20 : v ~ /K/ ? 1024 : 1) }
    / requests in / { n = $1 } /^Requests.sec/ { rate = $2 } /^Transfer.sec/ { bytes = plain($2) }
    END { print name, rate, bytes, ticks / hz * 1e6 / n }' "$TMP/wrk.out" >>"$TMP/rates"
}
values() { awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$TMP/rates"; }

# compare WHAT TITLE CLIENTS BOUND [NAME]: symfs with another server.
compare() {
  [ -z "${BENCH_WHAT:-}" ] || case " $BENCH_WHAT " in *" $1 "*) ;; *) return ;; esac
  eval "c_path=\$path_$1"
  c_status=200 c_column=2 c_unit=a-second c_scale=1
  case $1 in
  missing | impossible) c_status=404 ;;
  large) c_column=3 c_unit=GB/s c_scale=1000000000 ;;
  esac
  : >"$TMP/rates"
  c_others=nginx
  [ $c_status = 404 ] || c_others=${servers#* }
  for _ in $(seq "$rounds"); do
    for c_name in symfs $c_others; do run "$c_name" "$c_path" "$3" $c_status; done
  done
  for c_name in symfs $c_others; do
    # shellcheck disable=SC2046 # words
    printf '%s, %s clients, %s: %s %s, %s us of processor\n' "$2" "$3" "$c_name" \
      "$(median $(values "$c_name" $c_column) | awk -v s=$c_scale '{ v = $1 / s; print v < 100 ? v : int(v) }')" \
      $c_unit "$(median $(values "$c_name" 4))"
  done
  # shellcheck disable=SC2046
  c_ratio=$(median $(awk -v c=$c_column '
    $1 == "symfs" { a[++n] = $c } $1 == "nginx" { printf "%.3f\n", a[++m] / $c }' "$TMP/rates"))
  awk -v name="$2, $3 clients, symfs by nginx" -v r="$c_ratio" -v bound="$4" 'BEGIN {
    printf "%s: %s (at least %s)\n", name, r, bound; exit r < bound }' || missed=$((missed + 1))
}
for clients in ${BENCH_CLIENTS:-1 8 32 128}; do
  compare stored "a stored file of 16 KB" "$clients" 0.5
  compare missing "a remembered miss" "$clients" 0.5
  compare impossible "a path of no layout" "$clients" 0.5
done
compare large "a stored file of $mib MiB" 4 1.0

rss() { awk '/^RssAnon/ { print $2 }' "/proc/$PID_symfs/status"; }
if command -v python3 >/dev/null; then
  python3 - "$URL_symfs" "$path_stored" >"$TMP/idle" 2>&1 <<'P' &
import socket, sys, time
host, port = sys.argv[1].split('//')[1].split(':')
held = []
for i in range(1000):
    held.append(socket.create_connection((host, int(port))))
    held[-1].sendall(('GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' % sys.argv[2]).encode())
    got = b''
    while b'\r\n\r\n' not in got: got += held[-1].recv(1 << 16)
    head, body = got.split(b'\r\n\r\n', 1)
    left = int(head.lower().split(b'content-length: ')[1].split(b'\r\n')[0]) - len(body)
    while left > 0: left -= len(held[-1].recv(left))
print('held', flush=True)
time.sleep(600)
P
  PIDS="$PIDS $!"
  wait_for grep -q held "$TMP/idle" || fail "idle clients: $(cat "$TMP/idle")"
  echo "memory with 1,000 idle clients: $(rss) KiB"
fi
symfs_unserve symfs
bounds_kept
