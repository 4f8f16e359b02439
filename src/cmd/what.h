/* What a word of the command line names. The only place that turns words into artifacts: `get`, `why`, `best`,
 * `warm`, `cache` and `gsym lookup` take the same words. One thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "layout/tree.h"

#include <stdbool.h>

struct store;

enum what_kind {
	WHAT_PATH, /* of a layout, or inside a mount */
	WHAT_ID,   /* a build id, UUID or debug id alone */
	WHAT_KEY,  /* as `symfs cache ls` prints it */
	WHAT_FILE  /* a local file: the word stands for its module */
};

#define WHAT_MOST 16

struct what_opts {
	struct store *store; /* for identifiers: it knows the names of PE and PDB files */
	enum filetype type;  /* of --type; FILETYPE_NONE: the type that a path or a key has, else debug files */
	bool every;	     /* every file of the module is wanted, not only the debug file */
};

struct what {
	enum what_kind kind;
	char *path;	      /* under the mount, without leading slash; NULL: the word is not a path */
	struct tree_hit *hit; /* of `path`; NULL */
	struct module m;      /* what is known of the module */
	unsigned bits;	      /* of a file: 32, 64; 0: unknown */
	unsigned n;
	struct artifact files[WHAT_MOST]; /* the word means the first one that exists; with `every`, all */
};

/* Calls `each` for what the word names: once, or for each slice of a fat file. The word is, in this order: a
 * path of any layout, or inside a mount; an identifier; a key; a file. A word that begins with `/`, `./` or
 * `../`, and is not inside a mount, is always a file. 0, or the first other result of `each`. -ENOENT: the
 * word is none of these; -EINVAL: what it names has no file of that type; -ENOMSG, -EBADMSG: the file cannot be
 * identified; others: the file cannot be read. The text in `e` lacks the word. */
typedef int what_each(void *ctx, const struct what *w);
int what_named(const struct what_opts *o, const char *word, what_each *each, void *ctx, struct err *e);

/* Whether what_named() would read a local file. */
bool what_is_file(const char *word);

/* The exit status after what_named() failed: EXIT_NO, unless this machine is in trouble. */
int what_exit(int error);

/* The type of the option --type. 0; -EINVAL: there is no such type, `e` lists them. NULL is FILETYPE_NONE. */
int what_type(const char *word, enum filetype *out, struct err *e);
#define WHAT_TYPE_HELP "the type of the file, for instance elf_code"

/* A path under the mount that means the artifact. 0; -ENOENT: no layout has one; -ENOMEM. */
int what_tree_path(const struct artifact *a, char **out);
