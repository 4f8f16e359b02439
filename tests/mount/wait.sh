#!/bin/sh
# symfs wait: a file that is there, one that an upload or `symfs add` brings, a server of symfs that reports it at
# once, a server that knows no events, a remembered miss, and the end of the wait.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

make_program "$TMP/p" prog
for i in 1 2 3 4; do
  id=$(printf '%032X0' $i)
  { echo "MODULE Linux x86_64 $id a$i.so"; printf 'FUNC 1 2 0 g\n1 2 3 0\n'; } >"$TMP/a$i.so.sym"
  eval "sym_$i=a$i.so/$id/a$i.so.sym"
done
put() { mkdir -p "$TMP/up/${2%/*}" && cp "$TMP/$1" "$TMP/up/.new" && mv "$TMP/up/.new" "$TMP/up/$2"; }
mkdir -p "$TMP/up"
upstream_start up --root "$TMP/up"
# wait_begin NAME ARGS...: in the background; its number is in $waiting, what it prints in $TMP/NAME.
wait_begin() {
  wb_name=$1
  shift
  "$SYMFS" wait --no-default-sources --cache "$TMP/store-$wb_name" "$@" >"$TMP/$wb_name" 2>"$TMP/$wb_name.log" &
  waiting=$!
  PIDS="$PIDS $waiting"
}
ended() { # NAME
  wait_gone $waiting || fail "$1 waits on: $(cat "$TMP/$1.log")"
  wait $waiting
}

# ---- there already, and by several words ---------------------------------------------------------
put a1.so.sym "$sym_1"
put a2.so.sym "$sym_2"
wait_begin there --source "breakpad@$URL_up" "breakpad/$sym_1" "breakpad/$sym_2"
ended there || fail "files that are there: $(cat "$TMP/there.log")"
[ "$(wc -l <"$TMP/there")" = 2 ] && grep -q '^breakpad 000000000000000000000000000000010' "$TMP/there" ||
  fail "what it prints: $(cat "$TMP/there")"

# ---- a source without events gets the file later ---------------------------------------------------
wait_begin later --source "breakpad@$URL_up" "breakpad/$sym_3"
asked() { [ "$(upstream_count "$URL_up" get "/$sym_3")" -ge "$1" ]; }
wait_for asked 2 || fail "the source is not asked again"
[ "$(upstream_count "$URL_up" get '/events/*')" = 1 ] ||
  fail "the source was asked for events $(upstream_count "$URL_up" get '/events/*') times"
put a3.so.sym "$sym_3"
ended later || fail "a file that comes: $(cat "$TMP/later.log")"

# ---- a server of symfs reports it ---------------------------------------------------------------------
symfs_serve one --source "breakpad@$URL_up"
metric() { fetch_url "$URL_one/metrics" | sed -n "s/^symfs_$1 //p"; }
wait_begin told --source "breakpad@$URL_one" "breakpad/$sym_4"
hears() { [ "$(metric http_listeners)" = 1 ]; }
wait_for hears || fail "it does not listen: $(cat "$TMP/told.log")"
"$SYMFS" add --cache "$TMP/other" "$TMP/a4.so.sym" >"$TMP/add.out" || fail "add: $(cat "$TMP/add.out")"
put a4.so.sym "$sym_4"
"$SYMFS" cache rm --misses --cache "$TMP/store-one" >"$TMP/rm.out"
fetch_url -o "$TMP/body" "$URL_one/$sym_4"
ended told || fail "a file that the server gets: $(cat "$TMP/told.log")"
hears_none() { [ "$(metric http_listeners)" = 0 ]; }
wait_for hears_none || fail "the stream stays open"

# ---- the store of this machine ------------------------------------------------------------------------
id=$(build_id "$TMP/p/bin/prog")
wait_begin own --source "breakpad@$URL_up" "debuginfod/buildid/$id/debuginfo"
wait_for test -e "$TMP/store-own/index.sqlite" || fail "no store"
"$SYMFS" add --cache "$TMP/store-own" "$TMP/p/debug/prog.debug" >"$TMP/add.out" || fail "add: $(cat "$TMP/add.out")"
ended own || fail "a file that was added: $(cat "$TMP/own.log")"

# ---- the end of the wait --------------------------------------------------------------------------------
wait_begin never --timeout 1s --source "breakpad@$URL_up" "breakpad/zz.so/000000000000000000000000000000010/zz.so.sym"
ended never && fail "a file that never comes"
for time in 1s 10s 100s; do # the server's answer can be late
  "$SYMFS" wait --no-default-sources --cache "$TMP/c" --timeout $time --source "breakpad@$URL_up" \
    "breakpad/zz.so/000000000000000000000000000000010/zz.so.sym" >"$TMP/out" 2>&1
  status=$?
  [ $status = 3 ] || break
done
[ $status = 1 ] || fail "the exit status of a file that never comes: $(cat "$TMP/out")"
"$SYMFS" wait --no-default-sources --cache "$TMP/c" --timeout 1s --connect-timeout 1s \
  --source breakpad@http://127.0.0.1:1 "breakpad/$sym_1" >"$TMP/out" 2>&1
[ $? = 3 ] || fail "the exit status of a source that cannot be asked: $(cat "$TMP/out")"
for words in "--timeout soon x" "" "--type none-such x"; do
  # shellcheck disable=SC2086 # words
  "$SYMFS" wait $words >"$TMP/out" 2>&1
  [ $? = 2 ] || fail "symfs wait $words: $(cat "$TMP/out")"
done
"$SYMFS" wait --no-default-sources --cache "$TMP/c" --timeout 1s breakpad >"$TMP/out" 2>&1 && fail "a directory"
symfs_unserve one
exit 0
