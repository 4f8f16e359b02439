#!/bin/sh
# Stacks of Windows programs from a symbol server alone: requests that know a name and a debug id, PDBs in
# Microsoft's layout, plain and as cabinets. A Breakpad file with functions is enough; with public symbols only,
# the PDB is asked, too.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need curl
CLANG=$(first_of clang) && LINK=$(first_of lld-link) || skip "no clang, no lld-link"
CAB=$top_builddir/tests/helpers/pack-cab

# The first function lies at the beginning of the first section.
START=4096
module() { # NAME: NAME.dll and NAME.pdb
  cat >"$TMP/$1.cc" <<EOF
namespace $1 {
struct Point { int x, y; };
static __attribute__((always_inline)) int twice(int v) {
  volatile int w = v;
  return w * 2;
}
__attribute__((noinline)) int work(const Point *p, int n) {
  return twice(p->x) + n;
}
}
extern "C" int start(void) { $1::Point p = {1, 2}; return $1::work(&p, 3); }
EOF
  (cd "$TMP" && "$CLANG" -target x86_64-windows-msvc -g -gcodeview -O1 -c "$1.cc" -o "$1.obj" &&
    "$LINK" /nologo /dll /noentry /debug "/pdb:$1.pdb" /export:start /Brepro /nodefaultlib "/out:$1.dll" "$1.obj") \
    >"$TMP/lld.out" 2>&1 ||
    fail "clang and lld-link: $(cat "$TMP/lld.out")"
}
id_of() { "$SYMFS" id "$TMP/$1.pdb" | awk '/breakpad id/ { print $3; exit }'; }
where() { printf '%s/%s.pdb/%s' "$TMP/symbols" "$1" "$(id_of "$1")"; }

for name in plain packed lzx; do
  module $name
  mkdir -p "$(where $name)"
done
cp "$TMP/plain.pdb" "$(where plain)/plain.pdb"
names=plain
if [ -x "$CAB" ]; then
  "$CAB" mszip "$TMP/packed.pdb" "$(where packed)/packed.pd_" && "$CAB" lzx "$TMP/lzx.pdb" "$(where lzx)/lzx.pd_" ||
    fail "pack-cab"
  names='plain packed lzx'
else
  say "no pack-cab: no cabinets"
fi

# ask URL NAME... : the answers to one stack with a frame in each module, in $TMP/answer
ask() {
  a_url=$1
  shift
  a_map='' a_stack='' a_n=0
  for name; do
    a_map="$a_map${a_map:+, }[\"$name.pdb\", \"$(id_of "$name")\"]"
    a_stack="$a_stack${a_stack:+, }[$a_n, $((START + 4))]"
    a_n=$((a_n + 1))
  done
  printf '{"memoryMap": [%s], "stacks": [[%s]]}' "$a_map" "$a_stack" >"$TMP/request"
  fetch_url -d @"$TMP/request" -o "$TMP/answer" "$a_url/symbolicate/v5" || fail "v5"
}
# from_pdb NAME: the answer has what only the PDB knows.
from_pdb() {
  work="\"function\": \"$1::work($1::Point const \*, int)\", \"function_offset\": \"0x4\""
  grep -q "\"module\": \"$1.pdb\", \"module_offset\": \"0x1004\", $work, \"file\": \"[^\"]*$1.cc\", \"line\": 8" \
    "$TMP/answer" ||
    fail "$1: $(cat "$TMP/answer")"
  grep -q "\"inlines\": \[{\"function\": \"$1::twice(int)\", \"file\": \"[^\"]*$1.cc\", \"line\": [45]}\]" \
    "$TMP/answer" ||
    fail "$1, inlined calls: $(cat "$TMP/answer")"
}

# ---- PDBs from a symbol server, by debug id alone ----------------------------------------------------
upstream_start store --root "$TMP/symbols"
# shellcheck disable=SC2154 # set by upstream_start
symfs_serve one --source "symstore@$URL_store"
# shellcheck disable=SC2086 # words
ask "$URL_one" $names
for name in $names; do from_pdb "$name"; done
n=0
for name in $names; do
  [ "$(upstream_count "$URL_store" get "*/$name.pd?")" -ge 1 ] || fail "$name was not fetched"
  n=$((n + 1))
done
say "$n modules from a symbol server"
# The second time everything is here.
upstream_reset "$URL_store"
# shellcheck disable=SC2086 # words
ask "$URL_one" $names
for name in $names; do from_pdb "$name"; done
[ "$(upstream_count "$URL_store" requests)" = 0 ] || fail "asked again: $(upstream_count "$URL_store" requests)"
# In v4, and as text.
fetch_url -d "{\"version\": 4, \"memoryMap\": [[\"plain.pdb\", \"$(id_of plain)\"]], \"stacks\": [[[0, $START]]]}" \
  -o "$TMP/answer" "$URL_one/symbolicate/v4" || fail "v4"
grep -q '"plain::work(plain::Point const \*, int) (in plain.pdb)"' "$TMP/answer" || fail "v4: $(cat "$TMP/answer")"
"$SYMFS" symbolicate --text --no-default-sources --cache "$TMP/store-text" --source "symstore@$URL_store" \
  "$TMP/request" >"$TMP/text" ||
  fail "symbolicate --text"
grep -q '^  0  plain.pdb  plain::work(plain::Point const \*, int) + 0x4 at .*plain.cc:8' "$TMP/text" ||
  fail "--text: $(cat "$TMP/text")"
# GSYM of the PDB over HTTP has what `symfs gsym create` makes of it.
"$SYMFS" gsym create -o "$TMP/want.gsym" "$TMP/plain.pdb" || fail "gsym create"
fetch_url -o "$TMP/got.gsym" "$URL_one/gsym/symstore/plain.pdb/$(id_of plain)/plain.pdb.gsym" || fail "gsym/"
cmp "$TMP/got.gsym" "$TMP/want.gsym" || fail "the GSYM of the PDB: $(head -c 300 "$TMP/got.gsym")"
symfs_unserve one

# ---- a Breakpad file comes first -----------------------------------------------------------------------
sym() { # NAME RECORDS
  mkdir -p "$TMP/breakpad/$1.pdb/$(id_of "$1")"
  printf 'MODULE windows x86_64 %s %s.pdb\n%b' "$(id_of "$1")" "$1" "$2" >"$TMP/breakpad/$1.pdb/$(id_of "$1")/$1.sym"
}
sym plain 'PUBLIC 1000 0 only_public\n'
upstream_start sym --root "$TMP/breakpad"
# shellcheck disable=SC2154 # set by upstream_start
symfs_serve two --source "breakpad@$URL_sym" --source "symstore@$URL_store"
ask "$URL_two" plain
from_pdb plain
symfs_unserve two
sym plain 'FILE 0 a.c\nFUNC 1000 40 0 from_sym\n1000 40 7 0\n'
upstream_reset "$URL_store"
symfs_serve three --source "breakpad@$URL_sym" --source "symstore@$URL_store"
ask "$URL_three" plain
grep -q '"function": "from_sym", "function_offset": "0x4", "file": "a.c", "line": 7' "$TMP/answer" ||
  fail "a FUNC: $(cat "$TMP/answer")"
[ "$(upstream_count "$URL_store" requests)" = 0 ] || fail "the PDB was asked for although a .sym has functions"
symfs_unserve three
# Without the PDB, public symbols are the answer, and it is not asked for again.
sym plain 'PUBLIC 1000 0 only_public\n'
rm "$(where plain)/plain.pdb"
symfs_serve four --source "breakpad@$URL_sym" --source "symstore@$URL_store"
ask "$URL_four" plain
grep -q '"function": "only_public"' "$TMP/answer" || fail "public symbols: $(cat "$TMP/answer")"
upstream_reset "$URL_store"
upstream_reset "$URL_sym"
ask "$URL_four" plain
grep -q '"function": "only_public"' "$TMP/answer" || fail "public symbols, again: $(cat "$TMP/answer")"
[ "$(upstream_count "$URL_store" requests)$(upstream_count "$URL_sym" requests)" = 00 ] ||
  fail "a miss was asked for again"
symfs_unserve four
