#!/bin/sh
# symfs serve and its clients: debuginfod-find, gdb, minidump_stackwalk, another symfs, a caching
# nginx in front; a mount that serves; a socket from systemd; a server that is its own source.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl gdb debuginfod-find gcc readelf objcopy nginx

code_of() { fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@"; }
head_is() { tr -d '\r' <"$TMP/head" | grep -qi "^$1\$" || fail "no $1 in $(cat "$TMP/head")"; }

far_program
mkdir -p "$TMP/src"
mv "$NEAR/src" "$TMP/src/near"
ONE=00112233445566778899AABBCCDDEEFF
mkdir -p "$FAR/sym/one.pdb/${ONE}1"
printf 'MODULE windows x86_64 %s1 one.pdb\nFILE 0 c:\\src\\one.cc\nFUNC 1000 20 0 one::deeper(int)\n1000 20 3 0\n' \
  "$ONE" \
  >"$FAR/sym/one.pdb/${ONE}1/one.sym"
mkdir -p "$FAR/store"
symfs_serve one --source "gdb@$FAR/gdb" --source "breakpad@$FAR/sym" --source "symstore@$FAR/store"

# ---- debuginfod --------------------------------------------------------------------------
with() { # URL COMMAND...: a client that has never asked before
  with_url=$1
  shift
  DEBUGINFOD_URLS=$with_url DEBUGINFOD_CACHE_PATH=$(mktemp -d "$TMP/client.XXXXXX") timeout 600 "$@" 2>&1
}
for url in "$URL_one" "$URL_one/" "$URL_one/debuginfod/"; do
  got=$(with "$url" debuginfod-find debuginfo "$PROG_ID") || fail "debuginfod-find debuginfo, $url: $got"
  same_file "$FAR/files/prog.debug" "$got"
done
got=$(with "$URL_one" debuginfod-find executable "$PROG_ID") || fail "debuginfod-find executable: $got"
same_file "$FAR/files/prog" "$got"
with "$URL_one" debuginfod-find debuginfo 0123456789012345678901234567890123456789 &&
  fail "debuginfod-find of nothing"
expect "gdb" "$(with "$URL_one" gdb -nx -batch -iex 'set debuginfod enabled on' -ex 'info line main' "$PROG")" \
  '^Line 4 of ".*prog\.c" starts at .* <main>'

# ---- another symfs, by each protocol, and Breakpad's tool on its mount ---------------------------------
symfs_mount two --source "debuginfod@$URL_one" --source "breakpad@$URL_one"
same_file "$FAR/files/prog.debug" "$MNT_two/debuginfod/buildid/$PROG_ID/debuginfo"
same_file "$FAR/files/prog" "$MNT_two/gdb/$(gdb_path "$PROG_ID")"
same_file "$FAR/sym/one.pdb/${ONE}1/one.sym" "$MNT_two/breakpad/one.pdb/${ONE}1/one.sym"
[ -e "$MNT_two/breakpad/two.pdb/${ONE}2/two.sym" ] && fail "what no source has is there"
if [ -x "$TOOLS/bin/minidump_stackwalk" ]; then
  "$top_builddir/tests/helpers/make-minidump" "$TMP/own.dmp" "one.dll:one.pdb:$ONE:1:180000000" -- 180001005 ||
    fail "make-minidump"
  timeout 600 "$TOOLS/bin/minidump_stackwalk" "$TMP/own.dmp" "$MNT_two/breakpad" 2>/dev/null |
    grep -q 'one::deeper(int) \[one\.cc : 3' || fail "minidump_stackwalk on the mount"
fi
symfs_umount two

# ---- nginx in front ----------------------------------------------------------------------
mkdir "$TMP/cache"
nginx_start front "$TMP" "location / { proxy_pass $URL_one; proxy_cache c; proxy_cache_revalidate on;
  add_header X-Cache \$upstream_cache_status; }" \
  "proxy_cache_path $TMP/cache keys_zone=c:1m;"
F=$URL_front
for want in MISS HIT; do
  [ "$(code_of "$F/buildid/$PROG_ID/debuginfo")" = 200 ] || fail "through nginx"
  head_is "X-Cache: $want"
  same_file "$FAR/files/prog.debug" "$TMP/body"
done
[ "$(code_of -r 10-19 "$F/buildid/$PROG_ID/debuginfo")" = 206 ] || fail "a range through nginx"
for _ in 1 2; do
  [ "$(code_of "$F/x.pdb/${ONE}2/x.sym")" = 404 ] || fail "a miss through nginx"
  tr -d '\r' <"$TMP/head" | grep -qi '^X-Cache: HIT$' && fail "a miss was cached"
done
got=$(with "$F" debuginfod-find debuginfo "$PROG_ID") || fail "debuginfod-find through nginx: $got"

# ---- code ids ----------------------------------------------------------------------------
if first_of clang >/dev/null && first_of lld-link >/dev/null; then
  windows_library "$TMP/w" lib
  "$SYMFS" id --json "$TMP/w/lib.dll" >"$TMP/id.json"
  code=$(sed -n 's/.*"code_id": *"\([0-9a-f]*\)".*/\1/p' "$TMP/id.json" | head -n 1)
  sym=lib.pdb/$(sed -n 's/.*"breakpad_id": *"\([0-9A-Fa-f]*\)".*/\1/p' "$TMP/id.json" | head -n 1)/lib.sym
  dll=$(path_in symstore "$TMP/w/lib.dll")
  [ -n "$code" ] && [ -n "$dll" ] || fail "ids: $code $sym $dll"
  asked="lib.dll/$code/lib.sym"
  [ "$(code_of "$URL_one/$asked")" = 404 ] || fail "a code id of nothing: $(cat "$TMP/head")"
  symfs_serve codes --source "symstore@$FAR/store"
  mkdir -p "$FAR/store/${dll%/*}"
  cp "$TMP/w/lib.dll" "$FAR/store/$dll"
  for how in -i -I; do # the first fetches the program, which tells
    [ "$(code_of $how "$URL_codes/$asked?code_file=lib.dll")" = 302 ] ||
      fail "a code id: $(cat "$TMP/head" "$TMP/body")"
    head_is "location: /$sym?code_file=lib.dll"
  done
  [ "$(code_of "$URL_codes/breakpad/$asked")" = 302 ] || fail "a code id below breakpad/"
  head_is "location: /breakpad/$sym"
  symfs_unserve codes
else
  say "no clang and lld-link: code ids are not tried"
fi
[ "$(code_of -H 'Debug: 1' "$URL_one/one.pdb/${ONE}1/one.sym")" = 200 ] || fail "Debug"
head_is 'debug-time: 0\.[0-9]*'

# ---- a mount that serves -----------------------------------------------------------------
mkdir "$TMP/both"
MOUNTS="$MOUNTS $TMP/both"
"$SYMFS" mount --serve 127.0.0.1:0 --no-default-sources --cache "$TMP/store-both" --source "gdb@$FAR/gdb" \
  "$TMP/both" >"$TMP/both.out" 2>"$TMP/both.log" ||
  fail "mount --serve: $?"
url=$(sed -n 's/^listening on //p' "$TMP/both.out")
[ "$(code_of "$url/buildid/$PROG_ID/debuginfo")" = 200 ] || fail "mount --serve: HTTP"
same_file "$TMP/body" "$TMP/both/debuginfod/buildid/$PROG_ID/debuginfo"
umounts "$TMP/both" "$(stat_of "$TMP/both" pid)"
code_of "$url/healthz" >/dev/null 2>&1 && fail "it serves what is unmounted"

# ---- itself as a source, and systemd's sockets -------------------------------------------
# Its port is known when it listens, so its source is told afterwards.
: >"$TMP/self.conf"
symfs_serve self --config "$TMP/self.conf"
printf '[source "self"]\nurl = %s\nlayout = breakpad\n' "$URL_self" >"$TMP/self.conf"
kill -HUP "$PID_self"
has_itself() { fetch_url "$URL_self/status" | grep -qF "data-name=\"where\">$URL_self"; }
wait_for has_itself || fail "a configuration that is read again"
[ "$(code_of "$URL_self/one.pdb/${ONE}1/one.sym")" = 508 ] ||
  fail "a server that is its own source: $(cat "$TMP/head" "$TMP/body")"
symfs_unserve self
if command -v systemd-socket-activate >/dev/null; then
  for _ in 1 2 3 4 5; do # a port that was free may be taken by now
    port=$(free_port)
    systemd-socket-activate -l "127.0.0.1:$port" "$SYMFS" serve --listen systemd --no-default-sources \
      --cache "$TMP/store-socket" --source "gdb@$FAR/gdb" >"$TMP/socket.out" 2>"$TMP/socket.log" &
    activator=$!
    PIDS="$PIDS $activator"
    wait_for listens_or_gone "$activator" "$port"
    gone "$activator" || break
  done
  wait_for code_of "http://127.0.0.1:$port/healthz" || fail "a passed socket: $(cat "$TMP/socket.log")"
  [ "$(code_of "http://127.0.0.1:$port/buildid/$PROG_ID/debuginfo")" = 200 ] ||
    fail "a passed socket: $(cat "$TMP/head" "$TMP/socket.log")"
fi
symfs_unserve one
exit 0
