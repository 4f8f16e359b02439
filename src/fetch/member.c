/* Unpacks one member of an archive of a scanned tree into the store. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "unarchive/unarchive.h"

#include <sys/stat.h>

#define AT_ONCE 4     /* archives that are unpacked at once: each worker may have 512 MiB of memory */
#define LOOK_MS 200   /* between two checks for the end of the process */

/* ---- turns --------------------------------------------------------------------------- */

/* Waits until fewer than AT_ONCE archives are being unpacked. 0; -EINTR: the process ends. */
static int turn_take(struct fetch *f)
{
	LOCK_SCOPE(&f->members_lock);

	while (f->members_busy >= AT_ONCE && !f->closing) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_MS * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&f->members_free, &f->members_lock, &until);
	}
	if (f->closing)
		return -EINTR;
	f->members_busy++;
	return 0;
}

static void turn_give(struct fetch *f)
{
	LOCK_SCOPE(&f->members_lock);

	f->members_busy--;
	pthread_cond_signal(&f->members_free);
}

/* ---- unpacking ----------------------------------------------------------------------- */

/* Writes the present member into a draft. */
static int write_member(struct unarchive *u, uint64_t most, struct draft *d, struct err *e)
{
	const uint8_t *p;
	size_t n;
	int r = unarchive_head(u, &p, &n, e);

	while (r == 0 && n) {
		if (most && draft_size(d) + n > most)
			return err_set(e, -EFBIG, "has more than %llu bytes", (unsigned long long)most);
		r = draft_write(d, draft_size(d), p, n);
		if (r < 0)
			return err_set(e, r, "%s", err_text(r));
		r = unarchive_read(u, &p, &n, e);
	}
	return r;
}

static bool is_wanted(const struct unarchive_member *m, const struct scan_found *at, uint64_t number)
{
	return at->member == SCAN_BY_NAME ? !m->raw && m->name[0] && scan_name_number(m->name) == number
					  : m->nth >= at->member;
}

/* Goes to the member. -ESTALE: the archive has no such member any more. */
static int go_to(struct unarchive *u, const struct scan_found *at, struct unarchive_member *m, struct err *e)
{
	uint64_t number = scan_name_number(at->name);
	int r;

	do
		r = unarchive_next(u, m, e);
	while (r == 0 && !is_wanted(m, at, number));
	return r == -ENOENT || (r == 0 && at->member != SCAN_BY_NAME && m->nth != at->member)
		? err_set(e, -ESTALE, "the archive has changed") : r;
}

static int unpack_member(struct fetch *f, int fd, const struct scan_found *at, uint64_t most, struct draft *d,
	int64_t *time, struct err *e)
{
	struct unarchive_opts o = {.unsandboxed = f->opts.allow_unsandboxed,
		.stop = &f->closing,
		.limits = {unarchive_bytes_most(at->size), UNARCHIVE_MEMBERS_MOST}};
	struct unarchive_member *m = calloc(1, sizeof(*m));
	struct unarchive *u = NULL;
	int r = m ? unarchive_open(&u, &o, fd, e) : -ENOMEM;

	if (r == 0)
		r = go_to(u, at, m, e);
	if (r == 0)
		r = write_member(u, most, d, e);
	if (r == 0)
		*time = m->time;
	unarchive_close(u);
	free(m);
	return r;
}

int member_open(struct fetch *f, int fd, const struct scan_found *at, uint64_t most, struct draft **out,
	int64_t *time, struct err *e)
{
	struct draft *d = NULL;
	int r = turn_take(f);

	if (r < 0)
		return r;
	r = draft_new(&d, f->store, e);
	if (r == 0)
		r = unpack_member(f, fd, at, most, d, time, e);
	turn_give(f);
	if (r < 0)
		draft_discard(d);
	else
		*out = d;
	return r;
}

bool member_is_there(int fd, const struct scan_found *at)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == at->ino && (uint64_t)st.st_size == at->size &&
		(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec == at->mtime;
}
