/* The tokens of a server: which client may do what, until when, and in which namespace. A file holds them as
 * digests, so reading the file gives no token away:
 *
 *	# symfs tokens 1
 *	SHA256 NAME RIGHTS UNTIL NAMESPACE
 *
 * RIGHTS is a list such as "read,upload". UNTIL is "-" or a time such as 2027-01-01T00:00:00Z. Other lines that
 * begin with `#`, and empty lines, are comments. A file whose first line does not begin
 * with `#` is of an older version: that line is a bare token, the only one. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUTH_NAME 64		/* a name, with its NUL */
#define AUTH_SPACE 33		/* the name of a namespace, with its NUL */
#define AUTH_SECRET 65		/* a new token, with its NUL: 64 hexadecimal digits */
#define AUTH_SECRET_MOST 512	/* bytes of a token; a longer one is refused */
#define AUTH_TOKENS_MOST 10000	/* tokens in a file */
#define AUTH_PUBLIC "public"	/* the namespace that exists without tokens */
#define AUTH_RIGHTS_TEXT 32

/* A right, or a set of them. AUTH_UPLOAD includes AUTH_TRY: auth_allows(). */
enum auth_right {
	AUTH_READ = 1,	 /* files, lists, symbolication */
	AUTH_UPLOAD = 2, /* uploads of every class */
	AUTH_TRY = 4,	 /* uploads of the class "try" */
	AUTH_PURGE = 8,	 /* removal of files */
	AUTH_ADDED = 16	 /* with AUTH_PURGE: also of files that `symfs add` has pinned */
};

struct auth_token {
	uint8_t digest[32]; /* SHA-256 of the token */
	char name[AUTH_NAME];
	unsigned rights; /* a set of enum auth_right */
	int64_t until;	 /* wall clock; 0: no end */
	char space[AUTH_SPACE];
	unsigned line; /* in the file; 0: a bare token */
};

/* ---- a server's tokens ----------------------------------------------------------------- */

struct auth;

/* Reads the file. 0; -EINVAL: the file cannot be read, all users have access to it, or a line is broken; `e`
 * names file and line. -ENOMEM. */
int auth_open(struct auth **out, const char *path, struct err *e);
void auth_close(struct auth *a); /* NULL is fine */

/* Finds the token `secret`, n bytes. Reads the file anew if it has changed. If the new file is broken, logs that
 * once, and the earlier tokens stay. 0; -EACCES: no such token; -EKEYEXPIRED: the token's time is over. The time
 * of an answer reveals nothing about the tokens. Any thread. */
int auth_find(struct auth *a, const char *secret, size_t n, struct auth_token *out);

/* Finds a token that was found before, by its digest: whether it is still valid, and with which rights. As
 * auth_find(). */
int auth_find_again(struct auth *a, const struct auth_token *was, struct auth_token *out);

/* Calls `each` for every token, in the order of the file, which is not read anew. Stops when `each` returns
 * non-zero, and returns that. -ENOMEM. */
int auth_each(struct auth *a, int (*each)(void *ctx, const struct auth_token *t), void *ctx);

/* Whether a set of rights has a right. */
bool auth_allows(unsigned rights, enum auth_right right);

/* ---- the file ---------------------------------------------------------------------------- */

/* Makes a token with 256 random bits, and adds its line to the file, which is made (0600) if it is missing. Ignores
 * the digest of `t`. `replaces`: instead replaces the token of the name t->name, whose rights stay, and also its end
 * if t->until is 0. 0; -EEXIST: the name is taken; -ENOENT: there is no token to replace; -EINVAL: a bad name, a bad
 * namespace, a broken file, or the token would have ended already; -E2BIG: AUTH_TOKENS_MOST tokens; -errno. */
int auth_add(const char *path, const struct auth_token *t, bool replaces, char secret[static AUTH_SECRET],
	struct err *e);
/* Removes the line of a token. 0; -ENOENT: no token has the name; other errors as auth_add(). */
int auth_remove(const char *path, const char *name, struct err *e);

/* ---- words ------------------------------------------------------------------------------- */

/* Reads "read,upload". 0; -EINVAL: no right, or an unknown one. */
int auth_rights_parse(const char *text, unsigned *out);
const char *auth_rights_text(unsigned rights, char out[static AUTH_RIGHTS_TEXT]);
/* Letters, digits and `._@-`, at most 63. */
bool auth_name_ok(const char *name);
/* Lower-case letters, digits and `-`, at most 32; not a `-` first. It becomes the name of a directory. */
bool auth_space_ok(const char *name);
