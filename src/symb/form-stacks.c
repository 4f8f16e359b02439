/* Reads the stacks of a job: frames as pairs of module and offset, or as objects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "symb/reading.h"

#include <string.h>

int reading_status(const struct reading *r)
{
	return r->q->r == 0 ? 0 : symb_status(r->q->r);
}

bool reading_text(struct reading *r, uint32_t object, const char *name, char *out, size_t room)
{
	uint32_t t = jtext_member(r->j, object, name);

	out[0] = '\0';
	if (!t || kind_of(r, t) == JTEXT_NULL)
		return true;
	return kind_of(r, t) == JTEXT_STRING && jtext_string(r->j, t, out, room) >= 0;
}

bool reading_hex(struct reading *r, uint32_t object, const char *name, uint64_t *out)
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

int reading_stacks(struct reading *r, uint32_t token)
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
