#!/bin/sh
# A few frames of a large Breakpad file are answered from a part of it: the answer is that of GSYM of the whole file,
# which a server makes when it is idle, and the command does not make. One bad line makes the file unusable. A server
# that is converting ends at once.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need awk curl
id_of() { printf '%032X0' "$1"; }
sym() { # N MIB: a file of the module mN
  mkdir -p "$TMP/up/m$1/$(id_of "$1")"
  awk -v id="$(id_of "$1")" -v n="$1" -v bytes=$(($2 << 20)) 'BEGIN {
    printf "MODULE Linux x86_64 %s m%d\nINFO CODE_ID ABCD prog%d\n", id, n, n
    for (i = 0; i < 50; i++)
      printf "FILE %d /src/dir%d/../file%d.c\nINLINE_ORIGIN %d inlined_%d(int)\n", i, i % 5, i, i, i
    for (at = 4096; made < bytes; at += 128) {
      s = sprintf("FUNC %x %x 0 Class_%d::method_%d(char const*)\nINLINE 0 %d %d %d %x 20\nINLINE 1 3 4 %d %x 10\n",
        at, at % 512 ? 128 : 96, at % 7, ++k, k % 90, k % 50, k % 49, at + 16, k % 47, at + 32)
      for (l = 0; l < 5; l++) s = s sprintf("%x 10 %d %d\n", at + l * 16, k % 3000 + l, (k + l) % 50)
      if (k % 10 == 0) s = s sprintf("PUBLIC %x 0 public_%d\n", at + 100, k)
      printf "%s", s
      made += length(s)
    } }' >"$TMP/up/m$1/$(id_of "$1")/m$1.sym"
}
ask() { # MODULES...: a request with addresses all over the files, and some before and behind them
  awk -v modules="$*" 'BEGIN {
    n = split(modules, m, " ")
    printf "{\"memoryMap\": ["
    for (i = 1; i <= n; i++) printf "%s[\"m%d\", \"%032X0\"]", (i > 1 ? ", " : ""), m[i], m[i]
    printf "], \"stacks\": [["
    for (f = 0; f < 300; f++) printf "%s[%d, %d]", (f ? ", " : ""), f % n, f * 7919 * 13 % 1000000
    printf ", [0, 4294967295], [0, 0], [-1, 5]]]}" }'
}
sym 1 2
sym 2 1
sym 3 2
echo 'FUNC what' >>"$TMP/up/m3/$(id_of 3)/m3.sym"
ask 1 2 >"$TMP/good.json"
ask 1 3 >"$TMP/bad.json"
made() { grep -c 'was made of' "$1"; }

# The command, from a part.
command_asks() { # REQUEST STORE
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-$2" --source "breakpad@$TMP/up" "$TMP/$1.json" \
    >"$TMP/$1-$2" 2>"$TMP/$2-run.log" ||
    fail "$1: $(cat "$TMP/$1-$2")"
}
command_asks good command
[ "$(made "$TMP/command-run.log")" = 0 ] || fail "the command made GSYM: $(cat "$TMP/command-run.log")"
n=$(grep -o '"function_offset"' "$TMP/good-command" | wc -l)
[ "$n" -gt 100 ] && grep -q '"inlines": \[{"function": "inlined_' "$TMP/good-command" &&
  grep -q '"module": "prog1"' "$TMP/good-command" ||
  fail "$n frames have a function: $(head -c 2000 "$TMP/good-command")"

# The server: first from a part, then from GSYM.
symfs_serve one --source "breakpad@$TMP/up"
server_asks() { # REQUEST TO [URL]
  fetch_url -H Expect: --data-binary "@$TMP/$1.json" "${3:-$URL_one}/symbolicate/v5" >"$TMP/$2" ||
    fail "$1 of the server"
  echo >>"$TMP/$2" # as the command
}
server_asks good good-part
cmp "$TMP/good-command" "$TMP/good-part" || fail "the server answers otherwise than the command"
both_made() { [ "$(made "$TMP/one.log")" = 2 ]; }
wait_for both_made || fail "the idle server made no GSYM"
server_asks good good-whole
cmp "$TMP/good-part" "$TMP/good-whole" || fail "GSYM of the whole file answers otherwise than a part"
server_asks good good-mapped
cmp "$TMP/good-part" "$TMP/good-mapped" || fail "the mapped file answers otherwise"
# A command finds what the server made.
command_asks good one
cmp "$TMP/good-part" "$TMP/good-one" || fail "the command with the store of the server"

# A bad line.
server_asks bad bad-part
grep -q "\"m1/$(id_of 1)\": true, \"m3/$(id_of 3)\": false" "$TMP/bad-part" ||
  fail "a bad line: $(tail -c 300 "$TMP/bad-part")"
grep -q 'm3.sym, which is broken: line .*FUNC what' "$TMP/one.log" ||
  fail "no word of the bad line: $(cat "$TMP/one.log")"
command_asks bad command
cmp "$TMP/bad-part" "$TMP/bad-command" || fail "a bad line, by the command"
symfs_unserve one

# A server that ends while it converts, or is about to.
symfs_serve two --source "breakpad@$TMP/up"
server_asks good good-two "$URL_two"
cmp "$TMP/good-part" "$TMP/good-two" || fail "the second server answers otherwise"
two=$PID_two
symfs_unserve two
for stat in /proc/[0-9]*/stat; do
  [ "$(awk '{ sub(/.*\) /, ""); print $2 }' "$stat" 2>/dev/null)" != "$two" ] || fail "a worker is left: $stat"
done
