/* Frees a batch, computes its size, stores its texts, and numbers its names and files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/dwarf/batch.h"
#include "base/grow.h"
#include "base/util.h"
#include "formats/dwarf/walk.h"

#define CHUNK (16u << 10)

struct chunk {
	struct chunk *next;
	size_t n, room;
	char bytes[];
};

char *batch_text(struct batch *b, size_t n)
{
	struct chunk *c = b->chunks;
	char *p;

	if (!c || c->room - c->n < n + 1) {
		size_t room = MAX(n + 1, (size_t)CHUNK);

		c = malloc(sizeof(*c) + room);
		if (!c)
			return NULL;
		*c = (struct chunk){.next = b->chunks, .room = room};
		b->chunks = c;
	}
	p = c->bytes + c->n;
	c->n += n + 1;
	p[n] = '\0';
	return p;
}

void batch_release(struct batch *b)
{
	for (struct chunk *c = b->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(b->funcs);
	free(b->nodes);
	free(b->ranges.all);
	free(b->names);
	free(b->files);
	free(b->rows);
	free(b->orphans);
	memset(b, 0, sizeof(*b));
}

size_t batch_size(const struct batch *b)
{
	size_t n = b->funcs_room * sizeof(*b->funcs) + b->nodes_room * sizeof(*b->nodes) +
		   b->ranges.room * sizeof(*b->ranges.all) + b->names_room * sizeof(*b->names) +
		   b->files_room * sizeof(*b->files) + b->rows_room * sizeof(*b->rows) +
		   b->orphans_room * sizeof(*b->orphans);

	for (const struct chunk *c = b->chunks; c; c = c->next)
		n += c->room;
	return n;
}

/* ---- numbers of names ------------------------------------------------------------------ */

static size_t slot_of(const struct dwarf_walker *w, const struct dwarf_file *f, uint64_t at)
{
	size_t i = (size_t)((at * 0x9e3779b97f4a7c15) >> 24) & (w->slots_room - 1);
	const struct batch_name *n;

	for (; w->slots[i] != BATCH_NONE; i = (i + 1) & (w->slots_room - 1)) {
		n = &w->out->names[w->slots[i]];
		if (n->at == at && n->file == f)
			break;
	}
	return i;
}

static int more_slots(struct dwarf_walker *w)
{
	size_t room = w->slots_room ? w->slots_room : 512;

	while (w->out->n_names >= room / 2)
		room *= 2;
	if (room == w->slots_room)
		return 0;
	free(w->slots);
	w->slots = malloc(room * sizeof(*w->slots));
	w->slots_room = w->slots ? room : 0;
	if (!w->slots)
		return -ENOMEM;
	memset(w->slots, 0xff, room * sizeof(*w->slots));
	for (size_t i = 0; i < w->out->n_names; i++)
		w->slots[slot_of(w, w->out->names[i].file, w->out->names[i].at)] = (uint32_t)i;
	return 0;
}

int batch_name_number(
	struct dwarf_walker *w, const struct dwarf_file *f, uint64_t at, uint32_t *out)
{
	struct batch *b = w->out;
	size_t slot;

	if (more_slots(w) < 0)
		return -ENOMEM;
	slot = slot_of(w, f, at);
	if (w->slots[slot] == BATCH_NONE) {
		if (APPEND(b->names, b->names_room, b->n_names, (struct batch_name){f, at, NULL}) < 0)
			return -ENOMEM;
		w->slots[slot] = (uint32_t)b->n_names - 1;
	}
	*out = w->slots[slot];
	return 0;
}

/* ---- files ----------------------------------------------------------------------------- */

static size_t put_part(char *p, size_t n, const char *part, size_t len)
{
	bool slash = n && p[n - 1] != '/' && p[n - 1] != '\\';

	if (!len)
		return n;
	if (slash)
		p[n++] = '/';
	/* Joined parts have one separator between them. */
	while (n && len && part[0] == '/') {
		part++;
		len--;
	}
	memcpy(p + n, part, len);
	return n + len;
}

int walk_file_number(struct walk *k, uint64_t i, uint32_t *out)
{
	struct dwarf_lines *l = &k->w->lines;
	struct dwarf_line_file *f = dwarf_line_file(l, i);
	struct batch *b = k->out;
	const char *first, *second;
	size_t lens[3], n = 0;
	char *path;

	*out = f ? f->number : BATCH_NONE;
	if (!f || f->number != BATCH_NONE)
		return 0;
	dwarf_line_dirs(l, f, &first, &second);
	lens[0] = strlen(first);
	lens[1] = strlen(second);
	lens[2] = strlen(f->name);
	path = batch_text(b, lens[0] + lens[1] + lens[2] + 2);
	if (!path || grow(&b->files, &b->files_room, b->n_files, sizeof(*b->files)) < 0)
		return -ENOMEM;
	n = put_part(path, n, first, lens[0]);
	n = put_part(path, n, second, lens[1]);
	n = put_part(path, n, f->name, lens[2]);
	path[n] = '\0';
	b->files[b->n_files] = path;
	*out = f->number = (uint32_t)b->n_files++;
	return 0;
}
