/* Paths of a layout: prints them for an artifact, and reads them back, by the layout's rows. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names/layout/layout.h"
#include "base/util.h"
#include "names/layout/layouts.h"
#include "names/layout/name.h"
#include "names/layout/rows.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- two tiers ---------------------------------------------------------------------- */

/* The ways in which writers of stores derive the first-tier directory from a name. */
enum tier { TIER_CHARACTERS, TIER_BYTES, TIER_UNTRIMMED, TIERS };

/* The number of bytes in the first two characters (UTF-8) of a name, without a dot at their end: "cr" of
 * "crash.pdb", "_" of "_.debug". Some writers take two bytes, and omit the directory if that would split a
 * character. Some keep the dot. */
static size_t tier_of(const char *name, size_t n, enum tier tier)
{
	size_t at = 0;

	for (unsigned chars = 0; chars < 2 && at < n; chars++) {
		if (chars == 1 && name[at] == '.' && tier != TIER_UNTRIMMED)
			break;
		at++;
		while (at < n && ((unsigned char)name[at] & 0xc0) == 0x80)
			at++;
		if (tier == TIER_BYTES && at >= 2)
			return at == 2 ? at : 0;
	}
	return at;
}

size_t layout_tier(const char *name)
{
	return tier_of(name, strlen(name), TIER_CHARACTERS);
}

/* ---- printing ----------------------------------------------------------------------- */

static bool object_fits(const struct layout_row *row, const struct artifact *a)
{
	enum object_type object = a->m.object;

	if (row->object == OBJECT_UNKNOWN)
		return !(row->flags & ROW_NO_WASM) || object != OBJECT_WASM;
	/* A .NET PE counts as a PE; only its source bundle has paths of its own. */
	if (object == OBJECT_PE_DOTNET && a->type != FILETYPE_SOURCEBUNDLE &&
		row->object == OBJECT_PE)
		return true;
	return object == OBJECT_UNKNOWN || object == row->object;
}

static bool has_name(const struct layout_row *row)
{
	return strstr(row->pattern, "{code_file") || strstr(row->pattern, "{debug_file");
}

static bool row_fits(const struct layout_row *row, const struct artifact *a)
{
	if (row->flags & ROW_NO_CODE && a->m.code_id[0])
		return false;
	return row->type == a->type && !(row->flags & ROW_ACCEPTED) && object_fits(row, a) &&
		(!key_of_nil(a) || has_name(row));
}

static void change_case(char *p, size_t n, enum casing c)
{
	if (c == CASING_DEFAULT)
		return;
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(c == CASING_LOWER ? tolower((unsigned char)p[i])
						: toupper((unsigned char)p[i]));
}

#define PRINTED_MOST (16 * LAYOUT_PATH_MAX) /* bytes of `printed`; few rows fit one artifact */

/* The state of printing: which path is wanted, and the paths printed so far. */
struct printing {
	const struct layout *l;
	const struct artifact *a;
	enum casing casing;
	unsigned left; /* paths to skip before the wanted one */
	bool server;
	struct layout_spelling spelling; /* the spelling of the wanted path */
	struct buf path; /* the path of this row, without the tier */
	struct buf printed; /* the paths of earlier rows, each with its NUL */
};

static int print_tier(struct printing *p, enum tier tier, struct buf *out)
{
	const char *name = buf_text(&p->path);
	size_t n = strcspn(name, "/"), len = tier_of(name, n, tier);

	for (enum tier t = 0; t < tier; t++)
		if (tier_of(name, n, t) == len)
			return -ENOENT;
	if (len == 0)
		return 0;
	buf_add(out, name, len);
	return buf_adds(out, "/");
}

/* Prints one spelling of the row's path if it is the wanted one. 1: it was printed. 0: it is not the wanted
 * one, and p->left is one less; or the row has no such spelling. */
static int print_spelling(struct printing *p, enum tier tier, bool compressed, struct buf *out)
{
	size_t start = out->n;
	int r = p->l->flags & LAYOUT_TWO_TIER ? print_tier(p, tier, out) : 0;

	if (r == 0 && p->left == 0) {
		r = buf_add(out, p->path.p, p->path.n);
		if (r < 0)
			return r;
		if (compressed)
			out->p[out->n - 1] = '_';
		p->spelling.tier = tier;
		p->spelling.compressed = compressed;
		return 1;
	}
	if (r == 0)
		p->left--;
	buf_cut(out, start);
	return r == -ENOENT ? 0 : r;
}

static int print_spellings(struct printing *p, struct buf *out)
{
	bool squeezed = filetypes[p->a->type].flags & TYPE_CAB;
	unsigned tiers = p->server && p->l->flags & LAYOUT_TWO_TIER ? TIERS : 1;
	int r = 0;

	for (enum tier tier = 0; r == 0 && tier < tiers; tier++) {
		r = print_spelling(p, tier, false, out);
		if (r == 0 && p->server && squeezed)
			r = print_spelling(p, tier, true, out);
	}
	return r;
}

static bool is_repeated(const struct printing *p, const struct layout_row *row)
{
	const char *path = buf_text(&p->path);

	if ((row->flags & ROW_VARIANT) != ROW_VARIANT)
		return false;
	for (size_t at = 0; at < p->printed.n; at += strlen(p->printed.p + at) + 1)
		if (strcmp(p->printed.p + at, path) == 0)
			return true;
	return false;
}

static int remember_path(struct printing *p)
{
	return buf_add(&p->printed, buf_text(&p->path), p->path.n + 1);
}

static int print_row(struct printing *p, const struct layout_row *row, struct buf *out)
{
	int r;

	if (!p->server && p->printed.n && row->flags & ROW_UNLISTED)
		return 0;
	buf_clear(&p->path);
	r = pattern_print(row->pattern, &p->a->m, p->l->flags & LAYOUT_LOWER_NAMES, &p->path);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	change_case(p->path.p, p->path.n, p->casing);
	if (is_repeated(p, row))
		return 0;
	r = print_spellings(p, out);
	return r == 0 ? remember_path(p) : r;
}

static int print_nth(struct printing *p, struct buf *out)
{
	int r = 0;

	p->path = BUF_UP_TO(LAYOUT_PATH_MAX);
	p->printed = BUF_UP_TO(PRINTED_MOST);
	for (const struct layout_row *row = p->l->rows; r == 0 && row->pattern; row++)
		if (row_fits(row, p->a)) {
			p->spelling.row = (unsigned)(row - p->l->rows);
			r = print_row(p, row, out);
		}
	buf_release(&p->path);
	buf_release(&p->printed);
	return r == 0 ? -ENOENT : r < 0 ? r : 0;
}

int layout_path(const struct layout *l, const struct artifact *a, enum casing c, unsigned nth,
	struct buf *out)
{
	struct printing p = {.l = l, .a = a, .casing = c, .left = nth};

	return print_nth(&p, out);
}

int layout_server_path(const struct layout *l, const struct artifact *a, enum casing c,
	unsigned nth, struct buf *out, struct layout_spelling *spelling)
{
	struct printing p = {.l = l, .a = a, .casing = c, .left = nth, .server = true};
	int r = print_nth(&p, out);

	if (r == 0 && spelling)
		*spelling = p.spelling;
	return r;
}

const char *layout_name_of(const struct layout *l, const struct artifact *a)
{
	for (const struct layout_row *row = l->rows; row->pattern; row++) {
		if (!row_fits(row, a))
			continue;
		if (strstr(row->pattern, "{code_file"))
			return a->m.code_file;
		if (strstr(row->pattern, "{debug_file"))
			return a->m.debug_file;
	}
	return "";
}

/* ---- reading ------------------------------------------------------------------------ */

/* Adds a file, unless a file with its key is there. This layout's files start at `first`. False: it has no key. */
static bool add_file(struct layout_files *out, unsigned first, const struct artifact *a)
{
	struct key k;

	if (key_of(&k, a) < 0)
		return false;
	key_canon(&k, out->keys[out->n]);
	for (unsigned i = 0; i < out->n; i++) {
		struct artifact *have = &out->files[i];
		bool same = have->type == a->type;

		if ((!same && out->by_type) || strcmp(out->keys[i], out->keys[out->n]) != 0)
			continue;
		/* The name of a symbol file can fit several kinds of modules. */
		if (same && i >= first && a->m.debug_id.set && have->m.object != a->m.object)
			have->m.object = OBJECT_UNKNOWN;
		return true;
	}
	if (out->n < LAYOUT_CANDIDATES)
		out->files[out->n++] = *a;
	return true;
}

/* Whether the name is that of a runtime's companion, which has no id of its own. */
static bool is_companion(const char *name)
{
	static const char *const begins[] = {
		"mscordac", "mscordbi", "sos.", "libmscordac", "libmscordbi", "libsos."};

	for (unsigned i = 0; i < ARRAY_SIZE(begins); i++)
		if (strncasecmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool plausible_code(const struct artifact *a, size_t digits)
{
	switch (a->m.object) {
	case OBJECT_ELF: /* whole bytes, and more than one of them */
		return digits >= 4 && digits % 2 == 0;
	case OBJECT_MACHO:
		return digits == 32;
	case OBJECT_WASM:
		return digits >= 16 && digits % 2 == 0 &&
			(!a->m.code_file[0] || name_ends(a->m.code_file, ".wasm"));
	default: /* eight digits of a time, and a size */
		return digits > 8 && digits <= 16 && !name_ends(a->m.code_file, ".pdb");
	}
}

/* Whether a file of the artifact's type can have its debug id. Ids of PDB 2.0, from the nineties, are as short
 * as the code ids of programs, and have small ages. */
static bool plausible_debug(const struct artifact *a)
{
	static const uint8_t zeros[12]; /* the padding after a signature */
	const struct debug_id *d = &a->m.debug_id;

	if (d->pdb20)
		return d->age && d->age <= 0xffff &&
		       (a->type != FILETYPE_PDB || !a->m.debug_file[0] ||
			       name_ends(a->m.debug_file, ".pdb"));
	if (a->type == FILETYPE_PORTABLEPDB)
		return debug_id_stamped(d) || d->age == 0; /* the stamp may be missing */
	if (a->type != FILETYPE_PDB)
		return true;
	return memcmp(d->guid + 4, zeros, sizeof(zeros)) != 0 &&
	       (!debug_id_stamped(d) || d->age == UINT32_MAX);
}

/* Whether the ids and names fit the file type. Checks only what a pattern cannot express. */
static bool plausible(const struct artifact *a)
{
	size_t digits = strlen(a->m.code_id);

	if (a->type == FILETYPE_COMPANION && !is_companion(a->m.code_file))
		return false;
	return (!digits || plausible_code(a, digits)) && (!a->m.debug_id.set || plausible_debug(a));
}

/* The decimal number with the same digits as a hex number; 0: that has other digits. */
static uint32_t decimal(uint32_t hex)
{
	uint32_t number = 0;

	for (uint32_t scale = 1; hex; hex >>= 4, scale *= 10) {
		if ((hex & 15) > 9)
			return 0;
		number += (hex & 15) * scale;
	}
	return number;
}

/* LLDB's locator for symbol stores prints the age of a PDB in decimal digits; other programs print it in hex.
 * The rows have read the age as hex: this adds the file whose age has the same digits in decimal. */
static void add_decimal_ages(struct layout_files *out, unsigned first)
{
	unsigned n = out->n;

	for (unsigned i = first; i < n; i++) {
		const struct debug_id *d = &out->files[i].m.debug_id;
		struct artifact a;

		if (out->files[i].type != FILETYPE_PDB || !d->set || d->pdb20 || d->age < 0x10 || !decimal(d->age))
			continue;
		a = out->files[i];
		a.m.debug_id.age = decimal(d->age);
		add_file(out, first, &a);
	}
}

/* Reads a path by a rule, unless it was already read by that rule for another layout: then its file is known. Adds
 * the file that it means, if it is plausible. A path can match rows of several file types: for example, the code id
 * of a PE file also has the form of an id of PDB 2.0. */
static bool read_rule(const struct rule *rule, struct split *s, unsigned from, unsigned first,
	struct layout_files *out)
{
	uint8_t *state = &s->rules[from][rule->number];
	struct artifact a;
	unsigned what;

	if (*state != RULE_LIKE)
		return *state == RULE_GOOD;
	what = pattern_read(&rule->pattern, s->parts + from, s->n - from, &a.m);
	a.type = rule->row->type;
	a.m.object = rule->row->object;
	a.via[0] = '\0';
	*state = (what & LAYOUT_FILE ? plausible(&a) && add_file(out, first, &a) : what) ? RULE_GOOD : RULE_BAD;
	return *state == RULE_GOOD;
}

/* Reads a path by all rows. If the path matches a whole pattern without {path}, it is only a file, even if it
 * could also be a directory: "df/b85de4…" is a file of `native`, not the directory of a PDB named df. */
static unsigned read_rows(const struct layout *l, struct split *s, unsigned from, struct layout_files *out)
{
	const struct rule *const *rules = rows_rules(l), *begun[LAYOUT_ROWS]; /* the path is a beginning of theirs */
	unsigned first = out->n, n = 0, what = LAYOUT_NONE;
	bool ends = false;

	for (unsigned row = 0; l->rows[row].pattern; row++) {
		const struct rule *rule = rules[row];

		if (l->rows[row].flags & ROW_PRINTED || s->rules[from][rule->number] == RULE_UNLIKE)
			continue;
		if (s->n - from < rule->pattern.n) {
			begun[n++] = rule;
		} else if (read_rule(rule, s, from, first, out)) {
			ends = ends || !rule->pattern.rest;
			what |= rule->pattern.rest ? LAYOUT_FILE | LAYOUT_DIR : LAYOUT_FILE;
		}
	}
	if (l->flags & LAYOUT_SYMBOL_STORE)
		add_decimal_ages(out, first);
	if (ends)
		return LAYOUT_FILE;
	while (n && !(what & LAYOUT_DIR))
		if (!begun[--n]->pattern.repeats || read_rule(begun[n], s, from, first, out))
			what |= LAYOUT_DIR;
	return what;
}

/* Whether the n bytes at `path` are the first tier of `name`, as any writer derives it. */
static bool is_tier(const char *path, size_t n, const char *name)
{
	size_t len = strcspn(name, "/");

	for (enum tier t = 0; t < TIERS; t++)
		if (tier_of(name, len, t) == n && strncasecmp(path, name, n) == 0)
			return true;
	return false;
}

/* "fo/foo.exe/…": whether the first component is a tier of the second. A tier alone is one of its own. */
static bool begins_with_tier(const struct split *s)
{
	return s->parts[0].n && is_tier(s->path, s->parts[0].n, s->parts[s->n > 1].p);
}

static bool is_prefix(const struct layout *l, const struct path_part *part)
{
	return name_alike(l->prefix[0], *part->p) && strncasecmp(l->prefix, part->p, part->n) == 0 &&
		!l->prefix[part->n];
}

/* Whether a component is a name that symfs never looks up. */
static bool split_never(struct split *s)
{
	const char *end = "";

	for (const char *p = s->path; !s->never_known; p = end + 1) {
		end = strchrnul(p, '/');
		s->never = layout_never(p, (size_t)(end - p));
		s->never_known = s->never || !*end;
	}
	return s->never;
}

unsigned layout_read(const struct layout *l, struct split *s, struct layout_files *out)
{
	bool tiers = l->flags & LAYOUT_TWO_TIER, source;
	unsigned from;

	if (s->n == 0)
		return s->length ? LAYOUT_NONE : LAYOUT_DIR;
	from = is_prefix(l, &s->parts[0]);
	if (from == s->n)
		return LAYOUT_DIR;
	source = s->source > from;
	if (tiers && !begins_with_tier(s))
		return LAYOUT_NONE;
	from += tiers;
	if (from < s->n && !split_match(s, from, l))
		return LAYOUT_NONE;
	/* A source path may end in a name that is never looked up elsewhere. */
	if (!source && split_never(s))
		return LAYOUT_NONE;
	return from == s->n ? LAYOUT_DIR : read_rows(l, s, from, out);
}

void layout_parse(const struct layout *l, const char *path, struct layout_hit *out)
{
	struct layout_files found;
	struct split s;

	found.files = out->files;
	found.n = 0;
	found.by_type = true;
	split_path(path, l, &s);
	out->what = layout_read(l, &s, &found);
	out->n = found.n;
}

bool layout_with_code(struct artifact *a, const char *id, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a->m.code_id[i] = (char)(id[i] | 0x20); /* in lower case */
	a->m.code_id[n] = '\0';
	return n && plausible(a);
}

/* ---- listing ------------------------------------------------------------------------ */

/* Whether the id is implausible, or a GUID of mostly zeros, which looks like the padded signature of a PDB
 * 2.0. The path of such an artifact may parse back as another file, or as no file. */
static bool is_odd(const struct artifact *a)
{
	static const uint8_t zeros[12];
	const struct debug_id *d = &a->m.debug_id;

	return !plausible(a) || (d->set && !d->pdb20 && memcmp(d->guid + 4, zeros, sizeof(zeros)) == 0);
}

static bool reads_back(const struct layout *l, const struct artifact *a, const char *path)
{
	_cleanup_free_ struct layout_hit *hit = malloc(sizeof(*hit));
	struct key want, have;
	bool found = false;

	if (!hit || key_of(&want, a) < 0)
		return false;
	layout_parse(l, path, hit);
	for (unsigned i = 0; i < hit->n && !found; i++)
		found = key_of(&have, &hit->files[i]) == 0 && key_equal(&want, &have);
	return found;
}

struct reading {
	const struct layout *l;
	const struct artifact *a;
	int (*each)(void *ctx, unsigned row, const char *path);
	void *ctx;
	bool odd;
};

static int each_read_back(void *ctx, unsigned row, const char *path)
{
	struct reading *rd = ctx;
	/* If all file types share one file name, a path does not parse back as each of them. */
	bool doubtful = rd->odd || (rd->l->flags & LAYOUT_ONE_NAME && rd->l->rows[row].flags & ROW_PRINTED);

	return doubtful && !reads_back(rd->l, rd->a, path) ? 0 : rd->each(rd->ctx, row, path);
}

int layout_each(const struct layout *l, const struct artifact *a,
	int (*each)(void *ctx, unsigned row, const char *path), void *ctx)
{
	struct reading rd = {l, a, each, ctx, is_odd(a)};

	return layout_each_printed(l, a, each_read_back, &rd);
}

int layout_each_printed(const struct layout *l, const struct artifact *a,
	int (*each)(void *ctx, unsigned row, const char *path), void *ctx)
{
	struct printing p = {.l = l, .a = a};
	_cleanup_buf_ struct buf path = BUF_UP_TO(LAYOUT_PATH_MAX);
	int r = 0;

	p.path = BUF_UP_TO(LAYOUT_PATH_MAX);
	p.printed = BUF_UP_TO(PRINTED_MOST);
	for (unsigned i = 0; r == 0 && l->rows[i].pattern; i++) {
		if (!row_fits(&l->rows[i], a))
			continue;
		buf_clear(&path);
		p.left = 0;
		r = print_row(&p, &l->rows[i], &path);
		if (r <= 0)
			continue;
		r = remember_path(&p);
		if (r == 0)
			r = each(ctx, i, buf_text(&path));
	}
	buf_release(&p.path);
	buf_release(&p.printed);
	return r;
}
