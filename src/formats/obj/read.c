/* Shared by the readers of formats: reads bytes and sets an error text; names of architectures and files. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "formats/obj/private.h"

#include <stdio.h>
#include <string.h>

int obj_cut_off(struct err *e, const char *what)
{
	return err_set(e, -EBADMSG, "is cut short before the end of %s", what);
}

int obj_unread(int r, const char *what, struct err *e)
{
	if (r == -ENODATA)
		return obj_cut_off(e, what);
	return r == -EAGAIN ? r : err_set(e, r, "cannot be read: %s", err_text(r));
}

int obj_read(struct view *v, const char *what, uint64_t off, void *p, size_t n, struct err *e)
{
	int r = view_read(v, off, p, n);

	return r < 0 ? obj_unread(r, what, e) : 0;
}

int obj_check_whole(struct view *v, uint64_t end, struct err *e)
{
	if (v->size != VIEW_UNKNOWN && end > v->size)
		return err_set(e, -EBADMSG, "is cut short: it has %llu bytes, and needs %llu",
			(unsigned long long)v->size, (unsigned long long)end);
	return v->size == VIEW_UNKNOWN && end > v->have ? view_want(v, v->have, end - v->have) : 0;
}

int obj_always_sparse(struct view *v, enum filetype t)
{
	return 1;
}

void obj_worth_section(struct worth *w, const char *name)
{
	static const struct {
		const char *name;
		enum worth_debug debug;
	} rows[] = {
		{"debug_info", WORTH_DEBUG}, {"zdebug_info", WORTH_DEBUG}, {"debug_info.dwo", WORTH_DEBUG},
		{"debug_line", WORTH_LINES}, {"zdebug_line", WORTH_LINES}, {"debug_line.dwo", WORTH_LINES},
		{"eh_frame", WORTH_NO_DEBUG}, {"debug_frame", WORTH_NO_DEBUG}, {"unwind_info", WORTH_NO_DEBUG},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(name, rows[i].name) != 0)
			continue;
		w->debug = MAX(w->debug, rows[i].debug);
		w->unwind |= rows[i].debug == WORTH_NO_DEBUG;
	}
}

const char *obj_arch(const char *p, size_t n)
{
	static const char *const known[] = {"x86", "x86_64", "x86_64h", "arm", "armv5", "armv6",
		"armv6m", "armv7", "armv7f", "armv7k", "armv7m", "armv7em", "armv7s", "arm64",
		"arm64e", "arm64v8", "arm64_32", "arm64_32v8", "ppc", "ppc64", "mips", "mips64",
		"wasm32"};
	static const struct {
		const char *word, *arch;
	} others[] = {{"i386", "x86"}, {"amd64", "x86_64"}, {"aarch64", "arm64"}};

	for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
		if (n == strlen(known[i]) && memcmp(p, known[i], n) == 0)
			return known[i];
	for (unsigned i = 0; i < ARRAY_SIZE(others); i++)
		if (n == strlen(others[i].word) && memcmp(p, others[i].word, n) == 0)
			return others[i].arch;
	return "unknown";
}

const char *obj_arch_of_machine(uint32_t machine)
{
	switch (machine) {
	case 0x14c: return "x86";
	case 0x1c0:
	case 0x1c2:
	case 0x1c4: return "arm";
	case 0x8664: return "x86_64";
	case 0xa641:
	case 0xaa64: return "arm64";
	default: return "unknown";
	}
}

void obj_base_name(char out[static MODULE_NAME_MAX], const char *p, size_t n)
{
	for (size_t i = n; i > 0; i--) {
		if (p[i - 1] == '/' || p[i - 1] == '\\') {
			p += i;
			n -= i;
			break;
		}
	}
	out[0] = '\0';
	if (n && n < MODULE_NAME_MAX && path_name_ok(p, n))
		snprintf(out, MODULE_NAME_MAX, "%.*s", (int)n, p);
}
