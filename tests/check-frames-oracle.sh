#!/bin/sh
# Compares STACK CFI records with readelf: each row of the unwind tables of this system's programs and libraries must
# be in force at its addresses, or be a gap because the records cannot say it. Beside it, the same for Breakpad's
# dump_syms, whose differences are only counted. SYMFS_FRAMES_FILES=500 compares 500 files (make check: 12).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need readelf gcc
helpers=$(cd "${top_builddir:-.}" && pwd)/tests/helpers
frames=$(cd "${top_builddir:-.}" && pwd)/libexec/frames
cd "$TMP" || exit 1

records() { # FILE: the program's own protocol, by hand
  "$frames" 600 4000000000 may 3<"$1" 4>text 5>word
}
tables() { # FILE: what readelf prints
  readelf -W -wF "$1" >rows 2>/dev/null
  readelf -W -wf "$1" >instructions 2>/dev/null
  base=$(readelf -W -l "$1" 2>/dev/null | awk '$1 == "LOAD" { print $3; exit }')
}
judge() { # FILE
  tables "$1"
  records "$1" || fail "$1: frames ended with $?"
  "$helpers/frames-oracle" rows instructions text "$base" judge >judged || fail "$1: $(cat judged)"
  tail -n 1 judged >>all
  [ ! -x "$TOOLS/bin/dump_syms" ] || {
    "$TOOLS/bin/dump_syms" "$1" 2>/dev/null | grep '^STACK CFI' >theirs
    "$helpers/frames-oracle" rows instructions theirs "$base" survey | tail -n 1 >>breakpad
  }
}
sum() { # FILE
  awk '{ for (i = 1; i < NF; i += 2) { if (!($i in n)) order[++k] = $i; n[$i] += $(i + 1) } }
    END { for (i = 1; i <= k; i++) printf "%s%s %d", (i > 1 ? ", " : ""), order[i], n[order[i]] }' "$1"
}

# A table of a linker, an outermost frame, an expression, a realigned stack, a signal frame, a row without words.
cat >odd.c <<'C'
#include <stdlib.h>
#include <signal.h>
void usual(int *p);
void usual(int *p) { volatile char room[100]; room[*p & 63] = 1; abort(); }
__asm__(".text\n.globl last\n.type last,@function\n"
  "last: .cfi_startproc\n.cfi_undefined rip\nnop\n.cfi_def_cfa_offset 32\n"
  "nop\n.cfi_endproc\n.size last,.-last\n"
  ".globl odd\n.type odd,@function\nodd: .cfi_startproc\nnop\n.cfi_escape 0x0f,4,0x77,8,0x06,0x1f\nnop\n" /* neg */
  ".cfi_def_cfa rsp,8\n.cfi_escape 0x16,3,4,0x77,0x10,0x23,8\n.cfi_val_offset rbp,-16\nnop\n.cfi_same_value rbp\n"
  ".cfi_register rbx,rax\nnop\n.cfi_restore rbx\n.cfi_undefined rbp\nnop\n.cfi_endproc\n.size odd,.-odd\n");
int __attribute__((force_align_arg_pointer)) main(int n, char **v) {
  if (n > 9) usual(&n); signal(n, SIG_IGN); return 0; }
C
gcc -O2 -mstackrealign -o odd odd.c || fail "odd.c"
judge ./odd
grep -q ' gaps 1 ' judged || fail "the expression that has no words is no gap: $(cat judged)"
grep -q '\.ra: 1$' text || fail "the outermost frame has a caller"
gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -g -o plain odd.c &&
  objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr plain debug-frame 2>/dev/null &&
  judge ./debug-frame
rm -f all breakpad

n=${SYMFS_FRAMES_FILES:-12}
find /usr/bin /usr/lib -xdev -type f -size +4k -size -3M ! -name '*.*[a-z]' >names
find /usr/lib -xdev -type f -name '*.so*' -size -3M >>names
LC_ALL=C sort -u names | awk -v want=$((4 * n)) '{ all[NR] = $0 }
  END { for (i = 0; i < want && i < NR; i++) print all[1 + int(i * NR / (want < NR ? want : NR))] }' >tried
while read -r f; do
  case $(od -An -tx1 -N18 "$f" | tr -d ' \n') in
  7f454c460201????????????????????0[23]00) echo "$f" ;;
  esac
done <tried | head -n "$n" >some
[ -s some ] || fail "no program among $(wc -l <tried) files"
case $(uname -m) in x86_64) ;; *) skip "the names of registers are those of x86-64" ;; esac
while read -r f; do judge "$f"; done <some
say "$(wc -l <all) files: $(sum all)"
[ ! -s breakpad ] || say "Breakpad's dump_syms: $(sum breakpad)"

# It can fail: a row less, and another offset.
judge /bin/sh
grep -v '^STACK CFI [0-9a-f]* .cfa' text >less
"$helpers/frames-oracle" rows instructions less "$base" judge >judged && fail "missing rows are not missed"
sed 's/\.cfa: \$rsp 16 +/.cfa: $rsp 24 +/' text >other
"$helpers/frames-oracle" rows instructions other "$base" judge >judged && fail "a wrong CFA is right"
exit 0
