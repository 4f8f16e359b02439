#!/bin/sh
# Checks that the completions load into a bare bash (and into zsh, if installed) and offer each
# command, subcommand, option, layout, file type and preset of the program. Also shows that a
# missing word is found.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
bash=$(command -v bash) || { echo "no bash"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0 seen=0

cat >"$tmp/ask" <<'EOF'
source "$1" || exit 1
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_symfs
printf '%s ' "${COMPREPLY[@]}"
EOF

sorted() { printf '%s\n' "$@" | LC_ALL=C sort; }

# WORDS... are typed, the last one unfinished; WANTED are offered, and if it ends in `!`, no others.
# The order does not matter: bash lists a directory in the order of the disk, and readline sorts.
offers() # WANTED WORDS...
{
	wanted=$1
	shift
	got=$(cd "$tmp/dir" && "$bash" --norc --noprofile "$tmp/ask" "$top/etc/completions/symfs.bash" "$@" 2>&1)
	seen=$((seen + 1)) typed="$*"
	case $wanted in
	*!) [ "$(sorted $got)" = "$(sorted ${wanted%!})" ] && return ;;
	*)
		missing=
		for word in $wanted; do
			case " $got " in *" $word "*) ;; *) missing="$missing $word" ;; esac
		done
		[ -z "$missing" ] && return ;;
	esac
	echo "\"$typed\" offers: $got; expected: $wanted"
	failed=1
}

mkdir -p "$tmp/dir/mnt"
touch "$tmp/dir/mine.conf"
offers "umount!" symfs um
offers "symbolicate!" symfs symb
offers "serve!" symfs se
offers "--listen --token-file --anyone --connections --idle-seconds --drain-seconds --drain-grace --access-log --quota" symfs serve -
offers "systemd!" symfs serve --listen sy
offers "v4 v5!" symfs symbolicate --api v
offers "--debug --demangle!" symfs symbolicate --d
offers "symtab debug unwind!" symfs best --for ""
offers "mnt!" symfs mount m
offers "mnt!" symfs umount m
offers "mine.conf!" symfs id mi
offers "-f -o --source --offline --no-default-sources --quota" symfs mount -
offers "allow_other allow-unsandboxed= allow-origins=!" symfs mount -o al
offers "quota=!" symfs mount -o qu
offers "-l --lazy --help!" symfs umount -
offers "microsoft mozilla!" symfs get --source m
offers "mnt mine.conf!" symfs get --config m
offers "allow_other ro uid= gid= exact_size no_passthrough source= log_file= cache-dir= quota= min-free= lookup-deadline= connect-timeout= stall-timeout= miss-lifetime= breaker-seconds= max-file-size= ask-on= byte-ranges= keep-seconds= synthesize= allow-unsandboxed= run-as= read-all= server-names= allow-origins=!" symfs mount -o ""
offers "ro,uid=!" symfs mount -o ro,ui
offers "!" symfs get --quota 1
offers "debuginfod/!" symfs get de
offers "mine.conf!" symfs get mi
offers "-o --output --type" symfs find -
offers "elf_code elf_debug elf_dwo!" symfs get --type elf
offers "symstore/ symstore2/!" symfs why sym
offers "--ask --json" symfs why -
offers "debuginfod/!" symfs cache rm de
offers "--misses --miss-lifetime!" symfs cache rm --mis
offers "--json!" symfs sources --j
offers "mine.conf" symfs gsym ""
offers "mnt mine.conf!" symfs gsym dump m
offers "--strict --stdin --stall-timeout!" symfs gsym --st
offers "mnt mine.conf!" symfs gsym verify --against m
offers "symstore symstore2!" symfs parse sym
offers "!" symfs parse symstore s
offers "wasm_code wasm_debug!" symfs paths --type wasm
offers "--code-file --code-id!" symfs paths --co
offers "mine.conf!" symfs paths mi

symfs=${top_builddir:-.}/symfs helps=$tmp/helps
"$symfs" help --dump >"$helps" || exit 1
. "$top/tests/tables.sh"
one_line() { tr '\n' ' ' | sed 's/ $//'; }
offers "$(commands_named | one_line) --help --version!" symfs ""
[ "$(commands_named | wc -l)" -ge 15 ] || { echo "only $(commands_named | wc -l) commands"; failed=1; }
for command in $(commands_named); do
	subs=$(subcommands_named "$command" | one_line)
	[ -z "$subs" ] || offers "$subs" symfs "$command" ""
	for option in $(options_named "$command"); do
		offers "$option" symfs "$command" "$option"
	done
done
offers "$(filetypes_named | LC_ALL=C sort -u | one_line)!" symfs paths --type ""
failed_before=$failed
offers frobnicate symfs "" >/dev/null
[ $failed = 1 ] && failed=$failed_before || { echo "a command that does not exist is offered"; failed=1; }

# For zsh nothing is typed: the words of its file count. Prints those that it lacks.
zsh_lacks()
{
	for command in $1; do
		grep -qE "^ *(.*[ '])?'?$command:" "$zsh" || echo "_symfs does not describe $command"
		# A case of its own begins with the word.
		sed -n "/^    $command)/,/;;\$/{s/[$]json/--json/;s/[$]type/--type/;p}" "$zsh" >"$tmp/case"
		[ -s "$tmp/case" ] || echo "_symfs has no case for $command"
		for word in $(subcommands_named "$command" 2>/dev/null) $(options_named "$command" 2>/dev/null); do
			grep -qE -- "[^a-z-]$word[^a-z-]" "$tmp/case" || echo "_symfs does not name $word of $command"
		done
	done
}
zsh=$top/etc/completions/_symfs
lacking=$(zsh_lacks "$(commands_named)")
[ -z "$lacking" ] || { echo "$lacking"; failed=1; }
[ "$(zsh_lacks frobnicate | wc -l)" = 2 ] ||
	{ echo "zsh_lacks misses nothing, not even what does not exist"; failed=1; }

# What the tables name, both files name.
words_lacking() # FILE, and words on stdin
{
	words=" $(tr -sc 'a-z0-9_-' ' ' <"$top/etc/completions/$1") "
	while read -r word; do
		case $words in *" $word "*) ;; *) echo "$1 does not name $word" ;; esac
	done
}
{
	presets_named
	keys_named | sed 's/^/--/'
	layout_folders_named
	filetypes_named
} >"$tmp/named"
for file in symfs.bash _symfs; do
	lacking=$(words_lacking $file <"$tmp/named")
	[ -z "$lacking" ] || { echo "$lacking"; failed=1; }
	[ -n "$(echo frobnicate | words_lacking $file)" ] || { echo "$file names what does not exist"; failed=1; }
	seen=$((seen + $(wc -l <"$tmp/named")))
done
[ "$(wc -l <"$tmp/named")" -ge 55 ] || { echo "the tables name only $(wc -l <"$tmp/named") words"; failed=1; }

if command -v zsh >/dev/null; then
	zsh -f -n "$top/etc/completions/_symfs" || failed=1
	zsh -f -c "autoload -Uz compinit; fpath=($top/etc/completions \$fpath)
		compinit -D -u && [[ \$_comps[symfs] = _symfs ]]" || { echo "zsh does not find _symfs"; failed=1; }
fi
echo "$seen completions seen"
exit $failed
