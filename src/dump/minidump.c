/* Reads minidumps, as Windows, Breakpad and Crashpad write them. The layout is in minidumpapiset.h of the
 * Windows SDK; Breakpad's minidump_format.h has the additions of other systems. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/path.h"
#include "base/hash.h"
#include "base/util.h"
#include "dump/private.h"

#include <stdio.h>
#include <string.h>

#define STREAMS_MOST 4096u
#define NAME_MOST 4096u /* UTF-16 units */
#define RECORD_MOST 4096u

enum { STREAM_MODULES = 4, STREAM_SYSTEM = 7 };
enum { PLATFORM_WINDOWS = 2, PLATFORM_MAC = 0x8101, PLATFORM_IOS = 0x8102, PLATFORM_UNIX = 0x8000 };
#define MODULE_SIZE 108

struct minidump {
	struct view *v;
	struct err *e;
	uint64_t modules, system; /* offsets of the streams; 0: the dump has none */
	uint64_t modules_size;
	unsigned platform;
};

static int broken(struct minidump *d, const char *what)
{
	return err_set(d->e, -EBADMSG, "the minidump is broken or cut short: %s", what);
}

static int bytes(struct minidump *d, const char *what, uint64_t off, void *p, size_t n)
{
	int r = view_read(d->v, off, p, n);

	return r == 0 ? 0 : r == -ENODATA ? broken(d, what) : err_set(d->e, r, "%s: %s", what, err_text(r));
}

static int read_directory(struct minidump *d)
{
	uint8_t h[16], s[12];
	uint32_t count, at;
	int r = bytes(d, "its header", 0, h, sizeof(h));

	if (r < 0)
		return r;
	count = le32(h + 8);
	at = le32(h + 12);
	if (count > STREAMS_MOST)
		return broken(d, "more streams than any minidump has");
	for (uint32_t i = 0; i < count; i++) {
		r = bytes(d, "its directory", at + (uint64_t)i * 12, s, sizeof(s));
		if (r < 0)
			return r;
		if (le32(s) == STREAM_MODULES && !d->modules) {
			d->modules = le32(s + 8);
			d->modules_size = le32(s + 4);
		}
		if (le32(s) == STREAM_SYSTEM && !d->system)
			d->system = le32(s + 8);
	}
	return d->modules ? 0 : err_set(d->e, -ENODATA, "the minidump has no list of modules");
}

static int read_platform(struct minidump *d)
{
	uint8_t p[4];
	int r;

	d->platform = PLATFORM_WINDOWS;
	if (!d->system)
		return 0;
	r = bytes(d, "its system information", d->system + 20, p, sizeof(p));
	if (r == 0)
		d->platform = le32(p);
	return r;
}

/* ---- names -------------------------------------------------------------------------- */

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* A lone surrogate becomes U+FFFD. */
static void utf8_of(const uint8_t *p, size_t units, char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < units && n + 5 < room; i++) {
		uint32_t c = (uint32_t)dump_number(p + 2 * i, 2, false), low;

		if (c == 0)
			break;
		if (c >= 0xd800 && c < 0xdc00 && i + 1 < units) {
			low = (uint32_t)dump_number(p + 2 * i + 2, 2, false);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i++;
			}
		}
		n += put_utf8(out + n, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	}
	out[n] = '\0';
}

static int read_name(struct minidump *d, uint32_t at, char *out, size_t room)
{
	uint8_t head[4], units[2 * NAME_MOST];
	uint32_t size;
	int r = bytes(d, "a module's name", at, head, sizeof(head));

	if (r < 0)
		return r;
	size = le32(head);
	if (size > sizeof(units))
		return broken(d, "a module's name is too long");
	r = bytes(d, "a module's name", (uint64_t)at + 4, units, size & ~1u);
	if (r == 0)
		utf8_of(units, size / 2, out, room);
	return r;
}

/* ---- identities --------------------------------------------------------------------- */

static enum object_type object_of(unsigned platform)
{
	if (platform == PLATFORM_MAC || platform == PLATFORM_IOS)
		return OBJECT_MACHO;
	return platform & PLATFORM_UNIX ? OBJECT_ELF : OBJECT_PE;
}

/* Reads a record of "RSDS", a GUID, an age, and the name of the debug file. For a Mach-O file the GUID is
 * the UUID. For an ELF file older Breakpad wrote the first 16 bytes of the build id, byte-swapped, as GUID;
 * this is not a code id. */
static void take_rsds(const struct minidump *d, const uint8_t *p, size_t n, struct module *m)
{
	char name[MODULE_NAME_MAX];

	debug_id_from_guid(&m->debug_id, p + 4, le32(p + 20));
	m->object = object_of(d->platform);
	snprintf(name, sizeof(name), "%.*s", (int)MIN(n - 24, sizeof(name) - 1), (const char *)p + 24);
	if (name[0])
		snprintf(m->debug_file, sizeof(m->debug_file), "%s", path_base(name));
	if (m->object == OBJECT_MACHO)
		hex_print(m->debug_id.guid, 16, m->code_id);
	if (m->object != OBJECT_PE)
		m->debug_id.age = 0;
}

static void take_record(const struct minidump *d, const uint8_t *p, size_t n, struct module *m)
{
	if (n > 24 && memcmp(p, "RSDS", 4) == 0) {
		take_rsds(d, p, n, m);
	} else if (n > 4 && memcmp(p, "LEpB", 4) == 0 && n - 4 <= CODE_ID_MAX / 2) {
		m->object = OBJECT_ELF;
		hex_print(p + 4, n - 4, m->code_id);
		debug_id_from_build_id(&m->debug_id, p + 4, n - 4, false);
	}
}

static int read_module(struct minidump *d, uint64_t at, struct dump_module *out)
{
	uint8_t h[MODULE_SIZE], record[RECORD_MOST];
	uint32_t size;
	int r = bytes(d, "its list of modules", at, h, sizeof(h));

	if (r == 0)
		r = read_name(d, le32(h + 20), out->path, sizeof(out->path));
	if (r < 0)
		return r;
	out->base = dump_number(h, 8, false);
	out->end = out->base + le32(h + 8);
	snprintf(out->m.code_file, sizeof(out->m.code_file), "%.255s", path_base(out->path));
	snprintf(out->m.debug_file, sizeof(out->m.debug_file), "%.255s", path_base(out->path));
	size = le32(h + 76);
	if (size && size <= sizeof(record)) {
		r = bytes(d, "a module's record", le32(h + 80), record, size);
		if (r == 0)
			take_record(d, record, size, &out->m);
	}
	/* The time and size of a PE file identify it, even without debug information. */
	if (r == 0 && object_of(d->platform) == OBJECT_PE && le32(h + 16)) {
		out->m.object = OBJECT_PE;
		snprintf(out->m.code_id, sizeof(out->m.code_id), "%08x%x", le32(h + 16), le32(h + 8));
	}
	return r;
}

int minidump_read(struct view *v, dump_each *each, void *ctx, struct err *e)
{
	struct minidump d = {.v = v, .e = e};
	uint8_t head[4];
	uint32_t count = 0;
	uint64_t at;
	int r = read_directory(&d);

	if (r == 0)
		r = read_platform(&d);
	if (r == 0)
		r = bytes(&d, "its list of modules", d.modules, head, sizeof(head));
	if (r < 0)
		return r;
	count = le32(head);
	/* Some writers pad to eight bytes before the first module. */
	at = d.modules + (d.modules_size == 8 + (uint64_t)count * MODULE_SIZE ? 8 : 4);
	if (count > DUMP_MODULES)
		return broken(&d, "more modules than any program has");
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct dump_module m = {.program = i == 0};

		r = read_module(&d, at + (uint64_t)i * MODULE_SIZE, &m);
		if (r == 0)
			r = each(ctx, &m);
	}
	return r;
}
