#!/bin/sh
# The script for a Mac, etc/macos/dsymForUUID, against a server of symfs: its property lists, its cache, and the zip
# archives of bundles that the server makes. Several shells and readers of archives have to agree.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need curl cmp python3 unzip
MACHO=$TMP/macs
macs_make "$MACHO"
SCRIPT=$(cd "$top_srcdir" && pwd)/etc/macos/dsymForUUID
UUIDS=$(first_of llvm-dwarfdump) || skip "llvm-dwarfdump is not installed"
uuid_of() { "$UUIDS" --uuid "$1" | sed -n 's/^UUID: \([0-9A-F-]*\) .*/\1/p'; }
U=$(uuid_of "$MACHO/m.x86_64") A=$(uuid_of "$MACHO/m.arm64")
OTHER=${U%??????}ABCDEF
DWARF=Contents/Resources/DWARF

mkdir "$TMP/far"
cp -r "$MACHO/m.x86_64.dSYM" "$MACHO/m.arm64.dSYM" "$TMP/far"
cp "$MACHO/m.x86_64.stripped" "$TMP/far/m.x86_64" # a program with symbols could stand in for its dSYM
symfs_serve up --source "scan@$TMP/far" --access-log "$TMP/access"

# ---- the archive ----------------------------------------------------------------------------------------
fetch_url -f -D "$TMP/head" -o "$TMP/a.zip" "$URL_up/dsym/$U.zip" || fail "no archive: $(cat "$TMP/head")"
grep -qi '^content-type: application/zip' "$TMP/head" || fail "head: $(cat "$TMP/head")"
size=$(stat -c %s "$TMP/a.zip")
grep -qi "^content-length: $size" "$TMP/head" || fail "the length is $size: $(cat "$TMP/head")"
fetch_url -f -I "$URL_up/dsym/$U.zip" >"$TMP/head" || fail "HEAD"
grep -qi "^content-length: $size" "$TMP/head" || fail "HEAD: $(cat "$TMP/head")"
fetch_url -f -o "$TMP/b.zip" "$URL_up/dsym/$(printf '%s' "$U" | tr -d - | tr '[:upper:]' '[:lower:]').zip" ||
  fail "lower case"
same_file "$TMP/a.zip" "$TMP/b.zip"
unzip -qt "$TMP/a.zip" >"$TMP/out" 2>&1 || fail "unzip: $(cat "$TMP/out")"
python3 -c 'import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print("\n".join(z.namelist()))' \
  "$TMP/a.zip" >"$TMP/names" || fail "python's zipfile"
[ "$(sed 's,^[^/]*/,,' "$TMP/names" |
  tr '\n' ' ')" = "Contents/Info.plist $DWARF/$(sed -n 's,.*/DWARF/,,p' "$TMP/names") " ] ||
  fail "members: $(cat "$TMP/names")"
! command -v bsdtar >/dev/null || bsdtar -tf "$TMP/a.zip" >/dev/null || fail "bsdtar"
mkdir "$TMP/x" && (cd "$TMP/x" && unzip -q "$TMP/a.zip") || fail "unzip"
same_file "$MACHO/m.x86_64.dSYM/$DWARF/m.x86_64" "$(find "$TMP/x" -path "*/$DWARF/*")"
python3 "$top_srcdir/tests/helpers/plist.py" "$(find "$TMP/x" -name Info.plist)" >"$TMP/out" || fail "Info.plist"
"$SYMFS" id "$TMP/x/"*.dSYM | grep -q 'macho debug' || fail "symfs id of the bundle"
for way in "$URL_up/dsym/$OTHER.zip" "$URL_up/dsym/$U.zip.zip" "$URL_up/dsym/x.zip"; do
  [ "$(fetch_url -o "$TMP/out" -w '%{http_code}' "$way")" = 404 ] || fail "$way is not 404"
done
[ "$(fetch_url -X POST -d x -o "$TMP/out" -w '%{http_code}' "$URL_up/dsym/$U.zip")" = 405 ] || fail "POST is not 405"
# The log has the bytes of an archive.
wait_for grep -q "\"GET /dsym/$U.zip HTTP/1.1\" 200 $size " "$TMP/access" || fail "no bytes: $(cat "$TMP/access")"
# A client that leaves early costs the server nothing.
fetch_url --limit-rate 1 --max-time 1 -o "$TMP/out" "$URL_up/dsym/$U.zip" 2>/dev/null
fetch_url -f -o "$TMP/b.zip" "$URL_up/dsym/$U.zip" && same_file "$TMP/a.zip" "$TMP/b.zip"

# ---- the script ------------------------------------------------------------------------------------------
# mac STATUS WORD...: runs the script as LLDB does, without the caller's environment, and reads its list.
mac() {
  m_want=$1
  shift
  # shellcheck disable=SC2086
  env -i HOME="$TMP/home" PATH="$PATH" ${servers:-} ${sh:-sh} "$SCRIPT" "$@" >"$TMP/plist" 2>"$TMP/err"
  m_rc=$?
  [ $m_rc = "$m_want" ] || fail "${sh:-sh} $* ends with $m_rc: $(cat "$TMP/plist" "$TMP/err")"
  [ "$m_want" = 2 ] || python3 "$top_srcdir/tests/helpers/plist.py" "$TMP/plist" >"$TMP/list" ||
    fail "$*: $(cat "$TMP/plist")"
}
value() { awk -F '\t' -v u="$1" -v k="$2" '$1 == u && $2 == k { print $3 }' "$TMP/list"; } # UUID KEY

mac 1 "$U"
value "$U" DBGError | grep -q 'no server is configured' || fail "without a server: $(cat "$TMP/list")"
mac 2
mac 2 --no-such-option "$U"
mkdir -p "$TMP/home/.config/symfs"
printf '# ours\n%s/\n' "$URL_up" >"$TMP/home/.config/symfs/servers"
shells=0
for sh in sh dash 'bash --posix' 'zsh --emulate sh' 'busybox sh' ksh; do
  command -v "${sh%% *}" >/dev/null || continue
  shells=$((shells + 1))
  rm -rf "$TMP/home/.cache"
  mac 1 --ignoreNegativeCache --copyExecutable "$U" "$OTHER" "$(echo "$A" | tr '[:upper:]' '[:lower:]')" 'a <word>' \
    "$U"
  [ "$(cut -f 1 "$TMP/list" | uniq)" = "$(printf '%s\n' "$U" "$OTHER" "$A" 'a <word>')" ] ||
    fail "$sh: keys: $(cat "$TMP/list")"
  same_file "$(value "$U" DBGDSYMPath)" "$MACHO/m.x86_64.dSYM/$DWARF/m.x86_64"
  same_file "$(value "$U" DBGSymbolRichExecutable)" "$TMP/far/m.x86_64"
  same_file "$(value "$A" DBGDSYMPath)" "$MACHO/m.arm64.dSYM/$DWARF/m.arm64"
  [ "$(value "$U" DBGArchitecture) $(value "$A" DBGArchitecture)" = "x86_64 arm64" ] || fail "$sh: $(cat "$TMP/list")"
  [ "$(value "$OTHER" DBGError)" = "no server has the dSYM" ] || fail "$sh: missing: $(cat "$TMP/list")"
  [ -n "$(value 'a <word>' DBGError)" ] || fail "$sh: a word: $(cat "$TMP/list")"
  [ -z "$(find "$TMP/home/.cache/symfs-dsym" -maxdepth 1 -name '.*' -type d)" ] ||
    fail "$sh: $(ls -a "$TMP/home/.cache/symfs-dsym")"
done
sh=
say "$shells shells"
# The same list as that of the command, but for the paths.
"$SYMFS" dsym --no-default-sources --cache "$TMP/store" --source "scan@$TMP/far" "$U" |
  grep -v 'string>/' >"$TMP/want"
mac 0 "$U"
grep -v 'string>/' "$TMP/plist" >"$TMP/got"
same_file "$TMP/want" "$TMP/got"
# The UUID directory, for DBGFileMappedPaths.
place=$(printf '%s' "$U" | tr -d - | sed 's,^\(....\)\(....\)\(....\)\(....\)\(....\),\1/\2/\3/\4/\5/,')
same_file "$TMP/home/.cache/symfs-dsym/uuids/$place" "$MACHO/m.x86_64.dSYM/$DWARF/m.x86_64"
# A file stands for its UUIDs, where a tool can read them.
mkdir "$TMP/bin" && ln -s "$(command -v "$UUIDS")" "$TMP/bin/dwarfdump"
PATH=$TMP/bin:$PATH mac 0 --copyExecutable "$MACHO/m.x86_64"
[ -f "$(value "$U" DBGDSYMPath)" ] || fail "a file: $(cat "$TMP/list")"

# Several at once leave one whole bundle.
rm -rf "$TMP/home/.cache"
for i in 1 2 3 4; do
  env -i HOME="$TMP/home" PATH="$PATH" sh "$SCRIPT" "$U" >"$TMP/plist.$i" 2>&1 &
  eval "pid_$i=\$!"
done
for i in 1 2 3 4; do
  eval "wait \$pid_$i" || fail "one of four: $(cat "$TMP/plist.$i")"
  same_file "$TMP/plist.1" "$TMP/plist.$i"
done
mac 0 "$U"
same_file "$(value "$U" DBGDSYMPath)" "$MACHO/m.x86_64.dSYM/$DWARF/m.x86_64"

# ---- misses, tokens, servers that fail --------------------------------------------------------------------
mac 1 "$OTHER"
symfs_unserve up
mac 0 "$U" # from the cache
mac 1 "$OTHER"
value "$OTHER" DBGError | grep -q 'minutes ago' || fail "a remembered miss: $(cat "$TMP/list")"
mac 1 --ignoreNegativeCache "$OTHER"
value "$OTHER" DBGError | grep -qi 'connect' || fail "no server: $(cat "$TMP/list")"
mac 1 "$OTHER" # not remembered: the server was not asked
value "$OTHER" DBGError | grep -qi 'connect' || fail "no server: $(cat "$TMP/list")"

"$SYMFS" token add --file "$TMP/tokens" mac >"$TMP/token" || fail "token"
symfs_serve closed --source "scan@$TMP/far" --token-file "$TMP/tokens"
rm -rf "$TMP/home/.cache"
servers="SYMFS_SERVERS=$URL_closed"
mac 1 "$U"
value "$U" DBGError | grep -q 'HTTP 401' || fail "without a token: $(cat "$TMP/list")"
printf 'header = "Authorization: Bearer %s"\n' "$(cat "$TMP/token")" >"$TMP/home/.config/symfs/curlrc"
mac 0 "$U"
# With a second server the token needs the name of its own, and the other server does not get it.
mkdir "$TMP/nothing"
upstream_start nosy --root "$TMP/nothing" --heads "$TMP/heads"
printf '%s\n' "http://LocalHost:${URL_nosy##*:}/" "$URL_closed" >"$TMP/home/.config/symfs/servers"
servers=
rm -rf "$TMP/home/.cache"
mac 1 "$U"
value "$U" DBGError | grep -q 'HTTP 401' || fail "the token of another server: $(cat "$TMP/list")"
mv "$TMP/home/.config/symfs/curlrc" "$TMP/home/.config/symfs/curlrc.127.0.0.1"
mac 0 "$U"
grep -q 'dsymForUUID' "$TMP/heads" || fail "the first server was not asked: $(cat "$TMP/heads")"
! grep -qi '^authorization' "$TMP/heads" || fail "the first server got the token: $(cat "$TMP/heads")"
# Its own file, by the name in lower case.
printf 'header = "X-Mine: yes"\n' >"$TMP/home/.config/symfs/curlrc.localhost"
rm -rf "$TMP/home/.cache"
mac 0 "$U"
grep -qi '^x-mine: yes' "$TMP/heads" || fail "the first server did not get its options: $(cat "$TMP/heads")"

# A server that sends something else, before one that has the file.
mkdir -p "$TMP/wrong/dsym" && echo 'no archive' >"$TMP/wrong/dsym/$U.zip"
upstream_start wrong --root "$TMP/wrong"
rm -rf "$TMP/home/.cache"
servers="SYMFS_SERVERS=$URL_wrong"
mac 1 "$U"
value "$U" DBGError | grep -q 'a broken archive' || fail "a broken archive: $(cat "$TMP/list")"
# An archive whose link would lead the program out of the cache.
mkdir -p "$TMP/wrong/lldb/${place%/*}"
echo program >"$TMP/wrong/lldb/$place.app"
python3 - "$TMP/wrong/dsym/$U.zip" "$TMP/outside" <<'END' || fail "python's zipfile"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as z:
    z.writestr('m.dSYM/Contents/Resources/DWARF/m', 'a file')
    link = zipfile.ZipInfo('m')
    link.create_system, link.external_attr = 3, 0o120777 << 16
    z.writestr(link, sys.argv[2])
END
mkdir "$TMP/outside" # mv puts its file into the directory behind a link
mac 1 "$U"
value "$U" DBGError | grep -q 'an archive with a link' || fail "a link: $(cat "$TMP/list")"
rmdir "$TMP/outside" || fail "outside of the cache: $(ls "$TMP/outside")"
