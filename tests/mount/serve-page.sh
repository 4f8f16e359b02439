#!/bin/sh
# The status page in a browser that must run no script: the sources, the rates, and why a path is
# not there.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl
BROWSER=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "chromium is not installed"

mkdir -p "$TMP/up"
upstream_start up --root "$TMP/up"
symfs_serve one --source "breakpad@$URL_up"
MISS=a.so/111111111111111111111111111111110/a.so.sym
fetch_url -o /dev/null "$URL_one/$MISS"

# dom PATH: what the browser made of the page.
dom() {
  env -u ASAN_OPTIONS -u UBSAN_OPTIONS timeout 60 "$BROWSER" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --no-proxy-server --user-data-dir="$TMP/profile" --dump-dom "$URL_one$1" \
    2>"$TMP/browser.out" >"$TMP/dom"
}
dom /healthz || skip "the browser does not run here: $(tail -n 1 "$TMP/browser.out")"
grep -q ok "$TMP/dom" || skip "the browser shows nothing here: $(head -c 200 "$TMP/dom")"
fetch_url -D "$TMP/head" -o /dev/null "$URL_one/status"
grep -qi "^content-security-policy: default-src 'none';" "$TMP/head" || fail "scripts are allowed: $(cat "$TMP/head")"
dom "/status?path=breakpad/$MISS" || fail "the page: $(cat "$TMP/browser.out")"
for text in '<h2>Sources</h2>' "$URL_up" '<h2>Running downloads</h2>' 'answered from the cache' \
  '<h3>breakpad 111111111111111111111111111111110 a.so</h3>' '<td>missing</td>' 'http_requests' \
  "value=\"breakpad/$MISS\""; do
  grep -qF -- "$text" "$TMP/dom" || fail "the page has no $text: $(cat "$TMP/dom")"
done
# A key as it stands there, and the identifier alone, of what was asked for and of what is stored.
ID=222222222222222222222222222222220
mkdir -p "$TMP/up/b.pdb/$ID"
printf 'MODULE windows x86_64 %s b.pdb\nINFO CODE_ID 5AB380779000 b.dll\nPUBLIC 10 0 f\n' "$ID" >"$TMP/up/b.pdb/$ID/b.sym"
fetch_url -o /dev/null "$URL_one/b.pdb/$ID/b.sym"
for words in "breakpad%20$ID%20b.pdb" "$ID" 22222222-2222-2222-2222-222222222222-0 "b.pdb/$ID/b.sym"; do
  dom "/status?path=$words" || fail "the page: $(cat "$TMP/browser.out")"
  grep -qF "<h3>breakpad $ID b.pdb</h3>" "$TMP/dom" || fail "$words: $(cat "$TMP/dom")"
  grep -q '<p>stored, [0-9]* bytes, from ' "$TMP/dom" || fail "$words: not stored: $(cat "$TMP/dom")"
done
dom "/status?path=00112233445566778899aabbccddeeff00112233"
grep -qF '<h3>elf_debug 00112233445566778899aabbccddeeff00112233</h3>' "$TMP/dom" || fail "a build id: $(cat "$TMP/dom")"
dom "/status?path=no%20such%20thing"
grep -qF 'a key nor an identifier' "$TMP/dom" || fail "nonsense: $(cat "$TMP/dom")"
grep -qi '<script' "$TMP/dom" && fail "the page has a script"
symfs_unserve one
exit 0
