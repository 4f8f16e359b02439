/* Shared by the files of `symfs pdb`: an open PDB, and the output for its contents. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
#include "cmd/json.h"
#include "pdb/names.h"

struct pdb_dump {
	struct span file;
	struct msf_io io;
	struct pdb pdb;
	struct pdb_namer names;
	struct json *json;  /* NULL: text to stdout */
	struct buf shown;   /* the text that pdb_dump_shown() returned */
};

/* These print one part of the PDB. 0; -ENODATA: there is no such part; -EBADMSG, -ENOMEM. `e` has the reason. */
int pdb_dump_streams(struct pdb_dump *d, struct err *e);
int pdb_dump_modules(struct pdb_dump *d, struct err *e);
int pdb_dump_publics(struct pdb_dump *d, struct err *e);

/* Writes an address of the image, or "-", and "SECTION:OFFSET". */
void pdb_dump_place(const struct pdb *p, unsigned section, uint32_t off, char address[static 16],
	char place[static 24]);

/* Returns `text` in a form that is safe to show. The result is valid until the next call. */
const char *pdb_dump_shown(struct pdb_dump *d, const char *text);
