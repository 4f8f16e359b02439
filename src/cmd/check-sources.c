/* Checks whether the sources answer, and what they support. Asks each source for a file that cannot exist;
 * its identifier names symfs in the logs of servers. Symbol stores are also asked for index2.txt: a store that has
 * this file has two tiers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "cmd/check-sources.h"
#include "base/clock.h"
#include "base/mounts.h"
#include "base/util.h"
#include "net/net.h"
#include "id/key.h"
#include "source/sources.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define CODE_ID KEY_PROBE "636865636b000000000000000001" /* "symfs-check" */
#define DEBUG_ID KEY_PROBE "636865636B00000000001"

struct checking {
	struct net *net;
	unsigned deadline_ms;
	pthread_mutex_t lock;
	pthread_cond_t over;
	unsigned left; /* the number of running requests; under lock */
};

/* A request to a source, and its reply. */
struct question {
	struct checking *c;
	struct net_req req;
	struct net_reply reply;
	struct transfer *t;
	uint64_t began, took;
	bool asked; /* the request was prepared, and is sent */
};

/* ---- asking ------------------------------------------------------------------------- */

static int question_head(void *ctx, const struct net_reply *r)
{
	struct question *q = ctx;

	q->reply = *r;
	q->took = clock_ms() - q->began;
	return r->status < 300 ? -ECANCELED : 0;
}

static int question_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	return -ECANCELED;
}

static void question_done(void *ctx, const struct net_reply *r)
{
	struct question *q = ctx;

	if (q->reply.status == 0) {
		q->reply = *r;
		q->took = clock_ms() - q->began;
	}
	LOCK_SCOPE(&q->c->lock);
	if (--q->c->left == 0)
		pthread_cond_signal(&q->c->over);
}

static void question_start(void *ctx)
{
	static const struct net_sink sink = {question_head, question_body, question_done};
	struct question *q = ctx;
	struct net_reply none = {.error = -EINVAL};

	q->began = clock_ms();
	q->req.rank = NET_FIRST;
	none.error = net_get(q->c->net, &q->req, &sink, q, &q->t);
	if (none.error < 0)
		question_done(q, &none);
}

/* The types to try for a request for a file that no server has. The first type that the source accepts is used. */
static const enum filetype tries[] = {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE, FILETYPE_PDB, FILETYPE_PE,
	FILETYPE_PORTABLEPDB, FILETYPE_BREAKPAD, FILETYPE_MACH_DEBUG, FILETYPE_WASM_DEBUG, FILETYPE_SOURCEBUNDLE};

static int plan_nothing(const struct source *s, struct source_ask *ask)
{
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(tries); i++) {
		enum object_type object = filetype_row(tries[i])->object;
		struct artifact a = {.type = tries[i], .m = {.object = object ? object : OBJECT_PE}};
		bool pe = a.m.object == OBJECT_PE || a.m.object == OBJECT_PE_DOTNET;

		snprintf(a.m.code_id, sizeof(a.m.code_id), "%s",
			a.m.object == OBJECT_MACHO ? KEY_PROBE "636865636b0000000000"
			: pe			   ? KEY_PROBE
						   : CODE_ID);
		snprintf(a.m.code_file, sizeof(a.m.code_file), "symfs-check");
		snprintf(a.m.debug_file, sizeof(a.m.debug_file), "symfs-check.pdb");
		debug_id_parse(&a.m.debug_id, DEBUG_ID, strlen(DEBUG_ID));
		r = source_plan(s, NULL, &a, 0, ask);
	}
	return r;
}

static int prepare_nothing(const struct source *s, struct question *q)
{
	struct source_ask ask = {0};
	int r = plan_nothing(s, &ask);

	/* The source accepts requests for none of these types: check only whether its URL answers. */
	if (r == -ENOENT) {
		ask.where = strdup(s->o.url);
		r = ask.where ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = source_request(s, &ask, &q->req);
	source_ask_release(&ask);
	q->asked = r == 0;
	return r;
}

/* Prepares a request for one byte of index2.txt, a small file. The reply shows whether the server supports
 * ranges. */
static int prepare_index2(const struct source *s, struct question *q)
{
	struct source_ask ask = {0};
	int r;

	if (!source_is_store(s))
		return 0;
	r = source_file(s, "index2.txt", &ask);
	if (r == 0)
		r = source_request(s, &ask, &q->req);
	if (r == 0)
		r = source_add_header(&q->req, "Range: bytes=0-0");
	source_ask_release(&ask);
	q->asked = r == 0;
	return r;
}

/* ---- judging ------------------------------------------------------------------------ */

static void judge_nothing(const struct source *s, const struct question *q, struct check_row *row)
{
	static const char *const words[] = {
		[VERDICT_FOUND] = "suspect",
		[VERDICT_MISSING] = "reachable",
		[VERDICT_REFUSED] = "refused",
		[VERDICT_LATER] = "failing",
		[VERDICT_LOOP] = "loop",
	};
	struct judgement j;

	source_judge(s, &q->reply, &j);
	row->state = q->reply.status || j.error == -EREMOTEIO ? words[j.verdict] : "unreachable";
	row->good = j.verdict == VERDICT_MISSING;
	row->status = q->reply.status;
	row->http = q->reply.http;
	row->ms = (unsigned)q->took;
	snprintf(row->text, sizeof(row->text), "%s",
		j.verdict == VERDICT_MISSING ? ""
		: j.verdict == VERDICT_FOUND ? "it has a file that cannot exist: perhaps a web page"
					     : j.text);
}

static void judge_index2(const struct source *s, const struct question *q, struct check_row *row)
{
	int status = q->reply.status;

	if (status == 200 || status == 206)
		row->ranges = status == 206;
	if (status == 200 || status == 206 || status == 404)
		row->two_tier = status != 404;
}

static void check_dir(const struct source *s, struct check_row *row)
{
	_cleanup_close_ int fd = open(s->o.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char type[64];

	if (fd < 0) {
		int r = -errno;

		row->state = r == -ENOENT || r == -ENOTDIR ? "absent" : "refused";
		snprintf(row->text, sizeof(row->text), "%s", err_text(r));
	} else if (mounts_type_of(fd, type) == 0 && strcmp(type, "fuse.symfs") == 0) {
		row->state = "loop";
		snprintf(row->text, sizeof(row->text), "inside a symfs mount: skipped");
	} else {
		row->state = "reachable";
		row->good = true;
	}
}

/* ---- all sources -------------------------------------------------------------------- */

static void start(struct checking *c, struct question *q)
{
	if (!q->asked)
		return;
	if (!q->req.stall_ms || q->req.stall_ms > c->deadline_ms)
		q->req.stall_ms = c->deadline_ms;
	q->c = c;
	pthread_mutex_lock(&c->lock);
	c->left++;
	pthread_mutex_unlock(&c->lock);
	net_call(c->net, question_start, q);
}

static void ask_all(struct checking *c, const struct sources *so, struct question *q,
	struct check_row *rows)
{
	for (unsigned i = 0; i < so->n; i++) {
		const struct source *s = so->list[i];
		int r = s->kind->local ? 0 : prepare_nothing(s, &q[2 * i]);

		if (r < 0) {
			rows[i].state = "refused";
			snprintf(rows[i].text, sizeof(rows[i].text), "%s",
				r == -EACCES ? "no credentials" : err_text(r));
		} else if (!s->kind->local) {
			prepare_index2(s, &q[2 * i + 1]);
			start(c, &q[2 * i]);
			start(c, &q[2 * i + 1]);
		}
	}
	LOCK_SCOPE(&c->lock);
	while (c->left)
		pthread_cond_wait(&c->over, &c->lock);
}

int check_sources(const struct sources *so, unsigned deadline_ms, struct check_row *rows,
	struct err *e)
{
	struct checking c = {.deadline_ms = deadline_ms,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.over = PTHREAD_COND_INITIALIZER};
	const struct net_opts o = {.user_agent = PACKAGE_NAME "/" PACKAGE_VERSION};
	_cleanup_free_ struct question *q = calloc(so->n ? 2 * so->n : 1, sizeof(*q));
	int r = q ? net_start(&c.net, &o, e) : err_set(e, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	for (unsigned i = 0; i < so->n; i++)
		rows[i] = (struct check_row){.ranges = -1, .two_tier = -1};
	ask_all(&c, so, q, rows);
	net_stop(c.net);
	for (unsigned i = 0; i < so->n; i++) {
		if (so->list[i]->kind->local)
			check_dir(so->list[i], &rows[i]);
		if (q[2 * i].asked)
			judge_nothing(so->list[i], &q[2 * i], &rows[i]);
		if (q[2 * i + 1].asked)
			judge_index2(so->list[i], &q[2 * i + 1], &rows[i]);
		net_req_release(&q[2 * i].req);
		net_req_release(&q[2 * i + 1].req);
	}
	return 0;
}
