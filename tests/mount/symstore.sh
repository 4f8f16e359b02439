#!/bin/sh
# Features of symbol stores beside paths: names in lower case, two tiers announced by index2.txt,
# the lists of 000Admin, and file.ptr, which gives the place of a file.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl clang lld-link gzip

windows() # DIR: Prog.pdb and Prog.exe of code that says DIR's name
{
  mkdir -p "$1"
  echo "int start(void) { return sizeof(\"$1\"); }" >"$1/x.c"
  clang -target x86_64-windows-msvc -g -gcodeview -O1 -c "$1/x.c" -o "$1/x.obj" &&
    lld-link /nologo /debug "/pdb:$1/Prog.pdb" /Brepro /nodefaultlib /entry:start \
      /subsystem:console "/out:$1/Prog.exe" "$1/x.obj" >"$1/lld.log" 2>&1 || fail "lld-link"
}
windows "$TMP/one"
windows "$TMP/other-one"
PDB=$TMP/one/Prog.pdb
DID=$("$SYMFS" id --json "$PDB" | sed -n 's/^ *"debug_id": *"\(.*\)",\{0,1\}$/\1/p' | head -n 1 | tr -d - |
  tr '[:lower:]' '[:upper:]')
[ ${#DID} = 33 ] || fail "the id of the PDB is $DID"
file=symstore/Prog.pdb/$DID/Prog.pdb

# conf WORDS...: of a store in $TMP/www, asked anew
conf() { printf '[source "s"]\nlayout = symstore\n' >"$TMP/conf"; printf '%s\n' "$@" >>"$TMP/conf"
cat "$DEADLINES" >>"$TMP/conf"; rm -rf "$TMP/store"; }
symfs() { timeout 600 "$SYMFS" "$@" --no-default-sources --config "$TMP/conf" --cache "$TMP/store" >"$TMP/out" \
  2>"$TMP/err"; }
gets() { # WHAT
  symfs get "$file" || fail "$1: $? $(cat "$TMP/err")"
  same_file "$(cat "$TMP/out")" "$PDB"
}
fails() { # STATUS WHAT
  symfs get "$file"
  f_r=$?
  [ $f_r = "$1" ] || fail "$2: exit $f_r, wanted $1: $(cat "$TMP/err")"
}
clean() { rm -rf "$TMP/www/"*; mkdir -p "$TMP/www/Prog.pdb/$DID"; upstream_clear "$up"; upstream_reset "$up"; }
mkdir "$TMP/www"
upstream_start up --root "$TMP/www" --log "$TMP/requests"
# shellcheck disable=SC2154 # set by upstream_start
up=$URL_up

# ---- names in lower case -----------------------------------------------------------------------------
clean
mkdir -p "$TMP/www/prog.pdb/$DID"
cp "$PDB" "$TMP/www/prog.pdb/$DID/prog.pdb"
for where in "url = $up/" "path = $TMP/www"; do
  conf "$where"
  gets "a disk in lower case, $where"
done
[ "$(grep -c index2 "$TMP/requests")" -le 1 ] ||
  fail "index2.txt was asked for more than once: $(cat "$TMP/requests")"
conf "url = $up/" 'casing = uppercase'
fails 1 "a disk in lower case, asked in upper case"

# ---- one tier or two ---------------------------------------------------------------------------------
two() { clean; rm -rf "$TMP/www/Prog.pdb"; mkdir -p "$TMP/www/Pr/Prog.pdb/$DID"
cp "$PDB" "$TMP/www/Pr/Prog.pdb/$DID/Prog.pdb"; : >"$TMP/www/index2.txt"; }
probes() { grep -c index2.txt "$TMP/requests"; }
two
for where in "url = $up/" "path = $TMP/www"; do
  conf "$where"
  gets "two tiers, $where"
done
conf "url = $up/"
gets "two tiers"
symfs cache rm "$file" || fail "cache rm: $(cat "$TMP/err")"
: >"$TMP/requests"
gets "two tiers, and it is known"
[ "$(probes)" = 0 ] || fail "asked again how many tiers there are: $(cat "$TMP/requests")"
[ "$(wc -l <"$TMP/requests")" = 1 ] || fail "more than one request: $(cat "$TMP/requests")"
clean
: >"$TMP/requests"
conf "url = $up/"
other=symstore/Prog.pdb/11112222333344445555666677778888a/Prog.pdb
symfs get "$file" "$other"
[ "$(probes)" = 1 ] || fail "how many tiers was asked $(probes) times: $(cat "$TMP/requests")"
grep -q '/Pr/' "$TMP/requests" && fail "two tiers where there are none: $(cat "$TMP/requests")"
# What cannot be known is no miss.
conf "url = $up/"
upstream_fault "$up" "/index2.txt" status 500
fails 3 "it cannot be said how many tiers there are"
grep -q 'index2.txt' "$TMP/err" || fail "not said why: $(cat "$TMP/err")"
symfs why "$file"
grep -q missing "$TMP/out" && fail "a miss is remembered: $(cat "$TMP/out")"
# A page for people is no index2.txt.
two
upstream_fault "$up" "/index2.txt" html
conf "url = $up/"
fails 1 "a page for people"

# An end while it is being found out.
clean
conf "url = $up/"
upstream_fault "$up" "/index2.txt" silent
symfs_mount e --config "$TMP/conf"
cat "$TMP/e/$file" >/dev/null 2>&1 &
cat_pid=$!
is_asked() { [ "$(upstream_count "$up" requests /index2.txt)" = 1 ]; }
wait_for is_asked || fail "index2.txt is not asked for: $(upstream_count "$up" requests)"
eval "e_pid=\$PID_e"
kill -TERM "$e_pid"
wait "$e_pid" || fail "the daemon ended with $?: $(cat "$TMP/e.log")"
wait "$cat_pid" && fail "it was served"

# ---- 000Admin ----------------------------------------------------------------------------------------
admin() { # LAST [SEGMENT LINE]...
  rm -rf "$TMP/www/000Admin"
  mkdir "$TMP/www/000Admin"
  printf '%010d\r\n' "$1" >"$TMP/www/000Admin/lastid.txt"
  shift
  while [ $# -gt 1 ]; do
    printf '%s\r\n' "$2" >>"$TMP/www/000Admin/$(printf %010d "$1")"
    shift 2
  done
}
listed="\"prog.PDB\\$DID\",\"C:\\built\\Prog.pdb\""
clean
cp "$PDB" "$TMP/www/Prog.pdb/$DID/Prog.pdb"
store() { conf "url = $up/" 'has-index = yes'; upstream_clear "$up"; : >"$TMP/requests"; }
files() { grep -c 'Prog.pdb' "$TMP/requests"; }
admin 3 1 '"a.exe\5AB380779000","x"' 3 '"b.exe\5AB380779000","x"' 3 "$listed"
store
gets "it is listed"
[ "$(grep -c 000Admin "$TMP/requests")" = 4 ] || fail "the index: $(cat "$TMP/requests")"
admin 1 1 '"a.exe\5AB380779000","x"'
store
fails 1 "it is not listed"
[ "$(files)" = 0 ] || fail "asked for what is not listed: $(cat "$TMP/requests")"
# A transaction that cannot be read hides nothing, and neither does an index that cannot be had.
rows=0
while IFS='|' read -r what path kind arg; do
  admin 2 1 '"a.exe\5AB380779000","x"' 2 '"b.exe\5AB380779000","x"'
  store
  upstream_fault "$up" "$path" "$kind" "$arg"
  gets "$what"
  rows=$((rows + 1))
done <<'END'
a segment that is refused|/000Admin/0000000002|status|500
a segment that is a page|/000Admin/0000000001|html|
a segment that is cut|/000Admin/0000000001|cut|10
no lastid.txt|/000Admin/lastid.txt|status|404
lastid.txt is a page|/000Admin/lastid.txt|html|
lastid.txt is refused|/000Admin/lastid.txt|status|403
END
[ $rows = 6 ] || fail "$rows rows of 000Admin"
say "$rows rows of 000Admin"
# One index for many files, two at once.
admin 1 1 '"a.exe\5AB380779000","x"'
store
symfs_mount i --config "$TMP/conf"
for n in 1 2 3 4 5 6; do
  cat "$TMP/i/symstore/Prog.pdb/1111222233334444555566667777888$n$n/Prog.pdb" >/dev/null 2>&1 &
  eval "c$n=\$!"
done
for n in 1 2 3 4 5 6; do eval "wait \$c$n" && fail "it is not listed"; done
[ "$(wc -l <"$TMP/requests")" = 2 ] || fail "more than the index was asked for: $(cat "$TMP/requests")"
symfs_umount i

# What was read is kept: the next process reads nothing, and a reload only what was added.
admin 2 1 '"a.exe\5AB380779000","x"' 2 '"b.exe\5AB380779000","x"'
store
printf 'miss-lifetime = 1s\n' >>"$TMP/conf"
fails 1 "it is not listed"
: >"$TMP/requests"
symfs_mount j --config "$TMP/conf" --cache "$TMP/store"
again=/symstore/Prog.pdb/11112222333344445555666677778888a/Prog.pdb
cat "$TMP/j$again" >/dev/null 2>&1 && fail "it is not listed"
[ ! -s "$TMP/requests" ] || fail "the index is read again: $(cat "$TMP/requests")"
eval "j_pid=\$PID_j"
asked_anew() { # once the daemon has heard
  n=$((n + 1)) # another path each time: a miss is remembered
  cat "$TMP/j/symstore/Prog.pdb/$(printf %032d 7)$n/Prog.pdb" >/dev/null 2>&1
  grep -q lastid "$TMP/requests"
}
kill -HUP "$j_pid"
n=0
wait_for asked_anew || fail "a reload does not look at the index"
wait_for grep -q 'lastid.txt 304' "$TMP/requests" || fail "not asked by its ETag: $(cat "$TMP/requests")"
grep -q '000Admin/0' "$TMP/requests" && fail "read again although nothing changed: $(cat "$TMP/requests")"
cp "$PDB" "$TMP/www/Prog.pdb/$DID/Prog.pdb"
printf '%s\r\n' "$listed" >"$TMP/www/000Admin/0000000003"
printf '%010d \r\n' 3 >"$TMP/www/000Admin/lastid.txt"
: >"$TMP/requests"
kill -HUP "$j_pid"
wait_for asked_anew || fail "a reload does not look at the index"
wait_for cmp -s "$TMP/j/$file" "$PDB" || fail "what was added is not found: $(cat "$TMP/requests")"
[ "$(grep -c '000Admin/0' "$TMP/requests")" = 1 ] || fail "more was read than was added: $(cat "$TMP/requests")"
symfs_umount j
# A damaged copy of the index in the store is fetched anew.
for f in "$TMP/store/aside/"000admin-*; do
  [ -s "$f" ] || fail "nothing was kept"
  printf x | dd of="$f" bs=1 seek=$(($(wc -c <"$f") - 3)) conv=notrunc 2>/dev/null
done
symfs cache rm "$file" || fail "cache rm: $(cat "$TMP/err")"
: >"$TMP/requests"
symfs get "$file" || fail "a damaged index: $(cat "$TMP/err")"
[ "$(grep -c '000Admin/0' "$TMP/requests")" = 3 ] || fail "a damaged index is believed: $(cat "$TMP/requests")"

# ---- file.ptr ----------------------------------------------------------------------------------------
mkdir -p "$TMP/drop/Sub" "$TMP/secret"
cp "$PDB" "$TMP/drop/Sub/PROG.PDB"
cp "$PDB" "$TMP/secret/Prog.pdb"
gzip -c "$PDB" >"$TMP/drop/Sub/packed"
cp "$TMP/other-one/Prog.pdb" "$TMP/drop/Sub/other"
ln -s "$TMP/secret" "$TMP/drop/away"
ln -s "$TMP/secret/Prog.pdb" "$TMP/drop/link"
map='ptr-map = \\build\drop='$TMP/drop
rows=0
while IFS='|' read -r status says text; do
  for where in "url = $up/" "path = $TMP/www"; do
    clean
    printf "$text" >"$TMP/www/Prog.pdb/$DID/file.ptr"
    conf "$where" "$map"
    if [ "$status" = 0 ]; then
      gets "$text, $where"
    else
      fails "$status" "$text, $where"
      grep -q "$says" "$TMP/err" || fail "$text, $where: $(cat "$TMP/err")"
    fi
    # A source whose configuration does not allow index2 pointers is not asked for one.
    conf "$where"
    upstream_reset "$up"
    fails 1 "$text without ptr-map, $where"
    rows=$((rows + 1))
  done
done <<'END'
0||PATH:\\\\build\\drop\\sub\\prog.pdb\r\n
0||\\\\BUILD\\Drop\\Sub\\PROG.PDB
0||PATH://build/drop/sub/packed\n
1||MSG: it is gone
1||PATH:\\\\build\\drop\\sub\\none.pdb
3|not allowed|PATH:\\\\build\\other\\Prog.pdb
3|not allowed|PATH:\\\\build\\drop\\..\\secret\\Prog.pdb
3|not allowed|PATH:\\\\build\\drop\\link
1||PATH:\\\\build\\drop\\away\\Prog.pdb
3|not allowed|/etc/passwd
3|Prog|PATH:\\\\build\\drop\\sub\\other
3|no path|PATH:\n
3||<html>\n<body>login</body>
END
[ $rows = 26 ] || fail "$rows rows"
say "$rows rows of file.ptr"
grep -q 'file\.ptr' "$TMP/requests" || fail "file.ptr was never asked for: $(cat "$TMP/requests")"


# What it led to is stored, and no server is asked again.
clean
printf 'PATH:\\\\build\\drop\\Sub\\PROG.PDB' >"$TMP/www/Prog.pdb/$DID/file.ptr"
conf "url = $up/" "$map"
symfs_mount m --config "$TMP/conf" --cache "$TMP/store"
same_file "$TMP/m/$file" "$PDB"
asked=$(upstream_count "$up" requests)
same_file "$TMP/m/symstore2/Pr/Prog.pdb/$DID/Prog.pdb" "$PDB"
[ "$(upstream_count "$up" requests)" = "$asked" ] || fail "asked again: $(cat "$TMP/requests")"
grep -qxF "$map" "$TMP/m/.symfs/config" || fail "not shown: $(cat "$TMP/m/.symfs/config")"
symfs_umount m
exit 0
