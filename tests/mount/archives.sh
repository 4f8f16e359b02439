#!/bin/sh
# symfs add takes archives apart: .zip, .nupkg, .snupkg, archives in archives, and .xcarchive
# bundles. Their members are served byte for byte, and each line of output names archive and member.
# Hostile archives cost no more than the bounds allow.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf strip

ZIP=$top_builddir/tests/helpers/zip-write
DATA=$top_srcdir/tests/data/broken
zip_write() { "$ZIP" "$@" || fail "zip-write $*"; }
add() { "$SYMFS" add --cache "$TMP/store" "$@" 2>"$TMP/add.log"; }
# last_is TEXT OUT: the last line of what add said.
last_is() { [ "$(printf '%s\n' "$2" | tail -n 1)" = "$1" ] || fail "last line: $2"; }
says() { printf '%s\n' "$2" | grep -qF -- "$1" || fail "not said: $1; but: $2"; }
nothing_else() {
  [ -z "$(find "$TMP/store/partial" -type f 2>/dev/null)" ] || fail "drafts stay behind: $(ls "$TMP/store/partial")"
}

make_program "$TMP/p" foo
id=$(build_id "$TMP/p/full/foo")
lib=$(build_id "$TMP/p/full/libfoo.so")

# ---- honest ones -----------------------------------------------------------------------
printf 'no symbols\n' >"$TMP/words"
printf 'BCSymbolMap Version: 2.0\n_a\n_b\n' >"$TMP/map"
printf \
  '<?xml version="1.0"?>\n<plist version="1.0"><dict><key>DBGOriginalUUID</key><string>%s</string></dict></plist>\n' \
  C8374B6D-6E96-34D8-AE38-EFAA5FEC424F >"$TMP/plist"
zip_write "$TMP/one.zip" lib/ - bin/foo "$TMP/p/bin/foo" -0 lib/.debug/foo.debug "$TMP/p/debug/foo.debug" \
  -w -d 'win\libfoo.so' "$TMP/p/full/libfoo.so" README "$TMP/words" -l lib/link "$TMP/words" \
  pdb/crash.sym "$DATA/breakpad/good"
symfs_mount m --cache "$TMP/store"
out=$(add "$TMP/one.zip") || fail "add ends with $?: $out"
last_is "added 4, present 0, not placed 1" "$out"
says "$TMP/one.zip!README: not placed: of no format" "$out"
says "elf: added 3, present 0" "$out"
says "breakpad: added 1, present 0" "$out"
debug=$MNT_m/gdb/$(gdb_path "$id" .debug)
wait_for test -e "$debug" || fail "the debug file does not show up"
same_file "$TMP/p/debug/foo.debug" "$debug"
same_file "$TMP/p/bin/foo" "$MNT_m/debuginfod/buildid/$id/executable"
same_file "$TMP/p/full/libfoo.so" "$MNT_m/gdb/$(gdb_path "$lib" .debug)"
# The name is the member's last component, by either kind of slash.
same_file "$TMP/p/full/libfoo.so" "$MNT_m/symstore/libfoo.so/elf-buildid-$lib/libfoo.so"
out=$(add "$TMP/one.zip") || fail "again: $out"
last_is "added 0, present 4, not placed 1" "$out"
nothing_else

# An archive of nothing that has a place is a failure when it was named, and none in a tree.
zip_write "$TMP/none.zip" README "$TMP/words"
out=$(add "$TMP/none.zip")
[ $? = 1 ] || fail "an archive of nothing does not end with 1: $out"
says "$TMP/none.zip: not placed: an archive without a file that can be placed" "$out"

# Packages, with what the project's own fixtures have; a source bundle is an archive that stays whole.
zip_write "$TMP/a.1.0.snupkg" lib/net8.0/a.pdb "$DATA/ppdb/good" a.nuspec "$TMP/words"
zip_write "$TMP/a.1.0.nupkg" lib/net8.0/a.dll "$DATA/pe/good" a.pdb "$DATA/pdb/good" '[Content_Types].xml' \
  "$TMP/words"
zip_write "$TMP/all.zip" -0 packages/a.1.0.nupkg "$TMP/a.1.0.nupkg" packages/A.1.0.SNUPKG "$TMP/a.1.0.snupkg" \
  src/x.src.zip "$DATA/sourcebundle/good" lib/x.jar "$TMP/none.zip"
out=$(add "$TMP/all.zip") || fail "packages: $out"
says "portablepdb: added 1" "$out"
says "pdb: added 1" "$out"
says "pe: added 1" "$out"
says "sourcebundle: added 1" "$out"
says "$TMP/all.zip!packages/a.1.0.nupkg![Content_Types].xml: not placed: of no format" "$out"
says "$TMP/all.zip!lib/x.jar: not placed: a zip archive not named .zip, .nupkg or .snupkg" "$out"
last_is "added 4, present 0, not placed 3" "$out"
grep -rqF "$TMP/all.zip!packages/a.1.0.nupkg!lib/net8.0/a.dll" "$TMP/store/blobs" ||
  fail "the store does not record where a.dll came from"
# One more level is not gone into.
zip_write "$TMP/more.zip" all.zip "$TMP/all.zip"
out=$(add "$TMP/more.zip")
says "$TMP/more.zip!all.zip!packages/a.1.0.nupkg: not placed: an archive in an archive in an archive" "$out"

# A tree, and a bundle of a tree, without -r.
x=$TMP/App.xcarchive
mkdir -p "$x/BCSymbolMaps" "$x/dSYMs/App.app.dSYM/Contents/Resources/DWARF" "$x/Products/Applications/App.app"
cp "$TMP/map" "$x/BCSymbolMaps/2D10C42F-591D-3265-B147-78BA0868073F.bcsymbolmap"
cp "$TMP/plist" "$x/dSYMs/App.app.dSYM/Contents/Resources/2d10c42f591d3265b14778ba0868073f.plist"
cp "$TMP/map" "$x/BCSymbolMaps/unnamed.bcsymbolmap"
cp "$DATA/macho/good-64" "$x/dSYMs/App.app.dSYM/Contents/Resources/DWARF/App"
out=$(add "$x/") || fail "xcarchive: $out"
says "bcsymbolmap: added 1" "$out"
says "uuidmap: added 1" "$out"
says "macho: added 1" "$out"
says "unnamed.bcsymbolmap: not placed: bcsymbolmap without an identifier" "$out"
last_is "added 3, present 0, not placed 1" "$out"
same_file "$TMP/map" "$MNT_m/unified/2d/10c42f591d3265b14778ba0868073f/bcsymbolmap"
same_file "$TMP/plist" "$MNT_m/unified/2d/10c42f591d3265b14778ba0868073f/uuidmap"
mkdir "$TMP/tree"
cp "$TMP/one.zip" "$TMP/tree/One.ZIP"
cp "$TMP/none.zip" "$TMP/tree/x.docx"
out=$(add -r "$TMP/tree") || fail "tree: $out"
says "x.docx: not placed: a zip archive not named .zip, .nupkg or .snupkg" "$out"
last_is "added 0, present 4, not placed 2" "$out"
# The name need not say so when it was named itself.
cp "$TMP/one.zip" "$TMP/build.out"
out=$(add "$TMP/build.out") || fail "by its bytes: $out"
last_is "added 0, present 4, not placed 1" "$out"
# A file that is packed by itself, under its own name and in an archive; a symbol store's `.pd_` gets the
# last letter of its name from the directory.
new_store() {
  rm -rf "$TMP/store"
  mkdir -p "$TMP/pk/good.pdB/ID"
}
new_store
gzip -c "$TMP/p/bin/foo" >"$TMP/pk/foo.gz"
gzip -c "$TMP/words" >"$TMP/pk/words.gz"
out=$(add "$TMP/pk/foo.gz") || fail "foo.gz: $out"
last_is "added 1, present 0, not placed 0" "$out"
[ "$("$SYMFS" cache ls --cache "$TMP/store" | grep -c "$id")" = 1 ] || fail "foo.gz is not stored by its build id"
same_file "$TMP/p/bin/foo" \
  "$("$SYMFS" get --cache "$TMP/store" --no-default-sources "debuginfod/buildid/$id/executable")"
head -c 1000 "$TMP/pk/foo.gz" >"$TMP/pk/cut.gz"
zip_write "$TMP/pk/p.zip" a/libfoo.so.gz "$TMP/pk/foo.gz" w.gz "$TMP/pk/words.gz"
out=$(add -r "$TMP/pk") || fail "packed files of a tree: $out"
says "$TMP/pk/words.gz: not placed: gzip: of no format" "$out"
says "$TMP/pk/cut.gz: not placed: is gzip, cut short" "$out"
says "$TMP/pk/p.zip!w.gz: not placed: gzip: of no format" "$out"
last_is "added 0, present 2, not placed 3" "$out"
if command -v zstd >/dev/null; then
  zstd -q "$TMP/p/debug/foo.debug" -o "$TMP/pk/foo.debug.zst"
  out=$(add "$TMP/pk/foo.debug.zst") || fail "foo.debug.zst: $out"
  last_is "added 1, present 0, not placed 0" "$out"
fi
if command -v gcab >/dev/null; then
  cp "$DATA/pdb/good" "$TMP/pk/good.pdb"
  gcab -c -z "$TMP/pk/good.pdB/ID/good.pd_" "$TMP/pk/good.pdb" >/dev/null
  out=$(add "$TMP/pk/good.pdB/ID/good.pd_") || fail "good.pd_: $out"
  last_is "added 1, present 0, not placed 0" "$out"
  "$SYMFS" cache ls --cache "$TMP/store" | grep -q 'good.pdB' || fail "a .pd_ is not called by its directory"
fi
head -c 400000000 /dev/zero | cat "$TMP/p/bin/foo" - | gzip -1 >"$TMP/pk/bomb.gz"
out=$(add "$TMP/pk/bomb.gz")
[ $? = 1 ] || fail "a bomb: $out"
says "bomb.gz: not placed: is gzip" "$out"
nothing_else
"$SYMFS" cache verify --cache "$TMP/store" || fail verify
symfs_umount m

# ---- hostile ones ----------------------------------------------------------------------
# Each into a store of its own: nothing may be anywhere but there.
hostile() {
  rm -rf "$TMP/store" "$TMP/cwd"
  mkdir "$TMP/cwd"
  out=$(cd "$TMP/cwd" && "$SYMFS" add --cache "$TMP/store" "$@" 2>"$TMP/add.log")
  rc=$?
  [ $rc = 0 ] || [ $rc = 1 ] || fail "$* ends with $rc: $out $(cat "$TMP/add.log")"
  [ -z "$(ls -A "$TMP/cwd")" ] || fail "$* made files where it stood: $(ls -A "$TMP/cwd")"
  nothing_else
}
f=$TMP/p/bin/foo
zip_write "$TMP/h.zip" ../../x "$f" /tmp/../etc/passwd "$TMP/p/full/libfoo.so" .. "$TMP/p/debug/foo.debug"
hostile "$TMP/h.zip"
for name in ../../x /tmp/../etc/passwd ..; do
  says "h.zip!$name: not placed: has a name that leads out of the archive" "$out"
done
last_is "added 0, present 0, not placed 4" "$out"
zip_write "$TMP/h.zip" /etc/passwd "$f" 'C:\x\foo' "$TMP/p/full/libfoo.so" a..b/..c "$TMP/p/debug/foo.debug"
hostile "$TMP/h.zip"
last_is "added 3, present 0, not placed 0" "$out"
[ ! -e "$TMP/x" ] || fail "a name led outside"

zip_write "$TMP/h.zip" -e a "$f" -m 14 b "$f" -c c "$f" -s 1 d "$f" -s -1 e "$f" -s 4000000000 f "$f" g "$f"
hostile "$TMP/h.zip"
says "h.zip!a: not placed: is encrypted" "$out"
says "h.zip!b: not placed: is packed by method 14" "$out"
says "h.zip!c: not placed: is broken: its checksum" "$out"
says "h.zip!d: not placed: is broken: it has fewer bytes" "$out"
says "h.zip!e: not placed: is broken: it has more bytes" "$out"
says "h.zip!f: not placed: " "$out"
last_is "added 1, present 0, not placed 6" "$out"

# A program that becomes larger than its archive may: not a byte of it is written.
zip_write "$TMP/h.zip" -z 400000000 bomb "$f" small "$f"
[ "$(stat -c %s "$TMP/h.zip")" -lt 2000000 ] || fail "that is no bomb"
hostile "$TMP/h.zip"
says "h.zip!bomb: not placed: the archive expands to too many bytes" "$out"
last_is "added 1, present 0, not placed 1" "$out"
# So do many that share one budget, also within an archive of its own.
zip_write "$TMP/in.zip" -z 100000000 a "$f" -z 100000000 b "$f" -z 100000000 c "$f" d "$f"
zip_write "$TMP/h.zip" in.zip "$TMP/in.zip"
hostile "$TMP/h.zip"
says "h.zip!in.zip!c: not placed: the archive expands to too many bytes" "$out"

# The same bytes as many members.
head -c 40000 /dev/urandom >"$TMP/noise"
cat "$f" "$TMP/noise" >"$TMP/big"
zip_write "$TMP/h.zip" -n 50 a "$TMP/big" last "$TMP/p/full/libfoo.so"
hostile "$TMP/h.zip"
says "h.zip!a: not placed: is broken: another member uses the same bytes" "$out"

# A million of nothing: those that may be are tried, the rest is one line.
zip_write "$TMP/h.zip" -w -n 1000000 d/ - x "$f"
hostile "$TMP/h.zip"
says "h.zip: not placed: from member 262145 on: more than 262144 members" "$out"
last_is "added 0, present 0, not placed 1" "$out"

# Cut anywhere: never a member that is not whole.
zip_write "$TMP/whole.zip" foo "$f" libfoo.so "$TMP/p/full/libfoo.so"
size=$(stat -c %s "$TMP/whole.zip")
n=0
for at in 0 1 3 4 29 30 33 100 $((size / 4)) $((size / 2)) $((size * 3 / 4)) $((size - 150)) $((size - 80)) \
  $((size - 22)) $((size - 21)) $((size - 4)) $((size - 1)); do
  head -c "$at" "$TMP/whole.zip" >"$TMP/h.zip"
  hostile "$TMP/h.zip"
  last_is "added 0, present 0, not placed 1" "$out"
  n=$((n + 1))
done
say "cut at $n places"
for file in "$DATA"/zip/*; do
  cp "$file" "$TMP/h.zip"
  hostile "$TMP/h.zip"
  printf '%s\n' "$out" | tail -n 1 | grep -q '^added 0, ' || fail "$file: $out"
  n=$((n + 1))
done
say "$n broken archives"
