/* The nesting of inlined calls, and how marks become functions of GSYM, which never overlap. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/util.h"
#include "derive/convert/eliot-private.h"

#include <inttypes.h>

/* ---- inlined calls, nested in symbolic's order ------------------------------------------ */

static bool is_before(const struct nest_call *a, const struct nest_call *b)
{
	return a->addr != b->addr ? a->addr < b->addr : a->depth < b->depth;
}

/* Moves the call at `i` up while it is before its parent. Equal calls stay where they are. */
static void sift_up(struct nest_queue *q, size_t i)
{
	struct nest_call c = q->at[i];

	while (i && is_before(&c, &q->at[(i - 1) / 2])) {
		q->at[i] = q->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	q->at[i] = c;
}

/* Moves the top call to the bottom without comparing it, then up to its place. Of two equal children the
 * right one moves up. */
static void sift_down_to_bottom(struct nest_queue *q)
{
	struct nest_call c = q->at[0];
	size_t i = 0, child = 1;

	while (child < q->n) {
		if (child + 1 < q->n && !is_before(&q->at[child], &q->at[child + 1]))
			child++;
		q->at[i] = q->at[child];
		i = child;
		child = 2 * i + 1;
	}
	q->at[i] = c;
	sift_up(q, i);
}

int nest_push(struct nest_queue *q, const struct nest_call *c)
{
	if (APPEND(q->at, q->room, q->n, *c) < 0)
		return -ENOMEM;
	sift_up(q, q->n - 1);
	return 0;
}

struct nest_call nest_pop(struct nest_queue *q)
{
	struct nest_call top = q->at[0];

	q->at[0] = q->at[--q->n];
	if (q->n)
		sift_down_to_bottom(q);
	return top;
}

/* ---- nesting ------------------------------------------------------------------------- */

struct nesting {
	struct nest_queue *queue;
	struct nest_list *out;
	uint64_t end[GSYM_DEPTH_MOST]; /* of the last call of each depth */
	unsigned depth;		       /* the number of valid entries in `end` */
};

static int add_nested(struct nesting *t, const struct nest_call *c)
{
	struct nest_list *l = t->out;

	if (APPEND(l->at, l->room, l->n, *c) < 0)
		return -ENOMEM;
	t->end[t->depth++] = c->addr + c->size;
	return 0;
}

static int queue_again(struct nesting *t, struct nest_call c, uint64_t from)
{
	c.size -= from - c.addr;
	c.addr = from;
	return nest_push(t->queue, &c);
}

static int nest_one(struct nesting *t, struct nest_call c)
{
	uint64_t end, caller_end;

	if (__builtin_add_overflow(c.addr, c.size, &end) || c.depth > t->depth ||
		c.depth >= GSYM_DEPTH_MOST)
		return 0;
	if (c.depth < t->depth) {
		if (end <= t->end[c.depth])
			return 0;
		if (c.addr < t->end[c.depth])
			return queue_again(t, c, t->end[c.depth]);
	}
	t->depth = c.depth;
	caller_end = c.depth ? t->end[c.depth - 1] : UINT64_MAX;
	if (c.depth && c.addr >= caller_end)
		return 0;
	if (end > caller_end) {
		if (queue_again(t, c, caller_end) < 0)
			return -ENOMEM;
		c.size = caller_end - c.addr;
	}
	return add_nested(t, &c);
}

int nest_calls(struct nest_queue *q, struct nest_list *out)
{
	struct nesting t;
	uint64_t turns = NEST_TURNS_MOST + 64 * (uint64_t)q->n;
	int r = 0;

	t.queue = q; /* most FUNCs have no calls, and `end` is large */
	t.out = out;
	t.depth = 0;
	for (out->n = 0; r == 0 && q->n; turns--)
		r = turns ? nest_one(&t, nest_pop(q)) : -EFBIG;
	q->n = 0;
	return r;
}

/* ---- a few known addresses --------------------------------------------------------------- */

/* Leaves out what look-ups at these addresses do not need. The answer to an address is the place of the last mark at
 * or before it. All marks of a FUNC usually lie between its start and its end, and the last one, at the end, has no
 * place. So a FUNC with no asked address between start and end counts only by that last mark. */
void eliot_ask(struct eliot *x, const uint32_t *addrs, size_t n)
{
	x->asked = addrs;
	x->n_asked = n;
}

/* How many asked addresses are less than `addr`. */
static size_t asked_before(const struct eliot *x, uint64_t addr)
{
	return search_first(i, 0, x->n_asked, x->asked[i] < addr);
}

bool eliot_needs(const struct eliot *x, const struct eliot_func *f)
{
	uint64_t end = end_of(f->addr, f->size);
	size_t first = asked_before(x, f->addr);

	if (end > UINT32_MAX || (first < x->n_asked && x->asked[first] < end))
		return true;
	for (size_t i = 0; i < f->n_lines; i++)
		if (end_of(f->lines[i].addr, f->lines[i].size) > end)
			return true;
	for (size_t i = 0; i < f->calls->n; i++)
		if (end_of(f->calls->at[i].addr, f->calls->at[i].size) > end)
			return true;
	return false;
}

/* Nests the calls, too, because that can fail. */
int eliot_pass(struct eliot *x, const struct eliot_func *f)
{
	int r = nest_calls(f->calls, &x->nested);

	if (r < 0 || !f->size)
		return r;
	return eliot_add_mark(x, (f->addr + f->size) & x->most, NONE, HOW_END);
}

/* Keeps each mark that is the last at or before an asked address, and ends its place behind the last such address:
 * the marks between this one and the next are left out. */
static int eliot_keep_asked(struct eliot *x)
{
	struct mark *kept = malloc((2 * x->n_asked + 1) * sizeof(*kept));
	size_t at = 0, n = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < x->marks.n; i++) {
		const struct mark *m = &x->marks.at[i];
		uint64_t next = i + 1 < x->marks.n ? x->marks.at[i + 1].addr : 1ull << 32, end;
		size_t first;

		while (at < x->n_asked && x->asked[at] < m->addr)
			at++;
		first = at;
		while (at < x->n_asked && x->asked[at] < next)
			at++;
		if (first == at || m->place == NONE)
			continue;
		n -= n && kept[n - 1].addr == m->addr; /* the place before this one ends here anyway */
		kept[n++] = *m;
		end = x->asked[at - 1] + 1ull;
		if (end <= UINT32_MAX)
			kept[n++] = (struct mark){end, NONE, HOW_END, 0};
	}
	free(x->marks.at);
	x->marks.at = kept;
	x->marks.n = n;
	x->marks.room = 2 * x->n_asked + 1;
	return 0;
}

/* ---- functions ----------------------------------------------------------------------------- */

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return COMPARE(x->addr, y->addr) ?: COMPARE(x->order, y->order);
}

/* Sorts the marks, and leaves one mark at each address; enum how decides which. */
static void settle_marks(struct eliot *x)
{
	size_t n = 0;

	sort_array(x->marks.at, x->marks.n, sizeof(*x->marks.at), compare_marks);
	for (size_t i = 0; i < x->marks.n;) {
		struct mark m = x->marks.at[i++];

		for (; i < x->marks.n && x->marks.at[i].addr == m.addr; i++)
			if (x->marks.at[i].how == HOW_ALWAYS ||
				(x->marks.at[i].how == HOW_IF_FREE && m.place == NONE))
				m.place = x->marks.at[i].place;
		x->marks.at[n++] = m;
	}
	x->marks.n = n;
}

/* The last place extends to the next multiple of 2^32. If it begins at 0, its function would have 4 GiB, and
 * functions of GSYM must be smaller. So a second mark at the address before splits the last place. */
static int mark_last(struct eliot *x)
{
	const struct mark *last = x->marks.n ? &x->marks.at[x->marks.n - 1] : NULL;

	if (!last || last->place == NONE || last->addr == (last->addr | UINT32_MAX))
		return 0;
	return eliot_add_mark(x, last->addr | UINT32_MAX, last->place, HOW_ALWAYS);
}

static uint64_t mark_end(const struct eliot *x, size_t i)
{
	uint64_t addr = x->marks.at[i].addr, end = i + 1 < x->marks.n ? x->marks.at[i + 1].addr : end_of(addr, 1);

	return MIN(end, end_of(addr, UINT32_MAX));
}

static uint32_t depth_of(const struct eliot *x, uint32_t place)
{
	uint32_t n = 0;

	for (; x->places.at[place].into != NONE; place = x->places.at[place].into)
		n++;
	return n;
}

/* Follows a place outwards, to the place that it was inlined into, and so on, until the place is `depth` calls
 * deep. Returns that place; NONE: `place` itself is less deep. */
static uint32_t place_at(const struct eliot *x, uint32_t place, uint32_t depth)
{
	uint32_t n = depth_of(x, place);

	for (; n > depth; n--)
		place = x->places.at[place].into;
	return n == depth ? place : NONE;
}

static uint32_t function_of(const struct eliot *x, uint32_t place)
{
	return x->places.at[place_at(x, place, 0)].function;
}

static bool same_call(const struct eliot *x, uint32_t a, uint32_t b)
{
	return a != NONE && b != NONE && x->places.at[a].function == x->places.at[b].function &&
	       x->places.at[a].into == x->places.at[b].into;
}

/* Writes the inlined calls of one depth in the marks [from, to), and recursively the calls inside them. */
static void tell_calls(struct eliot *x, size_t from, size_t to, uint32_t depth)
{
	for (size_t i = from, next; i < to; i = next) {
		uint32_t call = place_at(x, x->marks.at[i].place, depth);
		const struct place *around;

		for (next = i + 1; next < to && same_call(x, call, place_at(x, x->marks.at[next].place, depth));)
			next++;
		if (call == NONE)
			continue;
		around = &x->places.at[x->places.at[call].into];
		gsym_add_inline(x->w, depth, x->functions.at[x->places.at[call].function].name,
			around->file ? around->file : x->no_file, around->line);
		gsym_add_range(x->w, x->marks.at[i].addr, mark_end(x, next - 1) - x->marks.at[i].addr);
		tell_calls(x, i, next, depth + 1);
	}
}

/* The name of a piece of a FUNC says how far into the FUNC the piece begins. */
static int name_of(struct eliot *x, const struct function *f, uint64_t start, uint32_t *out)
{
	const char *name = gsym_text_at(x->w, f->name);
	int64_t more = (int64_t)start - (int64_t)f->entry;
	_cleanup_buf_ struct buf b = BUF_UP_TO(16u << 20);

	if (!x->marks_told || (!more && name[0] && name[0] != MARK)) {
		*out = f->name;
		return 0;
	}
	if (buf_addf(&b, "%c%s%" PRIx64 " %s", MARK, more < 0 ? "-" : "",
		    (uint64_t)(more < 0 ? -more : more), name) < 0)
		return -ENOMEM;
	*out = gsym_text(x->w, b.p, b.n);
	return 0;
}

static int tell_run(struct eliot *x, size_t from, size_t to)
{
	const struct function f = x->functions.at[function_of(x, x->marks.at[from].place)];
	uint64_t start = x->marks.at[from].addr;
	uint32_t name;
	uint64_t size = mark_end(x, to - 1) - start;
	bool any = false;
	int r = name_of(x, &f, start, &name);

	if (r < 0)
		return r;
	gsym_begin(x->w, start, size, name, GSYM_DEBUG);
	for (size_t i = from; i < to; i++) {
		const struct place *p = &x->places.at[x->marks.at[i].place];

		any = any || p->file || p->line || p->into != NONE;
	}
	for (size_t i = from; any && i < to; i++) {
		const struct place *p = &x->places.at[x->marks.at[i].place];

		gsym_add_row(x->w, x->marks.at[i].addr, p->file, p->line);
	}
	if (any)
		tell_calls(x, from, to, 1);
	gsym_end(x->w);
	return gsym_error(x->w);
}

static int tell_all(struct eliot *x)
{
	for (size_t i = 0, next; i < x->marks.n; i = next) {
		uint32_t place = x->marks.at[i].place;
		int r;

		next = i + 1;
		if (place == NONE)
			continue;
		while (next < x->marks.n && x->marks.at[next].place != NONE &&
			mark_end(x, next) - x->marks.at[i].addr <= UINT32_MAX &&
			function_of(x, x->marks.at[next].place) == function_of(x, place))
			next++;
		r = tell_run(x, i, next);
		if (r < 0)
			return r;
	}
	return 0;
}

int eliot_tell(struct eliot *x)
{
	int r;

	settle_marks(x);
	r = mark_last(x);
	if (r == 0 && x->asked)
		r = eliot_keep_asked(x);
	return r < 0 ? r : tell_all(x);
}
