/* The table of formats, and what is asked of a file whatever its format is. A format is one
 * file, one extern in obj.h, and one row here. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "obj/obj.h"
#include "base/path.h"
#include "base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct obj_format *const formats[] = {
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

/* A broken file must not keep its reader here for ever: fat files have a handful. */
#define SLICES_MOST 256

bool obj_is_anonymous(enum filetype t)
{
	return filetype_is(t, TYPE_ANONYMOUS);
}

static bool serves(const struct obj_format *f, enum filetype t)
{
	for (unsigned i = 0; i < ARRAY_SIZE(f->serves); i++)
		if (t != FILETYPE_NONE && f->serves[i] == t)
			return true;
	return false;
}

/* ---- what a file is instead --------------------------------------------------------- */

struct head {
	uint8_t p[OBJ_HEAD];
	size_t n;
	bool whole; /* the file has no more */
};

static int read_head(struct view *v, struct head *h)
{
	h->n = (size_t)MIN(MIN(v->size, v->have), sizeof(h->p));
	h->whole = v->size == h->n;
	return view_read(v, 0, h->p, h->n);
}

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

/* Containers and formats that a person can be told the name of. */
static const char *magic_word(const uint8_t *p, size_t n)
{
	static const struct {
		const char *magic;
		size_t n;
		const char *word;
	} rows[] = {
		{"\x1f\x8b", 2, "is gzip data"},
		{"\x28\xb5\x2f\xfd", 4, "is zstd data"},
		{"\xfd" "7zXZ", 5, "is xz data"},
		{"BZh", 3, "is bzip2 data"},
		{"PK\3\4", 4, "is a zip archive"},
		{"MSCF", 4, "is a cabinet archive"},
		{"!<arch>\n", 8, "is an ar archive"},
		{"MZ", 2, "is a PE file"},
		{"Microsoft C/C++ MSF 7.00", 24, "is a PDB file"},
		{"BSJB", 4, "is a portable PDB file"},
		{"\xca\xfe\xba\xbe", 4, "is a Java class"}, /* it has that of a fat file */
		{"GSYM", 4, "is a GSYM file"},
		{"MYSG", 4, "is a GSYM file"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (n >= rows[i].n && memcmp(p, rows[i].magic, rows[i].n) == 0)
			return rows[i].word;
	return NULL;
}

/* Pages that a server sends in place of a file are worth a name: "is an HTML page". */
static const char *what_is(const uint8_t *p, size_t n)
{
	const char *word = magic_word(p, n);

	if (!n)
		return "is empty";
	if (word)
		return word;
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

enum claim { CLAIM_NO, CLAIM_MAYBE, CLAIM_YES };

/* MAYBE: the magic's last bytes are not here yet. */
static enum claim magic_claims(const char *magic, size_t len, const struct head *h)
{
	if (memcmp(h->p, magic, MIN(h->n, len)) != 0)
		return CLAIM_NO;
	if (h->n >= len)
		return CLAIM_YES;
	return h->whole ? CLAIM_NO : CLAIM_MAYBE;
}

static enum claim claims(const struct obj_format *f, const struct head *h)
{
	enum claim best = magic_claims(f->magic, f->magic_len, h);

	for (unsigned i = 0; i < ARRAY_SIZE(f->also) && f->also[i].magic; i++) {
		enum claim c = magic_claims(f->also[i].magic, f->also[i].len, h);

		best = MAX(best, c);
	}
	return best;
}

static int unclaimed(struct view *v, const struct head *h, struct err *e)
{
	bool maybe = false;

	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++)
		maybe = maybe || claims(formats[i], h) == CLAIM_MAYBE;
	if (maybe) {
		v->want_off = 0;
		v->want_len = h->n + 1;
		return -EAGAIN;
	}
	/* One byte says that it is no such format; some more say what it is. */
	if (!h->whole && h->n < sizeof(h->p)) {
		v->want_off = 0;
		v->want_len = MIN(v->size, sizeof(h->p));
		return -EAGAIN;
	}
	return err_set(e, -ENOMSG, "%s", what_is(h->p, h->n));
}

int obj_identify(struct view *v, unsigned index, struct obj_slice *out, struct err *e)
{
	struct head h;
	int r = read_head(v, &h);

	if (r < 0)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
		if (claims(formats[i], &h) != CLAIM_YES)
			continue;
		r = formats[i]->probe(v, index, out, e);
		if (r != -ENOMSG) /* two formats can share a magic */
			return r;
	}
	return unclaimed(v, &h, e);
}

bool obj_may_be(enum filetype t, const void *head, size_t n)
{
	struct head h = {.n = MIN(n, sizeof(h.p)), .whole = n < OBJ_HEAD};
	bool known = false;
	const char *what;

	if (filetype_is(t, TYPE_ANY_BYTES))
		return true;
	memcpy(h.p, head, h.n);
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!serves(formats[i], t))
			continue;
		if (claims(formats[i], &h) == CLAIM_YES)
			return true;
		known = true;
	}
	if (known)
		return false;
	what = what_is(h.p, h.n);
	return strcmp(what, "is an HTML page") != 0 && strcmp(what, "is empty") != 0;
}

/* ---- is it what was asked for? ------------------------------------------------------ */

/* A PDB that was written again for the same program keeps its GUID and has a higher age, and
 * servers keep the newest. A portable one is known by its GUID: the other half of its id is
 * ffffffff in some keys, and a stamp in others. */
static bool pdb_fits(const struct key *want, const struct key *have)
{
	struct debug_id w, h;

	if (debug_id_parse(&w, want->id, strlen(want->id)) < 0 ||
		debug_id_parse(&h, have->id, strlen(have->id)) < 0 || w.pdb20 != h.pdb20 ||
		memcmp(w.guid, h.guid, sizeof(w.guid)) != 0)
		return false;
	return want->type == FILETYPE_PORTABLEPDB || h.age >= w.age;
}

/* Of WebAssembly, some ask for the id with the byte of its length in front, as they read it, or for
 * no more of either than makes a UUID. */
static bool wasm_id_is(const char *want, const char *have)
{
	char counted[KEY_ID_MAX + 18];
	size_t n = strlen(have);

	snprintf(counted, sizeof(counted), "%02zx%s", n / 2, have);
	if (strlen(want) == 32)
		return strncasecmp(want, have, 32) == 0 || strncasecmp(want, counted, 32) == 0;
	return strcasecmp(want, have) == 0 || strcasecmp(want, counted) == 0;
}

static bool id_is(const struct key *want, const struct key *have)
{
	struct key a = *want, b = *have;

	if (want->type == FILETYPE_PDB || want->type == FILETYPE_PORTABLEPDB)
		return pdb_fits(want, have);
	if (filetype_row(want->type)->object == OBJECT_WASM)
		return wasm_id_is(want->id, have->id);
	a.name[0] = b.name[0] = '\0';
	a.named = b.named = false;
	return key_equal(&a, &b);
}

/* The key that a file of these ids has where it was asked for as `want`: by the kind of id that
 * stands there. */
static int key_as(const struct key *want, const struct module *m, struct key *out)
{
	struct artifact a = {.type = want->type, .m = *m};

	if (key_is_by_debug_id(want))
		a.m.code_id[0] = '\0';
	else if (m->code_id[0] == '\0' && filetype_row(want->type)->id == ID_CODE_OR_DEBUG)
		return -ENOENT; /* without a code id, the only key is that by debug id */
	/* Ids are compared, and not names; but some keys are none without a name. */
	snprintf(a.m.code_file, sizeof(a.m.code_file), "x");
	if (!a.m.debug_file[0])
		snprintf(a.m.debug_file, sizeof(a.m.debug_file), "x");
	return key_of(out, &a);
}

/* What belongs to an ELF file, and goes by its debug id, may be asked for by its build id: then the
 * debug id is the one that follows from that on most machines. Of a big-endian one the file has
 * another, and so has a file that makes up its own. */
static int key_by_build_id(enum filetype t, const struct module *m, struct key *out)
{
	const struct filetype_row *row = filetype_row(t);
	struct artifact a = {.type = t, .m = *m};
	bool any_module = row->object == OBJECT_UNKNOWN && row->id == ID_DEBUG;

	if (!any_module || m->object != OBJECT_ELF || !m->code_id[0])
		return -ENOENT;
	memset(&a.m.debug_id, 0, sizeof(a.m.debug_id));
	return key_of(out, &a);
}

static bool is_of(const struct key *k, const struct module *m)
{
	struct key own;

	if (key_as(k, m, &own) == 0 && id_is(k, &own))
		return true;
	return key_by_build_id(k->type, m, &own) == 0 && id_is(k, &own);
}

static const char *id_word(const struct key *k)
{
	return key_is_by_debug_id(k) ? "debug id" : filetype_row(k->type)->id_word;
}

static int mismatch(const struct module *m, const struct key *k, struct err *e)
{
	struct key own;

	if (key_as(k, m, &own) < 0)
		return err_set(e, -EBADMSG, "has no %s, so it cannot be told to be %s",
			id_word(k), k->id);
	return err_set(e, -EBADMSG, "is %s %s, not %s", id_word(k), own.id, k->id);
}

/* The right build, of another use. */
static int wrong_use(const struct obj_slice *s, const struct key *k, struct err *e)
{
	bool code = filetype_is(k->type, TYPE_PROGRAM);

	if (!code && s->features & OBJ_HAS_CODE)
		return err_set(e, -EBADMSG,
			"is the stripped %s of %s %s: it has no symbol table and no debug "
			"information", obj_kind_name(s->kind), id_word(k), k->id);
	if (code && s->kind == OBJ_DEBUG)
		return err_set(e, -EBADMSG, "is the debug file of %s %s: its code is not in it",
			id_word(k), k->id);
	return err_set(e, -EBADMSG, "is %s of %s %s, which is no %s", obj_kind_name(s->kind),
		id_word(k), k->id, filetype_name(k->type));
}

static bool slice_serves(const struct obj_slice *s, enum filetype t)
{
	for (unsigned i = 0; i < s->n_types; i++)
		if (s->types[i] == t)
			return true;
	return false;
}

/* A slice against the key: 1, 0 when another slice may fit, -EBADMSG. */
static int judge(const struct obj_slice *s, const struct key *k, struct err *e)
{
	if (!is_of(k, &s->module)) {
		mismatch(&s->module, k, e);
		return 0;
	}
	return slice_serves(s, k->type) ? 1 : wrong_use(s, k, e);
}

static int wrong_format(const struct obj_format *f, const struct key *k, struct err *e)
{
	return err_set(e, -EBADMSG, "is %s, not %s", f->name, filetype_name(k->type));
}

/* With a format that tells, another build is known by its first block. */
static int refuse_early(struct view *v, const struct key *k, struct err *e)
{
	struct module m;
	struct key own;
	struct head h;
	int r = read_head(v, &h);

	if (r < 0)
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct obj_format *f = formats[i];

		if (claims(f, &h) != CLAIM_YES)
			continue;
		if (!serves(f, k->type) && !f->shared)
			return wrong_format(f, k, e);
		if (f->early && f->early(v, &m) == 0 && key_as(k, &m, &own) == 0 && !is_of(k, &m))
			return mismatch(&m, k, e);
	}
	return 0;
}

static const struct obj_format *format_named(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

bool obj_reads(enum filetype t)
{
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++)
		if (serves(formats[i], t))
			return true;
	return false;
}

/* Whose it is cannot be told, but what it is. */
static int check_format(struct view *v, const struct key *k, struct err *e)
{
	struct obj_slice s;
	int r = obj_identify(v, 0, &s, e);

	if (r == -ENOMSG) {
		if (e)
			e->code = -EBADMSG;
		return -EBADMSG;
	}
	if (r < 0)
		return r;
	return slice_serves(&s, k->type) ? 0 : wrong_format(format_named(s.format), k, e);
}

static int check_anonymous(struct view *v, const struct key *k, struct err *e)
{
	enum filetype t = k->type;
	struct head h;
	int r;

	if (filetype_is(t, TYPE_ANY_BYTES))
		return 0;
	if (obj_reads(t))
		return check_format(v, k, e);
	r = read_head(v, &h);
	if (r < 0)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	if (!h.whole && h.n < sizeof(h.p)) {
		v->want_off = 0;
		v->want_len = MIN(v->size, sizeof(h.p));
		return -EAGAIN;
	}
	return obj_may_be(t, h.p, h.n) ? 0 : err_set(e, -EBADMSG, "%s", what_is(h.p, h.n));
}

int obj_check(struct view *v, const struct key *k, struct obj_slice *out, struct err *e)
{
	const struct obj_format *f;
	struct obj_slice s;
	unsigned i;
	int r;

	if (obj_is_anonymous(k->type))
		return check_anonymous(v, k, e);
	r = refuse_early(v, k, e);
	if (r < 0)
		return r;
	for (i = 0; i < SLICES_MOST; i++) {
		r = obj_identify(v, i, &s, e);
		if (r < 0)
			break;
		f = format_named(s.format);
		r = f && !serves(f, k->type) ? wrong_format(f, k, e) : judge(&s, k, e);
		if (r == 1)
			*out = s;
		if (r != 0)
			return r;
	}
	/* Past the last slice, `e` says what the last one was. */
	if (r == 0 || r == -ENOENT)
		return i ? -EBADMSG : err_set(e, -EBADMSG, "is empty of slices");
	if (r == -ENOMSG && !obj_reads(k->type))
		return err_set(e, -EBADMSG, "cannot be told to be %s: no reader of %s is here",
			k->id, filetype_name(k->type));
	if (r == -ENOMSG && e)
		e->code = -EBADMSG;
	return r == -ENOMSG ? -EBADMSG : r;
}

bool obj_is_other_use(struct view *v, const struct key *k, struct key *own)
{
	struct key keys[OBJ_KEYS_MOST];
	struct obj_slice s;

	if (obj_is_anonymous(k->type) || obj_identify(v, 0, &s, NULL) < 0 || s.off || s.size != v->size ||
		!is_of(k, &s.module) || slice_serves(&s, k->type) || obj_keys(&s, keys) == 0)
		return false;
	if (own)
		*own = keys[0];
	return true;
}

bool obj_promises(struct view *v, const struct key *k)
{
	struct module m;
	struct head h;

	if (obj_is_anonymous(k->type) || read_head(v, &h) < 0)
		return false;
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct obj_format *f = formats[i];

		if (f->promises && claims(f, &h) == CLAIM_YES && serves(f, k->type))
			return f->early(v, &m) == 0 && is_of(k, &m) && f->promises(v, k->type);
	}
	return false;
}

int obj_always_sparse(struct view *v, enum filetype t)
{
	return 1;
}

/* What its first bytes claim; NULL: nothing. */
static const struct obj_format *claimed(struct view *v, int *r)
{
	struct head h;

	*r = read_head(v, &h);
	for (unsigned i = 0; *r == 0 && i < ARRAY_SIZE(formats); i++)
		if (claims(formats[i], &h) == CLAIM_YES)
			return formats[i];
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
	struct head h;
	int r = read_head(v, &h);

	if (r < 0)
		return r == -EAGAIN ? r : 0;
	for (unsigned i = 0; i < ARRAY_SIZE(formats); i++)
		if (claims(formats[i], &h) == CLAIM_YES && serves(formats[i], t))
			return formats[i]->sparse ? formats[i]->sparse(v, t) : 0;
	return 0;
}

/* ---- what it answers to ------------------------------------------------------------- */

static void add_key(const struct artifact *a, struct key *keys, unsigned *n)
{
	if (key_of(&keys[*n], a) == 0)
		++*n;
}

unsigned obj_keys(const struct obj_slice *s, struct key keys[static OBJ_KEYS_MOST])
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->n_types; i++) {
		struct artifact a = {.type = s->types[i], .m = s->module};
		bool wasm = filetype_row(a.type)->object == OBJECT_WASM;

		add_key(&a, keys, &n);
		if (key_by_build_id(a.type, &a.m, &keys[n]) == 0 && (!n || !key_equal(&keys[n], &keys[n - 1])))
			n++;
		if (a.type == FILETYPE_PE && a.m.code_id[0]) {
			a.m.code_id[0] = '\0';
			add_key(&a, keys, &n);
		}
		/* Some make a UUID of the first half of its id. */
		if (wasm && strlen(a.m.code_id) > 32) {
			a.m.code_id[32] = '\0';
			add_key(&a, keys, &n);
		}
	}
	return n;
}

/* ---- what its name tells ------------------------------------------------------------ */

int obj_take_uuid(struct obj_slice *s, const char *base)
{
	const char *dot = strrchr(base, '.');
	size_t n = dot ? (size_t)(dot - base) : strlen(base);
	bool map = s->n_types && obj_is_anonymous(s->types[0]) && filetype_row(s->types[0])->id == ID_UUID;
	struct debug_id id;

	/* With more digits it would be an age that stands there. */
	if (!map || (n == 36 ? base[8] != '-' : n != 32) || debug_id_parse(&id, base, n) < 0 ||
		id.pdb20 || id.age)
		return -ENOENT;
	s->module.debug_id = id;
	return 0;
}

static void take_name(char out[static MODULE_NAME_MAX], const char *base, size_t n)
{
	if (!out[0])
		snprintf(out, MODULE_NAME_MAX, "%.*s", (int)MIN(n, MODULE_NAME_MAX - 1), base);
}

/* Whose name a file has: of a program and its debug information it is one and the same; a PDB is not
 * called what its program is; and "x.src.zip" is the name of neither, but for files that go by no
 * other it is better than none. */
static void whose_name(const struct obj_slice *s, bool *code, bool *debug)
{
	enum filetype t = s->types[0];
	bool any_module = s->n_types && filetype_row(t)->object == OBJECT_UNKNOWN;

	*code = !s->n_types || filetype_is(t, TYPE_CODE_NAME);
	*debug = !s->n_types || filetype_is(t, TYPE_DEBUG_NAME);
	if (any_module && !*code && s->module.code_id[0])
		*debug = false;
}

/* The program's name within that of its debug file: `x.debug`, `x.debug-zstd` are of x. Not of a PE
 * file, whose name is in its key: it would be taken for the program. Portable PDBs that lie beside
 * other PDBs of their program are called x.pdbx, and asked for as x.pdb. */
static size_t name_length(const struct obj_slice *s, const char *base)
{
	const char *end = strrchr(base, '.');
	size_t n = strlen(base);

	if (!end || end == base)
		return n;
	if (s->types[0] == FILETYPE_ELF_DEBUG && strncmp(end, ".debug", 6) == 0 &&
		(!end[6] || end[6] == '-'))
		return (size_t)(end - base);
	if (s->types[0] == FILETYPE_PORTABLEPDB && strcasecmp(end, ".pdbx") == 0)
		return n - 1;
	return n;
}

/* Whether a symbol server or a debugger has this where the name would be: a word for what the file is, or
 * the end of its id. */
static bool is_no_name(const struct obj_slice *s, const char *base)
{
	static const char *const words[] = {"executable", "debuginfo", "breakpad", "sourcebundle", "symbols",
		"elf", "debug", "_.debug", "_.dwarf"};
	size_t n = strcspn(base, "."), all = strlen(s->module.code_id);

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(base, words[i]) == 0)
			return true;
	return n >= 8 && n <= all && strncasecmp(s->module.code_id + all - n, base, n) == 0;
}

void obj_take_name(struct obj_slice *s, const char *base)
{
	bool code, debug;

	obj_take_uuid(s, base);
	whose_name(s, &code, &debug);
	/* A Breakpad file has a name of its own, `x.sym`; that of a module which it leaves out is this
	 * word to the tools that write and read them. */
	if (debug && s->types[0] == FILETYPE_BREAKPAD)
		base = "<unknown>";
	if (is_no_name(s, base))
		return;
	if (code)
		take_name(s->module.code_file, base, name_length(s, base));
	if (debug)
		take_name(s->module.debug_file, base, name_length(s, base));
}

void obj_complete(struct obj_slice *s, const char *base)
{
	struct module *m = &s->module;

	obj_take_name(s, base);
	if (!m->debug_id.set)
		module_debug_id(m, s->big_endian, &m->debug_id);
	if (!m->debug_file[0])
		snprintf(m->debug_file, sizeof(m->debug_file), "%s", m->code_file);
}

/* ---- words -------------------------------------------------------------------------- */

int obj_read(struct view *v, const char *what, uint64_t off, void *p, size_t n, struct err *e)
{
	int r = view_read(v, off, p, n);

	if (r == -ENODATA)
		return err_set(e, -EBADMSG, "is cut short: %s ends behind the file's end", what);
	if (r < 0 && r != -EAGAIN)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	return r;
}

const char *obj_kind_name(enum obj_kind k)
{
	static const char *const names[] = {
		[OBJ_NONE] = "none",	 [OBJ_EXECUTABLE] = "executable", [OBJ_LIBRARY] = "library",
		[OBJ_DEBUG] = "debug",	 [OBJ_OBJECT] = "object",	  [OBJ_SOURCES] = "sources",
		[OBJ_OTHER] = "other",
	};

	return (unsigned)k < ARRAY_SIZE(names) ? names[k] : "none";
}

const char *obj_features_text(unsigned features, char out[static 64])
{
	static const struct {
		unsigned bit;
		const char *word;
	} rows[] = {
		{OBJ_HAS_SYMTAB, "symtab"},
		{OBJ_HAS_DEBUG, "debug"},
		{OBJ_HAS_UNWIND, "unwind"},
		{OBJ_HAS_SOURCES, "sources"},
	};
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (features & rows[i].bit)
			n += (size_t)snprintf(out + n, 64 - n, "%s%s", n ? "," : "", rows[i].word);
	if (!n)
		snprintf(out, 64, "none");
	return out;
}

/* ---- for the formats ---------------------------------------------------------------- */

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
