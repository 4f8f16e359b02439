#!/bin/sh
# Stacks in a large PDB on a symbol server: only the bytes that the stack needs are downloaded, and the answer
# equals that of the whole PDB. Servers without ranges, with one range at a time, with errors; clients that go; a
# daemon that ends. A PDB of which much is present is downloaded and converted after the answer.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need curl
CLANG=$(first_of clang) && LINK=$(first_of lld-link) || skip "no clang, no lld-link"

# The linker puts a file of random bytes into the PDB.
head -c 12000000 /dev/urandom >"$TMP/junk"
awk 'BEGIN {
  print "struct Point { int x, y; };"
  for (i = 0; i < 400; i++) {
    printf "namespace n%d {\nstruct Record { int first, second[%d]; };\n", i, i + 1
    printf "static __attribute__((always_inline)) int inner(const Record *r, int v) {\n"
    printf "  volatile int w = v;\n  return w * r->first;\n}\n"
    printf "__attribute__((noinline)) int outer(const Record *r, const Point *p, int n) {\n"
    printf "  return inner(r, n) + p->x;\n}\n}\n"
  }
  print "extern \"C\" int start(void) {\n  int sum = 0;\n  Point p = {1, 2};"
  for (i = 0; i < 400; i++) printf "  { n%d::Record r = {1}; sum += n%d::outer(&r, &p, %d); }\n", i, i, i
  print "  return sum;\n}"
}' >"$TMP/large.cc"
(cd "$TMP" && "$CLANG" -target x86_64-windows-msvc -g -gcodeview -O1 -fno-builtin -c large.cc -o large.obj &&
  "$LINK" /nologo /dll /noentry /debug /pdb:large.pdb "/pdbstream:junk=$TMP/junk" /export:start /Brepro \
  /nodefaultlib \
    /force:unresolved /out:large.dll large.obj) >"$TMP/lld.out" 2>&1 ||
    fail "clang and lld-link: $(cat "$TMP/lld.out")"
ID=$("$SYMFS" id "$TMP/large.pdb" | awk '/breakpad id/ { print $3; exit }')
size=$(stat -c %s "$TMP/large.pdb")
file=large.pdb/$ID/large.pdb
mkdir -p "$TMP/symbols/large.pdb/$ID"
cp "$TMP/large.pdb" "$TMP/symbols/$file"

# Frames all over the code.
request() { # FIRST STEP [FRAMES]
  printf '{"memoryMap": [["large.pdb", "%s"]], "stacks": [[' "$ID"
  awk -v at="$1" -v step="$2" -v n="${3:-30}" \
    'BEGIN { for (i = 0; i < n; i++) printf "%s[0, %d]", i ? ", " : "", at + i * step }'
  printf ']]}'
}
request 4100 397 >"$TMP/request"
request 4333 611 >"$TMP/request2"
request 4100 31 600 >"$TMP/many"
# stored STORE REQUEST [OPTION...]: an answer from the files of a store alone.
stored() {
  stored_in=$1 stored_request=$2
  shift 2
  "$SYMFS" symbolicate --offline --no-default-sources --cache "$stored_in" "$@" "$stored_request" \
    2>"$TMP/stored.log" || fail "symbolicate $*"
}
converted() { "$SYMFS" cache ls --no-default-sources --cache "$1" | grep -q ' gsym '; }
for n in whole part; do
  "$SYMFS" add --cache "$TMP/store-$n" --no-default-sources "$TMP/large.pdb" >/dev/null || fail "add"
done
# A request with many frames converts the PDB, and later ones are answered from the GSYM.
stored "$TMP/store-whole" "$TMP/many" >/dev/null
converted "$TMP/store-whole" || fail "600 frames: the PDB was not converted"
for n in '' 2; do
  stored "$TMP/store-whole" "$TMP/request$n" >"$TMP/want$n"
  [ "$(grep -o '"function": "n[0-9]*::outer(n[0-9]*::Record const \*, Point const \*, int)"' "$TMP/want$n" |
    sort -u | wc -l)" -ge 10 ] ||
    fail "few functions: $(cat "$TMP/want$n")"
  grep -q '"inlines": \[{"function": "n[0-9]*::inner(n[0-9]*::Record const \*, int)"' "$TMP/want$n" ||
    fail "no inlined calls: $(cat "$TMP/want$n")"
done

# ---- a stored PDB ----------------------------------------------------------------------------------------
# A request with few frames gets the same answers without a conversion, in each form.
for n in '' 2; do
  for form in '--api v5' '--api v4' --text; do
    # shellcheck disable=SC2086 # an option and its value
    stored "$TMP/store-part" "$TMP/request$n" $form >"$TMP/answer"
    converted "$TMP/store-part" && fail "$form: the stored PDB was converted"
    # shellcheck disable=SC2086
    stored "$TMP/store-whole" "$TMP/request$n" $form >"$TMP/from-gsym"
    cmp -s "$TMP/answer" "$TMP/from-gsym" || fail "$form: another answer than from GSYM: $(cat "$TMP/answer")"
  done
done
grep -q 'n[0-9]*::outer(n[0-9]*::Record const \*, Point const \*, int) + 0x' "$TMP/answer" ||
  fail "--text: $(cat "$TMP/answer")"

post() { fetch_url -d @"$TMP/request$2" -o "$TMP/answer" "$1/symbolicate/v5" || fail "v5"; }
# answers URL [2]: as from the whole PDB
answers() {
  post "$@"
  echo >>"$TMP/answer" # as `symfs symbolicate` ends
  cmp -s "$TMP/answer" "$TMP/want${2:-}" || fail "another answer than from the whole PDB: $(cat "$TMP/answer")"
}
fetched() { upstream_count "$1" bytes '*/large.pdb'; }
few() { [ "$(fetched "$1")" -lt $((size / 4)) ] || fail "$2: $(fetched "$1") of $size bytes"; }

# The same for a PDB in a directory.
"$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-dir" --source "symstore@$TMP/symbols" "$TMP/request" \
  >"$TMP/answer" 2>"$TMP/dir.log" ||
  fail "a directory"
converted "$TMP/store-dir" && fail "the PDB in a directory was converted"
cmp -s "$TMP/answer" "$TMP/want" || fail "a directory: another answer than from GSYM: $(cat "$TMP/answer")"
# A PDB that is asked for again and again is converted behind an answer.
symfs_serve zero --offline --cache "$TMP/store-part"
for _ in 1 2; do
  # shellcheck disable=SC2154 # set by symfs_serve
  answers "$URL_zero"
done
grep -q 'was made of' "$TMP/zero.log" && fail "two requests: the stored PDB was converted"
answers "$URL_zero"
wait_for grep -q 'pdb.gsym was made of' "$TMP/zero.log" || fail "three requests: the stored PDB was not converted"
answers "$URL_zero" 2
symfs_unserve zero

# ---- only what is needed -------------------------------------------------------------------------------
upstream_start store --root "$TMP/symbols"
# shellcheck disable=SC2154 # set by upstream_start
symfs_serve one --byte-ranges always --source "symstore@$URL_store"
answers "$URL_one"
few "$URL_store" "a stack"
say "30 frames of a PDB of $size bytes:" \
  "$(fetched "$URL_store") bytes in $(upstream_count "$URL_store" get '*/large.pdb') requests"
grep -q 'was made of' "$TMP/one.log" && fail "the PDB was converted"
# What was read stays.
upstream_reset "$URL_store"
answers "$URL_one"
[ "$(fetched "$URL_store")" = 0 ] || fail "the same stack again: $(fetched "$URL_store") bytes"
answers "$URL_one" 2
few "$URL_store" "another stack"
# When much is present, the PDB is converted behind the answer. Two daemons fetch a fifth each, since one that fetched
# both would download the whole PDB, which then counts as a stored one. The read-ahead of each meets the end of the
# file, or bytes that are present.
for tenth in 8 6; do
  fetch_url -o /dev/null -H "Range: bytes=$((size * tenth / 10))-$((size * (tenth + 2) / 10 - 1))" \
    "$URL_one/symstore/$file" || fail "a range"
  symfs_unserve one
  symfs_serve one --byte-ranges always --source "symstore@$URL_store"
done
[ "$(fetched "$URL_store")" -lt $((size / 2)) ] || fail "two ranges: $(fetched "$URL_store") of $size bytes"
answers "$URL_one"
wait_for grep -q 'pdb.gsym was made of' "$TMP/one.log" || fail "the PDB was not converted"
answers "$URL_one" 2
upstream_reset "$URL_store"
answers "$URL_one"
[ "$(upstream_count "$URL_store" requests)" = 0 ] || fail "asked again after the conversion"
symfs_unserve one
"$SYMFS" symbolicate --text --no-default-sources --cache "$TMP/store-text" --source "symstore@$URL_store" \
  "$TMP/request" >"$TMP/text" || fail "--text"
grep -q 'n[0-9]*::outer(n[0-9]*::Record const \*, Point const \*, int) + 0x' "$TMP/text" ||
  fail "--text: $(cat "$TMP/text")"

# ---- servers that know less ----------------------------------------------------------------------------
upstream_start whole --root "$TMP/symbols" --no-range
# shellcheck disable=SC2154
symfs_serve two --source "symstore@$URL_whole"
# The whole file is downloaded, and then read as a stored one.
answers "$URL_two"
grep -q 'was made of' "$TMP/two.log" && fail "the whole PDB was converted for one request"
answers "$URL_two" 2
answers "$URL_two"
wait_for grep -q 'pdb.gsym was made of' "$TMP/two.log" || fail "three requests: the whole PDB was not converted"
symfs_unserve two
upstream_start single --root "$TMP/symbols" --one-range
# shellcheck disable=SC2154
symfs_serve three --byte-ranges always --source "symstore@$URL_single"
answers "$URL_three"
grep -q 'was made of' "$TMP/three.log" && fail "one range at a time: the PDB was converted"
symfs_unserve three

# ---- errors --------------------------------------------------------------------------------------------
# Some ranges fail; then all do, and the whole file is downloaded.
for times in 2 1000; do
  upstream_start "sick$times" --root "$TMP/symbols"
  eval "url=\$URL_sick$times"
  symfs_serve "ill$times" --byte-ranges always --source "symstore@$url" --cache "$TMP/store-ill$times"
  eval "serve=\$URL_ill$times"
  # The first range identifies the file.
  fetch_url -o /dev/null -H 'Range: bytes=0-100' "$serve/symstore/$file" || fail "a range"
  upstream_fault "$url" '*/large.pdb' status 500 "$times" ranges
  answers "$serve"
  symfs_unserve "ill$times"
done

# ---- a client that goes, and a daemon that ends ----------------------------------------------------------
upstream_start slow --root "$TMP/symbols"
# shellcheck disable=SC2154
symfs_serve four --byte-ranges always --source "symstore@$URL_slow" --stall-timeout 100s
fetch_url -o /dev/null -H 'Range: bytes=0-100' "$URL_four/symstore/$file" || fail "a range"
upstream_fault "$URL_slow" '*/large.pdb' silent 0 0 ranges
inflight() { [ "$(upstream_count "$URL_slow" inflight '*/large.pdb')" -ge 1 ]; }
waited() { [ "$(fetch_url "$URL_four/metrics" | sed -n 's/^symfs_http_waiting //p')" = "$1" ]; }
curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -d @"$TMP/request" -o "$TMP/late" "$URL_four/symbolicate/v5" \
  2>"$TMP/curl.log" &
asker=$!
PIDS="$PIDS $asker"
wait_for inflight || fail "no range is asked for"
kill "$asker"
wait_for waited 0 || fail "a client that went is waited for"
curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -d @"$TMP/request" -o "$TMP/late" "$URL_four/symbolicate/v5" \
  2>"$TMP/curl.log" &
asker=$!
PIDS="$PIDS $asker"
wait_for waited 1 || fail "the second client does not wait"
symfs_unserve four
wait "$asker"
