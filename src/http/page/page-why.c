/* The part of the page that explains one artifact: whether it is stored, its link, and what each source answered. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/page/page.h"
#include "source/url.h"

#include <stdio.h>
#include <string.h>

#define ASK_MS 30000 /* how long a page asks sources */

static const struct {
	enum filetype type;
	const char *words;
} type_words[] = {
	{FILETYPE_ELF_CODE, "program or library (ELF)"},
	{FILETYPE_ELF_DEBUG, "debug file (ELF)"},
	{FILETYPE_MACH_CODE, "program or library (Mach-O)"},
	{FILETYPE_MACH_DEBUG, "debug file (dSYM)"},
	{FILETYPE_PE, "program or library (PE)"},
	{FILETYPE_PDB, "PDB"},
	{FILETYPE_PORTABLEPDB, "Portable PDB"},
	{FILETYPE_WASM_CODE, "module (WebAssembly)"},
	{FILETYPE_WASM_DEBUG, "debug file (WebAssembly)"},
	{FILETYPE_BREAKPAD, "symbol file (Breakpad)"},
	{FILETYPE_SOURCEBUNDLE, "bundle of sources"},
	{FILETYPE_SOURCE, "source file"},
	{FILETYPE_SECTION, "section (ELF)"},
};

const char *page_type_words(enum filetype t)
{
	for (size_t i = 0; i < ARRAY_SIZE(type_words); i++)
		if (type_words[i].type == t)
			return type_words[i].words;
	return filetypes[t].name;
}

/* ---- what is known ---------------------------------------------------------------------- */

static bool has_verdict(const struct page_answer *a, const char *word)
{
	for (int i = 0; i < a->n; i++)
		if (strcmp(a->rows[i].verdict, word) == 0)
			return true;
	return false;
}

static bool all_missing(const struct page_answer *a)
{
	for (int i = 0; i < a->n; i++)
		if (strcmp(a->rows[i].verdict, "missing") != 0)
			return false;
	return true;
}

static enum page_state state_of(const struct page_answer *a)
{
	return a->blob ? PAGE_STORED
	       : a->n == 0 ? PAGE_UNNAMED
	       : has_verdict(a, "found") ? PAGE_FOUND
	       : all_missing(a) ? PAGE_MISSING
	       : has_verdict(a, "not asked") ? PAGE_NOT_ASKED
	       : PAGE_TROUBLE;
}

int page_explain(struct page *p, bool ask, struct page_answer *out)
{
	const struct fetch_asking asking = {.until = clock_ms() + ASK_MS, .stop = &p->x->left};
	struct fetched f = {0};

	out->blob = NULL;
	if (key_of(&out->key, &out->a) < 0)
		return -ENOENT;
	if (fetch_stored(p->space->fetch, &out->a, 1, &f) == 0 && f.r == 0) {
		out->blob = f.blob;
		out->best = !fetch_may_improve(p->space->fetch, &f.key, f.blob);
	} else {
		blob_unref(f.blob);
	}
	out->n = fetch_why(p->space->fetch, &out->a, ask ? &asking : NULL, out->rows, PAGE_ROWS);
	out->n = MAX(out->n, 0);
	out->state = state_of(out);
	out->unnamed = out->state == PAGE_UNNAMED ? fetch_unnamed(p->space->fetch, &out->a) : NULL;
	return 0;
}

void page_answer_release(struct page_answer *a)
{
	blob_unref(take(a->blob));
}

/* ---- words ------------------------------------------------------------------------------ */

static const struct {
	const char *class, *chip, *words;
} states[] = {
	[PAGE_STORED] = {"good", "stored", "stored here"},
	[PAGE_FOUND] = {"good", "found", "a source has it; the link downloads it"},
	[PAGE_NOT_ASKED] = {"open", "not asked", "not stored; the link asks the sources"},
	[PAGE_MISSING] = {"bad", "missing", "missing: no source has it"},
	[PAGE_TROUBLE] = {"bad", "failed", "not stored, and a source that may have it failed"},
	[PAGE_UNNAMED] = {"bad", NULL, NULL}, /* fetch_unnamed() has the words */
};

static const char *verdict_class(const char *verdict)
{
	return strcmp(verdict, "found") == 0 ? "good" : strcmp(verdict, "not asked") == 0 ? "open" : "bad";
}

/* ---- the card --------------------------------------------------------------------------- */

static void add_attempt(struct buf *out, const struct fetch_attempt *row)
{
	buf_adds(out, "<tr>");
	html_element(out, "th scope=\"row\"", row->source);
	buf_adds(out, "<td data-name=\"asked for\"><code>");
	html_text(out, row->url);
	buf_adds(out, "</code>");
	html_element(out, "small", row->spelling);
	buf_addf(out, "</td><td data-name=\"answer\"><span class=\"state %s\">", verdict_class(row->verdict));
	html_text(out, row->verdict);
	buf_adds(out, "</span>");
	if (row->remembered_until) {
		buf_adds(out, ", remembered until ");
		html_time(out, row->remembered_until);
	}
	if (row->error[0]) {
		buf_adds(out, ": ");
		html_text(out, row->error);
	}
	buf_adds(out, "</td></tr>\n");
}

static void add_attempts(struct page *p, const struct page_answer *a)
{
	struct buf *out = &p->html;

	if (a->n == 0)
		return;
	buf_addf(out, "<details%s><summary>%s %d %s</summary>\n", a->state == PAGE_STORED ? "" : " open",
		a->state == PAGE_STORED ? "What the sources would be asked:" : "What the sources were asked:", a->n,
		a->n == 1 ? "request" : "requests");
	buf_adds(out, "<table class=\"stack\"><thead><tr><th scope=\"col\">source</th><th scope=\"col\">asked "
		"for</th><th scope=\"col\">answer</th></tr></thead>\n<tbody>\n");
	for (int i = 0; i < a->n; i++)
		add_attempt(out, &a->rows[i]);
	buf_adds(out, "</tbody></table></details>\n");
}

static void add_stored(struct page *p, const struct page_answer *a)
{
	const struct blob_facts *f = blob_facts(a->blob);
	struct buf *out = &p->html;
	char worth[WORTH_PHRASE];

	buf_adds(out, "<p>");
	html_size(out, blob_size(a->blob));
	buf_adds(out, ", from ");
	html_text(out, f->source);
	if (f->fetched > 0) {
		buf_adds(out, ", ");
		html_time(out, f->fetched);
	}
	if (f->worth.known) {
		buf_adds(out, ", ");
		html_text(out, worth_phrase(&f->worth, worth));
	}
	buf_adds(out, "</p>\n");
	if (f->worth.known && !worth_suffices(&f->worth, a->key.type)) {
		buf_adds(out, "<p class=\"note\">");
		buf_adds(out, f->worth.made ? "Another symfs made it" : "It has no ");
		html_text(out, f->worth.made ? "" : worth_wanted(a->key.type));
		buf_adds(out, a->best ? "; no source has a better file.</p>\n"
				      : "; the next request asks the sources for a better file.</p>\n");
	}
}

/* A file that was here, and expired or was purged. */
static void add_ended(struct page *p, const struct page_answer *a)
{
	struct store_tomb tomb;

	if (a->blob || store_tomb(p->space->store, &a->key, &tomb) < 0)
		return;
	buf_adds(&p->html, "<p class=\"note\">It was here until ");
	html_time(&p->html, tomb.when);
	buf_adds(&p->html, ": ");
	html_text(&p->html, tomb.why);
	buf_adds(&p->html, "</p>\n");
}

static void add_ask(struct page *p, const struct page_answer *a)
{
	char room[KEY_TEXT];

	if (p->ask || a->blob || a->n == 0)
		return;
	buf_adds(&p->html, "<form method=\"post\" action=\"/\"><input type=\"hidden\" name=\"path\" value=\"");
	html_text(&p->html, key_text(&a->key, room));
	buf_adds(&p->html, "\"><input type=\"hidden\" name=\"ask\" value=\"1\">"
			   "<button class=\"small\">Ask the sources now</button></form>\n");
}

static void add_link(struct page *p, const struct page_answer *a)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(3 * MODULE_PATH_MAX);
	struct buf *out = &p->html;

	if (tree_path(&a->a, &path) < 0)
		return;
	buf_adds(out, "<p class=\"link\"><a href=\"/");
	url_add_strict(out, buf_text(&path));
	buf_adds(out, "\">");
	html_text(out, p->address);
	buf_adds(out, "/");
	html_text(out, buf_text(&path));
	buf_adds(out, "</a></p>\n");
}

void page_add_answer(struct page *p, const struct page_answer *a)
{
	struct buf *out = &p->html;
	char room[KEY_TEXT];

	buf_adds(out, "<article class=\"file\">\n<h3>");
	html_text(out, page_type_words(a->key.type));
	buf_addf(out, " <span class=\"state %s\">%s</span></h3>\n", states[a->state].class,
		a->unnamed ? a->unnamed : states[a->state].words);
	buf_adds(out, "<p class=\"key\"><code>");
	html_text(out, key_text(&a->key, room));
	buf_adds(out, "</code></p>\n");
	if (a->blob)
		add_stored(p, a);
	add_ended(p, a);
	add_link(p, a);
	add_attempts(p, a);
	add_ask(p, a);
	buf_adds(out, "</article>\n");
}

void page_add_chip(struct page *p, const struct page_answer *a)
{
	struct buf *out = &p->html;
	char room[KEY_TEXT];

	buf_addf(out, "<a class=\"chip %s\" href=\"/?path=", states[a->state].class);
	url_add_value(out, key_text(&a->key, room));
	buf_adds(out, "\">");
	html_text(out, page_type_words(a->key.type));
	buf_addf(out, ": %s</a>\n", a->unnamed ? a->unnamed : states[a->state].chip);
}
