/* Functions of a PE file from other sources than debug information: the symbol table that MinGW's linkers
 * leave in the file, and the file's exports. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/search.h"
#include "base/util.h"
#include "base/bytes.h"
#include "convert/symbols-private.h"

enum {
	CLASS_EXTERNAL = 2, CLASS_STATIC = 3, TYPE_FUNCTION = 0x20, SYMBOL_SIZE = 18,
	MACHINE_386 = 0x14c, MACHINE_X86_64 = 0x8664
};

/* The size of the function at `rva` by its unwind entry; 0: the function has no unwind entry. */
static uint64_t size_of(const struct image *m, const struct image_pe *pe, uint64_t rva)
{
	size_t n = m->machine == MACHINE_X86_64 ? pe->unwind.n / 12 : 0;
	size_t i = search_first(k, 0, n, load32(pe->unwind.p + k * 12, m->swap) < rva);
	const uint8_t *p = pe->unwind.p + i * 12;
	uint32_t end = i < n && load32(p, m->swap) == rva ? load32(p + 4, m->swap) : 0;

	return end > rva ? end - rva : 0;
}

/* ---- exports ---------------------------------------------------------------------------- */

/* The text at `rva`. NULL: no section has the address, or the text has no NUL. */
static const char *text_at(const struct image *m, struct image_section *last, uint64_t rva)
{
	struct span s = image_at(m, last, rva);

	return s.n && memchr(s.p, 0, s.n) ? (const char *)s.p : NULL;
}

static int read_exports(struct symbols *s, const struct image_pe *pe)
{
	struct image_section last = {0}, texts = {0};
	struct span dir = image_at(s->m, &last, pe->exports), names, ordinals, functions;
	uint32_t n, n_functions;
	int r = 0;

	if (!pe->exports_size || dir.n < 40)
		return 0;
	n_functions = load32(dir.p + 20, s->m->swap);
	n = load32(dir.p + 24, s->m->swap);
	functions = image_at(s->m, &last, load32(dir.p + 28, s->m->swap));
	names = image_at(s->m, &last, load32(dir.p + 32, s->m->swap));
	ordinals = image_at(s->m, &last, load32(dir.p + 36, s->m->swap));
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const uint8_t *name = span_at(names, (uint64_t)i * 4, 4),
			      *ordinal = span_at(ordinals, (uint64_t)i * 2, 2), *function;
		struct symbol x = {.rank = GSYM_GLOBAL, .typed = true};
		uint32_t rva;

		if (!name || !ordinal)
			break;
		if (load16(ordinal, s->m->swap) >= n_functions)
			continue;
		function = span_at(functions, load16(ordinal, s->m->swap) * 4ull, 4);
		rva = function ? load32(function, s->m->swap) : 0;
		/* An address inside the export table leads to the name of another library's function. */
		if (!rva || (rva >= pe->exports && rva - pe->exports < pe->exports_size))
			continue;
		x.name = text_at(s->m, &texts, load32(name, s->m->swap));
		x.addr = pe->base + rva;
		x.size = size_of(s->m, pe, rva);
		if (x.name)
			r = symbols_add(s, &x);
	}
	return r;
}

/* ---- the table of symbols --------------------------------------------------------------- */

/* `room` takes a copy of an eight-byte name, which has no NUL. */
static const char *name_of(const struct symbols *s, const uint8_t *p, char *room)
{
	const uint8_t *nul;
	uint32_t off;

	if (load32(p, s->m->swap)) {
		memcpy(room, p, 8);
		room[8] = '\0';
		return room;
	}
	off = load32(p + 4, s->m->swap);
	nul = off < s->m->names.n ? memchr(s->m->names.p + off, 0, s->m->names.n - off) : NULL;
	return nul ? (const char *)s->m->names.p + off : "";
}

static int add_coff(struct symbols *s, const struct image_pe *pe, const uint8_t *p, char *room)
{
	unsigned section = load16(p + 12, s->m->swap), class = p[16];
	struct symbol x = {
		.name = name_of(s, p, room),
		.rank = class == CLASS_EXTERNAL ? GSYM_GLOBAL : GSYM_LOCAL,
		.typed = load16(p + 14, s->m->swap) == TYPE_FUNCTION,
	};
	struct image_section at;

	/* A static symbol without a type is a section or a label. */
	if ((class != CLASS_EXTERNAL && (class != CLASS_STATIC || !x.typed)) || !section ||
		section > s->m->n_sections || image_coff_section(s->m, section - 1, &at) < 0)
		return 0;
	x.addr = pe->base + at.addr + load32(p + 8, s->m->swap);
	x.size = size_of(s->m, pe, x.addr - pe->base);
	x.name += s->m->machine == MACHINE_386 && x.name[0] == '_';
	return x.name[0] ? symbols_add(s, &x) : 0;
}

static int read_table(struct symbols *s, const struct image_pe *pe)
{
	size_t n = pe->symbols.n / SYMBOL_SIZE;
	int r = 0;

	s->names = n ? malloc(n * 9) : NULL;
	if (n && !s->names)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const uint8_t *p = pe->symbols.p + i * SYMBOL_SIZE;

		r = add_coff(s, pe, p, s->names + i * 9);
		i += p[17]; /* auxiliary entries of this symbol */
	}
	return r;
}

int symbols_of_pe(struct symbols *s)
{
	struct image_pe pe;
	int r;

	image_pe(s->m, &pe);
	r = read_table(s, &pe);
	s->table = 1;
	return r < 0 ? r : read_exports(s, &pe);
}
