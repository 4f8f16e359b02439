/* Turns words of the command line into artifacts. All commands use this code, so `get`, `why`, `best`, `warm`,
 * `cache` and `gsym lookup` take the same words. These functions are for one thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "names/layout/tree.h"

#include <stdbool.h>

struct store;

enum what_kind {
	WHAT_PATH, /* a path of a layout, or a path inside a mount */
	WHAT_ID,   /* a build id, UUID or debug id alone */
	WHAT_KEY,  /* a key in the form that `symfs cache ls` prints */
	WHAT_FILE, /* a local file: the word means the file's module */
	WHAT_DUMP  /* a core file or a minidump: the word means each of its modules */
};

#define WHAT_MOST 16

struct what_opts {
	struct store *store; /* used for identifiers: the store knows the names of PE and PDB files */
	enum filetype type;  /* the value of --type; FILETYPE_NONE: the type of the path or key, else debug files */
	bool every;	     /* every file of the module is wanted, not only the debug file */
	bool dumps;	     /* a core file or a minidump means its modules; `n` is 0 if one has no identifier */
	bool nameless;	     /* so it is for a file without an identifier */
	bool names;	     /* of a module of a dump, also the Breakpad file, from which symbolicate takes names */
};

struct what {
	enum what_kind kind;
	char *path;	      /* under the mount, without leading slash; NULL: the word is not a path */
	struct tree_hit *hit; /* the meaning of `path`; NULL: the word is not a path */
	const char *name;     /* of WHAT_DUMP: the path of the module, for messages */
	struct module m;      /* the known identifiers and names of the module */
	unsigned bits;	      /* 32 or 64, the architecture of a local file; 0: unknown, or not a local file */
	unsigned n;	      /* the number of `files` */
	/* the word means the first of these that exists; with `every`, all of them */
	struct artifact files[WHAT_MOST];
};

/* Calls `each` once, or for each slice of a fat file or each module of a dump. The word is tried as a path of a
 * layout or inside a mount, then as an identifier, then as a key, then as a file. A word that begins with `/`, `./`
 * or `../`, and is not inside a mount, is always a file. 0, or the first other result of `each`. -ENOENT: the word is
 * neither a path, an identifier, a key nor a file; -EINVAL: the module has no file of the wanted type; -ENOMSG,
 * -EBADMSG: the file cannot be identified; other -errno: the file cannot be read. The text in `e` does not contain
 * the word. */
typedef int what_each(void *ctx, const struct what *w);
int what_named(const struct what_opts *o, const char *word, what_each *each, void *ctx, struct err *e);

/* what_named() for the path of a local file. -ENOMSG: the file is of another kind. */
int what_file(const struct what_opts *o, const char *path, what_each *each, void *ctx, struct err *e);

/* Whether what_named() would take the word for a local file, or for a directory. */
bool what_is_file(const char *word);
bool what_is_dir(const char *word);

/* The exit status for an error of what_named(): EXIT_NO, unless the error is a problem of this machine. */
int what_exit(int error);

/* Reads the value of --type; NULL gives FILETYPE_NONE. 0; -EINVAL: there is no such type, and `e` lists the
 * types. */
int what_type(const char *word, enum filetype *out, struct err *e);
#define WHAT_TYPE_HELP "the type of the file, for instance elf_code"

/* Finds a path under the mount that means the artifact. 0; -ENOENT: no layout has such a path; -ENOMEM. */
int what_tree_path(const struct artifact *a, char **out);
