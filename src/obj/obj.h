/* What a file says it is. One file per format reads through views (base/view.h), bounded, never
 * crashing on a broken file (private.h); formats.c holds the table. Any thread; nothing is kept. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"
#include "id/key.h"

enum obj_kind { OBJ_NONE, OBJ_EXECUTABLE, OBJ_LIBRARY, OBJ_DEBUG, OBJ_OBJECT, OBJ_SOURCES, OBJ_OTHER };

enum obj_features {
	OBJ_HAS_SYMTAB = 1,  /* a symbol table, the dynamic one counts */
	OBJ_HAS_DEBUG = 2,   /* DWARF or what the format has */
	OBJ_HAS_UNWIND = 4,
	OBJ_HAS_SOURCES = 8,
	OBJ_HAS_CODE = 16    /* the machine code itself, not only its section headers */
};

struct obj_slice {
	const char *format; /* "elf": static */
	const char *arch;   /* "x86_64", "arm64", "unknown": static */
	enum obj_kind kind;
	unsigned features;
	bool big_endian;
	struct module module; /* object type, ids; the names that stand in the file itself */
	enum filetype types[4]; /* what it may be served as, best first */
	unsigned n_types;
	uint64_t off, size; /* where in the file */
	bool package;	    /* of ELF: split debug information of many units */
};

/* How readers walk through a file of which they read parts. */
#define OBJ_TABLES_MOST 12
struct obj_span {
	uint64_t off, n;
};
struct obj_walk {
	unsigned n_tables;
	struct obj_span tables[OBJ_TABLES_MOST]; /* each is read from front to back */
	struct obj_span units; /* units, of which readers read the heads; n 0: none, or no table lists them */
};

/* Slice `index` (0 first) of a file. 0: `out` is filled. -ENOMSG: no format claims the file.
 * -EBADMSG: one does, and the file is broken or cut short: `e` says how. -ENOENT: past the
 * last slice. -EAGAIN: the view lacks bytes, v->want_off and want_len say which; ask again. */
int obj_identify(struct view *v, unsigned index, struct obj_slice *out, struct err *e);

/* Whether the first bytes of a file can begin a `t`; n bytes, at least OBJ_HEAD unless the file
 * is shorter. Sources and sections can be anything. */
#define OBJ_HEAD 64
bool obj_may_be(enum filetype t, const void *head, size_t n);

/* Identifiers of such types are in their keys alone, so no file can be held against one. */
bool obj_is_anonymous(enum filetype t);

/* Whether a reader of this folder reads files of the type. */
bool obj_reads(enum filetype t);

/* Is the file what the key asked for? 1: yes (MATCH). 0: its identity cannot tell, by
 * specification (sources, sections). -EBADMSG: no (another build, HTML, broken, cut short): `e`
 * says what it is instead. -EAGAIN: the view lacks bytes. Others: the disk. With 1, `out` is
 * the slice that matched. */
int obj_check(struct view *v, const struct key *k, struct obj_slice *out, struct err *e);

/* Of a file that obj_check() refused: is it of the same build, and of another use? Then `own` is its key,
 * if that is not NULL. False for a part of a file. */
bool obj_is_other_use(struct view *v, const struct key *k, struct key *own);

/* For a view that obj_check() is not through with: does the file say at its front that it is what
 * the key asked for, and of that use? Then only bytes that contradict what stands there could prove
 * it wrong. */
bool obj_promises(struct view *v, const struct key *k);

/* Whether readers of a `t` read parts of the file, which tables in it lead to. 1; 0: they read most of
 * it. -EAGAIN: the view lacks bytes. */
int obj_is_sparse(struct view *v, enum filetype t);
/* Where its tables are. 0; -EAGAIN; -ENOENT: unknown. */
int obj_walk(struct view *v, struct obj_walk *out);
/* Where the units of obj_walk() begin, ascending, by what the file's index says: hints, not proved. How
 * many, up to `most`; -EAGAIN; -ENOENT. */
int obj_heads(struct view *v, uint64_t *heads, unsigned most);

/* The keys that a slice answers to by what its own bytes say; the names are those in its module.
 * The key of an ELF file with a build id is the build id: a request with only the debug id finds that first. */
#define OBJ_KEYS_MOST 8
unsigned obj_keys(const struct obj_slice *s, struct key keys[static OBJ_KEYS_MOST]);

/* Takes a map's UUID from its file name, where the file itself has none. 0; -ENOENT: not a map, or its name
 * is not a UUID. */
int obj_take_uuid(struct obj_slice *s, const char *base);
/* The same, and takes the module's names from the file name, without an ending such as `.debug`. A name that
 * servers give to every file ("debuginfo"), or an id, is not taken. */
void obj_take_name(struct obj_slice *s, const char *base);
/* The same, and fills in what follows: the debug id, and the program's name as the debug file's. Then each
 * kind of server can be asked for the files of the module. */
void obj_complete(struct obj_slice *s, const char *base);

const char *obj_kind_name(enum obj_kind k); /* "executable" "library" "debug" "object" "sources" "other" */

/* "symtab,debug,unwind" or "none"; the words of `symfs id`. */
const char *obj_features_text(unsigned features, char out[static 64]);

/* The name at the end of a path of either kind; "" when it can be no name. */
void obj_base_name(char out[static MODULE_NAME_MAX], const char *p, size_t n);
