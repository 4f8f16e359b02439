#!/bin/sh
# A cold gdb start on a program with thirty libraries, where one server accepts no connection and
# one answers 503, in any order. They cost one deadline, and almost nothing afterwards.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gdb gcc objcopy strip readelf curl

# The first file that the good server has waits the grace for those before it, the first that it has
# not waits the deadline for the dead one. SLACK is what a machine with other work may add to so few
# milliseconds: 0 where the figures are wanted.
LIBRARIES=30 DEADLINE=3000 GRACE=300 SLACK=${SYMFS_SLACK_MS:-1200}
mkdir -p "$TMP/src" "$TMP/bin" "$TMP/www"
links=
for i in $(seq $LIBRARIES); do
  echo "int f$i(int n) { return n + $i; }" >"$TMP/src/l$i.c"
  gcc -g -O0 -fPIC -shared -Wl,--build-id=sha1 -o "$TMP/bin/libl$i.so" "$TMP/src/l$i.c" || fail gcc
  links="$links -ll$i"
done
{
  for i in $(seq $LIBRARIES); do echo "int f$i(int);"; done
  echo 'int main(void) { int n = 0;'
  for i in $(seq $LIBRARIES); do echo "n += f$i(n);"; done
  echo 'return n == 0; }'
} >"$TMP/src/main.c"
# shellcheck disable=SC2086
gcc -g -O0 -Wl,--build-id=sha1 -o "$TMP/bin/main" "$TMP/src/main.c" -L"$TMP/bin" $links -Wl,-rpath,"$TMP/bin" ||
  fail gcc
for f in "$TMP/bin"/*; do
  objcopy --only-keep-debug "$f" "$TMP/debug" && put_gdb "$TMP/www" "$TMP/debug" .debug && strip "$f" || fail objcopy
done

upstream_start dead --no-accept
upstream_start down --root "$TMP/www"
upstream_start good --root "$TMP/www"
upstream_fault "$URL_down" '/*' status 503

# ask MNT: sets took; every library's line must be told.
ask() {
  from=$(now_ms)
  timeout 300 gdb -nx -batch -iex 'set debuginfod enabled off' -iex "set debug-file-directory $1" \
    -ex 'break main' -ex run -ex 'info line f1' -ex "info line f$LIBRARIES" "$TMP/bin/main" >"$TMP/gdb.out" 2>&1
  took=$(($(now_ms) - from))
  grep -q 'Line 1 of "l1.c"' "$TMP/gdb.out" && grep -q "Line 1 of \"l$LIBRARIES.c\"" "$TMP/gdb.out" ||
    grep -Eq "Line 1 of \".*/l$LIBRARIES.c\"" "$TMP/gdb.out" || fail "gdb says $(cat "$TMP/gdb.out")"
}

limits="--lookup-deadline ${DEADLINE}ms --connect-timeout 60s --stall-timeout 60s"
runs=0
cold() { # NAME SOURCES...: a new store, and a mount on it
  runs=$((runs + 1))
  c_name=$1$runs
  shift
  c_args=
  for c_source; do c_args="$c_args --source gdb@$c_source"; done
  # shellcheck disable=SC2086
  symfs_mount "$c_name" $limits $c_args
  eval "c_mnt=\$MNT_$c_name"
}

# alone: sets least, of the good server alone, cold; of two, because the machine may be busy with other things.
alone() {
  least=999999
  for _ in 1 2; do
    cold alone "$URL_good"
    ask "$c_mnt"
    [ $took -ge $least ] || least=$took
    symfs_umount "$c_name"
  done
}
# within WORDS MORE: whether what was measured last is no more than 1.5 times that, and MORE.
within() {
  say "$io: $took ms $1; the good server alone takes $least ms"
  [ $took -le $((least * 3 / 2 + $2 + SLACK)) ]
}

# in_order NAME SOURCES...: the whole with its first deadline, and once more when that has passed; the best of
# five, each against what gdb takes by itself on a machine as busy as it is then.
in_order() {
  io=$1 whole=no after=no
  shift
  for _ in 1 2 3 4 5; do
    alone
    [ $whole = ok ] || {
      cold "$io" "$@"
      ask "$c_mnt"
      symfs_umount "$c_name"
      within "with its first deadline of $DEADLINE ms" $((DEADLINE + GRACE)) && whole=ok
    }
    [ $after = ok ] || {
      cold "$io" "$@"
      stat "$c_mnt/.build-id/ab/$(printf '%038d' 1).debug" >/dev/null 2>&1
      ask "$c_mnt"
      symfs_umount "$c_name"
      within "after it" 0 && after=ok
    }
    [ $whole$after != okok ] || return 0
  done
  fail "$io: whole: $whole, after the first deadline: $after"
}
in_order last "$URL_dead" "$URL_down" "$URL_good"
in_order first "$URL_good" "$URL_dead" "$URL_down"
in_order between "$URL_down" "$URL_good" "$URL_dead"
