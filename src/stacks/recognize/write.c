/* Writes a text with the names of its frames put in. All other bytes stay as they are. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/jtext.h"
#include "base/utf8.h"
#include "base/util.h"
#include "stacks/recognize/private.h"

#include <inttypes.h>

#define SHOWN_MOST (1u << 20) /* bytes of one name or path */
#define NAME_MOST 4096u	     /* bytes of a mangled name; longer ones stay */
#define NAMES_MOST (16u << 20) /* bytes of all demangled names: short ones can stand for much text */

struct writing {
	const struct recognized *r;
	struct symb_request *names;
	struct buf *out, room;
	bool demangle;
	struct buf name; /* a demangled one */
	size_t names_n;	 /* bytes of all of them */
};

/* ---- lines ------------------------------------------------------------------------------------------------ */

/* A name must not move the cursor of a terminal. */
static void put_safe(struct writing *w, const char *text)
{
	buf_adds(w->out, text_shown(text, true, &w->room));
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

	if (n < 4 || n >= NAME_MOST || w->names_n > NAMES_MOST ||
		(p[0] == '_' && p[1 + skip] != 'Z' && p[1 + skip] != 'R'))
		return false;
	memcpy(word, p, n);
	word[n] = '\0';
	if (!demangle(word, &w->name))
		return false;
	w->names_n += w->name.n;
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
		buf_add(w->out, p + done, i - done);
		put_safe(w, buf_text(&w->name));
		done = end;
	}
	buf_add(w->out, p + done, to - done);
}

/* "work (inlined) at /src/lib.c:5" */
static void put_name(struct writing *w, const struct symb_name *n)
{
	put_safe(w, n->function);
	if (n->inlined)
		buf_adds(w->out, " (inlined)");
	if (!n->file)
		return;
	buf_adds(w->out, " at ");
	put_safe(w, n->file);
	if (n->line)
		buf_addf(w->out, ":%" PRIu32, n->line);
}

/* "in /src/Program.cs:line 15", as .NET writes it */
static void put_in(struct writing *w, const struct symb_name *n)
{
	buf_adds(w->out, "in ");
	put_safe(w, n->file);
	buf_addf(w->out, ":line %" PRIu32, n->line);
}

/* The end of the line of a frame: "\n", or "\r\n", also behind a last line that has none. */
static void put_end(struct writing *w, const struct frame *f)
{
	const struct span *t = &w->r->text;
	size_t end = f->end;

	while (end < t->n && t->p[end] == '\r')
		end++;
	buf_add(w->out, t->p + f->end, end - f->end);
	buf_adds(w->out, "\n");
}

/* Writes the line of a frame, after a line for each call that was inlined there. Returns the place in the text up to
 * which it is written. */
static size_t put_line(struct writing *w, const struct frame *f, unsigned n)
{
	const uint8_t *p = w->r->text.p;

	for (unsigned i = 0; i < n; i++) {
		buf_add(w->out, p + f->line, f->at - f->line);
		buf_adds(w->out, f->before);
		(f->style == STYLE_DOTNET ? put_in : put_name)(w, symb_name(w->names, i));
		buf_adds(w->out, f->after);
		if (i + 1 < n)
			put_end(w, f);
	}
	buf_add(w->out, p + f->at + f->cut, f->end - f->at - f->cut);
	if (f->unverified)
		buf_adds(w->out, " [unverified]");
	return f->end;
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

/* Writes a member of a name, if it is known: `before`, the value and `after`. */
static void put_string(struct writing *w, const char *before, const char *text, const char *after)
{
	if (!text)
		return;
	buf_adds(w->out, before);
	jtext_add(w->out, text);
	buf_adds(w->out, after);
}

static void put_number(struct writing *w, const char *before, uint32_t line, const char *after)
{
	if (line)
		buf_addf(w->out, "%s%" PRIu32 "%s", before, line, after);
}

/* The members that Apple's own symbolication writes, each with a comma after it. */
static void put_ips_members(struct writing *w, const struct symb_name *n)
{
	put_string(w, "\"symbol\":", n->function, ",");
	put_string(w, "\"sourceFile\":", n->file, ",");
	put_number(w, "\"sourceLine\":", n->line, ",");
}

static void put_ips(struct writing *w, const struct frame *f, unsigned n)
{
	const struct symb_name *name;

	for (unsigned i = 0; i + 1 < n; i++) {
		buf_adds(w->out, "{\"inline\":true,");
		put_ips_members(w, symb_name(w->names, i));
		buf_add(w->out, w->r->text.p + f->line + 1, f->end - f->line - 1);
		buf_adds(w->out, ",");
	}
	name = symb_name(w->names, n - 1);
	/* The look-up of a caller is one byte before the frame's address (add_asked() in ask.c). */
	buf_addf(w->out, "{\"symbolLocation\":%" PRIu64 ",",
		(name->before ? -name->offset : name->offset) + (f->back && f->number));
	put_ips_members(w, name);
}

static void put_inlines(struct writing *w, unsigned n)
{
	buf_adds(w->out, n ? "[" : "null");
	for (unsigned i = 0; i < n; i++) {
		const struct symb_name *name = symb_name(w->names, i);

		put_string(w, i ? ",{\"function\":" : "{\"function\":", name->function, "");
		put_string(w, ",\"file\":", name->file, "");
		put_number(w, ",\"line\":", name->line, "");
		buf_adds(w->out, "}");
	}
	buf_adds(w->out, n ? "]" : "");
}

/* ---- the text ------------------------------------------------------------------------------------------------- */

static void put_value(struct writing *w, const struct frame *f, unsigned n)
{
	const struct symb_name *name = symb_name(w->names, n - 1);
	size_t before = w->out->n;

	if (f->style == STYLE_MINIDUMP_FUNCTION)
		put_string(w, "", name->function, "");
	else if (f->style == STYLE_MINIDUMP_FILE)
		put_string(w, "", name->file, "");
	else if (f->style == STYLE_MINIDUMP_LINE)
		put_number(w, "", name->line, "");
	else
		put_inlines(w, n - 1);
	if (w->out->n == before)
		buf_adds(w->out, "null");
}

static size_t put_frame(struct writing *w, const struct frame *f, unsigned n)
{
	if (f->style == STYLE_LINE || f->style == STYLE_DOTNET)
		return put_line(w, f, n);
	if (f->style == STYLE_IPS)
		put_ips(w, f, n);
	else
		put_value(w, f, n);
	return f->at + f->cut;
}

/* Looks up the names of a frame. Returns their number; 0: it has none, or the text has a name and no line is
 * known. Of a method of .NET the text has the name. */
static unsigned look_up(const struct writing *w, const struct frame *f)
{
	unsigned n = w->names && f->ask != NO_ASK ? symb_look_up(w->names, f->ask) : 0;

	return n && (f->named || f->kind == FRAME_METHOD) && !symb_name(w->names, n - 1)->file ? 0 : n;
}

int recognize_write(const struct recognized *r, struct symb_request *names, bool demangle, struct buf *out)
{
	struct writing w = {.r = r, .names = names, .out = out, .room = BUF_UP_TO(SHOWN_MOST),
		.demangle = demangle && !r->document, .name = BUF_UP_TO(SHOWN_MOST)};
	size_t at = 0;

	for (size_t i = 0; i < r->n_frames; i++) {
		const struct frame *f = &r->frames[i];
		unsigned n = f->line < at ? 0 : look_up(&w, f);

		if (!n)
			continue;
		put_plain(&w, at, f->line);
		at = put_frame(&w, f, n);
	}
	put_plain(&w, at, r->text.n);
	buf_release(&w.room);
	buf_release(&w.name);
	return out->r;
}
