/* Tests the locks of flights between two processes: each sees what the other reports, and a killed
 * process leaves no lock. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "scratch.h"
#include "store/flights.h"

#include <signal.h>

/* Another process that does what it is told, a letter at a time, and answers with one. */
struct other {
	pid_t pid;
	int to, from;
};

static char other_does(struct store *s, char order, uint64_t number)
{
	switch (order) {
	case 'l':
		return flights_lead(s, number) == 0 ? 'y' : 'n';
	case 'f':
		flights_say_found(s, number);
		return 'y';
	case 'F':
		return flights_found(s, number) ? 'y' : 'n';
	case 'w':
	case 'x':
		flights_want(s, number, order == 'w');
		return 'y';
	case 'W':
		return flights_wanted(s, number) ? 'y' : 'n';
	case 'd':
		flights_drop(s, number);
		return 'y';
	}
	return '?';
}

#define NUMBER 0x7123456789abcdefull

static void other_start(struct other *o)
{
	int there[2], back[2];

	ck_assert_int_eq(pipe(there), 0);
	ck_assert_int_eq(pipe(back), 0);
	o->pid = fork();
	if (o->pid == 0) {
		struct store *s = open_scratch();
		char c;

		close(there[1]);
		while (read(there[0], &c, 1) == 1 && c != 'q') {
			c = other_does(s, c, NUMBER);
			if (write(back[1], &c, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	o->to = there[1];
	o->from = back[0];
}

static bool tell(struct other *o, char order)
{
	char c;

	ck_assert_int_eq(write(o->to, &order, 1), 1);
	ck_assert_int_eq(read(o->from, &c, 1), 1);
	ck_assert_int_ne(c, '?');
	return c == 'y';
}

static void other_end(struct other *o, bool kill_it)
{
	/* Its brothers hold the other ends of its pipes, so closing ours says nothing. */
	if (kill_it)
		kill(o->pid, SIGKILL);
	else
		ck_assert_int_eq(write(o->to, "q", 1), 1);
	close(o->to);
	child_status(o->pid);
	close(o->from);
}

START_TEST(one_leads)
{
	struct other a, b;

	scratch_dir();
	other_start(&a);
	other_start(&b);
	ck_assert(tell(&a, 'l'));
	ck_assert(!tell(&b, 'l'));
	ck_assert(!tell(&b, 'F'));
	tell(&a, 'f');
	ck_assert(tell(&b, 'F'));
	ck_assert(!tell(&a, 'F')); /* what oneself says is not news */
	tell(&a, 'd');
	ck_assert(!tell(&b, 'F'));
	ck_assert(tell(&b, 'l'));
	other_end(&a, false);
	other_end(&b, false);
	scratch_end();
}
END_TEST

START_TEST(killed_leader_is_free)
{
	struct other a, b;

	scratch_dir();
	other_start(&a);
	other_start(&b);
	ck_assert(tell(&a, 'l'));
	tell(&a, 'f');
	ck_assert(!tell(&b, 'l'));
	other_end(&a, true);
	ck_assert(!tell(&b, 'F'));
	ck_assert(tell(&b, 'l'));
	other_end(&b, false);
	scratch_end();
}
END_TEST

START_TEST(several_want)
{
	struct other a, b, c;

	scratch_dir();
	other_start(&a);
	other_start(&b);
	other_start(&c);
	ck_assert(tell(&a, 'l'));
	ck_assert(!tell(&a, 'W'));
	tell(&b, 'w');
	tell(&b, 'w'); /* two followers in one process */
	tell(&c, 'w');
	ck_assert(tell(&a, 'W'));
	ck_assert(tell(&b, 'W')); /* c's, not its own */
	tell(&b, 'x');
	other_end(&c, true);
	ck_assert(tell(&a, 'W'));
	ck_assert(!tell(&b, 'W'));
	tell(&b, 'x');
	ck_assert(!tell(&a, 'W'));
	tell(&b, 'x'); /* one too many does nothing */
	ck_assert(!tell(&a, 'W'));
	other_end(&a, false);
	other_end(&b, false);
	scratch_end();
}
END_TEST

START_TEST(two_handles_in_one_process)
{
	struct store *a, *b;

	scratch_dir();
	a = open_scratch();
	b = open_scratch();
	ck_assert_int_eq(flights_lead(a, 2), 0);
	ck_assert_int_eq(flights_lead(b, 2), -EAGAIN);
	ck_assert_int_eq(flights_lead(b, 3), 0);
	ck_assert_int_eq(flights_lead(b, INT64_MAX), 0);
	flights_want(b, 2, true);
	ck_assert(flights_wanted(a, 2));
	ck_assert(!flights_wanted(a, 3));
	flights_beat(a, 2, true);
	ck_assert(flights_beats(b, 2) && !flights_beats(a, 2) && !flights_beats(b, 3));
	flights_beat(a, 2, false);
	ck_assert(!flights_beats(b, 2));
	flights_beat(a, 2, true);
	flights_drop(a, 2);
	ck_assert(!flights_beats(b, 2));
	ck_assert_int_eq(flights_lead(b, 2), 0);
	store_close(b);
	ck_assert(!flights_wanted(a, 2));
	ck_assert_int_eq(flights_lead(a, 3), 0);
	store_close(a);
	scratch_end();
}
END_TEST

UNIT_MAIN("flights", one_leads, killed_leader_is_free, several_want, two_handles_in_one_process)
