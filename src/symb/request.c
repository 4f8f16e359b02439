/* Reads a request. Checks its parts in the order of Mozilla's service and reports errors with that service's texts.
 * Where that service fails with status 500, symfs answers 400. symfs-symbolicate(1) describes the extensions:
 * modules and frames as objects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "symb/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct symb_limits symb_limits_default = {
	.bytes = 16u << 20, .jobs = 10, .modules = 2000, .stacks = 20000, .frames = 200000};

/* ---- jobs --------------------------------------------------------------------------- */

static int read_job(struct reading *r, uint32_t token)
{
	struct request *q = r->q;
	struct asked_job job = {0};
	uint32_t stacks, modules;
	int status;

	if (kind_of(r, token) != JTEXT_OBJECT)
		return err_set(r->e, 400, "job %u is invalid", r->job);
	stacks = jtext_member(r->j, token, "stacks");
	if (!stacks)
		return err_set(r->e, 400, "job %u is invalid: no stacks specified", r->job);
	modules = jtext_member(r->j, token, "memoryMap");
	if (!modules)
		return err_set(r->e, 400, "job %u is invalid: no memoryMap specified", r->job);
	status = request_modules(r, modules, &job);
	if (!status)
		status = request_stacks(r, stacks, &job);
	if (status)
		return status;
	if (reading_grow(&q->jobs, &q->jobs_room, q->n_jobs, sizeof(*q->jobs)) < 0)
		return reading_no_memory(r);
	q->jobs[q->n_jobs++] = job;
	return 0;
}

static int read_jobs(struct reading *r, uint32_t token)
{
	enum jkind kind = kind_of(r, token);
	uint32_t n = count_of(r, token), at = token + 1;
	int status = 0;

	if (kind != JTEXT_ARRAY && kind != JTEXT_OBJECT && kind != JTEXT_STRING)
		return err_set(r->e, 400, "jobs must be a list");
	if (kind != JTEXT_ARRAY) /* the same count as that of Python's len() */
		n = kind == JTEXT_STRING ? jtext_length(r->j, token)
					 : jtext_members(r->j, token, r->limits->jobs + 1);
	if (n > r->limits->jobs)
		return err_set(r->e, 400, "please limit number of jobs in a single request to <= %u",
			r->limits->jobs);
	/* The members of an object or string are not jobs. */
	if (n && kind != JTEXT_ARRAY)
		return err_set(r->e, 400, "job 0 is invalid");
	for (r->job = 0; !status && r->job < n; r->job++, at = next_of(r, at))
		status = read_job(r, at);
	return status;
}

static int read_payload(struct reading *r, const struct symb_api *api)
{
	uint32_t jobs = api->jobs && kind_of(r, 0) == JTEXT_OBJECT ? jtext_member(r->j, 0, "jobs") : 0;

	return jobs ? read_jobs(r, jobs) : read_job(r, 0);
}

static void count_jobs(struct request *q)
{
	for (unsigned i = 0; i < q->n_jobs; i++)
		for (size_t k = 0; k < q->jobs[i].n_modules; k++) {
			struct wanted *w = &q->wanted[q->refs[q->jobs[i].modules + k]];

			w->jobs += w->job != i + 1;
			w->job = i + 1;
		}
	for (size_t i = 0; i < q->n_wanted; i++)
		q->wanted[i].job = 0;
}

int request_read(struct request *q, const struct symb_api *api, struct span body,
	const struct symb_limits *limits, struct err *e)
{
	/* The most JSON values of a request. A frame given as a list takes three values, and as an object,
	 * seven. A module given as an object takes about sixteen. */
	uint64_t most = 1000 + 8ull * limits->frames + 18ull * limits->modules + 2ull * limits->stacks;
	_cleanup_jtext_ struct jtext j = {0};
	struct reading r = {.q = q, .j = &j, .limits = limits, .e = e};
	int n, status;

	if (body.n > limits->bytes)
		return err_set(e, 413, "please limit the size of a request to <= %" PRIu64 " bytes",
			limits->bytes);
	n = jtext_read(&j, body, (uint32_t)MIN(most, (uint64_t)UINT32_MAX), e);
	if (n == -ENOMEM)
		return reading_no_memory(&r);
	if (n == -E2BIG)
		return err_set(e, 413, "please limit number of values in a single request to <= %llu",
			(unsigned long long)most);
	if (n < 0)
		return err_set(e, 400, "Payload is not valid JSON");
	status = read_payload(&r, api);
	if (status)
		return status;
	count_jobs(q);
	return 200;
}

bool request_offset(const struct wanted *w, const struct asked_frame *f, uint64_t *out)
{
	*out = f->offset - (f->linked ? w->base : 0);
	return !f->minus && !f->big && (!f->linked || (w->has_base && f->offset >= w->base));
}

static int check_job(const struct request *q, unsigned n, struct err *e)
{
	const struct asked_job *job = &q->jobs[n];

	for (size_t s = 0; s < job->n_stacks; s++) {
		const struct asked_stack *stack = &q->stacks[job->stacks + s];

		for (size_t f = 0; f < stack->n; f++) {
			const struct asked_frame *frame = &q->frames[stack->first + f];

			if (frame->big && frame->module != NO_MODULE &&
				q->wanted[q->refs[job->modules + frame->module]].file)
				return err_set(e, 400,
					"job %u has invalid stacks: stack %zu frame %zu has an invalid module_offset",
					n, s, f);
		}
	}
	return 200;
}

int request_check(const struct request *q, struct err *e)
{
	int status = 200;

	for (unsigned i = 0; q->bigs.n && status == 200 && i < q->n_jobs; i++)
		status = check_job(q, i, e);
	return status;
}

void request_release(struct request *q)
{
	for (size_t i = 0; i < q->n_wanted; i++) {
		free(q->wanted[i].name);
		free(q->wanted[i].id);
	}
	free(q->wanted);
	free(q->refs);
	free(q->frames);
	free(q->stacks);
	free(q->jobs);
	free(q->slots);
	buf_release(&q->bigs);
	memset(q, 0, sizeof(*q));
}
