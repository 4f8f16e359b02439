/* PDB: the debug information that Microsoft's linker writes beside a program. The file has blocks (MSF 7.00),
 * which form numbered streams. Stream 1 has the GUID. Stream 3 has the machine, and the age that the program
 * has, too. The directory of a large file has megabytes, so only the few words that say where these two
 * streams begin are read, one by one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obj/private.h"
#include "base/little.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

#define SUPERBLOCK_SIZE 56
#define BLOCK_LEAST 512u
#define BLOCK_MOST 65536u
#define NO_STREAM UINT32_MAX /* the size of a deleted stream */

enum { STREAM_INFO = 1, STREAM_DBI = 3, STREAMS_READ };

/* The first version with a GUID; earlier versions have only a time. */
#define INFO_VERSION_GUID 19990604u
#define INFO_SIZE 28
#define INFO_SIZE_OLD 12
#define DBI_SIZE 64
#define DBI_VERSIONED UINT32_MAX

struct stream {
	uint32_t size;
	uint64_t off; /* of its first block */
};

struct pdb {
	struct view *v;
	struct err *e;
	uint32_t block_size, blocks;
	uint32_t directory_size, directory_map; /* bytes; the block that lists the directory's blocks */
	uint32_t streams;
	struct stream stream[STREAMS_READ + 1];

	struct debug_id id;
	uint32_t machine;
	bool mini;	  /* made by /DEBUG:FASTLINK: functions and types are in the object files */
	bool has_dbi, stripped; /* without private symbols and lines */
	bool old_dbi;	  /* of before 1999: what it has is not known */
};

/* ---- blocks ------------------------------------------------------------------------- */

static int pdb_read(struct pdb *pdb, const char *what, uint64_t off, void *p, size_t n)
{
	return obj_read(pdb->v, what, off, p, n, pdb->e);
}

static int block_at(struct pdb *pdb, const char *what, uint32_t block, uint64_t *off)
{
	if (!block || block >= pdb->blocks)
		return err_set(pdb->e, -EBADMSG, "is broken: %s is in block %u of %u", what, block,
			pdb->blocks);
	*off = (uint64_t)block * pdb->block_size;
	return 0;
}

static int pdb_open(struct pdb *pdb, struct view *v, struct err *e)
{
	uint8_t h[SUPERBLOCK_SIZE];
	int r;

	memset(pdb, 0, sizeof(*pdb));
	pdb->v = v;
	pdb->e = e;
	r = pdb_read(pdb, "its header", 0, h, sizeof(h));
	if (r < 0)
		return r;
	pdb->block_size = le32(h + 32);
	pdb->blocks = le32(h + 40);
	pdb->directory_size = le32(h + 44);
	pdb->directory_map = le32(h + 52);
	if (pdb->block_size < BLOCK_LEAST || pdb->block_size > BLOCK_MOST ||
		(pdb->block_size & (pdb->block_size - 1)))
		return err_set(e, -EBADMSG, "is broken: blocks of %u bytes", pdb->block_size);
	if (pdb->directory_size < 4)
		return err_set(e, -EBADMSG, "is broken: it has no stream directory");
	return 0;
}

/* Word `i` of the stream directory, by way of the list of the directory's blocks. The list of a
 * long directory fills several blocks, one behind the other. */
static int directory_word(struct pdb *pdb, uint64_t i, uint32_t *out)
{
	const char *what = "its stream directory";
	uint64_t map = 0, at = 0;
	uint8_t word[4];
	int r;

	if (i >= pdb->directory_size / 4)
		return err_set(pdb->e, -EBADMSG, "is broken: %s is too short", what);
	r = block_at(pdb, what, pdb->directory_map, &map);
	if (r == 0)
		r = pdb_read(pdb, what, map + i * 4 / pdb->block_size * 4, word, sizeof(word));
	if (r == 0)
		r = block_at(pdb, what, le32(word), &at);
	if (r == 0)
		r = pdb_read(pdb, what, at + i * 4 % pdb->block_size, word, sizeof(word));
	if (r == 0)
		*out = le32(word);
	return r;
}

/* The directory has the number of streams, then the size of each, then the blocks of each. */
static int find_streams(struct pdb *pdb)
{
	uint64_t at;
	uint32_t block;
	int r = directory_word(pdb, 0, &pdb->streams);

	at = 1 + (uint64_t)pdb->streams;
	for (uint32_t i = 0; r == 0 && i < MIN(pdb->streams, (uint32_t)STREAMS_READ + 1); i++) {
		struct stream *s = &pdb->stream[i];

		r = directory_word(pdb, 1 + (uint64_t)i, &s->size);
		if (r < 0)
			return r;
		if (s->size == NO_STREAM)
			s->size = 0;
		if (s->size && (i == STREAM_INFO || i == STREAM_DBI)) {
			r = directory_word(pdb, at, &block);
			if (r == 0)
				r = block_at(pdb, "a stream", block, &s->off);
		}
		at += ((uint64_t)s->size + pdb->block_size - 1) / pdb->block_size;
	}
	return r;
}

/* ---- what the streams say ----------------------------------------------------------- */

static int read_info(struct pdb *pdb)
{
	const struct stream *s = &pdb->stream[STREAM_INFO];
	uint8_t h[INFO_SIZE];
	int r;

	if (s->size < INFO_SIZE_OLD)
		return err_set(pdb->e, -EBADMSG, "is broken: it has no stream with an identity");
	r = pdb_read(pdb, "its identity", s->off, h, MIN(s->size, sizeof(h)));
	if (r < 0)
		return r;
	if (le32(h) >= INFO_VERSION_GUID) {
		if (s->size < sizeof(h))
			return err_set(pdb->e, -EBADMSG, "is broken: its identity is cut short");
		debug_id_from_guid(&pdb->id, h + 12, le32(h + 8));
		return 0;
	}
	pdb->id = (struct debug_id){.set = true, .pdb20 = true, .age = le32(h + 8),
		.guid = {h[7], h[6], h[5], h[4]}};
	return 0;
}

/* Stream 1 ends with words that say how the PDB was linked. They are not aligned, because names precede them. */
#define FEATURES_MOST 4
#define FEATURE_MINI 0x494e494du

/* Reads the last n bytes of stream 1, at most two blocks of it. */
static int read_tail(struct pdb *pdb, uint8_t *p, uint32_t n)
{
	const struct stream *s = &pdb->stream[STREAM_INFO];
	uint64_t words = 1 + (uint64_t)pdb->streams, off;
	uint32_t at = s->size - n, block;
	int r = 0;

	words += ((uint64_t)pdb->stream[0].size + pdb->block_size - 1) / pdb->block_size;
	while (r == 0 && n) {
		uint32_t here = MIN(n, pdb->block_size - at % pdb->block_size);

		r = directory_word(pdb, words + at / pdb->block_size, &block);
		if (r == 0)
			r = block_at(pdb, "its identity", block, &off);
		if (r == 0)
			r = pdb_read(pdb, "its identity", off + at % pdb->block_size, p, here);
		p += here;
		at += here;
		n -= here;
	}
	return r;
}

/* Finds out whether the PDB is a mini PDB. 0, -EAGAIN: words that cannot be read count as absent. */
static int read_features(struct pdb *pdb)
{
	uint8_t p[4 * FEATURES_MOST];
	struct err *e = pdb->e;
	int r;

	if (pdb->stream[STREAM_INFO].size < INFO_SIZE + sizeof(p))
		return 0;
	pdb->e = NULL;
	r = read_tail(pdb, p, sizeof(p));
	pdb->e = e;
	for (size_t i = 0; r == 0 && i < sizeof(p); i += 4)
		pdb->mini |= le32(p + i) == FEATURE_MINI;
	return r == -EAGAIN ? r : 0;
}

/* The linker increments the age in stream 3, and writes that age into the program. Tools that add to a PDB
 * later (srcsrv's pdbstr) increment the age in stream 1. The PDBs of compilers have no stream 3. */
static int read_dbi(struct pdb *pdb)
{
	const struct stream *s = &pdb->stream[STREAM_DBI];
	uint8_t h[DBI_SIZE];
	int r;

	if (s->size < sizeof(h))
		return 0;
	r = pdb_read(pdb, "its debug information", s->off, h, sizeof(h));
	pdb->old_dbi = r == 0 && le32(h) != DBI_VERSIONED;
	if (r < 0 || pdb->old_dbi)
		return r;
	pdb->id.age = le32(h + 8);
	pdb->has_dbi = true;
	pdb->stripped = le16(h + 56) & 2;
	pdb->machine = le16(h + 58);
	return 0;
}

static int pdb_facts(struct pdb *pdb, struct view *v, struct err *e)
{
	int r = pdb_open(pdb, v, e);

	if (r == 0)
		r = find_streams(pdb);
	if (r == 0)
		r = read_info(pdb);
	return r < 0 ? r : read_dbi(pdb);
}

/* The header has the number of blocks. */
static int check_whole(struct pdb *pdb)
{
	uint64_t end = (uint64_t)pdb->blocks * pdb->block_size;

	return obj_check_whole(pdb->v, end, pdb->e);
}

static const char *arch_of(const struct pdb *pdb)
{
	switch (pdb->machine) {
	case 0x14c: return "x86";
	case 0x1c0:
	case 0x1c2:
	case 0x1c4: return "arm";
	case 0x8664: return "x86_64";
	case 0xa641:
	case 0xaa64: return "arm64";
	default: return "unknown";
	}
}

static struct worth worth_of(const struct pdb *pdb)
{
	struct worth w = {.known = !pdb->old_dbi};

	if (pdb->has_dbi && (pdb->stripped || pdb->mini)) {
		w.symbols = WORTH_DYNAMIC;
		w.debug = pdb->mini && !pdb->stripped ? WORTH_LINES : WORTH_NO_DEBUG;
	} else if (pdb->has_dbi) {
		w.symbols = WORTH_SYMBOLS;
		w.debug = WORTH_DEBUG;
	}
	w.unwind = pdb->machine == 0x14c; /* other machines have unwind tables in the program */
	return w;
}

static int pdb_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "pdb", .kind = OBJ_DEBUG, .size = v->size,
		.types = {FILETYPE_PDB}, .n_types = 1};
	struct pdb pdb;
	int r;

	if (index)
		return -ENOENT;
	r = pdb_facts(&pdb, v, e);
	if (r == 0)
		r = check_whole(&pdb);
	if (r == 0)
		r = read_features(&pdb);
	if (r < 0)
		return r;
	s.arch = arch_of(&pdb);
	s.module.object = OBJECT_PE;
	s.module.debug_id = pdb.id;
	s.worth = worth_of(&pdb);
	*out = s;
	return 0;
}

static int pdb_early(struct view *v, struct module *out)
{
	struct pdb pdb;
	int r = pdb_facts(&pdb, v, NULL);

	if (r < 0)
		return r;
	memset(out, 0, sizeof(*out));
	out->object = OBJECT_PE;
	out->debug_id = pdb.id;
	return 0;
}

/* Reads a few words of two streams, so the file need not be whole. */
static int pdb_worth(struct view *v, struct worth *out)
{
	struct pdb pdb;
	int r = pdb_facts(&pdb, v, NULL);

	if (r == 0)
		r = read_features(&pdb);
	if (r == 0)
		*out = worth_of(&pdb);
	return r;
}

const struct obj_format obj_pdb = {
	.name = "pdb",
	.magic = "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0\0",
	.magic_len = 32,
	.serves = {FILETYPE_PDB},
	.probe = pdb_probe,
	.early = pdb_early,
	.worth = pdb_worth,
	.sparse = obj_always_sparse,
};
