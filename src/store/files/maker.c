/* Marks files that another symfs made. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/files/maker.h"

#include <stdio.h>
#include <string.h>

#define MADE_BY "#synthesized="

void blob_set_maker(struct blob_facts *f, const char *maker)
{
	size_t at = strnlen(f->url, sizeof(f->url) - sizeof(MADE_BY) - BLOB_MAKER);

	memcpy(f->url + at, MADE_BY, strlen(MADE_BY));
	at += strlen(MADE_BY);
	for (size_t i = 0; maker[i] && i + 1 < BLOB_MAKER; i++) {
		bool word = (maker[i] >= 'a' && maker[i] <= 'z') || (maker[i] >= 'A' && maker[i] <= 'Z') ||
			    (maker[i] >= '0' && maker[i] <= '9') || maker[i] == '.';

		f->url[at++] = word ? maker[i] : '+';
	}
	f->url[at] = '\0';
}

/* The name of a file in a directory can have these words, too. */
bool blob_is_made(const struct blob_facts *f)
{
	return f->url[0] != '/' && strstr(f->url, MADE_BY);
}

const char *blob_maker(const struct blob_facts *f, char out[static BLOB_MAKER])
{
	const char *at = blob_is_made(f) ? strstr(f->url, MADE_BY) + strlen(MADE_BY) : "";

	snprintf(out, BLOB_MAKER, "%.*s", BLOB_MAKER - 1, at);
	for (char *p = out; *p; p++)
		*p = *p == '+' ? ' ' : *p;
	return out;
}
