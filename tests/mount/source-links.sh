#!/bin/sh
# Links in a directory source: a user that can write there cannot read root's private files through
# a mount or a server of root.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf curl setpriv cmp
[ "$(id -u)" = 0 ] || skip "not root: there is no other user here"
chmod 755 "$TMP"
OTHER=65534
as_other() { setpriv --reuid=$OTHER --regid=$OTHER --clear-groups "$@"; }

make_program "$TMP/p" prog
make_program "$TMP/q" quiet
id=$(build_id "$TMP/p/full/prog")
quiet=$(build_id "$TMP/q/full/quiet")
mkdir -m 700 "$TMP/private"
echo 'root:$6$secret' >"$TMP/secret"
chmod 600 "$TMP/secret"
cp "$TMP/secret" "$TMP/private/s.c"
cp "$TMP/q/debug/quiet.debug" "$TMP/private/quiet.debug"
cp "$TMP/q/debug/quiet.debug" "$TMP/private/quiet2.debug"

# ---- a directory that the other user owns --------------------------------------------------------------
D=$TMP/theirs
S=$D/buildid/$id/source
mkdir -p "$S" "$D/buildid/$quiet"
chown -R $OTHER:$OTHER "$D"
as_other sh -c "
  mkdir -p '$S/x/y' && echo 'int open;' >'$S/x/plain.c' && umask 077 && echo 'int mine;' >'$S/x/mine.c' &&
  ln -s '$TMP/secret' '$S/x/s.c' && ln -s / '$S/root' && ln -s '$TMP' '$S/tmp' &&
  ln -s ../../../../../../secret '$S/x/y/up.c' && ln -s ../../../../.. '$S/out' &&
  ln -s y/second.c '$S/x/first.c' && ln -s ../third.c '$S/x/y/second.c' && ln -s s.c '$S/x/third.c' &&
  ln -s ../root '$S/x/again' && ln -s '$S/x/plain.c' '$S/x/home.c' &&
  ln -s plain.c '$S/x/link.c' && ln -s ../../x/y '$S/x/y/here' && ln -s ../link.c '$S/x/y/chain.c' &&
  ln -s /etc/passwd '$S/x/passwd.c' && mkfifo '$S/x/fifo.c' &&
  ln -s '$TMP/private/quiet.debug' '$D/buildid/$quiet/debuginfo'" || fail "links"
ln "$TMP/secret" "$S/x/hard.c" || fail "ln"

# tries COMMAND...: runs it with each path below source/ that leads to the secret.
escapes="x/s.c root$TMP/secret tmp/secret x/y/up.c out/secret x/first.c x/again$TMP/secret x/hard.c
  root$TMP/private/s.c"
outside="$escapes x/home.c x/passwd.c root/etc/passwd x/fifo.c"
inside="x/plain.c x/mine.c x/link.c x/y/chain.c x/y/here/chain.c"

symfs_mount m --read-all yes -o allow_other --source "debuginfod@$D"
at=$MNT_m/debuginfod/buildid/$id/source
for path in $outside; do
  as_other cat "$at/$path" >"$TMP/got" 2>"$TMP/err" && fail "served by the mount: $path: $(cat "$TMP/got")"
  cat "$at/$path" >"$TMP/got" 2>/dev/null && fail "served to root: $path"
done
for path in $inside; do
  as_other cat "$at/$path" >"$TMP/got" 2>"$TMP/err" ||
    fail "not served by the mount: $path: $(cat "$TMP/err" "$TMP/m.log")"
  cmp -s "$TMP/got" "$S/$path" || fail "other bytes: $path"
done
grep -q 'x/s.c: a link leads out of the directory' "$TMP/m.log" || fail "the log does not say why"
"$SYMFS" why --ask --no-default-sources --source "debuginfod@$D" --cache "$TMP/store-w" \
  "debuginfod/buildid/$id/source/x/s.c" >"$TMP/out"
grep -q 'a link leads out of the directory' "$TMP/out" || fail "why: $(cat "$TMP/out")"
# A verified file of root that the other user's link leads to.
cat "$MNT_m/debuginfod/buildid/$quiet/debuginfo" >"$TMP/got" 2>/dev/null && fail "root's debug file is served"
grep -q 'debuginfo: a link leads out of the directory; follow-links = yes allows that' "$TMP/m.log" ||
  fail "the log does not name follow-links: $(cat "$TMP/m.log")"
symfs_umount m

symfs_serve s --source "debuginfod@$D"
for path in $outside; do
  fetch_url --path-as-is -f "$URL_s/buildid/$id/source/$path" >"$TMP/got" 2>/dev/null &&
    fail "served by symfs serve: $path: $(cat "$TMP/got")"
done
for path in $inside; do
  fetch_url -f "$URL_s/buildid/$id/source/$path" >"$TMP/got" || fail "not served by symfs serve: $path"
  cmp -s "$TMP/got" "$S/$path" || fail "other bytes from symfs serve: $path"
done
symfs_unserve s

gets() { "$SYMFS" get --no-default-sources --cache "$TMP/store-g" "$@" >"$TMP/out" 2>"$TMP/err"; }
for path in $escapes; do
  gets --source "debuginfod@$D" "debuginfod/buildid/$id/source/$path" && fail "symfs get: $path"
  grep -q 'secret\$\|\$6\$' "$TMP/out" "$TMP/err" && fail "symfs get prints it: $path"
done
gets --source "debuginfod@$D" "debuginfod/buildid/$id/source/x/link.c" ||
  fail "symfs get of a link inside: $(cat "$TMP/err")"

# The configured directory may be a link itself.
ln -s "$D" "$TMP/way"
gets --source "debuginfod@$TMP/way" "debuginfod/buildid/$id/source/x/link.c" ||
  fail "a directory that is a link: $(cat "$TMP/err")"
gets --source "debuginfod@$TMP/way" "debuginfod/buildid/$id/source/x/s.c" &&
  fail "an escape below a directory that is a link"

# follow-links is about verified files alone.
cat >"$TMP/conf" <<EOF
[source "theirs"]
path = $D
layout = debuginfod
follow-links = yes
EOF
for path in $escapes; do
  gets --config "$TMP/conf" "debuginfod/buildid/$id/source/$path" && fail "follow-links serves $path"
done
gets --config "$TMP/conf" "debuginfod/buildid/$quiet/debuginfo" || fail "follow-links: $(cat "$TMP/err")"
cmp -s "$(cat "$TMP/out")" "$TMP/private/quiet.debug" || fail "follow-links: other bytes"
symfs_mount c --config "$TMP/conf"
grep -qx 'follow-links = yes' "$MNT_c/.symfs/config" || fail "not in .symfs/config"
symfs_umount c

# ---- a directory of root's in which the other user may write ---------------------------------------------
R=$TMP/shared
put_gdb "$R" "$TMP/p/full/prog"
rest=${quiet#??}
mkdir -p "$R/.build-id/${quiet%"$rest"}"
chmod -R 777 "$R"
link=$R/$(gdb_path "$quiet" .debug)
symfs_mount r --read-all yes -o allow_other --source "gdb@$R"
as_other ln -s "$TMP/private/quiet.debug" "$link" || fail "ln"
cat "$MNT_r/gdb/$(gdb_path "$quiet" .debug)" >"$TMP/got" 2>/dev/null && fail "the other user's link leads out"
as_other rm "$link"
# A private file of a third user, and one of root's, in the same directory.
mkdir -p "$R/buildid/$id/source" && chmod -R 777 "$R/buildid"
setpriv --reuid=65533 --regid=65533 --clear-groups sh -c \
  "umask 077; mkdir '$R/third'; echo 'int third;' >'$R/third/t.c'" || fail "a third user"
cp "$TMP/secret" "$R/kept.c"
as_other sh -c "cd '$R/buildid/$id/source' && ln -s ../../../third/t.c t.c && ln -s ../../../third here &&
  ln -s ../../../kept.c k.c" || fail "ln"
symfs_mount x --read-all yes -o allow_other --source "debuginfod@$R"
for path in t.c here/t.c k.c; do
  cat "$MNT_x/debuginfod/buildid/$id/source/$path" >"$TMP/got" 2>/dev/null &&
    fail "a private file of the directory is served: $path: $(cat "$TMP/got")"
  grep -q "source/$path: a link of another user leads to a file that not everyone may read" "$TMP/x.log" ||
    fail "not said why: $path"
done
symfs_umount x
# A private file that is verified: follow-links lets it through.
cp "$TMP/q/debug/quiet.debug" "$R/kept.debug" && chmod 600 "$R/kept.debug"
as_other sh -c "mkdir '$R/buildid/$quiet' && ln -s ../../kept.debug '$R/buildid/$quiet/debuginfo'" || fail "ln"
gets --source "debuginfod@$R" "debuginfod/buildid/$quiet/debuginfo" &&
  fail "a private file of the directory that is verified is served"
grep -q 'a link of another user leads to a file that not everyone may read; follow-links = yes allows that' \
  "$TMP/err" || fail "not said why: $(cat "$TMP/err")"
printf '[source "r"]\npath = %s\nlayout = debuginfod\nfollow-links = yes\n' "$R" >"$TMP/conf"
gets --config "$TMP/conf" "debuginfod/buildid/$quiet/debuginfo" || fail "follow-links, inside: $(cat "$TMP/err")"
# A link of root's to another link of the other user's.
as_other ln -s "$TMP/private/quiet.debug" "$R/middle"
ln -s ../../middle "$link"
cat "$MNT_r/gdb/$(gdb_path "$quiet" .debug)" >"$TMP/got" 2>/dev/null &&
  fail "the other user's link behind root's leads out"
rm "$link" && ln -s ../../../private/quiet.debug "$link"
cat "$MNT_r/gdb/$(gdb_path "$quiet" .debug)" >"$TMP/got" || fail "root's link does not lead out"
cmp -s "$TMP/got" "$TMP/private/quiet.debug" || fail "root's link: other bytes"
# A name that is asked again for a file in place: it is a link by now.
same_file "$MNT_r/gdb/$(gdb_path "$id")" "$TMP/p/full/prog"
as_other sh -c "rm -f '$R/$(gdb_path "$id")' && ln -s '$TMP/private/quiet.debug' '$R/$(gdb_path "$id")'" || fail "ln"
if command -v getfattr >/dev/null; then
  theirs=$(getfattr -n user.symfs.debug-id --only-values "$MNT_r/gdb/$(gdb_path "$id")" 2>/dev/null)
  [ "$theirs" != "$("$SYMFS" id --json "$TMP/private/quiet.debug" | sed -n 's/^ *"debug_id": *"\(.*\)",*$/\1/p' |
    head -n 1)" ] ||
    fail "an extended attribute tells of root's file: $theirs"
fi
symfs_umount r

# ---- file.ptr --------------------------------------------------------------------------------------------
P=$TMP/ptr
mkdir -p "$P/prog.pdb/0123456789ABCDEF0123456789ABCDEF1" "$TMP/drop"
ln -s "$TMP/secret" "$P/prog.pdb/0123456789ABCDEF0123456789ABCDEF1/file.ptr"
cat >"$TMP/conf" <<EOF
[source "ptr"]
path = $P
layout = symstore
ptr-map = root:=$TMP/drop
EOF
"$SYMFS" why --ask --no-default-sources --config "$TMP/conf" --cache "$TMP/store-p" \
  symstore/prog.pdb/0123456789ABCDEF0123456789ABCDEF1/prog.pdb >"$TMP/out" 2>&1
grep -qF '$6$' "$TMP/out" && fail "a file.ptr that is a link is shown: $(cat "$TMP/out")"

# ---- trees -------------------------------------------------------------------------------------------------
T=$TMP/tree
mkdir -p "$T/sub"
cp "$TMP/p/debug/prog.debug" "$T/sub/"
chown -R $OTHER:$OTHER "$T"
symfs_mount t --read-all yes -o allow_other --source "scan@$T"
found=$MNT_t/gdb/$(gdb_path "$id" .debug)
wait_for cmp -s "$found" "$TMP/p/debug/prog.debug" || fail "the tree is not walked"
as_other sh -c "mv '$T/sub' '$T/gone' && ln -s '$TMP/private' '$T/sub' &&
  ln -s '$TMP/private/quiet.debug' '$T/quiet.debug'" || fail "ln"
wait_for cmp -s "$found" "$TMP/p/debug/prog.debug" || fail "a directory that was moved is not found"
cat "$MNT_t/gdb/$(gdb_path "$quiet" .debug)" >"$TMP/got" 2>/dev/null && fail "a link in a tree is followed"
symfs_umount t
exit 0
