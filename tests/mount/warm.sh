#!/bin/sh
# symfs warm fetches the files of a core, a process, a minidump or a list, all in parallel. symfs
# core starts a debugger on a core whose program and library are missing on this machine.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gdb gcc objcopy readelf nm curl

far_program
far_core "$TMP/core"
upstream_start up --root "$FAR/gdb"
store=$TMP/store-warm
warm() { "$SYMFS" warm --no-default-sources --cache "$store" --source "gdb@$URL_up" "$@" 2>"$TMP/warm.err"; }

# ---- a core ----------------------------------------------------------------------------------
warm "$TMP/core" >"$TMP/out" || fail "warm: $(cat "$TMP/warm.err")"
for id in "$PROG_ID" "$LIB_ID"; do
  grep -Eq "	$id	elf_debug [0-9.]+ [KM]B	elf_code [0-9.]+ [KM]B\$" "$TMP/out" ||
    fail "warm does not have $id: $(cat "$TMP/out")"
done
grep -Eq "^/.*/libc\.so\.6	[0-9a-f]{40}	elf_debug missing	elf_code missing\$" "$TMP/out" ||
  fail "no libc: $(cat "$TMP/out")"
# The debugger that follows asks no server.
upstream_reset "$URL_up"
for id in "$PROG_ID" "$LIB_ID"; do
  "$SYMFS" get --offline --cache "$store" "gdb/$(gdb_path "$id" .debug)" "gdb/$(gdb_path "$id")" >/dev/null ||
    fail "get after warm"
done
[ "$(upstream_count "$URL_up" get)" = 0 ] || fail "asked again"

# ---- Breakpad files of a core --------------------------------------------------------------------
# They are made before they are read; without the server they are there.
warm --breakpad --cache "$TMP/store-sym" "$TMP/core" >"$TMP/out" || fail "warm --breakpad: $(cat "$TMP/warm.err")"
for id in "$PROG_ID" "$LIB_ID"; do
  grep -Eq "	$id	.*sym [0-9.]+ [KM]B" "$TMP/out" || fail "warm --breakpad made none of $id: $(cat "$TMP/out")"
done
sym_id=$("$SYMFS" sym "$PROG" | head -n 1 | cut -d ' ' -f 4)
"$SYMFS" get --offline --cache "$TMP/store-sym" -o "$TMP/got.sym" "breakpad/${PROG##*/}/$sym_id/${PROG##*/}.sym" \
  >/dev/null ||
  fail "warm --breakpad left no file of ${PROG##*/}"
grep -q '^FUNC' "$TMP/got.sym" && grep -q '^STACK CFI' "$TMP/got.sym" ||
  fail "warm --breakpad: $(head -n 5 "$TMP/got.sym")"

# ---- a process, a program, a list --------------------------------------------------------------
rm -rf "$store"
"$NEAR/bin/prog" >/dev/null 2>&1 # runs at all
sleep_id=$(build_id "$(command -v sleep)")
sleep 1000 &
pid=$!
PIDS="$PIDS $pid"
wait_for grep -q libc /proc/$pid/maps || fail "sleep does not start"
warm $pid >"$TMP/out" || fail "warm PID: $(cat "$TMP/warm.err")"
grep -q "	$sleep_id	" "$TMP/out" || fail "warm PID does not know sleep, $sleep_id: $(cat "$TMP/out")"
# All processes: the files of this one are pinned, and the second time nothing is asked for.
printf '#include <unistd.h>\nint main(void) { return pause(); }\n' >"$TMP/waits.c"
gcc -g -Wl,--build-id="$(some_build_id warm waits)" -o "$TMP/waits" "$TMP/waits.c" &&
  objcopy --only-keep-debug "$TMP/waits" "$TMP/waits.debug" || fail gcc
put_gdb "$TMP/waiting" "$TMP/waits.debug" .debug
"$TMP/waits" &
PIDS="$PIDS $!"
for form in whole sym gsym; do
  "$SYMFS" warm --running --as $form --no-default-sources --cache "$TMP/store-running" \
    --source "gdb@$TMP/waiting" >"$TMP/out" 2>"$TMP/warm.err" || fail "warm --running: $(cat "$TMP/warm.err")"
  grep -Eq '^[0-9]+ programs and libraries: [1-9][0-9]* have symbols' "$TMP/out" ||
    fail "--running: $(cat "$TMP/out")"
done
"$SYMFS" cache ls --cache "$TMP/store-running" >"$TMP/out"
grep -q 'sym .*waits.*pinned' "$TMP/out" || fail "--running kept nothing: $(cat "$TMP/out")"
# All programs of this machine, whose debug files no source has.
"$SYMFS" warm --installed --offline --no-default-sources --cache "$TMP/store-installed" >"$TMP/out" 2>"$TMP/err"
grep -Eq '^[1-9][0-9]+ programs and libraries: 0 have symbols' "$TMP/out" ||
  fail "--installed: $(cat "$TMP/out" "$TMP/err")"
"$SYMFS" warm --as zip --running 2>"$TMP/err"
[ $? = 2 ] || fail "warm --as zip: $(cat "$TMP/err")"
# GSYM that is kept alone is there without its debug file, which was evicted.
waits=$(build_id "$TMP/waits")
upstream_start waiting --root "$TMP/waiting"
"$SYMFS" warm --running --as gsym --no-default-sources --cache "$TMP/store-gsym" --source "gdb@$URL_waiting" \
  >"$TMP/warm.out" 2>"$TMP/warm.err" || fail "warm --as gsym: $(cat "$TMP/warm.err")"
"$SYMFS" cache gc --quota 1 --no-default-sources --cache "$TMP/store-gsym" >"$TMP/out" 2>&1 ||
  fail "gc: $(cat "$TMP/out")"
grep -Eq ' [1-9][0-9]* have symbols .*, 0 of them only GSYM, ' "$TMP/warm.out" ||
  fail "coverage: $(cat "$TMP/warm.out")"
"$SYMFS" warm --running --as whole --offline --no-default-sources --cache "$TMP/store-gsym" \
  --source "gdb@$URL_waiting" >"$TMP/out" 2>"$TMP/warm.err"
# If this test runs twice on the machine, --running also finds the program of the other run.
grep -Eq ' ([1-9][0-9]*) have symbols .*, \1 of them only GSYM, ' "$TMP/out" ||
  fail "coverage of GSYM alone: $(cat "$TMP/out")"
[ "$("$SYMFS" cache ls --cache "$TMP/store-gsym" | grep -c pinned)" = 1 ] ||
  fail "GSYM alone: $("$SYMFS" cache ls --cache "$TMP/store-gsym")"
symfs_mount gsym --offline --cache "$TMP/store-gsym"
cp "$MNT_gsym/gsym/$(gdb_path "$waits" .debug).gsym" "$TMP/kept.gsym" || fail "kept GSYM is not in the mount"
symfs_umount gsym
main=0x$(nm "$TMP/waits" | sed -n 's/ T main$//p')
"$SYMFS" gsym lookup "$main" "$TMP/kept.gsym" >"$TMP/out" && grep -q '	main@.*waits.c:2' "$TMP/out" ||
  fail "kept GSYM: $(cat "$TMP/out")"
"$SYMFS" gsym lookup --offline --no-default-sources --cache "$TMP/store-gsym" "$main" "$waits" >"$TMP/out2" 2>&1
cmp "$TMP/out" "$TMP/out2" || fail "kept GSYM by its build id: $(cat "$TMP/out2")"
mkfifo "$TMP/pipe"
timeout 600 "$SYMFS" warm --no-default-sources --cache "$store" "$TMP/pipe" >"$TMP/out" 2>&1 &&
  fail "a pipe is no program"
grep -q 'is not a regular file' "$TMP/out" || fail "warm PIPE: $(cat "$TMP/out")"
warm "$PROG" >"$TMP/out" || fail "warm PROGRAM: $(cat "$TMP/warm.err")"
grep -Eq "	$PROG_ID	elf_debug [0-9.]+ [KM]B" "$TMP/out" || fail "warm PROGRAM: $(cat "$TMP/out")"
printf '# two\nelf_debug %s\n\ngdb/%s\n' "$LIB_ID" "$(gdb_path "$PROG_ID")" | warm - >"$TMP/out" ||
  fail "warm -: $(cat "$TMP/warm.err")"
[ "$(grep -c ' [KM]B$' "$TMP/out")" = 2 ] || fail "warm -: $(cat "$TMP/out")"

# ---- what is wrong -------------------------------------------------------------------------------
echo 'nonsense' | warm - >/dev/null && fail "warm takes nonsense"
grep -q 'line 1: neither a path of a layout, an identifier' "$TMP/warm.err" || fail "warm says $(cat "$TMP/warm.err")"
head -c 20000 "$TMP/core" >"$TMP/cut"
warm "$TMP/cut" >/dev/null && fail "warm takes half a core"
grep -q 'cut short' "$TMP/warm.err" || fail "warm says $(cat "$TMP/warm.err")"
warm "$top_srcdir/README.md" >/dev/null && fail "warm takes a text"
warm 999999999 >/dev/null && fail "warm takes a process that is none"
upstream_fault "$URL_up" '/*' status 503
rm -rf "$store"
warm "$TMP/core" >"$TMP/out"
[ $? = 3 ] || fail "a server that is down: exit status"
# The source is named once; the columns have a word.
[ "$(grep -c '	elf_debug failed	elf_code failed$' "$TMP/out")" -ge 2 ] ||
  fail "warm of a dead source: $(cat "$TMP/out")"
[ "$(grep -c "[0-9]* files failed: gdb@$URL_up: " "$TMP/warm.err")" = 1 ] ||
  fail "warm names a dead source more than once, or not: $(cat "$TMP/warm.err")"
upstream_clear "$URL_up"

rm -r "$NEAR/bin"

# ---- progress ------------------------------------------------------------------------------------
# A line for a file that takes longer than half a second, on a terminal only, also while stacks are named.
if command -v script >/dev/null; then
  # draws BYTES/S COMMAND-LINE
  draws() {
    upstream_clear "$URL_up"
    upstream_fault "$URL_up" '/*' trickle "$1"
    rm -rf "$store"
    SHELL=/bin/sh script -qec "$SYMFS $2" /dev/null </dev/null >"$TMP/out" 2>&1
    grep -qE ' % of [0-9.]+ MB, [0-9.]+ MB/s(, [0-9]+ s left)?, from gdb@' "$TMP/out"
  }
  for line in "get --type elf_code $LIB_ID" "symbolicate $TMP/core" \
    "core --source debuginfod@$URL_up/none $TMP/core -- true"; do
    line="${line%% *} --no-default-sources --cache $store --source gdb@$URL_up ${line#* }"
    # On a busy machine a download may end before the command looks at it.
    draws 5000 "$line" || draws 1000 "$line" || draws 1000 "$line" ||
      fail "no progress of $line: $(cat "$TMP/out")"
    rm -rf "$store"
    # shellcheck disable=SC2086 # words
    "$SYMFS" $line >"$TMP/out" 2>"$TMP/err"
    grep -q ' % of ' "$TMP/out" "$TMP/err" && fail "progress without a terminal: $(cat "$TMP/out" "$TMP/err")"
  done
  upstream_clear "$URL_up"
fi

# ---- a debugger ------------------------------------------------------------------------------------
for gone in "$PROG_ID" "$LIB_ID"; do
  # Only the server has them, and the store that the mount fills.
  find "$TMP" -path "$FAR" -prune -o -path "$TMP/store-*" -prune -o -type f -size +1k -print | while read -r file; do
    [ "$(build_id "$file" 2>/dev/null)" != "$gone" ] || echo "$file"
  done >"$TMP/left"
  [ ! -s "$TMP/left" ] || fail "it is still on this machine: $(cat "$TMP/left")"
done
# in_order TEXT REGEX...: the lines that match come one right after the other.
in_order() {
  io_at=0 io_text=$1
  shift
  for io_re; do
    io_next=$(printf '%s\n' "$io_text" | grep -nE -- "$io_re" | head -n 1 | cut -d: -f1)
    [ -n "$io_next" ] || fail "no frame matches $io_re: $io_text"
    [ $io_at = 0 ] || [ "$io_next" = $((io_at + 1)) ] || fail "frames are missing before $io_re: $io_text"
    io_at=$io_next
  done
}
core() {
  timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-core" --source "gdb@$URL_up" "$TMP/core" \
    -- "$@" 2>&1
}
# Its directories are made here, where no other test makes any.
mkdir "$TMP/tmp"
TMPDIR=$TMP/tmp
export TMPDIR
for debugger in "gdb -nx -batch -ex bt" "lldb --batch -o bt"; do
  command -v "${debugger%% *}" >/dev/null || { say "${debugger%% *} is not installed"; continue; }
  if [ "${debugger%% *}" = gdb ]; then
    out=$(core gdb -nx -batch -ex bt)
    in_order "$out" '^#[0-9]+ .* in deeper \(n=3\) at prog-lib\.c:3$' \
      '^#[0-9]+ .* in prog_entry \(n=3\) at prog-lib\.c:4$' \
      '^#[0-9]+ .* in work \(argc=3\) at prog\.c:2$' '^#[0-9]+ .* in main \(argc=3, .*\) at prog\.c:5$'
  else
    out=$(core lldb --batch -o bt)
    in_order "$out" 'frame #[0-9]+: .*libprog\.so`deeper\(n=3\) at prog-lib\.c:3' \
      'frame #[0-9]+: .*libprog\.so`prog_entry\(n=3\) at prog-lib\.c:4' \
      'frame #[0-9]+: .*prog`work\(argc=3\) at prog\.c:2' 'frame #[0-9]+: .*prog`main\(argc=3,.* at prog\.c:5'
  fi
  expect "symfs core" "$out" '^symfs core: modules: [0-9]+ local, 2 to be fetched, 0 without build id$'
done
[ -z "$(ls "$TMPDIR")" ] || fail "a directory is left behind: $(ls "$TMPDIR")"
grep -q " $TMPDIR/" /proc/self/mountinfo && fail "a mount is left behind"
core sh -c 'exit 7'
[ $? = 7 ] || fail "the exit status is not that of the debugger"
# What stands at the path of a module is opened only if it is a file: an open wakes a pipe's writer.
mkdir -p "$NEAR/bin"
mkfifo "$NEAR/bin/libprog.so" || fail "mkfifo"
(echo opened >"$NEAR/bin/libprog.so") 2>/dev/null &
writer=$!
PIDS="$PIDS $writer"
writes() { [ "$(cut -d" " -f3 "/proc/$writer/stat")" = S ]; }
wait_for writes || fail "the pipe's writer does not wait: $(cat "/proc/$writer/stat")"
core sh -c 'exit 7'
[ $? = 7 ] || fail "symfs core with a pipe at the path of a module"
gone $writer && fail "symfs core opens a pipe that a core names"
kill $writer
rm "$NEAR/bin/libprog.so"
# A signal that ends the command ends the debugger, and no mount stays behind. SIGHUP is no such signal where the
# caller ignores it, as nohup does.
for row in TERM:default:143 HUP:default:129 'HUP TERM:ignore:143'; do
  signals=${row%%:*} rest=${row#*:}
  rm -f "$TMP/ready"
  env --"${rest%:*}"-signal=HUP "$SYMFS" core --no-default-sources --cache "$TMP/store-core" --source "gdb@$URL_up" \
    "$TMP/core" -- env --default-signal=HUP sh -c 'echo >"$0"; exec sleep 600' "$TMP/ready" >"$TMP/out" 2>&1 &
  command=$!
  PIDS="$PIDS $command"
  wait_for test -s "$TMP/ready" || fail "no debugger: $(cat "$TMP/out")"
  for signal in $signals; do kill -$signal $command; done
  wait_gone $command || fail "$row: symfs core stays"
  wait $command
  r=$?
  [ $r = "${rest#*:}" ] || fail "$row: symfs core: exit $r: $(cat "$TMP/out")"
  grep " $TMPDIR/" /proc/self/mountinfo && fail "$row: a mount is left behind"
done
# A closed pipe ends the debugger, and no mount stays behind although there is more to print.
{
  timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-pipe" --source debuginfod@http://127.0.0.1:1/ \
    "$TMP/core" -- sh -c 'while echo line; do :; done' 2>&1
  echo $? >"$TMP/status"
} | grep -m 1 -q '^line$' || fail "the debugger printed nothing"
[ "$(cat "$TMP/status")" = 141 ] || fail "symfs core with a closed pipe: exit $(cat "$TMP/status")"
grep " $TMPDIR/" /proc/self/mountinfo && fail "a closed pipe leaves a mount behind"
# A module whose path goes through another module is left out, and the others are there.
ODD=$NEAR/bin/libprog.so
THERE=$NEAR/bin/prog/xxxxx
[ ${#ODD} = ${#THERE} ] || fail "$ODD and $THERE have different lengths"
LC_ALL=C sed "s|$ODD|$THERE|g" "$TMP/core" >"$TMP/core-odd"
timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-core" --source "gdb@$URL_up" "$TMP/core-odd" -- \
  sh -c 'exit 7' >"$TMP/out" 2>&1
[ $? = 7 ] && grep -q 'left out: 1 module with' "$TMP/out" || fail "a module below another: $(cat "$TMP/out")"
"$SYMFS" core "$top_srcdir/README.md" 2>"$TMP/err" && fail "symfs core takes a text"
grep -q 'is not a core file' "$TMP/err" || fail "symfs core says $(cat "$TMP/err")"
"$SYMFS" core "$(command -v sleep)" 2>"$TMP/err" && fail "symfs core takes a program"
grep -q 'is not a core file' "$TMP/err" || fail "symfs core PROGRAM says $(cat "$TMP/err")"

# A library that the dynamic linker opened by its soname, a link to the file in the core: its version is longer.
mkdir "$TMP/versions" && cd "$TMP/versions" || exit 1
echo 'void die(void); void die(void) { __builtin_trap(); }' >lib.c
echo 'void die(void); int main(void) { die(); return 0; }' >main.c
gcc -g -O0 -fPIC -shared -Wl,-soname,libdie.so.2 -Wl,--build-id="$(some_build_id libdie)" -o libdie.so.2.10.3 lib.c &&
  ln -s libdie.so.2.10.3 libdie.so.2 &&
  gcc -g -O0 -Wl,--build-id="$(some_build_id die)" -o die main.c libdie.so.2.10.3 -Wl,-rpath,"$TMP/versions" ||
  fail gcc
timeout 600 gdb -nx -batch -ex run -ex "generate-core-file $TMP/core-versions" ./die >"$TMP/versions.log" 2>&1
[ -s "$TMP/core-versions" ] || fail "gdb writes no core: $(cat "$TMP/versions.log")"
"$SYMFS" add --cache "$TMP/store-core" die libdie.so.2.10.3 >"$TMP/out" || fail "add: $(cat "$TMP/out")"
cd "$TMP" && mv versions elsewhere-versions || exit 1
timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-core" --offline core-versions -- gdb \
  -nx -batch -ex bt >"$TMP/out" 2>&1
grep -q 'die () at lib.c:1' "$TMP/out" && grep -q 'in main () at main.c:1' "$TMP/out" ||
  fail "a library under its soname: $(cat "$TMP/out")"
# What pretty printers load beside a library, they find.
timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-core" --offline core-versions -- gdb \
  -nx -batch -ex 'python import os; print(os.listdir(gdb.parameter("sysroot") + "/usr/share") != [])' \
  >"$TMP/out" 2>&1
grep -qx True "$TMP/out" || fail "no /usr/share beside libraries: $(cat "$TMP/out")"
# Without the program there is a sentence, and no error of gdb about a path that is not there.
timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-none" --offline core-versions -- gdb -nx -batch \
  >"$TMP/out" 2>&1
grep -q 'the program of the core: .*; a debugger names nothing without it' "$TMP/out" ||
  fail "core: $(cat "$TMP/out")"
grep 'root/.*/die: No such file' "$TMP/out" && fail "gdb's error"
# Why the files are missing is in the mount's log, which the command prints after the debugger's end.
upstream_fault "$URL_up" '*' status 401
timeout 600 "$SYMFS" core --no-default-sources --cache "$TMP/store-denied" --source "gdb@$URL_up" core-versions -- \
  gdb -nx -batch -ex bt >"$TMP/out" 2>&1
upstream_clear "$URL_up"
grep -q 'HTTP 401' "$TMP/out" || fail "symfs core does not say why: $(cat "$TMP/out")"
grep -q 'logs nothing\|logs to' "$TMP/out" && fail "symfs core speaks of its mount: $(cat "$TMP/out")"

mkdir "$TMP/no-files"
"$SYMFS" get --offline --cache "$TMP/store-none" "$TMP/no-files" 2>"$TMP/err" && fail "get of an empty directory"
grep -q '^symfs get: .*: has neither core files' "$TMP/err" || fail "get of a directory: $(cat "$TMP/err")"
printf 'MDMP0123456789' >"$TMP/crash.dmp"
for command in core debug; do
  "$SYMFS" $command "$TMP/crash.dmp" 2>"$TMP/err"
  [ $? = 1 ] && grep -q 'is a minidump, not a core file; .symfs get FILE. fetches its files' "$TMP/err" ||
    fail "symfs $command MINIDUMP says $(cat "$TMP/err")"
done
# The dynamic linker is there by the name that the program has for it, and is that of the core.
interp=$(readelf -l "$(command -v sleep)" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
out=$(core sh -c 'for word; do case $word in "set sysroot "*) readlink -f "${word#set sysroot }$0" ;; esac; done' \
  "$interp" | tail -n 1)
[ -n "$interp" ] && [ "$out" = "$(readlink -f "$interp")" ] || fail "the dynamic linker $interp is $out"

# The minidumps of others, where they are.
[ -d "$top_srcdir/../shared/fixtures/built/minidump" ] ||
  part_skipped "no ../shared/fixtures/built/minidump: minidumps of other programs"
for dump in "$top_srcdir"/../shared/fixtures/built/minidump/*.dmp; do
  [ -f "$dump" ] || continue
  warm --breakpad --offline "$dump" >"$TMP/out" || fail "warm $dump: $(cat "$TMP/warm.err")"
  say "$(basename "$dump"): $(wc -l <"$TMP/out") modules"
done
