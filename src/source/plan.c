/* Plans the paths that a source is asked for: the paths of its layout, then the spellings that real servers
 * need. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/plan.h"
#include "source/admin.h"
#include "base/util.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SAID_MOST (64 * LAYOUT_PATH_MAX)

/* Makes a variant of a PE file's id: trimmed, as the request has it, padded. Few tools pad the size in the id with
 * zeros. */
static int pe_variant(const struct artifact *a, unsigned variant, struct artifact *out)
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
	if (variant != 2 || n <= 8 || n >= 16 || strlen(a->m.code_id) == 16)
		return -ENOENT;
	memmove(out->m.code_id + 24 - n, out->m.code_id + 8, n - 8 + 1);
	memset(out->m.code_id + 8, '0', 16 - n);
	return 0;
}

/* Makes a variant of the id: Microsoft's tools pad short build ids with zeros to 20 bytes; the file itself
 * has the short id. Variant 0 is the id as given. -ENOENT: the id has no such variant. */
static int id_variant(const struct artifact *a, unsigned variant, struct artifact *out)
{
	size_t n = strlen(a->m.code_id);

	*out = *a;
	if (a->type == FILETYPE_PE || (filetypes[a->type].flags & TYPE_PE_ID && n <= 16))
		return pe_variant(a, variant, out);
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

/* Adds the layout's prefix (`prefix` 0), or leaves it out (1) for layouts whose stores exist with and
 * without it. */
static int add_prefix(const struct source *s, unsigned prefix, struct buf *out)
{
	const struct layout *l = s->layout;
	const char *base = s->o.url ? s->o.url : s->o.path;

	if (!l->prefix[0] || ends_in_prefix(base, l->prefix))
		return prefix == 0 ? 0 : -ENOENT;
	if (prefix == 0)
		return buf_addf(out, "%s/", l->prefix);
	return l->flags & LAYOUT_FIXED_PREFIX ? -ENOENT : 0;
}

/* The letter case of a path, in the order to try. */
enum plan_casing {
	PLAN_AS_GIVEN,	 /* the name as the request has it, ids as the layout writes them */
	PLAN_LOWER_NAME, /* a Windows name in lower case */
	PLAN_LOWER,	 /* the whole path in lower case */
	PLAN_TAUGHT,	 /* as in the source's own index, or with the names of earlier files */
	PLAN_CASINGS
};

/* One spelling of a path: the variants of id, prefix and letter case, and the number of the layout's path. */
struct spelling {
	const struct layout *layout;
	unsigned id, prefix, path;
	enum plan_casing casing;
	struct layout_spelling shown;
	bool ptr;
};

/* The state of planning the requests of one artifact, up to the wanted request. */
struct plan {
	const struct source *s;
	const struct source_facts *facts; /* NULL: none */
	struct spelling sp;
	bool late; /* the paths have an id that the source is asked for only when all other paths are missing */
	unsigned left; /* requests before the wanted request */
	struct buf *out;
	struct buf said; /* the requests so far, each with its NUL */
};

static void describe_spelling(const struct plan *p, char out[static 64])
{
	static const char *const ids[] = {"", ", id padded", ", id cut"};
	static const char *const words[] = {"", ", lower case", ", upper case"};
	static const char *const casings[] = {"", ", name in lower case", ", in lower case", ", as known"};
	const struct spelling *sp = &p->sp;

	snprintf(out, 64, "%s%s%s%s%s%s%s", sp->layout->name, sp->prefix ? ", no prefix" : "", ids[sp->id],
		words[p->s->casing], casings[sp->casing], sp->shown.compressed ? ", compressed" : "",
		sp->ptr ? ", file.ptr" : "");
}

/* Returns the code of a spelling, never 0. Two files of one type with the same code are spelled alike. */
static uint16_t code_of(const struct spelling *sp)
{
	return (uint16_t)(1u << 15 | MIN(sp->shown.row, 63u) << 9 | MIN(sp->shown.tier, 3u) << 7 |
		(unsigned)sp->casing << 5 | sp->id << 3 | (sp->prefix ? 1u << 2 : 0) |
		(sp->shown.compressed ? 1u << 1 : 0) | sp->ptr);
}

/* Whether the source is asked for a padded PE id only at last. It is not if it had a file with such an id, or if its
 * index says which ids it has. */
static bool is_late(const struct plan *p, enum filetype type)
{
	return p->sp.id == 2 && filetypes[type].flags & TYPE_PE_ID && !p->s->kind->local &&
		!(p->facts && (p->facts->admin || (p->facts->taught.spelling[type] >> 3 & 3) == 2));
}

/* Whether a late path is spelled as earlier files were, or else as given: no other late path is asked for. */
static bool is_alike(const struct plan *p, enum filetype type)
{
	const struct source_taught none = {{0}}, *t = p->facts ? &p->facts->taught : &none;
	unsigned like = t->spelling[type] ? t->spelling[type] : t->last, differs = code_of(&p->sp) ^ like;

	return !(differs & 7) &&
		(!(differs & 0x60) || (p->sp.casing == PLAN_AS_GIVEN && (like >> 5 & 3) == PLAN_TAUGHT));
}

unsigned source_likeness(const struct source_taught *t, enum filetype type, uint16_t code)
{
	uint16_t like = t->spelling[type] ? t->spelling[type] : t->last;
	unsigned mask = t->spelling[type] ? 0x7fff : 0x01ff, equal;

	if (!like)
		return 0;
	equal = ~(unsigned)(like ^ code) & mask;
	if (equal == mask)
		return 16;
	/* the terms, in this order: compressed, prefix, casing, id, tier, row */
	return (equal & 2 ? 4 : 0) + (equal & 4 ? 4 : 0) + ((equal & 0x60) == 0x60 ? 3 : 0) +
		((equal & 0x18) == 0x18 ? 1 : 0) + ((equal & 0x180) == 0x180 ? 1 : 0) +
		((equal & 0x7e00) == 0x7e00 ? 2 : 0);
}

void source_teach(struct source_taught *t, enum filetype type, const struct source_ask *ask)
{
	uint16_t code = ask->code, before = t->spelling[type] ? t->spelling[type] : t->last;

	/* A name without capitals says nothing about the case. */
	if (ask->any_case && before)
		code = (uint16_t)((code & ~0x60) | (before & 0x60));
	t->spelling[type] = t->last = code;
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

/* Sections and source paths are case-sensitive. */
static bool has_own_case(enum filetype t)
{
	return t == FILETYPE_SECTION || t == FILETYPE_SOURCE;
}

static int take_name(char out[static MODULE_NAME_MAX], const char *name)
{
	if (!name || strcmp(out, name) == 0)
		return 0;
	snprintf(out, MODULE_NAME_MAX, "%s", name);
	return 1;
}

/* Changes the artifact's names to a casing. Windows ignores case in names, but many stores are on
 * case-sensitive disks. -ENOENT: nothing differs from the names as given. */
static int name_variant(const struct plan *p, enum plan_casing casing, struct artifact *v)
{
	enum object_type object = filetypes[v->type].object;
	bool windows = object == OBJECT_PE || object == OBJECT_PE_DOTNET;
	bool code, debug;

	if (casing == PLAN_AS_GIVEN)
		return 0;
	if (p->s->one_casing || has_own_case(v->type))
		return -ENOENT;
	if (casing == PLAN_LOWER)
		return 0;
	if (casing == PLAN_TAUGHT) {
		if (!p->facts)
			return -ENOENT;
		code = take_name(v->m.code_file, p->facts->code_file);
		debug = take_name(v->m.debug_file, p->facts->debug_file);
		return code || debug || p->facts->admin ? 0 : -ENOENT;
	}
	if (!windows || !(p->s->layout->flags & LAYOUT_WINDOWS_NAMES))
		return -ENOENT;
	code = lower(v->m.code_file);
	debug = lower(v->m.debug_file);
	return code || debug ? 0 : -ENOENT;
}

/* Copies the letters of `like` to the text, up to the first that differs in more than case. */
static void take_case(char *text, const char *like, size_t n)
{
	for (size_t i = 0; i < n && text[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)like[i]);
		i++)
		text[i] = like[i];
}

/* Changes the case of the last part of the path, which is not in the index. The extension of that part may
 * differ from the name's extension: Foo.src.zip. */
static void take_file_case(char *file, const char *name, size_t n)
{
	bool lower = false;

	for (size_t i = 0; i < n; i++)
		lower |= name[i] >= 'a' && name[i] <= 'z';
	for (size_t i = 0; !lower && file[i]; i++)
		file[i] = (char)toupper((unsigned char)file[i]);
	take_case(file, name, n);
}

static void change_id(char *id, size_t n, enum admin_case to)
{
	/* ADMIN_LOWER_UPPER: the time of a PE file or the GUID of a PDB becomes lower case, and the digits
	 * after it upper case. */
	size_t lower = to == ADMIN_UPPER ? 0 : to == ADMIN_LOWER ? n : n <= 16 ? 8 : 32;

	if (to == ADMIN_AS_LAYOUT)
		return;
	for (size_t i = 0; i < n; i++)
		id[i] = (char)(i < lower ? tolower((unsigned char)id[i]) : toupper((unsigned char)id[i]));
}

/* Changes NAME/ID/FILE to the letter case that the source's index has. */
static void as_listed(const struct plan *p, struct buf *path)
{
	bool tiers = p->sp.layout->flags & LAYOUT_TWO_TIER;
	char *name = path->p, *id, spelled[MODULE_NAME_MAX];
	const char *listed;
	size_t n;
	int found;

	if (name && tiers)
		name = strchr(name, '/') ? strchr(name, '/') + 1 : NULL;
	found = name ? admin_case(p->facts->admin, name) : -ENOENT;
	n = name ? strcspn(name, "/") : 0;
	if (found < 0 || n >= sizeof(spelled))
		return;
	snprintf(spelled, sizeof(spelled), "%.*s", (int)n, name);
	listed = admin_name(p->facts->admin, spelled);
	for (size_t i = 0; i < n; i++)
		name[i] = listed ? listed[i] : (char)tolower((unsigned char)name[i]);
	id = name + n + 1;
	change_id(id, strcspn(id, "/"), (enum admin_case)found);
	if (tiers)
		take_case(path->p, name, n);
	if (strchr(id, '/'))
		take_file_case(strchr(id, '/') + 1, name, n);
}

static int print_spelling(struct plan *p, const struct artifact *v, struct buf *out)
{
	struct spelling *sp = &p->sp;
	enum casing casing = sp->casing == PLAN_LOWER ? CASING_LOWER : p->s->casing;
	int r;

	buf_clear(out);
	r = add_prefix(p->s, sp->prefix, out);
	if (r == 0)
		r = layout_server_path(sp->layout, v, casing, sp->path, out, &sp->shown);
	if (r == 0 && sp->casing == PLAN_TAUGHT && p->facts->admin)
		as_listed(p, out);
	return r;
}

/* Writes the path of file.ptr, which can be in place of the file and names the real path. -ENOENT: this
 * source is not asked for a file.ptr. */
static int print_ptr(struct plan *p, const struct artifact *v)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	const char *slash;
	int r;

	if (!p->s->o.ptr_map || !(p->sp.layout->flags & LAYOUT_SYMBOL_STORE))
		return -ENOENT;
	p->sp.path = 0;
	r = print_spelling(p, v, &path);
	if (r < 0)
		return r;
	p->sp.shown.compressed = false;
	p->sp.ptr = true;
	buf_clear(p->out);
	slash = strrchr(buf_text(&path), '/');
	return slash ? buf_addf(p->out, "%.*s/file.ptr", (int)(slash - buf_text(&path)), buf_text(&path))
		     : -ENOENT;
}

/* Whether the store may have the path: false if its own index (000Admin) does not list it. */
static bool is_listed(const struct plan *p)
{
	const char *path = buf_text(p->out);

	if (!p->facts || !p->facts->admin)
		return true;
	if (p->sp.layout->flags & LAYOUT_TWO_TIER && strchr(path, '/'))
		path = strchr(path, '/') + 1;
	return admin_has(p->facts->admin, path);
}

/* Whether an earlier path is the same: a casing can make two spellings equal, and a server is asked once. */
static bool is_repeated(const struct plan *p)
{
	for (size_t at = 0; at < p->said.n; at += strlen(p->said.p + at) + 1)
		if (strcmp(p->said.p + at, buf_text(p->out)) == 0)
			return true;
	return false;
}

/* 1: the path in p->out is the wanted path; 0: it is not; -errno. */
static int plan_one(struct plan *p, enum filetype type)
{
	if (!is_listed(p) || is_repeated(p) || (p->late && !is_alike(p, type)))
		return 0;
	return p->left-- == 0 ? 1 : buf_add(&p->said, buf_text(p->out), p->out->n + 1);
}

/* Goes through the paths with one id, one prefix and one casing. 1: p->out has the wanted path; 0: the
 * wanted path is not among these paths. */
static int plan_paths(struct plan *p, const struct artifact *v)
{
	int r = 0;

	p->sp.ptr = false;
	for (p->sp.path = 0; r == 0 && (r = print_spelling(p, v, p->out)) == 0; p->sp.path++)
		r = plan_one(p, v->type);
	if (r == -ENOENT)
		r = print_ptr(p, v);
	else
		return r;
	if (r == 0)
		r = plan_one(p, v->type);
	return r == -ENOENT ? 0 : r;
}

static int plan_casing(struct plan *p, const struct artifact *a, enum plan_casing casing)
{
	struct artifact v = *a;
	int r = name_variant(p, casing, &v);

	p->sp.casing = casing;
	if (r == 0)
		r = plan_paths(p, &v);
	return r == -ENOENT ? 0 : r;
}

/* Like plan_paths(), for all prefixes and casings with one id, in the order to try. If the source has an
 * index of its files, the spelling in the index comes first. */
static int plan_id(struct plan *p, const struct artifact *a)
{
	bool listed = p->facts && p->facts->admin;
	int r = 0;

	for (p->sp.prefix = 0; r == 0 && p->sp.prefix < 2; p->sp.prefix++) {
		if (listed)
			r = plan_casing(p, a, PLAN_TAUGHT);
		for (enum plan_casing c = 0; r == 0 && c < PLAN_CASINGS; c++)
			r = plan_casing(p, a, c);
		if (r == 1)
			break;
	}
	return r;
}

static bool has_capitals(const struct artifact *a)
{
	return strpbrk(a->m.code_file, CAPITALS) || strpbrk(a->m.debug_file, CAPITALS);
}

/* Goes through the paths of all ids. 1: p->out is the wanted path; 0: there is no such path; -errno. */
static int plan_ids(struct plan *p, const struct artifact *a)
{
	struct artifact v;
	int r = 0;

	p->sp.layout = source_layout(p->s, p->facts);
	p->said = BUF_UP_TO(SAID_MOST);
	if (!source_allows(p->s, a))
		return 0;
	for (p->sp.id = 0; r == 0 && p->sp.id < 3; p->sp.id++) {
		if (id_variant(a, p->sp.id, &v) < 0)
			continue;
		p->late = is_late(p, a->type);
		r = plan_id(p, &v);
		if (r == 1)
			break;
	}
	return r;
}

int plan_path(const struct source *s, const struct source_facts *facts, const struct artifact *a,
	unsigned nth, struct buf *out, struct source_ask *ask)
{
	struct plan p = {.s = s, .facts = facts, .left = nth, .out = out};
	int r = plan_ids(&p, a);

	buf_release(&p.said);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	describe_spelling(&p, ask->spelling);
	ask->ptr = p.sp.ptr;
	ask->late = p.late;
	ask->code = code_of(&p.sp);
	ask->any_case = !has_capitals(a);
	ask->as_given = p.sp.casing == PLAN_AS_GIVEN;
	return 0;
}

int source_paths(const struct source *s, const struct source_facts *facts, const struct artifact *a, struct buf *out)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	struct plan p = {.s = s, .facts = facts, .out = &path, .left = UINT_MAX};
	int r = plan_ids(&p, a);

	*out = p.said;
	return r;
}
