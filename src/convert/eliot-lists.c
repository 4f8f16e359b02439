/* Appends to the lists of functions, places and marks. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "convert/eliot-private.h"

int eliot_add_function(struct eliot *x, uint64_t entry, uint32_t name, uint32_t *out)
{
	if (x->functions.n == NONE)
		return -EFBIG;
	if (MORE(&x->functions) < 0)
		return -ENOMEM;
	*out = (uint32_t)x->functions.n;
	x->functions.at[x->functions.n++] = (struct function){entry, name};
	return 0;
}

int eliot_add_place(struct eliot *x, struct place p, uint32_t *out)
{
	if (x->places.n == NONE)
		return -EFBIG;
	if (MORE(&x->places) < 0)
		return -ENOMEM;
	*out = (uint32_t)x->places.n;
	x->places.at[x->places.n++] = p;
	return 0;
}

int eliot_add_mark(struct eliot *x, uint64_t addr, uint32_t place, enum how how)
{
	if (x->marks.n == MARKS_MOST)
		return -EFBIG;
	if (MORE(&x->marks) < 0)
		return -ENOMEM;
	x->marks.at[x->marks.n] = (struct mark){addr, place, how, (uint32_t)x->marks.n};
	x->marks.n++;
	return 0;
}
