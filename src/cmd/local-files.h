/* Local files as a source for one command: a temporary directory with a link to each, which is removed with the
 * struct. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct app_args;

struct local_files {
	char dir[PATH_MAX]; /* "": not made */
	uint64_t copied;    /* bytes of all copies */
};

/* Adds a link to an ELF file under its build id. `debug`: it has debug information. 0, -errno. */
int local_files_add(struct local_files *l, const char *path, const char *build_id, bool debug);
/* The same for an open file that has no path any more: the directory gets a copy. -EFBIG: all copies would have more
 * than 1 GiB. */
int local_files_copy(struct local_files *l, int fd, uint64_t size, const char *build_id, bool debug);
/* Makes the directory the first source of a command, if it has links. `l` must live as long as `args`. */
void local_files_source(struct local_files *l, struct app_args *args);
void local_files_release(struct local_files *l);
#define _cleanup_local_files_ __attribute__((cleanup(local_files_release)))
