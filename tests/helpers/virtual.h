/* Artifacts without files on disk: Breakpad files by number. The number determines the size and
 * all bytes, so a server can send any part of a file and a reader can check it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIRTUAL_HEAD 80 /* its first line fits */
#define VIRTUAL_LINE 64

static inline uint64_t virtual_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Between a quarter of the mean and seven quarters. */
static inline uint64_t virtual_size(unsigned n, uint64_t mean)
{
	return mean / 4 + virtual_mix(n) % (mean + mean / 2) + VIRTUAL_HEAD;
}

static inline size_t virtual_head(unsigned n, char out[static VIRTUAL_HEAD])
{
	return (size_t)snprintf(out, VIRTUAL_HEAD, "MODULE Linux x86_64 %016llX%016llX0 v%u.so\n",
		(unsigned long long)virtual_mix(n), (unsigned long long)virtual_mix(~(uint64_t)n), n);
}

/* "v7.so/ID/v7.so.sym" */
static inline void virtual_path(unsigned n, char out[static 128])
{
	snprintf(out, 128, "v%u.so/%016llX%016llX0/v%u.so.sym", n,
		(unsigned long long)virtual_mix(n), (unsigned long long)virtual_mix(~(uint64_t)n), n);
}

/* The number that a path is of. -1: of none. */
static inline long virtual_number(const char *path)
{
	unsigned n = path[0] == 'v' ? (unsigned)strtoul(path + 1, NULL, 10) : 0;
	char want[128];

	virtual_path(n, want);
	return strcmp(path, want) == 0 ? (long)n : -1;
}

/* Behind the head, lines of digits: each of its own number. */
static inline void virtual_bytes(unsigned n, uint64_t off, char *p, size_t len)
{
	char head[VIRTUAL_HEAD];
	size_t head_n = virtual_head(n, head);

	for (; len && off < head_n; off++, len--)
		*p++ = head[off];
	while (len) {
		uint64_t at = off - head_n, line = at / VIRTUAL_LINE;
		uint64_t digits = virtual_mix(virtual_mix(n) + line);

		for (; len && at / VIRTUAL_LINE == line; at++, off++, len--) {
			unsigned column = at % VIRTUAL_LINE;

			*p++ = column == VIRTUAL_LINE - 1
				? '\n'
				: "0123456789abcdef"[digits >> column % 16 * 4 & 15];
		}
	}
}
