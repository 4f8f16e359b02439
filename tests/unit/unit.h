/* Makes one TAP test of libcheck tests: UNIT_MAIN("folder", test_a, test_b) in tests/unit/test-folder.c runs
 * START_TESTs in order. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"
#include "unit/row.h"

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libcheck reports the place of each assertion that holds to its parent process, which took most of the time
 * of tests with a million of them. One that fails reports its place by itself. */
#define _mark_point(file, line) ((void)0)

/* The seed of random tests: the same in every run, unless SYMFS_TEST_SEED is set. */
static inline uint32_t unit_seed(uint32_t usual)
{
	const char *text = getenv("SYMFS_TEST_SEED");

	return text ? usual + (uint32_t)strtoul(text, NULL, 10) * 2654435761u : usual;
}

static inline struct span span_text(const char *s)
{
	return (struct span){(const uint8_t *)s, strlen(s)};
}

/* Reports that a part of a test has no data here: scripts/summary lists what a run could not prove. */
static inline void unit_part_skipped(const char *reason)
{
	dprintf(STDOUT_FILENO, "# part skipped: %s\n", reason);
}

/* Cases named timed_... measure a time: tests/timed/unit.sh runs them, alone and with SYMFS_TEST_TIMED set. Without
 * that variable all other cases run. */
static inline bool unit_is_chosen(const char *name)
{
	return (strncmp(name, "timed_", 6) == 0) == (getenv("SYMFS_TEST_TIMED") != NULL);
}

static inline int unit_run(const char *name, const TTest *const *tests)
{
	Suite *s = suite_create(name);
	TCase *c = tcase_create(name);
	SRunner *r;
	int failed;

	tcase_set_timeout(c, 600); /* only against hanging */
	for (; *tests; tests++)
		if (unit_is_chosen((*tests)->name))
			tcase_add_test(c, *tests);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	setvbuf(stdout, NULL, _IOLBF, 0); /* a test is a process: its lines must not cut those of TAP */
	srunner_set_tap(r, "-");
	srunner_run_all(r, CK_SILENT);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define UNIT_MAIN(name, ...)                                                                       \
	static int run_tests(int argc, char **argv)                                                \
	{                                                                                          \
		const TTest *const tests[] = {__VA_ARGS__, NULL};                                  \
		return unit_run(name, tests);                                                      \
	}                                                                                          \
	UNIT_ROW(name, run_tests)
