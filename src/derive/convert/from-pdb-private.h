/* The state of a conversion of a PDB, for the files from-pdb*.c and partial.c: the part that its threads share, and
 * each thread's own part. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "derive/convert/make.h"
#include "formats/gsym/writer.h"
#include "formats/pdb/names.h"
#include "formats/pdb/publics.h"

#include <pthread.h>

/* A slot of a cache, which maps a number in the PDB to the writer's number. A newer entry replaces the older one. */
struct known {
	uint64_t key; /* 0: an empty slot */
	uint32_t number;
};
#define KNOWN_SLOTS 8192u

/* A node of the tree of inlined calls. Its ranges are a list in `spans`. */
struct node {
	uint32_t file, line; /* of the call: the number of the file's name; 0: unknown */
	int site, parent, first, last, next; /* indices of nodes; -1: there is no such node */
	int first_span, last_span;
	bool wanted; /* the call is written, because one of its pieces is wanted */
};

struct node_span {
	uint32_t from, to;
	int next;
};

/* Constant while threads use it, except the fields under lock. */
struct job {
	struct gsym_writer *w;
	struct pdb pdb;
	struct pdb_publics publics;
	struct pdb_contrib *by_module; /* contributions in order of module */
	const struct gsym_make_opts *o;

	pthread_mutex_t lock;
	/* under lock */
	uint32_t next;	 /* the module that the next free thread reads */
	size_t contrib;	 /* the first contribution of that module or a later one, in by_module */
	int failed;	 /* the error of module failed_at, the first module with an error */
	uint32_t failed_at;
	struct err e;
};

/* A function that was written, and its name's number. Kept for incremental links, where jumps lead to it. */
struct target {
	uint32_t rva, size, name, module;
};

/* The state of one thread. */
struct part {
	struct job *job;
	struct gsym_writer *w; /* of this thread alone */
	struct msf_io io;
	struct pdb_namer names;
	const uint64_t *wanted; /* sorted addresses, section << 32 | offset: other pieces need no names; NULL: all
				   pieces are wanted */
	size_t n_wanted;
	bool again; /* bytes are missing, so the function that is being written is dropped */
	struct known *files, *inlinees;
	struct buf text; /* for one name at a time */
	uint64_t texts_left; /* bytes of names that this thread may still make */
	uint64_t pieces_left; /* how many inlined calls in pieces the module may still have; a piece itself counts as
				 PIECE_COST calls. 0: its further functions get no lines */

	struct node *nodes;
	size_t n_nodes, nodes_room;
	struct node_span *spans;
	size_t n_spans, spans_room;
	int *last_of_site; /* by site: the index of its newest node; -1: it has no node */
	size_t sites_room;

	struct target *targets;
	size_t n_targets, targets_room;
	struct pdb_func *jumps; /* trampolines that neither a public symbol nor lines cover */
	size_t n_jumps, jumps_room;
};

/* `p` is all zeros. 0; -ENOMEM. Call pdb_part_release() in every case. */
int pdb_part_init(struct part *p, struct job *j, struct gsym_writer *w, const struct view *v);
void pdb_part_release(struct part *p);
/* Call it before the first function of a module, or of a writer. */
void pdb_part_begin(struct part *p, const struct pdb_code *c);

/* Writes a function. A function that OMAP tables moved to several places becomes several functions. 0; -EAGAIN: it
 * was not written, because bytes are missing, which p->io lists; -ENOMEM; -EFBIG; -E2BIG: the names of this thread
 * take more than `texts_left`. */
int pdb_part_write(struct part *p, const struct pdb_code *c, const struct pdb_func *f, enum gsym_rank rank);
#define PDB_TEXTS_EACH 32u /* the most bytes of names for each byte of the file */

/* Keeps a trampoline for pdb_parts_write_jumps(). 0; -ENOMEM. */
int pdb_part_keep_jump(struct part *p, const struct pdb_func *f);
/* Writes each trampoline as a function with the name of the function that it leads to, without lines. Call it when
 * all threads have ended. 0; -ENOMEM. */
int pdb_parts_write_jumps(struct part *parts, unsigned n);
