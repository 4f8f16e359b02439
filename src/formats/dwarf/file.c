/* Opens the sections with DWARF, and finds the units in them. Gives memory of .debug_info back, behind the units that
 * were read, if no later unit can refer to them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/expand.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/util.h"
#include "base/bytes.h"
#include "base/search.h"
#include "formats/dwarf/dwarf.h"
#include "formats/dwarf/forms.h"
#include "formats/image/relocate.h"

#include <stdio.h>
#include <sys/mman.h>

enum {
	SHF_COMPRESSED = 0x800, ELFCOMPRESS_ZLIB = 1, ELFCOMPRESS_ZSTD = 2,
	DW_UT_type = 2, DW_UT_skeleton = 4, DW_UT_split_compile = 5, DW_UT_split_type = 6
};

/* zlib expands a byte to at most 1032 bytes. zstd has no such limit, but debug information does not compress
 * that well. */
#define RATIO_MOST 1100
#define SECTION_MOST (1ull << 36)
/* How often each list of ranges may be read; enough for any program. */
#define BUDGET_EACH 32
#define BUDGET_ANYWAY (1 << 20)

static const char *const names[DWARF_SECTIONS] = {
	[DWARF_INFO] = "info", [DWARF_ABBREV] = "abbrev", [DWARF_STR] = "str",
	[DWARF_LINE] = "line", [DWARF_LINE_STR] = "line_str", [DWARF_ADDR] = "addr",
	[DWARF_RANGES] = "ranges", [DWARF_RNGLISTS] = "rnglists",
	[DWARF_STR_OFFSETS] = "str_offsets", [DWARF_CU_INDEX] = "cu_index",
};

/* ---- sections ------------------------------------------------------------------------- */

static int expand(struct dwarf_file *f, unsigned i, struct span in, uint64_t n, unsigned method,
	struct err *e)
{
	void *p;
	int r;

	if (method != ELFCOMPRESS_ZLIB && method != ELFCOMPRESS_ZSTD)
		return err_set(e, -ENOTSUP, "is compressed in an unknown way: .debug_%s", names[i]);
	if (n > SECTION_MOST || n / RATIO_MOST > in.n)
		return err_set(e, -EBADMSG, "is broken: .debug_%s cannot be so large", names[i]);
	if (!n)
		return 0;
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(e, -ENOMEM, "%s", err_text(ENOMEM));
	f->s[i] = (struct span){p, n};
	f->mapped[i] = n;
	r = method == ELFCOMPRESS_ZLIB ? expand_zlib(in, p, n) : expand_zstd(in, p, n);
	if (r == -EBADMSG)
		return err_set(e, r, "is broken: .debug_%s does not unpack", names[i]);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : 0;
}

/* Expands a compressed ELF section, which begins with its own header. */
static int expand_elf(struct dwarf_file *f, unsigned i, const struct image *m,
	const struct image_section *s, struct err *e)
{
	size_t head = m->is64 ? 24 : 12;
	const uint8_t *h = span_at(s->bytes, 0, head);

	if (!h)
		return err_set(e, -EBADMSG, "is broken: .debug_%s is cut short", names[i]);
	return expand(f, i, (struct span){h + head, s->bytes.n - head},
		m->is64 ? load64(h + 8, m->swap) : load32(h + 4, m->swap), load32(h, m->swap), e);
}

/* Expands a ".zdebug_" section of older linkers: "ZLIB", the size in big-endian, and the data. */
static int expand_old(
	struct dwarf_file *f, unsigned i, const struct image_section *s, struct err *e)
{
	const uint8_t *h = span_at(s->bytes, 0, 12);

	if (!h || memcmp(h, "ZLIB", 4) != 0)
		return err_set(e, -EBADMSG, "is broken: .zdebug_%s is not compressed", names[i]);
	return expand(f, i, (struct span){h + 12, s->bytes.n - 12}, load64(h + 4, !HOST_BIG),
		ELFCOMPRESS_ZLIB, e);
}

static int find_named(const struct image *m, const char *prefix, const char *name,
	const char *suffix, struct image_section *s)
{
	char full[64];

	snprintf(full, sizeof(full), "%s%s%s", prefix, name, suffix);
	if (m->kind == IMAGE_MACHO)
		full[16] = '\0'; /* Mach-O names have at most 16 bytes */
	return image_find(m, full, s);
}

/* GCC puts each type unit of a .dwo file into a section of its own, all of the same name. They lie before that of the
 * compile unit, one behind the other. */
static void join_sections(const struct image *m, struct image_section *s)
{
	struct image_section next;

	for (uint32_t i = s->index + 1; s->bytes.n && i < m->n_sections && image_section(m, i, &next) == 0 &&
		next.name_len == s->name_len && memcmp(next.name, s->name, s->name_len) == 0 &&
		next.bytes.p == s->bytes.p + s->bytes.n; i++)
		s->bytes.n += next.bytes.n;
}

static int open_section(struct dwarf_file *f, unsigned i, const struct image *m, struct err *e)
{
	bool macho = m->kind == IMAGE_MACHO;
	const char *suffix = f->dwo && i != DWARF_CU_INDEX ? ".dwo" : "";
	struct image_section s;
	int r = find_named(m, macho ? "__debug_" : ".debug_", names[i], suffix, &s);

	if (r == -EBADMSG)
		return err_set(e, r, "is cut short: .debug_%s lies outside", names[i]);
	if (r == 0 && m->kind == IMAGE_ELF && s.flags & SHF_COMPRESSED) {
		r = expand_elf(f, i, m, &s, e);
		map_rest(m->map);
		return r < 0 ? r : image_relocate(m, s.index, &f->s[i], &f->mapped[i], e);
	}
	if (r == 0) {
		if (f->dwo && i == DWARF_INFO && m->kind == IMAGE_ELF && !m->placed)
			join_sections(m, &s);
		f->s[i] = s.bytes;
		return image_relocate(m, s.index, &f->s[i], &f->mapped[i], e);
	}
	if (!macho && find_named(m, ".zdebug_", names[i], suffix, &s) == 0)
		return expand_old(f, i, &s, e);
	return 0;
}

/* Cuts a section after its last NUL, so that every text in it has an end. */
static void end_texts(struct span *s)
{
	const uint8_t *last = s->n ? memrchr(s->p, 0, s->n) : NULL;

	s->n = last ? (size_t)(last - s->p) + 1 : 0;
}

/* ---- units ---------------------------------------------------------------------------- */

/* Reads the header of the unit at `off`. False: no unit is there, and no later unit can be found. */
static bool read_head(const struct dwarf_file *f, uint64_t off, struct dwarf_head *h)
{
	struct span info = f->s[DWARF_INFO];
	const uint8_t *p = span_at(info, off, 12);
	uint64_t length, at = off + 4;

	*h = (struct dwarf_head){.at = off, .off_size = 4};
	if (!p)
		return false;
	length = load32(p, f->swap);
	if (length == UINT32_MAX) {
		length = load64(p + 4, f->swap);
		h->off_size = 8;
		at += 8;
	} else if (length >= 0xfffffff0u) {
		return false;
	}
	if (at > info.n || length > info.n - at)
		return false;
	h->end = at + length;
	info.n = h->end;
	p = span_at(info, at, 2);
	h->version = p ? load16(p, f->swap) : 0;
	at += 2;
	if (h->version < 2 || h->version > 5)
		return true; /* the unit is skipped */
	p = span_at(info, at, 2 + h->off_size);
	if (!p)
		return true;
	if (h->version >= 5) {
		h->kind = p[0];
		h->addr_size = p[1];
		p += 2;
		at += 2;
	}
	h->abbrevs = h->off_size == 8 ? load64(p, f->swap) : load32(p, f->swap);
	at += h->off_size;
	if (h->version < 5) {
		h->addr_size = p[h->off_size];
		at++;
	} else if (h->kind == DW_UT_skeleton || h->kind == DW_UT_split_compile) {
		p = span_at(info, at, 8);
		if (!p)
			return true;
		h->id = load64(p, f->swap);
		at += 8;
	} else if (h->kind == DW_UT_type || h->kind == DW_UT_split_type) {
		at += 8 + h->off_size;
	}
	if (at < h->end && (h->addr_size == 4 || h->addr_size == 8 || h->addr_size == 2))
		h->first = at; /* otherwise the unit is not read */
	return true;
}

int dwarf_find_units(struct dwarf_file *f)
{
	size_t room = 0;
	uint64_t at = 0;
	struct dwarf_head h;

	atomic_init(&f->budget,
		(int64_t)(f->s[DWARF_RANGES].n + f->s[DWARF_RNGLISTS].n) * BUDGET_EACH +
			BUDGET_ANYWAY);
	while (read_head(f, at, &h)) {
		if (APPEND(f->units, room, f->n_units, h) < 0)
			return -ENOMEM;
		at = h.end;
	}
	return 0;
}

int dwarf_open(struct dwarf_file *f, const struct image *m, bool dwo, struct err *e)
{
	int r = 0;

	memset(f, 0, sizeof(*f));
	f->swap = m->swap;
	f->dwo = dwo;
	for (unsigned i = 0; r == 0 && i < DWARF_SECTIONS; i++)
		r = open_section(f, i, m, e);
	if (r == 0) {
		end_texts(&f->s[DWARF_STR]);
		end_texts(&f->s[DWARF_LINE_STR]);
		r = dwarf_find_units(f);
		if (r < 0)
			err_set(e, r, "%s", err_text(r));
	}
	if (r < 0)
		dwarf_close(f);
	return r;
}

void dwarf_close(struct dwarf_file *f)
{
	for (unsigned i = 0; i < DWARF_SECTIONS; i++)
		if (f->mapped[i])
			munmap((void *)f->s[i].p, f->mapped[i]);
	free(f->units);
	memset(f, 0, sizeof(*f));
}

/* ---- memory that is given back ------------------------------------------------------- */

#define EACH (4u << 20) /* fewer bytes are not worth a system call */

/* The offsets at which tables of abbreviations begin, in order. */
struct starts {
	uint64_t *at;
	size_t n, room;
};

/* Moves *p behind the attributes of one abbreviation. 1; 0: a value of it can lie in another unit; -EBADMSG. */
static int pass_attributes(const uint8_t **p, const uint8_t *end)
{
	uint64_t name, form;

	do {
		if (!take_uleb(p, end, &name) || !take_uleb(p, end, &form) ||
			(form == DW_FORM_implicit_const && !take_sleb(p, end, &(int64_t){0})))
			return -EBADMSG;
		if (form == DW_FORM_ref_addr || form == DW_FORM_indirect)
			return 0;
	} while (name || form);
	return 1;
}

/* Reads all tables, one after the other. Returns as pass_attributes(); -ENOMEM. */
static int pass_tables(struct span all, struct starts *s)
{
	const uint8_t *p = all.p, *end = all.p + all.n;
	bool begins = true;
	uint64_t v;
	int r = 1;

	while (r > 0 && p < end) {
		if (begins && APPEND(s->at, s->room, s->n, (uint64_t)(p - all.p)) < 0)
			return -ENOMEM;
		if (!take_uleb(&p, end, &v))
			return -EBADMSG;
		begins = !v;
		if (begins)
			continue;
		if (!take_uleb(&p, end, &v) || p == end)
			return -EBADMSG;
		p++;
		r = pass_attributes(&p, end);
	}
	return r;
}

bool dwarf_units_are_apart(const struct dwarf_file *f)
{
	struct starts s = {0};
	bool apart = !f->s[DWARF_ABBREV].n || pass_tables(f->s[DWARF_ABBREV], &s) > 0;

	/* A table that begins within another one can have other forms. */
	for (size_t i = 0; apart && i < f->n_units; i++)
		apart = f->units[i].abbrevs >= f->s[DWARF_ABBREV].n || (s.n && bsearch(&f->units[i].abbrevs, s.at,
			s.n, sizeof(*s.at), compare_u64));
	free(s.at);
	return apart;
}

void dwarf_spend(struct dwarf_file *f, uint64_t end)
{
	size_t to = (size_t)end & ~((size_t)sysconf(_SC_PAGESIZE) - 1);

	if (!f->mapped[DWARF_INFO] || to < f->spent + EACH)
		return;
	madvise((void *)(uintptr_t)(f->s[DWARF_INFO].p + f->spent), to - f->spent, MADV_DONTNEED);
	f->spent = to;
}
