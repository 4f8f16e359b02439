/* POST /upload/: archives of symbol files, as Mozilla's symbol server (Tecken) takes them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/util.h"
#include "http/upload/upload-intake.h"
#include "intake/upload/tecken.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MOST (4u << 20) /* bytes of the member names of one answer */

/* What came so far. A field can come behind the file, so the file waits for the end of the form. */
struct tecken {
	struct upload_file file;
	bool try, url, second;
	int64_t began; /* wall clock */
	struct buf skipped, refused;
};

static struct tecken *tecken_of(struct exchange *x)
{
	struct tecken *t = upload_ctx(x, sizeof(*t));

	if (t && !t->began) {
		t->began = clock_wall();
		t->skipped = t->refused = BUF_UP_TO(NAMES_MOST);
	}
	return t;
}

static void tecken_release(void *ctx)
{
	struct tecken *t = ctx;

	if (!t)
		return;
	draft_discard(t->file.draft);
	buf_release(&t->skipped);
	buf_release(&t->refused);
	free(t);
}

static int tecken_field(struct exchange *x, const char *name, const char *value)
{
	struct tecken *t = tecken_of(x);

	if (!t)
		return x->upload->status;
	t->try |= strcmp(name, "try") == 0 && *value;
	t->url |= strcmp(name, "url") == 0;
	return 0;
}

/* Tecken drops further files without a word; a client had better know. */
static int tecken_file(struct exchange *x, struct upload_file *f)
{
	struct tecken *t = tecken_of(x);

	if (!t)
		return x->upload->status;
	if (t->file.draft)
		return upload_refuse(x, 400, "An upload has one archive; this form has several files");
	t->file = *f;
	f->draft = NULL;
	return 0;
}

/* ---- the archive has arrived ---------------------------------------------------------------- */

static void add_name(struct buf *out, const char *name)
{
	buf_add(out, name, strlen(name) + 1);
}

/* The member's name in "xul.zip!xul.pdb/ID/xul.sym". */
static const char *member_of(const struct intake_report *r)
{
	const char *mark = r->member ? strchr(r->shown, '!') : NULL;

	return mark ? mark + 1 : r->shown;
}

static void note_member(void *ctx, const struct intake_report *r)
{
	struct tecken *t = ctx;
	const char *name = member_of(r);

	if (r->what == INTAKE_PRESENT) {
		add_name(&t->skipped, name);
	} else if (r->what == INTAKE_REFUSED && !tecken_ignores(name)) {
		add_name(&t->refused, name);
		add_name(&t->refused, r->why);
	}
}

static int answer(struct exchange *x, struct tecken *t, uint64_t size)
{
	static atomic_uint_fast64_t number;
	struct tecken_upload facts = {
		.id = (uint64_t)x->h->started * 1000 + atomic_fetch_add(&number, 1),
		.size = size,
		.file_name = t->file.name,
		.bucket = x->space->name,
		.user = exchange_user(x),
		.try = t->try || !upload_is_regular(x),
		.began = t->began,
		.ended = clock_wall(),
		.skipped = &t->skipped,
		.refused = &t->refused,
	};

	x->reply = BUF_UP_TO(2 * NAMES_MOST);
	return upload_answer_json(x, 201, tecken_answer(&facts, &x->reply));
}

static int judge(struct exchange *x, struct tecken *t)
{
	struct view v = view_of_fd(draft_fd(t->file.draft), draft_size(t->file.draft));
	struct err e = {0};
	int r = tecken_judge(&v, t->file.name, &e);

	if (r == -EINVAL)
		return upload_refuse(x, 400, "%s", e.text);
	return r < 0 ? upload_refuse_errno(x, r, e.text) : 0;
}

static int tecken_done(struct exchange *x)
{
	struct tecken *t = x->upload->ctx;
	uint64_t size = t && t->file.draft ? draft_size(t->file.draft) : 0;
	struct intake_item it = {.name = "", .named = true, .strict = true};
	struct upload_outcome out;
	int r;

	if (t && t->url && !t->file.draft)
		return upload_refuse(x, 400, "this server takes archives in the form, and downloads none from a URL");
	if (!t || !t->file.draft)
		return upload_refuse(x, 400, "Must be multipart form data with at least one file");
	r = judge(x, t);
	if (r)
		return r;
	it.shown = t->file.name;
	x->upload->try |= t->try;
	r = upload_store_file(x, &t->file, &it, &out, note_member, t);
	if (r)
		return r;
	if (out.refused && !out.added && !out.present)
		return upload_refuse_file(x, &out, 400);
	return answer(x, t, size);
}

const struct upload_ops upload_tecken[] = {
	{ROUTE_TECKEN, .body = UPLOAD_FORM, .json = true, .tecken = true, .file = tecken_file, .field = tecken_field,
		.done = tecken_done, .release = tecken_release},
	{ROUTE_NONE}};
