#!/bin/sh
# Checks tests/helpers/bounded, which runs every test: it ends a test that hangs, and no process
# that a test started outlives the test.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
bounded=${top_builddir:-.}/tests/helpers/bounded
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# ends STATUS TEXT COMMAND...: its exit status and a part of its output. It would never end, if a process that the
# command left behind held the pipe.
ends() {
  e_status=$1 e_text=$2
  shift 2
  { "$@"; echo "status $?"; } 2>&1 | cat >"$log"
  grep -qx "status $e_status" "$log" || { echo "FAIL: $*: not $e_status:"; cat "$log"; exit 1; }
  grep -q "$e_text" "$log" || { echo "FAIL: $*: does not say '$e_text':"; cat "$log"; exit 1; }
}

ends 7 '^status' "$bounded" 60 sh -c 'exit 7'
ends 143 '^status' "$bounded" 60 sh -c 'kill -TERM $$'
ends 125 'No such file' "$bounded" 60 /nonexistent/test
ends 125 usage "$bounded" soon true
ends 124 'not over after 1,1 s' "$bounded" 1,1 sleep 1000
ends 124 'not over' "$bounded" 1,1 sh -c 'trap "" TERM; while :; do sleep 1; done'
ends 0 'these have not' "$bounded" 60,1 setsid sh -c 'setsid sleep 1000 & exit 0'
ends 124 cleaned "$bounded" 1,5 sh -c 'trap "echo cleaned; exit 0" TERM; while :; do sleep 1; done'
ends 77 '^SKIP: left out' env BOUNDED_UNTIL=1 "$bounded" 60 sh tests/never.sh
ends 0 '^1..0 # SKIP left out' env BOUNDED_UNTIL=1 "$bounded" 60 unit/never
echo "10 ways to end, each of them does"
