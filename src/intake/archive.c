/* Stores the members of an archive: unpacks each into a draft of the store, which is then taken like any other
 * file. A member's name is reported, and can become a name in a key. The name is never used as a path. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/util.h"
#include "base/zip.h"
#include "intake/private.h"
#include "unpack/unpack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CHUNK (256u << 10)

struct unpacking {
	struct taking *t;
	const struct part *archive;
	struct budget *budget;
	struct zip z;
	uint64_t packed_left; /* bytes of the archive that no member has used so far */
	uint64_t seen; /* members read so far */
	uint8_t head[INTAKE_HEAD_MOST];
	uint8_t inside[INTAKE_HEAD_MOST]; /* the unpacked head of a member that is itself compressed */
	uint8_t chunk[CHUNK];
};

/* ---- which files are archives ------------------------------------------------------- */

static bool is_zip(const void *head, size_t n)
{
	return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

static bool name_says_so(const char *name)
{
	static const char *const ends[] = {".zip", ".nupkg", ".snupkg"};
	const char *end = strrchr(name, '.');

	for (unsigned i = 0; end && i < ARRAY_SIZE(ends); i++)
		if (strcasecmp(end, ends[i]) == 0)
			return true;
	return false;
}

/* Rejects zip archives with another suffix, unless the client names them: documents and packages of many
 * programs are such archives. */
int taking_is_archive(const struct part *p, const char **why_not)
{
	struct view v = view_of_fd(p->it.fd, p->it.size);
	uint8_t head[4];
	int r = p->it.size < sizeof(head) ? 0 : view_read(&v, 0, head, sizeof(head));

	if (r < 0 || p->it.size < sizeof(head) || !is_zip(head, sizeof(head)))
		return r;
	if (!p->it.named && !name_says_so(p->it.name)) {
		*why_not = "a zip archive not named .zip, .nupkg or .snupkg";
		return 0;
	}
	if (p->depth >= INTAKE_DEPTH_MOST) {
		*why_not = "an archive in an archive in an archive";
		return 0;
	}
	return 1;
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

static int read_head(struct unpacking *u, struct zip_stream *s, size_t *n, struct err *e)
{
	int r = 0;

	for (*n = 0; *n < sizeof(u->head);) {
		size_t got = sizeof(u->head) - *n;

		r = zip_stream_read(s, u->head + *n, &got, e);
		if (r < 0 || !got)
			break;
		*n += got;
	}
	return r == 0 ? spend(u, *n, e) : r;
}

/* Checks by the head of a member whether to unpack the rest of the member. 0: unpack it; -errno: skip the
 * member, and `e` has the reason. */
static int judge_head(
	struct unpacking *u, size_t n, uint64_t size, const char *name, struct err *e)
{
	const struct packing *p = packing_of(u->head, n);
	size_t inside = p ? unpack_peek(p, u->head, n, u->inside, sizeof(u->inside)) : 0;
	struct view v = inside ? view_of_mem(u->inside, inside) : view_of_mem(u->head, n);
	struct obj_slice slice;
	int r;

	if (is_zip(u->head, n))
		return name_says_so(name) ? 0
					  : err_set(e, -EINVAL,
						    "a zip archive not named .zip, .nupkg or .snupkg");
	if (p && !inside) /* some packings have heads that do not show the content */
		return 0;
	v.size = p ? VIEW_UNKNOWN : size;
	r = obj_identify(&v, 0, &slice, e);
	return r == -EAGAIN ? 0 : r;
}

/* Writes a member into the draft: the `n` bytes of the head, which were read already, and the rest. */
static int unpack_rest(struct unpacking *u, struct zip_stream *s, struct draft *d, size_t n,
	const struct part *p, struct err *e)
{
	int r = draft_write(d, 0, u->head, n);

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	do {
		n = sizeof(u->chunk);
		taking_progress(u->t, p);
		r = zip_stream_read(s, u->chunk, &n, e);
		if (r == 0)
			r = spend(u, n, e);
		if (r < 0)
			return r;
		r = n ? draft_write(d, draft_size(d), u->chunk, n) : 0;
		if (r < 0)
			return err_set(e, r, "%s", err_text(r));
	} while (n);
	return 0;
}

static int unpack(struct unpacking *u, const struct zip_entry *entry, const struct part *p,
	struct draft **out, struct err *e)
{
	struct zip_stream *s;
	struct draft *d = NULL;
	size_t n;
	int r = zip_stream_open(&s, &u->z, entry, e);

	if (r < 0)
		return r;
	r = read_head(u, s, &n, e);
	if (r == 0)
		r = judge_head(u, n, entry->size, p->it.name, e);
	if (r == 0)
		r = draft_new(&d, u->t->in->opts.store, e);
	if (r == 0)
		r = unpack_rest(u, s, d, n, p, e);
	zip_stream_close(s);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	*out = d;
	return 0;
}

/* Checks the budget before a member is read: an archive can use the same bytes for a million members, and small
 * members can become very large. */
static int afford(struct unpacking *u, const struct zip_entry *entry, struct err *e)
{
	if (entry->packed > u->packed_left)
		return err_set(e, -EBADMSG, "is broken: another member uses the same bytes");
	u->packed_left -= entry->packed;
	if (entry->size > u->budget->bytes)
		return err_set(e, -EFBIG, "the archive expands to too many bytes");
	return 0;
}

/* 0: the parts of the member were reported, and *done is the result of taking_part(); -errno: the member was not
 * unpacked. */
static int take_member(struct unpacking *u, const struct zip_entry *entry, struct part *p, int *done,
	struct err *e)
{
	_cleanup_close_ int fd = -1;
	struct draft *d = NULL;
	int r = afford(u, entry, e);

	if (r == 0)
		r = unpack(u, entry, p, &d, e);
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
static void member_text(struct buf *b, const char *archive, const struct zip_entry *entry,
	uint64_t nth)
{
	if (entry->name[0])
		buf_addf(b, "%s!%s", archive, entry->name);
	else
		buf_addf(b, "%s!(member %llu)", archive, (unsigned long long)nth);
}

/* Takes a member. A name that is not a valid file name counts as no name. */
static int try_member(struct unpacking *u, const struct zip_entry *entry)
{
	_cleanup_buf_ struct buf shown = BUF_UP_TO(64 << 10), from = BUF_UP_TO(64 << 10);
	char name[MODULE_NAME_MAX];
	struct part p = {.it = {.fd = -1, .name = name},
		.member = true,
		.depth = u->archive->depth + 1,
		.budget = u->budget};
	struct err e = {0};
	int r, done = 0;

	obj_base_name(name, entry->name, strlen(entry->name));
	member_text(&shown, u->archive->it.shown, entry, u->seen);
	member_text(&from, u->archive->it.from, entry, u->seen);
	p.it.shown = buf_text(&shown);
	p.it.from = buf_text(&from);
	p.it.compare = u->archive->it.compare;
	r = take_member(u, entry, &p, &done, &e);
	return r < 0 ? taking_refuse(u->t, &p, r, &e) : done;
}

/* ---- all members -------------------------------------------------------------------- */

/* Whether to skip a member: a directory, a link, or a file that cannot be a symbol file. */
static bool is_left_out(const struct zip_entry *entry)
{
	size_t n = strlen(entry->name);

	return entry->link || (n && entry->name[n - 1] == '/') || intake_leaves_out(entry->name);
}

static int next_member(struct unpacking *u, struct zip_entry *entry, struct err *e)
{
	int r = zip_next(&u->z, entry, e);

	u->seen++;
	if (r < 0)
		return r;
	if (!u->budget->members)
		return err_set(e, -E2BIG, "more than %u members", INTAKE_MEMBERS_MOST);
	u->budget->members--;
	return 0;
}

/* Tries to take each member. 0: all members were tried, or *done has the trouble that ended this. -errno: `e` has
 * the error of the archive itself. */
static int take_members(struct unpacking *u, struct view *v, int *done, struct err *e)
{
	struct zip_entry entry;
	int r = zip_open(&u->z, v, e);

	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is cut short: the archive has no end");
	while (r == 0 && *done == 0) {
		r = next_member(u, &entry, e);
		if (r == 0 && !is_left_out(&entry))
			*done = try_member(u, &entry);
	}
	return r == -ENOENT ? 0 : r;
}

static int archive_trouble(struct unpacking *u, int r, const struct err *e)
{
	struct err from = *e;

	if (u->seen && !intake_is_trouble(r))
		err_set(&from, r, "from member %llu on: %.400s", (unsigned long long)u->seen, e->text);
	return taking_refuse(u->t, u->archive, r, &from);
}

int taking_archive(struct taking *t, const struct part *p)
{
	_cleanup_free_ struct unpacking *u = calloc(1, sizeof(*u));
	struct view v = view_of_fd(p->it.fd, p->it.size);
	struct budget own = {.members = INTAKE_MEMBERS_MOST, .bytes = taking_bytes_most(p->it.size)};
	uint64_t placed = t->placed;
	struct err e = {0};
	int r, done = 0;

	if (!u)
		return taking_refuse(t, p, -ENOMEM, &e);
	u->t = t;
	u->archive = p;
	u->budget = p->budget ? p->budget : &own;
	u->packed_left = p->it.size;
	r = take_members(u, &v, &done, &e);
	if (r < 0)
		return archive_trouble(u, r, &e);
	if (done == 0 && p->it.named && t->placed == placed)
		return taking_refuse(t, p, err_set(&e, -ENOENT, "an archive without a file that can be placed"), &e);
	return done;
}
