/* Checks whether a file is what a key asks for, and if not, says what it is instead. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "formats/obj/private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A bound for broken files: a fat file has a handful of slices. */
#define SLICES_MOST 256

/* A PDB that was written again for the same program keeps its GUID and has a higher age, and
 * servers keep the newest. A Portable PDB is identified by its GUID alone: the rest of its id is
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

/* Some clients request a WebAssembly file by its id with the length byte in front, as the file has it.
 * Others use only the first 16 bytes of either form, as a UUID. */
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
	if (filetypes[want->type].object == OBJECT_WASM)
		return wasm_id_is(want->id, have->id);
	a.name[0] = b.name[0] = '\0';
	a.named = b.named = false;
	return key_equal(&a, &b);
}

/* Makes the key of a file with the ids in `m`, from the kind of id that `want` has. */
static int key_as(const struct key *want, const struct module *m, struct key *out)
{
	struct artifact a = {.type = want->type, .m = *m};

	if (key_is_by_debug_id(want))
		a.m.code_id[0] = '\0';
	else if (m->code_id[0] == '\0' && filetypes[want->type].id == ID_CODE_OR_DEBUG)
		return -ENOENT; /* without a code id, the only key is that by debug id */
	/* Only ids are compared, but some keys need a name. */
	snprintf(a.m.code_file, sizeof(a.m.code_file), "x");
	if (!a.m.debug_file[0])
		snprintf(a.m.debug_file, sizeof(a.m.debug_file), "x");
	return key_of(out, &a);
}

static bool is_of(const struct key *k, const struct module *m)
{
	struct key own;

	if (key_as(k, m, &own) == 0 && id_is(k, &own))
		return true;
	return obj_key_by_build_id(k->type, m, &own) == 0 && id_is(k, &own);
}

static const char *id_word(const struct key *k)
{
	return key_is_by_debug_id(k) ? "debug id" : filetypes[k->type].id_word;
}

static int mismatch(const struct module *m, const struct key *k, struct err *e)
{
	struct key own;

	if (key_as(k, m, &own) < 0)
		return err_set(e, -EBADMSG, "has no %s, so it cannot be checked against %s",
			id_word(k), k->id);
	return err_set(e, -EBADMSG, "is %s %s, not %s", id_word(k), own.id, k->id);
}

/* Says that the file is of the right build, but of another use. */
static int wrong_use(const struct obj_slice *s, const struct key *k, struct err *e)
{
	bool code = filetypes[k->type].flags & TYPE_PROGRAM;

	if (!code && s->code)
		return err_set(e, -EBADMSG,
			"is the stripped %s of %s %s: it has no symbol table and no debug "
			"information", obj_kind_name(s->kind), id_word(k), k->id);
	if (code && s->kind == OBJ_DEBUG)
		return err_set(e, -EBADMSG, "is the debug file of %s %s: its code is not in it",
			id_word(k), k->id);
	return err_set(e, -EBADMSG, "is %s of %s %s, and cannot serve as %s", obj_kind_name(s->kind),
		id_word(k), k->id, filetypes[k->type].name);
}

static bool slice_serves(const struct obj_slice *s, enum filetype t)
{
	for (unsigned i = 0; i < s->n_types; i++)
		if (s->types[i] == t)
			return true;
	return false;
}

/* Compares a slice with the key. 1: it fits; 0: another slice may fit; -EBADMSG. */
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
	return err_set(e, -EBADMSG, "is %s, not %s", f->name, filetypes[k->type].name);
}

/* Rejects a file of another build after its first block, if the format has an identifier near the front. */
static int refuse_early(struct view *v, const struct key *k, struct err *e)
{
	struct module m;
	struct key own;
	struct obj_head h;
	int r = obj_head_read(v, &h);

	if (r < 0)
		return 0;
	for (unsigned i = 0; i < OBJ_FORMATS; i++) {
		const struct obj_format *f = obj_formats[i];

		if (obj_claims(f, &h) != CLAIM_YES)
			continue;
		if (!obj_format_serves(f, k->type) && !f->shared)
			return wrong_format(f, k, e);
		if (f->early && f->early(v, &m) == 0 && key_as(k, &m, &own) == 0 && !is_of(k, &m))
			return mismatch(&m, k, e);
	}
	return 0;
}

/* Checks only the format of a file whose build cannot be checked. */
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
	return slice_serves(&s, k->type) ? 0 : wrong_format(obj_format_named(s.format), k, e);
}

static int check_anonymous(struct view *v, const struct key *k, struct err *e)
{
	enum filetype t = k->type;
	struct obj_head h;
	int r;

	if (filetypes[t].flags & TYPE_ANY_BYTES)
		return 0;
	if (obj_reads(t))
		return check_format(v, k, e);
	r = obj_head_read(v, &h);
	if (r < 0)
		return err_set(e, r, "cannot be read: %s", err_text(r));
	if (!h.whole && h.n < sizeof(h.p))
		return view_want(v, 0, MIN(v->size, sizeof(h.p)));
	return obj_may_be(t, h.p, h.n) ? 0 : err_set(e, -EBADMSG, "%s", obj_foreign(h.p, h.n));
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
		f = obj_format_named(s.format);
		r = f && !obj_format_serves(f, k->type) ? wrong_format(f, k, e) : judge(&s, k, e);
		if (r == 1)
			*out = s;
		if (r != 0)
			return r;
	}
	/* Past the last slice, `e` says what the last one was. */
	if (r == 0 || r == -ENOENT)
		return i ? -EBADMSG : err_set(e, -EBADMSG, "has no slices");
	if (r == -ENOMSG && !obj_reads(k->type))
		return err_set(e, -EBADMSG, "cannot be checked against %s: symfs does not read %s files",
			k->id, filetypes[k->type].name);
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
	struct obj_head h;

	if (obj_is_anonymous(k->type) || obj_head_read(v, &h) < 0)
		return false;
	for (unsigned i = 0; i < OBJ_FORMATS; i++) {
		const struct obj_format *f = obj_formats[i];

		if (f->promises && obj_claims(f, &h) == CLAIM_YES && obj_format_serves(f, k->type))
			return f->early(v, &m) == 0 && is_of(k, &m) && f->promises(v, k->type);
	}
	return false;
}
