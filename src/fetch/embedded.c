/* Source files out of Portable PDBs of the store and of directories. Such a source is asked for by the id of its PDB,
 * in the place of a build id; it becomes a file of the store like any other. No link to a source on another server is
 * followed: a file must not choose what is fetched. */
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
/* the source of such files, and of remembered misses; store/index/sql.c has it, too */
#define EMBEDDED "embedded"
#define REMEMBER_SECONDS 86400

/* Makes the Portable PDB that may have the source, and its key. False: the id is not that of one. */
static bool pdb_of(const struct key *k, struct artifact *pdb, struct key *out)
{
	*pdb = (struct artifact){.type = FILETYPE_PORTABLEPDB, .m = {.object = OBJECT_PE_DOTNET}};
	return k->type == FILETYPE_SOURCE && strlen(k->id) == ID_DIGITS &&
		debug_id_parse(&pdb->m.debug_id, k->id, ID_DIGITS) == 0 && key_of(out, pdb) == 0;
}

/* Finds the stored PDB that may have the source. -ENOENT: no PDB is stored, or it is known not to have the source. A
 * miss is remembered by the digest of the PDB, so it does not count for another PDB. */
static int find_pdb(struct fetch *f, const struct key *k, struct blob **out)
{
	_cleanup_blob_ struct blob *b = NULL;
	struct artifact a;
	struct key pdb;

	if (!pdb_of(k, &a, &pdb) || store_find(f->store, &pdb, &b) < 0 ||
		store_miss_until(f->store, k, blob_sha256(b), EMBEDDED))
		return -ENOENT;
	*out = take(b);
	return 0;
}

bool embedded_may_exist(struct fetch *f, const struct sources *so, const struct key *k)
{
	_cleanup_blob_ struct blob *b = NULL;
	bool may = find_pdb(f, k, &b) == 0;
	struct artifact a;
	struct key pdb;

	for (unsigned i = 0; i < so->n && !may && pdb_of(k, &a, &pdb); i++) {
		struct source_ask ask = {0};

		may = so->list[i]->kind->local && (source_plan(so->list[i], NULL, &a, 0, &ask) != -ENOENT ||
			local_tells_ids(so->list[i], &a));
		source_ask_release(&ask);
	}
	return may;
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

/* Unpacks the source. One thread at a time, because each needs memory for a whole PDB. */
static int unpack_source(struct fetch *f, const struct blob *pdb, const char *path, char **out, size_t *n,
	struct err *e)
{
	LOCK_SCOPE(&f->embedded_lock);
	struct span bytes = {0};
	int r = f->closing ? -EINTR : read_pdb(pdb, &bytes);

	if (r == 0)
		r = ppdb_source(bytes, path, SOURCE_MOST, out, n, e);
	free((void *)(uintptr_t)bytes.p);
	return r;
}

static int publish_source(struct fetch *f, const struct key *k, const struct blob *pdb, const char *text, size_t n,
	struct blob **out)
{
	struct blob_facts facts = {.source = EMBEDDED, .verified = true, .fetched = time(NULL)};
	struct err e = {0};
	struct draft *d;
	int r = draft_new(&d, f->store, &e);

	snprintf(facts.url, sizeof(facts.url), EMBEDDED " of %s", blob_sha256(pdb));
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
	struct err e = {0};
	char room[KEY_TEXT];
	size_t n = 0;
	int r = find_pdb(f, k, &pdb);

	if (r < 0)
		return r;
	r = unpack_source(f, pdb, k->name, &text, &n, &e);
	if (r == -ENOENT || r == -EBADMSG || r == -EFBIG)
		store_miss_add(f->store, k, blob_sha256(pdb), EMBEDDED, REMEMBER_SECONDS, e.text);
	if (r == 0)
		r = publish_source(f, k, pdb, text, n, out);
	if (r < 0 && r != -ENOENT)
		log_debug(LOG_FETCH, "%s: no embedded source: %s", key_text(k, room),
			e.text[0] ? e.text : err_text(r));
	return r;
}

static void say_nothing(void *ctx)
{
	(void)ctx;
}

int embedded_find_in(struct fetch *f, const struct source *s, const struct key *k, struct blob **out)
{
	_cleanup_blob_ struct blob *b = NULL;
	struct obj_slice all = {0};
	struct artifact a;
	struct err e = {0};
	struct key pdb;
	char why[200];

	if (!pdb_of(k, &a, &pdb) || local_find(f, s, &a, &pdb, false, say_nothing, NULL, &b, why) < 0)
		return -ENOENT;
	all.size = blob_size(b);
	if (!*blob_sha256(b) && all.size <= PDB_MOST) /* a file in place */
		learn_publish_part(f, blob_fd(b), &all, &pdb, blob_facts(b), NULL, &e);
	return embedded_find(f, k, out);
}
