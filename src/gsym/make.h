/* Tells a writer all that a file has to say, whatever kind of file it is. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "gsym/writer.h"

#include <stdbool.h>

struct gsym_make_opts {
	bool strict; /* of Breakpad files: a bad line costs everything */
	unsigned threads; /* for DWARF; 0: as many as there are processors, up to 8 */
	/* How far it is, of 1000; may be NULL. */
	void (*progress)(void *ctx, unsigned part);
	void *ctx;
};

struct gsym_made {
	const char *from; /* "gsym", "breakpad", "elf": static */
	bool big;	  /* the input's byte order is big-endian */
	uint64_t left_out, first_left_out; /* lines of a Breakpad file */
	size_t broken; /* units of DWARF of which something is */
	size_t split;  /* whose functions are in other files, which were not read */
};

/* 0; -ENOMSG: nothing that GSYM is made from; -EBADMSG: it is broken; others. `e` says so. */
int gsym_make(struct gsym_writer *w, struct span file, const struct gsym_make_opts *o,
	struct gsym_made *out, struct err *e);
