/* POST /symbolicate/minidump: the stacks of a minidump, with names. The body is a form, as crash reporters send it,
 * or the minidump itself. It goes to a draft of the store, which no client sees and which is discarded. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/upload.h"
#include "stacks/stacks.h"
#include "walk/walk.h"

#include <string.h>
#include <strings.h>

#define FIELD "upload_file_minidump"
#define FORM_MOST (1u << 20) /* bytes of a form beside the minidump */
#define TEXT "text/plain; charset=utf-8"

/* A minidump that is received or answered: one of the places of the server. */
struct minidump_job {
	struct http *h; /* NULL: the place was given back */
	struct draft *draft;
};

static void give_back(struct minidump_job *j)
{
	if (j->h)
		atomic_fetch_sub(&j->h->minidumps, 1);
	j->h = NULL;
	draft_discard(take(j->draft));
}

static void job_release(void *ctx)
{
	if (ctx)
		give_back(ctx);
	free(ctx);
}

int upload_minidump_admit(struct exchange *x)
{
	const char *coding = exchange_header(x, "Content-Encoding");
	struct minidump_job *j;

	if (coding && *coding && strcasecmp(coding, "identity") != 0)
		return upload_refuse(x, 415, "send the minidump without Content-Encoding");
	j = calloc(1, sizeof(*j));
	if (!j)
		return upload_refuse_errno(x, -ENOMEM, NULL);
	x->upload->ctx = j;
	j->h = x->h;
	if (atomic_fetch_add(&x->h->minidumps, 1) < HTTP_MINIDUMPS_MOST)
		return 0;
	give_back(j);
	return upload_refuse(x, 503, "%d minidumps are being answered, the limit of this server; try again later",
		HTTP_MINIDUMPS_MOST);
}

/* Other files of the form are ignored, as its fields are. */
static int minidump_file(struct exchange *x, struct upload_file *f)
{
	struct minidump_job *j = x->upload->ctx;

	if (f->name[0] && strcmp(f->name, FIELD) != 0)
		return 0;
	if (j->draft)
		return upload_refuse(x, 400, "the form has several files " FIELD);
	j->draft = take(f->draft);
	return 0;
}

static bool wants_json(struct exchange *x)
{
	const char *accept = exchange_header(x, "Accept");

	return route_has_flag(x->route->query, "json") || (accept && strstr(accept, "application/json"));
}

static int refuse_dump(struct exchange *x, int r, const char *why)
{
	if (r == -ENOMSG || r == -EBADMSG || r == -ENODATA)
		return upload_refuse(x, 400, "%s", why);
	if (r == -E2BIG || r == -EFBIG)
		return upload_refuse(x, 413, "%s", why);
	return upload_refuse(x, 503, "%s", r == -EINTR ? "the server is stopping; try again later" : why);
}

/* Adds the stacks of a minidump to the reply. */
static int answer(struct exchange *x, struct view *dump, bool json, struct err *e)
{
	const struct walk_source from = {.fetch = x->space->fetch, .derive = x->space->derive,
		.stop = &x->h->stopping, .gone = &x->left};
	struct stacks s = {0};
	int r = walk_minidump(&s, dump, &from, e);

	if (r == 0)
		r = stacks_print(&s, x->space->symb, &x->flags, json, &x->reply, e);
	if (r == 0 && json)
		r = buf_adds(&x->reply, "\n");
	stacks_release(&s);
	return r;
}

static int minidump_done(struct exchange *x)
{
	struct minidump_job *j = x->upload->ctx;
	bool json = wants_json(x);
	struct err e = {0};
	struct view v;
	int r;

	if (!j->draft)
		return upload_refuse(x, 400, "the form has no file " FIELD);
	symbolicate_flags(x, &x->flags);
	x->flags.demangle |= !json;
	v = view_of_fd(draft_fd(j->draft), draft_size(j->draft));
	r = answer(x, &v, json, &e);
	give_back(j);
	return r < 0 ? refuse_dump(x, r, e.text) : upload_answer(x, 200, json ? "application/json" : TEXT);
}

const struct upload_ops upload_minidump_form = {.body = UPLOAD_FORM,
	.most = MINIDUMP_MOST + FORM_MOST,
	.file_most = MINIDUMP_MOST,
	.answers = true,
	.file = minidump_file,
	.done = minidump_done,
	.release = job_release};
const struct upload_ops upload_minidump = {.body = UPLOAD_FILE,
	.most = MINIDUMP_MOST,
	.file_most = MINIDUMP_MOST,
	.answers = true,
	.file = minidump_file,
	.done = minidump_done,
	.release = job_release};

bool upload_is_form(struct exchange *x)
{
	const char *type = exchange_header(x, "Content-Type");

	return type && strncasecmp(type, "multipart/form-data", 19) == 0;
}
