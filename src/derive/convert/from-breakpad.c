/* Reads Breakpad symbol files, line by line. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/from-breakpad.h"
#include "base/utf8.h"
#include "base/util.h"
#include "derive/convert/from-breakpad-private.h"

#include <string.h>

/* ---- texts --------------------------------------------------------------------------- */

/* The characters of Unicode with the property White_Space that have several bytes in UTF-8. */
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

/* The bytes of the space character at the start of the text, or (space_behind) at its end; 0: another character
 * is there. */
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

/* Removes the white space (of Unicode) at both ends. */
static struct text text_trimmed(struct text t)
{
	size_t n;

	while ((n = space_before(t)))
		t.p += n;
	while ((n = space_behind(t)))
		t.end -= n;
	return t;
}

/* Whether the text, of up to three bytes, is the beginning of a longer UTF-8 character. */
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

/* Whether the text is valid UTF-8. `cut`: an incomplete character at the end is valid, too. */
static bool text_is_utf8(struct text t, bool cut)
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

/* ---- functions ----------------------------------------------------------------------- */

static bool in_block(const struct breakpad *b)
{
	return b->place == IN_FUNC || b->place == AFTER_BAD_FUNC;
}

static int end_func(struct breakpad *b)
{
	int r = 0;

	if (b->place == IN_FUNC) {
		b->func.calls = &b->calls;
		if (b->asks && !eliot_needs(b->eliot, &b->func)) {
			r = eliot_pass(b->eliot, &b->func);
		} else {
			breakpad_name_func(b);
			r = eliot_add(b->eliot, &b->func);
		}
	}
	if (in_block(b))
		b->place = OUTSIDE;
	b->func.n_lines = 0;
	b->calls.n = 0;
	return r < 0 ? r : gsym_error(b->w);
}

/* ---- lines --------------------------------------------------------------------------- */

/* Whether the line begins with this word and a blank. Then *t becomes the text after them. */
static bool is_record(struct text *t, const char *word, size_t n)
{
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}
#define IS_RECORD(t, word) is_record((t), (word " "), sizeof(word))

static int read_rest(struct breakpad *b, struct text t, enum breakpad_record kind)
{
	return text_is_utf8(t, false) ? breakpad_read(b, kind, text_trimmed(t)) : -EBADMSG;
}

/* MODULE and INFO lines may come between FILE lines. Any other line ends the head of the file. */
static bool is_head(struct text t)
{
	struct text at[3] = {t, t, t};

	return IS_RECORD(&at[0], "FILE") || IS_RECORD(&at[1], "INFO") || IS_RECORD(&at[2], "MODULE");
}

static int read_head(struct breakpad *b, struct text t)
{
	if (IS_RECORD(&t, "FILE"))
		return read_rest(b, t, RECORD_FILE);
	return IS_RECORD(&t, "INFO") ? breakpad_read(b, RECORD_INFO, text_trimmed(t)) : 0;
}

/* Ends the FUNC: its lines and calls reach to the next FUNC, PUBLIC or STACK. STACK records come last,
 * and are most of the lines in many files, so all lines after the first STACK are ignored. */
static int begin_record(struct breakpad *b, enum place place)
{
	int r = end_func(b);

	b->place = place;
	return r;
}

static int read_record(struct breakpad *b, struct text t)
{
	int r = b->place == IN_FUNC ? breakpad_read_line(b, t) : -EBADMSG; /* most lines are of this kind */

	if (r != -EBADMSG)
		return r;
	b->in_head = b->in_head && is_head(t);
	if (b->in_head)
		return read_head(b, t);
	if (IS_RECORD(&t, "FUNC")) {
		r = begin_record(b, AFTER_BAD_FUNC);
		return r < 0 ? r : read_rest(b, t, RECORD_FUNC);
	}
	if (IS_RECORD(&t, "PUBLIC")) {
		r = begin_record(b, OUTSIDE);
		return r < 0 ? r : read_rest(b, t, RECORD_PUBLIC);
	}
	if (IS_RECORD(&t, "STACK"))
		return begin_record(b, AT_END);
	if (IS_RECORD(&t, "INLINE_ORIGIN"))
		return read_rest(b, t, RECORD_ORIGIN);
	if (!in_block(b) || t.p == t.end)
		return 0;
	if (IS_RECORD(&t, "INLINE"))
		return read_rest(b, t, RECORD_INLINE);
	return text_is_utf8(t, false) ? breakpad_read_line(b, text_trimmed(t)) : -EBADMSG;
}

/* Whether a bad line makes the whole file fail. A bad PUBLIC line never does, nor does a bad FILE line
 * in the head of the file. */
static bool costs_all(const struct breakpad *b, struct text t)
{
	return b->strict && !IS_RECORD(&t, "PUBLIC") && (!b->in_head || !IS_RECORD(&t, "FILE"));
}

static int bad_line(struct breakpad *b, struct text t, struct err *e)
{
	if (costs_all(b, t))
		return err_set(e, -EBADMSG, "is broken: line %llu: %.*s", (unsigned long long)b->counts.lines,
			(int)MIN(t.end - t.p, 60), t.p);
	b->counts.bad++;
	if (!b->counts.first_bad)
		b->counts.first_bad = b->counts.lines;
	return 0;
}

/* Takes the name of the program from the first INFO line that has four words: the name is the last word. */
static void seek_module(struct breakpad *b, struct text t)
{
	const char *last = t.p;
	unsigned words = 1;

	while (t.end > t.p && is_space(t.end[-1]))
		t.end--;

	if (!b->marks || b->module_sought || b->no_line_end)
		return;
	if (t.end - t.p >= 4 && (memcmp(t.p, "FILE", 4) == 0 || memcmp(t.p, "FUNC", 4) == 0))
		b->module_sought = true;
	if (t.end - t.p < 4 || memcmp(t.p, "INFO", 4) != 0)
		return;
	for (const char *p = t.p; p < t.end; p++)
		if (*p == ' ') {
			words++;
			last = p + 1;
		}
	if (words != 4)
		return;
	b->module_sought = true;
	b->module = gsym_text(b->w, last, (size_t)(t.end - last));
}

/* Reads the first line, which must be a MODULE record. */
static int read_first(struct breakpad *b, struct text t)
{
	bool cut = t.end - t.p + !b->no_line_end > HEADER_BYTES; /* with its line end */

	t.end = MIN(t.end, t.p + HEADER_BYTES);
	b->in_head = true;
	if (!IS_RECORD(&t, "MODULE"))
		return -ENOMSG;
	return text_is_utf8(t, cut) || !b->strict ? breakpad_read(b, RECORD_MODULE, text_trimmed(t)) : -EBADMSG;
}

/* Reads a line, which is given without its end. */
static int one_line(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	struct text t = {p, p + n};
	int r;

	b->counts.lines++;
	if (b->place == AT_END)
		return 0;
	if (n && t.end[-1] == '\r')
		t.end--;
	seek_module(b, t);
	r = b->place == AT_START ? read_first(b, t) : read_record(b, t);
	if (r == 0)
		return 0;
	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is not a Breakpad file: it has no MODULE line");
	if (r != -EBADMSG)
		return err_set(e, r, "%s", err_text(r));
	return bad_line(b, t, e);
}

/* Keeps a part of a line whose end has not come yet. */
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
		r = bad_line(b, (struct text){b->half.p, b->half.p + b->half.n}, e);
	} else {
		r = one_line(b, buf_text(&b->half), b->half.n, e);
	}
	b->too_long = false;
	buf_clear(&b->half);
	return r;
}

/* The library symbolic rejects a file of more than 320 bytes if its first 320 bytes contain invalid UTF-8. */
static int check_header(struct breakpad *b, const char *p, size_t n, struct err *e)
{
	size_t more = MIN(n, sizeof(b->header) - b->n_header);

	if (!more || !b->strict)
		return 0;
	memcpy(b->header + b->n_header, p, more);
	b->n_header += more;
	if (b->n_header < sizeof(b->header) || text_is_utf8((struct text){b->header, b->header + HEADER_BYTES}, true))
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
		return err_set(e, -EBADMSG, "is not a Breakpad file: it has no MODULE line");
	r = end_func(b);
	if (r == 0)
		r = eliot_finish(b->eliot, b->module);
	*out = b->counts;
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

int breakpad_new(struct breakpad **out, struct gsym_writer *w, bool strict, bool marks)
{
	struct breakpad *b = calloc(1, sizeof(*b));
	int r = b ? eliot_new(&b->eliot, w, marks) : -ENOMEM;

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

void breakpad_ask(struct breakpad *b, const uint32_t *addrs, size_t n)
{
	b->asks = true;
	eliot_ask(b->eliot, addrs, n);
}

static void breakpad_free(struct breakpad *b)
{
	if (!b)
		return;
	free(b->files.slot);
	free(b->origins.slot);
	free(b->func.lines);
	free(b->calls.at);
	eliot_free(b->eliot);
	buf_release(&b->half);
	free(b);
}

void cleanup_breakpad(struct breakpad **b)
{
	breakpad_free(*b);
}
