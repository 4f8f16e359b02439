#!/bin/sh
# Of several files with one key the better one is served, in whatever order they come: by symfs add, from a scanned
# tree, and from two directories; through the mount, get and serve. A handle that is open when a better file comes
# reads the old bytes on, the next open reads the new ones.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf strip curl nm

# Each kind: a worse and a better file that a path can mean.
make_program "$TMP/p" foo
id=$(build_id "$TMP/p/full/foo")
mkdir "$TMP/worse" "$TMP/better"
cp "$TMP/p/debug/foo.debug" "$TMP/better/elf"
objcopy --strip-debug "$TMP/better/elf" "$TMP/worse/elf" || fail "objcopy"
elf_layout=gdb elf_place=$(gdb_path "$id" .debug)

sym=0123456789ABCDEF0123456789ABCDEF0
printf 'MODULE Linux x86_64 %s libx.so\nFILE 0 x.c\nFUNC 1000 10 0 f\n1000 10 7 0\nPUBLIC 2000 0 g\n' $sym \
  >"$TMP/better/sym"
printf 'MODULE Linux x86_64 %s libx.so\nPUBLIC 1000 0 f\nPUBLIC 2000 0 g\nPUBLIC 3000 0 %s\n' \
  $sym much_longer_than_the_other_file_is >"$TMP/worse/sym"
sym_layout=breakpad sym_place="libx.so/$sym/libx.so.sym"

cells=0

# Prints which of the two a file is.
which_is() { # FILE KIND
  if cmp -s "$1" "$TMP/better/$2"; then echo better; elif cmp -s "$1" "$TMP/worse/$2"; then echo worse
  else echo none; fi
}

place_of() { eval "echo \$$1_place"; }
layout_of() { eval "echo \$$1_layout"; }

put() { # DIR KIND WHICH
  mkdir -p "$(dirname "$1/$(place_of "$2")")"
  cp "$TMP/$3/$2" "$1/$(place_of "$2")"
}

# ---- symfs add, both orders, with a mount that has the file open -----------------------------------------
add_in_order() { # KIND FIRST SECOND
  a_store=$TMP/store-add-$1-$2 a_path=$(layout_of "$1")/$(place_of "$1")
  "$SYMFS" add --cache "$a_store" "$TMP/$2/$1" >"$TMP/out" || fail "add $1 $2: $(cat "$TMP/out")"
  symfs_mount "add$1$2" --cache "$a_store"
  eval "a_mnt=\$MNT_add$1$2"
  [ "$(which_is "$a_mnt/$a_path" "$1")" = "$2" ] || fail "add $1: the $2 one is not there"
  a_ino=$(stat -c %i "$a_mnt/$a_path")
  exec 7<"$a_mnt/$a_path"
  "$SYMFS" add --cache "$a_store" "$TMP/$3/$1" >"$TMP/out" || fail "add $1 $3: $(cat "$TMP/out")"
  better_now() { [ "$(which_is "$a_mnt/$a_path" "$1")" = better ]; }
  wait_for better_now "$1" || fail "add $1, $2 first: the better one is not served"
  cat <&7 >"$TMP/old" || fail "the open handle fails"
  exec 7<&-
  [ "$(which_is "$TMP/old" "$1")" = "$2" ] || fail "add $1: the open handle has other bytes"
  if [ "$2" = worse ]; then
    [ "$(stat -c %i "$a_mnt/$a_path")" != "$a_ino" ] || fail "add $1: the inode number stays"
    "$SYMFS" cache ls --cache "$a_store" | grep -q "improved" || fail "cache ls does not say which improved"
  else
    [ "$(stat -c %i "$a_mnt/$a_path")" = "$a_ino" ] || fail "add $1: another inode number"
    "$SYMFS" cache ls --cache "$a_store" | grep -q "improved" && fail "cache ls says that a file improved"
  fi
  f=$("$SYMFS" get --offline --cache "$a_store" "$a_path") || fail "get"
  [ "$(which_is "$f" "$1")" = better ] || fail "get $1 after add, $2 first"
  "$SYMFS" cache verify --cache "$a_store" || fail "cache verify"
  symfs_umount "add$1$2"
  cells=$((cells + 3))
}

# ---- a scanned tree, and two directories ----------------------------------------------------------------
by_get() { # KIND WHAT SOURCE...
  g_kind=$1 g_what=$2
  shift 2
  f=$("$SYMFS" get --no-default-sources --cache "$TMP/store-get-$g_what" "$@" \
    "$(layout_of "$g_kind")/$(place_of "$g_kind")" 2>"$TMP/err") || fail "get $g_what: $(cat "$TMP/err")"
  [ "$(which_is "$f" "$g_kind")" = better ] || fail "get $g_kind, $g_what: the worse one"
  cells=$((cells + 1))
}

by_serve() { # KIND WHAT SOURCE...
  s_kind=$1 s_what=$2
  shift 2
  symfs_serve s --cache "$TMP/store-serve-$s_what" "$@"
  fetch_url -D "$TMP/head" -o "$TMP/body" "$URL_s/$(layout_of "$s_kind")/$(place_of "$s_kind")" ||
    fail "serve $s_what"
  symfs_unserve s
  [ "$(which_is "$TMP/body" "$s_kind")" = better ] || fail "serve $s_kind, $s_what: the worse one"
  cells=$((cells + 1))
}

for kind in elf sym; do
  add_in_order $kind worse better
  add_in_order $kind better worse

  mkdir -p "$TMP/tree-$kind/a" "$TMP/tree-$kind/b"
  cp "$TMP/worse/$kind" "$TMP/tree-$kind/a/x"
  cp "$TMP/better/$kind" "$TMP/tree-$kind/b/y"
  by_get $kind "scan-$kind" --source "scan@$TMP/tree-$kind"
  by_serve $kind "scan-$kind" --source "scan@$TMP/tree-$kind"

  for order in "worse better" "better worse"; do
    set -- $order
    put "$TMP/$1-first-$kind/1" $kind "$1"
    put "$TMP/$1-first-$kind/2" $kind "$2"
    by_get $kind "dirs-$1-$kind" --source "$(layout_of $kind)@$TMP/$1-first-$kind/1" \
      --source "$(layout_of $kind)@$TMP/$1-first-$kind/2"
    by_serve $kind "dirs-$1-$kind" --source "$(layout_of $kind)@$TMP/$1-first-$kind/1" \
      --source "$(layout_of $kind)@$TMP/$1-first-$kind/2"
  done

  # What is stored is not the end: a directory that has a better one is asked.
  "$SYMFS" add --cache "$TMP/store-mixed-$kind" "$TMP/worse/$kind" >/dev/null || fail "add"
  symfs_mount "mixed$kind" --no-default-sources --cache "$TMP/store-mixed-$kind" --source "scan@$TMP/tree-$kind"
  eval "mnt=\$MNT_mixed$kind"
  mixed() { [ "$(which_is "$mnt/$(layout_of $kind)/$(place_of $kind)" $kind)" = better ]; }
  wait_for mixed || fail "mixed $kind: the worse one"
  symfs_umount "mixed$kind"
  cells=$((cells + 1))
done

# HTTP caches may keep a file for good if no better one is looked for, else they ask again.
symfs_serve c --cache "$TMP/store-cache"
for which in worse better; do
  "$SYMFS" add --cache "$TMP/store-cache" "$TMP/$which/sym" >/dev/null || fail "add"
  fetch_url -D "$TMP/head" -o "$TMP/body" "$URL_c/breakpad/$sym_place" || fail "serve"
  [ "$(which_is "$TMP/body" sym)" = $which ] || fail "serve has another one"
  grep -i '^cache-control:' "$TMP/head" >"$TMP/cache"
  case $which in
  worse) grep -q immutable "$TMP/cache" && fail "a poor file is immutable" ;;
  *) grep -q immutable "$TMP/cache" || fail "a good file is not immutable: $(cat "$TMP/cache")" ;;
  esac
done
symfs_unserve c
# Also while it comes from a server for the first time.
for which in worse better; do
  mkdir -p "$TMP/up-$which/$(dirname "$sym_place")"
  cp "$TMP/$which/sym" "$TMP/up-$which/$sym_place"
  upstream_start "sym_$which" --root "$TMP/up-$which"
  eval "up=\$URL_sym_$which"
  symfs_serve "first_$which" --source "breakpad@$up"
  eval "url=\$URL_first_$which"
  fetch_url -D "$TMP/head" -o "$TMP/body" "$url/breakpad/$sym_place" || fail "serve"
  grep -qi '^cache-control:.*immutable' "$TMP/head" && is=better || is=worse
  [ $is = $which ] || fail "the first answer of the $which file: $(cat "$TMP/head")"
  symfs_unserve "first_$which"
done

# GSYM is made anew when its input improves: it has lines then. In the store, and of a scanned directory.
lines_of() { # MOUNT
  "$SYMFS" gsym lookup "0x$address" "$1/gsym/$(layout_of elf)/$elf_place.gsym" 2>/dev/null | grep -q 'foo\.c:[1-9]'
}
address=$(nm "$TMP/p/full/foo" | sed -n 's/ [Tt] main$//p')
mkdir "$TMP/tree-gsym"
cp "$TMP/worse/elf" "$TMP/tree-gsym/x"
symfs_mount gs --cache "$TMP/store-gsym"
symfs_mount gt --cache "$TMP/store-gtree" --source "scan@$TMP/tree-gsym"
"$SYMFS" add --cache "$TMP/store-gsym" "$TMP/worse/elf" >/dev/null || fail "add"
for m in "$MNT_gs" "$MNT_gt"; do
  wait_for cat "$m/gsym/gdb/$elf_place.gsym" >"$TMP/gsym" 2>/dev/null || fail "no GSYM of symbols"
  lines_of "$m" && fail "lines of a file without debug information"
done
"$SYMFS" add --cache "$TMP/store-gsym" "$TMP/better/elf" >/dev/null || fail "add"
cp "$TMP/better/elf" "$TMP/tree-gsym/y"
for m in "$MNT_gs" "$MNT_gt"; do
  wait_for lines_of "$m" || fail "GSYM was not made anew: $m"
  cells=$((cells + 1))
done
symfs_umount gs
symfs_umount gt

# Stacks: a server that has mapped the worse file answers by the better one soon; Debug names the file.
printf '{"memoryMap": [["libx.so", "%s"]], "stacks": [[[0, 4100]]]}' $sym >"$TMP/request"
symfs_serve st --cache "$TMP/store-stacks"
asked() { fetch_url -H 'Debug: true' -d "@$TMP/request" "$URL_st/symbolicate/v5" >"$TMP/answer"; }
"$SYMFS" add --cache "$TMP/store-stacks" "$TMP/worse/sym" >/dev/null || fail "add"
asked && grep -q '"function": "f"' "$TMP/answer" && ! grep -q '"line"' "$TMP/answer" ||
  fail "stacks: $(cat "$TMP/answer")"
grep -q '"type": "breakpad", "source": "add", "worth": "symbols=full"' "$TMP/answer" ||
  fail "Debug: $(cat "$TMP/answer")"
"$SYMFS" add --cache "$TMP/store-stacks" "$TMP/better/sym" >/dev/null || fail "add"
by_better() { asked && grep -q '"line": 7' "$TMP/answer"; }
wait_for by_better || fail "stacks after an improvement: $(cat "$TMP/answer")"
symfs_unserve st
cells=$((cells + 2))

# Across types: a program with debug information is better than a debug file without, a Breakpad file with lines
# better than both without.
"$SYMFS" add --cache "$TMP/store-types" "$TMP/worse/elf" "$TMP/p/bin/foo" >/dev/null || fail "add"
best() { "$SYMFS" best --no-default-sources --cache "$TMP/store-types" --for debug "gdb/$elf_place"; }
best >"$TMP/best" && fail "best: $(cat "$TMP/best")"
grep -q 'elf_debug *lacks it' "$TMP/best" && grep -q 'from .*: all symbols' "$TMP/best" ||
  fail "best: $(cat "$TMP/best")"
"$SYMFS" add --cache "$TMP/store-types" "$TMP/p/full/foo" >/dev/null || fail "add"
best >"$TMP/best" && grep -q 'chosen' "$TMP/best" && grep -q 'from .*, debug information' "$TMP/best" ||
  fail "best: $(cat "$TMP/best")"
cells=$((cells + 2))

say "# $cells cells: always the better one"
