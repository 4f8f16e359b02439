/* symfs pdb: prints the contents of a PDB. The command needs no mount, store or source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/gsym/gsym-text.h"
#include "cmd/json.h"
#include "formats/obj/obj.h"
#include "formats/pdb/frames.h"
#include "formats/pdb/names.h"
#include "formats/pdb/publics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An open PDB, and the output for its contents. */
struct pdb_dump {
	struct span file;
	struct msf_io io;
	struct pdb pdb;
	struct pdb_namer names;
	struct json *json;  /* NULL: text to stdout */
	struct buf shown;   /* the text that pdb_dump_shown() returned */
};

/* Returns `text` in a form that is safe to show. The result is valid until the next call. */
static const char *pdb_dump_shown(struct pdb_dump *d, const char *text)
{
	return text_shown(text, true, &d->shown);
}

/* Writes an address of the image, or "-", and "SECTION:OFFSET". */
static void pdb_dump_place(const struct pdb *p, unsigned section, uint32_t off, char address[static 16],
	char place[static 24])
{
	uint32_t rva;

	snprintf(address, 16, "-");
	if (pdb_address(p, section, off, &rva))
		snprintf(address, 16, "0x%" PRIx32, rva);
	snprintf(place, 24, "%u:%08" PRIx32, section, off);
}

/* ---- streams ------------------------------------------------------------------------- */

/* The use of each stream. */
struct uses {
	char **use; /* indexed by the stream's number; NULL: unknown use */
	uint32_t n;
};

static void set_use(void *ctx, const char *use, uint32_t stream)
{
	struct uses *u = ctx;

	if (stream < u->n && !u->use[stream])
		u->use[stream] = strdup(use);
}

static int find_uses(struct pdb_dump *d, struct uses *u, struct err *e)
{
	const struct pdb *p = &d->pdb;

	u->n = p->msf.n_streams;
	u->use = calloc((size_t)u->n + 1, sizeof(*u->use));
	if (!u->use)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	set_use(u, "old directory", 0);
	set_use(u, "information", 1);
	set_use(u, "types", 2);
	set_use(u, "debug information", 3);
	if (p->ids.stream)
		set_use(u, "ids", p->ids.stream);
	set_use(u, "symbol records", p->records);
	set_use(u, "public symbols", p->publics);
	if (p->types.buckets)
		set_use(u, "hashes of types", p->types.hashes);
	if (p->ids.buckets)
		set_use(u, "hashes of ids", p->ids.hashes);
	for (uint32_t i = 0; i < p->n_modules; i++)
		set_use(u, p->modules[i].name, p->modules[i].stream);
	return pdb_named_streams(p, &d->io, set_use, u, e);
}

static void print_stream(struct pdb_dump *d, uint32_t i, const char *use)
{
	uint32_t size = msf_size(&d->pdb.msf, i);

	if (!d->json) {
		printf("%5" PRIu32 " %10" PRIu32 "  %s\n", i, size, use ? pdb_dump_shown(d, use) : "");
		return;
	}
	json_begin_object(d->json, NULL);
	json_number(d->json, "stream", i);
	json_number(d->json, "size", size);
	json_text(d->json, "use", use);
	json_end(d->json);
}

/* These print one part of the PDB. 0; -ENODATA: there is no such part; -EBADMSG, -ENOMEM. `e` has the reason. */
static int pdb_dump_streams(struct pdb_dump *d, struct err *e)
{
	struct uses u = {0};
	int r = find_uses(d, &u, e);

	if (d->json)
		json_begin_array(d->json, NULL);
	else
		printf("stream       size  use\n");
	for (uint32_t i = 0; r == 0 && i < u.n; i++)
		print_stream(d, i, u.use[i]);
	for (uint32_t i = 0; i < u.n && u.use; i++)
		free(u.use[i]);
	free(u.use);
	return r;
}

/* ---- modules ------------------------------------------------------------------------- */

static void print_module(struct pdb_dump *d, uint32_t i, uint64_t code)
{
	const struct pdb_module *m = &d->pdb.modules[i];
	bool has = m->stream != MSF_NO_STREAM;

	if (!d->json) {
		char stream[16] = "-";

		if (has)
			snprintf(stream, sizeof(stream), "%u", m->stream);
		printf("%5" PRIu32 " %6s %9" PRIu32 " %9" PRIu32 " %9" PRIu64 "  %s\n", i, stream,
			has ? m->symbols : 0, has ? m->lines : 0, code, pdb_dump_shown(d, m->name));
		return;
	}
	json_begin_object(d->json, NULL);
	json_number(d->json, "module", i);
	json_text(d->json, "name", m->name);
	if (has)
		json_number(d->json, "stream", m->stream);
	else
		json_null(d->json, "stream");
	json_number(d->json, "symbols", has ? m->symbols : 0);
	json_number(d->json, "lines", has ? m->lines : 0);
	json_number(d->json, "code", (long long)code);
	json_end(d->json);
}

static int pdb_dump_modules(struct pdb_dump *d, struct err *e)
{
	const struct pdb *p = &d->pdb;
	_cleanup_free_ uint64_t *code = calloc((size_t)p->n_modules + 1, sizeof(*code));

	if (!code)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	for (size_t i = 0; i < p->n_contribs; i++)
		code[p->contribs[i].module] += p->contribs[i].size;
	if (d->json)
		json_begin_array(d->json, NULL);
	else
		printf("module stream   symbols     lines      code  name\n");
	for (uint32_t i = 0; i < p->n_modules; i++)
		print_module(d, i, code[i]);
	return 0;
}

/* ---- public symbols ------------------------------------------------------------------ */

static void print_public(struct pdb_dump *d, const struct pdb_public *s)
{
	char address[16], place[24];

	pdb_dump_place(&d->pdb, s->section, s->off, address, place);
	if (!d->json) {
		printf("%s %s %s %s\n", address, place, s->function ? "function" : "code",
			pdb_dump_shown(d, s->name));
		return;
	}
	json_begin_object(d->json, NULL);
	json_text(d->json, "address", address[0] == '-' ? NULL : address);
	json_text(d->json, "place", place);
	json_boolean(d->json, "function", s->function);
	json_string(d->json, "name", s->name);
	json_end(d->json);
}

static int pdb_dump_publics(struct pdb_dump *d, struct err *e)
{
	struct pdb_publics all;
	int r = pdb_publics(&d->pdb, &d->io, &all, e);

	if (d->json)
		json_begin_array(d->json, NULL);
	for (size_t i = 0; r == 0 && i < all.n; i++)
		print_public(d, &all.at[i]);
	pdb_publics_release(&all);
	return r;
}

#define TEXT_MOST (64u << 10)

static const char *const kinds[] = {
	[PDB_PROC] = "function", [PDB_THUNK] = "thunk", [PDB_SEPARATED] = "separated",
	[PDB_TRAMPOLINE] = "trampoline"};

/* ---- frames of a piece --------------------------------------------------------------- */

/* `own`: the frame is the function itself, and the text already has the function's name above the pieces. */
static void print_frame(struct pdb_dump *d, const char *name, const char *file, uint32_t line, bool first, bool own)
{
	if (d->json) {
		json_begin_object(d->json, NULL);
		json_text(d->json, "name", name);
		json_text(d->json, "file", file);
		json_number_or_null(d->json, "line", line);
		json_end(d->json);
		return;
	}
	printf("%s%s", first ? " " : " < ", own ? "" : pdb_dump_shown(d, name));
	if (line)
		printf("%s%s:%" PRIu32, own ? "" : "@", pdb_dump_shown(d, file), line);
}

/* Prints a frame. A name or a file that cannot be read is printed as "". 0, -ENOMEM. */
static int add_frame(struct pdb_dump *d, const struct pdb_code *c, const struct pdb_pieces_of *cut, int cell,
	const char *own, uint32_t file, uint32_t line, bool first)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(TEXT_MOST), path = BUF_UP_TO(TEXT_MOST);
	uint32_t number = line ? pdb_file_name(c, file) : 0;
	int r = 0;

	if (number && pdb_name(&d->pdb, &d->io, number, &path, NULL) < 0)
		buf_clear(&path);
	if (cell >= 0)
		r = pdb_inlinee_name(&d->names, c, cut->sites.at[cut->cells[cell].site].inlinee, &name);
	if (r == 0)
		print_frame(d, cell >= 0 ? buf_text(&name) : own, buf_text(&path), line, first, cell < 0);
	return r;
}

static int print_frames(struct pdb_dump *d, const struct pdb_code *c, const struct pdb_pieces_of *cut,
	const struct pdb_piece *p, const char *own)
{
	bool first = true;
	int r = 0;

	for (int cell = p->cell; r == 0 && cell >= 0; cell = cut->cells[cell].parent, first = false)
		r = add_frame(d, c, cut, cell, own, cut->cells[cell].file, cut->cells[cell].line, first);
	return r < 0 ? r : add_frame(d, c, cut, -1, own, p->file, p->line, first);
}

static int print_piece(struct pdb_dump *d, const struct pdb_code *c, const struct pdb_func *f,
	const struct pdb_pieces_of *cut, const struct pdb_piece *p, const char *own)
{
	char address[16], place[24];
	int r;

	pdb_dump_place(&d->pdb, f->section, p->from, address, place);
	if (!d->json) {
		printf("  %s %" PRIu32, address, p->to - p->from);
		r = print_frames(d, c, cut, p, own);
		putchar('\n');
		return r;
	}
	json_begin_object(d->json, NULL);
	json_text(d->json, "address", address[0] == '-' ? NULL : address);
	json_number(d->json, "size", p->to - p->from);
	json_begin_array(d->json, "frames");
	r = print_frames(d, c, cut, p, own);
	json_end(d->json);
	json_end(d->json);
	return r;
}

/* ---- functions ----------------------------------------------------------------------- */

static int print_pieces(struct pdb_dump *d, const struct pdb_code *c, const struct pdb_func *f, const char *name)
{
	struct pdb_pieces_of cut;
	int r = pdb_cut(c, f, &cut);

	if (d->json)
		json_begin_array(d->json, "pieces");
	for (size_t i = 0; r == 0 && i < cut.n; i++)
		if (cut.at[i].line || cut.at[i].cell >= 0)
			r = print_piece(d, c, f, &cut, &cut.at[i], name);
	if (d->json)
		json_end(d->json);
	pdb_cut_release(&cut);
	return r;
}

static int print_func(struct pdb_dump *d, const struct pdb_code *c, const struct pdb_func *f)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(TEXT_MOST);
	char address[16], place[24];
	int r = pdb_func_name(&d->names, c, f->name ? f->name : "", f->type, &name);

	if (r < 0)
		return r;
	pdb_dump_place(&d->pdb, f->section, f->off, address, place);
	if (!d->json) {
		printf("%s %s %" PRIu32 " %s %s\n", address, place, f->size, kinds[f->kind],
			pdb_dump_shown(d, buf_text(&name)));
		return print_pieces(d, c, f, buf_text(&name));
	}
	json_begin_object(d->json, NULL);
	json_text(d->json, "address", address[0] == '-' ? NULL : address);
	json_text(d->json, "place", place);
	json_number(d->json, "size", f->size);
	json_text(d->json, "kind", kinds[f->kind]);
	json_text(d->json, "name", buf_text(&name));
	r = print_pieces(d, c, f, buf_text(&name));
	json_end(d->json);
	return r;
}

/* functions, lines, inlined calls */
static int pdb_dump_module(struct pdb_dump *d, unsigned module, struct err *e)
{
	struct pdb_code c = {0};
	int r;

	if (module >= d->pdb.n_modules)
		return err_set(e, -ENODATA, "has no module %u: its modules are 0 to %" PRId64, module,
			(int64_t)d->pdb.n_modules - 1);
	r = pdb_code_open(&c, &d->pdb, &d->io, module, e);
	if (r == -ENOENT)
		r = err_set(e, -ENODATA, "has no symbols of module %u", module);
	if (d->json)
		json_begin_array(d->json, NULL);
	for (size_t i = 0; r == 0 && i < c.n_funcs; i++)
		r = print_func(d, &c, &c.funcs[i]);
	pdb_code_release(&c);
	return r;
}

/* ---- the function at an address ------------------------------------------------------ */

/* Opens the code of the module that has the address. Searches every module if the PDB has no list of the modules'
 * sections. */
static int open_code_at(struct pdb_dump *d, unsigned section, uint32_t off, struct pdb_code *c,
	const struct pdb_func **f, struct err *e)
{
	const struct pdb_contrib *k = pdb_contrib_of(&d->pdb, section, off);
	uint32_t from = k ? k->module : 0, to = k ? k->module + 1u : d->pdb.n_contribs ? 0 : d->pdb.n_modules;
	int r = 0;

	for (uint32_t i = from; i < to; i++) {
		pdb_code_release(c);
		r = pdb_code_open(c, &d->pdb, &d->io, i, e);
		*f = r == 0 ? pdb_func_at(c, section, off) : NULL;
		if (*f || (r < 0 && r != -ENOENT))
			return r;
	}
	return err_set(e, -ENODATA, "has no function at this address");
}

/* the lines of the function at `addr` */
static int pdb_dump_lines(struct pdb_dump *d, uint64_t addr, struct err *e)
{
	const struct pdb_func *f = NULL;
	struct pdb_code c = {0};
	uint32_t source, off;
	unsigned section;
	int r;

	if (addr > UINT32_MAX || !pdb_source(&d->pdb, (uint32_t)addr, &source) ||
		!pdb_section_of(&d->pdb, source, &section, &off))
		return err_set(e, -ENODATA, "has no section at 0x%" PRIx64, addr);
	r = open_code_at(d, section, off, &c, &f, e);
	if (r == 0)
		r = print_func(d, &c, f);
	pdb_code_release(&c);
	return r;
}

struct run {
	struct app_args args;
	bool streams, modules, publics;
	const char *module, *lines;
	uint64_t number, address; /* the values of --module and --lines */
};

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
	return cmd_flush(EXIT_DONE) != EXIT_DONE ? EXIT_LOCAL : r < 0 ? cmd_fail(path, &e) : EXIT_DONE;
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
		return cmd_usage("%s", argc < 2 ? "expected a file" : "expected only one file");
	if (run.streams + run.modules + run.publics + !!run.module + !!run.lines > 1)
		return cmd_usage("--streams, --modules, --module, --lines and --publics exclude each other");
	if (run.module && !gsym_address_of(run.module, &run.number))
		return cmd_usage("--module takes a number");
	if (run.lines && !gsym_address_of(run.lines, &run.address))
		return cmd_usage("--lines takes an address");
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
