#!/bin/sh
# Compares tests/data/tables/undname.tsv with llvm-undname: Microsoft's names, demangled in full. Also shows that it
# finds a wrong row.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
undname=
for tool in llvm-undname-19 llvm-undname; do
  command -v $tool >/dev/null && undname=$tool && break
done
[ -n "$undname" ] || { echo "SKIP: no llvm-undname-19"; exit 77; }
case $($undname --version) in *"version 19."*) ;; *) echo "SKIP: $undname is not version 19"; exit 77 ;; esac

# Each row that says that it differs does.
compare() # TABLE
{
  grep -v '^#' "$1" | sed 1d >"$tmp/rows"
  cut -f 1 "$tmp/rows" | $undname 2>"$tmp/errors" >"$tmp/said"
  awk -F '\t' -v said="$tmp/said" '
    { getline name <said; getline full <said; if (full == "") full = "-"; else getline empty <said }
    name != $1 { print "the answers are not those of the names: " name; exit }
    ($2 == full) != ($4 == "") { print $1 ": " $2 "; llvm-undname: " full ($4 == "" ? "" : "; " $4) }' "$tmp/rows"
}
table=$top/tests/data/tables/undname.tsv
compare "$table" >"$tmp/found"
while read -r line; do complain "$line"; done <"$tmp/found"
sed 's/__thiscall/__cdecl/' "$table" >"$tmp/wrong"
compare "$tmp/wrong" | grep -q 'llvm-undname: .*__thiscall' || complain "a wrong row was not found"
rows=$(wc -l <"$tmp/rows")
echo "$rows names"
[ "$rows" -gt 600 ] || complain "too few"
