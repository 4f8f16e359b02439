#!/bin/sh
# Compares gdb on a core through symfs with gdb's own debuginfod client. The core is of a program
# with 30 libraries. Only a debuginfod server has their debug files. It takes 20 ms for an answer,
# sends 50 MB/s, and supports neither HEAD nor ranges, like the stock server. The benchmark times
# how long gdb takes to print a line of each library: with nothing stored, after `symfs warm`, and
# with everything stored. The two take turns in each round, each with a fresh store. BENCH_ROUNDS is
# the number of rounds (5).
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
. "$top_srcdir/tests/bench/lib.sh"
need_mount
need gdb g++ objcopy strip readelf curl
[ -x "$UPSTREAM" ] || fail "$UPSTREAM is not built: make bench"
[ -x /usr/bin/time ] || skip "no /usr/bin/time"
gdb -nx -batch -ex 'show debuginfod enabled' 2>&1 | grep -q 'Debuginfod functionality' ||
  skip "this gdb has no debuginfod client"
LIBRARIES=30 rounds=${BENCH_ROUNDS:-5}

# ---- the program, its core, and the server ----------------------------------------------------
mkdir -p "$TMP/src" "$TMP/bin" "$TMP/www/buildid"
cat >"$TMP/src/much.cc" <<'C'
#include <map>
#include <string>
#include <vector>
static int much(const std::string &s) {
  std::map<std::string, std::vector<int>> m; m[s].push_back(1); return m.size() + s.size();
}
int NAME(int n) { return n + (n > 1000 ? much("abcd") : 1); }
C
links=
for i in $(seq $LIBRARIES); do
  # The same debug information under a name and a build id of its own.
  [ "$i" = 1 ] && { g++ -g -O0 -fPIC -fvisibility=hidden -DNAME=common -c -o "$TMP/src/much.o" "$TMP/src/much.cc" ||
    fail "g++"; }
  printf '%s\n' 'int common(int n);' 'extern "C" __attribute__((visibility("default")))' \
    "int f$i(int n) { return common(n) + $i; }" >"$TMP/src/l$i.cc"
  g++ -g -O0 -fPIC -fvisibility=hidden -shared -Wl,--build-id=sha1 -o "$TMP/bin/libl$i.so" "$TMP/src/l$i.cc" \
    "$TMP/src/much.o" || fail "g++"
  links="$links -ll$i"
done
{
  echo '#include <stdlib.h>'
  for i in $(seq $LIBRARIES); do echo "int f$i(int);"; done
  echo 'int main(void) { int n = 0;'
  for i in $(seq $LIBRARIES); do echo "n += f$i(n);"; done
  echo 'if (n) abort(); return 0; }'
} >"$TMP/src/main.c"
# shellcheck disable=SC2086
gcc -g -O0 -Wl,--build-id=sha1 -o "$TMP/bin/main" "$TMP/src/main.c" -L"$TMP/bin" $links -Wl,-rpath,"$TMP/bin" ||
  fail gcc
bytes=0
for f in "$TMP/bin"/*; do
  dir=$TMP/www/buildid/$(build_id "$f")
  mkdir "$dir" && objcopy --only-keep-debug "$f" "$dir/debuginfo" && strip "$f" && cp "$f" "$dir/executable" ||
    fail objcopy
  bytes=$((bytes + $(stat -c %s "$dir/debuginfo")))
done
timeout 120 gdb -nx -batch -iex 'set debuginfod enabled off' -ex run -ex "generate-core-file $TMP/core" \
  "$TMP/bin/main" >"$TMP/core.out" 2>&1
[ -s "$TMP/core" ] || skip "gdb cannot run a program here"
upstream_start far --root "$TMP/www" --delay 20 --rate 50000000 --no-range --no-head

# ---- what is timed ---------------------------------------------------------------------------
asks=$(for i in $(seq $LIBRARIES); do printf ' -ex "info line f%s"' "$i"; done)
# gdb_asks FROM...: gdb's words in front; sets took (ms) and cpu (s). A missing line is a failure.
gdb_asks() {
  began=$(now_ms)
  eval /usr/bin/time -o "'$TMP/time'" -f '%U' timeout 300 gdb -nx -batch '"$@"' "$asks" \
    "'$TMP/bin/main' '$TMP/core'" >"$TMP/gdb.out" 2>"$TMP/gdb.err"
  took=$(($(now_ms) - began)) cpu=$(tail -n 1 "$TMP/time")
  for ga in $(seq $LIBRARIES); do
    grep -Eq "^Line 3 of \".*l$ga.cc\"" "$TMP/gdb.out" ||
      fail "gdb does not know f$ga: $(tail -n 3 "$TMP/gdb.out" "$TMP/gdb.err")"
  done
}
by_client() { DEBUGINFOD_URLS=$URL_far DEBUGINFOD_CACHE_PATH=$1 gdb_asks -iex 'set debuginfod enabled on'; }
by_symfs() { gdb_asks -iex 'set debuginfod enabled off' -iex "set debug-file-directory $1"; }
wire() { upstream_count "$URL_far" bytes; }

say "$LIBRARIES libraries, $((bytes / 1000000)) MB of debug files"
client_cold='' symfs_cold='' warm_all='' symfs_full='' client_full='' r_cold='' r_warm='' r_full=''
for round in $(seq "$rounds"); do
  upstream_reset "$URL_far"
  by_client "$TMP/client-$round"
  client=$took client_cold="$client_cold $took" client_cpu=$cpu client_bytes=$(wire)
  by_client "$TMP/client-$round"
  full=$took client_full="$client_full $took"

  symfs_mount "cold$round" --source "debuginfod@$URL_far"
  eval "mnt=\$MNT_cold$round"
  upstream_reset "$URL_far"
  by_symfs "$mnt"
  symfs_cold="$symfs_cold $took" symfs_cpu=$cpu symfs_bytes=$(wire) r_cold="$r_cold $(divided "$took" "$client")"
  symfs_umount "cold$round"

  symfs_mount "warm$round" --source "debuginfod@$URL_far"
  eval "mnt=\$MNT_warm$round"
  began=$(now_ms)
  "$SYMFS" warm --no-default-sources --cache "$TMP/store-warm$round" --source "debuginfod@$URL_far" "$TMP/core" \
    >"$TMP/warm.out" 2>&1
  warmed=$(($(now_ms) - began))
  # The server has no files of libraries of this machine, such as libc.
  [ "$(grep -c "^$TMP/bin/.*elf_debug [0-9]" "$TMP/warm.out")" = $((LIBRARIES + 1)) ] ||
    fail "warm: $(cat "$TMP/warm.out")"
  by_symfs "$mnt"
  warm_all="$warm_all $((warmed + took))" symfs_full="$symfs_full $took"
  r_warm="$r_warm $(divided $((warmed + took)) "$client")" r_full="$r_full $(divided "$took" "$full")"
  symfs_umount "warm$round"
  rm -rf "$TMP/client-$round" "$TMP/store-warm$round" "$TMP/store-cold$round"
done
# shellcheck disable=SC2086
{
  at_most "gdb's own client, cold" "$(median $client_cold)" ms
  at_most "symfs, cold" "$(median $symfs_cold)" ms
  at_most "symfs warm and gdb together" "$(median $warm_all)" ms
  at_most "gdb's own client, all cached" "$(median $client_full)" ms
  at_most "symfs, after warm" "$(median $symfs_full)" ms
  at_most "processor time of gdb, cold, its client" "$client_cpu" s
  at_most "processor time of gdb, cold, symfs" "$symfs_cpu" s
  at_most "bytes, its client" "$client_bytes" bytes
  at_most "bytes, symfs" "$symfs_bytes" bytes
  at_most "cold, symfs by gdb's client" "$(median $r_cold)" "" 1.0
  at_most "symfs warm and gdb together, by gdb's client cold" "$(median $r_warm)" "" 0.7
  at_most "after warm, symfs by gdb's client with all cached" "$(median $r_full)" "" 1.1
}
bounds_kept
