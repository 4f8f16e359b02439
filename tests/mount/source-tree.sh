#!/bin/sh
# source/ID/PATH: gdb finds sources of a debuginfod server by substitute-path. The sources are in an archive of the
# server, and nowhere else on this machine.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
. "$top_srcdir/tests/mount/clients.sh"
need gcc objcopy strip readelf curl cmp tar debuginfod gdb

# built DIR NAME: program and library, as if compiled in /usr/src/NAME-1.0; the debug files and sources for the
# archive.
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
[ "$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_http/source/$prog/usr/src/absent.c")" = 404 ] ||
  fail "absent.c over HTTP"
symfs_umount m

# ---- symfs core: rules for the modules of a core ---------------------------------------------------------------
# Program and one library come from the same directory, and another library from a second one.
C=$TMP/crash
mkdir -p "$C/one" "$C/two" "$C/bin" "$TMP/crash-root/usr/src/one-1.0" "$TMP/crash-root/usr/src/two-2.0" \
  "$TMP/crash-root/usr/bin" "$TMP/crash-root/usr/lib/debug"
echo 'void deepest(int n) { if (n) __builtin_trap(); } /* in two */' >"$C/two/two.c"
echo 'void deepest(int n); void middle(int n) { deepest(n); } /* in one, of the library */' >"$C/one/middle.c"
echo 'void middle(int n); int main(int n, char **v) { middle(n); return 0; } /* in one, of the program */' \
  >"$C/one/main.c"
crash_part() { # DIR PACKAGE FILE OUT OPTIONS...
  cp_dir=$1 cp_package=$2 cp_file=$3 cp_out=$4
  shift 4
  (cd "$C/$cp_dir" && gcc -g -O0 -fPIC "-fdebug-prefix-map=$C/$cp_dir=/usr/src/$cp_package" \
    -Wl,--build-id="$(some_build_id source-tree "$cp_out")" -o "$C/bin/$cp_out" "$cp_file" "$@") ||
    fail "gcc $cp_file"
  cp "$C/$cp_dir/$cp_file" "$TMP/crash-root/usr/src/$cp_package"
}
crash_part two two-2.0 two.c libtwo.so -shared
crash_part one one-1.0 middle.c libmiddle.so -shared -L "$C/bin" -ltwo "-Wl,-rpath,$C/bin"
crash_part one one-1.0 main.c crash -L "$C/bin" -lmiddle -ltwo "-Wl,-rpath,$C/bin"
timeout 600 gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex "generate-core-file $TMP/core" \
  "$C/bin/crash" >"$TMP/core.log" 2>&1
[ -s "$TMP/core" ] || { say "gdb cannot run a program here: $(tail -n 1 "$TMP/core.log")"; exit 0; }
for file in crash libmiddle.so libtwo.so; do
  objcopy --only-keep-debug "$C/bin/$file" "$TMP/crash-root/usr/lib/debug/$file.debug"
  strip -o "$TMP/crash-root/usr/bin/$file" "$C/bin/$file"
done
crash_id=$(build_id "$C/bin/crash")
mv "$C/bin" "$C/away"
mkdir "$TMP/archives2" && (cd "$TMP/crash-root" && tar -cf "$TMP/archives2/crash.tar" ./usr) || fail "tar"
debuginfod_start far "$TMP/archives2" "-Z .tar"
core() { timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-core" --source "$source" "$TMP/core" \
  -- "$@" 2>&1; }
source=debuginfod@$URL_far
core gdb -nx -batch -ex bt -ex 'list 1,1' -ex 'up' -ex 'list 1,1' -ex 'up' -ex 'list 1,1' \
  -ex 'show substitute-path' >"$TMP/out"
for want in '/\* in two \*/' '/\* in one, of the library \*/' '/\* in one, of the program \*/' \
  'symfs core: sources compiled in 2 directories come from the mount'; do
  grep -q "$want" "$TMP/out" || fail "symfs core with gdb has no $want: $(cat "$TMP/out")"
done
[ "$(grep -c '/usr/src/[a-z]*-[0-9.]*. -> .*/source/' "$TMP/out")" = 2 ] || fail "rules: $(cat "$TMP/out")"
grep -q "source/$crash_id+[0-9a-f]*/usr/src/one-1.0" "$TMP/out" || fail "the program is not first: $(cat "$TMP/out")"
if command -v lldb >/dev/null; then
  core lldb --batch -o 'source list -f two.c -l 1' -o 'bt' >"$TMP/out"
  grep -q 'in two' "$TMP/out" || fail "symfs core with lldb: $(cat "$TMP/out")"
fi
# A source that cannot have source files: no rules, and no debug file is fetched in advance.
source=gdb@$TMP/none
mkdir "$TMP/none"
core gdb -nx -batch -ex 'show substitute-path' >"$TMP/out"
if grep -q 'come from the mount\|->' "$TMP/out"; then fail "rules without a source: $(cat "$TMP/out")"; fi

# A signal while the debug files are read: the command unmounts, removes its directory, and ends by the signal.
mkdir "$TMP/tmp" "$TMP/nothing"
upstream_start silent --root "$TMP/nothing"
upstream_fault "$URL_silent" '*' silent
TMPDIR=$TMP/tmp "$SYMFS" core --no-default-sources --cache "$TMP/store-silent" --lookup-deadline 50 \
  --source "debuginfod@$URL_silent" "$TMP/core" -- gdb -nx -batch >"$TMP/out" 2>&1 &
command=$!
PIDS="$PIDS $command"
is_asked() { [ "$(upstream_count "$URL_silent" requests)" -ge 1 ]; }
wait_for is_asked || fail "no request: $(cat "$TMP/out")"
kill -TERM $command
wait_gone $command || fail "symfs core does not end: $(cat "$TMP/out")"
wait $command
[ $? = 143 ] || fail "symfs core ends otherwise: $(cat "$TMP/out")"
[ -z "$(ls "$TMP/tmp")" ] || fail "symfs core leaves $(find "$TMP/tmp" | head -n 3)"
