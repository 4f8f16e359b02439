/* The mount as one tree: what a path under the mount point means, without asking a source. A directory
 * exists if its path can be the beginning of a key. A file may exist if its path has a meaning in some
 * layout. Pure functions, any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "names/layout/layout.h"

enum tree_what {
	TREE_NONE,	/* the path has no meaning in any layout: ENOENT, without asking any source */
	TREE_DIR,
	TREE_LEAF,	/* one of `files` */
	TREE_EITHER,	/* in debuginfod's source/ and in source/ a path can be a LEAF or a DIR. The mount decides by
			   `file_like`. Over HTTP it is a LEAF, because clients ask for files only */
	TREE_LINK,	/* `text` is the target */
	TREE_TEXT,	/* a file whose content is `text` */
	TREE_STATE,	/* under .symfs: `rest` is the path there ("" for the directory itself) */
	TREE_TOLD	/* a link or text generated from what symfs knows about one of `files`: see `told` */
};

enum tree_told {
	TOLD_LINK,  /* tree_link() */
	TOLD_PLIST, /* a bundle's Info.plist */
	TOLD_META   /* unified: a short text about the file next to it */
};

enum tree_gsym {
	TREE_GSYM_NONE,
	TREE_GSYM_V1,
	TREE_GSYM_OBJECT /* GSYM inside an object file */
};

struct key;

struct tree_hit {
	enum tree_what what;
	const struct layout *layout; /* the layout whose folder has the path; NULL at the root */
	const char *rest;	     /* points into the path that was given */
	const char *text;	     /* static, or in `target` */
	char target[CODE_ID_MAX + 16];
	bool file_like;		     /* TREE_EITHER: the last component looks like the name of a source file */
	bool else_dir;		     /* TREE_LEAF: without such a file, the path is a directory of another
					layout */
	enum tree_told told;
	enum tree_gsym gsym; /* TREE_LEAF: the path is that of GSYM made from one of `files`;
				TREE_GSYM_NONE: it is that of one of `files` itself */
	unsigned n;
	struct artifact files[LAYOUT_CANDIDATES];
};

/* `path` has no leading slash; "" is the root. */
void tree_parse(const char *path, struct tree_hit *out);

/* Whether the path is that of a file or of a link to a file. False for texts about a file, and for GSYM. */
bool tree_names_file(const struct tree_hit *hit);

/* The nth of the fixed entries of a directory (`path` "", "symstore2", "symstore2/000Admin"), for
 * readdir. NULL: there are no more. `what` may be NULL. */
const char *tree_entry(const char *path, unsigned nth, enum tree_what *what);

/* Whether a layout's folder has a link for files of this type. */
bool tree_is_link(const struct layout *l, enum filetype t);

/* PATH of "gsym/PATH"; "" for "gsym" itself. NULL: the path is not in gsym/. */
const char *tree_mirrored(const char *path);

/* Chooses the file to make GSYM from, among the n files that a path under gsym/ can mean. `found` is the key
 * of the one that exists. A debug file and its program make the same GSYM. So if `found` has another type
 * than files[0], the choice is the first file of its platform. */
const struct artifact *tree_gsym_input(const struct artifact *files, unsigned n, const struct key *found);

/* Whether the subdirectories of a directory in a layout's folder are links. `rest`: as in struct
 * tree_hit. */
bool tree_links_dirs(const struct layout *l, const char *rest);

/* Writes a path that means the artifact over what `path` has, such as "gdb/.build-id/ab/cd.debug". 0, -ENOMEM;
 * -ENOENT: no layout has such a path. */
int tree_path(const struct artifact *a, struct buf *path);

/* Canonical paths in the mount. tree_link(): the link of a dSYM, and its target as seen from the link.
 * tree_plist(): the Info.plist of the dSYM's bundle. 0; -ENOENT: the artifact has no UUID; -ENOMEM,
 * -EFBIG. */
int tree_link(const struct artifact *a, struct buf *path, struct buf *target);
int tree_plist(const struct artifact *a, struct buf *path);
