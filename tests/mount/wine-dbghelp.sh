#!/bin/sh
# Wine's dbghelp finds the PDB of a module on a mount, and names a function and a line with it. It takes a directory:
# Wine has neither srv* nor the paths of a symbol store.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need wine winegcc
CLANG=$(first_of clang) && LINK=$(first_of lld-link) || skip "no clang, no lld-link"
# Wine leaves the directory of its server's socket in TMPDIR.
WINEPREFIX=$TMP/wine WINEDEBUG=-all TMPDIR=$TMP
export WINEPREFIX WINEDEBUG TMPDIR

cat >"$TMP/client.c" <<'EOF'
#include <windows.h>
#include <dbghelp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	HANDLE h = GetCurrentProcess();
	IMAGEHLP_LINE64 line = {.SizeOfStruct = sizeof(line)};
	char room[1024];
	SYMBOL_INFO *s = (SYMBOL_INFO *)room;
	DWORD64 base, offset = 0;
	DWORD column = 0;

	SymSetOptions(SYMOPT_LOAD_LINES | SYMOPT_UNDNAME);
	if (argc != 4 || !SymInitialize(h, argv[2], FALSE))
		return 2;
	base = SymLoadModuleEx(h, NULL, argv[1], NULL, 0x180000000ull, 0x10000, NULL, 0);
	s->SizeOfStruct = sizeof(*s);
	s->MaxNameLen = 200;
	if (SymFromAddr(h, base + strtoul(argv[3], NULL, 16), &offset, s))
		printf("symbol %s+%x\n", s->Name, (unsigned)offset);
	if (SymGetLineFromAddr64(h, base + strtoul(argv[3], NULL, 16), &column, &line))
		printf("line %s:%u\n", line.FileName, (unsigned)line.LineNumber);
	puts("asked");
	return 0;
}
EOF
cat >"$TMP/module.c" <<'EOF'
__attribute__((noinline)) int work(int *p, int n)
{
	return *p * n;
}
int start(void)
{
	int v = 2;
	return work(&v, 3);
}
EOF
(cd "$TMP" && winegcc -o client.exe client.c -ldbghelp) >"$TMP/winegcc.out" 2>&1 ||
  skip "winegcc: $(tail -n 1 "$TMP/winegcc.out")"
(cd "$TMP" && "$CLANG" -target x86_64-windows-msvc -g -gcodeview -O1 -c module.c -o module.obj &&
  "$LINK" /nologo /dll /noentry /debug /pdb:module.pdb /export:start /Brepro /nodefaultlib /out:module.dll \
  module.obj) >"$TMP/lld.out" 2>&1 ||
  fail "clang and lld-link: $(cat "$TMP/lld.out")"
id=$("$SYMFS" id "$TMP/module.pdb" | awk '/breakpad id/ { print $3; exit }')
mkdir -p "$TMP/symbols/module.pdb/$id"
mv "$TMP/module.pdb" "$TMP/symbols/module.pdb/$id"

windows_path() { printf 'Z:%s' "$1" | tr / '\\'; }
dbghelp() { # DIRECTORY: the words of the client
  timeout 600 wine "$TMP/client.exe.so" "$(windows_path "$TMP/module.dll")" "$(windows_path "$1")" 1002 \
    >"$TMP/said" 2>"$TMP/wine.log"
  grep -q asked "$TMP/said" || skip "wine cannot run a program here: $(tail -n 1 "$TMP/wine.log")"
}
mkdir "$TMP/nothing"
dbghelp "$TMP/nothing"
grep -q '^line ' "$TMP/said" && fail "the PDB is not needed: $(cat "$TMP/said")"
finds() { # WHAT MOUNT
  dbghelp "$2/symstore/module.pdb/$id"
  say "$1: $(tr '\n' ' ' <"$TMP/said")"
  grep -q '^symbol work+2' "$TMP/said" && grep -q '^line .*module.c:2' "$TMP/said" || fail "$1: $(cat "$TMP/said")"
}

symfs_mount one --source "symstore@$TMP/symbols"
# shellcheck disable=SC2154 # set by symfs_mount
finds "a directory as source" "$MNT_one"
symfs_umount one
# dbghelp lists the directory. A mount lists files of servers once they are stored.
upstream_start store --root "$TMP/symbols"
# shellcheck disable=SC2154 # set by upstream_start
symfs_mount two --source "symstore@$URL_store"
# shellcheck disable=SC2154 # set by symfs_mount
dbghelp "$MNT_two/symstore/module.pdb/$id"
grep -q '^line ' "$TMP/said" && fail "a file is listed that is not stored"
cat "$MNT_two/symstore/module.pdb/$id/module.pdb" >/dev/null || fail "cat"
finds "a server as source, after the first read" "$MNT_two"
wineserver -k 2>/dev/null
wineserver -w 2>/dev/null
symfs_umount two
