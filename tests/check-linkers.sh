#!/bin/sh
# Compares symfs with LLVM's own readers on programs and PDBs that a compiler and a linker make now:
# identifiers, names, architecture and kind. Each program must name its own PDB.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
for tool in clang lld-link llvm-readobj llvm-pdbutil; do
  command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done

# field NAME < JSON: one word of the first slice
field() { sed -n "s/^ *\"$1\": *\"\\(.*\\)\",\\{0,1\\}\$/\\1/p" | head -n 1; }
is() { [ "$3" = "$4" ] || complain "$1: $2 is '$3', not '$4'"; }

cat >"$tmp/x.c" <<'C'
__declspec(dllexport) int twice(int x) { return 2 * x; }
int start(void) { return twice(21); }
C

# one TRIPLE ARCH KIND LINKER-OPTIONS...
one() {
  triple=$1 arch=$2 kind=$3
  shift 3
  dir=$tmp/$triple.$kind
  mkdir "$dir"
  case $kind in library) out=$dir/Prog.dll ;; *) out=$dir/Prog.exe ;; esac
  clang -target "$triple" -g -gcodeview -O1 -c "$tmp/x.c" -o "$dir/x.obj" &&
    lld-link /nologo /debug "/pdb:$dir/Prog.pdb" /Brepro /nodefaultlib /entry:start \
      /subsystem:console "/out:$out" "$@" "$dir/x.obj" >"$dir/log" 2>&1 ||
    { complain "$triple: $(cat "$dir/log" 2>/dev/null)"; return; }
  "$symfs" id --json "$out" >"$dir/pe.json" || complain "symfs id $out: exit $?"
  "$symfs" id --json "$dir/Prog.pdb" >"$dir/pdb.json" || complain "symfs id Prog.pdb: exit $?"

  llvm-readobj --file-headers --coff-debug-directory "$out" >"$dir/readobj"
  stamp=$(sed -n 's/^ *TimeDateStamp: .*(0x\(.*\))$/\1/p' "$dir/readobj" | head -n 1 | tr A-F a-f)
  size=$(sed -n 's/^ *SizeOfImage: \(.*\)$/\1/p' "$dir/readobj")
  guid=$(llvm-pdbutil dump --summary "$dir/Prog.pdb" | sed -n 's/^ *GUID: {\(.*\)}$/\1/p' |
    tr A-F a-f)
  age=$(llvm-pdbutil dump --summary "$dir/Prog.pdb" | sed -n 's/^ *Age: \(.*\)$/\1/p')
  is "$triple" "code id" "$(field code_id <"$dir/pe.json")" \
    "$(printf '%08x%x' "0x$stamp" "$size")"
  is "$triple" "debug id of the program" "$(field debug_id <"$dir/pe.json")" \
    "$(printf '%s-%x' "$guid" "$age")"
  is "$triple" "debug id of the PDB" "$(field debug_id <"$dir/pdb.json")" \
    "$(field debug_id <"$dir/pe.json")"
  is "$triple" "name" "$(field name <"$dir/pe.json")" Prog.pdb
  is "$triple" "kind" "$(field kind <"$dir/pe.json")" "$kind"
  is "$triple" "arch" "$(field arch <"$dir/pe.json")" "$arch"
  is "$triple" "arch of the PDB" "$(field arch <"$dir/pdb.json")" "$arch"
  # Any part of a file that a server cut off is refused.
  for part in 2 3; do
    bytes=$(($(wc -c <"$out") * (part - 1) / part))
    head -c "$bytes" "$out" >"$dir/cut"
    "$symfs" id "$dir/cut" >"$dir/log" 2>&1 && complain "$triple: a program of $bytes bytes passes"
    grep -q 'cut short' "$dir/log" || complain "$triple: $(cat "$dir/log")"
  done
}

one x86_64-pc-windows-msvc x86_64 executable
one x86_64-pc-windows-msvc x86_64 library /dll
one i686-pc-windows-msvc x86 library /dll /safeseh:no
one aarch64-pc-windows-msvc arm64 executable

# DWARF in a PE: its sections have names that only the table behind the symbols can hold.
clang -target x86_64-pc-windows-gnu -g -gdwarf-4 -c "$tmp/x.c" -o "$tmp/dwarf.obj" &&
  lld-link /nologo /debug:dwarf /nodefaultlib /entry:start /subsystem:console \
    "/out:$tmp/dwarf.exe" "$tmp/dwarf.obj" >"$tmp/log" 2>&1 || complain "dwarf: $(cat "$tmp/log")"
"$symfs" id "$tmp/dwarf.exe" >"$tmp/log" 2>&1 || complain "dwarf: $(cat "$tmp/log")"
grep -q 'worth .*debug' "$tmp/log" || complain "dwarf: $(cat "$tmp/log")"
exit 0
