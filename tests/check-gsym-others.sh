#!/bin/sh
# Checks stored GSYM files that other programs wrote: our reader must answer every address of LLVM's
# files (14 and 22) and of the first tool's (three forms) as llvm-gsymutil 22 does for its own
# files. An answer may differ on purpose, or because the writer knew less; such a file is named here
# with the reason.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
fixtures=$top/../shared/fixtures/gsym
[ -d "$fixtures/llvm22" ] || { echo "SKIP: no ../shared/fixtures/gsym: files that LLVM made"; exit 77; }
seen=0 files=0
cd "$tmp" || exit 1

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

# What is left out of the comparison: lines of `want` and `got`, beside each other, for awk. Whatever
# is not named here must be equal.
knows_less() { # WRITER NAME: prints why, and an awk condition on w (wanted) and g (got)
  case $1/$2 in
  llvm14/hello_O2_dw5.zstd) echo 'LLVM 14 cannot unpack zstd: symbols only;g ~ /@:0$/' ;;
  llvm14/split_dw5) echo 'LLVM 14 does not read split DWARF 5: symbols only;g ~ /@:0$/' ;;
  llvm14/symtab_only)
    echo "another alias, symbols of size 0 have no other addresses, and the end of a function around another is" \
      'found;w ~ /aa_weak_alias|zero/ || g ~ /zero|^outer/' ;;
  llvm22/symtab_only)
    echo "symbols of size 0 have no other addresses, and the end of a function around another is" \
      'found;w ~ /zero/ || g ~ /^outer/' ;;
  llvm14/icf_reloc.o) echo 'not linked: all functions lie at 0;1' ;;
  esac
}

for writer in llvm14 llvm22; do
  for file in "$fixtures/$writer"/*.gsym; do
    name=$(basename "$file" .gsym)
    table=$fixtures/llvm22/$name.lookups.tsv
    [ -f "$table" ] || continue
    expand "$table" >want
    cut -f 1 want | "$symfs" gsym lookup --stdin "$file" >got 2>err || complain "$writer/$name: $(cat err)"
    "$symfs" gsym verify "$file" >/dev/null 2>err || complain "$writer/$name: $(cat err)"
    why=$(knows_less $writer "$name")
    condition=${why##*;}
    paste want got | awk -F '\t' "{ w = \$2; g = \$4 } w != g && !(${condition:-0})" >differ
    [ -s differ ] && complain "$writer/$name: $(wc -l <differ) answers differ: $(head -n 2 differ)"
    if [ -n "$why" ]; then
      cmp -s want got && complain "$writer/$name is no exception any longer"
      echo "$writer/$name: $(diff want got | grep -c '^<') of $(wc -l <want) otherwise: ${why%;*}"
    fi
    seen=$((seen + $(wc -l <want))) files=$((files + 1))
  done
done

# The first tool names functions by all that they lie in, and of most optimized programs it lost the
# lines: it did not know an operation of DWARF 4, and only the last sequence of a unit. What it has is
# right, but for frames of which it lost the file.
for file in "$fixtures"/gsympy/*.gsym; do
  name=$(basename "$file" .gsym)
  name=${name%%.*}
  expand "$fixtures/llvm22/$name.lookups.tsv" >want
  cut -f 1 want | "$symfs" gsym lookup --stdin "$file" >got 2>err || complain "$file: $(cat err)"
  "$symfs" gsym verify "$file" >/dev/null 2>err
  paste want got | awk -F '\t' '
    # The last part of a name, whose parameters and template arguments may have colons of their own.
    function short(s, at, n) {
      at = index(s, "@")
      n = substr(s, 1, at - 1)
      while (gsub(/<[^<>]*>/, "", n)) ;
      while (gsub(/\([^()]*\)/, "", n)) ;
      sub(/ const$/, "", n)
      sub(/.*::~?/, "", n)
      place = substr(s, at + 1)
      return n
    }
    # What has a mangled name is known by the length and the name in it.
    function same(w, g) { return w == g || index(w, length(g) g) > 0 || (g ~ /^operator/ && w ~ /^_Z/) }
    { n = split($2, w, / < /); m = split($4, g, / < /)
      if ($2 == "-" || $4 == "-") { if ($2 != $4) print "found or not: " $0; next }
      if (m == 1 && $4 ~ /@:0$/) { # without lines there are no inlined calls
        w[1] = w[n]
        n = 1
      }
      if (n != m) { print "frames: " $0; next }
      for (i = 1; i <= n; i++) {
        a = short(w[i]); there = place; b = short(g[i])
        if (!same(a, b)) { print "name: " $0; next }
        if (place == ":0" || place == there) { full += place == there; continue }
        print "place: " $0
        next
      } }
    END { print full + 0 >"full" }' >differ
  [ -s differ ] && complain "$(basename "$file"): $(wc -l <differ) answers differ: $(head -n 3 differ)"
  echo "$(basename "$file"): $(cat full) places, $(wc -l <want) addresses"
  seen=$((seen + $(wc -l <want))) files=$((files + 1))
done
[ $files -ge 60 ] || complain "only $files files"
[ $seen -gt 7000 ] || complain "only $seen addresses"
echo "$files files, $seen addresses"
exit 0
