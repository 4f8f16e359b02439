/* The files in DIR/sparse/: how they are named, opened, locked and taken away. Locks (OFD) lie past
 * any end of a file: one byte for who fills it, one that all who have it open share. For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

#include <sys/stat.h>

#define SPARSE_NAME 17 /* 16 hex digits and NUL */
#define SPARSE_REL 32

const char *sparse_file_path(const char *name, char room[static SPARSE_REL]); /* "sparse/NAME" */

/* A new file of `size` bytes without a block, locked to be filled. */
int sparse_file_new(struct store *s, uint64_t size, char name[static SPARSE_NAME], int *fd);
/* 0: it is open and locked. -EBUSY: somebody fills it (or, to read: removes it). -ENOENT */
int sparse_file_open(struct store *s, const char *name, bool fill, int *fd, struct stat *st);

void sparse_file_unlink(struct store *s, const char *name);
/* Removes it when nobody has it open. 0, also when it was not there; -EBUSY. */
int sparse_file_remove_idle(struct store *s, const char *name);
