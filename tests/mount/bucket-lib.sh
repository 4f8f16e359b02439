# Shared code of the tests of a team's bucket: a store that speaks S3, a section [bucket] for it, files to upload, and
# questions to servers. After lib.sh:
#
#   . "$top_srcdir/tests/mount/bucket-lib.sh"
#   s3_start s3 "$TMP/root"
#   bucket_conf 'timeout = 600s' >"$TMP/conf"
#   small_programs cd 3
#   symfs_serve a --config "$TMP/conf" --upload
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

need gcc curl sha256sum
# The credentials are those of the section alone, and other users must not read them.
unset http_proxy https_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN \
  AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE \
  AWS_CONFIG_FILE
umask 077

# s3_start NAME ROOT [ARGS...]: tests/helpers/s3, whose bucket "symbols" is the directory ROOT, for $ACCESS and
# $SECRET; sets s3_url and s3_pid. Its requests are in $TMP/NAME.requests. A program $TMP/hook runs before each of
# them.
s3_start() {
  s3_name=$1 s3_root=$2
  shift 2
  mkdir -p "$s3_root"
  rm -f "$TMP/$s3_name.out"
  "$top_builddir/tests/helpers/s3" --root "$s3_root" --bucket symbols --access-key "$ACCESS" --secret-key "$SECRET" \
    --hook "$TMP/hook" --log "$TMP/$s3_name.requests" "$@" >"$TMP/$s3_name.out" 2>>"$TMP/$s3_name-store.log" &
  s3_pid=$!
  PIDS="$PIDS $s3_pid"
  wait_for grep -q 'listening on' "$TMP/$s3_name.out" || fail "the store $s3_name did not start"
  s3_url=$(sed -n 's/^listening on //p' "$TMP/$s3_name.out")
}

# bucket_conf [LINE...]: a section for the store that started last, and lines after it.
bucket_conf() {
  printf '[bucket]\nendpoint = %s\nbucket = symbols\naccess-key = %s\nsecret-key = %s\nstall-timeout = 100s\n' \
    "$s3_url" "$ACCESS" "$SECRET"
  [ $# = 0 ] || printf '%s\n' "$@"
}

# small_programs WORD NUMBER: compiles $TMP/prog1 and so on, which all differ. Their build ids begin with WORD.
small_programs() {
  sp_word=$1 sp_n=0
  echo 'int main(void) { return 0; }' >"$TMP/p.c"
  while [ $sp_n -lt "$2" ]; do
    sp_n=$((sp_n + 1))
    ${CC_PLAIN:-gcc} -g -DN=$sp_n -Wl,--build-id=0x"$(id $sp_n)" -o "$TMP/prog$sp_n" "$TMP/p.c" || fail gcc
  done
}
# Of a program, by its number.
id() { printf '%s%02d%036d' "$sp_word" "$1" 9; }
path() { echo "debuginfod/buildid/$(id "$1")/executable"; }
sha() { sha256sum <"$TMP/prog$1" | cut -d' ' -f1; }

# A request; prints the status, and the body is in $TMP/got.
code() { fetch_url -o "$TMP/got" -w '%{http_code}' "$@"; }
number() { fetch_url "$1/metrics" | sed -n "s/^symfs_bucket_$2 //p"; } # URL NAME
drained() { [ "$(number "$1" queued_files)" = 0 ]; } # URL
sql() { # SERVER TEXT
  sqlite3 -cmd '.timeout 300000' "$TMP/store-$1/index.sqlite" "$2" || fail "sql on $1: $2"
}

# Runs the lines of stdin once, in the moment of the first request that matches.
hook() { # METHOD PATTERN
  rm -f "$TMP/hook" "$TMP/hook.ran"
  {
    printf '#!/bin/sh\ncase "$1 $2" in "%s "%s) ;; *) exit 0 ;; esac\n' "$1" "$2"
    printf 'mv "%s" "%s" 2>/dev/null || exit 0\n' "$TMP/hook" "$TMP/hook.ran"
    cat
  } >"$TMP/hook.new"
  chmod +x "$TMP/hook.new" && mv "$TMP/hook.new" "$TMP/hook"
}
hook_ran() { [ -e "$TMP/hook.ran" ] || fail "no request ran the hook: $(tail -n 30 "$TMP"/*.requests)"; }
