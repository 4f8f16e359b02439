/* Reads a request. Checks its parts in the order of Mozilla's service and reports errors with that service's texts.
 * Where that service fails with status 500, symfs answers 400. symfs-symbolicate(1) describes the extensions:
 * modules and frames as objects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "base/path.h"
#include "symb/choose.h"
#include "symb/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads the modules of a job: pairs of name and debug id, or objects with more members. */

/* The most bytes of an identifier, with its NUL. No file has a longer identifier. */
#define ID_MOST 256

static bool is_name(char c)
{
	return c && ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			    strchr("_.+{}@<> ~-", c));
}

/* The regular expressions of Mozilla's service end in `$`, which also allows one newline at the end. */
static bool all_of(const char *text, bool (*is)(char c))
{
	while (is(*text))
		text++;
	return !*text || strcmp(text, "\n") == 0;
}

/* The characters of a code id, which may be a UUID with dashes. */
static bool is_code_id(char c)
{
	return c == '-' || is_hex(c);
}

static char *string_of(const struct reading *r, uint32_t token, bool (*is)(char c))
{
	const struct jtoken *t = &r->j->token[token];
	char *text;

	if (t->kind != JTEXT_STRING)
		return NULL;
	text = malloc((size_t)t->len + 1);
	if (text && jtext_string(r->j, token, text, (size_t)t->len + 1) >= 0 && (!is || all_of(text, is)))
		return text;
	free(text);
	return NULL;
}

static size_t slot_of(const struct request *q, const char *name, const char *id)
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

static int more_slots(struct request *q)
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

/* Keeps the spelling of the debug id, because many servers compare bytes. An id with dashes is not kept: no
 * server has it. */
static void take_given(struct module *m, const char *id)
{
	if (strlen(id) < ID_MOST && all_of(id, is_hex))
		snprintf(m->path, sizeof(m->path), "%s", id);
}

/* Adds a module to the request, and takes ownership of `name` and `id`. `more`: the description in a JSON
 * object; NULL: the request has only a name and a debug id. */
static int add_module(struct reading *r, char *name, char *id, const struct module *more)
{
	struct request *q = r->q;
	struct wanted *w;
	size_t at;

	if (!name || !id || more_slots(q) < 0 ||
		reading_grow(&q->refs, &q->refs_room, q->n_refs, sizeof(*q->refs)) < 0 ||
		reading_grow(&q->wanted, &q->wanted_room, q->n_wanted, sizeof(*q->wanted)) < 0) {
		free(name);
		free(id);
		return reading_no_memory(r);
	}
	at = slot_of(q, name, id);
	if (q->slots[at]) {
		free(name);
		free(id);
	} else {
		q->slots[at] = (uint32_t)q->n_wanted + 1;
		w = &q->wanted[q->n_wanted++];
		*w = (struct wanted){.name = name, .id = id};
		if (more)
			w->m = *more;
		if (!w->m.debug_file[0] && strlen(name) < MODULE_NAME_MAX)
			snprintf(w->m.debug_file, sizeof(w->m.debug_file), "%s", name);
		if (!more && name[0]) { /* the service looks for no pair without a name */
			debug_id_parse(&w->m.debug_id, id, strlen(id));
			take_given(&w->m, id);
		}
	}
	q->refs[q->n_refs++] = q->slots[at] - 1;
	return 0;
}

static int bad_module(struct reading *r, uint32_t index, const char *what)
{
	return err_set(r->e, 400, "job %u has invalid modules: module index %u %s", r->job, index, what);
}

static int read_pair(struct reading *r, uint32_t index, uint32_t token)
{
	char *name = string_of(r, token + 1, is_name), *id;

	if (!name)
		return bad_module(r, index, "has an invalid debug_filename");
	id = string_of(r, token + 2, is_hex);
	if (!id) {
		free(name);
		return bad_module(r, index, "has an invalid debug_id");
	}
	return add_module(r, name, id, NULL);
}

/* Reads a member that is a file name or a path, and keeps the file name. False: the member is not a
 * string, or is too long. */
static bool read_base(struct reading *r, uint32_t object, const char *name, char out[static MODULE_NAME_MAX])
{
	char path[MODULE_PATH_MAX];

	if (!reading_text(r, object, name, path, sizeof(path)))
		return false;
	return (size_t)snprintf(out, MODULE_NAME_MAX, "%s", path_base(path)) < MODULE_NAME_MAX;
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

/* Reads the address at which the module was linked, into the module that was added last. If the module is listed
 * twice, the first address counts. */
static int read_base_address(struct reading *r, uint32_t index, uint32_t token)
{
	struct wanted *w = &r->q->wanted[r->q->refs[r->q->n_refs - 1]];
	uint32_t t = jtext_member(r->j, token, "image_vmaddr");
	uint64_t base;

	if (!t || kind_of(r, t) == JTEXT_NULL)
		return 0;
	if (!reading_hex(r, token, "image_vmaddr", &base))
		return bad_module(r, index, "has an invalid image_vmaddr");
	if (!w->has_base)
		w->base = base;
	w->has_base = true;
	return 0;
}

/* Reads a module given as an object (an extension), with all that the client knows about it. */
static int read_object(struct reading *r, uint32_t index, uint32_t token)
{
	struct module m = {0};
	char type[32], code[ID_MOST], id[ID_MOST];
	int status;

	if (!jtext_member(r->j, token, "debug_id") && !jtext_member(r->j, token, "code_id"))
		return bad_module(r, index, "does not have a debug_filename and debug_id");
	if (!reading_text(r, token, "type", type, sizeof(type)) ||
		(type[0] && (m.object = object_type_find(type)) == OBJECT_UNKNOWN))
		return bad_module(r, index, "has an invalid type");
	if (!read_base(r, token, "debug_file", m.debug_file))
		return bad_module(r, index, "has an invalid debug_filename");
	if (!read_base(r, token, "code_file", m.code_file))
		return bad_module(r, index, "has an invalid code_file");
	if (!reading_text(r, token, "debug_id", id, sizeof(id)) ||
		(id[0] && debug_id_parse(&m.debug_id, id, strlen(id)) < 0))
		return bad_module(r, index, "has an invalid debug_id");
	if (!reading_text(r, token, "code_id", code, sizeof(code)) || !all_of(code, is_code_id) ||
		(code[0] && module_set_code_id(&m, code, strlen(code)) < 0))
		return bad_module(r, index, "has an invalid code_id");
	if (!reading_text(r, token, "debug_checksum", m.checksum, sizeof(m.checksum)))
		return bad_module(r, index, "has an invalid debug_checksum");
	take_given(&m, id);
	derive_debug_id(&m);
	status = add_module(r, strdup(m.debug_file[0] ? m.debug_file : m.code_file), strdup(id[0] ? id : code), &m);
	return status ? status : read_base_address(r, index, token);
}

static int request_modules(struct reading *r, uint32_t token, struct asked_job *job)
{
	uint32_t at = token + 1;
	int status = 0;

	if (kind_of(r, token) != JTEXT_ARRAY)
		return err_set(r->e, 400, "job %u has invalid modules: modules must be a list", r->job);
	job->modules = r->q->n_refs;
	for (uint32_t i = 0; !status && i < count_of(r, token); i++, at = next_of(r, at)) {
		if (r->q->n_refs == r->limits->modules)
			return reading_too_many(r, "modules", r->limits->modules);
		if (kind_of(r, at) == JTEXT_ARRAY && count_of(r, at) == 2)
			status = read_pair(r, i, at);
		else if (kind_of(r, at) == JTEXT_OBJECT)
			status = read_object(r, i, at);
		else
			status = bad_module(r, i, "does not have a debug_filename and debug_id");
	}
	job->n_modules = r->q->n_refs - job->modules;
	return status;
}

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
		blob_unref(q->wanted[i].program);
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
