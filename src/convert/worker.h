/* Conversion in a process of its own: a file that makes it crash, hang or grow costs that file. The
 * process gets the input as a descriptor, gives the output in memory, and can do next to nothing
 * else: it opens no file, starts nothing, and sees neither the environment nor other descriptors. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "convert/make.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Another file that the input's debug information is in. */
struct gsym_work_file {
	bool ask; /* the file was not looked for yet: the worker ends, and says that it lacks it */
	int fd;	  /* -1: the file was looked for and not found */
};

struct gsym_work_lack {
	enum gsym_want_kind kind; /* in this order: GSYM_ALT, GSYM_DWP, GSYM_DWO */
	uint8_t id[64];		  /* of GSYM_ALT: its build id */
	uint8_t id_len;
	/* Of GSYM_DWO: all units that it lacks, the lowest first, by which a package of them is found, too.
	 * The caller's to free(). */
	uint64_t *units;
	size_t n_units;
};

/* Files with split units, one behind the other in one file, padded to 8 bytes: this, then the bytes. */
struct gsym_work_unit {
	uint64_t id, size;
};
#define GSYM_WORK_UNITS_MOST 65536u

enum gsym_work_form {
	GSYM_WORK_V1,
	GSYM_WORK_OBJECT, /* the form in an object file */
	GSYM_WORK_ELIOT,  /* version 1, as gsym_make_opts has `eliot` and `strict` */
	GSYM_WORK_LENIENT /* the same without `strict` */
};

struct gsym_work {
	const char *program; /* NULL: this one, which calls gsym_worker_main() when told so */
	unsigned seconds;    /* of processor time for each thread, and in all of the clock's; 0: 300 */
	unsigned threads;    /* 0: as many as there are processors, up to 8 */
	uint64_t memory;     /* bytes that it may write to; 0: half of the machine's */
	bool unsandboxed;    /* it may work where no system-call filter can be set */
	bool *bare;	     /* set when it did; NULL */
	const atomic_bool *stop; /* when it becomes true the worker is ended; NULL: never */
	enum gsym_work_form form;
	struct gsym_work_file alt, package; /* what dwz moved away, and split units (.dwp) */
	struct gsym_work_file units;	    /* single ones (.dwo), as gsym_work_unit says */
	struct gsym_work_lack *lack;	    /* with -EAGAIN; NULL: there are no other files */
};

/* How a program is called to be a worker: `symfs gsym work`. */
#define GSYM_WORKER_WORD "work"

/* Converts the file `in`; *out is a descriptor of what was made, the caller's. Waits.
 * -EAGAIN: another file is lacked, which may be given the next time.
 * -ENOMSG, -ENODATA: there is nothing to make it of; -EBADMSG: the input is broken, or the worker
 * did not survive it; -ETIMEDOUT: it takes too much processor time; -ETIME: too much of the clock's, which others
 * may be to blame for; -EINTR: `stop`; -ENOTSUP, -EFBIG; -ENOMEM: it needs more memory than it may have, or the
 * kernel killed it; -EPERM: no system-call filter can be set; others: here. Words in `e` follow a subject. */
int gsym_work(const struct gsym_work *o, int in, int *out, struct err *e);

/* Half of the machine's memory. */
uint64_t gsym_work_memory(void);

/* In the process: reads descriptor 3, and 6 to 8, writes 4, says on 5 how it went. An exit status. */
int gsym_worker_main(int argc, char **argv);
