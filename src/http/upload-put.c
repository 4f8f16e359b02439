/* PUT /LAYOUT/path: stores a file if it is what the path says. DELETE removes it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "http/upload-intake.h"
#include "layout/name.h"

#include <stdio.h>
#include <string.h>

#define TEXT "text/plain; charset=utf-8"

static const char *what_text(enum intake_what what)
{
	return what == INTAKE_ADDED ? "added" : what == INTAKE_IMPROVED ? "improved" : "present";
}

/* A line for each part: a file can have a slice for each architecture. */
static void list_part(void *ctx, const struct intake_report *r)
{
	struct exchange *x = ctx;
	char room[KEY_TEXT];

	if (r->what != INTAKE_REFUSED)
		buf_addf(&x->reply, "%s %s\n", what_text(r->what), key_text(&r->key, room));
}

/* The status of a refusal: 413 if a part is too large, else 422. */
static int refused_status(int error)
{
	return error == -EFBIG || error == -E2BIG ? 413 : 422;
}

static int put_file(struct exchange *x, struct upload_file *f)
{
	const char *slash = strrchr(x->route->path, '/'), *name = slash ? slash + 1 : x->route->path;
	struct intake_item it = {.shown = name,
		.name = name,
		.named = true,
		.claims = x->route->hit.files,
		.n_claims = x->route->hit.n,
		.compare = true};
	struct upload_outcome out;
	int r = upload_store_file(x, f, &it, &out, list_part, x);

	if (r)
		return r;
	if (out.refused)
		return upload_refuse(x, refused_status(out.error), "%s", out.why);
	if (!out.added && out.differs)
		return upload_refuse(x, 409, "%s: another file is stored under this key, and this file is not better",
			name);
	return upload_answer(x, out.added ? 201 : 200, TEXT);
}

const struct upload_ops upload_put = {.body = UPLOAD_FILE, .file = put_file};

/* Removes the file that a GET of the path finds in the store. Its tombstones name the token. */
static int delete_done(struct exchange *x)
{
	const struct tree_hit *hit = &x->route->hit;
	char why[AUTH_NAME + 16];
	int r = -ENOENT;
	struct key k;

	snprintf(why, sizeof(why), "purged by %s", x->known ? exchange_user(x) : "a local client");

	for (unsigned i = 0; i < hit->n && r == -ENOENT; i++) {
		if (key_of(&k, &hit->files[i]) < 0)
			continue;
		r = store_purge(x->space->store, &k, why);
		if (r == 0)
			audit_write(x, "purge", NULL, &k, NULL);
	}
	if (r == -ENOENT)
		return upload_refuse(x, 404, "Not Found");
	return r < 0 ? upload_refuse_errno(x, r, NULL) : upload_answer(x, 204, TEXT);
}

const struct upload_ops upload_delete = {.body = UPLOAD_TEXT, .quick = true, .done = delete_done};
