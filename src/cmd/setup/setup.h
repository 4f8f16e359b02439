/* The files that `symfs setup` writes: setup-files.c. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"

#include <stdbool.h>

struct setup {
	bool system; /* for all users, else for the user who runs it */
	bool dry;    /* print what would be done */
	bool failed; /* something could not be done, and was printed */
	char *mount; /* the mount, with an absolute path */
	char *home, *config, *cache; /* $HOME, and the directories of XDG_CONFIG_HOME and XDG_CACHE_HOME */
	char *record;	    /* the path of the record of what was written */
	struct buf written; /* the record: lines "KIND\tSUM\tPATH", or "KIND\tTEXT\tPATH" */
};

/* Writes a first configuration, unless one exists, and the files with which clients ask the mount. Adds them to the
 * record. What exists is kept and printed. */
void setup_write_files(struct setup *s);
/* Takes back what the record has, and keeps what was changed since, which is printed. */
void setup_undo_files(struct setup *s);
/* Reads the record. 0, also if no record exists; -errno. */
int setup_read_record(struct setup *s);
/* Adds a line to the record. `sum` is a checksum, an old text, or "". */
void setup_add_record(struct setup *s, const char *kind, const char *sum, const char *path);
