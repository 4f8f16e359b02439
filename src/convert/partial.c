/* Makes GSYM of a few addresses of a PDB, in rounds: all bytes that are missing are requested at once. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/partial.h"
#include "base/grow.h"
#include "base/util.h"
#include "pdb/find.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS_MOST 256 /* each round requests further bytes; names of nested types take the most rounds */

/* An address, and its frames, the innermost first. */
struct spot {
	uint32_t addr, start; /* `start`: first address of the function */
	bool done;
	unsigned n; /* 0: no function has the address */
	struct pdb_frame *frames;
};

struct job {
	struct gsym_writer *w;
	struct pdb pdb;
	struct msf_io io;
	struct pdb_namer names;
	struct pdb_found found;
	struct spot *spots;
	size_t n;
	partial_fill *fill;
	void *ctx;
	unsigned rounds;
};

/* Requests the bytes that the calls of this round lacked. */
static int next_round(struct job *j, struct err *e)
{
	int r;

	if (!j->io.n_lacks || ++j->rounds > ROUNDS_MOST)
		return err_set(e, -EBADMSG, "is broken: its names need more bytes each time");
	r = j->fill(j->ctx, j->io.lacks, j->io.n_lacks);
	j->io.n_lacks = 0;
	return r < 0 ? err_set(e, r, "cannot be read: %s", err_text(r)) : 0;
}

static int open_pdb(struct job *j, struct err *e)
{
	for (;;) {
		int r = pdb_open(&j->pdb, &j->io, e);

		if (r != -EAGAIN)
			return r < 0 ? r : pdb_has_symbols(&j->pdb, e);
		pdb_release(&j->pdb);
		r = next_round(j, e);
		if (r < 0)
			return r;
	}
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Keeps the frames that were found. */
static int take_frames(struct job *j, struct spot *s)
{
	struct pdb_found *f = &j->found;

	s->frames = calloc(f->n + 1, sizeof(*s->frames));
	if (!s->frames)
		return -ENOMEM;
	memcpy(s->frames, f->frame, f->n * sizeof(*s->frames));
	s->n = f->n;
	f->n = 0;
	s->start = s->n ? s->addr - s->frames[s->n - 1].offset : s->addr;
	return 0;
}

static int find_all(struct job *j, struct err *e)
{
	bool again;

	do {
		again = false;
		for (size_t i = 0; i < j->n; i++) {
			struct spot *s = &j->spots[i];
			int r = s->done ? 0 : pdb_find(&j->pdb, &j->names, s->addr, &j->found, e);

			s->done |= r == 0 || r == -ENOENT;
			again |= r == -EAGAIN;
			if (r == 0 && j->found.n)
				r = take_frames(j, s);
			pdb_found_release(&j->found);
			if (r < 0 && r != -EAGAIN && r != -ENOENT)
				return r;
		}
		if (again) {
			int r = next_round(j, e);

			if (r < 0)
				return r;
		}
	} while (again);
	return 0;
}

/* ---- functions of GSYM ---------------------------------------------------------------------- */

static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return COMPARE(x->start, y->start) ?: COMPARE(x->addr, y->addr);
}

/* A frame without a line has no file either, as in the GSYM of the whole PDB. */
static uint32_t file_of(struct job *j, const struct pdb_frame *f)
{
	return f->line && f->file[0] ? gsym_add_path(j->w, f->file, strlen(f->file)) : 0;
}

/* Writes the inlined calls at one address, the outermost first. The range of each is this address only. */
static void write_calls(struct job *j, const struct spot *s)
{
	for (unsigned depth = 1; depth < s->n; depth++) {
		const struct pdb_frame *caller = &s->frames[s->n - depth], *f = caller - 1;
		uint32_t file = file_of(j, caller) ?: gsym_add_unnamed_file(j->w);

		gsym_add_inline(j->w, depth, gsym_name(j->w, f->name, strlen(f->name)), file, caller->line);
		gsym_add_range(j->w, s->addr, 1);
	}
}

/* Writes a function with the addresses from `i` up to `end` of the list. */
static void write_func(struct job *j, size_t i, size_t end)
{
	const struct spot *first = &j->spots[i], *last = &j->spots[end - 1];
	const char *text = first->frames[first->n - 1].name;
	uint32_t name = text[0] ? gsym_name(j->w, text, strlen(text)) : gsym_no_name(j->w);

	gsym_begin(j->w, first->start, (uint64_t)last->addr - first->start + 1, name, GSYM_DEBUG);
	for (size_t k = i; k < end; k++)
		gsym_add_row(j->w, j->spots[k].addr, file_of(j, &j->spots[k].frames[0]),
			j->spots[k].frames[0].line);
	for (size_t k = i; k < end; k++)
		write_calls(j, &j->spots[k]);
	gsym_end(j->w);
}

/* Writes a function at an address that was not asked for. GSYM must have a function, and none was found. */
static void write_none(struct job *j)
{
	uint32_t addr = UINT32_MAX;

	for (size_t i = 0; i < j->n;)
		if (j->spots[i++].addr == addr) {
			addr--;
			i = 0;
		}
	gsym_begin(j->w, addr, 1, gsym_no_name(j->w), GSYM_DEBUG);
	gsym_end(j->w);
}

static int write_all(struct job *j)
{
	bool any = false;

	qsort(j->spots, j->n, sizeof(*j->spots), compare_spots);
	for (size_t i = 0, end; i < j->n; i = end) {
		for (end = i + 1; end < j->n && j->spots[i].n && j->spots[end].n &&
			j->spots[end].start == j->spots[i].start;)
			end++;
		any |= j->spots[i].n;
		if (j->spots[i].n)
			write_func(j, i, end);
	}
	if (!any)
		write_none(j);
	return gsym_error(j->w);
}

/* ---- the interface -------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
	for (size_t i = 0; j->spots && i < j->n; i++) {
		for (unsigned k = 0; k < j->spots[i].n; k++) {
			free(j->spots[i].frames[k].name);
			free(j->spots[i].frames[k].file);
		}
		free(j->spots[i].frames);
	}
	free(j->spots);
	pdb_namer_release(&j->names);
	pdb_release(&j->pdb);
	msf_io_release(&j->io);
	free(j);
}

int gsym_partial(struct gsym_writer *w, const struct view *v, const uint32_t *addrs, size_t n, partial_fill *fill,
	void *ctx, struct err *e)
{
	struct job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return err_set(e, -ENOMEM, "out of memory");
	*j = (struct job){.w = w, .fill = fill, .ctx = ctx};
	msf_io_init(&j->io, v);
	pdb_namer_init(&j->names, &j->pdb, &j->io, false);
	j->spots = calloc(n + 1, sizeof(*j->spots));
	for (size_t i = 0; j->spots && i < n; i++)
		j->spots[j->n++].addr = addrs[i];
	r = j->spots ? open_pdb(j, e) : -ENOMEM;
	if (r == 0) {
		/* in order of address, because each look-up leaves its module open for the next */
		qsort(j->spots, j->n, sizeof(*j->spots), compare_spots);
		gsym_set_base(w, 0);
		gsym_set_id(w, j->pdb.guid, sizeof(j->pdb.guid));
		r = find_all(j, e);
	}
	if (r == 0)
		r = write_all(j);
	job_free(j);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}
