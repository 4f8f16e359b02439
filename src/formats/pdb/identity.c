/* Reads the identity of a PDB. Stream 1 has the GUID. Stream 3 has the machine, and the age that the program
 * contains. The directory of a large MSF file has megabytes, so only the few words that say where these two streams
 * begin are read, one by one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/pdb/identity.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/pdb/msf-private.h"

#include <string.h>

#define NO_STREAM UINT32_MAX /* the size of a deleted stream */
#define MSFZ_HEADER_SIZE 80
#define CHUNK_MOST (16u << 20) /* the most decompressed bytes of a chunk in which a needed stream begins */

enum { STREAM_INFO = 1, STREAM_DBI = 3, STREAMS_READ };

/* The first version with a GUID; earlier versions have only a time. */
#define INFO_VERSION_GUID 19990604u
#define INFO_SIZE 28
#define INFO_SIZE_OLD 12
#define DBI_SIZE 64
#define DBI_VERSIONED UINT32_MAX
#define FLAG_STRIPPED 2

/* Stream 1 ends with words that say how the PDB was linked. Names precede these words, so
 * the words are not aligned. */
#define TAIL_SIZE 16
#define FEATURE_MINI 0x494e494du

/* The first bytes of a stream, and the last. */
struct front {
	uint32_t size; /* of the whole stream */
	uint64_t word; /* index of the directory's word that has the stream's first block */
	uint8_t bytes[DBI_SIZE];
	uint8_t tail[TAIL_SIZE]; /* zeros: the bytes cannot be read */
};

struct blocks {
	struct msf_io *io;
	struct err *e;
	struct msf m; /* the size and number of the blocks alone */
	uint32_t directory; /* size of the directory in bytes */
};

/* ---- MSF ------------------------------------------------------------------------------------ */

/* Finds block `i` of the list of the directory's blocks. Microsoft's tools write the number of each block of that
 * list into the superblock. LLVM's tools write only the first number; the other blocks follow that block. */
static int map_block(const struct blocks *b, const char *what, uint64_t i, uint64_t *off)
{
	uint8_t word[4];
	uint32_t block;
	int r = msf_file_read(b->io, MSF_MAP_AT, word, sizeof(word), what, b->e);

	if (r < 0)
		return r;
	block = le32(word) + (uint32_t)i;
	if (i && MSF_MAP_AT + 4 * (i + 1) <= b->m.block_size) {
		r = msf_file_read(b->io, MSF_MAP_AT + 4 * i, word, sizeof(word), what, b->e);
		if (r < 0)
			return r;
		block = le32(word) && le32(word) < b->m.n_blocks ? le32(word) : block;
	}
	return msf_block(&b->m, block, off, what, b->e);
}

/* Reads the 32-bit word `i` of the directory, after finding its block in the list of the directory's blocks. */
static int directory_word(const struct blocks *b, uint64_t i, uint32_t *out)
{
	const char *what = "its stream directory";
	uint64_t entry = i * 4 / b->m.block_size * 4, map = 0, at = 0;
	uint8_t word[4];
	int r;

	if (i >= b->directory / 4)
		return err_set(b->e, -EBADMSG, "is broken: %s is too short", what);
	r = map_block(b, what, entry / b->m.block_size, &map);
	if (r == 0)
		r = msf_file_read(b->io, map + entry % b->m.block_size, word, sizeof(word), what, b->e);
	if (r == 0)
		r = msf_block(&b->m, le32(word), &at, what, b->e);
	if (r == 0)
		r = msf_file_read(b->io, at + i * 4 % b->m.block_size, word, sizeof(word), what, b->e);
	if (r == 0)
		*out = le32(word);
	return r;
}

/* Reads the first bytes of a stream, which lie in the stream's first block. */
static int read_front(const struct blocks *b, struct front *out)
{
	uint64_t at = 0;
	uint32_t block = 0;
	int r = out->size ? directory_word(b, out->word, &block) : 0;

	if (r == 0 && out->size)
		r = msf_block(&b->m, block, &at, "a stream", b->e);
	if (r == 0 && out->size)
		r = msf_file_read(b->io, at, out->bytes, MIN(out->size, sizeof(out->bytes)), "a stream", b->e);
	return r;
}

static bool has_tail(const struct front *f)
{
	return f->size >= INFO_SIZE + TAIL_SIZE;
}

/* Reads the last bytes of a stream, from one or two blocks. Broken bytes count as absent. 0, -EAGAIN. */
static int read_tail(const struct blocks *b, struct front *out)
{
	struct blocks quiet = {.io = b->io, .m = b->m, .directory = b->directory};
	uint32_t at = out->size - TAIL_SIZE, n = TAIL_SIZE;
	int r = 0;

	while (r == 0 && n) {
		uint32_t skip = at % b->m.block_size, here = MIN(n, b->m.block_size - skip), block = 0;
		uint64_t off = 0;

		r = directory_word(&quiet, out->word + at / b->m.block_size, &block);
		if (r == 0)
			r = msf_block(&quiet.m, block, &off, "", NULL);
		if (r == 0)
			r = msf_file_read(b->io, off + skip, out->tail + (TAIL_SIZE - n), here, "", NULL);
		at += here;
		n -= here;
	}
	if (r < 0)
		memset(out->tail, 0, sizeof(out->tail));
	return r == -EAGAIN ? r : 0;
}

/* Reads both streams. The directory has the number of streams, then the size of each, then the blocks of each. */
static int read_fronts(const struct blocks *b, struct front *info, struct front *dbi)
{
	uint32_t n = 0, size = 0;
	uint64_t at;
	int r = directory_word(b, 0, &n), again = 0;

	at = 1 + (uint64_t)n;
	for (uint32_t i = 0; r == 0 && i < MIN(n, (uint32_t)STREAMS_READ); i++) {
		struct front *f = i == STREAM_INFO ? info : i == STREAM_DBI ? dbi : NULL;

		r = directory_word(b, 1 + (uint64_t)i, &size);
		if (r < 0)
			break;
		size = size == NO_STREAM ? 0 : size;
		if (f) {
			f->size = size;
			f->word = at;
			r = read_front(b, f);
			/* continue, to list the other stream's missing bytes, too */
			again = r == -EAGAIN ? r : again;
			r = r == -EAGAIN ? 0 : r;
		}
		at += ((uint64_t)size + b->m.block_size - 1) / b->m.block_size;
	}
	if (r == 0 && again == 0 && has_tail(info))
		again = read_tail(b, info);
	return r < 0 ? r : again;
}

static int open_msf(struct msf_io *io, struct front *info, struct front *dbi, uint64_t *end, struct err *e)
{
	struct blocks b = {.io = io, .e = e};
	int r = msf_superblock(&b.m, io, &b.directory, e);

	if (r < 0)
		return r;
	*end = (uint64_t)b.m.n_blocks * b.m.block_size;
	if (b.directory < 4)
		return err_set(e, -EBADMSG, "is broken: it has no stream directory");
	return read_fronts(&b, info, dbi);
}

/* ---- MSFZ ----------------------------------------------------------------------------------- */

static uint64_t end_of_msfz(const struct msf *m, const uint8_t *h)
{
	uint64_t end = MAX(le64(h + 40) + le32(h + 64), le64(h + 48) + le32(h + 76));

	for (uint32_t i = 0; i < m->n_chunks; i++)
		end = MAX(end, m->chunks[i].off + m->chunks[i].packed);
	for (size_t i = 0; i < m->n_fragments; i++)
		if (!(m->fragments[i].where >> 63))
			end = MAX(end, (m->fragments[i].where & 0xffffffffffffu) + m->fragments[i].size);
	return end;
}

/* Reads the first bytes of a stream. A chunk that is too large is refused before it is decompressed. */
static int read_msfz_front(const struct msf *m, struct msf_io *io, uint32_t stream, struct front *out, struct err *e)
{
	const struct msf_fragment *f = m->fragments + (stream < m->n_streams ? m->streams[stream].first : 0);
	uint32_t chunk;

	out->size = msf_size(m, stream);
	if (!out->size)
		return 0;
	chunk = (uint32_t)(f->where >> 32) & 0x7fffffffu;
	if (f->where >> 63 && chunk < m->n_chunks && m->chunks[chunk].size > CHUNK_MOST)
		return err_set(e, -EBADMSG, "is broken: stream %u begins in a chunk of %u bytes", stream,
			m->chunks[chunk].size);
	return msf_read(m, io, stream, 0, out->bytes, MIN(out->size, sizeof(out->bytes)), "a stream", e);
}

static int open_msfz(struct msf_io *io, struct front *info, struct front *dbi, uint64_t *end, struct err *e)
{
	uint8_t h[MSFZ_HEADER_SIZE];
	struct msf m;
	int r = msf_open(&m, io, e), r2;

	if (r == 0)
		r = msf_file_read(io, 0, h, sizeof(h), "its header", e);
	if (r == 0) {
		*end = end_of_msfz(&m, h);
		r = read_msfz_front(&m, io, STREAM_INFO, info, e);
	}
	if (r == 0 && has_tail(info))
		r = msf_read(&m, io, STREAM_INFO, info->size - TAIL_SIZE, info->tail, TAIL_SIZE, "its identity", e);
	if (r == 0 || r == -EAGAIN) {
		r2 = m.n_streams ? read_msfz_front(&m, io, STREAM_DBI, dbi, e) : 0;
		r = r2 < 0 && r2 != -EAGAIN ? r2 : r < 0 ? r : r2;
	}
	msf_release(&m);
	return r;
}

/* Reports the next byte as missing, so that the caller tries again when more of the file is downloaded. */
static int wait_for_size(struct msf_io *io)
{
	io->lacks[0] = (struct msf_lack){io->v.have, 1};
	io->n_lacks = 1;
	return -EAGAIN;
}

/* ---- contents of the streams ---------------------------------------------------------------- */

static int take_info(const struct front *f, struct pdb_identity *out, struct err *e)
{
	const uint8_t *h = f->bytes;

	if (f->size < INFO_SIZE_OLD)
		return err_set(e, -EBADMSG, "is broken: it has no stream with an identity");
	out->signature = le32(h + 4);
	out->age = le32(h + 8);
	out->has_guid = le32(h) >= INFO_VERSION_GUID;
	for (unsigned i = 0; i < TAIL_SIZE; i += 4)
		out->mini |= le32(f->tail + i) == FEATURE_MINI;
	if (!out->has_guid)
		return 0;
	if (f->size < INFO_SIZE)
		return err_set(e, -EBADMSG, "is broken: its identity is cut short");
	memcpy(out->guid, h + 12, sizeof(out->guid));
	return 0;
}

/* The linker increments the age in stream 3, and writes that age into the program. Tools that add to a PDB later
 * (srcsrv's pdbstr) increment the age in stream 1. The PDBs of compilers have no stream 3. */
static void take_dbi(const struct front *f, struct pdb_identity *out)
{
	out->has_dbi = f->size >= DBI_SIZE && le32(f->bytes) == DBI_VERSIONED;
	out->old_dbi = f->size >= DBI_SIZE && !out->has_dbi;
	if (!out->has_dbi)
		return;
	out->age = le32(f->bytes + 8);
	out->stripped = le16(f->bytes + 56) & FLAG_STRIPPED;
	out->machine = le16(f->bytes + 58);
}

int pdb_identify(struct msf_io *io, struct pdb_identity *out, struct err *e)
{
	struct front info = {0}, dbi = {0};
	uint8_t magic[sizeof(msfz_magic)];
	int r = msf_file_read(io, 0, magic, sizeof(magic), "its header", e);

	*out = (struct pdb_identity){0};
	if (r < 0)
		return r;
	if (memcmp(magic, msfz_magic, sizeof(magic)) != 0)
		r = msf_is(magic, sizeof(magic)) ? open_msf(io, &info, &dbi, &out->end, e)
						 : err_set(e, -ENOMSG, "is not a PDB");
	else
		r = io->v.size == VIEW_UNKNOWN ? wait_for_size(io) : open_msfz(io, &info, &dbi, &out->end, e);
	if (r == 0)
		r = take_info(&info, out, e);
	if (r == 0)
		take_dbi(&dbi, out);
	return r;
}
