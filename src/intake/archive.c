/* Stores the members of an archive: unpacks each into a draft of the store, which is then taken like any other
 * file. A member's name is reported, and can become a name in a key. The name is never used as a path. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/hash.h"
#include "base/util.h"
#include "intake/private.h"
#include "names/layout/layout.h"
#include "pack/unarchive/kind.h"
#include "pack/unarchive/unarchive.h"
#include "pack/unpack/unpack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t digest_of(const char *name)
{
	uint8_t sum[32];
	uint64_t d;

	sha256_of(name, strlen(name), sum);
	memcpy(&d, sum, sizeof(d));
	return d ? d : 1;
}

/* Whether a component of the name is `..`. Names from Windows have backslashes. */
static bool leads_out(const char *name)
{
	while (*name) {
		size_t n = strcspn(name, "/\\");

		if (n == 2 && memcmp(name, "..", 2) == 0)
			return true;
		name += n + (name[n] != '\0');
	}
	return false;
}

/* Checks the name of a member. 0; -EBADMSG: it leads out of the archive; or, with `strict`, it is absolute, or the
 * name of an earlier member; -ENOMEM. */
static int names_check(struct hash_set *earlier, const char *name, bool strict, struct err *e)
{
	int r;

	if (leads_out(name))
		return err_set(e, -EBADMSG, "has a name that leads out of the archive (..)");
	if (!strict || !name[0])
		return 0;
	if (name[0] == '/' || name[0] == '\\')
		return err_set(e, -EBADMSG, "has an absolute name");
	r = hash_set_add(earlier, digest_of(name));
	return r == -EEXIST ? err_set(e, -EBADMSG, "has the name of an earlier member") : r;
}

/* Appends the candidates of a layout. */
static unsigned parse(const char *layout, const char *path, struct artifact *claims, unsigned n)
{
	_cleanup_free_ struct layout_hit *hit = calloc(1, sizeof(*hit));

	if (!hit)
		return n;
	layout_parse(layout_find(layout), path, hit);
	for (unsigned i = 0; (hit->what & LAYOUT_FILE) && i < hit->n && n < INTAKE_CLAIMS_MOST; i++)
		claims[n++] = hit->files[i];
	return n;
}

unsigned intake_claims(const char *name, struct artifact claims[static INTAKE_CLAIMS_MOST])
{
	char path[LAYOUT_PATH_MAX], last[MODULE_NAME_MAX];
	const char *slash = strrchr(name, '/');
	unsigned n;

	unpack_name(name, last, sizeof(last)); /* "foo.pdb" for foo.pdb/ID/foo.pd_ */
	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - name) : 0, name, last);
	n = parse("breakpad", path, claims, 0);
	return parse("symstore", path, claims, n);
}

/* ---- members --------------------------------------------------------------------------------- */

struct unpacking {
	struct taking *t;
	const struct part *archive;
	struct budget *budget;
	struct unarchive *from;
	struct unarchive_member m; /* the present member */
	struct hash_set names; /* of the earlier members, for intake_item.strict */
	bool raw; /* the archive is a compressed file, and has no members */
	struct artifact claims[INTAKE_CLAIMS_MOST]; /* of the present member */
	uint8_t inside[INTAKE_HEAD_MOST]; /* the unpacked head of a member that is itself compressed */
};

/* ---- which files are archives ------------------------------------------------------- */

static bool name_says_so(const char *name)
{
	static const char *const ends[] = {".zip", ".nupkg", ".snupkg"};
	const char *end = strrchr(name, '.');

	for (unsigned i = 0; end && i < ARRAY_SIZE(ends); i++)
		if (strcasecmp(end, ends[i]) == 0)
			return true;
	return false;
}

/* Why an archive is not taken apart; NULL: take it apart. A zip archive with another suffix is taken apart only if
 * the client names it: documents and packages of many programs are zip archives. */
static const char *why_not_apart(enum archive_kind kind, const char *name, bool named, unsigned depth)
{
	if (kind == ARCHIVE_ZIP && !named && !name_says_so(name))
		return "a zip archive not named .zip, .nupkg or .snupkg";
	return depth >= INTAKE_DEPTH_MOST ? "an archive in an archive in an archive" : NULL;
}

int taking_is_archive(const struct part *p, const char **why_not)
{
	struct view v = view_of_fd(p->it.fd, p->it.size);
	enum archive_kind kind = ARCHIVE_NONE;
	int r = archive_kind_of(&v, &kind);

	if (r < 0 || kind == ARCHIVE_NONE)
		return r;
	*why_not = why_not_apart(kind, p->it.name, p->it.named, p->depth);
	return !*why_not;
}

/* ---- one member --------------------------------------------------------------------- */

/* Subtracts unpacked bytes from the budget. */
static int spend(struct unpacking *u, size_t n, struct err *e)
{
	if (n > u->budget->bytes)
		return err_set(e, -EFBIG, "the archive expands to too many bytes");
	u->budget->bytes -= n;
	return 0;
}

/* Whether a member of this size is larger than any stored file may be. */
static int check_size(const struct unpacking *u, uint64_t size, struct err *e)
{
	uint64_t most = u->t->opts->max_file_size;

	return most && size > most ? err_set(e, -EFBIG, "has more than %llu bytes (max-file-size)",
					     (unsigned long long)most)
				   : 0;
}

/* Checks by the head of a member whether to unpack the rest of the member. 0: unpack it; -errno: skip the
 * member, and `e` has the reason. */
static int judge_head(struct unpacking *u, const uint8_t *head, size_t n, const struct part *part, struct err *e)
{
	enum archive_kind kind = archive_kind(head, n);
	const char *why = kind == ARCHIVE_NONE ? NULL : why_not_apart(kind, part->it.name, false, part->depth);
	const struct packing *p = packing_of(head, n);
	size_t inside = p ? unpack_peek(p, head, n, u->inside, sizeof(u->inside)) : 0;
	struct view v = inside ? view_of_mem(u->inside, inside) : view_of_mem(head, n);
	struct obj_slice slice;
	int r;

	if (why)
		return err_set(e, -ENOTSUP, "%s", why);
	if (kind != ARCHIVE_NONE && !part->it.n_claims)
		return 0;
	if (p && !inside) /* some packings have heads that do not show the content */
		return 0;
	/* A head shorter than INTAKE_HEAD_MOST is the whole member, whatever size the archive states. */
	v.size = p ? VIEW_UNKNOWN : n < INTAKE_HEAD_MOST ? n : u->m.size;
	r = obj_identify(&v, 0, &slice, e);
	return r == -EAGAIN ? 0 : r;
}

/* Writes a member into the draft: the head, and the rest. */
static int unpack_rest(struct unpacking *u, struct draft *d, const uint8_t *p, size_t n, const struct part *part,
	struct err *e)
{
	int r = 0;

	while (r == 0 && n) {
		taking_progress(u->t, part);
		r = draft_write(d, draft_size(d), p, n);
		if (r < 0)
			return err_set(e, r, "%s", err_text(r));
		r = unarchive_read(u->from, &p, &n, e);
		if (r == 0)
			r = spend(u, n, e);
		if (r == 0)
			r = check_size(u, draft_size(d) + n, e);
	}
	/* An empty member, too, is read to its end. */
	return r == 0 && !draft_size(d) ? unarchive_read(u->from, &p, &n, e) : r;
}

static int unpack(struct unpacking *u, const struct part *part, struct draft **out, struct err *e)
{
	struct draft *d = NULL;
	const uint8_t *p;
	size_t n;
	int r = unarchive_head(u->from, &p, &n, e);

	if (r == 0 && u->m.size != VIEW_UNKNOWN && u->m.size > u->budget->bytes)
		r = err_set(e, -EFBIG, "the archive expands to too many bytes");
	if (r == 0 && u->m.size != VIEW_UNKNOWN)
		r = check_size(u, u->m.size, e);
	if (r == 0)
		r = spend(u, n, e);
	if (r == 0)
		r = judge_head(u, p, n, part, e);
	if (r == 0)
		r = draft_new(&d, u->t->opts->store, e);
	if (r == 0)
		r = unpack_rest(u, d, p, n, part, e);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	*out = d;
	return 0;
}

/* 0: the parts of the member were reported, and *done is the result of taking_part(); -errno: the member was not
 * taken, and `e` has the reason. */
static int take_member(struct unpacking *u, struct part *p, int *done, struct err *e)
{
	_cleanup_close_ int fd = -1;
	struct draft *d = NULL;
	int r = names_check(&u->names, u->m.name, u->archive->it.strict, e);

	if (r == 0)
		r = unpack(u, p, &d, e);
	if (r < 0)
		return r;
	fd = fcntl(draft_fd(d), F_DUPFD_CLOEXEC, 0); /* publishing closes the draft's own descriptor */
	r = fd < 0 ? err_set(e, -errno, "%s", err_text(errno)) : 0;
	p->it.fd = fd;
	p->it.size = draft_size(d);
	p->it.draft = &d;
	if (r == 0)
		*done = taking_part(u->t, p);
	draft_discard(d);
	return r;
}

/* Writes the name of a member for messages: "a.zip!lib/x.pdb". */
static void member_text(struct buf *b, const char *archive, const struct unarchive_member *m)
{
	if (m->raw)
		buf_adds(b, archive);
	else if (m->name[0])
		buf_addf(b, "%s!%s", archive, m->name);
	else
		buf_addf(b, "%s!(member %llu)", archive, (unsigned long long)m->nth);
}

/* Takes the present member. A name that is not a valid file name counts as no name. */
static int try_member(struct unpacking *u)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(64 << 10), from = BUF_UP_TO(64 << 10);
	const struct part *archive = u->archive;
	char name[MODULE_NAME_MAX];
	struct part p = {.it = {.fd = -1, .name = name, .compare = archive->it.compare},
		.member = archive->member || !u->m.raw,
		.depth = archive->depth + 1,
		.budget = u->budget};
	struct err e = {0};
	int r, done = 0;

	if (u->m.raw)
		unpack_name(archive->it.shown, name, sizeof(name));
	else
		obj_base_name(name, u->m.name, strlen(u->m.name));
	member_text(&shown, archive->it.shown, &u->m);
	member_text(&from, archive->it.from, &u->m);
	p.it.shown = buf_text(&shown);
	p.it.from = buf_text(&from);
	p.it.named = u->m.raw && archive->it.named;
	p.it.strict = archive->it.strict;
	p.it.hold = archive->it.hold;
	p.it.time = u->m.time;
	p.it.claims = u->claims;
	p.it.n_claims = archive->it.strict ? intake_claims(u->m.name, u->claims) : 0;
	r = take_member(u, &p, &done, &e);
	return r < 0 ? taking_refuse(u->t, &p, r, &e) : done;
}

/* ---- all members -------------------------------------------------------------------- */

static int start(struct unpacking *u, struct err *e)
{
	const struct intake_opts *o = u->t->opts;
	struct unarchive_opts opts = {.program = o->worker,
		.unsandboxed = o->allow_unsandboxed,
		.stop = o->stop,
		.limits = {u->budget->bytes, u->budget->members}};

	return unarchive_open(&u->from, &opts, u->archive->it.fd, e);
}

/* Tries to take each member. 0: all members were tried, or *done has the trouble that ended this. -errno: `e` has
 * the error of the archive itself. */
static int take_members(struct unpacking *u, int *done, struct err *e)
{
	int r = start(u, e);

	while (r == 0 && *done == 0) {
		r = unarchive_next(u->from, &u->m, e);
		u->raw |= r == 0 && u->m.raw;
		if (r == 0 && !intake_leaves_out(u->m.name))
			*done = try_member(u);
	}
	if (u->from)
		u->budget->members -= MIN(u->budget->members, unarchive_seen(u->from));
	return r == -ENOENT ? 0 : r;
}

static int archive_trouble(struct unpacking *u, int r, const struct err *e)
{
	uint64_t seen = u->from ? unarchive_seen(u->from) : 0;
	struct err from = *e;

	if (seen && !u->raw && !intake_is_trouble(r))
		err_set(&from, r, "from member %llu on: %.400s", (unsigned long long)seen, e->text);
	return taking_refuse(u->t, u->archive, r, &from);
}

int taking_archive(struct taking *t, const struct part *p)
{
	_cleanup_free_ struct unpacking *u = calloc(1, sizeof(*u));
	struct budget own = {.members = UNARCHIVE_MEMBERS_MOST, .bytes = unarchive_bytes_most(p->it.size)};
	uint64_t placed = t->placed;
	struct err e = {0};
	int r, done = 0;

	if (!u)
		return taking_refuse(t, p, -ENOMEM, &e);
	u->t = t;
	u->archive = p;
	u->budget = p->budget ? p->budget : &own;
	r = take_members(u, &done, &e);
	if (r < 0)
		done = archive_trouble(u, r, &e);
	else if (done == 0 && p->it.named && !u->raw && t->placed == placed)
		done = taking_refuse(t, p, err_set(&e, -ENOENT, "an archive without a file that can be placed"), &e);
	unarchive_close(u->from);
	hash_set_release(&u->names);
	return done;
}
