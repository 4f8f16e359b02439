#!/bin/sh
# symfs add: a running mount serves added files, also when it has just answered
# "not there". Files without a place are reported, and added files are never evicted.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf strip

make_program "$TMP/p" foo
id=$(build_id "$TMP/p/full/foo")
symfs_mount m --cache "$TMP/store"
debug=$MNT_m/gdb/$(gdb_path "$id" .debug)
code=$MNT_m/debuginfod/buildid/$id/executable
[ -e "$debug" ] && fail "it is there before it was added"
[ -e "$code" ] && fail "it is there before it was added"

out=$("$SYMFS" add --cache "$TMP/store" "$TMP/p/bin/foo" "$TMP/p/debug/foo.debug") || fail "add: $out"
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 2, present 0, not placed 0" ] || fail "add: $out"
wait_for test -e "$debug" || fail "the debug file does not show up"
wait_for test -e "$code" || fail "the program does not show up"
same_file "$TMP/p/debug/foo.debug" "$debug"
same_file "$TMP/p/bin/foo" "$code"
# The name that it was added by is the one that symstore lists.
same_file "$TMP/p/bin/foo" "$MNT_m/symstore/foo/elf-buildid-$id/foo"
[ "$(ls "$MNT_m/symstore")" = "$(printf '%s\n' 000Admin _.debug foo pingme.txt | sort)" ] ||
  fail "ls: $(ls "$MNT_m/symstore")"

out=$("$SYMFS" add --cache "$TMP/store" "$TMP/p/bin/foo")
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 0, present 1, not placed 0" ] || fail "again: $out"

# A tree: what is in it, a line for what has no place; only named files decide the exit status.
mkdir "$TMP/tree"
cp "$TMP/p/full/libfoo.so" "$TMP/p/src/foo.c" "$TMP/tree/"
ln -s . "$TMP/tree/loop"
out=$("$SYMFS" add -r --cache "$TMP/store" "$TMP/tree") || fail "tree: $out"
printf '%s\n' "$out" | grep -q "^$TMP/tree/foo.c: not placed: " || fail "tree: $out"
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 1, present 0, not placed 1" ] || fail "tree: $out"
# One file that is program and debug file in one answers as both.
lib=$(build_id "$TMP/p/full/libfoo.so")
same_file "$TMP/p/full/libfoo.so" "$MNT_m/gdb/$(gdb_path "$lib" .debug)"
same_file "$TMP/p/full/libfoo.so" "$MNT_m/gdb/$(gdb_path "$lib")"

# What is removed by one of its names is gone by all.
"$SYMFS" cache rm --cache "$TMP/store" "gdb/$(gdb_path "$lib" .debug)" || fail "cache rm"
"$SYMFS" get --offline --cache "$TMP/store" "gdb/$(gdb_path "$lib")" >/dev/null 2>&1 && fail "half of it was removed"
"$SYMFS" get --offline --cache "$TMP/store" "gdb/$(gdb_path "$id")" >/dev/null || fail "more than that was removed"

"$SYMFS" add --cache "$TMP/store" "$TMP/tree" >"$TMP/out" 2>&1
[ $? = 0 ] || fail "a directory without -r is not added: $(cat "$TMP/out")"
"$SYMFS" add --cache "$TMP/store" "$TMP/p/src/foo.c" "$TMP/nowhere" >"$TMP/out" 2>&1
[ $? = 1 ] || fail "a file without a place does not end with 1"
[ "$(grep -c 'not placed: ' "$TMP/out")" = 2 ] || fail "$(cat "$TMP/out")"
head -c 200 "$TMP/p/full/foo" >"$TMP/cut"
"$SYMFS" add --cache "$TMP/store" "$TMP/cut" | grep -q 'cut short' || fail "a cut file is not called that"
"$SYMFS" cache verify --cache "$TMP/store" || fail verify
symfs_umount m

# ---- pinned: no download evicts what was added, until `cache unpin` ----------------------------------
make_program "$TMP/r" bar
head -c 40000 /dev/urandom >"$TMP/noise"
for f in 1 2 3 4; do
  make_program "$TMP/r" "n$f"
  objcopy --add-section .noise="$TMP/noise" "$TMP/r/debug/n$f.debug" "$TMP/n$f" || fail objcopy
  put_gdb "$TMP/up" "$TMP/n$f" .debug
done
upstream_start up --root "$TMP/up"
bar=gdb/$(gdb_path "$(build_id "$TMP/r/full/bar")" .debug)
symfs_mount q --quota 60000 --source "gdb@$URL_up"
store=$TMP/store-q
"$SYMFS" add --cache "$store" --quota 60000 "$TMP/r/debug/bar.debug" >"$TMP/out" 2>"$TMP/err" ||
  fail "add: $(cat "$TMP/err")"
[ ! -s "$TMP/err" ] || fail "a warning within the quota: $(cat "$TMP/err")"
"$SYMFS" cache ls --cache "$store" | grep -q "elf_debug $(build_id "$TMP/r/full/bar").*add  pinned\$" ||
  fail "cache ls: $("$SYMFS" cache ls --cache "$store")"
"$SYMFS" cache ls --json --cache "$store" | grep -q '"pinned": *true' ||
  fail "cache ls --json: $("$SYMFS" cache ls --json --cache "$store")"
downloads() {
  for f in 1 2 3 4; do same_file "$TMP/n$f" "$MNT_q/gdb/$(gdb_path "$(build_id "$TMP/n$f")" .debug)"; done
}
stored() { "$SYMFS" get --offline --no-default-sources --keep-seconds 0 --cache "$store" "$bar" >"$TMP/out" 2>&1; }
downloads
stored || fail "four downloads evicted what was added: $("$SYMFS" cache ls --cache "$store")"
rm "$store"/index.sqlite*
stored || fail "it went with the index"
downloads
stored || fail "the index was made anew, and four downloads evicted what was added"
"$SYMFS" cache gc --quota 1 --cache "$store" >/dev/null || fail gc
stored || fail "cache gc evicted what was added"

# More than the quota: it is stored, and a warning says what follows and what to do.
"$SYMFS" add --cache "$store" --quota 60000 "$TMP/n1" "$TMP/n2" >"$TMP/out" 2>"$TMP/err" ||
  fail "add: $(cat "$TMP/err")"
grep -q "$store: pinned files take [0-9]* bytes, the quota is 60000: .*symfs cache unpin" "$TMP/err" ||
  fail "no warning: $(cat "$TMP/out" "$TMP/err")"
pinned=$("$SYMFS" cache stats --cache "$store" | sed -n 's/^pinned //p')
[ "$pinned" = 3 ] || fail "pinned: $pinned"
downloads
stored || fail "over the quota: what was added was evicted"

"$SYMFS" cache unpin --cache "$store" "$bar" || fail unpin
"$SYMFS" cache ls --cache "$store" "$bar" | grep -q pinned && fail "pinned after unpin"
downloads
# The mount answers before it has stored what it downloaded, and so before it evicts.
evicted() { ! "$SYMFS" cache ls --cache "$store" "$bar" 2>/dev/null | grep -q elf_debug; }
wait_for evicted || fail "after unpin it is not evicted: $("$SYMFS" cache ls --cache "$store")"
for f in 1 2; do "$SYMFS" cache rm --cache "$store" "gdb/$(gdb_path "$(build_id "$TMP/n$f")" .debug)" || fail rm; done
[ "$("$SYMFS" cache stats --cache "$store" | sed -n 's/^pinned_bytes //p')" = 0 ] || fail "pinned after cache rm"

# What was downloaded before, and the members of an archive, are the user's once he adds them.
downloads
kept() { "$SYMFS" get --offline --no-default-sources --cache "$store" \
  "gdb/$(gdb_path "$(build_id "$TMP/n4")" .debug)"; }
wait_for kept || fail "what was downloaded is not stored"
out=$("$SYMFS" add --cache "$store" "$TMP/n4") || fail "add: $out"
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 0, present 1, not placed 0" ] || fail "present: $out"
"$SYMFS" cache ls --cache "$store" | grep -q "elf_debug $(build_id "$TMP/n4").*pinned\$" ||
  fail "what was present is not pinned"
if command -v zip >/dev/null; then
  (cd "$TMP" && zip -q a.zip n1 n2) || fail zip
  "$SYMFS" add --cache "$store" "$TMP/a.zip" >/dev/null || fail "add a.zip"
  [ "$("$SYMFS" cache stats --cache "$store" | sed -n 's/^pinned //p')" = 3 ] ||
    fail "members of an archive are not pinned"
fi
"$SYMFS" cache verify --cache "$store" || fail verify
symfs_umount q

# ---- two Breakpad files of one id --------------------------------------------------------
# The name asked selects among them, whatever its case; any other name means the first.
id=ABCDEF0123456789ABCDEF01234567890 store=$TMP/named-store
for n in one two; do
  printf 'MODULE Linux x86_64 %s %s.so\nFUNC 10 10 0 of_%s\n' $id $n $n >"$TMP/$n.so.sym"
  out=$("$SYMFS" add --no-default-sources --cache "$store" "$TMP/$n.so.sym") || fail "add $n.so.sym: $out"
  # What was asked before the second file came must not stay.
  printf '{"memoryMap": [["two.so", "%s"], ["four.so", "%s"]], "stacks": [[[0, 20], [1, 20]]]}' $id $id |
    "$SYMFS" symbolicate --offline --no-default-sources --cache "$store" >/dev/null 2>&1 || fail "symbolicate, $n"
  [ "$(printf '%s\n' "$out" | tail -n 1)" = "added 1, present 0, not placed 0" ] || fail "$n.so.sym: $out"
done
out=$("$SYMFS" add --no-default-sources --cache "$store" "$TMP/two.so.sym" "$TMP/one.so.sym") ||
  fail "add again: $out"
[ "$(printf '%s\n' "$out" | tail -n 1)" = "added 0, present 2, not placed 0" ] || fail "again: $out"
named() {
  printf '{"memoryMap": [["one.so", "%s"], ["two.so", "%s"], ["TWO.so", "%s"], ["three.so", "%s"]],
    "stacks": [[[0, 20], [1, 20], [2, 20], [3, 20]]]}' $id $id $id $id |
    "$SYMFS" symbolicate --api v4 --offline --no-default-sources --cache "$store" 2>/dev/null
}
symbolicated='{"symbolicatedStacks": [["of_one (in one.so)", "of_two (in two.so)", "of_two (in TWO.so)", '
symbolicated=$symbolicated'"of_one (in three.so)"]], "knownModules": [true, true, true, true]}'
for _ in cold warm; do
  [ "$(named)" = "$symbolicated" ] || fail "two names: $(named)"
done
made=$("$SYMFS" cache ls --cache "$store" | grep -c 'breakpad.exact')
[ "$made" = 2 ] || fail "made for look-ups: $made files, not one for each"
symfs_mount n --no-default-sources --cache "$store"
for pair in one:one two:two TWO:two three:one; do
  tail -n 1 "$MNT_n/breakpad/${pair%:*}.so/$id/${pair%:*}.so.sym" | grep -q "of_${pair#*:}\$" ||
    fail "in the mount: $pair"
done
[ "$(stat -c %i "$MNT_n/breakpad/one.so/$id/one.so.sym")" != \
  "$(stat -c %i "$MNT_n/breakpad/two.so/$id/two.so.sym")" ] ||
  fail "two files have one inode number"
listed=$(ls "$MNT_n/breakpad" | tr '\n' ' ')
[ "$listed" = "one.so two.so " ] || fail "listed: $listed"
symfs_umount n
rm -f "$store"/index.sqlite*
[ "$(named)" = "$symbolicated" ] || fail "two names, with an index that was rebuilt: $(named)"
"$SYMFS" cache rm --cache "$store" "breakpad/two.so/$id/two.so.sym" || fail "cache rm"
"$SYMFS" cache ls --cache "$store" | grep -q "breakpad $id one.so" || fail "cache rm took the other one"
"$SYMFS" cache ls --cache "$store" | grep -q "breakpad $id= two.so" && fail "cache rm left it"

# ---- other bytes are added while a download of the same key is on its way: these are the answer ---------
make_program "$TMP/r" late
late=$TMP/r/debug/late.debug
objcopy --add-section .noise="$TMP/noise" "$late" "$TMP/mine" || fail objcopy
head -c 300000 /dev/urandom >"$TMP/more"
objcopy --add-section .noise="$TMP/more" "$late" "$TMP/theirs" || fail objcopy
put_gdb "$TMP/slow" "$TMP/theirs" .debug
upstream_start slow --root "$TMP/slow"
upstream_hold "$URL_slow" '*' 200000
name=gdb/$(gdb_path "$(build_id "$late")" .debug)
store=$TMP/store-beaten
"$SYMFS" get --no-default-sources --cache "$store" --source "gdb@$URL_slow" -o "$TMP/got" "$name" >"$TMP/out" 2>&1 &
get=$!
PIDS="$PIDS $get"
comes() { [ -n "$(find "$store/partial" "$store/sparse" -type f -size +300)" ]; }
wait_for comes || fail "no download begins"
"$SYMFS" add --cache "$store" "$TMP/mine" >"$TMP/add.out" || fail "add: $(cat "$TMP/add.out")"
upstream_go "$URL_slow"
wait "$get" || fail "symfs get fails with $? when the file is added: $(cat "$TMP/out")"
same_file "$TMP/mine" "$TMP/got"

# ---- a pinned file that the disk lost does not go without a word -----------------------------------------
blob=$("$SYMFS" get --offline --no-default-sources --cache "$store" "$name") || fail "it is not stored"
truncate -s 100 "$blob" || fail truncate
"$SYMFS" get --offline --no-default-sources --cache "$store" "$name" >"$TMP/out" 2>&1 &&
  fail "100 bytes of it are an answer"
"$SYMFS" cache gc --cache "$store" >>"$TMP/out" 2>&1 || fail gc
grep -q "$store: elf_debug .* was pinned, and its file has another size now: add it again" "$TMP/out" ||
  fail "no word: $(cat "$TMP/out")"

# ---- zeros in place of a build id ---------------------------------------------------------
gcc -o "$TMP/zeros" -Wl,--build-id=0x0000000000000000000000000000000000000000 -x c - <<'END' || fail "gcc"
int main(void) { return 0; }
END
"$SYMFS" id "$TMP/zeros" >"$TMP/out" || fail "id"
grep -q 'code id\|serves' "$TMP/out" && fail "zeros identify a file: $(cat "$TMP/out")"
"$SYMFS" add --cache "$store" "$TMP/zeros" | grep -q 'without an identifier' || fail "a file with zeros was added"
exit 0
