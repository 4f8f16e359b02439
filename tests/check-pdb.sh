#!/bin/sh
# Checks PDBs that a script derives from a real one. Variants of the container and of the streams
# must answer as the original does. Each damaged file must give either a message or GSYM.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need python3 zstd
shared=${top_srcdir:-$(dirname "$0")/..}/../shared
pdb=$shared/fixtures/pdb vectors=$top_builddir/tests/unit/test-pdb-vectors
[ -f "$shared/tools/pdb/mkvar.py" ] || skip "no ../shared/tools/pdb"
cd "$TMP" || exit 1

mkdir variants damaged
python3 "$shared/tools/pdb/mkvar.py" "$pdb/fixtures/cl64.pdb" variants >made || fail "mkvar.py"
n=0
for file in variants/*; do
  name=$(basename "$file")
  table=$pdb/expected/variants/${name%.*}.tsv letters=none
  [ -f "$table" ] || { table=$pdb/expected/cl64.tsv letters=letters; }
  "$vectors" "$file" "$table" "$letters" >said || fail "$name: $(cat said)"
  "$top_builddir/symfs" id "$file" | grep -q 'breakpad id 9A0A9A50D48061974C4C44205044422E1$' ||
    fail "$name: another identity"
  n=$((n + 1))
done
"$top_builddir/symfs" id "$pdb/fixtures/crash_with_srcsrv.pdb" | grep -q '^ *breakpad id .*1$' ||
  fail "an age that is not the image's"
[ "$n" -ge 12 ] || fail "only $n variants"
"$vectors" variants/noipi.pdb "$pdb/expected/crash.tsv" letters >/dev/null && fail "the table of another file passed"

# Threads share the modules; whichever is faster, the bytes are the same.
for name in basic32 rsapp winpty-x64; do
  for threads in 1 2 8; do
    "$top_builddir/symfs" gsym create --threads $threads -o $threads.gsym "$pdb/fixtures/$name.pdb" || fail "$name"
    cmp 1.gsym $threads.gsym || fail "$name: $threads threads make another file"
  done
done

# Addresses of the PDB itself, of one that is converted in memory, and of a GSYM file.
for name in basic32 omap_reorder_funcs rsapp winpty-x64; do
  file=$pdb/fixtures/$name.pdb
  "$top_builddir/symfs" gsym create -o one.gsym "$file" || fail "$name"
  awk -F '\t' '!/^#/ && NR % 5 == 0 { print "0x" $1 }' "$pdb/expected/$name.tsv" >addresses
  for options in "" --json --plain-names; do
    [ "$options" != --plain-names ] || "$top_builddir/symfs" gsym create --plain-names -o one.gsym "$file" ||
      fail "$name"
    # shellcheck disable=SC2046,SC2086
    "$top_builddir/symfs" gsym lookup $options $(head -n 40 addresses) one.gsym >wanted || fail "$name: $options"
    # shellcheck disable=SC2046,SC2086
    "$top_builddir/symfs" gsym lookup $options $(head -n 40 addresses) "$file" >got 2>&1 || fail "$name: $(cat got)"
    cmp wanted got || fail "$name: 40 addresses differ: $options"
    # shellcheck disable=SC2086
    "$top_builddir/symfs" gsym lookup $options --stdin one.gsym <addresses >wanted || fail "$name: $options"
    # shellcheck disable=SC2086
    "$top_builddir/symfs" gsym lookup $options --stdin "$file" <addresses >got 2>&1 || fail "$name: $(cat got)"
    cmp wanted got || fail "$name: many addresses differ: $options"
    # shellcheck disable=SC2002,SC2086
    cat addresses | "$top_builddir/symfs" gsym lookup $options --stdin "$file" >got 2>&1 || fail "$name: $(cat got)"
    cmp wanted got || fail "$name: addresses of a pipe differ: $options"
  done
done

# No crash, no hang, no memory that grows with a number in the file.
python3 "$shared/tools/pdb/mutate.py" "$pdb/fixtures/cl64.pdb" damaged >made || fail "mutate.py"
made=0 refused=0
for file in damaged/*; do
  timeout 600 "$top_builddir/symfs" gsym create -o out.gsym "$file" >said 2>&1
  case $? in
  0) made=$((made + 1)) ;;
  1 | 2 | 3 | 4) [ -s said ] || fail "$file: refused without a word"; refused=$((refused + 1)) ;;
  *) fail "$file: $(cat said)" ;;
  esac
done
# The same by parts, as from a server with byte ranges.
timeout 300 "$top_builddir/tests/unit/test-pdb-partial" damaged/* variants/* >said 2>&1 ||
  fail "by parts: $(tail -n 20 said)"
[ "$(grep -c ' rounds$' said)" -ge 150 ] || fail "by parts: only $(grep -c ' rounds$' said) files"
echo "$made made, $refused refused"
[ $((made + refused)) -ge 140 ] || fail "only $((made + refused)) files"
[ "$made" -gt 20 ] && [ "$refused" -gt 20 ] || fail "they all end alike"
