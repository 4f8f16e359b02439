/* Sends the members of a zip archive, in the order of its directory. After a broken member the next one is read, and
 * no byte of the archive is unpacked for two members. Both need the directory, which libarchive does not show. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "base/zip.h"
#include "unarchive/private.h"

#include <string.h>

static int zip_member_read(void *ctx, void *p, size_t *n, struct err *e)
{
	return zip_stream_read(ctx, p, n, e);
}

/* Whether a member is a directory or a link. */
static bool is_left_out(const struct zip_entry *entry)
{
	size_t n = strlen(entry->name);

	return entry->link || (n && entry->name[n - 1] == '/');
}

/* Subtracts the packed bytes of a member from those that no member has used so far: an archive can use the same
 * bytes for a million members. */
static int take_packed(const struct zip_entry *entry, uint64_t *left, struct err *e)
{
	if (entry->packed > *left)
		return err_set(e, -EBADMSG, "is broken: another member uses the same bytes");
	*left -= entry->packed;
	return 0;
}

static void send_entry(struct sender *s, struct zip *z, const struct zip_entry *entry, uint64_t *left)
{
	struct zip_stream *stream = NULL;
	struct err e = {0};
	int r = take_packed(entry, left, &e);

	if (r == 0)
		r = zip_stream_open(&stream, z, entry, &e);
	if (r == 0)
		sender_member(s, entry->name, entry->size, zip_member_read, stream);
	else
		sender_refuse(s, entry->name, entry->size, r, &e);
	zip_stream_close(stream);
}

int unarchive_zip(struct sender *s, int fd, uint64_t size, struct err *e)
{
	struct view v = view_of_fd(fd, size);
	struct zip_entry entry;
	uint64_t left = size;
	struct zip z;
	int r = zip_open(&z, &v, e);

	if (r == -ENOMSG)
		return err_set(e, -EBADMSG, "is cut short: the archive has no end");
	while (r == 0) {
		r = zip_next(&z, &entry, e);
		if (r == -ENOENT)
			return 0;
		if (r == 0)
			r = sender_count(s, e);
		else
			s->nth++; /* the error is about the next member */
		if (r == 0 && !is_left_out(&entry))
			send_entry(s, &z, &entry, &left);
	}
	return r;
}
