/* The first part of the page: a field takes a path, a URL, an identifier or a longer text, and the files that this
 * means follow, each with its link or the reason why it is missing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/page/page.h"
#include "http/private.h"
#include "names/layout/name.h"
#include "store/search.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The search of the page: a path of any layout, a URL, a key as `symfs cache ls` prints it, or an identifier with or
 * without a name. */

#define SEARCH_MOST 24

/* Adds the files of a path of any layout. */
static void add_path(struct search *r, const char *path, struct tree_hit *hit)
{
	tree_parse(path, hit);
	for (unsigned i = 0; i < hit->n; i++)
		search_add(r, hit->files[i].type, &hit->files[i].m);
}

/* The same without directories before it, as in the URL of another server, or the path of a mount. */
static void add_end_of_path(struct search *r, const char *path, struct tree_hit *hit)
{
	for (; r->n == 0 && path; path = strchr(path, '/') ? strchr(path, '/') + 1 : NULL)
		if (strncmp(path, ".build-id/", 10) == 0) {
			char whole[ROUTE_PATH_MAX + 8];

			snprintf(whole, sizeof(whole), "gdb/%s", path);
			add_path(r, whole, hit);
		} else {
			add_path(r, path, hit);
		}
}

/* A symbol store and a store of symbol files have paths of a name and an identifier. */
static void add_named(struct search *r, const char *name, const char *id, struct tree_hit *hit)
{
	char path[2 * MODULE_NAME_MAX + MODULE_ID_TEXT + 16];
	size_t bare = strlen(name);

	snprintf(path, sizeof(path), "%s/%s/%s", name, id, name);
	add_path(r, path, hit);
	if (bare > 4 && strcasecmp(name + bare - 4, ".pdb") == 0)
		bare -= 4;
	snprintf(path, sizeof(path), "%s/%s/%.*s.sym", name, id, (int)bare, name);
	add_path(r, path, hit);
}

/* A shared library, which has a build id: no symbol store has it by its name. */
static bool name_is_elf(const char *name)
{
	return strstr(name, ".so.") || name_ends(name, ".so") || name_ends(name, ".debug");
}

static void add_pasted_id(struct search *r, const struct pasted_id *one, struct tree_hit *hit)
{
	if (one->name[0] && !name_is_elf(one->name))
		add_named(r, one->name, one->id, hit);
	search_id(r, one->id);
}

/* Likewise, for an identifier of a longer text. */
static unsigned search_pasted(struct space *s, const struct pasted_id *one, struct artifact *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	struct search r = {s->store, out, 0, SEARCH_MOST};

	if (hit)
		add_pasted_id(&r, one, hit);
	return r.n;
}

/* "ntdll.dll 5AB380779000" */
static void add_two_words(struct search *r, const char *words, struct tree_hit *hit)
{
	char name[MODULE_NAME_MAX], id[MODULE_ID_TEXT];
	size_t n = strcspn(words, " "), skip = n + strspn(words + n, " "), m = strlen(words + skip);

	if (n == 0 || m == 0 || n >= sizeof(name) || m >= sizeof(id) || strchr(words + skip, ' '))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)n, words);
	snprintf(id, sizeof(id), "%s", words + skip);
	add_named(r, name, id, hit);
}

/* Writes the artifacts that a path, a URL, a key or an identifier may mean, at most SEARCH_MOST. Returns their
 * number. (reads the index) */
static unsigned search(struct space *s, const char *words, struct artifact *out)
{
	_cleanup_free_ struct tree_hit *hit = calloc(1, sizeof(*hit));
	char path[ROUTE_PATH_MAX];
	struct search r = {s->store, out, 0, SEARCH_MOST};
	struct pasted_id one;
	struct key k;

	if (!hit || !pasted_path(words, path, sizeof(path)))
		return 0;
	words = path + strspn(path, "/");
	add_path(&r, words, hit);
	if (r.n == 0 && key_parse(&k, path) == 0)
		search_add_key(&r, &k);
	if (r.n == 0)
		add_end_of_path(&r, words, hit);
	if (r.n == 0)
		search_id(&r, path);
	if (r.n == 0)
		add_two_words(&r, path, hit);
	if (r.n == 0 && pasted_ids(path, &one, 1))
		add_pasted_id(&r, &one, hit);
	return r.n;
}

#define PASTED_MOST 100 /* identifiers of a text that are looked up */

void page_add_form(struct page *p)
{
	struct buf *out = &p->html;

	buf_adds(out, "<form class=\"find\" method=\"post\" action=\"/\">\n"
		      "<label for=\"path\">A path, a URL, a build id, a debug id, or a whole stack or crash "
		      "report</label>\n<textarea id=\"path\" name=\"path\" rows=\"3\" spellcheck=\"false\" "
		      "autocapitalize=\"off\" "
		      "autocomplete=\"off\">");
	html_text(out, p->text);
	buf_adds(out, "</textarea>\n<button>Find</button>\n</form>\n");
}

/* ---- one file ----------------------------------------------------------------------------- */

/* The files that exist come first, then those that may, then the missing ones; an earlier candidate is better. */
static const enum page_state order[] = {PAGE_STORED, PAGE_FOUND, PAGE_TROUBLE, PAGE_NOT_ASKED, PAGE_MISSING,
	PAGE_UNNAMED};

struct shown {
	unsigned n;
	enum page_state first;
	bool folded;
};

/* Below a file that is here, the other files that the text can mean are folded away. So are files that no source has
 * a name for. */
static void fold(struct page *p, struct shown *s, enum page_state state)
{
	if (s->n == 0)
		s->first = state;
	else if (!s->folded && state != s->first && (s->first <= PAGE_FOUND || state == PAGE_UNNAMED)) {
		buf_adds(&p->html, "<details class=\"others\"><summary>Other files that this can mean</summary>\n");
		s->folded = true;
	}
}

static void add_of_state(struct page *p, enum page_state state, struct page_answer *list, unsigned n, struct shown *s)
{
	for (unsigned i = 0; i < n; i++) {
		if (list[i].state != state || !list[i].key.type)
			continue;
		fold(p, s, state);
		/* The rows of `list` are shared, so they are filled again. */
		if (page_explain(p, p->ask && s->n == 0, &list[i]) == 0)
			page_add_answer(p, &list[i]);
		s->n++;
		page_answer_release(&list[i]);
	}
}

static void add_none(struct page *p)
{
	buf_adds(&p->html,
		"<div class=\"note\" id=\"none\"><p>This is neither a path of any layout, a key nor an "
		"identifier.</p>\n<p>A path names a build: <code>buildid/ID/debuginfo</code>, "
		"<code>NAME.pdb/ID/NAME.pdb</code>. "
		"A build id is printed by <code>file PROGRAM</code> or <code>symfs id PROGRAM</code>.</p></div>\n");
}

static void add_found(struct page *p, struct artifact *found, unsigned n)
{
	_cleanup_free_ struct page_answer *list = calloc(SEARCH_MOST, sizeof(*list));
	_cleanup_free_ struct fetch_attempt *rows = calloc(PAGE_ROWS, sizeof(*rows));
	struct shown shown = {0};

	if (!list || !rows) {
		p->html.r = -ENOMEM;
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		list[i].a = found[i];
		list[i].rows = rows;
		if (page_explain(p, false, &list[i]) < 0)
			list[i].key.type = FILETYPE_NONE;
		page_answer_release(&list[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		add_of_state(p, order[i], list, n, &shown);
	if (shown.folded)
		buf_adds(&p->html, "</details>\n");
}

static void add_one(struct page *p)
{
	_cleanup_free_ struct artifact *found = calloc(SEARCH_MOST, sizeof(*found));
	unsigned n = found ? search(p->space, p->text, found) : 0;

	if (n == 0)
		add_none(p);
	else
		add_found(p, found, n);
}

/* ---- a longer text ------------------------------------------------------------------------- */

static void add_pasted(struct page *p, const struct pasted_id *id, struct artifact *found, struct fetch_attempt *rows)
{
	unsigned n = search_pasted(p->space, id, found), shown = 0;
	struct buf *out = &p->html;

	buf_adds(out, "<tr>");
	html_element(out, "th scope=\"row\"", id->name[0] ? id->name : "no name");
	buf_adds(out, "<td data-name=\"identifier\">");
	html_search(out, id->id);
	buf_adds(out, "</td><td data-name=\"files\">");
	for (unsigned i = 0; i < n; i++) {
		struct page_answer a = {.a = found[i], .rows = rows};

		if (page_explain(p, false, &a) == 0 && (!a.unnamed || strcmp(a.unnamed, FETCH_UNNAMED) != 0)) {
			page_add_chip(p, &a);
			shown++;
		}
		page_answer_release(&a);
	}
	buf_adds(out, shown ? "</td></tr>\n" : FETCH_UNNAMED "</td></tr>\n");
}

static void add_no_ids(struct page *p)
{
	buf_adds(&p->html, "<div class=\"note\" id=\"none\"><p>This text has no build id, UUID or debug id. "
		"Addresses and function names alone do not say which build they belong to.</p>\n<p>These print the "
		"modules with their identifiers:</p></div>\n");
	html_lines(&p->html, "identifiers of a crash",
		"coredumpctl info PID\neu-unstrip -n --core=CORE\nsymfs parse DUMP\nminidump_stackwalk -m DUMP\n"
		"lm v        in WinDbg\nimage list  in LLDB");
}

static void add_text(struct page *p)
{
	_cleanup_free_ struct pasted_id *ids = calloc(PASTED_MOST, sizeof(*ids));
	_cleanup_free_ struct artifact *found = calloc(SEARCH_MOST, sizeof(*found));
	_cleanup_free_ struct fetch_attempt *rows = calloc(PAGE_ROWS, sizeof(*rows));
	struct buf *out = &p->html;
	unsigned n;

	if (!ids || !found || !rows) {
		p->html.r = -ENOMEM;
		return;
	}
	n = pasted_ids(p->text, ids, PASTED_MOST);
	if (n == 0) {
		add_no_ids(p);
		return;
	}
	buf_addf(out, "<p>%u %s in this text%s</p>\n", n, n == 1 ? "identifier" : "identifiers",
		n == PASTED_MOST ? ", and perhaps more" : "");
	buf_adds(out, "<table class=\"stack\"><thead><tr><th scope=\"col\">module</th><th "
		"scope=\"col\">identifier</th><th scope=\"col\">files</th></tr></thead>\n<tbody>\n");
	for (unsigned i = 0; i < n && !atomic_load(&p->x->left); i++)
		add_pasted(p, &ids[i], found, rows);
	buf_adds(out, "</tbody></table>\n");
}

/* ---- the lines that make debuggers and other tools use this very server --------------------- */

#define LINES_MOST 4096

/* `@@` stands for the URL of the server, without a slash at its end. */
static const struct tool {
	const char *name, *lines;
	const char *with_token; /* for a server with tokens; NULL: the same lines */
} tools[] = {
	{"gdb (also elfutils, valgrind)",
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"gdb -iex 'set debuginfod enabled on' PROGRAM",
		"(umask 077 && echo 'Authorization: Bearer TOKEN' >~/.symfs-header)\n"
		"export DEBUGINFOD_HEADERS_FILE=~/.symfs-header\n"
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"gdb -iex 'set debuginfod enabled on' PROGRAM"},
	{"LLDB 18 or later, in ~/.lldbinit",
		"settings set symbols.enable-external-lookup true\n"
		"settings set plugin.symbol-locator.debuginfod.server-urls @@/",
		"# LLDB sends no token: mount the server, and use the mount\n"
		"symfs mount ~/symbols   # the token is in symfs.conf, see below\n"
		"lldb -O 'settings set target.debug-file-search-paths ~/symbols/gdb' PROGRAM"},
	{"WinDbg, Visual Studio",
		".sympath srv*C:\\Symbols*@@\n"
		".reload /f",
		"* They send no token: let a proxy on this side add the header, or use a namespace without tokens\n"
		".sympath srv*C:\\Symbols*@@\n"
		".reload /f"},
	{"perf",
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"perf report          # a perf that has debuginfod: perf version --build-options\n"
		"# any other perf\n"
		"symfs mount --source @@/ ~/symbols\n"
		"perf --buildid-dir ~/symbols/perf report",
		"(umask 077 && echo 'Authorization: Bearer TOKEN' >~/.symfs-header)\n"
		"export DEBUGINFOD_HEADERS_FILE=~/.symfs-header\n"
		"export DEBUGINFOD_URLS=\"@@/\"\n"
		"perf report          # a perf that has debuginfod: perf version --build-options"},
	{"curl",
		"curl -fO @@/buildid/ID/debuginfo\n"
		"curl -fO @@/NAME.pdb/ID/NAME.pdb\n"
		"curl -fO @@/NAME.pdb/ID/NAME.sym",
		"curl -fO -H 'Authorization: Bearer TOKEN' @@/buildid/ID/debuginfo\n"
		"curl -fO -H 'Authorization: Bearer TOKEN' @@/NAME.pdb/ID/NAME.pdb\n"
		"curl -fO -H 'Authorization: Bearer TOKEN' @@/NAME.pdb/ID/NAME.sym"},
	{"symfs: a mount that every tool can use",
		"symfs mount --source @@/ ~/symbols\n"
		"gdb -iex 'set debug-file-directory ~/symbols/gdb:/usr/lib/debug' PROGRAM",
		"mkdir -p ~/.config/symfs && (umask 077 && cat >>~/.config/symfs/symfs.conf) <<END\n"
		"[source \"team\"]\nurl = @@/\nlayout = native\nheader = Auth-Token: TOKEN\nEND\n"
		"symfs mount ~/symbols\ngdb -iex 'set debug-file-directory ~/symbols/gdb:/usr/lib/debug' PROGRAM"},
};

void page_add_lines(struct page *p, const char *title, const char *lines)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(LINES_MOST);

	for (; *lines; lines++)
		if (lines[0] == '@' && lines[1] == '@') {
			buf_adds(&text, p->address);
			lines++;
		} else {
			buf_add(&text, lines, 1);
		}
	if (text.r == 0)
		html_lines(&p->html, title, buf_text(&text));
}

static void add_setup(struct page *p)
{
	bool token = p->x->h->auth;

	buf_adds(&p->html, "<section id=\"setup\">\n<h2>Set up your tools</h2>\n<p>These lines are for this "
		"server, ");
	html_element(&p->html, "code", p->address);
	buf_adds(&p->html, token ? ". In place of TOKEN goes your token.</p>\n<div class=\"grid\">\n"
				 : ".</p>\n<div class=\"grid\">\n");
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		page_add_lines(p, tools[i].name, token && tools[i].with_token ? tools[i].with_token : tools[i].lines);
	buf_adds(&p->html, "</div>\n</section>\n");
}

/* ---- the part ------------------------------------------------------------------------------- */

void page_find(struct page *p)
{
	buf_adds(&p->html, "<h1>Find a file</h1>\n");
	page_add_form(p);
	if (p->text[strspn(p->text, " \t\r\n")]) {
		buf_adds(&p->html, "<section id=\"found\" aria-label=\"Result\">\n<h2>Result</h2>\n");
		if (p->busy)
			buf_adds(&p->html,
				"<p class=\"note\">The sources were not asked: other pages are asking them, or the "
				"server is stopping. Try again in half a minute.</p>\n");
		if (pasted_is_long(p->text))
			add_text(p);
		else
			add_one(p);
		buf_adds(&p->html, "</section>\n");
	}
	add_setup(p);
}
