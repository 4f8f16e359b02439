/* Free space on the store's disk. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "store/evict.h"

#include <inttypes.h>
#include <sys/statvfs.h>

uint64_t room_missing(struct store *s, uint64_t need)
{
	struct statvfs fs;
	uint64_t there, floor;

	if (fstatvfs(s->dirfd, &fs) < 0)
		return 0;
	there = (uint64_t)fs.f_bavail * fs.f_frsize;
	floor = s->min_free > UINT64_MAX - need ? UINT64_MAX : s->min_free + need;
	return there < floor ? floor - there : 0;
}

bool room_has(struct store *s, uint64_t need)
{
	return room_missing(s, need) == 0;
}

int room_refuse(struct store *s, struct err *e)
{
	if (s->min_free)
		return err_set(e, -ENOSPC,
			"%s: less than min-free (%" PRIu64 " MiB) is left, the file system is full",
			s->dir, s->min_free >> 20);
	return err_set(e, -ENOSPC, "%s: the file system is full", s->dir);
}
