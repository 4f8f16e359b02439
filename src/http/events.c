/* GET /events: tells clients which keys get a file, by server-sent events, while their connections stay open. Keeps
 * the last events of a store, and the text of the events for each listener. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/jtext.h"
#include "base/log.h"
#include "base/util.h"
#include "http/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_KEPT 256	 /* a listener that has not read an older event for it is dropped */
#define TEXT_MOST (64 << 10) /* bytes of memory for each listener */
#define QUIET_MS 15000	 /* the longest time without a byte, so that proxies keep the connection */
#define TOKEN_MS 5000	 /* the longest time between two checks of a listener's token, and a second */

struct event {
	enum filetype type;
	char id[KEY_ID_MAX];
	char *data; /* JSON */
};

struct events {
	struct store *store;
	void (*resume)(struct exchange *x);
	pthread_mutex_t lock;
	/* under lock */
	uint64_t next;			 /* the number of the next event, from 1 */
	struct event kept[EVENTS_KEPT];	 /* event N is at N % EVENTS_KEPT */
	struct listener *listeners;
};

struct wanted {
	enum filetype type;
	char id[KEY_ID_MAX];
};

struct listener {
	struct exchange *x;
	struct events *ev;
	unsigned n; /* of `wanted`; 0: all keys */
	struct wanted wanted[LAYOUT_CANDIDATES];
	/* the thread of the connection */
	struct buf text;
	size_t sent; /* bytes of `text` */
	/* under ev->lock */
	uint64_t at;	/* the number of the next event to look at */
	bool lost;	/* an event for this listener has left the ring */
	uint64_t quiet; /* clock_ms() of the last byte */
	uint64_t judged; /* clock_ms() of the last check of the token */
	bool waits;	/* the connection is suspended */
	bool ended;
	struct listener *next, **prev;
};

/* ---- events ---------------------------------------------------------------------------- */

static char *event_data(const struct store_arrival *a)
{
	_cleanup_buf_ struct buf out = BUF_UP_TO(TEXT_MOST / 2);
	char room[KEY_TEXT];
	size_t n;

	buf_adds(&out, "{\"key\":");
	jtext_add(&out, key_text(a->key, room));
	buf_addf(&out, ",\"type\":\"%s\",\"size\":%" PRIu64 ",\"sha256\":\"%.64s\",\"source\":",
		filetypes[a->key->type].name, a->size, a->sha256);
	jtext_add(&out, a->source);
	/* with the NUL */
	return buf_add(&out, "}", 2) == 0 ? buf_take(&out, &n) : NULL;
}

static bool wants(const struct listener *l, enum filetype type, const char *id)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->wanted[i].type == type && strcmp(l->wanted[i].id, id) == 0)
			return true;
	return l->n == 0;
}

/* Resumes the listeners that `due` chooses. A connection is resumed without the lock, because its thread may take the
 * lock at once. */
static void wake(struct events *ev, bool (*due)(const struct listener *l, const void *ctx), const void *ctx)
{
	for (;;) {
		struct exchange *x = NULL;

		pthread_mutex_lock(&ev->lock);
		for (struct listener *l = ev->listeners; l && !x; l = l->next)
			if (l->waits && due(l, ctx)) {
				l->waits = false;
				x = l->x;
			}
		pthread_mutex_unlock(&ev->lock);
		if (!x)
			return;
		ev->resume(x);
	}
}

static bool is_about(const struct listener *l, const void *ctx)
{
	const struct key *k = ctx;

	return wants(l, k->type, k->id);
}

/* The oldest event leaves the ring. A listener that has not looked at it loses it only if it wants the key. Under
 * ev->lock. */
static void let_go(struct events *ev, const struct event *e)
{
	for (struct listener *l = ev->listeners; l; l = l->next)
		if (ev->next - l->at == EVENTS_KEPT) {
			l->lost |= wants(l, e->type, e->id);
			l->at++;
		}
}

static void arrived(void *ctx, const struct store_arrival *a)
{
	struct events *ev = ctx;
	char *data = event_data(a);
	struct event *e;

	if (!data)
		return;
	pthread_mutex_lock(&ev->lock);
	e = &ev->kept[ev->next % EVENTS_KEPT];
	if (e->data)
		let_go(ev, e);
	ev->next++;
	free(e->data);
	e->type = a->key->type;
	snprintf(e->id, sizeof(e->id), "%s", a->key->id);
	e->data = data;
	pthread_mutex_unlock(&ev->lock);
	wake(ev, is_about, a->key);
}

int events_new(struct events **out, struct store *s, void (*resume)(struct exchange *x))
{
	struct events *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return -ENOMEM;
	pthread_mutex_init(&ev->lock, NULL);
	ev->store = s;
	ev->resume = resume;
	ev->next = 1;
	store_watch(s, arrived, ev);
	*out = ev;
	return 0;
}

void events_free(struct events *ev)
{
	if (!ev)
		return;
	store_watch(ev->store, NULL, NULL);
	for (unsigned i = 0; i < EVENTS_KEPT; i++)
		free(ev->kept[i].data);
	pthread_mutex_destroy(&ev->lock);
	free(ev);
}

static bool is_due(const struct listener *l, const void *ctx)
{
	uint64_t now = clock_ms();

	return now - l->quiet >= QUIET_MS || (l->x->known && now - l->judged >= TOKEN_MS);
}

void events_tick(struct events *ev)
{
	wake(ev, is_due, NULL);
}

static bool is_ended(const struct listener *l, const void *ctx)
{
	return l->ended;
}

void events_end(struct events *ev)
{
	pthread_mutex_lock(&ev->lock);
	for (struct listener *l = ev->listeners; l; l = l->next)
		l->ended = true;
	pthread_mutex_unlock(&ev->lock);
	wake(ev, is_ended, NULL);
}

/* ---- listeners ------------------------------------------------------------------------- */

/* Under ev->lock. */
static int add_event(struct listener *l, const struct event *e, uint64_t number)
{
	return buf_addf(&l->text, "event: arrived\nid: %" PRIu64 "\ndata: %s\n\n", number, e->data);
}

/* Moves the events that the listener has not seen into its text. Under ev->lock. */
static void take_events(struct listener *l)
{
	struct events *ev = l->ev;

	if (l->lost) {
		buf_adds(&l->text, "event: lost\ndata: {}\n\n");
		l->ended = true;
		return;
	}
	for (; l->at < ev->next; l->at++) {
		const struct event *e = &ev->kept[l->at % EVENTS_KEPT];

		if (wants(l, e->type, e->id) && add_event(l, e, l->at) < 0)
			return; /* the text is full; the rest follows when it was sent */
	}
}

/* Whether the listener has something to send. */
static bool fill(struct listener *l)
{
	LOCK_SCOPE(&l->ev->lock);

	if (l->sent < l->text.n)
		return true;
	buf_clear(&l->text);
	l->sent = 0;
	if (!l->ended)
		take_events(l);
	if (!l->text.n && clock_ms() - l->quiet >= QUIET_MS)
		buf_adds(&l->text, ":\n\n");
	if (l->text.n)
		l->quiet = clock_ms();
	return l->text.n > 0;
}

/* Whether the token of the client must be checked again: true every few seconds. */
static bool must_check(struct listener *l)
{
	uint64_t now = clock_ms();
	LOCK_SCOPE(&l->ev->lock);

	if (!l->x->known || now - l->judged < TOKEN_MS)
		return false;
	l->judged = now;
	return true;
}

ssize_t listener_read(struct listener *l, bool (*still)(struct exchange *x), char *out, size_t most)
{
	size_t n;

	if (must_check(l) && !still(l->x))
		return -1;
	if (!fill(l)) {
		LOCK_SCOPE(&l->ev->lock);

		return l->ended ? -1 : 0;
	}
	n = MIN(most, l->text.n - l->sent);
	memcpy(out, l->text.p + l->sent, n);
	l->sent += n;
	return (ssize_t)n;
}

int listener_wait(struct listener *l)
{
	LOCK_SCOPE(&l->ev->lock);

	if (l->ended || l->at < l->ev->next)
		return 1;
	l->waits = true;
	return 0;
}

void listener_cancel(struct listener *l)
{
	bool waited;

	pthread_mutex_lock(&l->ev->lock);
	l->ended = true;
	waited = l->waits;
	l->waits = false;
	pthread_mutex_unlock(&l->ev->lock);
	if (waited)
		l->ev->resume(l->x);
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->ev->lock);
	*l->prev = l->next;
	if (l->next)
		l->next->prev = l->prev;
	pthread_mutex_unlock(&l->ev->lock);
	buf_release(&l->text);
	free(l);
}

/* What the client hears at once: that it listens, and which of its keys have a file. */
static void greet(struct listener *l)
{
	const struct tree_hit *hit = &l->x->route->hit;

	buf_adds(&l->text, "retry: 2000\n\n");
	for (unsigned i = 0; l->n && i < hit->n; i++) {
		struct store_arrival a = {.sha256 = "", .source = ""};
		struct key k, stored;
		char *data;

		if (key_of(&k, &hit->files[i]) < 0)
			continue;
		stored = store_key(l->ev->store, &k);
		a.key = &stored;
		if (!store_has(l->ev->store, &stored, &a.size))
			continue;
		data = event_data(&a);
		if (data)
			buf_addf(&l->text, "event: stored\ndata: %s\n\n", data);
		free(data);
	}
}

struct listener *listener_new(struct exchange *x)
{
	struct events *ev = x->space->events;
	struct listener *l = calloc(1, sizeof(*l));
	const struct tree_hit *hit = &x->route->hit;

	if (!l)
		return NULL;
	l->x = x;
	l->ev = ev;
	l->text = BUF_UP_TO(TEXT_MOST);
	for (unsigned i = 0; i < hit->n; i++) {
		struct key k;

		if (key_of(&k, &hit->files[i]) < 0)
			continue;
		l->wanted[l->n].type = k.type;
		snprintf(l->wanted[l->n++].id, sizeof(l->wanted[0].id), "%s", k.id);
	}
	l->quiet = l->judged = clock_ms();
	pthread_mutex_lock(&ev->lock);
	l->at = ev->next;
	l->next = ev->listeners;
	if (l->next)
		l->next->prev = &l->next;
	l->prev = &ev->listeners;
	ev->listeners = l;
	pthread_mutex_unlock(&ev->lock);
	greet(l); /* after the listener is on the list, so that no key is missed between */
	return l;
}
