/* Reads Breakpad symbol files, line by line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/from-breakpad.h"
#include "base/grow.h"
#include "base/utf8.h"
#include "base/util.h"
#include "convert/exact.h"
#include "gsym/writer-private.h"

#include <string.h>
#include <strings.h>

#define UNKNOWN "<unknown>"
/* symbolic decodes so many bytes as UTF-8 before it looks for the MODULE line. */
#define HEADER_BYTES 320

/* From the numbers of FILE and INLINE_ORIGIN, which need not be dense, to those of the writer. */
struct numbers {
	struct {
		uint64_t key;
		uint32_t value, old; /* `old`: of an INLINE_ORIGIN, the name for INLINE records of 2020 */
		bool used;
	} *slot;
	size_t room, n;
};

enum place { AT_START, OUTSIDE, IN_FUNC, AFTER_BAD_FUNC, AT_END };

struct breakpad {
	struct gsym_writer *w;
	struct exact *exact;
	bool strict, marks;
	enum place place;
	bool in_head; /* only MODULE, INFO and FILE lines came so far */
	struct breakpad_counts counts;
	struct numbers files, origins;
	struct buf half; /* a line whose end has not come yet */
	bool too_long;	 /* and it is longer than a line may be */
	char header[HEADER_BYTES + 1];
	size_t n_header;

	/* the FUNC under way */
	struct exact_func func;
	size_t lines_room;
	struct nest_queue calls;

	bool id_from_code;
	uint32_t module; /* the name of the program; 0: not told */
	bool module_sought, no_line_end;
};

/* ---- words --------------------------------------------------------------------------- */

struct text {
	const char *p, *end;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_space(struct text *t)
{
	while (t->p < t->end && is_space(*t->p))
		t->p++;
}

/* Of White_Space in Unicode those that have several bytes. */
static const char *const wide_spaces[] = {"\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80",
	"\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
	"\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
	"\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

static size_t wide_space(const char *p, size_t room)
{
	for (size_t i = 0; i < ARRAY_SIZE(wide_spaces); i++) {
		size_t n = strlen(wide_spaces[i]);

		if (n <= room && memcmp(p, wide_spaces[i], n) == 0)
			return n;
	}
	return 0;
}

static bool is_plain_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The bytes of the white space that the text begins with, or ends with; 0: none. */
static size_t space_before(struct text t)
{
	if (t.p == t.end)
		return 0;
	return is_plain_space(*t.p) ? 1 : (uint8_t)*t.p < 0x80 ? 0 : wide_space(t.p, (size_t)(t.end - t.p));
}

static size_t space_behind(struct text t)
{
	size_t n = 0;

	if (t.p == t.end)
		return 0;
	if ((uint8_t)t.end[-1] < 0x80)
		return is_plain_space(t.end[-1]);
	for (size_t len = 2; !n && len <= 3 && (size_t)(t.end - t.p) >= len; len++)
		n = wide_space(t.end - len, len) == len ? len : 0;
	return n;
}

static struct text trimmed(struct text t)
{
	size_t n;

	while ((n = space_before(t)))
		t.p += n;
	while ((n = space_behind(t)))
		t.end -= n;
	return t;
}

/* Whether up to three bytes begin a character. */
static bool is_part_of_character(struct text t)
{
	size_t n = (size_t)(t.end - t.p);
	bool is = false;

	for (unsigned pad = 0x80; n < 4 && !is && pad <= 0xa0; pad += 0x10) {
		unsigned char c[5] = {0};

		memset(c, (int)pad, 4);
		memcpy(c, t.p, n);
		is = utf8_length(c) > n;
	}
	return is;
}

/* `cut`: a character at the end may be incomplete. */
static bool is_utf8(struct text t, bool cut)
{
	while (t.p < t.end) {
		unsigned char c[5] = {0};
		unsigned n;

		if ((uint8_t)*t.p < 0x80) {
			t.p++;
			continue;
		}
		memcpy(c, t.p, (size_t)MIN(t.end - t.p, 4));
		n = utf8_length(c);
		if (!n)
			return cut && is_part_of_character(t);
		t.p += n;
	}
	return true;
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

/* Compilers make lines below 0, which mean that there is none. Of greater ones the lower 32 bits count. */
static inline bool take_line_number(struct text *t, uint32_t *out)
{
	bool minus = t->p < t->end && *t->p == '-';
	uint64_t v;

	t->p += minus;
	if (!take_decimal(t, &v))
		return false;
	*out = minus ? 0 : (uint32_t)v;
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

static int numbers_put(struct numbers *m, uint64_t key, uint32_t value, uint32_t old)
{
	size_t at;

	if (numbers_room(m) < 0)
		return -ENOMEM;
	at = slot_of(m, key);
	m->n += !m->slot[at].used;
	m->slot[at].key = key;
	m->slot[at].value = value;
	m->slot[at].old = old;
	m->slot[at].used = true;
	return 0;
}

/* 0 when there is none: no file, no name. */
static uint32_t numbers_get(const struct numbers *m, uint64_t key)
{
	return m->room ? m->slot[slot_of(m, key)].value : 0;
}

/* For an INLINE_ORIGIN as INLINE records of 2020 mean it. */
static uint32_t numbers_old(const struct numbers *m, uint64_t key)
{
	return m->room ? m->slot[slot_of(m, key)].old : 0;
}

/* ---- a function that is complete ------------------------------------------------------ */

static bool in_block(const struct breakpad *b)
{
	return b->place == IN_FUNC || b->place == AFTER_BAD_FUNC;
}

static int end_func(struct breakpad *b)
{
	int r = 0;

	if (b->place == IN_FUNC) {
		b->func.calls = &b->calls;
		r = exact_add(b->exact, &b->func);
	}
	if (in_block(b))
		b->place = OUTSIDE;
	b->func.n_lines = 0;
	b->calls.n = 0;
	return r;
}

/* ---- records ------------------------------------------------------------------------- */

/* What each record may look like is what symbolic accepts. Each function returns 0, or -EBADMSG for a line
 * that is not what its first word says. The text is what follows that word. */

static int rest_as_text(struct breakpad *b, struct text t, uint32_t *out)
{
	int r;

	if (t.p == t.end)
		return gsym_text(b->w, UNKNOWN, strlen(UNKNOWN), out);
	r = gsym_name(b->w, t.p, (size_t)(t.end - t.p), out);
	return r < 0 || *out ? r : gsym_text(b->w, UNKNOWN, strlen(UNKNOWN), out);
}

/* As the service shows paths. For look-ups of ours directory and name stay together, so that the path comes
 * back as it was. */
static int read_file(struct breakpad *b, struct text t)
{
	_cleanup_free_ char *path = NULL;
	uint64_t number;
	uint32_t file;
	size_t n;
	int r;

	if (!take_decimal(&t, &number))
		return -EBADMSG;
	path = malloc((size_t)(t.end - t.p) + 1);
	if (!path)
		return -ENOMEM;
	n = exact_path(t.p, (size_t)(t.end - t.p), path);
	if (b->marks) {
		r = gsym_text(b->w, path, n, &file);
		if (r == 0)
			r = gsym_add_file(b->w, 0, file, &file);
	} else {
		r = gsym_add_path(b->w, path, n, &file);
	}
	return r < 0 ? r : numbers_put(&b->files, number, file, 0);
}

/* For some months of 2020 INLINE_ORIGIN had the number of a file before the name, and INLINE none. */
static struct text without_old_file(struct text t)
{
	struct text at = t;
	uint32_t file;

	return take_line_number(&at, &file) && at.p < at.end ? at : t;
}

static int read_origin(struct breakpad *b, struct text t)
{
	struct text old;
	uint64_t number;
	uint32_t name, old_name;
	int r;

	if (!take_decimal(&t, &number) || t.p == t.end)
		return -EBADMSG;
	old = without_old_file(t);
	r = gsym_text(b->w, t.p, (size_t)(t.end - t.p), &name);
	if (r == 0)
		r = gsym_text(b->w, old.p, (size_t)(old.end - old.p), &old_name);
	return r < 0 ? r : numbers_put(&b->origins, number, name, old_name);
}

static int read_func(struct breakpad *b, struct text t)
{
	uint64_t params;
	int r;

	b->place = AFTER_BAD_FUNC;
	TAKE_WORD(&t, "m");
	if (!take_hex(&t, &b->func.addr) || !take_hex(&t, &b->func.size) || !take_hex(&t, &params))
		return -EBADMSG;
	r = rest_as_text(b, t, &b->func.name);
	if (r < 0)
		return r;
	b->place = IN_FUNC;
	b->counts.funcs++;
	return 0;
}

static int keep_line(struct breakpad *b, struct exact_line l)
{
	struct exact_func *f = &b->func;

	if (!l.size || b->place != IN_FUNC || l.addr < f->addr)
		return 0;
	if (f->n_lines == UINT32_MAX)
		return -EFBIG;
	if (grow(&f->lines, &b->lines_room, f->n_lines, sizeof(l)) < 0)
		return -ENOMEM;
	l.order = (uint32_t)f->n_lines;
	f->lines[f->n_lines++] = l;
	return 0;
}

static int read_line(struct breakpad *b, struct text t)
{
	struct exact_line l = {0};
	uint64_t file;

	if (!take_hex(&t, &l.addr) || !take_hex(&t, &l.size) || !take_line_number(&t, &l.line) ||
		!take_decimal(&t, &file) || t.p != t.end)
		return -EBADMSG;
	l.file = numbers_get(&b->files, file);
	return keep_line(b, l);
}

static unsigned count_words(struct text t)
{
	unsigned n = 0;

	for (skip_space(&t); t.p < t.end; skip_space(&t), n++)
		while (t.p < t.end && !is_space(*t.p))
			t.p++;
	return n;
}

static int keep_calls(struct breakpad *b, struct nest_call c, struct text ranges)
{
	while (take_hex(&ranges, &c.addr) && take_hex(&ranges, &c.size))
		if (c.addr >= b->func.addr && nest_push(&b->calls, &c) < 0)
			return -ENOMEM;
	return 0;
}

/* `old`: without the number of the calling file. Strict: that, or a line below zero, is bad. */
static int read_inline(struct breakpad *b, struct text t)
{
	bool old = !b->strict && count_words(t) % 2, minus = false;
	uint64_t depth, file = UINT64_MAX, origin, start, size;
	struct nest_call c = {0};
	struct text ranges;

	if (!take_decimal(&t, &depth))
		return -EBADMSG;
	minus = t.p < t.end && *t.p == '-';
	if ((minus && b->strict) || !take_line_number(&t, &c.call_line) ||
		(!old && !take_decimal(&t, &file)) || !take_decimal(&t, &origin))
		return -EBADMSG;
	ranges = t;
	while (take_hex(&t, &start))
		if (!take_hex(&t, &size))
			return -EBADMSG;
	if (t.p != t.end || t.p == ranges.p)
		return -EBADMSG;
	c.depth = (uint32_t)depth;
	c.name = old ? numbers_old(&b->origins, origin) : numbers_get(&b->origins, origin);
	c.call_file = numbers_get(&b->files, file);
	return b->place == IN_FUNC ? keep_calls(b, c, ranges) : 0;
}

static int read_public(struct breakpad *b, struct text t)
{
	uint64_t addr, params;
	uint32_t name;
	int r;

	TAKE_WORD(&t, "m");
	if (!take_hex(&t, &addr) || !take_hex(&t, &params))
		return -EBADMSG;
	r = rest_as_text(b, t, &name);
	if (r < 0)
		return r;
	b->counts.publics++;
	return exact_public(b->exact, addr, name);
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
	static const char *const known[] = {"unknown", "x86", "i386", "x86_unknown", "x86_64", "x86-64", "amd64",
		"x86_64h", "x86_64_unknown", "arm", "armv5", "armv6", "armv6m", "armv7", "armv7f",
		"armv7s", "armv7k", "armv7m", "armv7em", "arm_unknown", "arm64", "arm-64", "arm64v8", "arm64e",
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

static struct text take_any_word(struct text *t)
{
	struct text word = {t->p, t->p};

	while (t->p < t->end && !is_space(*t->p))
		t->p++;
	word.end = t->p;
	skip_space(t);
	return word;
}

static bool is_module_id(struct text t)
{
	struct text id = take_any_word(&t);

	for (const char *p = id.p; p < id.end; p++)
		if (!digits[(uint8_t)*p])
			return false;
	return id.p < id.end;
}

/* Of an ELF file its build id is the id, of a Mach-O file its UUID; a PE has none of the kind. */
static int read_module(struct breakpad *b, struct text t)
{
	struct text system, machine;

	b->place = OUTSIDE;
	system = take_any_word(&t);
	machine = take_any_word(&t);
	if (b->strict && (!is_known_machine(machine) || !is_module_id(t)))
		return -EBADMSG;
	b->id_from_code = !TAKE_WORD(&system, "windows");
	if (TAKE_WORD(&system, "mac")) {
		set_id(b, t, 16);
		b->id_from_code = false;
	}
	return 0;
}

static int read_info(struct breakpad *b, struct text t)
{
	if (b->id_from_code && TAKE_WORD(&t, "CODE_ID"))
		set_id(b, t, GSYM_ID_MOST);
	return 0;
}

/* ---- lines --------------------------------------------------------------------------- */

/* Whether the line begins with this word and a blank; the text is what follows them, then. */
static bool is_record(struct text *t, const char *word, size_t n)
{
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}
#define IS_RECORD(t, word) is_record((t), (word " "), sizeof(word))

typedef int read_fn(struct breakpad *b, struct text t);

static int read_rest(struct breakpad *b, struct text t, read_fn *read)
{
	return is_utf8(t, false) ? read(b, trimmed(t)) : -EBADMSG;
}

/* MODULE and INFO may stand between FILE lines; any other line ends the files. */
static bool is_head(struct text t)
{
	struct text at[3] = {t, t, t};

	return IS_RECORD(&at[0], "FILE") || IS_RECORD(&at[1], "INFO") || IS_RECORD(&at[2], "MODULE");
}

static int read_head(struct breakpad *b, struct text t)
{
	if (IS_RECORD(&t, "FILE"))
		return read_rest(b, t, read_file);
	return IS_RECORD(&t, "INFO") ? read_info(b, trimmed(t)) : 0;
}

/* A FUNC's lines and calls reach to the next FUNC, PUBLIC or STACK. How to unwind comes last, and is most of
 * many files: no record behind the first STACK counts. */
static int begin_record(struct breakpad *b, enum place place)
{
	int r = end_func(b);

	b->place = place;
	return r;
}

static int read_record(struct breakpad *b, struct text t)
{
	int r = b->place == IN_FUNC ? read_line(b, t) : -EBADMSG; /* most lines */

	if (r != -EBADMSG)
		return r;
	b->in_head = b->in_head && is_head(t);
	if (b->in_head)
		return read_head(b, t);
	if (IS_RECORD(&t, "FUNC")) {
		r = begin_record(b, AFTER_BAD_FUNC);
		return r < 0 ? r : read_rest(b, t, read_func);
	}
	if (IS_RECORD(&t, "PUBLIC")) {
		r = begin_record(b, OUTSIDE);
		return r < 0 ? r : read_rest(b, t, read_public);
	}
	if (IS_RECORD(&t, "STACK"))
		return begin_record(b, AT_END);
	if (IS_RECORD(&t, "INLINE_ORIGIN"))
		return read_rest(b, t, read_origin);
	if (!in_block(b) || t.p == t.end)
		return 0;
	return IS_RECORD(&t, "INLINE") ? read_rest(b, t, read_inline) : read_rest(b, t, read_line);
}

/* PUBLIC never costs more than itself, nor does FILE where it may stand. */
static bool costs_all(const struct breakpad *b, struct text t)
{
	return b->strict && !IS_RECORD(&t, "PUBLIC") && (!b->in_head || !IS_RECORD(&t, "FILE"));
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

	while (t.end > t.p && is_space(t.end[-1]))
		t.end--;

	if (!b->marks || b->module_sought || b->no_line_end)
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

/* The first line. */
static int read_first(struct breakpad *b, struct text t)
{
	bool cut = t.end - t.p + !b->no_line_end > HEADER_BYTES; /* with its line end */

	t.end = MIN(t.end, t.p + HEADER_BYTES);
	b->in_head = true;
	if (!IS_RECORD(&t, "MODULE"))
		return -ENOMSG;
	return is_utf8(t, cut) || !b->strict ? read_module(b, trimmed(t)) : -EBADMSG;
}

/* A line without its end. */
static int one_line(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	struct text t = {p, p + n}, shown_text;
	char shown[64];
	int r;

	b->counts.lines++;
	if (b->place == AT_END)
		return 0;
	if (n && t.end[-1] == '\r')
		t.end--;
	r = seek_module(b, t);
	if (r == 0)
		r = b->place == AT_START ? read_first(b, t) : read_record(b, t);
	if (r == 0)
		return 0;
	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is no Breakpad file: no MODULE line");
	if (r != -EBADMSG)
		return err_set(e, r, "%s", err_text(r));
	n = MIN((size_t)(t.end - t.p), sizeof(shown) - 1);
	memcpy(shown, t.p, n);
	shown[n] = '\0';
	shown_text = (struct text){shown, shown + n};
	return bad_line(b, shown_text, e);
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
		b->in_head = false;
		if (b->half.n > 5 && memcmp(b->half.p, "FUNC ", 5) == 0) {
			r = begin_record(b, AFTER_BAD_FUNC);
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

/* symbolic refuses a file of more than 320 bytes, when a character is broken in those. */
static int check_header(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	size_t more = MIN(n, sizeof(b->header) - b->n_header);

	if (!more || !b->strict)
		return 0;
	memcpy(b->header + b->n_header, p, more);
	b->n_header += more;
	if (b->n_header < sizeof(b->header) || is_utf8((struct text){b->header, b->header + HEADER_BYTES}, true))
		return 0;
	return err_set(e, -EBADMSG, "is broken: its first %d bytes are not UTF-8", HEADER_BYTES);
}

int breakpad_feed(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	const char *end = p + n;
	int checked = check_header(b, p, n, e);

	if (checked < 0)
		return checked;
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
	if (r == 0)
		r = exact_finish(b->exact, b->module);
	*out = b->counts;
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

int breakpad_new(struct breakpad **out, struct gsym_writer *w, bool strict, bool marks)
{
	struct breakpad *b = calloc(1, sizeof(*b));
	int r = b ? exact_new(&b->exact, w, marks) : -ENOMEM;

	*out = NULL;
	if (r < 0) {
		free(b);
		return r;
	}
	b->w = w;
	b->strict = strict;
	b->marks = marks;
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
	free(b->func.lines);
	free(b->calls.at);
	exact_free(b->exact);
	buf_release(&b->half);
	free(b);
}

void cleanup_breakpad(struct breakpad **b)
{
	breakpad_free(*b);
}
