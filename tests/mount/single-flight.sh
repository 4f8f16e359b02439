#!/bin/sh
# Many readers of one cold file cause one download, in however many ranges. They are 64 processes
# through two mounts of one store, and `symfs get`, by the paths of several layouts. A stat followed
# by an open also causes one download, and so do a stat through one mount and an open through the
# other.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/mount/clients.sh"
need_mount
need gcc objcopy readelf curl cmp

# big N: the debug file of a new program, with 20 MB in it that nothing can make smaller; its id.
mkdir -p "$NEAR" "$FAR/gdb"
big() {
  echo "int main(void) { return $1; }" >"$NEAR/big$1.c"
  (cd "$NEAR" && gcc -g -Wl,--build-id=sha1 -o "big$1" "big$1.c") || fail "gcc"
  head -c 20000000 /dev/urandom >"$NEAR/noise"
  objcopy --only-keep-debug "$NEAR/big$1" "$NEAR/big$1.debug" &&
    objcopy --add-section .debug_noise="$NEAR/noise" "$NEAR/big$1.debug" || fail "objcopy"
  put_gdb "$FAR/gdb" "$NEAR/big$1.debug" .debug
}
gets() { upstream_count "$URL_up" get "$1"; }
# asked_bytes ID: how many bytes of the file were asked for, by the upstream's log. A transfer from the first byte to
# the last that is ended early counts up to the next range: more of it may lie in the buffers of its sockets.
asked_bytes() {
  awk -v id="$1" '
    index($2, id) && $1 == "GET" {
      split($5, ends, "-")
      if (ends[1] > 0) {
        sum += ends[2] + 1 - ends[1]
        if (!least || ends[1] < least) least = ends[1]
      } else
        sent[++n] = $4
    }
    END {
      for (i = 1; i <= n; i++) sum += least && least < sent[i] ? least : sent[i]
      print sum + 0
    }' "$TMP/up.requests"
}
one_get() {
  og_path="*$1*"
  wait_for idle || fail "$2: a transfer goes on"
  og_bytes=$(asked_bytes "$1")
  [ "$og_bytes" -ge 20000000 ] || fail "$2: only $og_bytes bytes"
  [ "$og_bytes" -le 20500000 ] || fail "$2: $og_bytes bytes: $(grep "$1" "$TMP/up.requests")"
  [ "$(gets "$og_path")" -le 8 ] || fail "$2: $(gets "$og_path") GETs"
  forget
}
idle() { [ "$(upstream_count "$URL_up" inflight "$og_path")" = 0 ]; }
forget() { upstream_reset "$URL_up" && : >"$TMP/up.requests"; }

for n in 1 2 3 4 5; do
  big $n
  eval "ID_$n=\$(build_id \"\$NEAR/big$n.debug\")"
done
# Some seconds for each download, so that all of them fall into it.
upstream_start up --root "$FAR/gdb" --rate 8000000 --log "$TMP/up.requests"
symfs_mount one --cache "$TMP/store" --source "gdb@$URL_up" --lookup-deadline 600s
symfs_mount two --cache "$TMP/store" --source "gdb@$URL_up" --lookup-deadline 600s

# at_once COMMAND...: in the background, when the gate opens; `yes` or `no` into $TMP/said.
mkfifo "$TMP/gate"
exec 9<>"$TMP/gate"
workers=
n_workers=0
at_once() {
  (
    exec 8<"$TMP/gate" 9>&-
    echo x >>"$TMP/waiting"
    read -r _ <&8
    exec 8<&-
    if "$@"; then echo yes >>"$TMP/said"; else echo "no: $*" >>"$TMP/said"; fi
  ) &
  workers="$workers $!"
  PIDS="$PIDS $!"
  n_workers=$((n_workers + 1))
}
all_wait() { [ "$(wc -l <"$TMP/waiting")" = "$n_workers" ]; }
get_it() {
  gi_file=$("$SYMFS" get --no-default-sources --cache "$TMP/store" --source "gdb@$URL_up" --lookup-deadline 600s \
    "$1" 2>>"$TMP/get.log") &&
    cmp -s "$2" "$gi_file"
}

path=$(gdb_path "$ID_1" .debug)
want=$NEAR/big1.debug
for i in $(seq 1 15); do
  at_once cmp -s "$want" "$MNT_one/gdb/$path"
  at_once cmp -s "$want" "$MNT_two/$path"
  at_once cmp -s "$want" "$MNT_one/debuginfod/buildid/$ID_1/debuginfo"
  at_once cmp -s "$want" "$MNT_two/symstore/_.debug/elf-buildid-sym-$ID_1/_.debug"
done
for i in 1 2; do
  at_once get_it "gdb/$path" "$want"
  at_once get_it "debuginfod/buildid/$ID_1/debuginfo" "$want"
done
wait_for all_wait || fail "the processes did not start"
exec 9>&-
for w in $workers; do
  wait "$w"
done
[ "$n_workers" = 64 ] || fail "$n_workers processes"
grep '^no' "$TMP/said" && fail "not all read the same bytes"
[ "$(grep -c '^yes$' "$TMP/said")" = 64 ] || fail "$(wc -l <"$TMP/said") of 64 ended"
one_get "${ID_1#??}" "64 processes"

# Looking at a file, then opening it.
path=$(gdb_path "$ID_2" .debug)
[ -f "$MNT_one/gdb/$path" ] || fail "stat"
[ -r "$MNT_one/gdb/$path" ] || fail "access"
same_file "$NEAR/big2.debug" "$MNT_one/gdb/$path"
one_get "${ID_2#??}" "stat, then open"

# The one that looked has the transfer; another process opens.
path=$(gdb_path "$ID_3" .debug)
[ -f "$MNT_one/gdb/$path" ] || fail "stat"
same_file "$NEAR/big3.debug" "$MNT_two/gdb/$path"
one_get "${ID_3#??}" "stat here, open there"

# The same with `symfs get` as the other.
path=$(gdb_path "$ID_4" .debug)
[ -f "$MNT_one/gdb/$path" ] || fail "stat"
get_it "gdb/$path" "$NEAR/big4.debug" || fail "get"
one_get "${ID_4#??}" "stat here, get there"

# And when the reader goes on where the looker's process is killed.
path=$(gdb_path "$ID_5" .debug)
[ -f "$MNT_two/gdb/$path" ] || fail "stat"
kill -KILL "$PID_two"
wait_gone "$PID_two" || fail "kill"
same_file "$NEAR/big5.debug" "$MNT_one/gdb/$path"
[ "$(gets "*${ID_5#??}*")" -le 8 ] || fail "after a kill: $(gets "*${ID_5#??}*") GETs"
umount -l "$MNT_two"

# Nothing of it needs a server any more.
forget
for n in 1 2 3 4 5; do
  eval "id=\$ID_$n"
  same_file "$NEAR/big$n.debug" "$MNT_one/debuginfod/buildid/$id/debuginfo"
done
[ "$(upstream_count "$URL_up" requests)" = 0 ] || fail "a whole file was asked for again"

# The count is one that can be two: a store of its own asks by itself.
"$SYMFS" get --no-default-sources --cache "$TMP/other" --source "gdb@$URL_up" "gdb/$path" >/dev/null || fail "get"
one_get "${ID_5#??}" "another store"
symfs_umount one
