/* Reads and writes the JSON of Sentry's chunk upload. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/upload/sentry.h"
#include "base/clock.h"
#include "base/jtext.h"
#include "base/path.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* A member of the outermost object has a name and a value; a file has three members and a list. */
#define TOKENS_MOST (8u * SENTRY_FILES_MOST + SENTRY_CHUNKS_MOST + 64)

static const char *const states[] = {
	[SENTRY_NOT_FOUND] = "not_found",
	[SENTRY_CREATED] = "created",
	[SENTRY_ASSEMBLING] = "assembling",
	[SENTRY_OK] = "ok",
	[SENTRY_ERROR] = "error",
};

/* ---- paths ------------------------------------------------------------------------------ */

enum sentry_path sentry_path_parse(const char *path, char project[static SENTRY_PROJECT_MAX])
{
	static const struct {
		const char *before, *after;
		unsigned slashes; /* in between */
		enum sentry_path what;
	} rows[] = {
		{"api/0/organizations/", "/chunk-upload/", 0, SENTRY_PATH_CHUNKS},
		{"api/0/projects/", "/files/difs/assemble/", 1, SENTRY_PATH_ASSEMBLE},
	};
	size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t b = strlen(rows[i].before), a = strlen(rows[i].after), slashes = 0;

		if (n <= a + b || n - a - b >= SENTRY_PROJECT_MAX || strncmp(path, rows[i].before, b) != 0 ||
			strcmp(path + n - a, rows[i].after) != 0)
			continue;
		for (size_t k = b; k < n - a; k++)
			slashes += path[k] == '/';
		if (slashes != rows[i].slashes)
			continue;
		snprintf(project, SENTRY_PROJECT_MAX, "%.*s", (int)(n - a - b), path + b);
		return rows[i].what;
	}
	return SENTRY_PATH_NONE;
}

/* ---- values --------------------------------------------------------------------------- */

static bool is_kind(const struct jtext *j, uint32_t token, enum jkind kind)
{
	return token && j->token[token].kind == kind;
}

/* Reads a SHA-1. False: the token is not the text of one. */
static bool get_sha1(const struct jtext *j, uint32_t token, struct sha1 *out)
{
	char text[SHA1_TEXT];

	return j->token[token].kind == JTEXT_STRING && jtext_string(j, token, text, sizeof(text)) == SHA1_TEXT - 1 &&
	       sha1_read(text, out) == 0;
}

/* 0 if the object does not have the number. */
static uint64_t get_number(const struct jtext *j, uint32_t object, const char *name)
{
	uint64_t n;

	jtext_get_number(j, object, name, &n);
	return n;
}

/* Reads a list of digests. 0; -EBADMSG: not such a list; -E2BIG. */
static int get_sha1s(const struct jtext *j, uint32_t list, struct sha1 *out, uint32_t *n, uint32_t most)
{
	uint32_t at = list + 1;

	if (!is_kind(j, list, JTEXT_ARRAY))
		return -EBADMSG;
	if (j->token[list].n > most - *n)
		return -E2BIG;
	for (uint32_t i = 0; i < j->token[list].n; i++, at = j->token[at].next)
		if (!get_sha1(j, at, &out[(*n)++]))
			return -EBADMSG;
	return 0;
}

/* ---- requests -------------------------------------------------------------------------- */

void sentry_request_release(struct sentry_request *q)
{
	free(q->files);
	free(q->chunks);
	*q = (struct sentry_request){0};
}

/* The base name counts: some clients send paths, of Windows too. */
static void get_name(const struct jtext *j, uint32_t object, char out[static SENTRY_NAME_MAX])
{
	char text[4096];
	const char *base;

	jtext_get_text(j, object, "name", text, sizeof(text));
	base = path_base(text);
	snprintf(out, SENTRY_NAME_MAX, "%s", path_name_ok(base, strlen(base)) ? base : "");
}

static int read_file(struct sentry_request *q, const struct jtext *j, uint32_t name, uint32_t value)
{
	struct sentry_file *f = &q->files[q->n_files];
	char id[DEBUG_ID_TEXT];
	int r;

	if (!get_sha1(j, name, &f->sha1) || j->token[value].kind != JTEXT_OBJECT)
		return -EBADMSG;
	get_name(j, value, f->name);
	jtext_get_text(j, value, "debug_id", id, sizeof(id));
	if (debug_id_parse(&f->debug_id, id, strlen(id)) < 0)
		f->debug_id = (struct debug_id){0};
	f->first = q->n_chunks;
	r = get_sha1s(j, jtext_member(j, value, "chunks"), q->chunks, &q->n_chunks, SENTRY_CHUNKS_MOST);
	if (r < 0)
		return r;
	f->n = q->n_chunks - f->first;
	q->n_files++;
	return 0;
}

static int read_files(struct sentry_request *q, const struct jtext *j, struct err *e)
{
	uint32_t at = 1, n = j->token[0].n;
	int r = 0;

	if (j->token[0].kind != JTEXT_OBJECT)
		return err_set(e, -EBADMSG, "is not an object of files");
	if (n > SENTRY_FILES_MOST)
		return err_set(e, -E2BIG, "has more than %u files", SENTRY_FILES_MOST);
	q->files = calloc(MAX(n, 1u), sizeof(*q->files));
	q->chunks = calloc(MIN(MAX(j->n, 1u), SENTRY_CHUNKS_MOST), sizeof(*q->chunks));
	if (!q->files || !q->chunks)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		uint32_t value = j->token[at].next;

		r = read_file(q, j, at, value);
		at = j->token[value].next;
	}
	if (r == -EBADMSG)
		return err_set(e, r, "file %u: expected a SHA-1 with an object that has a list of SHA-1s as "
			"\"chunks\"", q->n_files + 1);
	return r == -E2BIG ? err_set(e, r, "has more than %u chunks", SENTRY_CHUNKS_MOST) : r;
}

int sentry_request_read(struct sentry_request *out, struct span body, struct err *e)
{
	struct sentry_request q = {0};
	_cleanup_jtext_ struct jtext j = {0};
	int r = jtext_read(&j, body, TOKENS_MOST, e);

	*out = q;
	if (r == 0)
		r = read_files(&q, &j, e);
	if (r < 0)
		sentry_request_release(&q);
	*out = q;
	return r;
}

static int add_sha1s(struct buf *out, const struct sha1 *list, uint32_t n)
{
	char text[SHA1_TEXT];

	buf_adds(out, "[");
	for (uint32_t i = 0; i < n; i++)
		buf_addf(out, "%s\"%s\"", i ? "," : "", sha1_text(&list[i], text));
	return buf_adds(out, "]");
}

/* Adds `"name":"value"`, after a comma unless `first`; null for "". */
static int add_text(struct buf *out, bool first, const char *name, const char *value)
{
	buf_addf(out, "%s\"%s\":", first ? "" : ",", name);
	return *value ? jtext_add(out, value) : buf_adds(out, "null");
}

int sentry_request_write(struct buf *out, const struct sentry_request *q)
{
	char text[SHA1_TEXT], id[DEBUG_ID_TEXT];

	buf_adds(out, "{");
	for (uint32_t i = 0; i < q->n_files; i++) {
		const struct sentry_file *f = &q->files[i];

		buf_addf(out, "%s\"%s\":{", i ? "," : "", sha1_text(&f->sha1, text));
		add_text(out, true, "name", f->name);
		if (f->debug_id.set)
			add_text(out, false, "debug_id", debug_id_text(&f->debug_id, id));
		buf_adds(out, ",\"chunks\":");
		add_sha1s(out, q->chunks + f->first, f->n);
		buf_adds(out, "}");
	}
	return buf_adds(out, "}");
}

/* ---- answers --------------------------------------------------------------------------- */

/* sentry-cli needs `objectName`, `cpuName` and `sha1`; `symfs` is an addition of this server. */
static int add_dif(struct buf *out, const struct sentry_dif *d, const char *sha1)
{
	char when[24], id[DEBUG_ID_TEXT + 8];

	clock_print(d->stored, when);
	snprintf(id, sizeof(id), "%.36s", d->debug_id);
	buf_addf(out, ",\"dif\":{\"id\":\"%.16s\"", sha1);
	add_text(out, false, "uuid", id);
	add_text(out, false, "debugId", d->debug_id);
	add_text(out, false, "codeId", d->code_id);
	add_text(out, false, "cpuName", d->arch[0] ? d->arch : "any");
	add_text(out, false, "objectName", d->name[0] ? d->name : "?");
	add_text(out, false, "symbolType", d->format);
	return buf_addf(out, ",\"sha1\":\"%s\",\"size\":%llu,\"headers\":{},\"dateCreated\":\"%s\","
			  "\"data\":{\"type\":\"%s\",\"features\":[]},\"symfs\":\"%s\"}",
		sha1, (unsigned long long)d->size, when, d->kind, d->what);
}

int sentry_answer_write(struct buf *out, bool first, const struct sentry_answer *a)
{
	bool missing = a->state == SENTRY_NOT_FOUND;
	char sha1[SHA1_TEXT];

	sha1_text(&a->sha1, sha1);
	buf_addf(out, "%s\"%s\":{\"state\":\"%s\",\"missingChunks\":", first ? "" : ",", sha1, states[a->state]);
	add_sha1s(out, a->missing, missing ? a->n_missing : 0);
	add_text(out, false, "detail", a->detail);
	if (a->state == SENTRY_OK)
		add_dif(out, &a->dif, sha1);
	return buf_adds(out, "}");
}

static void read_dif(const struct jtext *j, uint32_t object, struct sentry_dif *out)
{
	uint32_t data = jtext_member(j, object, "data");

	jtext_get_text(j, object, "objectName", out->name, sizeof(out->name));
	jtext_get_text(j, object, "cpuName", out->arch, sizeof(out->arch));
	jtext_get_text(j, object, "symbolType", out->format, sizeof(out->format));
	jtext_get_text(j, object, "debugId", out->debug_id, sizeof(out->debug_id));
	jtext_get_text(j, object, "codeId", out->code_id, sizeof(out->code_id));
	jtext_get_text(j, object, "symfs", out->what, sizeof(out->what));
	if (is_kind(j, data, JTEXT_OBJECT))
		jtext_get_text(j, data, "type", out->kind, sizeof(out->kind));
	out->size = get_number(j, object, "size");
}

static int read_answer(const struct jtext *j, uint32_t name, uint32_t value, struct sentry_answer *out,
	struct sha1 *missing)
{
	uint32_t list, dif;
	char state[16];
	int r = 0;

	*out = (struct sentry_answer){.state = SENTRY_STATES, .missing = missing};
	if (!get_sha1(j, name, &out->sha1) || j->token[value].kind != JTEXT_OBJECT)
		return -EBADMSG;
	jtext_get_text(j, value, "state", state, sizeof(state));
	for (unsigned i = 0; i < SENTRY_STATES; i++)
		if (strcmp(state, states[i]) == 0)
			out->state = (enum sentry_state)i;
	if (out->state == SENTRY_STATES)
		return -EBADMSG;
	jtext_get_text(j, value, "detail", out->detail, sizeof(out->detail));
	list = jtext_member(j, value, "missingChunks");
	if (out->state == SENTRY_NOT_FOUND)
		r = get_sha1s(j, list, missing, &out->n_missing, SENTRY_CHUNKS_MOST);
	dif = jtext_member(j, value, "dif");
	if (is_kind(j, dif, JTEXT_OBJECT))
		read_dif(j, dif, &out->dif);
	return r;
}

int sentry_answers_read(struct span body, sentry_each *each, void *ctx, struct err *e)
{
	_cleanup_jtext_ struct jtext j = {0};
	_cleanup_free_ struct sha1 *missing = NULL;
	struct sentry_answer a;
	uint32_t at = 1;
	int r = jtext_read(&j, body, 32u * SENTRY_FILES_MOST + SENTRY_CHUNKS_MOST, e);

	if (r < 0)
		return r;
	if (j.token[0].kind != JTEXT_OBJECT)
		return err_set(e, -EBADMSG, "is not an object of files");
	missing = calloc(MIN(j.n, SENTRY_CHUNKS_MOST), sizeof(*missing));
	if (!missing)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < j.token[0].n; i++) {
		uint32_t value = j.token[at].next;

		r = read_answer(&j, at, value, &a, missing);
		if (r < 0)
			return err_set(e, r, "file %u of the answer cannot be read", i + 1);
		r = each(ctx, &a);
		at = j.token[value].next;
	}
	return r;
}

/* ---- options --------------------------------------------------------------------------- */

/* sentry-cli 3 reads no `accept`; older versions upload only what is in it. */
int sentry_options_write(struct buf *out, const struct sentry_options *o)
{
	buf_adds(out, "{\"url\":");
	jtext_add(out, o->url);
	buf_addf(out, ",\"chunkSize\":%llu,\"chunksPerRequest\":%u,\"maxFileSize\":%llu,"
			  "\"maxRequestSize\":%llu,\"concurrency\":%u,\"hashAlgorithm\":\"sha1\",",
		(unsigned long long)o->chunk, o->chunks, (unsigned long long)o->file,
		(unsigned long long)o->request, o->concurrency);
	return buf_addf(out, "\"compression\":[%s],\"accept\":[\"debug_files\",\"pdbs\",\"portablepdbs\","
			  "\"sources\",\"bcsymbolmaps\"]}", o->gzip ? "\"gzip\"" : "");
}

static bool list_has(const struct jtext *j, uint32_t list, const char *word)
{
	uint32_t at = list + 1;
	char text[32];

	for (uint32_t i = 0; is_kind(j, list, JTEXT_ARRAY) && i < j->token[list].n; i++, at = j->token[at].next)
		if (j->token[at].kind == JTEXT_STRING && jtext_string(j, at, text, sizeof(text)) >= 0 &&
			strcmp(text, word) == 0)
			return true;
	return false;
}

int sentry_options_read(struct sentry_options *out, struct span body, struct err *e)
{
	_cleanup_jtext_ struct jtext j = {0};
	struct sentry_options o = {0};
	char hash[16];
	int r = jtext_read(&j, body, 1024, e);

	if (r < 0)
		return r;
	if (j.token[0].kind != JTEXT_OBJECT)
		return err_set(e, -EBADMSG, "is not an object");
	jtext_get_text(&j, 0, "url", o.url, sizeof(o.url));
	jtext_get_text(&j, 0, "hashAlgorithm", hash, sizeof(hash));
	o.chunk = get_number(&j, 0, "chunkSize");
	o.request = get_number(&j, 0, "maxRequestSize");
	o.file = get_number(&j, 0, "maxFileSize");
	o.chunks = (uint32_t)MIN(get_number(&j, 0, "chunksPerRequest"), (uint64_t)SENTRY_PARTS_MOST);
	o.concurrency = (uint32_t)MIN(get_number(&j, 0, "concurrency"), 16u);
	o.gzip = list_has(&j, jtext_member(&j, 0, "compression"), "gzip");
	if (!o.url[0] || strcmp(hash, "sha1") != 0)
		return err_set(e, -EBADMSG, "has no url, or a hashAlgorithm other than sha1");
	if (o.chunk < 1024 || o.chunk > 256u << 20 || o.chunks == 0 || o.request < o.chunk)
		return err_set(e, -EBADMSG, "has no usable chunkSize, chunksPerRequest and maxRequestSize");
	o.concurrency = MAX(o.concurrency, 1u);
	*out = o;
	return 0;
}

void sentry_refusal_read(struct span body, char out[static SENTRY_TEXT_MAX])
{
	_cleanup_jtext_ struct jtext j = {0};

	out[0] = '\0';
	if (jtext_read(&j, body, 256, NULL) < 0 || j.token[0].kind != JTEXT_OBJECT)
		return;
	jtext_get_text(&j, 0, "error", out, SENTRY_TEXT_MAX);
	if (!out[0])
		jtext_get_text(&j, 0, "detail", out, SENTRY_TEXT_MAX);
}
