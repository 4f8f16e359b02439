#!/bin/sh
# Checks GSYM made from inputs other than a plain ELF program: symbols packed in .gnu_debugdata;
# object files that were not linked; PE with DWARF and with nothing but exports; Mach-O without
# DWARF. Unlinked object files must answer as elfutils does and, on other machines, as the same file
# does when linked. PE files must answer as llvm-symbolizer and the linker do.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
. "$top/tests/mount/clients.sh" # first_of
seen='' compared=0
create() { "$symfs" gsym create "$@" 2>err || { complain "create $*: $(cat err)"; return 1; }; }
cd "$tmp" || exit 1
llvm_sees() { # FILE FORMAT SECTION
  READOBJ=$(first_of llvm-readobj) || return
  "$READOBJ" -S "$1" >sections 2>&1 || complain "$1: llvm-readobj: $(tail -n 1 sections)"
  grep -qi "^Format: $2" sections && grep -q "Name: $3" sections || complain "$1: $(head -n 20 sections)"
}
CLANG=$(first_of clang) || CLANG=none
LLD=$(first_of ld.lld) || LLD=none

cat >a.c <<'C'
__attribute__((noinline)) static int deeper(volatile int *n) { return *n * 3; }
static inline __attribute__((always_inline)) int inner(volatile int *x) { if (*x & 1) return deeper(x); return *x; }
int work(int n) { volatile int v = n; return inner(&v) + 2; }
__attribute__((section(".text.cold"), noinline)) int cold(int x) { volatile int v = x; return inner(&v) + 7; }
int other(int n) { return work(n) * cold(n + 1); }
C

# ---- .gnu_debugdata ------------------------------------------------------------------------
if gcc -O1 -shared -fPIC -Wl,--build-id=sha1 -o whole.so a.c 2>log && command -v xz >/dev/null; then
  objcopy --only-keep-debug whole.so mini && objcopy -S --keep-symbol=deeper --keep-symbol=cold mini && xz -k mini &&
    strip -o stripped.so whole.so && objcopy --add-section .gnu_debugdata=mini.xz stripped.so packed.so ||
    complain "objcopy"
  create -o stripped.gsym stripped.so && create -o packed.gsym packed.so
  at=0x$(nm whole.so | awk '/ deeper$/ { print $1 }')
  "$symfs" gsym lookup "$at" stripped.gsym | grep -q deeper && complain "the test strips nothing"
  "$symfs" gsym lookup "$at" packed.gsym | grep -q 'deeper$' ||
    complain "what is packed is not read: $("$symfs" gsym lookup "$at" packed.gsym)"
  "$symfs" gsym lookup "0x$(nm whole.so | awk '/ other$/ { print $1 }')" packed.gsym | grep -q 'other$' ||
    complain "what is not packed is lost"
  # What is broken, or unpacks to more than symbols could, costs only itself.
  head -c 100 mini.xz >cut.xz
  head -c 300000000 /dev/zero | xz -0 >bomb.xz
  for broken in cut bomb a.c; do
    f=$broken; [ -f $f ] || f=$broken.xz
    objcopy --update-section .gnu_debugdata=$f packed.so broken.so && create -o broken.gsym broken.so &&
      { cmp -s broken.gsym stripped.gsym || complain "$broken: something else than without"; }
  done
  seen="$seen debugdata"
else
  echo "no .gnu_debugdata: $(cat log)"
fi

# ---- not linked ----------------------------------------------------------------------------
if gcc -g -O1 -ffunction-sections -c a.c -o a.o 2>log && command -v eu-addr2line >/dev/null &&
  create -o a.gsym a.o; then
  objcopy --compress-debug-sections a.o z.o && create -o z.gsym z.o && { cmp -s a.gsym z.gsym ||
    complain "compressed, it is another"; }
  "$symfs" gsym verify a.gsym >/dev/null || complain "verify"
  awk 'BEGIN { for (i = 0; i < 160; i++) printf "0x%x\n", i }' >addresses
  "$symfs" gsym lookup --stdin a.gsym <addresses | grep -v -- '-$' >got
  cut -f 1 got | eu-addr2line -f -i -e a.o | awk '
    NR % 2 { sub(/ inlined at .*/, ""); name = $0; next }
    { sub(/:[0-9]*$/, ""); print name "@" $0 }' >theirs
  cut -f 2 got | sed 's/ < /\n/g' >ours
  [ "$(wc -l <got)" -ge 60 ] || complain "only $(wc -l <got) addresses"
  cmp -s ours theirs || complain "elfutils says otherwise: $(diff ours theirs | head -n 4)"
  compared=$((compared + $(wc -l <got)))
  seen="$seen relocatable"
else
  echo "nothing compared with elfutils: $(cat log)"
fi
sed 's/__attribute__((section("[^"]*"), noinline))/__attribute__((noinline))/' a.c >one.c
for target in x86_64 i386 aarch64 arm riscv64 riscv32 powerpc64le powerpc; do
  "$CLANG" -target $target-linux-gnu -g -O1 -mno-relax -c one.c -o r.o 2>log ||
    "$CLANG" -target $target-linux-gnu -g -O1 -c one.c -o r.o 2>log || { echo "$target: $(head -n 1 log)"; continue; }
  "$LLD" -e work -o linked r.o 2>log || { echo "$target: $(head -n 1 log)"; continue; }
  create -o r.gsym r.o && create -o linked.gsym linked || continue
  # The same functions, each at its distance from the first.
  for g in r linked; do
    "$symfs" gsym dump $g.gsym | sed -n 's/^\[\(0x[0-9a-f]*\)-.*/\1/p' >starts
    first=$(head -n 1 starts)
    i=0
    while [ $i -lt 200 ]; do echo $((first + i)); i=$((i + 2)); done | "$symfs" gsym lookup --stdin $g.gsym |
      cut -f 2 >$g.answers
  done
  grep -q 'inner@.*one.c:2 < .*@.*one.c' r.answers || complain "$target: nothing is inlined: $(head -n 4 r.answers)"
  cmp -s r.answers linked.answers ||
    complain "$target: linked, it answers otherwise: $(diff r.answers linked.answers | head -n 4)"
  compared=$((compared + 100)) seen="$seen $target"
done
# A machine whose relocations are not known is refused, not read wrongly.
if [ -f a.o ]; then
  { head -c 18 a.o; printf '\053\000'; tail -c +21 a.o; } >sparc.o
  "$symfs" gsym create -o no.gsym sparc.o 2>err && complain "relocations of an unknown machine were read"
  grep -q 'relocations of its machine are not known' err || complain "it is not said: $(cat err)"
fi

# ---- embedded ------------------------------------------------------------------------------
# NAME FILE: a copy with GSYM in it answers as version 1 does, and is as good an ELF file as before.
embedded() {
  create -o v1.gsym "$2" && create --embed -o "$1.embedded" "$2" || return
  "$symfs" gsym dump v1.gsym | sed -n 's/^\[\(0x[0-9a-f]*\)-.*/\1/p' | while read -r from; do
    i=0; while [ $i -lt 40 ]; do printf '0x%x\n' $((from + i)); i=$((i + 1)); done
  done >addresses
  "$symfs" gsym lookup --stdin v1.gsym <addresses >ours
  "$symfs" gsym lookup --stdin "$1.embedded" <addresses | cmp -s - ours ||
    complain "$1: embedded, it answers otherwise"
  "$symfs" gsym verify "$1.embedded" >/dev/null || complain "$1: verify"
  readelf -hSlnW "$2" 2>&1 >/dev/null | sort -u >before
  readelf -hSlnW "$1.embedded" 2>&1 >/dev/null | sort -u >after
  cmp -s before after || complain "$1: readelf: $(diff before after | head -n 2)"
  readelf -SW "$1.embedded" | grep -q ' [.]gsym ' || complain "$1: no section .gsym"
  # What was there says the same: lines, symbols, notes, all that is loaded.
  for what in -sW --debug-dump=decodedline --debug-dump=info -nW -lW; do
    readelf $what "$2" 2>/dev/null | grep -v '^File:' >before
    readelf $what "$1.embedded" 2>/dev/null | grep -v '^File:' >after
    cmp -s before after || complain "$1: readelf $what: $(diff before after | head -n 4)"
  done
  compared=$((compared + $(wc -l <ours)))
  # Stripped of it, it is gone; made anew of the copy, it is the same.
  "$symfs" gsym create --embed -o twice "$1.embedded" 2>err && complain "$1: it was put in twice"
  seen="$seen embed-$1"
}
if gcc -g -O1 -o prog a.c -x c - <<'C' 2>log; then
int work(int);
int main(int n, char **v) { return work(n) == (v != 0); }
C
  [ -f prog ] && objcopy --only-keep-debug prog prog.debug
  embedded program prog
  embedded debug-file prog.debug
  cp program.embedded run.me && chmod +x run.me && ./run.me
  [ $? -le 1 ] || complain "the program with GSYM in it does not run"
  # Its strings are shared: those that are added are few.
  readelf -SW program.embedded | grep -q gsymstrtab && complain "no strings are shared"
  [ $(($(stat -c %s program.embedded) - $(stat -c %s prog))) -lt $(($(stat -c %s v1.gsym) + 1000)) ] ||
    complain "the copy is much larger"
  strip -g -o symbols prog && embedded symbols symbols
  objcopy --compress-debug-sections prog squeezed && embedded compressed squeezed
  [ -f a.o ] && embedded relocatable a.o
else
  echo "nothing embedded: $(head -n 1 log)"
fi
for target in powerpc i386 aarch64; do
  "$CLANG" -target $target-linux-gnu -g -O1 -c one.c -o r.o 2>log && "$LLD" -e work -o linked r.o 2>log &&
    embedded $target linked
  [ $target = aarch64 ] && embedded clang-object r.o # its .strtab has the names of sections, too
done

# ---- PE ------------------------------------------------------------------------------------
cat >p.c <<'C'
__attribute__((noinline)) static int deeper(volatile int *n) { return *n * 3; }
static inline __attribute__((always_inline)) int inner(volatile int *x) { if (*x & 1) return deeper(x); return *x; }
__declspec(dllexport) int work(int n) { volatile int v = n; return inner(&v) + 2; }
__declspec(dllexport) int a_longer_name(int n) { return work(n) * work(n + 1); }
__declspec(dllexport) int data = 5;
int DllMain(void *a, int b, void *c) { return a_longer_name(b); }
int DllMainCRTStartup(void *a, int b, void *c) { return DllMain(a, b, c); }
C
SYMBOLIZER=$(first_of llvm-symbolizer) && STRIP=$(first_of llvm-strip) && NM=$(first_of llvm-nm) || SYMBOLIZER=none
for target in x86_64:i386pep i686:i386pe aarch64:arm64pe; do
  emulation=${target#*:} target=${target%:*}
  [ "$SYMBOLIZER" != none ] && "$CLANG" -target $target-w64-windows-gnu -gdwarf-4 -O1 -c p.c -o p.obj 2>log &&
    "$LLD" -m $emulation --shared --entry=DllMainCRTStartup -o p.dll p.obj 2>log ||
    { echo "PE of $target: $(head -n 1 log)"; continue; }
  create -o p.gsym p.dll || continue
  "$symfs" gsym verify p.gsym >/dev/null || complain "PE of $target: verify"
  "$symfs" gsym dump p.gsym | sed -n 's/^\[\(0x[0-9a-f]*\)-\(0x[0-9a-f]*\)) .*/\1 \2/p' | while read -r from to; do
    at=$((from))
    while [ $at -lt $((to)) ]; do printf '0x%x\n' $at; at=$((at + 1)); done
  done >addresses
  "$symfs" gsym lookup --stdin p.gsym <addresses | cut -f 2 | sed 's/ < /\n/g' >ours
  "$SYMBOLIZER" --obj=p.dll --output-style=GNU --functions=linkage --inlines --no-demangle <addresses |
    awk 'NR % 2 { name = $0; next } { sub(/ \(discriminator [0-9]*\)/, ""); print name "@" $0 }' |
    sed "$([ $target = i686 ] && echo 's/^_//')" >theirs # of what the table of symbols calls so
  [ "$(wc -l <addresses)" -ge 100 ] || complain "PE of $target: only $(wc -l <addresses) addresses"
  cmp -s ours theirs || complain "PE of $target: $SYMBOLIZER says otherwise: $(diff ours theirs | head -n 4)"
  compared=$((compared + $(wc -l <addresses)))
  # In an object file of the same format.
  create --format object -o p.o p.dll && "$symfs" gsym lookup --stdin p.o <addresses | cut -f 2 | sed 's/ < /\n/g' |
    cmp -s - ours ||
    complain "PE of $target: the object says otherwise"
  llvm_sees p.o COFF .gsymstrtab
  # The symbols alone, and the exports alone.
  "$STRIP" -g p.dll -o symbols.dll && create -o symbols.gsym symbols.dll &&
    "$NM" p.dll | awk '$2 ~ /^[tT]$/ { print "0x" $1, $3 }' | sed "$([ $target = i686 ] && echo 's/ _/ /')" >names
  grep -q ' deeper$' names || complain "PE of $target: no symbols: $(cat names)"
  while read -r at name; do
    "$symfs" gsym lookup "$at" symbols.gsym | grep -q "	$name\$" ||
      complain "PE of $target: $name at $at: $("$symfs" gsym lookup "$at" symbols.gsym)"
  done <names
  "$STRIP" p.dll -o exports.dll && create -o exports.gsym exports.dll && "$symfs" gsym dump exports.gsym >dump
  grep -q ') work$' dump && grep -q ') a_longer_name$' dump || complain "PE of $target: exports: $(cat dump)"
  grep -qE ' (data|deeper)$' dump && complain "PE of $target: too much: $(cat dump)"
  seen="$seen pe-$target"
done
[ -f p.obj ] && "$symfs" gsym create -o no.gsym p.obj 2>err && complain "a COFF object that is not linked"
[ -f p.obj ] && { grep -q 'is not linked' err || complain "it is not said: $(cat err)"; }

# ---- Mach-O without DWARF ------------------------------------------------------------------
if LD64=$(first_of ld64.lld) && "$CLANG" -target x86_64-apple-macos11 -O1 -c one.c -o m.o 2>log &&
  [ "$SYMBOLIZER" != none ] &&
  "$LD64" -arch x86_64 -platform_version macos 11.0 11.0 -dylib -undefined dynamic_lookup -o m.dylib m.o 2>log; then
  create -o m.gsym m.dylib
  "$NM" m.dylib | awk '$2 ~ /^[tT]$/ && $3 ~ /^_/ { print "0x" $1, substr($3, 2) }' >names
  create --format object -o m.o m.dylib
  llvm_sees m.o Mach-O __gsym_strtab
  "$symfs" gsym verify m.gsym >/dev/null && "$symfs" gsym create -o m2.gsym m.o 2>err &&
    "$symfs" gsym verify m2.gsym >/dev/null ||
    complain "Mach-O: $(cat err)"
  while read -r at name; do
    "$symfs" gsym lookup "$at" m.o | grep -q "	$name\$" || complain "Mach-O: the object has no $name"
  done <names
  [ "$(wc -l <names)" -ge 4 ] || complain "Mach-O: no symbols: $(cat names)"
  while read -r at name; do
    "$symfs" gsym lookup "$at" m.gsym | grep -q "	$name\$" ||
      complain "Mach-O: $name at $at: $("$symfs" gsym lookup "$at" m.gsym)"
  done <names
  seen="$seen macho"
else
  echo "no Mach-O: $(head -n 1 log)"
fi
echo "$compared addresses:$seen"
exit 0
