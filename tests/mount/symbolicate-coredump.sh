#!/bin/sh
# symfs symbolicate --text names the frames that a real systemd-coredump writes to the journal. The program runs in a
# mount namespace with sockets of this test, so neither the journal nor the kernel's core_pattern of the machine
# changes. systemd writes the ids of modules only in the field of packages, and only for modules that have a note of
# their package. In a frame of the program, systemd 252 writes the program's name, and systemd 257 its path.
# SYMFS_SAMPLES=yes prints each sample before and after.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf gdb python3 pgrep unshare
for COREDUMP in /lib/systemd/systemd-coredump /usr/lib/systemd/systemd-coredump "$TOOLS/bin/systemd-coredump"; do
  [ ! -x "$COREDUMP" ] || break
done
[ -x "$COREDUMP" ] ||
  skip "no systemd-coredump: $(cat "$TOOLS/systemd-coredump.failed" 2>/dev/null ||
    echo "scripts/setup clients fetches it")"
[ "$(id -u)" = 0 ] || skip "only root can hide the journal's socket"
APART=$(cd "$top_srcdir" && pwd)/scripts/apart
case $TMP in /run/* | /var/lib/*) skip "the test hides $TMP" ;; esac
"$APART" sh -c 'mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib' 2>"$TMP/why" ||
  skip "no mount namespace: $(cat "$TMP/why")"
cd "$TMP" || exit 1
BIN=$TMP/bin
mkdir -p bin src

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
# The note by which a program names its package.
cat >src/note.s <<'EOC'
	.section .note.package, "a", %note
	.balign 4
	.long 4, 2f - 1f, 0xcafe1a7e
	.asciz "FDO"
1:	.asciz "{\"type\":\"deb\",\"name\":\"y\",\"version\":\"1\",\"architecture\":\"amd64\"}"
2:	.balign 4
	.section .note.GNU-stack, "", %progbits
EOC
(cd src && gcc -g -O1 -fPIC -shared -Wl,-soname,libcrash.so -Wl,--build-id=sha1 -o ../bin/libcrash.so lib.c note.s &&
  gcc -g -O1 -Wl,--build-id=sha1 -o ../bin/prog main.c note.s ../bin/libcrash.so -Wl,-rpath,"$BIN" &&
  gcc -g -O1 -no-pie -fno-pie -Wl,--build-id=sha1 -o ../bin/fixed main.c ../bin/libcrash.so -Wl,-rpath,"$BIN") ||
  fail gcc
for f in prog fixed libcrash.so; do
  objcopy --only-keep-debug bin/$f $f.debug && strip bin/$f || fail strip
  put_gdb far $f.debug .debug
  put_gdb far bin/$f
  rm $f.debug
done

# Runs systemd-coredump as the kernel does, and its second part as systemd does, and writes the fields of the journal.
cat >journal.py <<'EOC'
import os, socket, struct, subprocess, sys
program, pid = sys.argv[1:]
os.makedirs('/run/systemd/journal')
def bound(kind, path):
    s = socket.socket(socket.AF_UNIX, kind)
    s.bind(path)
    s.settimeout(300)
    return s
journal = bound(socket.SOCK_DGRAM, '/run/systemd/journal/socket')
door = bound(socket.SOCK_SEQPACKET, '/run/systemd/coredump')
door.listen(1)
first = subprocess.Popen([program, pid, '0', '0', '11', '1700000000', '9223372036854775808', 'host', '1'],
                         stdin=open('core', 'rb'))
call = door.accept()[0]
second = os.fork()
if second == 0:
    os.dup2(call.fileno(), 3)
    os.execve(program, [program], dict(os.environ, LISTEN_FDS='1', LISTEN_PID=str(os.getpid())))
call.close()
def entry():
    data, fds = socket.recv_fds(journal, 1 << 20, 1)[:2]
    for fd in fds:
        data = open(fd, 'rb').read() if os.lseek(fd, 0, 0) == 0 else b''
    fields, at = {}, 0
    while at < len(data):
        end = data.index(b'\n', at)
        name, equals, value = data[at:end].partition(b'=')
        at = end + 1
        if not equals:
            size, = struct.unpack('<Q', data[at:at + 8])
            value = data[at + 8:at + 8 + size]
            at += 9 + size
        fields[name.decode()] = value
    return fields
fields = {}
while 'COREDUMP_PID' not in fields:
    fields = entry()
for name in 'MESSAGE', 'COREDUMP_EXE', 'COREDUMP_PROC_MAPS', 'COREDUMP_PACKAGE_JSON':
    open(name, 'wb').write(name.encode() + b'=' + fields.get(name, b'').rstrip(b'\n') + b'\n')
os.waitpid(second, 0)
first.wait()
EOC
cat >dump.sh <<'EOC'
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && exec python3 journal.py "$1" "$2"
EOC

D='\(/.*/\)\{0,1\}' # a directory, or nothing
# crash PROGRAM: its fields, each in a file.
crash() {
  rm -f core MESSAGE
  timeout 300 gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex 'generate-core-file core' \
    -ex "shell '$APART' sh dump.sh '$COREDUMP' \$(pgrep -P \$PPID -x $1)" --args "bin/$1" x >gdb.out 2>&1 </dev/null
  [ -s core ] || skip "gdb cannot run a program here: $(tail -n 1 gdb.out)"
  grep -q 'Stack trace of thread' MESSAGE || fail "systemd-coredump: $(cat gdb.out)"
  grep -q "^#2 .* n/a ($D$1 + 0x" MESSAGE || fail "no frame without a name: $(cat MESSAGE)"
}
# sample NAME FIELD...: names in the fields, to NAME.out.
sample() {
  sample_name=$1
  shift
  cat "$@" >"$sample_name.txt"
  "$SYMFS" symbolicate --text --no-default-sources --source "gdb@$TMP/far" --cache store "$sample_name.txt" \
    >"$sample_name.out" 2>log || [ "$sample_name" = message ] || fail "$sample_name: exit status $?: $(cat log)"
  [ "${SYMFS_SAMPLES:-}" != yes ] ||
    for file in "$sample_name.txt" "$sample_name.out"; do say "=== $file"; cat "$file"; done
}
# has NAME LINE...: each is a line of NAME.out, as a regular expression.
has() {
  has_name=$1
  shift
  for line; do
    grep -q -- "^$line\$" "$has_name.out" || fail "$has_name: no line $line in: $(cat "$has_name.out")"
  done
}
L=$TMP/src/lib.c M=$TMP/src/main.c X='0x[0-9a-f]*' U=' \[unverified\]'
lib() { # NAME MARK
  has "$1" "#0  $X inner (inlined) at $L:2" "#0  $X deep at $L:3 (libcrash.so + $X)$2" \
    "#1  $X outer at $L:4 (libcrash.so + $X)$2"
}

# Each module has a package: ids, and no file at a path is needed.
crash prog
mv bin away
sample ids MESSAGE COREDUMP_PACKAGE_JSON
sample message MESSAGE
mv away bin
lib ids ''
has ids "Module libcrash.so from deb y-1.amd64" "Module ${D}prog from deb y-1.amd64" \
  "#2  $X start at $M:2 (${D}prog + $X)" "#3  $X main at $M:3 (${D}prog + $X)"
cmp message.txt message.out || fail "names without ids and paths: $(cat message.out)"

# The program has no package, and is not position-independent. The files are at the paths of the journal's fields.
crash fixed
sample program COREDUMP_EXE COREDUMP_PACKAGE_JSON MESSAGE
lib program ''
has program "#2  $X start at $M:2 (${D}fixed + $X)$U" "#3  $X main at $M:3 (${D}fixed + $X)$U"
sample maps COREDUMP_PROC_MAPS MESSAGE
lib maps "$U"
has maps "#2  $X start at $M:2 (${D}fixed + $X)$U" "#3  $X main at $M:3 (${D}fixed + $X)$U"
sample later MESSAGE COREDUMP_PROC_MAPS
lib later "$U"
has later "#2  $X start at $M:2 (${D}fixed + $X)$U"
# coredumpctl writes the path of the program, and blanks before the message.
{ echo "    Executable: $BIN/fixed"; sed 's/^/                /' MESSAGE; } >info
sample info info
has info " *#2  $X start at $M:2 (${D}fixed + $X)$U" " *#3  $X main at $M:3 (${D}fixed + $X)$U"
exit 0
