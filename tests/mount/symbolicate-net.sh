#!/bin/sh
# Names of .NET methods: every method of the programs in ../shared and of this machine has the name that monodis
# prints, with its type; lines come from the PDB and names from the program, whichever of them can be had.
# unit/test-gsym-ppdb has lines, and fuzz/fuzz-method-names broken metadata.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need python3
PDBS=$top_srcdir/../shared/fixtures/ppdb
[ -d "$PDBS" ] || skip "no ../shared/fixtures/ppdb: programs of .NET and their PDBs"
symbolicate() { "$SYMFS" symbolicate --no-default-sources --cache "$@"; }

# ---- the names of all methods ----------------------------------------------------------------
cat >"$TMP/names.py" <<'PY'
# names.py request|compare ID.json: asks for all methods of a program, or compares the answer with monodis.
import json, re, subprocess, sys
file = json.load(open(sys.argv[2]))[0]
def monodis(what):
    out = subprocess.run(['monodis', what, file['path']], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True)
    return out.stdout.split('\n')
def before(text, open_, close): # without what stands in brackets at its end
    deep = 0
    for at in range(len(text) - 1, -1, -1):
        deep += (text[at] == close) - (text[at] == open_)
        if not deep:
            return text[:at].rstrip()
def name_of(line): # "class T`1<!!0> Unwrap<TResult> (int32 a)  (param: 1 ...", "void '<Main>$' ()  (param: ..."
    text = before(line[:line.rindex('  (param: ')], '(', ')')
    if text.endswith('>'):
        text = before(text, '<', '>')
    return text[text.rindex("'", 0, -1) + 1:-1] if text.endswith("'") else text.split(' ')[-1]
types = []
for line in monodis('--typedef'):
    m = re.match(r'\d+: (.*) \(flist=\d+, mlist=(\d+), ', line)
    if m:
        types.append((m.group(1), int(m.group(2))))
methods = {}
for line in monodis('--method'):
    m = re.match(r'(\d+): (.*)$', line)
    if m:
        methods[int(m.group(1))] = None if m.group(2).startswith('failed') else name_of(m.group(2))
if sys.argv[1] == 'request':
    module = {k: file[k] for k in ('type', 'debug_id', 'code_id')}
    module['code_file'] = file['path'].split('/')[-1]
    module['debug_file'] = file['name'] or module['code_file']
    frames = [{'addr_mode': 'rel:0', 'instruction_addr': '0x0', 'function_id': i} for i in sorted(methods)]
    json.dump({'memoryMap': [module], 'stacks': [frames]}, sys.stdout)
    sys.exit(0 if methods else 1)
same = without = 0
for frame in json.load(sys.stdin)['results'][0]['stacks'][0]:
    row = int(frame['function_id'], 16)
    kind = [t[0] for t in types if t[1] <= row][-1].replace('(null)', '<Module>').replace('/', '.')
    name = frame.get('function', '')
    if methods[row] is None: # monodis misses another program, without which it prints no method
        without += 1
        if not re.match(re.escape(kind) + r'\.[^ ]+$', name):
            sys.exit('%s: method %d: %s' % (file['path'], row, name))
    elif name != kind + '.' + methods[row]:
        sys.exit('%s: method %d: %s, not %s.%s' % (file['path'], row, name, kind, methods[row]))
    else:
        same += 1
print(same, without)
PY
all=0 programs=0 others=0
if command -v monodis >/dev/null; then
  for program in "$PDBS"/*.dll $(find /usr/lib/mono -name '*.dll' -size -200k 2>/dev/null | sort | head -n 6); do
    "$SYMFS" id --json "$program" >"$TMP/id" || fail "id $program"
    "$SYMFS" add --cache "$TMP/all" --no-default-sources "$program" >"$TMP/out" || fail "add $program"
    python3 "$TMP/names.py" request "$TMP/id" >"$TMP/request" || continue
    symbolicate "$TMP/all" "$TMP/request" >"$TMP/answer" || fail "$program: symbolicate"
    python3 "$TMP/names.py" compare "$TMP/id" <"$TMP/answer" >"$TMP/sums" 2>"$TMP/err" || fail "$(cat "$TMP/err")"
    read -r n m <"$TMP/sums"
    all=$((all + n)) others=$((others + m)) programs=$((programs + 1))
  done
  [ $programs -ge 4 ] || fail "only $programs programs"
fi
say "$all methods of $programs programs: the names of monodis; of $others more it cannot print the name"

# ---- PDB and program -------------------------------------------------------------------------
cat >"$TMP/net" <<'EOF'
{"memoryMap": [
  {"type": "pe_dotnet", "debug_file": "foo.pdb", "debug_id": "1d6929b4-468b-4db8-9389-9a12bd257e1b-ab8cf31e",
   "code_file": "integration.dll", "code_id": "aadada8f8000"}],
 "stacks": [[{"addr_mode": "rel:0", "instruction_addr": "0x11", "function_id": "0x06000001"},
  {"addr_mode": "rel:0", "instruction_addr": "0x0", "function_id": "0x7"}]]}
EOF
both() { # STORE FILE...: what is printed when the store has these files
  store=$TMP/$1
  shift
  "$SYMFS" add --cache "$store" --no-default-sources "$@" >"$TMP/out" || fail "add $*"
  symbolicate "$store" --text "$TMP/net" || fail "symbolicate with $*"
}
SOURCE=/Users/swatinem/Coding/sentry-dotnet/samples/foo/Program.cs
both lines "$PDBS/portable.pdb" | grep -q "^  0  foo.pdb  method 0x1 + 0x11 at $SOURCE:15 \[C#\]\$" ||
  fail "only the PDB"
both names "$PDBS/integration.dll" >"$TMP/text"
grep -qx '  0  foo.pdb  StackTraceSample.Main + 0x11' "$TMP/text" || fail "only the program: $(cat "$TMP/text")"
both both "$PDBS/portable.pdb" "$PDBS/integration.dll" >"$TMP/text"
grep -qx "  0  foo.pdb  StackTraceSample.Main + 0x11 at $SOURCE:15 \[C#\]" "$TMP/text" ||
  fail "both: $(cat "$TMP/text")"
grep -q '^  1  foo.pdb  StackTraceSample.MyInternalClass.ThrowsException + 0x0 at ' \
  "$TMP/text" || fail "a nested type: $(cat "$TMP/text")"
# The language is that of the document in the PDB, also beside the file in JSON.
symbolicate "$TMP/lines" "$TMP/net" >"$TMP/text" || fail "symbolicate to JSON"
grep -q "\"file\": \"$SOURCE\", \"line\": 15, \"language\": \"C#\"" "$TMP/text" ||
  fail "no language: $(cat "$TMP/text")"
# An object needs no name of a file; a pair without a name is not looked for, as in Mozilla's service.
sed 's/"debug_file": "foo.pdb", //; s/ab8cf31e",/ab8cf31e"/; s/"code_file": .*}\]/}]/' "$TMP/net" >"$TMP/nameless"
symbolicate "$TMP/lines" --text "$TMP/nameless" >"$TMP/text" || fail "symbolicate without names"
grep -q "at $SOURCE:15" "$TMP/text" || fail "without names: $(cat "$TMP/text")"
echo '{"memoryMap": [["", "1D6929B4468B4DB893899A12BD257E1B0"]], "stacks": [[[0, 1]]]}' >"$TMP/nameless"
symbolicate "$TMP/lines" "$TMP/nameless" >"$TMP/text" || fail "a pair without a name"
grep -q '"/1D6929B4468B4DB893899A12BD257E1B0": null' "$TMP/text" || fail "a pair without a name: $(cat "$TMP/text")"
# With name and code id alone the program states which PDB it has; the type need not be known.
BASIC=ppdb-sourcelink-sample
mkdir -p "$TMP/alone"
for f in dll pdb; do
  p=$("$SYMFS" paths --layout symstore "$PDBS/$BASIC.$f" | cut -f 3 | head -n 1)
  mkdir -p "$TMP/alone/${p%/*}" && cp "$PDBS/$BASIC.$f" "$TMP/alone/$p" || fail "$f"
done
code=$("$SYMFS" id "$PDBS/$BASIC.dll" | awk '/code id/ { print $3 }')
for type in '"type": "pe_dotnet", ' ''; do
  printf '{"memoryMap": [{%s"code_file": "%s.dll", "code_id": "%s"}], "stacks": [[%s]]}' "$type" $BASIC "$code" \
    '{"addr_mode": "rel:0", "instruction_addr": "0x0", "function_id": "0x1"}' >"$TMP/alone.json"
  rm -rf "$TMP/alone-store"
  for _ in cold warm; do
    symbolicate "$TMP/alone-store" --source "symstore@$TMP/alone" --text "$TMP/alone.json" >"$TMP/text" ||
      fail "by code id"
    grep -q 'Sample.Class1.SayHello + 0x0 at .*Class1.cs:11' "$TMP/text" ||
      fail "by code id: $type: $(cat "$TMP/text")"
  done
done
"$SYMFS" best --for debug --no-default-sources --cache "$TMP/best" --source "symstore@$TMP/alone" \
  "symstore/$BASIC.dll/$code/$BASIC.dll" >"$TMP/text" || fail "best: $(cat "$TMP/text")"
grep -q 'portablepdb *chosen' "$TMP/text" || fail "best: $(cat "$TMP/text")"

# Without the code id the program is found by the id of its PDB.
sed -i 's/, *$/,/; s/"code_file": "integration.dll", "code_id": "aadada8f8000"/"code_file": "integration.dll"/' \
  "$TMP/net"
symbolicate "$TMP/both" --text "$TMP/net" >"$TMP/text" || fail "symbolicate without a code id"
grep -qx "  0  foo.pdb  StackTraceSample.Main + 0x11 at $SOURCE:15 \[C#\]" "$TMP/text" ||
  fail "by debug id: $(cat "$TMP/text")"
exit 0
