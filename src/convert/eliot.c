/* Rewrites Breakpad's records so that look-ups answer as Mozilla's symbolication service (Eliot) does. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "convert/eliot-private.h"

#include <string.h>

int eliot_new(struct eliot **out, struct gsym_writer *w, bool marks)
{
	struct eliot *x = calloc(1, sizeof(*x));
	const char mark[] = {MARK};
	uint32_t text;

	if (!x)
		return -ENOMEM;
	x->w = w;
	x->marks_told = marks;
	x->most = marks ? UINT32_MAX : UINT64_MAX;
	if (marks && (gsym_text(w, mark, 1, &text) < 0 || gsym_add_file(w, 0, text, &x->no_file) < 0)) {
		free(x);
		return -ENOMEM;
	}
	*out = x;
	return 0;
}

void eliot_free(struct eliot *x)
{
	if (!x)
		return;
	free(x->functions.at);
	free(x->places.at);
	free(x->marks.at);
	free(x->publics.at);
	free(x->nested.at);
	free(x->branches.at);
	free(x->lines.at);
	free(x->calls.at);
	free(x->covered.at);
	free(x);
}

/* ---- records ------------------------------------------------------------------------ */

int eliot_add(struct eliot *x, const struct eliot_func *f)
{
	int r = nest_calls(f->calls, &x->nested);

	if (r == 0)
		r = eliot_grow_tree(x, f);
	return r < 0 ? r : eliot_mark_tree(x);
}

int eliot_public(struct eliot *x, uint64_t addr, uint32_t name)
{
	if (MORE(&x->publics) < 0)
		return -ENOMEM;
	x->publics.at[x->publics.n++] = (struct called){addr & x->most, name};
	return 0;
}

int eliot_finish(struct eliot *x, uint32_t module)
{
	uint32_t function = NONE, place = NONE;
	int r = 0;

	for (size_t i = 0; r == 0 && i < x->publics.n; i++) {
		r = eliot_add_function(x, x->publics.at[i].addr, x->publics.at[i].place, &function);
		if (r == 0)
			r = eliot_add_place(x, (struct place){function, 0, 0, NONE}, &place);
		if (r == 0)
			r = eliot_add_mark(x, x->publics.at[i].addr, place, HOW_IF_FREE);
	}
	if (r == 0)
		r = eliot_tell(x);
	/* With marks, a file without functions gets the function at ELIOT_NAME_AT even if the program's name is
	 * unknown. This function shows that the symbols were found. */
	if (!x->marks_told)
		return r;
	if (!module && !gsym_functions(x->w) && r == 0)
		r = gsym_text(x->w, (const char[]){MARK}, 1, &module);
	if (r == 0 && module)
		r = gsym_begin(x->w, ELIOT_NAME_AT, 1, module, GSYM_DEBUG);
	return r == 0 && module ? gsym_end(x->w) : r;
}

/* ---- look-ups ----------------------------------------------------------------------- */

const char *eliot_name(const char *name, int64_t *more)
{
	bool minus;
	char *end;

	*more = 0;
	if (name[0] != MARK)
		return name;
	minus = name[1] == '-';
	*more = (int64_t)(strtoull(name + 1 + minus, &end, 16) & INT64_MAX);
	if (minus)
		*more = -*more;
	return *end == ' ' ? end + 1 : end;
}

bool eliot_file(const char *dir, const char *base)
{
	return dir[0] || (base[0] && base[0] != MARK);
}
