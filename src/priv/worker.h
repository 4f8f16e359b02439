/* Starts the programs of libexec as worker processes, which read hostile input: without environment, with a few
 * descriptors, and with limits. derive/convert/, formats/cfi/, pack/unarchive/ and stacks/libdw/ are such programs.
 * Any thread may start one; the functions marked (worker) are for the worker, before it starts threads. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_FDS_MOST 6
#define WORKER_FD_FIRST 3 /* the worker's number of the first descriptor that it is given */

/* Keeps the directory of the programs open: starting one then needs no access to the directories above it, which
 * may be closed to the user that the daemon becomes. Call it once, before the process has threads. */
void worker_keep_open(void);

/* Runs each program of libexec with --version, and waits, at most a minute. Calls each(), if it is not NULL, with the
 * place of each program and each of its libraries, after worker_keep_open(). 0; -EIO: `e` names the program that does
 * not start, and the way out. */
int worker_check(int (*each)(void *ctx, int dir, const char *path), void *ctx, struct err *e);

/* ---- a run of a program ---------------------------------------------------------------------- */

/* The arguments of each program: seconds of processor time, bytes of memory, whether it may run without a system-call
 * filter if the system cannot set one, and words of its own. */
#define WORKER_MAY "may"
#define WORKER_MUST_NOT "must-not"
#define WORKER_WORDS_MOST 9

#define WORKER_SECONDS 300 /* the time of a worker, unless worker_run.seconds says another */

/* The worker's descriptor for the result: a struct worker_word, and what else the program reports. */
#define WORKER_WORD 5
struct worker_word {
	int32_t r;     /* 0, -errno */
	uint32_t bare; /* not 0: the worker ran without a filter */
	char text[248]; /* of the error */
};

struct worker_run {
	const char *name;      /* of the program in libexec */
	const char *program;   /* a path in its place; NULL: the program of libexec */
	const char *done, *verb; /* for texts that follow a subject: "converted", "convert" */
	const char *unstarted; /* stands before the text of an error to start; may be NULL */
	unsigned seconds;      /* of processor time for each thread; 0: WORKER_SECONDS */
	unsigned threads;      /* 0: 1 */
	unsigned wait_seconds; /* of elapsed time; 0: as `seconds` */
	uint64_t memory;       /* bytes of memory that the worker may use; 0: worker_memory() */
	bool unsandboxed;      /* it may run without a system-call filter if the system cannot set one */
	const char *words[WORKER_WORDS_MOST + 1]; /* its own arguments; NULL ends them */
	const int *fds; /* the worker's, from WORKER_FD_FIRST on; the place of WORKER_WORD counts, and is left out */
	unsigned n;
	const atomic_bool *stop; /* true ends the worker; NULL: never */
	/* Called when `socket` has a message; an error ends the worker, and worker_run() returns the error. NULL: the
	 * worker has no socket. */
	int (*serve)(void *ctx);
	void *ctx;
	int socket;
};

/* How a run ended: the worker did not start; it was ended because of its time, of `stop` or of serve(); it ended by a
 * signal or with a status; it ended in peace without a word, or with one. */
enum worker_how { WORKER_UNSTARTED, WORKER_GIVEN_UP, WORKER_DIED, WORKER_SILENT, WORKER_SAID };
struct worker_end {
	enum worker_how how;
	int status; /* of waitpid() */
	bool bare;  /* the worker ran without a filter */
	int word;   /* the descriptor of the word: what else the program reports is behind the struct worker_word */
};

/* Half of the machine's memory. */
uint64_t worker_memory(void);

/* Starts the worker with `n` descriptors, and leaves `fds`, `stop` and `serve` alone. 0 to 2
 * are /dev/null, except that a sanitizer keeps 2 for its reports; -1 stands for a closed one. The caller waits for
 * *pid. 0; -EIO: "the worker PATH did not start: ERROR". */
int worker_begin(const struct worker_run *o, const int *fds, unsigned n, pid_t *pid, struct err *e);

/* What the status of waitpid() says: 0, if the worker ended by itself and in peace. -ETIMEDOUT: too much processor
 * time. -ENOMEM: the kernel killed the worker. -EIO: the program cannot start. -EBADMSG: it crashed. The text in `e`
 * lacks its subject. */
int worker_ended(const struct worker_run *o, int status, struct err *e);

/* Starts the worker, and waits for its end. Returns the error of its word, which may be any; or as worker_begin() or
 * worker_ended(); -EBADMSG: it reported no result; -ETIME: it took too much elapsed time; -EINTR: `stop` is true;
 * errors of serve(). The text in `e` lacks its subject. The caller releases *out in any case. */
int worker_run(const struct worker_run *o, struct worker_end *out, struct err *e);
void worker_end_release(struct worker_end *x);
#define _cleanup_worker_end_ _cleanup_(worker_end_release)

/* ---- in the worker --------------------------------------------------------------------------- */

/* (worker) If the only argument is --version, prints the version and the libraries, and ends the process. Refuses
 * another number of arguments than a program with `words` words of its own has. */
void worker_arguments(int argc, char **argv, int words);

#define WORKER_CALLS_MOST 6

struct worker_filter {
	const char *more[WORKER_CALLS_MOST]; /* names of calls that this worker needs besides those of all workers */
	bool threads;			     /* the worker starts threads */
	const char *done; /* what is not done without a filter, for the text: "converted" */
};

/* (worker) Limits processor time and memory as argv[1] and argv[2] say, and the size of written files; no core files.
 * A read-only mapping does not count as memory. A sanitized build has no limit of memory. Then sets the system-call
 * filter (filter.h): it allows memory, signals, the clock, the open descriptors, and what `f` has. w->bare: the
 * worker continues without a filter. 0; -EPERM: no filter can be set, and `e` has the reason. */
int worker_enter(char **argv, const struct worker_filter *f, uint64_t file_bytes, struct worker_word *w,
	struct err *e);

/* (worker) Writes the result to WORKER_WORD, and `n` bytes more, and ends the process. */
void worker_leave(struct worker_word *w, int r, const struct err *e, const void *more, size_t n)
	__attribute__((noreturn));
