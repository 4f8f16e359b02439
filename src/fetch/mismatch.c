/* Wrong files, remembered in memory: a source that sent one is not asked for that file again for a while. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "fetch/flight.h"

#include <stdio.h>

uint64_t attempt_number(const struct attempt *at)
{
	return seen_number(at->flight->number, at->source, &at->ask);
}

const struct mismatch *mismatch_find(const struct attempt *at)
{
	struct fetch *f = at->flight->f;
	uint64_t now = clock_ms(), asked = attempt_number(at);

	for (size_t i = 0; i < MISMATCHES; i++) {
		const struct mismatch *m = &f->mismatches[i];

		if (m->asked == asked && m->until > now)
			return m;
	}
	return NULL;
}

void attempt_set_aside(const struct attempt *at, int error, const char *text)
{
	struct fetch *f = at->flight->f;
	struct mismatch *m = &f->mismatches[f->next_mismatch++ % MISMATCHES];

	*m = (struct mismatch){clock_ms() + MISMATCH_MS, attempt_number(at), error, ""};
	snprintf(m->text, sizeof(m->text), "%.190s", text);
}

void mismatch_add(const struct attempt *at, int error, const char *text)
{
	attempt_set_aside(at, error, text);
	atomic_fetch_add(&at->flight->f->stats.mismatches, 1);
	log_warn("%s: source %s sent %s: %s", at->flight->canon, at->source->name,
		error == -EFBIG ? "too much" : "the wrong file", text);
}
