#!/bin/sh
# Files of an upstream in any layout, casing and packing are read through the mount in two other
# layouts: source layout x file type x packing x casing of the upstream's disk, over nginx. A cell
# is one file of one type at one upstream.
#
# Both reads begin without the file in the store, so each of them asks the upstream. A path of
# another layout may lack what the upstream must be asked by (a name, or the other id). Then another
# file of the module is in the store and has it. Where no file can have it, the upstream is asked by
# its own layout, and the other two read what is then stored; the table below lists these cases. The
# files are made here; where ../shared is present, real ones are used, too.
#
# Each layout is also stored in four casings, in a directory and on a server, and asked in four.
#
# SYMFS_MATRIX=all: every pair of casings, and every packing in every casing; otherwise packings and casings take
# turns.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need nginx gcc objcopy readelf strip cmp curl awk gzip pigz zstd zip gcab

FILES=$TMP/files WWW=$TMP/www
mkdir -p "$FILES" "$WWW"
: >"$TMP/list"

# ---- files: each of one type, and no two of one module ----------------------------------------

# have NAME TYPE [TEACHER]: another file of its module, which is at no upstream.
have() { printf '%s\t%s\t%s\n' "$1" "$2" "${3:--}" >>"$TMP/list"; }
field() { "$SYMFS" id --json "$2" | sed -n "s/^ *\"$1\": *\"\\(.*\\)\",\\{0,1\\}\$/\\1/p" | head -n 1; } # NAME FILE
upper() { printf '%s' "$1" | tr '[:lower:]' '[:upper:]'; }
# sym_of NAME: what Breakpad's tools would make of NAME.dll.
sym_of() {
  printf 'MODULE windows x86_64 %s %s.pdb\nINFO CODE_ID %s %s.dll\nPUBLIC 1000 0 f\n' \
    "$(upper "$(field debug_id "$2" | tr -d -)")" "$1" "$(upper "$(field code_id "$2")")" "$1"
}

make_program "$TMP/p" Prog
cp "$TMP/p/bin/Prog" "$FILES/Prog" && have Prog elf_code
cp "$TMP/p/debug/libProg.so.debug" "$FILES/libProg.so.debug" && have libProg.so.debug elf_debug

CLANG=$(first_of clang) LINK=$(first_of lld-link) LD64=$(first_of ld64.lld) DSYMUTIL=$(first_of dsymutil)
windows() { # NAME: NAME.dll, NAME.pdb
  echo "int f(int n) { return n + sizeof(\"$1\"); }" >"$TMP/$1.c"
  "$CLANG" --target=x86_64-pc-windows-msvc -g -gcodeview -c "$TMP/$1.c" -o "$TMP/$1.obj" &&
    (cd "$FILES" && "$LINK" -dll -noentry -debug "-out:$1.dll" "-pdb:$1.pdb" -export:f "$TMP/$1.obj") \
    >"$TMP/lld.log" 2>&1
}
mkdir -p "$TMP/teach"
if windows OwnLib && windows OwnPdb && windows OwnMod && windows OwnSrc; then
  sym_of OwnLib "$FILES/OwnLib.dll" >"$TMP/teach/OwnLib.sym"
  have OwnLib.dll pe "$TMP/teach/OwnLib.sym" && have OwnPdb.pdb pdb
  mv "$FILES/OwnMod.dll" "$TMP/teach"
  sym_of OwnMod "$TMP/teach/OwnMod.dll" >"$FILES/OwnMod.sym" && have OwnMod.sym breakpad "$TMP/teach/OwnMod.dll"
  mv "$FILES/OwnSrc.dll" "$TMP/teach"
  printf '{"files":{},"debug_id":"%s","code_id":"%s","arch":"x86_64","object_name":"OwnSrc.pdb"}' \
    "$(field debug_id "$TMP/teach/OwnSrc.dll")" "$(field code_id "$TMP/teach/OwnSrc.dll")" >"$TMP/manifest.json"
  (cd "$TMP" && zip -q0X bundle.zip manifest.json && { printf 'SYSB\2\0\0\0' &&
    cat bundle.zip; } >"$FILES/OwnSrc.dll" &&
    zip -qA "$FILES/OwnSrc.dll") && have OwnSrc.dll sourcebundle "$TMP/teach/OwnSrc.dll"
fi
rm -f "$FILES"/*.lib "$FILES/OwnLib.pdb" "$FILES/OwnPdb.dll" "$FILES/OwnMod.pdb" "$FILES/OwnSrc.pdb"

apple() { # NAME
  echo "int f(int n) { return n + sizeof(\"$1\"); }" >"$TMP/$1.c"
  "$CLANG" --target=x86_64-apple-macos11 -g -c "$TMP/$1.c" -o "$TMP/$1.o" &&
    "$LD64" -arch x86_64 -platform_version macos 11.0 11.0 -dylib -o "$TMP/$1" "$TMP/$1.o" >"$TMP/lld.log" 2>&1
}
if apple own.dylib; then cp "$TMP/own.dylib" "$FILES/" && have own.dylib mach_code; fi
if apple owndsym.dylib && "$DSYMUTIL" "$TMP/owndsym.dylib" >"$TMP/dsymutil.log" 2>&1; then
  cp "$TMP/owndsym.dylib.dSYM/Contents/Resources/DWARF/owndsym.dylib" "$FILES/OwnDwarf" && have OwnDwarf mach_debug
fi

# A Portable PDB that has an id and nothing else; WebAssembly that has an id and no code at all, and
# one that has code.
printf 'BSJB\1\0\1\0\0\0\0\0\014\0\0\0PDB v1.0\0\0\0\0\0\0\1\0\060\0\0\0\040\0\0\0#Pdb\0\0\0\0%b' \
  'Portable PDB id-\140\115\123\152\0\0\0\0\0\0\0\0\0\0\0\0' \
  >"$FILES/OwnPortable.pdb" && have OwnPortable.pdb portablepdb
printf '\0asm\1\0\0\0\0\032\010build_id\020WebAssembly code\012\4\1\2\0\013' >"$FILES/own-code.wasm" &&
  have own-code.wasm wasm_code
printf '\0asm\1\0\0\0\0\032\010build_id\020WebAssembly data' >"$FILES/own-debug.wasm" &&
  have own-debug.wasm wasm_debug

shared=$top_srcdir/../shared/fixtures
windows=symbolic/symbolic-testutils/fixtures/windows
[ -d "$shared" ] || part_skipped "no ../shared/fixtures: real files of Windows and macOS"
while read -r type file name teacher; do
  [ -f "$shared/$file" ] || continue
  cp "$shared/$file" "$FILES/$name" && chmod u+w "$FILES/$name" && have "$name" "$type" "${teacher:+$shared/$teacher}"
done <<EOF
elf_code symbolic/symbolic-testutils/fixtures/linux/crash crash
elf_debug built/elf/libfoo.so.debug libfoo.so.debug
mach_code built/macho/m.x86_64.stripped m.x86_64.stripped
mach_debug symbolic/symbolic-testutils/fixtures/macos/crash.dSYM/Contents/Resources/DWARF/crash dwarf
pe $windows/crash.exe crash.exe $windows/crash.sym
pdb $windows/crash.pdb crash.pdb
portablepdb $windows/portable.pdb portable.pdb
breakpad $windows/CrashWithException.pdb.sym CrashWithException.sym $windows/CrashWithException.exe
breakpad symbolic/symbolic-testutils/fixtures/macos/crash.sym macos-crash.sym
EOF

# ---- what layouts can name, and by what: a code id, a debug id (u: without its age or stamp), the
# names of the code file and of the debug file. A path says exactly these, and a server is asked by
# them. What `symfs paths` prints must be these layouts. In the mount, paths of slashsymbols mean
# programs and debug files alone (!).
cat >"$TMP/needs" <<EOF
elf_code    gdb=c perf=c debuginfod=c unified=c native=c symstore=cn ssqp=cn symstore_index2=cn slashsymbols=cn
elf_debug   gdb=c perf=c debuginfod=c unified=c native=c symstore=c ssqp=c symstore_index2=c slashsymbols=cn
mach_code   lldb=c unified=c native=c symstore=cn ssqp=cn symstore_index2=cn slashsymbols=cn
mach_debug  lldb=c unified=c native=c symstore=c ssqp=c symstore_index2=c slashsymbols=cn
pe          symstore=cn ssqp=cn symstore_index2=cn native=cn slashsymbols=cn unified=gu
pdb         symstore=gud ssqp=gud symstore_index2=gud native=gud unified=gu
portablepdb symstore=ud ssqp=ud symstore_index2=ud native=ud unified=gu
breakpad    breakpad=gud native=gud unified=gu slashsymbols=cn!
sourcebundle symstore=gud ssqp=gud symstore_index2=gud native=gud unified=gu
wasm_code   unified=c native=c slashsymbols=cn
wasm_debug  unified=c native=c slashsymbols=cn
EOF

# A line for each way: FILE TYPE LAYOUT PATH PACKED-PATH NEEDS. The first spelling of each layout.
# macos/crash.sym has no code file, so slashsymbols cannot name it.
while IFS='	' read -r file type teacher; do
  "$SYMFS" paths "$FILES/$file" >"$TMP/paths" 2>"$TMP/paths.err" || fail "symfs paths $file: $(cat "$TMP/paths.err")"
  awk -F'\t' -v file="$file" -v type="$type" '
    NR == FNR {
      split($0, w, " "); if (w[1] == type) for (i = 2; i in w; i++) { split(w[i], kv, "="); need[kv[1]] = kv[2] }
      next }
    $2 != type { next }
    !($1 in need) { print "a layout that the table has not: " $1 > "/dev/stderr"; bad = 1; next }
    $3 ~ /_$/ { if (!($1 in packed)) packed[$1] = $3; next }
    !($1 in path) { path[$1] = $3 }
    END {
      for (l in need) {
        if (!(l in path)) {
          if (file == "macos-crash.sym" && l == "slashsymbols") continue
          print l " does not name it" > "/dev/stderr"; bad = 1; continue
        }
        printf "%s\t%s\t%s\t%s\t%s\t%s\n", file, type, l, path[l], (l in packed) ? packed[l] : path[l], need[l]
      }
      exit bad
    }' "$TMP/needs" "$TMP/paths" >>"$TMP/ways.all" 2>"$TMP/awk.err" ||
      fail "$file as $type: $(cat "$TMP/awk.err" "$TMP/paths")"
done <"$TMP/list"
sort "$TMP/ways.all" >"$TMP/ways"
cut -f3 "$TMP/list" | grep -v '^-$' >"$TMP/teachers"
[ -s "$TMP/ways" ] || fail "no ways"
doubled=$(awk -F'\t' '$3 == "slashsymbols" { print $4 }' "$TMP/ways" | sort | uniq -d)
[ -z "$doubled" ] || fail "two files in one place: $doubled"

# ---- packings ----------------------------------------------------------------------------------

PACKINGS='none gzip zlib zstd zip cab lzx'
[ -x "$top_builddir/tests/helpers/pack-cab" ] || PACKINGS='none gzip zlib zstd zip cab'
[ "${SYMFS_MATRIX:-}" != all ] || PACKINGS="$PACKINGS encoded" # zstd, and a Content-Encoding on top

pack() { # PACKING FILE TO
  case $1 in
  none) cp "$2" "$3" ;;
  gzip) gzip -nc "$2" >"$3" ;;
  zlib) pigz -zc "$2" >"$3" ;;
  zstd) zstd -qc "$2" >"$3" ;;
  encoded) zstd -qc "$2" | gzip -nc >"$3" ;;
  zip) zip -qj "$3.zip" "$2" && mv "$3.zip" "$3" ;;
  cab) gcab -c -z -n "$3" "$2" ;;
  lzx) "$top_builddir/tests/helpers/pack-cab" lzx "$2" "$3" ;;
  esac || fail "$1 of $2"
}
for packing in $PACKINGS; do
  mkdir -p "$TMP/packed/$packing"
  while IFS='	' read -r file type teacher; do pack "$packing" "$FILES/$file" "$TMP/packed/$packing/$file"; done \
    <"$TMP/list"
done

# ---- the server --------------------------------------------------------------------------------

nginx_start web "$WWW" 'error_log stderr crit; location ~ /encoded- { add_header Content-Encoding gzip; }'

# Where paths of a layout lie in the mount, and on a server's disk, where every layout is by itself.
below() { # LAYOUT
  case $1 in
  gdb | perf) echo .build-id/ ;;
  debuginfod) echo buildid/ ;;
  esac
}

# ---- one upstream ------------------------------------------------------------------------------

# plan LAYOUT TURN CASING: for each file that the layout names a line with the reads of its cell: FILE TYPE,
# and three of the layouts' paths, each with where it is read: a and b are empty stores, w is the
# store a again. The upstream's own layout is read only when no other can ask it.
plan() {
  awk -F'\t' -v source="$1" -v turn="$2" -v casing="$3" '
    function knows(what, needed,  i) { # whether all letters of needed are in what
      for (i = 1; i <= length(needed); i++) if (index(what, substr(needed, i, 1)) == 0) return 0
      return 1
    }
    function place(l, path) {
      if (l == "symstore_index2") return "symstore2/" path
      if (l == "gdb" || l == "perf") return l "/.build-id/" path
      if (l == "debuginfod") return "debuginfod/buildid/" path
      return l "/" path
    }
    # The names of ssqp are in lower case, whatever the file is called: a disk that minds it, and
    # holds the name as it is, is asked for another file.
    function told(l, file, letters) {
      if (l == "ssqp" && source != "ssqp" && casing == "default" && names[file] ~ /[A-Z]/) gsub(/[nd]/, "", letters)
      return letters
    }
    FILENAME ~ /list$/ { if ($3 != "-") teacher[$1] = 1; next }
    FNR == 1 { pass++ }
    pass == 1 {
      if ($3 == source) needed[$1] = $6
      if ($3 == "native" || $3 == "symstore") { names[$1] = $4; sub(/\/.*/, "", names[$1]) }
      next
    }
    !($1 in needed) { next }
    $3 == source { own[$1] = place($3, $4); type[$1] = $2; unread[$1] = $6 ~ /!/; next }
    $6 ~ /!/ { next }
    knows(told($3, $1, $6), needed[$1]) { cold[$1, n_cold[$1]++] = place($3, $4); next }
    { warm[$1, n_warm[$1]++] = place($3, $4) }
    END {
      for (f in own) {
        c = n_cold[f] + 0; w = n_warm[f] + 0; t = ""
        if (c < 2 && (f in teacher)) {
          for (i = 0; i < w; i++) cold[f, c++] = warm[f, i]
          t = "taught"
        }
        if (c > 1) {
          i = turn % c; j = (i + 1 + int(turn / c) % (c - 1)) % c
          print f "\t" type[f] "\ta\t" cold[f, i] "\tb\t" cold[f, j] "\t-\t-\t" t
        } else if (unread[f]) {
          print f ": no way to ask for it" > "/dev/stderr"
        } else if (c == 1)
          print f "\t" type[f] "\ta\t" cold[f, 0] "\tw\t" warm[f, turn % w] "\t-\t-"
        else
          print f "\t" type[f] "\ta\t" own[f] "\tw\t" warm[f, turn % w] "\tw\t" warm[f, (turn + 1) % w]
      }
    }' "$TMP/list" "$TMP/ways" "$TMP/ways" | sort
}

# read_all PLAN WHERE OUT: a line FILE SAME|OTHER PATH for each read of a store (a, then w; or b).
read_all() {
  for pass in 3 5 7; do
    awk -F'\t' -v pass=$pass -v where="$2" 'index(where, $pass) && $pass != "-" { print $1 "\t" $(pass + 1) }' "$1"
  done >"$3.plan"
  while IFS='	' read -r file path; do
    eval "ra_mnt=\$MNT_$(printf '%.1s' "$2")"
    if cmp "$FILES/$file" "$ra_mnt/$path" >"$3.cmp" 2>&1; then
      printf '%s\tsame\t%s\n' "$file" "$path"
    else
      printf '%s\tother\t%s: %s\n' "$file" "$path" "$(cut -c -200 "$3.cmp")"
    fi
  done <"$3.plan" >"$3"
}

expected=0 cells=0 failures=0 cold=0 taught=0 half=0 own=0
: >"$TMP/failures"

# put_up LAYOUT PACKING CASING: the upstream's disk, and its configuration.
put_up() {
  up=$2-$1-$3
  awk -F'\t' -v layout="$1" -v packing="$2" -v casing="$3" -v root="$WWW/$up/$(below "$1")" \
    -v from="$TMP/packed/$2/" '
    function quoted(s) { gsub(/\047/, "\047\\\047\047", s); return "\047" s "\047" }
    $3 == layout {
      to = (packing == "cab" || packing == "lzx") ? $5 : $4
      if (casing == "lowercase") to = tolower(to)
      if (casing == "uppercase") to = toupper(to)
      to = root to; dir = to; sub(/\/[^\/]*$/, "", dir)
      dirs = dirs " " quoted(dir); links = links "ln " quoted(from $1) " " quoted(to) " || exit 1\n"
    }
    END { print "mkdir -p" dirs " && " links }' "$TMP/ways" >"$TMP/put.sh"
  sh "$TMP/put.sh" || fail "$up: its disk"
  root=$URL_web/$up/
  [ "$1" != debuginfod ] || root=${root}buildid/
  printf '[source "up"]\nurl = %s\nlayout = %s\ncasing = %s\n' "$root" "$1" "$3" >"$TMP/up.conf"
}

# ask_it LAYOUT TURN CASING: plans, reads in two stores, and sets what came of it: bad, a count of cells.
ask_it() {
  plan "$1" "$2" "$3" >"$TMP/plan"
  if grep -q 'taught$' "$TMP/plan"; then
    for ai_store in a b; do
      tr '\n' '\0' <"$TMP/teachers" | xargs -0 "$SYMFS" add --cache "$TMP/store-$ai_store" >"$TMP/add.log" 2>&1 ||
        fail "add: $(cat "$TMP/add.log")"
    done
  fi
  symfs_mount a --cache "$TMP/store-a" --config "$TMP/up.conf"
  symfs_mount b --cache "$TMP/store-b" --config "$TMP/up.conf"
  read_all "$TMP/plan" b "$TMP/read-b" &
  ai_pid=$!
  read_all "$TMP/plan" aw "$TMP/read-a"
  wait $ai_pid
  symfs_umount a
  symfs_umount b
  rm -rf "$TMP/store-a" "$TMP/store-b" "${WWW:?}/$up"
  # A cell is good when all of its reads came, and were the same.
  bad=$(awk -F'\t' '
    FILENAME ~ /plan$/ { want[$1] = ($3 != "-") + ($5 != "-") + ($7 != "-"); next }
    $2 == "same" { same[$1]++ }
    END { for (f in want) if (same[f] != want[f]) n++; print n + 0 }' "$TMP/plan" "$TMP/read-a" "$TMP/read-b")
}

one_upstream() { # LAYOUT PACKING CASING TURN
  put_up "$1" "$2" "$3"
  ask_it "$1" "$4" "$3"
  n=$(wc -l <"$TMP/plan")
  cells=$((cells + n)) failures=$((failures + bad))
  cold=$((cold + $(awk -F'\t' '$5 == "b" && $9 == ""' "$TMP/plan" | wc -l)))
  taught=$((taught + $(awk -F'\t' '$9 == "taught"' "$TMP/plan" | wc -l)))
  half=$((half + $(awk -F'\t' '$5 == "w" && $7 == "-"' "$TMP/plan" | wc -l)))
  own=$((own + $(awk -F'\t' '$7 == "w"' "$TMP/plan" | wc -l)))
  [ "$bad" = 0 ] || awk -F'\t' -v up="$up" '$2 == "other" { print up ": " $1 ": " $3 }' "$TMP/read-a" "$TMP/read-b" |
    tee -a "$TMP/failures"
}

# ---- stored in this casing, asked in that ----------------------------------------------------------
#
# Every layout x {a directory, a server} x four casings of its disk, asked in four casings through a store that has
# nothing. `swapped` has every letter in its other case. A directory is found whatever the casing. A server that
# minds the case is found by itself when all is in lower case, or as the layout and the request have it; a symbol
# store also as 000Admin lists it; and `casing` tells that all is in upper case. Other cases of a server cannot be
# known: then a miss is the right answer, and such cells are counted apart. A wrong file or an error never is.

recase() { # CASING: of the lines of standard input
  case $1 in
  default) cat ;;
  lowercase) tr '[:upper:]' '[:lower:]' ;;
  uppercase) tr '[:lower:]' '[:upper:]' ;;
  swapped) tr '[:upper:][:lower:]' '[:lower:][:upper:]' ;;
  esac
}
folder() { # LAYOUT: where its paths are below a mount
  case $1 in
  symstore_index2) echo symstore2/ ;;
  gdb | perf) echo "$1/.build-id/" ;;
  debuginfod) echo debuginfod/buildid/ ;;
  *) echo "$1/" ;;
  esac
}

# case_put LAYOUT CASING: its files below $WWW/case, and $TMP/case.ways: FILE PATH, by the path as the layout has it.
case_put() {
  awk -F'\t' -v l="$1" '$3 == l && $6 !~ /!/ { print $1 "\t" $4 }' "$TMP/ways" >"$TMP/case.ways"
  cut -f2 "$TMP/case.ways" | recase "$2" | paste "$TMP/case.ways" - >"$TMP/case.stored"
  rm -rf "$WWW/case"
  mkdir -p "$WWW/case/000Admin"
  cut -f3 "$TMP/case.stored" | awk -F/ -v tier="$([ "$1" != symstore_index2 ] || echo 1)" \
    '{ printf "\"%s\\%s\",\"x\"\r\n", $(1 + tier), $(2 + tier) }' >"$WWW/case/000Admin/0000000001"
  echo 1 >"$WWW/case/000Admin/lastid.txt"
  while IFS='	' read -r file _ to; do
    to=$WWW/case/$(below "$1")$to
    mkdir -p "${to%/*}" && ln "$TMP/packed/none/$file" "$to" || fail "$to"
  done <"$TMP/case.stored"
}

# case_ask LAYOUT STORED ASKED KIND: adds a line for each file to $TMP/case.cells: LAYOUT KIND STORED ASKED FILE
# RESULT.
case_ask() {
  cut -f2 "$TMP/case.ways" | recase "$3" | sed "s#^#$(folder "$1")#" | paste "$TMP/case.stored" - >"$TMP/case.asked"
  rm -rf "$TMP/store-case"
  cut -f4 "$TMP/case.asked" | tr '\n' '\0' | xargs -0 "$SYMFS" get --no-default-sources --config "$TMP/case.conf" \
    --cache "$TMP/store-case" >"$TMP/case.got" 2>"$TMP/case.err"
  sed -n 's/^symfs get: \(.*\): not there: .*/\1/p' "$TMP/case.err" >"$TMP/case.missing"
  awk -F'\t' 'FILENAME ~ /missing$/ { gone[$0] = 1; next } !($4 in gone)' "$TMP/case.missing" "$TMP/case.asked" |
    paste - "$TMP/case.got" >"$TMP/case.served"
  while IFS='	' read -r ca_file _ ca_stored ca_asked ca_got; do
    ca_result=false
    [ -n "$ca_got" ] && cmp -s "$FILES/$ca_file" "$ca_got" && ca_result=found
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$4" "$2" "$3" "$ca_file" $ca_result "$ca_stored" "$ca_asked"
  done <"$TMP/case.served" >>"$TMP/case.cells"
  # A name is known when the request has it as the server does, or the server has it in lower case.
  awk -F'\t' -v l="$1" -v kind="$4" -v s="$2" -v a="$3" '
    FILENAME ~ /missing$/ { gone[$0] = 1; next }
    $4 in gone {
      name = $2; sub(/^.*\//, "", name)
      named = index($2, "/") && tolower(substr($2, 1, index($2, "/") - 1)) ~ /[g-z]/
      unknown = kind == "http" && named && (s == "default" || s == "swapped") && s != a
      unknown = unknown || (kind == "http" && s == "swapped")
      # The extension of a source bundle is not in the list.
      if (l ~ /^symstore/ && $2 !~ /\.src\.zip$/) unknown = 0
      print l "\t" kind "\t" s "\t" a "\t" $1 "\t" (unknown ? "unknown" : "false") "\t" $3 "\t" $4
    }' "$TMP/case.missing" "$TMP/case.asked" >>"$TMP/case.cells"
}

: >"$TMP/case.cells"
casings='default lowercase uppercase swapped'
case_turn=0 case_expected=0
for layout in $(cut -f3 "$TMP/ways" | sort -u); do
  for stored in $casings; do
    case_put "$layout" "$stored"
    [ -s "$TMP/case.ways" ] || continue
    for kind in dir http; do
      case $kind in
      dir) where="path = $WWW/case" ;;
      http) where="url = $URL_web/case/" ;;
      esac
      printf '[symfs]\nlookup-deadline = 100s\nsynthesize = no\n[source "case"]\n%s\nlayout = %s\n' "$where" \
        "$layout" >"$TMP/case.conf"
      case $kind-$stored-$layout in
      http-*-symstore*) echo 'has-index = yes' >>"$TMP/case.conf" ;;
      http-uppercase-*) echo 'casing = uppercase' >>"$TMP/case.conf" ;;
      esac
      for asked in $casings; do
        case_turn=$((case_turn + 1))
        # Each pair of casings in some layouts; the next layout has others.
        [ "${SYMFS_MATRIX:-}" = all ] || [ $((case_turn % 2)) = 0 ] || continue
        case_ask "$layout" $stored $asked $kind
        case_expected=$((case_expected + $(wc -l <"$TMP/case.ways")))
      done
      case_turn=$((case_turn + 1))
    done
  done
done
rm -rf "$WWW/case" "$TMP/store-case"
say "casing: cells of a layout, by how it is stored (found/unknown/false)"
awk -F'\t' '
  { n[$1 "\t" $2 "\t" $3, $6]++; rows[$1 "\t" $2 "\t" $3] = 1 }
  END {
    for (r in rows) {
      split(r, w, "\t")
      printf "%-16s %-4s %-9s %d/%d/%d\n", w[1], w[2], w[3], n[r, "found"], n[r, "unknown"], n[r, "false"]
    }
  }' "$TMP/case.cells" | sort
case_false=$(awk -F'\t' '$6 == "false"' "$TMP/case.cells" | wc -l)
case_found=$(awk -F'\t' '$6 == "found"' "$TMP/case.cells" | wc -l)
say "$case_expected cells of casing," \
  "$(wc -l <"$TMP/case.cells") asked: $case_found found, $(awk -F'\t' '$6 == "unknown"' "$TMP/case.cells" |
    wc -l) of names that cannot be known, $case_false false"
[ "$case_false" = 0 ] && [ "$(wc -l <"$TMP/case.cells")" = $case_expected ] && [ "$case_found" -ge 100 ] ||
  fail "casing: $(awk -F'\t' '$6 == "false"' "$TMP/case.cells" | head -n 20) $(cat "$TMP/case.err")"

# ---- it can fail: of one upstream one file is another, and one is not there ---------------------

put_up symstore none default
pdb=$(awk -F'\t' '$2 == "breakpad" || $2 == "portablepdb"' "$TMP/ways" |
  awk -F'\t' '$3 == "symstore" { print $4; exit }')
elf=$(awk -F'\t' '$2 == "elf_debug" && $3 == "symstore" { print $4; exit }' "$TMP/ways")
rm "$WWW/$up/$pdb"
rm "$WWW/$up/$elf" && head -c 100 "$FILES/Prog" >"$WWW/$up/$elf"
ask_it symstore 0 default
[ "$bad" = 2 ] || fail "of two bad cells $bad were seen: $(cat "$TMP/read-a" "$TMP/read-b")"

# ---- all of them -------------------------------------------------------------------------------

turn=0
nth=0
for layout in $(cut -f3 "$TMP/ways" | sort -u); do
  ways=$(awk -F'\t' -v l="$layout" '$3 == l' "$TMP/ways" | wc -l)
  nth=$((nth + 1)) skipping=$nth
  for packing in $PACKINGS; do
    if [ "${SYMFS_MATRIX:-}" != all ] && [ $packing != none ]; then
      # Every third, and in the next layout others.
      skipping=$(((skipping + 1) % 3))
      [ $skipping = 0 ] || continue
    fi
    casings='default lowercase uppercase'
    if [ "${SYMFS_MATRIX:-}" != all ]; then
      # shellcheck disable=SC2086
      set -- $casings
      shift $(((turn + nth) % 3))
      casings=$1
    fi
    for casing in $casings; do
      expected=$((expected + ways))
      one_upstream "$layout" "$packing" "$casing" $turn
      turn=$((turn + 1))
    done
  done
done
say "files: $(wc -l <"$TMP/list"), of $(cut -f2 "$TMP/list" | sort -u |
  wc -l) types; layouts: $(cut -f3 "$TMP/ways" | sort -u | wc -l); packings: $PACKINGS; upstreams: $turn"
say "$expected cells expected, $cells read: $cold cold in two other layouts, $taught so when another file taught," \
  "$half cold in one and stored in another, $own in its own and stored in two others; $failures failures"
[ $failures = 0 ] && [ $cells = $expected ] && [ $cells -ge 100 ] || fail "$(head -n 20 "$TMP/failures")"
