#!/bin/sh
# Checks that the completions load into a bare bash (and into zsh, if installed), and pass on what the program offers:
# each command, subcommand, option, layout, file type and source. Also shows that a missing word is found.
# SPDX-License-Identifier: LGPL-2.1-or-later
top=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd) || exit 1
bash=$(command -v bash) || { echo "no bash"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0 seen=0
symfs=$(cd "${top_builddir:-.}" && pwd)/symfs helps=$tmp/helps
"$symfs" help --dump >"$helps" || exit 1
. "$top/tests/tables.sh"
# The presets are in the user's configuration.
HOME=$tmp XDG_CONFIG_HOME=$tmp PATH=${symfs%/*}:$PATH
export HOME XDG_CONFIG_HOME PATH
mkdir -p "$tmp/symfs" "$tmp/dir/mnt"
touch "$tmp/dir/mine.conf"
cat "$top"/etc/sources.d/*.conf >"$tmp/symfs/symfs.conf"

cat >"$tmp/ask.bash" <<'EOF'
source "$1" || exit 1
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_symfs
printf '%s ' "${COMPREPLY[@]}"
EOF
# The functions of zsh's completion print what they get.
cat >"$tmp/ask.zsh" <<'EOF'
_describe() {
	local one
	for one in "${(@P)2}"; do
		one=${one//\\:/$'\1'}
		print -rn -- "${${one%%:*}//$'\1'/:} "
	done
}
_files() { print -rn -- "files$1 "; }
_users() { print -rn -- "users "; }
completion=$1
shift
words=("$@") CURRENT=$#
source $completion
EOF

sorted() { printf '%s\n' "$@" | LC_ALL=C sort; }

# WANTED are in the words that the shell offered, and if it ends in `!`, no others. The order does not matter: bash
# lists a directory in the order of the disk, and readline sorts.
has() # WANTED GOT WHERE
{
	seen=$((seen + 1))
	case $1 in
	*!) [ "$(sorted $2)" = "$(sorted ${1%!})" ] && return ;;
	*)
		lacking=
		for word in $1; do
			case " $2 " in *" $word "*) ;; *) lacking="$lacking $word" ;; esac
		done
		[ -z "$lacking" ] && return ;;
	esac
	echo "$3 offers: $2; expected: $1"
	failed=1
}

# WORDS... are typed, the last one unfinished.
offers() # WANTED WORDS...
{
	wanted=$1
	shift
	got=$(cd "$tmp/dir" && "$bash" --norc --noprofile "$tmp/ask.bash" "$top/etc/completions/symfs.bash" "$@" 2>&1)
	has "$wanted" "$got" "bash: \"$*\""
}

# As offers, in zsh, which itself takes the words that begin as typed.
zsh_offers() # WANTED WORDS...
{
	wanted=$1
	shift
	got=$(cd "$tmp/dir" && zsh -f "$tmp/ask.zsh" "$top/etc/completions/_symfs" "$@" 2>&1)
	has "$wanted" "$got" "zsh: \"$*\""
}

offers "umount!" symfs um
offers "symbolicate!" symfs symb
offers "setup serve" symfs se
offers "--listen --token-file --anyone --connections --idle-seconds --drain-seconds --drain-grace --access-log
	--quota" symfs serve -
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
offers "./mnt!" symfs get --source ./m
offers "mnt mine.conf!" symfs get --config m
keys=$(keys_named | sed 's/$/=/' | tr '\n' ' ')
offers "allow_other ro uid= gid= exact_size no_passthrough source= log_file= $keys!" symfs mount -o ""
offers "ro,uid=!" symfs mount -o ro,ui
offers "!" symfs get --quota 1
offers "yes no!" symfs get --ask-on ""
offers "auto always never!" symfs get --byte-ranges ""
offers "$(id -un)" symfs mount --run-as ""
offers "debuginfod/!" symfs get de
offers "mine.conf!" symfs get mi
offers "-o --output --type" symfs find -
offers "elf_code elf_debug elf_dwo!" symfs get --type elf
offers "symstore/ symstore2/!" symfs why sym
offers "--ask --json" symfs why -
offers "debuginfod/!" symfs cache rm de
offers "--misses --miss-lifetime!" symfs cache rm --mis
offers "--json!" symfs sources --j
offers "check!" symfs sources --json c
offers "!" symfs sources check c
offers "mine.conf!" symfs gsym mi
offers "mnt mine.conf!" symfs gsym dump m
offers "--strict --stdin --stall-timeout!" symfs gsym --st
offers "mnt mine.conf!" symfs gsym verify --against m
offers "symstore symstore2!" symfs parse sym
offers "!" symfs parse symstore s
offers "wasm_code wasm_debug!" symfs paths --type wasm
offers "--code-file --code-id!" symfs paths --co
offers "mine.conf!" symfs paths mi
offers "mine.conf!" symfs paths --casing lowercase mi
offers "mount mount-helper!" symfs help moun
offers "!" symfs frobnicate ""
one_line() { tr '\n' ' ' | sed 's/ $//'; }
offers "$(commands_named | one_line) --help --version!" symfs ""
offers "$(layout_folders_named | one_line)!" symfs parse ""
offers "$(filetypes_named | one_line)!" symfs paths --type ""
offers "$(presets_named | one_line)" symfs get --source ""
# No name of a source is more than a name to the shell.
printf '[source "$(touch %s/touched)"]\nurl = http://127.0.0.1:1/\n' "$tmp" >>"$tmp/symfs/symfs.conf"
offers "microsoft mozilla!" symfs get --source m
[ ! -e "$tmp/touched" ] || { echo "the shell runs the name of a source"; failed=1; }

[ "$(commands_named | wc -l)" -ge 15 ] || { echo "only $(commands_named | wc -l) commands"; failed=1; }
zsh=$(command -v zsh)
for command in $(commands_named); do
	subs=$(subcommands_named "$command" | one_line)
	[ -z "$subs" ] || offers "$subs" symfs "$command" ""
	# Of each command one shell: what passes on one command's words passes on another's.
	options=$(options_named "$command" | one_line)
	case $((seen % 2))$zsh in
	1?*) zsh_offers "$options --help" symfs "$command" - ;;
	*) offers "$options --help" symfs "$command" - ;;
	esac
done
failed_before=$failed
offers frobnicate symfs "" >/dev/null
[ $failed = 1 ] && failed=$failed_before || { echo "a command that does not exist is offered"; failed=1; }

if [ -n "$zsh" ]; then
	zsh -f -n "$top/etc/completions/_symfs" || failed=1
	zsh -f -c "autoload -Uz compinit; fpath=($top/etc/completions \$fpath)
		compinit -D -u && [[ \$_comps[symfs] = _symfs ]]" || { echo "zsh does not find _symfs"; failed=1; }
	zsh_offers "$(commands_named | one_line) --help --version!" symfs ""
	zsh_offers "127.0.0.1:8737 unix: systemd!" symfs serve --listen ""
	zsh_offers "debuginfod/ files" symfs get de
	zsh_offers "files-/!" symfs umount ""
	zsh_offers "users!" symfs mount --run-as ""
fi
echo "$seen completions seen"
exit $failed
