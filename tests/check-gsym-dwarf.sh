#!/bin/sh
# Checks GSYM made from debug information: programs compiled here, in every version of DWARF and
# with every compression, and stored files. Every address of a stored file must be answered as
# llvm-gsymutil 22 answers it. Where symfs does better, the file is named here, with the difference.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
seen=0
better() { echo "$name: better than LLVM 22: $*"; }
cd "$tmp" || exit 1

# The addresses of a table, whose lines are `start end frames`, one a line
expand() { # prints `address<tab>frames`
  awk -F '\t' '
    function value(s, n, i) {
      n = 0;
      for (i = 3; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1;
      return n
    }
    /^#/ { next }
    { to = value($2); for (a = value($1); a < to; a++) printf "0x%x\t%s\n", a, $3 }' "$1"
}
# differs GSYM WANTED: how many addresses are answered otherwise
differs() {
  cut -f 1 "$2" | "$symfs" gsym lookup --stdin "$1" >got || complain "$1: lookup fails"
  [ "$(wc -l <got)" -eq "$(wc -l <"$2")" ] || complain "$1: $(wc -l <got) answers"
  diff "$2" got | grep -c '^<'
}

# ---- what LLVM answers --------------------------------------------------------------------
fixtures=$top/../shared/fixtures/gsym
if [ -d "$fixtures/elf" ]; then
  for table in "$fixtures"/llvm22/*.lookups.tsv; do
    name=$(basename "$table" .lookups.tsv)
    case $name in
    icf_reloc.o) continue ;; # is not linked: LLVM has all its functions at address 0
    esac
    "$symfs" gsym create -o a.gsym "$fixtures/elf/$name" 2>err || complain "$name: $(cat err)"
    expand "$table" >want
    case $name in
    icf_gc_dw*) # LLVM takes the lines of the other function that was folded into this one
      better "of functions that were folded into one the lines of the one that is named"
      sed -i 's|twin_a@/src/src/icf.c:3|twin_a@/src/src/icf.c:2|' want ;;
    cold_dw*) # llvm-gsymutil names a part by debug information, llvm-symbolizer by the symbol
      better "the part of a function in another section has the name of its symbol, as with llvm-symbolizer"
      sed -E -i '/^0x4010(0[a-f]|1.|2[0-7])\t/s/work@([^<]*)$/work.cold@\1/' want ;;
    shapes_dw*) # the same for a static function
      sed -i -e 's|\tgeo::hidden@\([^<]*\)$|\t_ZN3geo12_GLOBAL__N_16hiddenEi@\1|' \
        -e 's|\tgeo::apply::operator()@\([^<]*\)$|\t_ZZN3geo5applyEiENKUliE_clEi@\1|' want ;;
    m?.dwzm) # what dwz moved to another file has the directory that LLVM does without
      better "what dwz moved to another file is read"
      sed -i 's|@src/|@/src/src/|g' want ;;
    symtab_only) # of two names at an address the global one that is no alias
      sed -i 's/\taa_weak_alias@:0$/\tsized@:0/' want ;;
    esac
    n=$(differs a.gsym want)
    case $name in
    m?.dwzm) # and functions that LLVM has no name for
      n=$(diff want got | grep '^<' | grep -vc '@:0$') ;;
    esac
    if [ "$name" = symtab_only ]; then
      better "indirect functions, what has no type, and the end of a function around another"
      n=$(paste want got | awk -F '\t' '$2 != $4 && $2 !~ /zero/ && $4 !~ /^(chosen|notype_entry|outer)@/' | wc -l)
      grep -q 'chosen@' got && grep -q 'notype_entry@' got || complain "$name: $(cat got)"
    fi
    [ "$n" = 0 ] || complain "$name: $n answers differ: $(diff want got | head -n 4)"
    "$symfs" gsym verify a.gsym >/dev/null || complain "$name: verify"
    "$symfs" gsym create --threads 1 -o b.gsym "$fixtures/elf/$name" 2>err
    cmp -s a.gsym b.gsym || complain "$name: one thread makes another file"
    # The form in an object file answers the same.
    "$symfs" gsym create --format object -o o.gsym "$fixtures/elf/$name" 2>err || complain "$name: object: $(cat err)"
    cut -f 1 want | "$symfs" gsym lookup --stdin o.gsym | cmp -s - got ||
      complain "$name: the object answers otherwise"
    readelf -hS o.gsym 2>&1 | grep -q '[.]gsymstrtab' || complain "$name: readelf sees no section"
    readelf -hS o.gsym 2>&1 | grep -iE 'warning|error' && complain "$name: readelf complains"
    "$symfs" gsym create -o b.gsym o.gsym 2>err && "$symfs" gsym verify b.gsym --against a.gsym >differ ||
      complain "$name: an object made into version 1 answers otherwise: $(cat err differ | tail -n 2)"
    for tool in llvm-gsymutil llvm-gsymutil-14 llvm-gsymutil-19; do
      command -v $tool >/dev/null || continue
      $tool a.gsym >dumped 2>&1 || complain "$name: $tool: $(tail -n 1 dumped)"
      grep -q 'error' dumped && complain "$name: $tool: $(grep -m 1 error dumped)"
      # Its own answers out of our file.
      sed "s|\$| $tmp/a.gsym|" want | awk -F '\t' '{ print $1 " '"$tmp"'/a.gsym" }' |
        $tool --addresses-from-stdin 2>&1 | awk '
          function frame(s) {
            sub(/ \[inlined\]$/, "", s); file = ":0"
            if (match(s, / @ /)) { file = substr(s, RSTART + 3); s = substr(s, 1, RSTART - 1) }
            sub(/ \+ [0-9]+$/, "", s)
            return s "@" file
          }
          /^Looking up/ || /^$/ { next }
          /^0x/ { if (line) print line
            at = substr($1, 3, length($1) - 3); sub(/^0+/, "", at)
            rest = substr($0, length($1) + 2)
            line = "0x" at "\t" (rest ~ /^error:/ ? "-" : frame(rest)); next }
          { sub(/^ +/, ""); line = line " < " frame($0) }
          END { if (line) print line }' >theirs
      # LLVM does not look back for the end of a function that reaches over another.
      [ "$name" = symtab_only ] && paste got theirs |
        awk -F '\t' '{ print $1 "\t" ($4 == "-" && $2 ~ /^outer@/ ? $2 : $4) }' >t && mv t theirs
      cmp -s got theirs || complain "$name: $tool reads something else: $(diff got theirs | head -n 4)"
    done
    seen=$((seen + $(wc -l <want)))
  done
  # Mach-O: our answers against those of the file that LLVM makes, wherever one can change.
  dsym=$top/../shared/fixtures/symbolic/py/tests/res/minidump/crash_macos.dSYM/Contents/Resources/DWARF/crash_macos
  for tool in llvm-gsymutil llvm-gsymutil-14 llvm-gsymutil-19; do
    [ -f "$dsym" ] && command -v $tool >/dev/null || continue
    $tool --num-threads=1 --convert "$dsym" -o mach.gsym >log 2>&1 || complain "$tool: $(tail -n 1 log)"
    "$symfs" gsym verify mach.gsym --against "$dsym" >differ
    # LLVM gives the last symbol, which has no size, not all of its bytes.
    # It has the qualified name of debug information for a function of C, which llvm-symbolizer names by its symbol.
    grep -v -e '__clang_call_terminate$' -e 'google_breakpad::catch_exception_raise@.*	catch_exception_raise@' \
      -e ' addresses compared' differ && complain "dSYM, $tool: $(tail -n 1 differ)"
    grep -q '^[0-9]\{4,\} addresses compared' differ || complain "dSYM, $tool: $(tail -n 1 differ)"
  done
  [ $seen -gt 2500 ] || complain "only $seen addresses were compared with LLVM's"
else
  echo "part skipped: no ../shared/fixtures/gsym: answers that LLVM gave for DWARF of many compilers"
fi

# ---- what compilers make here -------------------------------------------------------------
cat >a.cc <<'C'
namespace ns {
struct box { static inline int twice(int x) { return x * 2; } int area(int x); };
static inline __attribute__((always_inline)) int inner(volatile int *x) {
  if (*x & 1) { int y = *x * 3; return box::twice(y) + *x; }
  return *x;
}
int box::area(int x) { volatile int v = x; return inner(&v) + inner(&v); }
}
extern "C" int plain(int x);
extern "C" int plain(int x) { return ns::box().area(x); }
extern "C" void _start() { volatile int r = plain(4); (void)r; for (;;) ; }
C
cat >as.S <<'C'
	.text
	.globl asm_entry
	.type asm_entry, @function
asm_entry:
	nop
	nop
	ret
	.size asm_entry, . - asm_entry
C
flags='-nostdlib -static -ffreestanding -fno-stack-protector -O1 -ffunction-sections -Wl,--gc-sections'
made=0
symbolizer=
for tool in llvm-symbolizer llvm-symbolizer-14 llvm-symbolizer-19; do
  command -v $tool >/dev/null && symbolizer=$tool && break
done
check_made() { # FILE: against llvm-symbolizer, at every address of its functions
  "$symfs" gsym create -o a.gsym "$1" 2>err || { complain "$1: $(cat err)"; return; }
  [ -s err ] && complain "$1: $(cat err)"
  nm "$1" | awk '$2 ~ /^[tT]$/ { print $1 }' | sort | awk '
    function value(s, n, i) {
      n = 0;
      for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1;
      return n
    }
    { v = value($1); for (i = 0; i < 24; i++) printf "0x%x\n", v + i }' | sort -u >addresses
  # llvm-symbolizer has ?? for no file
  "$symfs" gsym lookup --stdin a.gsym <addresses | awk -F '\t' '$2 != "-"' | sed 's/@:0$/@??:0/' >got
  cut -f 1 got | $symbolizer --obj="$1" --output-style=GNU --functions=linkage --inlines --addresses --no-demangle |
    sed 's/ (discriminator [0-9]*)$//; s/ (inlined by) //' | awk '
    /^0x/ { if (line) print line; line = $0 "\t"; first = 1; next }
    { name = $0; getline place; line = line (first ? "" : " < ") name "@" place; first = 0 }
    END { if (line) print line }' >want
  [ "$(wc -l <got)" -ge 20 ] || complain "$1: only $(wc -l <got) addresses"
  # It has the short name where a function has no other; symfs has the qualified one.
  sed -i 's/_ZN2nsL5innerEPVi/inner/g; s/_ZN2ns3box5twiceEi/twice/g; s/_ZN2ns3box4areaEi/area/g
    s/ns::inner/inner/g; s/ns::box::twice/twice/g; s/ns::box::area/area/g' got want
  cmp -s got want || complain "$1: $symbolizer says otherwise: $(diff got want | head -n 4)"
  made=$((made + 1))
}
if ${CXX:-c++} $flags -g -o probe a.cc as.S 2>log && [ -n "$symbolizer" ]; then
  for v in 2 3 4 5; do
    for cc in "${CXX:-c++}" clang++; do # may be several words, such as "ccache g++", or a path
      command -v "${cc%% *}" >/dev/null || continue
      name=${cc##*[ /]}-$v
      # shellcheck disable=SC2086
      $cc $flags -gdwarf-$v -o "$name" a.cc as.S 2>log || { complain "$cc -gdwarf-$v: $(head -n 1 log)"; continue; }
      check_made "$name"
      grep -q 'inner.*@.* < .*area.*@' got || complain "$name: nothing is inlined"
    done
  done
  name=${CXX:-c++} name=${name##*[ /]}-5
  for method in zlib-gabi zlib-gnu zstd; do
    objcopy --compress-debug-sections=$method "$name" squeezed 2>log || continue
    "$symfs" gsym create -o a.gsym squeezed
    "$symfs" gsym create -o b.gsym "$name"
    cmp -s a.gsym b.gsym || complain "$method makes a difference"
  done
  [ $made -ge 4 ] || complain "only $made programs were made"
  # Debug information that was split off: beside, in a package, and gone.
  mkdir split && cd split && cp ../a.cc ../as.S .
  for v in 4 5; do
    for cc in "${CXX:-c++}" clang++; do
      command -v "${cc%% *}" >/dev/null || continue
      # shellcheck disable=SC2086
      { $cc $flags -gdwarf-$v -gsplit-dwarf -c a.cc && $cc $flags -gdwarf-$v -c as.S &&
        $cc $flags -o prog a.o as.o; } 2>../log || { complain "$cc -gsplit-dwarf: $(head -n 1 ../log)"; continue; }
      check_made prog
      cp a.gsym whole.gsym
      grep -q 'inner.*@.* < .*area.*@' got || complain "$cc-$v split: nothing is inlined"
      (ulimit -t 1; exec llvm-dwp a.dwo -o prog.dwp) 2>../log || : >prog.dwp # for gcc's version 4 it never ends
      mkdir -p away && mv ./*.dwo away/
      if [ -s prog.dwp ]; then
        "$symfs" gsym create -o p.gsym prog 2>err || complain "$cc-$v package: $(cat err)"
        cmp -s p.gsym whole.gsym || complain "$cc-$v: a package makes a difference: $(cat err)"
        made=$((made + 1))
      fi
      rm -f prog.dwp
      "$symfs" gsym create -o p.gsym prog 2>err || complain "$cc-$v without: $(cat err)"
      grep -q 'in other files, not found: 1$' err || complain "$cc-$v: it is not told that there is more: $(cat err)"
      "$symfs" gsym lookup "0x$(nm prog | awk '/ _start$/ { print $1 }')" p.gsym | grep -q '_start@.*a.cc:' ||
        complain "$cc-$v: the lines of the skeleton are not used"
    done
  done
  cd ..
  # A unit that is cut short costs itself.
  objcopy --dump-section .debug_info=info probe && head -c 60 info >cut &&
    objcopy --update-section .debug_info=cut probe cut.elf && {
      "$symfs" gsym create -o a.gsym cut.elf 2>err || complain "a cut file: $(cat err)"
      "$symfs" gsym lookup "0x$(nm probe | awk '/ _start$/ { print $1 }')" a.gsym | grep -q '_start$' ||
        complain "a cut file has no symbols: $(cat err)"
    }
else
  echo "no program was made, or there is no llvm-symbolizer: $(head -n 1 log)"
fi
echo "$seen addresses, $made programs"
exit 0
