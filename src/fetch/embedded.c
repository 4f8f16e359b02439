/* Source files out of stored Portable PDBs. Such a source is asked for by the id of its PDB, in the place of a build
 * id; it becomes a file of the store like any other. No link to a source on another server is followed: a file must
 * not choose what is fetched. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/log.h"
#include "base/util.h"
#include "fetch/fetch-private.h"
#include "obj/ppdb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PDB_MOST (256u << 20)	/* bytes of a Portable PDB */
#define SOURCE_MOST (32u << 20) /* bytes of one source */
#define ID_DIGITS 40		/* a GUID and a stamp */

/* Makes the key of the Portable PDB that may have the source. False: the id is not that of one. */
static bool pdb_of(const struct key *k, struct key *out)
{
	struct artifact pdb = {.type = FILETYPE_PORTABLEPDB, .m = {.object = OBJECT_PE_DOTNET}};

	return k->type == FILETYPE_SOURCE && strlen(k->id) == ID_DIGITS &&
		debug_id_parse(&pdb.m.debug_id, k->id, ID_DIGITS) == 0 && key_of(out, &pdb) == 0;
}

bool embedded_may_exist(struct fetch *f, const struct key *k)
{
	struct key pdb;

	return pdb_of(k, &pdb) && store_has(f->store, &pdb, NULL);
}

/* Reads the whole file, because a file of a directory could be cut short while it is mapped. */
static int read_pdb(const struct blob *b, struct span *out)
{
	uint64_t size = blob_size(b);
	uint8_t *p = size > PDB_MOST ? NULL : malloc((size_t)MAX(size, 1u));

	if (!p)
		return size > PDB_MOST ? -EFBIG : -ENOMEM;
	for (uint64_t at = 0; at < size;) {
		ssize_t n = pread(blob_fd(b), p + at, (size_t)(size - at), (off_t)at);

		if (n <= 0) {
			free(p);
			return n < 0 ? -errno : -EIO;
		}
		at += (uint64_t)n;
	}
	*out = (struct span){p, (size_t)size};
	return 0;
}

static int publish_source(struct fetch *f, const struct key *k, const char *text, size_t n, struct blob **out)
{
	struct blob_facts facts = {.source = "embedded", .verified = true, .fetched = time(NULL)};
	struct err e = {0};
	struct draft *d;
	int r = draft_new(&d, f->store, &e);

	if (r < 0)
		return r;
	r = draft_write(d, 0, text, n);
	if (r < 0) {
		draft_discard(d);
		return r;
	}
	return store_publish(f->store, d, k, &facts, out, &e);
}

int embedded_find(struct fetch *f, const struct key *k, struct blob **out)
{
	_cleanup_blob_ struct blob *pdb = NULL;
	_cleanup_free_ char *text = NULL;
	struct span bytes = {0};
	struct err e = {0};
	char room[KEY_TEXT];
	size_t n = 0;
	struct key of;
	int r;

	if (!pdb_of(k, &of) || store_find(f->store, &of, &pdb) < 0)
		return -ENOENT;
	r = read_pdb(pdb, &bytes);
	if (r == 0)
		r = ppdb_source(bytes, k->name, SOURCE_MOST, &text, &n, &e);
	free((void *)(uintptr_t)bytes.p);
	if (r == 0)
		r = publish_source(f, k, text, n, out);
	if (r < 0 && r != -ENOENT)
		log_debug(LOG_FETCH, "%s: no embedded source: %s", key_text(k, room),
			e.text[0] ? e.text : err_text(r));
	return r;
}
