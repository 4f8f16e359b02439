#!/bin/sh
# Makes a Breakpad file of a large debug file, plain and compressed, beside Breakpad's dump_syms: processor time,
# time, and the highest memory with the pages of files. BENCH_SYM names a debug file; without it g++ makes one of
# BENCH_SYM_MB.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need awk g++ objcopy python3 /usr/bin/time
DUMP=$TOOLS/bin/dump_syms
[ -x "$DUMP" ] || skip "no dump_syms: scripts/setup"
cd "$TMP" || exit 1

# One unit, and copies of its object file with other names of the same length.
cat >unit.cc <<'C'
#include <algorithm>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace n00000 {
template <int N> struct item {
  int v = N;
  std::string name;
  std::map<int, std::string> all;
  bool operator<(const item &o) const { return v < o.v || (v == o.v && name < o.name); }
  bool operator==(const item &o) const { return v == o.v && name == o.name; }
};
template <int N> struct hash { size_t operator()(const item<N> &i) const { return i.v * 31u + N; } };
template <int N> int work(std::istream &in, std::ostream &out) {
  std::vector<item<N>> v;
  std::map<item<N>, std::vector<item<N>>> m;
  std::set<item<N>> s;
  std::unordered_map<item<N>, std::list<item<N>>, hash<N>> u;
  std::deque<std::shared_ptr<item<N>>> d;
  item<N> i;
  while (in >> i.v >> i.name) {
    i.all[i.v] += i.name;
    v.push_back(i);
    m[i].push_back(i);
    s.insert(i);
    u[i].push_front(i);
    d.push_back(std::make_shared<item<N>>(i));
  }
  std::sort(v.begin(), v.end());
  std::stable_sort(d.begin(), d.end(), [](auto &a, auto &b) { return *a < *b; });
  std::function<int(int)> f = [&](int n) { return n ? (int)m.size() + (int)u.size() : (int)s.size(); };
  for (auto &x : v) out << x.name << x.all.size() << f(x.v) << '\n';
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return (int)(v.size() + d.size());
}
int all(std::istream &in, std::ostream &out) {
  std::ostringstream text;
  return work<1>(in, text) + work<2>(in, out) + work<3>(in, text) + work<4>(in, out) + work<5>(in, out) +
    work<6>(in, text) + work<7>(in, out) + work<8>(in, text) + (int)text.str().size();
}
}
C
make_debug() { # MB: writes plain
  g++ -g -O2 -fPIC -c -o unit.o unit.cc || fail "g++"
  g++ -shared -o one.so unit.o || fail "g++"
  n=$(($1 * 1000000 / $(wc -c <one.so) + 1))
  python3 - "$n" <<'P' || fail "object files"
import sys
data = open('unit.o', 'rb').read()
for n in range(1, int(sys.argv[1]) + 1):
    open('u%05d.o' % n, 'wb').write(data.replace(b'n00000', b'n%05d' % n))
P
  g++ -shared -Wl,--build-id -o plain u[0-9]*.o || fail "g++"
  rm -f u[0-9]*.o
}

# of NAME COMMAND...: sets cpu, wall (the least of three, seconds) and memory (the most, KB)
of() {
  name=$1
  shift
  for _ in 1 2 3; do
    /usr/bin/time -f '%U %S %e %M' -o "$name.time" "$@" >"$name.sym" 2>"$name.log" ||
      fail "$name: $(tail -n 3 "$name.log")"
    tail -n 1 "$name.time"
  done >"$name.times"
  set -- \
    $(awk '{ c = $1 + $2; if (NR == 1 || c < cpu) cpu = c; if (NR == 1 || $3 < wall) wall = $3; if ($4 > kb) kb = $4 }
    END { print cpu, wall, kb }' "$name.times")
  cpu=$1 wall=$2 memory=$3
}
compare() { # WHAT FILE
  of theirs "$DUMP" -d -m "$2"
  their_cpu=$cpu their_wall=$wall their_memory=$memory
  of ours "$SYMFS" sym "$2"
  grep -q '^FUNC' ours.sym || fail "$1: no functions"
  say "$1, $(($(wc -c <"$2") / 1000000)) MB: symfs $wall s, $((memory / 1000)) MB;" \
    "dump_syms $their_wall s, $((their_memory / 1000)) MB"
  tell "$1, time by dump_syms" "$(divided "$wall" "$their_wall")" "of it" 0.3
  tell "$1, processor time by dump_syms" "$(divided "$cpu" "$their_cpu")" "of it"
  tell "$1, memory by dump_syms" "$(divided "$memory" "$their_memory")" "of it" 0.3
}
if [ -n "${BENCH_SYM:-}" ]; then
  compare "$(basename "$BENCH_SYM")" "$BENCH_SYM"
else
  make_debug "${BENCH_SYM_MB:-400}"
  compare plain plain
  objcopy --compress-debug-sections=zlib plain compressed && rm plain || fail "objcopy"
  compare compressed compressed
fi
bounds_kept
