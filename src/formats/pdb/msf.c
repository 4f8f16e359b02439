/* Reads the directory of a PDB's container (MSF 7.00), and bytes of its streams. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/pdb/msf.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/pdb/msf-private.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define SUPERBLOCK_SIZE 56
#define BLOCK_LEAST 512u
#define BLOCK_MOST 65536u
#define SIZE_NONE UINT32_MAX /* the size of a stream that was deleted */
#define MAGIC_SIZE 32

static const char magic_7[MAGIC_SIZE] = "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0";
static const char magic_2[] = "Microsoft C/C++ program database 2.00\r\n\x1a";

/* ---- blocks ----------------------------------------------------------------------------- */

static uint64_t blocks_of(const struct msf *m, uint64_t n)
{
	return (n + m->block_size - 1) >> m->block_bits;
}

/* Counts the blocks from entry `i` of `list` that are contiguous in the file, up to `most` blocks. */
static uint64_t run_of_blocks(const uint8_t *list, uint64_t i, uint64_t most)
{
	uint64_t k = 1;

	while (k < most && le32(list + 4 * (i + k)) == le32(list + 4 * i) + k)
		k++;
	return k;
}

/* Reads bytes [off, off + n) of the data in the blocks that `list` numbers. Contiguous blocks are read at
 * once. Continues after a run that is missing, so that all missing runs are recorded. */
static int read_blocks(const struct msf *m, struct msf_io *io, const uint8_t *list, uint64_t off, uint8_t *p,
	size_t n, const char *what, struct err *e)
{
	bool lacks = false;

	while (n) {
		uint64_t i = off >> m->block_bits, skip = off & (m->block_size - 1);
		uint64_t k = run_of_blocks(list, i, blocks_of(m, skip + n)), at = 0, last = 0;
		size_t run = (size_t)MIN((k << m->block_bits) - skip, n);
		int r = msf_block(m, le32(list + 4 * i), &at, what, e);

		if (r == 0)
			r = msf_block(m, le32(list + 4 * (i + k - 1)), &last, what, e);
		if (r == 0)
			r = msf_file_read(io, at + skip, p, run, what, e);
		if (r < 0 && r != -EAGAIN)
			return r;
		lacks |= r < 0;
		off += run;
		p += run;
		n -= run;
	}
	return lacks ? -EAGAIN : 0;
}

/* ---- the directory ---------------------------------------------------------------------- */

/* Reads the numbers of the map's blocks. Microsoft's tools list these numbers at the end of the
 * superblock. LLVM's tools write only the number of the first block of a contiguous run. Both forms
 * are the same for a map of one block. */
static int map_list(const struct msf *m, struct msf_io *io, uint64_t n_map, uint8_t **out, struct err *e)
{
	const char *what = "the map of its directory";
	uint8_t *list = malloc((size_t)n_map * 4);
	bool run = false;
	int r = list ? msf_file_read(io, MSF_MAP_AT, list, (size_t)n_map * 4, what, e) : -ENOMEM;

	for (uint64_t i = 1; r == 0 && i < n_map; i++)
		run |= !le32(list + 4 * i) || le32(list + 4 * i) >= m->n_blocks;
	for (uint64_t i = 1; r == 0 && run && i < n_map; i++) {
		uint32_t block = htole32(le32(list) + (uint32_t)i);

		memcpy(list + 4 * i, &block, 4);
	}
	if (r < 0)
		free(take(list));
	*out = list;
	return r;
}

static int load_directory(struct msf *m, struct msf_io *io, uint32_t size, struct err *e)
{
	uint64_t n_map = blocks_of(m, blocks_of(m, size) * 4), n_list = blocks_of(m, size) * 4;
	_cleanup_free_ uint8_t *map = NULL, *list = NULL;
	int r;

	if (MSF_MAP_AT + n_map * 4 > m->block_size)
		return err_set(e, -EBADMSG, "is broken: a directory of %u bytes in blocks of %u", size,
			m->block_size);
	r = map_list(m, io, n_map, &map, e);
	if (r < 0)
		return r;
	list = malloc((size_t)n_list);
	m->directory = malloc((size_t)blocks_of(m, size) * m->block_size);
	m->directory_n = size;
	if (!list || !m->directory)
		return -ENOMEM;
	r = read_blocks(m, io, map, 0, list, (size_t)n_list, "the map of its directory", e);
	if (r == 0)
		r = read_blocks(m, io, list, 0, m->directory, size, "its directory", e);
	return r;
}

/* Reads the directory: the number of streams, the size of each, then the block numbers of each. A block belongs to
 * one stream, so all streams together are not larger than the file. Stream 0, a former directory, does not count. */
static int index_streams(struct msf *m, struct err *e)
{
	uint64_t words = m->directory_n / 4, at, blocks = 0;

	m->n_streams = words ? le32(m->directory) : 0;
	at = 1 + (uint64_t)m->n_streams;
	if (!words || at > words)
		return err_set(e, -EBADMSG, "is broken: its directory of %zu bytes has no room for %u streams",
			m->directory_n, m->n_streams);
	m->streams = calloc(m->n_streams + 1, sizeof(*m->streams));
	if (!m->streams)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_streams; i++) {
		struct msf_stream *s = &m->streams[i];

		s->size = le32(m->directory + 4 * (1 + (size_t)i));
		if (s->size == SIZE_NONE)
			s->size = 0;
		s->first = (uint32_t)at;
		at += blocks_of(m, s->size);
		blocks += i ? blocks_of(m, s->size) : 0;
		if (at > words || s->size > m->file_size)
			return err_set(e, -EBADMSG, "is broken: its directory lacks the blocks of stream %u", i);
		if (blocks > blocks_of(m, m->file_size))
			return err_set(e, -EBADMSG, "is broken: streams up to %u are larger than the file", i);
	}
	return 0;
}

int msf_superblock(struct msf *m, struct msf_io *io, uint32_t *directory, struct err *e)
{
	uint8_t h[SUPERBLOCK_SIZE];
	int r = msf_file_read(io, 0, h, sizeof(h), "its header", e);

	if (r < 0)
		return r;
	m->block_size = le32(h + 32);
	m->n_blocks = le32(h + 40);
	*directory = le32(h + 44);
	if (m->block_size < BLOCK_LEAST || m->block_size > BLOCK_MOST || (m->block_size & (m->block_size - 1)))
		return err_set(e, -EBADMSG, "is broken: blocks of %u bytes", m->block_size);
	m->block_bits = (unsigned)__builtin_ctz(m->block_size);
	return 0;
}

static int open_7(struct msf *m, struct msf_io *io, struct err *e)
{
	uint32_t size;
	int r = msf_superblock(m, io, &size, e);

	if (r < 0)
		return r;
	if (size < 4 || size > m->file_size)
		return err_set(e, -EBADMSG, "is broken: a directory of %u bytes", size);
	r = load_directory(m, io, size, e);
	return r < 0 ? r : index_streams(m, e);
}

/* ---- the interface ------------------------------------------------------------------------ */

bool msf_is(const void *head, size_t n)
{
	return n >= MAGIC_SIZE &&
		(memcmp(head, magic_7, MAGIC_SIZE) == 0 || memcmp(head, msfz_magic, MAGIC_SIZE) == 0);
}

static int open_any(struct msf *m, struct msf_io *io, struct err *e)
{
	uint8_t head[sizeof(magic_2) - 1];
	int r;

	if (m->file_size < sizeof(head))
		return err_set(e, -ENOMSG, "is not a PDB");
	r = msf_file_read(io, 0, head, sizeof(head), "its header", e);
	if (r < 0)
		return r;
	if (memcmp(head, magic_7, MAGIC_SIZE) == 0)
		return open_7(m, io, e);
	if (memcmp(head, msfz_magic, MAGIC_SIZE) == 0)
		return msfz_open(m, io, e);
	if (memcmp(head, magic_2, sizeof(head)) == 0)
		return err_set(e, -ENOTSUP, "is a PDB 2.0, of Visual C++ 6 or before, which symfs does not read");
	return err_set(e, -ENOMSG, "is not a PDB");
}

int msf_open(struct msf *m, struct msf_io *io, struct err *e)
{
	int r;

	*m = (struct msf){.file_size = io->v.size};
	if (io->v.size == VIEW_UNKNOWN)
		return err_set(e, -EINVAL, "cannot be read before its size is known");
	r = open_any(m, io, e);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

void msf_release(struct msf *m)
{
	free(take(m->streams));
	free(take(m->directory));
	free(take(m->fragments));
	free(take(m->chunks));
	m->n_streams = 0;
}

uint32_t msf_size(const struct msf *m, uint32_t stream)
{
	return stream < m->n_streams ? m->streams[stream].size : 0;
}

int msf_read(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, void *p, size_t n,
	const char *what, struct err *e)
{
	uint32_t size = msf_size(m, stream);

	if (off > size || n > size - off)
		return err_set(e, -EBADMSG, "is broken: %s is cut short: stream %u has %u bytes", what, stream, size);
	if (!n)
		return 0;
	if (m->fragments)
		return msfz_read(m, io, stream, off, p, n, what, e);
	return read_blocks(m, io, m->directory + 4 * (size_t)m->streams[stream].first, off, p, n, what, e);
}

int msf_load(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, size_t n, uint8_t **out,
	const char *what, struct err *e)
{
	int r = 0;

	*out = n && n <= msf_size(m, stream) ? malloc(n) : NULL;
	if (n && n <= msf_size(m, stream) && !*out)
		return err_set(e, -ENOMEM, "out of memory");
	r = msf_read(m, io, stream, off, *out, n, what, e);
	if (r < 0)
		free(take(*out));
	return r;
}

/* Finds the offset in the file of bytes of a stream. False: the bytes are not contiguous in the
 * file. */
static bool one_run(const struct msf *m, uint32_t stream, uint32_t off, size_t n, uint64_t *at)
{
	const uint8_t *list = m->directory + 4 * (size_t)m->streams[stream].first;
	uint64_t i = off >> m->block_bits, skip = off & (m->block_size - 1), k = blocks_of(m, skip + n);
	uint32_t first = le32(list + 4 * i);

	*at = ((uint64_t)first << m->block_bits) + skip;
	return first && run_of_blocks(list, i, k) == k && first < m->n_blocks && k <= m->n_blocks - first;
}

const uint8_t *msf_bytes(const struct msf *m, const struct msf_io *io, uint32_t stream, uint32_t off, size_t n)
{
	uint32_t size = msf_size(m, stream);
	uint64_t at;

	if (!n || off > size || n > size - off || m->fragments || !one_run(m, stream, off, n, &at))
		return NULL;
	return view_at(&io->v, at, n);
}

int msf_borrow(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, size_t n, const uint8_t **out,
	uint8_t **copy, const char *what, struct err *e)
{
	int r = 0;

	*copy = NULL;
	*out = msf_bytes(m, io, stream, off, n);
	if (!*out)
		r = msf_load(m, io, stream, off, n, copy, what, e);
	if (*copy)
		*out = *copy;
	return r;
}
