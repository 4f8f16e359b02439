/* The calls of libdwarf that all of its versions share. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "frames/rows-private.h"

void rows_columns(struct rows *r, unsigned n)
{
	dwarf_set_frame_rule_table_size(r->dbg, (Dwarf_Half)n);
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
	dwarf_set_frame_cfa_value(r->dbg, ROWS_CFA);
	dwarf_set_frame_same_value(r->dbg, ROWS_SAME);
	dwarf_set_frame_undefined_value(r->dbg, ROWS_UNDEFINED);
	dwarf_set_frame_rule_initial_value(r->dbg, ROWS_SAME);
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
