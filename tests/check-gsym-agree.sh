#!/bin/sh
# Checks that GSYM agrees with addr2line, llvm-symbolizer and eu-addr2line at random addresses of
# programs that compilers make here: a small run of tests/bench/gsym-agree.sh. It also checks what
# only a linked program of several units has: lines of functions without an entry, and the unit of a
# shared function.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need g++ nm addr2line eu-addr2line readelf awk
command -v llvm-symbolizer >/dev/null || command -v llvm-symbolizer-14 >/dev/null ||
  command -v llvm-symbolizer-19 >/dev/null || skip "no llvm-symbolizer"
agree=$top_srcdir/tests/bench/gsym-agree.sh
cd "$TMP" || exit 1

mkdir one two
cat >shared.h <<'C'
#include <map>
#include <string>
#include <vector>
struct base { virtual ~base() {} virtual int first(int x) { return x; } long room; };
struct other { virtual ~other() {} virtual int second(int x) = 0; long room[2]; };
struct both : base, other { int first(int x) override; int second(int x) override; std::string name; };
__attribute__((noinline)) inline int shared(int x) { volatile int y = x; y = y * 3; return y + 1; }
template <int N> int work(std::map<int, std::vector<int>> &m, int x) {
  m[x % N].push_back(shared(x));
  return static_cast<int>(m.size()) + work<N - 1>(m, x + N);
}
template <> inline int work<0>(std::map<int, std::vector<int>> &, int x) { return x; }
C
cat >one/a.cc <<'C'
#include "shared.h"
int both::first(int x) { return shared(x) + static_cast<int>(name.size()); }
int both::second(int x) { name += static_cast<char>(x); return first(x) * 2; }
static int __attribute__((noinline, cold)) rare(int x) { return x ? shared(x - 1) : 7; }
int ask(other *o, int x) { try { return o->second(x) + rare(x); } catch (int e) { return e; } }
C
cat >two/b.cc <<'C'
#include "shared.h"
int ask(other *o, int x);
int main(int n, char **) {
  std::map<int, std::vector<int>> m;
  both b;
  return work<12>(m, n) + ask(&b, n) + shared(n);
}
C
build() { # NAME COMPILER FLAGS...: one/a.cc comes first
  name=$1 compiler=$2
  shift 2
  (cd one && "$compiler" "$@" -I "$TMP" -c -o "$TMP/a.o" a.cc) && (cd two &&
    "$compiler" "$@" -I "$TMP" -c -o "$TMP/b.o" b.cc) &&
    "$compiler" "$@" -o "$name" a.o b.o || fail "$compiler $*"
}

tried=0
for compiler in g++ clang++; do
  command -v $compiler >/dev/null || continue
  for flags in '-O2 -gdwarf-4' '-O2 -gdwarf-5' '-O1 -g -ffunction-sections -Wl,--gc-sections' '-O0 -g'; do
    # shellcheck disable=SC2086
    build "program$tried" $compiler $flags 2>/dev/null
    AGREE_ADDRESSES=1000 AGREE_WANTED=98 sh "$agree" "$TMP/program$tried" >"$TMP/said" 2>&1 ||
      fail "$compiler $flags: $(cat "$TMP/said")"
    say "$compiler $flags: $(head -n 1 "$TMP/said")"
    tried=$((tried + 1))
  done
done
# So does symfs symbolicate, for a module by its build id alone.
build "program-id" g++ -O2 -g -Wl,--build-id=sha1 2>/dev/null
AGREE_THROUGH=symbolicate AGREE_ADDRESSES=1000 AGREE_WANTED=98 sh "$agree" "$TMP/program-id" >"$TMP/said" 2>&1 ||
  fail "symfs symbolicate: $(cat "$TMP/said")"
say "symfs symbolicate: $(head -n 1 "$TMP/said")"
# It can fail: a GSYM of another program.
"$SYMFS" gsym create -o other.gsym program3 || fail "create"
AGREE_GSYM=$TMP/other.gsym AGREE_ADDRESSES=300 sh "$agree" "$TMP/program0" >"$TMP/said" 2>&1 &&
  fail "another program's GSYM is agreed with: $(cat "$TMP/said")"
grep -q 'like none' said || fail "no class of differences: $(cat "$TMP/said")"

# ---- by name -------------------------------------------------------------------------------
build named g++ -O2 -g
"$SYMFS" gsym create -o named.gsym named || fail "create"
at() { nm named | awk -v name="$1" '$3 ~ name { print "0x" $1; exit }'; }
answer() { "$SYMFS" gsym lookup "$(at "$1")" named.gsym; }
# The thunk that jumps to both::second() has lines and no entry in the debug information.
case $(answer '^_ZThn[0-9]+_N4both6secondEi$') in
*_ZThn*_N4both6secondEi@"$TMP"/shared.h:[1-9]*) ;;
*) fail "a thunk without lines: $(answer '^_ZThn[0-9]+_N4both6secondEi$')" ;;
esac
# The linker kept the first unit's, and both say that it is theirs.
case $(answer ^_Z6sharedi) in
*_Z6sharedi@"$TMP"/shared.h:[1-9]*) ;;
*) fail "the shared function: $(answer ^_Z6sharedi)" ;;
esac
(cd one && g++ -O2 -g "-fdebug-prefix-map=$TMP=/zzz" -I "$TMP" -c -o "$TMP/a.o" a.cc) &&
  (cd two && g++ -O2 -g "-fdebug-prefix-map=$TMP=/aaa" -I "$TMP" -c -o "$TMP/b.o" b.cc) && g++ -o named a.o b.o ||
  fail "g++"
"$SYMFS" gsym create -o named.gsym named || fail "create"
case $(answer ^_Z6sharedi) in
*@/zzz/shared.h:*) ;;
*) fail "the shared function is not the first unit's: $(answer ^_Z6sharedi)" ;;
esac
say "$tried programs agree"
