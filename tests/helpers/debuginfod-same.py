# Compares a server with debuginfod: debuginfod-same.py DEBUGINFOD SERVER TREE [HEADER...]. For each ELF file (64 bit,
# little-endian) with a build id below TREE it asks both for the debug file, the executable, each section of any file
# with that id, and names that no file has. Status, bytes and the named header fields of each answer must be equal.
# Prints each difference, and the numbers; exits 1 after a difference.
# SPDX-License-Identifier: LGPL-2.1-or-later
import http.client, os, struct, sys, urllib.parse

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
    for f in files:
        build, names = sections(os.path.join(where, f))
        if build:
            ids.setdefault(build, {'.absent', '.text.absent'}).update(n for n in names if n)
for build, names in sorted(ids.items()):
    for what in ['debuginfo', 'executable'] + sorted('section/' + urllib.parse.quote(n, '') for n in names):
        path = '/buildid/%s/%s' % (build, what)
        (s1, b1, h1), (s2, b2, h2) = [ask(s, path) for s in servers]
        kind = what.split('/')[0], s1
        counts[kind] = counts.get(kind, 0) + 1
        if s1 != s2 or s1 == 200 and (b1 != b2 or any(field(h1, f) != field(h2, f) for f in fields)):
            bad += 1
            print('%s: %d and %d bytes, not %d and %d; %s, not %s' % (path, s2, len(b2), s1, len(b1),
                [h2[f] for f in fields], [h1[f] for f in fields]))
print('%d build ids, %d differences: %s' % (len(ids), bad,
    ', '.join('%d of %s %d' % (n, *k) for k, n in sorted(counts.items()))))
sys.exit(bad > 0 or not ids)
