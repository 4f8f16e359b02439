#!/bin/sh
# A symfs whose source is another symfs: that one's made Breakpad files keep their mark (X-Symfs-Synthesized) in the
# index and in the next answer, are downloaded once, never go into a bucket, and are no input of GSYM or stacks. A
# file that a source published has no mark.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy readelf curl cmp getfattr
unset http_proxy all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE \
  AWS_REGION \
  AWS_DEFAULT_REGION AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE
umask 077

make_program "$TMP/p" Prog
for f in Prog libProg.so; do
  put_gdb "$TMP/both" "$TMP/p/debug/$f.debug" .debug
  put_gdb "$TMP/both" "$TMP/p/bin/$f"
done
id_of() { "$SYMFS" sym "$TMP/p/debug/$1.debug" | head -n 1 | cut -d ' ' -f 4; }
ID=$(id_of Prog)
LIB_ID=$(id_of libProg.so)
MADE=Prog/$ID/Prog.sym
# The library's Breakpad file is published: a file of its own beside the made one.
OTHER=libProg.so/$LIB_ID/libProg.so.sym
mkdir -p "$TMP/sym/${OTHER%/*}"
{ echo "MODULE Linux x86_64 $LIB_ID libProg.so" && echo 'FUNC 1000 10 0 published'; } >"$TMP/sym/$OTHER"

symfs_serve a --source "gdb@$TMP/both" --source "breakpad@$TMP/sym"
mark() { fetch_url -o "$TMP/body" -D "$TMP/head" "$@" || fail "$*"; tr -d '\r' <"$TMP/head" |
  sed -n 's/^[Xx]-[Ss]ymfs-[Ss]ynthesized: //p'; }
maker=$(mark "$URL_a/breakpad/$MADE")
case $maker in 'symfs sym '[0-9]*) ;; *) fail "the server says: $maker" ;; esac
cp "$TMP/body" "$TMP/made.sym"
[ "$(mark -I "$URL_a/breakpad/$MADE")" = "$maker" ] || fail "HEAD: $(cat "$TMP/head")"
[ -z "$(mark "$URL_a/breakpad/$OTHER")" ] || fail "a published file has the mark: $(cat "$TMP/head")"

# ---- the next one, with a bucket -----------------------------------------------------------------
mkdir "$TMP/root"
"$top_builddir/tests/helpers/s3" --root "$TMP/root" --bucket symbols --access-key A --secret-key S3CR3T \
  --log "$TMP/s3.requests" >"$TMP/s3.out" 2>"$TMP/s3.log" &
PIDS="$PIDS $!"
wait_for grep -q 'listening on' "$TMP/s3.out" || fail "s3 did not start"
printf '[symfs]\nallow-unsandboxed = yes\n[bucket]\nbucket = symbols\naccess-key = A\nsecret-key = S3CR3T
endpoint = %s\n[source "a"]\nurl = %s\nlayout = breakpad\n' \
  "$(sed -n 's/^listening on //p' "$TMP/s3.out")" "$URL_a" >"$TMP/conf"
symfs_serve b --config "$TMP/conf"
[ "$(mark "$URL_b/breakpad/$MADE")" = "$maker" ] || fail "the next server, while it arrives: $(cat "$TMP/head")"
same_file "$TMP/made.sym" "$TMP/body"
[ "$(mark "$URL_b/breakpad/$MADE")" = "$maker" ] || fail "the next server, from its store: $(cat "$TMP/head")"
same_file "$TMP/made.sym" "$TMP/body"
[ -z "$(mark "$URL_b/breakpad/$OTHER")" ] || fail "the published file got the mark: $(cat "$TMP/head")"
same_file "$TMP/sym/$OTHER" "$TMP/body"
published() { grep -rls "libProg.so" "$TMP/root/k" | grep -q .; }
wait_for published || fail "the published file is not in the bucket: $(find "$TMP/root")"
drained() { fetch_url "$URL_b/metrics" | grep -q '^symfs_bucket_queued_files 0$'; }
wait_for drained || fail "the queue does not drain"
! find "$TMP/root" -type f -exec cmp -s "$TMP/made.sym" {} \; -print | grep -q . ||
  fail "the bucket has the made file"
! grep -rqs "Prog/$ID" "$TMP/root/k" || fail "the bucket has a key of the made file"

# ---- a mount, whose source then ends -------------------------------------------------------------
symfs_mount m --source "breakpad@$URL_a"
same_file "$TMP/made.sym" "$MNT_m/breakpad/$MADE"
same_file "$TMP/sym/$OTHER" "$MNT_m/breakpad/$OTHER"
attribute() { getfattr --only-values -n user.symfs.synthesized "$1" 2>/dev/null; }
[ "$(attribute "$MNT_m/breakpad/$MADE")" = "$maker" ] || fail "the attribute: $(attribute "$MNT_m/breakpad/$MADE")"
[ -z "$(attribute "$MNT_m/breakpad/$OTHER")" ] || fail "a published file has the attribute"
gsym() { # PATH OF THE BREAKPAD FILE: looks an address up in GSYM of it
  "$SYMFS" gsym lookup 0x1000 "$MNT_m/gsym/breakpad/$1.gsym" >"$TMP/got" 2>&1
}
gsym "$OTHER" || fail "no GSYM of a published file: $(cat "$TMP/got")"
grep -q published "$TMP/got" || fail "GSYM of a published file: $(cat "$TMP/got")"
gsym "$MADE" && fail "GSYM of a made file: $(cat "$TMP/got")"
say "$(cat "$TMP/got")"
stack() { # NAME ID
  printf '{"memoryMap":[["%s","%s"]],"stacks":[[[0,4100]]],"version":5}' "$1" "$2" >"$TMP/request"
  "$SYMFS" symbolicate --no-default-sources --cache "$TMP/store-m" --source "breakpad@$URL_a" <"$TMP/request" \
    2>"$TMP/err"
}
stack libProg.so "$LIB_ID" >"$TMP/stack"
grep -q published "$TMP/stack" || fail "a stack by a published file: $(cat "$TMP/stack" "$TMP/err")"
stack Prog "$ID" >"$TMP/stack"
grep -q '"function"' "$TMP/stack" && fail "a stack by a made file: $(cat "$TMP/stack")"
"$SYMFS" best --no-default-sources --cache "$TMP/store-best" --source "breakpad@$URL_a" --for unwind \
  "$TMP/p/bin/Prog" >"$TMP/best" 2>&1
grep -q 'another symfs made it' "$TMP/best" || fail "best: $(cat "$TMP/best")"
symfs_umount m

# ---- a published file comes later ----------------------------------------------------------------
# It has public symbols alone, and is better nevertheless.
mkdir -p "$TMP/late/${MADE%/*}" "$TMP/late-dir/${MADE%/*}"
{ echo "MODULE Linux x86_64 $ID Prog" && echo 'PUBLIC 1000 0 published'; } >"$TMP/late/$MADE"
cp "$TMP/late/$MADE" "$TMP/late-dir/$MADE"
upstream_start late --root "$TMP/late"
got() { # STORE SOURCE...: gets the file into $TMP/got.sym
  g_store=$1
  shift
  for s in "$@"; do set -- "$@" --source "breakpad@$s" && shift; done
  "$SYMFS" get --no-default-sources --cache "$g_store" "$@" -o "$TMP/got.sym" "breakpad/$MADE" >"$TMP/said" 2>&1 ||
    fail "get: $(cat "$TMP/said")"
}
why() { "$SYMFS" why --no-default-sources --cache "$1" --source "breakpad@$URL_a" --source "breakpad@$2" \
  "breakpad/$MADE"; }
got "$TMP/s1" "$URL_a"
same_file "$TMP/made.sym" "$TMP/got.sym"
cp -R "$TMP/s1" "$TMP/s2"
why "$TMP/s1" "$URL_b" | grep -q '^        another symfs made it; the next request asks' ||
  fail "why: $(why "$TMP/s1" "$URL_b")"
# Another symfs that has the made file, too: the stored one stays.
got "$TMP/s1" "$URL_a" "$URL_b"
same_file "$TMP/made.sym" "$TMP/got.sym"
why "$TMP/s1" "$URL_b" >"$TMP/why"
grep -q '^        another symfs made it; no source has' "$TMP/why" || fail "why, after two: $(cat "$TMP/why")"
got "$TMP/s1" "$URL_a" "$URL_late"
same_file "$TMP/late/$MADE" "$TMP/got.sym"
got "$TMP/s1" "$URL_a"
same_file "$TMP/late/$MADE" "$TMP/got.sym"
got "$TMP/s2" "$URL_a" "$TMP/late-dir"
same_file "$TMP/late/$MADE" "$TMP/got.sym"
got "$TMP/s3" "$URL_a" "$URL_late"
same_file "$TMP/late/$MADE" "$TMP/got.sym"

symfs_unserve a
symfs_mount again --cache "$TMP/store-m" --source "breakpad@$URL_a"
same_file "$TMP/made.sym" "$MNT_again/breakpad/$MADE"
[ "$(attribute "$MNT_again/breakpad/$MADE")" = "$maker" ] || fail "the index lost the mark"
symfs_umount again
say "$maker: through two servers and a mount"
