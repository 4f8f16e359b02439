/* The table of formats, which of them reads a file, and what a file is that no format claims. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/obj/private.h"
#include "base/path.h"
#include "base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct obj_format *const obj_formats[OBJ_FORMATS] = {
	&obj_bcsymbolmap,
	&obj_breakpad,
	&obj_elf,
	&obj_macho,
	&obj_pdb,
	&obj_pe,
	&obj_perfmap,
	&obj_ppdb,
	&obj_sourcebundle,
	&obj_uuidmap,
	&obj_wasm,
};

bool obj_is_anonymous(enum filetype t)
{
	return filetypes[t].flags & TYPE_ANONYMOUS;
}

bool obj_format_serves(const struct obj_format *f, enum filetype t)
{
	for (unsigned i = 0; i < ARRAY_SIZE(f->serves); i++)
		if (t != FILETYPE_NONE && f->serves[i] == t)
			return true;
	return false;
}

/* ---- the first bytes ---------------------------------------------------------------- */

int obj_head_read(struct view *v, struct obj_head *h)
{
	h->n = (size_t)MIN(MIN(v->size, v->have), sizeof(h->p));
	h->whole = v->size == h->n;
	return view_read(v, 0, h->p, h->n);
}

/* ---- files of no format ------------------------------------------------------------- */

static bool begins_with(const uint8_t *p, size_t n, const char *word)
{
	return n >= strlen(word) && strncasecmp((const char *)p, word, strlen(word)) == 0;
}

static bool is_page(const uint8_t *p, size_t n)
{
	return begins_with(p, n, "<!doctype html") || begins_with(p, n, "<html") ||
		begins_with(p, n, "<head") || begins_with(p, n, "<body");
}

static bool is_text(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] == 0x7f || (p[i] < ' ' && !isspace(p[i])))
			return false;
	return true;
}

/* Containers and formats that a message can name. */
struct magic {
	const char *magic;
	size_t n;
	const char *word;
	const char *unpack; /* the command that unpacks to its standard output; NULL: none */
};

static const struct magic *magic_of(const uint8_t *p, size_t n)
{
	static const struct magic rows[] = {
		{"\x1f\x8b", 2, "is gzip data", "gzip -dc"},
		{"\x28\xb5\x2f\xfd", 4, "is zstd data", "zstd -dc"},
		{"\xfd" "7zXZ", 5, "is xz data", "xz -dc"},
		{"\x04\"M\x18", 4, "is lz4 data", "lz4 -dc"},
		{"BZh", 3, "is bzip2 data", "bzip2 -dc"},
		{"PK\3\4", 4, "is a zip archive"},
		{"MSCF", 4, "is a cabinet archive"},
		{"!<arch>\n", 8, "is an ar archive"},
		{"MZ", 2, "is a PE file"},
		{"Microsoft C/C++ MSF 7.00", 24, "is a PDB file"},
		{"BSJB", 4, "is a portable PDB file"},
		{"\xca\xfe\xba\xbe", 4, "is a Java class"}, /* fat Mach-O files have the same magic */
		{"GSYM", 4, "is a GSYM file"},
		{"MYSG", 4, "is a GSYM file"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (n >= rows[i].n && memcmp(p, rows[i].magic, rows[i].n) == 0)
			return &rows[i];
	return NULL;
}

const char *obj_unpacker(struct view *v)
{
	uint8_t head[5];
	const struct magic *m = view_read(v, 0, head, sizeof(head)) == 0 ? magic_of(head, sizeof(head)) : NULL;

	return m ? m->unpack : NULL;
}

/* Some servers send an HTML page in place of a file, so the message names that case. */
const char *obj_foreign(const uint8_t *p, size_t n)
{
	const struct magic *m = magic_of(p, n);

	if (!n)
		return "is empty";
	if (m)
		return m->word;
	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	while (n && isspace(*p)) {
		p++;
		n--;
	}
	if (is_page(p, n))
		return "is an HTML page";
	if (begins_with(p, n, "<?xml"))
		return "is an XML document";
	if (is_text(p, n))
		return "is text";
	return "is of no known format";
}

/* ---- which format ------------------------------------------------------------------- */

static enum obj_claim magic_claims(const char *magic, size_t len, const struct obj_head *h)
{
	if (memcmp(h->p, magic, MIN(h->n, len)) != 0)
		return CLAIM_NO;
	if (h->n >= len)
		return CLAIM_YES;
	return h->whole ? CLAIM_NO : CLAIM_MAYBE;
}

enum obj_claim obj_claims(const struct obj_format *f, const struct obj_head *h)
{
	enum obj_claim best = magic_claims(f->magic, f->magic_len, h);

	for (unsigned i = 0; i < ARRAY_SIZE(f->also) && f->also[i].magic; i++) {
		enum obj_claim c = magic_claims(f->also[i].magic, f->also[i].len, h);

		best = MAX(best, c);
	}
	return best;
}

static int unclaimed(struct view *v, const struct obj_head *h, struct err *e)
{
	bool maybe = false;

	for (unsigned i = 0; i < OBJ_FORMATS; i++)
		maybe = maybe || obj_claims(obj_formats[i], h) == CLAIM_MAYBE;
	if (maybe)
		return view_want(v, 0, h->n + 1);
	/* One byte can rule out every format; more bytes are needed to say what the file is. */
	if (!h->whole && h->n < sizeof(h->p))
		return view_want(v, 0, MIN(v->size, sizeof(h->p)));
	return err_set(e, -ENOMSG, "%s", obj_foreign(h->p, h->n));
}

int obj_identify(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct obj_head h;
	int r = obj_head_read(v, &h);

	if (r < 0)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	for (unsigned i = 0; i < OBJ_FORMATS; i++) {
		if (obj_claims(obj_formats[i], &h) != CLAIM_YES)
			continue;
		if (index && !obj_formats[i]->slices)
			return -ENOENT;
		r = obj_formats[i]->probe(v, index, out, e);
		if (r != -ENOMSG) /* two formats can share a magic */
			return r;
	}
	return unclaimed(v, &h, e);
}

bool obj_may_be(enum filetype t, const void *head, size_t n)
{
	struct obj_head h = {.n = MIN(n, sizeof(h.p)), .whole = n < OBJ_HEAD};
	bool known = false;
	const char *what;

	if (filetypes[t].flags & TYPE_ANY_BYTES)
		return true;
	memcpy(h.p, head, h.n);
	for (unsigned i = 0; i < OBJ_FORMATS; i++) {
		if (!obj_format_serves(obj_formats[i], t))
			continue;
		if (obj_claims(obj_formats[i], &h) == CLAIM_YES)
			return true;
		known = true;
	}
	if (known)
		return false;
	what = obj_foreign(h.p, h.n);
	return strcmp(what, "is an HTML page") != 0 && strcmp(what, "is empty") != 0;
}

/* The format that claims the first bytes. NULL: no format does, or bytes are missing (`*r`). */
static const struct obj_format *claimed(struct view *v, int *r)
{
	struct obj_head h;

	*r = obj_head_read(v, &h);
	for (unsigned i = 0; *r == 0 && i < OBJ_FORMATS; i++)
		if (obj_claims(obj_formats[i], &h) == CLAIM_YES)
			return obj_formats[i];
	if (*r != -EAGAIN)
		*r = -ENOENT;
	return NULL;
}

int obj_walk(struct view *v, struct obj_walk *out)
{
	int r;
	const struct obj_format *f = claimed(v, &r);

	memset(out, 0, sizeof(*out));
	return !f ? r : f->walk ? f->walk(v, out) : -ENOENT;
}

int obj_heads(struct view *v, uint64_t *heads, unsigned most)
{
	int r;
	const struct obj_format *f = claimed(v, &r);

	return !f ? r : f->heads ? f->heads(v, heads, most) : -ENOENT;
}

int obj_is_sparse(struct view *v, enum filetype t)
{
	struct obj_head h;
	int r = obj_head_read(v, &h);

	if (r < 0)
		return r == -EAGAIN ? r : 0;
	for (unsigned i = 0; i < OBJ_FORMATS; i++)
		if (obj_claims(obj_formats[i], &h) == CLAIM_YES && obj_format_serves(obj_formats[i], t))
			return obj_formats[i]->sparse ? obj_formats[i]->sparse(v, t) : 0;
	return 0;
}

const struct obj_format *obj_format_named(const char *name)
{
	for (unsigned i = 0; i < OBJ_FORMATS; i++)
		if (strcmp(obj_formats[i]->name, name) == 0)
			return obj_formats[i];
	return NULL;
}

bool obj_reads(enum filetype t)
{
	for (unsigned i = 0; i < OBJ_FORMATS; i++)
		if (obj_format_serves(obj_formats[i], t))
			return true;
	return false;
}
