/* Converts a file of any supported format: passes its functions to a GSYM writer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/span.h"
#include "base/util.h"
#include "formats/image/image.h"
#include "formats/gsym/writer.h"

#include <stdbool.h>
#include <unistd.h>

/* Another file that holds debug information of the input. GSYM_ALT: the file to which dwz moved entries; the debug
 * file of a WebAssembly module. */
enum gsym_want_kind { GSYM_ALT, GSYM_DWP, GSYM_DWO };
struct gsym_want {
	enum gsym_want_kind kind;
	const char *name; /* the name that the input gives; "" for a package */
	const char *dir;  /* the directory of the compilation; "" if unknown */
	struct span id;	  /* GSYM_ALT: the build id; n 0: not known */
	uint64_t dwo_id;
};

struct gsym_make_opts {
	bool strict; /* Breakpad files: a bad line makes the conversion fail */
	/* The output is only for the look-ups of src/symb/: Breakpad files get marks (eliot.h), and
	 * Portable PDBs are read (from-ppdb.h). */
	bool eliot;
	bool shorten; /* shorten names of C++ (shorten.h) */
	bool plain_names; /* PDBs: names without the types of parameters */
	/* With `eliot`, of a Breakpad file: sorted addresses; the output is right for these, and has little else.
	 * NULL: all addresses. */
	const uint32_t *asked;
	size_t n_asked;
	unsigned threads; /* for DWARF and PDBs; 0: as many as there are processors, up to 8 */
	/* The map_file() with the input: its pages are given back while it is read. n 0: the input is other
	 * memory. */
	struct span map;
	/* Finds another file. 0: *out stays valid until gsym_make() returns; -ENOENT: the file was not
	 * found; -EAGAIN: gsym_make() shall end and return -EAGAIN. If `find` is NULL, no file is found.
	 * Only one thread at a time calls it. */
	int (*find)(void *ctx, const struct gsym_want *want, struct span *out);
	/* Called with the progress, 0 to 1000; may be NULL. */
	void (*progress)(void *ctx, unsigned part);
	void *ctx;
};

/* The number of threads for this many parts of work. */
#define GSYM_THREADS_MOST 8
static inline unsigned gsym_threads(const struct gsym_make_opts *o, size_t parts)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = o->threads ? o->threads : (size_t)MAX(processors, 1L);

	return (unsigned)MIN(MIN(n, (size_t)GSYM_THREADS_MOST), MAX(parts, (size_t)1));
}

struct gsym_made {
	const char *from; /* "gsym", "breakpad", "elf", "macho", "pe", "wasm", "pdb", "portablepdb": static */
	bool big;	  /* the input's byte order is big-endian */
	bool is32;
	unsigned type;	  /* the type in the header of an ELF file; 0: not an ELF file */
	enum image_kind kind; /* IMAGE_ELF if the input is not an object file */
	unsigned machine, submachine; /* in the numbers of that format */
	uint64_t left_out, first_left_out; /* bad lines of a Breakpad file */
	size_t broken; /* units of DWARF that are broken, wholly or in part */
	size_t split;  /* units of DWARF whose functions are in files that were not found */
	bool no_alt;   /* the file to which dwz moved entries was not found */
};

/* 0; -EAGAIN: `find` returned it; -ENOMSG: GSYM cannot be made from such a file; -EBADMSG: the file is
 * broken; other errors of the reader. `e` has the reason. */
int gsym_make(struct gsym_writer *w, struct span file, const struct gsym_make_opts *o,
	struct gsym_made *out, struct err *e);
