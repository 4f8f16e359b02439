/* Embeds GSYM in a copy of the file that it was made from: the formats, and the check of the copy. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "convert/embed-private.h"
#include "base/util.h"

#include <string.h>

/* Checks the copy. If parts of the old file overlap, moving one may have damaged another. */
static int check(const struct embed *x, struct err *e)
{
	struct err ignored = {0};
	struct gsym g;
	int r = x->failed;

	if (r == 0)
		r = gsym_open(&g, (struct span){(uint8_t *)x->out->p, x->out->n}, &ignored);
	if (r == 0)
		r = gsym_check(&g, &ignored);
	if (x->failed)
		return err_set(e, r, "%s", err_text(r));
	return r < 0 ? err_set(e, -EBADMSG, "is broken: its sections overlap") : 0;
}

static int embed(struct embed *x, struct span file, struct err *e)
{
	static int (*const formats[])(struct embed *x, struct err *e) = {
		[IMAGE_ELF] = embed_elf, [IMAGE_MACHO] = embed_macho, [IMAGE_COFF] = embed_coff};
	struct image_section s;
	int r = image_open(&x->m, file, e);
	bool macho = x->m.kind == IMAGE_MACHO;

	if (r < 0)
		return r != -ENOMSG ? r
				    : err_set(e, -ENOTSUP, "is not an object file: no section can be added to it");
	if (image_find(&x->m, macho ? "__gsym" : ".gsym", &s) != -ENOENT)
		return err_set(e, -ENOTSUP, "has a section %s already", macho ? "__gsym" : ".gsym");
	buf_clear(x->out);
	r = formats[x->m.kind](x, e);
	if (r < 0)
		return e->text[0] ? r : err_set(e, r, "%s", err_text(r));
	return check(x, e);
}

int gsym_embed(struct gsym_writer *w, const struct gsym_made *made, struct span file, struct buf *out,
	struct err *e)
{
	struct embed x = {
		.w = w, .out = out, .main = BUF_UP_TO(UINT32_MAX), .strings = BUF_UP_TO(UINT32_MAX)};
	int r = strcmp(made->from, "gsym") == 0 ? err_set(e, -ENOTSUP, "is GSYM already, or contains it")
						 : embed(&x, file, e);

	buf_release(&x.main);
	buf_release(&x.strings);
	return r;
}
