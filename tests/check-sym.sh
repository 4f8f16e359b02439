#!/bin/sh
# Breakpad files made by `symfs sym`. GSYM of such a file answers as GSYM of the debug information it was made of;
# the strict reader symbolic takes every file; records are in order of address and do not overlap; Breakpad's own
# dump_syms, where it is installed, has the same functions. By hand, with more addresses:
#	SYMFS_SYM_ADDRESSES=100000 SYMFS_SYM_FILES="/usr/lib/debug/x.debug y.debug" tests/check-sym.sh
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need gcc g++ objcopy python3
AGREE=$top_builddir/tests/helpers/sym-agree
SHARED=$top_srcdir/../shared
ORACLE=$SHARED/tools/oracle/symcache
N=${SYMFS_SYM_ADDRESSES:-10000}
cd "$TMP" || exit 1

# The records of a file: order, overlaps, numbers of files and origins.
cat >records.py <<'PY'
import sys
files, origins, end, last, size, n, stack = set(), set(), 0, 0, 0, 0, False
for number, line in enumerate(open(sys.argv[1], encoding="utf-8", errors="surrogateescape"), 1):
    w = line.rstrip("\n").split(" ")
    def bad(why): sys.exit("%s:%d: %s: %s" % (sys.argv[1], number, why, line[:100]))
    if number == 1 and w[0] != "MODULE": bad("no MODULE")
    if w[0] == "STACK": stack = True
    elif stack: bad("behind a STACK record")
    if w[0] == "FILE": files.add(w[1])
    elif w[0] == "INLINE_ORIGIN": origins.add(w[1])
    elif w[0] in ("FUNC", "PUBLIC"):
        m = w[1] == "m"
        at = int(w[1 + m], 16)
        if at < end: bad("begins in the function before it")
        n += 1
        start, end = at, at + (int(w[2 + m], 16) if w[0] == "FUNC" else 1)
        if end == at: bad("empty")
        last = at
    elif w[0] == "INLINE":
        if w[4] not in origins: bad("no such origin")
        for i in range(5, len(w), 2):
            a, s = int(w[i], 16), int(w[i + 1], 16)
            if a < start or a + s > end or not s: bad("outside of its function")
    elif w[0] not in ("MODULE", "INFO", "STACK"):
        a, s = int(w[0], 16), int(w[1], 16)
        if a < last or a + s > end or not s: bad("outside of its function, or not in order")
        if w[3] not in files and int(w[3]) != len(files): bad("no such file")
        last = a + s
print(n)
PY

agree() { # WHAT DEBUG SYM
  "$SYMFS" gsym create -o "$1.debug.gsym" "$2" 2>"$1.log" || fail "$1: gsym of the debug information: $(cat "$1.log")"
  "$AGREE" "$1.debug.gsym" "$3" "$N" "${SYMFS_TEST_SEED:-1}" >"$1.log" || fail "$1: $(cat "$1.log")"
  say "$1: $(tail -n 1 "$1.log")"
}
strict() { # WHAT SYM
  n=$(python3 records.py "$2") || fail "$1: records"
  [ "$n" -gt 0 ] || fail "$1: no functions"
  "$ORACLE" </dev/null >/dev/null 2>&1 || return 0
  id=$(head -n 1 "$2" | cut -d ' ' -f 4)
  printf '%s\t%s\t0 4096\n' "$2" "$id" | "$ORACLE" >oracle.out 2>&1
  case $(cat oracle.out) in *'"err"'* | null) fail "$1: symbolic: $(head -c 300 oracle.out)" ;; esac
}
both() { # WHAT DEBUG [FILE...]: `symfs sym` of the files, then all comparisons
  what=$1 debug=$2
  shift
  "$SYMFS" sym -o "$what.sym" "$@" 2>"$what.log" || fail "$what: $(cat "$what.log")"
  strict "$what" "$what.sym"
  agree "$what" "$debug" "$what.sym"
}

# ---- programs of our own -------------------------------------------------------------------------
cat >prog.cc <<'EOT'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
#include <cstdio>
#include <cstdlib>
namespace shapes {
template <class T> struct box {
  T v; static inline T twice(T x) { return x + x; } T get() const { return twice(v); } };
struct base { virtual ~base() {} virtual int area() const = 0; };
struct square : base { int n; square(int n) : n(n) {}
  int area() const override { if (n < 0) abort(); return box<int>{n}.get() * n; } };
struct round : base { int n; round(int n) : n(n) {} int area() const override { return 3 * n * n; } };
}
static int count(const std::map<std::string, int> &m, const std::string &k) {
  auto i = m.find(k); return i == m.end() ? 0 : i->second; }
int main(int argc, char **argv) {
  std::vector<shapes::base *> all;
  std::map<std::string, int> words;
  for (int i = 0; i < argc; i++) { words[argv[i]]++;
    if (i & 1) all.push_back(new shapes::square(i)); else all.push_back(new shapes::round(i)); }
  std::sort(all.begin(), all.end(), [](auto *a, auto *b) { return a->area() < b->area(); });
  int sum = 0;
  for (auto *s : all) { sum += s->area(); delete s; }
  if (sum == 12345) { fprintf(stderr, "rare\n"); exit(count(words, argv[0])); }
  return sum + count(words, "x");
}
EOT
build() { g++ "$@" -Wl,--build-id=sha1 prog.cc || fail "g++ $*"; }
build -g -O2 -o o2
build -g -O0 -no-pie -o o0
build -g1 -O2 -o lines
build -g -O2 -gdwarf-4 -gsplit-dwarf -c -o split.o && g++ -Wl,--build-id=sha1 -o split split.o
build -g -O2 -gz -o packed
for p in o2 o0 lines split packed; do both "$p" "$p"; done
[ "$(head -c 13 o2.sym)" = "MODULE Linux " ] || fail "o2: $(head -n 1 o2.sym)"
id=$(readelf -n o2 | sed -n 's/.*Build ID: //p' | tr a-f A-F)
grep -qx "INFO CODE_ID $id" o2.sym || fail "o2: no code id"
grep -q '^INFO GENERATOR symfs [0-9]' o2.sym || fail "o2: no generator"
head -n 1 o2.sym | grep -q ' o2$' || fail "o2: $(head -n 1 o2.sym)"
grep -q '^FUNC [0-9a-f]* [0-9a-f]* 0 shapes::square::area() const$' o2.sym || fail "o2: no demangled name"
grep -q '^INLINE_ORIGIN [0-9]* std::vector<shapes::base\*, .*>::~vector()$' o2.sym || fail "o2: no inlined call"

# Lines that begin behind the first instructions of a function, as GCC has them in parts that it moved away: the
# inlined call before them is found, without a line.
cat >late.c <<'EOT'
volatile int sink;
static inline __attribute__((always_inline)) int inner(int x) { sink = x; sink = x + 1; sink = x + 2; return sink; }
int outer(int x) { return inner(x); }
int main(int argc, char **argv) { return outer(argc); }
EOT
gcc -g -O2 -fno-var-tracking -ffunction-sections -S late.c || fail "gcc late.c"
awk '$1 == "outer:" { late = 3 } late && /^\t[a-z]/ { late-- } !late || $1 != ".loc"' late.s >later.s
gcc -g -Wl,--build-id -o late later.s || fail "gcc later.s"
at=$(nm late | sed -n 's/^0*\([0-9a-f]*\) T outer$/\1/p')
both late late
[ "$("$SYMFS" gsym lookup "0x$at" late.debug.gsym)" = "0x$at	inner < outer@$TMP/late.c:3" ] ||
  fail "late: $("$SYMFS" gsym lookup "0x$at" late.debug.gsym)"
grep -qE "^$at [0-9a-f]+ 0 [0-9]+$" late.sym || fail "late: $(grep -A 6 "^FUNC $at " late.sym)"

# Many units: memory of those that were read is given back, also of unpacked sections, and the output stays the same.
sed 's/^int main/static int once/' prog.cc >unit.cc &&
  echo 'namespace shapes { int run(char **v) { return once(2, v); } }' >>unit.cc
g++ -g -O2 -fPIC -c -o unit.o unit.cc || fail "g++ unit.cc"
python3 - <<'PY' || fail "copies"
data = open("unit.o", "rb").read()
size = max(len(data), 1)
for n in range(12 + (64 << 20) // size):
    open("copy%03d.o" % n, "wb").write(data.replace(b"shapes", b"sha%03d" % n))
PY
g++ -shared -Wl,--build-id -o many copy*.o && rm copy*.o || fail "g++ many"
objcopy --compress-debug-sections=zlib many many.packed || fail "objcopy"
"$SYMFS" sym --name many -o many.sym many && "$SYMFS" sym --name many -o packed.sym many.packed || fail "many units"
same_file many.sym packed.sym
strict many many.sym
agree many many many.sym
say "many units: $(grep -c '^FUNC' many.sym) functions in $(($(wc -c <many) >> 20)) MiB"

# Both files of a module make the same output as the file with both parts.
objcopy --only-keep-debug o2 o2.debug && objcopy --strip-all o2 o2.stripped || fail "objcopy"
mkdir stripped && mv o2.stripped stripped/o2
"$SYMFS" sym o2.debug stripped/o2 >two.sym || fail "two files"
same_file o2.sym two.sym
"$SYMFS" sym stripped/o2 o2.debug | cmp -s - o2.sym || fail "the order of files makes a difference"
"$SYMFS" sym --store symbols o2 o0 || fail "--store"
same_file o2.sym "symbols/o2/$(head -n 1 o2.sym | cut -d ' ' -f 4)/o2.sym"
same_file o0.sym "symbols/o0/$(head -n 1 o0.sym | cut -d ' ' -f 4)/o0.sym"
"$SYMFS" sym o2 o0 >/dev/null 2>&1 && fail "two modules in one output"
"$SYMFS" sym --name other.so o2 | head -n 1 | grep -q ' other\.so$' || fail "--name"
# Without debug information: PUBLIC records of the symbol table.
objcopy --strip-debug o2 stripped/table
"$SYMFS" sym stripped/table >table.sym || fail "the symbol table"
strict table table.sym
"$SYMFS" sym --cfi-only stripped/o2 >cfi.sym || fail "--cfi-only"
grep '^STACK' o2.sym >stack.want
[ "$(wc -l <stack.want)" -ge 20 ] || fail "too few unwind rules: $(wc -l <stack.want)"
grep '^STACK' cfi.sym | cmp -s - stack.want || fail "--cfi-only has other rules"
! grep -qvE '^(MODULE|INFO|STACK) ' cfi.sym ||
  fail "--cfi-only: $(grep -vE '^(MODULE|INFO|STACK) ' cfi.sym | head -n 3)"
"$SYMFS" sym --counts --cfi-only stripped/o2 2>counts >counted.sym || fail "--counts"
same_file cfi.sym counted.sym
grep -qE '^symfs sym: .*stripped/o2: unwind rules: functions [1-9][0-9]*, rows ([1-9][0-9]*), said \1' counts ||
  fail "--counts: $(cat counts)"
"$SYMFS" sym o2.debug >names.sym || fail "a debug file"
grep -q '^INFO UNWIND none$' names.sym || fail "a debug file: $(head -n 4 names.sym)"
! grep -q '^STACK' names.sym || fail "a debug file has no unwind rules"
"$SYMFS" sym --cfi-only o2.debug >/dev/null 2>&1 && fail "--cfi-only of a debug file"
grep -q '^PUBLIC [0-9a-f]* 0 main$' table.sym || fail "no PUBLIC main"
! grep -q '^FUNC' table.sym || fail "FUNC without debug information"
if command -v dwz >/dev/null; then
  cp o2 dwz1 && cp lines dwz2 && dwz -m common dwz1 dwz2 2>/dev/null && both dwz dwz1
fi
gcc -g -shared -fPIC -Wl,-soname,libnamed.so.3 -Wl,--build-id -x c - -o plain.so <<'EOT' || fail "gcc"
int named(int x) { return x + 1; }
EOT
"$SYMFS" sym plain.so | head -n 1 | grep -q ' libnamed\.so\.3$' || fail "the name of a library"
"$SYMFS" sym /dev/null 2>/dev/null && fail "an empty file"
"$SYMFS" sym o2.sym 2>/dev/null && fail "a Breakpad file"
[ "$("$SYMFS" sym o2 o2.debug | md5sum)" = "$("$SYMFS" sym o2 | md5sum)" ] || fail "the output changes"

# ---- other formats -------------------------------------------------------------------------------
[ -d "$SHARED/fixtures/pdb" ] || part_skipped "no ../shared/fixtures/pdb: Breakpad files of PDBs of MSVC"
for pdb in "$SHARED"/fixtures/pdb/fixtures/*.pdb; do
  [ -f "$pdb" ] || continue
  what=$(basename "$pdb" .pdb)
  "$SYMFS" gsym create -o "$what.gsym" "$pdb" 2>/dev/null || continue
  both "pdb-$what" "$pdb"
done

# ---- files that the variable names -----------------------------------------------------------------
for f in ${SYMFS_SYM_FILES:-}; do
  both "$(basename "$f")" "$f"
done

# ---- names of Microsoft's C++: public symbols of a PDB, exports of a DLL -------------------------
if command -v clang++ >/dev/null && command -v lld-link >/dev/null; then
  cat >w.cc <<'EOT'
namespace ns {
struct C {
  __declspec(dllexport) int work(const char *, int x) const;
};
int C::work(const char *, int x) const { return x + 1; }
}
extern "C" int start(void) { return ns::C().work("", 1); }
EOT
  clang++ -target x86_64-pc-windows-msvc -c w.cc &&
    lld-link /nologo /dll /nodefaultlib /entry:start /debug /pdb:w.pdb /out:w.dll w.o || fail "no w.dll"
  for f in w.pdb w.dll; do
    "$SYMFS" sym "$f" | grep -Eq '^(FUNC|PUBLIC) .* 0 ns::C::work\(char const \*, int\) const$' ||
      fail "$f: no demangled name"
  done
else
  part_skipped "no clang++ or lld-link: names of Microsoft's C++"
fi

# ---- what Breakpad's dump_syms says --------------------------------------------------------------
DUMP=$(PATH=$PATH:$TOOLS/bin command -v dump_syms)
[ -n "$DUMP" ] || { say "no dump_syms: functions are not compared with it"; exit 0; }
for p in o2 o0; do
  "$DUMP" -d "$p" >"$p.other" 2>/dev/null || fail "dump_syms $p"
  grep '^FUNC' "$p.other" | sed 's/^FUNC m /FUNC /' | cut -d ' ' -f 2,3 | sort >want
  grep '^FUNC' "$p.sym" | sed 's/^FUNC m /FUNC /' | cut -d ' ' -f 2,3 | sort >got
  comm -23 want got >missing
  [ -s missing ] && fail "$p: dump_syms has functions at $(head -n 5 missing | tr '\n' ';')"
  say "$p: the $(wc -l <want) functions of dump_syms, and $(comm -13 want got | wc -l) more"
done
exit 0
