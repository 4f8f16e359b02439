/* Finds the module and offset of each frame, and asks symb/ for the names. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/util.h"
#include "base/view.h"
#include "fetch/fetch.h"
#include "stacks/recognize/private.h"
#include "symb/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- programs, whose segments convert addresses ------------------------------------------------------ */

/* Gets a file of a module, and reads its segments. (waits) */
static void ask_file(struct fetch *f, const struct symb_flags *flags, struct seen *s, enum filetype type)
{
	struct waits *w = waits_new();
	struct question *q = w ? question_new(w) : NULL, *done = NULL;
	const struct artifact a = {.type = type, .m = s->m};

	if (q) {
		question_fetch(q, f, &a, 1);
		if (wait_next(w, NULL, flags ? flags->gone : NULL, &done) == 0 && done && done->r == 0 &&
			done->blob) {
			struct view v = view_of_fd(blob_fd(done->blob), blob_size(done->blob));

			segments_read(&s->segments, &v);
		}
		question_cancel(q);
	}
	if (w)
		waits_unref(w);
}

/* The debug file is the second choice, because it may have no offsets of segments. */
static void ask_program(struct fetch *f, const struct symb_flags *flags, struct seen *s)
{
	s->asked_segments = true;
	ask_file(f, flags, s, FILETYPE_ELF_CODE);
	if (!s->segments.known)
		ask_file(f, flags, s, FILETYPE_ELF_DEBUG);
}

/* Converts an offset in the file, or an address of .text's beginning. False: no segment has it. */
static bool segments_of_offset(const struct segments *p, uint64_t offset, uint64_t *address)
{
	for (unsigned i = 0; i < p->n; i++)
		if (offset >= p->load[i].offset && offset - p->load[i].offset < p->load[i].file_size) {
			*address = p->load[i].address + (offset - p->load[i].offset);
			return true;
		}
	return false;
}

static bool segments_has(const struct segments *p, uint64_t address)
{
	for (unsigned i = 0; i < p->n; i++)
		if (address >= p->load[i].address && address - p->load[i].address < p->load[i].size)
			return true;
	return false;
}

/* The segments of a module, from a file that the caller found, or from fetch/. Their sizes in a debug file may be 0.
 */
static const struct segments *segments_of(struct recognized *r, struct fetch *f, const struct symb_flags *flags,
	uint32_t i)
{
	struct seen *s = &r->seen[i];

	if (!s->segments.known && !s->asked_segments && s->m.code_id[0] && s->m.object == OBJECT_ELF)
		ask_program(f, flags, s);
	return &s->segments;
}

/* ---- places of frames ---------------------------------------------------------------------------------- */

struct asked {
	uint32_t module;
	enum frame_kind kind; /* FRAME_LINKED, FRAME_IMAGE, FRAME_METHOD */
	uint64_t offset;
};

struct finding {
	struct recognized *r;
	struct symb_request *names;
	struct asked *asked; /* the frames in the request */
	size_t n_asked, asked_room;
	struct fetch *f;
	const struct symb_flags *flags;
	uint32_t *slots; /* a hash table of asked frames: 1 + index; 0: free */
	size_t n_slots;
};

/* Converts an address in the file. Without its segments it is asked for as it is. */
static bool take_linked(struct finding *w, uint64_t address, struct asked *out)
{
	const struct segments *p = segments_of(w->r, w->f, w->flags, out->module);

	out->kind = p->known ? FRAME_IMAGE : FRAME_LINKED;
	if (p->known && address < p->image && p->n)
		return false;
	out->offset = p->known && address >= p->image ? address - p->image : address; /* of a PE: it is an offset */
	return true;
}

static bool is_module(const struct recognized *r, uint32_t a, uint32_t b)
{
	return a == b || (r->seen[a].hash == r->seen[b].hash &&
				 strcmp(path_base(r->seen[a].path), path_base(r->seen[b].path)) == 0);
}

/* The range that has an address, the latest first. A range without an end must be of the frame's module. */
static const struct based *find_base(const struct recognized *r, uint64_t address, uint32_t module)
{
	const struct based *best = NULL;

	for (size_t i = r->n_based; i-- > 0;) {
		const struct based *b = &r->based[i];

		if (address < b->from)
			continue;
		if (b->to ? address < b->to : module != NO_SEEN && is_module(r, b->module, module))
			return b;
	}
	return best;
}

static bool take_based(struct finding *w, const struct based *b, uint64_t address, struct asked *out)
{
	const struct segments *p;
	uint64_t in;

	out->module = b->module;
	out->kind = FRAME_IMAGE;
	out->offset = address - b->from;
	if (b->kind == BASE_IMAGE)
		return true;
	p = segments_of(w->r, w->f, w->flags, b->module);
	if (!p->known)
		return false;
	if (b->kind == BASE_TEXT) {
		in = p->text + (address - b->from);
		return p->has_text && take_linked(w, in, out);
	}
	return out->offset <= UINT64_MAX - b->offset && segments_of_offset(p, b->offset + out->offset, &in) &&
	       take_linked(w, in, out);
}

/* A program that is not position-independent has the addresses of its file. */
static bool take_fixed(struct finding *w, uint32_t module, uint64_t address, struct asked *out)
{
	const struct segments *p;

	if (module == NO_SEEN)
		return false;
	out->module = module;
	p = segments_of(w->r, w->f, w->flags, module);
	return p->known && p->fixed && segments_has(p, address) && take_linked(w, address, out);
}

static bool take_file(struct finding *w, uint32_t module, uint64_t number, struct asked *out)
{
	const struct based *b = find_base(w->r, number, module);
	const struct segments *p;
	uint64_t address;

	if (b && is_module(w->r, b->module, module) && take_based(w, b, number, out))
		return true;
	out->module = module;
	p = segments_of(w->r, w->f, w->flags, module);
	if (p->known && segments_of_offset(p, number, &address))
		return take_linked(w, address, out);
	return take_fixed(w, module, number, out);
}

/* Finds what to ask for a frame. False: its module or its place is unknown. */
static bool locate(struct finding *w, const struct frame *f, struct asked *out)
{
	const struct based *b;

	*out = (struct asked){.module = f->module, .kind = f->kind == FRAME_METHOD ? f->kind : FRAME_IMAGE};
	if (f->kind == FRAME_ADDRESS) {
		b = find_base(w->r, f->number, f->module);
		if (b)
			return take_based(w, b, f->number, out);
		return take_fixed(w, f->module != NO_SEEN ? f->module : w->r->program, f->number, out);
	}
	if (f->module == NO_SEEN)
		return false;
	if (f->kind == FRAME_FILE)
		return take_file(w, f->module, f->number, out);
	if (f->kind == FRAME_LINKED)
		return take_linked(w, f->number, out);
	out->offset = f->number;
	return true;
}

/* ---- the request ---------------------------------------------------------------------------------------- */

static size_t slot_of(const struct finding *w, const struct asked *a)
{
	const uint64_t key[3] = {a->module, a->kind, a->offset};
	size_t at = (size_t)hash_mix(key, sizeof(key)) & (w->n_slots - 1);

	while (w->slots[at]) {
		const struct asked *b = &w->asked[w->slots[at] - 1];

		if (b->module == a->module && b->kind == a->kind && b->offset == a->offset)
			break;
		at = (at + 1) & (w->n_slots - 1);
	}
	return at;
}

/* Whether a request may have the name: its answer in JSON has no other text than UTF-8. */
static bool is_name(const char *name)
{
	const unsigned char *p = (const unsigned char *)name;
	unsigned n = 1;

	while (*p && n) {
		n = utf8_length(p);
		p += n;
	}
	return name[0] && n && (size_t)((const char *)p - name) < MODULE_NAME_MAX;
}

static uint32_t add_module(struct finding *w, const struct seen *s)
{
	struct module m = {.object = s->m.object};
	const uint64_t linked_at = 0;

	memcpy(m.code_id, s->m.code_id, sizeof(m.code_id));
	if (s->m.object != OBJECT_ELF) {
		m.debug_id = s->m.debug_id;
		if (is_name(s->m.debug_file))
			memcpy(m.debug_file, s->m.debug_file, sizeof(m.debug_file));
	}
	if (is_name(path_base(s->path)))
		snprintf(m.code_file, sizeof(m.code_file), "%s", path_base(s->path));
	return symb_add_module(w->names, &m, s->movable ? &linked_at : NULL);
}

static int add_asked(struct finding *w, struct frame *f, struct asked a)
{
	struct seen *s = &w->r->seen[a.module];
	size_t at;

	if (f->back && a.offset)
		a.offset--;
	if (s->better != NO_SEEN) {
		a.module = s->better;
		s = &w->r->seen[a.module];
	}
	if (!s->m.code_id[0] && !s->m.debug_id.set)
		return 0;
	at = slot_of(w, &a);
	if (!w->slots[at]) {
		if (APPEND(w->asked, w->asked_room, w->n_asked, a) < 0)
			return -ENOMEM;
		w->slots[at] = (uint32_t)w->n_asked;
		if (s->index == NO_SEEN)
			s->index = add_module(w, s);
		if (a.kind == FRAME_METHOD)
			symb_add_method(w->names, s->index, (uint32_t)(a.offset >> 32), (uint32_t)a.offset);
		else
			symb_add_frame(w->names, s->index, a.kind == FRAME_LINKED, a.offset);
	}
	f->ask = w->slots[at] - 1;
	f->unverified = s->unverified;
	return 0;
}

static int find_all(struct finding *w)
{
	struct recognized *r = w->r;
	int status = 0;

	for (w->n_slots = 64; w->n_slots < 2 * r->n_frames;)
		w->n_slots *= 2;
	w->slots = calloc(w->n_slots, sizeof(*w->slots));
	if (!w->slots)
		return -ENOMEM;
	for (size_t i = 0; status == 0 && i < r->n_frames; i++) {
		struct asked a;

		if (locate(w, &r->frames[i], &a))
			status = add_asked(w, &r->frames[i], a);
	}
	return status;
}

/* Adds what can be asked for to the request, and finds its files. */
static int ask(struct finding *w, struct err *e)
{
	int r = find_all(w);

	free(w->slots);
	free(w->asked);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	return w->n_asked ? symb_load(w->names, e) : 0;
}

int recognize_name(struct recognized *r, struct symb *s, struct fetch *f, const struct symb_flags *flags,
	struct buf *out, struct err *e)
{
	struct finding w = {.r = r, .f = f, .flags = flags, .names = symb_request_new(s, flags)};
	int status = w.names ? 0 : err_set(e, -ENOMEM, "%s", err_text(-ENOMEM));

	if (status == 0) {
		symb_add_stack(w.names);
		status = ask(&w, e);
	}
	if (status == 0 && (status = recognize_write(r, w.names, flags && flags->demangle, out)) < 0)
		err_set(e, status, "%s", err_text(status));
	symb_request_free(w.names);
	return status;
}
