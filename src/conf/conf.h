/* symfs.conf: sections of `name = value`. A module states its options as a const table and gets
 * a filled struct back; conf knows no module. Every mistake is reported with file and line.
 *
 *	# comment, also ; comment
 *	[symfs]
 *	lookup-deadline = 10s
 *	[source "microsoft"]
 *	url = https://…
 *
 * Names: `-` and `_` are the same, case does not matter. A value goes to the end of the line,
 * blanks around it do not count; "…" keeps them. Files are at most 1 MiB, lines 8 KiB. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conf_type {
	CONF_BOOL,  /* bool: yes no true false on off 1 0 */
	CONF_SIZE,  /* uint64_t, bytes: 512M 10G 1T (1024), none = 0 */
	CONF_MS,    /* unsigned, milliseconds: 500ms 10s 5m 1h 1d; a bare number is seconds */
	CONF_SECONDS, /* int64_t, the same words */
	CONF_COUNT, /* unsigned */
	CONF_TEXT,  /* char *, free() it */
	CONF_LIST   /* char **, NULL at the end: each `name = value` adds one */
};

struct conf_field {
	const char *name;
	enum conf_type type;
	size_t offset;
	const char *def;  /* the default in words; NULL: none (NULL, 0, false) */
	const char *help; /* one line */
};

struct conf;

struct conf_entry {
	char *name, *value;
	char *file; /* the file that contains it; NULL: the section's file */
	unsigned line;
	struct conf_entry *next;
};

struct conf_section {
	char *kind, *name; /* [kind "name"]; name "" when there is none */
	char *file;
	unsigned line;
	bool preset; /* it comes with the program: conf_mark_presets() */
	struct conf_entry *entries; /* in order */
	struct conf_section *next;
};

int conf_new(struct conf **out);
void conf_free(struct conf *c);

/* Appends the sections of a file. -ENOENT: no such file (e is set); -EINVAL: a mistake, `e` is
 * "FILE:LINE: …". */
int conf_read(struct conf *c, const char *path, struct err *e);
int conf_read_text(struct conf *c, const char *file, const char *text, size_t n, struct err *e);

/* Appends an empty section, for instance for the command line. NULL: out of memory. */
struct conf_section *conf_add(struct conf *c, const char *kind, const char *name, const char *file);
int conf_set(struct conf_section *s, const char *name, const char *value, unsigned line);
/* The same for an entry from another file than its section's. */
int conf_set_from(struct conf_section *s, const char *name, const char *value, const char *file,
	unsigned line);
/* The next section after `s` with the same kind and name, or NULL. */
struct conf_section *conf_find_after(const struct conf_section *s);

const struct conf_section *conf_last(const struct conf *c); /* NULL: there is none */
/* Removes the sections of a kind that come after `last` (NULL: all of that kind). */
void conf_drop_after(struct conf *c, const struct conf_section *last, const char *kind);
/* Marks the sections after `last` (NULL: all) as presets, which come with the program. */
void conf_mark_presets(struct conf *c, const struct conf_section *last);
/* Inserts an empty section before all others. NULL: out of memory. */
struct conf_section *conf_add_first(struct conf *c, const char *kind, const char *name, const char *file);

/* The first section of a kind, or the next one after `after`; NULL: no more. */
const struct conf_section *conf_next(const struct conf *c, const char *kind,
	const struct conf_section *after);

/* The value of the last entry with this name; NULL: not set. */
const char *conf_get(const struct conf_section *s, const char *name);

/* -EINVAL: the kind of a section is not in the list; `e` has file and line. */
int conf_only(const struct conf *c, const char *const kinds[], struct err *e);

/* Sets defaults; conf_release() frees what fields own. `into` may be unset memory. */
int conf_defaults(const struct conf_field *fields, void *into);
/* Sets the fields that the section names. -EINVAL: unknown name or bad value, "FILE:LINE: …". */
int conf_fill(const struct conf_section *s, const struct conf_field *fields, void *into, struct err *e);
/* The same for several structs: an entry goes to the first part that has a key of that name. The array
 * ends with NULL fields. */
struct conf_part {
	const struct conf_field *fields;
	void *into;
};
int conf_fill_parts(const struct conf_section *s, const struct conf_part *parts, struct err *e);
void conf_release(const struct conf_field *fields, void *into);

/* One value into one field: `where` begins the message. */
int conf_value(const struct conf_field *f, const char *value, void *into, const char *where,
	struct err *e);
/* Adds a copy of `value` to a list as CONF_LIST has it, which ends with NULL. 0, -ENOMEM. */
int conf_list_add(char ***list, const char *value);
void conf_list_free(char **list); /* NULL is fine */
const struct conf_field *conf_field_find(const struct conf_field *fields, const char *name);
