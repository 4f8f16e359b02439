/* Recognizes archives by their first bytes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pack/unarchive/kind.h"
#include "base/util.h"
#include "base/view.h"
#include "pack/unpack/unpack.h"

#include <stdbool.h>
#include <string.h>

#define TAR_BLOCK 512

static const struct {
	const char *magic;
	size_t n, at;
	enum archive_kind kind;
} kinds[] = {
	{"PK\3\4", 4, 0, ARCHIVE_ZIP},
	{"PK\5\6", 4, 0, ARCHIVE_ZIP}, /* an empty archive */
	{"ustar", 5, 257, ARCHIVE_TAR},
	{"\3757zXZ\0", 6, 0, ARCHIVE_PACKED},
	{"1AY&SY", 6, 4, ARCHIVE_PACKED}, /* bzip2: the digits of pi after its first four bytes */
	{"7z\274\257\47\34", 6, 0, ARCHIVE_7Z},
	{"!<arch>\ndebian-binary", 21, 0, ARCHIVE_DEB}, /* other ar archives are libraries */
	{"\355\253\356\333", 4, 0, ARCHIVE_RPM},
};

static bool is_tar(const uint8_t *p, size_t n)
{
	return n >= TAR_BLOCK && memcmp(p + 257, "ustar", 5) == 0;
}

enum archive_kind archive_kind(const uint8_t *head, size_t n)
{
	const struct packing *p;
	uint8_t inside[TAR_BLOCK];

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		if (n >= kinds[i].at + kinds[i].n && memcmp(head + kinds[i].at, kinds[i].magic, kinds[i].n) == 0)
			return kinds[i].kind;
	p = packing_of(head, n);
	if (!p || (strcmp(packing_name(p), "gzip") != 0 && strcmp(packing_name(p), "zstd") != 0))
		return ARCHIVE_NONE;
	return is_tar(inside, unpack_peek(p, head, n, inside, sizeof(inside))) ? ARCHIVE_PACKED_TAR : ARCHIVE_NONE;
}

int archive_kind_of(struct view *v, enum archive_kind *out)
{
	size_t n = (size_t)MIN(v->size, ARCHIVE_HEAD);
	_cleanup_free_ uint8_t *more = NULL;
	uint8_t head[1024];
	int r = view_read(v, 0, head, MIN(n, sizeof(head)));

	if (r < 0)
		return r;
	*out = archive_kind(head, MIN(n, sizeof(head)));
	if (*out != ARCHIVE_NONE || n <= sizeof(head) || !packing_of(head, sizeof(head)))
		return 0;
	more = malloc(n);
	r = more ? view_read(v, 0, more, n) : -ENOMEM;
	if (r == 0)
		*out = archive_kind(more, n);
	return r;
}
