/* Reads Breakpad symbol files, line by line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsym/from-breakpad.h"
#include "base/util.h"
#include "gsym/exact.h"
#include "gsym/inlines.h"
#include "gsym/writer-private.h"

#include <string.h>
#include <strings.h>
#include "base/banned.h"

#define UNKNOWN "<unknown>"
/* Modules have 4 GiB at most, and a PUBLIC behind which nothing comes reaches as far. */
#define MODULE_END (1ull << 32)

/* From the numbers of FILE and INLINE_ORIGIN, which need not be dense, to those of the writer. */
struct numbers {
	struct {
		uint64_t key;
		uint32_t value, file;
		bool used;
	} *slot;
	size_t room, n;
};

struct line {
	uint64_t addr;
	uint32_t file, number;
	size_t order;
};

struct symbol {
	uint64_t addr, end;
	uint32_t name;
	size_t order;
};

enum place { AT_START, AT_HEAD, AT_FILES, OUTSIDE, IN_FUNC, AFTER_BAD_FUNC, AT_END };

struct breakpad {
	struct gsym_writer *w;
	bool strict;
	enum place place;
	struct breakpad_counts counts;
	struct numbers files, origins;
	struct buf half; /* a line whose end has not come yet */
	bool too_long;	 /* and it is longer than a line may be */

	/* the FUNC under way */
	struct symbol func;
	struct line *lines;
	size_t n_lines, lines_room;
	bool lines_disordered;
	struct inlines inlines;

	struct symbol *funcs; /* all that are in the writer; `order` is the entry there */
	size_t n_funcs, funcs_room;
	struct symbol *publics;
	size_t n_publics, publics_room;

	bool id_from_code;

	/* instead of lines and inlines, when look-ups are to answer as Mozilla's do */
	struct exact *exact;
	struct exact_line *exact_lines;
	size_t n_exact_lines, exact_lines_room;
	struct exact_call *exact_calls;
	size_t n_exact_calls, exact_calls_room;
	uint32_t module; /* the name of the program; 0: not told */
	bool module_sought, no_line_end;
};

/* ---- words --------------------------------------------------------------------------- */

struct text {
	const char *p, *end;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_space(struct text *t)
{
	while (t->p < t->end && is_space(*t->p))
		t->p++;
}

/* Whether the text begins with this word, which is taken. */
static bool take_word(struct text *t, const char *word, size_t n)
{
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	if (t->p + n < t->end && !is_space(t->p[n]))
		return false;
	t->p += n;
	skip_space(t);
	return true;
}
#define TAKE_WORD(t, word) take_word((t), (word), sizeof(word) - 1)

/* Nothing else has a value of 16 or more. */
static const uint8_t digits[256] = {
	['0'] = 1,
	['1'] = 2,
	['2'] = 3,
	['3'] = 4,
	['4'] = 5,
	['5'] = 6,
	['6'] = 7,
	['7'] = 8,
	['8'] = 9,
	['9'] = 10,
	['a'] = 11,
	['b'] = 12,
	['c'] = 13,
	['d'] = 14,
	['e'] = 15,
	['f'] = 16,
	['A'] = 11,
	['B'] = 12,
	['C'] = 13,
	['D'] = 14,
	['E'] = 15,
	['F'] = 16,
};

static inline bool take_hex(struct text *t, uint64_t *out)
{
	const char *p = t->p;
	uint64_t v = 0;
	uint8_t d;

	for (; p < t->end && (d = digits[(uint8_t)*p]); p++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)(d - 1);
	}
	if (p == t->p || (p < t->end && !is_space(*p)))
		return false;
	t->p = p;
	skip_space(t);
	*out = v;
	return true;
}

static inline bool take_decimal(struct text *t, uint64_t *out)
{
	const char *p = t->p;
	uint64_t v = 0;

	for (; p < t->end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	if (p == t->p || (p < t->end && !is_space(*p)))
		return false;
	t->p = p;
	skip_space(t);
	*out = v;
	return true;
}

/* Compilers make lines below 0 and above what fits; they mean that there is none. */
static inline bool take_line_number(struct text *t, uint32_t *out)
{
	bool minus = t->p < t->end && *t->p == '-';
	uint64_t v;

	t->p += minus;
	if (!take_decimal(t, &v))
		return false;
	*out = minus || v > UINT32_MAX ? 0 : (uint32_t)v;
	return true;
}

/* ---- numbers ------------------------------------------------------------------------- */

static size_t slot_of(const struct numbers *m, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15 >> 20) & (m->room - 1);

	while (m->slot[at].used && m->slot[at].key != key)
		at = (at + 1) & (m->room - 1);
	return at;
}

static int numbers_room(struct numbers *m)
{
	struct numbers more = {.room = m->room ? m->room * 2 : 1024, .n = m->n};

	if (m->n < m->room / 2)
		return 0;
	more.slot = calloc(more.room, sizeof(*more.slot));
	if (!more.slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->room; i++)
		if (m->slot[i].used)
			more.slot[slot_of(&more, m->slot[i].key)] = m->slot[i];
	free(m->slot);
	*m = more;
	return 0;
}

static int numbers_put(struct numbers *m, uint64_t key, uint32_t value, uint32_t file)
{
	size_t at;

	if (numbers_room(m) < 0)
		return -ENOMEM;
	at = slot_of(m, key);
	m->n += !m->slot[at].used;
	m->slot[at].key = key;
	m->slot[at].value = value;
	m->slot[at].file = file;
	m->slot[at].used = true;
	return 0;
}

/* 0 when there is none: no file, no name. */
static uint32_t numbers_get(const struct numbers *m, uint64_t key)
{
	return m->room ? m->slot[slot_of(m, key)].value : 0;
}

/* ---- a function that is complete ------------------------------------------------------ */

/* Of lines at one address the last told counts. */
static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int remember(struct breakpad *b, struct symbol **list, size_t *n, size_t *room,
	struct symbol s)
{
	if (grow(list, room, *n, sizeof(**list)) < 0)
		return -ENOMEM;
	(*list)[(*n)++] = s;
	return 0;
}

static int tell_func(struct breakpad *b)
{
	struct symbol f = b->func;
	int r = gsym_begin(b->w, f.addr, f.end - f.addr, f.name, GSYM_DEBUG);

	if (r == -ERANGE) /* no function is so long */
		return 0;
	if (b->lines_disordered)
		qsort(b->lines, b->n_lines, sizeof(*b->lines), compare_lines);
	for (size_t i = 0; r == 0 && i < b->n_lines; i++)
		r = gsym_add_row(b->w, b->lines[i].addr, b->lines[i].file, b->lines[i].number);
	if (r == 0)
		r = inlines_tell(&b->inlines, b->w);
	if (r == -E2BIG)
		r = 0;
	f.order = gsym_functions(b->w);
	if (r == 0)
		r = gsym_end(b->w);
	return r < 0 ? r : remember(b, &b->funcs, &b->n_funcs, &b->funcs_room, f);
}

static int tell_exact(struct breakpad *b)
{
	struct exact_func f = {b->func.addr, b->func.end - b->func.addr, b->func.name,
		b->exact_lines, b->n_exact_lines, b->exact_calls, b->n_exact_calls};

	return exact_add(b->exact, &f);
}

static int end_func(struct breakpad *b)
{
	int r = b->place != IN_FUNC || b->func.end <= b->func.addr ? 0
		: b->exact ? tell_exact(b) : tell_func(b);

	if (b->place == IN_FUNC || b->place == AFTER_BAD_FUNC)
		b->place = OUTSIDE;
	b->n_lines = b->n_exact_lines = b->n_exact_calls = 0;
	b->lines_disordered = false;
	inlines_clear(&b->inlines);
	return r;
}

/* ---- records ------------------------------------------------------------------------- */

/* Each returns 0, or -EBADMSG for a line that is not what its first word says. */

static int rest_as_text(struct breakpad *b, struct text t, uint32_t *out)
{
	int r;

	if (t.p == t.end)
		return gsym_text(b->w, UNKNOWN, strlen(UNKNOWN), out);
	r = gsym_name(b->w, t.p, (size_t)(t.end - t.p), out);
	return r < 0 || *out ? r : gsym_text(b->w, UNKNOWN, strlen(UNKNOWN), out);
}

/* As the service shows paths; directory and name together, so that it comes back as it was. */
static int add_exact_path(struct breakpad *b, struct text t, uint32_t *out)
{
	_cleanup_free_ char *room = malloc((size_t)(t.end - t.p) + 1);
	size_t n = room ? exact_path(t.p, (size_t)(t.end - t.p), room) : 0;
	int r = room ? gsym_text(b->w, room, n, out) : -ENOMEM;

	return r < 0 ? r : gsym_add_file(b->w, 0, *out, out);
}

static int read_file(struct breakpad *b, struct text t)
{
	uint64_t number;
	uint32_t file;
	int r;

	if (!take_decimal(&t, &number) || t.p == t.end)
		return -EBADMSG;
	r = b->exact ? add_exact_path(b, t, &file)
		     : gsym_add_path(b->w, t.p, (size_t)(t.end - t.p), &file);
	return r < 0 ? r : numbers_put(&b->files, number, file, 0);
}

/* Of 2020 for some months: with the number of a file before the name. */
static void skip_old_file(struct text *t)
{
	struct text at = *t;
	uint32_t file;

	if (take_line_number(&at, &file) && at.p < at.end)
		*t = at;
}

static int read_origin(struct breakpad *b, struct text t)
{
	uint64_t number;
	uint32_t name;
	int r;

	if (!take_decimal(&t, &number))
		return -EBADMSG;
	if (!b->strict)
		skip_old_file(&t);
	if (t.p == t.end)
		return -EBADMSG;
	r = gsym_text(b->w, t.p, (size_t)(t.end - t.p), &name);
	return r < 0 ? r : numbers_put(&b->origins, number, name, 0);
}

static int read_func(struct breakpad *b, struct text t)
{
	uint64_t size, params;
	int r = end_func(b);

	if (r < 0)
		return r;
	b->place = AFTER_BAD_FUNC;
	TAKE_WORD(&t, "m");
	if (!take_hex(&t, &b->func.addr) || !take_hex(&t, &size) || !take_hex(&t, &params) ||
		b->func.addr + size < b->func.addr)
		return -EBADMSG;
	b->func.end = b->func.addr + size;
	r = rest_as_text(b, t, &b->func.name);
	if (r < 0)
		return r;
	b->place = IN_FUNC;
	b->counts.funcs++;
	return 0;
}

static int keep_exact_line(struct breakpad *b, const struct exact_line *l)
{
	if (l->addr < b->func.addr)
		return 0;
	if (grow(&b->exact_lines, &b->exact_lines_room, b->n_exact_lines, sizeof(*l)) < 0)
		return -ENOMEM;
	b->exact_lines[b->n_exact_lines++] = *l;
	return 0;
}

static int read_line(struct breakpad *b, struct text t)
{
	const struct line *last;
	uint64_t addr, size, file;
	uint32_t number;

	if (!take_hex(&t, &addr) || !take_hex(&t, &size) || !take_line_number(&t, &number) ||
		!take_decimal(&t, &file) || t.p != t.end)
		return -EBADMSG;
	if (!size || b->place != IN_FUNC)
		return 0;
	if (b->exact)
		return keep_exact_line(b,
			&(struct exact_line){addr, size, numbers_get(&b->files, file), number});
	if (grow(&b->lines, &b->lines_room, b->n_lines, sizeof(*b->lines)) < 0)
		return -ENOMEM;
	last = b->n_lines ? &b->lines[b->n_lines - 1] : NULL;
	b->lines_disordered |= last && last->addr > addr;
	b->lines[b->n_lines] =
		(struct line){addr, numbers_get(&b->files, file), number, b->n_lines};
	b->n_lines++;
	return 0;
}

static unsigned count_words(struct text t)
{
	unsigned n = 0;

	for (skip_space(&t); t.p < t.end; skip_space(&t), n++)
		while (t.p < t.end && !is_space(*t.p))
			t.p++;
	return n;
}

static int keep_exact_calls(struct breakpad *b, struct exact_call c, struct text ranges)
{
	while (take_hex(&ranges, &c.addr) && take_hex(&ranges, &c.size)) {
		if (grow(&b->exact_calls, &b->exact_calls_room, b->n_exact_calls, sizeof(c)) < 0)
			return -ENOMEM;
		b->exact_calls[b->n_exact_calls++] = c;
	}
	return 0;
}

static int read_inline(struct breakpad *b, struct text t)
{
	bool old = count_words(t) % 2; /* without the number of the calling file */
	uint64_t depth, file = UINT64_MAX, origin, start, size;
	uint32_t call_line;
	struct text ranges;
	int r;

	if (!take_decimal(&t, &depth) || !take_line_number(&t, &call_line) ||
		((!old || b->strict) && !take_decimal(&t, &file)) || !take_decimal(&t, &origin))
		return -EBADMSG;
	ranges = t;
	while (take_hex(&t, &start))
		if (!take_hex(&t, &size))
			return -EBADMSG;
	if (t.p != t.end || t.p == ranges.p)
		return -EBADMSG;
	if (b->place != IN_FUNC || depth >= GSYM_DEPTH_MOST)
		return 0;
	if (b->exact)
		return keep_exact_calls(b,
			(struct exact_call){0, 0, (unsigned)depth, numbers_get(&b->origins, origin),
				numbers_get(&b->files, file), call_line},
			ranges);
	r = inlines_add(&b->inlines, (unsigned)depth, numbers_get(&b->origins, origin),
		numbers_get(&b->files, file), call_line);
	while (r == 0 && take_hex(&ranges, &start) && take_hex(&ranges, &size))
		r = inlines_range(&b->inlines, start, size);
	return r;
}

static int read_public(struct breakpad *b, struct text t)
{
	struct symbol s = {0};
	uint64_t params;
	int r = end_func(b);

	if (r < 0)
		return r;
	TAKE_WORD(&t, "m");
	if (!take_hex(&t, &s.addr) || !take_hex(&t, &params))
		return -EBADMSG;
	r = rest_as_text(b, t, &s.name);
	if (r < 0)
		return r;
	s.order = b->n_publics;
	b->counts.publics++;
	if (b->exact)
		return exact_public(b->exact, s.addr, s.name);
	return remember(b, &b->publics, &b->n_publics, &b->publics_room, s);
}

static void set_id(struct breakpad *b, struct text t, size_t most)
{
	uint8_t id[GSYM_ID_MOST];
	size_t n = 0;

	while (t.end - t.p >= 2 && n < most && digits[(uint8_t)t.p[0]] && digits[(uint8_t)t.p[1]]) {
		id[n++] = (uint8_t)((digits[(uint8_t)t.p[0]] - 1) << 4 |
				    (digits[(uint8_t)t.p[1]] - 1));
		t.p += 2;
	}
	if (most == 16 ? n == 16 : t.p == t.end || is_space(*t.p))
		gsym_set_id(b->w, id, n);
}

/* The service refuses files for machines that it does not know. */
static bool is_known_machine(struct text t)
{
	static const char *const known[] = {"unknown", "x86", "i386", "x86_unknown", "x86_64", "amd64",
		"x86_64h", "x86_64_unknown", "arm", "armv5", "armv6", "armv6m", "armv7", "armv7f",
		"armv7s", "armv7k", "armv7m", "armv7em", "arm_unknown", "arm64", "arm64v8", "arm64e",
		"arm64_unknown", "arm64_32", "arm64_32_v8", "arm64_32_unknown", "ppc", "ppc64",
		"mips", "mips64", "wasm32"};
	size_t n = 0;

	while (t.p + n < t.end && !is_space(t.p[n]))
		n++;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i]) == n && strncasecmp(known[i], t.p, n) == 0)
			return true;
	return false;
}

static bool has_known_machine(struct text t)
{
	while (t.p < t.end && !is_space(*t.p)) /* the system */
		t.p++;
	skip_space(&t);
	return is_known_machine(t);
}

/* Of an ELF file its build id is the id, of a Mach-O file its UUID; a PE has none of the kind. */
static int read_module(struct breakpad *b, struct text t)
{
	bool known = has_known_machine(t), windows = TAKE_WORD(&t, "windows");

	if (b->exact && !known)
		return -EBADMSG;
	b->id_from_code = !windows;
	if (TAKE_WORD(&t, "mac")) {
		while (t.p < t.end && !is_space(*t.p)) /* the architecture */
			t.p++;
		skip_space(&t);
		set_id(b, t, 16);
		b->id_from_code = false;
	}
	b->place = AT_HEAD;
	return 0;
}

static int read_info(struct breakpad *b, struct text t)
{
	if (b->id_from_code && TAKE_WORD(&t, "CODE_ID"))
		set_id(b, t, GSYM_ID_MOST);
	return 0;
}

/* ---- lines --------------------------------------------------------------------------- */

static bool in_block(const struct breakpad *b)
{
	return b->place == IN_FUNC || b->place == AFTER_BAD_FUNC;
}

/* In strict mode the paths of a file stand directly behind its head, and what is none of a block's
 * records is a bad line there; see rule 6 and 7 of what Eliot's library does. */
static int read_other(struct breakpad *b, struct text t)
{
	bool head = b->place == AT_HEAD || b->place == AT_FILES;

	if (b->strict && in_block(b))
		return read_line(b, t);
	if (TAKE_WORD(&t, "FILE")) {
		if (b->strict && !head)
			return 0;
		b->place = head ? AT_FILES : b->place;
		return read_file(b, t);
	}
	if (TAKE_WORD(&t, "INFO"))
		return b->place == AT_HEAD ? read_info(b, t) : 0;
	b->place = head ? OUTSIDE : b->place;
	if (TAKE_WORD(&t, "INLINE_ORIGIN"))
		return read_origin(b, t);
	return in_block(b) ? read_line(b, t) : 0;
}

static int read_record(struct breakpad *b, struct text t)
{
	/* Most lines begin with a digit, or a hexadecimal digit that is no capital letter. */
	if (b->place == IN_FUNC && digits[(uint8_t)*t.p] && *t.p != 'F')
		return read_line(b, t);
	if (b->place == AT_START)
		return TAKE_WORD(&t, "MODULE") ? read_module(b, t) : -ENOMSG;
	if (TAKE_WORD(&t, "FUNC"))
		return read_func(b, t);
	if (TAKE_WORD(&t, "INLINE"))
		return in_block(b) ? read_inline(b, t) : -EBADMSG;
	if (TAKE_WORD(&t, "PUBLIC"))
		return read_public(b, t);
	if (TAKE_WORD(&t, "STACK")) {
		int r = end_func(b);

		/* How to unwind comes last, and is most of many files. */
		b->place = b->strict ? AT_END : b->place;
		return r;
	}
	return read_other(b, t);
}

/* PUBLIC never costs more than itself, nor does FILE where it may stand. */
static bool costs_all(const struct breakpad *b, struct text t)
{
	return b->strict && !TAKE_WORD(&t, "PUBLIC") && (in_block(b) || !TAKE_WORD(&t, "FILE"));
}

static int bad_line(struct breakpad *b, struct text t, struct err *e)
{
	if (costs_all(b, t))
		return err_set(e, -EBADMSG, "is broken: line %llu: %.60s",
			(unsigned long long)b->counts.lines, t.p);
	b->counts.bad++;
	if (!b->counts.first_bad)
		b->counts.first_bad = b->counts.lines;
	return 0;
}

/* Whatever stands last in the first INFO of four words is taken for the program's name. */
static int seek_module(struct breakpad *b, struct text t)
{
	const char *last = t.p;
	unsigned words = 1;

	if (!b->exact || b->module_sought || b->no_line_end)
		return 0;
	if (t.end - t.p >= 4 && (memcmp(t.p, "FILE", 4) == 0 || memcmp(t.p, "FUNC", 4) == 0))
		b->module_sought = true;
	if (t.end - t.p < 4 || memcmp(t.p, "INFO", 4) != 0)
		return 0;
	for (const char *p = t.p; p < t.end; p++)
		if (*p == ' ') {
			words++;
			last = p + 1;
		}
	if (words != 4)
		return 0;
	b->module_sought = true;
	return gsym_text(b->w, last, (size_t)(t.end - last), &b->module);
}

/* A line without its end; NUL-terminated only when it is whole in `half`. */
static int one_line(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	struct text t = {p, p + n};
	char shown[64];
	int r;

	b->counts.lines++;
	if (b->place == AT_END)
		return 0;
	while (t.end > t.p && (t.end[-1] == '\r' || is_space(t.end[-1])))
		t.end--;
	if (t.p == t.end)
		return 0;
	r = seek_module(b, t);
	if (r == 0)
		r = read_record(b, t);
	if (r == 0)
		return 0;
	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is no Breakpad file: no MODULE line");
	if (r != -EBADMSG)
		return err_set(e, r, "%s", err_text(r));
	n = MIN((size_t)(t.end - t.p), sizeof(shown) - 1);
	memcpy(shown, t.p, n);
	shown[n] = '\0';
	return bad_line(b, (struct text){shown, shown + n}, e);
}

/* Part of a line that goes on. */
static int keep_half(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	int r;

	if (b->too_long)
		return 0;
	r = buf_add(&b->half, p, n);
	b->too_long = r == -EFBIG;
	return r == -EFBIG || r == 0 ? 0 : err_set(e, r, "%s", err_text(r));
}

static int end_half(struct breakpad *b, struct err *e)
{
	int r;

	if (b->too_long) {
		b->counts.lines++;
		if (b->place == IN_FUNC && b->half.n > 5 && memcmp(b->half.p, "FUNC ", 5) == 0) {
			r = end_func(b);
			b->place = AFTER_BAD_FUNC;
			if (r < 0)
				return err_set(e, r, "%s", err_text(r));
		}
		b->half.p[MIN(b->half.n, (size_t)63)] = '\0';
		r = bad_line(
			b, (struct text){b->half.p, b->half.p + MIN(b->half.n, (size_t)63)}, e);
	} else {
		r = one_line(b, buf_text(&b->half), b->half.n, e);
	}
	b->too_long = false;
	buf_clear(&b->half);
	return r;
}

int breakpad_feed(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	const char *end = p + n;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		int r;

		if (!nl)
			return keep_half(b, p, (size_t)(end - p), e);
		if (b->half.n || b->too_long) {
			r = keep_half(b, p, (size_t)(nl - p), e);
			if (r == 0)
				r = end_half(b, e);
		} else {
			r = one_line(b, p, (size_t)(nl - p), e);
		}
		if (r < 0)
			return r;
		p = nl + 1;
	}
	return 0;
}

/* ---- the end ------------------------------------------------------------------------- */

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* A later FUNC hides an earlier one that begins where it does, unless that reaches further. */
static void drop_hidden(struct breakpad *b)
{
	for (size_t i = 1; i < b->n_funcs; i++) {
		struct symbol *x = &b->funcs[i];

		for (size_t k = i; k-- && b->funcs[k].addr == x->addr;)
			if (b->funcs[k].end <= x->end)
				b->w->entries[b->funcs[k].order].name = 0;
	}
}

/* The first of the sorted symbols that begins behind `addr`. */
static size_t first_after(const struct symbol *s, size_t n, uint64_t addr)
{
	size_t from = 0;

	while (from < n) {
		size_t mid = from + (n - from) / 2;

		if (s[mid].addr <= addr)
			from = mid + 1;
		else
			n = mid;
	}
	return from;
}

/* Where a PUBLIC inside of a FUNC ends: where the next of its lines or inlined calls begins.
 * *starts: one begins at `addr` itself. */
static uint64_t end_in_func(const struct breakpad *b, const struct symbol *f, uint64_t addr,
	bool *starts)
{
	const struct entry *x = &b->w->entries[f->order];
	uint64_t end = f->end;

	*starts = addr == f->addr;
	for (uint32_t i = 0; i < x->n_rows; i++) {
		uint64_t at = x->addr + b->w->rows[x->rows + i].at;

		*starts = *starts || at == addr;
		if (at > addr)
			end = MIN(end, at);
	}
	for (uint32_t i = 0; i < x->n_ranges; i++) {
		uint64_t at = x->addr + b->w->ranges[x->ranges + i].at;

		*starts = *starts || at == addr;
		if (at > addr)
			end = MIN(end, at);
	}
	return end;
}

/* Whether a PUBLIC says anything, and where it ends. */
static bool place_public(const struct breakpad *b, struct symbol *s)
{
	size_t func = first_after(b->funcs, b->n_funcs, s->addr);
	bool starts = false;

	/* In a list of thousands none reaches over more than its neighbours. */
	for (size_t i = func, tries = 0; i-- && tries < 8; tries++)
		if (b->funcs[i].end > s->addr) {
			s->end = MIN(s->end, end_in_func(b, &b->funcs[i], s->addr, &starts));
			break;
		}
	if (func < b->n_funcs)
		s->end = MIN(s->end, b->funcs[func].addr);
	return !starts && s->end > s->addr;
}

static int tell_public(struct breakpad *b, const struct symbol *s)
{
	int r = gsym_begin(b->w, s->addr, MIN(s->end - s->addr, (uint64_t)UINT32_MAX), s->name,
		GSYM_GLOBAL);

	return r < 0 ? r : gsym_end(b->w);
}

static int tell_publics(struct breakpad *b)
{
	size_t n = b->n_publics;

	for (size_t i = 0; i < n; i++) {
		struct symbol s = b->publics[i];
		int r;

		s.end = MAX(s.addr + 1, MODULE_END);
		if (i + 1 < n)
			s.end = MIN(s.end, b->publics[i + 1].addr);
		if (s.end == s.addr || !place_public(b, &s)) /* the last of an address counts */
			continue;
		r = tell_public(b, &s);
		if (r < 0 && r != -ERANGE)
			return r;
	}
	return 0;
}

int breakpad_finish(struct breakpad *b, struct breakpad_counts *out, struct err *e)
{
	int r;

	b->no_line_end = true;
	r = b->half.n || b->too_long ? end_half(b, e) : 0;
	if (r < 0)
		return r;
	if (b->place == AT_START)
		return err_set(e, -EBADMSG, "is no Breakpad file: no MODULE line");
	r = end_func(b);
	if (r == 0 && b->exact)
		r = exact_finish(b->exact, b->module);
	if (r == 0) {
		if (b->n_funcs)
			qsort(b->funcs, b->n_funcs, sizeof(*b->funcs), compare_symbols);
		if (b->n_publics)
			qsort(b->publics, b->n_publics, sizeof(*b->publics), compare_symbols);
		drop_hidden(b);
		r = tell_publics(b);
	}
	*out = b->counts;
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

int breakpad_new_exact(struct breakpad **out, struct gsym_writer *w)
{
	int r = breakpad_new(out, w, true);

	if (r == 0)
		r = exact_new(&(*out)->exact, w);
	if (r < 0) {
		breakpad_free(*out);
		*out = NULL;
	}
	return r;
}

int breakpad_new(struct breakpad **out, struct gsym_writer *w, bool strict)
{
	struct breakpad *b = calloc(1, sizeof(*b));

	*out = NULL;
	if (!b)
		return -ENOMEM;
	b->w = w;
	b->strict = strict;
	b->half = BUF_UP_TO(BREAKPAD_LINE_MOST);
	gsym_set_base(w, 0);
	*out = b;
	return 0;
}

void breakpad_free(struct breakpad *b)
{
	if (!b)
		return;
	free(b->files.slot);
	free(b->origins.slot);
	free(b->lines);
	free(b->funcs);
	free(b->publics);
	inlines_release(&b->inlines);
	exact_free(b->exact);
	free(b->exact_lines);
	free(b->exact_calls);
	buf_release(&b->half);
	free(b);
}

void cleanup_breakpad(struct breakpad **b)
{
	breakpad_free(*b);
}
