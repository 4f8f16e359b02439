#!/bin/sh
# The rules of symfs serve that its configuration and its clients set: bounds of requests,
# checksums, names, missing files, servers that lead to each other.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl

# get NAME WANTED-STATUS PATH [CURL-ARGS...]: body in $TMP/body, head in $TMP/head.
get() {
  get_url=$1 get_want=$2 get_path=$3
  shift 3
  : >"$TMP/body"
  get_got=$(fetch_url -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$get_url$get_path") ||
    fail "curl $get_path: $?"
  [ "$get_got" = "$get_want" ] || fail "$get_path $*: $get_got, wanted $get_want: $(head -c 300 "$TMP/body")"
}
says() { [ "$(cat "$TMP/body")" = "$1" ] || fail "$get_path: not \"$1\" but $(head -c 300 "$TMP/body")"; }

# ---- bounds of requests ------------------------------------------------------------------
cat >"$TMP/small.conf" <<'EOF'
[symbolicate]
bytes = 2K
jobs = 2
modules = 3
stacks = 4
frames = 5
EOF
mkdir "$TMP/up"
symfs_serve small --config "$TMP/small.conf" --source "breakpad@$TMP/up"
SYMBOLICATE="$SYMFS symbolicate --no-default-sources --config $TMP/small.conf --cache $TMP/store-cmd"
module='["a.so", "111111111111111111111111111111110"]'
# refused STATUS TITLE BODY: over HTTP and by the command.
refused() {
  printf %s "$3" >"$TMP/request"
  get "$URL_small" "$1" /symbolicate/v5 -H Expect: --data-binary "@$TMP/request"
  says "{\"title\": \"$2\"}"
  $SYMBOLICATE "$TMP/request" >"$TMP/body" 2>"$TMP/err"
  [ $? = 1 ] || fail "symfs symbolicate takes $3"
  says "{\"title\": \"$2\"}"
}
limit() { echo "please limit number of $1 in a single request to <= $2"; }
job="{\"memoryMap\": [$module], \"stacks\": [[[0, 1]]]}"
refused 400 "$(limit jobs 2)" "{\"jobs\": [$job, $job, $job]}"
refused 413 "$(limit modules 3)" "{\"memoryMap\": [$module, $module, $module, $module], \"stacks\": [[[0, 1]]]}"
refused 413 "$(limit stacks 4)" "{\"memoryMap\": [$module], \"stacks\": [[], [], [], [], []]}"
refused 413 "$(limit frames 5)" \
  "{\"memoryMap\": [$module], \"stacks\": [[[0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]]}"
{ printf '{' && head -c 3000 /dev/zero | tr '\0' ' '; } >"$TMP/long"
refused 413 "please limit the size of a request to <= 2048 bytes" "$(cat "$TMP/long")x"
get "$URL_small" 413 /symbolicate/v5 --data-binary "@$TMP/long" -H Expect: -H 'Transfer-Encoding: chunked'
says '{"title": "please limit the size of a request to <= 2048 bytes"}'
$SYMBOLICATE <"$TMP/long" >"$TMP/body" && fail "a long request on stdin is taken"
says '{"title": "please limit the size of a request to <= 2048 bytes"}'
get "$URL_small" 200 /symbolicate/v5 -d "{\"jobs\": [$job, $job]}"
printf '[symbolicate]\nframes = many\n' >"$TMP/bad.conf"
"$SYMFS" symbolicate --no-default-sources --config "$TMP/bad.conf" "$TMP/request" >"$TMP/body" 2>"$TMP/err"
[ $? = 2 ] && grep -q 'bad.conf:2: frames' "$TMP/err" || fail "a bound that is no number: $(cat "$TMP/err")"
symfs_unserve small

# ---- checksums of Portable PDBs -------------------------------------------------------------
PDB=$top_srcdir/tests/data/broken/ppdb/valid-none
GUID=3249d99d0c4049318610f4e4fb0b6936
mkdir -p "$TMP/store/own.pdb/${GUID}FFFFFFFF"
cp "$PDB" "$TMP/store/own.pdb/${GUID}FFFFFFFF/own.pdb"
at=$(LC_ALL=C grep -obUaP '\x9d\xd9\x49\x32' "$PDB" | head -n 1 | cut -d: -f1)
[ -n "$at" ] || fail "where is the id of $PDB?"
cp "$PDB" "$TMP/zeros"
dd if=/dev/zero of="$TMP/zeros" bs=1 seek="$at" count=20 conv=notrunc 2>"$TMP/dd.out" || fail dd
right=SHA256:$(sha256sum "$TMP/zeros" | cut -d' ' -f1)
wrong=SHA256:$(sha256sum "$PDB" | cut -d' ' -f1)
upstream_start pdbs --root "$TMP/store" --heads "$TMP/heads"
symfs_serve sums --source "ssqp@$URL_pdbs"
path=/own.pdb/${GUID}ffffffff/own.pdb
for round in cold stored; do
  get "$URL_sums" 502 $path -H "SymbolChecksum: $wrong"
  grep -q 'is not the PDB of its program: the SHA256 checksums differ' "$TMP/body" ||
    fail "$round, a wrong checksum: $(cat "$TMP/body")"
  tr -d '\r' <"$TMP/head" | grep -qi '^cache-control: no-store$' || fail "$round: $(cat "$TMP/head")"
  for sums in "$right" "$wrong;$right" "SHA3-999:0011" "md5:00;$right"; do
    get "$URL_sums" 200 $path -H "SymbolChecksum: $sums"
    same_file "$TMP/body" "$PDB"
  done
  get "$URL_sums" 200 $path
done
tr -d '\r' <"$TMP/heads" | grep -qi "^SymbolChecksum: $wrong\$" ||
  fail "the source did not get the checksum: $(cat "$TMP/heads")"
net() { # CHECKSUM
  printf '{"memoryMap": [{"type": "pe_dotnet", "debug_file": "own.pdb", "debug_id": "%s", "debug_checksum": "%s"}],
    "stacks": [[{"addr_mode": "rel:0", "instruction_addr": "0x0", "function_id": "0x1"}]]}' \
    3249d99d-0c40-4931-8610-f4e4fb0b6936-e60b819d "$1"
}
# This one has no methods: of it nothing can be made, whatever its checksum is.
for sum in "$right" "$wrong" "$right"; do
  get "$URL_sums" 200 '/symbolicate/v5?module_errors=1' -d "$(net "$sum")"
  said='it is the file'
  grep -q 'portablepdb: is not the PDB of its program: the SHA256 checksums differ' "$TMP/body" &&
    said='it is another'
  case "$sum $said" in "$right it is the file" | "$wrong it is another") ;; *) fail "$sum: $(cat "$TMP/body")" ;; esac
  grep -q '"portablepdb: \|: portablepdb: ' "$TMP/body" || fail "$sum: no word of the PDB: $(cat "$TMP/body")"
done
sym=a.so/444444444444444444444444444444440
mkdir -p "$TMP/store/$sym"
printf 'MODULE Linux x86_64 444444444444444444444444444444440 a.so\nPUBLIC 10 0 _ZN2ns1fEi\n' \
  >"$TMP/store/$sym/a.so.sym"
symfs_serve names --source "breakpad@$TMP/store"
body='{"memoryMap": [["a.so", "444444444444444444444444444444440"]], "stacks": [[[0, 17]]]}'
for asked in "?demangle=1 ns::f(int)" "?demangle=0 _ZN2ns1fEi" " _ZN2ns1fEi"; do
  get "$URL_names" 200 "/symbolicate/v5${asked%% *}" -d "$body"
  grep -qF "\"function\": \"${asked#* }\"" "$TMP/body" || fail "$asked: $(cat "$TMP/body")"
done
symfs_unserve names
symfs_unserve sums

# ---- what Mozilla's server says of what it lacks ---------------------------------------------
ID=33333333333333333333333333333333
upstream_start other --root "$TMP/store"
symfs_serve lacks --source "breakpad@$URL_pdbs" --source "breakpad@$URL_other"
get "$URL_lacks" 404 "/xul.pdb/${ID}1/xul.sym?code_file=xul.dll&code_id=5ab380779000"
says 'Symbol Not Found'
get "$URL_lacks" 404 "/xul.pdb/$(echo ${ID}1 | tr 3 a)/xul.sym?code_file=a%2Cb%22c.dll&code_id=x-y"
get "$URL_lacks" 404 "/try/mine.so/${ID}0/mine.so.sym"
get "$URL_lacks" 404 "/mine.so/${ID}0/mine.so.sym"
get "$URL_lacks" 404 "/breakpad/mine.so/${ID}4/mine.so.sym" -I
get "$URL_lacks" 200 "/$sym/a.so.sym?code_file=a.so&code_id=00"
get "$URL_lacks" 200 /missingsymbols.csv
cat >"$TMP/want" <<'EOF'
debug_file,debug_id,code_file,code_id
mine.so,333333333333333333333333333333330,,
mine.so,333333333333333333333333333333334,,
xul.pdb,333333333333333333333333333333331,xul.dll,5ab380779000
xul.pdb,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA1,"a,b""c.dll",
EOF
{ head -n 1 "$TMP/body"; sed 1d "$TMP/body" | LC_ALL=C sort; } | tr -d '\r' >"$TMP/got"
cmp "$TMP/got" "$TMP/want" || fail "missingsymbols.csv: $(cat "$TMP/got")"
[ "$(tr -cd '\r' <"$TMP/body" | wc -c)" = 5 ] || fail "missingsymbols.csv ends its lines otherwise"
get "$URL_lacks" 200 /missing.csv
grep -q "^breakpad,${ID}1,\"xul.pdb\"," "$TMP/body" || fail "missing.csv: $(cat "$TMP/body")"
# A server with directories alone remembers no miss of a source, and lists the requests. The second meaning of a path,
# an age in decimal, is not listed, and neither is what `symfs sources check` asks for.
mkdir -p "$TMP/directory"
symfs_serve directory --source "symstore@$TMP/directory"
symfs_serve none
symfs_serve chain --source "symstore@$URL_directory"
for server in "$URL_directory" "$URL_none" "$URL_chain"; do
  "$SYMFS" sources check --no-default-sources --source "symstore@$server" >"$TMP/checked" ||
    fail "$(cat "$TMP/checked")"
  get "$server" 404 "/symstore/w.pdb/${ID}19/w.pdb"
  get "$server" 404 "/symstore/w.pdb/${ID}19/w.pdb"
  get "$server" 404 "/breakpad/w.pdb/${ID}2/w.sym"
  get "$server" 200 /missing.csv
  grep -q "^pdb,${ID}19,\"w.pdb\",.*,2\$" "$TMP/body" || fail "$server lists no PDB: $(cat "$TMP/body")"
  # The PDB of age 2 is what the Breakpad file would be made of.
  [ "$(grep -vc "^type\|^pdb,${ID}19,\|,${ID}2," "$TMP/body")" = 0 ] || fail "$server: $(cat "$TMP/body")"
  get "$server" 200 /missingsymbols.csv
  [ "$(sed 1d "$TMP/body" | tr -d '\r')" = "w.pdb,${ID}2,," ] || fail "$server: $(cat "$TMP/body")"
done
symfs_unserve chain
symfs_unserve none
symfs_unserve directory

for odd in "xul.pdb/${ID}1/xul.txt" "xul.pdb/${ID}1/file.ptr" "x.so/000000000000000000000000000000000/x.so.sym"; do
  get "$URL_lacks" 404 "/$odd" -H 'Debug: true'
  says 'Symbol Not Found (and ignored)'
  tr -d '\r' <"$TMP/head" | grep -qi '^debug-time: 0.000$' || fail "$odd: $(cat "$TMP/head")"
done
get "$URL_lacks" 200 "/$(echo "$sym" | tr a A)/A.so.sym"
# The page finds by a key and by an identifier alone, too.
for words in "breakpad%20444444444444444444444444444444440%20a.so" 444444444444444444444444444444440; do
  get "$URL_lacks" 200 "/status?path=$words"
  grep -qF '<code>breakpad 444444444444444444444444444444440 a.so</code>' "$TMP/body" &&
    grep -q '>stored here<' "$TMP/body" ||
    fail "the page does not find $words: $(sed -n '/id="found"/,/<h2>/p' "$TMP/body")"
done
symfs_unserve lacks

# ---- a symbol file by the code id of its program: a server that knows redirects ----------------------
PDB_ID=5555555555555555555555555555555A1
mkdir -p "$TMP/tecken/far away.pdb/$PDB_ID"
printf 'MODULE windows x86_64 %s far away.pdb\nINFO CODE_ID 5AB380779000 far.dll\nPUBLIC 10 0 f\n' $PDB_ID \
  >"$TMP/tecken/far away.pdb/$PDB_ID/far away.sym"
upstream_start tecken --root "$TMP/tecken"
upstream_fault "$URL_tecken" '*far.dll*' redirect "/far%20away.pdb/$PDB_ID/far%20away.sym"
upstream_fault "$URL_tecken" '*odd.dll*' redirect "/stray/00/x.sym"
symfs_serve codes --source "breakpad@$URL_tecken"
for way in -I -i; do # the second time the file itself may have told it
  get "$URL_codes" 302 "/far.dll/5ab380779000/far.sym?code_file=far.dll" $way
  tr -d '\r' <"$TMP/head" | grep -qix "location: /far%20away.pdb/$PDB_ID/far%20away.sym?code_file=far.dll" ||
    fail "no Location: $(cat "$TMP/head")"
done
get "$URL_codes" 302 "/breakpad/far.dll/5AB380779000/far.sym"
tr -d '\r' <"$TMP/head" | grep -qix "location: /breakpad/far%20away.pdb/$PDB_ID/far%20away.sym" ||
  fail "no Location: $(cat "$TMP/head")"
get "$URL_codes" 200 "/far%20away.pdb/$PDB_ID/far%20away.sym"
for round in first second; do # the servers are asked in the first round alone
  get "$URL_codes" 404 "/none.dll/5ab380779000/none.sym"
  says 'Symbol Not Found'
  get "$URL_codes" 404 "/odd.dll/5ab380779000/odd.sym"
  eval "$round=\$(upstream_count "$URL_tecken" get)"
done
[ "$first" = "$second" ] || fail "an unknown code id was asked for again: $first requests, then $second"
symfs_unserve codes

# Servers that say nothing cost a lookup's time together, and not each its own; the end does not wait.
mkdir "$TMP/nothing"
for silent in s1 s2 s3; do
  upstream_start $silent --root "$TMP/nothing"
  eval "silent_url=\$URL_$silent"
  upstream_fault "$silent_url" '*' silent
  set -- "$@" --source "breakpad@$silent_url"
done
symfs_serve mute "$@" --lookup-deadline 3s
case $(fetch_url -o /dev/null -w '%{http_code}' "$URL_mute/far.dll/5ab380779000/far.sym") in 50[24]) ;; *) fail "no" \
  "answer about a code id" ;; esac
symfs_unserve mute
symfs_serve mute "$@"
fetch_url -o /dev/null "$URL_mute/far.dll/5ab380779000/far.sym" >/dev/null 2>&1 &
PIDS="$PIDS $!"
asked_all() { for u in "$URL_s1" "$URL_s2" "$URL_s3"; do \
  [ "$(upstream_count "$u" inflight '/far.dll/5ab380779000/far.sym')" -ge 1 ] || return 1; done; }
wait_for asked_all || fail "not all are asked at once"
symfs_unserve mute
set --
# Nor does a client wait behind those that wait for such servers.
symfs_serve many --source "breakpad@$URL_s1" --lookup-deadline 600s --stall-timeout 600s
for n in 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29; do
  curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -o /dev/null \
    "$URL_many/far$n.dll/5ab380779000/far.sym" >/dev/null 2>&1 &
  askers="${askers:-} $!"
done
PIDS="$PIDS $askers"
all_wait() { fetch_url "$URL_many/metrics" | grep -qx 'symfs_http_waiting 20'; }
wait_for all_wait || fail "not all wait for a server: $(fetch_url "$URL_many/metrics" | grep waiting)"
get "$URL_many" 200 /symbolicate/v5 -d '{"memoryMap": [], "stacks": [[[-1, 1]]]}'
get "$URL_many" 200 /missing.csv
wait_for all_wait || fail "a client that waits for a server was answered: the test shows nothing"
kill $askers
symfs_unserve many
# Whoever goes while the program is fetched, after servers were asked, is missed then, too.
upstream_start blank --root "$TMP/nothing"
symfs_serve left --source "breakpad@$URL_blank" --source "symstore@$URL_s1" --lookup-deadline 600s \
  --stall-timeout 600s
curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -o /dev/null \
  "$URL_left/gone.dll/5ab380779000/gone.sym" >/dev/null 2>&1 &
asker=$!
PIDS="$PIDS $asker"
program_asked() { [ "$(upstream_count "$URL_s1" inflight '/gone.dll/*')" -ge 1 ]; }
nobody_asks() { [ "$(upstream_count "$URL_s1" inflight '/gone.dll/*')" = 0 ]; }
wait_for program_asked || fail "the program is not asked for"
kill "$asker"
wait_for nobody_asks || fail "what no client waits for any longer is still asked for"
symfs_unserve left
# Two pages ask sources at the same time, and others say that they do not. A page whose client is gone stops asking,
# and the end does not wait for a page.
asks_for() { echo "path=asked.so/${ID}$1/asked.so.sym&ask=1"; }
page_asks() {
  curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -o /dev/null -d "$(asks_for "$1")" "$URL_asks/" >/dev/null 2>&1 &
  asker=$!
  PIDS="$PIDS $asker"
}
asking() { [ "$(upstream_count "$URL_s1" inflight '/asked.so/*')" = "$1" ]; }
both_ask() { asking 2 || gone "$first" || gone "$second"; }
one_asks() { asking 1 || gone "$second"; }
# The server may notice later than the source that a client has left: then it refuses the page.
asks_again() { gone "$second" || { ! gone "$asker" || page_asks 4; asking 2; }; }
left() { ! asking 2; }
pages() {
  symfs_serve asks --source "breakpad@$URL_s1" --lookup-deadline 600s --stall-timeout 600s --drain-seconds 1
  page_asks 1
  first=$asker
  page_asks 2
  second=$asker
  wait_for both_ask || fail "the pages do not ask"
  get "$URL_asks" 200 / -d "$(asks_for 3)"
  asking 2 && grep -q 'The sources were not asked' "$TMP/body"
  refused=$?
  kill "$first" 2>/dev/null
  wait_for one_asks || fail "a page without a client still asks"
  page_asks 4
  wait_for asks_again || fail "a page cannot ask after another has left"
  asking 2 && ! gone "$second"
  again=$?
  kill "$second" 2>/dev/null
  wait_for left || fail "a page without a client still asks"
  symfs_unserve asks
  [ $refused = 0 ] && [ $again = 0 ] || say "the pages: refused $refused, again $again: $(cat "$TMP/body")"
  return $((refused + again))
}
# A page asks for 30 seconds, which may pass on a busy machine.
pages || pages || pages || fail "the third page was not refused, or the fourth was"

# ---- servers that lead to each other ---------------------------------------------------------
mkdir -p "$TMP/up/a.so/111111111111111111111111111111110"
printf 'MODULE Linux x86_64 111111111111111111111111111111110 a.so\nPUBLIC 10 0 f\n' \
  >"$TMP/up/a.so/111111111111111111111111111111110/a.so.sym"
ring="one two three"
# leads_to NAME URL [PATH]: from now on these are its sources.
leads_to() {
  { printf '[source "next"]\nurl = %s\nlayout = breakpad\n' "$2"; [ -z "${3:-}" ] ||
    printf '[source "own"]\npath = %s\nlayout = breakpad\n' "$3"; } >"$TMP/$1.conf"
  eval "kill -HUP \$PID_$1; lt_url=\$URL_$1"
  wait_for leads "$lt_url" "$2" || fail "$1 does not read its configuration again"
}
leads() { fetch_url "$1/status" | grep -qF "data-name=\"where\">$2"; }
ring_up() { # OPTIONS...
  for server in $ring; do
    : >"$TMP/$server.conf"
    symfs_serve $server --config "$TMP/$server.conf" "$@"
  done
  leads_to one "$URL_two"
  leads_to two "$URL_three"
  leads_to three "$URL_one" "$TMP/up"
}
ring_down() { for server in $ring; do symfs_unserve $server; done; }
ring_up
get "$URL_one" 200 /a.so/111111111111111111111111111111110/a.so.sym
same_file "$TMP/body" "$TMP/up/a.so/111111111111111111111111111111110/a.so.sym"
n=10
for server in $ring; do
  n=$((n + 1))
  eval "url=\$URL_$server"
  get "$url" 508 "/a.so/2222222222222222222222222222222$n/a.so.sym"
  grep -q 'a source leads back to this server' "$TMP/body" || fail "a ring: $(cat "$TMP/body")"
  get "$url" 508 "/a.so/5ab3807790$n/a.so.sym"
done
long=$(for i in 1 2 3 4 5 6 7 8 9; do printf '%032d ' $i; done)
get "$URL_three" 508 /a.so/111111111111111111111111111111110/a.so.sym -H "X-Symfs-Via: $long"
get "$URL_three" 200 /a.so/111111111111111111111111111111110/a.so.sym -H "X-Symfs-Via: nonsense, 0,, ;"
ring_down
# Asked at once, each may wait for the next until one gives up; none hangs, and none says that it is not there.
ring_up --lookup-deadline 3s --stall-timeout 3s --connect-timeout 3s
for n in 51 52 53; do
  for server in $ring; do
    eval "url=\$URL_$server"
    curl -gsS --noproxy '*' --max-time "$WAIT_MOST" -o "$TMP/ring.$server.body" -w '%{http_code}' \
      "$url/a.so/2222222222222222222222222222222$n/a.so.sym" \
      >"$TMP/ring.$server" 2>"$TMP/ring.$server.err" &
    eval "asker_$server=\$!"
  done
  for server in $ring; do
    eval "wait \$asker_$server" || fail "a ring that is asked at once: $(cat "$TMP/ring.$server.err")"
    case $(cat "$TMP/ring.$server") in
    508 | 504 | 502 | 503) ;;
    *) fail "a ring that is asked at once: $(cat "$TMP/ring.$server" "$TMP/ring.$server.body")" ;;
    esac
  done
done
ring_down
exit 0
