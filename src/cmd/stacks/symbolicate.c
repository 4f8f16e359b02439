/* The signals that end symfs symbolicate: each stops the service that runs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/stacks/symbolicate.h"
#include "base/util.h"
#include "cmd/progress.h"

#include <sched.h>
#include <signal.h>

/* The work that a signal stops; NULL: none. */
static struct symb *_Atomic running;
static atomic_uint handlers; /* that are running, on any thread */
static atomic_bool piped;    /* SIGPIPE came */
atomic_bool symbolicate_stopped;

void symbolicate_running(struct symb *s)
{
	static struct progress progress;

	atomic_store(&running, s);
	if (s && atomic_load(&symbolicate_stopped))
		symb_stop(s);
	/* A handler on another thread may have the service that was there before, which the caller frees next. */
	while (atomic_load(&handlers))
		sched_yield();
	progress_stop(&progress);
	if (s)
		progress_start(&progress, symb_fetch(s));
}

static void on_signal(int number)
{
	int error = errno;
	struct symb *s;

	atomic_fetch_add(&handlers, 1);
	atomic_store(&symbolicate_stopped, true);
	if (number == SIGPIPE)
		atomic_store(&piped, true);
	s = atomic_load(&running);
	if (s)
		symb_stop(s);
	atomic_fetch_sub(&handlers, 1);
	errno = error;
}

/* Programs that are started with SIGHUP or SIGPIPE ignored keep that: nohup does it. */
static void catch_unless_ignored(int number, const struct sigaction *act)
{
	struct sigaction was;

	if (sigaction(number, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
		sigaction(number, act, NULL);
}

void symbolicate_catch(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	catch_unless_ignored(SIGHUP, &act);
	catch_unless_ignored(SIGPIPE, &act);
}

void symbolicate_end(void)
{
	if (!atomic_load(&piped))
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}
