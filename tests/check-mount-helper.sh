#!/bin/sh
# Checks that the mount helper turns every form in which mount(8) calls it into `symfs SRC DIR -o
# OPTS`.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

mkdir "$tmp/bin" "$tmp/a dir"
cat >"$tmp/bin/symfs" <<'EOF'
#!/bin/sh
printf '<%s>' "$@"
EOF
sed "s|@bindir@|$tmp/bin|g" "$top/scripts/mount-helper.in" >"$tmp/mount.fuse.symfs"
chmod 755 "$tmp/bin/symfs" "$tmp/mount.fuse.symfs"

failed=0 seen=0
expect() # EXIT OUTPUT ARGS...
{
	code=$1 out=$2
	shift 2
	got=$("$tmp/mount.fuse.symfs" "$@" 2>"$tmp/err")
	r=$?
	seen=$((seen + 1))
	[ $r -eq "$code" ] && [ "$got" = "$out" ] && return
	echo "mount.fuse.symfs $*: exit $r, $got; expected exit $code, $out; $(cat "$tmp/err")"
	failed=1
}

# As libmount 2.38 calls it, written down from real calls.
expect 0 '<symfs></mnt><-o><ro>' symfs /mnt -o rw
options=ro,nosuid,noexec,nodev,allow_other,source=microsoft,source=debuginfod@http://127.0.0.1:1/
expect 0 "<symfs></mnt><-o><$options>" symfs /mnt -o $options,_netdev,nofail,user
expect 0 '' symfs /mnt -f -n -v -o rw
expect 0 '<symfs></mnt><-o><ro>' symfs /mnt -s -n -v -t fuse.symfs
# As util-linux's manual writes it, and as people do.
expect 0 '' symfs /mnt -sfnv -o rw -t fuse.symfs
expect 0 '<symfs></mnt><-o><quota=1G,uid=5>' -o quota=1G symfs /mnt -o x-systemd.automount,uid=5
expect 0 "<a source><$tmp/a dir><-o><cache-dir=/var/a b>" 'a source' "$tmp/a dir" -o 'cache-dir=/var/a b'
expect 0 '<*></mnt><-o><source=*>' '*' /mnt -o 'source=*'
expect 1 '' symfs /mnt -N /proc/1/ns/mnt -o rw
expect 1 '' symfs
expect 1 '' symfs /mnt more
expect 1 '' symfs /mnt -Z
rm "$tmp/bin/symfs"
expect 2 '' symfs /mnt -o rw
echo "$seen calls seen"
exit $failed
