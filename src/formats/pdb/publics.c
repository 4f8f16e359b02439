/* Reads the public symbols of a PDB: all of them, or the nearest before an address. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/pdb/publics.h"
#include "base/grow.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/pdb/module-private.h"

#include <stdlib.h>
#include <string.h>

#define CODE 0x20000020u
#define HEADER_SIZE 28 /* bytes of the header of the stream that orders the public symbols */
#define RECORD_SIZE 14 /* bytes of a record before its name */
#define NAME_MOST (64u << 10)
#define FUNCTION 2

/* Whether a symbol is a string or table that the compiler put between the code. */
static bool is_data(const char *name)
{
	static const char *const begins[] = {"??_C@", "??_7", "??_R"};

	for (unsigned i = 0; i < ARRAY_SIZE(begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool in_code(const struct pdb *p, unsigned section)
{
	const struct pdb_section *all = p->n_original ? p->original : p->sections;
	uint32_t n = p->n_original ? p->n_original : p->n_sections;

	return section && section <= n && (all[section - 1].flags & CODE);
}

static bool read_public(const struct pdb *p, const struct pdb_symbol *s, struct pdb_public *out)
{
	const uint8_t *h = s->record.p;

	if (s->kind != S_PUB32 || s->record.n <= RECORD_SIZE ||
		!memchr(h + RECORD_SIZE, 0, s->record.n - RECORD_SIZE))
		return false;
	*out = (struct pdb_public){.section = (uint16_t)le16(h + 12), .off = le32(h + 8),
		.function = le32(h + 4) & FUNCTION, .name = (char *)h + RECORD_SIZE};
	return in_code(p, out->section) && !is_data(out->name);
}

/* ---- all symbols ---------------------------------------------------------------------------- */

static int compare_publics(const void *a, const void *b)
{
	const struct pdb_public *x = a, *y = b;

	return COMPARE(x->section, y->section) ?: COMPARE(x->off, y->off) ?: COMPARE(y->function, x->function)
		?: COMPARE(x->name, y->name); /* in the order of the stream */
}

static void keep_best(struct pdb_publics *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->n; i++)
		if (!kept || all->at[i].section != all->at[kept - 1].section ||
			all->at[i].off != all->at[kept - 1].off)
			all->at[kept++] = all->at[i];
	all->n = kept;
}

int pdb_publics(const struct pdb *p, struct msf_io *io, struct pdb_publics *out, struct err *e)
{
	uint32_t n = msf_size(&p->msf, p->records), at = 0;
	const uint8_t *bytes;
	struct pdb_symbol s;
	struct pdb_public pub;
	int r;

	*out = (struct pdb_publics){0};
	r = msf_borrow(&p->msf, io, p->records, 0, n, &bytes, &out->copy, "its public symbols", e);
	while (r == 0 && pdb_symbol_next((struct span){bytes, n}, &at, n, &s)) {
		if (!read_public(p, &s, &pub))
			continue;
		r = APPEND(out->at, out->room, out->n, pub);
	}
	sort_array(out->at, out->n, sizeof(*out->at), compare_publics);
	keep_best(out);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

void pdb_publics_release(struct pdb_publics *all)
{
	free(take(all->at));
	free(take(all->copy));
	all->n = all->room = 0;
}

/* ---- the symbol before an address ----------------------------------------------------------- */

/* Reads the record at offset `at` of the stream: first its length, then the record. */
static int record_at(const struct pdb *p, struct msf_io *io, uint32_t at, uint8_t **out, struct pdb_symbol *s,
	struct err *e)
{
	static const char what[] = "its public symbols";
	uint32_t size = msf_size(&p->msf, p->records), n, pos = 0;
	uint8_t head[2];
	int r = msf_read(&p->msf, io, p->records, at, head, sizeof(head), what, e);

	if (r < 0)
		return r;
	n = le16(head) + 2u;
	if (n < 4 || n > size - at)
		return err_set(e, -EBADMSG, "is broken: a public symbol at %u", at);
	r = msf_load(&p->msf, io, p->records, at, n, out, what, e);
	if (r == 0 && !pdb_symbol_next((struct span){*out, n}, &pos, n, s))
		r = -EBADMSG;
	return r;
}

/* Reads the symbol at entry `i` of the list in order of address. `*code`: whether the symbol is in code; if not,
 * `out` has only the address. `*record`: offset of the symbol in its stream; `record` may be NULL. */
static int entry(const struct pdb *p, struct msf_io *io, uint32_t map, uint32_t i, struct pdb_public *out,
	bool *code, uint32_t *record, struct err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct pdb_symbol s = {0};
	uint8_t word[4];
	int r = msf_read(&p->msf, io, p->publics, map + 4 * i, word, sizeof(word), "its order of publics", e);

	*out = (struct pdb_public){0};
	if (r == 0)
		r = record_at(p, io, le32(word), &bytes, &s, e);
	if (r < 0)
		return r;
	if (record)
		*record = le32(word);
	if (s.kind != S_PUB32 || s.record.n <= RECORD_SIZE)
		return err_set(e, -EBADMSG, "is broken: its order of publics names another record");
	*code = read_public(p, &s, out);
	if (*code)
		out->name = strdup(out->name);
	else
		*out = (struct pdb_public){.section = (uint16_t)le16(s.record.p + 12), .off = le32(s.record.p + 8)};
	return *code && !out->name ? -ENOMEM : 0;
}

#define MAP_MOST (1u << 20) /* a list in order of address of at most this many bytes is requested at once */
#define PIVOTS 16

/* Lists more missing bytes than those of one step of the search, so that the search takes fewer rounds: first the
 * list in order of address, then the symbols that the next steps are likely to compare. */
static void note_more(const struct pdb *p, struct msf_io *io, uint32_t map, uint32_t n, uint32_t from, uint32_t to)
{
	_cleanup_free_ uint8_t *all = NULL;

	if (n <= MAP_MOST / 4 && msf_load(&p->msf, io, p->publics, map, 4 * (size_t)n, &all, "its order of publics",
		NULL) < 0)
		return;
	for (uint32_t k = 1; k < PIVOTS; k++) {
		uint32_t i = from + (uint32_t)((uint64_t)(to - from) * k / PIVOTS);
		struct pdb_public at = {0};
		bool code;

		entry(p, io, map, i, &at, &code, NULL, NULL);
		pdb_public_release(&at);
	}
}

/* Counts the entries whose symbols are at or before the address. */
static int find_entry(const struct pdb *p, struct msf_io *io, uint32_t map, uint32_t n, unsigned section,
	uint32_t off, uint32_t *out, struct err *e)
{
	uint32_t from = 0, to = n;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		struct pdb_public at;
		bool code;
		int r = entry(p, io, map, mid, &at, &code, NULL, e);

		if (r == -EAGAIN)
			note_more(p, io, map, n, from, to);
		if (r < 0)
			return r;
		if (at.section < section || (at.section == section && at.off <= off))
			from = mid + 1;
		else
			to = mid;
		pdb_public_release(&at);
	}
	*out = from;
	return 0;
}

#define BACK_MOST 4096 /* the most entries to go back in search of a symbol in code */

/* Goes back from entry `i` to the nearest address that has a public symbol in code, and returns the best
 * symbol there: a function if possible, and of several symbols the first in the stream. */
static int best_back(const struct pdb *p, struct msf_io *io, uint32_t map, uint32_t i, unsigned section,
	struct pdb_public *out, struct err *e)
{
	uint32_t record = 0, best = 0;
	bool found = false;

	for (uint32_t steps = 0; i-- > 0 && steps < BACK_MOST; steps++) {
		struct pdb_public at;
		bool code;
		int r = entry(p, io, map, i, &at, &code, &record, e);

		if (r < 0)
			return r;
		if (at.section != section || (found && at.off != out->off)) {
			pdb_public_release(&at);
			break;
		}
		if (!code)
			continue;
		if (!found || at.function > out->function || (at.function == out->function && record < best)) {
			pdb_public_release(out);
			*out = at;
			best = record;
		} else {
			pdb_public_release(&at);
		}
		found = true;
	}
	return found ? 0 : -ENOENT;
}

/* Finds the symbol by reading all public symbols, for a PDB without a list in order of address. */
static int search_all(const struct pdb *p, struct msf_io *io, unsigned section, uint32_t off, struct pdb_public *out,
	struct err *e)
{
	struct pdb_publics all;
	int r = pdb_publics(p, io, &all, e);
	size_t i = 0;

	while (r == 0 && i < all.n &&
		(all.at[i].section < section || (all.at[i].section == section && all.at[i].off <= off)))
		i++;
	if (r == 0 && (!i || all.at[i - 1].section != section))
		r = -ENOENT;
	if (r == 0) {
		*out = all.at[i - 1];
		out->name = strdup(out->name);
		r = out->name ? 0 : -ENOMEM;
	}
	pdb_publics_release(&all);
	return r;
}

int pdb_public_before(const struct pdb *p, struct msf_io *io, unsigned section, uint32_t off, struct pdb_public *out,
	struct err *e)
{
	uint32_t size = msf_size(&p->msf, p->publics), map, n, i;
	uint8_t h[HEADER_SIZE];
	int r;

	*out = (struct pdb_public){0};
	if (size < sizeof(h))
		return search_all(p, io, section, off, out, e);
	r = msf_read(&p->msf, io, p->publics, 0, h, sizeof(h), "its order of publics", e);
	if (r < 0)
		return r;
	map = le32(h);
	n = le32(h + 4) / 4;
	if (!n || map > size - HEADER_SIZE || n > (size - HEADER_SIZE - map) / 4)
		return search_all(p, io, section, off, out, e);
	map += HEADER_SIZE;
	r = find_entry(p, io, map, n, section, off, &i, e);
	return r < 0 ? r : best_back(p, io, map, i, section, out, e);
}
