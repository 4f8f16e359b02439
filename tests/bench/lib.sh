# Functions shared by the benchmarks, on top of tests/mount/lib.sh: a large file in a store and
# beside it, the measures of tests/bench/reads.c, and bounds.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

READS=$top_builddir/tests/bench/reads
missed=0
WAIT_MOST=1800

# big_file MIB: a file with a build id, in $TMP/store and, by another name of the same inode, in
# $TMP/plain. Sets BIG, its path in either and in a mount, BLOB, and LOCAL, the file system's type.
big_file() {
  need gcc readelf findmnt
  [ -x "$READS" ] || fail "$READS is not built: make bench"
  echo 'int f(int n) { return n + 1; }' >"$TMP/f.c"
  gcc -g -shared -fPIC -Wl,--build-id=sha1 -o "$TMP/big.debug" "$TMP/f.c" || fail gcc
  "$READS" make "$TMP/big.debug" "$1" || fail "make"
  BIG=gdb/$(gdb_path "$(build_id "$TMP/big.debug")" .debug)
  "$SYMFS" add --cache "$TMP/store" "$TMP/big.debug" >"$TMP/add.log" 2>&1 || fail "add"
  rm "$TMP/big.debug"
  BLOB=$(find "$TMP/store" -type f -size +$(($1 - 1))M | head -n 1)
  [ -n "$BLOB" ] || fail "no blob"
  mkdir -p "$TMP/plain/${BIG%/*}"
  ln "$BLOB" "$TMP/plain/$BIG" || fail "ln"
  LOCAL=$(findmnt -n -o FSTYPE -T "$TMP/plain")
  LOCAL=${LOCAL:-local} # unknown in a tree of its own
}

# measured MEASURE UNIT NAME=PATH...: runs it for $rounds rounds and prints what the places had.
measured() {
  m_name=$1 m_unit=$2
  shift 2
  "$READS" "$m_name" "$rounds" "$@" >"$TMP/reads.out" || fail "$m_name: wrong bytes, no number"
  awk -v name="$m_name" -v unit="$m_unit" '$1 == "value" { print name ", " $2 ": " $3 " " unit }' "$TMP/reads.out"
}

# ratio A B [LEAST]: of what was measured last.
ratio() {
  awk -v name="$m_name" -v a="$1" -v b="$2" -v bound="${3:-0}" '
    $1 == "ratio" && $2 == a && $3 == b {
      printf "%s, %s by %s: %s", name, a, b, $4
      if (bound) printf " (at least %s)", bound
      print ""
      exit bound && $4 < bound }' "$TMP/reads.out" || missed=$((missed + 1))
}

# at_most WHAT NUMBER UNIT [MOST]
at_most() {
  awk -v name="$1" -v value="$2" -v unit="$3" -v bound="${4:-0}" 'BEGIN {
    printf "%s: %s%s", name, value, unit == "" ? "" : " " unit
    if (bound) printf " (at most %s)", bound
    print ""
    exit bound && value + 0 > bound + 0 }' || missed=$((missed + 1))
}

divided() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b ? a / b : 0 }'; }

# median NUMBER...
median() { printf '%s\n' "$@" | sort -n |
  awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# tell NAME VALUE UNIT [BOUND]: a number, and how much of its bound it takes.
tell() {
  awk -v name="$1" -v value="$2" -v unit="$3" -v bound="${4:-0}" 'BEGIN {
    printf "%s: %s %s", name, value, unit
    if (bound) printf " (under %s: %.2f of it)", bound, value / bound
    print ""
    exit bound && value + 0 > bound + 0 }' || missed=$((missed + 1))
}

# The debug id of the nth module.
id_of() { printf '%032X0' $(($1 + 1)); }

# request JOBS STACKS FRAMES MODULES: stacks of random addresses up to $last, a hexadecimal number.
request() {
  awk -v jobs="$1" -v stacks="$2" -v frames="$3" -v modules="$4" -v most=$((0x$last)) 'BEGIN {
    srand(3)
    for (m = 0; m < modules; m++) map = map (m ? "," : "") sprintf("[\"m%d.so\",\"%032X0\"]", m, m + 1)
    printf "{\"jobs\":["
    for (j = 0; j < jobs; j++) {
      printf "%s{\"memoryMap\":[%s],\"stacks\":[", j ? "," : "", map
      for (s = 0; s < stacks; s++) {
        printf "%s[", s ? "," : ""
        for (f = 0; f < frames; f++)
          printf "%s[%d,%d]", f ? "," : "", int(rand() * modules), 4096 + int(rand() * (most - 4096))
        printf "]"
      }
      printf "]}"
    }
    printf "]}" }'
}

# newest NAME: the highest version of a tool that is installed.
newest() {
  for version in $(seq 30 -1 14); do
    command -v "$1-$version" && return
  done
  command -v "$1"
}

# The script names one version of clang.
make_pdb() { # DIR
  need python3
  clang=$(newest clang) && link=$(newest lld-link) || skip "no clang or no lld-link"
  mkdir -p "$TMP/bin" "$1"
  printf '#!/bin/sh\nexec %s "$@"\n' "$clang" >"$TMP/bin/clang-22"
  printf '#!/bin/sh\nexec %s "$@"\n' "$link" >"$TMP/bin/lld-link-22"
  chmod +x "$TMP/bin/clang-22" "$TMP/bin/lld-link-22"
  PATH=$TMP/bin:$PATH bash "$(realpath "$top_srcdir/../shared/tools/pdb/build/bigpdb.sh")" "$1" >"$TMP/make.log" \
    2>&1 || fail "bigpdb.sh"
}

# Four times as many modules: the object files of modules 100 to 159 again, under other names of the same length.
make_large_pdb() { # DIR
  mkdir -p "$1/large"
  python3 - "$1" <<'P' || fail "object files"
import os, re, sys
for n in range(60):
    text = open(os.path.join(sys.argv[1], 'obj/m1%02d.cpp.obj' % n), 'rb').read()
    for k in (b'2', b'3', b'4', b'5', b'6', b'7', b'8', b'9'):
        new = re.sub(rb'(mod|S)1(\d\d)(?=[^0-9])', lambda m: m.group(1) + k + m.group(2), text)
        new = new.replace(b'm1%02d.cpp' % n, b'm%s%02d.cpp' % (k, n))
        open(os.path.join(sys.argv[1], 'large/m%s%02d.obj' % (k.decode(), n)), 'wb').write(new)
P
  (cd "$1/large" && "$TMP/bin/lld-link-22" /nologo /brepro /debug /opt:noref,noicf /pdbaltpath:%_PDB% /nodefaultlib \
    /entry:mainCRTStartup /subsystem:console ./*.obj ../obj/*.obj /out:../big.exe) >"$TMP/make.log" 2>&1 ||
    fail "lld-link"
  rm -rf "$1/large"
}

# large_pdb: sets PDB, the one that BENCH_PDB names or one that is made: of about 60 MB, or of more than 250 MB with
# BENCH_PDB_LARGE=yes. BENCH_FIXTURES=DIR keeps it.
large_pdb() {
  PDB=${BENCH_PDB:-}
  if [ -z "$PDB" ]; then
    dir=${BENCH_FIXTURES:-$TMP}/pdb${BENCH_PDB_LARGE:+-large}
    PDB=$dir/big.pdb
    if [ ! -f "$PDB" ]; then
      make_pdb "$dir"
      [ -z "${BENCH_PDB_LARGE:-}" ] || make_large_pdb "$dir"
      rm -rf "$dir/obj"
    fi
  fi
}

# The last line of a benchmark.
bounds_kept() { [ "$missed" = 0 ] || [ "${BENCH_BOUNDS:-}" = no ] || fail "$missed bounds were missed"; }
