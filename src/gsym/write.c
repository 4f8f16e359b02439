/* From what a writer was told to the bytes of a file. Texts and files are numbered in the order in
 * which the functions, sorted, first name them: so the bytes do not depend on who told what first,
 * and what nothing names is not written. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "gsym/share.h"
#include "gsym/walk.h"
#include "gsym/writer-private.h"


#define MAGIC 0x4753594du
#define HEAD_SIZE 48
/* How many different steps from line to line an opcode can stand for, less one. */
#define LINE_RANGE 14
#define STEPS_MOST 64
/* Longer steps are no opcode's: readers refuse a window that is as far away as no line is. */
#define STEP_MOST (1 << 24)

struct output {
	struct gsym_writer *w;
	enum gsym_form form;
	bool swap;
	struct buf *main, *strings;
	struct shared shared; /* strings that are not written; not with GSYM_V1 */
	struct entry *all; /* sorted, each range of addresses once */
	size_t n;
	uint32_t *text_at;   /* by number of the text; 0: not named yet */
	uint32_t *file_at;   /* by number of the file */
	struct pair *files;  /* in the order of the file */
	uint32_t n_files;
	uint64_t base;
	unsigned off_size;
	struct buf payload;
	int failed;	     /* the first error of put(); later ones do nothing */
};

/* ---- bytes --------------------------------------------------------------------------- */

static void put(struct output *o, struct buf *b, const void *p, size_t n)
{
	if (!o->failed)
		o->failed = buf_add(b, p, n);
}

static void put8(struct output *o, struct buf *b, uint8_t v)
{
	put(o, b, &v, 1);
}

static void put16(struct output *o, struct buf *b, uint16_t v)
{
	v = o->swap ? bswap_16(v) : v;
	put(o, b, &v, sizeof(v));
}

static void put32(struct output *o, struct buf *b, uint32_t v)
{
	v = o->swap ? bswap_32(v) : v;
	put(o, b, &v, sizeof(v));
}

static void put64(struct output *o, struct buf *b, uint64_t v)
{
	v = o->swap ? bswap_64(v) : v;
	put(o, b, &v, sizeof(v));
}

static void put_off(struct output *o, uint64_t v)
{
	if (o->off_size == 1)
		put8(o, o->main, (uint8_t)v);
	else if (o->off_size == 2)
		put16(o, o->main, (uint16_t)v);
	else if (o->off_size == 4)
		put32(o, o->main, (uint32_t)v);
	else
		put64(o, o->main, v);
}

static void put_uleb(struct output *o, struct buf *b, uint64_t v)
{
	uint8_t room[10];
	size_t n = 0;

	do {
		room[n] = v & 0x7f;
		v >>= 7;
		room[n++] |= v ? 0x80 : 0;
	} while (v);
	put(o, b, room, n);
}

/* The same number in `pad` bytes more. */
static void put_padded(struct output *o, struct buf *b, uint64_t v, unsigned pad)
{
	put_uleb(o, b, v);
	if (o->failed || !pad)
		return;
	b->p[b->n - 1] |= (char)0x80;
	while (--pad)
		put8(o, b, 0x80);
	put8(o, b, 0);
}

static void put_sleb(struct output *o, struct buf *b, int64_t v)
{
	bool more;

	do {
		uint8_t c = v & 0x7f;

		v >>= 7;
		more = !((v == 0 && !(c & 0x40)) || (v == -1 && (c & 0x40)));
		put8(o, b, more ? c | 0x80 : c);
	} while (more);
}

static void align_to(struct output *o, unsigned n)
{
	while (!o->failed && o->main->n % n)
		put8(o, o->main, 0);
}

/* ---- order --------------------------------------------------------------------------- */

static const char *name_of(const struct gsym_writer *w, const struct entry *x)
{
	return texts_at(&w->texts, x->name);
}

/* Which of two with the same addresses is better; see enum gsym_rank. */
static int compare_worth(const struct entry *x, const struct entry *y, const struct gsym_writer *w)
{
	const char *a = name_of(w, x), *b = name_of(w, y);
	size_t n = strlen(a), m = strlen(b);

	if (!n != !m)
		return n ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (!x->n_nodes != !y->n_nodes)
		return x->n_nodes ? -1 : 1;
	if (!x->n_rows != !y->n_rows)
		return x->n_rows ? -1 : 1;
	if (n != m)
		return n < m ? -1 : 1;
	return strcmp(a, b);
}

/* Two of the same name and rank: anything that does not depend on who came first. */
static int compare_content(
	const struct entry *x, const struct entry *y, const struct gsym_writer *w)
{
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->n_rows != y->n_rows)
		return x->n_rows > y->n_rows ? -1 : 1;
	if (x->n_nodes != y->n_nodes)
		return x->n_nodes > y->n_nodes ? -1 : 1;
	for (uint32_t i = 0; i < x->n_rows; i++) {
		const struct row *a = &w->rows[x->rows + i], *b = &w->rows[y->rows + i];
		struct pair f, g;
		int r;

		if (a->at != b->at)
			return a->at < b->at ? -1 : 1;
		if (a->line != b->line)
			return a->line < b->line ? -1 : 1;
		if (!a->file || !b->file) {
			if (a->file != b->file)
				return a->file ? -1 : 1;
			continue;
		}
		f = w->files.at[a->file];
		g = w->files.at[b->file];
		r = strcmp(texts_at(&w->texts, f.base), texts_at(&w->texts, g.base));
		if (!r)
			r = strcmp(texts_at(&w->texts, f.dir), texts_at(&w->texts, g.dir));
		if (r)
			return r;
	}
	return 0;
}

static int compare_entries(const void *a, const void *b, void *w)
{
	const struct entry *x = a, *y = b;
	int r;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* What has no size answers only where nothing else begins. */
	if (x->size != y->size)
		return !x->size != !y->size ? (x->size ? -1 : 1) : (x->size < y->size ? -1 : 1);
	r = compare_worth(x, y, w);
	if (!r)
		r = compare_content(x, y, w);
	return r ? r : (x->rows > y->rows) - (x->rows < y->rows);
}

static int sort_entries(struct output *o)
{
	struct gsym_writer *w = o->w;

	o->all = malloc(w->n_entries * sizeof(*o->all));
	if (!o->all)
		return -ENOMEM;
	memcpy(o->all, w->entries, w->n_entries * sizeof(*o->all));
	qsort_r(o->all, w->n_entries, sizeof(*o->all), compare_entries, w);
	for (size_t i = 0; i < w->n_entries; i++) {
		const struct entry *last = o->n ? &o->all[o->n - 1] : NULL, *x = &o->all[i];

		if (!x->name || (last && last->addr == x->addr &&
					(last->size == x->size || !x->size)))
			continue;
		o->all[o->n++] = *x;
	}
	return 0;
}

/* ---- what is named ------------------------------------------------------------------- */

static void name_text(struct output *o, uint32_t text)
{
	const char *s = texts_at(&o->w->texts, text);

	if (!text || o->text_at[text] || o->failed)
		return;
	o->text_at[text] = shared_find(&o->shared, s);
	if (o->text_at[text])
		return;
	if (o->shared.all.n + o->strings->n + strlen(s) >= UINT32_MAX)
		o->failed = -EFBIG;
	o->text_at[text] = (uint32_t)(o->shared.all.n + o->strings->n);
	put(o, o->strings, s, strlen(s) + 1);
}

static void name_file(struct output *o, uint32_t file)
{
	if (!file || o->file_at[file])
		return;
	o->file_at[file] = o->n_files;
	o->files[o->n_files++] = o->w->files.at[file];
	name_text(o, o->w->files.at[file].dir);
	name_text(o, o->w->files.at[file].base);
}

static int name_all(struct output *o)
{
	struct gsym_writer *w = o->w;
	size_t texts = w->texts.n + 1, files = w->files.n + 1;

	o->text_at = calloc(texts, sizeof(*o->text_at));
	o->file_at = calloc(files, sizeof(*o->file_at));
	o->files = calloc(files, sizeof(*o->files));
	if (!o->text_at || !o->file_at || !o->files)
		return -ENOMEM;
	o->n_files = 1; /* no file */
	if (o->form != GSYM_V1 && w->shared.n)
		o->failed = shared_open(&o->shared, w->shared);
	else
		put8(o, o->strings, 0);
	for (size_t i = 0; !o->failed && i < o->n; i++) {
		const struct entry *x = &o->all[i];

		name_text(o, x->name);
		for (uint32_t k = 0; k < x->n_rows; k++)
			name_file(o, w->rows[x->rows + k].file);
		for (uint32_t k = 0; k < x->n_nodes; k++) {
			name_text(o, w->nodes[x->nodes + k].name);
			name_file(o, w->nodes[x->nodes + k].call_file);
		}
	}
	return o->failed;
}

/* ---- line tables --------------------------------------------------------------------- */

struct steps {
	int64_t step[STEPS_MOST];
	uint32_t count[STEPS_MOST];
	unsigned n;
};

static void count_step(struct steps *s, int64_t step)
{
	unsigned i = 0;

	if (step > STEP_MOST || step < -STEP_MOST)
		return;
	while (i < s->n && s->step[i] < step)
		i++;
	if (i < s->n && s->step[i] == step) {
		s->count[i]++;
		return;
	}
	if (s->n == STEPS_MOST)
		return;
	memmove(s->step + i + 1, s->step + i, (s->n - i) * sizeof(s->step[0]));
	memmove(s->count + i + 1, s->count + i, (s->n - i) * sizeof(s->count[0]));
	s->step[i] = step;
	s->count[i] = 1;
	s->n++;
}

/* The steps that one opcode stands for are those of the window that most rows are in. */
static void choose_steps(const struct row *rows, uint32_t n, int64_t *min, int64_t *max)
{
	struct steps s = {.n = 0};
	uint64_t best = 0;

	*min = *max = 0;
	for (uint32_t i = 1; i < n; i++)
		count_step(&s, (int64_t)rows[i].line - rows[i - 1].line);
	for (unsigned i = 0; i < s.n; i++) {
		uint64_t sum = 0;
		unsigned k = i;

		for (; k < s.n && s.step[k] - s.step[i] <= LINE_RANGE; k++)
			sum += s.count[k];
		if (sum > best) {
			best = sum;
			*min = s.step[i];
			*max = s.step[k - 1];
		}
	}
	/* The first row makes no step. */
	if (*min == *max && *min > 0 && *min < LINE_RANGE)
		*min = 0;
}

static void put_row(struct output *o, int64_t min, int64_t max, int64_t lines, uint64_t addrs)
{
	int64_t range = max - min + 1;
	uint64_t op = (uint64_t)(lines - min) + (uint64_t)range * addrs + ROW_SPECIAL;

	if (lines >= min && lines <= max && addrs < 256 && op < 256) {
		put8(o, &o->payload, (uint8_t)op);
		return;
	}
	if (lines) {
		put8(o, &o->payload, ROW_LINE);
		put_sleb(o, &o->payload, lines);
	}
	put8(o, &o->payload, ROW_PC);
	put_uleb(o, &o->payload, addrs);
}

static void put_lines(struct output *o, const struct entry *x, unsigned pad)
{
	const struct row *rows = o->w->rows + x->rows;
	struct row last = {0, 1, rows[0].line};
	int64_t min, max;

	choose_steps(rows, x->n_rows, &min, &max);
	put_sleb(o, &o->payload, min);
	put_sleb(o, &o->payload, max);
	put_padded(o, &o->payload, rows[0].line, pad);
	for (uint32_t i = 0; i < x->n_rows; i++) {
		uint32_t file = rows[i].file ? o->file_at[rows[i].file] : 0;

		if (file != last.file) {
			put8(o, &o->payload, ROW_FILE);
			put_uleb(o, &o->payload, file);
		}
		put_row(o, min, max, (int64_t)rows[i].line - last.line, rows[i].at - last.at);
		last = (struct row){rows[i].at, file, rows[i].line};
	}
	put8(o, &o->payload, ROW_END);
}

/* ---- inlined calls ------------------------------------------------------------------- */

static void put_node(struct output *o, const struct range *ranges, uint32_t n, uint32_t base,
	const struct node *node, bool children, unsigned pad)
{
	put_padded(o, &o->payload, n, pad);
	for (uint32_t i = 0; i < n; i++) {
		put_uleb(o, &o->payload, ranges[i].at - base);
		put_uleb(o, &o->payload, ranges[i].size);
	}
	put8(o, &o->payload, children);
	put32(o, &o->payload, node->name ? o->text_at[node->name] : 0);
	put_uleb(o, &o->payload, node->call_file ? o->file_at[node->call_file] : 0);
	put_uleb(o, &o->payload, node->call_line);
}

static void put_inlines(struct output *o, const struct entry *x, unsigned pad)
{
	const struct node *nodes = o->w->nodes + x->nodes, top = {.name = x->name};
	const struct range *ranges = o->w->ranges + x->ranges, whole = {0, x->size};
	uint32_t base[GSYM_DEPTH_MOST + 1] = {0};
	unsigned depth = 0;

	put_node(o, &whole, 1, 0, &top, true, pad);
	for (uint32_t i = 0; i < x->n_nodes; i++) {
		const struct node *node = &nodes[i];
		bool children = i + 1 < x->n_nodes && nodes[i + 1].depth > node->depth;

		/* The children of those that are left end here. */
		for (; depth > node->depth; depth--)
			put8(o, &o->payload, 0);
		depth = node->depth;
		put_node(o, ranges, node->n_ranges, base[depth - 1], node, children, 0);
		base[depth] = ranges[0].at;
		ranges += node->n_ranges;
	}
	for (; depth; depth--)
		put8(o, &o->payload, 0);
}

/* ---- functions ----------------------------------------------------------------------- */

/* The prototype's manual wants each information to begin at a multiple of 4, and its code goes by
 * the data alone: a number that is written longer than it must be suits both. */
static void put_info(struct output *o, uint32_t type, const struct entry *x,
	void (*encode)(struct output *o, const struct entry *x, unsigned pad))
{
	unsigned pad;

	buf_clear(&o->payload);
	encode(o, x, 0);
	pad = o->form == GSYM_V1 ? 0 : (4 - o->payload.n % 4) % 4;
	if (pad && !o->failed) {
		buf_clear(&o->payload);
		encode(o, x, pad);
	}
	if (o->payload.n > UINT32_MAX)
		o->failed = -EFBIG;
	put32(o, o->main, type);
	put32(o, o->main, (uint32_t)o->payload.n);
	put(o, o->main, buf_text(&o->payload), o->payload.n);
}

static void put_function(struct output *o, const struct entry *x)
{
	put32(o, o->main, x->size);
	put32(o, o->main, o->text_at[x->name]);
	if (x->n_rows)
		put_info(o, INFO_LINES, x, put_lines);
	if (x->n_nodes)
		put_info(o, INFO_INLINES, x, put_inlines);
	put32(o, o->main, INFO_END);
	put32(o, o->main, 0);
}

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
		put_function(o, &o->all[i]);
	}
}

/* ---- the file ------------------------------------------------------------------------ */

static void choose_base(struct output *o)
{
	uint64_t first = o->all[0].addr, last = o->all[o->n - 1].addr;

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
		if (tables_size(o) + o->strings->n > UINT32_MAX)
			o->failed = -EFBIG;
		memcpy(id, o->w->id, o->w->id_len);
		put32(o, o->main, (uint32_t)tables_size(o));
		put32(o, o->main, (uint32_t)o->strings->n);
		put(o, o->main, id, sizeof(id));
	} else {
		put(o, o->main, strings_name, strlen(strings_name) + 1);
	}
}

/* Returns where the offsets of functions stand, which are not known yet. */
static size_t put_tables(struct output *o)
{
	bool v1 = o->form == GSYM_V1;
	size_t infos;

	align_to(o, o->off_size);
	for (size_t i = 0; i < o->n; i++)
		put_off(o, o->all[i].addr - o->base);
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
	int r = sort_entries(o);

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
		put(o, o->main, o->strings->p, o->strings->n);
	put_functions(o, infos);
	return o->failed;
}

int gsym_write(struct gsym_writer *w, enum gsym_form form, bool big, const char *strings_name,
	struct buf *main, struct buf *strings, struct err *e)
{
	struct buf own = BUF_UP_TO(UINT32_MAX);
	struct output o = {.w = w, .form = form, .swap = big != HOST_BIG, .main = main,
		.strings = form == GSYM_V1 ? &own : strings, .payload = BUF_UP_TO(UINT32_MAX)};
	int r;

	if (form != GSYM_V1 && form != GSYM_SECT0)
		return err_set(e, -EINVAL, "this form of GSYM is read and not written");
	buf_clear(main);
	buf_clear(o.strings);
	r = w->n_entries ? write_all(&o, strings_name) : -ENODATA;
	buf_release(&own);
	buf_release(&o.payload);
	shared_close(&o.shared);
	free(o.all);
	free(o.text_at);
	free(o.file_at);
	free(o.files);
	if (r == -ENODATA)
		return err_set(e, r, "has no functions to write");
	if (r == -EFBIG)
		return err_set(e, r, "is too large for GSYM: a table would have more than 4 GiB");
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}
