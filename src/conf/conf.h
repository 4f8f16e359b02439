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
	char *file; /* where it stands; NULL: in the section's file */
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

/* Adds the sections of a file behind those that are there. -ENOENT: no such file (e is set);
 * -EINVAL: a mistake, `e` is "FILE:LINE: …". */
int conf_read(struct conf *c, const char *path, struct err *e);
int conf_read_text(struct conf *c, const char *file, const char *text, size_t n, struct err *e);

/* An empty section behind the others: what a command line says becomes one. NULL: no memory. */
struct conf_section *conf_add(struct conf *c, const char *kind, const char *name, const char *file);
int conf_set(struct conf_section *s, const char *name, const char *value, unsigned line);
/* The same, of an entry that stands in another file than the section. */
int conf_set_from(struct conf_section *s, const char *name, const char *value, const char *file,
	unsigned line);
/* The next section behind `s` of its kind and name; NULL. */
struct conf_section *conf_find_after(const struct conf_section *s);

const struct conf_section *conf_last(const struct conf *c); /* NULL: there is none */
/* Takes the sections of a kind behind `last` (NULL: all of that kind) out. */
void conf_drop_after(struct conf *c, const struct conf_section *last, const char *kind);
/* Says of the sections behind `last` (NULL: of all) that they come with the program. */
void conf_mark_presets(struct conf *c, const struct conf_section *last);
/* Puts an empty section in front of all others. NULL: no memory. */
struct conf_section *conf_add_first(struct conf *c, const char *kind, const char *name, const char *file);

/* The first section of a kind, or the next behind `after`; NULL past the last. */
const struct conf_section *conf_next(const struct conf *c, const char *kind,
	const struct conf_section *after);

/* NULL: not set. The last one set counts. */
const char *conf_get(const struct conf_section *s, const char *name);

/* Sections of any other kind than the two given are a mistake, with file and line. */
int conf_only(const struct conf *c, const char *const kinds[], struct err *e);

/* Sets defaults; conf_release() frees what fields own. `into` may be unset memory. */
int conf_defaults(const struct conf_field *fields, void *into);
/* Then what the section says. -EINVAL: unknown name or bad value, "FILE:LINE: …". */
int conf_fill(const struct conf_section *s, const struct conf_field *fields, void *into, struct err *e);
/* The same for several structs: the first part with a key of that name takes the value. Ends with NULL fields. */
struct conf_part {
	const struct conf_field *fields;
	void *into;
};
int conf_fill_parts(const struct conf_section *s, const struct conf_part *parts, struct err *e);
void conf_release(const struct conf_field *fields, void *into);

/* One value into one field: `where` begins the message. */
int conf_value(const struct conf_field *f, const char *value, void *into, const char *where,
	struct err *e);
/* Adds a copy to a list as CONF_LIST has them, which ends with NULL. 0, -ENOMEM. */
int conf_list_add(char ***list, const char *value);
void conf_list_free(char **list); /* NULL is fine */
const struct conf_field *conf_field_find(const struct conf_field *fields, const char *name);
