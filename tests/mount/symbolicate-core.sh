#!/bin/sh
# symfs symbolicate CORE and PID: the stacks of all threads, through a signal handler on an alternate stack, of
# programs that were deleted, with files that only a source has, or with the files of this machine. A traced process
# goes on, also when symfs is killed.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need gcc gdb readelf strip objcopy gzip zstd python3
cd "$TMP" || exit 1
mkdir links tree
export TMPDIR="$TMP/links" # commands that are killed leave a directory there
cat >p.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long beats;
static volatile int waits, crashes, created;
__attribute__((noinline)) void on_signal(int s) {
  if (crashes)
    *(volatile int *)16 = s;
  waits = 1;
  for (;;)
    pause();
}
static inline __attribute__((always_inline)) void deeper(int n) { raise(n); }
__attribute__((noinline)) void *sleeper(void *x) {
  stack_t ss = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&ss, NULL); while (!created) usleep(1000);
  deeper(SIGUSR1);
  waits++;
  return x;
}
__attribute__((noinline)) void *busy(void *x) {
  for (;;)
    beats++;
  return x;
}
__attribute__((noinline)) int start(int crash) {
  pthread_t t, u;
  struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &a, NULL);
  crashes = crash;
  pthread_create(&t, NULL, busy, NULL); while (!beats) usleep(1000);
  pthread_create(&u, NULL, sleeper, NULL);
  pthread_setname_np(u, "sl\033eeper"); created = 1;
  while (!waits)
    usleep(1000);
  puts("ready");
  fflush(stdout);
  for (;;) {
    unsigned long was = beats;
    char c;
    if (read(0, &c, 1) <= 0)
      return 0;
    while (beats == was)
      usleep(1000);
    puts("beat");
    fflush(stdout);
  }
}
int main(int n, char **v) { return start(n > 1) + (v == NULL); }
END
gcc -g -O2 -Wl,--build-id=sha1 -o prog p.c -pthread 2>gcc.log || fail "gcc: $(cat gcc.log)"
put_gdb tree prog .debug
cp prog full
strip prog
put_gdb tree prog
ask() { # OUT ARGUMENTS...: symfs symbolicate
  a_out=$1
  shift
  of_threads "$a_out" "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store" --source "gdb@$TMP/tree" "$@"
}
alone() { # STORE OUT ARGUMENTS...: with no source but the files of this machine
  a_store=$1 a_out=$2
  shift 2
  of_threads "$a_out" "$SYMFS" symbolicate --no-default-sources --cache "$TMP/$a_store" --offline "$@"
}
has() { grep -Eq -- "$2" "$1" || fail "$1: no line of \"$2\": $(cat "$1" "$1.log")"; }
# in_order FILE PATTERNS...: lines in this order
in_order() {
  io_file=$1
  shift
  awk 'BEGIN { for (i = 2; i < ARGC; i++) want[i - 1] = ARGV[i]; n = ARGC - 2; ARGC = 2; at = 1 }
    at <= n && $0 ~ want[at] { at++ } END { if (at <= n) { print "no " want[at]; exit 1 } }' "$io_file" "$@" ||
    fail "$io_file: $(cat "$io_file" "$io_file.log")"
}

# ---- a core file ---------------------------------------------------------------------------
timeout 600 gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'handle SIGUSR1 nostop noprint pass' \
  -ex 'run crash </dev/null' \
  -ex "generate-core-file $TMP/core" ./prog >gdb.log 2>&1
[ -s core ] || fail "no core: $(cat gdb.log)"
mv prog gone
ask core.txt core || fail "core: $(cat core.txt.log)"
[ "$(head -n 1 core.txt)" = "SIGSEGV at 0x10" ] || fail "the reason is not first: $(cat core.txt)"
[ "$(sed -n 3p core.txt | sed 's/[0-9][0-9]*/N/')" = "Thread N, crashed:" ] ||
  fail "the crashed thread is not first: $(cat core.txt)"
in_order core.txt '^  0  prog  on_signal [+] 0x[0-9a-f]+ at .*/p[.]c:11$' '^  1  libc.*signal handler called' \
  'prog  deeper \(inlined\) at .*/p[.]c:16$' 'prog  sleeper [+] 0x[0-9a-f]+ at .*/p[.]c:20$' '^Thread ' \
  'prog  busy [+] 0x[0-9a-f]+ at .*/p[.]c:2[4-7]$' || fail "core"
has core.txt 'prog  start [+] .* at .*/p[.]c:3[4-9]$'
has core.txt 'prog  main [+] .* at .*/p[.]c:52$'
[ "$(grep -c '^Thread ' core.txt)" = 3 ] || fail "not three threads: $(cat core.txt)"
ask brief.txt --brief core || fail "core: $(cat brief.txt.log)"
in_order brief.txt '^  0  on_signal at .*/p[.]c:11$' '^  1  .*signal handler called' \
  '  deeper \(inlined\) at .*/p[.]c:16$' '  sleeper at .*/p[.]c:20$' || fail "core --brief"
[ "$(grep -c '^Thread ' brief.txt)" = 1 ] || fail "not one thread: $(cat brief.txt)"
ask core.json --json core || fail "core: $(cat core.json.log)"
python3 - core.json <<'PY' || fail "a frame in JSON: $(cat core.json)"
import json, sys
for t in json.load(open(sys.argv[1]))['threads']:
    for f in t['frames']:
        f['module'], f['function'], f['file'], f['line']
    if t['crashed']:
        f = t['frames'][0]
        assert (f['module'], f['function'], f['line']) == ('prog', 'on_signal', 11) and f['file'].endswith('/p.c'), f
PY
has core.json '^\{"reason": "SIGSEGV at 0x10", "address": "0x10", "threads": \[.*"found": "cfi", "signal": true.*'\
'"request": \{"jobs".*"answer": \{"results"'

# Only the module is known if no source has its file.
alone empty bare.txt core
has bare.txt '^  0  prog [+] 0x[0-9a-f]+$'
# The stack ends with the module that lacks, and the result with all that do.
id=$(build_id gone)
has bare.txt "^     unwinding stopped: prog \\($(echo "$id" | cut -c 1-8)…\\) is on no source$"
has bare.txt.log ': [12] of [12] modules? ha(s|ve) no symbols: .*prog.*; symfs why --ask core --cache '
has bare.txt.log 'no source is in use; --offline leaves out all servers$'
alone empty errors.txt --module-errors core
has errors.txt.log "^  prog  $id  .*: no source has it"

# A file at the path of the program, but of another build, is not the program's.
gcc -O0 -Wl,--build-id=sha1 -o prog p.c -pthread 2>/dev/null || fail "gcc"
alone empty other.txt core
same_file bare.txt other.txt

# A scanned tree that has the module's name, but another build or a part of it, says so.
named() { # FILE WORDS
  alone named named.txt --source built core
  has named.txt.log "^symfs symbolicate: scan@built: $1 $2$"
  has named.txt.log ': prog.*; symfs why --ask core .*--source built$'
  "$SYMFS" why --ask --no-default-sources --cache "$TMP/named" --source built core >why.txt 2>why.txt.log
  has why.txt "/prog  $id  scan@built: mismatch: $1 $2$"
  "$SYMFS" get --no-default-sources --cache "$TMP/named" --source built core >get.txt 2>get.txt.log
  has get.txt.log "^symfs get: prog: not there: no source has it; scan@built: $1 $2$"
}
mkdir built
cp prog built
named prog "is build id $(build_id prog), not $id"
mv built/prog built/Prog.DEBUG
named Prog.DEBUG "is build id $(build_id prog), not $id"
head -c -100 full >built/prog
rm built/Prog.DEBUG
named prog 'is cut short before the end of its section table'
rm prog

# A call through a null or a wild pointer: the callers are those of gdb, with the lines of the calls.
cat >null.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) int inner(int (*f)(int), int n) { return f(n) + 1; }
__attribute__((noinline)) int outer(int (*f)(int), int n) { return inner(f, n) * 2; }
int main(int c, char **v) { return outer((int (*)(int))(c > 1 ? strtoul(v[1], NULL, 16) : 0), c) + 1; }
END
for flags in -O0 '-O2 -fomit-frame-pointer'; do
  # shellcheck disable=SC2086 # several words
  gcc -g $flags -Wl,--build-id=sha1 -o null null.c || fail "gcc"
  for to in '' 1234; do
    gdb -nx -batch -ex 'set debuginfod enabled off' -ex "run $to </dev/null" \
      -ex "generate-core-file $TMP/null.core" ./null >gdb.log 2>&1
    [ -s null.core ] || fail "no core: $(cat gdb.log)"
    alone null-store null.txt null.core
    in_order null.txt "^  0  0x${to:-0}$" '^  1  null  inner [+] .*/null[.]c:2$' \
      '^  2  null  outer [+] .*/null[.]c:3$' '^  3  null  main [+] .*/null[.]c:4$'
    rm null.core
  done
done

# Other commands take a core file, too: a line, or an object, for each of its modules.
with() { # COMMAND ARGUMENTS...
  timeout 600 "$SYMFS" "$@" --no-default-sources --cache "$TMP/store" --source \
    "gdb@$TMP/tree" >with.out 2>with.out.log
}
with get core
[ $? = 1 ] || fail "get core: $(cat with.out with.out.log)" # nobody has libc
has with.out '/tree/.build-id/|/store/blobs/'
has with.out.log '^symfs get: .*libc[.]so[.]6: not there: no source has it$'
with why --ask core || fail "why core: $(cat with.out.log)"
has with.out "^[^ ]*/prog  $id  gdb@.*: found [^ ]*$"
has with.out '^[^ ]*/libc[.]so[.]6  [0-9a-f]{40}  gdb@.*: missing$'
with why --json core || fail "why --json core: $(cat with.out.log)"
"$SYMFS" id core >id.out || fail "id core"
grep -Eq "^[^ ]*/prog  $id  [0-9A-F]{33}$" id.out || fail "id core: $(cat id.out)"
"$SYMFS" id --json core >id.json || fail "id --json core"
python3 - "$id" <<'PY' || fail "JSON of modules: $(cat with.out id.json)"
import json, sys
why, ids = json.load(open('with.out')), json.load(open('id.json'))
assert [w['path'] for w in why] == [i['path'] for i in ids] and len(ids) > 2
assert [w['plan'] for w in why if w['path'].endswith('/prog')][0]
assert [i['index'] for i in ids] == list(range(len(ids)))
assert [i['code_id'] for i in ids if i['path'].endswith('/prog')] == [sys.argv[1]]
PY

# With the debug file alone there are names, but no way on.
objcopy --only-keep-debug full only.debug && put_gdb debug only.debug .debug || fail objcopy
"$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-debug" --source "gdb@$TMP/debug" core >debug.txt \
  2>debug.txt.log || fail "debug: $(cat debug.txt.log)"
has debug.txt '^  0  prog  on_signal [+] '
has debug.txt '^     unwinding stopped: prog [(][0-9a-f]{8}…[)] is on no source, only its debug file is$'

# A server that refuses: what its answer means.
mkdir up
upstream_start closed --root "$TMP/up"
upstream_fault "$URL_closed" '*' status 401
"$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-closed" --source "$URL_closed" core >closed.txt \
  2>closed.txt.log
has closed.txt '^     unwinding stopped: prog [(].*[)] could not be fetched$'
has closed.txt.log 'could not be asked: .*http://.*: HTTP 401; try: symfs sources check .*--source http://[0-9.:]+/?$'
has closed.txt.log 'a source that refuses wants a token or password; see header in symfs.conf'

# A server without the files: the second time it is not asked, and the hint says why.
upstream_start without --root "$TMP/up"
for round in 1 2; do
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-without" --source "debuginfod@$URL_without" core \
    >without$round.txt 2>without$round.txt.log
done
has without1.txt.log 'have no symbols: .*; symfs why --ask core .*--source debuginfod@'
has without2.txt.log 'have no symbols: .*; misses are remembered, to ask again; symfs why --ask core '

# A hint can be pasted into a shell.
cp core 'my core'
alone 'an empty' blank.txt 'my core'
has blank.txt.log "; symfs why --ask 'my core' --cache '$TMP/an empty' --no-default-sources$"

# Dead servers: each is named once, and no reason is cut.
"$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-dead" --source debuginfod@http://127.0.0.1:1/ \
  --source debuginfod@http://127.0.0.1:2/ --module-errors core >dead.txt 2>dead.txt.log
for port in 1 2; do
  want="could not be asked: debuginfod@http://127.0.0.1:$port/: .*; try: symfs sources check .*--source .*:2/$"
  [ "$(grep -c "$want" dead.txt.log)" = 1 ] ||
    fail "port $port: $(cat dead.txt.log)"
done
has dead.txt.log "^  prog  $id  breakpad: .*; elf_debug: .*; elf_code: .*[ts]er(ver)?|[)]$"

# A core whose end is lost, with its notes in front, as the kernel writes them.
python3 - core kernel.core <<'PY' || fail "no core of a kernel"
import struct, sys
b = open(sys.argv[1], 'rb').read()
off, n = struct.unpack_from('<Q', b, 32)[0], struct.unpack_from('<H', b, 56)[0]
rows = [list(struct.unpack_from('<IIQQQQQQ', b, off + 56 * i)) for i in range(n)]
note = next(r for r in rows if r[0] == 4)
notes, at = b[note[2]:note[2] + note[5]], off + 56 * n
note[2], body = at, notes
for r in rows:
    if r[0] == 1:
        body, r[2] = body + b[r[2]:r[2] + r[5]], at + len(body)
open(sys.argv[2], 'wb').write(b[:off] + b''.join(struct.pack('<IIQQQQQQ', *r) for r in rows) + body)
PY
ask whole.txt kernel.core || fail "notes in front: $(cat whole.txt.log)"
grep 'is cut' whole.txt.log && fail "a whole core is cut"
size=$(stat -c %s kernel.core)
head -c $((size - 4096)) kernel.core >lost.core
ask lost.txt lost.core
has lost.txt.log "^symfs symbolicate: lost.core is cut: $((size - 4096)) of $size bytes are there, so frames can be"

# From stdin, and packed.
for how in 'cat core' 'gzip -1c core' 'zstd -1qc core'; do
  $how | ask packed.txt - || fail "$how: $(cat packed.txt.log)"
  same_file core.txt packed.txt
done
gzip -1c core >core.gz
for command in why get id core; do
  "$SYMFS" $command ./core.gz >packed.out 2>packed.out.log
  [ $? = 1 ] && grep -q 'core.gz: is packed; unpack it first: gzip -dc$' packed.out.log ||
    fail "$command of a packed core: $(cat packed.out.log)"
done
[ -z "$(find links -name 'symfs-input*')" ] || fail "a file is left: $(ls links)"

# A program at its path names its own frames.
cp full prog
alone own own.txt core || fail "own: $(cat own.txt.log)"
in_order own.txt '^  0  prog  on_signal [+] 0x[0-9a-f]+ at .*/p[.]c:11$' 'prog  deeper \(inlined\) at .*/p[.]c:16$' \
  'prog  sleeper [+] 0x[0-9a-f]+ at .*/p[.]c:20$'
has own.txt 'prog  main [+] .* at .*/p[.]c:52$'
rm prog
rmdir links || fail "a command leaves $(ls links)"
mkdir links

# ---- broken files --------------------------------------------------------------------------
refused() { # FILE TEXT
  ask refused.txt "$1" && fail "$1 was read: $(cat refused.txt)"
  status=$?
  [ $status = 1 ] || fail "$1: $status $(cat refused.txt.log)"
  has refused.txt.log "$2"
}
head -c 3000 core >cut
refused ./cut 'broken or cut short'
head -c 64 core >head
refused ./head 'broken or cut short'

# ---- a process -----------------------------------------------------------------------------
mkfifo in out
cp gone prog
./prog <in >out &
pid=$!
exec 8>in 9<out
# The program has printed "ready", and the first thread waits in read().
reads() { grep -q '^State:[[:space:]]*S' "/proc/$pid/status"; }
is_ready() {
  read -r line <&9
  [ "$line" = ready ] || fail "the program says $line"
  wait_for reads || fail "the program does not read"
}
beats() { # every thread goes on
  echo >&8
  read -r line <&9 || fail "the program has ended"
  [ "$line" = beat ] || fail "the program says $line"
  grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$pid"/task/*/status && fail "a thread is still traced"
}
is_ready
rm prog
ask pid.txt "$pid" || fail "$pid: $(cat pid.txt.log)"
in_order pid.txt "^Thread $pid prog:" 'prog  start [+] .* at .*/p[.]c:4[0-9]$' 'prog  main [+] ' \
  '^Thread [0-9]+ prog:' \
  'prog  busy [+] 0x[0-9a-f]+ at .*/p[.]c:2[4-7]$' '^Thread [0-9]+ sl.x1beeper:' \
  'prog  on_signal [+] .*/p[.]c:1[2-4]$' \
  'signal handler called' 'prog  deeper \(inlined\)' 'prog  sleeper [+]'
beats
kills=0
while [ $kills -lt 6 ]; do
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store" --source "gdb@$TMP/tree" "$pid" >killed.txt 2>&1 &
  killed=$!
  tries=0
  while [ $tries -lt $((kills * 20)) ] && ! gone "$killed"; do tries=$((tries + 1)); done
  kill -9 "$killed" 2>/dev/null
  wait "$killed" 2>/dev/null
  beats
  kills=$((kills + 1))
done
kill -STOP "$pid"
stopped() { grep -q '^State:[[:space:]]*T' "/proc/$pid/status"; }
wait_for stopped || fail "the program does not stop"
ask stopped.txt "$pid" || fail "stopped: $(cat stopped.txt.log)"
has stopped.txt 'prog  main [+] '
wait_for stopped || fail "a stopped process was let go"
kill -CONT "$pid"
beats
# A file whose name is a number is a file.
cp core "$pid"
ask number.txt "$pid" || fail "number: $(cat number.txt.log)"
has number.txt '^SIGSEGV at 0x10'
rm "$pid"
exec 8>&-
wait "$pid"

# ---- a process whose program was replaced --------------------------------------------------
# Both programs have one build id, so that only the mark of the kernel shows that they differ.
same_id=-Wl,--build-id=0x00112233445566778899aabbccddeeff00112233
mkdir old
gcc -g -O2 $same_id -o old/prog p.c -pthread || fail "gcc"
./old/prog <in >out &
pid=$!
exec 8>in 9<out
is_ready
rm old/prog
gcc -g -O2 $same_id -Dbusy=another -o old/prog p.c -pthread || fail "gcc"
alone replaced replaced.txt "$pid" || fail "replaced: $(cat replaced.txt.log)"
has replaced.txt '^  [0-9]+  prog  main [+] .* at .*/p[.]c:52$'
has replaced.txt '^  0  prog  busy [+] .* at .*/p[.]c:2[4-7]$'
timeout 600 gdb -nx -batch -ex 'set debuginfod enabled off' -ex "generate-core-file $TMP/core.old" -p "$pid" \
  >gdb.log 2>&1
[ -s core.old ] || fail "no core: $(cat gdb.log)"
alone replaced.core old.txt core.old
has old.txt '^  0  prog [+] 0x[0-9a-f]+$'
grep -q 'another\|deleted' old.txt && fail "a program that was replaced: $(cat old.txt)"
exec 8>&-
wait "$pid"
# ---- a process whose library was deleted ---------------------------------------------------
cat >lib.c <<'END'
__attribute__((noinline)) int in_library(int (*f)(void)) {
  return f() + 1;
}
END
cat >uses.c <<'END'
#include <stdio.h>
#include <unistd.h>
#ifdef ALONE
static
#endif
int in_library(int (*f)(void));
__attribute__((noinline)) int waits(void) {
  char c;
  puts("ready");
  fflush(stdout);
  return read(0, &c, 1) > 0;
}
int main(void) {
  return in_library(waits) + 1;
}
#ifdef ALONE
#include "lib.c"
#endif
END
gcc -g -O1 -fPIC -shared -Wl,--build-id=sha1 -o libx.so lib.c &&
  gcc -g -O1 -Wl,--build-id=sha1 -o uses uses.c libx.so "-Wl,-rpath,$TMP" ||
  fail "gcc"
./uses <in >out &
pid=$!
exec 8>in 9<out
is_ready
rm libx.so
mapped=$(find "/proc/$pid/map_files" -type l 2>/dev/null | head -n 1)
if head -c 1 "$mapped" >/dev/null 2>&1; then
  rm -rf links # of the commands that were killed
  mkdir links
  alone deleted deleted.txt "$pid" || fail "deleted: $(cat deleted.txt.log)"
  in_order deleted.txt 'uses  waits [+] .* at .*/uses[.]c:11$' 'libx[.]so  in_library [+] .* at .*/lib[.]c:2$' \
    'uses  main [+] .* at .*/uses[.]c:14$'
  [ -z "$(ls links)" ] || fail "a command leaves $(ls links)"
else
  say "the kernel does not show files that were deleted: $mapped"
fi
exec 8>&-
wait "$pid"

# ---- a process with a root directory of its own --------------------------------------------
mkdir root
if gcc -g -O1 -static -DALONE -Wl,--build-id=sha1 -o root/inside uses.c &&
  chroot root /inside </dev/null >/dev/null; [ $? = 2 ]; then
  chroot root /inside <in >out &
  pid=$!
  exec 8>in 9<out
  is_ready
  alone inside inside.txt "$pid" || fail "inside: $(cat inside.txt.log)"
  in_order inside.txt 'inside  waits [+] .* at .*/uses[.]c:11$' 'inside  main [+] .* at .*/uses[.]c:14$'
  exec 8>&-
  wait "$pid"
else
  say "no static program, or no chroot"
fi
ask none.txt "$pid" && fail "a process that has ended was read"
has none.txt.log 'no such process'
exit 0
