#!/bin/sh
# The completions load into a bare bash (and a zsh, where there is one) and offer what the manual
# page and the tables in the source name.
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
offers "mount umount get add id paths parse why status sources cache gsym" symfs ""
offers "umount!" symfs um
offers "symbolicate!" symfs sy
offers "serve!" symfs se
offers "--listen --token-file --anyone --connections --idle-seconds --access-log --quota" symfs serve -
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
offers "allow_other ro uid= gid= exact_size no_passthrough source= log_file= cache-dir= quota= min-free= lookup-deadline= connect-timeout= stall-timeout= miss-lifetime= breaker-seconds= max-file-size= keep-seconds= allow-unsandboxed= run-as= read-all= server-names= allow-origins=!" symfs mount -o ""
offers "ro,uid=!" symfs mount -o ro,ui
offers "!" symfs get --quota 1
offers "debuginfod/!" symfs get de
offers "symstore/ symstore2/!" symfs why sym
offers "--ask --json" symfs why -
offers "ls stats verify gc pin unpin rm!" symfs cache ""
offers "debuginfod/!" symfs cache rm de
offers "--misses --miss-lifetime!" symfs cache rm --mis
offers "--json!" symfs sources --j
offers "create dump lookup verify stats mine.conf" symfs gsym ""
offers "mnt mine.conf!" symfs gsym dump m
offers "--strict --stdin!" symfs gsym --st
offers "mnt mine.conf!" symfs gsym verify --against m
offers "symstore symstore2!" symfs parse sym
offers "!" symfs parse symstore s
offers "wasm_code wasm_debug!" symfs paths --type wasm
offers "--code-file --code-id!" symfs paths --co
offers "mine.conf!" symfs paths mi

# Both offer each option that the help of a command names.
symfs=${top_builddir:-.}/symfs
for command in $("$symfs" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	for option in $("$symfs" "$command" --help | sed -n '/--config/q; s/^  [-a-z, ]\{4\}\(--[a-z-]*\).*/\1/p'); do
		offers "$option" symfs "$command" "$option"
		grep -qE -- "[^a-z-]$option[^a-z-]" "$top/etc/completions/_symfs" || { echo "_symfs does not name $option"; failed=1; }
	done
done

# What the tables name, both files name.
for file in symfs.bash _symfs; do
	words=" $(tr -sc 'a-z0-9_-' ' ' <"$top/etc/completions/$file") "
	{
		for preset in "$top"/etc/sources.d/*.conf; do basename "$preset" .conf; done
		sed -n '/^\[symfs\]/,/^#\[source/s/^#\([a-z-]*\) = .*/--\1/p' "$top/etc/symfs.conf"
		sed -n 's/^	{"[a-z_0-9]*", "\([a-z_0-9]*\)", .*/\1/p' "$top/src/layout/layouts.c"
	} >"$tmp/named"
	while read -r word; do
		case $words in *" $word "*) ;; *) echo "$file does not name $word"; failed=1 ;; esac
		seen=$((seen + 1))
	done <"$tmp/named"
done

if command -v zsh >/dev/null; then
	zsh -f -n "$top/etc/completions/_symfs" || failed=1
	zsh -f -c "autoload -Uz compinit; fpath=($top/etc/completions \$fpath)
		compinit -D -u && [[ \$_comps[symfs] = _symfs ]]" || { echo "zsh does not find _symfs"; failed=1; }
fi
echo "$seen completions seen"
exit $failed
