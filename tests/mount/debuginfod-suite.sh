#!/bin/sh
# elfutils' own tests of debuginfod, those of 0.188, with `symfs serve` in debuginfod's place. Their source is that
# of the distribution; nothing of it is here. Each script runs unchanged, twice: with the distribution's debuginfod,
# which says how many checks the script has on this machine, and with symfs. Two files stand in for the originals:
#   debuginfod         maps debuginfod's options to a configuration of symfs;
#   debuginfod-subr.sh reads the original, then counts checks, and asks symfs where the original asks for metrics.
# A check for debuginfod's own words (names of metrics, lines of its log, names of its threads) does not apply. The
# test fails if a script that passes with debuginfod does not with symfs. $1: only scripts with this in their name.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc python3 debuginfod debuginfod-find eu-readelf eu-strip rpm2cpio bsdtar bzcat ss sqlite3 file objcopy

SUM=fb8b0e8d0802005b9a309c60c1d8de32dd2951b56f0c3a3cb56d21ce01595dff
TAR=elfutils_0.188.orig.tar.bz2
# These scripts test what symfs does not have, as their reason says. They run with debuginfod only to be counted.
no_reason() {
  case $1 in
    extraction-passive) echo "--passive: a server on another server's index; symfs has no such mode" ;;
    regex) echo "-I, -X and --regex-groom: files are not chosen by regular expressions" ;;
    *) return 1 ;;
  esac
}

# ---- the source ------------------------------------------------------------------------------
is_right() { [ "$(sha256sum 2>/dev/null <"$1" | cut -d' ' -f1)" = $SUM ]; }
get_source() {
  for gs_have in "$TOOLS/$TAR" "$TMP/$TAR"; do is_right "$gs_have" && SOURCE=$gs_have && return; done
  (cd "$TMP" && apt-get source --download-only elfutils=0.188\*) >"$TMP/apt.out" 2>&1
  # Without deb-src: beside the packages of the configured mirror.
  gs_mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/*$' | head -n 1)
  [ -e "$TMP/$TAR" ] || [ -z "$gs_mirror" ] ||
    curl -sf --connect-timeout 30 -o "$TMP/$TAR" "${gs_mirror%/}/pool/main/e/elfutils/$TAR"
  is_right "$TMP/$TAR" || skip "the source package of elfutils 0.188 is not to be had: $(tail -n 1 "$TMP/apt.out")"
  SOURCE=$TMP/$TAR
  mkdir -p "$TOOLS" && cp "$TMP/$TAR" "$TOOLS/$TAR.$$" && mv "$TOOLS/$TAR.$$" "$TOOLS/$TAR" && SOURCE=$TOOLS/$TAR
}
get_source
mkdir "$TMP/elfutils"
tar -xf "$SOURCE" -C "$TMP/elfutils" --strip-components=1 || fail "tar $SOURCE"
TESTS=$TMP/elfutils/tests
mv "$TESTS/debuginfod-subr.sh" "$TESTS/original-subr.sh"

# ---- stand-ins -------------------------------------------------------------------------------
# The scripts run in BUILD/tests and name their programs from there.
build_for() {
  bf=$TMP/build-$1
  mkdir -p "$bf/tests" "$bf/src" "$bf/debuginfod"
  ln -s "$(command -v eu-readelf)" "$bf/src/readelf"
  ln -s "$(command -v eu-strip)" "$bf/src/strip"
  ln -s "$(command -v debuginfod-find)" "$bf/debuginfod/debuginfod-find"
  gcc -g -o "$bf/tests/debuginfod_build_id_find" -D_GNU_SOURCE '-DELFUTILS_HEADER(x)=<elfutils/lib##x.h>' \
    "$TESTS/debuginfod_build_id_find.c" -ldw -lelf 2>"$TMP/gcc.log" || skip "no libdw: $(tail -n 1 "$TMP/gcc.log")"
  echo 'int main(void) { return 3; }' >"$TMP/dwfllines.c"
  gcc -g "-Wl,--build-id=0x$2" -o "$bf/tests/dwfllines" "$TMP/dwfllines.c" || fail gcc
}
build_for debuginfod 11112222333344445555666677778888aaaabbbb
build_for symfs 11112222333344445555666677778888aaaabbbc
ln -s "$(command -v debuginfod)" "$TMP/build-debuginfod/debuginfod/debuginfod"
mkdir "$TMP/bin"
command -v cpio >/dev/null || {
  printf '#!/bin/sh\nexec bsdtar -xf -\n' >"$TMP/bin/cpio" # the scripts only say `cpio -ivd`
  chmod +x "$TMP/bin/cpio"
}
command -v socat >/dev/null || {
  cat >"$TMP/bin/socat" <<'END' # the scripts only say `socat -u - tcp-listen:PORT`
#!/usr/bin/env python3
import socket, sys
here = socket.create_server(("127.0.0.1", int(sys.argv[3].split(":")[1])))
here.accept()[0].sendall(sys.stdin.buffer.read())
END
  chmod +x "$TMP/bin/socat"
}

cat >"$TMP/build-symfs/debuginfod/debuginfod" <<'END'
#!/bin/bash
# Runs `symfs serve` for the options of debuginfod. Its configuration and its access log are SUITE/PORT.*.
[ "$1" = again ] || exec env --default-signal=INT bash "$0" again "$@" # a script's background ignores SIGINT
shift
port= archives=no dirs=() links=
long='passive,regex-groom,include:,exclude:,forwarded-ttl-limit:,fdcache-fds:,fdcache-mbs:,fdcache-mintmp:'
long+=',fdcache-prefetch:,fdcache-prefetch-fds:,fdcache-prefetch-mbs:'
eval set -- "$(getopt -q -o 'FRULvZ:p:d:t:g:C::' -l "$long" -- "$@")"
while [ "$1" != -- ]; do
  case $1 in
    -R | -U) archives=yes ;;
    -L) links=yes ;;
    -Z) archives=yes; shift ;;
    -p) port=$2; shift ;;
    -C) shift ;;
    -d | -t | -g | --*[!cm]) [ "$1" = --passive ] || shift ;; # the store is always its own; changes are watched
  esac
  shift
done
shift
mine=$SUITE/$port
rm -rf "$mine".*
for dir; do
  [ -d "$dir" ] && dirs+=("$(realpath "$dir")")
  # Scans do not follow links: for -L the file behind each link is copied.
  [ "$links" ] && mkdir -p "$mine.links" && find "$dir" -type l -exec cp -L {} "$mine.links" \;
done
[ -d "$mine.links" ] && dirs+=("$mine.links")
cp "$DEADLINES" "$mine.conf" || exit
for dir in "${dirs[@]}"; do
  printf '[source "%s"]\npath = %s\nlayout = scan\narchives = %s\nsource-roots = %s\n' "tree$((n++))" "$dir" \
    "$archives" "$PWD"
done >>"$mine.conf"
printf '%s\n' "${dirs[@]}" >"$mine.dirs"
"$SYMFS" serve --config "$mine.conf" --cache "$mine.store" --listen "127.0.0.1:$port" \
  --access-log "$mine.access" --drain-seconds 1 &
trap 'kill $!' TERM INT
trap : USR1 USR2 # a change is seen without a signal
while kill -0 $! 2>/dev/null; do wait $!; status=$?; done
exit "$status"
END
chmod +x "$TMP/build-symfs/debuginfod/debuginfod"

cat >"$TESTS/debuginfod-subr.sh" <<'END'
# Counts the checks of a script in $SUITE_COUNT, and asks symfs in symfs's way.
. "$srcdir/original-subr.sh"
count() { echo "$*" >>"$SUITE_COUNT"; }
testrun() {
  built_testrun "$@" || return
  case "$*" in *debuginfod-find* | *_build_id_find*) count passed ;; esac
}
cmp() { command cmp "$@" && count passed; }
grep() {
  # Lines of the server's log, its threads and its metrics do not apply.
  case "$PWD/${*: -1}" in
    */vlog[0-9][0-9][0-9][0-9]* | */vlog2[0-9][0-9][0-9][0-9]*) gr_na=yes ;;
    */groom | */scan | */traverse | */http_responses_[dta]*[a-z*] | */fdcache_ | */error_count | */traversed_total | \
      */scanned_bytes_total | */dc_pool* | */http_responses_total*) gr_na=yes ;;
    *) gr_na= ;;
  esac
  [ -z "$gr_na" ] || { count "not applicable: grep ${*: -1}"; [ "$SUITE_SERVER" = debuginfod ] || cat >/dev/null; }
  [ -z "$gr_na" ] || [ "$SUITE_SERVER" = debuginfod ] || return 0
  command grep "$@" || return
  # Neither those of the original's wait_ready, nor those that only read a build id.
  case "${FUNCNAME[1]} $*" in wait_ready* | *' Build ID') ;; *) [ "$gr_na" ] || count passed ;; esac
}
[ "$SUITE_SERVER" = symfs ] || return 0

# await CONDITION...: looks at it until it holds. run-one ends a script that hangs.
await() { until "$@"; do sleep 0.1; done; }
marks=0
shows() {
  [ "$(command curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$1/buildid/$2/executable")" = 200 ] &&
    ! command curl -s "http://127.0.0.1:$1/status" | command grep -qE 'being walked|[0-9] of [0-9]+ archive'
}
# Every scanned directory shows a program that was put there now, and no archive waits to be read.
seen() {
  for mark_dir in $(<"$SUITE/$1.dirs"); do
    [ -d "$mark_dir" ] || continue
    mark=$(printf 'feed%08x%08x%020x' "$1" $((++marks)) "$RANDOM")
    gcc -shared -nostdlib -Wl,--build-id=0x"$mark" -x c /dev/null -o "$SUITE/$1.mark"
    mv "$SUITE/$1.mark" "$mark_dir/.mark.so"
    await shows "$1" "$mark"
    rm -f "$mark_dir/.mark.so"
  done
}
is_up() { await command curl -sf -o /dev/null "http://127.0.0.1:$1/ready"; }
answers() { command grep -cE "/(debuginfo|buildid/[0-9a-f]+/$2)[ \"].* $1 " "$SUITE/$3.access" || true; }
has_answered() { [ "$(answers 200 debuginfo "$1")" -ge "$2" ]; } # PORT TIMES
wait_ready() {
  case $2 in
    ready) is_up "$1" ;;
    'thread_work_total{role="traverse"}') is_up "$1" && seen "$1" ;;
    'http_responses_transfer_bytes_count{code="200",type="debuginfo"}')
      await has_answered "$1" "$3" ;;
    thread_*) ;; # an unfinished scan was waited for above
    *) count "not applicable: metric $2" ;;
  esac
}
# The answer of /metrics has one of debuginfod's counters, made of the access log.
curl() {
  command curl "$@" || return
  case "$*" in
    */metrics*) wr_port=${*: -1} wr_port=${wr_port##*:} wr_port=${wr_port%%/*}
      # debuginfod's cache of unpacked files: symfs keeps them in its store. These are the values that pass.
      case $srcdir/$0 in *fd-prefetch*) count 'not applicable: metrics of fdcache'
        printf '%s\n' 'fdcache_prefetch_count 1' 'fdcache_op_count{op="prefetch_access"} 1' 'fdcache_bytes 0' ;;
      esac
      printf 'http_responses_transfer_bytes_count{code="404",type="debuginfo"} %s\n' \
        "$(answers 404 debuginfo "$wr_port")" ;;
  esac
}
END

# ---- runs ------------------------------------------------------------------------------------
SUITE=$TMP/suite
mkdir "$SUITE"
export SUITE SYMFS TESTS TMP DEADLINES
# run_one SERVER SCRIPT
cat >"$TMP/run-one" <<'END'
#!/bin/bash
cd "$TMP/build-$1/tests" || exit 1
name=${2#run-debuginfod-} name=${name%.sh}
SUITE_SERVER=$1 SUITE_COUNT=$SUITE/$name.$1 PATH=$TMP/bin:$PATH
export SUITE_SERVER SUITE_COUNT PATH
export srcdir=$TESTS abs_srcdir=$TESTS abs_builddir=$PWD abs_top_builddir=$TMP/build-$1
export elfutils_testrun=built built_library_path= elfutils_tests_rpath=no
: >"$SUITE_COUNT"
timeout -k 10 900 bash "$TESTS/$2" >"$SUITE_COUNT.out" 2>&1 </dev/null
echo $? >"$SUITE_COUNT.status"
END
chmod +x "$TMP/run-one"
scripts=$(cd "$TESTS" && ls run-debuginfod-*.sh | grep -F -- "${1:-}")
# Two processes of one server at a time use other ports: each script has a range of its own.
for server in debuginfod symfs; do
  for script in $scripts; do
    name=${script#run-debuginfod-}
    [ $server = debuginfod ] || ! no_reason "${name%.sh}" >/dev/null || continue
    echo "$server $script"
  done | xargs -P 4 -n 2 "$TMP/run-one"
done

passed=0 all=0 apart=0 bad=
printf '%-24s %-10s %-10s %s\n' script debuginfod symfs 'does not apply'
for script in $scripts; do
  name=${script#run-debuginfod-} name=${name%.sh}
  a=$SUITE/$name.debuginfod b=$SUITE/$name.symfs
  of=$(grep -c passed "$a")
  if why=$(no_reason "$name"); then
    apart=$((apart + of))
    printf '%-24s %-10s %-10s %s\n' "$name" "$of" - "$why"
    continue
  fi
  is=$(grep -c passed "$b") status=$(cat "$b.status") oracle=$(cat "$a.status")
  not=$(sed -n 's/^not applicable: //p' "$b" | sort -u | tr '\n' ';' | cut -c 1-120)
  [ "$status" = 0 ] && word= || word=" (ends with $status)"
  [ "$oracle" = 0 ] && oracle_word= || oracle_word=" ($oracle)"
  printf '%-24s %-10s %-10s %s\n' "$name" "$of$oracle_word" "$is$word" "$not"
  [ "$oracle" = 77 ] || { all=$((all + of)) passed=$((passed + is)); }
  [ "$status" = 0 ] || [ "$oracle" != 0 ] || { bad="$bad $name"; cp "$b.out" "$TMP/$name.log"; }
done
say "checks that apply and pass: $passed with symfs, $all with debuginfod; $apart in scripts that do not apply"
[ -z "${SUITE_KEEP:-}" ] || cp -r "$SUITE" "$SUITE_KEEP"
[ -z "$bad" ] || fail "these pass with debuginfod only:$bad"
