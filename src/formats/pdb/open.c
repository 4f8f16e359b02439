/* Opens a PDB: its container, then the streams that form its index. Reads streams 1 and 3. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/pdb/pdb-private.h"

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

/* ---- stream 3 (DBI): the modules, and the module that each range of code belongs to --- */

#define STREAM_DBI 3
#define DBI_HEADER 64
#define MODULE_SIZE 64 /* size of a module's entry, before its names */
#define MODULES_MOST 65535u
#define SLOTS 11 /* number of the optional streams that symfs knows */
#define CODE (0x20u | 0x20000000u)

enum { CONTRIBS_V60 = 0xf12eba2d, CONTRIBS_V2 = 0xf13151e4, CONTRIB_V60_SIZE = 28, CONTRIB_V2_SIZE = 32 };
enum { FLAG_INCREMENTAL = 1, FLAG_STRIPPED = 2 };

/* The sizes of the substreams. */
struct parts {
	uint32_t modules, contribs, others, optional; /* in bytes; `others` is the sum of the substreams
							 between contribs and optional */
};

static const char *take_text(struct span *s)
{
	const uint8_t *end = memchr(s->p, 0, s->n);
	const char *text = (const char *)s->p;

	if (!end)
		return NULL;
	s->n -= (size_t)(end + 1 - s->p);
	s->p = end + 1;
	return text;
}

/* Reads the next module's entry, which begins at a multiple of 4. False: no entry follows, or it is cut short. */
static bool next_module(struct span all, size_t *at, struct pdb_module *out)
{
	const uint8_t *h = span_at(all, *at, MODULE_SIZE);
	struct span names;

	if (!h)
		return false;
	names = (struct span){h + MODULE_SIZE, all.n - *at - MODULE_SIZE};
	out->stream = (uint16_t)le16(h + 34);
	out->symbols = le32(h + 36);
	out->lines_old = le32(h + 40);
	out->lines = le32(h + 44);
	out->name = take_text(&names);
	if (!out->name || !take_text(&names))
		return false;
	*at = (size_t)(names.p - all.p + 3) & ~(size_t)3;
	return true;
}

/* Refuses a stream that is too short, or that an earlier module has. `used`: a byte for each number of a stream. */
static void check_module(const struct pdb *p, struct pdb_module *m, uint8_t *used)
{
	uint32_t size = msf_size(&p->msf, m->stream);

	if (m->symbols > size || m->lines_old > size - m->symbols ||
		m->lines > size - m->symbols - m->lines_old || used[m->stream])
		m->stream = MSF_NO_STREAM;
	else
		used[m->stream] = 1;
}

static int read_modules(struct pdb *p, struct span all)
{
	_cleanup_free_ uint8_t *used = calloc(MODULES_MOST + 1, 1);
	struct pdb_module m;
	size_t at = 0;
	uint32_t n = 0;

	while (n < MODULES_MOST && next_module(all, &at, &m))
		n++;
	p->modules = calloc((size_t)n + 1, sizeof(*p->modules));
	if (!p->modules || !used)
		return -ENOMEM;
	at = 0;
	for (; p->n_modules < n && next_module(all, &at, &p->modules[p->n_modules]); p->n_modules++)
		check_module(p, &p->modules[p->n_modules], used);
	return 0;
}

static int compare_contribs(const void *a, const void *b)
{
	const struct pdb_contrib *x = a, *y = b;

	return COMPARE(x->section, y->section) ?: COMPARE(x->off, y->off) ?: COMPARE(x->module, y->module);
}

/* The list that part_contribs() makes. */
struct parted {
	struct pdb_contrib *at;
	size_t n;
	uint64_t done; /* the part of the section before this offset is in the list */
};

static void add_part(struct parted *out, const struct pdb_contrib *c, uint64_t end)
{
	if (out->done < end)
		out->at[out->n++] = (struct pdb_contrib){c->section, c->module, (uint32_t)out->done,
			(uint32_t)(end - out->done)};
	out->done = MAX(out->done, end);
}

static uint64_t end_of(const struct pdb_contrib *c)
{
	return (uint64_t)c->off + c->size;
}

/* Adds what is left of the open contributions that end at or before `to`, the latest first. */
static void close_until(struct parted *out, const struct pdb_contrib *const *open, size_t *n, uint64_t to)
{
	while (*n && end_of(open[*n - 1]) <= to) {
		add_part(out, open[*n - 1], end_of(open[*n - 1]));
		--*n;
	}
}

/* Cuts contributions that overlap, so that each byte belongs to one: to that which begins nearest to it, and of
 * those that begin at the same place, to the last. They are sorted. 0; -ENOMEM. */
static int part_contribs(struct pdb *p)
{
	size_t n = p->n_contribs, n_open = 0;
	_cleanup_free_ const struct pdb_contrib **open = malloc((n + 1) * sizeof(*open));
	struct parted out = {.at = malloc((2 * n + 1) * sizeof(*out.at))};

	if (!open || !out.at) {
		free(out.at);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct pdb_contrib *c = &p->contribs[i];

		if (i && c->section != c[-1].section) {
			close_until(&out, open, &n_open, UINT64_MAX);
			out.done = 0;
		}
		close_until(&out, open, &n_open, c->off);
		if (n_open)
			add_part(&out, open[n_open - 1], c->off);
		out.done = MAX(out.done, c->off);
		open[n_open++] = c;
	}
	close_until(&out, open, &n_open, UINT64_MAX);
	free(p->contribs);
	p->contribs = out.at;
	p->n_contribs = out.n;
	return 0;
}

static bool overlaps(const struct pdb *p)
{
	for (size_t i = 1; i < p->n_contribs; i++)
		if (p->contribs[i].section == p->contribs[i - 1].section &&
			p->contribs[i].off < end_of(&p->contribs[i - 1]))
			return true;
	return false;
}

/* Reads the contributions, unless their version is unknown. Without them the symbols of each module show
 * where its code is. */
static int read_contribs(struct pdb *p, struct span all)
{
	uint32_t version = all.n >= 4 ? le32(all.p) : 0;
	size_t each = version == CONTRIBS_V60 ? CONTRIB_V60_SIZE : version == CONTRIBS_V2 ? CONTRIB_V2_SIZE : 0;
	size_t n = each ? (all.n - 4) / each : 0;

	p->contribs = calloc(n + 1, sizeof(*p->contribs));
	if (!p->contribs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *c = all.p + 4 + i * each;
		struct pdb_contrib got = {(uint16_t)le16(c), (uint16_t)le16(c + 16), le32(c + 4), le32(c + 8)};

		if (got.size && got.size <= INT32_MAX && got.module < p->n_modules && (le32(c + 12) & CODE))
			p->contribs[p->n_contribs++] = got;
	}
	sort_array(p->contribs, p->n_contribs, sizeof(*p->contribs), compare_contribs);
	return overlaps(p) ? part_contribs(p) : 0;
}

static uint16_t slot(const uint8_t *slots, uint32_t n, unsigned i)
{
	return i < n ? (uint16_t)le16(slots + 2 * i) : MSF_NO_STREAM;
}

static int read_header(struct pdb *p, struct msf_io *io, struct parts *parts, struct err *e)
{
	uint8_t h[DBI_HEADER];
	uint32_t n = msf_size(&p->msf, STREAM_DBI);
	uint64_t sum = DBI_HEADER;
	int r;

	if (n < sizeof(h))
		return 0;
	r = msf_read(&p->msf, io, STREAM_DBI, 0, h, sizeof(h), "its debug information", e);
	if (r < 0 || le32(h) != UINT32_MAX)
		return r;
	p->has_dbi = true;
	p->age = le32(h + 8);
	p->publics = (uint16_t)le16(h + 16);
	p->records = (uint16_t)le16(h + 20);
	p->incremental = le16(h + 56) & FLAG_INCREMENTAL;
	p->stripped = le16(h + 56) & FLAG_STRIPPED;
	p->machine = (uint16_t)le16(h + 58);
	parts->modules = le32(h + 24);
	parts->contribs = le32(h + 28);
	parts->optional = le32(h + 48);
	for (unsigned i = 0; i < 5; i++)
		sum += le32(h + 24 + 4 * i);
	sum += le32(h + 52);
	if (sum > n || parts->optional > n - sum)
		return err_set(e, -EBADMSG, "is broken: its debug information of %u bytes has parts of more", n);
	parts->others = (uint32_t)(sum - DBI_HEADER - parts->modules - parts->contribs);
	return 0;
}

static int read_parts(struct pdb *p, struct msf_io *io, const struct parts *parts, struct pdb_optional *o,
	struct err *e)
{
	_cleanup_free_ uint8_t *contribs = NULL;
	uint8_t slots[2 * SLOTS];
	uint32_t at = DBI_HEADER, n = MIN(parts->optional / 2, (uint32_t)SLOTS);
	int r = msf_load(&p->msf, io, STREAM_DBI, at, parts->modules, &p->module_info, "its list of modules", e);

	r = pdb_worse(r, msf_load(&p->msf, io, STREAM_DBI, at + parts->modules, parts->contribs, &contribs,
		"its section contributions", e));
	r = pdb_worse(r, msf_read(&p->msf, io, STREAM_DBI, at + parts->modules + parts->contribs + parts->others,
		slots, 2 * (size_t)n, "its list of optional streams", e));
	if (r == 0)
		r = read_modules(p, (struct span){p->module_info, parts->modules});
	if (r == 0)
		r = read_contribs(p, (struct span){contribs, parts->contribs});
	p->fpo = slot(slots, n, 0);
	p->frame_data = slot(slots, n, 9);
	*o = (struct pdb_optional){slot(slots, n, 3), slot(slots, n, 4), slot(slots, n, 5), slot(slots, n, 10)};
	return r;
}

static int read_dbi(struct pdb *p, struct msf_io *io, struct pdb_optional *o, struct err *e)
{
	struct parts parts = {0};
	int r = read_header(p, io, &parts, e);

	*o = (struct pdb_optional){MSF_NO_STREAM, MSF_NO_STREAM, MSF_NO_STREAM, MSF_NO_STREAM};
	return r < 0 || !p->has_dbi ? r : read_parts(p, io, &parts, o, e);
}

/* ---- opening ----------------------------------------------------------------------------- */

static int read_streams(struct pdb *p, struct msf_io *io, struct err *e)
{
	struct pdb_optional o;
	bool has_ids;
	int r = read_info(p, io, &has_ids, e), dbi;

	if (r < 0 && r != -EAGAIN)
		return r;
	dbi = read_dbi(p, io, &o, e);
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

const struct pdb_contrib *pdb_contrib_of(const struct pdb *p, unsigned section, uint32_t off)
{
	const struct pdb_contrib *all = p->contribs, *c;
	size_t i = search_first(k, 0, p->n_contribs,
		all[k].section < section || (all[k].section == section && all[k].off <= off));

	c = i && all[i - 1].section == section ? &all[i - 1] : NULL;
	return c && off - c->off < c->size ? c : NULL;
}
