/* Reads and prints paths by one pattern of a layout. Used by names/layout/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "names/id/module.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds the path of `m`, if `lower` with file names in lower case. 0; -ENOENT: the module lacks a field of the pattern
 * (then the bytes after the old end of `out` are undefined); -ENOMEM, -EFBIG. */
int pattern_print(const char *pattern, const struct module *m, bool lower, struct buf *out);

#define PATTERN_COMPONENTS 8

struct component;

/* A pattern as paths are read by it. */
struct pattern {
	const struct component *components[PATTERN_COMPONENTS]; /* patterns share equal components */
	uint8_t n;
	bool rest;    /* the last component is {path}, which takes all further components of a path, too */
	bool repeats; /* a value stands in several places, which must agree */
};

/* `out` is zeroed. Not for several threads at once. */
void pattern_compile(const char *text, struct pattern *out);

/* One component of a path, and what its bytes are. */
struct path_part {
	const char *p;
	size_t n;
	size_t hex;	/* hexadecimal digits at its beginning */
	bool bad;	/* has a control character, as no name has */
	bool backslash; /* has one: no base name */
};

/* Reads the component at the beginning of a path. Returns its end: a slash or the end of the path. */
const char *path_part_read(const char *path, struct path_part *out);
bool path_part_is_name(const struct path_part *part); /* as path_name_ok() */

/* Whether the component can be this part of a path by itself; other parts may contradict it. False for {path}. */
bool component_fits(const struct component *c, const struct path_part *part);

/* Reads the n parts of a path, each of which fits the component in its place; {path} stands for all that follow,
 * which must be valid names. LAYOUT_FILE: *m has the fields. LAYOUT_DIR: the parts are the beginning of a path. Both:
 * {path} was read. LAYOUT_NONE: the parts contradict each other. Whatever the result, *m changes. */
unsigned pattern_read(const struct pattern *pattern, const struct path_part *parts, unsigned n, struct module *m);

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
	const struct component *component;
	const char *text; /* its n characters in the pattern */
	size_t n;
};

/* Describes a directory. 0; -ENOENT: no path of the pattern begins with `path` (every path begins with "");
 * -ENOMEM. */
int pattern_part(const struct pattern *pattern, const char *path, struct pattern_part *out);

/* Whether a name can be the component that `part` describes. */
bool pattern_accepts(const struct pattern_part *part, const char *name, size_t n);
