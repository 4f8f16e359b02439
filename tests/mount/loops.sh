#!/bin/sh
# Sources that lead back to a symfs mount: in the daemon's own environment, through a directory in
# the mount, through links, through a second mount, over HTTP. There is no deadlock and no wait
# for the loop, the log has a line, and the other sources keep working.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl
need_mount

make_program "$TMP/made" prog
make_program "$TMP/made" late
ROOT=$TMP/root
mkdir -p "$ROOT"
put_gdb "$ROOT" "$TMP/made/debug/prog.debug" .debug
put_gdb "$ROOT" "$TMP/made/debug/late.debug" .debug
prog=$(gdb_path "$(build_id "$TMP/made/full/prog")" .debug)
late=$(gdb_path "$(build_id "$TMP/made/full/late")" .debug)
nothing=.build-id/ab/cdef00000000000000000000000000000000.debug
upstream_start good --root "$ROOT"
# A request that waited for the loop would hang.
limits='--lookup-deadline 3600s --stall-timeout 3600s'

# same WHAT MOUNT FILE: reads it through the mount.
same() { cmp "$2/$3" "$ROOT/$3" >"$TMP/words" 2>&1 || fail "$1: $(cat "$TMP/words")"; }

# works WHAT MOUNT: the good source behind the loop is heard, and what no source has is missing.
works() {
  same "$1" "$2" "$prog"
  absent "$1" "$2"
  grep -q 'No such file' "$TMP/words" || fail "$1: what no source has: $(cat "$TMP/words")"
}
absent() { stat "$2/$nothing" >"$TMP/words" 2>&1 && fail "$1: what no source has: $(cat "$TMP/words")"; }

told() { # WHAT LOG N: one line for each source that loops, however often that was met
  lines=$(grep -c 'leads into a symfs mount' "$2")
  [ "$lines" = "$3" ] || fail "$1: $lines lines in the log about the loop, wanted $3"
}

# ---- the variables that people have, pointed at the mount ------------------------------------
mkdir "$TMP/env"
DEBUGINFOD_URLS="file://$TMP/env/debuginfod" _NT_SYMBOL_PATH="$TMP/env"
export DEBUGINFOD_URLS _NT_SYMBOL_PATH
# shellcheck disable=SC2086
SYMFS_DEFAULTS=1 symfs_mount env $limits --source "gdb@$URL_good"
unset DEBUGINFOD_URLS _NT_SYMBOL_PATH
works "the daemon's own environment" "$MNT_env"
stat "$MNT_env/debuginfod/buildid/$(build_id "$TMP/made/full/late")/debuginfo" >"$TMP/words" 2>&1 ||
  fail "debuginfod's spelling: $(cat "$TMP/words")"
stat "$MNT_env/symstore/foo.pdb/497B72F6390A44FC878E5A2D63B6CC4B1/foo.pdb" >/dev/null 2>&1
[ "$(grep -c 'skipped: inside a symfs mount' "$MNT_env/.symfs/sources")" -ge 1 ] ||
  fail "sources do not tell of the loop"
grep -q 'skipped (.*inside a symfs mount' \
  "$MNT_env/.symfs/why/debuginfod/buildid/$(build_id "$TMP/made/full/prog")/debuginfo" ||
  fail "why does not tell of the loop:" \
    "$(cat "$MNT_env/.symfs/why/debuginfod/buildid/$(build_id "$TMP/made/full/prog")/debuginfo")"
told "the environment" "$TMP/env.log" 2
ls -R "$MNT_env" >/dev/null
symfs_umount env

# ---- a directory of the mount, a link to it, links in it ---------------------------------------
mkdir -p "$TMP/pool" "$TMP/links/.build-id" "$TMP/files/$(dirname "$prog")" "$TMP/files/$(dirname "$late")" \
  "$TMP/files/$(dirname "$nothing")"
ln -s "$TMP/self/gdb" "$TMP/way"
ln -s "$TMP/self/gdb/$(dirname "$prog")" "$TMP/links/$(dirname "$prog")"
ln -s "$TMP/self/gdb/$(dirname "$nothing")" "$TMP/links/$(dirname "$nothing")"
ln -s "$TMP/self/gdb/$prog" "$TMP/files/$prog"
ln -s "$TMP/self/gdb/$nothing" "$TMP/files/$nothing"
# Such links are common, and right, when they lead to a file.
cp "$ROOT/$late" "$TMP/pool/late"
ln -s "../../../pool/late" "$TMP/files/$late"
for way in "$TMP/self/gdb" "$TMP/way" "$TMP/links" "$TMP/files"; do
  # shellcheck disable=SC2086
  symfs_mount self $limits -o "source=gdb@$way,source=gdb@$URL_good"
  works "a source at $(basename "$way")" "$MNT_self"
  told "a source at $(basename "$way")" "$TMP/self.log" 1
  if [ "$way" = "$TMP/files" ]; then
    before=$(upstream_count "$URL_good" get)
    same "a link to a file" "$MNT_self" "$late"
    [ "$(upstream_count "$URL_good" get)" = "$before" ] || fail "a link to a file was not followed"
  fi
  symfs_umount self
  rm -rf "$TMP/store-self"
done

# ---- two mounts, each a source of the other ---------------------------------------------------
mkdir "$TMP/a" "$TMP/b"
# shellcheck disable=SC2086
symfs_mount a $limits -o "source=gdb@$TMP/b/gdb,source=gdb@$URL_good"
# shellcheck disable=SC2086
symfs_mount b $limits -o "source=gdb@$TMP/a/gdb,source=gdb@$URL_good"
works "two mounts, the first" "$MNT_a"
works "two mounts, the second" "$MNT_b"
told "two mounts, the first" "$TMP/a.log" 1
told "two mounts, the second" "$TMP/b.log" 1
symfs_umount a
symfs_umount b

# ---- a web server that serves the mount: its own upstream over HTTP ---------------------------
command -v nginx >/dev/null 2>&1 || { say "no nginx: no loop over HTTP"; exit 0; }
mkdir "$TMP/http"
nginx_start loop "$TMP/http"
# Only the lookup deadline ends the wait for what no source has, because the web server waits for the mount, too.
symfs_mount http --lookup-deadline 3s --stall-timeout 3600s --breaker-seconds 1s --source "gdb@$URL_loop" \
  --source "gdb@$URL_good"
arrives() { cmp "$MNT_http/$1" "$ROOT/$1" >"$TMP/words" 2>&1; }
wait_for arrives "$prog" || fail "a loop over HTTP: $(cat "$TMP/words")"
absent "a loop over HTTP" "$MNT_http"
grep -q '404' "$TMP/nginx-loop/access.log" && say "nginx saw a miss of ours"
wait_for arrives "$late" || fail "a loop over HTTP, another file: $(cat "$TMP/words")"
# Once more through the web server, from outside: it answers, too.
fetch_url -f -o "$TMP/again" "$URL_loop/gdb/$prog" || fail "through the web server: $?"
symfs_umount http
