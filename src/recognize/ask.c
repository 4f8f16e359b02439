/* Finds the module and offset of each frame, asks symb/ for the names, and keeps the answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/grow.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/util.h"
#include "base/view.h"
#include "fetch/fetch.h"
#include "recognize/private.h"
#include "symb/wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_MOST (64u << 20)

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

struct finding {
	struct recognized *r;
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
	out->offset = p->known ? address - p->image : address;
	return !p->known || address >= p->image;
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
		const struct asked *b = &w->r->asked[w->slots[at] - 1];

		if (b->module == a->module && b->kind == a->kind && b->offset == a->offset)
			break;
		at = (at + 1) & (w->n_slots - 1);
	}
	return at;
}

static int add_asked(struct finding *w, struct frame *f, struct asked a)
{
	struct recognized *r = w->r;
	size_t at;

	if (f->back && a.offset)
		a.offset--;
	if (r->seen[a.module].better != NO_SEEN)
		a.module = r->seen[a.module].better;
	if (!r->seen[a.module].m.code_id[0] && !r->seen[a.module].m.debug_id.set)
		return 0;
	at = slot_of(w, &a);
	if (!w->slots[at]) {
		if (grow(&r->asked, &r->asked_room, r->n_asked, sizeof(*r->asked)) < 0)
			return -ENOMEM;
		r->asked[r->n_asked++] = a;
		w->slots[at] = (uint32_t)r->n_asked;
	}
	f->ask = w->slots[at] - 1;
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
	free(w->slots);
	return status;
}

/* Whether a request may have the name: JSON has no other text than UTF-8. */
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

static void put_member(struct buf *out, const char *name, const char *value)
{
	buf_addf(out, ",\"%s\":", name);
	jtext_add(out, value);
}

static void put_module(struct buf *out, const struct seen *s, bool first)
{
	char id[DEBUG_ID_TEXT];
	const char *base = path_base(s->path);

	buf_addf(out, "%s{\"code_id\":\"%s\"", first ? "" : ",", s->m.code_id);
	if (s->m.object != OBJECT_UNKNOWN)
		put_member(out, "type", object_type_name(s->m.object));
	if (s->m.debug_id.set && s->m.object != OBJECT_ELF)
		put_member(out, "debug_id", debug_id_breakpad(&s->m.debug_id, id));
	if (is_name(s->m.debug_file) && s->m.object != OBJECT_ELF)
		put_member(out, "debug_file", path_base(s->m.debug_file));
	if (is_name(base))
		put_member(out, "code_file", base);
	if (s->movable)
		put_member(out, "image_vmaddr", "0x0");
	buf_adds(out, "}");
}

static int put_request(struct recognized *r, struct buf *out)
{
	uint32_t n = 0;

	buf_adds(out, "{\"memoryMap\":[");
	for (size_t i = 0; i < r->n_asked; i++) {
		struct seen *s = &r->seen[r->asked[i].module];

		if (s->index != NO_SEEN)
			continue;
		put_module(out, s, n == 0);
		s->index = n++;
	}
	buf_adds(out, "],\"stacks\":[[");
	for (size_t i = 0; i < r->n_asked; i++) {
		const struct asked *a = &r->asked[i];

		bool method = a->kind == FRAME_METHOD;

		buf_addf(out, "%s{\"addr_mode\":\"%s:%" PRIu32 "\",\"instruction_addr\":\"0x%" PRIx64 "\"",
			i ? "," : "", a->kind == FRAME_LINKED ? "link" : "rel", r->seen[a->module].index,
			method ? (uint32_t)a->offset : a->offset);
		if (method)
			buf_addf(out, ",\"function_id\":\"0x%" PRIx64 "\"", a->offset >> 32);
		buf_adds(out, "}");
	}
	return buf_adds(out, "]]}");
}

/* ---- the answer ------------------------------------------------------------------------------------------ */

static int take_answer(struct recognized *r)
{
	uint32_t results, stacks, t;
	int status = jtext_read(&r->j, (struct span){(const uint8_t *)buf_text(&r->reply), r->reply.n}, UINT32_MAX,
		NULL);

	if (status < 0)
		return status;
	results = jtext_member(&r->j, 0, "results");
	if (!results || !r->j.token[results].n)
		return -EBADMSG;
	stacks = jtext_member(&r->j, results + 1, "stacks");
	if (!stacks || !r->j.token[stacks].n || r->j.token[stacks + 1].n != r->n_asked)
		return -EBADMSG;
	r->answer = calloc(r->n_asked, sizeof(*r->answer));
	if (!r->answer)
		return -ENOMEM;
	t = stacks + 2;
	for (size_t i = 0; i < r->n_asked; i++, t = r->j.token[t].next)
		r->answer[i] = jtext_member(&r->j, t, r->asked[i].kind == FRAME_METHOD ? "file" : "function") ? t : 0;
	return 0;
}

int recognize_ask(struct recognized *r, struct symb *s, struct fetch *f, const struct symb_flags *flags,
	struct err *e)
{
	_cleanup_buf_ struct buf request = BUF_UP_TO(REQUEST_MOST);
	struct finding w = {.r = r, .f = f, .flags = flags};
	int status = find_all(&w), http;
	char title[SYMB_TITLE];

	if (status == 0 && r->n_asked)
		status = put_request(r, &request);
	if (status == 0 && r->n_asked) {
		http = symb_answer(s, symb_api_find("v5"), (struct span){(const uint8_t *)buf_text(&request),
			request.n},
			flags, &r->reply);
		if (http != 200)
			return err_set(e, http, "%s", symb_title(&r->reply, title));
		status = take_answer(r);
	}
	if (status < 0)
		err_set(e, 500, "%s", err_text(status));
	return status < 0 ? 500 : 200;
}
