/* Publishing: turns a draft into a blob that lookups of its key find. The steps come in this order: intent,
 * bytes and label on disk, rename, commit. So a process may be killed at any step. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/files/dir.h"
#include "store/evict.h"
#include "store/files/label.h"
#include "store/settle.h"
#include "store/sparse-file.h"

#include <stdio.h>
#include <string.h>

#define ROOM_AHEAD (4 << 20)

struct publishing {
	struct store *s;
	struct draft *d;
	struct key k; /* the key, with the name that it was first stored with */
	const struct blob_facts *facts;
	char canon[KEY_TEXT];
	char sha256[SHA256_TEXT];
	uint64_t size;
	int64_t object;
	struct blob_facts stored; /* the facts as the index has them now */
	const struct store_learned *learned; /* NULL: nothing was learned */
	bool takes[STORE_KEYS_MOST]; /* which of `learned`'s keys the blob gets: no file or only a worse
					file has the key */
	struct key keys[STORE_KEYS_MOST]; /* the keys of `learned`, with the names that they were first
					     stored with */
	struct worth worth;
	struct hold_state inherited; /* from pinned files that lose a key to the blob */
	struct hold_state held;	     /* the hold that the blob gets; set by write_label() */
	bool teaches;		     /* `m` is to be recorded */
	struct module m;
	char sparse[17]; /* the sparse file that the blob replaces; "": none */
};

static bool is_repeated(const struct store_learned *l, unsigned i)
{
	for (unsigned j = 0; j < i; j++)
		if (key_equal(&l->keys[j], &l->keys[i]))
			return true;
	return false;
}

enum rival { RIVAL_BETTER, RIVAL_EQUAL, RIVAL_WORSE, RIVAL_UNKNOWN };

/* Compares the file that has a key with the file that is published. */
static enum rival rival_of(struct publishing *p, const struct index_hit *h, enum filetype t)
{
	const struct store_hold *mine = p->learned && p->learned->pinned ? &p->learned->hold : NULL;
	struct stat st;
	struct worth w;
	int c;

	c = hold_compare(hold_rank(&h->object.held), hold_rank_of(mine));
	if (c)
		return c > 0 ? RIVAL_BETTER : RIVAL_WORSE;
	if (dir_blob_stat(p->s->dirfd, h->object.sha256, &st) == -ENOENT)
		return RIVAL_WORSE;
	w = p->worth.known ? store_worth(p->s, h) : (struct worth){.known = false};
	if (!w.known)
		return RIVAL_UNKNOWN;
	c = worth_compare(&w, &p->worth, t);
	return c > 0 ? RIVAL_BETTER : c < 0 ? RIVAL_WORSE : RIVAL_EQUAL;
}

/* Takes a key from the file that has it. The blob inherits the hold of that file. */
static int take_from(struct index *ix, struct publishing *p, const struct index_hit *h)
{
	hold_join(&p->inherited, &h->object.held);
	return index_intent_add(ix, h->object.sha256, false);
}

/* Chooses the further keys that the file gets: those that no blob or only a worse blob has. No other
 * process changes them under the write lock. */
static int choose_keys(struct index *ix, struct publishing *p)
{
	for (unsigned i = 0; p->learned && i < p->learned->n; i++) {
		const struct key *k = &p->learned->keys[i];
		char canon[KEY_TEXT];
		struct index_hit hit;
		int r;

		p->takes[i] = false;
		p->keys[i] = *k;
		key_canon(k, canon);
		if (strcmp(canon, p->canon) == 0 || is_repeated(p->learned, i))
			continue;
		r = index_key_find(ix, canon, &hit);
		p->takes[i] = r == -ENOENT;
		if (r == 0 && strcmp(hit.object.sha256, p->sha256) != 0 &&
		    rival_of(p, &hit, k->type) == RIVAL_WORSE) {
			p->takes[i] = true;
			p->keys[i] = hit.key;
			r = take_from(ix, p, &hit);
		}
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

static void take_missing(char *to, const char *from, size_t room)
{
	if (!to[0])
		snprintf(to, room, "%s", from);
}

/* Joins the new module with the recorded module. The same bytes have the same ids; only file names may have
 * been unknown until now. */
static int merge_module(struct index *ix, struct publishing *p)
{
	const struct module *new = p->learned ? &p->learned->m : NULL;
	struct index_object o;
	struct module had;
	int r = index_object_find(ix, p->sha256, &o);

	if (r == 0)
		r = index_module_of(ix, o.id, &had);
	if (r < 0 && r != -ENOENT)
		return r;
	p->teaches = r == 0 || (new && new->code_id[0] && !debug_id_is_nil(&new->debug_id));
	if (!p->teaches)
		return 0;
	p->m = r == 0 ? had : *new;
	if (new) {
		take_missing(p->m.code_file, new->code_file, sizeof(p->m.code_file));
		take_missing(p->m.debug_file, new->debug_file, sizeof(p->m.debug_file));
	}
	return 0;
}

static bool is_pinning(const struct publishing *p)
{
	return p->learned && p->learned->pinned;
}

/* Whether the file takes the key that it is published under from the file that has it. A better file does.
 * If the files cannot be compared, the later file does. But a download must not drop a file that the user
 * added. */
static bool may_take(struct publishing *p, const struct index_hit *from)
{
	if (strcmp(from->object.sha256, p->sha256) == 0)
		return true;
	switch (rival_of(p, from, p->k.type)) {
	case RIVAL_WORSE:
		return true;
	case RIVAL_UNKNOWN:
		return !from->object.pinned || is_pinning(p);
	default:
		return false;
	}
}

/* Records intents for the files that are about to change: the files of this blob, and of the blob that
 * loses its key. */
static int intend(struct index *ix, struct publishing *p)
{
	struct index_hit old;
	int r;

	r = index_begin(ix);
	if (r == 0)
		r = index_key_find(ix, p->canon, &old);
	if (r == 0 && !may_take(p, &old))
		return -ESTALE;
	if (r == 0 && strcmp(old.object.sha256, p->sha256) != 0)
		r = take_from(ix, p, &old);
	if (r == 0)
		p->k = old.key;
	if (r == 0 || r == -ENOENT)
		r = index_intent_add(ix, p->sha256, false);
	if (r == 0)
		r = choose_keys(ix, p);
	if (r == 0)
		r = merge_module(ix, p);
	return r == 0 ? index_commit(ix) : r;
}

struct relabelling {
	struct publishing *p;
	struct buf *text; /* the new label */
	bool there; /* the key is in the label already */
};

static int other_line(void *ctx, const struct key *k, const struct blob_facts *facts)
{
	struct relabelling *l = ctx;
	char canon[KEY_TEXT];

	if (strcmp(key_canon(k, canon), l->p->canon) != 0)
		return label_add(l->text, k, facts, l->p->size);
	l->there = true;
	return label_add(l->text, k, l->p->facts, l->p->size);
}

/* Writes the worth into the label. If the publisher does not know the worth, writes the worth that the
 * index has for the same bytes. */
static int write_worth(struct index *ix, const struct publishing *p, const struct index_object *o, struct buf *text)
{
	struct worth w = p->worth;
	int r = w.known || !o->id ? 0 : index_object_worth(ix, o->id, &w);

	return r == 0 || r == -ENOENT ? label_add_worth(text, &w) : r;
}

/* Joins the holds of the blob: what it had, what the publisher wants, what it inherits. */
static int write_hold(struct publishing *p, const struct index_object *o, struct buf *text)
{
	struct hold_state wanted;
	int r;

	p->held = o->held;
	if (is_pinning(p)) {
		wanted = hold_begin(&p->learned->hold, store_now(p->s));
		hold_join(&p->held, &wanted);
	}
	hold_join(&p->held, &p->inherited);
	if (!p->held.pinned)
		return 0;
	r = label_add_pin(text);
	return r == 0 ? hold_write(text, &p->held.hold) : r;
}

static int write_label(struct index *ix, struct publishing *p)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(LABEL_MOST);
	struct relabelling l = {.p = p, .text = &text};
	struct index_object o = {.pinned = false};
	int r;

	r = index_object_find(ix, p->sha256, &o);
	if (r == 0)
		r = index_keys_of(ix, o.id, other_line, &l);
	if (r == -ENOENT)
		r = 0;
	if (r == 0 && !l.there)
		r = label_add(&text, &p->k, p->facts, p->size);
	for (unsigned i = 0; r == 0 && p->learned && i < p->learned->n; i++)
		if (p->takes[i])
			r = label_add(&text, &p->keys[i], p->facts, p->size);
	if (r == 0 && p->teaches)
		r = label_add_module(&text, &p->m);
	if (r == 0)
		r = write_worth(ix, p, &o, &text);
	if (r == 0)
		r = write_hold(p, &o, &text);
	return r == 0 ? label_write(p->s->dirfd, p->sha256, &text) : r;
}

static int commit_learned(struct index *ix, struct publishing *p)
{
	char canon[KEY_TEXT];
	int r = p->teaches ? index_module_put(ix, p->object, &p->m) : 0;

	for (unsigned i = 0; r == 0 && p->learned && i < p->learned->n; i++) {
		const struct key *k = &p->keys[i];

		if (!p->takes[i])
			continue;
		r = index_key_put(ix, k, p->object, p->facts);
		if (r == 0)
			r = MIN(index_misses_drop(ix, key_canon(k, canon)), 0);
		if (r == 0)
			r = index_tomb_drop(ix, canon);
	}
	return r;
}

static int commit(struct index *ix, struct publishing *p)
{
	int r;

	r = index_begin(ix);
	if (r == 0)
		r = index_object_put(ix, p->sha256, p->size, store_now(p->s), &p->worth, &p->object);
	if (r == 0 && p->held.pinned)
		r = index_object_hold(ix, p->object, &p->held);
	if (r == 0)
		r = index_key_put(ix, &p->k, p->object, p->facts);
	if (r == 0)
		r = commit_learned(ix, p);
	if (r == 0)
		r = sparse_forget(ix, p->canon, p->sparse);
	if (r == 0)
		r = MIN(index_misses_drop(ix, p->canon), 0);
	if (r == 0)
		r = index_tomb_drop(ix, p->canon);
	if (r == 0)
		r = index_intent_done(ix, p->sha256);
	return r == 0 ? index_commit(ix) : r;
}

/* Undoes the rename after an error. Otherwise the next writer would add the blob to the index from its label,
 * and might evict it before the publish is tried again. */
static void take_back(struct index *ix, struct publishing *p)
{
	struct index_object o;

	if (index_object_find(ix, p->sha256, &o) == -ENOENT)
		draft_take_back(p->d, p->sha256);
}

static int publish_in(struct session *ses, struct publishing *p)
{
	struct index_hit now;
	int r;

	p->inherited = (struct hold_state){.pinned = false};
	r = intend(ses->ix, p);
	if (r == 0)
		r = write_label(ses->ix, p);
	if (r == 0)
		r = draft_place(p->d, p->sha256);
	if (r == 0)
		r = commit(ses->ix, p);
	if (r < 0) {
		index_rollback(ses->ix);
		take_back(ses->ix, p);
		return r;
	}
	p->stored = *p->facts;
	if (index_key_find(ses->ix, p->canon, &now) == 0)
		p->stored = now.facts;
	if (p->sparse[0])
		sparse_file_unlink(p->s, p->sparse);
	session_settle(ses); /* settles the blob that had the key before; after an error, the next writer
				settles it */
	return 0;
}

static int publish_and_open(struct publishing *p, struct blob **out)
{
	_cleanup_session_ struct session ses = {.s = p->s, .write = true};
	char rel[DIR_REL], path[4300];
	struct stat st;
	int fd, r;

	while (session_next(&ses))
		ses.r = publish_in(&ses, p);
	if (ses.r < 0)
		return ses.r;
	if (evict_to_quota(&ses, p->object) < 0)
		log_warn("%s: the store is over its quota, and nothing could be evicted", p->s->dir);
	if (!out)
		return 0;
	r = dir_blob_open(p->s->dirfd, p->sha256, &fd, &st);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s", p->s->dir, dir_blob(p->sha256, rel));
	return blob_of_store(out, fd, path, p->sha256, &st, &p->stored);
}

void store_watch(struct store *s, store_arrived *arrived, void *ctx)
{
	LOCK_SCOPE(&s->watch.lock);

	s->watch.arrived = arrived;
	s->watch.ctx = ctx;
}

static void announce(struct store *s, const struct store_arrival *a)
{
	LOCK_SCOPE(&s->watch.lock);

	if (s->watch.arrived)
		s->watch.arrived(s->watch.ctx, a);
}

static int publish_locked(struct publishing *p, struct blob **out)
{
	struct store_arrival a = {.key = &p->k, .sha256 = p->sha256, .source = p->facts->source, .size = p->size};
	int r = publish_and_open(p, out);

	if (r < 0)
		return r;
	announce(p->s, &a);
	for (unsigned i = 0; p->learned && i < p->learned->n; i++) {
		a.key = &p->keys[i];
		if (p->takes[i])
			announce(p->s, &a);
	}
	return 0;
}

/* Publishes a copy of a draft, if the draft was lost when the directory was removed. */
static int publish_anew(struct publishing *p, struct blob **out)
{
	int r = draft_copy_anew(p->d);

	if (r == 0)
		r = draft_seal(p->d, p->sha256, &p->size);
	return r == 0 ? publish_locked(p, out) : r;
}

static void cleanup_draft(struct draft **d)
{
	draft_discard(*d);
}

int store_publish_learned(struct store *s, struct draft *d, const struct key *k,
	const struct blob_facts *f, const struct store_learned *l, struct blob **out, struct err *e)
{
	_cleanup_(cleanup_draft) __attribute__((unused)) struct draft *mine = d;
	struct publishing p = {.s = s, .d = d, .k = *k, .facts = f, .learned = l};
	char room[KEY_TEXT];
	int r;

	if (l)
		p.worth = l->worth;
	p.worth.made = p.worth.known && blob_is_made(f);
	key_canon(k, p.canon);
	r = draft_seal(d, p.sha256, &p.size);
	if (r == 0)
		r = publish_locked(&p, out);
	if (r == -ENOSPC && evict_make_room(s, ROOM_AHEAD) == 0)
		r = publish_locked(&p, out);
	if (r == -ENOENT)
		r = publish_anew(&p, out);
	if (r < 0)
		return err_set(e, r, "%s: cannot be stored in %s: %s", key_text(k, room), s->dir,
			err_text(r));
	log_debug(LOG_STORE, "%s: stored, %llu bytes, %s", key_text(k, room),
		(unsigned long long)p.size, p.sha256);
	return 0;
}

int store_publish(struct store *s, struct draft *d, const struct key *k, const struct blob_facts *f,
	struct blob **out, struct err *e)
{
	return store_publish_learned(s, d, k, f, NULL, out, e);
}
