/* The list of requests (tickets) that wait for a flight, the choice of the requests that an answer is for, and the
 * readers: requests that read the file while its bytes arrive. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/flight.h"

#include <string.h>

/* ---- tickets ---------------------------------------------------------------------------------------------- */

void tickets_add(struct flight *fl, struct ticket *t)
{
	fl->first |= t->at == 0;
	t->flight = fl;
	t->prev = NULL;
	t->next = fl->tickets;
	if (t->next)
		t->next->prev = t;
	fl->tickets = t;
}

void tickets_remove(struct ticket *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		t->flight->tickets = t->next;
	if (t->next)
		t->next->prev = t->prev;
	t->flight = NULL;
	t->prev = t->next = NULL;
}

static bool begin_alike(enum filetype a, enum filetype b)
{
	return b != FILETYPE_NONE && filetypes[a].twin == b;
}

/* The other file may be a program instead of its debug file. A packed file may be any file as long as its inside is
 * not visible. */
bool ticket_may_mean_other(const struct flight *fl, const struct ticket *t)
{
	const struct attempt *at = fl->body.winner;

	for (unsigned i = t->at + 1; i < t->n && t->need == FETCH_EXISTS; i++) {
		enum filetype other = t->cands[i].type;

		/* Without a winner, a directory source or another process reported the file. */
		if (at ? at->answer.unsure || (other != fl->key.type && at->answer.may_be >> other & 1)
		       : begin_alike(fl->key.type, other))
			return true;
	}
	return false;
}

static bool ticket_is_reader(const struct ticket *t)
{
	return t->need == FETCH_OPEN || t->need == FETCH_STREAM;
}

const struct ticket *tickets_reader(const struct flight *fl)
{
	const struct ticket *t = fl->tickets;

	while (t && !ticket_is_reader(t))
		t = t->next;
	return t;
}

/* A flight without tickets counts, too: its LOOKUP was answered, and an OPEN may follow. */
static bool tickets_may_open(const struct flight *fl)
{
	for (const struct ticket *t = fl->tickets; t; t = t->next)
		if (t->need == FETCH_OPEN || t->need == FETCH_EXISTS)
			return true;
	return !fl->tickets;
}

/* a reader has the file open */
static bool flight_is_read(const struct flight *fl)
{
	struct part *p = fl->readers.part ? fl->readers.part : fl->readers.untouched;

	return p && part_opens(p);
}

bool flight_is_lonely(const struct flight *fl)
{
	return !fl->tickets && !flight_is_read(fl);
}

bool flight_is_wanted_whole(const struct flight *fl)
{
	for (const struct ticket *t = fl->tickets; t; t = t->next)
		if (t->need != FETCH_EXISTS || ticket_may_mean_other(fl, t))
			return true;
	return flight_is_read(fl);
}

/* Whether sources were asked by another name than the ticket's. A miss then says nothing about the ticket's name. */
static bool asked_otherwise(const struct flight *fl, const struct ticket *t)
{
	const struct artifact *a = &t->cands[t->at];

	for (unsigned i = 0; i < fl->sources->n; i++) {
		const struct source *s = fl->sources->list[i];
		char room[MISS_NAME], other[MISS_NAME];
		const char *name = miss_name(s, a, room);

		if (strcmp(name, miss_name(s, &fl->asked, other)) != 0 &&
			strcmp(name, miss_name(s, &fl->what, other)) != 0)
			return true;
	}
	return false;
}

static bool is_among(enum tickets_which which, const struct flight *fl, const struct ticket *t)
{
	switch (which) {
	case TICKETS_ALL:
		return true;
	case TICKETS_READERS:
		return ticket_is_reader(t);
	case TICKETS_OPENERS:
		/* A FETCH_STREAM waits: once the file is stored, its HTTP validators stay the same. */
		return t->need == FETCH_OPEN;
	case TICKETS_EXISTS:
		return t->need == FETCH_EXISTS;
	case TICKETS_EXISTS_SURE:
		return t->need == FETCH_EXISTS && !ticket_may_mean_other(fl, t);
	}
	return false;
}

void tickets_answer(struct flight *fl, const struct fetched *a, enum tickets_which which)
{
	struct ticket *t = fl->tickets;

	while (t) {
		struct ticket *next = t->next;

		if (is_among(which, fl, t)) {
			tickets_remove(t);
			if ((a->r == -ENOENT || a->r == -EBADMSG) && asked_otherwise(fl, t))
				t->answer(t, NULL);
			else
				t->answer(t, a);
		}
		t = next;
	}
}

/* ---- readers ---------------------------------------------------------------------------------------------- */

static void readers_changed(void *ctx)
{
	flight_say(ctx, (struct event){SAID_READERS});
}

static struct fetched readers_answer(const struct flight *fl)
{
	struct part *p = fl->readers.part;

	return (struct fetched){.key = fl->own, .size = part_size(p), .part = p, .why = "",
		.ranges = fl->body.winner && ranges_may_come(fl->f, fl->body.winner->source)};
}

static int open_part(struct flight *fl, int fd, uint64_t size, uint64_t have, struct sparse *sp)
{
	struct part_opts o = {.fd = fd, .size = size, .have = have, .sp = sp, .touched = sp && !fl->body.fresh,
		.poor = atomic_load(&fl->body.poor), .maker = fl->body.winner ? fl->body.winner->answer.made : "",
		.modified = body_modified(fl), .net = fl->f->net, .changed = readers_changed, .ctx = fl};

	return part_new(&fl->readers.part, &o);
}

/* Sets readers.part to `have` bytes of `fd`, or to the sparse file `sp`. Readers of a version that was given up
 * continue with these bytes, if they have seen neither bytes nor another size of the old version. 0, or the errors
 * of part_new(). */
static int readers_open_part(struct flight *fl, int fd, uint64_t size, uint64_t have, struct sparse *sp)
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

/* Whether readers can be let in: the size must be known, and the file must be identified. Opens readers.part. `t`
 * may be NULL. */
static bool readers_may_enter(struct flight *fl, const struct ticket *t)
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

void readers_sure(struct flight *fl)
{
	const struct ticket *t = tickets_reader(fl);
	struct fetched a;

	fl->body.sure = true;
	if ((!t && !fl->readers.untouched) || !readers_may_enter(fl, t))
		return;
	a = readers_answer(fl);
	tickets_answer(fl, &a, TICKETS_READERS);
	part_nudge(fl->readers.part); /* if no reader opened the part, SAID_READERS parks the flight */
}

bool readers_admit(struct flight *fl, struct ticket *t)
{
	struct fetched a;

	if (!ticket_is_reader(t) || !readers_may_enter(fl, t))
		return false;
	a = readers_answer(fl);
	t->answer(t, &a);
	part_nudge(fl->readers.part);
	return true;
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

void readers_proven(struct flight *fl)
{
	struct fetched a;

	if (fl->readers.offer != OFFER_UNPROVEN)
		return;
	a = readers_answer(fl);
	fl->readers.offer = OFFER_MADE;
	tickets_answer(fl, &a, TICKETS_OPENERS);
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

void readers_withdraw(struct flight *fl)
{
	if (fl->readers.part)
		part_end(take(fl->readers.part), false, 0);
	fl->readers.offer = OFFER_NONE;
}

void readers_end(struct flight *fl, int error, struct blob *whole)
{
	struct readers *rd = &fl->readers;

	if (rd->untouched && whole)
		readers_open_part(fl, blob_fd(whole), blob_size(whole), blob_size(whole), NULL);
	if (rd->part)
		part_end(take(rd->part), false, error);
	if (rd->untouched)
		part_end(take(rd->untouched), false, error ? error : -EIO);
}
