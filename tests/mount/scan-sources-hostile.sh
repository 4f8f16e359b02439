#!/bin/sh
# Source files that programs of a scanned tree name, and that must not be served: files of this machine, names with
# `..`, links that leave the tree, devices, FIFOs, private files, and members of archives that are not files. A tree
# has one program that names all of them; the server runs as root, and as another user by a mount.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc readelf curl python3 tar cmp
[ "$(id -u)" = 0 ] || skip "not root: there is no file here that only root may read"
chmod 755 "$TMP"

T=$TMP/tree
mkdir -p "$T/src/sub" "$TMP/out/deep" "$TMP/roots/one"
chmod 755 "$T" "$T/src"
secret="SECRET of this machine"
echo "$secret" >"$TMP/out/secret.c"
echo "$secret" >"$TMP/out/deep/secret.c"
echo "$secret" >"$TMP/out/private.c"
chmod 600 "$TMP/out/private.c"
echo "$secret" >"$TMP/treesecret.c"
echo "int plain;" >"$T/src/plain.c"
echo "int kept;" >"$TMP/roots/one/kept.c"

# ---- what lies in the tree -------------------------------------------------------------------------------------
cd "$T/src" || fail "cd"
ln -s "$TMP/out/secret.c" absolute.c
ln -s ../../out/secret.c relative.c
ln -s ../../out outdir
ln -s "$TMP/out" outdir2
ln -s / rootdir
ln -s /etc etc
ln -s /proc/self proc
ln -s absolute.c chain1.c
ln -s chain1.c chain2.c
ln -s sub/../../../out/secret.c dots.c
ln -s outdir/secret.c through.c
ln -s loop2.c loop1.c
ln -s loop1.c loop2.c
ln -s self.c self.c
ln -s /dev/zero zero.c
ln -s /dev/stdin stdin.c
ln -s /proc/self/fd/0 fd0.c
ln -s "$T/src/plain.c" home.c
ln -s nowhere.c dangling.c
ln -s /proc/self/root procroot
mkfifo fifo.c
mknod device.c c 1 5 2>/dev/null || part_skipped "mknod: no device"
mknod block.c b 7 0 2>/dev/null
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket.c")' || fail "socket"
mkdir directory.c closed
echo "$secret" >private.c
chmod 600 private.c
echo "$secret" >group.c
chmod 640 group.c
echo "$secret" >closed/file.c
chmod 700 closed
ln "$TMP/out/private.c" hard.c
ln -s private.c toprivate.c
ln -s closed toclosed
ln -s plain.c link.c
ln -s sub/.. here
cd "$TMP" || fail "cd"

# ---- names ------------------------------------------------------------------------------------------------------
# One name a line: what the program names, and a client then asks for.
names=$TMP/names
{
  for at in /etc/shadow /etc/passwd /etc/../etc/shadow //etc/shadow /./etc/shadow /proc/self/environ /proc/self/maps \
    /proc/self/cmdline /proc/1/environ /proc/version /proc/kmsg /sys/kernel/notes /dev/zero /dev/random /dev/stdin \
    /dev/null /root/.bashrc /root/.ssh/id_rsa /run/secrets /var/log/syslog; do echo "$at"; done
  for at in secret.c deep/secret.c private.c; do echo "$TMP/out/$at"; done
  for at in .. ../.. ../../out/secret.c ../../treesecret.c ../../../../../../../../etc/shadow \
    sub/../../../out/secret.c ./.././../out/secret.c ..//..//out//secret.c outdir/../../out/secret.c \
    sub/../../../../../../../../../../etc/passwd; do
    echo "$T/src/$at"
  done
  for at in absolute.c relative.c outdir/secret.c outdir/deep/secret.c outdir2/secret.c "rootdir$TMP/out/secret.c" \
    rootdir/etc/shadow rootdir/etc/passwd etc/shadow etc/passwd proc/environ proc/maps proc/root/etc/shadow chain1.c \
    chain2.c dots.c through.c loop1.c loop2.c self.c zero.c stdin.c fd0.c home.c dangling.c procroot/etc/shadow \
    fifo.c device.c block.c socket.c directory.c private.c group.c closed/file.c hard.c toprivate.c toclosed/file.c \
    sub plain.c/ plain.c/x absent.c closed .; do
    echo "$T/src/$at"
  done
  # Beside a root, and with the beginning of its name.
  for at in "$TMP/roots/oneself.c" "$TMP/roots/two/x.c" "$TMP/roots/one" "$TMP/roots/one/../two/x.c" "${T}secret.c" \
    "$T" "$T/.." /; do echo "$at"; done
  # Members of the archive: links, a device, a directory, and a file of another name.
  for at in link.c hardlink.c device.c fifo.c . none.c; do echo "/usr/src/a/$at"; done
  echo "$T/src/$(printf 'long%0.s' $(seq 1 200)).c"
} >"$names"
mkdir "$TMP/roots/two" && echo "$secret" >"$TMP/roots/two/x.c" && echo "$secret" >"$TMP/roots/oneself.c"
n=$(wc -l <"$names")
[ "$n" -ge 60 ] || fail "only $n names"

python3 - "$T/packed.tar" <<'EOF' || fail "tar"
import io, sys, tarfile
t = tarfile.open(sys.argv[1], "w")
def add(name, kind, link="", data=b""):
    i = tarfile.TarInfo(name)
    i.type, i.linkname, i.size = kind, link, len(data)
    t.addfile(i, io.BytesIO(data))
add("usr/src/a/real.c", tarfile.REGTYPE, data=b"int real;\n")
add("usr/src/a/link.c", tarfile.SYMTYPE, "/etc/passwd")
add("usr/src/a/hardlink.c", tarfile.LNKTYPE, "/etc/passwd")
add("usr/src/a/device.c", tarfile.CHRTYPE)
add("usr/src/a/fifo.c", tarfile.FIFOTYPE)
add("../../etc/shadow", tarfile.REGTYPE, data=b"int shadow;\n")
t.close()
EOF

# ---- the program -------------------------------------------------------------------------------------------------
# A line marker names each file; every one has a line of code.
marked() { # OUT NAMES OPTIONS...
  ma_out=$1 ma_names=$2
  shift 2
  awk 'BEGIN { print "int x;" } { printf "# 1 \"%s\"\nvoid f%d(void) { x++; }\n", $0, NR }
    END { print "# 1 \"/nowhere/main.c\"\nint main(void) { return x; }" }' "$ma_names" >"$TMP/marked.i"
  gcc -g -fpreprocessed "$@" -Wl,--build-id="$(some_build_id hostile "$ma_out")" -o "$ma_out" "$TMP/marked.i" ||
    fail "gcc $ma_out"
}
printf '%s\n' "$T/src/plain.c" "$T/src/link.c" "$T/src/here/plain.c" "$TMP/roots/one/kept.c" "/moved/x.c" \
  /usr/src/a/real.c >"$TMP/good"
echo "int moved;" >"$TMP/roots/x.c"
for version in 4 5; do
  cat "$TMP/good" "$names" >"$TMP/all"
  marked "$T/prog$version" "$TMP/all" -gdwarf-$version
  readelf --debug-dump=rawline "$T/prog$version" 2>/dev/null | grep -q 'shadow' || fail "the program names no file"
done
cat >"$TMP/conf" <<EOF
[source "tree"]
path = $T
layout = scan
source-roots = $TMP/roots/one, /moved=$TMP/roots
EOF
symfs_mount m --config "$TMP/conf"
symfs_serve s --config "$TMP/conf"
wait_for grep -q '	tree	scan	scan	.*there' "$MNT_m/.symfs/sources" ||
  fail "sources: $(cat "$MNT_m/.symfs/sources")"

asked=0
for version in 4 5; do
  id=$(build_id "$T/prog$version")
  while read -r name; do
    status=$(fetch_url --path-as-is -o "$TMP/body" -w '%{http_code}' "$URL_s/buildid/$id/source$name")
    [ "$status" = 200 ] || fail "$name: $status: $(cat "$TMP/s.log")"
    cat "$MNT_m/source/$id$name" >"$TMP/got" || fail "$name by the mount"
    same_file "$TMP/body" "$TMP/got"
    grep -q '^int ' "$TMP/body" || fail "$name: $(cat "$TMP/body")"
  done <"$TMP/good"
  while read -r name; do
    asked=$((asked + 1))
    for as in "$name" "$(printf %s "$name" | sed 's/\./%2e/g; s,/,%2f,g; s,^%2f,/,')"; do
      status=$(fetch_url --path-as-is -o "$TMP/body" -w '%{http_code}' "$URL_s/buildid/$id/source$as")
      case $status in
      404) ;;
      200) # The archive has a file /etc/shadow of its own.
        [ "$(cat "$TMP/body")" = "int shadow;" ] || [ "$(cat "$TMP/body")" = "int plain;" ] ||
          fail "served over HTTP: $as: $(head -c 200 "$TMP/body")" ;;
      *) fail "$as: $status" ;;
      esac
      grep -q "$secret\|root:" "$TMP/body" && fail "shown over HTTP: $as"
    done
    timeout 300 head -c 1000 "$MNT_m/debuginfod/buildid/$id/source$name" >"$TMP/got" 2>/dev/null </dev/null
    [ $? != 124 ] || fail "the mount hangs: $name"
    grep -q "$secret\|root:" "$TMP/got" && fail "served by the mount: $name"
    [ "$version" = 5 ] || continue
    timeout 300 "$SYMFS" get --no-default-sources --config "$TMP/conf" --cache "$TMP/store-s" \
      "debuginfod/buildid/$id/source$name" >"$TMP/got" 2>"$TMP/err" </dev/null &&
      { grep -qx 'int shadow;\|int plain;' "$(cat "$TMP/got")" || fail "symfs get: $name: $(cat "$TMP/got")"; }
    [ $? != 124 ] || fail "symfs get hangs: $name"
  done <"$names"
done
say "$asked requests for $n hostile names and links"

# A link that comes later, in the place of a directory.
rm -rf "$T/src/sub" && mv "$T/src/plain.c" "$TMP/plain.c" && ln -s "$TMP/out/secret.c" "$T/src/plain.c"
status=$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_s/buildid/$id/source$T/src/plain.c")
[ "$status" = 404 ] || fail "a file that became a link: $status: $(cat "$TMP/body")"

# ---- debug files that are broken -----------------------------------------------------------------------------------
# Changed at random: no answer but 404 or 200, and the server lives.
python3 - "$T/prog4" "$T/prog5" "$TMP/broken" "${SYMFS_TEST_SEED:-1}" <<'EOF' || fail "broken"
import os, random, struct, sys
random.seed(int(sys.argv[4]))
os.mkdir(sys.argv[3])
for n in range(24):
    b = bytearray(open(sys.argv[1 + n % 2], "rb").read())
    head = bytes(b[:64])
    off = struct.unpack_from("<Q", b, 40)[0]
    size, count, names = struct.unpack_from("<HHH", b, 58)
    at = struct.unpack_from("<Q", b, off + names * size + 24)[0]
    for i in range(count):
        name, = struct.unpack_from("<I", b, off + i * size)
        text = bytes(b[at + name:b.index(0, at + name)])
        start, length = struct.unpack_from("<QQ", b, off + i * size + 24)
        if text == b".note.gnu.build-id":
            b[start + length - 1] = n
        if text.startswith(b".debug_"):
            for _ in range(random.choice([1, 4, 30])):
                b[start + random.randrange(max(1, length))] = random.randrange(256)
    open("%s/%d" % (sys.argv[3], n), "wb").write(b)
EOF
mv "$TMP/plain.c" "$T/src/plain.c" 2>/dev/null
cp -r "$TMP/broken" "$T/"
for file in "$T"/broken/*; do
  id=$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: //p')
  is_found() { fetch_url -f -o /dev/null "$URL_s/buildid/$id/executable"; }
  wait_for is_found || fail "$file is not found"
  for name in "$T/src/plain.c" "$T/src/absolute.c" /etc/passwd; do
    status=$(fetch_url -o "$TMP/body" -w '%{http_code}' "$URL_s/buildid/$id/source$name")
    case $status in 200 | 404) ;; *) fail "$file: $name: $status: $(cat "$TMP/s.log")" ;; esac
    grep -q "$secret\|root:" "$TMP/body" && fail "$file: $name is served"
  done
done
symfs_unserve s
symfs_umount m
grep -q 'Sanitizer\|runtime error' "$TMP/s.log" "$TMP/m.log" && fail "$(cat "$TMP/s.log" "$TMP/m.log")"
exit 0
