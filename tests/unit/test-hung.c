/* Tests the limit of threads in directory sources: a source that answers keeps no thread out, one
 * that hangs does. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 300000

static struct source the_source = {.o.path = (char *)"/srv/symbols"};
static struct fetch f = {.lock = PTHREAD_MUTEX_INITIALIZER, .opts.lookup_deadline_ms = 3600000};

struct visitor {
	pthread_t thread;
	char why[200];
	uint64_t longest; /* stay in the directory, ms */
};

static void *enter_often(void *ctx)
{
	struct visitor *v = ctx;

	for (unsigned i = 0; i < ROUNDS && !v->why[0]; i++) {
		uint64_t began = clock_ms();

		dir_leave(&f, dir_enter(&f, &the_source, v->why));
		v->longest = MAX(v->longest, clock_ms() - began);
	}
	return NULL;
}

/* On a busy machine a thread may get no processor while it is in the directory: then its stay is long. */
static bool all_stays_are_short(struct visitor v[static 3])
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < 3; i++) {
		v[i] = (struct visitor){0};
		ck_assert_int_eq(pthread_create(&v[i].thread, NULL, enter_often, &v[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(v[i].thread, NULL);
		longest = MAX(longest, v[i].longest);
	}
	return longest < DIR_HUNG_MS;
}

START_TEST(short_stays_keep_no_thread_out)
{
	struct visitor v[3];

	while (!all_stays_are_short(v))
		;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_str_eq(v[i].why, "");
}
END_TEST

START_TEST(a_hung_thread_keeps_others_out)
{
	char why[200] = "";
	int slot = dir_enter(&f, &the_source, why);
	unsigned seconds;

	ck_assert_int_ge(slot, 0);
	f.dir_threads[slot].since -= DIR_HUNG_MS + 1500;
	ck_assert_int_eq(dir_enter(&f, &the_source, why), -EAGAIN);
	ck_assert_msg(sscanf(why, "has not answered for %u s", &seconds) == 1 && seconds >= 2, "%s", why);
	f.dir_threads[slot].since -= f.opts.lookup_deadline_ms;
	ck_assert_int_eq(dir_enter(&f, &the_source, why), -ETIMEDOUT);
	dir_leave(&f, slot);
	slot = dir_enter(&f, &the_source, why);
	ck_assert_int_ge(slot, 0);
	dir_leave(&f, slot);
}
END_TEST

/* Enters once more than there is room. False: on a busy machine, that took so long that the first stay counts as
 * hung. */
static bool fills_in_time(int slots[static DIR_THREADS_EACH + 1], char why[static 200])
{
	uint64_t began = clock_ms();

	for (int i = 0; i <= DIR_THREADS_EACH; i++)
		slots[i] = dir_enter(&f, &the_source, why);
	for (int i = 0; i <= DIR_THREADS_EACH; i++)
		dir_leave(&f, slots[i]);
	return clock_ms() - began <= DIR_HUNG_MS;
}

START_TEST(a_full_directory_keeps_further_threads_out)
{
	int slots[DIR_THREADS_EACH + 1];
	char why[200] = "";

	while (!fills_in_time(slots, why))
		;
	for (int i = 0; i < DIR_THREADS_EACH; i++)
		ck_assert_int_ge(slots[i], 0);
	ck_assert_int_eq(slots[DIR_THREADS_EACH], -EAGAIN);
	ck_assert_str_eq(why, "8 threads are waiting in it");
}
END_TEST

UNIT_MAIN("hung", short_stays_keep_no_thread_out, a_hung_thread_keeps_others_out,
	a_full_directory_keeps_further_threads_out)
