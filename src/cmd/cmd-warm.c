/* symfs warm: downloads the files of all modules of a crash, a process or a program. A debugger need not
 * wait for them later. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "dump/dump.h"
#include "fetch/fetch.h"
#include "layout/tree.h"
#include "obj/obj.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define AT_ONCE 16u
#define JOBS_MOST 500000u
#define LINE_MOST 8192

/* One file to fetch: the first of the candidates that exists. */
struct job {
	struct warm *warm;
	struct ticket *ticket;
	unsigned module;
	/* under warm->lock, while the download runs */
	bool begun, done, shown, unnamed;
	int r;
	uint64_t size;
	char why[160];
	struct key key;
	unsigned n;
	struct artifact cands[];
};

struct named {
	char *name, *id;
};

struct warm {
	struct app app;
	bool json, breakpad;
	struct named *modules;
	unsigned n_modules, modules_room;
	struct job **jobs;
	unsigned n_jobs, jobs_room;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under lock */
	unsigned running, over;
	uint64_t bytes;
};

/* ---- what is wanted ----------------------------------------------------------------- */

static int module_add(struct warm *w, const char *name, const char *id)
{
	if (w->n_modules == w->modules_room) {
		unsigned room = w->modules_room ? w->modules_room * 2 : 64;
		struct named *more = reallocarray(w->modules, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->modules = more;
		w->modules_room = room;
	}
	w->modules[w->n_modules] = (struct named){strdup(name), strdup(id)};
	return w->modules[w->n_modules].name && w->modules[w->n_modules++].id ? 0 : -ENOMEM;
}

static int job_add(struct warm *w, const struct artifact *cands, unsigned n)
{
	struct job *j;

	if (w->n_jobs >= JOBS_MOST)
		return -E2BIG;
	if (w->n_jobs == w->jobs_room) {
		unsigned room = w->jobs_room ? w->jobs_room * 2 : 64;
		struct job **more = reallocarray(w->jobs, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->jobs = more;
		w->jobs_room = room;
	}
	j = calloc(1, sizeof(*j) + n * sizeof(*cands));
	if (!j)
		return -ENOMEM;
	j->warm = w;
	j->module = w->n_modules - 1;
	j->n = n;
	memcpy(j->cands, cands, n * sizeof(*cands));
	w->jobs[w->n_jobs++] = j;
	return 0;
}

static int want(struct warm *w, const struct module *m, enum filetype type)
{
	struct artifact a = {.type = type, .m = *m};
	struct key k;

	return key_of(&k, &a) == 0 ? job_add(w, &a, 1) : 0;
}

/* Adds a module, and the files that debuggers want for its kind. */
static int want_module(struct warm *w, const char *path, const struct module *m)
{
	const struct object_row *row = object_row(m->object);
	char id[DEBUG_ID_TEXT];
	int r;

	debug_id_breakpad(&m->debug_id, id);
	r = module_add(w, path[0] ? path : m->code_file, m->code_id[0] ? m->code_id : id);
	if (r == 0)
		r = want(w, m, row->debug);
	if (r == 0)
		r = want(w, m, row->program);
	if (r == 0 && w->breakpad && m->debug_id.set)
		r = want(w, m, FILETYPE_BREAKPAD);
	return r;
}

static int each_module(void *ctx, const struct dump_module *d)
{
	return want_module(ctx, d->path, &d->m);
}

/* ---- dumps, programs, lists --------------------------------------------------------- */

static int want_program(struct warm *w, struct view *v, const char *path, struct err *e)
{
	struct obj_slice s;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 64; i++) {
		r = obj_identify(v, i, &s, e);
		if (r == -ENOENT && i > 0)
			return 0;
		if (r < 0)
			break;
		obj_complete(&s, path_base(path));
		r = want_module(w, path, &s.module);
	}
	return r == -ENOMSG ? err_set(e, r, "neither a core file, a minidump, nor a program") : r;
}

static int want_file(struct warm *w, const char *path, struct err *e)
{
	_cleanup_close_ int fd = -1;
	uint64_t size = 0;
	struct view v;
	int r = path_open_file(path, &fd, &size, e);

	if (r < 0)
		return r;
	v = view_of_fd(fd, size);
	r = dump_read(&v, each_module, w, e);
	return r == -ENOMSG ? want_program(w, &v, path, e) : r;
}

/* A key ("elf_debug ID"), or a path as `symfs get` takes them. */
static int want_line(struct warm *w, const char *line)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	_cleanup_free_ char *path = NULL;
	struct artifact a;
	struct key k;
	int r;

	if (!hit)
		return -ENOMEM;
	if (key_parse(&k, line) == 0) {
		key_artifact(&k, &a);
		r = module_add(w, line, k.id);
		return r == 0 ? job_add(w, &a, 1) : r;
	}
	r = app_tree_path(line, &path);
	if (r == 0)
		tree_parse(path, hit);
	if (r < 0 || !hit->n)
		return r == -ENOMEM ? r : -EINVAL;
	r = module_add(w, line, "");
	return r == 0 ? job_add(w, hit->files, hit->n) : r;
}

static int want_list(struct warm *w, FILE *from, struct err *e)
{
	char line[LINE_MOST];
	unsigned at = 0;
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), from)) {
		at++;
		line[strcspn(line, "\r\n")] = '\0';
		if (!line[0] || line[0] == '#')
			continue;
		r = want_line(w, line);
		if (r == -EINVAL)
			err_set(e, r, "line %u: neither a key nor a path of any layout", at);
	}
	return r;
}

static bool is_number(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0' && strlen(word) < 10;
}

static int want_word(struct warm *w, const char *word, struct err *e)
{
	if (strcmp(word, "-") == 0)
		return want_list(w, stdin, e);
	if (is_number(word) && access(word, F_OK) < 0)
		return dump_process((pid_t)strtoul(word, NULL, 10), each_module, w, e);
	return want_file(w, word, e);
}

/* ---- fetching ----------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = 1;
}

static void job_over(struct job *j, const struct fetched *f)
{
	struct warm *w = j->warm;
	LOCK_SCOPE(&w->lock);

	j->done = true;
	j->r = f->r;
	j->unnamed = f->unnamed;
	j->key = f->key;
	j->size = f->r == 0 ? blob_size(f->blob) : 0;
	snprintf(j->why, sizeof(j->why), "%.150s", f->why);
	w->bytes += j->size;
	w->running--;
	w->over++;
	pthread_cond_signal(&w->changed);
}

static void job_ready(void *ctx, const struct fetched *f)
{
	job_over(ctx, f);
}

static void job_begin(struct job *j)
{
	struct fetched now = {.why = ""};
	int r;

	pthread_mutex_lock(&j->warm->lock);
	j->begun = true;
	j->warm->running++;
	pthread_mutex_unlock(&j->warm->lock);
	r = fetch_try(j->warm->app.fetch, j->cands, j->n, FETCH_WHOLE, &now);
	if (r == -EAGAIN)
		r = fetch_open(j->warm->app.fetch, j->cands, j->n, FETCH_WHOLE, job_ready, j, &j->ticket);
	else if (r == 0)
		job_over(j, &now);
	if (r < 0) {
		now.r = r;
		now.why = err_text(r);
		job_over(j, &now);
	}
	blob_unref(now.blob);
}

static void show_progress(const struct warm *w, unsigned over, uint64_t bytes)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%u of %u files, %.1f MB", over, w->n_jobs, (double)bytes / 1e6);
}

static void cancel_all(struct warm *w)
{
	for (unsigned i = 0; i < w->n_jobs; i++)
		if (w->jobs[i]->ticket)
			ticket_cancel(w->jobs[i]->ticket);
}

/* Waits until a job is over, for at most 200 ms. Returns the number of running jobs. */
static unsigned wait_some(struct warm *w)
{
	struct timespec until = clock_after(CLOCK_REALTIME, 200);
	unsigned running, over;
	uint64_t bytes;

	pthread_mutex_lock(&w->lock);
	if (w->running)
		pthread_cond_timedwait(&w->changed, &w->lock, &until);
	running = w->running;
	over = w->over;
	bytes = w->bytes;
	pthread_mutex_unlock(&w->lock);
	show_progress(w, over, bytes);
	return running;
}

static void fetch_all(struct warm *w)
{
	unsigned next = 0, running = 0;
	bool cancelled = false;

	while (running || (next < w->n_jobs && !interrupted)) {
		for (; running < AT_ONCE && next < w->n_jobs && !interrupted; running++)
			job_begin(w->jobs[next++]);
		running = wait_some(w);
		if (interrupted && !cancelled)
			cancel_all(w);
		cancelled = interrupted;
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

/* ---- the table ---------------------------------------------------------------------- */

static const char *job_word(const struct job *j, char room[static 240])
{
	if (!j->begun)
		return "not asked";
	if (j->r == 0)
		snprintf(room, 240, "%.1f MB", (double)j->size / 1e6);
	else if (j->r == -ENOENT)
		snprintf(room, 240, "%s", j->unnamed ? "not asked: " FETCH_UNNAMED : "missing");
	else
		snprintf(room, 240, "%s%s%s", err_text(j->r), j->why[0] ? ": " : "", j->why);
	return room;
}

static const char *job_type(const struct job *j)
{
	return filetype_name(j->begun && j->r == 0 ? j->key.type : j->cands[0].type);
}

static void print_table(const struct warm *w)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(64 << 10);
	char room[240];
	unsigned at = 0;

	for (unsigned i = 0; i < w->n_modules; i++) {
		buf_clear(&shown);
		printf("%s\t%s", text_shown(w->modules[i].name, true, &shown),
			w->modules[i].id[0] ? w->modules[i].id : "-");
		if (at >= w->n_jobs || w->jobs[at]->module != i)
			printf("\tno identifier");
		for (; at < w->n_jobs && w->jobs[at]->module == i; at++)
			printf("\t%s %s", job_type(w->jobs[at]), job_word(w->jobs[at], room));
		printf("\n");
	}
}

static int worst_of(const struct warm *w)
{
	int status = w->n_jobs ? EXIT_DONE : EXIT_NO;

	for (unsigned i = 0; i < w->n_jobs; i++)
		if (w->jobs[i]->r < 0 && w->jobs[i]->r != -ENOENT)
			status = MAX(status, app_exit(w->jobs[i]->r));
	return interrupted ? EXIT_INTERRUPTED : status;
}

static void warm_release(struct warm *w)
{
	for (unsigned i = 0; i < w->n_jobs; i++) {
		ticket_unref(w->jobs[i]->ticket);
		free(w->jobs[i]);
	}
	for (unsigned i = 0; i < w->n_modules; i++) {
		free(w->modules[i].name);
		free(w->modules[i].id);
	}
	free(w->jobs);
	free(w->modules);
}

static int warm_words(struct warm *w, int argc, char **argv)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	int status = EXIT_DONE;

	for (int i = 1; i < argc; i++) {
		struct err e = {0};
		int r = want_word(w, argv[i], &e);

		if (r >= 0)
			continue;
		buf_clear(&room);
		fprintf(stderr, "symfs warm: %s: %s\n", text_shown(argv[i], true, &room),
			e.text[0] ? e.text : err_text(r));
		/* A truncated dump still lists the modules before its end. */
		status = r == -ENOMEM ? EXIT_LOCAL : EXIT_NO;
	}
	return status;
}

static int run_warm(int argc, char **argv)
{
	struct warm w = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	const struct opt own[] = {{"breakpad", 0, NULL, "also download Breakpad files", &w.breakpad}, {0}};
	struct sigaction act = {.sa_handler = on_interrupt};
	struct app_args args;
	struct err e = {0};
	int status = app_options(&args, &cmd_warm, own, &argc, argv), r;

	if (status >= 0)
		return status;
	if (argc < 2) {
		fprintf(stderr, "symfs warm: expected a core file, minidump, program or process id; try: symfs warm --help\n");
		return EXIT_USAGE;
	}
	r = app_open(&w.app, &args, &e);
	if (r < 0)
		fprintf(stderr, "symfs warm: %s\n", e.text);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	status = r < 0 ? app_exit(r) : warm_words(&w, argc, argv);
	if (r == 0) {
		int worst;

		fetch_all(&w);
		print_table(&w);
		worst = worst_of(&w);
		status = MAX(status, worst);
	}
	app_close(&w.app); /* from here on no callback reaches a job */
	warm_release(&w);
	return fflush(stdout) == 0 ? status : EXIT_LOCAL;
}

const struct cmd cmd_warm = {
	.name = "warm",
	.args = "CORE|MINIDUMP|PID|PROGRAM|-...",
	.help = "Downloads the files of all modules before a debugger needs them; prints a line\n"
		"for each module with its files. - reads keys or paths from stdin",
	.configured = true,
	.run = run_warm,
};
