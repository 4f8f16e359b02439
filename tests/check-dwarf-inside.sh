#!/bin/sh
# Checks files that contain their own split debug information: programs and debug files with the sections of a DWARF
# package (.dwp), and objects of -gsplit-dwarf=single. At every row of the line tables, llvm-symbolizer and
# eu-addr2line answer for the same program with its package or its units beside it. GSYM and Breakpad's symbol file
# are those of the program with the package beside it.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
cd "$tmp" || exit 1
first_of() { for tool in "$1-19" "$1"; do command -v "$tool" && return; done; }
symbolizer=$(first_of llvm-symbolizer) && llvm_dwp=$(first_of llvm-dwp) && dwarfdump=$(first_of llvm-dwarfdump) ||
  { echo "skipped: no llvm-symbolizer, llvm-dwp or llvm-dwarfdump"; exit 77; }
case $("$symbolizer" --version) in
*"version 1"[0-8].*) echo "skipped: $symbolizer is older than version 19"; exit 77 ;;
esac
for tool in eu-addr2line objcopy readelf nm; do
  command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done

cat >a.cc <<'C'
#include <map>
#include <string>
#include <vector>
namespace geo {
struct point { int x, y; virtual ~point() {} virtual int area() const { return x * y; } };
template <class T> static inline T twice(T v) { return v + v; }
static inline __attribute__((always_inline)) int inner(const point &p) {
  int s = 0;
  for (int i = 0; i < p.x; i++) s += p.area() * twice(i);
  return s;
}
__attribute__((noinline)) int work(std::vector<point> &v) {
  int s = 0;
  for (auto &p : v) s += inner(p);
  if (s < 0) __builtin_trap();
  return s;
}
}
int sorted(int);
int main(int c, char **v) {
  std::vector<geo::point> w;
  for (int i = 0; i < c; i++) { geo::point p; p.x = i; p.y = c; w.push_back(p); }
  std::map<std::string, int> m;
  m[v[0]] = geo::work(w);
  auto more = [&](int k) { return (int)m.size() + k; };
  return sorted(more(3));
}
C
cat >b.cc <<'C'
#include <algorithm>
#include <string>
#include <vector>
static inline int half(int i) { return i / 2; }
static __attribute__((noinline)) int least(std::vector<int> &v) {
  std::sort(v.begin(), v.end(), [](int a, int b) { return half(a) < half(b); });
  return v[0];
}
int sorted(int n) {
  std::vector<int> v;
  std::string s;
  for (int i = 0; i < n; i++) { v.push_back(n - i); s += char(i); }
  return least(v) + (int)s.size();
}
C

# ---- one program, read by all ---------------------------------------------------------------
rows_of() { # FILE: the addresses of its rows, one a line
  "$dwarfdump" --debug-line "$1" | awk '/^0x[0-9a-f]+ +[0-9]/ && !/end_sequence/ {
      sub(/^0x0*/, "0x", $1); sub(/^0x$/, "0x0", $1); print $1 }' | sort -u
}
# The frames of llvm-symbolizer and eu-addr2line in the form of `symfs gsym lookup`
joined() {
  sed 's/ (discriminator [0-9]*)$//; s/ (inlined by) //' | awk '
    /^0x/ { if (line) print line; sub(/^0x0*/, "0x"); sub(/^0x$/, "0x0"); line = $0 "\t"; first = 1; next }
    { name = $0; getline place; line = line (first ? "" : " < ") name "@" place; first = 0 }
    END { if (line) print line }'
}
# unlike GOT WANTED: the rows that differ. A function without a linkage name has its short name there, and symfs adds
# its scopes. A constructor (destructor) with two symbols at one address is C1 (D1) there, and C2 (D2) in debug
# information.
unlike() {
  sed 's/\([CD]\)1E/\12E/g' "$2" | paste "$1" - | awk -F '\t' '
    function name(frame) { sub(/@[^@]*$/, "", frame); return frame }
    function same(ours, theirs, n) {
      if (ours == theirs) return 1
      n = length(ours) - length(theirs)
      return theirs !~ /^_Z/ && n > 2 && substr(ours, n - 1) == "::" theirs
    }
    { n = split($2, ours, " < "); bad = $1 != $3 || split($4, theirs, " < ") != n
      for (i = 1; i <= n && !bad; i++) bad = !same(ours[i], theirs[i])
      if (bad) print }'
}
rows=0 frames=0 differ=0 same=0 files=0 eu_rows=0 eu_differ=0
compare() { # NAME PROGRAM FILE [ROWS]: the rows of FILE beside what llvm-symbolizer finds for PROGRAM
  "$symfs" gsym create -o got.gsym "$3" 2>said || { complain "$1: $(cat said)"; return; }
  [ -s said ] && complain "$1: $(cat said)"
  rows_of "$2" >addresses
  n=$(wc -l <addresses)
  [ "$n" -gt "${4:-400}" ] || complain "$1: only $n rows"
  "$symfs" gsym lookup --stdin got.gsym <addresses |
    sed 's/@:0$/@??:0/; s/	-$/	??@??:0/; s/\([CD]\)1E/\12E/g' >got
  "$symbolizer" --obj="$2" --output-style=GNU --functions=linkage --inlines --addresses --no-demangle <addresses |
    joined >want
  [ "$(wc -l <got)" -eq "$n" ] && [ "$(wc -l <want)" -eq "$n" ] || complain "$1: $(wc -l got want) answers of $n"
  unlike got want >worse
  d=$(wc -l <worse)
  [ "$d" -eq 0 ] || complain "$1: $d of $n rows differ: $(head -n 2 worse)"
  rows=$((rows + n)) frames=$((frames + $(grep -o ' < ' want | wc -l) + n)) differ=$((differ + d))
  files=$((files + 1))
}
# eu-addr2line of elfutils 0.188 reads neither packages nor inlined calls of split units. With the units beside the
# program it has the place of each row, and the function by its symbol.
beside_units() { # NAME
  "$symfs" gsym create -o got.gsym prog 2>said && [ ! -s said ] || complain "$1: $(cat said)"
  rows_of prog >addresses
  "$symfs" gsym lookup --stdin got.gsym <addresses | sed 's/@:0$/@??:0/; s/	-$/	??@??:0/' >got
  eu-addr2line -a -f -i -e prog <addresses 2>log |
    sed 's/^\(.*:[0-9]*\):[0-9]*$/\1/; s/ inlined at .*//' | joined >want
  paste got want | awk -F '\t' '
    { n = split($2, ours, " < "); m = split($4, theirs, " < ")
      place = ours[1]; sub(/^.*@/, "", place); at = theirs[1]; sub(/^.*@/, "", at)
      name = ours[n]; sub(/@[^@]*$/, "", name); by = theirs[m]; sub(/@[^@]*$/, "", by)
      if (name == "??" && by == "??") next # the end of a sequence
      if ($1 != $3 || place != at || (name != by && by != "??")) print }' >worse
  eu_rows=$((eu_rows + $(wc -l <want))) eu_differ=$((eu_differ + $(wc -l <worse)))
  [ ! -s worse ] || complain "$1: eu-addr2line differs at $(wc -l <worse) of $(wc -l <want) rows: $(head -n 2 worse)"
}

same_made() { # NAME FILE: GSYM and Breakpad's file are those of the program with the package beside it
  "$symfs" gsym create -o got.gsym "$2" 2>said && [ ! -s said ] && cmp -s got.gsym beside.gsym ||
    complain "$1: another GSYM: $(cat said)"
  "$symfs" sym --name prog -o got.sym "$2" prog 2>said && grep -v '^INFO' got.sym | cmp -s - beside.sym ||
    complain "$1: another .sym: $(cat said)"
  "$symfs" addr2line --no-default-sources --cache "$tmp/store" "$2" <addresses >got 2>said ||
    complain "$1: $(cat said)"
  cmp -s got beside.lines || complain "$1: addr2line: $(diff beside.lines got | head -n 4)"
  same=$((same + 1))
}

# put PACKAGE OBJCOPY FROM TO: the sections of the package in a copy of the file
put() {
  package=$1 tool=$2 from=$3 to=$4
  set --
  for section in $(readelf -SW "$package" 2>/dev/null | grep -o '[.]debug[^ ]*'); do
    set -- "$@" --add-section "$section=part$section"
    objcopy --dump-section "$section=part$section" "$package" ignored 2>/dev/null
    [ -e "part$section" ] || : >"part$section"
  done
  "$tool" "$@" "$from" "$to" 2>log || complain "$tool: $(head -n 1 log)"
  rm -f part.* ignored
}

made() { # NAME: the program of the directory
  mkdir -p away && mv ./*.dwo away/
  for maker in $llvm_dwp dwp; do
    rm -f prog.dwp
    (ulimit -t 10; exec $maker away/a.dwo away/b.dwo -o prog.dwp) 2>log ||
      { echo "$1: $maker: $(head -n 1 log)"; continue; }
    # dwp of binutils 2.40 writes an empty index for DWARF 5
    [ "$("$dwarfdump" --debug-cu-index prog.dwp | grep -c ' 0x[0-9a-f]\{16\} \[')" = 2 ] ||
      { echo "$1: $maker: no index"; continue; }
    "$symfs" gsym create -o beside.gsym prog 2>said && [ ! -s said ] || complain "$1: beside: $(cat said)"
    "$symfs" sym -o beside.sym prog 2>said || complain "$1: beside: $(cat said)"
    grep -v '^INFO' beside.sym >t && mv t beside.sym
    rows_of prog >addresses
    "$symfs" gsym lookup --stdin beside.gsym <addresses >beside.lines
    mkdir -p in
    for tool in objcopy $(first_of llvm-objcopy); do
      put prog.dwp "$tool" prog in/whole
      objcopy --only-keep-debug prog bare.debug && put prog.dwp "$tool" bare.debug in/debug
      compare "$1 $maker $tool" prog in/whole
      same_made "$1 $maker $tool" "$tmp/$1/in/whole"
      same_made "$1 $maker $tool, debug file" "$tmp/$1/in/debug"
    done
    objcopy --compress-debug-sections=zlib in/whole in/packed && same_made "$1 $maker, packed" "$tmp/$1/in/packed"
  done
}

# The programs, with several compilers and versions. -fdebug-types-section puts classes in units of their own.
first=$tmp
each() { # COMPILER VERSION [FLAGS]
  name=$1-$2$3 compiler=$1
  command -v "$compiler" >/dev/null || { echo "part skipped: no $compiler"; return; }
  mkdir "$name" && cd "$name" && cp ../a.cc ../b.cc . || exit 1
  # shellcheck disable=SC2086
  "$compiler" -O2 "-gdwarf-$2" -gsplit-dwarf $3 $4 -c a.cc b.cc 2>log && "$compiler" -o prog a.o b.o 2>log ||
    { complain "$name: $(head -n 1 log)"; cd ..; return; }
  beside_units "$name"
  made "$name"
  cd "$first" || exit 1
}
for version in 4 5; do
  each g++ $version
  each g++ $version -fdebug-types-section
  each clang++ $version "" -gdwarf-aranges
  each clang++ $version -fdebug-types-section -gdwarf-aranges
done
# Objects with their units, of -gsplit-dwarf=single. An object that no longer has its old name still has its units.
cat >c.c <<'C'
volatile int sink;
static inline __attribute__((always_inline)) int half(int x) { sink = x; return x / 2; }
int less(int x) { return half(x) + half(x + 1); }
static __attribute__((noinline)) int worse(int x, int y) { return half(y) * less(x); }
int last(int x) { for (int i = 0; i < x; i++) sink = worse(x, i); return sink; }
C
sed 's/\(half\|less\|worse\|last\|sink\)/other_&/g' c.c >d.c
objects=0
if command -v clang >/dev/null; then
  for version in 4 5; do
    mkdir "single-$version" && cd "single-$version" && cp ../c.c ../d.c . || exit 1
    for unit in c d; do
      clang -O2 "-gdwarf-$version" -gsplit-dwarf=single -c $unit.c && cp $unit.o renamed-$unit.o ||
        complain "clang: $unit"
      compare "single, DWARF $version" $unit.o renamed-$unit.o 10
    done
    mkdir away && mv c.o d.o away
    for unit in c d; do
      "$symfs" gsym create -o renamed.gsym renamed-$unit.o 2>said && [ ! -s said ] || complain "single: $(cat said)"
      clang -O2 "-gdwarf-$version" -c $unit.c -o plain.o && "$symfs" gsym create -o plain.gsym plain.o 2>said
      cmp -s renamed.gsym plain.gsym || complain "single-$version: -gsplit-dwarf makes a difference: $(cat said)"
      objects=$((objects + 1))
    done
    # ld -r joins the units of several objects, and no index says which bytes belong to which: none is read.
    ld -r -o joined renamed-c.o renamed-d.o && "$symfs" gsym create -o joined.gsym joined 2>said
    grep -q 'in other files, not found: 2$' said || complain "joined objects: $(cat said)"
    mv away/*.o . && "$symfs" gsym create -o joined.gsym joined 2>said && [ ! -s said ] ||
      complain "joined objects beside their own: $(cat said)"
    "$symfs" gsym lookup last joined.gsym | grep -q '[/]c.c:5$' ||
      complain "joined: $("$symfs" gsym lookup last joined.gsym)"
    cd "$first" || exit 1
  done
else
  echo "part skipped: no clang"
fi
[ "$files" -ge 8 ] || complain "only $files files"
echo "$eu_rows rows beside eu-addr2line's, $eu_differ differ"
echo "$objects objects with their own units"
echo "$files files, $rows rows, $frames frames as llvm-symbolizer's, $differ differ; $same made the same"
