# Compares a server with debuginfod: debuginfod-same.py DEBUGINFOD SERVER TREE [HEADER...]. For each ELF file (64 bit,
# little-endian) with a build id below TREE it asks both for the debug file, the executable, each section of any file
# with that id, and names that no file has. Status, bytes and the named header fields of each answer must be equal; of
# sections out of archives not X-DEBUGINFOD-SIZE, where 0.188 sends the size of the whole file. Prints each
# difference, and the numbers; exits 1 after a difference. $DEBUGINFOD_DB, its database of archives: also for 20
# sources of each debug file, of which at most 14 are there. $DEBUGINFOD_MOST: at most that many build ids.
# SPDX-License-Identifier: LGPL-2.1-or-later
import http.client, os, random, sqlite3, struct, sys, urllib.parse

def sections(path):
    b = open(path, 'rb').read()
    if b[:4] != b'\x7fELF' or b[4:6] != b'\x02\x01':
        return None, []
    off, n, index = struct.unpack_from('<Q', b, 40)[0], *struct.unpack_from('<HH', b, 60)
    heads = [struct.unpack_from('<IIQQQQIIQQ', b, off + 64 * i) for i in range(n)]
    names = b[heads[index][4]:heads[index][4] + heads[index][5]] if n else b''
    found = None
    for h in heads:
        at = h[4]
        while h[1] == 7 and at + 16 <= h[4] + h[5] <= len(b):
            name, size, kind = struct.unpack_from('<III', b, at)
            if kind == 3 and b[at + 12:at + 16] == b'GNU\0':
                found = b[at + 16:at + 16 + size].hex()
            at += 12 + (name + 3 & ~3) + (size + 3 & ~3)
    return found, [names[h[0]:names.index(b'\0', h[0])].decode() for h in heads[1:]]

# The names in the line tables of a build, in a fixed order: those that an archive has, and the others.
def sources(db, build):
    here, gone = [], []
    for name, there in db.execute("""select f.name, r.artifactsrc in (select content from buildids9_r_sdef)
            from buildids9_r_sref r join buildids9_buildids b on b.id = r.buildid
            join buildids9_files f on f.id = r.artifactsrc where b.hex = ? order by f.name""", (build,)):
        (here if there else gone).append('source' + urllib.parse.quote(name if name[:1] == '/' else '/' + name))
    for names in here, gone:
        random.Random(build).shuffle(names)
    return (here[:14] + gone + here[14:])[:20]

# A field, of which a path counts by its last part: debuginfod sends the whole path of some files.
def field(headers, name):
    return (headers[name] or '').rsplit('/', 1)[-1]

def ask(server, path):
    server.request('GET', path)
    r = server.getresponse()
    return r.status, r.read(), r.headers

servers = [http.client.HTTPConnection(u.split('//')[1]) for u in sys.argv[1:3]]
tree, fields, ids, bad, counts = sys.argv[3], sys.argv[4:], {}, 0, {}
for where, _, files in os.walk(tree):
    for f in (f for f in files if os.path.isfile(os.path.join(where, f))):
        build, names = sections(os.path.join(where, f))
        if build:
            ids.setdefault(build, {'.absent', '.text.absent'}).update(n for n in names if n)
db = os.environ.get('DEBUGINFOD_DB') and sqlite3.connect(os.environ['DEBUGINFOD_DB'])
asked = sorted(ids.items())[:int(os.environ.get('DEBUGINFOD_MOST', len(ids)))]
for build, names in asked:
    whole = ['debuginfo', 'executable'] + (sources(db, build) if db else [])
    for what in whole + sorted('section/' + urllib.parse.quote(n, '') for n in names):
        path = '/buildid/%s/%s' % (build, what)
        (s1, b1, h1), (s2, b2, h2) = [ask(s, path) for s in servers]
        kind = what.split('/')[0], s1
        counts[kind] = counts.get(kind, 0) + 1
        packed = kind[0] == 'section' and h1['X-DEBUGINFOD-ARCHIVE']
        equal = [f for f in fields if not packed or f != 'X-DEBUGINFOD-SIZE']
        if s1 != s2 or s1 == 200 and (b1 != b2 or any(field(h1, f) != field(h2, f) for f in equal)):
            bad += 1
            print('%s: %d and %d bytes, not %d and %d; %s, not %s' % (path, s2, len(b2), s1, len(b1),
                [h2[f] for f in fields], [h1[f] for f in fields]))
print('%d build ids, %d differences: %s' % (len(asked), bad,
    ', '.join('%d of %s %d' % (n, *k) for k, n in sorted(counts.items()))))
sys.exit(bad > 0 or not ids)
