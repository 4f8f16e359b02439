/* Unpacks zip archives with one member, stored or deflated. The directory of an archive is at its end, so
 * the whole file must have been downloaded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/inflate.h"
#include "base/util.h"
#include "base/zip.h"
#include "pack/unpack/packing.h"

#include <string.h>

struct member {
	struct zip_entry entry;
	uint64_t at; /* offset of the next packed byte */
	uint64_t left; /* packed bytes that are still to be read */
	uint32_t crc;  /* of the bytes unpacked so far */
};

static bool zip_begins(const uint8_t *p, size_t n)
{
	return n >= 4 && memcmp(p, "PK\3\4", 4) == 0;
}

/* Finds the only member. An archive that has entries for directories, too, is refused. */
static int find_member(struct unpack *u, struct view *v, struct member *m, struct err *e)
{
	struct zip z;
	int r = zip_open(&z, v, e);

	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is zip, cut short");
	if (r == 0)
		r = zip_next(&z, &m->entry, e);
	if (r == -ENOENT)
		return err_set(e, -ENOTSUP, "is an empty zip archive");
	if (r < 0)
		return r;
	if (z.left || z.at != z.end)
		return err_set(e, -ENOTSUP, "is a zip archive of several members");
	if (m->entry.encrypted)
		return err_set(e, -ENOTSUP, "is an encrypted zip archive");
	if (m->entry.method != 0 && m->entry.method != 8)
		return err_set(e, -ENOTSUP, "is a zip archive with the unknown method %u",
			m->entry.method);
	r = zip_member(&z, &m->entry, &m->at, e);
	if (r < 0)
		return r;
	m->left = m->entry.packed;
	return unpack_announced(u, m->entry.size, m->entry.packed, e);
}

static int member_out(struct unpack *u, struct member *m, const void *p, size_t n, struct err *e)
{
	if (n > m->entry.size - u->made)
		return err_set(e, -EBADMSG, "is broken: its member is longer than the archive says");
	m->crc = inflate_crc(m->crc, p, n);
	return unpack_out(u, p, n, e);
}

/* Reads the next packed bytes; `in` is empty at the end. */
static int member_in(
	struct unpack *u, struct view *v, struct member *m, struct span *in, struct err *e)
{
	size_t n = (size_t)MIN(sizeof(u->in), m->left);
	int r = n ? view_read(v, m->at, u->in, n) : 0;

	if (r < 0)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	m->at += n;
	m->left -= n;
	u->taken += n;
	*in = (struct span){u->in, n};
	return 0;
}

static int copy(struct unpack *u, struct view *v, struct member *m, struct err *e)
{
	struct span in = {0};
	int r;

	do {
		r = member_in(u, v, m, &in, e);
		if (r == 0)
			r = member_out(u, m, in.p, in.n, e);
	} while (r == 0 && in.n);
	return r;
}

static int inflate_member(
	struct unpack *u, struct view *v, struct member *m, struct inflater *z, struct err *e)
{
	struct span in = {u->in, 0};
	bool ended = false;
	int r = 0;

	while (!ended) {
		size_t n = sizeof(u->out);

		if (!in.n)
			r = member_in(u, v, m, &in, e);
		if (r != 0)
			return r;
		r = inflater_step(z, &in, u->out, &n);
		if (r < 0 || (r == 0 && !in.n && !n && !m->left))
			return err_set(e, r == -ENOMEM ? r : -EBADMSG,
				"is broken: its member cannot be unpacked");
		ended = r == 1;
		r = member_out(u, m, u->out, n, e);
		if (r != 0)
			return r;
	}
	return 0;
}

static int inflate_all(struct unpack *u, struct view *v, struct member *m, struct err *e)
{
	struct inflater *z;
	int r = inflater_new(&z, INFLATE_RAW);

	if (r < 0)
		return err_set(e, r, "cannot be unpacked: %s", err_text(r));
	r = inflate_member(u, v, m, z, e);
	inflater_free(z);
	return r;
}

static int zip_whole(struct unpack *u, struct view *v, struct err *e)
{
	struct member m = {0};
	int r = find_member(u, v, &m, e);

	if (r == 0)
		r = m.entry.method == 0 ? copy(u, v, &m, e) : inflate_all(u, v, &m, e);
	if (r != 0)
		return r;
	if (u->made != m.entry.size || m.crc != m.entry.crc)
		return err_set(e, -EBADMSG, "is broken: the checksum of its member is wrong");
	return 0;
}

const struct packing packing_zip = {
	.name = "zip", .begins = zip_begins, .whole = zip_whole, .peek = zip_peek};
