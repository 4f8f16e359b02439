/* Writes the functions of a struct gsym_writer to a GSYM file. Texts and files are numbered in the order in
 * which the sorted functions first use them. So the bytes do not depend on the order in which functions were
 * added, and unused texts and files are not written. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/write-private.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/util.h"

#include <errno.h>
#include <string.h>

/* ---- order ------------------------------------------------------------------------------- */

static const char *name_of(const struct gsym_writer *w, const struct entry *x)
{
	return texts_at(&w->texts, x->name);
}

/* Decides which of two functions with the same addresses stays; see enum gsym_rank. */
static int compare_worth(const struct entry *x, const struct entry *y, const struct gsym_writer *w)
{
	const char *a = name_of(w, x), *b = name_of(w, y);
	size_t n = strlen(a), m = strlen(b);

	return COMPARE(!n, !m) ?: COMPARE(x->rank, y->rank) ?: COMPARE(y->preferred, x->preferred)
		?: COMPARE(!x->n_nodes, !y->n_nodes) ?: COMPARE(!x->n_rows, !y->n_rows) ?: COMPARE(n, m)
		?: strcmp(a, b);
}

static int compare_files(const struct gsym_writer *w, uint32_t a, uint32_t b)
{
	struct pair f = texts_pair(&w->files, a), g = texts_pair(&w->files, b);

	return strcmp(texts_at(&w->texts, f.base), texts_at(&w->texts, g.base))
		?: strcmp(texts_at(&w->texts, f.dir), texts_at(&w->texts, g.dir));
}

/* Orders two functions of the same name and rank by unit (gsym_set_order()), then by content. So the result
 * does not depend on which thread added its function first. */
static int compare_content(
	const struct entry *x, const struct entry *y, const struct gsym_writer *w)
{
	int r = COMPARE(x->order, y->order) ?: COMPARE(y->n_rows, x->n_rows) ?: COMPARE(y->n_nodes, x->n_nodes);

	for (uint32_t i = 0; !r && i < x->n_rows; i++) {
		const struct row *a = &x->of->rows[x->rows + i], *b = &y->of->rows[y->rows + i];

		r = COMPARE(a->at, b->at) ?: COMPARE(a->line, b->line) ?: COMPARE(!a->file, !b->file)
			?: compare_files(w, a->file, b->file);
	}
	return r;
}

static int compare_entries(const void *a, const void *b, void *w)
{
	const struct entry *x = *(const struct entry *const *)a, *y = *(const struct entry *const *)b;

	/* A function without a size is kept only if no other function begins at its address. */
	return COMPARE(x->addr, y->addr) ?: COMPARE(!x->size, !y->size) ?: COMPARE(x->size, y->size)
		?: compare_worth(x, y, w) ?: compare_content(x, y, w) ?: COMPARE(x->rows, y->rows);
}

int write_sort_all(const struct gsym_writer *main, const struct entry ***out, size_t *count)
{
	const struct entry **all;
	size_t n = 0;

	for (const struct gsym_writer *w = main; w; w = w->next) {
		if (w->r < 0)
			return w->r;
		n += w->n_entries;
	}
	all = malloc((n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (const struct gsym_writer *w = main; w; w = w->next)
		for (size_t i = 0; i < w->n_entries; i++)
			all[n++] = &w->entries[i];
	if (n)
		qsort_r(all, n, sizeof(*all), compare_entries, (void *)main);
	*out = all;
	*count = n;
	return 0;
}

/* Sorts the functions into o->all, without those that another function replaces. Returns as write_sort_all(). */
static int write_sort(struct output *o)
{
	size_t n;
	int r = write_sort_all(o->w, &o->all, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct entry *last = o->n ? o->all[o->n - 1] : NULL, *x = o->all[i];

		if (!x->name || (last && last->addr == x->addr &&
					(last->size == x->size || !x->size)))
			continue;
		o->all[o->n++] = x;
	}
	return r;
}

/* ---- strings that exist -------------------------------------------------------------------- */

/* Finds strings in an existing section, so that they need not be written again. */

static size_t hash(const char *p)
{
	return (size_t)hash_mix(p, strlen(p));
}

static const char *text_at(const struct shared *s, uint32_t at)
{
	return (const char *)s->all.p + at;
}

static void add(struct shared *s, uint32_t at)
{
	size_t i = hash(text_at(s, at)) & (s->room - 1);

	for (; s->slot[i]; i = (i + 1) & (s->room - 1))
		if (strcmp(text_at(s, s->slot[i]), text_at(s, at)) == 0)
			return;
	s->slot[i] = at;
}

/* Indexes the strings in `all`, which must outlive `s` and end with a NUL. 0, -ENOMEM; -EFBIG: offsets in
 * `all` exceed 32 bits. */
static int shared_open(struct shared *s, struct span all)
{
	size_t count = 0;

	memset(s, 0, sizeof(*s));
	if (all.n > UINT32_MAX)
		return -EFBIG;
	for (const uint8_t *p = all.p, *end = all.p + all.n; p < end; count++)
		p = (const uint8_t *)memchr(p, 0, (size_t)(end - p)) + 1;
	for (s->room = 16; s->room < 2 * count;)
		s->room *= 2;
	s->slot = calloc(s->room, sizeof(*s->slot));
	if (!s->slot)
		return -ENOMEM;
	s->all = all;
	for (size_t at = 0; at < all.n; at += strlen(text_at(s, (uint32_t)at)) + 1)
		if (at && all.p[at])
			add(s, (uint32_t)at);
	/* The NUL after the first text serves as an empty text. */
	s->empty = all.n ? (uint32_t)strlen(text_at(s, 0)) : 0;
	return 0;
}

/* The offset of the text; 0: the text is missing, or only at offset 0, which means "no text". */
static uint32_t shared_find(const struct shared *s, const char *text)
{
	if (!s->room)
		return 0;
	for (size_t i = hash(text) & (s->room - 1); s->slot[i]; i = (i + 1) & (s->room - 1))
		if (strcmp(text_at(s, s->slot[i]), text) == 0)
			return s->slot[i];
	return 0;
}

static void shared_close(struct shared *s)
{
	free(s->slot);
	memset(s, 0, sizeof(*s));
}

#define MAGIC 0x4753594du
#define HEAD_SIZE 48

/* ---- texts and files ----------------------------------------------------------------- */

static void name_text(struct output *o, uint32_t text)
{
	const char *s = texts_at(&o->w->texts, text);
	size_t n = texts_length(&o->w->texts, text);

	if (!text || o->text_at[text] || o->failed)
		return;
	o->text_at[text] = shared_find(&o->shared, s);
	if (o->text_at[text])
		return;
	if (o->shared.all.n + o->n_strings + n >= UINT32_MAX)
		o->failed = -EFBIG;
	o->text_at[text] = (uint32_t)(o->shared.all.n + o->n_strings);
	o->n_strings += n + 1;
	if (o->named)
		o->named[o->n_named++] = text;
	else
		put(o, o->strings, s, n + 1);
}

static void put_strings(struct output *o)
{
	put8(o, o->main, 0);
	for (size_t i = 0; i < o->n_named; i++)
		put(o, o->main, texts_at(&o->w->texts, o->named[i]), texts_length(&o->w->texts, o->named[i]) + 1);
}

static void name_file(struct output *o, uint32_t file)
{
	if (!file || o->file_at[file])
		return;
	o->file_at[file] = o->n_files;
	o->files[o->n_files] = texts_pair(&o->w->files, file);
	name_text(o, o->files[o->n_files].dir);
	name_text(o, o->files[o->n_files++].base);
}

static int name_all(struct output *o)
{
	struct gsym_writer *w = o->w;
	size_t texts = w->texts.n + 1, files = w->files.n + 1;

	o->text_at = calloc(texts, sizeof(*o->text_at));
	o->file_at = calloc(files, sizeof(*o->file_at));
	o->files = calloc(files, sizeof(*o->files));
	o->named = o->form == GSYM_V1 ? malloc(texts * sizeof(*o->named)) : NULL;
	if (!o->text_at || !o->file_at || !o->files || (o->form == GSYM_V1 && !o->named))
		return -ENOMEM;
	o->n_files = 1; /* file 0: "no file" */
	if (o->form != GSYM_V1 && w->shared.n)
		o->failed = shared_open(&o->shared, w->shared);
	else if (!o->named)
		put8(o, o->strings, 0);
	o->n_strings = o->named ? 1 : o->strings->n; /* with the text "" */
	for (size_t i = 0; !o->failed && i < o->n; i++) {
		const struct entry *x = o->all[i];

		name_text(o, x->name);
		for (uint32_t k = 0; k < x->n_rows; k++)
			name_file(o, x->of->rows[x->rows + k].file);
		for (uint32_t k = 0; k < x->n_nodes; k++) {
			name_text(o, x->of->nodes[x->nodes + k].name);
			name_file(o, x->of->nodes[x->nodes + k].call_file);
		}
	}
	return o->failed;
}

/* ---- functions ----------------------------------------------------------------------- */

static void put_functions(struct output *o, size_t infos)
{
	for (size_t i = 0; i < o->n && !o->failed; i++) {
		uint32_t at;

		align_to(o, 4);
		if (o->main->n > UINT32_MAX)
			o->failed = -EFBIG;
		at = (uint32_t)o->main->n;
		at = o->swap ? bswap_32(at) : at;
		if (!o->failed)
			memcpy(o->main->p + infos + i * 4, &at, sizeof(at));
		write_function(o, o->all[i]);
	}
}

/* ---- the file ------------------------------------------------------------------------ */

static void choose_base(struct output *o)
{
	uint64_t first = o->all[0]->addr, last = o->all[o->n - 1]->addr;

	o->base = o->form == GSYM_V1 && o->w->has_base && o->w->base <= first ? o->w->base : first;
	last -= o->base;
	o->off_size = last <= UINT8_MAX && o->form == GSYM_V1 ? 1
		      : last <= UINT16_MAX		      ? 2
		      : last <= UINT32_MAX		      ? 4
							      : 8;
}

static size_t tables_size(const struct output *o)
{
	size_t n = (HEAD_SIZE + o->n * o->off_size + 3) / 4 * 4;

	return n + o->n * 4 + 4 + (size_t)o->n_files * 8;
}

static void put_head(struct output *o, const char *strings_name)
{
	uint8_t id[GSYM_ID_MOST] = {0};
	bool v1 = o->form == GSYM_V1;

	put32(o, o->main, MAGIC);
	put16(o, o->main, 1);
	put8(o, o->main, (uint8_t)o->off_size);
	put8(o, o->main, v1 ? (uint8_t)o->w->id_len : 0);
	put64(o, o->main, o->base);
	put32(o, o->main, (uint32_t)o->n);
	if (v1) {
		if (tables_size(o) + o->n_strings > UINT32_MAX)
			o->failed = -EFBIG;
		memcpy(id, o->w->id, o->w->id_len);
		put32(o, o->main, (uint32_t)tables_size(o));
		put32(o, o->main, (uint32_t)o->n_strings);
		put(o, o->main, id, sizeof(id));
	} else {
		put(o, o->main, strings_name, strlen(strings_name) + 1);
	}
}

/* Writes the tables. Returns the offset of the table of function offsets, which are filled in later. */
static size_t put_tables(struct output *o)
{
	bool v1 = o->form == GSYM_V1;
	size_t infos;

	align_to(o, o->off_size);
	for (size_t i = 0; i < o->n; i++)
		put_off(o, o->all[i]->addr - o->base);
	align_to(o, 4);
	infos = o->main->n;
	for (size_t i = 0; i < o->n; i++)
		put32(o, o->main, 0);
	put32(o, o->main, v1 ? o->n_files : o->n_files - 1);
	for (uint32_t i = v1 ? 0 : 1; i < o->n_files; i++) {
		put32(o, o->main, o->files[i].dir ? o->text_at[o->files[i].dir] : o->shared.empty);
		put32(o, o->main, o->files[i].base ? o->text_at[o->files[i].base] : o->shared.empty);
	}
	return infos;
}

static int write_all(struct output *o, const char *strings_name)
{
	size_t infos;
	int r;

	if (o->w->last) {
		texts_close(&o->w->texts);
		texts_close(&o->w->files);
	}
	r = write_sort(o);
	if (r < 0)
		return r;
	if (!o->n)
		return -ENODATA;
	r = name_all(o);
	if (r < 0)
		return r;
	choose_base(o);
	put_head(o, strings_name);
	infos = put_tables(o);
	if (o->form == GSYM_V1)
		put_strings(o);
	free(take(o->named));
	if (o->w->last)
		texts_release(&o->w->texts);
	put_functions(o, infos);
	return o->failed;
}

int gsym_write(struct gsym_writer *w, enum gsym_form form, bool big, const char *strings_name,
	struct buf *main, struct buf *strings, struct err *e)
{
	struct output o = {.w = w, .form = form, .swap = big != HOST_BIG, .main = main,
		.strings = strings, .payload = BUF_UP_TO(UINT32_MAX)};
	int r;

	if (form != GSYM_V1 && form != GSYM_SECT0)
		return err_set(e, -EINVAL, "this form of GSYM is read and not written");
	buf_clear(main);
	if (form != GSYM_V1)
		buf_clear(strings);
	r = write_all(&o, strings_name);
	buf_release(&o.payload);
	shared_close(&o.shared);
	free(o.all);
	free(o.text_at);
	free(o.named);
	free(o.file_at);
	free(o.files);
	if (r == -ENODATA)
		return err_set(e, r, "has no functions to write");
	if (r == -EFBIG)
		return err_set(e, r, "is too large for GSYM: a table would have more than 4 GiB");
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}
