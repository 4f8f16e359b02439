#!/bin/sh
# Configuration: a typo is reported with file, line and expected text, and exit status 2; the order
# of sources; presets by name; and environment variables that users already have.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/../..}/tests/mount/lib.sh"
[ -x "$SYMFS" ] || fail "$SYMFS is not built"

symfs() { "$SYMFS" "$@" >"$TMP/out" 2>"$TMP/err"; }

# ---- mistakes --------------------------------------------------------------------------------------
# Each row: LINE | words of the message | the file, with / for a line's end.
checked=0
while IFS='|' read -r line words text; do
  [ -n "$line" ] || continue
  printf '%s\n' "$text" | tr '/' '\n' | tr '\\' '/' >"$TMP/conf"
  for command in sources "get gdb/x" "why gdb/x" "mount $TMP/mnt"; do
    # shellcheck disable=SC2046,SC2086
    symfs ${command%% *} --config "$TMP/conf" --no-default-sources --cache "$TMP/store" \
      $(case $command in *' '*) echo "${command#* }" ;; esac)
    r=$?
    [ $r = 2 ] || fail "$text: symfs ${command%% *}: exit $r, wanted 2: $(cat "$TMP/err")"
    grep -q "^symfs ${command%% *}: .*$TMP/conf:$line: " "$TMP/err" || fail "$text: not line $line: $(cat "$TMP/err")"
    grep -qiE -e "$words" "$TMP/err" || fail "$text: no word of '$words': $(cat "$TMP/err")"
    [ ! -s "$TMP/out" ] || fail "$text: says on stdout: $(cat "$TMP/out")"
  done
  checked=$((checked + 1))
done <<'EOF'
2|lookup-daedline|[symfs]/lookup-daedline = 3s
2|soon|[symfs]/lookup-deadline = soon
3|-5|[symfs]/# five/quota = -5
2|lots|[symfs]/quota = lots
1|section|[sympfs]/quota = 1G
1|section|[symfs/quota = 1G
1|section|quota = 1G
3|=|[symfs]/quota = 1G/just words
1|url or path|[source "a"]/layout = gdb
2|layout|[source "a"]/layout = gbd/url = http:\\127.0.0.1:1\
2|http or debuginfod|[source "a"]/type = dir/url = http:\\127.0.0.1:1\
2|casing|[source "a"]/casing = lower/url = http:\\127.0.0.1:1\
2|filetypes|[source "a"]/filetypes = elf_debug pbd/url = http:\\127.0.0.1:1\
2|header|[source "a"]/header = nonsense/url = http:\\127.0.0.1:1\
2|url|[source "a"]/url = gopher:\\127.0.0.1:1\
1|choose another|[source "bucket"]/url = http:\\127.0.0.1:1\
1|has the section|[source "a"]/type = bucket/bucket = b
2|enabled|[source "a"]/enabled = maybe/url = http:\\127.0.0.1:1\
EOF
say "$checked mistakes"

symfs sources --config "$TMP/none" --no-default-sources
[ $? = 2 ] && grep -q "$TMP/none" "$TMP/err" || fail "--config of a file that is not there: $(cat "$TMP/err")"
head -c 100000 /dev/urandom >"$TMP/conf"
symfs sources --config "$TMP/conf" --no-default-sources
[ $? = 2 ] && grep -q "$TMP/conf:" "$TMP/err" || fail "noise as configuration: $(cat "$TMP/err")"
symfs sources --config "$TMP" --no-default-sources
[ $? = 2 ] && grep -q "$TMP" "$TMP/err" || fail "a directory as configuration: $(cat "$TMP/err")"

# wrong WORDS ARGS...: a mistake on the command line
wrong() {
  w_words=$1
  shift
  symfs "$@"
  w_r=$?
  [ $w_r = 2 ] || fail "symfs $*: exit $w_r, wanted 2: $(cat "$TMP/err")"
  grep -qE "$w_words" "$TMP/err" || fail "symfs $*: $(cat "$TMP/err")"
}
wrong 'no such command: moutn' moutn
wrong 'no such option: --sauce' sources --sauce x
wrong 'no such option: -x' sources -x
wrong 'needs a value' sources --source
wrong 'needs a value' sources --lookup-deadline
wrong 'takes no value' sources --offline=yes
wrong 'lookup-deadline.*soon' sources --lookup-deadline soon
wrong 'nor a configured source.*known' sources --source nosuchname
wrong 'nor a configured source' sources --source ''
wrong 'command line.*url|http' sources --source gopher://127.0.0.1/
wrong 'command line|http' sources --source http://
wrong 'expected a path' get
wrong 'expected one path' why
wrong 'takes one WHAT' get -o "$TMP/x" a b

# ---- order, presets, what replaces what --------------------------------------------------------
names() { sed -n 's/^ *[0-9]*\. *\([^ ]*\).*/\1/p' "$TMP/out" | tr '\n' ' '; }
expect_names() { # WANT WHAT
  [ "$(names)" = "$1" ] || fail "$2: $(names), wanted $1"
}
mkdir -p "$XDG_CONFIG_HOME/symfs" "$TMP/dir/.build-id"
printf '[source "user"]\nurl = http://127.0.0.1:1/user\n[source "both"]\nurl = http://127.0.0.1:1/by-user\n' \
  >"$XDG_CONFIG_HOME/symfs/symfs.conf"
printf '%s\n' '[source "mine"]' 'url = http://127.0.0.1:1/mine' 'layout = symstore' '[source "both"]' \
  'url = http://127.0.0.1:1/by-config' '[source "off"]' 'enabled = no' 'url = http://127.0.0.1:1/off' \
  >"$TMP/conf"
DEBUGINFOD_URLS="http://127.0.0.1:1/env ima:enforcing http://127.0.0.1:1/env2"
export DEBUGINFOD_URLS
symfs sources --config "$TMP/conf" --source gdb@http://127.0.0.1:1/cli --source gdb@"$TMP/dir" ||
  fail "sources: $(cat "$TMP/err")"
# What a machine has under /etc may stand between the user's and the environment's.
order=$(names | tr ' ' '\n' |
  sed "s|gdb@$TMP/dir.*|DIR|; s|gdb@http.*cli.*|CLI|; s|debuginfod@.*env2.*|ENV2|; s|debuginfod@.*env.*|ENV|" |
  grep -xE 'CLI|DIR|mine|both|user|ENV2?' | tr '\n' ' ')
[ "$order" = "CLI DIR mine both user ENV ENV2 " ] || fail "order of priority: $order"
grep -q 'by-config' "$TMP/out" && ! grep -q 'by-user' "$TMP/out" ||
  fail "an equal name does not replace: $(cat "$TMP/out")"
grep -q 'ima' "$TMP/out" && fail "ima:enforcing is no source"
grep -q '/off' "$TMP/out" && fail "a source that is off"

symfs sources --no-default-sources --config "$TMP/conf" || fail "sources"
expect_names "mine both " "--no-default-sources"
symfs sources --no-default-sources
grep -q 'no source is in use' "$TMP/out" || fail "no source at all: $(cat "$TMP/out")"
# A name: of a configured source, also of one that is off, in front of the others.
symfs sources --no-default-sources --config "$TMP/conf" --source off || fail "--source off: $(cat "$TMP/err")"
expect_names "off mine both " "--source NAME of one that is off"
symfs sources --no-default-sources --config "$TMP/conf" --source user || fail "--source user: $(cat "$TMP/err")"
expect_names "user mine both " "--source NAME of another file"
for preset in "$top_srcdir"/etc/sources.d/*.conf; do
  name=$(sed -n 's/^\[source "\(.*\)"\]$/\1/p' "$preset" | head -n 1)
  symfs sources --no-default-sources --config "$preset" --source "$name" || fail "preset $name: $(cat "$TMP/err")"
  case " $(names)" in " $name "*) ;; *) fail "preset $name: $(cat "$TMP/out")" ;; esac
done
symfs sources --no-default-sources --config "$TMP/conf" --offline
expect_names "" "--offline"

# ---- variables full of nonsense ------------------------------------------------------------------
rm "$XDG_CONFIG_HOME/symfs/symfs.conf"
DEBUGINFOD_URLS='ima:permissive	 garbage ::// http://127.0.0.1:1/good ftp:/x ' symfs sources ||
  fail "nonsense in DEBUGINFOD_URLS: $(cat "$TMP/err")"
grep -q '127.0.0.1:1/good' "$TMP/out" || fail "the good word among nonsense is lost: $(cat "$TMP/out")"
grep -q 'DEBUGINFOD_URLS.*garbage' "$TMP/err" || fail "nonsense in DEBUGINFOD_URLS is not reported"
DEBUGINFOD_URLS='' _NT_SYMBOL_PATH="srv*c:\\sym*http://127.0.0.1:1/nt;cache*;;\\\\server\\share;$TMP/dir;srv*;*" \
  symfs sources ||
  fail "nonsense in _NT_SYMBOL_PATH: $(cat "$TMP/err")"
grep -q '127.0.0.1:1/nt' "$TMP/out" && grep -q "$TMP/dir" "$TMP/out" || fail "_NT_SYMBOL_PATH: $(cat "$TMP/out")"
DEBUGINFOD_URLS="http://user:secret@127.0.0.1:1/" symfs sources
grep -q secret "$TMP/out" "$TMP/err" && fail "a password is shown"
DEBUGINFOD_URLS=$(printf '\033[31mhttp://127.0.0.1:1/\001')
symfs sources
LC_ALL=C grep -q "$(printf '[\001\033]')" "$TMP/out" "$TMP/err" && fail "control characters reach the terminal"
exit 0
