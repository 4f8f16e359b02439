/* The interface of a format, and functions that the readers of formats share. Only for obj/. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/obj/obj.h"

struct obj_format {
	const char *name;
	const char *magic;
	size_t magic_len;
	struct {
		const char *magic;
		size_t len;
	} also[6];   /* further magics of the format */
	bool shared; /* files of other formats have the same magic: probe() returns -ENOMSG for such files */
	enum filetype serves[4]; /* the types that its files can serve as */
	bool slices; /* a file can have several: probe() is called for any `index`, otherwise only for 0 */
	/* Slice `index` of the file. As obj_identify(). */
	int (*probe)(struct view *v, unsigned index, struct obj_slice *out, struct err *e);
	/* May be NULL. Reads ids from the front of the file. 0: the ids in `out` are certain, whatever the
	 * missing bytes are, so that another build is rejected after its first block. Any other
	 * result: they are not certain. */
	int (*early)(struct view *v, struct module *out);
	/* May be NULL. After early(): whether the bytes so far announce a file that serves as `t`. */
	bool (*promises)(struct view *v, enum filetype t);
	/* As obj_is_sparse(). NULL: the files are never sparse. */
	int (*sparse)(struct view *v, enum filetype t);
	/* As obj_walk(), obj_heads(). NULL: unknown. */
	int (*walk)(struct view *v, struct obj_walk *out);
	int (*heads)(struct view *v, uint64_t *heads, unsigned most);
};

/* A new format is one file, an extern and a number here, a row in formats.c, and a line in src/sources.am. */
extern const struct obj_format obj_bcsymbolmap;
extern const struct obj_format obj_breakpad;
extern const struct obj_format obj_elf;
extern const struct obj_format obj_macho;
extern const struct obj_format obj_pdb;
extern const struct obj_format obj_pe;
extern const struct obj_format obj_perfmap;
extern const struct obj_format obj_ppdb;
extern const struct obj_format obj_sourcebundle;
extern const struct obj_format obj_uuidmap;
extern const struct obj_format obj_wasm;

#define OBJ_FORMATS 11
extern const struct obj_format *const obj_formats[OBJ_FORMATS];
const struct obj_format *obj_format_named(const char *name); /* NULL: no such format */
bool obj_format_serves(const struct obj_format *f, enum filetype t);

/* The first bytes of a file, by which formats claim it. */
struct obj_head {
	uint8_t p[OBJ_HEAD];
	size_t n;
	bool whole; /* the file has no more */
};
int obj_head_read(struct view *v, struct obj_head *h); /* 0, -EAGAIN; errors of the disk */

enum obj_claim {
	CLAIM_NO,
	CLAIM_MAYBE, /* the last bytes of the magic have not arrived yet */
	CLAIM_YES
};
enum obj_claim obj_claims(const struct obj_format *f, const struct obj_head *h);

/* Describes first bytes that no format claims: "is an HTML page", "is empty", "is of no known format". */
const char *obj_foreign(const uint8_t *p, size_t n);

/* Files that have the debug id of an ELF file in their key can also be requested by its build id. Makes the
 * key of that request. 0; -ENOENT: not such a file. */
int obj_key_by_build_id(enum filetype t, const struct module *m, struct key *out);

/* Returns the error of a view_read() as obj_read() does, with its message. */
int obj_unread(int r, const char *what, struct err *e);
/* As view_read(), with a message in `e`. -EBADMSG: the file ends before the end of `what`. -EAGAIN, without
 * a message: the view lacks bytes. Others: the file could not be read. */
int obj_read(struct view *v, const char *what, uint64_t off, void *p, size_t n, struct err *e);

/* Returns -EBADMSG; `e` says that the file ends before the end of `what` ("its header"). */
int obj_cut_off(struct err *e, const char *what);

/* Checks that a file has at least `end` bytes. While the length of the file is unknown, the file counts as
 * whole as soon as these bytes have arrived. 0; -EBADMSG: it is cut short, and `e` says so; -EAGAIN. */
int obj_check_whole(struct view *v, uint64_t end, struct err *e);

int obj_always_sparse(struct view *v, enum filetype t); /* 1: for formats that debuggers always read in parts */

/* Adds what a section with bytes is worth. `name` has no "." or "__" in front. */
void obj_worth_section(struct worth *w, const char *name);

/* The name of an architecture that a file gives as text, or by a number of Windows: static; "unknown" if symfs does
 * not know it. */
const char *obj_arch(const char *p, size_t n);
const char *obj_arch_of_machine(uint32_t machine);
