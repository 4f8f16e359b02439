/* Keeps, expires, purges and removes stored artifacts, and the files that symfs made of them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/evict.h"
#include "store/sparse-file.h"

#include <stdio.h>
#include <string.h>

#define BATCH 64 /* objects of one transaction */
#define DAY 86400

/* ---- files that symfs made: GSYM, Breakpad files, sources out of Portable PDBs, sections --------------- */

#define MADE_MOST 32 /* files that one call finds */

struct made_files {
	struct index_object list[MADE_MOST];
	unsigned n;
};

struct finding {
	struct index *ix;
	const struct index_object *o;
	struct made_files *out;
};

/* Whether the URL is that of a file which was made of this one: "MAKER of SHA256", or of two files,
 * "MAKER of SHA256 of SHA256" (derive/derive.c). */
static bool is_made_of(const char *url, const char *sha256)
{
	size_t want = strlen(sha256);

	for (const char *p = url; want && (p = strstr(p, " of "));) {
		p += 4;
		if (strncmp(p, sha256, want) == 0 && (!p[want] || p[want] == ' '))
			return true;
	}
	return false;
}

static void made_add(struct made_files *m, const struct index_object *o)
{
	for (unsigned i = 0; i < m->n; i++)
		if (m->list[i].id == o->id)
			return;
	if (m->n < MADE_MOST)
		m->list[m->n++] = *o;
}

static int find_of_type(struct finding *f, const struct key *k, enum filetype type)
{
	struct key like = {.type = type}, found[MADE_MOST];
	struct index_hit hit;
	char canon[KEY_TEXT];
	int n;

	memcpy(like.id, k->id, sizeof(like.id));
	n = index_keys_with_id(f->ix, &like, found, MADE_MOST);
	for (int i = 0; i < n; i++)
		if (index_key_find(f->ix, key_canon(&found[i], canon), &hit) == 0 &&
			is_made_of(hit.facts.url, f->o->sha256))
			made_add(f->out, &hit.object);
	return MIN(n, 0);
}

/* Sources are found by the GUID of their PDB alone: the PDB may have replaced another with this GUID. Sections are
 * found by their build id: they go with the debug file and with the program. */
static int find_embedded(struct finding *f, const struct key *in)
{
	enum filetype t = in->type == FILETYPE_PORTABLEPDB ? FILETYPE_SOURCE : FILETYPE_SECTION;
	char canon[KEY_TEXT];
	const char *id = strchr(key_canon(in, canon), ' ') + 1;
	int n = index_embedded(f->ix, t, id, f->out->list + f->out->n, MADE_MOST - f->out->n);

	f->out->n += (unsigned)MAX(n, 0);
	return MIN(n, 0);
}

static int find_of_key(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	bool has = k->type == FILETYPE_PORTABLEPDB || k->type == FILETYPE_ELF_CODE || k->type == FILETYPE_ELF_DEBUG;
	int r = has ? find_embedded(ctx, k) : 0;

	for (unsigned t = 1; r == 0 && t < FILETYPES; t++)
		if (filetypes[t].flags & TYPE_MADE)
			r = find_of_type(ctx, k, t);
	return r;
}

/* What was made for a request that had only the debug id has that id, which the file states. */
static int find_of_module(struct finding *f)
{
	char id[DEBUG_ID_TEXT];
	struct key k = {.id = ""};
	struct module m;
	int r = index_module_of(f->ix, f->o->id, &m);

	if (r < 0 || debug_id_is_nil(&m.debug_id))
		return r == -ENOENT ? 0 : r;
	snprintf(k.id, sizeof(k.id), "%s", debug_id_breakpad(&m.debug_id, id));
	return find_of_key(f, &k, NULL);
}

/* Finds files that were made of an object. A caller that removes them calls again until it finds no more. 0,
 * -errno. */
static int made_find(struct index *ix, const struct index_object *o, struct made_files *out)
{
	struct finding f = {.ix = ix, .o = o, .out = out};
	int r;

	out->n = 0;
	r = index_keys_of(ix, o->id, find_of_key, &f);
	return r == 0 ? find_of_module(&f) : r;
}

/* ---- removing ------------------------------------------------------------------------- */

/* Why and when keys end. */
struct burial {
	struct index *ix;
	int64_t when;
	const char *why; /* NULL: they get no tombstone */
	bool expired;
};

static int bury_key(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	struct burial *b = ctx;

	return index_tomb_put(b->ix, k, b->when, b->why, b->expired);
}

static int bury_object(struct burial *b, const struct index_object *o)
{
	int r = b->why ? index_keys_of(b->ix, o->id, bury_key, b) : 0;

	return r == 0 ? index_object_remove(b->ix, o) : r;
}

/* Drops an object from the index, with a tombstone for each key if `why` is not NULL, and so the files that were made
 * of it: they have its names, lines or texts. The caller settles the intents. Returns the number of the made files,
 * or -errno. */
static int bury(struct index *ix, const struct index_object *o, const char *why, bool expired)
{
	struct burial b = {.ix = ix, .when = clock_wall(), .why = why, .expired = expired};
	_cleanup_free_ struct made_files *made = malloc(sizeof(*made));
	int r, n = 0;

	do {
		r = made ? made_find(ix, o, made) : -ENOMEM;
		for (unsigned i = 0; r == 0 && i < made->n; i++, n++)
			r = bury_object(&b, &made->list[i]);
	} while (r == 0 && made->n);
	if (r == 0)
		r = bury_object(&b, o);
	return r < 0 ? r : n;
}

static int remove_in(struct session *ses, const char *canon, char sparse[static 17])
{
	struct index_hit hit;
	int r = sparse_forget(ses->ix, canon, sparse);

	if (r == 0)
		r = index_key_find(ses->ix, canon, &hit);
	if (r < 0)
		return r == -ENOENT && sparse[0] ? 0 : r;
	session_count(ses, bury(ses->ix, &hit.object, NULL, false));
	return ses->r;
}

int store_remove_file(struct store *s, const struct key *k)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	char canon[KEY_TEXT], sparse[17];

	store_canon(s, k, canon);
	while (session_next(&ses))
		ses.r = remove_in(&ses, canon, sparse);
	if (ses.r == 0 && sparse[0])
		sparse_file_unlink(s, sparse);
	if (ses.r == 0)
		ses.r = session_settle(&ses);
	return session_counted(&ses);
}

static int purge_in(struct index *ix, const char *canon, const char *why, bool added)
{
	struct index_hit hit;
	int r = index_key_find(ix, canon, &hit);

	if (r == 0 && !added && hit.object.held.pinned && !hit.object.held.hold.class[0])
		return -EPERM;
	if (r == 0)
		r = bury(ix, &hit.object, why, false);
	return MIN(r, 0);
}

int store_purge(struct store *s, const struct key *k, const char *why, bool added)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	char canon[KEY_TEXT];

	store_canon(s, k, canon);
	while (session_next(&ses))
		ses.r = purge_in(ses.ix, canon, why, added);
	return ses.r == 0 ? session_settle(&ses) : ses.r;
}

int store_bury(struct store *s, const struct key *k, const char *why)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};

	while (session_next(&ses))
		ses.r = index_tomb_put(ses.ix, k, clock_wall(), why, false);
	return ses.r;
}

static int tomb_of(struct store *s, const struct key *k, struct store_tomb *out)
{
	_cleanup_session_ struct session ses = {.s = s};
	char canon[KEY_TEXT];

	key_canon(k, canon);
	while (session_next(&ses))
		ses.r = index_tomb(ses.ix, canon, out);
	return ses.r;
}

int store_tomb(struct store *s, const struct key *k, struct store_tomb *out)
{
	struct key named;
	int r = key_by_name(k, &named) ? tomb_of(s, &named, out) : -ENOENT;

	return r == 0 ? 0 : tomb_of(s, k, out);
}

/* ---- keeping -------------------------------------------------------------------------- */

static int keep_in(struct index *ix, const char *canon, int64_t until)
{
	struct index_hit hit;
	int r = index_key_find(ix, canon, &hit);

	if (r == 0)
		r = index_object_keep(ix, hit.object.id, until);
	/* The label records the pin, so it must be written anew. */
	return r == 0 && (until == STORE_FOR_GOOD || until == 0) ? index_intent_add(ix, hit.object.sha256, false) : r;
}

/* Whether store_keep() has nothing to do: the file is pinned, and does not expire before `until`. */
static bool is_kept(struct store *s, const struct key *k, int64_t until)
{
	struct index_hit hit;

	return store_hit(s, k, &hit) == 0 && hit.object.pinned &&
	       (hit.object.held.ends == 0 || (until != STORE_FOR_GOOD && hit.object.held.ends >= until));
}

int store_keep(struct store *s, const struct key *k, int64_t seconds)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	int64_t now = store_now(s), until = 0;
	char canon[KEY_TEXT];

	if (seconds > 0)
		until = seconds > INT64_MAX - now ? STORE_FOR_GOOD : now + seconds;
	if (until && is_kept(s, k, until))
		return 0;
	store_canon(s, k, canon);
	while (session_next(&ses))
		ses.r = keep_in(ses.ix, canon, until);
	if (ses.r == 0)
		session_settle(&ses); /* if the disk has no room for the label, a later writer writes it */
	return ses.r;
}

static int hold_in(struct index *ix, const char *canon, const struct hold_state *held)
{
	struct index_hit hit;
	int r = index_key_find(ix, canon, &hit);

	if (r < 0)
		return r;
	hold_join(&hit.object.held, held);
	r = index_object_hold(ix, hit.object.id, &hit.object.held);
	return r == 0 ? index_intent_add(ix, hit.object.sha256, false) : r; /* the label has the hold, too */
}

int store_hold(struct store *s, const struct key *k, const struct store_hold *h)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true, .whole = true};
	struct hold_state held = hold_begin(h, store_now(s));
	char canon[KEY_TEXT];

	store_canon(s, k, canon);
	while (session_next(&ses))
		ses.r = hold_in(ses.ix, canon, &held);
	if (ses.r == 0)
		session_settle(&ses);
	return ses.r;
}

/* ---- expiry --------------------------------------------------------------------------- */

/* "expired: class try, 30 days without a use" */
static void why_expired(const struct store_hold *h, char *out, size_t room)
{
	long long days = h->age / DAY;

	if (days)
		snprintf(out, room, "expired: class %s, %lld day%s without a use", h->class, days,
			PLURAL(days));
	else
		snprintf(out, room, "expired: class %s, %lld s without a use", h->class, (long long)h->age);
}

static int expire_batch(struct session *ses, int64_t now, struct store_expired *done)
{
	char why[sizeof(((struct store_tomb *)NULL)->why)];
	struct store_expired batch = {0};
	struct index_object o;
	int r = index_begin(ses->ix);

	while (r == 0 && batch.artifacts < BATCH && (r = index_object_ended(ses->ix, now, &o)) == 0) {
		why_expired(&o.held.hold, why, sizeof(why));
		r = bury(ses->ix, &o, why, true);
		r = MIN(r, 0);
		batch.artifacts++;
		batch.bytes += o.size;
	}
	if (r == -ENOENT)
		r = 0;
	r = index_end(ses->ix, r);
	if (r < 0)
		return r;
	done->artifacts += batch.artifacts;
	done->bytes += batch.bytes;
	return batch.artifacts ? session_settle(ses) : 0;
}

void expire_some(struct session *ses)
{
	struct store_expired done = {0};
	int64_t now = store_past(ses->s);
	struct index_object o;
	int r = index_object_ended(ses->ix, now, &o);

	if (r == 0)
		r = expire_batch(ses, now, &done);
	if (r < 0 && r != -ENOENT)
		log_debug(LOG_STORE, "expired files stay for now: %s", err_text(r));
}

/* Asks as a reader first: most often no file has expired, and the write lock is not needed. */
static int any_ended(struct store *s)
{
	_cleanup_free_ struct store_row *row = calloc(1, sizeof(*row));

	return row ? store_list_ended(s, 0, row, 1) : -ENOMEM;
}

static int expire_all(struct store *s, struct store_expired *out)
{
	_cleanup_session_ struct session ses = {.s = s, .write = true};
	struct store_expired done = {0}, before;

	while (session_next(&ses))
		do {
			before = done;
			ses.r = expire_batch(&ses, store_past(s), &done);
		} while (ses.r == 0 && done.artifacts > before.artifacts);
	if (ses.r == 0)
		*out = done;
	return ses.r;
}

int store_list_ended(struct store *s, int64_t after, struct store_row *rows, unsigned n)
{
	_cleanup_session_ struct session ses = {.s = s};

	while (session_next(&ses))
		session_count(&ses, index_list_ended(ses.ix, store_past(s), after, rows, n));
	return session_counted(&ses);
}

int store_expire(struct store *s, struct store_expired *out)
{
	int r = any_ended(s);

	if (r == 0)
		*out = (struct store_expired){0};
	return r <= 0 ? r : expire_all(s, out);
}
