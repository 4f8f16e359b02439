/* The mount as one tree: what a path under the mount point is. No source is asked: a directory
 * exists when its path can be the beginning of a key, a file may exist when some layout can
 * mean it. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "layout/layout.h"

enum tree_what {
	TREE_NONE,	/* no layout can mean it: ENOENT, without asking any source */
	TREE_DIR,
	TREE_LEAF,	/* one of `files` */
	TREE_EITHER,	/* LEAF or DIR: under debuginfod's source/ only the source, or the kind of request, decides */
	TREE_LINK,	/* `text` is the target */
	TREE_TEXT,	/* a file whose content is `text` */
	TREE_STATE,	/* under .symfs: `rest` is the path there ("" for the directory itself) */
	TREE_TOLD	/* a link or a text made of what is known of one of `files`: `told` */
};

enum tree_told {
	TOLD_LINK,  /* tree_link() */
	TOLD_PLIST, /* a bundle's Info.plist */
	TOLD_META   /* unified: a few words about the file beside it */
};

enum tree_gsym {
	TREE_GSYM_NONE,
	TREE_GSYM_V1,
	TREE_GSYM_OBJECT /* the form that lies in an object file */
};

struct key;

struct tree_hit {
	enum tree_what what;
	const struct layout *layout; /* whose folder it is in; NULL at the root */
	const char *rest;	     /* points into the path that was given */
	const char *text;	     /* static, or in `target` */
	char target[CODE_ID_MAX + 16];
	bool file_like;		     /* TREE_EITHER: its last name looks like that of a source file */
	bool else_dir;		     /* TREE_LEAF: where there is no such file, a directory of another layout */
	enum tree_told told;
	enum tree_gsym gsym; /* TREE_LEAF: what is made of one of `files`, and not one of them */
	unsigned n;
	struct artifact files[LAYOUT_CANDIDATES];
};

/* `path` has no leading slash; "" is the root. */
void tree_parse(const char *path, struct tree_hit *out);

/* Whether the path is that of a file or of a link to a file. False for texts about a file, and for GSYM. */
bool tree_names_file(const struct tree_hit *hit);

/* The fixed entries of a directory (`path` "", "symstore2", "symstore2/000Admin"), for readdir: the nth, NULL past the last. `what` may be NULL. */
const char *tree_entry(const char *path, unsigned nth, enum tree_what *what);

/* Whether a layout's folder has a link for files of this type. */
bool tree_is_link(const struct layout *l, enum filetype t);

/* Of "gsym/PATH", and "gsym" itself: PATH. NULL: it is not in gsym/. */
const char *tree_mirrored(const char *path);

/* Of the n files that a path under gsym/ can mean: which one GSYM is made of when `found` exists. A debug file
 * and its program make the same GSYM, so a key of another type than the first file's means the first file. */
const struct artifact *tree_gsym_input(const struct artifact *files, unsigned n, const struct key *found);

/* Whether the directories in a directory of a layout's folder are links. `rest`: as tree_parse() has it. */
bool tree_links_dirs(const struct layout *l, const char *rest);

/* Paths in the mount, canonical. Of the link of a dSYM, and where it leads seen from there; of its
 * bundle's Info.plist. 0, -ENOENT: it has no UUID; -ENOMEM, -EFBIG. */
int tree_link(const struct artifact *a, struct buf *path, struct buf *target);
int tree_plist(const struct artifact *a, struct buf *path);
