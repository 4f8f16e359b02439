/* Packed files: recognizes them by their first bytes, checks a part of the inside early, and unpacks them on a
 * worker into a draft. Only the inside is judged, stored and shown. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/fetch-private.h"

#include <string.h>

/* the unpacked bytes in which packed_early() looks for the identity of another build */
#define EARLY_INSIDE (1u << 20)

const struct packing *packed_as(enum filetype t, const void *head, size_t n)
{
	const struct packing *p = n >= UNPACK_HEAD ? packing_of(head, n) : NULL;

	if (!p || filetypes[t].flags & TYPE_ANY_PACKING)
		return NULL;
	/* If symfs cannot read files of the type, obj_may_be() accepts any first bytes. */
	return !obj_reads(t) || !obj_may_be(t, head, n) ? p : NULL;
}

size_t packed_inside(
	const struct packing *p, const void *head, size_t n, bool all, uint8_t inside[static OBJ_HEAD])
{
	size_t have = unpack_peek(p, head, n, inside, OBJ_HEAD);

	return have < OBJ_HEAD && !all ? 0 : have;
}

/* ---- early: a part of it ------------------------------------------------------------ */

static int early_write(void *ctx, const void *p, size_t n)
{
	struct buf *b = ctx;
	int r = buf_add(b, p, MIN(n, b->most - b->n));

	return r < 0 ? r : b->n == b->most ? -ECANCELED : 0;
}

int packed_early(const struct packing *p, int fd, uint64_t have, const struct key *k, struct err *e)
{
	_cleanup_buf_ struct buf inside = BUF_UP_TO(EARLY_INSIDE);
	_cleanup_unpack_ struct unpack *u = NULL;
	struct view v = view_of_stream(fd, have, VIEW_UNKNOWN);
	struct obj_slice slice;
	int r = unpack_new(&u, p, UINT64_MAX, early_write, &inside);

	if (r == 0)
		r = unpack_more(u, &v, e);
	if ((r != -EAGAIN && r != -ECANCELED) || !inside.n)
		return r == -ENOTSUP ? -EBADMSG : r;
	v = view_of_mem(inside.p, inside.n);
	v.size = VIEW_UNKNOWN;
	return obj_check(&v, k, &slice, e);
}

/* ---- all of it ---------------------------------------------------------------------- */

struct sink {
	struct fetch *f;
	struct draft *d;
	int error; /* an error of the disk, or -EINTR at exit; 0: none */
};

static int sink_write(void *ctx, const void *p, size_t n)
{
	struct sink *s = ctx;

	s->error = s->f->closing ? -EINTR : draft_write(s->d, draft_size(s->d), p, n);
	if (s->error == -EFBIG) /* the file system's limit, not max-file-size */
		s->error = -ENOSPC;
	return s->error;
}

int packed_open(struct fetch *f, const struct packing *p, int fd, uint64_t size, uint64_t most,
	struct draft **out, struct err *e)
{
	_cleanup_unpack_ struct unpack *u = NULL;
	struct sink s = {.f = f};
	struct view v = view_of_fd(fd, size);
	int r = draft_new(&s.d, f->store, e);

	if (r < 0)
		return r;
	r = unpack_new(&u, p, most ? most : UINT64_MAX, sink_write, &s);
	if (r == 0)
		r = unpack_more(u, &v, e);
	if (r == 0) {
		*out = s.d;
		return 0;
	}
	draft_discard(s.d);
	return s.error ? s.error : r == -ENOTSUP ? -EBADMSG : r;
}

int packed_publish(struct fetch *f, const struct packing *p, struct draft *d, const struct key *k,
	struct blob_facts *facts, struct blob **out, struct err *e)
{
	int r = learn_publish(f, d, k, facts, out, e);

	if (r == -EBADMSG)
		err_wrap(e, packing_name(p));
	return r;
}

uint64_t fetch_most(const struct fetch *f, const struct source *s)
{
	return s->o.max_file_size ? s->o.max_file_size : f->opts.max_file_size;
}
