#!/bin/sh
# symfs symbolicate --text with real reports of the sanitizers of gcc and clang: for addresses, leaks, threads,
# memory and undefined behaviour, of programs at any and at fixed addresses.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc
cd "$TMP" || exit 1
mkdir -p src bin
cat >src/bad.c <<'EOC'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static int shared;
static inline __attribute__((always_inline)) int inner(volatile int *p, int n) { return p[n]; }
__attribute__((noinline)) int deep(int n) { int *p = malloc(16), r = inner(p, n); free(p); return r; }
__attribute__((noinline)) int shift(int n) { return 1 << n; }
__attribute__((noinline)) void *lose(int n) { return malloc((size_t)n); }
__attribute__((noinline)) int unset(int *p) { if (*p == 5) abort(); return 7; }
static void *race(void *p) { shared++; return p; }
int main(int argc, char **argv)
{
	volatile int r = 0;
	char kind = argc > 1 ? argv[1][0] : 0;
	int *p = malloc(4);
	pthread_t t;
	if (kind == 'a') r = deep(4);
	if (kind == 'u') r = shift(argc + 30);
	if (kind == 'l') { void *volatile q = lose(100); q = NULL; r = q != NULL; }
	if (kind == 'm') r = unset(p);
	if (kind == 't') { pthread_create(&t, NULL, race, NULL); shared++; pthread_join(t, NULL); }
	free(p);
	return 0 * r;
}
EOC

# build COMPILER SANITIZER FLAGS...: to bin/bad. False: the compiler has no such sanitizer.
build() {
  b_cc=$1 b_san=$2
  shift 2
  (cd src && "$b_cc" -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=sha1 \
    -fsanitize="$b_san" "$@" -o ../bin/bad bad.c -lpthread) >build.log 2>&1
}
# report KIND [OPTIONS]: what the program prints. Only the options of this run count. No address is random: a
# ThreadSanitizer of clang 14 fails on some kernels' addresses.
report() {
  r_options=symbolize=${2:-0}:print_stacktrace=1:detect_leaks=${3:-0}:exitcode=0:abort_on_error=0
  timeout 600 setarch -R env ASAN_OPTIONS="$r_options" UBSAN_OPTIONS="$r_options" TSAN_OPTIONS="$r_options" \
    MSAN_OPTIONS="$r_options" LSAN_OPTIONS="$r_options" bin/bad "$1" 2>&1
}
symbolicated=0
# check LABEL KIND FUNCTION:LINE...: each of these frames is named.
check() {
  c_label=$1 c_kind=$2
  shift 2
  report "$c_kind" 0 "$([ "$c_kind" = l ] && echo 1 || echo 0)" >report.txt
  grep -q '^ *#[0-9]' report.txt || { say "$c_label: no stack here: $(head -n 1 report.txt)"; return 0; }
  "$SYMFS" symbolicate --text --offline --no-default-sources --cache store report.txt >report.out 2>command.log ||
    fail "$c_label: $(cat report.out)"
  [ "${SYMFS_SAMPLES:-}" != yes ] ||
    { say "=== $c_label, before"; cat report.txt; say "=== $c_label, after"; cat report.out; }
  for c_frame; do
    grep -q "^ *#[0-9]* .*${c_frame%:*} .*at $TMP/src/bad.c:${c_frame#*:}" report.out ||
      fail "$c_label: no $c_frame in $(cat report.out)"
  done
  # gcc 12 prints no build ids, so the file at the path counts, with a mark; clang prints them.
  c_with=$(grep -c 'bin/bad+0x[0-9a-f]*) (BuildId: ' report.txt)
  c_marked=$(grep 'src/bad.c:' report.out | grep -v '(inlined)' | grep -c '\[unverified\]$')
  if [ "$c_with" -gt 0 ]; then [ "$c_marked" = 0 ]; else [ "$c_marked" -gt 0 ]; fi ||
    fail "$c_label: marks: $(cat report.out)"
  symbolicated=$((symbolicated + 1))
}
for cc in gcc clang; do
  command -v "$cc" >/dev/null || { say "no $cc"; continue; }
  for place in "-pie -fPIE" "-no-pie -fno-pie"; do
    # shellcheck disable=SC2086
    if build "$cc" address $place; then
      check "$cc $place address" a inner:5 deep:6 main:17
      check "$cc $place leak" l lose:8 main:19
    else
      say "$cc: no AddressSanitizer"
    fi
    # shellcheck disable=SC2086
    build "$cc" undefined $place && check "$cc $place undefined" u shift:7 main:18
  done
  build "$cc" thread -pie -fPIE && check "$cc thread" t race:10 main:21
  build "$cc" memory -pie -fPIE && check "$cc memory" m unset:9 main:20
done
say "$symbolicated reports"
[ "$symbolicated" -gt 0 ] || skip "no sanitizer works here"
exit 0
