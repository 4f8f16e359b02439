/* Reads records of classes, and finds the definition of a class that a record only declares, by the hash of its
 * name. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "formats/pdb/names-private.h"

#include <stdlib.h>
#include <string.h>

#define STEP 2048u /* number of hashes to read at once */

/* Microsoft's hash of a name, which ignores the case of letters. */
static uint32_t hash_name(const char *name)
{
	const uint8_t *p = (const uint8_t *)name;
	size_t n = strlen(name);
	uint32_t h = 0;

	for (; n >= 4; p += 4, n -= 4)
		h ^= le32(p);
	if (n >= 2) {
		h ^= le16(p);
		p += 2;
		n -= 2;
	}
	if (n)
		h ^= *p;
	h |= 0x20202020;
	h ^= h >> 11;
	return h ^ h >> 16;
}

static const char *text_at(struct span s, size_t at, size_t *end)
{
	const uint8_t *stop = at < s.n ? memchr(s.p + at, 0, s.n - at) : NULL;

	*end = stop ? (size_t)(stop - s.p) + 1 : s.n;
	return stop ? (const char *)s.p + at : NULL;
}

bool pdb_udt(const struct pdb_record *r, struct pdb_udt *out)
{
	size_t at = r->leaf == LF_UNION ? 8 : 16, end;
	bool is = r->leaf == LF_CLASS || r->leaf == LF_STRUCTURE || r->leaf == LF_UNION || r->leaf == LF_INTERFACE;

	*out = (struct pdb_udt){0};
	if (!is || r->body.n < at || !pdb_number(r->body, at, &out->size, &end))
		return false;
	out->declared = le16(r->body.p + 2) & UDT_DECLARED;
	out->name = text_at(r->body, end, &end);
	if (le16(r->body.p + 2) & UDT_UNIQUE)
		out->unique = text_at(r->body, end, &end);
	return out->name;
}

/* A number below 0x8000 is stored in two bytes. Otherwise the two bytes give the kind and size of the number that
 * follows them. */
bool pdb_number(struct span body, size_t at, uint64_t *out, size_t *end)
{
	const uint8_t *p = span_at(body, at, 2);
	uint32_t kind = p ? le16(p) : 0;
	size_t n = kind == 0x8000 ? 1 : kind <= 0x8002 ? 2 : kind <= 0x8004 ? 4 : 8;

	if (!p)
		return false;
	*out = kind;
	*end = at + 2;
	if (kind < 0x8000)
		return true;
	p = span_at(body, at + 2, n);
	if (!p)
		return false;
	*out = n == 1 ? p[0] : n == 2 ? le16(p) : n == 4 ? le32(p) : le64(p);
	*end = at + 2 + n;
	return true;
}

static int is_definition(const struct pdb *p, struct msf_io *io, uint32_t number, const struct pdb_udt *of)
{
	struct pdb_record rec;
	struct pdb_udt udt;
	int r = pdb_record(p, io, &p->types, number, &rec, NULL);

	if (r == 0)
		r = pdb_udt(&rec, &udt) && !udt.declared && strcmp(udt.name, of->name) == 0 &&
				(!of->unique || !udt.unique || strcmp(udt.unique, of->unique) == 0);
	pdb_record_release(&rec);
	return r == -EAGAIN || r == -ENOMEM ? r : r > 0;
}

/* A record's hash is that of its unique name if it has one, otherwise that of its readable name. */
int pdb_definition(const struct pdb *p, struct msf_io *io, const struct pdb_record *declaration, uint32_t *number)
{
	const struct pdb_records *t = &p->types;
	uint8_t hashes[STEP * 4];
	struct pdb_udt udt;
	uint32_t by_name, by_unique;

	if (!t->buckets || !pdb_udt(declaration, &udt))
		return -ENOENT;
	by_name = hash_name(udt.name) % t->buckets;
	by_unique = udt.unique ? hash_name(udt.unique) % t->buckets : by_name;
	for (uint32_t from = 0; from < t->end - t->begin; from += STEP) {
		uint32_t n = MIN(STEP, t->end - t->begin - from);
		int r = msf_read(&p->msf, io, t->hashes, t->hashes_at + 4 * from, hashes, 4 * (size_t)n,
			"its hashes of types", NULL);

		for (uint32_t i = 0; r == 0 && i < n; i++) {
			uint32_t h = le32(hashes + 4 * (size_t)i);

			if (h != by_name && h != by_unique)
				continue;
			*number = t->begin + from + i;
			r = is_definition(p, io, *number, &udt);
		}
		if (r)
			return r == 1 ? 0 : r == -EBADMSG ? -ENOENT : r;
	}
	return -ENOENT;
}

/* ---- the index of definitions --------------------------------------------------------------- */

#define TRIES_MOST 1024u /* the most records of one hash to compare */

/* The numbers of types by their hash: those of hash h are at [first[h], first[h + 1]). */
struct pdb_definitions {
	uint32_t buckets, *first, *numbers;
};

void pdb_definitions_free(struct pdb_definitions *index)
{
	if (!index)
		return;
	free(index->first);
	free(index->numbers);
	free(index);
}

static int index_hashes(const struct pdb_records *t, const uint8_t *hashes, size_t n, struct pdb_definitions *out)
{
	out->buckets = t->buckets;
	out->first = calloc((size_t)t->buckets + 2, sizeof(*out->first));
	out->numbers = malloc((n + 1) * sizeof(*out->numbers));
	if (!out->first || !out->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (le32(hashes + 4 * i) < t->buckets)
			out->first[le32(hashes + 4 * i) + 2]++;
	for (size_t h = 2; h < (size_t)t->buckets + 2; h++)
		out->first[h] += out->first[h - 1];
	for (size_t i = 0; i < n; i++)
		if (le32(hashes + 4 * i) < t->buckets)
			out->numbers[out->first[le32(hashes + 4 * i) + 1]++] = t->begin + (uint32_t)i;
	return 0;
}

#define BUCKETS_MOST (1u << 20)

static int make_index(const struct pdb *p, struct msf_io *io, struct pdb_definitions **out)
{
	const struct pdb_records *t = &p->types;
	_cleanup_free_ uint8_t *hashes = NULL;
	size_t n = t->end - t->begin;
	struct pdb_definitions *index;
	int r;

	if (!t->buckets || t->buckets > BUCKETS_MOST || n > UINT32_MAX / 4)
		return -ENOENT;
	r = msf_load(&p->msf, io, t->hashes, t->hashes_at, 4 * n, &hashes, "its hashes of types", NULL);
	if (r < 0)
		return r == -EBADMSG ? -ENOENT : r;
	index = calloc(1, sizeof(*index));
	r = index ? index_hashes(t, hashes, n, index) : -ENOMEM;
	if (r < 0)
		pdb_definitions_free(index);
	else
		*out = index;
	return r;
}

static int find_in_bucket(const struct pdb *p, struct msf_io *io, const struct pdb_definitions *index, uint32_t hash,
	const struct pdb_udt *udt, uint32_t *number)
{
	uint32_t from = index->first[hash], to = index->first[hash + 1];
	int r = 0;

	for (uint32_t i = from; r == 0 && i < to && i - from < TRIES_MOST; i++) {
		r = is_definition(p, io, index->numbers[i], udt);
		if (r == 1)
			*number = index->numbers[i];
	}
	return r == 1 ? 0 : r < 0 ? r : -ENOENT;
}

int pdb_definition_indexed(const struct pdb *p, struct msf_io *io, struct pdb_definitions **index,
	const struct pdb_record *declaration, uint32_t *number)
{
	struct pdb_udt udt;
	uint32_t other = UINT32_MAX;
	int r = *index ? 0 : make_index(p, io, index), r2;

	if (r == 0 && !pdb_udt(declaration, &udt))
		r = -ENOENT;
	if (r < 0)
		return r;
	r = find_in_bucket(p, io, *index, hash_name(udt.name) % p->types.buckets, &udt, number);
	if (!udt.unique || (r < 0 && r != -ENOENT))
		return r;
	/* Of the records with either name, takes the one with the lower number, as pdb_definition() does. */
	r2 = find_in_bucket(p, io, *index, hash_name(udt.unique) % p->types.buckets, &udt, &other);
	if (r2 == 0)
		*number = r == 0 ? MIN(*number, other) : other;
	return r2 == -ENOENT ? r : r2;
}
