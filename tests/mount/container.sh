# Shared code of the tests of units: systemd as PID 1 of a container that has this machine's /usr
# and nothing else. A test makes $UNITS, $OUT/check.sh, $TMP/etc and $TMP/srv, which the container
# has as /symfs-test/...; the output of check.sh is compared. After lib.sh:
#
#   . "$top_srcdir/tests/mount/container.sh"
#   container_begin symfs-serve
#   ...
#   container_run
#   container_said
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

UNITS=$TMP/units OUT=$TMP/out

# container_begin SERVICE...: the units of these services. LeakSanitizer looks at itself as a debugger does, which
# the units forbid. On a busy machine the end takes longer than the units allow.
container_begin() {
  need systemd-nspawn flock
  [ "$(id -u)" = 0 ] || skip "only root starts containers"
  [ -x /lib/systemd/systemd ] || skip "no systemd"
  mkdir -p "$UNITS" "$OUT" "$TMP/etc" "$TMP/srv"
  for cb_unit; do
    sed 's|@bindir@|/symfs-test/bin|' "$top_srcdir/etc/systemd/system/$cb_unit.service.in" >"$UNITS/$cb_unit.service"
    mkdir "$UNITS/$cb_unit.service.d"
    printf '[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0\nTimeoutStopSec=300\n' \
      >"$UNITS/$cb_unit.service.d/test.conf"
  done
  ln -s /dev/null "$UNITS/systemd-firstboot.service" # it would ask for a language
}

# container_run [NEEDED-UNIT]: boots, runs check.sh once NEEDED-UNIT is up, and ends. With $CONTAINER_FUSE it has
# /dev/fuse; $CONTAINER_ARGS are further options of systemd-nspawn. Units that are enabled there are links in $UNITS.
container_run() {
  cat >"$UNITS/check.service" <<EOF
[Unit]
DefaultDependencies=no
${1:+Wants=$1
After=$1}
[Service]
Type=oneshot
ExecStart=/bin/sh /symfs-test/out/check.sh
ExecStopPost=/bin/systemctl poweroff --force --force
TimeoutStartSec=600
EOF
  # Two containers at once would have the same control groups.
  exec 7<"$(command -v systemd-nspawn)"
  flock -w 600 7 || skip "another test has a container all the time"
  # It ends in any case, and holds no mounts of other tests.
  "$top_srcdir/scripts/apart" sh -c '[ -z "$CONTAINER_FUSE" ] || {
    mknod "$0/fuse" c 10 229 && chmod 666 "$0/fuse" && mount --bind "$0/fuse" /dev/fuse; } && exec "$@"' "$TMP" \
    timeout -k 5 700 systemd-nspawn --quiet --register=no --keep-unit --private-network --directory=/ --volatile=yes \
    ${CONTAINER_FUSE:+--bind=/dev/fuse} --bind-ro="$SYMFS:/symfs-test/bin/symfs" \
    --bind-ro="${SYMFS%/*}/libexec:/symfs-test/bin/libexec" --bind="$TMP/etc:/symfs-test/etc" \
    --bind="$OUT:/symfs-test/out" --bind-ro="$TMP/srv:/symfs-test/srv" --bind="$UNITS:/etc/systemd/system" \
    ${CONTAINER_ARGS:-} \
    --machine="symfs-test-$$" \
    /lib/systemd/systemd --unit=check.service --log-target=console --show-status=no </dev/null >"$TMP/boot.out" 2>&1
  rmdir "/run/systemd/nspawn/propagate/symfs-test-$$" 2>/dev/null
  [ -s "$OUT/said" ] || skip "systemd does not boot here: $(tail -n 3 "$TMP/boot.out")"
}

# container_said: that check.sh printed $TMP/want.
container_said() {
  cmp "$OUT/said" "$TMP/want" ||
    fail "$(diff "$TMP/want" "$OUT/said"; tail -n 40 "$OUT/journal" 2>/dev/null; tail -n 20 "$TMP/boot.out")"
}
