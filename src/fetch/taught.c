/* Keeps, for each source, how it spelled the files that were found in it, and how modules spell their names: in
 * memory and in the store. */
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
#define MODULES "modules" /* the memory of names that modules state, in place of a source's */

struct taught_name {
	uint64_t hash; /* of the name in lower case; 0: a free slot */
	char *text;
	bool recalled; /* the saved name was loaded, or `text` is newer */
};

struct taught {
	struct taught *next;
	char memory[64]; /* source.memory */
	struct source_taught like;
	bool recalled; /* the saved spellings were loaded, or `like` is newer */
	struct taught_name names[NAMES_MOST]; /* by hash; a slot keeps its newest name */
};

/* ---- known (under f->lock) ----------------------------------------------------------------------------------- */

static struct taught *taught_find(struct fetch *f, const char *memory)
{
	struct taught *t = f->taught;

	while (t && strcmp(t->memory, memory) != 0)
		t = t->next;
	return t;
}

/* Finds the spellings of a source, or adds an empty struct. NULL: out of memory. */
static struct taught *taught_of(struct fetch *f, const char *memory)
{
	struct taught *t = taught_find(f, memory);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	snprintf(t->memory, sizeof(t->memory), "%s", memory);
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

static unsigned slot_of(uint64_t hash)
{
	return (unsigned)(hash / 2 % NAMES_MOST);
}

static char *name_known(const struct taught *t, const char *name)
{
	uint64_t hash = hash_of(name);
	const struct taught_name *slot = t ? &t->names[slot_of(hash)] : NULL;

	if (!slot || slot->hash != hash || strcasecmp(slot->text, name) != 0 || strcmp(slot->text, name) == 0)
		return NULL;
	return strdup(slot->text);
}

void taught_fill(struct fetch *f, const struct source *s, const struct artifact *a, struct source_facts *known)
{
	LOCK_SCOPE(&f->lock);
	const struct taught *from[] = {taught_find(f, s->memory), taught_find(f, MODULES)};

	if (from[0])
		known->taught = from[0]->like;
	for (unsigned i = 0; i < ARRAY_SIZE(from); i++) {
		if (!known->code_file)
			known->code_file = name_known(from[i], a->m.code_file);
		if (!known->debug_file)
			known->debug_file = name_known(from[i], a->m.debug_file);
	}
}

/* ---- saved ------------------------------------------------------------------------------------------------- */

static void note_name(const char *memory, char out[static 80])
{
	snprintf(out, 80, "spelling %s", memory);
}

/* "TYPE:CODE" in hex for each type, after "0:CODE" for the last file. note_parse() skips types that this
 * version of symfs does not know. */
static void save_like(struct fetch *f, const char *memory, const struct source_taught *like)
{
	char name[80], text[200];
	int at = snprintf(text, sizeof(text), "0:%x", like->last);

	for (unsigned t = 0; t < FILETYPES && at + 10 < (int)sizeof(text); t++)
		if (like->spelling[t])
			at += snprintf(text + at, sizeof(text) - (size_t)at, " %x:%x", t + 1, like->spelling[t]);
	note_name(memory, name);
	fetch_note_save(f, name, text);
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

static void name_note_name(const char *memory, unsigned slot, char out[static 100])
{
	snprintf(out, 100, "name %u %s", slot, memory);
}

/* Keeps a name (under f->lock). */
static void keep_name(struct fetch *f, struct taught *t, const char *name)
{
	uint64_t hash = hash_of(name);
	struct taught_name *slot = &t->names[slot_of(hash)];
	char *text, note[100];

	if (slot->hash == hash && strcmp(slot->text, name) == 0)
		return;
	text = strdup(name);
	if (!text)
		return;
	free(slot->text);
	*slot = (struct taught_name){hash, text, true};
	name_note_name(t->memory, slot_of(hash), note);
	if (strlen(name) <= 200)
		fetch_note_save(f, note, name);
}

static void name_recall(struct fetch *f, const char *memory, const char *name)
{
	unsigned at = slot_of(hash_of(name));
	char note[100], text[201];
	struct taught *t;
	bool wanted;

	pthread_mutex_lock(&f->lock);
	t = taught_of(f, memory);
	wanted = t && name[0] && !t->names[at].recalled;
	pthread_mutex_unlock(&f->lock);
	if (!wanted)
		return;
	name_note_name(memory, at, note);
	if (store_note(f->store, note, text) < 0)
		text[0] = '\0';
	LOCK_SCOPE(&f->lock);
	if (!t->names[at].recalled && text[0] && (t->names[at].text = strdup(text)))
		t->names[at].hash = hash_of(text);
	t->names[at].recalled = true;
}

void taught_name(struct fetch *f, const char *name)
{
	LOCK_SCOPE(&f->lock);
	struct taught *t = strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") ? taught_of(f, MODULES) : NULL;

	if (t)
		keep_name(f, t, name);
}

void taught_recall(struct fetch *f, const struct source *s, const struct artifact *a)
{
	struct source_taught like = {0};
	char name[80], text[201];
	struct taught *t;
	bool wanted;

	for (unsigned i = 0; i < 4; i++)
		name_recall(f, i / 2 ? MODULES : s->memory, i % 2 ? a->m.debug_file : a->m.code_file);
	pthread_mutex_lock(&f->lock);
	t = taught_of(f, s->memory);
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

void taught_note(struct fetch *f, const struct source *s, enum filetype type, const struct artifact *a,
	const struct source_ask *ask)
{
	const char *name = layout_name_of(s->layout, a);
	struct source_taught before;
	LOCK_SCOPE(&f->lock);
	struct taught *t = taught_of(f, s->memory);

	if (!t)
		return;
	before = t->like;
	source_teach(&t->like, type, ask);
	t->recalled = true;
	if (ask->as_given && !ask->any_case)
		keep_name(f, t, name);
	if (memcmp(&before, &t->like, sizeof(before)) != 0)
		save_like(f, t->memory, &t->like);
}
