/* Reads MSFZ, the form of a PDB's container whose streams can be compressed. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/expand.h"
#include "base/inflate.h"
#include "base/little.h"
#include "base/search.h"
#include "base/util.h"
#include "formats/pdb/msf-private.h"

#include <stdlib.h>

#define HEADER_SIZE 80
#define CHUNK_ENTRY 20
#define CHUNK_MOST (256u << 20)	  /* the most decompressed bytes of a chunk */
#define EXPAND_MOST 16u		  /* all chunks are at most this many times as large as the file, */
#define EXPAND_LEAST (16u << 20)  /* plus this number of bytes */
#define AGAIN_MOST 32u		  /* a chunk is decompressed at most this many times on average, */
#define AGAIN_LEAST (256u << 20)  /* plus this number of bytes for all chunks */
#define KEPT_MOST (64u << 20)	  /* bytes of decompressed chunks to keep, beside the last one */
#define DIRECTORY_MOST (64u << 20)
#define SIZE_NONE UINT32_MAX
#define WHERE_PACKED ((uint64_t)1 << 63)

const char msfz_magic[32] = "Microsoft MSFZ Container\r\n\x1a" "ALD\0";

enum { HOW_PLAIN, HOW_ZSTD, HOW_DEFLATE };

/* ---- compressed bytes ----------------------------------------------------------------------- */

static int unpack(uint32_t how, struct span in, uint8_t *out, size_t n, const char *what, struct err *e)
{
	size_t made = n;
	int r = -ENOTSUP;

	if (how == HOW_PLAIN && in.n == n) {
		memcpy(out, in.p, n);
		return 0;
	}
	if (how == HOW_ZSTD)
		r = expand_zstd(in, out, n);
	else if (how == HOW_DEFLATE)
		r = inflate_raw(in.p, in.n, out, n, &made);
	if (r == 0 && made != n)
		r = -EBADMSG;
	if (r == -ENOTSUP)
		return err_set(e, r, "has %s compressed in a way (%u) that symfs does not know", what, how);
	if (r < 0)
		return err_set(e, r == -ENOMEM ? r : -EBADMSG, "is broken: %s cannot be decompressed", what);
	return 0;
}

static int read_packed(struct msf_io *io, uint32_t how, uint64_t off, uint32_t packed, uint8_t *out, size_t n,
	const char *what, struct err *e)
{
	_cleanup_free_ uint8_t *in = NULL;
	int r;

	if (packed > io->v.size)
		return err_set(e, -EBADMSG, "is broken: %s has %u compressed bytes", what, packed);
	in = malloc((size_t)packed + 1);
	if (!in)
		return err_set(e, -ENOMEM, "out of memory");
	r = msf_file_read(io, off, in, packed, what, e);
	return r < 0 ? r : unpack(how, (struct span){in, packed}, out, n, what, e);
}

/* ---- the directory ---------------------------------------------------------------------------- */

static int read_chunks(struct msf *m, struct msf_io *io, uint64_t off, uint32_t n, uint32_t size, struct err *e)
{
	_cleanup_free_ uint8_t *table = NULL;
	int r;

	if ((uint64_t)n * CHUNK_ENTRY > size || size > m->file_size)
		return err_set(e, -EBADMSG, "is broken: %u chunks in a table of %u bytes", n, size);
	table = malloc((size_t)size + 1);
	m->chunks = calloc((size_t)n + 1, sizeof(*m->chunks));
	if (!table || !m->chunks)
		return -ENOMEM;
	r = msf_file_read(io, off, table, size, "its table of chunks", e);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const uint8_t *p = table + (size_t)i * CHUNK_ENTRY;

		m->chunks[i] = (struct msf_chunk){le64(p), le32(p + 8), le32(p + 12), le32(p + 16), m->expanded};
		m->expanded += m->chunks[i].size;
		if (m->chunks[i].size > CHUNK_MOST || m->expanded > EXPAND_LEAST + EXPAND_MOST * m->file_size)
			r = err_set(e, -EBADMSG, "is broken: chunks up to %u have %llu bytes", i,
				(unsigned long long)m->expanded);
	}
	m->n_chunks = n;
	return r;
}

/* Reads the fragments of a stream, and adds their sizes to `*all`; the size 0 ends the list. A deleted stream has
 * SIZE_NONE in place of a list. */
static int index_stream(struct msf *m, struct msf_stream *s, struct span d, size_t *at, uint64_t *all, struct err *e)
{
	uint64_t size = 0;

	s->first = (uint32_t)m->n_fragments;
	for (;;) {
		const uint8_t *p = span_at(d, *at, 4);

		if (!p)
			return err_set(e, -EBADMSG, "is broken: its directory is cut short");
		*at += 4;
		if (le32(p) == 0 || (le32(p) == SIZE_NONE && size == 0))
			break;
		if (!(p = span_at(d, *at - 4, 12)))
			return err_set(e, -EBADMSG, "is broken: its directory is cut short");
		*at += 8;
		*all += le32(p);
		if (*all > m->file_size + m->expanded || size + le32(p) > UINT32_MAX)
			return err_set(e, -EBADMSG, "is broken: its streams are larger than its chunks");
		m->fragments[m->n_fragments++] = (struct msf_fragment){le32(p), (uint32_t)size, le64(p + 4)};
		size += le32(p);
	}
	s->size = (uint32_t)size;
	s->end = (uint32_t)m->n_fragments;
	return 0;
}

static int index_streams(struct msf *m, uint32_t n, struct span d, struct err *e)
{
	uint64_t all = 0;
	size_t at = 0;
	int r = 0;

	if (n > d.n / 4)
		return err_set(e, -EBADMSG, "is broken: %u streams in a directory of %zu bytes", n, d.n);
	m->streams = calloc((size_t)n + 1, sizeof(*m->streams));
	m->fragments = calloc(d.n / 12 + 1, sizeof(*m->fragments));
	if (!m->streams || !m->fragments)
		return -ENOMEM;
	m->n_streams = n;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = index_stream(m, &m->streams[i], d, &at, &all, e);
	return r;
}

int msfz_open(struct msf *m, struct msf_io *io, struct err *e)
{
	_cleanup_free_ uint8_t *directory = NULL;
	uint8_t h[HEADER_SIZE];
	uint32_t size;
	int r = msf_file_read(io, 0, h, sizeof(h), "its header", e);

	if (r < 0)
		return r;
	if (le64(h + 32) != 0)
		return err_set(e, -ENOTSUP, "is an MSFZ of version %llu, which symfs does not read",
			(unsigned long long)le64(h + 32));
	size = le32(h + 68);
	if (size > DIRECTORY_MOST || size > EXPAND_LEAST + EXPAND_MOST * m->file_size)
		return err_set(e, -EBADMSG, "is broken: a directory of %u bytes", size);
	directory = malloc((size_t)size + 1);
	if (!directory)
		return -ENOMEM;
	r = read_packed(io, le32(h + 60), le64(h + 40), le32(h + 64), directory, size, "its directory", e);
	if (r == 0 || r == -EAGAIN) {
		int chunks = read_chunks(m, io, le64(h + 48), le32(h + 72), le32(h + 76), e);

		r = chunks < 0 && chunks != -EAGAIN ? chunks : r < 0 ? r : chunks;
	}
	return r < 0 ? r : index_streams(m, le32(h + 56), (struct span){directory, size}, e);
}

/* ---- streams ---------------------------------------------------------------------------------- */

static size_t kept(const struct msf_io *io)
{
	size_t n = 0;

	for (unsigned i = 1; i < MSF_CHUNKS_KEPT; i++)
		n += io->chunks[i].bytes ? io->chunks[i].size : 0;
	return n;
}

/* Makes entry `i` the first one. */
static void move_to_front(struct msf_io *io, unsigned i)
{
	struct msf_expanded first = io->chunks[i];

	for (; i; i--)
		io->chunks[i] = io->chunks[i - 1];
	io->chunks[0] = first;
}

/* Decompresses a chunk, and keeps it for further calls, because streams are mostly read from front to back. A file
 * whose streams alternate between many chunks is refused after a while. */
static int load_chunk(const struct msf *m, struct msf_io *io, uint32_t i, const char *what, struct err *e)
{
	unsigned last = MSF_CHUNKS_KEPT - 1;
	const struct msf_chunk *c;
	int r;

	for (unsigned k = 0; k < MSF_CHUNKS_KEPT; k++)
		if (io->chunks[k].bytes && io->chunks[k].chunk == i) {
			move_to_front(io, k);
			return 0;
		}
	if (i >= m->n_chunks)
		return err_set(e, -EBADMSG, "is broken: %s is in chunk %u of %u", what, i, m->n_chunks);
	c = &m->chunks[i];
	io->expanded += c->size;
	if (io->expanded > AGAIN_LEAST + AGAIN_MOST * m->expanded)
		return err_set(e, -EBADMSG, "is broken: its streams alternate between chunks");
	free(take(io->chunks[last].bytes));
	move_to_front(io, last);
	while (last && kept(io) + c->size > KEPT_MOST)
		free(take(io->chunks[last--].bytes));
	io->chunks[0] = (struct msf_expanded){malloc((size_t)c->size + 1), i, c->size};
	if (!io->chunks[0].bytes)
		return err_set(e, -ENOMEM, "out of memory");
	r = read_packed(io, c->how, c->off, c->packed, io->chunks[0].bytes, c->size, what, e);
	if (r < 0)
		free(take(io->chunks[0].bytes));
	return r;
}

/* The chunk with byte `off` of all decompressed bytes. */
static uint32_t chunk_at(const struct msf *m, uint64_t off)
{
	uint32_t low = (uint32_t)search_first(i, 0, m->n_chunks, m->chunks[i].from <= off);

	return low ? low - 1 : 0;
}

/* Reads from a fragment, which begins in chunk i and can continue in the following chunks. */
static int read_from_chunks(const struct msf *m, struct msf_io *io, uint32_t i, uint64_t off, uint8_t *p,
	size_t n, const char *what, struct err *e)
{
	uint64_t at = i < m->n_chunks ? m->chunks[i].from + off : m->expanded;

	while (n) {
		uint32_t k = at < m->expanded ? chunk_at(m, at) : m->n_chunks;
		int r = load_chunk(m, io, k, what, e);
		size_t skip, step;

		if (r < 0)
			return r;
		skip = (size_t)(at - m->chunks[k].from);
		step = MIN(n, io->chunks[0].size - skip);
		memcpy(p, io->chunks[0].bytes + skip, step);
		p += step;
		n -= step;
		at += step;
	}
	return 0;
}

/* The fragment with byte `off` of a stream that has that byte. */
static const struct msf_fragment *fragment_at(const struct msf *m, const struct msf_stream *s, uint32_t off)
{
	uint32_t low = (uint32_t)search_first(i, s->first, s->end, m->fragments[i].from <= off);

	return &m->fragments[low ? low - 1 : 0];
}

int msfz_read(const struct msf *m, struct msf_io *io, uint32_t stream, uint32_t off, uint8_t *p, size_t n,
	const char *what, struct err *e)
{
	const struct msf_fragment *f = fragment_at(m, &m->streams[stream], off);
	uint64_t at = off - f->from;
	int r = 0;

	for (; r == 0 && n; f++) {
		size_t step;

		if (at >= f->size) {
			at -= f->size;
			continue;
		}
		step = (size_t)MIN(n, f->size - at);
		if (f->where & WHERE_PACKED)
			r = read_from_chunks(m, io, (uint32_t)(f->where >> 32) & 0x7fffffffu,
				(uint32_t)f->where + at, p, step, what, e);
		else
			r = msf_file_read(io, (f->where & 0xffffffffffffu) + at, p, step, what, e);
		p += step;
		n -= step;
		at = 0;
	}
	return r;
}
