/* Listings of a bucket: reads the XML of ListObjectsV2. The reader knows only the elements that it needs, and the
 * predefined entities. It does not read comments, nor attributes except that of the root: stores write no others into
 * this answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bucket/list.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

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
