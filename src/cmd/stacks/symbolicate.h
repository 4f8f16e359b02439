/* What the inputs of symfs symbolicate share: the signal that ends the work, and the readers of inputs that are no
 * requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/app.h"
#include "names/id/module.h"

#include <limits.h>
#include <stdatomic.h>
#include <sys/types.h>

/* From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE end the work. SIGPIPE, because the command has files and processes
 * to remove when its output has no reader. */
void symbolicate_catch(void);
/* The last call of the command: after SIGPIPE this process ends by that signal, as if it had not been caught. */
void symbolicate_end(void);
/* True since a signal came that ends the command. */
extern atomic_bool symbolicate_stopped;
/* symb_stop() is called for this service when the signal comes, or now if it has come. NULL: for none; the caller may
 * free the service then, also if a signal comes meanwhile on another thread. A terminal shows progress until then. */
void symbolicate_running(struct symb *s);

enum input_kind { INPUT_CORE, INPUT_PROCESS, INPUT_MINIDUMP, INPUT_TEXT };
struct symbolicate_input {
	enum input_kind kind;
	const char *shown; /* the file's name, for messages */
	bool readable;	   /* other commands can read it by this name: it is not packed, and not stdin */
	pid_t pid;	   /* of INPUT_PROCESS */
	int fd;		   /* of the others; what gzip or zstd packed is unpacked */
	uint64_t size;
};
/* The process that the word names: a decimal number, if no file has that name; 0: none. */
pid_t symbolicate_process(const char *word);

/* A service that answers the command, and which modules have no symbols. */
struct symbolicating {
	struct symb *symb;
	struct symb_flags flags;
	bool dump; /* the caller sets it for stacks of a core, minidump or process, whose modules are known */
	uint64_t frames, named, modules; /* of all that was asked; since symbolicate_finish() */
	char id[PATH_MAX]; /* what `symfs why` explains: the path of a minidump, or the id of the first module */
	/* private */
	unsigned n_missing, n_unknown;
	bool refused, known;
	struct buf names, lines, unknown, failed;
	const struct app_args *args;
};
/* Starts the service. `most` may be NULL. Negative: it did not start, and a message was printed. */
int symbolicate_begin(struct symbolicating *g, struct app *app, const struct symb_limits *most,
	const struct symb_flags *flags);
/* Notes a module of a text that was not asked for: its id is not known. */
void symbolicate_unknown(struct symbolicating *g, const char *path);
/* Frees the service. */
void symbolicate_finish(struct symbolicating *g);
/* Call it after the result is printed, for people. Prints to stderr which modules have no symbols, and what to do;
 * may end the threads of fetch/. Returns `status`, or EXIT_NO if no frame got a name. */
int symbolicate_close(struct symbolicating *g, struct app *app, int status);

/* Local files as a source for one command: a temporary directory with a link to each, which is removed with the
 * struct. One thread. */
struct local_files {
	char dir[PATH_MAX]; /* "": not made */
	uint64_t copied;    /* bytes of all copies */
};

/* Adds a link to an ELF file under its build id. `debug`: it has debug information. 0, -errno. */
int local_files_add(struct local_files *l, const char *path, const char *build_id, bool debug);
/* Makes the directory the first source of a command, if it has links. `l` must live as long as `args`. */
void local_files_source(struct local_files *l, struct app_args *args);

/* Makes the files of this machine that a core file or a process has as modules the first source of the command, if
 * they are of the same build. The caller releases `l` after app_close(). Ignores errors, which symbolicate_stacks()
 * reports. */
void symbolicate_core_files(struct app_args *args, const struct symbolicate_input *in, struct local_files *l);
/* Prints the stacks of any input but text; with app->args.json as JSON. Returns an exit status. */
int symbolicate_stacks(struct app *app, const struct symbolicate_input *in, const struct symb_flags *flags);
