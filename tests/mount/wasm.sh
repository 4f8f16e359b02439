#!/bin/sh
# WebAssembly in gsym/, symbolicate, best and addr2line: a whole module, a stripped module and its debug file with the
# same build id, names alone, and a debug file without its module. Every answer is that of the whole module.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need clang wasm-ld curl
OBJCOPY=$(first_of llvm-objcopy) || skip "no llvm-objcopy"
mkdir -p "$TMP/w" && cd "$TMP/w" || exit 1
frames=0

cat >a.c <<'C'
int host(int);
static inline int inner(int x) { return host(x) * 3; }
__attribute__((noinline)) int work(int x) { return inner(x) + 1; }
__attribute__((visibility("default"))) int entry(int x) { return work(x) + inner(x + 7); }
C
printf '\020WebAssembly code' >id
ID=$(printf 'WebAssembly code' | od -An -tx1 | tr -d ' \n')
clang --target=wasm32 -g -O1 -c a.c -o a.o &&
  wasm-ld --no-entry --export-dynamic --allow-undefined -o plain.wasm a.o &&
  "$OBJCOPY" --add-section=build_id=id plain.wasm app.wasm &&
  "$OBJCOPY" --strip-all --add-section=build_id=id plain.wasm stripped.wasm &&
  "$OBJCOPY" --strip-debug plain.wasm n.wasm &&
  "$OBJCOPY" --add-section=build_id=id n.wasm names.wasm &&
  "$OBJCOPY" --only-keep-debug plain.wasm d.wasm &&
  "$OBJCOPY" --add-section=build_id=id d.wasm debug.wasm ||
  fail "building modules"
"$SYMFS" id app.wasm | grep -q "$ID" || fail "the build id: $("$SYMFS" id app.wasm)"
size=$(wc -c <plain.wasm)
awk -v n="$size" 'BEGIN { for (i = 0; i < n; i++) printf "0x%x\n", i }' >addrs
"$SYMFS" addr2line --stdin app.wasm <addrs >want || fail "addr2line"
grep -q 'inner@.*a.c:2 < work@.*a.c:3$' want || fail "no inlined call: $(sort -uk2 want)"

# place DIR FILE TYPE
place() {
  p=$("$SYMFS" paths --layout native "$2" | awk -F '\t' -v t="$3" '$2 == t { print $3; exit }')
  [ -n "$p" ] || fail "$2 is no $3: $("$SYMFS" id "$2")"
  mkdir -p "$1/$(dirname "$p")"
  cp "$2" "$1/$p"
}
place whole app.wasm wasm_code
place whole app.wasm wasm_debug
place apart stripped.wasm wasm_code
place apart debug.wasm wasm_debug
place code app.wasm wasm_code
place names names.wasm wasm_code
place lonely debug.wasm wasm_debug
debug_path=$p
mkdir empty

# request ADDRESS...: a request of symbolicate; sets nothing
request() {
  printf '{"memoryMap": [{"type": "wasm", "code_file": "app.wasm", "code_id": "%s"}], "stacks": [[' "$ID"
  sep=
  for a; do
    printf '%s[0, %d]' "$sep" "$a"
    sep=', '
  done
  printf ']]}\n'
}
# shellcheck disable=SC2046
request $(cat addrs) >request
run() { # COMMAND DIR WORD...
  cmd=$1 dir=$2
  shift 2
  "$SYMFS" "$cmd" --no-default-sources --cache "$TMP/store-$dir" --source "native@$TMP/w/$dir" "$@"
}

# ---- symbolicate and addr2line -------------------------------------------------------------------
run symbolicate whole request >json.whole || fail "symbolicate"
grep -q '"function": "work"' json.whole && grep -q '"line": 4' json.whole ||
  fail "no names: $(head -c 500 json.whole)"
for dir in apart code; do
  run symbolicate $dir request >json.$dir || fail "symbolicate: $dir"
  cmp -s json.whole json.$dir || fail "$dir: $(head -c 500 json.$dir)"
  run addr2line $dir --type wasm_debug "$ID" --stdin <addrs >got 2>said ||
    run addr2line $dir --type wasm_code "$ID" --stdin <addrs >got 2>said
  cmp -s want got || fail "addr2line $dir: $(head -n 3 said)"
  frames=$((frames + 2 * size))
done
# the module is here, and its debug file at a source
cp stripped.wasm here.wasm
run addr2line lonely here.wasm --stdin <addrs >got 2>said || fail "addr2line of a stripped module: $(cat said)"
cmp -s want got || fail "a stripped module and a debug file of a source: $(diff want got | head -n 3) $(cat said)"
run symbolicate names request >json.names || fail "symbolicate: names"
grep -q '"function": "work"' json.names || fail "names alone: $(head -c 500 json.names)"
grep -q '"line"' json.names && fail "names alone have lines"

# without `type`, by the name
sed 's/"type": "wasm", //' request >untyped
run symbolicate apart untyped | cmp -s - json.whole || fail "a module named app.wasm is not WebAssembly"

# what is missing is WebAssembly
run symbolicate empty --module-errors request >out 2>said
grep -q 'wasm_debug: .*wasm_code: ' out || fail "nothing is there: $(head -c 300 out) $(cat said)"
grep -qi breakpad out said && fail "a Breakpad file is missed: $(cat said)"
cp -r lonely alone
run symbolicate alone --module-errors request >out 2>said
grep -q 'wasm_debug: has no code: .*come from the module, which is needed, too' out ||
  fail "a debug file alone: $(tail -c 600 out) $(cat said)"

# ---- best ----------------------------------------------------------------------------------------
best() { run best "$@" app.wasm 2>&1; }
best apart --for debug >out && grep -q 'wasm_debug *chosen' out || fail "best: $(cat out)"
best code --for debug >out && grep -q 'wasm_code *chosen' out || fail "best: $(cat out)"
best names --for symtab >out && grep -q 'wasm_code *chosen' out || fail "best: $(cat out)"
best names --for debug >out && fail "best: $(cat out)"
grep -q 'wasm_code *lacks it' out || fail "best: $(cat out)"

# ---- the mount -----------------------------------------------------------------------------------
"$SYMFS" gsym create -o want.gsym app.wasm || fail create
"$SYMFS" gsym create -o names.gsym names.wasm || fail create
for dir in whole apart code names; do
  symfs_mount $dir --source "native@$TMP/w/$dir"
  eval "M=\$MNT_$dir"
  case $dir in names) expect=names.gsym ;; *) expect=want.gsym ;; esac
  same_file "$M/gsym/native/$debug_path.gsym" "$TMP/w/$expect"
  symfs_umount $dir
done
# ---- the server ----------------------------------------------------------------------------------
for dir in whole apart code; do
  symfs_serve "$dir" --source "native@$TMP/w/$dir"
  eval "url=\$URL_$dir"
  curl -sf -o got.gsym "$url/gsym/native/$debug_path.gsym" || fail "the server has no GSYM of $dir"
  cmp -s got.gsym want.gsym || fail "the server has another GSYM of $dir"
  symfs_unserve "$dir"
done
say "$frames frames of $size offsets, 4 mounts, 3 servers"
