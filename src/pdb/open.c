/* Opens a PDB: its container, then the streams that form its index. Reads stream 1. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/util.h"
#include "pdb/pdb-private.h"

#include <stdlib.h>
#include <string.h>

enum { STREAM_TYPES = 2, STREAM_IDS = 4 };

/* ---- stream 1: identity, named streams, how the PDB was linked ----------------------- */

#define STREAM_INFO 1
#define HEADER_SIZE 28
#define INFO_MOST (16u << 20)

enum { FEATURE_VC110 = 20091201, FEATURE_VC140 = 20140508, FEATURE_MINI = 0x494e494d };

/* Consumes `n` bytes at the front. NULL: fewer bytes are left. */
static const uint8_t *take_bytes(struct span *s, size_t n)
{
	const uint8_t *p = s->p;

	if (n > s->n)
		return NULL;
	s->p += n;
	s->n -= n;
	return p;
}

static bool take_u32(struct span *s, uint32_t *out)
{
	const uint8_t *p = take_bytes(s, 4);

	if (p)
		*out = le32(p);
	return p;
}

/* Reads the hash table from names to stream numbers. The table is small, so every entry is read. */
static bool read_named_streams(struct span *s, void (*each)(void *ctx, const char *name, uint32_t stream), void *ctx)
{
	uint32_t size, n, words;
	struct span texts;

	if (!take_u32(s, &n) || !(texts.p = take_bytes(s, n)) || !take_u32(s, &size) || !take_u32(s, &words))
		return false;
	texts.n = n;
	for (int i = 0; i < 2; i++)
		if (!take_u32(s, &words) || words > s->n / 4 || !take_bytes(s, 4 * (size_t)words))
			return false;
	for (uint32_t i = 0; i < size; i++) {
		const uint8_t *e = take_bytes(s, 8);
		uint32_t at = e ? le32(e) : 0;

		if (!e)
			return false;
		if (at < texts.n && memchr(texts.p + at, 0, texts.n - at))
			each(ctx, (const char *)texts.p + at, le32(e + 4));
	}
	return take_u32(s, &words);
}

static void take_names(void *ctx, const char *name, uint32_t stream)
{
	struct pdb *p = ctx;

	if (strcmp(name, "/names") == 0)
		p->names = stream;
}

static void read_features(struct pdb *p, struct span *s, bool *has_ids)
{
	uint32_t code;

	while (take_u32(s, &code)) {
		*has_ids |= code == FEATURE_VC110 || code == FEATURE_VC140;
		p->fastlink |= code == FEATURE_MINI;
		if (code == FEATURE_VC110)
			break;
	}
}

/* *has_ids: whether the PDB has a stream of ids. */
static int read_info(struct pdb *p, struct msf_io *io, bool *has_ids, struct err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t n = msf_size(&p->msf, STREAM_INFO);
	struct span s;
	int r;

	*has_ids = false;
	if (n < HEADER_SIZE || n > INFO_MOST)
		return err_set(e, -EBADMSG, "is broken: its identity has %u bytes", n);
	r = msf_load(&p->msf, io, STREAM_INFO, 0, n, &bytes, "its identity", e);
	if (r < 0)
		return r;
	p->info_version = le32(bytes);
	p->signature = le32(bytes + 4);
	p->age = le32(bytes + 8);
	memcpy(p->guid, bytes + 12, sizeof(p->guid));
	s = (struct span){bytes + HEADER_SIZE, n - HEADER_SIZE};
	if (read_named_streams(&s, take_names, p))
		read_features(p, &s, has_ids);
	if (p->names >= p->msf.n_streams)
		p->names = 0;
	return 0;
}

int pdb_named_streams(const struct pdb *p, struct msf_io *io,
	void (*each)(void *ctx, const char *name, uint32_t stream), void *ctx, struct err *e)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t n = msf_size(&p->msf, STREAM_INFO);
	struct span s;
	int r;

	if (n < HEADER_SIZE || n > INFO_MOST)
		return 0;
	r = msf_load(&p->msf, io, STREAM_INFO, 0, n, &bytes, "its identity", e);
	s = (struct span){bytes + HEADER_SIZE, n - HEADER_SIZE};
	if (r == 0)
		read_named_streams(&s, each, ctx);
	return r;
}

/* ---- opening ----------------------------------------------------------------------------- */

static int read_streams(struct pdb *p, struct msf_io *io, struct err *e)
{
	struct pdb_optional o;
	bool has_ids;
	int r = read_info(p, io, &has_ids, e), dbi;

	if (r < 0 && r != -EAGAIN)
		return r;
	dbi = pdb_read_dbi(p, io, &o, e);
	r = pdb_worse(r, dbi);
	if (r < 0)
		return r;
	r = pdb_read_addresses(p, io, &o, e);
	r = pdb_worse(r, pdb_read_records(p, io, &p->types, STREAM_TYPES, e));
	return has_ids ? pdb_worse(r, pdb_read_records(p, io, &p->ids, STREAM_IDS, e)) : r;
}

int pdb_open(struct pdb *p, struct msf_io *io, struct err *e)
{
	int r;

	memset(p, 0, sizeof(*p));
	p->records = p->publics = p->fpo = p->frame_data = MSF_NO_STREAM;
	r = msf_open(&p->msf, io, e);
	if (r == 0)
		r = read_streams(p, io, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

int pdb_has_symbols(const struct pdb *p, struct err *e)
{
	if (p->has_dbi && p->n_sections)
		return 0;
	return err_set(e, -ENODATA, "has no symbols: %s",
		p->has_dbi ? "it does not say where its sections are" : "it is a PDB of types alone");
}

void pdb_release(struct pdb *p)
{
	msf_release(&p->msf);
	free(take(p->modules));
	free(take(p->module_info));
	free(take(p->contribs));
	free(take(p->sections));
	free(take(p->original));
	free(take(p->moved));
	free(take(p->moved_from));
	free(take(p->types.marks));
	free(take(p->types.steps));
	free(take(p->ids.steps));
	free(take(p->name_copy));
	free(take(p->ids.marks));
}
