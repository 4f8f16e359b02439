/* Reads STACK, FUNC and PUBLIC records of Breakpad files for stack walks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/walk/sym.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

#define CHUNK (64u << 10)
#define BACK_MOST 256 /* nested STACK WIN records that are looked at */
#define ROWS_MOST 16384 /* of a function, in STACK CFI records */

struct record {
	uint64_t address;
	uint32_t size, extra; /* `extra`: bytes of parameters, or the type of a STACK WIN record */
	uint64_t text;	      /* where the rest of the record is in the file */
};

struct list {
	struct record *p;
	size_t n, room;
};

struct sym {
	struct view v;
	struct list funcs, publics, rules, wins;
	size_t *budget;
};

/* ---- lines ------------------------------------------------------------------------------ */

/* Reads lines from a place in the file on. A line longer than CHUNK is cut. */
struct lines {
	struct view *v;
	uint64_t at;   /* in the file, of buf[0] */
	size_t pos, n; /* the next byte in buf; bytes in buf */
	bool skip;     /* the rest of a line that was cut comes first */
	char buf[CHUNK];
};

static void lines_begin(struct lines *l, struct view *v, uint64_t at)
{
	l->v = v;
	l->at = at;
	l->pos = l->n = 0;
	l->skip = false;
}

static int refill(struct lines *l)
{
	uint64_t from = l->at + l->n;
	size_t n = (size_t)MIN(CHUNK - (l->n - l->pos), from < l->v->size ? l->v->size - from : 0);

	memmove(l->buf, l->buf + l->pos, l->n - l->pos);
	l->at += l->pos;
	l->n -= l->pos;
	l->pos = 0;
	if (n && view_read(l->v, l->at + l->n, l->buf + l->n, n) < 0)
		return -EIO;
	l->n += n;
	return n ? 1 : 0;
}

/* 1: a line of *n bytes, at *at in the file; 0: the end; -EIO. */
static int lines_next(struct lines *l, const char **p, size_t *n, uint64_t *at)
{
	for (;;) {
		const char *end = memchr(l->buf + l->pos, '\n', l->n - l->pos);
		int r = 0;

		if (!end && l->n - l->pos < CHUNK && (r = refill(l)) < 0)
			return r;
		if (!end && r > 0)
			continue;
		if (!end && l->pos == l->n)
			return 0;
		*p = l->buf + l->pos;
		*n = end ? (size_t)(end - *p) : l->n - l->pos;
		*at = l->at + l->pos;
		l->pos += *n + (end != NULL);
		r = l->skip;
		l->skip = !end;
		if (*n && (*p)[*n - 1] == '\r')
			--*n;
		if (!r)
			return 1;
	}
}

/* ---- words ------------------------------------------------------------------------------ */

struct words {
	const char *p, *end;
};

static bool take_word(struct words *w, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(w->end - w->p) <= n || memcmp(w->p, word, n) != 0 || w->p[n] != ' ')
		return false;
	w->p += n;
	while (w->p < w->end && *w->p == ' ')
		w->p++;
	return true;
}

static bool take_hex(struct words *w, uint64_t *out)
{
	const char *p = w->p;
	uint64_t value = 0;

	for (; p < w->end && hex_value(*p) >= 0; p++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)hex_value(*p);
	}
	if (p == w->p || (p < w->end && *p != ' '))
		return false;
	while (p < w->end && *p == ' ')
		p++;
	w->p = p;
	*out = value;
	return true;
}

static bool take_u32(struct words *w, uint32_t *out)
{
	uint64_t value;

	if (!take_hex(w, &value))
		return false;
	*out = (uint32_t)MIN(value, UINT32_MAX);
	return true;
}

/* ---- the index -------------------------------------------------------------------------- */

static int add(struct sym *s, struct list *l, struct record r)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 256;
		struct record *p;

		if ((room - l->room) * sizeof(*p) > *s->budget)
			return -EFBIG;
		p = realloc(l->p, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		*s->budget -= (room - l->room) * sizeof(*p);
		l->p = p;
		l->room = room;
	}
	l->p[l->n++] = r;
	return 0;
}

static int add_win(struct sym *s, struct words w, const char *line, uint64_t at)
{
	struct record r = {0};

	if (!take_u32(&w, &r.extra) || (r.extra != 0 && r.extra != 4) || !take_hex(&w, &r.address) ||
		!take_u32(&w, &r.size) || !r.size)
		return 0;
	r.text = at + (uint64_t)(w.p - line);
	return add(s, &s->wins, r);
}

static int add_line(struct sym *s, const char *p, size_t n, uint64_t at)
{
	struct words w = {p, p + n};
	struct record r = {0};

	if (n == 0 || (*p != 'F' && *p != 'P' && *p != 'S'))
		return 0;
	if (take_word(&w, "STACK")) {
		if (take_word(&w, "WIN"))
			return add_win(s, w, p, at);
		if (!take_word(&w, "CFI") || !take_word(&w, "INIT") || !take_hex(&w, &r.address) ||
			!take_u32(&w, &r.size) || !r.size)
			return 0;
		r.text = at + (uint64_t)(w.p - p);
		return add(s, &s->rules, r);
	}
	if (take_word(&w, "FUNC")) {
		take_word(&w, "m");
		return take_hex(&w, &r.address) && take_u32(&w, &r.size) && take_u32(&w, &r.extra) && r.size
			       ? add(s, &s->funcs, r)
			       : 0;
	}
	if (take_word(&w, "PUBLIC")) {
		take_word(&w, "m");
		return take_hex(&w, &r.address) && take_u32(&w, &r.extra) && r.address ? add(s, &s->publics, r) : 0;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return x->address != y->address ? (x->address < y->address ? -1 : 1) : 0;
}

/* Of ranges with the same beginning, the longer one comes first: it may contain the other one. */
static int compare_wins(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	int r = compare(a, b);

	return r ? r : x->size != y->size ? (x->size > y->size ? -1 : 1) : 0;
}

static int read_index(struct sym *s)
{
	_cleanup_free_ struct lines *l = malloc(sizeof(*l));
	uint64_t at;
	const char *p;
	size_t n;
	int r;

	if (!l)
		return -ENOMEM;
	lines_begin(l, &s->v, 0);
	while ((r = lines_next(l, &p, &n, &at)) > 0 && (r = add_line(s, p, n, at)) == 0)
		;
	if (r < 0)
		return r;
	if (s->funcs.n)
		qsort(s->funcs.p, s->funcs.n, sizeof(struct record), compare);
	if (s->publics.n)
		qsort(s->publics.p, s->publics.n, sizeof(struct record), compare);
	if (s->rules.n)
		qsort(s->rules.p, s->rules.n, sizeof(struct record), compare);
	if (s->wins.n)
		qsort(s->wins.p, s->wins.n, sizeof(struct record), compare_wins);
	return 0;
}

int sym_open(struct sym **out, const struct view *v, size_t *budget)
{
	struct sym *s = calloc(1, sizeof(*s));
	size_t was = *budget;
	int r;

	if (!s)
		return -ENOMEM;
	s->v = *v;
	s->budget = budget;
	r = read_index(s);
	if (r < 0) {
		sym_free(s);
		*budget = was; /* a file that is too large must not take the place of others */
		return r;
	}
	s->budget = NULL;
	*out = s;
	return 0;
}

void sym_free(struct sym *s)
{
	if (!s)
		return;
	free(s->funcs.p);
	free(s->publics.p);
	free(s->rules.p);
	free(s->wins.p);
	free(s);
}

/* The last record at or before the address; NULL: none. */
static const struct record *before(const struct list *l, uint64_t address)
{
	size_t low = search_first(i, 0, l->n, l->p[i].address <= address);

	return low ? &l->p[low - 1] : NULL;
}

static bool contains(const struct record *r, uint64_t address)
{
	return r && address - r->address < r->size;
}

/* ---- names ------------------------------------------------------------------------------ */

/* A PUBLIC record reaches to the next one, but not past the beginning of a function. */
static const struct record *public_at(const struct sym *s, uint64_t address)
{
	const struct record *f = before(&s->funcs, address), *p = before(&s->publics, address);

	return p && (!f || p->address > f->address) ? p : NULL;
}

bool sym_names(const struct sym *s, uint64_t address)
{
	return contains(before(&s->funcs, address), address) || public_at(s, address);
}

bool sym_params(const struct sym *s, uint64_t address, uint32_t *out)
{
	const struct record *f = before(&s->funcs, address);

	if (!contains(f, address))
		return false;
	*out = f->extra;
	return true;
}

/* ---- STACK CFI ---------------------------------------------------------------------------- */

static bool keep(struct sym_rules *r, const char *p, size_t n, uint32_t *at)
{
	if (n > sizeof(r->text) - r->used)
		return false;
	*at = (uint32_t)r->used;
	memcpy(r->text + r->used, p, n);
	r->used += n;
	return true;
}

static struct sym_rule *rule_of(struct sym_rules *r, const char *name, size_t n)
{
	struct sym_rule *new;

	for (unsigned i = 0; i < r->n; i++)
		if (r->rule[i].name_n == n && memcmp(r->text + r->rule[i].name, name, n) == 0)
			return &r->rule[i];
	if (r->n == SYM_RULES)
		return NULL;
	new = &r->rule[r->n];
	*new = (struct sym_rule){.name_n = (uint32_t)n};
	if (!keep(r, name, n, &new->name))
		return NULL;
	r->n++;
	return new;
}

/* Long functions have thousands of rows, so a new value takes the place of the old one if it fits. */
static bool set_value(struct sym_rules *r, struct sym_rule *rule, const char *p, size_t n)
{
	if (n <= rule->room)
		memcpy(r->text + rule->value, p, n);
	else if (!keep(r, p, n, &rule->value))
		return false;
	rule->room = MAX(rule->room, (uint32_t)n);
	rule->value_n = (uint32_t)n;
	return true;
}

static const char *word_end(const char *p, const char *end)
{
	while (p < end && *p != ' ' && *p != '\t')
		p++;
	return p;
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* "NAME: words of an expression NAME: ..." */
bool sym_rules_add(struct sym_rules *out, const char *p, size_t n)
{
	const char *end = p + n;

	p = skip_blanks(p, end);
	while (p < end) {
		const char *stop = word_end(p, end), *value, *last;
		struct sym_rule *rule;

		if (stop - p < 2 || stop[-1] != ':')
			return false;
		rule = rule_of(out, p, (size_t)(stop - p) - 1);
		value = last = skip_blanks(stop, end);
		for (p = value; p < end; p = skip_blanks(stop, end)) {
			stop = word_end(p, end);
			if (stop[-1] == ':')
				break;
			last = stop;
		}
		if (!rule || last == value || !set_value(out, rule, value, (size_t)(last - value)))
			return false;
	}
	return true;
}

/* The rows of a function follow its INIT record, by address. A row has the rules that change at its address. */
int sym_rules(struct sym *s, uint64_t address, struct sym_rules *out)
{
	const struct record *init = before(&s->rules, address);
	bool has = contains(init, address);
	_cleanup_free_ struct lines *l = has ? malloc(sizeof(*l)) : NULL;
	uint64_t at, row;
	const char *p;
	size_t n;

	out->used = out->n = 0;
	if (!l)
		return has ? -ENOMEM : 0;
	lines_begin(l, &s->v, init->text);
	if (lines_next(l, &p, &n, &at) <= 0 || !sym_rules_add(out, p, n))
		return 0;
	for (unsigned rows = 0; lines_next(l, &p, &n, &at) > 0; rows++) {
		struct words w = {p, p + n};

		if (rows == ROWS_MOST)
			return 0;
		if (!take_word(&w, "STACK") || !take_word(&w, "CFI") || !take_hex(&w, &row) || row > address)
			break;
		if (!sym_rules_add(out, w.p, (size_t)(w.end - w.p)))
			return 0;
	}
	return 1;
}

/* ---- STACK WIN ---------------------------------------------------------------------------- */

/* The innermost record of a type: records nest, and the inner one begins later or is shorter. */
static const struct record *win_at(const struct sym *s, uint64_t address, uint32_t type)
{
	const struct record *r = before(&s->wins, address), *found = NULL;

	for (unsigned i = 0; r && i < BACK_MOST; i++, r = r > s->wins.p ? r - 1 : NULL)
		if (r->extra == type && contains(r, address) && (!found || r->size < found->size))
			found = r;
	return found;
}

static int read_win(struct sym *s, const struct record *r, struct sym_win *out)
{
	_cleanup_free_ struct lines *l = malloc(sizeof(*l));
	uint32_t prolog, epilog, most, has;
	const char *p;
	struct words w;
	uint64_t at;
	size_t n;

	if (!l)
		return -ENOMEM;
	lines_begin(l, &s->v, r->text);
	if (lines_next(l, &p, &n, &at) <= 0)
		return 0;
	w = (struct words){p, p + n};
	*out = (struct sym_win){.fpo = r->extra == 0};
	if (!take_u32(&w, &prolog) || !take_u32(&w, &epilog) || !take_u32(&w, &out->params) ||
		!take_u32(&w, &out->saved) || !take_u32(&w, &out->locals) || !take_u32(&w, &most) ||
		!take_u32(&w, &has))
		return 0;
	if (has && (size_t)(w.end - w.p) < sizeof(out->program))
		memcpy(out->program, w.p, (size_t)(w.end - w.p));
	else
		out->allocates_bp = !has && take_u32(&w, &has) && has;
	return 1;
}

int sym_win(struct sym *s, uint64_t address, struct sym_win *out)
{
	const struct record *r = win_at(s, address, 4);

	if (!r)
		r = win_at(s, address, 0);
	return r ? read_win(s, r, out) : 0;
}
