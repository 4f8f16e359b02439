/* Finds names of functions: the linkage name, or the name qualified with the names of its scopes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "base/util.h"
#include "formats/dwarf/batch.h"
#include "formats/dwarf/walk.h"

/* The longest chain of references. Usually it has at most three steps: from an inlined call to its origin and
 * its declaration. */
#define CHAIN_MOST 16
#define PARTS_MOST 64
#define NAME_MOST (1u << 20)

/* The place of an entry. A look-up that opens a unit can close the unit of an earlier look-up. So between
 * look-ups only places are kept. */
struct place {
	const struct dwarf_file *file;
	uint64_t at;
};

/* An entry and its unit; valid until the next look-up. */
struct spot {
	const struct dwarf_unit *unit;
	struct dwarf_foreign *foreign; /* NULL: the unit is that of the walker */
	struct dwarf_die die;
};

static struct dwarf_foreign *open_foreign(
	struct dwarf_walker *w, const struct dwarf_file *f, const struct dwarf_head *h)
{
	uint64_t hash = (h->at ^ (uintptr_t)f >> 4) * 0x9e3779b97f4a7c15;
	struct dwarf_foreign **slot = &w->reader.foreign[hash >> 32 & (DWARF_FOREIGN - 1)];
	struct dwarf_foreign *x = *slot;

	if (x && x->unit.head == h)
		return x;
	if (!x)
		x = *slot = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	dwarf_unit_close(&x->unit);
	x->scopes.n = 0;
	x->scanned = false;
	if (dwarf_unit_open(&x->unit, &w->reader, f, h, NULL) < 0)
		x->unit.head = NULL;
	return x->unit.head ? x : NULL;
}

/* The unit that contains this offset; NULL: no unit does. */
static const struct dwarf_head *unit_at(const struct dwarf_file *f, uint64_t off)
{
	size_t from = search_first(i, 0, f->n_units, f->units[i].end <= off);

	return from < f->n_units && f->units[from].at <= off ? &f->units[from] : NULL;
}

static bool look(struct dwarf_walker *w, struct place p, struct spot *out)
{
	const struct dwarf_head *own = w->unit->head, *h;

	out->foreign = NULL;
	out->unit = w->unit;
	if (p.file != w->unit->file || p.at < own->at || p.at >= own->end) {
		h = unit_at(p.file, p.at);
		out->foreign = h ? open_foreign(w, p.file, h) : NULL;
		out->unit = out->foreign ? &out->foreign->unit : NULL;
	}
	return out->unit && dwarf_die_at(out->unit, p.at, &out->die);
}

/* The entry that this one completes: its declaration or abstract origin. */
static bool origin_of(const struct spot *s, struct place *out)
{
	enum dwarf_field f = die_has(&s->die, AT_SPEC) ? AT_SPEC : AT_ORIGIN;

	return die_has(&s->die, f) &&
	       dwarf_reference(s->unit, &s->die.v[f], &out->file, &out->at);
}

static const char *text_of(const struct spot *s, enum dwarf_field f)
{
	const char *text = die_has(&s->die, f) ? dwarf_text(s->unit, &s->die.v[f]) : NULL;

	return text && text[0] ? text : NULL;
}

static const char *short_name(struct dwarf_walker *w, struct place p)
{
	const char *name = NULL;
	struct spot s;

	for (unsigned i = 0; i < CHAIN_MOST && !name && look(w, p, &s); i++) {
		name = text_of(&s, AT_NAME);
		if (!origin_of(&s, &p))
			break;
	}
	return name;
}

/* ---- scopes ---------------------------------------------------------------------------- */

static bool is_context(unsigned tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_class_type || tag == DW_TAG_subprogram;
}

/* Finds the scopes of a unit. 0, -ENOMEM. */
static int find_scopes(const struct dwarf_unit *u, struct dwarf_scopes *out)
{
	_cleanup_free_ struct walk *k = walk_new(u, out);
	int r;

	if (!k)
		return -ENOMEM;
	r = u->children ? walk_entries(k) : 0;
	return r == -EBADMSG ? 0 : r;
}

static const struct dwarf_scopes *scopes_of(struct dwarf_walker *w, const struct spot *s)
{
	struct dwarf_foreign *x = s->foreign;

	if (!x)
		return &w->scopes;
	if (!x->scanned) {
		x->scanned = true;
		if (find_scopes(&x->unit, &x->scopes) < 0)
			x->scopes.n = 0;
	}
	return &x->scopes;
}

/* The innermost scope around an entry that is not a block. NULL: that scope is the unit, or is not
 * part of names. */
static const struct dwarf_scope *scope_around(const struct dwarf_scopes *all, uint64_t at)
{
	size_t from = search_first(k, 0, all->n, all->all[k].at < at);
	uint32_t i = from ? (uint32_t)from - 1 : UINT32_MAX; /* the last scope before the entry */

	while (i != UINT32_MAX &&
		(all->all[i].end <= at || all->all[i].tag == DW_TAG_lexical_block))
		i = all->all[i].parent;
	return i != UINT32_MAX && is_context(all->all[i].tag) ? &all->all[i] : NULL;
}

/* Finds the scope that qualifies the name of an entry. If the entry completes a declaration, the scope of the
 * declaration takes precedence. The caller around an inlined call does not qualify its name. */
static bool find_context(struct dwarf_walker *w, struct place p, struct place *out, unsigned deep)
{
	const struct dwarf_scope *scope;
	struct place origin;
	struct spot s;

	if (deep >= CHAIN_MOST || !look(w, p, &s))
		return false;
	if (origin_of(&s, &origin)) {
		if (find_context(w, origin, out, deep + 1))
			return true;
		if (!look(w, p, &s))
			return false;
	}
	if (s.die.abbrev->tag == DW_TAG_inlined_subroutine)
		return false;
	scope = scope_around(scopes_of(w, &s), p.at);
	if (scope)
		*out = (struct place){p.file, scope->at};
	return scope;
}

static int qualified(struct dwarf_walker *w, struct place at, const char *name, const char **out)
{
	const char *parts[PARTS_MOST];
	size_t n = 0, len = strlen(name) + 1;
	char *text, *p;

	/* The limit ends the loop if broken references form a circle. */
	for (unsigned i = 0; i < PARTS_MOST && find_context(w, at, &at, 0); i++) {
		const char *part = short_name(w, at);

		if (!part || len + strlen(part) + 2 > NAME_MOST)
			continue;
		parts[n++] = part;
		len += strlen(part) + 2;
	}
	*out = name;
	if (!n)
		return 0;
	p = text = batch_text(w->out, len);
	if (!text)
		return -ENOMEM;
	while (n--) {
		const char *part = parts[n];
		size_t k = strlen(part);

		memcpy(p, part, k);
		if (part[0] == '<' && part[k - 1] == '>') { /* <lambda(int)> */
			p[0] = '{';
			p[k - 1] = '}';
		}
		memcpy(p + k, "::", 2);
		p += k + 2;
	}
	memcpy(p, name, strlen(name) + 1);
	*out = text;
	return 0;
}

/* Whether names get their scopes: in C++ and similar languages. Also in C, because some C++ programs are
 * marked as C. */
static bool is_qualified(unsigned language, const char *name)
{
	static const uint16_t languages[] = {0x02, 0x04, 0x11, 0x1a, 0x19, 0x21, 0x2a, 0x2b, 0x3a};
	bool any = false;

	for (unsigned i = 0; i < ARRAY_SIZE(languages); i++)
		any = any || languages[i] == language;
	return any && !(name[0] == '_' && name[1] == 'Z' &&
			      (strstr(name, ".isra.") || strstr(name, ".part.")));
}

static int find_name(struct dwarf_walker *w, struct batch_name *n)
{
	struct place p = {n->file, n->at};
	const char *name = NULL;
	struct spot s;

	n->text = NULL;
	for (unsigned i = 0; i < CHAIN_MOST && look(w, p, &s); i++) {
		const char *linkage = text_of(&s, AT_LINKAGE);

		if (linkage) {
			n->text = linkage;
			return 0;
		}
		name = name ? name : text_of(&s, AT_NAME);
		if (!origin_of(&s, &p))
			break;
	}
	n->text = name;
	if (!name || !is_qualified(w->unit->language, name))
		return 0;
	return qualified(w, (struct place){n->file, n->at}, name, &n->text);
}

int dwarf_find_names(struct dwarf_walker *w)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->out->n_names; i++)
		r = find_name(w, &w->out->names[i]);
	return r;
}

bool dwarf_declared(struct dwarf_walker *w, const struct dwarf_die *d, uint64_t *file,
	uint64_t *line)
{
	struct spot s = {.unit = w->unit, .die = *d};
	bool has_file = false, has_line = false;
	struct place p;

	for (unsigned i = 0; i < CHAIN_MOST && !s.foreign; i++) {
		if (!has_file && die_has(&s.die, AT_DECL_FILE))
			has_file = dwarf_number(&s.die.v[AT_DECL_FILE], file);
		if (!has_line && die_has(&s.die, AT_DECL_LINE))
			has_line = dwarf_number(&s.die.v[AT_DECL_LINE], line);
		if ((has_file && has_line) || !origin_of(&s, &p) || !look(w, p, &s))
			break;
	}
	return has_file && has_line;
}
