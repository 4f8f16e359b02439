/* An ELF file around two sections. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gsym/object.h"
#include "base/util.h"

#include <stdbool.h>
#include <string.h>
#include "base/banned.h"

enum { SHT_PROGBITS = 1, SHT_STRTAB = 3 };

#define GSYM_STRINGS_NAME ".gsymstrtab"
#define NAMES "\0.shstrtab\0.gsym\0" GSYM_STRINGS_NAME
#define ALIGN 8 /* so that the tables in the section are aligned in the file */

struct object {
	struct buf *out;
	bool big, is64;
	int failed;
};

static void put(struct object *o, const void *p, size_t n)
{
	if (!o->failed)
		o->failed = buf_add(o->out, p, n);
}

static void put_number(struct object *o, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put(o, &(uint8_t){(uint8_t)(v >> 8 * (o->big ? n - 1 - i : i))}, 1);
}

static void put_word(struct object *o, uint64_t v)
{
	put_number(o, v, o->is64 ? 8 : 4);
}

static void put_section(struct object *o, uint32_t name, uint32_t type, uint64_t off, uint64_t size,
	unsigned align)
{
	put_number(o, name, 4);
	put_number(o, type, 4);
	put_word(o, 0);
	put_word(o, 0);
	put_word(o, off);
	put_word(o, size);
	put_number(o, 0, 4);
	put_number(o, 0, 4);
	put_word(o, align);
	put_word(o, 0);
}

static void put_head(struct object *o, const struct gsym_made *made)
{
	uint8_t ident[16] = {0x7f, 'E', 'L', 'F', o->is64 ? 2 : 1, o->big ? 2 : 1, 1};
	unsigned head = o->is64 ? 64 : 52;

	put(o, ident, sizeof(ident));
	put_number(o, made->type ? made->type : 1, 2);
	put_number(o, made->machine, 2);
	put_number(o, 1, 4);
	put_word(o, 0);
	put_word(o, 0);
	put_word(o, head); /* the section headers are behind this one */
	put_number(o, 0, 4);
	put_number(o, head, 2);
	put_number(o, 0, 2);
	put_number(o, 0, 2);
	put_number(o, o->is64 ? 64 : 40, 2);
	put_number(o, 4, 2);
	put_number(o, 1, 2); /* the one that has the names */
}

static int wrap(const struct gsym_made *made, const struct buf *main, const struct buf *strings,
	struct buf *out)
{
	struct object o = {.out = out, .big = made->big, .is64 = !made->is32};
	uint64_t names = o.is64 ? 64 + 4 * 64 : 52 + 4 * 40,
		 at = (names + sizeof(NAMES) + ALIGN - 1) / ALIGN * ALIGN;

	buf_clear(out);
	put_head(&o, made);
	put_section(&o, 0, 0, 0, 0, 0);
	put_section(&o, 1, SHT_STRTAB, names, sizeof(NAMES), 1);
	put_section(&o, 11, SHT_PROGBITS, at, main->n, ALIGN);
	put_section(&o, 17, SHT_PROGBITS, at + main->n, strings->n, 1);
	put(&o, NAMES, sizeof(NAMES));
	while (!o.failed && out->n < at)
		put_number(&o, 0, 1);
	put(&o, main->p, main->n);
	put(&o, strings->p, strings->n);
	return o.failed;
}

int gsym_write_object(struct gsym_writer *w, const struct gsym_made *made, struct buf *out, struct err *e)
{
	_cleanup_buf_ struct buf main = BUF_UP_TO(UINT32_MAX), strings = BUF_UP_TO(UINT32_MAX);
	int r = gsym_write(w, GSYM_SECT0, made->big, GSYM_STRINGS_NAME, &main, &strings, e);

	if (r < 0)
		return r;
	r = wrap(made, &main, &strings, out);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}
