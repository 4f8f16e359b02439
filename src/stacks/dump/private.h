/* Shared by the readers of stacks/dump/: the memory of a program, ELF images in it, and mappings that become
 * modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/bytes.h"
#include "base/hash.h"
#include "base/path.h"
#include "stacks/dump/dump.h"

#include <stdio.h>
#include <string.h>

/* The memory of a program. read() returns 0 when the n bytes at an address are in `p`; negative: they
 * are missing. */
struct memory {
	int (*read)(const struct memory *m, uint64_t at, void *p, size_t n);
	/* Whether anything from `from` to `to` can be executed. NULL: unknown. */
	bool (*runs)(const struct memory *m, uint64_t from, uint64_t to);
};

/* The value of an entry of an auxiliary vector; 0: the vector has no such entry. */
#define AUX_BASE 7  /* where the dynamic linker is */
#define AUX_ENTRY 9 /* the entry point of the program */
uint64_t aux_value(const uint8_t *p, size_t n, bool is64, bool big, uint64_t type);

/* Whether a file with these first bytes is ELF, of either word size and byte order. */
static inline bool dump_is_elf(const uint8_t h[static 6])
{
	return memcmp(h, "\177ELF", 4) == 0 && (h[4] == 1 || h[4] == 2) && (h[5] == 1 || h[5] == 2);
}

/* Names a module after its path. */
static inline void dump_name_module(struct dump_module *d)
{
	const char *base = path_base(d->path);

	snprintf(d->m.code_file, sizeof(d->m.code_file), "%.255s", base);
	snprintf(d->m.debug_file, sizeof(d->m.debug_file), "%.255s", base);
}

static inline void dump_take_build_id(struct module *m, const uint8_t *id, size_t n, bool big)
{
	m->object = OBJECT_ELF;
	hex_print(id, n, m->code_id);
	debug_id_from_build_id(&m->debug_id, id, n, big);
}

/* Joins mappings to modules: a mapping continues the module before it when it maps the same file, or begins
 * a new module. joining_flush() reports the last module. */
struct joining {
	const struct memory *mem;
	dump_each *each;
	void *ctx;
	uint64_t entry; /* an address within the program; 0: unknown */
	uint64_t loader; /* where the dynamic linker begins; 0: unknown */
	bool open;
	unsigned n; /* modules reported */
	struct dump_module now;
};
/* Whether the kernel marked a path as that of a file that was deleted. */
static inline bool dump_is_deleted(const char *path)
{
	size_t n = strlen(path), mark = strlen(DUMP_DELETED);

	return n > mark && strcmp(path + n - mark, DUMP_DELETED) == 0;
}

int joining_add(struct joining *j, uint64_t from, uint64_t to, uint64_t offset, const char *path);
int joining_flush(struct joining *j);

int minidump_read(struct view *v, dump_each *each, void *ctx, struct err *e);
