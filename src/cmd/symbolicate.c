/* The signal that ends symfs symbolicate: it stops the service that runs. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/symbolicate.h"

#include <signal.h>

/* The work that a signal stops; NULL: none. */
static struct symb *volatile running;
atomic_bool symbolicate_stopped;

void symbolicate_running(struct symb *s)
{
	running = s;
	if (s && atomic_load(&symbolicate_stopped))
		symb_stop(s);
}

static void on_interrupt(int signal)
{
	atomic_store(&symbolicate_stopped, true);
	if (running)
		symb_stop(running);
}

void symbolicate_catch(void)
{
	struct sigaction act = {.sa_handler = on_interrupt};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}
