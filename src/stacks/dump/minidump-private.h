/* Shared by the readers of minidumps: the streams of the file, and what several of them contain. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "stacks/dump/private.h"

#include <errno.h>

enum { PLATFORM_WINDOWS = 2, PLATFORM_UNIX = 0x8000, PLATFORM_MAC = 0x8101, PLATFORM_IOS = 0x8102,
	PLATFORM_LINUX = 0x8201, PLATFORM_ANDROID = 0x8203 };
#define MINIDUMP_MODULE_SIZE 108
#define MINIDUMP_UNLOADED_SIZE 24 /* bytes of an unloaded module */

enum {
	STREAM_THREADS, STREAM_MODULES, STREAM_MEMORY, STREAM_EXCEPTION, STREAM_SYSTEM, STREAM_MEMORY64,
	STREAM_UNLOADED, STREAM_NAMES, STREAM_BREAKPAD, MINIDUMP_STREAMS
};

struct minidump_file {
	struct view *v;
	struct err *e;
	struct minidump_stream {
		uint64_t at, size; /* at 0: the dump has no such stream */
	} stream[MINIDUMP_STREAMS];
	unsigned platform, processor;
	uint64_t end; /* of all streams and memory that the dump lists */
};

/* Each returns 0 or -errno, and sets d->e: -EBADMSG for a dump that is broken or cut short. */
static inline int minidump_broken(struct minidump_file *d, const char *what)
{
	return err_set(d->e, -EBADMSG, "the minidump is broken or cut short: %s", what);
}

static inline int minidump_bytes(struct minidump_file *d, const char *what, uint64_t off, void *p, size_t n)
{
	int r = view_read(d->v, off, p, n);

	return r == 0 ? 0 : r == -ENODATA ? minidump_broken(d, what) : err_set(d->e, r, "%s: %s", what, err_text(r));
}

int minidump_begin(struct minidump_file *d); /* reads the directory and the platform */
int minidump_name(struct minidump_file *d, uint32_t at, char *out, size_t room); /* a text in UTF-16, as UTF-8 */
/* Where the records of a list begin: some writers pad to eight bytes before the first. */
static inline uint64_t minidump_first(const struct minidump_stream *s, uint32_t count, unsigned each)
{
	return s->at + (s->size == 8 + (uint64_t)count * each ? 8 : 4);
}
/* Where the records of the modules begin, and their number. -ENODATA: the dump has no list of modules. */
int minidump_modules(struct minidump_file *d, uint64_t *at, uint32_t *count);
/* The record at an offset. After an error, `out` has the fields that could be read. */
int minidump_module(struct minidump_file *d, uint64_t at, struct dump_module *out);
int minidump_unloaded(struct minidump_file *d, uint64_t at, struct dump_module *out);
