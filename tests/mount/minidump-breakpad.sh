#!/bin/sh
# Minidumps that Breakpad's own library writes of a C++ program, -O2, with inlined and virtual calls and two threads:
# of a SIGSEGV, and of an abort() in the second thread. symfs symbolicate has the frames that minidump_stackwalk
# finds with the files of symfs sym, each by the same rule. With the files of dump_syms it finds no more. The library
# is built here, from the sources that scripts/setup fetches. SYMFS_SAMPLES=yes prints all frames.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need g++ ar objcopy readelf python3 ldd
[ "$(uname -m)" = x86_64 ] || skip "minidump_stackwalk and dump_syms are of x86-64"
tool minidump_stackwalk
WALK=$TOOL
tool dump_syms
DUMP=$TOOL
BREAKPAD=$TOOLS/bin/breakpad
why=$(cat "$TOOLS/breakpad.failed" 2>/dev/null || echo "scripts/setup clients fetches them")
[ -d "$BREAKPAD/src/client/linux" ] || skip "no sources of Breakpad in $BREAKPAD: $why"
cd "$TMP" || exit 1

# ---- the library ---------------------------------------------------------------------------------
sources=$(sed -n '/^src_client_linux_libbreakpad_client_a_SOURCES/,/[^\\]$/p' "$BREAKPAD/Makefile.am" |
  grep -o 'src/[^ ]*\.cc')
[ "$(echo "$sources" | wc -l)" -ge 15 ] || fail "Breakpad's Makefile.am lists: $sources"
mkdir objects
for file in $sources; do
  object=objects/$(echo "$file" | tr / _).o
  g++ -c -w -O1 -DHAVE_GETCONTEXT -I"$BREAKPAD/src" -o "$object" "$BREAKPAD/$file" 2>build.log || fail "g++ $file"
done
ar rcs libclient.a objects/*.o || fail ar

# ---- the program ---------------------------------------------------------------------------------
# The thread that does not crash sleeps in the kernel, so that its stack is the same in every run.
cat >crash.cc <<'EOC'
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <sys/syscall.h>
#include <unistd.h>
#include "client/linux/handler/exception_handler.h"
#define HERE asm volatile("" ::: "memory")
#define ALWAYS __attribute__((always_inline))
namespace shop {
static volatile int *nothing;
struct item {
  virtual ~item() = default;
  virtual int price(int n) const = 0;
};
static inline ALWAYS int read_tag(const volatile int *p, int n) { return p[n] + n; }
struct broken final : item {
  int price(int n) const override { int r = read_tag(n > 2 ? nothing : &n, n) * 2; HERE; return r; }
};
struct bundle final : item {
  std::vector<std::unique_ptr<item>> parts;
  int price(int n) const override { int r = 0; for (auto &p : parts) r += p->price(n + 1); HERE; return r; }
};
template <typename T> __attribute__((noinline)) T total(const item &i, T n) { T r = i.price(n); HERE; return r + 1; }
static inline ALWAYS int checked(const item &i, int n) { int r = total<int>(i, n) * 3; HERE; return r; }
__attribute__((noinline)) void refuse(const std::string &why) { if (!why.empty()) abort(); HERE; }
static inline ALWAYS void check(int n) { if (n > 1) refuse("n is " + std::to_string(n)); HERE; }
__attribute__((noinline)) void audit(int n) {
  auto step = [&](int k) { check(n + k); HERE; };
  for (int i = 0; i < 5; i++)
    step(i);
  HERE;
}
}
static std::atomic<int> thread_id{0};
static void wait_asleep(int thread)
{
  char state = 0;
  while (state != 'S') {
    FILE *f = fopen(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), "r");
    if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
      exit(3);
    fclose(f);
    std::this_thread::yield();
  }
}
static bool written(const google_breakpad::MinidumpDescriptor &, void *, bool ok) { return ok; }
int main(int argc, char **argv)
{
  google_breakpad::MinidumpDescriptor where(argv[1]);
  google_breakpad::ExceptionHandler handler(where, nullptr, written, nullptr, true, -1);
  bool aborts = argc > 2;
  std::thread other([=] {
    thread_id = syscall(SYS_gettid);
    if (aborts) {
      wait_asleep(getpid());
      shop::audit(argc);
    }
    for (;;)
      std::this_thread::sleep_for(std::chrono::seconds(600));
  });
  if (aborts)
    other.join();
  while (!thread_id)
    std::this_thread::yield();
  wait_asleep(thread_id);
  auto inner = std::make_unique<shop::bundle>();
  inner->parts.push_back(std::make_unique<shop::broken>());
  shop::bundle outer;
  outer.parts.push_back(std::move(inner));
  int r = shop::checked(outer, argc - 1);
  HERE;
  return r;
}
EOC
# The names of the program's frames, the innermost first, without namespaces, parameters and what libstdc++ inlines.
want_segv='read_tag price price price total checked main _start'
want_abort='refuse check audit'

sym() { # FILE: its Breakpad file by symfs in ours/, and by dump_syms in theirs/
  for sy_dir in ours theirs; do
    case $sy_dir in
    ours) "$SYMFS" sym -o one.sym "$1" 2>sym.log || fail "symfs sym $1" ;;
    theirs) "$DUMP" -d -m "$1" >one.sym 2>/dev/null || fail "dump_syms $1" ;;
    esac
    read -r _ _ _ sy_id sy_name <one.sym
    mkdir -p "$sy_dir/$sy_name/$sy_id" && mv one.sym "$sy_dir/$sy_name/$sy_id/$sy_name.sym"
  done
}

# ---- compares the frames of three tools -----------------------------------------------------------
cat >compare.py <<'PY'
import json, os, re, subprocess, sys
walk, dump, answer, want = sys.argv[1:5]
HOW = {'given as instruction pointer in context': 'context', 'call frame info': 'cfi', 'stack scanning': 'scan',
       "previous frame's frame pointer": 'fp', 'inline record': 'inline'}
bad = []

def short(name):
    """The last identifier of a function's name: no scopes, parameters, template arguments."""
    name = re.sub(r' \[clone .*|\.cold$', '', name).replace('operator()', 'operator')
    old = None
    while old != name:
        old, name = name, re.sub(r'<[^<>]*>|\([^()]*\)|\{[^{}]*\}', '', name)
    return re.sub(r'^.*(::| )', '', re.sub(r'( const|\s)+$', '', name))

def stackwalk(symbols):
    """The frames of each thread: lists of calls (module, function, file, line), with address and rule."""
    def run(*options):
        return subprocess.run([walk, *options, dump, symbols], capture_output=True, text=True, timeout=300).stdout
    threads = {}
    for line in run('-m').split('\n'):
        f = line.split('|')
        if len(f) == 7 and f[0].isdigit():
            threads.setdefault(int(f[0]), []).append(((f[2], f[3], f[4], f[5]), []))
    thread = call = None
    for line in run().split('\n'):
        if m := re.match(r'Thread (\d+)', line):
            thread, call = int(m[1]), -1
        elif line.startswith('Loaded modules'):
            break
        elif re.match(r' *\d+  ', line):
            call += 1
        elif m := re.search(r'\brip = 0x([0-9a-f]+)', line):
            threads[thread][call][1].append(int(m[1], 16))
        elif m := re.match(r' +Found by: (.*)', line):
            threads[thread][call][1].append(HOW[m[1]])
    out = {}
    for number, calls in threads.items():
        out[number], chain = [], []
        for call, facts in calls:
            chain.append(call)
            if facts[-1] == 'inline':
                continue
            out[number].append((facts[0], facts[-1], chain))
            chain = []
    return out

def symbolicate():
    doc = json.load(open(answer))
    out = {}
    for number, (thread, stack) in enumerate(zip(doc['threads'], doc['answer']['results'][0]['stacks'])):
        out[number] = []
        for frame, named in zip(thread['frames'], stack):
            module = named['module']
            chain = [(module, f.get('function', ''), f.get('file', ''), str(f.get('line', '')))
                     for f in [*named.get('inlines', []), named]]
            out[number].append((int(frame['address'], 16), frame['found'], chain, int(named['module_offset'], 16)))
    return out, [t['crashed'] for t in doc['threads']].index(True), doc['reason']

def is_in_symbol(module, offset):
    """Whether a function of the library's dynamic symbols has the offset."""
    path = [p for p in sys.argv[5:] if os.path.basename(p).startswith(module)]
    text = subprocess.run(['readelf', '--dyn-syms', '-W', *path], capture_output=True, text=True).stdout
    for line in text.split('\n'):
        f = line.split()
        if len(f) >= 8 and f[3] in ('FUNC', 'IFUNC') and f[6] != 'UND':
            start, size = int(f[1], 16), int(f[2], 0)
            if start <= offset < start + size:
                return True
    return False

ours, crashed, reason = symbolicate()
own, theirs = stackwalk('ours'), stackwalk('theirs')
n = dict.fromkeys(('frames', 'calls', 'near', 'same', 'lines', 'theirs', 'lost', 'beyond'), 0)
for t, frames in ours.items():
    # The same frames by the files of symfs sym: address, rule, and each call.
    if [f[0] for f in frames] != [f[0] for f in own[t]]:
        bad.append(f'thread {t}: other frames: {frames} {own[t]}')
        continue
    for (address, found, chain, offset), (_, by, other) in zip(frames, own[t]):
        n['frames'] += 1
        n['calls'] += len(chain)
        if found != by:
            bad.append(f'thread {t} {address:#x}: found by {found}, minidump_stackwalk by {by}')
        if chain == other:
            continue
        # A PUBLIC record has no size: the walker also names what is behind the function.
        module, function = chain[0][:2]
        nameless = not function and len(other) == 1 and other[0][0] == module and not other[0][2]
        if nameless and module != 'crash' and not is_in_symbol(module, offset):
            n['near'] += 1
        else:
            bad.append(f'thread {t} {address:#x}: {chain}, minidump_stackwalk {other}')
    # dump_syms: the same frames, as far as symfs has them. Its rules do not end the stack, so there may be one more.
    if [f[0] for f in frames] != [f[0] for f in theirs[t][:len(frames)]] or len(theirs[t]) > len(frames) + 1:
        bad.append(f'thread {t}: other frames than with dump_syms: {frames} {theirs[t]}')
        continue
    for _, _, other in theirs[t][len(frames):]:
        n['beyond'] += 1
        if other[0][0]:
            bad.append(f'thread {t}: with dump_syms one more frame: {other}')
    for (address, found, chain, _), (_, by, other) in zip(frames, theirs[t]):
        if chain[0][0] != 'crash':
            continue
        n['theirs'] += 1
        if (found, short(chain[-1][1])) != (by, short(other[-1][1])):
            bad.append(f'thread {t} {address:#x}: {found} {chain}, with dump_syms {by} {other}')
        if other[0][2] and other[0][2:] != chain[0][2:]:
            bad.append(f'thread {t} {address:#x}: {chain}, with dump_syms the line {other[0]}')
        n['lines'] += bool(other[0][2])
        n['lost'] += len(chain) - len(other)
        names = [short(c[1]) for c in chain]
        for call in other:
            if short(call[1]) not in names:
                bad.append(f'thread {t} {address:#x}: {chain}, dump_syms has the call {call}')
names = [short(c[1]) for f in ours[crashed] for c in f[2] if c[0] == 'crash']
left = iter(names)
if not all(name in left for name in want.split()):
    bad.append(f'the program has the calls {names}, not {want}')
if any(f[1] not in ('context', 'cfi') for frames in ours.values() for f in frames):
    bad.append('frames that are found without rules')
print(f"{reason.split(' at ')[0]}, thread {crashed} of {len(ours)}: {n['frames']} frames, {n['calls']} calls; with "
      f"symfs sym the same, but {n['near']} outside of all symbols have the name of the one before; with dump_syms "
      f"{n['theirs']} frames of the program by the same rules and names, {n['lines']} of them with the same line, "
      f"{n['lost']} calls fewer, {n['beyond']} frames behind the end of a stack")
if os.environ.get('SYMFS_SAMPLES') == 'yes':
    for t, frames in ours.items():
        for (address, found, chain, _), (_, by, other) in zip(frames, theirs[t]):
            print(f'{t} {address:#x}', found, chain, '| dump_syms:', by, other)
print('\n'.join(bad))
sys.exit(1 if bad else 0)
PY

# ---- the crashes ---------------------------------------------------------------------------------
libraries=
for version in 4 5; do
  g++ -std=gnu++17 -g -gdwarf-$version -O2 -Wl,--build-id=sha1 -I"$BREAKPAD/src" -o crash crash.cc libclient.a \
    -lpthread 2>build.log || fail "g++ crash.cc"
  sym crash
  objcopy --only-keep-debug crash crash.debug && objcopy --strip-all crash crash.stripped || fail objcopy
  put_gdb up crash.stripped
  put_gdb up crash.debug .debug
  [ -n "$libraries" ] || for lib in $(ldd crash | grep -o '/[^ ]*'); do
    lib=$(readlink -f "$lib")
    libraries="$libraries $lib"
    put_gdb up "$lib"
    sym "$lib"
  done
  for how in segv abort; do
    dir=$how-$version
    mkdir "$dir"
    set -- "$dir"
    [ $how = segv ] || set -- "$dir" abort
    { (ulimit -c 0; timeout 600 ./crash "$@" >run.log 2>&1); } 2>/dev/null
    status=$?
    set -- "$dir"/*.dmp
    [ -s "$1" ] || skip "Breakpad writes no minidump here: exit status $status, $(tail -n 1 run.log)"
    "$SYMFS" symbolicate --json --demangle --no-default-sources --source "gdb@$TMP/up" --cache store "$1" \
      >answer.json 2>symbolicate.log || fail "symbolicate $how"
    case $how in segv) want=$want_segv ;; *) want=$want_abort ;; esac
    # shellcheck disable=SC2086
    python3 compare.py "$WALK" "$1" answer.json "$want" $libraries >compared 2>&1 ||
      fail "$how, DWARF $version: $(cat compared)"
    say "$how, DWARF $version: $(cat compared)"
  done
done
