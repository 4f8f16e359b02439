/* The rules and texts of Mozilla's symbol server (Tecken) for uploads: which archives (version 1) and files
 * (version 2) it takes, and what it answers. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "base/view.h"

#include <stdbool.h>
#include <stdint.h>

/* The most members of one archive. */
#define TECKEN_MEMBERS_MOST (1u << 16)

/* Judges an archive by its name and by the names of its members. One wrong member refuses the archive. 0;
 * -EINVAL: `e` has Tecken's text. Others: errors of reading. */
int tecken_judge(struct view *v, const char *file_name, struct err *e);

/* Whether the server drops the member without a word: a list of symbols ("xul-symbols.txt"), or .DS_Store. */
bool tecken_ignores(const char *member);

/* The facts of an upload, for its answer. */
struct tecken_upload {
	uint64_t id, size;
	const char *file_name; /* of the archive */
	const char *bucket;
	const char *user;
	bool try;
	int64_t began, ended; /* wall clock */
	const struct buf *skipped; /* names of members that the server has already, each with a NUL */
	const struct buf *refused; /* likewise: a name and a reason in turns */
};

/* Writes the JSON of a 201. `refused_keys` is not in Tecken's answers. 0, -ENOMEM, -EFBIG. */
int tecken_answer(const struct tecken_upload *u, struct buf *out);

/* ---- version 2 ----------------------------------------------------------------------------------- */

#define TECKEN_FILES_MOST 1024 /* of one request */
#define TECKEN_NAME 512

/* A file that a client would send. */
struct tecken_file {
	char name[TECKEN_NAME]; /* "NAME/ID/FILE" */
	uint64_t size;		/* of the file, also if it is sent compressed */
	uint8_t md5[16];	/* likewise */
	const char *error;	/* why it is refused; NULL: it is not */
	bool packed;		/* the client shall compress it by gzip */
	bool here;		/* the server has it */
	char upload[33];	/* else: the key of its upload */
};

/* Reads a request, and finds names and digests that are wrong. 0; -EBADMSG: not such a request; -E2BIG: it has too
 * many files; -ENOMEM. On success the caller frees *out. */
int tecken_files_read(struct span body, struct tecken_file **out, unsigned *n);

/* Write the answers: where each file goes, with the query of the request (of `u` count id, user, try and began); what
 * a client may do, until when (wall clock; 0: no end); a complete file, with the size and MD5 of the bytes that came.
 * 0, -ENOMEM, -EFBIG. */
int tecken_begin_answer(const struct tecken_upload *u, const struct tecken_file *files, unsigned n,
	const char *address, const char *query, struct buf *out);
int tecken_auth_answer(const char *user, bool try, int64_t until, struct buf *out);
int tecken_object_answer(const char *bucket, const struct tecken_file *f, uint64_t size, const uint8_t md5[static 16],
	struct buf *out);
