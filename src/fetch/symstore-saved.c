/* Saves the facts about symbol stores (their lists and tiers) in the store, for the next process. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "fetch/symstore.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SAVED_MOST ((64u << 20) + 4096)

static void note_name(const char *memory, char out[static 80])
{
	snprintf(out, 80, "index2 %s", memory);
}

static void listing_name(const char *memory, char out[static 40])
{
	snprintf(out, 40, "000admin-%016" PRIx64, hash_mix(memory, strlen(memory)));
}

struct saving {
	struct fetch *f;
	char memory[64];
	struct symstore_listing what;
};

/* Writes the line "symfs 000Admin 2 LAST WHEN HASH", a line with the ETag, a line with the date, and then the index.
 * HASH is the hash of the index. */
static void listing_write(void *ctx)
{
	struct saving *s = ctx;
	_cleanup_buf_ struct buf body = BUF_UP_TO(SAVED_MOST), all = BUF_UP_TO(SAVED_MOST);
	char name[40];
	int r = admin_dump(s->what.index, &body);

	if (r == 0)
		r = buf_addf(&all, "symfs 000Admin 2 %u %" PRId64 " %016" PRIx64 "\n%s\n%s\n",
			s->what.last, s->what.when, hash_mix(buf_text(&body), body.n), s->what.etag,
			s->what.modified);
	if (r == 0)
		r = buf_add(&all, buf_text(&body), body.n);
	listing_name(s->memory, name);
	if (r == 0)
		store_side_file_write(s->f->store, name, buf_text(&all), all.n);
	admin_unref(s->what.index);
	free(s);
}

void symstore_save_listing(struct fetch *f, const char *memory, const struct symstore_listing *what)
{
	struct saving *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	*s = (struct saving){.f = f, .what = *what};
	snprintf(s->memory, sizeof(s->memory), "%s", memory);
	admin_ref(s->what.index);
	if (workers_post(f->workers, listing_write, s) < 0) {
		admin_unref(s->what.index);
		free(s);
	}
}

/* Copies the next line, of at most room - 1 bytes, without its end. NULL: there is no such line. */
static const char *take_line(const char *p, const char *end, char *out, size_t room)
{
	const char *stop = memchr(p, '\n', (size_t)(end - p));

	if (!stop || (size_t)(stop - p) >= room)
		return NULL;
	memcpy(out, p, (size_t)(stop - p));
	out[stop - p] = '\0';
	return stop + 1;
}

static int listing_parse(const char *p, size_t n, struct symstore_listing *out)
{
	const char *end = p + n;
	char first[100];
	uint64_t hash;

	p = take_line(p, end, first, sizeof(first));
	if (!p || sscanf(first, "symfs 000Admin 2 %u %" SCNd64 " %" SCNx64, &out->last, &out->when,
			  &hash) != 3)
		return -EINVAL;
	p = take_line(p, end, out->etag, sizeof(out->etag));
	if (p)
		p = take_line(p, end, out->modified, sizeof(out->modified));
	if (!p || hash_mix(p, (size_t)(end - p)) != hash || out->last > ADMIN_SEGMENTS_MOST)
		return -EINVAL;
	return admin_load(&out->index, p, (size_t)(end - p));
}

int symstore_load_listing(struct fetch *f, const char *memory, struct symstore_listing *out)
{
	_cleanup_free_ char *text = NULL;
	char name[40];
	size_t n;
	int r;

	listing_name(memory, name);
	r = store_side_file_read(f->store, name, SAVED_MOST, &text, &n);
	return r < 0 ? r : listing_parse(text, n, out);
}

/* ---- tiers ------------------------------------------------------------------------------ */

int symstore_load_tiers(struct fetch *f, const char *memory, bool *two_tier, int64_t *until)
{
	char name[80], text[201];

	note_name(memory, name);
	if (store_note(f->store, name, text) < 0 || sscanf(text, "%*[yn] %" SCNd64, until) != 1)
		return -ENOENT;
	*two_tier = text[0] == 'y';
	return 0;
}

void symstore_save_tiers(struct fetch *f, const char *memory, bool two_tier, int64_t until)
{
	char name[80], text[64];

	note_name(memory, name);
	snprintf(text, sizeof(text), "%c %" PRId64, two_tier ? 'y' : 'n', until);
	fetch_note_save(f, name, text);
}
