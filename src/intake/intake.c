/* Takes a file of any kind: as a whole, as an archive or as a compressed file. Reports refusals and progress. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/util.h"
#include "intake/private.h"
#include "pack/unarchive/unarchive.h"
#include "pack/unpack/unpack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- reports ---------------------------------------------------------------------------------- */

/* The text for an error of obj_identify() or of another function. */
static const char *taking_why(int r, const struct err *e)
{
	/* The text of formats/obj/ names the format of the file (HTML, text), and not the reason for the refusal. */
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
	if (t->opts->progress)
		t->opts->progress(t->opts->ctx, p->it.shown);
}

/* ---- files beside symbol files that are not symbol files ---------------------------------------- */

/* Returns the length of the path's last component before `end`, and moves `end` to the first byte of this
 * component. */
static size_t last_component(const char *path, size_t *end)
{
	size_t to = *end, from;

	while (to && path[to - 1] == '/')
		to--;
	for (from = to; from && path[from - 1] != '/';)
		from--;
	*end = from;
	return to - from;
}

bool intake_leaves_out(const char *path)
{
	static const char end[] = ".dSYM";
	size_t at = strlen(path), n = last_component(path, &at);

	if (n != strlen("Info.plist") || strncmp(path + at, "Info.plist", n) != 0)
		return false;
	n = last_component(path, &at);
	if (n != strlen("Contents") || strncmp(path + at, "Contents", n) != 0)
		return false;
	n = last_component(path, &at);
	return n > strlen(end) && strncasecmp(path + at + n - strlen(end), end, strlen(end)) == 0;
}

/* ---- packed files ---------------------------------------------------------------------------- */

struct unpacking {
	struct taking *t;
	const struct part *packed;
	struct draft *d; /* NULL until judge_head() accepts the head */
	size_t have; /* bytes of the head that are read */
	uint8_t head[INTAKE_HEAD_MOST];
	struct err e;
	int r; /* the error that ended unpacking early; 0: no error */
};

/* ---- the content ----------------------------------------------------------------- */

/* Checks the head, and starts a draft if the file can be a symbol file. `all`: the head is the whole file.
 * 0, -errno. */
static int judge_head(struct unpacking *u, bool all)
{
	struct view v = view_of_mem(u->head, u->have);
	struct obj_slice slice;
	int r;

	if (!all)
		v.size = VIEW_UNKNOWN;
	r = obj_identify(&v, 0, &slice, &u->e);
	if (r < 0 && r != -EAGAIN)
		return r;
	r = draft_new(&u->d, u->t->opts->store, &u->e);
	return r < 0 ? r : draft_write(u->d, 0, u->head, u->have);
}

static int take_bytes(void *ctx, const void *p, size_t n)
{
	struct unpacking *u = ctx;
	size_t head = u->d ? 0 : MIN(n, sizeof(u->head) - u->have);

	taking_progress(u->t, u->packed);
	memcpy(u->head + u->have, p, head);
	u->have += head;
	if (!u->d && u->have == sizeof(u->head))
		u->r = judge_head(u, false);
	if (u->r == 0 && n > head)
		u->r = draft_write(u->d, draft_size(u->d), (const uint8_t *)p + head, n - head);
	return u->r;
}

/* The limit of unpacked bytes. For a file in an archive, this is the rest of the archive's budget. */
static uint64_t most_bytes(const struct unpacking *u)
{
	const struct part *p = u->packed;
	uint64_t most = p->budget ? p->budget->bytes : unarchive_bytes_most(p->it.size);
	uint64_t of_a_file = u->t->opts->max_file_size;

	return of_a_file ? MIN(most, of_a_file) : most;
}

/* Puts the name of the packing before an error about the content. Errors of pack/unpack/ already contain the
 * name. */
static int wrapped(struct unpacking *u, const struct packing *p, int r)
{
	if (r < 0 && !intake_is_trouble(r)) {
		struct err e = u->e;

		return err_set(&u->e, -EINVAL, "%s: %s", packing_name(p), taking_why(r, &e));
	}
	return r;
}

static int unpack_all(struct unpacking *u, const struct packing *p)
{
	_cleanup_unpack_ struct unpack *un = NULL;
	struct view v = view_of_fd(u->packed->it.fd, u->packed->it.size);
	int r = unpack_new(&un, p, most_bytes(u), take_bytes, u);

	if (r == 0)
		r = unpack_more(un, &v, &u->e);
	if (un && u->packed->budget)
		u->packed->budget->bytes -= MIN(u->packed->budget->bytes, unpack_made(un));
	if (u->r < 0)
		return wrapped(u, p, u->r);
	return r < 0 || u->d ? r : wrapped(u, p, judge_head(u, true));
}

static int take_inside(struct unpacking *u)
{
	/* A copy, because publishing closes the draft's own descriptor. */
	_cleanup_close_ int fd = fcntl(draft_fd(u->d), F_DUPFD_CLOEXEC, 0);
	char name[MODULE_NAME_MAX];
	struct part p = *u->packed;
	uint64_t most = unarchive_bytes_most(p.it.size);
	struct budget rest = {.members = UNARCHIVE_MEMBERS_MOST, .bytes = most - MIN(most, draft_size(u->d))};

	if (fd < 0)
		return taking_refuse(u->t, u->packed, -errno, &u->e);
	unpack_name(u->packed->it.shown, name, sizeof(name));
	p.it.fd = fd;
	p.it.size = draft_size(u->d);
	p.it.name = name;
	p.it.draft = &u->d;
	p.depth++;
	if (!p.budget)
		p.budget = &rest; /* an archive in it shares the limit of this file */
	return taking_part(u->t, &p);
}

/* ---- the entry point ---------------------------------------------------------------- */

/* The packing of a file. NULL: the file is not packed, or is a zip archive. A zip archive can hold many files, so
 * archive.c reads it. */
static const struct packing *find_packing(const struct part *part)
{
	struct view v = view_of_fd(part->it.fd, part->it.size);
	const struct packing *p = NULL;
	uint8_t head[UNPACK_HEAD];

	if (part->it.size >= sizeof(head) && view_read(&v, 0, head, sizeof(head)) == 0)
		p = packing_of(head, sizeof(head));
	return p && strcmp(packing_name(p), "zip") != 0 ? p : NULL;
}

/* As taking_part(), for a compressed file. If the file is not compressed, does nothing and sets `is_packed` to
 * false. */
static int taking_packed(struct taking *t, const struct part *part, bool *is_packed)
{
	const struct packing *p = part->depth < INTAKE_DEPTH_MOST ? find_packing(part) : NULL;
	_cleanup_free_ struct unpacking *u = p ? calloc(1, sizeof(*u)) : NULL;
	int r;

	*is_packed = p != NULL;
	if (!p)
		return 0;
	if (!u)
		return taking_refuse(t, part, -ENOMEM, &(struct err){0});
	u->t = t;
	u->packed = part;
	r = unpack_all(u, p);
	r = r == 0 ? take_inside(u) : taking_refuse(t, part, r, &u->e);
	draft_discard(u->d);
	return r;
}

/* ---- files ----------------------------------------------------------------------------------- */

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

int intake_take(const struct intake_opts *o, const struct intake_item *it, intake_report_fn *report, void *ctx)
{
	struct taking t = {.opts = o, .report = report, .ctx = ctx};
	struct part p = {.it = *it};

	return taking_part(&t, &p);
}
