#!/bin/sh
# symfs serve --upload by version 2 of Tecken's protocol: the requests of Tecken's own tests, and a client that sends
# files as Mozilla's upload-symbols does: it asks by which version, names its files, and sends each to its URL in
# parts. Parts that are repeated, lost, or too many; wrong bytes; tokens; bounds.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc readelf objcopy strip gzip python3 tar bzip2

TOKEN=0123456789abcdef1 TRY=0123456789abcdef2 READ=0123456789abcdef3 LEAVER=0123456789abcdef4
line() { echo "$(printf %s "$1" | sha256sum | cut -d' ' -f1) $2 ${3:--} public"; }
{
  echo '# symfs tokens 1'
  line $TOKEN 'ci upload,read'
  line $TRY 'try try,read' 2100-01-01T00:00:00Z
  line $READ 'reader read'
} >"$TMP/tokens"
cp "$TMP/tokens" "$TMP/tokens-without"
line $LEAVER 'leaver upload' >>"$TMP/tokens"
chmod 600 "$TMP/tokens" "$TMP/tokens-without"
symfs_serve one --upload --token-file "$TMP/tokens" --max-file-size 20M
U=$URL_one
no_drafts() { [ -z "$(find "$TMP/store-one/partial" -type f)" ]; }

# ---- the files, in the order of their paths -----------------------------------------------------
DATA=$top_srcdir/tests/data/broken
field() { "$SYMFS" id --json "$2" | sed -n "s/^ *\"$1\": *\"\\(.*\\)\",\\{0,1\\}\$/\\1/p" | head -n 1; }
breakpad_id() { field debug_id "$1" | tr -d - | tr '[:lower:]' '[:upper:]'; }
make_program "$TMP/a" prog
PROG=$TMP/a/bin/prog DEBUG=$TMP/a/debug/prog.debug ID=$(build_id "$TMP/a/bin/prog")
F=$TMP/files ELF=prog/$(breakpad_id "$PROG")0
PDB=app.pdb/$(breakpad_id "$DATA/pdb/good") MACH=lib.dylib/$(breakpad_id "$DATA/macho/dsym")0
GUID=3249D99D0C4049318610F4E4FB0B6936
mkdir -p "$F/$ELF" "$F/$PDB" "$F/$MACH" "$F/c++filt/${GUID}1"
gzip -c "$DEBUG" >"$F/$ELF/prog.dbg.gz"
if command -v gcab >/dev/null; then
  gcab -c -z -n "$F/$PDB/app.pd_" "$DATA/pdb/good" || fail gcab
else
  gzip -c "$DATA/pdb/good" >"$F/$PDB/app.pd_"
fi
mkdir -p "$TMP/lib.dSYM/Contents/Resources/DWARF"
cp "$DATA/macho/dsym" "$TMP/lib.dSYM/Contents/Resources/DWARF/lib.dylib"
tar -C "$TMP" -cjf "$F/$MACH/lib.dylib.dSYM.tar.bz2" lib.dSYM || fail tar
{
  echo "MODULE Linux x86_64 ${GUID}1 c++filt"
  seq 100000 200000 | sed 's/.*/PUBLIC & 0 f&/'
} >"$F/c++filt/${GUID}1/c++filt.sym"

# ---- the client -----------------------------------------------------------------------------------
# client URL TOKEN DIR PART-SIZE: prints the version, then what became of each file.
cat >"$TMP/client" <<'END'
import gzip, hashlib, json, os, sys, urllib.error, urllib.request
base, token, root, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)
def ask(method, url, body, head):
    request = urllib.request.Request(url, data=body, method=method, headers=head)
    try:
        with opener.open(request) as a:
            return a.status, a.headers, a.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()

status, _, body = ask("POST", base + "/upload/auth_info/", b"", {"auth-token": token})
info = json.loads(body)
assert status == 200 and isinstance(info["token_expires_at"], int), (status, info)
print("version", info["upload_api_version"], info["email"], info["try_symbols"])
files = {}
for where, _, names in os.walk(root):
    for name in names:
        path = os.path.join(where, name)
        files[os.path.relpath(path, root)] = open(path, "rb").read()
request = {"files": [{"key": k, "size": len(files[k]), "md5_hash": hashlib.md5(files[k]).hexdigest()}
                     for k in sorted(files)]}
status, _, body = ask("POST", base + "/upload/v2/", json.dumps(request).encode(),
                      {"auth-token": token, "content-type": "application/json"})
answer = json.loads(body)
assert status == 201, (status, answer)
assert answer["upload_protocol"] == "gcs-resumable" and answer["user"] == info["email"], answer
assert answer["try_symbols"] is info["try_symbols"] and answer["id"] < 2**32, answer
assert isinstance(answer["created_at"], int), answer
assert [f["key"] for f in answer["files"]] == sorted(files), answer
for f in answer["files"]:
    key, action = f["key"], f["action"]
    if action["type"] != "upload":
        print(key, action["type"], action.get("msg", ""))
        continue
    coding = action.get("content_encoding")
    assert coding == ("gzip" if key.endswith(".sym") else None), action
    data = gzip.compress(files[key]) if coding else files[key]
    at = parts = 0
    while True:
        end = min(at + size, len(data))
        status, head, body = ask("PUT", action["url"], data[at:end],
                                 {"content-range": "bytes %d-%d/%d" % (at, end - 1, len(data))})
        parts += 1
        if status != 308:
            break
        assert head["range"] == "bytes=0-%d" % (end - 1), head["range"]
        at = end
    if status == 200:
        made = json.loads(body)
        assert made["name"] == key and made["size"] == str(len(data)), made
        import base64
        assert base64.b64decode(made["md5Hash"]) == hashlib.md5(data).digest(), made
    print(key, status, parts, body.decode() if status != 200 else "")
END
client() { python3 "$TMP/client" "$U" "$@" >"$TMP/out" 2>&1 || fail "the client: $(cat "$TMP/out")"; }
did() { grep -qF -- "$1" "$TMP/out" || fail "the client did not: $1; but: $(cat "$TMP/out")"; }
get() { ask "$1" "$2" -H "Authorization: Bearer $TOKEN"; }

client $TOKEN "$F" 1048576
did 'version 2 ci False'
[ "$(grep -c ' 200 1 ' "$TMP/out")" = 4 ] || fail "not all files were sent: $(cat "$TMP/out")"
get 200 "/buildid/$ID/debuginfo"
same_file "$TMP/body" "$DEBUG"
get 200 "/symstore/$PDB/app.pdb"
same_file "$TMP/body" "$DATA/pdb/good"
get 200 "/c++filt/${GUID}1/c++filt.sym"
same_file "$TMP/body" "$F/c++filt/${GUID}1/c++filt.sym"
get 200 "/symstore/_.dwarf/mach-uuid-sym-$(field debug_id "$DATA/macho/dsym" | tr -d -)/_.dwarf"
same_file "$TMP/body" "$DATA/macho/dsym"
# Each of them is skipped now, by any token of the namespace, after a restart, too.
client $TOKEN "$F" 1048576
[ "$(grep -c ' skip' "$TMP/out")" = 4 ] || fail "not all files are skipped: $(cat "$TMP/out")"
symfs_unserve one
symfs_serve one --upload --token-file "$TMP/tokens" --max-file-size 20M
U=$URL_one
client $TRY "$F" 1048576
did 'version 2 try True'
[ "$(grep -c ' skip' "$TMP/out")" = 4 ] || fail "not all files are skipped after a restart: $(cat "$TMP/out")"
# One that changed, or that was removed, is sent.
echo 'PUBLIC 1 0 more' >>"$F/c++filt/${GUID}1/c++filt.sym"
"$SYMFS" cache rm --cache "$TMP/store-one" "elf-debug:$ID" >/dev/null 2>&1 ||
  rm -f "$TMP"/store-one/blobs/*/"$(sha256sum "$DEBUG" | cut -c3-64)"*
client $TOKEN "$F" 262144
did "$ELF/prog.dbg.gz 200 1"
grep -q 'c++filt.sym 200 [2-9]' "$TMP/out" || fail "the changed file was not sent in parts: $(cat "$TMP/out")"
[ "$(grep -c ' skip' "$TMP/out")" = 2 ] || fail "what did not change is not skipped: $(cat "$TMP/out")"

# ---- the requests of Tecken's tests -----------------------------------------------------------------
v2() { ask "$1" /upload/v2/ -H "auth-token: ${3:-$TOKEN}" -H 'Content-Type: application/json' --data-binary "$2"; }
is() { [ "$(cat "$TMP/body")" = "$1" ] || fail "$ask_path: not '$1' but $(head -c 400 "$TMP/body")"; }
for body in 'not JSON' '{"files": "wrong type"}' '{"files": [{"key": "missing_md5_hash", size: 123}]}' \
  '{"files": [{"key": "a/b/c", size: 123, md5_hash: "abc", "surplus": "property"}]}' '[]' '{}' '{"files": [1]}' \
  '{"files": [{"key": "a/0/c", "size": 1, "md5_hash": "abc", "surplus": 1}]}' \
  '{"files": [{"key": "a/0/c", "size": -1, "md5_hash": "abc"}]}' '{"files": [{"key": "a/0/c", "size": 1}]}'; do
  v2 400 "$body"
  is '{"error": "malformed JSON request body"}'
done
python3 - "$TMP" <<'END' || fail "requests"
import json, sys
good = "d41d8cd98f00b204e9800998ecf8427e"
keys = ["x\u00fcl.pdb/1A2B3C4/xul.sym", "x%l.pdb/1A2B3C4/xul.sym", "xul.pdb/1A2B3C/xul#.ex_",
        "xul.so/1A2B3G4E/xul.sym", "crypt3\x10.pdb/1A2B3C/crypt3\x10.pd_", "xul.sym", "a/0/b/c", "../0/x"]
hashes = [good.upper(), good[:-1], good + "1"]
files = [{"key": k, "size": 5, "md5_hash": good} for k in keys]
files += [{"key": "xul.pdb/%d/xul.sym" % (n + 1), "size": 5, "md5_hash": h} for n, h in enumerate(hashes)]
json.dump({"files": files}, open(sys.argv[1] + "/errors", "w"))
json.dump({"files": [{"key": "a/%x/a.sym" % n, "size": 5, "md5_hash": good} for n in range(1025)]},
          open(sys.argv[1] + "/many", "w"))
json.dump({"files": [{"key": "a/%x/a.sym" % n, "size": 5, "md5_hash": good} for n in range(1024)]},
          open(sys.argv[1] + "/most", "w"))
END
v2 201 "@$TMP/errors"
python3 - "$TMP" <<'END' || fail "wrong keys and digests: $(cat "$TMP/body")"
import json, sys
asked, got = json.load(open(sys.argv[1] + "/errors")), json.load(open(sys.argv[1] + "/body"))
assert [f["key"] for f in got["files"]] == [f["key"] for f in asked["files"]]
assert all(f["action"]["type"] == "error" for f in got["files"])
assert [f["action"]["msg"] for f in got["files"]] == ["invalid key"] * 8 + ["invalid MD5 hex digest"] * 3
END
v2 400 "@$TMP/many"
is '{"error": "too many files"}'
v2 201 '{"files": []}'
says '"files": \[\]'
for path in auth_info v2; do
  ask 403 /upload/$path/ -X POST -d '{}'
  is '{"error": "This requires an Auth-Token to authenticate the request"}'
  ask 403 /upload/$path/ -X POST -d '{}' -H 'auth-token: wrong'
  is '{"error": "API Token not matched"}'
  ask 403 /upload/$path/ -X POST -d '{}' -H "auth-token: $READ"
  ask 405 /upload/$path/ -H "auth-token: $TOKEN"
done
ask 200 /upload/auth_info/ -X POST -H "auth-token: $TRY"
is '{"token_expires_at": 4102444800, "try_symbols": true, "upload_api_version": 2, "email": "try"}'

# ---- parts ------------------------------------------------------------------------------------------
# begin KEY FILE [TOKEN]: the URL of one file in $url, and its size in $size. put STATUS RANGE [CURL-ARGS...]
begin() {
  size=$(wc -c <"$2")
  md5=$(md5sum <"$2" | cut -d' ' -f1)
  v2 201 "{\"files\": [{\"key\": \"$1\", \"size\": $size, \"md5_hash\": \"$md5\"}]}" "${3:-$TOKEN}"
  url=$(sed -n 's/.*"url": "\([^"]*\)".*/\1/p' "$TMP/body")
  [ -n "$url" ] || fail "no URL: $(cat "$TMP/body")"
}
put() {
  put_want=$1 put_range=$2
  shift 2
  [ -z "$put_range" ] || set -- -H "Content-Range: $put_range" "$@"
  put_got=$(fetch_url -X PUT -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' "$@" "$url") || fail "PUT $url: $?"
  [ "$put_got" = "$put_want" ] || fail "PUT $put_range $*: $put_got, wanted $put_want: $(cat "$TMP/body")"
}
has() { # LAST: the file is here up to this byte; "": no byte
  tr -d '\r' <"$TMP/head" | sed -n 's/^[Rr]ange: //p' >"$TMP/range"
  [ "$(cat "$TMP/range")" = "${1:+bytes=0-$1}" ] || fail "$put_range: $(cat "$TMP/range"), not $1"
}
part() { head -c "$2" "$3" | tail -c +"$(($1 + 1))" >"$TMP/part"; } # FROM TO FILE
LIB=$TMP/a/full/libprog.so
LIB_ID=$(build_id "$LIB") KEY=libprog.so/$(breakpad_id "$LIB")0/libprog.so.dbg
begin "$KEY" "$LIB"
put 308 "bytes */$size" -d ''
has ''
put 308 'bytes */*' -d ''
has ''
part 100 200 "$LIB"
put 308 "bytes 100-199/$size" --data-binary "@$TMP/part" # a gap
has ''
part 0 1000 "$LIB"
put 308 "bytes 0-999/$size" --data-binary "@$TMP/part"
has 999
part 500 3000 "$LIB"
put 308 "bytes 500-2999/*" --data-binary "@$TMP/part" # bytes that are here already are not taken again
has 2999
put 308 "bytes 0-2499/$size" --data-binary "@$TMP/part" # not even if they differ
has 2999
for wrong in bytes 'bytes 1-/2' 'lines 1-2/3' "bytes x-1/$size"; do
  put 400 "$wrong" --data-binary x
done
put 308 "bytes */$size" -d ''
has 2999
get 404 "/buildid/$LIB_ID/debuginfo"
# A client that disconnects in the middle of a part has sent some of it.
python3 - "${url#http://}" "$LIB" "$size" <<'END' || fail "a client that disconnects"
import socket, sys
where, data, size = sys.argv[1], open(sys.argv[2], "rb").read(), sys.argv[3]
host, port = where.split("/")[0].split(":")
s = socket.create_connection((host, int(port)))
s.sendall(("PUT /%s HTTP/1.1\r\nHost: %s:%s\r\nContent-Range: bytes 3000-%d/%s\r\nContent-Length: %d\r\n\r\n"
           % (where.split("/", 1)[1], host, port, len(data) - 1, size, len(data) - 3000)).encode() + data[3000:4000])
s.close()
END
is_free() {
  put_got=$(fetch_url -X PUT -o "$TMP/body" -D "$TMP/head" -w '%{http_code}' -d '' \
    -H "Content-Range: bytes */$size" "$url")
  [ "$put_got" = 308 ]
}
wait_for is_free || fail "the upload stays busy: $put_got $(cat "$TMP/body")"
here=$(tr -d '\r' <"$TMP/head" | sed -n 's/^[Rr]ange: bytes=0-//p')
[ "$here" -ge 2999 ] || fail "bytes are lost: $here"
part $((here + 1)) "$size" "$LIB"
put 200 "bytes $((here + 1))-$((size - 1))/$size" --data-binary "@$TMP/part"
get 200 "/buildid/$LIB_ID/debuginfo"
same_file "$TMP/body" "$LIB"
put 404 "bytes */$size" -d ''
# As Tecken's tests send a file: at once, without a range.
sym() { printf 'MODULE windows x86_64 %s %s\nFUNC 1000 10 0 main\n' "$1" "$2" >"$TMP/$3"; }
sym ${GUID}2 Two.pdb two.sym
begin "Two.pdb/${GUID}2/Two.sym" "$TMP/two.sym"
put 200 '' -H 'Content-Type: text/plain' --data-binary "@$TMP/two.sym"
get 200 "/Two.pdb/${GUID}2/Two.sym"
same_file "$TMP/body" "$TMP/two.sym"

# ---- wrong bytes --------------------------------------------------------------------------------------
sym ${GUID}3 Three.pdb three.sym
begin "Four.pdb/${GUID}4/Four.sym" "$TMP/three.sym"
put 422 '' --data-binary "@$TMP/three.sym"
says 'does not fit its path'
put 404 '' --data-binary "@$TMP/three.sym" # a refused file is over
begin "org.mozilla.fenix/${GUID}4/mapping.txt" "$0"
put 422 '' --data-binary "@$0"
cp "$LIB" "$TMP/changed"
printf x >>"$TMP/changed"
begin "$KEY" "$TMP/changed"
put 400 '' --data-binary "@$LIB"
says 'another size or MD5'
begin "Three.pdb/${GUID}3/Three.sym" "$TMP/three.sym"
put 413 "bytes 0-9/10" --data-binary "@$TMP/three.sym"
put 400 "bytes */0" -d ''
says 'is empty'
head -c 21000000 /dev/zero >"$TMP/large"
begin "Three.pdb/${GUID}3/Three.sym" "$TMP/large"
put 413 "" --data-binary "@$TMP/large"
head -c 11000000 "$TMP/large" >"$TMP/half"
begin "Three.pdb/${GUID}3/Three.sym" "$TMP/large"
put 308 "bytes 0-10999999/22000000" --data-binary "@$TMP/half"
put 413 "bytes 11000000-21999999/22000000" --data-binary "@$TMP/half"
get 404 "/Three.pdb/${GUID}3/Three.sym"
# 100 MB in 200 kB: unpacking ends at the limit for files.
(cat "$TMP/three.sym"; yes 'PUBLIC 1000 0 f') | head -c 100000000 | gzip >"$TMP/bomb"
begin "Three.pdb/${GUID}3/Three.sym" "$TMP/large"
put 413 '' --data-binary "@$TMP/bomb"

# ---- tokens, queries, bounds ------------------------------------------------------------------------------
sym ${GUID}5 Five.pdb five.sym
begin "Five.pdb/${GUID}5/Five.sym" "$TMP/five.sym" $LEAVER
cp "$TMP/tokens-without" "$TMP/tokens"
put 401 '' --data-binary "@$TMP/five.sym"
url=$U/v1/uploads/00000000000000000000000000000000
put 404 '' --data-binary "@$TMP/five.sym"
# The class and the labels of the first request are those of the file.
fetch_url -o "$TMP/body" -H "auth-token: $TOKEN" "$U/upload/v2/?class=try&label=build%3D7" -d "{\"files\": [{\"key\":
  \"Five.pdb/${GUID}5/Five.sym\", \"size\": 1, \"md5_hash\": \"$(md5sum <"$TMP/five.sym" | cut -d' ' -f1)\"}]}"
url=$(sed -n 's/.*"url": "\([^"]*\)".*/\1/p' "$TMP/body")
put 200 '' --data-binary "@$TMP/five.sym"
"$SYMFS" cache ls --cache "$TMP/store-one" --json | tr -d '\n ' | grep -q 'build=7' ||
  fail "the label is lost: $("$SYMFS" cache ls --cache "$TMP/store-one" --json | head -c 600)"
ask 400 '/upload/v2/?class=none' -H "auth-token: $TOKEN" -d '{"files": []}'
ask 403 '/upload/v2/?class=default' -H "auth-token: $TRY" -d '{"files": []}'
# The key of an upload is in no log, and a token cannot begin so many that others can begin none.
v2 201 "@$TMP/most" $TRY
v2 201 "@$TMP/most" $TRY
v2 503 "@$TMP/most" $TRY
says 'too many uploads were begun'
begin "Three.pdb/${GUID}3/Three.sym" "$TMP/three.sym"
put 200 '' --data-binary "@$TMP/three.sym"
symfs_unserve one
wait_for no_drafts || fail "a draft stays"
! grep -q "${url##*/}" "$TMP/one.log" || fail "the log has the key of an upload"
