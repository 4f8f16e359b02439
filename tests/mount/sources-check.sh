#!/bin/sh
# symfs sources check: a table that names the problem of each source. The command stores and
# remembers nothing.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
[ -x "$SYMFS" ] || fail "$SYMFS is not built"
need curl
unset http_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_PROFILE
umask 077
mkdir -p "$TMP/plain" "$TMP/tiers" "$TMP/dir"
: >"$TMP/tiers/index2.txt"
echo x >"$TMP/tiers/index2.txt"
for s in plain closed failing portal slow; do
  upstream_start $s --root "$TMP/plain" --log "$TMP/$s.requests"
done
upstream_start tiers --root "$TMP/tiers"
upstream_start old --root "$TMP/tiers" --no-range
upstream_start deaf --no-accept
# shellcheck disable=SC2154 # set by upstream_start
{
  upstream_fault "$URL_closed" "*" status 403
  upstream_fault "$URL_failing" "/garbage/*" garbage
  upstream_fault "$URL_failing" "/endless/*" long-header 1000000
  upstream_fault "$URL_failing" "*" status 503
  upstream_fault "$URL_portal" "*" html
  upstream_fault "$URL_slow" "*" silent
}
"$top_builddir/tests/helpers/s3" --root "$TMP/plain" --bucket b --access-key AK --secret-key SK >"$TMP/s3.out" 2>&1 &
PIDS="$PIDS $!"
wait_for grep -q 'listening on' "$TMP/s3.out" || fail "s3 did not start"
s3=$(sed -n 's/^listening on //p' "$TMP/s3.out")
cat >"$TMP/conf" <<END
[source "good"]
url = $URL_plain/
layout = gdb
[source "debuginfod"]
url = $URL_plain/
type = debuginfod
[source "store"]
url = $URL_plain/
layout = symstore
[source "tiers"]
url = $URL_tiers/
layout = symstore
[source "old"]
url = $URL_old/
layout = symstore_index2
[source "closed"]
url = $URL_closed/
layout = unified
[source "failing"]
url = $URL_failing/
layout = native
[source "portal"]
url = $URL_portal/
layout = ssqp
[source "garbage"]
url = $URL_failing/garbage/
layout = gdb
[source "endless"]
url = $URL_failing/endless/
layout = gdb
[source "nobody"]
url = http://127.0.0.1:1/
layout = lldb
[source "pail"]
bucket = b
endpoint = $s3
access-key = AK
secret-key = SK
layout = breakpad
[source "stolen"]
bucket = b
endpoint = $s3
access-key = AK
secret-key = wrong
[source "keyless"]
bucket = b
endpoint = $s3
[source "dir"]
path = $TMP/dir
[source "gone"]
path = $TMP/none
[source "shy"]
url = $URL_plain/
layout = symstore
never = *
requires-checksum = yes
END
# Only these have a short time.
cat >"$TMP/silent" <<END
[source "slow"]
url = $URL_slow/
layout = gdb
[source "deaf"]
url = $URL_deaf/
layout = gdb
END
find "$TMP" -not -name '*.requests' -not -name '*.list' | sort >"$TMP/before.list"
check() { # shellcheck disable=SC2086
  "$SYMFS" sources check --no-default-sources --cache "$TMP/store" $PATIENT "$@" >"$TMP/out" 2>"$TMP/err"; }
# All sources are asked at the same time: none of these answers before all have a request.
for s in plain tiers old; do
  eval "upstream_hold \"\$URL_$s\" '*' 0"
done
(trap - EXIT; check --config "$TMP/conf") &
checker=$!
PIDS="$PIDS $checker"
for s in plain tiers old; do
  asked() { [ "$(eval "upstream_count \"\$URL_$s\" held")" -ge 1 ]; }
  wait_for asked || fail "one after the other: $s is not asked"
done
for s in plain tiers old; do
  eval "upstream_go \"\$URL_$s\"; upstream_clear \"\$URL_$s\""
done
wait $checker
[ $? = 3 ] || fail "exit status: $(cat "$TMP/out" "$TMP/err")"
mv "$TMP/out" "$TMP/all"
check --config "$TMP/silent" --lookup-deadline 2s --connect-timeout 2s
[ $? = 3 ] || fail "exit status: $(cat "$TMP/out" "$TMP/err")"
cat "$TMP/out" "$TMP/all" >"$TMP/both" && mv "$TMP/both" "$TMP/out" && rm "$TMP/all"
cat "$TMP/out"
rows=0
while IFS='|' read -r name state words; do
  line=$(grep -E "^ *[0-9]+\. $name  *$state( |\$)" "$TMP/out") || fail "$name is not $state"
  echo "$line" | grep -qE "$words" || fail "$name: no $words: $line"
  rows=$((rows + 1))
done <<'END'
good|reachable|HTTP/1.1, [0-9]+ ms
debuginfod|reachable|HTTP/1.1
store|reachable|HTTP/1.1
tiers|reachable|ranges two-tier
old|reachable|ms +two-tier
closed|refused|HTTP 403
failing|failing|HTTP 503
garbage|failing|(HTTP/0.9|Invalid status line)
endless|failing|sent a header longer than 102400 bytes
portal|suspect|cannot exist
slow|unreachable|no byte for 2000 ms
deaf|unreachable|no connection in 2000 ms
nobody|unreachable|.
pail|reachable|HTTP/1.1
stolen|refused|HTTP 403
keyless|refused|no credentials
dir|reachable|.
gone|absent|.
END
[ $rows = 18 ] || fail "$rows rows"
# A long name moves the column of every row.
long=$("$SYMFS" sources check --no-default-sources --cache "$TMP/store" --source "$TMP/dir" \
  --source "$URL_plain/a/name/that/is/longer/than/thirty/letters")
[ "$(echo "$long" | awk '{ print index($0, $3) }' | sort -u | wc -l)" = 1 ] || fail "columns: $long"
grep -q ranges <<END && fail "a server without ranges is said to have them"
$(grep ' old ' "$TMP/out")
END
grep -q 'symfs-check\|73796d66732d636865636b' "$TMP/plain.requests" ||
  fail "the request does not say what asked: $(cat "$TMP/plain.requests")"
# What may not be told to a source is not told by this, either.
grep -qE ' (shy) ' "$TMP/out" || fail "no row for shy"
[ -e "$TMP/store" ] && fail "it made a store"
find "$TMP" -not -name '*.requests' -not -name '*.list' -not -name out -not -name err | sort |
  diff - "$TMP/before.list" | grep '^<' &&
  fail "it wrote something"

check --json --config "$TMP/conf"
[ $? = 3 ] || fail "--json: $(cat "$TMP/err")"
tr -d ' \n' <"$TMP/out" | sed 's/},{/},\n{/g' >"$TMP/rows"
grep -q '"name":"tiers".*"state":"reachable","status":404,"http":11,"ms":[0-9]*,"ranges":true,"two_tier":true' \
  "$TMP/rows" ||
  fail "--json: $(cat "$TMP/rows")"
grep -q '"name":"nobody".*"state":"unreachable","status":null,"http":null,"ms":null,"ranges":null,"two_tier":null' \
  "$TMP/rows" ||
  fail "--json: $(cat "$TMP/rows")"
check --source gdb@"$URL_plain" || fail "all are well, and it ends with $?"
# A symfs server whose own sources fail is reachable itself.
symfs_serve front --source "debuginfod@http://127.0.0.1:$(free_port)"
for layout in native debuginfod symstore breakpad; do
  check --source "$layout@$URL_front" && grep -q reachable "$TMP/out" ||
    fail "$layout: a server with a dead source: $(cat "$TMP/out")"
done
symfs_unserve front
check nonsense
[ $? = 2 ] || fail "a wrong word"
# A scan lists a directory, and a layout only looks up names.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  mkdir "$TMP/closed" "$TMP/names"
  chmod 755 "$TMP" && chmod 000 "$TMP/closed" && chmod 711 "$TMP/names"
  as_nobody() { HOME="$TMP" setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
  # The build may lie in a directory that the user `nobody` may not search.
  if as_nobody test -x "$TMP/names" && as_nobody "$SYMFS" version >/dev/null 2>&1; then
    as_nobody "$SYMFS" sources check --no-default-sources --cache "$TMP/store" --source "gdb@$TMP/closed" \
      --source "scan@$TMP/names" --source "gdb@$TMP/names" >"$TMP/out" 2>"$TMP/err"
    [ $? = 3 ] && [ "$(grep -c ' refused  *Permission denied$' "$TMP/out")" = 2 ] &&
      grep -q '^ 3[.] .* reachable' "$TMP/out" && ! grep -q token "$TMP/err" ||
      fail "a directory that cannot be read: $(cat "$TMP/out" "$TMP/err")"
  fi
fi
exit 0
