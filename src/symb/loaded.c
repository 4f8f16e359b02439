/* GSYM files that are mapped for look-ups, shared by requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/util.h"
#include "derive/convert/eliot.h"
#include "symb/private.h"

#include <stdio.h>
#include <string.h>

/* Unused files are unmapped, least recently used first, while more than this many files are mapped. */
#define LOADED_MOST 512

/* The most bytes of mapped files whose pages stay in memory after use. The pages of other files are released. */
#define RESIDENT_MOST (96ull << 20)

#define CHECK_EVERY_MS 1000 /* the least time between two checks of a mapped file for a better input */

static void unlink_loaded(struct symb *s, struct loaded *l)
{
	*(l->newer ? &l->newer->older : &s->newest) = l->older;
	*(l->older ? &l->older->newer : &s->oldest) = l->newer;
	l->newer = l->older = NULL;
	s->n_loaded--;
}

static void put_first(struct symb *s, struct loaded *l)
{
	l->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = l;
	s->newest = l;
	s->n_loaded++;
}

static void free_loaded(struct loaded *l)
{
	gsym_release(&l->g);
	map_release(&l->map);
	free(l);
}

/* (under lock) Unmaps unused files, least recently used first, until at most `most` files are left. */
static void trim_loaded(struct symb *s, unsigned most)
{
	struct loaded *l = s->oldest, *newer;

	for (; l && s->n_loaded > most; l = newer) {
		newer = l->newer;
		if (l->refs)
			continue;
		unlink_loaded(s, l);
		s->resident -= l->resident ? l->map.n : 0;
		free_loaded(l);
	}
}

void loaded_unref(struct symb *s, struct loaded *l)
{
	LOCK_SCOPE(&s->lock);
	l->refs--;
	if (!l->refs && !l->key[0]) {
		unlink_loaded(s, l);
		s->resident -= l->resident ? l->map.n : 0;
		free_loaded(l);
	}
	trim_loaded(s, LOADED_MOST);
}

void loaded_rest(struct symb *s, struct loaded *l)
{
	bool stays;

	pthread_mutex_lock(&s->lock);
	if (!l->resident && l->map.n <= RESIDENT_MOST - s->resident) {
		l->resident = true;
		s->resident += l->map.n;
	}
	stays = l->resident;
	pthread_mutex_unlock(&s->lock);
	if (!stays)
		map_rest(l->map);
}

void loaded_forget_all(struct symb *s)
{
	LOCK_SCOPE(&s->lock);
	trim_loaded(s, 0);
}

struct loaded *loaded_find(struct symb *s, const char *canon)
{
	uint64_t hash = hash_mix(canon, strlen(canon));
	LOCK_SCOPE(&s->lock);
	struct loaded *l = s->newest;

	while (l && (l->hash != hash || strcmp(l->key, canon) != 0))
		l = l->older;
	if (!l)
		return NULL;
	l->refs++;
	unlink_loaded(s, l);
	put_first(s, l);
	return l;
}

bool loaded_is_stale(struct symb *s, struct loaded *l, const struct artifact *a)
{
	uint64_t now = clock_ms();

	if (now - atomic_load(&l->checked) < CHECK_EVERY_MS)
		return false;
	if (derive_is_stale(s->derive, a, l->made))
		return true;
	atomic_store(&l->checked, now);
	return false;
}

/* Reads the name of the code file. The GSYM file contains it only if it differs from the debug file's. A method of
 * .NET at the same address has another size. */
static void read_name(struct loaded *l)
{
	_cleanup_free_ struct gsym_hit *hit = malloc(sizeof(*hit));
	int64_t more;

	if (hit && gsym_lookup(&l->g, ELIOT_NAME_AT, hit, NULL) == 0 && hit->start == ELIOT_NAME_AT && hit->size == 1)
		snprintf(l->name, sizeof(l->name), "%.255s", eliot_name(hit->frame[0].name, &more));
}

/* Files of the store never change, so they can be mapped. If several threads map the same file, each mapping
 * stays in use until trim_loaded() removes it. */
int loaded_new(struct symb *s, const struct key *k, enum loaded_form form, struct blob *b, struct loaded **out,
	struct err *e)
{
	struct loaded *l = calloc(1, sizeof(*l));
	int r = l ? map_fd(&l->map, blob_fd(b), e) : err_set(e, -ENOMEM, "%s", err_text(ENOMEM));

	if (r == 0)
		r = gsym_open(&l->g, l->map, e);
	/* Functions of an exact file never overlap, so gsym_prepare(), which touches every page, is not needed. */
	if (r == 0 && form == LOADED_EXACT)
		l->g.prepared = true;
	else if (r == 0)
		r = gsym_prepare(&l->g, e);
	if (r < 0) {
		if (l)
			free_loaded(l);
		return r;
	}
	if (k) {
		key_canon(k, l->key);
		l->hash = hash_mix(l->key, strlen(l->key));
	}
	l->refs = 1;
	l->form = form;
	snprintf(l->made, sizeof(l->made), "%.159s", blob_facts(b)->url);
	atomic_init(&l->checked, clock_ms());
	if (form == LOADED_EXACT)
		read_name(l);
	map_rest(l->map);
	LOCK_SCOPE(&s->lock);
	put_first(s, l);
	atomic_fetch_add(&s->counts[COUNT_LOADED], 1);
	*out = l;
	return 0;
}
