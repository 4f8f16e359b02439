#!/bin/sh
# A folder of Debian packages as a source, beside debuginfod -U: the ids that both find, the time and the processor
# time of the first scan and of the scan after a restart, one debug file from each, and the disk space. BENCH_PACKAGES
# names the folder. Without it, 20 packages are made.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need debuginfod bsdtar dpkg-deb sqlite3 curl readelf # debuginfod -U runs bsdtar

if [ -n "${BENCH_PACKAGES:-}" ]; then
  folder=$(cd "$BENCH_PACKAGES" && pwd) || fail "$BENCH_PACKAGES"
else
  need gcc objcopy strip
  folder=$TMP/packages
  mkdir "$folder"
  for i in $(seq 20); do
    make_program "$TMP/made" "p$i"
    mkdir -p "$TMP/root/DEBIAN" "$TMP/root/usr/lib/debug"
    printf 'Package: p%s\nVersion: 1\nArchitecture: amd64\nMaintainer: a <t@example.org>\nDescription: a\n' "$i" \
      >"$TMP/root/DEBIAN/control"
    cp "$TMP/made/bin/p$i" "$TMP/made/debug/p$i.debug" "$TMP/root/usr/lib/debug" || fail "cp"
    dpkg-deb --build "$TMP/root" "$folder/p$i.deb" >/dev/null || fail "dpkg-deb"
    rm -r "$TMP/root"
  done
fi
packages=$(find "$folder" -name '*.deb' | wc -l)
echo "$packages packages, $(du -sm "$folder" | cut -f1) MB"
[ "$packages" -gt 0 ] || fail "no packages"

# cpu_of PID: processor time in seconds, with that of the processes that it has waited for.
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15 + $16 + $17) / hz }' "/proc/$1/stat"; }

# ---- debuginfod -------------------------------------------------------------------------------
port=$(free_port)
began=$(now_ms)
(cd "$TMP" && exec env -u DEBUGINFOD_URLS debuginfod -p "$port" -d "$TMP/theirs.sqlite" -U "$folder") \
  >"$TMP/theirs.log" 2>&1 &
theirs=$!
PIDS="$PIDS $theirs"
metric() { curl -sf --noproxy '*' "http://127.0.0.1:$port/metrics" | grep -F "$1" | awk '{ print $2 }'; }
has_scanned() {
  [ "$(metric 'thread_work_total{role="traverse"}')" = 1 ] &&
    [ "$(metric 'thread_work_pending{role="scan"}')" = 0 ] &&
    [ "$(metric 'thread_busy{role="scan"}')" = 0 ]
}
wait_for has_scanned || fail "debuginfod does not end its scan"
echo "debuginfod -U, first scan: $(($(now_ms) - began)) ms, $(cpu_of $theirs) s of processor time"
v=$(sqlite3 "$TMP/theirs.sqlite" "select name from sqlite_master where name like 'buildids%_buildids'")
v=${v%_buildids}
sqlite3 "$TMP/theirs.sqlite" "select distinct b.hex from ${v}_buildids b, ${v}_r_de r where r.buildid = b.id" |
  sort >"$TMP/theirs.ids"
[ -s "$TMP/theirs.ids" ] || fail "debuginfod finds nothing: $(tail -n 3 "$TMP/theirs.log")"

# ---- symfs ------------------------------------------------------------------------------------
# scan_by_mount NAME: mounts, and waits until all is read.
scan_by_mount() {
  began=$(now_ms)
  symfs_mount "$1" --cache "$TMP/store" --source "scan@$folder"
  eval "mnt=\$MNT_$1 pid=\$PID_$1"
  wait_for grep -q '	there, .* archives' "$mnt/.symfs/sources" ||
    fail "the scan does not end: $(cat "$mnt/.symfs/sources")"
  took=$(($(now_ms) - began)) cpu=$(cpu_of "$pid")
}
scan_by_mount first
echo "symfs, first scan: $took ms, $cpu s of processor time; $(sed 's/.*	//' "$MNT_first/.symfs/sources")"
grep -F 'faults' "$MNT_first/.symfs/sources" && cat "$TMP/first.log"
wait_for test -s "$TMP"/store/scans/* || fail "no memory file"
grep -hoE '	elf_(code|debug) [0-9a-f]{40}' "$TMP"/store/scans/* | awk '{ print $2 }' | sort -u >"$TMP/ours.ids"
echo "build ids: symfs $(wc -l <"$TMP/ours.ids"), debuginfod $(wc -l <"$TMP/theirs.ids")," \
  "only symfs $(comm -23 "$TMP/ours.ids" "$TMP/theirs.ids" |
  wc -l), only debuginfod $(comm -13 "$TMP/ours.ids" "$TMP/theirs.ids" | wc -l)"
comm -13 "$TMP/ours.ids" "$TMP/theirs.ids" | head -n 20
echo "memory of the daemon at most: $(awk '/VmHWM/ { print $2 / 1024 }' "/proc/$PID_first/status") MB;" \
  "memory file: $(cat "$TMP"/store/scans/* | wc -c) bytes; debuginfod's index: $(wc -c <"$TMP/theirs.sqlite") bytes"
stored=$(find "$TMP/store/blobs" -type f | wc -l)
[ "$stored" = 0 ] || fail "$stored files in the store before a request"

# ---- one debug file, of the middle of the list -------------------------------------------------
debug_ids=$TMP/debug.ids
sqlite3 "$TMP/theirs.sqlite" "select distinct b.hex from ${v}_buildids b, ${v}_r_de r
  where r.buildid = b.id and r.debuginfo_p" | sort | comm -12 - "$TMP/ours.ids" >"$debug_ids"
n=0 same=0
for id in $(awk -v n="$(wc -l <"$debug_ids")" 'NR % (int(n / 20) + 1) == 0' "$debug_ids"); do
  began=$(now_ms)
  cat "$MNT_first/gdb/$(gdb_path "$id" .debug)" >"$TMP/our.file" || fail "$id through the mount"
  mid=$(now_ms)
  curl -sf --noproxy '*' "http://127.0.0.1:$port/buildid/$id/debuginfo" >"$TMP/their.file" ||
    fail "$id from debuginfod"
  end=$(now_ms)
  n=$((n + 1))
  cmp -s "$TMP/our.file" "$TMP/their.file" && same=$((same + 1)) || echo "$id: other bytes than debuginfod"
  [ "$n" -gt 5 ] ||
    echo "a debug file of $(wc -c <"$TMP/our.file") bytes: symfs $((mid - began)) ms, debuginfod $((end - mid)) ms"
done
echo "$n debug files, $same of them with the bytes that debuginfod sends"
echo "the store: $(find "$TMP/store/blobs" -type f ! -name '*.key' | wc -l) files, $(du -sm "$TMP/store/blobs" |
  cut -f1) MB"
find "$TMP/store" -type f -size +7c -exec head -c 7 {} \; -exec echo \; 2>/dev/null | grep -qa '^!<arch>' &&
  fail "a package is in the store"

# ---- after a restart ---------------------------------------------------------------------------
symfs_umount first
scan_by_mount again
echo "symfs, after a restart: $took ms, $cpu s of processor time"
symfs_umount again
