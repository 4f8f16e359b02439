#!/bin/sh
# Debian's smbd exports the mount with etc/samba/symfs.conf. A file that was never read is read in
# any letter case, through symstore/ and through the root, and its size is right before. The other
# requests of Windows cause no traffic and read no directory.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need curl cmp smbclient gcc objcopy readelf strip
SMBD=$(PATH=$PATH:/usr/sbin:/sbin command -v smbd) || skip "smbd is not installed"

# A case-sensitive server, so a request needs the right spelling. Its bodies are compressed,
# so the size is not known before the end.
for name in one two three four five six size; do
  windows_library "$TMP/w" $name
  at=$(path_in ssqp "$TMP/w/$name.pdb")
  mkdir -p "$TMP/far/$(dirname "$at")"
  cp "$TMP/w/$name.pdb" "$TMP/far/$at"
done
upstream_start up --root "$TMP/far" --gzip

make_program "$TMP/p" prog
id=$(build_id "$TMP/p/full/prog")
"$SYMFS" add --cache "$TMP/store" "$TMP/p/debug/prog.debug" >"$TMP/add.log" || fail "add"

# smbd's guest is another user.
chmod 711 "$TMP"
who=
[ "$(id -u)" != 0 ] || who=allow_other,
symfs_mount m --cache "$TMP/store" --source "ssqp@$URL_up" -o "${who}exact_size"
smbd_start yes "$MNT_m"

asked() { upstream_count "$URL_up" requests; }
listed() { stat_of "$MNT_m" fs_listings; }
dos() { printf '%s' "$1" | tr / '\\'; }
bytes() { wc -c <"$1" | tr -d ' '; }

# read_as SPELLING PREFIX NAME: `dir`, then `get`, of a file that no client has asked for.
reads=0
read_as() {
  ra_file=$TMP/w/$3.pdb
  ra_path=$(dos "$($1 "$2$(path_in symstore "$ra_file")")")
  ra_asked=$(asked) ra_listed=$(listed)
  ra_out=$(smb yes "dir \"$ra_path\"")
  printf '%s\n' "$ra_out" | grep -qiE "^ +$3\.pdb +[A-Z]+ +$(bytes "$ra_file") " ||
    fail "dir $ra_path, $(bytes "$ra_file") bytes: $ra_out"
  ra_out=$(smb yes "get \"$ra_path\" \"$TMP/got\"") || fail "get $ra_path: $ra_out"
  same_file "$ra_file" "$TMP/got"
  rm "$TMP/got"
  [ "$(asked)" -gt "$ra_asked" ] || fail "$ra_path was not cold"
  [ "$(listed)" = "$ra_listed" ] || fail "$ra_path: smbd read $(($(listed) - ra_listed)) directories"
  say "cold: $ra_path"
  reads=$((reads + 1))
}
read_as upper symstore/ one
read_as lower symstore/ two
read_as mixed symstore/ three
read_as upper '' four
read_as lower '' five
read_as mixed '' six

# Links inside of the mount are followed.
out=$(smb yes "get \"$(dos "$(gdb_path "$id" .debug)")\" \"$TMP/got\"") || fail "through a link: $out"
same_file "$TMP/p/debug/prog.debug" "$TMP/got"

# ---- what is not there ---------------------------------------------------------------------------
# misses N: N commands of smbclient, each for a name that cannot exist in its directory.
DIR=$(dirname "$(path_in symstore "$TMP/w/one.pdb")")
misses() {
  awk -v n="$1" -v dir="$(dos "$DIR" | sed 's,\\,&&,g')" 'BEGIN {
    names = split("index2.txt desktop.ini Desktop.ini Thumbs.db autorun.inf AutoRun.inf folder.jpg Folder.gif " \
      "one.pd_ ONE.PD_ file.ptr refs.ptr one.pdb.lnk ehthumbs.db ._one.pdb one.dl_", name, " ")
    deeps = split("PROGRA~1 ONE~1.PDB one.dbg one.sym one.pdb.local", deep, " ")
    wheres = split("| symstore\\ | symstore\\one.pdb\\ | ssqp\\ | symstore\\" dir "\\ |" dir "\\", where, "|")
    for (i = 0; i < n; i++) {
      at = where[i % wheres + 1]
      gsub(/ /, "", at)
      what = name[int(i / wheres) % names + 1]
      if (i % wheres >= 4 && int(i / wheres) % 2)
        what = i % 3 ? "one" i ".pd_" : deep[int(i / 3) % deeps + 1]
      printf "%s \"%s%s\"%s\n", i % 2 ? "get" : "dir", at, what, i % 2 ? " nowhere" : ""
    }
  }'
}
absent='NT_STATUS_(OBJECT_NAME_NOT_FOUND|NO_SUCH_FILE|OBJECT_PATH_NOT_FOUND)'
ask_misses() { # SHARE N
  eval "am_port=\$SMB_$1"
  misses "$2" >"$TMP/misses"
  (cd "$TMP" && timeout 300 smbclient -s /dev/null -t 300 -p "$am_port" -N //127.0.0.1/symbols <misses) \
    >"$TMP/misses.out" 2>&1
  am_n=$(grep -cE "$absent" "$TMP/misses.out")
  [ "$am_n" = "$2" ] || fail "$am_n of $2 were not there: $(grep -vE "$absent" "$TMP/misses.out" | head)"
}
before=$(asked) before_listed=$(listed)
ask_misses yes 1000
[ "$(asked)" = "$before" ] || fail "1000 misses asked the server $(($(asked) - before)) times"
[ "$(listed)" = "$before_listed" ] || fail "1000 misses read $(($(listed) - before_listed)) directories"
say "1000 misses of $(sort -u "$TMP/misses" | wc -l) paths: no request, no directory read"
# A share that compares names itself reads directories for that: the line is needed, and the counter counts.
for how in auto no; do
  smbd_start $how "$MNT_m" "case sensitive = $how"
  before_listed=$(listed)
  ask_misses $how 60
  [ "$(listed)" -gt "$before_listed" ] || fail "case sensitive = $how reads no directory: the check proves nothing"
  say "case sensitive = $how: 60 misses, $(($(listed) - before_listed)) directories read"
done
before_listed=$(listed)
smb yes 'dir "symstore\*"' | grep -qi 'one\.pdb' || fail "a listing through the share"
[ "$(listed)" -gt "$before_listed" ] || fail "a listing is not counted"

# ---- exact_size ----------------------------------------------------------------------------------
# Before the first open: the true size, which takes the whole file; without the option, a guess,
# unless the file, which is small, has come meanwhile.
at=symstore/$(path_in symstore "$TMP/w/size.pdb")
symfs_mount guess --source "ssqp@$URL_up" ${who:+-o "${who%,}"}
smbd_start guess "$MNT_guess"
out=$(smb guess "dir \"$(dos "$at")\"")
printf '%s\n' "$out" | grep -qE " (1099511627776|$(bytes "$TMP/w/size.pdb")) " || fail "without exact_size: $out"
upstream_reset "$URL_up"
[ "$(stat -c %s "$MNT_m/$at")" = "$(bytes "$TMP/w/size.pdb")" ] || fail "exact_size: $(stat -c %s "$MNT_m/$at") bytes"
[ "$(upstream_count "$URL_up" get "*.pdb")" = 1 ] || fail "exact_size: $(upstream_count "$URL_up" get) GETs"
say "$reads files read cold in three spellings, each with its true size first"
symfs_umount guess
symfs_umount m
