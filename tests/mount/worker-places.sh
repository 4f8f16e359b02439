#!/bin/sh
# A daemon of root whose programs lie where its rights do not reach: below /root, in the home of another user, below
# a path with spaces. It makes GSYM, Breakpad files and members of archives there, and no other file there becomes
# readable. A daemon that cannot run one of its programs does not start, and names it. The test has a mount namespace
# with /root and /home of its own.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ -z "${SYMFS_INSIDE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "SKIP: not root"; exit 77; }
  apart=${top_srcdir:-$(dirname "$0")/../..}/scripts/apart
  why=$("$apart" true 2>&1) || { echo "SKIP: no mount namespace here: $why"; exit 77; }
  SYMFS_INSIDE=1 exec "$apart" sh "$0"
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf tar setpriv
case $(readlink -f "$TMP")/ in /root/* | /home/*) skip "temporary files lie below /root or /home" ;; esac

# ---- what the daemons find, made before /root and /home are covered -------------------------------
chmod 755 "$TMP"
copy_symfs "$TMP/flat"
mkdir -p "$TMP/prefix/bin" "$TMP/prefix/libexec/symfs" "$TMP/tree" "$TMP/pack/files"
mv "$TMP/flat/symfs" "$TMP/prefix/bin" && mv "$TMP/flat/libexec"/* "$TMP/prefix/libexec/symfs" || fail "no prefix"
cp "$top_builddir/tests/helpers/broken-worker" "$TMP/broken-worker" || fail "no broken worker"
SYMFS=$TMP/prefix/bin/symfs
make_program "$TMP/made" one
make_program "$TMP/made" two
cp "$TMP/made/debug/one.debug" "$TMP/made/bin/one" "$TMP/tree"
cp "$TMP/made/debug/two.debug" "$TMP/pack/files"
tar -C "$TMP/pack" -czf "$TMP/tree/two.tar.gz" files || fail tar
one=$(build_id "$TMP/made/full/one")
two=$(build_id "$TMP/made/full/two")
"$SYMFS" gsym create -o "$TMP/one.gsym" "$TMP/made/debug/one.debug" || fail "gsym create"
"$SYMFS" sym --name one -o "$TMP/one.sym" "$TMP/made/debug/one.debug" "$TMP/made/bin/one" || fail "sym"
sym=breakpad/one/$(head -n 1 "$TMP/one.sym" | cut -d ' ' -f 4)/one.sym
grep -q '^STACK CFI INIT' "$TMP/one.sym" || fail "no unwind rules"
told() { # NAME PATH: the debug file of a program, with which the broken worker crashes if it can open PATH
  make_program "$TMP/$1" "$1"
  printf 'worker: open %s\n' "$2" >"$TMP/words"
  objcopy --add-section .words="$TMP/words" "$TMP/$1/debug/$1.debug" "$TMP/tree/$1.debug" || fail objcopy
  eval "$1=gsym/$(gdb_path "$(build_id "$TMP/$1/debug/$1.debug")" .debug.gsym)"
}
echo secret >"$TMP/secret"
told beside /root/zz/libexec/symfs/secret
told above /root/secret
told outside "$TMP/secret"

mount -t tmpfs -o mode=700 none /root && mount -t tmpfs -o mode=755 none /home ||
  skip "cannot mount over /root and /home"
put() { # DIR: the prefix at another place; sets SYMFS
  mkdir -p "$1" && cp -R "$TMP/prefix/." "$1" || fail "no copy at $1"
  SYMFS=$1/bin/symfs
}

# makes NAME ARGS...: a mount of its own makes every kind of file.
makes() {
  mk_name=$1
  shift
  symfs_mount "$mk_name" --source "scan@$TMP/tree" "$@"
  eval "mk_mnt=\$MNT_$mk_name"
  same_file "$mk_mnt/gsym/$(gdb_path "$one" .debug.gsym)" "$TMP/one.gsym"
  same_file "$mk_mnt/$sym" "$TMP/one.sym"
  same_file "$mk_mnt/gdb/$(gdb_path "$two" .debug)" "$TMP/made/debug/two.debug"
}

# ---- places ----------------------------------------------------------------------------------------
put /root/zz
makes root
symfs_umount root
makes other --run-as nobody
symfs_umount other
mkdir -m 700 /home/user && put "/home/user/symbols"
chown -R 65534:65534 /home/user
makes owned
symfs_umount owned
put "/home/a b/c  d"
makes blank
symfs_umount blank

# ---- nothing else becomes readable -----------------------------------------------------------------
# Both files would be read by a daemon of root without Landlock.
put /root/zz
echo secret >/root/secret
echo secret >/root/zz/libexec/symfs/secret
cp "$TMP/broken-worker" /root/zz/libexec/symfs/convert
symfs_mount shut --source "scan@$TMP/tree"
cat "$MNT_shut/$outside" >/dev/null 2>&1 && fail "the check itself: the worker cannot open a file outside"
if grep -q 'no Landlock' "$TMP/shut.log"; then
  say "no Landlock here"
else
  cat "$MNT_shut/$beside" >/dev/null || fail "a file beside the programs is readable"
  cat "$MNT_shut/$above" >/dev/null || fail "a file above the programs is readable"
fi
# A program that goes while the daemon runs: the message names the program and its error.
rm /root/zz/libexec/symfs/convert
cat "$MNT_shut/gsym/$(gdb_path "$two" .debug.gsym)" >/dev/null 2>&1 && fail "made without a worker"
grep -q ': the worker /root/zz/libexec/symfs/convert did not start: No such file or directory' "$TMP/shut.log" ||
  fail "the log does not name the program: $(cat "$TMP/shut.log")"
symfs_umount shut

# ---- libraries elsewhere ---------------------------------------------------------------------------
# A program whose library lies below /root: the daemon still starts, for root.
put /root/zz
mkdir /root/zz/lib
echo 'int number(void) { return 1; }' >"$TMP/number.c"
cat >"$TMP/program.c" <<'END'
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
int number(void);
static int print(struct dl_phdr_info *i, size_t n, void *c) { return puts(i->dlpi_name) < 0; }
int main(void) { return dl_iterate_phdr(print, 0) < 0 || number() != 1; }
END
${CC_PLAIN:-gcc} -shared -fPIC -o /root/zz/lib/libnumber.so "$TMP/number.c" &&
  ${CC_PLAIN:-gcc} -o /root/zz/libexec/symfs/unwind "$TMP/program.c" -L/root/zz/lib -lnumber \
    -Wl,-rpath,/root/zz/lib || fail gcc
symfs_mount library --source "scan@$TMP/tree"
symfs_umount library

# ---- a start that is refused -----------------------------------------------------------------------
refused() { # PROGRAM ERROR ARGS...: the start ends with 4 and this text
  rf_text="the worker /root/zz/libexec/symfs/$1 did not start: $2"
  shift 2
  timeout 300 "$SYMFS" "$@" >"$TMP/out" 2>&1
  rf_status=$?
  [ $rf_status = 4 ] || fail "$*: exit $rf_status, wanted 4: $(cat "$TMP/out")"
  grep -q "$rf_text.*; symfs needs all of its programs: " "$TMP/out" || fail "$*: no word of it: $(cat "$TMP/out")"
  ! is_mounted "$TMP/mnt" || fail "$*: mounted"
}
mkdir "$TMP/mnt"
MOUNTS="$MOUNTS $TMP/mnt"
to_mount="mount --no-default-sources --source scan@$TMP/tree --cache $TMP/store-refused"
to_serve="serve --no-default-sources --source scan@$TMP/tree --cache $TMP/store-refused --listen 127.0.0.1:0"
rm /root/zz/lib/libnumber.so
refused unwind '.*libnumber.so' $to_mount "$TMP/mnt"
refused unwind '.*libnumber.so' $to_mount -f "$TMP/mnt"
rm /root/zz/libexec/symfs/unwind
refused unwind 'No such file or directory' $to_mount "$TMP/mnt"
refused unwind 'No such file or directory' $to_serve
put /root/zz
chmod 644 /root/zz/libexec/symfs/frames
refused frames 'Permission denied' $to_mount "$TMP/mnt"
refused frames 'Permission denied' $to_serve
chmod 700 /root/zz/libexec/symfs/frames
refused frames 'Permission denied' $to_mount --run-as nobody "$TMP/mnt"
rm /root/zz/libexec/symfs/frames
printf '#!/bin/sh\nexit 5\n' >/root/zz/libexec/symfs/frames
chmod 755 /root/zz/libexec/symfs/frames
refused frames 'it ended with status 5' $to_serve
exit 0
