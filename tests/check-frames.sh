#!/bin/sh
# Checks unwind rules of other tables than ELF's: .pdata and frame data of Windows, compact unwind information of
# Mach-O, made here and in ../shared. There, Mozilla's dump_syms and Microsoft's DIA have made the expected records.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
frames=$(cd "${top_builddir:-.}" && pwd)/libexec/frames
shared=$(cd "$top_srcdir/.." && pwd)/shared/fixtures/pdb
cd "$TMP" || exit 1
tried=0

records() { # FILE
  "$frames" 60 4000000000 may 3<"$1" 4>text 5>word || fail "$1: frames ended with $?"
  tried=$((tried + 1))
}

# A compressed .debug_frame, which nothing loads.
if command -v gcc >/dev/null; then
  echo 'int g(int); int f(int a) { volatile char b[300]; b[a & 255] = 1; return g(a) + b[a & 3]; }' >plain.c
  gcc -O2 -g -gz -shared -nostdlib -fPIC -fno-asynchronous-unwind-tables -o plain.so plain.c || fail "plain.so"
  records plain.so
  [ -s text ] || fail "nothing of a compressed .debug_frame"
fi

cat >m.c <<'C'
int g(int);
int f(int a) { volatile char b[300]; b[a & 255] = 1; return g(a) + b[a & 3]; }
int main(void) { return 0; }
C
cat >arm64.s <<'S'
.text
f: .seh_proc f
sub sp, sp, #48
.seh_stackalloc 48
stp x29, x30, [sp, #32]
.seh_save_fplr 32
add x29, sp, #32
.seh_add_fp 32
.seh_endprologue
nop
.seh_startepilogue
ldp x29, x30, [sp, #32]
.seh_save_fplr 32
add sp, sp, #48
.seh_stackalloc 48
.seh_endepilogue
ret
.seh_endproc
g: .seh_proc g
stp x19, x20, [sp, #-32]!
.seh_save_regp_x x19, 32
str x30, [sp, #16]
.seh_save_reg x30, 16
.seh_endprologue
nop
.seh_startepilogue
ldr x30, [sp, #16]
.seh_save_reg x30, 16
ldp x19, x20, [sp], #32
.seh_save_regp_x x19, 32
.seh_endepilogue
ret
.seh_endproc
S
cat >arm64.want <<'W'
STACK CFI INIT 1000 1c .cfa: sp 0 + .ra: x30
STACK CFI 1004 .cfa: sp 48 +
STACK CFI 1008 .ra: .cfa -8 + ^ x29: .cfa -16 + ^
STACK CFI 100c .cfa: x29 16 +
STACK CFI 1010 .cfa: sp 48 +
STACK CFI 1014 .ra: x30 x29: x29
STACK CFI 1018 .cfa: sp 0 +
STACK CFI INIT 101c 18 .cfa: sp 0 + .ra: x30
STACK CFI 1020 .cfa: sp 32 + x19: .cfa -32 + ^ x20: .cfa -24 + ^
W
lld=$(ls -d /usr/lib/llvm-*/bin/lld 2>/dev/null | sort -V | tail -n 1)
if [ -n "$lld" ] && command -v clang >/dev/null; then
  for arch in x86_64 arm64; do
    omit=-fomit-frame-pointer
    [ $arch = x86_64 ] || omit=
    # shellcheck disable=SC2086
    clang -target $arch-apple-macos11 -O2 $omit -c m.c -o m.o && "$lld" -flavor darwin -arch $arch \
      -platform_version macos 11 11 -dylib -undefined dynamic_lookup -o m.$arch m.o || fail "m.$arch"
    records m.$arch
    # Rules at calls: the whole frame is there.
    init='^STACK CFI INIT [0-9a-f]+ [0-9a-f]+'
    case $arch in
    x86_64) grep -qE "$init"' \.cfa: \$rsp 3[0-9]+ \+ \.ra: \.cfa -8 \+ \^' text ;;
    arm64) grep -qE "$init"' \.cfa: x29 16 \+ \.ra: \.cfa -8 \+ \^ .*x29: \.cfa -16 \+ \^$' text ;;
    esac || fail "m.$arch: $(cat text)"
  done
  # Only __debug_frame, where $esp has number 4. No linker here makes such a program: an object gets its segment's
  # name.
  clang -target i386-apple-macosx10.6 -O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -c m.c -o m.o &&
    printf __TEXT | dd of=m.o bs=1 seek=36 conv=notrunc 2>/dev/null && records m.o
  grep -qE "$init"' \.cfa: \$esp 4 \+ \.ra: \.cfa -4 \+ \^$' text || fail "__debug_frame of i386: $(cat text)"
  clang -target x86_64-pc-windows-msvc -O2 -c m.c -o m.obj &&
    "$lld" -flavor link -dll -noentry -nodefaultlib -force m.obj -out:m.dll >/dev/null 2>&1
  records m.dll
  # A row for each instruction of the prolog.
  grep -qE '^STACK CFI INIT 1000 [0-9a-f]+ \.cfa: \$rsp 8 \+ \.ra: \.cfa -8 \+ \^$' text || fail "m.dll: $(cat text)"
  grep -qE '^STACK CFI 10[0-9a-f]+ \.cfa: \$rsp 3[0-9]+ \+$' text || fail "m.dll: $(cat text)"
  # arm64: f has a list of codes, also for its epilog; g has the form that fits into a word, which has no epilog.
  clang -target aarch64-pc-windows-msvc -c arm64.s -o m.obj &&
    "$lld" -flavor link -dll -noentry -nodefaultlib -force m.obj -out:m.dll >/dev/null 2>&1
  records m.dll
  head -n 9 text | cmp -s - arm64.want || fail "m.dll for arm64: $(cat text)"
else
  say "no clang or lld: nothing is made for macOS and Windows"
fi

# ELF for other processors: the very records of Breakpad's dump_syms. On arm64, instructions about signed return
# addresses change nothing.
cat >signed.s <<'S'
.text
f: .cfi_startproc
paciasp
.cfi_negate_ra_state
stp x29, x30, [sp, #-16]!
.cfi_def_cfa_offset 16
.cfi_offset x29, -16
.cfi_offset x30, -8
nop
ldp x29, x30, [sp], #16
.cfi_restore x29
.cfi_restore x30
.cfi_def_cfa_offset 0
autiasp
ret
.cfi_endproc
S
in_order() { # sorts the records, and the rules of each
  awk '{ line = ""; n = 0
    for (i = 1; i <= NF; i++)
      if ($i ~ /:$/) rule[++n] = $i; else if (n) rule[n] = rule[n] " " $i; else line = line " " $i
    for (i = 2; i <= n; i++) for (j = i; j > 1 && rule[j] < rule[j - 1]; j--) {
      kept = rule[j]; rule[j] = rule[j - 1]; rule[j - 1] = kept }
    for (i = 1; i <= n; i++) line = line " " rule[i]
    print line }' | sort
}
if command -v clang >/dev/null && command -v ld.lld >/dev/null; then
  for target in i386-linux-gnu aarch64-linux-gnu armv7-linux-gnueabihf riscv64-linux-gnu mips-linux-gnu; do
    clang -target $target -O2 -g -fasynchronous-unwind-tables -fPIC -c m.c -o m.o 2>/dev/null &&
      ld.lld -shared -o m.so m.o 2>/dev/null || { say "$target: not made here"; continue; }
    records m.so
    [ "$(grep -c INIT text)" -ge 2 ] || fail "$target: $(cat text)"
    case $target in mips*) continue ;; esac # dump_syms crashes
    [ -x "$TOOLS/bin/dump_syms" ] || continue
    # dump_syms writes a return address that is in its register again as `.ra: .ra`, which has no value. The right
    # rule is that of the function's beginning.
    "$TOOLS/bin/dump_syms" m.so 2>/dev/null | grep '^STACK CFI' >records
    ra=$(sed -n 's/^STACK CFI INIT.* \.ra: \([a-z0-9]*\).*/\1/p' records | head -n 1)
    sed "s/ \.ra: \.ra\( \|\$\)/ .ra: $ra\1/" records | in_order >want
    in_order <text | diff want - >differ || fail "$target: dump_syms <, symfs >: $(head -n 6 differ)"
    say "$target: $(wc -l <want) records as dump_syms has them"
  done
  # Three functions of one CIE: only the first needs columns for d8, which is register 264.
  for f in f g h; do
    [ $f = f ] && save='vpush {d8}
.cfi_def_cfa_offset 8
.cfi_offset d8, -8' || save='push {r4, lr}
.cfi_def_cfa_offset 8
.cfi_offset lr, -4
.cfi_offset r4, -8'
    printf '%s: .cfi_startproc\n%s\nnop\nbx lr\n.cfi_endproc\n' $f "$save"
  done >columns.s
  clang -target armv7-linux-gnueabihf -c columns.s -o m.o && ld.lld -shared -o m.so m.o && records m.so
  [ "$(grep -c 'INIT.* sp 0 +' text)" = 3 ] && [ "$(grep -c '[0-9a-f] .cfa: sp 8 +' text)" = 3 ] &&
    [ "$(grep -c ' .ra: .cfa -4 + ^ r4: .cfa -8 + ^' text)" = 2 ] || fail "functions of one CIE: $(cat text)"
  # An instruction whose operand has no known size (DW_CFA_set_loc), in the first function.
  printf '%s: .cfi_startproc\n%s\nnop\nret\n.cfi_endproc\n' f '.cfi_escape 1,0,0,0,0' g nop h nop >unsure.s
  clang -target x86_64-linux-gnu -c unsure.s -o m.o && ld.lld -shared -o m.so m.o && records m.so
  [ "$(grep -c INIT text)" -ge 2 ] || fail "functions beside an unknown instruction: $(cat text)"
  clang -target aarch64-linux-gnu -c signed.s -o m.o && ld.lld -shared -o m.so m.o && records m.so
  grep -q 'STACK CFI [0-9a-f]* .cfa: sp 16 + .ra: .cfa -8 + ^ x29: .cfa -16 + ^' text &&
    grep -q 'STACK CFI [0-9a-f]* .cfa: sp 0 + .ra: x30 x29: x29' text || fail "signed return addresses: $(cat text)"
fi

# The CFA at the end of each function, as Mozilla's dump_syms has it. (It has one place for all registers that are
# saved above the return address, so they are not compared.)
cfas() {
  awk '$2 == "CFI" && $3 == "INIT" { if (at) print at, cfa; at = $4 " " $5; cfa = "" }
    $2 == "CFI" { for (i = 3; i <= NF; i++) if ($i == ".cfa:") cfa = $(i + 1) " " $(i + 2) }
    END { print at, cfa }' "$1" | sort
}
if [ -d "$shared" ]; then
  records "$shared/fixtures/dump_syms_regtest64.exe"
  tr -d '\r' <"$shared/sym/dump_syms_regtest64.moz.sym" >moz
  cfas moz >want
  cfas text >got
  [ "$(wc -l <want)" -gt 150 ] && diff want got >differ || fail "the CFAs of .pdata: $(head differ)"
  say ".pdata: $(wc -l <want) functions as dump_syms has them"
  for name in crash omap_reorder_funcs; do
    records "$shared/fixtures/$name.pdb"
    tr -d '\r' <"$shared/sym/$name.sym" | grep '^STACK WIN' | sed 's/ *$//' | sort >want
    sed 's/ *$//' text | sort | diff want - >differ || fail "$name: $(head -n 4 differ)"
    say "$name.pdb: $(wc -l <want) STACK WIN records as DIA has them"
  done
else
  part_skipped "no ../shared/fixtures/pdb: unwind records that Mozilla's dump_syms and Microsoft's DIA made"
fi
[ $tried -gt 0 ] || skip "no compiler, and no files"
exit 0
