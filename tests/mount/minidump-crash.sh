#!/bin/sh
# A minidump of a program that crashes in a signal handler, through a realigned stack, a callback of the C library, a
# virtual call and an inlined one; and one that stops in its table of imported functions (PLT). LLDB writes the
# minidumps. minidump_stackwalk walks them with the Breakpad files that a mount makes, finds every frame by its unwind
# rules, and names those of the program. With the files of Breakpad's dump_syms it finds no more.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need g++ objcopy objdump readelf python3
[ "$(uname -m)" = x86_64 ] || skip "the dumps are of x86-64"
tool minidump_stackwalk
WALK=$TOOL
command -v lldb >/dev/null || skip "lldb, which writes the minidumps, is not installed"
cd "$TMP" || exit 1

# LLDB's contexts are shorter than Breakpad reads: a padded copy at the end of the file takes their place. LLDB's
# modules end with their first segment: they get the size of the file in memory.
cat >pad.py <<'PY'
import struct, sys
d = bytearray(open(sys.argv[1], 'rb').read())
n, rva = struct.unpack_from('<II', d, 8)
def pad(at):
    size, where = struct.unpack_from('<II', d, at)
    struct.pack_into('<II', d, at, 1232, len(d))
    d.extend(d[where:where + size] + bytes(1232 - size))
def span(path):
    try:
        f = open(path, 'rb').read()
    except OSError:
        return 0
    off, = struct.unpack_from('<Q', f, 32)
    each, count = struct.unpack_from('<HH', f, 54)
    heads = [struct.unpack_from('<IIQQQQQQ', f, off + each * i) for i in range(count)]
    loads = [h for h in heads if h[0] == 1]
    return max(h[3] + h[6] for h in loads) - min(h[3] for h in loads)
for i in range(n):
    kind, size, r = struct.unpack_from('<III', d, rva + 12 * i)
    if kind == 3:
        for k in range(struct.unpack_from('<I', d, r)[0]):
            pad(r + 4 + 48 * k + 40)
    elif kind == 4:
        for k in range(struct.unpack_from('<I', d, r)[0]):
            m = r + 4 + 108 * k
            at, = struct.unpack_from('<I', d, m + 20)
            length, = struct.unpack_from('<I', d, at)
            size = span(d[at + 4:at + 4 + length].decode('utf-16-le'))
            if size:
                struct.pack_into('<I', d, m + 8, size)
    elif kind == 6:
        pad(r + 160)
open(sys.argv[1], 'wb').write(d)
PY
cat >walk.cc <<'EOT'
#include <csignal>
#include <cstdlib>
#include <cstring>
#define HERE asm volatile("" ::: "memory")
extern "C" __attribute__((noinline)) void last(int n) { volatile int *p = 0; if (n) *p = n; HERE; }
static void handler(int s) { last(s); HERE; }
__attribute__((noinline, force_align_arg_pointer)) int aligned(int n) {
  alignas(64) char room[256]; memset(room, n, sizeof room); raise(SIGUSR1); asm volatile("" : : "r"(room) : "memory");
  return room[n & 255]; }
static int compare(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b; if (x == 3 || y == 3) aligned(x); return x - y; }
__attribute__((noinline)) int sorted(int n) {
  int v[] = {n, 3, n + 2, 1}; qsort(v, 4, sizeof *v, compare); HERE; return v[0]; }
struct shape { virtual int area(int n) = 0; };
struct square : shape { int area(int n) override { int r = sorted(n); HERE; return r + n; } };
static inline int inlined(shape *s, int n) { int r = s->area(n) * 2; HERE; return r; }
int main(int argc, char **) { signal(SIGUSR1, handler); square s; int r = inlined(&s, argc); HERE; return r; }
EOT
g++ -g -O2 -fomit-frame-pointer -fcf-protection=none -no-pie -Wl,-z,lazy -Wl,--build-id=sha1 -o walk walk.cc ||
  fail "g++"
PLT=0x$(objdump -d -j .plt walk | sed -n '/<raise@plt>:/,/^$/s/^ *\([0-9a-f]*\):.*push .*/\1/p' | head -n 1)
[ "$PLT" != 0x ] || fail "no PLT: $(objdump -d -j .plt walk | head -n 20)"
NEXT=$(printf '0x%x' $((PLT + 5))) # behind the push, where the CFA is 8 bytes further away

dump() { # NAME COMMANDS...: stops the program, and writes NAME.dmp
  name=$1
  shift
  { printf '%s\n' "$@" continue "process save-core -s stack $TMP/$name.dmp" kill quit; } >"$name.lldb"
  PYTHONPATH=$(ls -d /usr/lib/llvm-*/lib/python3*/site-packages 2>/dev/null | tail -n 1) \
    timeout 600 lldb -b -s "$name.lldb" ./walk >"$name.log" 2>&1
  [ -s "$name.dmp" ] || skip "lldb cannot stop a program here, or writes no minidump: $(tail -n 1 "$name.log")"
  python3 pad.py "$name.dmp" || fail "pad.py $name.dmp"
}
dump crash 'process launch --stop-at-entry' 'process handle SIGUSR1 -s false -p true'
dump plt "breakpoint set -a $NEXT" 'process launch --stop-at-entry'

# ---- the files of the modules --------------------------------------------------------------------
# The C library's debug file, if this machine has it.
put() { # FILE
  id=$(build_id "$1")
  put_gdb up "$1"
  debug=/usr/lib/debug/$(gdb_path "$id" .debug)
  [ -f "$debug" ] && put_gdb up "$debug" .debug
}
mkdir -p up/.build-id
objcopy --only-keep-debug walk walk.debug && objcopy --strip-all walk walk.stripped || fail "objcopy"
put_gdb up walk.stripped
put_gdb up walk.debug .debug
for lib in $(ldd walk | grep -o '/[^ ]*'); do
  put "$(readlink -f "$lib")"
done
symfs_mount m --source "gdb@$TMP/up"
frames() { # DUMP SYMBOLS: a line for each frame: the function, and how it was found
  timeout 300 "$WALK" "$1" "$2" 2>/dev/null | sed -n '/^Thread 0/,/^Loaded/p' |
    sed -n 's/^ *[0-9][0-9]*  \(.*\)/\1/p; s/^ *Found by: /\t/p' | awk '/^\t/ { print name $0; next } { name = $0 }'
}
frames crash.dmp "$MNT_m/breakpad" >crash.ours
frames plt.dmp "$MNT_m/breakpad" >plt.ours
cat >want <<'EOT'
walk!last
walk!handler
walk!aligned
walk!compare
walk!sorted
walk!square::area
walk!inlined
walk!main
walk!_start
EOT
sed -n 's/^\(walk![A-Za-z:_]*\).*/\1/p' crash.ours | cmp -s - want || fail "the crash: $(cat crash.ours)"
sed 1,2d want >want.plt
sed -n 's/^\(walk![A-Za-z:_]*\).*/\1/p' plt.ours | grep -v '^walk!$' | tail -n 7 | cmp -s - want.plt ||
  fail "the PLT: $(cat plt.ours)"
for dump in crash plt; do
  grep -E 'scanning|frame pointer' $dump.ours && fail "$dump: not by unwind rules"
  say "$dump: $(wc -l <$dump.ours) frames, all by unwind rules or inline records"
done

# ---- symfs symbolicate: the same frames, by the files that symfs makes ---------------------------------
cat >addresses.py <<'PY'
import json, sys
for f in json.load(sys.stdin)['threads'][0]['frames']:
    print(f['address'], f['found'])
PY
for dump in crash plt; do
  "$SYMFS" symbolicate --no-default-sources --source "gdb@$TMP/up" --cache "$TMP/walked" $dump.dmp >$dump.text \
    2>$dump.log ||
    fail "symbolicate $dump.dmp"
  sed -n 's/^ *[0-9][0-9]*  walk  \([A-Za-z:_]*\).*/walk!\1/p' $dump.text >$dump.names
  "$SYMFS" symbolicate --no-default-sources --source "gdb@$TMP/up" --cache "$TMP/walked" --json $dump.dmp \
    2>$dump.log |
    python3 addresses.py >$dump.found
  grep -vE ' (context|cfi)$' $dump.found && fail "symbolicate $dump.dmp: not by unwind rules: $(cat $dump.text)"
  timeout 300 "$WALK" $dump.dmp "$MNT_m/breakpad" 2>/dev/null | sed -n '/^Thread 0/,/^Thread 1/p' |
    grep -o 'rip = 0x[0-9a-f]*' | sed 's/rip = 0x0*/0x/' | uniq >$dump.rips
  sed 's/ .*//' $dump.found | cmp -s - $dump.rips ||
    fail "symbolicate $dump.dmp: other frames: $(cat $dump.text $dump.rips)"
  say "symbolicate $dump.dmp: $(wc -l <$dump.found) frames, as minidump_stackwalk finds them"
done
sort -u want >want.sorted
sort -u crash.names | cmp -s - want.sorted || fail "symbolicate crash.dmp: $(cat crash.text)"

# ---- made beforehand -------------------------------------------------------------------------------
upstream_start up --root "$TMP/up"
"$SYMFS" warm --breakpad --no-default-sources --source "gdb@$URL_up" --cache "$TMP/store-warm" crash.dmp >warm.out \
  2>warm.err ||
  fail "warm --breakpad: $(cat warm.err)"
grep -q '/walk	.*sym [0-9.]* [KM]B' warm.out || fail "warm --breakpad: $(cat warm.out)"
symfs_mount warmed --cache "$TMP/store-warm" --offline
frames crash.dmp "$MNT_warmed/breakpad" >crash.warmed
cmp -s crash.ours crash.warmed || fail "after warm: $(diff crash.ours crash.warmed | head -n 10)"
symfs_umount warmed

# ---- the same with the files of dump_syms ----------------------------------------------------------
DUMP=$(PATH=$PATH:$TOOLS/bin command -v dump_syms)
[ -n "$DUMP" ] || { say "no dump_syms to compare with"; exit 0; }
for file in walk $(ldd walk | grep -o '/[^ ]*'); do
  "$DUMP" -d -m "$(readlink -f "$file")" >one.sym 2>/dev/null || continue
  set -- $(head -n 1 one.sym)
  mkdir -p "theirs/$5/$4" && mv one.sym "theirs/$5/$4/$5.sym"
done
for dump in crash plt; do
  frames $dump.dmp theirs >$dump.theirs
  n=$(grep -c '^walk!' $dump.theirs)
  [ "$n" -le "$(grep -c '^walk!' $dump.ours)" ] || fail "$dump: dump_syms finds more: $(cat $dump.theirs)"
  say "$dump: with dump_syms $(wc -l <$dump.theirs) frames, $(grep -c scanning $dump.theirs) by scanning, $n of the" \
    "program's (here $(grep -c '^walk!' $dump.ours))"
done
symfs_umount m
