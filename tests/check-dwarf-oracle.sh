#!/bin/sh
# Compares our DWARF reader with libdwarf: both must find the same functions, inlined calls and
# lines in programs that compilers make here.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
helpers=$(cd "${top_builddir:-.}" && pwd)/tests/helpers
[ -x "$helpers/dwarf-oracle" ] || skip "no libdwarf: scripts/setup test installs libdwarf-dev"
need gcc g++
cd "$TMP" || exit 1

cat >shared.h <<'C'
#include <map>
#include <string>
#include <vector>
struct base { virtual ~base() {} virtual int first(int x) { return x; } long room; };
struct both : base { int first(int x) override; std::string name; };
template <int N> int work(std::map<int, std::vector<int>> &m, int x) {
  m[x % N].push_back(x);
  return static_cast<int>(m.size()) + work<N - 1>(m, x + N);
}
template <> inline int work<0>(std::map<int, std::vector<int>> &, int x) { return x; }
C
cat >a.cc <<'C'
#include "shared.h"
namespace ns {
struct box { static inline int twice(int x) { return x * 2; } int area(int x); };
static inline __attribute__((always_inline)) int inner(volatile int *x) {
  if (*x & 1) { int y = *x * 3; return box::twice(y) + *x; }
  return *x;
}
int box::area(int x) { volatile int v = x; return inner(&v) + inner(&v); }
}
static int __attribute__((noinline, cold)) rare(int x) { return x ? x - 1 : 7; }
int both::first(int x) {
  auto f = [this](int y) { return static_cast<int>(name.size()) + y; }; return f(x) + rare(x); }
int unused(int x) { return ns::box().area(x); }
C
cat >b.cc <<'C'
#include "shared.h"
int main(int n, char **) {
  std::map<int, std::vector<int>> m;
  both b;
  return work<12>(m, n) + b.first(n);
}
C
cat >a.c <<'C'
#include <stdlib.h>
#include <string.h>
static inline int add(int a, int b)
{
  volatile int v = a;
  return v * b + v;
}
static int __attribute__((noinline)) walk(const char *s)
{
  int n = 0;
  while (*s)
    n = add(n, *s++);
  return n;
}
int unused(void)
{
  return walk("unused");
}
int twice(const char *s);
int twice(const char *s)
{
  char *t = strdup(s);
  int n = walk(t) + add(walk(s), 3);
  free(t);
  return n;
}
C
cat >b.c <<'C'
int twice(const char *s);
int main(int n, char **v)
{
  for (int i = 0; i < n; i++)
    n += twice(v[i]);
  return n;
}
C

build() { # NAME LANGUAGE COMPILER FLAGS...: of two units; sources by their full path, as builds have them
  name=$1 ext=$2 compiler=$3
  shift 3
  "$compiler" "$@" -c -o a.o "$TMP/a.$ext" && "$compiler" "$@" -c -o b.o "$TMP/b.$ext" &&
    "$compiler" "$@" -o "$name" a.o b.o
}
facts() { # what our reader finds; LeakSanitizer looks, too
  "$helpers/dwarf-facts" "$@" >found || fail "$*: our reader"
  LC_ALL=C sort -u found
}
oracle() { # what libdwarf finds; it is not for us to find its leaks
  ASAN_OPTIONS=detect_leaks=0 "$helpers/dwarf-oracle" "$@" >found || fail "$*: libdwarf"
  LC_ALL=C sort -u found
}
# differences WANTED GOT: where libdwarf is not sure of the file, address and line count
differences() {
  awk 'NR == FNR { if ($4 ~ /^[?]:/) unsure[$2, $3] = 1; next }
    $1 == "row" && ($2, $3) in unsure { sub(/ [^ ]*:/, " ?:") } { print }' "$1" "$2" >sure
  LC_ALL=C sort -u sure | diff "$1" -
}
tried=0
same() { # NAME
  [ "$(grep -c '^func' want)" -ge 3 ] && [ "$(grep -c '^row' want)" -ge 10 ] ||
    fail "$*: libdwarf finds next to nothing"
  differences want got >differ || fail "$*: libdwarf <, symfs >: $(head -n 12 differ)"
  say "$*: $(grep -c '^func' want) functions, $(grep -c '^call' want) inlined calls, $(grep -c '^row' want) rows"
  tried=$((tried + 1))
}
agree() { # FILE
  oracle "$1" >want
  facts "$1" >got
  same "$1"
}
calls() { [ "$(grep -c '^call' want)" -ge "$1" ] || fail "$name: only $(grep -c '^call' want) inlined calls"; }

for v in 2 3 4 5; do
  build "c-$v" c gcc "-gdwarf-$v" -O2 || fail "gcc -gdwarf-$v"
  agree "c-$v"
  calls 2
done
build c-O0 c gcc -g -O0 && agree c-O0
for v in 4 5; do
  build "cxx-$v" cc g++ "-gdwarf-$v" -O2 || fail "g++ -gdwarf-$v"
  agree "cxx-$v"
  calls 100
done
build cxx-sections cc g++ -g -O1 -ffunction-sections -Wl,--gc-sections && agree cxx-sections
build cxx-lto cc g++ -g -O2 -flto && agree cxx-lto
calls 100
if command -v clang++ >/dev/null; then
  build clang-5 cc clang++ -gdwarf-5 -O2 || fail "clang++ -gdwarf-5"
  # libdwarf leaves out the rows that begin an epilogue, as llvm-dwarfdump shows; newer versions of clang mark them.
  if llvm-dwarfdump --debug-line clang-5 2>/dev/null | grep -q epilogue_begin; then
    oracle clang-5 | grep -v '^row' >want
    facts clang-5 | grep -v '^row' >got
    diff want got >differ || fail "clang-5: libdwarf <, symfs >: $(head -n 12 differ)"
    say "clang-5: its lines are not compared"
  else
    agree clang-5
  fi
  calls 100
fi
if command -v dwz >/dev/null; then
  dwz -o dwz-4 cxx-4 || fail "dwz"
  agree dwz-4
  calls 100
fi
# Split units: Debian 12's libdwarf does not open a .dwo file, so it reads the same program without one.
for v in 4 5; do
  for split in -gsplit-dwarf -gno-split-dwarf; do
    g++ "-gdwarf-$v" $split -O2 -c -o a.o -dumpbase split "$TMP/a.cc" && g++ -O2 -c -o b.o "$TMP/b.cc" &&
      g++ -o "a$split-$v" a.o b.o || fail "g++ $split"
  done
  oracle "a-gno-split-dwarf-$v" >want
  facts "a-gsplit-dwarf-$v" split.dwo >got
  same "a-gsplit-dwarf-$v"
  calls 3
done
[ $tried -ge 10 ] || fail "only $tried programs"

# It can fail: another program, and a row less.
oracle c-5 >want
facts c-O0 >got
differences want got >/dev/null && fail "another program is the same"
facts c-5 | awk '/^row/ && !done { done = 1; next } { print }' >got
differences want got >/dev/null && fail "a row that is missing is not missed"
say "$tried programs agree"
