#!/bin/sh
# Files from `symfs add -r` exist, byte for byte, at each of their paths in each layout: at the
# paths that `symfs paths` prints, and, where the shared table is present, at those of another tool.
# All letter cases of a path are one inode. Files that would have the same path get a store each.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gcc objcopy strip readelf sha256sum awk
SAME=$top_builddir/tests/helpers/same-paths
SEED=${SYMFS_TEST_SEED:-20}
SPELLINGS=20
SHARED=$top_srcdir/../shared
TABLE=$SHARED/vectors/fixture_store_paths.tsv

# ---- files of our own ------------------------------------------------------------------------------
OWN=$TMP/own
make_program "$OWN" foo
rm -r "$OWN/src"
mkdir "$OWN/text" "$TMP/w"
printf '%s\n' 'MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 Foo Bar.so' \
  'INFO CODE_ID 67452301AB89EFCD0123456789ABCDEF01020304' 'PUBLIC 10 0 a' >"$OWN/text/a.sym"
printf '%s\n' 'MODULE windows x86 FEDCBA9876543210FEDCBA98765432101 Foo.pdb' 'INFO CODE_ID 5AB380779000 Foo.exe' \
  'FUNC 10 4 0 f' '10 4 1 1' >"$OWN/text/b.sym"
# A module with one type and one function, and its build id.
printf '\000asm\001\000\000\000\001\004\001\140\000\000\003\002\001\000%b%s' \
  '\012\004\001\002\000\013\000\032\010build_id\020' ABCDEFGHIJKLMNOP >"$OWN/text/m.wasm"
echo 'int start(void) { return 0; }' >"$TMP/w/s.c"
if CLANG=$(first_of clang) && LINK=$(first_of lld-link); then
  (cd "$TMP/w" && "$CLANG" -target x86_64-pc-windows-msvc -g -gcodeview -c s.c -o s.obj &&
    "$LINK" /nologo /debug /pdb:s.pdb /Brepro /nodefaultlib /entry:start /subsystem:console /out:s.exe s.obj) \
    >"$TMP/link.out" 2>&1 && mkdir "$OWN/windows" && mv "$TMP/w/s.exe" "$OWN/windows/Start.exe" &&
    mv "$TMP/w/s.pdb" "$OWN/windows/"
fi
if [ -n "$CLANG" ] && LINK=$(first_of ld64.lld) && DSYMUTIL=$(first_of dsymutil); then
  (cd "$TMP/w" && "$CLANG" -target x86_64-apple-macos11 -g -c s.c -o m.o &&
    "$LINK" -arch x86_64 -platform_version macos 11.0 11.0 -e _start -undefined dynamic_lookup -o Demo m.o &&
    "$DSYMUTIL" Demo) >"$TMP/link.out" 2>&1 && mv "$TMP/w/Demo.dSYM" "$TMP/w/Demo" "$OWN/"
fi
set -- "$OWN"
if [ -r "$TABLE" ]; then
  need zstd
  set -- "$@" "$SHARED/fixtures/symbolic" "$SHARED/fixtures/synthetic"
  # One fixture is packed, and its rows are of what is in it.
  for packed in $(cd "$SHARED/fixtures/symbolic" && find . -name '*.zst'); do
    mkdir -p "$TMP/unpacked"
    name=$(basename "$packed" .zst)
    zstd -dqf -o "$TMP/unpacked/$name" "$SHARED/fixtures/symbolic/$packed" || fail zstd
    printf '%s\t%s\n' "symbolic/${packed#./}" "$TMP/unpacked/$name"
  done >"$TMP/packed"
  [ ! -d "$TMP/unpacked" ] || set -- "$@" "$TMP/unpacked"
else
  part_skipped "no ../shared/fixtures: files of other compilers, and the paths of another tool"
fi

# ---- what they are, and where they must be -----------------------------------------------------------
# The files as `symfs add -r` meets them: the one that is worth most has a key, of equal ones the first.
for dir; do find "$dir" -type f | tr / '\001' | LC_ALL=C sort | tr '\001' /; done >"$TMP/files"
xargs -d '\n' sha256sum <"$TMP/files" | sed 's/^\\//; s/^\([0-9a-f]*\)  /\1\t/' >"$TMP/hashes"
xargs -d '\n' "$SYMFS" id <"$TMP/files" >"$TMP/ids" 2>/dev/null

# FILE SLICE HASH TYPE ID KEY RANK: what each file answers to, and how much it is worth for that. A PE file also has a
# key by its debug id, and what goes by the debug id of an ELF file one by that which follows from its build id.
awk -F '\t' -v OFS='\t' '
  function pairs(text, from, to) { # of digits, the last one first
    for (pairs_of = ""; to > from; to -= 2) pairs_of = pairs_of substr(text, to - 1, 2)
    return pairs_of
  }
  function follows(code) {
    code = substr(code "00000000000000000000000000000000", 1, 32)
    return pairs(code, 1, 8) pairs(code, 9, 12) pairs(code, 13, 16) substr(code, 17) "0"
  }
  # Of debug files debug information counts first, of programs unwind information.
  function rank(type,    r) {
    if (worth == "unknown") return 127
    r = worth ~ /debug information/ ? 32 : worth ~ /line tables/ ? 16 : 0
    r += worth ~ /all symbols/ ? 12 : worth ~ /dynamic symbols/ ? 8 : worth ~ /exported symbols/ ? 4 : 0
    if (worth ~ /unwind/) r += type ~ /^(elf_code|mach_code|pe|wasm_code)$/ ? 66 : 2
    return r + (worth ~ /sources/ ? 1 : 0)
  }
  FNR == NR { hash[$2] = $1; next }
  /^[^ ]/ {
    worth = "unknown"
    match($0, /: [a-z]+ [a-z]+, [^:]*$/)
    file = substr($0, 1, RSTART - 1)
    slice = 0
    if (match(file, / \(slice [0-9]+\)$/)) {
      slice = substr(file, RSTART + 8, RLENGTH - 9)
      file = substr(file, 1, RSTART - 1)
    }
    code = debug = ""
    next
  }
  { n = split($0, w, / +/) }
  w[2] == "worth" { worth = $0 }
  w[2] == "code" { code = tolower(w[4]) }
  w[2] == "breakpad" { debug = tolower(w[4]) }
  w[2] == "serves" {
    key = tolower(w[3] " " w[4])
    # The name counts where an id could be that of several files.
    for (i = 5; w[3] == "pe" && i <= n; i++) key = key " " tolower(w[i])
    print file, slice, hash[file], w[3], tolower(w[4]), key, rank(w[3])
    if (w[3] == "breakpad" && code != "" && code "0" != debug)
      print file, slice, hash[file], "breakpad-code", code, w[3] " " follows(code), rank(w[3])
    if (w[3] == "pe" && debug != "") print file, slice, hash[file], "pe-debug", debug, "pe-debug " debug, rank("pe")
  }' "$TMP/hashes" "$TMP/ids" >"$TMP/keys"
[ -s "$TMP/keys" ] || fail "symfs id tells nothing: $(head "$TMP/ids")"

# FROM FILE SLICE LAYOUT TYPE PATH. In the lines of symfs, the slice is the one with the UUID in the path.
cut -f1 "$TMP/keys" | uniq | while IFS= read -r file; do
  "$SYMFS" paths "$file" | awk -F '\t' -v OFS='\t' -v file="$file" '{ print "own", file, "?", $1, $2, $3 }'
done >"$TMP/wanted"
if [ -r "$TABLE" ]; then
  awk -F '\t' -v OFS='\t' -v top="$SHARED/fixtures" '
    FILENAME ~ /packed$/ { at[$1] = $2; next }
    FILENAME ~ /differences/ { if (!/^#/) differs[$1 FS $2] = 1; next }
    FNR > 1 {
      rows++
      name = $1 "/" $2
      if ($2 FS $5 in differs) listed++
      else print "row", (name in at) ? at[name] : top "/" name, $3, $4, $5, $6
    }
    END { print "listed", listed + 0 >"/dev/stderr" }' "$TMP/packed" \
    "$top_srcdir/tests/unit/store-path-differences.tsv" "$TABLE" >>"$TMP/wanted" 2>"$TMP/listed"
fi

# GROUP FROM FILE SLICE KEY OTHER PATH: with the path below the mount. OTHER is the key that the same
# path answers before this one. Compressed spellings are no files of a mount.
awk -F '\t' -v OFS='\t' '
  function below(layout, path) {
    if (layout == "gdb" || layout == "perf") return layout "/.build-id/" path
    if (layout == "debuginfod") return layout "/buildid/" path
    if (layout == "symstore_index2") return "symstore2/" path
    return layout "/" path
  }
  FNR == NR {
    key[$1, $2, $4] = $6
    id[$1, $2, $4] = $5
    if ($2 > last[$1]) last[$1] = $2
    next
  }
  $4 == "slashsymbols" && $5 !~ /^(elf_|mach_|wasm_|pe$)/ { next } # only servers are asked for these
  {
    slice = $3
    if (slice == "?") {
      plain = tolower($6)
      gsub(/[-\/]/, "", plain)
      slice = last[$2] + 0
      while (slice > 0 && !((($2, slice, $5) in id) && index(plain, id[$2, slice, $5]))) slice--
    }
    type = $4 == "unified" && $5 == "pe" ? "pe-debug" : $5
    if ($4 == "unified" && type == "breakpad") {
      plain = tolower($6)
      gsub(/\//, "", plain)
      if (plain == id[$2, slice, "breakpad-code"] "breakpad") type = "breakpad-code"
    }
    other = type
    if ($4 == "slashsymbols" && sub(/_code$/, "_debug", other)) other = other " " id[$2, slice, type]
    else other = "-"
    group = key[$2, slice, type]
    if (group == "") { print "no key of " $0 >"/dev/stderr"; group = "?" }
    if ($6 ~ /_$/ && (type ~ /^pe/ || type == "pdb")) group = "!"
    print group, $1, $2, slice, key[$2, slice, type], other, below($4, $6)
  }' "$TMP/keys" "$TMP/wanted" 2>"$TMP/keyless" | sort >"$TMP/all"
[ -s "$TMP/keyless" ] && fail "$(head -n 5 "$TMP/keyless")"

# ---- a helper that sees nothing would be no test --------------------------------------------------------
symfs_mount m --cache "$TMP/store-1"
"$SYMFS" add -r --cache "$TMP/store-1" "$@" >"$TMP/add.out" 2>&1
[ $? = 0 ] || fail "add: $(grep -v 'not placed' "$TMP/add.out")"
say "add -r: $(tail -n 1 "$TMP/add.out")"
id=$(build_id "$OWN/bin/foo")
{
  printf -- '-\t%s\t0\tdebuginfod/buildid/%s/executable\n' "$OWN/full/libfoo.so" "$id"
  printf -- '-\t%s\t0\tdebuginfod/buildid/%s/executable\n' "$OWN/bin/foo" "${id%????}0000"
  printf -- '!\t-\t0\tdebuginfod/buildid/%s/debuginfo\n' "$id"
  printf 'g\t%s\t0\tdebuginfod/buildid/%s/executable\n' "$OWN/full/foo" "$id"
  printf 'g\t%s\t0\tdebuginfod/buildid/%s/debuginfo\n' "$OWN/full/foo" "$id"
} | "$SAME" "$MNT_m" 0 1 >"$TMP/out" && fail "the helper finds nothing wrong"
grep -q 'wrong 4$' "$TMP/out" || fail "the helper does not see what is wrong: $(cat "$TMP/out")"

# ---- all of them --------------------------------------------------------------------------------------
# Round by round: what other files stand in the place of waits for a later store, of files that have no
# id in common.
cp "$TMP/files" "$TMP/now"
round=1
: >"$TMP/done"
while :; do
  awk -F '\t' -v OFS='\t' -v now="$TMP/now" -v later="$TMP/later" '
    BEGIN { while ((getline f <now) > 0) here[f] = ++n }
    FILENAME ~ /keys$/ {
      hash[$1] = $3
      if ($1 in here && (!($6 in at) || $7 + 0 > worth[$6] || ($7 + 0 == worth[$6] && here[$1] < at[$6]))) {
        at[$6] = here[$1]
        owner[$6] = $3
        worth[$6] = $7 + 0
      }
      next
    }
    $3 in here && owner[$5] == hash[$3] && (!($6 in owner) || owner[$6] == hash[$3]) {
      if ($1 != "!" && $6 in owner) $1 = $6
      print
      next
    }
    { print >later }' "$TMP/keys" "$TMP/all" >"$TMP/round"
  [ -s "$TMP/round" ] || fail "no store for $(head -n 3 "$TMP/all")"
  cut -f1,3,4,7 "$TMP/round" | sort -u | "$SAME" "$MNT_m" $SPELLINGS $((SEED + round)) >"$TMP/out" ||
    fail "round $round, seed $SEED: $(tail -n 30 "$TMP/out")"
  say "round $round: $(wc -l <"$TMP/now") files, $(cat "$TMP/out")"
  cat "$TMP/round" >>"$TMP/done"
  [ "$(stat_of "$MNT_m" requests)" = 0 ] || fail "a server was asked"
  symfs_umount m
  [ -s "$TMP/later" ] || break
  mv "$TMP/later" "$TMP/all"
  cut -f3 "$TMP/all" >"$TMP/waiting"
  awk -F '\t' '
    FILENAME ~ /waiting$/ { want[$0] = 1; next }
    FILENAME ~ /keys$/ { hash[$1] = $3; claims[$1] = claims[$1] FS $5 FS $6; next }
    $0 in want {
      n = split(substr(claims[$0], 2), c, FS)
      for (i = 1; i <= n && (!(c[i] in owner) || owner[c[i]] == hash[$0]); i++) ;
      if (i <= n) next
      for (i = 1; i <= n; i++) owner[c[i]] = hash[$0]
      print
    }' "$TMP/waiting" "$TMP/keys" "$TMP/files" >"$TMP/now"
  rm -rf "$TMP/store-$round"
  round=$((round + 1))
  symfs_mount m --cache "$TMP/store-$round"
  xargs -d '\n' "$SYMFS" add --cache "$TMP/store-$round" <"$TMP/now" >"$TMP/add.out" 2>&1 ||
    fail "add: $(cat "$TMP/add.out")"
done

count() { awk -F '\t' -v from="$1" -v none="$2" '$2 == from && ($1 == "!") == none' "$TMP/done" | wc -l; }
say "paths of ours: $(count own 0) the same, $(count own 1) compressed spellings not there; $SPELLINGS spellings each"
if [ -r "$TABLE" ]; then
  rows=$(count row 0) none=$(count row 1) listed=$(sed -n 's/^listed[[:space:]]*//p' "$TMP/listed")
  all=$(($(wc -l <"$TABLE") - 1))
  say "rows of the table: $all, of them $rows the same, $none compressed spellings not there, $listed listed" \
    "differences"
  [ $((rows + none + listed)) = "$all" ] || fail "not all rows were looked at"
fi
