/* Version 2 of the uploads of Mozilla's symbol server (Tecken): the client names its files, gets a URL for each that
 * the server lacks, and sends the file there as Google's storage takes it in parts ("gcs-resumable"). At Mozilla the
 * URL is one of the bucket. Here it is one of the server, which judges each file before any client can see it. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "http/upload/upload-begun.h"
#include "intake/upload/assemble.h"
#include "intake/upload/filed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MOST (8u << 20)

/* The name of a file's record. As Tecken does, the server skips a file that it has with this name, size and MD5. */
static struct sha1 record_name(const struct tecken_file *f)
{
	char text[TECKEN_NAME + 48];
	uint8_t sum[32];
	struct sha1 s;
	int n = snprintf(text, sizeof(text), "%s\n%" PRIu64 "\n", f->name, f->size);

	memcpy(text + n, f->md5, sizeof(f->md5));
	sha256_of(text, (size_t)n + sizeof(f->md5), sum);
	memcpy(s.bytes, sum, sizeof(s.bytes));
	return s;
}

/* ---- the bytes --------------------------------------------------------------------------------- */

/* Reads "bytes FIRST-LAST/TOTAL". Without bytes the range is `*`, and so can TOTAL be. */
static bool read_range(const char *p, uint64_t *first, uint64_t *total)
{
	int n;

	*first = *total = UINT64_MAX;
	if (strcmp(p, "bytes */*") == 0 || sscanf(p, "bytes */%" SCNu64, total) == 1)
		return true;
	n = sscanf(p, "bytes %" SCNu64 "-%*u/%" SCNu64, first, total);
	return n == 2 || (n == 1 && p[strlen(p) - 1] == '*');
}

/* The upload of the request, which belongs to the request from now on. NULL: refused. */
static struct begun *upload_of(struct exchange *x)
{
	const char *range = exchange_header(x, "Content-Range");
	struct begun *p = x->upload->ctx;

	if (p || !(p = begun_take(x)))
		return p;
	p->at = 0;
	p->total = UINT64_MAX;
	if (!range || read_range(range, &p->at, &p->total))
		return x->upload->ctx = p;
	atomic_store(&p->busy, false);
	upload_refuse(x, 400, "Content-Range: expected \"bytes FIRST-LAST/TOTAL\"");
	return NULL;
}

static uint64_t bytes_here(const struct begun *p)
{
	return p->body.draft ? draft_size(p->body.draft) : p->body.size;
}

/* Keeps the bytes that continue the file. A client may send bytes again, and those behind a gap are of no use. */
static int take_bytes(struct exchange *x, const void *bytes, size_t n)
{
	struct begun *p = upload_of(x);
	uint64_t here = p ? bytes_here(p) : 0, old, most;
	int r = 0;

	if (!p)
		return x->upload->status;
	if (p->at > here)
		return 0;
	old = MIN(here - p->at, (uint64_t)n);
	p->at += n;
	n -= old;
	most = MIN(x->upload->file_most, p->total);
	if (n && (p->body.fd >= 0 || here > most || n > most - here))
		return upload_refuse(x, 413, "the file is larger than its Content-Range, or than %" PRIu64 " bytes, "
			"the limit of this server", x->upload->file_most);
	if (n && !p->body.draft)
		r = begun_draft(x, p);
	if (r || !n)
		return r;
	r = draft_write(p->body.draft, here, (const uint8_t *)bytes + old, n);
	return r < 0 ? upload_refuse_errno(x, r, NULL) : 0;
}

/* ---- the file is complete ---------------------------------------------------------------------- */

static bool is_announced(const struct tecken_file *f, uint64_t size, const uint8_t *md5)
{
	return size == f->size && memcmp(md5, f->md5, sizeof(f->md5)) == 0;
}

/* Keeps the record of a stored file. A client that was asked to pack its file has announced what is in it, and so
 * what the store has. Without a record, the client sends the file another time. */
static void record(struct exchange *x, const struct begun *p, uint64_t size, const uint8_t *md5, struct filed *f)
{
	struct sha1 name = record_name(&p->file);
	_cleanup_blob_ struct blob *b = NULL;
	uint8_t inside[DIGEST_BYTES];

	f->dif.size = p->file.size;
	if (is_announced(&p->file, size, md5) ||
		(store_find(x->space->store, &f->keys[0], &b) == 0 &&
			digest_of_fd("MD5", blob_fd(b), blob_size(b), inside) == 0 &&
			is_announced(&p->file, blob_size(b), inside)))
		assembly_record(x->space->assembly, &name, f);
}

static void note_key(void *ctx, const struct intake_report *r)
{
	struct filed *f = ctx;

	if (r->what != INTAKE_REFUSED && f->n < FILED_KEYS_MOST)
		f->keys[f->n++] = r->key;
}

/* Stores the file as a member of an archive with this name would be. 0, or the status of a refusal. */
static int store_upload(struct exchange *x, struct begun *p)
{
	_cleanup_free_ struct filed *f = calloc(1, sizeof(*f));
	uint64_t size = bytes_here(p);
	uint8_t md5[DIGEST_BYTES];
	struct artifact claims[INTAKE_CLAIMS_MOST];
	struct intake_item it = {.shown = p->file.name, .name = strrchr(p->file.name, '/') + 1, .named = true,
		.strict = true, .claims = claims, .n_claims = intake_claims(p->file.name, claims)};
	struct upload_outcome out;
	int r = !f ? -ENOMEM : digest_of_fd("MD5", p->body.draft ? draft_fd(p->body.draft) : p->body.fd, size, md5);

	if (r < 0)
		return upload_refuse_errno(x, r, NULL);
	if (!p->file.packed && !is_announced(&p->file, size, md5))
		return upload_refuse(x, 400, "%s has another size or MD5 than the request said", p->file.name);
	r = upload_store_file(x, &p->body, &it, &out, note_key, f);
	if (r)
		return r;
	if (!f->n)
		return upload_refuse_file(x, &out, 422);
	record(x, p, size, md5, f);
	return upload_answer_json(x, 200, tecken_object_answer(x->space->name, &p->file, size, md5, &x->reply));
}

/* 308 asks for the rest of the file. */
static int bytes_done(struct exchange *x)
{
	struct begun *p = upload_of(x);
	uint64_t here = p ? bytes_here(p) : 0;
	int r;

	if (!p)
		return x->upload->status;
	x->upload->ctx = NULL;
	if (exchange_header(x, "Content-Range") && here < p->total) {
		atomic_store(&p->busy, false);
		x->upload->here = here;
		return upload_answer(x, 308, PLAIN);
	}
	r = here ? store_upload(x, p) : upload_refuse(x, 400, "%s is empty", p->file.name);
	begun_end(x, p, r);
	return r;
}

static void bytes_release(void *ctx)
{
	struct begun *p = ctx;

	if (p)
		atomic_store(&p->busy, false);
}

static const struct upload_ops bytes_ops = {ROUTE_SYM_BYTES, .body = UPLOAD_FILE, .json = true, .ranges = true,
	.bytes = take_bytes, .done = bytes_done, .release = bytes_release};

/* ---- which files ------------------------------------------------------------------------------- */

static int auth_done(struct exchange *x)
{
	return upload_answer_json(x, 200,
		tecken_auth_answer(exchange_user(x), !upload_is_regular(x), x->token.until, &x->reply));
}

static int begin_done(struct exchange *x)
{
	static atomic_uint_fast64_t number;
	_cleanup_free_ struct tecken_file *files = NULL;
	struct span body = {(const uint8_t *)buf_text(&x->body), x->body.n};
	struct assembly *a = upload_assembly(x);
	/* Mozilla's client reads an id of 32 bits. */
	struct tecken_upload facts = {.id = (uint32_t)((uint64_t)x->h->started + atomic_fetch_add(&number, 1)),
		.user = exchange_user(x), .try = !upload_is_regular(x), .began = clock_wall()};
	char address[ADDRESS_TEXT];
	struct store_hold hold;
	struct err e = {0};
	unsigned n = 0;
	int r = a ? tecken_files_read(body, &files, &n) : 0, status = exchange_hold(x, false, &hold, &e);

	if (!a)
		return x->upload->status;
	if (r < 0 && r != -ENOMEM)
		return upload_refuse(x, 400, r == -E2BIG ? "too many files" : "malformed JSON request body");
	if (r < 0 || status)
		return r < 0 ? upload_refuse_errno(x, r, NULL) : upload_refuse(x, status, "%s", e.text);
	for (unsigned i = 0; i < n && !atomic_load(&x->left); i++) {
		struct sha1 name = record_name(&files[i]);

		files[i].here = !files[i].error && assembly_has(a, &name, &hold);
	}
	r = begun_add(x, files, n, &bytes_ops);
	if (r)
		return r;
	exchange_address(x, address);
	x->reply = BUF_UP_TO(ANSWER_MOST);
	r = tecken_begin_answer(&facts, files, n, address, x->route->query, &x->reply);
	return upload_answer_json(x, 201, r);
}

const struct upload_ops upload_tecken2[] = {
	{ROUTE_TECKEN_AUTH, .body = UPLOAD_TEXT, .json = true, .tecken = true, .quick = true, .done = auth_done},
	{ROUTE_TECKEN_BEGIN, .body = UPLOAD_TEXT, .json = true, .tecken = true, .done = begin_done},
	{ROUTE_NONE}};
