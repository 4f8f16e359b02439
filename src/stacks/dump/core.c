/* Reads ELF core files: NT_FILE lists the mapped files, and the kernel dumps the first page of each,
 * which has the build id. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/dump/private.h"
#include "stacks/dump/state-private.h"

#include <stdio.h>
#include <string.h>

#define SEGMENTS_MOST (1u << 17)
#define NOTE_MOST (64u << 20) /* bytes of all notes of a segment */

enum { PF_X = 1, ET_CORE = 4, PT_LOAD = 1, PT_NOTE = 4, PN_XNUM = 0xffff, NT_AUXV = 6, NT_FILE = 0x46494c45 };

struct part {
	uint64_t address, offset, size; /* the dumped part of a segment: address in memory, offset in the
					   file, bytes */
	uint64_t mapped;		/* bytes of the whole segment in memory */
	bool runs;			/* the segment can be executed */
};

struct core {
	struct memory mem; /* the first member, because read_memory() casts a pointer to it */
	struct view *v;
	struct err *e;
	bool is64, big;
	uint64_t phoff;
	unsigned phentsize;
	uint64_t phnum;
	struct part *parts;
	size_t n_parts;
	uint8_t *files; /* the content of the note NT_FILE */
	size_t files_n;
	uint64_t entry; /* the entry point of the program; 0: unknown */
	uint64_t loader; /* where the dynamic linker begins; 0: unknown */
	bool flagged;	 /* the segments say which of them can be executed */
	struct dump_state *state; /* NULL: only the modules are asked for */
};

static int broken(struct core *c, const char *what)
{
	return err_set(c->e, -EBADMSG, "the core file is broken or cut short: %s", what);
}

static int core_bytes(struct core *c, const char *what, uint64_t off, void *p, size_t n)
{
	int r = view_read(c->v, off, p, n);

	return r == 0 ? 0 : r == -ENODATA ? broken(c, what) : err_set(c->e, r, "%s: %s", what, err_text(r));
}

static uint64_t word_at(const struct core *c, const uint8_t *p)
{
	return load_number(p, c->is64 ? 8 : 4, c->big);
}

/* Reads dumped memory. -ENODATA: the memory was not dumped, or the kernel failed to dump the end of the
 * segment. */
static int read_memory(const struct memory *m, uint64_t at, void *p, size_t n)
{
	const struct core *c = (const struct core *)m;

	for (size_t i = 0; i < c->n_parts; i++) {
		const struct part *x = &c->parts[i];

		if (at >= x->address && at - x->address < x->size && n <= x->size - (at - x->address))
			return view_read(c->v, x->offset + (at - x->address), p, n);
	}
	return -ENODATA;
}

static bool can_run(const struct memory *m, uint64_t from, uint64_t to)
{
	const struct core *c = (const struct core *)m;

	for (size_t i = 0; i < c->n_parts; i++) {
		const struct part *x = &c->parts[i];

		if (x->runs && x->address < to && (from < x->address || from - x->address < x->mapped))
			return true;
	}
	return !c->flagged;
}

static int read_head(struct core *c)
{
	uint8_t h[64];
	int r = core_bytes(c, "its header", 0, h, sizeof(h));

	if (r < 0)
		return r;
	c->is64 = h[4] == 2;
	c->big = h[5] == 2;
	if (load_number(h + 16, 2, c->big) != ET_CORE)
		return err_set(c->e, -ENOMSG, "this is an ELF file, but not a core file");
	if (c->state && !state_begin(c->state, (unsigned)load_number(h + 18, 2, c->big), c->is64, c->big))
		return err_set(c->e, -ENOTSUP, "is a core file of a processor whose stacks symfs cannot read; it "
			"reads those of amd64, arm64 and i386");
	c->phoff = word_at(c, h + (c->is64 ? 32 : 28));
	c->phentsize = (unsigned)load_number(h + (c->is64 ? 54 : 42), 2, c->big);
	c->phnum = load_number(h + (c->is64 ? 56 : 44), 2, c->big);
	if (c->phentsize < (c->is64 ? 56 : 32))
		return broken(c, "its segment headers are too short");
	if (c->phnum == PN_XNUM) { /* then the first section header has the number */
		uint64_t shoff = word_at(c, h + (c->is64 ? 40 : 32));
		uint8_t info[4];

		r = core_bytes(c, "the number of its segments", shoff + (c->is64 ? 44 : 28), info, 4);
		if (r < 0)
			return r;
		c->phnum = load_number(info, 4, c->big);
	}
	return c->phnum <= SEGMENTS_MOST ? 0 : broken(c, "more segments than any program has");
}

/* ---- notes -------------------------------------------------------------------------- */

static int take_note(struct core *c, uint64_t type, const uint8_t *desc, size_t n)
{
	if (c->state)
		return state_note(c->state, type, desc, n);
	if (type == NT_AUXV && !c->entry)
		c->entry = aux_value(desc, n, c->is64, c->big, AUX_ENTRY);
	if (type == NT_AUXV && !c->loader)
		c->loader = aux_value(desc, n, c->is64, c->big, AUX_BASE);
	if (type != NT_FILE || c->files)
		return 0;
	c->files = malloc(n + 1);
	if (!c->files)
		return -ENOMEM;
	memcpy(c->files, desc, n);
	c->files[n] = '\0'; /* ends the last name in any case */
	c->files_n = n;
	return 0;
}

static size_t padded(uint64_t n)
{
	return (size_t)((n + 3) & ~(uint64_t)3);
}

static int read_notes(struct core *c, uint64_t off, uint64_t size)
{
	_cleanup_free_ uint8_t *room = NULL;
	const uint8_t *p;
	size_t n = (size_t)size;
	int r;

	if (size > NOTE_MOST)
		return broken(c, "its notes are too long");
	room = malloc(n + 1);
	if (!room)
		return -ENOMEM;
	r = core_bytes(c, "its notes", off, room, n);
	for (p = room; r == 0 && n >= 12;) {
		uint64_t name = load_number(p, 4, c->big), desc = load_number(p + 4, 4, c->big);

		if (padded(name) > n - 12 || desc > n - 12 - padded(name))
			return broken(c, "a note reaches past the end of the notes");
		if (name == 5 && memcmp(p + 12, "CORE", 5) == 0)
			r = take_note(c, load_number(p + 8, 4, c->big), p + 12 + padded(name), (size_t)desc);
		if (padded(desc) > n - 12 - padded(name))
			break;
		n -= 12 + padded(name) + padded(desc);
		p += 12 + padded(name) + padded(desc);
	}
	return r;
}

/* ---- segments ----------------------------------------------------------------------- */

static int read_segments(struct core *c)
{
	unsigned word = c->is64 ? 8 : 4;
	int r = 0;

	c->parts = calloc((size_t)c->phnum + 1, sizeof(*c->parts));
	if (!c->parts)
		return -ENOMEM;
	for (uint64_t i = 0; r == 0 && i < c->phnum; i++) {
		uint8_t h[56];
		uint64_t type, off, address, size;

		r = core_bytes(c, "its segments", c->phoff + i * c->phentsize, h, c->is64 ? 56 : 32);
		if (r < 0)
			return r;
		type = load_number(h, 4, c->big);
		off = load_number(h + (c->is64 ? 8 : 4), word, c->big);
		address = load_number(h + (c->is64 ? 16 : 8), word, c->big);
		size = load_number(h + (c->is64 ? 32 : 16), word, c->big);
		if (type == PT_LOAD) {
			bool runs = load_number(h + (c->is64 ? 4 : 24), 4, c->big) & PF_X;
			uint64_t mapped = load_number(h + (c->is64 ? 40 : 20), word, c->big);

			c->parts[c->n_parts++] = (struct part){address, off, size, mapped, runs};
			if (c->state && size)
				r = state_part(c->state, address, off, size);
			c->flagged |= runs;
		}
		if (r == 0 && type == PT_NOTE)
			r = read_notes(c, off, size);
	}
	return r;
}

/* ---- NT_FILE ------------------------------------------------------------------------ */

/* Reports the modules of NT_FILE. The note has, in this order: the number of mappings; the page size; for
 * each mapping its start, its end and its offset in pages; the names of the mapped files. */
static int report_files(struct core *c, dump_each *each, void *ctx)
{
	struct joining j = {.mem = &c->mem, .each = each, .ctx = ctx, .entry = c->entry,
		.loader = c->loader};
	size_t word = c->is64 ? 8 : 4;
	const uint8_t *p = c->files, *end = c->files + c->files_n;
	uint64_t count, page;
	const char *name;
	int r = 0;

	if (c->files_n < 2 * word)
		return broken(c, "the list of its files");
	count = word_at(c, p);
	page = word_at(c, p + word);
	if (count > (c->files_n - 2 * word) / (3 * word))
		return broken(c, "the list of its files");
	name = (const char *)p + 2 * word + count * 3 * word;
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		const uint8_t *x = p + (2 + 3 * i) * word;

		if ((const uint8_t *)name >= end)
			return broken(c, "the names of its files");
		r = joining_add(&j, word_at(c, x), word_at(c, x + word), word_at(c, x + 2 * word) * page, name);
		name += strlen(name) + 1;
	}
	return r == 0 ? joining_flush(&j) : r;
}

static int core_read(struct view *v, dump_each *each, void *ctx, struct err *e)
{
	struct core c = {.mem = {read_memory, can_run}, .v = v, .e = e};
	int r = read_head(&c);

	if (r == 0)
		r = read_segments(&c);
	if (r == 0)
		r = c.files ? report_files(&c, each, ctx)
			    : err_set(e, -ENODATA, "the core file has no list of mapped files (NT_FILE)");
	free(c.parts);
	free(c.files);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

int dump_core_state(struct view *v, struct dump_state *out, struct err *e)
{
	struct core c = {.v = v, .e = e, .state = out};
	uint8_t magic[6];
	int r;

	*out = (struct dump_state){.fd = -1};
	if (view_read(v, 0, magic, sizeof(magic)) < 0 || !dump_is_elf(magic))
		return err_set(e, -ENOMSG, "this is not a core file");
	r = read_head(&c);
	if (r == 0)
		r = read_segments(&c);
	if (r == 0 && !out->n_threads)
		r = err_set(e, -ENODATA, "the core file has no threads");
	if (r == 0)
		state_end(out);
	else
		dump_state_release(out);
	free(c.parts);
	return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

int dump_read(struct view *v, dump_each *each, void *ctx, struct err *e)
{
	uint8_t magic[6];

	if (view_read(v, 0, magic, sizeof(magic)) == 0 && dump_is_elf(magic))
		return core_read(v, each, ctx, e);
	if (view_read(v, 0, magic, sizeof(magic)) == 0 && memcmp(magic, "MDMP", 4) == 0)
		return minidump_read(v, each, ctx, e);
	return err_set(e, -ENOMSG, "neither a core file nor a minidump");
}
