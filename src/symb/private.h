/* Structs and functions that the files of symb/ share: the service, a request, and the mapped files of its
 * modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "symb/form.h"
#include "base/jtext.h"
#include "base/buf.h"
#include "derive/derive.h"
#include "fetch/fetch.h"
#include "formats/gsym/gsym.h"
#include "formats/obj/plt.h"
#include "symb/symb.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

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
	struct loaded *newest, *oldest; /* the list of mapped files, in order of their last use */
	unsigned n_loaded;
	uint64_t resident; /* bytes of the mapped files whose pages stay in memory */
	unsigned writing;  /* answers of form.h that are being written */
	pthread_cond_t written;
	/* constant */
	unsigned writers; /* the most answers that are written at the same time */
};

void symb_count(struct symb *s, enum symb_count what, uint64_t n);

/* ---- request.c, look.c ---------------------------------------------------------------------- */

/* A module of a request: one struct, even if it was added several times. */
struct wanted {
	char *name;	    /* of the debug file, or else of the code file, as in the request */
	char *id;	    /* as in the request */
	struct module m;    /* what `name` and `id` say, as far as they are valid */
	bool referenced;    /* a frame refers to the module */
	bool linked;	    /* a frame has an address in the file */
	bool has_base;	    /* it is known at which address the module was linked */
	uint64_t base;	    /* this address, if has_base: from the request, or from base_find() */
	unsigned job;	    /* mark of the last job whose list got the module, to avoid duplicates */
	unsigned jobs;	    /* number of jobs that list the module */
	/* results, for the answer */
	struct loaded *file; /* the file for look-ups; NULL: not found */
	bool nameless; /* ELF: a frame is in no function of `file` */
	struct blob *program; /* if nameless; NULL: not found */
	bool exports;	     /* `program` is stripped, and `file` has no more */
	struct loaded *names; /* .NET: the file with the names of methods; NULL: not found */
	bool asked;	     /* the module was looked for */
	bool hit;	     /* the file was already in the store */
	double look_seconds; /* seconds for the search of the store */
	uint64_t size;	     /* bytes downloaded */
	double fetch_seconds, make_seconds;
	bool fetched, made; /* a download was started; a conversion was started */
	enum filetype used;   /* type of the file that was converted; FILETYPE_NONE: no file was converted */
	struct worth used_worth;
	char used_source[64];
	bool unsure;	     /* not found, but a source could not be asked */
	char failed[320];    /* with `unsure`: "SOURCE: REASON" of the first source that failed; "": none did */
	char why[960];	     /* why the module was not found: a reason for each type of file */
};

struct asked_frame {
	uint32_t module; /* index into `wanted`; SYMB_NO_MODULE */
	bool minus;	 /* the offset is -1, the only negative offset that is accepted */
	bool linked;	 /* the offset is an address in the file, as its symbols have it */
	uint32_t method; /* .NET: the method's row in the metadata; 0: the frame has no method */
	uint64_t offset;
	size_t big;	 /* for an offset of more than 64 bits: 1 + the position of its text in `bigs`; else
			    0 */
};

struct asked_stack {
	size_t first, n; /* frames [first, first + n) of the request */
};

struct asked_job {
	size_t modules, n_modules; /* the modules: first index in `refs`, and number */
	size_t stacks, n_stacks;   /* the stacks: first index, and number */
};

#define PATH_MOST 16384

struct symb_request {
	struct symb *symb;
	struct symb_flags flags;
	double begun, took; /* clock_seconds(); `took`: until the modules were ready */
	bool loaded;
	int r;	      /* the first error of what was added */
	struct err e; /* the reason of an error or a refusal */
	struct wanted *wanted;
	size_t n_wanted, wanted_room;
	uint32_t *refs; /* the modules that were added, as indices into `wanted` */
	size_t n_refs, refs_room;
	struct asked_frame *frames;
	size_t n_frames, frames_room;
	struct asked_stack *stacks;
	size_t n_stacks, stacks_room;
	struct asked_job *jobs; /* one, unless form.h read several */
	size_t n_jobs, jobs_room;
	struct buf bigs; /* texts of offsets of more than 64 bits ("0x..."), each ends with NUL */
	uint32_t *slots; /* hash table by name and id: 1 + index into `wanted`; 0: free */
	size_t n_slots;
	/* of symb_look_up(): the frame, and what its file has at it */
	const struct asked_frame *frame;
	const char *function, *language;
	uint64_t offset;
	int64_t more; /* bytes that eliot_name() decoded from the name; they are in `offset` */
	struct gsym_hit hit, method; /* hit.n is 0: nothing */
	struct symb_name name;
	struct buf demangled;
	char path[PATH_MOST], import[PLT_NAME];
	uint64_t n_looked, n_named;
	uint64_t imports_budget; /* bytes that may be read in tables of imported functions */
};

/* Begins a job. symb_request_new() has begun the first. */
void request_job(struct symb_request *q);

/* -E2BIG in q->r, with the reason, if the request has `n` of `most` already. */
static inline int request_room(struct symb_request *q, const char *what, size_t n, unsigned most)
{
	if (n >= most && q->r == 0)
		q->r = err_set(&q->e, -E2BIG, "please limit number of %s in a single request to <= %u", what, most);
	return q->r;
}

/* Adds a module. `name` and `id`: as the answer repeats them; NULL: out of memory; their memory is taken over.
 * Returns the module, or NULL. */
struct wanted *request_module(struct symb_request *q, char *name, char *id, const struct module *m);

/* Keeps the spelling of the debug id, because many servers compare bytes. An id with dashes is not kept: no server
 * has it. */
static inline void request_given(struct module *m, const char *id)
{
	if (id[strspn(id, "0123456789abcdefABCDEF")] == '\0')
		snprintf(m->path, sizeof(m->path), "%s", id);
}

/* Adds a module that the client described. A missing debug id is derived from the code id. `id` and `code`: the debug
 * id and the code id as the client spelled them; "": it has none. `linked_at` as for symb_add_module(). */
void request_described(struct symb_request *q, struct module *m, const char *id, const char *code,
	const uint64_t *linked_at);
void request_frame(struct symb_request *q, const struct asked_frame *f);
/* symb_load() without its counters. Returns q->r; `now`: takes only files that are mapped already, or -EAGAIN. */
int request_load(struct symb_request *q, bool now);
/* *out: the offset of a frame of the module from the module's beginning. False: the offset does not fit, or the frame
 * has an address in the file, and the request lacks the address at which the module was linked. */
static inline bool request_offset(const struct wanted *w, const struct asked_frame *f, uint64_t *out)
{
	*out = f->offset - (f->linked ? w->base : 0);
	return !f->minus && !f->big && (!f->linked || (w->has_base && f->offset >= w->base));
}

/* ---- loaded.c ----------------------------------------------------------------------- */

/* What a GSYM file was made of decides how frames are looked up in it. */
enum loaded_form {
	LOADED_IMAGE, /* an object file: addresses as its symbols have them */
	LOADED_PDB,   /* offsets from the beginning of a module that was linked at an unknown address */
	/* a Breakpad file or a Portable PDB: likewise, and names have marks, which eliot_name() decodes */
	LOADED_EXACT
};

/* A mapped GSYM file. Requests share it, and it stays mapped for a while after the last request. */
struct loaded {
	struct loaded *newer, *older;
	char key[KEY_TEXT]; /* key_canon() of the file's key in the store; "": no key */
	uint64_t hash;	    /* of `key` */
	unsigned refs;
	struct span map;
	struct gsym g;
	char name[MODULE_NAME_MAX]; /* name of the code file; "": the GSYM file lacks it */
	bool resident; /* its pages stay in memory; under the lock of symb */
	enum loaded_form form;
	char made[160]; /* describes the file that was converted, for derive_is_stale() */
	atomic_uint_fast64_t checked; /* clock_ms() of the last check that found no better input */
};

/* Whether the file has lines. File 0 stands for no file. */
static inline bool loaded_has_lines(const struct loaded *l)
{
	return l->g.n_files > 1;
}

/* Returns a reference to the file that is mapped under the key `canon`; NULL: no file is mapped under it. */
struct loaded *loaded_find(struct symb *s, const char *canon);
/* Maps a file. The caller owns the reference in `*out`. If `k` is NULL, no other request finds the file, and the
 * last loaded_unref() unmaps it. 0, -errno. */
int loaded_new(struct symb *s, const struct key *k, enum loaded_form form, struct blob *b, struct loaded **out,
	struct err *e);
void loaded_unref(struct symb *s, struct loaded *l);
/* Whether the store now has a better input than the file that was converted. Looks at most once a second. */
bool loaded_is_stale(struct symb *s, struct loaded *l, const struct artifact *a);
/* Call it when a request needs no more look-ups in the file. Releases the file's pages from memory if
 * they do not fit into RESIDENT_MOST beside those of other files. */
void loaded_rest(struct symb *s, struct loaded *l);
void loaded_forget_all(struct symb *s);

/* ---- partial.c ---------------------------------------------------------------------- */

struct question;

/* Asks for GSYM of the frames of one module, from a part of its PDB (derive_partial()). Sets w->fetched if bytes must
 * be fetched. False: the question is unchanged; ask for the whole PDB. */
bool partial_ask(const struct symb_request *q, struct wanted *w, const struct artifact *pdb, struct question *to);

/* Likewise of a stored Breakpad file: GSYM as derive_exact() makes it, of the frames of one module. */
bool partial_ask_breakpad(const struct symb_request *q, const struct wanted *w, const struct artifact *sym,
	struct blob *b, struct question *to);

/* ---- base.c ------------------------------------------------------------------------- */

struct waits;

/* Finds at which address modules were linked, from their programs, where frames have addresses in the file and the
 * mapped file has offsets only; and their tables of imported functions, where frames are in no function. A program
 * that is not found is no error. `w` must have no pending question. (waits, unless `now`) 0; -EINTR, -ENOMEM, -EAGAIN
 * as load_modules(). */
int base_find(struct symb_request *q, struct waits *w, bool now);

/* ---- load.c ------------------------------------------------------------------------- */

/* Finds and maps the files of all modules that frames refer to. `now`: takes only files that are mapped already. 0;
 * -EINTR: the service is stopping, or the client is gone; -ENOMEM; with `now`, -EAGAIN: another file is needed. */
int load_modules(struct symb_request *q, bool now);

/* ---- form-*.c ---------------------------------------------------------- */

struct span;
struct symb_api;

/* Parses `body` into a request whose first job was not used. Returns 200, or the HTTP status of the refusal, with its
 * title in q->e. */
int form_read(struct symb_request *q, const struct symb_api *api, struct span body);
/* Call it after the modules are loaded. Returns 200, or 400 for an offset of more than 64 bits in a module
 * that was found: Mozilla's service fails on such an offset. */
int form_check(struct symb_request *q);
/* Writes the answer. `most`: nanoseconds of processor time that the look-ups may take; 0: any number. 0, -ENOMEM,
 * -EFBIG; -EAGAIN: the look-ups take more than `most`. */
int form_write(struct symb_request *q, const struct symb_api *api, uint64_t most, struct buf *out);
int form_text(struct symb_request *q, const struct symb_api *api, struct buf *out); /* likewise, as text for people */
/* Writes the answer to a request that is refused. */
int form_refuse(const char *title, struct buf *out);
