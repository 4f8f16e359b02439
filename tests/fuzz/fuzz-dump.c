/* Fuzzes the readers of core files and minidumps with any bytes: the work is bounded, and the
 * result is modules or an error message. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fuzz/fuzz.h"
#include "stacks/dump/dump.h"
#include "stacks/dump/state.h"

#include <string.h>

static int each(void *ctx, const struct dump_module *d)
{
	unsigned *n = ctx;

	if (!memchr(d->path, '\0', sizeof(d->path)) || !memchr(d->m.code_id, '\0', sizeof(d->m.code_id)) ||
		++*n > DUMP_MODULES)
		abort();
	return 0;
}

FUZZ_TARGET("dump", p, n)
{
	_cleanup_free_ uint8_t *copy = calloc(1, n ? n : 1); /* that ends where the dump ends */
	struct view v = view_of_mem(copy, n);
	struct err e = {0};
	struct dump_state state;
	unsigned told = 0;

	if (n)
		memcpy(copy, p, n);
	if (dump_read(&v, each, &told, &e) < 0 && !e.text[0])
		abort();
	e.text[0] = '\0';
	if (dump_core_state(&v, &state, &e) < 0 && !e.text[0])
		abort();
	dump_state_release(&state);
	return 0;
}
