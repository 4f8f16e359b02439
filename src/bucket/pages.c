/* Lists the objects of a team's bucket whose names have digests, page by page. A listing also tells a missing object
 * from a missing bucket. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/pages.h"
#include "base/clock.h"
#include "base/util.h"
#include "source/s3.h"
#include "source/url.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Listings of a bucket: reads the XML of ListObjectsV2. The reader knows only the elements that it needs, and the
 * predefined entities. It does not read comments, nor attributes except that of the root: stores write no others into
 * this answer. */

struct text {
	const char *p;
	size_t n;
};

/* The text between <NAME> and </NAME>. False: there is no such element. */
static bool element(struct text in, const char *name, struct text *out)
{
	char open[64], close[64];
	size_t n_open = (size_t)snprintf(open, sizeof(open), "<%s>", name);
	size_t n_close = (size_t)snprintf(close, sizeof(close), "</%s>", name);
	const char *at = memmem(in.p, in.n, open, n_open), *end;

	if (!at)
		return false;
	at += n_open;
	end = memmem(at, in.n - (size_t)(at - in.p), close, n_close);
	if (!end)
		return false;
	*out = (struct text){at, (size_t)(end - at)};
	return true;
}

/* Copies a text without its entities. -EBADMSG: it does not fit, or has an unknown entity or a tag. */
static int copy(struct text in, char *out, size_t room)
{
	static const char *const entities[][2] = {
		{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&#34;", "\""},
		{"&#39;", "'"}};
	size_t n = 0;

	for (size_t i = 0; i < in.n;) {
		char c = in.p[i];
		size_t took = 1;

		for (size_t k = 0; c == '&' && took == 1 && k < ARRAY_SIZE(entities); k++) {
			size_t len = strlen(entities[k][0]);

			if (in.n - i < len || memcmp(in.p + i, entities[k][0], len) != 0)
				continue;
			c = entities[k][1][0];
			took = len;
		}
		if ((took == 1 && (c == '&' || c == '<')) || !c || n + 1 >= room)
			return -EBADMSG;
		out[n++] = c;
		i += took;
	}
	out[n] = '\0';
	return 0;
}

static int number(struct text in, uint64_t *out)
{
	uint64_t v = 0;

	if (!in.n || in.n > 18)
		return -EBADMSG;
	for (size_t i = 0; i < in.n; i++) {
		if (in.p[i] < '0' || in.p[i] > '9')
			return -EBADMSG;
		v = 10 * v + (uint64_t)(in.p[i] - '0');
	}
	*out = v;
	return 0;
}

/* "2026-11-22T22:33:44.123Z" */
static int when(struct text in, int64_t *out)
{
	struct tm tm = {0};
	char text[64];
	const char *end;

	if (copy(in, text, sizeof(text)) < 0)
		return -EBADMSG;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || (*end != 'Z' && *end != '.'))
		return -EBADMSG;
	*out = (int64_t)timegm(&tm);
	return 0;
}

static int entry(struct text in, struct list_entry *out)
{
	struct text name, size, date;

	if (!element(in, "Key", &name) || !element(in, "Size", &size) || !element(in, "LastModified", &date) ||
		copy(name, out->name, sizeof(out->name)) < 0 || number(size, &out->size) < 0 ||
		when(date, &out->modified) < 0)
		return -EBADMSG;
	return 0;
}

int list_parse(const char *text, size_t n, int (*each)(void *ctx, const struct list_entry *e), void *ctx,
	char token[static LIST_NAME])
{
	struct text all, rest, one, word;
	struct list_entry e;
	int r = 0;

	token[0] = '\0';
	/* The element has an attribute, the name space. */
	all.p = memmem(text, n, "<ListBucketResult", 17);
	if (!all.p || !memmem(text, n, "</ListBucketResult>", 19))
		return -EBADMSG;
	all.n = n - (size_t)(all.p - text);
	rest = all;
	while (r == 0 && element(rest, "Contents", &one)) {
		const char *next = one.p + one.n;

		r = entry(one, &e);
		if (r == 0)
			r = each(ctx, &e);
		rest = (struct text){next, (size_t)(all.p + all.n - next)};
	}
	if (r != 0)
		return r;
	if (!element(all, "IsTruncated", &word))
		return -EBADMSG;
	if (word.n == 5 && memcmp(word.p, "false", 5) == 0)
		return 0;
	if (word.n != 4 || memcmp(word.p, "true", 4) != 0)
		return -EBADMSG;
	if (!element(all, "NextContinuationToken", &word) || copy(word, token, LIST_NAME) < 0 || !token[0])
		return -EBADMSG;
	return 0;
}

#define EMPTY_MOST 32 /* pages in a row without an object of symfs: a store with more would send them for ever */
#define HEX "0123456789abcdef"

/* The prefix is encoded as a path already; as a value, its slashes are encoded, too. */
static int add_prefix(const struct caller *c, const char *what, struct buf *out)
{
	_cleanup_buf_ struct buf prefix = BUF_UP_TO(4096);
	int r = s3_prefix(c->source, &prefix);
	const char *p = buf_text(&prefix);

	if (r == 0 && *p == '/')
		p++;
	for (; r == 0 && *p; p++)
		r = *p == '/' ? buf_adds(out, "%2F") : buf_add(out, p, 1);
	buf_adds(out, prefix.n ? "%2F" : "");
	return r == 0 ? url_add_value(out, what) : r;
}

static bool is_digest(const char *text)
{
	return strspn(text, HEX) >= SHA256_TEXT - 1;
}

static int listing_add(void *ctx, const struct list_entry *e)
{
	struct listing *l = ctx;
	const char *at = NULL;
	struct page_item *it;

	/* Each name is behind all earlier ones. A store that repeats names would send them for ever. */
	if (l->last[0] && strcmp(e->name, l->last) <= 0)
		return -EBADMSG;
	snprintf(l->last, sizeof(l->last), "%s", e->name);
	/* The bucket's prefix may contain "b/", too. The last one counts, because only digests follow it. */
	for (const char *p = e->name; (p = strstr(p, l->what)); p++)
		at = p;
	if (!at || l->n == PAGE_MOST)
		return at ? -EBADMSG : 0;
	at += strlen(l->what);
	if (l->probes ? strspn(at, HEX) != PROBE_DIGITS || at[PROBE_DIGITS]
		      : !is_digest(at) || (at[64] && (at[64] != '/' || !is_digest(at + 65))))
		return 0; /* no object of symfs */
	l->empty = 0;
	it = &l->items[l->n++];
	snprintf(it->sha256, sizeof(it->sha256), "%.64s", at);
	snprintf(it->second, sizeof(it->second), "%.64s", !l->probes && at[64] ? at + 65 : "");
	it->size = e->size;
	it->modified = e->modified;
	return 0;
}

static int listing_page(struct listing *l)
{
	_cleanup_buf_ struct buf query = BUF_UP_TO(8192), answer = BUF_UP_TO(LIST_MOST);
	struct call call = {.answer = &answer};
	int r;

	if (l->token[0]) {
		buf_adds(&query, "continuation-token=");
		url_add_value(&query, l->token);
		buf_adds(&query, "&");
	}
	buf_addf(&query, "list-type=2&max-keys=%u&prefix=", l->page);
	r = add_prefix(l->c, l->what, &query);
	if (r < 0)
		return r;
	call.query = buf_text(&query);
	l->n = l->at = 0;
	l->page = PAGE_MOST;
	r = call_run(l->c, &call);
	l->now = call.reply.date > 0 ? call.reply.date : clock_wall();
	if (r == 0)
		r = list_parse(buf_text(&answer), answer.n, listing_add, l, l->token);
	l->over = !l->token[0];
	return r == 0 && !l->over && ++l->empty > EMPTY_MOST ? -EBADMSG : r;
}

/* 0: the store has the bucket; others: as call_run() for a listing */
static int call_bucket(struct caller *c)
{
	_cleanup_buf_ struct buf query = BUF_UP_TO(8192), answer = BUF_UP_TO(LIST_MOST);
	struct call call = {.answer = &answer};
	int r;

	buf_adds(&query, "list-type=2&max-keys=1&prefix=");
	r = add_prefix(c, "", &query);
	call.query = buf_text(&query);
	return r == 0 ? call_run(c, &call) : r;
}

/* ---- what call.h promises about a 404 -------------------------------------------------------- */

int call_delete(struct caller *c, const char *name)
{
	struct call call = {.method = "DELETE", .name = name};
	int r = call_run(c, &call);

	/* Some stores answer 404 for an object that is not there. If the bucket was away, it may have come back. */
	if (r == -ENOENT && (r = call_bucket(c)) == 0)
		r = call_run(c, &call);
	return r == -ENOENT ? 0 : r;
}

int call_get_sure(struct caller *c, const char *name, struct buf *out)
{
	int r = call_get(c, name, out);

	return r == -ENOENT && (r = call_bucket(c)) == 0 ? call_get(c, name, out) : r;
}

/* ---- pages -------------------------------------------------------------------------------- */

int listing_next(struct listing *l, const struct page_item **out)
{
	int r = 0;

	while (r == 0 && l->at == l->n && !l->over)
		r = listing_page(l);
	*out = r == 0 && l->at < l->n ? &l->items[l->at++] : NULL;
	return r;
}

int listing_open(struct listing *l, struct caller *c, const char *what)
{
	*l = (struct listing){.c = c, .what = what, .page = PAGE_MOST, .items = calloc(PAGE_MOST, sizeof(*l->items))};
	return l->items ? 0 : -ENOMEM;
}

void listing_close(struct listing *l)
{
	free(l->items);
}

/* The answer is 0 only after the last page: a page can be empty, or begin with an object that symfs did not write,
 * and other objects can still follow. */
int listing_any(struct caller *c, const char *what)
{
	_cleanup_listing_ struct listing l = {0};
	const struct page_item *it = NULL;
	int r = listing_open(&l, c, what);

	l.page = 1;
	if (r == 0)
		r = listing_next(&l, &it);
	return r < 0 ? r : it != NULL;
}
