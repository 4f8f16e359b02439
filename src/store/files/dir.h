/* The places inside a store's directory: how its files are named, opened and removed. Files with
 * other names are never touched. For src/store/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "base/util.h"

#include <stdbool.h>
#include <sys/stat.h>

#define DIR_REL 96 /* "blobs/ab/" + 62 digits + ".key" */

/* Opens the directory, and makes it (0700) with blobs/, partial/ and sparse/ when it is missing. 0, or the
 * errors of store_open(). */
int dir_open(int *out, const char *path, struct err *e);
/* Whether the open directory was removed, or `path` leads to another directory. */
bool dir_is_elsewhere(int dirfd, const char *path);

/* Whether `f_type` of statfs(2) is a network file system. Inline, because tests have no such file system. */
static inline bool dir_type_is_remote(unsigned long f_type)
{
	static const unsigned long remote[] = {
		0x6969,	    /* NFS */
		0x517b,	    /* SMB */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB2 */
		0x564c,	    /* NCP */
		0x5346414f, /* AFS */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(remote); i++)
		if ((f_type & 0xffffffff) == remote[i])
			return true;
	return false;
}

/* Where a blob or its `.key` lies: "blobs/ab/REST". `sha256` is 64 hex digits. */
const char *dir_blob(const char *sha256, char room[static DIR_REL]);
const char *dir_label(const char *sha256, char room[static DIR_REL]);
bool dir_sha256_ok(const char *sha256); /* whether the text is 64 lower-case hex digits */

int dir_fan_out(int dirfd, const char *sha256, int *out); /* opens blobs/ab; makes it if it is missing */
int dir_blob_open(int dirfd, const char *sha256, int *fd, struct stat *st);
int dir_blob_stat(int dirfd, const char *sha256, struct stat *st); /* -ENOENT: also if it is not a regular file */
int dir_blob_remove(int dirfd, const char *sha256); /* removes the label first, then the blob */

/* Makes a new empty file FOLDER/HEAD and 16 random hex digits, locked by lock(); makes the folder if it is missing.
 * `name` becomes the name in the folder. 0; -EAGAIN: other processes, cleaning up, removed each of 16 files, or the
 * folder exists and leads to no directory; other -errno. */
int dir_new_file(int dirfd, const char *folder, const char *head, int (*lock)(int fd), char *name, size_t room,
	int *out);

enum dir_kind { DIR_BLOB, DIR_LABEL };

/* Calls `each` once for every blob and every label in blobs/, and removes remains of interrupted label writes.
 * Stops when `each` returns non-zero, and returns that. */
int dir_walk(int dirfd, int (*each)(void *ctx, enum dir_kind kind, const char *sha256), void *ctx);
