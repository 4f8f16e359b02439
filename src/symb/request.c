/* Reads requests. What is wrong is looked for in the order in which Mozilla's service looks, and told
 * in its words; where that falls over its own feet (status 500) the answer is 400 here. What goes
 * beyond it, modules and frames as objects, is told in symfs-symbolicate(1). */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/path.h"
#include "base/util.h"
#include "symb/choose.h"
#include "symb/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Digits of an identifier; none has more, and longer ones are no file's. */
#define ID_MOST 256

struct reading {
	struct request *q;
	const struct jtext *j;
	const struct symb_limits *limits;
	unsigned job;
	struct err *e;
};

const struct symb_limits symb_limits_default = {
	.bytes = 16u << 20, .jobs = 10, .modules = 2000, .stacks = 20000, .frames = 200000};

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

static int no_memory(struct reading *r)
{
	return err_set(r->e, 500, "%s", err_text(ENOMEM));
}

static int too_many(struct reading *r, const char *what, unsigned most)
{
	return err_set(r->e, 413, "please limit number of %s in a single request to <= %u", what, most);
}

static int grow(void *list, size_t *room, size_t n, size_t size)
{
	size_t want = *room ? *room * 2 : 16;
	void *p;

	if (n < *room)
		return 0;
	p = realloc(*(void **)list, want * size);
	if (!p)
		return -ENOMEM;
	*(void **)list = p;
	*room = want;
	return 0;
}

/* ---- modules ------------------------------------------------------------------------ */

static bool is_hex(char c)
{
	return hex_value(c) >= 0;
}

static bool is_name(char c)
{
	return c && ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			    strchr("_.+{}@<> ~-", c));
}

/* A pattern that ends in `$` lets one line end pass behind what it describes. */
static bool all_of(const char *text, bool (*is)(char c))
{
	while (is(*text))
		text++;
	return !*text || strcmp(text, "\n") == 0;
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

/* Files are asked for by the debug id as it was given, too: many servers compare bytes. No server
 * has dashes there. */
static void take_given(struct module *m, const char *id)
{
	if (strlen(id) < ID_MOST && all_of(id, is_hex))
		snprintf(m->path, sizeof(m->path), "%s", id);
}

/* Takes the texts. `more`: what an object says of the module; NULL: the id is a debug id. */
static int add_module(struct reading *r, char *name, char *id, const struct module *more)
{
	struct request *q = r->q;
	struct wanted *w;
	size_t at;

	if (!name || !id || more_slots(q) < 0 ||
		grow(&q->refs, &q->refs_room, q->n_refs, sizeof(*q->refs)) < 0 ||
		grow(&q->wanted, &q->wanted_room, q->n_wanted, sizeof(*q->wanted)) < 0) {
		free(name);
		free(id);
		return no_memory(r);
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
		if (!more) {
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

/* A member that is a text, of at most `room` bytes with its NUL. False: it is something else. */
static bool read_text(struct reading *r, uint32_t object, const char *name, char *out, size_t room)
{
	uint32_t t = jtext_member(r->j, object, name);

	out[0] = '\0';
	if (!t || kind_of(r, t) == JTEXT_NULL)
		return true;
	return kind_of(r, t) == JTEXT_STRING && jtext_string(r->j, t, out, room) >= 0;
}

/* A file name, or the path of a file. */
static bool read_base(struct reading *r, uint32_t object, const char *name, char out[static MODULE_NAME_MAX])
{
	char path[MODULE_PATH_MAX];

	if (!read_text(r, object, name, path, sizeof(path)))
		return false;
	return (size_t)snprintf(out, MODULE_NAME_MAX, "%s", path_base(path)) < MODULE_NAME_MAX;
}

/* The debug id that follows from the code id. 32 digits of an unknown kind are a UUID. */
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

/* Ours: a module with what else is known of it. */
static int read_object(struct reading *r, uint32_t index, uint32_t token)
{
	struct module m = {0};
	char type[32], code[ID_MOST], id[ID_MOST];

	if (!jtext_member(r->j, token, "debug_id") && !jtext_member(r->j, token, "code_id"))
		return bad_module(r, index, "does not have a debug_filename and debug_id");
	if (!read_text(r, token, "type", type, sizeof(type)) ||
		(type[0] && (m.object = object_type_find(type)) == OBJECT_UNKNOWN))
		return bad_module(r, index, "has an invalid type");
	if (!read_base(r, token, "debug_file", m.debug_file))
		return bad_module(r, index, "has an invalid debug_filename");
	if (!read_base(r, token, "code_file", m.code_file))
		return bad_module(r, index, "has an invalid code_file");
	if (!read_text(r, token, "debug_id", id, sizeof(id)) ||
		(id[0] && debug_id_parse(&m.debug_id, id, strlen(id)) < 0))
		return bad_module(r, index, "has an invalid debug_id");
	if (!read_text(r, token, "code_id", code, sizeof(code)) || !all_of(code, is_hex) ||
		(code[0] && module_set_code_id(&m, code, strlen(code)) < 0))
		return bad_module(r, index, "has an invalid code_id");
	if (!read_text(r, token, "debug_checksum", m.checksum, sizeof(m.checksum)))
		return bad_module(r, index, "has an invalid debug_checksum");
	take_given(&m, id);
	derive_debug_id(&m);
	return add_module(r, strdup(m.debug_file[0] ? m.debug_file : m.code_file),
		strdup(id[0] ? id : code), &m);
}

static int read_modules(struct reading *r, uint32_t token, struct asked_job *job)
{
	uint32_t at = token + 1;
	int status = 0;

	if (kind_of(r, token) != JTEXT_ARRAY)
		return err_set(r->e, 400, "job %u has invalid modules: modules must be a list", r->job);
	job->modules = r->q->n_refs;
	for (uint32_t i = 0; !status && i < count_of(r, token); i++, at = next_of(r, at)) {
		if (r->q->n_refs == r->limits->modules)
			return too_many(r, "modules", r->limits->modules);
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

/* ---- stacks ------------------------------------------------------------------------- */

struct place {
	uint32_t stack, frame;
};

static int bad_frame(struct reading *r, struct place p, const char *what)
{
	return err_set(r->e, 400, "job %u has invalid stacks: stack %u frame %u %s", r->job, p.stack,
		p.frame, what);
}

/* As jtext_integer(), but what is true is 1. */
static int number_of(const struct reading *r, uint32_t token, bool *minus, uint64_t *out)
{
	enum jkind kind = kind_of(r, token);

	*minus = false;
	*out = kind == JTEXT_TRUE;
	if (kind == JTEXT_TRUE || kind == JTEXT_FALSE)
		return 0;
	return kind == JTEXT_NUMBER ? jtext_integer(r->j, token, minus, out) : -EINVAL;
}

static int set_module(struct reading *r, const struct asked_job *job, struct place p, bool minus,
	uint64_t index, struct asked_frame *f)
{
	struct wanted *w;

	f->module = NO_MODULE;
	if (minus && index == 1)
		return 0;
	if (minus || index >= job->n_modules)
		return bad_frame(r, p, "has a module_index that isn't in modules");
	f->module = (uint32_t)index;
	w = &r->q->wanted[r->q->refs[job->modules + index]];
	w->referenced = true;
	return 0;
}

/* No file has anything so far away; the answer repeats the offset. */
static int read_big(struct reading *r, struct place p, uint32_t token, struct asked_frame *f)
{
	struct buf *b = &r->q->bigs;
	size_t at = b->n;
	int n;

	b->most = SYMB_REPLY_MOST;
	n = jtext_hex(r->j, token, b);
	if (n == 0)
		n = buf_add(b, "", 1);
	f->big = at + 1;
	return n == 0 ? 0 : n == -EINVAL ? bad_frame(r, p, "has an invalid module_offset") : no_memory(r);
}

static int read_frame(struct reading *r, const struct asked_job *job, struct place p, uint32_t token,
	struct asked_frame *f)
{
	uint64_t index;
	bool minus;
	int n = number_of(r, token + 1, &minus, &index), status;

	if (n == -EINVAL)
		return bad_frame(r, p, "has an invalid module_index");
	status = set_module(r, job, p, minus, n < 0 ? UINT64_MAX : index, f);
	if (status)
		return status;
	n = number_of(r, token + 2, &f->minus, &f->offset);
	if (n == -ERANGE && !f->minus)
		return read_big(r, p, token + 2, f);
	return n < 0 || (f->minus && f->offset != 1) ? bad_frame(r, p, "has an invalid module_offset") : 0;
}

/* "0x1f", or a number. */
static bool read_hex(struct reading *r, uint32_t object, const char *name, uint64_t *out)
{
	uint32_t t = jtext_member(r->j, object, name);
	char text[32];
	bool minus;
	int n;

	if (t && kind_of(r, t) == JTEXT_NUMBER)
		return jtext_integer(r->j, t, &minus, out) == 0 && !minus;
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

/* "rel:N" */
static bool read_mode(struct reading *r, uint32_t object, uint64_t *index)
{
	char text[32];

	if (!read_text(r, object, "addr_mode", text, sizeof(text)) || strncmp(text, "rel:", 4) != 0 ||
		!text[4] || strlen(text) > 14)
		return false;
	*index = 0;
	for (const char *c = text + 4; *c; c++) {
		if (*c < '0' || *c > '9')
			return false;
		*index = *index * 10 + (uint64_t)(*c - '0');
	}
	return true;
}

/* Tokens name their table in the highest byte; a row alone has none there. */
#define TABLE_METHOD_DEF 6

/* Ours: a frame of a program for .NET, or of any module by its name for addresses. */
static int read_frame_object(struct reading *r, const struct asked_job *job, struct place p,
	uint32_t token, struct asked_frame *f)
{
	uint64_t index, method = 0;
	int status;

	if (!jtext_member(r->j, token, "addr_mode"))
		return bad_frame(r, p, "is not a list of two items");
	if (!read_mode(r, token, &index))
		return bad_frame(r, p, "has an invalid addr_mode");
	status = set_module(r, job, p, false, index, f);
	if (status)
		return status;
	if (!read_hex(r, token, "instruction_addr", &f->offset))
		return bad_frame(r, p, "has an invalid instruction_addr");
	if (!jtext_member(r->j, token, "function_id"))
		return 0;
	if (!read_hex(r, token, "function_id", &method))
		return bad_frame(r, p, "has an invalid function_id");
	if (method >> 24 == TABLE_METHOD_DEF)
		method &= 0xffffff;
	if (!method || method >> 24)
		return bad_frame(r, p, "has a function_id that is no MethodDef");
	f->method = (uint32_t)method;
	return 0;
}

static int read_stack(struct reading *r, const struct asked_job *job, uint32_t index, uint32_t token)
{
	struct request *q = r->q;
	struct asked_stack s = {.first = q->n_frames, .n = count_of(r, token)};
	uint32_t at = token + 1;
	int status = 0;

	if (kind_of(r, token) != JTEXT_ARRAY)
		return err_set(r->e, 400, "job %u has invalid stacks: stack %u is not a list", r->job, index);
	if (q->n_stacks == r->limits->stacks)
		return too_many(r, "stacks", r->limits->stacks);
	for (uint32_t i = 0; !status && i < s.n; i++, at = next_of(r, at)) {
		struct asked_frame f = {0};
		struct place p = {index, i};

		if (q->n_frames == r->limits->frames)
			return too_many(r, "frames", r->limits->frames);
		if (kind_of(r, at) == JTEXT_ARRAY && count_of(r, at) == 2)
			status = read_frame(r, job, p, at, &f);
		else if (kind_of(r, at) == JTEXT_OBJECT)
			status = read_frame_object(r, job, p, at, &f);
		else
			status = bad_frame(r, p, "is not a list of two items");
		if (grow(&q->frames, &q->frames_room, q->n_frames, sizeof(*q->frames)) < 0)
			return no_memory(r);
		q->frames[q->n_frames++] = f;
	}
	if (!status && grow(&q->stacks, &q->stacks_room, q->n_stacks, sizeof(*q->stacks)) < 0)
		return no_memory(r);
	if (!status)
		q->stacks[q->n_stacks++] = s;
	return status;
}

static int read_stacks(struct reading *r, uint32_t token, struct asked_job *job)
{
	uint32_t at = token + 1;
	int status = 0;

	if (kind_of(r, token) != JTEXT_ARRAY)
		return err_set(r->e, 400, "job %u has invalid stacks: stacks must be a list of lists", r->job);
	if (!count_of(r, token))
		return err_set(r->e, 400, "job %u has invalid stacks: no stacks specified", r->job);
	job->stacks = r->q->n_stacks;
	for (uint32_t i = 0; !status && i < count_of(r, token); i++, at = next_of(r, at))
		status = read_stack(r, job, i, at);
	job->n_stacks = r->q->n_stacks - job->stacks;
	return status;
}

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
	status = read_modules(r, modules, &job);
	if (!status)
		status = read_stacks(r, stacks, &job);
	if (status)
		return status;
	if (grow(&q->jobs, &q->jobs_room, q->n_jobs, sizeof(*q->jobs)) < 0)
		return no_memory(r);
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
	if (kind != JTEXT_ARRAY) /* as Python's len() counts */
		n = kind == JTEXT_STRING ? jtext_length(r->j, token)
					 : jtext_members(r->j, token, r->limits->jobs + 1);
	if (n > r->limits->jobs)
		return err_set(r->e, 400, "please limit number of jobs in a single request to <= %u",
			r->limits->jobs);
	/* What is no list has parts that are no jobs. */
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
	/* A frame is three values, or a module and a frame as an object seven and fourteen. */
	uint64_t most = 1000 + 8ull * limits->frames + 16ull * limits->modules + 2ull * limits->stacks;
	_cleanup_jtext_ struct jtext j = {0};
	struct reading r = {.q = q, .j = &j, .limits = limits, .e = e};
	int n, status;

	if (body.n > limits->bytes)
		return err_set(e, 413, "please limit the size of a request to <= %" PRIu64 " bytes",
			limits->bytes);
	n = jtext_read(&j, body, (uint32_t)MIN(most, (uint64_t)UINT32_MAX), e);
	if (n == -ENOMEM)
		return no_memory(&r);
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
