#!/bin/sh
# A directory source finds files in whatever letter case its names have, as the directory is now, and without an
# index of a directory that is too large.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need clang lld-link awk

windows() # DIR: Prog.pdb and Prog.exe of code that has DIR's name
{
  mkdir -p "$1"
  echo "int start(void) { return sizeof(\"$1\"); }" >"$1/x.c"
  clang -target x86_64-windows-msvc -g -gcodeview -O1 -c "$1/x.c" -o "$1/x.obj" &&
    lld-link /nologo /debug "/pdb:$1/Prog.pdb" /Brepro /nodefaultlib /entry:start \
      /subsystem:console "/out:$1/Prog.exe" "$1/x.obj" >"$1/lld.log" 2>&1 || fail "lld-link"
}
did() { "$SYMFS" id --json "$1" | sed -n 's/^ *"debug_id": *"\(.*\)",\{0,1\}$/\1/p' | head -n 1 | tr -d - |
  tr '[:lower:]' '[:upper:]'; }
for d in one other third; do windows "$TMP/$d"; done
ONE=$(did "$TMP/one/Prog.pdb") OTHER=$(did "$TMP/other/Prog.pdb") THIRD=$(did "$TMP/third/Prog.pdb")
lower() { printf %s "$1" | tr '[:upper:]' '[:lower:]'; }
put() { mkdir -p "$TMP/store/$(dirname "$2")" && cp "$1" "$TMP/store/$2"; } # FILE PATH
path() { echo "$TMP/m/symstore/PROG.PDB/$1/prog.PDB"; } # ID

# Names of one spelling are split over directories, as tools on Windows leave them; SSQP's are in lower case.
put "$TMP/one/Prog.pdb" "Prog.pdb/$ONE/Prog.pdb"
put "$TMP/other/Prog.pdb" "prog.PDB/$(lower "$OTHER")/PROG.pdb"
printf '[source "d"]\npath = %s\nlayout = symstore\nmiss-lifetime = 1s\n' "$TMP/store" |
  cat "$DEADLINES" - >"$TMP/conf"
symfs_mount m --config "$TMP/conf"
same_file "$(path "$ONE")" "$TMP/one/Prog.pdb"
same_file "$(path "$OTHER")" "$TMP/other/Prog.pdb"
[ ! -e "$(path "$THIRD")" ] || fail "a file that is not there"

# What is added, renamed and removed is seen: indexes are renewed. The kernel keeps a miss for up to two seconds.
put "$TMP/third/Prog.pdb" "pROG.pdb/$THIRD/PrOg.pdb"
wait_for cmp "$(path "$THIRD")" "$TMP/third/Prog.pdb" || fail "a new directory is not seen"
mv "$TMP/store/pROG.pdb/$THIRD/PrOg.pdb" "$TMP/store/pROG.pdb/$THIRD/PROG.PDB"
symfs_umount m
rm -rf "$TMP/store-m"
symfs_mount m --config "$TMP/conf"
same_file "$(path "$THIRD")" "$TMP/third/Prog.pdb"
symfs_umount m
get() { "$SYMFS" get "$@" --no-default-sources --config "$TMP/conf" --cache "$TMP/cache" >"$TMP/out" \
  2>"$TMP/err"; }
rm -rf "$TMP/store/pROG.pdb"
get "symstore/PROG.PDB/$THIRD/PROG.PDB" && fail "what was removed is found: $(cat "$TMP/out")"

# Another file in another case is no answer, and what is behind a link out of the directory is not found either.
cp "$TMP/one/Prog.pdb" "$TMP/outside.pdb"
mkdir -p "$TMP/store/pRog.pdb"
put "$TMP/other/Prog.pdb" "pRog.pdb/$THIRD/PROG.pdb"
get "symstore/Prog.pdb/$THIRD/Prog.pdb" && fail "another file is served"
grep -q "Prog.pdb" "$TMP/err" || fail "not said: $(cat "$TMP/err")"
rm -rf "$TMP/store/pRog.pdb"

# A directory of more than 200,000 names has no index: exact and lower-case names are found. In memory, where root
# may mount one, such a directory is made in a fifth of the time.
mkdir "$TMP/many"
mount -t tmpfs tmpfs "$TMP/many" 2>/dev/null && MOUNTS="$MOUNTS $TMP/many"
(cd "$TMP/many" && awk 'BEGIN { for (i = 0; i < 200001; i++) print "n" i }' | xargs touch) || fail touch
mkdir -p "$TMP/many/Prog.pdb/$ONE" "$TMP/many/prog.pdb/$(lower "$OTHER")" "$TMP/many/PROG.pdb/$THIRD"
cp "$TMP/one/Prog.pdb" "$TMP/many/Prog.pdb/$ONE/Prog.pdb"
cp "$TMP/other/Prog.pdb" "$TMP/many/prog.pdb/$(lower "$OTHER")/Prog.pdb"
cp "$TMP/third/Prog.pdb" "$TMP/many/PROG.pdb/$THIRD/Prog.pdb"
printf '[source "d"]\npath = %s\nlayout = symstore\n' "$TMP/many" | cat "$DEADLINES" - >"$TMP/conf"
get "symstore/Prog.pdb/$ONE/Prog.pdb" || fail "the exact name: $(cat "$TMP/err")"
same_file "$(cat "$TMP/out")" "$TMP/one/Prog.pdb"
get "symstore/PROG.PDB/$OTHER/PROG.PDB" || fail "a name in lower case: $(cat "$TMP/err")"
same_file "$(cat "$TMP/out")" "$TMP/other/Prog.pdb"
get "symstore/Prog.pdb/$THIRD/Prog.pdb" && fail "a directory of 200,004 names has an index"
rm "$TMP/many/n0" "$TMP/many/n1" "$TMP/many/n2" "$TMP/many/n3"
get "symstore/Prog.pdb/$THIRD/Prog.pdb" || fail "a directory of 200,000 names has no index: $(cat "$TMP/err")"
same_file "$(cat "$TMP/out")" "$TMP/third/Prog.pdb"
exit 0
