/* Keeps, for each source, how it spelled the files that were found in it: in memory and in the store. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fetch/taught.h"
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 256

struct taught_name {
	uint64_t hash; /* of the name in lower case; 0: a free slot */
	char *text;
};

struct taught {
	struct taught *next;
	char memory[64]; /* source.memory */
	struct source_taught like;
	bool recalled; /* the saved spellings were loaded, or `like` is newer */
	struct taught_name names[NAMES_MOST]; /* by hash; a slot keeps its newest name */
};

/* ---- known (under f->lock) ----------------------------------------------------------------------------------- */

static struct taught *taught_find(struct fetch *f, const struct source *s)
{
	struct taught *t = f->taught;

	while (t && strcmp(t->memory, s->memory) != 0)
		t = t->next;
	return t;
}

/* Finds the spellings of a source, or adds an empty struct. NULL: out of memory. */
static struct taught *taught_of(struct fetch *f, const struct source *s)
{
	struct taught *t = taught_find(f, s);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	snprintf(t->memory, sizeof(t->memory), "%s", s->memory);
	t->next = f->taught;
	f->taught = t;
	return t;
}

void taught_free(struct fetch *f)
{
	while (f->taught) {
		struct taught *t = f->taught;

		f->taught = t->next;
		for (size_t i = 0; i < NAMES_MOST; i++)
			free(t->names[i].text);
		free(t);
	}
}

static uint64_t hash_of(const char *name)
{
	char folded[MODULE_NAME_MAX];
	size_t n = 0;

	for (; name[n] && n + 1 < sizeof(folded); n++)
		folded[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] | 0x20) : name[n];
	return hash_mix(folded, n) | 1;
}

static char *name_known(const struct taught *t, const char *name)
{
	uint64_t hash = hash_of(name);
	const struct taught_name *slot = &t->names[hash / 2 % NAMES_MOST];

	if (slot->hash != hash || strcasecmp(slot->text, name) != 0 || strcmp(slot->text, name) == 0)
		return NULL;
	return strdup(slot->text);
}

void taught_fill(struct fetch *f, const struct source *s, const struct artifact *a, struct source_facts *known)
{
	LOCK_SCOPE(&f->lock);
	const struct taught *t = taught_find(f, s);

	if (!t)
		return;
	known->taught = t->like;
	if (!known->code_file)
		known->code_file = name_known(t, a->m.code_file);
	if (!known->debug_file)
		known->debug_file = name_known(t, a->m.debug_file);
}

/* ---- saved ------------------------------------------------------------------------------------------------- */

static void note_name(const char *memory, char out[static 80])
{
	snprintf(out, 80, "spelling %s", memory);
}

struct note {
	struct fetch *f;
	char memory[64];
	struct source_taught like;
};

/* "TYPE:CODE" in hex for each type, after "0:CODE" for the last file. note_parse() skips types that this
 * version of symfs does not know. */
static void note_write(void *ctx)
{
	struct note *n = ctx;
	char name[80], text[200];
	int at = snprintf(text, sizeof(text), "0:%x", n->like.last);

	for (unsigned t = 0; t < FILETYPES && at + 10 < (int)sizeof(text); t++)
		if (n->like.spelling[t])
			at += snprintf(text + at, sizeof(text) - (size_t)at, " %x:%x", t + 1, n->like.spelling[t]);
	note_name(n->memory, name);
	store_note_set(n->f->store, name, text);
	free(n);
}

static void save(struct fetch *f, const char *memory, const struct source_taught *like)
{
	struct note *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	*n = (struct note){.f = f, .like = *like};
	snprintf(n->memory, sizeof(n->memory), "%s", memory);
	if (workers_post(f->workers, note_write, n) < 0)
		free(n);
}

static void note_parse(const char *text, struct source_taught *out)
{
	unsigned type, code;
	int n;

	for (; sscanf(text, " %x:%x%n", &type, &code, &n) == 2; text += n) {
		if (code > UINT16_MAX || type > FILETYPES)
			continue;
		if (type == 0)
			out->last = (uint16_t)code;
		else
			out->spelling[type - 1] = (uint16_t)code;
	}
}

void taught_recall(struct fetch *f, const struct source *s)
{
	struct source_taught like = {0};
	char name[80], text[201];
	struct taught *t;
	bool wanted;

	pthread_mutex_lock(&f->lock);
	t = taught_of(f, s);
	wanted = t && !t->recalled;
	pthread_mutex_unlock(&f->lock);
	if (!wanted)
		return;
	note_name(s->memory, name);
	if (store_note(f->store, name, text) == 0)
		note_parse(text, &like);
	LOCK_SCOPE(&f->lock);
	if (!t->recalled)
		t->like = like;
	t->recalled = true;
}

/* ---- an answer ---------------------------------------------------------------------------------------------- */

static void keep_name(struct taught *t, const char *name)
{
	uint64_t hash = hash_of(name);
	struct taught_name *slot = &t->names[hash / 2 % NAMES_MOST];
	char *text;

	if (slot->hash == hash && strcmp(slot->text, name) == 0)
		return;
	text = strdup(name);
	if (!text)
		return;
	free(slot->text);
	*slot = (struct taught_name){hash, text};
}

void taught_note(struct fetch *f, const struct source *s, enum filetype type, const struct artifact *a,
	const struct source_ask *ask)
{
	const char *name = layout_name_of(s->layout, a);
	struct source_taught before;
	LOCK_SCOPE(&f->lock);
	struct taught *t = taught_of(f, s);

	if (!t)
		return;
	before = t->like;
	source_teach(&t->like, type, ask);
	t->recalled = true;
	if (ask->as_given && !ask->any_case)
		keep_name(t, name);
	if (memcmp(&before, &t->like, sizeof(before)) != 0)
		save(f, t->memory, &t->like);
}
