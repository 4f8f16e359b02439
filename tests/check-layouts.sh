#!/bin/sh
# Checks symfs-layouts(7): symfs must print the example paths for the identifiers that the page
# names, and must parse them. Also checks that the command line and the code have the same words.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
page=$top/man/symfs-layouts.7.in
seen=0

elf="--object-type elf --code-file libdemo.so --debug-file libdemo.so
  --code-id 0123456789abcdef0123456789abcdef01234567"
mach="--object-type macho --code-file Demo --debug-file Demo --code-id 67e9247c814e392ba027dbde6748fcbf"
pe="--object-type pe --code-file Demo.exe --code-id 5ab380779000 --debug-file Demo.pdb
  --debug-id 3249d99d-0c40-4931-8610-f4e4fb0b6936-a"
for of in "$elf" "$mach" "$pe"; do
  for type in elf_code elf_debug mach_code mach_debug pe pdb breakpad sourcebundle; do
    # shellcheck disable=SC2086
    "$symfs" paths --type $type $of
  done
done >"$tmp/printed"
# A directory of the mount that no server has is printed when it is named, and only then.
grep -q '^dsym' "$tmp/printed" && complain "dsym is printed unasked"
# shellcheck disable=SC2086
"$symfs" paths --layout dsym --type mach_debug $mach >>"$tmp/printed" || complain "dsym is not printed"

# What debuginfod cuts out of files has a name of its own: it is only read.
sed -n 's/^\([a-z][a-z0-9]*\)\/\(.*\)/\1 \2/p' "$page" >"$tmp/examples"
while read -r folder rest; do
  seen=$((seen + 1))
  # gsym/ holds no layout of its own: the path of another one, and `.gsym`.
  [ "$folder" != gsym ] || { folder=gdb rest=${rest%.gsym}; }
  "$symfs" parse "$folder" "$rest" >"$tmp/json" || complain "$folder/$rest is not read"
  grep -q '"filetype"' "$tmp/json" || complain "$folder/$rest means nothing"
  case $rest in */section/* | */source/* | *.c | *.cs) continue ;; esac
  layout=$folder
  [ "$folder" = symstore2 ] && layout=symstore_index2
  awk -F '\t' -v l="$layout" -v p="${rest#.build-id/}" 'BEGIN { sub(/^buildid\//, "", p) }
    $1 == l && $3 == p { found = 1 } END { exit !found }' "$tmp/printed" ||
    complain "$folder/$rest is not printed"
done <"$tmp/examples"
[ $seen -ge 35 ] || complain "only $seen examples"
for folder in $(sed -n 's/^	{"[a-z_0-9]*", "\([a-z_0-9]*\)", .*/\1/p' "$top/src/names/layout/layouts.c"); do
  grep -q "^$folder " "$tmp/examples" || complain "symfs-layouts(7) has no example of a path in $folder/"
done

"$symfs" paths --type pdb --layout gdb --debug-id 3249d99d-0c40-4931-8610-f4e4fb0b6936-1 >"$tmp/out"
[ $? = 1 ] || complain "no path does not end with 1"
[ -s "$tmp/out" ] && complain "no path prints something"
"$symfs" parse symstore foo.pdb/3249D99D0C4049318610F4E4FB0B69361/foo.pd_ >"$tmp/out"
[ $? = 1 ] || complain "a path that means nothing does not end with 1"
"$symfs" parse gdb ab/cdef >"$tmp/parsed" && "$symfs" paths --parse gdb ab/cdef | cmp -s - "$tmp/parsed" ||
  complain "paths --parse is not parse"
[ "$(tr -d "[:space:]" <"$tmp/out")" = "[]" ] || complain "a path that means nothing is $(cat "$tmp/out")"
# The byte order of the program, for the id that follows.
for way in "44332211665588770000000000000000 0" "11223344556677880000000000000000 0 --big-endian"; do
  # shellcheck disable=SC2086
  set -- $way
  printf 'breakpad\tbreakpad\ta.so/%s0/a.so.sym\n' "$1" >"$tmp/want"
  "$symfs" paths --layout breakpad --type breakpad --object-type elf --code-id 1122334455667788 \
    --debug-file /usr/lib/a.so $3 | cmp -s - "$tmp/want" || complain "breakpad $way"
done
for wrong in "--type nothing" "--type pe --layout nothing" "--type pe --casing upper" "--type pe --code-id xyz" \
  "--type pdb --debug-id 12" "--type pe --object-type nothing" "--type pe FILE" ""; do
  # shellcheck disable=SC2086
  "$symfs" paths $wrong >"$tmp/out" 2>"$tmp/err"
  rc=$?
  [ $rc = 2 ] || complain "paths $wrong ends with $rc"
  [ -s "$tmp/out" ] && complain "paths $wrong prints something"
  grep -q '^symfs paths: ' "$tmp/err" || complain "paths $wrong: $(cat "$tmp/err")"
done
"$symfs" paths "$top/Makefile.am" >"$tmp/out" 2>"$tmp/err"
[ $? = 1 ] || complain "a text file does not end with 1"
"$symfs" paths "$top/no-such-file" >"$tmp/out" 2>"$tmp/err"
[ $? = 4 ] || complain "a missing file does not end with 4"
# check-man.sh and check-completions.sh ask for each type; here, that they see all of them.
. "$top/tests/tables.sh"
types=$(($(filetypes_named | wc -l) + 1)) # and none
want=$(sed -n '/^enum filetype {/,/^}/s/^	FILETYPE_[A-Z0-9_]*,.*/x/p' "$top/src/names/id/filetype.h" | wc -l)
[ "$types" = "$want" ] || complain "$types of $want file types have a row that this test reads"
# Each format has a unit test, and a fuzzer, but for three that are a few words of text.
formats=0
for format in $(sed -n 's/^	&obj_\([a-z0-9]*\),$/\1/p' "$top/src/formats/obj/formats.c"); do
  formats=$((formats + 1))
  grep -qF "\"$format\"" "$top"/tests/unit/test-*.c || complain "no unit test names the format $format"
  case $format in bcsymbolmap | perfmap | uuidmap) continue ;; esac
  [ -f "$top/tests/fuzz/fuzz-$format.c" ] || complain "there is no tests/fuzz/fuzz-$format.c"
  [ -d "$top/tests/data/broken/$format" ] || complain "there is no tests/data/broken/$format"
done
[ $formats -ge 11 ] || complain "only $formats formats"
echo "$seen examples, $types types and $formats formats seen"
exit 0
