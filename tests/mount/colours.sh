#!/bin/sh
# Text on a terminal: columns and colours on a terminal that has colours; none with NO_COLOR, on a dumb
# terminal, or in a pipe.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need script
mkdir "$TMP/dir"
symfs_mount m --source "scan@$TMP/dir" --source gdb@http://127.0.0.1:1/
cat "$MNT_m/gdb/.build-id/aa/bbccdd.debug" 2>/dev/null && fail "a file that no source has"

on_terminal() { # VARIABLE=VALUE... -- COMMAND: its output on a terminal, in $TMP/out
  SHELL=/bin/sh script -qec "env $*" /dev/null </dev/null >"$TMP/out" 2>&1
}
escapes() { grep -c "$(printf '\033\[')" "$TMP/out"; }

for command in "status $MNT_m" "why $MNT_m/gdb/.build-id/aa/bbccdd.debug" "id $SYMFS" \
  "sources --no-default-sources --source $TMP/dir"; do
  on_terminal -u NO_COLOR TERM=xterm "$SYMFS" $command
  [ "$(escapes)" -gt 0 ] || fail "$command has no colour on a terminal: $(cat "$TMP/out")"
  on_terminal NO_COLOR=1 TERM=xterm "$SYMFS" $command
  [ "$(escapes)" = 0 ] || fail "$command has colours in spite of NO_COLOR: $(cat -v "$TMP/out")"
  on_terminal -u NO_COLOR TERM=dumb "$SYMFS" $command
  [ "$(escapes)" = 0 ] || fail "$command has colours on a dumb terminal: $(cat -v "$TMP/out")"
  env -u NO_COLOR TERM=xterm "$SYMFS" $command >"$TMP/out" 2>&1
  [ "$(escapes)" = 0 ] || fail "$command has colours in a pipe: $(cat -v "$TMP/out")"
done
# One screen, and the state of each source in its column.
on_terminal NO_COLOR=1 TERM=xterm "$SYMFS" status -v "$MNT_m"
[ "$(wc -l <"$TMP/out")" -le 24 ] || fail "status takes more than a screen: $(cat "$TMP/out")"
grep -q "^ 1\. scan@.* there, 0 artifacts" "$TMP/out" &&
  grep -q "^ 2\. gdb@http://127\.0\.0\.1:1/  *failing" "$TMP/out" ||
  fail "status does not list the sources: $(cat "$TMP/out")"
# why and id as well; the labels of why are a column, and so are those of id.
for command in "why $MNT_m/gdb/.build-id/aa/bbccdd.debug" "id $SYMFS"; do
  on_terminal NO_COLOR=1 TERM=xterm "$SYMFS" $command
  [ "$(wc -l <"$TMP/out")" -le 24 ] || fail "$command takes more than a screen: $(cat "$TMP/out")"
done
tail -n +2 "$TMP/out" | grep -vqE '^    [a-z]([a-z ]{10}[a-z ]) ?[^ ]' &&
  fail "id: a label that is not in its column: $(cat "$TMP/out")"
on_terminal NO_COLOR=1 TERM=xterm "$SYMFS" why "$MNT_m/gdb/.build-id/aa/bbccdd.debug"
for label in path key stored; do
  grep -qE "^$(printf '%-7s' $label) [^ ]" "$TMP/out" || fail "why: $label is not in its column: $(cat "$TMP/out")"
done
# A source has a state.
grep -qE '^ *(not asked|missing|failed|skipped)' "$TMP/out" || fail "why has no state of a source: $(cat "$TMP/out")"
# Sizes are for people on a terminal, and for programs in a pipe.
on_terminal NO_COLOR=1 TERM=xterm "$SYMFS" cache stats --no-default-sources --cache "$TMP/store-m"
grep -q '^quota        none' "$TMP/out" && grep -q '^min_free     536\.9 MB' "$TMP/out" ||
  fail "cache stats: $(cat "$TMP/out")"
"$SYMFS" cache stats --no-default-sources --cache "$TMP/store-m" | grep -qx 'min_free 536870912' ||
  fail "cache stats in a pipe"
symfs_umount m
