/* Detects that no source can answer: directories do not exist, or no source is configured. Call these functions
 * before there are threads: a child process looks at the directories, because an access to one can hang. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct app_args;
struct sources;

/* Advice for users without a source. */
#define NO_SOURCE_NAMES "add one with --source NAME, URL or DIR (`symfs sources presets` lists the names)"
#define NO_SOURCE_ADVICE NO_SOURCE_NAMES ", or with `symfs init`"

/* Advice for users with a source that refuses. */
#define NO_SOURCE_REFUSED "a source that refuses wants a token or password; see header in symfs.conf(5)"

/* Prints how `symfs COMMAND` uses the sources of each mount of the store `cache_dir`: lines that begin with two
 * blanks. Starts child processes. */
void no_source_mounts(FILE *to, const char *command, const char *cache_dir);

/* Checks that each directory that --source names exists. 0; -EINVAL: a directory does not exist or is a file, and
 * `e` names it; -ENOMEM. With `warn`, logs each such directory instead and returns 0: a later mount can create it. */
int no_source_check(const char *const *words, unsigned n, bool warn, struct err *e);

/* Logs which directory sources do not exist. If no source can answer, prints that to stderr. */
void no_source_warn(const struct sources *so, const struct app_args *a);

/* What a user whose sources have nothing can do: which option leaves sources out, or how to add one. */
const char *no_source_advice(const struct app_args *a);

/* Prints to stderr, for each URL of --source without a layout, that it is asked in the layout `native`, and how to
 * ask in another. For commands that found no file. */
void no_source_hint(const char *const *words, unsigned n);
