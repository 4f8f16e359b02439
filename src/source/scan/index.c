/* The index of a scanned tree: from a key to the files that have it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "source/scan/private.h"

#include <stdio.h>
#include <string.h>

/* Orders by key. For one key, the best file comes first; of equally good files, the largest. */
static int compare_refs(const void *a, const void *b)
{
	const struct scan_ref *x = a, *y = b;

	/* A file can be served in place; a member must be unpacked. */
	return COMPARE(x->number, y->number) ?: COMPARE(y->rank, x->rank)
		?: COMPARE(x->member != NO_MEMBER, y->member != NO_MEMBER) ?: COMPARE(y->file->size, x->file->size)
		?: strcmp(x->dir->path, y->dir->path) ?: strcmp(x->file->name, y->file->name)
		?: COMPARE(x->member, y->member);
}

struct indexing {
	struct scan_ref *refs;
	size_t n, room, n_keys;
};

/* Adds a reference: `at` with the number and the rank of the key. */
static int add_ref(struct indexing *x, const struct key *k, const struct worth *w, const struct scan_ref *at)
{
	struct scan_ref ref = *at;

	ref.number = key_number(k);
	ref.rank = worth_rank(w, k->type);
	return APPEND(x->refs, x->room, x->n, ref);
}

/* Requests can name an ELF file by the debug id that follows from its build id. That id depends on the byte
 * order, which the key lacks. So both possible ids lead to the file, and the reader of the file checks. */
static int add_debug_ids(struct indexing *x, const struct key *k, const struct worth *w, const struct scan_ref *at)
{
	struct artifact a;
	int r = 0;

	const struct filetype_row *row = &filetypes[k->type];

	if (row->object != OBJECT_ELF || row->id != ID_CODE_OR_DEBUG || key_is_by_debug_id(k))
		return 0;
	key_artifact(k, &a);
	for (int big = 0; r == 0 && big < 2; big++) {
		struct artifact by = {.type = k->type, .m.object = OBJECT_ELF};
		struct key own;

		if (module_debug_id(&a.m, big, &by.m.debug_id) == 0 && key_of(&own, &by) == 0)
			r = add_ref(x, &own, w, at);
	}
	return r;
}

static int index_file(struct indexing *x, const struct scan_dir *d, const struct scan_file *f)
{
	struct scan_ref at = {.dir = d, .file = f, .member = NO_MEMBER};
	int r = 0;

	for (const char *p = f->keys; r == 0 && p && *p;) {
		size_t n = strcspn(p, "\n");
		struct worth w;
		struct key k;
		int bad;

		at.line = (uint32_t)(p - f->keys);
		if (*p == '\t')
			at.member = at.line;
		bad = known_key(p, n, &k, &w);
		p += n + 1;
		if (bad < 0)
			continue;
		r = add_ref(x, &k, &w, &at);
		x->n_keys += r == 0;
		if (r == 0)
			r = add_debug_ids(x, &k, &w, &at);
	}
	return r;
}

void index_bury(struct scan *s)
{
	for (size_t i = 0; i < s->n_dead; i++)
		files_free(s->dead[i].files, s->dead[i].n);
	s->n_dead = 0;
}

/* If there is no memory for a new index, the tree counts as empty. The old index cannot stay, because it
 * refers to files that are about to be freed. */
void index_build(struct scan *s)
{
	struct scan_ref *old = s->refs;
	struct indexing x = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n_dirs; i++)
		for (size_t j = 0; r == 0 && j < s->dirs[i]->n; j++)
			r = index_file(&x, s->dirs[i], &s->dirs[i]->files[j]);
	sort_array(x.refs, x.n, sizeof(*x.refs), compare_refs);
	if (r < 0)
		x.n = x.n_keys = 0;
	pthread_mutex_lock(&s->lock);
	s->refs = x.refs;
	s->n_refs = x.n;
	s->n_keys = x.n_keys;
	pthread_mutex_unlock(&s->lock);
	free(old);
	index_bury(s);
	s->indexed_ms = clock_ms();
}
