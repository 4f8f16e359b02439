#!/bin/sh
# source/ID/PATH: gdb finds sources of a debuginfod server by substitute-path. The sources are in an archive of the
# server, and nowhere else on this machine.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf curl cmp tar debuginfod gdb

# built DIR NAME: program and library, as if compiled in /usr/src/NAME-1.0; the debug files and sources for the archive.
built() {
  CC_PLAIN="gcc -fdebug-prefix-map=$TMP/$1/src=/usr/src/$2-1.0"
  make_program "$TMP/$1" "$2"
  mkdir -p "$TMP/root/usr/src/$2-1.0" "$TMP/root/usr/lib/debug"
  cp "$TMP/$1/src/"*.c "$TMP/root/usr/src/$2-1.0"
  cp "$TMP/$1/debug/"*.debug "$TMP/root/usr/lib/debug"
}
built p prog
built q quiet
[ -e /usr/src/prog-1.0 ] && fail "/usr/src/prog-1.0 exists"
mkdir "$TMP/archives"
(cd "$TMP/root" && tar -cf "$TMP/archives/all.tar" ./usr) || fail "tar"
debuginfod_start up "$TMP/archives" "-Z .tar"
prog=$(build_id "$TMP/p/full/prog") lib=$(build_id "$TMP/p/full/libprog.so")
quiet=$(build_id "$TMP/q/full/quiet")

symfs_mount m --source "debuginfod@$URL_up"
M=$MNT_m
# ---- the tree ---------------------------------------------------------------------------------------------
for dir in source "source/$prog" "source/$prog/usr" "source/$prog/usr/src/prog-1.0"; do
  [ -d "$M/$dir" ] || fail "$dir is not a directory"
done
[ -e "$M/source/usr" ] && fail "source/usr exists"
[ -z "$(ls "$M/source")" ] || fail "a listing before the first file: $(ls "$M/source")"
same_file "$TMP/p/src/prog.c" "$M/source/$prog/usr/src/prog-1.0/prog.c"
same_file "$TMP/p/src/prog.c" "$M/debuginfod/buildid/$prog/source/usr/src/prog-1.0/prog.c"
[ "$(stat -c %i "$M/source/$prog/usr/src/prog-1.0/prog.c")" = \
  "$(stat -c %i "$M/debuginfod/buildid/$prog/source/usr/src/prog-1.0/prog.c")" ] || fail "two inodes"
same_file "$TMP/p/src/prog.c" "$M/source/$prog/usr/src/prog-1.0/sub/../prog.c"
[ "$(cd "$M/source" && find . -type f)" = "./$prog/usr/src/prog-1.0/prog.c" ] || fail "listed: $(find "$M/source")"
[ -e "$M/source/$prog/usr/src/prog-1.0/absent.c" ] && fail "absent.c exists"
[ -e "$M/source/$prog/usr/src/prog-1.0/PROG.C" ] && fail "paths of sources ignore case"

# Joined builds: the first that has the file.
same_file "$TMP/p/src/prog-lib.c" "$M/source/$prog+$lib/usr/src/prog-1.0/prog-lib.c"
same_file "$TMP/q/src/quiet.c" "$M/source/$prog+$lib+$quiet/usr/src/quiet-1.0/quiet.c"
[ -d "$M/source/$prog+$lib/usr/src" ] || fail "a joined directory"
[ -e "$M/source/$prog+/usr/src/prog-1.0/prog.c" ] && fail "a joined build without an id"

# ---- gdb ---------------------------------------------------------------------------------------------------
listed() { # WANTED COMMANDS...: gdb prints the text, with these commands before
  l_want=$1
  shift
  gdb -nx -batch -iex 'set debuginfod enabled off' -iex "set debug-file-directory $M/gdb" "$@" \
    -ex 'list main,+2' "$TMP/p/bin/prog" >"$TMP/gdb" 2>&1
  grep -q "$l_want" "$TMP/gdb" || fail "gdb: $(cat "$TMP/gdb")"
}
listed 'prog.c: No such file'
grep -q 'return work' "$TMP/gdb" && fail "gdb finds the source without a rule"
listed 'return work(argc)' -iex "set substitute-path /usr/src $M/source/$prog/usr/src"
listed 'return work(argc)' -iex "set substitute-path /usr/src/prog-1.0 $M/source/$lib+$prog/usr/src/prog-1.0"

# ---- the same over HTTP --------------------------------------------------------------------------------------
symfs_serve http --source "debuginfod@$URL_up"
fetch_url -f -o "$TMP/body" "$URL_http/source/$quiet/usr/src/quiet-1.0/quiet.c" || fail "over HTTP"
same_file "$TMP/q/src/quiet.c" "$TMP/body"
fetch_url -f -o "$TMP/body" "$URL_http/source/$prog+$quiet/usr/src/quiet-1.0/quiet.c" || fail "joined, over HTTP"
same_file "$TMP/q/src/quiet.c" "$TMP/body"
[ "$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_http/source/$prog/usr/src/absent.c")" = 404 ] || fail "absent.c over HTTP"
symfs_umount m
