#!/bin/sh
# Every bad answer of a source: what a program sees through the mount, and what `symfs get` reports.
# A good second source replaces the bad one, nothing false is remembered afterwards, and no wrong
# bytes are ever in the store. A reader polls the file all the time, and reads either the whole
# right file or nothing. SYMFS_FAULT_TABLE=1 prints the result of each fault.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl sha256sum gzip zstd
need_mount

# ---- files: one program, one build of it for each case -----------------------------------------
ROOT=$TMP/root
mkdir -p "$ROOT/spare" "$TMP/make"
head -c 300000 /dev/urandom >"$TMP/make/noise"
echo 'int main(void) { return 0; }' >"$TMP/make/x.c"
cases=0

# new_file: the next build; sets id, name (below MNT and ROOT), file.
new_file() {
  cases=$((cases + 1))
  id=$(printf '%040x' $((cases + 0xabcd00)) | sed 's/^00/ba/')
  name=$(gdb_path "$id" .debug)
  file=$ROOT/$name
  gcc -g -Wl,--build-id=0x"$id" -o "$TMP/make/x" "$TMP/make/x.c" || fail "gcc"
  mkdir -p "$(dirname "$file")"
  objcopy --only-keep-debug --add-section .noise="$TMP/make/noise" "$TMP/make/x" "$file" || fail objcopy
  sha256sum "$file" | cut -d' ' -f1 >>"$TMP/good"
}

# What is no debug file of any case.
echo 'int other(void) { return 2; } int main(void) { return other(); }' >"$TMP/make/o.c"
gcc -g -Wl,--build-id=sha1 -o "$TMP/make/o" "$TMP/make/o.c" || fail gcc
objcopy --only-keep-debug --add-section .noise="$TMP/make/noise" "$TMP/make/o" "$ROOT/spare/other.debug"
: >"$ROOT/spare/empty"
echo '<!DOCTYPE html><html><title>Sign in</title></html>' >"$ROOT/spare/portal.html"
gzip -c "$ROOT/spare/other.debug" >"$ROOT/spare/other.gz"

# ---- what is measured ----------------------------------------------------------------------------
# words_of COMMAND...: runs it; sets error to the errno's words, or ok, and took to milliseconds, for the table.
words_of() {
  wo_from=$(now_ms)
  if "$@" >"$TMP/out" 2>"$TMP/err"; then
    error=ok
  else
    error=$(sed 's/.*: //' "$TMP/err" | tail -n 1)
    [ -n "$error" ] || error="exit $?"
  fi
  took=$(($(now_ms) - wo_from))
}

errno_of() {
  case $1 in
  'No such file or directory') echo ENOENT ;;
  'Permission denied') echo EACCES ;;
  'No route to host') echo EHOSTUNREACH ;;
  'Remote I/O error') echo EREMOTEIO ;;
  'Connection timed out') echo ETIMEDOUT ;;
  'Bad message') echo EBADMSG ;;
  'File too large') echo EFBIG ;;
  'Input/output error') echo EIO ;;
  *) echo "$1" ;;
  esac
}

# Whatever lies in a store is one of the files, from its first byte to its last.
check_stores() {
  for cs_store in "$TMP"/store-*; do
    [ -d "$cs_store/blobs" ] || continue
    find "$cs_store/blobs" -type f ! -name '*.key' -exec sha256sum {} + | cut -d' ' -f1 |
      grep -vxFf "$TMP/good" && fail "$1: $cs_store holds bytes that are none of the files"
  done
}

# ---- a reader that never stops --------------------------------------------------------------

# is_right GOT FILE EXIT: all of the file, when the reader was told that this is all; else a part of it, from
# its beginning, before the error: what was identified is read while it comes.
is_right() {
  if [ "$3" = 0 ]; then
    cmp -s "$1" "$2"
  else
    [ "$(stat -c %s "$1")" -le "$(stat -c %s "$2")" ] && cmp -s -n "$(stat -c %s "$1")" "$1" "$2"
  fi
}

# A mount of its own, so that what it asks for changes nothing of what is measured.
poll_all() {
  while [ ! -e "$TMP/poll-stop" ]; do
    read -r pa_name <"$TMP/poll-name" || { : >"$TMP/poll-idle"; nap; continue; }
    cat "$MNT_p/$pa_name" >"$TMP/poll-got" 2>/dev/null
    pa_exit=$?
    echo polled >>"$TMP/polls"
    # A file that was read while the next one was named is that of before.
    is_right "$TMP/poll-got" "$ROOT/$pa_name" $pa_exit || echo "$pa_name" >>"$TMP/poll-wrong"
    nap
  done
}
poll_begin() { printf '%s\n' "$name" >"$TMP/poll-next" && mv "$TMP/poll-next" "$TMP/poll-name"; : >"$TMP/polls"; }
# poll_end NAME: it was polled, and nothing else was read. The reader asks no server any more.
poll_end() {
  wait_for test -s "$TMP/polls" || fail "$1: the reader does not come round"
  : >"$TMP/poll-name"
  rm -f "$TMP/poll-idle"
  wait_for test -e "$TMP/poll-idle" || fail "$1: the reader goes on"
  [ ! -s "$TMP/poll-wrong" ] || fail "$1: bytes that are not the file were read: $(cat "$TMP/poll-wrong")"
}

# ---- the table ---------------------------------------------------------------------------------
: >"$TMP/table"
table_row() { # FAULT REMEMBERED
  printf '%-36s  %-12s %5d  %-12s %5d  %-4s  %s\n' "$1" "$stat_error" "$stat_took" "$open_error" "$open_took" \
    "$cc_exit" "$2" \
    >>"$TMP/table"
}

arrives() { cmp -s "$MNT_m/$1" "$ROOT/$1"; }

# Some faults are seen only when a deadline expires. On a slow machine a good answer, too, can miss these deadlines:
# then the test asks again.
limits='--lookup-deadline 2s --connect-timeout 2s --stall-timeout 2s --breaker-seconds 1s --max-file-size 2M'
LATE='lookup deadline|no byte for|no connection in|in time|still no answer'
# late_get STATUS: whether symfs get failed with this exit status because a deadline passed.
late_get() { [ "$1" = 3 ] && grep -Eq "$LATE" "$2"; }

# get_second SOURCE: with a good second source.
get_second() {
  rm -rf "$TMP/store-second"
  # shellcheck disable=SC2086
  "$SYMFS" get --no-default-sources --cache "$TMP/store-second" $limits --source "$1" \
    --source "gdb@$URL_good" -o "$TMP/second" "gdb/$name" >/dev/null 2>"$TMP/second.err"
  second_exit=$?
  ! late_get $second_exit "$TMP/second.err"
}
# get_alone WANT-EXIT SOURCE
get_alone() {
  # shellcheck disable=SC2086
  "$SYMFS" get --no-default-sources --cache "$TMP/store-get" $limits --source "$2" "gdb/$name" \
    >"$TMP/get.out" 2>"$TMP/get.err"
  cc_exit=$?
  [ $cc_exit = "$1" ] || ! late_get $cc_exit "$TMP/get.err"
}

# check_case NAME WANT-STAT WANT-OPEN WANT-EXIT SOURCE: the fault is in force at SOURCE.
check_case() {
  cc=$1
  # Beside the mount, each with its own store: the command alone, and one with a second source.
  (wait_for get_alone "$4" "$5"; exit $cc_exit) &
  cc_get=$!
  wait_for get_second "$5" && [ $second_exit = 0 ] ||
    fail "$cc: with a good second source: $(cat "$TMP/second.err")"
  same_file "$TMP/second" "$file"
  rm -f "$TMP/second"
  wait $cc_get
  cc_exit=$?
  [ $cc_exit = "$4" ] || fail "$cc: symfs get: exit $cc_exit, wanted $4: $(cat "$TMP/get.err")"
  [ -s "$TMP/get.err" ] && [ ! -s "$TMP/get.out" ] || fail "$cc: symfs get: no words, or a path"
}

is_wanted() { case " $1 " in *" $(errno_of "$error") "*) ;; *) return 1 ;; esac; }
# tries WANTED COMMAND...: runs it. 1: another error than wanted, because a deadline passed, or the source was just
# left alone for that reason.
tries() {
  tr_wanted=$1
  shift
  words_of "$@"
  is_wanted "$tr_wanted" || case $(errno_of "$error") in ETIMEDOUT | EHOSTUNREACH) return 1 ;; esac
}
check_mount() { # NAME WANT-STAT WANT-OPEN MOUNT
  wait_for tries "$2" stat "$4/$name"
  stat_error=$(errno_of "$error") stat_took=$took
  is_wanted "$2" || fail "$1: stat: $error, wanted $2"
  wait_for tries "$3" cat "$4/$name"
  open_error=$(errno_of "$error") open_took=$took
  is_wanted "$3" || fail "$1: open: $error, wanted $3"
}

# ---- a server that misbehaves ----------------------------------------------------------------
upstream_start bad --root "$ROOT"
upstream_start good --root "$ROOT"
# shellcheck disable=SC2086
symfs_mount m $limits --source "gdb@$URL_bad"
# shellcheck disable=SC2086
symfs_mount p $limits --source "gdb@$URL_bad"
: >"$TMP/poll-name"
poll_all &
POLLER=$!
PIDS="$PIDS $POLLER"

# After the first trouble the host may be left alone for a moment: then the answer is R when it had answered
# uselessly, and H when it was silent. A file that is longer by its own words is identified before it breaks
# off: a quick reader gets all that came, and then an error.
H=EHOSTUNREACH R=EREMOTEIO
while IFS='|' read -r what kind arg stat open get; do
  [ -n "$what" ] || continue
  new_file
  case $kind in skip) continue ;; esac
  case $kind in
  then-file) # a part of this, and then of another
    upstream_fault "$URL_bad" "/$name" reset "$arg" 1
    upstream_fault "$URL_bad" "/$name" file /spare/other.debug
    ;;
  bomb) # the file, and very much more
    { cat "$file" && head -c 50000000 /dev/zero; } | "$arg" -qc >"$ROOT/spare/bomb" || fail "$arg"
    upstream_fault "$URL_bad" "/$name" file /spare/bomb
    ;;
  *) upstream_fault "$URL_bad" "/$name" "$kind" "$arg" ;;
  esac
  poll_begin
  check_case "$what" "$stat" "$open" "$get" "gdb@$URL_bad"
  check_mount "$what" "$stat" "$open" "$MNT_m"
  poll_end "$what"
  asked=$(upstream_count "$URL_bad" get)
  cat "$MNT_m/$name" >/dev/null 2>&1 && fail "$what: it is read when it is asked for again"
  remembered="not asked again for a minute"
  [ "$(upstream_count "$URL_bad" get)" = "$asked" ] || remembered=no
  check_stores "$what"
  upstream_clear "$URL_bad"
  if [ "$get" = 1 ]; then
    # It is known to be missing now: no server is asked.
    asked=$(upstream_count "$URL_bad" get)
    check_mount "$what, remembered" ENOENT ENOENT "$MNT_m"
    [ "$(upstream_count "$URL_bad" get)" = "$asked" ] || fail "$what: asked again"
    "$SYMFS" why --no-default-sources --cache "$TMP/store-m" --source "gdb@$URL_bad" "gdb/$name" |
      grep -q "missing, remembered until" || fail "$what: why does not tell of the miss"
    table_row "$what" "missing, as long as the source says"
    continue
  fi
  grep -q "$id" "$MNT_m/.symfs/missing" && fail "$what: remembered as missing"
  # A server that sent a wrong file is not asked for it again for a minute, or until it is configured anew.
  case $open_error in
  EBADMSG | EFBIG) table_row "$what" "$remembered" ;;
  *) table_row "$what" "no" ;;
  esac
  case " $open " in *EBADMSG* | *EFBIG*) kill -HUP "$PID_m" ;; esac
  wait_for arrives "$name" || fail "$what: the server is well, and the file of" \
    "$(wc -c <"$file") bytes does not come: $(cat "$MNT_m/$name" 2>&1 >/dev/null)"
done <<EOF
404|status|404|ENOENT|ENOENT|1
410|status|410|ENOENT|ENOENT|1
401|status|401|EACCES|EACCES|3
403|status|403|EACCES|EACCES|3
429 with Retry-After|status|429,1|$R|$R|3
500|status|500|$R|$R|3
503|status|503|$R|$R|3
503 with Retry-After|status|503,1|$R|$R|3
a slow header|slow|2000000|ETIMEDOUT|ETIMEDOUT $H|3
a part that was not requested (206)|status|206|$R EBADMSG|$R EBADMSG|3
416|status|416|$R EACCES|$R EACCES|3
400|status|400|$R|$R|3
204|status|204|$R EBADMSG|$R EBADMSG|3
an HTML page|html||EBADMSG|EBADMSG|3
another program's debug file|file|/spare/other.debug|ok EBADMSG|EBADMSG|3
another file after a part|then-file|100000|ok EBADMSG|EBADMSG $R|3
an empty body|file|/spare/empty|EBADMSG|EBADMSG|3
cut short|cut|100000|ok|$R|3
cut short, early|cut|10|$R|$R|3
cut short, no length|cut-nolen|100000|ok|EBADMSG|3
never ending|endless|8000000|ok|EFBIG EBADMSG|3
silent|silent||ETIMEDOUT|ETIMEDOUT $H|3
silent after the head|silent-after|0|ETIMEDOUT $H|ETIMEDOUT $H|3
silent in the middle|silent-after|100000|ok|ETIMEDOUT $H|3
reset|reset|0|$R|$R|3
reset in the middle|reset|100000|ok|$R|3
garbage|garbage||$R|$R|3
an endless header line|long-header|1000000|$R|$R|3
redirect loop|redirect|loop|$R|$R|3
redirect to a captive portal|redirect|/spare/portal.html|EBADMSG|EBADMSG|3
redirect to a file|redirect|file:///etc/passwd|$R|$R|3
redirect to gopher|redirect|gopher://127.0.0.1:1/|$R|$R|3
redirect to nowhere|redirect|http://127.0.0.1:1/|$H|$H|3
a bomb of Content-Encoding|gzip-bomb|16|EBADMSG ETIMEDOUT|EBADMSG ETIMEDOUT $R|3
too long by its own words|wrong-length|5000000|EFBIG|EFBIG|3
longer by its own words|wrong-length|1000|ok|ETIMEDOUT EIO $R|3
shorter by its own words|wrong-length|-1000|ok|EBADMSG $R|3
a bomb of gzip|bomb|gzip|ok EFBIG ETIMEDOUT|EFBIG ETIMEDOUT $R|3
a bomb of zstd|bomb|zstd|ok EFBIG ETIMEDOUT|EFBIG ETIMEDOUT $R|3
another program's debug file, packed|file|/spare/other.gz|ok EBADMSG|EBADMSG|3
EOF

# ---- misses have a lifetime -------------------------------------------------------------------
new_file
upstream_fault "$URL_bad" "/$name" status 404
# shellcheck disable=SC2086
symfs_mount s $limits --miss-lifetime 1s --source "gdb@$URL_bad"
check_mount "a short miss" ENOENT ENOENT "$MNT_s"
upstream_clear "$URL_bad"
wait_for cmp -s "$MNT_s/$name" "$file" || fail "a miss of one second does not end"
symfs_umount s

# The long ones above are dropped by hand.
if "$SYMFS" cache --help >/dev/null 2>&1; then
  upstream_fault "$URL_bad" "/$name" status 404
  new_file
  upstream_fault "$URL_bad" "/$name" status 404
  check_mount "a long miss" ENOENT ENOENT "$MNT_m"
  upstream_clear "$URL_bad"
  "$SYMFS" cache rm --misses --cache "$TMP/store-m" || fail "cache rm --misses"
  wait_for arrives "$name" || fail "cache rm --misses, and the file is still missing"
fi

# ---- servers that cannot be reached at all ----------------------------------------------------
upstream_start deaf --no-accept
for place in "no such name|http://nonexistent.invalid/|$H ETIMEDOUT" "a refused port|http://127.0.0.1:1/|$H" \
  "nobody accepts|$URL_deaf|ETIMEDOUT $H"; do
  what=${place%%|*} want=${place##*|} url=${place#*|}
  url=${url%|*}
  new_file
  # shellcheck disable=SC2086
  symfs_mount r $limits --source "gdb@$url"
  check_case "$what" "$want" "$want" 3 "gdb@$url"
  check_mount "$what" "$want" "$want" "$MNT_r"
  table_row "$what" "no"
  grep -q "$id" "$MNT_r/.symfs/missing" && fail "$what: remembered as missing"
  symfs_umount r
  # With a second source, in the same place: what was refused before is there now.
  # shellcheck disable=SC2086
  symfs_mount r $limits --source "gdb@$url" --source "gdb@$URL_good"
  check_mount "$what, and a good source" ok ok "$MNT_r"
  same_file "$MNT_r/$name" "$file"
  symfs_umount r
done
check_stores "at the end"

# ---- slow, but alive ------------------------------------------------------------------------------
# Nothing ends it but the reader, and a signal does so at once.
new_file
upstream_fault "$URL_bad" "/$name" trickle 2000
wait_for tries ok stat "$MNT_m/$name"
stat_error=$(errno_of "$error") stat_took=$took
[ "$error" = ok ] || fail "a trickle: stat: $error"
open_took=$("$top_builddir/tests/helpers/kill-time" "$MNT_m" 1 open INT "$MNT_m/$name") ||
  fail "a trickle: SIGINT does not end the wait"
open_error=EINTR cc_exit=-
upstream_clear "$URL_bad"
table_row "a trickle, and SIGINT" "no"
wait_for arrives "$name" || fail "a trickle: the file does not come afterwards"
new_file
upstream_fault "$URL_bad" "/$name" trickle 150000
poll_begin
check_mount "a faster trickle" ok ok "$MNT_m"
poll_end "a faster trickle"
table_row "a trickle that ends" "the file"
upstream_clear "$URL_bad"

# ---- what is no fault, when it is treated well -----------------------------------------------------
new_file
cc_exit=-
for hop in 1 2 3; do upstream_fault "$URL_bad" "/hop$hop" redirect "/hop$((hop + 1))"; done
mkdir -p "$ROOT/moved" && cp "$file" "$ROOT/moved/file"
upstream_fault "$URL_bad" /hop4 redirect /moved/file
upstream_fault "$URL_bad" "/$name" redirect /hop1
check_mount "a chain of redirects" ok ok "$MNT_m"
same_file "$MNT_m/$name" "$file"
table_row "a chain of five redirects" "the file"
upstream_clear "$URL_bad"
new_file
upstream_fault "$URL_bad" "/$name" bad-range
check_mount "wrong ranges" ok ok "$MNT_m"
same_file "$MNT_m/$name" "$file"
table_row "wrong ranges: none are asked for" "the file"
upstream_clear "$URL_bad"

touch "$TMP/poll-stop"
wait_gone $POLLER || fail "the reader does not end"
[ ! -s "$TMP/poll-wrong" ] || fail "bytes that are not the file were read: $(cat "$TMP/poll-wrong")"
if [ -n "${SYMFS_FAULT_TABLE:-}" ]; then
  printf '%-36s  %-12s %5s  %-12s %5s  %-4s  %s\n' fault stat ms open ms get remembered
  cat "$TMP/table"
fi
symfs_umount m
symfs_umount p
say "$cases kinds of fault"
