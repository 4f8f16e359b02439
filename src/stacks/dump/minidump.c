/* Reads minidumps, as Windows, Breakpad and Crashpad write them. The layout is in minidumpapiset.h of the
 * Windows SDK; Breakpad's minidump_format.h has the additions of other systems. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/little.h"
#include "base/path.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/util.h"
#include "stacks/dump/minidump-private.h"

#include <stdio.h>
#include <string.h>

#define STREAMS_MOST 4096u
#define NAME_MOST 4096u /* UTF-16 units */
#define RECORD_MOST 4096u

/* The streams that symfs reads; the first of each type counts. */
static const uint32_t types[MINIDUMP_STREAMS] = {
	[STREAM_THREADS] = 3, [STREAM_MODULES] = 4, [STREAM_MEMORY] = 5, [STREAM_EXCEPTION] = 6, [STREAM_SYSTEM] = 7,
	[STREAM_MEMORY64] = 9, [STREAM_UNLOADED] = 14, [STREAM_NAMES] = 24, [STREAM_BREAKPAD] = 0x47670001,
};

static void note_stream(struct minidump_file *d, const uint8_t s[static 12])
{
	const struct minidump_stream at = {.at = le32(s + 8), .size = le32(s + 4)};

	d->end = MAX(d->end, le32(s) ? at.at + at.size : 0); /* records of the type 0 are not used */
	for (unsigned i = 0; i < MINIDUMP_STREAMS; i++)
		if (le32(s) == types[i] && !d->stream[i].at)
			d->stream[i] = at;
}

static int read_platform(struct minidump_file *d)
{
	uint8_t p[24];
	int r;

	d->platform = PLATFORM_WINDOWS;
	if (!d->stream[STREAM_SYSTEM].at)
		return 0;
	r = minidump_bytes(d, "its system information", d->stream[STREAM_SYSTEM].at, p, sizeof(p));
	if (r == 0) {
		d->processor = le16(p);
		d->platform = le32(p + 20);
	}
	return r;
}

int minidump_begin(struct minidump_file *d)
{
	uint8_t h[16], s[12];
	uint32_t count, at;
	int r = minidump_bytes(d, "its header", 0, h, sizeof(h));

	if (r < 0)
		return r;
	count = le32(h + 8);
	at = le32(h + 12);
	if (count > STREAMS_MOST)
		return minidump_broken(d, "more streams than any minidump has");
	for (uint32_t i = 0; i < count; i++) {
		r = minidump_bytes(d, "its directory", at + (uint64_t)i * 12, s, sizeof(s));
		if (r < 0)
			return r;
		note_stream(d, s);
	}
	return read_platform(d);
}

/* ---- names -------------------------------------------------------------------------- */

/* A lone surrogate becomes U+FFFD. */
static void utf8_of(const uint8_t *p, size_t units, char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < units && n + 5 < room; i++) {
		uint32_t c = (uint32_t)load_number(p + 2 * i, 2, false), low;

		if (c == 0)
			break;
		if (c >= 0xd800 && c < 0xdc00 && i + 1 < units) {
			low = (uint32_t)load_number(p + 2 * i + 2, 2, false);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i++;
			}
		}
		n += utf8_put(c >= 0xd800 && c < 0xe000 ? 0xfffd : c, (uint8_t *)out + n);
	}
	out[n] = '\0';
}

int minidump_name(struct minidump_file *d, uint32_t at, char *out, size_t room)
{
	uint8_t head[4], units[2 * NAME_MOST];
	uint32_t size;
	int r = minidump_bytes(d, "a name", at, head, sizeof(head));

	if (r < 0)
		return r;
	size = le32(head);
	if (size > sizeof(units))
		return minidump_broken(d, "a name is too long");
	r = minidump_bytes(d, "a name", (uint64_t)at + 4, units, size & ~1u);
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
static void take_rsds(const struct minidump_file *d, const uint8_t *p, size_t n, struct module *m)
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

static void take_record(const struct minidump_file *d, const uint8_t *p, size_t n, struct module *m)
{
	if (n > 24 && memcmp(p, "RSDS", 4) == 0) {
		take_rsds(d, p, n, m);
	} else if (n > 4 && memcmp(p, "LEpB", 4) == 0 && n - 4 <= CODE_ID_MAX / 2) {
		dump_take_build_id(m, p + 4, n - 4, false);
	}
}

/* The time and size of a PE file identify it, even without debug information. */
static void name_pe(struct minidump_file *d, struct module *m, uint32_t time, uint32_t size)
{
	if (object_of(d->platform) == OBJECT_PE && time) {
		m->object = OBJECT_PE;
		snprintf(m->code_id, sizeof(m->code_id), "%08x%x", time, size);
	}
}

/* Reads the addresses and the name of a module, which are in the same place in both lists of modules. */
static int take_module(struct minidump_file *d, const uint8_t h[static MINIDUMP_UNLOADED_SIZE],
	struct dump_module *out)
{
	int r;

	out->base = le64(h);
	if (__builtin_add_overflow(out->base, le32(h + 8), &out->end))
		out->end = UINT64_MAX;
	r = minidump_name(d, le32(h + 20), out->path, sizeof(out->path));
	if (r == 0)
		dump_name_module(out);
	return r;
}

int minidump_module(struct minidump_file *d, uint64_t at, struct dump_module *out)
{
	uint8_t h[MINIDUMP_MODULE_SIZE], record[RECORD_MOST];
	uint32_t size;
	int r = minidump_bytes(d, "its list of modules", at, h, sizeof(h));

	if (r < 0)
		return r;
	r = take_module(d, h, out);
	if (r < 0)
		return r;
	size = le32(h + 76);
	if (size && size <= sizeof(record)) {
		r = minidump_bytes(d, "a module's record", le32(h + 80), record, size);
		if (r == 0)
			take_record(d, record, size, &out->m);
	}
	name_pe(d, &out->m, le32(h + 16), le32(h + 8));
	return r;
}

int minidump_unloaded(struct minidump_file *d, uint64_t at, struct dump_module *out)
{
	uint8_t h[MINIDUMP_UNLOADED_SIZE];
	int r = minidump_bytes(d, "its list of unloaded modules", at, h, sizeof(h));

	if (r < 0)
		return r;
	r = take_module(d, h, out);
	name_pe(d, &out->m, le32(h + 16), le32(h + 8));
	return r;
}

int minidump_modules(struct minidump_file *d, uint64_t *at, uint32_t *count)
{
	const struct minidump_stream *s = &d->stream[STREAM_MODULES];
	uint8_t head[4];
	int r;

	if (!s->at)
		return err_set(d->e, -ENODATA, "the minidump has no list of modules");
	r = minidump_bytes(d, "its list of modules", s->at, head, sizeof(head));
	if (r < 0)
		return r;
	*count = le32(head);
	*at = minidump_first(s, *count, MINIDUMP_MODULE_SIZE);
	return *count > DUMP_MODULES ? minidump_broken(d, "more modules than any program has") : 0;
}

int minidump_read(struct view *v, dump_each *each, void *ctx, struct err *e)
{
	struct minidump_file d = {.v = v, .e = e};
	uint32_t count = 0;
	uint64_t at = 0;
	int r = minidump_begin(&d);

	if (r == 0)
		r = minidump_modules(&d, &at, &count);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct dump_module m = {.program = i == 0};

		r = minidump_module(&d, at + (uint64_t)i * MINIDUMP_MODULE_SIZE, &m);
		if (r == 0)
			r = each(ctx, &m);
	}
	return r;
}
