/* Receives the bodies of uploads: collects chunks, has workers write them to drafts of the store, and calls
 * the route. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "http/upload/upload.h"
#include "base/log.h"
#include "base/util.h"
#include "intake/upload/assemble.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FORM_BUFFER (32u << 10) /* bytes that libmicrohttpd collects of a part's head */

/* ---- slots ----------------------------------------------------------------------- */

/* Finds a free slot that the client may take. A token takes no more slots than it leaves, so whoever comes later
 * finds one. Under slots_lock. */
static int find_slot(const struct exchange *x, struct upload_slot **out)
{
	struct uploads *all = x->h->uploads;
	unsigned own = 0, left = 0;

	*out = NULL;
	for (unsigned i = 0; i < UPLOADS_MOST; i++) {
		struct upload_slot *s = &all->slots[i];

		left += !s->taken;
		own += s->taken && memcmp(s->digest, x->token.digest, sizeof(s->digest)) == 0;
		if (!s->taken)
			*out = s;
	}
	return !*out ? -EBUSY : x->known && own >= left ? -EUSERS : 0;
}

/* 0, or the status of a refusal. Under slots_lock. */
static int judge_slot(struct exchange *x, struct upload_slot **out)
{
	int r = find_slot(x, out);

	if (r == -EUSERS)
		return upload_refuse(x, 503, "the token %s sends as many uploads at the same time as are left to "
			"others; try again later", x->token.name);
	return r < 0 ? upload_refuse(x, 503, "too many uploads at the same time; try again later") : 0;
}

int upload_slot_check(struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->slots_lock);
	struct upload_slot *s;

	return judge_slot(x, &s);
}

/* 0, or the status of a refusal. */
static int slot_take(struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->slots_lock);
	struct upload_slot *s;
	int status = judge_slot(x, &s);

	if (status)
		return status;
	s->taken = true;
	memcpy(s->digest, x->token.digest, sizeof(s->digest));
	x->upload->slot = s;
	return 0;
}

static void slot_leave(struct exchange *x)
{
	LOCK_SCOPE(&x->h->uploads->slots_lock);

	if (x->upload->slot)
		x->upload->slot->taken = false;
	x->upload->slot = NULL;
}

void upload_numbers(struct http *h, const struct space *s, each_number *each, void *ctx)
{
	struct uploads *u = h->uploads;
	unsigned taken = 0, assembling = 0;

	pthread_mutex_lock(&u->slots_lock);
	for (unsigned i = 0; i < UPLOADS_MOST; i++)
		taken += u->slots[i].taken;
	pthread_mutex_unlock(&u->slots_lock);
	pthread_mutex_lock(&u->lock);
	if (s->assembly)
		assembly_count(s->assembly, &assembling);
	pthread_mutex_unlock(&u->lock);
	each(ctx, "uploads_receiving", "uploads whose bodies are being received", "gauge", taken);
	each(ctx, "uploads_unwritten", "pieces of uploads that wait for a thread that writes them", "gauge",
		workers_queued(u->writers));
	each(ctx, "uploads_queued", "uploads that wait for a thread that stores them", "gauge",
		workers_queued(u->judges));
	each(ctx, "uploads_assembling", "files of chunks that wait or are being stored", "gauge", assembling);
}

/* ---- refusals ------------------------------------------------------------------------- */

int upload_refuse(struct exchange *x, int status, const char *fmt, ...)
{
	struct upload *u = x->upload;
	va_list args;

	va_start(args, fmt);
	vsnprintf(u->e.text, sizeof(u->e.text), fmt, args);
	va_end(args);
	u->status = status;
	u->type = NULL;
	return status;
}

int upload_refuse_errno(struct exchange *x, int r, const char *text)
{
	text = text && text[0] ? text : err_text(r);
	if (r == -ENOSPC || r == -EDQUOT)
		return upload_refuse(x, 507, "the disk of the server is full: %s", text);
	if (r == -EFBIG)
		return upload_refuse(x, 413, "the file is too large for the server: %s", text);
	return upload_refuse(x, 503, "the server cannot store the file: %s; try again later", text);
}

int upload_answer(struct exchange *x, int status, const char *type)
{
	x->upload->status = status;
	x->upload->type = type;
	return 0;
}

int upload_answer_json(struct exchange *x, int status, int r)
{
	return r < 0 ? upload_refuse_errno(x, r, NULL) : upload_answer(x, status, "application/json");
}

void *upload_ctx(struct exchange *x, size_t n)
{
	if (!x->upload->ctx && !(x->upload->ctx = calloc(1, n)))
		upload_refuse_errno(x, -ENOMEM, NULL);
	return x->upload->ctx;
}

bool upload_is_regular(struct exchange *x)
{
	return !x->upload->try && exchange_may(x, AUTH_UPLOAD) == 0;
}

/* ---- its memory ------------------------------------------------------------------------- */

/* Frees the memory that is needed only while the body arrives, so that the server can receive another body. */
static void stop_receiving(struct exchange *x)
{
	struct upload *u = x->upload;

	if (u->form)
		MHD_destroy_post_processor(u->form);
	u->form = NULL;
	free(take(u->chunk));
	u->n = 0;
	slot_leave(x);
}

static void drop(struct exchange *x)
{
	stop_receiving(x);
	draft_discard(take(x->upload->file.draft));
}

/* 0, or the status of a refusal. */
static int start_receiving(struct exchange *x)
{
	struct upload *u = x->upload;
	int status = slot_take(x);

	if (status)
		return status;
	u->chunk = malloc(UPLOAD_CHUNK);
	return u->chunk ? 0 : upload_refuse_errno(x, -ENOMEM, NULL);
}

void upload_free(struct exchange *x)
{
	struct upload *u = x->upload;

	drop(x);
	if (u->ops->release)
		u->ops->release(u->ctx);
	free(u);
}

/* ---- writing: on a worker --------------------------------------------------------------- */

static int begin_file(struct exchange *x)
{
	struct upload *u = x->upload;
	struct err e = {0};
	int r = draft_new(&u->file.draft, x->space->store, &e);

	return r < 0 ? upload_refuse_errno(x, r, e.text) : 0;
}

static int write_file(struct exchange *x, const void *p, size_t n)
{
	struct upload *u = x->upload;
	int r;

	u->some = true;
	if (u->ops->bytes)
		return u->ops->bytes(x, p, n);
	r = u->file.draft ? 0 : begin_file(x);
	if (r)
		return r;
	if (n > u->file_most - draft_size(u->file.draft))
		return upload_refuse(x, 413, "the file is larger than %llu bytes, the limit of this server",
			(unsigned long long)u->file_most);
	r = draft_write(u->file.draft, draft_size(u->file.draft), p, n);
	return r < 0 ? upload_refuse_errno(x, r, NULL) : 0;
}

static int end_file(struct exchange *x)
{
	struct upload *u = x->upload;
	int r = u->file.draft || u->ops->bytes ? 0 : begin_file(x);

	if (r == 0 && u->ops->file)
		r = u->ops->file(x, &u->file);
	draft_discard(take(u->file.draft));
	u->files++;
	return r;
}

/* ---- forms ------------------------------------------------------------------------------ */

static int end_part(struct exchange *x)
{
	struct upload *u = x->upload;
	bool field = u->in_field;

	if (!u->in_part)
		return 0;
	u->in_part = u->in_field = false;
	if (!field)
		return end_file(x);
	u->value[u->value_n] = '\0';
	return u->ops->field ? u->ops->field(x, u->file.name, u->value) : 0;
}

static int begin_part(struct exchange *x, const char *name, const char *file_name)
{
	struct upload *u = x->upload;

	if (++u->parts > UPLOAD_PARTS_MOST)
		return upload_refuse(x, 400, "the form has more than %d parts", UPLOAD_PARTS_MOST);
	if (strlen(name) >= UPLOAD_NAME || (file_name && strlen(file_name) >= UPLOAD_NAME))
		return upload_refuse(x, 400, "the name of a part has more than %d bytes", UPLOAD_NAME - 1);
	snprintf(u->file.name, UPLOAD_NAME, "%s", name);
	snprintf(u->file.file_name, UPLOAD_NAME, "%s", file_name ? file_name : "");
	u->in_part = true;
	u->some = false;
	u->in_field = !file_name;
	u->value_n = 0;
	return 0;
}

static int add_value(struct exchange *x, const char *p, size_t n)
{
	struct upload *u = x->upload;

	if (!u->ops->field) { /* only whether the field has bytes is known */
		u->value_n = 1;
		return 0;
	}
	if (n >= sizeof(u->value) - u->value_n)
		return upload_refuse(x, 400, "the field %.100s has more than %zu bytes", u->file.name,
			sizeof(u->value) - 1);
	memcpy(u->value + u->value_n, p, n);
	u->value_n += n;
	return 0;
}

/* libmicrohttpd does not say where a part ends, but the first bytes of a part have the offset 0. A part can
 * begin with several calls without bytes. */
static bool is_new_part(const struct upload *u, const char *name, uint64_t off)
{
	bool empty = u->in_field ? u->value_n == 0 : !u->some;

	return !u->in_part || (off == 0 && (!empty || strcmp(u->file.name, name) != 0));
}

static enum MHD_Result take_part(void *ctx, enum MHD_ValueKind kind, const char *name,
	const char *file_name, const char *type, const char *coding, const char *p, uint64_t off, size_t n)
{
	struct exchange *x = ctx;
	struct upload *u = x->upload;
	int r = 0;

	if (is_new_part(u, name ? name : "", off)) {
		r = end_part(x);
		if (r == 0)
			r = begin_part(x, name ? name : "", file_name);
	}
	if (r == 0 && n)
		r = u->in_field ? add_value(x, p, n) : write_file(x, p, n);
	return r == 0 ? MHD_YES : MHD_NO;
}

static int feed_form(struct exchange *x)
{
	struct upload *u = x->upload;

	if (!u->form)
		u->form = MHD_create_post_processor(x->c, FORM_BUFFER, take_part, x);
	if (!u->form)
		return upload_refuse(x, 400, "the body must be a form (multipart/form-data)");
	if (MHD_post_process(u->form, (const char *)u->chunk, u->n) == MHD_NO && !u->status)
		return upload_refuse(x, 400, "the form is malformed");
	return u->status;
}

static int end_form(struct exchange *x)
{
	struct upload *u = x->upload;

	/* This call passes on the last field of a urlencoded form, which only the end of the body ends. */
	if (u->form && MHD_destroy_post_processor(take(u->form)) == MHD_NO && !u->status)
		return upload_refuse(x, 400, "the form is malformed: it ends too early");
	return u->status ? u->status : end_part(x);
}

/* ---- a chunk ---------------------------------------------------------------------------- */

static int write_chunk(struct exchange *x)
{
	struct upload *u = x->upload;
	int r = 0;

	if (u->n)
		r = u->ops->body == UPLOAD_FORM ? feed_form(x) : write_file(x, u->chunk, u->n);
	u->n = 0;
	return r;
}

static void write_work(void *ctx)
{
	struct exchange *x = ctx;

	if (write_chunk(x)) {
		x->refuse = x->upload->status;
		drop(x);
	}
	exchange_resume(x);
}

/* The last chunk, and then all that the route does. */
static void finish_work(void *ctx)
{
	struct exchange *x = ctx;
	struct upload *u = x->upload;
	int r = 0;

	if (atomic_load(&x->left))
		r = upload_refuse(x, 503, "the client disconnected");
	else if (!rights_still(x))
		r = upload_refuse(x, 401, "the token has ended while the upload arrived");
	else
		r = write_chunk(x);
	if (r == 0 && u->ops->body != UPLOAD_TEXT)
		r = u->ops->body == UPLOAD_FORM ? end_form(x) : end_file(x);
	stop_receiving(x);
	if (r == 0)
		r = u->ops->done ? u->ops->done(x) : 0;
	if (r)
		drop(x);
	exchange_resume(x);
}

/* ---- the thread of the connection --------------------------------------------------------- */

/* A short body of a refused request is read to its end, and then the client gets the answer. A longer body is
 * answered early, and the connection ends. Its bytes are read on for a while: closing the connection at once would
 * make the kernel reset it, and the client would not see the answer. */
static enum MHD_Result skip(struct exchange *x, size_t *n)
{
	struct upload *u = x->upload;

	u->skipped += *n;
	*n = 0;
	x->status = x->refuse;
	if (u->skipped > UPLOAD_REFUSED_MOST && !x->answered && !exchange_refuse_early(x))
		return MHD_NO;
	return u->skipped <= UPLOAD_REFUSED_MOST + UPLOAD_UNREAD_MOST ? MHD_YES : MHD_NO;
}

bool upload_refuse_head(struct exchange *x)
{
	const char *length = exchange_header(x, "Content-Length");

	return x->upload->ops->body == UPLOAD_TEXT || !length ||
	       strtoull(length, NULL, 10) <= UPLOAD_REFUSED_MOST || exchange_refuse_early(x);
}

enum MHD_Result upload_take(struct exchange *x, const char *p, size_t *n)
{
	struct upload *u = x->upload;
	size_t some;

	if (u->writing)
		conn_busy(x->conn, false);
	u->writing = false;
	if (!x->refuse)
		conn_moves(x->conn, *n);
	if (!x->refuse && !u->slot)
		x->refuse = start_receiving(x);
	if (!x->refuse && *n > u->most - u->received)
		x->refuse = upload_refuse(x, 413, "the upload is larger than %llu bytes, the limit of this server",
			(unsigned long long)u->most);
	if (x->refuse) {
		drop(x);
		return skip(x, n);
	}
	some = MIN(*n, UPLOAD_CHUNK - u->n);
	memcpy(u->chunk + u->n, p, some);
	u->n += some;
	u->received += some;
	*n -= some;
	/* A full chunk is written only when further bytes are there. These are not taken: libmicrohttpd then calls
	 * this function again when the worker has resumed the connection, and not before. */
	if (*n) {
		u->writing = true;
		conn_busy(x->conn, true);
		exchange_post(x, STEP_BODY, x->h->uploads->writers, write_work);
	}
	return MHD_YES;
}

enum MHD_Result upload_handle(struct exchange *x)
{
	struct upload *u = x->upload;

	struct uploads *all = x->h->uploads;

	if (x->step < STEP_ANSWER) {
		exchange_post(x, STEP_ANSWER,
			u->ops->answers ? x->h->workers : u->ops->quick ? all->writers : all->judges, finish_work);
		return MHD_YES;
	}
	if (!u->type)
		return upload_send_error(x, u->status ? u->status : 500, "a local error");
	return exchange_buf(x, u->status, u->type, "no-store", &x->reply);
}
