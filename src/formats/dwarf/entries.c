/* Walks once through the entries of a unit: records scopes, and passes functions and calls to a visitor. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "formats/dwarf/walk.h"

/* Moves *p behind the values of an entry. False: a value is broken. */
static bool skip_values(const struct dwarf_unit *u, const struct dwarf_abbrev *a,
	const uint8_t **p, const uint8_t *end)
{
	struct dwarf_sizes s = sizes_of(u->head);
	const struct dwarf_step *step;

	for (step = &u->abbrevs->steps[a->steps];; step++) {
		if ((size_t)(end - *p) < step->bytes)
			return false;
		*p += step->bytes;
		if (!step->form)
			return true;
		if (!skip_form(step->form, s, u->file->swap, p, end))
			return false;
	}
}

static int add_scope(struct walk *k, uint64_t at, unsigned tag, uint32_t *out)
{
	struct dwarf_scopes *s = k->scopes;

	*out = (uint32_t)s->n;
	return APPEND(s->all, s->room, s->n,
		(struct dwarf_scope){at, UINT64_MAX, k->levels[k->n - 1].scope, (uint16_t)tag});
}

/* Skips the children of an entry. The caller has skipped the values of the entry itself. */
static int skip_children(struct walk *k)
{
	unsigned deep = 1;

	while (deep) {
		const struct dwarf_abbrev *a;
		uint64_t code;

		if (!take_uleb(&k->p, k->end, &code))
			return -EBADMSG;
		if (!code) {
			deep--;
			continue;
		}
		a = dwarf_abbrev_of(k->u->abbrevs, code);
		if (!a || !skip_values(k->u, a, &k->p, k->end))
			return -EBADMSG;
		deep += a->children;
	}
	return 0;
}

static int skip_entry(struct walk *k, uint64_t at, const struct dwarf_abbrev *a)
{
	struct dwarf_die d;
	const struct dwarf_file *f;
	uint64_t next;

	if (!a->children)
		return skip_values(k->u, a, &k->p, k->end) ? 0 : -EBADMSG;
	if (a->sibling) {
		if (!dwarf_read_die(k->u, at, a, k->p, &d))
			return -EBADMSG;
		k->p = k->start + d.next;
		if (dwarf_reference(k->u, &d.v[AT_SIBLING], &f, &next) && next >= d.next &&
			next <= k->u->head->end) {
			k->p = k->start + next;
			return 0;
		}
		return skip_children(k);
	}
	return skip_values(k->u, a, &k->p, k->end) ? skip_children(k) : -EBADMSG;
}

static int enter_level(struct walk *k, const struct level *l)
{
	if (k->n == WALK_DEEP_MOST)
		return -EBADMSG;
	k->levels[k->n++] = *l;
	return 0;
}

static int take_entry(struct walk *k, uint64_t at, const struct dwarf_abbrev *a)
{
	struct level in = k->levels[k->n - 1], next = in;
	struct dwarf_die d;
	int r = 0;

	if (!dwarf_read_die(k->u, at, a, k->p, &d))
		return -EBADMSG;
	k->p = k->start + d.next;
	if (a->act == ACT_FUNC) {
		next = (struct level){.owner = BATCH_NONE};
		if (k->visit)
			r = k->visit->func(k, &d, &next.owner);
	} else if (k->visit && in.owner != BATCH_NONE && !in.dropped) {
		r = k->visit->call(k, &d, &in, &next.dropped);
		next.depth++;
	}
	if (r < 0 || !a->children)
		return r;
	next.scope = in.scope;
	if (a->act == ACT_FUNC)
		r = add_scope(k, at, a->tag, &next.scope);
	return r < 0 ? r : enter_level(k, &next);
}

static int one_entry(struct walk *k, uint64_t at, const struct dwarf_abbrev *a)
{
	struct level next = k->levels[k->n - 1];
	int r = 0;

	switch (a->act) {
	case ACT_FUNC:
	case ACT_INLINE:
		return take_entry(k, at, a);
	case ACT_SKIP:
		return skip_entry(k, at, a);
	case ACT_TYPE:
		if (k->is_c)
			return skip_entry(k, at, a);
		next.owner = BATCH_NONE;
		break;
	}
	if (!skip_values(k->u, a, &k->p, k->end))
		return -EBADMSG;
	if (!a->children)
		return 0;
	if (a->act != ACT_NONE)
		r = add_scope(k, at, a->tag, &next.scope);
	return r < 0 ? r : enter_level(k, &next);
}

/* Ends the innermost entry after its last child. */
static void leave_level(struct walk *k)
{
	struct level l = k->levels[--k->n];
	const struct level *outer = k->n ? &k->levels[k->n - 1] : NULL;

	if (outer && l.scope != outer->scope)
		k->scopes->all[l.scope].end = (uint64_t)(k->p - k->start);
	if (k->visit && l.owner != BATCH_NONE && (!outer || outer->owner != l.owner))
		k->visit->end_func(k, l.owner);
}

int walk_entries(struct walk *k)
{
	int r = enter_level(k, &(struct level){.scope = BATCH_NONE, .owner = BATCH_NONE});

	while (r == 0 && k->n && k->p < k->end) {
		uint64_t code, at = (uint64_t)(k->p - k->start);
		const struct dwarf_abbrev *a;

		if (!take_uleb(&k->p, k->end, &code)) {
			r = -EBADMSG;
		} else if (!code) {
			leave_level(k);
		} else {
			a = dwarf_abbrev_of(k->u->abbrevs, code);
			r = a ? one_entry(k, at, a) : -EBADMSG;
		}
	}
	while (k->n) /* the end of the unit ends all open entries */
		leave_level(k);
	return r;
}

struct walk *walk_new(const struct dwarf_unit *u, struct dwarf_scopes *scopes)
{
	struct walk *k = malloc(sizeof(*k));

	if (!k)
		return NULL;
	k->w = NULL;
	k->u = u;
	k->scopes = scopes;
	k->out = NULL;
	k->visit = NULL;
	k->start = u->file->s[DWARF_INFO].p;
	k->p = k->start + u->children;
	k->end = k->start + u->head->end;
	k->is_c = u->language == 0x01 || u->language == 0x02 || u->language == 0x0c ||
		  u->language == 0x1d || u->language == 0x2c || u->language == 0x8001;
	k->n = 0;
	scopes->n = 0;
	return k;
}
