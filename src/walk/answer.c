/* The answer to a minidump: its stacks with names, as text or JSON. The command and the server give the same. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stacks/stacks.h"
#include "base/util.h"
#include "symb/symb.h"
#include "walk/walk.h"

int walk_answer(struct view *dump, const struct walk_source *from, const struct walk_names *names, bool json,
	struct buf *out, struct err *e)
{
	struct stacks s = {0};
	int r = walk_minidump(&s, dump, from, e);

	if (r == 0)
		r = stacks_ask(&s, names->symb, names->flags, e);
	if (r == 0) {
		r = json ? stacks_json(&s, out) : stacks_text(&s, out);
		if (r == 0 && json)
			r = buf_adds(out, "\n");
		if (r < 0)
			err_set(e, r, "%s", err_text(r));
	}
	stacks_release(&s);
	return r;
}
