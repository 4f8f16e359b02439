/* Demangles a name of Microsoft's C++ within bounds of time, memory and depth. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/undname-private.h"
#include "base/util.h"

#include <string.h>

#define NAME_MOST (64 << 10)
#define PIECES_MOST (16 << 10)

static bool read_name(struct undname *u, bool full, struct buf *out)
{
	struct symbol s = undname_symbol(u);
	text t = symbol_text(u, &s, full);
	size_t n = u->pieces[t].n;

	if (u->bad || n == 0 || buf_reserve(out, n) < 0)
		return false;
	text_write(u, t, out->p, (text *)(void *)&u->pieces[u->most]);
	out->n = n;
	out->p[n] = '\0';
	return true;
}

bool undname(const char *name, bool full, struct buf *out)
{
	_cleanup_free_ struct piece *pieces = NULL;
	_cleanup_free_ char *copy = NULL;
	size_t n = strnlen(name, NAME_MOST), most = MIN(64 + n * 6, PIECES_MOST);
	struct undname u = {.p = name, .n = 1, .most = most};
	const char *mark;

	buf_clear(out);
	if ((name[0] != '?' && strncmp(name, ".?", 2) != 0) || n == NAME_MOST)
		return false;
	u.pieces = pieces = malloc(most * (sizeof(*pieces) + sizeof(text)));
	if (!pieces)
		return false;
	pieces[0] = (struct piece){.power = 1};
	if (read_name(&u, full, out))
		return true;
	mark = strstr(name, "$$h"); /* of ARM64EC; some compilers put it anywhere */
	copy = mark ? strdup(name) : NULL;
	if (!copy)
		return false;
	memmove(copy + (mark - name), mark + 3, n - (size_t)(mark - name) - 2);
	u = (struct undname){.p = copy, .n = 1, .most = most, .pieces = pieces};
	return read_name(&u, full, out);
}
