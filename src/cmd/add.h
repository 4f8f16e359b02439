/* What the files of `symfs add` share: cmd-add.c walks, add-file.c puts a file into the store,
 * add-archive.c does so with what is in one, add-packed.c with what
 * is packed in a file. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "store/store.h"

/* How many files of each format; the formats are few. */
struct tally {
	const char *format; /* static */
	uint64_t added, present;
};

struct adding {
	struct store *store;
	bool recurse, progress;
	uint64_t added, present, unplaced, bytes;
	uint64_t quota; /* of the store, 0: none */
	uint64_t shown; /* when progress was shown last */
	int status;
	struct tally tallies[24];
};

/* How much more may come out of an archive and of the archives in it. */
struct budget {
	uint64_t bytes, members;
};

/* A file that is to be added, of this machine or of an archive. */
struct item {
	int fd; /* stays the caller's */
	uint64_t size;
	const char *shown; /* "dir/a.zip!lib/x.pdb" */
	size_t dir;	   /* length of its directory part, which is omitted where room is short */
	const char *name;  /* its name if its bytes have none; may be "" */
	const char *from;  /* the same as `shown`, absolute: the source that the store remembers */
	bool named;	   /* on the command line */
	struct draft **draft; /* its bytes, which may be taken; NULL: a file of the user, to be copied */
	unsigned depth;	      /* how many archives it is in */
	struct budget *budget; /* of the outermost archive; NULL: it is not in an archive */
};

/* Puts the slices of a file, or what is in an archive, into the store, and counts. 0, also when it
 * has no place (a line says why); -errno: the command must stop, and the reason was printed. */
int add_item(struct adding *a, const struct item *it);

/* A package in an archive of packages is usual; deeper nesting is an attack. */
#define ADD_DEPTH_MOST 2

/* ---- add-archive.c ---- */

/* Whether it is to be taken apart: 1; 0: no; -errno. */
int add_is_archive(const struct item *it, const char **why_not);
int add_archive(struct adding *a, const struct item *it);

/* ---- add-packed.c ---- */

/* As add_item(); `was` says whether the file is a packed one at all. */
int add_packed(struct adding *a, const struct item *it, bool *was);

/* ---- add-file.c ---- */

void add_show(struct adding *a, const struct item *it); /* progress, now and then */
void add_show_end(struct adding *a);
/* A line for what has no place; a file that was named makes the command fail. */
void add_refuse(struct adding *a, const char *shown, const char *why, bool named);
/* Trouble of the store ends the command; a file that cannot be placed does not. */
bool add_is_trouble(int r);
int add_stop(struct adding *a, int r, const struct err *e); /* says so, once; r */
/* The words for an answer of obj_identify() or of others. */
const char *add_why(int r, const struct err *e);
