#!/bin/sh
# Tables of HTTP: every route with every method (a status, and Allow), and files of each kind with combinations of
# preconditions and ranges, for GET and HEAD. A rule written after RFC 9110 (13.2.2, 14.2, 9.3.7, 15.5.6) says what
# each cell is: no cell is without an expectation. Then resumed downloads, which must not mix two versions of a file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need curl gcc objcopy strip readelf python3

THEN='Sun, 06 Nov 1994 08:49:37 GMT' BEFORE='Sun, 06 Nov 1994 08:49:36 GMT' AFTER='Sun, 06 Nov 1994 08:49:38 GMT'
make_program "$TMP/made" one
ONE=$(build_id "$TMP/made/bin/one")
SYM=AbC.pdb/3249D99D0C4049318610F4E4FB0B69361/AbC.sym
{
  echo 'MODULE windows x86_64 3249D99D0C4049318610F4E4FB0B69361 AbC.pdb'
  seq -f 'PUBLIC %g000 0 some_function' 1 400
} >"$TMP/AbC.sym"
objcopy -R .debug_info -R .debug_line "$TMP/made/debug/one.debug" "$TMP/poor.debug" || fail objcopy
touch -d "$THEN" "$TMP/made/bin/one" "$TMP/made/debug/one.debug" "$TMP/poor.debug" "$TMP/AbC.sym"
add() { "$SYMFS" add --cache "$TMP/store" "$@" >"$TMP/add.log" || fail "add: $(cat "$TMP/add.log")"; }
add "$TMP/made/bin/one" "$TMP/AbC.sym"
symfs_serve one --cache "$TMP/store" --offline
symfs_serve two --upload

# run WHAT: asks for each cell of $TMP/cells, lines of "WANTED|METHOD|URL|FIELD|FIELD...". WANTED is "STATUS LENGTH
# RANGE ALLOW", where `*` is anything and `-` is nothing.
run() {
  awk -F'|' '{
    printf "%surl = \"%s\"\n", n++ ? "next\n" : "", $3
    print "output = \"/dev/null\"\nsilent\ngloboff\nnoproxy = \"*\"\npath-as-is"
    print $2 == "HEAD" ? "head" : "request = \"" $2 "\""
    for (i = 4; i <= NF; i++) { gsub(/["\\]/, "\\\\&", $i); if ($i) print "header = \"" $i "\"" }
    print "write-out = \"%{http_code}|%header{content-length}|%header{content-range}|%header{allow}\\n\""
  }' "$TMP/cells" >"$TMP/config"
  curl -K "$TMP/config" >"$TMP/got" || fail "$1: curl: $?"
  judge "$1" || fail "$1"
}
judge() {
  awk -F'|' -v what="$1" '
    function same(want, got) { return want == "*" || want == got || (want == "-" && got == "") }
    NR == FNR { cell[NR] = $0; n = NR; next }
    { got = $0; split(got, g, "|"); split(cell[FNR], c, "|"); split(c[1], w, ";")
      for (i = 1; i <= 4; i++) if (!same(w[i], g[i])) { if (bad++ < 20) print "got " got " for " cell[FNR]; break } }
    END {
      if (FNR != n || !n) { print what ": " FNR " answers for " n " cells"; exit 1 }
      print what ": " n " cells, " bad + 0 " wrong"
      exit bad > 0 }' "$TMP/cells" "$TMP/got"
}

# ---- routes and methods ------------------------------------------------------------------
# routes URL: from lines of "PATH|METHOD=STATUS ...": these methods are those of Allow; with OPTIONS. Without a method
# the path has no resource, and STATUS is the answer to all.
routes() {
  awk -F'|' -v url="$1" '{
    n = split("GET HEAD POST PUT DELETE OPTIONS PATCH TRACE BREW", methods, " ")
    split("", status); allow = ""
    k = split($2, pairs, " ")
    for (i = 1; i <= k; i++) {
      split(pairs[i], p, "=")
      status[p[1]] = p[2]
      allow = allow (allow ? ", " : "") p[1]
    }
    all = k == 1 && !index($2, "=") ? $2 : 0
    allow = allow ", OPTIONS"
    status["OPTIONS"] = 204
    for (i = 1; i <= n; i++) {
      m = methods[i]
      want = m in status ? status[m] (m == "OPTIONS" ? ";-;-;" allow : ";*;-;-") : "405;*;-;" allow
      if (all) want = all ";*;-;-"
      if (m == "BREW") want = "501;*;-;-"
      print want "|" m "|" url $1 ($1 == "/events" && m == "GET" ? "|If-Match: \"x\"" : "")
    }
  }' >>"$TMP/cells"
}
: >"$TMP/cells"
long=$(printf '%05000d' 0)
NO=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
routes "$URL_one" <<EOF
/|GET=200 HEAD=200 POST=303
/status|GET=200 HEAD=200
/uploads|GET=200 HEAD=200
/page.css|GET=200 HEAD=200
/page.js|GET=200 HEAD=200
/page.svg|GET=200 HEAD=200
/healthz|GET=200 HEAD=200
/ready|GET=200 HEAD=200
/events|GET=412 HEAD=200
/metadata|GET=400 HEAD=400
/metadata?key=file&value=/x|GET=200 HEAD=200
/metrics|GET=200 HEAD=200
/missing.csv|GET=200 HEAD=200
/missingsymbols.csv|GET=200 HEAD=200
/symbolicate/minidump|POST=400
/symbolicate/text|POST=200
/symbolicate/v4|POST=400
/symbolicate/v5|POST=400
/README|GET=200 HEAD=200
/symstore2/index2.txt|GET=200 HEAD=200
/$SYM|GET=200 HEAD=200
/buildid/$ONE/executable|GET=200 HEAD=200
/buildid/$NO/executable|GET=404 HEAD=404
/gsym/debuginfod/buildid/$NO/debuginfo.gsym|GET=404 HEAD=404
/x.pdb/4249D99D0C4049318610F4E4FB0B69361/x.sym|GET=404 HEAD=404
/nothing|404
/upload|404
/$long|414
/%zz|400
EOF
routes "$URL_two" <<EOF
/buildid/$NO/executable|GET=404 HEAD=404 PUT=422 DELETE=404
/upload|POST=400
/upload/|POST=400
/upload/auth_info/|POST=200
/upload/v2/|POST=400
/upload/symbol_file|POST=400
/api/0/organizations/o/chunk-upload/|GET=200 POST=200
/api/0/projects/o/p/files/difs/assemble/|POST=400
/v1/symbols/x.pdb/3249D99D0C4049318610F4E4FB0B69361:checkStatus|GET=200
/v1/uploads:create|POST=200
/README|GET=200 HEAD=200
/nothing|404
EOF
run 'routes and methods'

# ---- preconditions and ranges --------------------------------------------------------------
# table KIND URL TAG SIZE: all combinations, asked with GET and HEAD. KIND: `file`; `packed`, a text that is sent with
# gzip, under the tag PACKED, to a GET without Range and to HEAD; `better`, a file that replaced another of the same
# date, so that no date is a validator; `plain`, an answer without validators and ranges; `head`, the same for HEAD,
# of a file that is made when it is asked for; `none`, a path without a file.
table() {
  awk -v kind="$1" -v url="$2" -v tag="${3:-\"z\"}" -v size="${4:-}" -v packed="${PACKED:-}" \
    -v then="$THEN" -v before="$BEFORE" -v after="$AFTER" '
    function tag_of(word) {
      if (word == "any") return "*"
      return (word == "weak" ? "W/" : word == "list" ? "\"x\", " : "") (word == "other" ? "\"x\"" : own)
    }
    function date_of(word) {
      return word == "before" ? before : word == "after" ? after : word == "junk" ? "then" : then
    }
    function range_of(word) {
      if (word == "junk") return "lines=1-2"
      return "bytes=" (word == "part" ? "2-5" : word == "end" ? "-4" : size "-")
    }
    # The steps of RFC 9110, 13.2.2.
    function rule(m, im, ius, inm, ims, rg, ir) {
      if (kind == "none") return 404
      if (im != "-") {
        # 13.1.1: the strong comparison
        if (im != "any" && (kind == "plain" || (im != "own" && im != "list"))) return 412
      } else if (ius == "before" && kind != "plain") {
        return 412
      }
      if (inm != "-") {
        if (inm == "any" || (kind != "plain" && inm != "other")) return 304
      } else if ((ims == "own" || ims == "after") && kind != "plain" && kind != "better") {
        return 304
      }
      if (m == "HEAD" || rg == "-" || rg == "junk" || kind == "plain") return 200 # 14.2
      if (ir != "-" && ir != "own" && (ir != "date" || kind == "better")) return 200 # 13.1.5
      # A server may ignore Range (14.2): symfs does if a date alone names the version, and may mean another one.
      # What is no date is no condition (13.1.4).
      if (im == "-" && ius != "-" && ius != "junk" && (ius != "own" || kind == "better")) return 200
      return rg == "past" ? 416 : 206
    }
    function field(name, word, value) { return word == "-" ? "" : "|" name ": " value }
    function cell(m, im, ius, inm, ims, rg, ir,   want, status, zip) {
      zip = kind == "packed" && (m == "HEAD" || rg == "-")
      own = zip ? packed : tag
      status = rule(m, im, ius, inm, ims, rg, ir)
      want = status ";" (status == 200 && !zip && size ? size : status == 206 ? 4 : "*") ";"
      want = want (status == 206 ? "bytes " (rg == "part" ? "2-5" : size - 4 "-" size - 1) "/" size : \
             status == 416 ? "bytes */" size : "-") ";-"
      return want "|" m "|" url (kind == "packed" ? "|Accept-Encoding: gzip" : "") \
        field("If-Match", im, tag_of(im)) field("If-Unmodified-Since", ius, date_of(ius)) \
        field("If-None-Match", inm, tag_of(inm)) field("If-Modified-Since", ims, date_of(ims)) \
        field("Range", rg, range_of(rg)) \
        field("If-Range", ir, ir == "date" ? then : ir == "late" ? after : tag_of(ir))
    }
    BEGIN {
      n_m = split(kind == "head" ? "HEAD" : "GET HEAD", M, " ")
      if (kind == "head") kind = "plain"
      few = kind == "plain" || kind == "none"
      n_im = split("- any own weak list other", IM, " ")
      n_ius = split(few ? "- before" : "- own before after junk", IUS, " ")
      n_inm = split(few ? "- any other" : "- any own weak other", INM, " ")
      n_ims = split(few ? "- own" : "- own before after", IMS, " ")
      n_rg = split(kind == "file" ? "- part end past junk" : "- part", RG, " ")
      n_ir = split(kind == "file" ? "- own weak other date late" : few ? "-" : "- own date", IR, " ")
      for (a = 1; a <= n_m; a++) for (b = 1; b <= n_im; b++) for (c = 1; c <= n_ius; c++) for (d = 1; d <= n_inm; d++)
        for (e = 1; e <= n_ims; e++) for (f = 1; f <= n_rg; f++) for (g = 1; g <= n_ir; g++)
          # At most three of these five at once, beside If-Match: all products would be 36,000 cells.
          if (kind != "file" ||
              (IMS[e] == "-") + (IUS[c] == "-") + (INM[d] == "-") + (IR[g] == "-") + (RG[f] == "-") > 1)
            print cell(M[a], IM[b], IUS[c], INM[d], IMS[e], RG[f], IR[g])
    }' >"$TMP/cells"
  run "$1 $2"
}
header() { tr -d '\r' <"$TMP/head" | sed -n "s/^$1: //Ip"; }
U=$URL_one
ask 200 "/buildid/$ONE/executable"
table file "$U/buildid/$ONE/executable" "$(header etag)" "$(stat -c %s "$TMP/made/bin/one")"
ask 200 "/$SYM" -H 'Accept-Encoding: gzip'
PACKED=$(header etag)
[ "$(header content-encoding)" = gzip ] || fail "not packed: $(cat "$TMP/head")"
ask 200 "/$SYM"
table packed "$U/$SYM" "$(header etag)" "$(stat -c %s "$TMP/AbC.sym")"
for path in /healthz /status /metrics /page.css /missing.csv /README; do
  ask 200 "$path"
  [ -z "$(header etag)$(header last-modified)" ] || fail "$path has a validator: the table is to be of another kind"
  table plain "$U$path"
done
table none "$U/buildid/$NO/executable"

# ---- preconditions of PUT and DELETE ---------------------------------------------------------
# 412 where a condition is false, else what the request gets without it. A condition does not count for a request that
# fails anyway, such as DELETE of nothing (RFC 9110, 13.2.1).
remove() { fetch_url -o "$TMP/body" -w '%{http_code}' -X DELETE "$@" "$URL_two/$SYM"; }
put_sym() {
  fetch_url -o "$TMP/body" -w '%{http_code}' -T "$TMP/AbC.sym" "$@" "$URL_two/$SYM"
}
[ "$(put_sym -H 'If-Match: *')" = 412 ] || fail "PUT of a new file with If-Match: $(cat "$TMP/body")"
[ "$(put_sym -H 'If-None-Match: *' -H "If-Unmodified-Since: $BEFORE")" = 201 ] || fail "PUT: $(cat "$TMP/body")"
fetch_url -o /dev/null -D "$TMP/head" "$URL_two/$SYM" || fail "the file of PUT"
tag=$(header etag) date=$(header last-modified)
[ "$(put_sym -H 'If-None-Match: *')" = 412 ] || fail "PUT with If-None-Match: $(cat "$TMP/body")"
grep -q 'Precondition Failed' "$TMP/body" || fail "PUT: $(cat "$TMP/body")"
for condition in "If-None-Match: $tag" "If-None-Match: W/$tag" "If-Match: W/$tag" 'If-Match: "x"' \
  "If-Unmodified-Since: $BEFORE"; do
  [ "$(put_sym -H "$condition")" = 412 ] || fail "PUT with $condition: $(cat "$TMP/body")"
  [ "$(remove -H "$condition")" = 412 ] || fail "DELETE with $condition: $(cat "$TMP/body")"
done
for condition in "If-Match: $tag" 'If-Match: *' 'If-None-Match: "x"' "If-Unmodified-Since: $date" \
  "If-Modified-Since: $date" 'If-Unmodified-Since: then'; do
  [ "$(put_sym -H "$condition")" = 200 ] || fail "PUT with $condition: $(cat "$TMP/body")"
done
[ "$(remove -H "If-Match: $tag")" = 204 ] || fail "DELETE with If-Match: $(cat "$TMP/body")"
[ "$(remove -H "If-Match: $tag")" = 404 ] || fail "DELETE of nothing: $(cat "$TMP/body")"
say "preconditions of PUT and DELETE: 21 requests, 0 wrong"

# ---- lines that other servers read differently -------------------------------------------------
[ "$(put_sym)" = 201 ] || fail "PUT: $(cat "$TMP/body")"
# RFC 9112, 5.2: a continued line is refused, or joined to one value, as libmicrohttpd 1.0 does.
pkg-config --atleast-version=1 libmicrohttpd && continued=412 || continued=400
python3 - "${URL_two#http://}" "/$SYM" "$tag" "$BEFORE" $continued <<'END' || fail "the head of a request"
import socket, sys
where, path, tag, before, continued = sys.argv[1:]
host, port = where.rsplit(':', 1)
wrong = 0
def ask(want, target, *fields, method='GET', has=b''):
    global wrong
    with socket.create_connection((host, int(port))) as s:
        s.sendall('\r\n'.join(('%s %s HTTP/1.1' % (method, target), 'Host: ' + where, 'Connection: close') + fields +
                              ('', '')).encode())
        got = b''.join(iter(lambda: s.recv(65536), b''))
    if int(got[9:12] or b'0') != want or has not in got:
        wrong += 1
        print('%s %s %r: %r, wanted %d %r' % (method, target, fields, got[:200], want, has))
for method in 'DELETE', 'GET':
    ask(int(continued), path, 'If-Match: "x"', ' y', method=method)
    ask(400, path, 'If-Match: "x"', 'If-Match: ' + tag, method=method)
    ask(400, path, 'If-Unmodified-Since: ' + before, 'If-Unmodified-Since: ' + before, method=method)
    ask(412, path, 'If-Unmodified-Since: %s \t' % before, method=method)
    ask(412, path, 'If-Match: *x', method=method)
for method in 'HEAD', 'GET':
    ask(200, path, 'If-Match: ' + tag, method=method)
    ask(304, path, 'If-None-Match: ' + tag, method=method)
    ask(412, path, 'If-Unmodified-Since: ' + before, method=method)
ask(206, path, 'Range: bytes=0-99999999999999999999')
ask(206, path, 'Range: bytes=-99999999999999999999')
ask(416, path, 'Range: bytes=99999999999999999999-')
ask(206, path, 'Range: bytes=1-2', 'If-Range: %s ' % tag)
ask(200, 'http://' + where, has=b'<html')
ask(200, 'http://%s?path=/healthz' % where, has=b'<html')
ask(204, 'http://' + where, method='OPTIONS')
ask(412, path, 'If-Match: "x"', 'Content-Length: 5000000', method='PUT', has=b'\r\nDate: ')
sys.exit(wrong > 0)
END

# ---- a download that goes on after the file was replaced -------------------------------------
add "$TMP/poor.debug"
ask 200 "/buildid/$ONE/debuginfo"
same_file "$TMP/body" "$TMP/poor.debug"
old=$(header etag)
ask 206 "/buildid/$ONE/debuginfo" -H "If-Match: $old" -H 'Range: bytes=100-'
ask 206 "/buildid/$ONE/debuginfo" -H "If-Unmodified-Since: $THEN" -H 'Range: bytes=100-'
add "$TMP/made/debug/one.debug"
ask 412 "/buildid/$ONE/debuginfo" -H "If-Match: $old" -H 'Range: bytes=100-'
says 'Precondition Failed'
for condition in "If-Range: $old" "If-Range: $THEN" "If-Unmodified-Since: $THEN" "If-Unmodified-Since: $AFTER"; do
  ask 200 "/buildid/$ONE/debuginfo" -H "$condition" -H 'Range: bytes=100-'
  same_file "$TMP/body" "$TMP/made/debug/one.debug"
done
table better "$U/buildid/$ONE/debuginfo" "$(header etag)" "$(stat -c %s "$TMP/made/debug/one.debug")"
ask 206 "/buildid/$ONE/debuginfo" -H "If-Match: $(header etag)" -H 'Range: bytes=2-'
tail -c +3 "$TMP/made/debug/one.debug" | cmp -s - "$TMP/body" || fail "the rest of the new file"
table head "$U/gsym/debuginfod/buildid/$ONE/debuginfo.gsym"

sed '1s/^/9/' "$TMP/cells" >"$TMP/wrong" && mv "$TMP/wrong" "$TMP/cells"
judge 'with a wrong expectation' && fail "a wrong cell is not found"
:
