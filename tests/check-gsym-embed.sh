#!/bin/sh
# Checks copies of Mach-O and PE files with embedded GSYM. LLVM's and binutils' readers and
# debuggers must say the same of the copy as of the original. The embedded GSYM must answer as a
# separate GSYM file does. check-gsym-inputs.sh checks ELF.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need awk od cmp
CLANG=$(first_of clang) && LLD=$(first_of ld.lld) && OBJDUMP=$(first_of llvm-objdump) &&
  READOBJ=$(first_of llvm-readobj) &&
  SYMBOLIZER=$(first_of llvm-symbolizer) && DWARFDUMP=$(first_of llvm-dwarfdump) && STRIP=$(first_of llvm-strip) ||
  skip "no clang, lld or LLVM's tools"
cd "$TMP" || exit 1
seen='' compared=0

# All addresses of all functions of FILE's own GSYM, in ./addresses.
addresses_of() {
  "$SYMFS" gsym dump "$1" | sed -n 's/^\[\(0x[0-9a-f]*\)-\(0x[0-9a-f]*\)) .*/\1 \2/p' | while read -r from to; do
    at=$((from))
    while [ $at -lt $((to)) ] && [ $at -lt $((from + 64)) ]; do printf '0x%x\n' $at; at=$((at + 1)); done
  done >addresses
}
# What readers say of a file whose copy has the same name in another folder, without what had to change.
tell() { # WHAT DIR FILE
  case $1 in
  dwarf) (cd "$2" && "$DWARFDUMP" --debug-info --debug-line "$3") ;;
  uuid) (cd "$2" && "$DWARFDUMP" --uuid "$3") ;;
  symbols) (cd "$2" && "$OBJDUMP" -t "$3") ;;
  text) (cd "$2" && "$OBJDUMP" -d "$3") ;;
  rows) (cd "$2" && "$SYMBOLIZER" --obj="$3" --output-style=GNU --functions=linkage --inlines --no-demangle \
    <../addresses) ;;
  relocations) (cd "$2" && "$READOBJ" --coff-basereloc "$3") ;;
  exports) (cd "$2" && "$READOBJ" --coff-exports --coff-debug-directory --coff-imports "$3" |
    sed '/PointerToRawData/d') ;;
  macho) (cd "$2" &&
    "$OBJDUMP" --macho --rebase --bind --lazy-bind --exports-trie --function-starts --indirect-symbols "$3") ;;
  esac 2>&1
}

# NAME FILE STRINGS WHAT...: embeds, and compares. STRINGS is the section that has the strings.
embedded() {
  name=$1 file=$2 strings=$3
  shift 3
  mkdir -p before after && cp "$file" before/ || fail "$name: no $file"
  file=$(basename "$file")
  "$SYMFS" gsym create --full-names -o v1.gsym "before/$file" 2>err || fail "$name: $(cat err)"
  "$SYMFS" gsym create --embed --full-names -o "after/$file" "before/$file" 2>err || fail "$name: $(cat err)"
  [ ! -s err ] || fail "$name: $(cat err)"
  addresses_of v1.gsym
  [ "$(wc -l <addresses)" -ge 20 ] || fail "$name: only $(wc -l <addresses) addresses"
  "$SYMFS" gsym lookup --stdin v1.gsym <addresses >ours
  "$SYMFS" gsym lookup --stdin "after/$file" <addresses | cmp -s - ours ||
    fail "$name: embedded, it answers otherwise"
  "$SYMFS" gsym verify "after/$file" >err 2>&1 || fail "$name: $(cat err)"
  "$READOBJ" --file-headers --sections "after/$file" >sections 2>&1 ||
    fail "$name: llvm-readobj: $(tail -n 1 sections)"
  grep -q 'Name: [._]*gsym ' sections || fail "$name: no section: $(cat sections)"
  grep -q "Name: $strings " sections || fail "$name: no section $strings"
  case $strings in
  *debug_str) grep -q 'Name: [._]*gsym_*str' sections && fail "$name: its strings are not shared" ;;
  esac
  for what in "$@"; do
    tell "$what" before "$file" >said-before
    tell "$what" after "$file" >said-after
    grep -q . said-before || fail "$name: nothing is said of $what"
    cmp -s said-before said-after || fail "$name: $what: $(diff said-before said-after | head -n 6)"
  done
  for mode in 755 640; do
    chmod $mode "before/$file"
    (umask 077 && "$SYMFS" gsym create --embed -o moded "before/$file") || fail "$name: of mode $mode"
    [ "$(stat -c %a moded)" = $mode ] || fail "$name: mode $mode became $(stat -c %a moded)"
  done
  "$SYMFS" gsym create --embed -o twice "after/$file" 2>err && fail "$name: it was put in twice"
  "$SYMFS" gsym create --embed --full-names -o again "before/$file" && cmp -s again "after/$file" ||
    fail "$name: the second time it is another"
  # What it is asked for by is the same, but for a PE file's own name, which has its size in memory.
  "$SYMFS" id "before/$file" >said-before && "$SYMFS" id "after/$file" >said-after || fail "$name: symfs id"
  for said in said-before said-after; do sed -e 's,^[a-z]*/,,' -e '/^    serves  *pe /d' -e '/^    code id /d' \
    $said >$said.id; done
  cmp -s said-before.id said-after.id || fail "$name: symfs id: $(diff said-before.id said-after.id)"
  compared=$((compared + $(wc -l <ours))) seen="$seen $name"
}

cat >a.c <<'C'
#ifndef EXPORT
#define EXPORT
#endif
static int table[4];
int *pointer = table;
__attribute__((noinline)) static int deeper(volatile int *n) { return *n * 3; }
static inline __attribute__((always_inline)) int inner(volatile int *x) { if (*x & 1) return deeper(x); return *x; }
EXPORT int work(int n) { volatile int v = n; return inner(&v) + *pointer; }
EXPORT int other(int n) { return work(n) * work(n + 1); }
int DllMainCRTStartup(void *a, int b, void *c) { return other(b); }
C

# ---- PE ------------------------------------------------------------------------------------
number_at() { od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '; } # FILE OFFSET
field() { sed -n "s/^ *$1: *//p" sections | head -n 1; }

# A whole image: sections follow each other, and the headers cover them. Of what is in ./sections.
follow_each_other() { # NAME
  next=
  awk '/VirtualSize/ { size = $2 } /VirtualAddress/ { print $2, size }' sections >places
  while read -r at size; do
    [ -z "$next" ] || [ $((at)) -eq $next ] || fail "$1: a hole before $at"
    next=$(((at + size + 4095) / 4096 * 4096))
  done <places
  [ "$(($(field SizeOfImage)))" -eq "$next" ] || fail "$1: SizeOfImage $(field SizeOfImage), ends at $next"
}

for target in x86_64:i386pep i686:i386pe aarch64:arm64pe; do
  emulation=${target#*:} target=${target%:*}
  entry=DllMainCRTStartup
  "$CLANG" -target $target-w64-windows-gnu -gdwarf-4 -O1 '-DEXPORT=__declspec(dllexport)' -c a.c -o p.obj 2>log &&
    "$LLD" -m $emulation --shared --entry=$entry -o p.dll p.obj 2>log ||
    { echo "PE of $target: $(head -n 1 log)"; continue; }
  embedded pe-$target p.dll .debug_str dwarf symbols text rows relocations exports
  if objdump -h before/p.dll >said 2>&1; then
    objdump -h after/p.dll >said 2>&1 && grep -q ' [.]gsym ' said || fail "pe-$target: objdump: $(cat said)"
  fi
  # The list of what belongs to the debugger says where in the file it is.
  "$READOBJ" --sections --coff-debug-directory after/p.dll | awk '
    function value(s, n, i) {
      n = 0; s = tolower(s);
      for (i = 3; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1;
      return n
    }
    /^  *VirtualAddress:/ { at[++n] = value($2) } /^  *RawDataSize:/ { size[n] = $2 }
    /^  *PointerToRawData:/ && !entries { raw[n] = value($2) }
    /DebugDirectory/ { entries = 1 } /AddressOfRawData:/ { addr = value($2) }
    /PointerToRawData:/ && entries {
      for (i = 1; i <= n; i++)
        if (addr >= at[i] && addr - at[i] < size[i]) { seen++; if (value($2) - raw[i] != addr - at[i]) bad++ }
    }
    END { exit !seen || bad }' || fail "pe-$target: the debug directory points elsewhere"
  follow_each_other pe-$target
done
if [ -f p.dll ]; then
  cp p.dll roomy.dll
  # With one section more each time, until the headers have no room for another.
  none=0 k=1
  while [ $k -le 16 ] && [ $none = 0 ]; do
    echo "__attribute__((section(\".s$k\"))) int more_$k = $k;" >>a.c
    if [ $k -ge 4 ]; then
      "$CLANG" -target x86_64-w64-windows-gnu -gdwarf-4 -O1 '-DEXPORT=__declspec(dllexport)' -c a.c -o p.obj &&
        "$LLD" -m i386pep --shared --entry=DllMainCRTStartup -o p.dll p.obj || fail "section $k"
      head=$(number_at p.dll 60)
      sections=$(od -An -tu2 -j $((head + 6)) -N 2 p.dll)
      room=$(($(number_at p.dll $((head + 24 + 60))) - (head + 24 + 240 + 40 * sections)))
      if [ $room -lt 80 ]; then
        embedded pe-room-$room p.dll .debug_str symbols rows relocations exports
        [ "$(field SizeOfHeaders)" -eq "$(number_at p.dll $((head + 24 + 60)))" ] || none=1
      fi
    fi
    k=$((k + 1))
  done
  [ $none = 1 ] || fail "PE: the headers never had to grow"
  # Strings that are longer by a page: sections behind them move in memory, too.
  filler=
  echo '__asm__(".section .debug_zz,\"dr\"; .long 1; .text");' >>a.c
  mkdir -p sub # its whole name is no string of the file
  for round in 1 2; do
    { cat a.c; echo "int $filler(void) { return 1; }"; } >sub/long.c
    [ -n "$filler" ] || cp a.c sub/long.c
    "$CLANG" -target x86_64-w64-windows-gnu -gdwarf-4 -O1 '-DEXPORT=__declspec(dllexport)' -c sub/long.c -o p.obj &&
      "$LLD" -m i386pep --shared --entry=DllMainCRTStartup -o long.dll p.obj || fail "long strings"
    size=$("$READOBJ" --sections long.dll |
      awk '/Name: [.]debug_str / { found = 1 } found && /VirtualSize/ { print $2; exit }')
    [ -n "$filler" ] || filler=$(head -c $((4096 - size - 2)) /dev/zero | tr '\0' x)
  done
  [ $((size)) -ge 4094 ] && [ $((size)) -le 4096 ] || fail "PE: $((size)) bytes of strings"
  embedded pe-long long.dll .debug_str dwarf symbols rows relocations exports
  "$READOBJ" --sections before/long.dll | awk '/Name: [.]debug_str / { found = 1; next } found && /Name: [.]debug/' \
    | grep -q . || fail "PE: nothing is behind the strings"
  follow_each_other pe-long
  # Strings of its own; and the checksum of a file that has one, and a signature that would not hold.
  "$STRIP" -g p.dll -o symbols.dll && embedded pe-symbols symbols.dll .gsymstr symbols text relocations exports
  "$STRIP" p.dll -o exports.dll && embedded pe-exports exports.dll .gsymstr text relocations exports
  head=$(number_at p.dll 60)
  cp p.dll summed.dll && printf 'certificate.....' >>summed.dll && size=$(wc -c <p.dll)
  # shellcheck disable=SC2059
  little() { printf \
    "$(printf '\\%03o\\%03o\\%03o\\%03o' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)))"; }
  little 1 | dd of=summed.dll bs=1 seek=$((head + 24 + 64)) conv=notrunc 2>/dev/null
  { little "$size"; little 16; } | dd of=summed.dll bs=1 seek=$((head + 24 + 112 + 8 * 4)) conv=notrunc 2>/dev/null
  embedded pe-checksum summed.dll .debug_str symbols rows
  [ "$(number_at after/summed.dll $((head + 24 + 112 + 8 * 4)))" = 0 ] || fail "PE: the signature is still there"
  grep -q certificate after/summed.dll && fail "PE: the bytes of the signature are still there"
  want=$(od -An -v -tu2 -w2 after/summed.dll | awk -v at=$(((head + 24 + 64) / 2)) '
    NR - 1 != at && NR - 2 != at { s += $1; if (s > 65535) s = s % 65536 + 1 } END { print s }')
  [ "$(number_at after/summed.dll $((head + 24 + 64)))" = $((want + $(wc -c <after/summed.dll))) ] ||
    fail "PE: the checksum is wrong"
  # What cannot be.
  "$SYMFS" gsym create --embed -o no p.obj 2>err && fail "a COFF object"
  head=$(number_at roomy.dll 60)
  cp roomy.dll full.dll && printf x | dd of=full.dll bs=1 \
    seek=$((head + 24 + 240 + 40 * $(od -An -tu2 -j $((head + 6)) -N 2 full.dll))) conv=notrunc 2>/dev/null
  "$SYMFS" gsym create --embed -o no full.dll 2>err && fail "PE: something lies behind its headers"
  grep -q 'no room for the header' err || fail "PE: it is not said: $(cat err)"
fi

# ---- Mach-O ---------------------------------------------------------------------------------
if LD64=$(first_of ld64.lld) && DSYMUTIL=$(first_of dsymutil); then
  { sed '/DllMain/,$d' a.c; echo 'int main(void) { return other(2); }'; } >m.c
  for arch in x86_64 arm64; do
    "$CLANG" -target $arch-apple-macos11 -g -O1 -c m.c -o m.o 2>log &&
      "$LD64" -arch $arch -platform_version macos 11.0 11.0 -e _main -undefined dynamic_lookup -headerpad 0x400 \
      -o "$arch" m.o 2>log &&
      "$DSYMUTIL" -o $arch.dSYM $arch 2>log >&2 || { echo "Mach-O of $arch: $(head -n 1 log)"; continue; }
    dsym=$arch.dSYM/Contents/Resources/DWARF/$arch
    embedded macho-dsym-$arch $dsym __debug_str dwarf uuid symbols rows
    # In the place of the one that it was, a debugger takes it.
    if LLDB=$(first_of lldb); then
      at=$("$OBJDUMP" -t $arch | awk '$NF == "_work" { print "0x" $1 }')
      look() { timeout 300 "$LLDB" -x -b -o 'settings set symbols.enable-external-lookup false' \
        -o "target create $arch" -o "image lookup -v -a $at" -o 'image dump sections' 2>&1; }
      cp $dsym kept
      look | sed '/^0x/d' >said-before
      cp after/$arch $dsym
      look | sed '/^0x/d' >said-after
      grep -q 'LineEntry: .*m\.c:8' said-before || fail "Mach-O of $arch: lldb has no line: $(cat said-before)"
      grep -q 'LineEntry: .*m\.c:8' said-after && grep -q 'Function: .*name = "work"' said-after ||
        fail "Mach-O of $arch: lldb: $(cat said-after)"
      cp kept $dsym
      seen="$seen lldb-$arch"
    fi
    # No room behind the load commands: everything else moves.
    end=$((32 + $(number_at $dsym 20)))
    cp $dsym narrow && printf x | dd of=narrow bs=1 seek=$end conv=notrunc 2>/dev/null
    embedded macho-narrow-$arch narrow __debug_str dwarf uuid symbols rows
    # Strings that cannot grow: a byte that ends none.
    "$STRIP" -S $dsym -o bare 2>log && embedded macho-bare-$arch bare __gsym_strtab uuid symbols
    # The program itself: __LINKEDIT stays the last.
    embedded macho-program-$arch $arch __gsym_strtab uuid symbols text macho
    "$OBJDUMP" --macho --private-headers after/$arch >said 2>&1 || fail "Mach-O of $arch: $(tail -n 1 said)"
    [ "$(sed -n 's/^ *segname //p' said | uniq | tail -n 2 | tr '\n' ' ')" = '__GSYM __LINKEDIT ' ] ||
      fail "Mach-O of $arch: $(grep segname said)"
    # Segments follow each other.
    awk '/^ *segname/ { seg = 1 } seg && $1 == "vmaddr" { at = $2 } seg && $1 == "vmsize" { print at, $2; seg = 0 }' \
      said >places
    next=0
    while read -r at size; do
      [ $((at)) -ge $next ] || fail "Mach-O of $arch: a segment begins within the one before, at $at"
      next=$((at + size))
    done <places
    "$STRIP" -x after/$arch -o stripped 2>log && "$SYMFS" gsym verify stripped >/dev/null ||
      fail "Mach-O of $arch: llvm-strip: $(cat log)"
    "$LD64" -arch $arch -platform_version macos 11.0 11.0 -e _main -undefined dynamic_lookup -headerpad 0x10 \
      -o narrow m.o
    "$SYMFS" gsym create --embed -o no narrow 2>err || grep -q 'bytes of room behind its load commands' err ||
      fail "Mach-O of $arch: it is not said: $(cat err)"
    "$SYMFS" gsym create --embed -o no m.o 2>err && fail "Mach-O: an object that is not linked"
  done
  # A fat file of both: which part is said.
  if LIPO=$(first_of llvm-lipo) && "$LIPO" -create -output fat x86_64.dSYM/Contents/Resources/DWARF/x86_64 \
    arm64.dSYM/Contents/Resources/DWARF/arm64 2>log; then
    for arch in x86_64 arm64; do
      "$SYMFS" gsym create -o part.gsym --arch $arch fat 2>err &&
        "$SYMFS" gsym create -o whole.gsym $arch.dSYM/Contents/Resources/DWARF/$arch &&
        cmp -s part.gsym whole.gsym || fail "fat: $arch: $(cat err)"
      "$SYMFS" gsym create --embed -o part --arch $arch fat 2>err &&
        "$SYMFS" gsym verify part --against "$arch.dSYM/Contents/Resources/DWARF/$arch" >said ||
        fail "fat: $arch: embedded: $(cat err said)"
      "$SYMFS" addr2line --no-default-sources --arch $arch -e fat work >said 2>err && grep -q 'work@.*m\.c:' said ||
        fail "fat: $arch: addr2line: $(cat err said)"
    done
    "$SYMFS" gsym create -o no fat 2>err && fail "fat: it was not said which"
    grep -q 'fat file of x86_64, arm64: choose one with --arch' err || fail "fat: it is not said: $(cat err)"
    "$SYMFS" gsym create -o no --arch arm fat 2>err && fail "fat: a part that is not there"
    "$SYMFS" gsym create -o no --arch arm64 arm64 2>err && fail "--arch of what is not fat"
    seen="$seen fat"
  fi
else
  echo "no ld64.lld or dsymutil: no Mach-O"
fi
[ -n "$seen" ] || skip "nothing could be made"
echo "$compared addresses:$seen"
