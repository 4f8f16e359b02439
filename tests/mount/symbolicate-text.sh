#!/bin/sh
# symfs symbolicate --text, and POST /symbolicate/text: stacks of each format get names, and every other byte stays.
# gdb, eu-stack and lldb make their samples here, of a program that crashes in an inlined call. The other samples are
# written here, with the addresses of the same crash. SYMFS_SAMPLES=yes prints each sample before and after.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need gcc objcopy strip readelf gdb curl
cd "$TMP" || exit 1
BIN=$TMP/bin
mkdir -p bin src breakpad

cat >src/lib.c <<'EOC'
#include <stddef.h>
static inline __attribute__((always_inline)) int inner(volatile int *p, int n) { return p[n] + n; }
__attribute__((noinline)) int deep(int n) { int one[2] = {1, n}; return inner(n == 9 ? NULL : one, n & 1) + 1; }
__attribute__((noinline)) int outer(int n) { return deep(n) * 3; }
EOC
cat >src/main.c <<'EOC'
int outer(int);
static __attribute__((noinline)) int start(int n) { return outer(n) + 2; }
int main(int argc, char **argv) { return start(argc + 7) == 0; }
EOC
(cd src && gcc -g -O1 -fPIC -shared -Wl,-soname,libcrash.so -Wl,--build-id=sha1 -o ../bin/libcrash.so lib.c &&
  gcc -g -O1 -Wl,--build-id=sha1 -o ../bin/prog main.c ../bin/libcrash.so -Wl,-rpath,"$BIN" &&
  gcc -g -O1 -no-pie -fno-pie -Wl,--build-id=sha1 -o ../bin/fixed main.c ../bin/libcrash.so -Wl,-rpath,"$BIN") ||
  fail gcc
for f in prog fixed libcrash.so; do
  objcopy --only-keep-debug bin/$f $f.debug && strip bin/$f || fail objcopy
  put_gdb far $f.debug .debug
  put_gdb far bin/$f
  rm $f.debug
done
PROG_ID=$(build_id bin/prog) LIB_ID=$(build_id bin/libcrash.so)

text() { "$SYMFS" symbolicate --text --no-default-sources --source "gdb@$TMP/far" --source "breakpad@$TMP/breakpad" \
  --cache store "$@"; }

# sample NAME [STATUS]: names in NAME.txt, to NAME.out. The status is 1 for a text of which nothing gets a name.
sample() {
  text "$1.txt" >"$1.out" 2>"$1.log"
  rc=$?
  [ $rc = "${2:-0}" ] || fail "$1: exit status $rc: $(cat "$1.out" "$1.log")"
  [ "${SYMFS_SAMPLES:-}" != yes ] || { say "=== $1, before"; cat "$1.txt"; say "=== $1, after"; cat "$1.out"; }
}
# has NAME LINE...: each is a line of NAME.out, as a regular expression.
has() {
  has_name=$1
  shift
  for line; do
    grep -q -- "^$line\$" "$has_name.out" || fail "$has_name: no line $line in: $(cat "$has_name.out")"
  done
}
# rest_same NAME: the lines without a name that was put in are those of the sample, in their order.
rest_same() {
  grep -v "$TMP/src/\|_start" "$1.out" >"$1.rest"
  diff "$1.txt" "$1.rest" | grep -q '^>' && fail "$1: other lines changed: $(diff "$1.txt" "$1.rest")"
  return 0
}
L=$TMP/src/lib.c M=$TMP/src/main.c X='0x[0-9a-f]*'

# ---- gdb, eu-stack, lldb ----------------------------------------------------------------------
debug() { # PROGRAM COMMANDS...
  program=$1
  shift
  timeout 600 gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex bt "$@" --args "$program" x 2>/dev/null \
    </dev/null
}
debug bin/prog -ex 'info sharedlibrary' -ex 'info proc mappings' -ex 'generate-core-file core' >gdb.txt
grep -q SIGSEGV gdb.txt && [ -s core ] || skip "gdb cannot run a program here: $(tail -n 1 gdb.txt)"
sample gdb
has gdb "#0  $X in inner (inlined) at $L:2" "#0  $X in deep at $L:3 from $BIN/libcrash.so \[unverified\]" \
  "#1  $X in outer at $L:4 from $BIN/libcrash.so \[unverified\]" "#2  $X in start at $M:2 \[unverified\]" \
  "#3  $X in main at $M:3 \[unverified\]"
rest_same gdb

# The addresses of libraries alone: a program that is not position-independent needs no more.
debug bin/fixed -ex 'info sharedlibrary' >gdb-fixed.txt
{ echo "Reading symbols from $BIN/fixed..."; cat gdb-fixed.txt; } >more && mv more gdb-fixed.txt
sample gdb-fixed
has gdb-fixed "#0  $X in inner (inlined) at $L:2" "#0  $X in deep at $L:3 from $BIN/libcrash.so \[unverified\]" \
  "#2  $X in start at $M:2 \[unverified\]" "#3  $X in main at $M:3 \[unverified\]"
rest_same gdb-fixed

# A file that is gone, or that the text calls deleted, gives no name. Ids in the text do.
mv bin away
text gdb.txt >gone.out 2>gone.log
[ $? = 1 ] || fail "gdb, without files, does not end with 1: $(cat gone.log)"
grep -q 'no frame got a name$' gone.log &&
  grep -q 'neither an id in the text nor a file with one on this machine for: .*/bin/prog' gone.log ||
  fail "gdb, without files: $(cat gone.log)"
cmp gdb.txt gone.out || fail "gdb, without files: $(cat gone.out)"
mv away bin

if command -v eu-stack >/dev/null && command -v eu-unstrip >/dev/null; then
  eu-stack --core core -m >stack.txt 2>/dev/null
  eu-unstrip -n --core core >list.txt 2>/dev/null || fail eu-unstrip
  cat stack.txt list.txt >elfutils.txt
  grep -q '^#1 ' elfutils.txt || fail "eu-stack: $(cat elfutils.txt)"
  mv bin away
  sample elfutils
  mv away bin
  has elfutils "#0  $X inner (inlined) at $L:2" "#0  $X deep at $L:3 - .*libcrash.so" \
    "#1  $X outer at $L:4 - .*libcrash.so" "#2  $X start at $M:2 - $BIN/prog" "#3  $X main at $M:3 - $BIN/prog"
  rest_same elfutils
  eu-stack --core core -m -b >elfutils-ids.txt 2>/dev/null
  sample elfutils-ids
  has elfutils-ids "#0  $X inner (inlined) at $L:2" "#1  $X outer at $L:4 - .*libcrash.so" \
    "#2  $X start at $M:2 - $BIN/prog"
  rest_same elfutils-ids
else
  say "no eu-stack"
fi

if command -v lldb >/dev/null; then
  timeout 600 lldb -x -b -o 'settings set symbols.enable-external-lookup false' -o bt -o 'image list' \
    -c core bin/prog \
    >lldb.txt 2>lldb.log </dev/null
  if grep -q 'frame #2' lldb.txt; then
    sample lldb
    has lldb ".* frame #0: $X libcrash.so.inner (inlined) at $L:2" ".* frame #0: $X libcrash.so.deep at $L:3" \
      ".* frame #2: $X prog.start at $M:2"
    rest_same lldb
  else
    say "lldb walks no core here"
  fi
fi

# ---- formats whose tools are not here: written with the addresses of the crash ------------------
# places: "NUMBER ADDRESS OFFSET ID NAME PATH" for each frame of the program and the library, from gdb's backtrace.
# gdb 16 ends the lines of mappings with a blank.
base_of() { sed -n "s|^ *\(0x[0-9a-f]*\) .* 0x0  *r--p  *$BIN/$1 *\$|\1|p" gdb.txt | head -n 1; }
P=$(base_of prog) B=$(base_of libcrash.so)
[ -n "$P" ] && [ -n "$B" ] || fail "gdb's mappings: $(cat gdb.txt)"
places() {
  sed -n 's/^#\([0-3]\)  \(0x[0-9a-f]*\) in .*/\1 \2/p' gdb.txt | while read -r n address; do
    case $n in 0 | 1) base=$B id=$LIB_ID name=libcrash.so ;; *) base=$P id=$PROG_ID name=prog ;; esac
    echo "$n $address $((address - base)) $id $name"
  done
}
[ "$(places | wc -l)" = 4 ] || fail "places: $(places)"

# systemd 252 writes the offset from the beginning of the module. A caller's is that of the return address.
{
  echo "           PID: 7 (prog)"
  echo "       Message: Process 7 (prog) of user 0 dumped core."
  echo "                "
  echo "                Module libcrash.so with build-id $LIB_ID"
  echo "                Module prog with build-id $PROG_ID"
  echo "                Stack trace of thread 7:"
  places | while read -r n address offset id name; do
    printf '                #%s  0x%016x n/a (%s + 0x%x)\n' "$n" "$((address))" "$name" "$offset"
  done
  echo "                #4  0x00007f25d8f3b24a n/a (libnone.so + 0x27249)"
  echo "                ELF object binary architecture: AMD x86-64"
} >systemd.txt
sample systemd
has systemd " *#0  $X inner (inlined) at $L:2 *" " *#0  $X deep at $L:3 (libcrash.so + $X)" \
  " *#1  $X outer at $L:4 (libcrash.so + $X)" " *#2  $X start at $M:2 (prog + $X)" " *#3  $X main at $M:3 (prog + $X)"
rest_same systemd
# The journal's field with packages has the ids, too.
{
  sed '/with build-id/d' systemd.txt
  prog="\"prog\":{\"type\":\"deb\",\"buildId\":\"$PROG_ID\"}"
  echo "COREDUMP_PACKAGE_JSON={\"elfType\":\"coredump\",$prog,\"libcrash.so\":{\"buildId\":\"$LIB_ID\"}}"
} >systemd-json.txt
sample systemd-json
has systemd-json " *#0  $X inner (inlined) at $L:2 *" " *#2  $X start at $M:2 (prog + $X)"
rest_same systemd-json

# Android: the address in the file; that of a caller is within the call.
{
  echo "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***"
  echo "signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x4"
  echo "backtrace:"
  places | while read -r n address offset id name; do
    [ "$n" = 0 ] || offset=$((offset - 1))
    printf '      #%02d pc %016x  /system/lib64/%s%s (BuildId: %s)\n' "$n" "$offset" "$name" \
      "$([ "$n" = 1 ] && echo ' (outer+9)')" "$id"
  done
  echo "      #04 pc 0000000000012345  /data/app/base.apk!libgone.so (offset 0x1000) (BuildId:" \
    "00112233445566778899aabbccddeeff)"
} >android.txt
sample android
has android " *#00 pc [0-9a-f]*  /system/lib64/libcrash.so (inner (inlined) at $L:2)" \
  " *#00 pc [0-9a-f]*  /system/lib64/libcrash.so (deep at $L:3) (BuildId: $LIB_ID)" \
  " *#01 pc [0-9a-f]*  /system/lib64/libcrash.so (outer at $L:4) (BuildId: $LIB_ID)" \
  " *#02 pc [0-9a-f]*  /system/lib64/prog (start at $M:2) (BuildId: $PROG_ID)"
rest_same android

# perf script 6.1 writes offsets in the file; its first line of a sample is no caller.
{
  echo "prog     7  2109.823139:    5000000 cpu-clock:u: "
  places | while read -r n address offset id name; do
    printf '\t%16x %s (%s/%s)\n' "$offset" "$([ "$n" = 1 ] && echo 'outer+0x9' || echo '[unknown]')" "$BIN" "$name"
  done
  printf '\t               0 [unknown] ([unknown])\n\n'
} >perf.txt
sample perf
has perf "	 *[0-9a-f]* inner (inlined) at $L:2" "	 *[0-9a-f]* deep at $L:3 ($BIN/libcrash.so) \[unverified\]" \
  "	 *[0-9a-f]* outer at $L:4 ($BIN/libcrash.so) \[unverified\]" \
  "	 *[0-9a-f]* start at $M:2 ($BIN/prog) \[unverified\]"
rest_same perf
{ printf '%s %s\n' "$PROG_ID" "$BIN/prog" "$LIB_ID" "$BIN/libcrash.so"; cat perf.txt; } >perf-ids.txt
sample perf-ids
has perf-ids "	 *[0-9a-f]* deep at $L:3 ($BIN/libcrash.so)" "	 *[0-9a-f]* start at $M:2 ($BIN/prog)"

# Apple's reports, with a Breakpad file of the program.
UUID=11111111222233334444555555555555
mkdir -p "breakpad/App/${UUID}0"
cat >"breakpad/App/${UUID}0/App.sym" <<EOC
MODULE mac arm64 ${UUID}0 App
FILE 0 $TMP/src/App.swift
INLINE_ORIGIN 0 tapped
FUNC 1000 40 0 handle
INLINE 0 12 0 0 1010 8
1000 10 10 0
1010 8 3 0
1018 28 13 0
FUNC 2000 20 0 main
2000 20 20 0
EOC
dashed=11111111-2222-3333-4444-555555555555
cat >apple-ips.txt <<EOC
{"app_name":"App","bug_type":"309"}
{
  "usedImages" : [{"source":"P","base":4294967296,"uuid":"$dashed","path":"\/Applications\/App","name":"App"},
    {"base":0,"uuid":"00000000-0000-0000-0000-000000000000","name":"???"}],
  "lastExceptionBacktrace" : [{"imageOffset":8192,"imageIndex":0}],
  "threads" : [{"triggered":true,"id":1,"frames":[{"imageOffset":4116,"imageIndex":0},
    {"imageOffset":8196,"imageIndex":0},{"imageOffset":5,"symbol":"known","imageIndex":0},
    {"imageOffset":7,"imageIndex":1}]}]
}
EOC
sample apple-ips
in_app="\"sourceFile\":\"$TMP/src/App.swift\",\"sourceLine\"" first="\"imageOffset\":4116,\"imageIndex\":0"
tapped="{\"inline\":true,\"symbol\":\"tapped\",$in_app:3,$first}"
grep -qF "\"frames\":[$tapped,{\"symbolLocation\":20,\"symbol\":\"handle\",$in_app:12,$first}," apple-ips.out ||
  fail "apple-ips: $(cat apple-ips.out)"
second="\"imageOffset\":8196,\"imageIndex\":0"
grep -qF "{\"symbolLocation\":4,\"symbol\":\"main\",$in_app:20,$second},{\"imageOffset\":5,\"symbol\":\"known\"" \
  apple-ips.out ||
  fail "apple-ips: $(cat apple-ips.out)"
last="{\"symbolLocation\":0,\"symbol\":\"main\",$in_app:20,\"imageOffset\":8192,"
grep -qF "\"lastExceptionBacktrace\" : [$last" apple-ips.out ||
  fail "apple-ips: $(cat apple-ips.out)"
cat >apple-crash.txt <<EOC
Process:               App [7]

Thread 0 Crashed:
0   App                           	0x0000000100001014 0x100000000 + 4116
1   App                           	0x0000000100002004 App + 8196
2   libdyld.dylib                 	0x00007fff20000010 start + 1

Binary Images:
       0x100000000 -        0x100007fff +com.example.App (1.0 - 1) <$dashed> /Applications/App
EOC
sample apple-crash
has apple-crash "0   App *	$X tapped (inlined) at $TMP/src/App.swift:3" \
  "0   App *	$X handle at $TMP/src/App.swift:12" \
  "1   App *	$X main at $TMP/src/App.swift:20"
rest_same apple-crash

# rust-minidump: an ELF module, and a Windows program with a Breakpad file.
mkdir -p breakpad/win.pdb/22222222222222222222222222222222a
printf '%s\n' 'MODULE windows x86_64 22222222222222222222222222222222a win.pdb' 'FILE 0 c:/win.c' \
  'FUNC 1000 40 0 win_work' '1000 40 7 0' \
  >breakpad/win.pdb/22222222222222222222222222222222a/win.sym
member() { # MODULE OFFSET
  printf '{"file": null, "frame": 0, "function": null, "function_offset": null, "inlines": null, "line": null, '
  printf '"missing_symbols": true, "module": "%s", "module_offset": "0x%x", "trust": "scan"}' "$1" "$2"
}
crash=$(places | sed -n 's/^0 [^ ]* \([0-9]*\) .*/\1/p')
cat >minidump.txt <<EOC
{"crash_info": {"type": "SIGSEGV"}, "crashing_thread": {"frame_count": 1, "frames": [$(member libcrash.so "$crash")]},
 "modules": [{"filename": "libcrash.so", "code_id": "$LIB_ID", "debug_file": "libcrash.so",
   "debug_id": "$(echo "$LIB_ID" | cut -c1-32)0"},
  {"filename": "win.exe", "code_id": "5AB380779000", "debug_file": "win.pdb",
   "debug_id": "22222222222222222222222222222222a"}],
 "system_info": {"os": "Linux"}, "threads": [{"frames": [$(member libcrash.so "$crash"), $(member win.exe 4128)]}]}
EOC
sample minidump
deep="{\"file\": \"$L\", \"frame\": 0, \"function\": \"deep\", \"function_offset\": null"
n=$(grep -oF "$deep, \"inlines\": [{\"function\":\"inner\",\"file\":\"$L\",\"line\":2}], \"line\": 3," minidump.out |
  wc -l)
[ "$n" = 2 ] || fail "minidump: $n frames: $(cat minidump.out)"
win_work='{"file": "c:\\win.c", "frame": 0, "function": "win_work", "function_offset": null'
grep -qF "$win_work, \"inlines\": null, \"line\": 7," minidump.out ||
  fail "minidump: $(cat minidump.out)"

# Go: the instruction of a crash in C, of a real run, or else of a program in C.
if command -v go >/dev/null; then
  mkdir -p cgo
  cat >cgo/c.go <<'EOG'
package main

/*
#cgo CFLAGS: -g -O1
static __attribute__((noinline)) int deep(int *p) { return *p + 1; }
static __attribute__((noinline)) int crash(int n) { return deep(n > 3 ? 0 : &n) * 2; }
*/
import "C"
import "fmt"

func main() { fmt.Println(C.crash(7)) }
EOG
  (cd cgo && GO111MODULE=off GOCACHE=$TMP/cgo/cache HOME=$TMP go build -ldflags \
    "-extldflags '-no-pie -Wl,--build-id=sha1'" -o c c.go) >go.log 2>&1 || fail "go: $(cat go.log)"
  { echo "\$ $TMP/cgo/c 7"; cgo/c 2>&1; } >go.txt
  grep -q '^goroutine 1 \[' go.txt || fail "Go printed no traceback: $(cat go.txt)"
  sample go
  has go "\[signal SIGSEGV: .* pc=$X deep at $TMP/cgo/c.go:5\] \[unverified\]"
  [ "$(diff go.txt go.out | grep -c '^>')" = 1 ] || fail "go: $(diff go.txt go.out)"
else
  part_skipped "go is not installed"
fi
start_at=$(sed -n 's/^#2  \(0x[0-9a-f]*\) .*/\1/p' gdb-fixed.txt | head -n 1)
{
  echo "\$ $BIN/fixed x"; echo "SIGSEGV: segmentation violation"
  printf 'PC=%s m=0 sigcode=1\nsignal arrived during cgo execution\n\n' "$(printf '0x%x' $((start_at - 1)))"
  printf 'goroutine 1 [syscall]:\nruntime.cgocall(0x482e98, 0xc00004bf38)\n\t/usr/lib/go/cgocall.go:158 +0x5c\n'
  printf 'non-Go function at pc=%s\n' 0x1 "$start_at"
} >go-c.txt
sample go-c
has go-c "PC=$X start at $M:2 m=0 sigcode=1 \[unverified\]" "non-Go function at pc=$X start at $M:2 \[unverified\]"

# .NET: methods by token and offset in IL, of a program beside the text and its PDB.
NET=$top_srcdir/../shared/fixtures/ppdb
if [ -f "$NET/integration.dll" ]; then
  cp "$NET/integration.dll" foo.dll
  "$SYMFS" add --cache store --no-default-sources foo.dll "$NET/portable.pdb" >add.out || fail "add: $(cat add.out)"
  cat >dotnet.txt <<'EON'
Unhandled exception. System.InvalidOperationException: no
   at StackTraceSample.MyInternalClass.ThrowsException() in foo.dll:token 0x6000007+0x0
   at StackTraceSample.Main(String[] args) in foo.dll:token 0x6000001+0x11
   at System.Threading.Thread.StartCallback() in gone.dll:token 0x6000001+0x1
   at Other.Program.Main() in C:\\src\\Program.cs:line 12
EON
  sample dotnet
  has dotnet "   at StackTraceSample.MyInternalClass.ThrowsException() in /.*/foo/Program.cs:line 81 \[unverified\]" \
    "   at StackTraceSample.Main(String\[\] args) in /.*/foo/Program.cs:line 15 \[unverified\]"
  [ "$(diff dotnet.txt dotnet.out | grep -c '^>')" = 2 ] || fail "dotnet: $(diff dotnet.txt dotnet.out)"
  rm foo.dll
else
  part_skipped "no ../shared/fixtures/ppdb: a program of .NET"
fi

# Mangled names of modules that are not here, also in text without a stack.
cat >mangled.txt <<'EON'
00 0012fe74 00401234 app!?test1@@YAXPAH@Z+0x12
01 0012fe78 00401278 app!??R<lambda_1>@@QEBA@H@Z <?test1@@YAXPAH@Z>
undefined symbol: _ZN3foo3bazEv@@V1, and x_ZN3foo3bazEv or ?x.
#1  0x0000000000000131 in _ZN3foo3barEi () from /nowhere/libx.so
EON
sample mangled 1
has mangled '00 0012fe74 00401234 app!test1(int \*)+0x12' \
  '01 0012fe78 00401278 app!<lambda_1>::operator()(int) const <test1(int \*)>' \
    'undefined symbol: foo::baz()@@V1, and x_ZN3foo3bazEv or ?x.' \
  '#1  0x0000000000000131 in foo::bar(int) () from /nowhere/libx.so'
sed 4d mangled.txt >mangled-only.txt
sample mangled-only
text --mangled mangled.txt >mangled.out 2>mangled.log
cmp mangled.txt mangled.out || fail "--mangled: $(cat mangled.out)"

# ---- what must not change, and what must not be believed ----------------------------------------
# CRLF, NUL, bytes that are not UTF-8, and a last line without its end.
printf 'a\000b \377\r\n#0  0x0000000000001151 n/a (none + 0x1)\r\n\r\n    #1 0x1  (/nowhere/x+0x1)\n\tend' >odd.txt
sample odd 1
cmp odd.txt odd.out || fail "bytes of a text without names"
sed 's/$/\r/' systemd.txt >crlf.txt
sample crlf
tr -d '\r' <crlf.out | cmp - systemd.out || fail "CRLF: $(cat crlf.out)"
[ "$(grep -c "$(printf '\r')" crlf.out)" = "$(wc -l <crlf.out)" ] || fail "CRLF: some lines lack it"
# Another build at the path: the id in the text counts, and without an id the file at a "(deleted)" path does not.
crash_at=$(printf '%x' "$crash")
cp bin/libcrash.so kept && cp bin/prog bin/libcrash.so
printf '    #0 0x1  (%s/libcrash.so+0x%s) (BuildId: %s)\n' "$BIN" "$crash_at" "$LIB_ID" >other.txt
sample other
has other "    #0 0x1 in deep at $L:3 ($BIN/libcrash.so+$X) (BuildId: $LIB_ID)"
cp kept bin/libcrash.so
printf '    #0 0x1  (%s/libcrash.so (deleted)+0x%s)\n#0  0x1 n/a (%s/libcrash.so (deleted) + 0x%s)\n' "$BIN" \
  "$crash_at" "$BIN" "$crash_at" >deleted.txt
sample deleted 1
cmp deleted.txt deleted.out || fail "a deleted file: $(cat deleted.out)"
# A name with a control character, from a symbol file.
mkdir -p breakpad/esc/333333333333333333333333333333330
printf 'MODULE Linux x86_64 333333333333333333333333333333330 esc\nFUNC 0 10 0 bad\033[31mname\n' \
  >breakpad/esc/333333333333333333333333333333330/esc.sym
printf '#0  0x5 n/a (esc + 0x5)\nModule esc with build-id 33333333333333333333333333333333\n' >escape.txt
sample escape
has escape '#0  0x5 bad\\x1b\[31mname (esc + 0x5)'

# Names of modules: UTF-8 is the name of a Breakpad file, too; for control characters and other bytes the id counts.
id=444444444444444444444444444444440 bad=$(printf 'a\033"b') odd=$(printf 'a\377b')
mkdir -p "breakpad/bücher/$id"
printf 'MODULE Linux x86_64 %s bücher\nFUNC 0 10 0 lesen\n' "$id" >"breakpad/bücher/$id/bücher.sym"
{
  printf '#0  0x5 n/a (bücher + 0x5)\nModule bücher with build-id %s\n' "${id%0}"
  printf "#0  0x$crash_at n/a (%s + 0x$crash_at)\\nModule %s with build-id $LIB_ID\\n" "$bad" "$bad" "$odd" "$odd"
} >names.txt
sample names
has names '#0  0x5 lesen (bücher + 0x5)' "#0  0x$crash_at deep at $L:3 ($bad + 0x$crash_at)" \
  "#0  0x$crash_at deep at $L:3 ($odd + 0x$crash_at)"

# A request stays a request; a text without stacks is printed as it is.
printf '{"memoryMap": [{"type": "elf", "code_id": "%s", "code_file": "libcrash.so"}], "stacks": [[[0, %s]]]}' \
  "$LIB_ID" "$crash" >request
text request >request.out || fail "a request: $(cat request.out)"
grep -q "^  0  libcrash.so  deep + 0x[0-9a-f]* at $L:3\$" request.out || fail "a request: $(cat request.out)"
# A frame of a request with an address as the file's symbols have it.
linked=$(sed -n 's/^#2  \(0x[0-9a-f]*\) .*/\1/p' gdb-fixed.txt | head -n 1)
printf '{"memoryMap": [{"type": "elf", "code_id": "%s", "code_file": "f"}],
  "stacks": [[{"addr_mode": "link:0", "instruction_addr": "0x%x"}]]}' \
  "$(build_id bin/fixed)" $((linked - 1)) >request
text request >request.out || fail "link: $(cat request.out)"
grep -q "^  0  .*  start + 0x[0-9a-f]* at $M:2\$" request.out || fail "link: $(cat request.out)"
# A Breakpad file has offsets: the request, the text or the program must say where the program was linked. The
# function `wrong` stands where the address itself would be looked up.
FIXED_ID=$(build_id bin/fixed)
id=$("$SYMFS" id bin/fixed | awk '/breakpad id/ { print $3; exit }') offset=$((linked - 0x400000 - 1))
[ "$(readelf -lW bin/fixed | awk '$1 == "LOAD" { print $3; exit }')" = 0x0000000000400000 ] ||
  fail "fixed is linked elsewhere"
mkdir -p "offsets/fixed/$id"
printf 'MODULE Linux x86_64 %s fixed\nINFO CODE_ID %s\nFUNC %x 10 0 right\nFUNC %x 10 0 wrong\n' "$id" \
  "$(upper "$FIXED_ID")" \
  $offset $((linked - 1)) >"offsets/fixed/$id/fixed.sym"
put_gdb program bin/fixed
named() { # NAME REQUEST SOURCE...: the name of its only frame; "": it has none
  name=$1 ask=$2
  shift 2
  for place; do set -- "$@" --source "$place" && shift; done
  printf '%s' "$ask" >request
  "$SYMFS" symbolicate --text --no-default-sources --cache "store-$name" "$@" request >request.out 2>named.log ||
    [ $? = 1 ] || fail "link, $name: $(cat request.out named.log)"
  sed -n 's/^  0  [^ ]*  \([a-z]*\)[(int)]* + 0x0\( .*\)*$/\1/p' request.out
}
linked_at() { # MEMBER: a request with a frame at the address, and this member of its module
  printf '{"memoryMap": [{"type": "elf", "code_id": "%s", "code_file": "fixed"%s}],
    "stacks": [[{"addr_mode": "link:0", "instruction_addr": "0x%x"}]]}' \
    "$FIXED_ID" "$1" $((linked - 1))
}
got=$(named none "$(linked_at '')" "breakpad@$TMP/offsets")
[ "$got" = '' ] || fail "link: a Breakpad file alone gives the name $got"
for base in '"0x400000"' 4194304; do
  got=$(named given "$(linked_at ", \"image_vmaddr\": $base")" "breakpad@$TMP/offsets")
  [ "$got" = right ] || fail "link: with the image_vmaddr $base the name is '$got'"
done
got=$(named below "$(linked_at ', "image_vmaddr": "0x7fff00000000"')" "breakpad@$TMP/offsets")
[ "$got" = '' ] || fail "link: an address before the image has the name $got"
got=$(named program "$(linked_at '')" "breakpad@$TMP/offsets" "gdb@$TMP/program")
[ "$got" = right ] || fail "link: with the program the name is '$got'"
got=$(named program "$(linked_at '')" "breakpad@$TMP/offsets" "gdb@$TMP/program")
[ "$got" = right ] || fail "link: with the program in the store the name is '$got'"
for base in '"x"' '-1' '[]'; do
  linked_at ", \"image_vmaddr\": $base" >request
  text request >request.out 2>&1 && fail "link: the image_vmaddr $base is accepted"
  grep -q 'module index 0 has an invalid image_vmaddr' request.out || fail "link: $base: $(cat request.out)"
done
# Texts: the addresses of a report show whether the program was moved; Android's programs always are.
offsets() { "$SYMFS" symbolicate --text --no-default-sources --source "breakpad@$TMP/offsets" --cache store-offsets \
  "$1"; }
printf '    #0 0x%x  (/gone/fixed+0x%x) (BuildId: %s)\n' $((linked - 1)) $((linked - 1)) "$FIXED_ID" >still.txt
offsets still.txt >still.out && fail "a report of a program that was not moved"
cmp still.txt still.out || fail "a report of a program that was not moved: $(cat still.out)"
printf '    #0 0x5555%08x  (/gone/fixed+0x%x) (BuildId: %s)\n' $offset $offset "$FIXED_ID" >moved.txt
printf '      #00 pc %016x  /gone/fixed (BuildId: %s)\n' $offset "$FIXED_ID" >android-offsets.txt
for name in moved android-offsets; do
  offsets $name.txt >$name.out || fail "$name"
  grep -q ' right\>\|(right)' $name.out || fail "$name: $(cat $name.out)"
done

# A PDB has offsets, too; the program, or the request, says from where.
if CLANG=$(first_of clang) && LLD_LINK=$(first_of lld-link); then
  windows_library win crashy
  "$SYMFS" id win/crashy.dll >win/id
  mkdir -p pdbs/crashy.pdb "dlls/crashy.dll/$(awk '/code id/ { print $3; exit }' win/id)"
  mkdir "pdbs/crashy.pdb/$(awk '/breakpad id/ { print $3; exit }' win/id)"
  cp win/crashy.pdb pdbs/crashy.pdb/*/ && cp win/crashy.dll dlls/crashy.dll/*/
  rva=$(objdump -p win/crashy.dll | sed -n 's/.*[+]base\[ *1\]  *\([0-9a-f]*\) .*/\1/p' | head -n 1)
  windows_at() { # MEMBER
    printf '{"memoryMap": [{"type": "pe", "code_id": "%s", "code_file": "crashy.dll", "debug_file": "crashy.pdb",
      "debug_id": "%s"%s}], "stacks": [[{"addr_mode": "link:0", "instruction_addr": "0x%x"}]]}' \
      "$(awk '/code id/ { print $3; exit }' win/id)" "$(awk '/breakpad id/ { print $3; exit }' win/id)" "$1" \
      $((0x180000000 + 0x$rva))
  }
  got=$(named pdb "$(windows_at '')" "symstore@$TMP/pdbs")
  [ "$got" = '' ] || fail "link: a PDB alone gives the name $got"
  got=$(named pdb-given "$(windows_at ', "image_vmaddr": "0x180000000"')" "symstore@$TMP/pdbs")
  [ "$got" = crashy ] || fail "link: a PDB and image_vmaddr give the name '$got'"
  got=$(named pdb-program "$(windows_at '')" "symstore@$TMP/pdbs" "symstore@$TMP/dlls")
  [ "$got" = crashy ] || fail "link: a PDB and its program give the name '$got'"
fi
# Without --text the same; a name of C++ is demangled, unless --mangled is given. From a pipe, packed, with CRLF.
mkdir -p breakpad/cxx/555555555555555555555555555555550
printf 'MODULE Linux x86_64 555555555555555555555555555555550 cxx\nFUNC 0 10 0 _ZN2ns4workEi\n' \
  >breakpad/cxx/555555555555555555555555555555550/cxx.sym
printf '#0  0x5 n/a (cxx + 0x5)\nModule cxx with build-id 55555555555555555555555555555555\n' >cxx.txt
bare() { "$SYMFS" symbolicate --no-default-sources --source "gdb@$TMP/far" --source "breakpad@$TMP/breakpad" \
  --cache store "$@"; }
for how in 'cat cxx.txt' 'gzip -c cxx.txt' 'zstd -qc cxx.txt'; do
  $how >packed.in || skip "no ${how%% *}"
  bare packed.in >packed.out || fail "$how: exit status $?"
  grep -q '^#0  0x5 ns::work(int) (cxx + 0x5)$' packed.out || fail "$how: $(cat packed.out)"
  $how | bare >pipe.out || fail "$how, in a pipe: exit status $?"
  cmp packed.out pipe.out || fail "$how, in a pipe: $(cat pipe.out)"
  bare - <packed.in >pipe.out || fail "$how, on stdin: exit status $?"
  cmp packed.out pipe.out || fail "$how, on stdin: $(cat pipe.out)"
done
bare --mangled cxx.txt | grep -q ' _ZN2ns4workEi ' || fail "--mangled"
for name in gdb systemd android apple-ips apple-crash minidump; do
  bare "$name.txt" >bare.out 2>bare.err || fail "$name, without --text: $(cat bare.err)"
  cmp bare.out "$name.out" || fail "$name, without --text: $(cat bare.out)"
done

# What is no text gets the command that helps, and status 1.
instead() { # WORDS FILE
  bare "$2" >instead.out 2>instead.err
  [ $? = 1 ] && grep -q -- "$1" instead.err || fail "$2: $(cat instead.err)"
  [ ! -s instead.out ] || fail "$2: $(cat instead.out)"
}
: >empty
printf 'PERFILE2%0100d' 0 >perf.data
head -c 5000 bin/prog >cut-program
printf '\000\001\002%05000d' 0 >junk
instead 'is empty; ' empty
instead 'perf script -i perf.data | symfs symbolicate$' perf.data
instead 'symfs addr2line .*bin/prog ADDRESS' "$BIN/prog"
instead 'symfs why ' cut-program
instead 'symfs addr2line ' breakpad/cxx/555555555555555555555555555555550/cxx.sym
instead 'no stack in a known format' junk
bare "$TMP" >instead.out 2>instead.err && fail "a directory"
grep -q 'is a directory; try: symfs get ' instead.err || fail "a directory: $(cat instead.err)"
gzip -c perf-ids.txt | head -c 100 >cut.gz
instead 'cut short' cut.gz
gzip -c bin/prog >prog.gz
instead 'symfs addr2line' prog.gz

# Each result ends with the modules without symbols, and what to do: which to ask about, or how to add a source.
sed 's/+ 0x5)/+ 0x5)\n#1  0x6 n\/a (gone + 0x6)/; s/$/\nModule gone with build-id 66666666666666666666666666666666/' \
  cxx.txt >lacks.txt
bare lacks.txt >lacks.out 2>lacks.err || fail "one module of two: $?"
grep -q ': 1 of 2 modules have no symbols: gone; symfs why --ask 6\{32\} .*--source gdb@.* --source breakpad@[^ ]*$' \
  lacks.err ||
  fail "one module of two: $(cat lacks.err)"
grep -q 'add one with' lacks.err && fail "a hint for a user with a source: $(cat lacks.err)"
bare --module-errors lacks.txt 2>&1 >lacks.out | grep -q '^  gone  6\{32\}  .*elf_debug: no source has it' ||
  fail "--module-errors"
"$SYMFS" symbolicate --no-default-sources --cache store-bare cxx.txt >lacks.out 2>lacks.err
[ $? = 1 ] || fail "a text of which nothing gets a name does not end with 1"
grep -q 'no symbols: cxx; symfs why --ask 5\{32\} --cache store-bare --no-default-sources$' lacks.err &&
  grep -q 'no source is in use; --no-default-sources .*; add one with --source .*symfs sources presets' lacks.err ||
  fail "no source: $(cat lacks.err)"
# A stripped library has only the names of exported functions, also when it was converted before. A source with a
# password is not printed.
cat >exports.c <<'END'
static __attribute__((noinline)) int hidden(int x) { return x * 3; }
int exported(int x) { return hidden(x) + 1; }
END
gcc -O1 -shared -fPIC -Wl,--build-id=0x77777777777777777777777777777777 -o exports.so exports.c || fail gcc
for function in hidden exported; do
  at=$(nm exports.so | sed -n "s/^0*\([0-9a-f]*\) [tT] $function\$/\1/p")
  printf '#0  0x%s n/a (exports.so + 0x%s)\nModule exports.so with build-id 77777777777777777777777777777777\n' \
    "$at" "$at" >$function.txt
done
strip exports.so && put_gdb stripped exports.so
exports() { "$SYMFS" symbolicate --no-default-sources --cache store-bare --source "gdb@$TMP/stripped" \
  --source http://u:hunter2@127.0.0.1:1/ "$@" >exports.out 2>exports.err; }
for round in 1 2; do
  exports hidden.txt
  [ $? = 1 ] && grep -q "1 of 1 module has no symbols: exports.so (only exports); \
symfs why --ask 7\{32\} .*-sources --source gdb@$TMP/stripped --source PLACE\$" exports.err ||
    fail "only exports, round $round: $(cat exports.err)"
  grep -q 'could not be asked: .*127.0.0.1:1.*; try: symfs sources check .*--source ' exports.err ||
    fail "a dead source, round $round: $(cat exports.err)"
  grep hunter2 exports.err && fail "a password is printed"
done
exports exported.txt || fail "an exported function: $(cat exports.err)"
grep -q 'exported (exports.so' exports.out && ! grep -q 'only exports' exports.err ||
  fail "an exported function: $(cat exports.err)"
# Frames without modules: which command of gdb prints them.
printf '#0  0x00007f0000001136 in ?? ()\n#1  0x00007f0000001155 in ?? ()\n' >bt.txt
bare bt.txt 2>&1 >bt.out | grep -q 'no frame got a name: .*`info proc mappings`' || fail "a backtrace without modules"
echo 'no stack' >none.txt
text none.txt >none.out 2>none.err
[ $? = 1 ] || fail "a text without stacks does not end with 1"
cmp none.txt none.out || fail "a text without stacks: $(cat none.out)"
grep -q 'no stack in a known format' none.err || fail "a text without stacks: $(cat none.err)"
ls -d "${TMPDIR:-/tmp}"/symfs-files.* >left 2>/dev/null
while read -r dir; do
  grep -qF "$TMP" <<-EOC && fail "a directory was left: $dir"
	$(find "$dir" -type l -printf '%l\n' 2>/dev/null)
	EOC
done <left

# ---- HTTP: the same text, but no file of the server at a path of the text -----------------------
symfs_serve one --source "gdb@$TMP/far"
U=$URL_one
for name in systemd android perf-ids; do
  ask 200 /symbolicate/text --data-binary "@$name.txt"
  cmp "$TMP/body" "$name.out" || fail "POST $name: $(cat "$TMP/body")"
  tr -d '\r' <"$TMP/head" | grep -qix 'content-type: text/plain; charset=utf-8' ||
    fail "POST $name: $(cat "$TMP/head")"
done
for name in gdb gdb-fixed perf none; do
  ask 200 /symbolicate/text --data-binary "@$name.txt"
  cmp "$TMP/body" "$name.txt" || fail "POST $name opens a file of the server: $(cat "$TMP/body")"
done
ask 415 /symbolicate/text -H 'Content-Encoding: gzip' --data-binary @gdb.txt
ask 405 /symbolicate/text
symfs_unserve one
exit 0
