/* symfs addr2line: converts addresses in any program or debug file to functions, files and lines. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "cmd/gsym/gsym-command.h"
#include "cmd/what.h"

static int run_addr2line(int argc, char **argv)
{
	struct gsym_run run = {.file_first = true};
	const char *type = NULL, *file = NULL, *section = NULL;
	bool same; /* functions, inlined calls and one line are what is printed anyway */
	const struct opt own[] = {
		{"exe", 'e', "FILE", "the file; numbers are hexadecimal then", &file},
		{"demangle", 'C', NULL, "demangle names of C++ and Rust", &run.demangle},
		{"basenames", 's', NULL, "print files without directories", &run.basenames},
		{"functions", 'f', NULL, "as always", &same},
		{"inlines", 'i', NULL, "as always", &same},
		{"pretty-print", 'p', NULL, "print \": \" after the address, not a tab", &run.pretty},
		{"addresses", 'a', NULL, "as always", &same},
		{"section", 'j', "NAME", "refused: addresses are those of the file", &section},
		{"stdin", 0, NULL, "read addresses from stdin, one a line", &run.from_stdin},
		{"plain-names", 0, NULL, "omit parameters from names of a PDB", &run.plain_names},
		{"arch", 0, "ARCH", "part of a fat Mach-O file: x86_64, arm64", &run.arch},
		{"type", 0, "TYPE", WHAT_TYPE_HELP, &type},
		{0},
	};
	struct err e = {0};
	int status = app_options(&run.args, &cmd_addr2line, own, &argc, argv);

	if (status >= 0)
		return status;
	if (section)
		return cmd_usage("-j %s: add the address of the section (readelf -S) to each offset", section);
	if (file) { /* in argv[0], before the addresses */
		argv[0] = (char *)(uintptr_t)file;
		argv--;
		argc++;
	}
	run.hex = file;
	run.from_stdin |= argc == 2;
	if (argc < 2 || what_type(type, &run.type, &e) < 0)
		return cmd_usage("%s", e.text[0] ? e.text : "expected a file");
	run.argc = argc - 1;
	run.argv = argv + 1;
	return gsym_look_up(&run);
}

const struct cmd cmd_addr2line = {
	.name = "addr2line",
	.args = "[--json] [-C] [-s] WHAT|-e FILE [ADDR|FUNCTION+OFFSET...]",
	.help = "Prints a line for each address, from stdin if none is given: functions, files\n"
		"and lines, inlined calls first. Takes the options of binutils' addr2line.\n"
		"WHAT is as for `symfs get`: a debug file, a program, whose debug file is fetched\n"
		"if it has no debug information, or a build id. The same as `symfs gsym lookup`",
	.examples = {"symfs addr2line ./prog 0x1158",
		"symfs addr2line --source debian /usr/bin/ls 0x5a30"},
	.configured = true,
	.json = true,
	.run = run_addr2line,
};
