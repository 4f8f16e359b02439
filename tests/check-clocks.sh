#!/bin/sh
# Checks that no shell test outside of tests/timed and tests/bench reads a clock, or gives a command less than 300
# seconds: such a test fails where the machine is slow. Also shows that the check can fail. Tests that need a clock
# are named below, with the reason.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/reasons" <<'END'
tests/check-clocks.sh its own patterns
tests/mount/bucket-uses.sh the date at which an upload ends
tests/mount/cluster-soak.sh how long the load lasts, and how often a server is killed
tests/mount/dsym-script.sh a client that goes away
tests/mount/faults.sh prints times in its table
tests/mount/lib.sh the bound of wait_for, which is only against hanging
tests/mount/manners.sh a date in the header Retry-After
tests/mount/serve-cluster.sh prints times, and judges them only with SYMFS_CLUSTER_ALONE
tests/mount/soak.sh how long the load lasts, and how often the daemon is killed
END
clocks_in() # FILE...: lines that read a clock, or bound a command
{
	grep -HnE -e 'date [^|]*\+%s|%s%N|now_ms|EPOCH(REALTIME|SECONDS)|/proc/uptime|\$SECONDS\>' \
		-e '(^|[^-a-z])timeout (-[a-z] [A-Z0-9]+ )*([0-9]|[0-9][0-9]|[12][0-9][0-9])s? ' \
		-e '--max-time ([0-9]|[0-9][0-9]|[12][0-9][0-9])( |$)' -e 'curl .*-m [0-9]' \
		-e 'settimeout\(([0-9]|[0-9][0-9]|[12][0-9][0-9])\)' \
		-e 'in \$\(seq [0-9]+\); do.* (sleep|nap)\>' "$@" | grep -vE '^[^:]*:[0-9]+:[[:space:]]*#' |
		sed "s|^$top/||"
}

find "$top/tests" \( -path "$top/tests/timed" -o -path "$top/tests/bench" -o -path "$top/tests/data" \) -prune \
	-o -type f -name '*.sh' -print | sort >"$tmp/all"
cut -d' ' -f1 "$tmp/reasons" >"$tmp/named"
for file in $(cat "$tmp/named"); do
	[ -n "$(clocks_in "$top/$file")" ] || { echo "$file: no clock is there: take it out of $0"; exit 1; }
done
sed "s|^|$top/|" "$tmp/named" | grep -vxFf - "$tmp/all" >"$tmp/files"
seen=$(wc -l <"$tmp/files")
echo "$seen of $(wc -l <"$tmp/all") tests have no clock"
[ "$seen" -gt 50 ] || exit 1
# shellcheck disable=SC2046 # no name of a test has a blank
clocks_in $(cat "$tmp/files") >"$tmp/found"
cat "$tmp/found"
[ -s "$tmp/found" ] && { echo "wait for a fact, or measure in tests/timed"; exit 1; }

for line in 'took=$(($(now_ms) - from))' 'start=$(date +%s%N)' 'timeout 60 cat x' 'timeout -s KILL 20 cat x' \
	'curl --max-time 20 http://x' 'curl -s -m 60 http://x' 's.settimeout(60)' \
	'for _ in $(seq 100); do x && break; sleep 0.1; done' 'read -r up _ </proc/uptime'; do
	echo "$line" >"$tmp/x.sh"
	[ -n "$(clocks_in "$tmp/x.sh")" ] || { echo "a clock passed: $line"; exit 1; }
done
for line in '# in at most timeout 60 seconds' 'timeout 300 gdb x' 'symfs mount --stall-timeout 2s x' \
	'fetch_url --max-time "$WAIT_MOST" x' "date -u '+%a, %d %b'"; do
	echo "$line" >"$tmp/x.sh"
	[ -z "$(clocks_in "$tmp/x.sh")" ] || { echo "this is no clock: $line"; exit 1; }
done
exit 0
