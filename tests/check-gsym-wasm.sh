#!/bin/sh
# GSYM of WebAssembly: modules that are compiled here, with DWARF 4 and 5, split debug information, names only, and
# debug files of their own. Compares each byte of the code with llvm-symbolizer, each row of the lines with
# llvm-dwarfdump, and each function with llvm-nm. Also shows that it finds a wrong answer.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
skip() { echo "SKIP: $*"; exit 77; }
# LLVM's tools of version 19: older ones give symbols other addresses.
for tool in llvm-symbolizer-19 llvm-dwarfdump-19 llvm-nm-19 llvm-objdump-19 llvm-objcopy-19 clang clang++ wasm-ld; do
  command -v $tool >/dev/null || skip "no $tool"
done
cd "$tmp" || exit 1
addresses=0 rows=0 functions=0 files=0

cat >a.cc <<'C'
extern "C" int host(int);
extern "C" void log_it(const char *, int);
namespace ns {
struct box {
	static inline int twice(int x) { return host(x) * 2; }
	int area(int x);
	virtual int go(int x) { return x + host(x); }
};
static inline int inner(int x) { if (x & 1) { int y = x * 3; return box::twice(y) + 1; } return host(x); }
int box::area(int x) { return inner(x) + inner(x + 7); }
template <typename T> struct list {
	T all[8]; int n = 0;
	void add(T v) { all[n++ & 7] = v; }
	T sum() const { T s = 0; for (int i = 0; i < n; i++) s += all[i]; return s; }
};
}
static int dead(int x) { return x * 99; }
__attribute__((visibility("hidden"))) int unused(int x) { return dead(x) + 1; }
__attribute__((noinline)) static int local_one(int x) { return host(x) + 5; }
extern "C" __attribute__((visibility("default"))) int entry(int x)
{
	ns::box b, *p = &b;
	ns::list<int> l;
	ns::list<double> d;
	for (int i = 0; i < x; i++) {
		l.add(b.area(i));
		d.add(i * 1.5);
	}
	log_it("sum", l.sum());
	return l.sum() + (int)d.sum() + local_one(x) + p->go(x);
}
C
cat >b.c <<'C'
int host(int);
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((visibility("default"), export_name("other name"))) int other(int n)
{
	return fib(n) + host(n);
}
C
cat >c.c <<'C'
int host(int);
int without_lines(int n) { return host(n) * n; }
C

build() # OUT FLAGS: OUT.wasm of both languages, and OUT.dbg, its debug information alone
{
  out=$1 wide=
  shift
  case $* in *wasm64*) wide=64 ;; esac
  clang++ --target=wasm32 -fno-exceptions -fno-rtti "$@" -c a.cc -o "$out.a.o" &&
    clang --target=wasm32 "$@" -c b.c -o "$out.b.o" && clang --target=wasm${wide:-32} -O1 -c c.c -o c.o &&
    wasm-ld --no-entry --export-dynamic --export=without_lines --allow-undefined --import-memory --import-table \
      ${wide:+-mwasm64} -o "$out.wasm" "$out.a.o" "$out.b.o" c.o &&
    llvm-objcopy-19 --only-keep-debug "$out.wasm" "$out.dbg"
}

code_of() # FILE: sets `offset` and `size` of the code section
{
  set -- $(llvm-objdump-19 -h "$1" | awk '$2 == "CODE" { print $3, $4 }')
  size=$((0x$1)) offset=$((0x$2))
}

# All addresses of the code in the file, and the same in the section
count_up() { awk -v n="$size" -v by="$1" 'BEGIN { for (i = 0; i < n; i++) printf "0x%x\n", i + by }'; }

# The answers of llvm-symbolizer in the form of symfs: `name@file:line < name@file:line`
theirs() # FILE
{
  llvm-symbolizer-19 --obj="$1" --no-demangle --functions=linkage --relative-address |
    awk -v RS= -F '\n' '{
      s = ""
      for (i = 1; i < NF; i += 2) { f = $(i + 1); sub(/:[0-9]+$/, "", f); s = s (i > 1 ? " < " : "") $i "@" f }
      gsub(/[?][?]@[?][?]:0/, "-", s)
      gsub(/@[?][?]:0/, "@:0", s) # of a function without lines: newer builds of LLVM 19
      print s
    }'
}

differing() # FILE: addresses that are answered otherwise; those of functions without lines are left to the names
{
  awk -F '\t' '$2 != $3 && !($3 == "-" && $2 ~ /^(without_lines|__wasm_call_ctors)(@:0)?$/)' "$1"
}

lines() # NAME FILE DEBUG: each address of FILE, beside the debug information in DEBUG
{
  code_of "$2"
  count_up 0 | theirs "$3" >want
  count_up "$offset" | "$symfs" addr2line --stdin "$2" >got 2>err || complain "$1: $(cat err)"
  paste got want >both
  differing both >differ
  [ -s differ ] && complain "$1: $(wc -l <differ) answers differ: $(head -n 3 differ)"
  [ "$(wc -l <got)" = "$size" ] || complain "$1: $(wc -l <got) answers"
  named=$(cut -f 2 got | grep -c '@.*:[1-9]')
  [ "$named" -gt $((size / 2)) ] || complain "$1: only $named addresses have a line"
  addresses=$((addresses + size))
  files=$((files + 1))
}

table() # NAME FILE DEBUG: each row of the line table; of several at one address, the last
{
  code_of "$2"
  llvm-dwarfdump-19 --debug-line "$3" | awk -v by="$offset" '
    function value(s, n, i) {
      n = 0
      for (i = 3; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
      return n
    }
    /^0x/ && !/end_sequence/ && value($1) < 4294967294 { a = value($1) + by; line[a] = $2 }
    END { for (a in line) printf "0x%x\t%s\n", a, line[a] }' | sort >want
  cut -f 1 want | "$symfs" addr2line --stdin "$2" >got 2>err
  awk -F '\t' '
    NR == FNR { want[$1] = $2; next }
    { line = $2; sub(/ < .*/, "", line); sub(/.*:/, "", line); if (line != want[$1]) print $1, line, want[$1] }' \
    want got >differ
  [ -s differ ] && complain "$1: $(wc -l <differ) rows differ: $(head -n 3 differ)"
  rows=$((rows + $(wc -l <want)))
}

names() # NAME FILE: each function begins where llvm-nm says, behind the length of its body
{
  llvm-nm-19 --defined-only "$2" |
    awk '$2 ~ /[tT]/ { a = $1; sub(/^0*/, "0x", a); $1 = $2 = ""; print a "\t" substr($0, 3) }' >want
  n=0
  while IFS="$(printf '\t')" read -r at name; do
    i=1 said=-
    # wasm-ld pads no length of a body: it has one or two bytes here
    while [ $i -le 2 ] && [ "$said" = - ]; do
      said=$("$symfs" addr2line "$2" "$(printf '0x%x' $((at + i)))" 2>err | cut -f 2)
      i=$((i + 1))
    done
    [ "$said" = "$name" ] || complain "$1: at $at is $said, not $name"
    n=$((n + 1))
  done <want
  [ $n -ge "$3" ] || complain "$1: $n functions"
  functions=$((functions + n))
}

# ---- every version of DWARF -------------------------------------------------------------------
for flags in '-gdwarf-4 -O0' '-gdwarf-4 -O2' '-gdwarf-5 -O0' '-gdwarf-5 -O2' '-gdwarf-5 -O1 --target=wasm64'; do
  # shellcheck disable=SC2086
  build whole $flags 2>err || { complain "$flags: $(cat err)"; continue; }
  lines "$flags" whole.wasm whole.dbg
  table "$flags" whole.wasm whole.dbg
done
sed 's/:[0-9]*$/:9/' want >wrong
paste got wrong >both
differing both | grep -q . || complain "a wrong answer was not found"

# ---- split debug information, beside the module ------------------------------------------------
for v in 4 5; do
  build whole -gdwarf-$v -O2 && build split -gdwarf-$v -gsplit-dwarf -O2 || complain "split: build"
  cmp -s whole.wasm split.wasm && complain "split: nothing is split"
  code_of split.wasm
  count_up "$offset" | "$symfs" addr2line --stdin split.wasm 2>err | cut -f 2 >got
  code_of whole.wasm
  count_up "$offset" | "$symfs" addr2line --stdin whole.wasm | cut -f 2 | cmp -s - got ||
    complain "split, DWARF $v: the answers are not those of the whole file"
  addresses=$((addresses + size))
done
rm -f ./*.dwo

# ---- a stripped module and its debug file -------------------------------------------------------
printf '\011whole.dbg' >url
printf '\024twenty bytes of an id' | head -c 21 >id
printf '\024another twenty bytes of' | head -c 21 >other-id
llvm-objcopy-19 --strip-all --add-section=external_debug_info=url whole.wasm named.wasm || complain objcopy
lines "named by external_debug_info" named.wasm whole.dbg
mkdir away && cp named.wasm away || exit 1
"$symfs" gsym create -o x.gsym away/named.wasm 2>err || complain "exports only: $(cat err)"
"$symfs" addr2line x.gsym "$(printf '0x%x' $((offset + size - 2)))" | grep -q 'without_lines$' ||
  complain "without its debug file, a module has no name of its exports"
llvm-objcopy-19 --add-section=build_id=id whole.dbg id.dbg
llvm-objcopy-19 --add-section=build_id=id named.wasm both.wasm
cp id.dbg whole.dbg
lines "named, with a build id" both.wasm id.dbg
llvm-objcopy-19 --strip-all --add-section=external_debug_info=url --add-section=build_id=other-id \
  whole.wasm both.wasm
"$symfs" gsym create -o x.gsym both.wasm 2>err
"$symfs" gsym dump x.gsym | grep -q 'a[.]cc' && complain "the debug file of another build is read"
printf '\042http://symbols.example/a/whole.dbg' >url
llvm-objcopy-19 --strip-all --add-section=external_debug_info=url whole.wasm named.wasm
lines "named by a URL" named.wasm whole.dbg
"$symfs" gsym create -o x.gsym whole.dbg 2>err && complain "a debug file without code is converted alone"
grep -q 'come from the module, which is needed, too$' err || complain "a debug file alone: $(cat err)"

# ---- names alone, and a file that is not linked -------------------------------------------------
build plain -gdwarf-5 -O0
llvm-objcopy-19 --strip-debug plain.wasm names.wasm
names "names alone" names.wasm 12
llvm-objcopy-19 --only-keep-debug plain.a.o plain.a.dbg
lines "not linked" plain.a.o plain.a.dbg
"$symfs" gsym create --embed -o x whole.wasm 2>err && complain "GSYM is put into a module"
grep -q 'is not an object file' err || complain "--embed: $(cat err)"
"$symfs" gsym create --format object -o x.gsym.o whole.wasm && "$symfs" gsym verify x.gsym.o >/dev/null ||
  complain object

# ---- broken files -------------------------------------------------------------------------------
printf '\0asm\1\0\0\0\12\177\0\0\0\0\0\0\0\0\0\0\0\0' >broken.wasm
"$symfs" gsym create -o x.gsym broken.wasm 2>err && complain "a section that lies outside is read"
grep -q 'lies outside of the file$' err || complain "broken: $(cat err)"
n=0
for at in $(awk 'BEGIN { for (i = 8; i < 1400; i += 23) print i }'); do
  for byte in '\377' '\200'; do
    cp whole.wasm broken.wasm
    printf "$byte$byte$byte$byte$byte" | dd of=broken.wasm bs=1 seek="$at" conv=notrunc status=none
    "$symfs" gsym create -o x.gsym broken.wasm 2>err
    status=$?
    [ $status -le 4 ] && ! grep -q 'Sanitizer' err || complain "bytes $byte at $at: status $status: $(head -n 3 err)"
    n=$((n + 1))
  done
done

echo "$files modules: $addresses addresses, $rows rows and $functions functions are as LLVM has them"
echo "$n changed modules"
[ $files -ge 8 ] && [ $addresses -gt 10000 ] && [ $rows -gt 400 ] || complain "too few"
