/* Recognizes BCSymbolMaps. An app built from bitcode has numbers in place of its symbols' names. The map lists
 * the names, one on each line, in the order of the numbers. Only the map's file name has the UUID of the
 * program. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/util.h"

#include <string.h>

#define MAGIC "BCSymbolMap Version:"
#define LINE_MOST 64

static int bcsymbolmap_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	char line[LINE_MOST];
	size_t n = (size_t)MIN(v->have, sizeof(line));
	int r = obj_read(v, "its first line", 0, line, n, e);

	if (r < 0)
		return r;
	if (!memchr(line, '\n', n)) {
		if (n == sizeof(line) || n == v->size)
			return err_set(e, -EBADMSG, "is broken: its first line does not end");
		return view_want(v, 0, n + 1);
	}
	*out = (struct obj_slice){.format = "bcsymbolmap", .arch = "unknown", .kind = OBJ_OTHER,
		.module.object = OBJECT_MACHO, .types = {FILETYPE_BCSYMBOLMAP}, .n_types = 1,
		.size = v->size};
	return 0;
}

const struct obj_format obj_bcsymbolmap = {
	.name = "bcsymbolmap",
	.magic = MAGIC,
	.magic_len = sizeof(MAGIC) - 1,
	.serves = {FILETYPE_BCSYMBOLMAP},
	.probe = bcsymbolmap_probe,
};
