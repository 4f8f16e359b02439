/* Chooses the reader of a file by its first bytes, and converts the file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "derive/convert/make.h"
#include "base/bytes.h"
#include "base/util.h"
#include "derive/convert/from-breakpad.h"
#include "derive/convert/from-dwarf.h"
#include "derive/convert/from-pdb.h"
#include "derive/convert/from-ppdb.h"
#include "derive/convert/from-symbols.h"
#include "formats/image/image.h"
#include "formats/image/relocate.h"
#include "formats/pdb/msf.h"

#define PIECE (1u << 20)
#define NOTHING "is not a file that GSYM can be made from"
#define ET_REL 1

static void tell_progress(const struct gsym_make_opts *o, uint64_t done, uint64_t all)
{
	if (o->progress)
		o->progress(o->ctx, (unsigned)(all ? done * 1000 / all : 1000));
}

static int make_from_breakpad(struct gsym_writer *w, struct span file,
	const struct gsym_make_opts *o, struct gsym_made *out, struct err *e)
{
	_cleanup_breakpad_ struct breakpad *b = NULL;
	struct breakpad_counts counts;
	size_t piece = PIECE;
	int r = breakpad_new(&b, w, o->strict, o->eliot);

	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	if (o->asked && o->eliot) {
		breakpad_ask(b, o->asked, o->n_asked);
		piece = file.n;
	}
	for (size_t at = 0; r == 0 && at < file.n; at += piece) {
		r = breakpad_feed(b, (const char *)file.p + at, MIN(piece, file.n - at), e);
		tell_progress(o, at, file.n);
	}
	if (r == 0)
		r = breakpad_finish(b, &counts, e);
	if (r < 0)
		return r;
	out->from = "breakpad";
	out->left_out = counts.bad;
	out->first_left_out = counts.first_bad;
	return 0;
}

/* Passes base and id of an object file to the writer, and describes its format in `out`. */
static int set_head(struct gsym_writer *w, const struct image *m, struct gsym_made *out, struct err *e)
{
	static const char *const names[] = {
		[IMAGE_ELF] = "elf", [IMAGE_MACHO] = "macho", [IMAGE_COFF] = "pe", [IMAGE_WASM] = "wasm"};
	struct span id = image_build_id(m);
	uint64_t base = image_base(m);
	struct image_macho macho;
	struct image_pe pe;

	out->from = names[m->kind];
	out->big = m->big;
	out->is32 = !m->is64;
	out->type = m->type;
	/* An object file for another machine would not be recognized as COFF, so it becomes ELF without a
	 * machine. */
	if (m->kind != IMAGE_WASM && (m->kind != IMAGE_COFF || image_is_coff(m->machine))) {
		out->kind = m->kind;
		out->machine = m->machine;
		out->submachine = m->submachine;
	}
	if (m->kind == IMAGE_MACHO) {
		if (image_macho(m, &macho) < 0)
			return err_set(e, -EBADMSG, "is broken: its load commands lie outside of the file");
		id = macho.uuid;
		base = macho.base;
	} else if (m->kind == IMAGE_COFF) {
		image_pe(m, &pe);
		base = pe.base;
	}
	gsym_set_base(w, base);
	gsym_set_id(w, id.p, id.n);
	return 0;
}

static int make_from_image(struct gsym_writer *w, const struct image *m,
	const struct gsym_make_opts *o, struct gsym_made *out, struct err *e)
{
	struct strays strays = {0};
	struct dwarf_told told = {0};
	int r = set_head(w, m, out, e);

	if (r < 0)
		return r;
	r = gsym_from_dwarf(w, m, o, &strays, &told, e);
	out->broken = told.broken;
	out->split = told.split;
	out->no_alt = told.no_alt;
	if (r == 0)
		r = gsym_from_symbols(w, m, &strays, e);
	free(strays.all);
	free(strays.rows);
	return r;
}

/* Takes the debug information of a module from the file that it names, or that has its build id. -EAGAIN: `find` of
 * `o` returned it. */
static int find_wasm_debug(struct image *m, const struct gsym_make_opts *o)
{
	struct gsym_want want = {.kind = GSYM_ALT, .dir = "", .id = image_build_id(m)};
	struct span bytes, url = {0}, id;
	struct err ignored = {0};
	struct image_section s;
	char name[4096] = "";
	struct image debug;
	int r;

	if (!o->find || image_find(m, ".debug_info", &s) != -ENOENT)
		return 0;
	if (image_find(m, "external_debug_info", &s) == 0)
		take_counted(&s.bytes.p, s.bytes.p + s.bytes.n, &url);
	if (url.n && url.n < sizeof(name))
		memcpy(name, url.p, url.n);
	want.name = name;
	if (!name[0] && !want.id.n)
		return 0;
	r = o->find(o->ctx, &want, &bytes);
	if (r < 0 || image_open(&debug, bytes, &ignored) < 0 || debug.kind != IMAGE_WASM)
		return r == -EAGAIN ? r : 0;
	id = image_build_id(&debug);
	if (!want.id.n || (id.n == want.id.n && memcmp(id.p, want.id.p, id.n) == 0))
		m->debug = bytes;
	return 0;
}

/* Addresses of a module are offsets in the file, as in stacks of browsers. In its debug information they count from
 * the section of code, and so they stay in an unlinked file. */
static int make_from_wasm(struct gsym_writer *w, struct image *m, const struct gsym_make_opts *o,
	struct gsym_made *out, struct err *e)
{
	struct image_section code;
	int r = image_wasm_section(m, WASM_CODE, &code);

	if (r == -EBADMSG)
		return err_set(e, r, "is broken: a section lies outside of the file");
	if (r < 0)
		return err_set(e, -ENOTSUP, "has no code: the offsets of its functions come from the module, which "
			"is needed, too");
	if (m->linked)
		gsym_set_shift(w, code.addr);
	r = find_wasm_debug(m, o);
	return r < 0 ? err_set(e, r, "%s", err_text(r)) : make_from_image(w, m, o, out, e);
}

/* In an unlinked ELF file every section begins at 0 until image_place() assigns addresses. */
static int make_from_object(struct gsym_writer *w, struct span file,
	const struct gsym_make_opts *o, struct gsym_made *out, struct err *e)
{
	_cleanup_free_ uint64_t *placed = NULL;
	struct image m;
	int r = image_open(&m, file, e);

	if (r < 0)
		return r != -ENOMSG ? r : err_set(e, -ENOMSG, NOTHING);
	m.map = o->map;
	if (m.kind == IMAGE_COFF && !m.linked)
		return err_set(e, -ENOTSUP, "is not linked: its functions have no addresses yet");
	if (m.kind == IMAGE_WASM)
		return make_from_wasm(w, &m, o, out, e);
	if (m.kind == IMAGE_ELF && m.type == ET_REL)
		r = image_place(&m, &placed, e);
	return r < 0 ? r : make_from_image(w, &m, o, out, e);
}

int gsym_make(struct gsym_writer *w, struct span file, const struct gsym_make_opts *o,
	struct gsym_made *out, struct err *e)
{
	const char *head = span_at(file, 0, 7);
	struct gsym g;
	int r;

	*out = (struct gsym_made){0};
	gsym_set_shorten(w, o->shorten);
	if (head && memcmp(head, "MODULE ", 7) == 0)
		return make_from_breakpad(w, file, o, out, e);
	if (o->eliot && ppdb_is(file)) {
		out->from = "portablepdb";
		return gsym_from_ppdb(w, file, e);
	}
	if (msf_is(file.p, file.n)) {
		out->from = "pdb";
		return gsym_from_pdb(w, file, o, e);
	}
	r = gsym_open(&g, file, e);
	if (r == -ENOMSG)
		return make_from_object(w, file, o, out, e);
	if (r < 0)
		return r;
	out->from = "gsym";
	out->big = g.big;
	return gsym_copy(w, &g, e);
}
