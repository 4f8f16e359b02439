#!/bin/sh
# Compares the stacks of symfs symbolicate with those of gdb and eu-stack, on core files of many programs: threads,
# inlined calls, signal handlers, alternate stacks, recursion, callbacks, static and stripped programs, other unwind
# tables, Rust, Go. The programs are deleted before symfs runs; their files are in a source. Prints the differences by
# class; each must have an explanation.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/mount/lib.sh"
need gcc g++ gdb eu-stack objcopy strip readelf python3 ldd
agree=$(cd "$top_srcdir" && pwd)/tests/helpers/stacks-agree.py
cd "$TMP" || exit 1
mkdir src tree bin
cat >src/calls.cc <<'END'
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>
namespace shapes {
struct Shape { virtual ~Shape() {} virtual int area(int n) const = 0; };
template <typename T> struct Box : Shape {
  T side;
  explicit Box(T s) : side(s) { check(); }
  void check() const { if (side == 77) std::abort(); }
  int area(int n) const override;
};
static inline __attribute__((always_inline)) int square(int n) {
  if (n > 3)
    std::abort();
  return n * n;
}
template <typename T> __attribute__((noinline)) int Box<T>::area(int n) const { return square(n + side) + 1; }
}
struct Maker {
  int *at;
  __attribute__((noinline)) explicit Maker(int *to) : at(to) {
    std::function<int(int)> f = [this](int k) { shapes::Box<long> b(k); return b.area(*at) + 1; };
    *at = f(*at) + 1;
  }
};
static __attribute__((noinline)) int sorted(std::vector<int> &v) {
  std::sort(v.begin(), v.end(), [](int a, int b) { int k = a + b; Maker m(&k); return k < b; });
  return v[0];
}
int main(int n, char **) {
  std::vector<int> v{n + 8, n + 5, n + 2};
  return sorted(v);
}
END
cat >src/throws.cc <<'END'
#include <cstdlib>
#include <stdexcept>
static __attribute__((noinline)) int compare(const void *a, const void *b) {
  if (*static_cast<const int *>(a) > 2)
    throw std::runtime_error("no");
  return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}
static __attribute__((noinline)) int order(int *p, size_t n) noexcept {
  std::qsort(p, n, sizeof(*p), compare);
  return p[0];
}
int main(int n, char **) {
  int list[] = {n + 4, n + 3, n + 2, n + 1, n};
  return order(list, 5);
}
END
cat >src/threads.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t there;
static inline int wait_for(int n) {
  pthread_barrier_wait(&there);
  for (;;)
    n += pause();
}
static __attribute__((noinline)) int descend(int n, char *mark) {
  char room[64];
  room[n & 63] = *mark;
  return n ? descend(n - 1, room) + room[0] : wait_for(n);
}
static void *deep(void *x) { return (void *)(long)descend(40, x); }
static void *flat(void *x) { return (void *)(long)wait_for(x != NULL); }
static void *locked(void *x) {
  pthread_barrier_wait(&there);
  pthread_mutex_lock(&lock);
  return x;
}
static __attribute__((noinline)) int crash(volatile int *p) { return *p + 1; }
int main(int n, char **v) {
  pthread_t t;
  pthread_barrier_init(&there, NULL, 4);
  pthread_mutex_lock(&lock);
  pthread_create(&t, NULL, deep, v[0]);
  pthread_create(&t, NULL, flat, NULL);
  pthread_create(&t, NULL, locked, NULL);
  pthread_barrier_wait(&there);
  return crash((volatile int *)(long)(n - 1));
}
END
cat >src/signals.c <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) int recurse(int n, volatile int *p) { return n ? recurse(n - 1, p) + n : *p; }
static __attribute__((noinline)) void on_fault(int s) { abort(); }
static __attribute__((noinline)) void on_user(int s) {
  volatile int *none = (volatile int *)(long)(s - s);
  if (recurse(100, none))
    abort();
}
static inline __attribute__((always_inline)) void send(int n) { raise(n); }
static __attribute__((noinline)) int work(int n) {
  send(n ? SIGUSR1 : SIGUSR2);
  return n;
}
int main(int n, char **v) {
  stack_t ss = {.ss_size = 1 << 16};
  struct sigaction a = {.sa_handler = on_user}, b = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
  ss.ss_sp = malloc(ss.ss_size);
  sigaltstack(&ss, NULL);
  sigaction(SIGUSR1, &a, NULL);
  sigaction(SIGSEGV, &b, NULL);
  return work(n);
}
END

# put_libraries PROGRAM: the libraries and their debug files, into the source
put_libraries() {
  ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r lib; do
    id=$(build_id "$lib")
    rest=${id#??}
    debug=/usr/lib/debug/.build-id/${id%"$rest"}/$rest.debug
    [ -e "tree/$(gdb_path "$id")" ] || put_gdb tree "$lib"
    [ ! -e "$debug" ] || [ -e "tree/$(gdb_path "$id" .debug)" ] || cp "$debug" "tree/$(gdb_path "$id" .debug)"
  done
}

programs=0 frames=0
: >differences
# examine NAME: bin/NAME has debug information
examine() {
  case $1 in signals-*) fault="nostop noprint pass" ;; *) fault=stop ;; esac # that program handles it
  timeout 600 gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'handle SIGUSR1 nostop noprint pass' \
    -ex 'handle SIGURG nostop noprint pass' -ex "handle SIGSEGV $fault" -ex 'run </dev/null' \
    -ex "generate-core-file core" "bin/$1" >gdb.log 2>&1
  [ -s core ] || fail "$1: no core: $(cat gdb.log)"
  timeout 600 gdb -nx -q -batch -ex 'set debuginfod enabled off' -ex 'set backtrace past-main on' \
    -ex 'set backtrace past-entry on' -ex "source $agree" -c core "bin/$1" >gdb.out 2>gdb.log
  timeout 600 eu-stack --core=core -e "bin/$1" -i -s -n 0 >eu.out 2>eu.log
  put_libraries "bin/$1"
  objcopy --only-keep-debug "bin/$1" "bin/$1.debug" && strip "bin/$1" || fail "$1: strip"
  put_gdb tree "bin/$1.debug" .debug
  put_gdb tree "bin/$1"
  rm "bin/$1" "bin/$1.debug"
  timeout 300 "$SYMFS" symbolicate --json --demangle --no-default-sources --cache "$TMP/store" \
    --source "gdb@$TMP/tree" core >ours.json 2>ours.log ||
    fail "$1: $(cat ours.log)"
  python3 "$agree" ours.json gdb.out eu.out >result 2>&1 || fail "$1: $(cat result)"
  n=$(sed -n 's/^frames //p' result)
  [ "${n:-0}" -gt 6 ] || fail "$1: only ${n:-0} frames"
  sed '/^frames /d; /^$/d; s/$/ ['"$1"']/' result >>differences
  frames=$((frames + n)) programs=$((programs + 1))
  rm -f core
}

# build NAME COMPILER OPTIONS...: skips a program that this machine cannot build
build() {
  b_name=$1
  shift
  if "$@" -o "bin/$b_name" >build.log 2>&1; then
    examine "$b_name"
  else
    say "not built: $b_name: $(head -n 1 build.log)"
  fi
}
for source in calls.cc throws.cc threads.c signals.c; do
  case $source in *.cc) cc=g++ ;; *) cc=gcc ;; esac
  base=${source%.*}
  set -- "$PWD/src/$source" -g -Wl,--build-id=sha1 -pthread
  build "$base-O0" $cc "$@" -O0
  build "$base-O2" $cc "$@" -O2
  build "$base-O3-dwarf4" $cc "$@" -O3 -gdwarf-4
  build "$base-Os-gz" $cc "$@" -Os -gz=zlib
  build "$base-static" $cc "$@" -O2 -static
  build "$base-static-pie" $cc "$@" -O2 -static-pie
  build "$base-pointers" $cc "$@" -O1 -fno-omit-frame-pointer
  case $cc in gcc) build "$base-debug-frame" $cc "$@" -O2 -fno-asynchronous-unwind-tables ;; esac
  ! command -v clang >/dev/null || case $cc in
  gcc) build "$base-clang" clang "$@" -O2 ;;
  *) build "$base-clang" clang++ "$@" -O2 ;;
  esac
done
rust=
for r in rustc /usr/bin/rustc; do # a rustc of rustup may have no toolchain
  [ -n "$rust" ] || ! "$r" --version >/dev/null 2>&1 || rust=$r
done
if [ -n "$rust" ]; then
  cat >src/r.rs <<'END'
#[inline(always)]
fn inner(v: &Vec<u32>, n: usize) -> u32 { if n > 2 { std::process::abort() } else { v[n] } }
trait Shape { fn area(&self, v: &Vec<u32>) -> u32; }
struct Square(usize);
impl Shape for Square {
    #[inline(never)]
    fn area(&self, v: &Vec<u32>) -> u32 { inner(v, self.0) + 1 }
}
fn main() {
    let v: Vec<u32> = std::env::args().map(|a| a.len() as u32).collect();
    let s: Box<dyn Shape> = Box::new(Square(v.len() + 2));
    let total: u32 = (0..1).map(|_| s.area(&v)).sum();
    println!("{}", total);
}
END
  build rust-O0 "$rust" -g -C link-arg=-Wl,--build-id=sha1 src/r.rs
  build rust-O2 "$rust" -g -C opt-level=2 -C link-arg=-Wl,--build-id=sha1 src/r.rs
else
  say "not built: Rust: no rustc that works"
fi
if command -v go >/dev/null; then
  cat >src/g.go <<'END'
package main

import "os"

type shape interface{ area(n *int) int }
type square struct{ side int }

func twice(n *int) int { return *n * 2 }

//go:noinline
func (s square) area(n *int) int { return twice(n) + s.side }

//go:noinline
func work(s shape, depth int) int {
	if depth > 0 {
		return work(s, depth-1) + 1
	}
	return s.area(nil)
}

func main() {
	if work(square{len(os.Args)}, 5) == 0 {
		println("no")
	}
}
END
  export HOME="$TMP" GOCACHE="$TMP/go-cache" GO111MODULE=off CGO_ENABLED=0 GOTOOLCHAIN=local
  id=0x0123456789abcdef0123456789abcdef0000000
  build go-O0 sh -c "go build -gcflags 'all=-N -l' -ldflags '-B ${id}1' \"\$@\" src/g.go" go
  build go-O2 sh -c "go build -ldflags '-B ${id}2' \"\$@\" src/g.go" go
else
  say "not built: Go: no go"
fi

say "$programs programs, $frames frames compared, $(wc -l <differences) differences by class:"
sed 's/: gdb: .*//; s/: eu-stack: .*//' differences | sort | uniq -c | sort -rn
if grep -q '^unexplained' differences; then
  grep '^unexplained' differences | head -n 60
  fail "a difference has no explanation"
fi
[ $programs -ge 30 ] || fail "only $programs programs"
# The check can fail.
python3 - ours.json <<'END' || fail "cannot change the answer"
import json, sys
doc = json.load(open("ours.json"))
doc["answer"]["results"][0]["stacks"][0][0]["function"] = "another"
doc["answer"]["results"][0]["stacks"][0][0].pop("inlines", None)
json.dump(doc, open("changed.json", "w"))
END
python3 "$agree" changed.json gdb.out eu.out | grep -q '^unexplained\|another' || fail "a changed name is not seen"
exit 0
