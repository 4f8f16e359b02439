/* symfs sym: prints Breakpad's text symbol file of a module, made of its program and debug file. The command needs no
 * mount, store or source. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/map.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/gsym/gsym-command.h"
#include "cmd/json.h"
#include "derive/convert/worker.h"
#include "derive/convert/to-breakpad.h"
#include "names/layout/layout.h"
#include "names/layout/layouts.h"
#include "formats/obj/obj.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define INPUTS_MOST 1024

/* A file of the command line. */
struct input {
	char *path;
	struct span map, bytes;
	struct obj_slice s;
	unsigned module; /* the number of the first input with the same debug id */
};

struct run {
	struct app_args args;
	const char *out, *store, *name, *arch;
	bool cfi_only, counts;
	struct input *inputs;
	unsigned n;
};

/* ---- the files of the command line ------------------------------------------------------ */

/* A program for Windows can have no debug id. */
static bool same_module(const struct module *a, const struct module *b)
{
	return debug_id_equal(&a->debug_id, &b->debug_id) && (a->debug_id.set || strcmp(a->code_id, b->code_id) == 0);
}

static int open_input(struct run *run, const char *path, struct err *e)
{
	struct input *in = &run->inputs[run->n];
	struct view v;
	int r;

	if (run->n == INPUTS_MOST)
		return err_set(e, -E2BIG, "is not read: the command reads at most %u files", INPUTS_MOST);
	in->path = strdup(path);
	if (!in->path)
		return -ENOMEM;
	in->module = run->n++;
	r = gsym_files_open(&in->map, &in->bytes, path, run->arch, e);
	if (r < 0)
		return r;
	v = view_of_mem(in->bytes.p, in->bytes.n);
	r = obj_identify(&v, 0, &in->s, e);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < in->module; i++)
		if (same_module(&run->inputs[i].s.module, &in->s.module))
			in->module = run->inputs[i].module;
	return 0;
}

static int open_word(struct run *run, const char *word)
{
	_cleanup_bundle_ struct bundle bundle = {0};
	struct err e = {0};
	int r = bundle_open(&bundle, word, &e);

	if (r < 0)
		return cmd_fail(word, &e);
	for (unsigned i = 0; i < bundle.n; i++) {
		r = open_input(run, bundle.files[i], &e);
		if (r < 0)
			return cmd_fail(bundle.files[i], &e);
	}
	return -1;
}

static void release_inputs(struct run *run)
{
	for (unsigned i = 0; i < run->n; i++) {
		map_release(&run->inputs[i].map);
		free(run->inputs[i].path);
	}
	free(run->inputs);
}

/* Whether `a` has more functions and lines than `b`. */
static bool is_better(const struct input *a, const struct input *b)
{
	const struct worth *x = &a->s.worth, *y = &b->s.worth;

	return x->debug != y->debug ? x->debug > y->debug : x->symbols > y->symbols;
}

/* The file of a module with the most debug information. */
static struct input *best_of(struct run *run, unsigned module)
{
	struct input *best = &run->inputs[module];

	for (unsigned i = module + 1; i < run->n; i++)
		if (run->inputs[i].module == module && is_better(&run->inputs[i], best))
			best = &run->inputs[i];
	return best;
}

static int head_of(struct run *run, const struct input *best, struct sym_head *out, struct err *e)
{
	int r = sym_head_of(out, best->bytes, best->path, e);

	for (unsigned i = 0; r == 0 && i < run->n; i++)
		if (run->inputs[i].module == best->module && run->inputs[i].s.code)
			sym_head_add_code(out, run->inputs[i].bytes, run->inputs[i].path);
	if (r == 0 && run->name)
		obj_base_name(out->name, run->name, strlen(run->name));
	return r == 0 && !out->name[0] ? err_set(e, -EINVAL, "needs a name: --name") : r;
}

/* ---- one module ------------------------------------------------------------------------- */

/* A descriptor of the program: of the file, or of a copy of one slice of a fat file. */
static int open_code(const struct input *in)
{
	int fd, r;

	if (in->bytes.n == in->map.n)
		return open(in->path, O_RDONLY | O_CLOEXEC);
	fd = memfd_create("slice", MFD_CLOEXEC);
	r = fd < 0 ? -errno : write_all(fd, in->bytes.p, in->bytes.n);
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? r : fd;
}

static void print_count(const char *what, uint64_t n)
{
	if (n)
		fprintf(stderr, ", %s %llu", what, (unsigned long long)n);
}

/* What of the unwind tables of a file is in the output, in one line; a gap is named by its reason. */
static void print_counts(const char *path, const struct unwind_counts *c)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(16 << 10);

	fprintf(stderr, "symfs sym: %s: unwind rules: functions %llu, rows %llu, said %llu",
		text_shown(path, true, &name), (unsigned long long)c->functions, (unsigned long long)c->rows,
		(unsigned long long)c->said);
	print_count("functions twice", c->doubled);
	print_count("functions with rules for calls", c->at_calls);
	print_count("registers without a rule", c->lost);
	for (unsigned i = 0; i < UNWIND_GAPS; i++) {
		char what[64];

		snprintf(what, sizeof(what), "gaps (%s)", unwind_gap_names[i]);
		print_count(what, c->gaps[i]);
	}
	fputc('\n', stderr);
}

/* Reads the unwind rules of a file, if `r` says that the files before it have none. */
static int read_rules_of(const struct run *run, const struct input *in, int r, int *out, struct err *e)
{
	struct frames_work work = {.unsandboxed = true};
	struct unwind_counts counts;
	_cleanup_close_ int fd = -1;

	if (r != -ENODATA && r != -ENOTSUP && r != -ENOMSG)
		return r;
	fd = open_code(in);
	if (fd < 0)
		return err_set(e, fd, "%s", err_text(fd));
	r = frames_text(&work, fd, out, &counts, e);
	if (r == 0 && run->counts)
		print_counts(in->path, &counts);
	return r;
}

/* Reads the unwind rules of the module's program; without any there, those of its debug file, such as a PDB for x86.
 * *out: a descriptor of the STACK records, or -1: there are no rules that the records can say. */
static int read_rules(struct run *run, unsigned module, int *out, struct err *e)
{
	int r = -ENODATA;

	*out = -1;
	for (unsigned i = 0; i < 2 * run->n; i++) {
		const struct input *in = &run->inputs[i % run->n];
		bool code = i < run->n;

		if (in->module == module && in->s.code == code && (code || in->s.worth.unwind))
			r = read_rules_of(run, in, r, out, e);
	}
	return r == -ENODATA || r == -ENOTSUP || r == -ENOMSG ? 0 : r;
}

/* Copies through a small buffer: the rules of a large library have 40 MB. */
static int append(int from, int fd, struct err *e)
{
	uint8_t part[1 << 16];
	off_t at = 0;
	int r = 0;

	while (r == 0 && from >= 0) {
		ssize_t n = pread(from, part, sizeof(part), at);

		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		r = n < 0 ? -errno : write_all(fd, part, (size_t)n);
		at += MAX(n, 0);
	}
	return r < 0 ? err_set(e, r, "cannot be written: %s", err_text(r)) : 0;
}

/* Writes MODULE, INFO and STACK records. */
static int print_rules(const struct sym_head *h, int rules, int fd, struct err *e)
{
	int r;

	if (rules < 0)
		return err_set(e, -ENODATA, "has no unwind rules, or not the program");
	r = sym_write(h, NULL, fd, NULL);
	return r < 0 ? err_set(e, r, "cannot be written: %s", err_text(r)) : append(rules, fd, e);
}

/* Writes the file of a module to a descriptor. `rules`: its STACK records, or -1. */
static int print_module(const struct input *best, const struct sym_head *h, int rules, int fd, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_files files = {.path = best->path};
	struct gsym_make_opts o = {.find = gsym_files_find, .ctx = &files, .map = best->map};
	struct sym_counts counts;
	struct gsym_made made;
	int r = gsym_writer_new(&w);

	if (r == 0)
		r = gsym_make(w, best->bytes, &o, &made, e);
	gsym_files_release(&files);
	if (r < 0)
		return r;
	if (strcmp(made.from, "breakpad") == 0 || strcmp(made.from, "gsym") == 0)
		return err_set(e, -ENOTSUP, "is not a program or debug file");
	gsym_files_report(best->path, &made);
	r = sym_write(h, w, fd, &counts);
	if (r == 0 && rules < 0 && !counts.funcs && !counts.publics)
		return err_set(e, -ENODATA, "has no functions");
	return r < 0 ? err_set(e, r, "cannot be written: %s", err_text(r)) : append(rules, fd, e);
}

/* Writes the path DIR/NAME/ID/NAME.sym, and creates its directories. Without a debug id it is
 * DIR/prog.dll/CODEID/prog.sym, where readers look for a program by its code id. */
static int path_in_store(const char *dir, const struct input *best, const struct sym_head *h, struct buf *path,
	struct err *e)
{
	_cleanup_buf_ struct buf below = BUF_UP_TO(LAYOUT_PATH_MAX);
	struct artifact a = {.type = FILETYPE_BREAKPAD, .m = best->s.module};
	int r;

	snprintf(a.m.debug_file, sizeof(a.m.debug_file), "%s", h->name);
	a.m.path[0] = '\0';
	if (a.m.debug_id.set)
		r = layout_path(layout_find("breakpad"), &a, CASING_DEFAULT, 0, &below);
	else
		r = buf_addf(&below, "%s/%s/%.*s.sym", h->name, h->code_id, (int)strcspn(h->name, "."), h->name);
	if (r < 0)
		return err_set(e, r, "has no path in a symbol directory");
	r = buf_addf(path, "%s/%s", dir, buf_text(&below));
	if (r == 0)
		r = path_make_parents(path->p, 0777);
	return r < 0 ? err_set(e, r, "%s: %s", buf_text(path), err_text(r)) : 0;
}

/* What fill_module() writes. */
struct module_out {
	const struct run *run;
	const struct input *best;
	const struct sym_head *head;
	int rules;
	struct err *e;
};

static int fill_module(void *ctx, int fd)
{
	const struct module_out *m = ctx;

	return m->run->cfi_only ? print_rules(m->head, m->rules, fd, m->e)
				: print_module(m->best, m->head, m->rules, fd, m->e);
}

/* A device or a pipe is written to as it is. */
static int write_special(const char *path, struct module_out *m)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = fill_module(m, fd);
	return close(fd) < 0 && r == 0 ? -errno : r;
}

/* Replaces the file only after success, because it can be an input of this command. A symbolic link stays one. */
static int write_file(const char *path, struct module_out *m)
{
	_cleanup_free_ char *target = realpath(path, NULL);
	mode_t mask = umask(0);
	struct stat st;
	int r;

	umask(mask);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		r = write_special(path, m);
	else
		r = path_replace(target ? target : path, 0666 & ~mask, fill_module, m);
	return r < 0 && !m->e->text[0] ? err_set(m->e, r, "%s: %s", path, err_text(r)) : r;
}

static int write_output(struct module_out *m)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(16 << 10);
	int r;

	*m->e = (struct err){0}; /* reading the rules can fail with a text that does not count */
	if (!m->run->store)
		return !m->run->out || strcmp(m->run->out, "-") == 0 ? fill_module(m, STDOUT_FILENO)
								     : write_file(m->run->out, m);
	r = path_in_store(m->run->store, m->best, m->head, &path, m->e);
	return r < 0 ? r : write_file(buf_text(&path), m);
}

static int make_module(struct run *run, unsigned module)
{
	const struct input *best = best_of(run, module);
	_cleanup_close_ int rules = -1;
	struct sym_head h;
	struct err e = {0};
	struct module_out out = {.run = run, .best = best, .head = &h, .e = &e};
	int r = head_of(run, best, &h, &e);

	if (r == 0)
		r = read_rules(run, module, &rules, &e);
	if (r < 0)
		return cmd_fail(best->path, &e);
	h.no_rules = rules < 0;
	out.rules = rules;
	r = write_output(&out);
	return r < 0 ? cmd_fail(best->path, &e) : EXIT_DONE;
}

/* ---- the command ------------------------------------------------------------------------ */

static int make_all(struct run *run, int argc, char **argv)
{
	int status = -1, worst = EXIT_DONE;
	unsigned modules = 0;

	for (int i = 1; status < 0 && i < argc; i++)
		status = open_word(run, argv[i]);
	for (unsigned i = 0; status < 0 && i < run->n; i++)
		modules += run->inputs[i].module == i;
	if (status >= 0)
		return status;
	if (modules > 1 && (!run->store || run->name))
		return cmd_usage("%s", run->name ? "--name is for the files of one module"
			: "the files are of several modules: "
			"name a directory with --store");
	for (unsigned i = 0; i < run->n; i++)
		if (run->inputs[i].module == i) {
			status = make_module(run, i);
			worst = worst > status ? worst : status;
		}
	return worst;
}

static int run_sym(int argc, char **argv)
{
	struct run run = {0};
	const struct opt own[] = {
		{"output", 'o', "FILE", "the output (the standard output)", &run.out},
		{"store", 0, "DIR", "write DIR/NAME/ID/NAME.sym for each module", &run.store},
		{"cfi-only", 0, NULL, "only the unwind rules", &run.cfi_only},
		{"counts", 0, NULL, "report counts of unwind rules and their gaps", &run.counts},
		{"name", 0, "NAME", "the name of the module (from its files)", &run.name},
		{"arch", 0, "ARCH", "part of a fat Mach-O file: x86_64, arm64", &run.arch},
		{0},
	};
	int status = app_options(&run.args, &cmd_sym, own, &argc, argv);

	if (status >= 0)
		return status;
	if (argc < 2)
		return cmd_usage("expected a file");
	if (run.out && run.store)
		return cmd_usage("--output and --store exclude each other");
	run.inputs = calloc(INPUTS_MOST + 1, sizeof(*run.inputs));
	if (!run.inputs)
		return cmd_say(EXIT_LOCAL, "%s", err_text(-ENOMEM));
	status = make_all(&run, argc, argv);
	release_inputs(&run);
	return status;
}

const struct cmd cmd_sym = {
	.name = "sym",
	.args = "[-o FILE|--store DIR] [--cfi-only] FILE...",
	.help = "Prints the Breakpad symbol file of a module: functions, lines, inlined calls\n"
		"and unwind rules. FILE is a program, library, PDB, debug file or dSYM, and\n"
		"several files of one build make one output: the rules are in the program. If\n"
		"there is no debug information, the names are those of the symbol table",
	.examples = {"symfs sym prog.debug prog >prog.sym",
		"symfs sym --store symbols lib/*.so"},
	.run = run_sym,
};
