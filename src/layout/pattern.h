/* The patterns of layouts, compiled: each prints paths, reads paths, and describes directories. Used by layout/ only. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "id/module.h"

#include <stdbool.h>

#define PATTERN_COMPONENTS 8

struct token;

/* What a pattern has between two slashes. Patterns share equal components. */
struct component {
	const char *text; /* its n characters in the table of layouts */
	size_t n;
	const struct token *tokens;
	unsigned n_tokens;
	size_t fixed;  /* characters of its tokens that have a fixed number of them */
	bool flexible; /* one token has any number */
};

struct pattern {
	const struct component *components[PATTERN_COMPONENTS];
	unsigned n;
	bool rest;    /* the last component is {path}, which takes all further components of a path, too */
	bool repeats; /* a value stands in several components, which must agree */
};

/* Makes tokens of a component. Returns their number, at most `room`. */
unsigned component_compile(const char *text, size_t n, struct component *c, struct token *tokens, unsigned room);
struct token *tokens_new(unsigned n); /* room for so many; NULL: no memory */
struct token *tokens_at(struct token *tokens, unsigned i);

/* Sets `repeats`, when the components are complete. */
void pattern_complete(struct pattern *p);

/* Adds the path of `m`. 0; -ENOENT: the module lacks a field of the pattern (then the bytes after the old
 * end of `out` are undefined); -ENOMEM, -EFBIG. */
int pattern_print(const struct pattern *pattern, const struct module *m, struct buf *out);

/* One component of a path, and what its bytes are. */
struct part {
	const char *p;
	size_t n;
	size_t hex;	/* hexadecimal digits at its beginning */
	bool bad;	/* has a control character, as no name has */
	bool backslash; /* has one: no base name */
};

/* Reads the component at the beginning of a path. Returns its end: a slash or the end of the path. */
const char *part_read(const char *path, struct part *out);
bool part_is_name(const struct part *part); /* as path_name_ok() */

/* Whether the component can be this part of a path by itself; other parts may contradict it. False for {path}. */
bool component_fits(const struct component *c, const struct part *part);

/* Reads the first n parts of a path, each of which fits the component in its place; {path} stands for all that
 * follows, whose components must be valid names. LAYOUT_FILE: *m has the fields. LAYOUT_DIR: the parts are the beginning
 * of a path. Both: {path} was read. LAYOUT_NONE: the parts contradict each other. Whatever the result, *m changes. */
unsigned pattern_read(const struct pattern *pattern, const struct part *parts, unsigned n, struct module *m);

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
	const struct component *component; /* NULL: the path is that of a file */
};

/* Describes a directory. 0; -ENOENT: no path of the pattern begins with `path` (every path begins with "");
 * -ENOMEM. */
int pattern_part(const struct pattern *pattern, const char *path, struct pattern_part *out);

/* Whether a name can be the component that `part` describes. */
bool pattern_accepts(const struct pattern_part *part, const char *name, size_t n);
