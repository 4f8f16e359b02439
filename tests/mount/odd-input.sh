#!/bin/sh
# Odd operands of id, paths, parse and add: not a file, not readable, truncated, or with a strange
# name. Each has its exit status and one line that names the problem. A stdout that cannot be
# written to is an error of each command.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
[ -x "$SYMFS" ] || fail "$SYMFS is not built"
need gcc readelf mkfifo
umask 022
chmod 755 "$TMP"
cd "$TMP" || exit 1
STORE=$TMP/store
TAB=$(printf '\t')

echo 'int main(void) { return 0; }' | gcc -g -Wl,--build-id=sha1 -x c -o prog - || fail gcc
id=$(build_id prog)

# ends STATUS PATTERN COMMAND...: all output is one line that fits, "" is none.
ends() {
  ends_status=$1 ends_text=$2
  shift 2
  timeout 600 "$SYMFS" "$@" >out 2>err </dev/null
  status=$?
  [ $status = "$ends_status" ] || fail "$*: status $status, not $ends_status: $(cat out err)"
  [ -n "$ends_text" ] || return 0
  cat out err | grep -qE -e "$ends_text" || fail "$*: $(cat out err)"
}

# ---- no file, or none that says what it is -----------------------------------------------------------
mkfifo pipe
mkdir dir
ln -s two one && ln -s one two
ln -s nowhere dangling
: >empty
head -c 3000 prog >half
head -c 5000 /dev/zero >zeros
printf '<html><body>404</body></html>' >page
truncate -s 1T huge
cp prog long && truncate -s 1T long
for what in "4 pipe:.is.not.a.regular.file pipe" "4 dir:.Is.a.directory dir" "4 one:.Too.many.levels one" \
  "4 dangling:.No.such.file dangling" "4 nope:.No.such.file nope" "1 empty:.is.empty empty" \
  "1 half:.is.cut.short half" "1 zeros:.is.of.no.known.format zeros" "1 page:.is.an.HTML.page page" \
  "1 huge:.is.of.no.known.format huge" "4 /dev/zero:.is.not.a.regular.file /dev/zero" \
  "4 prog/:.Not.a.directory prog/"; do
  # shellcheck disable=SC2086
  set -- $what
  ends "$1" "^symfs id: $2" id "$3"
  ends "$1" "^symfs paths: $2" paths "$3"
  [ "$(wc -l <err)" = 1 ] || fail "$3: $(cat err)"
  [ "$3" != dir ] || continue
  ends 1 "" add --cache "$STORE" "$3"
  [ "$(grep -c "^$3: not placed: ." out)" = 1 ] && [ ! -s err ] || fail "add $3: $(cat out err)"
done
# A hole at the end of a program's file does not change its identity.
ends 0 "code id  *$id" id long
# What follows is done all the same.
ends 4 "elf_code" paths nope prog
ends 4 "serves  *elf_code $id" id nope prog
ends 1 "added 1, present 0, not placed 1" add --cache "$STORE" nope prog

# ---- the same in a tree: files without a meaning are passed over --------------------------------------------
mkdir tree
cp prog tree/
cp half empty tree/
mkfifo tree/pipe
ln -s . tree/self
ln -s nowhere tree/dangling
if command -v python3 >/dev/null; then
  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("tree/socket")' || fail socket
fi
ends 0 "added 0, present 1, not placed 2" add -r --cache "$STORE" tree
grep -q '^tree/empty: not placed: is empty$' out || fail "$(cat out)"
grep -q '^tree/half: not placed: is cut short' out || fail "$(cat out)"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  mkdir theirs closed closed/dir
  cp prog closed/file
  chmod 000 closed/file closed/dir
  chmod 777 theirs
  as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$SYMFS" "$@"; }
  if as_nobody id prog >/dev/null 2>&1; then # the build may lie where nobody may go
    as_nobody id closed/file >out 2>&1
    [ $? = 4 ] && grep -q 'closed/file: Permission denied' out || fail "$(cat out)"
    as_nobody add -r --cache theirs/store closed >out 2>&1 || fail "$(cat out)"
    [ "$(grep -c ': not placed: Permission denied$' out)" = 2 ] || fail "$(cat out)"
    as_nobody add --cache "$STORE" prog >out 2>&1
    [ $? = 4 ] && grep -q 'Permission denied' out || fail "$(cat out)"
  fi
fi

# ---- names ---------------------------------------------------------------------------------------------
long=$(printf 'x%.0s' $(seq 252)).so
for name in 'a b' '*' '...' "$long" -dash "$(printf 'b\377\376')"; do
  cp -- prog "./$name" || fail "cp $name"
  ends 0 "" paths --layout symstore -- "$name"
  [ "$(grep -c "elf-buildid-$id/" out)" = 1 ] || fail "$name: $(cat out)"
done
grep -q '^symstore.elf_code.b\\xff\\xfe/' out || fail "bytes that are no text: $(cat out)"
ends 2 'no such option' paths -dash
# Characters that no path may have: it is found by its id, and nothing on the terminal moves.
for name in "$(printf 'a\tb')" "$(printf 'a\nb')" "$(printf 'a\033[31mb')"; do
  cp prog "$name"
  ends 0 "" paths --layout symstore --layout gdb "$name"
  [ "$(cat out)" = "gdb${TAB}elf_code$TAB$(gdb_path "$id" | sed 's,.build-id/,,')
symstore${TAB}elf_debug${TAB}_.debug/elf-buildid-sym-$id/_.debug
gdb${TAB}elf_debug$TAB$(gdb_path "$id" .debug | sed 's,.build-id/,,')" ] || fail "$name: $(cat out)"
  head -c 300 prog >"$name"
  ends 1 "not placed" add --cache "$STORE" "$name"
  tr -d '\n' <out | grep -q '[[:cntrl:]]' && fail "control characters: $(od -c out)"
done

# What servers and debuggers call all files alike names none.
rest=${id#??}
for name in executable debuginfo "$rest" "$rest.debug" _.debug; do
  cp prog "$name"
  ends 0 "^gdb${TAB}elf_code" paths --layout gdb --layout slashsymbols "$name"
  grep -q slashsymbols out && fail "$name: $(cat out)"
done

# ---- identifiers ------------------------------------------------------------------------------------------
digits=$(printf 'a%.0s' $(seq 128))
guid=3249D99D0C4049318610F4E4FB0B6936
ends 0 "^gdb${TAB}elf_code${TAB}aa/" paths --type elf_code --code-id "$digits" --layout gdb
ends 2 'up to 128 hexadecimal digits' paths --type elf_code --code-id "${digits}a"
ends 2 '--code-id: expected' paths --type elf_code --code-id ''
ends 2 '--code-id: expected' paths --type elf_code --code-id zz
for bad in 1 "${guid}1zz" zz ''; do
  ends 2 '--debug-id: expected' paths --type pdb --debug-file x --debug-id "$bad"
done
ends 0 '/a.pdb$' paths --type pdb --debug-file 'C:\dir\a.pdb' --debug-id "${guid}1" --layout symstore
for bad in .. . '' a/ "$(printf 'a\nb')"; do
  ends 1 "" paths --type pdb --debug-file "$bad" --debug-id "${guid}1" --layout symstore
  [ ! -s out ] || fail "$bad: $(cat out)"
done
ends 2 'name is too long' paths --type pdb --debug-file "${long}x" --debug-id "${guid}1"
ends 2 'no such type' paths --type nope
ends 2 'either files, or' paths --type elf_code prog
ends 2 'either files, or' paths --debug-file x prog
ends 2 'either files, or' paths --big-endian prog
ends 2 'either files, or' paths
for path in '' / ../../x "$(printf 'a/%.0s' $(seq 3000))" foo.pdb/x/foo.pdb "$(printf 'a\nb/5AB380779000/a\nb')"; do
  ends 1 "" parse symstore "$path"
done
ends 0 '"code_file":"a\\\\xff"' parse symstore "$(printf 'a\377/5AB380779000/a\377')"

# ---- a fat file whose slices are each nearly all of it ---------------------------------------------------
octal() { printf '\\%03o\\%03o\\%03o\\%03o' $(($1 >> 24 & 255)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) \
  $(($1 & 255)); }
# shellcheck disable=SC2059
fat() { # BYTES: three slices, which end so many bytes behind their first 64
  printf "\312\376\272\276$(octal 3)"
  for i in 0 1 2; do
    printf "$(octal 16777223)$(octal $i)$(octal $((4096 + 64 * i)))$(octal $((64 + $1)))$(octal 2)"
  done
  head -c $((4096 - 68)) /dev/zero
  for i in 1 2 3; do
    printf '\317\372\355\376\007\000\000\001\003\000\000\000\002\000\000\000'
    printf '\001\000\000\000\030\000\000\000\000\000\000\000\000\000\000\000'
    printf "\033\000\000\000\030\000\000\000ABCDEFGHIJKLMNO$i\000\000\000\000\000\000\000\000"
  done
  head -c "$1" /dev/zero
}
fat 0 >fat
ends 0 'added 3, present 0, not placed 0' add --cache "$TMP/fat-store" fat
fat 20000 >over
ends 1 'over: not placed: is broken: its slices overlap' add --cache "$TMP/over-store" over

# ---- a store that is too small -------------------------------------------------------------------------
ends 0 "pinned files take $(stat -c %s prog) bytes, the quota is 4096" add --cache "$TMP/small" --quota 4096 prog
i=0
for i in 1 2 3 4 5 6; do echo "int f(void) { return $i; }" |
  gcc -g -shared -fPIC -Wl,--build-id=sha1 -x c -o "dir/l$i.so" -; done
size=$(stat -c %s dir/l1.so)
ends 0 'cache unpin' add -r --cache "$TMP/small" --quota $((size * 3)) dir
ends 0 'added 6' add -r --cache "$TMP/large" --quota $((size * 10)) dir
[ ! -s err ] || fail "$(cat err)"

# ---- where nothing can be written ---------------------------------------------------------------------
[ -c /dev/full ] || exit 0
for command in "id prog" "id --json prog" "paths prog" "parse gdb ab/cdef.debug" "add --cache $STORE prog"; do
  # shellcheck disable=SC2086
  "$SYMFS" $command >/dev/full 2>err
  [ $? = 4 ] || fail "$command with a full stdout"
  grep -q 'No space left on device' err || fail "$command says nothing of a full stdout: $(cat err)"
done
