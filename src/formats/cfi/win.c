/* Writes the frame data of PDBs for x86 as STACK WIN records. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/grow.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/cfi/private.h"
#include "formats/pdb/pdb.h"

enum { NEW_SIZE = 32, OLD_SIZE = 16, TYPE_OLD = 0, TYPE_NEW = 4 };
#define PROGRAM_MOST 4096

struct win {
	uint32_t rva, size;
	uint8_t type;
	const uint8_t *p; /* the record */
};

struct job {
	struct pdb pdb;
	struct msf_io io;
	struct win *all;
	size_t n, room;
};

/* Adds a record, once for each part of the image to which its bytes were moved. Parts with nothing but inserted bytes
 * between them are one. */
static int win_add(struct job *j, const uint8_t *p, uint8_t type)
{
	struct pdb_moved part;
	struct pdb_moves it;
	size_t first = j->n;

	for (pdb_moves(&it, &j->pdb, le32(p), le32(p + 4)); pdb_moves_next(&it, &part);) {
		struct win *last = j->n > first ? &j->all[j->n - 1] : NULL;

		if (last && pdb_inserted(&j->pdb, (uint64_t)last->rva + last->size, part.target)) {
			last->size = part.target + part.size - last->rva;
			continue;
		}
		if (APPEND(j->all, j->room, j->n, (struct win){part.target, part.size, type, p}) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The new form may have a header of 4 bytes. */
static int win_read(struct job *j, uint32_t stream, unsigned each, uint8_t type, uint8_t **copy, struct err *e)
{
	uint32_t n = stream == MSF_NO_STREAM ? 0 : msf_size(&j->pdb.msf, stream), first = n % each == 4 ? 4 : 0;
	const uint8_t *p = NULL;
	int r;

	if (n < each)
		return 0;
	r = msf_borrow(&j->pdb.msf, &j->io, stream, first, n - first, &p, copy, "its frame data", e);
	for (uint32_t i = 0; r == 0 && i < (n - first) / each; i++)
		r = win_add(j, p + (size_t)i * each, type);
	return r;
}

static int compare_wins(const void *a, const void *b)
{
	const struct win *x = a, *y = b;

	return COMPARE(x->rva, y->rva) ?: COMPARE(x->type, y->type) ?: COMPARE(x->p, y->p); /* as the PDB has them */
}

/* The program is a text of the PDB. False: it is not there, or no text of one line. */
static bool win_program(struct job *j, uint32_t number, struct buf *out)
{
	struct err e;

	buf_clear(out);
	if (pdb_name(&j->pdb, &j->io, number, out, &e) < 0)
		return false;
	for (size_t i = 0; i < out->n; i++)
		if ((unsigned char)out->p[i] < 0x20)
			return false;
	return out->n > 0;
}

/* type, address, sizes of the code, prolog, epilog, parameters, saved registers, locals, the most of the stack; then
 * the program, or whether the function uses ebp for another purpose. */
static int win_line(struct job *j, const struct win *w, struct buf *program, struct buf *line)
{
	const uint8_t *p = w->p;
	unsigned bits;

	buf_clear(line);
	if (w->type == TYPE_NEW) {
		if (!win_program(j, le32(p + 20), program))
			return -ENOENT;
		return buf_addf(line, "STACK WIN 4 %x %x %x 0 %x %x %x %x 1 %s\n", w->rva, w->size, le16(p + 24),
			le32(p + 12), le16(p + 26), le32(p + 8), le32(p + 16), buf_text(program));
	}
	bits = le16(p + 14);
	return buf_addf(line, "STACK WIN 0 %x %x %x 0 %x %x %x 0 0 %u\n", w->rva, w->size, bits & 0xff,
		4 * le16(p + 12), 4 * (bits >> 8 & 7), 4 * le32(p + 8), bits >> 12 & 1);
}

static int win_lines(struct job *j, int (*pass)(void *ctx, const char *p, size_t n), void *ctx,
	struct unwind_counts *counts)
{
	_cleanup_buf_ struct buf program = BUF_UP_TO(PROGRAM_MOST), line = BUF_UP_TO(2 * PROGRAM_MOST);
	int r = 0;

	for (size_t i = 0; r == 0 && i < j->n; i++) {
		const struct win *w = &j->all[i];

		counts->functions++;
		if (i && w[-1].rva == w->rva && w[-1].type == w->type) {
			counts->doubled++;
			continue;
		}
		counts->rows++;
		if (!w->size || win_line(j, w, &program, &line) < 0) {
			counts->gaps[UNWIND_GAP_BROKEN]++;
			continue;
		}
		counts->said++;
		r = pass(ctx, line.p, line.n);
	}
	return r;
}

static int win_job(struct job *j, int (*pass)(void *ctx, const char *p, size_t n), void *ctx,
	struct unwind_counts *counts, struct err *e)
{
	_cleanup_free_ uint8_t *new = NULL, *old = NULL;
	int r = pdb_open(&j->pdb, &j->io, e);

	if (r == 0)
		r = pdb_index_texts(&j->pdb, &j->io, e);
	if (r == 0)
		r = win_read(j, j->pdb.frame_data, NEW_SIZE, TYPE_NEW, &new, e);
	if (r == 0)
		r = win_read(j, j->pdb.fpo, OLD_SIZE, TYPE_OLD, &old, e);
	if (r < 0)
		return r == -EAGAIN ? err_set(e, -EBADMSG, "is cut short") : r;
	if (!j->n)
		return err_set(e, -ENODATA, "has no frame data");
	qsort(j->all, j->n, sizeof(*j->all), compare_wins);
	r = win_lines(j, pass, ctx, counts);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

int win_write(struct span file, int (*pass)(void *ctx, const char *p, size_t n), void *ctx,
	struct unwind_counts *counts, struct err *e)
{
	struct view v = view_of_mem(file.p, file.n);
	struct job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	msf_io_init(&j->io, &v);
	r = win_job(j, pass, ctx, counts, e);
	if (r < 0 && !e->text[0])
		err_set(e, r, "%s", err_text(r));
	pdb_release(&j->pdb);
	msf_io_release(&j->io);
	free(j->all);
	free(j);
	return r;
}
