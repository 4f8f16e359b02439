/* Writes the request of Mozilla's symbolication service for stacks, asks symb/, and finds the names in the answer. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "base/util.h"
#include "stacks/stacks.h"
#include "symb/symb.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_MOST ((size_t)1 << 30)

/* ---- the request -------------------------------------------------------------------- */

static int put_member(struct buf *out, const char *name, const char *text)
{
	buf_addf(out, ", \"%s\": ", name);
	return jtext_add(out, text);
}

/* A file name of a module; a longer one than the service takes is left out. */
static int put_name(struct buf *out, const char *member, const char *name)
{
	return name[0] && strlen(name) < MODULE_NAME_MAX ? put_member(out, member, name) : 0;
}

static int put_module(struct buf *out, const struct stack_module *m)
{
	char id[DEBUG_ID_TEXT];
	const char *path = m->path ? path_base(m->path) : "";
	const char *code = m->m.code_file[0] ? m->m.code_file : path;
	const char *debug = m->m.debug_file[0] ? m->m.debug_file : code;

	buf_adds(out, "{\"debug_id\": ");
	jtext_add(out, debug_id_breakpad(&m->m.debug_id, id));
	if (m->m.object != OBJECT_UNKNOWN)
		put_member(out, "type", object_type_name(m->m.object));
	if (m->m.code_id[0])
		put_member(out, "code_id", m->m.code_id);
	put_name(out, "debug_file", debug);
	put_name(out, "code_file", code);
	if (m->m.checksum[0])
		put_member(out, "debug_checksum", m->m.checksum);
	return buf_adds(out, "}");
}

/* A frame is the index of its module and an offset in the module, or -1 and an address. */
static int put_frame(const struct stacks *s, const struct stack_frame *f, struct buf *out)
{
	if (f->module == STACKS_NO_MODULE || f->look < s->module[f->module].base)
		return buf_addf(out, "[-1, %" PRIu64 "]", f->look);
	return buf_addf(out, "[%" PRIu32 ", %" PRIu64 "]", f->module, f->look - s->module[f->module].base);
}

int stacks_request(const struct stacks *s, struct buf *out)
{
	buf_adds(out, "{\"jobs\": [{\"memoryMap\": [");
	for (size_t i = 0; i < s->n_modules; i++) {
		buf_adds(out, i ? ", " : "");
		put_module(out, &s->module[i]);
	}
	buf_adds(out, "], \"stacks\": [");
	for (size_t i = 0; i < s->n_threads; i++) {
		buf_adds(out, i ? ", [" : "[");
		for (size_t f = 0; f < s->thread[i].n; f++) {
			buf_adds(out, f ? ", " : "");
			put_frame(s, &s->frame[s->thread[i].first + f], out);
		}
		buf_adds(out, "]");
	}
	return buf_adds(out, "]}]}");
}

/* ---- the answer --------------------------------------------------------------------- */

/* Finds the token of each frame. -EBADMSG: the answer has not the stacks of the request. */
static int find_frames(struct stacks *s)
{
	const struct jtext *j = &s->json;
	uint32_t results = jtext_member(j, 0, "results");
	uint32_t stacks = results && j->token[results].kind == JTEXT_ARRAY && j->token[results].n == 1 &&
			j->token[results + 1].kind == JTEXT_OBJECT ? jtext_member(j, results + 1, "stacks") : 0;
	uint32_t at = stacks + 1;

	if (!stacks || j->token[stacks].kind != JTEXT_ARRAY || j->token[stacks].n != s->n_threads)
		return -EBADMSG;
	for (size_t i = 0; i < s->n_threads; i++, at = j->token[at].next) {
		const struct stack_thread *t = &s->thread[i];
		uint32_t frame = at + 1;

		if (j->token[at].kind != JTEXT_ARRAY || j->token[at].n != t->n)
			return -EBADMSG;
		for (size_t f = 0; f < t->n; f++, frame = j->token[frame].next) {
			if (j->token[frame].kind != JTEXT_OBJECT)
				return -EBADMSG;
			s->token[t->first + f] = frame;
		}
	}
	return 0;
}

int stacks_answer(struct stacks *s, struct buf *answer, struct err *e)
{
	int r;

	jtext_release(&s->json);
	buf_release(&s->answer);
	free(s->token);
	s->json = (struct jtext){0};
	s->answer = *answer;
	*answer = (struct buf){.most = answer->most};
	s->token = calloc(s->n_frames + 1, sizeof(*s->token));
	if (!s->token)
		return err_set(e, -ENOMEM, "out of memory");
	r = jtext_read(&s->json, (struct span){(const uint8_t *)buf_text(&s->answer), s->answer.n}, UINT32_MAX, e);
	if (r == 0 && (s->json.token[0].kind != JTEXT_OBJECT || find_frames(s) < 0))
		r = err_set(e, -EBADMSG, "the answer does not have the stacks of the request");
	if (r < 0)
		memset(s->token, 0, (s->n_frames + 1) * sizeof(*s->token));
	return r;
}

/* The error of an answer that is not 200. */
static int refused(int status, const struct buf *answer, struct err *e)
{
	int r = status == 413 ? -E2BIG : status == 400 ? -EBADMSG : status == 503 ? -EINTR : -ENOMEM;
	char title[SYMB_TITLE];

	return err_set(e, r, "%s", symb_title(answer, title));
}

int stacks_ask(struct stacks *s, struct symb *symb, const struct symb_flags *flags, struct err *e)
{
	_cleanup_buf_ struct buf answer = BUF_UP_TO(SYMB_REPLY_MOST);
	int r, status;

	buf_release(&s->request);
	s->request = BUF_UP_TO(REQUEST_MOST);
	r = stacks_request(s, &s->request);
	if (r < 0)
		return err_set(e, r, "%s", err_text(r));
	status = symb_answer(symb, symb_api_find("v5"),
		(struct span){(const uint8_t *)buf_text(&s->request), s->request.n}, flags, &answer);
	return status == 200 ? stacks_answer(s, &answer, e) : refused(status, &answer, e);
}

/* ---- names -------------------------------------------------------------------------- */

/* The text of a string member. 0: *out, which the caller frees, is NULL if there is no such member. */
static int text_of(const struct jtext *j, uint32_t object, const char *name, char **out)
{
	uint32_t t = jtext_member(j, object, name);

	*out = NULL;
	if (!t || j->token[t].kind != JTEXT_STRING)
		return 0;
	*out = malloc((size_t)j->token[t].len + 1);
	if (!*out)
		return -ENOMEM;
	if (jtext_string(j, t, *out, (size_t)j->token[t].len + 1) < 0) {
		free(*out);
		*out = NULL;
	}
	return 0;
}

static int tell(const struct jtext *j, uint32_t object, bool inlined, stacks_each_name *each, void *ctx)
{
	_cleanup_free_ char *function = NULL, *file = NULL, *offset = NULL;
	uint32_t line = jtext_member(j, object, "line");
	struct stack_name n = {.inlined = inlined};
	uint64_t number = 0;
	bool minus;

	if (text_of(j, object, "function", &function) < 0 || text_of(j, object, "file", &file) < 0 ||
		text_of(j, object, "function_offset", &offset) < 0)
		return -ENOMEM;
	if (!function && !file)
		return 0;
	if (line && j->token[line].kind == JTEXT_NUMBER && jtext_integer(j, line, &minus, &number) == 0 && !minus &&
		number <= UINT32_MAX)
		n.line = (uint32_t)number;
	n.function = function;
	n.file = file;
	n.offset = offset && offset[0] == '0' ? strtoull(offset, NULL, 16) : 0;
	return each(ctx, &n);
}

int stacks_named(const struct stacks *s, size_t frame, stacks_each_name *each, void *ctx)
{
	uint32_t t = s->token && frame < s->n_frames ? s->token[frame] : 0, inlines, at;
	int r = 0;

	if (!t)
		return 0;
	inlines = jtext_member(&s->json, t, "inlines");
	at = inlines + 1;
	if (inlines && s->json.token[inlines].kind == JTEXT_ARRAY)
		for (uint32_t i = 0; r == 0 && i < s->json.token[inlines].n; i++, at = s->json.token[at].next)
			if (s->json.token[at].kind == JTEXT_OBJECT)
				r = tell(&s->json, at, true, each, ctx);
	return r == 0 ? tell(&s->json, t, false, each, ctx) : r;
}
