/* Finds at which address a module was linked, from its program. A Breakpad file or a PDB has offsets only, and a
 * frame may have an address in the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "obj/obj.h"
#include "symb/choose.h"
#include "symb/private.h"
#include "symb/wait.h"

#include <stdlib.h>

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
		out[n].m.object = filetype_row(types[i])->object;
		n += key_of(&k, &out[n]) == 0;
	}
	return n;
}

static bool is_needed(const struct wanted *w)
{
	return w->linked && !w->has_base && w->file && w->file->form != LOADED_IMAGE;
}

static void take_program(struct wanted *w, struct blob *b)
{
	struct view v = view_of_fd(blob_fd(b), blob_size(b));

	w->has_base = obj_link_base(&v, &w->base) == 0;
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

int base_find(struct symb *s, struct request *q, struct waits *waits, const struct symb_flags *flags, bool now)
{
	_cleanup_free_ struct question **asked = calloc(q->n_wanted + 1, sizeof(struct question *));
	_cleanup_free_ struct artifact *cands = calloc(2, sizeof(*cands));
	struct question *done = NULL;
	int r = asked && cands ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < q->n_wanted; i++) {
		struct wanted *w = &q->wanted[i];
		unsigned n = is_needed(w) ? programs_of(w, cands) : 0;

		if (n)
			r = now ? take_now(s, w, cands, n) : ask_program(s, w, cands, n, waits, &asked[i]);
	}
	while (r == 0 && (r = wait_next(waits, &s->stop, flags->gone, &done)) == 0 && done)
		if (done->r == 0 && done->blob)
			take_program(done->of, done->blob);
	for (size_t i = 0; asked && i < q->n_wanted; i++)
		question_cancel(asked[i]);
	return r;
}
