/* Walks through call frame instructions without their effects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "frames/columns.h"
#include "base/bytes.h"
#include "base/util.h"

enum { ADVANCE1 = 0x02, ADVANCE4 = 0x04, RESTORE_STATE = 0x0b, ADVANCE8 = 0x1d };

/* The operands of an instruction: `r` a register that gets a rule, `c` one that the CFA is made of, `u` a number,
 * `b` a block of bytes; a digit is a number of bytes. */
static const char *const operands[0x30] = {[0x00] = "", [0x02] = "1", [0x03] = "2", [0x04] = "4", [0x05] = "ru",
	[0x06] = "r", [0x07] = "r", [0x08] = "r", [0x09] = "rc", [0x0a] = "", [0x0b] = "", [0x0c] = "cu",
	[0x0d] = "c", [0x0e] = "u", [0x0f] = "b", [0x10] = "rb", [0x11] = "ru", [0x12] = "cu", [0x13] = "u",
	[0x14] = "ru", [0x15] = "ru", [0x16] = "rb", [0x1d] = "8", [0x2d] = "", [0x2e] = "u", [0x2f] = "ru"};

static void add(struct columns *c, uint64_t reg, bool rule)
{
	c->most = MAX(c->most, (unsigned)MIN(reg, UINT16_MAX));
	if (rule && reg < 64)
		c->low |= 1ull << reg;
}

/* Skips a LEB128 number; its low bits are the same whether it is signed or not. */
static bool skip_number(const uint8_t **p, const uint8_t *end)
{
	while (*p < end)
		if (!(*(*p)++ & 0x80))
			return true;
	return false;
}

static bool operand(struct columns *c, char kind, const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;

	if (kind == 'u')
		return skip_number(p, end);
	if (kind == 'r' || kind == 'c') {
		if (!take_uleb(p, end, &v))
			return false;
		add(c, v, kind == 'r');
		return true;
	}
	if (kind == 'b' && !take_uleb(p, end, &v))
		return false;
	if (kind != 'b')
		v = (uint64_t)(kind - '0');
	if (v > (uint64_t)(end - *p))
		return false;
	*p += v;
	return true;
}

/* Walks over one instruction. *moved is how far it moves the address; *rule: it changes rules of registers. */
static void walk_one(struct columns *c, const uint8_t **p, const uint8_t *end, bool swap, uint64_t *moved, bool *rule)
{
	unsigned op = *(*p)++;
	const uint8_t *first = *p;
	const char *o = op >> 6 == 2 ? "u" : op >> 6 ? "" : op < ARRAY_SIZE(operands) ? operands[op] : NULL;

	*moved = op >> 6 == 1 ? op & 0x3f : 0;
	*rule = op >> 6 >= 2 || op == RESTORE_STATE || (o && o[0] == 'r');
	if (op >> 6 >= 2)
		add(c, op & 0x3f, true);
	for (c->unsure = !o; !c->unsure && *o; o++)
		c->unsure = !operand(c, *o, p, end);
	if (!c->unsure && op >= ADVANCE1 && op <= ADVANCE4)
		*moved = op == ADVANCE1 ? *first : op == ADVANCE4 ? load32(first, swap) : load16(first, swap);
	else if (!c->unsure && op == ADVANCE8)
		*moved = load64(first, swap);
}

void columns_add(struct columns *c, struct span instructions)
{
	const uint8_t *p = instructions.p, *end = p + instructions.n;
	uint64_t moved;
	bool rule;

	while (p < end && !c->unsure)
		walk_one(c, &p, end, false, &moved, &rule);
}

void columns_changes(struct columns *c, struct span instructions, uint64_t start, uint64_t unit, bool big,
	struct changes *out)
{
	const uint8_t *p = instructions.p, *end = p + instructions.n;
	uint64_t moved;
	bool rule;

	out->n = 0;
	out->all = false;
	while (p < end && !c->unsure) {
		walk_one(c, &p, end, big != HOST_BIG, &moved, &rule);
		if (moved > UINT32_MAX)
			out->all = true;
		start += moved * unit;
		if (!rule || (out->n && out->at[out->n - 1] == start))
			continue;
		if (out->n == CHANGES_MOST || (out->n && out->at[out->n - 1] > start))
			out->all = true;
		else
			out->at[out->n++] = start;
	}
	if (c->unsure)
		out->all = true;
}
