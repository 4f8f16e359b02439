/* The files in DIR/sparse/: how they are named, opened, locked and removed. Locks (OFD) lie past
 * any end of a file: one byte for the process that fills it, one that all processes share that read it.
 * For this folder. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "store/handle.h"

#include <sys/stat.h>

#define SPARSE_NAME 17 /* 16 hex digits and NUL */
#define SPARSE_REL 32

const char *sparse_file_path(const char *name, char room[static SPARSE_REL]); /* "sparse/NAME" */

/* A new file of `size` bytes without a block, locked to be filled. */
int sparse_file_new(struct store *s, uint64_t size, char name[static SPARSE_NAME], int *fd);
/* 0: it is open and locked. -EBUSY: another process fills it (or, to read: removes it). -ENOENT */
int sparse_file_open(struct store *s, const char *name, bool fill, int *fd, struct stat *st);

void sparse_file_unlink(struct store *s, const char *name);
/* Says whether this process reads it. -EBUSY: another process removes it just now. */
int sparse_file_lock_open(int fd, bool open);
/* Removes it when no process reads it. 0, also when it was not there; -EBUSY. `bytes` are what it takes on
 * the disk. `held`: a process that fills it has it open; the disk gets them back when that one closes it. */
int sparse_file_remove_idle(struct store *s, const char *name, uint64_t *bytes, bool *held);

bool sparse_file_is_name(const char *name); /* 16 hex digits? */
/* A descriptor that keeps every other process from opening the file. -EBUSY: a process fills or reads it, or
 * it is gone. */
int sparse_file_open_unused(struct store *s, const char *name);
/* Whether the file is there and has this size; then `bytes` are what it takes on the disk. */
bool sparse_file_is_sound(struct store *s, const char *name, uint64_t size, uint64_t *bytes);
