/* What the inputs of symfs symbolicate share: the signal that ends the work, and the readers of inputs that are no
 * requests. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/app.h"

#include <stdatomic.h>
#include <sys/types.h>

struct local_files;

/* From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE end the work. SIGPIPE, because the command has files and processes
 * to remove when its output has no reader. */
void symbolicate_catch(void);
/* The last call of the command: after SIGPIPE this process ends by that signal, as if it had not been caught. */
void symbolicate_end(void);
/* True since a signal came that ends the command. */
extern atomic_bool symbolicate_stopped;
/* symb_stop() is called for this service when the signal comes, or now if it has come. NULL: for none; the caller may
 * free the service then, also if a signal comes meanwhile on another thread. */
void symbolicate_running(struct symb *s);

/* Whether the file of this path is a minidump. NULL and "-" are not. */
bool symbolicate_is_minidump(const char *path);
/* Prints the stacks of a minidump, with app->args.json as JSON. Returns an exit status. */
int symbolicate_minidump(struct app *app, const char *path, const struct symb_flags *flags);

/* Whether the file of this path is an ELF core file. NULL and "-" are not. */
bool symbolicate_is_core(const char *path);
/* The process that the word names: a decimal number, if no file has that name; 0: none. */
pid_t symbolicate_process(const char *word);
/* Makes the files of this machine that a core file or a process has as modules the first source of the command, if
 * they are of the same build. The caller releases `l` after app_close(). Ignores errors, which symbolicate_core()
 * reports. */
void symbolicate_core_files(struct app_args *args, const char *path, pid_t pid, struct local_files *l);
/* Prints the stacks of a core file, or of a process if `pid` is not 0; with app->args.json as JSON. Returns an exit
 * status. */
int symbolicate_core(struct app *app, const char *path, pid_t pid, const struct symb_flags *flags);
