/* Writes a text with the names of its frames put in. All other bytes stay as they are. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/utf8.h"
#include "base/util.h"
#include "recognize/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MOST (1u << 20) /* bytes of one name or path */
#define NAME_MOST 4096u	     /* bytes of a mangled name; longer ones stay */
#define NAMES_MOST (16u << 20) /* bytes of all demangled names: short ones can stand for much text */

struct writing {
	const struct recognized *r;
	struct buf *out;
	int status;
	bool demangle;
	struct buf name; /* a demangled one */
	size_t names;	 /* bytes of all of them */
};

static void put(struct writing *w, const void *p, size_t n)
{
	if (w->status == 0 && n)
		w->status = buf_add(w->out, p, n);
}

static void puts_text(struct writing *w, const char *text)
{
	put(w, text, strlen(text));
}

/* ---- members of an answer ------------------------------------------------------------------------------ */

/* A string member, or NULL; free() it. */
static char *text_of(struct writing *w, uint32_t object, const char *name)
{
	const struct jtext *j = &w->r->j;
	uint32_t t = jtext_member(j, object, name);
	size_t n = t ? (size_t)j->token[t].len + 1 : 0;
	char *text;

	if (!t || j->token[t].kind != JTEXT_STRING || n > TEXT_MOST)
		return NULL;
	text = malloc(n);
	if (!text)
		w->status = -ENOMEM;
	else if (jtext_string(j, t, text, n) < 0)
		text[0] = '\0';
	return text;
}

/* A number as the answer has it; empty: no such member. */
static struct cursor number_of(const struct writing *w, uint32_t object, const char *name)
{
	const struct jtext *j = &w->r->j;
	uint32_t t = jtext_member(j, object, name);
	const char *p = (const char *)j->text.p;

	if (!t || j->token[t].kind != JTEXT_NUMBER)
		return (struct cursor){0};
	return (struct cursor){p + j->token[t].at, p + j->token[t].at + j->token[t].len};
}

/* Whether a frame of the answer has a file. */
static bool has_file(const struct writing *w, uint32_t object)
{
	return jtext_member(&w->r->j, object, "file") != 0;
}

static uint32_t inlines_of(const struct writing *w, uint32_t object, uint32_t *n)
{
	uint32_t t = jtext_member(&w->r->j, object, "inlines");

	*n = t ? w->r->j.token[t].n : 0;
	return t + 1;
}

/* ---- lines ------------------------------------------------------------------------------------------------ */

/* Replaces control characters, and bytes that are not UTF-8, by \xNN: a name must not move the cursor. */
static void put_safe(struct writing *w, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		unsigned n = utf8_length(p);
		char hex[8];

		if (n && *p >= 0x20 && *p != 0x7f && !(n == 2 && *p == 0xc2 && p[1] < 0xa0)) {
			put(w, p, n);
			p += n;
			continue;
		}
		snprintf(hex, sizeof(hex), "\\x%02x", *p++);
		puts_text(w, hex);
	}
}

/* A character of a mangled name; Microsoft's names have more of them. */
static bool is_mangled(char c, bool microsoft)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$' || c == '.' ||
	       (microsoft && (c == '?' || c == '@' || c == '<' || c == '>'));
}

/* The middle of `<unnamed-tag>` or `<decltype-auto>`. */
static bool is_tag(const char *p, size_t n)
{
	return n > 1 && p[0] == '-' && (p[1] == 't' || p[1] == 'a');
}

static bool demangle_word(struct writing *w, const char *p, size_t n)
{
	char word[NAME_MOST];
	size_t skip = n > 1 && p[0] == '_' && p[1] == '_';

	if (n < 4 || n >= NAME_MOST || w->names > NAMES_MOST ||
		(p[0] == '_' && p[1 + skip] != 'Z' && p[1 + skip] != 'R'))
		return false;
	memcpy(word, p, n);
	word[n] = '\0';
	if (!demangle(word, &w->name))
		return false;
	w->names += w->name.n;
	return true;
}

/* Copies a part of the text, and demangles the names in it. */
static void put_plain(struct writing *w, size_t from, size_t to)
{
	const char *p = (const char *)w->r->text.p;
	size_t done = from, end;

	for (size_t i = from; w->demangle && i < to; i = end) {
		bool microsoft = p[i] == '?', begins = i == 0 || p[i - 1] == '<' || !is_mangled(p[i - 1], true);

		end = i + 1;
		if (!begins || (!microsoft && p[i] != '_'))
			continue;
		while (end < to && (is_mangled(p[end], microsoft) || (microsoft && is_tag(p + end, to - end))))
			end++;
		while (end > i + 1 && (p[end - 1] == '.' || p[end - 1] == '>')) /* the end of a sentence */
			end--;
		if (!demangle_word(w, p + i, end - i))
			continue;
		put(w, p + done, i - done);
		put_safe(w, buf_text(&w->name));
		done = end;
	}
	put(w, p + done, to - done);
}

/* "work (inlined) at /src/lib.c:5" */
static void put_name(struct writing *w, uint32_t object, bool inlined)
{
	_cleanup_free_ char *function = text_of(w, object, "function"), *file = text_of(w, object, "file");
	struct cursor line = number_of(w, object, "line");

	put_safe(w, function ? function : "");
	if (inlined)
		puts_text(w, " (inlined)");
	if (!file)
		return;
	puts_text(w, " at ");
	put_safe(w, file);
	if (cursor_left(&line)) {
		puts_text(w, ":");
		put(w, line.p, cursor_left(&line));
	}
}

/* "in /src/Program.cs:line 15", as .NET writes it */
static void put_in(struct writing *w, uint32_t object)
{
	_cleanup_free_ char *file = text_of(w, object, "file");
	struct cursor line = number_of(w, object, "line");

	puts_text(w, "in ");
	put_safe(w, file ? file : "");
	puts_text(w, ":line ");
	put(w, line.p, cursor_left(&line));
}

/* The end of the line of a frame: "\n", or "\r\n", also behind a last line that has none. */
static void put_end(struct writing *w, const struct frame *f)
{
	const struct span *t = &w->r->text;
	size_t end = f->end;

	while (end < t->n && t->p[end] == '\r')
		end++;
	put(w, t->p + f->end, end - f->end);
	puts_text(w, "\n");
}

/* Writes the line of a frame, after a line for each call that was inlined there. Returns the place in the text up to
 * which it is written. */
static size_t put_line(struct writing *w, const struct frame *f, uint32_t object)
{
	const uint8_t *p = w->r->text.p;
	uint32_t n, t = inlines_of(w, object, &n);

	for (uint32_t i = 0; i < n; i++, t = w->r->j.token[t].next) {
		put(w, p + f->line, f->at - f->line);
		puts_text(w, f->before);
		put_name(w, t, true);
		puts_text(w, f->after);
		put_end(w, f);
	}
	put(w, p + f->line, f->at - f->line);
	puts_text(w, f->before);
	if (f->style == STYLE_DOTNET)
		put_in(w, object);
	else
		put_name(w, object, false);
	puts_text(w, f->after);
	put(w, p + f->at + f->cut, f->end - f->at - f->cut);
	if (w->r->seen[w->r->asked[f->ask].module].unverified)
		puts_text(w, " [unverified]");
	return f->end;
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

static void put_quoted(struct writing *w, const char *text)
{
	if (w->status == 0)
		w->status = jtext_add(w->out, text);
}

/* Writes `"name":value` of a member of the answer, with `before` in front, if the answer has it. */
static bool put_string(struct writing *w, const char *before, uint32_t object, const char *member)
{
	_cleanup_free_ char *text = text_of(w, object, member);

	if (!text)
		return false;
	puts_text(w, before);
	put_quoted(w, text);
	return true;
}

static bool put_line_number(struct writing *w, const char *before, uint32_t object)
{
	struct cursor line = number_of(w, object, "line");

	if (!cursor_left(&line))
		return false;
	puts_text(w, before);
	put(w, line.p, cursor_left(&line));
	return true;
}

/* The members that Apple's own symbolication writes, each with a comma after it. */
static void put_ips_members(struct writing *w, uint32_t object)
{
	if (put_string(w, "\"symbol\":", object, "function"))
		puts_text(w, ",");
	if (put_string(w, "\"sourceFile\":", object, "file"))
		puts_text(w, ",");
	if (put_line_number(w, "\"sourceLine\":", object))
		puts_text(w, ",");
}

static void put_ips(struct writing *w, const struct frame *f, uint32_t object)
{
	_cleanup_free_ char *offset = text_of(w, object, "function_offset");
	const uint8_t *p = w->r->text.p;
	uint32_t n, t = inlines_of(w, object, &n);

	for (uint32_t i = 0; i < n; i++, t = w->r->j.token[t].next) {
		puts_text(w, "{\"inline\":true,");
		put_ips_members(w, t);
		put(w, p + f->line + 1, f->end - f->line - 1);
		puts_text(w, ",");
	}
	puts_text(w, "{");
	/* The look-up of a caller is one byte before the frame's address (add_asked() in ask.c). */
	if (offset && w->status == 0)
		w->status = buf_addf(w->out, "\"symbolLocation\":%llu,",
			strtoull(offset, NULL, 16) + (f->back && f->number));
	put_ips_members(w, object);
}

static void put_or_null(struct writing *w, uint32_t object, const char *member)
{
	if (!put_string(w, "", object, member))
		puts_text(w, "null");
}

static void put_inlines(struct writing *w, uint32_t object)
{
	uint32_t n, t = inlines_of(w, object, &n);

	puts_text(w, n ? "[" : "null");
	for (uint32_t i = 0; i < n; i++, t = w->r->j.token[t].next) {
		puts_text(w, i ? ",{\"function\":" : "{\"function\":");
		put_or_null(w, t, "function");
		put_string(w, ",\"file\":", t, "file");
		put_line_number(w, ",\"line\":", t);
		puts_text(w, "}");
	}
	if (n)
		puts_text(w, "]");
}

/* ---- the text ------------------------------------------------------------------------------------------------- */

static size_t put_frame(struct writing *w, const struct frame *f, uint32_t object)
{
	switch (f->style) {
	case STYLE_LINE:
	case STYLE_DOTNET:
		return put_line(w, f, object);
	case STYLE_IPS:
		put_ips(w, f, object);
		break;
	case STYLE_MINIDUMP_FUNCTION:
		put_or_null(w, object, "function");
		break;
	case STYLE_MINIDUMP_FILE:
		put_or_null(w, object, "file");
		break;
	case STYLE_MINIDUMP_LINE:
		if (!put_line_number(w, "", object))
			puts_text(w, "null");
		break;
	case STYLE_MINIDUMP_INLINES:
		put_inlines(w, object);
		break;
	}
	return f->at + f->cut;
}

/* The answer to a frame; 0: it has none, or the text has a name and the answer no line. */
static uint32_t answer_of(const struct writing *w, const struct frame *f)
{
	uint32_t t = w->r->answer && f->ask != NO_ASK ? w->r->answer[f->ask] : 0;

	return t && f->named && !has_file(w, t) ? 0 : t;
}

int recognize_write(const struct recognized *r, bool demangle, struct buf *out)
{
	struct writing w = {.r = r, .out = out, .demangle = demangle && !r->document, .name = BUF_UP_TO(TEXT_MOST)};
	size_t at = 0;

	for (size_t i = 0; i < r->n_frames; i++) {
		const struct frame *f = &r->frames[i];
		uint32_t object = answer_of(&w, f);

		if (!object || f->line < at)
			continue;
		put_plain(&w, at, f->line);
		at = put_frame(&w, f, object);
	}
	put_plain(&w, at, r->text.n);
	buf_release(&w.name);
	return w.status;
}
