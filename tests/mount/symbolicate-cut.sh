#!/bin/sh
# symfs symbolicate PID, when the program that unwinds stacks crashes: the stacks that it had finished are printed,
# and then a sentence names the thread at which it ended.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc
cd "$TMP" || exit 1
cat >p.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_barrier_t there;
__attribute__((noinline)) void *sleeper(void *x) {
  pthread_barrier_wait(&there);
  for (;;)
    pause();
  return x;
}
int main(void) {
  pthread_t t;
  char c;
  pthread_barrier_init(&there, NULL, 4);
  for (int i = 0; i < 3; i++)
    pthread_create(&t, NULL, sleeper, NULL);
  pthread_barrier_wait(&there);
  puts("ready");
  fflush(stdout);
  return read(0, &c, 1) < 0;
}
END
# In place of libexec/unwind: finishes the first thread, begins the second one, and crashes.
cat >u.c <<'END'
#include "stacks/libdw/wire.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
static struct unwinder_head h;
static struct unwinder_thread t;
static void put(uint32_t thread, int kind, int activation) {
  struct unwinder_record r = {.pc = t.pc, .thread = thread, .kind = kind, .activation = activation};
  if (write(UNWINDER_OUT, &r, sizeof(r)) != sizeof(r))
    _exit(9);
}
int main(void) {
  struct rlimit none = {0, 0};
  off_t at = sizeof(h);
  setrlimit(RLIMIT_CORE, &none);
  if (pread(UNWINDER_TASK, &h, sizeof(h), 0) != sizeof(h))
    _exit(8);
  at += h.modules * sizeof(struct unwinder_module) + h.parts * sizeof(struct unwinder_part);
  if (CRASH > 0 && pread(UNWINDER_TASK, &t, sizeof(t), at) == sizeof(t)) {
    put(0, UNWINDER_FRAME, 1);
    put(0, UNWINDER_FRAME, 0);
    put(0, UNWINDER_END, 0);
  }
  if (CRASH > 0 && pread(UNWINDER_TASK, &t, sizeof(t), at + sizeof(t)) == sizeof(t))
    put(1, UNWINDER_FRAME, 1);
  kill(getpid(), SIGSEGV);
  return 7;
}
END
gcc -g -O1 -Wl,--build-id=sha1 -o prog p.c -pthread 2>gcc.log || fail "gcc: $(cat gcc.log)"
for n in 0 1; do
  mkdir -p "own$n/libexec"
  cp "$SYMFS" "own$n/symfs"
  gcc -DCRASH=$n -I"$top_srcdir/src" -o "own$n/libexec/unwind" u.c 2>gcc.log || fail "gcc: $(cat gcc.log)"
done
mkfifo in out
./prog <in >out &
pid=$!
PIDS="$PIDS $pid"
exec 8>in 9<out
read -r line <&9
[ "$line" = ready ] || fail "the program says $line"
symbolicate() { # PROGRAM OUT ARGUMENTS...
  s_symfs=$1 s_out=$2
  shift 2
  of_threads "$s_out" "$s_symfs" symbolicate --no-default-sources --offline --cache "$TMP/store" "$@" "$pid"
}
ask() { # N OUT ARGUMENTS...
  a_dir=own$1 a_out=$2
  shift 2
  symbolicate "$a_dir/symfs" "$a_out" "$@"
  [ $? = 1 ] || fail "the exit status is not 1: $(cat "$a_out" "$a_out.log")"
}
has() { grep -Eq -- "$2" "$1" || fail "$1: no line of \"$2\": $(cat "$1" "$1.log")"; }
here='the callers are missing: the program that unwinds stacks ended here'
before='the callers are missing: the program that unwinds stacks ended before'

# ---- a crash in the second stack -----------------------------------------------------------
ask 1 one
[ "$(grep -c '^Thread ' one)" = 4 ] || fail "not four threads: $(cat one)"
has one "^Thread $pid prog:"
# A frame is a line that begins with its number: two of the first thread, one of each other one.
awk '/^Thread / { n++ } /^ *[0-9]+  / { frames[n]++ } /ended here/ { here = n } /ended before/ { before++ }
  END { exit !(frames[1] == 2 && frames[2] == 1 && frames[3] == 1 && frames[4] == 1 && here == 2 && before == 2) }' \
    one ||
  fail "other frames: $(cat one)"
has one "^     $here\$"
second=$(grep '^Thread ' one | sed -n 's/^Thread \([0-9]*\).*/\1/;2p')
rest="the rest of its stack is missing, and the stacks of 2 more threads"
has one.log "ended by signal 11, SIGSEGV, at thread $second: $rest\$"
ask 1 one.json --json
has one.json "\"id\": $second, .*\"end\": \"$here\", .*\"end\": \"$before\", .*\"end\": \"$before\""

# ---- a crash before the first frame: the registers have one of each thread -----------------
ask 0 none
[ "$(grep -c '^  0  ' none)" = 4 ] || fail "not four frames: $(cat none)"
has none.log "SIGSEGV, at thread $pid: .* the stacks of 3 more threads\$"

# ---- nothing is missing with symfs's own program -------------------------------------------
symbolicate "$SYMFS" whole || fail "whole: $(cat whole.log)"
[ "$(grep -c ' sleeper ' whole)" = 3 ] || fail "not three sleepers: $(cat whole)"
exec 8>&-
wait "$pid"
exit 0
