/* Converts a file of any format that has functions: into a writer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "image/image.h"
#include "gsym/writer.h"

#include <stdbool.h>

/* Another file that debug information is in. */
enum gsym_want_kind { GSYM_ALT, GSYM_DWP, GSYM_DWO };
struct gsym_want {
	enum gsym_want_kind kind;
	const char *name; /* what the file says; of a package "" */
	const char *dir;  /* where it was compiled; "" */
	struct span id;	  /* GSYM_ALT: the build id */
	uint64_t dwo_id;
};

struct gsym_make_opts {
	bool strict; /* of Breakpad files: a bad line costs everything */
	/* For the look-ups of symb/ alone: Breakpad's files with more in their names (eliot.h), and Portable
	 * PDBs (from-ppdb.h). */
	bool eliot;
	bool shorten; /* names of C++ (shorten.h) */
	bool plain_names; /* of PDBs: without the types of parameters */
	unsigned threads; /* for DWARF; 0: as many as there are processors, up to 8 */
	/* Finds one: 0, and the bytes stay until gsym_make() has ended; -ENOENT; -EAGAIN: all is to
	 * end, and so it does. NULL: nothing is found. One thread at a time calls it. */
	int (*find)(void *ctx, const struct gsym_want *want, struct span *out);
	/* Called with the progress, 0 to 1000; may be NULL. */
	void (*progress)(void *ctx, unsigned part);
	void *ctx;
};

struct gsym_made {
	const char *from; /* "gsym", "breakpad", "elf", "macho", "pe", "pdb", "portablepdb": static */
	bool big;	  /* the input's byte order is big-endian */
	bool is32;
	unsigned type;	  /* of an ELF file; 0 of others */
	enum image_kind kind; /* ELF of what is no object file */
	unsigned machine, submachine; /* as the format counts them */
	uint64_t left_out, first_left_out; /* lines of a Breakpad file */
	size_t broken; /* units of DWARF of which something is */
	size_t split;  /* whose functions are in other files, which were not found */
	bool no_alt;   /* nor was the file that dwz moved what several share into */
};

/* 0; -EAGAIN: `find` said so; -ENOMSG: nothing that GSYM is made from; -EBADMSG: it is broken; others. `e` says so. */
int gsym_make(struct gsym_writer *w, struct span file, const struct gsym_make_opts *o,
	struct gsym_made *out, struct err *e);
