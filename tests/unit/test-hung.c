/* Tests the limit of threads in directory sources: a source that answers keeps no thread out, one
 * that hangs does. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "unit.h"

#include <pthread.h>
#include <string.h>

#define ROUNDS 300000

static struct source the_source = {.o.path = (char *)"/srv/symbols"};
static struct fetch f = {.lock = PTHREAD_MUTEX_INITIALIZER, .opts.lookup_deadline_ms = 10000};

static void *enter_often(void *ctx)
{
	char *why = ctx;

	for (unsigned i = 0; i < ROUNDS && !why[0]; i++)
		dir_leave(&f, dir_enter(&f, &the_source, why));
	return NULL;
}

START_TEST(short_stays_keep_no_thread_out)
{
	char why[3][200] = {"", "", ""};
	pthread_t threads[3];

	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, enter_often, why[i]), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], NULL);
		ck_assert_str_eq(why[i], "");
	}
}
END_TEST

START_TEST(a_hung_thread_keeps_others_out)
{
	char why[200] = "";
	int slot = dir_enter(&f, &the_source, why);

	ck_assert_int_ge(slot, 0);
	f.dir_threads[slot].since -= DIR_HUNG_MS + 1500;
	ck_assert_int_eq(dir_enter(&f, &the_source, why), -EAGAIN);
	ck_assert_str_eq(why, "has not answered for 2 s");
	f.dir_threads[slot].since -= f.opts.lookup_deadline_ms;
	ck_assert_int_eq(dir_enter(&f, &the_source, why), -ETIMEDOUT);
	dir_leave(&f, slot);
	slot = dir_enter(&f, &the_source, why);
	ck_assert_int_ge(slot, 0);
	dir_leave(&f, slot);
}
END_TEST

START_TEST(a_full_directory_keeps_further_threads_out)
{
	int slots[DIR_THREADS_EACH];
	char why[200] = "";

	for (int i = 0; i < DIR_THREADS_EACH; i++) {
		slots[i] = dir_enter(&f, &the_source, why);
		ck_assert_int_ge(slots[i], 0);
	}
	ck_assert_int_eq(dir_enter(&f, &the_source, why), -EAGAIN);
	ck_assert_str_eq(why, "8 threads are waiting in it");
	for (int i = 0; i < DIR_THREADS_EACH; i++)
		dir_leave(&f, slots[i]);
}
END_TEST

UNIT_MAIN("hung", short_stays_keep_no_thread_out, a_hung_thread_keeps_others_out,
	a_full_directory_keeps_further_threads_out)
