/* The places of a module, in one list. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/exact.h"
#include "base/grow.h"
#include "base/util.h"
#include "gsym/writer-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NONE UINT32_MAX
#define MARK '\1'

/* A function, or an inlined one. */
struct function {
	uint32_t entry, name;
};

/* Line of a file in a function; and where that was inlined. */
struct place {
	uint32_t function, file, line, into;
};

/* What is told of one address. Later ones count more, but not all of them: */
enum how {
	HOW_ALWAYS,  /* a line */
	HOW_IF_FREE, /* a function, a PUBLIC: not where there is a place */
	HOW_END      /* nothing, where nothing was told */
};

struct mark {
	uint32_t addr, place;
	enum how how;
	uint32_t order;
};

/* A function under way, in a tree of inlined calls. */
struct branch {
	uint64_t addr, size;
	uint32_t name;
	uint32_t first_line, last_line, first_child, last_child, next;
};

struct branch_line {
	struct exact_line l;
	uint32_t next;
};

struct called {
	uint32_t addr, place;
};

struct covered {
	uint32_t start, end, order;
};

#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t n, room;                                                                    \
	}
#define MORE(list) grow(&(list)->at, &(list)->room, (list)->n, sizeof(*(list)->at))

struct exact {
	struct gsym_writer *w;
	LIST(struct function) functions;
	LIST(struct place) places;
	LIST(struct mark) marks;
	LIST(struct called) publics; /* `place` is the name */
	/* of the function under way */
	struct nest_list nested;
	LIST(struct branch) branches;
	LIST(struct branch_line) lines;
	LIST(struct called) calls;    /* of all levels, one behind the other */
	LIST(struct covered) covered; /* likewise */
	bool marks_told;  /* names and files say more than names */
	uint32_t no_file; /* for calls without a file */
};

int exact_new(struct exact **out, struct gsym_writer *w, bool marks)
{
	struct exact *x = calloc(1, sizeof(*x));
	const char mark[] = {MARK};
	uint32_t text;

	if (!x)
		return -ENOMEM;
	x->w = w;
	x->marks_told = marks;
	if (marks && (gsym_text(w, mark, 1, &text) < 0 || gsym_add_file(w, 0, text, &x->no_file) < 0)) {
		free(x);
		return -ENOMEM;
	}
	*out = x;
	return 0;
}

void exact_free(struct exact *x)
{
	if (!x)
		return;
	free(x->functions.at);
	free(x->places.at);
	free(x->marks.at);
	free(x->publics.at);
	free(x->nested.at);
	free(x->branches.at);
	free(x->lines.at);
	free(x->calls.at);
	free(x->covered.at);
	free(x);
}

/* ---- lists -------------------------------------------------------------------------- */

static int add_function(struct exact *x, uint32_t entry, uint32_t name, uint32_t *out)
{
	if (x->functions.n == NONE)
		return -EFBIG;
	if (MORE(&x->functions) < 0)
		return -ENOMEM;
	*out = (uint32_t)x->functions.n;
	x->functions.at[x->functions.n++] = (struct function){entry, name};
	return 0;
}

static int add_place(struct exact *x, struct place p, uint32_t *out)
{
	if (x->places.n == NONE)
		return -EFBIG;
	if (MORE(&x->places) < 0)
		return -ENOMEM;
	*out = (uint32_t)x->places.n;
	x->places.at[x->places.n++] = p;
	return 0;
}

static int add_mark(struct exact *x, uint32_t addr, uint32_t place, enum how how)
{
	if (x->marks.n == NONE)
		return -EFBIG;
	if (MORE(&x->marks) < 0)
		return -ENOMEM;
	x->marks.at[x->marks.n] = (struct mark){addr, place, how, (uint32_t)x->marks.n};
	x->marks.n++;
	return 0;
}

/* ---- the tree of a function --------------------------------------------------------- */

/* The calls that are open at an address, behind the function itself. */
struct tree {
	struct exact *x;
	struct {
		uint32_t branch;
		uint64_t end;
	} open[GSYM_DEPTH_MOST + 1]; /* nest_calls() lets through no more */
	unsigned n;
};

static uint64_t end_of(uint64_t addr, uint64_t size)
{
	return addr + size < addr ? UINT64_MAX : addr + size;
}

static struct branch *innermost(struct tree *t)
{
	return &t->x->branches.at[t->open[t->n - 1].branch];
}

static int push_branch(struct tree *t, uint64_t addr, uint64_t size, uint32_t name)
{
	struct exact *x = t->x;
	uint32_t at = (uint32_t)x->branches.n;
	struct branch *parent;

	if (MORE(&x->branches) < 0)
		return -ENOMEM;
	x->branches.at[x->branches.n++] = (struct branch){
		addr, size, name, NONE, NONE, NONE, NONE, NONE};
	if (t->n) {
		parent = innermost(t);
		*(parent->last_child == NONE ? &parent->first_child
					     : &x->branches.at[parent->last_child].next) = at;
		parent->last_child = at;
	}
	t->open[t->n].branch = at;
	t->open[t->n++].end = end_of(addr, size);
	return 0;
}

static int push_line(struct tree *t, const struct exact_line *l)
{
	struct exact *x = t->x;
	uint32_t at = (uint32_t)x->lines.n;
	struct branch *b;

	if (MORE(&x->lines) < 0)
		return -ENOMEM;
	x->lines.at[x->lines.n++] = (struct branch_line){*l, NONE};
	b = innermost(t);
	*(b->last_line == NONE ? &b->first_line : &x->lines.at[b->last_line].next) = at;
	b->last_line = at;
	return 0;
}

/* Leaves the calls that have ended. */
static void leave_address(struct tree *t, uint64_t addr)
{
	while (t->n > 1 && t->open[t->n - 1].end <= addr)
		t->n--;
}

/* In the caller a call is a line. */
static int enter_call(struct tree *t, const struct nest_call *c)
{
	struct exact_line call = {c->addr, c->size, c->call_file, c->call_line, 0};
	int r;

	t->n = MIN(t->n, c->depth + 1);
	r = push_line(t, &call);
	return r < 0 ? r : push_branch(t, c->addr, c->size, c->name);
}

/* A line ends where the innermost call ends or the next one begins. *rest is what remains of it then. */
static int enter_line(struct tree *t, struct exact_line *l, uint64_t next_call, bool *rest)
{
	uint64_t end = end_of(l->addr, l->size), split = MIN(t->open[t->n - 1].end, next_call);
	struct exact_line piece = *l;

	*rest = split < end;
	if (*rest) {
		piece.size = split - l->addr;
		l->addr = split;
		l->size = end - split;
	}
	return push_line(t, &piece);
}

static int compare_lines(const void *a, const void *b)
{
	const struct exact_line *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* By address; lines of one address stay in the order of the file, as the first of them counts. */
static void sort_lines(struct exact_line *l, size_t n)
{
	bool sorted = true;

	for (size_t i = 1; sorted && i < n; i++)
		sorted = l[i - 1].addr <= l[i].addr;
	if (!sorted)
		qsort(l, n, sizeof(*l), compare_lines);
}

/* Lines and calls in turn, by address; a call comes before a line of its address. All that is left when one
 * of them begins behind the function is dropped. The rest of a split line comes next, even if other lines
 * begin before it. */
static int grow_tree(struct exact *x, const struct exact_func *f)
{
	const struct nest_call *c = x->nested.at, *calls_end = c + x->nested.n;
	struct exact_line *l = f->lines, *lines_end = l + f->n_lines;
	struct tree t = {.x = x};
	uint64_t end = f->addr + f->size; /* modulo 2^64, as in symbolic */
	int r;

	x->branches.n = x->lines.n = 0;
	r = push_branch(&t, f->addr, f->size, f->name);
	while (r == 0 && (c < calls_end || l < lines_end)) {
		bool call = c < calls_end && (l == lines_end || c->addr <= l->addr), rest = false;
		uint64_t addr = call ? c->addr : l->addr;

		leave_address(&t, addr);
		if (addr >= end)
			break;
		if (call) {
			r = enter_call(&t, c++);
		} else {
			r = enter_line(&t, l, c < calls_end ? c->addr : UINT64_MAX, &rest);
			l += !rest;
		}
	}
	return r;
}

/* ---- from the tree to places -------------------------------------------------------- */

static void line_range(const struct exact_line *l, uint32_t *start, uint32_t *end)
{
	uint32_t size = (uint32_t)MIN(l->size, (uint64_t)UINT32_MAX);

	*start = (uint32_t)MIN(l->addr, (uint64_t)UINT32_MAX);
	*end = size > UINT32_MAX - *start ? UINT32_MAX : *start + size;
}

static int compare_covered(const void *a, const void *b)
{
	const struct covered *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* What the lines of the calls in a branch cover, behind what is in the list already. */
static int cover(struct exact *x, const struct branch *b)
{
	size_t first = x->covered.n;

	for (uint32_t c = b->first_child; c != NONE; c = x->branches.at[c].next)
		for (uint32_t l = x->branches.at[c].first_line; l != NONE; l = x->lines.at[l].next) {
			struct covered v = {.order = (uint32_t)(x->covered.n - first)};

			line_range(&x->lines.at[l].l, &v.start, &v.end);
			if (MORE(&x->covered) < 0)
				return -ENOMEM;
			x->covered.at[x->covered.n++] = v;
		}
	if (x->covered.n > first)
		qsort(x->covered.at + first, x->covered.n - first, sizeof(*x->covered.at), compare_covered);
	return 0;
}

struct walk {
	uint32_t function;
	size_t calls, calls_end;     /* where this function was called from, by address */
	size_t covered, covered_end; /* by the calls in it */
	uint32_t into;
};

/* A line is what was there itself, or calls what is inlined there, or both in turn. */
static int walk_line(struct exact *x, struct walk *w, const struct exact_line *l, uint32_t *reached)
{
	uint32_t at, end, place = NONE;
	int r;

	line_range(l, &at, &end);
	*reached = at;
	while (w->calls < w->calls_end && x->calls.at[w->calls].addr <= at)
		w->into = x->calls.at[w->calls++].place;
	r = add_place(x, (struct place){w->function, l->file, l->line, w->into}, &place);
	while (r == 0 && at < end) {
		const struct covered *c =
			w->covered < w->covered_end ? &x->covered.at[w->covered] : NULL;

		if (!c || c->start > at)
			r = add_mark(x, at, place, HOW_ALWAYS);
		if (r == 0 && c && c->start < end) {
			if (MORE(&x->calls) < 0)
				return -ENOMEM;
			x->calls.at[x->calls.n++] = (struct called){c->start, place};
			at = c->end;
			w->covered++;
		} else {
			at = end;
		}
	}
	*reached = at;
	return r;
}

static int walk_branch(struct exact *x, uint32_t which, bool inlined, size_t calls, size_t calls_end)
{
	const struct branch b = x->branches.at[which];
	size_t own_calls = x->calls.n, own_covered = x->covered.n;
	struct walk w = {.calls = calls, .calls_end = calls_end, .into = NONE};
	uint32_t place = NONE, reached = 0;
	int r;

	if (!b.size || b.addr > UINT32_MAX)
		return 0;
	r = add_function(x, inlined ? NONE : (uint32_t)b.addr, b.name, &w.function);
	if (r == 0)
		r = cover(x, &b);
	w.covered = own_covered;
	w.covered_end = x->covered.n;
	if (calls < calls_end)
		w.into = x->calls.at[w.calls++].place;
	for (uint32_t l = b.first_line; r == 0 && l != NONE;) {
		r = walk_line(x, &w, &x->lines.at[l].l, &reached);
		for (l = x->lines.at[l].next; l != NONE && (uint32_t)x->lines.at[l].l.addr < reached;)
			l = x->lines.at[l].next;
	}
	x->covered.n = own_covered;
	if (r == 0 && !inlined)
		r = add_place(x, (struct place){w.function, 0, 0, NONE}, &place);
	if (r == 0 && !inlined)
		r = add_mark(x, (uint32_t)b.addr, place, HOW_IF_FREE);
	calls_end = x->calls.n;
	for (uint32_t c = b.first_child; r == 0 && c != NONE && calls_end > own_calls;
		c = x->branches.at[c].next)
		r = walk_branch(x, c, true, own_calls, calls_end);
	x->calls.n = own_calls;
	return r < 0 ? r : add_mark(x, (uint32_t)end_of(b.addr, b.size), NONE, HOW_END);
}

int exact_add(struct exact *x, const struct exact_func *f)
{
	int r = nest_calls(f->calls, &x->nested);

	sort_lines(f->lines, f->n_lines);
	if (r == 0)
		r = grow_tree(x, f);
	x->calls.n = x->covered.n = 0;
	return r < 0 ? r : walk_branch(x, 0, false, 0, 0);
}

int exact_public(struct exact *x, uint64_t addr, uint32_t name)
{
	if (MORE(&x->publics) < 0)
		return -ENOMEM;
	x->publics.at[x->publics.n++] = (struct called){(uint32_t)addr, name};
	return 0;
}

/* ---- from places to functions ------------------------------------------------------- */

static int compare_marks(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* One mark an address stays: the place that begins there, or NONE. */
static void settle_marks(struct exact *x)
{
	size_t n = 0;

	if (x->marks.n)
		qsort(x->marks.at, x->marks.n, sizeof(*x->marks.at), compare_marks);
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

/* A function of GSYM has less than 4 GiB: where one place has all addresses, the last one begins anew. */
static int mark_last(struct exact *x)
{
	const struct mark *last = x->marks.n ? &x->marks.at[x->marks.n - 1] : NULL;

	if (!last || last->addr == UINT32_MAX || last->place == NONE)
		return 0;
	return add_mark(x, UINT32_MAX, last->place, HOW_ALWAYS);
}

static uint64_t mark_end(const struct exact *x, size_t i)
{
	return i + 1 < x->marks.n ? x->marks.at[i + 1].addr : 1ull << 32;
}

static uint32_t depth_of(const struct exact *x, uint32_t place)
{
	uint32_t n = 0;

	for (; x->places.at[place].into != NONE; place = x->places.at[place].into)
		n++;
	return n;
}

/* The place that has so many callers; NONE: there are not so many. */
static uint32_t place_at(const struct exact *x, uint32_t place, uint32_t depth)
{
	uint32_t n = depth_of(x, place);

	for (; n > depth; n--)
		place = x->places.at[place].into;
	return n == depth ? place : NONE;
}

static uint32_t function_of(const struct exact *x, uint32_t place)
{
	return x->places.at[place_at(x, place, 0)].function;
}

static bool same_call(const struct exact *x, uint32_t a, uint32_t b)
{
	return a != NONE && b != NONE && x->places.at[a].function == x->places.at[b].function &&
	       x->places.at[a].into == x->places.at[b].into;
}

/* The calls of one depth among marks that follow each other, and the calls in them. */
static int tell_calls(struct exact *x, size_t from, size_t to, uint32_t depth)
{
	for (size_t i = from, next; i < to; i = next) {
		uint32_t call = place_at(x, x->marks.at[i].place, depth);
		const struct place *around;
		int r;

		for (next = i + 1; next < to && same_call(x, call, place_at(x, x->marks.at[next].place, depth));)
			next++;
		if (call == NONE)
			continue;
		around = &x->places.at[x->places.at[call].into];
		r = gsym_add_inline(x->w, depth, x->functions.at[x->places.at[call].function].name,
			around->file ? around->file : x->no_file, around->line);
		if (r == 0)
			r = gsym_add_range(x->w, x->marks.at[i].addr,
				mark_end(x, next - 1) - x->marks.at[i].addr);
		if (r == 0)
			r = tell_calls(x, i, next, depth + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A function that goes on behind others says how far it had come. */
static int name_of(struct exact *x, const struct function *f, uint32_t start, uint32_t *out)
{
	const char *name = texts_at(&x->w->texts, f->name);
	int64_t more = (int64_t)start - (int64_t)f->entry;
	_cleanup_buf_ struct buf b = BUF_UP_TO(16u << 20);

	if (!x->marks_told || (!more && name[0] && name[0] != MARK)) {
		*out = f->name;
		return 0;
	}
	if (buf_addf(&b, "%c%s%" PRIx64 " %s", MARK, more < 0 ? "-" : "",
		    (uint64_t)(more < 0 ? -more : more), name) < 0)
		return -ENOMEM;
	return gsym_text(x->w, b.p, b.n, out);
}

static int tell_run(struct exact *x, size_t from, size_t to)
{
	const struct function f = x->functions.at[function_of(x, x->marks.at[from].place)];
	uint32_t start = x->marks.at[from].addr, name;
	uint64_t size = mark_end(x, to - 1) - start;
	bool any = false;
	int r = name_of(x, &f, start, &name);

	if (r == 0)
		r = gsym_begin(x->w, start, size, name, GSYM_DEBUG);
	for (size_t i = from; i < to; i++) {
		const struct place *p = &x->places.at[x->marks.at[i].place];

		any = any || p->file || p->line || p->into != NONE;
	}
	for (size_t i = from; any && r == 0 && i < to; i++) {
		const struct place *p = &x->places.at[x->marks.at[i].place];

		r = gsym_add_row(x->w, x->marks.at[i].addr, p->file, p->line);
	}
	if (any && r == 0)
		r = tell_calls(x, from, to, 1);
	return r < 0 ? r : gsym_end(x->w);
}

static int tell_all(struct exact *x)
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

int exact_finish(struct exact *x, uint32_t module)
{
	uint32_t function = NONE, place = NONE;
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->publics.n; i++) {
		r = add_function(x, x->publics.at[i].addr, x->publics.at[i].place, &function);
		if (r == 0)
			r = add_place(x, (struct place){function, 0, 0, NONE}, &place);
		if (r == 0)
			r = add_mark(x, x->publics.at[i].addr, place, HOW_IF_FREE);
	}
	settle_marks(x);
	if (r == 0)
		r = mark_last(x);
	if (r == 0)
		r = tell_all(x);
	/* A file without functions was found all the same. */
	if (!x->marks_told)
		return r;
	if (!module && !gsym_functions(x->w) && r == 0)
		r = gsym_text(x->w, (const char[]){MARK}, 1, &module);
	if (r == 0 && module)
		r = gsym_begin(x->w, EXACT_NAME_AT, 1, module, GSYM_DEBUG);
	return r == 0 && module ? gsym_end(x->w) : r;
}

/* ---- paths -------------------------------------------------------------------------- */

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

static bool is_drive(const char *p, size_t n)
{
	return n >= 2 && ((p[0] | 32) >= 'a' && (p[0] | 32) <= 'z') && p[1] == ':' &&
	       (n == 2 || is_separator(p[2]));
}

static bool is_unc(const char *p, size_t n)
{
	return n >= 2 && is_separator(p[0]) && p[1] == p[0];
}

static char separator_of(const char *p, size_t n)
{
	return memchr(p, '\\', n) || is_unc(p, n) || is_drive(p, n) ? '\\' : '/';
}

/* Directory and name apart and together again: separators behind the path go, and of those between
 * the two one is left. A name such as `<stdin>` or `C:` stands alone. */
static size_t join_again(const char *p, size_t n, char *room)
{
	size_t end = n, name, dir;

	while (end && is_separator(p[end - 1]))
		end--;
	end = end ? end : n;
	for (name = end; name && !is_separator(p[name - 1]);)
		name--;
	dir = name > 1 ? name - 1 : name; /* a root keeps its separator */
	if (!name || (end > name && ((p[name] == '<' && p[end - 1] == '>') || is_drive(p + name, end - name)))) {
		memcpy(room, p + name, end - name);
		return end - name;
	}
	memcpy(room, p, dir);
	if (end == name)
		return dir;
	room[dir] = separator_of(p, dir);
	while (dir && is_separator(p[dir - 1])) {
		room[dir - 1] = room[dir];
		dir--;
	}
	memcpy(room + dir + 1, p + name, end - name);
	return dir + 1 + end - name;
}

/* Back to in front of the last part; false when there is none that could go. */
static bool pop_part(const char *room, size_t *n)
{
	size_t at = *n;

	if (!at)
		return false;
	while (at && !is_separator(room[at - 1]))
		at--;
	*n = at ? at - 1 : 0;
	return true;
}

/* In place: what is written is never longer than what was read. */
static size_t clean(char *room, size_t n)
{
	const char *p = room, *end = room + n;
	char separator = separator_of(p, n);
	bool needs = false, past_root = false;
	size_t made = 0;

	while (p < end) {
		const char *part = p;
		size_t len;

		while (p < end && !is_separator(*p))
			p++;
		len = (size_t)(p - part);
		p += p < end;
		if (len == 1 && part[0] == '.')
			continue;
		if (len == 2 && part[0] == '.' && part[1] == '.') {
			if (!past_root && pop_part(room, &made)) {
				needs = needs && made;
				continue;
			}
			needs = needs && past_root;
			past_root = true;
		}
		if (needs)
			room[made++] = separator;
		memmove(room + made, part, len);
		made += len;
		needs = true;
	}
	return made;
}

size_t exact_path(const char *p, size_t n, char *room)
{
	n = n ? clean(room, join_again(p, n, room)) : 0;
	room[n] = '\0';
	return n;
}

/* ---- look-ups ----------------------------------------------------------------------- */

const char *exact_name(const char *name, int64_t *more)
{
	bool minus;
	char *end;

	*more = 0;
	if (name[0] != MARK)
		return name;
	minus = name[1] == '-';
	*more = (int64_t)(strtoull(name + 1 + minus, &end, 16) & INT64_MAX);
	if (minus)
		*more = -*more;
	return *end == ' ' ? end + 1 : end;
}

bool exact_file(const char *dir, const char *base)
{
	return dir[0] || (base[0] && base[0] != MARK);
}
