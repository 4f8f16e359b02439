/* Writes the answer to a request, in the form of v5 or v4: the stacks, and which modules were found. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/demangle.h"
#include "base/util.h"
#include "convert/eliot.h"
#include "convert/from-ppdb.h"
#include "symb/writing.h"

#include <stdio.h>
#include <string.h>

/* Looks up the frames of a request, and writes each in the form of v5 or v4. */

/* The name of a function, demangled if the client wants it. Valid until the next call. */
static const char *name_of(struct writing *w, const char *name)
{
	return w->flags->demangle && demangle(name, &w->name) ? buf_text(&w->name) : name;
}

struct answer {
	struct wanted *module; /* NULL: the frame has no module */
	bool found;
	int64_t more; /* bytes that eliot_name() decoded from the name, added to the offset */
	uint64_t offset;
	const char *function;
	const char *language; /* of the source; "" or NULL: unknown */
};

static const char *module_name(const struct wanted *w)
{
	if (w && w->file && w->file->name[0])
		return w->file->name;
	return w && w->name[0] ? w->name : "<unknown>";
}

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

/* Looks up the name of a .NET method, in the file of its program. */
static void look_up_method(struct writing *w, const struct wanted *module, const struct asked_frame *f,
	struct answer *a)
{
	const struct loaded *l = module ? module->names : NULL;

	if (!f->method || !l || gsym_lookup(&l->g, PPDB_METHOD(f->method), &w->method, NULL) < 0 ||
		w->method.start != PPDB_METHOD(f->method))
		return;
	a->function = eliot_name(w->method.frame[0].name, &a->more);
}

/* Looks up an entry of the table of imported functions: NAME@plt. */
static bool look_up_import(struct writing *w, const struct wanted *module, uint64_t addr)
{
	struct view v;

	if (!module->program)
		return false;
	v = view_of_fd(blob_fd(module->program), blob_size(module->program));
	if (plt_find(&v, addr, &w->q->imports_budget, &w->hit.start, w->import) <= 0)
		return false;
	w->hit.n = 1;
	w->hit.size = (uint32_t)(addr - w->hit.start) + 1;
	w->hit.frame[0] = (struct gsym_frame){.name = w->import, .dir = "", .base = ""};
	return true;
}

static void look_up(struct writing *w, struct wanted *module, const struct asked_frame *f, struct answer *a)
{
	const struct loaded *l = module ? module->file : NULL;
	uint64_t addr = 0;

	*a = (struct answer){.module = module};
	w->frames++;
	if (!l || !address_of(module, f, &addr) ||
		(gsym_lookup(&l->g, addr, &w->hit, NULL) < 0 && !look_up_import(w, module, addr)))
		return;
	a->found = true;
	a->function = w->hit.frame[w->hit.n - 1].name;
	a->offset = addr - w->hit.start;
	if (l->form == LOADED_EXACT) {
		/* Files of this form have no directory. Those of a Portable PDB have the language there. */
		a->language = w->hit.frame[w->hit.n - 1].dir;
		w->hit.frame[w->hit.n - 1].dir = "";
		a->function = eliot_name(a->function, &a->more);
		a->offset += (uint64_t)a->more;
	}
	w->named++;
}

/* The offset of a frame, as Python prints it. The text is in `room` or in the request. */
static const char *offset_of(const struct writing *w, const struct asked_frame *f, char room[static HEX_ROOM])
{
	return f->big ? w->q->bigs.p + f->big - 1 : hex_text(f->minus, f->offset, room);
}

/* A path without a directory is not copied, unless it may be too long. */
static const char *path_of(struct writing *w, const struct gsym_frame *f)
{
	if (!f->dir[0] && strnlen(f->base, sizeof(w->path)) < sizeof(w->path))
		return f->base;
	return gsym_path_text(f->dir, f->base, w->path, sizeof(w->path));
}

static void put_place(struct writing *w, const struct gsym_frame *f, const char *language)
{
	if (!eliot_file(f->dir, f->base))
		return;
	reply_put(w, ", \"file\": ");
	reply_string(w, path_of(w, f));
	if (f->line) {
		reply_put(w, ", \"line\": ");
		reply_number(w, f->line);
	}
	if (language && language[0]) {
		reply_put(w, ", \"language\": ");
		reply_string(w, language);
	}
}

static void put_inlines(struct writing *w)
{
	if (w->hit.n < 2)
		return;
	reply_put(w, ", \"inlines\": [");
	for (unsigned i = 0; i + 1 < w->hit.n; i++) {
		reply_put(w, i ? ", {\"function\": " : "{\"function\": ");
		reply_string(w, name_of(w, w->hit.frame[i].name));
		put_place(w, &w->hit.frame[i], NULL);
		reply_put(w, "}");
	}
	reply_put(w, "]");
}

/* Writes the function of a frame. The offset of a .NET frame is that of the method already. */
static void put_function(struct writing *w, const struct asked_frame *f, const struct answer *a)
{
	bool minus = (int64_t)a->offset < 0 && a->more < 0;

	if (f->method && (!a->function || !a->function[0]))
		return;
	reply_put(w, ", \"function\": ");
	reply_string(w, name_of(w, a->function));
	if (f->method)
		return;
	reply_put(w, ", \"function_offset\": ");
	reply_hex(w, minus, minus ? -a->offset : a->offset);
	if (w->flags->function_size) {
		reply_put(w, ", \"function_size\": ");
		reply_hex(w, false, w->hit.size);
	}
}

static void put_frame_v5(struct writing *w, struct wanted *module, uint32_t n, const struct asked_frame *f)
{
	struct answer a;
	char room[HEX_ROOM];

	look_up(w, module, f, &a);
	look_up_method(w, module, f, &a);
	reply_put(w, "{\"frame\": ");
	reply_number(w, n);
	reply_put(w, ", \"module\": ");
	reply_string(w, module_name(a.module));
	reply_put(w, ", \"module_offset\": ");
	reply_string(w, offset_of(w, f, room));
	if (f->method) {
		reply_put(w, ", \"function_id\": ");
		reply_hex(w, false, f->method);
	}
	if (a.found || f->method)
		put_function(w, f, &a);
	if (a.found) {
		put_place(w, &w->hit.frame[w->hit.n - 1], a.language);
		put_inlines(w);
	}
	reply_put(w, "}");
}

static void put_frame_v4(struct writing *w, struct wanted *module, const struct asked_frame *f)
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(SYMB_REPLY_MOST);
	struct answer a;
	char room[HEX_ROOM];
	bool named;

	look_up(w, module, f, &a);
	look_up_method(w, module, f, &a);
	named = f->method ? a.function && a.function[0] : a.found;
	buf_addf(&text, "%s (in %s)", named ? name_of(w, a.function) : offset_of(w, f, room), module_name(a.module));
	reply_quoted(w, &text);
}

/* Makes a list of frames for each module, in the order of the request. */
static void sort_frames(struct writing *w, uint32_t *first)
{
	const struct request *q = w->q;
	size_t i = q->n_jobs;

	for (size_t m = 0; m <= q->n_wanted; m++)
		first[m] = NO_PART;
	while (i--) {
		const struct asked_job *job = &q->jobs[i];

		for (size_t k = job->n_stacks; k--;) {
			const struct asked_stack *s = &q->stacks[job->stacks + k];

			for (size_t f = s->n; f--;) {
				const struct asked_frame *frame = &q->frames[s->first + f];
				struct part *p = &w->part[s->first + f];

				p->number = (uint32_t)f;
				p->module = frame->module == NO_MODULE
						    ? (uint32_t)q->n_wanted
						    : q->refs[job->modules + frame->module];
				p->next = first[p->module];
				first[p->module] = (uint32_t)(s->first + f);
			}
		}
	}
}

/* Looks at the clock after every 64th frame. */
static void check_time(struct writing *w)
{
	if (w->until && w->frames % 64 == 0 && w->out->r == 0 && clock_own() > w->until)
		w->out->r = -EAGAIN;
}

/* Writes the frames of all stacks into w->parts, and their positions into w->part. Works module by module, so that
 * only one of many large files is in memory at a time. An error goes into w->parts.r. `first` has room for one more
 * entry than the request has modules. */
static void frames_write(struct writing *w, struct symb *s, const struct symb_api *api, uint32_t *first)
{
	struct buf *out = w->out;

	sort_frames(w, first);
	w->out = &w->parts;
	for (size_t m = 0; w->out->r == 0 && m <= w->q->n_wanted; m++) {
		struct wanted *module = m < w->q->n_wanted ? &w->q->wanted[m] : NULL;

		for (uint32_t i = first[m]; w->out->r == 0 && i != NO_PART; i = w->part[i].next) {
			struct part *p = &w->part[i];

			p->at = w->parts.n;
			if (api->jobs)
				put_frame_v5(w, module, p->number, &w->q->frames[i]);
			else
				put_frame_v4(w, module, &w->q->frames[i]);
			p->n = (uint32_t)(w->parts.n - p->at);
			reply_put(w, PART_BETWEEN);
			check_time(w);
		}
		if (module && module->file && first[m] != NO_PART)
			loaded_rest(s, module->file);
		if (module && module->names && first[m] != NO_PART)
			loaded_rest(s, module->names);
	}
	w->out = out;
	out->r = w->parts.r;
}

#define FRAME_BYTES ((size_t)192) /* what a frame takes in most answers */
#define RESERVE_MOST ((size_t)1 << 20)

/* ---- stacks ----------------------------------------------------------------------------- */

static void put_stacks(struct writing *w, const struct asked_job *job)
{
	reply_put(w, "[");
	for (size_t i = 0; w->out->r == 0 && i < job->n_stacks; i++) {
		const struct asked_stack *s = &w->q->stacks[job->stacks + i];

		reply_put(w, i ? ", [" : "[");
		for (size_t f = 0; w->out->r == 0 && f < s->n; f++) {
			const struct part *p = &w->part[s->first + f];
			size_t at = p->at, n = p->n;

			if (f)
				reply_put(w, PART_BETWEEN);
			/* Frames of one module lie one behind the other, and are copied at once. */
			for (; f + 1 < s->n && p[1].at == at + n + strlen(PART_BETWEEN); f++, p++)
				n += strlen(PART_BETWEEN) + p[1].n;
			buf_add(w->out, buf_text(&w->parts) + at, n);
		}
		reply_put(w, "]");
	}
	reply_put(w, "]");
}

/* ---- modules ------------------------------------------------------------------------ */

/* As in Mozilla's service, "false" also stands for a module for which a source could not be asked.
 * `module_errors` distinguishes the two. */
static const char *found_word(const struct wanted *w)
{
	return !w->asked ? "null" : w->file ? "true" : "false";
}

/* Writes the modules of a job, each once. `errors`: only the modules that were not found, with the reason. */
static void put_modules(struct writing *w, const struct asked_job *job, bool errors)
{
	unsigned mark = (unsigned)(job - w->q->jobs) * 2 + errors + 1;
	bool some = false;

	reply_put(w, "{");
	for (size_t i = 0; i < job->n_modules; i++) {
		struct wanted *m = &w->q->wanted[w->q->refs[job->modules + i]];

		if (m->job == mark || (errors && (!m->asked || m->file)))
			continue;
		m->job = mark;
		if (some)
			reply_put(w, ", ");
		some = true;
		reply_key(w, m);
		if (errors) {
			reply_putf(w, ": [{\"name\": \"%s\", \"message\": ", m->unsure ? "Unknown" : "NotFound");
			reply_string(w, m->why);
			reply_put(w, "}]");
		} else {
			reply_putf(w, ": %s", found_word(m));
		}
	}
	reply_put(w, "}");
}

static void put_known(struct writing *w, const struct asked_job *job)
{
	reply_put(w, "[");
	for (size_t i = 0; i < job->n_modules; i++)
		reply_putf(w, "%s%s", i ? ", " : "", found_word(&w->q->wanted[w->q->refs[job->modules + i]]));
	reply_put(w, "]");
}

/* ---- the answer --------------------------------------------------------------------- */

static void put_v5(struct writing *w, double took)
{
	reply_put(w, "{\"results\": [");
	for (size_t i = 0; w->out->r == 0 && i < w->q->n_jobs; i++) {
		const struct asked_job *job = &w->q->jobs[i];

		reply_put(w, i ? ", {\"stacks\": " : "{\"stacks\": ");
		put_stacks(w, job);
		reply_put(w, ", \"found_modules\": ");
		put_modules(w, job, false);
		if (w->flags->module_errors) {
			reply_put(w, ", \"module_errors\": ");
			put_modules(w, job, true);
		}
		reply_put(w, "}");
	}
	reply_put(w, "]");
	if (w->flags->debug)
		reply_debug(w, took);
	reply_put(w, "}");
}

static void put_v4(struct writing *w)
{
	reply_put(w, "{\"symbolicatedStacks\": ");
	put_stacks(w, &w->q->jobs[0]);
	reply_put(w, ", \"knownModules\": ");
	put_known(w, &w->q->jobs[0]);
	reply_put(w, "}");
}

int reply_write(struct symb *s, const struct symb_api *api, struct request *q,
	const struct symb_flags *flags, double took, uint64_t most, struct buf *out)
{
	_cleanup_free_ struct writing *w = malloc(sizeof(*w));
	_cleanup_free_ struct part *part = calloc(q->n_frames + 1, sizeof(*part));
	_cleanup_free_ uint32_t *first = calloc(q->n_wanted + 1, sizeof(*first));

	if (!w || !part || !first)
		return -ENOMEM;
	w->q = q;
	w->flags = flags;
	w->out = out;
	w->part = part;
	w->parts = BUF_UP_TO(SYMB_REPLY_MOST);
	w->name = BUF_UP_TO(SYMB_REPLY_MOST);
	w->until = most ? clock_own() + most : 0;
	w->frames = w->named = 0;
	buf_reserve(&w->parts, MIN(q->n_frames * FRAME_BYTES, RESERVE_MOST));
	frames_write(w, s, api, first);
	/* Most of the answer is frames, and ", " between them. */
	buf_reserve(out, MIN(w->parts.n + q->n_frames * 2, SYMB_REPLY_MOST / 2));
	if (api->jobs)
		put_v5(w, took);
	else
		put_v4(w);
	buf_release(&w->parts);
	buf_release(&w->name);
	if (out->r == -EAGAIN)
		return out->r;
	atomic_fetch_add(&s->counts[COUNT_FRAMES], w->frames);
	atomic_fetch_add(&s->counts[COUNT_NAMED], w->named);
	return out->r;
}

int reply_error(const char *title, struct buf *out)
{
	buf_clear(out);
	buf_adds(out, "{\"title\": ");
	jtext_add(out, title);
	return buf_adds(out, "}");
}

const char *symb_title(const struct buf *answer, char out[static SYMB_TITLE])
{
	_cleanup_jtext_ struct jtext j = {0};
	uint32_t t = 0;

	if (jtext_read(&j, (struct span){(const uint8_t *)buf_text(answer), answer->n}, 64, NULL) == 0)
		t = jtext_member(&j, 0, "title");
	if (!t || j.token[t].kind != JTEXT_STRING || jtext_string(&j, t, out, SYMB_TITLE) < 0)
		snprintf(out, SYMB_TITLE, "no answer");
	return out;
}
