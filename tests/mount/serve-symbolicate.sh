#!/bin/sh
# /symbolicate over HTTP: our own cases, the answers to methods other than POST, and, where present, the shared cases,
# with the .sym files on an nginx.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need nginx curl
CASES=$top_builddir/tests/helpers/symbolicate-cases
[ -x "$CASES" ] || skip "built without json-c"
SHARED=$top_srcdir/../shared
VECTORS=$SHARED/vectors/symbolicate_cases.json
OWN=$top_srcdir/tests/data/symbolicate
cp -r "$OWN/sym" "$TMP/up" && chmod -R u+w "$TMP/up" || fail cp
nginx_start sym "$TMP/up"
symfs_serve one --source "breakpad@$URL_sym" --allow-origins '*'

# What the helper takes for `symfs symbolicate`: a POST, that is 0 for 200 and 1 for a refusal.
posts_to() { # NAME URL
  cat >"$TMP/$1" <<EOF
#!/bin/sh
code=\$(curl -gsS --noproxy '*' --max-time $WAIT_MOST -o "$TMP/answer" -w '%{http_code} %{content_type}' \\
  -H 'Expect:' -H 'Content-Type: text/plain' --data-binary @- "$2/symbolicate/\$2") || exit 9
cat "$TMP/answer"
case \$code in "200 application/json") exit 0 ;; "400 application/json" | "413 application/json") exit 1 ;; esac
echo "\$code" >&2
exit 8
EOF
  chmod +x "$TMP/$1"
}
run_cases() { # FILE NAME LEAST
  "$CASES" "$1" "$TMP/$2" >"$TMP/cases.out" 2>"$TMP/post.log" || { grep -v '^ok' "$TMP/cases.out"; fail "POST: $1"; }
  n=$(grep -c '^ok' "$TMP/cases.out")
  [ "$n" -ge "$3" ] || fail "only $n cases: $1"
  say "$n cases of $(basename "$1")"
}
posts_to post "$URL_one"
run_cases "$OWN/own.json" post 23
run_cases "$OWN/requests.json" post 80

head_of() { tr -d '\r' <"$TMP/head"; }
for api in v4 v5; do
  fetch_url -o "$TMP/body" -D "$TMP/head" "$URL_one/symbolicate/$api" || fail "GET $api"
  head_of | grep -q '^HTTP/1.1 405 ' && head_of | grep -qi '^content-type: application/json$' ||
    fail "GET $api: $(head_of)"
  fetch_url -X OPTIONS -H 'Origin: example.com' -H 'Access-Control-Request-Method: POST' -D "$TMP/head" \
    "$URL_one/symbolicate/$api" || fail "OPTIONS $api"
  head_of | grep -q '^HTTP/1.1 204 ' || fail "OPTIONS $api: $(head_of)"
  for line in 'Access-Control-Allow-Origin: \*' 'Access-Control-Allow-Methods: POST' \
    'Access-Control-Allow-Headers: \*' 'Access-Control-Max-Age: 86400' 'X-Content-Type-Options: nosniff' \
    'Access-Control-Expose-Headers: accept, accept-encoding, authorization, content-type, dnt, origin, '\
'user-agent, x-csrftoken, x-requested-with'; do
    head_of | grep -qi "^$line\$" || fail "OPTIONS $api: no $line in $(head_of)"
  done
done

# `Debug`, with any value, adds how it went: for a file that was not asked for before, and for one that was.
body='{"stacks": [[[0, 32]]], "memoryMap": [["late.so", "555555555555555555555555555555550"]]}'
mkdir -p "$TMP/up/late.so/555555555555555555555555555555550"
printf 'MODULE Linux x86_64 %s late.so\nFUNC 20 10 0 late\n' 555555555555555555555555555555550 \
  >"$TMP/up/late.so/555555555555555555555555555555550/late.so.sym"
for value in true false; do
  fetch_url -H "Debug: $value" -d "$body" -o "$TMP/body" "$URL_one/symbolicate/v5" || fail "Debug"
  for word in '"cache_lookups": {"count": 1,' \
    '"stacks_per_module": {"late.so/555555555555555555555555555555550": 1}' \
    '"function": "late"' '"downloads": {"size_per_module":' '"parse_sym":' '"save_symcache":' \
    '"time_per_module":' '"modules": {"count": 1,'; do
    grep -q "$word" "$TMP/body" || fail "Debug: $value: no $word in $(cat "$TMP/body")"
  done
done
# The example of the service's own page, word for word but for the server; and with what is here.
like_the_page() { curl -s --noproxy '*' --max-time "$WAIT_MOST" --user-agent "example/1.0" -d "$1" \
  "$URL_one/symbolicate/v5"; }
like_the_page '{"jobs": [{"stacks":[[[0,11723767],[1, 65802]]],"memoryMap":'\
'[["xul.pdb","44E4EC8C2F41492B9369D6B9A059577C2"],["wntdll.pdb","D74F79EB1F8D4A45ABCD2F476CCABACC2"]]}]}' >"$TMP/body"
printf %s '{"results": [{"stacks": [[{"frame": 0, "module": "xul.pdb", "module_offset": "0xb2e3f7"}, ' \
  '{"frame": 1, "module": "wntdll.pdb", "module_offset": "0x1010a"}]], "found_modules": ' \
  '{"xul.pdb/44E4EC8C2F41492B9369D6B9A059577C2": false, "wntdll.pdb/D74F79EB1F8D4A45ABCD2F476CCABACC2": false}}]}' \
  >"$TMP/want"
[ "$(cat "$TMP/body")" = "$(cat "$TMP/want")" ] || fail "the example of the page: $(cat "$TMP/body")"
if [ -f "$VECTORS" ] && [ -d "$SHARED/fixtures/sym" ]; then
  nginx_start shared "$SHARED/fixtures/sym"
  symfs_unserve one
  symfs_serve one --source "breakpad@$URL_shared" --cache "$TMP/store-shared"
  posts_to post "$URL_one"
  run_cases "$VECTORS" post 60
  like_the_page '{"jobs": [{"stacks":[[[0,21390],[1, 4400],[1, 1]]],"memoryMap":[["xul.pdb",'\
'"0185139C8F04FFC94C4C44205044422E1"],["ntdll.pdb","F86EB934B42FBB79B2595AA25907695C1"]]}]}' >"$TMP/body"
  for part in '"module": "xul.dll", "module_offset": "0x538e", "function": "somefunc", "function_offset": "0xe", '\
'"file": "hg:hg.mozilla.org/releases/mozilla-release:media/libjpeg/simd/etc", "line": 2}' \
    '"module": "ntdll.dll", "module_offset": "0x1130", "function": "LdrQueryNextListEntry", '\
'"function_offset": "0x10"}' \
    '{"frame": 2, "module": "ntdll.dll", "module_offset": "0x1"}' \
    '"xul.pdb/0185139C8F04FFC94C4C44205044422E1": true, "ntdll.pdb/F86EB934B42FBB79B2595AA25907695C1": true}'; do
    grep -qF "$part" "$TMP/body" || fail "the example of the page with our files: no $part in $(cat "$TMP/body")"
  done
else
  part_skipped "no ../shared/vectors/symbolicate_cases.json: cases of other projects"
fi
symfs_unserve one

# A file is converted while another is still being downloaded: a module waits only for its own file.
id_of() { printf '%032X0' "$1"; }
for n in 1 2; do
  mkdir -p "$TMP/slow/m$n/$(id_of $n)"
  printf 'MODULE Linux x86_64 %s m%d\nFUNC 1000 10 0 f%d\n1000 10 %d 0\n' "$(id_of $n)" $n $n $n \
    >"$TMP/slow/m$n/$(id_of $n)/m$n.sym"
done
upstream_start slow --root "$TMP/slow"
upstream_fault "$URL_slow" '/m1/*' silent
symfs_serve two --source "breakpad@$URL_slow" --lookup-deadline 100s --stall-timeout 100s
curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -d \
  "{\"memoryMap\": [[\"m1\", \"$(id_of 1)\"], [\"m2\", \"$(id_of 2)\"]], \"stacks\": [[[0, 4096], [1, 4096]]]}" \
  -o "$TMP/both" "$URL_two/symbolicate/v5" 2>"$TMP/curl.log" &
asker=$!
PIDS="$PIDS $asker"
wait_for grep -q 'was made of' "$TMP/two.log" || fail "nothing was made before all had come"
[ ! -s "$TMP/both" ] && ! gone "$asker" || fail "the slow file was not waited for"
# A client that goes is not waited for, and nothing is downloaded for it.
fetched() { [ "$(upstream_count "$URL_slow" inflight "/m1/$(id_of 1)/m1.sym")" = "$1" ]; }
waited() { [ "$(fetch_url "$URL_two/metrics" | sed -n 's/^symfs_http_waiting //p')" = "$1" ]; }
fetched 1 && waited 1 || fail "no request asks for the slow file"
kill "$asker"
wait_for waited 0 || fail "a client that went is waited for"
wait_for fetched 0 || fail "a file is downloaded without a client"
symfs_unserve two

# A small request whose module is mapped is answered without a worker, and a large one by a worker: frame by frame
# the answers are the same, and the first answer, which converts the file, is, too.
mkdir -p "$TMP/mapped/m3/$(id_of 3)"
{
  printf 'MODULE Linux x86_64 %s m3\nFILE 0 /src/dir/a "b".c\nFILE 1 b.c\nINLINE_ORIGIN 0 inl<\\>\n' "$(id_of 3)"
  awk 'BEGIN { for (i = 1; i < 200; i++)
    printf "FUNC %x 10 0 f%d(int)\nINLINE 0 7 1 0 %x 4\n%x 8 %d 0\n%x 8 5 1\n",
      i * 16, i, i * 16 + 4, i * 16, i, i * 16 + 8 }'
} >"$TMP/mapped/m3/$(id_of 3)/m3.sym"
symfs_serve three --source "breakpad@$TMP/mapped"
asked() { # FRAMES API
  awk -v n="$1" -v id="$(id_of 3)" 'BEGIN {
    printf "{\"memoryMap\": [[\"m3\", \"%s\"]], \"stacks\": [[", id
    for (i = 0; i < n; i++) printf "%s[%d, %d]", i ? ", " : "", i % 7 ? 0 : -1, i * 5 % 3333
    printf "]]}" }' >"$TMP/asked"
  fetch_url -H Expect: --data-binary "@$TMP/asked" "$URL_three/symbolicate/$2"
}
for api in v4 v5; do
  asked 1000 $api >"$TMP/first" && asked 1000 $api >"$TMP/second" || fail "$api: 1,000 frames"
  cmp "$TMP/first" "$TMP/second" || fail "$api: the second answer differs"
  asked 3000 $api >"$TMP/large" || fail "$api: 3,000 frames"
  for answer in second large; do
    sed 's/, {"frame"/\n{"frame"/g; s/, "/\n"/g' "$TMP/$answer" | head -n 990 | tail -n +2 >"$TMP/$answer.frames"
  done
  cmp "$TMP/second.frames" "$TMP/large.frames" || fail "$api: the answer of a worker differs"
done
grep -q '"function": "f3(int)", "function_offset": "0x' "$TMP/second" && grep -qF '"inl<\\>"' "$TMP/second" &&
  grep -qF '"file": "/src/dir/a \"b\".c", "line": 9' "$TMP/second" ||
  fail "a mapped module: $(head -c 2000 "$TMP/second")"
symfs_unserve three
