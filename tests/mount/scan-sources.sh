#!/bin/sh
# Sources of scanned trees and packages, without a server: gdb lists the source of a program of a build directory, a
# Debian package, a tar archive and two RPM packages, through HTTP and through a mount.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf gdb curl tar dpkg-deb cmp

# built DIR NAME: a program and its library, as if compiled in /usr/src/NAME-1.0.
built() {
  CC_PLAIN="gcc -fdebug-prefix-map=$TMP/$1/src=/usr/src/$2-1.0"
  make_program "$TMP/$1" "$2"
}
# listed WHAT PROGRAM OPTIONS...: gdb lists the source of a stripped program.
listed() {
  ls_what=$1 ls_program=$2
  shift 2
  timeout 300 gdb -nx -batch "$@" -ex 'list main,+2' "$ls_program" >"$TMP/gdb" 2>&1
  grep -q 'return work(argc) == 0' "$TMP/gdb" || fail "$ls_what: $(cat "$TMP/gdb")"
}
# lists NAME PROGRAM: by HTTP, by the mount in the place of a server, and by source/ of the mount.
lists() {
  li_source=$MNT_m/source/$(build_id "$2")
  for li_urls in "$URL_s" "file://$MNT_m/debuginfod"; do
    rm -rf "$TMP/gdb-cache"
    DEBUGINFOD_URLS=$li_urls DEBUGINFOD_CACHE_PATH=$TMP/gdb-cache \
      listed "$1 by $li_urls" "$2" -iex 'set debuginfod enabled on'
  done
  listed "$1 by $li_source" "$2" -iex 'set debuginfod enabled off' -iex "set debug-file-directory $MNT_m/gdb" \
    -iex "set substitute-path /usr/src $li_source/usr/src"
}
status_of() { fetch_url --path-as-is -o "$TMP/body" -w '%{http_code}' "$1"; }

# ---- packages -------------------------------------------------------------------------------------------------
packages=$TMP/packages
mkdir -p "$packages/pool"
for name in deb tar; do
  built $name $name
  root=$TMP/root-$name
  mkdir -p "$root/usr/src/$name-1.0" "$root/usr/lib/debug"
  cp "$TMP/$name/src/"*.c "$root/usr/src/$name-1.0"
  cp "$TMP/$name/debug/$name.debug" "$root/usr/lib/debug"
done
mkdir "$TMP/root-deb/DEBIAN"
printf '%s\n' 'Package: one-dbg' 'Version: 1' 'Architecture: amd64' 'Maintainer: a test <t@example.org>' \
  'Description: a test' >"$TMP/root-deb/DEBIAN/control"
dpkg-deb --build "$TMP/root-deb" "$packages/pool/one-dbg_1_amd64.deb" >/dev/null || fail "dpkg-deb"
(cd "$TMP/root-tar" && tar -czf "$packages/two.tar.gz" ./usr) || fail "tar"
rpms=
if command -v rpmbuild >/dev/null; then
  built rpm rpm
  cat >"$TMP/rpm.spec" <<EOF
Name: three
Version: 1
Release: 1
Summary: a test
License: none
%global debug_package %{nil}
%global __os_install_post %{nil}
%description
A test.
%package debuginfo
Summary: a test
%description debuginfo
A test.
%package debugsource
Summary: a test
%description debugsource
A test.
%install
mkdir -p %{buildroot}/usr/lib/debug %{buildroot}/usr/src/rpm-1.0
cp $TMP/rpm/debug/rpm.debug %{buildroot}/usr/lib/debug
cp $TMP/rpm/src/rpm.c $TMP/rpm/src/rpm-lib.c %{buildroot}/usr/src/rpm-1.0
%files debuginfo
/usr/lib/debug/rpm.debug
%files debugsource
/usr/src/rpm-1.0
EOF
  if rpmbuild -bb --define "_topdir $TMP/rpmbuild" --define "_build_id_links none" "$TMP/rpm.spec" \
    >"$TMP/rpm.log" 2>&1; then
    find "$TMP/rpmbuild/RPMS" -name '*.rpm' -exec cp {} "$packages" \;
    rpms=yes
  else
    part_skipped "rpmbuild does not build here: $(tail -n 1 "$TMP/rpm.log")"
  fi
else
  part_skipped "rpmbuild is not installed: no RPM packages"
fi

# ---- a tree ---------------------------------------------------------------------------------------------------
built tree tree
echo 'not named' >"$TMP/tree/src/secret.txt"
cat "$DEADLINES" - >"$TMP/conf" <<EOF
[source "packages"]
path = $packages
layout = scan
[source "tree"]
path = $TMP/tree
layout = scan
source-roots = /usr/src/tree-1.0=$TMP/tree/src
EOF
scanned() { [ "$(grep -c '	\(packages\|tree\)	scan	scan	.*there' "$1")" = 2 ]; }
symfs_mount m --config "$TMP/conf"
wait_for scanned "$MNT_m/.symfs/sources" || fail "sources: $(cat "$MNT_m/.symfs/sources")"
grep -qx "source-roots = /usr/src/tree-1.0=$TMP/tree/src" "$MNT_m/.symfs/config" || fail "not in .symfs/config"
symfs_serve s --config "$TMP/conf"

for name in tree deb tar ${rpms:+rpm}; do
  lists "$name" "$TMP/$name/bin/$name"
  id=$(build_id "$TMP/$name/bin/$name")
  path=usr/src/$name-1.0/$name.c
  for at in "debuginfod/buildid/$id/source/$path" "source/$id/$path" "source/$id/usr/src/$name-1.0/x/../$name.c"; do
    same_file "$TMP/$name/src/$name.c" "$MNT_m/$at"
  done
  for at in "buildid/$id/source/$path" "buildid/$id/source//$path" "source/$id/$path" \
    "buildid/$id/source/usr/src/$name-1.0/x/../$name.c"; do
    [ "$(status_of "$URL_s/$at")" = 200 ] || fail "$name over HTTP: $at"
    same_file "$TMP/$name/src/$name.c" "$TMP/body"
  done
  "$SYMFS" get --no-default-sources --cache "$TMP/store-get" --config "$TMP/conf" \
    "debuginfod/buildid/$id/source/$path" >"$TMP/got" 2>"$TMP/err" || fail "get: $(cat "$TMP/err")"
  same_file "$TMP/$name/src/$name.c" "$(cat "$TMP/got")"
  # Sources that are there, but that the build does not name.
  for path in "usr/src/$name-1.0/$name-lib.c" "usr/src/$name-1.0/secret.txt" "usr/src/$name-1.0" \
    usr/lib/debug/tar.debug; do
    [ "$(status_of "$URL_s/buildid/$id/source/$path")" = 404 ] || fail "$name: $path"
    [ -f "$MNT_m/source/$id/$path" ] && fail "$name by the mount: $path"
  done
done
id=$(build_id "$TMP/tree/bin/tree")
"$SYMFS" why --ask --no-default-sources --config "$TMP/conf" --cache "$TMP/store-w" \
  "debuginfod/buildid/$id/source/usr/src/tree-1.0/tree.c" >"$TMP/out"
grep -qF "$TMP/tree/src/tree.c" "$TMP/out" || fail "why: $(cat "$TMP/out")"
lib=$(build_id "$TMP/deb/bin/libdeb.so")
[ "$(status_of "$URL_s/buildid/$lib/source/usr/src/deb-1.0/deb-lib.c")" = 404 ] || fail "a build without a debug file"
symfs_unserve s
symfs_umount m

# ---- the next process knows the names of members ---------------------------------------------------------------
grep -q '^k n[0-9a-f]*$' "$TMP"/store-m/scans/* || fail "the names are not remembered"
symfs_serve t --config "$TMP/conf" --cache "$TMP/store-m"
id=$(build_id "$TMP/tar/bin/tar")
[ "$(status_of "$URL_t/buildid/$id/source/usr/src/tar-1.0/tar.c")" = 200 ] || fail "after a restart"
same_file "$TMP/tar/src/tar.c" "$TMP/body"
symfs_unserve t

# ---- every version of DWARF, split, compressed and by dwz --------------------------------------------------------
V=$TMP/versions
mkdir -p "$V/src/inc" "$V/out"
echo 'static inline int twice(int n) { return 2 * n; }' >"$V/src/inc/twice.h"
echo 'int f(int n); int main(int n, char **v) { return f(n); }' >"$V/src/main.c"
printf '#include "inc/twice.h"\nint f(int n) { return twice(n); }\n' >"$V/src/f.c"
made() { # NAME OPTIONS...
  ma_name=$1
  shift
  (cd "$V/src" && mkdir "$V/out/$ma_name" && gcc -O0 "$@" -c -o "$V/out/$ma_name/f.o" f.c &&
    gcc -O0 "$@" -c -o "$V/out/$ma_name/main.o" ../src/./main.c &&
    gcc "$@" -Wl,--build-id="$(some_build_id scan-sources "$ma_name")" -o "$V/out/$ma_name/prog" \
      "$V/out/$ma_name/f.o" "$V/out/$ma_name/main.o") || fail "gcc $ma_name"
}
made v2 -gdwarf-2
made v3 -gdwarf-3
made v4 -gdwarf-4
made v5 -gdwarf-5
made split -gdwarf-5 -gsplit-dwarf
made split4 -gdwarf-4 -gsplit-dwarf
made zlib -gdwarf-5 -gz=zlib
made wide -gdwarf-5 -gdwarf64
kinds='v2 v3 v4 v5 split split4 zlib wide'
if command -v dwz >/dev/null; then
  made dwz4 -gdwarf-4
  made dwz4b -gdwarf-4
  (cd "$V/out" && dwz -L none -l none -m "$V/out/common4" dwz4/prog dwz4b/prog) >"$TMP/dwz.log" 2>&1 ||
    fail "dwz: $(cat "$TMP/dwz.log")"
  readelf -wi "$V/out/dwz4/prog" 2>/dev/null | grep -q 'alt indirect string' ||
    fail "dwz moved no text: $(cat "$TMP/dwz.log")"
  kinds="$kinds dwz4 dwz4b"
else
  part_skipped "dwz is not installed"
fi
symfs_serve v --source "scan@$V"
for kind in $kinds; do
  id=$(build_id "$V/out/$kind/prog")
  for file in main.c f.c inc/twice.h; do
    [ "$(status_of "$URL_v/buildid/$id/source$V/src/$file")" = 200 ] || fail "$kind: $file: $(cat "$TMP/v.log")"
    same_file "$V/src/$file" "$TMP/body"
  done
done
symfs_unserve v
exit 0
