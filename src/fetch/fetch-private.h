/* Internals of fetch/, for its own files only: struct fetch, tickets, and the functions between its files.
 *
 * Flights live on the net thread and need no lock: callers post their requests there, workers post their
 * results there. Work that waits for a disk (SQLite, digests, identity, directory sources) runs on workers, on
 * plain values in the job. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/beneath.h"
#include "base/workers.h"
#include "fetch/fetch.h"
#include "fetch/symstore.h"
#include "fetch/taught.h"
#include "formats/obj/obj.h"
#include "net/net.h"
#include "pack/unpack/unpack.h"
#include "source/breaker.h"
#include "source/scan/scan.h"
#include "source/sources.h"
#include "store/flights.h"
#include "store/sparse.h"

#define HEAD_MOST 4096	/* bytes of a packed file that are unpacked to see what is inside */
#define PARK_BYTES (1u << 20)	/* a parked flight pauses its transfer after this many bytes */
#define CHOOSE_MOST (1u << 20) /* the most bytes that come before body_choose() decides whether the rest follows */
#define EARLY_BYTES (256u << 10) /* size of the first range; symfs first tries to identify a file at this size */
#define MISS_ANSWER_MS 2000	/* how long callers may believe a miss; `symfs add` can end it earlier */

struct attempt;
struct flight;

/* A wrong file, or one that is too large, which a source sent for a key. The source is not asked for the key for a
 * while. A mismatch is not a miss, so the store does not remember it. */
#define MISMATCHES 64
#define MISMATCH_MS 60000
struct mismatch {
	uint64_t until; /* clock_ms() */
	uint64_t asked; /* seen_number() of the request */
	int error;	/* -EBADMSG, -EFBIG, or the `error` of attempt_set_aside() */
	char text[200];
};

/* A spelling that a source did not have, while a request for another spelling failed. For a while the source is not
 * asked for the missing spelling, so that a retry repeats only the failed requests. */
#define ABSENT_MOST 256
struct absent {
	uint64_t until; /* clock_ms() */
	uint64_t asked; /* seen_number() of the request */
};

/* An answer whose file is of the next meaning of the path. A later answer with the same slot replaces it. */
#define KEPT_MOST 16
struct kept {
	struct net *net;
	struct net_timer over;
	uint64_t asked;		   /* seen_number() of the request, without a key; 0: a free slot */
	struct transfer *transfer; /* NULL: `head` is the whole file */
	bool asked_range, open_ended; /* as in struct query */
	struct net_reply reply;
	uint8_t head[OBJ_HEAD];
	size_t head_n;
};

/* The last answer of a source to a request that did not get the file. Requests with the same slot overwrite each
 * other. */
#define SEEN_MOST 256
struct seen {
	uint64_t number; /* seen_number() */
	uint64_t when;	 /* clock_ms(); 0: a free slot */
	int error;
	char text[200];
};

#define MISS_COUNTS_MOST 64

/* Maps a stored blob to the part_number() that its bytes had during the download. */
#define WAS_MOST 256
struct was {
	uint64_t number; /* part_number() */
	uint64_t blob;	 /* blob_number() */
};

/* The most modules whose identifiers are kept from files that are not stored yet, or never will be as a whole. */
#define HINTS_MOST 64

/* Sources that recently did not answer range requests, or only one range at a time. symfs avoids such requests
 * until the time given. */
#define NO_RANGES 64
#define NO_RANGES_MS 600000
struct no_ranges {
	atomic_uint_fast64_t until; /* (any thread) clock_ms() until which no ranges are requested */
	uint64_t several_until; /* clock_ms() until which no request asks for several ranges */
};

#define HEADS_MOST 16384 /* the most unit heads kept of one file; there is no read-ahead by heads after the last */

/* A thread inside a directory source. */
#define DIR_THREADS_MOST 64
#define DIR_HUNG_MS 1000   /* a thread that stays longer in a directory keeps other threads out */
#define DIR_THREADS_EACH 8 /* the most threads in one directory */
struct dir_thread {
	uint64_t dir;	/* hash of the directory's path; 0: a free slot */
	uint64_t since; /* clock_ms() */
};

#define LOOKERS 32   /* threads for directories; a hung directory holds up to DIR_THREADS_EACH of them */

#define REFUSED_SLOTS 32
#define REFUSED_MS 10000 /* the least time between two log lines about refusals of one source */

/* The source files that a build names. Kept for a while, because a better debug file may come. */
#define BUILD_NAMES_MOST 8
struct build_names {
	uint64_t until; /* clock_ms() */
	char id[CODE_ID_MAX + 1];
	uint64_t *all; /* scan_name_number() of each */
	size_t n;
};

struct fetch {
	/* constant */
	struct store *store;	 /* the caller's */
	struct net *net;
	struct workers *workers; /* for SQLite, digests and identity */
	struct breakers *breakers;
	struct fetch_opts opts;
	struct fetch_stats stats;

	pthread_mutex_t lock;
	/* under lock */
	struct sources *sources;
	struct taught *taught;
	struct symstore *symstores; /* a list that only grows */
	pthread_mutex_t recall_lock; /* one thread loads what an earlier process saved; other threads wait */
	struct store_asked miss_counts[MISS_COUNTS_MOST]; /* counts that are not in the store yet */
	unsigned n_miss_counts;
	uint64_t loops_logged; /* a bit for each source (by index) whose loop was logged */
	struct was was[WAS_MOST];
	struct seen seen[SEEN_MOST];
	struct module hints[HINTS_MOST]; /* a ring */
	unsigned next_hint;
	struct dir_thread dir_threads[DIR_THREADS_MOST];
	struct fetch_latency latencies[FETCH_LATENCIES_MOST];
	unsigned n_latencies;

	struct folded *folded; /* names of directory sources; has a lock of its own */

	pthread_mutex_t trees_lock;
	struct tree *trees; /* under trees_lock */

	pthread_mutex_t members_lock;
	pthread_cond_t members_free; /* `members_busy` fell */
	unsigned members_busy;	     /* archives that are being unpacked; under members_lock */

	pthread_mutex_t names_lock; /* of one thread, which reads which source files a build has */
	struct build_names names[BUILD_NAMES_MOST]; /* under names_lock */

	pthread_mutex_t embedded_lock; /* the thread that unpacks a source of a Portable PDB */

	/* net thread only */
	struct flight *flights; /* a list, because there are few */
	struct later *laters;	/* later.c: files that are asked for once more */
	void (*later_note)(struct fetch *f, const struct artifact *what, const struct key *k, int64_t seconds);
				/* later_note(), which makes tickets, and so is above flights; */
	const struct phase *cut; /* phase_cut makes some, too */
	struct workers *lookers; /* threads that look into directories; NULL until the first look */
	unsigned looks;		 /* directory jobs for which flights wait */
	struct kept kept[KEPT_MOST];
	struct mismatch mismatches[MISMATCHES];
	unsigned next_mismatch;
	struct absent absents[ABSENT_MOST];
	struct no_ranges no_ranges[NO_RANGES];
	uint64_t refused_until[REFUSED_SLOTS]; /* clock_ms() until which a source's refusal is not logged again */

	atomic_uint makers; /* fetch_makers() (any thread) */
	atomic_bool closing; /* set on the net thread; workers then stop long work */
};

/* records.c: counts how often callers asked for a key that is remembered as missing. */
#define MISS_NAME (MODULE_NAME_MAX + CODE_ID_MAX + 2)
/* The name under which a miss of a source is remembered: what its path has, but the key has not. That is the file
 * name, an id that is padded, and a code id beside the debug id. */
const char *miss_name(const struct source *s, const struct artifact *a, char room[static MISS_NAME]);
void miss_counts_add(struct fetch *f, const struct key *k); /* (any thread) */
void miss_counts_flush(struct fetch *f); /* (workers) writes the counts to the store */
int64_t miss_counts_get(struct fetch *f, const struct key *k); /* the count since the last flush (any thread) */

struct sources *fetch_sources(struct fetch *f); /* a reference to the set in use; any thread */
/* Whether the source, or one of the sources, has a name for the artifact. (any thread) */
bool fetch_can_name_by(const struct source *s, const struct artifact *a);
bool fetch_can_name(const struct sources *so, const struct artifact *a);

/* why.c: sends one request, and reads only the first bytes of the body, which show the type of the file. `via`
 * as in struct artifact. 0, -ENOMEM; -EACCES: there are no credentials for the source. why_end() waits for the
 * answer until clock_ms() is `until` or *stop is set, and frees the probe. False: no answer came. (not on the net
 * thread) */
struct probe;
int why_begin(struct probe **out, struct fetch *f, const struct source *s, const struct source_ask *ask,
	const char *via);
bool why_end(struct probe *p, uint64_t until, const atomic_bool *stop, struct net_reply *out);

/* no-ranges.c: whether the source may answer byte ranges. (any thread) */
bool ranges_may_come(struct fetch *f, const struct source *s);

/* embedded.c: files out of other files, which it stores: a source of a Portable PDB, a section of an ELF file. Finds
 * the file in a stored one, unless a source may have a file that comes before that. -ENOENT. (workers) */
int embedded_find(struct fetch *f, const struct sources *so, const struct artifact *a, const struct key *k,
	struct blob **out);
/* Finds the file in one of a directory source, or else in a stored one. `walking`: a tree is still being walked, so
 * only a file that comes before all others counts. -ENOENT. (lookers) */
int embedded_find_in(struct fetch *f, const struct sources *so, const struct key *k, bool walking, struct blob **out);
/* Whether such a file may be in a directory, or is stored and may have the source. (not on the net thread) */
bool embedded_may_exist(struct fetch *f, const struct sources *so, const struct key *k);
/* Whether the key is a section, and this server may send ranges of a file that has it. (any thread) */
bool embedded_may_come(struct fetch *f, const struct source *s, const struct key *k);

/* A file that may have the requested file in it. */
struct container {
	struct artifact a;
	struct key key;
};
#define CONTAINERS_MOST 2
/* The containers that the file of `k` can be in, best first. Returns their number. */
unsigned embedded_containers(const struct key *k, struct container c[static CONTAINERS_MOST]);

/* The container that a file is cut out of. */
struct cutting {
	struct blob *blob; /* NULL: only `part`; a section alone can be cut out of it */
	struct part *part;
	struct key key;	    /* of `part` */
	struct view view;   /* after -EAGAIN: what is missing */
	struct obj_span at; /* the section, as soon as it was found */
};
/* Copies the file of `k` out of its container into the store. 0. -ENOENT, -EBADMSG, -EFBIG: the container does not
 * have it. -EAGAIN: `view` lacks bytes of the section, or of the tables that lead to it. Others: errors of this
 * machine. (workers) */
int embedded_cut(struct fetch *f, const struct key *k, struct cutting *c, struct blob **out);

/* tree-sources.c: whether the debug file of the key's build names the key's source file. The store has the debug
 * file, or the source, a scanned tree, in which find() finds it. 0; -ENOENT: it does not, or there is no debug file;
 * -EAGAIN: the tree is still being walked. (lookers) */
typedef int tree_find(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k,
	struct blob **out);
int tree_names_source(struct fetch *f, const struct source *s, const struct key *k, tree_find *find);
/* Opens the file of this path below the roots of a scanned tree; *full: its path on this machine. -ENOENT: there
 * is no such file, or it may not be shown: `why` has the reason, if there is one. (lookers) */
int tree_open_source(const struct source *s, const char *path, int *fd, struct buf *full, char why[static 200]);
#define TREE_SOURCE_MOST (64u << 20) /* bytes of a source file out of an archive */
void tree_names_release(struct fetch *f);

/* records.c: writes a note (store_note()) on a worker. Any thread. */
void fetch_note_save(struct fetch *f, const char *name, const char *text);

/* records.c: the last answers of sources. Any thread. seen_number() identifies a request by its key (key_number()),
 * source and URL. */
uint64_t seen_number(uint64_t key_number, const struct source *s, const struct source_ask *ask);
void seen_add(struct fetch *f, uint64_t number, int error, const char *text);
bool seen_find(struct fetch *f, uint64_t number, struct seen *out);

/* ---- tickets: each is a request of one caller ---------------------------------------- */

struct ticket {
	unsigned refs; /* atomic */
	struct fetch *f;
	enum fetch_need need;
	fetch_ready *ready;
	void *ctx;
	atomic_int pid; /* the thread that waits; 0: unknown */
	/* (net) Takes a flight's answer for the current candidate. `a` is NULL if the flight asked sources by another
	 * name than the ticket's: the ticket then joins a flight for the same candidate once more. */
	void (*answer)(struct ticket *t, const struct fetched *a);

	/* net thread only */
	struct net_timer deadline; /* the common deadline of all candidates; set from the second candidate on */
	uint64_t began;	       /* clock_ms() */
	struct flight *flight; /* the flight that the ticket waits for now; NULL: none */
	struct ticket *prev, *next; /* in the list of `flight` */
	bool done;	  /* `ready` ran, or is running */
	unsigned at;	  /* index of the current candidate */
	bool again;	  /* the ticket asks for its current candidate once more */
	bool named;	  /* a source has a name for one of the candidates so far */
	bool asked;	  /* a source was asked for one, not only its remembered miss */
	int worst;	  /* an error of a candidate so far; 0: none */
	char worst_why[200]; /* message of `worst` */
	unsigned miss_ms; /* the shortest `miss_ms` of the candidates so far */

	unsigned n;
	struct artifact cands[];
};

/* part.c: records which blob each download became. was_find() returns the part_number() that the blob had, or 0 if
 * none is known. Any thread. */
void was_add(struct fetch *f, uint64_t number, uint64_t blob);
uint64_t was_find(struct fetch *f, uint64_t blob);

/* learn.c: identifiers that files prove. (workers, and callers of fetch_try() and fetch_why()) */
/* Completes a request with identifiers from files of its module that are stored or being downloaded. `k`, its key,
 * becomes the key that the file is judged by and stored under. False: there is no such file. */
bool learn_complete(struct fetch *f, struct artifact *a, struct key *k);
/* Finds a stored file by any of its keys. *main: the key to put into the answer. 0, -ENOENT; others: errors of the
 * store. */
int learn_find(struct fetch *f, const struct key *k, struct blob **out, struct key *main);
/* Checks a whole file and publishes it under every key that it proves. Of a fat file, publishes the slice that
 * was asked for, and then the other slices. Takes the draft. -EBADMSG: the file is not the one asked
 * for. Others: errors of this machine. */
int learn_publish(struct fetch *f, struct draft *d, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e);
/* learn_publish() for a sparse file that has no holes any more. */
int learn_finish(struct fetch *f, struct sparse *sp, const struct key *k, struct blob_facts *facts,
	struct blob **out, struct err *e);
/* Publishes a copy of the slice `s` of a file; `fd` stays the caller's. Checks the copy again: -EBADMSG if the file
 * changed meanwhile. */
int learn_publish_part(struct fetch *f, int fd, const struct obj_slice *s, const struct key *k,
	const struct blob_facts *facts, struct blob **out, struct err *e);

/* unpack.c: packed files. Returns the packing that the first bytes show, unless an unpacked file of type `t` can
 * begin like that. NULL: the file is not packed, or symfs cannot unpack it. (any thread) */
const struct packing *packed_as(enum filetype t, const void *head, size_t n);
/* Unpacks as much of the first bytes as obj_may_be() examines; `all`: the file has no further bytes. Returns the
 * number of bytes in `inside`; 0: too few to see what is inside. (any thread) */
size_t packed_inside(const struct packing *p, const void *head, size_t n, bool all,
	uint8_t inside[static OBJ_HEAD]);
/* Checks the first `have` bytes of a packed file. 0 or more: it may be the file asked for. -EBADMSG: it is not.
 * -EAGAIN: more bytes are needed. Others: errors of this machine. (workers) */
int packed_early(const struct packing *p, int fd, uint64_t have, const struct key *k, struct err *e);
/* Unpacks a whole file into a new draft of at most `most` bytes; `most` 0: no limit. -EBADMSG, -EFBIG: the file is
 * bad. Others: errors of this machine. (workers) */
int packed_open(struct fetch *f, const struct packing *p, int fd, uint64_t size, uint64_t most,
	struct draft **out, struct err *e);
/* learn_publish(); after -EBADMSG the text of the error begins with the name of the packing. */
int packed_publish(struct fetch *f, const struct packing *p, struct draft *d, const struct key *k,
	struct blob_facts *facts, struct blob **out, struct err *e);
/* The size limit for files of a source, in bytes; 0: no limit. */
uint64_t fetch_most(const struct fetch *f, const struct source *s);

/* hung.c: detects hung directory sources. Any thread. A dead disk (NFS, a stopped server) blocks its callers
 * uninterruptibly, so no thread enters a directory in which another is stuck. */
/* Returns a number for dir_leave(). Errors, with `why`: -EAGAIN, a thread is stuck in the directory, or
 * DIR_THREADS_EACH threads are in it; -ETIMEDOUT, a thread has been stuck for the whole lookup deadline. */
int dir_enter(struct fetch *f, const struct source *s, char why[static 200]);
void dir_still(struct fetch *f, int slot); /* reports that the thread makes progress, and is not stuck */
void dir_leave(struct fetch *f, int slot); /* does nothing if `slot` is negative */

/* local.c: directory sources. (lookers) Finds the file in a directory. 0: *out. -ENOENT. -EAGAIN: ask again soon
 * (the tree is still being walked, or another thread waits for its disk). Others: the directory could not be read.
 * A packed file is unpacked into the store, which can take long; found() runs before the unpacking. With `exists` a
 * member of an archive is not unpacked. If `found` is NULL, nothing goes into the store. Then *out can stay NULL. */
int local_find(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k, bool exists,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200]);
/* local_find() for the file that the n bytes of a server's file.ptr name. -ENOENT: the file.ptr names no file; `why`
 * then has the message in it, if any. -ETIMEDOUT: other threads are stuck in the source's directories. */
int local_follow(struct fetch *f, const struct source *s, const struct key *k, const char *text, size_t n,
	void (*found)(void *ctx), void *ctx, struct blob **out, char why[static 200]);
/* Keeps the better of two files of type `t` in *best; sets *other to NULL. True if the search can end, because
 * *best is good enough or the caller does not need the file itself. */
bool local_take_better(struct blob **best, struct blob **other, enum filetype t);
/* Whether a directory may have a better file than the stored file `b`. */
bool local_may_improve(const struct sources *so, const struct artifact *a, const struct blob *b);

/* local-open.c: opens what directory sources have. (lookers) */

/* Opens a directory source's base (O_PATH). -ELOOP: the base lies in a symfs mount. */
int local_open_base(const struct source *s, int *fd);
bool local_two_tier(int base); /* whether the symbol store in this directory has two tiers */
/* Which links lead to files of a type. A file of a type without identity could be any file of this machine, so it
 * must lie in the source's directory. */
enum beneath_links local_links(const struct source *s, enum filetype t);
/* Opens a file below the source's base. 0: *out. -ENOENT. -EACCES: symfs may not open it by this path, and `why` has
 * the reason. Others: as open(2). */
int local_open_below(const struct source *s, int base, enum filetype t, const char *path, int *out,
	char why[static 200]);
/* Opens the file `rest` below the directory `root`, without leaving the directory, and appends its path as the disk
 * has it to `real`. 0: *out. -ENOENT. -EACCES: the file is a link, or lies behind a link. Others: as open(2). */
int local_open_inside(const char *root, const char *rest, int *out, struct buf *real);

/* local-ids.c: whether names in a directory source may show the code id or the PDB's name that a request lacks. */
bool local_tells_ids(const struct source *s, const struct artifact *a);
/* Completes the request with each code id or name in the directory, and calls `each` with each result, until `each`
 * does not return -ENOENT. Returns the last result of `each`. (lookers) */
typedef int local_each(void *ctx, const struct artifact *a);
int local_each_id(struct fetch *f, int slot, const struct source *s, const struct source_facts *facts, int base,
	const struct artifact *a, local_each *each, void *ctx);

/* local-open.c: members of archives of scanned trees. (lookers) */

/* Whether `fd` is the archive as the scan has read it. */
bool member_is_there(int fd, const struct scan_found *at);
/* Unpacks a member into a new draft of at most `most` bytes; `most` 0: no limit. Waits while other archives
 * are unpacked. -ESTALE: the archive has changed. -EBADMSG, -EFBIG: it is bad. Others: errors of this machine. */
int member_open(struct fetch *f, int fd, const struct scan_found *at, uint64_t most, struct draft **out,
	int64_t *time, struct err *e);

/* trees.c: sources that are scanned. Any thread, short waits. */
void trees_set(struct fetch *f, const struct sources *so); /* begins and ends scans; `so` NULL: ends all */
/* scan_find() in the tree of a source. -EHOSTUNREACH: no source has the tree any more, or the tree cannot be
 * walked. */
int trees_find(struct fetch *f, const struct source *s, const struct key *k, unsigned nth,
	struct scan_found *out);
/* Calls `each` with the keys of files found so far, until `each` returns non-zero; returns that value. `each` must
 * not call trees_*(). */
int trees_each(struct fetch *f, const struct source *s, int (*each)(void *ctx, const struct key *k),
	void *ctx);
void trees_state(struct fetch *f, const struct source *s, char out[static 240]);
