/* symfs get: downloads whole artifacts and prints the paths of the files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/downloads.h"
#include "cmd/json.h"
#include "cmd/no-source.h"
#include "cmd/what.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct get {
	struct app app;
	struct downloads all;
	const char *out_path; /* the value of -o; NULL: the option is not given */
	bool copy;	      /* print only paths of the store */
	const char *word;     /* the word that is being read */
	int worst;	      /* the worst exit status so far */
	bool unnamed;	      /* no source could be asked for one of the files */
	bool missing;	      /* no source has one of the files */
};

/* ---- words --------------------------------------------------------------------------- */

static int add_what(void *ctx, const struct what *w)
{
	struct get *g = ctx;

	if (w->hit && !tree_names_file(w->hit)) {
		cmd_say(0, "%s: %s", g->word, w->hit->n ? "the mount generates this file; there is nothing to get"
			: "no layout can mean this path");
		g->worst = MAX(g->worst, EXIT_NO);
		return 0;
	}
	/* The download keeps a pointer to the word, which is in argv and so stays valid. */
	return !w->n ? 0 : downloads_add(&g->all, w->files, w->n,
		w->kind == WHAT_DUMP ? NULL : (void *)(uintptr_t)g->word);
}

static void take_word(struct get *g, const struct what_opts *o, const char *word)
{
	struct err e = {0};
	int r, status;

	g->word = word;
	r = what_named(o, word, add_what, g, &e);
	status = r < 0 ? cmd_say(what_exit(r), "%s: %s", word, err_why(&e, r)) : EXIT_DONE;
	g->worst = MAX(g->worst, status);
}

/* ---- files --------------------------------------------------------------------------- */

static int copy_out(const struct blob *b, const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct stat from, to;
	int r;

	if (fd < 0 || fstat(fd, &to) < 0 || fstat(blob_fd(b), &from) < 0)
		return -errno;
	if (from.st_dev == to.st_dev && from.st_ino == to.st_ino)
		return 0; /* the same file: a copy would truncate it */
	if (S_ISREG(to.st_mode) && ftruncate(fd, 0) < 0)
		return -errno;
	r = files_copy(blob_fd(b), fd);
	if (close(take_fd(&fd)) < 0 && r == 0)
		r = -errno;
	return r;
}

static int say_failed(const struct download *one)
{
	const char *name = one->of ? one->of : one->cands[0].m.code_file;
	const struct artifact *last = &one->cands[one->n - 1];
	bool sym = last->type == FILETYPE_BREAKPAD;
	char id[DEBUG_ID_TEXT], other[280] = "";

	if (one->r != -EBADMSG) /* `why` says it already */
		fetch_named(one->all->fetch, &one->cands[0].m, other);
	cmd_say(0, "%s: %s%s%s%s", name, one->r == -ENOENT ? "not there: " : "",
		one->why[0] ? one->why : err_text(one->r), other[0] ? "; " : "", other);
	/* Of other files the age is 0, and a build id that reads as a debug id has a large age. */
	if (one->r == -ENOENT && (sym || last->type == FILETYPE_PDB || last->type == FILETYPE_PORTABLEPDB) &&
		!last->m.debug_file[0] && last->m.debug_id.age > 0 && last->m.debug_id.age < 0x1000)
		cmd_say(0, "a server finds a %s by its name, too: symfs get %s/NAME.pdb/%s/NAME.%s",
			sym ? "Breakpad file" : "PDB", sym ? "breakpad" : "symstore",
			debug_id_breakpad(&last->m.debug_id, id), sym ? "sym" : "pdb");
	return app_exit(one->r);
}

static int print_one(struct get *g, struct download *one)
{
	struct err e = {0};
	int r;

	if (one->r == 0 && g->copy) {
		one->r = fetch_copy(g->app.fetch, &one->key, &one->blob, &e);
		snprintf(one->why, sizeof(one->why), "%.239s", e.text);
	}
	if (one->r < 0)
		return say_failed(one);
	if (g->app.settings.keep_seconds) /* 0 would unpin the file */
		store_keep(g->app.store, &one->key, g->app.settings.keep_seconds);
	r = g->out_path ? copy_out(one->blob, g->out_path) : 0;
	if (r < 0)
		return cmd_say(EXIT_LOCAL, "%s: %s", g->out_path, err_text(r));
	printf("%s\n", g->out_path ? g->out_path : blob_path(one->blob));
	return cmd_flush(EXIT_DONE);
}

static void got_one(void *ctx, struct download *one)
{
	struct get *g = ctx;
	int status = one->begun ? print_one(g, one) : EXIT_DONE;

	g->unnamed |= one->begun && one->unnamed && strcmp(one->why, FETCH_UNNAMED) == 0;
	g->missing |= one->begun && one->r == -ENOENT;
	g->worst = MAX(g->worst, status);
}

/* ---- the command --------------------------------------------------------------------- */

static int get_all(struct get *g, const struct app_args *args, enum filetype type, int argc, char **argv)
{
	struct what_opts o = {.store = g->app.store, .type = type, .dumps = true};

	downloads_init(&g->all, g->app.fetch);
	for (int i = 1; i < argc; i++)
		take_word(g, &o, argv[i]);
	if (g->out_path && g->all.n > 1)
		return cmd_say(EXIT_USAGE, "%s: this word means %u files, but -o writes only one", argv[1], g->all.n);
	if (downloads_run(&g->all, got_one, g))
		return EXIT_INTERRUPTED;
	if (g->missing)
		no_source_hint(args->sources, args->n_sources);
	if (g->unnamed) {
		cmd_say(0, "`symfs sources` lists the sources in use; %s", no_source_advice(args));
		app_stop_fetching(&g->app); /* a mount is asked by a forked process, so there must be no threads */
		no_source_mounts(stderr, "get", g->app.settings.cache_dir);
	}
	return g->worst;
}

static int run_get(int argc, char **argv)
{
	_cleanup_free_ char **words = calloc((size_t)argc + 1, sizeof(*words));
	int n = argc;
	struct get g = {.worst = EXIT_DONE};
	const char *type_word = NULL;
	bool waits; /* command_run() runs another command */
	const struct opt own[] = {
		{"output", 'o', "FILE", "copy the file to FILE (one WHAT)", &g.out_path},
		{"copy", 0, NULL, "copy a file of a directory source to the store", &g.copy},
		{"type", 0, "TYPE", WHAT_TYPE_HELP, &type_word},
		{"wait", 0, NULL, "wait until a source has it: get --wait --help", &waits}, {0}};
	enum filetype type;
	struct app_args args;
	struct err e = {0};
	int status, r;

	if (!words)
		return EXIT_LOCAL;
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	status = app_options(&args, &cmd_get, own, &argc, argv);
	if (status >= 0)
		return status;
	if (argc > 1 && what_is_dir(argv[argc - 1]))
		return cmd_warm.run(n, words);
	if (argc < 2 || (g.out_path && (argc > 2 || g.copy)))
		return cmd_usage("%s", argc < 2 ? "expected a path, an identifier, a key or a file"
			: g.copy ? "-o and --copy name two places for the file; give one of them"
			: "-o takes one WHAT");
	if (what_type(type_word, &type, &e) < 0)
		return cmd_say(EXIT_USAGE, "%s", e.text);
	app_adopt_mount(&args, argv[1]);
	r = app_open(&g.app, &args, &e);
	status = r < 0 ? cmd_say(app_exit(r), "%s", e.text) : get_all(&g, &args, type, argc, argv);
	app_close(&g.app); /* from here on no callback reaches a download */
	downloads_release(&g.all);
	return cmd_flush(status);
}

const struct cmd cmd_get = {
	.name = "get",
	.args = "[-o FILE | --copy] [--type TYPE] WHAT...",
	.help = "Downloads whole files and prints a local path for each, in order. WHAT is\n"
		"LAYOUT/REST as below a mount, a path inside a mount, a build id, UUID or debug\n"
		"id, a key as `symfs cache ls` prints it, or a program or library, whose debug\n"
		"file is downloaded; ./ forces a file. For a directory, the command downloads the\n"
		"files of all modules of its cores, minidumps and programs",
	.examples = {"symfs get --source debian /usr/bin/ls",
		"symfs get --type elf_code dfb85de42daffd09640c8fe377d572de3e168920"},
	.configured = true,
	.run = run_get,
};
