/* Finds the files that symfs made of a stored file (GSYM, Breakpad files, sources out of Portable PDBs, sections). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/made.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

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
		if (filetype_is(t, TYPE_MADE))
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

int made_find(struct index *ix, const struct index_object *o, struct made_files *out)
{
	struct finding f = {.ix = ix, .o = o, .out = out};
	int r;

	out->n = 0;
	r = index_keys_of(ix, o->id, find_of_key, &f);
	return r == 0 ? find_of_module(&f) : r;
}
