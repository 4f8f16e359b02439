#!/bin/sh
# Environment variables that users already have, each with real requests: symbol paths in full, and
# those of debuginfod's client.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
[ -x "$SYMFS" ] || fail "$SYMFS is not built"
need gcc objcopy strip curl
make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
lib_id=$(build_id "$TMP/p/full/libprog.so")
[ -n "$id" ] || fail "no build id"

# In the order of the path: where each source of `symfs sources` is.
listed() { # PATH
  _NT_SYMBOL_PATH=$1 DEBUGINFOD_URLS= "$SYMFS" sources --json >"$TMP/out" 2>"$TMP/err" ||
    fail "sources: $(cat "$TMP/err")"
  tr -d '\n' <"$TMP/out" | tr '{' '\n' | sed -n 's/.*"layout":"\([^"]*\)".*"\(url\|path\)":"\([^"]*\)".*/\1@\3/p' |
    sed 's|\\/|/|g' | grep -E "^(symstore|symstore_index2|debuginfod)@($TMP|http://127|https://msdl)" | tr '\n' ' '
}
mkdir -p "$TMP/one" "$TMP/two" "$TMP/tiers"
: >"$TMP/tiers/index2.txt"
expect() { # WANT PATH
  got=$(listed "$2")
  [ "$got" = "$1" ] || fail "$2: $got, wanted $1"
}
expect "symstore@$TMP/one symstore@$TMP/two symstore@http://127.0.0.1:1/s " \
  "srv*$TMP/one*$TMP/two*http://127.0.0.1:1/s"
expect "symstore@$TMP/one symstore@http://127.0.0.1:1/s symstore@http://127.0.0.1:1/t " \
  "cache*$TMP/one;SRV*http://127.0.0.1:1/s;symsrv*symsrv.dll*$TMP/one*http://127.0.0.1:1/t"
expect "symstore_index2@$TMP/tiers symstore@$TMP/none " "$TMP/tiers;$TMP/none"
expect "debuginfod@http://127.0.0.1:1/d debuginfod@http://127.0.0.1:1/e symstore@$TMP/two " \
  "DebugInfoD*http://127.0.0.1:1/d*http://127.0.0.1:1/e;$TMP/two"
expect "symstore@https://msdl.microsoft.com/download/symbols symstore@$TMP/one " "srv*;$TMP/one"
expect "symstore@$TMP/one " "\\\\server\\share;C:\\sym;symbols;$TMP/one"
for word in 'server.share.*shares are not supported' 'C:.sym.*neither a URL' '"symbols".*neither a URL'; do
  grep -q "_NT_SYMBOL_PATH: .*$word" "$TMP/err" || fail "not shown: $word: $(cat "$TMP/err")"
done
_NT_SYMBOL_PATH="htp://user:hunter2@h/" "$SYMFS" sources >"$TMP/out" 2>&1
grep -q hunter2 "$TMP/out" && fail "a password is shown"
SYMFS_DEBUG=conf _NT_SYMBOL_PATH="srv*$TMP/none*$TMP/one" "$SYMFS" sources >"$TMP/out" 2>&1
grep -q "$TMP/none does not exist" "$TMP/out" ||
  fail "the debug log does not name a store that is not there: $(cat "$TMP/out")"

# A chain is read as a debugger reads it: the near store first, the far one for the rest, and
# nothing is ever written into either.
put_store() { # ROOT FILE NAME ID
  mkdir -p "$1/$3/elf-buildid-$4"
  cp "$2" "$1/$3/elf-buildid-$4/$3"
}
put_store "$TMP/one" "$TMP/p/full/prog" prog "$id"
put_store "$TMP/far" "$TMP/p/full/libprog.so" libprog.so "$lib_id"
upstream_start far --root "$TMP/far" --log "$TMP/far.requests"
find "$TMP/one" "$TMP/two" | sort >"$TMP/before"
get() { timeout 600 "$SYMFS" get --cache "$TMP/store" "$@" 2>"$TMP/err"; }
# shellcheck disable=SC2154 # set by upstream_start
far=$URL_far
_NT_SYMBOL_PATH="srv*$TMP/none*$TMP/one*$TMP/two*$far" _NT_ALT_SYMBOL_PATH="srv*$far" DEBUGINFOD_URLS=
export _NT_SYMBOL_PATH _NT_ALT_SYMBOL_PATH DEBUGINFOD_URLS
path=$(get "symstore/prog/elf-buildid-$id/prog") || fail "near: $(cat "$TMP/err")"
same_file "$path" "$TMP/p/full/prog"
[ "$(upstream_count "$far" requests)" = 0 ] || fail "the far store was asked for what is near"
path=$(get "symstore/libprog.so/elf-buildid-$lib_id/libprog.so") || fail "far: $(cat "$TMP/err")"
same_file "$path" "$TMP/p/full/libprog.so"
[ "$(upstream_count "$far" get "*/libprog.so")" = 1 ] || fail "one store that two variables name was asked twice"
find "$TMP/one" "$TMP/two" | sort | cmp -s - "$TMP/before" || fail "something was written into a store of the path"
_NT_SYMBOL_PATH=
# The other variable alone serves, too.
rm -r "$TMP/store"
path=$(get "symstore/libprog.so/elf-buildid-$lib_id/libprog.so") || fail "_NT_ALT_SYMBOL_PATH: $(cat "$TMP/err")"
unset _NT_SYMBOL_PATH _NT_ALT_SYMBOL_PATH

# ---- what debuginfod's client is told ------------------------------------------------------------
mkdir -p "$TMP/d/buildid/$id"
cp "$TMP/p/full/prog" "$TMP/d/buildid/$id/executable"
upstream_start d --root "$TMP/d" --heads "$TMP/d.heads"
upstream_start other --root "$TMP/d" --heads "$TMP/other.heads"
# shellcheck disable=SC2154
d=$URL_d other=$URL_other
printf 'X-One: first\r\n\nnonsense-without-colon\nAuthorization: Bearer hunter2\n' >"$TMP/headers"
DEBUGINFOD_URLS=$d DEBUGINFOD_HEADERS_FILE=$TMP/headers
export DEBUGINFOD_URLS DEBUGINFOD_HEADERS_FILE
SYMFS_DEBUG=all get "debuginfod/buildid/$id/executable" >/dev/null || fail "debuginfod: $(cat "$TMP/err")"
for line in 'X-One: first' 'Authorization: Bearer hunter2'; do
  grep -q "^$line.\{0,1\}\$" "$TMP/d.heads" || fail "not sent: $line: $(cat "$TMP/d.heads")"
done
grep -q 'HEADERS_FILE: line 3 ' "$TMP/err" || fail "a bad line of headers is not reported: $(cat "$TMP/err")"
grep -qE 'hunter2|nonsense' "$TMP/err" && fail "headers are shown: $(cat "$TMP/err")"
"$SYMFS" sources --json >"$TMP/out" 2>/dev/null
grep -q hunter2 "$TMP/out" && fail "headers are shown by sources"

DEBUGINFOD_HEADERS_FILE=$TMP/none get "debuginfod/buildid/$id/executable" >/dev/null ||
  fail "a file of headers that is not there is a mistake: $(cat "$TMP/err")"
grep -q 'HEADERS_FILE: .*none' "$TMP/err" || fail "a missing file of headers is not reported"

# A file that is larger than was said is not fetched, and that is not "not there".
rm -r "$TMP/store"
: >"$TMP/d.heads"
DEBUGINFOD_MAXSIZE=100 get "debuginfod/buildid/$id/executable" >/dev/null
[ $? = 3 ] || fail "DEBUGINFOD_MAXSIZE: $(cat "$TMP/err")"
grep -qi '^X-DEBUGINFOD-MAXSIZE: 100' "$TMP/d.heads" || fail "DEBUGINFOD_MAXSIZE is not sent: $(cat "$TMP/d.heads")"
get "debuginfod/buildid/$id/executable" >/dev/null ||
  fail "DEBUGINFOD_MAXSIZE was remembered as a miss: $(cat "$TMP/err")"

# A server that stands still is given up after that time.
rm -r "$TMP/store"
upstream_fault "$d" "*executable" silent-after 4096
DEBUGINFOD_TIMEOUT=1 get "debuginfod/buildid/$id/executable" >/dev/null
[ $? = 3 ] && grep -q 'no byte for 1000 ms' "$TMP/err" || fail "DEBUGINFOD_TIMEOUT: $(cat "$TMP/err")"
DEBUGINFOD_TIMEOUT=soon "$SYMFS" sources >"$TMP/out" 2>&1 || fail "nonsense in DEBUGINFOD_TIMEOUT: $(cat "$TMP/out")"
grep -q 'DEBUGINFOD_TIMEOUT.*soon' "$TMP/out" || fail "nonsense in DEBUGINFOD_TIMEOUT is not reported"

# The headers of one server go to no other.
rm -r "$TMP/store"
upstream_clear "$d"
upstream_fault "$d" "*executable" redirect "$other*"
printf 'X-Secret: hunter2\n' >"$TMP/headers"
: >"$TMP/d.heads"
get "debuginfod/buildid/$id/executable" >/dev/null || fail "a redirect: $(cat "$TMP/err")"
grep -q hunter2 "$TMP/d.heads" || fail "the header was not sent"
[ -s "$TMP/other.heads" ] || fail "the redirect was not followed"
grep -q hunter2 "$TMP/other.heads" && fail "a header went to another server"

# The first directory of those that systemd names, also beside that of the user.
CACHE_DIRECTORY=$TMP/service:$TMP/more XDG_CACHE_HOME=$TMP/user "$SYMFS" add --no-default-sources "$TMP/p/full/prog" \
  >"$TMP/out" 2>&1 || fail "add: $(cat "$TMP/out")"
[ -e "$TMP/service" ] && [ ! -e "$TMP/more" ] && [ ! -e "$TMP/user" ] || fail "CACHE_DIRECTORY: $(ls "$TMP")"
