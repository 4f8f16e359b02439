#!/bin/sh
# Breakpad files that no source has: a mount, a server and `symfs get` make them from debug file and program, with
# STACK records of the program. A file that a source has comes first. Where only the debug id is known, servers of
# debuginfod are asked once the build id is known: from a file, from ?code_id=, or from a dump.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf curl cmp getfattr
unset http_proxy all_proxy ALL_PROXY

make_program "$TMP/p" Prog
for f in Prog libProg.so; do
  put_gdb "$TMP/both" "$TMP/p/debug/$f.debug" .debug
  put_gdb "$TMP/both" "$TMP/p/bin/$f"
  put_gdb "$TMP/debug" "$TMP/p/debug/$f.debug" .debug
done
ID=$(build_id "$TMP/p/bin/Prog")
"$SYMFS" sym --name Prog -o "$TMP/names.sym" "$TMP/p/debug/Prog.debug" "$TMP/p/bin/Prog" || fail "sym"
DEBUG_ID=$(head -n 1 "$TMP/names.sym" | cut -d ' ' -f 4)
SYM=Prog/$DEBUG_ID/Prog.sym
mkdir -p "$TMP/far/buildid/$ID"
cp "$TMP/p/debug/Prog.debug" "$TMP/far/buildid/$ID/debuginfo"
names() { grep -vE '^(STACK|INFO UNWIND)' "$1"; }
is_made() { # FILE WHAT: the functions, and rules
  [ -s "$1" ] || fail "$2: nothing"
  names "$1" >"$TMP/one"
  names "$TMP/names.sym" | cmp -s - "$TMP/one" || fail "$2: $(names "$TMP/names.sym" | diff - "$TMP/one" | head -n 5)"
  grep -q '^STACK CFI INIT [0-9a-f]* [0-9a-f]* \.cfa: ' "$1" || fail "$2: no unwind rules"
  ! grep -q '^INFO UNWIND' "$1" || fail "$2: $(grep '^INFO' "$1")"
}
made() { grep -c 'was made of' "$1"; }

# ---- a mount on a directory of debug files -------------------------------------------------------
symfs_mount m --source "gdb@$TMP/both"
for at in breakpad symstore native .; do
  [ "$at" = symstore ] || is_made "$MNT_m/$at/$SYM" "$at"
done
[ "$(made "$TMP/m.log")" = 1 ] || fail "made $(made "$TMP/m.log") times: $(cat "$TMP/m.log")"
[ "$(stat -c %s "$MNT_m/breakpad/$SYM")" = "$(wc -c <"$MNT_m/breakpad/$SYM")" ] || fail "the size"
getfattr --only-values -n user.symfs.synthesized "$MNT_m/breakpad/$SYM" 2>/dev/null | grep -q '^symfs' ||
  fail "no attribute"
[ ! -e "$MNT_m/breakpad/Prog/00112233445566778899AABBCCDDEEFF0/Prog.sym" ] || fail "of nothing"
"$SYMFS" symbolicate --help >/dev/null || fail "symbolicate"
symfs_umount m
symfs_mount off --source "gdb@$TMP/both" --synthesize no
[ ! -e "$MNT_off/breakpad/$SYM" ] || fail "synthesize = no"
symfs_umount off

# ---- a program that comes later ------------------------------------------------------------------
symfs_mount later --source "gdb@$TMP/debug" --miss-lifetime 1s
grep -q '^INFO UNWIND none$' "$MNT_later/breakpad/$SYM" || fail "no program, and no word about it"
! grep -q '^STACK' "$MNT_later/breakpad/$SYM" || fail "rules without a program"
cp -r "$TMP/both/." "$TMP/debug"
better() { grep -q '^STACK CFI' "$MNT_later/breakpad/$SYM"; }
wait_for better || fail "it was not made again: $(cat "$TMP/later.log")"
is_made "$MNT_later/breakpad/$SYM" "with the program"
symfs_umount later

# ---- a server of files that debuginfod has --------------------------------------------------------
upstream_start far --root "$TMP/far"
symfs_serve one --source "debuginfod@$URL_far"
code() { fetch_url -o "$TMP/body" -w '%{http_code}' "$@"; }
[ "$(code "$URL_one/breakpad/$SYM")" = 404 ] || fail "made from a debug id alone: $(head -n 3 "$TMP/body")"
"$SYMFS" why --no-default-sources --source "debuginfod@$URL_far" --cache "$TMP/why" "breakpad/$SYM" >"$TMP/why.out"
grep -q '^made  *only of .*only its debug id is known' "$TMP/why.out" || fail "why: $(cat "$TMP/why.out")"
[ "$(code "$URL_one/breakpad/$SYM?code_id=$(echo "$ID" | sed 's/^./0/')")" = 404 ] || fail "another build id"
[ "$(code -I "$URL_one/breakpad/$SYM?code_id=$ID")" = 200 ] || fail "HEAD with ?code_id="
[ "$(code "$URL_one/breakpad/$SYM?code_id=$ID")" = 200 ] || fail "?code_id="
grep -q '^INFO UNWIND none$' "$TMP/body" || fail "$(head -n 5 "$TMP/body")"
names "$TMP/body" >"$TMP/one"
names "$TMP/names.sym" | cmp -s - "$TMP/one" || fail "?code_id=: other names"
before=$(upstream_count "$URL_far" get)
[ "$(code "$URL_one/$SYM")" = 200 ] || fail "the build id is known now"
[ "$(upstream_count "$URL_far" get)" = "$before" ] || fail "asked again"
"$SYMFS" get --no-default-sources --source "gdb@$TMP/both" --cache "$TMP/get" -o "$TMP/got.sym" "breakpad/$SYM" \
  >/dev/null || fail "get"
is_made "$TMP/got.sym" "get"
"$SYMFS" warm --breakpad --no-default-sources --source "debuginfod@$URL_far" --cache "$TMP/warm" "$TMP/p/bin/Prog" \
  >"$TMP/warm.out" || fail "warm"
grep -q 'sym [0-9.]* KB' "$TMP/warm.out" || fail "warm: $(cat "$TMP/warm.out")"
symfs_serve warmed --cache "$TMP/warm" --offline
[ "$(code "$URL_warmed/breakpad/$SYM")" = 200 ] || fail "warm did not make it"
# The inputs stay in their directories: a mount without any source finds the file by its debug id.
warm_from() { # CACHE FILE ROOT: warms from a directory, and makes nothing anew
  "$SYMFS" warm --breakpad --no-default-sources --source "gdb@$3" --cache "$TMP/store-$1" "$2" >"$TMP/warm.out" ||
    fail "warm $1: $(cat "$TMP/warm.out")"
  grep -q 'sym [0-9.]* KB' "$TMP/warm.out" || fail "warm $1: $(cat "$TMP/warm.out")"
  symfs_mount "$1" --offline
  eval "is_made \"\$MNT_$1/breakpad/$SYM\" $1"
  [ "$(made "$TMP/$1.log")" = 0 ] || fail "$1: made again: $(cat "$TMP/$1.log")"
  symfs_umount "$1"
  [ "$("$SYMFS" cache ls --cache "$TMP/store-$1" | grep -c ' sym ')" = 1 ] ||
    fail "$1: $("$SYMFS" cache ls --cache "$TMP/store-$1")"
}
warm_from placed "$TMP/p/bin/Prog" "$TMP/both"
# Also if it was made of the program alone.
put_gdb "$TMP/full" "$TMP/p/full/Prog"
warm_from placed_program "$TMP/p/full/Prog" "$TMP/full"
# A directory of programs: the same, each module once, and no word of other files.
mkdir -p "$TMP/crashes/a/b"
cp "$TMP/p/bin/Prog" "$TMP/crashes/a/b" && cp "$top_srcdir/README.md" "$TMP/crashes/a" && ln -s .. "$TMP/crashes/a/up"
warm_dir() { "$SYMFS" warm --breakpad --no-default-sources --source "debuginfod@$URL_far" --cache "$TMP/warm-dir" \
  "$@" >"$TMP/warm.out" 2>"$TMP/warm.err"; }
warm_dir "$TMP/crashes/" || fail "warm DIR: $(cat "$TMP/warm.err")"
[ "$(wc -l <"$TMP/warm.out")" = 1 ] && grep -q '/crashes/a/b/Prog	.*	sym [0-9.]* KB' "$TMP/warm.out" ||
  fail "warm DIR: $(cat "$TMP/warm.out")"
symfs_serve warmed_dir --cache "$TMP/warm-dir" --offline
[ "$(code "$URL_warmed_dir/breakpad/$SYM")" = 200 ] || fail "warm DIR did not make it"
mkdir "$TMP/nothing"
warm_dir "$TMP/nothing" && fail "warm of an empty directory"
grep -q 'neither core files, minidumps nor programs' "$TMP/warm.err" || fail "warm says $(cat "$TMP/warm.err")"
head -c 3000 "$TMP/p/bin/Prog" >"$TMP/crashes/cut"
warm_dir "$TMP/crashes" && fail "warm of a program that is cut short"
grep -q '/crashes/cut: ' "$TMP/warm.err" && grep -q '	sym [0-9.]* KB' "$TMP/warm.out" ||
  fail "warm with a broken file: $(cat "$TMP/warm.err" "$TMP/warm.out")"

# ---- the name that was asked for -----------------------------------------------------------------
symfs_serve names --source "gdb@$TMP/both"
fetch_url -o "$TMP/other.sym" "$URL_names/breakpad/Other/$DEBUG_ID/Other.sym" &
other=$!
fetch_url -o "$TMP/own.sym" "$URL_names/breakpad/$SYM" || fail "two names at once"
wait "$other" || fail "another name"
is_made "$TMP/own.sym" "beside another name"
head -n 1 "$TMP/other.sym" | grep -q ' Other$' || fail "another name: $(head -n 1 "$TMP/other.sym")"
[ "$(code "$URL_names/breakpad/Third/$DEBUG_ID/Third.sym")" = 200 ] || fail "a third name"
head -n 1 "$TMP/body" | grep -q ' Third$' || fail "a third name: $(head -n 1 "$TMP/body")"

# ---- rules of an assembler file ------------------------------------------------------------------
# The debug file has a .debug_frame with one function; the program has the rules of the others.
mkdir "$TMP/asm"
printf '%s\n' '.cfi_sections .debug_frame' '.text' '.globl part' '.type part, %function' 'part:' '.cfi_startproc' \
  'ret' '.cfi_endproc' '.size part, .-part' '.section .note.GNU-stack,"",%progbits' >"$TMP/asm/part.s"
echo 'void part(void); int main(void) { part(); return 0; }' >"$TMP/asm/main.c"
gcc -g -Wl,--build-id -o "$TMP/asm/Asm" "$TMP/asm/main.c" "$TMP/asm/part.s" || fail "gcc"
objcopy --only-keep-debug "$TMP/asm/Asm" "$TMP/asm/Asm.debug" && strip "$TMP/asm/Asm" || fail "objcopy"
put_gdb "$TMP/asm/dir" "$TMP/asm/Asm.debug" .debug
put_gdb "$TMP/asm/dir" "$TMP/asm/Asm"
asm_id=$("$SYMFS" sym "$TMP/asm/Asm.debug" | head -n 1 | cut -d ' ' -f 4)
get() { # FILE CACHE: gets Asm.sym
  "$SYMFS" get --no-default-sources --source "gdb@$TMP/asm/dir" --cache "$TMP/$2" -o "$TMP/asm/$1" \
    "breakpad/Asm/$asm_id/Asm.sym" >/dev/null
}
get asm.sym asm-cache || fail "get Asm.sym"
"$SYMFS" sym --cfi-only "$TMP/asm/Asm" | grep '^STACK' >"$TMP/asm/want"
[ "$(grep -c 'INIT' "$TMP/asm/want")" -ge 2 ] || fail "too few rules: $(cat "$TMP/asm/want")"
grep '^STACK' "$TMP/asm/asm.sym" | cmp -s - "$TMP/asm/want" ||
  fail "not the rules of the program: $(grep '^STACK' "$TMP/asm/asm.sym")"
# Without the program, the rules of the debug file.
find "$TMP/asm/dir" -type f ! -name '*.debug' -exec rm {} +
get debug.sym asm-debug || fail "get Asm.sym of the debug file"
[ "$(grep -c '^STACK CFI INIT' "$TMP/asm/debug.sym")" = 1 ] ||
  fail "the debug file: $(grep '^STACK' "$TMP/asm/debug.sym")"

# ---- a fault of this machine ---------------------------------------------------------------------
# This copy does not find the reader of unwind tables. No file without rules may stay in its cache.
copy_symfs "$TMP/alone"
rm "$TMP/alone/libexec/frames"
faulty() { # SYMFS
  "$1" get --no-default-sources --source "gdb@$TMP/both" --cache "$TMP/fault" -o "$TMP/fault.sym" "breakpad/$SYM" \
    >"$TMP/fault.out" 2>&1
}
if faulty "$TMP/alone/symfs"; then
  is_made "$TMP/fault.sym" "by the installed reader"
else
  grep -q 'the worker .*/frames did not start: No such file' "$TMP/fault.out" || fail "$(cat "$TMP/fault.out")"
fi
faulty "$SYMFS" || fail "after a fault: $(cat "$TMP/fault.out")"
is_made "$TMP/fault.sym" "after a fault"

# ---- symfs sym -o --------------------------------------------------------------------------------
# The output appears only after success, because it may be an input.
mkdir "$TMP/out"
cp "$TMP/p/full/Prog" "$TMP/out/Prog"
"$SYMFS" sym --name Prog -o "$TMP/out/Prog" "$TMP/out/Prog" || fail "sym -o its input"
names "$TMP/out/Prog" | head -n 1 | grep -q '^MODULE ' || fail "sym -o its input: $(head -c 100 "$TMP/out/Prog")"
echo kept >"$TMP/out/kept.sym"
"$SYMFS" sym --cfi-only -o "$TMP/out/kept.sym" "$TMP/p/debug/Prog.debug" 2>/dev/null && fail "rules of a debug file"
[ "$(cat "$TMP/out/kept.sym")" = kept ] || fail "an error changed the output"
"$SYMFS" sym --cfi-only --store "$TMP/out/store" "$TMP/p/debug/Prog.debug" 2>/dev/null && fail "rules of a debug file"
[ -z "$(find "$TMP/out/store" -type f)" ] || fail "an error left a file: $(find "$TMP/out/store" -type f)"
ln -s kept.sym "$TMP/out/link.sym"
"$SYMFS" sym -o "$TMP/out/link.sym" "$TMP/p/full/Prog" || fail "sym -o a link"
[ -h "$TMP/out/link.sym" ] && grep -q '^MODULE' "$TMP/out/kept.sym" || fail "a link was replaced"
"$SYMFS" sym -o /dev/stdout "$TMP/p/full/Prog" | grep -q '^MODULE' || fail "sym -o /dev/stdout"
mkfifo "$TMP/out/pipe"
cat "$TMP/out/pipe" >"$TMP/piped" &
PIDS="$PIDS $!"
"$SYMFS" sym --cfi-only -o "$TMP/out/pipe" "$TMP/p/bin/Prog" || fail "sym -o a pipe"
[ -p "$TMP/out/pipe" ] || fail "a pipe was replaced"
[ "$(find "$TMP/out" -type f | wc -l)" = 2 ] || fail "temporary files stay: $(ls "$TMP/out")"

# ---- a file that a source has --------------------------------------------------------------------
mkdir -p "$TMP/sym/Prog/$DEBUG_ID"
{ head -n 1 "$TMP/names.sym" && echo 'PUBLIC 1000 0 from_the_source'; } >"$TMP/sym/$SYM"
symfs_serve two --source "gdb@$TMP/both" --source "breakpad@$TMP/sym"
[ "$(code "$URL_two/breakpad/$SYM")" = 200 ] || fail "the source's file"
same_file "$TMP/body" "$TMP/sym/$SYM"
[ "$(made "$TMP/two.log")" = 0 ] || fail "made beside the source's"
# What symfs made is no input: stacks and GSYM come from the debug file.
"$SYMFS" cache ls --cache "$TMP/get" | grep -q ' gsym ' && fail "GSYM of a made file"
say "a mount, a server, get and warm:" \
  "$(grep -c '^FUNC' "$TMP/got.sym") FUNC, $(grep -c '^STACK' "$TMP/got.sym") STACK records"

# ---- a file that a source has under the build id, which only the program states --------------------
mkdir -p "$TMP/unified"
published=$("$SYMFS" paths --layout unified --type breakpad --object-type elf --code-id "$ID" | cut -f 3 | head -n 1)
mkdir -p "$TMP/unified/${published%/*}"
printf 'MODULE Linux x86_64 %s Prog\nFUNC 1000 10 0 published\n' "$DEBUG_ID" >"$TMP/unified/$published"
upstream_start unified --root "$TMP/unified"
# shellcheck disable=SC2154 # set by upstream_start
for source in "$URL_unified" "$TMP/unified"; do
  n=$((${n:-0} + 1))
  symfs_mount u$n --source "gdb@$TMP/both" --source "unified@$source"
  cmp "$TMP/u$n/breakpad/$SYM" "$TMP/unified/$published" || fail "made, although $source has it"
  symfs_umount u$n
done
symfs_serve u --source "gdb@$TMP/both" --source "unified@$URL_unified"
[ "$(code "$URL_u/breakpad/$SYM")" = 200 ] || fail "serve"
cmp "$TMP/body" "$TMP/unified/$published" || fail "served what was made"
