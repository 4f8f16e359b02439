/* Checks the names of the members of an archive, and finds the claims in them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "intake/private.h"
#include "layout/layout.h"
#include "unpack/unpack.h"

#include <stdio.h>
#include <string.h>

void names_release(struct names *s)
{
	free(s->table);
	*s = (struct names){.table = NULL};
}

static uint64_t digest_of(const char *name)
{
	uint8_t sum[32];
	uint64_t d;

	sha256_of(name, strlen(name), sum);
	memcpy(&d, sum, sizeof(d));
	return d ? d : 1;
}

/* 0; -EEXIST: the table has the digest. The table must have an empty place. */
static int put(uint64_t *table, size_t room, uint64_t d)
{
	size_t i = (size_t)d & (room - 1);

	while (table[i] && table[i] != d)
		i = (i + 1) & (room - 1);
	if (table[i])
		return -EEXIST;
	table[i] = d;
	return 0;
}

static int make_room(struct names *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	uint64_t *table;

	if (2 * (s->n + 1) <= s->room)
		return 0;
	table = calloc(room, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i])
			put(table, room, s->table[i]);
	free(s->table);
	s->table = table;
	s->room = room;
	return 0;
}

/* Remembers a name. 0; -EEXIST: an earlier member has the same name; -ENOMEM. */
static int remember(struct names *s, const char *name)
{
	int r = make_room(s);

	if (r == 0)
		r = put(s->table, s->room, digest_of(name));
	s->n += r == 0;
	return r;
}

/* Whether a component of the name is `..`. Names from Windows have backslashes. */
static bool leads_out(const char *name)
{
	while (*name) {
		size_t n = strcspn(name, "/\\");

		if (n == 2 && memcmp(name, "..", 2) == 0)
			return true;
		name += n + (name[n] != '\0');
	}
	return false;
}

int names_check(struct names *s, const char *name, bool strict, struct err *e)
{
	int r;

	if (leads_out(name))
		return err_set(e, -EBADMSG, "has a name that leads out of the archive (..)");
	if (!strict || !name[0])
		return 0;
	if (name[0] == '/' || name[0] == '\\')
		return err_set(e, -EBADMSG, "has an absolute name");
	r = remember(s, name);
	return r == -EEXIST ? err_set(e, -EBADMSG, "has the name of an earlier member") : r;
}

/* Appends the candidates of a layout. */
static unsigned parse(const char *layout, const char *path, struct artifact *claims, unsigned n)
{
	_cleanup_free_ struct layout_hit *hit = calloc(1, sizeof(*hit));

	if (!hit)
		return n;
	layout_parse(layout_find(layout), path, hit);
	for (unsigned i = 0; (hit->what & LAYOUT_FILE) && i < hit->n && n < INTAKE_CLAIMS_MOST; i++)
		claims[n++] = hit->files[i];
	return n;
}

unsigned names_claims(const char *name, struct artifact claims[static INTAKE_CLAIMS_MOST])
{
	char path[LAYOUT_PATH_MAX], last[MODULE_NAME_MAX];
	const char *slash = strrchr(name, '/');
	unsigned n;

	unpack_name(name, last, sizeof(last)); /* "foo.pdb" for foo.pdb/ID/foo.pd_ */
	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - name) : 0, name, last);
	n = parse("breakpad", path, claims, 0);
	return parse("symstore", path, claims, n);
}
