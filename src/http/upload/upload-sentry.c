/* Sentry's chunk upload, as sentry-cli and `symfs push` send it: the limits, chunks of files, and requests to
 * make files of them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/upload/upload-intake.h"
#include "intake/upload/assemble.h"

#include <stdio.h>
#include <string.h>

#define CONCURRENCY 8 /* connections that a client should use at the same time */
#define ANSWER_MOST (64u << 20)

/* ---- the limits ------------------------------------------------------------------------- */

static int limits_done(struct exchange *x)
{
	char address[ADDRESS_TEXT];
	struct sentry_options o = {
		.chunk = CHUNK_MOST,
		.request = SENTRY_REQUEST_MOST,
		.file = x->h->opts.upload_most,
		.chunks = SENTRY_PARTS_MOST,
		.concurrency = CONCURRENCY,
		.gzip = true,
	};

	/* sentry-cli sends its token to this URL, so it must be the one by which the client knows the server. */
	exchange_address(x, address);
	snprintf(o.url, sizeof(o.url), "%s/%.500s", address, x->route->path);
	x->reply = BUF_UP_TO(8192);
	return upload_answer_json(x, 200, sentry_options_write(&x->reply, &o));
}

/* ---- chunks ------------------------------------------------------------------------------ */

/* Refuses a request with the texts of Sentry's own server, as far as it has them. */
static int refuse_chunk(struct exchange *x, int r)
{
	const char *name = x->upload->file.file_name;

	if (r == -EFBIG)
		return upload_refuse(x, 400, "Chunk size too large: %.40s has more than %u bytes", name, CHUNK_MOST);
	if (r == -EBADMSG)
		return upload_refuse(x, 400, "Chunk %.40s has another SHA-1, or is broken", name);
	return upload_refuse_errno(x, r, NULL);
}

/* Begins the chunk of the part whose bytes come now. */
static int begin_chunk(struct exchange *x)
{
	struct upload *u = x->upload;
	bool gzip = strcmp(u->file.name, "file_gzip") == 0;
	struct assembly *a = upload_assembly(x);
	struct chunk *k = NULL;
	struct sha1 name;
	int r;

	if (!a)
		return u->status;
	if (u->files >= SENTRY_PARTS_MOST)
		return upload_refuse(x, 400, "Too many chunks: more than %u", SENTRY_PARTS_MOST);
	if (!gzip && strcmp(u->file.name, "file") != 0)
		return upload_refuse(x, 400, "the part %.100s is neither file nor file_gzip", u->file.name);
	if (sha1_read(u->file.file_name, &name) < 0)
		return upload_refuse(x, 400, "the part %.100s is not named by a SHA-1", u->file.file_name);
	r = chunk_begin(&k, assembly_chunks(a), &name, gzip);
	if (r < 0)
		return refuse_chunk(x, r);
	u->ctx = k;
	return 0;
}

static int chunk_bytes(struct exchange *x, const void *p, size_t n)
{
	int r = x->upload->ctx ? 0 : begin_chunk(x);

	if (r)
		return r;
	r = chunk_add(x->upload->ctx, p, n);
	return r < 0 ? refuse_chunk(x, r) : 0;
}

static int chunk_file(struct exchange *x, struct upload_file *f)
{
	int r = x->upload->ctx ? 0 : begin_chunk(x);

	if (r)
		return r;
	r = chunk_end(take(x->upload->ctx));
	return r < 0 ? refuse_chunk(x, r) : 0;
}

static int chunks_done(struct exchange *x)
{
	return upload_answer_json(x, 200, 0);
}

static void chunks_release(void *ctx)
{
	chunk_discard(ctx);
}

/* ---- files ------------------------------------------------------------------------------ */

static int answer_files(struct exchange *x, struct assembly *a, const struct sentry_request *q)
{
	struct sha1 *missing = calloc(MAX(q->n_chunks, 1u), sizeof(*missing));
	char project[SENTRY_PROJECT_MAX] = "";
	struct assembly_for by = {.user = exchange_user(x), .peer = x->conn->peer, .project = project};
	struct sentry_answer answer;
	struct err e = {0};
	int r = missing ? 0 : -ENOMEM, trouble = 0, status = exchange_hold(x, false, &by.hold, &e);

	if (status) {
		free(missing);
		return upload_refuse(x, status, "%s", e.text);
	}

	sentry_path_parse(x->route->path, project);
	x->reply = BUF_UP_TO(ANSWER_MOST);
	buf_adds(&x->reply, "{");
	for (uint32_t i = 0; r == 0 && i < q->n_files && !atomic_load(&x->left); i++) {
		assembly_ask(a, &q->files[i], q->chunks, &by, missing, &answer);
		r = sentry_answer_write(&x->reply, i == 0, &answer);
		if (answer.trouble && !trouble) {
			trouble = answer.trouble;
			err_set(&e, trouble, "%.80s: %.300s", q->files[i].name, answer.detail);
		}
	}
	if (r == 0)
		r = buf_adds(&x->reply, "}");
	free(missing);
	/* A state "error" is final for clients; they repeat a request that was answered 503 or 507. */
	if (r == 0 && trouble) {
		buf_clear(&x->reply);
		return upload_refuse(x, trouble == -ENOSPC || trouble == -EDQUOT ? 507 : 503, "%s", e.text);
	}
	return upload_answer_json(x, 200, r);
}

static int assemble_done(struct exchange *x)
{
	struct assembly *a = upload_assembly(x);
	struct sentry_request q;
	struct err e = {0};
	int r;

	if (!a)
		return x->upload->status;
	chunks_sweep_sometimes(assembly_chunks(a));
	r = sentry_request_read(&q, (struct span){(const uint8_t *)buf_text(&x->body), x->body.n}, &e);
	if (r == -EBADMSG || r == -E2BIG)
		return upload_refuse(x, r == -E2BIG ? 413 : 400, "the request %s", e.text);
	if (r < 0)
		return upload_refuse_errno(x, r, NULL);
	r = answer_files(x, a, &q);
	sentry_request_release(&q);
	return r;
}

const struct upload_ops upload_sentry[] = {
	{ROUTE_SENTRY_OPTIONS, .body = UPLOAD_TEXT, .json = true, .done = limits_done},
	{ROUTE_SENTRY_CHUNKS, .body = UPLOAD_FORM, .json = true, .most = SENTRY_REQUEST_MOST + (1u << 20),
		.bytes = chunk_bytes, .file = chunk_file, .done = chunks_done, .release = chunks_release},
	{ROUTE_SENTRY_ASSEMBLE, .body = UPLOAD_TEXT, .json = true, .done = assemble_done},
	{ROUTE_NONE}};
