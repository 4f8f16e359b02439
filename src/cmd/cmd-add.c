/* symfs add: puts local files into the store, under every key that they answer to. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "obj/obj.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MOST 64
#define SLICES_MOST 64

/* How many files of each format; the formats are few. */
struct tally {
	const char *format; /* static */
	uint64_t added, present;
};

struct adding {
	struct store *store;
	bool recurse, progress;
	uint64_t added, present, unplaced, bytes;
	uint64_t shown; /* when progress was shown last */
	int status;
	struct tally tallies[24];
};

/* What became of one slice. */
enum placed { PLACED_ADDED, PLACED_PRESENT };

static void show_progress(struct adding *a, const char *path)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(16 << 10);
	uint64_t now = clock_ms();

	if (!a->progress || now - a->shown < 200)
		return;
	a->shown = now;
	fprintf(stderr, "\r\033[K%" PRIu64 " added, %.1f MB: %.60s", a->added,
		(double)a->bytes / 1e6, text_shown(path_base(path), true, &room));
}

static void clear_progress(struct adding *a)
{
	if (a->shown)
		fprintf(stderr, "\r\033[K");
	a->shown = 0;
}

/* A line for each file that has no place; a file that was named makes the command fail. */
static void not_placed(struct adding *a, const char *path, const char *why, bool named)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), text = BUF_UP_TO(4 << 10);

	clear_progress(a);
	printf("%s: not placed: %s\n", text_shown(path, true, &room), text_shown(why, true, &text));
	a->unplaced++;
	if (named && a->status == EXIT_DONE)
		a->status = EXIT_NO;
}

static void count(struct adding *a, const char *format, enum placed what)
{
	struct tally *t = a->tallies;

	while (t->format && strcmp(t->format, format) != 0 &&
		t < a->tallies + ARRAY_SIZE(a->tallies) - 1)
		t++;
	t->format = format;
	*(what == PLACED_ADDED ? &t->added : &t->present) += 1;
	*(what == PLACED_ADDED ? &a->added : &a->present) += 1;
}

/* The name that a file goes by when it does not tell one itself: its own, without the ending
 * that only says "debug file". */
static void name_slice(struct obj_slice *s, const char *path)
{
	struct module *m = &s->module;
	const char *base = path_base(path);
	size_t n = strlen(base);

	if (n > 6 && s->kind == OBJ_DEBUG && strcmp(base + n - 6, ".debug") == 0)
		n -= 6;
	if (!m->code_file[0])
		snprintf(m->code_file, sizeof(m->code_file), "%.*s",
			(int)MIN(n, sizeof(m->code_file) - 1), base);
	if (!m->debug_file[0])
		snprintf(m->debug_file, sizeof(m->debug_file), "%.*s",
			(int)MIN(n, sizeof(m->debug_file) - 1), base);
}

/* The keys that the store does not have yet. A debug id of a PE file may be that of several. */
static void new_keys(struct adding *a, const struct obj_slice *s, struct store_learned *out,
	unsigned *all)
{
	struct key keys[OBJ_KEYS_MOST];

	*all = obj_keys(s, keys);
	out->m = s->module;
	out->n = 0;
	for (unsigned i = 0; i < *all; i++)
		if (!store_has(a->store, &keys[i], NULL))
			out->keys[out->n++] = keys[i];
}

/* The copy is what is checked: the file may change under our hands. */
static int check_copy(struct draft *d, const struct key *k, bool *verified, struct err *e)
{
	struct view v = view_of_fd(draft_fd(d), draft_size(d));
	struct obj_slice slice;
	int r = obj_check(&v, k, &slice, e);

	*verified = r == 1;
	return r < 0 ? r : 0;
}

static int publish(struct adding *a, int fd, const char *path, const struct obj_slice *s,
	const struct store_learned *l, struct err *e)
{
	struct blob_facts facts = {.source = "add", .fetched = clock_wall()};
	_cleanup_free_ char *full = path_absolute(path);
	struct draft *d;
	int r = draft_new(&d, a->store, e);

	if (r < 0)
		return r;
	r = draft_copy(d, fd, s->off, s->size);
	if (r < 0)
		err_set(e, r, "%s", err_text(r));
	else
		r = check_copy(d, &l->keys[0], &facts.verified, e);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	snprintf(facts.url, sizeof(facts.url), "%s", full ? full : path);
	r = store_publish_learned(a->store, d, &l->keys[0], &facts, l, NULL, e);
	if (r == 0)
		a->bytes += s->size;
	return r;
}

static int add_slice(struct adding *a, int fd, const char *path, struct obj_slice *s, struct err *e)
{
	_cleanup_free_ struct store_learned *l = calloc(1, sizeof(*l));
	unsigned all;
	int r;

	if (!l)
		return -ENOMEM;
	name_slice(s, path);
	new_keys(a, s, l, &all);
	if (all == 0)
		return err_set(e, -ENOENT,
			"%s without an identifier that any layout could name it by", s->format);
	if (l->n == 0) {
		count(a, s->format, PLACED_PRESENT);
		return 0;
	}
	r = publish(a, fd, path, s, l, e);
	if (r == 0)
		count(a, s->format, PLACED_ADDED);
	return r;
}

/* Trouble of the store ends the command; a file that cannot be placed does not. */
static bool is_local(int r)
{
	return r == -ENOSPC || r == -EIO || r == -EROFS || r == -EDQUOT || r == -ENOMEM;
}

static int add_file(struct adding *a, int fd, const char *path, bool named)
{
	struct obj_slice slice;
	struct err e = {0};
	struct stat st;
	struct view v;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	v = view_of_fd(fd, (uint64_t)st.st_size);
	show_progress(a, path);
	for (unsigned i = 0; i < SLICES_MOST; i++) {
		r = obj_identify(&v, i, &slice, &e);
		if (r == -ENOENT && i > 0)
			return 0;
		if (r == -ENOMSG)
			err_set(&e, r, "of no format that symfs knows");
		if (r == 0)
			r = add_slice(a, fd, path, &slice, &e);
		if (is_local(r)) {
			clear_progress(a);
			fprintf(stderr, "symfs add: %s\n", e.text[0] ? e.text : err_text(r));
			a->status = EXIT_LOCAL;
			return r;
		}
		if (r < 0) {
			not_placed(a, path, e.text[0] ? e.text : err_text(r), named);
			return 0;
		}
	}
	return 0;
}

static int add_path(struct adding *a, const char *path, bool named, unsigned depth);

static int add_entry(struct adding *a, const char *dir, const char *name, unsigned depth)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(64 << 10);

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	buf_addf(&path, "%s/%s", dir, name);
	return add_path(a, buf_text(&path), false, depth + 1);
}

static int add_dir(struct adding *a, const char *path, unsigned depth)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort), r = 0;

	if (n < 0) {
		not_placed(a, path, err_text(errno), depth == 0);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_entry(a, path, names[i]->d_name, depth);
		free(names[i]);
	}
	free(names);
	return r;
}

static bool is_bundle(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return n > 5 && strncmp(path + n - 5, ".dSYM", 5) == 0;
}

/* Named links are followed, those that a directory holds are not: trees have loops. */
static int add_path(struct adding *a, const char *path, bool named, unsigned depth)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (named ? 0 : O_NOFOLLOW));
	struct stat st;

	if (fd < 0 && errno == ELOOP && !named)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0) {
		not_placed(a, path, err_text(errno), named);
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		if (named && !a->recurse && !is_bundle(path))
			not_placed(a, path, "a directory; -r adds what is in it", true);
		else if (depth >= DEPTH_MOST)
			not_placed(a, path, "too deep", false);
		else
			return add_dir(a, path, depth);
		return 0;
	}
	if (S_ISREG(st.st_mode))
		return add_file(a, fd, path, named);
	if (named)
		not_placed(a, path, "not a file", true);
	return 0;
}

static void print_summary(const struct adding *a)
{
	for (const struct tally *t = a->tallies; t->format; t++)
		printf("%s: added %" PRIu64 ", present %" PRIu64 "\n", t->format, t->added,
			t->present);
	printf("added %" PRIu64 ", present %" PRIu64 ", not placed %" PRIu64 "\n", a->added,
		a->present, a->unplaced);
}

static int run_add(int argc, char **argv)
{
	struct adding a = {.progress = isatty(STDERR_FILENO)};
	const struct opt own[] = {
		{"recursive", 'r', NULL, "add what is in directories, too", &a.recurse}, {0}};
	struct app_args args;
	struct err e = {0};
	struct app app;
	int status = app_options(&args, &cmd_add, own, &argc, argv), r;

	if (status >= 0)
		return status;
	if (argc < 2) {
		fprintf(stderr, "symfs add: which file? try: symfs add --help\n");
		return EXIT_USAGE;
	}
	r = app_open_store(&app, &args, &e);
	if (r < 0)
		fprintf(stderr, "symfs add: %s\n", e.text);
	a.store = app.store;
	a.status = app_exit(r);
	for (int i = 1; r == 0 && i < argc; i++)
		r = add_path(&a, argv[i], true, 0);
	clear_progress(&a);
	if (a.store)
		print_summary(&a);
	app_close(&app);
	return fflush(stdout) == 0 ? a.status : EXIT_LOCAL;
}

const struct cmd cmd_add = {
	.name = "add",
	.args = "[-r] PATH...",
	.help = "Puts files into the store, under every key that they answer to. A .dSYM bundle\n"
		"counts as a file. The last line says how many were added, were present, and\n"
		"could not be placed",
	.run = run_add,
};
