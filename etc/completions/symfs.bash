# Completion of symfs(1) for bash, without the package bash-completion. The program says what the last word can
# become (src/cmd/complete.h); it asks no server and reads no store.
# SPDX-License-Identifier: LGPL-2.1-or-later

_symfs()
{
	local IFS=$'\n' cur=${COMP_WORDS[COMP_CWORD]} typed=("${COMP_WORDS[@]:1:COMP_CWORD}") kinds= word name

	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		case $word in
		:*)
			[[ $kinds != *$word* ]] || continue
			kinds+=$word
			[[ $word != :file && $word != :directory ]] || compopt -o filenames 2>/dev/null
			while read -r name; do
				COMPREPLY+=("$name")
			done < <(compgen -A "${word#:}" -- "$cur") ;;
		"$cur"*) COMPREPLY+=("$word") ;;
		esac
	done < <(symfs "--complete=${typed[*]}" 2>/dev/null)
	[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[=/] ]] || compopt -o nospace 2>/dev/null
}

complete -F _symfs symfs
