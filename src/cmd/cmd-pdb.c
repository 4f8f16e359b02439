/* symfs pdb: prints the contents of a PDB. The command needs no mount, store or source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/gsym-text.h"
#include "cmd/pdb-dump.h"
#include "obj/obj.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
	struct app_args args;
	bool streams, modules, publics;
	const char *module, *lines;
	uint64_t number, address; /* the values of --module and --lines */
};

static int fail(const char *path, const struct err *e)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(16 << 10), text = BUF_UP_TO(4 << 10);

	fprintf(stderr, "symfs pdb: %s: %s\n", text_shown(path, true, &name),
		text_shown(e->text[0] ? e->text : err_text(e->code), true, &text));
	return e->code == -ENOMSG || e->code == -ENODATA || e->code == -ENOTSUP ? EXIT_NO : EXIT_LOCAL;
}

static int usage(const char *what)
{
	fprintf(stderr, "symfs pdb: %s; try: symfs pdb --help\n", what);
	return EXIT_USAGE;
}

/* ---- the summary --------------------------------------------------------------------- */

static void print_text(const char *what, const char *text, struct pdb_dump *d)
{
	if (d->json)
		json_text(d->json, what, text);
	else if (text && text[0])
		printf("%s %s\n", what, pdb_dump_shown(d, text));
}

static void print_number(const char *what, uint64_t n, struct pdb_dump *d)
{
	if (d->json)
		json_number(d->json, what, (long long)n);
	else
		printf("%s %" PRIu64 "\n", what, n);
}

static const char *symbols_word(const struct pdb *p)
{
	return !p->has_dbi ? "none" : p->fastlink ? "fastlink" : p->stripped ? "stripped" : "full";
}

static int dump_summary(struct pdb_dump *d, struct err *e)
{
	struct view v = view_of_mem(d->file.p, d->file.n);
	const struct pdb *p = &d->pdb;
	char id[DEBUG_ID_TEXT];
	struct obj_slice s;
	int r = obj_identify(&v, 0, &s, e);

	if (r < 0)
		return r;
	if (d->json)
		json_begin_object(d->json, NULL);
	print_text("container", p->msf.fragments ? "msfz" : "msf", d);
	print_number("block_size", p->msf.block_size, d);
	print_number("streams", p->msf.n_streams, d);
	print_text("debug_id", debug_id_text(&s.module.debug_id, id), d);
	print_text("architecture", s.arch, d);
	print_text("symbols", symbols_word(p), d);
	print_text("incremental", p->incremental ? "yes" : "no", d);
	print_text("rearranged", p->moved ? "yes" : "no", d);
	print_number("modules", p->n_modules, d);
	print_number("contributions", p->n_contribs, d);
	print_number("sections", p->n_sections, d);
	print_number("types", p->types.end - p->types.begin, d);
	print_number("ids", p->ids.end - p->ids.begin, d);
	if (d->json)
		json_end(d->json);
	return 0;
}

/* ---- the command --------------------------------------------------------------------- */

static int dump(const struct run *run, struct pdb_dump *d, struct err *e)
{
	if (run->streams)
		return pdb_dump_streams(d, e);
	if (run->modules)
		return pdb_dump_modules(d, e);
	if (run->publics)
		return pdb_dump_publics(d, e);
	if (run->module)
		return pdb_dump_module(d, (unsigned)MIN(run->number, (uint64_t)UINT32_MAX), e);
	return run->lines ? pdb_dump_lines(d, run->address, e) : dump_summary(d, e);
}

static int open_and_dump(const struct run *run, struct pdb_dump *d, const char *path, struct err *e)
{
	struct view v;
	int r = map_file(&d->file, path, e);

	if (r < 0)
		return r;
	v = view_of_mem(d->file.p, d->file.n);
	msf_io_init(&d->io, &v);
	r = pdb_open(&d->pdb, &d->io, e);
	pdb_namer_init(&d->names, &d->pdb, &d->io, false);
	if (r == 0)
		r = dump(run, d, e);
	pdb_namer_release(&d->names);
	pdb_release(&d->pdb);
	msf_io_release(&d->io);
	map_release(&d->file);
	return r;
}

static int print_file(const struct run *run, const char *path)
{
	struct pdb_dump d = {.shown = BUF_UP_TO(1u << 20)};
	struct err e = {0};
	struct json j;
	int r;

	json_init(&j, false);
	d.json = run->args.json ? &j : NULL;
	r = open_and_dump(run, &d, path, &e);
	buf_release(&d.shown);
	if (r == 0 && d.json)
		return json_print(&j);
	json_release(&j);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "symfs pdb: %s\n", err_text(errno));
		return EXIT_LOCAL;
	}
	return r < 0 ? fail(path, &e) : EXIT_DONE;
}

static int run_pdb(int argc, char **argv)
{
	struct run run = {0};
	const struct opt own[] = {
		{"streams", 0, NULL, "print the streams and what they are for", &run.streams},
		{"modules", 0, NULL, "print the modules: the object files", &run.modules},
		{"module", 0, "N", "print the functions and lines of a module", &run.module},
		{"lines", 0, "ADDR", "print the function there, and its lines", &run.lines},
		{"publics", 0, NULL, "print the public symbols of code", &run.publics},
		{0},
	};
	int status = app_options(&run.args, &cmd_pdb, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc != 2)
		return usage(argc < 2 ? "expected a file" : "expected only one file");
	if (run.streams + run.modules + run.publics + !!run.module + !!run.lines > 1)
		return usage("--streams, --modules, --module, --lines and --publics exclude each other");
	if (run.module && !gsym_address_of(run.module, &run.number))
		return usage("--module takes a number");
	if (run.lines && !gsym_address_of(run.lines, &run.address))
		return usage("--lines takes an address");
	return print_file(&run, argv[1]);
}

const struct cmd cmd_pdb = {
	.name = "pdb",
	.args = "[--streams|--modules|--module N|--lines ADDR|--publics] FILE",
	.help = "Prints the contents of a PDB: without an option, its identity and how many\n"
		"modules, sections and types it has. The exit status is 1 if the file is not a\n"
		"PDB, or has no such module or function",
	.examples = {"symfs pdb crash.pdb",
		"symfs pdb --lines 0x1158 crash.pdb"},
	.json = true,
	.run = run_pdb,
};
