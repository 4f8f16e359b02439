/* The slots for bodies of uploads that are received at the same time: how many there are, and for one token. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/upload.h"
#include "upload/assemble.h"

#include <string.h>

/* Finds a free slot that the client may take. Under slots_lock. */
static int find_slot(const struct exchange *x, struct upload_slot **out)
{
	struct uploads *all = x->h->uploads;
	unsigned own = 0;

	*out = NULL;
	for (unsigned i = 0; i < UPLOADS_MOST; i++) {
		struct upload_slot *s = &all->slots[i];

		if (!s->taken)
			*out = s;
		else if (memcmp(s->digest, x->token.digest, sizeof(s->digest)) == 0)
			own++;
	}
	return !*out ? -EBUSY : x->known && own >= UPLOADS_OF_ONE ? -EUSERS : 0;
}

int upload_slot_check(const struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->slots_lock);
	struct upload_slot *s;

	return find_slot(x, &s);
}

int upload_slot_take(struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->slots_lock);
	struct upload_slot *s;
	int r = find_slot(x, &s);

	if (r < 0)
		return r;
	s->taken = true;
	memcpy(s->digest, x->token.digest, sizeof(s->digest));
	x->upload->slot = s;
	return 0;
}

void upload_slot_leave(struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->slots_lock);

	if (x->upload->slot)
		x->upload->slot->taken = false;
	x->upload->slot = NULL;
}

void upload_numbers(struct http *h, const struct space *s, each_number *each, void *ctx)
{
	struct uploads *u = h->uploads;
	unsigned taken = 0, assembling = 0;

	pthread_mutex_lock(&u->slots_lock);
	for (unsigned i = 0; i < UPLOADS_MOST; i++)
		taken += u->slots[i].taken;
	pthread_mutex_unlock(&u->slots_lock);
	pthread_mutex_lock(&u->lock);
	if (s->assembly)
		assembly_count(s->assembly, &assembling);
	pthread_mutex_unlock(&u->lock);
	each(ctx, "uploads_receiving", "uploads whose bodies are being received", "gauge", taken);
	each(ctx, "uploads_unwritten", "pieces of uploads that wait for a thread that writes them", "gauge",
		workers_queued(u->writers));
	each(ctx, "uploads_queued", "uploads that wait for a thread that stores them", "gauge",
		workers_queued(u->judges));
	each(ctx, "uploads_assembling", "files of chunks that wait or are being stored", "gauge", assembling);
}
