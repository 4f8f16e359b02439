/* Leaves out what look-ups at a few known addresses do not need.
 *
 * The answer to an address is the place of the last mark at or before it. All marks of a FUNC usually lie between its
 * start and its end, and the last one, at the end, has no place. So a FUNC with no asked address between start and
 * end counts only by that last mark. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "base/util.h"
#include "convert/eliot-private.h"

void eliot_ask(struct eliot *x, const uint32_t *addrs, size_t n)
{
	x->asked = addrs;
	x->n_asked = n;
}

/* How many asked addresses are less than `addr`. */
static size_t asked_before(const struct eliot *x, uint64_t addr)
{
	return search_first(i, 0, x->n_asked, x->asked[i] < addr);
}

bool eliot_needs(const struct eliot *x, const struct eliot_func *f)
{
	uint64_t end = end_of(f->addr, f->size);
	size_t first = asked_before(x, f->addr);

	if (end > UINT32_MAX || (first < x->n_asked && x->asked[first] < end))
		return true;
	for (size_t i = 0; i < f->n_lines; i++)
		if (end_of(f->lines[i].addr, f->lines[i].size) > end)
			return true;
	for (size_t i = 0; i < f->calls->n; i++)
		if (end_of(f->calls->at[i].addr, f->calls->at[i].size) > end)
			return true;
	return false;
}

/* Nests the calls, too, because that can fail. */
int eliot_pass(struct eliot *x, const struct eliot_func *f)
{
	int r = nest_calls(f->calls, &x->nested);

	if (r < 0 || !f->size)
		return r;
	return eliot_add_mark(x, (f->addr + f->size) & x->most, NONE, HOW_END);
}

/* Keeps each mark that is the last at or before an asked address, and ends its place behind the last such address:
 * the marks between this one and the next are left out. */
int eliot_keep_asked(struct eliot *x)
{
	struct mark *kept = malloc((2 * x->n_asked + 1) * sizeof(*kept));
	size_t at = 0, n = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < x->marks.n; i++) {
		const struct mark *m = &x->marks.at[i];
		uint64_t next = i + 1 < x->marks.n ? x->marks.at[i + 1].addr : 1ull << 32, end;
		size_t first;

		while (at < x->n_asked && x->asked[at] < m->addr)
			at++;
		first = at;
		while (at < x->n_asked && x->asked[at] < next)
			at++;
		if (first == at || m->place == NONE)
			continue;
		n -= n && kept[n - 1].addr == m->addr; /* the place before this one ends here anyway */
		kept[n++] = *m;
		end = x->asked[at - 1] + 1ull;
		if (end <= UINT32_MAX)
			kept[n++] = (struct mark){end, NONE, HOW_END, 0};
	}
	free(x->marks.at);
	x->marks.at = kept;
	x->marks.n = n;
	x->marks.room = 2 * x->n_asked + 1;
	return 0;
}
