#!/bin/sh
# Checks symfs gsym on the command line: every command, both spellings, exit codes and messages.
# llvm-gsymutil must read the output and answer every address as symfs does.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
seen=0
cd "$tmp" || exit 1

# ends STATUS WORDS...: how `symfs gsym WORDS` ends; what it says is in out and err
ends() {
  want=$1
  shift
  "$symfs" gsym "$@" >out 2>err
  got=$?
  seen=$((seen + 1))
  [ $got = "$want" ] || complain "gsym $*: exit $got, not $want: $(cat err)"
}
says() { grep -q -- "$1" "$2" || complain "gsym does not say $1: $(cat "$2")"; }

# ---- a symbol file ------------------------------------------------------------------------
# A FUNC of which a part has no line after an inlined call ended becomes two functions.
awk 'BEGIN {
  print "MODULE Linux x86_64 C0BCC3F19827FE653058404B2831D9E60 demo.so"
  print "INFO CODE_ID F1C3BCC0279865FE3058404B2831D9E64135386C"
  for (i = 0; i < 5; i++) print "FILE " i " /src/dir" i % 2 "/file" i ".cpp"
  for (i = 0; i < 7; i++) print "INLINE_ORIGIN " i " ns::inlined_" i "(int)"
  for (f = 0; f < 150; f++) {
    start = 4096 + f * 64
    printf "FUNC %x 3c 0 ns::Class<%d>::function(int)\n", start, f
    printf "INLINE 0 %d %d %d %x 10 %x 4\n", f + 7, f % 5, f % 7, start + 8, start + 40
    if (f % 3) printf "INLINE 1 %d %d %d %x 6\n", f + 9, (f + 1) % 5, (f + 2) % 7, start + 10
    for (l = 0; l < 60; l += 4 + f % 3) printf "%x 4 %d %d\n", start + l, 10 + f + l * (l % 5), (f + int(l / 20)) % 5
  }
  printf "PUBLIC %x 0 tail\n", 4096 + 150 * 64
  print "STACK CFI INIT 1000 10 .cfa: $rsp 8 +"
}' >demo.sym

ends 0 create demo.sym
[ -s demo.sym.gsym ] || complain "create writes no demo.sym.gsym"
ends 0 create -o a.gsym demo.sym
ends 0 create --format v1 -o b.gsym demo.sym
ends 0 create --strict -o - demo.sym
cmp -s a.gsym b.gsym || complain "--format v1 writes another file than create"
cmp -s a.gsym demo.sym.gsym || complain "create writes another file without -o"
cmp -s a.gsym out || complain "create -o - writes another file"
ends 0 create -o c.gsym a.gsym
cmp -s a.gsym c.gsym || complain "a copy of a file is another"

ends 0 lookup 0x1000 0x100a 4160 1 a.gsym
printf '0x1000\tns::Class<0>::function(int)@/src/dir0/file0.cpp:10
0x100a\tns::inlined_0(int)@/src/dir0/file0.cpp:34 < ns::Class<0>::function(int)@/src/dir0/file0.cpp:7
0x1040\tns::Class<1>::function(int)@/src/dir1/file1.cpp:11
0x1\t-\n' | cmp -s - out || complain "lookup: $(cat out)"
cp out want
ends 0 --address 0x1000 --address 100a 4160 1 a.gsym
cmp -s want out || complain "--address: $(cat out)"
printf '0x1000\n100A\n\n 4160 \r\n0x1' | "$symfs" gsym lookup --stdin a.gsym | cmp -s want - ||
  complain "lookup --stdin differs"
# A word that is not an address has its line, and the next lines go on.
said() { printf '0x1000\nno-such\n\033[2J\n0x1\n' | "$symfs" "$@" >out 2>err; echo $?; }
printf '0x1000\tns::Class<0>::function(int)@/src/dir0/file0.cpp:10\nno-such\t-\n\\x1b[2J\t-\n0x1\t-\n' >words
[ "$(said gsym lookup --stdin a.gsym)" = 1 ] && cmp -s words out || complain "a wrong word on stdin: $(cat out err)"
says ': neither an address nor a function with symbols: no-such$' err
[ "$(wc -l <err)" = 2 ] || complain "two wrong words have other messages: $(cat err)"
[ "$(said addr2line --json a.gsym)" = 1 ] || complain "a wrong word on stdin, as JSON: $(cat out err)"
says '"address":"no-such",$' out
says '"address":"0x1",$' out
# A frame without a file is its name alone; for programs, which read lines of --stdin, it has all fields.
tail=0x$(awk '$1 == "PUBLIC" && $NF == "tail" { print $2 }' demo.sym)
ends 0 lookup "$tail" a.gsym
says "^$tail	tail\$" out
echo "$tail" | "$symfs" gsym lookup --stdin a.gsym | grep -q '	tail@:0$' || complain "lookup --stdin without a file"
ends 0 lookup --json "$tail" a.gsym
says '"file":null,$' out
says '"line":null,$' out
ends 0 lookup --json 0x100a a.gsym
says '"name":"ns::inlined_0(int)"' out
says '"inlined":true' out
ends 0 dump a.gsym
says '^\[0x1000-0x103c) ns::Class<0>::function(int)$' out
says 'ns::inlined_0(int) called at /src/dir0/file0.cpp:7$' out
says '^magic 0x4753594d, version 1, addresses of 2 bytes, strings of [0-9]* bytes$' out
says '^  1 0x[0-9a-f]* 0x[0-9a-f]*$' out
says '^  [0-9]* /src/dir0/file0.cpp$' out
functions=$(grep -c '^\[0x' out)
[ "$functions" -gt 150 ] || complain "dump shows $functions functions"
[ "$(sed -n '/^address offset/,/^files:/p' out | grep -c '^  ')" = "$functions" ] ||
  complain "dump shows $(grep -c '^  [0-9]' out) offsets"
cp out want
ends 0 --dump a.gsym
cmp -s want out || complain "--dump is not dump"
ends 0 dump --json a.gsym
says '"name":"ns::Class<0>::function(int)"' out
python3 - out "$functions" <<'PY' || complain "dump --json: $(head -c 300 out)"
import json, sys
d = json.load(open(sys.argv[1]))
ok = d["magic"] == "0x4753594d" and d["version"] == 1 and d["string_table"] is None
ok = ok and len(d["address_offsets"]) == len(d["info_offsets"]) == len(d["functions"]) == int(sys.argv[2])
ok = ok and all(int(d["base"], 16) + int(o, 16) == int(f["address"], 16)
                for o, f in zip(d["address_offsets"], d["functions"]))
ok = ok and {"directory": "/src/dir0", "basename": "file0.cpp"} in [
    {k: f[k] for k in ("directory", "basename")} for f in d["files"]]
sys.exit(not ok)
PY
# Names of each kind are printed demangled, and stay mangled in the file. Other names are printed as they are.
cat >mangled.sym <<'S'
MODULE Linux x86_64 C0BCC3F19827FE653058404B2831D9E60 mangled.so
FILE 0 /src/m.cc
INLINE_ORIGIN 0 _ZN2ns5innerEi
FUNC 1000 10 0 _ZN2ns5outerEPKc
INLINE 0 7 0 0 1008 8
1000 8 6 0
1008 8 2 0
FUNC 1010 10 0 ?test1@@YAXPAH@Z
FUNC 1020 10 0 _RNvCs1234_7mycrate3foo
FUNC 1030 10 0 _ZN4core3fmt5write17h0123456789abcdefE
FUNC 1040 10 0 plain_c
FUNC 1050 10 0 _Znot
S
ends 0 create -o m.gsym mangled.sym
ends 0 lookup --demangle 0x1008 0x1010 0x1020 0x1030 0x1040 0x1050 m.gsym
printf '0x1008\tns::inner(int)@/src/m.cc:2 < ns::outer(char const*)@/src/m.cc:7
0x1010\ttest1(int *)
0x1020\tmycrate::foo
0x1030\tcore::fmt::write
0x1040\tplain_c
0x1050\t_Znot\n' | cmp -s - out || complain "lookup --demangle: $(cat out)"
ends 0 lookup 0x1008 m.gsym
says '	_ZN2ns5innerEi@/src/m.cc:2 < _ZN2ns5outerEPKc@/src/m.cc:7$' out
ends 0 dump -C m.gsym
says ') ns::outer(char const\*)$' out
says ') ns::inner(int) called at /src/m.cc:7$' out
says ') test1(int \*)$' out
ends 0 dump --json -C m.gsym
for name in 'ns::outer(char const\*)' 'ns::inner(int)' 'test1(int \*)' plain_c; do
  says "\"name\":\"$name\"" out
done
ends 0 dump m.gsym
says ') _ZN2ns5outerEPKc$' out
grep -q 'ns::' out && complain "dump demangles without -C"
# The first tool of the format is called without a command, and writes the object form.
ends 0 -o a.o demo.sym
ends 0 dump a.o
says ', strings of [0-9]* bytes in .gsymstrtab$' out
ends 0 create -o made.o --format object demo.sym
cmp -s a.o made.o || complain "-o without a command writes another file than create --format object"
ends 0 -o a.v1 --format v1 demo.sym
cmp -s a.v1 a.gsym || complain "--format counts without a command, too"
ends 0 stats a.gsym
says '^functions 251$' out
says '^with_inlines 200$' out
says '^id f1c3bcc0279865fe3058404b2831d9e64135386c$' out
ends 0 verify a.gsym
ends 0 verify a.gsym --against demo.sym
says ' 0 differ$' out
sed 's/^PUBLIC \(.*\) tail/PUBLIC \1 other/' demo.sym >other.sym
ends 1 verify a.gsym --against other.sym
says '	tail	other$' out

# ---- what is wrong ------------------------------------------------------------------------
sed 's/^FUNC 1040 .*/FUNC 1040 broken/' demo.sym >broken.sym
ends 0 create -o d.gsym broken.sym
says 'bad lines left out: 1, the first is line [0-9]*$' err
ends 0 lookup 0x1040 0x1080 d.gsym
says '^0x1040.-$' out
says '^0x1080.ns::Class<2>' out
ends 4 create --strict -o e.gsym broken.sym
says 'line [0-9]*: FUNC 1040 broken$' err
[ -e e.gsym ] && complain "a file is made where none can be"
echo hello >text
ends 1 create -o e.gsym text
says 'not a file that GSYM can be made from' err
ends 1 dump text
: >empty
ends 1 create -o e.gsym empty
head -n 2 demo.sym >nothing.sym
ends 1 create -o e.gsym nothing.sym
says 'has no functions' err
head -c 3000 a.gsym >cut.gsym
ends 4 verify cut.gsym
says 'is cut short' err
ends 4 dump no-such-file
ends 4 dump .
ends 4 create -o /no-such-directory/x demo.sym
ends 2
ends 2 create
ends 2 nonsense
ends 2 lookup a.gsym
ends 2 lookup zz a.gsym
ends 2 lookup 0x1 0xx a.gsym
[ -s out ] && complain "addresses are answered before a word that is not an address"
ends 2 lookup 18446744073709551616 a.gsym
ends 2 lookup --stdin 0x1 a.gsym
ends 0 create --format object demo.sym
ends 0 lookup 0x100a demo.sym.gsym.o
says 'inlined_0(int)@/src/dir0/file0.cpp:34 < ns::Class<0>::function' out
ends 2 create --format v7 demo.sym
ends 2 create --shorten-cpp --full-names demo.sym
ends 2 create --embed demo.sym
ends 2 create --embed --format v1 -o e.gsym demo.sym
ends 1 create --embed -o e.gsym demo.sym
says 'not an object file' err
sed 's/ns::Class<1>::function(int)/std::vector<int, std::allocator<int> >::size()/' demo.sym >cpp.sym
ends 0 create -o cpp.gsym cpp.sym
ends 0 lookup 0x1040 cpp.gsym
says 'std::vector<int, std::allocator<int> >::size()@' out
ends 0 create --shorten-cpp -o cpp.gsym cpp.sym
ends 0 lookup 0x1040 cpp.gsym
says '	std::vector<int>::size()@' out
ends 0 create --format object -o cpp.o cpp.sym
ends 0 lookup 0x1040 cpp.o
says '	std::vector<int>::size()@' out
set_size='std::set<int, std::less<int>, std::allocator<int> >::size()'
sed "s/^FUNC 1040 .*/INLINE_ORIGIN 9 $set_size\n&\nINLINE 0 1 0 9 1040 4/" cpp.sym >inlined.sym
ends 0 create --shorten-cpp -o inlined.gsym inlined.sym
ends 0 lookup 0x1040 inlined.gsym
says 'std::set<int>::size()' out
ends 0 create --format object --full-names -o cpp.o cpp.sym
ends 0 lookup 0x1040 cpp.o
says 'std::vector<int, std::allocator<int> >::size()@' out
[ -e e.gsym ] && complain "a file is made where none can be"

# ---- ELF without debug information ------------------------------------------------------
cat >sym.c <<'C'
int one(int x) { return x * 3 + 1; }
static int __attribute__((noinline, used)) two(int x) { return one(x) * x; }
int __attribute__((weak, alias("one"))) another_one(int x);
__asm__(".text\n.globl entry\nentry:\n.byte 0,0,0,0,0,0,0,0\n.p2align 4");
int three(int x) { return two(x) + two(x + 1); }
static void *pick(void) { return (void *)three; }
int chosen(int) __attribute__((ifunc("pick")));
C
# shellcheck disable=SC2086
if ${CC:-cc} -O1 -fPIC -shared -nostdlib -Wl,--build-id=0x0123456789abcdef -o sym.so sym.c 2>log; then
  # named FILE NM-OPTION: a function's name is found at its address, or that of one beside it
  named() {
    nm $2 "$1" | awk '$2 ~ /^[tTWi]$/ && $3 !~ /^[$.]/ { print "0x" $1, $3 }' >names
    [ "$(wc -l <names)" -ge 5 ] || complain "nm $2 $1 names $(wc -l <names) functions"
    while read -r at name; do
      found=$("$symfs" gsym lookup "$at" "$1.gsym" | sed 's/.*\t//')
      grep -q "^$at $found\$" names || complain "$1: $name at $at is $found"
      seen=$((seen + 1))
    done <names
  }
  ends 0 create sym.so
  named sym.so
  ends 0 stats sym.so.gsym
  says '^id 0123456789abcdef$' out
  for name in one two three chosen entry; do
    "$symfs" gsym dump sym.so.gsym | grep -q ") $name\$" || complain "sym.so.gsym has no $name"
  done
  objcopy --only-keep-debug sym.so sym.debug && ends 0 create -o debug.gsym sym.debug
  cmp -s sym.so.gsym debug.gsym || complain "a debug file says something else than the whole"
  strip -o stripped.so sym.so && ends 0 create stripped.so
  named stripped.so -D
  "$symfs" gsym dump stripped.so.gsym | grep -q ') two$' && complain "the test strips nothing"
  ${CC:-cc} -c -o sym.o sym.c && ends 0 create -o e.gsym sym.o
  rm -f e.gsym
else
  echo "not compared with nm: $(head -n 1 log)"
fi

# ---- LLVM ---------------------------------------------------------------------------------
# Its answers as ours: `name + 4 @ dir/base:line [inlined]`, outer frames on lines of their own.
as_ours() {
  awk '
    function frame(s) {
      sub(/ \[inlined\]$/, "", s)
      file = ":0"
      if (match(s, / @ /)) { file = substr(s, RSTART + 3); s = substr(s, 1, RSTART - 1) }
      sub(/ \+ [0-9]+$/, "", s)
      return s "@" file
    }
    /^Looking up/ || /^$/ { next }
    /^0x/ {
      if (line) print line
      at = substr($1, 3, length($1) - 3)
      sub(/^0+/, "", at)
      rest = substr($0, length($1) + 2)
      line = "0x" at "\t" (rest ~ /^error:/ ? "-" : frame(rest))
      next
    }
    { sub(/^ +/, ""); line = line " < " frame($0) }
    END { if (line) print line }'
}

tools=
for tool in llvm-gsymutil llvm-gsymutil-14 llvm-gsymutil-19; do
  command -v $tool >/dev/null && tools="$tools $tool"
done
awk 'BEGIN { for (a = 4090; a < 4096 + 151 * 64; a++) printf "0x%x\n", a }' >addresses
"$symfs" gsym lookup --stdin a.gsym <addresses >ours
for tool in $tools; do
  sed "s|\$| $tmp/a.gsym|" addresses | $tool --addresses-from-stdin 2>&1 | as_ours >theirs
  [ "$(wc -l <theirs)" -eq "$(wc -l <addresses)" ] || complain "$tool answers $(wc -l <theirs) addresses"
  cmp -s ours theirs || complain "$tool answers otherwise: $(diff ours theirs | head -n 4)"
  $tool a.gsym >dumped 2>&1 || complain "$tool cannot dump: $(tail -n 1 dumped)"
  seen=$((seen + 1))
done
# ---- a long conversion ---------------------------------------------------------------------
awk 'BEGIN {
  print "MODULE Linux x86_64 C0BCC3F19827FE653058404B2831D9E60 many.so"
  print "FILE 0 /src/a.cpp"
  for (f = 0; f < 30000; f++) {
    printf "FUNC %x 98 0 ns::Class<%d>::function(int)\n", 4096 + f * 160, f
    for (l = 0; l < 152; l += 8) printf "%x 8 %d 0\n", 4096 + f * 160 + l, 10 + f % 100 + l
  } }' >many.sym
"$symfs" gsym create -o many.gsym many.sym || complain "a long conversion fails"
# Interrupted anywhere it ends, and leaves nothing or all.
mkdir kept
ended=0
for after in 0.02 0.05 0.1 0.2 0.3 0.5 0.8 1.2; do
  rm -f kept/many.gsym
  timeout --preserve-status -s INT $after "$symfs" gsym create -o kept/many.gsym many.sym
  case $? in
  130) ended=$((ended + 1)) ;;
  0) [ -f kept/many.gsym ] || complain "after $after s: no file, and no error" ;;
  *) complain "after $after s: another status" ;;
  esac
  [ ! -f kept/many.gsym ] || cmp -s many.gsym kept/many.gsym || complain "after $after s: half a file"
  [ "$(find kept -type f ! -name many.gsym | wc -l)" = 0 ] || complain "after $after s: left $(ls -A kept)"
done
[ $ended -gt 0 ] || complain "nothing was interrupted"
# How far it is, on a terminal and nowhere else.
if command -v script >/dev/null; then
  script -qec "'$symfs' gsym create -o many2.gsym many.sym" /dev/null </dev/null >shown 2>&1 ||
    complain "on a terminal: $(cat shown)"
  grep -q 'many.sym: [1-9]0 %' shown || complain "no progress on a terminal"
fi
"$symfs" gsym create -o many2.gsym many.sym >shown 2>&1
[ -s shown ] && complain "progress where no terminal is: $(head -c 200 shown)"

[ -n "$tools" ] || echo "no llvm-gsymutil: not compared with it (apt-get install llvm)"
echo "$seen calls seen"
exit 0
