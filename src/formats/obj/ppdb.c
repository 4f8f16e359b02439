/* Portable PDB: the debug information of .NET, a metadata file of some named streams. `#Pdb` has the
 * identity: a GUID, and a stamp in place of the age of other PDBs. The tables of `#~` say whether the file
 * has line numbers, and sources or links to them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/ppdb.h"
#include "base/hash.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/obj/private.h"

#include <stdio.h>
#include <string.h>

/* Compilers write six streams, and a version of a dozen characters. */
#define STREAMS_MOST 32u
#define VERSION_MOST 1024u
#define NAME_MOST 32u
#define PDB_STREAM_LEAST 32u
#define TABLES_LEAST 24u
#define ID_SIZE 20u /* a GUID and a stamp, at the beginning of #Pdb */
#define CHUNK (64u << 10)

/* Rows of custom debug information that are searched for sources. The rows are sorted by what they belong
 * to, so rows for sources are among the first. */
#define CUSTOM_MOST (1u << 16)

enum {
	TABLE_METHOD = 0x06,
	TABLE_DOCUMENT = 0x30, TABLE_METHOD_DEBUG = 0x31, TABLE_SCOPE = 0x32, TABLE_VARIABLE = 0x33,
	TABLE_CONSTANT = 0x34, TABLE_IMPORT = 0x35, TABLE_STATE_MACHINE = 0x36, TABLE_CUSTOM = 0x37,
	TABLES = 64
};

#define TABLES_OF_DEBUG (0xffull << TABLE_DOCUMENT)

/* The tables that a row of custom debug information can belong to. The row's parent column says in five bits
 * which table; the column is as wide as the longest of these tables needs. */
static const uint8_t parents[] = {6, 4, 1, 2, 8, 9, 10, 0, 14, 23, 20, 17, 26, 27, 32, 35, 38, 39,
	40, 42, 44, 43, TABLE_DOCUMENT, TABLE_SCOPE, TABLE_VARIABLE, TABLE_CONSTANT, TABLE_IMPORT};

static const uint8_t kind_embedded[16] = {0x1b, 0x57, 0x8a, 0x0e, 0x26, 0x69, 0x6e, 0x46, 0xb4,
	0xad, 0x8a, 0xb0, 0x46, 0x11, 0xf5, 0xfe};
static const uint8_t kind_link[16] = {0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec,
	0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a};

struct range {
	uint64_t off;
	uint32_t size;
};

struct ppdb {
	struct view *v;
	struct err *e;
	struct range pdb, tables, guids, blobs;
	uint64_t end; /* of the last stream */

	struct debug_id id;
	uint32_t rows[TABLES];
	uint64_t valid;	     /* a bit for each table that the file has */
	unsigned string, guid, blob; /* bytes of an index into a heap */
	uint64_t documents, methods, custom; /* offsets of three tables */
	struct worth worth;
};

static int ppdb_read(struct ppdb *ppdb, const char *what, uint64_t off, void *p, size_t n)
{
	return obj_read(ppdb->v, what, off, p, n, ppdb->e);
}

/* ---- streams ------------------------------------------------------------------------ */

/* A name is padded to four bytes, and ends in a zero. */
static int read_name(struct ppdb *ppdb, uint64_t *at, char name[static NAME_MOST])
{
	for (unsigned n = 0; n < NAME_MOST; n += 4) {
		int r = ppdb_read(ppdb, "its list of streams", *at, name + n, 4);

		if (r < 0)
			return r;
		*at += 4;
		if (memchr(name + n, '\0', 4))
			return 0;
	}
	return err_set(ppdb->e, -EBADMSG, "is broken: the name of a stream has no end");
}

static int take_stream(struct ppdb *ppdb, uint64_t *at)
{
	char name[NAME_MOST];
	struct range s;
	uint8_t h[8];
	int r = ppdb_read(ppdb, "its list of streams", *at, h, sizeof(h));

	if (r < 0)
		return r;
	*at += sizeof(h);
	s = (struct range){le32(h), le32(h + 4)};
	r = read_name(ppdb, at, name);
	if (r < 0)
		return r;
	if (!view_holds(ppdb->v, s.off, s.size))
		return obj_cut_off(ppdb->e, "one of its streams");
	ppdb->end = MAX(ppdb->end, s.off + s.size);
	if (strcmp(name, "#Pdb") == 0)
		ppdb->pdb = s;
	else if (strcmp(name, "#~") == 0)
		ppdb->tables = s;
	else if (strcmp(name, "#GUID") == 0)
		ppdb->guids = s;
	else if (strcmp(name, "#Blob") == 0)
		ppdb->blobs = s;
	return 0;
}

static int find_streams(struct ppdb *ppdb)
{
	uint8_t h[16];
	uint64_t at;
	uint32_t version, n;
	int r = ppdb_read(ppdb, "its header", 0, h, sizeof(h));

	if (r < 0)
		return r;
	version = le32(h + 12);
	if (version > VERSION_MOST)
		return err_set(
			ppdb->e, -EBADMSG, "is broken: its version has %u characters", version);
	at = 16 + ((version + 3) & ~3u);
	r = ppdb_read(ppdb, "its header", at, h, 4);
	if (r < 0)
		return r;
	at += 4;
	n = le16(h + 2);
	if (n > STREAMS_MOST)
		return err_set(ppdb->e, -EBADMSG, "is broken: it has %u streams", n);
	while (r == 0 && n--)
		r = take_stream(ppdb, &at);
	ppdb->end = MAX(ppdb->end, at);
	return r;
}

/* Reads the number of rows of each table that has a bit set in `bits`, in the order of the bits. */
static int read_rows(struct ppdb *ppdb, uint64_t *at, uint64_t end, uint64_t bits)
{
	for (unsigned i = 0; i < TABLES; i++) {
		uint8_t count[4];
		int r;

		if (!(bits >> i & 1))
			continue;
		if (*at + sizeof(count) > end)
			return err_set(
				ppdb->e, -EBADMSG, "is broken: its table sizes are cut short");
		r = ppdb_read(ppdb, "a stream", *at, count, sizeof(count));
		if (r < 0)
			return r;
		ppdb->rows[i] = le32(count);
		*at += sizeof(count);
	}
	return 0;
}

/* Reads the identity, and how many rows the program's tables have. The tables of the PDB contain indexes into
 * the program's tables, and the size of an index depends on the number of rows. */
static int read_pdb(struct ppdb *ppdb)
{
	uint64_t at = ppdb->pdb.off + PDB_STREAM_LEAST;
	uint8_t h[PDB_STREAM_LEAST];
	int r;

	if (ppdb->pdb.size < sizeof(h))
		return err_set(ppdb->e, -EBADMSG, "is broken: it has no stream with an identity");
	r = ppdb_read(ppdb, "its identity", ppdb->pdb.off, h, sizeof(h));
	if (r < 0)
		return r;
	debug_id_from_guid(&ppdb->id, h, le32(h + 16));
	return read_rows(ppdb, &at, ppdb->pdb.off + ppdb->pdb.size, le64(h + 24));
}

static int ppdb_open(struct ppdb *ppdb, struct view *v, struct err *e)
{
	int r;

	memset(ppdb, 0, sizeof(*ppdb));
	ppdb->v = v;
	ppdb->e = e;
	r = find_streams(ppdb);
	return r < 0 ? r : read_pdb(ppdb);
}

/* ---- tables ------------------------------------------------------------------------- */

/* Bytes of an index into a table. In an index into one of several tables, `tag` bits say which table. */
static unsigned index_size(const struct ppdb *ppdb, unsigned table, unsigned tag)
{
	return ppdb->rows[table] < 1u << (16 - tag) ? 2 : 4;
}

static unsigned parent_size(const struct ppdb *ppdb)
{
	for (unsigned i = 0; i < ARRAY_SIZE(parents); i++)
		if (index_size(ppdb, parents[i], 5) == 4)
			return 4;
	return 2;
}

static unsigned row_size(const struct ppdb *ppdb, unsigned table)
{
	unsigned method = index_size(ppdb, TABLE_METHOD, 0);

	switch (table) {
	case TABLE_DOCUMENT: return 2 * ppdb->blob + 2 * ppdb->guid;
	case TABLE_METHOD_DEBUG: return index_size(ppdb, TABLE_DOCUMENT, 0) + ppdb->blob;
	case TABLE_SCOPE:
		return method + index_size(ppdb, TABLE_IMPORT, 0) +
		       index_size(ppdb, TABLE_VARIABLE, 0) + index_size(ppdb, TABLE_CONSTANT, 0) +
		       8;
	case TABLE_VARIABLE: return 4 + ppdb->string;
	case TABLE_CONSTANT: return ppdb->string + ppdb->blob;
	case TABLE_IMPORT: return index_size(ppdb, TABLE_IMPORT, 0) + ppdb->blob;
	case TABLE_STATE_MACHINE: return 2 * method;
	default: return parent_size(ppdb) + ppdb->guid + ppdb->blob;
	}
}

static int read_tables(struct ppdb *ppdb)
{
	uint64_t at = ppdb->tables.off + TABLES_LEAST, end = ppdb->tables.off + ppdb->tables.size;
	uint8_t h[TABLES_LEAST];
	int r;

	if (ppdb->tables.size < sizeof(h))
		return err_set(ppdb->e, -EBADMSG, "is broken: it has no tables");
	r = ppdb_read(ppdb, "its tables", ppdb->tables.off, h, sizeof(h));
	if (r < 0)
		return r;
	ppdb->string = h[6] & 1 ? 4 : 2;
	ppdb->guid = h[6] & 2 ? 4 : 2;
	ppdb->blob = h[6] & 4 ? 4 : 2;
	ppdb->valid = le64(h + 8);
	if (ppdb->valid & ~TABLES_OF_DEBUG)
		return err_set(ppdb->e, -EBADMSG, "is broken: it has tables of a program");
	memset(ppdb->rows + TABLE_DOCUMENT, 0,
		sizeof(ppdb->rows) - TABLE_DOCUMENT * sizeof(*ppdb->rows));
	r = read_rows(ppdb, &at, end, ppdb->valid);
	for (unsigned i = TABLE_DOCUMENT; r == 0 && i <= TABLE_CUSTOM; i++) {
		if (i == TABLE_DOCUMENT)
			ppdb->documents = at;
		if (i == TABLE_METHOD_DEBUG)
			ppdb->methods = at;
		ppdb->custom = at;
		at += (uint64_t)ppdb->rows[i] * row_size(ppdb, i);
	}
	if (r == 0 && at > end)
		return err_set(ppdb->e, -EBADMSG, "is broken: its tables do not fit their stream");
	return r;
}

/* Whether rows of this kind contain sources or links to them. */
static int is_sources(struct ppdb *ppdb, uint32_t guid, bool *out)
{
	uint8_t kind[16];
	int r;

	*out = false;
	if (!guid || guid > ppdb->guids.size / 16)
		return 0;
	r = ppdb_read(
		ppdb, "a kind", ppdb->guids.off + (uint64_t)(guid - 1) * 16, kind, sizeof(kind));
	*out = r == 0 && (memcmp(kind, kind_embedded, 16) == 0 || memcmp(kind, kind_link, 16) == 0);
	return r;
}

static int find_sources(struct ppdb *ppdb)
{
	unsigned size = row_size(ppdb, TABLE_CUSTOM), at = parent_size(ppdb);
	uint32_t n = MIN(ppdb->rows[TABLE_CUSTOM], CUSTOM_MOST), last = 0;
	bool yes = false;
	int r = 0;

	for (uint32_t i = 0; r == 0 && !yes && i < n; i++) {
		uint8_t row[12];
		uint32_t guid;

		r = ppdb_read(ppdb, "a table", ppdb->custom + (uint64_t)i * size, row, size);
		if (r < 0)
			return r;
		guid = ppdb_index(row + at, ppdb->guid);
		if (guid != last)
			r = is_sources(ppdb, guid, &yes);
		last = guid;
	}
	if (yes)
		ppdb->worth.sources = true;
	return r;
}

static int find_worth(struct ppdb *ppdb)
{
	int r;

	ppdb->worth.known = true;
	if (!ppdb->tables.size)
		return 0;
	r = read_tables(ppdb);
	if (r < 0)
		return r;
	if (ppdb->rows[TABLE_METHOD_DEBUG])
		ppdb->worth.debug = WORTH_DEBUG;
	return find_sources(ppdb);
}

/* ---- answers ------------------------------------------------------------------------ */

int ppdb_find_places(struct view *v, struct ppdb_places *out, struct err *e)
{
	struct ppdb p;
	int r = ppdb_open(&p, v, e);

	if (r == 0)
		r = read_tables(&p);
	if (r == 0)
		*out = (struct ppdb_places){.documents = p.documents, .methods = p.methods, .custom = p.custom,
			.guids = p.guids.off, .blobs = p.blobs.off, .n_documents = p.rows[TABLE_DOCUMENT],
			.n_methods = p.rows[TABLE_METHOD_DEBUG], .n_custom = p.rows[TABLE_CUSTOM],
			.guids_size = p.guids.size, .blobs_size = p.blobs.size,
			.document_row = row_size(&p, TABLE_DOCUMENT), .method_row = row_size(&p, TABLE_METHOD_DEBUG),
			.custom_row = row_size(&p, TABLE_CUSTOM), .guid = p.guid, .blob = p.blob,
			.parent = parent_size(&p)};
	return r;
}

static int ppdb_facts(struct ppdb *ppdb, struct view *v, struct err *e)
{
	int r = ppdb_open(ppdb, v, e);

	if (r == 0)
		r = find_worth(ppdb);
	return r < 0 ? r : obj_check_whole(v, ppdb->end, e);
}

int ppdb_worth(struct view *v, struct worth *out)
{
	struct ppdb ppdb;
	int r = ppdb_facts(&ppdb, v, NULL);

	if (r == 0)
		*out = ppdb.worth;
	return r;
}

/* Splits "FAMILY:digits" into the name of the algorithm and the digest. 0; -ENOTSUP. */
static int split_checksum(const char *text, char family[static 16], uint8_t want[static DIGEST_BYTES],
	size_t *n)
{
	const char *colon = strchr(text, ':');
	size_t digits = colon ? strlen(colon + 1) : 0;

	if (!colon || colon - text >= 16 || !digits || digits > 2 * DIGEST_BYTES ||
		hex_read(colon + 1, digits, want) < 0)
		return -ENOTSUP;
	snprintf(family, 16, "%.*s", (int)(colon - text), text);
	*n = digits / 2;
	return 0;
}

/* Adds the bytes of the file to a digest, with zeros in place of the identity. */
static int digest_without(struct digest *d, struct view *v, struct range identity)
{
	_cleanup_free_ uint8_t *p = malloc(CHUNK);
	uint64_t off = 0;

	if (!p)
		return -ENOMEM;
	while (off < v->size) {
		size_t n = (size_t)MIN((uint64_t)CHUNK, v->size - off);
		int r = view_read(v, off, p, n);

		if (r < 0)
			return r;
		for (uint64_t at = MAX(off, identity.off);
			at < MIN(off + n, identity.off + identity.size); at++)
			p[at - off] = 0;
		digest_add(d, p, n);
		off += n;
	}
	return 0;
}

int ppdb_checksum(struct view *v, const char *checksum, struct err *e)
{
	uint8_t want[DIGEST_BYTES], got[DIGEST_BYTES];
	char family[16];
	struct digest *d;
	struct ppdb ppdb;
	size_t n;
	int r;

	if (split_checksum(checksum, family, want, &n) < 0 || v->size == VIEW_UNKNOWN ||
		strcasecmp(family, "MD5") == 0) /* no compiler writes it */
		return 0;
	r = view_read(v, 0, got, obj_ppdb.magic_len);
	if (r == 0 && memcmp(got, obj_ppdb.magic, obj_ppdb.magic_len) != 0)
		return 0;
	if (r == 0)
		r = ppdb_open(&ppdb, v, NULL);
	if (r < 0)
		return r == -EBADMSG || r == -ENODATA ? 0 : r;
	d = digest_new(family);
	if (!d)
		return errno == ENOMEM ? -ENOMEM : 0;
	r = digest_without(d, v, (struct range){ppdb.pdb.off, ID_SIZE});
	if (r < 0) {
		digest_free(d);
		return r;
	}
	if (digest_finish(d, got) != n)
		return 0;
	return memcmp(want, got, n) == 0
		? 1
		: err_set(e, -EBADMSG, "is not the PDB of its program: the %s checksums differ", family);
}

int ppdb_make_checksum(struct view *v, char out[static MODULE_CHECKSUM_MAX], struct err *e)
{
	static const char family[] = "SHA256";
	char text[2 * DIGEST_BYTES + 1];
	uint8_t got[DIGEST_BYTES];
	struct digest *d;
	struct ppdb ppdb;
	int r = ppdb_open(&ppdb, v, e);

	if (r < 0)
		return r;
	d = digest_new(family);
	if (!d)
		return -ENOMEM;
	r = digest_without(d, v, (struct range){ppdb.pdb.off, ID_SIZE});
	if (r < 0) {
		digest_free(d);
		return r;
	}
	hex_print(got, digest_finish(d, got), text);
	snprintf(out, MODULE_CHECKSUM_MAX, "%s:%s", family, text);
	return 0;
}

static int ppdb_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "portablepdb", .arch = "unknown", .kind = OBJ_DEBUG,
		.size = v->size, .types = {FILETYPE_PORTABLEPDB}, .n_types = 1};
	struct ppdb ppdb;
	int r = ppdb_facts(&ppdb, v, e);

	if (r < 0)
		return r;
	s.worth = ppdb.worth;
	s.module.object = OBJECT_PE_DOTNET;
	s.module.debug_id = ppdb.id;
	*out = s;
	return 0;
}

static int ppdb_early(struct view *v, struct module *out)
{
	struct ppdb ppdb;
	int r = ppdb_open(&ppdb, v, NULL);

	if (r < 0)
		return r;
	memset(out, 0, sizeof(*out));
	out->object = OBJECT_PE_DOTNET;
	out->debug_id = ppdb.id;
	return 0;
}

const struct obj_format obj_ppdb = {
	.name = "portablepdb",
	.magic = "BSJB",
	.magic_len = 4,
	.serves = {FILETYPE_PORTABLEPDB},
	.probe = ppdb_probe,
	.early = ppdb_early,
};
