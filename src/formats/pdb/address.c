/* Addresses of a PDB: sections, and the OMAP tables of an image that was rearranged after linking. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/pdb/pdb-private.h"

#include <stdlib.h>
#include <string.h>

#define SECTION_SIZE 40
#define SECTIONS_MOST 65535u
#define OMAP_SIZE 8
#define NOT_MAPPED 0x80000000u

/* ---- reading -------------------------------------------------------------------------------- */

static int read_sections(struct pdb *p, struct msf_io *io, uint16_t stream, struct pdb_section **out, uint32_t *n,
	struct err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t size = msf_size(&p->msf, stream);
	int r;

	*n = MIN(size / SECTION_SIZE, SECTIONS_MOST);
	if (!*n)
		return 0;
	r = msf_load(&p->msf, io, stream, 0, (size_t)*n * SECTION_SIZE, &bytes, "its section headers", e);
	if (r < 0)
		return r;
	*out = calloc(*n, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (uint32_t i = 0; i < *n; i++) {
		const uint8_t *h = bytes + (size_t)i * SECTION_SIZE;

		memcpy((*out)[i].name, h, 8);
		(*out)[i].size = MAX(le32(h + 8), le32(h + 16));
		(*out)[i].addr = le32(h + 12);
		(*out)[i].flags = le32(h + 36);
	}
	return 0;
}

static int compare_targets(const void *a, const void *b)
{
	const struct pdb_moved *x = a, *y = b;

	return COMPARE(x->target, y->target);
}

static int compare_sources(const void *a, const void *b)
{
	const struct pdb_moved *x = a, *y = b;

	return COMPARE(x->source, y->source) ?: compare_targets(a, b);
}

/* Reads OMAP records, each of which maps the bytes up to the next one. `back`: the records map source to
 * target, not target to source. */
static void take_omap(struct pdb *p, const uint8_t *bytes, size_t n, bool back)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *h = bytes + i * OMAP_SIZE;
		uint32_t from = le32(h), to = le32(h + 4), next = i + 1 < n ? le32(h + OMAP_SIZE) : NOT_MAPPED;

		if (!to || to & NOT_MAPPED || next <= from)
			continue;
		p->moved[p->n_moved++] = (struct pdb_moved){back ? to : from, back ? from : to, next - from};
	}
}

static int read_omap(struct pdb *p, struct msf_io *io, uint16_t stream, bool back, struct err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n = msf_size(&p->msf, stream) / OMAP_SIZE;
	int r = msf_load(&p->msf, io, stream, 0, n * OMAP_SIZE, &bytes, "its OMAP table", e);

	if (r < 0)
		return r;
	p->moved = calloc(n + 1, sizeof(*p->moved));
	p->moved_from = calloc(n + 1, sizeof(*p->moved_from));
	if (!p->moved || !p->moved_from)
		return -ENOMEM;
	take_omap(p, bytes, n, back);
	memcpy(p->moved_from, p->moved, p->n_moved * sizeof(*p->moved));
	if (p->n_moved) {
		qsort(p->moved, p->n_moved, sizeof(*p->moved), compare_targets);
		qsort(p->moved_from, p->n_moved, sizeof(*p->moved_from), compare_sources);
	}
	return 0;
}

int pdb_read_addresses(struct pdb *p, struct msf_io *io, const struct pdb_optional *o, struct err *e)
{
	bool to = msf_size(&p->msf, o->to_source), from = msf_size(&p->msf, o->from_source);
	int r = read_sections(p, io, o->sections, &p->sections, &p->n_sections, e);

	if (!to && !from)
		return r;
	r = pdb_worse(r, read_omap(p, io, to ? o->to_source : o->from_source, !to, e));
	return pdb_worse(r, read_sections(p, io, o->original, &p->original, &p->n_original, e));
}

/* ---- look-ups ------------------------------------------------------------------------------- */

static const struct pdb_section *section_list(const struct pdb *p, uint32_t *n)
{
	*n = p->n_original ? p->n_original : p->n_sections;
	return p->n_original ? p->original : p->sections;
}

bool pdb_source_of(const struct pdb *p, unsigned section, uint32_t off, uint32_t *source)
{
	uint32_t n;
	const struct pdb_section *s = section_list(p, &n);

	if (!section || section > n || off > UINT32_MAX - s[section - 1].addr)
		return false;
	*source = s[section - 1].addr + off;
	return true;
}

bool pdb_section_of(const struct pdb *p, uint32_t source, unsigned *section, uint32_t *off)
{
	uint32_t n;
	const struct pdb_section *s = section_list(p, &n);

	for (uint32_t i = 0; i < n; i++)
		if (source >= s[i].addr && source - s[i].addr < s[i].size) {
			*section = i + 1;
			*off = source - s[i].addr;
			return true;
		}
	return false;
}

/* The number of the first moved range that begins above `target`. */
static size_t moved_above(const struct pdb *p, uint64_t target)
{
	return search_first(i, 0, p->n_moved, p->moved[i].target <= target);
}

bool pdb_source(const struct pdb *p, uint32_t target, uint32_t *source)
{
	size_t i;

	*source = target;
	if (!p->moved)
		return true;
	i = moved_above(p, target);
	if (!i || target - p->moved[i - 1].target >= p->moved[i - 1].size)
		return false;
	*source = p->moved[i - 1].source + (target - p->moved[i - 1].target);
	return true;
}

bool pdb_inserted(const struct pdb *p, uint64_t from, uint64_t to)
{
	size_t i;

	if (from >= to || !p->moved)
		return from == to;
	i = moved_above(p, from);
	if (i && from - p->moved[i - 1].target < p->moved[i - 1].size)
		return false;
	return i == p->n_moved || p->moved[i].target >= to;
}

void pdb_moves(struct pdb_moves *it, const struct pdb *p, uint32_t start, uint32_t size)
{
	size_t from;

	*it = (struct pdb_moves){.p = p, .start = start, .end = (uint64_t)start + size, .whole = !p->moved};
	from = search_first(i, 0, p->n_moved, p->moved_from[i].source <= start);
	/* A piece that begins before `start` can extend into the range. */
	it->next = from ? from - 1 : 0;
}

bool pdb_moves_next(struct pdb_moves *it, struct pdb_moved *out)
{
	if (it->whole) {
		it->whole = false;
		it->next = SIZE_MAX;
		*out = (struct pdb_moved){(uint32_t)it->start, (uint32_t)it->start, (uint32_t)(it->end - it->start)};
		return true;
	}
	while (it->p->moved && it->next < it->p->n_moved && it->p->moved_from[it->next].source < it->end) {
		const struct pdb_moved *m = &it->p->moved_from[it->next++];
		uint64_t a = MAX(it->start, m->source), b = MIN(it->end, (uint64_t)m->source + m->size);

		if (a >= b)
			continue;
		*out = (struct pdb_moved){m->target + (uint32_t)(a - m->source), (uint32_t)a, (uint32_t)(b - a)};
		return true;
	}
	return false;
}

bool pdb_address(const struct pdb *p, unsigned section, uint32_t off, uint32_t *rva)
{
	struct pdb_moves it;
	struct pdb_moved m;
	uint32_t source;

	if (!pdb_source_of(p, section, off, &source))
		return false;
	pdb_moves(&it, p, source, 1);
	if (!pdb_moves_next(&it, &m))
		return false;
	*rva = m.target;
	return true;
}
