#!/bin/sh
# Checks that no source uses a function of the C library that has a better replacement here, or a
# limit that is easily forgotten. Also shows that the check can fail.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# Without bounds: strcpy strcat sprintf vsprintf. One state for all threads: strtok localtime gmtime. No
# error for what is not a number: atoi atol.
calls_in() # DIR...
{
	grep -rnE --include='*.[ch]' \
		'(^|[^a-zA-Z0-9_])(strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|localtime|gmtime)[[:space:]]*\(' \
		"$@"
}

seen=$(find "$top/src" -name '*.[ch]' | wc -l)
echo "$seen files seen"
[ "$seen" -gt 0 ] || exit 1
calls_in "$top/src" && { echo "use snprintf, buf_*, strtok_r, localtime_r, gmtime_r or strtoul instead"; exit 1; }

for name in strcpy strcat sprintf vsprintf strtok atoi atol localtime gmtime; do
	printf '\tx = %s (y);\n' "$name" >"$tmp/x.c"
	calls_in "$tmp" >/dev/null || { echo "$name passed"; exit 1; }
done
printf '\tx = my_%s(y) + snprintf(z, 1, "") + localtime_r(y);\n' atoi >"$tmp/x.c"
calls_in "$tmp" && { echo "a harmless line is taken for a call"; exit 1; }
exit 0
