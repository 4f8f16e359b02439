/* Finds in programs what their debug files lack: at which address a module was linked, because a Breakpad file or a
 * PDB has offsets only, and a frame may have an address in the file; and the table of imported functions. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/obj/obj.h"
#include "symb/choose.h"
#include "symb/private.h"
#include "symb/wait.h"

#include <stdlib.h>

/* Each frame in a table of imported functions needs a search of all relocations. */
#define IMPORTS_MOST (256ull << 20)

/* The files that have the address: the debug file has the program's segments. Returns their number. */
static unsigned programs_of(const struct wanted *w, struct artifact out[static 2])
{
	static const enum filetype elf[] = {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG}, pe[] = {FILETYPE_PE};
	bool is_pe = best_object(&w->m) == OBJECT_PE;
	const enum filetype *types = is_pe ? pe : elf;
	size_t most = is_pe ? ARRAY_SIZE(pe) : ARRAY_SIZE(elf);
	unsigned n = 0;

	for (size_t i = 0; i < most; i++) {
		struct key k;

		out[n] = (struct artifact){.type = types[i], .m = w->m};
		out[n].m.object = filetypes[types[i]].object;
		n += key_of(&k, &out[n]) == 0;
	}
	return n;
}

static bool is_needed(const struct wanted *w)
{
	return w->linked && !w->has_base && w->file && w->file->form != LOADED_IMAGE;
}

/* Marks the modules of ELF in which a frame is in no function: it may be in the table of imported functions. */
static void find_nameless(struct symb_request *q, struct gsym_hit *hit)
{
	for (size_t i = 0; i < q->n_frames; i++) {
		const struct asked_frame *f = &q->frames[i];
		struct wanted *w = f->module == SYMB_NO_MODULE ? NULL : &q->wanted[f->module];
		uint64_t addr = f->offset;

		if (!w || w->nameless || !w->file || w->file->form != LOADED_IMAGE || f->minus || f->big)
			continue;
		addr += f->linked ? 0 : w->file->g.base;
		w->nameless = best_object(&w->m) == OBJECT_ELF && gsym_lookup(&w->file->g, addr, hit, NULL) < 0;
	}
}

static void take_program(struct wanted *w, struct blob *b)
{
	struct view v = view_of_fd(blob_fd(b), blob_size(b));
	const struct worth *has = &blob_facts(b)->worth;

	if (!w->nameless) {
		w->has_base = obj_link_base(&v, &w->base) == 0;
		return;
	}
	w->program = blob_ref(b);
	w->exports = has->known && !has->debug && has->symbols < WORTH_SYMBOLS && !loaded_has_lines(w->file);
}

/* Takes the address from a program that is here. 0, -EAGAIN. */
static int take_now(struct symb *s, struct wanted *w, const struct artifact *cands, unsigned n)
{
	struct fetched f = {0};
	int r = fetch_try(s->fetch, cands, n, FETCH_WHOLE, &f);

	if (r == 0 && f.r == 0 && f.blob)
		take_program(w, f.blob);
	if (r == 0)
		blob_unref(f.blob);
	return r;
}

static int ask_program(struct symb *s, struct wanted *w, const struct artifact *cands, unsigned n,
	struct waits *waits, struct question **out)
{
	*out = question_new(waits);
	if (!*out)
		return -ENOMEM;
	(*out)->of = w;
	question_fetch(*out, s->fetch, cands, n);
	return 0;
}

int base_find(struct symb_request *q, struct waits *waits, bool now)
{
	struct symb *s = q->symb;
	_cleanup_free_ struct question **asked = calloc(q->n_wanted + 1, sizeof(struct question *));
	_cleanup_free_ struct artifact *cands = calloc(2, sizeof(*cands));
	_cleanup_free_ struct gsym_hit *hit = malloc(sizeof(*hit));
	struct question *done = NULL;
	int r = asked && cands && hit ? 0 : -ENOMEM;

	q->imports_budget = IMPORTS_MOST;
	if (r == 0)
		find_nameless(q, hit);
	for (size_t i = 0; r == 0 && i < q->n_wanted; i++) {
		struct wanted *w = &q->wanted[i];
		unsigned n = is_needed(w) || w->nameless ? programs_of(w, cands) : 0;

		n = w->nameless ? MIN(n, 1) : n; /* the debug file has no instructions */
		if (n)
			r = now ? take_now(s, w, cands, n) : ask_program(s, w, cands, n, waits, &asked[i]);
	}
	while (r == 0 && (r = wait_next(waits, &s->stop, q->flags.gone, &done)) == 0 && done)
		if (done->r == 0 && done->blob)
			take_program(done->of, done->blob);
	for (size_t i = 0; asked && i < q->n_wanted; i++)
		question_cancel(asked[i]);
	return r;
}
