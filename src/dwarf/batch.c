/* Frees a batch, computes its size, and stores its texts. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/batch.h"
#include "base/util.h"

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
