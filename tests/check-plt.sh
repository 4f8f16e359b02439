#!/bin/sh
# Entries of the table of imported functions (PLT) are named NAME@plt: of libraries that gcc and clang make here for
# x86-64, x86 and arm64, bound lazily and at once, with and without marks of indirect branches, and of programs of
# this machine. objdump, and llvm-objdump for arm64, name the same entries.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need gcc g++ objdump objcopy strip readelf python3
cd "$TMP" || exit 1
cat >c.c <<'EOC'
int one(int), two(int);
int (*keep)(int) = two;
int work(int n) { return one(n) + two(n); }
EOC
cat >cc.cc <<'EOC'
#include <stdexcept>
#include <string>
int work(int n) { std::string s("abc"); if (n == 9) throw std::out_of_range("x"); return (int)s.size(); }
EOC
for bind in lazy now; do
  for marks in none full; do
    gcc -shared -fPIC -O1 -Wl,--build-id -fcf-protection=$marks -Wl,-z,$bind -o gcc-$bind-$marks.so c.c 2>/dev/null ||
      gcc -shared -fPIC -O1 -Wl,--build-id -Wl,-z,$bind -o gcc-$bind-$marks.so c.c || fail gcc
  done
  g++ -shared -fPIC -O1 -Wl,--build-id -Wl,-z,$bind -o gxx-$bind.so cc.cc || fail g++
done
CLANG=$(first_of clang) && command -v ld.lld >/dev/null || { CLANG=; part_skipped "clang and lld are not installed"; }
for target in ${CLANG:+x86_64 i686 aarch64}; do
  for bind in lazy now; do
    "$CLANG" --target=$target-linux-gnu -nostdlib -shared -fPIC -O1 -fuse-ld=lld -Wl,--build-id -Wl,-z,$bind \
      -o clang-$target-$bind.so c.c || fail "clang $target"
  done
done
[ -z "$CLANG" ] || "$CLANG" --target=aarch64-linux-gnu -nostdlib -shared -fPIC -O1 -fuse-ld=lld -Wl,--build-id \
  -mbranch-protection=standard -Wl,-z,force-bti -o clang-aarch64-bti.so c.c || fail "clang aarch64"

# The first address of each entry, and one within it; and the beginning of the file, which is in none.
cat >ask.py <<'PY'
import json, subprocess, sys
symfs, source, build_id = sys.argv[1:]
want = [line.split() for line in open('want')]
asked = [(int(at, 16) + more, name) for at, name in want for more in (0, 5)] + [(1, None)]
module = {'type': 'elf', 'code_id': build_id, 'code_file': 'x', 'image_vmaddr': '0x0'}
frames = [{'addr_mode': 'link:0', 'instruction_addr': hex(at)} for at, _ in asked]
answer = subprocess.run([symfs, 'symbolicate', '--no-default-sources', '--source', source, '--cache', 'store', '-'],
                        input=json.dumps({'memoryMap': [module], 'stacks': [frames]}), capture_output=True, text=True)
found = [f.get('function') for f in json.loads(answer.stdout)['results'][0]['stacks'][0]]
bad = [(hex(at), name, f) for (at, name), f in zip(asked, found) if f != name]
sys.exit(f'{len(bad)} of {len(asked)}: {bad[:5]}' if bad else 0)
PY
objects=0 entries=0
for file in "$TMP"/*.so /bin/ls /usr/bin/gdb; do
  [ -f "$file" ] && id=$(build_id "$file") && [ -n "$id" ] || continue
  case $file in *aarch64*) dump=$(first_of llvm-objdump) || continue ;; *) dump=objdump ;; esac
  "$dump" -d "$file" 2>/dev/null | sed -n 's/^0*\([0-9a-f]*\) <\(.*@plt\)>:$/\1 \2/p' >want
  put_gdb all "$file"
  python3 ask.py "$SYMFS" "gdb@$TMP/all" "$id" || fail "$file"
  objects=$((objects + 1)) entries=$((entries + $(wc -l <want)))
done
[ $entries -gt 20 ] || fail "only $entries entries in $objects files"

# A debug file has no such table: a frame in none of its functions is looked for in the program.
gcc -g -shared -fPIC -O1 -Wl,--build-id=sha1 -o split.so c.c || fail gcc
objcopy --only-keep-debug split.so split.debug && strip split.so || fail objcopy
at=$(objdump -d split.so | sed -n 's/^0*\([0-9a-f]*\) <one@plt>:$/0x\1/p')
request="{\"memoryMap\":[{\"type\":\"elf\",\"code_id\":\"$(build_id split.so)\",\"code_file\":\"split.so\"}],
  \"stacks\":[[[0,$((at + 4))],[0,4]]]}"
ask() { echo "$request" | "$SYMFS" symbolicate --no-default-sources --source "gdb@$TMP/up" --cache "$1" - >answer; }
put_gdb up split.debug .debug
ask without
grep -q '"function"' answer && fail "without the program: $(cat answer)"
put_gdb up split.so
ask with
grep -q '"function": "one@plt", "function_offset": "0x4"}, {[^}]*"module_offset": "0x4"}' answer ||
  fail "with the program: $(cat answer)"
say "$objects files, $entries entries, as objdump names them"
