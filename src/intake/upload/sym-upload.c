/* The paths, the body and the answers of Breakpad's sym_upload. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "intake/upload/sym-upload.h"
#include "base/jtext.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SYMBOLS "v1/symbols/"
#define UPLOADS "v1/uploads"

/* ---- paths ------------------------------------------------------------------------------- */

static bool copy(char *out, size_t room, const char *p, size_t n)
{
	if (!n || n >= room)
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	return true;
}

static bool is_key(const char *p, size_t n)
{
	return n == SYM_UPLOAD_KEY - 1 && strspn(p, "0123456789abcdef") >= n;
}

static bool parse_check(const char *p, struct sym_upload_path *out)
{
	const char *slash = strchr(p, '/'), *colon = slash ? strstr(slash, ":checkStatus") : NULL;

	if (!colon || strcmp(colon, ":checkStatus") != 0 || memchr(slash + 1, '/', (size_t)(colon - slash - 1)))
		return false;
	out->step = SYM_UPLOAD_CHECK;
	out->method = "GET";
	return copy(out->debug_file, sizeof(out->debug_file), p, (size_t)(slash - p)) &&
	       copy(out->debug_id, sizeof(out->debug_id), slash + 1, (size_t)(colon - slash - 1));
}

static bool parse_key(const char *p, struct sym_upload_path *out)
{
	const char *end = p + strcspn(p, ":");

	if (!is_key(p, (size_t)(end - p)) || (*end && strcmp(end, ":complete") != 0))
		return false;
	memcpy(out->key, p, SYM_UPLOAD_KEY - 1);
	out->step = *end ? SYM_UPLOAD_COMPLETE : SYM_UPLOAD_BYTES;
	out->method = *end ? "POST" : "PUT";
	return true;
}

bool sym_upload_parse(const char *path, struct sym_upload_path *out)
{
	memset(out, 0, sizeof(*out));
	if (strncmp(path, SYMBOLS, strlen(SYMBOLS)) == 0)
		return parse_check(path + strlen(SYMBOLS), out);
	if (strncmp(path, UPLOADS, strlen(UPLOADS)) != 0)
		return false;
	path += strlen(UPLOADS);
	if (strcmp(path, ":create") == 0) {
		out->step = SYM_UPLOAD_CREATE;
		out->method = "POST";
		return true;
	}
	return *path == '/' && parse_key(path + 1, out);
}

/* ---- the claim ----------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Finds the text value of a field, wherever it stands: the programs send no other field of these names. The first
 * one counts. NULL: the text has no such field. */
static const char *find_value(const char *text, const char *name)
{
	for (const char *p = text; (p = strstr(p, name)); p++) {
		const char *q = p + strlen(name);

		q += *q == '"';
		while (is_blank(*q))
			q++;
		if (*q++ != ':')
			continue;
		while (is_blank(*q))
			q++;
		if (*q == '"')
			return q + 1;
	}
	return NULL;
}

/* Windows programs can have backslashes in names; a JSON writer escapes these and the slash. */
static int read_value(const char *text, const char *name, char *out, size_t room)
{
	const char *p = find_value(text, name);
	size_t n = 0;

	out[0] = '\0';
	if (!p)
		return -ENOENT;
	for (; *p && *p != '"'; p++) {
		if (*p == '\\' && (p[1] == '\\' || p[1] == '/' || p[1] == '"'))
			p++;
		if (n + 1 >= room || (unsigned char)*p < 0x20)
			return -EINVAL;
		out[n++] = *p;
	}
	out[n] = '\0';
	return *p == '"' && n ? 0 : -EINVAL;
}

int sym_upload_read_claim(const char *body, size_t n, struct sym_upload_claim *out)
{
	_cleanup_free_ char *text = strndup(body, n);
	int r = text ? read_value(text, "debug_file", out->debug_file, sizeof(out->debug_file)) : -ENOMEM;

	if (r == 0)
		r = read_value(text, "debug_id", out->debug_id, sizeof(out->debug_id));
	if (r == 0 && (r = read_value(text, "symbol_upload_type", out->type, sizeof(out->type))) == -ENOENT)
		r = 0;
	return r == -ENOENT ? -EINVAL : r;
}

/* The file types of each word; a word has at most SYM_UPLOAD_CLAIMS_MOST. */
static const struct {
	const char *word;
	enum filetype types[SYM_UPLOAD_CLAIMS_MOST];
	unsigned n;
} types[] = {
	{"BREAKPAD", {FILETYPE_BREAKPAD}, 1},
	{"", {FILETYPE_BREAKPAD}, 1},
	{"ELF", {FILETYPE_ELF_CODE, FILETYPE_ELF_DEBUG}, 2},
	{"DEBUG_ONLY", {FILETYPE_ELF_DEBUG}, 1},
	{"PE", {FILETYPE_PE}, 1},
	{"PDB", {FILETYPE_PDB, FILETYPE_PORTABLEPDB}, 2},
	{"MACHO", {FILETYPE_MACH_CODE, FILETYPE_MACH_DEBUG}, 2},
	{"DSYM", {FILETYPE_MACH_DEBUG}, 1},
};

unsigned sym_upload_artifacts(const struct sym_upload_claim *c, struct artifact out[static SYM_UPLOAD_CLAIMS_MOST])
{
	struct module m = {0};

	if (debug_id_parse(&m.debug_id, c->debug_id, strlen(c->debug_id)) < 0)
		return 0;
	snprintf(m.debug_file, sizeof(m.debug_file), "%s", c->debug_file);
	snprintf(m.code_file, sizeof(m.code_file), "%s", c->debug_file);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcasecmp(types[i].word, c->type) != 0)
			continue;
		for (unsigned n = 0; n < types[i].n; n++) {
			m.object = filetypes[types[i].types[n]].object;
			out[n] = (struct artifact){.type = types[i].types[n], .m = m};
		}
		return types[i].n;
	}
	return 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

int sym_upload_status(struct buf *out, bool found)
{
	return buf_addf(out, "{\"status\": \"%s\"}", found ? "FOUND" : "MISSING");
}

int sym_upload_created(struct buf *out, const char *url, const char *key)
{
	buf_adds(out, "{\"uploadUrl\": ");
	jtext_add(out, url);
	return buf_addf(out, ", \"uploadKey\": \"%s\"}", key);
}

int sym_upload_result(struct buf *out, bool duplicate)
{
	return buf_addf(out, "{\"result\": \"%s\"}", duplicate ? "DUPLICATE_DATA" : "OK");
}
