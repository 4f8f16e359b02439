/* Sends files to a server by Sentry's chunk upload: asks which chunks it lacks, sends those on several
 * connections, and waits until each file is stored or refused. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/inflate.h"
#include "base/utf8.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "cmd/push/push.h"
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MOST (64u << 20)
#define TRIES 6u	   /* of a request that a server or the network did not take */
#define ROUNDS 4u	   /* sendings of chunks that the server asks for again */
#define WAIT_LEAST_MS 50u  /* between two questions about files that are being stored */
#define WAIT_MOST_MS 1000u
#define STORE_MS 1800000u  /* longest wait for the server to store the files of a batch */
#define SHOW_MS 200	   /* between two drawings of the progress */
#define LEVEL_LEAST 512u   /* bytes: a shorter chunk is sent as it is */

/* ---- requests ----------------------------------------------------------------------------- */

static int push_sender(struct push *p, struct sender **out)
{
	char *headers[] = {p->header, NULL};
	const struct send_opts o = {.user_agent = "symfs/" VERSION,
		.unix_path = p->unix_path,
		.headers = p->header ? headers : p->way.headers, /* --token-file before the source's token */
		.way = &p->way,
		.stop = &p->stop};

	return sender_new(out, &o);
}

/* Waits, unless the user interrupts. */
static void push_pause(struct push *p, uint64_t ms)
{
	uint64_t end = clock_ms() + ms;

	while (clock_ms() < end && !atomic_load(&p->stop))
		poll(NULL, 0, (int)MIN(end - clock_ms(), 100u));
}

/* Whether the same request may succeed later. */
static bool is_passing(int r, int status)
{
	if (r == 0)
		return status == 429 || (status >= 502 && status <= 504) || status == 507;
	return r == -ECONNREFUSED || r == -ECONNRESET || r == -ETIMEDOUT || r == -EPIPE || r == -EHOSTUNREACH;
}

/* Writes why a request did not succeed: the server, the fact, and a way out. */
static void why_not(const struct push *p, int r, const struct send_reply *a, char *out, size_t room)
{
	char reason[SENTRY_TEXT_MAX];
	const char *what;

	if (r < 0) {
		snprintf(out, room, "%s: %s", buf_text(&p->where), a->text[0] ? a->text : err_text(r));
		return;
	}
	sentry_refusal_read((struct span){(const uint8_t *)buf_text(&a->body), a->body.n}, reason);
	if (!reason[0] && buf_text(&a->body)[0] != '<')
		snprintf(reason, sizeof(reason), "%.300s", buf_text(&a->body));
	reason[strcspn(reason, "\n")] = '\0';
	if (a->location[0])
		what = "it redirects; give that URL instead";
	else if (a->status == 401)
		what = p->header || p->way.headers ? "the token is wrong or has expired"
			: "a token is needed: --token-file FILE";
	else if (a->status == 403)
		what = reason[0] ? "" : "the token may not upload";
	else if (a->status == 404 || a->status == 405)
		what = "no server takes uploads at this URL; check it, or start `symfs serve --upload` there";
	else
		what = "";
	if (what[0])
		reason[0] = '\0'; /* the server's words for the same */
	snprintf(out, room, "%s: HTTP %d%s%s%s%s%s%s", buf_text(&p->where), a->status,
		reason[0] ? ": " : "", reason, what[0] ? ": " : "", what, a->location[0] ? ": " : "", a->location);
}

/* Sends a request until it is answered for good, or `tries` reaches TRIES. The result of sender_do(). */
static int send_until(
	struct push *p, struct sender *s, const struct send_req *q, unsigned *tries, struct send_reply *out)
{
	char text[1600];
	int r = 0;

	while (!atomic_load(&p->stop)) {
		buf_clear(&out->body);
		r = sender_do(s, q, out);
		if (!is_passing(r, out->status) || ++*tries >= TRIES)
			return r;
		if ((*tries == 3 || out->retry_after > 1) && !atomic_exchange(&p->waits, true)) {
			why_not(p, r, out, text, sizeof(text));
			cmd_say(0, "%s; asking again for a while", text);
		}
		push_pause(p, out->retry_after >= 0 ? (uint64_t)MIN(out->retry_after, 60) * 1000
							   : 125ull << *tries);
	}
	return r < 0 ? r : -EINTR;
}

static int push_trouble(struct push *p, int r, const struct send_reply *a)
{
	char text[1600];

	if (r == -EINTR || atomic_load(&p->stop))
		return push_fail(p, EXIT_INTERRUPTED, "interrupted");
	why_not(p, r, a, text, sizeof(text));
	return push_fail(p, r == -ENOMEM ? EXIT_LOCAL : EXIT_UNASKED, "%s", text);
}

int push_ask(struct push *p)
{
	struct send_reply a = {.body = BUF_UP_TO(1 << 20)};
	struct sender *s = NULL;
	struct err e = {0};
	char url[2048];
	int r = push_sender(p, &s);

	snprintf(url, sizeof(url), "%s/api/0/organizations/symfs/chunk-upload/", p->base);
	if (r == 0)
		r = send_until(p, s, &(struct send_req){.url = url}, &(unsigned){0}, &a);
	if (r < 0 || a.status != 200) {
		r = push_trouble(p, r, &a);
	} else {
		r = sentry_options_read(&p->server, (struct span){(const uint8_t *)buf_text(&a.body), a.body.n}, &e);
		if (r < 0)
			r = push_fail(p, EXIT_UNASKED, "%s: the answer %s: no server of this protocol",
				buf_text(&p->where), e.text);
	}
	buf_release(&a.body);
	sender_free(s);
	return r;
}

/* ---- chunks --------------------------------------------------------------------------------- */

/* A chunk to send: a range of a file. */
struct piece {
	struct push_file *f;
	uint32_t nth;
};

/* A chunk that is being sent. */
struct pouring {
	struct push *p;
	const struct piece *piece;
	int fd;
	uint64_t off, n, at;
	uint64_t counted; /* bytes that p->sent counts already: a chunk that is sent again counts once */
	bool packs;
	struct gzip *gzip; /* of a chunk that is packed */
	char name[SHA1_TEXT];
};

static ssize_t pour_raw(void *ctx, void *out, size_t room)
{
	struct pouring *g = ctx;
	ssize_t n;

	do {
		n = pread(g->fd, out, (size_t)MIN(g->n - g->at, (uint64_t)room), (off_t)(g->off + g->at));
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : g->at < g->n ? -ENODATA : 0;
	g->at += (uint64_t)n;
	if (g->at > g->counted) {
		atomic_fetch_add(&g->p->sent, g->at - g->counted);
		atomic_fetch_add(&g->piece->f->sent, g->at - g->counted);
		g->counted = g->at;
	}
	return n;
}

static ssize_t pour(void *ctx, void *out, size_t room)
{
	struct pouring *g = ctx;

	return g->gzip ? gzip_read(g->gzip, out, room) : pour_raw(g, out, room);
}

static int pour_again(void *ctx)
{
	struct pouring *g = ctx;

	g->at = 0;
	gzip_free(take(g->gzip));
	return g->packs ? gzip_new(&g->gzip, pour_raw, g) : 0;
}

static int pour_open(struct pouring *g, struct push *p, const struct piece *piece, struct send_part *part)
{
	uint64_t chunk = p->server.chunk;

	g->p = p;
	g->piece = piece;
	g->off = piece->nth * chunk;
	g->n = MIN(chunk, piece->f->size - g->off);
	g->fd = open(piece->f->path, O_RDONLY | O_CLOEXEC);
	if (g->fd < 0)
		return -errno;
	if (!atomic_load(&piece->f->began))
		atomic_store(&piece->f->began, clock_ms());
	sha1_text(&piece->f->chunks[piece->nth], g->name);
	g->packs = p->server.gzip && g->n >= LEVEL_LEAST;
	*part = (struct send_part){.name = g->packs ? "file_gzip" : "file", .file_name = g->name, .read = pour,
		.rewind = pour_again, .ctx = g};
	return 0;
}

static void pour_close(struct pouring *g)
{
	gzip_free(g->gzip);
	if (g->fd >= 0)
		close(g->fd);
}

/* The chunks that a batch must send, and what the threads share. */
struct sending {
	struct push *p;
	struct piece *pieces;
	size_t n, room;
	atomic_size_t next;
	pthread_mutex_t lock;
	/* under lock */
	int r; /* the first error: 0, -errno; 1: the server refused with a.status */
	struct send_reply a;
};

/* Takes the next chunks that fit into one request. Returns their number; 0: none is left. */
static size_t take_pieces(struct sending *g, size_t *first)
{
	const struct sentry_options *o = &g->p->server;
	size_t most = MIN(o->request / o->chunk, (uint64_t)o->chunks), n;

	LOCK_SCOPE(&g->lock);
	*first = atomic_load(&g->next);
	n = g->r ? 0 : MIN(MAX(most, (size_t)1), g->n - *first);
	atomic_store(&g->next, *first + n);
	return n;
}

static void keep_error(struct sending *g, int r, struct send_reply *a)
{
	LOCK_SCOPE(&g->lock);

	if (g->r)
		return;
	g->r = r < 0 ? r : 1;
	g->a = *a;
	a->body = BUF_UP_TO(0);
}

static int send_pieces(struct sending *g, struct sender *s, const char *url, size_t first, size_t n)
{
	struct send_reply a = {.body = BUF_UP_TO(1 << 20)};
	struct send_part parts[SENTRY_PARTS_MOST];
	struct pouring pours[SENTRY_PARTS_MOST];
	struct send_req q = {.url = url, .parts = parts, .n_parts = (unsigned)n};
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		pours[i] = (struct pouring){.fd = -1};
		if (r == 0)
			r = pour_open(&pours[i], g->p, &g->pieces[first + i], &parts[i]);
		if (r < 0 && !a.text[0])
			snprintf(a.text, sizeof(a.text), "%.120s: %.60s", g->pieces[first + i].f->path, err_text(r));
	}
	if (r == 0)
		r = send_until(g->p, s, &q, &(unsigned){0}, &a);
	if (r < 0 || a.status < 200 || a.status >= 300)
		keep_error(g, r, &a);
	for (size_t i = 0; i < n; i++)
		pour_close(&pours[i]);
	buf_release(&a.body);
	return r;
}

static void *send_main(void *ctx)
{
	struct sending *g = ctx;
	struct sender *s = NULL;
	char url[2048];
	size_t first, n;

	snprintf(url, sizeof(url), "%s/api/0/organizations/symfs/chunk-upload/", g->p->base);
	if (push_sender(g->p, &s) < 0) {
		struct send_reply a = {0};

		keep_error(g, -ENOMEM, &a);
	}
	while (s && (n = take_pieces(g, &first)))
		send_pieces(g, s, url, first, n);
	sender_free(s);
	return NULL;
}

/* Sends all chunks of `g` on several connections. 0; -1. */
static int send_all(struct sending *g)
{
	struct push *p = g->p;
	unsigned n = MIN(MIN(p->server.concurrency, PUSH_THREADS), (unsigned)MIN(g->n, (size_t)PUSH_THREADS)),
		begun = 0;
	pthread_t threads[PUSH_THREADS];

	for (; begun < n; begun++)
		if (pthread_create(&threads[begun], NULL, send_main, g) != 0)
			break;
	if (!begun && n)
		send_main(g);
	for (unsigned i = 0; i < begun;) {
		struct timespec until = clock_after(CLOCK_REALTIME, SHOW_MS);

		if (pthread_timedjoin_np(threads[i], NULL, &until) == ETIMEDOUT)
			push_show(p, "sending");
		else
			i++;
	}
	return g->r ? push_trouble(p, MIN(g->r, 0), &g->a) : 0;
}

/* ---- assembling ------------------------------------------------------------------------------- */

struct batch {
	struct push *p;
	size_t from, to;
	struct sending sending;
	unsigned waiting; /* files that are not at their end */
	unsigned tries;	  /* since a file came to its end: a server whose disk is full begins again each time */
	bool first;	  /* the first question: what is stored now was stored before */
	int r;
};

static int add_piece(struct sending *g, struct push_file *f, const struct sha1 *chunk)
{
	uint64_t n;

	for (size_t i = 0; i < g->n; i++)
		if (sha1_equal(&g->pieces[i].f->chunks[g->pieces[i].nth], chunk))
			return 0;
	for (uint32_t i = 0; i < f->n_chunks; i++) {
		if (!sha1_equal(&f->chunks[i], chunk))
			continue;
		if (grow(&g->pieces, &g->room, g->n, sizeof(*g->pieces)) < 0)
			return -ENOMEM;
		g->pieces[g->n++] = (struct piece){f, i};
		n = MIN(g->p->server.chunk, f->size - i * g->p->server.chunk);
		g->p->to_send += n;
		f->to_send += n;
		return 0;
	}
	return 0;
}

static void take_result(struct batch *b, struct push_file *f, const struct sentry_answer *a)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(4 << 10);
	struct push *p = b->p;
	bool old = b->first || strcmp(a->dif.what, "present") == 0;

	b->tries = 0;
	if (a->state == SENTRY_ERROR) {
		f->result = PUSH_REFUSED;
		push_refuse(p, f, a->detail[0] ? a->detail : "refused without a reason");
		return;
	}
	f->result = old ? PUSH_PRESENT : PUSH_ADDED;
	*(old ? &p->present : &p->added) += 1;
	if (p->verbose) {
		progress_erase(&p->progress);
		printf("%s: %s %s %s %s%s%s\n", f->path, old ? "present" : "added", a->dif.format, a->dif.arch,
			a->dif.code_id[0] ? a->dif.code_id : a->dif.debug_id, a->detail[0] ? ": " : "",
			text_shown(a->detail, true, &room));
	}
}

/* Several local files may have the same bytes. */
static int each_answer(void *ctx, const struct sentry_answer *a)
{
	struct batch *b = ctx;
	int r = 0;

	for (size_t i = b->from; r == 0 && i < b->to; i++) {
		struct push_file *f = &b->p->files[i];

		if (f->result != PUSH_WAITS || !sha1_equal(&f->sha1, &a->sha1))
			continue;
		if (a->state == SENTRY_OK || a->state == SENTRY_ERROR) {
			take_result(b, f, a);
			continue;
		}
		b->waiting++;
		for (uint32_t k = 0; r == 0 && k < a->n_missing; k++)
			r = add_piece(&b->sending, f, &a->missing[k]);
	}
	return r;
}

static int write_request(struct batch *b, struct buf *out)
{
	struct sentry_request q = {.files = calloc(b->to - b->from, sizeof(*q.files))};
	size_t n = 0;
	int r = q.files ? 0 : -ENOMEM;

	for (size_t i = b->from; i < b->to; i++)
		n += b->p->files[i].n_chunks;
	q.chunks = calloc(MAX(n, (size_t)1), sizeof(*q.chunks));
	r = q.chunks ? r : -ENOMEM;
	for (size_t i = b->from; r == 0 && i < b->to; i++) {
		const struct push_file *f = &b->p->files[i];
		struct sentry_file *to = &q.files[q.n_files];
		const char *slash = strrchr(f->path, '/');

		if (f->result != PUSH_WAITS)
			continue;
		*to = (struct sentry_file){.sha1 = f->sha1, .first = q.n_chunks, .n = f->n_chunks};
		snprintf(to->name, sizeof(to->name), "%s", slash ? slash + 1 : f->path);
		memcpy(q.chunks + q.n_chunks, f->chunks, f->n_chunks * sizeof(*f->chunks));
		q.n_chunks += f->n_chunks;
		q.n_files++;
	}
	r = r < 0 ? r : sentry_request_write(out, &q);
	sentry_request_release(&q);
	return r;
}

/* Asks about the files of the batch that are not at their end. 0; -1. */
static int ask_batch(struct batch *b, struct sender *s, const char *url)
{
	_cleanup_buf_ struct buf body = BUF_UP_TO(ANSWER_MOST);
	struct send_reply a = {.body = BUF_UP_TO(ANSWER_MOST)};
	struct send_req q = {.url = url, .type = "application/json"};
	struct err e = {0};
	int r = write_request(b, &body);

	b->waiting = 0;
	b->sending.n = 0;
	q.body = buf_text(&body);
	q.body_n = body.n;
	if (r == 0)
		r = send_until(b->p, s, &q, &b->tries, &a);
	if (r < 0 || a.status != 200) {
		r = push_trouble(b->p, r, &a);
	} else {
		r = sentry_answers_read((struct span){(const uint8_t *)buf_text(&a.body), a.body.n}, each_answer, b,
			&e);
		if (r < 0)
			r = push_fail(b->p, r == -ENOMEM ? EXIT_LOCAL : EXIT_UNASKED, "%s: the answer %s",
				buf_text(&b->p->where), err_why(&e, r));
	}
	buf_release(&a.body);
	return r;
}

static int run_batch(struct batch *b, struct sender *s, const char *url)
{
	uint64_t end = clock_ms() + STORE_MS;
	unsigned wait = WAIT_LEAST_MS, rounds = 0;
	int r;

	b->first = true;
	while ((r = ask_batch(b, s, url)) == 0 && b->waiting) {
		b->first = false;
		if (b->sending.n && ++rounds > ROUNDS)
			return push_fail(b->p, EXIT_UNASKED,
				"the server asks for the same chunks again and again; behind several servers, "
				"requests with one token must go to one of them");
		if (clock_ms() > end)
			return push_fail(b->p, EXIT_UNASKED, "the server has not stored the files in 30 minutes");
		if (b->sending.n) {
			atomic_store(&b->sending.next, 0);
			r = send_all(&b->sending);
			wait = WAIT_LEAST_MS;
		} else {
			push_show(b->p, "waiting until the server has stored them");
			push_pause(b->p, wait);
			wait = MIN(2 * wait, WAIT_MOST_MS);
		}
		if (r < 0)
			return r;
	}
	return r;
}

int push_batch(struct push *p, size_t from, size_t to)
{
	struct batch b = {.p = p, .from = from, .to = to, .sending = {.p = p, .lock = PTHREAD_MUTEX_INITIALIZER}};
	struct sender *s = NULL;
	char url[4096];
	int r = 0;

	for (size_t i = from; i < to; i++)
		b.waiting += p->files[i].result == PUSH_WAITS;
	if (!b.waiting)
		return 0;
	snprintf(url, sizeof(url), "%s/api/0/projects/symfs/symfs/files/difs/assemble/%s", p->base, p->query);
	if (push_sender(p, &s) < 0)
		return push_fail(p, EXIT_LOCAL, "out of memory");
	r = run_batch(&b, s, url);
	free(b.sending.pieces);
	buf_release(&b.sending.a.body);
	sender_free(s);
	return r;
}
