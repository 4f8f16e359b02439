/* Listings: the directories of layouts, from the index. Each part of a listing is a walk along one order of the
 * index, in all classes of keys at once. An offset names a place in that order, so that nothing is kept between
 * two calls. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/browse.h"
#include "base/util.h"
#include "store/browse-private.h"
#include "store/session.h"

static int fill_part(struct browse *b, uint64_t after)
{
	int r;

	b->part = &b->l->parts[b->nth_part];
	b->named = false;
	switch (b->part->what) {
	case LISTING_ONE:
		r = browse_fill_one(b, after);
		break;
	case LISTING_DIGITS:
		r = browse_fill_digits(b, after);
		break;
	case LISTING_IDS:
		r = browse_fill_ids(b, after);
		break;
	case LISTING_TIERS:
		r = browse_fill_tiers(b, after);
		break;
	default:
		r = browse_fill_names(b, after);
		break;
	}
	browse_streams_end(b);
	/* The name that the offset stands for never existed, or was dropped so long ago that its place is not
	 * known. */
	return r == -ENOENT ? 0 : r;
}

static int fill(struct browse *b, uint64_t after)
{
	unsigned part = after & BROWSE_PART_FREE;
	uint64_t place = after >> BROWSE_PART_BITS;
	int r = 0;

	for (b->nth_part = part ? part - 1 : 0; r == 0 && b->nth_part < b->l->n && !browse_is_full(b);
		b->nth_part++) {
		r = fill_part(b, place);
		place = 0;
	}
	free(b->stream);
	b->stream = NULL;
	return r;
}

int store_browse(struct store *s, const struct listing_plan *l, uint64_t after, struct browse_entry *out,
	unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};
	struct browse b = {.l = l, .out = out, .room = n};

	while (session_next(&ses)) {
		b.n = 0;
		ses.r = index_view_open(ses.ix, &b.v);
		if (ses.r < 0)
			continue;
		ses.r = fill(&b, after);
		index_view_close(b.v);
	}
	return ses.r < 0 ? ses.r : (int)b.n;
}

int store_browse_has(struct store *s, const struct listing_plan *l, const char *name)
{
	_cleanup_session_ struct session ses = {.s = s};
	struct browse b = {.l = l};
	int has = 0;

	while (session_next(&ses)) {
		ses.r = index_view_open(ses.ix, &b.v);
		if (ses.r < 0)
			continue;
		has = 0;
		for (unsigned i = 0; has == 0 && i < l->n; i++)
			has = browse_part_has(&b, &l->parts[i], name);
		index_view_close(b.v);
		ses.r = MIN(has, 0);
	}
	return ses.r < 0 ? ses.r : has;
}
