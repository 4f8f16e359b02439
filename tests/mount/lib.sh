# Shared code of the mount tests. A test begins with:
#
#   . "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
#
# and then has $TMP (removed afterwards), $SYMFS, and the functions below. When the test exits or
# fails, everything that it started or mounted is ended. No test waits for a fixed time: wait_for
# waits for a condition.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

top_srcdir=${top_srcdir:-$(dirname "$0")/../..}
top_builddir=${top_builddir:-$PWD}
SYMFS=$top_builddir/symfs
UPSTREAM=$top_builddir/tests/helpers/upstream
LC_ALL=C
export LC_ALL

# Some tests have other users read their files. The path of a socket has at most 107 bytes.
umask 022
BASE=${TMPDIR:-/tmp}
[ ${#BASE} -le 50 ] || BASE=/tmp
TMP=$(mktemp -d "$BASE/symfs-test.XXXXXX") || exit 1
PIDS=
MOUNTS=
# Clients that Debian does not package: see scripts/setup.
TOOLS=${SYMFS_TEST_TOOLS:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/symfs-test-tools}
# The tests neither see nor change the files of the person that runs them.
HOME=$TMP/home XDG_CACHE_HOME=$TMP/home/cache XDG_CONFIG_HOME=$TMP/home/config
mkdir -p "$XDG_CACHE_HOME" "$XDG_CONFIG_HOME/symfs"
# No deadline expires on a busy machine. A test that waits for the end of one sets it itself.
PATIENT='--lookup-deadline 100s --connect-timeout 100s --stall-timeout 100s'
DEADLINES=$XDG_CONFIG_HOME/symfs/symfs.conf
printf '[symfs]\nlookup-deadline = 100s\nconnect-timeout = 100s\nstall-timeout = 100s\n' >"$DEADLINES"
# Commands wait as long for the answer of a mount or of a directory, and processes for the heartbeat of a leader.
SYMFS_TEST_ASK_MS=100000 SYMFS_TEST_SILENCE_MS=100000
export HOME XDG_CACHE_HOME XDG_CONFIG_HOME SYMFS_TEST_ASK_MS SYMFS_TEST_SILENCE_MS
unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH DEBUGINFOD_TIMEOUT DEBUGINFOD_MAXSIZE DEBUGINFOD_HEADERS_FILE \
  _NT_SYMBOL_PATH _NT_ALT_SYMBOL_PATH CACHE_DIRECTORY NOTIFY_SOCKET
# Leak checks count, also when a test ends the daemon on purpose. In scripts/check undefined behavior is SIGILL.
ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:exitcode=99:handle_sigill=1}
UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export ASAN_OPTIONS UBSAN_OPTIONS

say() { printf '%s\n' "$*"; }

fail() {
  say "FAIL: $*"
  echo "$*" >"$TMP/failed" # also in a subshell, as each part of a pipe is; its output may go nowhere
  for log in "$TMP"/*.log; do
    [ -s "$log" ] && { say "--- $(basename "$log")"; tail -n 25 "$log"; }
  done
  exit 1
}

skip() { say "SKIP: $*"; exit 77; }
# A test that could run, but not all of it: scripts/summary lists what it could not prove.
part_skipped() { say "part skipped: $*"; }

# By the mount table alone: the daemon may be gone.
is_mounted() { awk -v m="$1" '$5 == m { found = 1 } END { exit !found }' /proc/self/mountinfo; }

# Whether this test still owns the process: the shell may have reaped it while it waited for another, and
# the kernel may have given its number to another process.
is_ours() {
  grep -q "^PPid:[[:space:]]*$$\$" "/proc/$1/status" || grep -qF "$TMP" "/proc/$1/cmdline"
} 2>/dev/null

cleanup() {
  status=$?
  trap - EXIT INT TERM HUP
  for m in $MOUNTS; do
    while is_mounted "$m" && umount -l "$m"; do :; done
  done
  for p in $PIDS; do
    is_ours "$p" || continue
    kill -CONT "$p" 2>/dev/null
    kill "$p" 2>/dev/null
  done
  WAIT_MOST=20
  for p in $PIDS; do
    is_ours "$p" || continue
    wait_gone "$p" || kill -KILL "$p" 2>/dev/null
  done
  [ ! -e "$TMP/failed" ] || say "the test failed by: $(cat "$TMP/failed")"
  [ "$status" != 0 ] || [ ! -e "$TMP/failed" ] || status=1
  # A report of a sanitizer is a failure, whatever the result of the test.
  if grep -lE 'ERROR: (Address|Leak)Sanitizer|runtime error:|WARNING: ThreadSanitizer' "$TMP"/*.log >/dev/null \
    2>&1; then
    say "a sanitizer complained:"
    grep -hE -A 12 'ERROR: (Address|Leak)Sanitizer|runtime error:|WARNING: ThreadSanitizer' "$TMP"/*.log | head -n 60
    [ "$status" = 0 ] && status=1
  fi
  rm -rf --one-file-system "$TMP"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP PIPE

# wait_for COMMAND...: until it succeeds. 1 after at least WAIT_MOST seconds: the test hangs, and the caller reports
# for what it waited. No test depends on this bound: a loaded machine only makes the wait longer.
WAIT_MOST=300
wait_for() {
  wf_looks=0
  until "$@" >/dev/null 2>&1; do
    wf_looks=$((wf_looks + 1))
    [ $wf_looks -gt 40 ] || { nap; continue; }
    # Each look starts processes: after two seconds the looks are fewer, five a second.
    [ $wf_looks -lt $((5 * WAIT_MOST + 40)) ] || return 1
    command sleep 0.2
  done
}

# The pause between two looks at a condition.
nap() { read -r _ </dev/null; command sleep 0.05; }

# init may reap the process between the two looks: then the file with its state is not there.
gone() {
  kill -0 "$1" 2>/dev/null || return 0
  case $(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) in Z | X | '') ;; *) return 1 ;; esac
}
wait_gone() { wait_for gone "$1"; }

# exchange ONE TWO: the two paths change places in one step, so that no daemon makes a directory between two renames.
# It needs python3.
exchange() {
  python3 -c 'import ctypes, os, sys
AT_FDCWD, RENAME_EXCHANGE = -100, 2
one, two = map(os.fsencode, sys.argv[1:])
sys.exit(ctypes.CDLL(None).renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE) != 0)' "$1" "$2" ||
    fail "$1 and $2 are not exchanged"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

need() {
  for program; do
    command -v "$program" >/dev/null 2>&1 || skip "$program is not installed"
  done
}

need_mount() {
  [ -x "$SYMFS" ] || fail "$SYMFS is not built"
  [ -c /dev/fuse ] || skip "no /dev/fuse"
  [ "$(id -u)" = 0 ] || command -v fusermount3 >/dev/null || skip "neither root nor fusermount3"
  (exec 3<>/dev/fuse) 2>/dev/null || skip "/dev/fuse cannot be opened"
}

# upstream_start NAME [ARGS...]: tests/helpers/upstream, a server that injects faults; sets URL_NAME and PID_NAME.
upstream_start() {
  us_name=$1
  shift
  rm -f "$TMP/$us_name.out" # of one before it: it also says "listening on"
  "$UPSTREAM" "$@" >"$TMP/$us_name.out" 2>"$TMP/$us_name.log" &
  us_pid=$!
  PIDS="$PIDS $us_pid"
  wait_for grep -q 'listening on' "$TMP/$us_name.out" || fail "upstream $us_name did not start"
  us_url=$(sed -n 's/^listening on //p' "$TMP/$us_name.out" | head -n 1)
  eval "URL_$us_name=\$us_url PID_$us_name=\$us_pid"
}

fetch_url() { curl -gsS --noproxy '*' --max-time "$WAIT_MOST" "$@"; }

# ask WANTED-STATUS PATH [CURL-ARGS...]: a request to the server $U; body in $TMP/body, head in $TMP/head.
ask() {
  ask_want=$1 ask_path=$2
  shift 2
  : >"$TMP/body"
  ask_got=$(fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$U$ask_path") ||
    fail "curl $ask_path $*: $?"
  [ "$ask_got" = "$ask_want" ] || fail "$ask_path $*: $ask_got, wanted $ask_want: $(head -c 400 "$TMP/body")"
}
# says PATTERN: of the body of the last ask.
says() { grep -q -- "$1" "$TMP/body" || fail "$ask_path: not \"$1\" but $(head -c 400 "$TMP/body")"; }

# upstream_count URL NAME [PATH]: one number of its /_control/count: get, head, bytes, ...
upstream_count() {
  fetch_url "$1/_control/count${3:+?path=$3}" | sed -n "s/^$2 //p"
}

# upstream_fault URL PATHGLOB KIND [ARG] [TIMES [ranges|wholes|"" [HOLD]]]
upstream_fault() {
  fetch_url -G "$1/_control/fault" --data-urlencode "path=$2" --data-urlencode "kind=$3" \
    --data-urlencode "arg=${4:-}" --data-urlencode "times=${5:-0}" \
    --data-urlencode "only=${6:-}" --data-urlencode "hold=${7:-}" >/dev/null || fail "fault $3"
}
# upstream_hold URL PATHGLOB BYTES: answers stop before that byte (0: before the head) until upstream_go URL.
upstream_hold() { upstream_fault "$1" "$2" none '' 0 '' "$3"; }
upstream_go() { fetch_url "$1/_control/go" >/dev/null; }
# upstream_holds URL NUMBER: so many answers stop there now.
upstream_holds() { [ "$(upstream_count "$1" held)" = "$2" ]; }
# upstream_steps URL NUMBER: waits until so many answers stop there, and continues them; later ones stop, too.
upstream_steps() {
  wait_for upstream_holds "$1" "$2" || fail "not $2 requests at once, but $(upstream_count "$1" held)"
  fetch_url "$1/_control/step" >/dev/null
}
upstream_clear() { fetch_url "$1/_control/clear" >/dev/null; }
upstream_reset() { fetch_url "$1/_control/reset" >/dev/null; }

# A port that was free a moment ago, outside the range from which the kernel assigns ports. Another test may
# take it at the same time: the caller checks with listens_on, and tries another port if need be.
free_port() {
  fp_top=$(sed 's/[[:space:]].*//' /proc/sys/net/ipv4/ip_local_port_range 2>/dev/null)
  [ "${fp_top:-0}" -gt 12000 ] || fp_top=32768
  echo $((10000 + $(od -An -N4 -tu4 /dev/urandom) % (fp_top - 10000)))
}

# listens_on PID PORT: a connection to 127.0.0.1:PORT reaches this process, and not that of another test.
listens_on() {
  lo_socket=$(awk -v port="$(printf ':%04X' "$2")" '
    $4 != "0A" || substr($2, length($2) - 4) != port { next }
    {
      # The most precise address gets what comes.
      rank = $2 ~ /^0100007F:/ ? 1 : $2 ~ /^0+:/ || $2 ~ /^0+FFFF00000100007F:/ ? 2 : 0
      if (rank && (!best || rank < best)) { best = rank; socket = $10 }
    }
    END { print socket }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
  [ -n "$lo_socket" ] && [ -n "$(find "/proc/$1/fd" -lname "socket:\\[$lo_socket\\]" 2>/dev/null)" ]
}
# listens_or_gone PID PORT...: on all of them, or never.
listens_or_gone() {
  lg_pid=$1
  shift
  gone "$lg_pid" && return
  for lg_port; do listens_on "$lg_pid" "$lg_port" || return; done
}

# debuginfod_start NAME DIR [OPTIONS]: a stock debuginfod that scans DIR, for files without OPTIONS; sets URL_NAME.
debuginfod_start() {
  for _ in 1 2 3 4 5; do
    ds_port=$(free_port)
    # shellcheck disable=SC2086
    (cd "$TMP" && exec env -u DEBUGINFOD_URLS debuginfod ${3:--F} -p "$ds_port" -d "$TMP/$1.sqlite" -t 0 -g 0 "$2") \
      >"$TMP/$1.log" 2>&1 &
    ds_pid=$!
    PIDS="$PIDS $ds_pid"
    wait_for listens_or_gone "$ds_pid" "$ds_port"
    gone "$ds_pid" || break
  done
  ! gone "$ds_pid" && wait_for debuginfod_ready "$ds_port" || fail "debuginfod did not start"
  eval "URL_$1=http://127.0.0.1:$ds_port PID_$1=$ds_pid"
}
# The server has walked the directory, and scanned every file.
debuginfod_ready() {
  fetch_url "http://127.0.0.1:$1/metrics" | awk '
    { number[$1] = $2 }
    END { exit !(number["thread_work_total{role=\"traverse\"}"] &&
      number["thread_work_total{role=\"scan\"}"] + 0 >= number["traversed_total{type=\"file\"}"] + 0) }'
}

# nginx_start NAME ROOT [SERVER-LINES [HTTP-LINES]]: plain files, unless the lines of its configuration
# say more; sets URL_NAME.
nginx_start() {
  mkdir -p "$TMP/nginx-$1"
  for _ in 1 2 3 4 5; do
    ns_port=$(free_port)
    cat >"$TMP/nginx-$1/conf" <<EOF
daemon off; master_process off; pid $TMP/nginx-$1/pid; error_log stderr notice;
events { worker_connections 256; }
http { access_log $TMP/nginx-$1/access.log; default_type application/octet-stream;
  client_body_temp_path $TMP/nginx-$1/t1; proxy_temp_path $TMP/nginx-$1/t2; fastcgi_temp_path $TMP/nginx-$1/t3;
  uwsgi_temp_path $TMP/nginx-$1/t4; scgi_temp_path $TMP/nginx-$1/t5;
  ${4:-}
  server { listen 127.0.0.1:$ns_port; root $2; ${3:-} } }
EOF
    nginx_run "$1" "$ns_port" && break
  done
  gone "$ns_pid" && fail "nginx $1 did not start"
  eval "URL_$1=http://127.0.0.1:$ns_port PID_$1=$ns_pid"
}

# nginx_run NAME PORT...: with the configuration $TMP/nginx-NAME/conf, on these; sets ns_pid. 1: another has
# one of them.
nginx_run() {
  nginx -p "$TMP/nginx-$1" -c "$TMP/nginx-$1/conf" >"$TMP/$1.log" 2>&1 &
  ns_pid=$!
  PIDS="$PIDS $ns_pid"
  shift
  wait_for listens_or_gone "$ns_pid" "$@"
  ! gone "$ns_pid"
}

# deadlines_beside ARGS...: PATIENT, if the arguments name a configuration whose section [symfs] has no deadline; no
# other file is read then.
deadlines_beside() {
  for db_word; do
    [ "${db_last:-}" = --config ] &&
      ! sed -n '/^\[symfs\]/,/^\[/p' "$db_word" 2>/dev/null | grep -qE '(deadline|timeout) *=' && echo "$PATIENT"
    db_last=$db_word
  done
}

# symfs_mount NAME [ARGS...]: mounts at $TMP/NAME with its own store; sets MNT_NAME and PID_NAME.
# --no-default-sources is given unless SYMFS_DEFAULTS is set, --cache unless the arguments name one.
symfs_mount() {
  sm_name=$1
  shift
  mkdir -p "$TMP/$sm_name" 2>/dev/null # where a mount died it cannot be looked at
  case " $* " in *" --cache "*) ;; *) set -- --cache "$TMP/store-$sm_name" "$@" ;; esac
  # shellcheck disable=SC2046 # words
  set -- $(deadlines_beside "$@") "$@"
  [ -n "${SYMFS_DEFAULTS:-}" ] || set -- --no-default-sources "$@"
  "$SYMFS" mount -f "$@" "$TMP/$sm_name" >"$TMP/$sm_name.log" 2>&1 &
  sm_pid=$!
  PIDS="$PIDS $sm_pid"
  MOUNTS="$MOUNTS $TMP/$sm_name"
  wait_for symfs_answers "$TMP/$sm_name" "$sm_pid" || fail "the mount $sm_name does not answer"
  gone "$sm_pid" && fail "the mount $sm_name ended"
  eval "MNT_$sm_name=\$TMP/$sm_name PID_$sm_name=\$sm_pid"
}
symfs_answers() { gone "$2" || [ -f "$1/.symfs/version" ]; }

# what_it_does PID: each of its threads: name, state, where it waits, and its stack where gdb is.
what_it_does() {
  for wid_task in /proc/"$1"/task/*; do
    echo "thread ${wid_task##*/}" \
      "$(cat "$wid_task/comm"): $(grep State "$wid_task/status") in $(cat "$wid_task/wchan")"
  done 2>/dev/null
  command -v gdb >/dev/null && timeout 300 gdb -q -nx -batch -p "$1" -ex 'thread apply all bt 16' 2>/dev/null
}

# late_end MOUNT PID: the command has given up after ten seconds, which a loaded machine may need. A mount namespace
# of another test may hold a copy of the mount for as long as it likes: then the daemon ends by a signal.
late_end() {
  grep -q 'has not ended yet' "$TMP/umount.err" || return
  grep -qsF "${1#"$BASE"} " /proc/[0-9]*/mountinfo && kill "$2"
  wait_gone "$2"
}

# umounts MOUNT PID [COMMAND...]: `symfs umount MOUNT`, or `COMMAND... umount MOUNT`, ends with 0, and the daemon has
# ended. It is run again while the mount is in use, as by another test that lists all mounts.
umounts() {
  um_mnt=$1 um_pid=$2
  shift 2
  for _ in $(seq 30); do
    "${@:-$SYMFS}" umount "$um_mnt" 2>"$TMP/umount.err"
    um_status=$?
    grep -q -- '-l detaches it anyway' "$TMP/umount.err" || break
    say "umount again: $(cat "$TMP/umount.err")"
  done
  [ "$um_status" = 0 ] || late_end "$um_mnt" "$um_pid" ||
    { cat "$TMP/umount.err"; what_it_does "$um_pid"; fail "umount $um_mnt: exit $um_status"; }
  gone "$um_pid" || fail "umount $um_mnt did not wait for the daemon's end: $(cat "$TMP/umount.err")"
}

# symfs_umount NAME: a clean end, with exit status 0.
symfs_umount() {
  eval "su_mnt=\$MNT_$1 su_pid=\$PID_$1"
  umounts "$su_mnt" "$su_pid"
  wait "$su_pid" || fail "the daemon of $1 ended with $?"
}

# of_threads OUT COMMAND...: runs a command that reads a process; its output is in OUT and OUT.log. It is run again if
# a thread of the process did not stop in time, as on a busy machine.
of_threads() {
  ot_out=$1
  shift
  for _ in 1 2 3 4 5; do
    timeout 600 "$@" >"$ot_out" 2>"$ot_out.log"
    ot_status=$?
    grep -qE 'thread did not stop|no thread stopped in time' "$ot_out" "$ot_out.log" || break
  done
  return $ot_status
}

# copy_symfs DIRECTORY: symfs and the programs that it starts. The copies need no reachable build tree.
copy_symfs() {
  mkdir -p "$1/libexec" && cp "$SYMFS" "$1/symfs" || fail "cannot copy $SYMFS"
  for program in convert frames unarchive unwind; do
    cp "$top_builddir/libexec/$program" "$1/libexec/" || fail "cannot copy $program"
  done
}

# with_broken_worker: from here on, $SYMFS is a copy whose conversions obey their input
# (tests/helpers/broken-worker.c).
with_broken_worker() {
  copy_symfs "$TMP/broken"
  cp "$top_builddir/tests/helpers/broken-worker" "$TMP/broken/libexec/convert" || fail "cannot copy the broken worker"
  SYMFS=$TMP/broken/symfs
}

stat_of() { sed -n "s/^$2 //p" "$1/.symfs/stats"; } # MOUNT COUNTER

build_id() { readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p' | head -n 1; }

# some_build_id WORD...: 40 digits for --build-id, made from these words, the same in every run. The id that a
# linker chooses depends on the directory, and one of 256 ends with zeros. symfs then also asks for the id
# without them, and a test that counts requests counts more.
some_build_id() {
  printf '%s\n' "${0##*/}" "${SYMFS_TEST_SEED:-}" "$@" | sha1sum | sed 's/^\(.\{38\}\).*/0x\11d/'
}

# many_libraries NUMBER TEXT BEGIN END: the program $TMP/bin/main, which calls f1(n) and so on of the libraries
# $TMP/bin/libl1.so and so on, all with debug information. TEXT: a function, with the library's number for each %d.
# BEGIN and END stand around the calls in main(), where n is an int.
many_libraries() {
  mkdir -p "$TMP/src" "$TMP/bin"
  ml_links='' ml_calls='' ml_names=''
  for ml_i in $(seq "$1"); do
    printf '%s\n' "$2" | sed "s/%d/$ml_i/g" >"$TMP/src/l$ml_i.c"
    gcc -g -O0 -fPIC -shared -Wl,--build-id=sha1 -o "$TMP/bin/libl$ml_i.so" "$TMP/src/l$ml_i.c" || fail gcc
    ml_links="$ml_links -ll$ml_i" ml_names="$ml_names int f$ml_i(int);" ml_calls="$ml_calls n += f$ml_i(n);"
  done
  printf '#include <stdlib.h>\n%s\nint main(int argc, char **argv) { int n = 0;\n%s\n%s\n%s }\n' \
    "$ml_names" "$3" "$ml_calls" "$4" >"$TMP/src/main.c"
  # shellcheck disable=SC2086
  gcc -g -O0 -Wl,--build-id=sha1 -o "$TMP/bin/main" "$TMP/src/main.c" -L"$TMP/bin" $ml_links -Wl,-rpath,"$TMP/bin" ||
    fail gcc
}

# make_program DIR NAME: a program that calls into a library of its own; unstripped copies in
# DIR/full, debug files in DIR/debug, stripped ones in DIR/bin. Each DIR and NAME get their own build ids.
make_program() {
  mp_dir=$1 mp_name=$2 mp_where=${1#"$TMP"}
  mkdir -p "$mp_dir/src" "$mp_dir/full" "$mp_dir/debug" "$mp_dir/bin"
  cat >"$mp_dir/src/$mp_name-lib.c" <<EOF
#include <stdlib.h>
const char *${mp_name}_tag = "$mp_name";
static int deeper(int n) { if (n > 2) abort(); return n + 1; }
int ${mp_name}_entry(int n) { int r = deeper(n); return r * 2; }
EOF
  cat >"$mp_dir/src/$mp_name.c" <<EOF
int ${mp_name}_entry(int n);
static int work(int argc) { return ${mp_name}_entry(argc) + 1; }
int main(int argc, char **argv)
{
	return work(argc) == 0;
}
EOF
  (cd "$mp_dir/src" &&
    ${CC_PLAIN:-gcc} -g -O0 -fPIC -shared -Wl,-soname,"lib$mp_name.so" \
      -Wl,--build-id="$(some_build_id "$mp_where" "lib$mp_name.so")" -o "../full/lib$mp_name.so" "$mp_name-lib.c" &&
    ${CC_PLAIN:-gcc} -g -O0 -Wl,--build-id="$(some_build_id "$mp_where" "$mp_name")" \
      -o "../full/$mp_name" "$mp_name.c" -L../full "-l$mp_name" -Wl,-rpath,"$mp_dir/bin") || fail "gcc"
  for mp_f in "$mp_name" "lib$mp_name.so"; do
    objcopy --only-keep-debug "$mp_dir/full/$mp_f" "$mp_dir/debug/$mp_f.debug" || fail objcopy
    strip -o "$mp_dir/bin/$mp_f" "$mp_dir/full/$mp_f" || fail strip
  done
}

# put_gdb ROOT FILE [SUFFIX]: into the gdb layout, by its build id.
put_gdb() {
  pg_id=$(build_id "$2")
  pg_rest=${pg_id#??}
  pg_dir=$1/.build-id/${pg_id%"$pg_rest"}
  mkdir -p "$pg_dir"
  cp "$2" "$pg_dir/$pg_rest${3:-}"
}

gdb_path() { gp_rest=${1#??}; echo ".build-id/${1%"$gp_rest"}/$gp_rest${2:-}"; }

# make_two_large: programs of 3 MB, $TMP/large1 and $TMP/large2, which are read in parts; below $TMP/up by
# their build ids, at $name1 and $name2 there.
make_two_large() {
  head -c 3000000 /dev/urandom >"$TMP/noise"
  for ml_n in 1 2; do
    make_program "$TMP/far$ml_n" prog
    echo $ml_n >>"$TMP/noise"
    objcopy --add-section .noise="$TMP/noise" "$TMP/far$ml_n/full/$([ $ml_n = 1 ] && echo prog || echo libprog.so)" \
      "$TMP/large$ml_n" || fail objcopy
    put_gdb "$TMP/up" "$TMP/large$ml_n"
    eval "name$ml_n=\$(gdb_path \"\$(build_id \"\$TMP/large$ml_n\")\")"
  done
}

same_file() { cmp -s "$1" "$2" || fail "$1 differs from $2"; }

# symfs_serve NAME [ARGS...]: a server with its own store; sets URL_NAME and PID_NAME.
symfs_serve() {
  sv_name=$1
  shift
  case " $* " in *" --cache "*) ;; *) set -- --cache "$TMP/store-$sv_name" "$@" ;; esac
  case " $* " in *" --listen "*) ;; *) set -- --listen 127.0.0.1:0 "$@" ;; esac
  # shellcheck disable=SC2046 # words
  set -- $(deadlines_beside "$@") "$@"
  rm -f "$TMP/$sv_name.out"
  "$SYMFS" serve --no-default-sources "$@" >"$TMP/$sv_name.out" 2>"$TMP/$sv_name.log" &
  sv_pid=$!
  PIDS="$PIDS $sv_pid"
  wait_for grep -q 'listening on' "$TMP/$sv_name.out" || fail "the server $sv_name does not start"
  sv_url=$(sed -n 's/^listening on //p' "$TMP/$sv_name.out")
  eval "URL_$sv_name=\$sv_url PID_$sv_name=\$sv_pid"
}

# symfs_unserve NAME: a clean end, with exit status 0.
symfs_unserve() {
  eval "su_pid=\$PID_$1"
  kill "$su_pid"
  wait_gone "$su_pid" || fail "the server $1 does not end"
  wait "$su_pid" || fail "the server $1 ended with $?"
}

# ceph_start: one node of Ceph with a gateway and the bucket "symbols", below $TMP/c; sets S3, S3_PID, ACCESS and
# SECRET. Ceph's ports are chosen here, so that several tests can have a cluster at the same time.
ACCESS=AKSYMFS SECRET=SKSYMFSSECRET
ceph_start() {
  need radosgw radosgw-admin ceph-mon ceph-osd ceph-mgr bc
  [ -f "$top_srcdir/../shared/tools/ceph/ceph-up.sh" ] || skip "no ../shared/tools/ceph, which starts a Ceph gateway"
  cs_port=$(free_port)
  sed "s/23300/$((cs_port + 1))/g; s/23301/$((cs_port + 2))/g" "$top_srcdir/../shared/tools/ceph/ceph-up.sh" \
    >"$TMP/ceph-up"
  timeout 600 bash "$TMP/ceph-up" "$TMP/c" "$cs_port" >"$TMP/ceph.log" 2>&1
  cs_status=$?
  for cs_file in "$TMP"/c/run/*.pid; do
    [ -f "$cs_file" ] && PIDS="$PIDS $(cat "$cs_file")"
  done
  [ $cs_status = 0 ] || fail "ceph: $(tail -n 5 "$TMP/ceph.log")"
  S3=http://127.0.0.1:$cs_port
  S3_PID=$(cat "$TMP"/c/run/client.rgw*.pid)
  [ "$(signed -X PUT -o "$TMP/ceph.said" -w '%{http_code}' "$S3/symbols")" = 200 ] ||
    fail "no bucket: $(cat "$TMP/ceph.said")"
}
# A signed request: arguments of curl.
signed() {
  fetch_url --aws-sigv4 aws:amz:us-east-1:s3 -u "$ACCESS:$SECRET" -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$@"
}
# How many requests the gateway has answered, by its log; METHOD-AND-PATH counts those that begin so.
ceph_requests() { # [METHOD-AND-PATH]
  cr_mark=mark-$(od -An -N8 -tx1 /dev/urandom | tr -d " \n")
  signed -o /dev/null "$S3/symbols/$cr_mark"
  wait_for grep -q "beast: .*$cr_mark" "$TMP/c/log/client.rgw.a.log" || fail "the gateway logs no requests"
  grep 'beast: ' "$TMP/c/log/client.rgw.a.log" | grep -v '"GET /symbols/mark-' | grep -c "\"${1:-}"
}
