#!/bin/sh
# Files in archives of a scanned tree: in packages of Debian, RPM and Android, in tar and zip archives. A member is
# unpacked into the store when it is opened, and the archive itself is never copied. Unchanged archives are not read
# again, and a broken one is named in the log once.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf dpkg-deb tar python3

PACK=$top_builddir/tests/helpers/archive-write
ZIP=$top_builddir/tests/helpers/zip-write
made=$TMP/made
for name in one two three four five six seven; do make_program "$made" $name; done
tree=$TMP/tree
mkdir -p "$tree/pool/o/one" "$TMP/root/DEBIAN" "$TMP/root/usr/lib/debug/.build-id" "$TMP/root/usr/share/doc/one"
path_of() { printf '.build-id/%.2s/%s' "$1" "$(printf %s "$1" | cut -c3-)"; }
id_of() { build_id "$made/full/$1"; }

# A real Debian package, and archives that the project's own helper makes.
printf \
  'Package: one-dbgsym\nVersion: 1\nArchitecture: amd64\nMaintainer: a test <t@example.org>\nDescription: a test\n' \
  >"$TMP/root/DEBIAN/control"
cp "$made/debug/one.debug" "$TMP/root/usr/lib/debug/.build-id/one.debug"
cp "$made/debug/two.debug" "$TMP/root/usr/lib/debug/.build-id/two.debug"
echo words >"$TMP/root/usr/share/doc/one/copyright"
dpkg-deb -Zxz --build "$TMP/root" "$tree/pool/o/one/one-dbgsym_1_amd64.deb" >/dev/null || fail "dpkg-deb"
"$PACK" "$tree/three.rpm" rpm xz ./usr/bin/three "$made/bin/three" ./usr/lib/debug/three.debug \
  "$made/debug/three.debug" ||
  fail "no rpm"
"$ZIP" "$tree/app.AAB" base/lib/x86_64/libfour.so "$made/bin/libfour.so" \
  BUNDLE-METADATA/com.android.tools.build.debugsymbols/x86_64/libfour.so.dbg "$made/debug/libfour.so.debug" ||
  fail "no zip"
# As Android Studio makes them: an app with stripped libraries, and the debug files of another, both deflated.
deflated() { # ARCHIVE MEMBER FILE
  python3 -c 'import sys, zipfile
zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED).write(sys.argv[3], sys.argv[2])' "$@" ||
    fail "no $1"
}
deflated "$tree/app.apk" lib/x86_64/libsix.so "$made/bin/libsix.so"
deflated "$tree/native-debug-symbols.zip" x86_64/libseven.so.dbg "$made/debug/libseven.so.debug"
tar -C "$made" -czf "$tree/five.tar.gz" debug/five.debug bin/five || fail "no tar"
"$PACK" "$TMP/whole.tar" tar none one "$made/bin/one" two "$made/full/two" || fail "no tar"
head -c 30000 "$TMP/whole.tar" >"$tree/cut.tar"
ls "$made/debug/libfour.so.debug" "$made/debug/five.debug" >/dev/null || fail "no debug files"

cat "$DEADLINES" - >"$TMP/conf" <<EOF
[source "packages"]
path = $tree
layout = scan
EOF
scanned() { grep -q '	packages	scan	scan	.*there, .*, 7 archives (1 with faults' "$1/.symfs/sources"; }
symfs_mount m --config "$TMP/conf"
wait_for scanned "$MNT_m" || fail "sources: $(cat "$MNT_m/.symfs/sources")"
grep -c "$tree/cut.tar: " "$TMP/m.log" | grep -qx 1 ||
  fail "the broken archive is not named once: $(cat "$TMP/m.log")"
[ -z "$(find "$TMP/store-m/blobs" "$TMP/store-m/partial" -type f)" ] || fail "something was stored before a request"

# LOOKUP unpacks nothing; OPEN unpacks the one member.
one=$MNT_m/gdb/$(path_of "$(id_of one)").debug
stat "$one" >/dev/null || fail "one's debug file is not found"
[ -z "$(find "$TMP/store-m/blobs" -type f)" ] || fail "stat stores something"
same_file "$made/debug/one.debug" "$one"
same_file "$made/debug/three.debug" "$MNT_m/debuginfod/buildid/$(id_of three)/debuginfo"
same_file "$made/bin/three" "$MNT_m/debuginfod/buildid/$(id_of three)/executable"
lib=$(build_id "$made/bin/libfour.so")
same_file "$made/debug/libfour.so.debug" "$MNT_m/gdb/$(path_of "$lib").debug"
same_file "$made/bin/libfour.so" "$MNT_m/gdb/$(path_of "$lib")"
same_file "$made/bin/libsix.so" "$MNT_m/gdb/$(path_of "$(build_id "$made/bin/libsix.so")")"
same_file "$made/debug/libseven.so.debug" "$MNT_m/gdb/$(path_of "$(build_id "$made/bin/libseven.so")").debug"
same_file "$made/debug/five.debug" "$MNT_m/gdb/$(path_of "$(id_of five)").debug"
# The whole member before the fault of the broken archive is found; the member that is cut is not.
same_file "$made/bin/one" "$MNT_m/gdb/$(path_of "$(id_of one)")"
cat "$MNT_m/gdb/$(path_of "$(id_of two)")" >/dev/null 2>&1 && fail "a member that is cut"
ls "$MNT_m/gdb/.build-id" | grep -qx "$(printf %.2s "$(id_of two)")" || fail "two is not listed"
grep -rqF "$tree/pool/o/one/one-dbgsym_1_amd64.deb!usr/lib/debug/.build-id/one.debug" "$TMP/store-m/blobs" ||
  fail "the store does not record where the file came from"
# Of nine members each is in the store once, and no archive.
n=$(find "$TMP/store-m/blobs" -type f ! -name '*.key' | wc -l)
[ "$n" = 9 ] || fail "$n files in the store"
for f in $(find "$TMP/store-m/blobs" -type f ! -name '*.key'); do
  readelf -h "$f" >/dev/null 2>&1 || fail "$f is not a member"
done

# The next process reads no archive: the index is as before, and the fault is not named again.
symfs_umount m
symfs_mount n --config "$TMP/conf" --cache "$TMP/store-m"
wait_for scanned "$MNT_n" || fail "sources after a restart: $(cat "$MNT_n/.symfs/sources")"
! grep -q "cut.tar" "$TMP/n.log" || fail "the broken archive was read again"
same_file "$made/debug/two.debug" "$MNT_n/gdb/$(path_of "$(id_of two)").debug"
"$SYMFS" why --ask --config "$TMP/conf" --cache "$TMP/store-m" "gdb/$(path_of "$(id_of three)")" \
  >"$TMP/why" 2>&1
grep -qF 'found: three.rpm!usr/bin/three' "$TMP/why" || fail "why: $(cat "$TMP/why")"
"$SYMFS" sources check --config "$TMP/conf" --cache "$TMP/store-m" --no-default-sources >"$TMP/check" 2>&1
grep -qE ' packages +reachable +[0-9]+ artifacts in 7 files, 7 archives \(1 with faults\)$' "$TMP/check" ||
  fail "sources check: $(cat "$TMP/check")"
# An archive that changed while it is mounted is read again.
"$PACK" "$tree/new" tar gz ./two "$made/bin/two" || fail "no tar"
mv "$tree/new" "$tree/five.tar.gz"
arrived() { cmp -s "$MNT_n/gdb/$(path_of "$(id_of two)")" "$made/bin/two"; }
wait_for arrived || fail "a new archive is not found: $(cat "$MNT_n/.symfs/sources")"
symfs_umount n

# archives = no
echo 'archives = no' >>"$TMP/conf"
symfs_mount o --config "$TMP/conf"
wait_for grep -q '	there, 0 artifacts in 7 files$' "$MNT_o/.symfs/sources" ||
  fail "archives = no: $(cat "$MNT_o/.symfs/sources")"
grep -qx 'archives = no' "$MNT_o/.symfs/config" || fail "config: $(cat "$MNT_o/.symfs/config")"
stat "$MNT_o/gdb/$(path_of "$(id_of one)").debug" >/dev/null 2>&1 && fail "archives = no finds a member"
symfs_umount o
