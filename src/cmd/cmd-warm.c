/* symfs warm: downloads the files of all modules of a crash, a process or a program, so that a debugger does not
 * wait for them later. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/downloads.h"
#include "cmd/json.h"
#include "cmd/no-source.h"
#include "cmd/stacks/symbolicate.h"
#include "cmd/what.h"
#include "derive/derive.h"
#include "formats/obj/obj.h"
#include "stacks/dump/dump.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define LINE_MOST 8192

struct named {
	char *name, *id;
};

struct warm {
	struct app app;
	bool json, breakpad;
	bool only_breakpad;   /* neither debug files nor programs */
	bool only_gsym;	      /* GSYM in place of the debug files; no programs */
	bool keep;	      /* pin what is stored: --installed, --running */
	bool in_dir;	      /* the file that is being read was found in a directory, or belongs to a process */
	unsigned dir_files;   /* dumps and programs that were found in the directory */
	int dir_r;	      /* the last error of a file there */
	struct named *modules;
	unsigned n_modules;
	size_t modules_room;
	struct downloads all; /* download.of is the number of the module in `modules` */
	const char *word;     /* the word that is being read */
};

/* ---- wanted files ----------------------------------------------------------------- */

static int module_add(struct warm *w, const char *name, const char *id)
{
	if (grow(&w->modules, &w->modules_room, w->n_modules, sizeof(*w->modules)) < 0)
		return -ENOMEM;
	w->modules[w->n_modules] = (struct named){strdup(name), strdup(id)};
	return w->modules[w->n_modules].name && w->modules[w->n_modules++].id ? 0 : -ENOMEM;
}

static int job_add(struct warm *w, const struct artifact *cands, unsigned n)
{
	unsigned module = w->n_modules - 1;

	return downloads_add(&w->all, cands, n, (void *)(uintptr_t)module);
}

static int want(struct warm *w, const struct module *m, enum filetype type)
{
	struct artifact a = {.type = type, .m = *m};
	struct key k;

	return key_of(&k, &a) == 0 ? job_add(w, &a, 1) : 0;
}

/* Dumps in one directory are often of the same program, so that most of their modules are equal. */
static bool is_known(const struct warm *w, const char *name, const char *id)
{
	for (unsigned i = 0; w->in_dir && id[0] && i < w->n_modules; i++)
		if (strcmp(w->modules[i].id, id) == 0 && strcmp(w->modules[i].name, name) == 0)
			return true;
	return false;
}

/* Adds a module, and the files that debuggers want for this kind of module. */
static int want_module(struct warm *w, const char *path, const struct module *m)
{
	const struct object_row *row = &object_types[m->object];
	const char *name = path[0] ? path : m->code_file, *ident;
	char id[DEBUG_ID_TEXT];
	int r;

	debug_id_breakpad(&m->debug_id, id);
	ident = m->code_id[0] ? m->code_id : id;
	if (is_known(w, name, ident))
		return 0;
	r = module_add(w, name, ident);
	if (r == 0 && !w->only_breakpad)
		r = want(w, m, row->debug);
	if (r == 0 && !w->only_breakpad && !w->only_gsym && !w->keep)
		r = want(w, m, row->program);
	if (r == 0 && w->breakpad && m->debug_id.set)
		r = want(w, m, FILETYPE_BREAKPAD);
	return r;
}

static int each_module(void *ctx, const struct dump_module *d)
{
	return want_module(ctx, d->path, &d->m);
}

/* ---- programs, dumps and other words --------------------------------------------------- */

/* Adds what a word names. A path or a key names one file. An identifier or a local file names a module, so its
 * debug file and its program are added. */
static int want_what(void *ctx, const struct what *what)
{
	struct warm *w = ctx;
	char id[MODULE_ID_TEXT];
	int r;

	if (what->kind == WHAT_FILE || what->kind == WHAT_DUMP)
		return want_module(w, what->kind == WHAT_FILE ? w->word : what->name, &what->m);
	if (!what->n)
		return -EINVAL;
	if (!module_code_text(&what->m, id)[0])
		module_debug_text(&what->m, id);
	r = module_add(w, w->word, what->kind == WHAT_PATH ? "" : id);
	if (r == 0)
		r = job_add(w, what->files, what->n);
	for (unsigned i = 0; r == 0 && what->kind == WHAT_ID && i < what->n; i++)
		if (filetypes[what->files[i].type].flags & TYPE_DEBUG_FILE)
			return want(w, &what->files[i].m, filetypes[what->files[i].type].twin);
	return r;
}

static int want_line(struct warm *w, const char *line, struct err *e)
{
	const struct what_opts o = {.store = w->app.store, .dumps = true, .nameless = true};

	w->word = line;
	return what_named(&o, line, want_what, w, e);
}

/* ---- directories -------------------------------------------------------------------- */

/* Files of other kinds are left out without a message. -ENOMEM; other faults do not end the walk. */
static int want_in_dir(void *ctx, const struct walk_file *f)
{
	const struct what_opts o = {.dumps = true, .nameless = true};
	struct warm *w = ctx;
	struct err e = {0};
	int r = f->r;

	w->word = f->path;
	if (f->fd >= 0)
		r = what_file(&o, f->path, want_what, w, &e);
	if (r == -ENOMSG)
		return 0;
	w->dir_files += f->fd >= 0;
	if (r < 0)
		w->dir_r = cmd_say(r, "%s: %s", f->path, f->fd < 0 ? f->why : err_why(&e, r));
	return r == -ENOMEM ? r : 0;
}

static int want_tree(struct warm *w, const char *path, struct err *e)
{
	int r;

	w->in_dir = true;
	w->dir_files = 0;
	w->dir_r = 0;
	r = walk_files(path, want_in_dir, w);
	w->in_dir = false;
	if (r == 0 && w->dir_r < 0)
		return err_set(e, w->dir_r, "some of its files cannot be read");
	return r == 0 && !w->dir_files ? err_set(e, -ENOMSG, "has neither core files, minidumps nor programs") : r;
}

/* ---- this machine ------------------------------------------------------------------- */

/* Programs and libraries of packages. Directories that do not exist are left out. */
static int want_installed(struct warm *w)
{
	static const char *const dirs[] = {"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/opt"};
	struct err e = {0};
	int r = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(dirs) && r != -ENOMEM; i++)
		if (access(dirs[i], F_OK) == 0)
			r = want_tree(w, dirs[i], &e);
	return r == -ENOMEM ? r : 0;
}

/* Processes that may be looked at. Some end meanwhile, and kernel threads have no modules. */
static int want_running(struct warm *w)
{
	struct dirent **names;
	int n = scandir("/proc", &names, NULL, alphasort), r = 0;

	w->in_dir = true;
	for (int i = 0; i < n; i++) {
		struct err e = {0};

		if (r != -ENOMEM && symbolicate_process(names[i]->d_name))
			r = dump_process(symbolicate_process(names[i]->d_name), each_module, w, &e);
		free(names[i]);
	}
	w->in_dir = false;
	if (n >= 0)
		free(names);
	return n < 0 || r == -ENOMEM ? -ENOMEM : 0;
}

/* ---- lists -------------------------------------------------------------------------- */

static int want_list(struct warm *w, FILE *from, struct err *e)
{
	char line[LINE_MOST];
	struct err why = {0};
	unsigned at = 0;
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), from)) {
		at++;
		line[strcspn(line, "\r\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		r = want_line(w, line, &why);
		if (r < 0)
			err_set(e, r, "line %u: %s", at, why.text[0] ? why.text : "no layout can mean this path");
	}
	return r;
}

static int want_word(struct warm *w, const char *word, struct err *e)
{
	if (strcmp(word, "-") == 0)
		return want_list(w, stdin, e);
	if (symbolicate_process(word) && strlen(word) < 10) /* identifiers are longer, or have letters */
		return dump_process(symbolicate_process(word), each_module, w, e);
	return what_is_dir(word) ? want_tree(w, word, e) : want_line(w, word, e);
}

/* ---- the table ---------------------------------------------------------------------- */

static unsigned module_of(const struct download *one)
{
	return (unsigned)(uintptr_t)one->of;
}

/* Below 100 KB in KB: small files are not "0.0 MB". */
static void print_size(double size, char room[static 280])
{
	bool small = size < 1e5;

	snprintf(room, 280, "%.1f %s", size / (small ? 1e3 : 1e6), small ? "KB" : "MB");
}

static const char *file_text(const struct download *one, char room[static 280])
{
	if (!one->begun)
		return "not asked";
	if (one->r == 0)
		print_size((double)one->size, room);
	else if (one->r == -ENOENT)
		snprintf(room, 280, "%s%s", one->unnamed ? "not asked: " : "missing", one->unnamed ? one->why : "");
	else
		snprintf(room, 280, "failed");
	return room;
}

static const char *file_type(const struct download *one)
{
	return filetypes[one->begun && one->r == 0 ? one->key.type : one->cands[0].type].name;
}

/* Columns on a terminal; tabs for programs. */
static void print_table(const struct warm *w)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(64 << 10);
	const struct downloads *d = &w->all;
	bool wide = paint_terminal();
	char room[280], cell[340];
	size_t names = 0, ids = 0;
	unsigned at = 0;

	for (unsigned i = 0; wide && i < w->n_modules; i++) {
		names = MAX(names, strlen(text_shown(w->modules[i].name, true, &shown)));
		ids = MAX(ids, strlen(w->modules[i].id));
	}

	for (unsigned i = 0; i < w->n_modules; i++) {
		printf("%-*s%s%-*s", (int)names, text_shown(w->modules[i].name, true, &shown), wide ? "  " : "\t",
			(int)ids, w->modules[i].id[0] ? w->modules[i].id : "-");
		if (at >= d->n || module_of(d->list[at]) != i)
			printf("%sno identifier", wide ? "  " : "\t");
		for (; at < d->n && module_of(d->list[at]) == i; at++) {
			bool last = at + 1 >= d->n || module_of(d->list[at + 1]) != i;

			snprintf(cell, sizeof(cell), "%s %s", file_type(d->list[at]), file_text(d->list[at], room));
			printf("%s%-*s", wide ? "  " : "\t", wide && !last ? 20 : 0, cell);
		}
		printf("\n");
	}
}

#define TROUBLES_MOST 16

/* Names each source that failed once, and how many files it failed for. The text of a download begins with the name
 * of the source and ": ". */
static void print_troubles(const struct warm *w)
{
	struct trouble {
		const char *why;
		size_t name;
		unsigned files;
	} all[TROUBLES_MOST];
	unsigned n = 0, k;

	for (unsigned i = 0; i < w->all.n; i++) {
		const struct download *one = w->all.list[i];
		const char *why = one->why[0] ? one->why : err_text(one->r), *end = strstr(why, ": ");
		size_t name = end ? (size_t)(end - why) : strlen(why);

		if (!one->begun || one->r >= 0 || one->r == -ENOENT)
			continue;
		for (k = 0; k < n && (all[k].name != name || memcmp(all[k].why, why, name) != 0); k++)
			;
		if (k == n && n < TROUBLES_MOST)
			all[n++] = (struct trouble){why, name, 0};
		all[MIN(k, TROUBLES_MOST - 1u)].files++;
	}
	for (k = 0; k < n; k++)
		cmd_say(0, "%u file%s failed: %s", all[k].files, PLURAL(all[k].files), all[k].why);
}

/* What became of the files. */
struct tally {
	unsigned have, missing, failed;
	uint64_t bytes;
	int status; /* the worst one */
};

static struct tally count_files(const struct warm *w)
{
	struct tally t = {.status = w->all.n ? EXIT_DONE : EXIT_NO};

	for (unsigned i = 0; i < w->all.n; i++) {
		const struct download *one = w->all.list[i];
		int status = one->r < 0 && one->r != -ENOENT ? app_exit(one->r) : EXIT_DONE;

		t.status = MAX(t.status, status);
		if (!one->begun)
			continue;
		t.have += one->r == 0;
		t.missing += one->r == -ENOENT;
		t.failed += status != EXIT_DONE;
		t.bytes += one->r == 0 ? one->size : 0;
	}
	return t;
}

/* Whether the GSYM of a debug file is stored, and the debug file is not. */
static bool is_only_gsym(const struct warm *w, const struct artifact *debug)
{
	struct store *s = w->app.store;
	struct artifact gsym;
	struct key k;

	return key_of(&k, debug) == 0 && !store_has(s, &k, NULL) && derive_artifact(debug, false, &gsym) == 0 &&
		key_of(&k, &gsym) == 0 && store_has(s, &k, NULL);
}

/* Of --installed and --running: how many modules have symbols. */
static void print_coverage(const struct warm *w, const struct tally *t)
{
	unsigned gsym = 0, kept_before = 0;

	for (unsigned i = 0; i < w->all.n; i++)
		if (is_only_gsym(w, &w->all.list[i]->cands[0])) {
			gsym++;
			kept_before += w->all.list[i]->r == -ENOENT;
		}
	printf("%u programs and libraries: %u have symbols (%.1f MB, kept), %u of them only GSYM, %u have none, "
	       "%u have no identifier, %u failed\n", w->n_modules, t->have + kept_before,
		(double)t->bytes / 1e6, gsym, w->all.n - t->have - kept_before - t->failed,
		w->n_modules - MIN(w->n_modules, w->all.n), t->failed);
}

static void warm_release(struct warm *w)
{
	downloads_release(&w->all);
	for (unsigned i = 0; i < w->n_modules; i++) {
		free(w->modules[i].name);
		free(w->modules[i].id);
	}
	free(w->modules);
}

/* Prints nothing: print_table() runs after all downloads, because each of its lines has all files of a module. */
static void warm_one(void *ctx, struct download *one)
{
	struct warm *w = ctx;

	if (w->keep && one->r == 0)
		store_keep(w->app.store, &one->key, STORE_FOR_GOOD);
}

static int warm_words(struct warm *w, int argc, char **argv)
{
	int status = EXIT_DONE;

	for (int i = 1; i < argc; i++) {
		struct err e = {0};
		int r = want_word(w, argv[i], &e);

		if (r >= 0)
			continue;
		cmd_say(0, "%s: %s", argv[i], err_why(&e, r));
		/* A truncated dump still lists the modules before its end. */
		status = r == -ENOMEM ? EXIT_LOCAL : EXIT_NO;
	}
	return status;
}

static int warm_all(struct warm *w, const struct app_args *args, bool installed, bool running, int argc,
	char **argv)
{
	struct tally tally;
	bool interrupted;
	int status;

	downloads_init(&w->all, w->app.fetch);
	w->all.total = true;
	w->all.gsym = w->only_gsym;
	status = warm_words(w, argc, argv);
	if (w->keep && ((installed && want_installed(w) < 0) || (running && want_running(w) < 0)))
		status = EXIT_LOCAL;
	interrupted = downloads_run(&w->all, warm_one, w);
	tally = count_files(w);
	if (w->keep)
		print_coverage(w, &tally);
	else
		print_table(w);
	fflush(stdout); /* before the messages about it */
	print_troubles(w);
	if (tally.missing)
		no_source_hint(args->sources, args->n_sources);
	return interrupted ? EXIT_INTERRUPTED : MAX(status, tally.status);
}

static int run_warm(int argc, char **argv)
{
	struct warm w = {.n_modules = 0};
	bool installed = false, running = false;
	const char *as = "whole";
	const struct opt own[] = {{"breakpad", 0, NULL, "also Breakpad files; make missing ones", &w.breakpad},
		{"installed", 0, NULL, "installed programs and libraries; pins files", &installed},
		{"running", 0, NULL, "all processes; pins files", &running},
		{"as", 0, "FORM", "whole files, or gsym or sym made of them", &as}, {0}};
	struct app_args args;
	struct err e = {0};
	int status = app_options(&args, &cmd_warm, own, &argc, argv), r;

	if (status >= 0)
		return status;
	if (strcmp(argv[0], "get") == 0) /* `symfs get DIR` */
		cmd_called(argv[0]);
	w.keep = installed || running;
	w.only_breakpad = strcmp(as, "sym") == 0;
	w.breakpad |= w.only_breakpad;
	w.only_gsym = strcmp(as, "gsym") == 0;
	if (!w.only_breakpad && !w.only_gsym && strcmp(as, "whole") != 0)
		return cmd_say(EXIT_USAGE, "--as %s: expected whole, gsym or sym", as);
	if (argc < 2 && !w.keep)
		return cmd_usage("expected a core file, minidump, program, directory or process id");
	if (argc > 1)
		app_adopt_mount(&args, argv[1]);
	r = app_open(&w.app, &args, &e);
	status = r < 0 ? cmd_say(app_exit(r), "%s", e.text) : warm_all(&w, &args, installed, running, argc, argv);
	app_close(&w.app); /* from here on no callback reaches a download */
	warm_release(&w);
	return cmd_flush(status);
}

const struct cmd cmd_warm = {
	.name = "warm",
	.args = "CORE|MINIDUMP|DIR|PID|PROGRAM|WHAT|-...",
	.help = "Downloads the files of all modules before a debugger needs them; prints a line\n"
		"for each module with its files. DIR has core files, minidumps and programs.\n"
		"WHAT is as for `symfs get`; with -, each line of stdin is a WHAT. --installed\n"
		"takes all installed programs, --running all processes; both pin the debug files\n"
		"in the cache, and print how many programs and libraries have symbols",
	.examples = {"symfs warm --breakpad --source debian crashes/",
		"symfs warm ./prog dfb85de42daffd09640c8fe377d572de3e168920"},
	.configured = true,
	.run = run_warm,
};
