/* Takes a file of any kind: as a whole, as an archive or as a compressed file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "intake/private.h"

int intake_new(struct intake **out, const struct intake_opts *o)
{
	struct intake *in = calloc(1, sizeof(*in));

	if (!in)
		return -ENOMEM;
	in->opts = *o;
	*out = in;
	return 0;
}

void intake_free(struct intake *in)
{
	free(in);
}

int taking_part(struct taking *t, const struct part *p)
{
	const char *why = NULL;
	struct err e = {0};
	bool packed = false;
	int r;

	if (!p->it.named && intake_leaves_out(p->it.shown))
		return 0;
	taking_progress(t, p);
	r = p->it.n_claims ? 0 : taking_is_archive(p, &why);
	if (r > 0)
		return taking_archive(t, p);
	if (r == 0 && why)
		r = err_set(&e, -ENOTSUP, "%s", why);
	else if (r == 0)
		r = taking_slices(t, p, &e);
	if (r == -ENOMSG) { /* a compressed file has this result: no known format begins like one */
		int done = taking_packed(t, p, &packed);

		if (packed)
			return done;
	}
	return r < 0 ? taking_refuse(t, p, r, &e) : 0;
}

int intake_take(struct intake *in, const struct intake_item *it, intake_report_fn *report, void *ctx)
{
	struct taking t = {.in = in, .report = report, .ctx = ctx};
	struct part p = {.it = *it};

	return taking_part(&t, &p);
}
