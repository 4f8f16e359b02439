/* Identifies PDBs, the debug information that Microsoft's linker writes beside a program. formats/pdb/identity.c
 * reads the bytes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/util.h"
#include "formats/pdb/identity.h"

#include <stdlib.h>
#include <string.h>

/* Reads the identity. -EAGAIN: `v` has the first missing range. A container of a later version, or one of fewer bytes
 * than a header, counts as broken (-EBADMSG), because callers distinguish no other refusal; `e` has the reason. */
static int pdb_facts(struct view *v, struct pdb_identity *out, struct err *e)
{
	_cleanup_free_ struct msf_io *io = malloc(sizeof(*io));
	int r;

	if (!io)
		return err_set(e, -ENOMEM, "out of memory");
	msf_io_init(io, v);
	r = pdb_identify(io, out, e);
	if (r == -EAGAIN && io->n_lacks)
		view_want(v, io->lacks[0].off, io->lacks[0].n);
	msf_io_release(io);
	return r == -ENOTSUP || r == -ENOMSG ? -EBADMSG : r;
}

static void pdb_module(const struct pdb_identity *id, struct module *out)
{
	memset(out, 0, sizeof(*out));
	out->object = OBJECT_PE;
	if (id->has_guid)
		debug_id_from_guid(&out->debug_id, id->guid, id->age);
	else
		out->debug_id = (struct debug_id){.set = true, .pdb20 = true, .age = id->age,
			.guid = {(uint8_t)(id->signature >> 24), (uint8_t)(id->signature >> 16),
				(uint8_t)(id->signature >> 8), (uint8_t)id->signature}};
}

static struct worth worth_of(const struct pdb_identity *id)
{
	struct worth w = {.known = !id->old_dbi};

	if (id->has_dbi && (id->stripped || id->mini)) {
		w.symbols = WORTH_DYNAMIC;
		w.debug = id->mini && !id->stripped ? WORTH_LINES : WORTH_NO_DEBUG;
	} else if (id->has_dbi) {
		w.symbols = WORTH_SYMBOLS;
		w.debug = WORTH_DEBUG;
	}
	w.unwind = id->machine == 0x14c; /* other machines have unwind tables in the program */
	return w;
}

static int pdb_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_slice s = {.format = "pdb", .kind = OBJ_DEBUG, .size = v->size,
		.types = {FILETYPE_PDB}, .n_types = 1};
	struct pdb_identity id;
	int r = pdb_facts(v, &id, e);

	if (r == 0)
		r = obj_check_whole(v, id.end, e);
	if (r < 0)
		return r;
	s.arch = obj_arch_of_machine(id.machine);
	pdb_module(&id, &s.module);
	s.worth = worth_of(&id);
	*out = s;
	return 0;
}

static int pdb_early(struct view *v, struct module *out)
{
	struct pdb_identity id;
	int r = pdb_facts(v, &id, NULL);

	if (r == 0)
		pdb_module(&id, out);
	return r;
}

const struct obj_format obj_pdb = {
	.name = "pdb",
	.magic = "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0\0",
	.magic_len = 32,
	.also = {{"Microsoft MSFZ Container\r\n\x1a" "ALD\0", 32}},
	.serves = {FILETYPE_PDB},
	.probe = pdb_probe,
	.early = pdb_early,
	.sparse = obj_always_sparse,
};
