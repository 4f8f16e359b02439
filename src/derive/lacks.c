/* Finds the files that a conversion needs besides its input: the file into which dwz moved shared parts, a package of
 * split debug information, single split units, and the program of a stripped debug file. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "base/view.h"
#include "derive/private.h"
#include "formats/obj/obj.h"

#include <stdio.h>
#include <string.h>

/* ---- files that came ------------------------------------------------------------------- */

/* The program takes the input's place. The debug file may be a package of split debug information; of WebAssembly, it
 * is the file that the program lacks. */
static void lacks_take_program(struct conversion *c, struct blob *b)
{
	struct lack *l = c->a.m.object == OBJECT_WASM ? &c->alt : &c->package;

	blob_unref(l->blob);
	*l = (struct lack){LACK_HERE, c->in};
	c->in = blob_ref(b);
}

/* After a miss the conversion continues without the file. After another error it fails: the file may be available
 * later, and a result without the file would stay stored. */
static void lacks_got(struct conversion *c, const struct fetched *f)
{
	if (f->r == -ENOENT)
		return;
	if (f->r < 0 || !f->blob) {
		c->r = f->r < 0 ? f->r : -EIO;
		err_set(&c->e, c->r, "it is not whole: %s", f->why);
	} else if (c->wants == WANTS_PROGRAM) {
		lacks_take_program(c, f->blob);
	} else if (c->wants == WANTS_UNIT) {
		c->unit = blob_ref(f->blob);
	} else {
		c->alt = (struct lack){LACK_HERE, blob_ref(f->blob)};
	}
}

/* ---- the file of dwz, a package, the program ------------------------------------------- */

/* Asks for the file into which dwz moved shared parts, or for the debug file of WebAssembly: a debug file with a
 * build id. */
static int ask_for_alt(struct conversion *c, const struct gsym_work_lack *lack)
{
	bool wasm = c->a.m.object == OBJECT_WASM;
	struct artifact a = {.type = wasm ? FILETYPE_WASM_DEBUG : FILETYPE_ELF_DEBUG,
		.m = {.object = wasm ? OBJECT_WASM : OBJECT_ELF}};

	c->alt.state = LACK_NONE;
	for (size_t i = 0; i < lack->id_len && 2 * i + 2 < sizeof(a.m.code_id); i++)
		snprintf(a.m.code_id + 2 * i, 3, "%02x", lack->id[i]);
	return a.m.code_id[0] ? derive_ask(c, &a, 1, WANTS_ALT, lacks_got) : -ENOENT;
}

/* Looks for a package of split debug information. No server can be asked for a package, because packages have no
 * identity. The package may lie beside a file that is served in place. */
static void look_for_package(struct conversion *c)
{
	_cleanup_buf_ struct buf path = BUF_UP_TO(16 << 10);
	struct blob_facts facts = *blob_facts(c->in);
	const char *name = blob_path(c->in);
	size_t n;
	int fd;

	c->package.state = LACK_NONE;
	if (blob_sha256(c->in)[0])
		return;
	n = strlen(name);
	if (n > 6 && strcmp(name + n - 6, ".debug") == 0)
		n -= 6;
	if (buf_add(&path, name, n) < 0 || buf_adds(&path, ".dwp") < 0)
		return;
	/* A package has no identity that could be compared. */
	if (fetch_in_place(c->d->fetch, facts.source, buf_text(&path), FILETYPE_COMPANION, &fd) < 0)
		return;
	if (blob_of_file(&c->package.blob, fd, buf_text(&path), &facts) == 0)
		c->package.state = LACK_HERE;
}

/* A debug file without symbols may be a package of split debug information, or may have been stripped. The program
 * may have symbols. */
int lacks_ask_program(struct conversion *c)
{
	struct artifact inputs[DERIVE_INPUTS];
	unsigned n = derive_inputs(&c->a, inputs);

	if (n < 2 || c->of != inputs[0].type)
		return -ENODATA;
	c->of = FILETYPE_NONE; /* the program is asked for only once */
	return derive_ask(c, &inputs[1], 1, WANTS_PROGRAM, lacks_got);
}

/* ---- split units ----------------------------------------------------------------------- */

/* Reads the file instead of mapping it: a file in a directory source may become shorter meanwhile. */
static bool is_package(const struct blob *b)
{
	struct view v = view_of_fd(blob_fd(b), blob_size(b));
	struct obj_slice s;

	return obj_identify(&v, 0, &s, NULL) == 0 && s.package;
}

/* Appends a file with one unit to `found`. If the file is a package, takes it instead, and asks for no more units. */
static int keep_unit(struct conversion *c, struct blob *b)
{
	struct gsym_work_unit h = {c->ids[c->next_id - 1], blob_size(b)};
	static const char zeros[8];
	int r = 0;

	if (is_package(b)) {
		blob_unref(c->package.blob);
		c->package = (struct lack){LACK_HERE, blob_ref(b)};
		c->next_id = c->n_ids;
		return 0;
	}
	if (!c->found)
		r = draft_new(&c->found, c->d->store, &c->e);
	if (r == 0)
		r = draft_write(c->found, draft_size(c->found), &h, sizeof(h));
	if (r == 0)
		r = draft_copy(c->found, blob_fd(b), 0, h.size);
	return r < 0 ? r : draft_write(c->found, draft_size(c->found), zeros, (size_t)(-h.size & 7));
}

/* Servers have no names for split units. Scanned directories may have units, and so may the store, if the user added
 * them. */
int lacks_next_unit(struct conversion *c)
{
	struct artifact a = {.type = FILETYPE_ELF_DWO};
	struct blob *b = take(c->unit);
	int r = b ? keep_unit(c, b) : 0;

	blob_unref(b);
	if (r < 0)
		return err_set(&c->e, r == -ENOENT ? -EIO : r, "its split units cannot be kept: %s", err_text(r));
	for (r = -ENOENT; r == -ENOENT && c->next_id < c->n_ids;) {
		snprintf(a.m.code_id, sizeof(a.m.code_id), "%016llx", (unsigned long long)c->ids[c->next_id++]);
		r = derive_ask(c, &a, 1, WANTS_UNIT, lacks_got);
	}
	if (r == -ENOENT)
		c->units.state = c->found ? LACK_HERE : LACK_NONE;
	return r;
}

static int ask_for_units(struct conversion *c, const struct gsym_work_lack *lack)
{
	c->ids = lack->units;
	c->n_ids = lack->n_units;
	return lacks_next_unit(c);
}

int lacks_ask(struct conversion *c, const struct gsym_work_lack *lack)
{
	if (lack->kind == GSYM_ALT)
		return ask_for_alt(c, lack);
	if (lack->kind == GSYM_DWO)
		return ask_for_units(c, lack);
	look_for_package(c);
	return -EAGAIN;
}
