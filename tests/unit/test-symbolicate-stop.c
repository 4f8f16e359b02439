/* Tests cmd/symbolicate: a signal stops the service that runs, and never one that is freed, on whichever thread the
 * signal arrives. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/stacks/symbolicate.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* In place of that of symb/symb.c. The pause is the time in which another thread may free the service. */
static atomic_uint stops, by_others; /* by_others: on the threads that send signals */
static pthread_t own;
static _Thread_local int place; /* in the service, so that no two threads write to the same byte */

struct fetch *symb_fetch(const struct symb *s)
{
	return NULL; /* used on a terminal only */
}

void symb_stop(struct symb *s)
{
	volatile char *p = (volatile char *)s + place;

	for (int i = 0; i < 100; i++)
		*p = 1; /* AddressSanitizer reports a write to freed memory */
	atomic_fetch_add(&stops, 1);
	if (!pthread_equal(pthread_self(), own))
		atomic_fetch_add(&by_others, 1);
}

static atomic_bool over;

static void *send(void *arg)
{
	place = *(const int *)arg;
	while (!atomic_load(&over)) {
		pthread_kill(pthread_self(), SIGTERM);
		sched_yield();
	}
	return NULL;
}

START_TEST(never_a_freed_one)
{
	const int places[3] = {1, 2, 3};
	pthread_t thread[3];

	own = pthread_self();
	symbolicate_catch();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, send, (void *)&places[i]), 0);
	for (int i = 0; i < 20000 || atomic_load(&by_others) < 100; i++) {
		struct symb *s = malloc(16);

		ck_assert_ptr_nonnull(s);
		symbolicate_running(s);
		if (i % 16 == 0)
			sched_yield(); /* for the other threads, on a busy machine */
		symbolicate_running(NULL);
		free(s);
	}
	atomic_store(&over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}
END_TEST

/* A signal that came before the service counts. */
START_TEST(an_early_signal)
{
	struct symb *s = malloc(16);

	signal(SIGHUP, SIG_DFL); /* nohup ignores it */
	symbolicate_catch();
	ck_assert(!atomic_load(&symbolicate_stopped));
	raise(SIGHUP);
	ck_assert(atomic_load(&symbolicate_stopped));
	ck_assert_uint_eq(atomic_load(&stops), 0);
	symbolicate_running(s);
	ck_assert_uint_eq(atomic_load(&stops), 1);
	symbolicate_running(NULL);
	free(s);
}
END_TEST

/* A command that was started with SIGHUP or SIGPIPE ignored goes on. */
START_TEST(ignored_signals)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	symbolicate_catch();
	raise(SIGHUP);
	raise(SIGPIPE);
	ck_assert(!atomic_load(&symbolicate_stopped));
}
END_TEST

UNIT_MAIN("symbolicate-stop", never_a_freed_one, an_early_signal, ignored_signals)
