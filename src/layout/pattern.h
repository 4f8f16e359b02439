/* Reads and prints paths by one pattern of a layout. Used by layout/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "id/module.h"

#include <stdbool.h>

/* Adds the path of `m`. 0; -ENOENT: the module lacks a field of the pattern (then the bytes after the old
 * end of `out` are undefined); -ENOMEM, -EFBIG. */
int pattern_print(const char *pattern, const struct module *m, struct buf *out);

/* LAYOUT_FILE: the path matches the pattern, and *m has its fields. LAYOUT_DIR: the path is the beginning of
 * a path that can match. Both: the pattern ends in {path}. Whatever the result, *m changes. */
unsigned pattern_parse(const char *pattern, const char *path, struct module *m);

/* A directory according to one pattern: what its path says about the files below, and what the next
 * component consists of. */
struct pattern_part {
	char name[MODULE_NAME_MAX]; /* the file name in the path, as spelled there; "": no name */
	char prefix[CODE_ID_MAX + 1]; /* the first digits of the id, lower case */
	bool whole;		    /* `prefix` is the whole id, without an age */
	/* the next component */
	bool ends;	  /* the path is that of a file: no component follows */
	bool rest;	  /* the component is {path}, which takes all further components, too */
	size_t rest_at;	  /* offset in the path at which {path} began; 0: the path has nothing of it yet */
	bool by_name;	  /* the component contains a file name */
	bool by_digits;	  /* the component contains digits of the id */
	bool by_other;	  /* the component contains an age */
	bool by_case;	  /* the component is a section or a path, in which case matters */
	bool completes;	  /* with the component, the id is whole; else its first `digits` digits are known */
	size_t digits;
	const char *text; /* the component's n characters in the pattern */
	size_t n;
};

/* Describes a directory. 0; -ENOENT: no path of the pattern begins with `path` (every path begins with "");
 * -ENOMEM. */
int pattern_part(const char *pattern, const char *path, struct pattern_part *out);

/* Whether a name can be the component that `part` describes. */
bool pattern_accepts(const struct pattern_part *part, const char *name, size_t n);
