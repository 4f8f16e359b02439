#!/bin/sh
# symfs symbolicate without a Breakpad file: ELF by its build id, and by a debug id of a stored
# file; a dSYM by its UUID. Debug information is preferred to a Breakpad file that has only symbols.
# Also the bounds of a request.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need gcc objcopy nm readelf
cd "$TMP" || exit 1
cat >p.c <<'EOF'
static inline __attribute__((always_inline)) int deeper(volatile int *n) {
  return *n * 3;
}
int work(volatile int *n) {
  return deeper(n) + 1;
}
int main(int n, char **v) { volatile int m = n; return work(&m) + (v != 0); }
EOF
breakpad_id() { "$SYMFS" id "$1" | awk '/breakpad id/ { print $3; exit }'; }
# ask WHAT OPTIONS...: stdin is the request; the frame must be of work(), which has deeper() in it
ask() {
  what=$1
  shift
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-$what" "$@" >"$TMP/out" 2>"$TMP/$what-run.log" ||
    fail "$what: $(cat "$TMP/out")"
  grep -q '"function": "work", "function_offset": "0x[0-9a-f]*", "file": "[^"]*/p.c", "line": 5, '\
'"inlines": \[{"function": "deeper", "file": "[^"]*/p.c", "line": 2}\]' "$TMP/out" ||
    fail "$what: $(cat "$TMP/out")"
}
# request MODULE OFFSET: a line of what is inlined is somewhere in the function
request() { printf '{"memoryMap": [%s], "stacks": [[%s]]}' "$1" "$2"; }
frames() { # START: the bytes of work()
  f_at=0
  while [ $f_at -lt 12 ]; do
    printf '%s[0, %u]' "$([ $f_at = 0 ] || echo ,)" $(($1 + f_at))
    f_at=$((f_at + 1))
  done
}

# ---- ELF ---------------------------------------------------------------------------------
gcc -g -O1 -fno-optimize-sibling-calls -Wl,--build-id=sha1 -o prog p.c &&
  objcopy --only-keep-debug prog prog.debug || fail "gcc"
start=$((0x$(nm prog | awk '$3 == "work" { print $1 }')))
# Not every program begins at 0.
base=$(readelf -lW prog | awk '$1 == "LOAD" { print $3; exit }')
start=$((start - base))
mkdir tree
put_gdb tree prog.debug .debug
request "{\"type\": \"elf\", \"debug_file\": \"prog\", \"code_id\": \"$(build_id prog)\"}" "$(frames $start)" |
  ask build-id --source "gdb@$TMP/tree"
"$SYMFS" add --cache "$TMP/store-debug-id" --no-default-sources prog >add.out 2>&1 || fail "add: $(cat add.out)"
request "[\"prog\", \"$(breakpad_id prog)\"]" "$(frames $start)" | ask debug-id --offline

# A .sym that knows only symbols is there, too.
mkdir -p "both/breakpad/prog/$(breakpad_id prog)"
printf 'MODULE Linux x86_64 %s prog\nPUBLIC %x 0 from_sym\n' "$(breakpad_id prog)" $start \
  >"both/breakpad/prog/$(breakpad_id prog)/prog.sym"
debug_id="\"debug_id\": \"$(breakpad_id prog)\""
code_id="\"code_id\": \"$(build_id prog)\""
request "{\"type\": \"elf\", \"debug_file\": \"prog\", $code_id, $debug_id}" "$(frames $start)" >both.json
ask both --source "gdb@$TMP/tree" --source "breakpad@$TMP/both/breakpad" both.json
"$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-sym" --source "breakpad@$TMP/both/breakpad" both.json \
  2>/dev/null | grep -q '"function": "from_sym"' ||
  fail "without the ELF file the .sym is not used"

# The debug id follows from the code id of an ELF file. A server is asked by it, and by no other. A slow server is
# asked in two casings.
upstream_start sym --root "$TMP/both/breakpad" --log "$TMP/sym.requests"
asked_only_for() { # NAME WHAT
  paths=$(cut -d' ' -f2 "$TMP/sym.requests" | tr '[:lower:]' '[:upper:]' | sort -u)
  [ "$paths" = "$(echo "/$1/$(breakpad_id prog)/$1.sym" | tr '[:lower:]' '[:upper:]')" ] || fail "$2 asked for $paths"
}
asks_once() { # NAME MODULE
  : >"$TMP/sym.requests"
  request "$2" "$(frames $start)" >"$1.json"
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-once-$1" --source "breakpad@$URL_sym" "$1.json" \
    2>/dev/null |
    grep -q '"function": "from_sym"' || fail "$1: the .sym is not found: $(cat "$TMP/sym.requests")"
  asked_only_for prog "$1"
}
dashed=$(breakpad_id prog | sed 's/0$//; s/^\(.\{8\}\)\(....\)\(....\)\(....\)/\1-\2-\3-\4-/' |
  tr '[:upper:]' '[:lower:]')
asks_once code "{\"type\": \"elf\", \"debug_file\": \"prog\", \"code_id\": \"$(build_id prog)\"}"
asks_once untyped "{\"debug_file\": \"prog\", \"code_id\": \"$(build_id prog)\"}"
asks_once dashed "{\"debug_file\": \"prog\", \"debug_id\": \"$dashed\"}"
for id in "\"code_id\": \"$(build_id prog)\"" "\"debug_id\": \"$dashed\""; do # that is nowhere
  : >"$TMP/sym.requests"
  request "{\"debug_file\": \"gone\", $id}" "$(frames $start)" >gone.json
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-gone" --source "breakpad@$URL_sym" gone.json \
    >/dev/null 2>&1
  asked_only_for gone "$id"
  rm -rf "$TMP/store-gone"
done

# Linked to a fixed address: offsets count from there.
if gcc -g -O1 -no-pie -fno-pie -Wl,--build-id=sha1 -o fixed p.c 2>/dev/null; then
  base=$(readelf -lW fixed | awk '$1 == "LOAD" { print $3; exit }')
  start=$((0x$(nm fixed | awk '$3 == "work" { print $1 }') - base))
  [ $((base)) -gt 0 ] || fail "fixed is not"
  put_gdb tree fixed .debug
  request "{\"type\": \"elf\", \"debug_file\": \"fixed\", \"code_id\": \"$(build_id fixed)\"}" "$(frames $start)" |
    ask fixed --source "gdb@$TMP/tree"
fi

# ---- a dSYM ------------------------------------------------------------------------------
if CLANG=$(first_of clang) && LINKER=$(first_of ld64.lld) && DSYMUTIL=$(first_of dsymutil) &&
  NM=$(first_of llvm-nm) &&
  "$CLANG" -target x86_64-apple-macos11 -g -O1 -c p.c -o p.o 2>mac.log &&
  "$LINKER" -arch x86_64 -platform_version macos 11.0 11.0 -e _main -o mac p.o 2>>mac.log &&
  "$DSYMUTIL" mac 2>>mac.log; then
  "$SYMFS" add --cache "$TMP/store-uuid" --no-default-sources mac.dSYM/Contents/Resources/DWARF/mac >add.out 2>&1 ||
    fail "add: $(cat add.out)"
  start=$((0x$("$NM" mac | awk '$3 == "_work" { print $1 }') - 0x100000000))
  request "[\"mac\", \"$(breakpad_id mac)\"]" "$(frames $start)" | ask uuid --offline
else
  say "no dSYM: $(cat mac.log 2>/dev/null)"
fi

# ---- bounds ------------------------------------------------------------------------------
refused() { # TITLE: stdin is the request
  "$SYMFS" symbolicate --no-default-sources --offline --api v5 --cache "$TMP/store-bounds" >"$TMP/out"
  rc=$?
  [ $rc = 1 ] && grep -q "^{\"title\": \"$1\"}\$" "$TMP/out" || fail "$1: $rc, $(head -c 300 "$TMP/out")"
}
many() { awk -v n="$1" -v what="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%s", i ? "," : "", what }'; }
{ printf '{"memoryMap": [], "stacks": [['; many 200001 '[-1,1]'; printf ']]}'; } |
  refused 'please limit number of frames in a single request to <= 200000'
{ printf '{"memoryMap": [], "stacks": ['; many 20001 '[]'; printf ']}'; } |
  refused 'please limit number of stacks in a single request to <= 20000'
{ printf '{"stacks": [[]], "memoryMap": ['; many 2001 '["a","1"]'; printf ']}'; } |
  refused 'please limit number of modules in a single request to <= 2000'
{ printf '{"x": ['; many 2000000 0; printf ']}'; } |
  refused 'please limit number of values in a single request to <= 1677000'
head -c 17000000 /dev/zero | tr '\0' ' ' | refused 'please limit the size of a request to <= 16777216 bytes'
exit 0
