/* Readers of files that are still being downloaded, for tests of fetch/. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "fetches.h"

/* ---- a reader ----------------------------------------------------------------------- */

struct reader {
	pthread_mutex_t lock;
	pthread_cond_t told;
	unsigned times; /* under lock, also what follows */
	int r;
	struct part *part;
	struct blob *blob;
	struct ticket *ticket;
};

static inline void reader_ready(void *ctx, const struct fetched *f)
{
	struct reader *rd = ctx;
	LOCK_SCOPE(&rd->lock);

	rd->times++;
	rd->r = f->r;
	if (f->part) {
		part_open(f->part);
		rd->part = part_ref(f->part);
	}
	if (f->blob)
		rd->blob = blob_ref(f->blob);
	pthread_cond_signal(&rd->told);
}

static inline int reader_open_file(struct reader *rd, struct fetch *f, const struct artifact *a)
{
	*rd = (struct reader){.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
	ck_assert_int_eq(fetch_open(f, a, 1, FETCH_OPEN, reader_ready, rd, &rd->ticket), 0);
	pthread_mutex_lock(&rd->lock);
	while (!rd->times)
		pthread_cond_wait(&rd->told, &rd->lock);
	pthread_mutex_unlock(&rd->lock);
	ticket_unref(take(rd->ticket));
	return rd->r;
}

static inline int reader_open(struct reader *rd, struct fetch *f, unsigned n)
{
	struct artifact a = nth(n);

	return reader_open_file(rd, f, &a);
}

static inline void reader_close(struct reader *rd)
{
	if (rd->part)
		part_close(rd->part);
	part_unref(take(rd->part));
	blob_unref(take(rd->blob));
}

struct waited {
	pthread_mutex_t lock;
	pthread_cond_t told;
	unsigned times; /* under lock, also what follows */
	int r;
};

static inline void waited_ready(void *ctx, int r)
{
	struct waited *w = ctx;
	LOCK_SCOPE(&w->lock);

	w->times++;
	w->r = r;
	pthread_cond_signal(&w->told);
}

static inline void waited_for(struct waited *w, int r)
{
	pthread_mutex_lock(&w->lock);
	while (!w->times)
		pthread_cond_wait(&w->told, &w->lock);
	pthread_mutex_unlock(&w->lock);
	ck_assert_int_eq(w->r, r);
}

/* As a READ does: waits as often as it must. */
static inline ssize_t reader_read(struct reader *rd, uint64_t off, void *p, size_t n)
{
	for (;;) {
		struct waited w = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
		struct part_wait *pw = NULL;
		ssize_t got = part_read(rd->part, off, p, n);
		int r;

		if (got != -EAGAIN)
			return got;
		r = part_wait(rd->part, PART_ALL, off, n, waited_ready, &w, &pw);
		ck_assert_int_ge(r, 0);
		if (r == 1)
			continue;
		pthread_mutex_lock(&w.lock);
		while (!w.times)
			pthread_cond_wait(&w.told, &w.lock);
		pthread_mutex_unlock(&w.lock);
		part_wait_unref(pw);
		if (w.r < 0)
			return w.r;
	}
}

/* All of it, against what a file has. */
static inline void same_as_file(struct reader *rd, const char *path, uint64_t from)
{
	char have[65536], want[65536];
	uint64_t size = part_size(rd->part);
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	for (uint64_t at = from; at < size; at += sizeof(have)) {
		ssize_t r = reader_read(rd, at, have, sizeof(have));

		ck_assert_int_eq(r, (ssize_t)MIN(sizeof(have), size - at));
		ck_assert_int_eq(pread(fd, want, sizeof(want), (off_t)at), r);
		ck_assert_msg(memcmp(have, want, (size_t)r) == 0, "wrong bytes at %llu", (unsigned long long)at);
	}
	ck_assert_int_eq(part_read(rd->part, size, have, 1), 0);
	close(fd);
}

/* The same, against what the upstream has. */
static inline void same_as(struct reader *rd, const char *root, unsigned n, uint64_t from)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/buildid/%.40s/executable", scratch, root, id_text(n));
	same_as_file(rd, path, from);
}
