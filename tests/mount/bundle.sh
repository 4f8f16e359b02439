#!/bin/sh
# lldb's UUID directories lead to dSYM bundles that lldb and llvm-symbolizer can read, whether the
# file is remote or stored, and in any letter case. For a file that no source has, there is no link.
# A stored file of unified has a .meta beside it.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl cmp getfattr
CLANG=$(first_of clang) || skip "clang is not installed"
LINKER=$(first_of ld64.lld) || skip "ld64.lld is not installed"
DSYMUTIL=$(first_of dsymutil) || skip "dsymutil is not installed"
UUIDS=$(first_of llvm-dwarfdump) || skip "llvm-dwarfdump is not installed"

upper() { printf '%s' "$1" | tr '[:lower:]' '[:upper:]'; }
lower() { printf '%s' "$1" | tr '[:upper:]' '[:lower:]'; }
chunks() { printf '%s' "$1" | tr -d - | sed 's,^\(....\)\(....\)\(....\)\(....\)\(....\),\1/\2/\3/\4/\5/,'; }

mkdir -p "$TMP/w" && cd "$TMP/w" || exit 1
cat >m.c <<'EOC'
static int deeper(int n) { return n * 3; }
int work(int n) { return deeper(n) + 1; }
int main(void) { return work(4); }
EOC
"$CLANG" -target x86_64-apple-macos11 -g -c m.c -o m.o || skip "clang makes no Mach-O"
"$LINKER" -arch x86_64 -platform_version macos 11.0 11.0 -e _main -undefined dynamic_lookup -o Demo m.o ||
  skip "ld64.lld makes no Mach-O"
"$DSYMUTIL" Demo >dsymutil.log 2>&1 || fail "dsymutil: $(cat dsymutil.log)"
rm m.o
DSYM=$TMP/w/Demo.dSYM/Contents/Resources/DWARF/Demo
UUID=$("$UUIDS" --uuid Demo | sed -n 's/^UUID: \([0-9A-F-]*\) .*/\1/p')
[ ${#UUID} = 36 ] || fail "uuid: $("$UUIDS" --uuid Demo)"
PLACE=$(chunks "$UUID")
DIR=unified/$(lower "$UUID" | tr -d - | sed 's,^..,&/,')
OTHER=${UUID%??????}ABCDEF
NAMELESS=$UUID/$UUID.dSYM/Contents/Resources/DWARF/$UUID
NAMED=$UUID/Demo.dSYM/Contents/Resources/DWARF/Demo

# ---- commands take the bundle for what is in it ---------------------------------------------------
(cd "$TMP/w" && "$SYMFS" id --json "$DSYM" >"$TMP/want" && "$SYMFS" id --json Demo.dSYM/ |
  sed "s,Demo.dSYM/C,$TMP/w/&,") >"$TMP/got" ||
  fail "id of a bundle"
sed -i 's,\\/,/,g' "$TMP/want" "$TMP/got"
same_file "$TMP/want" "$TMP/got"
"$SYMFS" paths "$DSYM" >"$TMP/want" && "$SYMFS" paths "$TMP/w/Demo.dSYM" >"$TMP/got" || fail "paths of a bundle"
same_file "$TMP/want" "$TMP/got"
"$SYMFS" gsym create -o "$TMP/want" "$DSYM" && "$SYMFS" gsym create Demo.dSYM/ || fail "gsym create of a bundle"
same_file "$TMP/want" Demo.dSYM.gsym
cp -r Demo.dSYM Two.dSYM && cp "$DSYM" Two.dSYM/Contents/Resources/DWARF/Another
"$SYMFS" gsym create -o "$TMP/got" Two.dSYM 2>"$TMP/err" && fail "gsym create of a bundle of two"
grep -q 'Two.dSYM: holds 2 debug files, .*DWARF/Another' "$TMP/err" || fail "two: $(cat "$TMP/err")"
[ "$("$SYMFS" id Two.dSYM | grep -c ': macho debug')" = 2 ] || fail "id of a bundle of two: $("$SYMFS" id Two.dSYM)"
rm -r Two.dSYM/Contents/Resources/DWARF/*
for command in id paths "gsym create"; do
  # shellcheck disable=SC2086
  "$SYMFS" $command Two.dSYM >"$TMP/out" 2>"$TMP/err"
  [ $? = 1 ] || [ "$command" = "gsym create" ] || fail "$command of an empty bundle does not end with 1"
  grep -q 'Two.dSYM: has no regular file in Contents/Resources/DWARF' "$TMP/err" || fail "$command: $(cat "$TMP/err")"
done
rm -r Two.dSYM Demo.dSYM.gsym
for way in Demo.dSYM "-r $TMP/w/Demo.dSYM/" "-r $TMP/w"; do
  # shellcheck disable=SC2086
  "$SYMFS" add --cache "$TMP/store-add" $way >"$TMP/add.log" || fail "add $way"
  grep -q 'Info.plist' "$TMP/add.log" && fail "add $way: $(cat "$TMP/add.log")"
done
if command -v zip >/dev/null; then
  zip -qr "$TMP/bundle.zip" Demo.dSYM && "$SYMFS" add --cache "$TMP/store-add" "$TMP/bundle.zip" >"$TMP/add.log" ||
    fail "add of an archive"
  grep -q 'Info.plist' "$TMP/add.log" && fail "an archive: $(cat "$TMP/add.log")"
fi
"$SYMFS" add --cache "$TMP/store-add" Demo.dSYM/Contents/Info.plist >"$TMP/add.log" &&
  fail "an Info.plist that was named"
grep -q 'Info.plist: not placed' "$TMP/add.log" || fail "named: $(cat "$TMP/add.log")"

mkdir -p "$TMP/far/$(dirname "$PLACE")"
cp "$DSYM" "$TMP/far/$PLACE"
cp Demo "$TMP/far/$PLACE.app"
upstream_start up --root "$TMP/far"
asked() { upstream_count "$URL_up" "$@"; }

# leads WANTED PATH: the link, and the file that it leads to.
leads() {
  [ -L "$M/$2" ] || fail "$2 is no link: $(stat -c %F "$M/$2" 2>&1)"
  [ "$(readlink "$M/$2")" = "../../../../../../dsym/$1" ] || fail "$2 leads to $(readlink "$M/$2")"
  [ "$(stat -c %s "$M/$2")" = $((23 - 1 + ${#1} + 1)) ] || fail "the link's size is $(stat -c %s "$M/$2")"
}

# ---- far away ------------------------------------------------------------------------------------
symfs_mount cold --source "lldb@$URL_up"
M=$MNT_cold
for dir in lldb dsym "dsym/$UUID" "dsym/$UUID/Demo.dSYM/Contents/Resources/DWARF" "lldb/$(dirname "$PLACE")"; do
  [ -d "$M/$dir" ] || fail "$dir is no directory"
done
[ -e "$M/$DIR/debuginfo.meta" ] && fail "a .meta of what is not stored"
[ "$(asked requests)" = 0 ] || fail "directories or .meta asked"
# The link is there when the file is; both together, and the reading of it, are one GET.
leads "$NAMELESS" "lldb/$PLACE"
same_file "$DSYM" "$M/lldb/$PLACE"
[ "$(asked get "/$PLACE")" = 1 ] || fail "link and file were $(asked get "/$PLACE") GETs"
same_file "$TMP/w/Demo" "$M/lldb/$PLACE.app"
[ -L "$M/lldb/$PLACE.app" ] && fail "the program is a link"
[ "$(asked get "/$PLACE.app")" = 1 ] || fail "the program was $(asked get "/$PLACE.app") GETs"
seen=$(asked requests)
[ -L "$M/native/$PLACE" ] && fail "native has a link"
[ -L "$M/$PLACE" ] && fail "the root has a link"
ino=$(stat -Lc %i "$M/lldb/$PLACE")
for path in "native/$PLACE" "$PLACE" "dsym/$NAMELESS" "dsym/$NAMED" "$DIR/debuginfo"; do
  [ "$(stat -c %i "$M/$path")" = "$ino" ] || fail "$path has another inode"
done
[ "$(asked requests)" = "$seen" ] || fail "other spellings asked"
wait_for [ -e "$M/$DIR/debuginfo.meta" ] || fail "no .meta of what was fetched"
[ "$(cat "$M/$DIR/debuginfo.meta")" = '{"arch":"x86_64","file_format":"macho"}' ] ||
  fail "$(cat "$M/$DIR/debuginfo.meta")"
symfs_umount cold

# What no source has is not there: no link that leads nowhere, no bundle; and that is one question in each letter
# case.
upstream_reset "$URL_up"
symfs_mount none --source "lldb@$URL_up"
M=$MNT_none
[ -e "$M/lldb/$(chunks "$OTHER")" ] || [ -L "$M/lldb/$(chunks "$OTHER")" ] && fail "a link to what no source has"
[ -e "$M/dsym/$OTHER/Demo.dSYM/Contents/Resources/DWARF/Demo" ] && fail "a bundle of what no source has"
[ -e "$M/dsym/$OTHER/Demo.dSYM/Contents/Info.plist" ] && fail "an Info.plist of what no source has"
[ "$(asked requests)" = 2 ] || fail "a miss was $(asked requests) requests"
symfs_umount none

# An Info.plist before the first read of the file.
symfs_mount plist --source "lldb@$URL_up"
M=$MNT_plist
grep -q "<string>com.apple.xcode.dsym.Some &amp; any</string>" "$M/dsym/$UUID/Some & any.dSYM/Contents/Info.plist" ||
  fail "Info.plist: $(cat "$M/dsym/$UUID/Some & any.dSYM/Contents/Info.plist")"
if command -v curl >/dev/null; then
  symfs_serve http --source "lldb@$URL_up"
  over() { fetch_url -o "$TMP/http.body" -D "$TMP/http.head" -w '%{http_code} %{content_type}' "$@"; }
  for way in -i -I; do
    got=$(over $way "$URL_http/dsym/$UUID/Some%20%26%20any.dSYM/Contents/Info.plist")
    [ "$got" = '200 text/xml; charset=utf-8' ] || fail "Info.plist over HTTP: $got"
  done
  fetch_url -o "$TMP/http.body" "$URL_http/dsym/$UUID/Some%20%26%20any.dSYM/Contents/Info.plist"
  same_file "$M/dsym/$UUID/Some & any.dSYM/Contents/Info.plist" "$TMP/http.body"
  got=$(over "$URL_http/$DIR/debuginfo.meta") # fetches the file
  [ "$got" = '200 application/json' ] && grep -q '"arch":"x86_64","file_format":"macho"}$' "$TMP/http.body" ||
    fail ".meta over HTTP: $got $(cat "$TMP/http.body")"
  for path in "dsym/$OTHER/Demo.dSYM/Contents/Info.plist" "unified/$(lower "$OTHER" | tr -d - |
    sed 's,^..,&/,')/debuginfo.meta"; do
    got=$(over "$URL_http/$path")
    [ "${got%% *}" = 404 ] || fail "$path of what no source has: $got"
  done
  symfs_unserve http
fi
symfs_umount plist

# A server that is down: neither yes nor no.
symfs_mount down --source "lldb@http://127.0.0.1:9"
ls -l "$MNT_down/lldb/$PLACE" >"$TMP/down.out" 2>&1 && fail "a link although no server could be asked"
grep -q 'No such file' "$TMP/down.out" && fail "no server means: there is no such file"
symfs_umount down

# ---- stored, with a name -------------------------------------------------------------------------
"$SYMFS" add --cache "$TMP/store" -r "$TMP/w/Demo.dSYM" "$TMP/w/Demo" >"$TMP/add.log" ||
  fail "add: $(cat "$TMP/add.log")"
upstream_reset "$URL_up"
symfs_mount warm --cache "$TMP/store" --source "lldb@$URL_up"
M=$MNT_warm
leads "$NAMED" "lldb/$PLACE"
n=0
for path in "lldb/$PLACE" "lldb/$(lower "$PLACE")" "LLDB/$PLACE" \
  "lldb/$(printf %s "$PLACE" | sed 's/C/c/; s/5$/5/')"; do
  leads "$NAMED" "$path"
  same_file "$DSYM" "$M/$path"
  [ "$(stat -c %i "$M/$path")" = "$(stat -c %i "$M/lldb/$PLACE")" ] || fail "$path is another link"
  n=$((n + 1))
done
for path in "$NAMED" "$(lower "$NAMED")" "$(upper "$NAMED")" \
  "$(printf %s "$NAMED" | sed "s/$UUID/$(printf %s "$UUID" | tr -d -)/")" \
  "$NAMELESS" "$(lower "$NAMELESS")" "$UUID/Demo.app.dSYM/Contents/Resources/DWARF/Demo"; do
  same_file "$DSYM" "$M/dsym/$path"
  [ "$(stat -c %i "$M/dsym/$path")" = "$(stat -Lc %i "$M/lldb/$PLACE")" ] || fail "dsym/$path has another inode"
  n=$((n + 1))
done
[ "$(asked requests)" = 0 ] || fail "what is stored was asked for"
for path in "dsym/$UUID/Demo" "dsym/$UUID/Demo.dSYM/Info.plist" \
  "dsym/$UUID/Demo.dSYM/Contents/Resources/$UUID.plist" \
  "dsym/$UUID/Demo.dSYM/Contents/MacOS" "dsym/nothing/Demo.dSYM/Contents/Info.plist"; do
  [ -e "$M/$path" ] && fail "$path is there"
done
[ "$(asked requests)" = 0 ] || fail "what cannot be was asked for"

# The bundle can be listed and copied, as one that dsymutil made.
[ "$(find "$M/dsym" ! -type d | sed "s,^$M/dsym/,,; s,$UUID,U,g" | sort | tr '\n' ' ')" = \
  "U/Demo.dSYM/Contents/Info.plist U/Demo.dSYM/Contents/Resources/DWARF/Demo " ] ||
  fail "dsym lists $(find "$M/dsym")"
[ "$(find "$M/lldb" -type l)" = "$M/lldb/$PLACE" ] || fail "lldb lists $(find "$M/lldb")"
[ "$(find "$M/lldb" -type f)" = "$M/lldb/$PLACE.app" ] || fail "lldb lists $(find "$M/lldb")"
cp -r "$M/dsym/$UUID/Demo.dSYM" "$TMP/copy.dSYM" || fail "the bundle cannot be copied"
same_file "$DSYM" "$TMP/copy.dSYM/Contents/Resources/DWARF/Demo"
words() { tr -d ' \t\n' <"$1" | sed 's/<!DOCTYPE[^>]*>//'; }
[ "$(words "$TMP/copy.dSYM/Contents/Info.plist")" = "$(words Demo.dSYM/Contents/Info.plist)" ] ||
  fail "Info.plist: $(cat "$TMP/copy.dSYM/Contents/Info.plist")"

# ---- .meta ---------------------------------------------------------------------------------------
[ "$(cat "$M/$DIR/debuginfo.meta")" = '{"name":"Demo","arch":"x86_64","file_format":"macho"}' ] ||
  fail "debuginfo.meta: $(cat "$M/$DIR/debuginfo.meta")"
[ "$(cat "$M/$(upper "${DIR#unified/}" | sed 's,^,unified/,')/Executable.META")" = \
  '{"name":"Demo","arch":"x86_64","file_format":"macho"}' ] || fail "executable.meta"
[ "$(asked requests)" = 0 ] || fail ".meta asked"
for path in breakpad.meta sourcebundle.meta uuidmap.meta nothing.meta .meta debuginfo.meta.meta; do
  [ -e "$M/$DIR/$path" ] && fail "$path is there"
done
[ "$(asked requests)" = 0 ] || fail "a .meta of what is not stored asked for it"
# The commands: a link means its file; what is written beside files belongs to no source.
get() { "$SYMFS" get --no-default-sources --cache "$TMP/store" "$1" 2>"$TMP/get.err"; }
same_file "$DSYM" "$(get "lldb/$PLACE")"
for path in "$DIR/debuginfo.meta" "dsym/$UUID/Demo.dSYM/Contents/Info.plist"; do
  get "$path" && fail "get $path"
  grep -q 'the mount generates this' "$TMP/get.err" || fail "get $path: $(cat "$TMP/get.err")"
  "$SYMFS" cache rm --cache "$TMP/store" "$path" >/dev/null 2>&1 && fail "cache rm $path"
done
same_file "$DSYM" "$(get "$DIR/debuginfo")"
grep -q "^key mach_debug" "$M/.symfs/why/lldb/$PLACE" || fail "why: $(cat "$M/.symfs/why/lldb/$PLACE")"
[ "$(asked requests)" = 0 ] || fail "the commands asked"
symfs_umount warm

# ---- clients -------------------------------------------------------------------------------------
mv Demo.dSYM away
# As symfs-mount(1) says it.
create=$(sed -n 's/^(lldb) \(target create .*\)$/\1/p' "$top_srcdir/man/symfs-mount.1.in")
[ -n "$create" ] || fail "symfs-mount(1) has no target create"
tried=0
for how in cold warm; do
  [ $how = warm ] && cache=$TMP/store || cache=$TMP/store-clients
  symfs_mount clients --cache "$cache" --source "lldb@$URL_up"
  M=$MNT_clients
  create=$(echo "$create" | sed "s,/[^ ]*/lldb/[^ ]*,$M/lldb/$(lower "$PLACE"),")
  if LLDB=$(first_of lldb); then
    out=$(timeout 300 "$LLDB" -x -b -o 'settings set symbols.enable-external-lookup false' -o 'target create Demo' \
      -o 'image lookup -n work' -o "target symbols add $M/lldb/$PLACE" -o 'image lookup -v -n work' 2>&1)
    expect "lldb, $how" "$out" 'symbol file .*has been (loaded|added)' 'LineEntry: .*/m\.c:2' \
      'Function: .*name = "work"'
    out=$(timeout 300 "$LLDB" -x -b -o "$create" -o 'image lookup -v -n work' 2>&1)
    expect "lldb --symfile, $how" "$out" 'LineEntry: .*/m\.c:2'
    refuse "lldb alone" "$(timeout 300 "$LLDB" -x -b -o 'target create Demo' -o 'image lookup -v -n work' 2>&1)" \
      'LineEntry'
    tried=$((tried + 1))
  fi
  if SYMBOLIZER=$(first_of llvm-symbolizer); then
    address=$("$(first_of llvm-nm)" Demo | sed -n 's/ T _work$//p')
    "$SYMBOLIZER" --obj=Demo "0x$address" | grep -q 'm\.c:2' && fail "llvm-symbolizer needs no mount"
    # The name in the mount may be any: what it looks for in the bundle is the program's name.
    for hint in "$UUID/Demo.dSYM" "$UUID/$UUID.dSYM" "$(lower "$UUID" | tr -d -)/anything.dSYM"; do
      "$SYMBOLIZER" --dsym-hint="$M/dsym/$hint" --obj=Demo "0x$address" >"$TMP/lines" 2>&1
      grep -q 'm\.c:2' "$TMP/lines" || fail "llvm-symbolizer, $how, $hint: $(cat "$TMP/lines")"
    done
    tried=$((tried + 1))
  fi
  symfs_umount clients
done
say "$n spellings, $tried clients"
[ $tried -gt 0 ] || skip "neither lldb nor llvm-symbolizer is installed"
