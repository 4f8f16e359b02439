# The words of the program's help and tables: check-man.sh and check-completions.sh look for all of
# them in the manual pages and the completions. This file sets nothing, and needs $top, $symfs, and
# $helps, a file with the output of `symfs help --dump`. Each function prints one word a line.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh

help_text() { awk -v name="$1" '/^== / { it = $2 == name; next } it' "$helps"; } # COMMAND|options|symfs

commands_named() { sed -n 's/^== //p' "$helps" | grep -vxE 'symfs|options'; }

# Subcommands stand first in the usage of a command: `usage: symfs cache ls|stats ...`, `sources [check]`.
subcommands_named() # COMMAND
{
	help_text "$1" | sed -n "1s/^usage: symfs $1 \[*\([a-z|]*\)\]* .*/\1/p" | tr '|' '\n' | grep .
}

# The options of a command alone, without those that each command with a configuration has.
options_named() # COMMAND
{
	help_text "$1" | sed -n '/--config/q; /--help/q; s/^  [-a-z, ]\{4\}\(--[a-zA-Z-]*\).*/\1/p'
}

layouts_named() { sed -n 's/^	{"\([a-z_0-9]*\)", "[a-z_0-9]*", .*/\1/p' "$top/src/names/layout/layouts.c"; }

# As a path begins with them below a mount.
layout_folders_named() { sed -n 's/^	{"[a-z_0-9]*", "\([a-z_0-9]*\)", .*/\1/p' "$top/src/names/layout/layouts.c"; }

filetypes_named()
{
	sed -n 's/^	\[FILETYPE_[A-Z0-9_]*\] = {"\([a-z0-9_]*\)",.*/\1/p' "$top/src/names/id/filetype.c" |
		grep -vx none
}

# The error of the program for a kind that it does not have lists those that it has.
source_kinds_named()
{
	kinds_conf=$(mktemp) || return
	printf '[source "x"]\nurl = http://127.0.0.1:1/\ntype = none-such\n' >"$kinds_conf"
	"$symfs" sources --no-default-sources --config "$kinds_conf" 2>&1 |
		sed -n 's/.*expected //p' | sed 's/,/ /g; s/ or / /g' | tr -s ' ' '\n'
	rm -f "$kinds_conf"
}

# Without the prefix user.symfs.
xattrs_named() { sed -n 's/^	{"\([a-z0-9-]*\)", value_.*/\1/p' "$top/src/fs/xattr.c"; }

presets_named() { for preset in "$top"/etc/sources.d/*.conf; do basename "$preset" .conf; done; }

# Keys of [symfs] in the sample of the configuration, which check-etc.sh compares with the program.
keys_named() { sed -n '/^\[symfs\]/,/^#\[source/s/^#\([a-z-]*\) = .*/\1/p' "$top/etc/symfs.conf"; }
