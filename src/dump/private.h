/* What the files of this folder share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "dump/dump.h"

/* The memory of a program. 0: n bytes at an address are in `p`; else they are not to be had. */
struct memory {
	int (*read)(const struct memory *m, uint64_t at, void *p, size_t n);
};

/* The ELF file that is mapped from `base` on: its build id, as far as it is in memory. 0: `m` has
 * it. -ENOMSG: no ELF file. -ENODATA: it has no build id, or not in memory. */
int image_identify(const struct memory *mem, uint64_t base, struct module *m);

/* The value of an entry of an auxiliary vector; 0: there is none. */
#define AUX_ENTRY 9 /* where the program begins */
uint64_t aux_value(const uint8_t *p, size_t n, bool is64, bool big, uint64_t type);

uint64_t dump_number(const uint8_t *p, unsigned n, bool big);

/* A mapping of a file joins the module before when it goes on with the same file, or begins one.
 * `flush` tells the last. */
struct joining {
	const struct memory *mem;
	dump_each *each;
	void *ctx;
	uint64_t entry; /* an address within the program; 0: unknown */
	bool open;
	unsigned told;
	struct dump_module now;
};
int joining_add(struct joining *j, uint64_t from, uint64_t to, uint64_t offset, const char *path);
int joining_flush(struct joining *j);

int core_read(struct view *v, dump_each *each, void *ctx, struct err *e);
int minidump_read(struct view *v, dump_each *each, void *ctx, struct err *e);
