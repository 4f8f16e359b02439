/* Explains why a file is missing: lists the requests for an artifact, the recorded result of each, and each
 * source's answer now. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 100 /* milliseconds between checks of a tree that is being walked */

/* One request, for which the caller waits. */
struct probe {
	struct net_wait wait;
	/* as it was after the head; if no head came or the transfer failed, as it was at the end */
	struct net_reply reply;
	uint8_t first[16 << 10]; /* many formats have their identifier there */
	size_t first_n;
};

static int probe_head(void *ctx, const struct net_reply *r)
{
	struct probe *p = ctx;

	p->reply = *r;
	return r->status == 200 ? 0 : -ECANCELED;
}

/* Reads only the first bytes of the body, which show the kind of file, and mostly its identifier. */
static int probe_body(void *ctx, uint64_t off, const void *p, size_t n)
{
	struct probe *probe = ctx;

	n = MIN(n, sizeof(probe->first) - probe->first_n);
	memcpy(probe->first + probe->first_n, p, n);
	probe->first_n += n;
	return probe->first_n == sizeof(probe->first) ? -ECANCELED : 0;
}

static void probe_done(void *ctx, const struct net_reply *r)
{
	struct probe *p = ctx;

	if (p->reply.status == 0 || (r->error < 0 && r->error != -ECANCELED))
		p->reply = *r;
	net_wait_done(&p->wait);
}

int why_begin(struct probe **out, struct fetch *f, const struct source *s, const struct source_ask *ask,
	const char *via)
{
	static const struct net_sink sink = {probe_head, probe_body, probe_done};
	_cleanup_free_ struct probe *p = calloc(1, sizeof(*p));
	char line[ARTIFACT_VIA + 16];
	struct net_req req = {0};
	int begun, r = p ? source_request(s, ask, &req) : -ENOMEM;

	if (r < 0)
		return r;
	snprintf(line, sizeof(line), "X-Symfs-Via: %s", via);
	if (*via)
		r = source_add_header(&req, line);
	if (r == 0) {
		if (!req.stall_ms)
			req.stall_ms = f->opts.lookup_deadline_ms;
		req.rank = NET_FIRST;
		begun = net_wait_begin(&p->wait, f->net, &req, &sink, p);
		if (begun < 0) /* otherwise probe_done() may have set it already */
			p->reply.error = begun;
		*out = take(p);
	}
	net_req_release(&req);
	return r;
}

bool why_end(struct probe *p, uint64_t until, const atomic_bool *stop, struct net_reply *out)
{
	bool done = net_wait_end(&p->wait, until, stop);

	*out = p->reply;
	free(p);
	return done;
}

/* ---- the answers ------------------------------------------------------------------ */

/* Whether the rows are not needed any more. */
static bool is_stopped(const struct fetch_asking *asking)
{
	return asking && atomic_load(asking->stop);
}

/* Whether no further request may be sent. */
static bool is_over(const struct fetch_asking *asking)
{
	return is_stopped(asking) || clock_ms() >= asking->until;
}

static void row_put(struct fetch_attempt *row, const char *verdict, const char *error)
{
	snprintf(row->verdict, sizeof(row->verdict), "%s", verdict);
	snprintf(row->error, sizeof(row->error), "%.239s", error);
}

/* Writes the answer to the row. */
static void judge_http(const struct probe *p, const struct source *s, const struct source_ask *ask,
	const struct key *k, struct fetch_attempt *row)
{
	static const char *const words[] = {
		[VERDICT_FOUND] = "found",
		[VERDICT_MISSING] = "missing",
		[VERDICT_REFUSED] = "refused",
		[VERDICT_LATER] = "failed",
		[VERDICT_LOOP] = "loop",
	};
	const struct packing *packing = packed_as(k->type, p->first, p->first_n);
	struct view v = view_of_mem(p->first, p->first_n);
	struct obj_slice slice;
	struct judgement j;
	struct err e = {0};

	source_judge(s, &p->reply, &j);
	row_put(row, words[j.verdict], j.text);
	row->status = p->reply.status;
	v.size = p->first_n < sizeof(p->first) ? p->first_n : VIEW_UNKNOWN;
	if (j.verdict == VERDICT_FOUND && ask->ptr)
		row_put(row, words[j.verdict], "it says where the file is");
	else if (j.verdict == VERDICT_FOUND && packing)
		snprintf(row->error, sizeof(row->error), "packed: %s", packing_name(packing));
	else if (j.verdict == VERDICT_FOUND && !obj_may_be(k->type, p->first, p->first_n))
		row_put(row, "mismatch", "its first bytes are of another kind of file");
	else if (j.verdict == VERDICT_FOUND && obj_check(&v, k, &slice, &e) == -EBADMSG)
		row_put(row, "mismatch", e.text);
}

static void ask_http(struct fetch *f, const struct source *s, const struct source_ask *ask, const struct key *k,
	const struct fetch_asking *asking, struct fetch_attempt *row)
{
	struct probe *p = NULL;
	int r = why_begin(&p, f, s, ask, "");

	if (r < 0)
		row_put(row, r == -EACCES ? "refused" : "failed", r == -EACCES ? "no credentials" : err_text(r));
	else if (net_wait_end(&p->wait, asking->until, asking->stop))
		judge_http(p, s, ask, k, row);
	else
		row_put(row, "failed", "no answer in time");
	free(p);
}

/* Waits for the scan of a tree, up to the lookup deadline. */
static void ask_local(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k,
	const struct fetch_asking *asking, struct fetch_attempt *row)
{
	uint64_t end = clock_ms() + f->opts.lookup_deadline_ms;
	struct blob *b = NULL;
	char why[200];
	int r;

	while ((r = local_find(f, s, a, k, true, NULL, NULL, &b, why)) == -EAGAIN && clock_ms() < end &&
		!is_over(asking))
		poll(NULL, 0, LOOK_MS);
	blob_unref(b);
	row_put(row, r == 0 ? "found" : r == -ENOENT ? "missing" : r == -EBADMSG ? "mismatch"
		: r == -ELOOP ? "skipped" : "failed", /* of a file in a scanned tree, `why` says where it is */
		why[0] ? why : r == 0 || r == -ENOENT ? "" : err_text(r));
}

void fetch_named(struct fetch *f, const struct module *m, char out[static 280])
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);
	struct artifact a = {.m = *m};
	struct blob *b = NULL;
	char why[200];
	struct key k;

	out[0] = '\0';
	for (unsigned i = 0; i < 2 * so->n && !out[0]; i++, blob_unref(take(b))) {
		const struct source *s = so->list[i / 2];
		int r = -EAGAIN; /* the tree is still being walked: the request itself has said so */

		a.type = i % 2 ? object_types[m->object].program : object_types[m->object].debug;
		if (source_scans(s) && key_of(&k, &a) == 0)
			r = local_find(f, s, &a, &k, true, NULL, NULL, &b, why);
		if (r < 0 && r != -EAGAIN && why[0])
			snprintf(out, 280, "%.78s: %s", s->name, why);
	}
}

static const char *seen_word(int error)
{
	switch (error) {
	case -ENOENT: return "missing";
	case -EACCES: return "refused";
	case -EBADMSG:
	case -EFBIG: return "mismatch";
	case -ELOOP: return "loop";
	default: return "failed";
	}
}

/* Reports this process's last result for a source that is not asked now. */
static void recall(struct fetch *f, const struct source *s, const struct artifact *a,
	const struct key *k, const struct source_ask *ask, struct fetch_attempt *row)
{
	struct seen seen;
	char text[240], room[MISS_NAME];

	row->remembered_until = s->kind->local ? 0
		: store_miss_until(f->store, k, miss_name(s, a, room), s->memory);
	fetch_source_state(f, s, text);
	if (row->remembered_until > clock_wall()) {
		row_put(row, "missing", "");
	} else if (strncmp(text, "failing, retry in", 17) == 0 || strncmp(text, "skipped", 7) == 0) {
		row_put(row, "skipped", text);
	} else if (seen_find(f, seen_number(key_number(k), s, ask), &seen)) {
		snprintf(row->verdict, sizeof(row->verdict), "%s", seen_word(seen.error));
		snprintf(row->error, sizeof(row->error), "%.160s, %llu s ago", seen.text,
			(unsigned long long)((clock_ms() - seen.when) / 1000));
	} else {
		snprintf(row->verdict, sizeof(row->verdict), "not asked");
	}
}

static void fill_row(struct fetch *f, const struct source *s, const struct artifact *a,
	const struct key *k, const struct key *own, const struct source_ask *ask,
	const struct fetch_asking *asking, struct fetch_attempt *row)
{
	_cleanup_buf_ struct buf where = BUF_UP_TO(8192);

	memset(row, 0, sizeof(*row));
	snprintf(row->source, sizeof(row->source), "%s", s->name);
	snprintf(row->spelling, sizeof(row->spelling), "%s", ask->spelling);
	if (s->kind->local)
		buf_addf(&where, "%s/%s", s->o.path, ask->where);
	else
		url_without_credentials(ask->where, &where);
	snprintf(row->url, sizeof(row->url), "%s", buf_text(&where));
	if (!asking || is_over(asking))
		recall(f, s, a, k, ask, row);
	else if (s->kind->local)
		ask_local(f, s, a, own, asking, row);
	else
		ask_http(f, s, ask, own, asking, row);
	if (asking && strcmp(row->verdict, "not asked") == 0)
		snprintf(row->error, sizeof(row->error), "the time for asking was over");
}

int fetch_why(struct fetch *f, const struct artifact *asked, const struct fetch_asking *asking,
	struct fetch_attempt *rows, unsigned most)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);
	struct artifact a = *asked;
	struct key k, own;
	bool found = false;
	unsigned n = 0;
	int r = key_of(&k, asked);

	if (r == 0) {
		own = k;
		learn_complete(f, &a, &own);
	}

	for (unsigned i = 0; r == 0 && i < so->n && !is_stopped(asking); i++) {
		struct source_facts facts;

		symstore_recall(f, so->list[i]);
		taught_recall(f, so->list[i], &a);
		facts = symstore_known(f, so->list[i]);
		taught_fill(f, so->list[i], &a, &facts);
		for (unsigned nth = 0; n < most && !is_stopped(asking); nth++) {
			struct source_ask ask;

			if (source_plan(so->list[i], &facts, &a, nth, &ask) < 0)
				break;
			fill_row(f, so->list[i], &a, &k, &own, &ask, asking, &rows[n]);
			found |= strcmp(rows[n++].verdict, "found") == 0;
			source_ask_release(&ask);
		}
		symstore_known_release(&facts);
	}
	if (found)
		store_misses_clear(f->store, &k);
	return r < 0 ? r : (int)n;
}
