/* Recognizes archives by their first bytes. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/kind.h"
#include "base/util.h"
#include "unpack/unpack.h"

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
