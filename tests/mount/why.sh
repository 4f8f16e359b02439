#!/bin/sh
# The explanation of symfs for a file that it does not have: which sources were asked, what they
# answered, and that a file is never called missing if no source was asked.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc
need_mount

ID=ab00000000000000000000000000000000000001
PATH_OF=debuginfod/buildid/$ID/debuginfo
mkdir -p "$TMP/root"
upstream_start up --root "$TMP/root"
SRC=debuginfod@$URL_up

# says WANTED-EXIT WORDS COMMAND...: the command ends so, and prints the words (grep -E) exactly once.
says() {
  sa_exit=$1 sa_words=$2
  shift 2
  "$@" >"$TMP/out" 2>&1
  sa_got=$?
  [ $sa_got = "$sa_exit" ] || fail "$*: exit $sa_got, wanted $sa_exit: $(cat "$TMP/out")"
  [ "$(grep -oE "$sa_words" "$TMP/out" | wc -l)" = 1 ] ||
    fail "$*: \"$sa_words\" is not there once: $(cat "$TMP/out")"
}
# symfs_with CACHE COMMAND...: a command without the sources that are configured.
symfs_with() {
  sw_cache=$1 sw_cmd=$2
  shift 2
  "$SYMFS" "$sw_cmd" --no-default-sources --cache "$TMP/store-$sw_cache" --breaker-seconds 1s "$@"
}

# ---- a status is said once ------------------------------------------------------------------
for status in 500 404 429,3; do
  upstream_fault "$URL_up" '*' status $status
  says 0 "HTTP ${status%,*}" symfs_with a why --ask --source "$SRC" "$PATH_OF"
  upstream_clear "$URL_up"
done

# ---- a source that was reached, and one that was not ----------------------------------------
while IFS='|' read -r kind arg words; do
  upstream_fault "$URL_up" '*' "$kind" "$arg"
  says 3 "$words" symfs_with "$kind" get --source "$SRC" "$PATH_OF"
  grep -q "^symfs get: $PATH_OF: $SRC: " "$TMP/out" || fail "$kind: $(cat "$TMP/out")"
  upstream_clear "$URL_up"
done <<'END'
status|500|HTTP 500
garbage||HTTP/0.9
long-header|1000000|sent a header longer than 102400 bytes
redirect|loop|more than 8 redirects
END
CLOSED=debuginfod@http://127.0.0.1:1/
says 3 "^symfs get: $PATH_OF: $CLOSED: Failed to connect" symfs_with c get --source $CLOSED "$PATH_OF"
for turn in 1 2 3 4 5 6 7 8; do
  says 0 'failed: Failed to connect' symfs_with "c$turn" why --ask --source $CLOSED "$PATH_OF"
done

# ---- nothing is missing that no source was asked for ------------------------------------------
UNNAMED='no source is configured that can have it'
never_missing() { ! grep -qi 'missing\|no source has it' "$TMP/out" || fail "$1: $(cat "$TMP/out")"; }

upstream_start syms --root "$TMP/root"
SYMS=breakpad@$URL_syms
says 1 "$UNNAMED" symfs_with d get "$PATH_OF"
never_missing get
says 1 "$UNNAMED" symfs_with d get --source "$SYMS" "$PATH_OF"
never_missing "get, and a source of another layout"
says 0 "$UNNAMED" symfs_with d why "$PATH_OF"
never_missing why
symfs_with d best --for debug --object-type elf "$PATH_OF" >"$TMP/out" 2>&1
[ "$(grep -c "not there: $UNNAMED" "$TMP/out")" = 3 ] || fail "best: $(cat "$TMP/out")"
never_missing best
echo '{"version":5,"memoryMap":[["a.so","AB0000000000000000000000000000000"]],"stacks":[[[0,16]]]}' >"$TMP/request"
says 0 "breakpad: $UNNAMED" symfs_with d symbolicate --module-errors "$TMP/request"
never_missing module_errors
symfs_mount d --source "$SYMS"
grep -qx "$UNNAMED" "$MNT_d/.symfs/why/$PATH_OF" || fail ".symfs/why: $(cat "$MNT_d/.symfs/why/$PATH_OF")"
[ "$(cat "$MNT_d/.symfs/why/.build-id/ab/$(echo $ID | cut -c3-).debug" | tail -n 1)" = "$UNNAMED" ] ||
  fail ".symfs/why/.build-id leads nowhere"
symfs_umount d
# A source that was asked may be said to have nothing, and a second time by memory alone.
says 1 'no source has it' symfs_with e get --source "$SRC" "$PATH_OF"
says 1 'known to be missing' symfs_with e get --source "$SRC" "$PATH_OF"
says 0 'no source has it; --no-default-sources leaves .*; add one with .*; .symfs why --ask WHAT. asks again$' \
  symfs_with e why \
  --source "$SRC" "$PATH_OF"
says 0 'a source could not be asked: .symfs sources check. says why' symfs_with e why --ask \
  --source debuginfod@http://127.0.0.1:1/ "$PATH_OF"
says 1 'symfs get symstore/NAME[.]pdb/44E4EC8C2F41492B9369D6B9A059577C2/NAME[.]pdb$' symfs_with e get \
  --source "$SRC" 44E4EC8C2F41492B9369D6B9A059577C2
says 1 'symfs get breakpad/NAME[.]pdb/44E4EC8C2F41492B9369D6B9A059577C2/NAME[.]sym$' symfs_with e get \
  --type breakpad --source "$SRC" 44E4EC8C2F41492B9369D6B9A059577C2
# The form of an identifier says what it is.
says 0 '^key     pdb 44E4EC8C2F41492B9369D6B9A059577C2$' symfs_with e why 44e4ec8c-2f41-492b-9369-d6b9a059577c-2
says 1 '5F3A12341000: the code id of a PE file alone names no file; a path does, such as .*' \
  symfs_with e why 5F3A12341000

# ---- warm asks for a program's Breakpad file --------------------------------------------------
printf 'int main(void) { return 0; }\n' >"$TMP/p.c"
gcc -Wl,--build-id=sha1 -o "$TMP/prog" "$TMP/p.c" || fail gcc
debug_id=$("$SYMFS" id "$TMP/prog" | awk '/breakpad id/ { print $3; exit }')
says 0 'breakpad missing' symfs_with w warm --breakpad --source "$SYMS" "$TMP/prog"
[ "$(upstream_count "$URL_syms" get "/prog/$debug_id/prog.sym")" = 1 ] ||
  fail "warm --breakpad did not ask: $(cat "$TMP/out")"
grep -q "elf_debug not asked: $UNNAMED" "$TMP/out" || fail "warm: $(cat "$TMP/out")"
mkdir -p "$TMP/root/prog/$debug_id"
printf 'MODULE Linux x86_64 %s prog\nPUBLIC 1000 0 main\n' "$debug_id" >"$TMP/root/prog/$debug_id/prog.sym"
says 0 'breakpad [0-9.]+ [KM]B' symfs_with x warm --breakpad --source "$SYMS" "$TMP/prog"

# ---- a path inside a mount means its sources ----------------------------------------------------
mkdir -p "$TMP/root/buildid/$ID"
id=$("$SYMFS" id "$TMP/prog" | awk '/code id/ { print $3; exit }')
mkdir -p "$TMP/root/buildid/$id"
cp "$TMP/prog" "$TMP/root/buildid/$id/executable"
symfs_mount m --source "$SRC"
# An ask that finds the file forgets the miss.
says 1 'no source has it' symfs_with f get --source "$SRC" "debuginfod/buildid/$id/debuginfo"
cp "$TMP/prog" "$TMP/root/buildid/$id/debuginfo"
says 1 'known to be missing' symfs_with f get --source "$SRC" "debuginfod/buildid/$id/debuginfo"
says 0 'a source has it: .symfs get WHAT. downloads and checks it$' symfs_with f why --ask --source "$SRC" \
  "debuginfod/buildid/$id/debuginfo"
says 0 '/blobs/' symfs_with f get --source "$SRC" "debuginfod/buildid/$id/debuginfo"
rm "$TMP/root/buildid/$id/debuginfo"
# A scanned tree is one row, whatever an identifier can be.
mkdir "$TMP/tree" && cp "$TMP/prog" "$TMP/tree"
says 0 '^[0-9]+[.] scan@' symfs_with g why --ask --source "$TMP/tree" "$id"
says 0 '^   found: prog$' symfs_with g why --ask --source "$TMP/tree" "$id"
says 0 'elf_code +chosen' "$SYMFS" best --for symtab --object-type elf "$MNT_m/debuginfod/buildid/$id/executable"
says 1 'elf_debug +not there: (no source has it|known to be missing)' "$SYMFS" best --for debug --object-type elf \
  "$MNT_m/$PATH_OF"

# ---- why says what mounts on the same store last saw ----------------------------------------
BAD=debuginfod/buildid/ab00000000000000000000000000000000000002/debuginfo
says 0 'symfs why --ask WHAT' symfs_with m why --source "$SRC" "$BAD"
upstream_fault "$URL_up" "*0002/*" status 400
cat "$MNT_m/$BAD" >/dev/null 2>&1 && fail "a file came with status 400"
upstream_clear "$URL_up"
grep -qE 'failed \(HTTP 400, [0-9]+ s ago\)' "$MNT_m/.symfs/why/$BAD" ||
  fail ".symfs/why: $(cat "$MNT_m/.symfs/why/$BAD")"
says 0 'failed \(HTTP 400, [0-9]+ s ago\)' symfs_with m why --source "$SRC" "$BAD"
grep -qx "the mount $MNT_m last saw:" "$TMP/out" || fail "why names no mount: $(cat "$TMP/out")"
says 0 'failed \(HTTP 400, [0-9]+ s ago\)' "$SYMFS" why "$MNT_m/$BAD"
says 0 "\"saw\":\"path .*HTTP 400" symfs_with m why --json --source "$SRC" "$BAD"
says 0 'missing: HTTP 404' symfs_with m why --ask --source "$SRC" "$BAD"
grep -q 'last saw' "$TMP/out" && fail "what a mount saw is printed beside what each source says now"
# A file that is there needs no source: why names the one that it came from.
"$SYMFS" get "$MNT_m/debuginfod/buildid/$id/executable" >"$TMP/out" || fail "get: $(cat "$TMP/out")"
says 0 "^from    $SRC  $URL_up/buildid/$id/executable" "$SYMFS" why "$MNT_m/debuginfod/buildid/$id/executable"
grep -q 'last saw\|symfs why --ask' "$TMP/out" && fail "advice for a file that is there: $(cat "$TMP/out")"
[ "$(tail -n 1 "$TMP/out")" = 'it is stored, so no source has to be asked' ] || fail "no end: $(cat "$TMP/out")"
# A source that refuses wants credentials.
upstream_fault "$URL_up" '*' status 401
says 0 'a source that refuses wants a token or password' symfs_with m why --ask --source "$SRC" \
  "${BAD%2/debuginfo}4/debuginfo"
cat "$MNT_m/${BAD%2/debuginfo}5/debuginfo" >/dev/null 2>&1 && fail "a file came with status 401"
says 0 'refused: HTTP 401: it wants a token or password; see header in symfs.conf.5.$' "$SYMFS" status "$MNT_m"
upstream_clear "$URL_up"
# Without a source of its own, the command names the mounts that have some.
for command in why get; do
  "$SYMFS" $command --no-default-sources --cache "$TMP/store-m" "$BAD" >"$TMP/out" 2>&1
  grep -qx "  symfs $command --config $MNT_m/.symfs/config ...    asks the sources of this mount" "$TMP/out" ||
    fail "$command does not name the mount: $(cat "$TMP/out")"
done
says 1 "no source has it" "$SYMFS" get --no-default-sources --config "$MNT_m/.symfs/config" \
  "${BAD%2/debuginfo}3/debuginfo"

# A mount on another store, and one whose daemon is stopped, say nothing; the latter costs a moment.
symfs_with other why --source "$SRC" "$BAD" >"$TMP/out" 2>&1 || fail "why"
grep -q 'last saw' "$TMP/out" && fail "a mount on another store: $(cat "$TMP/out")"
kill -STOP "$PID_m"
SYMFS_TEST_ASK_MS='' timeout 600 "$SYMFS" why --no-default-sources --cache "$TMP/store-m" --source "$SRC" "$BAD" \
  >"$TMP/out" 2>&1
stopped=$?
kill -CONT "$PID_m"
[ $stopped = 0 ] && grep -q '^   not asked' "$TMP/out" ||
  fail "why beside a stopped mount: exit $stopped: $(cat "$TMP/out")"
symfs_umount m

say "what is said of a file that is not there"
