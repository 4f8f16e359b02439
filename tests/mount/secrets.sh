#!/bin/sh
# Passwords in URLs: no part of one is in the process list, the mount table, messages, logs, files
# or names.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc strip objcopy readelf curl cmp

make_program "$TMP/p" prog
put_gdb "$TMP/www" "$TMP/p/full/prog"
file=gdb/$(gdb_path "$(build_id "$TMP/p/full/prog")")
upstream_start up --root "$TMP/www" --heads "$TMP/up.heads"
# shellcheck disable=SC2154
host=${URL_up#http://}
url=http://joe:hunter2@$host/
sent='Authorization: Basic am9lOmh1bnRlcjI=' # joe:hunter2

cmdline() { tr '\0' ' ' <"/proc/$1/cmdline"; }
# hidden PID WHAT: the process list shows neither user nor password, and still shows the rest.
hidden() {
  cmdline "$1" | grep -qE 'hunter|joe' && fail "$2: the process list: $(cmdline "$1")"
  cmdline "$1" | grep -qF "://$host/" || fail "$2: the process list does not show the server: $(cmdline "$1")"
}
# works NAME WHAT [SHOWN]: the mount serves from the source, with the password; the mount table shows SHOWN.
works() {
  hidden "$(stat_of "$TMP/$1" pid)" "$2"
  same_file "$TMP/$1/$file" "$TMP/p/full/prog"
  grep -q "$sent" "$TMP/up.heads" || fail "$2: the password was not sent"
  : >"$TMP/up.heads"
  grep -qE 'hunter|joe' /proc/self/mountinfo && fail "$2: the mount table: $(grep hunter /proc/self/mountinfo)"
  grep -qF " $TMP/$1 " /proc/self/mountinfo && grep -q " $TMP/$1 .* - fuse.symfs ${3:-symfs} " /proc/self/mountinfo ||
    fail "$2: the mount table: $(grep " $TMP/$1 " /proc/self/mountinfo)"
}
quiet() { grep -rE 'hunter|am9lOm' "$@" && fail "a password is written"; }

# ---- options -----------------------------------------------------------------------------------------------
SYMFS_DEBUG=net,fetch,store,conf,fs symfs_mount a --source "gdb@$url"
works a --source
for text in config sources activity missing status stats why; do
  [ ! -f "$TMP/a/.symfs/$text" ] || cat "$TMP/a/.symfs/$text"
done >"$TMP/texts.txt"
"$SYMFS" status "$TMP/a" >>"$TMP/texts.txt" 2>&1
"$SYMFS" why "$TMP/a/$file" >>"$TMP/texts.txt" 2>&1
"$SYMFS" why --ask --no-default-sources --source "gdb@$url" --cache "$TMP/store-why" "$file" >>"$TMP/texts.txt" 2>&1
"$SYMFS" sources --no-default-sources --source "gdb@$url" >>"$TMP/texts.txt" 2>&1
"$SYMFS" cache ls --cache "$TMP/store-a" >>"$TMP/texts.txt" 2>&1
! command -v getfattr >/dev/null || getfattr -d -m - "$TMP/a/$file" >>"$TMP/texts.txt" 2>&1
symfs_umount a
quiet "$TMP/texts.txt" "$TMP/a.log" "$TMP/store-a"
grep -q "gdb@http://$host/" "$TMP/texts.txt" || fail "nothing is shown: this tests nothing"
symfs_mount b --source="gdb@$url"
works b --source=
symfs_umount b
symfs_mount c -o "exact_size,source=gdb@$url,quota=1G"
works c '-o source='
symfs_umount c
# In the background.
mkdir "$TMP/d"
MOUNTS="$MOUNTS $TMP/d"
"$SYMFS" mount --no-default-sources --cache "$TMP/store-d" --source "gdb@$url" "$TMP/d" ||
  fail "mount in the background"
pid=$(stat_of "$TMP/d" pid)
PIDS="$PIDS $pid"
works d 'in the background'
umounts "$TMP/d" "$pid"
# shellcheck disable=SC2154
symfs_serve e --source "gdb@$url"
hidden "$PID_e" serve
symfs_unserve e
quiet "$TMP/e.log" "$TMP/store-e"

# ---- the source of a mount -----------------------------------------------------------------------------------
symfs_source() { # SRC NAME [OPTIONS]: as mount(8) calls it
  mkdir -p "$TMP/$2"
  MOUNTS="$MOUNTS $TMP/$2"
  "$SYMFS" "$1" "$TMP/$2" -o "no-default-sources,cache-dir=$TMP/store-$2${3:+,$3}" 2>"$TMP/$2.log" || return
  pid=$(stat_of "$TMP/$2" pid)
  PIDS="$PIDS $pid"
}
symfs_source "gdb@$url" f || fail "a URL as the source: $(cat "$TMP/f.log")"
works f 'a URL as the source' "gdb@http://$host/"
umounts "$TMP/f" "$pid"
symfs_mount g "gdb@$url"
works g 'symfs mount SRC DIR' "gdb@http://$host/"
symfs_umount g
symfs_source "$TMP/www" h || fail "a directory as the source: $(cat "$TMP/h.log")"
same_file "$TMP/h/$file" "$TMP/p/full/prog"
grep -q " $TMP/h .* - fuse.symfs $TMP/www " /proc/self/mountinfo || fail "$(grep "$TMP/h" /proc/self/mountinfo)"
umounts "$TMP/h" "$pid"
# It goes before others, and any other word is only a name.
symfs_source "$TMP/www" i "source=gdb@$url" || fail "two sources"
[ "$(sed -n 's/^path = //p; s/^url = //p' "$TMP/i/.symfs/config" | head -n 1)" = "$TMP/www" ] ||
  fail "$(cat "$TMP/i/.symfs/config")"
umounts "$TMP/i" "$pid"
for word in symbols debian gdb www/here; do
  symfs_source "$word" j || fail "the name $word: $(cat "$TMP/j.log")"
  grep -q '^\[source' "$TMP/j/.symfs/config" && fail "$word is a source"
  grep -q " $TMP/j .* - fuse.symfs $word " /proc/self/mountinfo || fail "$(grep "$TMP/j" /proc/self/mountinfo)"
  umounts "$TMP/j" "$pid"
done

# ---- what a password must not hold -------------------------------------------------------------------------
for c in / '#' '?' @; do
  for bad in "http://joe:hun${c}ter2@$host/" "http://joe:12${c}ter2@$host/" "http://joe:hun${c}ter2${c}x@$host/"; do
    for way in source src option config variable proxy; do
      : >"$TMP/conf" && chmod 600 "$TMP/conf"
      case $way in
        source) "$SYMFS" get --no-default-sources --cache "$TMP/bad" --source "gdb@$bad" "$file" ;;
        src) symfs_source "$bad" k ;;
        option) symfs_source x k "source=$bad" ;;
        config | proxy)
          if [ $way = config ]; then printf '[source "a"]\nurl = %s\n' "$bad"
          else printf '[source "a"]\nurl = http://h\nproxy = %s\n' "$bad"; fi >"$TMP/conf"
          "$SYMFS" get --no-default-sources --cache "$TMP/bad" --config "$TMP/conf" "$file" ;;
        variable) DEBUGINFOD_URLS=$bad "$SYMFS" get --cache "$TMP/bad" "$file" ;;
      esac >"$TMP/said" 2>&1 && fail "$way: $bad is taken"
      cat "$TMP/k.log" >>"$TMP/said" 2>/dev/null
      grep -qE 'hun|ter2|joe' "$TMP/said" && fail "$way: $bad is shown: $(cat "$TMP/said")"
      [ $way = proxy ] || grep -qF "http://$host/" "$TMP/said" ||
        fail "$way: $bad: the rest is not shown: $(cat "$TMP/said")"
      [ $way = proxy ] || grep -qF '%2F %3F %23 %40' "$TMP/said" || fail "$way: $bad: no way out: $(cat "$TMP/said")"
    done
  done
done
# ---- what cuts a URL in front of its @ ---------------------------------------------------------------------
unshown() { # COMMAND...: shows no part of the password, whatever it does
  "$@" >"$TMP/said" 2>&1
  grep -qE 'hun|ter2|joe' "$TMP/said" && fail "$*: a password is shown: $(cat "$TMP/said")"
  [ -s "$TMP/said" ] || fail "$*: nothing is said: this tests nothing"
}
for c in ' ' ';' '*'; do
  unshown env DEBUGINFOD_URLS="http://joe:hun${c}ter2@$host/" "$SYMFS" get --cache "$TMP/bad" "$file"
  unshown env DEBUGINFOD_URLS= _NT_SYMBOL_PATH="srv*http://joe:hun${c}ter2@$host/" "$SYMFS" sources
done
for rest in "ter2@$host/" "ter2=x@$host/" "ter2/=@$host"; do
  unshown "$SYMFS" mount -o "no-default-sources,source=gdb@http://joe:hun,$rest" "$TMP/x"
  grep -qF 'a comma is %2C' "$TMP/said" || fail "no way out: $(cat "$TMP/said")"
done
unshown "$SYMFS" sources --no-default-sources --source "gdb@http://joe:hunter2"
unshown "$SYMFS" sources --no-default-sources --source "http:/joe:hunter2@$host/"
unshown "$SYMFS" sources --no-default-sources --source "gdb@file://joe:hunter2@$host/"
for word in "http:/joe:hunter2@$host/" "HTTPS:joe:hunter2@$host/"; do
  unshown "$SYMFS" mount "$word" "$TMP/x"
  grep -qF "$host/: expected :// after http or https" "$TMP/said" || fail "$word: $(cat "$TMP/said")"
  grep -q " $TMP/x " /proc/self/mountinfo && fail "$word is mounted"
done
# A control character: an empty password would be sent.
for c in %00 %0a %1F; do
  : >"$TMP/up.heads"
  unshown "$SYMFS" get --no-default-sources --cache "$TMP/bad" --source "gdb@http://joe:hun${c}ter2@$host/" "$file"
  [ -s "$TMP/up.heads" ] && fail "asked: $(cat "$TMP/up.heads")"
done

# ---- a proxy of the environment ------------------------------------------------------------------------------
for proxy in "http://joe:hun/ter2@$host" "joe:hun@ter2@$host" "http://joe:12/hunter2@$host" \
  "http://joe:hun ter2@$host" "joe://hunter2@$host" "http://joe:hunter2@$host:x" http://joe:hunter2; do
  unshown env SYMFS_DEBUG=net,fetch http_proxy="$proxy" "$SYMFS" get --no-default-sources --cache "$TMP/proxied" \
    --source gdb@http://symbols.test/ "$file"
  grep -qF 'the proxy URL is malformed' "$TMP/said" || fail "$proxy: $(cat "$TMP/said")"
done

# Encoded they are sent.
"$SYMFS" get --no-default-sources --cache "$TMP/good" --source "gdb@http://joe:h%2F%3F%23%40@$host/" "$file" \
  >"$TMP/out" || fail "an encoded password"
grep -q 'Authorization: Basic am9lOmgvPyNA' "$TMP/up.heads" ||
  fail "an encoded password was not sent: $(cat "$TMP/up.heads")"

# ---- mistakes --------------------------------------------------------------------------------------------------
said() { # WORDS COMMAND...: fails, and says that
  words=$1
  shift
  "$@" >"$TMP/said" 2>&1 && fail "$*: no mistake"
  grep -qE 'hunter|joe' "$TMP/said" && fail "a password is shown: $(cat "$TMP/said")"
  grep -qF "$words" "$TMP/said" || fail "not said: $words: $(cat "$TMP/said")"
}
said 'url = htp://h/x' "$SYMFS" sources --no-default-sources --source "htp://joe:hunter2@h/x"
printf '[source "a"]\nurl = http://joe:hunter2@h/x # ours\n' >"$TMP/conf"
said 'url = http://h/x # ours' "$SYMFS" sources --no-default-sources --config "$TMP/conf"
said 'no such option: --soruce' "$SYMFS" get "--soruce=$url" "$file"
said "http://$host/" "$SYMFS" "$url" "$TMP/x"
said "http://$host/" "$SYMFS" mount "$TMP/x" "$url"
said "http://$host/" "$SYMFS" mount -o "$url" "$TMP/x"
said 'neither a URL, a path, nor a configured source' "$SYMFS" sources --no-default-sources --source 'joe:hunter2@h'

# ---- names ---------------------------------------------------------------------------------------------------
# A long URL is cut in the name of its source, and a hash stands for the rest: not for the password.
long=$host/a-directory-whose-name-is-as-long-as-those-of-real-servers-are
name() { "$SYMFS" sources --json --no-default-sources --source "gdb@http://joe:$1@$long/" |
  sed -n 's/^ *"name": *"\(.*\)",*$/\1/p'; }
[ -n "$(name one)" ] && [ "$(name one)" = "$(name two)" ] ||
  fail "the name depends on the password: $(name one), $(name two)"
exit 0
