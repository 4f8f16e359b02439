#!/bin/sh
# Runs each command line in the fences of README.md, doc/ and doc/internals/ as a reader would: with the servers that
# the pages name, on loopback, and a real mount. Compares what a line prints with what the page shows. Prints how many
# lines ran, and how many are marked as not run, with the reasons. `doc-lines.sh PAGE...` runs these pages only; with
# SYMFS_DOC_SHOW=yes it also prints what each line prints.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
top=$(cd "$top_srcdir" && pwd) || exit 1
# A copy of the mounts of other tests, held while a page runs, would keep their daemons alive.
apart="$top/scripts/apart unshare -n -p -f --kill-child --mount-proc"
[ $# -gt 0 ] || set -- "$top/README.md" "$top"/doc/*.md "$top"/doc/internals/*.md

# read_pages PAGE...: a directory with the lines of each page, below $TMP/lines.
read_pages() {
  for page; do
    dir=$TMP/lines/$(basename "$page" .md)
    mkdir -p "$dir"
    awk -v out="$dir" -v top="$top" -f "$top/tests/doc/lines.awk" "$page" >"$dir/index" || return 1
  done
}

# ---- the rules of fences, which need no mount; and they can be broken ----------------------------------------------
read_pages "$@" || fail "a page breaks the rules for fences in HACKING.md"
breaks() { # TEXT OF A PAGE
  rm -rf "$TMP/lines/bad"
  printf %b "$1" >"$TMP/bad.md"
  read_pages "$TMP/bad.md" 2>/dev/null && fail "a page may say: $1"
}
breaks '```\n$ true\n```\n'
breaks '```text\n$ true\n```\n'
breaks '```gdb\nbt\n```\n'
breaks '<!-- not run: -->\n```console\n$ true\n```\n'
breaks '<!-- not run -->\n```console\n$ true\n```\n'
breaks '```console\n$ true\n'
breaks '- x\n  ```console\n  $ true\n  ```\n'
rm -rf "$TMP/lines/bad"

need_mount
need gcc gdb lldb nginx openssl curl unshare setpriv ip eu-addr2line debuginfod-find llvm-symbolizer readelf objcopy
[ "$(id -u)" = 0 ] || skip "only root can make namespaces with a loopback of their own"
case $TMP in
/home/* | /root/* | /run/* | /srv/* | /usr/local/*) skip "TMPDIR is below a directory that the pages change" ;;
esac
why=$($apart true 2>&1) || skip "no namespaces here: $why"

# ---- what every machine of the pages has ---------------------------------------------------------------------------
MADE=$TMP/made
mkdir -p "$MADE/home/build" "$MADE/debian/buildid" "$MADE/team" "$MADE/world"
chmod 755 "$TMP" "$MADE"
cp "$DEADLINES" "$MADE/deadlines.conf" || fail "no deadlines"
cd "$MADE" || exit 1
cat >parse.c <<'E'
#include <stdlib.h>
static int check(int n) { if (n > 2) abort(); return n + 1; }
int parse(int n) { int r = check(n); return r * 2; }
E
cat >prog.c <<'E'
int parse(int n);
static int work(int n) { return parse(n) + 1; }
int main(int argc, char **argv)
{
	return work(argc) == 0;
}
E
cat >burn.c <<'E'
static __attribute__((noinline)) unsigned burn(unsigned n)
{
	unsigned x = 1;
	while (n--)
		x = x * 1664525u + 1013904223u;
	return x;
}
int main(void) { return burn(300000000u) == 0; }
E
cat >wrong.c <<'E'
#include <stdlib.h>
int main(void)
{
	int *p = malloc(4);
	free(p);
	return p[0] == 4711;
}
E
printf '#line 1672 "src/ls.c"\nint main(void)\n{\n\treturn 0;\n}\n' >ls.c
build() { gcc -g -ffile-prefix-map="$MADE"=/src -Wl,--build-id=sha1 "$@" || fail "gcc"; }
build -O0 -fPIC -shared -Wl,-soname,libparse.so -o libparse.so parse.c
build -O0 -o prog prog.c -L. -lparse -Wl,-rpath,/srv/app/bin
build -O1 -o burn burn.c
build -O0 -o wrong wrong.c
mkdir bin
for f in prog libparse.so burn wrong; do
  strip -o "bin/$f" "$f" || fail strip
  cp "$f" home/build/
  objcopy --only-keep-debug "$f" "team/$f.debug" && cp "bin/$f" team/ || fail objcopy
done
for f in prog burn wrong; do cp "bin/$f" home/; done
# A program of the distribution: this machine's, and a debug file as the distribution's server has it.
ls_id=$(build_id /usr/bin/ls)
mkdir -p "debian/buildid/$ls_id"
text=0x$(readelf -SW /usr/bin/ls | sed -n 's/.* \.text *PROGBITS *\([0-9a-f]*\).*/\1/p')
gcc -g -O0 -nostdlib -static -Wl,-e,main -Wl,-Ttext="$text" -o ls.full ls.c &&
  objcopy --only-keep-debug -R .gnu_debuglink -R .gnu_debugaltlink /usr/bin/ls ls.debug || fail gcc
for s in $(readelf -SW ls.full | sed -n 's/.* \(\.debug_[a-z_]*\) .*/\1/p'); do
  objcopy --dump-section "$s=section" ls.full && objcopy --add-section "$s=section" ls.debug || fail objcopy
done
cp ls.debug "debian/buildid/$ls_id/debuginfo" && cp /usr/bin/ls "debian/buildid/$ls_id/executable" || fail cp

# A core of another machine, which has the program in /srv/app, where this one has none.
"$top/scripts/apart" sh -c 'mount -t tmpfs tmpfs /srv && mkdir /srv/app && cp -r bin /srv/app/ &&
  exec timeout 300 gdb -nx -batch -ex "set debuginfod enabled off" -ex run -ex "generate-core-file home/core" \
    --args /srv/app/bin/prog a b' >"$TMP/core.log" 2>&1
[ -s home/core ] || skip "gdb cannot run a program here: $(tail -n 1 "$TMP/core.log")"
rm -r bin
# A minidump of a Windows program, and the Breakpad files of its modules.
one=00112233445566778899AABBCCDDEEFF two=F0E1D2C3B4A5968778695A4B3C2D1E0F
"$top_builddir/tests/helpers/make-minidump" home/crash.dmp "parse.dll:parse.pdb:$one:1:180000000" \
  "app.exe:app.pdb:$two:1:140000000" -- 180001005 180001205 140001015 140001209 || fail make-minidump
sym() { # NAME ID FUNCTION CALLER
  mkdir -p "team/$1.pdb/${2}1"
  cat >"team/$1.pdb/${2}1/$1.sym" <<E
MODULE windows x86_64 ${2}1 $1.pdb
FILE 0 $1.cc
FUNC 1000 20 0 $3
1000 10 3 0
1010 10 4 0
FUNC 1200 20 0 $4
1200 10 7 0
1210 10 8 0
STACK CFI INIT 1000 1000 .cfa: \$rsp 8 + .ra: .cfa 8 - ^
E
}
sym parse $one 'check(int)' 'parse(int)'
sym app $two 'work(int)' main
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=symfs -keyout key -out cert -addext \
  "subjectAltName=DNS:debuginfod.debian.net,DNS:debuginfod.elfutils.org,DNS:symbols.example.net,DNS:\
msdl.microsoft.com,DNS:symbols.mozilla.org" \
  2>"$TMP/openssl.log" || fail openssl
cd "$TMP" || exit 1

# ---- run -----------------------------------------------------------------------------------------------------------
# Where the program looks for the presets.
datadir=$(sed -n 's/^prefix = //p' "$top_builddir/Makefile" 2>/dev/null)
datadir=${datadir:-/usr/local}/share
case $datadir in
/usr/local/*) ;;
*) [ -d "$datadir" ] || skip "the program looks for presets below $datadir, which does not exist" ;;
esac
for page; do
  dir=$TMP/lines/$(basename "$page" .md)
  grep -qE '^(command|file)\|' "$dir/index" || continue
  $apart "$top/tests/doc/world" "$MADE" "$dir" "$SYMFS" "$datadir" "$TOOLS/bin" >"$dir/world" 2>&1 </dev/null
  [ -z "${SYMFS_DOC_SHOW:-}" ] || { say "== $page"; cat "$dir/printed"; }
  [ -f "$dir/ran" ] || fail "no line of $page was run: $(cat "$dir/world")"
done

# ---- the count -----------------------------------------------------------------------------------------------------
say "ran $(cat "$TMP"/lines/*/ran | wc -l) lines, and compared what $(cat "$TMP"/lines/*/compared |
  wc -l) of them print"
say "marked as not run: $(find "$TMP/lines" -name '*.lines' -exec awk 1 {} + |
  awk '{ n += $1 } END { print n + 0 }') lines"
for reason in "$TMP"/lines/*/*.reason; do
  [ -f "$reason" ] && echo "$(cat "${reason%.reason}.lines") $(cat "$reason")"
done |
  awk '{ n = $1; sub(/^[0-9]+ /, ""); lines[$0] += n } END { for (r in lines) printf "%5d  %s\n", lines[r], r }' |
    sort -rn
cat "$TMP"/lines/*/stopped | sed 's/^/not run, because its client does not run here: /'
cat "$TMP"/lines/*/faults >"$TMP/faults"
[ ! -s "$TMP/faults" ] || fail "lines that are not as the page says:
$(cat "$TMP/faults")"
