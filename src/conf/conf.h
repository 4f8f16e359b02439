/* Reads symfs.conf: sections of lines `name = value`. A module describes its options in a const table, and
 * conf fills the module's struct. Every error names the file and the line.
 *
 *	# comment, also ; comment
 *	[symfs]
 *	lookup-deadline = 10s
 *	[source "microsoft"]
 *	url = https://…
 *
 * In names, `-` and `_` are the same, and case does not matter. A value ends with the line. Blanks around
 * a value are removed; "…" keeps them. Files are at most 1 MiB, lines 8 KiB. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conf_type {
	CONF_BOOL,  /* bool: yes no true false on off 1 0 */
	CONF_SIZE,  /* uint64_t, bytes: 512M 10G 1T (powers of 1024); "none" is 0 */
	CONF_MS,    /* unsigned, milliseconds: 500ms 10s 5m 1h 1d; a bare number is seconds */
	CONF_SECONDS, /* int64_t, seconds; written as for CONF_MS */
	CONF_COUNT, /* unsigned */
	CONF_TEXT,  /* char *, freed by conf_release() */
	CONF_LIST   /* char **, ends with NULL: each line `name = value` adds an element */
};

struct conf_field {
	const char *name;
	enum conf_type type;
	size_t offset;
	const char *def;  /* the default, as text; NULL: the field becomes NULL, 0 or false */
	const char *help; /* one line */
};

struct conf;

struct conf_entry {
	char *name, *value;
	char *file; /* the file that contains the entry; NULL: the section's file */
	unsigned line;
	struct conf_entry *next;
};

struct conf_section {
	char *kind, *name; /* [kind "name"]; name "" when there is none */
	char *file;
	unsigned line;
	bool preset; /* the section comes with the program; see conf_mark_presets() */
	struct conf_entry *entries; /* in the order of the file */
	struct conf_section *next;
};

int conf_new(struct conf **out);
void conf_free(struct conf *c);

/* Appends the sections of the n bytes `text`, which messages call `path`; `text` NULL: of the file `path`. -ENOENT:
 * no such file (e is set); -EINVAL: a mistake, `e` is "FILE:LINE: …". */
int conf_read(struct conf *c, const char *path, const char *text, size_t n, struct err *e);

/* Adds an empty section, for instance for the command line, behind all others or as the first. NULL: out of
 * memory. */
struct conf_section *conf_add(struct conf *c, const char *kind, const char *name, const char *file, bool first);
/* Appends an entry to the section; `line` 0: the entry is from no file. 0, -ENOMEM. */
int conf_set(struct conf_section *s, const char *name, const char *value, unsigned line);
/* As conf_set(), for an entry from another file than its section's. */
int conf_set_from(struct conf_section *s, const char *name, const char *value, const char *file,
	unsigned line);
/* The next section after `s` with the same kind and name, or NULL. */
struct conf_section *conf_find_after(const struct conf_section *s);

const struct conf_section *conf_last(const struct conf *c); /* NULL: there is none */
/* Removes the sections of a kind that come after `last` (NULL: all of that kind). */
void conf_drop_after(struct conf *c, const struct conf_section *last, const char *kind);
/* Marks the sections after `last` (NULL: all) as presets, which come with the program. */
void conf_mark_presets(struct conf *c, const struct conf_section *last);

/* The first section of a kind, or the next one after `after`; NULL: no more. */
const struct conf_section *conf_next(const struct conf *c, const char *kind,
	const struct conf_section *after);

/* The first section of a kind with this name; NULL: the configuration has no such section. */
const struct conf_section *conf_find(const struct conf *c, const char *kind, const char *name);

/* The value of the last entry with this name; NULL: not set. */
const char *conf_get(const struct conf_section *s, const char *name);

/* -EINVAL: the kind of a section is not in the list; `e` has file and line. */
int conf_only(const struct conf *c, const char *const kinds[], struct err *e);

/* Sets all fields to their defaults; conf_release() frees what the fields own. `into` may be
 * uninitialized. */
int conf_defaults(const struct conf_field *fields, void *into);
/* Sets the fields that the section names. -EINVAL: unknown name or bad value, "FILE:LINE: …". */
int conf_fill(const struct conf_section *s, const struct conf_field *fields, void *into, struct err *e);
/* As conf_fill(), for several structs: an entry goes to the first part that has a key of that name. The
 * last element of the array has `fields` NULL. */
struct conf_part {
	const struct conf_field *fields;
	void *into;
};
int conf_fill_parts(const struct conf_section *s, const struct conf_part *parts, struct err *e);
void conf_release(const struct conf_field *fields, void *into);

/* Sets one field from the text of a value. `where` begins the error message. 0, -EINVAL, -ENOMEM. */
int conf_value(const struct conf_field *f, const char *value, void *into, const char *where,
	struct err *e);
/* Appends a copy of `value` to a list in the form of CONF_LIST. 0, -ENOMEM. */
int conf_list_add(char ***list, const char *value);
void conf_list_free(char **list); /* NULL is fine */
const struct conf_field *conf_field_find(const struct conf_field *fields, const char *name);
