/* Shared by the files of auth/: the list of tokens as it is in the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "auth/tokens.h"

#define TOKENS_MAGIC "# symfs tokens 1"
#define TOKENS_BYTES (4 << 20) /* the largest file */

struct token_list {
	struct auth_token *tokens; /* ordered by digest */
	unsigned n;
	bool bare; /* the file holds one bare token */
};

/* Parses the text of a file; `path` is for messages. 0; -EINVAL: `e` names the line; -ENOMEM. The caller
 * releases the list. */
int tokens_parse(struct token_list *out, const char *path, const char *text, struct err *e);
void tokens_release(struct token_list *l);

/* Reads a file of tokens, a regular one, that no other user may write, nor replace in its directory, nor read outside
 * its group. `serve`: it must belong to root or to this process's user. The caller frees *out. 0, -ENOENT, other
 * -errno; `e` has the reason. */
int tokens_read(const char *path, bool serve, char **out, struct err *e);
