/* symfs addr2line: converts addresses in any program or debug file to functions, files and lines. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/cmd.h"
#include "cmd/gsym-command.h"
#include "cmd/what.h"

#include <stdio.h>

static int run_addr2line(int argc, char **argv)
{
	struct gsym_run run = {.file_first = true};
	const char *type = NULL;
	const struct opt own[] = {
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
	if (argc < 2 || (argc < 3 && !run.from_stdin) || what_type(type, &run.type, &e) < 0) {
		fprintf(stderr, "symfs addr2line: %s; try: symfs addr2line --help\n",
			e.text[0] ? e.text : "expected a file and addresses");
		return EXIT_USAGE;
	}
	run.argc = argc - 1;
	run.argv = argv + 1;
	return gsym_look_up(&run);
}

const struct cmd cmd_addr2line = {
	.name = "addr2line",
	.args = "[--json] [--stdin] WHAT ADDR...",
	.help = "Prints a line for each address: functions, files and lines, inlined calls first.\n"
		"WHAT is as for `symfs get`: a debug file, a program, whose debug file is fetched\n"
		"if it has no debug information, or a build id. The same as `symfs gsym lookup`",
	.examples = {"symfs addr2line ./prog 0x1158",
		"symfs addr2line --source debian /usr/bin/ls 0x5a30"},
	.configured = true,
	.json = true,
	.run = run_addr2line,
};
