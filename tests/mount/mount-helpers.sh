#!/bin/sh
# mount(8) finds symfs by its two helpers: -t fuse.symfs, -t symfs, and lines of fstab. mount(8)
# looks for helpers in /sbin only, so the test runs in a mount namespace of its own, with an overlay
# there.
# SPDX-License-Identifier: LGPL-2.1-or-later
if [ -z "${SYMFS_INSIDE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "SKIP: not root"; exit 77; }
  apart=${top_srcdir:-$(dirname "$0")/../..}/scripts/apart
  why=$("$apart" true 2>&1) || { echo "SKIP: no mount namespace here: $why"; exit 77; }
  SYMFS_INSIDE=1 exec "$apart" sh "$0"
fi
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need gcc objcopy strip readelf curl
need_mount
sbin=$(readlink -f /sbin)
# mount(8) makes a path of a SRC that is one where it is called.
top_srcdir=$(cd "$top_srcdir" && pwd)
cd "$TMP" || exit 1

MOUNTS="$MOUNTS $TMP/mnt $TMP/over"
mkdir "$TMP/over" "$TMP/root" "$TMP/cache" "$TMP/mnt" "$TMP/with blank"
mount -t tmpfs none "$TMP/over" && mkdir "$TMP/over/up" "$TMP/over/work" &&
  mount -t overlay none -o "lowerdir=$sbin,upperdir=$TMP/over/up,workdir=$TMP/over/work" "$sbin" 2>/dev/null ||
  skip "cannot put an overlay over $sbin"
copy_symfs "$TMP/bin"
for name in mount.fuse.symfs mount.symfs; do
  sed "s|@bindir@|$TMP/bin|g" "$top_srcdir/scripts/mount-helper.in" >"$sbin/$name"
  chmod 755 "$sbin/$name"
done

make_program "$TMP/made" prog
put_gdb "$TMP/root" "$TMP/made/debug/prog.debug" .debug
prog=$(gdb_path "$(build_id "$TMP/made/full/prog")" .debug)
upstream_start plain --root "$TMP/root"
options="no-default-sources,cache-dir=$TMP/cache,source=gdb@$URL_plain"

# works WHAT: what was mounted serves, and umount(8) ends it.
works() {
  [ -f "$TMP/mnt/.symfs/version" ] || fail "$1: it returned, and the mount does not answer"
  w_pid=$(stat_of "$TMP/mnt" pid)
  PIDS="$PIDS $w_pid"
  cmp "$TMP/mnt/$prog" "$TMP/root/$prog" || fail "$1: read"
  grep -q " $TMP/mnt .* - fuse.symfs ${2:-symfs} " /proc/self/mountinfo ||
    fail "$1: $(grep " $TMP/mnt " /proc/self/mountinfo)"
  grep -q "^quota = ${3:-0}\$" "$TMP/mnt/.symfs/config" || fail "$1: $(cat "$TMP/mnt/.symfs/config")"
  umount "$TMP/mnt" || fail "$1: umount"
  wait_gone "$w_pid" || fail "$1: the daemon outlives its mount"
}

for type in fuse.symfs symfs; do
  mount -t $type symfs "$TMP/mnt" -o "$options" 2>"$TMP/err" || fail "mount -t $type: $? $(cat "$TMP/err")"
  works "mount -t $type"
  mount -t $type symbols "$TMP/mnt" -o "ro,nosuid,nodev,quota=1G,$options" || fail "mount -t $type with options"
  works "mount -t $type with options" symbols 1073741824

  # Lines of fstab, with what people and systemd write there.
  cat >"$TMP/fstab" <<EOF
# a comment
symfs $TMP/mnt $type noauto,_netdev,nofail,x-systemd.automount,allow_other,$options 0 0
EOF
  mount --fstab "$TMP/fstab" "$TMP/mnt" || fail "fstab with $type"
  works "fstab with $type"
  mount -a --fstab "$TMP/fstab" || fail "mount -a"
  mountpoint -q "$TMP/mnt" && fail "noauto was mounted"

  mount -t $type symfs "$TMP/mnt" -o "$options,frobnicate=1" 2>"$TMP/err" &&
    fail "$type: an option that does not exist"
  grep -q 'frobnicate' "$TMP/err" || fail "$type: an option that does not exist: $(cat "$TMP/err")"
  mountpoint -q "$TMP/mnt" && fail "$type: mounted in spite of a mistake"
  mount -f -t $type symfs "$TMP/mnt" -o "$options" || fail "mount -f"
  mountpoint -q "$TMP/mnt" && fail "mount -f mounted"
done

# The stock helper of libfuse, where ours is not installed.
rm "$sbin/mount.fuse.symfs"
if command -v mount.fuse >/dev/null || command -v mount.fuse3 >/dev/null; then
  copy_symfs "$sbin" # it asks the shell for it, with a PATH of its own
  mount -t fuse.symfs symfs "$TMP/mnt" -o "$options" 2>"$TMP/err" || fail "mount.fuse: $(cat "$TMP/err")"
  works "mount.fuse"
fi
exit 0
