/* Plans the paths that a source is asked for: those of its layout, then the spellings that
 * real servers need. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/plan.h"
#include "source/admin.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* Makes a variant of a PE file's id. Few tools pad the size in the id with zeros. So a server is asked for a
 * padded id only if the request has one; a look in a directory costs nothing. */
static int pe_variant(const struct source *s, const struct artifact *a, unsigned variant, struct artifact *out)
{
	size_t n;

	pe_id_trim(out->m.code_id);
	n = strlen(out->m.code_id);
	if (variant == 0)
		return 0;
	if (variant == 1 && strcmp(a->m.code_id, out->m.code_id) != 0) {
		*out = *a;
		return 0;
	}
	if (variant != 2 || !s->kind->local || n <= 8 || n >= 16 || strlen(a->m.code_id) == 16)
		return -ENOENT;
	memmove(out->m.code_id + 24 - n, out->m.code_id + 8, n - 8 + 1);
	memset(out->m.code_id + 8, '0', 16 - n);
	return 0;
}

/* Makes a variant of the id: Microsoft's tools pad short build ids with zeros to 20 bytes, which the file
 * itself does not. Variant 0 is the id as given. -ENOENT: the id has no such variant. */
static int id_variant(const struct source *s, const struct artifact *a, unsigned variant, struct artifact *out)
{
	size_t n = strlen(a->m.code_id);

	*out = *a;
	if (a->type == FILETYPE_PE || (filetype_is(a->type, TYPE_PE_ID) && n <= 16))
		return pe_variant(s, a, variant, out);
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

/* Whether the base already ends in the prefix: ".../buildid", "/usr/lib/.build-id". */
static bool ends_in_prefix(const char *base, const char *prefix)
{
	size_t n = strlen(base), p = strlen(prefix);

	while (n && base[n - 1] == '/')
		n--;
	return n > p && strncmp(base + n - p, prefix, p) == 0 && base[n - p - 1] == '/';
}

/* Adds the layout's prefix (`prefix` 0), or leaves it out (1) for layouts whose stores exist both ways. */
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
	return l->flags & LAYOUT_FIXED_PREFIX ? -ENOENT : 0;
}

/* One spelling of a path: the variants of id, prefix and name, and the number of the layout's path. */
struct spelling {
	const struct layout *layout;
	unsigned id, prefix, path;
	bool lower, compressed, ptr;
};

static void describe_spelling(const struct source *s, const struct spelling *sp, char out[static 64])
{
	static const char *const ids[] = {"", ", id padded", ", id cut"};
	static const char *const casings[] = {"", ", lower case", ", upper case"};

	snprintf(out, 64, "%s%s%s%s%s%s%s", sp->layout->name, sp->prefix ? ", no prefix" : "",
		ids[sp->id], casings[s->casing], sp->lower ? ", name in lower case" : "",
		sp->compressed ? ", compressed" : "", sp->ptr ? ", file.ptr" : "");
}

const struct layout *source_layout(const struct source *s, const struct source_facts *facts)
{
	return facts && facts->two_tier && s->layout->tiered ? layout_find(s->layout->tiered) : s->layout;
}

static bool lower(char *text)
{
	bool any = false;

	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z') {
			*text |= 0x20;
			any = true;
		}
	return any;
}

/* Makes the name as given, or in lower case. Windows ignores case in names, but many of its stores are on
 * case-sensitive disks, with either spelling. -ENOENT: the two do not differ. */
static int name_variant(const struct source *s, bool lower_case, struct artifact *v)
{
	enum object_type object = filetype_row(v->type)->object;
	bool windows = object == OBJECT_PE || object == OBJECT_PE_DOTNET;
	bool code, debug;

	if (!lower_case)
		return 0;
	if (!windows || s->casing != CASING_DEFAULT || !(s->layout->flags & LAYOUT_WINDOWS_NAMES))
		return -ENOENT;
	code = lower(v->m.code_file);
	debug = lower(v->m.debug_file);
	return code || debug ? 0 : -ENOENT;
}

static int print_spelling(const struct source *s, const struct artifact *v, struct spelling *sp,
	struct buf *out)
{
	int r;

	buf_clear(out);
	r = add_prefix(s, sp->prefix, out);
	return r == 0 ? layout_server_path(sp->layout, v, s->casing, sp->path, out, &sp->compressed)
		      : r;
}

/* Whether an earlier path is the same: a casing can make two spellings equal, and a server is asked once. */
static bool is_repeated(const struct source *s, const struct artifact *v, const struct spelling *sp,
	const struct buf *path)
{
	_cleanup_buf_ struct buf earlier = BUF_UP_TO(LAYOUT_PATH_MAX);
	struct spelling e = {.layout = sp->layout, .prefix = sp->prefix};

	for (; e.path < sp->path; e.path++)
		if (print_spelling(s, v, &e, &earlier) == 0 &&
			strcmp(buf_text(&earlier), buf_text(path)) == 0)
			return true;
	return false;
}

/* Writes the path of file.ptr, which can be in place of the file and names the real path. -ENOENT: this
 * source is not asked for it. */
static int print_ptr(const struct source *s, const struct artifact *v, struct spelling *sp,
	struct buf *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	const char *slash;
	int r;

	if (!s->o.ptr_map || !(sp->layout->flags & LAYOUT_SYMBOL_STORE))
		return -ENOENT;
	sp->path = 0;
	r = print_spelling(s, v, sp, &path);
	if (r < 0)
		return r;
	sp->compressed = false;
	sp->ptr = true;
	buf_clear(out);
	slash = strrchr(buf_text(&path), '/');
	return slash ? buf_addf(out, "%.*s/file.ptr", (int)(slash - buf_text(&path)), buf_text(&path))
		     : -ENOENT;
}

/* Whether the store may have the path: false if its own index (000Admin) does not list it. */
static bool is_listed(const struct source_facts *facts, const struct spelling *sp, const struct buf *path)
{
	const char *p = buf_text(path);

	if (!facts || !facts->admin)
		return true;
	if (sp->layout->flags & LAYOUT_TWO_TIER && strchr(p, '/'))
		p = strchr(p, '/') + 1;
	return admin_has(facts->admin, p);
}

/* Goes through the paths with one id, one prefix and one name, and counts *nth down. 1: `out` has the wanted
 * path; 0: it is not among them. */
static int plan_paths(const struct source *s, const struct source_facts *facts, const struct artifact *v,
	struct spelling *sp, unsigned *nth, struct buf *out)
{
	int r;

	sp->ptr = false;
	for (sp->path = 0; (r = print_spelling(s, v, sp, out)) == 0; sp->path++)
		if (is_listed(facts, sp, out) && !is_repeated(s, v, sp, out) && (*nth)-- == 0)
			return 1;
	if (r == -ENOENT)
		r = print_ptr(s, v, sp, out);
	if (r == 0 && is_listed(facts, sp, out) && (*nth)-- == 0)
		return 1;
	return r == -ENOENT ? 0 : r;
}

/* Like plan_paths(), for all prefixes and names with one id, in the order to try. */
static int plan_id(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	struct spelling *sp, unsigned *nth, struct buf *out)
{
	for (sp->prefix = 0; sp->prefix < 2; sp->prefix++)
		for (unsigned lower_case = 0; lower_case < 2; lower_case++) {
			struct artifact v = *a;
			int r = name_variant(s, lower_case, &v);

			sp->lower = lower_case;
			if (r == 0)
				r = plan_paths(s, facts, &v, sp, nth, out);
			if (r != 0 && r != -ENOENT)
				return r;
		}
	return 0;
}

int plan_path(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct buf *out, struct source_ask *ask)
{
	struct spelling sp = {.layout = source_layout(s, facts)};
	struct artifact v;
	int r;

	if (!source_allows(s, a))
		return -ENOENT;
	for (sp.id = 0; sp.id < 3; sp.id++) {
		if (id_variant(s, a, sp.id, &v) < 0)
			continue;
		r = plan_id(s, facts, &v, &sp, &nth, out);
		if (r < 0)
			return r;
		if (r > 0) {
			describe_spelling(s, &sp, ask->spelling);
			ask->ptr = sp.ptr;
			return 0;
		}
	}
	return -ENOENT;
}
