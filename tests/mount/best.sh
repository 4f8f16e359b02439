#!/bin/sh
# symfs best: every row of the tables of preferred files, with files that are built here. With all
# files of a row the first is chosen, without that one the next, and so on. A file without the
# wanted information is passed over.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need gcc objcopy strip
mkdir -p "$TMP/f" "$TMP/dir"
rows=0

best() { "$SYMFS" best --no-default-sources --cache "$TMP/store" --source "native@$TMP/dir" "$@"; }

# place FILE TYPE: where servers have such a file; sets p
place() {
  p=$("$SYMFS" paths --layout native "$1" | awk -F '\t' -v t="$2" '$2 == t { print $3; exit }')
  [ -n "$p" ] || fail "$1 is no $2: $("$SYMFS" id "$1")"
  mkdir -p "$TMP/dir/$(dirname "$p")"
  cp "$1" "$TMP/dir/$p"
}

# one ROW WANTED PURPOSE MODULE: the candidate that is chosen; "none"
one() {
  rm -rf "$TMP/store"
  best --for "$3" "$4" >"$TMP/out" 2>"$TMP/err"
  rc=$?
  got=$(sed -n 's/^  [0-9]\. \([a-z_]*\) *chosen:.*/\1/p' "$TMP/out")
  [ "${got:-none}" = "$2" ] || fail "$1: ${got:-none}, not $2: $(cat "$TMP/out" "$TMP/err")"
  [ $rc = "$([ "$2" = none ] && echo 1 || echo 0)" ] || fail "$1: exit status $rc: $(cat "$TMP/out" "$TMP/err")"
}

# row PURPOSE MODULE TYPE=FILE...: in the order of the table
row() {
  purpose=$1 module=$2
  shift 2
  rows=$((rows + 1))
  rm -rf "$TMP/dir"
  mkdir "$TMP/dir"
  : >"$TMP/placed"
  for file; do
    place "${file#*=}" "${file%%=*}"
    echo "$TMP/dir/$p" >>"$TMP/placed"
  done
  while :; do
    first=${1%%=*}
    one "$purpose of $module, $# files" "${first:-none}" "$purpose" "$module"
    [ $# -gt 0 ] || break
    # The others are told of, too.
    [ "$(grep -c ': no source has it$\|chosen: \|not needed: ' "$TMP/out")" -ge $# ] ||
      fail "$purpose of $module: $(cat "$TMP/out")"
    rm "$(head -n 1 "$TMP/placed")" && sed -i 1d "$TMP/placed" || fail "rm"
    shift
  done
}

breakpad() { # FILE SYSTEM CODE_ID RECORDS: a .sym for it
  printf 'MODULE %s x86_64 %s %s\n%s%b' "$2" "$("$SYMFS" id "$1" | awk '/breakpad id/ { print $3; exit }')" \
    "$(basename "$1")" "${3:+INFO CODE_ID $3
}" "$4"
}
ALL='FUNC 1000 10 0 f\n1000 10 1 0\nPUBLIC 2000 0 g\nSTACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n'

# ---- ELF ---------------------------------------------------------------------------------
printf 'int main(void) { return 0; }\n' >"$TMP/f/m.c"
(cd "$TMP/f" && gcc -g -Wl,--build-id=sha1 -o whole m.c && objcopy --only-keep-debug whole prog.debug &&
  cp whole prog && strip --strip-debug prog && cp whole bare && strip bare) || fail "gcc"
breakpad "$TMP/f/whole" Linux '' "$ALL" | sed 's/ whole$/ prog/' >"$TMP/f/prog.sym"
row symtab "$TMP/f/prog" "elf_debug=$TMP/f/prog.debug" "elf_code=$TMP/f/prog" "breakpad=$TMP/f/prog.sym"
row debug "$TMP/f/prog" "elf_debug=$TMP/f/prog.debug" "elf_code=$TMP/f/whole" "breakpad=$TMP/f/prog.sym"
row unwind "$TMP/f/prog" "elf_code=$TMP/f/prog" "breakpad=$TMP/f/prog.sym"

# What is there and has it not is passed over, and says so.
rm -rf "$TMP/dir"
place "$TMP/f/prog" elf_code
place "$TMP/f/prog.sym" breakpad
one "a stripped program" breakpad debug "$TMP/f/prog"
grep -q 'elf_code *lacks it: it has no debug information$' "$TMP/out" || fail "stripped: $(cat "$TMP/out")"
best --json --for debug "$TMP/f/prog" >"$TMP/json" || fail "--json"
grep -q '"chosen":"breakpad"' "$TMP/json" || fail "--json: $(cat "$TMP/json")"
grep -q '"verdict":"lacks it"' "$TMP/json" || fail "--json: $(cat "$TMP/json")"
path=breakpad/prog/$("$SYMFS" id "$TMP/f/prog" | awk '/breakpad id/ { print $3; exit }')/prog.sym
best --object-type elf --for debug "$path" | grep -q 'breakpad *chosen' || fail "a path of a layout"
best --for debug "$path" | grep -q 'unknown: no file' || fail "a path that tells no platform"

# The file that symfs makes: not needed beside the program; made if only a debug file has unwind rules.
rm -rf "$TMP/dir" "$TMP/store"
place "$TMP/f/prog" elf_code
best --for unwind "$TMP/f/prog" >"$TMP/out" || fail "unwind: $(cat "$TMP/out")"
grep -q '  3\. sym  *not needed: not made yet' "$TMP/out" || fail "the file that is made: $(cat "$TMP/out")"
cat >"$TMP/f/frames.c" <<'EOT'
int g(int x) { volatile char b[300]; b[x & 255] = 1; return b[x & 3]; }
int main(int argc, char **argv) { return g(argc); }
EOT
gcc -g -O1 -fno-asynchronous-unwind-tables -fno-exceptions -Wl,--build-id=sha1 -o "$TMP/f/frames" "$TMP/f/frames.c" &&
  objcopy --only-keep-debug "$TMP/f/frames" "$TMP/f/frames.debug" || fail "gcc"
rm -rf "$TMP/dir" "$TMP/store"
place "$TMP/f/frames.debug" elf_debug
best --for unwind "$TMP/f/frames" >"$TMP/out" || fail "of .debug_frame: $(cat "$TMP/out")"
grep -q '  3\. sym  *chosen: made by symfs' "$TMP/out" || fail "of .debug_frame: $(cat "$TMP/out")"
best --for unwind --synthesize no "$TMP/f/frames" >"$TMP/out" && fail "synthesize = no: $(cat "$TMP/out")"
grep -q '  3\. sym  *not asked: none is made' "$TMP/out" || fail "synthesize = no: $(cat "$TMP/out")"

# ---- PE ----------------------------------------------------------------------------------
if CLANG=$(first_of clang) && LINK=$(first_of lld-link); then
  printf '%s\n' '__declspec(dllexport) int one(int x) { volatile int a[30]; a[x] = x; return a[1]; }' \
    'int start(void) { volatile int b[20]; b[2] = one(1); return b[2] + one(2); }' >"$TMP/f/w.c"
  for bits in 64 32; do
    case $bits in 64) arch=x86_64 entry=start ;; *) arch=i386 entry=start ;; esac
    (cd "$TMP/f" && "$CLANG" -target $arch-windows-msvc -g -gcodeview -O0 -c w.c -o w$bits.obj &&
      "$LINK" /nologo /dll /debug "/pdb:w$bits.pdb" /Brepro /nodefaultlib /entry:$entry /safeseh:no \
        "/out:w$bits.dll" w$bits.obj) >"$TMP/lld.out" 2>&1 || fail "clang and lld-link: $(cat "$TMP/lld.out")"
    breakpad "$TMP/f/w$bits.dll" windows '' "$ALL" | sed "s/ w$bits.dll\$/ w$bits.pdb/" >"$TMP/f/w$bits.sym"
    dll=$TMP/f/w$bits.dll pdb=pdb=$TMP/f/w$bits.pdb sym=breakpad=$TMP/f/w$bits.sym
    row symtab "$dll" "$pdb" "pe=$dll" "$sym"
    row debug "$dll" "$pdb" "$sym"
    [ $bits = 64 ] && row unwind "$dll" "pe=$dll" "$sym"
    # Where the program lies, too, how many bits it has is known without it here.
    if [ $bits = 32 ]; then
      "$SYMFS" id "$TMP/f/w32.pdb" | grep -q unwind || fail "no unwinding in $("$SYMFS" id "$TMP/f/w32.pdb")"
      row unwind "$dll" "$pdb" "$sym"
    fi
  done
  rm -rf "$TMP/dir"
  place "$TMP/f/w64.dll" pe
  by_code=$p
  place "$TMP/f/w64.pdb" pdb
  one "the PDB of a program, by code id" pdb debug "native/$by_code"
  rm -rf "$TMP/dir"
  place "$TMP/f/w64.pdb" pdb
  one "a PDB alone" pdb debug "$TMP/f/w64.dll"
else
  say "no clang, no lld-link: no PE"
fi

# ---- Mach-O ------------------------------------------------------------------------------
if CLANG=$(first_of clang) && LINKER=$(first_of ld64.lld) && DSYMUTIL=$(first_of dsymutil); then
  (cd "$TMP/f" && "$CLANG" -target x86_64-apple-macosx11 -g -c m.c -o mac.o &&
    "$LINKER" -arch x86_64 -platform_version macos 11.0 11.0 -e _main -o mac mac.o &&
    "$DSYMUTIL" -o mac.dSYM mac) >"$TMP/mac.out" 2>&1 || fail "clang, ld64.lld, dsymutil: $(cat "$TMP/mac.out")"
  breakpad "$TMP/f/mac" mac '' "$ALL" >"$TMP/f/mac.sym"
  dwarf=$TMP/f/mac.dSYM/Contents/Resources/DWARF/mac
  row symtab "$TMP/f/mac" "mach_debug=$dwarf" "mach_code=$TMP/f/mac" "breakpad=$TMP/f/mac.sym"
  row debug "$TMP/f/mac" "mach_debug=$dwarf" "breakpad=$TMP/f/mac.sym"
  row unwind "$TMP/f/mac" "mach_code=$TMP/f/mac" "breakpad=$TMP/f/mac.sym"
else
  say "no clang, ld64.lld or dsymutil: no Mach-O"
fi

# ---- .NET --------------------------------------------------------------------------------
# Two streams: an identity, and a table of methods with one row; see unit/test-gsym-ppdb.c.
{
  printf 'BSJB\001\000\001\000\000\000\000\000\014\000\000\000PDB v1.0\000\000\000\000\000\000\002\000'
  printf '\100\000\000\000\040\000\000\000#Pdb\000\000\000\000\140\000\000\000\040\000\000\000#~\000\000'
  printf '\000\000\000\000'
  printf '\021\042\063\104\125\146\167\210\231\252\273\314\335\356\377\001\002\003\004\205'
  printf '\000\000\000\000\000\000\000\000\000\000\000\000'
  printf '\000\000\000\000\002\000\000\001\000\000\000\000\000\000\002\000\000\000\000\000\000\000\000\000'
  printf '\001\000\000\000\000\000\000\000'
} >"$TMP/f/net.pdb"
row debug "$TMP/f/net.pdb" "portablepdb=$TMP/f/net.pdb"
one "no table for it" none unwind "$TMP/f/net.pdb"
grep -q 'no file type of this platform serves this purpose' "$TMP/out" ||
  fail ".NET has no unwinding: $(cat "$TMP/out")"

# The checksum that its program would have of it: of all of it, with zeros for its 20 bytes of identity.
sum=$({ head -c 64 "$TMP/f/net.pdb" && head -c 20 /dev/zero && tail -c +85 "$TMP/f/net.pdb"; } | sha256sum |
  cut -d' ' -f1)
"$SYMFS" id --json "$TMP/f/net.pdb" >"$TMP/out" || fail "id"
grep -q "\"checksum\": *\"SHA256:$sum\"" "$TMP/out" || fail "not SHA256:$sum: $(cat "$TMP/out")"
grep -q '"type": *"pe_dotnet"' "$TMP/out" || fail "no type pe_dotnet: $(cat "$TMP/out")"
# A program and its PDB say the same checksum; one that holds its PDB is its debug file.
PDBS=$top_srcdir/../shared/fixtures/ppdb NET=Sentry.Samples.Console.Basic
if [ -d "$PDBS" ]; then
  for f in ppdb-sourcelink-sample.dll ppdb-sourcelink-sample.pdb; do
    "$SYMFS" id --json "$PDBS/$f" | sed -n 's/.*"\(checksum\|type\)": *\("[^"]*"\).*/\2/p' | tr '\n' ' ' >>"$TMP/sums"
    echo >>"$TMP/sums"
  done
  [ "$(sort -u "$TMP/sums" | wc -l)" = 1 ] && grep -q '^"pe_dotnet" "SHA256:[0-9a-f]\{64\}" $' "$TMP/sums" ||
    fail "checksums: $(cat "$TMP/sums")"
  row debug "$PDBS/$NET-embedded-ppdb.dll" "pe=$PDBS/$NET-embedded-ppdb.dll"
  one "a PDB inside is not symbols" none symtab "$PDBS/$NET-embedded-ppdb.dll"
else
  part_skipped "no ../shared/fixtures/ppdb: programs of .NET"
fi

# ---- the command -------------------------------------------------------------------------
best "$TMP/f/prog" >/dev/null 2>&1
[ $? = 2 ] || fail "without --for it does not end with 2"
best --for fun "$TMP/f/prog" >/dev/null 2>&1
[ $? = 2 ] || fail "--for fun does not end with 2"
best --for debug "$TMP/f/m.c" >/dev/null 2>"$TMP/err"
[ $? = 1 ] || fail "a text does not end with 1: $(cat "$TMP/err")"
rm -rf "$TMP/store"
"$SYMFS" best --no-default-sources --cache "$TMP/store" --source native@http://127.0.0.1:9 --for unwind \
  "$TMP/f/prog" >"$TMP/out" 2>/dev/null
[ $? = 3 ] || fail "a dead server does not end with 3: $(cat "$TMP/out")"
say "$rows rows"
[ $rows -ge 4 ]
