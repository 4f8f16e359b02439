/* Reads the symbol table of Mach-O files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/util.h"
#include "convert/symbols-private.h"

enum { N_STAB = 0xe0, N_TYPE = 0x0e, N_SECT = 0x0e, N_EXT = 1 };

/* Mach-O symbols have no size, and begin with an underscore that the name in the source lacks. */
static int add_macho_symbol(struct symbols *s, const uint8_t *p, struct span names)
{
	uint64_t at = load32(p, s->m->swap);
	struct symbol x = {
		.addr = s->m->is64 ? load64(p + 8, s->m->swap) : load32(p + 8, s->m->swap),
		.rank = p[4] & N_EXT ? GSYM_GLOBAL : GSYM_LOCAL,
		.typed = true,
	};

	if (p[4] & N_STAB || (p[4] & N_TYPE) != N_SECT || at >= names.n ||
		!memchr(names.p + at, 0, names.n - at))
		return 0;
	x.name = (const char *)names.p + at;
	x.name += x.name[0] == '_';
	return x.name[0] ? symbols_add(s, &x) : 0;
}

int symbols_of_macho(struct symbols *s)
{
	size_t each = s->m->is64 ? 16 : 12;
	struct image_macho macho;
	int r = 0;

	if (image_macho(s->m, &macho) < 0)
		return 0;
	for (size_t at = 0; r == 0 && at + each <= macho.symbols.n; at += each)
		r = add_macho_symbol(s, macho.symbols.p + at, macho.names);
	return r;
}
