# Writes the manual page of one command out of that of symfs: its part of the synopsis, its description, and where
# the rest stands. Called by make: awk -v command=get -v summary=... -f man-command.awk man/symfs.1.in
# SPDX-License-Identifier: LGPL-2.1-or-later

# The synopsis is a list of `.Nm` lines, each with the lines up to the next one.
function flush_use() {
	if (use_first ~ "^\\.Cm " command "( |$)")
		uses = uses ".Nm symfs\n" use
	use = use_first = ""
}

/^\.Dd / { date = $0 }
/^\.Os / { os = $0 }
/^\.Sh / {
	if (section == "SYNOPSIS")
		flush_use()
	section = substr($0, 5)
	next
}
section == "SYNOPSIS" && /^\.Nm/ { flush_use(); next }
section == "SYNOPSIS" {
	if (use == "")
		use_first = $0
	use = use $0 "\n"
	next
}
section != "COMMANDS" { next }

# Its description: items of the outermost list, from `.It Cm COMMAND` to the next item.
/^\.Bl / { depth++ }
depth == 1 && /^\.It / { mine = $0 ~ "^\\.It Cm " command "( |$)" }
/^\.El/ && depth == 1 { mine = 0 }
mine { text = text $0 "\n"; items += depth == 1 && /^\.It / }
/^\.El/ { depth-- }

END {
	print ".\\\" SPDX-License-Identifier: LGPL-2.1-or-later"
	print date
	print ".Dt SYMFS-" toupper(command) " 1"
	print os
	print ".Sh NAME"
	print ".Nm symfs-" command
	print ".Nd " summary
	print ".Sh SYNOPSIS"
	printf "%s", uses
	print ".Sh DESCRIPTION"
	print ".Bl -tag -width Ds"
	printf "%s", text
	print ".El"
	print ".Pp"
	print ".Xr symfs 1"
	print "explains the common options, what a word names, the exit status, and has more examples."
	print ".Sh SEE ALSO"
	print ".Xr symfs 1 ,"
	print ".Xr symfs.conf 5 ,"
	print ".Xr symfs-layouts 7"
	exit !(uses && items)
}
