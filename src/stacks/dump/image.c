/* Reads build ids of ELF files in the memory of a program, and joins mappings of one file to a module. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "stacks/dump/private.h"

#define SEGMENTS_MOST 256u
#define NOTES_MOST (64u << 10) /* bytes */
#define PAGE 4096
#define BUILD_ID_MOST (CODE_ID_MAX / 2)

enum { PT_LOAD = 1, PT_INTERP = 3, PT_NOTE = 4, NT_GNU_BUILD_ID = 3 };

uint64_t aux_value(const uint8_t *p, size_t n, bool is64, bool big, uint64_t type)
{
	unsigned word = is64 ? 8 : 4;

	for (; n >= 2 * word; p += 2 * word, n -= 2 * word) {
		uint64_t have = load_number(p, word, big);

		if (have == 0)
			return 0;
		if (have == type)
			return load_number(p + word, word, big);
	}
	return 0;
}

/* ---- an ELF file in memory ---------------------------------------------------------- */

struct image {
	const struct memory *mem;
	uint64_t base;
	uint64_t moved; /* from the address that the file was linked for, to `base` */
	bool is64, big;
	uint64_t phoff;
	unsigned phentsize, phnum;
};

struct segment {
	unsigned type;
	uint64_t offset, address, size; /* `offset` in the file; `address` and `size` in memory */
};

static int image_segment(const struct image *im, unsigned nth, struct segment *out)
{
	uint8_t h[56];
	size_t n = im->is64 ? 56 : 32;
	unsigned word = im->is64 ? 8 : 4;

	if (im->mem->read(im->mem, im->base + im->phoff + (uint64_t)nth * im->phentsize, h, n) < 0)
		return -ENODATA;
	out->type = (unsigned)load_number(h, 4, im->big);
	out->offset = load_number(h + (im->is64 ? 8 : 4), word, im->big);
	out->address = load_number(h + (im->is64 ? 16 : 8), word, im->big);
	out->size = load_number(h + (im->is64 ? 40 : 20), word, im->big);
	return 0;
}

/* 0; -ENOMSG: not an ELF file; -ENODATA: its segments are not in memory. */
static int image_open(struct image *im)
{
	struct segment s = {0};
	uint8_t h[64];
	int r = 0;

	if (im->mem->read(im->mem, im->base, h, sizeof(h)) < 0 || !dump_is_elf(h))
		return -ENOMSG;
	im->is64 = h[4] == 2;
	im->big = h[5] == 2;
	im->phoff = im->is64 ? load_number(h + 32, 8, im->big) : load_number(h + 28, 4, im->big);
	im->phentsize = (unsigned)load_number(h + (im->is64 ? 54 : 42), 2, im->big);
	im->phnum = (unsigned)load_number(h + (im->is64 ? 56 : 44), 2, im->big);
	if (im->phentsize < (im->is64 ? 56 : 32) || im->phnum > SEGMENTS_MOST)
		return -ENODATA;
	for (unsigned i = 0; r == 0 && s.type != PT_LOAD && i < im->phnum; i++)
		r = image_segment(im, i, &s);
	im->moved = im->base - (s.type == PT_LOAD ? s.address - s.offset : 0);
	return r;
}

/* Names and descriptions are padded to four bytes. */
static size_t padded(uint64_t n)
{
	return (size_t)((n + 3) & ~(uint64_t)3);
}

static int id_in_notes(const struct image *im, const uint8_t *p, size_t n, struct module *m)
{
	while (n >= 12) {
		uint64_t name = load_number(p, 4, im->big), desc = load_number(p + 4, 4, im->big);
		uint64_t type = load_number(p + 8, 4, im->big);

		p += 12;
		n -= 12;
		if (name > n || padded(name) > n || desc > n - padded(name))
			return -ENODATA;
		if (type == NT_GNU_BUILD_ID && name == 4 && memcmp(p, "GNU", 4) == 0 && desc > 0 &&
			desc <= BUILD_ID_MOST) {
			dump_take_build_id(m, p + padded(name), (size_t)desc, im->big);
			return 0;
		}
		p += padded(name);
		n -= padded(name);
		if (padded(desc) > n)
			return -ENODATA;
		p += padded(desc);
		n -= padded(desc);
	}
	return -ENODATA;
}

static int id_in_segment(const struct image *im, uint64_t at, uint64_t size, struct module *m)
{
	_cleanup_free_ uint8_t *p = NULL;

	if (size < 12 || size > NOTES_MOST)
		return -ENODATA;
	p = malloc((size_t)size);
	if (!p)
		return -ENOMEM;
	if (im->mem->read(im->mem, at, p, (size_t)size) < 0)
		return -ENODATA;
	return id_in_notes(im, p, (size_t)size, m);
}

/* Searches the first page of the file for the note: Go's linker writes one to which no segment leads. */
static int id_in_page(const struct image *im, struct module *m)
{
	uint8_t page[PAGE];

	if (im->mem->read(im->mem, im->base, page, sizeof(page)) < 0)
		return -ENODATA;
	for (size_t i = 0; i + 16 <= sizeof(page); i += 4) {
		uint64_t n = load_number(page + i + 4, 4, im->big);

		if (memcmp(page + i + 12, "GNU", 4) == 0 && load_number(page + i, 4, im->big) == 4 &&
			n >= 8 && n <= BUILD_ID_MOST && n <= sizeof(page) - i - 16 &&
			id_in_notes(im, page + i, 16 + (size_t)n, m) == 0)
			return 0;
	}
	return -ENODATA;
}

/* Reads the build id of the ELF file that is mapped at `base`. 0: `m` has it; -ENOMSG: not an ELF file;
 * -ENODATA: the file has no build id, or the build id is not in memory. */
static int image_identify(const struct memory *mem, uint64_t base, struct module *m)
{
	struct image im = {.mem = mem, .base = base};
	struct segment s;
	int r = image_open(&im);

	for (unsigned i = 0; r == 0 && i < im.phnum; i++) {
		r = image_segment(&im, i, &s);
		if (r == 0 && s.type == PT_NOTE && id_in_segment(&im, im.moved + s.address, s.size, m) == 0)
			return 0;
	}
	return r < 0 ? r : id_in_page(&im, m);
}

/* Reads the path of the dynamic linker that the program at `base` names; "": the program names none, or the
 * name is not in memory. */
static void image_interp(const struct memory *mem, uint64_t base, char out[static DUMP_INTERP])
{
	struct image im = {.mem = mem, .base = base};
	struct segment s;
	int r = image_open(&im);

	for (unsigned i = 0; r == 0 && i < im.phnum; i++) {
		r = image_segment(&im, i, &s);
		if (r < 0 || s.type != PT_INTERP || s.size < 2 || s.size > DUMP_INTERP)
			continue;
		if (mem->read(mem, im.moved + s.address, out, (size_t)s.size) < 0 || out[s.size - 1] != '\0')
			break;
		return;
	}
	out[0] = '\0';
}

/* ---- mappings of one file ----------------------------------------------------------- */

int joining_flush(struct joining *j)
{
	int r;

	if (!j->open)
		return 0;
	j->open = false;
	r = image_identify(j->mem, j->now.base, &j->now.m);
	if (r == -ENOMEM)
		return r;
	if (r == -ENOMSG && j->mem->read(j->mem, j->now.base, &(char){0}, 1) == 0)
		return 0; /* a font or a locale, not a module */
	if (r == -ENOMSG && j->mem->runs && !j->mem->runs(j->mem, j->now.base, j->now.end))
		return 0; /* not a module either: nothing in the mapping can be executed, and it was not dumped */
	dump_name_module(&j->now);
	j->now.loader = j->loader && j->loader == j->now.base;
	j->now.program = j->entry >= j->now.base && j->entry < j->now.end;
	if (j->now.program)
		image_interp(j->mem, j->now.base, j->now.interp);
	if (++j->n > DUMP_MODULES)
		return -E2BIG;
	return j->each(j->ctx, &j->now);
}

int joining_add(struct joining *j, uint64_t from, uint64_t to, uint64_t offset, const char *path)
{
	int r = 0;

	if (j->open && offset > 0 && from >= j->now.end && strcmp(j->now.path, path) == 0) {
		j->now.end = MAX(j->now.end, to);
		return 0;
	}
	r = joining_flush(j);
	if (r != 0 || offset > 0 || strlen(path) >= sizeof(j->now.path))
		return r; /* a mapping without the head of the file is not a module */
	memset(&j->now, 0, sizeof(j->now));
	snprintf(j->now.path, sizeof(j->now.path), "%s", path);
	j->now.deleted = dump_is_deleted(path);
	j->now.base = from;
	j->now.end = to;
	j->open = true;
	return 0;
}
