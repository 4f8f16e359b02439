#!/bin/sh
# Checks that systemd accepts both units without a warning, and that they contain no option that
# creates a mount namespace. Also shows that the check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
command -v systemd-analyze >/dev/null || { echo "no systemd-analyze: apt-get install systemd"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# verify insists on a program that exists: the built one, or before it is built, anything.
program=${top_builddir:-$top}/symfs
[ -x "$program" ] || program=/bin/true
mkdir "$tmp/bin" "$tmp/run"
ln -s "$program" "$tmp/bin/symfs"
chmod 700 "$tmp/run"

verify() # system|user FILE [NAME]: 0 when systemd has nothing to say of it
{
	mode=; [ "$1" = user ] && mode=--user
	mkdir -p "$tmp/$1"
	unit=$tmp/$1/${3:-symfs}.service
	sed "s|@bindir@|$tmp/bin|g" "$2" >"$unit"
	[ ! -e "$top/etc/systemd/$1/${3:-}.socket" ] || cp "$top/etc/systemd/$1/$3.socket" "$tmp/$1/"
	said=$(XDG_RUNTIME_DIR=$tmp/run systemd-analyze $mode --man=no --recursive-errors=no \
		verify "$unit" 2>&1) || { echo "$said"; return 1; }
	case $said in *symfs*) echo "$said"; return 1 ;; esac
}

seen=0
for mode in system user; do
	verify $mode "$top/etc/systemd/$mode/symfs.service.in" || { echo "the $mode unit is refused"; exit 1; }
	seen=$((seen + 1))
done

verify system "$top/etc/systemd/system/symfs-mount.service.in" symfs-mount ||
	{ echo "the helper's unit is refused"; exit 1; }
verify system "$top/etc/systemd/system/symfs-serve.service.in" symfs-serve ||
	{ echo "the server's unit is refused"; exit 1; }
verify system "$top/etc/systemd/system/symfs-serve@.service.in" symfs-serve@8741 ||
	{ echo "the unit of one of several servers is refused"; exit 1; }
verify system "$top/etc/systemd/system/symfs-warm.service.in" symfs-warm ||
	{ echo "the unit of symfs warm is refused"; exit 1; }
said=$(systemd-analyze verify --man=no "$top/etc/systemd/system/symfs-warm.timer" 2>&1 |
	grep -v 'symfs-warm.service') &&
	{ echo "the timer is refused: $said"; exit 1; }
systemd-analyze calendar "$(sed -n 's/^OnCalendar=//p' "$top/etc/systemd/system/symfs-warm.timer")" >/dev/null ||
	{ echo "the timer has no time"; exit 1; }
seen=$((seen + 4))
if systemd-analyze --help | grep -q offline; then
	for row in symfs-serve:14 symfs-serve@8741:14 symfs:35 symfs-mount:35 \
		symfs-warm:40; do # how exposed each may be, in tenths
		systemd-analyze security --no-pager --offline=true --threshold="${row#*:}" \
			"$tmp/system/${row%:*}.service" >"$tmp/score" 2>&1 ||
			{ tail -n 2 "$tmp/score"; echo "${row%:*}.service is more exposed than ${row#*:} tenths"
			exit 1; }
		sed -n 's/^.*Overall exposure/exposure/p' "$tmp/score"
	done
fi

for unit in "$top"/etc/systemd/*/*.service.in; do
	for key in '^MemoryMax=[1-9]' '^OOMPolicy=continue$'; do
		grep -qE "$key" "$unit" || { echo "$unit lacks $key"; exit 1; }
	done
done

# `Key=` at the start of a line is a setting; the comments may name them.
namespaces='Protect(System|Home|Proc|KernelTunables|KernelModules|KernelLogs|ControlGroups|Hostname)|ProcSubset'
namespaces=$namespaces'|Private(Tmp|Devices|Mounts|IPC|Network|Users)|DynamicUser'
namespaces=$namespaces'|(ReadOnly|ReadWrite|Inaccessible|Exec|NoExec)Paths|Bind(ReadOnly)?Paths'
namespaces=$namespaces'|TemporaryFileSystem|Root(Directory|Image)|(Mount|Extension)(Images|Directories)|MountFlags'
namespaces=$namespaces'|MountAPIVFS|LogNamespace'
if grep -nE "^($namespaces)=" "$top"/etc/systemd/*/symfs.service.in \
	"$top"/etc/systemd/system/symfs-mount.service.in; then
	echo "these options would hide the mount from all other processes"
	exit 1
fi
grep -q '^User=symfs$' "$top/etc/systemd/system/symfs.service.in" ||
	{ echo "the daemon's unit runs as root"; exit 1; }
grep -qE '^(CapabilityBoundingSet|AmbientCapabilities)=.' "$top/etc/systemd/system/symfs.service.in" &&
	{ echo "the daemon's unit has capabilities"; exit 1; }
privileges='NoNewPrivileges|RestrictAddressFamilies|SystemCall[A-Za-z]*|LockPersonality|MemoryDenyWriteExecute'
privileges=$privileges'|Restrict[A-Za-z]*|CapabilityBoundingSet|Protect(Clock|Hostname)'
if grep -nE "^($privileges)=" "$top/etc/systemd/user/symfs.service.in"; then
	echo "these would take its setuid bit from fusermount3"
	exit 1
fi

sed 's/^Type=notify/Typo=notify/' "$top/etc/systemd/system/symfs.service.in" >"$tmp/broken.in"
verify system "$tmp/broken.in" >/dev/null && { echo "a unit with a typo passed"; exit 1; }
echo "$seen units seen"
