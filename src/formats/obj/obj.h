/* Reads from a file what it is: its format, kind and identifiers. Each format has a reader (private.h) in
 * its own source file, and a row in formats.c. A reader sees the file through a view (base/view.h), checks
 * every offset, and expects broken files. Any thread; keeps no state. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/err.h"
#include "base/view.h"
#include "names/id/key.h"
#include "names/id/worth.h"

enum obj_kind { OBJ_NONE, OBJ_EXECUTABLE, OBJ_LIBRARY, OBJ_DEBUG, OBJ_OBJECT, OBJ_SOURCES, OBJ_OTHER };

struct obj_slice {
	const char *format; /* "elf": static */
	const char *arch;   /* "x86_64", "arm64", "unknown": static */
	enum obj_kind kind;
	struct worth worth;
	bool code; /* it has the machine code itself, not only its section headers */
	bool big_endian;
	struct module module; /* object type, ids, and the names that the file contains */
	enum filetype types[4]; /* the types that it can serve as, best first */
	unsigned n_types;
	uint64_t off, size; /* place in the file, in bytes */
	bool package;	    /* of ELF: split debug information of many units */
};

/* How a debugger that reads only parts of a file walks through them. */
#define OBJ_TABLES_MOST 12
struct obj_span {
	uint64_t off, n;
};
struct obj_walk {
	unsigned n_tables;
	struct obj_span tables[OBJ_TABLES_MOST]; /* the debugger reads each from front to back */
	struct obj_span units; /* the debugger reads the head of each unit; n 0: no units, or no table lists them */
};

/* Slice `index` (0 first) of a file. 0: `out` is filled. -ENOMSG: no format claims the file.
 * -EBADMSG: a format claims it, but the file is broken or cut short: `e` says how. -ENOENT: past the
 * last slice. -EAGAIN: the view lacks the bytes of v->want_off and want_len; call again with them. */
int obj_identify(struct view *v, unsigned index, struct obj_slice *out, struct err *e);

/* The command that unpacks a file with these first bytes, such as "gzip -dc"; NULL: it is not packed. */
const char *obj_unpacker(struct view *v);

/* Whether a file of type `t` can begin with these n bytes. n is at least OBJ_HEAD, or the size of a shorter
 * file. Source files and sections can begin with any bytes. */
#define OBJ_HEAD 64
bool obj_may_be(enum filetype t, const void *head, size_t n);

/* Whether files of the type do not contain their identifier, so that a file cannot be checked against it. */
bool obj_is_anonymous(enum filetype t);

/* Whether a reader of this folder reads files of the type. */
bool obj_reads(enum filetype t);

/* Whether the file is what the key asks for. 1: yes, and `out` is the slice that matched. 0: unknown, because
 * files of this type have no identifier (sources, sections). -EBADMSG: no (another build, HTML, broken,
 * cut short), and `e` says what it is instead. -EAGAIN: the view lacks bytes. Others: errors of the disk. */
int obj_check(struct view *v, const struct key *k, struct obj_slice *out, struct err *e);

/* Whether a file that obj_check() refused is of the same build, but of another use (the stripped program in
 * place of the debug file). If so, `*own` (may be NULL) is its key. False if the first slice is not the
 * whole file. */
bool obj_is_other_use(struct view *v, const struct key *k, struct key *own);

/* For use after obj_check() returned -EAGAIN. Whether the front of the file already shows the build and the
 * use that the key asks for. If so, the file can be wrong only if the missing bytes contradict its front. */
bool obj_promises(struct view *v, const struct key *k);

/* Whether debuggers read only parts of a file of type `t`, which they find by tables in it. 1: yes. 0: they
 * read most of it. -EAGAIN: the view lacks bytes. */
int obj_is_sparse(struct view *v, enum filetype t);
/* Finds the tables and the units of the file. 0; -EAGAIN; -ENOENT: unknown. */
int obj_walk(struct view *v, struct obj_walk *out);
/* Reads from the file's index where the units of obj_walk() begin. These offsets are only hints: the index
 * may be wrong, and need not be sorted. Returns their number, up to `most`; -EAGAIN: the view lacks bytes;
 * -ENOENT: unknown. */
int obj_heads(struct view *v, uint64_t *heads, unsigned most);

/* Makes the keys that the slice is found by, from its module. Returns their number. An ELF file with a build
 * id has only the key of its build id, because a request with the debug id looks the build id up. */
#define OBJ_KEYS_MOST 8
unsigned obj_keys(const struct obj_slice *s, struct key keys[static OBJ_KEYS_MOST]);

/* Takes the UUID of a map from its file name, because the file does not contain it. 0; -ENOENT: the slice is
 * not a map, or its name is not a UUID. */
int obj_take_uuid(struct obj_slice *s, const char *base);
/* As obj_take_uuid(), and takes the names of the module from the file name, without an ending such as
 * `.debug`. Ignores an id, and a name that servers give to every file ("debuginfo"). */
void obj_take_name(struct obj_slice *s, const char *base);
/* As obj_take_name(), and derives missing fields: the debug id from the code id, and the debug file's name
 * from the program's. Then each kind of server can be asked for the files of the module. */
void obj_complete(struct obj_slice *s, const char *base);

/* *out: the address at which an ELF or PE program was linked, to which symbol files relate their offsets. 0; -ENOMSG:
 * another format; -ENODATA: the program is not loaded, or the file is cut short; -EBADMSG; errors of view_read(). */
int obj_link_base(struct view *v, uint64_t *out);

/* Finds the bytes of the first section of an ELF file that has this name. 0. -ENOENT: there is no such section, or it
 * has no bytes in the file; -EBADMSG; -EAGAIN; errors of the disk. */
int obj_section(struct view *v, const char *name, struct obj_span *out, struct err *e);

const char *obj_kind_name(enum obj_kind k); /* "executable" "library" "debug" "object" "sources" "other" */

/* The last component of a Unix or Windows path; "" if it is not a valid file name. */
void obj_base_name(char out[static MODULE_NAME_MAX], const char *p, size_t n);
