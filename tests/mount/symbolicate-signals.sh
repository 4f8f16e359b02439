#!/bin/sh
# symfs symbolicate ends after SIGHUP, SIGTERM and SIGPIPE, and without a reader of its output; it leaves no process
# and no file, also while it waits for a file for the program that unwinds stacks.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc gdb curl
cd "$TMP" || exit 1
mkdir -p own/libexec links up
cp "$SYMFS" own/symfs || fail "no $SYMFS" # a copy, so that its processes can be told from those of other tests
cp "$top_builddir"/libexec/* own/libexec/ || fail "no programs in $top_builddir/libexec"
cat >p.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) int work(int n) { abort(); return n; }
int main(int n, char **v) { return work(n) + (v == NULL); }
END
gcc -g -O1 -Wl,--build-id=sha1 -o prog p.c 2>gcc.log || fail "gcc: $(cat gcc.log)"
timeout 600 gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'run </dev/null' \
  -ex "generate-core-file $TMP/core" ./prog >gdb.log 2>&1
[ -s core ] || fail "no core: $(cat gdb.log)"
mv prog gone
upstream_start slow --root "$TMP/up"
upstream_fault "$URL_slow" '*' silent
handled=HUP,PIPE # signals that the command does not inherit as ignored ones
symbolicate() {
  TMPDIR=$TMP/links exec env --default-signal=$handled own/symfs symbolicate --no-default-sources \
    --cache "$TMP/store$stores" "$@"
}
# The processes of our copy, and of its programs.
ours() { for o in /proc/[0-9]*/exe; do case $(readlink "$o") in "$TMP"/own/*) echo "$o" ;; esac; done 2>/dev/null; }
none_left() { [ -z "$(ours)" ]; }
left() { # WHAT
  wait_for none_left || fail "$1: a process is left: $(ours)"
  [ -z "$(ls links)" ] || fail "$1: a file is left: $(ls links)"
}
stores=0
waits() { # WHAT ARGUMENTS...: starts a command, until the source is asked
  w_what=$1
  shift
  stores=$((stores + 1))
  upstream_reset "$URL_slow"
  upstream_fault "$URL_slow" '*' silent
  (symbolicate --source "debuginfod@$URL_slow" "$@" >out 2>err) &
  pid=$!
  PIDS="$PIDS $pid"
  wait_for asked || fail "$w_what: no server was asked: $(cat out err)"
  [ -n "$(ls links)" ] || fail "$w_what: the command has no link to a file of this machine"
}
asked() { [ "$(upstream_count "$URL_slow" get)" -ge 1 ]; }
unwinds() { ours | while read -r u; do readlink "$u"; done | grep -q '/unwind$'; }

# ---- signals -------------------------------------------------------------------------------
for row in HUP:130 TERM:130 PIPE:141; do
  signal=${row%:*}
  waits "$signal" core
  unwinds || fail "$signal: nothing is unwound"
  kill "-$signal" "$pid"
  wait "$pid"
  rc=$?
  [ "$rc" = "${row#*:}" ] || fail "SIG$signal: exit status $rc: $(cat out err)"
  [ ! -s out ] || fail "SIG$signal: output: $(cat out)"
  left "SIG$signal"
done

# ---- no reader -----------------------------------------------------------------------------
mkfifo pipe
exec 7<>pipe 8>pipe
exec 7<&-
for format in --no-default-sources --json; do
  (symbolicate --offline $format core >&8 2>err)
  rc=$?
  [ "$rc" = 141 ] || fail "no reader: $format: exit status $rc: $(cat err)"
  [ ! -s err ] || fail "no reader: $format: $(cat err)"
  left "no reader: $format"
done
(trap '' PIPE && handled=HUP && symbolicate --offline core >&8 2>err)
rc=$?
[ "$rc" = 4 ] || fail "SIGPIPE is ignored: exit status $rc: $(cat err)"
left "SIGPIPE is ignored"
(symbolicate --offline core >out 2>err) || fail "core: $(cat err)"
grep -q '  .*abort [+]' out || fail "core: $(cat out)"
left core
exit 0
