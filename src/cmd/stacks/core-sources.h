/* The rules by which a debugger on a core finds sources in a mount: for each directory in which a module was
 * compiled, the directory below source/ of the mount. These functions are for one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>

struct app_args;
struct core_sources;

/* *out is NULL if no configured source can have source files: the rules would only cost time. 0, -ENOMEM. */
int core_sources_new(struct core_sources **out, const struct app_args *args);
void core_sources_free(struct core_sources *s);	 /* NULL is fine */

/* Adds a module: its build id, and the path of a local file of the build, or NULL. Modules that are added earlier
 * come first where modules were compiled in one directory. 0, -ENOMEM. Ignores modules past the limit. */
int core_sources_add(struct core_sources *s, const char *build_id, const char *local);

/* Reads the debug files of all modules through the mount, and writes the commands for the debugger to `path`. The
 * mount fetches these files, which the debugger opens anyway. A file that does not arrive in time gives no rule.
 * Leaves out directories that this machine has. stop() is called several times a second, and ends the reading once
 * it returns true. Returns the number of rules, or -errno. (waits for the mount) */
int core_sources_write(struct core_sources *s, const char *mount, const char *path, bool lldb,
	bool (*stop)(void *ctx), void *ctx);
