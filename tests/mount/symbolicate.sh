#!/bin/sh
# symfs symbolicate: requests of Mozilla's symbolication service and its answers, for our own cases and files, and,
# where present, for the shared cases. The .sym files are on an nginx.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need nginx curl iconv
CASES=$top_builddir/tests/helpers/symbolicate-cases
[ -x "$CASES" ] || skip "built without json-c"
SHARED=$top_srcdir/../shared

OWN=$top_srcdir/tests/data/symbolicate
cp -r "$OWN/sym" "$TMP/up" && chmod -R u+w "$TMP/up" || fail cp

nginx_start sym "$TMP/up"
symbolicate() { "$SYMFS" symbolicate --no-default-sources --source "breakpad@$URL_sym" --cache "$TMP/store" "$@"; }

run_cases() # FILE SOURCE
{
  "$CASES" "$1" "$SYMFS" symbolicate --no-default-sources --source "$2" --cache "$TMP/store-$3" \
    >"$TMP/cases.out" 2>"$TMP/cases-$3.log" || { cat "$TMP/cases.out"; fail "cases of $1"; }
  grep -c '^ok' "$TMP/cases.out"
}
for cases in own requests; do
  own=$(run_cases "$OWN/$cases.json" "breakpad@$URL_sym" $cases) || fail "$own"
  say "$own of our own cases, $cases"
done

# ---- the command -------------------------------------------------------------------------
request='{"memoryMap": [["mix.so", "11111111111111111111111111111111A"],
  ["bad.so", "333333333333333333333333333333330"]], "stacks": [[[0, 4116], [1, 16], [-1, 5]]]}'
printf %s "$request" >"$TMP/request"
symbolicate "$TMP/request" >"$TMP/json" || fail "a request in a file"
printf %s "$request" | symbolicate - >"$TMP/json2" || fail "a request on stdin"
cmp "$TMP/json" "$TMP/json2" || fail "stdin and file differ"
symbolicate --text "$TMP/request" >"$TMP/text" || fail "--text"
grep -q '^  0  mix.so  deep (inlined)' "$TMP/text" || fail "--text has no inlined call: $(cat "$TMP/text")"
grep -q '^  0  mix.so  outer(int) + 0x14 at /build/lib/mix.c:12' "$TMP/text" || fail "--text: $(cat "$TMP/text")"
symbolicate --debug "$TMP/request" >"$TMP/debug" || fail "--debug"
grep -q '"cache_lookups": {"count": 2, "hits": 1,' "$TMP/debug" || fail "--debug: $(cat "$TMP/debug")"
symbolicate --module-errors --function-size "$TMP/request" >"$TMP/extras" || fail "--module-errors"
grep -q '"module_errors": {"bad.so/3*0": \[{"name": "NotFound", "message": "breakpad: ' "$TMP/extras" ||
  fail "--module-errors: $(cat "$TMP/extras")"
grep -q '"function_size": "0x' "$TMP/extras" || fail "--function-size: $(cat "$TMP/extras")"
cxx='{"memoryMap": [["cxx.so", "444444444444444444444444444444440"]], "stacks": [[[0, 20], [0, 64]]]}'
printf %s "$cxx" | symbolicate >"$TMP/raw" || fail "names of C++"
grep -q '"function": "_ZN2ns1C4workEPKci"' "$TMP/raw" ||
  fail "a name that no option asks to change: $(cat "$TMP/raw")"
printf %s "$cxx" | symbolicate --demangle >"$TMP/plain" || fail "--demangle"
for name in 'ns::C::work(char const\*, int)' 'core::fmt::Formatter::write_str' plain_name; do
  grep -q "\"function\": \"$name\"" "$TMP/plain" || fail "--demangle: no $name in $(cat "$TMP/plain")"
done
printf %s "$cxx" | symbolicate --text | grep -q 'ns::C::work(char const\*, int) +' || fail "--text demangles"
printf %s "$cxx" | symbolicate --text --mangled | grep -q ' _ZN2ns1C4workEPKci +' || fail "--text --mangled"
printf %s "$cxx" | gzip | symbolicate | cmp - "$TMP/raw" || fail "a request that is packed"
printf %s "$cxx" | symbolicate --demangle --api v4 | grep -q '"ns::C::work(char const\*, int) (in cxx.so)"' ||
  fail "--demangle --api v4"
symbolicate --lenient "$TMP/request" | grep -q '"function": "good"' || fail "--lenient"
echo nonsense | symbolicate --api v5 >"$TMP/out"
[ $? = 1 ] || fail "a bad request does not end with 1"
grep -q '^{"title": "Payload is not valid JSON"}$' "$TMP/out" || fail "a bad request: $(cat "$TMP/out")"
for way in '{"jobs": [' '{nonsense'; do
  echo "$way" | symbolicate >"$TMP/out" && fail "a broken request ends with 0"
  grep -q '^{"title": "Payload is not valid JSON"}$' "$TMP/out" || fail "a broken request: $(cat "$TMP/out")"
done
echo '{nonsense' | symbolicate --text >"$TMP/out" 2>"$TMP/err" && fail "a bad request with --text ends with 0"
grep -q 'Payload is not valid JSON' "$TMP/err" || fail "a bad request with --text: $(cat "$TMP/err")"
symbolicate --api v6 "$TMP/request" >/dev/null 2>&1
[ $? = 2 ] || fail "--api v6 does not end with 2"
symbolicate "$TMP/nowhere" >/dev/null 2>&1
[ $? = 4 ] || fail "a file that is not there does not end with 4"

# As Python reads and counts: any encoding of Unicode, halves of surrogate pairs, offsets of any size in a module
# that is not found, and `jobs` that are not a list.
for code in UTF-16 UTF-16LE UTF-16BE UTF-32 UTF-32LE UTF-32BE; do
  iconv -f UTF-8 -t $code "$TMP/request" >"$TMP/coded" || fail "iconv -t $code"
  symbolicate "$TMP/coded" >"$TMP/json2" || fail "$code: $(cat "$TMP/json2")"
  cmp -s "$TMP/json" "$TMP/json2" || fail "$code: $(cat "$TMP/json2")"
done
printf '{"x": "\\ud83d \355\240\275", %s' "${request#?}" | symbolicate >"$TMP/json2" ||
  fail "halves of pairs: $(cat "$TMP/json2")"
cmp -s "$TMP/json" "$TMP/json2" || fail "halves of pairs: $(cat "$TMP/json2")"
big='{"memoryMap": [["nowhere.so", "ABCDEF0123456789ABCDEF0123456789A"]],
  "stacks": [[[0, 18446744073709551616], [-1, 340282366920938463463374607431768211455]]]}'
printf %s "$big" | symbolicate >"$TMP/json2" || fail "an offset of 65 bits: $(cat "$TMP/json2")"
grep -q '"module": "nowhere.so", "module_offset": "0x10000000000000000"}, {"frame": 1, "module": "<unknown>", '\
'"module_offset": "0xf\{32\}"}' "$TMP/json2" ||
  fail "an offset of 65 bits: $(cat "$TMP/json2")"
printf %s "$big" | symbolicate --api v4 | grep -q '"0x10000000000000000 (in nowhere.so)", "0xf*f (in <unknown>)"' ||
  fail "an offset of 65 bits in v4"
counts() { # JOBS WORDS: the title of the refusal
  echo "{\"jobs\": $1}" | symbolicate >"$TMP/json2"
  grep -q "^{\"title\": \"$2\"}\$" "$TMP/json2" || fail "jobs $1: $(cat "$TMP/json2")"
}
counts '"aaaaaaaaaa"' 'job 0 is invalid'
counts '"aaaaaaaaaaa"' 'please limit number of jobs in a single request to <= 10'
counts '"\ud83d\ude00\u00e9\u00e9\u00e9\u00e9\u00e9"' 'job 0 is invalid'
counts '"éééééééééé"' 'job 0 is invalid'
counts '{"a": 1, "a": 2, "a": 3, "a": 4, "a": 5, "a": 6, "a": 7, "a": 8, "a": 9, "a": 10, "a": 11}' 'job 0 is invalid'
counts '{"0": 1, "1": 2, "2": 3, "3": 4, "4": 5, "5": 6, "6": 7, "7": 8, "8": 9, "9": 10, "a": 11}' \
  'please limit number of jobs in a single request to <= 10'

# No server answers: the answer says that nothing was found, and soon.
"$SYMFS" symbolicate --offline --cache "$TMP/empty" "$TMP/request" >"$TMP/json" || fail "--offline"
grep -q '"found_modules": {"mix.so/1*A": false, "bad.so/3*0": false}' "$TMP/json" ||
  fail "--offline: $(cat "$TMP/json")"

zeros='{"stacks": [[[0, 20], [1, 20], [2, 20]]], "memoryMap": [["one.so", "Z"], ["two.so", "Z"], ["three.so", "Z"]]}'
for _ in cold warm; do
  echo "$zeros" | sed 's/Z/000000000000000000000000000000000/g' | symbolicate --api v4 >"$TMP/json" ||
    fail "ids of zeros"
  grep -q '\[\["of_one (in one.so)", "of_two (in two.so)", "0x14 (in three.so)"\]\]' "$TMP/json" ||
    fail "ids of zeros: $(cat "$TMP/json")"
done

# A server may have it and cannot be asked: "false" as Mozilla's service has it, and the errors tell.
mkdir -p "$TMP/empty-root"
upstream_start ill --root "$TMP/empty-root"
upstream_fault "$URL_ill" '/mix.so/*' status 503
ill() { "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-ill" --source "breakpad@$URL_ill" "$@" \
  "$TMP/request"; }
ill --module-errors >"$TMP/json" || fail "an outage"
grep -q '"found_modules": {"mix.so/1*A": false, "bad.so/3*0": false}' "$TMP/json" ||
  fail "an outage: $(cat "$TMP/json")"
grep -q '"mix.so/1*A": \[{"name": "Unknown", "message": "breakpad: ' "$TMP/json" ||
  fail "an outage: $(cat "$TMP/json")"
upstream_clear "$URL_ill"
ill --module-errors >"$TMP/json" || fail "after an outage"
grep -q '"mix.so/1*A": \[{"name": "NotFound"' "$TMP/json" || fail "after an outage: $(cat "$TMP/json")"

# ---- what a PE file tells itself ----------------------------------------------------------
if CLANG=$(first_of clang) && LINK=$(first_of lld-link); then
  printf '%s\n' '__declspec(dllexport) int one(int x) { volatile int a[30]; a[x] = x; return a[1]; }' \
    'int start(void) { volatile int b[20]; b[2] = one(1); return b[2] + one(2); }' >"$TMP/w.c"
  (cd "$TMP" && "$CLANG" -target x86_64-windows-msvc -g -gcodeview -O0 -c w.c -o w.obj &&
    "$LINK" /nologo /dll /debug "/pdb:w.pdb" /Brepro /nodefaultlib /entry:start "/out:w.dll" w.obj) >"$TMP/lld.out" \
    2>&1 ||
    fail "clang and lld-link: $(cat "$TMP/lld.out")"
  "$SYMFS" add --cache "$TMP/store-pe" --no-default-sources "$TMP/w.dll" >/dev/null || fail "add w.dll"
  printf '{"stacks": [[[0, 4096], [0, 4097]]],
    "memoryMap": [{"type": "pe", "code_file": "w.dll", "code_id": "%s", "debug_file": "w.pdb", "debug_id": "%s"}]}' \
    "$("$SYMFS" id "$TMP/w.dll" | awk '/code id/ { print $3 }')" \
    "$("$SYMFS" id "$TMP/w.dll" | awk '/breakpad id/ { print $3 }')" >"$TMP/pe"
  "$SYMFS" symbolicate --text --offline --cache "$TMP/store-pe" --no-default-sources "$TMP/pe" >"$TMP/text" ||
    fail "a PE file"
  grep -q '^  1  w.pdb  one + 0x1$' "$TMP/text" || fail "a PE file: $(cat "$TMP/text")"
  # By name and code id alone: the program states which PDB it has. A store that has both, cold and warm.
  for f in dll pdb; do
    p=$("$SYMFS" paths --layout symstore "$TMP/w.$f" | cut -f 3 | head -n 1)
    mkdir -p "$TMP/pair/${p%/*}" && cp "$TMP/w.$f" "$TMP/pair/$p" || fail "$f"
  done
  sed 's/, "debug_file".*"}]/}]/; s/"type": "pe", //' "$TMP/pe" >"$TMP/code"
  for _ in cold warm; do
    "$SYMFS" symbolicate --text --cache "$TMP/store-code" --no-default-sources --source "symstore@$TMP/pair" \
      "$TMP/code" >"$TMP/text" || fail "by code id"
    grep -q '^  0  w.dll  one(int) + 0x0 at .*w\.c:1$' "$TMP/text" ||
      fail "by code id: $(cat "$TMP/code" "$TMP/text")"
  done
else
  say "no clang, no lld-link: no PE"
fi

# ---- a server that says nothing, and a client that waits no longer --------------------------
upstream_start slow --root "$TMP/up"
upstream_fault "$URL_slow" '*' silent
"$SYMFS" symbolicate --no-default-sources --source "breakpad@$URL_slow" --cache "$TMP/store-slow" "$TMP/request" \
  >"$TMP/out" 2>"$TMP/slow-run.log" &
pid=$!
PIDS="$PIDS $pid"
asked() { [ "$(upstream_count "$URL_slow" get)" -ge 1 ]; }
wait_for asked || fail "no server was asked"
kill -INT $pid
wait $pid
rc=$?
[ $rc = 130 ] || fail "interrupted: exit status $rc"

# ---- the shared cases --------------------------------------------------------------------
[ -f "$SHARED/vectors/symbolicate_cases.json" ] && [ -d "$SHARED/fixtures/sym" ] || {
  part_skipped "no ../shared/vectors/symbolicate_cases.json: cases of other projects, and PDBs of .NET compilers"
  exit 0
}
# Portable PDBs: of their own, and inside of a program. unit/test-gsym-ppdb has every method and offset.
PDBS=$SHARED/fixtures/ppdb EMBEDDED=Sentry.Samples.Console.Basic-embedded-ppdb.dll
"$SYMFS" add --cache "$TMP/store-net" --no-default-sources "$PDBS/portable.pdb" "$PDBS/$EMBEDDED" >/dev/null ||
  fail "add"
cat >"$TMP/net" <<EOF
{"memoryMap": [
  {"type": "pe_dotnet", "debug_file": "/x/foo.pdb", "debug_id": "1d6929b4-468b-4db8-9389-9a12bd257e1b-ab8cf31e"},
  {"type": "pe_dotnet", "debug_file": "Basic.pdb", "debug_id": "D8EB7DCA48834B10A1F7048EA1EA388Bcfb0fc89",
   "code_file": "C:\\\\x\\\\$EMBEDDED", "code_id": "F8DFAA10a000"}],
 "stacks": [[{"addr_mode": "rel:0", "instruction_addr": "0x11", "function_id": "0x06000001"},
  {"addr_mode": "rel:1", "instruction_addr": "0x0", "function_id": "0x5"},
  {"addr_mode": "rel:0", "instruction_addr": "0x0", "function_id": 4000}]]}
EOF
"$SYMFS" symbolicate --text --cache "$TMP/store-net" --no-default-sources "$TMP/net" >"$TMP/text" ||
  fail "Portable PDBs"
cat >"$TMP/want" <<'EOF'
  0  foo.pdb  method 0x1 + 0x11 at /Users/swatinem/Coding/sentry-dotnet/samples/foo/Program.cs:15 [C#]
  1  Basic.pdb  Program.<Main>$ + 0x0 at C:\dev\sentry-dotnet\samples\Sentry.Samples.Console.Basic\Program.cs:3 [C#]
  2  foo.pdb  method 0xfa0 + 0x0
EOF
cmp "$TMP/text" "$TMP/want" || fail "Portable PDBs: $(cat "$TMP/text")"
nginx_start shared "$SHARED/fixtures/sym"
shared=$(run_cases "$SHARED/vectors/symbolicate_cases.json" "breakpad@$URL_shared" shared) || fail "$shared"
say "$shared of the shared cases"
[ "$shared" -ge 60 ] || fail "only $shared shared cases"
exit 0
