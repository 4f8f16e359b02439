#!/bin/sh
# A real server that limits the rate of requests (nginx, limit_req): a file that it refuses for now
# is not missing, and arrives later. Meanwhile a reader gets "try again" at once.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need nginx curl gcc objcopy strip readelf

FILES=5
for i in $(seq $FILES); do
  make_program "$TMP/p$i" prog
  put_gdb "$TMP/www" "$TMP/p$i/debug/prog.debug" .debug
  eval "path_$i=\$(gdb_path \"\$(build_id \"\$TMP/p$i/bin/prog\")\" .debug)"
done
for status in 429 503; do
  nginx_start "n$status" "$TMP/www" "limit_req zone=z; limit_req_status $status;" \
    'limit_req_zone $binary_remote_addr zone=z:1m rate=1r/s;'
  eval "url=\$URL_n$status"
  late=0 tries=0
  until [ $late -gt 0 ]; do
    tries=$((tries + 1))
    [ $tries -le 10 ] || fail "$status: the server delayed no request: this proves nothing"
    symfs_mount "m$tries$status" --source "gdb@$url" --lookup-deadline 3600s --breaker-seconds 1s
    eval "mnt=\$MNT_m$tries$status"
    # All at once: more than the server takes, unless the machine is so busy that they take seconds.
    pids=
    for i in $(seq $FILES); do
      eval "file=\$mnt/\$path_$i"
      cat "$file" >"$TMP/got-$i" 2>"$TMP/err-$i" &
      pids="$pids $!"
    done
    for pid in $pids; do wait "$pid"; done
    for i in $(seq $FILES); do
      if [ -s "$TMP/err-$i" ]; then
        late=$((late + 1))
        grep -q 'No such file' "$TMP/err-$i" && fail "$status: said to be missing: $(cat "$TMP/err-$i")"
      else
        same_file "$TMP/got-$i" "$TMP/p$i/debug/prog.debug"
      fi
    done
  done
  [ "$(grep -c '^elf' "$mnt/.symfs/missing")" = 0 ] ||
    fail "$status: remembered as missing: $(cat "$mnt/.symfs/missing")"
  for i in $(seq $FILES); do
    eval "file=\$mnt/\$path_$i"
    wait_for cmp -s "$file" "$TMP/p$i/debug/prog.debug" ||
      fail "$status: it does not come: $(cat "$file" 2>&1 >/dev/null)"
  done
  say "$status: $late of $FILES were put off, all came"
done
