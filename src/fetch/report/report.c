/* Status as text: downloads under way, sources and their health and remembered misses. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/path.h"
#include "base/util.h"
#include "fetch/flight/flight.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- activity ----------------------------------------------------------------------- */

struct activity {
	struct fetch *f;
	struct buf *out;
	void (*line)(const struct flight *fl, struct buf *out);
	const struct key *only;
	uint64_t have, size;
};

static const char *const state_words[] = {
	[FLIGHT_CHECK] = "looking",
	[FLIGHT_FOLLOW] = "another symfs fetches it",
	[FLIGHT_RACE] = "asking",
	[FLIGHT_BODY] = "receiving",
	[FLIGHT_PARKED] = "waiting for open",
	[FLIGHT_SEAL] = "checking",
	[FLIGHT_CUT] = "asking for its file",
	[FLIGHT_MISS] = "missing",
	[FLIGHT_DONE] = "done",
};

/* ---- the processes that wait for a download ---- */

#define WAITERS_MOST 16

struct waiters {
	unsigned n;
	int pid[WAITERS_MOST];
};

static void add_waiter(void *ctx, int pid)
{
	struct waiters *w = ctx;

	for (unsigned i = 0; i < w->n; i++)
		if (w->pid[i] == pid)
			return;
	if (pid > 0 && w->n < WAITERS_MOST)
		w->pid[w->n++] = pid;
}

static void find_waiters(const struct flight *fl, struct waiters *out)
{
	out->n = 0;
	for (const struct ticket *t = fl->tickets; t; t = t->next)
		add_waiter(out, atomic_load(&t->pid));
	if (fl->readers.part)
		part_waiting(fl->readers.part, add_waiter, out);
}

/* Adds the process of the waiting thread, as "PID PROGRAM". A program can set its own name to any bytes. */
static void add_program(int thread, struct buf *out)
{
	_cleanup_free_ char *status = NULL, *name = NULL;
	char path[40];
	const char *at;
	int pid = thread;

	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	if (path_read(AT_FDCWD, path, 64 << 10, &status, NULL) == 0 && (at = strstr(status, "\nTgid:")))
		pid = (int)strtol(at + strlen("\nTgid:"), NULL, 10);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (path_read(AT_FDCWD, path, 256, &name, NULL) < 0)
		name = NULL;
	buf_addf(out, "%d ", pid);
	for (const char *p = name ? name : "?"; *p && *p != '\n'; p++)
		buf_addf(out, "%c", (unsigned char)*p <= ' ' || *p == ',' || *p == 0x7f ? '_' : *p);
}

static void add_waiters(const struct waiters *w, struct buf *out)
{
	for (unsigned i = 0; i < w->n; i++) {
		buf_adds(out, i ? "," : "");
		add_program(w->pid[i], out);
	}
}

/* ---- a line for each download ---- */

static bool knows_size(const struct flight *fl, uint64_t have)
{
	return have && fl->body.size != FETCH_SIZE_UNKNOWN && fl->body.size;
}

static void flight_line(const struct flight *fl, struct buf *out)
{
	uint64_t have = body_here(&fl->body), ms = clock_ms() - fl->began;
	unsigned exists = 0, whole = 0;
	struct waiters w;

	for (const struct ticket *t = fl->tickets; t; t = t->next)
		*(t->need != FETCH_EXISTS ? &whole : &exists) += 1;
	buf_addf(
		out, "%s: %s", fl->canon, state_words[fl->phase]);
	if (fl->body.winner)
		buf_addf(out, " from %s", fl->body.winner->source->name);
	if (have)
		buf_addf(out, ", %" PRIu64 " bytes", have);
	if (knows_size(fl, have))
		buf_addf(out, " of %" PRIu64 " (%u %%)", fl->body.size,
			(unsigned)(have * 100 / fl->body.size));
	if (have && ms)
		buf_addf(out, ", %" PRIu64 " kB/s", have / ms);
	if (fl->readers.part && part_opens(fl->readers.part))
		buf_adds(out, ", read as it comes");
	buf_addf(out, ", %u.%u s, %u waiting for the file, %u for its existence",
		(unsigned)(ms / 1000), (unsigned)(ms % 1000 / 100), whole, exists);
	find_waiters(fl, &w);
	buf_adds(out, w.n ? ": " : "");
	add_waiters(&w, out);
	buf_adds(out, "\n");
}

static void flight_fields(const struct flight *fl, struct buf *out)
{
	uint64_t have = body_here(&fl->body), ms = clock_ms() - fl->began;
	struct waiters w;

	buf_addf(out, "%s\t%s\t%s\t%" PRIu64 "\t", fl->canon, state_words[fl->phase],
		fl->body.winner ? fl->body.winner->source->name : "", have);
	if (knows_size(fl, have))
		buf_addf(out, "%" PRIu64, fl->body.size);
	buf_adds(out, "\t");
	if (have && ms)
		buf_addf(out, "%" PRIu64, have * 1000 / ms);
	buf_addf(out, "\t%" PRIu64 "\t", ms);
	find_waiters(fl, &w);
	add_waiters(&w, out);
	buf_adds(out, "\n");
}

static void activity_now(void *ctx)
{
	struct activity *a = ctx;

	for (const struct flight *fl = a->f->flights; fl; fl = fl->next)
		a->line(fl, a->out);
}

void fetch_downloads(struct fetch *f, struct buf *out)
{
	struct activity a = {.f = f, .out = out, .line = flight_fields};

	net_call(f->net, activity_now, &a);
}

void fetch_activity(struct fetch *f, struct buf *out)
{
	struct activity a = {.f = f, .out = out, .line = flight_line};

	net_call(f->net, activity_now, &a);
}

static void progress_now(void *ctx)
{
	struct activity *a = ctx;

	for (const struct flight *fl = a->f->flights; fl; fl = fl->next)
		if (key_equal(&fl->key, a->only) && fl->body.kind != BODY_NONE) {
			a->have = body_here(&fl->body);
			a->size = fl->body.size;
		}
}

bool fetch_progress(struct fetch *f, const struct key *k, uint64_t *have, uint64_t *size)
{
	struct activity a = {.f = f, .only = k, .size = FETCH_SIZE_UNKNOWN};

	net_call(f->net, progress_now, &a);
	*have = a.have;
	*size = a.size;
	return a.have > 0;
}

/* ---- sources and misses ------------------------------------------------------------- */

void fetch_source_state(struct fetch *f, const struct source *s, char out[static 240])
{
	int fd = -1, slot, r;
	char why[200];

	if (!s->kind->local) {
		breaker_text(f->breakers, s->origin, clock_ms(), out);
		return;
	}
	if (source_scans(s)) {
		trees_state(f, s, out);
		return;
	}
	slot = dir_enter(f, s, why);
	if (slot < 0) {
		snprintf(out, 240, "%s", why);
		return;
	}
	r = local_open_base(s, &fd);
	dir_leave(f, slot);
	if (r == 0)
		close(fd);
	snprintf(out, 240, "%s",
		r == 0	      ? "there"
		: r == -ELOOP ? "skipped: inside a symfs mount"
			      : err_text(r));
}

void fetch_sources_text(struct fetch *f, struct buf *out)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);

	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];
		char state[240];

		fetch_source_state(f, s, state);
		buf_addf(out, "%u\t%s\t%s\t%s\t%s\t%s\n", i + 1, s->name, s->kind->name,
			s->layout->name, s->shown, state);
	}
}

/* A field of CSV: quoted, quotes doubled. */
static void add_csv(struct buf *out, const char *text, const char *end)
{
	buf_adds(out, "\"");
	for (; *text; text++)
		buf_addf(out, "%s%c", *text == '"' ? "\"" : "", *text);
	buf_addf(out, "\"%s", end);
}

void fetch_missing_row(struct buf *out, const struct store_miss_row *row, int64_t asked)
{
	char since[24], until[24] = "";

	clock_print(row->since, since);
	if (row->until)
		clock_print(row->until, until);
	buf_addf(out, "%s,%s,", filetypes[row->key.type].name, row->key.id);
	add_csv(out, row->key.name, ",");
	add_csv(out, row->source, ",");
	buf_addf(out, "%s,%s,%" PRId64 "\n", since, until, asked);
}

void fetch_missing(struct fetch *f, struct buf *out)
{
	enum { PAGE = 64 };
	_cleanup_free_ struct store_miss_row *rows = calloc(PAGE, sizeof(*rows));
	int64_t after = 0;
	int n;

	buf_adds(out, "type,id,name,source,since,until,asked\n");
	while (rows && (n = store_list_misses(f->store, &after, rows, PAGE)) > 0)
		for (int i = 0; i < n; i++) {
			source_name_of_memory(rows[i].source);
			fetch_missing_row(out, &rows[i], rows[i].asked + miss_counts_get(f, &rows[i].key));
		}
}
