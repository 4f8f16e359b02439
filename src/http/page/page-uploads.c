/* The part of the page for the people who upload: how, what came, and what is missing. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/page/page.h"

#include <inttypes.h>
#include <string.h>

/* ---- how ---------------------------------------------------------------------------------- */

/* `@@` stands for the URL of the server. */
static const struct way {
	const char *name, *without, *with;
} ways[] = {
	{"symfs push: only what the server lacks", "symfs push @@ build/",
		"symfs push --token-file token @@ build/"},
	{"sentry-cli",
		"export SENTRY_URL=@@/ SENTRY_AUTH_TOKEN=none\n"
		"sentry-cli debug-files upload --wait --org team --project app build/",
		"export SENTRY_URL=@@/ SENTRY_AUTH_TOKEN=TOKEN\n"
		"sentry-cli debug-files upload --wait --org team --project app build/"},
	{"curl, one file",
		"curl -f -T prog.debug @@/buildid/ID/debuginfo\n"
		"curl -f -T app.pdb @@/app.pdb/ID/app.pdb",
		"curl -f -H 'Authorization: Bearer TOKEN' -T prog.debug @@/buildid/ID/debuginfo\n"
		"curl -f -H 'Authorization: Bearer TOKEN' -T app.pdb @@/app.pdb/ID/app.pdb"},
	{"curl, a zip of NAME/ID/FILE",
		"curl -f -F symbols.zip=@symbols.zip @@/upload/",
		"curl -f -H 'Auth-Token: TOKEN' -F symbols.zip=@symbols.zip @@/upload/"},
};

/* Why this client cannot upload. NULL: it can. */
static const char *why_not(struct page *p)
{
	if (!p->x->h->opts.upload_most)
		return "This server accepts no uploads. The option --upload of symfs serve turns them on.";
	if (p->x->h->auth && !auth_allows(p->x->token.rights, AUTH_TRY))
		return "Your token may not upload: it has no right \"upload\" or \"try\". The server's "
		       "administrator makes a token with it: symfs token add NAME --rights upload";
	return NULL;
}

static void add_how(struct page *p)
{
	const char *why = why_not(p);
	struct buf *out = &p->html;

	buf_adds(out, "<section id=\"how\">\n<h2>How to upload</h2>\n");
	if (why)
		html_element(out, "p class=\"note\"", why);
	if (!p->x->h->opts.upload_most) {
		buf_adds(out, "</section>\n");
		return;
	}
	buf_adds(out, "<p>The server reads from the bytes what a file is. Every layout finds it at once.</p>\n"
		      "<div class=\"grid\">\n");
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		page_add_lines(p, ways[i].name, p->x->h->auth ? ways[i].with : ways[i].without);
	buf_adds(out, "</div>\n</section>\n");
}

/* ---- what came ------------------------------------------------------------------------------ */

#define UPLOADS_SHOWN 50

static const struct {
	const char *event, *class, *words;
} events[] = {
	{"upload", "good", "stored"},
	{"present", "good", "here already"},
	{"purge", "open", "removed"},
	{"refused", "bad", "refused"},
};

static void add_event(struct buf *out, const char *event)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(events) && strcmp(events[i].event, event) != 0)
		i++;
	buf_addf(out, "<span class=\"state %s\">%s</span>", events[i].class, events[i].words);
}

static void add_upload(struct buf *out, const struct journal_line *l)
{
	buf_adds(out, "<tr>");
	html_element(out, "th scope=\"row\"", l->file[0] ? l->file : l->key);
	buf_adds(out, "<td data-name=\"result\">");
	add_event(out, l->event);
	if (l->why[0]) {
		buf_adds(out, " ");
		html_text(out, l->why);
	}
	buf_adds(out, "</td><td data-name=\"key\">");
	if (l->key[0])
		html_search(out, l->key);
	buf_adds(out, "</td>");
	html_element(out, "td data-name=\"by\"", strcmp(l->user, "-") == 0 ? "" : l->user);
	buf_adds(out, "<td data-name=\"at\">");
	html_time(out, l->when);
	buf_adds(out, "</td></tr>\n");
}

static void add_latest(struct page *p)
{
	_cleanup_free_ struct journal_line *lines = calloc(UPLOADS_SHOWN, sizeof(*lines));
	unsigned n = lines ? journal_read(&p->space->journal, JOURNAL_UPLOADS, 0, lines, UPLOADS_SHOWN) : 0;
	struct buf *out = &p->html;

	buf_adds(out, "<section id=\"latest\" data-live>\n<h2>What came</h2>\n");
	if (n == 0) {
		buf_adds(out, "<p>No upload since the start of this server, ");
		html_time(out, p->x->h->started);
		buf_adds(out, ".</p></section>\n");
		return;
	}
	buf_adds(out, "<table class=\"stack\"><thead><tr><th scope=\"col\">file</th><th scope=\"col\">result</th>"
		      "<th scope=\"col\">key</th><th scope=\"col\">by</th><th "
		      "scope=\"col\">at</th></tr></thead>\n<tbody>\n");
	for (unsigned i = 0; i < n; i++)
		add_upload(out, &lines[i]);
	buf_addf(out, "</tbody></table>\n<p><small>The last %d at most, since the start of this server. The audit "
		"log has all.</small></p></section>\n", UPLOADS_SHOWN);
}

/* ---- what is missing -------------------------------------------------------------------------- */

#define MISSED_SHOWN 25 /* of each day */

/* Whether the file came later. A PDB and a symbol file of one debug id serve the same stacks. */
static bool is_here(struct page *p, const struct key *k)
{
	struct key other = *k, stored = store_key(p->space->store, k);

	if (store_has(p->space->store, &stored, NULL))
		return true;
	if (k->type != FILETYPE_PDB && k->type != FILETYPE_BREAKPAD)
		return false;
	other.type = k->type == FILETYPE_PDB ? FILETYPE_BREAKPAD : FILETYPE_PDB;
	return store_has(p->space->store, &other, NULL);
}

static bool add_missed(struct page *p, const struct missed_row *row)
{
	struct buf *out = &p->html;
	struct key k;

	if (key_parse(&k, row->key) < 0 || is_here(p, &k))
		return false;
	buf_adds(out, "<tr><th scope=\"row\">");
	html_text(out, page_type_words(k.type));
	buf_adds(out, "</th><td data-name=\"key\">");
	html_search(out, row->key);
	buf_addf(out, "</td><td class=\"number\" data-name=\"requests\">%" PRIu64 "</td></tr>\n",
		row->asked);
	return true;
}

static void add_day(struct page *p, struct missed_day *d)
{
	struct buf *out = &p->html;
	unsigned shown = 0, i;
	char when[24];

	clock_print(d->when, when);
	buf_addf(out, "<h3>%.10s</h3>\n<table class=\"stack\"><thead><tr><th scope=\"col\">type</th>"
		       "<th scope=\"col\">key</th><th scope=\"col\" "
		       "class=\"number\">requests</th></tr></thead>\n<tbody>\n", when);
	for (i = 0; i < d->n && shown < MISSED_SHOWN; i++)
		shown += add_missed(p, &d->rows[i]);
	buf_adds(out, "</tbody></table>\n");
	if (shown == 0)
		buf_adds(out, "<p>All of them are here now.</p>\n");
	if (i < d->n || d->others)
		buf_addf(out, "<p><small>and %u further files%s</small></p>\n", d->n - i,
			d->others ? ", and more that were not counted alone" : "");
}

static void add_missing(struct page *p)
{
	struct buf *out = &p->html;
	unsigned days = 0;

	buf_adds(out, "<section id=\"missing\" data-live>\n<h2>What is missing</h2>\n"
		      "<p>Requested files that no source has, by day (UTC), most requests first. All that is "
		      "remembered: <a href=\"/missing.csv\">missing.csv</a>, "
		      "<a href=\"/missingsymbols.csv\">missingsymbols.csv</a>.</p>\n");
	for (unsigned ago = 0; ago < MISSED_DAYS; ago++) {
		struct missed_day d;

		if (missed_read(p->space->missed, ago, &d) && ++days)
			add_day(p, &d);
		missed_day_release(&d);
	}
	if (days == 0)
		buf_addf(out, "<p>Nothing was missing in the last %d days.</p>\n", MISSED_DAYS);
	buf_adds(out, "</section>\n");
}

void page_uploads(struct page *p)
{
	buf_adds(&p->html, "<h1>Uploads</h1>\n");
	add_how(p);
	add_latest(p);
	add_missing(p);
}
