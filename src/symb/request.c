/* A request: the modules, stacks and frames that a caller adds, and what is found for them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "symb/choose.h"
#include "symb/private.h"

#include <stdio.h>
#include <string.h>

struct symb_request *symb_request_new(struct symb *s, const struct symb_flags *flags)
{
	struct symb_request *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->symb = s;
	q->begun = clock_seconds();
	q->bigs = q->demangled = BUF_UP_TO((size_t)1 << 30);
	if (flags)
		q->flags = *flags;
	return q;
}

static void fail(struct symb_request *q, int r)
{
	if (q->r == 0)
		q->r = err_set(&q->e, r, "%s", r == -EINTR ? "the service is stopping" : err_text(r));
}

void request_job(struct symb_request *q)
{
	if (APPEND(q->jobs, q->jobs_room, q->n_jobs, (struct asked_job){q->n_refs, 0, q->n_stacks, 0}) < 0)
		fail(q, -ENOMEM);
}

/* ---- modules ------------------------------------------------------------------------ */

static size_t slot_of(const struct symb_request *q, const char *name, const char *id)
{
	size_t at = (size_t)(hash_mix(name, strlen(name)) * 31 + hash_mix(id, strlen(id))) & (q->n_slots - 1);

	while (q->slots[at]) {
		const struct wanted *w = &q->wanted[q->slots[at] - 1];

		if (strcmp(w->name, name) == 0 && strcmp(w->id, id) == 0)
			break;
		at = (at + 1) & (q->n_slots - 1);
	}
	return at;
}

static int more_slots(struct symb_request *q)
{
	size_t n = q->n_slots ? q->n_slots * 2 : 64;
	uint32_t *slots;

	if (q->n_wanted < q->n_slots / 2)
		return 0;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(q->slots);
	q->slots = slots;
	q->n_slots = n;
	for (size_t i = 0; i < q->n_wanted; i++)
		q->slots[slot_of(q, q->wanted[i].name, q->wanted[i].id)] = (uint32_t)i + 1;
	return 0;
}

struct wanted *request_module(struct symb_request *q, char *name, char *id, const struct module *m)
{
	struct wanted *w;
	size_t at;

	if (!name || !id || more_slots(q) < 0 ||
		grow(&q->refs, &q->refs_room, q->n_refs, sizeof(*q->refs)) < 0 ||
		grow(&q->wanted, &q->wanted_room, q->n_wanted, sizeof(*q->wanted)) < 0) {
		free(name);
		free(id);
		fail(q, -ENOMEM);
		return NULL;
	}
	at = slot_of(q, name, id);
	if (q->slots[at]) {
		free(name);
		free(id);
	} else {
		q->slots[at] = (uint32_t)q->n_wanted + 1;
		w = &q->wanted[q->n_wanted++];
		*w = (struct wanted){.name = name, .id = id, .m = *m};
		if (!w->m.debug_file[0] && strlen(name) < MODULE_NAME_MAX)
			snprintf(w->m.debug_file, sizeof(w->m.debug_file), "%s", name);
	}
	q->refs[q->n_refs++] = q->slots[at] - 1;
	q->jobs[q->n_jobs - 1].n_modules++;
	return &q->wanted[q->slots[at] - 1];
}

/* Derives a missing debug id from the code id. A code id of 32 digits, if the platform is unknown, is
 * taken for the UUID of a Mach-O file. */
static void derive_debug_id(struct module *m)
{
	struct module of = *m;

	if (m->debug_id.set)
		return;
	of.object = best_object(m);
	if (of.object == OBJECT_UNKNOWN)
		of.object = OBJECT_MACHO;
	module_debug_id(&of, false, &m->debug_id);
}

void request_described(struct symb_request *q, struct module *m, const char *id, const char *code,
	const uint64_t *linked_at)
{
	const char *name = m->debug_file[0] ? m->debug_file : m->code_file;
	struct wanted *w;

	request_given(m, id);
	derive_debug_id(m);
	w = request_module(q, strdup(name), strdup(id[0] ? id : code), m);
	if (!w || !linked_at || w->has_base) /* of a module that is there twice, the first address counts */
		return;
	w->has_base = true;
	w->base = *linked_at;
}

uint32_t symb_add_module(struct symb_request *q, const struct module *m, const uint64_t *linked_at)
{
	struct module of = *m;
	char id[DEBUG_ID_TEXT];
	uint32_t n = (uint32_t)q->n_refs;

	if (!q->n_jobs)
		request_job(q);
	snprintf(of.debug_file, sizeof(of.debug_file), "%s", path_base(m->debug_file));
	snprintf(of.code_file, sizeof(of.code_file), "%s", path_base(m->code_file));
	of.path[0] = '\0';
	if (request_room(q, "modules", n, q->symb->limits.modules) == 0)
		request_described(q, &of, debug_id_breakpad(&m->debug_id, id), m->code_id, linked_at);
	return n;
}

/* ---- stacks ------------------------------------------------------------------------- */

void symb_add_stack(struct symb_request *q)
{
	if (!q->n_jobs)
		request_job(q);
	if (request_room(q, "stacks", q->n_stacks, q->symb->limits.stacks) < 0)
		return;
	if (APPEND(q->stacks, q->stacks_room, q->n_stacks, (struct asked_stack){q->n_frames, 0}) < 0)
		fail(q, -ENOMEM);
	else
		q->jobs[q->n_jobs - 1].n_stacks++;
}

void request_frame(struct symb_request *q, const struct asked_frame *f)
{
	if (APPEND(q->frames, q->frames_room, q->n_frames, *f) < 0) {
		fail(q, -ENOMEM);
		return;
	}
	q->stacks[q->n_stacks - 1].n++;
	if (f->module == SYMB_NO_MODULE)
		return;
	q->wanted[f->module].referenced = true;
	q->wanted[f->module].linked |= f->linked;
}

void symb_add_frame(struct symb_request *q, uint32_t module, bool linked, uint64_t offset)
{
	if (request_room(q, "frames", q->n_frames, q->symb->limits.frames) == 0)
		request_frame(q, &(struct asked_frame){.linked = linked, .offset = offset,
			.module = module < q->n_refs ? q->refs[module] : SYMB_NO_MODULE});
}

void symb_add_method(struct symb_request *q, uint32_t module, uint32_t token, uint32_t offset)
{
	if (request_room(q, "frames", q->n_frames, q->symb->limits.frames) == 0)
		request_frame(q, &(struct asked_frame){.method = token & 0xffffff, .offset = offset,
			.module = module < q->n_refs ? q->refs[module] : SYMB_NO_MODULE});
}

/* ---- files -------------------------------------------------------------------------- */

static void report_missing(const struct symb_request *q)
{
	for (size_t i = 0; q->flags.missing && i < q->n_wanted; i++) {
		const struct wanted *w = &q->wanted[i];
		const struct worth *worth = &w->used_worth;
		bool empty = w->file && (w->hit ? !w->file->g.count : w->used == FILETYPE_BREAKPAD && worth->known &&
			!worth->symbols && !worth->debug);

		if (w->asked && (!w->file || empty || w->exports))
			q->flags.missing(q->flags.ctx, &w->m, w->exports,
				empty ? "its file has no functions" : w->why, w->unsure ? w->failed : NULL);
	}
}

int request_load(struct symb_request *q, bool now)
{
	int r = q->r == 0 ? load_modules(q, now) : q->r;

	q->took = clock_seconds() - q->begun;
	q->loaded = r == 0;
	if (r < 0)
		fail(q, r);
	else
		report_missing(q);
	return r;
}

int symb_load(struct symb_request *q, struct err *e)
{
	int r = request_load(q, false);

	symb_count(q->symb, COUNT_REQUESTS, 1);
	symb_count(q->symb, COUNT_REFUSED, r < 0);
	if (r < 0)
		*e = q->e;
	return r;
}

static void release_file(struct symb *s, struct loaded *l)
{
	if (!l)
		return;
	loaded_rest(s, l);
	loaded_unref(s, l);
}

static void count_result(const struct symb_request *q)
{
	for (size_t i = 0; i < q->n_wanted; i++) {
		const struct wanted *w = &q->wanted[i];

		symb_count(q->symb, COUNT_MODULES, w->asked);
		symb_count(q->symb, COUNT_MISSING, w->asked && !w->file);
		symb_count(q->symb, COUNT_CACHED, w->hit);
	}
	symb_count(q->symb, COUNT_FRAMES, q->n_looked);
	symb_count(q->symb, COUNT_NAMED, q->n_named);
}

void symb_request_free(struct symb_request *q)
{
	if (!q)
		return;
	if (q->loaded)
		count_result(q);
	for (size_t i = 0; i < q->n_wanted; i++) {
		release_file(q->symb, q->wanted[i].file);
		release_file(q->symb, q->wanted[i].names);
		free(q->wanted[i].name);
		free(q->wanted[i].id);
		blob_unref(q->wanted[i].program);
	}
	free(q->wanted);
	free(q->refs);
	free(q->frames);
	free(q->stacks);
	free(q->jobs);
	free(q->slots);
	buf_release(&q->bigs);
	buf_release(&q->demangled);
	free(q);
}
