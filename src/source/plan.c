/* Which paths of its layout a source is asked for: the layout's own, then the spellings that
 * real servers need. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/plan.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* Microsoft's tools fill short build ids up with zeros to 20 bytes; the file itself does not.
 * Variant 0 is the id as given. -ENOENT: the variant is none of its own. */
static int id_variant(const struct artifact *a, unsigned variant, struct artifact *out)
{
	size_t n = strlen(a->m.code_id);

	*out = *a;
	if (variant == 0)
		return 0;
	if (a->m.object != OBJECT_ELF)
		return -ENOENT;
	if (variant == 1 && n >= 16 && n < 40) {
		memset(out->m.code_id + n, '0', 40 - n);
		out->m.code_id[40] = '\0';
		return 0;
	}
	if (variant == 2 && n == 40) {
		while (n > 16 && strcmp(out->m.code_id + n - 2, "00") == 0)
			out->m.code_id[n -= 2] = '\0';
		return n < 40 ? 0 : -ENOENT;
	}
	return -ENOENT;
}

/* Whether the last part of the base is the prefix already: ".../buildid", "/usr/lib/.build-id". */
static bool ends_in_prefix(const char *base, const char *prefix)
{
	size_t n = strlen(base), p = strlen(prefix);

	while (n && base[n - 1] == '/')
		n--;
	return n > p && strncmp(base + n - p, prefix, p) == 0 && base[n - p - 1] == '/';
}

/* Prefix 0 is the usual one; 1 leaves it out, where stores exist both ways. */
static int add_prefix(const struct source *s, unsigned prefix, struct buf *out)
{
	const struct layout *l = s->layout;
	const char *base = s->o.url ? s->o.url : s->o.path;

	if (!l->prefix[0] || ends_in_prefix(base, l->prefix))
		return prefix == 0 ? 0 : -ENOENT;
	if (prefix == 0) {
		int r = buf_adds(out, l->prefix);

		return r == 0 ? buf_adds(out, "/") : r;
	}
	/* debuginfod's API is fixed: no server has it without. */
	return strcmp(l->name, "debuginfod") == 0 ? -ENOENT : 0;
}

/* One spelling: which of the ids, of the prefixes, of the layout's paths. */
struct spelling {
	unsigned id, prefix, path;
	bool compressed;
};

static void say_spelling(const struct source *s, const struct spelling *sp, char out[static 64])
{
	static const char *const ids[] = {"", ", id filled up", ", id cut"};
	static const char *const casings[] = {"", ", lower case", ", upper case"};

	snprintf(out, 64, "%s%s%s%s%s", s->layout->name, sp->prefix ? ", no prefix" : "",
		ids[sp->id], casings[s->casing], sp->compressed ? ", compressed" : "");
}

static int print_spelling(const struct source *s, const struct artifact *v, struct spelling *sp,
	struct buf *out)
{
	int r;

	buf_clear(out);
	r = add_prefix(s, sp->prefix, out);
	return r == 0 ? layout_server_path(s->layout, v, s->casing, sp->path, out, &sp->compressed)
		      : r;
}

/* A casing makes one of two spellings, and a server is asked once. */
static bool said_before(const struct source *s, const struct artifact *v, const struct spelling *sp,
	const struct buf *path)
{
	_cleanup_buf_ struct buf earlier = BUF_UP_TO(LAYOUT_PATH_MAX);
	struct spelling e = {.prefix = sp->prefix};

	for (; e.path < sp->path; e.path++)
		if (print_spelling(s, v, &e, &earlier) == 0 &&
			strcmp(buf_text(&earlier), buf_text(path)) == 0)
			return true;
	return false;
}

/* The paths with one id and one prefix. 1: the wanted one is among them, else *nth counts down. */
static int plan_paths(const struct source *s, const struct artifact *v, struct spelling *sp,
	unsigned *nth, struct buf *out)
{
	for (sp->path = 0;; sp->path++) {
		int r = print_spelling(s, v, sp, out);

		if (r < 0)
			return r == -ENOENT ? 0 : r;
		if (!said_before(s, v, sp, out) && (*nth)-- == 0)
			return 1;
	}
}

int plan_path(const struct source *s, const struct artifact *a, unsigned nth, struct buf *out,
	char spelling[static 64])
{
	struct spelling sp = {0};
	struct artifact v;
	int r;

	if (!source_allows(s, a))
		return -ENOENT;
	for (sp.id = 0; sp.id < 3; sp.id++) {
		if (id_variant(a, sp.id, &v) < 0)
			continue;
		for (sp.prefix = 0; sp.prefix < 2; sp.prefix++) {
			r = plan_paths(s, &v, &sp, &nth, out);
			if (r < 0)
				return r;
			if (r > 0) {
				say_spelling(s, &sp, spelling);
				return 0;
			}
		}
	}
	return -ENOENT;
}
