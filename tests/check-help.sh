#!/bin/sh
# Checks that help goes to stdout, fits 80 columns and ends with 0, and that the manual page of a
# command names each option in the help. Messages about mistakes go to stderr and name the command,
# and the exit status is 2.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"

[ -x "$symfs" ] || { echo "$symfs is not built"; exit 1; }
"$symfs" --version | grep -q '^symfs [0-9]' || complain "--version"
"$symfs" --help >"$tmp/help" 2>"$tmp/err" || complain "symfs --help ends with $?"
[ -s "$tmp/err" ] && complain "symfs --help says something on stderr"
helps=$tmp/dump
"$symfs" help --dump >"$helps" 2>"$tmp/err" || complain "symfs help --dump ends with $?"
[ -s "$tmp/err" ] && complain "symfs help --dump says something on stderr"
. "$top/tests/tables.sh"
help_text symfs | cmp -s - "$tmp/help" || complain "symfs help --dump has not what symfs --help prints"
commands=$(commands_named)
[ "$(echo "$commands" | wc -w)" -ge 8 ] || complain "symfs --help names too few commands: $commands"
"$symfs" help options >"$tmp/help-options" || complain "symfs help options ends with $?"
help_text options | cmp -s - "$tmp/help-options" || complain "symfs help --dump has not what help options prints"
for o in --config --source --cache --cache-dir --offline --no-default-sources --lookup-deadline; do
  grep -q -- "$o" "$tmp/help-options" || complain "symfs help options does not name $o"
done
"$symfs" help | cmp -s - "$tmp/help" || complain "symfs help is not symfs --help"
"$symfs" help --all | sed -n '/^Others$/,$p' | grep -q '^  parse ' ||
	complain "symfs help --all lists no other commands"
[ "$("$symfs" version)" = "$("$symfs" --version)" ] || complain "symfs version is not symfs --version"
options=0

# unit/test-options has what each command says about options.
for c in $commands; do
  help_text "$c" >"$tmp/help-$c"
  "$symfs" "$c" --help >"$tmp/out" 2>"$tmp/err" || complain "$c --help ends with $?"
  cmp -s "$tmp/out" "$tmp/help-$c" || complain "symfs help --dump has not what $c --help prints"
  [ -s "$tmp/err" ] && complain "$c --help says something on stderr"
  grep -q "^usage: symfs $c" "$tmp/help-$c" || complain "$c --help does not begin with its usage"
  [ "$(sed '1,/^Examples:$/d' "$tmp/help-$c" | grep -c '^  symfs ')" = 2 ] || complain "$c --help has no two examples"
  # A command that reads the configuration says where all of these are, any other names none of them.
  if grep -q -- --config "$tmp/help-$c"; then
    grep -q 'symfs help options' "$tmp/help-$c" || complain "$c --help does not say where its other options are"
  else
    for o in --config --source --cache --cache-dir --offline --no-default-sources --lookup-deadline; do
      grep -q -- " $o" "$tmp/help-$c" && complain "$c --help names $o"
    done
  fi
  case $c in
  id | best | why | status | sources | cache | gsym | addr2line | parse | pdb | symbolicate | token)
    grep -q -- --json "$tmp/help-$c" || complain "$c --help does not name --json"
    ;;
  *) grep -q -- ' --json' "$tmp/help-$c" && complain "$c --help names --json" ;;
  esac
  page=$(grep -lE "^\.Nm symfs-$c( ,)?\$" "$top"/man/*.1.in)
  for o in $(sed -n '/--config/q; /--help/q; s/^  [-a-z, ]\{4\}--\([a-zA-Z-]*\).*/\1/p' "$tmp/help-$c"); do
    options=$((options + 1))
    grep -qE -- "(Fl |, )-$o( |\$)" "$page" || complain "$page does not name --$o of $c"
  done
done
for c in get gsym umount; do
  "$symfs" help "$c" | cmp -s - "$tmp/help-$c" || complain "symfs help $c is not symfs $c --help"
done
"$symfs" umount --no-such-option >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && [ ! -s "$tmp/out" ] && grep -q '^symfs umount: no such option' "$tmp/err" ||
  complain "umount --no-such-option: $(cat "$tmp/out" "$tmp/err")"
awk 'length($0) > 80 { print FILENAME ": longer than 80 columns: " $0; bad = 1 } END { exit bad }' "$tmp"/help* ||
  complain "help is too wide"

# --cache and --cache-dir are one option: the last one counts.
dir() { "$symfs" cache stats --no-default-sources "$@" | sed -n 's/^directory //p'; }
[ "$(dir --cache "$tmp/a" --cache-dir "$tmp/b")" = "$tmp/b" ] || complain "--cache-dir after --cache does not count"
[ "$(dir --cache-dir "$tmp/b" --cache "$tmp/a")" = "$tmp/a" ] || complain "--cache after --cache-dir does not count"

# Each option in a manual page is an option of the program, or one of those of other programs.
others='buildid-dir wait' # perf, sentry-cli
{
  cat "$tmp"/help* | grep -oE -- '--[a-z][a-z-]+' | sed 's/^--//'
  sed -n 's/^#\([a-z][a-z-]*\) = .*/\1/p' "$top/etc/symfs.conf"
  printf '%s\n' $others
} | sort -u >"$tmp/all"
manual_options() { # PAGE
  grep -E '^\.(It |Op |Oo )*.*Fl ' "$1" | grep -oE 'Fl ([a-z] , )?-[a-z][a-z-]+' | sed 's/.*[ -]-//; s/^Fl -//' |
    sort -u
}
in_manuals=0
for page in "$top"/man/*.in; do
  for o in $(manual_options "$page"); do
    in_manuals=$((in_manuals + 1))
    grep -qx -- "$o" "$tmp/all" || complain "$page names --$o, which is no option of the program"
  done
done
[ $in_manuals -ge 60 ] || complain "only $in_manuals options in the manual pages"
printf '.It Fl -frobnicate Ar file\n.Op Fl q , -quixotic\n' >"$tmp/page"
[ "$(manual_options "$tmp/page" | tr '\n' ' ')" = "frobnicate quixotic " ] ||
  complain "an invented option is not found"

# symfs(1) lists the commands that take the common options.
rm "$tmp/help-options"
grep -l -- --config "$tmp"/help-* | sed 's|.*/help-||' | sort >"$tmp/takes"
sed -n '/^Every command that asks sources/,/^All other commands refuse/p' "$top/man/symfs.1.in" |
  sed -n 's/^\.Cm //p' |
  tr -s ' ,.' '\n' | grep -vx lookup | grep . | sort -u | diff "$tmp/takes" - >"$tmp/out" ||
  complain "OPTIONS of symfs.1 and the commands that take --config: $(cat "$tmp/out")"

# The words of `usage: symfs gsym create|...` are words that the command takes, and a word that is not one of them
# is refused. No usage has the name of a function.
words=$(sed -n '1s/^usage: symfs gsym \([^ ]*\) .*/\1/p' "$tmp/help-gsym" | tr '|' ' ')
[ "$(echo "$words" | wc -w)" -ge 5 ] || complain "gsym --help names only: $words"
refused() { "$symfs" gsym "$1" 2>&1 | grep -q 'no such command'; }
for w in $words; do ! refused "$w" || complain "gsym --help names $w, which gsym does not take"; done
refused gsym_dump || complain "gsym takes any word"
sed -n 1p "$tmp"/help-* | grep '[a-z]_[a-z]' && complain "a usage has the name of a function"

# A typo: what may be meant. What is near to nothing is near to nothing.
while read -r typo meant; do
  "$symfs" "$typo" >"$tmp/out" 2>"$tmp/err"
  [ $? = 2 ] && grep -qx "symfs: no such command: $typo; did you mean $meant?" "$tmp/err" ||
    complain "$typo: $(cat "$tmp/err")"
  "$symfs" help "$typo" >"$tmp/out" 2>"$tmp/err"
  [ $? = 2 ] && grep -q "did you mean $meant?" "$tmp/err" || complain "help $typo: $(cat "$tmp/err")"
done <<'END'
gte get
mout mount
symbolize symbolicate
staus status
prefech prefetch
addr addr2line
END
for word in backtrace bt gdb layouts list ls lookup unmount; do
  "$symfs" "$word" 2>&1 | grep -q "^symfs: no such command: $word; .*[\`(]" || complain "$word leads to nothing"
done
# What help lists has a line in the words of a user, below the title of a group.
listed=$(sed -n 's/^  \([a-z][a-z0-9-]*\) .*/\1/p' "$tmp/help" | wc -l)
[ "$listed" -ge 15 ] && [ "$listed" -le 18 ] && [ "$(grep -c '^[A-Z][a-z ]*$' "$tmp/help")" = 6 ] ||
  complain "symfs help lists $listed commands: $(cat "$tmp/help")"

# Words of earlier versions and of other tools work, and each command that is not listed is also an option or a first
# word of one that is: both print the same. `same` reads the two command lines from its input.
same() {
  while IFS='|' read -r old new; do
    for line in "$old" "$new"; do
      # shellcheck disable=SC2086
      (cd "$top" && "$symfs" $line) >"$tmp/out" 2>&1
      echo "status $?" >>"$tmp/out"
      sed "s|$tmp/[a-z]*.conf|FILE|" "$tmp/out" >"$tmp/$([ "$line" = "$old" ] && echo old || echo new)"
    done
    grep -qE 'no such (command|option)' "$tmp/old" && complain "$old: $(cat "$tmp/old")"
    cmp -s "$tmp/old" "$tmp/new" || complain "$old and $new differ: $(cat "$tmp/old" "$tmp/new")"
  done
}
alone="--no-default-sources --cache $tmp/cache"
id=dfb85de42daffd09640c8fe377d572de3e168920 debug=.build-id/df/b85de42daffd09640c8fe377d572de3e168920.debug
cp "$symfs" "$tmp/program" && mkdir "$tmp/dir" && cp "$symfs" "$tmp/dir"
same <<END
best --for debug $alone $id|why --for debug $alone $id
best --for=unwind --json $alone $id|why $alone --json --for=unwind $id
best --for|why --for
wait --timeout 1ms $alone $id|get --wait --timeout 1ms $alone $id
warm $alone $tmp/dir|get $tmp/dir $alone
prefetch $alone $id|warm $alone $id
fetch $alone $id|get $alone $id
find $alone $id|get $alone $id
debug $alone $tmp/none|core $alone $tmp/none
parse gdb $debug|paths --parse gdb $debug
parse --json gdb x|paths --json --parse gdb x
pdb --streams $tmp/program|id --pdb --streams $tmp/program
pdb $tmp/program|id --pdb $tmp/program
token ls --file $tmp/none|serve token ls --file $tmp/none
token frobnicate|serve token frobnicate
config init -o $tmp/old.conf|init -o $tmp/new.conf
config init --force -o $tmp/old.conf|init --force -o $tmp/new.conf
config --help|init --help
gsym lookup 0 $tmp/none|gsym --address 0 $tmp/none
END
"$symfs" config >/dev/null 2>&1
[ $? = 2 ] || complain "config without init"
# Guesses lead on.
leads() { # TEXT WORD...
  text=$1
  shift
  "$symfs" "$@" 2>&1 | grep -qF -- "$text" || complain "symfs $* does not lead to $text: $("$symfs" "$@" 2>&1)"
}
leads 'symfs get --help' fetch
leads 'symfs cache ls' ls
leads 'symfs token add' token list --file "$tmp/none"
leads '127.0.0.1:8080' serve --listen :8080
leads 'symfs-layouts(7)' help layouts
leads '--for debug' best "$id"
leads 'symfs symbolicate CORE' bt
leads 'symfs core CORE' gdb
leads 'symfs symbolicate --source DIR CORE' symbolicate "$tmp/program" "$tmp/none"
leads 'no such process' symbolicate $alone -p 999999999
for word in frobnicate x 12345678901234567890123456789012345678901234567890; do
  "$symfs" "$word" 2>&1 | grep -q 'did you mean' && complain "$word is near to something"
done
"$symfs" get --ofline 2>&1 | grep -qx 'symfs get: no such option: --ofline; did you mean --offline?' ||
  complain "get --ofline"
"$symfs" serve --port 1 2>&1 | grep -qx 'symfs serve: no such option: --port; did you mean --listen?' ||
  complain "serve --port"
"$symfs" umount --ofline 2>&1 | grep -q 'did you mean' && complain "umount --ofline: an option that it does not take"

"$symfs" nonsense >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] || complain "an unknown command does not end with 2"
[ -s "$tmp/out" ] && complain "an unknown command says something on stdout"
"$symfs" >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] || complain "no command does not end with 2"
[ $options -ge 40 ] || complain "only $options options"
echo "$(echo "$commands" |
  wc -w) commands and $options options of their own seen, $in_manuals options in manual pages"
exit 0
