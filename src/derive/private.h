/* Internals of derive/, for its own files only: struct conversion, and the table of conversions under way. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "derive/convert/worker.h"
#include "derive/derive.h"
#include "fetch/follow.h"
#include "base/hash.h"
#include "base/util.h"
#include "base/workers.h"
#include "names/id/key.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct blob;
struct conversion;
struct draft;
struct store;
struct ticket;

/* ---- kinds of derived files ----------------------------------------------------------------- */

/* Reasons why a file could not be made. The store remembers each as a miss. */
enum derive_fault {
	DERIVE_NOTHING, /* the input has nothing to convert */
	DERIVE_BROKEN,	/* the input is broken */
	DERIVE_SLOW,  /* the conversion took too long: remembered for minutes, because this machine may be too slow */
	DERIVE_SHORT, /* out of memory: also remembered for minutes */
	DERIVE_FAULTS
};

/* One row for each kind. */
struct derive_kind {
	const char *name;   /* the source that the store notes: "gsym" */
	enum filetype type; /* of the derived file */
	/* The stored file's URL begins with these words. A file whose URL begins otherwise was made by another
	 * version of symfs, and is made again. */
	const char *maker;
	const char *faults[DERIVE_FAULTS]; /* names of the remembered misses */
	bool wants_code; /* the program is an input, too: its unwind rules */
	/* (workers) Converts `c->in`. *fd: the converted file. Returns what gsym_work() returns. */
	int (*make)(struct conversion *c, int *fd, struct gsym_work_lack *lack, struct err *e);
};

extern const struct derive_kind derive_gsym, derive_sym;

/* (gsym.c) The options of the worker process for this conversion. */
void derive_work_opts(struct conversion *c, struct gsym_work_lack *lack, bool *bare, struct gsym_work *out);
/* (gsym.c) Warns once if a worker process ran without a system-call filter. */
void derive_tell_bare(struct conversion *c, bool bare);

/* ---- names.c: the inputs and the key of a derived file ------------------------------- */

#define DERIVE_INPUTS 5 /* the most input types of one derived file */

/* The form that `a` asks for. */
enum gsym_work_form derive_form(const struct artifact *a);
/* Writes the possible inputs that have a key, best first. Returns their number. */
unsigned derive_inputs(const struct artifact *a, struct artifact out[static DERIVE_INPUTS]);
/* The key under which the derived file is stored if its input has type `of`. 0, -errno. */
int derive_key_of(const struct artifact *a, enum filetype of, struct key *out);

/* ---- sym.c: Breakpad files ------------------------------------------------------------ */

/* Whether the program is wanted for its unwind rules or its code id, because the input is a debug file. A debug file
 * with a .debug_frame may have the rules of one assembler file only. `of`: the type of the input; `out`: the
 * program. */
bool derive_code_of(const struct artifact *a, enum filetype of, struct artifact *out);

/* ---- table.c: conversions under way -------------------------------------------------- */

/* A caller that waits for a conversion. */
struct making {
	struct derive *d;
	atomic_uint refs;
	/* under lock */
	struct conversion *on; /* the conversion; NULL: the caller was called back, or is being called back */
	struct making *next;
	/* constant */
	fetch_ready *ready;
	void *ctx;
};

/* A request for a few addresses of a PDB or of a Breakpad file, answered from a part of it (partial.c). */
struct partial {
	struct derive *d;
	atomic_uint refs;
	atomic_bool stop;
	struct artifact a;
	uint32_t *addrs;
	size_t n;
	fetch_ready *ready;
	void *ctx;
	struct part *part;  /* the sparse file; NULL: the file is `whole` */
	struct blob *whole; /* the stored file, or NULL */
	/* under the lock of `d` */
	struct ticket *ticket;
	struct partial *next;
};

/* How often a stored PDB was asked for a few addresses. */
struct partial_count {
	uint64_t number; /* key_number() of the PDB */
	unsigned n;
};
#define PARTIAL_COUNTS 64

enum lack_state { LACK_UNKNOWN, LACK_NONE, LACK_HERE };

/* Another file that has a part of the input's debug information. */
struct lack {
	enum lack_state state; /* LACK_UNKNOWN: no source was asked yet. LACK_NONE: no source has it */
	struct blob *blob; /* with LACK_HERE: the file */
};

/* Size of the name of one or two inputs, which identifies their bytes. */
#define DERIVE_INPUT_NAME (2 * SHA256_TEXT + 8)

/* A file that a conversion is waiting for. */
enum derive_wants { WANTS_INPUT, WANTS_SECOND, WANTS_PUBLISHED, WANTS_CODE, WANTS_ALT, WANTS_UNIT, WANTS_PROGRAM };

struct conversion {
	struct derive *d;
	const struct derive_kind *kind;
	struct artifact a; /* the derived file */
	struct key name;   /* derive_key() of `a`, which does not depend on the input */
	void (*run)(void *c); /* runs the next step, on a worker */
	struct conversion *next; /* under lock */
	atomic_bool stop;  /* set when no caller waits any longer */
	/* under lock */
	struct making *callers;
	struct ticket *ticket;
	bool abandoned; /* the conversion was cancelled; no caller may join it */
	struct follow follow; /* whether this process makes the file */
	/* used only by the thread that runs the conversion: the ticket's callback, then one worker after the other */
	enum derive_wants wants; /* the file that the ticket is for */
	void (*got)(struct conversion *c, const struct fetched *f); /* takes it; runs in the ticket's callback */
	struct blob *in;   /* the input */
	struct key key;	   /* of the derived file if `in` is its input */
	enum filetype of;  /* type of `in` */
	bool asked_bucket; /* the team's bucket was asked for the file */
	bool asked_second; /* the second input was asked for */
	bool asked_published; /* a Breakpad file was asked for by the ids of `in` */
	struct blob *published; /* that file; NULL: no source has it */
	bool asked_code;   /* the program was asked for */
	struct blob *code; /* the program, for its unwind rules; NULL: not found, or it is the input */
	char code_name[MODULE_NAME_MAX]; /* the name of `code`; "": not known */
	char input[DERIVE_INPUT_NAME]; /* names the bytes of the chosen input, and of the program */
	struct lack alt;     /* the file into which dwz moved shared parts */
	struct lack package; /* the package of split units */
	struct lack units;   /* the single split units */
	uint64_t *ids; /* ids of split units, which are asked for one after the other */
	size_t n_ids, next_id;
	struct draft *found; /* the units found so far, in the form of struct gsym_work_unit */
	struct blob *unit;   /* the unit that was found last, not in `found` yet */
	int r; /* result of the last request for a file: 0, -errno */
	struct err e; /* message of `r`, or of the conversion's error */
};

/* A file that is to be converted when no conversion is asked for. */
struct idle_file {
	struct idle_file *next;
	struct artifact made;
	struct key key;
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
	struct partial *partials; /* partial.c */
	struct partial_count partial_counts[PARTIAL_COUNTS]; /* slots by number; a newer PDB replaces an older one */
	unsigned asked_workers; /* workers that read Breakpad files (asked.c) */
	pthread_cond_t asked_ended; /* one of these has ended */
	/* idle.c */
	bool idles; /* derive_convert_idle() was called */
	bool idler_runs;
	pthread_t idler;
	pthread_cond_t idle_change;
	struct idle_file *idle; /* files to convert, the oldest first */
	unsigned n_idle;
	uint64_t begun; /* how many conversions and partials have begun */
	unsigned asking; /* number of tickets whose callback has not run */
	bool stopped;
	bool pulses; /* the thread `pulse` was started */
	bool over;   /* the thread `pulse` is to end */
};

unsigned derive_threads(void); /* the most conversions that run at once */
uint64_t derive_memory(const struct derive *d); /* bytes that each of them may use */
/* Starts the thread that sends heartbeats for the conversions that this process leads. Call it under the lock. */
void derive_pulse(struct derive *d);
/* Adds the caller to the conversion of the same file and inputs. If none runs, adds the caller to `fresh`, and puts
 * `fresh` into the table. Returns whether `fresh` is in the table. */
bool derive_join(struct derive *d, struct making *m, struct conversion *fresh);
/* Asks for one of `n` artifacts. 0: got() will run in the ticket's callback, and run() on a worker. -ENOMEM;
 * -EINTR: no caller waits. */
int derive_ask(struct conversion *c, const struct artifact *a, unsigned n, enum derive_wants wants,
	void (*got)(struct conversion *c, const struct fetched *f));
void derive_finish(struct conversion *c, int r, struct blob *b); /* calls the callers back; frees `c` */

/* Posts run() to a worker. */
static inline void derive_go_on(struct conversion *c)
{
	if (workers_post(c->d->workers, c->run, c) < 0)
		derive_finish(c, -ENOMEM, NULL);
}

/* A ticket's callback calls this as its last act. derive_free() waits for the call. */
static inline void derive_asked(struct derive *d)
{
	LOCK_SCOPE(&d->lock);

	d->asking--;
	pthread_cond_broadcast(&d->answered);
}

/* Under lock. */
static inline void partial_stop(struct partial *p)
{
	atomic_store(&p->stop, true);
	if (p->ticket)
		ticket_cancel(p->ticket);
}

/* ---- asked.c: a few addresses of a Breakpad file -------------------------------------- */

/* (workers) Converts what p->addrs need of p->whole; *fd: the GSYM. Returns what gsym_work() returns. */
int partial_make_asked(struct partial *p, int *fd, struct err *e);
/* Whether derive_partial() takes the Breakpad file. */
bool partial_can_ask(const struct blob *whole);

/* ---- idle.c: conversions that no caller waits for ------------------------------------- */

/* Notes that the Breakpad file should be converted when no conversion is asked for. Nothing happens if
 * derive_convert_idle() was not called. */
void idle_add(struct derive *d, const struct artifact *a);

/* ---- lacks.c: other files that the input needs --------------------------------------- */

/* (workers) The worker process returned -EAGAIN and the file that it lacks. 0: a source is asked for the file.
 * -EAGAIN, -ENOENT: convert again with the files known now. Others: errors. */
int lacks_ask(struct conversion *c, const struct gsym_work_lack *lack);
/* (workers) Asks for the program when its debug file has no symbols. Returns as lacks_ask(), or -ENODATA: no
 * program exists. */
int lacks_ask_program(struct conversion *c);
/* (workers) Keeps the split unit that came, and asks for the next unit. 0: a source is asked. -ENOENT: there
 * is no next unit. */
int lacks_next_unit(struct conversion *c);
