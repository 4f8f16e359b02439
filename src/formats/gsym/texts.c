/* Stores each different text and pair of numbers once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/texts.h"
#include "base/grow.h"
#include "base/util.h"

#include <string.h>

/* Grows the table, so that at most five of eight slots are used. */
static int slots_room(struct slots *s)
{
	size_t room = s->room ? s->room * 2 : 256;
	struct slot *slot;

	if (s->n < s->room / 8 * 5)
		return 0;
	slot = calloc(room, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	for (size_t k = 0; k < s->room; k++) {
		size_t at = s->slot[k].hash & (room - 1);

		if (!s->slot[k].number)
			continue;
		while (slot[at].number)
			at = (at + 1) & (room - 1);
		slot[at] = s->slot[k];
	}
	free(s->slot);
	s->slot = slot;
	s->room = room;
	return 0;
}

/* ---- texts --------------------------------------------------------------------------- */

static int texts_append(struct texts *t, const void *p, size_t n)
{
	size_t most = UINT32_MAX;

	if (n >= most || t->n_bytes >= most - n || t->n >= most)
		return -EFBIG;
	while (t->n_bytes + n + 1 > t->bytes_room)
		if (grow(&t->bytes, &t->bytes_room, t->bytes_room, 1) < 0)
			return -ENOMEM;
	if (!t->n)
		t->n = 1; /* text 0 is "" */
	while (t->n >= t->room)
		if (grow(&t->at, &t->room, t->room, sizeof(*t->at)) < 0)
			return -ENOMEM;
	memcpy(t->bytes + t->n_bytes, p, n);
	t->bytes[t->n_bytes + n] = '\0';
	t->at[t->n++] = (uint32_t)t->n_bytes;
	t->n_bytes += n + 1;
	return 0;
}

int texts_add_empty(struct texts *t, uint32_t *out)
{
	int r = texts_append(t, "", 0);

	if (r == 0)
		*out = (uint32_t)(t->n - 1);
	return r;
}

int texts_add(struct texts *t, const void *p, size_t n, uint64_t hash, uint32_t *out)
{
	struct slot *slot;
	size_t at;
	int r;

	if (!n) {
		*out = 0;
		return 0;
	}
	r = slots_room(&t->slots);
	if (r < 0)
		return r;
	at = (uint32_t)hash & (t->slots.room - 1);
	for (; (slot = &t->slots.slot[at])->number; at = (at + 1) & (t->slots.room - 1)) {
		if (slot->hash == (uint32_t)hash && texts_length(t, slot->number) == n &&
			memcmp(texts_at(t, slot->number), p, n) == 0) {
			*out = slot->number;
			return 0;
		}
	}
	r = texts_append(t, p, n);
	if (r < 0)
		return r;
	t->slots.n++;
	*out = (uint32_t)(t->n - 1);
	*slot = (struct slot){*out, (uint32_t)hash};
	return 0;
}

void texts_release(struct texts *t)
{
	free(t->slots.slot);
	free(t->bytes);
	free(t->at);
	memset(t, 0, sizeof(*t));
}

