/* Builds a minidump with one thread for the tests of walk/: modules, registers and a stack. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <stdint.h>
#include <string.h>

#define DUMP_BYTES 0x3000
#define DUMP_STACK 0x7fff1000ull /* the address of the stack, which has 0x1000 bytes */
enum { CPU_X86 = 0, CPU_AMD64 = 9, CPU_ARM64 = 12 };

struct dump_bytes {
	uint8_t p[DUMP_BYTES];
	unsigned modules;
};

static inline void put(struct dump_bytes *d, size_t at, uint64_t value, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		d->p[at + i] = (uint8_t)(value >> 8 * i);
}

static inline void put_stack(struct dump_bytes *d, uint64_t at, uint64_t value, unsigned n)
{
	put(d, 0x2000 + (size_t)(at - DUMP_STACK), value, n);
}

static inline void dump_begin(struct dump_bytes *d, unsigned cpu, unsigned platform)
{
	static const struct {
		uint32_t type, size, at;
	} streams[] = {{7, 56, 0x80}, {3, 52, 0x600}, {6, 168, 0x700}, {4, 4 + 8 * 108, 0x800}, {5, 4, 0x6f0}};

	memset(d, 0, sizeof(*d));
	memcpy(d->p, "MDMP", 4);
	put(d, 8, 5, 4);
	put(d, 12, 0x20, 4);
	for (unsigned i = 0; i < 5; i++) {
		put(d, 0x20 + 12 * i, streams[i].type, 4);
		put(d, 0x24 + 12 * i, streams[i].size, 4);
		put(d, 0x28 + 12 * i, streams[i].at, 4);
	}
	put(d, 0x80, cpu, 2);
	put(d, 0x94, platform, 4);
	put(d, 0x600, 1, 4);
	put(d, 0x604, 77, 4);
	put(d, 0x604 + 24, DUMP_STACK, 8);
	put(d, 0x604 + 32, 0x1000, 4);
	put(d, 0x604 + 36, 0x2000, 4);
	put(d, 0x604 + 40, 1232, 4);
	put(d, 0x604 + 44, 0x1000, 4);
	put(d, 0x700, 77, 4);
	put(d, 0x708, 11, 4);
	put(d, 0x70c, 1, 4);
	put(d, 0x718, 0x10, 8);
	put(d, 0x7a0, 1232, 4);
	put(d, 0x7a4, 0x1000, 4);
}

/* A module with a name of one letter, and a debug id. */
static inline void dump_module(struct dump_bytes *d, char name, uint64_t base, uint32_t size)
{
	size_t at = 0x804 + 108 * d->modules, text = 0x400 + 16 * d->modules, record = 0x500 + 32 * d->modules;

	put(d, 0x800, ++d->modules, 4);
	put(d, at, base, 8);
	put(d, at + 8, size, 4);
	put(d, at + 20, text, 4);
	put(d, text, 2, 4);
	put(d, text + 4, (uint8_t)name, 2);
	put(d, at + 76, 26, 4);
	put(d, at + 80, record, 4);
	memcpy(d->p + record, "RSDS", 4);
	put(d, record + 4, 0x1234567890abcdefull, 8);
	put(d, record + 24, (uint8_t)name, 2);
}
