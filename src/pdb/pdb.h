/* PDB: the debug information of Windows programs, read from the bytes alone. `microsoft-pdb` and
 * microsoft/pdb-rs specify the format, LLVM's docs/PDB describes it.
 *
 * Addresses are relative to the image (RVAs). A PDB counts in addresses of before the image was rearranged
 * after linking ("source"); where it has OMAP tables, those of the image as it runs ("target") differ. What
 * asks or answers for a caller is in target addresses, unless it says source.
 *
 * pdb_open() reads the index: which modules there are and which code is whose. Functions, lines and inlined
 * calls are read module by module. A struct pdb is constant once it is open, and any number of threads may
 * use it, each with its own struct msf_io. -EAGAIN as in msf.h: the caller gets the bytes that io lists, and
 * calls again. All sizes are bounded by the size of the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/span.h"
#include "pdb/msf.h"

/* One object file, or what the linker made itself. */
struct pdb_module {
	const char *name;
	uint16_t stream; /* MSF_NO_STREAM: nothing is known of it */
	uint32_t symbols, lines_old, lines; /* bytes of each part of its stream, in this order */
};

/* Code of a module. Executable ones only, in order of address. */
struct pdb_contrib {
	uint16_t section; /* from 1 */
	uint16_t module;
	uint32_t off, size;
};

struct pdb_section {
	char name[9];
	uint32_t addr, size, flags;
};

/* Bytes of the image as it runs, and where they were before it was rearranged. */
struct pdb_moved {
	uint32_t target, source, size;
};

/* The types of a PDB, or its ids: numbered records. */
struct pdb_records {
	uint32_t stream, begin, end; /* numbers [begin, end) */
	uint32_t header, size;	     /* bytes before the records, and of them */
	uint32_t hashes, hashes_at, buckets; /* where the hash of each record's name is; buckets 0: nowhere */
	uint8_t *bytes; /* all of them, after pdb_load_texts(); NULL */
	uint32_t n_marks;
	struct {
		uint32_t number, off;
	} *marks; /* where some of them begin; ascending */
};

enum pdb_worth { PDB_NOTHING, PDB_PUBLIC, PDB_FULL };

struct pdb {
	struct msf msf;

	uint32_t info_version, signature;
	uint8_t guid[16];
	uint32_t age;		/* the one that the image knows */
	bool fastlink;		/* "mini": the symbols themselves are in the object files */
	uint32_t names;		/* stream of the file names; 0: none */
	uint8_t *name_bytes;	/* all of it, after pdb_load_texts(); NULL */

	bool has_dbi, stripped, incremental;
	uint16_t machine;
	uint16_t records, publics; /* streams of global symbols, and of the order of the public ones */
	uint32_t n_modules;
	struct pdb_module *modules;
	uint8_t *module_info; /* what their names are in */
	size_t n_contribs;
	struct pdb_contrib *contribs;

	uint32_t n_sections, n_original;
	struct pdb_section *sections, *original; /* those that sect:off counts in: `original` when it is set */
	size_t n_moved;
	struct pdb_moved *moved;     /* in order of target; NULL: nothing was moved */
	struct pdb_moved *moved_from; /* the same in order of source */

	struct pdb_records types, ids;
};

/* 0; -EAGAIN; -ENOMSG, -ENOTSUP, -EBADMSG, -ENOMEM as of msf_open(). pdb_release() in every case. */
int pdb_open(struct pdb *p, struct msf_io *io, struct err *e);
void pdb_release(struct pdb *p);

/* ---- addresses -------------------------------------------------------------------------- */

/* The source address of an offset in a section. False: there is no such section, or the offset lies
 * outside of it. */
bool pdb_source_of(const struct pdb *p, unsigned section, uint32_t off, uint32_t *source);

/* The source address of a target address. False: these bytes were inserted, or lie in no section. */
bool pdb_source(const struct pdb *p, uint32_t target, uint32_t *source);

/* Where the `nth` piece of the source range [start, start + size) is in the image. False: no more. */
struct pdb_pieces {
	const struct pdb *p;
	uint64_t start, end;
	size_t next;
	bool whole; /* nothing was moved: there is one piece */
};
void pdb_pieces(struct pdb_pieces *it, const struct pdb *p, uint32_t start, uint32_t size);
bool pdb_pieces_next(struct pdb_pieces *it, struct pdb_moved *out);

/* Section and offset of a source address. False: it lies in none. */
bool pdb_section_of(const struct pdb *p, uint32_t source, unsigned *section, uint32_t *off);

/* Whose code this is; NULL: no module's. */
const struct pdb_contrib *pdb_contrib_of(const struct pdb *p, unsigned section, uint32_t off);

/* ---- texts ------------------------------------------------------------------------------ */

/* Keeps types, ids and file names in memory, for a caller that will ask for most of them. 0; -EAGAIN; -ENOMEM. Before
 * other threads use `p`. */
int pdb_load_texts(struct pdb *p, struct msf_io *io, struct err *e);

/* A file's name by its number, appended to `out`. Number 0 is "". 0; -EAGAIN; -EBADMSG; -ENOMEM. */
int pdb_name(const struct pdb *p, struct msf_io *io, uint32_t number, struct buf *out, struct err *e);

/* One record of the types or ids. *out is freed by the caller. -ENOENT: there is no such number. */
struct pdb_record {
	uint16_t leaf;
	struct span body;
	uint8_t *bytes;
};
int pdb_record(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out, struct err *e);
/* The number of the class or union that a declaration is of, by its name. -ENOENT: it is not there. */
int pdb_definition(const struct pdb *p, struct msf_io *io, const struct pdb_record *declaration, uint32_t *number);
void pdb_record_release(struct pdb_record *r);
