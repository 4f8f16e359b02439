/* Declares the subcommands of `symfs gsym`, and what they share. Each subcommand has a file, and returns an
 * exit status. */
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
	struct opt_words addresses; /* the values of --address */
	enum filetype type; /* the value of --type; FILETYPE_NONE: the option is not given */
	bool demangle, basenames, hex; /* for lookup: hex: addresses are hexadecimal without 0x, too */
	bool file_first;    /* for lookup: in argv the file comes before the addresses, not after them */
	int argc;
	char **argv; /* the words after the subcommand */
};

int gsym_create(struct gsym_run *run); /* gsym-create.c */
int gsym_look_up(struct gsym_run *run); /* gsym-lookup.c */

/* gsym-create.c. Reads the debug information of the file `path` into a writer. 0; -errno with the reason in `e`. */
int gsym_run_make(const struct gsym_run *run, const char *path, struct gsym_writer **out,
	struct gsym_made *made, struct err *e);

/* A file that is mapped and opened. */
struct gsym_file {
	struct span file;
	struct buf made; /* the GSYM that was made from a file of another format; used instead of `file` */
	bool is_pdb;	 /* set by gsym_word_open(): `file` is a PDB, and `g` is not open */
	uint64_t shift;	 /* set by gsym_word_open(): an address of the command line plus this is one of `g` */
	struct gsym g;
};

/* gsym-word.c. Opens the file that a word names by the rules of what_named(). A file of another format is converted
 * to GSYM. For a program without debug information, the debug file is fetched and converted. -1: the file is open;
 * otherwise an exit status, and a message was printed. */
int gsym_word_open(struct gsym_run *run, struct gsym_file *o, const char *word);
void gsym_file_release(struct gsym_file *o);
#define _cleanup_gsym_file_ __attribute__((cleanup(gsym_file_release)))
