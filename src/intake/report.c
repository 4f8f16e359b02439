/* Reports refusals and progress. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "intake/private.h"

#include <string.h>

bool intake_is_trouble(int r)
{
	return r == -ENOSPC || r == -EIO || r == -EROFS || r == -EDQUOT || r == -ENOMEM || r == -EINTR;
}

const char *taking_why(int r, const struct err *e)
{
	/* The text of obj/ names the format of the file (HTML, text), and not the reason for the refusal. */
	if (r == -ENOMSG && strcmp(e->text, "is empty") != 0)
		return "of no format that symfs knows";
	return e->text[0] ? e->text : err_text(r);
}

int taking_refuse(struct taking *t, const struct part *p, int r, const struct err *e)
{
	struct intake_report report = {.what = INTAKE_REFUSED,
		.shown = p->it.shown,
		.member = p->member,
		.error = r,
		.size = p->it.size,
		.why = intake_is_trouble(r) && !e->text[0] ? err_text(r) : taking_why(r, e)};

	t->report(t->ctx, &report);
	return intake_is_trouble(r) ? r : 0;
}

void taking_progress(struct taking *t, const struct part *p)
{
	if (t->in->opts.progress)
		t->in->opts.progress(t->in->opts.ctx, p->it.shown);
}
