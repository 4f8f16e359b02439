/* libiberty's demanglers, with bounds, and that of Microsoft's names. Names are as hostile as the files that hold
 * them. A short name can stand for more text than fits in memory, because its parts refer to each other. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/util.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#define NAME_MOST 8192
#define TEXT_MOST (64 << 10)

struct printing {
	struct buf *out;
	jmp_buf enough;
};

/* The printers have no way to stop. While they print they hold memory on their stack only, so longjmp()
 * may leave them. */
static void print_part(const char *text, size_t n, void *ctx)
{
	struct printing *p = ctx;

	if (p->out->n + n > TEXT_MOST || buf_add(p->out, text, n) < 0)
		longjmp(p->enough, 1);
}

static const char *past_number(const char *p)
{
	while (*p && *p != '_')
		p++;
	return *p ? p + 1 : p;
}

/* Whether a Rust name may have a part that is not ASCII: printing such a part allocates memory. True for a
 * few other names as well. */
static bool has_punycode(const char *p)
{
	while (*p) {
		size_t n = 0;

		if (strchr("sBLGK", *p)) { /* numbers in bases other than 10, which end with an underscore */
			p = past_number(p);
			continue;
		}
		if (*p == 'u' && p[1] >= '0' && p[1] <= '9')
			return true;
		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		while (*p >= '0' && *p <= '9' && n < NAME_MOST)
			n = n * 10 + (size_t)(*p++ - '0');
		p += *p == '_';
		p += strnlen(p, n);
	}
	return false;
}

typedef int printer(const char *name, int options, demangle_callbackref add, void *ctx);

static bool print_name(printer *print, const char *name, struct buf *out)
{
	struct printing p = {.out = out};

	buf_clear(out);
	if (setjmp(p.enough) == 0 && print(name, DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP, print_part, &p) && out->n)
		return true;
	buf_clear(out);
	return false;
}

static bool demangle_bare(const char *name, struct buf *out)
{
	bool rust;

	if (undname(name, false, out))
		return true;
	if (name[0] == '_' && name[1] == '_' && (name[2] == 'Z' || name[2] == 'R'))
		name++; /* names in Mach-O have one more underscore */
	rust = name[0] == '_' && name[1] == 'R';
	if ((!rust && strncmp(name, "_Z", 2) != 0) || strnlen(name, NAME_MOST) == NAME_MOST)
		return false;
	if (rust)
		return !has_punycode(name + 2) && print_name(rust_demangle_callback, name, out);
	/* Rust's older names are C++'s with a hash at their end. */
	return print_name(rust_demangle_callback, name, out) ||
	       print_name(cplus_demangle_v3_callback, name, out);
}

/* An entry of the table of imported functions has the function's name and "@plt". */
bool demangle(const char *name, struct buf *out)
{
	size_t n = strnlen(name, NAME_MOST);
	char bare[NAME_MOST];

	if (n < 5 || n == NAME_MOST || name[0] != '_' || strcmp(name + n - 4, "@plt") != 0)
		return demangle_bare(name, out);
	memcpy(bare, name, n - 4);
	bare[n - 4] = '\0';
	return demangle_bare(bare, out) && buf_adds(out, "@plt") == 0;
}
