#!/bin/sh
# What symfs says of a file that it cannot give: which sources were asked, what they answered, and that
# nothing is called missing that no source was asked for.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl
need_mount

ID=ab00000000000000000000000000000000000001
PATH_OF=debuginfod/buildid/$ID/debuginfo
mkdir -p "$TMP/root"
upstream_start up --root "$TMP/root"
SRC=debuginfod@$URL_up

# says WANTED-EXIT WORDS COMMAND...: the command ends so, and prints the words (grep -E) exactly once.
says() {
  sa_exit=$1 sa_words=$2
  shift 2
  "$@" >"$TMP/out" 2>&1
  sa_got=$?
  [ $sa_got = "$sa_exit" ] || fail "$*: exit $sa_got, wanted $sa_exit: $(cat "$TMP/out")"
  [ "$(grep -oE "$sa_words" "$TMP/out" | wc -l)" = 1 ] || fail "$*: \"$sa_words\" is not there once: $(cat "$TMP/out")"
}
# symfs_with CACHE COMMAND...: a command without the sources that are configured.
symfs_with() {
  sw_cache=$1 sw_cmd=$2
  shift 2
  "$SYMFS" "$sw_cmd" --no-default-sources --cache "$TMP/store-$sw_cache" --breaker-seconds 1s "$@"
}

# ---- a status is said once ------------------------------------------------------------------
for status in 500 404 429,3; do
  upstream_fault "$URL_up" '*' status $status
  says 0 "HTTP ${status%,*}" symfs_with a why --ask --source "$SRC" "$PATH_OF"
  upstream_clear "$URL_up"
done

# ---- a source that was reached, and one that was not ----------------------------------------
while IFS='|' read -r kind arg words; do
  upstream_fault "$URL_up" '*' "$kind" "$arg"
  says 3 "$words" symfs_with "$kind" get --source "$SRC" "$PATH_OF"
  grep -q 'Remote I/O error' "$TMP/out" || fail "$kind: $(cat "$TMP/out")"
  upstream_clear "$URL_up"
done <<'END'
status|500|HTTP 500
garbage||HTTP/0.9
long-header|1000000|sent a header longer than 102400 bytes
redirect|loop|more than 8 redirects
END
says 3 'No route to host' symfs_with c get --source debuginfod@http://127.0.0.1:1/ "$PATH_OF"

say "what is said of a file that is not there"
