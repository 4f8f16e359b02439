/* The calls of libdwarf that all of its versions share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "frames/rows-private.h"

static bool is_within(struct span all, struct span part)
{
	return part.p >= all.p && part.p <= all.p + all.n && part.n <= (size_t)(all.p + all.n - part.p);
}

int rows_fde(struct rows *r, enum rows_table table, size_t i, struct rows_fde *out)
{
	struct span s = r->file.tables[table].bytes;
	int n = abi_fde(r, r->lists[table].fdes[i], out);

	/* libdwarf checks this, too, but the executor relies on it. */
	if (n == 0 && (!is_within(s, out->code.first) || !is_within(s, out->code.more)))
		n = -EBADMSG;
	if (n == 0)
		out->code.more_at = r->file.tables[table].addr + (uint64_t)(out->code.more.p - s.p);
	return n;
}

int rows_open(struct rows **out, const struct rows_file *f)
{
	struct rows *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->file = *f;
	e = abi_open(r);
	if (e < 0) {
		free(r->access);
		free(r);
		return e;
	}
	*out = r;
	return 0;
}

void rows_release(struct rows *r, enum rows_table table, size_t i)
{
	Dwarf_Fde *f = &r->lists[table].fdes[i];

	if (*f)
		dwarf_dealloc(r->dbg, *f, DW_DLA_FDE);
	*f = NULL;
}

void rows_close(struct rows *r)
{
	if (!r)
		return;
	for (unsigned t = 0; t < ROWS_TABLES; t++) {
		for (Dwarf_Signed i = 0; i < r->lists[t].n_fdes; i++)
			rows_release(r, t, (size_t)i);
		for (Dwarf_Signed i = 0; i < r->lists[t].n_cies; i++)
			dwarf_dealloc(r->dbg, r->lists[t].cies[i], DW_DLA_CIE);
		if (r->lists[t].fdes)
			dwarf_dealloc(r->dbg, r->lists[t].fdes, DW_DLA_LIST);
		if (r->lists[t].cies)
			dwarf_dealloc(r->dbg, r->lists[t].cies, DW_DLA_LIST);
	}
	abi_close(r);
	free(r->access);
	free(r);
}

int rows_list(struct rows *r, enum rows_table table, size_t *n)
{
	Dwarf_Error e = NULL;
	int (*get)(Dwarf_Debug, Dwarf_Cie **, Dwarf_Signed *, Dwarf_Fde **, Dwarf_Signed *, Dwarf_Error *) =
		table == ROWS_EH ? dwarf_get_fde_list_eh : dwarf_get_fde_list;
	int got;

	*n = 0;
	if (!r->file.tables[table].bytes.n)
		return -ENODATA;
	got = get(r->dbg, &r->lists[table].cies, &r->lists[table].n_cies, &r->lists[table].fdes,
		&r->lists[table].n_fdes, &e);
	if (got != DW_DLV_OK)
		memset(&r->lists[table], 0, sizeof(r->lists[table]));
	if (got == DW_DLV_ERROR)
		return rows_failed(r, e);
	*n = (size_t)r->lists[table].n_fdes;
	return *n ? 0 : -ENODATA;
}
