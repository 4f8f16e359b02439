/* Shared by the files of intake/: intake.c takes a file of any kind, slice.c stores a file, archive.c the members of
 * an archive, packed.c the content of a compressed file. One thread for each struct taking. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "intake/intake.h"
#include "obj/obj.h"

struct intake {
	struct intake_opts opts;
};

#define INTAKE_HEAD_MOST (64u << 10) /* enough bytes to reject most files that are not symbol files */
/* The most archives around a file: a package in an archive of packages is usual; deeper nesting is an attack. */
#define INTAKE_DEPTH_MOST 2

/* The bytes and members that may still be unpacked from an archive and the archives in it. */
struct budget {
	uint64_t bytes, members;
};

/* One call of intake_take(). */
struct taking {
	const struct intake *in;
	intake_report_fn *report;
	void *ctx;
	uint64_t placed; /* parts that are stored */
};

/* A file to store: the item itself, a member of an archive, the content of a compressed file. */
struct part {
	struct intake_item it;
	unsigned depth; /* the number of archives and packings around the file */
	bool member;
	/* The budget of the outermost archive or compressed file; NULL: the file is in neither. */
	struct budget *budget;
};

/* ---- intake.c ---- */

/* Takes a part of any kind. 0: the parts of the file were reported; -errno: trouble, which was reported. */
int taking_part(struct taking *t, const struct part *p);
/* ---- report.c ---- */

/* Reports a refusal, with the text of `e`. Returns `r` if it is trouble, else 0. */
int taking_refuse(struct taking *t, const struct part *p, int r, const struct err *e);
/* The text for an error of obj_identify() or of another function. */
const char *taking_why(int r, const struct err *e);
void taking_progress(struct taking *t, const struct part *p);

/* ---- slice.c ---- */

/* Stores each slice of a file. 0; -errno, and `e` has the reason. */
int taking_slices(struct taking *t, const struct part *p, struct err *e);

/* ---- claim.c ---- */

/* Compares a file with the claims of its path. 1: it is the file of a claim: *k is the claimed key, and `off`
 * the offset of the slice that fits. 0: the path claims nothing. -EBADMSG: the file fits no claim. Other
 * -errno. */
int taking_claim(const struct part *p, struct key *k, uint64_t *off, struct err *e);

/* ---- archive.c ---- */

/* 1: unpack the file as an archive; 0: the file is not an archive, or `why_not` has the reason not to unpack
 * it; -errno: the file cannot be read. */
int taking_is_archive(const struct part *p, const char **why_not);
/* Stores the members of an archive. Returns the same values as taking_part(). */
int taking_archive(struct taking *t, const struct part *p);

/* ---- names.c ---- */

/* The names of the members of one archive, for intake_item.strict. */
struct names {
	uint64_t *table; /* a hash table of digests; 0: empty */
	size_t room, n;
};

void names_release(struct names *s);
/* Checks the name of a member. 0; -EBADMSG: it leads out of the archive; or, with `strict`, it is absolute, or the
 * name of an earlier member; -ENOMEM. */
int names_check(struct names *s, const char *name, bool strict, struct err *e);
/* Finds what a member claims to be: a path of a symbol store. Returns the number of claims, 0 for other names. */
unsigned names_claims(const char *name, struct artifact claims[static INTAKE_CLAIMS_MOST]);

/* ---- packed.c ---- */

/* As taking_part(), for a compressed file. If the file is not compressed, does nothing and sets `is_packed` to
 * false. */
int taking_packed(struct taking *t, const struct part *p, bool *is_packed);
