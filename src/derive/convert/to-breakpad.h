/* Writes Breakpad's text symbol files: the functions, lines and inlined calls of a GSYM writer as records MODULE,
 * INFO, FILE, INLINE_ORIGIN, FUNC, INLINE, line and PUBLIC. STACK records are not written here. Any thread; keeps no
 * state. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "derive/convert/make.h"
#include "names/id/module.h"

/* The first records of the file. */
struct sym_head {
	const char *os, *cpu; /* "Linux", "x86_64": static */
	char id[DEBUG_ID_TEXT];
	char name[MODULE_NAME_MAX];
	char code_id[CODE_ID_MAX + 1];	 /* "": not known */
	char code_file[MODULE_NAME_MAX]; /* of a PE file; "": not known */
	bool no_rules; /* write INFO UNWIND none: no STACK records will follow */
};

/* Reads the head from a file: a program or a debug file, or one slice of a fat Mach-O file. `path`: its path or name;
 * the base name is used if the file does not contain the name of its module. The id of a program for Windows without
 * a debug id is zeros, because its code id identifies it. 0; -ENOMSG: another file without a debug id; -EBADMSG: it
 * is broken. */
int sym_head_of(struct sym_head *out, struct span file, const char *path, struct err *e);
/* Adds what only the program `code` has, if it is of the same build: the code id of a PDB's program, and the name in
 * a program whose debug file is `out`. False: it is of another build. */
bool sym_head_add_code(struct sym_head *out, struct span code, const char *path);
/* Adds the program's code id, in lower case, if the head has none, and the program's file name; "": not known. */
void sym_head_set_code(struct sym_head *out, const char *code_id, const char *code_file);

/* What sym_write() wrote. */
struct sym_counts {
	uint64_t files, origins, funcs, publics, lines, inlines, bytes;
};

/* Writes the file to a descriptor. `w` NULL: only MODULE and INFO. 0, -ENOMEM, or an error of write(). `counts` may
 * be NULL. */
int sym_write(const struct sym_head *h, const struct gsym_writer *w, int fd, struct sym_counts *counts);
