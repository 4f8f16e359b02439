/* Where servers that know programs by their code id, as Mozilla's does, say that a symbol file is: they
 * redirect to the path by its debug id. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <stdio.h>
#include <string.h>

/* Breakpad's paths are those of `native`, too. */
static bool may_know(const struct source *s)
{
	return !s->kind->local && s->types >> FILETYPE_BREAKPAD & 1 &&
	       (strcmp(s->layout->name, "breakpad") == 0 || strcmp(s->layout->name, "native") == 0);
}

bool fetch_may_locate(struct fetch *f)
{
	struct sources *so = fetch_sources(f);
	bool some = false;

	for (unsigned i = 0; !some && i < so->n; i++)
		some = may_know(so->list[i]);
	sources_unref(so);
	return some;
}

static bool decode(const char *text, size_t n, char *out, size_t room)
{
	size_t o = 0;

	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)text[i];

		if (c == '%') {
			int high = i + 2 < n ? hex_value(text[i + 1]) : -1, low = i + 2 < n ? hex_value(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = high << 4 | low;
			i += 2;
		}
		if (c < 0x20 || c == 0x7f || c == '/' || o + 1 >= room)
			return false;
		out[o++] = (char)c;
	}
	out[o] = '\0';
	return o > 0;
}

/* ".../FILE/DEBUG-ID/x.sym" */
static bool read_url(const char *url, struct module *out)
{
	size_t n = strcspn(url, "?#");
	const char *sym = memrchr(url, '/', n), *id = sym ? memrchr(url, '/', (size_t)(sym - url)) : NULL;
	const char *file = id ? memrchr(url, '/', (size_t)(id - url)) : NULL;

	if (!file || n < 4 || strncasecmp(url + n - 4, ".sym", 4) != 0)
		return false;
	/* A debug id has 33 digits at least, a code id never as many. */
	return sym - id - 1 >= 33 && debug_id_parse(&out->debug_id, id + 1, (size_t)(sym - id - 1)) == 0 &&
	       decode(file + 1, (size_t)(id - file - 1), out->debug_file, sizeof(out->debug_file)) &&
	       strcmp(out->debug_file, ".") != 0 && strcmp(out->debug_file, "..") != 0;
}

/* -ENOENT also where it has the file and does not redirect: then its path tells nothing. */
static int ask_source(struct fetch *f, const struct source *s, const char *path, const char *via,
	struct module *out)
{
	struct source_ask ask = {0};
	struct net_reply reply = {0};
	struct judgement j;
	int r = source_file(s, path, &ask);

	if (r == 0)
		r = why_ask(f, s, &ask, via, &reply);
	source_ask_release(&ask);
	if (r < 0)
		return -EHOSTUNREACH;
	source_judge(s, &reply, &j);
	if (j.verdict == VERDICT_FOUND)
		return read_url(reply.url, out) ? 0 : -ENOENT;
	return j.verdict == VERDICT_MISSING ? -ENOENT : -EHOSTUNREACH;
}

int fetch_locate(struct fetch *f, const char *path, const char *via, struct module *out)
{
	struct sources *so = fetch_sources(f);
	int answer = -ENOENT;

	for (unsigned i = 0; answer < 0 && i < so->n; i++) {
		int r = may_know(so->list[i]) ? ask_source(f, so->list[i], path, via, out) : -ENOENT;

		if (r != -ENOENT)
			answer = r;
	}
	sources_unref(so);
	return answer;
}
