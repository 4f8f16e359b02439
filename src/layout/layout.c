/* Rows read both ways, and the two-tier prefix. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "layout/layout.h"
#include "base/util.h"
#include "layout/layouts.h"
#include "layout/never.h"
#include "layout/pattern.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

const struct layout *layout_at(unsigned i)
{
	return layouts[i].name ? &layouts[i] : NULL;
}

const struct layout *layout_find(const char *name)
{
	for (const struct layout *l = layouts; l->name; l++)
		if (strcmp(l->name, name) == 0 || strcmp(l->folder, name) == 0)
			return l;
	return NULL;
}

int casing_find(const char *word)
{
	static const char *const words[] = {"default", "lowercase", "uppercase"};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -EINVAL;
}

/* Bytes of the first two characters (UTF-8) of a name, cut at a dot: "cr", "_" for "_.debug". */
static size_t tier_of(const char *name, size_t n)
{
	size_t at = 0;

	for (unsigned chars = 0; chars < 2 && at < n; chars++) {
		if (chars == 1 && name[at] == '.')
			break;
		at++;
		while (at < n && ((unsigned char)name[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

/* ---- printing ----------------------------------------------------------------------------- */

static bool row_fits(const struct layout_row *row, const struct artifact *a)
{
	return row->type == a->type && !(row->flags & ROW_ACCEPTED) &&
		(row->object == OBJECT_UNKNOWN || a->m.object == OBJECT_UNKNOWN ||
			row->object == a->m.object);
}

static int print_row(const struct layout *l, const struct layout_row *row, const struct module *m,
	struct buf *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	int r = pattern_print(row->pattern, m, &path);

	if (r < 0)
		return r;
	if (l->two_tier) {
		r = buf_add(out, path.p, tier_of(path.p, strcspn(path.p, "/")));
		if (r == 0)
			r = buf_adds(out, "/");
	}
	return r == 0 ? buf_add(out, path.p, path.n) : r;
}

static void change_case(char *p, size_t n, enum casing c)
{
	if (c == CASING_DEFAULT)
		return;
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(c == CASING_LOWER ? tolower((unsigned char)p[i])
						: toupper((unsigned char)p[i]));
}

int layout_path(const struct layout *l, const struct artifact *a, enum casing c, unsigned nth,
	struct buf *out)
{
	size_t start = out->n;

	for (const struct layout_row *row = l->rows; row->pattern; row++) {
		int r;

		if (!row_fits(row, a))
			continue;
		r = print_row(l, row, &a->m, out);
		if (r == 0 && nth == 0) {
			change_case(out->p + start, out->n - start, c);
			return 0;
		}
		if (r == 0)
			nth--;
		else if (r != -ENOENT)
			return r;
		out->n = start;
		if (out->p)
			out->p[start] = '\0';
	}
	return -ENOENT;
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool same_artifact(const struct artifact *a, const struct artifact *b)
{
	return a->type == b->type && strcmp(a->m.code_id, b->m.code_id) == 0 &&
		debug_id_equal(&a->m.debug_id, &b->m.debug_id) && strcmp(a->m.path, b->m.path) == 0 &&
		strcmp(a->m.code_file, b->m.code_file) == 0 &&
		strcmp(a->m.debug_file, b->m.debug_file) == 0;
}

static void add_candidate(struct layout_hit *out, const struct artifact *a)
{
	for (unsigned i = 0; i < out->n; i++)
		if (same_artifact(&out->files[i], a))
			return;
	if (out->n < LAYOUT_CANDIDATES)
		out->files[out->n++] = *a;
}

/* What the pattern cannot say: build ids are whole bytes, and more than one of them. */
static bool plausible(const struct artifact *a)
{
	size_t digits = strlen(a->m.code_id);

	return a->m.object != OBJECT_ELF || (digits >= 4 && digits % 2 == 0);
}

static void parse_rows(const struct layout *l, const char *path, struct layout_hit *out)
{
	struct artifact a;

	for (const struct layout_row *row = l->rows; row->pattern; row++) {
		unsigned what = pattern_parse(row->pattern, path, &a.m);

		if (what == LAYOUT_NONE)
			continue;
		if (what & LAYOUT_FILE) {
			a.type = row->type;
			a.m.object = row->object;
			if (!plausible(&a))
				continue;
			add_candidate(out, &a);
		}
		out->what |= what;
	}
}

static bool any_never(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (layout_never(path, n))
			return true;
		if (!path[n])
			return false;
		path += n + 1;
	}
}

/* "fo/foo.exe/…" -> "foo.exe/…". NULL when the tier is not that of the name. */
static const char *strip_tier(const char *path, bool *only_tier)
{
	size_t n = strcspn(path, "/"), name, tier;
	const char *rest = path + n + 1;

	*only_tier = path[n] == '\0';
	if (*only_tier)
		return n > 0 && tier_of(path, n) == n ? path : NULL;
	name = strcspn(rest, "/");
	tier = tier_of(rest, name);
	/* Other writers cut by bytes, or do not cut at a dot: two bytes of the name will do. */
	if ((tier == n || n == 2) && n <= name && strncasecmp(path, rest, n) == 0)
		return rest;
	return NULL;
}

static void parse_path(const struct layout *l, const char *path, struct layout_hit *out)
{
	bool only_tier = false;

	if (l->two_tier)
		path = strip_tier(path, &only_tier);
	if (!path)
		return;
	if (only_tier)
		out->what |= LAYOUT_DIR;
	else
		parse_rows(l, path, out);
}

void layout_parse(const struct layout *l, const char *path, struct layout_hit *out)
{
	size_t n = strlen(l->prefix);

	out->what = LAYOUT_NONE;
	out->n = 0;
	if (!*path) {
		out->what = LAYOUT_DIR;
		return;
	}
	if (strlen(path) >= LAYOUT_PATH_MAX)
		return;
	if (n && strncasecmp(path, l->prefix, n) == 0 && (path[n] == '/' || path[n] == '\0')) {
		if (path[n] == '\0') {
			out->what = LAYOUT_DIR;
			return;
		}
		path += n + 1;
	}
	/* A source's path may well end in what is never probed for elsewhere. */
	if (!any_never(path) || strcasestr(path, "/source/"))
		parse_path(l, path, out);
}
