#!/bin/sh
# symfs best against the tables of Sentry's Symbolicator: for every subset of the files of a module, in every
# distribution over two sources, the chosen file must be the first of the table's row that is there and serves the
# purpose. Whether a file serves it is read from `symfs id`.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy readelf strip
shared=${top_srcdir:-$(dirname "$0")/../..}/../shared/fixtures
counts=

# The rows of our own table. Breakpad files have all that they can have, so that no `sym` is made.
TABLE=$top_srcdir/tests/data/tables/precedence.tsv
row_of() { # PLATFORM PURPOSE
  awk -F'\t' -v of="$2 $1" '$1 == "best" && $2 == of { sub(" sym$", "", $3); print $3 }' "$TABLE"
}

serves() { # PLATFORM TYPE PURPOSE
  case $3 in
  symtab) se_words='\(all\|dynamic\|exported\) symbols\|line tables\|debug information' ;;
  debug) se_words='line tables\|debug information' ;;
  unwind) se_words='unwind' ;;
  esac
  "$SYMFS" id "$TMP/$1/$2" | grep '^ *worth' | grep -q "$se_words"
}

# breakpad_of PLATFORM FILE OS: a Breakpad file of the same module. That of an ELF file says the code id, by which the
# layout has it.
breakpad_of() {
  bo_id=$("$SYMFS" id "$2" | awk '/breakpad id/ { print $3; exit }')
  [ -n "$bo_id" ] || fail "no debug id: $2"
  bo_info=
  [ "$1" != elf ] || bo_info="INFO CODE_ID $(build_id "$2" | tr a-f A-F)
"
  printf 'MODULE %s x86_64 %s x\n%sFILE 0 x.c\nFUNC 1000 10 0 f\n1000 10 7 0\nPUBLIC 2000 0 g\n%s\n' \
    "$3" "$bo_id" "$bo_info" 'STACK CFI INIT 1000 10 .cfa: $rsp 8 +' >"$TMP/$1/breakpad"
}

place_of() { # PLATFORM TYPE: where the unified layout has it
  "$SYMFS" paths --layout unified "$TMP/$1/$2" | awk -F'\t' -v t="$2" '$2 == t && $3 !~ /_$/ { print $3; exit }'
}

check() { # PLATFORM MODULE-FILE PURPOSES TYPES...
  ch_platform=$1 ch_module=$2 ch_purposes=$3
  shift 3
  for t in "$@"; do
    eval "place_$t=\$(place_of $ch_platform $t)"
    eval "[ -n \"\$place_$t\" ]" || fail "$ch_platform: no place for $t"
    for p in $ch_purposes; do
      serves $ch_platform "$t" "$p" && eval "serves_${t}_$p=1" || eval "serves_${t}_$p="
    done
  done
  # Each file is nowhere, in one source or in the other.
  ch_all=1
  for t in "$@"; do ch_all=$((ch_all * 3)); done
  ch_n=1 ch_count=0
  while [ $ch_n -lt $ch_all ]; do
    rm -rf "$TMP/one" "$TMP/two"
    mkdir "$TMP/one" "$TMP/two"
    ch_left=$ch_n ch_there=
    for t in "$@"; do
      case $((ch_left % 3)) in 0) dir= ;; 1) dir=$TMP/one ;; 2) dir=$TMP/two ;; esac
      ch_left=$((ch_left / 3))
      [ -n "$dir" ] || continue
      eval "place=\$place_$t"
      mkdir -p "$dir/$(dirname "$place")"
      cp "$TMP/$ch_platform/$t" "$dir/$place"
      ch_there="$ch_there $t "
    done
    for p in $ch_purposes; do
      ch_wanted=
      for t in $(row_of $ch_platform "$p"); do
        eval "ch_serves=\$serves_${t}_$p"
        case "$ch_there" in *" $t "*) [ -z "$ch_serves" ] || [ -n "$ch_wanted" ] || ch_wanted=$t ;; esac
      done
      "$SYMFS" best --no-default-sources --cache "$TMP/store" --source "unified@$TMP/one" \
        --source "unified@$TMP/two" \
        --for "$p" --json "$ch_module" >"$TMP/best" 2>"$TMP/err"
      ch_got=$(sed -n 's/^ *"chosen": *"\([a-z_]*\)".*/\1/p' "$TMP/best")
      [ "$ch_got" = "$ch_wanted" ] ||
        fail "$ch_platform, $p, files$ch_there: chose ${ch_got:-none}, not ${ch_wanted:-none}:" \
          "$(cat "$TMP/best" "$TMP/err")"
      ch_count=$((ch_count + 1))
    done
    ch_n=$((ch_n + 1))
  done
  counts="$counts $ch_platform $ch_count"
}

mkdir "$TMP/elf"
make_program "$TMP/p" foo
cp "$TMP/p/debug/foo.debug" "$TMP/elf/elf_debug"
cp "$TMP/p/bin/foo" "$TMP/elf/elf_code"
breakpad_of elf "$TMP/elf/elf_code" Linux
check elf "$TMP/elf/elf_code" "symtab debug unwind" elf_debug elf_code breakpad

mkdir "$TMP/macho" "$TMP/pe" "$TMP/pe_dotnet" "$TMP/named"
if [ -d "$shared" ]; then
  cp "$shared/built/macho/m.x86_64" "$TMP/macho/mach_code"
  "$SYMFS" add --cache "$TMP/store-slice" "$shared/built/macho/m.fat.dwarf" >/dev/null || fail "add of the dSYM"
  uuid=$("$SYMFS" id "$TMP/macho/mach_code" | awk '/code id/ { print $3; exit }')
  f=$("$SYMFS" get --offline --cache "$TMP/store-slice" "unified/$(printf %.2s "$uuid")/${uuid#??}/debuginfo") ||
    fail "a slice"
  cp "$f" "$TMP/macho/mach_debug"
  cp "$shared/pdb/fixtures/cl64.exe" "$TMP/pe/pe"
  cp "$shared/pdb/fixtures/cl64.pdb" "$TMP/pe/pdb"
  cp "$TMP/pe/pe" "$TMP/named/cl64.exe"
  sample=$shared/symbolic/symbolic-testutils/fixtures/ppdb-sourcelink-sample
  cp "$sample/ppdb-sourcelink-sample.pdb" "$TMP/pe_dotnet/portablepdb"
  cp "$sample/ppdb-sourcelink-sample.dll" "$TMP/pe_dotnet/pe"
  cp "$TMP/pe_dotnet/pe" "$TMP/named/ppdb-sourcelink-sample.dll"
else
  part_skipped "no ../shared/fixtures: the files of compilers for Windows and macOS; our own small files instead"
  own=$top_srcdir/tests/data/broken
  cp "$own/gsym-dwarf/good-macho-program" "$TMP/macho/mach_code"
  cp "$own/gsym-dwarf/good-dsym" "$TMP/macho/mach_debug"
  cp "$own/pe/name-control" "$TMP/pe/pe"
  cp "$own/pdb/good" "$TMP/pe/pdb"
  cp "$own/ppdb/good" "$TMP/pe_dotnet/portablepdb"
  cp "$own/pe/good" "$TMP/pe_dotnet/pe"
  cp "$TMP/pe/pe" "$TMP/named/cl64.exe"
  cp "$TMP/pe_dotnet/pe" "$TMP/named/ppdb-sourcelink-sample.dll"
fi
breakpad_of macho "$TMP/macho/mach_code" mac
check macho "$TMP/macho/mach_code" "symtab debug unwind" mach_debug mach_code breakpad
breakpad_of pe "$TMP/pe/pdb" windows
check pe "$TMP/named/cl64.exe" "symtab debug unwind" pdb pe breakpad
check pe_dotnet "$TMP/named/ppdb-sourcelink-sample.dll" debug portablepdb pe

say "# best as in the tables:$counts"
