/* Prints streams, modules and public symbols of a PDB, for `symfs pdb`. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/pdb-dump.h"
#include "base/util.h"
#include "pdb/publics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pdb_dump_shown(struct pdb_dump *d, const char *text)
{
	return text_shown(text, true, &d->shown);
}

void pdb_dump_place(const struct pdb *p, unsigned section, uint32_t off, char address[static 16],
	char place[static 24])
{
	uint32_t rva;

	snprintf(address, 16, "-");
	if (pdb_address(p, section, off, &rva))
		snprintf(address, 16, "0x%" PRIx32, rva);
	snprintf(place, 24, "%u:%08" PRIx32, section, off);
}

/* ---- streams ------------------------------------------------------------------------- */

/* The use of each stream. */
struct uses {
	char **use; /* indexed by the stream's number; NULL: unknown use */
	uint32_t n;
};

static void set_use(void *ctx, const char *use, uint32_t stream)
{
	struct uses *u = ctx;

	if (stream < u->n && !u->use[stream])
		u->use[stream] = strdup(use);
}

static int find_uses(struct pdb_dump *d, struct uses *u, struct err *e)
{
	const struct pdb *p = &d->pdb;

	u->n = p->msf.n_streams;
	u->use = calloc((size_t)u->n + 1, sizeof(*u->use));
	if (!u->use)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	set_use(u, "old directory", 0);
	set_use(u, "information", 1);
	set_use(u, "types", 2);
	set_use(u, "debug information", 3);
	if (p->ids.stream)
		set_use(u, "ids", p->ids.stream);
	set_use(u, "symbol records", p->records);
	set_use(u, "public symbols", p->publics);
	if (p->types.buckets)
		set_use(u, "hashes of types", p->types.hashes);
	if (p->ids.buckets)
		set_use(u, "hashes of ids", p->ids.hashes);
	for (uint32_t i = 0; i < p->n_modules; i++)
		set_use(u, p->modules[i].name, p->modules[i].stream);
	return pdb_named_streams(p, &d->io, set_use, u, e);
}

static void print_stream(struct pdb_dump *d, uint32_t i, const char *use)
{
	uint32_t size = msf_size(&d->pdb.msf, i);

	if (!d->json) {
		printf("%5" PRIu32 " %10" PRIu32 "  %s\n", i, size, use ? pdb_dump_shown(d, use) : "");
		return;
	}
	json_begin_object(d->json, NULL);
	json_number(d->json, "stream", i);
	json_number(d->json, "size", size);
	json_text(d->json, "use", use);
	json_end(d->json);
}

int pdb_dump_streams(struct pdb_dump *d, struct err *e)
{
	struct uses u = {0};
	int r = find_uses(d, &u, e);

	if (d->json)
		json_begin_array(d->json, NULL);
	else
		printf("stream       size  use\n");
	for (uint32_t i = 0; r == 0 && i < u.n; i++)
		print_stream(d, i, u.use[i]);
	for (uint32_t i = 0; i < u.n && u.use; i++)
		free(u.use[i]);
	free(u.use);
	return r;
}

/* ---- modules ------------------------------------------------------------------------- */

static void print_module(struct pdb_dump *d, uint32_t i, uint64_t code)
{
	const struct pdb_module *m = &d->pdb.modules[i];
	bool has = m->stream != MSF_NO_STREAM;

	if (!d->json) {
		char stream[16] = "-";

		if (has)
			snprintf(stream, sizeof(stream), "%u", m->stream);
		printf("%5" PRIu32 " %6s %9" PRIu32 " %9" PRIu32 " %9" PRIu64 "  %s\n", i, stream,
			has ? m->symbols : 0, has ? m->lines : 0, code, pdb_dump_shown(d, m->name));
		return;
	}
	json_begin_object(d->json, NULL);
	json_number(d->json, "module", i);
	json_text(d->json, "name", m->name);
	if (has)
		json_number(d->json, "stream", m->stream);
	else
		json_null(d->json, "stream");
	json_number(d->json, "symbols", has ? m->symbols : 0);
	json_number(d->json, "lines", has ? m->lines : 0);
	json_number(d->json, "code", (long long)code);
	json_end(d->json);
}

int pdb_dump_modules(struct pdb_dump *d, struct err *e)
{
	const struct pdb *p = &d->pdb;
	_cleanup_free_ uint64_t *code = calloc((size_t)p->n_modules + 1, sizeof(*code));

	if (!code)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	for (size_t i = 0; i < p->n_contribs; i++)
		code[p->contribs[i].module] += p->contribs[i].size;
	if (d->json)
		json_begin_array(d->json, NULL);
	else
		printf("module stream   symbols     lines      code  name\n");
	for (uint32_t i = 0; i < p->n_modules; i++)
		print_module(d, i, code[i]);
	return 0;
}

/* ---- public symbols ------------------------------------------------------------------ */

static void print_public(struct pdb_dump *d, const struct pdb_public *s)
{
	char address[16], place[24];

	pdb_dump_place(&d->pdb, s->section, s->off, address, place);
	if (!d->json) {
		printf("%s %s %s %s\n", address, place, s->function ? "function" : "code",
			pdb_dump_shown(d, s->name));
		return;
	}
	json_begin_object(d->json, NULL);
	json_text(d->json, "address", address[0] == '-' ? NULL : address);
	json_text(d->json, "place", place);
	json_boolean(d->json, "function", s->function);
	json_string(d->json, "name", s->name);
	json_end(d->json);
}

int pdb_dump_publics(struct pdb_dump *d, struct err *e)
{
	struct pdb_publics all;
	int r = pdb_publics(&d->pdb, &d->io, &all, e);

	if (d->json)
		json_begin_array(d->json, NULL);
	for (size_t i = 0; r == 0 && i < all.n; i++)
		print_public(d, &all.at[i]);
	pdb_publics_release(&all);
	return r;
}
