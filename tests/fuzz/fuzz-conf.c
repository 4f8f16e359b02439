/* Fuzzes symfs.conf, and the sources made from its sections. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz.h"
#include "source/sources.h"

#include <stdlib.h>
#include <string.h>

FUZZ_TARGET("conf", p, n)
{
	struct source_opts defaults = {.miss_seconds = 1};
	struct sources *so;
	struct err e = {0};
	struct conf *c;

	if (conf_new(&c) < 0)
		abort();
	if (conf_read(c, "fuzz.conf", n ? (const char *)p : "", n, &e) < 0) {
		if (!e.text[0])
			abort(); /* every mistake has words */
	} else if (sources_new(&so, c, &defaults, &e) == 0) {
		sources_unref(so);
	} else if (!e.text[0]) {
		abort();
	}
	conf_free(c);
	return 0;
}
