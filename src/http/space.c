/* Opens, finds and frees spaces. A space has the store of a namespace, and the modules that work on it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"
#include "intake/upload/assemble.h"

#include <stdio.h>
#include <string.h>

/* NULL is fine. */
static void space_free(struct space *s)
{
	if (!s)
		return;
	assembly_free(s->assembly);
	symb_free(s->symb);
	derive_free(s->derive);
	pthread_mutex_destroy(&s->misses.lock);
	missed_free(s->missed);
	pthread_mutex_destroy(&s->journal.lock);
	events_free(s->events);
	pthread_mutex_destroy(&s->hours.lock);
	free(s);
}

/* Makes the space of a namespace. `f` stays the caller's and must outlive it. 0, -errno. */
static int space_new(struct space **out, const char *name, struct fetch *f, const struct symb_limits *limits,
	struct err *e)
{
	struct space *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->fetch = f;
	pthread_mutex_init(&s->hours.lock, NULL);
	pthread_mutex_init(&s->misses.lock, NULL);
	pthread_mutex_init(&s->journal.lock, NULL);
	s->store = fetch_store(f);
	r = derive_new(&s->derive, f);
	if (r == 0)
		r = missed_new(&s->missed, s->store);
	if (r == 0)
		r = events_new(&s->events, s->store, exchange_resume);
	if (r < 0)
		err_set(e, r, "%s", err_text(r));
	else
		r = symb_new(&s->symb, f, limits, e);
	if (r == 0)
		symb_convert_idle(s->symb);
	if (r < 0) {
		space_free(s);
		return r;
	}
	*out = s;
	return 0;
}

/* ---- the spaces of a server ------------------------------------------------------------ */

/* Opens a space and appends it to the list. The caller holds the lock. */
static int open_space(struct http *h, const char *name, struct space **out, struct err *e)
{
	struct space *last = h->public;
	struct bucket *bucket = NULL;
	struct fetch *f = NULL;
	int r;

	if (atomic_load(&h->stopping))
		return err_set(e, -ESHUTDOWN, "%s: the server is stopping", name);
	if (!h->opts.open_space)
		return err_set(e, -ENOTSUP, "%s: this server has no namespaces", name);
	if (h->n_spaces >= HTTP_SPACES_MOST)
		return err_set(e, -E2BIG, "%s: a server has at most %d namespaces", name, HTTP_SPACES_MOST);
	r = h->opts.open_space(h->opts.ctx, name, &f, &bucket, e);
	if (r == 0)
		r = space_new(out, name, f, h->opts.limits, e);
	if (r < 0)
		return r;
	(*out)->bucket = bucket;
	while (last->next)
		last = last->next;
	last->next = *out;
	h->n_spaces++;
	log_info("namespace %s: opened", name);
	return 0;
}

static struct space *known_space(struct http *h, const char *name)
{
	struct space *s = h->public;

	while (s && strcmp(s->name, name) != 0)
		s = s->next;
	return s;
}

static int find_space(struct http *h, const char *name, struct space **out, struct err *e)
{
	LOCK_SCOPE(&h->spaces_lock);

	*out = known_space(h, name);
	return *out ? 0 : open_space(h, name, out, e);
}

/* The last failure to open this space, or the oldest failure of any. Under the lock. */
static struct space_failure *failure_of(struct http *h, const char *name)
{
	struct space_failure *oldest = h->failed;

	for (unsigned i = 0; i < HTTP_SPACES_MOST; i++) {
		if (strcmp(h->failed[i].name, name) == 0)
			return &h->failed[i];
		if (h->failed[i].when < oldest->when)
			oldest = &h->failed[i];
	}
	return oldest;
}

struct space *space_find(struct http *h, const char *name)
{
	LOCK_SCOPE(&h->spaces_lock);
	struct space *s = known_space(h, name);
	struct space_failure *had = failure_of(h, name);
	struct err e = {0};

	if (s || (strcmp(had->name, name) == 0 && clock_ms() - had->when < HTTP_SPACE_RETRY_MS))
		return s;
	if (open_space(h, name, &s, &e) == 0)
		return s;
	snprintf(had->name, sizeof(had->name), "%s", name);
	had->when = clock_ms();
	log_error("namespace %s", e.text);
	return NULL;
}

struct opening {
	struct http *h;
	struct err *e;
};

static int open_one(void *ctx, const struct auth_token *t)
{
	struct opening *o = ctx;
	struct space *s;

	return find_space(o->h, t->space, &s, o->e);
}

int spaces_open(struct http *h, struct fetch *f, struct err *e)
{
	struct opening o = {h, e};
	int r = space_new(&h->public, AUTH_PUBLIC, f, h->opts.limits, e);

	if (r < 0)
		return r;
	h->public->bucket = h->opts.bucket;
	return h->auth ? auth_each(h->auth, open_one, &o) : 0;
}

void spaces_stop(struct http *h)
{
	LOCK_SCOPE(&h->spaces_lock);

	for (struct space *s = h->public; s; s = s->next)
		symb_stop(s->symb);
}

void spaces_free(struct http *h)
{
	for (struct space *s = h->public, *next; s; s = next) {
		next = s->next;
		space_free(s);
	}
}
