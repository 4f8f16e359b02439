#!/bin/sh
# Without a source that can answer, mount, serve, sources and status say what to do; a directory that --source names
# must exist; `symfs init` writes a first configuration from what the machine has.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need timeout
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

helps() { # FILE WHAT: one line has the ways out
  [ "$(grep -c 'add one with --source NAME, URL or DIR .*symfs sources presets. lists the names)' "$1")" = 1 ] ||
    fail "$2 has not one line of advice: $(cat "$1")"
}

# ---- a directory that does not exist ----------------------------------------------------------------
for command in get warm why mount "serve --listen 127.0.0.1:0"; do
  operand=$TMP
  [ "$command" = "${command#serve}" ] || operand=
  for word in /nosuchdir scan@/nosuchdir ./nosuchdir gdb@/dev/null/x; do
    # shellcheck disable=SC2086 # words
    timeout 600 "$SYMFS" $command --no-default-sources --cache "$TMP/store" --source "$word" $operand >"$TMP/out" \
      2>"$TMP/err"
    [ $? = 2 ] && grep -q -- "--source ${word#*@}: there is no such directory" "$TMP/err" ||
      fail "$command --source $word: $(cat "$TMP/out" "$TMP/err")"
  done
done
: >"$TMP/a-file"
for word in "$TMP/a-file" "gdb@$TMP/a-file"; do
  "$SYMFS" get --no-default-sources --cache "$TMP/store" --source "$word" "$TMP" 2>"$TMP/err"
  [ $? = 2 ] && grep -q -- "--source $TMP/a-file: is a file; name its directory" "$TMP/err" ||
    fail "get --source $word: $(cat "$TMP/err")"
done
# A directory of this one is a place without ./, too, unless a configured source has its name.
mkdir -p "$TMP/here/builds" "$TMP/here/team"
printf '[source "team"]\nurl = http://127.0.0.1:1/\nlayout = debuginfod\n' >"$TMP/named.conf"
(cd "$TMP/here" && "$SYMFS" sources --config "$TMP/named.conf" --no-default-sources --source builds --source team) \
  >"$TMP/out" || fail "sources of names"
grep -q '1[.] scan@builds ' "$TMP/out" && grep -q '2[.] team .*http://127.0.0.1:1/' "$TMP/out" ||
  fail "--source builds and team: $(cat "$TMP/out")"
# A directory without a layout: its content decides.
mkdir -p "$TMP/files" "$TMP/ids/.build-id" "$TMP/server/buildid"
for word in files:scan ids:gdb server:debuginfod; do
  "$SYMFS" sources --no-default-sources --source "$TMP/${word%:*}" >"$TMP/out" || fail "sources"
  grep -q "${word#*:}@$TMP/${word%:*} " "$TMP/out" ||
    fail "--source $TMP/${word%:*} is not ${word#*:}: $(cat "$TMP/out")"
  # The same in a configuration, where a URL stands otherwise.
  printf '[source "d"]\nurl = %s\n' "$TMP/${word%:*}" >"$TMP/conf"
  "$SYMFS" sources --no-default-sources --config "$TMP/conf" >"$TMP/out" || fail "url = a directory"
  grep -q " d .* ${word#*:}  *$TMP/${word%:*}\$" "$TMP/out" ||
    fail "url = $TMP/${word%:*} is not ${word#*:}: $(cat "$TMP/out")"
done
printf '[source "d"]\nurl = %s/files\nlayout = gdb\n' "$TMP" >"$TMP/conf"
"$SYMFS" sources --no-default-sources --config "$TMP/conf" | grep -q ' gdb ' || fail "a directory with a layout"
# In a configuration it may be an automount.
printf '[source "later"]\npath = %s/later\n' "$TMP" >"$TMP/conf"
"$SYMFS" get --no-default-sources --config "$TMP/conf" --cache "$TMP/store" gdb/.build-id/aa/bbcc.debug >"$TMP/out" \
  2>"$TMP/err"
[ $? = 1 ] || fail "a directory of the configuration: $(cat "$TMP/err")"

# ---- no source ----------------------------------------------------------------------------------------
"$SYMFS" sources --no-default-sources >"$TMP/out" || fail "sources"
helps "$TMP/out" sources
# It says which option leaves sources out; `symfs init` helps only where the configured ones count.
grep -q '^no source is in use; --no-default-sources leaves out the configured ones; add one' "$TMP/out" &&
  ! grep 'symfs init' "$TMP/out" || fail "--no-default-sources: $(cat "$TMP/out")"
"$SYMFS" sources --offline --no-default-sources --source http://127.0.0.1:1/ >"$TMP/out" || fail "sources --offline"
grep -qx 'no source is in use; --offline leaves out all servers' "$TMP/out" || fail "--offline: $(cat "$TMP/out")"
"$SYMFS" sources presets --no-default-sources --config "$top_srcdir/etc/sources.d/debian.conf" >"$TMP/out" ||
  fail "presets"
grep -qx 'debian  *https://debuginfod.debian.net/' "$TMP/out" || fail "presets: $(cat "$TMP/out")"
"$SYMFS" sources presets --json --no-default-sources --config "$top_srcdir/etc/sources.d/debian.conf" | tr -d ' \n' |
  grep -qF '[{"name":"debian","url":"https://debuginfod.debian.net/","enabled":false}' || fail "presets --json"
symfs_serve s
helps "$TMP/s.log" serve
grep -q '^symfs serve: no source is in use, so only stored files will be found; --no-default-sources' "$TMP/s.log" ||
  fail "serve: $(cat "$TMP/s.log")"
symfs_unserve s
symfs_serve s --offline
! grep -v ': version .*; sources: 0; tokens: none$' "$TMP/s.log" ||
  fail "serve --offline warns: $(cat "$TMP/s.log")"
symfs_unserve s
symfs_serve s --upload
! grep 'no source' "$TMP/s.log" || fail "a server of uploads alone gets advice: $(cat "$TMP/s.log")"
symfs_unserve s

# A build id, and nothing else: the way out is there.
id=dfb85de42daffd09640c8fe377d572de3e168920
"$SYMFS" get --no-default-sources --cache "$TMP/store" $id >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] || fail "get without a source: $(cat "$TMP/err")"
helps "$TMP/err" get
"$SYMFS" why --no-default-sources --cache "$TMP/store" $id >"$TMP/out" || fail why
helps "$TMP/out" why

# ---- a URL without a layout -------------------------------------------------------------------------------
mkdir "$TMP/empty"
upstream_start empty --root "$TMP/empty"
for command in get warm; do
  "$SYMFS" $command --no-default-sources --cache "$TMP/store" --source "$URL_empty" $id >"$TMP/out" 2>"$TMP/err"
  grep -q "^symfs $command: --source $URL_empty: asked in the layout native; .*debuginfod@URL" "$TMP/err" ||
    fail "$command does not name the layout: $(cat "$TMP/out" "$TMP/err")"
  "$SYMFS" $command --no-default-sources --cache "$TMP/store" --source "debuginfod@$URL_empty" $id >"$TMP/out" \
    2>"$TMP/err"
  grep -q "layout native" "$TMP/err" && fail "$command: a hint about a source with a layout: $(cat "$TMP/err")"
done

# ---- config init --------------------------------------------------------------------------------------
conf=$XDG_CONFIG_HOME/symfs/symfs.conf
rm -r "$XDG_CONFIG_HOME/symfs"
DEBUGINFOD_URLS="http://user:secret@127.0.0.1:1/ http://127.0.0.1:2" \
  _NT_SYMBOL_PATH='srv*http://127.0.0.1:3/symbols' \
  "$SYMFS" config init >"$TMP/out" 2>"$TMP/err" || fail "config init: $(cat "$TMP/err")"
grep -qxF "symfs init: wrote $conf" "$TMP/err" || fail "config init says $(cat "$TMP/err")"
grep -q secret "$TMP/out" && fail "config init shows a password"
sed 's|user:secret@||' "$conf" | cmp -s - "$TMP/out" || fail "config init shows another file: $(cat "$TMP/out")"
[ "$(stat -c %a "$conf")" = 600 ] || fail "other users can read $conf"
"$SYMFS" sources >"$TMP/out" || fail "the configuration is not read"
for n in 1 2 3; do grep -q "127\.0\.0\.1:$n" "$TMP/out" || fail "source $n is not there: $(cat "$TMP/out")"; done
# A file is never replaced unasked.
before=$(cksum <"$conf")
"$SYMFS" config init >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] && [ ! -s "$TMP/out" ] && grep -q "$conf exists; --force replaces it" "$TMP/err" ||
  fail "config init again: $(cat "$TMP/err")"
[ "$(cksum <"$conf")" = "$before" ] || fail "config init replaced the file"
ln -s nowhere "$TMP/dangling"
"$SYMFS" config init -o "$TMP/dangling" 2>/dev/null && fail "config init replaces a link"
"$SYMFS" config init --force >/dev/null 2>"$TMP/err" || fail "config init --force: $(cat "$TMP/err")"
[ "$(cksum <"$conf")" != "$before" ] || fail "config init --force wrote nothing new"
# The distribution's server, unless a variable names it.
id=$(sed -n 's/^ID="*\([a-z]*\).*/\1/p' /etc/os-release)
case $id in
debian | ubuntu | fedora)
  url=$(sed -n 's/^url = //p' "$top_srcdir/etc/sources.d/$id.conf")
  grep -qF "[source \"$id\"]" "$conf" || grep -qF "url = ${url%/}" "$conf" ||
    fail "config init does not know $id: $(cat "$conf")"
  DEBUGINFOD_URLS=${url%/} "$SYMFS" config init -o "$TMP/two" >"$TMP/out" 2>/dev/null || fail "config init -o"
  [ "$(grep -c '^url = ' "$TMP/out")" = 1 ] || fail "config init names one server twice: $(cat "$TMP/out")" ;;
esac
XDG_CONFIG_HOME='' HOME='' "$SYMFS" config init 2>/dev/null
[ $? = 2 ] || fail "config init without a home"
"$SYMFS" config frobnicate 2>/dev/null
[ $? = 2 ] || fail "config frobnicate"
rm "$conf"

# ---- in a mount -----------------------------------------------------------------------------------------
need_mount
symfs_mount m
helps "$TMP/m.log" mount
grep -q 'serve' "$TMP/m.log" && fail "mount has advice for serve: $(cat "$TMP/m.log")"
"$SYMFS" status "$MNT_m" >"$TMP/out" || fail "status"
helps "$TMP/out" status
symfs_umount m
symfs_mount m --config "$TMP/conf"
grep -q "source $TMP/later: there is no such directory" "$TMP/m.log" ||
  fail "mount does not warn: $(cat "$TMP/m.log")"
helps "$TMP/m.log" "mount of a directory that is not there"
"$SYMFS" status "$MNT_m" >"$TMP/out" || fail "status"
helps "$TMP/out" "status of a directory that is not there"
mkdir "$TMP/later"
"$SYMFS" status "$MNT_m" >"$TMP/out" || fail "status"
grep -q 'symfs init' "$TMP/out" && fail "status does not see that the directory came: $(cat "$TMP/out")"
symfs_umount m
# From fstab likewise.
symfs_mount m -o "source=$TMP/nowhere"
grep -q "source $TMP/nowhere: there is no such directory" "$TMP/m.log" || fail "-o source: $(cat "$TMP/m.log")"
symfs_umount m
