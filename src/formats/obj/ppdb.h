/* Reads Portable PDBs: their checksums, and their worth. The reader of PE files needs the worth, because a PE
 * file can contain a Portable PDB. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/little.h"
#include "base/span.h"
#include "base/view.h"
#include "names/id/module.h"
#include "names/id/worth.h"

/* Reads the worth. 0; -EBADMSG: not a Portable PDB, or a broken one; -EAGAIN: the view lacks bytes; errors
 * of the disk. */
int ppdb_worth(struct view *v, struct worth *out);

/* Compares a whole file with the checksum in its program, "SHA256:00ff…". The checksum is the digest of the
 * file with zeros in place of the identity, because compilers make the identity from the digest. 1: they are
 * equal. 0: the file cannot be checked (an unknown algorithm, no digits, not a Portable PDB). -EBADMSG: they
 * differ, and `e` says so. Other errors come from the disk or from memory. */
int ppdb_checksum(struct view *v, const char *checksum, struct err *e);
/* Makes the checksum that compilers write into the program of a Portable PDB, "SHA256:00ff…", from the
 * whole file. 0; -EBADMSG: not a Portable PDB; errors of the disk or memory. */
int ppdb_make_checksum(struct view *v, char out[static MODULE_CHECKSUM_MAX], struct err *e);

/* Where a Portable PDB has its documents, the lines of its methods, its custom debug information, and the heaps that
 * they refer to: offsets in the file, numbers of rows, and bytes of rows and of indexes. The places lie inside the
 * file. */
struct ppdb_places {
	uint64_t documents, methods, custom, guids, blobs;
	uint32_t n_documents, n_methods, n_custom;
	uint32_t guids_size, blobs_size;
	unsigned document_row, method_row, custom_row;
	unsigned guid, blob, parent; /* bytes of an index into a heap, and of the parent of custom debug
					information */
};
int ppdb_find_places(struct view *v, struct ppdb_places *out, struct err *e); /* as ppdb_worth() */

/* An index of 2 or 4 bytes. */
static inline uint32_t ppdb_index(const uint8_t *p, unsigned bytes)
{
	return bytes == 4 ? le32(p) : le16(p);
}

/* The blob at an offset of the blob heap; the blob at 0 is empty. False: it lies outside of the heap. */
bool ppdb_blob(struct span heap, uint32_t at, struct span *out);
/* Appends the name of a document, whose blob is a separator and the parts that it joins. 0, -EBADMSG, -ENOMEM. */
int ppdb_document_name(struct span heap, struct span name, struct buf *out);

/* Unpacks the source that is embedded for the document with this name. `path` begins with a slash, and has slashes in
 * place of backslashes: "/C:/src/a.cs" for "C:\\src\\a.cs". 0: the caller frees *out, which has *n bytes. -ENOENT:
 * the source is not embedded; -EFBIG: it has more than `most` bytes, or the PDB has too many documents; -EBADMSG,
 * -ENOMEM. */
int ppdb_source(struct span file, const char *path, size_t most, char **out, size_t *n, struct err *e);
