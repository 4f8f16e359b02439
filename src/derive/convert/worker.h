/* Conversion in a separate process, the worker. An input that makes the worker crash, hang or grow costs
 * only its own conversion. The worker reads the input from a descriptor and returns the output in memory.
 * The worker cannot open files or start processes, and sees neither the environment nor other descriptors. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "derive/convert/make.h"
#include "formats/pdb/msf.h"
#include "formats/unwind/text.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Another file that holds debug information of the input. */
struct gsym_work_file {
	bool ask; /* the file was not looked for yet: if the worker needs the file, it ends and asks for it */
	int fd;	  /* -1: the file was looked for and not found */
};

/* A file that the worker needs and does not have. */
struct gsym_work_lack {
	enum gsym_want_kind kind; /* files are requested in the order GSYM_ALT, GSYM_DWP, GSYM_DWO */
	uint8_t id[64];		  /* with GSYM_ALT: the build id of the file */
	uint8_t id_len;
	/* With GSYM_DWO: the ids of all missing units, the lowest first. A package of the units is looked up
	 * by the same ids. The caller frees them. */
	uint64_t *units;
	size_t n_units;
};

/* The header before each file in a file that joins several files with split units. Each of these is padded
 * to 8 bytes. */
struct gsym_work_unit {
	uint64_t id, size;
};
#define GSYM_WORK_UNITS_MOST 65536u

enum gsym_work_form {
	GSYM_WORK_V1,
	GSYM_WORK_OBJECT, /* GSYM in an object file (object.h) */
	GSYM_WORK_ELIOT,  /* version 1, made with `eliot` and `strict` of gsym_make_opts */
	GSYM_WORK_LENIENT, /* as GSYM_WORK_ELIOT, but without `strict` */
	GSYM_WORK_SYM, /* not GSYM, but a Breakpad file without STACK records (to-breakpad.h) */
	GSYM_WORK_ASKED, /* as GSYM_WORK_ELIOT, for a few addresses of a Breakpad file: `asked` */
	GSYM_WORK_SOURCES, /* not GSYM, but hash_mix() of each path of dwarf_sources(), at most WORK_SOURCES_MOST */
	GSYM_WORK_PARTIAL  /* a few addresses of a PDB: gsym_work_partial() */
};

#define WORK_SOURCES_MOST (1u << 20)

struct gsym_work {
	const char *program; /* NULL: `convert` of libexec */
	unsigned seconds;    /* of processor time for each thread, and of elapsed time in all; 0: 300 */
	unsigned threads;    /* 0: as many as there are processors, up to 8 */
	uint64_t memory;     /* bytes of memory that the worker may use; 0: half of the machine's memory */
	bool unsandboxed;    /* the worker may run without a system-call filter if the system cannot set one */
	bool *bare;	     /* set to true if the worker ran without a filter; may be NULL */
	const atomic_bool *stop; /* true ends the worker; NULL: never */
	enum gsym_work_form form;
	struct gsym_work_file alt, package; /* the parts that dwz moved away; a package of split units (.dwp) */
	struct gsym_work_file units;	    /* single split units (.dwo), each after a gsym_work_unit */
	/* GSYM_WORK_SYM: the name of the module; NULL: that in the file. `bare_sym`: a file without functions becomes
	 * MODULE and INFO; otherwise it is -ENODATA. `no_rules`: as in struct sym_head. */
	const char *name;
	bool bare_sym, no_rules;
	/* GSYM_WORK_SYM, for INFO CODE_ID: the file name of a PE file; of a PDB's program also the code id. NULL: not
	 * known. */
	const char *code_id, *code_file;
	int asked; /* GSYM_WORK_ASKED: a file of addresses, uint32_t, sorted */
	struct gsym_work_lack *lack;	    /* the missing file, set with -EAGAIN; NULL: no other files exist */
};

/* Converts the file `in` and waits for the worker. The caller owns *out, a descriptor of the output.
 * -EAGAIN: `lack` names a missing file; call again with the file.
 * -ENOMSG, -ENODATA: the input has nothing to convert. -EBADMSG: the input is broken, or crashed the worker.
 * -ETIMEDOUT: the conversion takes too much processor time. -ETIME: it takes too much elapsed time, perhaps
 * because the machine is busy. -EINTR: `stop` is true. -ENOTSUP, -EFBIG: as gsym_make().
 * -ENOMEM: the worker needs more than `memory`, or the kernel killed the worker.
 * -EPERM: no system-call filter can be set. Other errors come from this process. The text in `e` lacks its
 * subject, the name of the input. */
int gsym_work(const struct gsym_work *o, int in, int *out, struct err *e);

/* A file that may have holes. Both functions are called on the thread of gsym_work_partial(). */
struct partial_file {
	uint64_t size;
	/* Waits until the ranges are present. 0; -EINTR; -EIO: they will not come. */
	int (*await)(void *ctx, const struct msf_lack *ranges, unsigned n);
	/* Reads bytes of a range that was awaited. 0; -EIO. */
	int (*read)(void *ctx, uint64_t off, void *p, size_t n);
	void *ctx;
};

/* Makes GSYM of at most PARTIAL_ADDRESSES_MOST addresses of a PDB (partial.h) in a worker, which asks for bytes of
 * the PDB. This process never parses them. The caller owns *out, a descriptor of the GSYM. Waits for the worker and
 * for `file`. Returns as gsym_work(), or an error of `file`. */
int gsym_work_partial(const struct gsym_work *o, const struct partial_file *file, const uint32_t *addrs, size_t n,
	int *out, struct err *e);

/* ---- unwind tables --------------------------------------------------------------------------- */

/* Unwind rules as text: STACK CFI records of Breakpad's symbol files, from a program (ELF, PE, Mach-O for one
 * processor), and STACK WIN records, from a PDB of an x86 program. The tables are read by a program of its own,
 * libexec/symfs/frames, in a sandbox like that of the worker. Any thread. */
struct frames_work {
	const char *program; /* NULL: `frames` of libexec */
	unsigned seconds;    /* of processor time, and of elapsed time; 0: 300 */
	uint64_t memory;     /* bytes that the program may use; 0: half of the machine's memory */
	bool unsandboxed;    /* it may run without a system-call filter if the system cannot set one */
	bool *bare;	     /* set to true if it ran without a filter; may be NULL */
	const atomic_bool *stop; /* true ends it; NULL: never */
};

/* Writes the unwind tables of the program, library or PDB `in`, and waits. The caller owns *out, a descriptor of the
 * text, whose position is 0: whole lines, sorted by address, relative to the file's base. *counts says what of the
 * tables is in the text; it is set also on -ENODATA.
 * -ENODATA: the file has no unwind tables; debug files have lost theirs. -ENOTSUP: Breakpad's files have no names for
 * the registers of its processor. -ENOMSG: it is neither a program nor a library. -EBADMSG: it is broken, or crashed
 * the reader. -EFBIG: the text is longer than 1 GiB. -EIO: the program `frames` did not start. -ETIMEDOUT,
 * -ETIME, -EINTR, -ENOMEM, -EPERM: as gsym_work(). The text in `e` lacks its subject, the name of the input. */
int frames_text(const struct frames_work *w, int in, int *out, struct unwind_counts *counts, struct err *e);
