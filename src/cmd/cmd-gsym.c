/* symfs gsym: the command, and its subcommands dump and stats. These two need no mount, store or source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/gsym-command.h"
#include "cmd/gsym-text.h"
#include "cmd/what.h"
#include "convert/worker.h"

#include <stdio.h>
#include <string.h>

/* ---- dump, stats --------------------------------------------------------------------- */

static int gsym_show(
	struct gsym_run *run, int (*print)(const struct gsym_run *run, const struct gsym *g, struct err *e))
{
	_cleanup_gsym_file_ struct gsym_file o = {0};
	struct err e = {0};
	int status;

	status = gsym_file_open(&o, run);
	if (status >= 0)
		return status;
	if (print(run, &o.g, &e) < 0) {
		fflush(stdout);
		return gsym_fail(run->argv[0], &e);
	}
	return gsym_flushed(EXIT_DONE);
}

static int print_dump(const struct gsym_run *run, const struct gsym *g, struct err *e)
{
	return run->args.json ? gsym_dump_json(g, e) : gsym_dump_text(g, e);
}

static int print_stats(const struct gsym_run *run, const struct gsym *g, struct err *e)
{
	return gsym_stats(g, run->args.json, e);
}

static int gsym_dump(struct gsym_run *run)
{
	return gsym_show(run, print_dump);
}

static int gsym_print_stats(struct gsym_run *run)
{
	return gsym_show(run, print_stats);
}

/* ---- the command --------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct gsym_run *run);
} subcommands[] = {
	{"create", gsym_create},
	{"dump", gsym_dump},
	{"lookup", gsym_look_up},
	{"verify", gsym_verify},
	{"stats", gsym_print_stats},
};

/* Runs a command line without a subcommand: `symfs gsym -o OUT FILE`, `--dump FILE`, `--address 0x1000 FILE`. The
 * first tool of this format had these options, and wrote the object form. */
static int run_bare(struct gsym_run *run)
{
	if (run->dump)
		return gsym_dump(run);
	if (run->addresses.n)
		return gsym_look_up(run);
	if (run->out) {
		if (!run->format)
			run->format = "object";
		return gsym_create(run);
	}
	return gsym_usage(run->argc ? "no such command" : "expected create, dump, lookup, verify or stats");
}

/* Rejects options for sources and the store. Only look-ups use these options, for words that do not name local
 * files. -1: no such option is given; otherwise the exit status. */
static int check_sources_unused(const struct gsym_run *run)
{
	const struct app_args *a = &run->args;

	if (a->config || a->cache || a->offline || a->no_default_sources || a->n_sources || a->n_set || run->type)
		return gsym_usage("only lookup uses sources, the cache and --type");
	return -1;
}

static int run_gsym(int argc, char **argv)
{
	struct gsym_run run = {0};
	const char *type = NULL;
	const struct opt own[] = {
		{"output", 'o', "FILE", "create: the output; - is the standard output", &run.out},
		{"format", 0, "v1|object", "create: the form of the output (v1)", &run.format},
		{"arch", 0, "ARCH", "part of a fat Mach-O file: x86_64, arm64", &run.arch},
		{"threads", 0, "N", "create: up to 8 threads (all processors)", &run.threads},
		{"embed", 0, NULL, "create: write a copy of FILE with GSYM in it", &run.embed},
		{"shorten-cpp", 0, NULL, "omit default template arguments from names",
			&run.shorten},
		{"full-names", 0, NULL, "keep full names in an object", &run.full},
		{"plain-names", 0, NULL, "omit parameters from names of a PDB", &run.plain_names},
		{"strict", 0, NULL, "reject a Breakpad file with a bad line", &run.strict},
		{"stdin", 0, NULL, "lookup: read addresses from stdin, one a line", &run.from_stdin},
		{"against", 0, "FILE", "verify: compare with a GSYM made from FILE", &run.against},
		{"dump", 0, NULL, "the same as the command dump", &run.dump},
		{"address", 0, "ADDR", "the same as lookup; may be repeated",
			.words = &run.addresses},
		{"type", 0, "TYPE", "lookup: the type of the file to fetch", &type},
		{0},
	};
	struct err e = {0};
	int status = app_options(&run.args, &cmd_gsym, own, &argc, argv);

	if (status >= 0)
		return status;
	if (run.threads) {
		run.n_threads = (unsigned)strtoul(run.threads, NULL, 10);
		if (run.n_threads < 1 || run.n_threads > 8 || strlen(run.threads) != 1)
			return gsym_usage("--threads takes a number from 1 to 8");
	}
	if (what_type(type, &run.type, &e) < 0)
		return gsym_usage(e.text);
	run.argc = argc - 1;
	run.argv = argv + 1;
	for (unsigned i = 0; argc > 1 && i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(argv[1], subcommands[i].name) != 0 || run.dump || run.addresses.n)
			continue;
		run.argc--;
		run.argv++;
		status = subcommands[i].run == gsym_look_up ? -1 : check_sources_unused(&run);
		return status >= 0 ? status : subcommands[i].run(&run);
	}
	return run_bare(&run);
}

const struct cmd cmd_gsym = {
	.name = "gsym",
	.args = "create|dump|lookup|verify|stats [ADDR...] FILE|WHAT",
	.help = "Creates, searches and prints GSYM files: addresses to functions, files and\n"
		"lines. create makes a GSYM file from a Breakpad symbol file, from DWARF and\n"
		"symbols of an ELF, Mach-O or PE file, from a PDB, or from another GSYM file.\n"
		"lookup prints a line for each address; WHAT is as for `symfs get`, and GSYM is\n"
		"made of it at once. The exit status of verify is 1 if something differs",
	.examples = {"symfs gsym create -o prog.gsym prog.debug",
		"symfs gsym lookup 0x1158 prog.gsym"},
	.configured = true,
	.json = true,
	.run = run_gsym,
};
