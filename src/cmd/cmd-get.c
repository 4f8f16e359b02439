/* symfs get: fetches whole artifacts and prints where they are. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "fetch/fetch.h"
#include "layout/tree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* One file that is being fetched; the answer comes on another thread. */
struct getting {
	pthread_mutex_t lock;
	pthread_cond_t over;
	/* under lock */
	bool done;
	int r;
	struct blob *blob;
	struct key key; /* of the file that was found */
	char why[240];
};

static void get_ready(void *ctx, const struct fetched *f)
{
	struct getting *g = ctx;

	LOCK_SCOPE(&g->lock);
	g->done = true;
	g->r = f->r;
	g->blob = f->r == 0 ? blob_ref(f->blob) : NULL;
	g->key = f->key;
	snprintf(g->why, sizeof(g->why), "%s", f->why);
	pthread_cond_signal(&g->over);
}

static void show_progress(struct fetch *f, const struct key *k, const char *word)
{
	uint64_t have, size;

	if (!fetch_progress(f, k, &have, &size))
		return;
	if (size != FETCH_SIZE_UNKNOWN && size)
		fprintf(stderr, "\r\033[K%s: %u %% of %.1f MB", word, (unsigned)(have * 100 / size),
			(double)size / 1e6);
	else
		fprintf(stderr, "\r\033[K%s: %.1f MB", word, (double)have / 1e6);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = 1;
}

static bool get_wait(struct getting *g, unsigned ms)
{
	struct timespec until = clock_after(CLOCK_REALTIME, ms);
	LOCK_SCOPE(&g->lock);

	while (!g->done && pthread_cond_timedwait(&g->over, &g->lock, &until) == 0)
		;
	return g->done;
}

/* Waits for the answer, and shows progress on a terminal. */
static void get_watch(struct getting *g, struct ticket *t, struct fetch *f, const struct key *k,
	const char *word)
{
	bool shown = false, cancelled = false;

	while (!get_wait(g, 200)) {
		if (interrupted && !cancelled) {
			cancelled = true;
			ticket_cancel(t);
		}
		if (isatty(STDERR_FILENO)) {
			show_progress(f, k, word);
			shown = true;
		}
	}
	if (shown)
		fprintf(stderr, "\r\033[K");
}

static int get_blob(struct fetch *f, const struct tree_hit *hit, const char *word,
	struct blob **out, struct key *found, char why[static 240])
{
	struct getting g = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};
	struct fetched now;
	struct ticket *t;
	struct key k;
	int r = fetch_try(f, hit->files, hit->n, FETCH_WHOLE, &now);

	if (r == 0) {
		snprintf(why, 240, "%s", now.why);
		*out = now.r == 0 ? now.blob : NULL;
		*found = now.key;
		return now.r;
	}
	r = fetch_open(f, hit->files, hit->n, FETCH_WHOLE, get_ready, &g, &t);
	if (r < 0)
		return r;
	for (unsigned i = 0; key_of(&k, &hit->files[i]) < 0 && i + 1 < hit->n;)
		i++;
	get_watch(&g, t, f, &k, word); /* waits even without a key: the answer is written to this stack */
	ticket_unref(t);
	snprintf(why, 240, "%s", g.why);
	*out = g.blob;
	*found = g.key;
	return g.r;
}

static int copy_out(const struct blob *b, const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct stat from, to;
	loff_t off = 0;
	int r = 0;

	if (fd < 0 || fstat(fd, &to) < 0 || fstat(blob_fd(b), &from) < 0)
		return -errno;
	if (from.st_dev == to.st_dev && from.st_ino == to.st_ino)
		return 0; /* the same file: a copy would truncate it */
	if (S_ISREG(to.st_mode) && ftruncate(fd, 0) < 0)
		return -errno;
	while ((uint64_t)off < blob_size(b)) {
		char chunk[64 << 10];
		ssize_t n = pread(blob_fd(b), chunk, sizeof(chunk), off);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(fd, chunk + done, (size_t)(n - done));

			if (w < 0 && errno != EINTR)
				return -errno;
			done += MAX(w, 0);
		}
		off += n;
	}
	if (close(take_fd(&fd)) < 0)
		r = -errno;
	return r;
}

static int get_one(struct app *app, const char *word, const char *out_path)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	_cleanup_blob_ struct blob *b = NULL;
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	_cleanup_free_ char *path = NULL;
	struct key found = {0};
	char why[240] = "";
	int r = hit ? app_tree_path(word, &path) : -ENOMEM;

	if (r == 0)
		tree_parse(path, hit);
	if (r == 0 && !tree_names_file(hit)) {
		fprintf(stderr, "symfs get: %s: %s\n", text_shown(word, true, &room),
			hit->n ? "the mount generates this file; there is nothing to download"
			       : "no layout can mean this path");
		return EXIT_NO;
	}
	if (r == 0)
		r = get_blob(app->fetch, hit, word, &b, &found, why);
	if (r == -ENOENT && !path) {
		fprintf(stderr, "symfs get: %s: not inside a symfs mount\n",
			text_shown(word, true, &room));
		return EXIT_NO;
	}
	if (r < 0) {
		fprintf(stderr, "symfs get: %s: %s%s%s\n", text_shown(word, true, &room),
			r == -ENOENT ? "not there" : err_text(r), why[0] ? ": " : "", why);
		return app_exit(r);
	}
	if (app->settings.keep_seconds) /* 0 would unpin the file */
		store_keep(app->store, &found, app->settings.keep_seconds);
	r = out_path ? copy_out(b, out_path) : 0;
	if (r < 0) {
		fprintf(stderr, "symfs get: %s: %s\n", out_path, err_text(r));
		return EXIT_LOCAL;
	}
	printf("%s\n", out_path ? out_path : blob_path(b));
	return EXIT_DONE;
}

static int run_get(int argc, char **argv)
{
	const char *out_path = NULL;
	const struct opt own[] = {
		{"output", 'o', "FILE", "copy the file to FILE (one PATH)", &out_path}, {0}};
	struct sigaction act = {.sa_handler = on_interrupt};
	struct app_args args;
	struct app app;
	struct err e = {0};
	int status = app_options(&args, &cmd_get, own, &argc, argv), worst = EXIT_DONE;

	if (status >= 0)
		return status;
	if (argc < 2 || (out_path && argc > 2)) {
		fprintf(stderr, "symfs get: %s; try: symfs get --help\n",
			argc < 2 ? "expected a PATH" : "-o takes one PATH");
		return EXIT_USAGE;
	}
	app_adopt_mount(&args, argv[1]);
	status = app_open(&app, &args, &e);
	if (status < 0)
		fprintf(stderr, "symfs get: %s\n", e.text);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	for (int i = 1; status == 0 && i < argc && !interrupted; i++) {
		int one = get_one(&app, argv[i], out_path);

		worst = MAX(worst, one);
	}
	app_close(&app);
	if (fflush(stdout) != 0)
		return EXIT_LOCAL;
	return interrupted ? EXIT_INTERRUPTED : status < 0 ? app_exit(status) : worst;
}

const struct cmd cmd_get = {
	.name = "get",
	.args = "[-o FILE] PATH...",
	.help = "Downloads whole files and prints a local path for each, in order. A PATH is\n"
		"LAYOUT/REST as below a mount, or an absolute path inside a mount",
	.configured = true,
	.run = run_get,
};
