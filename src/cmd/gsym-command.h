/* The commands of `symfs gsym`: each has a file, and returns an exit status. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"
#include "cmd/app.h"
#include "gsym/gsym.h"
#include "convert/make.h"

struct gsym_run {
	struct app_args args;
	const char *out, *against, *format, *threads, *arch;
	unsigned n_threads; /* 0: the default */
	bool dump, strict, from_stdin, shorten, full, plain_names, embed;
	struct opt_words addresses; /* of --address */
	enum filetype type; /* of --type; FILETYPE_NONE */
	bool file_first;    /* lookup: in argv the file comes before the addresses, not after them */
	int argc;
	char **argv; /* words behind the subcommand */
};

int gsym_create(struct gsym_run *run); /* gsym-create.c */
int gsym_look_up(struct gsym_run *run); /* gsym-lookup.c */
int gsym_verify(struct gsym_run *run); /* gsym-verify.c */

/* gsym-create.c: reads `path` into a writer. `e` has the reason. */
int gsym_run_make(const struct gsym_run *run, const char *path, struct gsym_writer **out,
	struct gsym_made *made, struct err *e);

/* gsym-command.c. `path` may be NULL. These print a message and return an exit status. */
int gsym_fail(const char *path, const struct err *e);
int gsym_usage(const char *what);
int gsym_flushed(int status); /* `status`, or another one when stdout cannot be written */

/* A file that is mapped and opened. */
struct gsym_file {
	struct span file;
	struct buf made; /* the GSYM that was made from a file of another format; used instead of `file` */
	bool is_pdb;	 /* set by gsym_word_open(): `file` is a PDB, and `g` is not open */
	struct gsym g;
};

/* Opens the GSYM file that is the only operand. -1: it is open; else an exit status, after the message. */
int gsym_file_open(struct gsym_file *o, const struct gsym_run *run);
/* gsym-word.c: opens what a word names, as what_named() reads it. A file of another format is converted to
 * GSYM. In place of a program without debug information, its debug file is fetched and converted. */
int gsym_word_open(struct gsym_run *run, struct gsym_file *o, const char *word);
void gsym_file_release(struct gsym_file *o);
#define _cleanup_gsym_file_ __attribute__((cleanup(gsym_file_release)))
