/* Looks up addresses in a PDB, for `symfs gsym lookup`. Each of the first look-ups reads one module of the PDB. If
 * there are many addresses, the whole PDB is converted to GSYM, and looked up there. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmd/gsym-pdb.h"
#include "base/buf.h"
#include "base/util.h"
#include "convert/make.h"
#include "gsym/writer.h"
#include "pdb/find.h"

#include <string.h>

#define FEW 64 /* the number of addresses that are looked up without a conversion */

struct gsym_pdb {
	struct span file;
	bool plain;
	unsigned n; /* the number of addresses that were looked up in the PDB */
	struct msf_io io;
	struct pdb pdb;
	struct pdb_namer names;
	struct pdb_found found;
	/* set by the conversion, after FEW addresses */
	struct buf bytes;
	bool converted;
	int failed; /* the error of the conversion; 0: no error */
	struct err e;
	struct gsym g;
};

int gsym_pdb_open(struct gsym_pdb **out, struct span file, bool plain, bool many, struct err *e)
{
	struct gsym_pdb *p = *out = calloc(1, sizeof(*p));
	struct view v = view_of_mem(file.p, file.n);
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	p->file = file;
	p->plain = plain;
	p->n = many ? FEW : 0;
	p->bytes = BUF_UP_TO(UINT32_MAX);
	msf_io_init(&p->io, &v);
	r = pdb_open(&p->pdb, &p->io, e);
	pdb_namer_init(&p->names, &p->pdb, &p->io, plain);
	return r < 0 ? r : pdb_has_symbols(&p->pdb, e);
}

static void close_pdb(struct gsym_pdb *p)
{
	pdb_found_release(&p->found);
	pdb_namer_release(&p->names);
	pdb_release(&p->pdb);
	msf_io_release(&p->io);
}

void gsym_pdb_free(struct gsym_pdb *p)
{
	if (!p)
		return;
	if (!p->converted)
		close_pdb(p);
	else
		gsym_release(&p->g);
	buf_release(&p->bytes);
	free(p);
}

/* ---- after many addresses ------------------------------------------------------------ */

static int make_gsym(struct gsym_pdb *p, struct err *e)
{
	_cleanup_gsym_writer_ struct gsym_writer *w = NULL;
	struct gsym_make_opts o = {.plain_names = p->plain};
	struct gsym_made made;
	int r = gsym_writer_new(&w);

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	gsym_set_last(w);
	r = gsym_make(w, p->file, &o, &made, e);
	return r < 0 ? r : gsym_write(w, GSYM_V1, made.big, NULL, &p->bytes, NULL, e);
}

/* Runs once. First frees the index of the PDB, because the conversion makes its own index. */
static void convert(struct gsym_pdb *p)
{
	close_pdb(p);
	p->converted = true;
	p->failed = make_gsym(p, &p->e);
	if (p->failed == 0)
		p->failed = gsym_open(&p->g, (struct span){(const uint8_t *)p->bytes.p, p->bytes.n}, &p->e);
	if (p->failed == 0)
		p->failed = gsym_prepare(&p->g, &p->e);
}

/* ---- look-ups ------------------------------------------------------------------------ */

/* Splits the path in place into directory and name, so that it is printed like a path of a GSYM file. */
static void split_path(char *path, struct gsym_frame *out)
{
	size_t len;
	const char *base = gsym_path_base(path, strlen(path), &len);

	out->base = base;
	if (!len || (size_t)(base - path) == len) { /* the path has no directory, or its directory is a root */
		out->base = path;
		out->dir = "";
		return;
	}
	path[len] = '\0';
	out->dir = path;
}

static int find(struct gsym_pdb *p, uint32_t addr, struct gsym_hit *out, struct err *e)
{
	int r;

	pdb_found_release(&p->found);
	r = pdb_find(&p->pdb, &p->names, addr, &p->found, e);
	out->n = r == 0 ? p->found.n : 0;
	for (unsigned i = 0; i < out->n; i++) {
		struct pdb_frame *f = &p->found.frame[i];

		out->frame[i] = (struct gsym_frame){.name = f->name, .line = f->line, .offset = f->offset};
		split_path(f->file, &out->frame[i]);
	}
	return r;
}

int gsym_pdb_find(struct gsym_pdb *p, uint64_t addr, struct gsym_hit *out, struct err *e)
{
	if (!p->converted && p->n++ >= FEW)
		convert(p);
	if (p->failed)
		return err_set(e, p->failed, "%s", p->e.text);
	if (p->converted)
		return gsym_lookup(&p->g, addr, out, e);
	return addr > UINT32_MAX ? err_set(e, -ENOENT, "no function has the address")
		: find(p, (uint32_t)addr, out, e);
}
