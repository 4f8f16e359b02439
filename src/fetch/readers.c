/* The readers of a flight: requests that read the file while its bytes arrive. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight.h"

static void readers_changed(void *ctx)
{
	flight_say(ctx, (struct event){SAID_READERS});
}

struct fetched readers_answer(const struct flight *fl)
{
	struct part *p = fl->readers.part;

	return (struct fetched){.key = fl->own, .size = part_size(p), .part = p, .why = ""};
}

static int open_part(struct flight *fl, int fd, uint64_t size, uint64_t have, struct sparse *sp)
{
	struct part_opts o = {.fd = fd, .size = size, .have = have, .sp = sp, .touched = sp && !fl->body.fresh,
		.poor = atomic_load(&fl->body.poor), .maker = fl->body.winner ? fl->body.winner->answer.made : "",
		.modified = body_modified(fl), .net = fl->f->net, .changed = readers_changed, .ctx = fl};

	return part_new(&fl->readers.part, &o);
}

int readers_open_part(struct flight *fl, int fd, uint64_t size, uint64_t have, struct sparse *sp)
{
	struct readers *rd = &fl->readers;

	if (rd->untouched && !sp && part_size(rd->untouched) == size && part_renew(rd->untouched, fd, have) == 0) {
		rd->part = take(rd->untouched);
		return 0;
	}
	if (rd->untouched)
		part_end(take(rd->untouched), false, -EIO);
	return open_part(fl, fd, size, have, sp);
}

bool readers_may_enter(struct flight *fl, const struct ticket *t)
{
	const struct body *b = &fl->body;

	if (fl->readers.offer != OFFER_NONE)
		return fl->readers.offer == OFFER_MADE && t && t->need == FETCH_OPEN;
	if (fl->readers.part)
		return true;
	if (!b->sure || !flight_receives(fl) || b->size == FETCH_SIZE_UNKNOWN)
		return false;
	if (b->file)
		return readers_open_part(fl, sparse_fd(b->file), b->size, 0, b->file) == 0;
	if (!b->draft || b->winner->answer.ranged)
		return false; /* the draft will be replaced by a sparse file first */
	return readers_open_part(fl, draft_fd(b->draft), b->size, draft_size(b->draft), NULL) == 0;
}

void readers_offer(struct flight *fl)
{
	struct draft *d = fl->body.draft;
	uint64_t size = draft_size(d);

	if (fl->own.type != FILETYPE_ELF_DEBUG || key_is_by_debug_id(&fl->own))
		return;
	if (!fl->readers.part && !fl->readers.untouched && tickets_may_open(fl) &&
		open_part(fl, draft_fd(d), size, size, NULL) == 0)
		fl->readers.offer = OFFER_UNPROVEN;
}

void readers_drop_version(struct flight *fl, bool forget, bool wrong, int error)
{
	struct readers *rd = &fl->readers;

	body_drop(fl, forget);
	if (rd->part && part_suspend(rd->part))
		rd->untouched = take(rd->part);
	else if (rd->part)
		part_end(take(rd->part), wrong, error);
	rd->offer = OFFER_NONE;
}

void readers_end(struct flight *fl, int error)
{
	struct readers *rd = &fl->readers;

	if (rd->part)
		part_end(take(rd->part), false, error);
	if (rd->untouched)
		part_end(take(rd->untouched), false, error ? error : -EIO);
}

void readers_withdraw(struct flight *fl)
{
	if (fl->readers.part)
		part_end(take(fl->readers.part), false, 0);
	fl->readers.offer = OFFER_NONE;
}
