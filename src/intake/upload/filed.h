/* What became of the files that clients uploaded by Sentry's protocol, or by version 2 of Tecken's: a small file for
 * each, named by the SHA-1 of the uploaded file, or by a digest of its name, size and MD5. The store names files by
 * another digest. So this record is how a server knows, before any byte is sent, that it has a file already. Any
 * thread; all calls wait for the disk. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/hash.h"
#include "intake/upload/sentry.h"
#include "names/id/key.h"

#define FILED_KEYS_MOST 8

struct filed {
	struct sentry_dif dif;
	char detail[SENTRY_TEXT_MAX]; /* members of an archive that were refused; "": none */
	unsigned n;
	struct key keys[FILED_KEYS_MOST]; /* the first keys under which the file is found */
	char sha256[FILED_KEYS_MOST][SHA256_TEXT]; /* of the file of each key: another file may get the key */
};

/* `dir` is chunks_dir(). 0; -ENOENT: no record, or a damaged one; other -errno. */
int filed_read(const char *dir, const struct sha1 *sha1, struct filed *out);
int filed_write(const char *dir, const struct sha1 *sha1, const struct filed *f); /* 0, -errno */
void filed_remove(const char *dir, const struct sha1 *sha1);
