#!/bin/sh
# The container of etc/container. buildah builds it by its recipe from the last commit, with a bare Debian 12 tree in
# place of the image from a registry. runc runs it: a client outside gets a file with a token, and SIGTERM ends it.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need buildah runc curl git readelf unshare nsenter ip
[ "$(id -u)" = 0 ] || skip "only root builds the container"
[ -x "$SYMFS" ] || fail "$SYMFS is not built"
git -C "$top_srcdir" rev-parse -q HEAD >/dev/null 2>&1 ||
  skip "no git checkout: the container is built from a commit"
[ "$(df -Pk "$TMP" | awk 'END { print $4 }')" -gt 3000000 ] || skip "$TMP has less than 3 GB for images"
tree=$("$top_srcdir/scripts/package" tree bookworm) || skip "${tree#SKIP: }"

# ---- the base -------------------------------------------------------------------------------------------
# All of buildah is below $TMP, and independent of this machine's configuration.
export CONTAINERS_STORAGE_CONF="$TMP/storage.conf" CONTAINERS_CONF=/dev/null TMPDIR="$TMP"
MOUNTS="$MOUNTS $TMP/images/overlay" container=
end_container() { # buildah ends its container, and mounts the overlay once more
  ec_status=$?
  [ -z "$container" ] || gone "$container" || { kill "$container" && wait "$container"; }
  return $ec_status
}
trap 'end_container; cleanup' EXIT
log=$TMP/buildah.out
storage() { # DRIVER
  printf '[storage]\ndriver = "%s"\ngraphroot = "%s"\nrunroot = "%s"\n' "$1" "$TMP/images" "$TMP/runs" \
    >"$TMP/storage.conf"
  buildah from --name base scratch >"$log" 2>&1
}
storage overlay || storage vfs || skip "buildah from scratch: $(tail -n 1 "$log")"
buildah add -q base "$tree" / >"$log" 2>&1 || fail "buildah add: $(tail "$log")"
# The container reaches Debian's mirror as this machine does.
[ ! -d /etc/apt/apt.conf.d ] || buildah add -q base /etc/apt/apt.conf.d /etc/apt/apt.conf.d >"$log" 2>&1 ||
  fail "buildah add: $(tail "$log")"
in_base() { buildah run --isolation chroot base -- sh -c "$1" >"$log" 2>&1; }
in_base 'rm -f /var/cache/apt/archives/*.deb; echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/fast; apt-get -qq update' ||
  skip "buildah run --isolation chroot … apt-get update: $(tail -n 1 "$log")"
# The recipe's compiler uses the ccache of this machine, if there is one.
objects=$(ccache -k cache_dir 2>/dev/null) && mkdir -p "$objects" || objects=
[ -z "$objects" ] ||
  in_base 'apt-get -qq install -y --no-install-recommends ccache && ln -s /usr/bin/ccache /usr/local/bin/gcc &&
    echo cache_dir = /ccache >/etc/ccache.conf' || fail "no ccache in the base: $(tail "$log")"

# run_in [OPTION...] CONTAINER -- COMMAND...: in a network that has loopback only. Replaces the subshell.
run_in() {
  exec unshare -n sh -c 'ip link set lo up && exec "$@"' sh \
    buildah run --isolation oci --runtime runc --runtime-flag root="$TMP/runc" --network host "$@"
}
(run_in base -- true) >"$log" 2>&1 || skip "buildah run --runtime runc: $(tail -n 1 "$log")"
buildah commit -q --rm base localhost/base >"$log" 2>&1 || fail "buildah commit: $(tail "$log")"

# ---- the recipe ------------------------------------------------------------------------------------------
git clone -q "$top_srcdir" "$TMP/src" || fail "git clone"
buildah bud --isolation chroot --pull=never ${objects:+-v "$objects:/ccache"} \
  --build-arg BASE=localhost/base -t localhost/symfs -f "$TMP/src/etc/container/Containerfile" "$TMP/src" \
  >"$log" 2>&1 || fail "buildah bud: $(tail -n 30 "$log")"
of_image() { buildah inspect --type image --format "$1" localhost/symfs; }
for said in "$(of_image '{{.OCIv1.Config.User}}')" "$(of_image '{{index .OCIv1.Config.Entrypoint 1}}')"; do
  say "image: $said"
done
port=$(of_image '{{range $port, $x := .OCIv1.Config.ExposedPorts}}{{$port}}{{end}}')
port=${port%/tcp}
signal=$(of_image '{{.OCIv1.Config.StopSignal}}')

# ---- a file for a client outside -------------------------------------------------------------------------------
mkdir "$TMP/files"
cp "$(command -v readelf)" "$TMP/files/prog"
id=$(build_id "$TMP/files/prog")
printf '[source "files"]\npath = /srv/files\nlayout = scan\n' >"$TMP/symfs.conf"
token=$("$SYMFS" token add client --file "$TMP/tokens" | tail -n 1)
chown 8737 "$TMP/tokens"
buildah from --pull-never --name one localhost/symfs >"$log" 2>&1 || fail "buildah from: $(tail "$log")"
# buildah runs commands only: its own are those of the image.
set --
while read -r word; do
  set -- "$@" "$word"
done <<END
$(of_image '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' |
  grep .)
END
outside() { nsenter --net="/proc/$container/ns/net" curl -gsS --noproxy '*' -w '%{http_code}\n' "$@"; }
answers() { # STATUS PATH
  [ "$(outside -o "$TMP/body" "http://127.0.0.1:$port$2" 2>"$TMP/curl.out")" = "$1" ]
}
ready_or_gone() { answers 200 /ready || gone "$container"; }
start() { # COMMAND...
  run_in -v "$TMP/symfs.conf:/etc/symfs/symfs.conf:ro" -v "$TMP/tokens:/run/secrets/tokens:ro" \
    -v "$TMP/files:/srv/files:ro" one -- "$@" >"$TMP/container.log" 2>&1 &
  container=$!
  PIDS="$PIDS $container"
  wait_for ready_or_gone && answers 200 /ready || fail "the container is not ready: $(cat "$TMP/curl.out")"
  name=$(runc --root "$TMP/runc" list -q)
}
start "$@"
answers 200 /healthz || fail "/healthz: $(cat "$TMP/body")"
answers 401 "/debuginfod/buildid/$id/executable" || fail "without a token: $(head -c 300 "$TMP/body")"
url=http://127.0.0.1:$port/debuginfod/buildid/$id/executable
[ "$(outside -o "$TMP/got" -H "Authorization: Bearer $token" "$url")" = 200 ] ||
  fail "with a token: $(head -c 300 "$TMP/got")"
cmp "$TMP/got" "$TMP/files/prog" || fail "the client has another file"
user=$(runc --root "$TMP/runc" ps "$name" | awk '/symfs serve/ { print $1; exit }')
say "container: port $port, user $user, a client outside has $(wc -c <"$TMP/got") bytes with a token"
[ "$user" = 8737 ] || fail "the server runs as $user"

# ---- the end: the signal of the image, as of podman stop -----------------------------------------------------------
says_503() { answers 503 /ready && said=yes || gone "$container"; }
ends() {
  said=
  runc --root "$TMP/runc" kill "$name" "$signal" || fail "runc kill"
  wait_for says_503
  wait_gone "$container" || fail "the container does not end"
  wait "$container" || fail "the container ended with $?: $(tail -n 5 "$TMP/container.log")"
}
ends
# The server answers 503 only for the seconds that the image names. If the test does not run in these seconds, as on a
# busy machine, it starts the container again.
for _ in 1 2; do
  [ "$said" ] || { start "$@"; ends; }
done
[ "$said" ] || fail "/ready while the container ends: $(cat "$TMP/body" "$TMP/curl.out")"
say "container: after $signal /ready answers 503, and the container ends with status 0"
