#!/bin/sh
# section/NAME of an ELF file that only a server has, which answers byte ranges: the section is cut out of the file,
# of which little is fetched. Versions are not mixed, hostile headers are refused, and a server without ranges is not
# asked for the whole file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need gcc objcopy strip readelf curl python3

SIZE=24000000 TAIL=300000
make_program "$TMP/made" one
debug=$TMP/made/debug/libone.so.debug bin=$TMP/made/bin/libone.so
ID=$(build_id "$bin")
head -c $SIZE /dev/urandom >"$TMP/noise"
for letter in A B; do
  head -c $TAIL /dev/zero | tr '\0' $letter >"$TMP/tail-$letter"
done
# Two versions of one size, in which .tail is at different places.
objcopy --add-section .noise="$TMP/noise" --add-section .tail="$TMP/tail-A" "$debug" "$TMP/version-A" || fail objcopy
objcopy --add-section .tail="$TMP/tail-B" --add-section .noise="$TMP/noise" "$debug" "$TMP/version-B" || fail objcopy
touch -d '2001-01-01 UTC' "$TMP/version-A" "$bin"
touch -d '2002-02-02 UTC' "$TMP/version-B"
NAME=$(gdb_path "$ID")
mkdir -p "$TMP/root/${NAME%/*}" "$TMP/near"
cp -p "$TMP/version-A" "$TMP/root/$NAME.debug" && cp -p "$bin" "$TMP/root/$NAME" &&
  cp -rp "$TMP/root/.build-id" "$TMP/near" || fail cp
size=$(stat -c %s "$TMP/version-A")
upstream_start up --root "$TMP/root"
symfs_serve near --source "gdb@$TMP/near"

# section NAME: of the server $U; sets status.
section() {
  status=$(fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$U/buildid/$ID/section/$1")
}
# The fields of the answer, without those that name the file or the time of the request.
fields() {
  tr -d '\r' <"$TMP/head" | grep -viE '^(date|via|etag|x-debuginfod-file|server|keep-alive|connection):' | sort
}
sent() { upstream_count "$URL_up" bytes "/$NAME.debug"; }

# ---- as from a directory, but with few bytes ----------------------------------------------------------------
symfs_serve far --byte-ranges always --source "gdb@$URL_up"
U=$URL_far
section .tail
[ "$status" = 200 ] && cmp -s "$TMP/body" "$TMP/tail-A" || fail ".tail: $status, $(stat -c %s "$TMP/body") bytes"
[ "$(sent)" -lt $((size / 10)) ] || fail "$(sent) of $size bytes for .tail"
say "$(sent) of $size bytes for a section of $TAIL"
readelf -SW "$bin" "$TMP/version-A" 2>"$TMP/readelf.log" | sed -n 's/^ *\[ *[0-9]*\] \(\.[^ ]*\) .*/\1/p' | sort -u |
  grep -vx .noise >"$TMP/names"
found=0
for name in $(cat "$TMP/names") .absent; do
  U=$URL_near
  section "$name"
  want=$status
  mv "$TMP/body" "$TMP/want"
  fields >"$TMP/fields"
  U=$URL_far
  section "$name"
  [ "$status" = "$want" ] || fail "$name: $status, and $want from a directory"
  if [ "$status" = 200 ]; then
    found=$((found + 1))
    same_file "$TMP/body" "$TMP/want"
    [ "$(fields)" = "$(cat "$TMP/fields")" ] || fail "$name: $(fields) and not $(cat "$TMP/fields")"
    rm -f "$TMP/cut"
    for file in "$bin" "$TMP/version-A"; do # the latter's is the answer, if both have the section
      objcopy --dump-section "$name=$TMP/cut" "$file" "$TMP/copy" 2>>"$TMP/objcopy.log"
    done
    [ ! -s "$TMP/cut" ] || same_file "$TMP/body" "$TMP/cut"
  fi
done
[ $found -gt 20 ] || fail "only $found sections"
[ "$(sent)" -lt $((size / 10)) ] || fail "$(sent) of $size bytes for $found sections"
say "$(sent) of $size bytes for $found sections"
upstream_reset "$URL_up"
section .absent
[ "$status" = 404 ] && [ "$(upstream_count "$URL_up" requests)" = 0 ] || fail "a missing section is not remembered"
symfs_unserve far

# In the mount, where LOOKUP comes first, by symfs get, and when symfs chooses whether ranges are faster.
symfs_mount m --byte-ranges always --source "gdb@$URL_up"
path=debuginfod/buildid/$ID/section/.tail
[ "$(stat -c %s "$MNT_m/$path")" = $TAIL ] || fail "the size in the mount"
same_file "$TMP/tail-A" "$MNT_m/$path"
[ "$(sent)" -lt $((size / 10)) ] || fail "$(sent) of $size bytes in the mount"
# A reader of the whole file gets the rest.
same_file "$TMP/version-A" "$MNT_m/gdb/$NAME.debug"
symfs_umount m
same_file "$TMP/tail-A" "$("$SYMFS" get --no-default-sources --cache "$TMP/get" --source "gdb@$URL_up" "$path")"

# ---- another version ----------------------------------------------------------------------------------------
# At each request of a cut the file is replaced before the answer: all bytes are of one version.
for nth in 1 2 3 4; do
  cp -p "$TMP/version-A" "$TMP/root/$NAME.debug"
  symfs_serve "v$nth" --byte-ranges always --source "gdb@$URL_up"
  eval "U=\$URL_v$nth"
  upstream_hold "$URL_up" "/$NAME.debug" 0
  fetch_url -o "$TMP/body" -w '%{http_code}' "$U/buildid/$ID/section/.tail" >"$TMP/status" 2>"$TMP/curl.log" &
  client=$!
  stops() { gone $client || [ "$(upstream_count "$URL_up" held)" -gt 0 ]; }
  at=1
  while wait_for stops && ! gone $client && [ $at -lt $nth ]; do
    fetch_url "$URL_up/_control/step" >/dev/null
    at=$((at + 1))
  done
  cp -p "$TMP/version-B" "$TMP/root/new" && mv "$TMP/root/new" "$TMP/root/$NAME.debug"
  upstream_clear "$URL_up"
  upstream_go "$URL_up"
  wait $client || fail "request $nth: curl: $(cat "$TMP/curl.log")"
  status=$(cat "$TMP/status")
  [ "$status" = 200 ] || fail "request $nth: $status"
  cmp -s "$TMP/body" "$TMP/tail-A" || cmp -s "$TMP/body" "$TMP/tail-B" || fail "request $nth: two versions are mixed"
  say "replaced at request $at: version $(head -c 1 "$TMP/body")"
  symfs_unserve "v$nth"
done

# ---- clients that leave, and the end of the server ----------------------------------------------------------
stopped() { [ "$(upstream_count "$URL_up" held)" -gt 0 ]; }
idle() { [ "$(upstream_count "$URL_up" inflight)" = 0 ]; }
for nth in 1 2 3; do
  symfs_serve "e$nth" --byte-ranges always --source "gdb@$URL_up"
  eval "U=\$URL_e$nth"
  upstream_hold "$URL_up" "/$NAME.debug" 0
  fetch_url -o "$TMP/body" "$U/buildid/$ID/section/.tail" 2>"$TMP/curl.log" &
  client=$!
  for _ in $(seq $((nth - 1))); do
    upstream_steps "$URL_up" 1
  done
  wait_for stopped || fail "no request $nth"
  kill $client
  wait_gone $client || fail "curl does not end"
  fetch_url -o "$TMP/body" "$U/buildid/$ID/section/.symtab" 2>"$TMP/curl.log" &
  client=$!
  wait_for stopped || fail "no request of the next client"
  symfs_unserve "e$nth"
  wait_gone $client || fail "the next client does not end"
  upstream_clear "$URL_up"
  upstream_go "$URL_up"
  wait_for idle || fail "a request is left"
done

# ---- refused ------------------------------------------------------------------------------------------------
# Of another build; and headers that contradict the file.
cat >"$TMP/hostile.py" <<'EOP'
import struct, sys
kind, old, new = sys.argv[1:]
b = bytearray(open(old, 'rb').read())
shoff, = struct.unpack_from('<Q', b, 40)
n, names = struct.unpack_from('<HH', b, 60)
def at(name):
    base, = struct.unpack_from('<Q', b, shoff + 64 * names + 24)
    for i in range(n):
        off = base + struct.unpack_from('<I', b, shoff + 64 * i)[0]
        if b[off:off + len(name) + 1] == name + b'\0':
            return shoff + 64 * i
if kind == 'names-outside': struct.pack_into('<Q', b, shoff + 64 * names + 32, 1 << 40)
elif kind == 'names-none': struct.pack_into('<H', b, 62, n + 7)
elif kind == 'table-outside': struct.pack_into('<Q', b, 40, len(b) - 64)
elif kind == 'table-wraps': struct.pack_into('<Q', b, 40, 2 ** 64 - 64)
elif kind == 'many': struct.pack_into('<H', b, 60, 0); struct.pack_into('<Q', b, shoff + 32, 2 ** 32 - 1)
elif kind == 'section-outside': struct.pack_into('<Q', b, at(b'.tail') + 32, len(b))
elif kind == 'section-wraps': struct.pack_into('<QQ', b, at(b'.tail') + 24, 2 ** 64 - 4096, 8192)
elif kind == 'entry': struct.pack_into('<H', b, 58, 8)
else: sys.exit('what?')
open(new, 'wb').write(b)
EOP
for kind in other-build names-outside names-none table-outside table-wraps many section-outside section-wraps \
  entry; do
  if [ $kind = other-build ]; then
    cp "$TMP/made/debug/one.debug" "$TMP/bad"
    objcopy --add-section .tail="$TMP/tail-A" "$TMP/bad" || fail objcopy
  else
    python3 "$TMP/hostile.py" $kind "$TMP/version-A" "$TMP/bad" || fail "$kind"
  fi
  cp "$TMP/bad" "$TMP/root/$NAME.debug"
  rm -rf "$TMP/store-bad"
  symfs_serve bad --byte-ranges always --source "gdb@$URL_up"
  U=$URL_bad
  section .tail
  [ "$status" -ge 400 ] || fail "$kind: $status"
  section .debug_info
  [ "$status" -ge 400 ] || fail "$kind: .debug_info: $status"
  say "$kind: $status"
  symfs_unserve bad
done

# ---- a server without ranges --------------------------------------------------------------------------------
# The answer is that of a server that does not have the file, and after the first request nothing is asked for.
cp -p "$TMP/version-A" "$TMP/root/$NAME.debug"
upstream_start plain --root "$TMP/root" --no-range
symfs_serve old --source "gdb@$URL_plain"
U=$URL_old
section .tail
[ "$status" = 404 ] || fail "without ranges: $status"
requests=$(upstream_count "$URL_plain" requests "/$NAME.debug")
[ "$requests" = 1 ] || fail "$requests requests without ranges"
section .debug_info
requests=$(upstream_count "$URL_plain" requests "/$NAME.debug")
[ "$requests" = 1 ] || fail "$requests requests for the second section without ranges"
# On a fast connection the whole file may have come before the download was ended: then it is stored.
[ "$status" = 404 ] || { [ "$status" = 200 ] && [ "$(upstream_count "$URL_plain" bytes)" -ge "$size" ]; } ||
  fail "a second section without ranges: $status"
# What a client wants whole has its sections.
fetch_url -o "$TMP/body" "$U/buildid/$ID/debuginfo" && same_file "$TMP/body" "$TMP/version-A"
section .tail
[ "$status" = 200 ] && same_file "$TMP/body" "$TMP/tail-A" || fail "a stored file: $status"
symfs_unserve old
exit 0
