#!/bin/sh
# A symbol store whose spelling of a file is not known: the spellings are asked at the same time; how many requests a
# file and a miss cost, what one answer teaches for the next file, and that no answered question is asked again.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
need_mount
need curl clang lld-link gzip awk

windows() # DIR: Prog.pdb and Prog.exe of code that has DIR's name
{
  mkdir -p "$1"
  echo "int start(void) { return sizeof(\"$1\"); }" >"$1/x.c"
  clang -target x86_64-windows-msvc -g -gcodeview -O1 -c "$1/x.c" -o "$1/x.obj" &&
    lld-link /nologo /debug "/pdb:$1/Prog.pdb" /Brepro /nodefaultlib /entry:start \
      /subsystem:console "/out:$1/Prog.exe" "$1/x.obj" >"$1/lld.log" 2>&1 || fail "lld-link"
}
field() { "$SYMFS" id --json "$2" | sed -n "s/^ *\"$1\": *\"\\(.*\\)\",\\{0,1\\}\$/\\1/p" | head -n 1; } # NAME FILE
upper() { printf '%s' "$1" | tr '[:lower:]' '[:upper:]'; }
did() { upper "$(field debug_id "$1" | tr -d -)"; } # FILE
cid() { ci=$(field code_id "$1"); ci_rest=${ci#????????}; printf '%s%s' "$(upper "${ci%"$ci_rest"}")" "$ci_rest"; }
for d in one other third; do windows "$TMP/$d"; done
ONE=$(did "$TMP/one/Prog.pdb") OTHER=$(did "$TMP/other/Prog.pdb") THIRD=$(did "$TMP/third/Prog.pdb")
GONE=111122223333444455556666777788881
mkdir "$TMP/www"
put() { mkdir -p "$TMP/www/$(dirname "$2")" && cp "$1" "$TMP/www/$2"; } # FILE PATH
clean() { rm -rf "$TMP/www/"*; : >"$TMP/requests"; }
conf() { printf '[source "s"]\nlayout = symstore\n' >"$TMP/conf"; printf '%s\n' "$@" >>"$TMP/conf"
cat "$DEADLINES" >>"$TMP/conf"; rm -rf "$TMP/store"; : >"$TMP/requests"; }
symfs() { timeout 600 "$SYMFS" "$@" --no-default-sources --config "$TMP/conf" --cache "$TMP/store" >"$TMP/out" \
  2>"$TMP/err"; }
asked() { grep -c '^GET' "$TMP/requests"; }
path() { echo "symstore/Prog.pdb/$1/Prog.pdb"; } # ID
gets() { # FILE ID
  symfs get "$(path "$2")" || fail "get: $? $(cat "$TMP/err" "$TMP/requests")"
  same_file "$(cat "$TMP/out")" "$1"
}

# ---- all spellings of a tier are asked at the same time ------------------------------------------------------
# in_rounds "NUMBER..." WHAT COMMAND...: the server answers each round only when all its requests are there.
upstream_start slow --root "$TMP/www" --log "$TMP/requests"
# shellcheck disable=SC2154 # set by upstream_start
slow=$URL_slow
in_rounds() {
  ir_rounds=$1 ir_what=$2
  shift 2
  rm -rf "$TMP/store"
  : >"$TMP/requests"
  upstream_hold "$slow" '*' 0
  (trap - EXIT; "$@") &
  ir_pid=$!
  for ir_n in $ir_rounds; do upstream_steps "$slow" "$ir_n"; done
  wait "$ir_pid" || fail "$ir_what: more rounds than $ir_rounds, or another answer: $(cat "$TMP/err" "$TMP/requests")"
  say "$ir_what: $(asked) requests in rounds of $ir_rounds"
  upstream_clear "$slow"
}
misses() { symfs get "$(path $GONE)"; m_r=$?; [ $m_r = 1 ] || fail "exit $m_r, wanted 1: $(cat "$TMP/err")"; }
conf "url = $slow/"
clean
in_rounds 5 "a miss" misses # its id has no letters, and two spellings less than the others
: >"$TMP/requests"
misses
[ "$(asked)" = 0 ] || fail "the miss is not remembered: $(cat "$TMP/requests")"
gzip -c "$TMP/one/Prog.pdb" >"$TMP/packed"
put "$TMP/packed" "prog.pdb/$ONE/prog.pd_"
in_rounds 7 "a file in the last spelling" gets "$TMP/one/Prog.pdb" "$ONE"
clean
put "$TMP/packed" "pr/prog.pdb/$ONE/prog.pd_"
: >"$TMP/www/index2.txt"
in_rounds '7 6' "the same in two tiers" gets "$TMP/one/Prog.pdb" "$ONE"
in_rounds '5 4' "a miss in two tiers" misses
kill "$PID_slow"

# ---- no answered question is asked again -------------------------------------------------------------------
clean
upstream_start up --root "$TMP/www" --log "$TMP/requests"
# shellcheck disable=SC2154 # set by upstream_start
up=$URL_up
put "$TMP/one/Prog.pdb" "Prog.pdb/$ONE/Prog.pdb"
upstream_fault "$up" '*/prog.pdb/*/prog.pdb' silent
twice() { grep '^GET' "$TMP/requests" | cut -d' ' -f2 | sort | uniq -d; }
asked_once() { # DEADLINE
  conf "url = $up/"
  sed -i "s/^lookup-deadline = .*/lookup-deadline = $1/" "$TMP/conf"
  symfs_mount m --config "$TMP/conf" --cache "$TMP/store"
  for _ in 1 2 3; do stat "$TMP/m/$(path $GONE)" >/dev/null 2>&1 && fail "it was served"; done
  symfs_umount m
  [ -z "$(twice)" ] && [ "$(asked)" -ge 4 ]
}
# On a busy machine an answer may come after the deadline.
asked_once 1s || asked_once 4s || asked_once 16s ||
  fail "asked twice, or not all were asked: $(cat "$TMP/requests")"
# The same when the source fails at once: the next request asks only what was not answered.
upstream_clear "$up"
conf "url = $up/"
upstream_fault "$up" '*/prog.pdb/*/prog.pdb' status 500
symfs_mount n --config "$TMP/conf" --cache "$TMP/store"
for _ in 1 2 3; do stat "$TMP/n/$(path $GONE)" >/dev/null 2>&1 && fail "it was served"; done
others=$(twice | grep -v /prog.pdb/)
[ -z "$others" ] || fail "asked twice: $others"
upstream_clear "$up"
is_missing() { stat "$TMP/n/$(path $GONE)" 2>&1 | grep -q 'No such file'; }
wait_for is_missing || fail "it is no miss" # the breaker waits a little
others=$(twice | grep -v /prog.pdb/)
[ -z "$others" ] || fail "asked twice: $others"
symfs_umount n

# ---- what one file teaches ---------------------------------------------------------------------------------
# Whatever the spelling is, the next file costs one request, in the same process and in the next one.
rows=0
while IFS='|' read -r what tier name file packed; do
  clean
  upstream_clear "$up"
  conf "url = $up/"
  [ "$tier" = one ] || : >"$TMP/www/index2.txt"
  for f in "one $ONE" "other $OTHER" "third $THIRD"; do
    id=${f#* }
    [ "$name" != lower ] || id=$(printf %s "$id" | tr '[:upper:]' '[:lower:]')
    from=$TMP/${f% *}/Prog.pdb
    [ "$packed" = no ] || { gzip -c "$from" >"$TMP/packed" && from=$TMP/packed; }
    prefix=
    [ "$tier" = one ] || prefix=$(printf '%.2s' "$file")/
    put "$from" "$prefix${file%.pd?}.pdb/$id/$file"
  done
  gets "$TMP/one/Prog.pdb" "$ONE"
  first=$(asked)
  : >"$TMP/requests"
  gets "$TMP/other/Prog.pdb" "$OTHER"
  [ "$(asked)" = 1 ] || fail "$what: the second file cost $(asked) requests: $(cat "$TMP/requests")"
  : >"$TMP/requests"
  symfs get "$(path "$THIRD")" "$(path "$GONE")" && fail "$what: a file that is not there"
  [ "$(grep -c "/$THIRD/\|/$(printf %s "$THIRD" | tr '[:upper:]' '[:lower:]')/" "$TMP/requests")" = 1 ] ||
    fail "$what: the third file cost more than one request: $(cat "$TMP/requests")"
  say "$what: $first requests for the first file, then 1"
  rows=$((rows + 1))
done <<'END'
as given|one|given|Prog.pdb|no
compressed|one|given|Prog.pd_|yes
name in lower case|one|given|prog.pdb|no
name in lower case, compressed|one|given|prog.pd_|yes
all in lower case|one|lower|prog.pdb|no
all in lower case, compressed|one|lower|prog.pd_|yes
two tiers|two|given|Prog.pdb|no
two tiers, name in lower case, compressed|two|given|prog.pd_|yes
END
[ $rows = 8 ] || fail "$rows rows"
# A name in another case than its author's is found as an earlier file had it.
clean
conf "url = $up/"
mkdir -p "$TMP/www/Prog.pdb"
put "$TMP/one/Prog.pdb" "Prog.pdb/$ONE/Prog.pdb"
put "$TMP/other/Prog.pdb" "Prog.pdb/$OTHER/Prog.pdb"
symfs_mount t --config "$TMP/conf" --cache "$TMP/store"
same_file "$TMP/t/$(path "$ONE")" "$TMP/one/Prog.pdb"
same_file "$TMP/t/symstore/PROG.PDB/$OTHER/PROG.PDB" "$TMP/other/Prog.pdb"
symfs_umount t
# The same as a module spells it: of one build by the program in the store, of any build by what it taught. Each
# command is a process of its own.
clean
conf "url = $up/"
for d in one other third; do put "$TMP/$d/Prog.pdb" "Prog.pdb/$(did "$TMP/$d/Prog.pdb")/Prog.pdb"; done
put "$TMP/one/Prog.exe" "prog.exe/$(cid "$TMP/one/Prog.exe")/prog.exe"
symfs get "symstore/prog.exe/$(cid "$TMP/one/Prog.exe")/prog.exe" || fail "the program: $(cat "$TMP/err")"
for f in "one $ONE" "other $OTHER"; do
  symfs get "ssqp/prog.pdb/${f#* }/prog.pdb" || fail "the case of a module: $(cat "$TMP/err" "$TMP/requests")"
  same_file "$(cat "$TMP/out")" "$TMP/${f% *}/Prog.pdb"
done
# What a source taught outlives the process.
conf "url = $up/"
gets "$TMP/one/Prog.pdb" "$ONE"
symfs get "symstore/PROG.PDB/$OTHER/PROG.PDB" || fail "the case of a source: $(cat "$TMP/err" "$TMP/requests")"

# ---- requests on the wire, for the presets -----------------------------------------------------------------
# The numbers are for the report; a preset that asks for more than before is a change to notice.
preset() { # NAME: its section, of this server
  conf
  sed -e "s#^url = .*#url = $up/#" -e '/^enabled/d' "$top_srcdir/etc/sources.d/$1.conf" >"$TMP/conf"
  cat "$DEADLINES" >>"$TMP/conf"
}
wire() { # PATH STATUS: how many requests it costs
  : >"$TMP/requests"
  symfs get "$1"
  w_r=$?
  [ $w_r = "$2" ] || fail "$1: exit $w_r, wanted $2: $(cat "$TMP/err" "$TMP/requests")"
  asked
}
clean
for d in one other; do
  put "$TMP/$d/Prog.pdb" "Prog.pdb/$(did "$TMP/$d/Prog.pdb")/Prog.pdb"
  put "$TMP/$d/Prog.exe" "Prog.exe/$(cid "$TMP/$d/Prog.exe")/Prog.exe"
done
for preset in microsoft mozilla; do
  preset $preset
  counts="the first PDB $(wire "$(path "$ONE")" 0)"
  counts="$counts, a further one $(wire "$(path "$OTHER")" 0)"
  counts="$counts, a missing one $(wire "$(path "$GONE")" 1)"
  counts="$counts, a further missing one $(wire "symstore/Gone.pdb/$GONE/Gone.pdb" 1)"
  counts="$counts, of age a $(wire "symstore/Gone.pdb/${GONE%?}a/Gone.pdb" 1)"
  counts="$counts; a program $(wire "symstore/Prog.exe/$(cid "$TMP/one/Prog.exe")/Prog.exe" 0)"
  counts="$counts, a further one $(wire "symstore/Prog.exe/$(cid "$TMP/other/Prog.exe")/Prog.exe" 0)"
  counts="$counts, a missing one $(wire symstore/Prog.exe/5AB380779000/Prog.exe 1)"
  [ $preset = microsoft ] || counts="$counts; a missing .sym $(wire "breakpad/Gone.pdb/$GONE/Gone.sym" 1)"
  say "requests to $preset: $counts"
done
