/* The subcommands. Each is a file that ends in a const struct cmd, and a row in commands.c. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

/* Exit statuses of commands. */
enum {
	EXIT_DONE = 0,
	EXIT_NO = 1,		 /* a file does not exist, has no path, is not identified, or differs */
	EXIT_USAGE = 2,		 /* an error of the command line or of the configuration */
	EXIT_UNASKED = 3,	 /* a source could not be asked, or its answer was rejected */
	EXIT_LOCAL = 4,		 /* a problem of this machine: an I/O error, a full disk, a damaged file */
	EXIT_INTERRUPTED = 130
};

struct cmd {
	const char *name, *args, *help;
	const char *examples[2]; /* for --help: command lines */
	bool configured; /* the command reads the configuration, and takes --config, --source, --cache ... */
	bool json;	 /* the command takes --json */
	/* For completions: prints the values of a noun of `args` that only this command has; NULL: it has none. */
	bool (*offer)(const char *noun, const char *typed);
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an exit status */
};

/* Messages on stderr. They begin with "symfs NAME: ", with the name of the command whose options were read last
 * (app_options() calls cmd_called()), and are made safe to show (base/utf8.h). */
void cmd_called(const char *name);
/* Prints a message. Returns `status`. */
int cmd_say(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a message about wrong words of the command line, and how to get help. Returns EXIT_USAGE. */
int cmd_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints why a file cannot be read, or made of another one. Returns EXIT_NO if it is a sound file of another kind, or
 * has not what is wanted, else EXIT_LOCAL. */
int cmd_fail(const char *path, const struct err *e);
/* Flushes stdout. Returns `status`; if stdout cannot be written, prints that and returns EXIT_LOCAL. */
int cmd_flush(int status);

/* Colours of the text that a command prints on a terminal. A pipe or a file gets none, and neither does a terminal
 * with NO_COLOR in the environment (https://no-color.org) or with TERM=dumb. */

/* Whether stdout is a terminal for a person: lines may have heads, and columns are aligned. */
bool paint_terminal(void);

enum paint {
	PAINT_END,  /* ends any colour */
	PAINT_HEAD, /* bold: what the lines below are about */
	PAINT_GOOD, /* green */
	PAINT_WARN, /* yellow */
	PAINT_BAD   /* red */
};
/* The sequence that begins a colour; "" where there are no colours. A static string. */
const char *paint(enum paint colour);

/* The colour for the state of a source, or for the verdict on a request. `word` may be followed by other text
 * ("failing, retry in 8 s"). "": the word has no colour. */
const char *paint_word(const char *word);

/* The nearest word to a mistyped word, for "did you mean". */
struct nearest {
	const char *word; /* the mistyped word, borrowed; if it has more than 31 bytes, no word is near */
	const char *best; /* NULL: no word is near enough */
	unsigned distance;
};

/* Compares one more word, which must stay valid. A candidate is near if at most two letters, and at most half of
 * its letters, are wrong, missing, added or swapped. A candidate is also near if it begins with the mistyped word,
 * or with the first five letters of that word, or if other programs have the mistyped word for it. */
void nearest_try(struct nearest *n, const char *candidate);

/* ---- commands.c ---- */

/* Finds a command by its name, or by another name that users know from other tools. NULL: no such command. */
const struct cmd *command_find(const char *name);

/* Runs `c`, which argv[1] names; NULL: what else the command line asks for, as --help. Returns the exit status. */
int commands_run(const struct cmd *c, int argc, char **argv);

extern const struct cmd cmd_add, cmd_addr2line, cmd_init, cmd_mount, cmd_mount_helper, cmd_umount,
	cmd_get, cmd_gsym, cmd_id, cmd_parse, cmd_paths, cmd_pdb, cmd_push, cmd_why, cmd_status,
	cmd_sources, cmd_cache, cmd_warm, cmd_wait, cmd_core, cmd_symbolicate, cmd_best, cmd_serve,
	cmd_sym, cmd_token, cmd_dsym, cmd_setup;
