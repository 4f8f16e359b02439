/* The inside of derive: one conversion, and the table of those under way. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "convert/worker.h"
#include "fetch/derive.h"
#include "fetch/follow.h"
#include "id/key.h"

#include <pthread.h>
#include <stdatomic.h>

struct blob;
struct conversion;
struct draft;
struct store;
struct ticket;
struct workers;

/* ---- kinds of files that are made of others ------------------------------------------------- */

/* Why a file could not be made; the store remembers it as a miss. */
enum derive_fault {
	DERIVE_NOTHING, /* the input has nothing to say */
	DERIVE_BROKEN,
	DERIVE_SLOW,  /* this machine may be to blame: remembered for minutes */
	DERIVE_SHORT, /* the same, of memory */
	DERIVE_FAULTS
};

/* One row for each kind. */
struct derive_kind {
	const char *name;   /* the source that the store notes: "gsym" */
	enum filetype type; /* of what is made */
	/* The first words of the stored file's URL. What has other words there was made by another version, and
	 * is made anew. */
	const char *maker;
	const char *faults[DERIVE_FAULTS]; /* names of the remembered misses */
	/* (workers) Makes it of `c->in`; `fd` has the file. As gsym_work(). */
	int (*make)(struct conversion *c, int *fd, struct gsym_work_lack *lack, struct err *e);
};

extern const struct derive_kind derive_gsym;

/* ---- derive-names.c: what is made of which file, and its name ------------------------------- */

#define DERIVE_INPUTS 2 /* files of one module that the same is made of, best first */

/* The form that `a` asks for. */
enum gsym_work_form derive_form(const struct artifact *a);
/* Writes the inputs that have a key, best first. How many. */
unsigned derive_inputs(const struct artifact *a, struct artifact out[static DERIVE_INPUTS]);
/* The key under which it is stored when it is made of a file of type `of`. 0, -errno. */
int derive_key_of(const struct artifact *a, enum filetype of, struct key *out);

/* ---- derive-table.c: conversions under way -------------------------------------------------- */

/* A caller that waits. */
struct making {
	struct derive *d;
	atomic_uint refs;
	/* under lock */
	struct conversion *on; /* NULL: it was called back, or is being called back */
	struct making *next;
	/* constant */
	fetch_ready *ready;
	void *ctx;
};

enum lack_state { LACK_UNKNOWN, LACK_NONE, LACK_HERE };

/* Another file that the input's debug information is in. */
struct lack {
	enum lack_state state;
	struct blob *blob;
};

/* A file that a conversion is waiting for. */
enum derive_wants { WANTS_INPUT, WANTS_ALT, WANTS_UNIT, WANTS_PROGRAM };

struct conversion {
	struct derive *d;
	const struct derive_kind *kind;
	struct artifact a; /* what is made */
	struct key name;   /* of what is made, of whichever input */
	void (*run)(void *c); /* goes on, on a worker */
	struct conversion *next; /* under lock */
	atomic_bool stop;  /* no caller waits any longer */
	/* under lock */
	struct making *callers;
	struct ticket *ticket;
	bool abandoned;
	struct follow follow; /* which process makes it */
	/* of the thread that has the conversion: the ticket's callback, then one worker after the other */
	enum derive_wants wants;
	void (*got)(struct conversion *c, const struct fetched *f);
	struct blob *in;
	struct key key;	   /* of what is made of `in` */
	enum filetype of;  /* `in` */
	struct lack alt, package, units;
	uint64_t *ids; /* of split units, which are asked for one after the other */
	size_t n_ids, next_id;
	struct draft *found; /* the units that were found, as gsym_work_unit says */
	struct blob *unit;   /* the last of them */
	int r; /* of the input */
	struct err e;
};

struct derive {
	struct fetch *fetch;
	struct store *store;
	struct workers *workers;
	pthread_t pulse;
	atomic_bool warned; /* the log has the warning that workers have no system-call filter */
	pthread_mutex_t lock;
	pthread_cond_t answered, ended;
	/* under lock */
	struct conversion *conversions;
	unsigned asking; /* tickets whose callback has not run */
	bool stopped;
	bool pulses, over; /* `pulse` was started, and is to end */
};

unsigned derive_threads(void); /* how many convert at once */
/* Under lock: starts the thread that beats for the conversions that this process leads. */
void derive_pulse(struct derive *d);
/* Adds the caller to the conversion of that name, or to `fresh`, which is then in the table. Whether it is. */
bool derive_join(struct derive *d, struct making *m, struct conversion *fresh);
/* Asks for one of `n` artifacts. 0: got() will run in the ticket's callback, and run() on a worker. -ENOMEM;
 * -EINTR: no caller waits. */
int derive_ask(struct conversion *c, const struct artifact *a, unsigned n, enum derive_wants wants,
	void (*got)(struct conversion *c, const struct fetched *f));
void derive_go_on(struct conversion *c); /* posts run() */
void derive_finish(struct conversion *c, int r, struct blob *b); /* calls the callers back; frees it */

/* ---- derive-lacks.c: other files that the input needs --------------------------------------- */

/* (workers) The worker said -EAGAIN and what it lacks: 0: it is asked for. -EAGAIN, -ENOENT: try again with
 * what is known now. Others: errors. */
int lacks_ask(struct conversion *c, const struct gsym_work_lack *lack);
/* (workers) Asks for the program when its debug file has no symbols. As lacks_ask(); -ENODATA: no program exists. */
int lacks_ask_program(struct conversion *c);
/* (workers) Keeps the split unit that came, and asks for the next. 0: asked. -ENOENT: that was the last. */
int lacks_next_unit(struct conversion *c);
