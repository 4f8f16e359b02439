#!/bin/sh
# How symfs treats servers that fail briefly or ask for time: it retries only where a retry can
# help, and obeys Retry-After in both forms. The list of missing files has the number of requests
# for each.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
[ -x "$SYMFS" ] || fail "$SYMFS is not built"
need gcc objcopy strip curl
make_program "$TMP/p" prog
head -c 400000 /dev/urandom >"$TMP/pad"
objcopy --add-section .pad="$TMP/pad" "$TMP/p/full/prog" "$TMP/p/big" || fail objcopy
id=$(build_id "$TMP/p/big")
[ -n "$id" ] || fail "no build id"
# Only one path names it. A slow answer for a file with two paths makes symfs ask for the second one, too.
file=debuginfod/buildid/$id/executable
mkdir -p "$TMP/www/buildid/$id"
cp "$TMP/p/big" "$TMP/www/buildid/$id/executable"
upstream_start up --root "$TMP/www"
# shellcheck disable=SC2154 # set by upstream_start
up=$URL_up

# Each row: what | fault | argument | times | exit status | requests
rows=0
while IFS='|' read -r what kind arg times status requests; do
  rm -rf "$TMP/store"
  upstream_clear "$up"
  upstream_reset "$up"
  upstream_fault "$up" "*" "$kind" "$arg" "$times"
  "$SYMFS" get --no-default-sources --cache "$TMP/store" --source "debuginfod@$up" --lookup-deadline 600s \
    --stall-timeout 600s "$file" >"$TMP/out" 2>"$TMP/err"
  r=$?
  [ $r = "$status" ] || fail "$what: exit $r, wanted $status: $(cat "$TMP/err")"
  [ $r != 0 ] || same_file "$(cat "$TMP/out")" "$TMP/p/big"
  asked=$(upstream_count "$up" get)
  [ "$asked" = "$requests" ] || fail "$what: asked $asked times, wanted $requests"
  rows=$((rows + 1))
done <<'END'
a gateway has a bad moment|status|502|1|0|2
a server has a bad moment|status|503|1|0|2
a gateway gets no answer|status|504|1|0|2
a request took too long|status|408|1|0|2
a reset before the answer|reset|0|1|0|2
a reset in the middle|reset|100000|1|0|2
cut short|cut|100000|1|0|2
two bad moments|status|503|2|3|2
a reset, and again|reset|0|2|3|2
a server that is broken|status|500|1|3|1
not there|status|404|1|1|1
refused|status|403|1|3|1
too many requests|status|429|1|3|1
too many requests, later|status|429,30|1|3|1
overloaded, later|status|503,30|1|3|1
overloaded, until a date|status|503,Fri, 31 Dec 2099 23:59:59 GMT|1|3|1
another kind of file|html||1|3|1
END
say "$rows rows"
[ $rows = 17 ] || fail "$rows rows"

# A server that is down is noticed although a better one always answers first.
upstream_start down --root "$TMP/www"
# shellcheck disable=SC2154
down=$URL_down
upstream_clear "$up"
upstream_fault "$down" "*" status 503
i=0
while [ $i -lt 12 ]; do
  printf 'const int m%d = %d; int main(void) { return m%d; }\n' $i $i $i >"$TMP/x.c"
  gcc -Wl,--build-id=sha1 -o "$TMP/x$i" "$TMP/x.c" || fail gcc
  put_gdb "$TMP/www" "$TMP/x$i"
  i=$((i + 1))
done
need_mount
notices_down() {
  rm -rf "$TMP/store-d"
  upstream_reset "$down"
  symfs_mount d --source "gdb@$down" --source "gdb@$up" --breaker-seconds 3600s --lookup-deadline 600s
  for x in "$TMP"/x[0-9]*; do
    same_file "$TMP/d/gdb/$(gdb_path "$(build_id "$x")")" "$x"
  done
  cat "$TMP/d/.symfs/sources" >"$TMP/sources"
  symfs_umount d
  grep -q 'failing.*HTTP 503' "$TMP/sources" && [ "$(upstream_count "$down" get)" -le 8 ] ||
    { say "asked $(upstream_count "$down" get) times: $(cat "$TMP/sources")"; false; }
}
# On a busy machine the better server may answer before the one that is down, whose answers then do not count.
notices_down || notices_down || notices_down ||
  fail "the server that is down was asked $(upstream_count "$down" get) times: $(cat "$TMP/sources")"

# ---- Retry-After -----------------------------------------------------------------------------------
need_mount
date_in() { date -u -d "@$(($(date +%s) + $1))" '+%a, %d %b %Y %H:%M:%S GMT'; }
# mount_429 FORM SECONDS: the source refuses the first request, and wants this time before the next.
mount_429() {
  upstream_clear "$up"
  upstream_reset "$up"
  rm -rf "$TMP/store-m"
  symfs_mount m --source "debuginfod@$up" --lookup-deadline 600s --stall-timeout 600s
  case $1 in date) after=$(date_in "$2") ;; *) after=$2 ;; esac
  upstream_fault "$up" "*" status "429,$after" 1
}
for form in seconds date; do
  mount_429 $form 3600
  cat "$TMP/m/$file" >/dev/null 2>&1 && fail "429 ($form)"
  cat "$TMP/m/$file" >/dev/null 2>&1 && fail "read although the server wants time ($form)"
  [ "$(upstream_count "$up" get)" = 1 ] || fail "asked although the server wants time ($form)"
  grep -q 'ask again in\|HTTP 429' "$TMP/m/.symfs/sources" || fail "$form: $(cat "$TMP/m/.symfs/sources")"
  symfs_umount m

  mount_429 $form 2
  wait_for cmp -s "$TMP/m/$file" "$TMP/p/big" || fail "never asked again ($form): $(cat "$TMP/m.log")"
  # Once more. A transfer that no reader opens in time ends, and begins again.
  [ "$(upstream_count "$up" get)" -ge 2 ] || fail "asked $(upstream_count "$up" get) times ($form)"
  [ "$(upstream_count "$up" bytes)" -le $(($(stat -c %s "$TMP/p/big") * 2 + 4096)) ] ||
    fail "$(upstream_count "$up" bytes) bytes ($form)"
  symfs_umount m
done
exit 0
