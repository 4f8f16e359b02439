/* Reads PDB, the debug information of Windows programs, without Microsoft's libraries. `microsoft-pdb` and
 * microsoft/pdb-rs specify the format, and LLVM's docs/PDB describes it.
 *
 * Addresses are relative to the image (RVAs). A tool can rearrange an image after linking. The records of the
 * PDB then still have the original addresses ("source"). OMAP tables map them to the addresses of the image
 * as it runs ("target"). Arguments and results are target addresses, unless they are called source.
 *
 * pdb_open() reads the index: the list of modules, and the code that belongs to each. Functions, lines and
 * inlined calls are read module by module. A struct pdb is constant once it is open, and any number of
 * threads may use it, each with its own struct msf_io. After -EAGAIN the caller fetches the bytes that
 * the msf_io lists, and calls again (msf.h). The size of the file bounds the memory that a PDB takes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/span.h"
#include "formats/pdb/msf.h"

#include <stdlib.h>

/* A module: an object file, or code that the linker made itself. */
struct pdb_module {
	const char *name;
	uint16_t stream; /* MSF_NO_STREAM: the PDB has no data of the module */
	uint32_t symbols, lines_old, lines; /* bytes of each part of its stream, in this order */
};

/* A contribution: a range of a module's code. The list has only contributions of executable code,
 * in order of address and without overlap. */
struct pdb_contrib {
	uint16_t section; /* number of the section; the first is 1 */
	uint16_t module;
	uint32_t off, size;
};

struct pdb_section {
	char name[9];
	uint32_t addr, size, flags;
};

/* A range of the image: its address as the image runs, and before the image was rearranged. */
struct pdb_moved {
	uint32_t target, source, size;
};

/* The numbered records of a PDB's types, or of its ids. */
struct pdb_records {
	uint32_t stream, begin, end; /* the records have the numbers [begin, end) */
	uint32_t header, size;	     /* size of the header before the records, and of the records, in
					bytes */
	uint32_t hashes, hashes_at, buckets; /* the hashes of the records' names: stream, offset, number
						of buckets (0: the PDB has no hashes) */
	uint32_t n_steps;
	uint32_t *steps; /* offset of every PDB_STEP-th record; NULL before pdb_index_texts(), if there are marks */
	uint32_t n_marks;
	struct {
		uint32_t number, off;
	} *marks; /* the numbers and offsets of some records, ascending */
};

#define PDB_STEP 4u

struct pdb {
	struct msf msf;

	uint32_t info_version, signature;
	uint8_t guid[16];
	uint32_t age;		/* the age that the image has */
	bool fastlink;		/* linked with /DEBUG:FASTLINK ("mini"): the symbols are in the object
				   files */
	uint32_t names;		/* stream of the file names; 0: the PDB has no file names */
	const uint8_t *name_bytes; /* all file names; NULL before pdb_index_texts() */
	uint8_t *name_copy;	/* the copy that name_bytes points to; NULL: name_bytes points into the file */

	bool has_dbi, stripped, incremental;
	uint16_t machine;
	uint16_t records, publics; /* streams: the records of global and public symbols; the list of public
				      symbols in order of address */
	uint16_t fpo, frame_data; /* streams: how functions for x86 keep their frames, in an old and a new form */
	uint32_t n_modules;
	struct pdb_module *modules;
	uint8_t *module_info; /* the bytes that the modules' names point into */
	size_t n_contribs;
	struct pdb_contrib *contribs;

	uint32_t n_sections, n_original;
	struct pdb_section *sections, *original; /* an offset in a section refers to `original` if it is set, else to
						    `sections` */
	size_t n_moved;
	struct pdb_moved *moved;     /* in order of target addresses; NULL: nothing was moved */
	struct pdb_moved *moved_from; /* the same ranges in order of source addresses */

	struct pdb_records types, ids;
};

/* Reads the index of a PDB. 0; -EAGAIN; -ENOMSG, -ENOTSUP, -EBADMSG, -ENOMEM as msf_open(). Call
 * pdb_release() in every case. */
int pdb_open(struct pdb *p, struct msf_io *io, struct err *e);
void pdb_release(struct pdb *p);

/* Returns 0, or -ENODATA: the PDB has no symbols or does not say where its sections are; `e` says which. */
int pdb_has_symbols(const struct pdb *p, struct err *e);

/* Calls `each` for every stream that has a name, such as "/names" or "srcsrv"; a broken PDB can give the
 * number of a stream that does not exist. 0; -EAGAIN; -EBADMSG, -ENOMEM with the reason in `e`. */
int pdb_named_streams(const struct pdb *p, struct msf_io *io,
	void (*each)(void *ctx, const char *name, uint32_t stream), void *ctx, struct err *e);

/* ---- addresses -------------------------------------------------------------------------- */

/* Finds the source address of an offset in a section. False: there is no such section, or the address would
 * overflow. */
bool pdb_source_of(const struct pdb *p, unsigned section, uint32_t off, uint32_t *source);

/* Finds the source address of a target address. False: the bytes there were inserted after linking, or
 * are in no section. */
bool pdb_source(const struct pdb *p, uint32_t target, uint32_t *source);

/* Whether all bytes at the target addresses [from, to) were inserted after linking. True if from == to, false if
 * from > to. */
bool pdb_inserted(const struct pdb *p, uint64_t from, uint64_t to);

/* Iterates over the parts into which a source range [start, start + size) was moved in the image.
 * pdb_moves() begins; pdb_moves_next() returns false after the last part. */
struct pdb_moves {
	const struct pdb *p;
	uint64_t start, end;
	size_t next;
	bool whole; /* nothing was moved, so there is a single part */
};
void pdb_moves(struct pdb_moves *it, const struct pdb *p, uint32_t start, uint32_t size);
bool pdb_moves_next(struct pdb_moves *it, struct pdb_moved *out);

/* Finds the target address of an offset in a section. False: the byte at the offset is not in the image. */
bool pdb_address(const struct pdb *p, unsigned section, uint32_t off, uint32_t *rva);

/* Finds the section and the offset of a source address. False: the address is in no section. */
bool pdb_section_of(const struct pdb *p, uint32_t source, unsigned *section, uint32_t *off);

/* The contribution that contains an address; NULL: the address is in no contribution. */
const struct pdb_contrib *pdb_contrib_of(const struct pdb *p, unsigned section, uint32_t off);

/* ---- texts ------------------------------------------------------------------------------ */

/* Indexes types and ids, and brings file names into memory, for a caller that will need most of them. Call it
 * before other threads use `p`. 0; -EAGAIN; -ENOMEM. */
int pdb_index_texts(struct pdb *p, struct msf_io *io, struct err *e);

/* Appends the name of a file, by its number, to `out`. Number 0 is the empty name. 0; -EAGAIN; -EBADMSG; -ENOMEM. */
int pdb_name(const struct pdb *p, struct msf_io *io, uint32_t number, struct buf *out, struct err *e);

/* Reads one record of the types or ids. 0; -ENOENT: no record has the number; -EAGAIN; -EBADMSG; -ENOMEM.
 * Call pdb_record_release() in every case. */
struct pdb_record {
	uint16_t leaf;
	struct span body;
	uint8_t *bytes;
};
int pdb_record(const struct pdb *p, struct msf_io *io, const struct pdb_records *from, uint32_t number,
	struct pdb_record *out, struct err *e);
/* Searches by name for the record that defines a class or union, if `declaration` only declares it. Writes the
 * number of the defining record. 0; -ENOENT: not found; -EAGAIN; -ENOMEM. */
int pdb_definition(const struct pdb *p, struct msf_io *io, const struct pdb_record *declaration, uint32_t *number);
static inline void pdb_record_release(struct pdb_record *r)
{
	if (r->bytes) /* seldom: records are read in place */
		free(r->bytes);
	r->bytes = NULL;
}
