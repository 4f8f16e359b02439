#!/bin/sh
# The sample configuration and every preset load, each preset can be named, and none is asked
# unless somebody says so. Samba takes its share.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=${top_srcdir:-$(dirname "$0")/..}
symfs=${top_builddir:-.}/symfs
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
HOME=$tmp XDG_CONFIG_HOME=$tmp XDG_CACHE_HOME=$tmp
export HOME XDG_CONFIG_HOME XDG_CACHE_HOME
unset DEBUGINFOD_URLS _NT_SYMBOL_PATH _NT_ALT_SYMBOL_PATH
bad=0
complain() { echo "$*"; bad=1; }

"$symfs" sources --no-default-sources --config "$top/etc/symfs.conf" >"$tmp/out" 2>&1 ||
  complain "etc/symfs.conf: $(cat "$tmp/out")"
# With every comment that looks like a setting taken at its word.
sed 's/^#\([a-z-]* = \)/\1/' "$top/etc/symfs.conf" | grep -vE '^(url|path|type|layout|casing|header|filetypes|path-patterns|never|requires-checksum|checksum-placeholder|allow-unverified|on-403|tier|connections|proxy|ca-file|cert|key|netrc|bucket|prefix|endpoint|region|style|access-key|secret-key|session-token|profile|anonymous|enabled|accept-invalid-certs|allow-private|ptr-map|follow-links|has-index|connect-timeout|stall-timeout|miss-lifetime|max-file-size) = ' >"$tmp/all.conf"
"$symfs" sources --no-default-sources --config "$tmp/all.conf" >"$tmp/out" 2>&1 ||
  complain "etc/symfs.conf without its comment signs: $(cat "$tmp/out")"

# Of Samba: every line is one that this Samba knows, in a place where it counts.
odd() { # FILE: what testparm says against it
  testparm -s "$1" 2>&1 >/dev/null | grep -iE 'unknown parameter|global parameter|ignoring|error|no path'
}
if command -v testparm >/dev/null; then
  odd "$top/etc/samba/symfs.conf" && complain "etc/samba/symfs.conf"
  { cat "$top/etc/samba/symfs.conf"; echo 'stat cash = no'; } >"$tmp/samba.conf"
  odd "$tmp/samba.conf" >/dev/null || complain "testparm passes a line that nobody knows"
  { cat "$top/etc/samba/symfs.conf"; echo 'kernel change notify = no'; } >"$tmp/samba.conf"
  odd "$tmp/samba.conf" >/dev/null || complain "testparm passes a line that does not count here"
fi

seen=0
for preset in "$top"/etc/sources.d/*.conf; do
  name=$(sed -n 's/^\[source "\(.*\)"\]$/\1/p' "$preset")
  [ "$name" = "$(basename "$preset" .conf)" ] || complain "$preset is called $name inside"
  "$symfs" sources --json --no-default-sources --config "$preset" >"$tmp/out" 2>&1 ||
    complain "$preset: $(cat "$tmp/out")"
  grep -q '"name"' "$tmp/out" && complain "$preset is on although nobody asked for it"
  "$symfs" sources --json --no-default-sources --config "$preset" --source "$name" >"$tmp/out" 2>&1 ||
    complain "--source $name: $(cat "$tmp/out")"
  grep -q "\"name\":\"$name\"" "$tmp/out" || complain "--source $name: $(cat "$tmp/out")"
  seen=$((seen + 1))
done
echo "$seen presets seen"
[ $seen -ge 15 ] || bad=1
exit $bad
