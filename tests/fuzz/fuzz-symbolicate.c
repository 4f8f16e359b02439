/* Fuzzes requests to symbolicate, in both versions. A request is refused with a message, or
 * answered. An answer is JSON, and has a frame for each requested one. Nothing is fetched. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/jtext.h"
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "symb/form.h"
#include "symb/private.h"

#include <stdio.h>
#include <string.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* The lists in a list, and what is in them. */
static size_t count_frames(const struct jtext *j, uint32_t stacks, size_t *frames)
{
	uint32_t at = stacks + 1;

	for (uint32_t i = 0; i < j->token[stacks].n; i++, at = j->token[at].next)
		*frames += j->token[at].n;
	return j->token[stacks].n;
}

static void check_answer(const struct symb_api *api, const struct symb_request *q, const struct buf *out)
{
	struct jtext j;
	struct err e = {0};
	uint32_t results, at;
	size_t stacks = 0, frames = 0;

	must(jtext_read(&j, (struct span){(const uint8_t *)buf_text(out), out->n}, UINT32_MAX, &e) == 0, e.text);
	results = jtext_member(&j, 0, api->jobs ? "results" : "symbolicatedStacks");
	must(results, "an answer without results");
	at = results + 1;
	if (!api->jobs)
		stacks = count_frames(&j, results, &frames);
	for (uint32_t i = 0; api->jobs && i < j.token[results].n; i++, at = j.token[at].next)
		stacks += count_frames(&j, jtext_member(&j, at, "stacks"), &frames);
	must(stacks == q->n_stacks && frames == q->n_frames, "stacks or frames are lost");
	jtext_release(&j);
}

static void ask(const struct symb_api *api, struct span body, struct symb *s)
{
	static const struct symb_flags flags = {.debug = true, .demangle = true, .function_size = true};
	struct symb_request *q = symb_request_new(s, &flags);
	struct buf out = BUF_UP_TO(SYMB_REPLY_MOST);
	int status;

	must(q, "no memory");
	status = form_read(q, api, body);
	must(status == 200 || status == 400 || status == 413, "a status that there is not");
	must(status == 200 || q->e.text[0], "refused without words");
	if (status == 200) {
		must(form_write(q, api, 0, &out) == 0, "no answer");
		check_answer(api, q, &out);
		buf_clear(&out);
		must(form_text(q, api, &out) == 0, "no text");
	} else {
		struct jtext j;

		must(form_refuse(q->e.text, &out) == 0, "no refusal");
		must(jtext_read(&j, (struct span){(const uint8_t *)buf_text(&out), out.n}, 16, NULL) == 0,
			"a refusal that is no JSON");
		jtext_release(&j);
	}
	buf_release(&out);
	symb_request_free(q);
}

FUZZ_TARGET("symbolicate", p, n)
{
	struct symb *s = calloc(1, sizeof(*s));

	if (s)
		s->limits = (struct symb_limits){1u << 20, 10, 50, 50, 200};
	for (const struct symb_api *api = symb_apis; s && api->name; api++)
		ask(api, (struct span){p, n}, s);
	free(s);
	return 0;
}
