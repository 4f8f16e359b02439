#!/bin/sh
# Checks that the sample configuration and every preset load, and that each preset can be selected
# by name. A preset is asked only when it is selected. Samba must accept its part of the
# configuration.
# SPDX-License-Identifier: LGPL-2.1-or-later
. "${top_srcdir:-$(dirname "$0")/..}/tests/walls-lib.sh"
HOME=$tmp XDG_CONFIG_HOME=$tmp XDG_CACHE_HOME=$tmp
export HOME XDG_CONFIG_HOME XDG_CACHE_HOME
unset DEBUGINFOD_URLS _NT_SYMBOL_PATH _NT_ALT_SYMBOL_PATH

"$symfs" sources --no-default-sources --config "$top/etc/symfs.conf" >"$tmp/out" 2>&1 ||
  complain "etc/symfs.conf: $(cat "$tmp/out")"
# The sample has every key that the program reads, but for second names, with the value that holds without it.
keys_of() { # FILE...: "#KEY = DEFAULT" of each row of their tables
  cat "$@" | tr '\n\t' '  ' | grep -oE '\{"[a-z0-9-]+", CONF_[A-Z]+, [^,]*, [a-z_0-9]*\), *("[^"]*"|NULL)' |
    sed 's/^{"\([^"]*\)".*, *"\(.*\)"$/#\1 = \2/; s/^{"\([^"]*\)".* NULL$/#\1 = /'
}
keys_of "$top/src/cmd/app.c" >"$tmp/keys"
keys_of "$top"/src/source/source*.c >"$tmp/source-keys"
[ "$(wc -l <"$tmp/source-keys")" -ge 40 ] || complain "only $(wc -l <"$tmp/source-keys") keys of sources"
cat "$tmp/source-keys" >>"$tmp/keys"
keys=0
while read -r row; do
  keys=$((keys + 1))
  case $row in '#kind ='* | '#headers ='* | '#types ='*) continue ;; esac
  case $row in
  *=) grep -q "^$row " "$top/etc/symfs.conf" ;;
  *) grep -qxF "$row" "$top/etc/symfs.conf" ;;
  esac || complain "etc/symfs.conf lacks \"$row\""
done <"$tmp/keys"
[ $keys -ge 55 ] || complain "only $keys keys"
# With every comment that looks like a setting taken at its word, but for those of sources.
sed 's/^#\([a-z-]* = \)/\1/' "$top/etc/symfs.conf" |
  grep -vE "^($(sed 's/^#//; s/ =.*//' "$tmp/source-keys" | paste -sd '|')) = " >"$tmp/all.conf"
"$symfs" sources --no-default-sources --config "$tmp/all.conf" >"$tmp/out" 2>&1 ||
  complain "etc/symfs.conf without its comment signs: $(cat "$tmp/out")"

# A unit allows more time for the end than its command takes: an unmount 10 s, a server its grace and 10 s or what
# --drain-seconds says. The tests in containers, which set another time, do not see it.
for unit in "$top"/etc/systemd/*/symfs*.service.in; do
  grep -qE '^ExecStart=.* (mount|serve) ' "$unit" || continue
  word() { sed -n "s/^ExecStart=.* --$1 \\([0-9]*\\) .*/\\1/p" "$unit"; }
  grace=$(word drain-grace) seconds=$(word drain-seconds)
  [ "$(sed -n 's/^TimeoutStopSec=//p' "$unit")" -gt $((${grace:-0} + ${seconds:-10})) ] ||
    complain "$unit: TimeoutStopSec is not longer than the end of its command"
done

# Each kind of source is a type in the sample and in the manual.
kinds=$(grep -ohE '\.name = "[a-z0-9]+"' "$top"/src/source/source-*.c | sed 's/.*"\(.*\)"/\1/')
for kind in $kinds; do
  sed '/^#type = /q' "$top/etc/symfs.conf" | tac | sed '/^#$/q' | grep '^# ' | grep -qw "$kind" ||
    complain "etc/symfs.conf does not name the type $kind"
  sed -n '/^\.It Cm type/,/^\.El/p' "$top/man/symfs.conf.5.in" | grep -qw "$kind" ||
    complain "symfs.conf(5) does not name the type $kind"
done
[ "$(echo $kinds | wc -w)" -ge 5 ] || complain "only the types $kinds"

# .symfs/config shows each key of a source, but for secrets, second names and `enabled`, so that the text reads back
# as the same source. The kind's function `show` adds the keys that the kind alone has.
shown=0
for file in "$top"/src/source/source*.c; do
  { sed -nE '/^(static )?void [a-z0-9]*_show\(/,/^}/p' "$file"; cat "$top/src/cmd/secrets.c"; } >"$tmp/shows"
  # The kind "bucket" has the keys of "s3", and shows its own two.
  case $file in */source-s3.c) sed -n '/^static void bucket_show(/,/^}/p' "${file%s3.c}bucket.c" \
    >>"$tmp/shows" ;; esac
  case $file in */source.c) cp "$top/src/cmd/mount/mount-daemon.c" "$tmp/shows" ;; esac
  for key in $(keys_of "$file" | sed 's/^#//; s/ =.*//' | grep -vxE 'kind|headers|types|enabled|url|path'); do
    shown=$((shown + 1))
    grep -qE "(\(|, )\"$key\"[,)]|[\"n ]$key =|# ([a-z-]+, )*$key[,:]" "$tmp/shows" ||
      complain ".symfs/config does not show \"$key\" of $(basename "$file")"
  done
done
[ $shown -ge 35 ] || complain "only $shown keys in .symfs/config"

# A source takes each file type of the program, but for the three that no request names.
sed -n 's/^\t\[FILETYPE_[A-Z0-9_]*\] = {"\([a-z0-9_]*\)",.*/\1/p' "$top/src/names/id/filetype.c" |
  grep -vxE 'none|gsym|sym|elf_dwo' >"$tmp/types"
[ "$(wc -l <"$tmp/types")" -ge 18 ] || complain "only $(wc -l <"$tmp/types") types"
printf '[source "x"]\nurl = http://127.0.0.1:1/\nfiletypes = %s\n' "$(tr '\n' ' ' <"$tmp/types")" >"$tmp/types.conf"
"$symfs" sources --no-default-sources --config "$tmp/types.conf" >"$tmp/out" 2>&1 ||
  complain "all types: $(cat "$tmp/out")"

# Of Samba: every line is one that this Samba knows, in a place where it counts.
odd() { # FILE: what testparm says against it
  testparm -s "$1" 2>&1 >/dev/null | grep -iE 'unknown parameter|global parameter|ignoring|error|no path'
}
if command -v testparm >/dev/null; then
  odd "$top/etc/samba/symfs.conf" && complain "etc/samba/symfs.conf"
  { cat "$top/etc/samba/symfs.conf"; echo 'stat cash = no'; } >"$tmp/samba.conf"
  odd "$tmp/samba.conf" >/dev/null || complain "testparm passes a line that Samba does not know"
  { cat "$top/etc/samba/symfs.conf"; echo 'kernel change notify = no'; } >"$tmp/samba.conf"
  odd "$tmp/samba.conf" >/dev/null || complain "testparm passes a line that does not count here"
fi

seen=0
for preset in "$top"/etc/sources.d/*.conf; do
  name=$(sed -n 's/^\[source "\(.*\)"\]$/\1/p' "$preset")
  [ "$name" = "$(basename "$preset" .conf)" ] || complain "$preset is called $name inside"
  "$symfs" sources --json --no-default-sources --config "$preset" >"$tmp/out" 2>&1 ||
    complain "$preset: $(cat "$tmp/out")"
  grep -q '"name"' "$tmp/out" && complain "$preset is enabled without being named"
  "$symfs" sources --json --no-default-sources --config "$preset" --source "$name" >"$tmp/out" 2>&1 ||
    complain "--source $name: $(cat "$tmp/out")"
  grep -q "\"name\":\"$name\"" "$tmp/out" || complain "--source $name: $(cat "$tmp/out")"
  grep -n 'not unpacked' "$preset" && complain "$preset: symfs unpacks what a server sends compressed"
  seen=$((seen + 1))
done
echo "$seen presets seen"
[ $seen -ge 15 ] || complain "only $seen presets"
exit 0
