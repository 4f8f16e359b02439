#!/bin/sh
# Prints a table: of the addresses where readers of PDBs agree, how many symfs has right, in the PDB and in GSYM,
# beside pdb-addr2line and llvm-symbolizer 22. symfs must have all of them right, and the names with parameters of
# pdb-addr2line.
#
# rows: addresses with a letter in expected/, that is, where readers agree. Right means: as many frames, and each
#       with the same file and line. ../shared/fixtures/pdb/README.md has the reasons why others are wrong.
# jumps: further rows, where expected/ has no symbol. There are jumps of incremental links (S_TRAMPOLINE), which
#       have no name in the PDB. symfs names them after the function that they lead to. The operand of the jump
#       instruction in the image must lead to that function.
# names, equal: starts of functions, and those where the name with parameters is that of pdb-addr2line.
# by OMAP: names that differ because pdb-addr2line ignores the OMAP tables of these two PDBs. It is asked again for
#       the source address, which an own reader of the table finds, and must then say the same name.
# The answers of llvm-symbolizer 22 were recorded, because Debian 12 and 13 do not have that version.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need python3
shared=$(realpath "${top_srcdir:-$(dirname "$0")/..}/../shared" 2>/dev/null) && [ -d "$shared/fixtures/pdb/raw" ] ||
  skip "no ../shared/fixtures/pdb: PDBs of MSVC and the answers of other readers"
"$top_builddir/tests/unit/test-pdb-vectors" >"$TMP/counts" 2>&1 ||
  fail "test-pdb-vectors: $(grep -A 3 '^not ok' "$TMP/counts" | head -n 20)"
cd "$TMP" || exit 1

cat >readers.py <<'P'
import collections, json, os, re, struct, subprocess, sys
symfs, shared = sys.argv[1:3]
top, oracle = shared + '/fixtures/pdb/', shared + '/tools/oracle/pdb-addr2line'
def rows_of(path):
    for l in open(path, encoding='utf-8', errors='replace'):
        if l.strip() and l[0] != '#':
            yield l.rstrip('\n').split('\t')
def places(frames): # files and lines: readers write functions in different styles
    return [tuple(frames[i:i + 2]) for i in range(1, len(frames), 3)]
def run(*words, text):
    return subprocess.run(words, input=text, check=True, capture_output=True, text=True, errors='replace').stdout

# What test-pdb-vectors counted: fixture -> question -> (equal, all).
counts = collections.defaultdict(dict)
for l in open('counts'):
    m = re.match(r'ok \d+ - (\S+): (.*): (\d+) of (\d+)$', l)
    if m:
        counts[m[1]][m[2]] = (int(m[3]), int(m[4]))

# Jumps of incremental links: address -> size.
def jumps_of(file):
    found = {}
    for l in run(symfs, 'pdb', '--modules', file, text='').splitlines():
        w = l.split()
        if '* Linker *' in l:
            module = subprocess.run([symfs, 'pdb', '--module', w[0], '--json', file], capture_output=True, text=True)
            for f in json.loads(module.stdout or '[]'): # a stripped PDB has no module
                if f['kind'] == 'trampoline' and f['address']:
                    found[int(f['address'], 16)] = f['size']
    return found

# The source address of an address, by the OMAP table, read without symfs.
def read_omap(file):
    d = open(file, 'rb').read()
    size, = struct.unpack_from('<I', d, 32)
    n, _, at = struct.unpack_from('<III', d, 44)
    def join(blocks, n):
        return b''.join(d[b * size:(b + 1) * size] for b in blocks)[:n]
    def words(b, at, n):
        return struct.unpack_from('<%dI' % n, b, at)
    directory = join(words(d, at * size, -(-n // size)), n)
    sizes = words(directory, 4, words(directory, 0, 1)[0])
    at, streams = 4 + 4 * len(sizes), []
    for s in sizes:
        s = 0 if s == 0xffffffff else s
        streams.append(join(words(directory, at, -(-s // size)), s))
        at += 4 * -(-s // size)
    dbi = streams[3]
    optional = 64 + sum(words(dbi, 24, 5)) + words(dbi, 52, 1)[0]
    table = struct.unpack_from('<H', dbi, optional + 6)[0]
    return [] if table == 0xffff else list(struct.iter_unpack('<II', streams[table]))
def source_of(omap, rva):
    at = max((r for r in omap if r[0] <= rva), default=None)
    return rva if not omap else at[1] + rva - at[0]

def image_of(file):
    for end in '.dll', '.exe', '.node':
        if os.path.exists(file[:-4] + end):
            return open(file[:-4] + end, 'rb').read()
# Where the jump instruction at an address leads, by the bytes of the image.
def jumps_to(image, rva):
    pe, = struct.unpack_from('<I', image, 60)
    n, opt = struct.unpack_from('<H', image, pe + 6)[0], struct.unpack_from('<H', image, pe + 20)[0]
    for i in range(n):
        _, size, addr, raw, off = struct.unpack_from('<8sIIII', image, pe + 24 + opt + 40 * i)[:5]
        if addr <= rva < addr + raw:
            op, by = struct.unpack_from('<Bi', image, off + rva - addr)
            return rva + 5 + by if op == 0xe9 else None

ask = os.access(oracle, os.X_OK)
head = ('fixture', 'rows', 'PDB', 'GSYM', 'addr2line', 'llvm 22', 'jumps', 'names', 'equal', 'by OMAP')
form = '%-26s' + '%10s' * 9
sums, failed = collections.Counter(), []
print(form % head)
for name in sorted(counts):
    file = top + 'fixtures/%s.pdb' % name
    jumps = jumps_of(file)
    def in_jump(rva):
        return any(a <= rva < a + n for a, n in jumps.items())
    expected = {w[0]: w[2:] for w in rows_of(top + 'expected/%s.tsv' % name) if w[1] != '-'}
    led = [r for r, w in expected.items() if w == ['-'] and in_jump(int(r, 16))]
    row = {'rows': len(expected) - len(led), 'jumps': len(led)}
    for reader, key in ('pdb-addr2line', 'addr2line'), ('llvm22', 'llvm 22'):
        said = {w[0]: w[1:] for w in rows_of(top + 'raw/%s.%s.tsv' % (name, reader))}
        row[key] = sum(places(said[r]) == places(w) and (len(said[r]) > 1) == (len(w) > 1) and said[r] != ['CRASH']
                       for r, w in expected.items() if r not in led)
        if key == 'addr2line' and ask: # names of ids with bit 31 differ from run to run
            now = [l.split('\t') for l in run(oracle, 'addr', file, text='\n'.join(said)).splitlines()]
            if [w[0] for w in now] != list(said) or any(places(w[1:]) != places(said[w[0]]) for w in now):
                failed.append('%s: pdb-addr2line says something else than raw/ has' % name)
    for key, what in ('PDB', 'frames of the PDB'), ('GSYM', 'frames of the GSYM'), ('equal', 'names with parameters'):
        row[key], total = counts[name][what]
        if key == 'equal':
            row['names'] = total
        elif (row[key], total) != (row['rows'], row['rows']):
            failed.append('%s: %s: %d of %d' % (name, what, row[key], row['rows']))

    # Each jump leads where symfs says.
    if led:
        target = {r: jumps_to(image_of(file), max(a for a in jumps if a <= int(r, 16))) for r in led}
        asked = [int(r, 16) for r in led] + list(target.values())
        frames = json.loads(run(symfs, 'gsym', 'lookup', '--json', '--stdin', file, text='\n'.join(map(hex, asked))))
        names = [f['frames'][-1]['name'] for f in frames]
        if names[:len(led)] != names[len(led):]:
            failed.append('%s: a jump has another name than its target' % name)

    # Names that differ: those of pdb-addr2line at the source address of each must be equal.
    row['by OMAP'] = 0
    omap = read_omap(file)
    if omap and ask:
        names = list(rows_of(top + 'names/%s.tsv' % name))
        addresses = '\n'.join('0x' + w[0] for w in names)
        ours = json.loads(run(symfs, 'gsym', 'lookup', '--json', '--stdin', file, text=addresses))
        sources = ['%x' % source_of(omap, int(w[0], 16)) for w in names]
        theirs = dict(l.split('\t')[:2] for l in run(oracle, 'addr', file, text='\n'.join(sources)).splitlines())
        for w, o, s in zip(names, ours, sources):
            mine = o['frames'][-1]['name']
            if mine != w[2] and mine == theirs[s]:
                row['by OMAP'] += 1
            elif mine != w[2]:
                print('  %s (source %s): %s, not %s' % (w[0], s, mine, theirs[s]))
    if ask and row['equal'] + row['by OMAP'] != row['names']:
        failed.append('%s: names with parameters: %d of %d' % (name, row['equal'] + row['by OMAP'], row['names']))
    print(form % (name, *(row[k] for k in head[1:])))
    sums.update(row)
print(form % ('', *(sums[k] for k in head[1:])))
if not ask:
    print('pdb-addr2line cannot run here: names of rearranged images were not compared')
assert len(counts) == 21 and sums['rows'] > 12000 and sums['names'] > 5000, 'fixtures are missing'
# The check finds a reader that is wrong.
assert 0 < sums['llvm 22'] < sums['addr2line'] < sums['PDB'], 'the other readers have too much right'
sys.exit('\n'.join(failed) or 0)
P
python3 readers.py "$SYMFS" "$shared" >table 2>&1 || fail "$(cat table)"
cat table
