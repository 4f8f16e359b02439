#!/bin/sh
# A program for Windows without a CodeView record has no debug id: symfs sym writes its Breakpad file, and a minidump
# of it is unwound and named by the code id alone. The program is made here by clang and lld, the minidump by hand.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need python3
CLANG=$(first_of clang) && LINK=$(first_of lld-link) && DUMP=$(first_of llvm-objdump) ||
  skip "clang, lld-link or llvm-objdump is not installed"
cd "$TMP" || exit 1
cat >w.c <<'EOC'
__declspec(dllexport) __attribute__((noinline)) int one(int x) { volatile int a[30]; a[x] = x; return a[1]; }
__declspec(dllexport) int start(void) { volatile int b[20]; b[2] = one(1); return b[2] + one(2); }
EOC
"$CLANG" -target x86_64-windows-msvc -O1 -c w.c -o w.obj && "$LINK" /nologo /dll /nodefaultlib /noentry \
  /timestamp:1700000000 /out:bare.dll w.obj >lld.out 2>&1 || fail "clang and lld-link: $(cat lld.out)"
"$SYMFS" id bare.dll >id.out || fail "id: $(cat id.out)"
grep -q 'breakpad id' id.out && fail "bare.dll has a debug id: $(cat id.out)"

"$SYMFS" sym bare.dll >bare.sym 2>sym.log || fail "sym: $(cat sym.log)"
ID=$(sed -n 's/^INFO CODE_ID \([0-9A-F]*[0-9a-f]*\) bare.dll$/\1/p' bare.sym)
[ -n "$ID" ] && grep -q '^MODULE windows x86_64 0\{33\} bare.dll$' bare.sym && grep -q '^PUBLIC 10.* one$' bare.sym &&
  grep -q '^STACK CFI INIT' bare.sym || fail "sym: $(cat bare.sym)"
"$SYMFS" sym --store dir bare.dll && cmp "dir/bare.dll/$ID/bare.sym" bare.sym || fail "--store: $(find dir)"
# Another program without a debug id is another module.
"$LINK" /nologo /dll /nodefaultlib /noentry /timestamp:1700000001 /out:other.dll w.obj >lld.out 2>&1 || fail lld-link
"$SYMFS" sym --store two bare.dll other.dll || fail "two programs"
[ "$(find two -name '*.sym' | wc -l)" = 2 ] || fail "two programs: $(find two)"

# A minidump: the thread is in one(), which start() called. Beside the return address lies another one, of a call that
# is over.
cat >dump.py <<'PY'
import re, struct, sys
d = open('bare.dll', 'rb').read()
pe, = struct.unpack_from('<I', d, 60)
stamp, = struct.unpack_from('<I', d, pe + 8)
size, = struct.unpack_from('<I', d, pe + 24 + 56)
text = open('code').read()
base = 0x180000000
def function(name):
    body = re.search(r'<%s>:\n(.*?)(\n\n|\Z)' % name, text, re.S).group(1)
    return [l for l in body.split('\n') if re.match(r' *[0-9a-f]+:', l)]
room = int(re.search(r'subq\s+\$(\w+), %rsp', '\n'.join(function('one'))).group(1), 0)
one = [int(l.split(':')[0], 16) for l in function('one')]
start = [int(l.split(':')[0], 16) for l in function('start')]
calls = [i for i, l in enumerate(function('start')) if 'call' in l]
frame = int(re.search(r'subq\s+\$(\w+), %rsp', '\n'.join(function('start'))).group(1), 0)
pushes = sum('pushq' in l for l in function('start'))
stack = bytearray(0x1000)
struct.pack_into('<Q', stack, 8, start[calls[1] + 1])  # a trap for a search
struct.pack_into('<Q', stack, room, start[calls[0] + 1])
struct.pack_into('<Q', stack, room + 8 + frame + 8 * pushes, 0)
context = bytearray(1232)
struct.pack_into('<I', context, 48, 0x10003f)
struct.pack_into('<Q', context, 0x78 + 8 * 4, 0x7ff000)
struct.pack_into('<Q', context, 0xf8, one[2])
name = 'C:\\x\\bare.dll'.encode('utf-16-le')
at, parts = 0x200, bytearray()
def add(b):
    global parts
    place = at + len(parts)
    parts += b + bytes(-len(b) % 8)
    return place
context_at, stack_at = add(context), add(stack)
name_at, csd_at = add(struct.pack('<I', len(name)) + name + b'\0\0'), add(struct.pack('<IH', 0, 0))
module = struct.pack('<QIIII', base, size, 0, stamp, name_at) + bytes(52) + bytes(16) + bytes(16)
streams = {3: struct.pack('<I', 1) + struct.pack('<IIIIQQIIII', 7, 0, 0, 0, 0, 0x7ff000, 0, 0, 0, 0)[:24] +
           struct.pack('<QIIII', 0x7ff000, len(stack), stack_at, len(context), context_at),
           4: struct.pack('<I', 1) + module,
           6: struct.pack('<II', 7, 0) + struct.pack('<IIQQII', 0xc0000005, 0, 0, one[2], 0, 0) + bytes(120) +
           struct.pack('<II', len(context), context_at),
           7: struct.pack('<HHHBBIIIII', 9, 6, 0, 1, 1, 10, 0, 0, 2, csd_at) + bytes(28)}
table = b''
for kind, body in streams.items():
    table += struct.pack('<III', kind, len(body), add(body))
out = bytearray(at) + parts
struct.pack_into('<4sIIIIIQ', out, 0, b'MDMP', 0xa793, len(streams), 32, 0, 0, 0)
out[32:32 + len(table)] = table
open('pe.dmp', 'wb').write(out)
PY
"$DUMP" -d --no-show-raw-insn bare.dll >code || fail llvm-objdump
grep -q '<one>:' code || fail "no names of exports in: $(cat code)"
python3 dump.py || fail dump.py
mkdir -p "up/bare.dll/$ID" && cp bare.dll "up/bare.dll/$ID/"
"$SYMFS" symbolicate --no-default-sources --source "symstore@$TMP/up" --cache store pe.dmp >out 2>log ||
  fail "symbolicate: $(cat out log)"
grep -q '^ *0  bare.dll  one + 0x' out && grep -q '^ *1  bare.dll  start + 0x[0-9a-f]*$' out ||
  fail "symbolicate: $(cat out log code)"
"$SYMFS" symbolicate --json --no-default-sources --source "symstore@$TMP/up" --cache store pe.dmp >json 2>log
python3 -c 'import json
f = json.load(open("json"))["threads"][0]["frames"]
assert [x["found"] for x in f[:2]] == ["context", "cfi"], f' || fail "not by unwind rules: $(cat out)"
say "$(cat out)"
