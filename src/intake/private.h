/* Shared by the files of intake/: intake.c takes a file of any kind, slice.c stores a file, archive.c the members of
 * an archive. One thread for each struct taking. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "formats/obj/obj.h"
#include "intake/intake.h"

#define INTAKE_HEAD_MOST (64u << 10) /* enough bytes to reject most files that are not symbol files */
/* The most archives around a file: a package in an archive of packages is usual; deeper nesting is an attack. */
#define INTAKE_DEPTH_MOST 2

/* The bytes and members that may still be unpacked from an archive and the archives in it. */
struct budget {
	uint64_t bytes, members;
};

/* One call of intake_take(). */
struct taking {
	const struct intake_opts *opts;
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

/* Reports a refusal, with the text of `e`. Returns `r` if it is trouble, else 0. */
int taking_refuse(struct taking *t, const struct part *p, int r, const struct err *e);
void taking_progress(struct taking *t, const struct part *p);

/* ---- slice.c ---- */

/* Stores each slice of a file. 0; -errno, and `e` has the reason. */
int taking_slices(struct taking *t, const struct part *p, struct err *e);

/* ---- archive.c ---- */

/* 1: unpack the file as an archive; 0: the file is not an archive, or `why_not` has the reason not to unpack
 * it; -errno: the file cannot be read. */
int taking_is_archive(const struct part *p, const char **why_not);
/* Stores the members of an archive. Returns the same values as taking_part(). */
int taking_archive(struct taking *t, const struct part *p);
