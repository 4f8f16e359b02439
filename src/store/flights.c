/* Single flight across processes: one download of a key at a time, by locks on bytes of DIR/flights. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/flights.h"
#include "base/grow.h"
#include "base/util.h"
#include "store/handle.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* A flight has four bytes of the file. A lock on one of them is a message to the other processes. */
enum flight_byte { BYTE_LEAD, BYTE_FOUND, BYTE_WANT, BYTE_BEAT };

static off_t place(uint64_t number, enum flight_byte b)
{
	return (off_t)(4 * (number & ((1ull << 58) - 1)) + b);
}

static int set(struct store *s, short type, off_t at, off_t len)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = len};

	return fcntl(s->flights.fd, F_OFD_SETLK, &l) < 0 ? -errno : 0;
}

/* Whether another process holds a lock on the byte. Locks of this process's open file do not count. */
static bool is_held(struct store *s, off_t at)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	return fcntl(s->flights.fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

static int open_file(struct store *s, int dirfd, struct err *e)
{
	int fd = openat(dirfd, "flights", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	return fd < 0 ? err_set(e, -errno, "%s/flights: %s", s->dir, err_text(errno)) : fd;
}

int flights_init(struct store *s, struct err *e)
{
	struct flights *f = &s->flights;
	int fd = open_file(s, s->dirfd, e);

	if (fd < 0)
		return fd;
	f->fd = fd;
	pthread_mutex_init(&f->lock, NULL);
	return 0;
}

/* Other processes no longer see the downloads that this process leads. At worst they download the same files. */
int flights_reopen(struct store *s, int dirfd, struct err *e)
{
	struct flights *f = &s->flights;
	_cleanup_close_ int fd = open_file(s, dirfd, e);
	LOCK_SCOPE(&f->lock);

	if (fd < 0)
		return fd;
	if (dup3(fd, f->fd, O_CLOEXEC) < 0)
		return err_set(e, -errno, "%s/flights: %s", s->dir, err_text(errno));
	for (unsigned i = 0; i < f->n; i++)
		set(s, F_RDLCK, place(f->wants[i].number, BYTE_WANT), 1);
	return 0;
}

int flights_lead(struct store *s, uint64_t number)
{
	int r = set(s, F_WRLCK, place(number, BYTE_LEAD), 1);

	return r == -EACCES ? -EAGAIN : r;
}

void flights_say_found(struct store *s, uint64_t number)
{
	set(s, F_WRLCK, place(number, BYTE_FOUND), 1);
}

bool flights_found(struct store *s, uint64_t number)
{
	return is_held(s, place(number, BYTE_FOUND));
}

static struct flight_want *want_at(struct flights *f, uint64_t number)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->wants[i].number == number)
			return &f->wants[i];
	return NULL;
}

static struct flight_want *want_add(struct flights *f, uint64_t number)
{
	if (grow(&f->wants, &f->room, f->n, sizeof(*f->wants)) < 0)
		return NULL;
	f->wants[f->n] = (struct flight_want){.number = number};
	return &f->wants[f->n++];
}

void flights_want(struct store *s, uint64_t number, bool want)
{
	struct flights *f = &s->flights;
	LOCK_SCOPE(&f->lock);
	struct flight_want *w = want_at(f, number);

	if (want) {
		if (!w)
			w = want_add(f, number);
		/* If memory is short, the leader does not see this request; the follower takes over when the
		 * leader stops. */
		if (w && w->count++ == 0)
			set(s, F_RDLCK, place(number, BYTE_WANT), 1);
	} else if (w && --w->count == 0) {
		set(s, F_UNLCK, place(number, BYTE_WANT), 1);
		*w = f->wants[--f->n];
	}
}

bool flights_wanted(struct store *s, uint64_t number)
{
	return is_held(s, place(number, BYTE_WANT));
}

void flights_beat(struct store *s, uint64_t number, bool high)
{
	set(s, high ? F_WRLCK : F_UNLCK, place(number, BYTE_BEAT), 1);
}

bool flights_beats(struct store *s, uint64_t number)
{
	return is_held(s, place(number, BYTE_BEAT));
}

void flights_drop(struct store *s, uint64_t number)
{
	set(s, F_UNLCK, place(number, BYTE_LEAD), BYTE_WANT - BYTE_LEAD);
	flights_beat(s, number, false);
}
