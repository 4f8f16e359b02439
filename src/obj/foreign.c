/* Describes a file that no format claims: an HTML page, gzip data, text. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "obj/private.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool begins_with(const uint8_t *p, size_t n, const char *word)
{
	return n >= strlen(word) && strncasecmp((const char *)p, word, strlen(word)) == 0;
}

static bool is_page(const uint8_t *p, size_t n)
{
	return begins_with(p, n, "<!doctype html") || begins_with(p, n, "<html") ||
		begins_with(p, n, "<head") || begins_with(p, n, "<body");
}

static bool is_text(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] == 0x7f || (p[i] < ' ' && !isspace(p[i])))
			return false;
	return true;
}

/* Containers and formats that a message can name. */
static const char *magic_word(const uint8_t *p, size_t n)
{
	static const struct {
		const char *magic;
		size_t n;
		const char *word;
	} rows[] = {
		{"\x1f\x8b", 2, "is gzip data"},
		{"\x28\xb5\x2f\xfd", 4, "is zstd data"},
		{"\xfd" "7zXZ", 5, "is xz data"},
		{"BZh", 3, "is bzip2 data"},
		{"PK\3\4", 4, "is a zip archive"},
		{"MSCF", 4, "is a cabinet archive"},
		{"!<arch>\n", 8, "is an ar archive"},
		{"MZ", 2, "is a PE file"},
		{"Microsoft C/C++ MSF 7.00", 24, "is a PDB file"},
		{"BSJB", 4, "is a portable PDB file"},
		{"\xca\xfe\xba\xbe", 4, "is a Java class"}, /* fat Mach-O files have the same magic */
		{"GSYM", 4, "is a GSYM file"},
		{"MYSG", 4, "is a GSYM file"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (n >= rows[i].n && memcmp(p, rows[i].magic, rows[i].n) == 0)
			return rows[i].word;
	return NULL;
}

/* Some servers send an HTML page in place of a file, so the message names that case. */
const char *obj_foreign(const uint8_t *p, size_t n)
{
	const char *word = magic_word(p, n);

	if (!n)
		return "is empty";
	if (word)
		return word;
	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	while (n && isspace(*p)) {
		p++;
		n--;
	}
	if (is_page(p, n))
		return "is an HTML page";
	if (begins_with(p, n, "<?xml"))
		return "is an XML document";
	if (is_text(p, n))
		return "is text";
	return "is of no known format";
}
