/* symfs gsym: the command, and its subcommands dump and stats. These two need no mount, store or source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/gsym/gsym-command.h"
#include "cmd/gsym/gsym-text.h"
#include "cmd/what.h"
#include "derive/convert/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* symfs gsym stats: counts the functions, lines and inlined calls of a GSYM file. */

struct counts {
	uint64_t functions, with_lines, with_inlines, without_size, overlapping;
	uint64_t rows, inlines, deepest, covered;
	uint64_t line_bytes, inline_bytes;
	uint64_t end; /* of the functions so far */
};

static const char *count_function(void *ctx, const struct gsym *g, uint32_t i, const struct gsym_func *f)
{
	struct counts *c = ctx;
	struct gsym_rows rows;
	struct gsym_nodes nodes;
	struct gsym_node node;
	struct gsym_row row;
	int r = gsym_rows_begin(&rows, f);

	c->functions++;
	c->overlapping += f->addr < c->end;
	if (f->addr + f->size > c->end) {
		c->covered += f->addr + f->size - MAX(c->end, f->addr);
		c->end = f->addr + f->size;
	}
	c->with_lines += f->lines.n > 0;
	c->with_inlines += f->inlines.n > 0;
	c->without_size += !f->size;
	c->line_bytes += f->lines.n;
	c->inline_bytes += f->inlines.n;
	while (r >= 0 && (r = gsym_rows_next(&rows, &row)) > 0)
		c->rows++;
	if (r < 0)
		return rows.bad;
	gsym_nodes_begin(&nodes, g, f);
	while ((r = gsym_nodes_next(&nodes, &node)) > 0) {
		c->inlines += node.depth > 0;
		c->deepest = MAX(c->deepest, node.depth);
	}
	return r < 0 ? nodes.bad : NULL;
}

static int gsym_stats(const struct gsym *g, bool json, bool demangled, struct err *e)
{
	struct counts c = {0};
	int r = gsym_each_function(g, count_function, &c, e);
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = {
		{"functions", c.functions},
		{"with_lines", c.with_lines},
		{"with_inlines", c.with_inlines},
		{"without_size", c.without_size},
		{"overlapping", c.overlapping},
		{"bytes_covered", c.covered},
		{"lines", c.rows},
		{"inlined_calls", c.inlines},
		{"deepest", c.deepest},
		{"files", g->n_files ? g->n_files - 1 : 0},
		{"string_bytes", g->strings.n},
		{"line_bytes", c.line_bytes},
		{"inline_bytes", c.inline_bytes},
	};

	struct json j;
	char room[64];

	if (r < 0)
		return r;
	json_init(&j, false);
	json_begin_object(&j, NULL);
	if (json)
		gsym_add_head(&j, g);
	else
		printf("form %s\nbyte_order %s\nbase 0x%" PRIx64 "\naddress_bytes %u\nid %s\n",
			gsym_form_name(g->form), g->big ? "big" : "little", g->base, g->off_size,
			g->id.n ? gsym_id_text(g, room) : "-");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (json)
			json_number(&j, rows[i].name, (long long)rows[i].n);
		else
			printf("%s %" PRIu64 "\n", rows[i].name, rows[i].n);
	json_finish(&j, json, EXIT_DONE);
	return 0;
}

/* symfs gsym verify: checks whether a GSYM file is whole, and whether it agrees with its debug file. */

#define SHOWN_MOST 20 /* differences that are printed */

struct comparison {
	const struct gsym *ours, *theirs;
	struct buf a, b;
	uint64_t asked, differ;
	struct err e;
	int r;
};

/* Writes the frames of an address: "-" if no function contains it. */
static int frames_at(const struct gsym *g, uint64_t addr, struct buf *out, struct err *e)
{
	struct gsym_hit hit;
	int r = gsym_lookup(g, addr, &hit, e);

	buf_clear(out);
	if (r == -ENOENT)
		hit.n = 0;
	return r < 0 && r != -ENOENT ? r : gsym_hit_text(&hit, false, out);
}

static void compare_at(struct comparison *c, uint64_t addr)
{
	if (c->r < 0)
		return;
	c->r = frames_at(c->ours, addr, &c->a, &c->e);
	if (c->r == 0)
		c->r = frames_at(c->theirs, addr, &c->b, &c->e);
	c->asked++;
	if (c->r < 0 || strcmp(buf_text(&c->a), buf_text(&c->b)) == 0)
		return;
	if (c->differ++ < SHOWN_MOST)
		printf("0x%" PRIx64 "\t%s\t%s\n", addr, buf_text(&c->a), buf_text(&c->b));
}

/* Compares the answers at the addresses where they can change: the bounds of functions, lines and inlined calls. */
static void compare_function(struct comparison *c, const struct gsym *g, uint32_t i)
{
	struct gsym_func f;
	struct gsym_rows rows;
	struct gsym_row row;
	struct gsym_nodes nodes;
	struct gsym_node node;
	uint64_t start, size;

	if (gsym_func_at(g, i, &f, &c->e) < 0 || gsym_rows_begin(&rows, &f) < 0) {
		c->r = -EBADMSG;
		return;
	}
	compare_at(c, f.addr - 1);
	compare_at(c, f.addr);
	compare_at(c, f.addr + f.size);
	while (gsym_rows_next(&rows, &row) > 0)
		compare_at(c, row.addr);
	gsym_nodes_begin(&nodes, g, &f);
	while (gsym_nodes_next(&nodes, &node) > 0)
		for (size_t at = 0; gsym_node_range(&node, &at, &start, &size);) {
			compare_at(c, start);
			compare_at(c, start + size);
		}
}

static int compare(struct gsym *ours, struct gsym *theirs, const char *path)
{
	struct comparison c = {.ours = ours, .theirs = theirs, .a = BUF_UP_TO(16 << 20),
		.b = BUF_UP_TO(16 << 20)};
	int status;

	c.r = gsym_prepare(ours, &c.e);
	if (c.r == 0)
		c.r = gsym_prepare(theirs, &c.e);
	for (unsigned side = 0; side < 2; side++) {
		const struct gsym *g = side ? theirs : ours;

		for (uint32_t i = 0; c.r == 0 && i < g->count; i++)
			compare_function(&c, g, i);
	}
	status = c.r < 0 ? cmd_fail(path, &c.e) : c.differ ? EXIT_NO : EXIT_DONE;
	if (c.r == 0)
		printf("%" PRIu64 " addresses compared, %" PRIu64 " differ\n", c.asked, c.differ);
	buf_release(&c.a);
	buf_release(&c.b);
	return status;
}

static int verify_against(const struct gsym_run *run, struct gsym *g, const char *path)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	_cleanup_buf_ struct buf bytes = BUF_UP_TO(UINT32_MAX);
	struct gsym_made made;
	struct gsym theirs;
	struct err e = {0};
	int status, r = gsym_run_make(run, run->against, &w, &made, &e);

	if (r == 0)
		r = gsym_write(w, GSYM_V1, made.big, NULL, &bytes, NULL, &e);
	if (r == 0)
		r = gsym_open(&theirs, (struct span){(const uint8_t *)bytes.p, bytes.n}, &e);
	if (r < 0)
		return cmd_fail(run->against, &e);
	status = compare(g, &theirs, path);
	gsym_release(&theirs);
	return status;
}

/* Opens the GSYM file that is the only operand. -1: the file is open; otherwise an exit status, and a message was
 * printed. */
static int open_operand(struct gsym_file *o, const struct gsym_run *run)
{
	struct err e = {0};
	int r;

	if (run->argc != 1)
		return cmd_usage(run->argc ? "expected only one file" : "expected a file");
	r = map_file(&o->file, run->argv[0], &e);
	if (r == 0)
		r = gsym_open(&o->g, o->file, &e);
	return r < 0 ? cmd_fail(run->argv[0], &e) : -1;
}

static int gsym_verify(struct gsym_run *run)
{
	_cleanup_gsym_file_ struct gsym_file o = {0};
	struct err e = {0};
	int status;

	status = open_operand(&o, run);
	if (status >= 0)
		return status;
	if (gsym_check(&o.g, &e) < 0)
		return cmd_fail(run->argv[0], &e);
	if (run->against)
		return cmd_flush(verify_against(run, &o.g, run->argv[0]));
	printf("%" PRIu32 " functions, all whole\n", o.g.count);
	return cmd_flush(EXIT_DONE);
}

/* ---- dump, stats --------------------------------------------------------------------- */

static int gsym_show(struct gsym_run *run,
	int (*print)(const struct gsym *g, bool json, bool demangled, struct err *e))
{
	_cleanup_gsym_file_ struct gsym_file o = {0};
	struct err e = {0};
	int status = open_operand(&o, run);

	if (status >= 0)
		return status;
	if (print(&o.g, run->args.json, run->demangle, &e) < 0) {
		fflush(stdout);
		return cmd_fail(run->argv[0], &e);
	}
	return cmd_flush(EXIT_DONE);
}

/* ---- the command --------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct gsym_run *run); /* NULL: `print` is for the operand */
	int (*print)(const struct gsym *g, bool json, bool demangled, struct err *e);
} subcommands[] = {
	{"create", gsym_create, NULL},
	{"dump", NULL, gsym_dump},
	{"lookup", gsym_look_up, NULL},
	{"verify", gsym_verify, NULL},
	{"stats", NULL, gsym_stats},
};

/* Runs a command line without a subcommand: `symfs gsym -o OUT FILE`, `--dump FILE`, `--address 0x1000 FILE`. The
 * first tool of this format had these options, and wrote the object form. */
static int run_bare(struct gsym_run *run)
{
	if (run->dump)
		return gsym_show(run, gsym_dump);
	if (run->addresses.n)
		return gsym_look_up(run);
	if (run->out) {
		if (!run->format)
			run->format = "object";
		return gsym_create(run);
	}
	return cmd_usage(run->argc ? "no such command" : "expected create, dump, lookup, verify or stats");
}

/* Rejects options for sources and the store. Only look-ups use these options, for words that do not name local
 * files. -1: no such option is given; otherwise the exit status. */
static int check_sources_unused(const struct gsym_run *run)
{
	const struct app_args *a = &run->args;

	if (a->config || a->cache || a->offline || a->no_default_sources || a->n_sources || a->n_set || run->type)
		return cmd_usage("only lookup uses sources, the cache and --type");
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
		{"demangle", 'C', NULL, "lookup, dump: demangle names of C++ and Rust", &run.demangle},
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
			return cmd_usage("--threads takes a number from 1 to 8");
	}
	if (what_type(type, &run.type, &e) < 0)
		return cmd_usage("%s", e.text);
	run.argc = argc - 1;
	run.argv = argv + 1;
	for (unsigned i = 0; argc > 1 && i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(argv[1], subcommands[i].name) != 0 || run.dump || run.addresses.n)
			continue;
		run.argc--;
		run.argv++;
		status = subcommands[i].run == gsym_look_up ? -1 : check_sources_unused(&run);
		if (status >= 0)
			return status;
		return subcommands[i].run ? subcommands[i].run(&run) : gsym_show(&run, subcommands[i].print);
	}
	return run_bare(&run);
}

const struct cmd cmd_gsym = {
	.name = "gsym",
	.args = "create|dump|lookup|verify|stats [ADDR...] FILE|WHAT",
	.help = "Creates, searches and prints GSYM files, which map addresses to functions,\n"
		"files and lines. create makes a GSYM file from a Breakpad symbol file, from\n"
		"DWARF and symbols of an ELF, Mach-O or PE file, from a PDB, or from another GSYM\n"
		"file. lookup prints a line for each address, and first converts WHAT (as for\n"
		"`symfs get`) to GSYM. The exit status of verify is 1 if something differs",
	.examples = {"symfs gsym create -o prog.gsym prog.debug",
		"symfs gsym lookup 0x1158 prog.gsym"},
	.configured = true,
	.json = true,
	.run = run_gsym,
};
