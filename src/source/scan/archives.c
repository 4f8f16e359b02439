/* Reads the archives of a tree with several threads, after the walk. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/beneath.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "source/scan/private.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define READERS_MOST 4u
#define NICE 10		    /* of the readers and of the workers that they start */
#define INDEX_MS 1000	    /* how often the index is updated with the archives read so far */
#define SAVE_MS 60000	    /* how often the memory file is written meanwhile */
#define AGAIN_MS 600000	    /* from trouble of this machine to the next try */

/* An archive to read, and what was found. */
struct order {
	const struct scan_dir *dir;
	struct scan_file *file;
	char *keys;
	uint32_t members;
	enum scan_kind kind; /* SCAN_PLAIN: it could not be read, and the log does not say why */
	int r;
};

struct reader_pool {
	struct scan *s;
	pthread_mutex_t lock;
	pthread_cond_t more; /* an order was done, or a reader has ended */
	/* under `lock` */
	struct order *orders;
	size_t n, next;
	size_t *done; /* the orders that are done, in that order */
	size_t n_done;
	unsigned readers; /* that still run */
	bool pause;	  /* no further order is begun */
};

/* ---- one archive --------------------------------------------------------------------- */

static bool is_unchanged(int fd, const struct scan_file *f)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == f->ino && (uint64_t)st.st_size == f->size &&
		mtime_of(&st) == f->mtime;
}

static int open_archive(const struct scan *s, const struct order *o, int *fd)
{
	_cleanup_close_ int root = open(s->path, O_PATH | O_DIRECTORY | O_CLOEXEC), dir = -1;
	int r = root < 0 ? -errno : beneath_open_dir(&(struct beneath){.base = root}, o->dir->path, &dir);

	return r < 0 ? r : beneath_open_name(dir, o->file->name, fd);
}

/* A file that changed since the walk is read after the next walk. */
static void carry_out(struct scan *s, struct order *o)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(4 * PATH_MAX);
	_cleanup_close_ int fd = -1;

	o->r = open_archive(s, o, &fd);
	if (o->r == 0 && !is_unchanged(fd, o->file))
		o->r = -ESTALE;
	if (o->r == 0)
		o->r = buf_addf(&shown, "%s/%s%s%s", s->path, o->dir->path, *o->dir->path ? "/" : "", o->file->name);
	if (o->r == 0)
		o->r = archive_keys(s, fd, o->file->size, buf_text(&shown), &o->keys, &o->members, &o->kind);
}

/* ---- readers ------------------------------------------------------------------------- */

static struct order *begin_order(struct reader_pool *p)
{
	LOCK_SCOPE(&p->lock);

	return p->pause || p->next == p->n || scan_stopping(p->s) ? NULL : &p->orders[p->next++];
}

static void end_order(struct reader_pool *p, const struct order *o)
{
	struct pollfd events = {.fd = p->s->inotify, .events = POLLIN};
	LOCK_SCOPE(&p->lock);

	p->done[p->n_done++] = (size_t)(o - p->orders);
	p->pause |= p->s->inotify >= 0 && poll(&events, 1, 0) > 0;
	pthread_cond_signal(&p->more);
}

static void *read_orders(void *ctx)
{
	struct reader_pool *p = ctx;
	struct order *o;

	/* On Linux this is the thread's own priority, and the workers inherit it. An error does not matter. */
	setpriority(PRIO_PROCESS, 0, NICE);
	while ((o = begin_order(p))) {
		carry_out(p->s, o);
		end_order(p, o);
	}
	LOCK_SCOPE(&p->lock);
	p->readers--;
	pthread_cond_signal(&p->more);
	return NULL;
}

static unsigned start_readers(struct reader_pool *p, pthread_t threads[static READERS_MOST])
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = MIN((unsigned)MAX(cpus, 1L), READERS_MOST);
	unsigned started = 0;

	while (started < MIN((size_t)n, p->n)) {
		LOCK_SCOPE(&p->lock);
		if (pthread_create(&threads[started], NULL, read_orders, p) != 0)
			break;
		started++;
		p->readers++;
	}
	return started;
}

/* ---- results ------------------------------------------------------------------------- */

/* Only the scan thread changes files, so only it calls this. */
static void take_result(struct scan *s, struct order *o)
{
	bool too_many = s->files + s->members + o->members > s->most || s->names > SCAN_NAMES;
	size_t names;
	LOCK_SCOPE(&s->lock);

	s->archives_new--;
	s->changed = true;
	if (o->r < 0)
		o->file->mtime = -1;
	/* Against -EPERM only a change of the system or of the configuration helps. */
	if (o->r < 0 && o->r != -EPERM && !s->again_ms)
		s->again_ms = clock_ms() + AGAIN_MS;
	if (o->r == 0 && too_many) {
		log_warn("%s/%s: left out: more than a million files, or four million members",
			o->dir->path, o->file->name);
		o->kind = SCAN_ARCHIVE_FAULTY;
		free(o->keys);
		o->keys = NULL;
		o->members = 0;
	}
	o->file->keys = take(o->keys);
	o->file->members = o->members;
	o->file->kind = o->kind;
	s->members += o->members;
	names_of(o->file, &names);
	s->names += names;
	s->archives_read += o->kind != SCAN_PLAIN;
	s->archives_faulty += o->kind == SCAN_ARCHIVE_FAULTY;
}

/* Takes the results as they come, until all readers have ended. */
static void take_results(struct reader_pool *p)
{
	size_t taken = 0;

	pthread_mutex_lock(&p->lock);
	while (p->readers || taken < p->n_done) {
		struct order *o;

		if (taken == p->n_done) {
			pthread_cond_wait(&p->more, &p->lock);
			continue;
		}
		o = &p->orders[p->done[taken++]];
		pthread_mutex_unlock(&p->lock);
		take_result(p->s, o);
		if (clock_ms() - p->s->indexed_ms > INDEX_MS)
			index_build(p->s);
		if (clock_ms() - p->s->saved_ms > SAVE_MS)
			memory_write(p->s);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
}

/* ---- all archives -------------------------------------------------------------------- */

/* Lists the archives to read. 0, -ENOMEM. */
static int list_orders(struct reader_pool *p)
{
	struct scan *s = p->s;

	p->orders = calloc(MAX(s->archives_new, (uint64_t)1), sizeof(*p->orders));
	p->done = calloc(MAX(s->archives_new, (uint64_t)1), sizeof(*p->done));
	if (!p->orders || !p->done)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_dirs; i++)
		for (size_t j = 0; j < s->dirs[i]->n && p->n < s->archives_new; j++)
			if (s->dirs[i]->files[j].kind == SCAN_ARCHIVE_NEW)
				p->orders[p->n++] = (struct order){.dir = s->dirs[i], .file = &s->dirs[i]->files[j]};
	return 0;
}

bool archives_read(struct scan *s)
{
	struct reader_pool p = {.s = s};
	pthread_t threads[READERS_MOST];
	unsigned n = 0;

	if (!s->archives_new)
		return true;
	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.more, NULL);
	if (list_orders(&p) == 0)
		n = start_readers(&p, threads);
	take_results(&p);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	index_build(s);
	free(p.orders);
	free(p.done);
	pthread_cond_destroy(&p.more);
	pthread_mutex_destroy(&p.lock);
	return !s->archives_new;
}
