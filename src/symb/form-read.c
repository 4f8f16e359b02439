/* Reads a request. Checks its parts in the order of Mozilla's service and reports errors with that service's texts.
 * Where that service fails with status 500, symfs answers 400. symfs-symbolicate(1) describes the extensions:
 * modules and frames as objects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/jtext.h"
#include "base/path.h"
#include "base/util.h"
#include "symb/form.h"
#include "symb/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct reading {
	struct symb_request *q;
	const struct jtext *j;
	unsigned job;
};

static const struct symb_limits *limits_of(const struct reading *r)
{
	return &r->q->symb->limits;
}

static enum jkind kind_of(const struct reading *r, uint32_t token)
{
	return r->j->token[token].kind;
}

static uint32_t next_of(const struct reading *r, uint32_t token)
{
	return r->j->token[token].next;
}

static uint32_t count_of(const struct reading *r, uint32_t token)
{
	return r->j->token[token].n;
}

static bool is_hex(char c)
{
	return hex_value(c) >= 0;
}

/* 0, or the HTTP status of the error that adding something to the request had. */
static int reading_status(const struct reading *r)
{
	return r->q->r == 0 ? 0 : symb_status(r->q->r);
}

/* Copies a string member of an object: at most `room` bytes with its NUL; "" if the member is missing.
 * False: the member is not a string, or is too long. */
static bool reading_text(struct reading *r, uint32_t object, const char *name, char *out, size_t room)
{
	uint32_t t = jtext_member(r->j, object, name);

	out[0] = '\0';
	if (!t || kind_of(r, t) == JTEXT_NULL)
		return true;
	return kind_of(r, t) == JTEXT_STRING && jtext_string(r->j, t, out, room) >= 0;
}

/* Reads a member that is a string such as "0x1f", or a JSON number. False: the member is missing or invalid. */
static bool reading_hex(struct reading *r, uint32_t object, const char *name, uint64_t *out)
{
	uint32_t t = jtext_member(r->j, object, name);
	char text[32];
	int n;

	if (jtext_get_number(r->j, object, name, out))
		return true;
	if (!t || kind_of(r, t) != JTEXT_STRING)
		return false;
	n = jtext_string(r->j, t, text, sizeof(text));
	if (n < 3 || n > 18 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return false;
	*out = 0;
	for (const char *c = text + 2; *c; c++) {
		if (!is_hex(*c))
			return false;
		*out = *out << 4 | (uint64_t)hex_value(*c);
	}
	return true;
}

/* ---- stacks: frames as pairs of module and offset, or as objects ------------------------- */

struct place {
	uint32_t stack, frame;
};

static int bad_frame(struct reading *r, struct place p, const char *what)
{
	return err_set(&r->q->e, 400, "job %u has invalid stacks: stack %u frame %u %s", r->job, p.stack,
		p.frame, what);
}

/* Like jtext_integer(), but `true` is 1 and `false` is 0, as in Python. */
static int number_of(const struct reading *r, uint32_t token, bool *minus, uint64_t *out)
{
	enum jkind kind = kind_of(r, token);

	*minus = false;
	*out = kind == JTEXT_TRUE;
	if (kind == JTEXT_TRUE || kind == JTEXT_FALSE)
		return 0;
	return kind == JTEXT_NUMBER ? jtext_integer(r->j, token, minus, out) : -EINVAL;
}

/* Reads the module of the job with this index. */
static int set_module(struct reading *r, struct place p, bool minus, uint64_t index, struct asked_frame *f)
{
	const struct asked_job *job = &r->q->jobs[r->q->n_jobs - 1];

	f->module = SYMB_NO_MODULE;
	if (minus && index == 1)
		return 0;
	if (minus || index >= job->n_modules)
		return bad_frame(r, p, "has a module_index that isn't in modules");
	f->module = r->q->refs[job->modules + index];
	return 0;
}

/* Keeps the text of an offset of more than 64 bits. No file is that large, so the frame is not looked up;
 * the answer repeats the offset. */
static int read_big(struct reading *r, struct place p, uint32_t token, struct asked_frame *f)
{
	struct buf *b = &r->q->bigs;
	size_t at = b->n;
	int n;

	n = jtext_hex(r->j, token, b);
	if (n == 0)
		n = buf_add(b, "", 1);
	f->big = at + 1;
	if (n == -EINVAL)
		return bad_frame(r, p, "has an invalid module_offset");
	return n < 0 ? err_set(&r->q->e, 500, "%s", err_text(n)) : 0;
}

static int read_frame(struct reading *r, struct place p, uint32_t token,
	struct asked_frame *f)
{
	uint64_t index;
	bool minus;
	int n = number_of(r, token + 1, &minus, &index), status;

	if (n == -EINVAL)
		return bad_frame(r, p, "has an invalid module_index");
	status = set_module(r, p, minus, n < 0 ? UINT64_MAX : index, f);
	if (status)
		return status;
	n = number_of(r, token + 2, &f->minus, &f->offset);
	if (n == -ERANGE && !f->minus)
		return read_big(r, p, token + 2, f);
	return n < 0 || (f->minus && f->offset != 1) ? bad_frame(r, p, "has an invalid module_offset") : 0;
}

/* Reads the index of the module from the member addr_mode: "rel:N" or "link:N". False: the member has another form.
 */
static bool read_mode(struct reading *r, uint32_t object, uint64_t *index, bool *linked)
{
	char text[32], *number = text + 4;

	if (!reading_text(r, object, "addr_mode", text, sizeof(text)))
		return false;
	*linked = strncmp(text, "link:", 5) == 0;
	number += *linked;
	if ((!*linked && strncmp(text, "rel:", 4) != 0) || !*number || strlen(number) > 10)
		return false;
	*index = 0;
	for (const char *c = number; *c; c++) {
		if (*c < '0' || *c > '9')
			return false;
		*index = *index * 10 + (uint64_t)(*c - '0');
	}
	return true;
}

/* The highest byte of a .NET metadata token is the number of its table. A client can also send the row number
 * alone, whose highest byte is 0. */
#define TABLE_METHOD_DEF 6

/* Reads a frame given as an object (an extension), of a .NET program or of any other module. */
static int read_frame_object(struct reading *r, struct place p,
	uint32_t token, struct asked_frame *f)
{
	uint64_t index, method = 0;
	int status;

	if (!jtext_member(r->j, token, "addr_mode"))
		return bad_frame(r, p, "is not a list of two items");
	if (!read_mode(r, token, &index, &f->linked))
		return bad_frame(r, p, "has an invalid addr_mode");
	status = set_module(r, p, false, index, f);
	if (status)
		return status;
	if (!reading_hex(r, token, "instruction_addr", &f->offset))
		return bad_frame(r, p, "has an invalid instruction_addr");
	if (!jtext_member(r->j, token, "function_id"))
		return 0;
	if (!reading_hex(r, token, "function_id", &method))
		return bad_frame(r, p, "has an invalid function_id");
	if (method >> 24 == TABLE_METHOD_DEF)
		method &= 0xffffff;
	if (!method || method >> 24)
		return bad_frame(r, p, "has a function_id that is not a MethodDef");
	f->method = (uint32_t)method;
	return 0;
}

static int read_stack(struct reading *r, uint32_t index, uint32_t token)
{
	struct symb_request *q = r->q;
	uint32_t at = token + 1;
	int status;

	if (kind_of(r, token) != JTEXT_ARRAY)
		return err_set(&q->e, 400, "job %u has invalid stacks: stack %u is not a list", r->job, index);
	symb_add_stack(q);
	status = reading_status(r);
	for (uint32_t i = 0; !status && i < count_of(r, token); i++, at = next_of(r, at)) {
		struct asked_frame f = {0};
		struct place p = {index, i};

		if (request_room(q, "frames", q->n_frames, limits_of(r)->frames) < 0)
			return reading_status(r);
		if (kind_of(r, at) == JTEXT_ARRAY && count_of(r, at) == 2)
			status = read_frame(r, p, at, &f);
		else if (kind_of(r, at) == JTEXT_OBJECT)
			status = read_frame_object(r, p, at, &f);
		else
			status = bad_frame(r, p, "is not a list of two items");
		if (status)
			return status;
		request_frame(q, &f);
		status = reading_status(r);
	}
	return status;
}

/* Reads the stacks of a job into the request. 0, or the HTTP status of the refusal, with its title in r->q->e. */
static int reading_stacks(struct reading *r, uint32_t token)
{
	uint32_t at = token + 1;
	int status = 0;

	if (kind_of(r, token) != JTEXT_ARRAY)
		return err_set(&r->q->e, 400, "job %u has invalid stacks: stacks must be a list of lists", r->job);
	if (!count_of(r, token))
		return err_set(&r->q->e, 400, "job %u has invalid stacks: no stacks specified", r->job);
	for (uint32_t i = 0; !status && i < count_of(r, token); i++, at = next_of(r, at))
		status = read_stack(r, i, at);
	return status;
}

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
