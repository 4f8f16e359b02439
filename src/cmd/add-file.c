/* Adds a file: identifies it, and stores each of its slices. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "cmd/add.h"
#include "cmd/bundle.h"
#include "cmd/app.h"
#include "cmd/cmd.h"
#include "cmd/json.h"
#include "obj/obj.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SLICES_MOST 64

/* The result for one slice. */
enum placed { PLACED_ADDED, PLACED_PRESENT };

/* ---- messages ----------------------------------------------------------------------- */

void add_show(struct adding *a, const struct item *it)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10);
	uint64_t now = clock_ms();

	if (!a->progress || now - a->shown < 200)
		return;
	a->shown = now;
	fprintf(stderr, "\r\033[K%" PRIu64 " added, %.1f MB: %.60s", a->added,
		(double)a->bytes / 1e6, text_shown(it->shown + it->dir, true, &room));
}

void add_show_end(struct adding *a)
{
	if (a->shown)
		fprintf(stderr, "\r\033[K");
	a->shown = 0;
}

void add_refuse(struct adding *a, const char *shown, const char *why, bool named)
{
	_cleanup_buf_ struct buf room = BUF_UP_TO(64 << 10), text = BUF_UP_TO(4 << 10);

	add_show_end(a);
	printf("%s: not placed: %s\n", text_shown(shown, true, &room),
		text_shown(why, true, &text));
	a->unplaced++;
	if (named && a->status == EXIT_DONE)
		a->status = EXIT_NO;
}

bool add_is_trouble(int r)
{
	return r == -ENOSPC || r == -EIO || r == -EROFS || r == -EDQUOT || r == -ENOMEM;
}

int add_stop(struct adding *a, int r, const struct err *e)
{
	if (a->status == EXIT_LOCAL)
		return r;
	add_show_end(a);
	fprintf(stderr, "symfs add: %s\n", e->text[0] ? e->text : err_text(r));
	a->status = EXIT_LOCAL;
	return r;
}

const char *add_why(int r, const struct err *e)
{
	/* The text of obj/ names the format of the file (HTML, text), and not the reason for the refusal. */
	if (r == -ENOMSG && strcmp(e->text, "is empty") != 0)
		return "of no format that symfs knows";
	return e->text[0] ? e->text : err_text(r);
}

static void count(struct adding *a, const char *format, enum placed what)
{
	struct tally *t = a->tallies;

	while (t->format && strcmp(t->format, format) != 0 &&
		t < a->tallies + ARRAY_SIZE(a->tallies) - 1)
		t++;
	t->format = format;
	*(what == PLACED_ADDED ? &t->added : &t->present) += 1;
	*(what == PLACED_ADDED ? &a->added : &a->present) += 1;
}

/* ---- a slice ------------------------------------------------------------------------ */

/* Whether the store has an equally good or better file for the key. If a file of another name is stored under the
 * same id, adds the name to the key. */
static bool is_here(struct adding *a, struct key *k, const struct worth *w)
{
	char name[MODULE_PATH_MAX];
	struct key named;

	if (store_has(a->store, k, NULL) && key_by_name(k, &named) && store_name(a->store, k, name) == 0 &&
		strcasecmp(name, k->name) != 0)
		*k = named;
	return !store_wants(a->store, k, w);
}

/* Finds the keys for which the store has no file, or a worse file. Several PE files can have the same debug id. */
static void new_keys(struct adding *a, const struct key *keys, unsigned all,
	const struct obj_slice *s, struct store_learned *out)
{
	out->m = s->module;
	out->worth = s->worth;
	out->pinned = true;
	out->n = 0;
	for (unsigned i = 0; i < all; i++) {
		struct key k = keys[i];

		if (!is_here(a, &k, &s->worth))
			out->keys[out->n++] = k;
	}
}

/* Checks the copy and not the file, because another process can change the file meanwhile. */
static int check_copy(struct draft *d, const struct key *k, bool *verified, struct err *e)
{
	struct view v = view_of_fd(draft_fd(d), draft_size(d));
	struct obj_slice slice;
	int r = obj_check(&v, k, &slice, e);

	*verified = r == 1;
	return r < 0 ? r : 0;
}

static int copy_slice(struct adding *a, const struct item *it, const struct obj_slice *s,
	struct draft **out, struct err *e)
{
	struct draft *d;
	int r;

	if (it->draft && *it->draft && s->off == 0 && s->size == it->size) {
		*out = take(*it->draft);
		return 0;
	}
	r = draft_new(&d, a->store, e);
	if (r < 0)
		return r;
	r = draft_copy(d, it->fd, s->off, s->size);
	if (r < 0) {
		draft_discard(d);
		if (r == -ENOSPC || r == -EDQUOT)
			return err_set(e, r, "%s: cannot be stored in %s: %s", it->name, store_dir(a->store), err_text(r));
		return err_set(e, r, "%s", r == -ENODATA ? "became shorter while it was copied" : err_text(r));
	}
	*out = d;
	return 0;
}

static int publish(struct adding *a, const struct item *it, const struct obj_slice *s,
	const struct store_learned *l, struct err *e)
{
	struct blob_facts facts = {.source = "add", .fetched = clock_wall()};
	struct draft *d = NULL;
	int r = copy_slice(a, it, s, &d, e);

	if (r < 0)
		return r;
	r = check_copy(d, &l->keys[0], &facts.verified, e);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	snprintf(facts.url, sizeof(facts.url), "%s", it->from);
	r = store_publish_learned(a->store, d, &l->keys[0], &facts, l, NULL, e);
	if (r == 0)
		a->bytes += s->size;
	return r;
}

static int add_slice(struct adding *a, const struct item *it, struct obj_slice *s, struct err *e)
{
	_cleanup_free_ struct store_learned *l = calloc(1, sizeof(*l));
	struct key keys[OBJ_KEYS_MOST];
	unsigned all;
	int r;

	if (!l)
		return -ENOMEM;
	obj_take_name(s, it->name);
	all = obj_keys(s, keys);
	new_keys(a, keys, all, s, l);
	if (all == 0)
		return err_set(e, -ENOENT,
			"%s without an identifier for any layout", s->format);
	r = l->n ? publish(a, it, s, l, e) : -ESTALE;
	if (r == 0)
		count(a, s->format, PLACED_ADDED);
	if (r != -ESTALE)
		return r;
	/* Pins the stored file, also if it is an earlier download that is equally good or better. */
	r = store_keep(a->store, &keys[0], STORE_FOR_GOOD);
	if (r == 0)
		count(a, s->format, PLACED_PRESENT);
	return r;
}

/* ---- a file ------------------------------------------------------------------------- */

/* Copies each slice. The slices together are no larger than the file. Only slices of a hostile file overlap and
 * can be larger. */
static int add_slices(struct adding *a, const struct item *it, struct err *e)
{
	struct view v = view_of_fd(it->fd, it->size);
	struct obj_slice slice;
	uint64_t left = it->size;
	int r;

	for (unsigned i = 0; i < SLICES_MOST; i++) {
		r = obj_identify(&v, i, &slice, e);
		if (r == -ENOENT && i > 0)
			return 0;
		if (r == 0 && slice.size > left)
			return err_set(e, -EBADMSG, "is broken: its slices overlap");
		if (r == 0)
			r = add_slice(a, it, &slice, e);
		if (r < 0)
			return r;
		left -= slice.size;
	}
	return 0;
}

int add_item(struct adding *a, const struct item *it)
{
	const char *why = NULL;
	struct err e = {0};
	bool packed = false;
	int r;

	if (!it->named && bundle_is_info(it->shown))
		return 0;
	add_show(a, it);
	r = add_is_archive(it, &why);
	if (r > 0)
		return add_archive(a, it);
	if (r == 0 && !why)
		r = add_slices(a, it, &e);
	if (r == -ENOMSG) { /* a compressed file has this result: no known format begins like one */
		int done = add_packed(a, it, &packed);

		if (packed)
			return done;
	}
	if (add_is_trouble(r))
		return add_stop(a, r, &e);
	if (r < 0 || why)
		add_refuse(a, it->shown, why ? why : add_why(r, &e), it->named);
	return 0;
}
