/* Collects functions, rows and inlined calls, until gsym_write(). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/shorten.h"
#include "formats/gsym/writer-private.h"
#include "base/grow.h"
#include "base/util.h"

#include <string.h>

int gsym_writer_new(struct gsym_writer **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->main = *out;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

int gsym_split(struct gsym_writer *w, struct gsym_writer **out)
{
	int r = gsym_writer_new(out);
	LOCK_SCOPE(&w->main->lock);

	if (r < 0)
		return r;
	(*out)->main = w->main;
	(*out)->shorten = w->shorten;
	(*out)->next = w->main->next;
	w->main->next = *out;
	return 0;
}

void gsym_writer_free(struct gsym_writer *w)
{
	while (w) {
		struct gsym_writer *next = w->next;

		texts_release(&w->texts);
		texts_release(&w->files);
		pthread_mutex_destroy(&w->lock);
		free(w->entries);
		free(w->rows);
		free(w->nodes);
		free(w->ranges);
		free(w);
		w = next;
	}
}

void cleanup_gsym_writer(struct gsym_writer **w)
{
	gsym_writer_free(*w);
}

void gsym_set_base(struct gsym_writer *w, uint64_t base)
{
	w->base = base;
	w->has_base = true;
}

void gsym_set_id(struct gsym_writer *w, const void *id, size_t n)
{
	w->id_len = n <= GSYM_ID_MOST ? n : 0;
	if (w->id_len)
		memcpy(w->id, id, n);
}

void gsym_set_shift(struct gsym_writer *w, uint64_t shift)
{
	w->shift = shift;
}

void gsym_set_last(struct gsym_writer *w)
{
	w->last = true;
}

void gsym_set_order(struct gsym_writer *w, uint32_t order)
{
	w->order = order;
}

size_t gsym_functions(const struct gsym_writer *w)
{
	return w->n_entries;
}

void gsym_function_at(const struct gsym_writer *w, size_t i, uint64_t *addr, uint64_t *size)
{
	*addr = w->entries[i].addr - w->shift;
	*size = w->entries[i].size;
}

const char *gsym_function_name(const struct gsym_writer *w, size_t i)
{
	return gsym_text_at(w, w->entries[i].name);
}

void gsym_rename(struct gsym_writer *w, size_t i, uint32_t name)
{
	w->entries[i].name = name;
}

void gsym_prefer(struct gsym_writer *w, size_t i)
{
	w->entries[i].preferred = true;
}

const char *gsym_text_at(const struct gsym_writer *w, uint32_t text)
{
	return texts_at(&w->main->texts, text);
}

/* ---- names --------------------------------------------------------------------------- */

int gsym_error(const struct gsym_writer *w)
{
	return w->r;
}

/* Keeps the first error. */
static void note(struct gsym_writer *w, int r)
{
	w->r = w->r < 0 ? w->r : r;
}

/* The hash of a text, for texts_add(). Callers compute it before they take the lock. Each step hashes eight bytes:
 * files have millions of names, many of them long. */
static uint64_t hash_of(const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t h = 0x9e3779b97f4a7c15 ^ n, w;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccd;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, p, n);
	h = (h ^ w) * 0xc4ceb9fe1a85ec53;
	return h ^ h >> 29;
}

uint32_t gsym_text(struct gsym_writer *w, const char *p, size_t n)
{
	size_t len = n ? strnlen(p, n) : 0;
	uint64_t hash = len ? hash_of(p, len) : 0;
	uint32_t number = 0;
	LOCK_SCOPE(&w->main->lock);

	note(w, w->r < 0 ? w->r : texts_add(&w->main->texts, p, len, hash, &number));
	return number;
}

void gsym_set_shorten(struct gsym_writer *w, bool shorten)
{
	w->shorten = shorten;
}

void gsym_share(struct gsym_writer *w, struct span strings)
{
	w->shared = strings;
}

uint32_t gsym_name(struct gsym_writer *w, const char *p, size_t n)
{
	_cleanup_buf_ struct buf name = BUF_UP_TO(1 << 16);
	int r = w->shorten ? shorten_cpp(p, n, &name) : 0;

	note(w, MIN(r, 0));
	return r ? gsym_text(w, name.p, name.n) : gsym_text(w, p, n);
}

uint32_t gsym_add_file(struct gsym_writer *w, uint32_t dir, uint32_t base)
{
	struct pair p = {dir, base};
	uint64_t hash = hash_of(&p, sizeof(p));
	uint32_t number = 0;
	LOCK_SCOPE(&w->main->lock);

	note(w, w->r < 0 ? w->r : texts_add(&w->main->files, &p, dir || base ? sizeof(p) : 0, hash, &number));
	return number;
}

uint32_t gsym_no_name(struct gsym_writer *w)
{
	struct gsym_writer *m = w->main;
	LOCK_SCOPE(&m->lock);

	note(w, m->unnamed ? 0 : texts_add_empty(&m->texts, &m->unnamed));
	return m->unnamed;
}

uint32_t gsym_add_unnamed_file(struct gsym_writer *w)
{
	return gsym_add_file(w, 0, gsym_no_name(w));
}

/* The last separator of a path. "C:\a\b.c" is split at backslashes. A path with a slash is not: a name in
 * it may contain a backslash. */
static const char *last_separator(const char *p, size_t n)
{
	bool windows = n > 2 && p[1] == ':' && !memchr(p, '/', n);

	return memrchr(p, windows ? '\\' : '/', n);
}

/* Finds where the file's name begins in a path, and how much of the path before it is the directory. */
static const char *base_of_path(const char *p, size_t n, size_t *dir_len)
{
	const char *last = n ? last_separator(p, n) : NULL;

	*dir_len = last ? (size_t)(last - p) : 0;
	if (last && (!*dir_len || (*dir_len == 2 && p[1] == ':')))
		++*dir_len; /* a root keeps its separator */
	return last ? last + 1 : p;
}

uint32_t gsym_add_path(struct gsym_writer *w, const char *p, size_t n)
{
	const char *name;
	uint32_t dir;
	size_t len;

	n = n ? strnlen(p, n) : 0;
	name = base_of_path(p, n, &len);
	dir = gsym_text(w, p, len);
	return gsym_add_file(w, dir, gsym_text(w, name, n - (size_t)(name - p)));
}

/* ---- functions ----------------------------------------------------------------------- */

void gsym_begin(struct gsym_writer *w, uint64_t addr, uint64_t size, uint32_t name,
	enum gsym_rank rank)
{
	if (w->now.of) { /* gsym_end() was not called: drops the function */
		w->n_rows = w->now.rows;
		w->n_nodes = w->now.nodes;
		w->n_ranges = w->now.ranges;
	}
	w->now = (struct entry){0};
	addr += w->shift;
	if (size > UINT32_MAX || addr + size < addr)
		return;
	w->now = (struct entry){.of = w, .addr = addr, .size = (uint32_t)size, .name = name, .rank = rank,
		.order = w->order, .rows = w->n_rows, .nodes = w->n_nodes, .ranges = w->n_ranges};
	w->skip = 0;
}

/* Whether a function is under way that takes rows and calls. */
static bool takes(const struct gsym_writer *w)
{
	return w->now.of && w->r == 0;
}

void gsym_add_row(struct gsym_writer *w, uint64_t addr, uint32_t file, uint32_t line)
{
	struct entry *now = &w->now;
	struct row *last = now->n_rows ? &w->rows[w->n_rows - 1] : NULL;
	uint64_t at = addr + w->shift - now->addr;

	if (!takes(w) || addr + w->shift < now->addr || at >= MAX(now->size, 1u) || (last && at < last->at))
		return;
	if (last && at == last->at) { /* the last row at an address replaces the others */
		w->n_rows--;
		now->n_rows--;
		last = now->n_rows ? last - 1 : NULL;
	}
	if (last && last->file == file && last->line == line)
		return;
	note(w, APPEND(w->rows, w->rows_room, w->n_rows, (struct row){(uint32_t)at, file, line}));
	now->n_rows += w->r == 0;
}

/* Drops the last call, and the calls in it, if all its ranges were dropped. */
static void settle_inline(struct gsym_writer *w)
{
	struct node *last = w->now.n_nodes ? &w->nodes[w->n_nodes - 1] : NULL;

	if (!last || last->n_ranges)
		return;
	w->skip = last->depth;
	w->n_nodes--;
	w->now.n_nodes--;
}

void gsym_add_inline(struct gsym_writer *w, unsigned depth, uint32_t name, uint32_t call_file,
	uint32_t call_line)
{
	struct node *last;

	if (!takes(w))
		return;
	settle_inline(w);
	last = w->now.n_nodes ? &w->nodes[w->n_nodes - 1] : NULL;
	if (w->skip && depth <= w->skip)
		w->skip = 0;
	/* A call without a caller, or deeper than readers allow, is dropped with the calls in it. */
	if (!w->skip &&
		(!depth || depth > (last ? last->depth : 0) + 1 || depth >= GSYM_DEPTH_MOST))
		w->skip = depth ? depth : 1;
	if (w->skip)
		return;
	w->open[depth].node = w->n_nodes;
	w->open[depth].ranges = w->n_ranges;
	note(w, APPEND(w->nodes, w->nodes_room, w->n_nodes, (struct node){name, call_file, call_line, depth, 0}));
	w->now.n_nodes += w->r == 0;
}

static bool in_parent(const struct gsym_writer *w, struct range r)
{
	unsigned depth = w->nodes[w->n_nodes - 1].depth;
	const struct node *parent;
	const struct range *ranges;

	if (depth == 1)
		return true;
	parent = w->nodes + w->open[depth - 1].node;
	ranges = w->ranges + w->open[depth - 1].ranges;
	for (uint32_t i = 0; i < parent->n_ranges; i++)
		if (r.at >= ranges[i].at && r.at - ranges[i].at < ranges[i].size &&
			r.size <= ranges[i].size - (r.at - ranges[i].at))
			return true;
	return false;
}

void gsym_add_range(struct gsym_writer *w, uint64_t start, uint64_t size)
{
	struct entry *now = &w->now;
	uint64_t at = start + w->shift - now->addr;
	struct range r = {(uint32_t)at, (uint32_t)size};

	if (!takes(w) || w->skip || !now->n_nodes || !size || start + w->shift < now->addr || at >= now->size ||
		size > now->size - at || !in_parent(w, r))
		return;
	note(w, APPEND(w->ranges, w->ranges_room, w->n_ranges, r));
	if (w->r < 0)
		return;
	w->nodes[w->n_nodes - 1].n_ranges++;
	now->n_ranges++;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return COMPARE(x->at, y->at) ?: COMPARE(x->size, y->size);
}

/* Sorts the ranges of each call, and joins those that overlap or touch. They must be sorted, because the
 * ranges of inner calls are relative to the lowest range of their caller. */
static void sort_ranges(struct gsym_writer *w)
{
	struct range *all, *from, *to;

	if (!w->now.n_ranges)
		return;
	from = to = all = w->ranges + w->now.ranges;
	for (size_t i = w->now.nodes; i < w->n_nodes; i++) {
		struct node *node = &w->nodes[i];
		struct range *first = to, *end = from + node->n_ranges;

		if (node->n_ranges > 1)
			qsort(from, node->n_ranges, sizeof(*from), compare_ranges);
		for (; from < end; from++) {
			if (to > first && from->at <= to[-1].at + to[-1].size) {
				uint32_t stop = MAX(from->at + from->size, to[-1].at + to[-1].size);

				to[-1].size = stop - to[-1].at;
				continue;
			}
			*to++ = *from;
		}
		node->n_ranges = (uint32_t)(to - first);
	}
	w->now.n_ranges = (uint32_t)(to - all);
	w->n_ranges = w->now.ranges + w->now.n_ranges;
}

void gsym_end(struct gsym_writer *w)
{
	if (!takes(w))
		return;
	settle_inline(w);
	sort_ranges(w);
	note(w, w->n_entries == UINT32_MAX ? -EFBIG : APPEND(w->entries, w->entries_room, w->n_entries, w->now));
	w->now = (struct entry){0};
}
