/* Records the last answer of each source that was not a file, as text for .symfs/why. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>

/* Hashes the source's name and URL instead of its address in memory: after a reload, a new source may have the
 * address of an old one. */
uint64_t seen_number(uint64_t key_number, const struct source *s, const struct source_ask *ask)
{
	const char *where = ask->where ? ask->where : "";

	return key_number ^ hash_mix(s->name, strlen(s->name)) * 31 ^ hash_mix(where, strlen(where));
}

void seen_add(struct fetch *f, uint64_t number, int error, const char *text)
{
	LOCK_SCOPE(&f->lock);
	struct seen *s = &f->seen[number % SEEN_MOST];

	*s = (struct seen){.number = number, .when = clock_ms(), .error = error};
	snprintf(s->text, sizeof(s->text), "%.190s", text);
}

bool seen_find(struct fetch *f, uint64_t number, struct seen *out)
{
	LOCK_SCOPE(&f->lock);

	*out = f->seen[number % SEEN_MOST];
	return out->when && out->number == number;
}
