/* Answers for a few addresses of a Breakpad file: a worker process checks all lines, and converts only what the
 * addresses need. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/util.h"
#include "derive/private.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECONDS 120
#define SIZE_LEAST (1u << 20) /* a smaller file is converted as a whole */
#define MEMORY (256ull << 20) /* of all such workers together */

bool partial_can_ask(const struct blob *whole)
{
	return blob_size(whole) >= SIZE_LEAST;
}

/* One for each processor, but no more than threads that wait for them. Each worker gets its share of MEMORY. */
static unsigned workers_most(void)
{
	return (unsigned)MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L), (long)derive_threads());
}

/* Waits until fewer workers run than may run at a time. */
static void take_turn(struct derive *d)
{
	LOCK_SCOPE(&d->lock);

	while (d->asked_workers >= workers_most())
		pthread_cond_wait(&d->asked_ended, &d->lock);
	d->asked_workers++;
}

static void end_turn(struct derive *d)
{
	LOCK_SCOPE(&d->lock);

	d->asked_workers--;
	pthread_cond_signal(&d->asked_ended);
}

int partial_make_asked(struct partial *p, int *fd, struct err *e)
{
	_cleanup_close_ int asked = memfd_create("addresses", MFD_CLOEXEC);
	size_t n = p->n * sizeof(*p->addrs);
	struct gsym_work o = {.seconds = SECONDS, .threads = 1, .stop = &p->stop, .form = GSYM_WORK_ASKED,
		.memory = MEMORY / workers_most(), .unsandboxed = fetch_opts(p->d->fetch)->allow_unsandboxed,
		.asked = asked};
	int r;

	if (asked < 0)
		return err_set(e, -errno, "%s", err_text(errno));
	qsort(p->addrs, p->n, sizeof(*p->addrs), compare_u32);
	if (write(asked, p->addrs, n) != (ssize_t)n)
		return err_set(e, -EIO, "%s", err_text(EIO));
	take_turn(p->d);
	r = atomic_load(&p->stop) ? -EINTR : gsym_work(&o, blob_fd(p->whole), fd, e);
	end_turn(p->d);
	return r;
}
