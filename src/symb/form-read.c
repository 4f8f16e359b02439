/* Reads a request. Checks its parts in the order of Mozilla's service and reports errors with that service's texts.
 * Where that service fails with status 500, symfs answers 400. symfs-symbolicate(1) describes the extensions:
 * modules and frames as objects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "base/path.h"
#include "symb/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON values -------------------------------------------------------------------- */

/* ---- modules: pairs of name and debug id, or objects with more members ------------------------ */

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

static int bad_module(struct reading *r, uint32_t index, const char *what)
{
	return err_set(&r->q->e, 400, "job %u has invalid modules: module index %u %s", r->job, index, what);
}

static int read_pair(struct reading *r, uint32_t index, uint32_t token)
{
	_cleanup_free_ char *name = string_of(r, token + 1, is_name), *id = string_of(r, token + 2, is_hex);
	struct module m = {0};

	if (!name || !id)
		return bad_module(r, index, name ? "has an invalid debug_id" : "has an invalid debug_filename");
	if (name[0]) { /* the service looks for no pair without a name */
		debug_id_parse(&m.debug_id, id, strlen(id));
		request_given(&m, id);
	}
	request_module(r->q, take(name), take(id), &m);
	return reading_status(r);
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

/* Reads a module given as an object (an extension), with all that the client knows about it. */
static int read_object(struct reading *r, uint32_t index, uint32_t token)
{
	struct module m = {0};
	char type[32], code[ID_MOST], id[ID_MOST];
	uint32_t at = jtext_member(r->j, token, "image_vmaddr");
	bool linked = at && kind_of(r, at) != JTEXT_NULL;
	uint64_t linked_at;

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
	if (linked && !reading_hex(r, token, "image_vmaddr", &linked_at))
		return bad_module(r, index, "has an invalid image_vmaddr");
	request_described(r->q, &m, id, code, linked ? &linked_at : NULL);
	return reading_status(r);
}

static int read_modules(struct reading *r, uint32_t token)
{
	uint32_t at = token + 1;
	int status = 0;

	if (kind_of(r, token) != JTEXT_ARRAY)
		return err_set(&r->q->e, 400, "job %u has invalid modules: modules must be a list", r->job);
	for (uint32_t i = 0; !status && i < count_of(r, token); i++, at = next_of(r, at)) {
		if (request_room(r->q, "modules", r->q->n_refs, limits_of(r)->modules) < 0)
			return reading_status(r);
		if (kind_of(r, at) == JTEXT_ARRAY && count_of(r, at) == 2)
			status = read_pair(r, i, at);
		else if (kind_of(r, at) == JTEXT_OBJECT)
			status = read_object(r, i, at);
		else
			status = bad_module(r, i, "does not have a debug_filename and debug_id");
	}
	return status;
}

/* ---- jobs --------------------------------------------------------------------------- */

static int read_job(struct reading *r, uint32_t token)
{
	uint32_t stacks, modules;
	int status;

	if (kind_of(r, token) != JTEXT_OBJECT)
		return err_set(&r->q->e, 400, "job %u is invalid", r->job);
	stacks = jtext_member(r->j, token, "stacks");
	if (!stacks)
		return err_set(&r->q->e, 400, "job %u is invalid: no stacks specified", r->job);
	modules = jtext_member(r->j, token, "memoryMap");
	if (!modules)
		return err_set(&r->q->e, 400, "job %u is invalid: no memoryMap specified", r->job);
	request_job(r->q);
	status = reading_status(r);
	if (!status)
		status = read_modules(r, modules);
	return status ? status : reading_stacks(r, stacks);
}

static int read_jobs(struct reading *r, uint32_t token)
{
	enum jkind kind = kind_of(r, token);
	uint32_t n = count_of(r, token), at = token + 1;
	int status = 0;

	if (kind != JTEXT_ARRAY && kind != JTEXT_OBJECT && kind != JTEXT_STRING)
		return err_set(&r->q->e, 400, "jobs must be a list");
	if (kind != JTEXT_ARRAY) /* the same count as that of Python's len() */
		n = kind == JTEXT_STRING ? jtext_length(r->j, token)
					 : jtext_members(r->j, token, limits_of(r)->jobs + 1);
	if (n > limits_of(r)->jobs)
		return err_set(&r->q->e, 400, "please limit number of jobs in a single request to <= %u",
			limits_of(r)->jobs);
	/* The members of an object or string are not jobs. */
	if (n && kind != JTEXT_ARRAY)
		return err_set(&r->q->e, 400, "job 0 is invalid");
	for (r->job = 0; !status && r->job < n; r->job++, at = next_of(r, at))
		status = read_job(r, at);
	return status;
}

static int read_payload(struct reading *r, const struct symb_api *api)
{
	uint32_t jobs = api->jobs && kind_of(r, 0) == JTEXT_OBJECT ? jtext_member(r->j, 0, "jobs") : 0;

	return jobs ? read_jobs(r, jobs) : read_job(r, 0);
}

static void count_jobs(struct symb_request *q)
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

int form_read(struct symb_request *q, const struct symb_api *api, struct span body)
{
	const struct symb_limits *most = &q->symb->limits;
	/* The most JSON values of a request. A frame given as a list takes three values, and as an object,
	 * seven. A module given as an object takes about sixteen. */
	uint64_t values = 1000 + 8ull * most->frames + 18ull * most->modules + 2ull * most->stacks;
	_cleanup_jtext_ struct jtext j = {0};
	struct reading r = {.q = q, .j = &j};
	int n, status;

	if (body.n > most->bytes)
		return err_set(&q->e, 413, "please limit the size of a request to <= %" PRIu64 " bytes",
			most->bytes);
	n = jtext_read(&j, body, (uint32_t)MIN(values, (uint64_t)UINT32_MAX), &q->e);
	if (n == -ENOMEM)
		return err_set(&q->e, 500, "%s", err_text(n));
	if (n == -E2BIG)
		return err_set(&q->e, 413, "please limit number of values in a single request to <= %" PRIu64,
			values);
	if (n < 0)
		return err_set(&q->e, 400, "Payload is not valid JSON");
	status = read_payload(&r, api);
	if (status)
		return status;
	count_jobs(q);
	return 200;
}

static int check_job(struct symb_request *q, unsigned n)
{
	const struct asked_job *job = &q->jobs[n];

	for (size_t s = 0; s < job->n_stacks; s++) {
		const struct asked_stack *stack = &q->stacks[job->stacks + s];

		for (size_t f = 0; f < stack->n; f++) {
			const struct asked_frame *frame = &q->frames[stack->first + f];

			if (frame->big && frame->module != SYMB_NO_MODULE && q->wanted[frame->module].file)
				return err_set(&q->e, 400,
					"job %u has invalid stacks: stack %zu frame %zu has an invalid module_offset",
					n, s, f);
		}
	}
	return 200;
}

int form_check(struct symb_request *q)
{
	int status = 200;

	for (unsigned i = 0; q->bigs.n && status == 200 && i < q->n_jobs; i++)
		status = check_job(q, i);
	return status;
}
