/* symfs wait: waits until a file is there, in the store or at a source. Servers that run symfs report it at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "cmd/what.h"
#include "fetch/fetch.h"
#include "net/net.h"
#include "source/url.h"

#include <stdio.h>
#include <string.h>

#define SOON_MS 2000	 /* the pause between two questions in the first minute, */
#define FIRST_MS 60000
#define LATER_MS 10000	 /* after that, or while a server reports events */
#define EARS_MOST 8	 /* servers that are asked for events */
#define STALL_MS 60000	 /* a server sends something every 15 s */

/* A stream of events from one source. */
struct ear {
	struct wait *w;
	struct net_req req;
	struct transfer *t; /* net thread */
	bool deaf; /* under lock: the source has no events */
	bool open; /* under lock: the stream was begun and has not ended */
};

struct wait {
	struct app app;
	struct net *net;
	uint64_t until; /* clock_ms(); 0: no end */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under lock */
	bool poked;    /* a server reported an event */
	bool answered; /* of fetch_open() */
	int r;
	struct key key;
	char why[240];
	unsigned n;
	struct ear ears[EARS_MOST];
	int worst; /* the worst exit status so far */
};

/* ---- one question ------------------------------------------------------------------------ */

static void take_answer(struct wait *w, const struct fetched *f)
{
	w->r = f->r;
	w->key = f->key;
	snprintf(w->why, sizeof(w->why), "%s", f->why ? f->why : "");
	w->answered = true;
}

static void ready(void *ctx, const struct fetched *f)
{
	struct wait *w = ctx;
	LOCK_SCOPE(&w->lock);

	take_answer(w, f);
	pthread_cond_broadcast(&w->changed);
}

static void wait_until(struct wait *w, uint64_t when)
{
	uint64_t now = clock_ms();
	struct timespec t = clock_after(CLOCK_MONOTONIC, when > now ? (unsigned)(when - now) : 0);

	pthread_cond_timedwait(&w->changed, &w->lock, &t);
}

/* Asks the store and the sources; misses that are remembered do not count. 0, or why there is no file. */
static int ask(struct wait *w, const struct what *what)
{
	struct ticket *ticket = NULL;
	struct fetched f = {0};
	int r;

	for (unsigned i = 0; i < what->n; i++) {
		struct key k;

		if (key_of(&k, &what->files[i]) == 0)
			store_misses_clear(w->app.store, &k);
	}
	w->answered = false;
	r = fetch_try(w->app.fetch, what->files, what->n, FETCH_EXISTS, &f);
	if (r == 0)
		take_answer(w, &f);
	blob_unref(f.blob);
	if (r == -EAGAIN)
		r = fetch_open(w->app.fetch, what->files, what->n, FETCH_EXISTS, ready, w, &ticket);
	if (r < 0)
		return r;
	pthread_mutex_lock(&w->lock);
	while (!w->answered) /* not longer than the lookup deadline */
		pthread_cond_wait(&w->changed, &w->lock);
	pthread_mutex_unlock(&w->lock);
	if (ticket)
		ticket_unref(ticket);
	return w->r;
}

/* ---- events of servers --------------------------------------------------------------------- */

static int ear_head(void *ctx, const struct net_reply *r)
{
	struct ear *e = ctx;
	LOCK_SCOPE(&e->w->lock);

	e->deaf = r->status != 200 || strncmp(r->type, "text/event-stream", 17) != 0;
	return e->deaf ? -ECANCELED : 0;
}

/* An event that arrives in two pieces may be overlooked. The next question finds the file all the same. */
static int ear_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct ear *e = ctx;
	LOCK_SCOPE(&e->w->lock);

	if (memmem(p, n, "data:", 5)) {
		e->w->poked = true;
		pthread_cond_broadcast(&e->w->changed);
	}
	return 0;
}

static void ear_done(void *ctx, const struct net_reply *r)
{
	struct ear *e = ctx;
	LOCK_SCOPE(&e->w->lock);

	e->open = false;
}

static void ears_start(void *ctx)
{
	static const struct net_sink sink = {ear_head, ear_body, ear_done};
	struct wait *w = ctx;

	for (unsigned i = 0; i < w->n; i++) {
		struct ear *e = &w->ears[i];

		pthread_mutex_lock(&w->lock);
		if (e->open || e->deaf) {
			pthread_mutex_unlock(&w->lock);
			continue;
		}
		e->open = true;
		pthread_mutex_unlock(&w->lock);
		if (net_get(w->net, &e->req, &sink, e, &e->t) < 0) {
			LOCK_SCOPE(&w->lock);
			e->open = false;
			e->deaf = true;
		}
	}
}

/* Prepares the request for the events of a source, with the credentials of the source. */
static int ear_prepare(struct ear *e, const struct source *s, const char *path)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(16 << 10);
	struct source_ask ask = {0};
	int r = source_file(s, "events", &ask);

	if (r == 0)
		r = source_request(s, &ask, &e->req);
	source_ask_release(&ask);
	buf_addf(&url, "%s/events/", s->origin);
	if (r == 0)
		r = url_add_path(&url, path);
	if (r < 0)
		return r;
	free(e->req.url);
	e->req.url = strdup(buf_text(&url));
	e->req.stall_ms = STALL_MS;
	e->req.most = 0;
	return e->req.url ? 0 : -ENOMEM;
}

static void ears_prepare(struct wait *w, const struct artifact *a)
{
	_cleanup_free_ char *path = NULL;
	struct sources *so = NULL;
	struct err e = {0};

	if (w->app.args.offline || what_tree_path(a, &path) < 0 || app_sources(&w->app, &so, &e) < 0)
		return;
	for (unsigned i = 0; i < so->n && w->n < EARS_MOST; i++) {
		const struct source *s = so->list[i];
		struct ear *ear = &w->ears[w->n];

		/* Only a server of HTTP can be one of symfs. */
		if (s->kind->local || strcmp(s->kind->name, "http") != 0)
			continue;
		*ear = (struct ear){.w = w};
		if (ear_prepare(ear, s, path) == 0)
			w->n++;
		else
			net_req_release(&ear->req);
	}
	sources_unref(so);
}

static int ears_open(struct wait *w, const struct artifact *a)
{
	struct net_opts o = {.connections = EARS_MOST, .user_agent = "symfs wait"};
	struct err e = {0};

	ears_prepare(w, a);
	return w->n ? net_start(&w->net, &o, &e) : 0;
}

static void ears_close(struct wait *w)
{
	if (w->net)
		net_stop(take(w->net));
	while (w->n)
		net_req_release(&w->ears[--w->n].req);
}

/* ---- words ------------------------------------------------------------------------------------ */

/* Waits until it is worth asking again. */
static void pause_for(struct wait *w, uint64_t began)
{
	uint64_t now = clock_ms(), end = now + SOON_MS;
	bool hears = false;
	LOCK_SCOPE(&w->lock);

	for (unsigned i = 0; i < w->n; i++)
		hears |= w->ears[i].open;
	if (hears || now - began > FIRST_MS)
		end = now + LATER_MS;
	if (w->until)
		end = MIN(end, w->until);
	while (!w->poked && clock_ms() < end)
		wait_until(w, end);
	w->poked = false;
}

static int wait_for(void *ctx, const struct what *what)
{
	struct wait *w = ctx;
	uint64_t began = clock_ms();
	char room[KEY_TEXT];
	int r;

	if (what->hit && !tree_names_file(what->hit)) {
		cmd_say(0, "%s: the path means no file that can arrive", what->path);
		w->worst = MAX(w->worst, EXIT_NO);
		return 0;
	}
	r = ask(w, what);
	if (r < 0)
		ears_open(w, &what->files[0]);
	while (r < 0 && r != -ENOMEM && (!w->until || clock_ms() < w->until)) {
		if (w->net)
			net_post(w->net, ears_start, w);
		pause_for(w, began);
		r = ask(w, what);
	}
	ears_close(w);
	if (r == 0) {
		printf("%s\n", key_text(&w->key, room));
		return fflush(stdout) == 0 ? 0 : -EIO;
	}
	cmd_say(0, "%s%s", r == -ENOENT ? "not there in time: " : "", w->why[0] ? w->why : err_text(r));
	w->worst = MAX(w->worst, app_exit(r));
	return 0;
}

static void wait_for_word(struct wait *w, enum filetype type, const char *word)
{
	struct what_opts o = {.store = w->app.store, .type = type};
	struct err e = {0};
	int r = what_named(&o, word, wait_for, w, &e);

	if (r >= 0)
		return;
	cmd_say(0, "%s: %s", word, err_why(&e, r));
	w->worst = MAX(w->worst, what_exit(r));
}

/* ---- the command ---------------------------------------------------------------------------------- */

static int read_timeout(const char *word, uint64_t *until)
{
	static const struct conf_field field = {"timeout", CONF_MS, 0, NULL, NULL};
	struct err e = {0};
	unsigned ms = 0;
	int r = word ? conf_value(&field, word, &ms, "--timeout", &e) : 0;

	*until = word ? clock_ms() + ms : 0;
	return r < 0 ? cmd_say(r, "--timeout %s: expected a time, such as 30s or 10m", word) : 0;
}

static int run_wait(int argc, char **argv)
{
	const char *type_word = NULL, *timeout = NULL;
	const struct opt own[] = {
		{"timeout", 0, "TIME", "give up after this time, such as 30s or 10m", &timeout},
		{"type", 0, "TYPE", WHAT_TYPE_HELP, &type_word}, {0}};
	struct wait w = {.worst = EXIT_DONE};
	pthread_condattr_t by_clock;
	enum filetype type;
	struct app_args args;
	struct err e = {0};
	int status = app_options(&args, &cmd_wait, own, &argc, argv), r;

	if (status >= 0)
		return status;
	if (argc < 2)
		return cmd_usage("expected a path, an identifier, a key or a file");
	if (what_type(type_word, &type, &e) < 0)
		return cmd_say(EXIT_USAGE, "%s", e.text);
	if (read_timeout(timeout, &w.until) < 0)
		return EXIT_USAGE;
	app_adopt_mount(&args, argv[1]);
	r = app_open(&w.app, &args, &e);
	if (r < 0)
		cmd_say(0, "%s", e.text);
	pthread_mutex_init(&w.lock, NULL);
	pthread_condattr_init(&by_clock);
	pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
	pthread_cond_init(&w.changed, &by_clock);
	pthread_condattr_destroy(&by_clock);
	for (int i = 1; r == 0 && i < argc; i++)
		wait_for_word(&w, type, argv[i]);
	app_close(&w.app);
	pthread_cond_destroy(&w.changed);
	pthread_mutex_destroy(&w.lock);
	return r < 0 ? app_exit(r) : w.worst;
}

const struct cmd cmd_wait = {
	.name = "wait",
	.args = "[--timeout TIME] [--type TYPE] WHAT...",
	.help = "Waits until the store or a source has each file. Prints the key of each. A\n"
		"server that runs symfs reports the file at once; others are asked again and\n"
		"again. WHAT is as for `symfs get`",
	.examples = {"symfs wait --timeout 10m dfb85de42daffd09640c8fe377d572de3e168920",
		"symfs wait --source https://symbols.example.net ./prog && gdb ./prog"},
	.configured = true,
	.run = run_wait,
};
