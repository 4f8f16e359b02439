#!/bin/sh
# What a mount reports about itself: .symfs/*, extended attributes, status; the manual agrees with
# it.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl gcc objcopy readelf getfattr

make_program "$TMP/p" foo
put_gdb "$TMP/www" "$TMP/p/debug/foo.debug" .debug
id=$(build_id "$TMP/p/full/foo")
path=gdb/$(gdb_path "$id" .debug)
upstream_start up --root "$TMP/www"
secret=s3cr3t
host=${URL_up#http://}
cat "$DEADLINES" - >"$TMP/symfs.conf" <<EOF
[source "up"]
url = http://user:$secret@$host/
layout = gdb
filetypes = elf_debug elf_code
miss-lifetime = 7m
header = X-Token: $secret
EOF
chmod 600 "$TMP/symfs.conf"
symfs_mount m --config "$TMP/symfs.conf"

"$SYMFS" --version | cmp -s - "$MNT_m/.symfs/version" || fail "version"
grep -q "^cache-dir = $TMP/store-m$" "$MNT_m/.symfs/config" || fail "config: $(cat "$MNT_m/.symfs/config")"
# What it tells is a configuration that the program itself reads.
"$SYMFS" sources --no-default-sources --config "$MNT_m/.symfs/config" | grep -q ' up ' || fail "config does not load"
for line in "miss-lifetime = 420s" "filetypes = elf_code elf_debug" "url = http://$host/"; do
  grep -qx "$line" "$MNT_m/.symfs/config" || fail "config lacks $line: $(cat "$MNT_m/.symfs/config")"
done

seen=0
for name in $(sed 's/ .*//' "$MNT_m/.symfs/stats"); do
  seen=$((seen + 1))
  grep -q "^\.It Cm $name\$" "$top_srcdir/man/symfs-mount.1.in" ||
    fail "symfs-mount(1) does not name the counter $name"
done
[ $seen -ge 20 ] || fail "only $seen counters"
# Nor does symfs-mount(1) name what is not there: of the counters and of the files, which lists show.
section() { sed -n "/^\.Sh $1/,/^\.Sh/p" "$top_srcdir/man/symfs-mount.1.in"; }
for name in $(section 'THE .symfs DIRECTORY' | sed -n 's/^\.It Cm //p'); do
  grep -q "^$name " "$MNT_m/.symfs/stats" || fail "symfs-mount(1) names a counter $name that is not there"
done
section 'THE .symfs DIRECTORY' | sed -n 's/^\.It Pa \([a-z]*\).*/\1/p' | sort >"$TMP/named"
ls "$MNT_m/.symfs" | sort | diff "$TMP/named" - || fail "symfs-mount(1) names other files than those of .symfs"
ls -A "$MNT_m" | grep -qx '[.]symfs' || fail ".symfs is not listed"
section 'THE .symfs DIRECTORY' | grep -q 'not listed' && fail "symfs-mount(1) says that .symfs is not listed"
section 'EXTENDED ATTRIBUTES' | sed -n 's/^\.It Cm //p' | sort >"$TMP/named.xattrs"
grep -vE '^(# (HELP|TYPE) symfs_[a-z_]+ .+|symfs_[a-z_]+ [0-9]+)$' "$MNT_m/.symfs/metrics" && fail "metrics"
[ "$(grep -c '^symfs_' "$MNT_m/.symfs/metrics")" -ge 20 ] || fail "too few metrics"

why() { "$SYMFS" why --json "$1"; }
why "$MNT_m/$path" | grep -q '"verdict":"not asked"' || fail "why before: $(why "$MNT_m/$path")"
grep -q 'not asked' "$MNT_m/.symfs/why/$path" || fail "why file"
[ "$(upstream_count "$URL_up" get)" = 0 ] || fail "looking at .symfs asked the server"
# To look at it begins to fetch it, and so small a file would be here a moment later.
upstream_hold "$URL_up" "/${path#gdb/}" 2000
getfattr -n user.symfs.state "$MNT_m/$path" >"$TMP/said" 2>&1
grep -qE '"(remote|partial [0-9]+ %)"' "$TMP/said" || fail "state before: $(cat "$TMP/said")"
upstream_go "$URL_up"
cmp "$TMP/p/debug/foo.debug" "$MNT_m/$path" || fail "bytes"
gets=$(upstream_count "$URL_up" get)

# The reader of a small file does not wait until the disk has it.
stored() { [ "$(attr state)" = whole ]; }
attr() { getfattr --only-values -n "user.symfs.$1" "$MNT_m/$path" 2>/dev/null; }
wait_for stored || fail "user.symfs.state is $(attr state)"
for row in "kind elf_debug" "code-id $id" "source up" "state whole" "verified yes" \
  "sha256 $(sha256sum "$TMP/p/debug/foo.debug" | cut -d' ' -f1)" "url http://$host/${path#gdb/}"; do
  [ "$(attr "${row%% *}")" = "${row#* }" ] || fail "user.symfs.${row%% *} is $(attr "${row%% *}"), not ${row#* }"
done
grep -v '\.synthesized$' "$TMP/named.xattrs" >"$TMP/named.fetched" # of files that symfs made
getfattr -d -m . "$MNT_m/$path" 2>/dev/null | sed -n 's/=.*//p' | sort | diff "$TMP/named.fetched" - ||
  fail "symfs-mount(1) names other attributes"
[ "$(attr debug-id | tr -d - | tr a-f A-F)" = "$("$SYMFS" id --json "$TMP/p/full/foo" |
  sed -n 's/.*"breakpad_id":"\(.*\)0",/\1/p')" ] ||
  fail "debug-id"
why "$MNT_m/$path" | grep -q "\"stored\":\"$TMP/store-m/blobs/" || fail "why after: $(why "$MNT_m/$path")"
"$SYMFS" status --json "$MNT_m" | grep -q '"published":1' || fail "status --json"
"$SYMFS" status -v "$MNT_m" | grep -q '^published 1$' || fail "status"
[ "$("$SYMFS" get "$MNT_m/$path")" = "$(readlink -f "$("$SYMFS" get "$MNT_m/$path")")" ] ||
  fail "get of a path inside the mount"

missing=gdb/.build-id/aa/$(printf %038d 1).debug
[ -e "$MNT_m/$missing" ] && fail "it exists?"
grep -q "^elf_debug,aa$(printf %038d 1),\"\",\"up\"," "$MNT_m/.symfs/missing" ||
  fail "missing: $(cat "$MNT_m/.symfs/missing")"

# How often: by each name that the kernel does not remember itself, as one file.
[ -e "$MNT_m/native/aa/$(printf %038d 1).debug" ] && fail "it exists?"
[ -e "$MNT_m/debuginfod/buildid/aa$(printf %038d 1)/debuginfo" ] && fail "it exists?"
grep -q "^elf_debug,aa$(printf %038d 1),\"\",\"up\",.*,3\$" "$MNT_m/.symfs/missing" ||
  fail "how often: $(cat "$MNT_m/.symfs/missing")"

# No secret in anything that is told.
for text in "$MNT_m/.symfs/config" "$MNT_m/.symfs/sources" "$MNT_m/.symfs/why/$path" "$MNT_m/.symfs/activity" \
  "$TMP/m.log" /proc/self/mountinfo; do
  grep -q "$secret" "$text" && fail "a secret in $text"
done
"$SYMFS" why --config "$TMP/symfs.conf" --no-default-sources --cache "$TMP/store-x" --ask "$path" >"$TMP/why.out" 2>&1
"$SYMFS" sources --json --config "$TMP/symfs.conf" --no-default-sources >>"$TMP/why.out" 2>&1
grep -q "found" "$TMP/why.out" || fail "why --ask: $(cat "$TMP/why.out")"
grep -q "$secret" "$TMP/why.out" && fail "a secret in why or sources"
getfattr -d -m . "$MNT_m/$path" 2>/dev/null | grep -q "$secret" && fail "a secret in an attribute"
[ "$(upstream_count "$URL_up" get)" -ge "$gets" ] || fail "counting"
symfs_umount m
symfs_mount again --config "$TMP/symfs.conf" --cache "$TMP/store-m"
grep -q "^elf_debug,aa.*,3\$" "$MNT_again/.symfs/missing" ||
  fail "how often, after a restart: $(cat "$MNT_again/.symfs/missing")"
symfs_umount again
