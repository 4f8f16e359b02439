/* Opens a GSYM file: finds out its form, and checks that its tables lie inside the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/gsym/gsym.h"
#include "base/util.h"
#include "base/bytes.h"
#include "formats/image/image.h"

#define HEAD_V1 48	/* version 1 ends its header with room for a UUID */
#define HEAD_OLD 28	/* the prototype's header, which ends with offset and size of the strings */
#define NAME_AT 20	/* here GSYM_SECT0 has the name of the string section, in place of offset and size */
#define UUID_MOST 20
#define SECTION_NAME_MOST 64

static bool has_magic(struct span s)
{
	const uint8_t *p = span_at(s, 0, 4);

	return p && (load32(p, false) == GSYM_MAGIC || load32(p, true) == GSYM_MAGIC);
}

/* Reads the start of the header, which all forms share. */
static int read_head(struct gsym *g, struct err *e)
{
	const uint8_t *h = span_at(g->data, 0, HEAD_OLD);
	unsigned version;

	if (!has_magic(g->data))
		return err_set(e, -ENOMSG, "is not GSYM");
	if (!h)
		return err_set(e, -EBADMSG, "is cut short: no whole header");
	g->swap = load32(h, false) != GSYM_MAGIC;
	g->big = g->swap != HOST_BIG;
	version = load16(h + 4, g->swap);
	if (version != GSYM_VERSION)
		return err_set(e, -ENOTSUP, "is GSYM of version %u: only 1 is read", version);
	g->off_size = h[6];
	if (g->off_size != 1 && g->off_size != 2 && g->off_size != 4 && g->off_size != 8)
		return err_set(e, -EBADMSG, "is broken: addresses of %u bytes", g->off_size);
	g->base = load64(h + 8, g->swap);
	g->count = load32(h + 16, g->swap);
	return 0;
}

static int set_strings(struct gsym *g, struct span strings, struct err *e)
{
	g->strings = strings;
	if (strings.n && strings.p[strings.n - 1])
		return err_set(e, -EBADMSG, "is broken: its last string has no end");
	return 0;
}

static int strings_at(struct gsym *g, struct span all, uint64_t off, uint64_t size, struct err *e)
{
	if (!span_at(all, off, size))
		return err_set(e, -EBADMSG, "is cut short: its strings lie outside");
	return set_strings(g, (struct span){all.p + off, size}, e);
}

/* Finds the tables after the header, which ends at `at`. */
static int read_tables(struct gsym *g, uint64_t at, struct err *e)
{
	uint64_t size = (uint64_t)g->count * g->off_size;
	bool first_stored = g->form == GSYM_V1;
	const uint8_t *n;
	uint64_t files;

	at = (at + g->off_size - 1) / g->off_size * g->off_size;
	g->offsets = span_at(g->data, at, size);
	at = (at + size + 3) & ~3ull;
	g->infos = span_at(g->data, at, (uint64_t)g->count * 4);
	at += (uint64_t)g->count * 4;
	n = span_at(g->data, at, 4);
	if (!g->offsets || !g->infos || !n)
		return err_set(e, -EBADMSG, "is cut short: %u functions do not fit", g->count);
	files = load32(n, g->swap);
	g->files = span_at(g->data, at + 4, files * 8);
	if (!g->files || (!first_stored && files == UINT32_MAX))
		return err_set(e, -EBADMSG, "is cut short: %u files do not fit", (unsigned)files);
	g->n_files = (uint32_t)files;
	if (!first_stored) { /* so that the first stored file has index 1 */
		g->files -= 8;
		g->n_files++;
	}
	return 0;
}

static int open_v1(struct gsym *g, struct err *e)
{
	const uint8_t *h = span_at(g->data, 0, HEAD_V1);
	int r;

	if (!h)
		return err_set(e, -EBADMSG, "is cut short: no whole header");
	if (h[7] > UUID_MOST)
		return err_set(e, -EBADMSG, "is broken: a UUID of %u bytes", h[7]);
	g->form = GSYM_V1;
	g->id = (struct span){h + 28, h[7]};
	r = strings_at(g, g->data, load32(h + 20, g->swap), load32(h + 24, g->swap), e);
	return r < 0 ? r : read_tables(g, HEAD_V1, e);
}

/* Whether the file ends with its strings, as the prototype's do. LLVM's files end with the functions. */
static bool ends_with_strings(const struct gsym *g)
{
	uint64_t off = load32(g->data.p + 20, g->swap), size = load32(g->data.p + 24, g->swap);

	return off >= HEAD_OLD && off + size == g->data.n;
}

static int open_alone(struct gsym *g, struct span strings_in, struct err *e)
{
	const uint8_t *h = g->data.p;
	int r = strings_at(g, strings_in, load32(h + 20, g->swap), load32(h + 24, g->swap), e);

	return r < 0 ? r : read_tables(g, HEAD_OLD, e);
}

/* Finds the string section by the name in the header. False: no section has that name, so the bytes may be
 * an offset and a size that look like text. */
static bool named_strings(
	const struct gsym *g, const struct image *m, size_t *len, struct span *out)
{
	const char *name = (const char *)g->data.p + NAME_AT;
	size_t n = strnlen(name, MIN(g->data.n - NAME_AT, SECTION_NAME_MOST));
	struct image_section s;

	if (!n || n == SECTION_NAME_MOST || n == g->data.n - NAME_AT)
		return false;
	if (image_find(m, name, &s) < 0)
		return false;
	*len = n + 1;
	*out = s.bytes;
	return true;
}

static int open_section(struct gsym *g, const struct image *m, struct err *e)
{
	struct span strings;
	size_t len;
	int r = read_head(g, e);

	if (r < 0)
		return r == -ENOMSG ? err_set(e, -EBADMSG, "is broken: its section is not GSYM") : r;
	if (!named_strings(g, m, &len, &strings)) {
		g->form = GSYM_SECT1;
		return open_alone(g, m->file, e);
	}
	g->form = GSYM_SECT0;
	g->strings_in = (const char *)g->data.p + NAME_AT;
	r = set_strings(g, strings, e);
	return r < 0 ? r : read_tables(g, NAME_AT + len, e);
}

static int open_object(struct gsym *g, struct span file, struct err *e)
{
	struct image_section s;
	struct image m;
	int r = image_open(&m, file, e);

	if (r == -ENOMSG || (r == 0 && m.kind == IMAGE_WASM))
		return err_set(e, -ENOMSG, "is not GSYM");
	if (r < 0)
		return r;
	r = image_find(&m, m.kind == IMAGE_MACHO ? "__gsym" : ".gsym", &s);
	if (r == -ENOENT)
		return err_set(e, -ENOMSG, "is not GSYM, and has no GSYM section");
	if (r < 0)
		return err_set(e, -EBADMSG, "is broken: its GSYM lies outside");
	g->data = s.bytes;
	return open_section(g, &m, e);
}

int gsym_open(struct gsym *g, struct span file, struct err *e)
{
	int r;

	memset(g, 0, sizeof(*g));
	g->data = file;
	g->strings_in = "";
	if (!has_magic(file))
		return open_object(g, file, e);
	r = read_head(g, e);
	if (r < 0)
		return r;
	if (!ends_with_strings(g))
		return open_v1(g, e);
	g->form = GSYM_ALONE0;
	return open_alone(g, file, e);
}

const char *gsym_form_name(enum gsym_form form)
{
	static const char *const names[] = {"v1", "sect0", "sect1", "alone0"};

	return names[form];
}

/* ---- tables ------------------------------------------------------------------------- */

uint64_t gsym_addr(const struct gsym *g, uint32_t i)
{
	const uint8_t *p = g->offsets + (size_t)i * g->off_size;

	switch (g->off_size) {
	case 1:
		return g->base + *p;
	case 2:
		return g->base + load16(p, g->swap);
	case 4:
		return g->base + load32(p, g->swap);
	default:
		return g->base + load64(p, g->swap);
	}
}

int gsym_func_end(const struct gsym *g, uint32_t i, uint64_t *end)
{
	const uint8_t *h = span_at(g->data, load32(g->infos + (size_t)i * 4, g->swap), 4);
	uint32_t size;

	if (!h)
		return -EBADMSG;
	__builtin_prefetch(h + 64); /* its lines */
	__builtin_prefetch(h + 128);
	size = load32(h, g->swap);

	*end = gsym_addr(g, i) + (size ? size : 1);
	return 0;
}

uint32_t gsym_info_at(const struct gsym *g, uint32_t i)
{
	return load32(g->infos + (size_t)i * 4, g->swap);
}

const char *gsym_string(const struct gsym *g, uint64_t offset)
{
	if (offset < g->strings.n)
		return (const char *)g->strings.p + offset;
	return offset ? NULL : "";
}

int gsym_file(const struct gsym *g, uint64_t index, const char **dir, const char **base)
{
	const uint8_t *p;

	*dir = *base = "";
	if (index == 0)
		return 0;
	if (index >= g->n_files)
		return -EBADMSG;
	p = g->files + index * 8;
	*dir = gsym_string(g, load32(p, g->swap));
	*base = gsym_string(g, load32(p + 4, g->swap));
	return *dir && *base ? 0 : -EBADMSG;
}

const char *gsym_path_text(const char *dir, const char *base, char *room, size_t n)
{
	size_t len = strlen(dir), base_len = strlen(base), at = 0;
	char mark = memchr(dir, '/', len) || !memchr(dir, '\\', len) ? '/' : '\\';

	if (!n)
		return room;
	len = MIN(len, n - 1);
	memcpy(room, dir, len);
	at = len;
	if (len && base_len && dir[len - 1] != mark && at < n - 1)
		room[at++] = mark;
	len = MIN(base_len, n - 1 - at);
	memcpy(room + at, base, len);
	room[at + len] = '\0';
	return room;
}
