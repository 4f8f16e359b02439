/* The words of a line of the token file: checks names and namespaces, reads and writes rights. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "auth/tokens.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *word;
	enum auth_right right;
} rights[] = {
	{"read", AUTH_READ},
	{"upload", AUTH_UPLOAD},
	{"try", AUTH_TRY},
	{"purge", AUTH_PURGE},
	{"added", AUTH_ADDED},
};

int auth_rights_parse(const char *text, unsigned *out)
{
	unsigned set = 0;

	for (size_t n; *text; text += n + (text[n] == ',')) {
		unsigned found = 0;

		n = strcspn(text, ",");
		for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
			if (strlen(rights[i].word) == n && memcmp(rights[i].word, text, n) == 0)
				found = rights[i].right;
		if (!found || (text[n] && !text[n + 1]))
			return -EINVAL;
		set |= found;
	}
	if (!set)
		return -EINVAL;
	*out = set;
	return 0;
}

const char *auth_rights_text(unsigned set, char out[static AUTH_RIGHTS_TEXT])
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (set & rights[i].right)
			n += (size_t)snprintf(out + n, AUTH_RIGHTS_TEXT - n, "%s%s", n ? "," : "", rights[i].word);
	return out;
}

bool auth_allows(unsigned set, enum auth_right right)
{
	return set & right || (right == AUTH_TRY && set & AUTH_UPLOAD);
}

bool auth_name_ok(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";
	size_t n = strlen(name);

	return n && n < AUTH_NAME && strspn(name, chars) == n && *name != '-';
}

bool auth_space_ok(const char *name)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t n = strlen(name);

	return n && n < AUTH_SPACE && strspn(name, chars) == n && *name != '-';
}
