/* The uploads of Breakpad's sym_upload. In its second protocol the client asks for a URL, sends the bytes there
 * without its key, and then says in a third request what they are. Between these requests the server keeps the
 * file as a draft, under a random key. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "base/hash.h"
#include "base/util.h"
#include "http/upload-intake.h"
#include "upload/sym-upload.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#define JSON "application/json"
#define PENDING_MOST 256	   /* uploads that were begun and are not complete */
#define PENDING_OF_ONE (PENDING_MOST / 2) /* of them by one token, so that it does not keep out all others */
#define PENDING_MS (3600u * 1000) /* how long one may last */

/* The file of an upload. */
struct bytes {
	struct draft *draft; /* NULL: no bytes came yet, or the store has taken them */
	int fd;		     /* reads the bytes that the store has taken; else -1 */
	uint64_t size;	     /* of `fd` */
};

struct pending {
	char key[SYM_UPLOAD_KEY]; /* "": the entry is free */
	uint64_t since;		  /* clock_ms() */
	struct space *space;
	struct auth_token token;
	bool known;
	bool busy; /* a request stores the file now, and has the bytes */
	struct bytes bytes;
};

struct sym_uploads {
	pthread_mutex_t lock;
	struct pending list[PENDING_MOST];
};

/* ---- uploads that are not complete ---------------------------------------------------------- */

int sym_uploads_new(struct sym_uploads **out)
{
	struct sym_uploads *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

static void bytes_release(struct bytes *b)
{
	draft_discard(b->draft);
	if (b->fd >= 0)
		close(b->fd);
	*b = (struct bytes){.fd = -1};
}

void sym_uploads_free(struct sym_uploads *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < PENDING_MOST; i++)
		if (s->list[i].key[0])
			bytes_release(&s->list[i].bytes);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Under s->lock. NULL: no entry has the key; with the key "": none is free. */
static struct pending *find(struct sym_uploads *s, const char *key)
{
	for (unsigned i = 0; i < PENDING_MOST; i++)
		if (strcmp(s->list[i].key, key) == 0)
			return &s->list[i];
	return NULL;
}

/* Ends an upload. Under s->lock. The caller gets the file. */
static struct bytes clear(struct pending *p)
{
	struct bytes b = p->bytes;

	memset(p, 0, sizeof(*p));
	return b;
}

bool sym_uploads_sweep(struct sym_uploads *s)
{
	struct bytes over[PENDING_MOST];
	unsigned n = 0, left = 0;
	uint64_t now = clock_ms();

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < PENDING_MOST; i++) {
		struct pending *p = &s->list[i];

		if (p->key[0] && !p->busy && now - p->since >= PENDING_MS)
			over[n++] = clear(p);
		left += p->key[0] != '\0';
	}
	pthread_mutex_unlock(&s->lock);
	while (n)
		bytes_release(&over[--n]);
	return left > 0;
}

static bool is_owner(const struct exchange *x, const struct pending *p)
{
	return p->space == x->space && p->known == x->known && strcmp(p->token.name, x->token.name) == 0;
}

/* Under s->lock. A free entry; NULL: all are taken, or the client has as many as one client may have. */
static struct pending *find_free(struct sym_uploads *s, const struct exchange *x)
{
	unsigned own = 0;

	for (unsigned i = 0; i < PENDING_MOST; i++)
		own += s->list[i].key[0] && is_owner(x, &s->list[i]);
	return own < PENDING_OF_ONE ? find(s, "") : NULL;
}

static struct sym_uploads *table_of(const struct exchange *x)
{
	return x->h->uploads->sym;
}

/* ---- requests ---------------------------------------------------------------------------------- */

static int answer_json(struct exchange *x, int r)
{
	return r < 0 ? upload_refuse_errno(x, r, NULL) : upload_answer(x, 200, JSON);
}

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
	return answer_json(x, sym_upload_status(&x->reply, found));
}

static int create_done(struct exchange *x)
{
	char address[ADDRESS_TEXT], url[ADDRESS_TEXT + SYM_UPLOAD_KEY + 16];
	struct sym_uploads *s = table_of(x);
	char key[SYM_UPLOAD_KEY];
	struct pending *p;
	uint8_t bytes[16];
	int r;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return upload_refuse_errno(x, -EIO, NULL);
	hex_print(bytes, sizeof(bytes), key);
	/* The client sends the file to this URL, through the same reverse proxy if there is one. */
	exchange_address(x, address);
	snprintf(url, sizeof(url), "%s/v1/uploads/%s", address, key);
	r = sym_upload_created(&x->reply, url, key);
	if (r < 0)
		return upload_refuse_errno(x, r, NULL);
	sym_uploads_sweep(s);
	pthread_mutex_lock(&s->lock);
	p = find_free(s, x);
	if (p) {
		*p = (struct pending){.since = clock_ms(), .space = x->space, .token = x->token, .known = x->known,
			.bytes.fd = -1};
		memcpy(p->key, key, sizeof(key));
	}
	pthread_mutex_unlock(&s->lock);
	return p ? upload_answer(x, 200, JSON)
		 : upload_refuse(x, 503, "too many uploads were begun and are not complete; try again later");
}

int sym_upload_admit(struct exchange *x)
{
	struct sym_uploads *s = table_of(x);
	struct sym_upload_path path;
	struct pending *p;

	sym_upload_parse(x->route->path, &path);
	pthread_mutex_lock(&s->lock);
	p = path.key[0] ? find(s, path.key) : NULL;
	if (p) {
		x->space = p->space;
		x->token = p->token;
		x->known = p->known;
	}
	pthread_mutex_unlock(&s->lock);
	if (!p)
		return upload_refuse(x, 404, "no such upload, or it is over");
	return rights_still(x) ? 0 : upload_refuse(x, 401, "the token that began this upload has ended");
}

static int refuse_busy(struct exchange *x)
{
	return upload_refuse(x, 503, "another request completes this upload now; try again later");
}

/* A client that tries again replaces the earlier bytes. */
static int bytes_file(struct exchange *x, struct upload_file *f)
{
	struct sym_uploads *s = table_of(x);
	struct sym_upload_path path;
	struct bytes old = {.fd = -1};
	struct pending *p;
	bool busy;

	sym_upload_parse(x->route->path, &path);
	pthread_mutex_lock(&s->lock);
	p = find(s, path.key);
	busy = p && p->busy;
	if (p && !busy) {
		old = p->bytes;
		p->bytes = (struct bytes){.draft = take(f->draft), .fd = -1};
	}
	pthread_mutex_unlock(&s->lock);
	bytes_release(&old);
	if (busy)
		return refuse_busy(x);
	return p ? upload_answer(x, 200, JSON) : upload_refuse(x, 404, "no such upload, or it is over");
}

/* Takes the file of an upload out of its entry, which is busy from now on. 0, or the status of a refusal. */
static int take_bytes(struct exchange *x, struct bytes *out)
{
	struct sym_uploads *s = table_of(x);
	struct sym_upload_path path;
	struct pending *p;

	sym_upload_parse(x->route->path, &path);
	LOCK_SCOPE(&s->lock);
	p = find(s, path.key);
	if (!p || !is_owner(x, p))
		return upload_refuse(x, 404, "no such upload, or it is over");
	if (p->busy)
		return refuse_busy(x);
	if (!p->bytes.draft && p->bytes.fd < 0)
		return upload_refuse(x, 400, "no file was sent to the upload URL");
	p->busy = true;
	*out = p->bytes;
	p->bytes = (struct bytes){.fd = -1};
	return 0;
}

/* Ends an upload, or puts its file back for a further request to complete it. */
static void end_bytes(struct exchange *x, struct bytes *b, bool again)
{
	struct sym_uploads *s = table_of(x);
	struct sym_upload_path path;
	struct pending *p;

	sym_upload_parse(x->route->path, &path);
	pthread_mutex_lock(&s->lock);
	p = find(s, path.key);
	if (p) {
		p->busy = false;
		p->bytes = *b;
		*b = (struct bytes){.fd = -1};
		if (!again)
			*b = clear(p);
	}
	pthread_mutex_unlock(&s->lock);
	bytes_release(b);
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
		r = upload_refuse(x, out->error == -EFBIG ? 413 : 422, "%s", out->why);
	return r;
}

/* Stores the file of an upload. On a status other than 0 the store may have taken the draft all the same: then `b`
 * has a descriptor of the bytes. */
static int store_bytes(struct exchange *x, struct bytes *b, const struct sym_upload_claim *c,
	struct upload_outcome *out)
{
	struct upload_file f = {.draft = b->draft, .fd = b->fd, .size = b->size};
	int r;

	if (b->draft) {
		b->fd = fcntl(draft_fd(b->draft), F_DUPFD_CLOEXEC, 0);
		b->size = draft_size(b->draft);
		if (b->fd < 0)
			return upload_refuse_errno(x, -errno, NULL);
	}
	r = store_claimed(x, &f, c, out);
	b->draft = f.draft;
	if (b->draft) {
		close(b->fd);
		b->fd = -1;
	}
	return r;
}

/* A 503 or 507 asks the client to try again later, so the upload stays as it is. */
static int complete_done(struct exchange *x)
{
	struct sym_upload_claim claim;
	struct bytes b = {.fd = -1};
	struct upload_outcome out;
	int r;

	if (sym_upload_read_claim(buf_text(&x->body), x->body.n, &claim) < 0)
		return upload_refuse(x, 400, "the body must name debug_file and debug_id");
	r = take_bytes(x, &b);
	if (r)
		return r;
	r = store_bytes(x, &b, &claim, &out);
	end_bytes(x, &b, r == 503 || r == 507);
	return r ? r : answer_json(x, sym_upload_result(&x->reply, !out.added));
}

const struct upload_ops upload_sym_check = {.body = UPLOAD_TEXT, .quick = true, .done = check_done};
const struct upload_ops upload_sym_create = {.body = UPLOAD_TEXT, .quick = true, .done = create_done};
const struct upload_ops upload_sym_bytes = {.body = UPLOAD_FILE, .quick = true, .file = bytes_file};
const struct upload_ops upload_sym_complete = {.body = UPLOAD_TEXT, .done = complete_done};

/* ---- the first protocol: one form ------------------------------------------------------------------ */

struct form {
	struct upload_file file;
	struct sym_upload_claim claim;
};

static struct form *form_of(struct exchange *x)
{
	struct upload *u = x->upload;

	if (!u->ctx)
		u->ctx = calloc(1, sizeof(struct form));
	return u->ctx;
}

static int form_field(struct exchange *x, const char *name, const char *value)
{
	struct form *f = form_of(x);

	if (!f)
		return upload_refuse_errno(x, -ENOMEM, NULL);
	if (strcmp(name, "debug_file") == 0)
		snprintf(f->claim.debug_file, sizeof(f->claim.debug_file), "%s", value);
	if (strcmp(name, "debug_identifier") == 0)
		snprintf(f->claim.debug_id, sizeof(f->claim.debug_id), "%s", value);
	return 0;
}

static int form_file(struct exchange *x, struct upload_file *file)
{
	struct form *f = form_of(x);

	if (!f)
		return upload_refuse_errno(x, -ENOMEM, NULL);
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

const struct upload_ops upload_sym_form = {.body = UPLOAD_FORM,
	.file = form_file,
	.field = form_field,
	.done = form_done,
	.release = form_release};
