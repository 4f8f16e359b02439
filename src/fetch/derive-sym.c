/* Breakpad files that no source has: made of debug file and program, the program for its unwind rules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "convert/frames.h"
#include "fetch/derive-private.h"
#include "fetch/fetch-private.h"

#include <string.h>

/* Increase this number when the output for the same inputs changes. */
#define MAKER_NUMBER "1"

/* ---- the program ------------------------------------------------------------------------ */

/* A program whose worth is unknown counts as one with unwind rules, and a debug file as one without. */
static bool has_rules(const struct blob *in, enum filetype of)
{
	const struct worth *w = &blob_facts(in)->worth;

	return w->known ? w->unwind : filetype_is(of, TYPE_PROGRAM);
}

bool derive_code_of(const struct artifact *a, const struct blob *in, enum filetype of, struct artifact *out)
{
	struct key k;

	if (!filetype_is(of, TYPE_DEBUG_FILE) || has_rules(in, of))
		return false;
	*out = *a;
	out->type = filetype_row(of)->twin;
	out->m.object = filetype_row(of)->object;
	out->m.path[0] = '\0';
	return key_of(&k, out) == 0;
}

/* ---- unwind rules ----------------------------------------------------------------------- */

/* Reads the unwind rules of the program. *fd: the text, or -1: there are no rules that can be written. 0; -EINTR,
 * -ENOMEM, -ETIME: this machine is at fault. */
static int read_rules(struct conversion *c, int *fd, struct err *e)
{
	const struct blob *in = c->code ? c->code : c->in;
	bool bare = false;
	struct frames_work w = {.stop = &c->stop, .bare = &bare,
		.unsandboxed = c->d->fetch->opts.allow_unsandboxed,
		.memory = gsym_work_memory() / (derive_threads() * MAX(atomic_load(&c->d->fetch->derives), 1u))};
	struct unwind_counts counts;
	struct err own = {0};
	int r;

	*fd = -1;
	if (!c->code && !has_rules(c->in, c->of))
		return 0;
	r = frames_text(&w, blob_fd(in), fd, &counts, &own);
	derive_tell_bare(c, bare);
	if (r == -EINTR || r == -ENOMEM || r == -ETIME) {
		*e = own;
		return r;
	}
	if (r < 0 && r != -ENODATA && r != -ENOMSG && r != -ENOTSUP)
		log_warn("%s, for its Breakpad file: %s", blob_path(in), own.text);
	return 0;
}

/* Appends the text to the file. */
static int append(int to, int from, struct err *e)
{
	_cleanup_free_ char *room = malloc(1 << 20);
	off_t at = lseek(to, 0, SEEK_END);
	ssize_t n = 0;

	if (!room || at < 0)
		return err_set(e, room ? -errno : -ENOMEM, "%s", err_text(room ? errno : ENOMEM));
	for (off_t done = 0; (n = pread(from, room, 1 << 20, done)) > 0; done += n)
		if (pwrite(to, room, (size_t)n, at + done) != n)
			return err_set(e, -EIO, "its unwind rules cannot be added");
	return n < 0 ? err_set(e, -errno, "%s", err_text(errno)) : 0;
}

/* ---- the file --------------------------------------------------------------------------- */

static int make_sym(struct conversion *c, int *fd, struct gsym_work_lack *lack, struct err *e)
{
	_cleanup_close_ int text = -1, rules = -1;
	bool bare = false;
	struct gsym_work o;
	int r = read_rules(c, &rules, e);

	if (r < 0)
		return r;
	derive_work_opts(c, lack, &bare, &o);
	o.name = c->a.m.debug_file[0] ? c->a.m.debug_file : NULL;
	o.no_rules = rules < 0;
	r = gsym_work(&o, blob_fd(c->in), &text, e);
	/* The program was asked for functions, too, and has none: the rules alone are worth a file. */
	if (r == -ENODATA && rules >= 0 && !filetype_is(c->of, TYPE_DEBUG_FILE)) {
		o.bare_sym = true;
		r = gsym_work(&o, blob_fd(c->in), &text, e);
	}
	derive_tell_bare(c, bare);
	if (r == 0 && rules >= 0)
		r = append(text, rules, e);
	if (r == 0)
		*fd = take_fd(&text);
	return r;
}

const struct derive_kind derive_sym = {
	.name = "sym",
	.type = FILETYPE_SYM,
	.maker = "symfs sym " MAKER_NUMBER,
	.faults = {[DERIVE_NOTHING] = "sym-" MAKER_NUMBER, [DERIVE_BROKEN] = "sym-failed-" MAKER_NUMBER,
		[DERIVE_SLOW] = "sym-slow", [DERIVE_SHORT] = "sym-memory"},
	.wants_code = true,
	.make = make_sym,
};
