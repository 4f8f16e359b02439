/* Declares the subcommands of `symfs gsym`, and what they share. Each subcommand has a file, and returns an
 * exit status. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/span.h"
#include "cmd/app.h"
#include "formats/gsym/gsym.h"
#include "derive/convert/make.h"

struct gsym_run {
	struct app_args args;
	const char *out, *against, *format, *threads, *arch;
	unsigned n_threads; /* 0: the default */
	bool dump, strict, from_stdin, shorten, full, plain_names, embed;
	struct opt_words addresses; /* the values of --address */
	const char *debug; /* the debug file of a WebAssembly module, which was fetched; or NULL */
	enum filetype type; /* the value of --type; FILETYPE_NONE: the option is not given */
	bool demangle, basenames, hex; /* for lookup: hex: addresses are hexadecimal without 0x, too */
	bool pretty;	    /* for lookup: ": " follows an address, not a tab */
	bool file_first;    /* for lookup: in argv the file comes before the addresses, not after them */
	int argc;
	char **argv; /* the words after the subcommand */
};

int gsym_create(struct gsym_run *run); /* gsym-create.c */
int gsym_look_up(struct gsym_run *run); /* gsym-lookup.c */

/* gsym-create.c. Reads the debug information of the file `path` into a writer. 0; -errno with the reason in `e`. */
int gsym_run_make(const struct gsym_run *run, const char *path, struct gsym_writer **out,
	struct gsym_made *made, struct err *e);

/* ---- gsym-create.c: the files of a conversion, also of `symfs sym` ---- */

/* Maps a file. `out` is the part to convert: the whole file, or the slice `arch` of a fat Mach-O file.
 * `arch` may be NULL if the file has one slice. 0; -ENOTSUP: `arch` must name a slice, and `e` lists the slices;
 * other -errno: an error of map_file(). */
int gsym_files_open(struct span *map, struct span *out, const char *path, const char *arch, struct err *e);

struct gsym_files {
	const char *path; /* the file that is converted */
	const char *debug; /* as in struct gsym_run */
	struct span *maps;
	size_t n, room;
};

/* The callback for gsym_make_opts.find; `ctx` is a struct gsym_files. 0; -ENOENT or other -errno: no such file
 * was found. */
int gsym_files_find(void *ctx, const struct gsym_want *want, struct span *out);
void gsym_files_release(struct gsym_files *f);

/* Prints what of a converted file is left out, and why. */
void gsym_files_report(const char *path, const struct gsym_made *made);

/* ---- gsym-word.c ---- */

/* A file that is mapped and opened. */
struct gsym_file {
	struct span file;
	struct buf made; /* the GSYM that was made from a file of another format; used instead of `file` */
	bool is_pdb;	 /* set by gsym_word_open(): `file` is a PDB, and `g` is not open */
	uint64_t shift;	 /* set by gsym_word_open(): an address of the command line plus this is one of `g` */
	uint64_t base, size; /* set by gsym_word_open(): where the program of a PDB was linked to be; 0: unknown */
	struct gsym g;
};

/* Opens the file that a word names by the rules of what_named(). A file of another format is converted
 * to GSYM. For a program without debug information, the debug file is fetched and converted. -1: the file is open;
 * otherwise an exit status, and a message was printed. */
int gsym_word_open(struct gsym_run *run, struct gsym_file *o, const char *word);
void gsym_file_release(struct gsym_file *o);
#define _cleanup_gsym_file_ __attribute__((cleanup(gsym_file_release)))
