/* Labels, the `.key` files beside blobs: writing, reading and comparing them. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/files/label.h"
#include "base/path.h"
#include "base/util.h"
#include "store/files/dir.h"

#include <stdio.h>
#include <string.h>

#define FIELDS 7 /* the number of fields of a line `v1` or `m1` */
#define LINE_MOST (16 << 10) /* bytes: the longest key and URL, half of their characters escaped */

static void add_escaped(struct buf *b, const char *text)
{
	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x20 || c == 0x7f || c == '\\')
			buf_addf(b, "\\x%02x", c);
		else
			buf_add(b, p, 1);
	}
}

int label_add(struct buf *b, const struct key *k, const struct blob_facts *f, uint64_t size)
{
	char room[KEY_TEXT];

	buf_adds(b, "v1\t");
	add_escaped(b, key_text(k, room));
	buf_adds(b, "\t");
	add_escaped(b, f->source);
	buf_adds(b, "\t");
	add_escaped(b, f->url);
	buf_addf(b, "\t%d\t%llu\t%lld\n", f->verified, (unsigned long long)size,
		(long long)f->fetched);
	return f->modified ? buf_addf(b, "t1\t%lld\n", (long long)f->modified) : b->r;
}

int label_add_module(struct buf *b, const struct module *m)
{
	char id[DEBUG_ID_TEXT];
	const char *const fields[] = {object_types[m->object].name, m->code_id, m->code_file,
		debug_id_breakpad(&m->debug_id, id), m->debug_file, m->checksum};

	buf_adds(b, "m1");
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
		buf_adds(b, "\t");
		add_escaped(b, fields[i]);
	}
	return buf_adds(b, "\n");
}

int label_add_pin(struct buf *b)
{
	return buf_adds(b, "p1\n");
}

bool label_is_pinned(const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n == 2 && memcmp(text, "p1", 2) == 0)
			return true;
	}
	return false;
}

int label_add_worth(struct buf *b, const struct worth *w)
{
	char room[WORTH_TEXT];

	return w->known ? buf_addf(b, "w1\t%s\n", worth_text(w, room)) : 0;
}

void label_worth(const char *text, struct worth *out)
{
	char word[WORTH_TEXT];

	*out = (struct worth){.known = false};
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n < 4 || n - 3 >= sizeof(word) || memcmp(text, "w1\t", 3) != 0)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)(n - 3), text + 3);
		worth_parse(out, word);
		return;
	}
}

/* Undoes \xHH, in place. */
static int unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (*p != '\\') {
			*to++ = *p;
			continue;
		}
		if (p[1] != 'x' || hex_value(p[2]) < 0 || hex_value(p[3]) < 0)
			return -EINVAL;
		*to = (char)(hex_value(p[2]) << 4 | hex_value(p[3]));
		if (!*to++)
			return -EINVAL;
		p += 3;
	}
	*to = '\0';
	return 0;
}

static int whole_number(const char *text, int64_t *out)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || *end || errno || text[0] == ' ')
		return -EINVAL;
	*out = v;
	return 0;
}

static int fill(struct label_line *out, char *const field[FIELDS])
{
	int64_t size, when;

	memset(out, 0, sizeof(*out));
	if (strcmp(field[0], "v1") != 0 || key_parse(&out->key, field[1]) < 0)
		return -EINVAL;
	if (strlen(field[2]) >= sizeof(out->facts.source) ||
		strlen(field[3]) >= sizeof(out->facts.url))
		return -EINVAL;
	if (strcmp(field[4], "0") != 0 && strcmp(field[4], "1") != 0)
		return -EINVAL;
	if (whole_number(field[5], &size) < 0 || size < 0 || whole_number(field[6], &when) < 0)
		return -EINVAL;
	snprintf(out->facts.source, sizeof(out->facts.source), "%s", field[2]);
	snprintf(out->facts.url, sizeof(out->facts.url), "%s", field[3]);
	out->facts.verified = field[4][0] == '1';
	out->facts.fetched = when;
	out->size = (uint64_t)size;
	return 0;
}

/* Splits a line into fields, in a copy that the caller frees. */
static int split(const char *line, size_t n, char *field[static FIELDS], char **copy)
{
	char *p;

	if (n > LINE_MOST || memchr(line, '\0', n))
		return -EINVAL;
	p = *copy = strndup(line, n);
	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; i < FIELDS; i++) {
		char *tab = strchr(p, '\t');

		if (!tab != (i == FIELDS - 1))
			return -EINVAL;
		field[i] = p;
		if (!tab)
			break;
		*tab = '\0';
		p = tab + 1;
	}
	for (unsigned i = 0; i < FIELDS; i++)
		if (unescape(field[i]) < 0)
			return -EINVAL;
	return 0;
}

int label_parse(struct label_line *out, const char *line, size_t n)
{
	_cleanup_free_ char *copy = NULL;
	char *field[FIELDS];
	int r = split(line, n, field, &copy);

	if (r == 0)
		r = fill(out, field);
	if (r == 0 && line[n] && strncmp(line + n + 1, "t1\t", 3) == 0)
		out->facts.modified = strtoll(line + n + 4, NULL, 10);
	return r;
}

static int fill_module(struct module *out, char *const field[FIELDS])
{
	struct module m = {.object = object_type_find(field[1])};

	if (strlen(field[2]) > CODE_ID_MAX || strspn(field[2], "0123456789abcdef") != strlen(field[2]) ||
		strlen(field[3]) >= sizeof(m.code_file) || strlen(field[5]) >= sizeof(m.debug_file) ||
		strlen(field[6]) >= sizeof(m.checksum))
		return -EINVAL;
	if (field[4][0] && debug_id_parse(&m.debug_id, field[4], strlen(field[4])) < 0)
		return -EINVAL;
	snprintf(m.code_id, sizeof(m.code_id), "%s", field[2]);
	snprintf(m.code_file, sizeof(m.code_file), "%s", field[3]);
	snprintf(m.debug_file, sizeof(m.debug_file), "%s", field[5]);
	snprintf(m.checksum, sizeof(m.checksum), "%s", field[6]);
	*out = m;
	return 0;
}

int label_module(const char *text, struct module *out)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		_cleanup_free_ char *copy = NULL;
		char *field[FIELDS];
		int r;

		n = strcspn(text, "\n");
		if (n < 3 || memcmp(text, "m1\t", 3) != 0)
			continue;
		r = split(text, n, field, &copy);
		if (r == 0)
			r = fill_module(out, field);
		if (r != -EINVAL)
			return r;
	}
	return -ENOENT;
}

int label_each(const char *text, int (*each)(void *ctx, const struct label_line *l), void *ctx)
{
	struct label_line line;

	while (*text) {
		size_t n = strcspn(text, "\n");
		int r = label_parse(&line, text, n);

		if (r == -ENOMEM)
			return r;
		if (r == 0)
			r = each(ctx, &line);
		else
			r = 0;
		if (r != 0)
			return r;
		text += n + (text[n] == '\n');
	}
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of `text`, cut in place and sorted. NULL: out of memory. */
static char **lines_of(char *text, size_t *n)
{
	size_t room = 1;
	char **out;

	for (const char *p = text; *p; p++)
		room += *p == '\n';
	out = calloc(room, sizeof(*out));
	*n = 0;
	while (out && *text) {
		size_t len = strcspn(text, "\n");
		bool more = text[len] == '\n';

		text[len] = '\0';
		out[(*n)++] = text;
		text += len + more;
	}
	if (out && *n > 1)
		qsort(out, *n, sizeof(*out), by_text);
	return out;
}

bool label_same(const char *a, const char *b)
{
	_cleanup_free_ char *ca = strdup(a), *cb = strdup(b);
	_cleanup_free_ char **la = NULL, **lb = NULL;
	size_t na, nb;

	if (!ca || !cb)
		return false;
	la = lines_of(ca, &na);
	lb = lines_of(cb, &nb);
	if (!la || !lb || na != nb)
		return false;
	for (size_t i = 0; i < na; i++)
		if (strcmp(la[i], lb[i]) != 0)
			return false;
	return true;
}

int label_read(int dirfd, const char *sha256, char **out)
{
	char rel[DIR_REL];

	return path_read(dirfd, dir_label(sha256, rel), LABEL_MOST, out, NULL);
}

int label_write(int dirfd, const char *sha256, const struct buf *text)
{
	_cleanup_close_ int fan = -1;
	char name[DIR_REL];
	int r;

	r = dir_fan_out(dirfd, sha256, &fan);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%.62s.key", sha256 + 2);
	return path_write_synced(fan, name, buf_text(text), text->n, 0600);
}
