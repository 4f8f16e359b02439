/* Checks the checksum that a debugger sends with its request for a PDB. The debugger reads it from the
 * program. This server passes the checksum to the sources, and compares the file with it. A client whose
 * checksum differs gets an error; the store and other clients are not affected, because that client may be
 * wrong. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/obj/ppdb.h"
#include "http/private.h"

#include <stdio.h>
#include <string.h>

#define CHECKSUMS_MOST 16 /* in one header field */

/* A request can have a list of checksums. The sources get the first checksum of the list. */
void checksum_take(struct exchange *x)
{
	const char *sum = exchange_header(x, "SymbolChecksum");
	size_t n = sum ? strcspn(sum, "; \t") : 0;

	if (!n || n >= MODULE_CHECKSUM_MAX || x->checksum)
		return;
	x->checksum = strdup(sum);
	for (unsigned i = 0; i < x->route->hit.n; i++)
		snprintf(x->route->hit.files[i].m.checksum, MODULE_CHECKSUM_MAX, "%.*s", (int)n, sum);
}

static bool must_check(const struct exchange *x)
{
	const struct answer *a = &x->answer;

	return x->checksum && x->step < STEP_CHECK && a->r == 0 && a->blob &&
	       (a->key.type == FILETYPE_PORTABLEPDB || a->key.type == FILETYPE_PDB);
}

/* One match is enough. A checksum of an unknown algorithm neither matches nor differs. */
static int checksum_compare(struct blob *b, char *list, struct err *e)
{
	struct view v = view_of_fd(blob_fd(b), blob_size(b));
	char *sum;
	int r = 0, n = 0;

	while (r <= 0 && n++ < CHECKSUMS_MOST && (sum = strsep(&list, "; \t"))) {
		int one = ppdb_checksum(&v, sum, e);

		if (one < 0 && one != -EBADMSG)
			return one;
		r = one ? one : r;
	}
	return r;
}

static void checksum_work(void *ctx)
{
	struct exchange *x = ctx;
	struct answer *a = &x->answer;
	struct err e = {0};
	int r = checksum_compare(a->blob, x->checksum, &e);

	if (r < 0) {
		answer_release(a);
		a->r = r;
		snprintf(a->why, sizeof(a->why), "%.230s", e.text);
	}
	exchange_resume(x);
}

/* Reads the whole file, so a worker runs the check, not a thread of libmicrohttpd. */
bool checksum_check(struct exchange *x)
{
	if (!must_check(x))
		return false;
	exchange_post(x, STEP_CHECK, x->h->workers, checksum_work);
	return true;
}
