#!/bin/sh
# The kernel itself reads files of the store, where it can and may. Otherwise, and with
# no_passthrough, the daemon answers all reads. One inode is never read in both ways at the same
# time.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf curl cmp

for name in one two three; do
  make_program "$TMP/made" $name
  put_gdb "$TMP/www" "$TMP/made/debug/$name.debug" .debug
  eval "path_$name=\$(gdb_path \"\$(build_id \"\$TMP/made/full/$name\")\" .debug)"
done
# Large enough to be read while it comes.
head -c 3000000 /dev/urandom >>"$TMP/www/$path_two"
upstream_start up --root "$TMP/www"
passed() { stat_of "$1" fs_passthrough; }
# What came from us were files of .symfs at most.
ours_alone() { [ "$(stat_of "$MNT_pass" fs_bytes)" -lt "$(stat -c %s "$TMP/www/$path_one")" ]; }

# ---- a mount that may pass files through --------------------------------------------------------
"$SYMFS" get --no-default-sources --cache "$TMP/store-pass" --source "gdb@$URL_up" "gdb/$path_one" >/dev/null ||
  fail "get"
symfs_mount pass --source "gdb@$URL_up"
same_file "$MNT_pass/gdb/$path_one" "$TMP/www/$path_one"
if [ "$(passed "$MNT_pass")" = 0 ]; then
  can=no
  say "this kernel, this user or this file system does not pass files through: the fallback is tested"
else
  can=yes
  [ "$(passed "$MNT_pass")" = 1 ] || fail "one open, and $(passed "$MNT_pass") were passed through"
  ours_alone || fail "passed through, and $(stat_of "$MNT_pass" fs_bytes) bytes came from us"
fi

# Many handles at once, of files that came and of one that is on its way; opened, read, mapped and
# closed while others are open. One that was refused would be an I/O error.
upstream_fault "$URL_up" "/$path_two" slow 300
cat "$MNT_pass/gdb/$path_two" >"$TMP/early" &
early=$!
hammer() {
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    for h_path in "$path_one" "$path_two" "$path_three"; do
      cmp -s "$MNT_pass/gdb/$h_path" "$TMP/www/$h_path" &&
        cmp -s "$MNT_pass/debuginfod/buildid/$1/debuginfo" "$TMP/www/$path_one" ||
        { echo "$h_path"; return; }
      readelf -SW "$MNT_pass/gdb/$h_path" >/dev/null 2>&1 || { echo "mapped $h_path"; return; }
    done
  done
}
exec 5<"$MNT_pass/gdb/$path_one"
workers=
for nth in 1 2 3 4; do
  hammer "$(build_id "$TMP/made/full/one")" >"$TMP/hammer.$nth" &
  workers="$workers $!"
done
for worker in $workers $early; do wait "$worker" || fail "a reader failed"; done
exec 5<&-
cat "$TMP"/hammer.* >"$TMP/hammered"
[ ! -s "$TMP/hammered" ] || fail "wrong bytes or an error: $(cat "$TMP/hammered")"
same_file "$TMP/early" "$TMP/www/$path_two"
[ $can = no ] || [ "$(passed "$MNT_pass")" -gt 100 ] || fail "only $(passed "$MNT_pass") opens were passed through"

# A handle of a file that is being downloaded is still open when the whole file is in the store. The next OPEN is not
# passed through, because the kernel would refuse it. After all handles are closed, the next OPEN is.
rm -rf "$TMP/store-late"
upstream_fault "$URL_up" "/$path_two" trickle 3000000
symfs_mount late --source "gdb@$URL_up"
exec 6<"$MNT_late/gdb/$path_two"
early=$(passed "$MNT_late")
cmp -s - "$TMP/www/$path_two" <&6 || fail "wrong bytes of a file on its way"
published() { [ "$(stat_of "$MNT_late" published)" -ge 1 ]; }
wait_for published || fail "it is not published"
same_file "$MNT_late/gdb/$path_two" "$TMP/www/$path_two"
if [ "$early" = 0 ]; then
  [ "$(passed "$MNT_late")" = 0 ] || fail "passed through beside a handle that is not"
else
  say "the file came whole before it was opened"
fi
exec 6<&-
later() { cat "$MNT_late/gdb/$path_two" >/dev/null && [ "$(passed "$MNT_late")" -gt "$early" ]; }
[ $can = no ] || wait_for later || fail "not passed through when there is no other reader"
symfs_umount late
upstream_clear "$URL_up"

# A handle outlives its file in the store.
exec 5<"$MNT_pass/gdb/$path_one"
"$SYMFS" cache rm --cache "$TMP/store-pass" "gdb/$path_one" >/dev/null || fail "cache rm"
cmp -s - "$TMP/www/$path_one" <&5 || fail "what was open cannot be read any more"
exec 5<&-
same_file "$MNT_pass/gdb/$path_one" "$TMP/www/$path_one"
# What is no file of the store is never passed through: it may change.
before=$(passed "$MNT_pass")
grep -q '^symfs ' "$MNT_pass/.symfs/version" || fail "no version"
[ "$(passed "$MNT_pass")" = "$before" ] || fail "a text was passed through"
symfs_umount pass
symfs_mount place --source "gdb@$TMP/www"
same_file "$MNT_place/gdb/$path_one" "$TMP/www/$path_one"
[ "$(passed "$MNT_place")" = 0 ] || fail "a file of a foreign directory was passed through"
symfs_umount place

# ---- a mount with no_passthrough ----------------------------------------------------------------
symfs_mount own -o no_passthrough --source "gdb@$URL_up"
same_file "$MNT_own/gdb/$path_one" "$TMP/www/$path_one"
[ "$(passed "$MNT_own")" = 0 ] || fail "passed through, and it should not"
[ "$(stat_of "$MNT_own" fs_bytes)" -ge "$(stat -c %s "$TMP/www/$path_one")" ] || fail "the bytes did not come from us"
symfs_umount own

# ---- no permission: the kernel refuses the first open, and symfs does not try again --------------
if [ $can = yes ] && "$top_srcdir/scripts/apart" true 2>/dev/null && command -v setpriv >/dev/null &&
  command -v fusermount3 >/dev/null; then
  chmod 755 "$TMP"
  copy_symfs "$TMP/user" && chown -R 65534:65534 "$TMP/user" &&
    mkdir -m 777 "$TMP/user/mnt"
  # The file of the deadlines is not among those of this user.
  export TMP path_one path_three URL_up PATIENT
  "$top_srcdir/scripts/apart" sh -c '
    mknod "$TMP/fuse" c 10 229 && chmod 666 "$TMP/fuse" && mount --bind "$TMP/fuse" /dev/fuse || exit 77
    chown 65534:65534 "$TMP/user/mnt"
    exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "
      cd \"\$TMP/user\" && export HOME=\$PWD XDG_CACHE_HOME=\$PWD/cache XDG_CONFIG_HOME=\$PWD
      ./symfs mount --no-default-sources \$PATIENT --source gdb@\$URL_up mnt || exit 77
      cat mnt/gdb/\$path_one >1 && cat mnt/gdb/\$path_three >2 && cat mnt/.symfs/stats >stats
      ./symfs umount mnt"' >"$TMP/user.out" 2>&1
  result=$?
  if [ $result = 77 ]; then
    say "a user cannot mount here: $(tail -n 1 "$TMP/user.out")"
  else
    [ $result = 0 ] || fail "a user's mount: $(cat "$TMP/user.out")"
    same_file "$TMP/user/1" "$TMP/www/$path_one"
    same_file "$TMP/user/2" "$TMP/www/$path_three"
    grep -q '^fs_passthrough 0$' "$TMP/user/stats" || fail "a user's files were passed through"
    say "a user's mount falls back"
  fi
fi
say "passed through: $can"
