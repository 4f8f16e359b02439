/* Writes and reads the key objects of a team's bucket, and names its objects. */
/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/bucket-key.h"
#include "base/util.h"
#include "store/files/label.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY 86400
/* Older versions ignore these lines. */
#define ADDED "added\n"
#define TRY "try\n"

void bucket_key_digest(const struct key *k, char out[static SHA256_TEXT])
{
	char canon[KEY_TEXT];

	key_canon(k, canon);
	sha256_text(canon, strlen(canon), out);
}

int bucket_made_digest(const struct key *k, const char *url, char out[static SHA256_TEXT])
{
	_cleanup_buf_ struct buf text = BUF_UP_TO(KEY_TEXT + 4096);
	char canon[KEY_TEXT];

	if (!(filetypes[k->type].flags & TYPE_MADE))
		return -ENOENT;
	if (buf_addf(&text, "%s\n%s", key_canon(k, canon), url) < 0)
		return -ENOENT;
	sha256_text(buf_text(&text), text.n, out);
	return 0;
}

const char *bucket_blob_name(const char *sha256, char out[static BUCKET_NAME])
{
	snprintf(out, BUCKET_NAME, "b/%.64s", sha256);
	return out;
}

const char *bucket_key_name(const char *digest, char out[static BUCKET_NAME])
{
	snprintf(out, BUCKET_NAME, "k/%.64s", digest);
	return out;
}

const char *bucket_ref_name(const char *sha256, const char *digest, char out[static BUCKET_NAME])
{
	snprintf(out, BUCKET_NAME, "r/%.64s/%.64s", sha256, digest);
	return out;
}

const char *bucket_mark_name(const char *digest, const char *word, char out[static BUCKET_NAME])
{
	snprintf(out, BUCKET_NAME, BUCKET_MARK "%.64s/%.64s", digest, word);
	return out;
}

static bool is_digest(const char *p, size_t n)
{
	return n == SHA256_TEXT - 1 && strspn(p, "0123456789abcdef") >= n;
}

int bucket_made_name(const char **url, const char *digest, char out[static BUCKET_NAME])
{
	static const char of[] = " of ";

	for (const char *p = *url; (p = strstr(p, of));) {
		size_t n;

		p += strlen(of);
		n = strcspn(p, " ");
		if (!is_digest(p, n))
			continue;
		snprintf(out, BUCKET_NAME, BUCKET_MADE "%.64s/%.64s", p, digest);
		*url = p + n;
		return 0;
	}
	return -ENOENT;
}

const char *bucket_end_name(const char *sha256, char out[static BUCKET_NAME])
{
	snprintf(out, BUCKET_NAME, BUCKET_END "%.64s", sha256);
	return out;
}

int bucket_end_write(const struct bucket_end *end, struct buf *out)
{
	return buf_addf(out, "e1\t%" PRId64 "\t%" PRId64 "\n%s", end->until, end->age,
		end->rank == HELD_ADDED ? ADDED : end->rank == HELD_TRY ? TRY : "");
}

/* A number of at most 19 digits, and the byte after it. */
static const char *read_number(const char *p, char after, int64_t *out)
{
	char *end;

	errno = 0;
	if (*p < '0' || *p > '9')
		return NULL;
	*out = strtoll(p, &end, 10);
	return errno == 0 && *end == after ? end + 1 : NULL;
}

int bucket_end_parse(const char *text, struct bucket_end *out)
{
	struct bucket_end end;
	const char *p = strncmp(text, "e1\t", 3) == 0 ? read_number(text + 3, '\t', &end.until) : NULL;

	if (!p || !(p = read_number(p, '\n', &end.age)))
		return -EINVAL;
	end.rank = strcmp(p, ADDED) == 0 ? HELD_ADDED : strcmp(p, TRY) == 0 ? HELD_TRY : HELD_CLASS;
	*out = end;
	return 0;
}

void bucket_end_join(struct bucket_end *into, const struct bucket_end *other, int64_t now)
{
	if (other->until <= now)
		return;
	into->rank = MAX(into->rank, other->rank);
	if (other->until <= into->until && other->age <= into->age)
		return;
	into->until = MAX(into->until, other->until);
	into->age = into->until == INT64_MAX ? 0 : MAX(into->age, other->age);
}

bool bucket_end_renew(struct bucket_end *end, int64_t used)
{
	int64_t step = MIN(end->age / 2, DAY);

	if (end->until == INT64_MAX || end->age <= 0 || used <= 0 || used > INT64_MAX - end->age ||
		used + end->age <= end->until || used + end->age - end->until < step)
		return false;
	end->until = used + end->age;
	return true;
}

int bucket_key_write(const struct key *k, const struct blob_facts *f, const char *sha256, uint64_t size,
	struct buf *out)
{
	int r;

	*out = BUF_UP_TO(BUCKET_KEY_MOST);
	r = label_add(out, k, f, size);
	buf_addf(out, "b1\t%.64s\n", sha256);
	return r == 0 ? label_add_worth(out, &f->worth) : r;
}

/* The digest in the line `b1`. */
static int find_digest(const char *text, char out[static SHA256_TEXT])
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (n < 3 || memcmp(text, "b1\t", 3) != 0)
			continue;
		if (!is_digest(text + 3, n - 3))
			return -EINVAL;
		snprintf(out, SHA256_TEXT, "%.64s", text + 3);
		return 0;
	}
	return -EINVAL;
}

int bucket_key_parse(const char *text, size_t n, struct bucket_key *out)
{
	_cleanup_free_ char *copy = NULL;
	struct label_line line;
	size_t first;
	int r;

	if (n > BUCKET_KEY_MOST || memchr(text, '\0', n))
		return -EINVAL;
	copy = strndup(text, n);
	if (!copy)
		return -ENOMEM;
	first = strcspn(copy, "\n");
	r = label_parse(&line, copy, first);
	if (r == 0)
		r = find_digest(copy, out->sha256);
	if (r < 0)
		return r;
	out->key = line.key;
	out->size = line.size;
	out->time = line.facts.fetched;
	out->modified = line.facts.modified;
	label_worth(copy, &out->worth);
	return 0;
}
