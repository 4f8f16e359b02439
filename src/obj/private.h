/* What a format is, and what the readers of formats share. Known to obj/ alone. Any thread. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "obj/obj.h"

struct obj_format {
	const char *name;
	const char *magic;
	size_t magic_len;
	struct {
		const char *magic;
		size_t len;
	} also[6];   /* what else its files begin with */
	bool shared; /* so do files of other formats: probe() answers -ENOMSG for those */
	enum filetype serves[4]; /* what its files may be asked for as */
	/* Slice `index` of the file. As obj_identify(). */
	int (*probe)(struct view *v, unsigned index, struct obj_slice *out, struct err *e);
	/* May be NULL. 0: the ids in `out` are those of the file, whatever its missing bytes are,
	 * so that another build is refused after its first block. Else nothing is sure yet. */
	int (*early)(struct view *v, struct module *out);
	/* May be NULL. After early(): whether the bytes so far announce a file that serves as `t`. */
	bool (*promises)(struct view *v, enum filetype t);
	/* May be NULL: no. As obj_is_sparse(). */
	int (*sparse)(struct view *v, enum filetype t);
	/* May be NULL: not known. As obj_walk(), obj_heads(). */
	int (*walk)(struct view *v, struct obj_walk *out);
	int (*heads)(struct view *v, uint64_t *heads, unsigned most);
};

/* A new format is one file, an extern and a number here, a row in formats.c, and a line in Makefile.am. */
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
const struct obj_format *obj_format_named(const char *name); /* NULL */
bool obj_format_serves(const struct obj_format *f, enum filetype t);

/* The first bytes of a file, by which formats claim it. */
struct obj_head {
	uint8_t p[OBJ_HEAD];
	size_t n;
	bool whole; /* the file has no more */
};
int obj_head_read(struct view *v, struct obj_head *h); /* 0, -EAGAIN; others: the disk */

enum obj_claim {
	CLAIM_NO,
	CLAIM_MAYBE, /* the magic's last bytes are not here yet */
	CLAIM_YES
};
enum obj_claim obj_claims(const struct obj_format *f, const struct obj_head *h);

/* What first bytes are that no format claims: "is an HTML page", "is empty", "is of no known format". */
const char *obj_foreign(const uint8_t *p, size_t n);

/* What belongs to an ELF file, and goes by its debug id, may be asked for by its build id: that key. 0, -ENOENT. */
int obj_key_by_build_id(enum filetype t, const struct module *m, struct key *out);

/* view_read() for the readers of this folder: `what` is cut short, -EBADMSG, or could not be read,
 * and `e` says so. -EAGAIN is passed on without words. */
int obj_read(struct view *v, const char *what, uint64_t off, void *p, size_t n, struct err *e);

/* -EBADMSG, and `e` says that `what` ("its header") is not all in the file. */
int obj_cut_off(struct err *e, const char *what);

/* Whether a file that needs `end` bytes has them. While the length of the file is not known, it is whole as
 * soon as they are all here. 0; -EBADMSG, and `e` says so; -EAGAIN. */
int obj_check_whole(struct view *v, uint64_t end, struct err *e);

int obj_always_sparse(struct view *v, enum filetype t); /* 1: for formats that debuggers always read in parts */

/* The word for an architecture that stands in a file as text; "unknown". */
const char *obj_arch(const char *p, size_t n);
