#!/bin/sh
# Times `symfs serve` with a client that keeps its connection: 1,000 frames of one module that is
# ready; 10 jobs of 20 stacks of 50 frames over all modules, first cold and then ready; 32 clients
# at once; small files and large ones. The client is wrk, whose times include the loopback. The
# benchmark makes BENCH_MODULES Breakpad files (100) of BENCH_SYM_MIB MiB (1), and takes
# BENCH_SECONDS (5) for each number.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need wrk curl awk
modules=${BENCH_MODULES:-100} mib=${BENCH_SYM_MIB:-1} seconds=${BENCH_SECONDS:-5}
awk -v bytes=$((mib * 1048576)) 'BEGIN {
  for (i = 0; i < 2000; i++) printf "FILE %d /builds/worker/checkouts/dom/part%d/file%d.cpp\n", i, i % 40, i
  for (at = 4096; made < bytes; at += 128) {
    s = sprintf("FUNC %x 80 0 dom::Class_%d::Method_%d(nsTSubstring<char16_t> const&, int)\n", at, ++n % 700, n)
    for (l = 0; l < 8; l++) s = s sprintf("%x 10 %d %d\n", at + l * 16, n % 3000 + l, (n + l % 3) % 2000)
    printf "%s", s
    made += length(s)
  } }' >"$TMP/text"
last=$(awk '$1 == "FUNC" { a = $2 } END { print a }' "$TMP/text")
i=0
while [ $i -lt "$modules" ]; do
  mkdir -p "$TMP/up/m$i.so/$(id_of $i)"
  { echo "MODULE Linux x86_64 $(id_of $i) m$i.so"
  sed "s/Class_/Class${i}_/" "$TMP/text"; } >"$TMP/up/m$i.so/$(id_of $i)/m$i.so.sym"
  i=$((i + 1))
done
printf 'MODULE Linux x86_64 %s s.so\nPUBLIC 10 0 f\n' "$(id_of 5000)" >"$TMP/small"
mkdir -p "$TMP/up/s.so/$(id_of 5000)"
mv "$TMP/small" "$TMP/up/s.so/$(id_of 5000)/s.so.sym"

request 1 1 1000 1 >"$TMP/one"
request 10 20 50 "$modules" >"$TMP/many"

upstream_start up --root "$TMP/up"
symfs_serve one --source "breakpad@$URL_up"
U=$URL_one
post() { # FILE: how many frames have a function
  fetch_url --max-time 600 -H Expect: --data-binary "@$1" "$U/symbolicate/v5" | grep -o '"function_offset"' | wc -l
}
began=$(now_ms)
[ "$(post "$TMP/many")" = 10000 ] || fail "frames without a function"
cold=$(($(now_ms) - began)) bound=
[ "$modules.$mib" != 100.10 ] || bound=4000
tell "10000 frames of $modules modules of $mib MiB, cold" "$cold" ms $bound
# The server now converts the whole files, one at a time. From here on they are ready.
all_made() { [ "$(grep -c 'was made of' "$TMP/one.log")" = "$modules" ]; }
wait_for all_made || fail "$(grep -c 'was made of' "$TMP/one.log") of $modules files are ready"
tell "all $modules files ready after" $(($(now_ms) - began)) ms
[ "$(post "$TMP/many")" = 10000 ] && [ "$(post "$TMP/one")" = 1000 ] || fail "frames without a function"

# ask NAME CLIENTS BOUND [LUA-LINES] PATH
ask() {
  printf '%s\n' "$4" >"$TMP/ask.lua"
  wrk -t 1 -c "$2" -d "${seconds}s" --timeout 60s --latency -s "$TMP/ask.lua" "$U$5" >"$TMP/wrk.out" 2>&1 ||
    fail "wrk: $(cat "$TMP/wrk.out")"
  grep -qE 'Non-2xx|Socket errors' "$TMP/wrk.out" && fail "$1: $(cat "$TMP/wrk.out")"
  of() { # PERCENT: in ms
    awk -v p="$1%" '$1 == p { v = $2; u = 1; if (v ~ /us$/) u = 0.001; else if (v !~ /ms$/) u = 1000;
      sub(/[a-z]+$/, "", v); print v * u; exit }' "$TMP/wrk.out"
  }
  tell "$1: median" "$(of 50)" ms "$3"
  tell "$1: 99 of 100" "$(of 99)" ms
  tell "$1" "$(sed -n 's/^Requests.sec: *//p' "$TMP/wrk.out")" a-second
}
post_lua() {
  printf 'local f = io.open("%s"); wrk.body = f:read("*a"); wrk.method = "POST"; wrk.headers["Content-Type"] = "%s"' \
    "$1" application/json
}
ask "1000 frames of one module" 1 0.6 "$(post_lua "$TMP/one")" /symbolicate/v5
ask "1000 frames of one module, 32 clients" 32 '' "$(post_lua "$TMP/one")" /symbolicate/v5
ask "10000 frames of $modules modules" 1 '' "$(post_lua "$TMP/many")" /symbolicate/v5
ask "10000 frames of $modules modules, 32 clients" 32 '' "$(post_lua "$TMP/many")" /symbolicate/v5
ask "a file of 60 bytes, 32 clients" 32 '' '' "/s.so/$(id_of 5000)/s.so.sym"
ask "a file of $mib MiB, 4 clients" 4 '' '' "/m0.so/$(id_of 0)/m0.so.sym"
tell "most memory, without its workers" "$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$PID_one/status")" MiB 244
symfs_unserve one
[ $missed = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds missed"
