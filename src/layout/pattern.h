/* Reads and prints one layout pattern. Known to layout.c alone. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "id/module.h"

#include <stdbool.h>

/* Adds the path of `m`. 0; -ENOENT: the module lacks a field of the pattern (then `out` is
 * unspecified past its old end); -ENOMEM, -EFBIG. */
int pattern_print(const char *pattern, const struct module *m, struct buf *out);

/* LAYOUT_FILE: the path is one of the pattern, and *m holds its fields. LAYOUT_DIR: it can be
 * the beginning of one. Both: the pattern ends in {path}. `m` is changed in any case. */
unsigned pattern_parse(const char *pattern, const char *path, struct module *m);

/* A directory, seen from one pattern: what its path says of the files below, and what the next
 * component is made of. */
struct pattern_part {
	char name[MODULE_NAME_MAX]; /* what the path says: a file name, as spelled there, or "" */
	char prefix[CODE_ID_MAX + 1]; /* the first digits of the id, lower case */
	bool whole;		    /* all of them but for an age */
	/* the next component */
	bool ends;	  /* the path is that of a file: it has no further part */
	bool rest;	  /* it takes the rest of the path, slashes and all, as do those behind it */
	size_t rest_at;	  /* where that began in the path; 0: nothing of it stands there yet */
	bool by_name;	  /* it has a file name in it */
	bool by_digits;	  /* digits of the prefix */
	bool by_other;	  /* an age */
	bool by_case;	  /* a section, a path: upper and lower case differ */
	bool completes;	  /* and then the prefix is whole; else `digits` are known */
	size_t digits;
	const char *text; /* in the pattern */
	size_t n;
};

/* 0; -ENOENT: the path is not the beginning of one of the pattern. "" is one of any. */
int pattern_part(const char *pattern, const char *path, struct pattern_part *out);

/* Whether a name can be the component that `part` describes. */
bool pattern_accepts(const struct pattern_part *part, const char *name, size_t n);
