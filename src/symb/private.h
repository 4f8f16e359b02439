/* What the files of symb/ share: the service, a request as it was read, and the mapped files of its
 * modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/jtext.h"
#include "fetch/derive.h"
#include "fetch/fetch.h"
#include "gsym/gsym.h"
#include "symb/symb.h"

#include <stdatomic.h>

enum symb_count {
	COUNT_REQUESTS, COUNT_REFUSED, COUNT_FRAMES, COUNT_NAMED, COUNT_MODULES, COUNT_MISSING,
	COUNT_CACHED, COUNT_LOADED, SYMB_COUNTS
};

struct symb {
	struct fetch *fetch;
	struct derive *derive;
	struct symb_limits limits;
	atomic_bool stop;
	atomic_uint_fast64_t counts[SYMB_COUNTS];
	pthread_mutex_t lock;
	/* under lock */
	struct loaded *newest, *oldest; /* by use */
	unsigned n_loaded;
	uint64_t resident; /* bytes of the files that may stay in memory */
	unsigned writing;  /* answers that are being written */
	pthread_cond_t written;
	/* constant */
	unsigned writers; /* answers that may be written at the same time */
};

/* ---- request.c ---------------------------------------------------------------------- */

/* A module of a request, once for all jobs that have it. */
struct wanted {
	char *name;	    /* of the debug file, as in the request */
	char *id;	    /* as in the request */
	struct module m;    /* as far as name and id can be read */
	bool referenced;    /* by a frame */
	unsigned job;	    /* mark of the last job that listed it: for lists without duplicates */
	unsigned jobs;	    /* number of jobs that have it */
	/* of the answer */
	struct loaded *file; /* NULL: it was not found */
	bool asked;	     /* it was looked for */
	bool hit;	     /* it was stored already */
	double look_seconds; /* to find that out */
	uint64_t size;	     /* bytes downloaded */
	double fetch_seconds, make_seconds;
	bool fetched, made;
	bool unsure;	     /* it was not found, but a source could not be asked */
	char why[240];	     /* why it was not found */
};

#define NO_MODULE UINT32_MAX

struct asked_frame {
	uint32_t module; /* a number of the job's modules; NO_MODULE */
	bool minus;	 /* the offset is negative: -1 */
	uint32_t method; /* of a Portable PDB: a row; 0: none */
	uint64_t offset;
	size_t big;	 /* an offset of more than 64 bits: 1 + the place of its text in `bigs`; 0 */
};

struct asked_stack {
	size_t first, n; /* frames */
};

struct asked_job {
	size_t modules, n_modules; /* in `refs` */
	size_t stacks, n_stacks;
};

struct request {
	struct wanted *wanted;
	size_t n_wanted, wanted_room;
	uint32_t *refs; /* the modules of all jobs, numbers of `wanted` */
	size_t n_refs, refs_room;
	struct asked_frame *frames;
	size_t n_frames, frames_room;
	struct asked_stack *stacks;
	size_t n_stacks, stacks_room;
	struct asked_job *jobs;
	size_t n_jobs, jobs_room;
	struct buf bigs; /* offsets of more than 64 bits, "0x...", each with a NUL behind it */
	uint32_t *slots; /* a table of `wanted` by name and id; 0: free */
	size_t n_slots;
};

/* 200, or the HTTP status of the refusal, and `e` has the title. */
int request_read(struct request *q, const struct symb_api *api, struct span body,
	const struct symb_limits *limits, struct err *e);
/* After the modules are loaded: 200, or 400 for an offset of more than 64 bits in a module that was
 * found, at which Mozilla's service fails. */
int request_check(const struct request *q, struct err *e);
void request_release(struct request *q);

/* ---- loaded.c ----------------------------------------------------------------------- */

/* A mapped GSYM file. Requests share it, and it stays mapped for a while after the last one. */
struct loaded {
	struct loaded *newer, *older;
	char key[KEY_TEXT]; /* key_canon() of its key in the store */
	uint64_t hash;	    /* of `key` */
	unsigned refs;
	struct span map;
	struct gsym g;
	char name[MODULE_NAME_MAX]; /* of the code file, if the file has it; "" */
	bool resident; /* under the lock of symb */
	bool exact; /* eliot.h: names may hold more than names */
};

/* A reference to the file that is mapped under this key; NULL: none is. */
struct loaded *loaded_find(struct symb *s, const char *canon);
/* Maps the file. `*out` is a reference. 0, -errno. */
int loaded_new(struct symb *s, const struct key *k, bool exact, struct blob *b, struct loaded **out,
	struct err *e);
void loaded_unref(struct symb *s, struct loaded *l);
/* The request needs no more look-ups in the file: gives its pages back when other files fill the memory
 * for them. */
void loaded_rest(struct symb *s, struct loaded *l);
void loaded_forget_all(struct symb *s);

/* ---- load.c ------------------------------------------------------------------------- */

/* Finds the files of all modules that frames refer to. 0; -EINTR: stopped; -ENOMEM. */
int load_modules(struct symb *s, struct request *q, const struct symb_flags *flags);

/* ---- reply.c ------------------------------------------------------------------------ */

/* `took`: seconds until the modules were ready. 0, -ENOMEM, -EFBIG. */
int reply_write(struct symb *s, const struct symb_api *api, struct request *q,
	const struct symb_flags *flags, double took, struct buf *out);
int reply_error(const char *title, struct buf *out);
