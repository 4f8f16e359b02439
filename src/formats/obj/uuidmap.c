/* UUID maps: property lists that say which UUID the program of a dSYM had before the store compiled it
 * again. The dSYM's own UUID is the file's name, so a map cannot be compared with its key. But a web page
 * or another property list is rejected. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/util.h"

#include <string.h>

#define MAP_MOST (64u << 10)

static const char *skip_spaces(const char *p)
{
	while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
		p++;
	return p;
}

/* Whether a UUID follows the key; `text` ends with a NUL. */
static bool has_uuid(const char *text)
{
	static const char key[] = "<key>DBGOriginalUUID</key>", open[] = "<string>";
	const char *p = strstr(text, key), *end;
	struct debug_id id;

	if (!p)
		return false;
	p = skip_spaces(p + sizeof(key) - 1);
	if (strncmp(p, open, sizeof(open) - 1) != 0)
		return false;
	p = skip_spaces(p + sizeof(open) - 1);
	end = p + strspn(p, "0123456789abcdefABCDEF-");
	return end - p == 36 && debug_id_parse(&id, p, 36) == 0;
}

static int uuidmap_probe(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (v->have > MAP_MOST || (v->size != VIEW_UNKNOWN && v->size > MAP_MOST))
		return -ENOMSG;
	r = view_whole(v);
	if (r < 0)
		return r;
	text = calloc(1, v->size + 1);
	if (!text)
		return err_set(e, -ENOMEM, "cannot be read: %s", err_text(ENOMEM));
	r = obj_read(v, "its text", 0, text, v->size, e);
	if (r < 0)
		return r;
	if (!has_uuid(text))
		return -ENOMSG;
	*out = (struct obj_slice){.format = "uuidmap", .arch = "unknown", .kind = OBJ_OTHER,
		.module.object = OBJECT_MACHO, .types = {FILETYPE_UUIDMAP}, .n_types = 1,
		.size = v->size};
	return 0;
}

const struct obj_format obj_uuidmap = {
	.name = "uuidmap",
	.magic = "<?xml",
	.magic_len = 5,
	.also = {{"<plist", 6}, {"<!DOCTYPE plist", 15}, {"\xef\xbb\xbf<?xml", 8}},
	.shared = true, /* with every other XML document */
	.serves = {FILETYPE_UUIDMAP},
	.probe = uuidmap_probe,
};
