/* The rules and texts of Mozilla's symbol server (Tecken) for uploads, version 1: which archives it takes, and
 * what it answers. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
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
