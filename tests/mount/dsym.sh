#!/bin/sh
# symfs dsym answers as dsymForUUID does: property lists that a strict reader accepts, with paths that lldb can use;
# from sources, from the store and in a mount, for UUIDs, Mach-O files and bundles.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need cmp python3
MACHO=$TMP/macs
macs_make "$MACHO"
UUIDS=$(first_of llvm-dwarfdump) || skip "llvm-dwarfdump is not installed"
plist() { python3 "$top_srcdir/tests/helpers/plist.py" "$@"; }

# The reader itself can fail.
printf '%s\n' '<?xml version="1.0" encoding="UTF-8"?>' \
  '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">' \
  >"$TMP/head"
for broken in '<plist version="1.0"><dict><key>a</key></dict></plist>' '<plist version="1.0"><dict/><dict/></plist>' \
  '<plist version="1.0"><dict><key>a</key><string>b</string><key>a</key><string>b</string></dict></plist>' \
  '<plist version="1.0"><dict><string>b</string></dict></plist>' '<plist><dict/></plist>' \
  '<plist version="1.0"><dict>'; do
  (cat "$TMP/head" && echo "$broken") >"$TMP/broken"
  plist "$TMP/broken" >"$TMP/out" 2>"$TMP/err" && fail "the reader accepts $broken"
done

# dsym STATUS WORD...: runs the command, and reads its list.
dsym() {
  d_want=$1
  shift
  "$SYMFS" dsym "$@" >"$TMP/plist" 2>"$TMP/err"
  d_rc=$?
  [ $d_rc = "$d_want" ] || fail "dsym $* ends with $d_rc: $(cat "$TMP/err")"
  plist "$TMP/plist" >"$TMP/list" 2>"$TMP/err" || fail "dsym $*: $(cat "$TMP/err"): $(cat "$TMP/plist")"
}
value() { awk -F '\t' -v u="$1" -v k="$2" '$1 == u && $2 == k { print $3 }' "$TMP/list"; } # UUID KEY

U=$("$UUIDS" --uuid "$MACHO/m.x86_64" | sed -n 's/^UUID: \([0-9A-F-]*\) .*/\1/p')
A=$("$UUIDS" --uuid "$MACHO/m.arm64" | sed -n 's/^UUID: \([0-9A-F-]*\) .*/\1/p')
[ ${#U} = 36 ] && [ ${#A} = 36 ] || fail "uuids: $U $A"
OTHER=${U%??????}ABCDEF
mkdir "$TMP/far"
cp -r "$MACHO/m.x86_64.dSYM" "$MACHO/m.arm64.dSYM" "$TMP/far"
cp "$MACHO/m.x86_64.stripped" "$TMP/far/m.x86_64" # a program with symbols could stand in for its dSYM
DWARF=Contents/Resources/DWARF
with="--no-default-sources --cache $TMP/store --source scan@$TMP/far"

# ---- from a source, as LLDB calls it ------------------------------------------------------------------
for id in "$U" "$(echo "$U" | tr '[:upper:]' '[:lower:]')" "$(echo "$U" | tr -d -)"; do
  # shellcheck disable=SC2086
  dsym 0 $with --ignoreNegativeCache --copyExecutable "$id"
  [ "$(cut -f 1 "$TMP/list" | sort -u)" = "$U" ] || fail "$id: keys: $(cat "$TMP/list")"
  [ "$(value "$U" DBGArchitecture)" = x86_64 ] || fail "$id: $(cat "$TMP/list")"
  [ -z "$(value "$U" DBGError)" ] || fail "$id: $(cat "$TMP/list")"
done
debug=$(value "$U" DBGDSYMPath) program=$(value "$U" DBGSymbolRichExecutable)
same_file "$debug" "$MACHO/m.x86_64.dSYM/$DWARF/m.x86_64"
same_file "$program" "$TMP/far/m.x86_64"
case $debug in "$TMP/store-dsym/$U/"*.dSYM/Contents/Resources/DWARF/*) ;; *) fail \
  "the path of the dSYM: $debug" ;; esac
case $program in "$TMP/store-dsym/$U/"*) ;; *) fail "the path of the program: $program" ;; esac
plist "${debug%/Resources/*}/Info.plist" >"$TMP/info" || fail "Info.plist"
grep -qx 'CFBundlePackageType	dSYM' "$TMP/info" || fail "Info.plist: $(cat "$TMP/info")"
[ -z "$(find "$TMP/store-dsym" -name '*.??????' -type f)" ] || fail "temporary files: $(find "$TMP/store-dsym")"

# A store that is named from the working directory.
dsym 0 --no-default-sources --cache "$(realpath --relative-to=. "$TMP/store")" --source "scan@$TMP/far" "$U"
[ "$(value "$U" DBGDSYMPath) $(value "$U" DBGSymbolRichExecutable)" = "$debug $program" ] ||
  fail "a relative --cache: $(cat "$TMP/list")"

# Several, of which one is missing: the list has them all, and the status says it.
# shellcheck disable=SC2086
dsym 1 $with --into "$TMP/into & more" "$U" "$OTHER" "$A" "$U" no-such-word
[ "$(cut -f 1 "$TMP/list" | uniq)" = "$(printf '%s\n' "$U" "$OTHER" "$A" no-such-word)" ] ||
  fail "keys: $(cat "$TMP/list")"
same_file "$(value "$A" DBGDSYMPath)" "$MACHO/m.arm64.dSYM/$DWARF/m.arm64"
[ "$(value "$A" DBGArchitecture)" = arm64 ] || fail "$(cat "$TMP/list")"
case $(value "$A" DBGDSYMPath) in "$TMP/into & more/"*) ;; *) fail "--into: $(cat "$TMP/list")" ;; esac
value "$OTHER" DBGError | grep -q "^no source has the dSYM" || fail "missing: $(cat "$TMP/list")"
[ -z "$(value "$OTHER" DBGDSYMPath)$(value "$OTHER" DBGSymbolRichExecutable)" ] || fail "missing: $(cat "$TMP/list")"
[ -n "$(value no-such-word DBGError)" ] || fail "a word: $(cat "$TMP/list")"

# A program alone: its path, and why there is no dSYM.
mkdir "$TMP/programs" && cp "$MACHO/m.x86_64.stripped" "$TMP/programs"
dsym 1 --no-default-sources --cache "$TMP/store2" --source "scan@$TMP/programs" "$U"
same_file "$(value "$U" DBGSymbolRichExecutable)" "$MACHO/m.x86_64.stripped"
[ -n "$(value "$U" DBGError)" ] && [ -z "$(value "$U" DBGDSYMPath)" ] || fail "a program alone: $(cat "$TMP/list")"

# ---- files, bundles and fat files: our own, and all fixtures
# ---------------------------------------------------------
fixtures=0 parts=0
shared=$top_srcdir/../shared/fixtures
[ -d "$shared" ] || part_skipped "no ../shared/fixtures: bundles of Apple's tools"
find "$MACHO" "$shared/built/macho" "$shared/symbolic" -name '*.dSYM' -type d >"$TMP/bundles" 2>"$TMP/find.err"
echo "$MACHO/m.fat" >>"$TMP/bundles"
while read -r bundle; do
  if [ -d "$bundle" ]; then
    file=$(find "$bundle/$DWARF" -type f 2>/dev/null | head -n 1)
  else
    file=$bundle
  fi
  [ -n "$file" ] && "$UUIDS" --uuid "$file" 2>/dev/null | grep '^UUID' >"$TMP/want" || continue
  fixtures=$((fixtures + 1))
  "$SYMFS" dsym --no-default-sources --cache "$TMP/store" --source "scan@$(dirname "$file")" --into "$TMP/all" \
    "$bundle" \
    >"$TMP/plist" 2>"$TMP/err"
  plist "$TMP/plist" >"$TMP/list" || fail "$bundle: $(cat "$TMP/plist")"
  while read -r _ uuid arch _; do
    parts=$((parts + 1))
    [ "$(value "$uuid" DBGArchitecture)" = "$(echo "$arch" | tr -d '()')" ] ||
      fail "$bundle $uuid: $(cat "$TMP/list" "$TMP/err")"
    [ "$bundle" = "$MACHO/m.fat" ] || [ -f "$(value "$uuid" DBGDSYMPath)" ] ||
      fail "$bundle $uuid: $(cat "$TMP/list" "$TMP/err")"
  done <"$TMP/want"
done <"$TMP/bundles"
[ $fixtures -ge 4 ] || fail "only $fixtures fixtures"
say "$fixtures bundles with $parts UUIDs"

# ---- remembered misses -----------------------------------------------------------------------------------
mkdir -p "$TMP/late/lldb" && upstream_start up --root "$TMP/late"
with="--no-default-sources --cache $TMP/store3 --source lldb@$URL_up"
place=$(printf '%s' "$U" | tr -d - | sed 's,^\(....\)\(....\)\(....\)\(....\)\(....\),\1/\2/\3/\4/\5/,')
# shellcheck disable=SC2086
dsym 1 $with "$U"
mkdir -p "$TMP/late/$(dirname "$place")" && cp "$MACHO/m.x86_64.dSYM/$DWARF/m.x86_64" "$TMP/late/$place"
# shellcheck disable=SC2086
dsym 1 $with "$U"
# shellcheck disable=SC2086
dsym 0 $with --ignoreNegativeCache "$U"
[ -z "$(value "$U" DBGSymbolRichExecutable)" ] || fail "a program from nowhere: $(cat "$TMP/list")"
# A source that cannot be asked is another answer than one that does not have the file.
dsym 3 --no-default-sources --cache "$TMP/store4" --source "lldb@http://127.0.0.1:$(free_port)" "$U"
[ -n "$(value "$U" DBGError)" ] || fail "unreachable: $(cat "$TMP/list")"

# ---- usage -----------------------------------------------------------------------------------------------
for words in "" "--into $TMP/x --mount $TMP/y $U"; do
  # shellcheck disable=SC2086
  "$SYMFS" dsym $words >"$TMP/out" 2>"$TMP/err"
  [ $? = 2 ] && [ ! -s "$TMP/out" ] || fail "dsym $words: $(cat "$TMP/out" "$TMP/err")"
done

# ---- lldb takes the paths ---------------------------------------------------------------------------------
# lldb asks dsymForUUID on Apple's systems only. Here it gets the paths of the list as it would have found them.
if LLDB=$(first_of lldb) && [ -f "$debug" ]; then
  "$LLDB" -b -o "target create --arch x86_64 $program" -o "target symbols add $debug" -o 'image lookup -n main -v' \
    >"$TMP/lldb" 2>&1
  grep -q 'm\.c:[0-9]' "$TMP/lldb" || fail "lldb: $(cat "$TMP/lldb")"
else
  say "no lldb"
fi

# ---- in a mount: nothing is copied, and the dSYM is fetched when it is read -------------------------------
need_mount
cp "$TMP/far/m.x86_64" "$TMP/late/$place.app"
symfs_mount m --source "lldb@$URL_up"
M=$MNT_m
dsym 0 --mount "$M" "$U"
case $(value "$U" DBGDSYMPath) in "$M/dsym/$U/"*) ;; *) fail "--mount: $(cat "$TMP/list")" ;; esac
[ "$(value "$U" DBGArchitecture)" = x86_64 ] || fail "--mount: $(cat "$TMP/list")"
same_file "$(value "$U" DBGDSYMPath)" "$debug"
same_file "$(value "$U" DBGSymbolRichExecutable)" "$program"
dsym 1 --mount "$M" "$OTHER" "$U"
value "$OTHER" DBGError | grep -q "^no source has the dSYM" || fail "--mount, missing: $(cat "$TMP/list")"
symfs_umount m
