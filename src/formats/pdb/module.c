/* Loads one module of a PDB, and reads its symbols: its functions, thunks and separated code. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/little.h"
#include "base/util.h"
#include "formats/pdb/module-private.h"

#include <stdlib.h>
#include <string.h>

#define SIGNATURE_C13 4

/* ---- symbols: functions, thunks and separated code ----------------------------------- */

#define SCOPES_MOST 64

static const char *text_at(struct span record, size_t at)
{
	return at < record.n && memchr(record.p + at, 0, record.n - at) ? (const char *)record.p + at : "";
}

/* Reads a record into `f`. False: the record does not describe code, or is too short; `f` is unchanged. */
static bool read_func(const struct pdb_symbol *s, struct pdb_func *f)
{
	const uint8_t *h = s->record.p;
	size_t n = s->record.n;

	switch (s->kind) {
	case S_LPROC32: case S_GPROC32: case S_LPROC32_DPC: case S_LPROC32_ID: case S_GPROC32_ID:
	case S_LPROC32_DPC_ID:
		if (n < 39)
			return false;
		*f = (struct pdb_func){.kind = PDB_PROC, .size = le32(h + 16), .type = le32(h + 28),
			.off = le32(h + 32), .section = (uint16_t)le16(h + 36), .name = text_at(s->record, 39)};
		return true;
	case S_THUNK32:
		if (n < 25)
			return false;
		*f = (struct pdb_func){.kind = PDB_THUNK, .off = le32(h + 16), .section = (uint16_t)le16(h + 20),
			.size = le16(h + 22), .name = text_at(s->record, 25)};
		return true;
	case S_SEPCODE:
		if (n < 32)
			return false;
		*f = (struct pdb_func){.kind = PDB_SEPARATED, .size = le32(h + 12), .off = le32(h + 20),
			.target = le32(h + 24), .section = (uint16_t)le16(h + 28),
			.target_section = (uint16_t)le16(h + 30)};
		return true;
	case S_TRAMPOLINE:
		if (n < 20)
			return false;
		*f = (struct pdb_func){.kind = PDB_TRAMPOLINE, .size = le16(h + 6), .off = le32(h + 8),
			.target = le32(h + 12), .section = (uint16_t)le16(h + 16),
			.target_section = (uint16_t)le16(h + 18)};
		return true;
	default:
		return false;
	}
}

/* Names separated code after the function that the compiler moved the code out of. That function's
 * record usually comes earlier in the stream. */
static void name_separated(struct pdb_code *c)
{
	for (size_t i = 0; i < c->n_funcs; i++) {
		struct pdb_func *f = &c->funcs[i];
		const struct pdb_func *parent;

		if (f->kind != PDB_SEPARATED)
			continue;
		parent = pdb_func_at(c, f->target_section, f->target);
		if (parent && parent->kind == PDB_PROC) {
			f->name = parent->name;
			f->type = parent->type;
		}
	}
}

/* ---- the first range of each address -------------------------------------------------------- */

/* The ranges that contain an address, as a heap: the range with the lowest number in the list of functions or
 * fragments is the first. */
struct heap {
	const struct pdb_range **at;
	size_t n;
};

static void push(struct heap *h, const struct pdb_range *r)
{
	size_t i = h->n++;

	for (; i && h->at[(i - 1) / 2]->which > r->which; i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = r;
}

static void pop(struct heap *h)
{
	const struct pdb_range *last = h->at[--h->n];
	size_t i = 0, k;

	for (; (k = 2 * i + 1) < h->n; i = k) {
		k += k + 1 < h->n && h->at[k + 1]->which < h->at[k]->which;
		if (last->which <= h->at[k]->which)
			break;
		h->at[i] = h->at[k];
	}
	h->at[i] = last;
}

/* Adds the parts of [at, end) of a section that ranges of the heap contain. */
static void add_parts(struct heap *h, struct pdb_range *out, size_t *n, uint64_t at, uint64_t end)
{
	while (h->n && at < end) {
		const struct pdb_range *first = h->at[0];
		struct pdb_range *last = *n ? &out[*n - 1] : NULL;
		uint64_t to = MIN(first->to, end);

		if (to <= at) {
			pop(h);
			continue;
		}
		if (last && last->which == first->which && last->section == first->section && last->to == at)
			last->to = to;
		else
			out[(*n)++] = (struct pdb_range){first->section, first->which, at, to, to};
		at = to;
	}
}

/* Lists which of the ranges comes first in the stream at each address: at most 2 * n parts, in order of address and
 * without overlap. 0; -ENOMEM. The caller frees *out, also after an error. */
static int ranges_first(const struct pdb_range *all, size_t n, struct pdb_range **out, size_t *n_out)
{
	struct heap h = {.at = malloc((n + 1) * sizeof(*h.at))};
	struct pdb_range *parts = malloc((2 * n + 1) * sizeof(*parts));

	*n_out = 0;
	*out = parts;
	for (size_t i = 0; h.at && parts && i < n; i++) {
		bool more = i + 1 < n && all[i + 1].section == all[i].section;

		push(&h, &all[i]);
		add_parts(&h, parts, n_out, all[i].from, more ? all[i + 1].from : UINT64_MAX);
		if (!more)
			h.n = 0;
	}
	free(h.at);
	return h.at && parts ? 0 : -ENOMEM;
}

/* ---- the list of functions ------------------------------------------------------------------ */

static int index_funcs(struct pdb_code *c)
{
	size_t n = c->n_funcs;

	c->by_func = calloc(n + 1, sizeof(*c->by_func));
	c->next_func = calloc(n + 1, sizeof(*c->next_func));
	if (!c->by_func || !c->next_func)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_funcs; i++)
		c->by_func[i] = (struct pdb_range){.section = c->funcs[i].section, .from = c->funcs[i].off,
			.to = (uint64_t)c->funcs[i].off + c->funcs[i].size, .which = (uint32_t)i};
	pdb_ranges_sort(c->by_func, n);
	c->next_func[n] = (uint32_t)n;
	for (size_t i = n; i-- > 0;)
		c->next_func[i] = c->funcs[c->by_func[i].which].kind == PDB_TRAMPOLINE ? c->next_func[i + 1]
			: (uint32_t)i;
	if (ranges_first(c->by_func, n, &c->first_func, &c->n_first) < 0)
		return -ENOMEM;
	name_separated(c);
	return 0;
}

static bool keeps(const struct pdb_func *f)
{
	return f->size && f->size <= INT32_MAX && f->off <= UINT32_MAX - f->size;
}

/* A function whose scope is not closed ends at the next function. */
static void end_open_scopes(struct pdb_code *c)
{
	for (size_t i = 0; i < c->n_funcs; i++)
		if (!c->funcs[i].end)
			c->funcs[i].end = i + 1 < c->n_funcs ? c->funcs[i + 1].at : (uint32_t)c->symbols.n;
}

/* Reads every record and counts open scopes, instead of using the scope ends in the records, which can be
 * wrong. */
static int read_symbols(struct pdb_code *c)
{
	struct {
		size_t func;	 /* index of the function, plus 1; 0: the scope is that of another record */
		unsigned n_calls; /* call sites before the scope */
	} open[SCOPES_MOST];
	unsigned depth = 0, n_calls = 0;
	uint32_t at = 4;
	struct pdb_symbol s;

	while (pdb_symbol_next(c->symbols, &at, (uint32_t)c->symbols.n, &s)) {
		struct pdb_func f;
		bool is = read_func(&s, &f) && keeps(&f);

		if (is) {
			f.calls = true;
			f.at = at;
			if (APPEND(c->funcs, c->funcs_room, c->n_funcs, f) < 0)
				return -ENOMEM;
		}
		if (pdb_symbol_opens(s.kind)) {
			if (depth < SCOPES_MOST) {
				open[depth].func = is ? c->n_funcs : 0;
				open[depth].n_calls = n_calls;
			}
			n_calls += s.kind == S_INLINESITE || s.kind == S_INLINESITE2;
			depth++;
		} else if (pdb_symbol_closes(s.kind) && depth) {
			depth--;
			if (depth < SCOPES_MOST && open[depth].func) {
				c->funcs[open[depth].func - 1].end = s.at;
				c->funcs[open[depth].func - 1].calls = n_calls != open[depth].n_calls;
			}
		}
	}
	end_open_scopes(c);
	return index_funcs(c);
}

const struct pdb_func *pdb_func_at(const struct pdb_code *c, unsigned section, uint32_t off)
{
	size_t i = pdb_ranges_end(c->first_func, c->n_first, section, (uint64_t)off + 1);
	const struct pdb_range *r = i ? &c->first_func[i - 1] : NULL;

	return r && r->section == section && r->to > off ? &c->funcs[r->which] : NULL;
}

const struct pdb_func *pdb_func_from(const struct pdb_code *c, unsigned section, uint32_t from, uint32_t to)
{
	size_t i = c->n_funcs ? c->next_func[pdb_ranges_end(c->by_func, c->n_funcs, section, from)] : 0;
	const struct pdb_range *r = i < c->n_funcs ? &c->by_func[i] : NULL;

	return r && r->section == section && r->from < to ? &c->funcs[r->which] : NULL;
}

/* ---- the module ------------------------------------------------------------------------------- */

int pdb_code_open(struct pdb_code *c, const struct pdb *p, struct msf_io *io, unsigned module, struct err *e)
{
	const struct pdb_module *m = &p->modules[module];
	size_t n = (size_t)m->symbols + m->lines_old + m->lines;
	const uint8_t *bytes;
	int r;

	*c = (struct pdb_code){.p = p, .module = module};
	if (m->stream == MSF_NO_STREAM || n < 4)
		return -ENOENT;
	r = msf_borrow(&p->msf, io, m->stream, 0, n, &bytes, &c->copy, "a module", e);
	if (r < 0)
		return r;
	if (m->symbols >= 4 && le32(bytes) != SIGNATURE_C13)
		return -ENOENT; /* the format of Visual C++ 6 and before */
	c->symbols = (struct span){bytes, m->symbols};
	c->lines = (struct span){bytes + m->symbols + m->lines_old, m->lines};
	r = read_symbols(c);
	if (r == 0)
		r = pdb_read_lines(c);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

void pdb_code_release(struct pdb_code *c)
{
	free(take(c->copy));
	free(take(c->funcs));
	free(take(c->by_func));
	free(take(c->next_func));
	free(take(c->first_func));
	free(take(c->by_fragment));
	for (size_t i = 0; i < c->n_fragments; i++)
		free(take(c->fragments[i].entries));
	c->n_fragments = 0;
	free(take(c->fragments));
	free(take(c->inlinees));
}
