/* A fuzz target: FUZZ_TARGET("NAME", p, n) is the head of its function, which gets n bytes at p. libFuzzer calls it
 * with mutated bytes, in a program of its own. Without a fuzzer all targets are in one program, whose main function
 * calls the target of the program's name with the bytes of files (replay.c). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline void fuzz_must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

#ifdef FUZZERS
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
#define FUZZ_TARGET(target_name, p, n) int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
#else
struct fuzz_target {
	const char *name; /* of tests/fuzz/fuzz-NAME.c */
	int (*run)(const uint8_t *p, size_t n);
	struct fuzz_target *next;
};

void fuzz_add(struct fuzz_target *t); /* keeps it */

#define FUZZ_TARGET(target_name, p, n)                                                             \
	static int run_target(const uint8_t *, size_t);                                            \
	static __attribute__((constructor)) void add_target(void)                                  \
	{                                                                                          \
		static struct fuzz_target target = {.name = target_name, .run = run_target};       \
                                                                                                   \
		fuzz_add(&target);                                                                 \
	}                                                                                          \
	static int run_target(const uint8_t *p, size_t n)
#endif
