#!/bin/sh
# Paths that no file can have are answered at once and ask no server: `..`, control characters, long
# names, ids of a wrong length, the probes of debuggers and file managers. Operations on directories
# never cause requests.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl
need_mount

mkdir "$TMP/root"
upstream_start plain --root "$TMP/root"
symfs_mount m --source "gdb@$URL_plain" --source "debuginfod@$URL_plain" --source "symstore@$URL_plain" \
  --source "breakpad@$URL_plain/x" --source "unified@$URL_plain"
m=$MNT_m
id=abcdef0123456789abcdef0123456789abcdef01
guid=497B72F6390A44FC878E5A2D63B6CC4B

quiet() { # WHAT: no server was asked
  [ "$(upstream_count "$URL_plain" requests)" = 0 ] ||
    fail "$1: the server was asked: $(upstream_count "$URL_plain" requests)"
}

# ---- leaves that cannot be -----------------------------------------------------------------------
n=0
none() { # PATH...: not there, and no server is asked
  for none_path; do
    n=$((n + 1))
    error=$(stat "$m/$none_path" 2>&1 >/dev/null) && fail "'$none_path' is there: $(stat -c %F "$m/$none_path")"
    case $error in
    *'No such file or directory' | *'Not a directory') ;;
    *) fail "'$none_path': $error" ;;
    esac
      quiet "'$none_path'"
  done
}
control=$(printf 'a\001b')
none ".build-id/ab/cdefgh.debug" ".build-id/a/bcdef0123456789.debug" \
  ".build-id/abc/def0123456789abcdef0123456789abcdef01.debug" ".build-id/ab/.debug" ".build-id/zz/${id#ab}.debug" \
  ".build-id/ab/${id#ab}.dwp" ".build-id/ab/${id#ab}.debug.dwp" \
  "debuginfod/buildid/$id/nothing" "debuginfod/buildid/${id}0/debuginfo" "debuginfod/buildid/xyz/debuginfo" \
  "debuginfod/buildid/0123456/debuginfo" "debuginfod/buildid/$id/debuginfo.dwp" \
  "symstore/foo.pdb/$guid/bar.pdb" "symstore/foo.pdb/xyz/foo.pdb" "symstore/foo.pdb/${guid}1/foo.pdb.ptr" \
  "symstore/foo.pdb/${guid}1/file.ptr" "symstore/index2.txt" "symstore/000Admin/lastid.txt" \
  "symstore/000Admin/0000000001" "gdb/000Admin" "symstore/foo.pdb/000Admin" "symstore/desktop.ini" \
  "ssqp/foo.c/sha1-$id" "ssqp/foo.c/sha1-$id/foo.c" "symstore/foo.c/SHA1-$id/foo.c" "foo.c/sha1-$id/foo.c" \
  "symstore2/fo/foo.c/sha1-$id/foo.c" \
  "symstore/foo.pdb/${guid}1/desktop.ini" "breakpad/foo.pdb/${guid}1/bar.sym" \
  "desktop.ini" "index2.txt" "Thumbs.db" ".DS_Store" ".git" ".Trash-0" "autorun.inf" ".directory" ".hidden" \
  ".symfs/nothing" ".symfs/why/nothing/of/this" \
  "symstore/$control.pdb/${guid}1/$control.pdb" ".build-id/ab/$control.debug" "$control" \
  "unified/ab/cdef/nothing" "usr/bin/prog-gdb.py" "prog-gdb.py" 'lib.so-gdb.gdb' \
  "symstore/a\\b.pdb/${guid}1/a\\b.pdb" "unknown/unknown/unknown/unknown/unknown/unknown/unknown"

# ---- what makes a directory a symbol store, in any case -------------------------------------------
for store in "" symstore/ SymStore2/; do
  for name in pingme.txt PINGME.TXT 000Admin/server.txt 000admin/HISTORY.txt; do
    [ -f "$m/$store$name" ] || fail "$store$name is not there"
  done
  [ "$(cat "$m/$store"PingMe.txt)" = symfs ] || fail "$store""PingMe.txt"
  [ "$(ls "$m/$store"000Admin | tr '\n' ' ')" = "history.txt server.txt " ] ||
    fail "$store""000Admin: $(ls "$m/$store"000Admin)"
  [ -s "$m/$store"000Admin/server.txt ] && fail "a transaction was made"
done
[ -f "$m/symstore2/Index2.TXT" ] || fail "Index2.TXT"
quiet "a store's own files"

# ---- names of every length -----------------------------------------------------------------------
long=$(printf '%0255d' 0)
stat "$m/$long" >/dev/null 2>&1
quiet "a name of 255 bytes"
stat "$m/.build-id/ab/$long" 2>/dev/null && fail "a name of 255 bytes is there"
quiet "an id of 255 bytes"
for dir in "" .build-id/ab/ symstore/ .symfs/ .symfs/why/ debuginfod/buildid/; do
  stat "$m/$dir${long}0" 2>"$TMP/err" && fail "a name of 256 bytes is there"
  grep -q 'File name too long' "$TMP/err" || fail "$dir and 256 bytes: $(cat "$TMP/err")"
done
deep=$m
while [ ${#deep} -lt 4000 ]; do deep=$deep/0123456789abcdeg; done
timeout 600 stat "$deep" >/dev/null 2>&1
[ $? -lt 100 ] || fail "a deep path hangs"
quiet "a deep path"
# Deeper than any one path can say, a step at a time.
(cd "$m/symstore" && i=0 && while [ $i -lt 400 ] && cd "$long" 2>/dev/null; do i=$((i + 1)); done)
quiet "steps down"

# ---- there and back again ------------------------------------------------------------------------
[ "$(cd "$m/symstore/.." && pwd -P)" = "$m" ] || fail ".. of a directory in the mount"
[ "$(cd "$m/.build-id/ab/.." && pwd -P)" = "$m/gdb/.build-id" ] || fail ".. through .build-id"
same=$(stat -c %i "$m")
[ "$(stat -c %i "$m/symstore/..")" = "$same" ] || fail "the root has two numbers"
none "../$(basename "$m")/symstore/../../../etc/passwd" "symstore/../../etc/passwd"
[ "$("$SYMFS" get --no-default-sources --cache "$TMP/store-m" --source "gdb@$URL_plain" gdb/../../../etc/passwd \
  2>&1 >/dev/null | grep -c 'no layout')" = 1 ] ||
  fail "get takes .."
quiet "get with .."

# ---- directories ask no server --------------------------------------------------------------------
for dir in "" gdb gdb/.build-id gdb/.build-id/ab symstore symstore/foo.pdb "symstore/foo.pdb/${guid}1" symstore2/fo \
  debuginfod/buildid "debuginfod/buildid/$id" "debuginfod/buildid/$id/source" breakpad/foo.pdb unified/ab \
  perf/.build-id/ab .symfs .symfs/why .symfs/why/gdb foo.pdb "foo.pdb/${guid}1"; do
  [ -d "$m/$dir" ] || fail "'$dir' is no directory"
  ls -la "$m/$dir" >/dev/null || fail "ls $dir"
  quiet "'$dir'"
done
find "$m" >/dev/null || fail find
du -s "$m" >/dev/null || fail du
quiet "find and du"
cat "$m/pingme.txt" "$m/symstore/pingme.txt" "$m/symstore2/index2.txt" >/dev/null || fail "the fixed files"
cat "$m"/.symfs/version "$m"/.symfs/config "$m"/.symfs/sources "$m"/.symfs/stats "$m"/.symfs/metrics \
  "$m"/.symfs/activity "$m"/.symfs/missing "$m/.symfs/why/gdb/$(gdb_path $id .debug)" >/dev/null || fail ".symfs"
quiet "the fixed files"
# Some of these names are directories already, as every first name of a path of some layout is.
for what in "touch $m/new" "mkdir $m/new" "rm -rf $m/symstore" "ln -s x $m/new" "mv $m/gdb $m/new" \
  "truncate -s 0 $m/pingme.txt" "chmod 0 $m/gdb"; do
  $what 2>"$TMP/err" && fail "$what: done"
  grep -qE 'Read-only|File exists|Not a directory|No such file' "$TMP/err" || fail "$what: $(cat "$TMP/err")"
done
quiet "writes"

# The counter does count: one true leaf.
stat "$m/gdb/.build-id/ab/${id#ab}.debug" 2>/dev/null && fail "there?"
[ "$(upstream_count "$URL_plain" requests)" -ge 1 ] || fail "a true leaf asks no server: the check proves nothing"
say "$n paths that cannot be"
symfs_umount m
