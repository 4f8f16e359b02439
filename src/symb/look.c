/* Looks up the frames of a request in the mapped files of its modules. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/demangle.h"
#include "base/util.h"
#include "derive/convert/eliot.h"
#include "derive/convert/from-ppdb.h"
#include "symb/private.h"

#include <string.h>

/* The address at which a frame is looked up. A Portable PDB has a range of addresses for each method. */
static bool address_of(const struct wanted *w, const struct asked_frame *f, uint64_t *out)
{
	const struct loaded *l = w->file;
	uint64_t offset;

	if (f->method && !f->minus && !f->big) {
		*out = PPDB_METHOD(f->method) | f->offset;
		return f->offset <= UINT32_MAX && l->form == LOADED_EXACT;
	}
	if (f->linked && l->form == LOADED_IMAGE) {
		*out = f->offset;
		return !f->big;
	}
	if (!request_offset(w, f, &offset) || (l->form == LOADED_EXACT && offset > UINT32_MAX))
		return false;
	*out = offset + l->g.base;
	return *out >= offset;
}

/* Looks up an entry of the table of imported functions: NAME@plt. */
static bool look_up_import(struct symb_request *q, const struct wanted *w, uint64_t addr)
{
	struct view v;

	if (!w->program)
		return false;
	v = view_of_fd(blob_fd(w->program), blob_size(w->program));
	if (plt_find(&v, addr, &q->imports_budget, &q->hit.start, q->import) <= 0)
		return false;
	q->hit.n = 1;
	q->hit.size = (uint32_t)(addr - q->hit.start) + 1;
	q->hit.frame[0] = (struct gsym_frame){.name = q->import, .dir = "", .base = ""};
	return true;
}

static void look_in_file(struct symb_request *q, const struct wanted *w)
{
	const struct loaded *l = w->file;
	struct gsym_frame *f;
	uint64_t addr = 0;

	if (!l || !address_of(w, q->frame, &addr) ||
		(gsym_lookup(&l->g, addr, &q->hit, NULL) < 0 && !look_up_import(q, w, addr))) {
		q->hit.n = 0;
		return;
	}
	f = &q->hit.frame[q->hit.n - 1];
	q->function = f->name;
	q->offset = addr - q->hit.start;
	if (l->form == LOADED_EXACT) {
		/* Files of this form have no directory. Those of a Portable PDB have the language there. */
		q->language = f->dir;
		f->dir = "";
		q->function = eliot_name(q->function, &q->more);
		q->offset += (uint64_t)q->more;
	}
	q->n_named++;
}

/* Looks up the name of a .NET method, in the file of its program. */
static void look_up_method(struct symb_request *q, const struct loaded *l)
{
	uint64_t at = PPDB_METHOD(q->frame->method);

	if (gsym_lookup(&l->g, at, &q->method, NULL) == 0 && q->method.start == at)
		q->function = eliot_name(q->method.frame[0].name, &q->more);
}

unsigned symb_look_up(struct symb_request *q, size_t frame)
{
	const struct asked_frame *f = q->frame = &q->frames[frame];
	const struct wanted *w = f->module == SYMB_NO_MODULE ? NULL : &q->wanted[f->module];

	q->function = q->language = NULL;
	q->hit.n = 0;
	q->more = 0;
	q->n_looked++;
	if (w)
		look_in_file(q, w);
	if (w && f->method && w->names)
		look_up_method(q, w->names);
	if (f->method && q->function && !q->function[0])
		q->function = NULL;
	return q->hit.n ? q->hit.n : q->function != NULL;
}

/* A path without a directory is not copied, unless it may be too long. */
static const char *path_of(struct symb_request *q, const struct gsym_frame *f)
{
	if (!f->dir[0] && strnlen(f->base, sizeof(q->path)) < sizeof(q->path))
		return f->base;
	return gsym_path_text(f->dir, f->base, q->path, sizeof(q->path));
}

const struct symb_name *symb_name(struct symb_request *q, unsigned i)
{
	const struct gsym_frame *f = q->hit.n ? &q->hit.frame[i] : NULL;
	struct symb_name *n = &q->name;

	*n = (struct symb_name){.inlined = i + 1 < q->hit.n, .function = q->function};
	if (n->inlined)
		n->function = f->name;
	if (n->function && q->flags.demangle && demangle(n->function, &q->demangled))
		n->function = buf_text(&q->demangled);
	if (f && eliot_file(f->dir, f->base)) {
		n->file = path_of(q, f);
		n->line = f->line;
		n->language = !n->inlined && q->language && q->language[0] ? q->language : NULL;
	}
	if (n->inlined || q->frame->method) /* the offset of a .NET frame is that in the method already */
		return n;
	n->before = (int64_t)q->offset < 0 && q->more < 0;
	n->offset = n->before ? -q->offset : q->offset;
	n->size = q->hit.size;
	return n;
}
