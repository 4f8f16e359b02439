# What the tests with real debuggers share, on top of lib.sh: a stripped program and its library
# whose debug files lie only on servers, and words that look at what a debugger printed.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

FAR=$TMP/far      # what the servers have: files/ for debuginfod, gdb/.build-id/ for nginx
NEAR=$TMP/near    # what the user has: bin/ with stripped programs (and src/ that they came from)

# far_put STRIPPED DEBUGFILE: both onto the servers.
far_put() {
  mkdir -p "$FAR/files"
  cp "$1" "$2" "$FAR/files" || fail "cp"
  put_gdb "$FAR/gdb" "$1"
  put_gdb "$FAR/gdb" "$2" .debug
}

# far_program: $NEAR/bin/{prog,libprog.so} without a symbol, and nothing else of them nearby. Its
# lines: lib deeper 3, prog_entry 4; prog work 2, main 4.
far_program() {
  make_program "$NEAR" prog
  PROG=$NEAR/bin/prog
  PROG_ID=$(build_id "$PROG") LIB_ID=$(build_id "$NEAR/bin/libprog.so")
  PROG_MAIN=0x$(nm "$NEAR/full/prog" | sed -n 's/ T main$//p')
  LIB_ENTRY=0x$(nm "$NEAR/full/libprog.so" | sed -n 's/ T prog_entry$//p')
  for fp in prog libprog.so; do
    far_put "$NEAR/bin/$fp" "$NEAR/debug/$fp.debug"
  done
  rm -r "$NEAR/full" "$NEAR/debug"
}

# far_core FILE: a core of the program, which three arguments make it dump. The kernel's own core
# may go anywhere, so gdb writes this one.
far_core() {
  command -v gdb >/dev/null || skip "gdb, which writes the core, is not installed"
  timeout 120 gdb -nx -batch -ex 'set debuginfod enabled off' -ex run -ex "generate-core-file $1" \
    --args "$PROG" a b >"$TMP/core.log" 2>&1
  [ -s "$1" ] || skip "gdb cannot run a program here: $(tail -n 1 "$TMP/core.log")"
}

# far_mounts [SERVER...]: the mounts `debuginfod`, `nginx` (those that are named), and `empty`,
# which has no source at all.
far_mounts() {
  for fm in "$@"; do
    if [ "$fm" = nginx ]; then
      nginx_start http "$FAR/gdb"
      symfs_mount nginx --source "gdb@$URL_http"
    else
      debuginfod_start stock "$FAR/files"
      # A question that comes too early would be answered with a miss.
      for fm_file in "$FAR"/files/*.debug; do
        wait_for 60 fetch_url -f -o /dev/null "$URL_stock/buildid/$(build_id "$fm_file")/debuginfo" ||
          fail "debuginfod did not find $fm_file"
        fm_id=$(build_id "${fm_file%.debug}")
        wait_for 60 fetch_url -f -o /dev/null "$URL_stock/buildid/$fm_id/executable" || fail "debuginfod did not find $fm_id"
      done
      symfs_mount debuginfod --source "debuginfod@$URL_stock"
    fi
  done
  symfs_mount empty
}

# expect WHAT TEXT REGEX..., refuse WHAT TEXT REGEX...: each matches a line of TEXT, or none does.
expect() {
  ex_what=$1 ex_text=$2
  shift 2
  for ex_re; do
    printf '%s\n' "$ex_text" | grep -qE -- "$ex_re" || fail "$ex_what: no line matches: $ex_re
$ex_text"
  done
}
refuse() {
  re_what=$1 re_text=$2
  shift 2
  for re_re; do
    printf '%s\n' "$re_text" | grep -qE -- "$re_re" && fail "$re_what: a line matches: $re_re
$re_text"
  done
  return 0
}

# first_of PROGRAM...: the first that is installed, in its versions from new to old.
first_of() {
  for fo in "$@"; do
    for fo_v in '' -22 -21 -20 -19 -18 -17 -16 -15 -14 -13; do
      command -v "$fo$fo_v" && return 0
    done
  done
  return 1
}
