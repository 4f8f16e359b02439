#!/bin/sh
# How long debuggers wait for a server that is in trouble, on a program with 30 libraries: the first and the second
# session through a mount of symfs, and one session with the client's own debuginfod client, which ends after
# BENCH_MOST (20) seconds. The servers: `silent` accepts and never answers, `late` answers after 30 s, `none` accepts
# no connection, `unknown` has a name that does not exist, `again` answers 404 in the first session and has the files
# in the second. Bounds: 5 s for the first session, and 0.5 s more than without any server for the second.
# BENCH_CLIENTS and BENCH_SERVERS choose.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need gcc gdb strip objcopy readelf
LIBRARIES=30 MOST=${BENCH_MOST:-20}

# ---- the program, its core, its samples, and the servers --------------------------------------------------------
mkdir "$TMP/www" "$TMP/empty"
many_libraries $LIBRARIES 'int f%d(int n) { for (int i = 0; i < 100000; i++) n += i % 7; return n; }' \
  'for (int k = 0; k < 20; k++) {' '} if (argc > 1) abort(); return 0;'
for f in "$TMP/bin"/*; do
  dir=$TMP/www/buildid/$(build_id "$f")
  mkdir -p "$dir" && objcopy --only-keep-debug "$f" "$dir/debuginfo" && strip "$f" || fail objcopy
done
timeout 120 gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'run abort' -ex "generate-core-file $TMP/core" \
  "$TMP/bin/main" >"$TMP/core.out" 2>&1
[ -s "$TMP/core" ] || skip "gdb cannot run a program here"
command -v perf >/dev/null && perf record -q -o "$TMP/perf.data" "$TMP/bin/main" >"$TMP/perf.out" 2>&1

upstream_start silent --root "$TMP/www"
upstream_fault "$URL_silent" '/*' silent
upstream_start late --root "$TMP/www" --delay 30000
upstream_start none --no-accept
upstream_start again --root "$TMP/www"
URL_unknown=http://symbols.invalid

# ---- clients: each prints what it found; $1 is a mount, or the word own ------------------------------------
urls() { [ "$1" = own ] && echo "$2" || echo "file://$1/debuginfod"; } # MOUNT URL
client_gdb() {
  [ "$1" = own ] && set -- "$2" 'set debuginfod enabled on' "show version" ||
    set -- '' 'set debuginfod enabled off' "set debug-file-directory $1"
  DEBUGINFOD_URLS=$1 timeout "$MOST" gdb -nx -batch -iex "$2" -iex "$3" -ex 'info line f1' \
    -ex "info line f$LIBRARIES" "$TMP/bin/main" "$TMP/core"
}
client_lldb() { # it has no client of its own
  [ "$1" != own ] && timeout "$MOST" lldb --no-lldbinit --batch -o "settings set target.debug-file-search-paths $1" \
    -o "target create -c $TMP/core $TMP/bin/main" -o 'image lookup -n f1'
}
client_eu_stack() { DEBUGINFOD_URLS=$(urls "$@") timeout "$MOST" eu-stack -s --core "$TMP/core" -e "$TMP/bin/main"; }
client_perf() {
  DEBUGINFOD_URLS=$(urls "$@") timeout "$MOST" perf report -i "$TMP/perf.data" --stdio --sort sym,srcline
}
client_llvm_symbolizer() {
  [ "$1" != own ] && for i in $(seq $LIBRARIES); do
    timeout "$MOST" llvm-symbolizer --debug-file-directory="$1" --obj="$TMP/bin/libl$i.so" 0x1110
  done
}
# wait_of CLIENT MOUNT|own URL: sets took, in milliseconds. After $MOST seconds the client is ended.
wait_of() {
  rm -rf "$TMP/home"
  mkdir "$TMP/home"
  wo_began=$(now_ms)
  (export HOME="$TMP/home" XDG_CACHE_HOME="$TMP/home"; "client_$1" "$2" "$3") >"$TMP/said" 2>&1 </dev/null
  took=$(($(now_ms) - wo_began))
}

symfs_mount base --source "gdb@$TMP/empty"
printf '%-15s %-8s %9s %9s %9s %9s\n' client server 'no server' first second own
missed=0
for client in ${BENCH_CLIENTS:-gdb lldb eu_stack perf llvm_symbolizer}; do
  command -v "$(echo $client | tr _ -)" >/dev/null || continue
  wait_of $client "$MNT_base" ''
  wait_of $client "$MNT_base" ''
  base=$took
  for server in ${BENCH_SERVERS:-silent late none unknown again}; do
    eval "url=\$URL_$server"
    [ $server = again ] && upstream_fault "$url" '/*' status 404
    symfs_mount "$client$server" --source "debuginfod@$url" --miss-lifetime 0s
    eval "mnt=\$MNT_$client$server"
    wait_of $client "$mnt" ''
    first=$took
    [ $server = again ] && fetch_url "$url/_control/clear" >"$TMP/cleared"
    wait_of $client "$mnt" ''
    second=$took
    symfs_umount "$client$server"
    own=-
    case $client in gdb | eu_stack | perf) wait_of $client own "$url"; own=$took ;; esac
    printf '%-15s %-8s %9s %9s %9s %9s\n' $client $server $base $first $second $own
    [ $first -lt $((5000 + base)) ] && { [ $server = again ] || [ $second -lt $((500 + base)) ]; } ||
      missed=$((missed + 1))
  done
done
echo "$missed bounds were missed (milliseconds; own: without symfs, ended after $MOST s)"
[ "$missed" = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds were missed"
