/* The space of a namespace: makes and ends what works on its store. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/private.h"

#include <stdio.h>

int space_new(struct space **out, const char *name, struct fetch *f, const struct symb_limits *limits,
	struct err *e)
{
	struct space *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->fetch = f;
	s->store = fetch_store(f);
	r = derive_new(&s->derive, f);
	if (r == 0)
		r = misses_new(&s->misses);
	if (r == 0)
		r = events_new(&s->events, s->store, exchange_resume);
	if (r < 0)
		err_set(e, r, "%s", err_text(r));
	else
		r = symb_new(&s->symb, f, limits, e);
	if (r < 0) {
		space_free(s);
		return r;
	}
	*out = s;
	return 0;
}

void space_stop(struct space *s)
{
	symb_stop(s->symb);
}

void space_free(struct space *s)
{
	if (!s)
		return;
	symb_free(s->symb);
	derive_free(s->derive);
	misses_free(s->misses);
	events_free(s->events);
	free(s);
}
