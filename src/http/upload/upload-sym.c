/* The uploads of Breakpad's sym_upload. In its second protocol the client asks for a URL, sends the bytes there
 * without its key, and then says in a third request what they are. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/upload/upload-begun.h"
#include "intake/upload/sym-upload.h"

#include <stdio.h>
#include <string.h>

static int check_done(struct exchange *x)
{
	struct sym_upload_claim claim = {.type = "BREAKPAD"};
	struct artifact a[SYM_UPLOAD_CLAIMS_MOST];
	struct sym_upload_path path;
	struct key k, named;
	bool found = false;

	sym_upload_parse(x->route->path, &path);
	snprintf(claim.debug_file, sizeof(claim.debug_file), "%s", path.debug_file);
	snprintf(claim.debug_id, sizeof(claim.debug_id), "%s", path.debug_id);
	if (sym_upload_artifacts(&claim, a) && key_of(&k, &a[0]) == 0) {
		named = store_key(x->space->store, &k);
		found = store_has(x->space->store, &named, NULL);
	}
	return upload_answer_json(x, 200, sym_upload_status(&x->reply, found));
}

static int create_done(struct exchange *x)
{
	char address[ADDRESS_TEXT], url[ADDRESS_TEXT + SYM_UPLOAD_KEY + 16];
	struct tecken_file one = {.error = NULL};
	int r = begun_add(x, &one, 1, NULL);

	if (r)
		return r;
	/* The client sends the file to this URL, through the same reverse proxy if there is one. */
	exchange_address(x, address);
	snprintf(url, sizeof(url), "%s/v1/uploads/%s", address, one.upload);
	return upload_answer_json(x, 200, sym_upload_created(&x->reply, url, one.upload));
}

/* A client that tries again replaces the earlier bytes. */
static int bytes_file(struct exchange *x, struct upload_file *f)
{
	struct begun *p = begun_take(x);

	if (!p)
		return x->upload->status;
	draft_discard(p->body.draft);
	if (p->body.fd >= 0)
		close(p->body.fd);
	p->body.draft = take(f->draft);
	p->body.fd = -1;
	atomic_store(&p->busy, false);
	return upload_answer_json(x, 200, 0);
}

/* Stores a file that a client claims to be `c`. 0, or the status of a refusal. */
static int store_claimed(struct exchange *x, struct upload_file *f, const struct sym_upload_claim *c,
	struct upload_outcome *out)
{
	struct artifact claims[SYM_UPLOAD_CLAIMS_MOST];
	struct intake_item it = {.shown = c->debug_file[0] ? c->debug_file : "the file",
		.name = c->debug_file,
		.named = true,
		.claims = claims};
	int r;

	it.n_claims = sym_upload_artifacts(c, claims);
	if (!it.n_claims)
		return upload_refuse(x, 400, "%.100s: not a debug id, or \"%s\" is not a type that this server takes",
			c->debug_id, c->type);
	r = upload_store_file(x, f, &it, out, NULL, NULL);
	if (r == 0 && out->refused)
		r = upload_refuse_file(x, out, 422);
	return r;
}

static int complete_done(struct exchange *x)
{
	struct sym_upload_claim claim;
	struct upload_outcome out;
	struct begun *p;
	int r;

	if (sym_upload_read_claim(buf_text(&x->body), x->body.n, &claim) < 0)
		return upload_refuse(x, 400, "the body must name debug_file and debug_id");
	p = begun_take(x);
	if (!p)
		return x->upload->status;
	if (!p->body.draft && p->body.fd < 0) {
		atomic_store(&p->busy, false);
		return upload_refuse(x, 400, "no file was sent to the upload URL");
	}
	r = store_claimed(x, &p->body, &claim, &out);
	begun_end(x, p, r);
	return r ? r : upload_answer_json(x, 200, sym_upload_result(&x->reply, !out.added));
}

/* ---- the first protocol: one form ------------------------------------------------------------------ */

struct form {
	struct upload_file file;
	struct sym_upload_claim claim;
};

static int form_field(struct exchange *x, const char *name, const char *value)
{
	struct form *f = upload_ctx(x, sizeof(*f));

	if (!f)
		return x->upload->status;
	if (strcmp(name, "debug_file") == 0)
		snprintf(f->claim.debug_file, sizeof(f->claim.debug_file), "%s", value);
	if (strcmp(name, "debug_identifier") == 0)
		snprintf(f->claim.debug_id, sizeof(f->claim.debug_id), "%s", value);
	return 0;
}

static int form_file(struct exchange *x, struct upload_file *file)
{
	struct form *f = upload_ctx(x, sizeof(*f));

	if (!f)
		return x->upload->status;
	if (strcmp(file->name, "symbol_file") == 0 && !f->file.draft)
		f->file.draft = take(file->draft);
	return 0;
}

static int form_done(struct exchange *x)
{
	struct form *f = x->upload->ctx;
	struct upload_outcome out;
	int r;

	if (!f || !f->file.draft || !f->claim.debug_id[0])
		return upload_refuse(x, 400, "the form must have the fields debug_file and debug_identifier, and the "
					     "file symbol_file");
	r = store_claimed(x, &f->file, &f->claim, &out);
	if (r == 0 && buf_adds(&x->reply, out.added ? "stored\n" : "present\n") < 0)
		r = upload_refuse_errno(x, -ENOMEM, NULL);
	return r ? r : upload_answer(x, 200, PLAIN);
}

static void form_release(void *ctx)
{
	struct form *f = ctx;

	if (f)
		draft_discard(f->file.draft);
	free(f);
}

const struct upload_ops upload_sym[] = {
	{ROUTE_SYM_CHECK, .body = UPLOAD_TEXT, .quick = true, .done = check_done},
	{ROUTE_SYM_CREATE, .body = UPLOAD_TEXT, .quick = true, .done = create_done},
	{ROUTE_SYM_BYTES, .body = UPLOAD_FILE, .quick = true, .file = bytes_file},
	{ROUTE_SYM_COMPLETE, .body = UPLOAD_TEXT, .done = complete_done},
	{ROUTE_SYM_FORM, .body = UPLOAD_FORM, .file = form_file, .field = form_field, .done = form_done,
		.release = form_release},
	{ROUTE_NONE}};
