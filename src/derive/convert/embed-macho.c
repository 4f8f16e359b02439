/* Embeds GSYM in a copy of a Mach-O file, as a segment __GSYM. A dSYM is never loaded, so the segment is
 * its last. In a program or library the segment precedes __LINKEDIT, which must stay the last. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/embed-private.h"
#include "base/util.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <string.h>

enum {
	MH_EXECUTE = 2, MH_DYLIB = 6, MH_DYLINKER = 7, MH_BUNDLE = 8, MH_DSYM = 10, MH_KEXT = 11,
	LC_SEGMENT = 1, LC_SYMTAB = 2, LC_DYSYMTAB = 0xb, LC_TWOLEVEL_HINTS = 0x16, LC_SEGMENT_64 = 0x19,
	LC_CODE_SIGNATURE = 0x1d, LC_SEGMENT_SPLIT_INFO, LC_ENCRYPTION_INFO = 0x21, LC_DYLD_INFO,
	LC_FUNCTION_STARTS = 0x26, LC_DATA_IN_CODE = 0x29, LC_DYLIB_CODE_SIGN_DRS = 0x2b,
	LC_ENCRYPTION_INFO_64, LC_LINKER_OPTIMIZATION_HINT = 0x2e, LC_EXPORTS_TRIE = 0x33,
	LC_CHAINED_FIXUPS, LC_ATOM_INFO = 0x36, LC_FUNCTION_VARIANTS, LC_VARIANT_FIXUPS, LC_LAST_KNOWN = 0x39,
	LC_REQUIRED = 1u << 31,
	S_ATTR_DEBUG = 0x02000000, READABLE = 1
};

#define SEGMENT_NAME "__GSYM"
#define SECTION_NAME "__gsym"
#define STRINGS_NAME "__gsym_strtab"
#define HOST_NAME "__debug_str"
#define LINKEDIT "__LINKEDIT"
#define ALIGN 16
#define PAGE 4096	 /* for files that are not loaded, as dsymutil assumes */
#define PAGE_LOADED 16384 /* for loaded files: the largest page of any machine */

/* The places of file offsets in load commands other than segments. */
static const struct pointers {
	uint32_t type;
	uint8_t n, at[6];
} pointers[] = {
	{LC_SYMTAB, 2, {8, 16}},
	{LC_DYSYMTAB, 6, {32, 40, 48, 56, 64, 72}},
	{LC_TWOLEVEL_HINTS, 1, {8}},
	{LC_DYLD_INFO, 5, {8, 16, 24, 32, 40}},
	{LC_CODE_SIGNATURE, 1, {8}},
	{LC_SEGMENT_SPLIT_INFO, 1, {8}},
	{LC_FUNCTION_STARTS, 1, {8}},
	{LC_DATA_IN_CODE, 1, {8}},
	{LC_DYLIB_CODE_SIGN_DRS, 1, {8}},
	{LC_ENCRYPTION_INFO, 1, {8}},
	{LC_ENCRYPTION_INFO_64, 1, {8}},
	{LC_LINKER_OPTIMIZATION_HINT, 1, {8}},
	{LC_EXPORTS_TRIE, 1, {8}},
	{LC_CHAINED_FIXUPS, 1, {8}},
	{LC_ATOM_INFO, 1, {8}},
	{LC_FUNCTION_VARIANTS, 1, {8}},
	{LC_VARIANT_FIXUPS, 1, {8}},
};

struct macho {
	struct embed *x;
	/* [0]: after the load commands; [1]: where the strings or the segment are inserted */
	struct embed_gap gaps[2];
	uint64_t commands_end;
	uint64_t first;	 /* the lowest offset of anything behind the load commands */
	uint64_t vm_end; /* the end of the highest segment */
	uint64_t linkedit, linkedit_addr, linkedit_size; /* __LINKEDIT; offset 0: the file has no such segment */
	uint32_t linkedit_command; /* offset of __LINKEDIT's load command in the load commands */
	unsigned head, each; /* sizes of a segment's command and of a section in it */
};

/* ---- load commands ------------------------------------------------------------------------ */

/* A load command at `p`, in the old file or in the copy. */
struct command {
	uint8_t *p;
	uint32_t type, size;
};

static uint64_t get(const struct macho *f, const uint8_t *p, unsigned n)
{
	return n == 8 ? load64(p, f->x->m.swap) : load32(p, f->x->m.swap);
}

static unsigned word_size(const struct macho *f)
{
	return f->x->m.is64 ? 8 : 4;
}

static uint64_t word(const struct macho *f, const uint8_t *p)
{
	return get(f, p, word_size(f));
}

static bool is_segment(const struct macho *f, const struct command *c)
{
	return c->type == (f->x->m.is64 ? LC_SEGMENT_64 : LC_SEGMENT) && c->size >= f->head;
}

static uint32_t sections_of(const struct macho *f, const struct command *c)
{
	return MIN(load32(c->p + f->head - 8, f->x->m.swap), (c->size - f->head) / f->each);
}

/* Reads the command at offset *at of the load commands `all`, and moves *at to the next one. False: no
 * command is left, or it is broken. */
static bool next_command(const struct macho *f, uint8_t *all, uint32_t *at, struct command *c)
{
	uint32_t left = f->x->m.commands_size - *at;

	if (left < 8)
		return false;
	*c = (struct command){all + *at, load32(all + *at, f->x->m.swap),
		load32(all + *at + 4, f->x->m.swap)};
	if (c->size < 8 || c->size > left)
		return false;
	*at += c->size;
	return true;
}

typedef void (*offset_fn)(struct macho *f, uint8_t *p, unsigned n);

/* Calls `fn` with each file offset in a load command. */
static void each_offset(struct macho *f, const struct command *c, offset_fn fn)
{
	if (is_segment(f, c)) {
		fn(f, c->p + (f->x->m.is64 ? 40 : 32), word_size(f));
		for (uint32_t i = 0; i < sections_of(f, c); i++) {
			uint8_t *s = c->p + f->head + i * f->each;

			fn(f, s + (f->x->m.is64 ? 48 : 40), 4);
			fn(f, s + (f->x->m.is64 ? 56 : 48), 4);
		}
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(pointers); i++)
		for (unsigned k = 0; pointers[i].type == (c->type & ~LC_REQUIRED) && k < pointers[i].n; k++)
			if (pointers[i].at[k] + 4u <= c->size)
				fn(f, c->p + pointers[i].at[k], 4);
}

/* ---- the old file ------------------------------------------------------------------------ */

static void find_first(struct macho *f, uint8_t *p, unsigned n)
{
	uint64_t v = get(f, p, n);

	if (v >= f->commands_end && v < f->first)
		f->first = v;
}

static int look_at_segment(struct macho *f, const struct command *c, struct err *e)
{
	uint64_t most = f->x->m.is64 ? UINT64_MAX - 2 * PAGE_LOADED : UINT32_MAX - 2 * PAGE_LOADED;
	uint64_t addr = word(f, c->p + 24), size = word(f, c->p + 24 + word_size(f));

	if (addr > most || size > most - addr)
		return err_set(e, -ENOTSUP, "has no addresses left for another segment");
	f->vm_end = MAX(f->vm_end, addr + size);
	if (strncmp((const char *)c->p + 8, LINKEDIT, 16) == 0) {
		f->linkedit = word(f, c->p + (f->x->m.is64 ? 40 : 32));
		f->linkedit_size = word(f, c->p + (f->x->m.is64 ? 48 : 36));
		f->linkedit_addr = addr;
		f->linkedit_command = (uint32_t)(c->p - f->x->m.file.p - f->x->m.at);
	}
	return 0;
}

/* The load commands of the old file, which the caller must not change. */
static uint8_t *old_commands(const struct macho *f)
{
	return (uint8_t *)(uintptr_t)f->x->m.file.p + f->x->m.at;
}

static int look(struct macho *f, struct err *e)
{
	const struct image *m = &f->x->m;
	uint32_t at = 0, n = 0;
	struct command c;
	int r = 0;

	f->head = m->is64 ? 72 : 56;
	f->each = m->is64 ? 80 : 68;
	f->commands_end = m->at + m->commands_size;
	f->first = m->file.n;
	for (; r == 0 && n < m->n_commands && next_command(f, old_commands(f), &at, &c); n++) {
		/* An unknown command may hold offsets of data that moves. */
		if ((c.type & ~LC_REQUIRED) > LC_LAST_KNOWN)
			return err_set(e, -ENOTSUP, "has an unknown load command: %" PRIu32,
				c.type & ~LC_REQUIRED);
		each_offset(f, &c, find_first);
		if (is_segment(f, &c))
			r = look_at_segment(f, &c, e);
	}
	if (r == 0 && (n < m->n_commands || at != m->commands_size))
		return err_set(e, -EBADMSG, "is broken: its load commands do not end where they should");
	return r;
}

static unsigned added_size(const struct macho *f, bool own_strings)
{
	return f->head + f->each * (1 + own_strings);
}

static bool has_room(const struct macho *f, unsigned n)
{
	return f->first - f->commands_end >= n && embed_is_zero(f->x, f->commands_end, f->commands_end + n);
}

/* ---- the strings of a dSYM ---------------------------------------------------------------- */

/* Whether the command's segment holds the bytes from `from` to `to`, and no segment has higher addresses. */
static bool may_hold(const struct macho *f, const struct command *c, uint64_t from, uint64_t to)
{
	uint64_t off = word(f, c->p + (f->x->m.is64 ? 40 : 32)), n = word(f, c->p + (f->x->m.is64 ? 48 : 36));

	return off <= from && to >= off && to - off <= n &&
		word(f, c->p + 24) + word(f, c->p + 24 + word_size(f)) == f->vm_end;
}

/* Whether a section can grow: the section is in the last segment, and no other segment moves. */
static bool can_grow(const struct macho *f, const struct image_section *host)
{
	uint64_t from = (uint64_t)(host->bytes.p - f->x->m.file.p), to = from + host->bytes.n;
	unsigned holders = 0;
	uint32_t at = 0;
	struct command c;

	if (!host->bytes.n || from < f->commands_end || host->bytes.p[host->bytes.n - 1])
		return false;
	while (next_command(f, old_commands(f), &at, &c)) {
		if (!is_segment(f, &c))
			continue;
		if (may_hold(f, &c, from, to))
			holders++;
		else if (word(f, c.p + (f->x->m.is64 ? 40 : 32)) >= to)
			return false;
	}
	return holders == 1;
}

/* ---- the copy ----------------------------------------------------------------------------- */

static void move_offset(struct macho *f, uint8_t *p, unsigned n)
{
	embed_set(f->x, p, embed_moved(f->gaps, get(f, p, n)), n);
}

static void add_word(struct macho *f, uint8_t *p, uint64_t n)
{
	embed_set(f->x, p, word(f, p) + n, word_size(f));
}

/* Enlarges the host's segment, and shifts the addresses of the sections behind the host. */
static void grow_segment(struct macho *f, const struct command *c)
{
	const struct image_section *host = &f->x->host;
	uint64_t from = (uint64_t)(host->bytes.p - f->x->m.file.p), n;
	uint8_t *size = c->p + 24 + word_size(f), *bytes = c->p + (f->x->m.is64 ? 48 : 36);

	if (!may_hold(f, c, from, from + host->bytes.n))
		return;
	add_word(f, bytes, f->gaps[1].n);
	n = (word(f, bytes) + PAGE - 1) / PAGE * PAGE;
	if (n > word(f, size))
		embed_set(f->x, size, n, word_size(f));
	f->vm_end = MAX(f->vm_end, word(f, c->p + 24) + word(f, size));
	for (uint32_t i = 0; i < sections_of(f, c); i++) {
		uint8_t *s = c->p + f->head + i * f->each;
		uint64_t off = get(f, s + (f->x->m.is64 ? 48 : 40), 4);

		if (off == from && strncmp((const char *)s, HOST_NAME, 16) == 0)
			add_word(f, s + 32 + word_size(f), f->x->strings.n);
		else if (off >= f->gaps[1].at)
			add_word(f, s + 32, f->gaps[1].n);
	}
}

static void move_all(struct macho *f)
{
	uint8_t *all = (uint8_t *)f->x->out->p + f->x->m.at;
	uint32_t at = 0;
	struct command c;

	while (next_command(f, all, &at, &c)) {
		if (f->x->host.bytes.n && is_segment(f, &c))
			grow_segment(f, &c); /* before each_offset() changes the offsets that this needs */
		each_offset(f, &c, move_offset);
	}
}

static void put_section(struct macho *f, uint8_t *s, const char *name, uint64_t addr, uint64_t size,
	uint64_t off, unsigned align)
{
	const struct embed *x = f->x;
	unsigned w = word_size(f);

	memcpy(s, name, strlen(name));
	memcpy(s + 16, SEGMENT_NAME, sizeof(SEGMENT_NAME));
	embed_set(x, s + 32, addr, w);
	embed_set(x, s + 32 + w, size, w);
	embed_set(x, s + 32 + 2 * w, off, 4);
	embed_set(x, s + 36 + 2 * w, align, 4);
	embed_set(x, s + 48 + 2 * w, S_ATTR_DEBUG, 4);
}

/* Inserts the new segment's command before the command at `before`. The place matters, because sections are numbered
 * in the order of the commands. */
static void put_segment(struct macho *f, uint32_t before, uint64_t addr, uint64_t vm_size, uint64_t off,
	uint64_t size)
{
	struct embed *x = f->x;
	bool own = !x->host.bytes.n;
	unsigned n = added_size(f, own), w = word_size(f);
	uint8_t *head = (uint8_t *)x->out->p, *all = head + x->m.at, *c = all + before;

	memmove(c + n, c, x->m.commands_size - before);
	memset(c, 0, n);
	embed_set(x, c, x->m.is64 ? LC_SEGMENT_64 : LC_SEGMENT, 4);
	embed_set(x, c + 4, n, 4);
	memcpy(c + 8, SEGMENT_NAME, sizeof(SEGMENT_NAME));
	embed_set(x, c + 24, addr, w);
	embed_set(x, c + 24 + w, vm_size, w);
	embed_set(x, c + 24 + 2 * w, off, w);
	embed_set(x, c + 24 + 3 * w, size, w);
	embed_set(x, c + 24 + 4 * w, READABLE, 4);
	embed_set(x, c + 28 + 4 * w, READABLE, 4);
	embed_set(x, c + 32 + 4 * w, 1 + own, 4);
	put_section(f, c + f->head, SECTION_NAME, addr, x->main.n, off, 3);
	if (own)
		put_section(f, c + f->head + f->each, STRINGS_NAME, addr + x->main.n, x->strings.n,
			off + x->main.n, 0);
	embed_set(x, head + 16, x->m.n_commands + 1, 4);
	embed_set(x, head + 20, x->m.commands_size + n, 4);
}

/* Rejects a file in which an offset of a section exceeds 32 bits. */
static int check_size(const struct macho *f, uint64_t addr, uint64_t vm_size, struct err *e)
{
	if (f->x->out->r)
		return f->x->out->r;
	if (f->x->out->n > UINT32_MAX || (!f->x->m.is64 && addr + vm_size > UINT32_MAX))
		return err_set(e, -EFBIG, "would be too large for its format with GSYM in it");
	return 0;
}

static int embed_dsym(struct macho *f, struct err *e)
{
	struct embed *x = f->x;
	struct image_section host;
	bool shares = image_find(&x->m, HOST_NAME, &host) == 0 && can_grow(f, &host);
	uint64_t off, size, addr, vm_size;
	int r = embed_write(x, shares ? &host : NULL, STRINGS_NAME, e);

	if (r < 0)
		return r;
	f->gaps[0] = (struct embed_gap){f->commands_end, has_room(f, added_size(f, !shares)) ? 0 : PAGE};
	f->gaps[1] = (struct embed_gap){x->m.file.n, 0};
	if (shares) {
		x->host = host;
		f->gaps[1].at = (uint64_t)(host.bytes.p - x->m.file.p) + host.bytes.n;
		f->gaps[1].n = (x->strings.n + ALIGN - 1) / ALIGN * ALIGN;
	}
	embed_copy(x, f->gaps, x->m.file.n);
	if (!x->out->r && shares && x->strings.n)
		memcpy(x->out->p + f->gaps[1].at + f->gaps[0].n, x->strings.p, x->strings.n);
	embed_pad(x, PAGE);
	off = x->out->n;
	buf_add(x->out, x->main.p, x->main.n);
	if (!shares)
		buf_add(x->out, x->strings.p, x->strings.n);
	if (x->out->r)
		return x->out->r;
	move_all(f);
	size = x->out->n - off;
	addr = (f->vm_end + PAGE - 1) / PAGE * PAGE;
	vm_size = (size + PAGE - 1) / PAGE * PAGE;
	put_segment(f, x->m.commands_size, addr, vm_size, off, size);
	return check_size(f, addr, vm_size, e);
}

/* Embeds GSYM in a file that is loaded. Only the segment __LINKEDIT of such a file can move, and the new load
 * command must fit into the room after the old ones. */
static int embed_linked(struct macho *f, struct err *e)
{
	struct embed *x = f->x;
	uint64_t size;
	uint8_t *all;
	int r;

	if (f->linkedit < f->commands_end || f->linkedit > x->m.file.n ||
		x->m.file.n - f->linkedit != f->linkedit_size)
		return err_set(e, -ENOTSUP, "does not end with its segment " LINKEDIT
			": another one cannot be put before that");
	if (f->linkedit_addr + f->linkedit_size > f->vm_end || f->vm_end - f->linkedit_addr > UINT32_MAX)
		return err_set(e, -ENOTSUP, "has a segment behind " LINKEDIT ", which cannot move");
	if (!has_room(f, added_size(f, true)))
		return err_set(e, -ENOTSUP, "has %" PRIu64 " bytes of room behind its load commands, and another "
			"segment needs %u: link it with -headerpad, or take its dSYM",
			f->first - f->commands_end, added_size(f, true));
	r = embed_write(x, NULL, STRINGS_NAME, e);
	if (r < 0)
		return r;
	size = (x->main.n + x->strings.n + PAGE_LOADED - 1) / PAGE_LOADED * PAGE_LOADED;
	f->gaps[0] = (struct embed_gap){f->commands_end, 0};
	f->gaps[1] = (struct embed_gap){f->linkedit, size};
	embed_copy(x, f->gaps, x->m.file.n);
	if (x->out->r)
		return x->out->r;
	memcpy(x->out->p + f->linkedit, x->main.p, x->main.n);
	memcpy(x->out->p + f->linkedit + x->main.n, x->strings.p, x->strings.n);
	move_all(f);
	all = (uint8_t *)x->out->p + x->m.at;
	add_word(f, all + f->linkedit_command + 24, size);
	put_segment(f, f->linkedit_command, f->linkedit_addr, size, f->linkedit, size);
	return check_size(f, f->vm_end, size, e);
}

int embed_macho(struct embed *x, struct err *e)
{
	struct macho f = {.x = x};
	uint32_t type = load32(x->m.file.p + 12, x->m.swap);
	int r = look(&f, e);

	if (r < 0)
		return r;
	if (type == MH_DSYM)
		return embed_dsym(&f, e);
	if (type == MH_EXECUTE || (type >= MH_DYLIB && type <= MH_BUNDLE) || type == MH_KEXT)
		return embed_linked(&f, e);
	return err_set(e, -ENOTSUP, "is neither a dSYM nor a program or library: no segment can be added");
}
