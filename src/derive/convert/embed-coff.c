/* Embeds GSYM in a copy of a PE file, as a discardable section behind the others. If the headers lack room
 * for its entry, they grow into the gap before the first section in memory. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/embed-private.h"
#include "base/util.h"
#include "base/bytes.h"

#include <string.h>

enum {
	CERTIFICATES = 4, RELOCATIONS = 5, DEBUG = 6, DIRECTORIES = 16, ENTRY = 40, DEBUG_ENTRY = 28,
	HEADERS_SIZE = 60, IMAGE_SIZE = 56, DATA_SIZE = 8, CHECKSUM = 64,
	DATA = 0x40, DISCARDABLE = 0x02000000, READ = 0x40000000
};

#define SECTION_NAME ".gsym"
#define STRINGS_NAME ".gsymstr" /* eight bytes: a longer name needs a string table, which the file may lack */
#define HOST_NAME ".debug_str"
#define FILE_ALIGN_MOST (64u << 10)
#define MEMORY_ALIGN_MOST (64u << 20)

struct pe {
	struct embed *x;
	struct embed_gap gaps[2]; /* behind the headers; behind the host's bytes */
	uint64_t file_align, memory_align;
	uint64_t headers, table_end; /* size of the headers; offset behind the section table */
	uint64_t first_raw, first_addr, image_end;
	uint64_t certificates, certificates_size;
	uint64_t host_at, host_raw;	  /* where the host lies in the file, and its size with padding */
	uint64_t host_addr, memory_moves; /* the host's address; by how much later sections move in memory */
};

static uint64_t up(uint64_t v, uint64_t align)
{
	return (v + align - 1) / align * align;
}

static uint32_t get(const struct pe *f, const uint8_t *p)
{
	return load32(p, f->x->m.swap);
}

static void set(const struct pe *f, uint8_t *p, uint64_t v)
{
	embed_set(f->x, p, v, 4);
}

/* Entry i of the data directories. `file` is the start of the old file or of the copy. NULL: there is no such
 * entry. */
static const uint8_t *directory(const struct pe *f, const uint8_t *file, unsigned i)
{
	const struct image *m = &f->x->m;
	uint64_t count = m->is64 ? 108 : 92;

	if (m->optional_size < count + 4 + 8 * (i + 1) || i >= get(f, file + m->optional + count))
		return NULL;
	return file + m->optional + count + 4 + 8 * i;
}

static const uint8_t *section(const struct pe *f, const uint8_t *file, uint32_t i)
{
	return file + f->x->m.at + (uint64_t)i * ENTRY;
}

/* ---- the old file -------------------------------------------------------------------------- */

static bool is_power(uint64_t v, uint64_t most)
{
	return v && v <= most && (v & (v - 1)) == 0;
}

static int look_at_head(struct pe *f, struct err *e)
{
	const struct image *m = &f->x->m;
	const uint8_t *h = m->file.p + m->optional, *d;

	if (!m->linked || m->optional_size < (m->is64 ? 112u : 96u))
		return err_set(e, -ENOTSUP, "is not linked: no section is added to it");
	f->memory_align = get(f, h + 32);
	f->file_align = get(f, h + 36);
	f->headers = get(f, h + HEADERS_SIZE);
	f->image_end = get(f, h + IMAGE_SIZE);
	f->table_end = m->at + (uint64_t)m->n_sections * ENTRY;
	if (!is_power(f->file_align, FILE_ALIGN_MOST) || !is_power(f->memory_align, MEMORY_ALIGN_MOST) ||
		f->headers < f->table_end || f->headers > m->file.n || m->n_sections >= 0xfff0)
		return err_set(e, -EBADMSG, "is broken: its headers have impossible values");
	d = directory(f, m->file.p, CERTIFICATES);
	if (d && get(f, d + 4)) {
		f->certificates = get(f, d);
		f->certificates_size = get(f, d + 4);
	}
	return 0;
}

static int look(struct pe *f, struct err *e)
{
	const struct image *m = &f->x->m;
	int r = look_at_head(f, e);

	f->first_raw = m->file.n;
	f->first_addr = UINT32_MAX;
	for (uint32_t i = 0; r == 0 && i < m->n_sections; i++) {
		const uint8_t *h = section(f, m->file.p, i);
		uint64_t virtual = get(f, h + 8), addr = get(f, h + 12), n = get(f, h + 16), off = get(f, h + 20);

		f->first_addr = MIN(f->first_addr, addr);
		f->image_end = MAX(f->image_end, addr + (virtual ? virtual : n));
		if (n && off)
			f->first_raw = MIN(f->first_raw, off);
	}
	return r;
}

/* ---- the strings of the old file --------------------------------------------------------- */

/* Whether all sections after the host can move in memory: each is for debuggers, or has the relocations, to
 * which only the headers refer. */
static bool may_move(const struct pe *f)
{
	const struct image *m = &f->x->m;

	for (unsigned i = 0; i < DIRECTORIES; i++) {
		const uint8_t *d = directory(f, m->file.p, i);

		if (d && i != CERTIFICATES && i != RELOCATIONS && (uint64_t)get(f, d) + get(f, d + 4) > f->host_addr)
			return false;
	}
	for (uint32_t i = 0; i < m->n_sections; i++) {
		const uint8_t *h = section(f, m->file.p, i);

		if (get(f, h + 12) > f->host_addr && !(get(f, h + 36) & DISCARDABLE))
			return false;
	}
	return true;
}

static bool can_grow(struct pe *f, const struct image_section *host)
{
	const uint8_t *h = section(f, f->x->m.file.p, host->index);

	f->host_at = get(f, h + 20);
	f->host_raw = get(f, h + 16);
	f->host_addr = host->addr;
	return host->bytes.n && !host->bytes.p[host->bytes.n - 1] && get(f, h + 8) <= f->host_raw &&
		f->host_at >= f->headers && f->host_raw % f->file_align == 0 &&
		embed_is_zero(f->x, f->host_at + host->bytes.n, f->host_at + f->host_raw) && may_move(f);
}

static void grow(struct pe *f)
{
	const struct embed *x = f->x;
	uint64_t n = x->host.bytes.n + x->strings.n,
		 before = get(f, section(f, x->m.file.p, x->host.index) + 8);

	f->gaps[1].at = f->host_at + f->host_raw;
	f->gaps[1].n = up(n, f->file_align) - MIN(up(n, f->file_align), f->host_raw);
	f->memory_moves = up(n, f->memory_align) -
		MIN(up(n, f->memory_align), up(before ? before : f->host_raw, f->memory_align));
}

/* ---- room for headers ----------------------------------------------------------------------- */

static int make_room(struct pe *f, unsigned added, struct err *e)
{
	uint64_t end = f->table_end + added * ENTRY, most = MIN(f->headers, f->first_raw);

	f->gaps[0].at = f->headers;
	if (end <= most && embed_is_zero(f->x, f->table_end, end))
		return 0;
	if (f->first_raw >= f->headers && embed_is_zero(f->x, f->table_end, f->headers)) {
		f->gaps[0].n = up(end, f->file_align) - MIN(up(end, f->file_align), f->headers);
		if (f->gaps[0].n % f->file_align == 0 && up(end, f->file_align) <= f->first_addr)
			return 0;
	}
	return err_set(e, -ENOTSUP, "has no room for the header of another section");
}

/* ---- the copy ----------------------------------------------------------------------------- */

static void move_offset(const struct pe *f, uint8_t *p)
{
	if (get(f, p))
		set(f, p, embed_moved(f->gaps, get(f, p)));
}

static void move_address(const struct pe *f, uint8_t *p)
{
	if (f->memory_moves && get(f, p) > f->host_addr)
		set(f, p, get(f, p) + f->memory_moves);
}

static void move_sections(const struct pe *f, uint8_t *file)
{
	for (uint32_t i = 0; i < f->x->m.n_sections; i++) {
		uint8_t *h = (uint8_t *)(uintptr_t)section(f, file, i);

		move_address(f, h + 12);
		move_offset(f, h + 20);
		move_offset(f, h + 24);
		move_offset(f, h + 28);
		if (f->x->host.bytes.n && i == f->x->host.index) {
			set(f, h + 8, f->x->host.bytes.n + f->x->strings.n);
			set(f, h + 16, f->host_raw + f->gaps[1].n);
		}
	}
}

/* Moves the file offsets in the debug directory. */
static void move_debug(const struct pe *f, uint8_t *file)
{
	const struct image *m = &f->x->m;
	struct span all = image_directory(m, DEBUG);

	for (size_t at = 0; all.p && all.n - at >= DEBUG_ENTRY; at += DEBUG_ENTRY)
		move_offset(f, file + embed_moved(f->gaps, (uint64_t)(all.p - m->file.p)) + at + 24);
}

static void move_all(const struct pe *f, uint8_t *file)
{
	uint8_t *d = (uint8_t *)(uintptr_t)directory(f, file, RELOCATIONS);

	move_offset(f, file + f->x->m.optional - 20 + 8);
	if (d)
		move_address(f, d);
	/* The signature is not valid for the copy. */
	d = (uint8_t *)(uintptr_t)directory(f, file, CERTIFICATES);
	if (d)
		memset(d, 0, 8);
	move_sections(f, file);
	move_debug(f, file);
}

/* Appends a section. Returns the address behind it, at which another section can begin. */
static uint64_t put_section(struct pe *f, unsigned nth, const char *name, const struct buf *bytes, uint64_t addr)
{
	uint64_t off = f->x->out->n;
	uint8_t *h;

	buf_add(f->x->out, bytes->p, bytes->n);
	embed_pad(f->x, f->file_align);
	if (f->x->out->r)
		return 0;
	h = (uint8_t *)(uintptr_t)section(f, (uint8_t *)f->x->out->p, f->x->m.n_sections + nth);
	memset(h, 0, ENTRY);
	memcpy(h, name, strlen(name));
	set(f, h + 8, bytes->n);
	set(f, h + 12, addr);
	set(f, h + 16, f->x->out->n - off);
	set(f, h + 20, off);
	set(f, h + 36, DATA | DISCARDABLE | READ);
	return up(addr + bytes->n, f->memory_align);
}

/* The checksum as Windows computes it: the sum of all 16-bit words, plus the file size. */
static uint32_t checksum(const struct pe *f)
{
	const uint8_t *p = (const uint8_t *)f->x->out->p;
	size_t n = f->x->out->n, own = f->x->m.optional + CHECKSUM;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (i < own || i >= own + 4)
			sum += (uint64_t)p[i] << (i & 1 ? 8 : 0);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)(sum + n);
}

static void set_head(const struct pe *f, unsigned added, uint64_t image_end, uint64_t bytes)
{
	uint8_t *file = (uint8_t *)f->x->out->p, *h = file + f->x->m.optional;

	embed_set(f->x, h - 18, f->x->m.n_sections + added, 2);
	set(f, h + HEADERS_SIZE, f->headers + f->gaps[0].n);
	set(f, h + IMAGE_SIZE, image_end);
	set(f, h + DATA_SIZE, MIN(get(f, h + DATA_SIZE) + bytes, UINT32_MAX));
	if (get(f, h + CHECKSUM))
		set(f, h + CHECKSUM, checksum(f));
}

static int put_all(struct pe *f, unsigned added, struct err *e)
{
	struct embed *x = f->x;
	uint64_t n = x->m.file.n, end, bytes;

	if (f->certificates_size && f->certificates <= n && n - f->certificates <= f->certificates_size &&
		f->certificates >= MAX(f->gaps[0].at, f->gaps[1].at))
		n = f->certificates;
	embed_copy(x, f->gaps, n);
	if (x->out->r)
		return x->out->r;
	if (x->host.bytes.n && x->strings.n)
		memcpy(x->out->p + embed_moved(f->gaps, f->host_at) + x->host.bytes.n, x->strings.p, x->strings.n);
	move_all(f, (uint8_t *)x->out->p);
	embed_pad(x, f->file_align);
	bytes = x->out->n;
	end = put_section(f, 0, SECTION_NAME, &x->main, up(f->image_end, f->memory_align) + f->memory_moves);
	if (added > 1 && !x->out->r)
		end = put_section(f, 1, STRINGS_NAME, &x->strings, end);
	if (x->out->r)
		return x->out->r;
	if (x->out->n > UINT32_MAX || end > UINT32_MAX)
		return err_set(e, -EFBIG, "would be too large for its format with GSYM in it");
	set_head(f, added, end, x->out->n - bytes + f->gaps[1].n);
	return 0;
}

int embed_coff(struct embed *x, struct err *e)
{
	struct pe f = {.x = x};
	struct image_section host;
	bool shares;
	int r = look(&f, e);

	if (r < 0)
		return r;
	shares = image_find(&x->m, HOST_NAME, &host) == 0 && can_grow(&f, &host);
	r = embed_write(x, shares ? &host : NULL, STRINGS_NAME, e);
	if (r < 0)
		return r;
	f.gaps[1].at = x->m.file.n;
	if (shares) {
		x->host = host;
		grow(&f);
	}
	r = make_room(&f, shares ? 1 : 2, e);
	return r < 0 ? r : put_all(&f, shares ? 1 : 2, e);
}
