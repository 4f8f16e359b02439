/* Shared by the files of `symfs add`: cmd-add.c walks directories, add-file.c stores a file, add-archive.c
 * the members of an archive, add-packed.c the content of a compressed file. All run on one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "store/store.h"

/* The numbers of files of one format. */
struct tally {
	const char *format; /* a static string */
	uint64_t added, present;
};

struct adding {
	struct store *store;
	bool recurse, progress;
	uint64_t added, present, unplaced, bytes;
	uint64_t quota; /* the limit of the store, in bytes; 0: no limit */
	uint64_t shown; /* clock_ms() of the last progress line */
	int status; /* the exit status so far */
	struct tally tallies[24]; /* a tally for each format; there are fewer than 24 formats */
};

/* The bytes and members that may still be unpacked from an archive and the archives in it. */
struct budget {
	uint64_t bytes, members;
};

/* A file to add: a local file or a member of an archive. */
struct item {
	int fd; /* owned by the caller */
	uint64_t size;
	const char *shown; /* the path in messages, such as "dir/a.zip!lib/x.pdb" */
	size_t dir;	   /* length of the directory part of `shown`, which progress lines omit */
	const char *name;  /* the name to use if the file's bytes contain none; "": no name */
	const char *from;  /* `shown` as an absolute path, which the store records as the URL */
	bool named;	   /* the command line names the file */
	struct draft **draft; /* a draft with the bytes, for add_item() to take; NULL: copy from `fd` */
	unsigned depth;	      /* the number of archives around the file */
	struct budget *budget; /* the budget of the outermost archive; NULL: the file is not in an archive */
};

/* Stores the slices of a file, or the members of an archive, and counts them. 0: the command continues; if no
 * key fits the file, the reason was printed. -errno: the command must stop, and the reason was printed. */
int add_item(struct adding *a, const struct item *it);

/* The most archives around a file: a package in an archive of packages is usual; deeper nesting is an attack. */
#define ADD_DEPTH_MOST 2

/* ---- add-archive.c ---- */

/* 1: unpack the file as an archive; 0: the file is not an archive, or `why_not` has the reason not to unpack
 * it; -errno: the file cannot be read. */
int add_is_archive(const struct item *it, const char **why_not);
/* Adds the members of an archive. Returns the same values as add_item(). */
int add_archive(struct adding *a, const struct item *it);

/* ---- add-packed.c ---- */

/* As add_item(), for a compressed file. If the file is not compressed, does nothing and sets `is_packed`
 * to false. */
int add_packed(struct adding *a, const struct item *it, bool *is_packed);

/* ---- add-file.c ---- */

void add_show(struct adding *a, const struct item *it); /* prints progress, at most every 200 ms */
void add_show_end(struct adding *a); /* erases the progress line */
/* Prints why a file is not placed. If the command line names the file (`named`), the command fails. */
void add_refuse(struct adding *a, const char *shown, const char *why, bool named);
/* Whether the error `r` ends the command: a full disk, an I/O error, no memory. A file that cannot be placed
 * does not end the command. */
bool add_is_trouble(int r);
int add_stop(struct adding *a, int r, const struct err *e); /* prints the error, once; returns r */
/* The text for an error of obj_identify() or of another function. */
const char *add_why(int r, const struct err *e);
