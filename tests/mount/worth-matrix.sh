#!/bin/sh
# The matrix of better files: for ELF, Breakpad, dSYM, PDB and Portable PDB a worse and a better file of one key,
# in both orders, by symfs add, a scanned tree, two directories, two servers of one tier and of two tiers; asked
# through a mount, get, serve and symbolicate. The answer must always be the better one.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf strip curl sed dd
shared=${top_srcdir:-$(dirname "$0")/../..}/../shared/fixtures

mkdir "$TMP/worse" "$TMP/better"
poke() { # FILE OFFSET BYTE
  printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none || fail dd
}

# ---- the files: each kind has a worse and a better one ----------------------------------------------------
make_program "$TMP/p" foo
cp "$TMP/p/debug/foo.debug" "$TMP/better/elf"
objcopy --strip-debug "$TMP/better/elf" "$TMP/worse/elf" || fail objcopy
elf_module=$(printf '{"type": "elf", "debug_file": "foo", "code_id": "%s"}' "$(build_id "$TMP/p/full/foo")")

sym=0123456789ABCDEF0123456789ABCDEF0
printf 'MODULE Linux x86_64 %s libx.so\nFILE 0 x.c\nFUNC 1000 10 0 f\n1000 10 7 0\n' $sym >"$TMP/better/sym"
printf 'MODULE Linux x86_64 %s libx.so\nPUBLIC 1000 0 f\n' $sym >"$TMP/worse/sym"
sym_module=$(printf '{"type": "elf", "debug_file": "libx.so", "debug_id": "%s"}' $sym)
kinds="elf sym dsym pdb ppdb"

# The files of compilers for macOS and Windows, or else our own small ones. The worse Portable PDB says that no method
# has lines, in the byte PPDB_AT.
own=$top_srcdir/tests/data/broken
if [ -d "$shared" ]; then
  "$SYMFS" id "$shared/built/macho/m.fat.dwarf" >"$TMP/id" || fail "id of the dSYM"
  # One slice of it, out of a store.
  "$SYMFS" add --cache "$TMP/store-slice" "$shared/built/macho/m.fat.dwarf" >/dev/null || fail "add of the dSYM"
  uuid=$(awk '/serves/ { print $3; exit }' "$TMP/id")
  DSYM=$("$SYMFS" get --offline --cache "$TMP/store-slice" \
    "unified/$(printf %.2s "$uuid")/${uuid#??}/debuginfo") || fail "a slice"
  PDB=$shared/pdb/fixtures/cl64.pdb
  PPDB=$shared/symbolic/symbolic-ppdb/tests/fixtures/EmbeddedSource.pdbx PPDB_AT=224
else
  part_skipped "no ../shared/fixtures: the files of compilers for Windows and macOS; our own small files instead"
  DSYM=$own/gsym-dwarf/good-dsym PDB=$own/pdb/good PPDB=$own/ppdb/good PPDB_AT=144
  uuid=$("$SYMFS" id "$DSYM" | awk '/serves/ { print $3; exit }')
fi
cp "$DSYM" "$TMP/better/dsym" && cp "$PDB" "$TMP/better/pdb" && cp "$PPDB" "$TMP/better/ppdb" || fail cp
LC_ALL=C sed 's/__debug_info/__debug_inf0/' "$DSYM" >"$TMP/worse/dsym"
cp "$PDB" "$TMP/worse/pdb" && cp "$PPDB" "$TMP/worse/ppdb" || fail cp
chmod u+w "$TMP"/better/* "$TMP"/worse/*
# The flag "stripped" of its debug information, which begins with -1 and a version.
at=$(LC_ALL=C grep -obUaP '\xff\xff\xff\xff\x77\x09\x31\x01' "$TMP/worse/pdb" | head -n 1 | cut -d: -f1)
[ -n "$at" ] || fail "no debug information in the PDB"
poke "$TMP/worse/pdb" $((at + 56)) '\002'
poke "$TMP/worse/ppdb" "$PPDB_AT" '\000'
dsym_module=$(printf '{"type": "macho", "debug_file": "m", "code_id": "%s"}' "$uuid")
pdb_module='' ppdb_module=''

for kind in $kinds; do
  for which in worse better; do
    "$SYMFS" id "$TMP/$which/$kind" >"$TMP/id" || fail "id $which $kind"
    grep -q 'worth.*, debug information' "$TMP/id" && is=better || is=worse
    [ $is = $which ] || fail "$which $kind: $(cat "$TMP/id")"
    place=$("$SYMFS" paths --layout unified "$TMP/$which/$kind" | awk -F'\t' '$3 !~ /_$/ { print $3; exit }')
    [ -n "$place" ] || fail "no path for $kind"
    eval "before=\${${kind}_place:-\$place} ${kind}_place=\$place"
    [ "$before" = "$place" ] || fail "the two of $kind have other keys"
    mkdir -p "$TMP/root-$kind-$which/$(dirname "$place")"
    cp "$TMP/$which/$kind" "$TMP/root-$kind-$which/$place"
  done
done

# ---- the clients: each says which file it got --------------------------------------------------------------
which_is() { # FILE KIND
  if cmp -s "$1" "$TMP/better/$2"; then echo better; elif cmp -s "$1" "$TMP/worse/$2"; then echo worse
  else echo none; fi
}

cells=0
check() { # KIND WAY ARGS...: by every client, each with a store of its own
  c_kind=$1 c_way=$2
  shift 2
  eval "c_path=unified/\$${c_kind}_place c_module=\$${c_kind}_module"
  for client in mount get serve symbolicate; do
    c_store=$TMP/store-$client-$c_kind-$c_way
    [ ! -d "$TMP/store-$c_kind-$c_way" ] || cp -r "$TMP/store-$c_kind-$c_way" "$c_store"
    case $client in
    mount)
      symfs_mount c --cache "$c_store" "$@"
      # The first request may come while a tree is being walked.
      better_there() { [ "$(which_is "$MNT_c/$c_path" "$c_kind")" = better ]; }
      wait_for better_there || fail "$c_kind, $c_way: the mount has $(which_is "$MNT_c/$c_path" "$c_kind")"
      symfs_umount c
      ;;
    get)
      f=$("$SYMFS" get --no-default-sources --cache "$c_store" "$@" "$c_path" 2>"$TMP/err") ||
        fail "$c_kind, $c_way: get: $(cat "$TMP/err")"
      [ "$(which_is "$f" "$c_kind")" = better ] || fail "$c_kind, $c_way: get has $(which_is "$f" "$c_kind")"
      ;;
    serve)
      symfs_serve c --cache "$c_store" "$@"
      fetch_url -o "$TMP/body" "$URL_c/$c_path" || fail "$c_kind, $c_way: serve"
      symfs_unserve c
      [ "$(which_is "$TMP/body" "$c_kind")" = better ] ||
        fail "$c_kind, $c_way: serve has $(which_is "$TMP/body" "$c_kind")"
      ;;
    symbolicate)
      [ -n "$c_module" ] || continue
      printf '{"memoryMap": [%s], "stacks": [[[0, 4100]]]}' "$c_module" >"$TMP/request"
      "$SYMFS" symbolicate --no-default-sources --cache "$c_store" "$@" --debug "$TMP/request" >"$TMP/answer" \
        2>"$TMP/err" ||
        fail "$c_kind, $c_way: symbolicate: $(cat "$TMP/err")"
      grep -q '"worth": "[a-z= ]*debug=full' "$TMP/answer" ||
        fail "$c_kind, $c_way: symbolicate: $(cat "$TMP/answer")"
      ;;
    esac
    cells=$((cells + 1))
    rm -rf "$c_store"
  done
}

conf() { # FIRST SECOND: two tiers
  printf '[source "a"]\nurl = %s\nlayout = unified\n[source "b"]\nurl = %s\nlayout = unified\ntier = 2\n' "$1" "$2" \
    >"$TMP/conf"
  cat "$DEADLINES" >>"$TMP/conf"
}

for kind in $kinds; do
  for which in worse better; do
    upstream_start "${kind}_$which" --root "$TMP/root-$kind-$which"
  done
  eval "worse=\$URL_${kind}_worse better=\$URL_${kind}_better"
  for order in "worse better" "better worse"; do
    set -- $order
    for which in $order; do
      "$SYMFS" add --cache "$TMP/store-$kind-add-$1" "$TMP/$which/$kind" >/dev/null || fail "add $kind $which"
    done
    check $kind "add-$1"
    # By name the first one would be found first.
    mkdir -p "$TMP/scan-$kind-$1"
    cp "$TMP/$1/$kind" "$TMP/scan-$kind-$1/a"
    cp "$TMP/$2/$kind" "$TMP/scan-$kind-$1/b"
    check $kind "scan-$1" --source "scan@$TMP/scan-$kind-$1"
    check $kind "dirs-$1" --source "unified@$TMP/root-$kind-$1" --source "unified@$TMP/root-$kind-$2"
    eval "first=\$$1 second=\$$2"
    check $kind "tier-$1" --source "unified@$first" --source "unified@$second"
    conf "$first" "$second"
    check $kind "tiers-$1" --config "$TMP/conf"
  done
  eval "kill \$PID_${kind}_worse \$PID_${kind}_better"
done

say "# $cells cells for $kinds: always the better one"
