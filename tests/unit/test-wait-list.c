/* The answer to an upload waits for the team's bucket: without memory, too, it does not come early. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scratch.h"
#include "bucket/bucket.h"
#include "intake/upload/wait-list.h"

static bool no_memory;
static unsigned asked;
static int answer, added;

char *strdup(const char *text)
{
	size_t n = strlen(text) + 1;
	char *p = no_memory ? NULL : malloc(n);

	return p ? memcpy(p, text, n) : NULL;
}

int bucket_wait(struct bucket *b, const struct key *k, unsigned ms)
{
	asked++;
	return answer;
}

int store_outbox_add(struct store *s, const struct key *k)
{
	return added;
}

START_TEST(test_waits)
{
	struct wait_list l = {.n = 0};
	atomic_bool stop = false;
	struct key k;
	struct intake_report r = {.what = INTAKE_ADDED, .keys = &k, .n_keys = 1};

	ck_assert_int_eq(wait_list_run(&l, NULL, 1000, &stop), 0);
	for (unsigned i = 1; i <= 100; i++) {
		k = key_nth(i);
		wait_list_add_all(&l, NULL, &r);
	}
	ck_assert_int_eq(wait_list_run(&l, NULL, 1000, &stop), 0);
	ck_assert_uint_eq(asked, 100);
	/* A bucket that does not answer is asked for one key. */
	answer = -EHOSTUNREACH;
	asked = 0;
	ck_assert_int_eq(wait_list_run(&l, NULL, 1000, &stop), -EHOSTUNREACH);
	ck_assert_uint_eq(asked, 1);
	answer = -ETIMEDOUT;
	ck_assert_int_eq(wait_list_run(&l, NULL, 10, &stop), -ETIMEDOUT);
	atomic_store(&stop, true);
	ck_assert_int_eq(wait_list_run(&l, NULL, 100000, &stop), -EINTR);
	wait_list_release(&l);
}
END_TEST

START_TEST(test_no_memory)
{
	struct wait_list l = {.n = 0};
	atomic_bool stop = false;
	struct key k = key_nth(1);
	struct intake_report r = {.what = INTAKE_ADDED, .keys = &k, .n_keys = 1};

	wait_list_add_all(&l, NULL, &r);
	no_memory = true;
	wait_list_add_all(&l, NULL, &r);
	no_memory = false;
	wait_list_add_all(&l, NULL, &r);
	ck_assert_int_eq(wait_list_run(&l, NULL, 1000, &stop), -ENOMEM);
	wait_list_release(&l);
	ck_assert_int_eq(wait_list_run(&l, NULL, 1000, &stop), 0);
}
END_TEST

/* A stored file that could not be queued again: the answer has the error of the index. */
START_TEST(test_not_queued)
{
	struct key k = key_nth(1);
	struct intake_report r = {.what = INTAKE_PRESENT, .keys = &k, .n_keys = 1};
	struct wait_list l = {.n = 0};
	atomic_bool stop = false;

	answer = 0;
	added = -ENOTSUP; /* the queue is about to be made anew, with all files */
	wait_list_add_all(&l, NULL, &r);
	ck_assert_int_eq(wait_list_run(&l, NULL, 1000, &stop), 0);
	added = -ENOSPC;
	wait_list_add_all(&l, NULL, &r);
	added = -EIO;
	wait_list_add_all(&l, NULL, &r);
	ck_assert_int_eq(wait_list_run(&l, NULL, 1000, &stop), -ENOSPC);
	wait_list_release(&l);
}
END_TEST

UNIT_MAIN("wait-list", test_waits, test_no_memory, test_not_queued)
