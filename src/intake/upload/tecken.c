/* The rules of Tecken for archives, and the JSON of its answers. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/upload/tecken.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/jtext.h"
#include "base/util.h"
#include "base/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SYMBOL_LIST "-symbols.txt"
#define NAME_SHOWN 200 /* bytes of a member's name in an error */

/* ---- names ------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcasecmp(text + n - m, end) == 0;
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

bool tecken_ignores(const char *member)
{
	return strcmp(last_part(member), ".DS_Store") == 0 ||
	       (!strchr(member, '/') && ends_with(member, SYMBOL_LIST));
}

/* Tecken's list of characters that may not be in a key of its bucket. */
static bool has_bad_characters(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] < 0x20 || (unsigned char)p[i] >= 0x7f || strchr("\\^`><{}[]#%\"'|/", p[i]))
			return true;
	return false;
}

static bool is_dots(const char *p, size_t n)
{
	return n <= 2 && memcmp(p, "..", n) == 0;
}

static int unrecognized(const char *name, struct err *e)
{
	return err_set(e, -EINVAL,
		"Unrecognized file pattern. Should only be <module>/<hex>/<file> or <name>-symbols.txt and "
		"nothing else. (First unrecognized pattern was '%.*s')", NAME_SHOWN, name);
}

static int judge_name(const char *name, struct err *e)
{
	const char *one = strchr(name, '/'), *two = one ? strchr(one + 1, '/') : NULL;

	if (!two || strchr(two + 1, '/'))
		return unrecognized(name, e);
	if (has_bad_characters(name, (size_t)(one - name)) || has_bad_characters(two + 1, strlen(two + 1)))
		return err_set(e, -EINVAL, "Invalid character in filename '%.*s'", NAME_SHOWN, name);
	/* Tecken takes an empty part and dots; symfs has no key for them. */
	if (is_dots(name, (size_t)(one - name)) || is_dots(two + 1, strlen(two + 1)) || two == one + 1 ||
		!hex_only(one + 1, (size_t)(two - one - 1)))
		return unrecognized(name, e);
	return 0;
}

/* ---- the archive --------------------------------------------------------------------------- */

struct member {
	uint64_t name, size; /* `name`: its hash */
};

static int by_name(const void *a, const void *b)
{
	const struct member *one = a, *two = b;

	return one->name < two->name ? -1 : one->name > two->name;
}

/* Reads the directory once more for the name, because the list has only hashes. */
static int refuse_double(struct view *v, uint64_t hash, uint64_t one, uint64_t two, struct err *e)
{
	struct zip_entry entry;
	struct zip z;
	int r = zip_open(&z, v, e);

	while (r == 0 && (r = zip_next(&z, &entry, e)) == 0 && hash_mix(entry.name, strlen(entry.name)) != hash)
		;
	return r < 0 ? r
		     : err_set(e, -EINVAL,
			       "The zipfile buffer contains two files both called %.*s and they have difference "
			       "sizes (%" PRIu64 " != %" PRIu64 ")", NAME_SHOWN, entry.name, MAX(one, two),
			       MIN(one, two));
}

static int judge_doubles(struct view *v, struct member *list, size_t n, struct err *e)
{
	qsort(list, n, sizeof(*list), by_name);
	for (size_t i = 1; i < n; i++)
		if (list[i].name == list[i - 1].name && list[i].size != list[i - 1].size)
			return refuse_double(v, list[i].name, list[i - 1].size, list[i].size, e);
	return 0;
}

static int judge_members(struct view *v, struct zip *z, struct err *e)
{
	_cleanup_free_ struct member *list = calloc(TECKEN_MEMBERS_MOST, sizeof(*list));
	struct zip_entry entry;
	size_t n = 0;
	int r = list ? 0 : err_set(e, -ENOMEM, "out of memory");

	while (r == 0 && (r = zip_next(z, &entry, e)) == 0) {
		if (entry.name[0] && entry.name[strlen(entry.name) - 1] == '/') /* a directory */
			continue;
		if (n == TECKEN_MEMBERS_MOST)
			return err_set(e, -EINVAL, "The archive has more than %u files", TECKEN_MEMBERS_MOST);
		list[n++] = (struct member){hash_mix(entry.name, strlen(entry.name)), entry.size};
		r = tecken_ignores(entry.name) ? 0 : judge_name(entry.name, e);
	}
	return r == -ENOENT ? judge_doubles(v, list, n, e) : r;
}

int tecken_judge(struct view *v, const char *file_name, struct err *e)
{
	const char *dot = strrchr(last_part(file_name), '.');
	struct zip z;
	int r;

	if (!ends_with(file_name, ".zip"))
		return err_set(e, -EINVAL, "Unrecognized archive file extension \"%.*s\"", NAME_SHOWN,
			dot ? dot : "");
	r = zip_open(&z, v, e);
	if (r == -ENOMSG)
		return err_set(e, -EINVAL, "File is not a zip file");
	if (r == 0)
		r = judge_members(v, &z, e);
	return r == -EBADMSG ? err_set(e, -EINVAL, "Bad zip file: %.300s", e->text) : r;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void add_time(struct buf *out, const char *name, int64_t wall)
{
	char text[24];

	clock_print(wall, text);
	buf_addf(out, ", \"%s\": \"%s\"", name, text);
}

static int add_text(struct buf *out, const char *name, const char *value)
{
	buf_addf(out, ", \"%s\": ", name);
	return jtext_add(out, value);
}

static int add_names(struct buf *out, const char *name, const struct buf *names)
{
	buf_addf(out, ", \"%s\": [", name);
	for (size_t at = 0; at < names->n; at += strlen(names->p + at) + 1) {
		buf_adds(out, at ? ", " : "");
		jtext_add(out, names->p + at);
	}
	return buf_adds(out, "]");
}

static int add_refused(struct buf *out, const struct buf *pairs)
{
	buf_adds(out, ", \"refused_keys\": [");
	for (size_t at = 0; at < pairs->n;) {
		const char *name = pairs->p + at, *why = name + strlen(name) + 1;

		buf_adds(out, at ? ", {\"key\": " : "{\"key\": ");
		jtext_add(out, name);
		add_text(out, "error", why);
		buf_adds(out, "}");
		at += strlen(name) + strlen(why) + 2;
	}
	return buf_adds(out, "]");
}

int tecken_answer(const struct tecken_upload *u, struct buf *out)
{
	buf_addf(out, "{\"upload\": {\"id\": %" PRIu64 ", \"size\": %" PRIu64, u->id, u->size);
	add_text(out, "filename", u->file_name);
	add_text(out, "bucket", u->bucket);
	buf_addf(out, ", \"download_url\": null, \"try_symbols\": %s, \"redirect_urls\": []",
		u->try ? "true" : "false");
	add_time(out, "completed_at", u->ended);
	add_time(out, "created_at", u->began);
	add_text(out, "user", u->user);
	add_names(out, "skipped_keys", u->skipped);
	add_refused(out, u->refused);
	return buf_adds(out, "}}");
}

/* ---- version 2 ------------------------------------------------------------------------------------ */

/* In Tecken's answers each token has an end. */
#define NEVER 253402300799ll /* 9999-12-31T23:59:59Z */

static int read_file(const struct jtext *j, uint32_t object, struct tecken_file *f)
{
	char md5[TECKEN_NAME];
	struct err e = {0};

	if (j->token[object].kind != JTEXT_OBJECT || jtext_members(j, object, 4) != 3 ||
		!jtext_get_number(j, object, "size", &f->size) ||
		!jtext_get_text(j, object, "key", f->name, sizeof(f->name)) ||
		!jtext_get_text(j, object, "md5_hash", md5, sizeof(md5)))
		return -EBADMSG;
	f->packed = ends_with(f->name, ".sym");
	if (judge_name(f->name, &e) < 0)
		f->error = "invalid key";
	else if (strlen(md5) != 2 * sizeof(f->md5) || md5[strspn(md5, "0123456789abcdef")])
		f->error = "invalid MD5 hex digest";
	else
		hex_read(md5, strlen(md5), f->md5);
	return 0;
}

int tecken_files_read(struct span body, struct tecken_file **out, unsigned *n)
{
	_cleanup_jtext_ struct jtext j = {0};
	_cleanup_free_ struct tecken_file *files = NULL;
	struct err e = {0};
	uint32_t at = 0;
	int r = jtext_read(&j, body, 8 * TECKEN_FILES_MOST + 64, &e);

	if (r == 0 && j.token[0].kind == JTEXT_OBJECT)
		at = jtext_member(&j, 0, "files");
	if (r == 0 && (!at || j.token[at].kind != JTEXT_ARRAY))
		r = -EBADMSG;
	*n = r < 0 ? 0 : j.token[at++].n;
	if (r < 0 || *n > TECKEN_FILES_MOST)
		return r < 0 ? r : -E2BIG;
	files = calloc(*n + 1, sizeof(*files));
	r = files ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < *n; i++, at = j.token[at].next)
		r = read_file(&j, at, &files[i]);
	*out = r < 0 ? NULL : take(files);
	return r;
}

static void add_file(struct buf *out, const struct tecken_file *f, const char *address, const char *query)
{
	_cleanup_buf_ struct buf url = BUF_UP_TO(64 << 10);

	buf_addf(out, "{\"action\": {\"type\": \"%s\"", f->error ? "error" : f->here ? "skip" : "upload");
	buf_addf(&url, "%s/v1/uploads/%s%s%s", address, f->upload, *query ? "?" : "", query);
	if (f->error)
		add_text(out, "msg", f->error);
	else if (!f->here)
		add_text(out, "url", buf_text(&url));
	if (!f->error && !f->here && f->packed)
		add_text(out, "content_encoding", "gzip");
	buf_adds(out, "}");
	add_text(out, "key", f->name);
	buf_adds(out, "}");
}

int tecken_begin_answer(const struct tecken_upload *u, const struct tecken_file *files, unsigned n,
	const char *address, const char *query, struct buf *out)
{
	buf_addf(out, "{\"id\": %" PRIu64 ", \"created_at\": %" PRId64 ", \"try_symbols\": %s", u->id, u->began,
		u->try ? "true" : "false");
	add_text(out, "user", u->user);
	add_text(out, "upload_protocol", "gcs-resumable");
	buf_adds(out, ", \"files\": [");
	for (unsigned i = 0; i < n; i++) {
		buf_adds(out, i ? ", " : "");
		add_file(out, &files[i], address, query);
	}
	return buf_adds(out, "]}");
}

int tecken_auth_answer(const char *user, bool try, int64_t until, struct buf *out)
{
	buf_addf(out, "{\"token_expires_at\": %" PRId64 ", \"try_symbols\": %s, \"upload_api_version\": 2",
		until ? until : (int64_t)NEVER, try ? "true" : "false");
	add_text(out, "email", user);
	return buf_adds(out, "}");
}

int tecken_object_answer(const char *bucket, const struct tecken_file *f, uint64_t size, const uint8_t md5[static 16],
	struct buf *out)
{
	char text[32];

	buf_addf(out, "{\"kind\": \"storage#object\", \"size\": \"%" PRIu64 "\"", size);
	base64_print(md5, 16, text);
	add_text(out, "md5Hash", text);
	add_text(out, "bucket", bucket);
	add_text(out, "name", f->name);
	return buf_adds(out, "}");
}
