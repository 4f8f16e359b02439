#!/bin/sh
# symfs pdb: what it prints of PDBs of MSVC, lld and rustc agrees with look-ups, as text and as JSON, and a file that
# is not a PDB is refused in a sentence.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need python3
shared=${top_srcdir:-$(dirname "$0")/..}/../shared
pdb=$(realpath "$shared/fixtures/pdb/fixtures" 2>/dev/null) && [ -f "$pdb/cl64.pdb" ] ||
  skip "no ../shared/fixtures/pdb: PDBs of MSVC"
cd "$TMP" || exit 1
dump() { "$SYMFS" pdb "$@" 2>said || fail "symfs pdb $*: $(cat said)"; }

# The summary says what `symfs id` says.
for name in basic32 cl64 cla64 crash omap_reorder_funcs rsapp; do
  dump "$pdb/$name.pdb" >summary
  id=$(sed -n 's/^debug_id //p' summary)
  "$SYMFS" id "$pdb/$name.pdb" | grep -q "debug id *$id\$" || fail "$name: $id is another debug id"
  dump --json "$pdb/$name.pdb" | python3 -c '
import json, sys
d = json.load(sys.stdin)
for line in open("summary"):
    key, value = line.split(None, 1)
    assert str(d[key]) == value.strip(), (key, value, d[key])' || fail "$name: text and JSON differ"
done
grep -q '^rearranged no' summary || fail "rsapp: $(cat summary)"
dump "$pdb/omap_reorder_funcs.pdb" | grep -q '^rearranged yes' || fail "no OMAP tables"

# Streams: as many as the summary has, modules with their names, and those of one size in both forms.
dump --streams "$pdb/basic32.pdb" >streams
[ "$(($(wc -l <streams) - 1))" = "$(dump "$pdb/basic32.pdb" | sed -n 's/^streams //p')" ] ||
  fail "streams are missing"
for use in types ids 'debug information' /names 'public symbols' 'symbol records' 'hashes of types'; do
  grep -q "  $use\$" streams || fail "no stream for $use"
done
grep -q 'basic32.obj$' streams || fail "no stream of a module"
dump --streams --json "$pdb/basic32.pdb" | python3 -c '
import json, sys
lines = [l.split(None, 2) for l in list(open("streams"))[1:]]
assert [(d["stream"], d["size"]) for d in json.load(sys.stdin)] == [(int(l[0]), int(l[1])) for l in lines]' ||
  fail "--streams --json"

# Every piece of a module has the frames that a look-up finds there.
for row in basic32:0 cl64:0 rsapp:0 omap_reorder_funcs:78; do
  file=$pdb/${row%:*}.pdb
  dump --modules "$file" | awk -v n="${row#*:}" '$1 == n' | grep -q . || fail "$row: not listed"
  dump --module "${row#*:}" --json "$file" >module
  dump --module "${row#*:}" "$file" >text
  "$SYMFS" gsym create -o one.gsym "$file" || fail "create"
  python3 - "$SYMFS" one.gsym <<'P' || fail "$row: pieces and look-ups differ"
import json, subprocess, sys
funcs = json.load(open('module'))
pieces = [p for f in funcs if f['kind'] != 'trampoline' for p in f['pieces'] if p['address']]
out = subprocess.run([sys.argv[1], 'gsym', 'lookup', '--stdin', '--json', sys.argv[2]], check=True,
                     input='\n'.join(p['address'] for p in pieces), capture_output=True, text=True).stdout
same = 0
for p, found in zip(pieces, json.loads(out)):
    same += [(f['name'], f['line']) for f in p['frames']] == [(f['name'], f['line']) for f in found['frames']]
lines = sum(1 for l in open('text') if l.startswith('  '))
print(len(funcs), 'functions,', same, 'of', len(pieces), 'pieces as look-ups have them')
# Linkers fold functions that are alike: then a look-up names the one that stayed.
assert len(pieces) > 10 and same * 100 >= len(pieces) * 90
assert lines == sum(len(f['pieces']) for f in funcs)
P
done

# Each jump of an incremental link has the name of its target, in a GSYM file as in the PDB.
linker=$(dump --modules "$pdb/basic32.pdb" | awk '$6 == "*" { print $1 }')
dump --module "$linker" "$pdb/basic32.pdb" | awk '$4 == "trampoline" { print $1 }' >jumps
[ "$(wc -l <jumps)" = 2351 ] || fail "$(wc -l <jumps) jumps"
"$SYMFS" gsym create -o one.gsym "$pdb/basic32.pdb" || fail "create"
"$SYMFS" gsym lookup --stdin one.gsym <jumps >found || fail "lookup"
[ "$(grep -c '@:0$' found)" = 2351 ] || fail "$(grep -vc '@:0$' found) jumps without a name, or with a line"
# shellcheck disable=SC2046
"$SYMFS" gsym lookup $(awk 'NR % 40 == 0' jumps) "$pdb/basic32.pdb" >direct || fail "lookup in the PDB"
awk 'NR % 40 == 0' found | sed 's/@:0$//' | cmp - direct || fail "jumps in the PDB and in GSYM differ"

dump --lines 0x2a1de "$pdb/basic32.pdb" | grep -q '^0x2a143 1:00029143 389 function .*type_case_integer' ||
  fail "--lines"
dump --publics "$pdb/cl64.pdb" | grep -q '^0x1000 1:00000000 function ?overload@@YAHH@Z$' || fail "--publics"

# Refusals.
refused() { # STATUS TEXT WORD...
  status=$1 text=$2
  shift 2
  "$SYMFS" pdb "$@" >said 2>&1
  [ $? = "$status" ] && grep -q "$text" said || fail "symfs pdb $*: $(cat said)"
}
echo 'no PDB' >text.pdb
: >empty.pdb
head -c 100000 "$pdb/basic32.pdb" >cut.pdb
refused 1 'is not a PDB' "$pdb/cl64.exe"
refused 1 'is not a PDB' text.pdb
refused 1 'is not a PDB' empty.pdb
refused 4 'is broken' cut.pdb
refused 4 'No such file' missing.pdb
refused 1 'has no module 5000' --module 5000 "$pdb/cl64.pdb"
refused 1 'has no function' --lines 0x1ffe "$pdb/cl64.pdb"
refused 1 'has no section' --lines 0xfffffff0 "$pdb/cl64.pdb"
refused 2 'takes a number' --module x "$pdb/cl64.pdb"
refused 2 'exclude each other' --streams --publics "$pdb/cl64.pdb"
refused 2 'expected a file'
printf 'Microsoft C/C++ program database 2.00\r\n\032JG\0\0%064d' 0 >old.pdb
refused 1 'is a PDB 2.0' old.pdb
