#!/bin/sh
# The tasks of three people on the page of symfs serve, in a browser: an engineer finds files, another person uploads,
# an administrator looks at the server. Prints the steps and seconds of each task. With axe-core from npm
# (scripts/setup clients): no part of the page has a serious violation. SYMFS_PICTURES=DIR keeps pictures.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc node
BROWSER=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  skip "chromium is not installed"

BUILD=$(some_build_id prog | cut -c3-) MISSING=$(some_build_id missing | cut -c3-) NEVER=$(some_build_id never |
  cut -c3-)
SLOW=$(some_build_id slow | cut -c3-)
GUID=3249d99d-0c40-4931-8610-f4e4fb0b6936 DIGITS=3249D99D0C4049318610F4E4FB0B6936
mkdir -p "$TMP/up/buildid/$BUILD" "$TMP/up/buildid/$SLOW" "$TMP/up/b.pdb/${DIGITS}1"
echo 'int main(void) { return 0; }' >"$TMP/prog.c"
${CC_PLAIN:-gcc} -g -Wl,--build-id="0x$BUILD" -o "$TMP/up/buildid/$BUILD/debuginfo" "$TMP/prog.c" || fail gcc
head -c 3000000 /dev/urandom >"$TMP/noise"
${CC_PLAIN:-gcc} -g -Wl,--build-id="0x$SLOW" -o "$TMP/large" "$TMP/prog.c" || fail gcc
objcopy --add-section .noise="$TMP/noise" "$TMP/large" "$TMP/up/buildid/$SLOW/debuginfo" || fail objcopy
sym() { printf 'MODULE windows x86_64 %s %s.pdb\nINFO CODE_ID 5AB380779000 %s.dll\nPUBLIC 10 0 f\n' "$1" "$2" "$2"; }
sym "${DIGITS}1" b >"$TMP/up/b.pdb/${DIGITS}1/b.sym"
CPDB=4249D99D0C4049318610F4E4FB0B69361
sym $CPDB c >"$TMP/c.sym"
upstream_start up --root "$TMP/up"
upstream_hold "$URL_up" "*$SLOW*" 1500000

# A server that has been at work: files that it has, that it lacks, and errors. One of its sources is dead.
{ printf '[source "files"]\nurl = %s\nlayout = debuginfod\n[source "symbols"]\nurl = %s\nlayout = breakpad\n' \
  "$URL_up" "$URL_up"
  printf '[source "dead"]\nurl = http://127.0.0.1:9/\nlayout = symstore\ntypes = pdb\n'; } >"$TMP/one.conf"
symfs_serve one --upload --quota 50M --config "$TMP/one.conf"
ask() { fetch_url -o /dev/null -w '%{http_code}\n' "$URL_one/$1"; }
ask "buildid/$BUILD/debuginfo" && ask "b.pdb/${DIGITS}1/b.sym" && ask "buildid/$MISSING/debuginfo" ||
  fail "the first requests"
for _ in 1 2 3 4; do ask c.pdb/$CPDB/c.sym; done
[ "$(ask "d.pdb/${DIGITS}1/d.pdb")" = 502 ] || fail "a dead source: $(ask "d.pdb/${DIGITS}1/d.pdb")"
# The list of missing files survives a restart.
symfs_unserve one
symfs_serve one --upload --quota 50M --config "$TMP/one.conf"
ask "d.pdb/${DIGITS}1/d.pdb"
ask "buildid/$(some_build_id other | cut -c3-)/debuginfo"

# A bucket that does not answer.
(umask 077 && cat >"$TMP/bucket.conf" <<END
[bucket]
endpoint = http://127.0.0.1:9
bucket = symbols
access-key = x
secret-key = y
[source "symbols"]
url = $URL_up
layout = breakpad
END
)
symfs_serve two --config "$TMP/bucket.conf"
fetch_url -o /dev/null "$URL_two/b.pdb/${DIGITS}1/b.sym"

AXE=$TOOLS/bin/axe.min.js
[ -f "$AXE" ] || AXE=
[ -z "${SYMFS_PICTURES:-}" ] || mkdir -p "$SYMFS_PICTURES"
cat >"$TMP/facts.json" <<END
{"browser": "$BROWSER", "profile": "$TMP/profile", "url": "$URL_one", "bucket": "$URL_two", "build": "$BUILD",
 "missing": "$MISSING", "never": "$NEVER", "guid": "$GUID", "slow": "/buildid/$SLOW/debuginfo",
 "upload": "$TMP/c.sym", "uploadPath": "c.pdb/$CPDB/c.sym", "wrong": "$TMP/prog.c", "lines": "$TMP/lines",
 "axe": "$AXE", "pictures": "${SYMFS_PICTURES:-}"}
END
tasks() { env -u ASAN_OPTIONS -u UBSAN_OPTIONS timeout 300 node "$top_srcdir/tests/helpers/page-tasks.mjs" \
  "$TMP/facts.json"; }
tasks || fail "a task of the page"

# The lines of the page work as they are copied.
sed -n 2p "$TMP/lines" | sed "s|ID/|$BUILD/|; s|^curl|curl -gsS --noproxy '*'|" >"$TMP/line"
(cd "$TMP" && sh ./line) && cmp -s "$TMP/debuginfo" "$TMP/up/buildid/$BUILD/debuginfo" ||
  fail "the line for curl: $(cat "$TMP/line")"
if command -v debuginfod-find >/dev/null; then
  (eval "$(sed -n 1p "$TMP/lines")"
    DEBUGINFOD_CACHE_PATH=$TMP/found no_proxy='*' debuginfod-find debuginfo "$BUILD") >"$TMP/out" 2>&1 ||
      fail "the line for gdb: $(cat "$TMP/out")"
fi
symfs_unserve two
symfs_unserve one
[ -n "$AXE" ] || say "axe-core did not run: $(cat "$TOOLS/axe.min.js.failed" 2>/dev/null ||
  echo "scripts/setup clients fetches it")"
exit 0
