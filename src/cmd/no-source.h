/* Sources that cannot answer: directories that do not exist, and no source at all. Before there are threads: it
 * asks about directories in a child process, because one of them may hang. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

struct sources;

/* What to do without a source: lines that begin with two blanks. */
extern const char no_source_help[];

/* Whether each directory that --source names exists. -EINVAL: one does not, and `e` names it. With `warn` it is
 * logged instead, as for a file of the configuration: it may be an automount. */
int no_source_check(const char *const *words, unsigned n, bool warn, struct err *e);

/* Logs which directory sources do not exist, and prints to stderr that no source can answer, when that is so. */
void no_source_warn(const struct sources *so, const char *command);

/* Whether a table of sources, as .symfs/sources has it, has none that can answer. */
bool no_source_in(const char *table);
