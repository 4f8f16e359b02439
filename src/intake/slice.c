/* Stores each slice of a file under every key that fits the slice. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "intake/private.h"

#include <stdio.h>
#include <sys/stat.h>
#include <string.h>
#include <strings.h>

/* ---- claims ---------------------------------------------------------------------------------- */

/* Compares the file with one claim. 1: it fits; 0: the claim has no key; -errno. */
static int claim_fits(struct view *v, const struct artifact *a, struct key *k, uint64_t *off, struct err *e)
{
	struct obj_slice s;
	int r = key_of(k, a);

	if (r < 0)
		return 0;
	r = obj_check(v, k, &s, e);
	*off = r == 1 ? s.off : 0;
	/* Files of this type contain no identifier. If symfs can read them (such as a UUID map), the claim fits,
	 * because the path supplies the identifier. */
	if (r == 0 && !obj_reads(k->type))
		return err_set(e, -ENOTSUP, "contains no identifier that can be compared with its path");
	return r < 0 ? r : 1;
}

/* Whether the first slice of the file can be of the claimed type. The text for a refusal is about such a claim. */
static bool claim_is_close(struct view *v, const struct artifact *a)
{
	struct obj_slice s;

	if (obj_identify(v, 0, &s, NULL) < 0)
		return false;
	for (unsigned i = 0; i < s.n_types; i++)
		if (s.types[i] == a->type)
			return true;
	return false;
}

/* Keeps the error that says most: that of a claim of the file's own type, or else the first one. */
static void keep_error(struct err *kept, bool *close, struct view *v, const struct artifact *a, const struct err *new)
{
	bool now = !*close && claim_is_close(v, a);

	if (!kept->code || now)
		*kept = *new;
	*close |= now;
}

/* Compares a file with the claims of its path. 1: it is the file of a claim: *k is the claimed key, and `off`
 * the offset of the slice that fits. 0: the path claims nothing. -EBADMSG: the file fits no claim. Other
 * -errno. */
static int taking_claim(const struct part *p, struct key *k, uint64_t *off, struct err *e)
{
	struct view v = view_of_fd(p->it.fd, p->it.size);
	struct err kept = {0};
	struct obj_slice s;
	bool close = false;

	if (!p->it.n_claims)
		return 0;
	if (obj_identify(&v, 0, &s, e) == -ENOMSG) /* perhaps a compressed file, whose content is compared later */
		return -ENOMSG;
	for (unsigned i = 0; i < p->it.n_claims; i++) {
		struct err why = {0};
		int r = claim_fits(&v, &p->it.claims[i], k, off, &why);

		if (r == 1 || r == -ENOMSG || intake_is_trouble(r))
			return r == 1 ? 1 : err_set(e, r, "%s", why.text[0] ? why.text : err_text(r));
		why.code = r;
		if (r < 0)
			keep_error(&kept, &close, &v, &p->it.claims[i], &why);
	}
	if (!kept.code)
		return err_set(e, -EBADMSG, "has a path without an identifier of a file");
	return err_set(e, kept.code == -ENOTSUP ? -ENOTSUP : -EBADMSG, "does not fit its path: %s",
		kept.text[0] ? kept.text : err_text(kept.code));
}

bool intake_is_trouble(int r)
{
	return r == -ENOSPC || r == -EIO || r == -EROFS || r == -EDQUOT || r == -ENOMEM || r == -EINTR;
}

/* ---- slices ---------------------------------------------------------------------------------- */

#define SLICES_MOST 64
/* Attempts to store a slice whose keys another process or thread takes meanwhile. */
#define TRIES_MOST 3

/* A slice on its way into the store. */
struct placing {
	struct taking *t;
	const struct part *p;
	struct obj_slice *s;
	struct key keys[OBJ_KEYS_MOST + 1]; /* all keys that fit; a claimed key comes first */
	unsigned n_keys;
	struct key has[OBJ_KEYS_MOST + 1]; /* of each key, the one under which the store has the file */
	bool differs;  /* with `compare`: the store has a file of other bytes that is not worse */
	bool improves; /* a worse file has one of the keys that the slice gets */
	struct store_learned l;
};

/* Whether the stored file of a key has the bytes of the slice. 1, 0; -ENOENT: no file is stored under the key. A file
 * that cannot be read counts as different. */
static int is_same(const struct placing *p, const struct key *k)
{
	char sha256[SHA256_TEXT];
	struct blob *b = NULL;
	int r = store_find(p->t->opts->store, k, &b);
	bool same = r == 0 && blob_size(b) == p->s->size;

	if (same && p->s->size == p->p->it.size) /* slices of a fat file are compared by size alone */
		same = sha256_of_fd(p->p->it.fd, p->s->size, sha256) == 0 && strcmp(sha256, blob_sha256(b)) == 0;
	blob_unref(b);
	return r == -ENOENT ? r : same;
}

/* Whether the store has the file for the key, or one that this file does not replace. If a file of another name is
 * stored under the same id, adds the name to the key. */
static bool is_here(const struct placing *p, struct key *k)
{
	struct store *store = p->t->opts->store;
	char name[MODULE_PATH_MAX];
	struct key named;

	if (store_has(store, k, NULL) && key_by_name(k, &named) && store_name(store, k, name) == 0 &&
		strcasecmp(name, k->name) != 0)
		*k = named;
	return !store_wants(store, k, &p->s->worth, &p->p->it.hold) || is_same(p, k) == 1;
}

/* Finds the keys for which the store has no file, or a worse file. Several PE files can have the same debug id. */
static void find_new_keys(struct placing *p)
{
	struct store *store = p->t->opts->store;

	p->l.n = 0;
	p->improves = false;
	memcpy(p->has, p->keys, sizeof(p->has));
	for (unsigned i = 0; i < p->n_keys && p->l.n < STORE_KEYS_MOST; i++) {
		struct key k = p->keys[i];
		bool here = is_here(p, &k);

		p->has[i] = k;
		if (here)
			continue;
		p->improves |= store_has(store, &k, NULL);
		p->l.keys[p->l.n++] = k;
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

/* Any other error of the store is trouble of this machine, and no refusal of the file. */
static int of_store(int r)
{
	return r == 0 || r == -ESTALE || r == -ENOENT || intake_is_trouble(r) ? r : -EIO;
}

static int copy_slice(struct placing *p, struct draft **out, struct err *e)
{
	const struct intake_item *it = &p->p->it;
	struct store *store = p->t->opts->store;
	struct draft *d;
	int r;

	if (it->draft && *it->draft && p->s->off == 0 && p->s->size == it->size) {
		*out = take(*it->draft);
		return 0;
	}
	r = draft_new(&d, store, e);
	if (r < 0)
		return of_store(r);
	r = draft_copy(d, it->fd, p->s->off, p->s->size);
	if (r < 0) {
		draft_discard(d);
		if (r == -ENOSPC || r == -EDQUOT)
			return err_set(e, r, "%s: cannot be stored in %s: %s", it->name, store_dir(store),
				err_text(r));
		return err_set(e, r, "%s", r == -ENODATA ? "became shorter while it was copied" : err_text(r));
	}
	*out = d;
	return 0;
}

static int publish(struct placing *p, struct err *e)
{
	struct blob_facts facts = {.fetched = clock_wall()};
	struct draft *d = NULL;
	struct stat st;
	int r = copy_slice(p, &d, e);

	if (r < 0)
		return r;
	r = check_copy(d, &p->l.keys[0], &facts.verified, e);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	snprintf(facts.source, sizeof(facts.source), "%s", p->t->opts->source);
	snprintf(facts.url, sizeof(facts.url), "%s", p->p->it.from);
	facts.modified = p->p->it.time ? p->p->it.time : fstat(p->p->it.fd, &st) == 0 ? st.st_mtime : 0;
	return of_store(store_publish_learned(p->t->opts->store, d, &p->l.keys[0], &facts, &p->l, NULL, e));
}

static void report(struct placing *p, enum intake_what what)
{
	struct intake_report r = {.what = what,
		.shown = p->p->it.shown,
		.member = p->p->member,
		.format = p->s->format,
		.key = p->keys[0],
		.keys = p->has,
		.n_keys = p->n_keys,
		.module = p->s->module,
		.worth = p->s->worth,
		.size = p->s->size};

	r.differs = what == INTAKE_PRESENT && p->differs;
	p->t->placed++;
	p->t->report(p->t->ctx, &r);
}

/* Holds the stored files that have the keys, also if they are earlier downloads. Several files can share the keys:
 * one is the better program, another the better debug file. -ENOENT: the first key has lost its file. */
static int hold_present(struct placing *p)
{
	for (unsigned i = 0; i < p->n_keys; i++) {
		int r = store_hold(p->t->opts->store, &p->keys[i], &p->p->it.hold);

		if (r < 0 && (i == 0 || r != -ENOENT))
			return of_store(r);
	}
	if (p->p->it.compare) {
		int same = is_same(p, &p->keys[0]);

		p->differs = same == 0;
		return MIN(same, 0);
	}
	return 0;
}

/* Stores the slice, or holds the files that are equally good or better. Other processes may take or lose keys
 * meanwhile; then it starts again. */
static int store_slice(struct placing *p, struct err *e)
{
	int r = -ESTALE;

	for (unsigned i = 0; i < TRIES_MOST && (r == -ESTALE || r == -ENOENT); i++) {
		*e = (struct err){0};
		find_new_keys(p);
		r = p->l.n ? publish(p, e) : hold_present(p);
	}
	if (r == -ESTALE) {
		p->l.n = 0;
		r = hold_present(p);
	}
	if (r == 0)
		report(p, !p->l.n ? INTAKE_PRESENT : p->improves ? INTAKE_IMPROVED : INTAKE_ADDED);
	return r == -ENOENT || r == -ESTALE ? -EIO : r; /* the store loses what it has just got */
}

static int check_size(const struct placing *p, struct err *e)
{
	uint64_t most = p->t->opts->max_file_size;

	return most && p->s->size > most
		? err_set(e, -EFBIG, "has %llu bytes; the limit is %llu (max-file-size)",
			  (unsigned long long)p->s->size, (unsigned long long)most)
		: 0;
}

/* `claimed` is the key that the path of the file claims, if the slice fits it; else NULL. */
static int place_slice(struct taking *t, const struct part *part, struct obj_slice *s, const struct key *claimed,
	struct err *e)
{
	_cleanup_free_ struct placing *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	*p = (struct placing){.t = t, .p = part, .s = s};
	obj_take_name(s, part->it.name);
	if (claimed)
		p->keys[p->n_keys++] = *claimed;
	p->n_keys += obj_keys(s, p->keys + p->n_keys);
	if (p->n_keys == 0)
		return err_set(e, -ENOENT, "%s without an identifier for any layout", s->format);
	p->l.m = s->module;
	p->l.worth = s->worth;
	p->l.pinned = true;
	p->l.hold = part->it.hold;
	r = check_size(p, e);
	return r < 0 ? r : store_slice(p, e);
}

/* If the slices together are larger than the file, they overlap. Only a hostile file has such slices, so this
 * function refuses them. */
int taking_slices(struct taking *t, const struct part *p, struct err *e)
{
	struct view v = view_of_fd(p->it.fd, p->it.size);
	struct obj_slice slice;
	struct key claimed;
	uint64_t left = p->it.size, off = 0;
	int r, claims = taking_claim(p, &claimed, &off, e);

	if (claims < 0)
		return claims;
	for (unsigned i = 0; i < SLICES_MOST; i++) {
		r = obj_identify(&v, i, &slice, e);
		if (r == -ENOENT && i > 0)
			return 0;
		if (r == 0 && slice.size > left)
			return err_set(e, -EBADMSG, "is broken: its slices overlap");
		if (r == 0)
			r = place_slice(t, p, &slice, claims && slice.off == off ? &claimed : NULL, e);
		if (r < 0)
			return r;
		left -= slice.size;
	}
	return 0;
}
