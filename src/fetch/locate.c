/* Finds the debug id of a program by its code id: servers such as Mozilla's redirect to the path of the
 * symbol file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>

static bool may_know(const struct source *s)
{
	return !s->kind->local && s->types >> FILETYPE_BREAKPAD & 1 &&
	       s->layout->flags & LAYOUT_CODE_ID_LOOKUP;
}

bool fetch_may_locate(struct fetch *f)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);

	for (unsigned i = 0; i < so->n; i++)
		if (may_know(so->list[i]))
			return true;
	return false;
}

static bool decode(const char *text, size_t n, char *out, size_t room)
{
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)text[i];

		if (c == '%') {
			int high = i + 2 < n ? hex_value(text[i + 1]) : -1,
				low = i + 2 < n ? hex_value(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = high << 4 | low;
			i += 2;
		}
		if (c < 0x20 || c == 0x7f || c == '/' || o + 1 >= room)
			return false;
		out[o++] = (char)c;
	}
	out[o] = '\0';
	return o > 0;
}

/* Reads the debug file and id from a URL ".../FILE/DEBUG-ID/x.sym". */
static bool read_url(const char *url, struct module *out)
{
	size_t n = strcspn(url, "?#");
	const char *sym = memrchr(url, '/', n), *id = sym ? memrchr(url, '/', (size_t)(sym - url)) : NULL;
	const char *file = id ? memrchr(url, '/', (size_t)(id - url)) : NULL;

	if (!file || n < 4 || strncasecmp(url + n - 4, ".sym", 4) != 0)
		return false;
	/* A debug id has at least 33 digits, a code id always fewer. */
	return sym - id - 1 >= 33 && debug_id_parse(&out->debug_id, id + 1, (size_t)(sym - id - 1)) == 0 &&
	       decode(file + 1, (size_t)(id - file - 1), out->debug_file, sizeof(out->debug_file)) &&
	       strcmp(out->debug_file, ".") != 0 && strcmp(out->debug_file, "..") != 0;
}

/* A request to one server. */
struct question {
	const struct source *s;
	struct probe *p;
	uint64_t since;
};

/* Starts the request. -EREMOTEIO, -EHOSTUNREACH: the server cannot be asked now, or not at all. */
static int ask(struct fetch *f, const char *path, const char *via, struct question *q)
{
	struct source_ask what = {0};
	char why[240];

	if (source_file(q->s, path, &what) == 0 && breaker_may(f->breakers, q->s->origin, clock_ms(), why)) {
		q->since = clock_ms();
		if (why_begin(&q->p, f, q->s, &what, via) < 0)
			breaker_unheard(f->breakers, q->s->origin);
	}
	source_ask_release(&what);
	return q->p ? 0 : breaker_error(f->breakers, q->s->origin);
}

/* Waits for the answer. -ENOENT: the server does not know the code id, or it sends the file without a redirect, so
 * that the URL shows no debug id. `until`: clock_ms(); 0: the answer is no longer needed. */
static int take_answer(struct fetch *f, struct question *q, uint64_t until, const atomic_bool *stop,
	struct module *out)
{
	struct net_reply reply = {0};
	bool answered = why_end(q->p, until, stop, &reply);
	bool silent = until && !answered && !atomic_load(stop) && !breaker_alive(f->breakers, q->s->origin, q->since);
	struct judgement j = {.error = -ETIMEDOUT, .blame = silent ? BLAME_SILENT : BLAME_UNKNOWN,
		.text = "no answer before the lookup deadline"};

	if (!answered) {
		breaker_tell(f->breakers, q->s->origin, clock_ms(), &j, 0);
		return -EHOSTUNREACH;
	}
	source_judge(q->s, &reply, &j);
	breaker_tell(f->breakers, q->s->origin, clock_ms(), &j,
		reply.retry_after > 0 ? (uint64_t)reply.retry_after * 1000 : 0);
	if (j.verdict == VERDICT_FOUND)
		return read_url(reply.url, out) ? 0 : -ENOENT;
	return j.verdict == VERDICT_MISSING ? -ENOENT : j.error;
}

int fetch_locate(struct fetch *f, const char *path, const char *via, const atomic_bool *stop, struct module *out)
{
	_cleanup_sources_ struct sources *so = fetch_sources(f);
	_cleanup_free_ struct question *list = calloc(so->n + 1, sizeof(*list));
	uint64_t until = clock_ms() + f->opts.lookup_deadline_ms;
	int answer = list ? -ENOENT : -EHOSTUNREACH;
	unsigned n = 0;

	for (unsigned i = 0; list && i < so->n; i++) {
		int r;

		if (!may_know(so->list[i]))
			continue;
		list[n].s = so->list[i];
		r = ask(f, path, via, &list[n]);
		if (r == 0)
			n++;
		else
			answer = r;
	}
	for (unsigned i = 0; i < n; i++) {
		struct module m = {0};
		int r = take_answer(f, &list[i], answer == 0 ? 0 : until, stop, &m);

		if (r == 0 && answer < 0)
			*out = m;
		if (answer < 0 && r != -ENOENT)
			answer = r;
	}
	return answer;
}
