/* The worth of files: comparison by the purpose of their type, and the text form. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/id/worth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const symbols_words[] = {
	[WORTH_EXPORTS] = "exports", [WORTH_DYNAMIC] = "dynamic", [WORTH_SYMBOLS] = "full"};
static const char *const debug_words[] = {[WORTH_LINES] = "lines", [WORTH_DEBUG] = "full"};

#define WORDS(a) (sizeof(a) / sizeof((a)[0]))

static const struct worth everything = {true, WORTH_SYMBOLS, WORTH_DEBUG, true, true, false};
static const struct worth unknown;

unsigned worth_rank(const struct worth *w, enum filetype t)
{
	bool program = filetypes[t].flags & TYPE_PROGRAM;

	if (!w->known)
		w = &everything;
	return (unsigned)!w->made << 7 | (unsigned)(program && w->unwind) << 6 | (unsigned)w->debug << 4 |
		(unsigned)w->symbols << 2 | (unsigned)w->unwind << 1 | w->sources;
}

int worth_compare(const struct worth *a, const struct worth *b, enum filetype t)
{
	return (int)worth_rank(a, t) - (int)worth_rank(b, t);
}

enum want { WANTS_NOTHING, WANTS_DEBUG, WANTS_UNWIND };

/* Returns what a file of the type has, unless this information was stripped. A PE of 32 bits never has unwind
 * information, so nothing is expected of a PE. */
static enum want wants(enum filetype t)
{
	switch (t) {
	case FILETYPE_ELF_DEBUG:
	case FILETYPE_MACH_DEBUG:
	case FILETYPE_WASM_DEBUG:
	case FILETYPE_PDB:
	case FILETYPE_PORTABLEPDB:
	case FILETYPE_BREAKPAD:
		return WANTS_DEBUG;
	case FILETYPE_ELF_CODE:
	case FILETYPE_MACH_CODE:
		return WANTS_UNWIND;
	default:
		return WANTS_NOTHING;
	}
}

const char *worth_wanted(enum filetype t)
{
	static const char *const words[] = {
		[WANTS_DEBUG] = "debug information", [WANTS_UNWIND] = "unwind information"};

	return words[wants(t)];
}

bool worth_suffices(const struct worth *w, enum filetype t)
{
	if (!w->known || w->made)
		return !w->made;
	switch (wants(t)) {
	case WANTS_DEBUG:
		return w->debug == WORTH_DEBUG;
	case WANTS_UNWIND:
		return w->unwind;
	default:
		return true;
	}
}

const char *worth_text(const struct worth *w, char out[static WORTH_TEXT])
{
	int n = 0;

	if (!w->known) {
		snprintf(out, WORTH_TEXT, "unknown");
		return out;
	}
	out[0] = '\0';
	if (w->symbols)
		n += snprintf(out + n, WORTH_TEXT - (size_t)n, " symbols=%s", symbols_words[w->symbols]);
	if (w->debug)
		n += snprintf(out + n, WORTH_TEXT - (size_t)n, " debug=%s", debug_words[w->debug]);
	n += snprintf(out + n, WORTH_TEXT - (size_t)n, "%s%s%s", w->unwind ? " unwind" : "",
		w->sources ? " sources" : "", w->made ? " made" : "");
	if (n)
		memmove(out, out + 1, (size_t)n);
	else
		snprintf(out, WORTH_TEXT, "none");
	return out;
}

const char *worth_phrase(const struct worth *w, char out[static WORTH_PHRASE])
{
	static const char *const symbols[] = {[WORTH_NO_SYMBOLS] = "no symbols", [WORTH_EXPORTS] = "exported symbols",
		[WORTH_DYNAMIC] = "dynamic symbols", [WORTH_SYMBOLS] = "all symbols"};
	static const char *const debug[] = {[WORTH_NO_DEBUG] = "", [WORTH_LINES] = ", line tables",
		[WORTH_DEBUG] = ", debug information"};

	if (!w->known)
		return "unknown";
	snprintf(out, WORTH_PHRASE, "%s%s%s%s%s", symbols[w->symbols], debug[w->debug],
		w->unwind ? ", unwind tables" : "", w->sources ? ", sources" : "",
		w->made ? ", made by a symfs" : "");
	return out;
}

static int word_of(const char *const *words, size_t n, const char *p, size_t len)
{
	for (size_t i = 1; i < n; i++)
		if (strlen(words[i]) == len && memcmp(words[i], p, len) == 0)
			return (int)i;
	return -EINVAL;
}

static bool starts_with(const char *p, size_t n, const char *with, size_t *len)
{
	*len = strlen(with);
	return n >= *len && memcmp(p, with, *len) == 0;
}

static int take_word(struct worth *w, const char *p, size_t n)
{
	size_t head;
	int i = 0;

	if (starts_with(p, n, "symbols=", &head)) {
		i = word_of(symbols_words, WORDS(symbols_words), p + head, n - head);
		w->symbols = i < 0 ? WORTH_NO_SYMBOLS : (enum worth_symbols)i;
	} else if (starts_with(p, n, "debug=", &head)) {
		i = word_of(debug_words, WORDS(debug_words), p + head, n - head);
		w->debug = i < 0 ? WORTH_NO_DEBUG : (enum worth_debug)i;
	} else if (n == strlen("unwind") && memcmp(p, "unwind", n) == 0) {
		w->unwind = true;
	} else if (n == strlen("sources") && memcmp(p, "sources", n) == 0) {
		w->sources = true;
	} else if (n == strlen("made") && memcmp(p, "made", n) == 0) {
		w->made = true;
	} else {
		return -EINVAL;
	}
	return i < 0 ? i : 0;
}

int worth_parse(struct worth *out, const char *text)
{
	struct worth w = {.known = true};

	*out = unknown;
	if (strcmp(text, "unknown") == 0)
		return 0;
	for (const char *p = strcmp(text, "none") == 0 ? "" : text; *p;) {
		size_t n = strcspn(p, " ");

		if (take_word(&w, p, n) < 0)
			return -EINVAL;
		p += n + (p[n] == ' ');
	}
	if (!*text)
		return -EINVAL;
	*out = w;
	return 0;
}
