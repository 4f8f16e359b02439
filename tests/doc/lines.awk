# Reads Markdown pages and writes each command line of their fences, so that tests/doc/world can run it:
#
#	awk -v out=DIR -v top=TREE -f lines.awk PAGE... >DIR/index
#
# A line of the index has fields separated by `|`: the kind, a number N, and PAGE:LINE. DIR/N.what has what belongs to
# it.
#	command	N.run is the command, N.shown what the page says it prints; and of marks N.exit, N.until, N.if
#	file	N.path and N.run: the page's file; N.lang is its language
#	marked	N.lines lines are not run; N.reason
#	team	the team's server is to run from here on
# Marks are HTML comments before a fence; HACKING.md explains them. Exit status 1: a fence breaks the rules.
# SPDX-License-Identifier: LGPL-2.1-or-later

function fault(text) {
	printf "%s:%d: %s\n", page, FNR, text >"/dev/stderr"
	bad = 1
}
function forget(  k) { for (k in mark) delete mark[k] }
function put(what, text) {
	printf "%s", text >(out "/" n "." what)
	close(out "/" n "." what)
}
function record(kind) { printf "%s|%d|%s:%d\n", kind, ++n, page, begun }

# Writes the command that is complete now.
function flush() {
	if (command == "")
		return
	record("command")
	put("run", command)
	if (shown != "")
		put("shown", shown)
	if ("exit" in mark)
		put("exit", mark["exit"])
	if ("until" in mark)
		put("until", mark["until"])
	if ("run if" in mark)
		put("if", mark["run if"])
	command = shown = ""
}
function end_of_fence() {
	if (lang == "console" && !lines)
		fault("a console without a line that begins with `$ `")
	if ("not run" in mark) {
		record("marked")
		put("lines", lines)
		put("reason", mark["not run"])
	} else if (lang == "console")
		flush()
	else if (lang != "text" && !("file" in mark))
		fault("a fence of " lang " without a mark: <!-- file: PATH --> or <!-- not run: REASON -->")
	else if ("file" in mark) {
		record("file")
		put("path", mark["file"])
		put("run", body)
		put("lang", lang)
	}
	forget()
}

FNR == 1 {
	if (open)
		fault("the page before ends inside a fence")
	open = 0
	page = substr(FILENAME, length(top) + 2)
	forget()
}
!open && /^<!-- .*-->$/ {
	text = $0
	sub(/^<!-- */, "", text)
	sub(/ *-->$/, "", text)
	word = text
	sub(/:.*/, "", word)
	if (word == "the team's server runs") {
		begun = FNR
		record("team")
	} else if (word ~ /^(not run|run if|file|until|exit)$/) {
		if (!sub(/^[^:]*: */, "", text) || text == "")
			fault("the mark `" word "` has no text")
		mark[word] = text
	}
	next
}
!open && /^[ \t>]+```/ { fault("a fence that is not at the left margin") }
!open && /^```/ {
	open = 1
	begun = FNR + 1
	lang = substr($0, 4)
	body = command = shown = ""
	lines = 0
	if (lang !~ /^[a-z]+$/)
		fault("a fence without a language; write ```text if it has no command lines")
	next
}
open && /^```$/ {
	open = 0
	end_of_fence()
	next
}
open && lang == "console" {
	if (/^\$ /) {
		lines++
		if (!("not run" in mark))
			flush()
		begun = FNR
		command = substr($0, 3) "\n"
	} else if (/^> / && shown == "")
		command = command substr($0, 3) "\n"
	else if (command == "")
		fault("output before the first command")
	else
		shown = shown $0 "\n"
	next
}
open {
	if (lang == "text" && /^\$ /)
		fault("a command line in a fence of text")
	if ($0 != "")
		lines++
	body = body $0 "\n"
	next
}
/[^ \t]/ { forget() }
END {
	if (open)
		fault("the page ends inside a fence")
	exit bad
}
