/* Gets Breakpad files for a stack walk: those that sources have, else those that symfs makes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "derive/derive.h"
#include "symb/wait.h"
#include "walk/private.h"

#include <string.h>

/* A module whose file is asked for. */
struct asking {
	struct walk_module *m;
	struct question *q;
	bool made; /* `q` is a conversion */
};

static bool artifact_of(const struct module *m, struct artifact *out)
{
	struct key k;

	*out = (struct artifact){.type = FILETYPE_BREAKPAD, .m = *m};
	out->m.object = filetype_row(FILETYPE_BREAKPAD)->object;
	return !debug_id_is_nil(&m->debug_id) && m->debug_file[0] && key_of(&k, out) == 0;
}

static int ask(struct asking *a, struct waits *w, const struct walk_source *from, bool make)
{
	_cleanup_free_ struct artifact *want = calloc(2, sizeof(*want));
	int r;

	if (!want)
		return -ENOMEM;
	a->q = NULL;
	if (!artifact_of(&a->m->m, &want[0]) || (make && derive_breakpad(from->derive, &want[0], &want[1]) < 0))
		return 0;
	a->q = question_new(w);
	if (!a->q)
		return -ENOMEM;
	a->q->of = a;
	a->made = make;
	if (!make) {
		question_fetch(a->q, from->fetch, want, 1);
		return 0;
	}
	r = derive_open(from->derive, &want[1], question_answered, a->q, &a->q->making);
	if (r < 0)
		question_fail(a->q, r);
	return 0;
}

/* Takes the file of an answer. A file that cannot be read is as good as none. */
static int take_answer(struct walk *w, struct asking *a, struct waits *waits, const struct walk_source *from)
{
	struct question *q = take(a->q);
	struct view v;
	int r = 0;

	if (q->r == 0 && q->blob) {
		v = view_of_fd(blob_fd(q->blob), blob_size(q->blob));
		r = sym_open(&a->m->sym, &v, &w->budget);
		if (r == 0)
			a->m->blob = blob_ref(q->blob);
		r = r == -ENOMEM ? r : 0;
	} else if (!a->made) {
		r = ask(a, waits, from, true);
	}
	question_unref(q);
	return r;
}

static int load_all(struct walk *w, struct asking *all, size_t n, struct waits *waits, const struct walk_source *from)
{
	struct question *q = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = ask(&all[i], waits, from, false);
	while (r == 0 && (r = wait_next(waits, from->stop, from->gone, &q)) == 0 && q)
		r = take_answer(w, q->of, waits, from);
	for (size_t i = 0; i < n; i++)
		question_cancel(all[i].q);
	return r;
}

int walk_load(struct walk *w, const struct walk_source *from)
{
	_cleanup_free_ struct asking *all = calloc(w->n_modules + 1, sizeof(*all));
	struct waits *waits = waits_new();
	size_t n = 0;
	int r = all && waits ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < w->n_modules; i++) {
		struct walk_module *m = &w->module[i];

		if (m->state != SYM_WANTED)
			continue;
		m->state = SYM_KNOWN;
		all[n++].m = m;
	}
	if (r == 0)
		r = load_all(w, all, n, waits, from);
	if (waits)
		waits_unref(waits);
	return r;
}
