/* Makes rules of what libdwarf answers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "frames/rows-private.h"

const char *const rows_section_names[ROWS_SECTIONS] = {"", ".eh_frame", ".debug_frame"};

int rows_failed(struct rows *r, Dwarf_Error e)
{
	if (e)
		dwarf_dealloc_error(r->dbg, e);
	return -EBADMSG;
}

void rows_rule(unsigned type, bool has_offset, uint64_t reg, int64_t n, const void *block, struct unwind_rule *out)
{
	memset(out, 0, sizeof(*out));
	if (type == DW_EXPR_EXPRESSION || type == DW_EXPR_VAL_EXPRESSION) {
		out->kind = type == DW_EXPR_EXPRESSION ? UNWIND_EXPR_AT : UNWIND_EXPR_IS;
		out->expr = block;
		out->expr_len = block ? (uint32_t)n : 0;
	} else if (has_offset) {
		out->kind = type == DW_EXPR_VAL_OFFSET ? UNWIND_IS : UNWIND_AT;
		out->off = n;
	} else if (reg == ROWS_UNDEFINED || reg == ROWS_SAME) {
		out->kind = reg == ROWS_SAME ? UNWIND_NONE : UNWIND_UNDEFINED;
	} else {
		out->kind = UNWIND_REGISTER;
		out->reg = (uint16_t)MIN(reg, UINT16_MAX);
	}
}

void rows_rule_cfa(unsigned type, uint64_t reg, int64_t n, const void *block, struct unwind_rule *out)
{
	bool expression = type == DW_EXPR_EXPRESSION || type == DW_EXPR_VAL_EXPRESSION;

	rows_rule(type, false, reg, n, block, out);
	if (expression) /* the CFA is the value itself */
		out->kind = UNWIND_EXPR_IS;
	else if (out->kind == UNWIND_REGISTER)
		out->off = n;
}
