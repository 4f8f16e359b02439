#!/bin/sh
# Commands take whatever a person knows of a file: a path of any layout, a path in a mount, an identifier alone, a
# key as `cache ls` prints it, or the program itself. Several are fetched at once, with a progress line for each.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc objcopy strip readelf nm
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

make_program "$TMP/p" prog
prog=$TMP/p/bin/prog lib=$TMP/p/bin/libprog.so
id=$(build_id "$prog") lib_id=$(build_id "$lib")
for name in prog libprog.so; do
  put_gdb "$TMP/root" "$TMP/p/debug/$name.debug" .debug
  put_gdb "$TMP/root" "$TMP/p/bin/$name"
done
upstream_start up --root "$TMP/root"
store=$TMP/store
with() { # COMMAND ARGS...: output in $TMP/out and $TMP/err
  wi_cmd=$1
  shift
  "$SYMFS" "$wi_cmd" --no-default-sources --cache "$store" --source "gdb@$URL_up" "$@" >"$TMP/out" 2>"$TMP/err"
}
blob() { # KIND FILE: the only line of the output is a file like this one
  [ "$(wc -l <"$TMP/out")" = 1 ] && cmp -s "$(cat "$TMP/out")" "$2" || fail "$1: $(cat "$TMP/out" "$TMP/err")"
}
exits() { # WANTED COMMAND ARGS...
  ex_want=$1
  shift
  with "$@"
  ex_got=$?
  [ $ex_got = "$ex_want" ] || fail "$*: exit $ex_got, wanted $ex_want: $(cat "$TMP/out" "$TMP/err")"
}
upper() { printf %s "$1" | tr a-f A-F; }

# ---- every word means the same file ---------------------------------------------------------------
debug=$TMP/p/debug/prog.debug seen=0
cd "$TMP/p/bin" || fail cd
cp prog deadbeef
for word in prog ./prog "$prog" ../bin/prog ./deadbeef "$id" "$(upper "$id")" "elf_debug $id" "elf_debug $id prog" \
  "gdb/$(gdb_path "$id" .debug)" "debuginfod/buildid/$id/debuginfo" "buildid/$id/debuginfo" "$debug"; do
  for command in get find; do
    exits 0 $command "$word"
    blob "$command $word" "$debug"
    seen=$((seen + 1))
  done
  exits 0 why "$word"
  grep -q "^key     elf_debug $id" "$TMP/out" || fail "why $word: $(cat "$TMP/out")"
  exits 0 best --for debug "$word"
  grep -q "elf_debug *chosen" "$TMP/out" || fail "best $word: $(cat "$TMP/out")"
  exits 0 cache ls "$word"
  grep -q "elf_debug $id" "$TMP/out" || fail "cache ls $word: $(cat "$TMP/out")"
done
for word in prog "$id" "elf_code $id" "buildid/$id/executable" "elf_debug $id"; do
  exits 0 get --type elf_code "$word"
  blob "get --type elf_code $word" "$prog"
  seen=$((seen + 1))
done
# Digits are an identifier, whatever file has such a name.
exits 1 get deadbeef
exits 2 get --type nonsense "$id"
grep -q 'expected one of elf_code elf_debug' "$TMP/err" || fail "--type nonsense: $(cat "$TMP/err")"
exits 1 get --type pe 5ab380779000
grep -q "names no file of the type pe; a path does" "$TMP/err" || fail "a PE without a name: $(cat "$TMP/err")"
for word in none ./none /none no/such/path; do
  exits 1 get "$word"
  [ ! -s "$TMP/out" ] && [ "$(wc -l <"$TMP/err")" = 1 ] || fail "get $word: $(cat "$TMP/out" "$TMP/err")"
done
exits 1 get "$top_srcdir/README.md"
grep -q 'is not a program, library, debug file, core file or minidump' "$TMP/err" ||
  fail "get of a text: $(cat "$TMP/err")"
exits 1 why none
grep -q '^key     none: neither a path' "$TMP/out" || fail "why none: $(cat "$TMP/out")"

# ---- UUIDs and debug ids ----------------------------------------------------------------------------
sym=$TMP/crash.sym debug_id=3249D99D0C4049318610F4E4FB0B69361
printf 'MODULE windows x86 %s crash.pdb\nPUBLIC 1000 0 main\n' $debug_id >"$sym"
"$SYMFS" add --cache "$store" "$sym" >/dev/null || fail "add"
for word in $debug_id 3249d99d-0c40-4931-8610-f4e4fb0b6936-1 "breakpad $debug_id crash.pdb"; do
  exits 0 get "$word"
  blob "get $word" "$sym"
  exits 0 get --type breakpad "$word"
  seen=$((seen + 2))
done
exits 1 get 3249d99d-0c40-4931-8610-f4e4fb0b6937

# ---- the cache: an identifier means all that is stored of the build ----------------------------------
exits 0 cache pin "$id"
exits 0 cache ls "$id"
[ "$(grep -c ' pinned$' "$TMP/out")" = 2 ] || fail "pinned by identifier: $(cat "$TMP/out")"
exits 0 cache rm --type elf_debug "$prog"
exits 0 cache ls "$id"
grep -q elf_code "$TMP/out" && ! grep -q elf_debug "$TMP/out" || fail "rm --type: $(cat "$TMP/out")"
exits 0 cache rm prog
exits 0 cache ls "$id"
[ ! -s "$TMP/out" ] || fail "rm FILE: $(cat "$TMP/out")"
exits 1 cache rm "$id"
grep -q 'is not stored' "$TMP/err" || fail "rm of nothing: $(cat "$TMP/err")"

# ---- several at once, in order ------------------------------------------------------------------------
rm -rf "$store"
upstream_fault "$URL_up" "*$(gdb_path "$id" .debug)" slow 1500
exits 0 get prog "$lib_id" "buildid/$id/executable"
{ cmp -s "$(sed -n 1p "$TMP/out")" "$debug" && cmp -s "$(sed -n 2p "$TMP/out")" "$TMP/p/debug/libprog.so.debug" &&
  cmp -s "$(sed -n 3p "$TMP/out")" "$prog"; } || fail "the order: $(cat "$TMP/out")"
[ ! -s "$TMP/err" ] || fail "progress without a terminal: $(cat "$TMP/err")"
rm -rf "$store"
exits 1 get prog none "$lib_id"
[ "$(wc -l <"$TMP/out")" = 2 ] || fail "one of three is missing: $(cat "$TMP/out")"
upstream_clear "$URL_up"
if command -v script >/dev/null; then
  head -c 3000000 /dev/urandom >"$TMP/noise"
  for name in prog libprog.so; do
    objcopy --add-section .noise="$TMP/noise" "$TMP/p/full/$name" "$TMP/$name.large" || fail objcopy
    put_gdb "$TMP/root" "$TMP/$name.large" .debug
  done
  upstream_fault "$URL_up" '*.debug' trickle 1500000
  # On a busy machine the files may come before their progress is shown: then they are fetched again.
  shows_progress() {
    rm -rf "$store"
    script -qec "'$SYMFS' get --no-default-sources --cache '$store' --source 'gdb@$URL_up' prog libprog.so" \
      /dev/null >"$TMP/out" </dev/null || fail "get on a terminal: $(cat "$TMP/out")"
    tr '\r\033' '\n\n' <"$TMP/out" >"$TMP/lines"
    for name in prog libprog.so; do
      grep -qE "$name: [0-9]+ % of 3\.0 MB, [0-9.]+ MB/s, [0-9.]+ s left" "$TMP/lines" || return
    done
  }
  wait_for shows_progress || fail "no progress of $name: $(cat -v "$TMP/out")"
  upstream_clear "$URL_up"
fi

# ---- a file of a directory --------------------------------------------------------------------------
rm -rf "$store"
put_gdb "$TMP/root" "$debug" .debug
of_root() { # OPTION WHAT
  "$SYMFS" get --no-default-sources --cache "$store" --source "gdb@$TMP/root" "$@" >"$TMP/out" 2>"$TMP/err"
}
of_root prog && [ "$(cat "$TMP/out")" = "$TMP/root/$(gdb_path "$id" .debug)" ] ||
  fail "in place: $(cat "$TMP/out" "$TMP/err")"
of_root --copy "$id" || fail "--copy: $(cat "$TMP/err")"
blob "get --copy" "$debug"
copy=$(cat "$TMP/out")
case $copy in "$store"/blobs/*) ;; *) fail "get --copy: $copy" ;; esac
cp "$TMP/p/debug/libprog.so.debug" "$TMP/root/$(gdb_path "$id" .debug)"
cmp -s "$copy" "$debug" || fail "the copy changed with the directory"
of_root --copy "$id" && [ "$(cat "$TMP/out")" = "$copy" ] || fail "--copy again: $(cat "$TMP/out" "$TMP/err")"
exits 2 get --copy -o "$TMP/prog.debug" "$id"
put_gdb "$TMP/root" "$debug" .debug

# ---- GSYM on the fly --------------------------------------------------------------------------------
at=0x$(nm "$TMP/p/full/prog" | awk '/ main$/ { print $1 }')
rm -rf "$store"
for word in ./prog "$id" "$debug" "buildid/$id/debuginfo"; do
  exits 0 addr2line "$word" "$at"
  grep -q "	main@.*prog\.c:4\$" "$TMP/out" || fail "addr2line $word: $(cat "$TMP/out" "$TMP/err")"
  exits 0 gsym lookup "$at" "$word"
  grep -q "	main@.*prog\.c:4\$" "$TMP/out" || fail "gsym lookup $word: $(cat "$TMP/out" "$TMP/err")"
done
exits 2 addr2line -j .text -e ./prog "$at"
grep -q -- '-j .text: add the address of the section (readelf -S) to each offset' "$TMP/err" ||
  fail "addr2line -j: $(cat "$TMP/err")"
exits 1 addr2line none "$at"
exits 2 addr2line ./prog no_such_function
grep -q '^symfs addr2line: .*no_such_function$' "$TMP/err" || fail "addr2line of no address: $(cat "$TMP/err")"
exits 1 addr2line none "$at"
grep -q '^symfs addr2line: none: ' "$TMP/err" || fail "addr2line of no file: $(cat "$TMP/err")"
# What users of binutils type: the file behind -e, hexadecimal numbers, letters, stdin, functions with an offset.
exits 0 addr2line -e ./prog -afips "${at#0x}"
grep -qx "0x[0-9a-f]*: main@prog\.c:4" "$TMP/out" || fail "addr2line -e -afips: $(cat "$TMP/out")"
exits 0 addr2line ./prog main
grep -q '	main@.*prog\.c:' "$TMP/out" || fail "addr2line main: $(cat "$TMP/out")"
main=$(cut -f 1 "$TMP/out")
exits 0 addr2line ./prog main+0x1 main+1
[ "$(cut -f 1 "$TMP/out" | uniq)" = "$(printf '0x%x' $((main + 1)))" ] || fail "addr2line main+0x1: $(cat "$TMP/out")"
for words in './prog' '-e ./prog'; do
  # shellcheck disable=SC2086
  echo "$at" | with addr2line $words || fail "addr2line $words, stdin: $(cat "$TMP/err")"
  grep -q 'main@' "$TMP/out" || fail "addr2line $words, stdin: $(cat "$TMP/out")"
done
printf 'MODULE Linux x86_64 777777777777777777777777777777770 cxx\nFUNC 10 10 0 _ZN2ns4workEi\n' >"$TMP/cxx.sym"
exits 0 addr2line "$TMP/cxx.sym" 0x14
grep -q '	_ZN2ns4workEi$' "$TMP/out" || fail "addr2line changes names: $(cat "$TMP/out")"
for word in 0x14 ns::work+4 _ZN2ns4workEi; do
  exits 0 addr2line -C "$TMP/cxx.sym" "$word"
  grep -q '^0x1[04]	ns::work(int)$' "$TMP/out" || fail "addr2line -C $word: $(cat "$TMP/out")"
done
exits 0 addr2line -C --json "$TMP/cxx.sym" 0x14
grep -q '"name":"ns::work(int)"' "$TMP/out" || fail "addr2line -C --json: $(cat "$TMP/out")"
echo "$at" | with addr2line --stdin ./prog || fail "addr2line --stdin: $(cat "$TMP/err")"
grep -q 'main@' "$TMP/out" || fail "addr2line --stdin: $(cat "$TMP/out")"
# Without its debug file it is what its own symbols say.
strip -g -o "$TMP/symbols" "$TMP/p/full/prog"
"$SYMFS" addr2line --no-default-sources --cache "$TMP/none" "$TMP/symbols" "$at" >"$TMP/out" 2>"$TMP/err" ||
  fail "own symbols: $(cat "$TMP/err")"
grep -q '	main$' "$TMP/out" && grep -q 'names come from its own symbols' "$TMP/err" ||
  fail "own symbols: $(cat "$TMP/out" "$TMP/err")"

# ---- warm ---------------------------------------------------------------------------------------------
rm -rf "$store"
exits 0 prefetch "$id" ./libprog.so
grep -Eq "^$id	$id	elf_debug [0-9.]+ [KM]B	elf_code [0-9.]+ [KM]B\$" "$TMP/out" ||
  fail "warm ID: $(cat "$TMP/out")"
grep -Eq "^\./libprog.so	$lib_id	elf_debug [0-9.]+ [KM]B	elf_code [0-9.]+ [KM]B\$" "$TMP/out" ||
  fail "warm FILE: $(cat "$TMP/out")"

# ---- in a mount ---------------------------------------------------------------------------------------
[ -c /dev/fuse ] && [ "$(id -u)" = 0 ] || { say "$seen words without a mount"; exit 0; }
symfs_mount m --source "gdb@$URL_up"
for command in get why "best --for debug" warm; do
  # shellcheck disable=SC2086 # words
  "$SYMFS" $command "$MNT_m/debuginfod/buildid/$id/debuginfo" >"$TMP/out" 2>"$TMP/err" ||
    fail "$command in a mount: $(cat "$TMP/err")"
done
"$SYMFS" addr2line "$MNT_m/debuginfod/buildid/$id/debuginfo" "$at" 2>"$TMP/err" | grep -q main ||
  fail "addr2line in a mount: $(cat "$TMP/err")"
# The store is that of the mount.
"$SYMFS" cache rm "$MNT_m/debuginfod/buildid/$id/debuginfo" 2>"$TMP/err" ||
  fail "cache rm in a mount: $(cat "$TMP/err")"
# What this mount last saw is there by every word.
"$SYMFS" why --no-default-sources --cache "$TMP/store-m" --source "gdb@$URL_up" "$prog" >"$TMP/out" ||
  fail "why beside a mount"
grep -q "the mount $MNT_m last saw" "$TMP/out" || fail "why FILE beside a mount: $(cat "$TMP/out")"
symfs_umount m
say "$seen words"
