/* The stylesheet, the script and the icon of the page, which are part of the program. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/util.h"
#include "http/page.h"
#include "page-files.h"

#include <stdio.h>
#include <string.h>

static const struct file {
	const char *name, *type;
	const unsigned char *p;
	size_t n;
} files[] = {
	{"page.css", "text/css; charset=utf-8", page_css, sizeof(page_css)},
	{"page.js", "text/javascript; charset=utf-8", page_js, sizeof(page_js)},
	{"page.svg", "image/svg+xml", page_svg, sizeof(page_svg)},
};

static const struct file *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (strcmp(files[i].name, name) == 0)
			return &files[i];
	return &files[0];
}

const char *page_file_url(const char *name, char out[static 64])
{
	const struct file *f = find(name);

	snprintf(out, 64, "/%s?v=%08x", f->name, (unsigned)(hash_mix(f->p, f->n) & 0xffffffff));
	return out;
}

enum MHD_Result page_file(struct exchange *x)
{
	const struct file *f = find(x->route->path);
	struct buf text = BUF_UP_TO(1 << 20);

	if (buf_add(&text, f->p, f->n) < 0)
		return MHD_NO;
	return exchange_buf(x, 200, f->type, HTTP_FOREVER, &text);
}
