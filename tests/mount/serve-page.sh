#!/bin/sh
# The page of symfs serve in a browser: what it shows of files, sources and misses, its policy, and the
# 404 of browsers and of other clients. With tokens: what a browser must send, and what stays hidden.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl python3
BROWSER=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  skip "chromium is not installed"

mkdir -p "$TMP/up"
upstream_start up --root "$TMP/up"
symfs_serve one --source "breakpad@$URL_up"
MISS=a.so/111111111111111111111111111111110/a.so.sym
fetch_url -o /dev/null "$URL_one/$MISS"

# dom PATH: what the browser made of the page.
dom() {
  env -u ASAN_OPTIONS -u UBSAN_OPTIONS timeout 600 "$BROWSER" \
    --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --no-proxy-server --user-data-dir="$TMP/profile" --dump-dom "$URL_one$1" \
    2>"$TMP/browser.out" >"$TMP/dom"
}
dom /healthz || skip "the browser does not run here: $(tail -n 1 "$TMP/browser.out")"
grep -q ok "$TMP/dom" || skip "the browser shows nothing here: $(head -c 200 "$TMP/dom")"
shows() { for text; do grep -qF -- "$text" "$TMP/dom" || fail "the page has no $text: $(cat "$TMP/dom")"; done; }
fetch_url -D "$TMP/head" -o /dev/null "$URL_one/status"
for rule in "default-src 'none';" "script-src 'self';" "style-src 'self';" "frame-ancestors 'none'"; do
  grep -i '^content-security-policy: ' "$TMP/head" | grep -qF "$rule" ||
    fail "the policy has no $rule: $(cat "$TMP/head")"
done
dom "/status?path=breakpad/$MISS" || fail "the page: $(cat "$TMP/browser.out")"
shows 'missing: no source has it' '<code>breakpad 111111111111111111111111111111110 a.so</code>' "$URL_up/$MISS" \
  '>missing</span>' \
  'remembered until' ">breakpad/$MISS</textarea>" "$URL_one/breakpad/$MISS"
dom /status
shows '<h2>Sources</h2>' "$URL_up" '<h2>Running downloads</h2>' 'answered from the cache' '<h2>Cache</h2>' \
  '<h2>Errors of the last hour</h2>' http_requests
# The chart has 24 bars, whose sum is the number beside it.
sed -n 's/.*<p>\([0-9]*\) requests for files, .*/all \1/p; s/.*00 UTC: \([0-9]*\) requests, .*/bar \1/p' "$TMP/dom" |
  awk '$1 == "all" { all = $2 } $1 == "bar" { bars++; sum += $2 }
    END { exit !(all > 0 && bars == 24 && sum == all) }' ||
  fail "the last 24 hours: $(cat "$TMP/dom")"
dom /uploads
shows 'This server accepts no uploads' 'breakpad 111111111111111111111111111111110 a.so'
# A module of a stack that no source has is missing, too.
fetch_url -o /dev/null "$URL_one/symbolicate/v5" \
  -d '{"memoryMap": [["stack.pdb", "9249D99D0C4049318610F4E4FB0B69361"]], "stacks": [[[0, 4097]]]}'
dom /uploads
shows 'pdb 9249D99D0C4049318610F4E4FB0B69361 stack.pdb'
# A key as it stands there, and the identifier alone, of what was asked for and of what is stored.
ID=222222222222222222222222222222220
mkdir -p "$TMP/up/b.pdb/$ID"
printf 'MODULE windows x86_64 %s b.pdb\nINFO CODE_ID 5AB380779000 b.dll\nPUBLIC 10 0 f\n' "$ID" \
  >"$TMP/up/b.pdb/$ID/b.sym"
fetch_url -o /dev/null "$URL_one/b.pdb/$ID/b.sym"
for words in "breakpad%20$ID%20b.pdb" "$ID" 22222222-2222-2222-2222-222222222222-0 "b.pdb/$ID/b.sym" \
  "http://x/y/b.pdb/$ID/b.sym"; do
  dom "/?path=$words" || fail "the page: $(cat "$TMP/browser.out")"
  shows "<code>breakpad $ID b.pdb</code>" '>stored here</span>'
done
dom "/?path=00112233445566778899aabbccddeeff00112233"
shows '<code>elf_debug 00112233445566778899aabbccddeeff00112233</code>'
dom "/?path=no%20such%20thing"
shows 'a key nor an identifier'

# A short text of the form becomes a URL, a long one is answered at once, and one that is too long is refused.
code() { fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@"; }
[ "$(code --data-urlencode "path=b.pdb/$ID/b.sym" "$URL_one/")" = 303 ] || fail "a form: $(cat "$TMP/head")"
grep -qi "^location: /?path=b.pdb%2F$ID%2Fb.sym" "$TMP/head" || fail "where to: $(cat "$TMP/head")"
printf 'x\n%s b.pdb\n' $ID >"$TMP/long"
[ "$(code --data-urlencode "path@$TMP/long" "$URL_one/")" = 200 ] &&
  grep -q 'symbol file (Breakpad): stored' "$TMP/body" ||
  fail "a text of two lines: $(cat "$TMP/body")"
[ "$(code -F "path=<$TMP/long" "$URL_one/")" = 200 ] && grep -q 'symbol file (Breakpad): stored' "$TMP/body" ||
  fail "a text of two lines as a part of a form: $(cat "$TMP/body")"
head -c 900000 /dev/zero | tr '\0' x >"$TMP/huge"
[ "$(code --data-binary "@$TMP/huge" "$URL_one/")" = 413 ] || fail "a huge form: $(cat "$TMP/head")"
[ "$(code -H 'Transfer-Encoding: chunked' -H 'Expect:' --data-binary "@$TMP/huge" "$URL_one/")" = 413 ] ||
  fail "a huge form in chunks: $(cat "$TMP/head")"
[ "$(code --data path=x "$URL_one/status")" = 405 ] || fail "POST /status: $(cat "$TMP/head")"

# The 404: a page for browsers, plain text for tools, and neither page nor text in a shared cache.
dom "/$MISS"
shows '<h1>Not found</h1>' 'missing: no source has it' "$URL_up/$MISS"
[ "$(code "$URL_one/$MISS")" = 404 ] && [ "$(cat "$TMP/body")" = 'Symbol Not Found' ] ||
  fail "the text of a 404: $(cat "$TMP/body")"
for path in "/$MISS" /no/such/path '/%3Cb%3E/x'; do
  [ "$(code -H 'Accept: text/html,*/*;q=0.8' "$URL_one$path")" = 404 ] &&
    grep -q '<h1>Not found</h1>' "$TMP/body" || fail "$path: $(cat "$TMP/body")"
  grep -qi '^cache-control: no-store' "$TMP/head" &&
    grep -qi "^content-security-policy: default-src 'none'" "$TMP/head" &&
    grep -qi '^referrer-policy: same-origin' "$TMP/head" || fail "$path: $(cat "$TMP/head")"
  ! grep -q '<b>' "$TMP/body" || fail "$path: $(cat "$TMP/body")"
done
[ "$(code -I -H 'Accept: text/html' "$URL_one/$MISS")" = 404 ] || fail "HEAD: $(cat "$TMP/head")"

# The page's address is that of the client, unless that is no host name.
code -H 'Host: localhost:99' "$URL_one/" >"$TMP/out"
grep -q 'DEBUGINFOD_URLS=&quot;http://localhost:99/&quot;' "$TMP/body" || fail "the address: $(cat "$TMP/body")"
code -H 'Host: localhost:99' -H 'X-Forwarded-Proto: https' "$URL_one/" >"$TMP/out"
grep -q 'DEBUGINFOD_URLS=&quot;https://localhost:99/&quot;' "$TMP/body" ||
  fail "the address behind TLS: $(cat "$TMP/body")"
symfs_unserve one

# ---- tokens ------------------------------------------------------------------------------------------
READER=$("$SYMFS" token add --file "$TMP/tokens" --rights read reader) &&
  RED=$("$SYMFS" token add --file "$TMP/tokens" \
  --rights read,upload --namespace red red) || fail "tokens"
symfs_serve two --source "breakpad@$URL_up" --upload --anyone --token-file "$TMP/tokens"
for path in / /uploads /status "/$MISS"; do
  [ "$(code -H 'Accept: text/html' "$URL_two$path")" = 401 ] || fail "$path without a token: $(cat "$TMP/head")"
  grep -qi '^www-authenticate: basic' "$TMP/head" || fail "a browser cannot ask for the token: $(cat "$TMP/head")"
  ! grep -q "$URL_up" "$TMP/body" || fail "a source is shown: $(cat "$TMP/body")"
done
[ "$(code "$URL_two/")" = 401 ] && grep -qi '^www-authenticate: bearer' "$TMP/head" ||
  fail "a tool: $(cat "$TMP/head")"
[ "$(code "$URL_two/page.css")" = 200 ] || fail "the stylesheet: $(cat "$TMP/head")"
# What a namespace uploads, misses and asks for stays in it.
[ "$(code -u "any:$RED" -T "$TMP/up/b.pdb/$ID/b.sym" "$URL_two/b.pdb/$ID/b.sym")" = 201 ] ||
  fail "an upload: $(cat "$TMP/body")"
[ "$(code -u "any:$RED" "$URL_two/hidden.pdb/555555555555555555555555555555550/hidden.sym")" = 404 ] ||
  fail "a miss: $(cat "$TMP/body")"
for path in / /uploads /status "/?path=$ID" "/b.pdb/${ID}/nothing.sym"; do
  code -H 'Accept: text/html' -u "any:$READER" "$URL_two$path" >"$TMP/out"
  ! grep -qE '>stored here<|b\.sym</th>|hidden|red in red' "$TMP/body" ||
    fail "$path shows another namespace: $(grep -nE 'stored here|b\.sym|hidden|red in red' "$TMP/body")"
done
code -u "any:$RED" "$URL_two/uploads" >"$TMP/out"
grep -q 'hidden' "$TMP/body" && grep -q 'b\.sym' "$TMP/body" && grep -q 'red in red' "$TMP/body" ||
  fail "its own namespace: $(cat "$TMP/body")"
code -u "any:$READER" "$URL_two/uploads" >"$TMP/out"
grep -q 'Your token may not upload' "$TMP/body" && grep -q 'symfs push --token-file' "$TMP/body" ||
  fail "the rights of the reader: $(cat "$TMP/body")"
code -u "any:$READER" -H 'Accept: text/html' "$URL_two/" >"$TMP/out"
grep -q '^header = Auth-Token: TOKEN' "$TMP/body" && ! grep -q 'symfs mount --source' "$TMP/body" ||
  fail "the lines for a mount have no token: $(grep -n 'symfs mount' "$TMP/body")"
# A file that gets the token is readable for its owner alone.
written=$(grep -c 'echo .*~/.symfs-header' "$TMP/body")
private=$(grep -c 'umask 077 .* echo .*~/.symfs-header' "$TMP/body")
[ "$written" -ge 1 ] && [ "$private" = "$written" ] || fail "$private of $written files with the token are private"
grep -q 'debug-file-directory ~/symbols/gdb:/usr/lib/debug' "$TMP/body" ||
  fail "the lines for gdb lose /usr/lib/debug"
# A refusal is a page for a browser, and text for others. Both name the right that the token lacks.
for accept in text/html text/plain; do
  [ "$(code -H "Accept: $accept" "$URL_two/uploads")" = 401 ] && grep -q 'symfs token add NAME' "$TMP/body" ||
    fail "no token, $accept: $(cat "$TMP/body")"
  head -n 1 "$TMP/body" | grep -q '<!DOCTYPE html>'
  [ $? = "$([ $accept = text/html ]; echo $?)" ] || fail "no token, $accept: $(cat "$TMP/body")"
done
# A name of a file is text, also where the file was refused.
hostile='%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E'
code -u "any:$RED" -T "$TMP/long" "$URL_two/$hostile.pdb/$ID/$hostile.sym" >"$TMP/out"
for path in /uploads /status "/?path=$hostile.pdb/$ID/$hostile.sym"; do
  code -u "any:$RED" "$URL_two$path" >"$TMP/out"
  grep -q '&lt;img src=x onerror=alert(1)&gt;' "$TMP/body" || fail "$path does not show the name: $(cat "$TMP/body")"
  ! grep -q '<img' "$TMP/body" || fail "$path has an element of a name: $(grep '<img' "$TMP/body")"
done
# A browser that knows the token must not upload for another page.
for origin in https://evil.example "$URL_two" null; do
  [ "$(code -u "any:$RED" -H "Origin: $origin" -T "$TMP/up/b.pdb/$ID/b.sym" "$URL_two/b.pdb/$ID/b.sym")" = 403 ] ||
    fail "a form of $origin: $(cat "$TMP/head")"
done
[ "$(code -H "Authorization: Bearer $RED" -H "Origin: https://tool.example" -T "$TMP/up/b.pdb/$ID/b.sym" \
  "$URL_two/b.pdb/$ID/b.sym")" = 200 ] ||
  fail "a token that no browser sends by itself: $(cat "$TMP/body")"
symfs_unserve two
exit 0
