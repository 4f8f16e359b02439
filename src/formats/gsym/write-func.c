/* Encodes one function: its line table and its inlined calls. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "formats/gsym/write-private.h"

/* Opcodes encode the line steps of a window. Its last step is at most LINE_RANGE more than its first. */
#define LINE_RANGE 14
#define STEPS_MOST 64
/* Longer steps get no opcode, because readers reject a window with a step larger than any line number. */
#define STEP_MOST (1 << 24)

/* ---- line tables --------------------------------------------------------------------- */

struct steps {
	int64_t step[STEPS_MOST];
	uint32_t count[STEPS_MOST];
	unsigned n;
};

static void count_step(struct steps *s, int64_t step)
{
	size_t i = search_first(k, 0, s->n, s->step[k] < step);

	if (step > STEP_MOST || step < -STEP_MOST)
		return;
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

/* Chooses the window of line steps that opcodes encode: the window that covers the most rows. */
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
	/* The step of the first row is 0, so a window of one small step is widened to include 0. */
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
	const struct row *rows = x->of->rows + x->rows;
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
	const struct node *nodes = x->of->nodes + x->nodes, top = {.name = x->name};
	const struct range *ranges = x->of->ranges + x->ranges, whole = {0, x->size};
	uint32_t base[GSYM_DEPTH_MOST + 1] = {0};
	unsigned depth = 0;

	put_node(o, &whole, 1, 0, &top, true, pad);
	for (uint32_t i = 0; i < x->n_nodes; i++) {
		const struct node *node = &nodes[i];
		bool children = i + 1 < x->n_nodes && nodes[i + 1].depth > node->depth;

		/* Ends the list of children of each node that the walk leaves. */
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

/* The prototype's manual requires each record to begin at a multiple of 4; its code expects no padding
 * between records. A number encoded in more bytes than necessary satisfies both. */
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

void write_function(struct output *o, const struct entry *x)
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
