#!/bin/sh
# The functions and line ranges of PDBs against the Breakpad files that DIA (Breakpad's dump_syms) and Mozilla's
# dump_syms wrote for them. Each FUNC must be a function of the GSYM file, with the same size, or a row of its
# pieces without a gap; the first and the last byte of each line record must have its file and line. Prints the
# counts of each file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need python3
pdb=$(realpath "${top_srcdir:-$(dirname "$0")/..}/../shared/fixtures/pdb" 2>/dev/null) && [ -d "$pdb/sym" ] ||
  skip "no ../shared/fixtures/pdb: PDBs of MSVC and their Breakpad files"
cd "$TMP" || exit 1

cat >compare.py <<'P'
import json, subprocess, sys
symfs, gsym, sym, wanted = sys.argv[1:5]
files, funcs, lines, current = {}, {}, [], False
for l in open(sym, encoding='utf-8', errors='replace'):
    l = l.rstrip('\r\n')
    w = l.split(' ')
    if w[0] == 'FILE':
        files[w[1]] = l.split(' ', 2)[2]
    elif w[0] == 'FUNC':
        w = w[1:] if w[1] != 'm' else w[2:]
        funcs[int(w[0], 16)] = int(w[1], 16)
        current = True
    elif w[0] in ('PUBLIC', 'STACK', 'MODULE', 'INFO'):
        current = False
    elif current and len(w) == 4 and int(w[1], 16):
        lines.append((int(w[0], 16), int(w[1], 16), (files[w[3]], int(w[2]))))
def run(*words, **more):
    return subprocess.run([symfs, 'gsym', *words], check=True, capture_output=True, **more).stdout
ours, named = {}, {}
for f in json.loads(run('dump', '--json', gsym))['functions']:
    ours.setdefault(int(f['address'], 16), set()).add(f['size'])
    named[int(f['address'], 16)] = f['name']
same = sum(size in ours.get(at, ()) for at, size in funcs.items())
# Whether functions of one name follow each other from the first byte of a FUNC to its last.
def in_pieces(at, end):
    name, n = named.get(at), 0
    while at < end and name is not None and named.get(at) == name:
        at, n = at + max(ours[at]), n + 1
    return n > 1 and at == end
pieces = sum(size not in ours.get(at, ()) and in_pieces(at, at + size) for at, size in funcs.items())
asked = [at for l in lines for at in (l[0], l[0] + l[1] - 1)]
found = json.loads(run('lookup', '--json', '--stdin', gsym, input='\n'.join('0x%x' % at for at in asked).encode()))
# These files have no inlined calls: a line belongs to the function itself.
own = [(f['frames'][-1]['file'], f['frames'][-1]['line']) if f['frames'] else None for f in found]
equal = sum(own[2 * i] == own[2 * i + 1] == l[2] for i, l in enumerate(lines))
counts = '%d/%d %d %d/%d' % (same, len(funcs), pieces, equal, len(lines))
print('%s: functions alike, further functions in pieces, line ranges alike: %s' % (sym.split('/')[-1], counts))
sys.exit(counts != wanted)
P

# NAME FUNCTIONS PIECES LINES. In crash.sym one record has line 0xf00f00, which means "no line here".
#
# In omap_stretched_filled a tool inserted instructions into 56 functions. Its OMAP table maps each of them to the
# source address of the instruction behind it, so the same source bytes are at several addresses. An example is
# google_breakpad::C::C(): 106a->1070, 1074->107a, 1075->107a, 1078->107a, 107e->107a, and so on up to 109f. DIA joins
# the ranges to one FUNC of 53 bytes. symfs writes each range as a function of that name. The names and lines are
# those of the FUNC at every byte; only the offset in the function counts from the range.
n=0
while read -r name counts; do
  file=$pdb/fixtures/${name%.moz}.pdb
  "$SYMFS" gsym create -o "$name.gsym" "$file" || fail "create $name"
  "$SYMFS" gsym verify "$name.gsym" >said 2>&1 || fail "$name: $(cat said)"
  python3 compare.py "$SYMFS" "$name.gsym" "$pdb/sym/$name.sym" "$counts" || fail "$name: expected $counts"
  n=$((n + 1))
done <<T
basic32 3072/3072 0 24037/24037
basic32-min 723/723 0 0/0
crash 92/92 0 725/726
dump_syms_regtest64 246/246 0 3538/3538
dump_syms_regtest64.moz 246/246 0 3538/3538
omap_reorder_funcs 158/158 0 2189/2189
omap_stretched_filled 102/158 56 2189/2189
T
[ "$n" = "$(find "$pdb/sym" -name '*.sym' | wc -l)" ] || fail "a file of $pdb/sym is not in the table"
python3 compare.py "$SYMFS" crash.gsym "$pdb/sym/basic32.sym" "3072/3072 0 24037/24037" >/dev/null 2>&1 &&
  fail "the file of another build passed"
exit 0
