/* Files out of other files (containers): sources out of Portable PDBs, and sections of ELF files. A container is in
 * the store or in a directory, or its bytes are still arriving (phase-cut.c). Such a source is asked for by the id of
 * its PDB, in the place of a build id. What is found becomes a file of the store like any other. No link to a source
 * on another server is followed: a file must not choose what is fetched. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "base/view.h"
#include "fetch/fetch-private.h"
#include "formats/obj/ppdb.h"

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

/* The order is that of debuginfod: a section comes from the debug file, if that has it. Returns the number of
 * containers. */
unsigned embedded_containers(const struct key *k, struct container c[static CONTAINERS_MOST])
{
	static const enum filetype elf[] = {FILETYPE_ELF_DEBUG, FILETYPE_ELF_CODE}, pdb[] = {FILETYPE_PORTABLEPDB};
	bool section = k->type == FILETYPE_SECTION;
	unsigned n = section ? ARRAY_SIZE(elf) : k->type == FILETYPE_SOURCE && strlen(k->id) == ID_DIGITS;

	for (unsigned i = 0; i < n; i++) {
		struct module *m = &c[i].a.m;

		c[i].a = (struct artifact){.type = section ? elf[i] : pdb[i]};
		m->object = section ? OBJECT_ELF : OBJECT_PE_DOTNET;
		if ((section ? module_set_code_id(m, k->id, strlen(k->id))
			     : debug_id_parse(&m->debug_id, k->id, ID_DIGITS)) < 0 ||
			key_of(&c[i].key, &c[i].a) < 0)
			return 0;
	}
	return n;
}

/* Finds the stored container. -ENOENT: it is not stored, or it is known not to have the file. A miss is remembered by
 * the digest of the container, so it does not count for another one. */
static int find_stored(struct fetch *f, const struct key *k, const struct container *c, struct blob **out)
{
	_cleanup_blob_ struct blob *b = NULL;

	if (store_find(f->store, &c->key, &b) < 0 || store_miss_until(f->store, k, blob_sha256(b), EMBEDDED))
		return -ENOENT;
	*out = take(b);
	return 0;
}

static bool dir_may_have(const struct source *s, const struct artifact *a)
{
	return s->kind->local && (fetch_can_name_by(s, a) || local_tells_ids(s, a));
}

bool embedded_may_come(struct fetch *f, const struct source *s, const struct key *k)
{
	struct container c[CONTAINERS_MOST];
	unsigned n = k->type == FILETYPE_SECTION && !s->kind->local && ranges_may_come(f, s)
		? embedded_containers(k, c) : 0;

	while (n && !fetch_can_name_by(s, &c[n - 1].a))
		n--;
	return n;
}

bool embedded_may_exist(struct fetch *f, const struct sources *so, const struct key *k)
{
	struct container c[CONTAINERS_MOST];
	unsigned n = embedded_containers(k, c);
	bool may = false;

	for (unsigned i = 0; i < n && !may; i++) {
		_cleanup_blob_ struct blob *b = NULL;

		may = find_stored(f, k, &c[i], &b) == 0;
		for (unsigned j = 0; j < so->n && !may; j++)
			may = dir_may_have(so->list[j], &c[i].a);
	}
	return may;
}

/* Reads the whole file, because a file of a directory could be cut short while it is mapped. */
static int read_pdb(const struct blob *b, struct span *out)
{
	struct view v = view_of_fd(blob_fd(b), blob_size(b));
	_cleanup_free_ uint8_t *p = v.size > PDB_MOST ? NULL : malloc((size_t)MAX(v.size, 1u));
	int r = p ? view_read(&v, 0, p, (size_t)v.size) : v.size > PDB_MOST ? -EFBIG : -ENOMEM;

	if (r == 0)
		*out = (struct span){take(p), (size_t)v.size};
	return r;
}

/* Unpacks the source. One thread at a time, because each needs memory for a whole PDB. */
static int cut_source(struct fetch *f, const struct blob *pdb, const char *path, struct draft *d, struct err *e)
{
	LOCK_SCOPE(&f->embedded_lock);
	_cleanup_free_ char *text = NULL;
	struct span bytes = {0};
	size_t n = 0;
	int r = f->closing ? -EINTR : read_pdb(pdb, &bytes);

	if (r == 0)
		r = ppdb_source(bytes, path, SOURCE_MOST, &text, &n, e);
	free((void *)(uintptr_t)bytes.p);
	return r < 0 ? r : draft_write(d, 0, text, n);
}

static int cut_section(struct cutting *c, const char *name, struct draft *d, struct err *e)
{
	struct obj_slice slice;
	int r;

	/* A whole file was checked before it was stored, or by its directory. */
	c->view = c->blob ? view_of_fd(blob_fd(c->blob), blob_size(c->blob)) : part_view(c->part);
	r = c->blob ? 0 : obj_check(&c->view, &c->key, &slice, e);
	if (r >= 0)
		r = obj_section(&c->view, name, &c->at, e);

	if (r == 0)
		r = view_need(&c->view, c->at.off, c->at.n);
	if (r == 0)
		r = draft_copy(d, c->view.fd, c->at.off, c->at.n);
	return r == 0 && c->blob && blob_has_changed(c->blob) ? -ESTALE : r;
}

/* A missing source is remembered, because a PDB is read slowly. */
int embedded_cut(struct fetch *f, const struct key *k, struct cutting *c, struct blob **out)
{
	const char *digest = c->blob ? blob_sha256(c->blob) : "";
	struct blob_facts facts = {.source = EMBEDDED, .verified = true, .fetched = time(NULL),
		.modified = c->blob ? blob_facts(c->blob)->modified : part_modified(c->part)};
	bool section = k->type == FILETYPE_SECTION;
	char room[KEY_TEXT];
	struct err e = {0};
	struct draft *d;
	int r = draft_new(&d, f->store, &e);

	if (r < 0)
		return r;
	r = section ? cut_section(c, k->name, d, &e) : cut_source(f, c->blob, k->name, d, &e);
	if (!section && (r == -ENOENT || r == -EBADMSG || r == -EFBIG))
		store_miss_add(f->store, k, digest, EMBEDDED, REMEMBER_SECONDS, e.text);
	snprintf(facts.url, sizeof(facts.url), EMBEDDED "%s%s in %.1900s", *digest ? " of " : "", digest,
		c->blob ? blob_facts(c->blob)->url : "a file of which parts were fetched");
	if (r == 0)
		r = store_publish(f->store, take(d), k, &facts, out, &e);
	draft_discard(d);
	if (r < 0 && r != -ENOENT && r != -EAGAIN)
		log_debug(LOG_FETCH, "%s: not embedded: %s", key_text(k, room), e.text[0] ? e.text : err_text(r));
	return r;
}

static int cut(struct fetch *f, const struct key *k, struct blob *from, struct blob **out)
{
	struct cutting c = {.blob = from};

	return embedded_cut(f, k, &c, out);
}

/* Whether a source may have the container `c`. A server counts until it is remembered not to have the section. */
static bool may_have(struct fetch *f, const struct source *s, const struct artifact *a, const struct key *k,
	const struct container *c)
{
	char room[MISS_NAME];

	return dir_may_have(s, &c->a) || (embedded_may_come(f, s, k) && fetch_can_name_by(s, &c->a) &&
		store_miss_until(f->store, k, miss_name(s, a, room), s->memory) <= clock_wall());
}

int embedded_find(struct fetch *f, const struct sources *so, const struct artifact *a, const struct key *k,
	struct blob **out)
{
	struct container c[CONTAINERS_MOST];
	unsigned n = embedded_containers(k, c);

	for (unsigned i = 0; i < n; i++) {
		_cleanup_blob_ struct blob *b = NULL;
		bool better = false;

		/* Another source may have the container that comes before this one. */
		for (unsigned j = 0; i && j < so->n && !better; j++)
			better = may_have(f, so->list[j], a, k, &c[i - 1]);
		if (better)
			break;
		if (find_stored(f, k, &c[i], &b) == 0 && cut(f, k, b, out) == 0)
			return 0;
	}
	return -ENOENT;
}

static void say_nothing(void *ctx)
{
	(void)ctx;
}

/* Finds the container in a directory. A PDB is stored, for the digest by which its misses are remembered. */
static int find_in_dir(struct fetch *f, const struct source *s, const struct container *c, struct blob **out)
{
	_cleanup_blob_ struct blob *b = NULL;
	struct obj_slice all = {0};
	struct err e = {0};
	char why[200];

	if (local_find(f, s, &c->a, &c->key, false, say_nothing, NULL, &b, why) < 0)
		return -ENOENT;
	all.size = blob_size(b);
	if (c->a.type == FILETYPE_PORTABLEPDB && !*blob_sha256(b) && all.size <= PDB_MOST)
		return learn_publish_part(f, blob_fd(b), &all, &c->key, blob_facts(b), out, &e);
	*out = take(b);
	return 0;
}

int embedded_find_in(struct fetch *f, const struct sources *so, const struct key *k, bool walking, struct blob **out)
{
	struct container c[CONTAINERS_MOST];
	unsigned n = embedded_containers(k, c);

	for (unsigned i = 0; i < (walking ? MIN(n, 1u) : n); i++) {
		_cleanup_blob_ struct blob *stored = NULL;

		for (unsigned j = 0; j < so->n; j++) {
			_cleanup_blob_ struct blob *b = NULL;

			if (so->list[j]->kind->local && find_in_dir(f, so->list[j], &c[i], &b) == 0 &&
				cut(f, k, b, out) == 0)
				return 0;
		}
		if (find_stored(f, k, &c[i], &stored) == 0 && cut(f, k, stored, out) == 0)
			return 0;
	}
	return -ENOENT;
}
