/* symfs add: puts local files into the store, under every key that fits them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/bundle.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "intake/intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The numbers of files of one format. */
struct tally {
	const char *format; /* a static string */
	uint64_t added, present;
};

struct adding {
	struct intake_opts intake;
	bool progress;
	bool named; /* the command line names the file that is added */
	size_t dir; /* the length of the directory part of this file's path, which progress lines omit */
	uint64_t added, present, unplaced, bytes;
	uint64_t quota; /* the limit of the store, in bytes; 0: no limit */
	uint64_t shown; /* clock_ms() of the last progress line */
	int status; /* the exit status so far */
	struct tally tallies[24]; /* a tally for each format; there are fewer than 24 formats */
};

/* ---- messages ----------------------------------------------------------------------- */

/* Prints progress, at most every 200 ms. */
static void add_show(void *ctx, const char *shown)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	struct adding *a = ctx;
	uint64_t now = clock_ms();

	if (!a->progress || now - a->shown < 200)
		return;
	a->shown = now;
	fprintf(stderr, "\r\033[K%" PRIu64 " added, %.1f MB: %.60s", a->added,
		(double)a->bytes / 1e6, text_shown(shown + a->dir, true, &room));
}

/* Erases the progress line. */
static void add_show_end(struct adding *a)
{
	if (a->shown)
		fprintf(stderr, "\r\033[K");
	a->shown = 0;
}

/* Prints why a file is not placed. If the command line names the file (`named`), the command fails. */
static void add_refuse(struct adding *a, const char *shown, const char *why, bool named)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), text = BUF_UP_TO(4 << 10);

	add_show_end(a);
	printf("%s: not placed: %s\n", text_shown(shown, true, &room),
		text_shown(why, true, &text));
	a->unplaced++;
	if (named && a->status == EXIT_DONE)
		a->status = EXIT_NO;
}

/* Prints the error that ends the command. */
static void add_stop(struct adding *a, const char *why)
{
	add_show_end(a);
	cmd_say(0, "%s", why);
	a->status = EXIT_LOCAL;
}

static void add_count(struct adding *a, const struct intake_report *r)
{
	bool added = r->what != INTAKE_PRESENT;
	struct tally *t = a->tallies;

	while (t->format && strcmp(t->format, r->format) != 0 &&
		t < a->tallies + ARRAY_SIZE(a->tallies) - 1)
		t++;
	t->format = r->format;
	*(added ? &t->added : &t->present) += 1;
	*(added ? &a->added : &a->present) += 1;
	a->bytes += added ? r->size : 0;
}

static void add_report(void *ctx, const struct intake_report *r)
{
	struct adding *a = ctx;

	if (r->what != INTAKE_REFUSED)
		add_count(a, r);
	else if (intake_is_trouble(r->error))
		add_stop(a, r->why);
	else
		add_refuse(a, r->shown, r->why, a->named && !r->member);
}

static int add_file(void *ctx, const struct walk_file *f)
{
	_cleanup_free_ char *full = path_absolute(f->path);
	struct intake_item it = {.fd = f->fd,
		.size = f->size,
		.shown = f->path,
		.name = path_base(f->path),
		.from = full ? full : f->path,
		.named = f->named};
	struct adding *a = ctx;

	a->named = f->named;
	a->dir = (size_t)(path_base(f->path) - f->path);
	if (f->fd >= 0)
		return intake_take(&a->intake, &it, add_report, a);
	add_refuse(a, f->path, f->why, f->named);
	return 0;
}

/* ---- the command ---------------------------------------------------------------------- */

static void print_summary(const struct adding *a)
{
	for (const struct tally *t = a->tallies; t->format; t++)
		printf("%s: added %" PRIu64 ", present %" PRIu64 "\n", t->format, t->added,
			t->present);
	printf("added %" PRIu64 ", present %" PRIu64 ", not placed %" PRIu64 "\n", a->added,
		a->present, a->unplaced);
}

/* Warns if pinned files exceed the quota: pinned files count towards the quota, and are never evicted. */
static void warn_of_quota(const struct adding *a)
{
	struct store_totals t;

	if (a->quota == 0 || store_count(a->intake.store, &t) < 0 || t.pinned_bytes <= a->quota)
		return;
	cmd_say(0, "%s: pinned files take %" PRIu64 " bytes, the quota is %" PRIu64 ": they stay, and each download "
		"is evicted by the next; raise the quota, or release files with `symfs cache unpin` or `symfs cache "
		"rm`", store_dir(a->intake.store), t.pinned_bytes, a->quota);
}

static int run_add(int argc, char **argv)
{
	struct adding a = {.progress = isatty(STDERR_FILENO)};
	bool recurse; /* an old option */
	const struct opt own[] = {
		{"recursive", 'r', NULL, "the default: also the files in directories", &recurse}, {0}};
	struct app_args args;
	struct err e = {0};
	struct app app;
	int status, r;

	status = app_options(&args, &cmd_add, own, &argc, argv);
	if (status >= 0)
		return status;
	if (argc < 2)
		return cmd_usage("expected a file or directory");
	r = app_open_store(&app, &args, &e);
	if (r < 0)
		cmd_say(0, "%s", e.text);
	a.intake = (struct intake_opts){.store = app.store, .source = "add",
		.allow_unsandboxed = app.settings.allow_unsandboxed, .progress = add_show, .ctx = &a};
	a.quota = app.settings.quota;
	a.status = app_exit(r);
	for (int i = 1; r == 0 && i < argc; i++)
		r = walk_files(argv[i], add_file, &a);
	if (r == -ENOMEM)
		a.status = EXIT_LOCAL;
	add_show_end(&a);
	if (a.intake.store) {
		print_summary(&a);
		warn_of_quota(&a);
	}
	app_close(&app);
	return cmd_flush(a.status);
}

const struct cmd cmd_add = {
	.name = "add",
	.args = "FILE|DIR...",
	.help = "Adds files, and those in directories, to the store, under every key that fits\n"
		"them. An archive (zip, nupkg, tar, 7z, deb, rpm) is unpacked, and so is a file\n"
		"compressed with gzip, zstd, xz, bzip2 or as a cabinet. Added files are pinned:\n"
		"they count for the quota and are not evicted until `symfs cache unpin` or `rm`.\n"
		"The last line has the numbers of files that were added, were present, and could\n"
		"not be placed",
	.examples = {"symfs add build/",
		"symfs add prog.debug App.xcarchive.zip"},
	.configured = true,
	.run = run_add,
};
