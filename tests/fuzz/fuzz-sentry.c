/* Fuzzes the JSON of Sentry's uploads. A request that is read can be written and read again with the same
 * files; an answer and the options of a server are read within their bounds. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "intake/upload/sentry.h"

#include <stdio.h>
#include <string.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int check_answer(void *ctx, const struct sentry_answer *a)
{
	must(a->state < SENTRY_STATES && a->n_missing <= SENTRY_CHUNKS_MOST, "an answer out of bounds");
	must(sentry_answer_write(ctx, ((struct buf *)ctx)->n == 0, a) == 0, "an answer cannot be written");
	return 0;
}

static void check_request(struct span in)
{
	struct buf text = BUF_UP_TO(64u << 20);
	struct sentry_request q, again;
	struct err e = {0};
	int r = sentry_request_read(&q, in, &e);

	must(r == 0 || e.text[0], "refused without words");
	if (r == 0) {
		for (uint32_t i = 0; i < q.n_files; i++)
			must(q.files[i].first + q.files[i].n <= q.n_chunks, "a chunk that the request does not have");
		must(sentry_request_write(&text, &q) == 0, "a request cannot be written");
		r = sentry_request_read(&again, (struct span){(const uint8_t *)buf_text(&text), text.n}, &e);
		must(r == 0 && again.n_files == q.n_files && again.n_chunks == q.n_chunks, "a request changed");
		for (uint32_t i = 0; i < q.n_files; i++)
			must(strcmp(again.files[i].name, q.files[i].name) == 0 || !q.files[i].name[0],
				"a name changed");
		sentry_request_release(&again);
	}
	sentry_request_release(&q);
	buf_release(&text);
}

FUZZ_TARGET("sentry", p, n)
{
	struct buf text = BUF_UP_TO(64u << 20);
	struct span in = {p, n};
	struct sentry_options o;
	char words[SENTRY_TEXT_MAX];
	struct err e = {0};

	check_request(in);
	sentry_answers_read(in, check_answer, &text, &e);
	if (sentry_options_read(&o, in, &e) == 0)
		must(o.chunk && o.chunks && o.concurrency && o.request >= o.chunk, "unusable options");
	sentry_refusal_read(in, words);
	buf_release(&text);
	return 0;
}
