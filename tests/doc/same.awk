# Compares what a page says that a command prints with what it printed: awk -f same.awk SHOWN PRINTED. In SHOWN, `...`
# stands for anything in a line, and alone for any lines. Addresses, identifiers, times, sizes and numbers of
# processes are equal to all others of their kind, and so are runs of blanks. Exit status 1: they differ.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Identifiers: hexadecimal digits, with dashes or a slash between them, at least 30 characters.
function without_ids(s,  out) {
	while (match(s, /[0-9a-fA-F][0-9a-fA-F\/-]+/)) {
		out = out substr(s, 1, RSTART - 1) (RLENGTH < 30 ? substr(s, RSTART, RLENGTH) : "ID")
		s = substr(s, RSTART + RLENGTH)
	}
	return out s
}
function plain(s) {
	gsub(/\r/, "", s)
	gsub(/0x[0-9a-f]+/, "ADDRESS", s)
	s = without_ids(s)
	gsub(/20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]([T ][0-9:.]+Z?)?/, "TIME", s)
	gsub(/[0-9]+(\.[0-9]+)? (ms|s|min|B|kB|KB|MB|MB\/s|bytes)/, "SIZE", s)
	gsub(/(pid|LWP|process) +[0-9]+/, "PROCESS", s)
	gsub(/[ \t]+/, " ", s)
	sub(/ $/, "", s)
	return s
}
function escaped(s) {
	gsub(/[\\.^$*+?()\[\]{}|]/, "\\\\&", s)
	gsub(/\\\.\\\.\\\./, "[^\n]*", s)
	return s
}
FILENAME == ARGV[1] {
	pattern = pattern (/^\.\.\.$/ ? "([^\n]*\n)*" : escaped(plain($0)) "\n")
	next
}
{ text = text plain($0) "\n" }
END { exit !(text ~ ("^" pattern "$")) }
