#!/bin/sh
# Compares the name of the outer frame with llvm-symbolizer and eu-addr2line: constructors, destructors,
# clones, static functions, thunks, and functions that linkers fold into one. The programs are made here,
# and each is read as it is, as a debug file apart, and without its symbol table.
# SPDX-License-Identifier: LGPL-2.1-or-later
symfs=$(cd "${top_builddir:-.}" && pwd)/symfs
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
skip() { echo "skipped: $*"; exit 77; }

symbolizer=
for tool in llvm-symbolizer llvm-symbolizer-14 llvm-symbolizer-19; do
  command -v $tool >/dev/null && symbolizer=$tool && break
done
[ -n "$symbolizer" ] || skip "no llvm-symbolizer"
for tool in eu-addr2line objcopy nm; do
  command -v $tool >/dev/null || skip "no $tool"
done

# ---- the programs -------------------------------------------------------------------------
awk 'BEGIN {
  print "#include <stdexcept>\n#include <string>\n#include <vector>"
  print "static volatile int sink; int grow(int); __attribute__((noinline)) int grow(int x) { return x + sink; }"
  print "struct base { int b; base(int x) : b(x) {} virtual ~base(); virtual int run(int); };"
  print "base::~base() { sink = b; } int base::run(int x) { return x + b; }"
  print "struct other { int o; virtual ~other(); virtual int go(int x); };"
  print "other::~other() {} int other::go(int x) { return x; }"
  for (i = 0; i < 10; i++) {
    text = "struct plain# { int v; std::string s; plain#(int); ~plain#(); int run(int); };\n" \
      "plain#::plain#(int x) : v(x * #), s(\"a#\") { if (grow(x) > #) throw std::runtime_error(s); sink = v; }\n" \
      "plain#::~plain#() { sink = v + #; }\n" \
      "static __attribute__((noinline)) int work#(int a, int b, const std::vector<int> *v) {\n" \
      "  if (a > 5) { for (int k = 0; k < a; k++) sink = sink + (*v)[k] * b; if (sink == #) throw a; }\n" \
      "  return a * # + (v ? (*v)[0] : b); }\n" \
      "namespace { struct hidden# { int x;\n" \
      "  __attribute__((noinline)) int twice(int y) { return x * y + # + grow(y); }\n" \
      "  __attribute__((noinline)) int operator()(int y) { return x - y - # - grow(y); } };\n" \
      "__attribute__((noinline)) int quiet#(int a) { hidden# h{a}; return h.twice(#) + h(3) + h.twice(a); } }\n" \
      "struct virt# : virtual base, other { std::string s; virt#(int); ~virt#() override; int run(int) override;\n" \
      "  int go(int) override; };\n" \
      "virt#::virt#(int x) : base(x), s(std::to_string(x)) { sink = #; } virt#::~virt#() { sink = #; grow(3); }\n" \
      "int virt#::run(int x) { return quiet#(x) + work#(x, 3, nullptr); } int virt#::go(int x) { return x + b; }\n" \
      "int plain#::run(int x) { std::vector<int> w(2 + #, x); auto f = [&](int z) { return grow(z) + w[0]; };\n" \
      "  return work#(3, x, &w) + work#(v, 3, &w) + f(2) + f(x); }\n" \
      "struct twin# { int v; int get() const; int set(int); static int zero(); };\n" \
      "int twin#::get() const { return v; } int twin#::set(int x) { return v = x; }\n" \
      "int twin#::zero() { return 0; }\n" \
      "template <typename T> __attribute__((noinline)) T most#(T a, T b) { sink = 1; return a > b ? a : b; }\n" \
      "template int most#<int>(int, int); template long most#<long>(long, long);\n" \
      "template char most#<char>(char, char);\n" \
      "int use#(int x); int use#(int x) { plain# p(x); virt# v(x); base *q = new virt#(x); int r = q->run(x);\n" \
      "  r += v.run(2); delete q; try { r += p.run(x); } catch (int e) { r = e; } return r + quiet#(r); }\n"
    gsub(/#/, i, text)
    printf "%s", text
  }
  print "int main(int argc, char **) { int r = 0;"
  for (i = 0; i < 10; i++)
    printf "  r += use%d(argc); twin%d t%d{r}; r += t%d.set(argc) + t%d.get() + twin%d::zero();\n", i, i, i, i, i, i
  print "  return r; }"
}' >classes.cc
# C: clones, and symbols with several names
awk 'BEGIN {
  print "static volatile int sink; void stop(int) __attribute__((noreturn)); void stop(int x) { for (;;) sink = x; }"
  for (i = 0; i < 20; i++) {
    text = "static __attribute__((noinline)) int half#(int a, int b) { int r = 0;\n" \
      "  for (int k = 0; k < b; k++) { sink = a; r += sink + #; }" \
      "  if (__builtin_expect(r == #, 0)) { sink = a; stop(r); } return r; }\n" \
      "int full#(int x); int full#(int x) { return half#(x, 3) + half#(x + 1, 3); }\n" \
      "int again#(int) __attribute__((alias(\"full#\"))); int weak#(int) __attribute__((weak, alias(\"full#\")));\n" \
      "int kept#(int x) __asm__(\"renamed#\");\n" \
      "__attribute__((noinline)) int kept#(int x) { sink = x * #; return x; }\n"
    gsub(/#/, i, text)
    printf "%s", text
  }
  print "int main(int argc, char **argv) { int r = argv[0][0];"
  for (i = 0; i < 20; i++)
    printf "  r += full%d(argc) + again%d(r) + weak%d(r) + kept%d(r);\n", i, i, i, i
  print "  return r; }"
}' >clones.c

# build NAME COMPILER SOURCE FLAGS…: makes NAME with each linker that there is, with identical code folded. The
# compiler may be several words, such as "ccache gcc".
made=
build() {
  name=$1 cc=$2 source=$3
  shift 3
  command -v "${cc%% *}" >/dev/null || return
  $cc -g "$@" -w -ffunction-sections -c -o "$name.o" "$source" 2>log || { echo "$cc: $(head -n 1 log)"; return; }
  $cc "$@" -o "$name" "$name.o" 2>log && made="$made $name" || { echo "$cc: $(head -n 1 log)"; return; }
  for linker in gold lld; do
    $cc "$@" -fuse-ld=$linker -Wl,--icf=all -o "$name-$linker" "$name.o" 2>log && made="$made $name-$linker"
  done
}
build gcc "${CXX:-c++}" classes.cc -O2
# Without a list of the addresses of each unit eu-addr2line does not find all units.
build clang clang++ classes.cc -O2 -gdwarf-aranges
build gcc-c "${CC:-cc}" clones.c -O2
build gcc-c3 "${CC:-cc}" clones.c -O3 -fno-inline-small-functions
build clang-c clang clones.c -O2 -gdwarf-aranges
set -- $made
[ $# -ge 2 ] || skip "no compiler"

# ---- the names ----------------------------------------------------------------------------
# The first, middle and last address of each function in the symbol table
addresses_of() {
  nm -S --defined-only "$1" | awk '
    function value(s, n, i) {
      for (i = 1; i <= length(s); i++)
        n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
      return n
    }
    NF == 4 && $3 ~ /^[tTwWi]$/ && (n = value($2)) {
      a = value($1); printf "%d\n%d\n%d\n", a, a + int(n / 2), a + n - 1 }' |
    sort -nu | awk '{ printf "0x%x\n", $1 }'
}
# The outer frame is the last one that a tool prints: a line with the name, and a line with file and line.
outer_frames() {
  awk '/^0x/ { if (at) print name; at = $0; next }
    { name = $0; sub(/ inlined at .*$/, "", name); sub(/^ *\(inlined by\) /, "", name); getline }
    END { if (at) print name }'
}
# Without a symbol table a function may have its short name only. Then symfs adds the names of the scopes.
short_names() {
  awk '/^_Z/ { print; next } { gsub(/\{lambda[^}]*\}::/, ""); while (sub(/^[^<(]*::/, "")) ; print }'
}

all=0 both=0 llvm=0 eu=0 neither=0 parts=0 programs=0 bad=0
compare() { # FILE
  "$symfs" gsym create -o a.gsym "$1" 2>err || { echo "$1: $(cat err)"; bad=1; return; }
  "$symfs" gsym lookup --stdin a.gsym <addresses |
    awk -F '\t' '$2 == "-" { print "??"; next }
      { n = split($2, f, " < "); sub(/@[^@]*$/, "", f[n]); print f[n] }' >ours
  "$symbolizer" --obj="$1" --output-style=GNU --functions=linkage --inlines --addresses --no-demangle <addresses |
    outer_frames >theirs
  eu-addr2line -a -f -i -e "$1" <addresses 2>err | outer_frames >others
  case $1 in
  *.bare)
    for file in ours theirs others; do
      short_names <$file >t && mv t $file
    done ;;
  esac
  paste addresses ours theirs others | awk -F '\t' -v file="$1" '
    { all++; l = $2 == $3; e = $2 == $4 }
    l && e { both++; next } l { llvm++; next } e { eu++; next }
    # Parts of functions that the linker folded: debug information has one function, and the symbol table has
    # the parts of others, too. The function is that of eu-addr2line, and its part has the symbol of this function.
    $2 ~ "^_ZN?L?[0-9]*" length($4) $4 "[^ ]*[.]cold$" { eu++; parts++; next }
    neither++ < 10 { print file ": " $1 ": " $2 ", llvm-symbolizer: " $3 ", eu-addr2line: " $4 >"/dev/stderr" }
    END { print all + 0, both + 0, llvm + 0, eu + 0, neither + 0, parts + 0 }' >sums
  read -r n1 n2 n3 n4 n5 n6 <sums
  all=$((all + n1)) both=$((both + n2)) llvm=$((llvm + n3)) eu=$((eu + n4)) neither=$((neither + n5))
  parts=$((parts + n6))
  programs=$((programs + 1))
}
for file in $made; do
  addresses_of "$file" >addresses
  compare "$file"
  objcopy --only-keep-debug "$file" "$file.debug" && compare "$file.debug"
  # Without symbols all names are those of debug information.
  objcopy --wildcard --strip-symbol='*' "$file" "$file.bare" 2>log && compare "$file.bare"
done
echo "$all addresses of $programs programs: $both as both, $llvm as llvm-symbolizer, $eu as eu-addr2line," \
  "$neither as neither"
[ $parts -eq 0 ] ||
  echo "$parts of those as eu-addr2line are in cold parts of its functions, which have their own symbol"
[ $all -ge 3000 ] || { echo "too few addresses"; bad=1; }
[ $neither -eq 0 ] || bad=1
exit $bad
