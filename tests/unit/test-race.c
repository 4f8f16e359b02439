/* Tests the election between the sources that are asked for one file: a table of their states and
 * the decision. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "fetch/flight/flight.h"
#include "unit.h"

#include <string.h>

/* One letter for each source, in their order. */
static void see(struct election *el, char c)
{
	switch (c) {
	case 'i': /* idle: of a later tier, or given up */
		race_see(el, ATTEMPT_IDLE, false, 0);
		break;
	case 'a': /* asked, and worth waiting for */
		race_see(el, ATTEMPT_ASKING, true, 0);
		break;
	case 's': /* asked; it waits for its retry, or its host is known to be slow */
		race_see(el, ATTEMPT_ASKING, false, 0);
		break;
	case 'p': /* its first bytes look right */
		race_see(el, ATTEMPT_PROMISING, true, 0);
		break;
	case '1': /* its file lacks what is wanted; 2 is better than 1 */
	case '2':
		race_see(el, ATTEMPT_LESS, false, (unsigned)(c - '0'));
		break;
	case 'm':
		race_see(el, ATTEMPT_MISSING, false, 0);
		break;
	default:
		race_see(el, ATTEMPT_FAILED, false, 0);
	}
}

struct row {
	const char *runners;
	bool grace_over;
	enum race_says says;
	unsigned which; /* of RACE_ELECT, RACE_NEXT_TIER and RACE_SETTLE */
	bool settled;
	unsigned here;	/* the worth of a file that is here; 0: none */
};

static void check(const struct row *r)
{
	struct election el = {.grace_over = r->grace_over, .settled = r->settled, .have = r->here,
		.less_rank = r->here};
	unsigned which = 99;
	enum race_says says;

	for (const char *c = r->runners; *c; c++)
		see(&el, *c);
	says = race_judge(&el, &which);
	ck_assert_msg(says == r->says, "\"%s\": %d", r->runners, says);
	if (says == RACE_ELECT || says == RACE_NEXT_TIER || says == RACE_SETTLE)
		ck_assert_msg(which == r->which, "\"%s\": source %u", r->runners, which);
}

START_TEST(decisions)
{
	static const struct row rows[] = {
		{"", false, RACE_LOST},
		{"m", false, RACE_LOST},
		{"mf", false, RACE_LOST},
		{"a", false, RACE_WAIT},
		{"s", false, RACE_WAIT},
		{"a", true, RACE_WAIT},
		{"mas", false, RACE_WAIT},
		/* The first in order wins. */
		{"p", false, RACE_ELECT, 0},
		{"pp", false, RACE_ELECT, 0},
		{"pa", false, RACE_ELECT, 0},
		{"mfp", false, RACE_ELECT, 2},
		{"ippi", false, RACE_ELECT, 1},
		/* An earlier source that may still win holds a later one back, until the grace is over. */
		{"ap", false, RACE_HOLD},
		{"map", false, RACE_HOLD},
		{"app", false, RACE_HOLD},
		{"ap", true, RACE_ELECT, 1},
		{"aapp", true, RACE_ELECT, 2},
		/* A source that waits for its retry, or is slow, holds no other back. */
		{"sp", false, RACE_ELECT, 1},
		{"sap", false, RACE_HOLD},
		/* The next tier is asked when every source so far has lost. */
		{"ai", false, RACE_WAIT},
		{"si", false, RACE_WAIT},
		{"mi", false, RACE_NEXT_TIER, 1},
		{"mfii", false, RACE_NEXT_TIER, 2},
		{"i", true, RACE_NEXT_TIER, 0},
		{"mpi", false, RACE_ELECT, 1},
		{"api", false, RACE_HOLD},
		/* A file that lacks what is wanted waits until no source is left that may have a better one. */
		{"1", false, RACE_SETTLE, 0},
		{"1a", false, RACE_WAIT},
		{"1p", false, RACE_ELECT, 1},
		{"a1", false, RACE_WAIT},
		{"1mi", false, RACE_NEXT_TIER, 2},
		{"12", false, RACE_SETTLE, 1},
		{"m21", false, RACE_SETTLE, 1},
		{"11", false, RACE_SETTLE, 0},
		/* When the time is over, the best so far comes before sources that were not asked. */
		{"1i", false, RACE_SETTLE, 0, .settled = true},
		{"i2", false, RACE_SETTLE, 1, .settled = true},
		{"mi", false, RACE_NEXT_TIER, 1, .settled = true},
		{"1a", false, RACE_WAIT, .settled = true},
		/* A file that is here is as good as one of a source, and needs no download. */
		{"", false, RACE_KEEP, .here = 1},
		{"m1", false, RACE_KEEP, .here = 1},
		{"m2", false, RACE_SETTLE, 1, .here = 1},
		{"1i", false, RACE_NEXT_TIER, 1, .here = 1},
		{"1i", false, RACE_KEEP, .settled = true, .here = 2},
		{"1p", false, RACE_ELECT, 1, .here = 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(&rows[i]);
}
END_TEST

/* The rule itself, over all races of up to five sources. */
START_TEST(every_race)
{
	static const char states[] = "iaspmf";
	char r[6];

	for (unsigned n = 0; n <= 5; n++) {
		unsigned all = 1;

		for (unsigned i = 0; i < n; i++)
			all *= 6;
		for (unsigned code = 0; code < 2 * all; code++) {
			unsigned rest = code / 2, first;
			struct row row = {r, code & 1, RACE_LOST, 0};

			for (unsigned i = 0; i < n; i++, rest /= 6)
				r[i] = states[rest % 6];
			r[n] = 0;
			first = (unsigned)strcspn(r, "p");
			if (first < n && (row.grace_over || strcspn(r, "a") > first)) {
				row.says = RACE_ELECT;
				row.which = first;
			} else if (first < n) {
				row.says = RACE_HOLD;
			} else if (strpbrk(r, "as")) {
				row.says = RACE_WAIT;
			} else if (strchr(r, 'i')) {
				row.says = RACE_NEXT_TIER;
				row.which = (unsigned)strcspn(r, "i");
			}
			check(&row);
		}
	}
}
END_TEST

UNIT_MAIN("race", decisions, every_race)
