#!/bin/sh
# The store's directory is removed or renamed under a mount. The store creates it anew and
# continues, open files can be read to their end, and no answer comes from the old store. If the
# directory cannot be created, the answer is EIO and never "no such file".
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl cmp python3
need_mount

make_two_large
for p in one two late added; do
  make_program "$TMP/made" $p
  # shellcheck disable=SC2034 # for eval
  at=gdb/$(gdb_path "$(build_id "$TMP/made/full/$p")" .debug)
  eval "$p=\$at"
done
for p in one two; do put_gdb "$TMP/up" "$TMP/made/debug/$p.debug" .debug; done
upstream_start up --root "$TMP/up"
store=$TMP/stores/store
file_of() { echo "$TMP/made/debug/$1.debug"; }
here() { eval "cmp -s \"\$(file_of $1)\" \"\$MNT_m/\$$1\""; }
# never_enoent NAME: it comes within seconds, and until then the error is another one.
never_enoent() {
  ne_name=$1
  ne_path=$MNT_m/$(eval "echo \"\$$1\"")
  : >"$TMP/said"
  came() { cmp "$(file_of "$ne_name")" "$ne_path" 2>>"$TMP/said"; }
  wait_for came || fail "$row: $1 does not come: $(tail -n 1 "$TMP/said")"
  grep -vq 'Input/output error' "$TMP/said" && fail "$row: $1: $(cat "$TMP/said")"
}
# no_store: the daemon may write a file into the directory while rm empties it, and rm fails then.
no_store() { wait_for rm -rf "$store" || fail "$row: rm"; }
begin() {
  no_store
  symfs_mount m --cache "$store" --source "gdb@$URL_up"
  "$SYMFS" add --cache "$store" "$(file_of added)" >/dev/null || fail "$row: add"
  here one && here added || fail "$row: before"
  here late && fail "$row: it is there before the server has it"
  exec 5<"$MNT_m/$one"                                # stored
  exec 6<"$MNT_m/gdb/$name1" && look 6 1 1000000 5000 # some of it is here
}
# look DESCRIPTOR N OFFSET COUNT
look() {
  eval "timeout -s KILL 600 \"\$top_builddir/tests/helpers/read-at\" $3 $4 <&$1" >"$TMP/got" 2>"$TMP/look.log" ||
    fail "$row: $2 at $3: $(cat "$TMP/look.log")"
  tail -c "+$(($3 + 1))" "$TMP/large$2" | head -c "$4" | cmp - "$TMP/got" || fail "$row: wrong bytes at $3"
}
goes_on() {
  never_enoent one
  never_enoent two
  put_gdb "$TMP/up" "$(file_of late)" .debug # it was remembered to be missing by the old store
  [ "$row" = exchanged ] || # that store remembers it, too
    wait_for here late || fail "$row: a miss outlived its store: $(stat "$MNT_m/$late" 2>&1)"
  look 6 1 2000000 5000
  cmp "$TMP/large1" - <&6 || fail "$row: an open file that was here in part"
  cmp "$(file_of one)" - <&5 || fail "$row: an open file that was stored"
  exec 5<&- 6<&-
  same_file "$TMP/large1" "$MNT_m/gdb/$name1"
  stored() { "$SYMFS" get --offline --no-default-sources --cache "$store" "$two"; }
  wait_for stored || fail "$row: nothing is stored anew"
  gone "$PID_m" && fail "$row: the daemon ended"
  rm "$TMP/up/${late#gdb/}"
}
end() {
  symfs_umount m
  grep -c 'the directory was removed or replaced' "$TMP/m.log" | grep -qx 1 || fail "$row: no word, or many"
  "$SYMFS" cache verify --cache "$store" >"$TMP/out" 2>&1 || fail "$row: cache verify: $(cat "$TMP/out")"
}

# blocked PATH: EIO.
blocked() {
  cat "$MNT_m/$1" >/dev/null 2>"$TMP/said" && fail "$row: $1 is read"
  grep -q 'Input/output error' "$TMP/said"
}

row="removed"
begin
no_store
goes_on
end

row="removed with its parent"
begin
wait_for rm -rf "$TMP/stores" || fail "$row: rm"
# Landlock opens the store and its parent to root's daemon, and nothing above.
if [ "$(id -u)" = 0 ] && ! grep -q 'this kernel has no Landlock' "$TMP/m.log"; then
  for p in "$added" "$two"; do blocked "$p" || fail "$row: $p: $(cat "$TMP/said")"; done
  grep -q 'cannot be made anew' "$TMP/m.log" || fail "$row: no word in the log"
  exec 5<&- 6<&-
  symfs_umount m
  mkdir "$TMP/stores"
else
  goes_on
  end
fi

# Renamed: what was moved is left alone, and the path leads to a new store.
row="renamed"
begin
"$SYMFS" cache ls --cache "$store" | sort >"$TMP/before"
mv "$store" "$TMP/stores/old"
goes_on
end
grep -q 'elf_debug.*add' "$TMP/before" || fail "nothing was in it: $(cat "$TMP/before")"
"$SYMFS" cache verify --cache "$TMP/stores/old" >"$TMP/out" 2>&1 || fail "what was renamed: $(cat "$TMP/out")"
"$SYMFS" get --offline --no-default-sources --cache "$TMP/stores/old" "$added" >/dev/null ||
  fail "what was renamed lost a file"

# Another store in its place: it is the store from now on.
row="exchanged"
begin
exchange "$TMP/stores/old" "$store"
goes_on
here added || fail "the store at the path is not used"
end

# A file in its place: nothing can be stored. What was there is an error, and comes back.
row="blocked"
begin
: >"$TMP/stores/gone" && exchange "$TMP/stores/gone" "$store"
wait_for rm -rf "$TMP/stores/gone" || fail "$row: rm"
for p in "$added" "$one" gdb/.build-id/ab/cdef0123456789abcdef0123456789abcdef01.debug "$two" "$added"; do
  blocked "$p" || fail "blocked: $p: $(cat "$TMP/said")"
done
rm "$store"
goes_on
end
grep -q 'cannot be made anew' "$TMP/m.log" || fail "blocked: no word in the log"

# A link into the mount in its place: the daemon does not wait for itself.
row="leads into its own mount"
begin
ln -s "$MNT_m/gdb" "$TMP/stores/gone" && exchange "$TMP/stores/gone" "$store"
wait_for rm -rf "$TMP/stores/gone" || fail "$row: rm"
for p in "$added" "$two"; do blocked "$p" || fail "$row: $p: $(cat "$TMP/said")"; done
timeout -s KILL 600 df "$MNT_m" >/dev/null || fail "$row: df"
rm "$store"
goes_on
end
exit 0
